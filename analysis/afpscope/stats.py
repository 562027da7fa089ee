# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether two groups of times differ. Never more certain than their number allows.

Groups that were measured in turn are compared in blocks: only values of the same block, of
nearly the same time, are held against each other (the Mann-Whitney test in strata, van Elteren's
with equal weights), so that what comes and goes while the blocks are measured is no noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import stats

FASTER, SLOWER = "faster", "slower"
NONE_SHOWN, TOO_FEW = "no difference shown", "not enough runs"
# Chance that one row or more of a comparison without any difference says it has one.
ALPHA = 0.01
LEVEL = 0.95
_EXACT_MAX = 40

# The values of A and of B that may be held against each other.
Block = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True)
class Test:
    """B against A. `change` and its interval at LEVEL are relative: 0.1 is 10 % longer.

    None where there are too few values, `change` where a side has none; `p` is that of this row
    alone, `least_p` the smallest that so many values can give.
    """

    n_a: int
    n_b: int
    median_a: float | None
    median_b: float | None
    change: float | None
    low: float | None
    high: float | None
    p: float | None
    least_p: float


@lru_cache(maxsize=64)
def _u_counts(n: int, m: int) -> tuple[int, ...]:
    """How many orders of n and m values give each U, 0..n*m."""
    row = [[1] + [0] * (n * m) for _ in range(n + 1)]
    for j in range(1, m + 1):
        new = [[1] + [0] * (n * m)]
        for i in range(1, n + 1):
            last = new[i - 1]
            new.append([row[i][u] + (last[u - j] if u >= j else 0) for u in range(n * m + 1)])
        row = new
    return tuple(row[n])


def _u_chances(n: int, m: int) -> npt.NDArray[np.float64]:
    """The chance of each U if there is no difference; exact up to _EXACT_MAX, then normal."""
    if max(n, m) <= _EXACT_MAX:
        total = math.comb(n + m, n)
        return np.array([count / total for count in _u_counts(n, m)])
    ends = np.arange(n * m + 2) - 0.5 - n * m / 2
    return np.diff(stats.norm.cdf(ends / math.sqrt(n * m * (n + m + 1) / 12)))


@lru_cache(maxsize=64)
def _below(sizes: tuple[tuple[int, int], ...]) -> npt.NDArray[np.float64]:
    """The chance of each sum of the blocks' U, or a smaller one."""
    chances = np.ones(1)
    for n, m in sizes:
        chances = np.convolve(chances, _u_chances(n, m))
    return np.cumsum(chances)


def compare(blocks: Sequence[Block]) -> Test:
    """Hodges-Lehmann and Mann-Whitney on the logarithms; values of 0 or less are left out.

    Equal values count for no difference.
    """
    logs = [[np.log([v for v in side if v > 0]) for side in block] for block in blocks]
    x, y = (np.concatenate([np.empty(0), *(block[i] for block in logs)]) for i in (0, 1))
    median_a, median_b = (float(np.exp(np.median(v))) if len(v) else None for v in (x, y))
    sizes = tuple((len(a), len(b)) for a, b in logs)
    least_p = min(1.0, 2.0 / math.prod(math.comb(n + m, n) for n, m in sizes))
    within = [(b[:, None] - a[None, :]).ravel() for a, b in logs]
    differences = np.sort(np.concatenate([np.empty(0), *within]))
    change = float(np.expm1(np.median(differences))) if len(differences) else None
    if min(len(x), len(y)) < 2 or change is None:
        return Test(len(x), len(y), median_a, median_b, change, None, None, None, least_p)
    below = _below(sizes)
    # The k-th difference from each end bounds the interval; 0: none does.
    k = int(np.searchsorted(below, (1 - LEVEL) / 2, side="right"))
    low = float(np.expm1(differences[k - 1])) if k else None
    high = float(np.expm1(differences[-k])) if k else None
    agreeing = max(np.count_nonzero(differences > 0), np.count_nonzero(differences < 0))
    p = min(1.0, 2 * float(below[len(differences) - agreeing]))
    return Test(len(x), len(y), median_a, median_b, change, low, high, p, least_p)


def holm(ps: Sequence[float]) -> list[float]:
    """The p values corrected for their number, in their order."""
    out = [1.0] * len(ps)
    worst = 0.0
    for i, at in enumerate(sorted(range(len(ps)), key=lambda at: ps[at])):
        worst = max(worst, min(1.0, (len(ps) - i) * ps[at]))
        out[at] = worst
    return out


def verdicts(tests: Sequence[Test], least: float = 0.0) -> list[str]:
    """The word for each row. `least`: a relative change below it is no difference.

    A row whose number of values could not give a significant result even if all were apart
    has not enough runs, and does not count among the others.
    """
    wanted = [t for t in tests if t.p is not None]
    rows = len(wanted)
    able = [t for t in wanted if t.least_p * rows <= ALPHA]
    corrected = dict(zip(map(id, able), holm([t.p or 0.0 for t in able]), strict=True))
    out = []
    for test in tests:
        p = corrected.get(id(test))
        if p is None or test.change is None or test.low is None or test.high is None:
            out.append(TOO_FEW)
        elif p > ALPHA or test.low <= 0 <= test.high or abs(test.change) < least:
            out.append(NONE_SHOWN)
        else:
            out.append(SLOWER if test.change > 0 else FASTER)
    return out
