# SPDX-License-Identifier: GPL-2.0-or-later
"""Text output: times, tables, notices. No colours, independent of the terminal's width."""

from __future__ import annotations

import contextlib
import re
import sys
import time as clock
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import TypeVar

from .errors import OK, UNTRUSTED
from .typed import typed

T = TypeVar("T")
PROGRESS_S = 2.0  # what takes longer says how far it is, as often
# Ranges of characters that a terminal or a page would interpret instead of showing: control
# characters, those that change the direction of a line or are invisible, surrogates. The same as
# in user/base/text.c.
_UNSEEN = (
    (0x0, 0x1F), (0x7F, 0x9F), (0x61C, 0x61C), (0x200E, 0x200F), (0x2028, 0x202E),
    (0x2060, 0x206F), (0xD800, 0xDFFF), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0xE0000, 0xE007F),
)  # fmt: skip
_INSTEAD = "\N{REPLACEMENT CHARACTER}"
_PLAIN = {code: _INSTEAD for first, last in _UNSEEN for code in range(first, last + 1)}
_ASKED = dict.fromkeys(_PLAIN, "?")
_PAGE = {code: text for code, text in _PLAIN.items() if chr(code) not in "\t\n"}
# The same for a library with RE2's regular expressions and without surrogates.
UNSEEN_RE2 = "[{}]".format("".join(f"\\x{{{a:x}}}-\\x{{{b:x}}}" for a, b in _UNSEEN if a != 0xD800))

_JOINED = re.compile(r"(?<![\w.,=/-])(\d[\d,.]*)(ns|[µu]s|ms|s|[kKMGT]?i?B(?:/s)?)(?!\w)")
_FRACTION = re.compile(r"\.\d+Z$")
_PERCENT = re.compile(r"(\d) %(?!\w)")


def plain(text: str) -> str:
    """A line with U+FFFD in place of characters that would be interpreted instead of shown."""
    return text.translate(_PLAIN)


def second(started: str) -> str:
    """The wall clock of a run, to the second: 2026-11-21T17:22:05.123Z is shown without .123."""
    return _FRACTION.sub("Z", started)


def asked(raw: bytes) -> str:
    """A name as the C program shows it: up to a 0, with ? for each byte that is no UTF-8 and each
    character that would be interpreted (user/base/text.c)."""
    return raw.partition(b"\0")[0].decode("utf-8", "surrogateescape").translate(_ASKED)


def page(text: str) -> str:
    """The same for a text of several lines."""
    return text.translate(_PAGE)


def notice(text: str) -> None:
    """A message on standard error, with commands as they are to be typed here. Nothing if that
    cannot be written."""
    with contextlib.suppress(OSError):
        print(f"afpscope: {plain(typed(text))}", file=sys.stderr)


def progress(command: str, what: str, of: Iterable[T], records: int | None = None) -> Iterator[T]:
    """These one by one; says how many are done where that takes long. `records`: so many are in
    all of them, which are counted."""
    said = clock.monotonic()
    done, total = 0, len(of) if isinstance(of, Sized) else records or 0
    for one in of:
        if clock.monotonic() - said >= PROGRESS_S:
            said = clock.monotonic()
            notice(f"{command}: {done:,} of {total:,} {what}")
        yield one
        done += len(one) if records is not None and isinstance(one, Sized) else 1


def doubts(command: str, texts: Iterable[str]) -> int:
    """Prints each; the exit code of a command that used such data."""
    told = list(texts)
    for text in told:
        notice(f"{command}: {text}")
    return UNTRUSTED if told else OK


def time(ns: float | None, at_least: bool = False) -> str:
    """Three digits and a unit; n/a where it was not measured; ">= 1.00 ms" where it is a bound."""
    if ns is None:
        return "n/a"
    if at_least:
        return f">= {time(ns)}"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= size:
            value = ns / size
            digits = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
            return f"{value:.{digits}f} {unit}"
    return f"{ns:.0f} ns"


def axis_time(ns: float) -> str:
    """A round time at an axis: no digits that say nothing."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:g} {unit}"
    return f"{ns:g} ns"


def told(text: str) -> str:
    """What the program itself wrote for a terminal, with its units as pages have them: "1.20ms" is
    "1.20 ms", "7us" is "7 µs", and "46 %" is "46%"."""
    apart = _JOINED.sub(lambda m: f"{m[1]} {m[2].replace('us', 'µs')}", text)
    return _PERCENT.sub(r"\1%", apart)


def number(value: float) -> str:
    """Four digits or more, with separated thousands; no power of ten."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def rate(per_s: float | None) -> str:
    """A second; - where there is none."""
    if per_s is None:
        return "-"
    return f"{per_s:,.0f}" if per_s >= 100 else f"{per_s:.3g}"


def count(n: float | None) -> str:
    """With separated thousands; a fraction only if it has one."""
    if n is None:
        return "n/a"
    return f"{n:,.0f}" if n == int(n) else f"{n:,.2f}"


def size(n: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if n < 1024:
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1024
    return f"{n:.1f} GiB"


def mega(units: str) -> tuple[float, str]:
    """The unit of rates by a run's option `units`: its size in bytes, and its name."""
    return (2.0**20, "MiB/s") if units == "binary" else (1e6, "MB/s")


def throughput(bytes_per_s: float, units: str) -> str:
    """As the screen of a transfer has it."""
    size_bytes, name = mega(units)
    value = bytes_per_s / size_bytes
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:,.{digits}f} {name}"


def measured(value: float | None, unit: str) -> str:
    """A value of a unit as metrics have them (user/run/run.h)."""
    if value is None or unit == "ns":
        return time(value)
    if unit == "B":
        return size(value)
    return count(value) if unit == "1" else f"{count(value)} {unit}"


def short(text: str, length: int = 44) -> str:
    """As much of a title as fits a column."""
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
