# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures of a sweep: latency, rate, the server's time and the probe, by what was swept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# ruff: noqa: I001
from ..limit import limits
from .. import show
from .colours import COLOURS, CURVES, PART_COLOURS
from .loadfigures import Cell, Drawn, us
import matplotlib as mpl
import matplotlib.ticker
import numpy as np

from .figures import INK, STYLE, STYLES, figure, legend_below, time_axis
from ..limit.limits import PARTS, Spent
from ..limit.outcome import Outcome
from ..saved.crowd import MAX, MEAN
from ..saved.hist import QUANTILES
from ..saved.steps import Level, number
from ..limit.usl import Usl
from ..words import Words

_LOG = 20.0  # the axis is logarithmic from this ratio of the values on
# The colour of a part of a request's time is that of the resource; where the helper or its database
# wait for it, there is a pattern.
PART_COLOUR = {
    **PART_COLOURS,
    "own": PART_COLOURS["user"],
    "cnid_runq": PART_COLOURS["runq"],
    "cnid_cpu": PART_COLOURS["user"],
    "cnid_rest": PART_COLOURS["cnid"],
    "cnid_disk": PART_COLOURS["disk"],
    "cnid_lock": PART_COLOURS["lock"],
    "database_lock": PART_COLOURS["lock"],
    "database_disk": PART_COLOURS["disk"],
    "outside": PART_COLOURS["stopped"],
}
PART_HATCH = {
    **dict.fromkeys(("cnid_runq", "cnid_cpu", "cnid_rest", "cnid_disk", "cnid_lock"), "////"),
    **dict.fromkeys(("database_lock", "database_disk"), "...."),
}


def name(option: str, w: Words) -> str:
    """What an axis of the swept option is called."""
    return w["axis_number"] if option == "clients" else option


def _values(ax: Any, o: Outcome, w: Words) -> None:
    values = [level.value for level in o.sweep.levels]
    if min(values) > 0 and max(values) >= _LOG * min(values):
        ax.set_xscale("log")
    ax.set_xticks(*_ticks(o.sweep.levels, ax.get_xscale() == "log"))
    ax.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    ax.set_xlabel(name(o.sweep.option, w))


def _ticks(levels: Sequence[Level], log: bool) -> tuple[list[float], list[str]]:
    """The values themselves, but for those that would overlap the one before."""
    at = [float(np.log(x.value)) if log else x.value for x in levels]
    span = max(at) - min(at) or 1.0
    kept: list[int] = []
    for i in sorted(range(len(levels)), key=lambda i: at[i]):
        if not kept or at[i] - at[kept[-1]] >= span / 14:
            kept.append(i)
    return [levels[i].value for i in kept], [levels[i].text for i in kept]


def _knee(ax: Any, o: Outcome, w: Words) -> None:
    """The knee as a line, its interval as a band."""
    low, high, at = (number(v) if v else None for v in (o.knee.low, o.knee.high, o.knee.at))
    if low is not None and high is not None:
        ax.axvspan(low, high, color=INK, alpha=0.08, linewidth=0)
    if at is None:
        return
    ax.axvline(at, color=INK, linewidth=1.2, linestyle=(0, (4, 2)))
    label = f" {w['knee']} {o.knee.at}"
    ax.annotate(label, (at, 1), xycoords=("data", "axes fraction"), va="bottom", fontsize=9)


def _line(
    ax: Any, levels: Sequence[Level], of: Sequence[Sequence[float | None]], i: int, label: str
) -> None:
    """A point for each step, a line through the medians."""
    style = {"color": CURVES[(0, 2, 1, 3, 4)[i % 5]]}
    x = [level.value for level, ys in zip(levels, of, strict=True) for _ in ys]
    y = [us(ns) for ys in of for ns in ys]
    if any(len(ys) > 1 for ys in of):
        ax.plot(x, y, ".", markersize=5, alpha=0.6, **style)
    middle = [_median(ys) for ys in of]
    marker = "osD^v"[i % 5]
    ax.plot(
        [level.value for level in levels], middle, label=label, marker=marker, markersize=4,
        linestyle=STYLES[i % 4], linewidth=1.6, **style,
    )  # fmt: skip


def _median(values: Sequence[float | None]) -> float:
    known = [us(ns) for ns in values if ns is not None]
    return float(np.median(known)) if known else float("nan")


def _log(ax: Any, label: str) -> None:
    ax.set_yscale("log")
    ax.grid(alpha=0.3)
    time_axis(ax.yaxis)
    ax.set_ylabel(label)


def _slo(ax: Any, o: Outcome, of_probe: bool) -> None:
    if o.slo and o.slo.limit_ns and (o.slo.of == "probe") == of_probe:
        style = {"color": INK, "linewidth": 1.2, "linestyle": ":"}
        ax.axhline(us(o.slo.limit_ns), label=o.slo.text, **style)


def latency(o: Outcome, w: Words) -> Drawn | None:
    """Percentiles of all actions, of several kinds mean and longest, with the SLO and the knee."""
    levels = o.sweep.levels
    if not levels:
        return None
    made, ax = figure(3.6)
    rows: list[tuple[Cell, ...]] = []
    with mpl.rc_context(STYLE):
        shown = {"mean": MEAN, "max": MAX} if o.sweep.mixed else QUANTILES
        table = {
            q: [[x.bound(share).ns for x in level.loads] for level in levels]
            for q, share in shown.items()
        }
        if o.sweep.mixed and o.slo and o.slo.limit_ns and o.slo.figure not in shown:
            table[o.slo.figure] = [[o.slo.value(p).ns for p in level.phases] for level in levels]
        for i, (q, of) in enumerate(table.items()):
            _line(ax, levels, of, i, q)
        for at, level in enumerate(levels):
            for k in range(len(level.loads)):
                rows.append((level.text, k + 1, *(of[at][k] for of in table.values())))
        _slo(ax, o, False)
        _log(ax, w["axis_action"])
        _values(ax, o, w)
        _knee(ax, o, w)
        legend_below(ax)
    head = (o.sweep.option, "repeat", *(f"{q.replace('.', '')}_ns" for q in table))
    return Drawn(made, head, rows)


def probe(o: Outcome, w: Words) -> Drawn | None:
    """What one more user felt."""
    levels = o.sweep.levels
    probes = [[p.probe for p in level.phases if p.probe] for level in levels]
    if not any(probes):
        return None
    made, ax = figure(3.2)
    rows: list[tuple[Cell, ...]] = []
    with mpl.rc_context(STYLE):
        shown = {"mean": MEAN} if o.sweep.mixed_probe else {"p50": 0.5, "p99": 0.99}
        shown |= {"max": MAX}
        for i, (q, share) in zip((0, 2, 4), shown.items(), strict=False):
            _line(ax, levels, [[x.bound(share).ns for x in of] for of in probes], i, q)
        for level, of in zip(levels, probes, strict=True):
            for k, x in enumerate(of, 1):
                rows.append((level.text, k, *(x.bound(q).ns for q in shown.values())))
        _slo(ax, o, True)
        _log(ax, w["axis_probe"])
        _values(ax, o, w)
        _knee(ax, o, w)
        legend_below(ax)
    return Drawn(made, (o.sweep.option, "repeat", *(f"{q}_ns" for q in shown)), rows)


def rate(o: Outcome, w: Words) -> Drawn | None:
    """Offered and achieved, and the scalability law where it fits."""
    levels = o.sweep.levels
    if not levels:
        return None
    rows: list[tuple[Cell, ...]] = [
        (level.text, k, x.rate_per_s, x.achieved)
        for level in levels
        for k, x in enumerate(level.loads, 1)
    ]
    made, ax = figure(3.2)
    with mpl.rc_context(STYLE):
        x = [level.value for level in levels]
        if o.sweep.open_loop:
            offered = [float("nan") if level.offered is None else level.offered for level in levels]
            style = {"color": COLOURS[2], "linestyle": "--", "marker": "s", "markersize": 4}
            ax.plot(x, offered, label=w["offered"], **style)
        each = [(level.value, load.achieved) for level in levels for load in level.loads]
        ax.plot(*zip(*each, strict=True), ".", color=COLOURS[0], alpha=0.6, markersize=5)
        done = [level.achieved for level in levels]
        ax.plot(x, done, label=w["achieved"], color=COLOURS[0], marker="o", markersize=4)
        if isinstance(o.usl, Usl):
            along = np.geomspace(min(x), max(x), 200)
            ax.plot(along, o.usl.at(along), color=COLOURS[7], linestyle="-.", label=w["law"])
        ax.set_ylim(bottom=0)
        ax.yaxis.set_major_formatter(lambda v, _: f"{v:,.0f}" if v >= 10 else f"{v:g}")
        ax.grid(alpha=0.3)
        ax.set_ylabel(w["axis_per_s"])
        _values(ax, o, w)
        _knee(ax, o, w)
        legend_below(ax)
    return Drawn(made, (o.sweep.option, "repeat", "offered_per_s", "achieved_per_s"), rows)


def tests(o: Outcome, w: Words) -> Drawn | None:
    """The mean time of each test of rx."""
    if not o.tests:
        return None
    made, ax = figure(3.2)
    rows: list[tuple[Cell, ...]] = []
    with mpl.rc_context(STYLE):
        levels = sorted(o.sweep.levels, key=lambda level: level.value)
        for i, test in enumerate(o.tests):
            _line(ax, levels, [at.means_ns for at in test.at], i, test.name)
            rows += [
                (at.value, test.name, k, ns)
                for at in test.at
                for k, ns in enumerate(at.means_ns, 1)
            ]
        _log(ax, w["axis_call"])
        _values(ax, o, w)
        legend_below(ax)
    return Drawn(made, (o.sweep.option, "test", "repeat", "mean_ns"), rows)


def _spent(level: Level) -> Spent:
    return limits.of_step(level.middle_step)


def parts(o: Outcome, w: Words) -> Drawn | None:
    """A request's mean time by part, as the clients saw it."""
    levels = o.sweep.levels
    spent = [_spent(level) for level in levels]
    shown = [key for key in PARTS if any(x.parts.get(key) for x in spent)]
    if not shown:
        return None
    rows: list[tuple[Cell, ...]] = [
        (level.text, *(x.parts.get(key) for key in shown))
        for level, x in zip(levels, spent, strict=True)
    ]
    totals = [sum(x.parts.values()) for x in spent]
    # Shares: on an axis of time the steps of little load could not be seen.
    made, ax = figure(3.4 + 0.24 * (-(-len(shown) // 3)))
    with mpl.rc_context(STYLE):
        at = np.arange(len(levels))
        base = np.zeros(len(levels))
        for key in shown:
            values = np.array(
                [
                    x.parts.get(key, 0.0) / total if total else 0.0
                    for x, total in zip(spent, totals, strict=True)
                ]
            )
            style: dict[str, Any] = {
                "facecolor": PART_COLOUR[key],
                "edgecolor": "white",
                "linewidth": 0.4,
            }
            style["hatch"] = PART_HATCH.get(key)
            ax.bar(at, values, 0.85, bottom=base, label=w[f"s_{key}"], **style)
            base += values
        for i, total in enumerate(totals):
            if total and len(levels) <= 16:
                ax.annotate(show.time(total), (at[i], 1.0), ha="center", va="bottom", fontsize=9)
        ax.set_xticks(at, [level.text for level in levels])
        ax.set_ylim(0, 1.06)
        ax.yaxis.set_major_formatter(lambda v, _: f"{v:.0%}" if v <= 1 else "")
        ax.set_xlabel(name(o.sweep.option, w))
        ax.set_ylabel(w["axis_request_share"])
        legend_below(ax, 3)
    return Drawn(made, (o.sweep.option, *(f"{key}_ns" for key in shown)), rows)
