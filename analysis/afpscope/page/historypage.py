# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a history: what changed, and each row as a curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..judge import shapes
from ..judge.lines import History, Line
from ..saved.files import written
from ..words import Words
from . import painter

_W, _H, _PAD = 600, 60, 6  # of a curve, in pixels of its own


@dataclass(frozen=True)
class Curve:
    """Points as SVG has them; `levels`: x from, x to, y from, y to; `cuts`: x of each change
    that is no drift."""

    line: Line
    dots: list[tuple[float, float]]
    levels: list[tuple[float, float, float, float]]
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

    return Curve(
        line,
        [(x(i), y(v)) for i, v in enumerate(line.values)],
        [(x(a), x(b), y(v), y(w)) for a, b, v, w in line.levels],
        [x(c.at - 0.5) for c in line.changes if c.kind != shapes.DRIFT],
        low,
        high,
    )


def write(path: Path, histories: Sequence[History], label: str | None, language: str) -> None:
    """Into one file, in a language of words.LANGUAGES."""
    w = Words(language)
    found = []
    for h in histories:
        lines = (*h.changed, *(x for x in h.lines if not x.changes))
        # those that are not named there are marked in the table, which has every row
        found.append((h, [_curve(line) for line in lines], h.of_zeros(w, every=False)))
    text = painter.render(
        "history.html",
        w=w,
        histories=found,
        label=label,
        width=_W,
        height=_H,
    )
    with written(path) as file:
        file.write(text.encode())
