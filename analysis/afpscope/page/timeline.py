# SPDX-License-Identifier: GPL-2.0-or-later
"""The slowest requests of a trace, each drawn from when the client sent it to when it was answered:
what the server did meanwhile, what it waited for, and what the one that it asked did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import show
from ..saved import slowest
from ..saved.run import DATABASE_FILE
from ..saved.slowest import SERVER
from ..saved.trace import Stream, Trace
from ..tables.digest import blocked_column
from ..words import Words

REQUESTS = 5
WIDTH = 640.0
LISTED = 12  # calls and waits in the table, the longest
_PIECES = 400  # drawn in a lane, the longest
_LEAST = 0.4  # width that is still seen
_BLOCKED, _RUNQ, _STOPPED = 1, 2, 3  # AFS_WAIT_* of bpf/events.h


@dataclass(frozen=True)
class Piece:
    """From `x`, `width` wide, in units of the figure. `ns`: how long it took."""

    x: float
    width: float
    colour: str
    name: str
    at_ns: int
    ns: int


@dataclass(frozen=True)
class Lane:
    """`who`: one of the words below "lane_". Later pieces lie on earlier ones: waits on the calls
    that they are in, calls on the server's own code."""

    who: str
    pieces: tuple[Piece, ...]

    @property
    def paths(self) -> dict[str, str]:
        """Outlines by colour, from y = 0 to 17; those that would be drawn twice once."""
        out: dict[str, dict[str, None]] = {}
        for p in self.pieces:
            d = f"M{140 + p.x:.1f} 0h{p.width:.1f}v17h-{p.width:.1f}z"
            out.setdefault(p.colour, {})[d] = None
        return {colour: "".join(ds) for colour, ds in out.items()}


@dataclass(frozen=True)
class Timeline:
    """`title`: the command and how long it took; `longest`: who, and the piece."""

    title: str
    lanes: tuple[Lane, ...]
    ticks: tuple[tuple[float, str], ...]
    longest: tuple[tuple[str, Piece], ...]


def _text(stream: Stream, record: Any, field: str) -> str:
    return stream.labels(field).get(int(record[field]), "?")


def _colour(kind: int, class_: str, object_: str) -> str:
    if kind == _RUNQ:
        return "runq"
    if kind == _STOPPED:
        return "stopped"
    if object_ == DATABASE_FILE:  # who has it open waits for no helper
        return "lock" if class_ == "lock" else "disk"
    return blocked_column(class_, object_)


def _piece(stream: Stream, record: Any, w: Words) -> tuple[str, Piece]:
    """Its lane, and what is drawn there but for the place."""
    class_, object_ = _text(stream, record, "class"), _text(stream, record, "object")
    name = class_ if object_ == "-" else f"{class_} · {object_}"
    who = "server" if record["role"] == SERVER else "helper"
    at_ns = int(record["t"])
    if stream.name == "calls":
        return who, Piece(0, 0, "calls", name, at_ns, int(record["time_ns"]))
    kind = int(record["kind"])
    colour = _colour(kind, class_, object_)
    name = w.say("asleep", call=name) if kind == _BLOCKED else w[f"p_{colour}"]
    return who, Piece(0, 0, colour, name, at_ns, int(record["ns"]))


def _sent(client: Stream | None, requests: Sequence[Any]) -> dict[int, tuple[int, int]]:
    """When the client of each request sent it and had its answer: the last time that this id was
    used on that connection before the server began."""
    out: dict[int, tuple[int, int]] = {}
    for block in client.blocks(slowest.BLOCK) if client and client.n else ():
        for place, r in enumerate(requests):
            same = (block["port"] == r["port"]) & (block["dsi_id"] == r["dsi_id"])
            for one in block[same & (block["t"] <= r["t"])]:
                if place not in out or out[place][0] < int(one["t"]):
                    out[place] = int(one["t"]), int(one["last_ns"])
    return out


def _ticks(whole_ns: int) -> Iterator[tuple[float, str]]:
    step = 10 ** (len(str(max(1, whole_ns))) - 1)
    if whole_ns < 3 * step:
        step = max(1, step // 2)
    for at in range(0, whole_ns + 1, step):
        yield WIDTH * at / whole_ns, show.axis_time(at) if at else "0"


def _lanes(pieces: dict[str, list[Piece]], begin: int, whole_ns: int) -> Iterator[Lane]:
    for who in ("client", "server", "helper"):
        drawn = []
        most = sorted(pieces.get(who, ()), key=lambda p: -p.ns)[:_PIECES]
        for p in sorted(most, key=lambda p: (p.colour != "user", p.colour != "calls")):
            x = max(0.0, WIDTH * (p.at_ns - begin) / whole_ns)
            end = min(WIDTH, WIDTH * (p.at_ns + p.ns - begin) / whole_ns)
            if end >= x:
                drawn.append(replace(p, x=x, width=max(_LEAST, end - x), at_ns=p.at_ns - begin))
        if drawn:
            yield Lane(who, tuple(drawn))


def _timeline(
    title: str, r: Any, sent: tuple[int, int] | None, pieces: dict[str, list[Piece]], w: Words
) -> Timeline:
    begin, ns = int(r["t"]), int(r["time_ns"])
    end = begin + ns
    own = Piece(0, 0, "user", w["p_user"], begin, ns)
    pieces.setdefault("server", []).append(own)
    if sent:
        pieces["client"] = [Piece(0, 0, "client", w["lane_client"], *sent)]
        begin, end = sent[0], max(end, sum(sent))
    whole_ns = max(1, end - begin)
    lanes = tuple(_lanes(pieces, begin, whole_ns))
    told = [(x.who, p) for x in lanes for p in x.pieces if p.colour != "user" or x.who != "server"]
    told.sort(key=lambda one: -one[1].ns)
    return Timeline(title, lanes, tuple(_ticks(whole_ns)), tuple(told[:LISTED]))


def timelines(trace: Trace, w: Words) -> list[Timeline]:
    """The slowest first; none of a trace without requests. Of a trace without calls (--trace=
    requests) only how long they took."""
    requests = trace.streams.get("requests")
    if not requests or not requests.n or "time_ns" not in requests.columns:
        return []
    found = slowest.longest([requests], lambda s: s.blocks(slowest.BLOCK), REQUESTS)
    records = [record[0] for _, record in found]
    pieces: list[dict[str, list[Piece]]] = [{} for _ in records]
    streams = [trace.streams[name] for name in ("calls", "waits") if name in trace.streams]
    for place, stream, record in slowest.below(streams, records):
        lane, piece = _piece(stream, record[0], w)
        pieces[place].setdefault(lane, []).append(piece)
    sent = _sent(trace.streams.get("client"), records)
    return [
        _timeline(
            w.say("slow_one", command=_text(requests, r, "command"), time=show.time(r["time_ns"])),
            r,
            sent.get(place),
            pieces[place],
            w,
        )
        for place, r in enumerate(records)
    ]
