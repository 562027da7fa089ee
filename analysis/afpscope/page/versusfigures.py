# SPDX-License-Identifier: GPL-2.0-or-later
"""The figure of `versus`: how long each action took on each server."""

from __future__ import annotations

from collections.abc import Sequence

# ruff: noqa: I001
from .colours import CURVES
from .loadfigures import Cell, Drawn, us
import matplotlib as mpl
import matplotlib.ticker

from ..judge.sides import Figure
from ..words import Words
from .figures import STYLE, figure, legend_below, time_axis

_BETWEEN = 0.16  # two servers of one action, in rows


def times(rows: Sequence[Figure], names: Sequence[str], w: Words) -> Drawn | None:
    """A row for each action, in it a mark with its interval for each server. Logarithmic."""
    shown = [f for f in rows if any(v.value for v in f.values)]
    if not shown:
        return None
    made, ax = figure(0.9 + 0.2 * len(shown) * max(2, len(names)) + 0.24 * (-(-len(names) // 4)))
    with mpl.rc_context(STYLE):
        for i, name in enumerate(names):
            style = {"color": CURVES[i % len(CURVES)]}
            below = (i - (len(names) - 1) / 2) * _BETWEEN
            points = [(k + below, f.values[i]) for k, f in enumerate(shown) if f.values[i].value]
            for at, v in points:
                if v.low is not None and v.high is not None:
                    ax.plot([us(v.low), us(v.high)], [at, at], linewidth=2, **style)
            x, y = [us(v.value) for _, v in points], [at for at, _ in points]
            mark = {"marker": "osD^vP*X"[i % 8], "markersize": 5, "linestyle": "none"}
            ax.plot(x, y, label=name, **mark, **style)
        ax.set_xscale("log")
        ax.grid(axis="x", alpha=0.3)
        ax.set_yticks(range(len(shown)), [_name(f) for f in shown])
        ax.set_ylim(len(shown) - 0.5, -0.5)
        time_axis(ax.xaxis)
        ax.xaxis.set_minor_locator(mpl.ticker.NullLocator())
        ax.set_xlabel(w["versus_axis"])
        legend_below(ax)
    head = ("action", *(f"{name}_ns" for name in names))
    numbers: list[tuple[Cell, ...]] = [(_name(f), *(v.value for v in f.values)) for f in shown]
    return Drawn(made, head, numbers)


def _name(f: Figure) -> str:
    action = f.what.rpartition(" ")[0]
    return f"{action} alone" if ": " in f.work else action
