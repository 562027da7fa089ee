# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers that misbehave, and proxies that break or damage a session of a real one."""

from __future__ import annotations

import contextlib
import queue
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from afpclient import COMMAND, HEADER

LOGIN_CONT = 19

DSI_WRITE = 6
DATA = (27, 33, 60, 61)  # FPRead, FPWrite, FPReadExt, FPWriteExt
WRITE, WRITE_EXT = 33, 61


class Listener:
    """Accepts on a free port of the loopback; each connection in a thread."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self.accepted = 0

    def serve(self, connection: socket.socket) -> None:
        raise NotImplementedError

    def keep(self, connection: socket.socket) -> None:
        """To be closed at the end."""
        self._open.append(connection)

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.accepted += 1
                self.keep(connection)
                threading.Thread(target=self._guarded, args=(connection,), daemon=True).start()

    def _guarded(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            self.serve(connection)

    def __enter__(self) -> Self:
        threading.Thread(target=self._run, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # close() alone does not end an accept() of another thread.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for each in (self._listener, *self._open):
            each.close()


class FakeServer(Listener):
    """Sends an answer to the first request, if any, and hangs up then, or when the client does; one
    without an answer never does."""

    def __init__(self, answer: bytes = b"", hang_up: bool = False) -> None:
        super().__init__()
        self._answer = answer
        self._hang_up = hang_up

    def serve(self, connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(self._answer)
        while self._answer and not self._hang_up and connection.recv(65536):
            pass
        if self._answer or self._hang_up:
            connection.close()


class Proxy(Listener):
    """Between a client and the real server on a port."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._upstream = port

    def server_for(self, connection: socket.socket) -> socket.socket:
        """The other end of what comes in."""
        server = socket.create_connection(("127.0.0.1", self._upstream))
        self.keep(server)
        for each in (connection, server):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return server


class Between(Proxy):
    """Keeps all that passes. spoil: a message whose last byte is another; cut: it has no data.

    PROOF is what comes with a login's success, ANSWER the last message of a login before it.
    """

    PROOF, ANSWER = "proof", "answer"

    def __init__(self, port: int, spoil: str = "", cut: str = "") -> None:
        super().__init__(port)
        self._spoil = spoil
        self._cut = cut
        self._conts: set[int] = set()
        self.seen = bytearray()
        self.spoiled = 0

    def serve(self, connection: socket.socket) -> None:
        server = self.server_for(connection)
        back = threading.Thread(target=self._pass, args=(server, connection), daemon=True)
        back.start()
        self._pass(connection, server)

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            while True:
                head = _exactly(source, HEADER.size)
                kind, command, ident, code, length, _ = HEADER.unpack(head)
                body = _exactly(source, length)
                if kind == 0 and command == COMMAND and body[0] == LOGIN_CONT:
                    self._conts.add(ident)
                    what = self.ANSWER
                elif kind == 1 and ident in self._conts and not code and body:
                    what = self.PROOF
                else:
                    what = "other"
                self.spoiled += what in (self._spoil, self._cut)
                if what == self._spoil:
                    body[-1] ^= 1
                if what == self._cut:
                    body.clear()
                    head = HEADER.pack(kind, command, ident, code, 0, 0)
                self.seen += head + body
                target.sendall(head + body)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class BreakingProxy(Proxy):
    """Passes everything on; a connection breaks after some bytes of the client.

    It is the second one if no other is named. (The first one asks for the server's status.) fault
    gets both ends, client and server; the proxy passes nothing on from then.
    """

    def __init__(
        self,
        port: int,
        after: int,
        fault: Callable[[socket.socket, socket.socket], None],
        doomed: int = 2,
    ) -> None:
        super().__init__(port)
        self._after = after
        self._fault = fault
        self._doomed = doomed
        self.broken = threading.Event()

    def serve(self, connection: socket.socket) -> None:
        doomed = self.accepted == self._doomed
        server = self.server_for(connection)
        selector = selectors.DefaultSelector()
        selector.register(connection, selectors.EVENT_READ, server)
        selector.register(server, selectors.EVENT_READ, connection)
        seen = 0
        while True:
            for key, _ in selector.select():
                source, target = key.fileobj, key.data
                assert isinstance(source, socket.socket)
                data = source.recv(65536)
                if not data:
                    connection.close()
                    server.close()
                    return
                seen += len(data) if source is connection else 0
                if doomed and seen > self._after:
                    self.broken.set()
                    self._fault(connection, server)
                    return
                target.sendall(data)


class Far(Proxy):
    """Holds all bytes for half a round trip in each direction, however many there are.

    Inside: late_s, how long after they were due it let them go: this machine's part of the way.
    """

    def __init__(self, port: int, rtt_s: float) -> None:
        super().__init__(port)
        self.rtt_s = rtt_s
        self.late_s: list[float] = []

    def serve(self, connection: socket.socket) -> None:
        server = self.server_for(connection)
        for ends in ((server, connection), (connection, server)):
            held: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
            for work in (self._take, self._give):
                threading.Thread(target=work, args=(*ends, held), daemon=True).start()

    def _take(
        self,
        source: socket.socket,
        _target: socket.socket,
        held: queue.SimpleQueue[tuple[float, bytes]],
    ) -> None:
        data = b"something"
        while data:
            try:
                data = source.recv(1 << 20)
            except OSError:
                data = b""
            held.put((time.monotonic() + self.rtt_s / 2, data))

    def _give(
        self,
        _source: socket.socket,
        target: socket.socket,
        held: queue.SimpleQueue[tuple[float, bytes]],
    ) -> None:
        with contextlib.suppress(OSError):
            while True:
                due, data = held.get()
                time.sleep(max(0, due - time.monotonic()))
                self.late_s.append(time.monotonic() - due)
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(data)


class Meddler(Proxy):
    """Knows DSI: passes frames on one by one, counts what is in flight, damages written data.

    damage: the byte of a file that changes its value on the way to the server,
    in every write but the first `spare` ones that hold it. The first answer
    waits until `crowd` reads and writes are in flight, 5 s at most. Inside:
    peak, the most that were; damaged, how many were changed.
    """

    def __init__(
        self, port: int, damage: int | None = None, spare: int = 0, crowd: int = 1
    ) -> None:
        super().__init__(port)
        self._damage = damage
        self._spare = spare
        self._crowd = crowd
        self._changed = threading.Condition()
        self._flying: set[int] = set()
        self.peak = 0
        self.damaged = 0

    def serve(self, connection: socket.socket) -> None:
        server = self.server_for(connection)
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


def hang_up(client: socket.socket, server: socket.socket) -> None:
    server.close()
    client.close()


def fall_silent(_client: socket.socket, server: socket.socket) -> None:
    server.close()


def send_garbage(client: socket.socket, server: socket.socket) -> None:
    client.sendall(bytes(range(256)) * 16)
    server.close()
