# SPDX-License-Identifier: GPL-2.0-or-later
"""A client that sends commands of AFP one by one, as a Mac does."""

from __future__ import annotations

import itertools
import struct

from recording import PathClient

NO_OBJECT = -5018
FILE, FOLDER = 0xEF7F, 0xBF7F  # bitmaps of a Mac, with Finder's data before the id


class Mac(PathClient):
    """Sends any command, and takes only the results that it is told."""

    def do(self, payload: bytes, *codes: int) -> bytes:
        result, data = self.ask(payload)
        assert result in (codes or (0,)), (payload[0], result)
        return data

    def about(
        self, command: int, folder: int, middle: bytes, name: str, rest: bytes = b"", *codes: int
    ) -> bytes:
        """A command that names something, and what follows it at an even offset."""
        head = struct.pack(">BBHI", command, 0, self._volume, folder) + middle
        head += self.path(*name.split("/")) if name else self.path()
        return self.do(head + bytes(len(head) % 2) * bool(rest) + rest, *codes)

    def make(self, folder: int, name: str) -> int:
        return int.from_bytes(self.about(6, folder, b"", name))

    def open_file(self, folder: int, name: str, bitmap: int, rsrc: bool = False) -> int:
        head = struct.pack(">BBHIHH", 26, 128 * rsrc, self._volume, folder, bitmap, 3)
        found: int = struct.unpack_from(">H", self.do(head + self.path(name)), 2)[0]
        return found

    def write(self, fork: int, offset: int, data: bytes) -> None:
        head = struct.pack(">BBHqq", 61, 0, fork, offset, len(data))
        assert self.ask(head + data, 6, len(head))[0] == 0

    def attribute(self, name: str) -> bytes:
        return struct.pack(">H", len(name)) + name.encode()

    def set_attribute(self, folder: int, name: str, attribute: str, value: bytes) -> None:
        rest = self.attribute(attribute) + struct.pack(">I", len(value)) + value
        self.about(70, folder, struct.pack(">HQ", 0, 0), name, rest)

    def attribute_of(self, folder: int, name: str, attribute: str, room: int, *codes: int) -> None:
        middle = struct.pack(">HQqI", 0, 0, -1, room)
        self.about(69, folder, middle, name, self.attribute(attribute), *codes)

    def attributes_of(self, folder: int, name: str) -> None:
        """Their lengths first, as a Mac asks."""
        for room in (0, 4096):
            self.about(72, folder, struct.pack(">HHII", 0, 0, 0, room), name)

    def entries(self, folder: int, count: int) -> None:
        for start in itertools.count(1, count):
            middle = struct.pack(">HHHII", FILE, FOLDER, count, start, 5000)
            if len(self.about(68, folder, middle, "", b"", 0, NO_OBJECT)) == 0:
                return
