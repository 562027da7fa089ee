# SPDX-License-Identifier: GPL-2.0-or-later
"""The figure of a UDP socket of a server: what waited in it, and what found no room, over time."""

from __future__ import annotations

from typing import Any

# ruff: noqa: I001
from .figures import INK, STYLE, figure, legend_below  # readies matplotlib
import matplotlib as mpl

from ..saved.crowd import NS_PER_S
from .colours import COLOURS
from .loadfigures import Drawn
from ..saved.run import Run, Socket
from ..words import Words

_KIB = 1024.0


def _tests(ax: Any, run: Run) -> None:
    """Where each test was, as far as that is known: the first look is just before the first."""
    phases = [p for p in run.phases if p.load]
    if len(phases) < 2:
        return
    begin = phases[0].start_ns
    ends = [p.start_ns + (p.metrics.get("elapsed") or 0) for p in phases]
    for i, (p, end) in enumerate(zip(phases, ends, strict=True)):
        at = ((p.start_ns - begin) / NS_PER_S, (end - begin) / NS_PER_S)
        if i % 2 == 0:
            ax.axvspan(*at, color=INK, alpha=0.08, linewidth=0)
        place = {"xycoords": ("data", "axes fraction"), "va": "bottom", "fontsize": 9}
        ax.annotate(p.title, (at[0], 1), **place)


def socket(s: Socket, run: Run, w: Words) -> Drawn | None:
    """None: it was looked at once at most."""
    if len(s.points) < 2:
        return None
    made, ax = figure(3.2)
    with mpl.rc_context(STYLE):
        at = [t / NS_PER_S for t, _, _ in s.points]
        waited = [queue / _KIB for _, queue, _ in s.points]
        style = {"color": COLOURS[0], "linewidth": 1.4}
        lines = [ax.plot(at, waited, label=w["rx_waited"], **style)[0]]
        if s.memory:
            style = {"color": COLOURS[3], "linestyle": ":", "linewidth": 1.4}
            lines.append(ax.axhline(s.memory / _KIB, label=w["rx_room"], **style))
        ax.set_ylim(bottom=0)
        ax.set_xlim(0, max(at))
        ax.set_xlabel(w["axis_at"])
        ax.xaxis.set_major_formatter(lambda v, _: f"{v:g}")  # a test may take milliseconds
        ax.set_ylabel("KiB")
        dropped = ax.twinx()
        drops = [n for _, _, n in s.points]
        style = {"color": COLOURS[4], "linestyle": "--", "linewidth": 1.6}
        lines += dropped.plot(at, drops, label=w["rx_dropped"], **style)
        dropped.set_ylim(0, max(1, *drops) * 1.05)
        dropped.set_ylabel(w["axis_drops"])
        dropped.spines["right"].set_visible(True)
        _tests(ax, run)
        legend_below(ax, 3, handles=lines)
    return Drawn(made, ("at_ns", "queue_bytes", "drops"), [tuple(p) for p in s.points])
