# SPDX-License-Identifier: GPL-2.0-or-later
"""How often `versus`, a recording beside its replays, and times over a longer way are wrong, on
made-up values whose truth is known: for simulate.py.

They go through the code that judges saved runs. The value of a run is a server's, times the effect
of its start, of the hour and of the run; all but the first are chance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from afpscope.judge import replays, sides, stats
from afpscope.judge.sides import Side
from afpscope.measure import turns
from afpscope.saved import hist
from afpscope.saved.hist import Histogram
from afpscope.saved.model import LOWER, Account, Phase
from afpscope.saved.run import START, Run
from afpscope.tables import costs
from afpscope.tables.costs import Way
from afpscope.tables.values import Row, Value

T = TypeVar("T")
Array = np.typing.NDArray[np.float64]
EMPTY = Run(
    Path("run.json"), None, "", "", "load", "simulated", "", True, {}, {}, {}, {}, {},
    (), (), (), (), (),
)  # fmt: skip
LEAST = 0.02
BUCKET = 0.01  # by so much is a quantile of a client's histogram known

# versus


@dataclass(frozen=True)
class Versus:
    """`change`: of the second server against the first, in every row; the third is like the first.
    `start`: the effect of a start; `again`: the servers are restarted for each run. `twins`: each
    server is measured twice; the second server is `unlike` itself by so much."""

    name: str
    rounds: int
    spread: float
    change: float = 0.0
    start: float = 0.0
    again: bool = True
    drift: float = 0.0
    servers: int = 3
    actions: int = 4
    twins: bool = False
    unlike: float = 0.0


def _rows(case: Versus) -> list[Row]:
    times = [Row("office", f"action {i}", q) for i in range(case.actions) for q in costs.TIMES]
    return times + [Row("office", "", name, unit, LOWER) for name, unit in costs.COSTS.items()]


def _sides_of(case: Versus, rng: np.random.Generator) -> list[Side]:
    found: list[Side] = []
    keys = iter("abcdefgh")
    for i in range(case.servers):
        one = Side(next(keys), f"s{i}", f"afp://s{i}", server=f"s{i}")
        found.append(one)
        if case.twins:
            found.append(Side(next(keys), f"s{i} again", one.url, one, server=one.server))
    rows, of = _rows(case), {side.key: side for side in found}
    order = turns.order(case.rounds, [side.key for side in found])
    base = rng.normal(0, 0.5, len(rows))
    first = {side.url: rng.normal(0, case.start, len(rows)) for side in found}
    for at, (_, key) in enumerate(order):
        side = of[key]
        start = rng.normal(0, case.start, len(rows)) if case.again else first[side.url]
        change = math.log1p(case.change) if side.server == "s1" else 0.0
        change += math.log1p(case.unlike) if side.server == "s1" and side.twin else 0.0
        slow = math.log1p(case.drift) * at / max(1, len(order) - 1)
        half = case.spread / math.sqrt(2)
        luck = half * (rng.normal() + rng.normal(size=len(rows)))
        values = 1e6 * np.exp(base + start + change + slow + luck)
        run = replace(
            EMPTY,
            id=f"{at}",
            started=f"2026-01-01T{at // 60:02}:{at % 60:02}:00Z",
            server={START: f"{at}" if case.again else side.url},
        )
        side.runs.setdefault("office", []).append(run)
        blurs = [BUCKET if row.command else 0.0 for row in rows]
        side.of[run.id] = {
            row: Value(float(v), b) for row, v, b in zip(rows, values, blurs, strict=True)
        }
    return found


def versus_cases() -> list[Versus]:
    of = Versus("", 12, 0.03)
    return [
        replace(of, name="nothing differs"),
        replace(of, name="nothing differs", spread=0.2),
        replace(of, name="nothing differs", rounds=5),
        replace(of, name="nothing differs, two servers", servers=2),
        replace(of, name="the machine slows by 20 %", drift=0.2),
        replace(of, name="each start has an effect of 3 %", start=0.03),
        replace(of, name="a start has an effect of 3 %, one each", start=0.03, again=False),
        replace(of, name="a server is 10 % slower, and 10 % unlike itself", change=0.1, unlike=0.1,
                twins=True),
        replace(of, name="a server is 5 % slower", change=0.05),
        replace(of, name="a server is 5 % slower", change=0.05, spread=0.01),
        replace(of, name="a server is 10 % slower", change=0.1),
        replace(of, name="a server is 10 % slower", change=0.1, spread=0.2),
        replace(of, name="a server is 30 % slower", change=0.3),
        replace(of, name="a server is 30 % slower", change=0.3, spread=0.2),
        replace(of, name="a server is 30 % slower", change=0.3, rounds=5),
    ]  # fmt: skip


_TOLD = (stats.SLOWER, stats.FASTER, stats.WORSE, stats.BETTER)


def versus_row(work: tuple[Versus, int]) -> list[str]:
    """Verdicts on the pairs of different servers. False: shown where nothing differs, or the wrong
    way. Shares of measurements with such a row; of the rows that differ, those of each verdict."""
    case, times = work
    wrong, found, n = 0, Counter[str](), 0
    for seed in range(times):
        false = False
        for pair in sides.judged(_sides_of(case, np.random.default_rng(seed)), LEAST).pairs:
            if pair.same:
                continue
            servers = (pair.a.server, pair.b.server)
            real = case.change > 0 and "s1" in servers
            right = (
                {stats.SLOWER, stats.WORSE} if servers[1] == "s1" else {stats.FASTER, stats.BETTER}
            )
            for row in pair.rows:
                shown = row.verdict in _TOLD
                false |= shown and (not real or row.verdict not in right)
                if real:
                    n += 1
                    found["shown" if shown else row.verdict] += 1
        wrong += false
    share = [found["shown"], found[stats.UNCLEAR], found[stats.NONE_SHOWN], found[stats.TOO_FEW]]
    rest = n - sum(share)
    cells = [f"{x / n:.1%}" if n else "" for x in (*share, rest)]
    return [case.name, str(case.rounds), f"{case.spread:.0%}", f"{wrong / times:.1%}", *cells]


# A recording and its replays


@dataclass(frozen=True)
class Replayed:
    """`change`: of all commands in the replays. `spread`: of replays, and of the recording."""

    name: str
    replays: int
    spread: float
    change: float = 0.0
    commands: int = 6
    outlier: bool = False  # one replay takes three times as long


SERVER_BITS = 4  # of the histograms inside the server
OF_COMMAND = 2000


def _served(of: Array) -> Run:
    accounts = []
    for i, ns in enumerate(of):
        found: Counter[int] = Counter()
        for by, share in ((0.9, 0.3), (1.0, 0.4), (1.15, 0.29), (4.0, 0.01)):
            found[hist.index_of(round(by * ns), SERVER_BITS)] += round(share * OF_COMMAND)
        times = Histogram(SERVER_BITS, tuple(sorted(found.items())))
        accounts.append(
            Account(i, f"FP{i}", OF_COMMAND, None, None, {}, {}, {}, times, ())
        )  # fmt: skip
    phase = Phase(1, 1, "", 0, True, {}, (), None, tuple(accounts), (), None)
    return replace(EMPTY, phases=(phase,))


def replay_cases() -> list[Replayed]:
    return [
        *(Replayed("nothing differs", n, s) for n in (1, 3, 5, 12) for s in (0.01, 0.05, 0.2)),
        Replayed("one replay 3 times as slow", 5, 0.05, outlier=True),
        *(
            Replayed(f"all commands take {by:.0%} longer", n, 0.05, by)
            for by in (0.1, 0.3, 1.0)
            for n in (3, 5, 12)
        ),
    ]


def replay_row(work: tuple[Replayed, int]) -> list[str]:
    """Comparisons in which a command is said to take another time, and such commands."""
    case, times = work
    some, rows, all_rows, faster = 0, 0, 0, 0
    for seed in range(times):
        rng = np.random.default_rng(seed)
        base = 3e5 * np.exp(rng.normal(0, 0.7, case.commands))
        made = []
        for i in range(case.replays + 1):
            half = case.spread / math.sqrt(2)
            luck = half * (rng.normal() + rng.normal(size=case.commands))
            luck += math.log(3) if case.outlier and i == 1 else 0.0
            made.append(_served(base * np.exp(luck + (math.log1p(case.change) if i else 0.0))))
        of = replays.served(made[0], made[1:], LEAST)
        apart = [row for row in of if row.verdict not in ("", stats.NONE_SHOWN, stats.TOO_FEW)]
        some += bool(apart)
        rows += len(apart)
        all_rows += len(of)
        faster += any(row.test and (row.test.change or 0) < 0 for row in apart)
    wrong = faster if case.change else some
    return [case.name, str(case.replays), f"{case.spread:.0%}", f"{wrong / times:.1%}",
            f"{rows / all_rows:.1%}" if case.change else ""]  # fmt: skip


# Times over a longer way


@dataclass(frozen=True)
class Far:
    """Actions of one to twelve round trips here, where one takes 0.1 ms, and over a way of `ms`.
    `here`, `there`: what a round trip takes longer than the least, on average, as a share of it."""

    name: str
    ms: float
    here: float = 0.0
    there: float = 0.0
    hidden: float = 0.0  # of its round trips, those that a longer way adds (TCP's windows)


def far_cases() -> list[Far]:
    return [
        replace(of, ms=ms)
        for of in (
            Far("no round trip takes longer than the least", 0),
            Far("here each takes half as long again", 0, here=0.5),
            Far("there each takes a tenth longer", 0, there=0.1),
            Far("there each takes half as long again", 0, there=0.5),
            Far("a longer way takes a fifth more round trips", 0, hidden=0.2),
        )
        for ms in (5.0, 20.0, 100.0)
    ]


def _took(trips: int, ms: float, longer: float, rng: np.random.Generator) -> float:
    """The mean of 300 actions, in ns."""
    served = rng.lognormal(math.log(2e5), 0.5, (300, trips)).sum(axis=1)
    way = ms * 1e6 * (trips + longer * rng.exponential(1.0, (300, trips)).sum(axis=1))
    return float((served + way).mean())


def far_row(work: tuple[Far, int]) -> list[str]:
    """What is said by what it takes: 98 of 100 actions are between the ends."""
    case, times = work
    off = []
    for seed in range(times):
        rng = np.random.default_rng(seed)
        trips = int(rng.integers(1, 13))
        way = Way(trips, trips, _took(trips, 0.1, case.here, rng), 1e5, False)
        more = round(trips * case.hidden)
        took = _took(trips + more, case.ms, case.there, rng)
        off.append((way.at(case.ms * 1e6) or math.nan) / took - 1)
    ends = (f"{x:+.1%}" for x in np.quantile(off, (0.01, 0.5, 0.99)))
    return [case.name, f"{case.ms:g} ms", *ends]


def made(table: Callable[..., T]) -> dict[str, T]:
    """The tables, by their names; `table`: simulate.Table."""
    return {
        "versus": table(
            ("Truth", "Rounds", "Spread", "False", "Shown", "Cause unclear", "No difference shown",
             "Not enough runs", "Other"), versus_cases(), versus_row, 50, 3),
        "replays": table(
            ("Truth", "Replays", "Spread", "False", "Rows apart"), replay_cases(), replay_row,
            200, 3),
        "far": table(
            ("Truth", "Way", "One in 100 below", "Half", "One in 100 above"), far_cases(),
            far_row, 200, 2),
    }  # fmt: skip
