# SPDX-License-Identifier: GPL-2.0-or-later
"""What clients, and the network between, can do to a server: like FAULTS of faults.py."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from afpclient import AfpClient
from faults import BLKIO, CGROUPS, MIXES, Fault, Site, nothing, repeated, slow_disk
from morefaults import grouped, opening
from ways import client_in_pieces, far_client, late_client, lossy_client, slow_client

TUN = ("/sys/class/misc/tun",)
LOOK = str(MIXES / "look.ini")


@contextlib.contextmanager
def small_cache(site: Site, limit: float) -> Iterator[None]:
    """The server may have so many bytes in memory, and the disk is slow."""
    with grouped(site, "memory", site.all) as group:
        (group / "memory.limit_in_bytes").write_text(str(int(limit)))
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("1")
        time.sleep(5)  # until much has been read once
        with slow_disk("read")(site, 3e6):
            yield


@contextlib.contextmanager
def backups(site: Site, bands: float) -> Iterator[None]:
    """A backup of so many bands on a volume whose size the server limits, and clients that come."""
    folder = site.vol1 / "Mac.sparsebundle"
    (folder / "bands").mkdir(parents=True)
    (folder / "Info.plist").write_text(
        "<plist><dict>\n<key>band-size</key>\n<integer>8388608</integer>\n</dict></plist>\n"
    )
    for band in range(int(bands)):
        os.close(os.open(folder / "bands" / f"{band:x}", os.O_CREAT | os.O_WRONLY, 0o644))
    came: list[AfpClient] = []

    def step(over: threading.Event) -> None:
        came.append(AfpClient(site.port))
        came[-1].volume_size()
        over.wait(0.2)

    try:
        with repeated(step):
            yield
    finally:
        for client in came:
            client.close()


@contextlib.contextmanager
def searching(site: Site, ms: float) -> Iterator[None]:
    """Clients come, and each of them searches."""
    came: list[tuple[AfpClient, threading.Thread]] = []

    def search(client: AfpClient) -> None:
        with contextlib.suppress(OSError):
            client.spotlight()

    def step(over: threading.Event) -> None:
        client = AfpClient(site.port)
        came.append((client, threading.Thread(target=search, args=(client,))))
        came[-1][1].start()
        over.wait(0.5)

    try:
        with repeated(step):
            yield
    finally:
        for client, thread in came:
            client.hang_up()
            thread.join()


@contextlib.contextmanager
def computing(site: Site, ms: float) -> Iterator[None]:
    """A session whose requests compute so long, without a pause, before all other programs."""
    with opening(site, f"slow-spin-{ms:.0f}", 0):
        for pid in site.afpds:
            os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(1))
        yield


CLIENT_FAULTS = (
    Fault(
        "far client", ("round-trips",), (0.005, 0.01, 0.02), nothing, clients=1, think_s=0,
        needs=TUN, way=far_client,
    ),
    Fault(
        "late client", ("client-pauses",), (0.006, 0.015, 0.05), nothing, clients=1, think_s=0,
        way=late_client,
    ),
    Fault(
        "delayed acks", ("delayed-acks",), (0.3, 0.8, 1), nothing, mix=LOOK, clients=1, think_s=0,
        way=client_in_pieces,
    ),
    Fault(
        "lost packets", ("retransmissions",), (0.02, 0.05, 0.1), nothing, mix="batch-read",
        clients=2, load=("--file-size=8M",), needs=TUN, way=lossy_client,
    ),
    Fault(
        "slow reader", ("client-window",), (4e6, 2e6, 1e6), nothing, mix="batch-read", clients=1,
        load=("--file-size=256K",), way=slow_client,
    ),
    Fault(
        "chatty client", ("chatty-client",), (0.001, 0.0003, 0), nothing, mix=LOOK, clients=1,
        load=("--think={}",),
    ),
    Fault(
        "volume size", ("volume-size",), (20000, 60000, 100000), backups, clients=2,
        hooks={"AFPD_VOLUME": "vol size limit = 1000000"},
    ),
    Fault(
        "search", ("spotlight",), (500, 5000, 60000), searching, clients=2, only=("forky",),
        hooks={
            "AFPD_GLOBAL": "spotlight = yes", "AFPD_ENV": "ONQUERY_MS={0:.0f}",
            "AFPD_PRELOAD": "{onquery}",
        },
    ),
    Fault(
        "busy session", ("session-cpu",), (2, 20, 90), computing,
        hooks={"AFPD_PRELOAD": "{onopen}"},
    ),
    Fault(
        "small cache", ("rereads", "memory"), (32e6, 24e6, 16e6), small_cache, mix="office",
        clients=8, load=("--file-size=256K",), needs=(*BLKIO, str(CGROUPS / "memory")),
    ),
)  # fmt: skip
