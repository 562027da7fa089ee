# SPDX-License-Identifier: GPL-2.0-or-later
"""strace on a server, from before a session begins: a second account of its calls."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from netatalk import BOUND, Server
from scope import Phase, pinning, processes_of, wait_until

# Call -> class, for what the tests compare. fcntl is told by its command.
CLASSES = {
    **dict.fromkeys(("read", "pread64", "readv", "preadv", "preadv2"), "read"),
    **dict.fromkeys(("write", "pwrite64", "writev", "pwritev", "pwritev2"), "write"),
    **dict.fromkeys(("recvfrom", "recvmsg", "recvmmsg"), "recv"),
    **dict.fromkeys(("sendto", "sendmsg", "sendmmsg"), "send"),
    "sendfile": "sendfile",
    **dict.fromkeys(("open", "openat", "openat2", "creat"), "open"),
    "close": "close",
    **{
        f"{prefix}{form}xattr": "xattr"
        for prefix in ("", "l", "f")
        for form in ("get", "set", "list", "remove")
    },
    **dict.fromkeys(("fsync", "fdatasync", "sync_file_range", "msync"), "sync"),
    **dict.fromkeys(("unlink", "unlinkat"), "unlink"),
    **dict.fromkeys(("rename", "renameat", "renameat2", "link", "linkat"), "rename"),
    **dict.fromkeys(("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "kill"), "signal"),
    **dict.fromkeys(("alarm", "setitimer", "tgkill"), "signal"),
    **dict.fromkeys(("stat", "lstat", "fstat", "newfstatat", "statx"), "stat"),
    **dict.fromkeys(("access", "faccessat", "faccessat2", "statfs", "fstatfs"), "stat"),
    **dict.fromkeys(("getdents", "getdents64", "mkdir", "mkdirat", "rmdir"), "dir"),
    **dict.fromkeys(("chdir", "fchdir", "getcwd"), "dir"),
    "flock": "lock",
}
COMPARED = sorted(set(CLASSES.values()))
LINE = re.compile(r"^(?P<pid>\d+) +(?P<at>\d+\.\d+) (?P<call>\w+)\((?P<rest>.*)$")


@dataclass
class Call:
    pid: int
    at_ns: int  # CLOCK_MONOTONIC, when it was entered
    name: str
    rest: str

    @property
    def kind(self) -> str | None:
        if self.name == "fcntl":
            return "lock" if re.search(r"F_(OFD_)?(SET|GET)LKW?\b", self.rest) else "fd"
        return CLASSES.get(self.name)

    @property
    def turns_to_next(self) -> bool:
        """A recv in which a request can come: netatalk 4.2 looks twice whether one is there
        already, before it waits."""
        return self.kind == "recv" and "= -1 EAGAIN" not in self.rest


@contextlib.contextmanager
def strace(server: Server, out: Path) -> Iterator[None]:
    """Follows all processes of a server, and the sessions that begin, into out.

    On the server's CPU: each stop of a process is two switches to strace."""
    running = processes_of(server)
    command = [*BOUND, *pinning(server), "strace", "-f", "-qq", "--absolute-timestamps=unix,ns"]
    command += ["-s", "0", "-e", "signal=none", "-o", str(out)]
    process = subprocess.Popen([*command, *(w for p in running for w in ("-p", str(p)))])

    def attached() -> bool:
        assert process.poll() is None, "strace ended"
        return all(tracer_of(pid) == process.pid for pid in running)

    wait_until(attached, 10, "strace to attach")
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def tracer_of(pid: int) -> int:
    """Of whom a process is traced; 0: of nobody."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("TracerPid:"):
            return int(line.split()[1])
    return 0


def _realtime_offset_ns() -> int:
    """CLOCK_REALTIME - CLOCK_MONOTONIC."""
    before = time.monotonic_ns()
    wall = time.time_ns()
    return wall - (before + time.monotonic_ns()) // 2


def read_calls(out: Path) -> list[Call]:
    offset = _realtime_offset_ns()
    calls = []
    for line in out.read_text(errors="replace").splitlines():
        found = LINE.match(line)
        if found:
            seconds, _, part = found["at"].partition(".")
            at = int(seconds) * 10**9 + int(part.ljust(9, "0"))
            calls.append(Call(int(found["pid"]), at - offset, found["call"], found["rest"]))
    return sorted(calls, key=lambda call: call.at_ns)


def in_phase(calls: list[Call], phase: Phase, afpd: int) -> list[Call]:
    """From its first request up to where afpd turns to the next one: what the
    server still did after its last reply is the phase's."""
    begin = phase.saved["start_ns"]
    end = begin + phase["elapsed"]
    found: list[Call] = []
    for call in calls:
        if call.at_ns > end and call.pid == afpd and call.turns_to_next:
            return found
        if call.at_ns >= begin:
            found.append(call)
    raise AssertionError("no request after the phase")


def by_class(calls: list[Call], pid: int) -> Counter[str]:
    """Class -> calls of a process (its first thread: afpd's second one only sleeps)."""
    return Counter(call.kind for call in calls if call.pid == pid and call.kind)
