# SPDX-License-Identifier: GPL-2.0-or-later
"""The theory by which tests/known judges a load: against simulation and scipy."""

from __future__ import annotations

import math
import random

import pytest
from queueing import Stalls, Station, dispersion, exponential, kolmogorov, quantile
from scipy import stats

STATIONS = [Station(load * k / 0.004, k, 0.004) for k in (1, 4, 16) for load in (0.3, 0.6, 0.8)]


@pytest.mark.parametrize("station", STATIONS, ids=lambda s: f"{s.workers} at {s.load:.0%}")
def test_the_formula_is_what_a_simulation_finds(station: Station) -> None:
    seconds = 200_000 / station.rate
    latencies = station.simulate(seconds, random.Random(2))
    spread = station.spread([0.5, 0.99], seconds / 20, 20)
    for q in (0.5, 0.99):
        allowed = 4 * spread[q] / math.sqrt(20)
        assert abs(quantile(latencies, q) / station.quantile(q) - 1) < allowed, q


def test_one_worker_waits_as_often_as_it_is_busy() -> None:
    assert Station(60, 1, 0.01).waits() == pytest.approx(0.6)
    # M/M/1: the time in the system is exponential
    assert Station(60, 1, 0.01).quantile(0.99) == pytest.approx(math.log(100) / 40)


def test_many_workers_wait_as_the_poisson_distribution_says() -> None:
    station = Station(1280, 16, 0.01)
    offered = station.rate * station.service_s
    busy = stats.poisson.pmf(16, offered) / (1 - station.load)
    expected = busy / (stats.poisson.cdf(15, offered) + busy)
    assert station.waits() == pytest.approx(expected)


def test_stalls_are_what_arrivals_at_equal_distances_meet() -> None:
    stalls = Stalls(rate=1000, stall_s=0.1, every_s=2)
    in_period = [(i + 0.5) / stalls.rate for i in range(2000)]
    latencies = [2 - t if t >= 1.9 else 0.0 for t in in_period]
    for q in (0.5, 0.96, 0.99, 0.999):
        assert stalls.quantile(q) == pytest.approx(quantile(latencies, q), abs=0.001)
    begun = [t if i < 10 else 0 for i, t in enumerate(sorted(latencies, reverse=True))]
    for q in (0.99, 0.996, 0.999):
        assert stalls.blocked_quantile(q, 10) == pytest.approx(quantile(begun, q), abs=0.001)


def test_kolmogorovs_distance_is_scipys() -> None:
    rng = random.Random(3)
    values = [rng.expovariate(5) for _ in range(1000)]
    assert kolmogorov(values, exponential(5)) == pytest.approx(
        stats.kstest(values, stats.expon(scale=1 / 5).cdf).statistic
    )


def test_only_a_poisson_process_has_a_dispersion_of_one() -> None:
    rng = random.Random(4)
    poisson, now = [], 0.0
    while len(poisson) < 20_000:
        poisson.append(now := now + rng.expovariate(1000))
    fixed = [i / 1000 for i in range(20_000)]
    pairs = sorted(poisson[:10_000] * 2)
    assert dispersion(poisson, 0.01) == pytest.approx(1, abs=0.13)
    assert dispersion(fixed, 0.01) < 0.05
    assert dispersion(pairs, 0.01) == pytest.approx(2, abs=0.3)
