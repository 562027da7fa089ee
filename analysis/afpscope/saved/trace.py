# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the trace of a run: every packet is checked before a record of it is used.

A stream that cannot be read is left out, and so is a packet that is damaged or torn; each of
these is a notice. Files are read in pieces, so that memory is limited by what the caller keeps,
not by the trace. They are not mapped: of a mapped file that another program shortens, a read would
end this one by a signal.
"""

from __future__ import annotations

import os
import re
import weakref
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import Failure
from .files import opened
from .layout import LAYOUT, STREAMS_MAX, Layout, Layouts, layouts
from .run import Run

MAGIC = 0xC1FC1FC1
NOTICES_MAX = 5
BLOCK_RECORDS = 1 << 19
PIECE = 1 << 20  # bytes that are read at once, at most
# How many magic numbers are checked to find the stream and packet size of a file.
_SEARCHED = 64

Array = npt.NDArray[Any]
_TABLE = re.compile(r"[a-z_][a-z0-9_]{0,62}\Z")
# In the header, if the writer adds it: CRC-32 of the packet with this field as 0.
CRC = "crc32"
# What describes the trace in CTF's language; the recorder writes it when all else is there.
METADATA = "metadata"


class Pieces:
    """A file of `size` bytes, of which one piece is in memory."""

    def __init__(self, path: Path) -> None:
        with opened(path) as file:
            self._fd = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._fd)
        self._path, self.size = path, os.fstat(self._fd).st_size
        self._at, self._piece = 0, b""

    def _fill(self, at: int, n: int) -> None:
        parts: list[bytes] = []
        end = at + n
        while n:
            part = os.pread(self._fd, n, end - n)
            if not part:
                raise Failure(f"{self._path} became shorter while it was read")
            parts.append(part)
            n -= len(part)
        self._at, self._piece = at, b"".join(parts)

    def view(self, at: int, n: int) -> memoryview:
        """`n` bytes of the file: those from `at` on, which must be within it."""
        if at < self._at or at + n > self._at + len(self._piece):
            self._fill(at, max(n, min(PIECE, self.size - at)))
        return memoryview(self._piece)[at - self._at :][:n]

    def crc32(self, at: int, end: int, before: int) -> int:
        for first in range(at, end, PIECE):
            before = zlib.crc32(self.view(first, min(PIECE, end - first)), before)
        return before

    def find(self, what: bytes, at: int) -> int:
        """Where `what` is next; -1: nowhere."""
        while at + len(what) <= self.size:
            if not self._at <= at <= self._at + len(self._piece) - len(what):
                at = self.after_hole(at)
                if at + len(what) > self.size:
                    break
                self._fill(at, min(PIECE, self.size - at))
            found = self._piece.find(what, at - self._at)
            if found >= 0:
                return self._at + found
            at = self._at + len(self._piece) - len(what) + 1
        return -1

    def after_hole(self, at: int) -> int:
        """Until there a sparse file has only zeros, which are not stored."""
        if not hasattr(os, "SEEK_DATA"):
            return at
        try:
            return os.lseek(self._fd, at, os.SEEK_DATA)
        except OSError:  # only a hole from there on, or it is shorter now
            return self.size


@dataclass(frozen=True)
class Stream:
    """The records of one file, in its order.

    `counts[i]` records are in packet `packets[i]`, the number of a packet in the file.
    `discarded`: records that the recorder lost; `lost_packets`: missing in the sequence; of them
    `damaged` are in the file. `torn_bytes`: after the last whole packet.
    """

    name: str
    path: Path
    layout: Layout
    packet_bytes: int
    packets: Array
    counts: Array
    discarded: int
    lost_packets: int
    damaged: int
    torn_bytes: int
    notices: tuple[str, ...]
    checked: bool
    _data: Pieces | None = field(repr=False)

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def size(self) -> int:
        return self.packet_bytes * len(self.packets)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.layout.dtype.names or ()

    def blocks(self, records: int = BLOCK_RECORDS) -> Iterator[Array]:
        """The records as structured arrays of about `records` each; copies, in order."""
        ready: list[Array] = []
        n = 0
        for part in self.views(records):
            ready.append(part)
            n += len(part)
            if n >= records:
                yield self._joined(ready)
                ready, n = [], 0
        if ready:
            yield self._joined(ready)

    def _joined(self, ready: list[Array]) -> Array:
        """Copied into one; np.concatenate looks at each field of each part for a common type."""
        out = np.empty(sum(map(len, ready)), self.layout.dtype)
        at = 0
        for part in ready:
            out[at : at + len(part)] = part
            at += len(part)
        return out

    def views(self, most: int = BLOCK_RECORDS) -> Iterator[Array]:
        """The records in order, at most so many at a time; each array holds until the next one."""
        for packet, n in zip(self.packets.tolist(), self.counts.tolist(), strict=True):
            assert self._data is not None
            yield from _records(self._data, self.layout, packet, self.packet_bytes, n, most)

    def column(self, name: str) -> Array:
        """All values of one field."""
        parts = [part[name].copy() for part in self.views()]
        empty = np.empty(0, self.layout.dtype[name])
        return np.concatenate(parts) if parts else empty

    def labels(self, name: str) -> dict[int, str]:
        """The texts of a field that is an enum; empty for other fields."""
        return self.layout.labels.get(name, {})


@dataclass(frozen=True)
class Trace:
    """The streams of a trace by name, and notices about it; `offset_ns`: to wall time."""

    streams: dict[str, Stream]
    notices: tuple[str, ...]
    offset_ns: int

    @staticmethod
    def open(folder: Path) -> Trace:
        """Failure if the layout cannot be read, or no stream can."""
        if not (folder / METADATA).exists():
            raise Failure(f"there is no trace in {folder}: it has no {METADATA}")
        known = layouts(folder)
        streams: dict[str, Stream] = {}
        notices: list[str] = []
        files = [p for p in sorted(folder.iterdir()) if p.name not in (METADATA, LAYOUT)]
        for path in files[:STREAMS_MAX]:
            if not _TABLE.match(path.name):
                notices.append(f"{path.name[:80]}: no stream has this name: left out")
                continue
            if not path.is_file():
                notices.append(f"{path.name}: left out: it is not a regular file")
                continue
            try:
                stream = _stream(path, known)
            except Failure as e:
                notices.append(f"{path.name}: left out: {e}")
                continue
            streams[stream.name] = stream
            notices += stream.notices
        if not streams:
            why = "; ".join(notices) or "it has no streams"
            raise Failure(f"nothing of the trace in {folder} can be read: {why}")
        return Trace(streams, tuple(notices), known.offset_ns)


def _records(
    data: Pieces, one: Layout, packet: int, packet_bytes: int, n: int, most: int = BLOCK_RECORDS
) -> Iterator[Array]:
    """Views of the `n` records of a packet, at most `most` in each."""
    stride = one.dtype.itemsize
    at, step = packet * packet_bytes + one.start, max(1, min(most, PIECE // stride))
    for first in range(0, n, step):
        some = min(step, n - first)
        yield np.ndarray((some,), one.dtype, data.view(at + first * stride, some * stride))


def _places(one: Layout, data: Pieces) -> Iterator[int]:
    """Where a packet may begin: at the first byte, and wherever the magic number is found.

    So that a damaged header does not hide the packets after it.
    """
    yield 0
    names = one.head.names or ()
    if "magic" not in names or one.head.fields is None:
        return
    offset = int(one.head.fields["magic"][1])  # within the header
    magic = np.array([MAGIC]).astype(one.head["magic"]).tobytes()
    at = data.find(magic, 1)
    for _ in range(_SEARCHED):
        if at < offset:
            return
        yield at - offset
        at = data.find(magic, at + 1)


@dataclass(frozen=True)
class _Shape:
    """Stream and packet size of a file by the headers; `first`: where the first packet begins."""

    number: int
    layout: Layout
    packet_bytes: int
    first: int


def _headers(one: Layout, number: int, uuid: bytes, data: Pieces) -> Iterator[_Shape]:
    """Stream and packet size in each of the first headers found."""
    names = one.head.names or ()
    for at in _places(one, data):
        if at + one.head.itemsize > data.size:
            return
        head = np.ndarray((1,), one.head, data.view(at, one.head.itemsize))[0]
        if "magic" in names and int(head["magic"]) != MAGIC:
            continue
        if "stream_id" in names and int(head["stream_id"]) != number:
            continue
        if "uuid" in names and head["uuid"].tobytes() != uuid:
            continue
        length = _packet_bytes(head)
        if length >= one.start and at % length == 0:
            yield _Shape(number, one, length, at)


def _choose(path: Path, known: Layouts, data: Pieces) -> _Shape:
    """What most headers say, so that a damaged one does not matter."""
    votes: dict[tuple[int, int], list[_Shape]] = {}
    for number, one in known.streams.items():
        for shape in _headers(one, number, known.uuid, data):
            votes.setdefault((number, shape.packet_bytes), []).append(shape)
    if votes:
        # In a tie prefer the file's name to the first header.
        return max(
            votes.values(), key=lambda v: (len(v), v[0].layout.name == path.name, v[-1].first > 0)
        )[0]
    raise Failure("no packet in it is of a stream of this trace: damaged, or of another")


def _packet_bytes(head: Array) -> int:
    """The packet length in this header; 0 if it is not a whole number of bytes."""
    bits = int(head["packet_size"])
    return 0 if bits % 8 else bits // 8


def _none(path: Path, one: Layout, notices: list[str], torn: int) -> Stream:
    no, at = np.empty(0, np.int64), (path.name, path, one)
    return Stream(*at, 0, no, no, 0, 0, 0, torn, tuple(notices), True, None)


def _empty(path: Path, known: Layouts, why: str, torn: int) -> Stream:
    """A stream without a whole packet: known only by the file's name."""
    for one in known.streams.values():
        if one.name == path.name:
            return _none(path, one, [f"{path.name}: {why}"] if why else [], torn)
    raise Failure(why or "it is empty")


def _stream(path: Path, known: Layouts) -> Stream:
    try:
        data = Pieces(path)
    except OSError as e:
        raise Failure(f"cannot read {path}: {e.strerror}") from None
    size = data.size
    if not size:
        return _empty(path, known, "", 0)
    if size < min(one.start for one in known.streams.values()):
        return _empty(path, known, f"{size:,} bytes, a torn first packet, left out", size)
    shape = _choose(path, known, data)
    names = {other.name for other in known.streams.values()}
    if path.name in names and path.name != shape.layout.name:
        raise Failure(f"its packets are of {shape.layout.name}: files were exchanged")
    notices: list[str] = []
    whole, rest = divmod(size, shape.packet_bytes)
    if rest:
        notices.append(f"{path.name}: the last packet is torn: its {rest:,} bytes are left out")
    if not whole:
        return _none(path, shape.layout, notices, rest)
    return _packets(path, data, shape, whole, notices)


@dataclass
class _Sound:
    """What is known of the packets of a file when some of them were looked at, in order."""

    packets: list[Array] = field(default_factory=list)
    counts: list[Array] = field(default_factory=list)
    numbers: list[Array] = field(default_factory=list)
    discarded: list[Array] = field(default_factory=list)
    last: int = -1  # number in the sequence
    bad: int = 0
    notices: list[str] = field(default_factory=list)


def _packets(path: Path, data: Pieces, shape: _Shape, whole: int, notices: list[str]) -> Stream:
    one, packet_bytes = shape.layout, shape.packet_bytes
    names = one.head.names or ()
    # The header that named the shape may be that of a torn last packet.
    first = np.ndarray((1,), one.head, bytes(data.view(shape.first, one.head.itemsize)))[0]
    sound, some = _Sound(), max(1, PIECE // packet_bytes)
    begin = 0
    while begin < whole:
        n = min(some, whole - begin)
        bad = _look(path, data, shape, (begin, n), first, sound)
        begin += n
        if bad == n and begin < whole:  # a packet of zeros is none
            behind = min(whole, max(begin, data.after_hole(begin * packet_bytes) // packet_bytes))
            sound.bad += behind - begin
            begin = behind
    notices += sound.notices
    if sound.bad:
        what = f"{sound.bad:,} of {whole:,} packets, {sound.bad * packet_bytes:,} bytes"
        notices.append(f"{path.name}: left out as damaged: {what}")
    lost = _sequence(path, sound.numbers, sound.bad, notices)
    discarded = _discarded(path, sound.discarded, notices)
    return Stream(
        path.name,
        path,
        one,
        packet_bytes,
        np.concatenate(sound.packets),
        np.concatenate(sound.counts),
        discarded,
        lost,
        sound.bad,
        data.size % packet_bytes,
        tuple(notices),
        CRC in names,
        data,
    )


def _look(
    path: Path, data: Pieces, shape: _Shape, which: tuple[int, int], first: Any, sound: _Sound
) -> int:
    """Looks at the packets `which`: the number of the first, and how many. How many are bad."""
    one, packet_bytes = shape.layout, shape.packet_bytes
    begin, n = which
    names = one.head.names or ()
    raw = data.view(begin * packet_bytes, min(n * packet_bytes, PIECE))
    head = np.ndarray((n,), one.head, raw, 0, (packet_bytes,))
    bad, counts = _bad_packets(head, names, shape, first)
    if CRC in names:
        _check_crc(data, head, one, which, packet_bytes, bad)
    _check_times(data, head, names, one, which, packet_bytes, counts, bad)
    if "packet_seq_num" in names:
        _check_order(head, bad, sound)
    for i in sorted(bad)[: NOTICES_MAX - len(sound.notices)]:
        sound.notices.append(f"{path.name}: packet {begin + i} is left out: {bad[i]}: damaged")
    sound.bad += len(bad)
    good = np.delete(np.arange(n), list(bad))
    sound.packets.append(begin + good)
    sound.counts.append(counts[good])
    for name, to in (("packet_seq_num", sound.numbers), ("events_discarded", sound.discarded)):
        if name in names:
            to.append(head[name][good])
    return len(bad)


def _bad_packets(
    head: Array, names: tuple[str, ...], shape: _Shape, first: Any
) -> tuple[dict[int, str], Array]:
    """Packets with an impossible header, and how many records each has."""
    one, packet_bytes = shape.layout, shape.packet_bytes
    stride = one.dtype.itemsize
    content = head["content_size"].astype(np.uint64)
    used = (content // np.uint64(8)).astype(np.int64) - one.start
    counts, rest = np.divmod(used, stride)
    exact = (used >= 0) & (rest == 0)
    tests: list[tuple[str, Any]] = [
        ("its packet_size differs", head["packet_size"] != packet_bytes * 8),
        ("its content_size is larger than it", content > np.uint64(packet_bytes * 8)),
        ("its content is not a whole number of records", ~exact | (content % np.uint64(8) != 0)),
    ]
    if "magic" in names:
        tests.insert(0, ("it has no magic number", head["magic"] != MAGIC))
    if "stream_id" in names:
        tests.append(("it is of another stream", head["stream_id"] != shape.number))
    if "uuid" in names:
        tests.append(("its uuid differs", (head["uuid"] != first["uuid"]).any(axis=1)))
    if {"timestamp_begin", "timestamp_end"} <= set(names):
        early = head["timestamp_end"] < head["timestamp_begin"]
        tests.append(("it ends before it begins", early))
    bad: dict[int, str] = {}
    known = np.zeros(len(head), bool)
    for text, wrong in tests:
        bad |= dict.fromkeys(np.flatnonzero(wrong & ~known).tolist(), text)
        known |= wrong
    return bad, counts


def _check_crc(
    data: Pieces,
    head: Array,
    one: Layout,
    which: tuple[int, int],
    packet_bytes: int,
    bad: dict[int, str],
) -> None:
    assert one.head.fields is not None
    offset = int(one.head.fields[CRC][1])
    for i in range(len(head)):
        if i in bad:
            continue
        at = (which[0] + i) * packet_bytes
        crc = zlib.crc32(bytes(4), data.crc32(at, at + offset, 0))
        if data.crc32(at + offset + 4, at + packet_bytes, crc) != int(head[i][CRC]):
            bad[i] = "its checksum is wrong"


def _check_times(
    data: Pieces,
    head: Array,
    names: tuple[str, ...],
    one: Layout,
    which: tuple[int, int],
    packet_bytes: int,
    counts: Array,
    bad: dict[int, str],
) -> None:
    """Checks that every record's time is within its packet's."""
    time = next((n for n in ("timestamp", "t") if n in (one.dtype.names or ())), None)
    if time is None or not {"timestamp_begin", "timestamp_end"} <= set(names):
        return
    for i in range(len(head)):
        if i in bad or not counts[i]:
            continue
        begin, end = head[i]["timestamp_begin"], head[i]["timestamp_end"]
        for part in _records(data, one, which[0] + i, packet_bytes, int(counts[i])):
            if part[time].min() < begin or part[time].max() > end:
                bad[i] = "a record's time is not within the packet's"


def _check_order(head: Array, bad: dict[int, str], sound: _Sound) -> None:
    """Checks that each packet's number is larger than those before it: no record comes twice."""
    for i, number in enumerate(head["packet_seq_num"].tolist()):
        if i in bad:
            continue
        if number <= sound.last:
            bad[i] = "it is a duplicate, or in the wrong place"
        else:
            sound.last = number


def _sequence(path: Path, numbers: list[Array], left_out: int, notices: list[str]) -> int:
    """Counts the packets missing in the sequence of those that are used, which goes up."""
    all_ = np.concatenate(numbers) if numbers else np.empty(0, np.uint64)
    missing = int(all_[-1]) - len(all_) + 1 if len(all_) else 0
    if missing > left_out:
        notices.append(f"{path.name}: {missing - left_out:,} packets are missing")
    return missing


def _discarded(path: Path, totals: list[Array], notices: list[str]) -> int:
    """CTF's running total: what was discarded since the stream began."""
    all_ = np.concatenate(totals) if totals else np.empty(0, np.uint64)
    if not len(all_):
        return 0
    if (all_[1:] < all_[:-1]).any():
        notices.append(f"{path.name}: events_discarded goes back: how many is not known")
    total = int(all_.max())
    if total:
        notices.append(f"{path.name}: {total:,} records were discarded by the recorder")
    return total


def of_run(run: Run) -> Trace | None:
    """The run's trace, compared with what run.json says of it; None if it has none."""
    if not run.trace:
        return None
    trace, notices = Trace.open(run.trace), []
    why = run.rungs.get("trace.truncated")
    if why:
        notices.append(f"the trace ends before the run: {why.replace(chr(10), '; ')}")
    for name, n in run.written.items():
        found = trace.streams[name].n if name in trace.streams else 0
        if found != n:
            notices.append(f"{name}: {found:,} records are here, {n:,} were written")
    return replace(trace, notices=(*trace.notices, *notices))
