# SPDX-License-Identifier: GPL-2.0-or-later
"""A load beside a recording of its server: each client's connection is found in it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
from afpscope.page import joined
from afpscope.saved.run import Run
from conftest import DATA, Done, Shelf
from sweeping import Made, load

RECORD = json.loads(gzip.decompress((DATA / "record.json.gz").read_bytes()))
ADDRESSES = [s["address"] for s in RECORD["sessions"] if s["address"]]
UNKNOWN = "192.0.2.1:1"


def client(address: str | None, actions: int = 10, sum_ns: int = 1000, failed: int = 0) -> dict:
    return {
        "actions": actions,
        "failed": failed,
        "bytes": 0,
        "last_ns": 5,
        "sum_ns": sum_ns,
        "max_ns": 700,
        "lost": False,
        "address": address,
    }


def as_load(*clients: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    """A run of load with these clients, which watched nothing."""

    def change(value: dict[str, Any]) -> None:
        value["command"] = "load"
        value["sessions"] = []
        value["phases"][0]["load"] = load(Made()) | {"each_client": list(clients)}

    return change


def runs(shelf: Shelf, *clients: dict[str, Any]) -> list[Run]:
    load = shelf.put("load", change=as_load(*clients))
    return [Run.open(load), Run.open(shelf.put("server", "record"))]


def test_clients_are_found_by_their_connection(shelf: Shelf) -> None:
    load, record = runs(
        shelf, client(ADDRESSES[0], sum_ns=5000), client(UNKNOWN), client(None, actions=0)
    )
    both = joined.join(load, [load, record])
    assert both
    assert (both.record, both.found) == ("server", 1)
    slow, unknown, none = both.clients
    assert slow.session
    assert slow.session.address == ADDRESSES[0]
    assert slow.mean_ns == 500
    assert slow.busy_each_ns == slow.session.busy_ns / slow.session.requests
    assert (unknown.address, unknown.session, unknown.mean_ns) == (UNKNOWN, None, 100)
    assert (none.number, none.mean_ns, none.session) == (2, None, None)


def test_what_failed_took_no_time(shelf: Shelf) -> None:
    load, record = runs(shelf, client(ADDRESSES[0], actions=10, failed=8, sum_ns=1000))
    both = joined.join(load, [record])
    assert both and both.clients[0].mean_ns == 500


@pytest.mark.parametrize("which", ["alone", "record", "old"])
def test_without_the_other_there_is_nothing(shelf: Shelf, which: str) -> None:
    load, record = runs(shelf, client(ADDRESSES[0]))
    old = Run.open(shelf.put("old"))
    run, beside = {"alone": (load, []), "record": (record, [record]), "old": (old, [record])}[which]
    assert joined.join(run, beside) is None


def test_of_a_port_used_twice_the_busier_session_counts(shelf: Shelf) -> None:
    def twice(value: dict[str, Any]) -> None:
        (first, *_) = [s for s in value["sessions"] if s["address"] == ADDRESSES[0]]
        value["sessions"] += [first | {"requests": first["requests"] + 5}, first | {"requests": 0}]

    load = Run.open(shelf.put("load", change=as_load(client(ADDRESSES[0]))))
    record = Run.open(shelf.put("server", "record", twice))
    both = joined.join(load, [record])
    assert both and both.clients[0].session
    assert both.clients[0].session.requests == max(s.requests for s in record.sessions
        if s.address == ADDRESSES[0])  # fmt: skip


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_page_has_a_row_for_each(
    shelf: Shelf, execute: Callable[..., Done], language: str
) -> None:
    load, record = runs(shelf, client(ADDRESSES[0]), client(UNKNOWN))
    assert load.folder and record.folder
    page = shelf.base / "page.html"
    args = ("report", load.folder, record.folder, "-o", page, "--lang", language)
    assert execute(*args).code == 0
    text = page.read_text()
    assert text.count('id="r1-joined"') == 1
    assert 'id="r2-joined"' not in text
    (section,) = [part for part in text.split("<h2 ") if part.startswith('id="r1-joined"')]
    assert section.count("<tr>") == 3
    assert UNKNOWN in section and ADDRESSES[0] in section
    assert "n/a" in section
