# SPDX-License-Identifier: GPL-2.0-or-later
"""The position of each field of a packet's head and of its records, from the trace's .layout.json.

The recorder writes it beside `metadata`, from the same tables (docs/trace.md).
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import Failure
from .files import opened
from .node import Node, parsed

LAYOUT = ".layout.json"
FORMAT = 1
SIZE_MAX = 1 << 22
STREAMS_MAX = 64
FIELDS_MAX = 1024
LENGTH_MAX = 4096  # of an array
RECORD_MAX = 1 << 16
CLOCK_MAX = 1 << 62

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,4}")
_UUID = re.compile(r"[0-9a-f]{32}")
# How the file ends: CRC-32 of all before it.
_CRC = re.compile(rb'"crc32": "([0-9a-f]{8})"\}\n\Z')
_FORMS = {
    "u8": "u1", "u16": "<u2", "u32": "<u4", "u64": "<u8", "s32": "<i4", "s64": "<i8",
    "char": "S1",
}  # fmt: skip
# Type and length of each field of a packet's head that the reader uses, where there is one.
_HEAD = {
    "magic": ("u32", 0),
    "uuid": ("u8", 16),
    "stream_id": ("u32", 0),
    "timestamp_begin": ("u64", 0),
    "timestamp_end": ("u64", 0),
    "content_size": ("u64", 0),
    "packet_size": ("u64", 0),
    "events_discarded": ("u64", 0),
    "packet_seq_num": ("u64", 0),
    "crc32": ("u32", 0),
}
_NEEDED = ("content_size", "packet_size")
_TIMES = {"timestamp": ("u64", 0), "t": ("u64", 0)}


@dataclass(frozen=True)
class Layout:
    """The packets of one stream: the head in `head`, records of `dtype` from `start` on.

    Records follow each other without a gap. `labels`: for fields that are enums. `parts`: what the
    fields are called that are parts of a request's time; `results`: codes of results in words.
    """

    name: str
    head: np.dtype[np.void]
    start: int
    dtype: np.dtype[np.void]
    labels: dict[str, dict[int, str]]
    parts: dict[str, str]
    results: dict[int, str]


@dataclass(frozen=True)
class Layouts:
    """Those of a trace, by the number of the stream; `uuid`: 16 bytes, as in each packet.

    `offset_ns`: added to a timestamp it gives wall time.
    """

    uuid: bytes
    offset_ns: int
    streams: dict[int, Layout]


@dataclass(frozen=True)
class _Field:
    """A field at `offset` bytes; `length` > 0: an array of that length."""

    name: str
    offset: int
    type: str
    length: int
    labels: dict[int, str]

    @property
    def form(self) -> str | tuple[str, tuple[int]]:
        if self.type == "char":
            return f"S{self.length}"
        form = _FORMS[self.type]
        return (form, (self.length,)) if self.length else form


def _within(node: Node, low: int, high: int) -> int:
    value = node.int_()
    if not low <= value <= high:
        raise Failure(f"{node.where} is {value}, not one from {low} to {high}")
    return value


def _matching(node: Node, form: re.Pattern[str], wanted: str) -> str:
    text = node.text()
    if not form.fullmatch(text):
        raise Failure(f"{node.where} is {text[:40]!r}, not {wanted}")
    return text


def _few(node: Node, most: int) -> list[Node]:
    if not 0 < len(node.array()) <= most:
        raise Failure(f"{node.where} has {len(node.array())} items, not one to {most}")
    return list(node.items())


def _field(node: Node, at: int, end: int, enums: dict[str, dict[int, str]]) -> _Field:
    """A field that is within the bytes from `at` to `end`."""
    type_ = node["type"].text()
    if type_ not in _FORMS:
        raise Failure(f"{node.where} is of type {type_[:40]!r}: not supported")
    many, names = node.get("length"), node.get("names")
    length = _within(many, 1, LENGTH_MAX) if many else 0
    if type_ == "char" and not length:
        raise Failure(f"{node.where} is a character, not a text: not supported")
    if names and (length or type_[0] != "u"):
        raise Failure(f"{node.where} has names, but is no unsigned number")
    if names and names.text() not in enums:
        raise Failure(f"{names.where} is {names.text()[:40]!r}, which has no names")
    size = np.dtype(_FORMS[type_]).itemsize * max(length, 1)
    return _Field(
        name=_matching(node["name"], _NAME, "a name"),
        offset=_within(node["offset"], at, end - size),
        type=type_,
        length=length,
        labels=enums[names.text()] if names else {},
    )


def _fields(node: Node, enums: dict[str, dict[int, str]]) -> tuple[list[_Field], int]:
    """The fields of a head or a record, in order and without overlap, and its size."""
    size = _within(node["bytes"], 1, RECORD_MAX)
    out: dict[str, _Field] = {}
    at = 0
    for one in _few(node["fields"], FIELDS_MAX):
        found = _field(one, at, size, enums)
        if found.name in out:
            raise Failure(f"{one.where}: the field {found.name} occurs twice")
        at = found.offset + np.dtype(found.form).itemsize
        out[found.name] = found
    return [*out.values()], size


def _must_be(where: Node, fields: list[_Field], wanted: dict[str, tuple[str, int]]) -> None:
    for field in fields:
        if field.name in wanted and (field.type, field.length) != wanted[field.name]:
            raise Failure(f"{where.where}: {field.name} is of another type: not supported")


def _dtype(fields: list[_Field], size: int) -> np.dtype[np.void]:
    return np.dtype(
        {
            "names": [f.name for f in fields],
            "formats": [f.form for f in fields],
            "offsets": [f.offset for f in fields],
            "itemsize": size,
        }
    )


def _labels(node: Node) -> dict[int, str]:
    out: dict[int, str] = {}
    for key, text in node.members():
        if not _NUMBER.fullmatch(key):
            raise Failure(f"{node.where}: {key[:40]!r} is not a number of an enumeration")
        if not text.text().isprintable():
            raise Failure(f"{text.where} is not a name: it has control characters")
        out[int(key)] = text.text()
    return out


def _read(path: Path) -> bytes:
    try:
        with opened(path) as file:
            raw = file.read(SIZE_MAX + 1)
    except FileNotFoundError:
        raise Failure(
            f"the trace {path.parent} is of an older afpscope, or its copy lacks {LAYOUT}: "
            "read it with the afpscope that wrote it, or with babeltrace2"
        ) from None
    except OSError as e:
        raise Failure(f"cannot read {path}: {e.strerror}") from None
    if len(raw) > SIZE_MAX:
        raise Failure(f"{path}: longer than {SIZE_MAX} bytes: not supported")
    sum_ = _CRC.search(raw, max(0, len(raw) - 64))
    if not sum_ or zlib.crc32(raw[: sum_.start()]) != int(sum_[1], 16):
        raise Failure(f"{path} is damaged: its checksum is wrong")
    return raw


def _described(node: Node) -> Layouts:
    if node["format"].int_() != FORMAT:
        raise Failure(
            f"{node.where} has format {node['format'].int_()}, this program reads {FORMAT}: "
            "use the version that wrote it"
        )
    enums = {key: _labels(names) for key, names in node["names"].members()}
    results, parts = _labels(node["results"]), node["parts"].texts()
    if any(not text.isprintable() for text in parts.values()):
        raise Failure(f"{node['parts'].where} has control characters")
    head, start = _fields(node["head"], {})
    _must_be(node["head"], head, _HEAD)
    for needed in _NEEDED:
        if all(field.name != needed for field in head):
            raise Failure(f"{node['head'].where}: its packets have no {needed}: not supported")
    streams: dict[int, Layout] = {}
    for one in _few(node["streams"], STREAMS_MAX):
        number = _within(one["id"], 0, (1 << 32) - 1)
        if number in streams:
            raise Failure(f"{one.where}: stream {number} occurs twice")
        fields, size = _fields(one, enums)
        _must_be(one, fields, _TIMES)
        streams[number] = Layout(
            name=_matching(one["name"], _NAME, "a name"),
            head=_dtype(head, start),
            start=start,
            dtype=_dtype(fields, size),
            labels={f.name: f.labels for f in fields if f.labels},
            parts={f.name: parts[f.name] for f in fields if f.name in parts},
            results=results,
        )
    return Layouts(
        uuid=bytes.fromhex(_matching(node["uuid"], _UUID, "a uuid")),
        offset_ns=_within(node["clock"]["offset_ns"], -CLOCK_MAX, CLOCK_MAX),
        streams=streams,
    )


def layouts(folder: Path) -> Layouts:
    """Those of the trace in `folder`. Failure if they cannot be read, or are not supported."""
    raw = _read(folder / LAYOUT)
    try:
        return _described(parsed(raw, folder / LAYOUT))
    except Failure as e:
        raise Failure(f"the trace {folder}: {e}") from None
