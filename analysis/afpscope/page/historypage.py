# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a history: what changed, and each row as a curve. In English."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..judge.changes import WHOSE
from ..judge.lines import History, Line
from ..saved.files import written
from ..words import Words
from . import painter

_W, _H, _PAD = 600, 60, 6  # of a curve, in pixels of its own


@dataclass(frozen=True)
class Curve:
    """Points as SVG has them; `levels`: x from, x to, y; `cuts`: x of each change."""

    line: Line
    dots: list[tuple[float, float]]
    levels: list[tuple[float, float, float]]
    cuts: list[float]
    low: float
    high: float


def _curve(line: Line) -> Curve:
    """From the smallest to the largest value: what counts is where they change."""
    low, high = min(line.values), max(line.values)
    n = max(1, len(line.values) - 1)

    def x(at: float) -> float:
        return round(_PAD + at * (_W - 2 * _PAD) / n, 1)

    def y(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return round(_H - _PAD - share * (_H - 2 * _PAD), 1)

    ends = [0, *(c.at for c in line.changes), len(line.values)]
    medians = [line.changes[0].before, *(c.after for c in line.changes)] if line.changes else []
    return Curve(
        line,
        [(x(i), y(v)) for i, v in enumerate(line.values)],
        [(x(ends[i]), x(ends[i + 1] - 1), y(v)) for i, v in enumerate(medians)],
        [x(c.at - 0.5) for c in line.changes],
        low,
        high,
    )


def write(path: Path, histories: Sequence[History], label: str | None) -> None:
    """Into one file."""
    text = painter.render(
        "history.html",
        w=Words("en"),
        histories=[
            (h, [_curve(line) for line in (*h.changed, *(x for x in h.lines if not x.changes))])
            for h in histories
        ],
        label=label,
        whose=WHOSE,
        width=_W,
        height=_H,
    )
    with written(path) as file:
        file.write(text.encode())
