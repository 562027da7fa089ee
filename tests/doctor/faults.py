# SPDX-License-Identifier: GPL-2.0-or-later
"""What can be wrong with a server, made on purpose: each cause in three strengths.

A Fault is what its server is started with, what its clients do, and a context that makes the
trouble meanwhile. `found`: the keys of doctor's rules of which the first finding must be one.
Needs root, and the v1 or v2 cgroup controllers where a cause says so.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from offline import preload
from ways import slow_client

CGROUPS = Path("/sys/fs/cgroup")
MIXES = Path(__file__).resolve().parent / "mixes"


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

    def children(self, of: int) -> list[int]:
        found = Path(f"/proc/{of}/task/{of}/children").read_text()
        return [int(pid) for pid in found.split()]

    @property
    def afpds(self) -> list[int]:
        return self.children(self.pid)

    @property
    def dbds(self) -> list[int]:
        return self.children(self.metad) if self.metad else []

    @property
    def all(self) -> list[int]:
        metad = [self.metad] if self.metad else []
        return [self.pid, *metad, *self.afpds, *self.dbds]


Maker = Callable[[Site, float], contextlib.AbstractContextManager[None]]


@dataclass(frozen=True)
class Fault:
    """strength: weak, medium, strong: a number for `make`, or a hook's value."""

    name: str
    found: tuple[str, ...]
    strength: tuple[float, float, float]
    make: Maker
    mix: str = "browse"
    clients: int = 4
    think_s: float = 0.05
    load: tuple[str, ...] = ()
    cnid: str = "dbd"
    hooks: dict[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()  # folders that must be there
    verdict: str = ""  # that there must be instead of a finding
    cnids: tuple[str, ...] = ("dbd", "sqlite")  # with which it can be made
    only: tuple[str, ...] = ("forky", "trixie")  # suites with which it can be made
    before: Maker | None = None  # what is made before the clients begin
    settle_s: float = 0.3  # until doctor looks
    seconds: int = 0  # for which doctor looks at least
    # An address by which clients reach the server.
    way: Callable[[Site, float], contextlib.AbstractContextManager[str]] | None = None

    def started_with(self, level: int, made: dict[str, Path]) -> dict[str, str]:
        """Hooks; {} in a value stands for the strength, {NAME} for a program that was made."""
        names = {name: str(path) for name, path in made.items()}
        return {k: v.format(self.strength[level], **names) for k, v in self.hooks.items()}


def programs(folder: Path) -> dict[str, Path]:
    """Makes the programs that faults need, in a folder."""
    made = {"onopen": Path(preload(folder))}
    for name, flags in (
        ("slowcalls", ["-shared", "-fPIC", "-nostdlib"]),
        ("onquery", ["-shared", "-fPIC", "-nostdlib"]),
        ("slowfs", ["-I/usr/include/fuse3", "-lfuse3"]),
    ):
        made[name] = folder / name
        source = Path(__file__).with_name(f"{name}.c")
        command = ["cc", "-O2", "-o", str(made[name]), str(source), *flags]
        subprocess.run(command, check=True)
    return made


# Makers


@contextlib.contextmanager
def nothing(site: Site, strength: float) -> Iterator[None]:
    yield


@contextlib.contextmanager
def repeated(step: Callable[[threading.Event], None]) -> Iterator[None]:
    """step in a thread, again and again until the block ends; it gets the event of the end."""
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            step(over)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _signal(pids: list[int], sig: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sig)


def stopping(who: Callable[[Site], list[int]]) -> Maker:
    """Stopped for that share of each second."""

    def make(site: Site, share: float) -> contextlib.AbstractContextManager[None]:
        def step(over: threading.Event) -> None:
            pids = who(site)
            _signal(pids, signal.SIGSTOP)
            time.sleep(share)
            _signal(pids, signal.SIGCONT)
            over.wait(1 - share)

        return repeated(step)

    return make


def killing(site: Site, every_s: float) -> contextlib.AbstractContextManager[None]:
    """cnid_dbd is killed so often; cnid_metad starts it again."""

    def step(over: threading.Event) -> None:
        over.wait(every_s)
        _signal(site.dbds, signal.SIGKILL)

    return repeated(step)


def locked_database(site: Site, share: float) -> contextlib.AbstractContextManager[None]:
    """Another program has the SQLite database locked for that share of each second."""
    path = site.root / "inst" / str(site.port) / "cnid" / "vol1" / "vol1.sqlite"
    database = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)

    def step(over: threading.Event) -> None:
        with contextlib.suppress(sqlite3.OperationalError):
            database.execute("BEGIN EXCLUSIVE")
            time.sleep(share)
            database.execute("ROLLBACK")
        over.wait(max(0.02, 1 - share))

    return repeated(step)


@contextlib.contextmanager
def cpu_quota(site: Site, share: float) -> Iterator[None]:
    """The server has that share of one CPU, in periods of 100 ms."""
    group = CGROUPS / "cpu" / f"afpscope-{site.port}"
    group.mkdir()
    try:
        (group / "cpu.cfs_period_us").write_text("100000")
        (group / "cpu.cfs_quota_us").write_text(str(int(100000 * share)))
        for pid in site.all:
            (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (CGROUPS / "cpu" / "cgroup.procs").write_text(pid)
        time.sleep(0.05)
        with contextlib.suppress(OSError):
            group.rmdir()


BURN = """
import sys, time
share = float(sys.argv[1])
while True:
    begin = time.monotonic()
    while time.monotonic() - begin < share: pass
    time.sleep(1 - share)
"""


@contextlib.contextmanager
def burning(site: Site, share: float) -> Iterator[None]:
    """A program has the server's CPU for that share of each second."""
    command = ["chrt", "-f", "10", "taskset", "-c", str(site.cpu), sys.executable, "-c", BURN]
    process = subprocess.Popen([*command, str(share)])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _free_bytes(folder: Path) -> int:
    at = os.statvfs(folder)
    return at.f_bfree * at.f_frsize


def _append(path: Path, n_bytes: int) -> None:
    """As many as there is room for."""
    with contextlib.suppress(OSError), path.open("ab", buffering=0) as file:
        while n_bytes > 0:
            n_bytes -= file.write(bytes(min(n_bytes, 4096)))


@contextlib.contextmanager
def filled(site: Site, room: float) -> Iterator[None]:
    """The volume has so many bytes left, also when clients remove files meanwhile."""
    filler = site.vol1 / "filler"
    # What is not on the disk yet counts for more than it will take there.
    for _ in range(3):
        _append(filler, sys.maxsize)
        os.sync()
    kept = _free_bytes(site.vol1) + int(room)
    os.truncate(filler, max(0, filler.stat().st_size - int(room)))

    def step(over: threading.Event) -> None:
        _append(filler, _free_bytes(site.vol1) - kept)
        over.wait(0.05)

    with repeated(step):
        yield


def _device(path: Path) -> str:
    """MAJOR:MINOR of the disk that has a path."""
    number = path.stat().st_dev
    found = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    whole = found.resolve().parent / "dev" if (found / "partition").exists() else found / "dev"
    return whole.read_text().strip()


def slow_disk(which: str) -> Maker:
    @contextlib.contextmanager
    def make(site: Site, bytes_per_s: float) -> Iterator[None]:
        group = CGROUPS / "blkio" / f"afpscope-{site.port}"
        group.mkdir()
        limit = group / f"blkio.throttle.{which}_bps_device"
        device = _device(site.vol1)
        try:
            limit.write_text(f"{device} {int(bytes_per_s)}")
            for pid in site.all:
                (group / "cgroup.procs").write_text(str(pid))
            yield
        finally:
            limit.write_text(f"{device} 0")
            for pid in (group / "cgroup.procs").read_text().split():
                with contextlib.suppress(OSError):
                    (CGROUPS / "blkio" / "cgroup.procs").write_text(pid)
            time.sleep(0.05)
            with contextlib.suppress(OSError):
                group.rmdir()

    return make


@contextlib.contextmanager
def cold_reads(site: Site, bytes_per_s: float) -> Iterator[None]:
    """The disk reads so fast, and nothing stays in memory."""

    def step(over: threading.Event) -> None:
        Path("/proc/sys/vm/drop_caches").write_text("1")
        over.wait(0.1)

    os.sync()
    with slow_disk("read")(site, bytes_per_s), repeated(step):
        yield


def connecting(site: Site, per_s: float) -> contextlib.AbstractContextManager[None]:
    """A client logs in and out so often."""
    program = Path(os.environ["AFPSCOPE"])
    url = f"afp://bench2@127.0.0.1:{site.port}/vol2"
    options = ["load", "--no-save", "--watch=off", "--no-probe", "--uam=cleartext", "-n1", "-d1"]
    command = [str(program), *options, "--ramp=0", "--mix=idle", url]
    env = os.environ | {"AFPSCOPE_PASSWORD": "secret1"}

    def step(over: threading.Event) -> None:
        for _ in range(max(1, round(per_s))):
            quiet = subprocess.DEVNULL
            subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=env)
        over.wait(max(1.0, 1 / per_s))

    return repeated(step)


CPU = (str(CGROUPS / "cpu"),)
BLKIO = (str(CGROUPS / "blkio"),)

FAULTS = (
    Fault("stopped server", ("server-stopped",), (0.15, 0.3, 0.6), stopping(lambda s: s.afpds)),
    Fault(
        "stopped CNID server", ("cnid-stopped",), (0.15, 0.3, 0.6), stopping(lambda s: s.dbds),
        mix="metadata", cnids=("dbd",),
    ),
    Fault(
        "CNID server that dies", ("cnid-restarts",), (2, 1, 0.4), killing, mix="metadata",
        cnids=("dbd",),
    ),
    Fault(
        "locked database", ("cnid-lock",), (0.2, 0.5, 0.9), locked_database, mix="metadata",
        cnid="sqlite", cnids=("sqlite",), only=("forky",),
    ),
    Fault(
        "CPU quota", ("cpu-limit",), (0.02, 0.015, 0.01), cpu_quota, clients=20, needs=CPU,
    ),
    Fault("other programs", ("other-programs",), (0.2, 0.5, 0.8), burning, clients=10),
    Fault(
        "too many clients", ("cpu-short",), (300, 400, 600), nothing, think_s=0,
        clients=0, load=("--realtime",),
    ),
    Fault(
        "full disk", ("disk-full", "disk-room"), (2e5, 1e5, 0), filled, mix="office",
        hooks={"AFPD_VOL_SIZE": "96M"},
    ),
    Fault(
        "slow writes", ("fsync", "slow-disk"), (6e6, 3e6, 1e6), slow_disk("write"), mix="office",
        needs=BLKIO,
    ),
    Fault(
        "slow reads", ("slow-disk",), (16e6, 8e6, 4e6), cold_reads, mix="office", clients=8,
        load=("--file-size=512K",), needs=BLKIO,
    ),
    Fault(
        "log level", ("log",), (0, 1, 2), nothing,
        hooks={"AFPD_GLOBAL": "log level = default:maxdebug"},
    ),
    Fault(
        "directory cache", ("dircache",), (24, 40, 60), nothing, think_s=0.005, clients=2,
        mix=str(MIXES / "list.ini"), load=("--directories={0:.0f}",), cnids=("dbd",),
        hooks={"AFPD_GLOBAL": "dircache size = 1024"}, only=("forky",),
    ),
    # There it has at least 8,192 entries, by default so many.
    Fault(
        "directory cache of 4.2", ("dircache",), (150, 300, 400), nothing, think_s=0,
        clients=2, mix=str(MIXES / "list.ini"), load=("--directories={0:.0f}",),
        cnids=("dbd",), only=("trixie",), seconds=12,
    ),
    Fault("login loop", ("login-loop",), (1, 2, 4), connecting),
    Fault(
        "session limit", ("session-limit",), (2, 3, 4), connecting, clients=3,
        hooks={"AFPD_GLOBAL": "max connections = 4"},
    ),
    Fault(
        "slow client", ("network",), (8e6, 4e6, 2e6), nothing, mix="batch-read", clients=1,
        load=("--file-size=8M",), way=slow_client,
    ),
)  # fmt: skip
