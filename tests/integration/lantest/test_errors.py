# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes wrong is said in one line, with the documented exit code; nothing
hangs, the volume is left clean, and what was measured is saved and marked.

Tests user/main/clean.c, user/drive/session.c.
"""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from disturbed import within
from fakes import BreakingProxy, FakeServer, fall_silent, hang_up, send_garbage
from netatalk import Server
from scheduling import in_check
from scope import (
    FAILED,
    INTERRUPTED,
    LOST,
    NO_SESSION,
    NUMBER,
    OK,
    REFUSED,
    USAGE,
    Done,
    PinnedServer,
    Run,
    Scope,
    both_cpus,
    kill,
    left_on,
    pidfd,
    processes_of,
    sweep,
    wait_until,
)

# One of each kind of test: small files, bulk both ways, locks, creates,
# directories, stats; 12 is the longest. In make check each in one of the ways to break off.
KINDS = "1234589<"
OF_SESSION, OF_SERVER = "1359", "248<"


def check_one_message(done: Done) -> None:
    assert len(done.messages) == 1, f"not one line: {done}"


# Options


def test_usage(scope: Scope, dbd: Server) -> None:
    """The message and the exit code of main(); all others: unit/main/test_usage.c."""
    done = scope(dbd, "-n", "many", timeout=10).expect(USAGE, "lantest: -n: 'many' is not")
    check_one_message(done)
    assert not done.out


def test_no_password(scope: Scope, dbd: Server) -> None:
    """Nowhere to ask for it: no terminal."""
    command = [word for word in scope.command(dbd) if word not in ("-w", "secret1")]
    done = scope.execute(command, timeout=10).expect(USAGE, "password")
    check_one_message(done)


def test_no_command(scope: Scope) -> None:
    assert "Usage: afpscope COMMAND" in scope.execute([str(scope.binary)]).expect(USAGE).err
    scope.execute([str(scope.binary), "frobnicate"]).expect(USAGE, "frobnicate")


# No session


def test_wrong_password(scope: Scope, dbd: Server) -> None:
    for uam in ("cleartext", "dhx2"):
        done = scope(dbd, password="wrong", uam=uam).expect(NO_SESSION, "login", "bench1")
        check_one_message(done)


def test_unknown_user(scope: Scope, dbd: Server) -> None:
    done = scope(dbd, user="nosuchuser", password="x").expect(NO_SESSION, "nosuchuser")
    check_one_message(done)


def test_no_such_volume(scope: Scope, dbd: Server) -> None:
    """Says which ones exist."""
    done = scope(dbd, volume="nosuch").expect(NO_SESSION, "nosuch", "vol1", "vol2", "ro")
    check_one_message(done)


def test_no_such_host(scope: Scope, dbd: Server) -> None:
    done = scope(dbd, host="nosuch.invalid").expect(NO_SESSION, "nosuch.invalid")
    check_one_message(done)


def test_port_closed(scope: Scope) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        done = scope(
            None, *("-h", "127.0.0.1", "-p", str(port), "-s", "vol1", "-u", "x", "-w", "x")
        ).expect(NO_SESSION, f"127.0.0.1 port {port}", "refused")
    check_one_message(done)


def status_reply(length: int) -> bytes:
    """The head of a reply to the first request, DSIGetStatus."""
    return struct.pack(">BBHiII", 1, 3, 0, 0, length, 0)


@pytest.mark.parametrize(
    ("answer", "hang_up", "text"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", True, "not DSI"),
        (b"", False, "no answer for 1 s"),
        (b"", True, "ended the connection"),
        (b"\1\3", False, "no answer for 1 s"),
        (status_reply(100) + b"x" * 50, False, "no answer for 1 s"),
        (status_reply(100) + b"x" * 50, True, "ended the connection"),
        (status_reply(100) + b"\xff" * 100, True, "makes no sense"),
        (status_reply(0), True, "makes no sense"),
        (status_reply(0x7FFFFFFF), False, "at most"),
        (struct.pack(">BBHiII", 1, 2, 77, 0, 0, 0), False, "never sent"),
    ],
    ids=[
        "http",
        "silent",
        "hangs-up",
        "two-bytes",
        "half",
        "half-and-hangs-up",
        "garbage",
        "empty",
        "huge",
        "wrong-id",
    ],
)
def test_no_afp_server(scope: Scope, answer: bytes, hang_up: bool, text: str) -> None:
    with FakeServer(answer, hang_up) as fake:
        who = ("-p", str(fake.port), "-s", "vol1", "-u", "x", "-w", "x", "--timeout", "1")
        done = within(8, lambda: scope(None, "-h", "127.0.0.1", *who))
    check_one_message(done.expect(NO_SESSION, text, str(fake.port)))


# Refused


def test_read_only_volume(scope: Scope, dbd: Server) -> None:
    done = scope(dbd, "-f", "4", volume="ro", save=True).expect(REFUSED, "FPCreateDir")
    check_one_message(done)
    assert done.run
    assert not done.run.complete


@pytest.fixture(scope="module")
def small() -> Iterator[Server]:
    with PinnedServer("forky", "dbd", both_cpus()[0], AFPD_VOL_SIZE="24M") as server:
        yield server


def test_full_volume(scope: Scope, small: Server) -> None:
    refused = scope(small, "-n", "1", "-f", "3", "--watch=off", save=True)
    refused.expect(REFUSED, "the files of this run take 104.9 MB, and the volume has ", "--force")
    done = scope(small, "-n", "1", "-f", "3", "--force", save=True)
    done.expect(REFUSED, "test 2", "FPWriteExt", "full")
    check_one_message(done)
    assert not left_on(small)
    assert done.run
    assert not done.run.complete
    assert [(phase.test, phase.complete) for phase in done.run.phases] == [(2, False)]
    assert done.run.phases[0]["errors"] == 1
    # It can be used again.
    scope(small, "-n", "1", "-f", ";", "--watch=off").expect(OK)


def test_file_missing(scope: Scope, dbd: Server) -> None:
    done = scope(dbd, "-f", "3", "-F", "nosuchfile", "--watch=off").expect(REFUSED, "nosuchfile")
    check_one_message(done)


def test_file_too_short(scope: Scope, dbd: Server) -> None:
    short = dbd.vol1 / "short.bin"
    short.write_bytes(bytes(1 << 20))
    short.chmod(0o666)
    try:
        done = scope(dbd, "-f", "3", "-F", "short.bin", "--watch=off", save=True)
        done.expect(REFUSED, "short.bin")
        assert "1048576" in done.messages[0]
        check_one_message(done)
        assert short.stat().st_size == 1 << 20
    finally:
        short.unlink()


def test_json_cannot_be_written(scope: Scope, dbd: Server) -> None:
    """At the end, as on a disk that is full: the table is there all the same."""
    path = "/dev/full"
    line = ("-n", "1", "-f", ";", "--watch=off", "--json", path)
    done = scope(dbd, *line).expect(FAILED, path)
    check_one_message(done)
    assert "deep paths" in done.out
    assert re.search("More: -v, .*afpscope report last", done.err)  # the folder


def test_output_cannot_be_written(scope: Scope, dbd: Server) -> None:
    line = scope.command(dbd, "-n", "1", "-f", ";", "--watch=off")
    command = ["sh", "-c", 'exec "$@" > /dev/full', "sh", *line]
    done = scope.execute(command).expect(FAILED, "report", "No space left")
    check_one_message(done)
    assert re.search("More: -v, .*afpscope report last", done.err)


# In the middle

# What stands in the test directory when the timed region of a test has begun:
# a name below it, its size (none: any), and how far into the region to wait.
MIDDLE: dict[str, tuple[str, range | None, float]] = {
    "1": ("File.small999", range(20480, 20481), 0.05),
    "2": ("File.big", range(20_000_000, 80_000_000), 0),
    "3": ("File.big", range(104_854_000, 104_854_001), 0.02),
    "4": ("File.lock", range(40000, 40001), 0.05),
    "5": ("File.0k700", None, 0),
    "8": ("dir04/dir10/dir10", None, 0),
    "9": ("cache_dir_9/cache_file_9_9", None, 0.05),
    "<": ("valid_file_99", None, 0.05),
}


def in_the_middle(
    scope: Scope, server: Server, letter: str, act: Callable[[int], None]
) -> tuple[Done, Run]:
    """Runs a test and calls act(pid of the client) in the middle of its timed
    region, after a whole round; again, when it was over too soon."""
    name, sizes, delay = MIDDLE[letter]

    def reached() -> bool:
        for base in server.vol1.glob("LanTest-*"):
            with contextlib.suppress(OSError):
                found = (base / name).stat()
                return found.st_ctime_ns > begin and (sizes is None or found.st_size in sizes)
        return False

    for _ in range(8):
        running = scope.start(scope.command(server, "-n", "100", "-v", "-f", letter), save=True)
        running.wait_for("Run 1 => Reading" if letter == "3" else "Run 1 =>")
        begin = time.time_ns()
        wait_until(reached, 30, f"test {letter}", step=0.002)
        time.sleep(delay)
        act(running.process.pid)
        done = running.finish(40)
        assert done.run, f"nothing was saved: {done}"
        check_partial(done.run)
        last = done.run.phases[-1]
        if not last.complete and last.test == NUMBER[letter]:
            return done, done.run
        if not processes_of(server):
            assert isinstance(server, PinnedServer)
            server.restart()
            clean(scope, server)
        assert not left_on(server), f"{done}"
    pytest.fail("never hit the timed region")


def check_partial(run: Run) -> None:
    """What was measured before it broke off is there, and marked."""
    assert not run.complete
    whole = [phase for phase in run.phases if phase.complete]
    assert whole
    assert all(phase["ops"] for phase in whole)
    assert all(phase.complete for phase in run.phases[:-1])
    assert any("broke off" in warning["text"] for warning in run.saved["warnings"])


def clean(scope: Scope, server: Server) -> Done:
    done = scope.execute(scope.command(server, tool="clean")).expect(OK)
    assert not left_on(server), f"{done}"
    return done


@pytest.mark.limit(180)
@pytest.mark.parametrize("letter", in_check(KINDS, OF_SESSION))
def test_session_killed(scope: Scope, dbd: Server, letter: str) -> None:
    """Removed in a new session."""

    def act(_pid: int) -> None:
        kill(dbd.sessions())

    done, run = in_the_middle(scope, dbd, letter, act)
    done.expect(LOST, f"127.0.0.1 port {dbd.port}", "connection")
    done.expect(LOST, "LanTest-", "a new session has removed")
    assert len(done.messages) == 2, f"{done}"
    check_partial(run)
    assert not left_on(dbd)


@pytest.mark.limit(180)
@pytest.mark.parametrize("letter", in_check(KINDS, OF_SERVER))
def test_server_killed(scope: Scope, mortal: PinnedServer, letter: str) -> None:
    """Cannot be removed now: the message names it, and what will remove it."""

    def act(_pid: int) -> None:
        kill(processes_of(mortal))

    done, run = in_the_middle(scope, mortal, letter, act)
    left = left_on(mortal)
    assert len(left) == 1
    done.expect(LOST, left[0], "vol1", f"afpscope clean -h 127.0.0.1 -p {mortal.port}")
    done.expect(LOST, "connection")
    assert len(done.messages) == 2, f"{done}"
    check_partial(run)

    mortal.restart()
    assert left_on(mortal) == left
    assert f"{left[0]}: removed" in clean(scope, mortal).out


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


@pytest.mark.limit(180)
@pytest.mark.parametrize(
    ("letter", "number"),
    in_check(
        [
            ("2", signal.SIGINT),
            ("5", signal.SIGINT),
            ("9", signal.SIGINT),
            ("3", signal.SIGTERM),
            ("4", signal.SIGTERM),
            ("8", signal.SIGHUP),
        ],
        [("5", signal.SIGINT), ("3", signal.SIGTERM), ("8", signal.SIGHUP)],
    ),
)
def test_interrupted(scope: Scope, dbd: Server, letter: str, number: signal.Signals) -> None:
    def act(pid: int) -> None:
        signal.pidfd_send_signal(pidfd(pid), number)

    done, run = in_the_middle(scope, dbd, letter, act)
    done.expect(INTERRUPTED, "interrupted")
    check_one_message(done)
    check_partial(run)
    assert not left_on(dbd)
    wait_until(lambda: not dbd.sessions(), 5, "the session to be closed")


def test_interrupted_while_connecting(scope: Scope) -> None:
    with FakeServer() as silent:
        running = scope.start(
            [
                *(str(scope.binary), "lantest", "-h", "127.0.0.1", "-p", str(silent.port)),
                *("-s", "vol1", "-u", "x", "-w", "x"),
            ]
        )
        wait_until(lambda: silent.accepted > 0, 10, "the connection")
        running.signal(signal.SIGINT)
        check_one_message(running.finish(5).expect(INTERRUPTED, "interrupted"))


# A network that breaks, between us and the server


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (hang_up, "connection"),
        (fall_silent, "no answer for 2 s"),
        (send_garbage, "127.0.0.1"),
    ],
)
def test_network_breaks(
    scope: Scope,
    dbd: Server,
    fault: Callable[[socket.socket, socket.socket], None],
    text: str,
) -> None:
    """The session's process stays behind (afpd keeps it for a reconnect), our
    directory does not."""
    with BreakingProxy(dbd.port, 300_000, fault) as proxy:
        command = scope.command(dbd, "-f", "9", "--watch=off", "--timeout", "2")
        command[command.index(str(dbd.port))] = str(proxy.port)
        done = scope.execute(command, save=True)
        assert proxy.broken.is_set()
    kill(dbd.sessions())
    done.expect(LOST, str(proxy.port), text)
    done.expect(LOST, "LanTest-", "a new session has removed")
    assert done.run
    assert not done.run.complete
    assert not left_on(dbd)


def test_network_breaks_with_a_fork_open(scope: Scope, dbd: Server) -> None:
    """afpd keeps the fork open for the lost session, so the file cannot be
    removed: said, and clean removes it when the session has gone."""
    with BreakingProxy(dbd.port, 300_000, hang_up) as proxy:
        command = scope.command(dbd, "-f", "4", "--watch=off", "--timeout", "2")
        command[command.index(str(dbd.port))] = str(proxy.port)
        done = scope.execute(command)
        assert proxy.broken.is_set()
    left = left_on(dbd)
    if left:
        done.expect(LOST, left[0], "File.lock", "afpscope clean")
    else:
        done.expect(LOST, "a new session has removed")
    kill(dbd.sessions())
    clean(scope, dbd)


# Cleaning


def test_clean_keeps_what_is_not_ours(scope: Scope, dbd: Server) -> None:
    """A running test's directory, afp_lantest's, other hosts', and the rest."""
    foreign = [
        dbd.vol1 / name for name in ("LanTest-4711", "LanTest-00000000-1-000000", "Documents")
    ]
    for path in foreign:
        path.mkdir()
        path.chmod(0o777)
    try:
        running = scope.start(scope.command(dbd, "-v", "-f", "4", "-n", "20"))
        running.wait_for("Run 1 =>")
        ours = (set(left_on(dbd)) - {path.name for path in foreign}).pop()
        done = scope.execute(scope.command(dbd, tool="clean")).expect(OK)
        assert f"{ours}: kept, its run is still alive" in done.out
        assert "LanTest-00000000-1-000000: kept, made on another host" in done.out
        running.signal(signal.SIGINT)
        running.finish(20).expect(INTERRUPTED)

        # A process of another name has its number now, or it is dead and nobody waits for it.
        zombie = subprocess.Popen(["true"])
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        for pid in (1, os.getpid(), zombie.pid):
            left = dbd.vol1 / re.sub(r"-\d+-(?=\w+$)", f"-{pid}-", ours)
            left.mkdir()
            left.chmod(0o777)
            done = scope.execute(scope.command(dbd, tool="clean")).expect(OK)
            assert f"{left.name}: removed" in done.out
        zombie.wait()

        done = scope.execute(scope.command(dbd, "--all", "--dry-run", tool="clean")).expect(OK)
        assert "LanTest-00000000-1-000000: would be removed" in done.out
        assert all(path.exists() for path in foreign)
        done = scope.execute(scope.command(dbd, "--all", tool="clean")).expect(OK)
        assert "LanTest-00000000-1-000000: removed" in done.out
        assert [path.exists() for path in foreign] == [True, False, True]
        assert "nothing to remove" in scope.execute(scope.command(dbd, tool="clean")).out
    finally:
        for path in foreign:
            if path.exists():
                path.rmdir()


@pytest.mark.parametrize("tool", ["lantest", "speedtest", "clean"])
def test_interrupted_at_the_password(scope: Scope, tool: str) -> None:
    """The terminal shows again what is typed."""
    ours, its = pty.openpty()
    line = [str(scope.binary), tool, "afp://u@127.0.0.1:1/V"]
    env = {name: value for name, value in os.environ.items() if name != "AFPSCOPE_PASSWORD"}

    def shows() -> bool:
        return bool(termios.tcgetattr(its)[3] & termios.ECHO)

    with subprocess.Popen(
        ["setsid", "-c", *line], stdin=its, stdout=its, stderr=its, env=env
    ) as process:
        wait_until(lambda: not shows(), 10, "its question")
        os.write(ours, b"\x03")
        assert process.wait(10) == INTERRUPTED
    assert shows()
    os.close(its)
    os.close(ours)


def test_second_signal_ends_at_once(scope: Scope, tmp_path: Path) -> None:
    """Where cleaning up itself hangs: the server is stopped."""
    with PinnedServer("forky", "dbd", both_cpus()[0]) as server:
        running = scope.start(scope.command(server, "-v", "-f", "4", "-n", "20"))
        running.wait_for("Run 1 =>")
        stopped = server.sessions()
        signal.pidfd_send_signal(pidfd(stopped[0]), signal.SIGSTOP)
        running.signal(signal.SIGINT)
        time.sleep(1)
        assert running.process.poll() is None
        running.signal(signal.SIGINT)
        running.finish(2).expect(INTERRUPTED, "ended at once", "afpscope clean")
        kill(stopped)
        clean(scope, server)
