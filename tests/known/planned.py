# SPDX-License-Identifier: GPL-2.0-or-later
"""When each action of an open loop was due, computed anew from the seed of the load.

So that a judge needs neither statistics nor the word of the program under test: what an action owes
to its queue follows from when it was due and from the services that the server says it gave.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from typing import Any

from known import Known, phase
from queueing import served

MASK = 2**64 - 1
ARRIVALS = 1 << 32  # of the random numbers that arrivals have, one sequence a thread


def _mixed(x: int) -> int:
    """The finalizer of splitmix64."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def _uniform(seed: int, number: int) -> Iterator[float]:
    """erand48() of the C library."""
    x = _mixed(_mixed(seed + 0x9E3779B97F4A7C15 & MASK) + number & MASK) & (2**48 - 1)
    while True:
        x = (0x5DEECE66D * x + 0xB) % 2**48
        yield x / 2**48


def _poisson(rate: float, seed: int, number: int, threads: int) -> Iterator[float]:
    gaps = (-math.log1p(-u) * threads / rate for u in _uniform(seed, ARRIVALS + number))
    return itertools.accumulate(gaps)


def planned(rate: float, seed: int, seconds: float, threads: int = 1) -> list[float]:
    """Poisson arrivals of all threads of all ranks, in seconds since the load began its ramp."""
    streams = [_poisson(rate, seed, k, threads) for k in range(threads)]
    return list(itertools.takewhile(lambda t: t < seconds, heapq.merge(*streams)))


def owed(
    server: Known, run: dict[str, Any], rate: float, seed: int, workers: int, threads: int = 1
) -> list[float]:
    """The latency of each action that was due in the measured time, but for the way to the server
    and back: first come first served by the workers, with the very services that the server gave.

    What still waited when the load ended is left out. The server has ended.
    """
    p = phase(run)
    begin, measured, end = (p[key] / 1e9 for key in ("begin_ns", "measure_ns", "end_ns"))
    due = planned(rate, seed, end - begin, threads)
    assert p["arrivals"] == sum(begin + t >= measured for t in due), "not what the seed says"
    answers = sorted(server.answers(begin), key=lambda a: a.arrived)
    assert 0 <= len(due) - len(answers) < 0.05 * len(due), (len(due), len(answers))
    due = due[: len(answers)]
    latencies = served(due, [a.service for a in answers], workers)
    return [s for s, t in zip(latencies, due, strict=True) if begin + t >= measured]
