# SPDX-License-Identifier: GPL-2.0-or-later
"""Curves of latencies show tails, maps of a trace whole times and tests, and what is drawn over
time keeps the colours that its legend has.

Tests analysis/afpscope/page/tails.py, frame.py, heat.py, loadfigures.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from afpscope.page import heat, loadfigures, tails
from afpscope.page.frame import LEFT, RIGHT, WIDTH
from afpscope.saved.hist import Histogram, index_of
from afpscope.saved.run import Run
from afpscope.tables.digest import digest
from afpscope.words import Words
from conftest import Done, Shelf
from matplotlib.colors import to_hex

Execute = Callable[..., Done]
BITS = 6


def histogram(*groups: tuple[float, int]) -> Histogram:
    counts: dict[int, int] = {}
    for ns, n in groups:
        index = index_of(round(ns), BITS)
        counts[index] = counts.get(index, 0) + n
    return Histogram(BITS, tuple(sorted(counts.items())))


def test_a_percentile_is_where_its_axis_has_it() -> None:
    """And one request of ten thousand has as much of the width as the faster half."""
    points = list(tails.curve(histogram((1e5, 9990), (1e6, 9), (1e8, 1))))
    assert [(round(x, 2), round(y / 1e5)) for x, y in points] == [
        (0.0, 1), (3.0, 1), (3.0, 10), (4.0, 10), (4.0, 1001), (4.3, 1001),
    ]  # fmt: skip
    half = next(x for x, _ in tails.curve(histogram((1e5, 5), (1e6, 5))) if x)
    assert points[-1][0] - points[-2][0] == pytest.approx(half, abs=0.001)


@pytest.mark.parametrize("source", ["lantest-1", "load"])
def test_tails_have_most_of_a_figures_width(shelf: Shelf, source: str) -> None:
    drawn = [t for t in map(tails.tails, digest(Run.open(shelf.put(source, source))).tests) if t]
    assert drawn
    for t in drawn:
        places = {tick.text: tick.at for tick in t.across}
        if "99.9%" in places:
            assert places["90%"] - LEFT < (WIDTH - LEFT - RIGHT) / 2
            assert places["99.9%"] - places["99%"] == pytest.approx(places["90%"] - LEFT, rel=0.01)
        assert all(line.points.count(",") > 1 and line.times[-1] != "n/a" for line in t.lines)


def test_unsteady_and_long_tests_are_drawn_first(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    run = shelf.put("one")
    execute("report", run, "-o", tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text().partition('-latency">How long requests took')[2]
    drawn = re.findall(r"<figcaption>(\d+ .*?)</figcaption>", text)
    tests = {t.name: t for t in digest(Run.open(run)).tests}
    order = [(not tests[n].is_unsteady, -(tests[n].mean_ns or 0)) for n in drawn]
    assert order == sorted(order) and len(drawn) == len(tests) > 2


class Requests:
    """A stream of one block."""

    columns = ("t", "time_ns")

    def __init__(self, t: list[int], time_ns: list[int]) -> None:
        kind = [("t", "u8"), ("time_ns", "u8")]
        self._block = np.array(list(zip(t, time_ns, strict=True)), dtype=kind)
        self.n = len(t)

    def blocks(self) -> list[Any]:
        return [self._block]


def test_a_map_shows_long_times_as_they_were_and_where_tests_begin(shelf: Shelf) -> None:
    run = Run.open(shelf.put("one"))
    begin = run.phases[0].start_ns
    stream: Any = Requests([begin, begin + 10**9, begin + 10**10], [10**5, 4 * 10**10, 10**8])
    grid = heat.grid(stream, run.phases)
    assert grid
    cell = max(np.flatnonzero(grid.counts.sum(axis=0)))
    assert heat.edge_ns(int(cell)) <= 4 * 10**10 < heat.edge_ns(int(cell) + 1)
    told = {p.test for p in run.phases if p.start_ns <= begin + 10**10}
    assert {int(mark.text) for mark in heat.heat(grid, "").marks if mark.text} <= told
    assert len(grid.marks) == sum(p.start_ns <= begin + 10**10 for p in run.phases)


def test_the_ramp_is_behind_what_is_drawn(shelf: Shelf) -> None:
    """A shade over it would be a colour that no legend has."""
    run = Run.open(shelf.put("one", "load"))
    (phase,) = run.phases
    load = phase.load
    assert load and load.measure_ns > load.begin_ns
    drawn = loadfigures.parts(load, phase.intervals, (), Words("en"))
    assert drawn
    ax = drawn.figure.axes[0]
    shades = [p for p in ax.patches if p.get_alpha()]
    bars = [p for p in ax.patches if not p.get_alpha()]
    assert len(shades) == 1 and len(bars) > 5
    assert shades[0].get_zorder() < min(p.get_zorder() for p in bars)
    assert len({to_hex(p.get_facecolor()) for p in bars}) > 3
