# SPDX-License-Identifier: GPL-2.0-or-later
"""How often the knee of a sweep is wrong, on made-up steps whose knee is known: for simulate.py."""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "analysis"))
from afpscope.limit import fit, knee, usl
from afpscope.limit.fit import At, Bend, Crossing, Fit
from afpscope.sweepcompare import KNEES

T = TypeVar("T")
VALUES = (1, 2, 5, 10, 20, 50, 100, 200)
RATES = (20, 40, 60, 80, 100, 120, 160, 200)
REFINE = 4


@dataclass(frozen=True)
class Law:
    """What a server does at a load; its knee. A limit is 1."""

    name: str
    rule: str
    at: Callable[[float], float]
    knee: float


def _power(clients: float, of: float) -> float:
    """At the limit of 1 with 30 clients."""
    return float((clients / 30) ** of)


def _up_to(load: float, most: float, each: float) -> float:
    return each * min(load, most)


def _queue(clients: float) -> float:
    """Waits of M/M/1, full at 40."""
    return 0.25 / (1 - min(clients / 40, 0.995))


LAWS = (
    Law("p99 grows as the clients", "slo", partial(_power, of=1.0), 30),
    Law("p99 as their root", "slo", partial(_power, of=0.5), 30),
    Law("p99 of a queue (M/M/1)", "slo", _queue, 30),
    Law("closed loop, to 10 clients", "growth", partial(_up_to, most=10.0, each=100.0), 10),
    Law("closed loop, to 37 clients", "growth", partial(_up_to, most=37.0, each=100.0), 37),
    Law("open loop, to 100/s", "rate", partial(_up_to, most=100.0, each=1.0), 100 / knee.KEPT_UP),
)


@dataclass(frozen=True)
class Case:
    """`noise`: of a step's figure, its logarithm; `repeat`: steps of each value."""

    law: Law
    noise: float
    repeat: int = 3


def made(case: Case, seed: int) -> Fit:
    """A sweep; with a limit it is refined as sweep does."""
    rng = np.random.default_rng(seed)
    steps: dict[float, list[float]] = defaultdict(list)

    def measure(value: float) -> None:
        steps[value].append(math.log(case.law.at(value)) + rng.normal(0, case.noise))

    for value in (RATES if case.law.rule == "rate" else VALUES) * case.repeat:
        measure(value)
    for i in range(REFINE if case.law.rule == "slo" else 0):
        judged = [(v, y <= 0) for v, ys in steps.items() for y in ys]
        value = knee.further(judged, REFINE - i, True)
        if value is None:
            break
        measure(value)
    of = tuple(At(math.log(v), tuple(steps[v])) for v in sorted(steps))
    if case.law.rule == "slo":
        return Crossing(of, 0.0)
    if case.law.rule == "rate":
        return Bend(of, 1.0, -math.log(knee.KEPT_UP))
    return Bend(of)


@dataclass(frozen=True)
class Found:
    """Shares of all sweeps with an interval; of pairs of equal servers."""

    none: float  # no interval
    inside: float  # it has the true knee
    off: float  # the estimate, as a share of the knee, in the middle
    wide: float  # the interval's ends by each other, in the middle; nan: open
    different: float  # pairs whose knees are said to differ


def found(case: Case, times: int, seed: int = 0) -> Found:
    truth = math.log(case.law.knee)
    fits = [made(case, seed + i) for i in range(times)]
    known = [(x, ends) for x in fits if x.at is not None and (ends := x.within())]
    lows = np.array([-np.inf if a is None else a for _, (a, _) in known])
    highs = np.array([np.inf if b is None else b for _, (_, b) in known])
    pairs = [fit.ratio(a, b, KNEES) for a, b in zip(fits[::2], fits[1::2], strict=True)]
    wrong = [x for x in pairs if x and ((x[0] or 0) > 0 or (x[1] or 0) < 0)]
    return Found(
        1 - len(known) / times,
        float(np.mean((lows <= truth + 1e-9) & (highs >= truth - 1e-9))) if known else math.nan,
        math.expm1(float(np.median([x.at or math.nan for x, _ in known])) - truth)
        if known
        else math.nan,
        math.exp(float(np.median(highs - lows))) if known else math.nan,
        len(wrong) / len(pairs),
    )


def cases() -> list[Case]:
    noises: dict[str, Sequence[float]] = {"slo": (0.02, 0.1, 0.4)}
    return [Case(law, noise) for law in LAWS for noise in noises.get(law.rule, (0.01, 0.1))]


def _row(work: tuple[Case, int]) -> list[str]:
    case, times = work
    is_ = found(case, times)
    return [case.law.name, f"{case.noise:.0%}", f"{case.repeat}", f"{is_.inside:.1%}",
            f"{is_.off:+.1%}", f"x {is_.wide:.2f}", f"{is_.different:.2%}"]  # fmt: skip


def knees(table: Callable[..., T]) -> T:
    """As a Table of simulate.py."""
    head = ("Server", "Noise of a step", "--repeat", "Inside", "Off", "Ends", "Differ")
    return table(head, cases(), _row, 400, 3)


# The scalability law


@dataclass(frozen=True)
class LawCase:
    """Rates of a closed loop that goes on to `hard` clients and no further, or obeys the law with
    this contention and coherency."""

    name: str
    noise: float
    hard: float = 0.0
    contention: float = 0.0
    coherency: float = 0.0
    repeat: int = 3

    @property
    def peak(self) -> float | None:
        """The clients of its highest rate, where that falls again."""
        return math.sqrt((1 - self.contention) / self.coherency) if self.coherency else None

    def at(self, n: float) -> float:
        if self.hard:
            return min(n, self.hard)
        return n / (1 + self.contention * (n - 1) + self.coherency * n * (n - 1))


def law_found(case: LawCase, times: int) -> tuple[float, float, float]:
    """Shares: sweeps of which a law is shown; a peak that there is not, or whose interval does not
    have it; of those shown, with the contention inside its interval (nan: there is none)."""
    shown = wrong = inside = 0
    for seed in range(times):
        rng = np.random.default_rng(seed)
        values = VALUES * case.repeat
        of = usl.fit(values, [100 * case.at(n) * math.exp(rng.normal(0, case.noise))
                              for n in values], seed)  # fmt: skip
        if isinstance(of, str):
            continue
        shown += 1
        inside += of.contention_within[0] <= case.contention <= of.contention_within[1]
        if of.peak_within:
            low, high = of.peak_within
            wrong += not (case.peak and low <= case.peak <= high)
    return shown / times, wrong / times, inside / shown if shown and not case.hard else math.nan


def law_cases() -> list[LawCase]:
    return [
        *(LawCase(f"a hard limit of {hard} clients", noise, hard)
          for hard in (10, 37) for noise in (0.01, 0.03, 0.1)),
        *(LawCase("contention 5 %, coherency 0.0002", noise, 0, 0.05, 0.0002)
          for noise in (0.01, 0.03, 0.1)),
        *(LawCase("contention 10 %, no coherency", noise, 0, 0.1) for noise in (0.01, 0.1)),
    ]  # fmt: skip


def _law_row(work: tuple[LawCase, int]) -> list[str]:
    case, times = work
    shown, wrong, inside = law_found(case, times)
    said = "n/a" if math.isnan(inside) else f"{inside:.1%}"
    return [case.name, f"{case.noise:.0%}", f"{shown:.1%}", f"{wrong:.1%}", said]


def laws(table: Callable[..., T]) -> T:
    """As a Table of simulate.py."""
    head = ("Server", "Noise of a step", "A law shown", "A false peak", "Contention inside")
    return table(head, law_cases(), _law_row, 60, 2)
