# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever kills a load, nobody is locked out afterwards and nothing is left.

Tests user/app/warden.c, client/dsi/mark.c, user/main/clean.c, client/afp/open.c.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from afpclient import AfpClient
from netatalk import Server
from scheduling import in_check
from scope import (
    INTERRUPTED,
    OK,
    PinnedServer,
    Running,
    Scope,
    both_cpus,
    kill,
    left_on,
    wait_until,
)
from wardens import (
    NAME,
    kill_with_warden,
    login_again,
    name_of,
    nothing_is_left,
    wardens,
)

MOST = 20  # "max connections"
PAUSES = ("--think", "0.02")


@pytest.fixture(params=in_check(["forky", "trixie"], ["forky"]))
def small(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server with few places."""
    limit = f"max connections = {MOST}"
    with PinnedServer(request.param, "dbd", both_cpus()[1], AFPD_GLOBAL=limit) as server:
        yield server


def start_load(scope: Scope, server: Server, clients: int, *more: str) -> Running:
    """One that holds so many places, and two for the command and its probe."""
    args = ("-n", str(clients), "--ramp", "0", "-d", "600", "--watch=off", *more)
    running = scope.start(scope.command(server, *args, tool="load"))
    wait_until(lambda: len(server.sessions()) == clients + 2, 60, "all clients")
    wait_until(lambda: bool(left_on(server)), 60, "the directory")
    time.sleep(1.5)  # in the middle of it
    return running


@pytest.mark.parametrize("mix", ["office", "batch-write", "batch-read"])
def test_a_killed_load_locks_nobody_out(scope: Scope, small: Server, mix: str) -> None:
    """All places but one are taken. batch-write: most sessions have sent a request partly."""
    running = start_load(scope, small, MOST - 3, "--mix", mix, "--file-size", "8M")
    running.signal(signal.SIGKILL)
    login_again(small)
    nothing_is_left(small)
    wait_until(lambda: "was removed" in running.err, 10, "the warden's message")


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("load", ("-n", "10", "-d", "600")),
        ("smallfile", ("-n", "10", "-f", "3000", "-l", "create,stat", "-d", "600")),
        ("lantest", ("-f", "4", "-n", "100")),
        ("speedtest", ("-f", "Write", "-d", "64K", "-n", "100000")),
    ],
)
def test_the_warden_is_not_in_the_process_group(
    scope: Scope, small: Server, tool: str, args: tuple[str, ...]
) -> None:
    """Ctrl-\\, a batch system, kill -9 -PGID."""
    command = scope.command(small, *args, "--watch=off", tool=tool)
    running = scope.start(command)
    wait_until(lambda: bool(left_on(small)), 60, "the directory")
    wait_until(lambda: len(small.sessions()) > 0, 10, "sessions")
    os.killpg(running.process.pid, signal.SIGKILL)
    login_again(small)
    nothing_is_left(small)


@pytest.mark.parametrize("tool", ["load", "smallfile"])
def test_a_killed_load_leaves_nothing_in_a_directory(
    scope: Scope, tmp_path: Path, tool: str
) -> None:
    more = ["-f", "1000", "-l", "create,stat"] if tool == "smallfile" else []
    running = scope.start([str(scope.binary), tool, "-n", "3", *more, "-d", "600", str(tmp_path)])
    wait_until(lambda: bool(list(tmp_path.glob("LanTest-*/*"))), 60, "its files")
    running.signal(signal.SIGKILL)
    wait_until(lambda: not list(tmp_path.iterdir()), 20, "the removal")


def test_the_warden_ends_with_the_command(scope: Scope, dbd: Server) -> None:
    """Also after ^C; and no signal to the warden ends it before."""
    for how in (None, signal.SIGINT):
        running = start_load(scope, dbd, 2, *PAUSES) if how else None
        if not running:
            done_in = ("-n", "2", "--ramp", "0", "-d", "2", *PAUSES, "--watch=off", "--no-save")
            running = scope.start(scope.command(dbd, *done_in, tool="load"))
            wait_until(lambda r=running: bool(wardens(r)), 10, "the warden")
        (warden,) = wardens(running)
        assert os.getsid(warden) != os.getsid(running.process.pid)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(warden, number)
        assert wardens(running) == [warden]
        if how:
            running.signal(how)
        running.finish(60).expect(INTERRUPTED if how else OK)
        assert name_of(warden) != NAME
        assert "was killed" not in running.err


@pytest.mark.parametrize("small", ["forky", "trixie"], indirect=True)
def test_clean_ends_what_the_server_keeps(scope: Scope, small: Server) -> None:
    """The warden was killed as well, as with the whole machine."""
    running = start_load(scope, small, MOST - 4, *PAUSES)
    kill_with_warden(running)
    kept = len(small.sessions())
    assert kept > MOST - 4
    check = [str(scope.binary), "check", "-p", str(small.port)]
    wait_until(
        lambda: "without a client hold places" in scope.execute(check).out, 20, "the hint of check"
    )
    assert "afpscope clean" in scope.execute(check).out
    scope.execute(scope.command(small, "--dry-run", tool="clean")).expect(OK)
    assert len(small.sessions()) >= kept
    scope.execute(scope.command(small, tool="clean")).expect(OK)
    nothing_is_left(small)
    assert "without a client" not in scope.execute(check).out
    login_again(small)


def test_clean_waits_for_sessions_that_end_later(scope: Scope, small: Server) -> None:
    """As after the network was cut: they have files open, and what they still send takes time."""
    running = start_load(scope, small, 5, "--mix", "batch-write", "--file-size", "8M")
    slow = small.sessions()
    for pid in slow:
        os.kill(pid, signal.SIGSTOP)
    try:
        kill_with_warden(running)
        clean = scope.start(scope.command(small, tool="clean"))
        wait_until(lambda: len(small.sessions()) > len(slow), 60, "its session")
        time.sleep(1)
    finally:
        for pid in slow:
            os.kill(pid, signal.SIGCONT)
    clean.finish(60).expect(OK)
    nothing_is_left(small)


def test_clean_leaves_the_sessions_of_others(scope: Scope, small: Server) -> None:
    running = start_load(scope, small, 5, *PAUSES)
    living = start_load_beside(scope, small)
    other = AfpClient(small.port)
    kill_with_warden(running)
    scope.execute(scope.command(small, tool="clean")).expect(OK)
    other.stat_root()
    other.close()
    assert len(left_on(small)) == 1
    living.signal(signal.SIGINT)
    done = living.finish(60).expect(INTERRUPTED)
    assert "lost" not in done.err


def start_load_beside(scope: Scope, server: Server) -> Running:
    before = len(server.sessions())
    args = ("-n", "3", "--ramp", "0", "-d", "600", "--watch=off", *PAUSES)
    running = scope.start(scope.command(server, *args, tool="load"))
    wait_until(lambda: len(server.sessions()) == before + 5, 60, "more clients")
    wait_until(lambda: len(left_on(server)) == 2, 60, "the second directory")
    return running


def test_sessions_end_after_the_second_interrupt(scope: Scope, small: Server) -> None:
    """A server that hangs, and goes on later."""
    running = start_load(scope, small, 5, *PAUSES)
    stopped = small.sessions()
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    running.signal(signal.SIGINT)
    time.sleep(1)
    running.signal(signal.SIGINT)
    running.finish(5).expect(INTERRUPTED, "ended at once")
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    nothing_is_left(small)
    kill(small.sessions())
