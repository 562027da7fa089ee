# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of a run on its page: all that tables.json has, nothing as HTML, and what is missing.

Also tests analysis/afpscope/saved/sections.py.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from afpscope import show
from afpscope.errors import Failure
from afpscope.saved import sections
from afpscope.saved.run import Run
from conftest import Done, Shelf

Execute = Callable[..., Done]
BAD = "<script>alert(1)</script>"


def page(execute: Execute, tmp_path: Path, run: Path, *more: str) -> tuple[str, Done]:
    done = execute("report", run, "-o", tmp_path / "r.html", *more)
    return (tmp_path / "r.html").read_text(), done


def part(text: str, n: int) -> str:
    """The n-th table's section: from its heading to the next."""
    begin = [m.start() for m in re.finditer(r'<h2 id="r1-table-', text)][n]
    return text[begin : text.index("<h2 ", begin + 1)]


def shown(text: str) -> list[str]:
    """The texts of cells and paragraphs, in their order."""
    found = re.findall(r"<(?:td|th|p|h2)[^>]*>(.*?)</(?:td|th|p|h2)>", text, re.S)
    return [html.unescape(re.sub("<[^>]*>", "", each)).strip() for each in found]


@pytest.mark.parametrize("source", ["lantest-1", "speedtest", "record", "load"])
def test_all_of_the_tables_is_on_the_page(
    shelf: Shelf, tmp_path: Path, execute: Execute, source: str
) -> None:
    run = shelf.put("a", source)
    text, done = page(execute, tmp_path, run)
    assert done.code == 0
    tables = sections.of_run(Run.open(run))
    assert tables and text.count('<h2 id="r1-table-') == len(tables)
    for n, s in enumerate(tables):
        wanted = [s.title, *filter(None, [s.about])]
        wanted += [f"{x.label} {x.text}".strip() for x in s.notes if not x.below]
        wanted += ["↔ scrolls sideways where it is too wide"] if s.rows else []
        wanted += [c.head for c in s.columns] if s.rows else []
        for row in s.rows:
            wanted += [row.text] if row.text is not None else [c.text for c in row.cells]
        wanted += [f"{x.label} {x.text}".strip() for x in s.notes if x.below]
        there = [show.told(each) for each in shown(part(text, n))]  # text cells stay as they are
        if s.key == "requests":  # a word of its heads
            assert there.pop().startswith("p50, p99, p99.9: ")
        assert there == [show.told(show.page(each)) for each in wanted]
        for x in s.notes:
            assert not x.label or f"<b>{html.escape(show.page(x.label))}</b> " in part(text, n)


def test_tables_are_read_with_their_values(shelf: Shelf) -> None:
    tables = sections.of_run(Run.open(shelf.put("a")))
    assert tables
    tests = next(s for s in tables if s.key == "tests")
    names = [c.name for c in tests.columns]
    units = dict(zip(names, (c.unit for c in tests.columns), strict=True))
    assert (units["test"], units["ops"], units["time_per_op"]) == (None, "1", "ns")
    first = dict(zip(names, tests.rows[0].cells, strict=True))
    assert first["ops"].value == 8000 and first["number"].value == 1
    assert isinstance(first["test"].value, str)


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_a_run_without_tables_says_so(
    shelf: Shelf, tmp_path: Path, execute: Execute, lang: str
) -> None:
    run = shelf.put("a")
    alone = tmp_path / "alone.json"
    alone.write_text((run / "run.json").read_text())
    (run / "tables.json").unlink()
    for each in (run, alone):
        text, done = page(execute, tmp_path, each, "--lang", lang)
        assert done.code == 0
        assert "tables.json" in text and "afpscope -v" in text
        assert "r1-table-" not in text and 'id="r1-where"' in text


def test_what_is_red_in_a_terminal_stands_out(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    def change(value: dict[str, Any]) -> None:
        tests = next(s for s in value["sections"] if s["key"] == "tests")
        tests["rows"][2]["ink"] = "red"

    text, _ = page(execute, tmp_path, shelf.put("a", tables=change))
    tests = part(text, 0)
    assert [n for n, tag in enumerate(re.findall("<tr[^>]*>", tests)) if "alarm" in tag] == [3]


def test_nothing_of_a_table_is_html(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    def change(value: dict[str, Any]) -> None:
        for s in value["sections"]:
            s["key"] = s["title"] = s["about"] = BAD
            for c in s["columns"]:
                c["head"] = c["name"] = BAD
            for r in s["rows"]:
                if "text" in r:
                    r["text"] = BAD
                for c in r.get("cells", ()):
                    c["text"] = BAD
            s["notes"] = [{"label": BAD, "text": BAD, "below": below} for below in (True, False)]

    text, done = page(execute, tmp_path, shelf.put("a", tables=change))
    assert done.code == 0 and "&lt;script&gt;" in text
    assert BAD not in text and '"r1-table-<' not in text


def no_row(value: dict[str, Any]) -> None:
    value["sections"][0]["rows"][0] = {"cells": [{"text": "1", "value": 1}]}


def no_text(value: dict[str, Any]) -> None:
    value["sections"][0]["rows"][0]["cells"][0]["text"] = 5


DAMAGE: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "other schema": (lambda v: v.update(schema=9), "schema"),
    "other run": (lambda v: v.update(run="00"), "another run"),
    "no sections": (lambda v: v.pop("sections"), "sections"),
    "short row": (no_row, "not a row of its table"),
    "no text": (no_text, "not a text"),
    "no ink": (lambda v: v["sections"][0]["rows"][0].update(ink="pink"), "not a row"),
}


@pytest.mark.parametrize("which", DAMAGE)
def test_damage_is_named_and_the_rest_is_shown(
    shelf: Shelf, tmp_path: Path, execute: Execute, which: str
) -> None:
    change, says = DAMAGE[which]
    run = shelf.put("a", tables=change)
    with pytest.raises(Failure, match=says):
        sections.of_run(Run.open(run))
    text, done = page(execute, tmp_path, run)
    assert done.code == 4 and "tables.json" in done.err
    assert 'class="alarm"' in text and says in text and "costs most" in text


def test_a_file_that_is_cut_off_is_named(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    run = shelf.put("a")
    whole = (run / "tables.json").read_text()
    (run / "tables.json").write_text(whole[:1000])
    text, done = page(execute, tmp_path, run)
    assert done.code == 4 and "is not JSON" in done.err and "costs most" in text
    json.loads(whole)
