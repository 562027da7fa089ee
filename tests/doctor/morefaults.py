# SPDX-License-Identifier: GPL-2.0-or-later
"""More of what can be wrong with a server: what clients do, slow file systems and calls, memory.

Like FAULTS of faults.py. CLIENTS: trouble of clients, of which the server must not be accused.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from afpclient import AfpClient
from faults import BLKIO, CGROUPS, MIXES, Fault, Maker, Site, nothing, repeated, slow_disk
from ways import slow_client


def _process(*command: str) -> contextlib.AbstractContextManager[None]:
    @contextlib.contextmanager
    def run() -> Iterator[None]:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.kill()
            process.wait()

    return run()


@contextlib.contextmanager
def grouped(site: Site, controller: str, pids: list[int]) -> Iterator[Path]:
    """A cgroup of a v1 controller with these processes, which leave it at the end."""
    top = CGROUPS / controller
    group = top / f"afpscope-{site.port}"
    group.mkdir()
    try:
        for pid in pids:
            (group / "cgroup.procs").write_text(str(pid))
        yield group
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (top / "cgroup.procs").write_text(pid)
        end = time.monotonic() + 2
        while group.exists() and time.monotonic() < end:
            with contextlib.suppress(OSError):
                group.rmdir()
            time.sleep(0.02)


@contextlib.contextmanager
def frozen(site: Site, share: float) -> Iterator[None]:
    """The sessions are frozen for that share of each second."""
    with grouped(site, "freezer", site.afpds) as group:

        def step(over: threading.Event) -> None:
            (group / "freezer.state").write_text("FROZEN")
            time.sleep(share)
            (group / "freezer.state").write_text("THAWED")
            over.wait(1 - share)

        with repeated(step):
            yield


THRASH = """
import mmap, sys
with open(sys.argv[1], "rb") as file:
    all = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
while True:
    for at in range(0, len(all), 4096):
        all[at]
"""


@contextlib.contextmanager
def little_memory(site: Site, megabytes: float) -> Iterator[None]:
    """Server and programs that read much more than the memory that they have together."""
    file = site.vol1.parent / "thrash"
    with file.open("wb") as out:
        for _ in range(200):
            out.write(bytes(1 << 20))
    with contextlib.ExitStack() as stack:
        group = stack.enter_context(grouped(site, "memory", site.all))
        (group / "memory.limit_in_bytes").write_text(str(int(megabytes * (1 << 20))))
        # Pages belong to the group that reads them first.
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("1")
        for _ in range(4):
            process = subprocess.Popen([sys.executable, "-c", THRASH, str(file)])
            stack.callback(process.wait)
            stack.callback(process.kill)
            Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000")
            (group / "cgroup.procs").write_text(str(process.pid))
        stack.enter_context(slow_disk("read")(site, 8e6))
        yield


def slow_files(*operations: str) -> Maker:
    """On vol1 these operations take so many microseconds longer once there is slowed()."""

    @contextlib.contextmanager
    def make(site: Site, us: float) -> Iterator[None]:
        below = site.vol1.with_name("below")
        below.mkdir()
        below.chmod(0o777)
        words = [f"{name}={us:.0f}" for name in operations]
        command = [str(site.programs["slowfs"]), str(below), str(site.vol1), *words]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        try:
            while not site.vol1.is_mount():
                if process.poll() is not None:
                    raise RuntimeError("slowfs ended")
                time.sleep(0.02)
            yield
        finally:
            subprocess.run(["umount", "-l", str(site.vol1)], check=True)
            process.kill()
            process.wait()

    return make


@contextlib.contextmanager
def slowed(site: Site, _: float) -> Iterator[None]:
    """Now slowfs and slowcalls do what they were told."""
    flag = site.vol1.with_name("slow")
    flag.touch()
    try:
        yield
    finally:
        flag.unlink()


@contextlib.contextmanager
def logging_in(site: Site, _: float) -> Iterator[None]:
    """A user logs in every second, and stays; those that hang are left alone."""

    clients = []

    def login() -> None:
        with contextlib.suppress(OSError, RuntimeError, ConnectionError):
            clients.append(AfpClient(site.port, user="bench2", volume="vol2"))

    def step(over: threading.Event) -> None:
        threading.Thread(target=login, daemon=True).start()
        over.wait(1)

    with slowed(site, _), repeated(step):
        yield


@contextlib.contextmanager
def conflicts(site: Site, per_s: float) -> Iterator[None]:
    """One user has a file open and a range of it locked, another asks for both so often."""
    one, two = AfpClient(site.port), AfpClient(site.port, user="bench2")
    for name in ("in use", "locked"):
        one.create(name)
        (site.vol1 / name).chmod(0o666)
    held = [one.open_fork("in use", 3 | 0x30)[1], one.open_fork("locked", 3)[1]]
    if one.lock(held[1], 0, 100):
        raise RuntimeError("no lock")
    code, fork = two.open_fork("locked", 3)
    if code:
        raise RuntimeError(f"FPOpenFork: {code}")

    def step(over: threading.Event) -> None:
        if not two.open_fork("in use", 3)[0] or not two.lock(fork, 10, 10):
            raise RuntimeError("no conflict")
        over.wait(2 / per_s)

    try:
        with repeated(step):
            yield
    finally:
        one.drop()
        two.drop()


@contextlib.contextmanager
def deaf(site: Site, n: float) -> Iterator[None]:
    """So many connections on which nothing is said."""
    with contextlib.ExitStack() as stack:
        for _ in range(int(n)):
            stack.enter_context(socket.create_connection(("127.0.0.1", site.port)))
        yield


@contextlib.contextmanager
def changed_behind(site: Site, per_s: float) -> Iterator[None]:
    """Another program makes so many files a second in the folders that clients list."""
    folders = list(site.vol1.glob("*/d0*"))
    n = 0

    def step(over: threading.Event) -> None:
        nonlocal n
        for _ in range(max(1, int(per_s / 5))):
            n += 1
            (folders[n % len(folders)] / f"behind {n}").touch()
        over.wait(0.2)

    with repeated(step):
        yield


@contextlib.contextmanager
def opening(site: Site, name: str, pause_s: float) -> Iterator[None]:
    """A client opens this file of the root again and again."""
    client = AfpClient(site.port)
    client.create(name)

    def step(over: threading.Event) -> None:
        code, fork = client.open_fork(name, 1)
        if code:
            raise RuntimeError(f"FPOpenFork: {code}")
        client.close_fork(fork)
        over.wait(pause_s)

    try:
        with repeated(step):
            yield
    finally:
        client.drop()


@contextlib.contextmanager
def locked_file(site: Site, share: float) -> Iterator[None]:
    """Another program has a file locked for that share of each second; clients open it."""
    import fcntl

    with opening(site, "slow-lock", 0.01), (site.vol1 / "slow-lock").open("rb") as file:

        def step(over: threading.Event) -> None:
            fcntl.flock(file, fcntl.LOCK_EX)
            time.sleep(share)
            fcntl.flock(file, fcntl.LOCK_UN)
            over.wait(1 - share)

        with repeated(step):
            yield


@contextlib.contextmanager
def one_hog(site: Site, ms: float) -> Iterator[None]:
    """One session whose requests take so long, without a pause."""
    with opening(site, f"slow-sleep-{ms:.0f}", 0.001):
        yield


BURN = "while True: pass"


def clients_burnt(site: Site, n: float) -> contextlib.AbstractContextManager[None]:
    """Other programs have most of the clients' CPU."""
    stack = contextlib.ExitStack()
    pin = ("taskset", "-c", str(site.client_cpu))
    for _ in range(int(n)):
        stack.enter_context(_process(*pin, sys.executable, "-c", BURN))
    return stack


MORE_FAULTS = (
    Fault(
        "frozen server", ("server-stopped",), (0.15, 0.3, 0.6), frozen,
        needs=(str(CGROUPS / "freezer"),),
    ),
    Fault(
        "little memory", ("memory", "rereads", "slow-disk"), (60, 40, 24), little_memory,
        mix="office", clients=6, load=("--file-size=512K",),
        needs=(str(CGROUPS / "memory"), *BLKIO),
    ),
    Fault(
        "slow attributes", ("xattr",), (1e3, 5e3, 20e3), slowed,
        before=slow_files("xattr"),
    ),
    Fault("slow stat", ("slow-disk",), (2e3, 10e3, 40e3), slowed, before=slow_files("stat")),
    Fault(
        "slow getcwd", (), (5, 60, 200), slowed, verdict="slow",
        hooks={"AFPD_PRELOAD": "{slowcalls}", "AFPD_ENV": "SLOW_GETCWD_MS={0:.0f}"},
    ),
    Fault(
        "slow login", ("slow-login",), (300, 1000, 2500), logging_in,
        hooks={"AFPD_PRELOAD": "{slowcalls}", "AFPD_ENV": "SLOW_GETPWNAM_MS={0:.0f}"},
    ),
    Fault(
        "hanging login", ("slow-login",), (2e4, 4e4, 8e4), logging_in,
        hooks={"AFPD_PRELOAD": "{slowcalls}", "AFPD_ENV": "SLOW_GETPWNAM_MS={0:.0f}"},
    ),
    Fault("files in use", ("lock-conflicts",), (1, 10, 50), conflicts),
    Fault(
        "huge folder", ("huge-folder",), (600, 3000, 6000), nothing, think_s=0.2,
        mix=str(MIXES / "list-shared.ini"), load=("--files={0:.0f}",),
    ),
    Fault(
        "changed behind", ("cnid-behind",), (5, 50, 200), changed_behind,
        mix=str(MIXES / "list.ini"),
    ),
    Fault("deaf clients", ("no-login",), (1, 4, 30), deaf, settle_s=2.5),
    Fault(
        "locked file", ("locks",), (0.2, 0.5, 0.9), locked_file,
        hooks={"AFPD_PRELOAD": "{onopen}"},
    ),
    Fault(
        "one session", ("one-session",), (50, 200, 800), one_hog,
        hooks={"AFPD_PRELOAD": "{onopen}"},
    ),
    Fault(
        "AppleDouble", ("appledouble",), (200, 2e3, 10e3), slowed, mix="metadata",
        before=slow_files("double"), hooks={"AFPD_VOLUME": "ea = ad"},
    ),
    Fault(
        "busy CNID server", ("cnid-slow",), (1e3, 5e3, 20e3), slowed, mix="metadata",
        clients=8, cnids=("dbd",), load=("--files=10",), hooks={
            "AFPD_PRELOAD": "{slowcalls}", "AFPD_PRELOAD_IN": "cnid_metad",
            "AFPD_ENV": "SPIN_RECV_US={0:.0f}",
        },
    ),
)  # fmt: skip

CLIENTS = (
    Fault("clients without a CPU", (), (1, 4, 8), clients_burnt, think_s=0.1),
    Fault(
        "client that reads slowly", ("network", "client-window"), (8e6, 4e6, 2e6), nothing,
        mix="batch-read", clients=1, load=("--file-size=8M",), way=slow_client,
    ),
)  # fmt: skip
