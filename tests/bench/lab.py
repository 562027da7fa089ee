# SPDX-License-Identifier: GPL-2.0-or-later
"""The bench itself: one real server, clients run against it, what each run cost.

Server and client share one CPU unless told otherwise: on two CPUs waking each
other is most of the time and changes from run to run. Both have the highest
nice value, so that what else runs on the machine disturbs less.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "tests" / "server"))
from netatalk import PEER_SUITE, USERS, Server, children_of  # noqa: E402

OUT = REPO / "build" / "bench"
LETTERS = "123456789:;<"  # tests 1 to 12 for -f
CLONE_NEWNS = 0x20000
CLONE_NEWNET = 0x40000000
CONGESTION = Path("/proc/sys/net/ipv4/tcp_congestion_control")
NICE = -20

# "Run 1 => TITLE [8,000 AFP ops]     173 ms"; the titles are those of the tests, in order.
PEER_LINE = re.compile(r"^Run 1 => (.*?)\s+(\d+) ms", re.MULTILINE)


@dataclass(frozen=True)
class Sample:
    """One run of a client: its CPU time, and the time of each test."""

    cpu_s: float
    ms: Mapping[int, float]

    def sum_ms(self) -> float:
        return sum(self.ms.values())


def unshare(what: int) -> None:
    """This process's own, and of what it starts from now on."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(what):
        raise OSError(ctypes.get_errno(), "unshare")


def own_network(congestion: str) -> None:
    """Loopback of our own: how the machine's TCP sends is not ours to change.

    BBR paces by what it measured before, which is another rate each time.
    """
    unshare(CLONE_NEWNET)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    try:
        CONGESTION.write_text(congestion)
    except OSError as e:
        sys.exit(f"bench.py: --congestion {congestion}: {e.strerror}; reno can always be had")


def favour(pid: int) -> None:
    """The highest nice value, for the group of processes that is pid's session.

    Where the kernel groups processes that way, only this value counts between
    sessions; the processes' own are for where it does not.
    """
    with suppress(FileNotFoundError):
        Path(f"/proc/{pid}/autogroup").write_text(str(NICE))


def favour_server(server: Server) -> None:
    """What it starts later inherits both."""
    for pid in (server.pid, server.metad):
        if pid:
            os.setpriority(os.PRIO_PROCESS, pid, NICE)
            favour(pid)


@dataclass
class Client:
    """A started client; output in files, so that no pipe holds it up."""

    command: list[str]
    folder: Path
    process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        with (
            (self.folder / "out").open("w") as out,
            (self.folder / "err").open("w") as err,
        ):
            self.process = subprocess.Popen(
                ["nice", "-n", str(NICE), *self.command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                text=True,
                start_new_session=True,
            )
        favour(self.process.pid)

    def finish(self) -> float:
        """Waits for it; the CPU seconds it used."""
        _, status, used = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.process.returncode:
            raise RuntimeError(
                f"{shlex.join(self.command)} ended with {self.process.returncode}:\n"
                + (self.folder / "out").read_text()[-2000:]
                + (self.folder / "err").read_text()[-2000:]
            )
        return used.ru_utime + used.ru_stime


T = TypeVar("T")
Variant = Callable[[], Sample]
Series = dict[str, list[Sample]]


class Lab:
    """For a with statement: the server is up inside it."""

    def __init__(self, afpscope: Path, pairs: int, server_cpu: int, client_cpu: int) -> None:
        self.afpscope = afpscope
        self.pairs = pairs
        self.server_cpu = server_cpu
        self.client_cpu = client_cpu
        self.free = False  # pin nobody: the kernel places them
        self._stack = ExitStack()
        self.twelve: Collection[str] = ("off", "peer", "bpf")
        self._twelve: Series = {}

    def __enter__(self) -> Self:
        OUT.mkdir(parents=True, exist_ok=True)
        self.server = self._stack.enter_context(Server(PEER_SUITE, AFPD_CPU=str(self.server_cpu)))
        try:
            favour_server(self.server)
            self._mount_for_peer()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _mount_for_peer(self) -> None:
        """What peer.sh does before each run: then the peer's run is its own only.

        In a mount namespace of this process, so that nothing stays mounted.
        """
        unshare(CLONE_NEWNS)
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        for folder in ("proc_io", "proc"):
            at = self.server.root / folder
            subprocess.run(["mount", "-t", "proc", "-o", "hidepid=0", "proc", str(at)], check=True)

    @contextmanager
    def own_file_system(self, size: str) -> Iterator[None]:
        """Meanwhile the server is another one, whose volume is a new ext4 of that size.

        That has a journal. The machine's own may have none: then ext4 makes no file in the place
        of one that was deleted in the last minutes, looks for another, and takes the longer the
        more there were.
        """
        before = self.server
        hooks = {"AFPD_VOL_SIZE": size}
        if not self.free:
            hooks["AFPD_CPU"] = str(self.server_cpu)
        with Server(PEER_SUITE, **hooks) as self.server:
            favour_server(self.server)
            try:
                yield
            finally:
                self.server = before

    def pinned(self, root: Path | str, command: Sequence[str]) -> list[str]:
        """On the client's CPU, in a root. One process from begin to end.

        Ours is started the same way as the peer, so both pay for it.
        """
        pin = [] if self.free else ["taskset", "-c", str(self.client_cpu)]
        return [*pin, "chroot", str(root), *command]

    def login(self) -> list[str]:
        at = ["-h", "127.0.0.1", "-p", str(self.server.port), "-s", "vol1"]
        return [*at, "-u", "bench1", "-w", USERS["bench1"]]

    def start_ours(self, watch: str, tests: str, *more: str, iterations: int = 1) -> Client:
        """Logs in with clear text, as the peer does."""
        options = [f"--watch={watch}", "-n", str(iterations), "-f", tests, "--uam=cleartext"]
        options += ["--no-save", *more]
        saved = ["--json", str(OUT / "run.json")]
        command = [str(self.afpscope), "lantest", *self.login(), *options, *saved]
        return Client(self.pinned("/", command), OUT)

    def finish_ours(self, client: Client) -> Sample:
        cpu = client.finish()
        run = json.loads((OUT / "run.json").read_text())
        self.settle()
        return Sample(cpu, {p["test"]: p["metrics"]["elapsed"] / 1e6 for p in run["phases"]})

    def ours(self, watch: str, tests: str = LETTERS, *more: str, iterations: int = 1) -> Sample:
        return self.finish_ours(self.start_ours(watch, tests, *more, iterations=iterations))

    def peer(self, tests: str = LETTERS) -> Sample:
        command = ["afp_lantest", *self.login(), "-n", "1", "-f", tests]
        client = Client(self.pinned(self.server.root, command), OUT)
        cpu = client.finish()
        lines = PEER_LINE.findall((OUT / "out").read_text())
        if len(lines) != len(tests):
            raise RuntimeError(f"afp_lantest printed {len(lines)} of {len(tests)} tests")
        self.settle()
        numbers = (LETTERS.index(letter) + 1 for letter in tests)
        times = (float(ms) for _, ms in lines)
        return Sample(cpu, dict(zip(numbers, times, strict=True)))

    def settle(self) -> None:
        """Until the session of the last run has gone, and afpd has waited for it."""
        end = time.monotonic() + 10
        while sessions := children_of(self.server.pid):
            if time.monotonic() > end:
                raise RuntimeError(f"sessions stay: {sessions}")
            time.sleep(0.02)

    def series(self, variants: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
        """Every variant once a round, every second round backwards."""
        next(iter(variants.values()))()  # warm-up
        samples: dict[str, list[T]] = {name: [] for name in variants}
        for i in range(rounds):
            names = list(variants)
            for name in reversed(names) if i % 2 else names:
                samples[name].append(variants[name]())
                print(".", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        return samples

    def all_twelve(self) -> Series:
        """The runs of all twelve tests that several benchmarks look at; made once."""
        if not self._twelve:
            variants: dict[str, Variant] = {
                "off": lambda: self.ours("off"),
                "peer": self.peer,
                "bpf": lambda: self.ours("bpf"),
            }
            wanted = {name: run for name, run in variants.items() if name in self.twelve}
            self._twelve = self.series(wanted, self.pairs)
        return self._twelve

    def other_cpu(self) -> int:
        """Not the server's, where there is another."""
        return min(os.sched_getaffinity(0) - {self.server_cpu}, default=self.server_cpu)

    def placement(self) -> str:
        if self.free:
            return "nobody pinned"
        if self.client_cpu == self.server_cpu:
            return f"client and server on CPU {self.client_cpu}"
        return f"client on CPU {self.client_cpu}, server on CPU {self.server_cpu}"


@cache
def compiled(source: Path, *libraries: str) -> Path:
    """A small C program of this folder, in build/bench."""
    target = OUT / source.stem
    flags = ["-O2", "-Wall", "-Wextra", "-std=gnu11", "-D_GNU_SOURCE"]
    cc = os.environ.get("CC", "cc")
    subprocess.run([cc, *flags, "-o", str(target), str(source), *libraries], check=True)
    return target


@cache
def bench_program(name: str) -> str:
    """A program of tests/bpf, built."""
    target = f"build/tests/bpf/{name}"
    subprocess.run(["make", "-s", "-C", str(REPO), target], check=True)
    return str(REPO / target)
