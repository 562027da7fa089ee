# SPDX-License-Identifier: GPL-2.0-or-later
"""Network namespaces: servers that are, to the client, on another host."""

from __future__ import annotations

import contextlib
import ctypes
import ipaddress
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from netatalk import Server
from scope import PinnedServer, both_cpus

# RFC 2544: no network has them.
BENCHMARKS = ipaddress.ip_network("198.18.0.0/15")


def _setns(space: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(space, 0):
        raise OSError(ctypes.get_errno(), "setns")


@contextlib.contextmanager
def inside(path: str) -> Iterator[None]:
    """What is started in the block runs in this network namespace."""
    with Path("/proc/self/ns/net").open() as before, Path(path).open() as space:
        _setns(space.fileno())
        try:
            yield
        finally:
            _setns(before.fileno())


def ip(*args: str) -> None:
    subprocess.run(["ip", *args], check=True, timeout=20)


@contextlib.contextmanager
def elsewhere() -> Iterator[tuple[Server, str]]:
    """A server behind a veth pair, and its address: to the client another host."""
    name, link = f"afpscope-{os.getpid()}", f"afs{os.getpid() % 100000}"
    first = BENCHMARKS[4 * (os.getpid() % 30000)]  # of a /30 that no other test process has
    here, there = str(first + 1), str(first + 2)
    with contextlib.ExitStack() as stack:
        ip("netns", "add", name)
        stack.callback(ip, "netns", "del", name)
        ip("link", "add", f"{link}a", "type", "veth", "peer", "name", f"{link}b", "netns", name)
        ip("addr", "add", f"{here}/30", "dev", f"{link}a")
        ip("link", "set", f"{link}a", "up")
        ip("-n", name, "addr", "add", f"{there}/30", "dev", f"{link}b")
        ip("-n", name, "link", "set", f"{link}b", "up")
        ip("-n", name, "link", "set", "lo", "up")
        server = PinnedServer("forky", "dbd", both_cpus()[0], AFPD_GLOBAL=f"afp listen = {there}")
        with inside(f"/run/netns/{name}"):
            server.__enter__()
        stack.callback(server.__exit__, None, None, None)
        yield server, there
