# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers that misbehave, and a proxy that breaks a session of a real one."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self


class _Listener:
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


class FakeServer(_Listener):
    """Sends an answer to the first request, if any, and hangs up if told so."""

    def __init__(self, answer: bytes = b"", hang_up: bool = False) -> None:
        super().__init__()
        self._answer = answer
        self._hang_up = hang_up

    def serve(self, connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(self._answer)
        if self._hang_up:
            connection.close()


class BreakingProxy(_Listener):
    """Passes everything on; the second connection breaks after some bytes of the client.

    (The first one asks for the server's status.) fault gets both ends, client
    and server; the proxy passes nothing on from then.
    """

    def __init__(
        self, port: int, after: int, fault: Callable[[socket.socket, socket.socket], None]
    ) -> None:
        super().__init__()
        self._upstream = port
        self._after = after
        self._fault = fault
        self.broken = threading.Event()

    def serve(self, connection: socket.socket) -> None:
        doomed = self.accepted == 2
        server = socket.create_connection(("127.0.0.1", self._upstream))
        self.keep(server)
        for each in (connection, server):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
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
