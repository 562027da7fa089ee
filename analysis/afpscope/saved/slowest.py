# SPDX-License-Identifier: GPL-2.0-or-later
"""The records of a trace that took longest, and what was done for them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from .trace import Stream

SERVER = 0  # AFS_ROLE_SERVER of bpf/events.h
BLOCK = 1 << 14  # records that are looked at together
LENGTHS = ("time_ns", "ns", "last_ns")
Blocks = Callable[[Stream], Iterator[Any]]


def length(stream: Stream) -> str | None:
    """The field with how long a record's subject took; None: it has none."""
    return next((name for name in LENGTHS if name in stream.columns), None)


def longest(streams: Sequence[Stream], blocks: Blocks, n: int) -> list[tuple[Stream, Any]]:
    """The `n` longest records, each an array of one, the longest first; of equal ones the earlier.
    `blocks`: those of a stream's records that are looked at."""
    best: list[tuple[int, int, int, int, Any]] = []
    for number, stream in enumerate(streams):
        key, at = length(stream), 0
        for block in blocks(stream) if key else ():
            lengths = block[key]
            some = np.argsort(lengths.max() - lengths, kind="stable")[:n]
            for i in some.tolist():
                place = int(block["timestamp"][i]), number, at + i
                best.append((-int(lengths[i]), *place, block[i : i + 1].copy()))
            best = heapq.nsmallest(n, best, key=itemgetter(0, 1, 2, 3))
            at += len(block)
    return [(streams[one[2]], one[4]) for one in best]


def made_for(request: Any, one: Any) -> bool:
    """Whether a call or wait was made for a request. Work of a process other than the session's
    has the request's id, command and time."""
    other = one["role"] != SERVER
    return bool(
        one["dsi_id"] == request["dsi_id"]
        and one["command"] == request["command"]
        and (one["session"] == request["session"] or other)
        and one["timestamp"] >= request["t"]
        and int(one["t"]) <= int(request["t"]) + int(request["time_ns"])
    )


def below(streams: Sequence[Stream], requests: Sequence[Any]) -> Iterator[tuple[int, Stream, Any]]:
    """Calls and waits made for one of these requests: its place among them, the stream and the
    record, an array of one; in the order in which they ended."""
    ids = [request["dsi_id"] for request in requests]

    def of(stream: Stream) -> Iterator[tuple[int, Stream, Any]]:
        for view in stream.views(BLOCK):  # most records are of other requests: none is copied
            asked = view["dsi_id"]
            for i in np.flatnonzero(np.logical_or.reduce([asked == one for one in ids])):
                yield int(view["timestamp"][i]), stream, view[i : i + 1].copy()

    for _, stream, record in heapq.merge(*map(of, streams), key=itemgetter(0)):
        for place, request in enumerate(requests):
            if made_for(request, record[0]):
                yield place, stream, record.copy()
                break
