# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages of compare and gate draw what their tables say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from afpscope.judge import stats
from afpscope.judge.versus import TimeRow
from afpscope.page.forest import WIDTH, forest
from changed import pairs
from conftest import Done, Shelf

Execute = Callable[..., Done]


def row(verdict: str, change: float | None, low: float | None, high: float | None) -> TimeRow:
    test = stats.Test(9, 9, 1e6, 1e6, change, low, high, None, None, None, 0.0)
    return TimeRow(f"{verdict} {change}", "", "elapsed", test, verdict)


@pytest.mark.parametrize("most", [0.0, 0.04, 0.07, 0.12, 0.25, 0.454, 0.6, 0.9, 1.5, 8.0])
def test_the_axis_says_how_far_it_goes_either_way(most: float) -> None:
    f = forest([row(stats.SLOWER, most, 0.0, most)], 0.02)
    places = sorted(x for x, _ in f.ticks)
    assert places[0] < 0.35 * WIDTH and places[-1] > 0.65 * WIDTH, f.ticks
    assert {text for x, text in f.ticks if abs(x - WIDTH / 2) < 1} == {"0"}


def test_what_is_shown_comes_first_and_the_largest_of_it() -> None:
    rows = [
        row(stats.SAME, 0.01, -0.01, 0.015), row(stats.TOO_FEW, 0.9, None, None),
        row(stats.SLOWER, 0.059, 0.03, 0.08), row(stats.SLOWER, 0.54, 0.4, 0.7),
        row(stats.FASTER, -0.5, -0.6, -0.4), row(stats.TOO_FEW, None, None, None),
    ]  # fmt: skip
    f = forest(rows, 0.02)
    assert [r.test.split()[-1] for r in f.rows] == ["-0.5", "0.54", "0.059", "0.9", "0.01", "None"]
    marks = [r.mark for r in f.rows]
    assert [m.kind if m else "" for m in marks] == ["good", "bad", "bad", "untold", "same", ""]
    half, _, _, alone, same, _ = marks
    assert half and half.at < WIDTH / 2 and half.low is not None and half.low < half.at
    assert alone and alone.low is None
    assert same and same.low is not None and same.high is not None
    assert f.band[0] < same.low < same.high < f.band[1]


def test_twice_as_long_is_as_far_as_half_as_long() -> None:
    f = forest([row(stats.SLOWER, 1.0, 1.0, 1.0), row(stats.FASTER, -0.5, -0.5, -0.5)], 0.02)
    places = [r.mark.at - WIDTH / 2 for r in f.rows if r.mark]
    assert places[0] == pytest.approx(-places[1])


def test_what_does_not_fit_the_axis_is_dashed() -> None:
    (one,) = forest([row(stats.SLOWER, 9.0, 8.0, 10.0)], 0.02).rows
    assert one.mark and one.mark.cut and WIDTH - 8 < one.mark.at < WIDTH - 4


class Closed(HTMLParser):
    """Every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def shown(text: str) -> str:
    return re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)


@pytest.mark.slow
def test_the_pages_of_compare_and_gate(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    a, b = pairs(shelf, 12, 1.2)
    page = tmp_path / "c.html"
    done = execute("compare", "--json", "--html", page, *a, "--", *b)
    rows = json.loads(done.out)["times"]
    slower = [r for r in rows if r["verdict"] == stats.SLOWER]
    text = page.read_text()
    Closed().feed(text)
    assert text.count('<g class="bad">') == len(slower) > 0
    (cause,) = re.findall(r'<p class="cause">(.*?)</p>', text)
    changes = [float(x) for x in re.findall(r"\(\+([\d.]+)%\)", cause)]
    assert cause.startswith("B against A: slower: ") and len(changes) == len(slower)
    assert changes == sorted(changes, reverse=True)
    for side, runs in (("A", a), ("B", b)):
        assert f"{side}: 12 runs, {runs[0].name} to {runs[-1].name} (Netatalk 4.5.1 at " in text
    assert len(text.encode()) <= 300_000
    assert not re.search(r"\d %", shown(text))  # units as the pages of runs have them
    page = tmp_path / "g.html"
    done = execute("gate", "--time", "5", "--html", page, *a, "--", *b)
    assert done.code == 3
    text = page.read_text()
    Closed().feed(text)
    assert not re.search(r"\d %", shown(text))
    verdict, lines = done.out.splitlines()[-1], done.out.splitlines()
    head, _, rest = text.partition(f'<p class="cause alarm">G{verdict[1:]}.</p>')
    assert head != text
    first = re.findall("<p>(.*?)</p>", rest)[0]  # what is not as accepted, the worst first
    assert first == f"{lines[0]}." and "+" in first
    assert execute("gate", "--counts", tmp_path / "x", "--html", page, a[0]).code != 0
