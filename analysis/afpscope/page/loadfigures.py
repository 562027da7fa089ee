# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures of a load of many clients: over time, and by client.

Each function takes data and returns what was drawn with its numbers; it saves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# ruff: noqa: I001
from .figures import (
    INK,
    STYLE,
    STYLES,
    figure,
    legend_below,
    shades,
    time_axis,
)  # readies matplotlib
import matplotlib as mpl
import matplotlib.colors
import matplotlib.ticker
import numpy as np

from ..saved.crowd import NS_PER_S, Interval, Load, Mark
from ..tables.digest import PARTS
from ..saved.hist import low, middle
from ..words import Words
from .colours import COLOURS, CURVES, PART_COLOURS, UNREAD

Cell = float | str | None
_MARKS_NAMED = 6  # in the figure itself
_CLIENTS = 60  # bars; more are a line
_NUMBERED = 24  # bars with room for a number


@dataclass(frozen=True)
class Drawn:
    """A figure, and the numbers in it as a table with a head."""

    figure: Any
    head: tuple[str, ...]
    rows: list[tuple[Cell, ...]]


def us(ns: float | None) -> float:
    return float("nan") if ns is None else ns / 1000


def _log(ax: Any, w: Words) -> None:
    ax.set_yscale("log")
    ax.grid(alpha=0.3)
    time_axis(ax.yaxis)
    ax.set_ylabel(w["axis_action"])


def _marks(ax: Any, marks: Sequence[Mark]) -> None:
    """Numbered lines; the list beside the figure says what was done."""
    for i, mark in enumerate(marks, 1):
        at = mark.at_ns / NS_PER_S
        ax.axvline(at, color=INK, linewidth=1, linestyle=(0, (4, 2)))
        if i <= _MARKS_NAMED:
            place = {"xytext": (3, -2), "textcoords": "offset points", "va": "top"}
            ax.annotate(f"{i}", (at, 1), xycoords=("data", "axes fraction"), fontsize=9, **place)


def _seconds(load: Load, marks: Sequence[Mark], ax: Any, w: Words) -> None:
    """The axis of time, with the ramp shaded, behind what is drawn: its colours mean something."""
    ramp = (load.measure_ns - load.begin_ns) / NS_PER_S
    if ramp > 0:
        ax.axvspan(0, ramp, color=INK, alpha=0.06, linewidth=0, zorder=0)
        ax.axvline(ramp, color=INK, alpha=0.5, linewidth=0.8)
    ax.set_xlim(0, max(1.0, (load.end_ns - load.begin_ns) / NS_PER_S))
    ax.set_xlabel(w["axis_at"])
    _marks(ax, marks)


def latency(load: Load, marks: Sequence[Mark], w: Words) -> Drawn | None:
    """Mean and maximum of what ended in each second; of one kind of actions median and p99, too."""
    alone = not load.mixed
    rows: list[tuple[Cell, ...]] = [
        (
            i * load.seconds_each,
            s.n,
            s.failed,
            s.sum_ns / s.histogram.n if s.sum_ns is not None and s.histogram.n else None,
            s.histogram.quantile(0.5) if alone else None,
            s.histogram.quantile(0.99) if alone else None,
            s.max_ns,
        )
        for i, s in enumerate(load.seconds)
    ]
    if not any(s.histogram.n for s in load.seconds):
        return None
    made, ax = figure(3.2)
    with mpl.rc_context(STYLE):
        each = load.seconds_each
        whole = int((load.end_ns - load.begin_ns) / NS_PER_S / each)  # what ends later are few
        at = [float(row[0] or 0) + each / 2 for row in rows[:whole]]
        few = "." if len(rows) <= 120 else ""
        curves = (("max", 6), ("p99", 5), ("p50", 4)) if alone else (("max", 6), ("mean", 3))
        for i, (name, column) in enumerate(curves):
            values = [us(row[column]) for row in rows[:whole]]  # type: ignore[arg-type]
            style = {"color": COLOURS[(2, 3, 0)[i]], "linestyle": STYLES[(3, 1, 0)[i]]}
            ax.plot(at, values, label=name, marker=few, linewidth=1.6, **style)
        _log(ax, w)
        _seconds(load, marks, ax, w)
        legend_below(ax)
    names = ("second", "n", "failed", "mean_ns", "p50_ns", "p99_ns", "max_ns")
    return Drawn(made, names, rows)


def probe(probe: Load, marks: Sequence[Mark], w: Words) -> Drawn | None:
    """What one user felt: the longest and the shortest wait of each second."""
    rows: list[tuple[Cell, ...]] = []
    for i, s in enumerate(probe.seconds):
        if s.histogram.n:
            first = s.histogram.buckets[0][0]
            least_ns = low(first, s.histogram.bits)
            rows.append((i * probe.seconds_each, s.n, s.failed, least_ns, s.max_ns))
    if not rows:
        return None
    made, ax = figure(3.0)
    with mpl.rc_context(STYLE):
        at = [float(row[0] or 0) + probe.seconds_each / 2 for row in rows]
        least, most = ([us(row[c]) for row in rows] for c in (3, 4))  # type: ignore[arg-type]
        ax.fill_between(at, least, most, color=COLOURS[1], alpha=0.35, linewidth=0, step=None)
        few = "o" if len(rows) <= 120 else ""
        ax.plot(at, most, color=COLOURS[0], marker=few, markersize=3.5, linewidth=1.4)
        _log(ax, w)
        _seconds(probe, marks, ax, w)
    return Drawn(made, ("second", "n", "failed", "min_ns", "max_ns"), rows)


def heat(load: Load, marks: Sequence[Mark], w: Words) -> Drawn | None:
    """How many actions took how long, by second."""
    used = sorted({index for s in load.seconds for index, _ in s.histogram.buckets})
    if not used:
        return None
    bits = load.seconds[0].histogram.bits
    # Two buckets are a row: single ones have so few actions that they are stripes.
    first = used[0] // 2
    edges = range(first, used[-1] // 2 + 2)
    up = np.array([max(1, low(2 * i, bits)) / 1000 for i in edges])
    counts = np.zeros((len(edges) - 1, len(load.seconds)))
    rows: list[tuple[Cell, ...]] = []
    for at, s in enumerate(load.seconds):
        for index, n in s.histogram.buckets:
            counts[index // 2 - first, at] += n
            up_to = low(index + 1, bits) - 1
            rows.append((at * load.seconds_each, low(index, bits), up_to, n))
    made, ax = figure(3.2)
    with mpl.rc_context(STYLE):
        norm = mpl.colors.LogNorm(1, max(2, counts.max()))
        shown = np.ma.masked_equal(counts, 0)
        across = np.arange(len(load.seconds) + 1) * load.seconds_each
        mesh = ax.pcolormesh(across, up, shown, norm=norm, cmap=shades(), rasterized=True)
        _log(ax, w)
        ax.grid(False)
        _seconds(load, marks, ax, w)
        bar = made.colorbar(mesh, label=w["actions"], pad=0.01)
        bar.solids.set_rasterized(True)
        bar.ax.yaxis.set_major_formatter(lambda v, _: f"{v:,.0f}")
        bar.ax.yaxis.set_minor_formatter(mpl.ticker.NullFormatter())
    return Drawn(made, ("second", "from_ns", "to_ns", "n"), rows)


def fairness(load: Load, w: Words) -> Drawn | None:
    """What each client got done, the least first, and when its last action ended; by the numbers
    that clients have in tables."""
    numbers = sorted(range(len(load.each_client)), key=lambda i: load.each_client[i].actions)
    clients = [load.each_client[i] for i in numbers]
    if len(clients) < 2:
        return None
    rows: list[tuple[Cell, ...]] = [
        (i, c.actions, c.failed, c.bytes, c.last_ns) for i, c in zip(numbers, clients, strict=True)
    ]
    made, ax = figure(3.0)
    with mpl.rc_context(STYLE):
        at = np.arange(1, len(clients) + 1)
        done = [c.actions for c in clients]
        if len(clients) <= _CLIENTS:
            ax.bar(at, done, color=COLOURS[1], width=0.8)
        else:
            ax.fill_between(at, done, color=COLOURS[1], step="mid", linewidth=0)
        mean = float(np.mean(done))
        ax.axhline(mean, color=COLOURS[3], linestyle="--", linewidth=1.2, label=w["mean"])
        ax.set_xlim(0.4, len(clients) + 0.6)
        ax.set_ylim(bottom=0)
        if len(clients) <= _NUMBERED:
            ax.set_xticks(at, [f"{i}" for i in numbers])
            ax.set_xlabel(w["axis_numbered"])
        else:
            ax.xaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True))
            ax.set_xlabel(w["axis_clients"])
        ax.yaxis.set_major_formatter(lambda v, _: f"{v:,.0f}")
        ax.grid(axis="y", alpha=0.3)
        ax.set_ylabel(w["axis_actions"])
        legend_below(ax)
    return Drawn(made, ("client", "actions", "failed", "bytes", "last_ns"), rows)


def _spans(intervals: Sequence[Interval]) -> list[tuple[float, float, Interval]]:
    """Beginning and end of each, in seconds; those that are not known are left out."""
    out, begin = [], 0
    for i in intervals:
        if i.parts is not None and i.end_ns > begin:
            out.append((begin / NS_PER_S, i.end_ns / NS_PER_S, i))
        begin = i.end_ns
    return out


def parts(
    load: Load, intervals: Sequence[Interval], marks: Sequence[Mark], w: Words
) -> Drawn | None:
    """The server's time by part: how many requests were in it at a time, on average."""
    spans = _spans(intervals)
    in_time = [{**(i.parts or {}), UNREAD: i.unread_ns or 0} for _, _, i in spans]
    shown = [key for key in (*PARTS, UNREAD) if any(of.get(key) for of in in_time)]
    if not shown:
        return None
    rows: list[tuple[Cell, ...]] = [
        (begin, end, *(of.get(key, 0) for key in shown))
        for (begin, end, _), of in zip(spans, in_time, strict=True)
    ]
    made, ax = figure(3.0 + 0.24 * (-(-len(shown) // 3)))
    with mpl.rc_context(STYLE):
        left = np.array([begin for begin, _, _ in spans])
        wide = np.array([end for _, end, _ in spans]) - left
        base = np.zeros(len(spans))
        for k, key in enumerate(shown):
            values = np.array([float(row[2 + k] or 0) for row in rows]) / NS_PER_S / wide
            style = {"color": PART_COLOURS[key], "align": "edge", "linewidth": 0}
            ax.bar(left, values, wide, bottom=base, label=w[f"p_{key}"], **style)
            base += values
        ax.grid(axis="y", alpha=0.3)
        ax.set_ylabel(w["axis_in_service"])
        _seconds(load, marks, ax, w)
        ax.set_ylim(0, max(float(base.max()) * 1.05, 1e-9))
        legend_below(ax, 3)
    return Drawn(made, ("from_s", "to_s", *(f"{key}_ns" for key in shown)), rows)


def distribution(load: Load, w: Words, axis: str = "axis_action") -> Drawn | None:
    """The share of actions that took longer than a time: tails are seen on a log axis."""
    names = [a for a in load.actions if a.planned.n][:7]
    if not names:
        return None
    made, ax = figure(3.5)
    rows: list[tuple[Cell, ...]] = []
    with mpl.rc_context(STYLE):
        for i, a in enumerate(names):
            total = left = a.planned.n
            x, y = [], []
            for index, n in a.planned.buckets:
                x.append(middle(index, a.planned.bits) / 1000)
                y.append(left / total)
                rows.append((a.name, middle(index, a.planned.bits), left / total))
                left -= n
            style = {"color": CURVES[i], "linestyle": STYLES[i % 4], "linewidth": 1.8}
            ax.step(x, y, where="post", label=a.name, **style)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda v, _: f"{v * 100:g}%")
        ax.yaxis.set_minor_formatter(mpl.ticker.NullFormatter())
        ax.grid(alpha=0.3)
        time_axis(ax.xaxis)
        ax.set_xlabel(w[axis])
        ax.set_ylabel(w["axis_longer"])
        legend_below(ax)
    return Drawn(made, ("action", "ns", "share_at_least"), rows)
