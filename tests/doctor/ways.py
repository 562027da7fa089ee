# SPDX-License-Identifier: GPL-2.0-or-later
"""Ways from clients to a server: relays, some of which hold bytes, and a network (far.py).

Each yields an address by which clients reach the server.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from far import Way, far
from faults import Site, beside
from netatalk import BOUND

Carry = Callable[[socket.socket, bytes], None]


@contextlib.contextmanager
def relayed(site: Site, to_server: Carry, to_client: Carry, no_delay: bool = True) -> Iterator[str]:
    """A relay that carries bytes on as these say."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.1)

    def carry(
        over: threading.Event, source: socket.socket, target: socket.socket, send: Carry
    ) -> None:
        with contextlib.suppress(OSError):
            while not over.is_set() and (data := source.recv(16384)):
                send(target, data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def accept(over: threading.Event) -> None:
        while not over.is_set():
            try:
                client, _ = listener.accept()
            except OSError:
                continue
            server = socket.socket()
            server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
            server.connect(("127.0.0.1", site.port))
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(no_delay))
            for ends in ((client, server, to_server), (server, client, to_client)):
                threading.Thread(target=carry, args=(over, *ends), daemon=True).start()

    with listener, beside(accept):
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def slow_client(site: Site, bytes_per_s: float) -> contextlib.AbstractContextManager[str]:
    """The server's replies come at most so fast."""

    def slowly(target: socket.socket, data: bytes) -> None:
        target.sendall(data)
        time.sleep(len(data) / bytes_per_s)

    return relayed(site, socket.socket.sendall, slowly)


def late_client(site: Site, delay_s: float) -> contextlib.AbstractContextManager[str]:
    """The client's requests are kept for a time."""

    def late(target: socket.socket, data: bytes) -> None:
        time.sleep(delay_s)
        target.sendall(data)

    return relayed(site, late, socket.socket.sendall)


def client_in_pieces(site: Site, share: float) -> contextlib.AbstractContextManager[str]:
    """So many requests are sent in two pieces, without TCP_NODELAY."""
    chance = random.Random(1)

    def split(target: socket.socket, data: bytes) -> None:
        at = 16 if chance.random() < share else len(data)
        target.sendall(data[:at])
        if data[at:]:
            target.sendall(data[at:])

    return relayed(site, split, socket.socket.sendall, no_delay=False)


def far_client(site: Site, delay_s: float) -> contextlib.AbstractContextManager[str]:
    """Packets take so long to and fro."""
    return far(site.port, Way(delay_s / 2))


def lossy_client(site: Site, loss: float) -> contextlib.AbstractContextManager[str]:
    """So many packets are lost."""
    return far(site.port, Way(0.0005, loss))


def narrow_link(site: Site, bits_per_s: float) -> contextlib.AbstractContextManager[str]:
    """So many bits a second go each way."""
    return far(site.port, Way(0.0005, bits_per_s=bits_per_s))


# Programs that carry on what comes on a port, in a process for each client.
RELAYS = {
    "socat": (
        "socat",
        "TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork",
        "TCP:127.0.0.1:{server}",
    ),
}


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def _listens(port: int) -> bool:
    wanted = f" 0100007F:{port:04X} 00000000:0000 0A "
    return wanted in Path("/proc/net/tcp").read_text()


def relayed_by(program: str) -> Callable[[Site, float], contextlib.AbstractContextManager[str]]:
    """That program in between; strength does not matter."""

    @contextlib.contextmanager
    def way(site: Site, strength: float) -> Iterator[str]:
        port = _free_port()
        words = (word.format(port=port, server=site.port) for word in RELAYS[program])
        process = subprocess.Popen([*BOUND, *words], start_new_session=True)
        try:
            while not _listens(port) and process.poll() is None:
                time.sleep(0.02)
            yield f"127.0.0.1:{port}"
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    return way
