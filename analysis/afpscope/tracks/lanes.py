# SPDX-License-Identifier: GPL-2.0-or-later
"""Where records of a trace are drawn, block by block: lanes, and which belong together."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def groups(keys: Array) -> list[Array]:
    """The places of each value, in their order."""
    if not len(keys):
        return []
    order = np.argsort(keys, kind="stable")
    ends = np.flatnonzero(np.diff(keys[order])) + 1
    return np.split(order, ends)


class Lanes:
    """What of one owner overlaps gets different lanes, the lowest that is free."""

    def __init__(self) -> None:
        self._ends: dict[int, list[int]] = {}

    def of(self, owner: int, begin: Array, end: Array) -> Array:
        """The lanes of slices in order of `begin`. Earlier calls' slices keep theirs."""
        ends = self._ends.setdefault(owner, [0])
        if int(begin[0]) >= ends[0] and bool((begin[1:] >= end[:-1]).all()):
            ends[0] = int(end[-1])
            return np.zeros(len(begin), np.int64)
        out = np.empty(len(begin), np.int64)
        first = int(begin[0])
        free = [i for i, until in enumerate(ends) if until <= first]
        busy = [(until, i) for i, until in enumerate(ends) if until > first]
        heapq.heapify(busy)
        for at, (b, e) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
            while busy and busy[0][0] <= b:
                heapq.heappush(free, heapq.heappop(busy)[1])
            lane = heapq.heappop(free) if free else len(ends)
            if lane == len(ends):
                ends.append(0)
            ends[lane] = e
            heapq.heappush(busy, (e, lane))
            out[at] = lane
        return out


class Unwrapped:
    """DSI ids of a connection that go on when their 16 bits wrap, as `joined` of query does it."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[int, int]] = {}  # of a port: the last id, and 65,536 * wraps

    def of(self, port: Array, dsi_id: Array) -> Array:
        """One number for a port and a continued id, from records in order of time."""
        out = np.empty(len(port), np.uint64)
        for at in groups(port):
            key, ids = int(port[at[0]]), dsi_id[at].astype(np.int64)
            last, base = self._last.get(key, (int(ids[0]), 0))
            step = np.diff(ids, prepend=last)
            more = np.where(step < -32768, 65536, 0) - np.where(step > 32768, 65536, 0)
            bases = base + np.cumsum(more)
            self._last[key] = int(ids[-1]), int(bases[-1])
            # 65,536 times more, as an id that wraps backwards would be negative.
            out[at] = (np.uint64(key) << np.uint64(44)) + (65536 + bases + ids).astype(np.uint64)
        return out


class Served:
    """The requests of a server, to find the one that a call of its backend was made for."""

    def __init__(self, parts: Iterable[tuple[Array, Array, Array, Array, Array]]) -> None:
        """parts: `dsi_id`, `command`, begin, end and number of requests."""
        made = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
        dsi_id, command, begin, end, flow = made if made else [np.empty(0, np.uint64)] * 5
        order = np.lexsort((begin, dsi_id))
        self._dsi_id, self._command = dsi_id[order].astype(np.int64), command[order]
        self._begin, self._end = begin[order].astype(np.int64), end[order].astype(np.int64)
        self.flow = flow[order]
        self._first = int(self._begin.min(initial=np.iinfo(np.int64).max))
        span = int(self._begin.max(initial=0)) - self._first + 1 if len(order) else 1
        self._shift = max(0, (span << 17).bit_length() - 63)
        self._keys = self._key(self._dsi_id, self._begin)
        # When the last of those before it with its id ended: then a call may be of either.
        self._before = np.full(len(order), -1, np.int64)
        for at in groups(self._dsi_id):
            self._before[at[1:]] = np.maximum.accumulate(self._end[at])[:-1]
        self._used = np.zeros(len(order), bool)

    def _key(self, dsi_id: Array, t: Array) -> Array:
        span_bits = 63 - 17
        since = np.clip((t - self._first) >> self._shift, 0, (1 << span_bits) - 1)
        keys: Array = (dsi_id.astype(np.int64) << span_bits) + since
        return keys

    def firsts(self, dsi_id: Array, command: Array, t: Array) -> tuple[Array, Array]:
        """Which of these calls are the first of the only request that they can be of; and its
        number, 0 for the others."""
        flow = np.zeros(len(t), np.uint64)
        if not len(self.flow):
            return np.zeros(len(t), bool), flow
        t = t.astype(np.int64)
        at = np.searchsorted(self._keys, self._key(dsi_id, t), "right") - 1
        sure = (at >= 0) & (self._dsi_id[at] == dsi_id) & (self._command[at] == command)
        sure &= (self._begin[at] <= t) & (t <= self._end[at]) & (self._before[at] < t)
        sure &= ~self._used[at]
        places = np.flatnonzero(sure)
        _, first = np.unique(at[places], return_index=True)
        chosen = np.zeros(len(t), bool)
        chosen[places[first]] = True
        self._used[at[chosen]] = True
        flow[chosen] = self.flow[at[chosen]]
        return chosen, flow
