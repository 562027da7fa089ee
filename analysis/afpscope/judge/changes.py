# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a series of values, one of each run in order of time, changed its level.

The series is cut where the rank sums of its two parts differ most (Mann and Whitney's U of every
cut); the parts are cut again in the same way. A cut counts where its probability, times the number
of cuts that were possible and of series that were looked at, is at most the level. Neighbours that
are alike, as on a machine that is slow for days, are fewer values than they seem: the U is divided
by as much as their correlation asks for. tests/python/simulate_history.py says how often it errs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import special, stats

Array = npt.NDArray[np.float64]

# The chance that a history of rows that never changed has any change.
ALPHA = 0.01
# What a change of a level does not show.
WHOSE = (
    "A change may be the machine's, and one that came little by little is shown as a step: "
    "afpscope ab\nmeasures both sides of it in turn"
)
# Values in a row that a level consists of, at least: fewer are outliers.
LEAST_RUN = 5


@dataclass(frozen=True)
class Change:
    """From values[at] on there is another level, up to the next change.

    `before`, `after`: medians of the two levels. `low`, `high`: the first values with which the
    new level may have begun as well, by the ranks of cuts that are nearly as good.
    """

    at: int
    low: int
    high: int
    before: float
    after: float

    @property
    def by(self) -> float:
        """As a share: 0.1 is 10 % more."""
        return self.after / self.before - 1


def _deviations(ranks: Array) -> Array:
    """Of each cut after LEAST_RUN values or more: how far the rank sum of the first part is from
    what chance expects, in standard deviations. Ties are taken into account."""
    n = len(ranks)
    sizes = np.arange(LEAST_RUN, n - LEAST_RUN + 1)
    sums = np.cumsum(ranks)[sizes - 1]
    # Of a sum of `size` of these ranks, drawn without replacement.
    variance = sizes * (n - sizes) / (n * (n - 1)) * float(((ranks - ranks.mean()) ** 2).sum())
    return np.asarray((sums - sizes * ranks.mean()) / np.sqrt(np.maximum(variance, 1e-12)))


def _sameness(ranks: Array, at: int) -> float:
    """The correlation of neighbours, within the two parts of a cut; 0 or more.

    The bias that it has in short series is corrected, and a quarter of its standard error added.
    """
    rests = [part - part.mean() for part in (ranks[:at], ranks[at:])]
    below = sum(float(rest @ rest) for rest in rests)
    above = sum(float(rest[:-1] @ rest[1:]) for rest in rests)
    if below <= 0:
        return _at_most(0.0, len(ranks))
    return _at_most(max(0.0, above / below), len(ranks))


def _at_most(rho: float, n: int) -> float:
    """The correlation of neighbours that is assumed where `rho` was seen."""
    return min(0.95, rho + (1 + 3 * rho) / n + math.sqrt(max(0.0, 1 - rho**2) / n) / 4)


def _shrunk(deviations: float, rho: float) -> float:
    """As many deviations as values are worth whose neighbours correlate."""
    return deviations * math.sqrt((1 - rho) / (1 + rho))


def _cut(values: Array, tests: int) -> tuple[int, int, int] | None:
    """The best cut of the values, with the first and the last that is nearly as good."""
    n = len(values)
    if n < 2 * LEAST_RUN:
        return None
    ranks = np.asarray(stats.rankdata(values), float)
    deviations = np.abs(_deviations(ranks))
    best = int(np.argmax(deviations))
    rho = _sameness(ranks, best + LEAST_RUN)
    z = _shrunk(float(deviations[best]), rho)
    possible = 2 / math.comb(n, best + LEAST_RUN)  # the least p that these numbers can have
    p = max(2 * float(special.ndtr(-z)), possible) * len(deviations) * tests
    if p > ALPHA:
        return None
    near = np.flatnonzero(_shrunk(1, rho) * deviations >= z - 1) + LEAST_RUN
    return best + LEAST_RUN, int(near[0]), int(near[-1])


def least_values(tests: int = 1) -> int:
    """How many values a series needs at least to show a change, among so many series."""
    n = 2 * LEAST_RUN
    while True:
        half = n // 2
        z = half * (n - half) / 2 / math.sqrt(half * (n - half) * (n + 1) / 12)
        z = _shrunk(z, _at_most(0.0, n))
        if 2 * float(special.ndtr(-z)) * (n - 2 * LEAST_RUN + 1) * tests <= ALPHA:
            return n
        n += 1


def change_points(values: Sequence[float], tests: int = 1) -> list[Change]:
    """The changes of a series, in its order; `tests`: how many series are looked at together."""
    of = np.asarray(values, float)
    if not len(of):
        return []
    found: dict[int, tuple[int, int]] = {}
    parts = [(0, len(of))]
    while parts:
        first, end = parts.pop()
        cut = _cut(of[first:end], tests)
        if cut:
            at, low, high = (first + i for i in cut)
            found[at] = (low, high)
            parts += [(first, at), (at, end)]
    ends = [0, *sorted(found), len(of)]
    levels = [float(np.median(of[a:b])) for a, b in pairwise(ends)]
    return [Change(at, *found[at], levels[i], levels[i + 1]) for i, at in enumerate(sorted(found))]
