# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of afpscope record share: a client of their own, and how a
record is ended and read."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import signal
import struct
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from afpclient import COMMAND, HEADER, AfpClient
from netatalk import Server
from scope import OK, Run, Running, wait_until

STAT, READ_EXT, WRITE_EXT = 34, 60, 61
CREATE_FILE, OPEN_FORK, CLOSE_FORK, DELETE = 7, 26, 4, 8
LOGIN, OPEN_VOLUME, LOGOUT = 18, 24, 20
DSI_WRITE = 6


class RawClient(AfpClient):
    """Frames as one likes, in pieces as one likes."""

    def frame(self, payload: bytes, command: int = COMMAND, offset: int = 0) -> bytes:
        self._id = (self._id + 1) & 0xFFFF
        return HEADER.pack(0, command, self._id, offset, len(payload), 0) + payload

    def send(self, data: bytes, sizes: Sequence[int] = ()) -> None:
        """In pieces of these sizes, again and again; or in one."""
        turns = itertools.cycle(sizes or [len(data)])
        while data:
            size = next(turns)
            self._socket.sendall(data[:size])
            data = data[size:]
            if sizes:
                time.sleep(0.0005)

    def wait_read(self) -> None:
        """Until the server has read what was sent."""
        ends = self._socket.getsockname(), self._socket.getpeername()
        here, there = (f":{end[1]:04X}" for end in ends)

        def read() -> bool:
            text = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
            rows = [line.split() for line in text.splitlines()]
            (queue,) = (r[4] for r in rows if r[1].endswith(there) and r[2].endswith(here))
            return queue.endswith(":00000000")

        wait_until(read, 10, "the server to read")

    def replies(self, n: int) -> list[int]:
        """Result codes of the next n replies."""
        codes = []
        while len(codes) < n:
            flag, _, _, code, size, _ = HEADER.unpack(self._receive(HEADER.size))
            self._receive(size)
            if flag == 1:
                codes.append(code)
        return codes

    def ask(self, payload: bytes) -> bytes:
        return self._expect_ok(f"command {payload[0]}", payload)

    def stat_frame(self) -> bytes:
        return self.frame(
            struct.pack(">BBHIHHBIH", STAT, 0, self._volume, 2, 0, 0x0142, 3, 0x08000103, 0)
        )

    def path(self, name: str) -> bytes:
        return b"\3" + struct.pack(">IH", 0x08000103, len(name)) + name.encode()

    def create(self, name: str) -> None:
        self.ask(struct.pack(">BBHI", CREATE_FILE, 0, self._volume, 2) + self.path(name))

    def delete(self, name: str) -> None:
        self.ask(struct.pack(">BBHI", DELETE, 0, self._volume, 2) + self.path(name))

    def open(self, name: str) -> int:
        head = struct.pack(">BBHIHH", OPEN_FORK, 0, self._volume, 2, 0, 3)
        fork: int = struct.unpack_from(">H", self.ask(head + self.path(name)), 2)[0]
        return fork

    def close_fork(self, fork: int) -> None:
        self.ask(struct.pack(">BBH", CLOSE_FORK, 0, fork))

    def write_frame(self, fork: int, data: bytes) -> bytes:
        head = struct.pack(">BBHQQ", WRITE_EXT, 0, fork, 0, len(data))
        return self.frame(head + data, DSI_WRITE, len(head))

    def read_frame(self, fork: int, size: int) -> bytes:
        return self.frame(struct.pack(">BBHQQ", READ_EXT, 0, fork, 0, size))


class PathClient(RawClient):
    """Commands with UTF-8 names, which come to the server in pieces of so many bytes."""

    pieces: tuple[int, ...] = ()
    names: list[bytes]

    def path(self, *parts: str) -> bytes:
        raw = "\0".join(parts).encode()
        return struct.pack(">BIH", 3, 0x08000103, len(raw)) + raw

    def ask(self, payload: bytes, command: int = 2, offset: int = 0) -> tuple[int, bytes]:
        self.send(self.frame(payload, command, offset), self.pieces)
        while True:
            head = self._receive(16)
            flag, _, ident, result, size, _ = struct.unpack(">BBHiII", head)
            data = self._receive(size)
            if flag == 1 and ident == self._id:
                return result, data

    def named(self, command: int, folder: int, path: bytes, more: bytes = b"") -> bytes:
        head = struct.pack(">BBHI", command, 0, self._volume, folder)
        result, data = self.ask(head + more + path)
        assert not result, (command, result)
        return data


def stopped(running: Running, number: signal.Signals = signal.SIGINT) -> Run:
    running.signal(number)
    return saved(running)


def saved(running: Running, status: int = OK) -> Run:
    done = running.finish().expect(status)
    assert done.run, f"nothing was saved: {done}"
    return done.run


def by_port(run: Run) -> dict[int, dict[str, Any]]:
    """The client's port -> session."""
    return {
        int(session["address"].rpartition(":")[2]): session
        for session in run.saved["sessions"]
        if session["address"]
    }


def stats(run: Run) -> int:
    return run.phases[0].requests().get(STAT, 0)


def gone(server: Server) -> None:
    wait_until(lambda: not server.sessions(), 10, "the sessions to end")


def held() -> set[int]:
    """Programs in the kernel that a process holds."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            for path in (process / "fdinfo").iterdir():
                with contextlib.suppress(OSError):
                    text = path.read_text()
                    found |= {int(i) for i in re.findall(r"^prog_id:\s*(\d+)", text, re.M)}
    return found


def orphans() -> set[int]:
    """Our programs in the kernel that belong to no living process."""
    listed = subprocess.run(
        ["bpftool", "-j", "prog", "show"], check=True, capture_output=True, text=True
    ).stdout
    names = ("on_sys_enter", "on_sys_exit", "on_switch")
    return {p["id"] for p in json.loads(listed) if p.get("name") in names} - held()


HOSTILE = b'a\x1b[2J\n\r\t\x7f\xc2\x9b\xff\xfe"\\' + b"x" * 200


def ask_for(client: RawClient, name: bytes) -> None:
    head = struct.pack(">BBHIHH", OPEN_FORK, 0, client._volume, 2, 0, 3)
    path = b"\3" + struct.pack(">IH", 0x08000103, len(name)) + name
    client.send(client.frame(head + path))
    client.replies(1)
