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
