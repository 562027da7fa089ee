# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the server's time went, ever finer from left to right: AFP command, part of its time,
system call; of one run, or the difference of two sides. Markup, and the same numbers as a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .. import show
from ..tables.counts import OWN_CODE
from ..tables.digest import CommandView
from ..words import Words
from .painter import Numbers

_DRAWN = 0.004  # of all time: what is smaller is drawn together
_LABELLED = 0.028  # of all time: so high that a line of text fits
_TWO_LINES = 0.042  # of all time: the same of two, where the picture is narrow and higher
_LISTED = 0.002  # of all time: rows of the table
Spent = dict[tuple[str, str, str], float]  # ns by command, part and call


@dataclass(frozen=True)
class Cell:
    """`high`: of the whole, in percent; `name` is empty for what is drawn together; `label`: the
    part of the text that fits; `title`: all that the cell says; `tint`: of a difference, how much
    of the largest, in percent."""

    high: float
    name: str
    label: str
    title: str
    colour: str
    tint: float
    inner: tuple[Cell, ...]

    @property
    def folds(self) -> bool:
        """Whether its label may take two lines."""
        return self.high >= 100 * _TWO_LINES


@dataclass(frozen=True)
class Icicle:
    caption: str
    cells: tuple[Cell, ...]
    numbers: Numbers


def spent(commands: Iterable[CommandView], server: str) -> Spent:
    """Of the process that answers, which is recorded as `server`."""
    out: Spent = defaultdict(float)
    for c in commands:
        for (role, class_, object_), times in c.spent.items():
            call = class_ if object_ == "-" else f"{class_} · {object_}"
            for part, ns in times.items() if role == server else ():
                out[c.name, part, "" if part == class_ else call] += ns
    return {key: ns for key, ns in out.items() if ns}


class _Maker:
    """`b`: the other side, of a difference; heights are then those of the longer side."""

    def __init__(self, a: Spent, b: Spent | None, w: Words) -> None:
        self._a, self._b, self._w = a, b, w
        self._sums: list[dict[tuple[str, ...], float]] = [self._added(a), self._added(b or {})]
        self._total = self._sums[0].get((), 0.0)
        self._high: dict[tuple[str, ...], float] = {}
        self._measure()
        inner = [abs(self.change(key)) for key in self._high if key]
        self._most = max(inner, default=0.0) or 1.0

    @staticmethod
    def _added(of: Spent) -> dict[tuple[str, ...], float]:
        out: dict[tuple[str, ...], float] = defaultdict(float)
        for key, ns in of.items():
            for n in range(4):
                out[key[:n]] += ns
        return out

    def _measure(self) -> None:
        """Each leaf is as high as its longer side, all others as what is in them."""
        for key in {*self._a, *(self._b or {})}:
            ns = max(self._sums[0][key], self._sums[1][key])
            for n in range(4):
                self._high[key[:n]] = self._high.get(key[:n], 0.0) + ns

    def change(self, key: tuple[str, ...]) -> float:
        return self._sums[1].get(key, 0.0) - self._sums[0].get(key, 0.0)

    def _name(self, key: tuple[str, ...]) -> str:
        if len(key) == 2:
            return self._w[f"p_{key[1]}"]
        return self._w["p_user"] if key[2:] == (OWN_CODE,) else key[-1]

    def _said(self, key: tuple[str, ...], digits: int = 1) -> str:
        """The figure, unless both sides have as much."""
        said = self._figure(key, digits)
        return "" if self._b is not None and not said.strip("+-0.%") else said

    def _figure(self, key: tuple[str, ...], digits: int = 1) -> str:
        """Of all time; of a difference by how much of it the second side has more."""
        if not self._total:
            return ""
        if self._b is None:
            return f"{self._sums[0][key] / self._total:.{digits}%}"
        from ..judge import versus  # and scipy, which the page of a run does not need

        return show.told(versus.signed(self.change(key) / self._total))

    def _times(self, key: tuple[str, ...]) -> tuple[str, ...]:
        sides = self._sums[:1] if self._b is None else self._sums
        return tuple(show.time(side.get(key, 0.0)) for side in sides)

    def _below(self, key: tuple[str, ...]) -> list[tuple[str, ...]]:
        depth = len(key)
        inner = {k for k in self._high if len(k) == depth + 1 and k[:depth] == key and k[-1]}
        return sorted(inner, key=lambda k: (-self._high[k], k))

    def cells(self, key: tuple[str, ...] = ()) -> Iterator[Cell]:
        left, whole = 0.0, self._high[()]
        for k in self._below(key):
            high = self._high[k] / whole
            if high < _DRAWN:
                left += high
                continue
            name, said = self._name(k), self._said(k)
            whose = ", ".join(self._name(k[:n]) for n in range(1, len(k) + 1))
            yield Cell(
                100 * high,
                name,
                f"{self._said(k, 0)} {name}".lstrip() if high >= _LABELLED else "",
                f"{whose}: {', '.join(self._times(k))}" + (f" ({said})" if said else ""),
                k[1] if len(k) > 1 else "",
                100 * self.change(k) / self._most if self._b is not None else 0.0,
                tuple(self.cells(k)),
            )
        if left:
            yield Cell(100 * left, "", "", "", "", 0.0, ())

    def rows(self) -> Iterator[tuple[str, ...]]:
        for key in sorted({*self._a, *(self._b or {})}, key=lambda k: (-self._worth(k), k)):
            yield key[0], self._name(key[:2]), self._name(key), *self._times(key), self._figure(key)

    def _worth(self, key: tuple[str, ...]) -> float:
        return abs(self.change(key)) if self._b is not None else self._high[key]

    def icicle(self, caption: str, heads: Sequence[str]) -> Icicle:
        listed = list(self.rows())
        least = _LISTED * self._total
        n = sum(self._worth(key) >= least for key in {*self._a, *(self._b or {})})
        head = (*(self._w[key] for key in ("command", "part", "call")), *heads)
        numbers = Numbers(head, tuple(listed[:n]), len(listed) - n, "rows_more", 3)
        return Icicle(caption, tuple(self.cells()), numbers)


def icicle(commands: Iterable[CommandView], server: str, w: Words) -> Icicle | None:
    """Of one run; None where the parts of its requests' time are not known."""
    a = spent(commands, server)
    if not a:
        return None
    return _Maker(a, None, w).icicle(w["icicle_note"], (w["time"], w["share_of_all"]))


def difference(
    a: Sequence[tuple[Sequence[CommandView], str]],
    b: Sequence[tuple[Sequence[CommandView], str]],
    w: Words,
) -> Icicle | None:
    """Of two sides, each some runs' commands and what the process that answers is recorded as:
    means of a run. Each request counts with its own side's time, and a command with as many
    requests on both sides, so that a recording of more work is not called slower."""
    sides = [_side(runs) for runs in (a, b)]
    both = [name for name in sides[0][1] if sides[0][1][name] and sides[1][1].get(name)]
    scaled: list[Spent] = []
    for times, n in sides:
        weight = {x: (sides[0][1][x] + sides[1][1][x]) / 2 / n[x] for x in both}
        scaled.append({k: ns * weight[k[0]] for k, ns in times.items() if k[0] in weight})
    if not all(scaled):
        return None
    from ..judge import versus

    whole = [sum(of.values()) for of in scaled]
    total = w.say("difference_total", a=show.time(whole[0]), b=show.time(whole[1]),
                  change=show.told(versus.signed(whole[1] / whole[0] - 1)))  # fmt: skip
    only = [
        text for name, side in zip("AB", sides, strict=True) for text in _only(name, side, both, w)
    ]
    said = " ".join((total, w["difference_note"], *only))
    return _Maker(scaled[0], scaled[1], w).icicle(said, ("A", "B", w["change"]))


def _only(
    name: str, side: tuple[Spent, dict[str, float]], both: Sequence[str], w: Words
) -> list[str]:
    """What is not drawn of a side, as the other had no such request."""
    times: dict[str, float] = defaultdict(float)
    for (command, *_), ns in side[0].items():
        times[command] += ns if command not in both else 0
    names = sorted((x for x in times if times[x]), key=lambda x: -times[x])
    if not names:
        return []
    time = show.time(sum(times.values()))
    return [w.say("difference_only", side=name, names=", ".join(names), time=time)]


def _side(runs: Sequence[tuple[Sequence[CommandView], str]]) -> tuple[Spent, dict[str, float]]:
    """ns, and requests of each command: means of a run."""
    times: Spent = defaultdict(float)
    n: dict[str, float] = defaultdict(float)
    for commands, server in runs:
        for key, ns in spent(commands, server).items():
            times[key] += ns / len(runs)
        for c in commands:
            n[c.name] += c.served / len(runs)
    return dict(times), dict(n)
