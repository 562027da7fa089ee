# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of the runs of two sides, and what else than the servers may differ with it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import special  # scipy.stats has the same, and takes half a second to import

from ..saved.run import Run
from . import stats

# Pairs in a block, at least. Smaller blocks would be closer in time, but give less evidence each;
# four pairs of `ab` are ABBA BAAB.
BLOCK_PAIRS = 4
# The largest difference that the start of a server, or the time of day, may cause. Between two
# starts of one afpd up to 3 % were seen, in single commands: with start effects of that deviation
# not one in a hundred comparisons of 200 rows has a larger difference than this.
DOUBT = 0.20
# A drift is not reported if the order of the sides explains more of the time than this.
_SHARED_MAX = 0.75
_DRIFT_RUNS = 8


@dataclass(frozen=True)
class Command:
    """What a command calls the two sides, and how it is told to restart their servers."""

    a: str
    b: str
    restart: str


_AB = Command("A", "B", "afpscope ab --restart")


def _begins(*sides: Sequence[Run]) -> list[list[str]]:
    """When they began: to the second if more is not known of all of them, as of older runs."""
    exact = all("." in run.started for side in sides for run in side)
    return [[run.started if exact else run.started[:19] for run in side] for side in sides]


def _may_follow(first: Sequence[Run], then: Sequence[Run]) -> bool:
    """Whether all of these may have begun after all of those."""
    before, after = _begins(first, then)
    return bool(first and then) and max(before) <= min(after)


def disorder(a: Sequence[Run], b: Sequence[Run], by: Command = _AB) -> str:
    """Why a change of the machine may count as a difference of the sides; empty: it does not."""
    if in_turn(a, b):
        return ""
    if _may_follow(a, b) and _may_follow(b, a):
        return "all runs began in the same second, so that their order is not known"
    for first, then, names in ((a, b, (by.a, by.b)), (b, a, (by.b, by.a))):
        if _may_follow(first, then):
            return f"{names[1]} was measured after {names[0]}"
    return "the runs were not made in turn"


def in_turn(a: Sequence[Run], b: Sequence[Run]) -> bool:
    """Whether these are pairs of a run of each side, one after the other, each side first as often.

    Old runs may have begun in one second, but not so many that all of one side may have been first.
    """
    if len(a) != len(b) or (len(a) > 1 and (_may_follow(a, b) or _may_follow(b, a))):
        return False
    sides = (sorted(side) for side in _begins(a, b))
    pairs = list(zip(*sides, strict=True))
    first = sum(x < y for x, y in pairs) - sum(x > y for x, y in pairs)
    balanced = abs(first) <= 1 + sum(x == y for x, y in pairs)
    return balanced and all(max(one) <= min(then) for one, then in pairwise(pairs))


def sizes(pairs: int) -> list[int]:
    """The number of pairs in each block, for so many pairs made in turn."""
    number = max(1, pairs // BLOCK_PAIRS)
    ends = [pairs * i // number for i in range(number + 1)]
    return [after - before for before, after in pairwise(ends)]


def blocks(a: Sequence[Run], b: Sequence[Run]) -> list[tuple[list[Run], list[Run]]]:
    """The runs that may be compared: all, or, if made in turn, those close in time."""
    a, b = (sorted(side, key=lambda r: r.started) for side in (a, b))
    if not in_turn(a, b):
        return [(a, b)]
    out: list[tuple[list[Run], list[Run]]] = []
    at = 0
    for n in sizes(len(a)):
        out.append((a[at : at + n], b[at : at + n]))
        at += n
    return out


def pairs_needed(rows: int) -> int:
    """The fewest pairs, made in turn, that can show a difference in one of this many rows."""
    n = 2
    while stats.least_p([(k, k) for k in sizes(n)]) * rows > stats.ALPHA:
        n += 1
    return n


def more_pairs(rows: int, made: int) -> int | None:
    """The same; None: there are as many, and it is the rows that are too many (tails.CROWDED)."""
    n = pairs_needed(rows)
    return n if n > made else None


def _starts(a: Sequence[Run], b: Sequence[Run], by: Command) -> str:
    """The doubt because of the servers' starts; empty: none."""
    runs = [*a, *b]
    if all(r.local is not None for r in runs):
        return ""
    starts = [r.start for r in runs]
    if None in starts:
        return f"it is not known whether the servers were restarted for each run: {by.restart}"
    if len(set(starts)) in (1, len(starts)):  # one server, or one start per run
        return ""
    each = (len(set(starts[: len(a)])), len(set(starts[len(a) :])))
    return (
        f"the servers were not restarted for each run ({each[0]} start{'s' * (each[0] > 1)} "
        f"of {by.a}, {each[1]} of {by.b}), and each start has its own effect: {by.restart}"
    )


def doubts(a: Sequence[Run], b: Sequence[Run], by: Command = _AB) -> list[str]:
    """What else than the servers may have caused a difference of up to DOUBT; empty: nothing."""
    order, starts = disorder(a, b, by), _starts(a, b, by)
    out = [f"{order}: a change of the machine counts as a difference"] if order else []
    return [*out, starts] if starts else out


def _levels(runs: Sequence[Run], values: Mapping[str, Mapping[str, float]]) -> list[float] | None:
    """How long the tests of each run took, as the mean of logarithms; only tests in all runs."""
    common = [test for test, of in values.items() if all(of.get(r.id, 0) > 0 for r in runs)]
    if not common:
        return None
    logs = np.log([[values[test][r.id] for test in common] for r in runs])
    return [float(v) for v in logs.mean(axis=1)]


def drift(
    a: Sequence[Run], b: Sequence[Run], values: Mapping[str, Mapping[str, float]]
) -> float | None:
    """How much longer tests took in the later half of all runs than in the earlier one.

    Estimated together with the difference of the sides, so that the two are not confused. None
    if they cannot be separated, with few runs, or if it may be chance. `values`: the time of a
    test by test and run.
    """
    sides = {r.id: side for side, runs in enumerate((a, b)) for r in runs}
    ordered = sorted([*a, *b], key=lambda r: r.started)
    levels = _levels(ordered, values)
    n = len(ordered)
    if n < _DRIFT_RUNS or levels is None:
        return None
    late = np.array([i >= n // 2 for i in range(n)], float)
    side = np.array([sides[r.id] for r in ordered], float)
    if float(np.corrcoef(late, side)[0, 1]) ** 2 > _SHARED_MAX:
        return None
    matrix = np.column_stack([np.ones(n), side, late])
    fit, *_ = np.linalg.lstsq(matrix, np.array(levels), rcond=None)
    rest = np.array(levels) - matrix @ fit
    freedom = n - matrix.shape[1]
    spread = math.sqrt(float(rest @ rest) / freedom * np.linalg.inv(matrix.T @ matrix)[2, 2])
    if spread > 0 and 2 * special.stdtr(freedom, -abs(fit[2]) / spread) > stats.ALPHA:
        return None
    return float(np.expm1(fit[2]))
