# SPDX-License-Identifier: GPL-2.0-or-later
"""How long requests took, drawn as markup: time over a logarithmic axis of percentiles, so that the
tail is as wide as the rest; and the same numbers as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .. import show
from ..saved.hist import QUANTILES, Histogram, low, middle
from ..tables.digest import TestView
from .colours import LINES
from .frame import Frame, Tick

COMMANDS = 7  # lines of a figure
_FRAME = Frame(top=10, bottom=24)
_MARKED = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)


@dataclass(frozen=True)
class Line:
    """One command. `share`: of the time of all requests of the test; `times`: the mean, as
    QUANTILES, and the longest; n/a where there are too few for that."""

    name: str
    colour: str
    dash: str
    points: str
    n: int
    share: float
    times: tuple[str, ...]


@dataclass(frozen=True)
class Tails:
    caption: str
    lines: tuple[Line, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]


def _nines(share: float) -> float:
    """The place of a share on the axis: 0 for none, 1 for 90 %, 2 for 99 %."""
    return -math.log10(1 - share)


def curve(latency: Histogram) -> Iterator[tuple[float, float]]:
    """Place on the axis of percentiles and time in ns, for each bucket. The longest request is
    drawn where half a request would be left."""
    total, seen = latency.n, 0
    for index, count in latency.buckets:
        yield _nines(seen / total), float(max(1, middle(index, latency.bits)))
        seen += count
        yield _nines(min(seen, total - 0.5) / total), float(max(1, middle(index, latency.bits)))


def merged(test: TestView) -> list[tuple[str, Histogram]]:
    """The commands of a test that took most of its time."""
    each = ((name, Histogram.merge(of)) for name, of in test.by_command.items())
    used = [one for one in each if one[1].n]
    return sorted(used, key=lambda one: -test.command_ns[one[0]])[:COMMANDS]


def _times(latency: Histogram, sum_ns: int) -> tuple[str, ...]:
    known = (latency.quantile(q) if latency.n * (1 - q) >= 1 else None for q in QUANTILES.values())
    index, _ = latency.buckets[-1]
    mean = show.time(sum_ns / latency.n)
    return (mean, *(show.time(ns) for ns in known), show.time(low(index + 1, latency.bits)))


def _ticks_up(bottom: float, top: float) -> Iterator[float]:
    for power in range(math.floor(bottom), math.ceil(top) + 1):
        for step in (1, 2, 5) if top - bottom < 2 else (1,):
            if bottom <= power + math.log10(step) <= top:
                yield step * 10.0**power


def tails(test: TestView) -> Tails | None:
    """None: nothing was asked."""
    of = merged(test)
    if not of:
        return None
    curves = [list(curve(latency)) for _, latency in of]
    right = max(x for one in curves for x, _ in one) or 1.0
    logs = [math.log10(y) for one in curves for _, y in one]
    bottom, top = min(logs) - 0.05, max(logs) + 0.05

    def across(x: float) -> float:
        return _FRAME.x(x / right)

    def up(y: float) -> float:
        return _FRAME.y((math.log10(y) - bottom) / (top - bottom))

    all_ns = sum(test.command_ns.values()) or 1
    lines = [
        Line(name, *LINES[i], _path([(across(x), up(y)) for x, y in one]), latency.n,
             test.command_ns[name] / all_ns, _times(latency, test.command_ns[name]))
        for i, ((name, latency), one) in enumerate(zip(of, curves, strict=True))
    ]  # fmt: skip
    return Tails(
        test.name,
        tuple(lines),
        tuple(Tick(across(_nines(q)), f"{100 * q:g}%") for q in _MARKED if _nines(q) <= right),
        tuple(Tick(up(y), show.axis_time(y)) for y in _ticks_up(bottom, top)),
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    """As the points of a polyline; those that lie within a pixel of the one before are left out."""
    kept: list[tuple[float, float]] = []
    for at in points:
        if not kept or abs(at[0] - kept[-1][0]) + abs(at[1] - kept[-1][1]) >= 1 or at == points[-1]:
            kept.append(at)
    return " ".join(f"{x:.0f},{y:.0f}" for x, y in kept)
