# SPDX-License-Identifier: GPL-2.0-or-later
"""What can be wrong with Samba, its clients and what is below it; and Sambas that are well."""

from __future__ import annotations

import contextlib
import fcntl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

from diskfaults import BLKIO, FUSE, filled, io_limit, own_mount, scanned, slow_files, slowed
from faults import (
    NOTHING,
    Fault,
    Maker,
    Part,
    Site,
    Tally,
    again,
    grouped,
    nothing,
    process,
    repeated,
    shares,
    stopping,
)
from serverfaults import CPU, FREEZER, burning, cpu_quota, ending, frozen
from smbwire import BATCH, UNLOCK, SmbWire
from userfaults import name_service

SMB = {"cnids": ("smb",), "suites": ("bookworm", "trixie", "sid")}
NOBODY = 65534  # whom SmbWire logs in as
LOOKING = ("browse", "office", "mixed", "one")
WRITING = ("office", "write", "mixed")
Asks = Callable[[SmbWire], None]


@contextlib.contextmanager
def asking(site: Site, ask: Asks, pause_s: float) -> Iterator[Tally]:
    """A client of its own that does this again and again."""
    client = SmbWire(site.port)
    with again(lambda: ask(client), pause_s, [client]) as tally:
        yield tally


@contextlib.contextmanager
def opening_shared(site: Site, _: float) -> Iterator[Tally]:
    """A client that opens a file which another one may have open."""
    with asking(site, lambda c: c.close(c.open("shared")), 0.03) as tally:
        yield tally


@contextlib.contextmanager
def holding_on(site: Site, seconds: float) -> Iterator[None]:
    """Another client has an oplock of that file whenever it can, and gives it up so late."""
    client = SmbWire(site.port)

    def step(over: threading.Event) -> None:
        file = client.open("shared", BATCH)
        had = client.granted == BATCH
        while had and not over.is_set() and not client.break_comes(0.2):
            pass
        over.wait(seconds if had else 0.002)
        client.close(file)

    try:
        with repeated(step):
            yield
    finally:
        client.drop()


@contextlib.contextmanager
def locking_shared(site: Site, _: float) -> Iterator[Tally]:
    """A client that locks a range of a file, and waits until it can."""
    client = SmbWire(site.port)
    file = client.open("locked")

    def ask() -> None:
        client.lock(file)
        client.lock(file, UNLOCK)

    with again(ask, 0.03, [client]) as tally:
        yield tally


@contextlib.contextmanager
def holding_range(site: Site, share: float) -> Iterator[None]:
    """Another client has that range for that share of each second."""
    client = SmbWire(site.port)
    file = client.open("locked")
    lock = shares(lambda _: client.lock(file), lambda _: client.lock(file, UNLOCK))
    try:
        with lock(site, share):
            yield
    finally:
        client.drop()


@contextlib.contextmanager
def logging_in(site: Site, _: float) -> Iterator[Tally]:
    """Clients come again and again, one after the other."""
    command = [
        *("chroot", str(site.root), "smbclient", "-s", f"/inst/{site.port}/smb.conf"),
        *("-p", str(site.port), "-U", "bench1%secret1", "//127.0.0.1/share1", "-c", "ls"),
    ]
    quiet = subprocess.DEVNULL

    def ask() -> None:
        subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet, check=False)

    with again(ask, 0.1) as tally:
        yield tally


@contextlib.contextmanager
def database_locked(site: Site, share: float) -> Iterator[None]:
    """Another program has the passwords' database for that share of each second."""
    with (site.inst / "private/passdb.tdb").open("r+b") as file:
        lock = shares(
            lambda _: fcntl.lockf(file, fcntl.LOCK_EX), lambda _: fcntl.lockf(file, fcntl.LOCK_UN)
        )
        with lock(site, share):
            yield


def folder_of(n: int) -> Maker:
    """A folder "big" with so many files; 0: the strength."""

    @contextlib.contextmanager
    def make(site: Site, strength: float) -> Iterator[None]:
        folder = site.vol1 / "big"
        folder.mkdir()
        folder.chmod(0o777)
        for i in range(n or int(strength)):
            (folder / f"other{i}").touch()
        yield

    return make


@contextlib.contextmanager
def making_files(site: Site, _: float) -> Iterator[Tally]:
    """A client that makes and removes files in that folder."""
    (site.vol1 / "big").mkdir(exist_ok=True)
    (site.vol1 / "big").chmod(0o777)

    def ask(client: SmbWire) -> None:
        client.close(client.open(r"big\mine"))
        client.remove(r"big\mine")

    with asking(site, ask, 0.01) as tally:
        yield tally


@contextlib.contextmanager
def flushing(site: Site, _: float) -> Iterator[Tally]:
    """A client that writes, and has it brought to the disk."""
    name = "flushed"

    def ask(client: SmbWire) -> None:
        file = client.open(name)
        client.write(file, b"x" * 4096)
        client.flush(file)
        client.close(file)

    with asking(site, ask, 0.03) as tally:
        yield tally


@contextlib.contextmanager
def slow_disk(site: Site, us: float) -> Iterator[None]:
    """share1 is on a disk of its own, each write of which takes so long once there is slowed()."""
    below, shown, image = (site.inst / name for name in ("below", "shown", "shown/image"))
    for folder in (below, shown):
        folder.mkdir()
    (below / "image").write_bytes(b"")
    subprocess.run(["truncate", "-s", "96M", str(below / "image")], check=True)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", str(below / "image")], check=True)
    with process(site.programs["slowfs"], below, shown, f"write={us:.0f}"):
        end = time.monotonic() + 5
        while not shown.is_mount() and time.monotonic() < end:
            time.sleep(0.02)
        try:
            subprocess.run(["mount", "-o", "loop", str(image), str(site.vol1)], check=True)
            site.vol1.chmod(0o777)
            yield
        finally:
            (site.inst / "slow").unlink(missing_ok=True)
            subprocess.run(["umount", "-l", str(site.vol1)], check=False)
            subprocess.run(["umount", "-l", str(shown)], check=False)


@contextlib.contextmanager
def own_disk(site: Site, _: float) -> Iterator[None]:
    """share1 is a file system of its own."""
    line = ["mount", "-t", "tmpfs", "-o", "size=96M,mode=777", "lab", str(site.vol1)]
    subprocess.run(line, check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(site.vol1)], check=True)


def helper_of(site: Site, name: str) -> list[int]:
    """The process of the server with this in its name."""
    return [pid for pid in site.children(site.pid) if name in site.comm(pid)]


@contextlib.contextmanager
def notifyd_starved(site: Site, share: float) -> Iterator[None]:
    """smbd-notifyd has that share of one CPU."""
    limits = {"cpu__cfs_period_us": "100000", "cpu__cfs_quota_us": str(int(100000 * share))}
    with grouped(site, "cpu", helper_of(site, "notifyd"), **limits):
        yield


WATCHERS = 4  # clients, of which each has many folders open


@contextlib.contextmanager
def watched(site: Site, n: float) -> Iterator[None]:
    """Clients want to be told of all changes, so many times: smbd-notifyd has a message to send to
    each for each of them."""
    clients = [SmbWire(site.port) for _ in range(WATCHERS)]
    try:
        for i in range(int(n)):
            clients[i % WATCHERS].watch()
        yield
    finally:
        for client in clients:
            client.drop()


PTRACE_SEIZE = 0x4206


@contextlib.contextmanager
def seized(site: Site, _: float) -> Iterator[None]:
    """A debugger is attached to the sessions, and stops nothing."""
    line = "import ctypes, sys, time\nlibc = ctypes.CDLL(None)\n" + (
        f"for pid in sys.argv[1:]: libc.ptrace({PTRACE_SEIZE}, int(pid), None, None)\n"
        "time.sleep(1000)"
    )
    with process(sys.executable, "-c", line, *map(str, site.afpds)):
        time.sleep(0.3)
        yield


@contextlib.contextmanager
def hogs(site: Site, n: float) -> Iterator[None]:
    """Other programs have half of each CPU."""
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(process("nice", "-n", "10", sys.executable, "-c",
                                        "while True: pass"))  # fmt: skip
        yield


def fault(name: str, found: tuple[str, ...], doses: tuple[object, object, object],
          make: Maker = nothing, **more: object) -> Fault:  # fmt: skip
    return Fault(name, found, doses, make, **({"loads": LOOKING} | SMB | more))  # type: ignore[arg-type]


SMB_FAULTS = (
    fault("smbd: stopped", ("server-stopped", "session-stopped"), (0, 0.08, 0.6),
          stopping(lambda s: s.afpds)),
    fault("smbd: frozen", ("server-stopped",), (0.001, 0.08, 0.6), frozen, needs=(FREEZER,)),
    fault("smbd: CPU quota", ("cpu-limit",), (1, 0.06, 0.02), cpu_quota, needs=(CPU,)),
    fault("smbd: other programs", ("other-programs",), (0.01, 0.15, 0.8), burning, alone=True),
    fault("smbd: ended", ("server-ended",), (None, None, 0), ending, loads=("browse", "office")),
    fault("smbd: log level", ("log",), ("0", "3", "10"), apart=True,
          hooks={"SMB_GLOBAL": "log level = {}"}),
    fault("smbd: huge folder", ("huge-folder",), (10, 2500, 20000), before=folder_of(0),
          company=making_files, apart=True),
    fault("smbd: ACL module", ("acl-module",), ("streams_xattr", None, "acl_xattr"), apart=True,
          own=(Part("office", 4, 0.01, ("--files=20", "--file-size=4K")),),
          hooks={"SMB_SHARE": "vfs objects = {}"}),
    fault("smbd: oplocks", ("oplock-breaks",), (0, 0.003, 0.4), holding_on,
          company=opening_shared),
    fault("smbd: ranges", ("lock-waits",), (0, 0.1, 0.9), holding_range, company=locking_shared),
    fault("smbd: locked database", ("tdb",), (0, 0.1, 0.9), database_locked, company=logging_in),
    fault("smbd: name service", ("name-service",), (0, 10, 600), name_service,
          company=logging_in, hooks={"SMB_PRELOAD": "{slowcalls}"}),
    fault("smbd: stopped notifyd", ("notifyd", NOTHING), (0, None, 1),
          stopping(lambda s: helper_of(s, "notifyd"))),
    fault("smbd: starved notifyd", ("notifyd",), (1, None, 0.01), notifyd_starved, needs=(CPU,),
          own=(Part("metadata", 4, 0, ("--files=10",)),), also=("cpu-short",)),
    fault("smbd: watchers", ("notifyd", NOTHING), (1, None, 1600), watched, company=making_files,
          own=(Part("metadata", 4, 0, ("--files=10",)),), also=("cpu-short",)),
    fault("smbd: slow disk", ("fsync", "slow-disk"), (0, 1000, 60e3), slowed, before=slow_disk,
          company=flushing, needs=FUSE, loads=("browse", "one")),
    fault("smbd: I/O limit, syncs", ("io-limit", "fsync"), (1e9, 1e8, 2e5), io_limit("write"),
          company=flushing, loads=("office", "browse"), also=("slow-disk",), needs=BLKIO,
          hooks={"SMB_SHARE": "sync always = yes"}),
    fault("smbd: full disk", ("disk-full", "disk-room"), (4e7, None, 0), filled,
          before=own_disk, loads=WRITING, also=("repeated-errors",)),
    fault("smbd: slow attributes", ("xattr", "remote-fs"), (0, 1000, 20e3), slowed, needs=FUSE,
          before=slow_files("xattr={:.0f}")),
    fault("smbd: remote file system", ("remote-fs",), (0, 100, 20e3), slowed, needs=FUSE,
          before=slow_files("stat={:.0f}", "list={:.0f}", "open={:.0f}")),
    fault("smbd: slow data", ("remote-fs", "fsync"), (0, 500, 40e3), slowed, needs=FUSE,
          loads=("office", "read", "write", "mixed"),
          before=slow_files("read={:.0f}", "write={:.0f}")),
    fault("smbd: quota", ("quota",), (0, None, NOBODY), slowed, needs=FUSE, also=("remote-fs",),
          company=making_files, before=slow_files("quota={:.0f}")),
    fault("smbd: scanner", ("scanner",), (0, 500, 50e3), scanned, before=own_mount),
)  # fmt: skip


def well(name: str, *own: Part, make: Maker = nothing,
         sizes: tuple[int, int, int] = (1, 8, 40), **more: object) -> Fault:  # fmt: skip
    """The doses are how many users there are."""
    parts = own or (Part("browse", 0, 0.5, ("--files=10",)),)
    return Fault(name, (NOTHING,), sizes, make, own=parts, healthy=True, **(SMB | more))  # type: ignore[arg-type]


FRUIT = "vfs objects = catia fruit streams_xattr"
NETATALK = f"{FRUIT}\nfruit:metadata = netatalk\nfruit:resource = file"
OFFICE = Part("office", 0, 0.5, ("--files=10", "--file-size=64K"))
SMB_HEALTHY = (
    well("smbd: browse"),
    well("smbd: office", OFFICE),
    well("smbd: copy", Part("batch-write", 0, 0, ("--file-size=4M",)), sizes=(1, 2, 4)),
    well("smbd: read", Part("batch-read", 0, 0, ("--file-size=8M",)), sizes=(1, 2, 4)),
    well("smbd: small files", Part("metadata", 0, 0.2, ("--files=10",))),
    well("smbd: 10 files", company=making_files, before=folder_of(10)),
    well("smbd: 2,000 files", company=making_files, before=folder_of(2000)),
    well("smbd: fruit", OFFICE, hooks={"SMB_SHARE": FRUIT}),
    well("smbd: fruit as netatalk", OFFICE, hooks={"SMB_SHARE": NETATALK}),
    well("smbd: signed", OFFICE, hooks={"SMB_GLOBAL": "server signing = required"}),
    well("smbd: encrypted", OFFICE, hooks={"SMB_GLOBAL": "server smb encrypt = required"}),
    well("smbd: busy machine", OFFICE, make=hogs, alone=True),
    well("smbd: debugger that stops nothing", OFFICE, make=seized, sizes=(1, 4, 8)),
    well("smbd: oplocks given up at once", OFFICE, make=lambda s, _: holding_on(s, 0),
         company=opening_shared),
    well("smbd: files are flushed", company=flushing),
)  # fmt: skip
