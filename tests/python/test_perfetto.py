# SPDX-License-Identifier: GPL-2.0-or-later
"""export --to perfetto, judged by the decoder that Perfetto's own package has."""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tracegen
from afpscope import show
from afpscope.tracks import perfetto
from afpscope.tracks.lanes import Lanes, Served, Unwrapped
from conftest import Done, Shelf
from hypothesis import given
from hypothesis import strategies as some
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

Execute = Callable[..., Done]


@dataclass
class Drawn:
    """What a viewer shows."""

    tracks: dict[int, Any] = field(default_factory=dict)
    slices: list[tuple[int, str, int, int, dict[str, Any]]] = field(default_factory=list)
    flows: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def kind(self, track: int) -> str:
        """Of which stream the slices of a track are."""
        of = self.tracks[track]
        if of.HasField("thread"):
            return "calls"
        first = of.name.partition(",")[0].split(" ")[0]
        return "client" if first.startswith("connection") else first

    def sums(self) -> dict[str, tuple[int, int]]:
        n: Counter[str] = Counter()
        ns: Counter[str] = Counter()
        for track, _, _, length, _ in self.slices:
            n[self.kind(track)] += 1
            ns[self.kind(track)] += length
        return {kind: (n[kind], ns[kind]) for kind in n}


def _packets(path: Path) -> Iterator[Any]:
    outer = protos.Trace()
    outer.ParseFromString(path.read_bytes())
    for packet in outer.packet:
        inner = protos.Trace()
        inner.ParseFromString(zlib.decompress(packet.compressed_packets))
        yield from inner.packet


def decode(path: Path) -> Drawn:
    """By the rules of trace_processor: in order of time, an end closes what was opened last."""
    out = Drawn()
    texts: dict[str, dict[int, Any]] = defaultdict(dict)
    events = []
    for packet in _packets(path):
        for of, values in packet.interned_data.ListFields():
            for v in values:
                texts[of.name][v.iid] = v.str.decode() if of.name.endswith("values") else v.name
        if packet.HasField("track_descriptor"):
            one = packet.track_descriptor
            assert one.uuid not in out.tracks
            assert not one.parent_uuid or one.parent_uuid in out.tracks
            out.tracks[one.uuid] = one
        if packet.HasField("track_event"):
            events.append((packet.timestamp, packet.track_event))
    opened: dict[int, list[tuple[int, Any]]] = defaultdict(list)
    for t, event in sorted(events, key=lambda e: e[0]):
        if event.type == event.TYPE_SLICE_BEGIN:
            opened[event.track_uuid].append((t, event))
            assert len(opened[event.track_uuid]) == 1, "slices of a track overlap"
            for flow in event.flow_ids:
                out.flows[flow].append(event.track_uuid)
            continue
        begin, event = opened[event.track_uuid].pop()
        arguments = {}
        for a in event.debug_annotations:
            value = getattr(a, a.WhichOneof("value"))
            if a.HasField("string_value_iid"):
                value = texts["debug_annotation_string_values"][value]
            arguments[texts["debug_annotation_names"][a.name_iid]] = value
        name = texts["event_names"][event.name_iid]
        out.slices.append((event.track_uuid, name, begin, t - begin, arguments))
    assert not any(opened.values())
    return out


def _traced(shelf: Shelf, made: dict[str, Any]) -> Path:
    folder = shelf.put("traced")
    tracegen.write(folder / "trace", 0)
    for name, rows in made.items():
        (folder / "trace" / name).write_bytes(tracegen.packets(name, rows))
    return folder


LENGTHS = {"client": "last_ns", "requests": "time_ns", "calls": "time_ns", "waits": "ns"}


def _asked(execute: Execute, folder: Path, sql: str) -> list[dict[str, Any]]:
    done = execute("query", folder, sql, "--json")
    return [json.loads(line) for line in done.out.splitlines()]


def _drawn(execute: Execute, folder: Path) -> Drawn:
    to = folder.parent / "perfetto"
    done = execute("export", folder, "--to", "perfetto", "-o", to)
    assert done.code == 0 and done.out == f"{to}/run.pftrace\n"
    return decode(to / "run.pftrace")


@pytest.mark.parametrize("n", [300, 24_000])
def test_perfetto_agrees_with_query(
    shelf: Shelf, execute: Execute, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts and sums, also of several blocks; the client's ids come round again."""
    monkeypatch.setattr(perfetto, "BLOCK", 5000)
    made = tracegen.both_sides(n // 2) | {
        name: tracegen.records(name, n) for name in ("calls", "waits")
    }
    made["calls"]["tid"] = 100 + np.arange(n) % 7
    folder = _traced(shelf, made)
    drawn = _drawn(execute, folder)
    sums = drawn.sums()
    for stream, length in LENGTHS.items():
        (row,) = _asked(
            execute, folder, f"select count(*) n, sum({length})::bigint s from {stream}"
        )
        assert sums[stream] == (row["n"], row["s"])
    (pairs,) = _asked(execute, folder, "select count(between_ns) n from joined")
    both = [f for f in drawn.flows.values() if {"client", "requests"} <= set(map(drawn.kind, f))]
    assert len(both) == pairs["n"] == n // 2


@pytest.mark.parametrize("to", ["perfetto", "parquet", "csv"])
def test_a_long_export_says_how_far_it_is(
    shelf: Shelf, execute: Execute, to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show, "PROGRESS_S", 0)
    monkeypatch.setattr(perfetto, "BLOCK", 500)
    folder = _traced(shelf, {"calls": tracegen.records("calls", 3000)})
    done = execute("export", folder, "--to", to, "-o", folder.parent / "out")
    said = [line for line in done.err.splitlines() if line.endswith("of 3,000 records of calls")]
    assert done.code == 0 and said
    assert to != "perfetto" or len(said) > 2


def test_a_slice_has_what_its_record_has(shelf: Shelf, execute: Execute) -> None:
    calls = tracegen.records("calls", 3)
    calls["tid"], calls["role"], calls["class"], calls["object"] = 77, 0, 1, [4, 0, 200]
    calls["ret"], calls["fd"], calls["command"] = [-2, 1 << 40, 0], [-1, 3, 4], 26
    waits = tracegen.records("waits", 1)
    waits["session"], waits["tid"], waits["class"], waits["object"] = calls["session"][0], 77, 0, 1
    waits["kind"], waits["role"] = 1, 0
    calls["session"] = calls["session"][0]
    drawn = _drawn(execute, _traced(shelf, {"calls": calls, "waits": waits}))
    of = [s for s in drawn.slices if drawn.kind(s[0]) == "calls"]
    assert [s[1] for s in of] == ["write data file", "write", "write ?200"]
    assert [s[4]["ret"] for s in of] == [-2, 1 << 40, 0]
    assert of[0][4]["fd"] == -1 and of[0][4]["command"] == "FPOpenFork"
    assert [s[2] for s in of] == calls["t"].tolist()
    (wait,) = [s for s in drawn.slices if drawn.kind(s[0]) == "waits"]
    assert wait[1] == "blocked read client socket"
    assert drawn.tracks[wait[0]].parent_uuid == of[0][0]
    thread = drawn.tracks[of[0][0]].thread
    assert (thread.tid, thread.thread_name) == (77, "afpd")


def test_a_wait_is_drawn_where_it_lay_in_its_request(shelf: Shelf, execute: Execute) -> None:
    """Not at the request's begin, nor as a sum: begin and end of each are recorded."""
    at = 10**9
    requests, waits = tracegen.records("requests", 1), tracegen.records("waits", 2)
    requests["session"], requests["t"], requests["time_ns"] = 9, at, 50_000
    requests["timestamp"] = at + 50_000
    waits["session"], waits["tid"], waits["role"] = 9, 9, 0
    waits["t"], waits["ns"] = [at + 10_000, at + 30_000], [15_000, 5_000]
    drawn = _drawn(execute, _traced(shelf, {"requests": requests, "waits": waits}))
    found = {kind: [s[2:4] for s in drawn.slices if drawn.kind(s[0]) == kind] for kind in LENGTHS}
    assert found["requests"] == [(at, 50_000)]
    assert found["waits"] == [(at + 10_000, 15_000), (at + 30_000, 5_000)]
    assert not [of.name for of in drawn.tracks.values() if of.name.startswith("time")]


def test_nothing_says_that_this_is_not_recorded() -> None:
    root = Path(__file__).parents[2]
    for file in (root / "docs/analysis.md", Path(perfetto.__file__)):
        said = " ".join(file.read_text().split())
        assert "not recorded" not in said and re.search(
            "calls (and|with the thread.s) waits", said
        ), file


def test_an_arrow_goes_on_to_the_backend_where_it_is_sure(shelf: Shelf, execute: Execute) -> None:
    """Two of three requests under way at once have the same id: their calls may be of either."""
    requests = tracegen.records("requests", 3)
    requests["dsi_id"], requests["command"] = [5, 5, 6], 26
    requests["session"], requests["port"] = [1, 2, 2], [50001, 50002, 50002]
    requests["t"], requests["time_ns"] = 10**9, 50_000
    requests["timestamp"] = 10**9 + 50_000
    calls = tracegen.records("calls", 4)
    calls["session"], calls["tid"], calls["command"] = 9, 9, 26
    calls["role"], calls["dsi_id"] = [1, 1, 1, 0], [5, 6, 6, 6]
    calls["t"], calls["time_ns"] = 10**9 + np.arange(1, 5) * 1000, 10
    drawn = _drawn(execute, _traced(shelf, {"requests": requests, "calls": calls}))
    ways = Counter(tuple(map(drawn.kind, flow)) for flow in drawn.flows.values())
    assert ways == {("requests",): 2, ("requests", "calls"): 1}


@given(
    some.lists(some.tuples(some.integers(0, 50), some.integers(0, 20)), min_size=1),
    some.integers(1, 9),
)
def test_no_two_of_a_lane_overlap(slices: list[tuple[int, int]], each: int) -> None:
    """Also over blocks, each in order of its begins."""
    lanes, drawn = Lanes(), defaultdict(list)
    for first in range(0, len(slices), each):
        block = np.array(sorted(slices[first : first + each]), np.uint64)
        begin, end = block[:, 0], block[:, 0] + block[:, 1]
        for lane, *one in zip(
            lanes.of(1, begin, end).tolist(), begin.tolist(), end.tolist(), strict=True
        ):
            assert not drawn[lane] or one[0] >= drawn[lane][-1][1]
            drawn[lane].append(one)
    most = max(sum(b <= t < b + n for b, n in slices) for t in range(70))
    assert len(slices) > each or len(drawn) <= max(1, most) + 1


def test_ids_go_on_when_they_wrap() -> None:
    ids, ports = Unwrapped(), np.full(4, 50000)
    first = ids.of(ports, np.array([65533, 65535, 65534, 0]))
    then = ids.of(ports, np.array([65535, 1, 2, 3]))
    assert (np.concatenate([first, then]) - first[0]).tolist() == [0, 2, 1, 3, 2, 4, 5, 6]


def test_a_long_recording_keeps_its_requests_apart() -> None:
    """Of two weeks: more nanoseconds than a key has bits for."""
    week = 7 * 86400 * 10**9
    begin = np.array([0, 2 * week, 2 * week + 100_000], np.uint64)
    ids, commands, flow = np.array([1, 1, 1]), np.full(3, 26), np.array([1, 2, 3], np.uint64)
    served = Served([(ids, commands, begin, begin + np.uint64(50), flow)])
    calls = np.array([10, week, 2 * week + 20, 2 * week + 100_020], np.uint64)
    chosen, found = served.firsts(np.full(4, 1), np.full(4, 26), calls)
    assert chosen.tolist() == [True, False, True, True] and found.tolist() == [1, 0, 2, 3]
