# SPDX-License-Identifier: GPL-2.0-or-later
"""Other ways to see a server's system calls, to compare our watch with.

A tracer runs on any CPU, as favoured as the server. Each must show at its end
that it saw the calls.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab import NICE, OUT, Client, Lab, Sample, favour

TESTS = "19<"  # no fdatasync of cnid_dbd in their times
CALLS = 400_000  # of afpd in these tests; who saw fewer did not watch them

COUNT = 'tracepoint:raw_syscalls:sys_enter /comm == "afpd"/ { @calls[pid] = count(); }'
HISTOGRAM = """
tracepoint:raw_syscalls:sys_enter /comm == "afpd"/ { @at[tid] = nsecs; }
tracepoint:raw_syscalls:sys_exit /@at[tid]/ {
    @calls[pid] = count();
    @ns[pid] = hist(nsecs - @at[tid]);
    delete(@at[tid]);
}
"""


@dataclass(frozen=True)
class Tracer:
    """command: for the pid of afpd, or, where it cannot follow a fork, of the session."""

    name: str
    command: Callable[[int], list[str]]
    session: bool = False

    @property
    def program(self) -> str | None:
        return shutil.which(self.command(0)[0])


TRACERS = (
    Tracer("strace -f -c", lambda pid: ["strace", "-f", "-c", "-p", str(pid)]),
    Tracer(
        "perf trace -s",
        lambda pid: ["perf", "trace", "-s", "-p", str(pid)],
        session=True,
    ),
    Tracer("bpftrace count", lambda _: ["bpftrace", "-e", COUNT]),
    Tracer("bpftrace histogram", lambda _: ["bpftrace", "-e", HISTOGRAM]),
)


def traced(lab: Lab, tracer: Tracer) -> Sample:
    """Our client, unwatched, under a tracer."""
    if not tracer.session:
        tracing = _attach(tracer, lab.server.pid)
        try:
            return lab.ours("off", TESTS)
        finally:
            _detach(tracer, tracing)
    client = lab.start_ours("off", TESTS)
    try:
        pid = _session(lab, client)
        # Before the first timed region: a login is followed by a second of set-up.
        client.process.send_signal(signal.SIGSTOP)
        tracing = _attach(tracer, pid)
        client.process.send_signal(signal.SIGCONT)
        sample = lab.finish_ours(client)
    except BaseException:
        client.process.kill()
        raise
    _detach(tracer, tracing)
    return sample


def _session(lab: Lab, client: Client) -> int:
    """The pid of the session, once it is logged in: it has left root by then."""
    while client.process.poll() is None:
        for pid in lab.server.sessions():
            status = Path(f"/proc/{pid}/status").read_text()
            uids = re.search(r"^Uid:\s+\d+\s+(\d+)", status, re.MULTILINE)
            if uids and uids[1] != "0":
                return pid
        time.sleep(0.002)
    raise RuntimeError("the client ended without a session")


def _attach(tracer: Tracer, pid: int) -> subprocess.Popen[str]:
    """Starts it and waits until it has nothing more to set up."""
    with (OUT / "tracer").open("w") as out:
        tracing = subprocess.Popen(
            ["nice", "-n", str(NICE), *tracer.command(pid)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
    favour(tracing.pid)
    still, used = 0, -1
    end = time.monotonic() + 20
    while still < 8:
        time.sleep(0.1)
        if tracing.poll() is not None or time.monotonic() > end:
            tracing.kill()
            raise RuntimeError(f"{tracer.name}: {(OUT / 'tracer').read_text()}")
        now = _ticks(tracing.pid)
        still = still + 1 if now == used else 0
        used = now
    return tracing


def _detach(tracer: Tracer, tracing: subprocess.Popen[str]) -> None:
    if tracing.poll() is None:
        tracing.send_signal(signal.SIGINT)
    try:
        tracing.wait(20)
    except subprocess.TimeoutExpired:
        tracing.kill()
        tracing.wait()
        raise
    text = (OUT / "tracer").read_text()
    seen = max((int(n) for n in re.findall(r"\b\d+\b", text)), default=0)
    if seen < CALLS:
        raise RuntimeError(f"{tracer.name} saw {seen} of {CALLS} calls:\n{text}")


def _ticks(pid: int) -> int:
    """CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
