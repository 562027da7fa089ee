# SPDX-License-Identifier: GPL-2.0-or-later
"""The position of each field of a packet's header and of its records, from the metadata."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import Failure
from .tsdl import FIELDS_MAX, Array, Block, Integer, Metadata, Struct, Type

RECORD_MAX = 1 << 16


@dataclass(frozen=True)
class Field:
    """A field at `offset` bytes; `length` > 0: an array of that length."""

    name: str
    offset: int
    of: Integer
    length: int


@dataclass(frozen=True)
class Layout:
    """The packets of one stream: the header in `head`, records of `dtype` from `start` on.

    `dtype.itemsize` is the distance from one record to the next; the last of a packet may
    end `tail` bytes earlier. `labels`: for fields that are enums.
    """

    name: str
    head: np.dtype[np.void]
    start: int
    dtype: np.dtype[np.void]
    tail: int
    labels: dict[str, dict[int, str]]
    clock: dict[str, int]


def _up(bits: int, align: int) -> int:
    return -(-bits // align) * align


def _align(of: Type) -> int:
    if isinstance(of, Integer):
        return of.align
    if isinstance(of, Array):
        return _align(of.of)
    return max([of.align, *(_align(member) for _, member in of.members)])


def _place(of: Type, at: int, name: str, out: list[Field]) -> int:
    """Adds the fields of a type that begins at bit `at` to `out`; returns where it ends."""
    at = _up(at, _align(of))
    if len(out) > FIELDS_MAX or at > RECORD_MAX * 8:
        raise Failure("metadata: a record is too large")
    if isinstance(of, Struct):
        for member, inner in of.members:
            at = _place(inner, at, f"{name}.{member}" if name else member, out)
        return at
    if isinstance(of, Array):
        if not isinstance(of.of, Integer) or of.of.size % of.of.align:
            raise Failure(f"metadata: {name} is an array of non-integers: not supported")
        out.append(Field(name, at // 8, of.of, of.length))
        return at + of.of.size * of.length
    out.append(Field(name, at // 8, of, 0))
    return at + of.size


def _dtype(fields: list[Field], base: int, itemsize: int) -> np.dtype[np.void]:
    names = [f.name for f in fields]
    if len(set(names)) != len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise Failure(f"metadata: the field {twice} occurs twice")
    formats: list[str | tuple[str, tuple[int]]] = []
    for f in fields:
        one = f"{'<' if f.of.little else '>'}{'i' if f.of.signed else 'u'}{f.of.size // 8}"
        if f.length and f.of.text:
            one = f"S{f.length}"
        formats.append((one, (f.length,)) if f.length and not f.of.text else one)
    return np.dtype(
        {
            "names": names,
            "formats": formats,
            "offsets": [f.offset - base for f in fields],
            "itemsize": itemsize,
        }
    )


def _struct(block: Block, key: str) -> Struct:
    of = block.types.get(key, Struct(()))
    if not isinstance(of, Struct):
        raise Failure(f"metadata: {key} is not a struct")
    return of


def _clock(meta: Metadata) -> dict[str, int]:
    """The numbers of the only clock (freq, offset, offset_s)."""
    values = meta.clocks[0].values if len(meta.clocks) == 1 else {}
    return {key: value for key, value in values.items() if isinstance(value, int)}


def _records(parts: list[Struct], start: int) -> tuple[list[Field], int]:
    fields: list[Field] = []
    at = start
    for part in parts:
        at = _place(part, at, "", fields)
    return fields, at


def _event(meta: Metadata, number: int) -> Block:
    events = [e for e in meta.events if e.values.get("stream_id", 0) == number]
    if len(events) != 1:
        raise Failure(f"metadata: stream {number} has {len(events)} kinds of event, not 1")
    return events[0]


def layout(meta: Metadata, number: int) -> Layout:
    """The layout of stream `number`. Failure if its records are not all of the same size."""
    stream, event = meta.streams[number], _event(meta, number)
    head: list[Field] = []
    at = _place(_struct(meta.trace, "packet.header"), 0, "", head)
    at = _place(_struct(stream, "packet.context"), at, "", head)
    parts = [
        _struct(stream, "event.header"),
        _struct(stream, "event.context"),
        _struct(event, "context"),
        _struct(event, "fields"),
    ]
    begin = _up(at, _align(parts[0]))
    fields, end = _records(parts, begin)
    again, _ = _records(parts, _up(end, _align(parts[0])))
    stride = _up(end, _align(parts[0])) - begin
    if not fields:
        raise Failure(f"metadata: the records of stream {number} are empty")
    if [f.offset - begin // 8 for f in fields] != [f.offset - (begin + stride) // 8 for f in again]:
        raise Failure(f"metadata: the records of stream {number} are not all laid out alike")
    name = event.values.get("name", f"stream{number}")
    return Layout(
        name=str(name),
        head=_dtype(head, 0, _up(at, 8) // 8),
        start=begin // 8,
        dtype=_dtype(fields, begin // 8, stride // 8),
        tail=(begin + stride - end) // 8,
        labels={f.name: f.of.labels for f in fields if f.of.labels},
        clock=_clock(meta),
    )
