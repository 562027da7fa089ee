# SPDX-License-Identifier: GPL-2.0-or-later
"""The server of rxperf's calls as OpenAFS's is: for PerfServer of rxpeer.py."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from rxpeer import COOKIE, FILE, NAMES, RECV, RPC, SEND, Program, Served, Side


@dataclass
class Memory:
    """OpenAFS's rxperf has one buffer for all calls: it reads into it, and answers from it."""

    held: bytearray = field(default_factory=lambda: bytearray(512 << 10))

    def took(self, data: bytes, each: int) -> None:
        for at in range(0, len(data), each):
            piece = data[at : at + each]
            self.held[: len(piece)] = piece

    def answer(self, size: int, each: int) -> bytes:
        return (bytes(self.held[:each]) * (size // each + 1))[:size]

    def __call__(self, side: Side, served: list[Served]) -> Program:
        """Its loops are those of the original: pieces of the sizes that the client asks for."""
        version, command, read_len, write_len = struct.unpack(">IIII", (yield 16))
        assert version == 3 and command in NAMES
        numbers = struct.unpack(f">{1 + (command == RPC)}I", (yield 4 + 4 * (command == RPC)))
        came = bytearray()
        if command == FILE:
            reads = True
            for n in struct.unpack(f">{numbers[0]}I", (yield 4 * numbers[0])):
                reads = reads if n else not reads
                if reads:
                    came += yield 4 * n
                    self.took(bytes(came[len(came) - 4 * n :]), read_len)
                else:
                    side.write(self.answer(4 * n, write_len))
        else:
            came += yield 0 if command == RECV else numbers[0]
            self.took(bytes(came), read_len)
            size = 0 if command == SEND else numbers[-1]
            side.write(self.answer(size, write_len) + COOKIE)
        served.append(Served(command, bytes(came)))
        side.end()


def every_order(words: Sequence[str], n: int) -> list[str]:
    """The shortest list in which each n of the words follow each other in each order."""
    found = list(words[:1]) * (n - 1)
    had: set[tuple[str, ...]] = set()
    while True:
        last = tuple(found[len(found) - n + 1 :])
        new = [word for word in reversed(words) if (*last, word) not in had]
        if not new:
            return found
        had.add((*last, new[0]))
        found.append(new[0])
