# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of replays share: recordings, how they are changed, and what else is on a volume."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from netatalk import Server
from scope import OK, Scope
from tracefile import FIELDS, HEAD, PACKET

OPERATIONS = "operations"
CREATE_FOLDER, CREATE_FILE = 6, 7
READ, LIST = 60, 68
TRACE = ("--trace=requests", "--replayable")

Change = Callable[[dict[str, int]], dict[str, int] | None]


def office(clients: int, seed: int, seconds: int = 1, *more: str) -> tuple[str, ...]:
    """A load of documents that are read and saved."""
    how = ("--mix", "office", "-n", str(clients), "--seed", str(seed), "-d", str(seconds))
    return (*how, "--ramp", "0", "--no-probe", *more)


def recorded(scope: Scope, server: Server, folder: Path, load: tuple[str, ...]) -> Path:
    """A load, and its recording."""
    scope(server, *load, *TRACE, "-o", str(folder), tool="load").expect(OK)
    return folder


def of(folder: Path) -> Path:
    """The stream of a recording that a replay reads."""
    return folder / "trace" / OPERATIONS


def about(folder: Path) -> Any:
    """What came of a replay; None: it has sent nothing."""
    file = folder / "run.json"
    phases = json.loads(file.read_text())["phases"] if file.exists() else []
    return phases[0]["replay"] if phases else None


def sums(replay: Any) -> dict[str, int]:
    """Requests by what came of them."""
    kinds = (
        "as_recorded",
        "new_error",
        "no_error",
        "other_error",
        "other_size",
        "unsent",
        "not_supported",
    )
    return {kind: sum(q[kind] for q in replay["requests"]) for kind in kinds}


def copied(recording: Path, to: Path) -> Path:
    """Only what a replay reads, so that a hundred copies cost nothing."""
    (to / "trace").mkdir(parents=True)
    shutil.copy(recording / "run.json", to)
    for name in ("metadata", ".layout.json", OPERATIONS):
        shutil.copy(recording / "trace" / name, to / "trace")
    return to


def packets(data: bytes) -> Iterator[bytearray]:
    for i in range(len(data) // PACKET):
        yield bytearray(data[i * PACKET : (i + 1) * PACKET])


def summed(packet: bytearray) -> bytes:
    """With the checksum that it is to have."""
    packet[72:76] = bytes(4)
    packet[72:76] = zlib.crc32(packet).to_bytes(4, "little")
    return bytes(packet)


def rewrite(folder: Path, change: Change) -> None:
    """Each record as `change` has it, None leaves it out; the checksums are right."""
    layout, names = FIELDS[OPERATIONS]
    form, keys = struct.Struct(layout), names.split()
    out = b""
    for packet in packets(of(folder).read_bytes()):
        end = HEAD.unpack_from(packet)[5] // 8
        records = []
        for values in form.iter_unpack(packet[HEAD.size : end]):
            if changed := change(dict(zip(keys, values, strict=True))):
                records.append(form.pack(*(changed[key] for key in keys)))
        body = b"".join(records)
        packet[HEAD.size :] = body.ljust(PACKET - HEAD.size, b"\0")
        packet[40:48] = ((HEAD.size + len(body)) * 8).to_bytes(8, "little")
        out += summed(packet)
    of(folder).write_bytes(out)


def found_there(record: dict[str, int]) -> dict[str, int] | None:
    """For rewrite: nothing is made, so that all was there before."""
    return None if record["command"] in (CREATE_FOLDER, CREATE_FILE) else record


def longer(by: int, listed: int = 0) -> Change:
    """For rewrite: nothing is made, each file is longer by so many bytes, and in each folder that
    was listed so many entries were seen; 0: as many as there were."""

    def change(record: dict[str, int]) -> dict[str, int] | None:
        if record["command"] == READ:
            return record | {"offset": record["offset"] + by}
        if listed and record["command"] == LIST and record["actual"]:
            return record | {"offset": 1, "actual": listed}
        return found_there(record)

    return change


def seen(place: Path) -> dict[str, tuple[int, int, str]]:
    """All that is there: mode, size and sum of each file and folder."""
    found = {}
    for path in sorted(
        Path(at) / name for at, dirs, files in os.walk(place) for name in (*dirs, *files)
    ):
        with contextlib.suppress(FileNotFoundError):
            stat = path.lstat()
            sha = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            size = 0 if path.is_dir() else stat.st_size
            found[str(path.relative_to(place))] = (stat.st_mode, size, sha)
    return found


OTHERS = ("bcdf", "b", "more-0000000", "documents/bcdfgh.txt", "afpscope-replay-other/b")


def put_others(place: Path) -> dict[str, tuple[int, int, str]]:
    """Files of others, some with names as a replay might choose; what is there then."""
    for name in OTHERS:
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"precious {name}")
    return seen(place)


def take_others(place: Path) -> None:
    """Removes them: who has the server next finds none."""
    for name in OTHERS:
        (place / name).unlink()
        if (place / name).parent != place:
            (place / name).parent.rmdir()
