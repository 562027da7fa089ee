# SPDX-License-Identifier: GPL-2.0-or-later
"""A run in the trace-event format, which Perfetto's viewer opens.

A process of the viewer is a process of the server, most of them sessions; its tracks are its
requests, each part of their time, and each thread's calls. It is not recorded where in a
request a part's time was: its slice begins with the request and is as long as the sum. The
slices of one track never overlap, as the viewer would not draw that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from . import show
from .saved.run import AFP_WORDS, Run
from .saved.trace import Stream, Trace

PARTS = ("own", "calls", "runq", "disk", "cnid", "lock", "log", "net", "other")
# Ids of tracks that are no process or thread: above any of those (PID_MAX_LIMIT of Linux is 2^22).
_CLIENT, _PHASES, _REQUESTS = 5_000_000, 5_000_001, 5_000_002
Event = dict[str, Any]


def _slice(name: str, begin: int, ns: int, pid: int, tid: int, args: Event) -> Event:
    return {"ph": "X", "name": name, "ts": begin / 1000, "dur": ns / 1000, "pid": pid,
            "tid": tid, "args": args}  # fmt: skip


def _name(kind: str, name: str, pid: int, tid: int = 0) -> Event:
    return {"ph": "M", "name": f"{kind}_name", "pid": pid, "tid": tid, "args": {"name": name}}


def _track(name: str, pid: int, number: int) -> Iterator[Event]:
    """A track of ours in a process of the server, above its threads."""
    tid = _REQUESTS + number
    yield _name("thread", name, pid, tid)
    yield {"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid,
           "args": {"sort_index": number - 100}}  # fmt: skip


def _phases(run: Run) -> Iterator[Event]:
    yield _name("process", "phases", _PHASES)
    for p in run.phases:
        args = {"iteration": p.iteration, "complete": p.complete} | p.metrics
        yield _slice(p.title, p.start_ns, p.metrics.get("elapsed") or 0, _PHASES, p.test, args)


def _rows(stream: Stream) -> Iterator[Event]:
    """Records as objects, enums as texts, without padding."""
    names = [name for name in stream.columns if not re.fullmatch(r"pad\d*", name)]
    labels = {name: stream.labels(name) for name in names if stream.labels(name)}
    for block in stream.blocks(1 << 14):
        for values in block[names].tolist():
            row = dict(zip(names, values, strict=True))
            for name, texts in labels.items():
                row[name] = texts.get(row[name], f"?{row[name]}")
            yield row


def _requests(stream: Stream) -> Iterator[Event]:
    known: set[int] = set()
    for r in _rows(stream):
        pid, t = r["session"], r["t"]
        if pid not in known:
            known.add(pid)
            yield _name("process", f"session {pid}", pid)
            yield from _track("requests", pid, 0)
            for i, part in enumerate(PARTS):
                yield from _track(f"time: {part}", pid, 1 + i)
        yield _slice(str(r["command"]), t, r["time_ns"], pid, _REQUESTS, r)
        for i, part in enumerate(PARTS):
            if ns := r.get(f"{part}_ns"):
                yield _slice(str(r["command"]), t, ns, pid, _REQUESTS + 1 + i, {"sum": True})


def _calls(stream: Stream) -> Iterator[Event]:
    known: set[tuple[int, int]] = set()
    for r in _rows(stream):
        pid, tid = r["session"], r["tid"]
        if (pid, tid) not in known:
            known.add((pid, tid))
            yield _name("thread", str(r["role"]), pid, tid)
            if r["role"] != AFP_WORDS["server"]:
                yield _name("process", f"{r['role']} {pid}", pid)
        args: Event = {key: r[key] for key in ("command", "dsi_id", "nr", "fd", "ret") if key in r}
        name = f"{r['class']} {r['object']}".removesuffix(" -")
        yield _slice(name, r["t"], r["time_ns"], pid, tid, args)


def _client(stream: Stream) -> Iterator[Event]:
    """Requests in flight at the same time are on different tracks."""
    yield _name("process", "client", _CLIENT)
    ends: list[int] = []
    for r in _rows(stream):
        free = [i for i, end in enumerate(ends) if end <= r["t"]]
        if not free:
            free = [len(ends)]
            ends.append(0)
            yield _name("thread", f"requests, {len(ends)}. under way", _CLIENT, len(ends) - 1)
        track = max(free, key=lambda i: ends[i])
        ends[track] = r["t"] + r["last_ns"]
        yield _slice(str(r["command"]), r["t"], r["last_ns"], _CLIENT, track, r)


_STREAMS = {"requests": _requests, "calls": _calls, "client": _client}
_NEEDED = {
    "requests": {"session", "t", "command", "time_ns"},
    "calls": {"session", "t", "tid", "role", "class", "object", "time_ns"},
    "client": {"command", "t", "last_ns"},
}


def _events(run: Run, trace: Trace | None) -> Iterator[Event]:
    yield from _phases(run)
    for name, draw in _STREAMS.items():
        stream = trace.streams.get(name) if trace else None
        if stream is None:
            continue
        missing = _NEEDED[name] - set(stream.columns)
        if missing:
            show.notice(f"export: {name} has no {', '.join(sorted(missing))}: left out")
            continue
        yield from draw(stream)


def write(run: Run, trace: Trace | None, file: BinaryIO) -> None:
    """Written event by event; times are those of the recorder's clock."""
    file.write(b'{"displayTimeUnit": "ns", "traceEvents": [\n')
    for i, event in enumerate(_events(run, trace)):
        file.write(((",\n" if i else "") + json.dumps(event, default=str)).encode())
    file.write(b"\n]}\n")
