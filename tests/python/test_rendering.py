# SPDX-License-Identifier: GPL-2.0-or-later
"""What a browser makes of the pages: on a phone, on a dark screen, printed.

Tests analysis/afpscope/page/style.html, macros.html.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import browser
import pytest
import tracegen
from browser import Browser
from changed import pairs
from conftest import Done, Shelf
from sweeping import Made, each, sweep

Execute = Callable[..., Done]
Draw = Callable[[str], Path]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.painted,
    pytest.mark.skipif(not browser.PROGRAM, reason="no chromium here"),
]
PHONE, DESK, PAPER = 390, 1280, 718  # pixels; the last: of A4 with a browser's margins
LEAST_PX = 11  # high is text that can be read
SOURCES = ["lantest-1", "speedtest", "load", "record", "sweep", "trace", "compare", "gate"]
OPEN = "document.querySelectorAll('details').forEach(d => d.open = true)"
TEXTS = """
[...document.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().width).map(svg => {
  const box = e => {
    const r = e.getBoundingClientRect();
    return [r.left, r.top, r.right, r.bottom];
  };
  return [box(svg), [...svg.querySelectorAll('text')].filter(t => t.textContent.trim()).map(t => {
    const m = t.getScreenCTM(), high = parseFloat(getComputedStyle(t).fontSize);
    return [t.textContent.trim(), high * Math.hypot(m.b, m.d), box(t)];
  })];
})"""
OUTSIDE = """
[...document.querySelectorAll('body *')].filter(e => !e.parentElement.closest('.scroll'))
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
  .map(e => e.outerHTML.slice(0, 80))"""
# Cells with one word or number, of which a part is in another line.
BROKEN = """
[...document.querySelectorAll('td, th')].filter(e => e.offsetParent).filter(e => {
  const range = document.createRange();
  const lines = new Set();
  for (const text of e.childNodes) if (text.nodeType === Node.TEXT_NODE && text.data.trim()) {
    range.selectNode(text);
    for (const r of range.getClientRects()) lines.add(Math.round(r.top));
  }
  return lines.size > 1;
}).map(e => e.textContent.trim())
  .filter(text => /^[-+~<]?\\w[\\w,.]*( ?[µmn]?s| ?%)?$/.test(text))"""
WIDEST = (
    "Math.max(...[...document.querySelectorAll('table')].map(t => t.getBoundingClientRect().right))"
)


def sample(folder: Path, source: str) -> Path:
    return Shelf(folder).put(source, source)


def swept(folder: Path, source: str) -> Path:
    parts = {"own": 300.0, "disk": 200.0, "runq": 100.0}
    values = each([1, 2, 4, 8, 16, 32], lambda v: Made(clients=int(v), parts=parts))
    return sweep(folder / source, values, slo="p99<=50ms").folder


def traced(folder: Path, source: str) -> Path:
    run = Shelf(folder).put(source)
    tracegen.main(str(run), 5_000)
    return run


RUNS = {"sweep": swept, "trace": traced}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    one = Browser(tmp_path_factory.mktemp("profile"))
    yield one
    one.end()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture
def draw(folder: Path, execute: Execute) -> Draw:
    """The page of a sample, drawn once for all tests."""

    def page(source: str) -> Path:
        to = folder / f"{source}.html"
        if not to.exists():
            if source == "compare":
                a, b = pairs(Shelf(folder), 12, 1.2)
                execute("compare", "--all", "--html", to, *a, "--", *b)
            elif source == "gate":
                (folder / "gated").mkdir()
                a, b = pairs(Shelf(folder / "gated"), 12, 1.2)
                execute("gate", "--time", "5", "--html", to, *a, "--", *b)
            else:
                execute("report", RUNS.get(source, sample)(folder, source), "-o", to)
        return to

    return page


def texts(shown: Browser) -> Iterator[tuple[list[float], list[tuple[str, float, list[float]]]]]:
    """Of each figure: where it is, and its texts, how high their letters are and where they are;
    left, top, right, bottom."""
    for frame, inside in shown.ask(TEXTS):
        yield frame, [(text, px, box) for text, px, box in inside]


@pytest.mark.parametrize("source", SOURCES)
def test_a_phone_shows_text_of_figures_large_enough(
    shown: Browser, draw: Draw, source: str
) -> None:
    for width in (PHONE, 600):
        shown.open(draw(source), width)
        shown.ask(OPEN)
        all_of = [one for _, inside in texts(shown) for one in inside]
        assert all_of or source == "record"  # its bars are none
        assert [(text, px) for text, px, _ in all_of if px < LEAST_PX - 0.05] == []
        assert shown.ask(OUTSIDE) == []


@pytest.mark.parametrize("source", SOURCES)
def test_no_text_of_a_figure_is_cut_or_lies_on_another(
    shown: Browser, draw: Draw, source: str
) -> None:
    shown.open(draw(source), DESK)
    shown.ask(OPEN)
    for frame, inside in texts(shown):
        for i, (text, _, (left, top, right, bottom)) in enumerate(inside):
            assert left > frame[0] - 1 and right < frame[2] + 1, text
            assert top > frame[1] - 1 and bottom < frame[3] + 1, text
            for other, _, (a, b, c, d) in inside[:i]:
                across, down = min(right, c) - max(left, a), min(bottom, d) - max(top, b)
                assert across <= 1 or down <= 3, (text, other)


@pytest.mark.parametrize("source", SOURCES)
def test_a_desk_shows_whole_tables(shown: Browser, draw: Draw, source: str) -> None:
    shown.open(draw(source), DESK)
    shown.ask(OPEN)
    assert 0 < shown.ask(WIDEST) <= DESK


def test_a_phone_shows_the_curves_of_a_history(
    shown: Browser, folder: Path, tmp_path: Path, execute: Execute
) -> None:
    runs = [Shelf(folder).put(f"h{i}") for i in range(3)]
    execute("export", *runs, "--into", tmp_path / "lake")
    execute("history", tmp_path / "lake", "--all", "-o", tmp_path / "history.html")
    shown.open(tmp_path / "history.html", PHONE)
    curves = "[...document.querySelectorAll('td svg')].map(s => s.getBoundingClientRect().toJSON())"
    places = shown.ask(curves)
    assert min(p["width"] for p in places) >= PHONE - 40  # the page's margins
    assert max(p["right"] for p in places) <= PHONE


@pytest.mark.parametrize("source", ["compare", "gate"])
def test_a_phone_shows_each_change_whole(shown: Browser, draw: Draw, source: str) -> None:
    """Picture, figures and verdict of a row, without scrolling."""
    shown.open(draw(source), PHONE)
    cells = "[...document.querySelectorAll('.forest :is(td, td svg)')]"
    assert shown.ask(f"{cells}.length") > 20
    assert shown.ask(f"Math.max(...{cells}.map(e => e.getBoundingClientRect().right))") <= PHONE


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_labels_of_an_icicle_can_be_read(shown: Browser, draw: Draw, width: int) -> None:
    """Each is in its own cell, in letters that are large enough, and dark enough for its ground."""
    shown.open(draw("lantest-1"), width)
    labels = "[...document.querySelectorAll('.cell > span')].filter(e => e.textContent)"
    high = shown.ask(f"{labels}.map(e => parseFloat(getComputedStyle(e).fontSize))")
    assert len(high) > 10 and min(high) >= LEAST_PX
    assert min(shown.ask(f"{labels}.map(e => e.clientHeight)")) >= LEAST_PX
    widths = shown.ask(f"{labels}.map(e => e.clientWidth)")
    assert min(widths) > 90
    cut = f"{labels}.filter(e => e.scrollHeight > e.clientHeight + 2).map(e => e.textContent)"
    assert shown.ask(cut) == []  # no line is cut in half


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("source", ["lantest-1", "compare"])
def test_the_keyboard_reaches_each_cell_of_an_icicle(
    shown: Browser, draw: Draw, source: str, width: int
) -> None:
    """And a cell that it has reached says its number, in the window."""
    shown.open(draw(source), width)
    cells = "[...document.querySelectorAll('.cell > span')].filter(e => e.textContent)"
    n = shown.ask(f"{cells}.length")
    assert n > 5
    for i in range(0, n, 5):
        said, wide = shown.ask(
            f"(e => {{ e.focus(); return [document.activeElement === e &&"
            f" getComputedStyle(e, '::after').content, document.documentElement.scrollWidth]; }})"
            f"({cells}[{i}])"
        )
        # of a difference both times, and by how much only where it is one
        number = r"\(-?\+?[\d.]+ ?%\)" if source != "compare" else r": [\d.,]+ \w+, [\d.,]+ \w+"
        assert said and re.search(number, said), said
        assert wide <= width
    shown.ask("document.activeElement.blur()")
    assert shown.ask(f"getComputedStyle({cells}[0], '::after').content") == "none"


@pytest.mark.parametrize("source", SOURCES)
def test_paper_has_whole_numbers_and_whole_tables(shown: Browser, draw: Draw, source: str) -> None:
    shown.open(draw(source), PAPER, "print")
    shown.ask(OPEN)
    assert shown.ask(BROKEN) == []
    assert shown.ask(WIDEST) <= PAPER + 1


@pytest.mark.parametrize("source", SOURCES)
def test_paper_repeats_heads_and_sets_narrow_tables_side_by_side(
    shown: Browser, draw: Draw, source: str
) -> None:
    shown.open(draw(source), PAPER, "print")
    display = "[...document.querySelectorAll('thead')].map(e => getComputedStyle(e).display)"
    assert set(shown.ask(display)) == {"table-header-group"}
    # rows of up to four short cells, that would leave most of a sheet empty
    tables = """[...document.querySelectorAll('details.many > .scroll')].map(e =>
        [e.querySelectorAll('tr').length, e.querySelector('td').offsetHeight, e.clientHeight])"""
    found = shown.ask(tables)
    assert all(rows > 24 and whole < rows * each / 2 for rows, each, whole in found)
    assert source != "load" or len(found) >= 2


@pytest.mark.parametrize("source", ["load", "record"])
def test_paper_is_not_wasted(shown: Browser, draw: Draw, source: str) -> None:
    """Sheets of A4, all parts included."""
    shown.open(draw(source), PAPER, "print")
    printed = shown.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"]
    sheets = len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(printed)))
    assert 0 < sheets <= 18
