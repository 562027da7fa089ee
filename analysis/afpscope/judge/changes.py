# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a series of values, one of each run in order of time, changed its level.

The series is cut where the rank sums of its two parts differ most (Mann and Whitney's U of every
cut); the parts are cut again in the same way. A cut counts where its probability, times the number
of cuts that were possible and of series that were looked at, is at most the level. Neighbours that
are alike, as on a machine that is slow for days, are fewer values than they seem: the U is divided
by as much as their correlation asks for. shapes.py says whether the level changed at once or little
by little: a drift is cut, too, and cuts that follow each other in one direction may be one drift.
tests/python/simulate_history.py says how often all this errs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import special  # scipy.stats ranks, too, and takes half a second to import

from . import shapes

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

# The chance that a history of rows that never changed has any change.
ALPHA = 0.01
# Levels that are fitted before neighbours are compared: each makes them look less alike.
_PARTS = 10
# The shares of ALPHA for cuts in one place, and for those in two.
_ONE_CUT, _TWO_CUTS = 0.9, 0.1
# Values in a row that a level consists of, at least: fewer are outliers.
LEAST_RUN = 5


@dataclass(frozen=True)
class Change:
    """There is another level after values[at], up to the next change.

    `kind`: STEP: from values[at] on. DRIFT: little by little, from about values[low] to
    values[high]. UNCLEAR: neither can be told. `low`, `high`, but of a drift: between these values
    it changed. `before`, `after`: the two levels.
    """

    at: int
    low: int
    high: int
    before: float
    after: float
    kind: str = shapes.STEP

    @property
    def by(self) -> float:
        """As a share: 0.1 is 10 % more."""
        return self.after / self.before - 1


def _ranks(values: Array) -> Array:
    """From 1 on; equal values share the mean of theirs."""
    order = np.argsort(values)
    ordered = values[order]
    begins = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    ends = np.append(np.flatnonzero(begins), len(values))
    out = np.empty(len(values))
    out[order] = ((ends[:-1] + 1 + ends[1:]) / 2)[np.cumsum(begins) - 1]
    return out


def _deviations(ranks: Array, begins: Places, ends: Places) -> Array:
    """Of each part: how far its rank sum is from what chance expects, in standard deviations,
    either way. Ties are taken into account."""
    n = len(ranks)
    sizes = ends - begins
    off = ranks - (n + 1) / 2
    sums = np.concatenate([[0.0], np.cumsum(off)])
    # Of a sum of `size` of these ranks, drawn without replacement.
    variance = sizes * (n - sizes) * (float(off @ off) / (n * (n - 1)))
    return np.asarray(np.abs(sums[ends] - sums[begins]) / np.sqrt(np.maximum(variance, 1e-12)))


def _sameness(ranks: Array) -> float:
    """The correlation of neighbours that is no change of level; 0 or more.

    It is that of what the best of some descriptions by levels leaves. The bias that it has in short
    series is corrected, and a quarter of its standard error added.
    """
    rests = shapes.left(ranks, LEAST_RUN)
    rhos = [float(rest[:-1] @ rest[1:]) / max(float(rest @ rest), 1e-6) for rest in rests]
    return _at_most(max(0.0, min(rhos)), len(ranks))


def _at_most(rho: float, n: int) -> float:
    """The correlation of neighbours that is assumed where `rho` was seen."""
    return min(0.95, rho + (1 + 3 * _PARTS * rho) / n + math.sqrt(max(0.0, 1 - rho**2) / n) / 4)


def _shrunk(deviations: float, rho: float) -> float:
    """As many deviations as values are worth whose neighbours correlate."""
    return deviations * math.sqrt((1 - rho) / (1 + rho))


def _p(z: float, size: int, n: int, tried: float) -> float:
    """The probability of such a part of `size` of n ranks, the best of so many."""
    possible = 2 / math.comb(n, size)  # the least that these numbers can have
    return max(2 * float(special.ndtr(-z)), possible) * tried


def _cut(values: Array, tests: int) -> tuple[int, ...]:
    """Where these are cut: in one place, in two if a part in the middle differs from the rest (it
    changed and changed back), or not at all."""
    n = len(values)
    if n < 2 * LEAST_RUN:
        return ()
    ranks = _ranks(values)
    cuts = np.arange(LEAST_RUN, n - LEAST_RUN + 1)
    ways = (_ONE_CUT, np.zeros_like(cuts), cuts), (_TWO_CUTS, *shapes.middles(n, LEAST_RUN))
    for weight, begins, ends in ways:
        if not len(begins):
            continue
        deviations = _deviations(ranks, begins, ends)
        best = int(np.argmax(deviations))
        first, last, z = int(begins[best]), int(ends[best]), float(deviations[best])
        chance = (last - first, n, len(begins) * tests / weight)
        # Neighbours that are alike make it no surer.
        if _p(z, *chance) <= ALPHA and _p(_shrunk(z, _sameness(ranks)), *chance) <= ALPHA:
            return (first, last) if first else (last,)
    return ()


def least_values(tests: int = 1) -> int:
    """How many values a series needs at least to show a change, among so many series."""
    n = 2 * LEAST_RUN
    while True:
        half = n // 2
        z = half * (n - half) / 2 / math.sqrt(half * (n - half) * (n + 1) / 12)
        cuts = n - 2 * LEAST_RUN + 1
        if _p(_shrunk(z, _at_most(0.0, n)), half, n, cuts * tests / _ONE_CUT) <= ALPHA:
            return n
        n += 1


def _cuts(values: Array, tests: int) -> list[int]:
    """All places where the values are cut, in their order."""
    found: list[int] = []
    parts = [(0, len(values))]
    while parts:
        first, end = parts.pop()
        cuts = [first + cut for cut in _cut(values[first:end], tests)]
        found += cuts
        if cuts:
            parts += pairwise([first, *cuts, end])
    return sorted(found)


def _one_way(levels: Sequence[float]) -> list[list[int]]:
    """The cuts between these levels, by their numbers: those in one direction together."""
    out: list[list[int]] = []
    for i, (a, b) in enumerate(pairwise(levels)):
        if out and (b > a) == (levels[i] > levels[i - 1]):
            out[-1].append(i)
        else:
            out.append([i])
    return out


def _worth(values: Array) -> float:
    """How much of a value each one is."""
    rho = _sameness(_ranks(values))
    return (1 - rho) / (1 + rho)


def _changes(values: Array, ends: Sequence[int], group: Sequence[int]) -> list[Change]:
    """The changes at cuts of one direction: `ends`[i + 1] for each i of the group."""
    first, end = ends[group[0]], ends[group[-1] + 2]
    cuts = [ends[i + 1] for i in group]
    of = np.log(values[first:end])
    middle = cuts[len(cuts) // 2]
    found = shapes.shape(of, [c - first for c in cuts], _worth(of), LEAST_RUN)
    if found is None:
        return [change for i in group for change in _changes(values, ends, [i])]
    before = float(np.median(values[first : cuts[0]]))
    after = float(np.median(values[cuts[-1] : end]))
    if found.kind != shapes.DRIFT:
        return [Change(middle, first + found.low, first + found.high, before, after, found.kind)]
    before, after = math.exp(found.before), math.exp(found.after)
    at = first + (found.first + found.last + 1) // 2
    return [Change(at, first + found.first, first + found.last, before, after, found.kind)]


def change_points(values: Sequence[float], tests: int = 1) -> list[Change]:
    """The changes of a series of values above 0, in its order; `tests`: how many series are looked
    at together."""
    of = np.asarray(values, float)
    ends = [0, *_cuts(of, tests), len(of)]
    if len(ends) < 3:
        return []
    levels = [float(np.median(of[a:b])) for a, b in pairwise(ends)]
    return [change for group in _one_way(levels) for change in _changes(of, ends, group)]
