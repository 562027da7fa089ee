# SPDX-License-Identifier: GPL-2.0-or-later
"""A proxy that knows DSI: counts what is in flight, and damages written data."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading

from afpclient import COMMAND, HEADER
from fakes import _Listener

DSI_WRITE = 6
DATA = (27, 33, 60, 61)  # FPRead, FPWrite, FPReadExt, FPWriteExt
WRITE, WRITE_EXT = 33, 61


class Meddler(_Listener):
    """Passes frames on one by one.

    damage: the byte of a file that changes its value on the way to the server,
    in every write but the first `spare` ones that hold it. The first answer
    waits until `crowd` reads and writes are in flight, 5 s at most. Inside:
    peak, the most that were; damaged, how many were changed.
    """

    def __init__(
        self, port: int, damage: int | None = None, spare: int = 0, crowd: int = 1
    ) -> None:
        super().__init__()
        self._upstream = port
        self._damage = damage
        self._spare = spare
        self._crowd = crowd
        self._changed = threading.Condition()
        self._flying: set[int] = set()
        self.peak = 0
        self.damaged = 0

    def serve(self, connection: socket.socket) -> None:
        server = socket.create_connection(("127.0.0.1", self._upstream))
        self.keep(server)
        for each in (connection, server):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        back = threading.Thread(target=self._pump, args=(server, connection), daemon=True)
        back.start()
        self._pump(connection, server)

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            while True:
                head = _exactly(source, HEADER.size)
                kind, command, ident, offset, length, _ = HEADER.unpack(head)
                if kind == 1:
                    self._ended(ident)
                body = _exactly(source, length)
                if kind == 0 and command in (COMMAND, DSI_WRITE) and body and body[0] in DATA:
                    self._begun(ident)
                    if command == DSI_WRITE:
                        self._meddle(body, offset)
                target.sendall(head + body)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _begun(self, ident: int) -> None:
        with self._changed:
            self._flying.add(ident)
            self.peak = max(self.peak, len(self._flying))
            self._changed.notify()

    def _ended(self, ident: int) -> None:
        """What comes back is in flight no longer."""
        with self._changed:
            if ident in self._flying:
                self._changed.wait_for(lambda: self.peak >= self._crowd, timeout=5)
            self._flying.discard(ident)

    def _meddle(self, body: bytearray, data: int) -> None:
        layout = {WRITE: ">xxxxII", WRITE_EXT: ">xxxxQQ"}.get(body[0])
        if layout is None or self._damage is None:
            return
        start, count = struct.unpack_from(layout, body)
        if not start <= self._damage < start + count:
            return
        if self._spare:
            self._spare -= 1
            return
        body[data + self._damage - start] ^= 0xFF
        self.damaged += 1


def _exactly(source: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        n = source.recv_into(view)
        if not n:
            raise ValueError("the end")
        view = view[n:]
    return data
