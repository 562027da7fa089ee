# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients beside a load, which see what it does not do. Each yields how long they wait."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from afpclient import AfpClient
from faults import Site, Tally, again, repeated


@contextlib.contextmanager
def opening(site: Site, name: str, pause_s: float) -> Iterator[Tally]:
    """A client opens this file of the root again and again."""
    client = AfpClient(site.port)
    client.create(name)

    def ask() -> None:
        code, fork = client.open_fork(name, 1)
        if code:
            raise RuntimeError(f"FPOpenFork: {code}")
        client.close_fork(fork)

    with again(ask, pause_s, [client]) as tally:
        yield tally


@contextlib.contextmanager
def opening_now_and_then(site: Site, _: float) -> Iterator[Tally]:
    """A client like that, of a file with which nothing is wrong."""
    with opening(site, "plain", 0.1) as tally:
        yield tally


@contextlib.contextmanager
def arriving(site: Site, _: float, pause_s: float = 0.25, most: int = 1000) -> Iterator[Tally]:
    """Clients come, look once at the volume, and stay; so many at most."""
    tally = Tally()
    came: list[AfpClient] = []

    def come() -> None:
        with tally.one():
            came.append(AfpClient(site.port))
            came[-1].stat_root()

    def step(over: threading.Event) -> None:
        if tally.n < most:
            threading.Thread(target=come, daemon=True).start()
        over.wait(pause_s)

    try:
        with repeated(step):
            yield tally
    finally:
        for client in came:
            client.drop()


@contextlib.contextmanager
def asking(site: Site, request: str, pause_s: float, *args: str, **how: str) -> Iterator[Tally]:
    """A client that makes a request of AfpClient again and again."""
    client = AfpClient(site.port, **how)
    with again(lambda: getattr(client, request)(*args), pause_s, [client]) as tally:
        yield tally


@contextlib.contextmanager
def sizing(site: Site, _: float) -> Iterator[Tally]:
    """Clients come and ask how full the volume is."""
    came: list[AfpClient] = []

    def ask() -> None:
        came.append(AfpClient(site.port))
        came[-1].volume_size()

    with again(ask, 0.2, came) as tally:
        yield tally
