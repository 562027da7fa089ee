# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers on which nothing is wrong, some of them unusual: nothing must be found."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

from afpclient import AfpClient
from company import asking
from diskfaults import FUSE, own_mount, scanned, slow_files, slowed
from faults import MIXES, Fault, Maker, Part, Site, nothing, repeated, send
from netatalk import Server
from serverfaults import MEMORY, memory_limit
from userfaults import BENCH2, big_folder, mistyping, over_quota

USERS = (1, 4, 20)
BROWSE = (Part("browse", 0, 0.5, ("--files=20",)),)


def healthy(
    name: str,
    *own: Part,
    make: Maker = nothing,
    sizes: tuple[int, int, int] = USERS,
    right: tuple[str, ...] = (),
    **more: object,
) -> Fault:
    """The doses are how many users there are."""
    return Fault(name, ("", *right), sizes, make, own=own or BROWSE, healthy=True, **more)  # type: ignore[arg-type]


@contextlib.contextmanager
def idle_dbd_ends(site: Site, _: float) -> Iterator[None]:
    """The cnid_dbd of a volume that nobody uses ends, as it does by itself after 20 minutes."""
    before = set(site.dbds)
    client = AfpClient(site.port, volume="vol2")
    client.create("one")
    mine = [pid for pid in site.dbds if pid not in before]
    client.close()

    def step(over: threading.Event) -> None:
        over.wait(2)
        send(mine, signal.SIGTERM)
        over.wait()

    with repeated(step):
        yield


@contextlib.contextmanager
def tree_walked(site: Site, _: float) -> Iterator[None]:
    """A client that asks for each file of a tree, one after the other."""
    names = [f"tree/d{d:02}/f{f:03}" for d in range(20) for f in range(50)]
    for name in names:
        (site.vol1 / name).parent.mkdir(parents=True, exist_ok=True)
        (site.vol1 / name).touch()
    client = AfpClient(site.port)
    paths = [name.replace("/", "\0") for name in names]
    for path in paths:
        client.stat(path)  # new files are looked at once: later they are known

    def step(over: threading.Event) -> None:
        for path in paths:
            if over.wait(0.005):
                return
            client.stat(path)

    try:
        with repeated(step):
            yield
    finally:
        client.drop()


@contextlib.contextmanager
def morning(site: Site, _: float) -> Iterator[None]:
    """Ten users a second log in, for five seconds, and stay."""
    came: list[AfpClient] = []

    def step(over: threading.Event) -> None:
        if len(came) < 50:
            came.append(AfpClient(site.port, user="bench2"))
        over.wait(0.1)

    try:
        with repeated(step):
            yield
    finally:
        for client in came:
            client.drop()


@contextlib.contextmanager
def falls_asleep(site: Site, _: float) -> Iterator[None]:
    """A laptop that is closed while it reads."""
    (site.vol1 / "film").write_bytes(bytes(50_000_000))
    client = AfpClient(site.port)
    client.ask_to_read(client.open_fork("film", 1)[1], 0, 50_000_000)
    try:
        yield
    finally:
        client.drop()


@contextlib.contextmanager
def locking(site: Site, _: float) -> Iterator[None]:
    """Applications that lock what they open."""
    with asking(site, "lock_own", 0.1):
        yield


@contextlib.contextmanager
def other_paused(site: Site, _: float) -> Iterator[None]:
    """Another server of this machine hangs, as its CNID server is paused, and its clients with
    it."""
    with Server("forky", AFPD_CPU=str(site.client_cpu)) as other:
        client = AfpClient(other.port)
        client.create("first")
        theirs = site.children(other.metad)
        n = 0

        def step(_: threading.Event) -> None:
            nonlocal n
            n += 1
            client.create(f"file {n}")

        try:
            with repeated(step):
                send(theirs, signal.SIGSTOP)
                try:
                    yield
                finally:
                    send(theirs, signal.SIGCONT)
        finally:
            client.drop()


@contextlib.contextmanager
def searching_in_vain(site: Site, _: float) -> Iterator[None]:
    """Clients search, although the server has no Spotlight."""
    with asking(site, "spotlight", 1):
        yield


def wrong_passwords(pause_s: float) -> Maker:
    return lambda site, _: mistyping(site, pause_s)


def folder_of(n: int) -> Maker:
    return lambda site, _: big_folder(site, n)


VOLUMES = "".join(
    f"[more{i}]\npath = {path}\nread only = yes\n"
    for i, path in enumerate(("/usr/lib", "/usr/bin", "/usr/sbin", "/usr/share", "/etc", "/var",
                              "/home/bench1", "/home/bench2"))
)  # fmt: skip

HEALTHY = (
    healthy("idle", Part("idle", 0)),
    healthy("browse"),
    healthy("documents", Part("office", 0, 1, ("--file-size=64K",))),
    healthy("copy", Part("batch-write", 0, 0, ("--file-size=4M",)), sizes=(1, 2, 4)),
    healthy("read", Part("batch-read", 0, 0, ("--file-size=8M",)), sizes=(1, 2, 4)),
    healthy("backup", Part("timemachine", 0, 0.05, ("--file-size=2M",)), sizes=(1, 2, 4)),
    healthy(
        "backup and users", Part("timemachine", 1, 0.05, ("--file-size=2M",)), *BROWSE,
    ),
    healthy("metadata", Part("metadata", 0, 0.2, ("--files=10",))),
    # Each session asks what the others asked.
    healthy("same folder", Part(str(MIXES / "list-shared.ini"), 0, 2, ("--files=500",))),
    # Files in many folders, as many as the directory cache holds.
    healthy(
        "folders", Part(str(MIXES / "list.ini"), 0, 0.02, ("--directories=40", "--files=50")),
        sizes=(1, 2, 4),
    ),
    healthy("own pace", Part("browse", 1, 0.02, ("--files=20",)), sizes=(1, 1, 1)),
    healthy("two hundred", Part("browse", 200, 2, ("--files=2",)), sizes=(200, 200, 200)),
    healthy("ten volumes", hooks={"AFPD_GLOBAL": VOLUMES.rstrip()}),
    healthy("Spotlight is off", make=searching_in_vain),
    healthy("huge folders that nobody lists", before=folder_of(20000)),
    healthy(
        "wrong password", make=wrong_passwords(60),
        hooks={"AFPD_PAM": "auth required pam_unix.so"},
    ),
    healthy(
        "wrong passwords", make=wrong_passwords(5),
        hooks={"AFPD_PAM": "auth required pam_unix.so"},
    ),
    healthy("idle cnid_dbd that ends", make=idle_dbd_ends, cnids=("dbd",)),
    healthy(
        "user over quota", right=("quota",), make=over_quota, needs=FUSE,
        before=slow_files(f"quota={BENCH2}"),
    ),
    healthy("tree walk", make=tree_walked),
    healthy("locking", make=locking),
    healthy("another server that is paused", make=other_paused),
    healthy("morning", make=morning),
    healthy("100 TB, 0.9 % free", make=slowed, before=slow_files("full=900"), needs=FUSE),
    healthy("asleep", make=falls_asleep),
    # Each page that is written runs into the limit, and another one goes: none of them is missed.
    healthy(
        "memory limit, much is written", Part("batch-write", 0, 0, ("--file-size=4M",)),
        make=lambda site, _: memory_limit(site, 60), sizes=(1, 2, 4), needs=(MEMORY,),
    ),
    healthy("fast scanner", make=lambda site, _: scanned(site, 0), before=own_mount),
)  # fmt: skip
