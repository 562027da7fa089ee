# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of a trace as lines of text. Does not choose records."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from . import show
from .saved.trace import Stream

ACCOUNT_DSI = 256  # + the number of a DSI command (bpf/events.h)
NAME_WIDTH = 11
# By the field's name, else by its type; negative: to the left.
_WIDTHS = {
    "timestamp": 0, "t": -27, "name": -16, "command": -23, "role": -8, "class": -8, "object": -13,
    "kind": -9, "event": -6, "address": -15, "text": -1, "which": 5, "depth": 5, "depth2": 6,
    "name_kind": 9, "name2_kind": 10, "ext_len": 7, "ext2_len": 8,
}  # fmt: skip
_HASHES = frozenset(("name", "name2", "parent", "parent2", "dir", "dir2", "id"))  # if of 8 bytes
_TYPE_WIDTHS = {"u8": 10, "i8": 10, "u4": 8, "i4": 6, "u2": 6}
_START = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))


@dataclass(frozen=True)
class View:
    """`named`: the stream's name is in front. Times of day, or, if `since_ns` is given, from there
    on."""

    named: bool
    offset_ns: int
    since_ns: int | None = None


def _is_ns(name: str) -> bool:
    return name == "ns" or name.endswith("_ns")


def _is_hash(stream: Stream, name: str) -> bool:
    return name in _HASHES and stream.layout.dtype[name].itemsize == 8


def _width(stream: Stream, name: str) -> int:
    """0: it is not shown."""
    if name in _WIDTHS:
        return _WIDTHS[name]
    if name in stream.layout.parts or re.fullmatch(r"pad\d*", name):
        return 0
    if _is_hash(stream, name):
        return -16
    return 8 if _is_ns(name) else _TYPE_WIDTHS.get(stream.layout.dtype[name].str[1:], 0)


def _put(text: str, width: int) -> str:
    return text.rjust(width) if width >= 0 else text.ljust(-width)


def _time(ns: int) -> str:
    """Three digits and a unit, as the C program's screens."""
    for size, unit in _UNITS:
        if ns >= 0.9995 * size:
            value = ns / size
            return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}{unit}"
    return f"{ns}ns"


def _when(t: int, view: View) -> str:
    if view.since_ns is not None:
        return f"{'-' if t < view.since_ns else '+'}{_time(abs(t - view.since_ns))}"
    at = _START + timedelta(microseconds=(t + view.offset_ns) // 1000)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _account(labels: dict[int, str], value: int) -> str:
    if value in labels:
        return labels[value]
    dsi = value >= ACCOUNT_DSI
    return f"{'DSI' if dsi else 'AFP'} command {value - ACCOUNT_DSI if dsi else value}"


def _address(family: int, raw: bytes) -> str:
    if family not in (socket.AF_INET, socket.AF_INET6):
        return "-"
    return socket.inet_ntop(family, raw[: 4 if family == socket.AF_INET else 16])


def _cells(stream: Stream, name: str, block: Any, view: View) -> list[str]:
    """One field of each record of a block."""
    if name == "text":
        return [show.asked(raw) for raw in block[name].tolist()]
    if name == "address":
        pairs = zip(block["family"].tolist(), block[name], strict=True)
        return [_address(family, raw.tobytes()) for family, raw in pairs]
    labels, values = stream.labels(name), block[name].tolist()
    text: Callable[[int], str] = str
    if name == "t":
        return [_when(v, view) for v in values]
    if _is_ns(name):
        text = _time
    elif _is_hash(stream, name):
        text = "{:016x}".format
    elif name == "command":
        return [_account(labels, v) for v in values]
    return [labels.get(v) or text(v) for v in values]


def _parts(stream: Stream, block: Any) -> list[str]:
    """Of each request the parts of its time that are not 0, the longest first."""
    columns = [(stream.layout.parts[name], block[name].tolist()) for name in stream.layout.parts]
    out = []
    for i, rest in enumerate(block["time_ns"].tolist()):
        parts = [(text, values[i]) for text, values in columns if values[i]]
        rest -= sum(ns for _, ns in parts)
        if rest > 0:
            parts.append(("unexplained", rest))
        parts.sort(key=lambda part: -part[1])
        out.append(", ".join(f"{text} {_time(ns)}" for text, ns in parts))
    return out


def _result(stream: Stream, block: Any) -> list[str]:
    texts = (stream.layout.results.get(v) for v in block["result"].tolist())
    return [f" ({text})" if text else "" for text in texts]


def head(stream: Stream, view: View) -> str:
    """The names of the columns."""
    out = _put(stream.name, -NAME_WIDTH) if view.named else ""
    for name in stream.columns:
        if width := _width(stream, name):
            shown = "begin" if name == "t" else name.removesuffix("_ns")
            out += _put(shown, width) + " "
    return out + ("where the time went" if stream.name == "requests" else "")


def lines(stream: Stream, block: Any, view: View) -> list[str]:
    """One for each record of a block."""
    columns = [[_put(stream.name, -NAME_WIDTH)] * len(block)] if view.named else []
    for name in stream.columns:
        if width := _width(stream, name):
            space = "" if name == "text" else " "
            cells = _cells(stream, name, block, view)
            columns.append([_put(c, width if name != "text" else 0) + space for c in cells])
    if stream.name == "requests":
        columns.append(_parts(stream, block))
    if "result" in stream.columns:
        columns.append(_result(stream, block))
    return ["".join(row) for row in zip(*columns, strict=True)]


def name(record: Any, text: bytes) -> str:
    """What a request names: a record of the stream names, and the name in words where it is
    known."""
    out = f"volume {record['volume']}, directory {record['dir']}"
    if text:
        return f"{out}: {show.asked(text)}"
    return f"{out}: name {int(record['name']):016x}" if record["len"] else out
