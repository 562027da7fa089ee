# SPDX-License-Identifier: GPL-2.0-or-later
"""When requests came and how long they took, from a trace: a map drawn as markup, and the same
numbers as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .. import show
from ..saved.model import Phase
from ..saved.trace import Stream
from .frame import LEFT, Frame, Tick

ACROSS, UP = 120, 90  # cells; ten of them are a decade of time: up to 1,000 s
SHADES = 6
_FRAME = Frame(top=18, bottom=36)
_SPANS = 12  # rows of the table
_DECADE = 10
_FIRST_NS = 1000  # the lowest cell begins here, and has what is shorter, too


@dataclass(frozen=True)
class Grid:
    """`counts`: requests by when they came (rows: ACROSS parts of `seconds`) and by how long they
    took (columns: UP tenths of decades from 1 µs). `marks`: test and second at which it began."""

    counts: npt.NDArray[np.int64]
    seconds: float
    marks: tuple[tuple[int, float], ...]

    @cached_property
    def rows(self) -> range:
        """The columns that have anything, and a little room."""
        used = np.flatnonzero(self.counts.sum(axis=0))
        return range(max(0, int(used[0]) - 2), min(UP, int(used[-1]) + 3))


@dataclass(frozen=True)
class Span:
    """A part of the time: how many requests came, and the bounds of the cells of their times."""

    name: str
    n: int
    half: str  # took at most this
    most: str  # all of them


@dataclass(frozen=True)
class Heat:
    """`shades`: the path of each, from few requests to many; its opacity; the most of them."""

    caption: str
    shades: tuple[tuple[str, float, str], ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    marks: tuple[Tick, ...]
    spans: tuple[Span, ...]


def _ends(stream: Stream) -> tuple[int, int]:
    ends = [(int(block["t"].min()), int(block["t"].max())) for block in stream.blocks()]
    return min(a for a, _ in ends), max(b for _, b in ends)


def grid(requests: Stream, phases: Sequence[Phase]) -> Grid | None:
    """None: no request has both times."""
    if not requests.n or not {"t", "time_ns"} <= set(requests.columns):
        return None
    first, last = _ends(requests)
    ns = max(1, last - first)
    counts = np.zeros(ACROSS * UP, dtype=np.int64)
    for block in requests.blocks():
        at = ((block["t"] - np.uint64(first)).astype(np.float64) * (ACROSS / ns)).astype(np.int64)
        took = np.log10(np.maximum(block["time_ns"].astype(np.float64), _FIRST_NS) / _FIRST_NS)
        cells = np.minimum(at, ACROSS - 1) * UP
        cells += np.minimum((_DECADE * took).astype(np.int64), UP - 1)
        counts += np.bincount(cells, minlength=len(counts))
    begins = [(p.test, (p.start_ns - first) / 1e9) for p in phases if len(phases) > 1]
    marks = tuple((test, at) for test, at in begins if 0 <= at <= ns / 1e9)
    return Grid(counts.reshape(ACROSS, UP), ns / 1e9, marks)


def edge_ns(cell: int) -> float:
    """Where a cell begins."""
    return float(_FIRST_NS * 10.0 ** (cell / _DECADE))


def _runs(of: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Where it is true, from and to."""
    turns = np.flatnonzero(np.diff(np.concatenate([[False], of, [False]]).astype(np.int8)))
    yield from zip(turns[::2].tolist(), turns[1::2].tolist(), strict=True)


def _shades(g: Grid) -> Iterator[tuple[str, float, str]]:
    """Of the logarithm of how many there are."""
    most = int(g.counts.max())
    step = math.log(most + 1) / SHADES
    level = np.minimum((np.log(g.counts + 0.5) / step).astype(np.int64), SHADES - 1)
    level[g.counts == 0] = -1
    high, wide = _FRAME.high / len(g.rows), _FRAME.wide / ACROSS
    for shade in range(SHADES):
        path = []
        for i, row in enumerate(g.rows):
            y = _FRAME.y((i + 1) / len(g.rows))
            for a, b in _runs(level[:, row] == shade):
                path.append(f"M{LEFT + a * wide:.1f} {y:.1f}h{(b - a) * wide:.1f}v{high:.1f}"
                            f"h-{(b - a) * wide:.1f}z")  # fmt: skip
        if path:
            own = g.counts[level == shade]
            least, most = int(own.min()), int(own.max())
            name = f"{least:,} to {most:,}" if most > least else f"{least:,}"
            yield "".join(path), (shade + 1) / SHADES, name


def _up(g: Grid) -> Iterator[Tick]:
    for cell in range(0, UP + 1, _DECADE):
        if cell in g.rows or cell == g.rows[-1] + 1:
            share = (cell - g.rows[0]) / len(g.rows)
            text = show.axis_time(round(edge_ns(cell)))
            yield Tick(_FRAME.y(share), text)


def _across(g: Grid) -> Iterator[Tick]:
    step = next(
        s * 10.0**power
        for power in range(-9, 9)
        for s in (1, 2, 5)
        if g.seconds / (s * 10.0**power) <= 8
    )
    for i in range(int(g.seconds / step) + 1):
        yield Tick(_FRAME.x(i * step / g.seconds), f"{i * step:g}")


def _marks(g: Grid) -> Iterator[Tick]:
    """Named where there is room for it."""
    last = -math.inf
    for test, at in g.marks:
        roomy = at - last >= g.seconds / 30
        last = at if roomy else last
        yield Tick(_FRAME.x(at / g.seconds), str(test) if roomy else "")


def _below(cells: npt.NDArray[np.int64], share: float) -> str:
    """Within this many requests of `cells` were answered; a bound of the map."""
    cell = int(np.searchsorted(np.cumsum(cells), math.ceil(share * int(cells.sum()))))
    return ("≥ " + show.time(edge_ns(cell))) if cell == UP - 1 else show.time(edge_ns(cell + 1))


def _spans(g: Grid) -> Iterator[Span]:
    each = ACROSS // _SPANS
    for i in range(_SPANS):
        cells = g.counts[i * each : (i + 1) * each].sum(axis=0)
        ends = (g.seconds * k / _SPANS for k in (i, i + 1))
        name, n = " to ".join(f"{end:.3g} s" for end in ends), int(cells.sum())
        yield Span(name, n, _below(cells, 0.5) if n else "n/a", _below(cells, 1) if n else "n/a")


def heat(g: Grid, caption: str) -> Heat:
    return Heat(caption, tuple(_shades(g)), tuple(_across(g)), tuple(_up(g)), tuple(_marks(g)),
                tuple(_spans(g)))  # fmt: skip
