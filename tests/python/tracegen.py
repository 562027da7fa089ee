# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes traces as the recorder does, for tests of the reader, also very large ones.

Fields are those of docs/trace.md, which follow from bpf/records.h.

tracegen.py FOLDER RECORDS    a run folder with so many calls, and requests to match
"""

from __future__ import annotations

import json
import re
import sys
import uuid
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MAGIC = 0xC1FC1FC1
LAYOUT = ".layout.json"
UUID = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
COMMANDS = {7: "FPCreateFile", 8: "FPDelete", 26: "FPOpenFork", 27: "FPRead"}
ROLES = {0: "afpd", 1: "cnid_dbd", 2: "other"}
CLASSES = {0: "read", 1: "write", 8: "stat", 9: "xattr"}
OBJECTS = {0: "-", 1: "client socket", 4: "data file"}
KINDS = {1: "blocked", 2: "run queue"}
EVENTS = {1: "begin", 2: "end"}

PARTS = ("own", "calls", "runq", "disk", "cnid", "lock", "log", "net", "other")
PARTS_SHOWN = {"own": "own code", "calls": "in calls", "runq": "run queue"}
CHUNK = 1 << 20  # records of a large trace that are in memory at once
LARGE = 1 << 18  # bytes of its packets
DOC = Path(__file__).parents[2] / "docs" / "trace.md"


def _fields() -> dict[str, dict[str, str]]:
    """Type by field by stream: u8 (of 8 bytes), 16u1 (an array of 16 bytes), or an enum."""
    out: dict[str, dict[str, str]] = {}
    for line in DOC.read_text().partition("<!-- made by")[2].splitlines():
        if line.startswith("### "):
            out[line[4:]] = fields = {}
        elif row := re.match(r"\| \d+ \| `(\w+)` \| char\[(\d+)\]", line):
            fields[row[1]] = f"S{row[2]}"
        elif row := re.match(r"\| \d+ \| `(\w+)` \| ([us])(\d+)(\[16\])?(, enum)?", line):
            name, sign, bits, array, enum = row.groups()
            kind = f"{'i' if sign == 's' else 'u'}{int(bits) // 8}"
            fields[name] = name if enum else f"16{kind}" if array else kind
    return out


STREAMS = _fields()
ENUMS = {
    "command": ("u2", COMMANDS),
    "role": ("u1", ROLES),
    "class": ("u1", CLASSES),
    "object": ("u1", OBJECTS),
    "kind": ("u1", KINDS),
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
    kinds = {name: plain(kind) for name, kind in STREAMS[stream].items()}
    return np.dtype([(n, k if k[0] in "1S" else f"<{k}") for n, k in kinds.items()])


def head_dtype(crc: bool) -> np.dtype[Any]:
    return np.dtype(HEAD + ([("crc32", "<u4")] if crc else []))


def _integer(kind: str) -> str:
    return f"integer {{ size = {int(kind[1]) * 8}; align = 8; signed = {int(kind[0] == 'i')}; }}"


def _member(field: str, kind: str) -> str:
    if kind[0] == "S":
        return f"char _{field}[{kind[1:]}];"
    if kind == "16u1":
        return f"u1 _{field}[16];"
    return f"{f'enum {kind}_label' if kind in ENUMS else kind} _{field};"


def metadata(crc: bool = True) -> str:
    """The TSDL of all streams."""
    out = ["/* CTF 1.8 */"]
    out += [f"typealias {_integer(s + str(n))} := {s}{n};" for s in "ui" for n in (1, 2, 4, 8)]
    out.append("typealias integer { size = 8; align = 8; encoding = UTF8; } := char;")
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
            f" u8 packet_seq_num;{tail} }};\n  event.header := struct {{ stamp timestamp; }}; }};"
        )
        rest = " ".join(_member(*row) for row in fields.items() if row[0] != "timestamp")
        out.append(
            f'event {{ name = "{name}"; id = 0; stream_id = {number};\n'
            f"  fields := struct {{ {rest} }}; }};"
        )
    text = "\n".join(out) + "\n"
    return text + (f"/* crc32 {zlib.crc32(text.encode()):08x} */\n" if crc else "")


def _described(dtype: np.dtype[Any], kinds: dict[str, str]) -> dict[str, Any]:
    """A head or a record, as .layout.json has it."""
    fields = []
    for name, (of, offset, *_) in (dtype.fields or {}).items():
        base = of.base
        sign = {"u": "u", "i": "s", "S": "char"}[base.kind]
        field = {"name": name, "type": sign if sign == "char" else f"{sign}{base.itemsize * 8}"}
        field["offset"] = offset
        if of.shape or base.kind == "S":
            field["length"] = of.itemsize
        if kinds.get(name) in ENUMS:
            field["names"] = f"{kinds[name]}_t"
        fields.append(field)
    return {"bytes": dtype.itemsize, "fields": fields}


def summed(document: dict[str, Any]) -> bytes:
    """The document as a file, with its checksum at the end."""
    text = json.dumps(document, indent=1).encode()[:-1] + b",\n"
    return text + b'"crc32": "%08x"}\n' % zlib.crc32(text)


def document(crc: bool = True) -> dict[str, Any]:
    """What .layout.json says, without its checksum. crc: packets have one."""
    return {
        "format": 1,
        "uuid": UUID.hex,
        "clock": {"freq": 1_000_000_000, "offset_ns": 0},
        "head": _described(head_dtype(crc), {}),
        "streams": [
            {"id": number, "name": name, **_described(record_dtype(name), fields)}
            for number, (name, fields) in enumerate(STREAMS.items())
        ],
        "results": {"-5018": "no such object"},
        "parts": {f"{part}_ns": PARTS_SHOWN.get(part, part) for part in (*PARTS, "stopped")},
        "names": {
            f"{kind}_t": {str(value): text for value, text in labels.items()}
            for kind, (_, labels) in ENUMS.items()
        },
    }


def describe(folder: Path, crc: bool = True) -> None:
    """Writes both descriptions of a trace."""
    (folder / "metadata").write_text(metadata(crc))
    (folder / LAYOUT).write_bytes(summed(document(crc)))


def records(stream: str, n: int, seed: int = 1) -> Records:
    """`n` plausible records in order of time."""
    rng = np.random.default_rng(seed)
    out = np.zeros(n, record_dtype(stream))
    out["timestamp"] = 1_000_000_000 + np.arange(n, dtype=np.uint64) * 5000
    if "t" in STREAMS[stream]:
        out["t"] = out["timestamp"]
    if stream == "texts":
        out["text"] = [f"file {i}" for i in range(n)]
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
    """Requests of two sessions as server and client saw them, by clocks that differ. With more
    than 65,536 of a session its DSI ids come round again."""
    requests, client = records("requests", n), records("client", n)
    requests["session"] = np.arange(n) % 2
    requests["port"] = client["port"] = 50000 + requests["session"]
    requests["dsi_id"] = client["dsi_id"] = (np.arange(n) // 2 + 60000) % 65536
    client["command"] = requests["command"]
    client["t"] = client["timestamp"] = requests["t"] - np.uint64(999_999_999)
    client["last_ns"] = requests["time_ns"] + np.uint64(1234)
    return {"requests": requests, "client": client}


def packets(
    stream: str,
    rows: Records,
    size: int = 4096,
    crc: bool = True,
    discarded: int = 0,
    number: int = 0,
) -> bytes:
    """The file of a stream, or more of it: whole packets of `size` bytes, from `number` on."""
    head = np.zeros(1, head_dtype(crc))
    start, stride = head.dtype.itemsize, rows.dtype.itemsize
    each = (size - start) // stride
    out = []
    for seq, first in enumerate(range(0, max(len(rows), 1), each)):
        part = rows[first : first + each]
        head["magic"], head["uuid"] = MAGIC, np.frombuffer(UUID.bytes, np.uint8)
        head["stream_id"] = list(STREAMS).index(stream)
        if len(part):
            head["timestamp_begin"], head["timestamp_end"] = (
                part["timestamp"][0],
                part["timestamp"][-1],
            )
        head["content_size"] = (start + len(part) * stride) * 8
        head["packet_size"], head["packet_seq_num"] = size * 8, number + seq
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
    describe(folder, crc)
    made = {name: records(name, n, seed) for seed, name in enumerate(STREAMS)}
    for name, rows in made.items():
        (folder / name).write_bytes(packets(name, rows, size, crc))
    return made


def long(path: Path, stream: str, n: int) -> None:
    """A file of `n` records, written bit by bit: the same ones come again, later."""
    some = records(stream, min(n, CHUNK))
    span = some["timestamp"][-1] - some["timestamp"][0] + np.uint64(5000)
    written = 0
    with path.open("wb") as file:
        for first in range(0, n, CHUNK):
            file.write(more := packets(stream, some[: n - first], LARGE, number=written))
            written += len(more) // LARGE
            some["timestamp"] += span
            some["t"] += span


def main(folder: str, n: int) -> None:
    base = Path(folder) / "trace"
    base.mkdir(parents=True)
    describe(base)
    for name, share in (
        ("calls", n),
        ("requests", n // 10),
        ("waits", n // 10),
        ("client", n // 10),
    ):
        long(base / name, name, share)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
