# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of a run of rx: its tests, packets, sockets and causes, each where a reader looks."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from afpscope import Run
from conftest import Done
from sweeping import NS_PER_S, Made, document

Execute = Callable[..., Done]
PACKETS = {"rx_data_sent": 4321, "rx_resent": 87, "rx_drops": 3, "rx_buffer": 65536}
UNITS = {key: "B" if key == "rx_buffer" else "1" for key in PACKETS}
POINTS = [[0, 0, 0], [NS_PER_S // 10, 60000, 20], [NS_PER_S // 5, 0, 55]]


def with_packets(phase: dict[str, Any], title: str) -> dict[str, Any]:
    phase |= {"title": title, "probe": None}
    phase["metrics"] |= PACKETS | {"bytes": 20_000_000, "elapsed": 2 * NS_PER_S}
    way = {"datagrams": 1234, "bytes": 4096, "again": 5, "types": {"DATA": 1200, "ACK": 34}}
    phase["ledger"] |= {"packets_in": way, "packets_out": way | {"datagrams": 777}}
    return phase


def rx_run(folder: Path, **more: Any) -> Path:
    """Two tests on a server of which one socket is known, and what is wrong with it."""
    value = document(Made(clients=30, rate=100.0, p50_ms=10, p99_ms=500), "rx")
    first = with_packets(value["phases"][0], "recv")
    second = json.loads(json.dumps(first)) | {"title": "send", "test": 2}
    second["start_ns"] = first["start_ns"] + 3 * NS_PER_S
    cause = {"key": "socket-buffer", "text": "no room in the socket", "todo": "a larger buffer"}
    value |= {"command": "rx", "kind": "rx", "phases": [first, second], "findings": []}
    value["sockets"] = [
        {"pid": 7, "port": 7009, "buffer": 131072, "queue_max": 60000, "drops": 55}
        | {"drops_seen": 55, "points": POINTS}
    ]
    value["diagnosis"] = {"findings": [cause | {"disproof": "drops do not grow"}]}
    value["metrics"] += [
        {"key": key, "unit": unit, "meaning": "", "better": None, "title": None}
        for key, unit in UNITS.items()
    ]
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps(value | more))
    return folder


def page(execute: Execute, tmp_path: Path, run: Path, *more: str | Path) -> str:
    out = tmp_path / "page.html"
    done = execute("report", run, "-o", out, *more)
    assert done.code in (0, 4), done.err
    assert out.stat().st_size <= 300_000
    return out.read_text()


def section(text: str, key: str) -> str:
    found = re.search(rf'<h2 id="r1-{key}">.*?(?=<h2|</body>)', text, re.S)
    assert found, key
    return found[0]


def cells(row: str) -> list[str]:
    return [re.sub(r"<[^>]+>", "", c) for c in re.findall(r"<t[dh][^>]*>.*?</t[dh]>", row, re.S)]


def rows(part: str) -> list[list[str]]:
    return [cells(row) for row in re.findall(r"<tr>.*?</tr>", part, re.S)]


@pytest.mark.painted
def test_each_test_has_its_row_and_all_are_drawn_together(execute: Execute, tmp_path: Path) -> None:
    text = page(execute, tmp_path, rx_run(tmp_path / "r"), "--figures", tmp_path / "f")
    with (tmp_path / "f" / "load-table.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [row["action"] for row in table] == ["recv", "send"]
    assert section(text, "rx_calls").count("<figure>") == 1
    assert "recv: 30 clients made 1,000 calls, 100 a second and 10 MB/s both ways" in text
    # Of 99 of 100 no more can be said than of the longest.
    assert all(row["p99_ns"] == row["max_ns"] == "500000000" for row in table)
    assert "saving a file" not in text and "by AFP command" not in text
    assert "Clients and their sessions" not in text


def test_packets_and_sockets_are_those_of_the_run(execute: Execute, tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    text = page(execute, tmp_path, rx_run(tmp_path / "r"), "--figures", folder)
    found = {row[0]: row[1:] for row in rows(section(text, "rx_packets"))}
    assert found["DATA sent"] == ["4,321"] * 2
    assert found["of these, sent again"] == ["87"] * 2
    assert found["socket buffer, as granted"] == ["64.0 KiB"] * 2
    assert found["BUSY received"] == ["n/a"] * 2  # the run does not say
    served = {row[0]: row[1:] for row in rows(section(text, "rx_served"))}
    assert served["recv, read"] == ["1,234", "4.0 KiB", "5", "1,200 DATA, 34 ACK"]
    assert served["send, sent"][0] == "777"
    part = section(text, "rx_sockets")
    assert rows(part)[1] == ["7009", "64.0 KiB", "58.6 KiB", "55", "55"]
    assert part.count("<figure>") == 1
    with (folder / "rx-socket-7009.csv").open(newline="") as file:
        assert [[int(v) for v in row.values()] for row in csv.DictReader(file)] == POINTS


@pytest.mark.parametrize(("seen", "alarms"), [(55, 1), (54, 2), (None, 1)])
def test_counts_of_drops_that_differ_stand_out(
    execute: Execute, tmp_path: Path, seen: int | None, alarms: int
) -> None:
    run = rx_run(tmp_path / "r")
    value = json.loads((run / "run.json").read_text())
    value["sockets"][0]["drops_seen"] = seen
    (run / "run.json").write_text(json.dumps(value))
    part = section(page(execute, tmp_path, run), "rx_sockets")
    assert part.count('class="alarm"') == alarms
    assert rows(part)[1][4] == ("n/a" if seen is None else str(seen))


def test_the_causes_are_on_the_page_with_what_to_try(execute: Execute, tmp_path: Path) -> None:
    run = rx_run(tmp_path / "r")
    first = Run.open(run).diagnosed
    assert first and (first.key, first.text) == ("socket-buffer", "no room in the socket")
    text = page(execute, tmp_path, run)
    body = text[text.index('<div class="verdict') : text.index("<nav")]
    assert "Try: a larger buffer." in body and "This is wrong if drops do not grow." in body


def test_what_a_run_does_not_know_has_no_section(execute: Execute, tmp_path: Path) -> None:
    """As of a server on another host."""
    text = page(execute, tmp_path, rx_run(tmp_path / "r", sockets=[], diagnosis=None))
    assert 'id="r1-rx_sockets"' not in text and 'id="r1-causes"' not in text
    assert 'id="r1-rx_packets"' in text


def test_the_summary_begins_with_the_cause(execute: Execute, tmp_path: Path) -> None:
    text = page(execute, tmp_path, rx_run(tmp_path / "r"))
    assert text.index('<p class="cause">No room in the socket.</p>') < text.index(
        "recv: 30 clients made"
    )


def changed(folder: Path, **load: int) -> Path:
    """The first test has these numbers."""
    run = rx_run(folder)
    value = json.loads((run / "run.json").read_text())
    value["phases"][0]["load"] |= load
    (run / "run.json").write_text(json.dumps(value))
    return run


def test_clients_that_begin_together_are_no_limit(execute: Execute, tmp_path: Path) -> None:
    """Many of their first calls begin late. Without a CPU left they are one."""
    text = page(execute, tmp_path, changed(tmp_path / "late", late=900))
    assert "no time left" not in text
    busy = changed(tmp_path / "busy", cpu_max_ns=1000 * NS_PER_S)
    assert page(execute, tmp_path, busy).count("itself had no time left") == 1


def test_failed_calls_have_no_time(execute: Execute, tmp_path: Path) -> None:
    run = changed(tmp_path / "r", lost=2)
    value = json.loads((run / "run.json").read_text())
    for action in value["phases"][0]["load"]["actions"]:
        action["failed"] = action["n"]
        none = dict.fromkeys(action["planned"]) | {"n": 0, "sum_ns": 0}
        action["planned"] = action["begun"] = none | {"histogram": {"bits": 6, "buckets": []}}
    (run / "run.json").write_text(json.dumps(value))
    text = page(execute, tmp_path, run)
    assert "recv: 1,000 of 1,000 calls failed" in text
    assert "recv: 2 of 30 clients got no answer any more" in text
    assert "recv: 30 clients made" not in text and "send: 30 clients made" in text
