# SPDX-License-Identifier: GPL-2.0-or-later
"""How often what is concluded of runs is wrong, on made-up ones whose truth is known.

simulate.py [TABLE...] [--times N] [--only TEXT]    the tables of docs/analysis.md, as it has them

Tables: compare (and gate --time), tails, gate (counts), knees, laws, history, partly, used-up,
versus, replays (a recording beside its replays), far (times over a longer way), kept (whether a
server kept up with a replay).
Made-up runs go through the code that judges saved ones. The time of a row is a server's, times the
effect of its start, of the run, of the hour and of the iteration; all but the first are chance. Not
only kind chance: also a few very slow runs, runs that resemble those before them, a machine that
becomes slower, a coarse clock, other numbers of runs on each side, sides that vary differently, one
run that went wrong.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "analysis"))
from afpscope import compare, gate
from afpscope.errors import Failure
from afpscope.judge import design, stats, tails
from afpscope.limit import limits
from afpscope.limit.limits import Spent
from afpscope.measure import turns
from afpscope.saved import hist
from afpscope.saved.hist import Histogram
from afpscope.saved.model import Command, Phase
from afpscope.saved.run import START, Run
from simulate_gate import gates
from simulate_history import history
from simulate_kept import kept
from simulate_partly import partly
from simulate_sides import made
from simulate_sweeps import knees, laws

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
    chance: str = ""  # of CHANCES
    of_b: int = 0  # runs of B, where there are not as many as of A

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
    if case.how == "in-order" or case.of_b:
        return ["a"] * case.runs + ["b"] * (case.of_b or case.runs)
    return [side for _, side in turns.order(case.runs)]


HEAVY, ALIKE, COARSE, OUTLIER = "heavy tails", "alike", "coarse", "outlier"
OTHER = {"three": 3.0, "ten": 10.0}  # so many times as much do the runs of B vary


def _luck(
    case: Case, order: Sequence[str], shape: tuple[int, ...], rng: np.random.Generator
) -> list[np.typing.NDArray[np.float64]]:
    """Of each run, by row, as logarithms. Half of a run's luck is in all its rows alike."""
    half = case.spread / math.sqrt(2)
    out: list[np.typing.NDArray[np.float64]] = []
    for side in order:
        by = OTHER.get(case.chance, 1.0) if side == "b" else 1.0
        if case.chance == HEAVY:  # of Student with 2 degrees of freedom: no variance
            found = half * (rng.standard_t(2) + rng.standard_t(2, shape))
        else:
            found = by * half * (rng.normal() + rng.normal(size=shape))
        if case.chance == ALIKE and out:
            found = 0.8 * out[-1] + 0.6 * found
        out.append(found)
    if case.chance == OUTLIER:
        out[int(rng.integers(len(out)))] += math.log(3)
    return out


def runs(case: Case, rng: np.random.Generator) -> tuple[list[Run], list[Run]]:
    """The runs of A and of B."""
    shape = (case.tests, 1 + case.commands)
    base = 1e5 * np.exp(rng.normal(0, 0.5, shape))
    first = {side: rng.normal(0, case.start, shape) for side in "ab"}
    out: dict[str, list[Run]] = {"a": [], "b": []}
    order = _sides(case)
    lucks = _luck(case, order, shape, rng)
    for i, side in enumerate(order):
        began = f"{i}" if "--restart" in case.how else side
        start = rng.normal(0, case.start, shape) if "--restart" in case.how else first[side]
        slow = math.log1p(case.drift) * i / max(1, len(order) - 1)
        change = math.log1p(case.change) if side == "b" else 0.0
        ns = base * np.exp(start + lucks[i] + slow + change)
        if case.chance == COARSE:  # steps of about 5 %
            ns = np.exp(np.round(np.log(ns) / 0.05) * 0.05)
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


def changes() -> list[Case]:
    """Something differs: what is found of it."""
    return [
        Case(f"change {by:.0%}, --least {least:.0%}", "ab --restart", 10, s, change=by,
             least=least, **_shape(tests))
        for by, least in ((0.05, 0.0), (0.05, 0.02), (0.10, 0.02))
        for s in SPREADS
        for tests in (1, 3)
    ]  # fmt: skip


def unkind() -> list[Case]:
    """Nothing differs but chance that nobody chose kindly."""
    of = Case("", "ab --restart", 10, 0.03, least=0.0)
    return [
        *(replace(of, name="few runs", runs=n) for n in (2, 3, 5)),
        replace(of, name="one row, few runs", runs=5, tests=1, commands=0),
        replace(of, name="heavy tails", chance=HEAVY),
        replace(of, name="runs like those before", chance=ALIKE),
        replace(of, name="runs like those before", chance=ALIKE, how="in-order"),
        replace(of, name="coarse clock", chance=COARSE),
        replace(of, name="B varies 3 times as much", chance="three"),
        replace(of, name="B varies 10 times as much", chance="ten"),
        replace(of, name="one run 3 times as slow", chance=OUTLIER),
        replace(of, name="12 runs against 5", runs=12, of_b=5, how="in-order"),
        *(
            replace(
                of,
                name=f"12 runs against 5, B varies {n} times as much",
                runs=12,
                of_b=5,
                how="in-order",
                chance=chance,
            )
            for n, chance in ((3, "three"), (10, "ten"))
        ),
        replace(of, name="the machine slows by 50 %", drift=0.5),
    ]


def kind() -> list[Case]:
    """Nothing differs but chance: every verdict is wrong. Some of false_alarms(), as a table."""
    of = Case("", "ab --restart", 10, 0.03, least=0.0)
    return [
        *(replace(of, name="nothing differs", how=how) for how in ("in-order", "ab", of.how)),
        replace(of, name="each start has an effect of 3 %", how="ab", start=0.03),
        replace(of, name="each start has an effect of 3 %", start=0.03),
        replace(of, name="the machine slows by 20 %", how="in-order", drift=0.2),
        replace(of, name="the machine slows by 20 %", drift=0.2),
    ]


def real() -> list[Case]:
    """Something differs."""
    of = Case("", "ab --restart", 10, 0.01)
    return [
        replace(of, name="all rows differ by the margin, 2 %", change=0.02),
        replace(of, name="all rows are 5 % slower", change=0.05),
        replace(of, name="all rows are 5 % slower", change=0.05, spread=0.03),
        replace(of, name="all rows are 10 % slower", change=0.1),
        replace(of, name="all rows are 10 % slower", change=0.1, spread=0.03),
        *(
            replace(
                of,
                name=f"all rows, one, are {change * 100:g} % slower",
                change=change,
                spread=spread,
                runs=n,
                tests=1,
                commands=0,
            )
            for n in (5, 10)
            for change in (0.05, 0.1)
            for spread in (0.01, 0.03)
        ),
    ]


# Tails


@dataclass(frozen=True)
class TailCase:
    """Runs of `ops` requests each, some of which are ten times as slow."""

    name: str
    runs: int
    ops: int = 300
    change: float = 0.0  # how much longer all of B take
    in_turn: bool = False
    spread: float = 0.05  # of runs
    heavy: bool = False
    outlier: bool = False
    uneven: bool = False  # runs have from 100 to 900 requests
    of_b: int = 0  # runs of B, where there are not as many as of A
    wilder: float = 1.0  # so many times as much do the runs of B vary
    slow_only: bool = False  # what varies is how many are slow, not how long the others take

    @property
    def sides(self) -> tuple[int, int]:
        return self.runs, self.of_b or self.runs


@dataclass(frozen=True)
class TailFound:
    """Shares: of intervals with the truth (nan: none has one); of comparisons p <= 0.01 though
    nothing differs more than the truth; without an interval."""

    inside: float
    wrong: float
    none: float


def _tail_times(
    case: TailCase, is_b: bool, rng: np.random.Generator, outlier: bool
) -> np.typing.NDArray[np.float64]:
    luck = case.spread * (rng.standard_t(2) if case.heavy else rng.normal())
    luck *= case.wilder if is_b else 1.0
    share = min(0.5, 0.02 * math.exp(3 * luck) * (10 if outlier else 1))
    n = int(rng.integers(100, 900)) if case.uneven else case.ops
    times = 1e5 * np.exp((0.0 if case.slow_only else luck) + rng.normal(0, 0.3, n))
    times[rng.random(n) < share] *= 10
    return times


@cache
def _even(case: TailCase) -> float:
    """Runs that vary more have more slow requests: by this B's times are multiplied, so that p99 of
    very many runs of it is that of A."""
    rng = np.random.default_rng(1)
    a, b = (
        np.concatenate([_tail_times(case, is_b, rng, False) for _ in range(4000)])
        for is_b in (False, True)
    )
    return float(np.quantile(a, 0.99) / np.quantile(b, 0.99))


def _tail_run(case: TailCase, is_b: bool, rng: np.random.Generator, outlier: bool) -> Histogram:
    times = _tail_times(case, is_b, rng, outlier)
    if is_b:
        times *= (1 + case.change) * (_even(case) if case.wilder > 1 else 1)
    found = Counter(hist.index_of(int(ns), BITS) for ns in times)
    return Histogram(BITS, tuple(sorted(found.items())))


def tails_found(case: TailCase, times: int) -> TailFound:
    inside = wrong = none = 0
    for seed in range(times):
        rng = np.random.default_rng(seed)
        bad = int(rng.integers(sum(case.sides))) if case.outlier else -1
        made = [_tail_run(case, i >= case.runs, rng, i == bad) for i in range(sum(case.sides))]
        a, b = made[: case.runs], made[case.runs :]
        blocks, at = [], 0
        for n in design.sizes(case.runs) if case.in_turn else [case.runs]:
            blocks.append((a[at : at + n], b[at : at + n]))
            at += n
        found = tails.compare(blocks, 0.99, stats.Margins(case.change))
        wrong += (found.p or 0) <= stats.ALPHA
        if found.low is None or found.high is None:
            none += 1
        else:
            inside += found.low <= case.change <= found.high
    known = times - none
    return TailFound(inside / known if known else math.nan, wrong / times, none / times)


def tail_cases() -> list[TailCase]:
    return [
        *(TailCase("nothing differs", n) for n in (2, 3, 5, 10)),
        TailCase("nothing differs", 12, in_turn=True),
        TailCase("runs vary by 20 %", 12, in_turn=True, spread=0.2),
        TailCase("runs of 100 to 900 requests", 10, uneven=True),
        TailCase("heavy tails", 10, heavy=True),
        TailCase("one run has 10 times as many slow ones", 10, outlier=True),
        *(
            TailCase(f"B varies {n} times as much", 12, in_turn=True, spread=0.03, wilder=n)
            for n in (3, 10)
        ),
        TailCase(
            "B varies 10 times as much, in its slow requests only",
            12,
            in_turn=True,
            spread=0.03,
            wilder=10,
            slow_only=True,
        ),
        TailCase("12 runs against 5", 12, of_b=5),
        *(
            TailCase(
                f"12 runs against 5, B varies {n} times as much",
                12,
                of_b=5,
                spread=0.03,
                wilder=n,
            )
            for n in (3, 10)
        ),
        TailCase("B is 30 % slower", 12, in_turn=True, change=0.3),
    ]


# Used up


@dataclass(frozen=True)
class SpentCase:
    """Of the time that requests take longer, the shares of resources; each part of a request's time
    varies by `noise`."""

    name: str
    shares: tuple[float, float, float, float]
    noise: float


_OF = ("own", "disk", "lock", "outside")  # a part of each resource


def spent_cases() -> list[SpentCase]:
    return [
        SpentCase(name, shares, noise)
        for name, shares in (
            ("four grow alike", (0.25, 0.25, 0.25, 0.25)),
            ("two grow alike", (0.4, 0.4, 0.1, 0.1)),
            ("the disk has half", (0.2, 0.5, 0.2, 0.1)),
        )
        for noise in (0.02, 0.1)
    ]


def spent_found(case: SpentCase, times: int) -> tuple[float, float]:
    """The shares of reports that name one resource alone, and of those that name another than one
    that has most."""
    alone = wrong = 0
    best = {limits.PARTS[k] for k, s in zip(_OF, case.shares, strict=True) if s == max(case.shares)}
    for seed in range(times):
        rng = np.random.default_rng(seed)
        below, above = (
            Spent({k: ns * math.exp(rng.normal(0, case.noise)) for k, ns in of.items()})
            for of in (
                dict.fromkeys(_OF, 20.0),
                {k: 20 + 80 * s for k, s in zip(_OF, case.shares, strict=True)},
            )
        )
        near = limits.leaders(limits.growth_of(below, above))
        alone += len(near) == 1
        wrong += not best & set(near)
    return alone / times, wrong / times


# The tables


def _compared(work: tuple[Case, int]) -> list[str]:
    case, times = work
    got = outcome(case, times)
    n = f"{case.runs}+{case.of_b or case.runs}"
    shares = (got.any_verdict, got.any_same, got.gated, got.unclear, got.power)
    cells = [case.name, case.how, n, f"{case.spread:.0%}", *(f"{x:.1%}" for x in shares)]
    return [*cells, f"{times:,}"]


def _tail_row(work: tuple[TailCase, int]) -> list[str]:
    case, times = work
    got = tails_found(case, times)
    n = "+".join(map(str, case.sides))
    inside = "n/a" if math.isnan(got.inside) else f"{got.inside:.1%}"
    how = "in turn" if case.in_turn else "in order"
    return [case.name, how, n, inside, f"{got.none:.1%}", f"{got.wrong:.1%}"]


def _spent_row(work: tuple[SpentCase, int]) -> list[str]:
    case, times = work
    alone, wrong = spent_found(case, times)
    return [case.name, f"{case.noise:.0%}", f"{alone:.1%}", f"{wrong:.1%}"]


@dataclass(frozen=True)
class Table:
    """`key`: so many cells of a row say which case it is."""

    head: tuple[str, ...]
    cases: list[Any]
    row: Any
    times: int
    key: int


def tables() -> dict[str, Table]:
    compared = [*kind(), *unkind(), *real()]
    return {
        "compare": Table(
            ("Truth", "Runs made", "Runs", "Spread", "A verdict", "A “same”", "gate fails",
             "Cause unclear", "Rows slower", "Of"), compared, _compared, 1000, 4),
        "tails": Table(
            ("Truth", "Runs made", "Runs", "Inside", "No interval", "p at most 0.01"),
            tail_cases(), _tail_row, 400, 3),
        "gate": gates(Table),
        "knees": knees(Table),
        "laws": laws(Table),
        "history": history(Table),
        "partly": partly(Table),
        "used-up": Table(
            ("Requests take longer", "Noise", "One alone", "Wrong"),
            spent_cases(), _spent_row, 1000, 2),
        **made(Table),
        "kept": kept(Table),
    }  # fmt: skip


def line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    known = tables()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tables", metavar="TABLE", nargs="*", choices=[*known, []])
    parser.add_argument(
        "--times", metavar="N", type=int, help="for each row (default: the table's)"
    )
    parser.add_argument("--only", metavar="TEXT", default="", help="rows with this in their truth")
    parser.add_argument("--processes", metavar="N", type=int, default=2)
    args = parser.parse_args()
    with ProcessPoolExecutor(args.processes) as pool:
        for name in args.tables or known:
            of = known[name]
            times = args.times or of.times
            print(f"<!-- simulate.py {name}: {times:,} times -->\n{line(of.head)}")
            print("|" + "---|" * len(of.head), flush=True)
            chosen = [(case, times) for case in of.cases if args.only in repr(case)]
            for cells in pool.map(of.row, chosen):
                print(line(cells), flush=True)
            print()


if __name__ == "__main__":
    main()
