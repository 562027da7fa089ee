# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether two groups of times differ. Never more certain than their number allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats

FASTER, SLOWER = "faster", "slower"
NONE_SHOWN, TOO_FEW = "no difference shown", "not enough runs"
# Chance that one row or more of a comparison without any difference says it has one.
ALPHA = 0.01
LEVEL = 0.95
_EXACT_MAX = 40


@dataclass(frozen=True)
class Test:
    """B against A. `change` and its interval at LEVEL are relative: 0.1 is 10 % longer.

    None where there are too few values; `p` is that of this row alone.
    """

    n_a: int
    n_b: int
    median_a: float | None
    median_b: float | None
    change: float | None
    low: float | None
    high: float | None
    p: float | None


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


def _rank(n: int, m: int) -> int:
    """Of the n*m differences in order the k-th from each end bounds the interval; 0: none."""
    if max(n, m) <= _EXACT_MAX:
        counts, total = _u_counts(n, m), math.comb(n + m, n)
        k, below = 0, 0
        while k < len(counts) and (below + counts[k]) / total <= (1 - LEVEL) / 2:
            below += counts[k]
            k += 1
        return k
    z = float(stats.norm.ppf(0.5 + LEVEL / 2))
    return max(0, int(n * m / 2 - z * math.sqrt(n * m * (n + m + 1) / 12)))


def least_p(n: int, m: int) -> float:
    """The smallest p that n and m values can give."""
    return 2 / math.comb(n + m, n) if n and m else 1.0


def compare(a: Sequence[float], b: Sequence[float]) -> Test:
    """Hodges-Lehmann and Mann-Whitney on the logarithms; values of 0 or less are left out."""
    x = np.log([v for v in a if v > 0])
    y = np.log([v for v in b if v > 0])
    medians = [float(np.exp(np.median(v))) if len(v) else None for v in (x, y)]
    if len(x) < 2 or len(y) < 2:
        return Test(len(x), len(y), medians[0], medians[1], None, None, None, None)
    differences = np.sort((y[:, None] - x[None, :]).ravel())
    k = _rank(len(x), len(y))
    low = float(np.expm1(differences[k - 1])) if k else None
    high = float(np.expm1(differences[-k])) if k else None
    ties = len(np.unique(np.concatenate([x, y]))) < len(x) + len(y)
    exact = not ties and max(len(x), len(y)) <= _EXACT_MAX
    p = stats.mannwhitneyu(x, y, method="exact" if exact else "asymptotic").pvalue
    change = float(np.expm1(np.median(differences)))
    p = 1.0 if math.isnan(p) else float(p)
    return Test(len(x), len(y), medians[0], medians[1], change, low, high, p)


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
    able = [t for t in wanted if least_p(t.n_a, t.n_b) * rows <= ALPHA]
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
