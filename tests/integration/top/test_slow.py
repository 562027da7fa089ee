# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope slow: requests that are known to be slow, and why, are printed, and no others.

The judge is tshark, by its time from request to answer. Tests user/slow/slow.c.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from afpclient import AfpClient, Busy
from netatalk import Server
from offline import preload
from recording import CREATE_FILE, HOSTILE, OPEN_FORK, RawClient, ask_for, gone, orphans
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
    children,
    wait_until,
)
from wire import captured, times_of

NAMES = ("slow-sleep-300", "slow-spin-250", "slow-lock", "slow-fifo", "fast")
COLUMNS = 100
NO_OBJECT = -5018


@pytest.fixture(scope="module")
def _slowed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    library = preload(tmp_path_factory.mktemp("onopen"))
    with PinnedServer("forky", "dbd", both_cpus()[0], AFPD_PRELOAD=library) as server:
        os.mkfifo(server.vol1 / "fifo")
        (server.vol1 / "fifo").chmod(0o666)
        with contextlib.closing(RawClient(server.port)) as client:
            for name in NAMES:
                client.create(name)
        yield server


@pytest.fixture
def slowed(_slowed: Server) -> Iterator[Server]:
    """A server on which it is slow to open certain files (tests/server/onopen.c)."""
    gone(_slowed)
    yield _slowed
    gone(_slowed)


def watch(scope: Scope, server: Server, *args: str) -> Running:
    running = scope.start([str(scope.binary), "slow", "--port", str(server.port), *args])
    running.wait_for(": watching process ")
    return running


def ended(running: Running, status: int = OK) -> Done:
    running.signal(signal.SIGINT)
    return running.finish().expect(status)


def events(done: Done) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.out.splitlines()]


def out(running: Running) -> str:
    return (running.folder / "out").read_text()


def open_close(client: RawClient, name: str) -> None:
    client.close_fork(client.open(name))


def later(seconds: float, what: Callable[[], object]) -> None:
    threading.Timer(seconds, what).start()


def open_locked(client: RawClient, server: Server) -> None:
    with (server.vol1 / "slow-lock").open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        later(0.25, lambda: fcntl.flock(file, fcntl.LOCK_UN))
        open_close(client, "slow-lock")


def open_fifo(client: RawClient, server: Server) -> None:
    def write() -> None:
        (server.vol1 / "fifo").open("w").close()

    later(0.25, write)
    open_close(client, "slow-fifo")


def create_while_cnid_is_held(client: RawClient, server: Server) -> None:
    assert server.metad
    held = children(server.metad)
    for pid in held:
        os.kill(pid, signal.SIGSTOP)
    later(0.25, lambda: [os.kill(pid, signal.SIGCONT) for pid in held])
    client.create("new")
    client.delete("new")


@pytest.fixture
def client(slowed: Server) -> Iterator[RawClient]:
    """Logged in before anything is watched: a login computes for long."""
    with contextlib.closing(RawClient(slowed.port)) as made:
        yield made


def be_slow(client: RawClient, server: Server) -> None:
    client.open_volume("vol1")
    for _ in range(50):
        open_close(client, "fast")
    open_close(client, "slow-sleep-300")
    open_close(client, "slow-spin-250")
    open_locked(client, server)
    open_fifo(client, server)
    create_while_cnid_is_held(client, server)


EXPECTED = [
    ("FPOpenFork", "other"),
    ("FPOpenFork", "user"),
    ("FPOpenFork", "lock"),
    ("FPOpenFork", "disk"),
    ("FPCreateFile", "cnid"),
]


def reason(event: dict[str, Any]) -> str:
    """The longest part. Who computes waits for a CPU, too, where others do."""
    parts: dict[str, int] = event["parts_ns"]
    if parts.get("user", 0) + parts.get("runq", 0) > 0.9 * event["time_ns"]:
        return "user"
    return next(iter(parts))


def test_slow_requests_and_no_others_with_their_reasons(
    scope: Scope, slowed: Server, client: RawClient
) -> None:
    with captured(slowed.port) as capture:
        running = watch(scope, slowed, "--json", "--over", "150ms")
        be_slow(client, slowed)
        wait_until(lambda: out(running).count("\n") >= len(EXPECTED), 10, "the lines")
        found = events(ended(running))
        judged = [(c, s) for c, s in times_of(slowed, capture) if s >= 0.15]
    end, slow = found[-1], found[:-1]
    assert end["event"] == "end" and end["slow"] == len(slow) and not end["lost"]
    assert end["requests"] > 100
    assert [(e["command"], reason(e)) for e in slow] == EXPECTED
    for each in slow:
        command = CREATE_FILE if each["command"] == "FPCreateFile" else OPEN_FORK
        # On the wire it also waits until the server reads it, as do others on a busy machine.
        s = each["time_ns"] / 1e9
        assert any(c == command and s <= wire_s + 0.001 < s + 0.1 for c, wire_s in judged), each
        assert (each["event"], each["user"], each["volumes"]) == ("slow", "bench1", ["vol1"])
        assert each["address"].startswith("127.0.0.1:")
        assert sum(each["parts_ns"].values()) == each["time_ns"]
        assert "name" not in each and re.fullmatch(r"[0-9a-f]{16}", each["name_hash"])
    assert len({e["name_hash"] for e in slow}) == len(slow)
    assert not any(name in json.dumps(found) for name in NAMES)


def test_a_line_each_with_its_calls(scope: Scope, slowed: Server, client: RawClient) -> None:
    running = watch(scope, slowed, "-v", "--names", "-n", "2")
    client.open_volume("vol1")
    open_locked(client, slowed)
    open_close(client, "slow-sleep-300")
    open_close(client, "slow-sleep-300")
    done = running.finish().expect(OK, " s watched: ", " requests, 0 lost")
    assert "\n  2 slow (100ms or more), 0 left out\n" in done.err
    lines = [line for line in done.out.splitlines() if not line.startswith("  ")]
    assert len(lines) == 2  # as -n says
    line = r"\d\d:\d\d:\d\d\.\d{3} +\d+ms FPOpenFork +%s \d+ms.* bench1@127\.0\.0\.1 vol1 %s"
    assert re.fullmatch(line % ("lock", "slow-lock"), lines[0])
    assert re.fullmatch(line % ("other", "slow-sleep-300"), lines[1])
    assert all(len(line) <= COLUMNS for line in done.out.splitlines())
    assert re.search(r"^    \+.* \d+ms  flock: lock · data file, fd \d+ = 0$", done.out, re.M)
    assert re.search(r"^    \+.* \d+ms    blocked in lock · data file$", done.out, re.M)
    assert re.search(r"^    \+.* \d+ms  nanosleep: wait = 0$", done.out, re.M)


def test_a_request_that_is_held_is_shown_before_it_ends(
    scope: Scope, slowed: Server, client: RawClient
) -> None:
    running = watch(scope, slowed, "--names")
    client.open_volume("vol1")
    (pid,) = slowed.sessions()
    later(0.1, lambda: os.kill(pid, signal.SIGSTOP))
    held = threading.Thread(target=open_close, args=(client, "slow-sleep-300"))
    held.start()
    try:
        wait_until(lambda: "still running: stopped " in out(running), 10, "the line")
    finally:
        os.kill(pid, signal.SIGCONT)
        held.join()
    lines = ended(running).out.splitlines()
    first, last = lines[0], lines[-1]
    assert " vol1 slow-sle" in first and last.endswith(" vol1 slow-sleep-300")
    assert first.split()[0] == last.split()[0], "not the same begin"
    assert "still" in first and "still" not in last and " stopped " in last


def test_a_session_that_is_held_between_requests_is_shown(scope: Scope, slowed: Server) -> None:
    running = watch(scope, slowed)
    with contextlib.closing(RawClient(slowed.port)) as client:
        client.stat_root()
        (pid,) = slowed.sessions()
        os.kill(pid, signal.SIGSTOP)
        try:
            wait_until(lambda: "between requests" in out(running), 10, "the line")
        finally:
            os.kill(pid, signal.SIGCONT)
    assert re.search(r"still running: stopped \d", ended(running).out)


def test_a_request_from_before_has_its_user_and_is_counted_apart(
    scope: Scope, slowed: Server, client: RawClient
) -> None:
    client.open_volume("vol1")
    assert slowed.metad
    held = children(slowed.metad)
    for pid in held:
        os.kill(pid, signal.SIGSTOP)
    creator = threading.Thread(target=client.create, args=("from-before",))
    creator.start()
    try:
        time.sleep(1.1)
        done = scope.execute([str(scope.binary), "slow", "-p", str(slowed.port), "-d", "2"])
    finally:
        for pid in held:
            os.kill(pid, signal.SIGCONT)
        creator.join()
        client.delete("from-before")
    done.expect(OK)
    line = r"\d\d:\d\d:\d\d\.\d{3} +≥\S+s \(began earlier\)"
    line += r" +still running: CNID \S+s +bench1@127\.0\.0\.1"
    assert re.match(line, done.out), done.out
    assert "\n  0 slow (100ms or more), 1 more without an answer yet, 0 left out\n" in done.err


def test_what_still_runs_at_the_end_is_shown(
    scope: Scope, slowed: Server, client: RawClient
) -> None:
    """Also if it is younger than a second."""
    client.open_volume("vol1")
    (pid,) = slowed.sessions()
    running = watch(scope, slowed, "-d", "1", "--over", "300ms")
    later(0.1, lambda: os.kill(pid, signal.SIGSTOP))
    held = threading.Thread(target=open_close, args=(client, "slow-sleep-300"))
    held.start()
    try:
        done = running.finish().expect(OK)
    finally:
        os.kill(pid, signal.SIGCONT)
        held.join()
    (line,) = done.out.splitlines()
    assert "FPOpenFork" in line and "still running: stopped " in line, done.out
    assert "\n  0 slow (300ms or more), 1 more without an answer yet, 0 left out\n" in done.err


def test_where_nothing_is_slow_no_line_is_printed(
    scope: Scope, guests: Server, pair: dict[int, Busy]
) -> None:
    done = scope.execute(
        [str(scope.binary), "slow", "-p", str(guests.port), "--over", "5s", "-d", "3"]
    )
    assert done.expect(OK, " requests, 0 lost").out == ""
    assert "\n  0 slow (5.00s or more), 0 left out\n" in done.err
    seen = re.search(r"watched: ([\d,]+) requests", done.err)
    assert seen and int(seen[1].replace(",", "")) > 50


def test_lines_in_a_second_are_limited_and_the_rest_is_counted(
    scope: Scope, guests: Server, pair: dict[int, Busy]
) -> None:
    running = watch(scope, guests, "--over", "1ns", "--rate", "5", "--json", "-d", "4")
    done = running.finish().expect(OK)
    found = events(done)
    kinds = Counter(e["event"] for e in found)
    left_out = sum(e["n"] for e in found if e["event"] == "left out")
    end = found[-1]
    assert 5 <= kinds["slow"] <= 5 * 6  # of seconds by the clock
    assert end["left_out"] == left_out > 50
    assert end["slow"] == kinds["slow"] + left_out
    running = watch(scope, guests, "--over", "1ns", "--rate", "5", "-d", "3")
    done = running.finish().expect(OK)
    assert re.search(r"^\.\.\. \d+ more in this second$", done.out, re.M)


def test_what_is_lost_is_told_at_once_and_at_the_end(scope: Scope, guests: Server) -> None:
    with contextlib.closing(RawClient(guests.port)) as client:
        client.stat_root()
        running = watch(scope, guests, "--over", "1ns", "--rate", "1")
        running.signal(signal.SIGSTOP)
        for _ in range(30):
            client.send(b"".join(client.stat_frame() for _ in range(400)))
            client.replies(400)
        running.signal(signal.SIGCONT)
        running.wait_for(" records were lost: ")
    done = ended(running, UNTRUSTED)
    total = re.search(r"requests, ([\d,]+) lost", done.err)
    assert total and int(total[1].replace(",", "")) > 0
    assert "lost: records of requests: no room in the ring buffer: " in done.err


def test_hostile_names_reach_no_terminal(scope: Scope, guests: Server) -> None:
    for args in ((), ("--json",)):
        running = watch(scope, guests, "--over", "1ns", "--names", *args)
        with contextlib.closing(RawClient(guests.port)) as client:
            ask_for(client, HOSTILE)
            ask_for(client, b"\x1b]0;x\x07" * 36)
            wait_until(  # type: ignore[misc]
                lambda r=running: out(r).count("FPOpenFork") >= 2, 10, "two lines"
            )
        raw = ended(running).out.encode()
        assert all(byte >= 32 or byte == 10 for byte in raw) and b"\x7f" not in raw
        assert b"\xc2\x9b" not in raw
        lines = [line for line in raw.decode().splitlines() if "FPOpenFork" in line]
        assert len(lines) == 2
        if args:
            names = [json.loads(line)["name"] for line in lines]
            assert names[0].startswith("a\x1b[2J\n\r\t\x7f\x9b") and len(names[1]) > 200
        else:
            assert " vol1 a?[2J???" in lines[0]
            assert all(len(line) <= COLUMNS for line in lines)


def test_one_session_only(scope: Scope, guests: Server, pair: dict[int, Busy]) -> None:
    pid = next(iter(pair))
    done = scope.execute(
        [str(scope.binary), "slow", "--pid", str(pid), "--over", "1ns", "--json", "-n", "10"]
    ).expect(OK)
    found = [e for e in events(done) if e["event"] == "slow"]
    assert len(found) == 10 and {e["process"] for e in found} == {pid}


def test_a_pipe_gets_a_line_at_once_and_ends_it(
    scope: Scope, slowed: Server, client: RawClient, tmp_path: Path
) -> None:
    err = tmp_path / "err"
    err.touch()
    line = f"{scope.binary} slow -p {slowed.port} 2> {err} | head -n 1"
    running = scope.start(["bash", "-c", line])
    wait_until(lambda: "watching" in err.read_text(), 20, "slow to watch")
    open_close(client, "slow-sleep-300")
    wait_until(lambda: re.search(r" other 3\d\dms ", out(running)), 10, "the line")
    open_close(client, "slow-sleep-300")
    running.finish(10)


@pytest.mark.parametrize("form", ["", "--json"])
def test_a_server_that_is_restarted_ends_it_and_is_named(
    scope: Scope, victim: PinnedServer, form: str
) -> None:
    """The new one is not watched."""
    before = victim.pid
    running = watch(scope, victim, "-d", "60", *filter(None, [form]))
    victim.restart()
    done = running.finish(40)
    said = f"process {before} ended while it was watched, and the watch with it; it was restarted "
    assert f"{said}as process {victim.pid}\n" in done.err
    if form:
        *_, ended, restarted, end = events(done)
        assert (ended["event"], ended["process"]) == ("ended", before)
        assert (restarted["event"], restarted["process"]) == ("restarted", victim.pid)
        assert end["event"] == "end"


def test_nothing_stays_after_it_was_killed(scope: Scope, guests: Server) -> None:
    running = watch(scope, guests)
    running.process.kill()
    running.process.wait()
    wait_until(lambda: not orphans(), 10, "the programs to go", 0.2)


def test_without_bpf_it_says_so(scope: Scope, guests: Server) -> None:
    with contextlib.closing(AfpClient(guests.port)):
        done = scope.execute([*WITHOUT_BPF, str(scope.binary), "slow", "-p", str(guests.port)])
    done.expect(FAILED, "cannot watch the server (bpf)", "/proc does not", "afpscope check")


def test_wrong_options(scope: Scope) -> None:
    """The message and the exit code of main(); all others: unit/main/test_usage.c."""
    line = [str(scope.binary), "slow", "--over", "fast"]
    scope.execute(line).expect(USAGE, "'fast' is not a time such as 100ms")
    scope.execute([str(scope.binary), "slow", "-p", "1"]).expect(NO_SESSION)
