# SPDX-License-Identifier: GPL-2.0-or-later
"""A network between clients and a server of this machine: real packets that are late, lost, or few.

A TUN device of our own whose packets go back into the kernel with other addresses: for TCP the
client is far away, its round-trip time is real, and lost segments are sent again. Needs root.
"""

from __future__ import annotations

import contextlib
import fcntl
import heapq
import math
import os
import random
import select
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TUN = Path("/dev/net/tun")
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 1, 0x1000
LOOPBACK = bytes((127, 0, 0, 1))
SOURCE, TARGET = slice(12, 16), slice(16, 20)
IP_SUM, TCP_SUM = 10, 16


def _open() -> tuple[int, str]:
    tun = os.open(TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    wish = struct.pack("16sH22x", b"afpfar%d", IFF_TUN | IFF_NO_PI)
    name = fcntl.ioctl(tun, TUNSETIFF, wish)[:16].rstrip(b"\0").decode()
    return tun, name


def _summed(data: bytes) -> int:
    return sum(struct.unpack(f"!{len(data) // 2}H", data))


def _readdress(packet: bytearray, source: bytes, target: bytes) -> None:
    """New addresses, and the checksums that go with them (RFC 1624)."""
    by = _summed(source + target) - _summed(bytes(packet[12:20]))
    packet[SOURCE], packet[TARGET] = source, target
    for at in (IP_SUM, (packet[0] & 15) * 4 + TCP_SUM):
        value = (~struct.unpack_from("!H", packet, at)[0] & 0xFFFF) + by
        value = value % 0xFFFF or 0xFFFF
        struct.pack_into("!H", packet, at, ~value & 0xFFFF)


@dataclass(frozen=True)
class Way:
    """What happens to packets, each way: they are late, some are lost, and they share a rate."""

    delay_s: float = 0
    loss: float = 0
    bits_per_s: float = math.inf
    queue_s: float = 0.2  # packets that would wait longer for their turn are lost


class _Carrier(threading.Thread):
    """Carries packets to and fro."""

    def __init__(self, tun: int, client: bytes, far: bytes, way: Way) -> None:
        super().__init__()
        self._tun, self._client, self._far, self._way = tun, client, far, way
        self._random = random.Random(1)
        self._late: list[tuple[float, int, bytes]] = []
        self._free = {False: 0.0, True: 0.0}  # when each way can send again
        self._n = 0
        self.over = threading.Event()

    def _take(self) -> None:
        packet = bytearray(os.read(self._tun, 65536))
        if packet[0] >> 4 != 4 or self._random.random() < self._way.loss:
            return
        back = packet[SOURCE] == LOOPBACK
        now = time.monotonic()
        begin = max(now, self._free[back])
        if begin > now + self._way.queue_s:
            return
        self._free[back] = begin + 8 * len(packet) / self._way.bits_per_s
        _readdress(packet, self._far, self._client if back else LOOPBACK)
        self._n += 1
        at = self._free[back] + self._way.delay_s
        heapq.heappush(self._late, (at, self._n, bytes(packet)))

    def run(self) -> None:
        while not self.over.is_set():
            now = time.monotonic()
            while self._late and self._late[0][0] <= now:
                os.write(self._tun, heapq.heappop(self._late)[2])
            wait = min(0.1, max(0, self._late[0][0] - now)) if self._late else 0.1
            if select.select([self._tun], [], [], wait)[0]:
                self._take()


@contextlib.contextmanager
def far(port: int, way: Way) -> Iterator[str]:
    """An address by which packets take this way to the server at 127.0.0.1:port, and back."""
    client, server = (bytes((198, net, port >> 8, port & 255)) for net in (18, 19))
    own, peer = (".".join(map(str, address)) for address in (client, server))
    tun, name = _open()
    carrier = _Carrier(tun, client, server, way)
    try:
        # Packets to and from 127.0.0.1 may use this device.
        Path(f"/proc/sys/net/ipv4/conf/{name}/route_localnet").write_text("1")
        # What waits for the carrier is not lost.
        for line in (
            f"addr add {own}/32 peer {peer} dev {name}",
            f"link set {name} txqueuelen 10000 up",
        ):
            subprocess.run(["ip", *line.split()], check=True)
        carrier.start()
        yield f"{peer}:{port}"
    finally:
        carrier.over.set()
        if carrier.is_alive():
            carrier.join()
        os.close(tun)
