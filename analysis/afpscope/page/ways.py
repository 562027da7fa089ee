# SPDX-License-Identifier: GPL-2.0-or-later
"""What users did, at other round-trip times: the tables of round trips, for those that are chosen
when the page is made (report --rtt)."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace

from .. import show
from ..saved.crowd import over as trips_over
from ..saved.sections import Cell, Column, Row, Section

MOST = 6  # times, as of afpscope's --rtt
MOST_MS = 60_000.0
_NS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}
_AT = "at_"  # the names of the columns that depend on them begin so


def chosen(text: str) -> tuple[float, ...]:
    """ "0.2,5": times in ms."""
    try:
        found = tuple(float(word) for word in text.split(","))
    except ValueError:
        found = ()
    if not 0 < len(found) <= MOST or not all(0 < ms <= MOST_MS for ms in found):
        raise argparse.ArgumentTypeError(
            f"'{text}' are not at most {MOST} times in ms, such as 0.2,5,20,100"
        )
    return found


def _numbers(s: Section, r: Row) -> dict[str, float]:
    """Values of its cells by column; times are in ns."""
    found = {}
    for column, cell in zip(s.columns, r.cells, strict=True):
        if isinstance(cell.value, (int, float)):
            found[column.name] = cell.value * _NS.get(cell.unit or column.unit or "", 1.0)
    return found


def _predicted(of: dict[str, float], rtt_ns: float) -> float | None:
    """Of a burst of requests only the network's part."""
    if "each" in of:
        return of["each"] * rtt_ns
    if not {"round_trips", "here", "rtt"} <= of.keys():
        return None
    return trips_over(of["here"], of["round_trips"], of["rtt"], rtt_ns)


def _cells(s: Section, r: Row, rtts: Sequence[float]) -> Iterable[Cell]:
    of = _numbers(s, r)
    fills = any(cell.text.startswith("≥") for cell in r.cells)
    for ms in rtts:
        ns = _predicted(of, ms * 1e6)
        if ns is None:
            yield Cell("n/a", None, None)
        else:
            mark = "≥" if fills and ms * 1e6 > of.get("rtt", 0) else ""
            yield Cell(f"{mark}{show.time(ns)}", ns, None)


def over(s: Section, rtts: Sequence[float]) -> Section:
    """The same table for these round-trip times in ms; any other table as it is."""
    old = [i for i, c in enumerate(s.columns) if c.name.startswith(_AT)]
    if not rtts or not old or s.key not in ("round-trips", "session-round-trips"):
        return s
    first, last = old[0], old[-1] + 1
    heads = tuple(Column(f"{_AT}{ms:g}ms", f"at {ms:g}ms", "ns") for ms in rtts)

    def row(r: Row) -> Row:
        if r.text is not None:
            return r
        return replace(r, cells=(*r.cells[:first], *_cells(s, r, rtts), *r.cells[last:]))

    columns = (*s.columns[:first], *heads, *s.columns[last:])
    return replace(s, columns=columns, rows=tuple(map(row, s.rows)))
