# SPDX-License-Identifier: GPL-2.0-or-later
"""Sweeps of rx: arguments of clients and server, the knee of a server's setting, the tests' ratio.

Tests calls.py, served.py, swept.py. With real programs: tests/integration/rx/test_sweep_rx.py.
"""

from __future__ import annotations

import json
import random
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from afpscope import Failure
from afpscope.limit import calls, outcome
from afpscope.measure import served, swept
from afpscope.saved import steps
from conftest import Done
from sweeping import MS, Made, document, load, sweep

BUFFERS = ("64K", "1M", "16M")


@pytest.mark.parametrize(
    ("client", "server", "option", "at"),
    [
        (["-n", "1,30", "rx://h"], None, "clients", ["-n30", "rx://h"]),
        (["-b1K,64K", "rx://h"], None, "bytes", ["-b64K", "rx://h"]),
        (["-T", "5"], ["--buffer", "64K,1M"], "serve.buffer", ["--buffer", "1M"]),
        (["-T", "5"], ["-S4,64", "-u", "64"], "serve.threads", ["-S64", "-u", "64"]),
        (["-n=1", "-f", "10,0,20"], ["--window=2,8"], "serve.window", ["--window=8"]),
    ],
)
def test_either_side_has_the_list(
    client: list[str], server: list[str] | None, option: str, at: list[str]
) -> None:
    line = swept.parse("rx", client, server, None)
    assert line.option == option
    last = line.values[-1]
    words = line.server.at(last) if line.server else line.client.at(last)
    assert words in (at, [w for x in at for w in ([x[:2], x[2:]] if x[:2] == "-n" else [x])])
    if line.server:
        assert line.client.at(last) == client


@pytest.mark.parametrize(
    ("client", "server", "values", "says"),
    [
        (["-n", "1,2"], ["--buffer", "1M,2M"], None, "-n, --buffer"),
        (["-n", "1"], ["--buffer", "1M"], None, "none has"),
        (["-n", "1,2"], None, "1,2", "-n, --values"),
        (["-f", "10,0,20"], None, None, "none has"),
        (["-n", "1"], None, "1,1", "twice"),
    ],
)
def test_one_list_is_needed(
    client: list[str], server: list[str] | None, values: str | None, says: str
) -> None:
    with pytest.raises(Failure) as failed:
        swept.parse("rx", client, server, values)
    assert failed.value.code == 2 and says in str(failed.value)


def of_rx(folder: Path, points: Sequence[tuple[str, Made]], **more: Any) -> steps.Sweep:
    """A sweep whose runs have a server's socket, and two tests; what went wrong below 16M."""
    made = sweep(folder, points, command="rx", **more)
    for step in made.steps:
        file = folder / step.folder / "run.json"
        run = json.loads(file.read_text())
        run["command"] = "rx"
        good = step.value == "16M"
        run["sockets"] = [
            {"port": 7009, "buffer": 2 * int(step.size), "drops": 0 if good else 100, "points": []}
        ]
        found = {"key": "socket-buffer", "text": "the socket had no room"}
        run["diagnosis"] = {"findings": [] if good else [found]}
        first = run["phases"][0]
        first["title"] = "recv"
        first["metrics"] |= {"bytes": 20_000_000, "elapsed": 2_000_000_000}
        run["phases"].append(json.loads(json.dumps(first)) | {"title": "send", "test": 2})
        file.write_text(json.dumps(run))
    return steps.open_sweep(folder)


def slow(value: str, rate: float, ms: float) -> tuple[str, Made]:
    return value, Made(30, rate=rate, p50_ms=ms, p99_ms=ms)


def test_a_larger_buffer_keeps_a_limit(tmp_path: Path) -> None:
    points = [slow("64K", 50, 900), slow("1M", 400, 300), slow("16M", 3000, 10)]
    made = of_rx(tmp_path / "s", points, option="serve.buffer", slo="p99=100ms")
    found = outcome.of(made)
    assert (found.knee.at, found.knee.low, found.knee.high) == ("16M", "16M", "1M")
    assert "p99=100ms is kept up to serve.buffer 16M" in found.knee.text
    assert found.limit and found.limit.kind == "socket-buffer"
    assert [row.value for row in found.rows] == list(BUFFERS)
    assert [row.drops for row in found.rows] == [100, 100, 0]
    assert [row.buffer for row in found.rows] == [65536, 1 << 20, 16 << 20]
    assert {row.mb_s for row in found.rows} == {10.0}
    lines = outcome.screen(found).splitlines()
    assert max(map(len, lines)) <= 100 and len(lines) < 40
    assert any("recv" in text and "90" in text for text in lines)


def test_without_a_limit_the_rate_grows_with_the_buffer(tmp_path: Path) -> None:
    points = [slow("64K", 50, 900), slow("1M", 2950, 20), slow("16M", 3000, 10)]
    found = outcome.of(of_rx(tmp_path / "s", points, option="serve.buffer"))
    assert found.knee.rule == "growth" and found.knee.at == "1M"
    assert found.limit and found.limit.text == "the socket had no room"


def test_the_ratio_of_the_tests_has_an_interval(tmp_path: Path) -> None:
    points = [slow("64K", 50, ms) for ms in (80, 95, 105, 120)]
    points += [slow("16M", 3000, ms) for ms in (9, 9.5, 10.5, 11)]
    found = calls.tests(of_rx(tmp_path / "s", points, option="serve.buffer"))
    assert [test.name for test in found] == ["recv", "send"]
    recv = found[0]
    assert [(at.value, at.n, at.drops) for at in recv.at] == [("64K", 4, 100), ("16M", 4, 0)]
    assert recv.at[0].mean_ns == pytest.approx(100 * MS, rel=0.02)
    assert recv.ratio == pytest.approx(10, rel=0.02)
    assert recv.within and 7 < recv.within[0] < 10 < recv.within[1] < 14
    few = of_rx(tmp_path / "t", [*points[:3], *points[5:]], option="serve.buffer")
    assert calls.tests(few)[0].ratio and calls.tests(few)[0].within is None
    assert "needs 4 steps of both values: --repeat 4" in outcome.screen(outcome.of(few))


def test_the_interval_of_a_ratio_has_it_as_often_as_it_says() -> None:
    rng = random.Random(7)
    for n in (4, 6):
        found = []
        for _ in range(300):
            first, last = ([rng.lognormvariate(0, 0.3) for _ in range(n)] for _ in "ab")
            _, within = calls.ratio([5 * ns for ns in first], last)
            found.append(within is not None and within[0] <= 5 <= within[1])
        # The draws are always the same; at 95 % fewer than 93 % of 300 would be rare.
        assert sum(found) >= 0.93 * len(found), n


def test_a_sweep_of_load_has_no_tests(tmp_path: Path) -> None:
    made = sweep(tmp_path / "s", [("1", Made(1)), ("2", Made(2))])
    assert calls.tests(made) == [] and made.command == "load"
    assert document(Made(1), "x")["command"] == "load"


def test_a_server_that_does_not_begin_is_a_failure(tmp_path: Path) -> None:
    program = tmp_path / "afpscope"
    program.write_text('#!/bin/sh\necho "afpscope: --buffer: what is that?" >&2\nexit 2\n')
    program.chmod(0o755)
    with (
        pytest.raises(Failure, match="what is that"),
        served.served(str(program), ["--buffer", "x"], tmp_path / "log", tmp_path / "saved"),
    ):
        pass


def test_a_server_is_asked_for_its_version() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]

        def answer() -> None:
            question, client = server.recvfrom(2048)
            assert question[20:22] == b"\x0d\x05"
            server.sendto(question[:21] + b"\0" + question[22:28] + bytes(65), client)

        thread = threading.Thread(target=answer)
        thread.start()
        assert served.answers("127.0.0.1", port, 10)
        thread.join()
    assert not served.answers("127.0.0.1", port, 0.2)


def test_two_sweeps_are_compared_test_by_test(tmp_path: Path, execute: Callable[..., Done]) -> None:
    """B sends twice as fast, and receives as A does."""
    points = [slow(value, 100, ms) for value, ms in (("64K", 100), ("16M", 10))]
    names = []
    for i, name in enumerate("ab"):
        made = of_rx(tmp_path / name, points, option="serve.buffer", hour=i)
        names.append(made.folder)
        for step in made.steps:
            file = made.folder / step.folder / "run.json"
            run = json.loads(file.read_text())
            run["phases"][1]["load"] = load(Made(rate=100 * (i + 1), p50_ms=5, p99_ms=5))
            file.write_text(json.dumps(run))
    done = execute("compare", *names, "--json")
    assert done.code in (0, 4), done.err
    rows = json.loads(done.out)["rows"]
    found = {r["test"]: r["result"]["change"] for r in rows if r["command"] == ""}
    assert found == {
        "recv, serve.buffer 64K": pytest.approx(0),
        "recv, serve.buffer 16M": pytest.approx(0),
        "send, serve.buffer 64K": pytest.approx(1),
        "send, serve.buffer 16M": pytest.approx(1),
    }
