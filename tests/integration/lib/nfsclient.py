# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of NFS made by hand (RFC 5531, 1813, 7530): what it sends, and how it is cut."""

from __future__ import annotations

import socket
import struct
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Self

MOUNT, NFS = 100005, 100003
MNT = 1
NULL, GETATTR, LOOKUP, ACCESS, READ, WRITE, CREATE, MKDIR = 0, 1, 3, 4, 6, 7, 8, 9
REMOVE, RMDIR, RENAME, READDIRPLUS, COMMIT = 12, 13, 14, 17, 21
NOENT = 2
# Of version 4.
OP_CREATE, OP_GETATTR, OP_GETFH, OP_LOOKUP, OP_PUTROOTFH, OP_REMOVE = 6, 9, 10, 15, 24, 28


def word(*numbers: int) -> bytes:
    return struct.pack(f">{len(numbers)}I", *numbers)


def opaque(data: bytes) -> bytes:
    return word(len(data)) + data + bytes(-len(data) % 4)


def lookup4(*names: str) -> list[bytes]:
    return [word(OP_LOOKUP) + opaque(name.encode()) for name in names]


GETATTR4 = word(OP_GETATTR, 2, 0x18, 0x30)  # change, size, links, mode
ROOT4 = word(OP_PUTROOTFH)


class Nfs:
    """A connection to one port of a server; calls are of that user and machine by AUTH_SYS."""

    def __init__(self, port: int, first: int = 1, user: int = 0, machine: str = "here") -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._xid = first
        whose = word(0) + opaque(machine.encode()) + word(user, user, 0)
        self._whose = word(1) + opaque(whose)
        self.sent: Counter[int] = Counter()  # procedure -> bytes, with the marks of fragments

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def send(
        self, program: int, version: int, procedure: int, args: bytes = b"", fragment: int = 0
    ) -> int:
        """A call, whose id is returned; in fragments of so many bytes, or in one."""
        self._xid += 1
        data = word(self._xid, 0, 2, program, version, procedure) + self._whose + word(0, 0) + args
        size = fragment or len(data)
        parts = [data[i : i + size] for i in range(0, len(data), size)]
        marks = [0] * (len(parts) - 1) + [1 << 31]
        records = zip(marks, parts, strict=True)
        record = b"".join(word(mark | len(part)) + part for mark, part in records)
        self.sent[procedure] += len(record)
        self._socket.sendall(record)
        return self._xid

    def receive(self) -> tuple[int, bytes]:
        """The id and the results of the next reply, which must be accepted."""
        data, last = b"", 0
        while not last:
            mark = int.from_bytes(self._exactly(4), "big")
            last, more = mark >> 31, mark & 0x7FFFFFFF
            data += self._exactly(more)
        xid, kind, denied, _, length = struct.unpack(">5I", data[:20])
        (status,) = struct.unpack(">I", data[20 + length : 24 + length])
        assert (kind, denied, status) == (1, 0, 0), f"a call was refused: {data[:32]!r}"
        return xid, data[24 + length :]

    def call(
        self, program: int, version: int, procedure: int, args: bytes = b"", fragment: int = 0
    ) -> bytes:
        xid = self.send(program, version, procedure, args, fragment)
        answered, results = self.receive()
        assert answered == xid
        return results

    def status(self, procedure: int, args: bytes, fragment: int = 0) -> int:
        """Of a procedure of version 3."""
        return int.from_bytes(self.call(NFS, 3, procedure, args, fragment)[:4], "big")

    def handle(self, procedure: int, args: bytes) -> bytes:
        """The file handle, with its length, with which the results of LOOKUP, CREATE and MKDIR
        begin."""
        results = self.call(NFS, 3, procedure, args)
        assert results[:4] == word(0), f"procedure {procedure} failed: {results[:4]!r}"
        at = 4 if procedure == LOOKUP else 8
        return results[at : at + 4 + int.from_bytes(results[at : at + 4], "big")]

    def compound(self, *operations: bytes) -> int:
        """Its status."""
        args = opaque(b"") + word(0, len(operations)) + b"".join(operations)
        return int.from_bytes(self.call(NFS, 4, 1, args)[:4], "big")

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            if not more:
                raise ConnectionError("the server has closed the connection")
            data += more
        return data


def mounted(port: int, path: str) -> bytes:
    """The handle of an export, with its length, by MOUNT."""
    with Nfs(port) as mount:
        results = mount.call(MOUNT, 3, MNT, opaque(path.encode()))
    assert results[:4] == word(0)
    size = int.from_bytes(results[4:8], "big")
    return results[4 : 8 + size + -size % 4]


def named(handle: bytes, name: str) -> bytes:
    return handle + opaque(name.encode())


NO_ATTRIBUTES = word(0, 0, 0, 0, 0, 0)


def work3(nfs: Nfs, folder: bytes, files: int, size: int, fragment: int = 0) -> None:
    """Files are made, written, read and removed, each looked up before it is there."""
    for i in range(files):
        name = named(folder, f"file{i}")
        assert nfs.status(LOOKUP, name) == NOENT
        file = nfs.handle(CREATE, name + word(0) + NO_ATTRIBUTES)
        data = word(0, 0, size, 2) + opaque(b"x" * size)
        assert nfs.status(WRITE, file + data, fragment) == 0
        assert nfs.status(COMMIT, file + word(0, 0, 0)) == 0
        assert nfs.status(READ, file + word(0, 0, size)) == 0
        assert nfs.status(GETATTR, file) == 0
        assert nfs.status(ACCESS, file + word(0x3F)) == 0
        assert nfs.status(RENAME, name + named(folder, f"other{i}")) == 0
        assert nfs.status(REMOVE, named(folder, f"other{i}")) == 0
    assert nfs.status(READDIRPLUS, folder + word(0, 0, 0, 0, 4096, 32768)) == 0


def work4(nfs: Nfs, path: Sequence[str], folders: int) -> None:
    """Folders are made, looked at and removed."""
    for i in range(folders):
        name = opaque(f"folder{i}".encode())
        at = [ROOT4, *lookup4(*path)]
        attributes = word(0, 0)  # none
        made = word(OP_CREATE, 2) + name + attributes
        assert nfs.compound(*at, *lookup4(f"folder{i}"), GETATTR4) == NOENT
        assert nfs.compound(*at, made, word(OP_GETFH), GETATTR4) == 0
        assert nfs.compound(*at, *lookup4(f"folder{i}"), word(OP_GETFH), GETATTR4) == 0
        assert nfs.compound(*at, GETATTR4, word(OP_REMOVE) + name) == 0
    assert nfs.compound(ROOT4, GETATTR4) == 0
