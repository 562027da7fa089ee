# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a comparison: each row's change with its interval, drawn beside its figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..judge import stats, versus
from ..judge.versus import TimeRow
from ..saved.run import Run
from ..tables.digest import digest
from ..words import Words
from . import icicle, painter

TEMPLATE = "forest.html"
WIDTH = 300.0
_MOST = math.log(4)  # the axis ends at four times as long at the latest
_TICKS = (-0.7, -0.5, -0.3, -0.2, -0.1, -0.05, -0.02, 0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0)
_NEAR = 34.0  # ticks are at least so far from each other: their texts have room
_EDGE = 4.5  # of a mark: what is beyond the axis is drawn whole at its end
# Class of the mark: what it means is in the row's verdict, too.
_MARKS = dict.fromkeys(stats.BAD, "bad") | dict.fromkeys(stats.GOOD, "good")


@dataclass(frozen=True)
class Mark:
    """Places on the axis, None where there is no interval; `cut`: it goes on beyond the axis."""

    kind: str
    at: float
    low: float | None
    high: float | None
    cut: bool


@dataclass(frozen=True)
class Row:
    test: str
    label: str
    cells: tuple[str, ...]
    mark: Mark | None


@dataclass(frozen=True)
class Forest:
    """`band`: the margin within which a difference does not count; `ticks`: place and text."""

    rows: tuple[Row, ...]
    band: tuple[float, float]
    ticks: tuple[tuple[float, str], ...]


def _log(change: float) -> float:
    return math.log(max(1e-9, 1 + change))


def _reach(rows: Sequence[TimeRow], least: float) -> float:
    """How far the axis goes either way, as a logarithm."""
    known = [x for r in rows for x in (r.result.change, r.result.low, r.result.high)]
    ends = [abs(_log(x)) for x in known if x is not None]
    return min(_MOST, max([*ends, 3 * math.log(1 + least), math.log(1.05)]) * 1.05)


def _place(change: float, reach: float) -> float:
    at = WIDTH / 2 * (1 + _log(change) / reach)
    return max(_EDGE, min(WIDTH - _EDGE, at))


def _mark(row: TimeRow, reach: float) -> Mark | None:
    t = row.result
    if t.change is None:
        return None
    ends = [x for x in (t.change, t.low, t.high) if x is not None]
    return Mark(
        _MARKS.get(row.verdict, "same" if row.verdict == stats.SAME else "untold"),
        _place(t.change, reach),
        None if t.low is None else _place(t.low, reach),
        None if t.high is None else _place(t.high, reach),
        any(abs(_log(x)) > reach for x in ends),
    )


def _ticks(reach: float) -> Iterable[tuple[float, str]]:
    """No change first, then the largest; then those with room beside those that are there."""
    placed: list[float] = []
    for change in sorted(_TICKS, key=lambda x: -abs(_log(x)) if x else -math.inf):
        at = _place(change, reach)
        inside = _NEAR / 2 <= at <= WIDTH - _NEAR / 2
        if inside and all(abs(at - other) >= _NEAR for other in placed):
            placed.append(at)
            yield at, f"{100 * change:+.0f} %" if change else "0"


def forest(rows: Iterable[TimeRow], least: float) -> Forest:
    """The largest differences first: those that are shown, then those that may be."""
    shown = (*stats.BAD, *stats.GOOD, stats.UNCLEAR)

    def worth(row: TimeRow) -> tuple[bool, float]:
        return row.verdict not in shown, -abs(_log(row.result.change or 0))

    those = sorted(rows, key=worth)
    reach = _reach(those, least)
    return Forest(
        tuple(Row(r.test, r.label, tuple(versus.cells(r, least)), _mark(r, reach)) for r in those),
        (_place(-least / (1 + least), reach), _place(least, reach)),
        tuple(_ticks(reach)),
    )


@dataclass(frozen=True)
class Told:
    """What the page says besides its rows: the outcome, what to know of it, whether it can be
    relied on, the counts that differ (`counts`: a head and lines), and whose runs these are."""

    title: str
    outcome: str
    remarks: tuple[str, ...]
    doubts: tuple[str, ...]
    counts: tuple[Sequence[str], Sequence[Sequence[str]]] | None
    sides: tuple[Sequence[Run], Sequence[Run]]
    failed: bool = False  # the outcome of a gate

    def whose(self, w: Words) -> list[str]:
        """Of each side the runs, and what they were made on."""
        out = []
        for side, runs in zip("AB", self.sides, strict=True):
            each = [" at ".join(filter(None, (r.server_name, r.place))) for r in runs]
            on = ", ".join(dict.fromkeys(filter(None, each)))
            key = "side_run" if len(runs) == 1 else "side_runs"
            said = w.say(key, side=side, n=len(runs), first=runs[0].name, last=runs[-1].name)
            out.append(f"{said} ({on})" if on else said)
        return out


def page(told: Told, rows: Iterable[TimeRow], left: str, least: float,
         difference: bool = False) -> str:  # fmt: skip
    """The page as HTML. `left`: what is said of rows that are left out; `difference`: with a
    picture of where the difference lies."""
    w = Words("en", told.sides[0][0].words)
    of = [[(digest(r).commands, r.words.get("server", "")) for r in side]
          for side in told.sides] if difference else []  # fmt: skip
    return painter.render(
        TEMPLATE, w=w, told=told, f=forest(rows, least), left=left, heads=versus.CELLS,
        least=versus.share(least), difference=icicle.difference(of[0], of[1], w) if of else None,
    )  # fmt: skip
