# SPDX-License-Identifier: GPL-2.0-or-later
"""A run as a trace of Perfetto: its protobuf (protos/perfetto/trace), which its viewer opens.

A process of the viewer is a process of the server; its tracks are its requests, and each thread's
calls and waits. The client's requests have a track for each connection. What overlaps on a track
gets another lane of it. Arrows go from a client's request to the server's, and on to the first call
of the backend for it, where there is only one request that this can be.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from .. import show
from ..saved.run import AFP_WORDS, Run
from ..saved.trace import Stream, Trace
from .lanes import Lanes, Served, Unwrapped, groups
from .protobuf import Part, fixed_or, joined_rows, message, number, text

Array = npt.NDArray[Any]
FILE = "run.pftrace"
BLOCK = 1 << 17  # records whose slices are in memory at once
_SEQUENCE = 1
_BEGIN, _END = 1, 2
_MONOTONIC, _REALTIME, _BOOTTIME = 3, 1, 6
# Fields of a packet's interned texts: what slices and their arguments are called, and their texts.
_NAMES, _ARGUMENTS, _TEXTS = 2, 3, 29
_NO_REQUEST = np.uint64(1) << np.uint64(63)  # flows of requests whose port is not known


def _packet(*parts: list[Part]) -> list[Part]:
    return message(1, [p for part in (number(10, _SEQUENCE), *parts) for p in part])


@dataclass
class _Writer:
    """The file, and what is already in it: tracks and texts, by what they are, with numbers."""

    file: BinaryIO
    tracks: dict[tuple[Any, ...], int] = field(default_factory=dict)
    texts: dict[tuple[int, str], int] = field(default_factory=dict)
    lanes: Lanes = field(default_factory=Lanes)
    ready: list[bytes] = field(default_factory=list)

    def put(self, parts: list[Part], n: int = 1) -> None:
        self.ready.append(joined_rows(parts, n))

    def flush(self) -> None:
        """Compressed, as a packet holds others: a reader needs no other program."""
        packed = zlib.compress(b"".join(self.ready), 1)
        self.file.write(joined_rows(message(1, message(50, [packed]))))
        self.ready.clear()

    def interned(self, kind: int, what: str) -> int:
        key = kind, what
        if key not in self.texts:
            self.texts[key] = number_of = len(self.texts) + 1
            one = [*number(1, number_of), *text(2, what)]
            self.put(_packet(number(13, 2), message(12, message(kind, one))))
        return self.texts[key]

    def track(self, key: tuple[Any, ...], name: str, above: int, *more: list[Part]) -> int:
        """The number of a track; described at its first use. above: the track it belongs to."""
        if key not in self.tracks:
            self.tracks[key] = uuid = len(self.tracks) + 1
            parts = [number(1, uuid), text(2, name) if name else [], *more]
            parts.append(number(5, above) if above else [])
            self.put(_packet(message(60, [p for part in parts for p in part])))
        return self.tracks[key]

    def process(self, pid: int, name: str) -> int:
        of = message(3, [*number(1, pid), *text(6, name)])
        return self.track(("process", pid), "", 0, of)

    def thread(self, pid: int, tid: int, role: str) -> int:
        session = role == AFP_WORDS["server"]
        self.process(pid, f"session {pid}" if session else f"{role} {pid}")
        of = message(4, [*number(1, pid), *number(2, tid), *text(5, role)])
        return self.track(("thread", pid, tid), "", 0, of)

    def lane(self, base: int, name: str, lane: int) -> int:
        """A lane of a track: the first is the track itself."""
        if not lane:
            return base
        return self.track(("lane", base, lane), f"{name}, {lane + 1}.", base)


def _start(out: _Writer, run: Run, trace: Trace | None) -> None:
    """The clocks, and that no text is known yet."""
    at = min((p.start_ns for p in run.phases), default=0)
    wall = at + (trace.offset_ns if trace else 0)
    clocks = [(_BOOTTIME, at), (_MONOTONIC, at), (_REALTIME, wall)]
    parts = [p for one, t in clocks for p in message(1, [*number(1, one), *number(2, t)])]
    out.put(_packet(number(13, 1), message(6, parts)))


@dataclass(frozen=True)
class _Slices:
    """Slices of a block, each on a track, whose numbers are `track`; arrows where `chosen`."""

    t: Array
    ns: Array
    track: Array
    names: Array
    arguments: list[Part]
    chosen: Array | None = None
    flow: Array | None = None


def _draw(out: _Writer, s: _Slices) -> None:
    """Begin and end of each follow each other, in order of begin, as the viewer closes the slice
    that was opened last."""
    flow: list[Part] = []
    if s.chosen is not None and s.flow is not None:
        flow = fixed_or(47, s.flow, s.chosen, 11, s.track)
    on = number(11, s.track)
    begin = [*number(9, _BEGIN), *on, *number(10, s.names), *flow, *s.arguments]
    out.put(
        [
            *_packet(number(8, s.t), number(13, 2), message(11, begin)),
            *_packet(number(8, s.t + s.ns), message(11, [*number(9, _END), *on])),
        ],
        len(s.t),
    )
    out.flush()


def _phases(out: _Writer, run: Run) -> None:
    base = out.track(("phases",), "phases", 0)
    for p in sorted(run.phases, key=lambda p: p.start_ns):
        figures = {"iteration": p.iteration} | {k: v for k, v in p.metrics.items() if v is not None}
        arguments = [
            part
            for key, value in figures.items()
            for part in message(4, [*number(1, out.interned(_ARGUMENTS, key)), *number(4, value)])
        ]
        begin, ns = (np.array([v], np.uint64) for v in (p.start_ns, p.metrics.get("elapsed") or 0))
        lane = out.lanes.of(base, begin, begin + ns)
        track = np.array([out.lane(base, "phases", int(lane[0]))])
        names = np.array([out.interned(_NAMES, p.title)])
        _draw(out, _Slices(begin, ns, track, names, arguments))


def _label(stream: Stream, name: str, value: int) -> str:
    return stream.labels(name).get(value, f"?{value}")


def _title(stream: Stream, fields: Sequence[str], one: Any) -> str:
    texts = [_label(stream, name, int(one[name])) for name in fields]
    return " ".join(word for word in texts if word != "-") or "-"


def _combined(block: Array, fields: Sequence[str]) -> Array:
    """A number for each combination of the fields' values, the same for the same."""
    out = np.zeros(len(block), np.int64)
    for name in fields:
        values, codes = np.unique(block[name], return_inverse=True)
        out = out * len(values) + codes
    return out


def _titles(out: _Writer, kind: int, stream: Stream, fields: Sequence[str], block: Array) -> Array:
    """Numbers of the fields' texts."""
    _, first, codes = np.unique(_combined(block, fields), return_index=True, return_inverse=True)
    numbers = [out.interned(kind, _title(stream, fields, block[at])) for at in first]
    return np.array(numbers, np.uint64)[codes]


def _arguments(out: _Writer, stream: Stream, block: Array, without: set[str]) -> list[Part]:
    """All other fields of the records."""
    parts: list[Part] = []
    for name in stream.columns:
        values = block[name]
        if name in without or re.fullmatch(r"pad\d*", name) or values.ndim > 1:
            continue
        if values.dtype.kind not in "ui":
            continue
        if stream.labels(name):
            value = number(17, _titles(out, _TEXTS, stream, (name,), block))
        else:
            value = number(4 if values.dtype.kind == "i" else 3, values)
        parts += message(4, [*number(1, out.interned(_ARGUMENTS, name)), *value])
    return parts


@dataclass(frozen=True)
class _Drawn:
    """How records of a stream are drawn."""

    length: str
    owner: tuple[str, ...]  # fields of what a track is of
    title: tuple[str, ...]  # fields whose texts are the slice's name
    track: Callable[[_Writer, Stream, Any], tuple[int, str]]  # of an owner: its number and name


def _request_track(out: _Writer, _: Stream, one: Any) -> tuple[int, str]:
    pid = int(one["session"])
    base = out.process(pid, f"session {pid}")
    return out.track(("requests", pid), "requests", base, number(12, -1)), "requests"


def _call_track(out: _Writer, stream: Stream, one: Any) -> tuple[int, str]:
    role = _label(stream, "role", int(one["role"]))
    return out.thread(int(one["session"]), int(one["tid"]), role), "calls"


def _wait_track(out: _Writer, stream: Stream, one: Any) -> tuple[int, str]:
    thread, _ = _call_track(out, stream, one)
    return out.track(("waits", thread), "waits", thread), "waits"


def _client_track(out: _Writer, _: Stream, one: Any) -> tuple[int, str]:
    port, above = int(one["port"]), out.track(("client",), "client", 0)
    name = f"connection from port {port}" if port else "connections"
    return out.track(("client", port), name, above), name


_STREAMS = {
    "client": _Drawn("last_ns", ("port",), ("command",), _client_track),
    "requests": _Drawn("time_ns", ("session",), ("command",), _request_track),
    "calls": _Drawn("time_ns", ("session", "tid"), ("class", "object"), _call_track),
    "waits": _Drawn("ns", ("session", "tid"), ("kind", "class", "object"), _wait_track),
}
_ROLE = {"role"}


class _Flows:
    """Which slices arrows connect: those with the same number."""

    def __init__(self, trace: Trace) -> None:
        self._ids = {"client": Unwrapped(), "requests": Unwrapped()}
        self._trace, self._unknown = trace, 0
        self._served: Served | None = None
        self._found: list[tuple[Array, ...]] = []

    def of(self, stream: Stream, block: Array) -> tuple[Array | None, Array | None]:
        """Where there is one, and its number. In order: the client, its requests, their calls."""
        names = set(stream.columns)
        if stream.name in self._ids and {"port", "dsi_id"} <= names:
            flow = self._ids[stream.name].of(block["port"], block["dsi_id"])
            if stream.name == "requests":
                self._keep(block, flow)
            return np.ones(len(block), bool) & (flow != 0), flow
        if stream.name == "calls" and {"dsi_id", "command", "role"} <= names and self._found:
            return self._backend(stream, block)
        return None, None

    def _keep(self, block: Array, flow: Array) -> None:
        none = np.flatnonzero(block["port"] == 0)
        flow[none] = _NO_REQUEST + np.arange(self._unknown, self._unknown + len(none), dtype="u8")
        self._unknown += len(none)
        end = block["t"] + block["time_ns"]
        self._found.append(
            tuple(np.array(c) for c in (block["dsi_id"], block["command"], block["t"], end, flow))
        )

    def _backend(self, stream: Stream, block: Array) -> tuple[Array, Array]:
        if self._served is None:
            self._served = Served(self._found)  # type: ignore[arg-type]
        own = [v for v, role in stream.labels("role").items() if role == AFP_WORDS["server"]]
        chosen, flow = np.zeros(len(block), bool), np.zeros(len(block), np.uint64)
        others = np.flatnonzero(~np.isin(block["role"], own))
        some = block[others]
        chosen[others], flow[others] = self._served.firsts(
            some["dsi_id"], some["command"], some["t"]
        )
        return chosen, flow


def _stream(out: _Writer, stream: Stream, how: _Drawn, flows: _Flows) -> None:
    without = {"t", "timestamp", how.length, *how.owner, *how.title, *_ROLE}
    what = f"records of {stream.name}"
    for block in show.progress("export", what, stream.blocks(BLOCK), stream.n):
        block = block[np.argsort(block["t"], kind="stable")]
        chosen, flow = flows.of(stream, block)
        begin = block["t"].astype(np.uint64)
        ns = block[how.length].astype(np.uint64)
        track = np.empty(len(block), np.uint64)
        for at in groups(_combined(block, how.owner)):
            base, name = how.track(out, stream, block[at[0]])
            lanes = out.lanes.of(base, begin[at], begin[at] + ns[at])
            tracks = [out.lane(base, name, i) for i in range(int(lanes.max()) + 1)]
            track[at] = np.array(tracks, np.uint64)[lanes]
        names = _titles(out, _NAMES, stream, how.title, block)
        arguments = _arguments(out, stream, block, without)
        _draw(out, _Slices(begin, ns, track, names, arguments, chosen, flow))


def _drawable(trace: Trace) -> Iterator[tuple[Stream, _Drawn]]:
    for name, how in _STREAMS.items():
        if (stream := trace.streams.get(name)) is None:
            continue
        needed = {"t", how.length, *how.owner, *how.title}
        if how.track in (_call_track, _wait_track):
            needed |= _ROLE
        if missing := needed - set(stream.columns):
            show.notice(f"export: {name} has no {', '.join(sorted(missing))}: left out")
            continue
        yield stream, how


def write(run: Run, trace: Trace | None, file: BinaryIO) -> None:
    """Times are those of the recorder's clock. Memory grows with the number of requests only."""
    out = _Writer(file)
    _start(out, run, trace)
    _phases(out, run)
    if trace:
        flows = _Flows(trace)
        for stream, how in _drawable(trace):
            _stream(out, stream, how, flows)
    out.flush()
