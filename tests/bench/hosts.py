# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope load on four hosts: how far apart they begin, seen by who serves them.

The hosts are network and time namespaces: each has an address, a name, and a monotonic clock of its
own. What they send each other goes through a router of this program, which holds every packet for a
time and drops some; so no program needs to know of it. The clients work in a directory that all
hosts see; when each of them began is what its file system reports (inotify), by one clock.

hosts.py [FLAVOUR...]    default: openmpi mpich (root)
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import heapq
import json
import os
import random
import selectors
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
sys.path += [str(TOP / "tests" / "integration" / "lib"), str(TOP / "tests" / "server")]

from mpirun import ENVIRONMENT, hosts_file, over_hosts  # noqa: E402
from netns import BENCHMARKS, inside, ip  # noqa: E402

HOSTS, CLIENTS = 4, 8
DELAYS_MS = (0, 2, 10)
LOSS = 0.01
GOAL_MS = 5
TUNSETIFF, TUN, NO_INFO = 0x400454CA, 1, 0x1000
IN_CREATE = 0x100


class Router:
    """Holds and drops what hosts send each other."""

    def __init__(self, network: int, delay_s: float, loss: float) -> None:
        self.delay_s, self.loss = delay_s, loss
        self.random = random.Random(1)
        self.fds = [self._tunnel(network, i) for i in range(HOSTS)]
        self.ended = threading.Event()
        self.carried = self.dropped = 0
        self.thread = threading.Thread(target=self._run)

    @staticmethod
    def _tunnel(network: int, i: int) -> int:
        name = f"afs-{os.getpid()}-{i}"
        ip("netns", "add", name)
        with inside(f"/run/netns/{name}"):
            fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", b"tun0", TUN | NO_INFO))
        ip("-n", name, "addr", "add", f"{BENCHMARKS[network + 1 + i]}/24", "dev", "tun0")
        ip("-n", name, "link", "set", "tun0", "up")
        ip("-n", name, "link", "set", "lo", "up")
        return fd

    def _run(self) -> None:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))  # this thread
        waiting: list[tuple[float, int, int, bytes]] = []
        selector = selectors.DefaultSelector()
        for fd in self.fds:
            selector.register(fd, selectors.EVENT_READ)
        while not self.ended.is_set():
            left = waiting[0][0] - time.monotonic() if waiting else 0.1
            for key, _ in selector.select(max(0, min(left, 0.1))):
                self._take(key.fd, waiting)
            while waiting and waiting[0][0] <= time.monotonic():
                _, _, to, packet = heapq.heappop(waiting)
                with contextlib.suppress(OSError):
                    os.write(self.fds[to], packet)

    def _take(self, fd: int, waiting: list[tuple[float, int, int, bytes]]) -> None:
        with contextlib.suppress(BlockingIOError):
            while packet := os.read(fd, 65536):
                to = packet[19] - 1
                if packet[0] >> 4 != 4 or not 0 <= to < HOSTS:
                    continue
                self.carried += 1
                if self.random.random() < self.loss:
                    self.dropped += 1
                    continue
                heapq.heappush(waiting, (time.monotonic() + self.delay_s, self.carried, to, packet))

    def __enter__(self) -> Router:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()
        for i, fd in enumerate(self.fds):
            os.close(fd)
            ip("netns", "del", f"afs-{os.getpid()}-{i}")


class Beginnings:
    """When the first entry was made in each directory below `base` after all were there."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.first: dict[str, float] = {}
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))  # this thread
        libc = ctypes.CDLL(None, use_errno=True)
        fd = libc.inotify_init1(os.O_NONBLOCK)
        names: dict[int, str] = {}
        while len(names) < CLIENTS and not self.ended.wait(0.01):
            found = sorted(self.base.glob("LanTest-*/d*"))
            if len(found) == CLIENTS:
                names = {
                    libc.inotify_add_watch(fd, str(p).encode(), IN_CREATE): p.name for p in found
                }
        while not self.ended.wait(0.0002):
            with contextlib.suppress(BlockingIOError):
                now, data = time.monotonic(), os.read(fd, 1 << 16)
                while data:
                    watch, _, _, size = struct.unpack_from("iIII", data)
                    self.first.setdefault(names[watch], now)
                    data = data[16 + size :]
        os.close(fd)

    def __enter__(self) -> Beginnings:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()

    @property
    def spread_ms(self) -> float:
        """Between the first clients of the hosts: those that begin at the agreed moment."""
        at = [t for name, t in self.first.items() if int(name[1:]) < HOSTS]
        return 1000 * (max(at) - min(at)) if len(at) == HOSTS else float("nan")


def measure(flavour: str, delay_ms: int, loss: float, kill: bool = False) -> dict[str, Any]:
    network = 256 * (os.getpid() % 256)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm")))
        work = folder / "work"
        work.mkdir()
        names = [f"afs-{os.getpid()}-{i}" for i in range(HOSTS)]
        addresses = {name: str(BENCHMARKS[network + 1 + i]) for i, name in enumerate(names)}
        stack.enter_context(hosts_file(addresses))
        router = stack.enter_context(Router(network, delay_ms / 1000, loss))
        began = stack.enter_context(Beginnings(work))
        command = [
            *over_hosts(flavour, folder, names, HOSTS),
            *(str(TOP / "build" / "afpscope"), "load", "--mpi", str(work)),
            *("-n", str(CLIENTS), "-d", "4", "--ramp", "0", "--no-save"),
            *("-m", "metadata", "--files", "0"),
            *("--think", "0.5"),  # all begin at once, but then do not keep the CPUs busy
            *("--json", str(folder / "run.json")),
        ]
        env = os.environ | ENVIRONMENT
        process = subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if kill:
            stack.enter_context(killing(began, folder))
        out, _ = process.communicate(timeout=150)
        saved = folder / "run.json"
        if not saved.exists():
            raise SystemExit(f"{' '.join(command)}: status {process.returncode}\n{out}")
        phase = json.loads(saved.read_text())["phases"][0]
        return {
            "status": process.returncode,
            "spread_ms": began.spread_ms,
            "ranks": phase["ranks"],
            "actions": sum(a["n"] for a in phase["load"]["actions"]),
            "left": [p.name for p in work.iterdir()],
            "carried": router.carried,
            "dropped": router.dropped,
        }


@contextlib.contextmanager
def killing(began: Beginnings, folder: Path) -> Iterator[None]:
    """The load process of rank 2, once it works."""

    def run() -> None:
        while len(began.first) < CLIENTS and not began.ended.is_set():
            time.sleep(0.05)
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (path / "cmdline").read_bytes()
                host = (path / "environ").read_bytes()
                mine = str(folder).encode() in words and b"load\0--mpi" in words
                rank = b"OMPI_COMM_WORLD_RANK=2\0" in host or b"PMI_RANK=2\0" in host
                parent = (path / "stat").read_text().rpartition(")")[2].split()[1]
                above = (Path("/proc") / parent / "cmdline").read_bytes()
                if mine and rank and above == words:
                    os.kill(int(path.name), 9)

    thread = threading.Thread(target=run)
    thread.start()
    yield
    thread.join()


def main(flavours: list[str]) -> int:
    bad = 0
    cases = [(d, 0.0, False) for d in DELAYS_MS] + [(d, LOSS, False) for d in DELAYS_MS[1:]]
    for flavour in flavours:
        for delay_ms, loss, kill in [*cases, (2, LOSS, True)]:
            found = measure(flavour, delay_ms, loss, kill)
            ranks = found["ranks"]
            done = [r for r in ranks if r["end"] == "done"]
            skew, unsure = (max(r[k] for r in done) / 1e6 for k in ("skew_ns", "unsure_ns"))
            total = sum(a["n"] for r in done for a in r["actions"])
            wrong = found["spread_ms"] > GOAL_MS or total != found["actions"] or found["left"]
            wrong = wrong or len(done) != HOSTS - kill or found["status"] != 6 * kill
            bad += bool(wrong)
            print(
                f"{flavour:8} delay {delay_ms:2} ms, loss {100 * loss:.0f} %"
                f"{', rank 2 killed' if kill else ''}: seen apart {found['spread_ms']:.2f} ms,"
                f" own estimate {skew:.3f} ms +-{unsure:.3f}; {found['actions']} actions,"
                f" ranks' sum {total}; {len(done)} of {HOSTS} ranks done on"
                f" {len({r['host'] for r in done})} hosts; status {found['status']},"
                f" left {found['left']}; packets {found['carried']}, dropped {found['dropped']}"
                f"{': NOT AS WANTED' if wrong else ''}",
                flush=True,
            )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["openmpi", "mpich"]))
