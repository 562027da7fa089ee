# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes traces as the recorder does, for tests of the reader, also very large ones.

tracegen.py FOLDER RECORDS    a run folder with so many calls, and requests to match
"""

from __future__ import annotations

import sys
import uuid
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MAGIC = 0xC1FC1FC1
UUID = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
COMMANDS = {7: "FPCreateFile", 8: "FPDelete", 26: "FPOpenFork", 27: "FPRead"}
ROLES = {0: "afpd", 1: "cnid_dbd", 2: "other"}
CLASSES = {0: "read", 1: "write", 8: "stat", 9: "xattr"}
OBJECTS = {0: "-", 1: "client socket", 4: "data file"}
EVENTS = {0: "begin", 1: "end"}

PARTS = ("own", "calls", "runq", "disk", "cnid", "lock", "log", "net", "other")
STREAMS: dict[str, dict[str, str]] = {
    "requests": {
        "t": "u8", "session": "u4", "dsi_id": "u2", "command": "command", "result": "i4",
        "calls": "u4", "bytes_in": "u8", "bytes_out": "u8", "time_ns": "u8",
        **{f"{part}_ns": "u8" for part in PARTS},
    },
    "calls": {
        "t": "u8", "session": "u4", "tid": "u4", "dsi_id": "u2", "command": "command",
        "role": "role", "class": "class", "object": "object", "nr": "u2", "fd": "i4",
        "ret": "i8", "time_ns": "u8",
    },
    "waits": {
        "t": "u8", "session": "u4", "tid": "u4", "command": "command", "role": "role",
        "class": "class", "object": "object", "kind": "u1", "ns": "u8",
    },
    "sessions": {
        "t": "u8", "session": "u4", "event": "event", "family": "u2", "port": "u2",
        "address": "u8", "uid": "u4",
    },
    "client": {
        "t": "u8", "port": "u2", "dsi_id": "u2", "command": "command", "result": "i4",
        "sent_ns": "u8", "first_ns": "u8", "last_ns": "u8", "len": "u8",
    },
}  # fmt: skip
ENUMS = {
    "command": ("u2", COMMANDS),
    "role": ("u1", ROLES),
    "class": ("u1", CLASSES),
    "object": ("u1", OBJECTS),
    "event": ("u1", EVENTS),
}
HEAD: list[tuple[str, Any]] = [
    ("magic", "<u4"), ("uuid", "16u1"), ("stream_id", "<u4"), ("timestamp_begin", "<u8"),
    ("timestamp_end", "<u8"), ("content_size", "<u8"), ("packet_size", "<u8"),
    ("events_discarded", "<u8"), ("packet_seq_num", "<u8"),
]  # fmt: skip

Records = npt.NDArray[Any]


def plain(kind: str) -> str:
    return ENUMS[kind][0] if kind in ENUMS else kind


def record_dtype(stream: str) -> np.dtype[Any]:
    return np.dtype([(name, "<" + plain(kind)) for name, kind in STREAMS[stream].items()])


def head_dtype(crc: bool) -> np.dtype[Any]:
    return np.dtype(HEAD + ([("crc32", "<u4")] if crc else []))


def _integer(kind: str) -> str:
    return f"integer {{ size = {int(kind[1]) * 8}; align = 8; signed = {int(kind[0] == 'i')}; }}"


def metadata(crc: bool = True) -> str:
    """The TSDL of the five streams."""
    out = ["/* CTF 1.8 */"]
    out += [f"typealias {_integer(s + str(n))} := {s}{n};" for s in "ui" for n in (1, 2, 4, 8)]
    out.append(
        f'trace {{ major = 1; minor = 8; uuid = "{UUID}"; byte_order = le;\n'
        "  packet.header := struct { u4 magic; u1 uuid[16]; u4 stream_id; }; };"
    )
    out.append('env { tracer_name = "afpscope"; };')
    out.append('clock { name = "monotonic"; freq = 1000000000; offset = 0; };')
    out.append(
        "typealias integer { size = 64; align = 8; signed = false;"
        " map = clock.monotonic.value; } := stamp;"
    )
    for kind, (base, labels) in ENUMS.items():
        texts = ", ".join(f'"{text}" = {value}' for value, text in labels.items())
        out.append(f"enum {kind}_label : {base} {{ {texts} }};")
    for number, (name, fields) in enumerate(STREAMS.items()):
        tail = " u4 crc32;" if crc else ""
        out.append(
            f"stream {{ id = {number}; packet.context := struct {{ stamp timestamp_begin;"
            " stamp timestamp_end; u8 content_size; u8 packet_size; u8 events_discarded;"
            f" u8 packet_seq_num;{tail} }};\n  event.header := struct {{ stamp t; }}; }};"
        )
        rest = " ".join(
            f"{f'enum {kind}_label' if kind in ENUMS else kind} _{field};"
            for field, kind in fields.items()
            if field != "t"
        )
        out.append(
            f'event {{ name = "{name}"; id = 0; stream_id = {number};\n'
            f"  fields := struct {{ {rest} }}; }};"
        )
    text = "\n".join(out) + "\n"
    return text + (f"/* crc32 {zlib.crc32(text.encode()):08x} */\n" if crc else "")


def records(stream: str, n: int, seed: int = 1) -> Records:
    """`n` plausible records in order of time."""
    rng = np.random.default_rng(seed)
    out = np.zeros(n, record_dtype(stream))
    out["t"] = 1_000_000_000 + np.arange(n, dtype=np.uint64) * 5000
    for field, kind in STREAMS[stream].items():
        if kind in ENUMS:
            out[field] = rng.choice(list(ENUMS[kind][1]), n)
        elif field.endswith("ns"):
            out[field] = rng.lognormal(9, 1, n).astype(np.uint64)
    for field, top in (("session", 4), ("dsi_id", 65536), ("fd", 40), ("port", 4)):
        if field in STREAMS[stream]:
            out[field] = rng.integers(0, top, n)
    if stream == "requests":
        out["time_ns"] = sum(out[f"{part}_ns"] for part in PARTS)
    return out


def both_sides(n: int) -> dict[str, Records]:
    """Requests of two sessions as server and client saw them, by clocks that differ; the DSI
    ids come round again."""
    requests, client, sessions = (
        records("requests", n),
        records("client", n),
        records("sessions", 2),
    )
    requests["session"] = np.arange(n) % 2
    requests["dsi_id"] = np.arange(n) // 2 % 16
    sessions["session"], sessions["port"] = (0, 1), (50000, 50001)
    for field in ("command", "dsi_id"):
        client[field] = requests[field]
    client["port"] = 50000 + requests["session"]
    client["t"] = client["sent_ns"] = requests["t"] - np.uint64(999_999_999)
    client["last_ns"] = client["sent_ns"] + requests["time_ns"] + np.uint64(1234)
    order = np.random.default_rng(3).permutation(n)
    return {"requests": requests, "client": client[order], "sessions": sessions}


def packets(
    stream: str, rows: Records, size: int = 4096, crc: bool = True, discarded: int = 0
) -> bytes:
    """The file of a stream: whole packets of `size` bytes."""
    head = np.zeros(1, head_dtype(crc))
    start, stride = head.dtype.itemsize, rows.dtype.itemsize
    each = (size - start) // stride
    out = []
    for seq, first in enumerate(range(0, max(len(rows), 1), each)):
        part = rows[first : first + each]
        head["magic"], head["uuid"] = MAGIC, np.frombuffer(UUID.bytes, np.uint8)
        head["stream_id"] = list(STREAMS).index(stream)
        if len(part):
            head["timestamp_begin"], head["timestamp_end"] = part["t"][0], part["t"][-1]
        head["content_size"] = (start + len(part) * stride) * 8
        head["packet_size"], head["packet_seq_num"] = size * 8, seq
        head["events_discarded"] = discarded
        body = part.tobytes().ljust(size - start, b"\0")
        if crc:
            head["crc32"] = 0
            head["crc32"] = zlib.crc32(head.tobytes() + body)
        out.append(head.tobytes() + body)
    return b"".join(out)


def write(folder: Path, n: int = 300, crc: bool = True, size: int = 4096) -> dict[str, Records]:
    """A trace in `folder`; what is in it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metadata").write_text(metadata(crc))
    made = {name: records(name, n, seed) for seed, name in enumerate(STREAMS)}
    for name, rows in made.items():
        (folder / name).write_bytes(packets(name, rows, size, crc))
    return made


def main(folder: str, n: int) -> None:
    base = Path(folder) / "trace"
    base.mkdir(parents=True)
    (base / "metadata").write_text(metadata())
    for name, share in (("calls", n), ("requests", n // 10), ("client", n // 10)):
        (base / name).write_bytes(packets(name, records(name, share), 1 << 18))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
