# SPDX-License-Identifier: GPL-2.0-or-later
"""In a crowd of sessions of the same user, the one that serves us is watched.

The judge is the kernel: ss tells who holds the other end of our connection.

Tests user/watch/place.c.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterator

import pytest
from afpclient import AfpClient, Busy
from netatalk import Server
from scope import (
    DBD,
    OK,
    PinnedServer,
    Run,
    Running,
    Scope,
    both_cpus,
    io_of,
    wait_asleep,
    wait_until,
)

STALE, IDLE, BUSY = 4, 3, 3
ALL = STALE + IDLE + BUSY
LETTERS = "14589:"


def served_by(server: Server, client_pid: int) -> int | None:
    """The process at the other end of a connection of client_pid; None: not yet."""
    lines = subprocess.run(
        ["ss", "-Htnp", "state", "established"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    ends = {}
    for line in lines:
        _, _, local, peer, *users = line.split()
        pids = [int(pid) for pid in re.findall(r"pid=(\d+)", " ".join(users))]
        ends[local, peer] = pids
    for (local, peer), pids in ends.items():
        if client_pid in pids and peer.endswith(f":{server.port}"):
            holders = ends.get((peer, local), [])
            # Not the master, which holds it for a moment after accept().
            return next((pid for pid in holders if pid != server.pid), None)
    return None


def kernel_says(server: Server, running: Running) -> int:
    """The process behind the second connection of a run: the first one, which
    has ended by then, only asks for the server's status."""
    running.wait_for("Connecting to host")
    found: list[int | None] = []

    def known() -> bool:
        found.append(served_by(server, running.process.pid))
        return found[-1] is not None

    wait_until(known, 10, "a process of the server that holds the connection")
    assert found[-1]
    return found[-1]


def finish(running: Running) -> Run:
    done = running.finish().expect(OK)
    assert done.run
    return done.run


@pytest.fixture
def crowded(crowd: Server) -> Server:
    """The crowd, when an earlier test's session has ended and its hints have been passed on."""
    wait_until(lambda: len(crowd.sessions()) == ALL, 10, "the sessions of earlier tests to end")
    seen: list[dict[str, int]] = []

    def rests() -> bool:
        wait_asleep([crowd.pid])
        seen.append(io_of(crowd.pid))
        return len(seen) > 5 and all(each == seen[-1] for each in seen[-5:])

    wait_until(rests, 10, "afpd to come to rest", step=0.1)
    return crowd


@pytest.fixture(scope="module")
def crowd() -> Iterator[Server]:
    """A server with ten other sessions of bench1.

    The busy ones only ask: what they changed, afpd would tell our session
    through its hint pipe, and that would be work of ours.
    """
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(PinnedServer("forky", "dbd", both_cpus()[0]))
        clients = [AfpClient(server.port) for _ in range(ALL)]
        for client in clients[:STALE]:
            client.drop()
        for client in clients[STALE:]:
            stack.callback(client.close)
        for client in clients[STALE + IDLE :]:
            busy = stack.enter_context(Busy(client))
            wait_until(lambda b=busy: b.requests > 10, 10, "a busy session")
        assert len(server.sessions()) == ALL
        yield server


def check_numbers(run: Run) -> None:
    run.assert_trustworthy()
    for phase in run.phases:
        assert phase.columns() == DBD[phase.test], f"test {phase.test} in a crowd"


@pytest.mark.limit(300)
def test_in_a_crowd(scope: Scope, crowded: Server) -> None:
    others = set(crowded.sessions())
    running = scope.start(scope.command(crowded, "-n", "1", "-v", "-f", LETTERS), save=True)
    pid = kernel_says(crowded, running)
    run = finish(running)
    assert run.pid("afpd") == pid
    assert run.pid("afpd") not in others
    assert set(crowded.sessions()) >= others, "a session of the crowd has gone"
    check_numbers(run)


def test_in_a_crowd_by_proc(scope: Scope, crowded: Server) -> None:
    """The same process without BPF, and the same numbers."""
    running = scope.start(
        scope.command(crowded, "-n", "1", "-v", "-f", "49", "--watch", "proc"), save=True
    )
    pid = kernel_says(crowded, running)
    run = finish(running)
    assert run.pid("afpd") == pid
    for phase in run.phases:
        assert (phase["afpd_syscr"], phase["afpd_syscw"]) == DBD[phase.test]


def test_two_runs_at_once(scope: Scope, crowded: Server) -> None:
    """Each counts its own server process. (AFPD_R may be more: a session reads
    the hints of what the other one makes and removes.)"""
    command = scope.command(crowded, "-n", "1", "-v", "-f", "4")
    first = scope.start(command, save=True)
    second = scope.start(command, save=True)
    pids = [kernel_says(crowded, running) for running in (first, second)]
    assert pids[0] != pids[1]
    for running, pid in zip((first, second), pids, strict=True):
        run = finish(running)
        assert run.pid("afpd") == pid
        assert not run.open_books()
        phase = run.phase(4)
        assert phase.calls("afpd", "lock") == 20000
        assert phase["afpd_syscw"] == 20000


def test_other_user_same_volume(scope: Scope, crowded: Server) -> None:
    """cnid_dbd was started for another user (its -u says so): still found."""
    running = scope.start(
        scope.command(crowded, "-n", "1", "-v", "-f", ":", user="bench2"), save=True
    )
    pid = kernel_says(crowded, running)
    run = finish(running)
    assert run.pid("afpd") == pid
    check_numbers(run)
    assert run.phase(10)["cnid_syscw"] >= 600
