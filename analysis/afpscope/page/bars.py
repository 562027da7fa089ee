# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacked bars of the page: markup, so that they can be read, copied, printed and turned dark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .. import show
from ..tables.digest import INSIDE, PARTS, CommandView
from ..words import Words
from .colours import ALIKE

ROWS = 16
_LABELLED = 0.08  # of the longest bar: a segment with room for its share


@dataclass(frozen=True)
class Segment:
    """`width`: in percent of the longest bar; `label`: its share of its own bar, where there is
    room."""

    colour: str
    name: str
    width: float
    label: str
    time: str


@dataclass(frozen=True)
class Bar:
    name: str
    of: str
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class Bars:
    """`legend`: colour and name of each part; `rows`: the longest first, servers in their order;
    `numbers`: each part of each row as text, in the order of the legend."""

    caption: str
    legend: tuple[tuple[str, str], ...]
    rows: tuple[Bar, ...]
    numbers: tuple[tuple[str, tuple[str, ...]], ...]


def _bar(name: str, of: str, parts: dict[str, float], names: dict[str, str], longest: float) -> Bar:
    total = sum(parts.values())
    return Bar(
        name,
        of,
        tuple(
            Segment(
                ALIKE.get(key, key),
                names[key],
                100 * ns / longest,
                f"{ns / total:.0%}" if ns >= _LABELLED * longest else "",
                show.time(ns),
            )
            for key, ns in parts.items()
            if ns
        ),
    )


def _bars(
    commands: Sequence[CommandView],
    spent: str,
    keys: Sequence[str],
    prefix: str,
    of_ns: int | None,
    caption: str,
    w: Words,
    servers: bool = False,
) -> Bars | None:
    """The total of each command, divided into `keys` of its `spent`; beside a bar its share of
    `of_ns`, where that is known, the number of requests and the mean time of one. `servers`: each
    is one mean action of a server."""
    rows = []
    for c in commands:
        parts = {key: float(getattr(c, spent).get(key, 0)) for key in keys}
        total = sum(parts.values())
        if total > 0 and c.served:
            share = f"{total / of_ns:.0%} = " if of_ns else ""
            mean = show.time(total / c.served)
            of = mean if servers else f"{share}{c.served:,} × {mean}"
            rows.append((total, c.name, of, parts))
    if not rows:
        return None
    longest = max(row[0] for row in rows)
    rows = rows if servers else sorted(rows, key=lambda row: -row[0])[:ROWS]
    shown = [key for key in keys if any(parts[key] for *_, parts in rows)]
    names = {key: w[f"{prefix}_{key}"] for key in keys}
    return Bars(
        caption,
        tuple((ALIKE.get(key, key), names[key]) for key in shown),
        tuple(_bar(name, of, parts, names, longest) for _, name, of, parts in rows),
        tuple((name, tuple(show.time(parts[key]) for key in shown)) for _, name, _, parts in rows),
    )


def where(commands: Sequence[CommandView], served_ns: int, caption: str, w: Words) -> Bars | None:
    """The server's time for each command, by what it was spent on."""
    return _bars(commands, "times", PARTS, "p", served_ns, caption, w)


def inside(commands: Sequence[CommandView], caption: str, w: Words) -> Bars | None:
    """What the helper did meanwhile; None if no command waited for it."""
    return _bars(commands, "inside", INSIDE, "i", None, caption, w)


def of_servers(means: Sequence[CommandView], caption: str, w: Words) -> Bars | None:
    """The time of each server for one mean action, by what it was spent on."""
    return _bars(means, "times", PARTS, "p", None, caption, w, servers=True)
