# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of speedtest share: the commands of each test, how the server
counts them, and how a saved transfer is read."""

from __future__ import annotations

import contextlib
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from netatalk import USERS, Server
from scope import OK, REFUSED, Done, Phase, Run, Running, Scope, pinning, wait_until

# How a run ends whose data is not what it was: docs/exit-codes.md.
DAMAGED = REFUSED

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

READ, WRITE, COPY, SERVER_COPY = WORKS = ("Read", "Write", "Copy", "ServerCopy")
ALL = ",".join(WORKS)
LEGACY = "speedtest-4.5"

# AFP commands.
CLOSE_VOLUME, CLOSE_FORK, COPY_FILE, CREATE_DIR, CREATE_FILE, DELETE, FLUSH = 2, 4, 5, 6, 7, 8, 11
OPEN_VOLUME, OPEN_FORK, FP_READ, SET_FORK, FP_WRITE, STAT = 24, 26, 27, 31, 33, 34
READ_EXT, WRITE_EXT = 60, 61

GET_VOLUME, LOGIN = 17, 18

# Login, volume, logout: in every run once.
FRAME = Counter({LOGIN: 1, OPEN_VOLUME: 1, 20: 1, CLOSE_VOLUME: 1})

# What `-d 4 -n 2 -W 1` makes the server execute: three iterations of five
# requests each, as the chunk is 28 bytes less than the quantum of 1 MiB.
SIZED = ("-d", "4", "-n", "2", "-W", "1")
ITERATIONS, REQUESTS = 3, 5


def _signature(
    made: int,
    deleted: int,
    opened: int,
    *,
    written: int = 0,
    read: int = 0,
    flushed: int = 0,
    others: dict[int, int] | None = None,
) -> dict[int, int]:
    counts = FRAME | {
        STAT: 1,
        CREATE_DIR: 1,
        CREATE_FILE: made,
        DELETE: deleted,
        OPEN_FORK: opened,
        CLOSE_FORK: opened,
        FP_WRITE: written,
        FP_READ: read,
        FLUSH: flushed,
        **(others or {}),
    }
    return {code: count for code, count in sorted(counts.items()) if count}


# By test and the options besides SIZED; measured on 4.5.1 and 4.2.3.
SIGNATURES: dict[tuple[str, str], dict[int, int]] = {
    (READ, ""): _signature(1, 2, 3, written=5, read=15, flushed=1),
    (READ, "-y"): _signature(4, 5, 3, written=15, read=15, flushed=3),
    (READ, "-e"): _signature(1, 2, 3, read=15, others={SET_FORK: 1}),
    (READ, "-a"): _signature(1, 2, 3, written=5, read=15),
    (WRITE, ""): _signature(1, 2, 3, written=15, flushed=3),
    (WRITE, "-y"): _signature(4, 5, 3, written=15, flushed=3),
    (WRITE, "-e"): _signature(1, 2, 3, written=15, flushed=3),
    (WRITE, "-a"): _signature(1, 2, 3, written=15),
    (COPY, ""): _signature(2, 3, 6, written=20, read=15, flushed=1),
    (COPY, "-y"): _signature(8, 9, 6, written=30, read=15, flushed=3),
    (COPY, "-e"): _signature(2, 3, 6, written=15, read=15, others={SET_FORK: 1}),
    (COPY, "-a"): _signature(2, 3, 6, written=20, read=15),
    (SERVER_COPY, ""): _signature(1, 6, 3, written=5, flushed=1, others={COPY_FILE: 3}),
    (SERVER_COPY, "-y"): _signature(4, 9, 3, written=15, flushed=3, others={COPY_FILE: 3}),
    (SERVER_COPY, "-e"): _signature(1, 6, 3, others={COPY_FILE: 3, SET_FORK: 1}),
    (SERVER_COPY, "-a"): _signature(1, 6, 3, written=5, others={COPY_FILE: 3}),
}

# The window changes when a request is sent, and not which. (With more than 3
# the peer's Copy of so few requests fails.)
SIGNATURES |= {(work, "-r 4"): SIGNATURES[work, ""] for work in WORKS}
PEER_FAILS = (COPY, "-r 4")
SIGNATURES[COPY, "-r 3"] = SIGNATURES[COPY, ""]


def _second_volume(work: str) -> dict[int, int]:
    """Opened and closed as well; a copy needs a directory there."""
    more = {OPEN_VOLUME: 1, CLOSE_VOLUME: 1}
    if work in (COPY, SERVER_COPY):
        more |= {STAT: 1, CREATE_DIR: 1, DELETE: 1}
    return dict(sorted((Counter(SIGNATURES[work, ""]) + Counter(more)).items()))


SIGNATURES |= {(work, "-S vol2"): _second_volume(work) for work in WORKS}

# Of these, what is sent in the timed regions of the two measured iterations.
TIMED: dict[str, dict[int, int]] = {
    READ: {FP_READ: 10},
    WRITE: {FP_WRITE: 10, FLUSH: 2},
    COPY: {FP_READ: 10, FP_WRITE: 10},
    SERVER_COPY: {COPY_FILE: 2},
}


def timed(work: str, option: str) -> dict[int, int]:
    """TIMED with the options of SIGNATURES."""
    found = dict(TIMED[work])
    if option == "-a":
        found.pop(FLUSH, None)
    return found


class Transfer:
    """A phase of speedtest: one test with one size."""

    def __init__(self, phase: Phase) -> None:
        self.phase = phase
        self.saved: dict[str, Any] = phase.saved["transfer"]
        self.work: str = self.saved["work"]
        self.size: int = self.saved["size_bytes"]
        self.moved: int = self.saved["moved_bytes"]
        # What one iteration carries between client and server: of a copy twice.
        self.carried = self.size * (2 if self.work == COPY else 1)
        self.requests: int = self.saved["requests"]
        self.chunk: int = self.saved["chunk_bytes"]
        self.stats: dict[str, Any] = self.saved["stats"]

    def samples(self, *, warmup: bool = False) -> list[dict[str, Any]]:
        """Complete iterations, warm-ups or measured ones."""
        found: list[dict[str, Any]] = self.saved["samples"]
        return [s for s in found if s["complete"] and s["warmup"] == warmup]

    def times(self) -> list[int]:
        return [sample["ns"] for sample in self.samples()]

    def tcp(self, end: str, when: str) -> list[dict[str, Any]]:
        return [t["values"] for t in self.saved["tcp"] if (t["end"], t["when"]) == (end, when)]


def transfers(run: Run) -> dict[tuple[str, int], Transfer]:
    """(test, size) -> its transfer, in the order of the run."""
    each = [Transfer(phase) for phase in run.phases]
    assert [phase.test for phase in run.phases] == list(range(1, len(each) + 1))
    found = {(transfer.work, transfer.size): transfer for transfer in each}
    assert len(found) == len(each), "a test has two phases of one size"
    return found


def only(run: Run) -> Transfer:
    assert len(run.phases) == 1, [phase.title for phase in run.phases]
    return Transfer(run.phases[0])


def command(scope: Scope, server: Server, *args: str, **login: Any) -> list[str]:
    return scope.command(server, *args, tool="speedtest", **login)


def speedtest(scope: Scope, server: Server, *args: str, **options: Any) -> Done:
    """afpscope speedtest, to its end."""
    keys = ("save", "timeout", "env")
    how = {key: options.pop(key) for key in keys if key in options}
    return scope.execute(command(scope, server, *args, **options), **how)


def measure(scope: Scope, server: Server, *args: str, **options: Any) -> Run:
    """A run that must succeed and whose books close; what it saved."""
    done = speedtest(scope, server, *args, save=True, **options).expect(OK)
    assert done.run, f"nothing was saved: {done}"
    done.run.assert_trustworthy()
    return done.run


def named(scope: Scope, folder: Path) -> Path:
    """The program under the name of the peer."""
    link = folder / "afp_speedtest"
    if not link.exists():
        link.symlink_to(scope.binary)
    return link


def arguments(server: Server, *args: str, user: str = "bench1") -> list[str]:
    """What peer and program understand alike."""
    return [
        *("-h", "127.0.0.1", "-p", str(server.port), "-s", "vol1"),
        *("-u", user, "-w", USERS[user], *args),
    ]


def peer(server: Server, args: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """afp_speedtest with these arguments alone; the status is for the caller."""
    whole = server.peer_command("afp_speedtest")
    at = whole.index("afp_speedtest") + 1
    return subprocess.run(
        [*pinning(server), *whole[:at], *args],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


class Probes:
    """Counts what each session of a server executes, by the server's own USDT
    probes: as judge.sh, but for many commands at once, and told apart."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.sessions: list[dict[int, int]] = []

    def __enter__(self) -> Probes:
        self._folder = tempfile.TemporaryDirectory()
        self._out = Path(self._folder.name) / "out"
        program = f"""
            BEGIN {{ printf("ready\\n"); }}
            usdt:{self._server.root}/usr/sbin/afpd:afp:afpfunc__start
            /((struct task_struct *)curtask)->real_parent->tgid == {self._server.pid}/ {{
                if (arg0 == {LOGIN}) {{ @begun[pid] = nsecs; }}
                @afp[pid, arg0] = count();
            }}"""
        with self._out.open("w") as out:
            self._process = subprocess.Popen(
                ["bpftrace", "-B", "none", "-e", program],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        wait_until(lambda: "ready\n" in self._text(), 30, "bpftrace to attach")
        return self

    def _text(self) -> str:
        assert self._process.poll() is None, f"bpftrace ended: {self._out.read_text()}"
        return self._out.read_text()

    def run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """One command, and the end of its session; the status is for the caller."""
        before = set(self._server.sessions())
        done = subprocess.run(
            ["timeout", "-k", "5", "600", *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        wait_until(lambda: set(self._server.sessions()) <= before, 10, "the session to end")
        return done

    def __exit__(self, *_: object) -> None:
        """sessions: FP code -> count, in the order in which they began."""
        with self._folder:
            for _ in range(90):  # 0.17 can lose a signal and sleep on
                self._process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(1)
                    break
            text = self._out.read_text()
        begun = {
            int(pid): int(ns) for pid, ns in re.findall(r"^@begun\[(\d+)\]: (\d+)$", text, re.M)
        }
        counts: dict[int, dict[int, int]] = {
            pid: {} for pid in sorted(begun, key=begun.__getitem__)
        }
        for pid, code, count in re.findall(r"^@afp\[(\d+), (\d+)\]: (\d+)$", text, re.M):
            counts[int(pid)][int(code)] = int(count)
        self.sessions = [dict(sorted(found.items())) for found in counts.values()]


@contextlib.contextmanager
def file_of(server: Server, name: str, size: int, mode: int = 0o444) -> Iterator[Path]:
    """A file of the volume's root that is not the user's, of bytes that differ."""
    path = server.vol1 / name
    block = bytes(i * 7 % 251 for i in range(64 * KIB))
    with path.open("wb") as out:
        if size <= 64 * MIB:
            for at in range(0, size, len(block)):
                out.write(block[: size - at])
        out.truncate(size)
    path.chmod(mode)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def files(server: Server) -> list[Path]:
    """Of the test directories that are on the volumes now."""
    return [
        path
        for volume in (server.vol1, server.vol2)
        for path in volume.glob("LanTest-*/*")
        if not path.name.startswith(".")
    ]


def wait_resting(running: Running) -> None:
    """Until the client waits between two iterations: in poll, not just for room to send."""
    at = Path(f"/proc/{running.process.pid}/wchan")
    looks = 0

    def resting() -> bool:
        nonlocal looks
        looks = looks + 1 if "poll" in at.read_text() else 0
        return looks == 5

    wait_until(resting, 30, "the delay", step=0.01)


def between(running: Running, server: Server, size: int) -> list[Path]:
    """Waits for the delay behind the first iteration; the files that are there.

    The run must have a delay of a second or more, and no warm-up.
    """

    def whole() -> bool:
        assert running.process.poll() is None, f"ended early:\n{running.err}"
        with contextlib.suppress(OSError):
            return any(path.stat().st_size == size for path in files(server))
        return False

    wait_until(whole, 30, "the first iteration", step=0.005)
    wait_resting(running)
    return files(server)
