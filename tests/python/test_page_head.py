# SPDX-License-Identifier: GPL-2.0-or-later
"""What a page calls its run: server, place and time; and that it has what docs/screen.md says.

Tests analysis/afpscope/report.py, saved/run.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from afpscope import show
from afpscope.page.answer import Answer, Badge, Part, terms
from afpscope.report import _unsaid
from afpscope.saved.run import NO_WORDS, Run
from afpscope.saved.sections import Note, Section
from afpscope.words import ENGLISH, Words
from conftest import Done, Shelf

Execute = Callable[..., Done]


@pytest.mark.parametrize(
    ("server", "host", "place"),
    [
        ({"host": "10.0.0.7", "port": "548", "volume": "Home"}, "mac", "10.0.0.7/Home"),
        ({"host": "fd00::1", "port": "5548", "volume": "Home"}, "mac", "[fd00::1]:5548/Home"),
        ({"port": "548", "program": "/usr/sbin/afpd"}, "nas", "nas"),
        ({"name": "afpscope"}, "client", ""),
        ({"program": "/usr/sbin/afpd"}, None, ""),
    ],
)
def test_a_run_says_where_it_was_made(
    shelf: Shelf, server: dict[str, str], host: str | None, place: str
) -> None:
    def change(value: dict[str, Any]) -> None:
        value["server"] = server
        value["environment"] = {"host": host} if host else {}

    assert Run.open(shelf.put("a", change=change)).place == place


def test_a_server_that_is_not_afps_is_where_it_was_said_to_be(shelf: Shelf) -> None:
    def change(value: dict[str, Any]) -> None:
        value["server"] = {"name": "rxperf"}
        value["options"] |= {"directory": "rx://10.0.0.7:7009"}

    assert Run.open(shelf.put("a", change=change)).place == "rx://10.0.0.7:7009"


def test_the_title_names_server_and_place_and_the_time_its_zone(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    page = tmp_path / "r.html"
    execute("report", shelf.put("a"), "-o", page)
    top = page.read_text().partition("<h2>")[0]
    (title,) = re.findall("<h1[^>]*>(.*?)</h1>", top)
    assert title == "lantest · Netatalk 4.5.1 · 127.0.0.1:5681/vol1 · a"
    assert "2026-11-21 14:25:29 UTC" in top


@pytest.mark.parametrize(
    ("sample", "said"),
    [
        ("record", "watched for"),
        ("lantest-1", "lasted"),
        ("load", "lasted"),
        ("speedtest", "lasted"),
    ],
)
def test_the_head_says_how_long_it_was(
    shelf: Shelf, tmp_path: Path, execute: Execute, sample: str, said: str
) -> None:
    """A share or a number of requests says little without it."""
    run = shelf.put("a", sample)
    page = tmp_path / "r.html"
    execute("report", run, "-o", page)
    top = page.read_text().partition("<h2>")[0]
    assert re.search(rf"UTC · {said} [\d.]+ m?s ·", top)
    phases = Run.open(run).phases
    assert (Run.open(run).lasted_ns or 0) >= max(p.metrics["elapsed"] or 0 for p in phases)


# What docs/screen.md promises of the page, by its numbers: of which sample, the tables, and the
# page's own sections.
PROMISED = {
    1: ("lantest-1", {"tests", "reads_and_writes"}, ()),
    2: ("lantest-1", set[str](), ("trust", "environment")),
    3: ("lantest-1", {"tests", "commands"}, ()),
    4: ("lantest-1", {"requests", "states", "below"}, ("where", "cnid", "calls")),
    5: ("record", {"sessions"}, ()),
    6: ("speedtest", {"transfers", "transfer_cost", "verdicts"}, ("throughput",)),
    7: ("record", {"calls"}, ()),
}


@pytest.mark.parametrize("number", PROMISED)
def test_the_page_has_what_is_promised(
    shelf: Shelf, tmp_path: Path, execute: Execute, number: int
) -> None:
    """In tables of its own, with all rows that the program printed."""
    words = (Path(__file__).parents[2] / "docs/screen.md").read_text()
    said = re.split(r"in the HTML report, you\s+get all of it:", words)[1].split(
        "Each run is kept"
    )[0]
    assert [int(n) for n in re.findall(r"^(\d)\. ", said, re.M)] == list(PROMISED)
    source, tables, own = PROMISED[number]
    run = shelf.put("a", source)
    execute("report", run, "-o", tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    found = json.loads((run / "tables.json").read_text())["sections"]
    assert tables <= {s["key"] for s in found}
    for s in found:
        if s["key"] in tables:
            part = text[text.index(f'id="r1-table-{s["key"]}"') :].split("</details>")[0]
            assert part.count("<tr") >= len(s["rows"]), s["key"]
    for key in own:
        assert f'id="r1-{key}"' in text


def test_what_people_named_keeps_its_units() -> None:
    assert show.told("took 1.20ms, 4,000s of 5s; 46 %") == "took 1.20 ms, 4,000 s of 5 s; 46%"
    assert show.told("0B/s read, 7us, 0.79MB of 4GiB") == "0 B/s read, 7 µs, 0.79 MB of 4 GiB"
    for text in ("p99<=50ms", "vol-5s", "/srv/5s", "run5s", "5sec", "50 %x", "4GBx", "disk-4GB"):
        assert show.told(text) == text


def test_a_large_number_is_no_power_of_ten() -> None:
    assert show.number(16_976.4) == "16,976" and show.number(464.71) == "464.7"


# Each share in the sentence and where it is proved, with what it is a share of


def _figure(text: str, meaning: str) -> dict[str, Any]:
    return {"value": 1.0, "unit": "share", "text": text, "meaning": meaning}


PAUSED = {
    "key": "cnid-stopped", "todo": "kill -CONT PID", "disproof": "it runs", "next": "ps",
    "text": "the CNID server was paused while afpd waited for it: 63% of all request time; paused "
    "2 times", "sure": False, "evidence": ["cnid_stopped", "cnid", "cnid_stops", "slow_n"],
}  # fmt: skip
CROWDED = {
    "key": "other-programs", "text": "requests waited for a CPU 67% of their time", "sure": True,
    "evidence": ["wait_cpu", "mean"],
}  # fmt: skip
SMALL = {
    "key": "dircache", "text": "directory caches are too small: 41% of the requests' own time",
    "sure": True, "evidence": ["asked_time", "cnid"],
}  # fmt: skip
FIGURES = {
    "cnid_stopped": _figure("63%", "request time: in that wait, a process was paused"),
    "cnid": _figure("77%", "request time: afpd waiting for its CNID server"),
    "cnid_stops": _figure("2", "how often a process was paused"),
    "slow_n": _figure("2", "requests of 100 ms or more"),
    "wait_cpu": _figure("67%", "request time and that before it is read: waiting for a CPU"),
    "asked_time": _figure("41%", "own time: waiting for the answers to these"),
    "mean": _figure("1.20ms", "mean of a request"),
}
NOTICED = {
    "cnid-stopped": "cnid_dbd was paused: 63% of all request time (1.2s)",
    "cnid": "afpd waited for its CNID server: 77% of all request time (2s)",
    "run-queue": "afpd waited for a CPU: 67% of all request time (2s)",
    "no-answer": "2 requests had no answer when the watch ended",
}


def _head(shelf: Shelf, tmp_path: Path, execute: Execute, *causes: dict[str, Any]) -> str:
    """The words of the box of a recording of several users with these causes."""

    def change(value: dict[str, Any]) -> None:
        value["figures"] = FIGURES
        value["findings"] = [{"key": key, "text": text} for key, text in NOTICED.items()]
        value["sessions"] = [{**s, "user": name} for s in value["sessions"] for name in ("a", "b")]
        value["diagnosis"] = {
            "verdict": "findings", "text": None, "findings": list(causes), "notes": [],
            "waited_for_but_not_seen": ["device-others", "a-b"], "may_be": ["server-stopped"],
            "called": {"device-others": "other programs on the disk"},
        }  # fmt: skip

    page = tmp_path / "r.html"
    execute("report", shelf.put(f"with {len(causes)}", "record", change=change), "-o", page)
    box = page.read_text().partition('<div class="verdict')[2].partition("<nav")[0]
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", box))


@pytest.mark.parametrize(
    ("cause", "share", "gone"),
    [
        (PAUSED, "63%", ("cnid-stopped", "cnid")),
        (CROWDED, "67%", ("run-queue",)),
        (SMALL, "41%", ("cnid",)),
    ],
)
def test_the_head_says_each_share_of_its_cause_and_proves_it(
    shelf: Shelf, tmp_path: Path, execute: Execute, cause: dict[str, Any], share: str, gone: Any
) -> None:
    """What stands out does not repeat the sentence, nor its figures."""
    text = _head(shelf, tmp_path, execute, cause)
    proof = text.partition("What shows it")[2].partition("What to do")[0]
    assert text.count(share) == 2 and proof.count(share) == 1
    for key, said in NOTICED.items():
        assert (said.partition(":")[0][1:] in text) == (key not in gone), key
    assert "All request time is the time of all requests in the server" in text
    assert ("Own time is the same without" in text) == (cause is SMALL)


@pytest.mark.parametrize(
    ("doubt", "said"),
    [
        (None, "likely, not proved: the figures point to it."),
        ({"text": "few requests were seen"}, "likely, not proved: few requests were seen."),
        ({"text": "mean is near its limit", "about": "mean"},
         "likely, not proved: mean is near its limit (mean of a request)."),
        ({"text": "lost is not known", "about": "lost"}, "likely, not proved: lost is not known."),
    ],
)  # fmt: skip
def test_the_head_says_why_a_cause_is_only_likely(
    shelf: Shelf, tmp_path: Path, execute: Execute, doubt: dict[str, str] | None, said: str
) -> None:
    """Older runs do not have it."""
    cause = PAUSED | ({"doubt": doubt} if doubt else {})
    assert f"The cause is {said}" in _head(shelf, tmp_path, execute, cause)


def test_causes_that_were_not_seen_are_called_as_on_the_screen(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    """Older runs have keys only."""
    text = _head(shelf, tmp_path, execute, PAUSED)
    assert "could not be seen here: other programs on the disk, a b." in text


def test_every_figure_of_a_cause_has_a_row_with_its_base(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    text = _head(shelf, tmp_path, execute, PAUSED)
    assert "slow_n 2" in text and "cnid_stops 2" in text
    assert "cnid 77% of all request time: afpd waiting" in text
    assert "cnid_stopped 63% of all request time: in that wait" in text


def test_shares_of_several_causes_have_their_bases_and_do_not_add_up(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    """63% and 67% are of different times."""
    text = _head(shelf, tmp_path, execute, PAUSED, CROWDED)
    others = text.partition("Other causes")[2]
    assert "Their time is all request time and, before that, the time in which" in others
    assert "of several causes" in others and "they do not add up" in others
    assert "add up" not in _head(shelf, tmp_path, execute, PAUSED).replace("added up", "")


def test_calls_are_counted_and_times_are_means(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    text = _head(shelf, tmp_path, execute, PAUSED)
    assert re.search(
        r"takes longest: [\d.]+ \S+ in all \(calls: [\d,]+\), [\d.]+ \S+ a request on", text
    )
    assert re.search(
        r"of all request time \(requests: [\d,]+, \d of them without an answer, [\d.]+ \S+ on",
        text,
    )
    assert " each" not in text


def test_only_words_that_are_there_are_explained(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    """Those of the box in it, those of the figure and of the table beside them."""
    text = _head(shelf, tmp_path, execute, PAUSED)
    assert "afpd is the process that serves a client." in text
    assert "was work in system calls." in text and "the kernel is working for afpd." in text
    assert "p99.9: half of the requests" not in text
    page = (tmp_path / "r.html").read_text()
    assert page.count("Work in system calls: the kernel is working for afpd.") == 1
    table = page.partition('id="r1-table-requests"')[2].partition("</details>")[0]
    assert table.count("p50, p99, p99.9: half of the requests") == 1
    for said, keys in {
        "afpd was paused": ["server"],
        "waiting for the CNID server": ["backend"],
        "afpds, p5": [],
        "work in system calls, p99": ["calls", "quantiles"],
    }.items():
        assert terms([said], ENGLISH) == tuple(f"term_{key}" for key in keys)
    assert terms(["the server waits for its backend"], Words("en", NO_WORDS)) == ()


def test_a_table_in_the_answer_repeats_nothing_of_it() -> None:
    """A line all of whose numbers the answer has says no more."""
    lines = ["Answered as recorded: all 1,142 requests", "99 of 100 within 184ms", "212 actions/s",
             "Fairness is even"]  # fmt: skip
    notes = tuple(Note("", text, False) for text in lines)
    part = Part("replay_doctor", ("99 of 100 requests were answered within 184 ms.",))
    said = Answer(Badge("trusted", "", ()), True, "All 1,142 requests.", (), (part,))
    left = _unsaid(Section("replay", "", "", (), (), notes), said).notes
    assert [note.text for note in left] == lines[2:]


@pytest.mark.parametrize(
    ("cause", "how"), [(PAUSED, "The cause is likely, not proved"), (CROWDED, "The cause is sure")]
)
def test_trust_in_figures_is_not_that_in_the_cause(
    shelf: Shelf, tmp_path: Path, execute: Execute, cause: dict[str, Any], how: str
) -> None:
    text = _head(shelf, tmp_path, execute, cause)
    assert text.index("Figures trusted") < text.index(how)


def test_beside_a_cause_the_busiest_session_is_not_named(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    """It is often another one than that which the cause names."""
    assert "The busiest of" not in _head(shelf, tmp_path, execute, PAUSED)


def test_who_is_named_where_the_finding_says_no_more(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    assert "The busiest of" in _head(shelf, tmp_path, execute, CROWDED | {"whom": True})


def test_shares_of_commands_have_the_base_of_the_cause(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    text = _head(shelf, tmp_path, execute, PAUSED)
    assert re.search(r"costs most: \d+% of all request time", text)
    assert re.search(r"Of the time of FP\w+, \d+% was ", text)
    assert "inside the server" not in text.partition("p50, p99")[0]


def _rules(fields: str) -> list[str]:
    """These fields of all rules."""
    rules = sorted((Path(__file__).parents[2] / "user/doctor/rules").glob("rules_*.c"))
    said = re.compile(rf'\.(?:{fields}) = "(.*)"')
    return [text for file in rules for text in said.findall(file.read_text())]


MEANS = ("mean", "_calls", "device_time", "packet_cpu", "list_time")  # ends of their keys


def test_a_mean_is_not_called_each() -> None:
    for text in _rules("says|fact"):
        means = [key for key in re.findall(r"{(\w+)}", text) if key.endswith(MEANS)]
        assert not means or "on average" in text, text
        for key in means:
            assert not re.search(rf"{{{key}}}[\w ]* each\b", text), text


def test_a_share_of_the_time_for_a_cpu_says_what_it_is_of() -> None:
    said = [text for text in _rules("says|fact") if "{threads_wait}" not in text]  # not of Rx
    found = [text for text in said if re.search("{(wait|on)_cpu}", text)]
    assert len(found) > 6 and [text for text in found if "{unread_share}" not in text] == []
    for text in _rules("says|fact"):
        if "{wait_disk}" in text:
            assert "{wait_disk} of all request time" in text


def test_what_to_try_and_what_looks_further_name_a_command_once() -> None:
    """`next` is the command: `todo` says what for."""
    pairs = list(zip(_rules("todo"), _rules("next"), strict=True))
    assert len(pairs) > 90
    long = {"afpscope": 2, "gluster": 3, "smbcontrol": 2}  # so many words say what it does
    for todo, further in pairs:
        for command in re.split(r"; |\| ", further):
            words = command.removeprefix("on the server: ").removeprefix("time ").split()
            name = " ".join(words[: long.get(words[0], 1)])
            assert not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", todo), (todo, further)


def test_where_only_writes_wait_nothing_is_said_of_reads() -> None:
    rules = (Path(__file__).parents[2] / "user/doctor/rules/rules_storage.c").read_text()
    found = [text for text in rules.split("\n\t},") if '"slow-disk"' in text]
    assert (
        [bool(re.search(r"\bread\b|reads", text.partition(".todo")[2])) for text in found]
        == ["LEAST(READ" in text for text in found]
        == [True, False]
    )


def test_what_is_paused_is_not_called_stopped() -> None:
    """A server that is stopped has ended, most readers think."""
    texts = _rules("name|says|fact|todo|disproof")
    plain = [re.sub(r"{[^}]*}", "", text) for text in texts]
    assert len(plain) > 100
    ended = "stopped its volume on purpose"  # that is what gluster calls it
    assert [text for text in plain if "stopped" in text and ended not in text] == []
    assert ENGLISH.cause("cnid-stopped") == "cnid paused"


def test_a_server_that_was_not_to_be_watched_is_one(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    """With --watch=off nothing is noted of a way of watching, nor what was in the way of one."""

    def change(value: dict[str, Any]) -> None:
        value["books"], value["rungs"], value["absent"] = [], {}, {}
        value["server"] = {"host": "127.0.0.1"}
        value["diagnosis"] = {
            "verdict": "not_counted", "findings": [], "may_be": ["crash", "disk-full"],
            "text": "No verdict: the server was not watched: --watch=off.",
        }  # fmt: skip
        for phase in value["phases"]:
            phase["commands"] = []
            phase["ledger"] |= {"rows": None, "requests": [], "outside": None}

    page = tmp_path / "r.html"
    execute("report", shelf.put("a", change=change), "-o", page)
    text = page.read_text()
    assert "There was no server" not in text and "only the client&#39;s figures" in text
    assert "Not ruled out" not in text
