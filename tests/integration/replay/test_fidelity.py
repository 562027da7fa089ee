# SPDX-License-Identifier: GPL-2.0-or-later
"""A client that uses each command, recorded and replayed: the server is asked for the same again,
and does the same for it.

Tests client/work/replay, client/afp/again.c, client/store/afp_ops.c, user/trace/operation.c. Some
8 s.
"""

from __future__ import annotations

import json
import signal
import struct
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from macclient import FILE, FOLDER, NO_OBJECT, Mac
from netatalk import Server
from scope import OK, Scope
from tracefile import read

NO_ITEM, MISC, END_OF_FILE, ID_EXISTS = -5012, -5014, -5009, -5035
LOGIN = {2, 18, 19, 20, 24, 63, 64}  # and volumes
OPEN_DESKTOP, WRITE_EXT = 48, 61
PIECES = {"write data file"}
# What the server does more for a folder in the volume's root than for the root itself.
DEEPER = {"stat -", "signal -", "write CNID socket"}
ATTRIBUTES, DATES, FINDER, UNIX = 0x0001, 0x001C, 0x0020, 0x8000


def prepare(client: Mac) -> None:
    """What is there before the recording."""
    top = client.make(2, "Ordner")
    below = client.make(top, "below")
    for i in range(7):
        client.about(7, below, b"", f"old {i}.txt")
        fork = client.open_file(below, f"old {i}.txt", 0x100)
        client.write(fork, 0, b"x" * 1000 * i)
        client.do(struct.pack(">BBH", 4, 0, fork))
    client.set_attribute(below, "old 1.txt", "com.example.one", b"1" * 32)
    client.set_attribute(below, "old 1.txt", "com.example.never.asked.for", b"2" * 50)


def look(client: Mac) -> int:
    """What a Mac asks when a window is opened; the folder of the files."""
    volume = client._volume
    client.do(struct.pack(">BBHH", 38, 0, 0, 3))
    client.do(struct.pack(">BBIH", 37, 1, 0, 3))
    client.do(struct.pack(">BBH", 48, 0, volume))
    client.do(struct.pack(">BBHH", 17, 0, volume, 0x0FFF))
    names = struct.pack(">HH", FILE, FOLDER)
    client.about(34, 2, names, "")
    found = client.about(34, 2, struct.pack(">HH", 0, 0x0100), "Ordner")
    top = struct.unpack_from(">I", found, 6)[0]
    found = client.about(34, top, struct.pack(">HH", 0x0100, 0x0100), "below")
    below: int = struct.unpack_from(">I", found, 6)[0]
    client.entries(below, 3)
    client.about(34, 2, names, "Ordner/below")
    client.about(34, 2, names, "Ordner/below/old 2.txt")
    client.about(34, top, names, "below/nothing", b"", NO_OBJECT)
    for name in ("old 3.txt", "old 4.txt"):
        client.about(34, below, names, name)
    client.about(58, below, b"", "old 3.txt", b"", NO_ITEM)
    client.attributes_of(below, "old 1.txt")
    client.attributes_of(below, "old 2.txt")
    for room in (0, 6 + 32):
        client.attribute_of(below, "old 1.txt", "com.example.one", room)
    client.attribute_of(below, "old 2.txt", "com.example.one", 0, NO_ITEM, MISC)
    return below


def change(client: Mac, below: int) -> None:
    """A new file, with all that can be set; and what is done with open files."""
    new = "new file.jpeg"
    client.about(7, below, b"", new)
    found = client.about(34, below, struct.pack(">HH", FILE, 0), new)
    number = struct.unpack_from(">I", found, 6 + 2 + 4 + 12 + 32 + 2)[0]
    bits = ATTRIBUTES | DATES | FINDER
    values = struct.pack(">HIII32s", 0x8001, 1, 2, 3, b"TEXTttxt")
    client.about(35, below, struct.pack(">H", bits), new, values)
    client.about(35, below, struct.pack(">H", UNIX), new, struct.pack(">iiII", -1, -1, 0o100640, 0))
    client.about(35, below, struct.pack(">H", 4), new, struct.pack(">I", 9))
    client.set_attribute(below, new, "com.example.two", b"3" * 300)
    client.attributes_of(below, new)
    client.about(71, below, struct.pack(">H", 0), new, client.attribute("com.example.two"))
    fork = client.open_file(below, new, 0x0B00)
    client.do(struct.pack(">BBHH", 14, 0, fork, 0x0A00))
    client.do(struct.pack(">BBHHQ", 31, 0, fork, 0x0800, 8192))
    client.write(fork, 4096, b"y" * 5000)
    client.do(struct.pack(">BBHqq", 59, 0, fork, 100, 20))
    client.do(struct.pack(">BBHqq", 59, 1, fork, 100, 20))
    client.do(struct.pack(">BBHqq", 60, 0, fork, 4000, 1000))
    client.do(struct.pack(">BBHqq", 60, 0, fork, 9000, 1000), END_OF_FILE)
    client.do(struct.pack(">BBHIIBB", 27, 0, fork, 0, 512, 0, 0))
    client.do(struct.pack(">BBH", 11, 0, fork))
    client.do(struct.pack(">BBH", 79, 0, fork))
    client.do(struct.pack(">BBH", 4, 0, fork))
    fork = client.open_file(below, new, 0x0400, rsrc=True)
    client.write(fork, 0, b"z" * 286)
    client.do(struct.pack(">BBHH", 14, 0, fork, 0x0400))
    client.do(struct.pack(">BBH", 4, 0, fork))
    client.about(39, below, b"", new, b"", ID_EXISTS)
    client.do(struct.pack(">BBHIH", 41, 0, client._volume, number, 0x0142))
    client.about(56, below, b"", new, b"\x06secret")
    client.about(58, below, b"", new)
    client.about(57, below, b"", new)


def move(client: Mac, below: int) -> None:
    """Other names, copies; and the end."""
    new, volume = "new file.jpeg", client._volume
    to = struct.pack(">HI", volume, below)
    head = struct.pack(">BBHI", 5, 0, volume, below) + to
    client.do(head + client.path("old 4.txt") + client.path() + client.path("copy"))
    head = struct.pack(">BBHII", 42, 0, volume, below, below)
    client.do(head + client.path(new) + client.path("copy"))
    head = struct.pack(">BBHI", 28, 0, volume, below)
    client.do(head + client.path("copy") + client.path("renamed"))
    head = struct.pack(">BBHII", 23, 0, volume, below, 2)
    client.do(head + client.path("renamed") + client.path("Ordner") + client.path("moved"))
    client.about(8, 2, b"", "Ordner/moved")
    client.about(8, below, b"", new)
    client.do(struct.pack(">BBHI", 78, 0, volume, below), 0, NO_OBJECT)
    client.do(struct.pack(">BBH", 10, 0, volume))
    client.do(struct.pack(">BBH", 49, 0, volume))


def tidy(client: Mac) -> None:
    for name in (*(f"Ordner/below/old {i}.txt" for i in range(7)), "Ordner/below", "Ordner"):
        client.about(8, 2, b"", name)


class Asked(NamedTuple):
    said: tuple[Any, ...]  # what the request said, and what came of it
    calls: Counter[str]  # the server's system calls by class and object
    of_root: bool  # it begins at the volume's root


def asked(folder: Path, begin_ns: int = 0) -> list[list[Asked]]:
    """The requests of each session, the one with most of them first. Without calls of which the
    number depends on how bytes come through its connections, and of the allocator."""
    names = json.loads((folder / ".layout.json").read_text())["names"]
    kinds, objects = names["class_t"], names["object_t"]
    calls: dict[tuple[int, int], Counter[str]] = {}
    for c in read(folder / "calls").records:
        kind, where = kinds[str(c.kind)], objects[str(c.obj)]
        waits = kind in ("wait", "memory") or (where == "CNID socket" and kind == "recv")
        if c.dsi_id and where != "client socket" and not waits:
            calls.setdefault((c.session, c.dsi_id), Counter())[f"{kind} {where}"] += 1
    found: dict[int, list[Asked]] = {}
    for o in read(folder / "operations").records:
        if o.command < 256 and o.command not in LOGIN and o.t >= begin_ns:
            said = (
                *(o.command, o.result, o.offset, o.length, o.actual, o.room),
                *(o.bitmap, o.bitmap2, o.flags, o.which, o.depth, o.depth2),
            )
            of_root = 2 in (o.dir, o.dir2)
            one = Asked(said, calls.get((o.session, o.dsi_id), Counter()), of_root)
            found.setdefault(o.session, []).append(one)
    return sorted(found.values(), key=len, reverse=True)


def replayed(scope: Scope, server: Server, recording: Path, to: Path) -> list[list[Asked]]:
    """All of it, and each request was answered as in the recording."""
    args = (str(recording), "--trace", "--replayable", "--no-think", "-o", str(to))
    scope(server, *args, tool="replay").expect(OK)
    (phase,) = json.loads((to / "run.json").read_text())["phases"]
    about = phase["replay"]
    assert sum(q["as_recorded"] for q in about["requests"]) == about["planned"]
    return asked(to / "trace", phase["start_ns"])


def assert_same(first: list[Asked], second: list[Asked]) -> None:
    """But for the files' removal afterwards, the first request in a volume, and what takes more
    for a folder in its root than for the root itself; and for one request of fifty, as the server
    looks again at a folder that was changed within the last tick of the clock."""
    second = second[: len(first)]
    assert [a.said for a in first] == [a.said for a in second]
    different = []
    for a, b in zip(first, second, strict=True):
        more = set(b.calls - a.calls) - (DEEPER if a.of_root else set())
        less = set(a.calls - b.calls)
        if a.said[0] == WRITE_EXT:  # in as many pieces as the bytes come
            more, less = more - PIECES, less - PIECES
        if a.said[0] != OPEN_DESKTOP and more | less:
            different.append((a.said, a.calls - b.calls, b.calls - a.calls))
    assert len(different) <= max(2, len(first) // 50), different


@pytest.mark.parametrize("version", ["dbd", "old"])
def test_each_command_is_sent_again(
    scope: Scope, tmp_path: Path, version: str, request: pytest.FixtureRequest
) -> None:
    server = request.getfixturevalue(version)
    with closing(Mac(server.port)) as client:
        prepare(client)
    args = ("--trace", "--replayable", "-o", str(tmp_path / "recording"))
    running = scope.start(scope.recorder(server, *args))
    running.wait_recording()
    with closing(Mac(server.port)) as client:
        below = look(client)
        change(client, below)
        move(client, below)
    running.signal(signal.SIGINT)
    running.finish().expect(OK)
    first, *_ = asked(tmp_path / "recording/trace")
    second, *_ = replayed(scope, server, tmp_path / "recording", tmp_path / "again")
    with closing(Mac(server.port)) as client:
        tidy(client)
    assert len(first) == 63
    assert_same(first, second)


def test_a_load_makes_the_same_calls_again(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    load = ("--mix", "office", "--clients", "1", "--seed", "7", "-d", "1", "--ramp", "0")
    load += ("--think", "0.004")
    trace = ("--no-probe", "--trace", "--replayable")
    recording = tmp_path / "recording"
    scope(dbd, *load, *trace, "-o", str(recording), tool="load").expect(OK)
    sessions = asked(recording / "trace")
    again = replayed(scope, dbd, recording, tmp_path / "again")
    assert len(sessions[0]) > 300
    assert_same(sessions[0], again[0])
