# SPDX-License-Identifier: GPL-2.0-or-later
"""How many volumes fill a server whose threads are shared by a quota: a map of users by volumes.

quota.py [--threads N] [--jobs N] [--users LIST]

CERN's rule was: at most n threads for one user on one volume. Here each such pair is a client of
its own, and n is --quota of afpscope rx --serve. A client has --jobs calls at a time. Two ways:

held    the calls stay unfinished, so that they keep their threads; then one more user makes one
        call. A cell of the map is "." where that was answered, "#" where no thread was left.
real    afpscope rx, one user, more and more volumes; the most threads that the server saw busy.

Prints the first number of volumes that fills the server beside threads / quota. Exits with 1 if one
of them is off by more than a volume.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path += [str(REPO / "tests" / "integration" / "lib"), str(REPO / "tests" / "server")]

from rxing import ask  # noqa: E402
from rxpeer import DATA, DEBUG, FROM_CLIENT, Packet, head, udp_socket  # noqa: E402

PROGRAM = REPO / "build" / "afpscope"
QUOTAS = (30, 15)
SEND = 0
ANSWER_S, SETTLE_S = 1, 10
SAME = 8  # looks with the same figures
BEYOND = 2  # volumes that are tried after the first that fills the server


@dataclass
class Serving:
    """A server; `did` once it has ended."""

    port: int
    process: subprocess.Popen[str]
    saved: Path
    did: dict[str, dict[str, int]]


@contextlib.contextmanager
def serving(threads: int, quota: int) -> Iterator[Serving]:
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [str(PROGRAM), "rx", "--serve", "-p", "0", "--address", "127.0.0.1"]
        command += ["-s", str(threads), "-S", str(threads), f"--quota={quota}", "--buffer=16M"]
        server = subprocess.Popen(
            [*command, "--json", file.name],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert server.stderr
        found = re.search(r"UDP port (\d+)", server.stderr.readline())
        assert found
        it = Serving(int(found[1]), server, Path(file.name), {})
        try:
            yield it
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=30)
        it.did = json.loads(it.saved.read_text())


def _waiting_idle(port: int) -> tuple[int, int]:
    """Calls that wait, and threads that do nothing, as rxdebug asks for them."""
    waiting, idle = struct.unpack_from(">II", ask(port, DEBUG, struct.pack(">II", 1, 0)), 16)
    return waiting, idle


def _settle(port: int, threads: int, calls: int) -> int:
    """Once all calls are there, and no thread takes one any more: the idle threads."""
    end = time.monotonic() + SETTLE_S
    same, before = 0, (0, 0)
    while time.monotonic() < end:
        now = _waiting_idle(port)
        waiting, idle = now
        there = waiting + threads - idle == calls
        same = same + 1 if there and now == before else 0
        if same == SAME:
            return idle
        before = now
        time.sleep(0.02)
    raise RuntimeError(f"{waiting} calls wait and {idle} threads are idle, of {calls} calls")


def _is_answered(port: int) -> bool:
    """One more user's call."""
    call = [str(PROGRAM), "rx", f"127.0.0.1:{port}", "-c", "rpc", "-T", "1", "--no-save"]
    call += ["--timeout", str(ANSWER_S), "--watch=off"]
    return subprocess.run(call, capture_output=True).returncode == 0


def held(threads: int, quota: int, clients: int, jobs: int) -> bool:
    """Whether a thread is left for one more user."""
    with serving(threads, quota) as server, contextlib.ExitStack() as stack:
        for n in range(clients):
            s = stack.enter_context(udp_socket())
            for cid in range(jobs):
                start = Packet(
                    *(0x80000001 + n, cid, 1, 1, 1, DATA, FROM_CLIENT), data=head(SEND, 9)
                )
                s.sendto(start.bytes(), ("127.0.0.1", server.port))
        idle = _settle(server.port, threads, clients * jobs)
        answered = _is_answered(server.port)
        assert answered == (idle > 0), f"{clients} clients: {idle} idle, answered: {answered}"
        return answered


def real(threads: int, quota: int, clients: int, jobs: int) -> int:
    """The most threads that were busy with calls that are really made."""
    with serving(threads, quota) as server:
        call = [str(PROGRAM), "rx", f"127.0.0.1:{server.port}", "-c", "recv", "-b", "256K"]
        call += ["-n", str(clients), "-t", str(jobs), "-T", "4", "-u", "8192", "--no-save"]
        subprocess.run([*call, "--watch=off"], check=True, capture_output=True)
    return server.did["calls"]["most_busy"]


def row(threads: int, quota: int, users: int, jobs: int) -> tuple[str, int]:
    """A line of the map, and the first number of volumes that fills the server."""
    line, first, volumes = "", 0, 0
    while not first or volumes < first + BEYOND:
        volumes += 1
        free = held(threads, quota, users * volumes, jobs)
        line += "." if free else "#"
        if not free and not first:
            first = volumes
    return line, first


def quota_map(o: argparse.Namespace, quota: int) -> bool:
    """Whether each measured edge is within a volume of threads / quota."""
    print(f"quota {quota}, {o.threads} threads, {o.jobs} calls of each user on each volume")
    good = True
    for users in o.users:
        line, first = row(o.threads, quota, users, o.jobs)
        says = o.threads / quota / users
        # Up to `first - 1` volumes there is a thread left.
        good &= abs(first - 1 - says) <= 1
        print(
            f"  {users:2} users  {line:<24} full at {first:2}, the rule says {says:5.2f}",
            flush=True,
        )
    edge = o.threads // quota
    busy = {n: real(o.threads, quota, n, o.jobs) for n in range(edge - 1, edge + 3)}
    first = next((n for n, most in busy.items() if most == o.threads), 0)
    good &= bool(first) and abs(first - 1 - o.threads / quota) <= 1
    most = ", ".join(f"{n}: {of}" for n, of in busy.items())
    print(
        f"  real calls, 1 user; most threads busy by volumes: {most}; full at {first}", flush=True
    )
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=246)
    parser.add_argument("--jobs", type=int, default=40)
    parser.add_argument("--users", type=lambda text: [int(n) for n in text.split(",")],
                        default=[1, 2, 3, 4, 6, 8])  # fmt: skip
    o = parser.parse_args()
    good = [quota_map(o, quota) for quota in QUOTAS]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
