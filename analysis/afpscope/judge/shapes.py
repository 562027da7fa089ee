# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a level changed at once or little by little.

Both are ramps: a first level, a straight way, a second level. A step's way is one run long, a
drift's may be as long as the history. Each ramp is fitted to the values by least squares, and those
that describe them not much worse than the best one are possible. What all possible ramps have in
common can be said, the rest cannot be told.
tests/python/simulate_history.py says how often that errs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

STEP, DRIFT, UNCLEAR = "step", "drift", "unclear"
# How much worse a possible ramp may be: twice the difference of logarithms of likelihoods.
WORSE = 6.0
# By how much a ramp must be better than several steps.
DRIFTS = 3.0
# A way of at most so many runs, or this share of the runs, is as good as a step.
SHORT_RUNS, SHORT_SHARE = 10, 0.25
_POSITIONS = 200  # of a ramp's ends that are tried, at most


@dataclass(frozen=True)
class Shape:
    """`kind`: STEP, DRIFT or UNCLEAR. The ways of all ramps that are possible lie from value `low`
    to `high`; that of the best one begins after value `first`, of the level `before`, and ends with
    value `last`, of the level `after`."""

    kind: str
    low: int
    high: int
    first: int
    last: int
    before: float
    after: float


# A value further than this from both levels is an outlier, in deviations of a level's values.
_OUTLIER = 3.0
# The least that a ramp leaves, as a share of all squares: where nothing varies, it is not 0.
_LEAST_REST = 1e-6


def _clipped(values: Array, cuts: Sequence[int]) -> Array:
    """The values, with outliers brought near the levels between the cuts."""
    parts = np.split(values, list(cuts))
    middles = [float(np.median(part)) for part in parts]
    off = np.concatenate([np.abs(part - m) for part, m in zip(parts, middles, strict=True)])
    reach = _OUTLIER * 1.4826 * float(np.median(off))
    return np.clip(values, min(middles) - reach, max(middles) + reach)


def _edges(n: int) -> npt.NDArray[np.intp]:
    step = max(1, -(-n // _POSITIONS))
    return np.arange(0, n, step)


def _ramps(values: Array, least: int) -> tuple[Array, Array, Array]:
    """The last value of the first level and the first one of the second level of each ramp, and the
    sum of squares that it leaves. The middle of a ramp has `least` values on each side."""
    n = len(values)
    edges = _edges(n)
    p, q = (m.ravel() for m in np.meshgrid(edges, edges, indexing="ij"))
    steps = np.arange(least - 1, n - least)
    p, q = np.concatenate([p, steps]), np.concatenate([q, steps + 1])
    fits = (q > p) & (p + q + 1 >= 2 * least) & (p + q + 1 <= 2 * (n - least))
    p, q = p[fits], q[fits]
    y = values - values.mean()
    at = np.arange(n)
    # Sums over the values before each place.
    sums, moments = (np.concatenate([[0.0], np.cumsum(v)]) for v in (y, at * y))
    length = (q - p).astype(float)
    # Of the ramp's height at each value: 0 up to p, 1 from q on, and its products with y.
    height = (length - 1) / 2 + (n - q)
    squares = (length - 1) * (2 * length - 1) / (6 * length) + (n - q)
    way = (moments[q] - moments[p] - p * (sums[q] - sums[p])) / length
    product = way + sums[n] - sums[q]
    spread = squares - height**2 / n
    rest = float(y @ y) - np.where(spread > 1e-9, product**2 / np.maximum(spread, 1e-9), 0.0)
    return p.astype(float), q.astype(float), np.maximum(rest, _LEAST_REST * float(y @ y))


def _levels(values: Array, first: int, last: int) -> tuple[float, float]:
    """The two levels of the ramp with this way, by least squares."""
    height = np.clip((np.arange(len(values)) - first) / (last - first), 0, 1)
    before, rise = np.linalg.lstsq(np.column_stack([np.ones(len(values)), height]), values)[0]
    return float(before), float(before + rise)


@lru_cache(maxsize=64)
def middles(n: int, least: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The begin and the end of each middle part, with `least` values in it and on each side."""
    edges = _edges(n)
    p, q = (m.ravel() for m in np.meshgrid(edges, edges, indexing="ij"))
    fits = (p >= least) & (q - p >= least) & (n - q >= least)
    return p[fits], q[fits]


def _two_cuts(values: Array, least: int) -> tuple[int, ...]:
    """The two cuts whose three levels describe the values best, if there is room for them."""
    n = len(values)
    p, q = middles(n, least)
    if not len(p):
        return (n // 2,)
    sums = np.concatenate([[0.0], np.cumsum(values - values.mean())])
    explained = (
        sums[p] ** 2 / p + (sums[q] - sums[p]) ** 2 / (q - p) + (sums[n] - sums[q]) ** 2 / (n - q)
    )
    best = int(np.argmax(explained))
    return int(p[best]), int(q[best])


def left(values: Array, least: int) -> tuple[Array, Array]:
    """What the best ramp, and the best three levels, leave of the values."""
    p, q, rest = _ramps(values, least)
    best = int(np.argmin(rest))
    first, last = int(p[best]), int(q[best])
    before, after = _levels(values, first, last)
    height = np.clip((np.arange(len(values)) - first) / (last - first), 0, 1)
    parts = np.split(values, list(_two_cuts(values, least)))
    levels = np.concatenate([v - v.mean() for v in parts])
    return values - before - (after - before) * height, levels


def _rest_of_steps(values: Array, cuts: Sequence[int]) -> float:
    """The sum of squares that levels between these cuts leave."""
    parts = np.split(values, list(cuts))
    rest = sum(float(((part - part.mean()) ** 2).sum()) for part in parts)
    return max(_LEAST_REST * float(((values - values.mean()) ** 2).sum()), rest)


def shape(values: Array, cuts: Sequence[int], worth: float, least: int) -> Shape | None:
    """Of values that are not all the same, which change one way, at these cuts or near them.

    `worth`: how much of a value each one is, as neighbours are alike. The middle of a way has
    `least` values on each side. None: they change in steps, at each cut in one.
    """
    n = len(values)
    clipped = _clipped(values, cuts)
    p, q, rest = _ramps(clipped, least)
    worse = n * worth * np.log(rest / rest.min())
    possible = worse <= WORSE
    length = q - p
    best = int(np.argmin(worse))
    first, last = int(p[best]), int(q[best])
    # A level and a place more for each step more, that is found among all places.
    steps, two = (
        n * worth * math.log(of / float(rest.min())) + (2 * k - 3) * math.log(n)
        for of, k in ((_rest_of_steps(clipped, cuts), len(cuts)),
                      (_rest_of_steps(clipped, _two_cuts(clipped, least)), 2))
    )  # fmt: skip
    if len(cuts) > 1 and steps < -WORSE:
        return None
    kind = UNCLEAR
    if len(cuts) == 1 and length[possible].max() <= max(SHORT_RUNS, n * SHORT_SHARE):
        kind = STEP
    elif length[possible].min() > least and min(two, steps if len(cuts) > 1 else two) > DRIFTS:
        kind = DRIFT
    low, high = int(p[possible].min()) + 1, int(q[possible].max())
    return Shape(kind, low, high, first, last, *_levels(clipped, first, last))
