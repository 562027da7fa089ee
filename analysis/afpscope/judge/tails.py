# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a quantile differs between two sides, where no run alone has enough requests for one.

The requests of all runs of a side are put together. But those of one run share its conditions, so
that chance is what happens to whole runs: how likely the difference is by chance is found by
dealing the runs to the two sides anew, within their blocks. That holds for few runs, and for any
distribution of times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np

from ..saved.hist import Histogram, low
from . import stats
from .stats import Array, Margins, Test

# The runs of A and of B that may be compared with each other.
Block = tuple[Sequence[Histogram], Sequence[Histogram]]
# Ways to deal the runs that are tried; the first of them, where that is enough to see that the
# difference may be chance, and for the ends of the interval.
_WAYS, _FIRST = 200_000, 2_000
# Among more rows no number of runs makes a p that is small enough.
MOST_ROWS = int(stats.ALPHA * (_WAYS + 1) / 2)
CROWDED = (
    f"p99 (all runs) and other quantiles of all runs together can be judged among {MOST_ROWS:,} "
    "rows at most, however many runs there are: compare fewer tests"
)
SCARCE = "in too few of the runs to be judged"
_PLAIN = 0.02  # a larger p needs no more ways
_FAR = 8.0  # the largest logarithm of a ratio that is looked for
_STEPS = 12  # of the bisection
_NONE = Margins()
_ROUNDING = 1e-6  # of a request
# That one side's medians vary more, with this probability: less costs intervals of sides alike.
_WILD_BODY = 0.001


@lru_cache(maxsize=16)
def _deals(sizes: tuple[tuple[int, int], ...]) -> tuple[Array, bool]:
    """Which runs are B's in each way to deal them (rows), and whether these are all ways."""
    number = math.prod(math.comb(n + m, m) for n, m in sizes)
    rng = np.random.default_rng(1)
    parts = []
    for n, m in sizes:
        if number <= _WAYS:
            chosen = np.array(list(combinations(range(n + m), m)))
        else:
            chosen = np.argsort(rng.random((_WAYS, n + m)), axis=1)[:, :m]
        part = np.zeros((len(chosen), n + m))
        np.put_along_axis(part, chosen, 1.0, axis=1)
        parts.append(part)
    if number > _WAYS:
        return np.hstack(parts), False
    out = parts[0]
    for part in parts[1:]:
        out = np.hstack([np.repeat(out, len(part), axis=0), np.tile(part, (len(out), 1))])
    # in any order: the first of them stand for all
    return out[rng.permutation(len(out))], True


@dataclass(frozen=True)
class _Runs:
    """Runs that may be compared: of each, how many requests took at least as long as each edge of
    a bucket. Within a bucket they are taken to be even."""

    a: Sequence[Histogram]
    b: Sequence[Histogram]

    @cached_property
    def edges(self) -> Array:
        all_of = {(i + k, h.bits) for h in (*self.a, *self.b) for i, _ in h.buckets for k in (0, 1)}
        return np.array(sorted({float(low(i, bits)) for i, bits in all_of}))

    def _above(self, of: Histogram) -> Array:
        at, above, left = [0.0], [float(of.n)], float(of.n)
        for index, count in of.buckets:
            at += [float(low(index, of.bits)), float(low(index + 1, of.bits))]
            above += [left, left - count]
            left -= count
        return np.interp(self.edges, at, above)

    @cached_property
    def above(self) -> tuple[Array, Array]:
        """Of A and of B: a row for each run."""
        a, b = (np.array([self._above(h) for h in side]) for side in (self.a, self.b))
        return a, b

    @cached_property
    def all_above(self) -> tuple[Array, Array]:
        a, b = self.above
        return a.sum(axis=0), b.sum(axis=0)

    @cached_property
    def n(self) -> Array:
        return np.array([float(h.n) for h in (*self.a, *self.b)])

    def scores(self, q: float, shift: float) -> Array:
        """Of each run: the requests beyond the quantile of all, less what it would have if it were
        as the others. `shift`: the logarithm by which B's times are made shorter first."""
        other = self.edges * math.exp(-shift)
        tried = np.sort(np.concatenate([self.edges, other]))
        of_a, of_b = self.all_above
        beyond = np.interp(tried, self.edges, of_a) + np.interp(tried, other, of_b)
        # beyond falls from all to none
        at = float(np.interp(-(1 - q) * self.n.sum(), -beyond, tried))
        found = [self._at(self.above[0], at), self._at(self.above[1], at * math.exp(shift))]
        return np.concatenate(found) - (1 - q) * self.n

    def _at(self, rows: Array, x: float) -> Array:
        """Of each run, the requests that took at least so long."""
        if not self.edges[0] < x < self.edges[-1]:
            return rows[:, 0 if x <= self.edges[0] else -1]
        k = int(np.searchsorted(self.edges, x))
        share = (x - self.edges[k - 1]) / (self.edges[k] - self.edges[k - 1])
        return np.asarray(rows[:, k - 1] * (1 - share) + rows[:, k] * share)


@dataclass(frozen=True)
class _Sides:
    blocks: Sequence[_Runs]
    q: float

    @cached_property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        return tuple((len(x.a), len(x.b)) for x in self.blocks)

    def _by_side(self, scores: Array) -> list[list[Array]]:
        """Of each block, A's runs and B's."""
        parts = np.split(scores, np.cumsum([n + m for n, m in self.sizes])[:-1])
        return [[part[:n], part[n:]] for part, (n, _) in zip(parts, self.sizes, strict=True)]

    @cached_property
    def is_uneven(self) -> bool:
        """The runs of one side vary more than those of the other, or may."""
        return stats.is_uneven(self._by_side(self.excess(self.change or 0.0)[1]))

    def _wilder(self, chance: float) -> float:
        return stats.wilder(self._by_side(self.excess(self.change or 0.0)[1]), chance)

    @cached_property
    def wilder(self) -> set[float]:
        """1 in it: the runs of B vary more than those of A, -1: less; 0: that is not shown.

        Also by the requests beyond the median, of which each run has many: a side whose slowest
        runs are rare may by luck have none of them, and then its slow requests vary little.
        """
        return {self._wilder(stats.WILD), _Sides(self.blocks, 0.5)._wilder(_WILD_BODY)}

    @cached_property
    def of_b(self) -> Array:
        return np.concatenate([np.r_[np.zeros(n), np.ones(m)] for n, m in self.sizes])

    def excess(self, shift: float) -> tuple[float, Array]:
        """The requests that B's runs have more beyond the quantile; and the runs' scores."""
        scores = np.concatenate([x.scores(self.q, shift) for x in self.blocks])
        return float(scores @ self.of_b), scores

    def p(self, shift: float, more: bool, first: bool = False) -> float:
        """The probability that by chance B has as many more (less) requests beyond the quantile, if
        its times are `shift` longer."""
        seen, scores = self.excess(shift)
        sign = 1.0 if more else -1.0
        ways, all_of = _deals(self.sizes)
        # Of a side that varies more the slowest runs may be missing: it is not called faster.
        if -sign in self.wilder:
            return 1.0
        for part in (ways[:_FIRST], ways):
            hits = np.count_nonzero(sign * (part @ scores) >= sign * seen - _ROUNDING)
            whole = all_of and len(part) == len(ways)
            found = float(hits / len(part) if whole else (hits + 1) / (len(part) + 1))
            if first or found > _PLAIN or len(part) == len(ways):
                break
        return max(found, self._p_means(scores, sign)) if self.is_uneven else found

    def _p_means(self, scores: Array, sign: float) -> float:
        """The same by the runs' own numbers of slow requests, which need not vary alike: by their
        means, and by those that logarithms with the same mean and variance would have."""
        n = np.concatenate([x.n for x in self.blocks])
        shares = np.log(np.maximum(scores + (1 - self.q) * n, 0.0) + 0.5) - np.log(n + 1)
        means = stats.means_of(self._by_side(scores))
        skewed = stats.means_of(self._by_side(shares), True)
        return max(of.p_above(sign * of.of) for of in (means, skewed))

    def _turn(self, begin: float, step: float, is_inside: object) -> float | None:
        """How far from `begin`, in the direction of `step`, a shift is inside."""
        assert callable(is_inside)
        inside, outside = begin, begin + step
        while is_inside(outside):
            inside, outside = outside, begin + 2 * (outside - begin)
            if abs(outside - begin) > _FAR:
                return None
        for _ in range(_STEPS):
            half = (inside + outside) / 2
            inside, outside = (half, outside) if is_inside(half) else (inside, half)
        return inside

    @cached_property
    def change(self) -> float | None:
        """The shift that leaves no difference. None: no shift does."""
        up = self.excess(0.0)[0] > _ROUNDING
        sign = 1.0 if up else -1.0
        return self._turn(0.0, 0.01 * sign, lambda x: sign * self.excess(x)[0] > _ROUNDING)

    def within(self) -> tuple[float | None, float | None]:
        """The shifts that are not excluded; None: open."""
        if self.change is None:
            return None, None
        out = (1 - stats.LEVEL) / 2
        low_ = self._turn(self.change, -0.01, lambda x: self.p(x, True, True) > out)
        return low_, self._turn(self.change, 0.01, lambda x: self.p(x, False, True) > out)


def least_p(sizes: Sequence[tuple[int, int]]) -> float:
    """The smallest p that so many runs can give."""
    return max(stats.least_p(sizes), 2 / (_WAYS + 1))


def compare(blocks: Sequence[Block], q: float, margins: Margins = _NONE) -> Test:
    """The quantile of all requests of B against A's. `median_a` and `median_b` are the quantiles.

    Every margin grows by the widths of the buckets that the quantiles lie in; that of "same"
    shrinks.
    """
    of = _Sides([_Runs(a, b) for a, b in blocks], q)
    all_of = [Histogram.merge(h for block in blocks for h in block[i]) for i in (0, 1)]
    ends = [h.quantile_within(q) for h in all_of]
    middles = [math.sqrt(max(1, e[0]) * max(1, e[1])) if e else None for e in ends]
    blur = max((math.log(max(1, e[1]) / max(1, e[0])) for e in ends if e), default=0.0)
    n_a, n_b = (sum(size[i] for size in of.sizes) for i in (0, 1))
    change = of.change
    smallest = least_p(of.sizes)
    head = (n_a, n_b, middles[0], middles[1], None if change is None else math.expm1(change))
    if min(n_a, n_b) < 2 or change is None:
        return Test(*head, None, None, None, None, None, smallest)
    ends_of = of.within()
    low_, high = (None if None in ends_of else math.expm1(x or 0.0) for x in ends_of)
    least = math.log1p(margins.least)
    larger = _larger(of, least + blur)
    if margins.doubt is not None:
        sure = _larger(of, max(least, math.log1p(margins.doubt)) + blur)
        return Test(*head, low_, high, larger, sure, None, smallest)
    same = None
    if least > blur:
        same = max(of.p(least - blur, False), of.p(blur - least, True))
    return Test(*head, low_, high, larger, larger, same, smallest)


def _larger(of: _Sides, margin: float) -> float:
    """The probability of these if the true difference is no larger than `margin`, either way."""
    return min(1.0, 2 * min(of.p(margin, True), of.p(-margin, False)))
