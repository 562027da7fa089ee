# SPDX-License-Identifier: GPL-2.0-or-later
"""How often a history errs, on made-up series whose changes are known: simulate.py history."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parents[2] / "analysis"))
from afpscope.judge import changes, shapes
from afpscope.judge.changes import Change

Array = npt.NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], Array]


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def normal(rng: np.random.Generator, n: int) -> Array:
    return rng.normal(0, 1, n)


def heavy(rng: np.random.Generator, n: int) -> Array:
    """One run in ten is disturbed, by several times the noise."""
    return rng.normal(0, 1, n) + (rng.random(n) < 0.1) * rng.exponential(5, n)


def rounded(rng: np.random.Generator, n: int) -> Array:
    """Few different values."""
    return np.round(rng.normal(0, 1, n))


def neighbours(share: float) -> Noise:
    """Each value has a share of the one before."""

    def make(rng: np.random.Generator, n: int) -> Array:
        own = rng.normal(0, 1, n)
        out = own.copy()
        for i in range(1, n):
            out[i] = share * out[i - 1] + np.sqrt(1 - share**2) * own[i]
        return out

    return make


def spells(rng: np.random.Generator, n: int) -> Array:
    """Now and then some runs in a row are slow: the machine had other work."""
    out = rng.normal(0, 1, n)
    at = int(rng.exponential(30))
    while at < n:
        out[at : at + int(rng.integers(1, 5))] += rng.exponential(4)
        at += 5 + int(rng.exponential(30))
    return out


NOISES: dict[str, Noise] = {
    "normal": normal,
    "a tenth of the runs disturbed": heavy,
    "few different values": rounded,
    "neighbours correlate by 0.3": neighbours(0.3),
    "neighbours correlate by 0.6": neighbours(0.6),
    "spells of up to four slow runs": spells,
}


@dataclass(frozen=True)
class Way:
    """From share `first` of a history to share `last`, the level rises evenly by `by` deviations of
    the noise; a step if these are the same."""

    first: float
    last: float
    by: float

    def of(self, n: int) -> Array:
        at = np.arange(n)
        if self.is_step:
            return self.by * (at >= round(self.first * n))
        from_, to = self.first * (n - 1), self.last * (n - 1)
        return self.by * np.clip((at - from_) / (to - from_), 0, 1)

    @property
    def is_step(self) -> bool:
        return self.first == self.last

    def matches(self, change: Change, n: int) -> bool:
        """Whether the change is this one, give or take five runs."""
        return change.low - 5 <= round(self.last * n) and round(self.first * n) - 5 <= change.high


@dataclass(frozen=True)
class Case:
    """A history of `rows` series of `runs` runs, the first of which changes by these ways. A run
    has noise of 3 % of its value."""

    name: str
    ways: tuple[Way, ...]
    noise: str
    runs: int
    rows: int = 20
    spike: float = 0.0  # of one run in the first series, in deviations

    def series(self, rng: np.random.Generator) -> list[Array]:
        rows = [NOISES[self.noise](rng, self.runs) for _ in range(self.rows)]
        for way in self.ways:
            rows[0] = rows[0] + way.of(self.runs)
        if self.spike:
            rows[0][int(rng.integers(self.runs))] += self.spike
        return [np.exp(0.03 * row) for row in rows]


def _step(by: float, at: float = 0.5) -> tuple[Way, ...]:
    return (Way(at, at, by),)


def _drift(by: float, first: float = 0.0, last: float = 1.0) -> tuple[Way, ...]:
    return (Way(first, last, by),)


HEAVY, NEAR, FAR = (list(NOISES)[i] for i in (1, 3, 4))
QUIET = [Case("none", (), noise, 100, rows) for noise in NOISES for rows in (1, 20)]
QUIET += [Case("one run off by 30", (), "normal", n, spike=30) for n in (30, 100)]
CHANGED = [
    Case("step of 2", _step(2), "normal", 100), Case("step of 1", _step(1), "normal", 100),
    Case("step of 3, at nine tenths", _step(3, 0.9), "normal", 100),
    Case("step of 3", _step(3), "normal", 30), Case("step of 8", _step(8), "normal", 30),
    Case("step of 3", _step(3), HEAVY, 100), Case("step of 3", _step(3), NEAR, 100),
    Case("step of 3", _step(3), FAR, 100), Case("step of 2", _step(2), "normal", 300),
    Case("step of 3", _step(3), "normal", 12, 1),
    Case("drift of 2", _drift(2), "normal", 100, 1), Case("drift of 2", _drift(2), "normal", 100),
    Case("drift of 4", _drift(4), "normal", 100), Case("drift of 8", _drift(8), "normal", 30),
    Case("drift of 4", _drift(4), HEAVY, 100), Case("drift of 4", _drift(4), NEAR, 100),
    Case("drift of 4", _drift(4), FAR, 100), Case("drift of 2", _drift(2), "normal", 300),
    Case("drift of 4 in the last half", _drift(4, 0.5), "normal", 100),
    Case("drift of 4 in the middle third", _drift(4, 0.33, 0.67), "normal", 100),
    Case("two steps of 3", (*_step(3, 0.33), *_step(3, 0.67)), "normal", 100),
    Case("two steps of 1.5", (*_step(1.5, 0.33), *_step(1.5, 0.67)), "normal", 100),
    Case("step of 3 and back", (*_step(3, 0.33), *_step(-3, 0.67)), "normal", 100),
    Case("drift of 4 and a step back", (*_drift(4, 0, 0.6), *_step(-4, 0.6)), "normal", 100),
    Case("step of 4, then a drift of 4", (*_step(4, 0.3), *_drift(4, 0.5)), "normal", 100),
]  # fmt: skip


@dataclass(frozen=True)
class Rates:
    """Shares of the histories: with a change that is none. Shares of the changes: found; of these,
    called the other kind; called neither; with their places within what is said, where it is no
    drift."""

    false: float
    found: float
    mistaken: float
    unclear: float
    within: float


_KIND = {True: shapes.STEP, False: shapes.DRIFT}


def rates(case: Case, times: int, seed: int = 1) -> Rates:
    rng = generator(seed)
    n = case.runs
    false = found = mistaken = unclear = within = told = 0
    for _ in range(times):
        wrong = False
        for row, values in enumerate(case.series(rng)):
            got = changes.change_points(values, case.rows)
            ways = case.ways if not row else ()
            wrong = wrong or any(not any(w.matches(c, n) for w in ways) for c in got)
            for way in ways:
                of = [c for c in got if way.matches(c, n)]
                found += bool(of)
                right = {_KIND[w.is_step] for w in ways if _both(w, way, n)}
                kinds = {c.kind for c in of} - right
                mistaken += bool(kinds - {shapes.UNCLEAR})
                unclear += kinds == {shapes.UNCLEAR}
                placed = [c for c in of if way.is_step and c.kind != shapes.DRIFT]
                told += bool(placed)
                within += any(c.low <= round(way.first * n) <= c.high for c in placed)
        false += wrong
    every, seen = max(1, times * len(case.ways)), max(1, found)
    within_share = within / told if told else math.nan
    return Rates(false / times, found / every, mistaken / seen, unclear / seen, within_share)


def _both(one: Way, other: Way, n: int) -> bool:
    """Whether a change may be either: they follow each other closely, or are the same."""
    near = abs(one.first - other.last) * n <= 5 or abs(other.first - one.last) * n <= 5
    return near or one is other


def _row(work: tuple[Case, int]) -> list[str]:
    case, times = work
    got = rates(case, times)
    key = [case.name, case.noise, str(case.runs), str(case.rows)]
    shares = (got.found, got.mistaken, got.unclear, got.within) if case.ways else ()
    told = ["" if math.isnan(x) else f"{x:.1%}" for x in shares]
    return [*key, f"{got.false:.1%}", *(told or [""] * 4)]


def history(table: Callable[..., Any]) -> Any:
    """The table of histories, of simulate.py's class."""
    return table(
        ("Change, in deviations", "Noise", "Runs", "Rows", "False", "Found", "Wrong kind",
         "Kind not told", "Place within"), [*QUIET, *CHANGED], _row, 1000, 4)  # fmt: skip
