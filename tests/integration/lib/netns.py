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
# No process but its own: those of other network namespaces are another host's.
HIDDEN = ("unshare", "--pid", "--fork", "--mount-proc")


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
    subprocess.run(["ip", *args], check=True, timeout=90)


@contextlib.contextmanager
def space(name: str) -> Iterator[str]:
    """A network namespace with a loopback, and its path."""
    name = f"afpscope-{name}-{os.getpid()}"
    ip("netns", "add", name)
    try:
        ip("-n", name, "link", "set", "lo", "up")
        yield f"/run/netns/{name}"
    finally:
        ip("netns", "del", name)


@contextlib.contextmanager
def cable(near: str, far: str) -> Iterator[tuple[str, str]]:
    """A veth pair between two of them (near: a path; empty: this one), and the addresses."""
    link = f"afs{os.getpid() % 100000}"
    first = BENCHMARKS[4 * (os.getpid() % 30000)]  # of a /30 that no other test process has
    here, there = str(first + 1), str(first + 2)
    with contextlib.ExitStack() as stack:
        if near:
            stack.enter_context(inside(near))
        ip(
            "link",
            "add",
            f"{link}a",
            "type",
            "veth",
            "peer",
            "name",
            f"{link}b",
            "netns",
            Path(far).name,
        )
        ip("addr", "add", f"{here}/30", "dev", f"{link}a")
        ip("link", "set", f"{link}a", "up")
        stack.enter_context(inside(far))
        ip("addr", "add", f"{there}/30", "dev", f"{link}b")
        ip("link", "set", f"{link}b", "up")
        ip("route", "add", "default", "via", here)
    yield here, there


@contextlib.contextmanager
def server_in(path: str, **hooks: str) -> Iterator[PinnedServer]:
    """A server in a network namespace."""
    server = PinnedServer("forky", "dbd", both_cpus()[0], **hooks)
    with inside(path):
        server.__enter__()
    try:
        yield server
    finally:
        server.__exit__(None, None, None)


@contextlib.contextmanager
def elsewhere() -> Iterator[tuple[Server, str]]:
    """A server behind a veth pair, and its address: to the client another host."""
    with (
        space("far") as far,
        cable("", far) as (_, there),
        server_in(far, AFPD_GLOBAL=f"afp listen = {there}") as server,
    ):
        yield server, there
