# SPDX-License-Identifier: GPL-2.0-or-later
"""Verdicts: against scipy, and how often they are wrong where there is nothing to find."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from afpscope import stats
from scipy import stats as judge


def test_p_and_median_are_scipys() -> None:
    rng = np.random.default_rng(7)
    for n, m in ((3, 4), (8, 8), (12, 12), (60, 50)):
        a, b = rng.lognormal(1, 0.2, n), rng.lognormal(1.1, 0.2, m)
        got = stats.compare(a, b)
        assert got.p == pytest.approx(judge.mannwhitneyu(a, b).pvalue, rel=0.2)
        shift = np.median([y - x for x, y in itertools.product(np.log(a), np.log(b))])
        assert got.change == pytest.approx(np.expm1(shift))


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 5), (8, 6), (12, 12)])
def test_u_counts_sum_to_all_orders(n: int, m: int) -> None:
    counts = stats._u_counts(n, m)
    by_hand = np.zeros(n * m + 1, int)
    if n + m <= 9:
        for chosen in itertools.combinations(range(n + m), n):
            by_hand[sum(chosen) - n * (n - 1) // 2] += 1
        assert list(by_hand) == list(counts)
    assert judge.mannwhitneyu(range(n), range(n, n + m), method="exact").pvalue == pytest.approx(
        min(1.0, stats.least_p(n, m))
    )


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(1000):
        got = stats.compare(rng.lognormal(0, 0.3, 10), rng.lognormal(0.1, 0.3, 10))
        assert got.low is not None and got.high is not None
        held += got.low <= np.expm1(0.1) <= got.high
    assert held >= 940


def test_holm() -> None:
    """The example of Holm's corrections that R's p.adjust gives."""
    assert stats.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert stats.holm([]) == []


def _rows(rng: np.random.Generator, n: int, factor: float = 1.0) -> list[stats.Test]:
    """30 rows as noisy as real ones: skewed, with outliers, and a common drift."""
    out = []
    drift = 1 + 0.05 * rng.standard_normal() * np.linspace(0, 1, 2 * n)
    order = [i for pair in range(n) for i in ((0, 1) if pair % 2 else (1, 0))]
    for row in range(30):
        values = rng.lognormal(0, 0.08, 2 * n) * drift
        values *= np.where(rng.random(2 * n) < 0.05, 2.0, 1.0)
        side = np.array(order)
        values[side == 1] *= factor if row == 0 else 1
        out.append(stats.compare(values[side == 0], values[side == 1]))
    return out


def test_a_server_against_itself_is_no_different() -> None:
    """At most 1 % of 200 pairs of runs with any false verdict."""
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(200):
        words = stats.verdicts(_rows(rng, 12))
        assert stats.TOO_FEW not in words
        wrong += words.count(stats.NONE_SHOWN) != len(words)
    assert wrong <= 2


def test_ten_percent_in_one_command_are_found() -> None:
    rng = np.random.default_rng(2)
    found = [stats.verdicts(_rows(rng, 24, 1.25))[0] for _ in range(50)]
    assert found.count(stats.SLOWER) >= 48


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_too_few_runs_never_decide(n: int) -> None:
    tests = [stats.compare([1.0 + i / 99 for i in range(n)], [9.0 + i for i in range(n)])] * 30
    assert stats.verdicts(list(tests)) == [stats.TOO_FEW] * 30


def test_values_all_alike() -> None:
    got = stats.compare([5.0] * 12, [5.0] * 12)
    assert stats.verdicts([got]) == [stats.NONE_SHOWN]
