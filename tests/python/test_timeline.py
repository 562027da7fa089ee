# SPDX-License-Identifier: GPL-2.0-or-later
"""The slowest requests of a trace are drawn with what was done for them, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tracegen
from afpscope.page.timeline import REQUESTS, WIDTH, Timeline, timelines
from afpscope.saved.trace import Trace
from afpscope.words import Words
from conftest import Done, Shelf

NS = 90_000_000  # of the slowest request
AFPD, CNID_DBD = 0, 1
BLOCKED, STOPPED = 1, 3
READ, DATA_FILE = 0, 4
SLOW = {"session": 9, "dsi_id": 7, "command": 8}


def change(rows: Any, place: int, **fields: int) -> None:
    for name, value in fields.items():
        rows[name][place] = value


def write(folder: Path) -> None:
    """300 requests of 1 µs; one of 90 ms, which cnid_dbd, stopped meanwhile, held up."""
    made = tracegen.write(folder)
    for rows in made.values():
        rows["timestamp"] = 10**9 + np.arange(len(rows), dtype=np.uint64) * 1000
        if "dsi_id" in rows.dtype.names:
            rows["dsi_id"] = 1
    requests, calls, waits, client = (made[n] for n in ("requests", "calls", "waits", "client"))
    requests["time_ns"], requests["t"] = 1000, requests["timestamp"] - np.uint64(1000)
    begin = int(requests["timestamp"][5]) - NS
    change(requests, 5, **SLOW, t=begin, time_ns=NS, port=5)
    own = {**SLOW, "role": AFPD, "class": READ, "object": DATA_FILE}
    change(calls, 3, **own, t=begin + NS // 9, time_ns=NS // 9 * 7)
    change(waits, 3, **own, kind=BLOCKED, t=begin + NS // 9, ns=NS // 9 * 7)
    # The backend is a process of its own; of another session the same numbers are another request.
    asked = {**own, "session": 77, "role": CNID_DBD}
    change(waits, 4, **asked, kind=STOPPED, t=begin + NS // 3, ns=NS // 3)
    change(waits, 6, **{**own, "session": 78}, kind=BLOCKED, t=begin, ns=NS)
    change(client, 0, port=5, dsi_id=7, t=begin - NS // 9, last_ns=NS // 9 * 10)
    for name, rows in made.items():
        (folder / name).write_bytes(tracegen.packets(name, rows, 4096, True))


@pytest.fixture
def slow(tmp_path: Path) -> list[Timeline]:
    write(tmp_path / "trace")
    return timelines(Trace.open(tmp_path / "trace"), Words("en"))


def test_the_slowest_comes_first(slow: list[Timeline]) -> None:
    assert len(slow) == REQUESTS
    assert slow[0].title.startswith("FPDelete: 90.0") and all(
        "1.00" in one.title for one in slow[1:]
    )


def test_each_lane_has_what_was_done_and_where(slow: list[Timeline]) -> None:
    """The whole is ten ninths of the request: the client had sent it before."""
    lanes = {lane.who: lane.pieces for lane in slow[0].lanes}
    assert list(lanes) == ["client", "server", "helper"]
    (sent,) = lanes["client"]
    assert (sent.x, sent.width) == (0, WIDTH)
    own, call, wait = lanes["server"]
    assert (own.colour, call.colour, wait.colour) == ("user", "calls", "disk")
    assert own.x == pytest.approx(WIDTH / 10, abs=0.1)
    assert (wait.x, wait.width) == pytest.approx((WIDTH / 5, WIDTH * 7 / 10), abs=0.1)
    (stopped,) = lanes["helper"]
    assert stopped.colour == "stopped" and stopped.at_ns == NS // 9 + NS // 3
    assert [who for who, _ in slow[0].longest] == ["client", "server", "server", "helper"]


def test_it_is_on_the_page(shelf: Shelf, tmp_path: Path, execute: Callable[..., Done]) -> None:
    folder = shelf.put("a")
    write(folder / "trace")
    execute("report", folder, "-o", tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    section = text[text.index('id="r1-slow"') :].split("<h2")[0]
    assert section.count("<figcaption>") == REQUESTS and "k-stopped" in section
    assert "asleep in read · data file" in section
