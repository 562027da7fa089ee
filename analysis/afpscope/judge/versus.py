# SPDX-License-Identifier: GPL-2.0-or-later
"""Two sides of runs: whether they can be compared, and the verdict on each of their times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .. import show
from ..errors import wrong_use
from ..saved.model import LOWER
from ..saved.run import Run
from ..tables import values
from . import design, stats, tails
from .stats import Margins, Test

# By the run's id.
Times = dict[str, dict[values.Row, values.Value]]
# Unknown in a run whose connection was lost: that is not a difference.
_KNOWN_AT_THE_END = ("server.afpd.congestion",)
# Runs that differ only in these can be compared.
_FREE_OPTIONS = {"timeout_s", "sample_hz"}
# Of replays only the work must be the same: where a recording is, and what server it is sent to,
# may be others.
_PLACE_OPTIONS = {"recording", "directory", "mode"}
# Counts of an iteration are the same whatever these are. Times are not: the first iteration is
# often colder than the others, and what ran before a test leaves something in caches.
_AMOUNTS = {"iterations", "warmup", "tests", "duration_s"}
_SERVER = ("afp_version", "uam", "quantum_bytes", "settings", "afpd.congestion")
_ENVIRONMENT = ("kernel", "machine", "cpus", "client.congestion")
_RUNGS = ("calls", "requests", "times", "storage.file", "storage.block", "storage.latency")


# Of a trimmed mean: the same, but the mean of all requests is not; or a few runs are far off.
IN_PART, FEW_RUNS = "same but for a few", "same but for a few runs"
# A block of runs of A and of B.
Near = tuple[list[Run], list[Run]]


@dataclass(frozen=True)
class TimeRow:
    """A test as a whole (`command` is empty), or a figure of the requests of one AFP command.

    Of a test its time, or a metric, which need not be a time.
    """

    test: str
    command: str
    figure: str
    result: Test
    verdict: str
    unit: str = "ns"
    better: str = LOWER
    whole: Test | None = None  # IN_PART: of all requests
    together: bool = False  # a quantile of the requests of all runs, as no run has enough
    # By how much the mean of B's runs is larger, also if few runs make it so; None: not known.
    mean: float | None = None

    @property
    def key(self) -> values.Row:
        return values.Row(self.test, self.command, self.figure, self.unit, self.better)

    @property
    def label(self) -> str:
        return f"{self.key.label} (all runs)" if self.together else self.key.label

    @property
    def name(self) -> str:
        """For a sentence."""
        if self.key.is_metric:
            return f"{self.test}: {self.label}"
        return self.label if self.command else self.test

    @property
    def harm(self) -> tuple[float | None, float | None]:
        """How much worse B is, and may be at most; where more is better, by how much A has more."""
        t = self.result
        if self.better == LOWER:
            return t.change, t.high
        less = (None if x is None else 1 / (1 + x) - 1 for x in (t.change, t.low))
        return next(less), next(less)

    @property
    def mean_harm(self) -> float:
        """The same of the mean of all runs; 0: not known."""
        more = self.mean or 0.0
        return more if self.better == LOWER else 1 / (1 + more) - 1


def distinct(runs: Sequence[Run]) -> None:
    """Failure if a run is given twice: it would count as two runs that agree."""
    seen: dict[str, Run] = {}
    for one in runs:
        if one.id in seen:
            first = seen[one.id]
            raise wrong_use(f"{one.path} and {first.path} are the same run: name each run once")
        seen[one.id] = one


def settings(run: Run) -> dict[str, str]:
    """A run's settings, its server, and how it was observed: if they differ, so does the work."""
    out = {"command": run.command, "set": run.set}
    free = (
        _FREE_OPTIONS | _AMOUNTS | ({"directory"} if run.about == "calls" else set())
    )  # which server it is
    free |= _PLACE_OPTIONS if run.is_replay else set()
    out |= {f"options.{k}": v for k, v in run.options.items() if k not in free}
    return out if run.is_replay else out | _surroundings(run)


def _surroundings(run: Run) -> dict[str, str]:
    """Its server, and how it was observed."""
    out = {f"server.{k}": run.server.get(k, "") for k in _SERVER}
    out |= {f"environment.{k}": run.environment.get(k, "") for k in _ENVIRONMENT}
    return out | {f"rungs.{k}": run.rungs.get(k, "") for k in _RUNGS}


def work_amounts(run: Run) -> dict[str, str]:
    """How much was done; a recording lasts as long as somebody waits."""
    if run.is_of_others:
        return {}
    return {f"options.{k}": v for k, v in run.options.items() if k in _AMOUNTS}


def unlike(all_of: Sequence[dict[str, str]]) -> dict[str, list[str]]:
    """The settings that are not the same in all runs, with their values."""
    out: dict[str, list[str]] = {}
    for key in sorted({key for one in all_of for key in one}):
        found = list(dict.fromkeys(one.get(key, "") for one in all_of))
        if key in _KNOWN_AT_THE_END:
            found = [v for v in found if v]
        if len(found) > 1:
            out[key] = found
    return out


def differences(runs: Sequence[Run]) -> list[str]:
    """Reasons against a comparison: settings that are not the same in all runs."""
    # The rows of a recording are requests: a READ of NFS is other work than one of SMB.
    kinds = [{"kind of server": r.kind} if r.is_of_others else {} for r in runs]
    found = unlike([settings(r) | work_amounts(r) | of for r, of in zip(runs, kinds, strict=True)])
    return [f"{key}: " + " against ".join(map(repr, of[:3])) for key, of in found.items()]


def elsewhere(runs: Sequence[Run]) -> list[str]:
    """In what the servers of replays differ, and how they were observed, which is no reason against
    their comparison."""
    if any(not run.is_replay for run in runs):
        return []
    found = unlike([_surroundings(run) for run in runs])
    return [f"{key}: " + " against ".join(map(repr, of[:3])) for key, of in found.items()]


def _common(a: Sequence[Run], b: Sequence[Run], of: Times) -> list[values.Row]:
    keys = [dict.fromkeys(key for run in side for key in of[run.id]) for side in (a, b)]
    return [key for key in keys[0] if key in keys[1]]


def _amounts(key: values.Row, runs: Iterable[Run], of: Times) -> list[float]:
    return [of[run.id][key].amount for run in runs if key in of[run.id]]


def one_sided(a: Sequence[Run], b: Sequence[Run], of: Times) -> dict[str, list[values.Row]]:
    """Rows that only one side has, by side; of a command its mean alone."""
    wanted = (values.ELAPSED, values.MEAN)
    has = [dict.fromkeys(key for run in side for key in of[run.id]) for side in (a, b)]
    return {
        side: [
            key
            for key in has[i]
            if (key.figure in wanted or key.is_metric) and key not in has[1 - i]
        ]
        for i, side in enumerate("AB")
    }


def zeros(a: Sequence[Run], b: Sequence[Run], of: Times) -> list[str]:
    """Rows that are 0 in some runs: changes are ratios, and from 0 there is none."""
    runs = [*a, *b]
    return [
        f"{key.label} of {key.test} is 0 in some runs and not in others: not judged"
        for key in _common(a, b, of)
        if min(of_runs := _amounts(key, runs, of)) <= 0 < max(of_runs)
    ]


def _verdict(key: values.Row, verdict: str) -> str:
    """In words that suit the row."""
    if not key.is_metric or verdict not in (stats.SLOWER, stats.FASTER):
        return verdict
    return stats.WORSE if (verdict == stats.SLOWER) == (key.better == LOWER) else stats.BETTER


def time_rows(
    a: Sequence[Run], b: Sequence[Run], of: Times, margins: Margins, in_turn: bool = True
) -> list[TimeRow]:
    """Every row that both have and that is not 0 in any run, with its verdict.

    `in_turn`: the runs are compared in blocks, if they were made so.
    """
    return families([(a, b, margins)], of, in_turn)[0]


def families(
    pairs: Sequence[tuple[Sequence[Run], Sequence[Run], Margins]], of: Times, in_turn: bool = True
) -> list[list[TimeRow]]:
    """The rows of each pair of sides, judged together: that one of all rows is wrong is as unlikely
    as for one pair."""
    nears, found = [], []
    for a, b, margins in pairs:
        both = [key for key in _common(a, b, of) if min(_amounts(key, [*a, *b], of)) > 0]
        near = design.blocks(a, b) if in_turn else [(list(a), list(b))]
        nears.append(near)
        found.append([row for key in both if (row := _time_row(key, near, of, margins))])
    words = iter(stats.verdicts([row.result for rows in found for row in rows]))
    out = []
    for rows, near, (_, _, margins) in zip(found, nears, pairs, strict=True):
        judged = [replace(row, verdict=_verdict(row.key, next(words))) for row in rows]
        out.append(
            [_of_all_runs(_of_all_requests(r, near, of, margins), near, of, margins)
             for r in judged]
        )  # fmt: skip
    return out


def _time_row(key: values.Row, near: Sequence[Near], of: Times, margins: Margins) -> TimeRow | None:
    """Without a verdict. None: all runs of a side together have too few requests for it."""
    found = [
        [[of[run.id][key] for run in side if key in of[run.id]] for side in block] for block in near
    ]
    all_of = [v for block in found for side in block for v in side]
    together = any(v.few for v in all_of)
    if together:
        q = values.QUANTILES[key.figure]
        dealt = [[[v.times for v in side if v.times] for side in block] for block in found]
        dealt = [block for block in dealt if all(block)]  # nothing is beside the others
        each = [sum(h.n for block in dealt for h in block[i]) for i in (0, 1)]
        if not all(values.are_enough(n, q) for n in each):
            return None
        result = tails.compare([(x, y) for x, y in dealt], q, margins)
    else:
        blocks = [([v.amount for v in x], [v.amount for v in y]) for x, y in found]
        result = stats.compare(blocks, margins, max(v.blur for v in all_of))
    row = TimeRow(key.test, key.command, key.figure, result, "", key.unit, key.better)
    return replace(row, together=together)


def _of_all_requests(row: TimeRow, near: Sequence[Near], of: Times, margins: Margins) -> TimeRow:
    """A row is not the same if only what is left out of its mean differs."""
    if row.verdict != stats.SAME:
        return row
    blocks = [
        tuple([of[r.id][row.key].whole for r in side if row.key in of[r.id]] for side in block)
        for block in near
    ]
    known = [([v for v in a if v is not None], [v for v in b if v is not None]) for a, b in blocks]
    whole = stats.compare(known, Margins(margins.least))
    if whole.change is None or abs(math.log1p(whole.change)) <= math.log1p(margins.least):
        return row
    return replace(row, verdict=IN_PART, whole=whole)


def _of_all_runs(row: TimeRow, near: Sequence[Near], of: Times, margins: Margins) -> TimeRow:
    """Ranks do not see how far off a few runs are: if these make the mean of a side larger, or a
    side vary by more than the margin and more than the other, it is not the same."""
    if row.together or min(row.result.n_a, row.result.n_b) < 2:
        return row
    sums = [0.0, 0.0]
    logs = []
    for block in near:
        sides = [[of[r.id][row.key] for r in side if row.key in of[r.id]] for side in block]
        if not all(sides):
            continue
        logs.append([np.log([v.amount for v in side]) for side in sides])
        for i, side in enumerate(sides):
            n = len(sides[0]) + len(sides[1])  # the same for both
            sums[i] += n * sum(v.amount if v.whole is None else v.whole for v in side) / len(side)
    mean = sums[1] / sums[0] - 1 if min(sums) > 0 else None
    least = math.log1p(margins.least)
    differs = mean is not None and abs(math.log1p(mean)) > least
    if not stats.is_uneven(logs) and stats.wilder(logs):  # the means were not asked
        differs = differs or max(stats.deviations(logs)) > least
    verdict = FEW_RUNS if differs and row.verdict == stats.SAME else row.verdict
    return replace(row, mean=mean, verdict=verdict)


# For tables and sentences


def word(row: TimeRow, least: float) -> str:
    """The verdict as tables have it."""
    return f"same within {share(least)}" if row.verdict == stats.SAME else row.verdict


def share(value: float) -> str:
    return f"{value * 100:g} %"


def signed(value: float | None) -> str:
    return "n/a" if value is None else f"{value * 100:+.1f} %"


# The heads of cells().
CELLS = ["A", "B", "change", "95 % interval", "n", "verdict"]


def cells(row: TimeRow, least: float) -> list[str]:
    """The figures of a row, as tables have them."""
    t = row.result
    return [
        show.measured(t.median_a, row.unit),
        show.measured(t.median_b, row.unit),
        signed(t.change),
        "n/a" if t.low is None else f"{signed(t.low)} .. {signed(t.high)}",
        f"{t.n_a}+{t.n_b}",
        word(row, least),
    ]


CSV_HEAD = [
    "test", "command", "figure", "unit", "a", "b", "change", "low", "high", "n_a", "n_b", "verdict"
]  # fmt: skip


def csv_row(row: TimeRow) -> list[object]:
    """Numbers in the row's unit, changes as shares."""
    t = row.result
    return [row.test, row.command, row.figure, row.unit, t.median_a, t.median_b, t.change, t.low,
            t.high, t.n_a, t.n_b, row.verdict]  # fmt: skip
