# SPDX-License-Identifier: GPL-2.0-or-later
"""A server under test, what can be wrong with it, and what its clients do meanwhile."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from netatalk import BOUND, children_of
from offline import preload

CGROUPS = Path("/sys/fs/cgroup")
MIXES = Path(__file__).resolve().parent / "mixes"
NONE, THIRD, MOST = range(3)  # doses, by how much of clients' waiting the fault makes
DOSES = ("none", "third", "most")
NOTHING = ""  # among the right keys: that nothing is found is right, too


@dataclass
class Site:
    """A server under test: its processes and paths, and the port that clients use."""

    port: int
    pid: int
    metad: int | None
    root: Path
    vol1: Path
    cpu: int
    client_cpu: int
    programs: dict[str, Path]
    restart: str  # a shell command: volumes and databases stay
    only: tuple[int, ...] = ()  # sessions that a fault hits; none: all

    def children(self, of: int) -> list[int]:
        return list(children_of(of))

    @property
    def inst(self) -> Path:
        """Where volumes, databases and the log are."""
        return self.vol1.parent

    def comm(self, pid: int) -> str:
        with contextlib.suppress(OSError):
            return Path(f"/proc/{pid}/comm").read_text().strip()
        return ""

    @property
    def afpds(self) -> list[int]:
        """The sessions; of Samba not the two that serve nobody."""
        return [
            pid
            for pid in self.children(self.pid)
            if (not self.only or pid in self.only)
            and not self.comm(pid).endswith(("notifyd", "cleanupd"))
        ]

    @property
    def dbds(self) -> list[int]:
        return self.children(self.metad) if self.metad else []

    @property
    def all(self) -> list[int]:
        metad = [self.metad] if self.metad else []
        return [self.pid, *metad, *self.children(self.pid), *self.dbds]


@dataclass
class Tally:
    """What clients of a fault's own wait for: the load does not know of them."""

    ended: list[tuple[float, float, bool]] = field(default_factory=list)  # begin, end, failed
    pending: dict[int, float] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    n: int = 0

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """A request; an exception that leaves the block is one that failed, and goes no further."""
        begin = time.monotonic()
        failed = False
        with self.lock:
            self.n += 1
            me = self.n
            self.pending[me] = begin
        try:
            yield
        except (OSError, RuntimeError):
            failed = True
        finally:
            with self.lock:
                del self.pending[me]
                self.ended.append((begin, time.monotonic(), failed))


Maker = Callable[["Site", float], contextlib.AbstractContextManager["Tally | None"]]
Way = Callable[["Site", float], contextlib.AbstractContextManager[str]]


@dataclass(frozen=True)
class Part:
    """Clients of a load that do the same: what afpscope load is told."""

    mix: str
    clients: int
    think_s: float = 0.05
    more: tuple[str, ...] = ()


LOADS: dict[str, tuple[Part, ...]] = {
    "browse": (Part("browse", 4, 0.05, ("--files=20",)),),
    "office": (Part("office", 4, 0.05, ("--files=20", "--file-size=64K")),),
    "read": (Part("batch-read", 2, 0, ("--file-size=8M",)),),
    "write": (Part("batch-write", 2, 0, ("--file-size=4M",)),),
    "mixed": (
        Part("browse", 3, 0.05, ("--files=20",)),
        Part("batch-write", 1, 0.02, ("--file-size=2M",)),
    ),
    "one": (Part("browse", 1, 0.05, ("--files=20",)),),
    "users": (Part("browse", 200, 2, ("--files=2",)),),
    # The fault hits the only one that is at work: it comes last.
    "victim": (Part("idle", 20), Part("browse", 1, 0.05, ("--files=20",))),
    "backup": (Part("timemachine", 2, 0.05, ("--file-size=2M",)),),
    "metadata": (Part("metadata", 4, 0.05, ("--files=10",)),),
}
LOOKING = ("browse", "office", "mixed", "one", "users", "victim")  # at files and folders
WRITING = ("office", "write", "mixed")
# Of each suite of Debian the CNID schemes of its netatalk; smb: its Samba.
SCHEMES = {
    "bullseye": ("dbd", "mysql"),
    "bookworm": ("smb",),
    "trixie": ("dbd", "mysql", "smb"),
    "forky": ("dbd", "sqlite", "mysql"),
    "sid": ("smb",),
}


@contextlib.contextmanager
def nothing(site: Site, strength: float) -> Iterator[None]:
    yield


@dataclass(frozen=True)
class Fault:
    """What its server is started with, what its clients do, and what is made while they do it."""

    name: str
    found: tuple[str, ...]  # keys of which the first finding must be one
    # For no harm, a third of the waiting, most of it: a number for `make`, or a hook's value.
    doses: tuple[float | str | None, float | str | None, float | str | None]
    make: Maker = nothing
    loads: tuple[str, ...] = LOOKING
    own: tuple[Part, ...] = ()  # instead of loads; {} in an option stands for the strength
    calm: tuple[Part, ...] = ()  # without the fault, where the load itself is the fault
    also: tuple[str, ...] = ()  # what it is known to bring with it
    hooks: dict[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()  # paths that must be there
    cnids: tuple[str, ...] = ("dbd", "sqlite", "mysql")  # with which it can be made
    suites: tuple[str, ...] = ("bullseye", "trixie", "forky")
    before: Maker | None = None  # what is made before the clients begin
    company: Maker | None = None  # clients beside the load, with and without the fault
    apart: bool = False  # without the fault it is another server: hooks, or what is made before
    hangs: bool = False  # the load gets no session
    alone: bool = False  # takes both CPUs, or does something to the machine
    settle_s: float = 0.3  # until doctor looks
    seconds: int = 0  # for which doctor looks at least
    way: Way | None = None  # an address by which clients reach the server
    healthy: bool = False  # nothing is wrong

    def started_with(self, dose: int, made: dict[str, Path]) -> dict[str, str]:
        """Hooks; {} in a value stands for the strength, {NAME} for a program that was made."""
        names = {name: str(path) for name, path in made.items()}
        return {k: v.format(self.doses[dose], **names) for k, v in self.hooks.items()}

    def load(self, name: str, dose: int) -> tuple[Part, ...]:
        def told(part: Part) -> Part:
            more = tuple(o.format(self.doses[dose]) for o in part.more)
            return Part(part.mix, part.clients or int(self.doses[dose] or 0), part.think_s, more)

        return tuple(map(told, self.own)) if self.own else LOADS[name]


def programs(folder: Path) -> dict[str, Path]:
    """Makes the programs that faults need, in a folder."""
    made = {"onopen": Path(preload(folder))}
    for name, flags in (
        ("slowcalls", ["-shared", "-fPIC", "-nostdlib"]),
        ("onquery", ["-shared", "-fPIC", "-nostdlib"]),
        ("slowfs", ["-I/usr/include/fuse3", "-lfuse3"]),
        ("scanner", []),
        ("pamhang", ["-static"]),
    ):
        made[name] = folder / name
        source = Path(__file__).with_name(f"{name}.c")
        command = ["cc", "-O2", "-o", str(made[name]), str(source), *flags]
        subprocess.run(command, check=True)
    return made


# What makers are made of


@contextlib.contextmanager
def beside(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """work in a thread; it gets the event of the block's end, which then waits for its return."""
    over = threading.Event()
    thread = threading.Thread(target=work, args=(over,))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def repeated(step: Callable[[threading.Event], None]) -> contextlib.AbstractContextManager[None]:
    """step in a thread, again and again until the block ends; it gets the event of the end."""

    def work(over: threading.Event) -> None:
        while not over.is_set():
            step(over)

    return beside(work)


class Client(Protocol):
    """Of any protocol."""

    def drop(self) -> None: ...


@contextlib.contextmanager
def again(
    ask: Callable[[], object], pause_s: float, clients: Sequence[Client] = ()
) -> Iterator[Tally]:
    """Asks again and again, with a pause after each; in the end these clients are gone."""
    tally = Tally()

    def step(over: threading.Event) -> None:
        with tally.one():
            ask()
        over.wait(pause_s)

    try:
        with repeated(step):
            yield tally
    finally:
        for client in clients:
            client.drop()


def flagged(name: str) -> Maker:
    """While the block lasts, the server's folder has a file of this name, for which hooks look."""

    @contextlib.contextmanager
    def make(site: Site, _: float) -> Iterator[None]:
        flag = site.inst / name
        flag.touch()
        try:
            yield
        finally:
            flag.unlink()

    return make


@contextlib.contextmanager
def process(*command: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program while the block lasts; it ends with this one, however that ends."""
    line = [*BOUND, *map(str, command)]
    quiet = subprocess.DEVNULL
    running = subprocess.Popen(line, stdin=quiet, stdout=quiet, stderr=quiet)
    try:
        yield running
    finally:
        running.kill()
        running.wait()


def send(pids: Sequence[int], sig: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sig)


def shares(
    begin: Callable[[Site], None], end: Callable[[Site], None], period_s: float = 1
) -> Maker:
    """begin, and end after that share of each period. Less than 1 ms of it: nothing."""

    def make(site: Site, share: float) -> contextlib.AbstractContextManager[None]:
        def step(over: threading.Event) -> None:
            if share * period_s >= 0.001:
                begin(site)
                time.sleep(share * period_s)
                end(site)
            over.wait((1 - share) * period_s)

        return repeated(step)

    return make


def stopping(who: Callable[[Site], list[int]], period_s: float = 1) -> Maker:
    """Stopped for that share of the time."""
    return shares(
        lambda site: send(who(site), signal.SIGSTOP),
        lambda site: send(who(site), signal.SIGCONT),
        period_s,
    )


def ungroup(group: Path) -> None:
    """Lets the processes of a v1 cgroup go, and removes it."""
    with contextlib.suppress(OSError):
        (group / "freezer.state").write_text("THAWED")
    end = time.monotonic() + 2
    while group.exists() and time.monotonic() < end:
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (group.parent / "cgroup.procs").write_text(pid)
        with contextlib.suppress(OSError):
            group.rmdir()
        time.sleep(0.02)


@contextlib.contextmanager
def in_group(group: Path, pids: Sequence[int], **limits: str) -> Iterator[Path]:
    """A new v1 cgroup, with these limits (__ for .), for these processes."""
    group.mkdir()
    try:
        for name, value in limits.items():
            (group / name.replace("__", ".")).write_text(value)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                (group / "cgroup.procs").write_text(str(pid))
        yield group
    finally:
        ungroup(group)


def grouped(
    site: Site, controller: str, pids: list[int], **limits: str
) -> contextlib.AbstractContextManager[Path]:
    """The same, of a controller, for a server under test."""
    return in_group(CGROUPS / controller / f"afpscope-{site.port}", pids, **limits)


def device_of(path: Path) -> str:
    """MAJOR:MINOR of the disk that has a path."""
    number = path.stat().st_dev
    found = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    whole = found.resolve().parent / "dev" if (found / "partition").exists() else found / "dev"
    return whole.read_text().strip()
