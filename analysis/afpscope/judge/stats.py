# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether two groups of times differ, with no more certainty than their number allows.

A value is that of one run: repeated measurements within a run share its conditions. Groups that
were measured in turn are compared in blocks: only values of the same block, of nearly the same
time, are compared (the Mann-Whitney test in strata, van Elteren's with equal weights), so that
slow changes of the machine are no noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special  # scipy.stats has the same, and takes half a second to import

FASTER, SLOWER = "faster", "slower"
BETTER, WORSE = "better", "worse"  # of metrics that are not the time of something
GOOD, BAD = (FASTER, BETTER), (SLOWER, WORSE)
SAME, NONE_SHOWN = "same", "no difference shown"
UNCLEAR, TOO_FEW = "differs, cause unclear", "not enough runs"
# The probability that at least one row of a comparison without any difference is reported as
# different; and that at least one is wrongly reported as "same".
ALPHA = 0.01
LEVEL = 0.95
_EXACT_MAX = 40
# Values of B, at least, that say how far the only one of A may be from them by chance.
LEAST_OTHERS = 3
# Differences of logarithms are equal if they differ by less than this.
_ROUNDING = 1e-9
# A side varies more than the other if its deviation is so many times as large.
_UNEVEN = 2.0
# ... or if chance makes so large a difference of variances with this probability.
WILD = 0.01

# The values of A and of B that may be compared with each other.
Block = tuple[Sequence[float], Sequence[float]]
Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Margins:
    """The limits against which the difference of B from A is tested, as shares: 0.05 is 5 %.

    `least`: a difference up to it, either way, does not count. `doubt`: up to it a difference may
    have another cause than the server; None: there is no other cause.
    """

    least: float = 0.0
    doubt: float | None = None


@dataclass(frozen=True)
class Test:
    """B against A. `change` and its interval at LEVEL are relative: 0.1 is 10 % longer.

    None if there are too few values, `change` if a side has none. `p`: for a difference no larger
    than `least`; `p_sure`: no larger than `least` and `doubt`; `p_same`: for one as large as
    `least` or larger, None if "same" cannot be shown; `least_p`: the smallest `p` that so many
    values can give. All of them for this row alone.
    """

    n_a: int
    n_b: int
    median_a: float | None
    median_b: float | None
    change: float | None
    low: float | None
    high: float | None
    p: float | None
    p_sure: float | None
    p_same: float | None
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


def _u_chances(n: int, m: int) -> Array:
    """The probability of each U if there is no difference; exact up to _EXACT_MAX, then normal."""
    if max(n, m) <= _EXACT_MAX:
        total = math.comb(n + m, n)
        return np.array([count / total for count in _u_counts(n, m)])
    ends = np.arange(n * m + 2) - 0.5 - n * m / 2
    return np.diff(special.ndtr(ends / math.sqrt(n * m * (n + m + 1) / 12)))


@lru_cache(maxsize=64)
def _below(sizes: tuple[tuple[int, int], ...]) -> Array:
    """The probability of each sum of the blocks' U, or a smaller one."""
    chances = np.ones(1)
    for n, m in sizes:
        chances = np.convolve(chances, _u_chances(n, m))
    return np.cumsum(chances)


def least_p(sizes: Sequence[tuple[int, int]]) -> float:
    """The smallest p that blocks with these numbers of values of A and of B can give."""
    return min(1.0, 2.0 / math.prod(math.comb(n + m, n) for n, m in sizes))


def _p_larger(differences: Array, below: Array, margin: float) -> float:
    """The probability of these if the true difference is no larger than `margin`, either way."""
    margin += _ROUNDING
    most = max(np.count_nonzero(differences > margin), np.count_nonzero(differences < -margin))
    return min(1.0, 2 * float(below[len(differences) - most]))


def _p_same(differences: Array, below: Array, margin: float) -> float:
    """The probability of these if the true difference is `margin` or more: two one-sided tests."""
    margin -= _ROUNDING
    least = min(np.count_nonzero(differences > -margin), np.count_nonzero(differences < margin))
    return min(1.0, float(below[len(differences) - least]))


@dataclass(frozen=True)
class Means:
    """The difference of the sides' means, how far chance moves it, and how well that is known."""

    of: float
    error: float
    freedom: int

    def p_larger(self, margin: float) -> float:
        """As _p_larger."""
        return min(1.0, 2 * self.p_above(abs(self.of) - margin))

    def p_same(self, margin: float) -> float:
        """As _p_same."""
        return self.p_above(margin - abs(self.of))

    def p_above(self, by: float) -> float:
        """How often chance moves the difference by so much or more, in one direction."""
        return float(special.stdtr(self.freedom, -by / max(self.error, _ROUNDING)))

    @property
    def reach(self) -> float:
        """From the difference to either end of its interval at LEVEL."""
        return float(special.stdtrit(self.freedom, (1 + LEVEL) / 2)) * self.error


def median_within(values: Sequence[float], level: float = LEVEL) -> tuple[float, float] | None:
    """The interval of the median at this level, by ranks (whatever the values' distribution is);
    None: there are too few values."""
    ordered, n = sorted(values), len(values)
    out = None
    for k in range((n + 1) // 2):
        # The median is below the value of rank k + 1 if at most k values are below the median.
        if 1 - 2 * float(special.bdtr(k, n, 0.5)) < level:
            break
        out = ordered[k], ordered[n - 1 - k]
    return out


# numpy's mean and median take several times as long for so few values, and nothing else as long.
def _mean(values: Array) -> float:
    return float(values.sum()) / len(values)


def _median(values: Array) -> float:
    return _middle(np.sort(values))


def _middle(ordered: Array) -> float:
    half = len(ordered) // 2
    return float(ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2)


def _spread(sides: Sequence[Array]) -> float:
    """How far values are from the middle of their block; outliers change it little."""
    off = [np.abs(v - _median(v)) for v in sides]
    # Of two values or three too much would be 0.
    shares = [math.sqrt(len(v) / (len(v) - 1)) for v in sides if len(v) > 1]
    return _median(np.concatenate(off)) * max(shares, default=1.0)


def _with_both(blocks: Sequence[Sequence[Array]]) -> list[Sequence[Array]]:
    """Those in which values are compared at all."""
    return [block for block in blocks if all(len(side) for side in block)]


def is_uneven(blocks: Sequence[Sequence[Array]]) -> bool:
    """Whether ranks, or dealing values to the sides anew, may be wrong: one side varies more than
    the other, or may and has too few values to show it.

    Both assume that the sides vary alike: five values that vary ten times as much as the others are
    all above them, or all below, once in sixteen times. Means know how far they are above.
    """
    both = _with_both(blocks)
    if any(len(a) != len(b) for a, b in both):
        return True
    known = [block for block in both if len(block[0]) > 1]
    if not known:
        return False
    spreads = [_spread([block[i] for block in known]) for i in (0, 1)]
    return max(spreads) > _UNEVEN * min(spreads) + _ROUNDING


def _variance(sides: Sequence[Array]) -> tuple[float, int]:
    """Of the values of a block around its mean, and its degrees of freedom; of none anything."""
    freedom = sum(len(v) - 1 for v in sides)
    off = [v - _mean(v) for v in sides]
    return (sum(float(v @ v) for v in off) / freedom if freedom else math.inf), freedom


def deviations(blocks: Sequence[Sequence[Array]]) -> list[float]:
    """Of the values of A and of B around the means of their blocks; two in one of them, or more."""
    return [math.sqrt(_variance(side)[0]) for side in zip(*_with_both(blocks), strict=True)]


def wilder(blocks: Sequence[Sequence[Array]], chance: float = WILD) -> float:
    """1: B varies more than A by the F test at this level, -1: less; 0: that is not shown."""
    both = _with_both(blocks)
    if not both:
        return 0.0
    (a, n), (b, m) = (_variance(side) for side in zip(*both, strict=True))
    if not n or not m:
        return 0.0
    for sign, x, y, of, to in ((1.0, b, a, m, n), (-1.0, a, b, n, m)):
        if x > _ROUNDING and special.fdtrc(of, to, x / max(y, _ROUNDING)) <= chance:
            return sign
    return 0.0


def means_of(logs: Sequence[Sequence[Array]], skewed: bool = False) -> Means:
    """What the means say, by Welch's statistic in blocks. Where a side has no block with two of its
    values, how far chance moves them is not known, and they show nothing.

    `skewed`: the means of what these are the logarithms of, which a few large values make up, also
    those that are so rare that none was seen (Cox's way).
    """
    logs = _with_both(logs)
    n = sum(len(v) for block in logs for v in block)
    weights = [(len(a) + len(b)) / n for a, b in logs]
    error, more, freedoms = 0.0, [], []
    for side in zip(*logs, strict=True):
        variance, freedom = _variance(side)
        if not freedom:
            return Means(0.0, math.inf, 1)
        freedoms.append(freedom)
        error += variance * sum(w * w / len(v) for w, v in zip(weights, side, strict=True))
        error += variance**2 / (2 * freedom) if skewed else 0.0
        more.append(variance / 2 if skewed else 0.0)
    of = sum(w * (_mean(b) - _mean(a)) for w, (a, b) in zip(weights, logs, strict=True))
    # No fewer than these, whatever the variances are (Hsu): Welch's own number is an estimate.
    return Means(of + more[1] - more[0], math.sqrt(error), min(freedoms))


def compare(blocks: Sequence[Block], margins: Margins = Margins(), blur: float = 0.0) -> Test:
    """Hodges-Lehmann and Mann-Whitney on the logarithms; values of 0 or less are left out.

    Equal values count for no difference. `blur`: the error of the difference of two logarithms
    (quantiles are known to a bucket of a histogram): every margin grows by it, that of "same"
    shrinks. Margins are symmetric for A against B and B against A: 5 % are 1.05 times as long,
    or as short. Where one side varies much more than the other, its means must say the same.
    """
    logs = [[np.log([v for v in side if v > 0]) for side in block] for block in blocks]
    x, y = (np.concatenate([np.empty(0), *(block[i] for block in logs)]) for i in (0, 1))
    median_a, median_b = (float(np.exp(_median(v))) if len(v) else None for v in (x, y))
    sizes = tuple((len(a), len(b)) for a, b in logs)
    smallest = least_p(sizes)
    within = [(b[:, None] - a[None, :]).ravel() for a, b in logs]
    differences = np.sort(np.concatenate([np.empty(0), *within]))
    change = float(np.expm1(_middle(differences))) if len(differences) else None
    head = (len(x), len(y), median_a, median_b, change)
    if min(len(x), len(y)) < 2 or change is None:
        return Test(*head, None, None, None, None, None, smallest)
    below = _below(sizes)
    means = means_of(logs) if is_uneven(logs) else None

    def larger(margin: float) -> float:
        by_rank = _p_larger(differences, below, margin)
        return max(by_rank, means.p_larger(margin)) if means else by_rank

    def same(margin: float) -> float:
        by_rank = _p_same(differences, below, margin)
        return max(by_rank, means.p_same(margin)) if means else by_rank

    low, high = _interval(differences, below, means, blur)
    least = math.log1p(margins.least)
    p = larger(least + blur)
    if margins.doubt is None:
        return Test(*head, low, high, p, p, same(least - blur) if least > blur else None, smallest)
    sure = larger(max(least, math.log1p(margins.doubt)) + blur)
    return Test(*head, low, high, p, sure, None, smallest)


def apart(one: float, others: Sequence[float], least: float = 0.0, blur: float = 0.0) -> Test:
    """Whether B's values are other than A's only one, by the interval in which Student's t has one
    more value like them, on the logarithms: both sides are taken to vary as B does.

    Fewer than LEAST_OTHERS do not say how they vary. A is of one time only, so that it is never
    sure what a difference is due to, nor shown that there is none.
    """
    logs = np.log(np.array(others)) if others and min(one, *others) > 0 else np.empty(0)
    if not len(logs):
        return Test(1, len(others), one, None, None, None, None, None, None, None, 1.0)
    by = _mean(logs) - math.log(one)
    middle = float(np.exp(_median(logs)))
    if len(logs) < LEAST_OTHERS:
        return Test(1, len(logs), one, middle, math.expm1(by), None, None, None, None, None, 1.0)
    variance, freedom = _variance([logs])
    variance = max(variance, blur * blur / 12)  # values of one bucket are not the same
    found = Means(by, math.sqrt(variance * (1 + 1 / len(logs))), freedom)
    low, high = (math.expm1(by + sign * (found.reach + blur)) for sign in (-1, 1))
    p = found.p_larger(math.log1p(least) + blur)
    return Test(1, len(logs), one, middle, math.expm1(by), low, high, p, 1.0, None, 0.0)


def _interval(
    differences: Array, below: Array, means: Means | None, blur: float
) -> tuple[float | None, float | None]:
    """Of the change, at LEVEL; None: there is no such end."""
    # The k-th difference from each end bounds the interval; 0: no interval.
    k = int(np.searchsorted(below, (1 - LEVEL) / 2, side="right"))
    if not k or (means and math.isinf(means.error)):
        return None, None
    low, high = float(differences[k - 1]), float(differences[-k])
    if means:
        low, high = min(low, means.of - means.reach), max(high, means.of + means.reach)
    return math.expm1(low - blur), math.expm1(high + blur)


def holm(ps: Sequence[float]) -> list[float]:
    """The p values corrected for their number, in the same order."""
    out = [1.0] * len(ps)
    worst = 0.0
    for i, at in enumerate(sorted(range(len(ps)), key=lambda at: ps[at])):
        worst = max(worst, min(1.0, (len(ps) - i) * ps[at]))
        out[at] = worst
    return out


def verdicts(tests: Sequence[Test]) -> list[str]:
    """The verdict for each row.

    A row with so few values that no result could be significant has "not enough runs", and is
    left out of the correction.
    """
    rows = sum(t.p is not None for t in tests)
    able = [i for i, t in enumerate(tests) if t.p is not None and t.least_p * rows <= ALPHA]
    out = [TOO_FEW] * len(tests)
    larger, sure, same = (
        holm([1.0 if p is None else p for p in of])
        for of in zip(*((tests[i].p, tests[i].p_sure, tests[i].p_same) for i in able), strict=True)
    ) if able else ([], [], [])  # fmt: skip
    for at, i in enumerate(able):
        if sure[at] <= ALPHA:
            out[i] = SLOWER if (tests[i].change or 0) > 0 else FASTER
        elif larger[at] <= ALPHA:
            out[i] = UNCLEAR
        else:
            out[i] = SAME if same[at] <= ALPHA else NONE_SHOWN
    return out
