# SPDX-License-Identifier: GPL-2.0-or-later
"""The kinds of places to which recordings are replayed, each with a server of its own."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ganesha import Ganesha
from gluster import Gluster
from netatalk import USERS, Server
from samba import Samba
from scope import REPO, PinnedServer, Scope, both_cpus, children


@dataclass(frozen=True)
class Place:
    name: str
    where: tuple[str, ...]  # options or an operand of the program
    disk: Path  # what is there, on this machine
    sessions: Callable[[], Sequence[int]]  # of its server
    server: Server | None = None  # of AFP

    def line(self, scope: Scope, *args: str, tool: str = "replay") -> list[str]:
        """A command line; the recording is the first of args."""
        return [*scope.command(None, *args[:1], *self.where, *args[1:], tool=tool)]


@functools.cache
def _library(option: str) -> str:
    line = [REPO / "tests/need.sh", option]
    return subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def libraries() -> str:
    """For LD_LIBRARY_PATH: clients of SMB and NFS."""
    return ":".join(map(_library, ("--libsmb2", "--libnfs")))


@contextlib.contextmanager
def afp(suite: str = "forky", cnid: str = "dbd", **hooks: str) -> Iterator[Place]:
    with PinnedServer(suite, cnid, both_cpus()[0], **hooks) as server:
        yield of_server(server)


def of_server(server: Server, user: str = "bench1") -> Place:
    url = f"afp://{user}@127.0.0.1:{server.port}/vol1"
    name = f"netatalk {server.version}, {server.cnid}"
    return Place(name, (url, "--uam", "cleartext"), server.vol1, server.sessions, server)


@contextlib.contextmanager
def smb(suite: str = "bookworm", **hooks: str) -> Iterator[Place]:
    with Samba(suite, **hooks) as server:
        others = {*children(server.pid)}  # that are no sessions
        url = f"smb://bench1@127.0.0.1:{server.port}/share1"
        yield Place(
            f"Samba {server.version}",
            (url,),
            server.share1,
            lambda: [pid for pid in children(server.pid) if pid not in others],
        )


@contextlib.contextmanager
def nfs(suite: str = "bookworm", **hooks: str) -> Iterator[Place]:
    with Ganesha(suite, **hooks) as server:
        url = f"nfs://127.0.0.1:{server.port}{server.path1}?mountport={server.mount_port}"
        yield Place(f"nfs-ganesha {server.version}", (url,), server.share1, lambda: [])


@contextlib.contextmanager
def gluster(volume: str = "one", **hooks: str) -> Iterator[Place]:
    with Gluster(GLUSTER_MOUNT=volume, **hooks) as server:
        yield Place("GlusterFS", (server.url(volume),), server.mnt / volume, lambda: [])


@contextlib.contextmanager
def directory(folder: Path) -> Iterator[Place]:
    folder.mkdir(parents=True, exist_ok=True)
    yield Place("a directory", (str(folder), "--watch", "off"), folder, lambda: [])
    shutil.rmtree(folder)


def environment() -> dict[str, str]:
    return {
        "LD_LIBRARY_PATH": libraries(),
        "AFPSCOPE_PASSWORD": USERS["bench1"],
        "AFPSCOPE_RUNS": os.environ.get("AFPSCOPE_RUNS", ""),
    }
