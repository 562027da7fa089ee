# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of servers over Rx: one call at a time, resent until it is answered."""

from __future__ import annotations

import os
import socket
import struct
import time
from types import TracebackType
from typing import Self

HEADER = struct.Struct(">IIIIIBBBBHH")
DATA, ACK, BUSY, ABORT = 1, 2, 3, 4
OF_CLIENT, ASKS, LAST = 1, 2, 4
PING, PONG, DELAYED = 6, 7, 8
UNKNOWN = -455
# What a file server asks its clients, and is content with an empty answer.
CALLBACKS = {204, 205, 206, 213, 214}
DEADLINE_S = 20


class Client:
    """One connection's first channel, for a with statement.

    copies: of each request, as a bad network makes them.
    """

    def __init__(self, host: str, port: int, service: int, copies: int = 1) -> None:
        self.to, self.service = (host, port), service
        self.epoch = int.from_bytes(os.urandom(4)) & 0x3FFFFFFF | 0x80000000
        self.id = int.from_bytes(os.urandom(4)) & ~3
        self.number = self.serial = self.resent = 0
        self.copies = copies
        self.peer = socket.socket(type=socket.SOCK_DGRAM)
        self.peer.settimeout(0.5)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.peer.close()

    def _send(self, what: int, flags: int, sequence: int, data: bytes, call: int) -> None:
        self.serial += 1
        head = (self.epoch, self.id, call, sequence, self.serial, what, flags, 0, 0, 0)
        self.peer.sendto(HEADER.pack(*head, self.service) + data, self.to)

    def _ack(self, first: int, serial: int, reason: int, call: int) -> None:
        body = struct.pack(">HHIIIBB3x4I", 0, 0, first, first - 1, serial, reason, 0, *LIMITS)
        self._send(ACK, OF_CLIENT, 0, body, call)

    def _serve(self, head: tuple[int, ...], data: bytes) -> None:
        """The server's own call: an empty answer, or none of ours."""
        what, body = (DATA, b"") if int.from_bytes(data[:4]) in CALLBACKS else (ABORT, NO_SUCH)
        answer = HEADER.pack(*head[:3], what == DATA, 1, what, LAST * (what == DATA), 0, 0, 0, 1)
        self.peer.sendto(answer + body, self.to)

    def call(self, *words: int) -> bytes | int:
        """The answer, or the code of an ABORT."""
        self.number += 1
        request = struct.pack(f">{len(words)}I", *words)
        found: dict[int, bytes] = {}
        last, deadline = 0, time.monotonic() + DEADLINE_S
        for _ in range(self.copies):
            self._send(DATA, OF_CLIENT | LAST, 1, request, self.number)
        while not last or len(found) < last:
            assert time.monotonic() < deadline, f"no answer to {words} from {self.to}"
            try:
                packet = self.peer.recv(65536)
            except TimeoutError:
                self.resent += 1
                self._send(DATA, OF_CLIENT | LAST, 1, request, self.number)
                continue
            head, data = HEADER.unpack(packet[: HEADER.size]), packet[HEADER.size :]
            _, number, call, sequence, serial, what, flags = head[:7]
            if flags & OF_CLIENT and what == DATA:
                self._serve(head, data)
            elif number == self.id and what == ACK and (data[16] == PING or flags & ASKS):
                self._ack(len(found) + 1, serial, PONG, call)
            elif (number, call) != (self.id, self.number):
                continue
            elif what == ABORT:
                return int(struct.unpack(">i", data[:4])[0])
            elif what == DATA:
                found[sequence] = data
                last = sequence if flags & LAST else last
                if not last:
                    self._ack(len(found) + 1, serial, DELAYED, call)
        return b"".join(found[i] for i in sorted(found))

    def finish(self) -> None:
        """Says that the last answer has come."""
        self._ack(2, 0, DELAYED, self.number)


LIMITS = (1444, 1444, 32, 1)  # bytes of a packet, twice; window; packets of a datagram
NO_SUCH = struct.pack(">i", UNKNOWN)
