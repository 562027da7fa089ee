# SPDX-License-Identifier: GPL-2.0-or-later
"""What a station with k workers must answer: the M/M/k formula, a simulation, stalls.

Times in seconds. Nothing here knows the program under test.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

WARM_UP_S = 1.0  # of a simulated run, as the load's --ramp


@dataclass(frozen=True)
class Station:
    """Poisson arrivals at rate, k workers, exponential service times with that mean."""

    rate: float
    workers: int
    service_s: float

    @property
    def load(self) -> float:
        return self.rate * self.service_s / self.workers

    def waits(self) -> float:
        """Erlang C: the share of arrivals that find all workers busy."""
        offered = self.rate * self.service_s
        blocked = 1.0  # Erlang B, worker by worker
        for k in range(1, self.workers + 1):
            blocked = offered * blocked / (k + offered * blocked)
        return blocked / (1 - self.load * (1 - blocked))

    def longer_than(self, t: float) -> float:
        """The share of answers that take longer than t from their arrival.

        The wait is 0, or with chance C exponential with rate theta; the service follows it.
        """
        mu = 1 / self.service_s
        theta = self.workers * mu - self.rate
        waits = self.waits()
        if math.isclose(theta, mu, rel_tol=1e-9):
            both = (1 + mu * t) * math.exp(-mu * t)
        else:
            both = (theta * math.exp(-mu * t) - mu * math.exp(-theta * t)) / (theta - mu)
        return (1 - waits) * math.exp(-mu * t) + waits * both

    def quantile(self, q: float) -> float:
        low, high = 0.0, self.service_s
        while self.longer_than(high) > 1 - q:
            high *= 2
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.longer_than(middle) > 1 - q else (low, middle)
        return (low + high) / 2

    def simulate(self, seconds: float, rng: random.Random) -> list[float]:
        """Latencies of those that arrive in that time, after a warm-up from an empty station."""
        free = [-WARM_UP_S] * self.workers
        now = -WARM_UP_S
        latencies = []
        while (now := now + rng.expovariate(self.rate)) < seconds:
            end = max(now, free[0]) + rng.expovariate(1 / self.service_s)
            heapq.heapreplace(free, end)
            if now >= 0:
                latencies.append(end - now)
        return latencies

    def spread(self, quantiles: Sequence[float], seconds: float, runs: int) -> dict[float, float]:
        """Of each quantile that a run of that length finds: its logarithm's standard deviation."""
        rng = random.Random(1)
        found: dict[float, list[float]] = {q: [] for q in quantiles}
        for _ in range(runs):
            latencies = sorted(self.simulate(seconds, rng))
            for q in quantiles:
                found[q].append(math.log(quantile(latencies, q)))
        return {q: statistics.stdev(logs) for q, logs in found.items()}


@dataclass(frozen=True)
class Stalls:
    """A station that answers at once, but not during stall_s of each every_s; arrivals at rate."""

    rate: float
    stall_s: float
    every_s: float

    def quantile(self, q: float) -> float:
        """Of the latency from the planned start.

        A share of stall / every arrives in a stall, spread evenly over it, and waits for its end:
        P(latency > t) = (stall - t) / every.
        """
        return max(0.0, self.stall_s - (1 - q) * self.every_s)

    def blocked_quantile(self, q: float, clients: int) -> float:
        """Of the latency from the real start, where each client has one request at a time.

        Only the first arrivals of a stall, one for each client, begin in it; the others begin after
        it and are answered at once.
        """
        slow = clients / (self.rate * self.every_s)
        share = 1 - q
        return 0.0 if share >= slow else self.stall_s - share * self.every_s

    def no_room(self, clients: int, queue: int) -> float:
        """Arrivals of one stall that find all clients busy and the queue full."""
        return max(0.0, self.rate * self.stall_s - clients - queue)


def quantile(values: Sequence[float], q: float) -> float:
    """Nearest rank, as the program's histograms."""
    return sorted(values)[max(0, math.ceil(q * len(values)) - 1)]


def kolmogorov(values: Sequence[float], cdf: Callable[[float], float]) -> float:
    """The largest distance between the values' distribution and cdf."""
    n = len(values)
    most = 0.0
    for i, value in enumerate(sorted(values)):
        f = cdf(value)
        most = max(most, f - i / n, (i + 1) / n - f)
    return most


def kolmogorov_limit(n: int) -> float:
    """What the distance exceeds with a chance of 0.1 %, for large n."""
    return 1.95 / math.sqrt(n)


def exponential(rate: float) -> Callable[[float], float]:
    return lambda t: -math.expm1(-rate * t)


def gaps(times: Sequence[float]) -> list[float]:
    return [b - a for a, b in itertools.pairwise(times)]


def dispersion(times: Sequence[float], width: float) -> float:
    """Variance over mean of how many fall into intervals of that width: 1 for a Poisson process."""
    begin = min(times)
    n = int((max(times) - begin) / width)
    counts = [0] * n
    for t in times:
        if (at := int((t - begin) / width)) < n:
            counts[at] += 1
    return statistics.variance(counts) / statistics.fmean(counts)


def dispersion_spread(times: Sequence[float], width: float) -> float:
    """Standard deviation of dispersion() for a Poisson process."""
    return math.sqrt(2 / ((max(times) - min(times)) / width - 1))


def served(arrivals: Sequence[float], services: Sequence[float], workers: int) -> list[float]:
    """Lindley's recursion: the latency of each arrival, first come first served."""
    free = [-math.inf] * workers
    latencies = []
    for arrived, service in zip(arrivals, services, strict=True):
        end = max(arrived, free[0]) + service
        heapq.heapreplace(free, end)
        latencies.append(end - arrived)
    return latencies
