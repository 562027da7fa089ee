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
from afpscope.saved.run import Run
from afpscope.words import ENGLISH
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
    for text in ("p99<=50ms", "vol-5s", "/srv/5s", "run5s", "5sec", "50 %x"):
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
            "waited_for_but_not_seen": [], "may_be": ["server-stopped"],
        }  # fmt: skip

    page = tmp_path / "r.html"
    execute("report", shelf.put("a", "record", change=change), "-o", page)
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


def test_every_figure_of_a_cause_has_a_row_with_its_base(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    text = _head(shelf, tmp_path, execute, PAUSED)
    assert "slow_n 2" in text and "cnid_stops 2" in text
    assert "cnid 77% of all request time: afpd waiting" in text
    assert "cnid_stopped 63% of all request time: in that wait" in text


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


def test_what_is_paused_is_not_called_stopped() -> None:
    """A server that is stopped has ended, most readers think."""
    rules = (Path(__file__).parents[2] / "user/doctor/rules").glob("rules_*.c")
    said = re.compile(r'\.(?:name|says|fact|todo|disproof) = "(.*)"')
    texts = [text for file in rules for text in said.findall(file.read_text())]
    plain = [re.sub(r"{[^}]*}", "", text) for text in texts]
    assert len(plain) > 100
    ended = "stopped its volume on purpose"  # that is what gluster calls it
    assert [text for text in plain if "stopped" in text and ended not in text] == []
    assert ENGLISH.cause("cnid-stopped") == "cnid paused"
