# SPDX-License-Identifier: GPL-2.0-or-later
"""What is wrong below the volume: disks, file systems, locks, scanners."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from company import opening, opening_now_and_then, sizing
from faults import (
    CGROUPS,
    WRITING,
    Fault,
    Maker,
    Part,
    Site,
    Tally,
    device_of,
    flagged,
    grouped,
    process,
    repeated,
    shares,
)

BLKIO = (str(CGROUPS / "blkio"),)
FUSE = ("/dev/fuse",)


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


def io_limit(which: str) -> Maker:
    @contextlib.contextmanager
    def make(site: Site, bytes_per_s: float) -> Iterator[None]:
        """The server may read or write so fast, by its cgroup."""
        limit = f"{device_of(site.vol1)} {int(bytes_per_s)}"
        name = f"blkio__throttle__{which}_bps_device"
        with grouped(site, "blkio", site.all, **{name: limit}):
            yield

    return make


@contextlib.contextmanager
def cold_reads(site: Site, bytes_per_s: float) -> Iterator[None]:
    """The server reads so fast, and nothing stays in memory."""

    def step(over: threading.Event) -> None:
        Path("/proc/sys/vm/drop_caches").write_text("1")
        over.wait(0.1)

    os.sync()
    with io_limit("read")(site, bytes_per_s), repeated(step):
        yield


WRITE = """
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_DIRECT)
data = mmap.mmap(-1, 4 << 20)
while True:
    for at in range(0, 256 << 20, len(data)):
        os.pwrite(fd, data, at)
    os.fsync(fd)
"""


@contextlib.contextmanager
def other_writers(site: Site, n: float) -> Iterator[None]:
    """So many programs write to the volume's disk, past the page cache, as fast as they can."""
    with contextlib.ExitStack() as stack:
        pin = ("taskset", "-c", str(site.client_cpu))
        for i in range(int(n)):
            at = site.inst / f"writer{i}"
            stack.callback(at.unlink, missing_ok=True)
            stack.enter_context(process(*pin, sys.executable, "-c", WRITE, at))
        yield


def slow_files(*words: str) -> Maker:
    """vol1 is on slowfs, which does what the words say once there is slowed()."""

    @contextlib.contextmanager
    def make(site: Site, us: float) -> Iterator[None]:
        below = site.vol1.with_name("below")
        below.mkdir()
        below.chmod(0o777)
        told = [word.format(us) for word in words]
        command = (site.programs["slowfs"], below, site.vol1, *told)
        with process(*command) as running:
            try:
                while not site.vol1.is_mount():
                    if running.poll() is not None:
                        raise RuntimeError("slowfs ended")
                    time.sleep(0.02)
                yield
            finally:
                subprocess.run(["umount", "-l", str(site.vol1)], check=True)

    return make


slowed = flagged("slow")  # slowfs and slowcalls do what they were told


@contextlib.contextmanager
def slow_device(site: Site, us: float) -> Iterator[None]:
    """vol1 is a disk of its own: a loop device over a file of slowfs. Once there is slowed() each
    access takes so long. The data are in memory: what slowfs moves is on no other disk."""
    below, shown = site.inst / "below", site.inst / "shown"
    for folder in (below, shown):
        folder.mkdir()
    told = [f"{word}={us:.0f}" for word in ("read", "write")]
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512m", "afpscope", below], check=True)
    with process(site.programs["slowfs"], below, shown, *told):
        end = time.monotonic() + 10
        while not shown.is_mount():
            if time.monotonic() > end:
                raise RuntimeError("slowfs is not mounted")
            time.sleep(0.02)
        disk = shown / "disk"
        try:
            with disk.open("wb") as file:
                file.truncate(256 << 20)
            subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", str(disk)], check=True)
            subprocess.run(["mount", "-o", "loop", str(disk), str(site.vol1)], check=True)
            site.vol1.chmod(0o777)
            yield
        finally:
            subprocess.run(["umount", "-l", str(site.vol1)], check=False)
            for at in (shown, below):
                subprocess.run(["umount", "-l", str(at)], check=True)


@contextlib.contextmanager
def own_mount(site: Site, _: float) -> Iterator[None]:
    """vol1 is a mount: what watches it sees no other files."""
    subprocess.run(["mount", "--bind", str(site.vol1), str(site.vol1)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(site.vol1)], check=True)


@contextlib.contextmanager
def scanned(site: Site, us: float) -> Iterator[None]:
    """A virus scanner looks at each file that is opened, for so long."""
    with process(site.programs["scanner"], site.vol1, f"{us:.0f}") as running:
        time.sleep(0.2)
        if running.poll() is not None:
            raise RuntimeError("scanner ended")
        yield


CHURN = """
import os, sys
folders = sys.argv[1:]
n = 0
while True:
    for folder in folders:
        path = folder + "/churn%d" % os.getpid()
        for i in range(500):
            os.close(os.open(path + str(i), os.O_CREAT | os.O_WRONLY))
        for i in range(500):
            os.unlink(path + str(i))
"""


@contextlib.contextmanager
def churned(site: Site, n: float) -> Iterator[None]:
    """So many programs make and remove files, without a pause, in a folder that clients look at."""
    folders = [str(path) for path in site.vol1.glob("*/d0*")]
    with contextlib.ExitStack() as stack:
        pin = ("taskset", "-c", str(site.client_cpu))
        for _ in range(int(n)):
            stack.enter_context(process(*pin, sys.executable, "-c", CHURN, *folders))
        yield


@contextlib.contextmanager
def locked_file(site: Site, share: float) -> Iterator[Tally]:
    """Another program has a file locked for that share of each second; a client opens it."""
    with opening(site, "slow-lock", 0.02) as tally, (site.vol1 / "slow-lock").open("rb") as file:
        lock = shares(
            lambda _: fcntl.flock(file, fcntl.LOCK_EX), lambda _: fcntl.flock(file, fcntl.LOCK_UN)
        )
        with lock(site, share):
            yield tally


@contextlib.contextmanager
def backups(site: Site, bands: float) -> Iterator[None]:
    """A backup of so many bands on a volume whose size the server limits."""
    folder = site.vol1 / "Mac.sparsebundle"
    (folder / "bands").mkdir(parents=True)
    (folder / "Info.plist").write_text(
        "<plist><dict>\n<key>band-size</key>\n<integer>8388608</integer>\n</dict></plist>\n"
    )
    for band in range(int(bands)):
        os.close(os.open(folder / "bands" / f"{band:x}", os.O_CREAT | os.O_WRONLY, 0o644))
    yield


@contextlib.contextmanager
def changed_behind(site: Site, per_s: float) -> Iterator[None]:
    """Another program makes so many files a second in the folders that clients list."""
    folders = list(site.vol1.glob("*/d0*"))
    n = 0

    def step(over: threading.Event) -> None:
        nonlocal n
        for _ in range(int(per_s / 5)):
            n += 1
            (folders[n % len(folders)] / f"behind {n}").touch()
        over.wait(0.2)

    with repeated(step):
        yield


@contextlib.contextmanager
def read_only(site: Site, wrong: float) -> Iterator[None]:
    """The volume's file system is made read-only, as one with errors is."""
    how = "remount,bind,ro" if wrong else "remount,bind,rw"
    line = ["mount", "-o", how, str(site.vol1)]
    end = time.monotonic() + 10
    # Refused as long as a file there is open to be written: a load has that now and then.
    while subprocess.run(line, check=False, capture_output=True).returncode:
        assert time.monotonic() < end, "a file on the volume is always open to be written"
        time.sleep(0.02)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,bind,rw", str(site.vol1)], check=True)


OFFICE = (Part("office", 8, 0.05, ("--file-size=512K", "--files=20")),)

DISK_FAULTS = (
    Fault(
        "full disk", ("disk-full", "disk-room"), (4e7, 2.5e6, 0), filled,
        loads=WRITING, hooks={"AFPD_VOL_SIZE": "96M"},
    ),
    Fault(
        "read-only file system", ("read-only",), (0, None, 1), read_only, before=own_mount,
        loads=WRITING, also=("repeated-errors",),
    ),
    Fault(
        "I/O limit, writes", ("io-limit",), (1e9, 1e8, 1e6), io_limit("write"),
        loads=("office", "backup"), also=("fsync", "slow-disk"), needs=BLKIO,
    ),
    Fault(
        "I/O limit, reads", ("io-limit",), (1e9, 6e7, 4e6), cold_reads, own=OFFICE, alone=True,
        also=("slow-disk", "rereads"), needs=BLKIO,
    ),
    Fault(
        "other writers", ("slow-disk", "other-writers", "fsync"), (0, 2, 8), other_writers,
        loads=WRITING, alone=True,
    ),
    Fault(
        "slow disk", ("slow-disk", "fsync"), (0, 4000, 40e3), slowed, before=slow_device,
        loads=("office", "write", "backup"), needs=(*FUSE, "/dev/loop-control"),
    ),
    Fault(
        "slow attributes", ("xattr", "remote-fs"), (0, 1000, 20e3), slowed, needs=FUSE,
        before=slow_files("xattr={:.0f}"), also=("appledouble",),
    ),
    Fault(
        "remote file system", ("remote-fs",), (0, 100, 40e3), slowed, needs=FUSE,
        before=slow_files("stat={:.0f}", "list={:.0f}", "open={:.0f}"),
    ),
    Fault(
        "slow data", ("remote-fs",), (0, 500, 40e3), slowed, needs=FUSE,
        loads=("office", "read", "write", "mixed"),
        before=slow_files("read={:.0f}", "write={:.0f}"),
    ),
    Fault(
        "AppleDouble", ("appledouble", "remote-fs"), (0, 2000, 50e3), slowed, needs=FUSE,
        loads=("metadata", "office"), before=slow_files("double={:.0f}"),
        hooks={"AFPD_VOLUME": "ea = ad"},
    ),
    Fault(
        "scanner", ("scanner",), (0, 500, 50e3), scanned, before=own_mount,
    ),
    # What is made there, and seen by a client, is entered in the CNID database.
    Fault(
        "busy folder", ("", "cnid-behind"), (0, 1, 6), churned,
        loads=("browse", "office", "one"), alone=True,
    ),
    Fault(
        "locked file", ("locks",), (0, 0.06, 0.9), locked_file,
        company=opening_now_and_then,
        hooks={"AFPD_PRELOAD": "{onopen}"},
    ),
    Fault(
        "volume size", ("volume-size",), (1, 20000, 60000), backups, company=sizing,
        hooks={"AFPD_VOLUME": "vol size limit = 1000000"},
    ),
    Fault(
        "changed behind", ("cnid-behind",), (0, 50, 400), changed_behind,
        loads=("browse", "office", "one"),
    ),
)  # fmt: skip
