# SPDX-License-Identifier: GPL-2.0-or-later
"""How often compare, gate and ab say something that is wrong, and what they find, on made-up runs.

Runs go through the code that judges saved ones. The time of a row is a server's, times the effect
of its start, of the run, of the hour and of the iteration; all but the first are chance.

simulate.py [TIMES [PROCESSES]]    the table, each cell of it from TIMES comparisons (2000)
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "analysis"))
from afpscope import ab, compare, gate
from afpscope.errors import Failure
from afpscope.judge import stats
from afpscope.saved import hist
from afpscope.saved.hist import Histogram
from afpscope.saved.model import Command, Phase
from afpscope.saved.run import START, Run

OPS = 2000
NOISE = 0.01  # of an iteration
BITS = 6
GATE = 0.05  # --time of the gate


@dataclass(frozen=True)
class Case:
    """What is compared. Shares: 0.03 is 3 %; `change`: B against A, in every row."""

    name: str
    how: str  # ab, ab --restart, or in-order: all of A, then all of B
    runs: int  # on each side
    spread: float = 0.0
    start: float = 0.0
    drift: float = 0.0  # from the first run to the last
    change: float = 0.0
    least: float = compare.LEAST
    tests: int = 3
    commands: int = 2  # of each test
    iterations: int = 1

    @property
    def rows(self) -> int:
        """A test's time; of each command the mean and p99."""
        return self.tests * (1 + 2 * self.commands)


def _command(name: str, ns: float) -> Command:
    """Requests whose middle half takes so long, and a hundredth three times that."""
    found: Counter[int] = Counter()
    for value, n in ((ns, OPS - OPS // 40), (3 * ns, OPS // 40)):
        found[hist.index_of(round(value), BITS)] += n
    total = round(ns * (OPS - OPS // 40) + 3 * ns * (OPS // 40))
    return Command(1, name, OPS, 0, total, {}, Histogram(BITS, tuple(sorted(found.items()))))


def _phase(test: int, iteration: int, times: Sequence[float]) -> Phase:
    """The first of `times` is that of what is in no command."""
    commands = tuple(_command(f"FP{i}", ns) for i, ns in enumerate(times[1:]))
    elapsed = round(times[0] * OPS) + sum(c.sum_ns for c in commands)
    metrics: dict[str, int | None] = {"ops": OPS * len(times), "elapsed": elapsed}
    return Phase(
        test, iteration, f"test {test}", 0, True, metrics, commands, None, None, None, None
    )


_EMPTY = Run(
    Path("run.json"), None, "", "", "lantest", "simulated", "", True, {}, {}, {}, {}, {},
    (), (), (), (), (),
)  # fmt: skip


def _sides(case: Case) -> list[str]:
    if case.how == "in-order":
        return ["a"] * case.runs + ["b"] * case.runs
    return [side for _, side in ab.order(case.runs)]


def runs(case: Case, rng: np.random.Generator) -> tuple[list[Run], list[Run]]:
    """The runs of A and of B."""
    shape = (case.tests, 1 + case.commands)
    base = 1e5 * np.exp(rng.normal(0, 0.5, shape))
    first = {side: rng.normal(0, case.start, shape) for side in "ab"}
    out: dict[str, list[Run]] = {"a": [], "b": []}
    order = _sides(case)
    for i, side in enumerate(order):
        began = f"{i}" if "--restart" in case.how else side
        start = rng.normal(0, case.start, shape) if "--restart" in case.how else first[side]
        # Half of a run's luck is in all its rows alike.
        luck = rng.normal(0, case.spread / math.sqrt(2)) + rng.normal(
            0, case.spread / math.sqrt(2), shape
        )
        slow = math.log1p(case.drift) * i / max(1, len(order) - 1)
        change = math.log1p(case.change) if side == "b" else 0.0
        ns = base * np.exp(start + luck + slow + change)
        phases = [
            _phase(test + 1, k + 1, ns[test] * np.exp(rng.normal(0, NOISE, shape[1])))
            for k in range(case.iterations)
            for test in range(case.tests)
        ]
        started = f"2026-01-01T{i // 60:02}:{i % 60:02}:00Z"
        made = replace(_EMPTY, id=f"{i}", started=started, server={START: began})
        out[side].append(replace(made, phases=tuple(phases)))
    return out["a"], out["b"]


@dataclass(frozen=True)
class Told:
    """What was said of one comparison: rows by verdict, and the gate's finding."""

    rows: Counter[str]
    gated: bool


def one(case: Case, seed: int) -> Told:
    a, b = runs(case, np.random.default_rng(seed))
    rows = Counter(row.verdict for row in compare.judge(a, b, case.least).rows)
    try:
        found = gate.judge_times(a, b, GATE).findings
    except Failure:  # not made in turn: refused
        found = []
    return Told(rows, bool(found))


@dataclass(frozen=True)
class Outcome:
    """Shares of all comparisons, but `power` of all rows."""

    any_verdict: float
    any_same: float
    gated: float
    power: float
    unclear: float


def outcome(case: Case, times: int, seed: int = 0) -> Outcome:
    verdict = same = gated = unclear = found = rows = 0
    for i in range(times):
        told = one(case, seed + i)
        hits = told.rows[stats.SLOWER] + told.rows[stats.FASTER]
        verdict += hits > 0
        same += told.rows[stats.SAME] > 0
        unclear += told.rows[stats.UNCLEAR] > 0
        gated += told.gated
        found += told.rows[stats.SLOWER]
        rows += told.rows.total()
    return Outcome(verdict / times, same / times, gated / times, found / rows, unclear / times)


SPREADS = (0.0, 0.01, 0.03, 0.10)
# Of few runs the verdict on many rows is always that they are too few.
SIZES = ((1, 1), (2, 1), (5, 1), (10, 1), (10, 3))  # runs a side, tests; of one test its time alone


def _shape(tests: int) -> dict[str, Any]:
    """Of one test its time alone, of two iterations."""
    return {"tests": tests, "commands": 2 if tests > 1 else 0, "iterations": 1 + (tests == 1)}


def false_alarms() -> list[Case]:
    """Nothing differs but chance: every verdict is wrong. No margin hides it."""
    cases = []
    for how in ("in-order", "ab", "ab --restart"):
        for n, tests in SIZES if how != "in-order" else SIZES[:-1]:
            of = Case("", how, n, least=0.0, **_shape(tests))
            cases += [replace(of, name="spread", spread=s) for s in SPREADS]
            cases += [replace(of, name="start effect", spread=s, start=0.03) for s in (0.0, 0.01)]
            cases += [replace(of, name="drift", spread=0.01, drift=d) for d in (0.05, 0.20)]
    return cases


def at_the_margin() -> list[Case]:
    """All rows differ by just what is no difference, which is also too much for "same"."""
    of = Case("change 2%, --least 2%", "ab --restart", 10, change=0.02, least=0.02)
    return [replace(of, spread=s, **_shape(tests)) for s in SPREADS for tests in (1, 3)]


def changes() -> list[Case]:
    """Something differs: what is found of it."""
    return [
        Case(f"change {by:.0%}, --least {least:.0%}", "ab --restart", 10, s, change=by,
             least=least, **_shape(tests))
        for by, least in ((0.05, 0.0), (0.05, 0.02), (0.10, 0.02))
        for s in SPREADS
        for tests in (1, 3)
    ]  # fmt: skip


def _row(work: tuple[Case, int]) -> str:
    case, times = work
    got = outcome(case, times)
    cells = (got.any_verdict, got.any_same, got.gated, got.unclear, got.power)
    what = f"{case.name:27} {case.how:13} {case.runs:3} {case.rows:4}"
    what += f" {case.spread:6.0%} {case.drift:6.0%}"
    return what + "".join(f" {share:9.2%}" for share in cells)


def main(times: int = 2000, processes: int = 2) -> None:
    print(
        f"Of {times:,} comparisons: with any verdict "
        f"faster or slower, with any “same”, failed by gate --time {GATE:.0%}, with any "
        "“cause unclear”; and of all rows those found slower.\n"
    )
    head = ("verdict", "same", "gate", "unclear", "rows")
    print(
        f"{'what':27} {'how':13} {'n':>3} rows {'spread':>6} {'drift':>6}"
        + "".join(f" {h:>9}" for h in head)
    )
    with ProcessPoolExecutor(processes) as pool:
        cases = [*false_alarms(), *at_the_margin(), *changes()]
        for line in pool.map(_row, [(case, times) for case in cases]):
            print(line, flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
