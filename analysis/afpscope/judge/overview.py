# SPDX-License-Identifier: GPL-2.0-or-later
"""The outcome of `versus` in few rows: each server beside the first one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import show
from ..urls import scheme
from . import stats
from .sides import ENCRYPTED, Fact, Figure, Outcome, Side
from .versus import TimeRow

# Facts that only say where something lies.
_PLACES = {"settings", "program"}
# What stands behind a value in place of a factor.
SAME, NOT_SHOWN, UNCLEAR = "same", "?", "unclear"


@dataclass(frozen=True)
class Cell:
    """A server's median; `against`: how many times the first server's it is, in words; empty: of
    the first server, or where the two have no row in common."""

    value: str
    against: str = ""

    @property
    def text(self) -> str:
        return f"{self.value} ({self.against})" if self.against else self.value


@dataclass(frozen=True)
class OverviewRow:
    """A figure of the first load: the p50 of an action, or a cost of its mean action."""

    what: str
    cells: tuple[Cell, ...]


def factor(change: float) -> str:
    """0.5 -> "1.5×", 0.04 -> "1.04×"."""
    times = 1 + change
    return f"{times:.{2 if times < 1.5 else 1 if times < 10 else 0}f}×"


def _against(row: TimeRow | None) -> str:
    if not row or row.result.change is None:
        return ""
    if row.verdict in (*stats.BAD, *stats.GOOD):
        return factor(row.result.change)
    if row.verdict == stats.UNCLEAR:
        return f"{factor(row.result.change)}, {UNCLEAR}"
    return SAME if row.verdict == stats.SAME else NOT_SHOWN


def _rows(o: Outcome, side: Side) -> dict[tuple[str, str], TimeRow]:
    """Its verdicts beside the first server, by load and figure."""
    pair = next((p for p in o.pairs if p.a is o.sides[0] and p.b is side and not p.same), None)
    return {(r.test, f"{r.command} {r.figure}".strip()): r for r in (pair.rows if pair else ())}


def rows(o: Outcome) -> list[OverviewRow]:
    """Of the first load: how long each action took, then what the mean action cost."""
    first = o.works[0]
    wanted = [
        f for f in (*o.times, *o.costs) if f.work == first and not f.what.endswith(" p95")
    ]  # fmt: skip
    verdicts = [_rows(o, side) for side in o.sides]

    def cells(f: Figure) -> tuple[Cell, ...]:
        return tuple(
            Cell(show.measured(v.value, v.unit), _against(by.get((f.work, f.what))))
            for v, by in zip(f.values, verdicts, strict=True)
        )

    return [OverviewRow(f.what, cells(f)) for f in wanted]


def note(o: Outcome) -> str:
    """What stands in parentheses."""
    return (
        f"In parentheses: how many times that of {o.sides[0].name}, where a difference was shown. "
        f"{SAME}: within {o.least * 100:g} %. {UNCLEAR}: it differs, but whether the server is the "
        f"cause cannot be told. {NOT_SHOWN}: no difference was shown, or it cannot be told."
    )


def _protocol(side: Side) -> str:
    """Servers of one protocol can have the same settings."""
    return scheme(side.url)


def telling(o: Outcome) -> list[Fact]:
    """Of what is not equal: without what only servers of some protocols can have, if all servers of
    a protocol have the same."""
    protocols = [_protocol(side) for side in o.sides]

    def tells(fact: Fact) -> bool:
        if fact.what in _PLACES:
            return False
        if fact.what == ENCRYPTED and set(fact.values) - {"no", "n/a"}:
            return True
        by: dict[str, set[str]] = {}
        for protocol, text in zip(protocols, fact.values, strict=True):
            by.setdefault(protocol, set()).add(text)
        one = all(len(texts) == 1 for texts in by.values())
        return not one or not any("n/a" in texts for texts in by.values())

    return [fact for fact in o.unequal if tells(fact)]


def sentence(o: Outcome, fact: Fact) -> str:
    """ "server: Netatalk 4.5.1 (dbd, sqlite); Samba 4.22 (smb)"."""
    by: dict[str, list[str]] = {}
    for side, text in zip(o.sides, fact.values, strict=True):
        by.setdefault(text, []).append(side.name)
    those = sorted(by.items(), key=lambda item: item[0] == "n/a")  # last
    return f"{fact.what}: " + "; ".join(f"{text} ({', '.join(of)})" for text, of in those)


def as_json(o: Outcome) -> dict[str, Any]:
    names = [side.name for side in o.sides]
    return {
        "note": note(o),
        "rows": [
            {"what": row.what, "sides": dict(zip(names, (c.text for c in row.cells), strict=True))}
            for row in rows(o)
        ],
        "unequal": [fact.what for fact in telling(o)],
    }


def blocks(first: int, widths: Sequence[int], most: int) -> list[list[int]]:
    """Which columns stand beside each other in a table of at most `most` characters; the first one
    is in each. `first`: width of the heads of rows; `widths`: of the columns, in characters."""
    start = first + 2 + widths[0]
    out, used = [[0]], start
    for i, width in enumerate(widths[1:], 1):
        used += 2 + width
        if used > most and len(out[-1]) > 1:
            out.append([0])
            used = start + 2 + width
        out[-1].append(i)
    return out
