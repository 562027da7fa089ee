# SPDX-License-Identifier: GPL-2.0-or-later
"""A small AFP client: sessions that stand around while something else is tested."""

from __future__ import annotations

import socket
import struct
import threading
from types import TracebackType
from typing import Self

CLOSE_SESSION, COMMAND, OPEN_SESSION, TICKLE = 1, 2, 4, 5
HEADER = struct.Struct(">BBHiII")


def _pascal(text: str) -> bytes:
    raw = text.encode()
    return bytes([len(raw)]) + raw


class AfpClient:
    """One session, logged in by clear text, with a volume open."""

    def __init__(
        self,
        port: int,
        *,
        host: str = "127.0.0.1",
        user: str = "bench1",
        password: str = "secret1",
        volume: str = "vol1",
        near: tuple[str, int, int, int] | None = None,
    ) -> None:
        self._id = 0
        self._lock = threading.Lock()
        self._socket = socket.create_connection((host, port), 90, near)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._exchange(OPEN_SESSION, bytes([1, 4, 0, 0, 0, 2]))
        login = bytes([18]) + _pascal("AFP3.4") + _pascal("Cleartxt Passwrd")
        login += _pascal(user)
        login += bytes(len(login) % 2) + password.encode().ljust(8, b"\0")[:8]
        self._expect_ok("FPLogin", login)
        self._volume = self.open_volume(volume)

    def _exchange(self, command: int, payload: bytes) -> tuple[int, bytes]:
        with self._lock:
            self._id = (self._id + 1) & 0xFFFF
            header = HEADER.pack(0, command, self._id, 0, len(payload), 0)
            self._socket.sendall(header + payload)
            while True:
                raw = self._receive(HEADER.size)
                flag, number, ident, code, size, _ = HEADER.unpack(raw)
                data = self._receive(size)
                if flag == 1 and number == command and ident == self._id:
                    return code, data

    def _receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise ConnectionError("the server hung up")
            data += piece
        return data

    def _expect_ok(self, what: str, payload: bytes) -> bytes:
        code, data = self._exchange(COMMAND, payload)
        if code:
            raise RuntimeError(f"{what}: AFP error {code}")
        return data

    def open_volume(self, name: str) -> int:
        """FPOpenVol; the volume's id."""
        reply = self._expect_ok("FPOpenVol", bytes([24, 0, 0, 0x21]) + _pascal(name))
        found: int = struct.unpack_from(">H", reply, 4)[0]
        return found

    def stat_root(self) -> None:
        """FPGetFileDirParms of the volume's root: changes nothing."""
        self._expect_ok(
            "FPGetFileDirParms",
            struct.pack(">BBHIHHBIH", 34, 0, self._volume, 2, 0, 0x0142, 3, 0x08000103, 0),
        )

    def create(self, name: str) -> int:
        """FPCreateFile in the volume's root; the result."""
        head = struct.pack(">BBHIB", 7, 0, self._volume, 2, 2)
        return self._exchange(COMMAND, head + _pascal(name))[0]

    def open_fork(self, name: str, access: int) -> tuple[int, int]:
        """FPOpenFork of a file in the root; result, fork. access: 1 read, 2 write; 16, 32 deny."""
        head = struct.pack(">BBHIHHB", 26, 0, self._volume, 2, 0, access, 2)
        code, reply = self._exchange(COMMAND, head + _pascal(name))
        return code, 0 if code else struct.unpack_from(">H", reply, 2)[0]

    def close_fork(self, fork: int) -> None:
        self._expect_ok("FPCloseFork", struct.pack(">BBH", 4, 0, fork))

    def read(self, fork: int, offset: int, length: int) -> bytes:
        """FPReadExt."""
        return self._expect_ok("FPReadExt", struct.pack(">BBHqq", 60, 0, fork, offset, length))

    def ask_to_read(self, fork: int, offset: int, length: int) -> None:
        """FPReadExt, of which nobody takes the reply: the session is of no use after it."""
        payload = struct.pack(">BBHqq", 60, 0, fork, offset, length)
        self._socket.sendall(HEADER.pack(0, COMMAND, 0xFFFF, 0, len(payload), 0) + payload)

    def lock(self, fork: int, offset: int, length: int) -> int:
        """FPByteRangeLockExt; the result."""
        return self._exchange(COMMAND, struct.pack(">BBHqq", 59, 0, fork, offset, length))[0]

    def lock_own(self) -> None:
        """A range lock on a file of its own, taken and given back: what applications try."""
        name = f"own {self.local_port()}"
        self.create(name)
        code, fork = self.open_fork(name, 3)
        if code or self.lock(fork, 0, 10):
            raise RuntimeError(f"{name} cannot be locked")
        self.close_fork(fork)

    def create_or_fail(self) -> None:
        """FPCreateFile of a name that is new."""
        if code := self.create(f"new {self.local_port()} {self._id}"):
            raise RuntimeError(f"FPCreateFile: {code}")

    def list_folder(self, name: str) -> int:
        """FPEnumerateExt2 of a folder of the root, to its end; how many entries it has."""
        path = name.encode()
        tail = struct.pack(">BIH", 3, 0x08000103, len(path)) + path
        n = 0
        while True:
            head = struct.pack(
                ">BBHIHHHII", 68, 0, self._volume, 2, 0x2142, 0x2142, 200, n + 1, 65000
            )
            code, reply = self._exchange(COMMAND, head + tail)
            if code:
                return n
            n += struct.unpack_from(">H", reply, 4)[0]

    def stat(self, name: str) -> None:
        """FPGetFileDirParms of a path below the root, whose parts are divided by NUL."""
        path = name.encode()
        head = struct.pack(">BBHIHH", 34, 0, self._volume, 2, 0x0142, 0x0142)
        self._expect_ok(
            "FPGetFileDirParms", head + struct.pack(">BIH", 3, 0x08000103, len(path)) + path
        )

    def map_id(self) -> None:
        """FPMapID: the name of the user bench1, by its number."""
        self._expect_ok("FPMapID", struct.pack(">BBI", 21, 1, 5001))

    def volume_size(self) -> None:
        """FPGetVolParms: how many bytes are free."""
        self._expect_ok("FPGetVolParms", struct.pack(">BBHH", 17, 0, self._volume, 0x0200))

    def spotlight(self) -> None:
        """FPSpotlightRPC: the folder of the volume. Whatever the server answers."""
        self._exchange(COMMAND, struct.pack(">BBHIIIII", 76, 0, self._volume, 0, 1, 0, 0, 0))

    def local_port(self) -> int:
        port: int = self._socket.getsockname()[1]
        return port

    def drop(self) -> None:
        """Hang up without a word: the session's process stays, for a day."""
        self._socket.close()

    def hang_up(self) -> None:
        """The same while another thread waits for an answer: that gets an error."""
        self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """FPLogout and DSICloseSession."""
        self._expect_ok("FPLogout", bytes([20, 0]))
        self._socket.sendall(HEADER.pack(0, CLOSE_SESSION, 0, 0, 0, 0))
        self._socket.close()


class Busy:
    """Makes requests through a session, one after the other, in a thread."""

    def __init__(self, client: AfpClient, pause: float = 0.002) -> None:
        self.client = client
        self.requests = 0
        self._pause = pause
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def _work(self) -> None:
        while not self._stop.wait(self._pause):
            self.client.stat_root()
            self.requests += 1

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()
