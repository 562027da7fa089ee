# SPDX-License-Identifier: GPL-2.0-or-later
"""The report stands for itself, says what matters first, and lets nothing of a run in as HTML."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import tracegen
from afpscope.words import Words
from conftest import Done, Shelf

Execute = Callable[..., Done]
VOID = {"meta", "link", "br", "img", "hr"}


class Checker(HTMLParser):
    """Every element is closed; collects tags and texts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [v or "" for k, v in attrs if k in ("src", "href", "xlink:href", "action")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def made(execute: Execute, to: Path, *args: str | Path) -> tuple[str, Done]:
    done = execute("report", *args, "-o", to / "r.html")
    text = (to / "r.html").read_text()
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert not checker.tags & {"script", "iframe", "img", "link", "object", "form"}
    assert all(link.startswith(("#", "data:image/png")) for link in checker.links)
    assert not re.search(r"url\((?!#)", text)
    return text, done


@pytest.fixture(params=[True, False], ids=["font", "no font"])
def font(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether figures can be Japanese."""
    monkeypatch.setattr("afpscope.figures.japanese", lambda: request.param)
    return bool(request.param)


def test_figures_are_in_japanese_where_there_is_a_font(
    shelf: Shelf, tmp_path: Path, execute: Execute, font: bool
) -> None:
    text, done = made(execute, tmp_path, shelf.put("a"), "--lang", "ja")
    assert done.code == 0
    assert ("English labels" in done.err) == (not font)
    drawn = "".join(re.findall(r"<svg.*?</svg>", text, re.S))
    assert ("ディスク待ち" in drawn) == font
    assert ("waiting for the disk" in drawn) == (not font)
    assert "要約" in text


@pytest.mark.parametrize(
    ("lang", "verdict"),
    [("en", "client-bound: client&#39;s CPU 50 %, "), ("ja", "クライアント律速: ")],
)
def test_a_verdict_is_in_the_language_of_the_page(
    shelf: Shelf, tmp_path: Path, execute: Execute, lang: str, verdict: str
) -> None:
    text, _ = made(execute, tmp_path, shelf.put("a", "speedtest"), "--lang", lang)
    assert verdict in text
    assert ("neither end working" in text) == (lang == "en")


@pytest.mark.parametrize("lang", ["en", "ja"])
@pytest.mark.parametrize("source", ["lantest-1", "speedtest", "record"])
def test_every_sample(
    shelf: Shelf, tmp_path: Path, execute: Execute, source: str, lang: str
) -> None:
    text, done = made(execute, tmp_path, shelf.put("a", source), "--lang", lang)
    assert done.code == 0
    assert done.err == "" or lang == "ja"
    assert len(text) < 3_000_000
    assert ("In short" in text) == (lang == "en")


def test_the_dearest_command_is_named_first(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    text, _ = made(execute, tmp_path, shelf.put("a"))
    body = text[text.index("In short") :]
    assert body.index("FPCreateFile is the dearest AFP command") < body.index("can be trusted")
    assert "The dearest call afpd makes for it is" in body[: body.index("Can it be trusted?")]


def test_a_doubt_stands_first(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    text, done = made(execute, tmp_path, shelf.put("a", change=lambda v: v.update(complete=False)))
    assert done.code == 4
    body = text[text.index("In short") :]
    assert body.index("Do not rely on this run") < body.index("dearest")
    assert "can be trusted" not in body


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_a_damaged_trace_stands_first(
    shelf: Shelf, tmp_path: Path, execute: Execute, lang: str
) -> None:
    """It casts no doubt on figures that were not taken from it."""
    folder = shelf.put("a")
    tracegen.write(folder / "trace")
    with (folder / "trace" / "calls").open("r+b") as f:
        f.truncate(f.seek(0, 2) - 1)
    text, done = made(execute, tmp_path, folder, "--lang", lang)
    assert done.code == 4
    w = Words(lang)
    body = text[text.index('<div class="verdict doubt">') :]
    assert body.index(w["damaged"]) < body.index("FPCreateFile") < body.index("torn")
    assert w["trusted"][:12] not in text and w["trusted_but"][:12] in body


def test_nothing_of_a_run_is_html(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    bad = "<script>alert(1)</script>"

    def change(value: dict[str, Any]) -> None:
        value["server"]["name"] = value["command"] = value["environment"]["host"] = bad
        for phase in value["phases"]:
            phase["title"] = bad
            for c in (*phase["commands"], *phase["ledger"]["requests"]):
                c["name"] = bad

    text, _ = made(execute, tmp_path, shelf.put("a", change=change))
    assert bad not in text


def test_unwatched(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    def change(value: dict[str, Any]) -> None:
        value["books"], value["losses"] = [], []
        for phase in value["phases"]:
            phase["ledger"] |= {"rows": None, "requests": None, "outside": None}
            phase["metrics"] |= {"afpd_calls": None, "cnid_calls": None}

    text, done = made(execute, tmp_path, shelf.put("a", change=change))
    assert done.code == 0
    assert "was not watched" in text and "n/a" in text


def test_the_time_of_a_transfer_is_that_of_one(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    """Eight of 11.6 ms, not one of 92.8 ms."""
    folder = shelf.put("a", "speedtest")
    text, _ = made(execute, tmp_path, folder)
    tests = text[text.index("<h2>Tests") : text.index("<h2>Throughput")]
    assert ">Write 16 MiB</td><td>8</td><td>11.6 ms</td>" in tests and "92.8 ms" not in tests
    assert "Write 16 MiB  (sum of 8 transfers)" in execute("info", folder).out


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_a_local_folder_is_no_server_that_was_not_watched(
    shelf: Shelf, tmp_path: Path, execute: Execute, lang: str
) -> None:
    def change(value: dict[str, Any]) -> None:
        value["options"] |= {"mode": "local", "directory": "/srv/<x>"}
        value["server"], value["books"], value["losses"] = {}, [], []
        for phase in value["phases"]:
            phase["ledger"] |= {"rows": None, "requests": None, "outside": None}

    text, _ = made(execute, tmp_path, shelf.put("a", "speedtest", change), "--lang", lang)
    w = Words(lang)
    assert f"<h1>speedtest · {w.say('local', folder='/srv/&lt;x&gt;')} · a</h1>" in text
    assert w["no_server"] in text and w["unwatched"] not in text


def test_who_kept_the_server_busy(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    def change(value: dict[str, Any]) -> None:
        one = value["sessions"][1] | {"busy_ns": 1_000_000_000}
        value["sessions"] = [
            *({**one, "user": f"user{n}", "busy_ns": 10_000_000} for n in range(25)),
            {**one, "user": "<anna>", "address": "10.0.0.7:1234", "volume": "/srv/<music>"},
        ]

    text, done = made(execute, tmp_path, shelf.put("a", "record", change))
    assert done.code == 0
    anna = "busiest of 26 sessions was that of &lt;anna&gt; (10.0.0.7:1234): 80% of all time"
    assert anna in text[: text.index("Can it be trusted?")]
    rows = text[text.index("<h2>Sessions") : text.index("<h2>Where the time goes")]
    assert rows.index("/srv/&lt;music&gt;") < rows.index("user0")
    assert rows.count("<tr><td>") == 20 and "6 more" in rows and "80.0 %" in rows


def test_a_rare_command_does_not_dwarf_the_others(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    """FPLoginCont: once, and longer than anything."""
    text, _ = made(execute, tmp_path, shelf.put("a", "record"))
    figure = text[text.index("Mean time of a request") :]
    drawn, rest = figure.split("</figure>", 1)
    assert "FPCreateFile" in drawn and "FPLoginCont" not in drawn
    assert "<td>FPLoginCont</td>" in rest


def test_many_books_are_folded_away_as_long_as_they_close(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    def change(value: dict[str, Any]) -> None:
        value["books"] = value["books"][:1] * 20

    def open_one(value: dict[str, Any]) -> None:
        change(value)
        value["books"][19] = value["books"][0] | {"name": "the bad one", "closed": False}

    text, _ = made(execute, tmp_path, shelf.put("a", change=change))
    assert "<details><summary>Books" in text and "20 of 20 books close" in text
    text, done = made(execute, tmp_path, shelf.put("b", change=open_one))
    assert done.code == 4
    table = text[text.index("<details open><summary>Books") :]
    assert table.index("the bad one") < table.index(">closed<")


def test_the_only_user_is_not_called_the_busiest(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    text, _ = made(execute, tmp_path, shelf.put("a", "record"))
    assert "uid 5001" in text and "busiest" not in text
    text, _ = made(execute, tmp_path, shelf.put("b"))
    assert "<h2>Sessions" not in text


def test_figures_and_trace(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    folder = shelf.put("a")
    tracegen.write(folder / "trace")
    text, done = made(execute, tmp_path, folder, "--figures", tmp_path / "f")
    assert done.code == 0 and "Requests over time" in text
    names = {p.name for p in (tmp_path / "f").iterdir()}
    assert {"where.svg", "where.png", "where.pdf", "heat.svg", "cnid.png"} <= names
