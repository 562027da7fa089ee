# SPDX-License-Identifier: GPL-2.0-or-later
"""The report stands for itself, says what matters first, and lets nothing of a run in as HTML."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import tracegen
from afpscope import show
from afpscope.page import figures, heat
from afpscope.saved.run import Run
from afpscope.saved.trace import of_run
from afpscope.tables.digest import digest
from afpscope.words import Words
from conftest import Done, Shelf

Execute = Callable[..., Done]
Sample = Callable[..., tuple[str, Done]]
pytestmark = [pytest.mark.slow, pytest.mark.painted]  # a page takes a second or two
ANALYSIS = Path(__file__).parents[2] / "analysis"
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


@pytest.fixture(scope="module")
def pages() -> dict[tuple[str, str], tuple[str, Done]]:
    """Pages that were drawn."""
    return {}


@pytest.fixture
def sample(
    shelf: Shelf, tmp_path: Path, execute: Execute, pages: dict[tuple[str, str], tuple[str, Done]]
) -> Sample:
    """The page of a sample in a language, drawn once for all tests that only read it."""

    def page(source: str, lang: str = "en") -> tuple[str, Done]:
        if (source, lang) not in pages:
            run = shelf.put(source, source)
            pages[source, lang] = made(execute, tmp_path, run, "--lang", lang)
        return pages[source, lang]

    return page


def section(text: str, key: str) -> str:
    """From the heading of that id to the next."""
    begin = text.index(f'<h2 id="r1-{key}"')
    return text[begin : text.index("<h2 ", begin + 1)]


@pytest.mark.parametrize(
    ("lang", "verdict"),
    [("en", "client-bound: client&#39;s CPU 50%, "), ("ja", "クライアント律速: ")],
)
def test_a_verdict_is_in_the_language_of_the_page(
    shelf: Shelf, tmp_path: Path, execute: Execute, lang: str, verdict: str
) -> None:
    text, _ = made(execute, tmp_path, shelf.put("a", "speedtest"), "--lang", lang)
    assert verdict in text
    own = re.split(r'<h2 id="[^"]*-table-', text)[0]  # then come the tables of -v, in English
    assert len(own) < len(text)
    assert ("neither end working" in own) == (lang == "en")


@pytest.mark.parametrize("lang", ["en", "ja"])
@pytest.mark.parametrize("source", ["lantest-1", "speedtest", "record"])
def test_every_sample(sample: Sample, source: str, lang: str) -> None:
    text, done = sample(source, lang)
    assert done.code == 0
    assert done.err == "" or lang == "ja"
    assert len(text) < 3_000_000
    assert ("In short" in text) == (lang == "en")


def test_the_command_that_costs_most_is_named_first(sample: Sample) -> None:
    text, _ = sample("lantest-1")
    body = text[text.index("In short") :]
    assert body.index("cross-checks agree") < body.index(
        "FPCreateFile costs most: 57% of all request"
    )
    assert "calls that afpd makes for it, open takes longest" in body[: body.index("</div>")]


def diagnosed(verdict: str, text: str | None, *findings: dict[str, Any]) -> Callable[..., None]:
    """A run with this diagnosis, in which cnid_dbd waits could not be explained otherwise."""

    def change(value: dict[str, Any]) -> None:
        value["diagnosis"] = {
            "verdict": verdict, "text": text, "findings": list(findings), "notes": [],
            "waited_for_but_not_seen": ["cpu-limit", "disk-files"],
            "may_be": ["dircache", "cpu-limit"],
        }  # fmt: skip
        known = (("cnid_stopped", "59%"), ("cnid", "77%"))
        value["figures"] = {k: {"value": 1, "unit": "share", "text": said} for k, said in known}
        value["figures"]["longest"] = {"value": None, "unit": "ns"}

    return change


STOPPED = {
    "key": "cnid-stopped", "text": "cnid_dbd was stopped: 59% of all request time",
    "todo": "find who stopped it", "disproof": "it is in state S", "next": "ps -C cnid_dbd",
    "sure": True, "evidence": ["cnid_stopped", "cnid", "longest"],
}  # fmt: skip
NOISE = {"key": "other-programs", "text": "other programs used 83% of the CPUs", "sure": False}


@pytest.mark.parametrize("pending_ns", [1, 10**15])
def test_what_was_answered_is_not_all_while_more_hangs(
    shelf: Shelf, tmp_path: Path, execute: Execute, pending_ns: int
) -> None:
    """Of 30 s that six requests hung, the 2 ms of those answered are no share."""

    def hang(value: dict[str, Any]) -> None:
        value["figures"] = {"pending": {"value": pending_ns, "unit": "ns", "meaning": ""}}
        value["sessions"] = [{**s, "user": name} for s in value["sessions"] for name in ("a", "b")]

    text, _ = made(execute, tmp_path, shelf.put("a", "record", change=hang))
    body = text[text.index('<div class="verdict') : text.index("<nav")]
    assert ("costs most" in body) == (pending_ns == 1)
    assert ("The busiest of 4 sessions" in body) == (pending_ns == 1)
    assert ("have no answer are in no bar" in text) == (pending_ns > 1)


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_cause_comes_right_after_the_badge(
    shelf: Shelf, tmp_path: Path, execute: Execute, lang: str
) -> None:
    """The diagnosis is the judge, whatever costs most; what it says of others comes later."""
    folder = shelf.put("a", change=diagnosed("findings", None, STOPPED, NOISE))
    text, _ = made(execute, tmp_path, folder, "--lang", lang)
    w = Words(lang)
    body = text[text.index('<div class="verdict') : text.index("<nav")]
    order = [
        w["badge_trusted"], '<p class="cause">cnid_dbd was stopped: 59% of all request time.',
        w["cause_sure"], w["shown_by"], "<th scope=\"row\">cnid</th><td>77%</td>",
        w["to_do"], "find who stopped it.", "it is in state S.", "ps -C cnid_dbd",
        w["others"], w.say("cause_too_likely", text="other programs used 83% of the CPUs."),
        w["comma"].join(map(w.cause, ("cpu-limit", "disk-files"))),
        w["went_into"], "FPCreateFile",
    ]  # fmt: skip
    places = [body.index(one) for one in order]
    assert places == sorted(places)
    assert w["unjudged"] not in body
    causes = section(text, "causes")
    assert causes.count("<li>") == 2 and "find who stopped it." in causes


@pytest.mark.parametrize(
    ("verdict", "told"),
    [("healthy", True), ("slow", False), ("too_few", False), ("partly", False)],
)
def test_no_cause_is_an_answer_of_the_same_rank(
    shelf: Shelf, tmp_path: Path, execute: Execute, verdict: str, told: bool
) -> None:
    """With what was not visible."""
    said = "What the program says of this."
    text, _ = made(execute, tmp_path, shelf.put("a", change=diagnosed(verdict, said)))
    body = text[text.index('<div class="verdict') : text.index("<nav")]
    assert f'<p class="cause{"" if told else " untold"}">{said}</p>' in body
    assert body.index(said) < body.index("cpu limit, disk files") < body.index("costs most")
    # A sentence of that kind names the few that may be.
    assert ("as it could not be seen here: dircache." in body) == (verdict != "partly")


def test_calls_beside_the_path_of_a_request_are_a_group_of_their_own(sample: Sample) -> None:
    """cnid_dbd's sync takes longer than all that afpd waits for it, and is no reason for that."""
    text, _ = sample("lantest-1")
    calls = section(text, "calls")
    first = calls[: calls.index("</details>")]
    path, beside = first.split("Beside it: calls of cnid_dbd")
    assert ">open</td>" in path and "sync" not in path
    assert beside.index("sync") < beside.index("write")
    assert "<td>0.00</td><td>0 ns</td>" not in calls


def test_what_the_answer_names_is_open(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    cause = NOISE | {"text": "FPCreateDir waited 60% of its time"}
    text, _ = made(execute, tmp_path, shelf.put("a", change=diagnosed("findings", None, cause)))
    found = re.findall(r"<details( open)?><summary>(FP\w+)</summary>", section(text, "calls"))
    assert [name for is_open, name in found if is_open] == ["FPCreateDir"]


@pytest.mark.parametrize("source", ["lantest-1", "speedtest", "record", "load"])
def test_each_column_has_a_head_and_each_figure_its_numbers(sample: Sample, source: str) -> None:
    text, _ = sample(source)
    for table in re.findall(r"<table>(.*?)</table>", text, re.S):
        assert "<th>" not in table and table.count("<thead") <= 1
        assert table.lstrip().startswith("<thead>") or "<th" not in table
    for figure in re.findall(r"<figure>(.*?)</figure>", text, re.S):
        assert "<figcaption>" in figure
        assert "<table>" in figure or 'role="img"' in figure
    assert len(text.encode()) <= 300_000


@pytest.mark.parametrize("source", ["lantest-1", "load"])
def test_figures_have_the_colour_of_the_text(sample: Sample, source: str) -> None:
    """Black text on a dark page is none."""
    text, _ = sample(source)
    assert "prefers-color-scheme: dark" in text
    drawn = re.findall(r"<svg.*?</svg>", text, re.S)
    assert drawn and "currentColor" in drawn[0]
    assert not any(re.search(r"#0[01]0[01]0[01]\b", svg) for svg in drawn)


@pytest.mark.parametrize("source", ["lantest-1", "speedtest", "load", "record"])
def test_sentences_tables_and_figures_write_units_alike(sample: Sample, source: str) -> None:
    text, _ = sample(source)
    shown = re.sub(r"<style>.*?</style>", "", text[: text.index('id="r1-environment"')], flags=re.S)
    shown = re.sub(r"<[^>]*>", "|", shown)
    assert re.search(r"\d (ms|µs)\b", shown) and re.search(r"\d%", shown)
    assert re.findall(r"(?<![\w.,=/-])[\d.,]+(?:ms|µs)\b|\d %(?!\w)", shown) == []
    ticks = re.findall(r"<text [^>]*>(.*?)</text>", text)
    assert not [tick for tick in ticks if re.search(r"\.\d*0 (ns|µs|ms|s)$", tick)]


def test_a_name_with_dollars_is_a_name(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    """And no formula, of which \\bad is none."""

    def change(value: dict[str, Any]) -> None:
        for a in value["phases"][0]["load"]["actions"]:
            a["name"] = r"$\bad$" + a["name"]

    text, done = made(execute, tmp_path, shelf.put("a", "load", change))
    assert done.code == 0 and r"$\bad$" in text


def test_a_request_without_an_answer_costs_time_and_no_share_is_more_than_all(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    def change(value: dict[str, Any]) -> None:
        """FPCreateFile hangs once, for 1000 s in the CNID server; of an older run."""
        ledgers = (phase["ledger"]["requests"] for phase in value["phases"])
        account = next(a for all_ in ledgers for a in all_ if a["name"] == "FPCreateFile")
        account["begun"] += 1
        account["times"]["cnid"] += 1_000_000_000_000

    folder = shelf.put("a", change=change)
    d = digest(Run.open(folder))
    assert d.commands[0].name == "FPCreateFile" and d.commands[0].unanswered == 1
    assert 1000e9 < d.commands[0].service_ns <= d.served_ns
    assert 0.99 < d.commands[0].share("cnid") <= 1
    assert all(sum(c.share(part) for part in c.times) <= 1.0001 for c in d.commands)
    text, _ = made(execute, tmp_path, folder)
    assert "FPCreateFile costs most: 100% of all request time" in text
    words = re.sub(r"<(svg|style).*?</\1>", "", text, flags=re.S)
    assert all(float(share) <= 100 for share in re.findall(r"([\d.]+) ?%", words))


def test_a_doubt_stands_first(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    text, done = made(execute, tmp_path, shelf.put("a", change=lambda v: v.update(complete=False)))
    assert done.code == 4
    body = text[text.index("In short") :]
    assert body.index("Do not rely on this run") < body.index("costs most")
    assert "cross-checks agree" not in body


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


@pytest.mark.parametrize(("verdict", "watched"), [("too_few", True), ("not_counted", False)])
def test_a_watched_server_without_requests_is_not_called_unwatched(
    shelf: Shelf, tmp_path: Path, execute: Execute, verdict: str, watched: bool
) -> None:
    said = "No verdict: too few requests were seen (0)."

    def change(value: dict[str, Any]) -> None:
        value["command"] = "doctor"
        value["diagnosis"] = {"verdict": verdict, "text": said, "findings": []}
        for phase in value["phases"]:
            phase["commands"], phase["ledger"]["requests"] = [], []

    text, done = made(execute, tmp_path, shelf.put("a", change=change))
    assert done.code == 0 and f'untold">{said}</p>' in text
    assert ("was not watched" in text) != watched


def test_unwatched(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    def change(value: dict[str, Any]) -> None:
        value["books"], value["losses"] = [], []
        for phase in value["phases"]:
            phase["ledger"] |= {"rows": None, "requests": None, "outside": None}
            phase["metrics"] |= {"afpd_calls": None, "cnid_calls": None}

    text, done = made(execute, tmp_path, shelf.put("a", change=change))
    assert done.code == 0
    assert "was not watched" in text


def test_the_time_of_a_transfer_is_that_of_one(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    """Eight of 11.6 ms, not one of 92.8 ms."""
    folder = shelf.put("a", "speedtest")
    text, _ = made(execute, tmp_path, folder)
    one = next(t for t in digest(Run.open(folder)).tests if t.name == "Write 16 MiB")
    assert len(one.elapsed) == 8 and show.time(one.mean_ns) == "11.6 ms"
    assert "92.8 ms" not in text
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
    title = w.say("local", folder="/srv/&lt;x&gt;")
    assert f'<h1 id="r1">speedtest · {title} · a</h1>' in text
    assert w["no_server"] in text and w["unwatched"] not in text


def test_a_recording_has_no_tests(sample: Sample) -> None:
    """Nor 0 errors of a test that there is not, beside those that the server answered."""
    for name, there in (("lantest-1", True), ("record", False)):
        text, done = sample(name)
        assert done.code == 0
        assert ('-table-tests">' in text) == there


def test_who_kept_the_server_busy(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    def change(value: dict[str, Any]) -> None:
        one = value["sessions"][1] | {"busy_ns": 1_000_000_000}
        value["sessions"] = [
            *({**one, "user": f"user{n}", "busy_ns": 10_000_000} for n in range(25)),
            {**one, "user": "<anna>", "address": "10.0.0.7:1234"},
        ]

    text, done = made(execute, tmp_path, shelf.put("a", "record", change))
    assert done.code == 0
    anna = "busiest of 26 sessions was that of &lt;anna&gt; (10.0.0.7:1234): 80% of the time"
    assert anna in text[: text.index("</div>")]


def bars(execute: Execute, folder: Path) -> list[tuple[str, float]]:
    """Name and length of each bar of the figure of all commands, from above."""
    d = digest(Run.open(folder))
    ax = figures.where(d.commands, d.served_ns, Words("en")).axes[0]
    names = [text.get_text() for text in ax.get_yticklabels()]
    ends = [0.0] * len(names)
    for bar in ax.patches:
        at = round(bar.get_y() + bar.get_height() / 2)
        ends[at] = max(ends[at], bar.get_x() + bar.get_width())
    assert ax.yaxis_inverted()
    return list(zip(names, ends, strict=True))


@pytest.mark.parametrize("source", ["lantest-1", "speedtest", "record"])
def test_the_longest_bar_is_the_command_that_the_headline_names(
    shelf: Shelf, execute: Execute, sample: Sample, source: str
) -> None:
    """Bars are totals: FPCopyFile's 8 requests of 8.47 ms are less than FPWriteExt's 272."""
    folder = shelf.put("a", source)
    text, _ = sample(source)
    drawn = bars(execute, folder)
    assert re.search(rf"<p[^>]*>{drawn[0][0]} costs most: ", text)
    lengths = [length for _, length in drawn]
    assert lengths == sorted(lengths, reverse=True)
    total_us = {c.name: c.service_ns / 1000 for c in digest(Run.open(folder)).commands}
    assert all(length == pytest.approx(total_us[name], rel=0.01) for name, length in drawn)


def test_a_command_that_took_next_to_nothing_is_in_the_table_only(sample: Sample) -> None:
    """FPLoginCont: once."""
    text, _ = sample("record")
    drawn = section(text, "where")
    assert "FPCreateFile" in drawn and "FPLogin" not in drawn
    assert ">FPLogin</td>" in section(text, "table-requests")


def test_results_stand_above_the_cross_checks(
    shelf: Shelf, tmp_path: Path, execute: Execute, sample: Sample
) -> None:
    """They are folded away as long as all agree; else open, the one that differs first."""

    def change(value: dict[str, Any]) -> None:
        value["books"][3] |= {"name": "the bad one", "closed": False}

    text, _ = sample("lantest-1")
    assert "<details><summary>Cross-checks" in text and "all 12 cross-checks agree" in text
    order = [text.index(f'id="r1-{key}"') for key in ("where", "table-tests", "latency", "trust")]
    assert order == sorted(order)
    text, done = made(execute, tmp_path, shelf.put("b", change=change))
    assert done.code == 4
    table = text[text.index("<details open><summary>Cross-checks") :]
    assert table.index("the bad one") < table.index(">agrees<")


def test_a_warning_stands_in_the_summary(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    run = shelf.put(
        "a",
        change=lambda v: v.update(warnings=[{"key": "clock", "text": "the clock <stood> still"}]),
    )
    text, _ = made(execute, tmp_path, run)
    assert (
        ">The clock &lt;stood&gt; still.</p>" in text[text.index("In short") : text.index("<nav")]
    )


def test_what_the_first_screen_warns_of_stands_in_the_summary(
    shelf: Shelf, tmp_path: Path, execute: Execute, sample: Sample
) -> None:
    def change(value: dict[str, Any]) -> None:
        value["environment"]["client.cpus"] = "allowed 1, last on 1"
        value["server"]["afpd.cpus"] = "allowed 1"
        value["findings"] = [{"text": "afpd waited for a CPU: 61% of all request time"}]

    text, _ = sample("lantest-1")
    assert "shared CPU" not in text
    assert "Create directory tree with 1000 dirs" in text.split("Unsteady")[1].split("</p>")[0]
    assert "Open, stat" not in text.split("Unsteady")[1].split("</p>")[0]
    assert "Netatalk 4.5.1" in text.split("<h1")[1].split("</h1>")[0]
    text, _ = made(execute, tmp_path, shelf.put("shared", change=change))
    assert "<p>Client and server shared CPU 1" in text
    assert ">afpd waited for a CPU: 61% of all request time.</p>" in text


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_several_runs_have_contents_and_stand_side_by_side(
    shelf: Shelf, tmp_path: Path, execute: Execute, sample: Sample, lang: str
) -> None:
    runs = [shelf.put("a"), shelf.put("b", "lantest-2"), shelf.put("c", "speedtest")]
    text, _ = made(execute, tmp_path, *runs, "--lang", lang)
    top = text[: text.index('<h1 id="r1"')]
    for i in (1, 2, 3):
        assert f'href="#r{i}"' in top and text.count(f'id="r{i}"') == 1
    row = re.search(r"<td[^>]*>5 Creating dir with 2000 files</td>(.*)</tr>", top)
    assert row and [c != "n/a" for c in re.findall("<td>(.*?)</td>", row[1])] == [True, True, False]
    ids = re.findall(r' id="(r\d[^"]*)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#(r\d[^"]*)"', text)) <= set(ids)
    alone, _ = sample("lantest-1", lang)
    assert Words(lang)["side_by_side"] not in alone


def test_of_many_runs_each_has_a_page(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    """One of them is not to be trusted, one cannot be read: that is said, and the others stand."""

    def change(value: dict[str, Any]) -> None:
        value["complete"] = False

    runs = [shelf.put(f"r{i:02}", f"lantest-{1 + i % 2}") for i in range(18)]
    runs += [shelf.put("partial", change=change), shelf.put("broken")]
    (runs[-1] / "run.json").write_text("{")
    done = execute("report", *runs, "-o", tmp_path / "all of them.html")
    assert done.code == 1 and done.out == f"{tmp_path}/all of them.html\n"
    assert f"report: {runs[-1]}: left out: " in done.err and "report: partial: " in done.err
    text = (tmp_path / "all of them.html").read_text()
    links = dict(re.findall(r'<a href="([^"#]+)">\d+ (\S+)</a></td>', text))
    assert list(links.values()) == [run.name for run in runs[:-1]]
    for link, name in links.items():
        page = (tmp_path / unquote(link)).read_text()
        assert f"· {name}</h1>" in page and 'id="r1-latency"' in page
    assert len(list((tmp_path / "all of them-runs").iterdir())) == 19
    row = re.search(r"<td[^>]*>5 Creating dir with 2000 files</td>(.*)</tr>", text)
    assert row and re.findall("<td>(.*?)</td>", row[1])[0] == "19"
    cell = re.search(r"partial</a></td>\n<td class=\"text alarm\">NO</td>", text)
    assert cell and text.count('<td class="text alarm">') == 1


def test_figures_of_many_runs_are_refused(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    runs = [shelf.put(f"r{i:02}") for i in range(13)]
    done = execute("report", *runs, "--figures", tmp_path / "f", "-o", tmp_path / "r.html")
    assert done.code == 2 and "12 runs at most" in done.err and not (tmp_path / "f").exists()


def test_a_table_that_a_phone_cuts_says_so(sample: Sample) -> None:
    text, _ = sample("record")
    for before, table in re.findall(r"(.{60})<table>(.*?)</table>", text, re.S):
        columns = re.split(r"</tr>", table, maxsplit=1)[0].count("<th ")
        assert columns < 5 or "scroll wide" in before


def test_the_only_user_is_not_called_the_busiest(sample: Sample) -> None:
    text, _ = sample("record")
    assert 'id="r1-table-sessions"' in text and "busiest" not in text
    text, _ = sample("lantest-1")
    assert 'id="r1-table-sessions"' not in text


def test_figures_and_trace(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    folder = shelf.put("a")
    tracegen.write(folder / "trace")
    text, done = made(execute, tmp_path, folder, "--figures", tmp_path / "f")
    assert done.code == 0 and "Requests over time" in text
    names = {p.name for p in (tmp_path / "f").iterdir()}
    assert {"where.svg", "where.png", "where.pdf", "heat.svg", "cnid.png"} <= names


def test_the_map_of_a_trace_has_every_request_once(shelf: Shelf) -> None:
    """In its table as well; the times of a row are bounds of those that its requests took."""
    folder = shelf.put("a")
    tracegen.write(folder / "trace")
    run = Run.open(folder)
    trace = of_run(run)
    assert trace
    requests = trace.streams["requests"]
    grid = heat.grid(requests, run.phases)
    assert grid and int(grid.counts.sum()) == requests.n
    spans = heat.heat(grid, "").spans
    assert sum(span.n for span in spans) == requests.n
    longest = max(int(block["time_ns"].max()) for block in requests.blocks())
    cells = [heat.edge_ns(cell + 1) for cell in range(heat.UP) if grid.counts[:, cell].any()]
    assert cells[-1] >= longest >= cells[-1] / 10**0.1 * 0.999


def test_a_page_with_a_trace_is_small_and_needs_no_drawing_library(
    shelf: Shelf, tmp_path: Path
) -> None:
    """Many requests and calls: what the page has of them does not grow with their number."""
    folder, page = shelf.put("a"), tmp_path / "page.html"
    tracegen.main(str(folder), 200_000)
    code = f"""
import sys
from afpscope.cli import main
main(["afpscope-report", {str(folder)!r}, "-o", {str(page)!r}])
print([name for name in ("matplotlib", "scipy", "pyarrow", "duckdb") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                          env=os.environ | {"PYTHONPATH": str(ANALYSIS)})  # fmt: skip
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
    assert 'class="heat"' in page.read_text() and page.stat().st_size <= 300_000
