# SPDX-License-Identifier: GPL-2.0-or-later
"""The calls of a sweep of `rx`: each test at each value, and how much the last value changes it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ..judge import stats
from ..saved.model import Phase
from ..saved.steps import Level, Step, Sweep, middle


@dataclass(frozen=True)
class AtValue:
    """A test at one value: medians of its steps. Times in ns."""

    value: str
    n: int  # steps
    mean_ns: float | None
    p99_ns: float | None
    mb_s: float | None
    failed: int
    drops: int | None  # of the server's sockets; None: not seen
    means_ns: tuple[float, ...]  # of each step


@dataclass(frozen=True)
class Test:
    """`ratio`: mean time at the first value over that at the last (Hodges-Lehmann); `within`: its
    interval at stats.LEVEL, by the ranks of the steps. None: there are too few."""

    name: str
    at: tuple[AtValue, ...]
    ratio: float | None
    within: tuple[float, float] | None


def _phase(step: Step, title: str) -> Phase | None:
    phases = step.run.whole_phases if step.run else []
    return next((p for p in phases if p.load and p.title == title), None)


def mb_s(phase: Phase) -> float | None:
    """Millions of bytes a second, both ways."""
    moved, ns = phase.metrics.get("bytes"), phase.metrics.get("elapsed")
    return moved / 1e6 / (ns / 1e9) if moved is not None and ns else None


def drops(step: Step) -> int | None:
    """Datagrams that the server's sockets had no room for, in the whole run."""
    sockets = step.run.sockets if step.run else ()
    return sum(s.drops for s in sockets) if sockets else None


def _means(level: Level, title: str) -> list[float]:
    phases = [p for s in level.steps if (p := _phase(s, title))]
    return [ns for p in phases if p.load and (ns := p.load.mean_ns()) is not None]


def _at(level: Level, title: str) -> AtValue:
    phases = [p for s in level.steps if (p := _phase(s, title))]
    seen = [n for s in level.steps if (n := drops(s)) is not None]
    return AtValue(
        level.text,
        len(phases),
        middle(_means(level, title)),
        middle(p.load.latency().quantile(0.99) for p in phases if p.load),
        middle(map(mb_s, phases)),
        sum(p.load.failed for p in phases if p.load),
        round(statistics.median(seen)) if seen else None,
        tuple(_means(level, title)),
    )


def ratio(
    first: Sequence[float], last: Sequence[float]
) -> tuple[float | None, tuple[float, float] | None]:
    """How many times larger the first values are, and within which interval."""
    found = stats.compare([(last, first)])
    if found.change is None:
        return None, None
    known = found.low is not None and found.high is not None
    within = (1 + (found.low or 0.0), 1 + (found.high or 0.0)) if known else None
    return 1 + found.change, within


def steps_needed() -> int:
    """Of each value, for an interval."""
    n = 2
    while stats.least_p([(n, n)]) > 1 - stats.LEVEL:
        n += 1
    return n


def tests(sweep: Sweep) -> list[Test]:
    """In the order of the first step; empty unless the steps are of `rx`."""
    levels = sorted(sweep.levels, key=lambda level: level.value)
    runs = [s.run for s in sweep.measured if s.run]
    if not sweep.of_calls or not runs:
        return []
    out = []
    for title in [p.title for p in runs[0].whole_phases if p.load]:
        first, last = (_means(level, title) for level in (levels[0], levels[-1]))
        at = tuple(_at(level, title) for level in levels)
        out.append(Test(title, at, *(ratio(first, last) if len(levels) > 1 else (None, None))))
    return out
