# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes wrong in a speedtest is said in one line, which names what, which one
and what to do; what was measured is saved and marked, and the volume is clean."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes import BreakingProxy, FakeServer, fall_silent, hang_up, send_garbage
from netatalk import Server
from scheduling import in_check
from scope import (
    FAILED,
    INTERRUPTED,
    LOST,
    NO_SESSION,
    OK,
    REFUSED,
    USAGE,
    Done,
    PinnedServer,
    Run,
    Scope,
    both_cpus,
    io_of,
    kill,
    left_on,
    pidfd,
    processes_of,
    sweep,
    wait_until,
)
from speeding import (
    COPY,
    KIB,
    MIB,
    READ,
    SERVER_COPY,
    WORKS,
    WRITE,
    Transfer,
    between,
    command,
    file_of,
    files,
    speedtest,
    wait_resting,
)
from wardens import kill_with_warden

ENDLESS = ("-n", "100000", "-W", "0", "--no-null")
PAUSED = ("-n", "3", "-W", "0", "--no-null", "-t", "1")


def check_one_message(done: Done) -> None:
    assert len(done.messages) == 1, f"not one line: {done}"


# Options


def test_usage(scope: Scope, dbd: Server) -> None:
    """The message and the exit code of main(); all others: unit/main/test_usage.c."""
    done = speedtest(scope, dbd, "-f", "Reed", timeout=10).expect(USAGE, "speedtest: -f: ", "Reed")
    check_one_message(done)
    assert not done.out


def test_no_session(scope: Scope, dbd: Server) -> None:
    for login, texts in (
        ({"password": "wrong"}, ["login", "bench1"]),
        ({"volume": "nosuch"}, ["nosuch", "vol1", "vol2"]),
        ({"host": "nosuch.invalid"}, ["nosuch.invalid"]),
    ):
        done = speedtest(scope, dbd, "-d", "4K", **login).expect(NO_SESSION, *texts)
        check_one_message(done)
    done = speedtest(scope, dbd, "-d", "4K", "-f", "Copy", "-S", "nosuch")
    check_one_message(done.expect(NO_SESSION, "nosuch", "vol1", "vol2"))
    with FakeServer() as silent:
        line = command(scope, dbd, "-d", "4K", "--timeout", "1")
        line[line.index(str(dbd.port))] = str(silent.port)
        check_one_message(scope.execute(line).expect(NO_SESSION, "no answer for 1 s"))


def test_no_volume(scope: Scope, dbd: Server) -> None:
    check_one_message(speedtest(scope, dbd, volume=None, timeout=10).expect(USAGE, "which volume"))


# Refused


@pytest.mark.parametrize(("kind", "work"), [*(("dbd", work) for work in WORKS), ("old", COPY)])
def test_read_only_volume(
    scope: Scope, kind: str, work: str, request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue(kind)
    line = ("-f", work, "-d", "4K", "--watch=off")
    done = speedtest(scope, server, *line, volume="ro", save=True)
    check_one_message(done.expect(REFUSED, "FPCreateDir"))
    assert done.run
    assert not done.run.complete


def test_own_file_missing(scope: Scope, dbd: Server) -> None:
    done = speedtest(scope, dbd, "-f", "Read", "-F", "nosuch.bin", "--watch=off", save=True)
    check_one_message(done.expect(REFUSED, "nosuch.bin"))


@pytest.mark.parametrize("work", in_check([READ, COPY, SERVER_COPY], [READ, SERVER_COPY]))
def test_own_file_vanishes(scope: Scope, dbd: Server, work: str) -> None:
    """Between two iterations."""
    with file_of(dbd, "own.bin", MIB) as path:
        os.utime(path, ns=(0, time.time_ns()))
        line = command(scope, dbd, "-f", work, "-F", "own.bin", *PAUSED, "--watch=off")
        running = scope.start(line, save=True)
        wait_until(lambda: path.stat().st_atime_ns > 0, 20, "the file to be read")
        wait_resting(running)
        path.unlink()
        done = running.finish().expect(REFUSED, "own.bin", work)
    check_one_message(done)
    check_broken_off(done, work, 1)
    assert not left_on(dbd)


@pytest.mark.parametrize("work", in_check(WORKS, [WRITE, COPY]))
def test_directory_vanishes(scope: Scope, dbd: Server, work: str) -> None:
    """That of the test, with all that is in it, between two iterations."""
    line = command(scope, dbd, "-f", work, "-d", "1", *PAUSED, "--watch=off")
    running = scope.start(line, save=True)
    for path in between(running, dbd, MIB):
        shutil.rmtree(path.parent, ignore_errors=True)
    done = running.finish().expect(REFUSED, work, "FP")
    check_one_message(done)
    check_broken_off(done, work, 1)
    assert not left_on(dbd)


@pytest.fixture(scope="module")
def small() -> Iterator[Server]:
    with PinnedServer("forky", "dbd", both_cpus()[0], AFPD_VOL_SIZE="24M") as server:
        yield server


@pytest.mark.parametrize(
    ("work", "size", "refused"),
    [
        (WRITE, "64", "FPWrite"),
        (READ, "64", "FPWrite"),
        (COPY, "12", "FPWrite"),
        (SERVER_COPY, "12", "FPCopyFile"),
    ],
)
def test_full_volume(scope: Scope, small: Server, work: str, size: str, refused: str) -> None:
    """What was measured with the size before is whole."""
    line = ("--force", "--set", "speedtest-4.5", "-f", work, "-z", f"1,{size}", "-n", "2")
    done = speedtest(scope, small, *line, save=True)
    check_one_message(done.expect(REFUSED, work, refused, "full"))
    assert not left_on(small)
    run = saved(done)
    assert [phase.complete for phase in run.phases] == [True, False]
    assert len(Transfer(run.phases[0]).samples()) == 2
    assert Transfer(run.phases[1]).samples() == []
    assert not run.complete
    # It can be used again.
    speedtest(scope, small, "-f", work, "-d", "1", "-n", "1", "--watch=off").expect(OK)


@pytest.mark.parametrize(
    ("work", "size", "takes"),
    [(WRITE, "12", "12.6"), (READ, "64", "67.1"), (COPY, "6", "12.6"), (SERVER_COPY, "12", "25.2")],
)
def test_volume_without_room(scope: Scope, small: Server, work: str, size: str, takes: str) -> None:
    """Whoever works on that volume would be the first to notice: nothing is begun."""
    line = ("-f", work, "-z", f"1,{size}", "-n", "2", "--watch=off")
    for its_set in ((), ("--set", "speedtest-4.5")):
        done = speedtest(scope, small, *its_set, *line, save=True)
        check_one_message(done.expect(REFUSED, f"the files of this run take {takes} MB", "--force"))
        free = re.search(r"the volume has (\d+)\.\d MB free", done.messages[0])
        assert free and 16 <= int(free[1]) < 25.2
        assert not left_on(small)
        assert not done.run or not done.run.phases


class Filler:
    """Takes whatever becomes free on a volume."""

    def __init__(self, volume: Path) -> None:
        self._path = volume / "filler"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._fill, daemon=True)

    def _fill(self) -> None:
        with self._path.open("wb") as out:
            while not self._stop.wait(0.001):
                with contextlib.suppress(OSError):
                    out.write(bytes(256 * KIB))
                    out.flush()

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._path.unlink()


def test_volume_fills_up(scope: Scope, small: Server) -> None:
    """While it runs, by somebody else: the first iteration counts."""
    line = command(scope, small, "--force", "-f", "Write", "-d", "12", "-y", *PAUSED)
    running = scope.start(line, save=True)
    between(running, small, 12 * MIB)
    with Filler(small.vol1):
        done = running.finish().expect(REFUSED, WRITE, "FPWriteExt", "full")
    check_one_message(done)
    check_broken_off(done, WRITE, 1)
    assert not left_on(small)


def test_size_that_no_file_can_have(scope: Scope, small: Server) -> None:
    """The server cannot set that length."""
    line = ("-f", "Read", "-e", "-d", "20T", "-n", "1", "--watch=off")
    done = speedtest(scope, small, *line, save=True)
    check_one_message(done.expect(REFUSED, READ, "FPSetForkParms"))
    assert not left_on(small)


def test_json_cannot_be_written(scope: Scope, dbd: Server) -> None:
    """At the end, as on a disk that is full: the table is there all the same."""
    path = "/dev/full"
    line = ("-f", "Write", "-d", "4K", "--watch=off", "--json", path)
    done = speedtest(scope, dbd, *line).expect(FAILED, path)
    check_one_message(done)
    assert "Write" in done.out


def test_output_cannot_be_written(scope: Scope, dbd: Server) -> None:
    line = command(scope, dbd, "-f", "Write", "-d", "4K", "-c", "--watch=off")
    scope.execute(["sh", "-c", 'exec "$@" > /dev/full', "sh", *line]).expect(
        FAILED, "report", "No space left"
    )


# In the middle


def saved(done: Done) -> Run:
    assert done.run, f"nothing was saved: {done}"
    return done.run


def check_broken_off(done: Done, work: str, samples: int | None = None) -> None:
    """The samples that were whole are there, and what is not is marked."""
    run = saved(done)
    assert not run.complete
    assert any("broke off" in warning["text"] for warning in run.saved["warnings"])
    last = run.phases[-1]
    transfer = Transfer(last)
    assert transfer.work == work
    whole = transfer.samples()
    assert last.complete == bool(whole)
    assert len(whole) == samples if samples is not None else len(whole) > 10
    assert all(sample["ns"] > 0 for sample in whole)
    assert sum(not sample["complete"] for sample in transfer.saved["samples"]) <= 1


def moved(server: Server) -> int:
    """Bytes that the busiest session has read and written: 64 KiB at least in an iteration."""
    most = 0
    for pid in server.sessions():
        with contextlib.suppress(OSError):
            most = max(most, io_of(pid)["rchar"] + io_of(pid)["wchar"])
    return most


def in_the_middle(
    scope: Scope,
    server: Server,
    work: str,
    act: Callable[[int], None],
    *more: str,
    timeout_s: int = 20,
) -> Done:
    """Runs a test and calls act(pid of the client) after many iterations."""
    wait_until(lambda: not server.sessions(), 30, "the end of earlier sessions")
    args = ("-f", work, "-d", "64K", *ENDLESS, "--timeout", f"{timeout_s}", *more)
    line = command(scope, server, *args)
    running = scope.start(line, save=True)
    wait_until(lambda: bool(files(server)), 30, "the first file")
    begun = moved(server)

    def is_busy() -> bool:
        assert running.process.poll() is None, f"it has ended: {running.finish(40)}"
        return moved(server) - begun > 40 * 65536

    wait_until(is_busy, 60, "many iterations")
    act(running.process.pid)
    return running.finish(40)


def clean(scope: Scope, server: Server) -> Done:
    done = scope.execute(scope.command(server, tool="clean")).expect(OK)
    assert not left_on(server), f"{done}"
    return done


@pytest.mark.parametrize(
    ("kind", "work"),
    in_check(
        [*(("dbd", work) for work in WORKS), ("old", COPY)],
        [("dbd", READ), ("dbd", SERVER_COPY), ("old", COPY)],
    ),
)
def test_session_killed(scope: Scope, kind: str, work: str, request: pytest.FixtureRequest) -> None:
    """Removed in a new session."""
    server: Server = request.getfixturevalue(kind)
    done = in_the_middle(scope, server, work, lambda _: kill(server.sessions()))
    done.expect(LOST, f"127.0.0.1 port {server.port}", "connection")
    done.expect(LOST, "LanTest-", "a new session has removed")
    assert len(done.messages) == 2, f"{done}"
    check_broken_off(done, work)
    assert not left_on(server)


@pytest.fixture(scope="module")
def _mortal() -> Iterator[PinnedServer]:
    with PinnedServer("forky", "sqlite", both_cpus()[0]) as server:
        yield server


@pytest.fixture
def mortal(_mortal: PinnedServer) -> PinnedServer:
    """A server to be killed."""
    if not processes_of(_mortal):
        _mortal.restart()
    sweep(_mortal)
    return _mortal


@pytest.mark.parametrize("work", in_check(WORKS, [WRITE, COPY]))
def test_server_killed(scope: Scope, mortal: PinnedServer, work: str) -> None:
    """Cannot be removed now: the message names it, and what will remove it."""
    done = in_the_middle(scope, mortal, work, lambda _: kill(processes_of(mortal)))
    left = left_on(mortal)
    assert len(left) == 1
    done.expect(LOST, left[0], "vol1", f"afpscope clean -h 127.0.0.1 -p {mortal.port}")
    done.expect(LOST, "connection")
    assert len(done.messages) == 2, f"{done}"
    check_broken_off(done, work)
    mortal.restart()
    assert left_on(mortal) == left
    assert f"{left[0]}: removed" in clean(scope, mortal).out


def test_server_killed_with_two_volumes(scope: Scope, mortal: PinnedServer) -> None:
    """What is left on each is named."""
    line = command(scope, mortal, "-f", "Copy", "-d", "64K", "-S", "vol2", *ENDLESS)
    running = scope.start(line, save=True)
    wait_until(lambda: len(files(mortal)) == 2, 30, "both files")
    begun = moved(mortal)
    wait_until(lambda: moved(mortal) - begun > 40 * 65536, 30, "many iterations")
    kill(processes_of(mortal))
    done = running.finish(40)
    done.expect(LOST, "LanTest-", "vol1", "afpscope clean")
    done.expect(LOST, "LanTest-", "vol2", "afpscope clean")
    mortal.restart()
    for volume in ("vol1", "vol2"):
        scope.execute(scope.command(mortal, tool="clean", volume=volume)).expect(OK)
    assert not left_on(mortal)


@pytest.mark.parametrize(
    ("work", "number"),
    [
        (READ, signal.SIGINT),
        (WRITE, signal.SIGINT),
        (COPY, signal.SIGTERM),
        (SERVER_COPY, signal.SIGHUP),
    ],
)
def test_interrupted(scope: Scope, dbd: Server, work: str, number: signal.Signals) -> None:
    def act(pid: int) -> None:
        signal.pidfd_send_signal(pidfd(pid), number)

    # The end of a watch is the same for all of them.
    more = () if number == signal.SIGINT else ("--watch=off",)
    done = in_the_middle(scope, dbd, work, act, *more).expect(INTERRUPTED, "interrupted")
    check_one_message(done)
    check_broken_off(done, work)
    assert not left_on(dbd)
    wait_until(lambda: not dbd.sessions(), 5, "the session to be closed")


def test_interrupted_in_a_long_transfer(scope: Scope, dbd: Server) -> None:
    """Not only between two iterations."""
    args = ("-f", "Read", "-e", "-d", "500G", "-n", "1", "-W", "0", "--watch=off")
    line = command(scope, dbd, *args)
    running = scope.start(line, save=True)
    wait_until(lambda: bool(files(dbd)), 30, "the file")
    begun = moved(dbd)
    wait_until(lambda: moved(dbd) - begun > 1 << 20, 30, "a part of the transfer")
    running.signal(signal.SIGINT)
    done = running.finish().expect(INTERRUPTED, "interrupted")
    assert Transfer(saved(done).phases[-1]).samples() == []
    assert not left_on(dbd)


def test_interrupted_while_it_waits(scope: Scope, dbd: Server) -> None:
    """In a delay of an hour."""
    args = ("-f", "Write", "-d", "1", "-n", "2", "-W", "0", "-t", "3600", "--watch=off")
    line = command(scope, dbd, *args)
    running = scope.start(line, save=True)
    between(running, dbd, MIB)
    running.signal(signal.SIGINT)
    done = running.finish(5).expect(INTERRUPTED, "interrupted")
    run = saved(done)
    assert not run.complete
    assert len(Transfer(run.phases[-1]).samples()) == 1
    assert not left_on(dbd)


def test_killed_by_force(scope: Scope, dbd: Server) -> None:
    """With all that would clean up after it: clean removes what it left."""
    line = command(scope, dbd, "-f", "Write", "-d", "64K", *ENDLESS)
    running = scope.start(line)
    wait_until(lambda: bool(files(dbd)), 30, "the first file")
    kill_with_warden(running)
    assert len(left_on(dbd)) == 1
    wait_until(lambda: not dbd.sessions() or not kill(dbd.sessions()), 10, "the session to end")
    assert "removed" in clean(scope, dbd).out


def test_server_falls_silent(scope: Scope, dbd: Server) -> None:
    """Stopped, and not gone: there is a limit to waiting."""
    stopped: list[int] = []

    def act(_pid: int) -> None:
        stopped.extend(dbd.sessions())
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)

    done = in_the_middle(scope, dbd, WRITE, act, timeout_s=2)
    kill(stopped)
    done.expect(LOST, "no answer for 2 s", str(dbd.port))
    check_broken_off(done, WRITE)
    if left_on(dbd):  # afpd keeps the file open for the lost session
        done.expect(LOST, "LanTest-", "afpscope clean")
        clean(scope, dbd)


@pytest.mark.parametrize(
    ("fault", "text"),
    [(hang_up, "connection"), (fall_silent, "no answer for 2 s"), (send_garbage, "127.0.0.1")],
)
def test_network_breaks(
    scope: Scope,
    dbd: Server,
    fault: Callable[[socket.socket, socket.socket], None],
    text: str,
) -> None:
    """In the middle of written data."""
    with BreakingProxy(dbd.port, 3_300_000, fault) as proxy:
        line = command(scope, dbd, "-f", "Write", "-d", "1", *ENDLESS, "--timeout", "2")
        line[line.index(str(dbd.port))] = str(proxy.port)
        done = scope.execute([*line, "--watch=off"], save=True)
        assert proxy.broken.is_set()
    kill(dbd.sessions())
    done.expect(LOST, str(proxy.port), text)
    check_broken_off(done, WRITE, 3)
    if left_on(dbd):
        done.expect(LOST, "LanTest-", "afpscope clean")
        clean(scope, dbd)
