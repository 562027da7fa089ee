# SPDX-License-Identifier: GPL-2.0-or-later
"""Text for people: times, tables, notices. No colours, no width to know."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from .errors import OK, UNTRUSTED

# What a terminal would obey.
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), "\N{REPLACEMENT CHARACTER}")


def plain(text: str) -> str:
    """A line without control characters: U+FFFD stands for each."""
    return text.translate(_CONTROLS)


def notice(text: str) -> None:
    """Something the reader must know, on standard error."""
    print(f"afpscope: {plain(text)}", file=sys.stderr)


def doubts(command: str, texts: Iterable[str]) -> int:
    """Tells each; the exit code of a command that was done on such data."""
    told = list(texts)
    for text in told:
        notice(f"{command}: {text}")
    return UNTRUSTED if told else OK


def time(ns: float | None) -> str:
    """Three digits and a unit; n/a where it was not measured."""
    if ns is None:
        return "n/a"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= size:
            value = ns / size
            digits = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
            return f"{value:.{digits}f} {unit}"
    return f"{ns:.0f} ns"


def count(n: float | None) -> str:
    """With thousands apart; a fraction only where there is one."""
    if n is None:
        return "n/a"
    return f"{n:,.0f}" if n == int(n) else f"{n:,.2f}"


def size(n: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if n < 1024:
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1024
    return f"{n:.1f} GiB"


def short(text: str, length: int = 44) -> str:
    """So much of a title as a column has room for."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Columns in line; the first `left` to the left, the others to the right."""
    lines = [[plain(cell) for cell in line] for line in (head, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
