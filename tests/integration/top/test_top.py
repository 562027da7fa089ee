# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope top in lines and in JSON: what it shows is what clients sent.

The judge is tshark. Tests user/top/top.c, top_watch.c, user/attach/attach.c, user/top/opinion.c.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import struct
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from afpclient import AfpClient, Busy
from netatalk import Server
from offline import preload
from recording import (
    CLOSE_FORK,
    CREATE_FILE,
    DELETE,
    HOSTILE,
    OPEN_FORK,
    STAT,
    RawClient,
    ask_for,
    gone,
)
from scope import (
    FAILED,
    NO_SESSION,
    OK,
    UNTRUSTED,
    USAGE,
    WITHOUT_BPF,
    Done,
    PinnedServer,
    Running,
    Scope,
    both_cpus,
    kill,
    processes_of,
    wait_until,
)
from wire import answers_of, bytes_of, captured

COLUMNS, LINES = 100, 40
VIEWS = ("command", "user", "client", "volume", "session", "file")
NAMES = {
    STAT: "FPGetFileDirParms",
    CREATE_FILE: "FPCreateFile",
    OPEN_FORK: "FPOpenFork",
    CLOSE_FORK: "FPCloseFork",
    DELETE: "FPDelete",
}
SUMS = ("requests", "errors", "bytes_in", "bytes_out")
FILES = 5
SENT = 60_000  # more than there is room for records

Event = dict[str, Any]


def watch(scope: Scope, server: Server, *args: str) -> Running:
    (running,) = watch_all(scope, server, [args])
    return running


def watch_all(scope: Scope, server: Server, args: Iterable[Sequence[str]]) -> list[Running]:
    command = [str(scope.binary), "top", "--port", str(server.port)]
    found = [scope.start([*command, *each]) for each in args]
    for running in found:
        running.wait_for(": watching process ")
    return found


def ended(running: Running, status: int = OK) -> Done:
    running.signal(signal.SIGINT)
    return running.finish().expect(status)


def steps(done: Done) -> list[Event]:
    found: list[Event] = [json.loads(line) for line in done.out.splitlines()]
    assert [e["event"] for e in found] == ["step"] * (len(found) - 1) + ["end"]
    assert found[-1]["requests"] == sum(e["requests"] for e in found[:-1])
    return found[:-1]


def rows(found: list[Event]) -> dict[str, Counter[str]]:
    """By name, over all steps."""
    out: dict[str, Counter[str]] = {}
    for step in found:
        for row in step["rows"]:
            out.setdefault(row["name"], Counter()).update({k: row[k] for k in SUMS})
    return out


def total(found: dict[str, Counter[str]]) -> Counter[str]:
    return sum(found.values(), Counter())


def open_missing(client: RawClient) -> None:
    head = struct.pack(">BBHIHH", OPEN_FORK, 0, client._volume, 2, 0, 3)
    client.send(client.frame(head + client.path("missing")))
    assert client.replies(1) != [0]


def work(first: RawClient, second: RawClient) -> None:
    for _ in range(200):
        first.stat_root()
    for number in range(FILES):
        name = f"file {number}"
        first.create(name)
        first.close_fork(first.open(name))
        first.delete(name)
    open_missing(first)
    for _ in range(100):
        second.stat_root()


def test_rows_of_all_views_are_what_was_sent(scope: Scope, guests: Server) -> None:
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(contextlib.closing(RawClient(guests.port)))
        second = stack.enter_context(
            contextlib.closing(RawClient(guests.port, user="bench2", volume="vol2"))
        )
        args = ("--json", "-d", "0.5", "--names", "--by")
        started = watch_all(scope, guests, [(*args, by) for by in VIEWS])
        with captured(guests.port) as capture:
            work(first, second)
            answers = answers_of(guests, capture)
            sizes = bytes_of(guests, capture)
        ports = first.local_port(), second.local_port()
        found = {by: steps(ended(top)) for by, top in zip(VIEWS, started, strict=True)}
    view = {by: rows(found[by]) for by in VIEWS}
    sent = Counter(NAMES[a.command] for a in answers)
    failed = Counter(NAMES[a.command] for a in answers if a.failed)
    of = Counter(a.port for a in answers)
    assert sent["FPGetFileDirParms"] == 300 and failed == {"FPOpenFork": 1}
    for by in VIEWS:
        sums = total(view[by])
        assert sums["requests"] == sum(sent.values()), by
        assert sums["errors"] == 1, by
        assert sums["bytes_in"] == sum(sizes[p][0] for p in ports), by
        assert sums["bytes_out"] == sum(sizes[p][1] for p in ports), by
        assert all(s["lost"] == 0 and s["not_told_apart"] is None for s in found[by])
    assert {n: c["requests"] for n, c in view["command"].items() if c["requests"]} == dict(sent)
    assert {n: c["errors"] for n, c in view["command"].items() if c["errors"]} == dict(failed)
    assert set(view["user"]) == {"bench1", "bench2"} and set(view["client"]) == {"127.0.0.1"}
    for port, user, volume in zip(ports, ("bench1", "bench2"), ("vol1", "vol2"), strict=True):
        (session,) = (c for n, c in view["session"].items() if f":{port} " in n)
        (where,) = (c for n, c in view["volume"].items() if n.endswith(volume))
        assert session == view["user"][user] == where
        assert session["requests"] == of[port]
        assert (session["bytes_in"], session["bytes_out"]) == sizes[port]
    for number in range(FILES):  # created, opened, closed, deleted
        assert view["file"][f"file {number}"]["requests"] == 4
    assert view["file"]["missing"]["errors"] == 1


@pytest.fixture(scope="module")
def slowed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server on which it is slow to open certain files (tests/server/onopen.c)."""
    library = preload(tmp_path_factory.mktemp("onopen"))
    with PinnedServer("forky", "dbd", both_cpus()[0], AFPD_PRELOAD=library) as server:
        yield server
        gone(server)


def test_quantiles_and_parts_of_known_times(scope: Scope, slowed: Server) -> None:
    with contextlib.closing(RawClient(slowed.port)) as client, captured(slowed.port) as capture:
        for name in ("slow-sleep-100", "slow-sleep-400"):
            client.create(name)
        running = watch(scope, slowed, "--json", "-d", "60")
        for name in ["slow-sleep-100"] * 6 + ["slow-sleep-400"]:
            client.close_fork(client.open(name))
        judged = sorted(a.seconds for a in answers_of(slowed, capture) if a.command == OPEN_FORK)
        (step,) = steps(ended(running))
    (opened,) = (r for r in step["rows"] if r["name"] == "FPOpenFork")
    assert len(judged) == 7 and opened["requests"] == 7
    for key, seconds in (("p50_ns", judged[3]), ("p99_ns", judged[6])):
        # On the wire it also waits until the server reads it.
        ours = opened[key] / 1e9
        assert ours * 16 / 17 <= seconds + 0.001 and seconds <= ours * 17 / 16 + 0.1
    assert max(opened["parts_ns"], key=opened["parts_ns"].get) == "other"
    assert opened["parts_ns"]["other"] >= 1e9
    assert sum(opened["parts_ns"].values()) == pytest.approx(opened["time_ns"], rel=0.01)


def test_a_request_without_an_answer_is_shown(scope: Scope, slowed: Server) -> None:
    with contextlib.closing(RawClient(slowed.port)) as client:
        client.create("slow-sleep-3000")
        running = watch(scope, slowed, "--json", "-d", "0.3", "--by", "user")
        head = struct.pack(">BBHIHH", OPEN_FORK, 0, client._volume, 2, 0, 3)
        client.send(client.frame(head + client.path("slow-sleep-3000")))
        wait_until(lambda: len(held(running)) >= 3, 10, "steps with it")
        seen = held(running)
        client.replies(1)
        found = steps(ended(running))
    ages = [row["oldest_ns"] for row in seen]
    assert ages == sorted(ages) and ages[-1] - ages[0] > 0.2e9
    assert all(r["in_service"] == 1 and r["name"] == "bench1" for r in seen)
    assert total(rows(found))["requests"] == 1


def held(running: Running) -> list[Event]:
    lines = (running.folder / "out").read_text().split("\n")[:-1]
    return [r for line in lines for r in json.loads(line).get("rows", []) if r["in_service"]]


def blocks(done: Done) -> list[list[str]]:
    found = [block.splitlines() for block in done.out.split("\n\n")[:-1]]
    for block in found:
        assert len(block) < LINES and all(len(line) <= COLUMNS for line in block)
    return found


def test_lines_of_each_step(scope: Scope, guests: Server, pair: dict[int, Busy]) -> None:
    args = ("-b", "-d", "0.5", "--by", "session")
    running, costly, empty = watch_all(
        scope,
        guests,
        [
            (*args, "-n", "12", "--sort", "name"),
            (*args, "--max-cpu=0.001%"),
            (*args, "-n", "1", "--filter", "nobody has this name"),
        ],
    )
    done = running.finish().expect(OK, " s watched: ", " 0 lost")
    costly.finish(20).expect(OK, "more than --max-cpu=0.001%, so the watch was ended")
    assert len(blocks(empty.finish().expect(OK))[0]) == 7
    found = blocks(done)
    assert len(found) == 12
    for block in found:
        assert re.match(rf"afpd, process \d+, port {guests.port}: 2 of 2 sessions", block[0])
        assert re.match(r"[\d,.]+ requests/s  mean [\d.]+[um]s  ", block[1])
        assert " mean " in block[6] and "p99" not in block[6]  # of several commands together
        assert block[6].startswith("SESSION* ")
        assert [line.split()[0] for line in block[7:]] == ["bench1", "bench1"]
        assert all(f"({pid})" in block[7] + block[8] for pid in pair)
    # Of the first five seconds.
    assert found[0][5] == "Doctor: in a few seconds"
    assert re.match(r"Doctor: \w+ .*\d", found[-1][5])


@pytest.mark.parametrize("columns", ["60", "180", "wide"])
def test_lines_are_as_wide_as_columns_says(scope: Scope, guests: Server, columns: str) -> None:
    command = [str(scope.binary), "top", "--port", str(guests.port), "-b", "-n", "1", "-d", "0.1"]
    running = scope.start(command, env=os.environ | {"COLUMNS": columns})
    longest = max(map(len, running.finish().expect(OK).out.splitlines()))
    assert longest == (COLUMNS if columns == "wide" else int(columns))


def test_hostile_names_reach_no_pipe(scope: Scope, guests: Server) -> None:
    args = ("-d", "60", "--by", "file", "--names")
    tops = watch_all(scope, guests, [args, (*args, "--json")])
    with contextlib.closing(RawClient(guests.port)) as client:
        ask_for(client, HOSTILE)
        ask_for(client, b"\x1b]0;x\x07" * 36)
    for running in tops:
        raw = ended(running).out.encode()
        assert all(byte >= 32 or byte == 10 for byte in raw)
        assert b"\x7f" not in raw and b"\xc2\x9b" not in raw
        if raw.startswith(b"{"):
            names = [r["name"] for r in json.loads(raw.splitlines()[0])["rows"]]
            assert any(name.startswith("a\x1b[2J\n\r\t\x7f\x9b") for name in names)
        else:
            assert all(len(line) <= COLUMNS for line in raw.decode().splitlines())
            assert "\na?[2J???" in raw.decode() and "\n?]0;x??]0;x?" in raw.decode()


def test_what_is_lost_is_a_number_and_the_exit_code(scope: Scope, guests: Server) -> None:
    with contextlib.closing(RawClient(guests.port)) as client:
        running = watch(scope, guests, "--by", "file", "--json", "-d", "0.5")
        head = struct.pack(">BBHIHHBI", STAT, 0, client._volume, 2, 0, 0x0142, 3, 0x08000103)
        frame = client.frame(head + struct.pack(">H", 255) + b"x" * 255)
        running.signal(signal.SIGSTOP)
        for _ in range(SENT // 50):
            client.send(frame * 50)
            client.replies(50)
        running.signal(signal.SIGCONT)
        found = steps(ended(running, UNTRUSTED))
    assert found[-1]["lost"] > 0
    assert total(rows(found))["requests"] < SENT <= sum(s["requests"] for s in found)


def test_a_certain_process_that_dies_ends_it(scope: Scope, victim: PinnedServer) -> None:
    with contextlib.closing(AfpClient(victim.port)) as client:
        command = [str(scope.binary), "top", "--pid", str(victim.pid), "-b", "-d", "0.3"]
        running = scope.start(command)
        running.wait_for(": watching process ")
        client.stat_root()
        kill(processes_of(victim))
        done = running.finish(20)
        client.close = lambda: None  # type: ignore[method-assign]
    assert f"process {victim.pid} ended while it was watched" in done.err
    assert done.status in (OK, UNTRUSTED)


def ask(server: Server) -> None:
    with contextlib.closing(AfpClient(server.port)) as client:
        client.stat_root()
        time.sleep(0.5)


@pytest.mark.parametrize("form", ["--json", "-b"])
def test_a_server_that_dies_is_waited_for(scope: Scope, victim: PinnedServer, form: str) -> None:
    before = victim.pid
    running = watch(scope, victim, form, "-d", "0.3")
    ask(victim)
    victim.restart()
    event = '"restarted"' if form == "--json" else "server restarted at "
    wait_until(lambda: event in (running.folder / "out").read_text(), 20, "top to go on")
    ask(victim)
    done = ended(running)
    if form == "-b":
        assert re.search(r"^server ended at \d\d:\d\d:\d\d; waiting for it$", done.out, re.M)
        assert f" as process {victim.pid}\n" in done.out
        assert f"afpd, process {victim.pid}, port {victim.port}, restarted at " in done.out
        return
    events: list[Event] = [json.loads(line) for line in done.out.splitlines()]
    names = [e["event"] for e in events]
    at = names.index("ended")
    assert (events[at]["process"], events[at + 1]["process"]) == (before, victim.pid)
    assert names[at + 1] == "restarted" and events[at]["at"] < events[at + 1]["at"]
    for life in (events[:at], events[at + 2 : -1]):
        assert sum(step["requests"] for step in life) >= 5
    assert events[-1]["requests"] == sum(e.get("requests", 0) for e in events[:-1])
    assert events[-1]["lost"] == 0


def test_a_wait_for_a_server_can_be_ended(scope: Scope, victim: PinnedServer) -> None:
    running = watch(scope, victim, "-b", "-d", "0.3")
    kill(processes_of(victim))
    wait_until(lambda: "waiting for it" in (running.folder / "out").read_text(), 20, "its end")
    done = ended(running)
    assert f"process {victim.pid} ended while it was watched" in done.err


def test_a_pipe_that_closes_ends_it(scope: Scope, guests: Server, tmp_path: Path) -> None:
    line = f"{scope.binary} top -d 0.1 -p {guests.port} 2> {tmp_path / 'err'} | head -n 3"
    with contextlib.closing(AfpClient(guests.port)):
        running = scope.start(["bash", "-c", line])
        done = running.finish(20)
    assert done.out.count("\n") == 3


def test_without_bpf_it_says_so(scope: Scope, guests: Server) -> None:
    with contextlib.closing(AfpClient(guests.port)):
        done = scope.execute([*WITHOUT_BPF, str(scope.binary), "top", "-p", str(guests.port)])
    done.expect(FAILED, "/proc does not", "afpscope check")


def test_wrong_options(scope: Scope) -> None:
    """The message and the exit code of main(); all others: unit/main/test_usage.c."""
    line = [str(scope.binary), "top", "-d", "0"]
    scope.execute(line).expect(USAGE, "'0' is not in 0.1..3600")
    scope.execute([str(scope.binary), "top", "-p", "1"]).expect(NO_SESSION)
