# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens to the server's processes: stopped, ended, short of CPU or memory."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from company import arriving, opening, opening_now_and_then
from diskfaults import BLKIO, io_limit
from faults import (
    CGROUPS,
    MIXES,
    Fault,
    Part,
    Site,
    Tally,
    grouped,
    process,
    repeated,
    send,
    stopping,
)
from netatalk import BOUND

CPU, MEMORY, FREEZER = (str(CGROUPS / name) for name in ("cpu", "memory", "freezer"))
LOOK = str(MIXES / "look.ini")


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


@contextlib.contextmanager
def cpu_quota(site: Site, share: float) -> Iterator[None]:
    """The server has that share of one CPU, in periods of 100 ms."""
    limits = {"cpu__cfs_period_us": "100000", "cpu__cfs_quota_us": str(int(100000 * share))}
    with grouped(site, "cpu", site.all, **limits):
        yield


@contextlib.contextmanager
def master_stopped(site: Site, stopped: float) -> Iterator[None]:
    """The main process is stopped: sessions go on, and nobody gets one."""
    send([site.pid] if stopped else [], signal.SIGSTOP)
    try:
        yield
    finally:
        send([site.pid], signal.SIGCONT)


TRACER = ("strace", "-f", "-o", "/dev/null")


@contextlib.contextmanager
def traced(pids: Sequence[int], seconds: float = 1000) -> Iterator[int]:
    """They stop at each call; the process that traces them, which leaves after so long."""
    line = [*BOUND, *TRACER, *(f"-p{pid}" for pid in pids)]
    with subprocess.Popen(line, stderr=subprocess.DEVNULL) as tracer:
        leave = threading.Timer(seconds, tracer.terminate)
        leave.start()
        try:
            yield tracer.pid
        finally:
            leave.cancel()
            tracer.terminate()


BURN = """
import sys, time
share = float(sys.argv[1])
while True:
    begin = time.monotonic()
    while time.monotonic() - begin < share / 10: pass
    time.sleep((1 - share) / 10)
"""


@contextlib.contextmanager
def burning(site: Site, share: float) -> Iterator[None]:
    """A program has the server's CPU for that share of each 100 ms, before all others."""
    pin = ("chrt", "-f", "10", "taskset", "-c", str(site.cpu))
    with process(*pin, sys.executable, "-c", BURN, str(share)):
        yield


@contextlib.contextmanager
def clients_burnt(site: Site, n: float) -> Iterator[None]:
    """Other programs have most of the clients' CPU."""
    with contextlib.ExitStack() as stack:
        for _ in range(int(n)):
            pin = ("taskset", "-c", str(site.client_cpu))
            stack.enter_context(process(*pin, sys.executable, "-c", "while True: pass"))
        yield


@contextlib.contextmanager
def computing(site: Site, ms: float) -> Iterator[Tally]:
    """A session whose requests compute so long, without a pause, before all other programs."""
    with opening(site, f"slow-spin-{ms:.0f}", 0) as tally:
        for pid in site.afpds:
            os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(1))
        yield tally


@contextlib.contextmanager
def one_hog(site: Site, ms: float) -> Iterator[Tally]:
    """One session whose requests take so long, without a pause."""
    with opening(site, f"slow-sleep-{ms:.0f}", 0.001) as tally:
        yield tally


THRASH = """
import mmap, sys
with open(sys.argv[1], "rb") as file:
    all = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
while True:
    for at in range(0, len(all), 4096):
        all[at]
"""


def _forget_pages() -> None:
    """Pages belong to the group that reads them first."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("1")


@contextlib.contextmanager
def little_memory(site: Site, megabytes: float) -> Iterator[None]:
    """Server and programs that read much more than the memory that they have together."""
    file = site.inst / "thrash"
    with file.open("wb") as out:
        for _ in range(200):
            out.write(bytes(1 << 20))
    limit = str(int(megabytes * (1 << 20)))
    with contextlib.ExitStack() as stack:
        group = stack.enter_context(grouped(site, "memory", site.all, memory__limit_in_bytes=limit))
        _forget_pages()
        for _ in range(4):
            it = stack.enter_context(process(sys.executable, "-c", THRASH, file))
            Path(f"/proc/{it.pid}/oom_score_adj").write_text("1000")
            (group / "cgroup.procs").write_text(str(it.pid))
        stack.enter_context(io_limit("read")(site, 8e6))
        yield


@contextlib.contextmanager
def memory_limit(site: Site, megabytes: float) -> Iterator[None]:
    """The server may have so much memory, files that it has read included."""
    limit = str(int(megabytes * (1 << 20)))
    with grouped(site, "memory", site.all, memory__limit_in_bytes=limit):
        _forget_pages()
        yield


@contextlib.contextmanager
def small_cache(site: Site, megabytes: float) -> Iterator[None]:
    """The same, and the disk is slow."""
    with memory_limit(site, megabytes):
        time.sleep(3)  # until much has been read once
        with io_limit("read")(site, 3e6):
            yield


def crashing(site: Site, per_s: float) -> contextlib.AbstractContextManager[None]:
    """So many sessions a second die of SIGSEGV, the youngest first."""

    def step(over: threading.Event) -> None:
        over.wait(1 / per_s if per_s else 1)
        if per_s:
            send(site.afpds[-1:], signal.SIGSEGV)

    return repeated(step)


@contextlib.contextmanager
def ending(site: Site, again: float) -> Iterator[None]:
    """The main process ends while doctor looks; with `again` it is started anew."""

    def step(over: threading.Event) -> None:
        over.wait(3)
        if not over.is_set() and again:
            mark = site.root.parent / f"inst-{site.port}" / "lab"
            quiet = subprocess.DEVNULL
            subprocess.run(["sh", "-c", site.restart], stdin=quiet, stderr=quiet, check=True)
            mark.write_text(str(os.getpid()))
        elif not over.is_set():
            send([site.pid], signal.SIGTERM)
        over.wait()

    with repeated(step):
        yield


FLOOD = """
import socket, struct, sys, time
device, per_s = sys.argv[1], float(sys.argv[2])
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind((device, 0x0800))
head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 60, 0, 0, 9, 17, 0,
    socket.inet_aton("198.18.77.1"), socket.inet_aton("239.255.77.7"))
total = sum(struct.unpack("!10H", head))
total = (total & 0xFFFF) + (total >> 16)
head = head[:10] + struct.pack("!H", ~total & 0xFFFF) + head[12:]
frame = bytes.fromhex("01005e7f4d07 020000000001 0800".replace(" ", "")) + head
frame += struct.pack("!HHHH", 7777, 7777, 40, 0) + bytes(32)
begin, n = time.monotonic(), 0
while True:
    out.send(frame)
    n += 1
    ahead = n / per_s - (time.monotonic() - begin)
    if ahead > 0.001:
        time.sleep(ahead)
"""


@contextlib.contextmanager
def interrupted(site: Site, per_s: float) -> Iterator[None]:
    """So many packets a second come to the server's CPU, each for 200 sockets."""
    ends = [f"afplab{which}{site.port}" for which in "ab"]
    with contextlib.ExitStack() as stack:
        line = f"ip link add {ends[0]} type veth peer name {ends[1]}"
        subprocess.run(line.split(), check=True)
        stack.callback(subprocess.run, ["ip", "link", "del", ends[0]], check=True)
        for end in ends:
            Path(f"/proc/sys/net/ipv4/conf/{end}/rp_filter").write_text("0")
            subprocess.run(["ip", "link", "set", end, "up"], check=True)
        cpus = Path(f"/sys/class/net/{ends[1]}/queues/rx-0/rps_cpus")
        cpus.write_text(f"{1 << site.cpu:x}")
        index = socket.if_nametoindex(ends[1])
        for _ in range(200):
            hears = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            hears.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            hears.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
            hears.bind(("239.255.77.7", 7777))
            member = struct.pack("=4s4si", socket.inet_aton("239.255.77.7"), bytes(4), index)
            hears.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
        pin = ("taskset", "-c", str(site.client_cpu))
        if per_s:
            stack.enter_context(process(*pin, sys.executable, "-c", FLOOD, ends[0], str(per_s)))
        yield


SERVER_FAULTS = (
    Fault(
        "stopped server", ("server-stopped", "session-stopped"), (0, 0.08, 0.6),
        stopping(lambda s: s.afpds),
    ),
    Fault(
        "frozen server", ("server-stopped", "session-stopped"), (0.001, 0.08, 0.6), frozen,
        needs=(FREEZER,),
    ),
    Fault(
        "stopped main process", ("not-accepting",), (0, None, 1), master_stopped, settle_s=1,
        company=arriving,
    ),
    Fault(
        "CPU quota", ("cpu-limit",), (1, 0.04, 0.01), cpu_quota, needs=(CPU,),
    ),
    Fault(
        "other programs", ("other-programs",), (0.01, 0.12, 0.8), burning, alone=True,
    ),
    Fault(
        "too many clients", ("cpu-short",), (4, 12, 400), alone=True, apart=True, cnids=("dbd",),
        own=(Part("browse", 0, 0, ("--realtime", "--files=2")),),
        calm=(Part("browse", 4, 0, ("--realtime", "--files=2")),),
    ),
    Fault(
        "interrupts", ("interrupts",), (0, 12e3, 2e4), interrupted, alone=True,
        needs=("/proc/sys/net/ipv4/conf",),
    ),
    Fault(
        "busy session", ("session-cpu", "one-session"), (0.1, None, 90), computing,
        also=("other-programs", "cpu-short"), hooks={"AFPD_PRELOAD": "{onopen}"},
        company=opening_now_and_then,
    ),
    Fault(
        "one session", ("one-session",), (1, None, 800), one_hog,
        hooks={"AFPD_PRELOAD": "{onopen}"}, company=opening_now_and_then,
    ),
    Fault(
        "little memory", ("memory-limit", "memory", "rereads"), (None, 40, 24), little_memory,
        own=(Part("office", 6, 0.05, ("--file-size=512K",)),), alone=True,
        also=("io-limit", "slow-disk"), needs=(MEMORY, *BLKIO),
    ),
    Fault(
        "memory limit", ("memory-limit",), (2000, 14, 10), memory_limit,
        own=(Part("office", 8, 0.05, ("--file-size=256K",)),), alone=True,
        also=("rereads", "memory", "slow-disk"), needs=(MEMORY,),
    ),
    Fault(
        "small cache", ("memory-limit", "rereads", "memory", "io-limit"), (2000, 24, 16),
        small_cache, own=(Part("office", 8, 0.05, ("--file-size=256K",)),), alone=True,
        also=("slow-disk",), needs=(MEMORY, *BLKIO),
    ),
    Fault(
        "crashing sessions", ("crash",), (0, 0.5, 2), crashing, company=arriving,
        loads=("browse", "office", "users"), also=("login-loop",),
    ),
    Fault(
        "restarted server", ("server-restarted",), (None, None, 1), ending,
        loads=("browse", "office", "users"), cnids=("dbd", "sqlite"),
    ),
    Fault(
        "ended server", ("server-ended",), (None, None, 0), ending,
        loads=("browse", "office", "users"),
    ),
    Fault(
        "clients without a CPU", ("",), (1, 4, 8), clients_burnt, alone=True,
    ),
)  # fmt: skip
