# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures of the report. Each function takes data and returns a figure; saves nothing.

Text has the colour of the page that a figure is in.
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
import warnings
from typing import Any

# Set before matplotlib is imported, which reports where it caches its fonts.
logging.getLogger("matplotlib").setLevel(logging.ERROR)

# ruff: noqa: E402
import matplotlib as mpl
import matplotlib.colors
import matplotlib.font_manager
import matplotlib.ticker
import matplotlib.transforms
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from .. import show
from ..saved.model import Transfer
from ..show import time
from ..tables.digest import INSIDE, PARTS, CommandView, TestView
from ..words import Words
from .colours import ALIKE, CURVES, MAP, PART_COLOURS
from .heat import ACROSS, UP, Grid, edge_ns
from .tails import curve, merged

WIDTH = 7.6
INK = "#010101"  # of text and lines; on a page that of its text
UNITS = (("s", 1e6), ("ms", 1e3), ("µs", 1.0))  # in µs
ROWS = 16  # bars of a figure
_JAPANESE = [
    "Noto Sans CJK JP",
    "Noto Sans JP",
    "IPAGothic",
    "IPAPGothic",
    "TakaoGothic",
    "VL Gothic",
]
_LONG = re.compile(r"(\d\.\d)\d{2,}")  # more digits than are seen
_LABELS = 38  # points below an axis that its ticks and its label have
STYLES = ("-", "--", "-.", ":")


def _japanese_fonts() -> list[str]:
    """Those of _JAPANESE on this machine, also where matplotlib's list is older than the fonts."""
    manager = mpl.font_manager.fontManager
    known = {font.name for font in manager.ttflist}
    if known.isdisjoint(_JAPANESE):
        listed = {font.fname for font in manager.ttflist}
        for file in sorted({*mpl.font_manager.findSystemFonts()} - listed):
            # Of a font that matplotlib cannot read: it is none for it.
            with contextlib.suppress(OSError, RuntimeError, ValueError, NotImplementedError):
                manager.addfont(file)
        known = {font.name for font in manager.ttflist}
    return [name for name in _JAPANESE if name in known]


_FALLBACK = _japanese_fonts()
STYLE = {
    # Characters are looked up in each family in turn; only installed families may be named.
    "font.family": ["DejaVu Sans", *_FALLBACK, "sans-serif"],
    "font.size": 10,
    "svg.fonttype": "none",
    "path.simplify_threshold": 0.5,  # of a point: what nobody sees is half of a long curve's bytes
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.parse_math": False,  # a name with $ is a name
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK
    ),
    # Figures are laid out here (_lay_out).
    "figure.autolayout": False,
    "figure.constrained_layout.use": False,
}


def japanese() -> bool:
    """Whether this machine has a font for figures in Japanese."""
    return bool(_FALLBACK)


def figure(height: float) -> tuple[Any, Any]:
    """An empty figure of the page's width, in inches, and its axes."""
    with mpl.rc_context(STYLE):
        made = Figure(figsize=(WIDTH, height), dpi=72, layout="constrained")
        FigureCanvasSVG(made)  # its font metrics are those of the layout
        return made, made.add_subplot()


def _lay_out(made: Any) -> None:
    """Places what is in the figure, once: savefig does it for every file, and each time draws the
    figure twice."""
    if engine := made.get_layout_engine():
        engine.execute(made)
        made.set_layout_engine(None)


def save(made: Any, to: Any, form: str, salt: str) -> bool:
    """Writes a figure; False if the font lacks characters (an SVG uses the reader's fonts).

    Nothing may be added to the figure afterwards.
    """
    more: dict[str, Any] = (
        {"metadata": {"Date": None}, "dpi": 100} if form == "svg" else {"dpi": 160}
    )
    with (
        warnings.catch_warnings(record=True) as caught,
        mpl.rc_context(STYLE | {"svg.hashsalt": salt}),
    ):
        warnings.simplefilter("always")
        _lay_out(made)
        made.savefig(to, format=form, **more)
    return form == "svg" or not any("missing from" in str(w.message) for w in caught)


def svg(made: Any, salt: str) -> str:
    """The figure for a page, without background; places to a tenth of a point. `salt` makes its ids
    unique in the page."""
    out = io.StringIO()
    for ground in (made.patch, *(ax.patch for ax in made.axes)):
        ground.set_visible(False)
    save(made, out, "svg", salt)
    text = show.page(out.getvalue()).replace(INK, "currentColor").replace("#000000", "currentColor")
    return _LONG.sub(r"\1", text[text.index("<svg") :])


def time_axis(axis: Any) -> None:
    """Units at the ticks; for less than two decades also at 2 and 5."""
    bottom, top = sorted(axis.get_view_interval())
    if top < bottom * 100:
        axis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(lambda v, _: show.axis_time(round(v * 1e3, 3)))
    axis.set_minor_formatter(mpl.ticker.NullFormatter())


def legend_below(ax: Any, columns: int = 4, **more: Any) -> None:
    """Under the axis, from its left end, where a narrow screen shows it as well."""
    close = {"handlelength": 2.4, "handletextpad": 0.5, "columnspacing": 1.2, "borderaxespad": 0}
    labels = mpl.transforms.ScaledTranslation(0, -_LABELS / 72, ax.figure.dpi_scale_trans)
    place = {"bbox_to_anchor": (0, 0), "bbox_transform": ax.transAxes + labels}
    ax.legend(loc="upper left", ncols=columns, frameon=False, fontsize=9, **close, **place, **more)


def shades() -> Any:
    """The colours of a map, from few to many: one colour on whatever ground the page has."""
    of = [mpl.colors.to_rgba(MAP, share) for share in (0.15, 1.0)]
    return mpl.colors.LinearSegmentedColormap.from_list("shades", of)


def latency(test: TestView, w: Words) -> Any:
    """Latency by percentile for each command of a test, those that were used most."""
    made, ax = figure(3.3)
    with mpl.rc_context(STYLE):
        for i, (name, histogram) in enumerate(merged(test)):
            x, y = zip(*curve(histogram), strict=True)
            style = {"color": CURVES[i], "linestyle": STYLES[i % 4], "linewidth": 1.8}
            ax.plot(x, [ns / 1000 for ns in y], label=name, **style)
        ax.set_yscale("log")
        ax.set_xlim(left=0)
        ax.grid(alpha=0.3)
        ax.set_xticks(range(max(1, int(ax.get_xlim()[1])) + 1))
        ax.xaxis.set_major_formatter(lambda nines, _: f"{100 - 100 / 10**nines:g}%")
        time_axis(ax.yaxis)
        ax.set_xlabel(w["axis_share"])
        ax.set_ylabel(w["axis_time"])
        legend_below(ax)
    return made


Row = tuple[str, dict[str, float], str]  # a name, µs by part, the text after the bar


def _stacked(rows: list[Row], keys: list[str], names: list[str], label: str) -> Any:
    """Stacked bars. `keys` are those of the parts, `names` their names in the legend."""
    columns = 3
    made, ax = figure(0.9 + 0.34 * len(rows) + 0.24 * (-(-len(keys) // columns)))
    with mpl.rc_context(STYLE):
        left = np.zeros(len(rows))
        for i, key in enumerate(keys):
            values = np.array([parts.get(key, 0.0) for _, parts, _ in rows])
            colour = PART_COLOURS[ALIKE.get(key, key)]
            style = {"color": colour, "edgecolor": "white", "linewidth": 0.6}
            ax.barh(range(len(rows)), values, left=left, label=names[i], **style)
            left += values
        for at, (_, _, text) in enumerate(rows):
            ax.annotate(f" {text}", (left[at], at), va="center", fontsize=9)
        ax.set_yticks(range(len(rows)), [name for name, _, _ in rows])
        ax.invert_yaxis()
        ax.set_xlim(0, max(float(left.max()) * 1.4, 1e-9))
        ax.xaxis.set_major_locator(mpl.ticker.MaxNLocator(6))
        unit = next((u for u in UNITS if left.max() >= u[1]), UNITS[-1])
        ax.xaxis.set_major_formatter(lambda v, _: f"{v / unit[1]:g} {unit[0]}")
        ax.grid(axis="x", alpha=0.3)
        ax.set_xlabel(label)
        legend_below(ax, columns)
    return made


def _totals(commands: list[CommandView], spent: str, keys: tuple[str, ...], prefix: str,
            of_ns: int | None, w: Words) -> Any | None:  # fmt: skip
    """The total of each command, divided into `keys` of its `spent`, the longest first. After a
    bar: its share of `of_ns`, if that is known, number of requests and mean time."""
    rows: list[Row] = []
    for c in sorted(commands, key=lambda c: -sum(getattr(c, spent).values())):
        parts = {key: getattr(c, spent).get(key, 0) / 1000 for key in keys}
        total_ns = sum(parts.values()) * 1000
        if not total_ns or not c.served:
            continue
        share = f"{total_ns / of_ns:.0%} = " if of_ns else ""
        rows.append((c.name, parts, f"{share}{c.served:,} × {time(total_ns / c.served)}"))
    if not rows:
        return None
    shown = [key for key in keys if any(parts[key] > 0 for _, parts, _ in rows[:ROWS])]
    names = [w[f"{prefix}_{key}"] for key in shown]
    return _stacked(rows[:ROWS], shown, names, w["axis_total"])


def where(commands: list[CommandView], served_ns: int, w: Words) -> Any | None:
    """The server's time for each command, by what it was spent on."""
    return _totals(commands, "times", PARTS, "p", served_ns, w)


def inside(commands: list[CommandView], w: Words) -> Any | None:
    """What cnid_dbd did meanwhile; None if no command waited for it."""
    return _totals(commands, "inside", INSIDE, "i", None, w)


def throughput(transfers: list[tuple[str, Transfer]], units: str, w: Words) -> Any | None:
    """Each iteration's rate, by transfer."""
    shown = [(title, t) for title, t in transfers if t.counting][:9]
    if not shown:
        return None
    size_bytes, unit = show.mega(units)
    made, ax = figure(3.2)
    with mpl.rc_context(STYLE):
        for i, (title, t) in enumerate(shown):
            rates = [t.moved_bytes / (s.ns / 1e9) / size_bytes for s in t.counting if s.ns]
            colour = CURVES[i % len(CURVES)]
            ax.plot(range(1, len(rates) + 1), rates, "osD^vP*X<"[i], color=colour, label=title)
            ax.axhline(float(np.median(rates)), color=colour, linestyle=STYLES[i % 4], lw=1)
        ax.set_ylim(bottom=0)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.grid(alpha=0.3)
        ax.set_xlabel(w["axis_iteration"])
        ax.set_ylabel(unit)
        legend_below(ax)
    return made


def _bytes(v: float) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if v >= size:
            return f"{v / size:g} {unit}"
    return f"{v:g} B"


def by_size(transfers: list[Transfer], units: str, w: Words) -> Any | None:
    """Median rate of each work over the size of the file, with its interval."""
    works: dict[str, list[Transfer]] = {}
    for t in sorted(transfers, key=lambda t: t.size_bytes):
        if t.throughput and t.moved_bytes:
            works.setdefault(t.work, []).append(t)
    if not works:
        return None
    size_bytes, unit = show.mega(units)
    made, ax = figure(3.2)
    with mpl.rc_context(STYLE):
        for i, (work, of) in enumerate(works.items()):
            rates = np.array([(t.throughput or 0) / size_bytes for t in of])
            ends = [
                [t.moved_bytes * 1e9 / ns / size_bytes if ns else np.nan for ns in t.ci_ns]
                for t in of
            ]
            spread = np.abs(np.array(ends)[:, ::-1].T - rates)
            style = {"color": CURVES[i], "linestyle": STYLES[i % 4], "marker": "osD^"[i % 4]}
            ax.errorbar([t.size_bytes for t in of], rates, spread, label=work, capsize=2, **style)
        ax.set_xscale("log", base=2)
        ax.set_ylim(bottom=0)
        ax.xaxis.set_major_formatter(lambda v, _: _bytes(v))
        ax.grid(alpha=0.3)
        ax.set_xlabel(w["axis_size"])
        ax.set_ylabel(unit)
        legend_below(ax)
    return made


def heat(grid: Grid, w: Words) -> Any:
    """When requests came and how long they took, from the trace, and where each test began."""
    made, ax = figure(3.2)
    with mpl.rc_context(STYLE):
        shown = np.ma.masked_equal(grid.counts.T, 0)
        norm = mpl.colors.LogNorm(1, max(2, grid.counts.max()))
        across = np.linspace(0, grid.seconds, ACROSS + 1)
        up = [edge_ns(cell) / 1000 for cell in range(UP + 1)]
        mesh = ax.pcolormesh(across, up, shown, norm=norm, cmap=shades(), rasterized=True)
        ax.set_yscale("log")
        ax.set_ylim(up[grid.rows[0]], up[grid.rows[-1] + 1])
        time_axis(ax.yaxis)
        ax.set_xlabel(w["axis_at"])
        ax.set_ylabel(w["axis_time"])
        _begins(ax, grid)
        bar = made.colorbar(mesh, label=w["requests"], pad=0.01)
        bar.solids.set_rasterized(True)
        bar.ax.yaxis.set_major_formatter(lambda v, _: f"{v:,.0f}")
        bar.ax.yaxis.set_minor_formatter(mpl.ticker.NullFormatter())
    return made


def _begins(ax: Any, grid: Grid) -> None:
    """The number of each test at its beginning, where there is room for it."""
    last = -1.0
    for test, at in grid.marks:
        ax.axvline(at, color="#808080", linewidth=0.8, linestyle=(0, (4, 2)))
        if at - last >= grid.seconds / 40:
            place = {"xycoords": ("data", "axes fraction"), "ha": "center", "va": "bottom"}
            ax.annotate(f"{test}", (at, 1), fontsize=9, **place)
            last = at
