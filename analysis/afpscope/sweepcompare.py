# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope compare SWEEP_A SWEEP_B: each value that both have, and both knees."""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from dataclasses import asdict

from . import markdown, show
from .errors import NOTHING, OK, UNTRUSTED, Failure, wrong_use
from .judge import design, stats, versus
from .judge.stats import Margins
from .limit import fit, outcome
from .limit.knee import Knee
from .limit.outcome import Outcome
from .measure import swept
from .saved.run import Run, find
from .saved.steps import Step, Sweep, is_sweep, open_sweep
from .tables import values

# What sweeps are compared in: the rate, all actions, and the probe.
_COMPARED = ("", "action", "probe")
# Of the interval of the difference of two knees: tests/python/simulate.py says how often it errs.
KNEES = 0.995


def _sweeps(args: argparse.Namespace) -> tuple[Sweep, Sweep]:
    names = [*args.runs, *(args.after or ())]
    paths = [find(name) for name in names]
    if len(paths) != 2 or not all(is_sweep(path) for path in paths):
        raise wrong_use("a sweep is compared with one other sweep: give two (afpscope compare A B)")
    a, b = (open_sweep(path) for path in paths)
    if a.id == b.id:
        raise wrong_use(f"{a.folder} and {b.folder} are the same sweep")
    if a.option != b.option:
        raise wrong_use(f"{a.name} is a sweep over {a.option}, {b.name} one over {b.option}")
    return a, b


def _common(a: Sweep, b: Sweep) -> dict[float, str]:
    theirs = {level.value for level in b.levels}
    return {level.value: level.text for level in a.levels if level.value in theirs}


def _steps(sweep: Sweep, common: dict[float, str]) -> list[Step]:
    """The least load first."""
    steps = (step for step in sweep.measured if step.size in common)
    return sorted(steps, key=lambda step: sweep.rank(step.size))


def _times(steps: list[Step], sweep: Sweep, common: dict[float, str]) -> versus.Times:
    """As if each value of the sweep were a test; of several tests of rx each by its name."""
    out: versus.Times = {}
    for step in steps:
        assert step.run and step.phase
        at = f"{sweep.option} {common[step.size]}"
        phases = [p for p in step.run.whole_phases if p.load]
        if sweep.command != swept.RX or len(phases) < 2:
            found = values.of_load(step.phase, at)
        else:
            by_test = (values.of_load(p, f"{p.title}, {at}") for p in phases)
            found = {row: v for one in by_test for row, v in one.items()}
        out[step.run.id] = {row: v for row, v in found.items() if row.command in _COMPARED}
    return out


def _differences(steps: list[Step]) -> list[str]:
    """Settings in which steps of the same value differ."""
    by_value: dict[float, list[Run]] = defaultdict(list)
    for step in steps:
        if step.run:
            by_value[step.size].append(step.run)
    found: dict[str, None] = {}
    for runs in by_value.values():
        found |= dict.fromkeys(versus.differences(runs))
    return list(found)


def _repeats_needed(rows: int) -> int:
    """The fewest steps of a value on each side that can show a difference in one of the rows."""
    n = 2
    while stats.least_p([(n, n)]) * rows > stats.ALPHA:
        n += 1
    return n


def _notes(rows: list[versus.TimeRow], doubts: list[str], least: float) -> list[str]:
    out = []
    if any(r.verdict == stats.TOO_FEW for r in rows):
        judged = sum(r.result.change is not None for r in rows)
        needed = _repeats_needed(judged)
        out.append(
            f"not enough steps of each value: to show a difference in one of {judged} rows, "
            f"{needed} on each side are needed (afpscope sweep --repeat {needed})"
        )
    if any(r.verdict != stats.TOO_FEW for r in rows):
        limit = versus.share(max(least, design.DOUBT))
        out += [
            f"only differences larger than {limit} are attributed to the server: {text}"
            for text in doubts
        ]
    return out


def _knees(sides: tuple[Outcome, Outcome], margin: float) -> list[str]:
    out = []
    for side, of in zip("AB", sides, strict=True):
        around = outcome.interval(of.knee)
        out.append(f"{side}: {of.knee.text}" + (f"; {around}" if around else ""))
        if of.limit:
            out.append(f"   used up: {of.limit.text}")
    return [*out, between(sides[0].knee, sides[1].knee, margin)]


def between(a: Knee, b: Knee, margin: float) -> str:
    """Whether the knees differ by more than the margin."""
    if a.at is None or b.at is None:
        return "the knees cannot be compared: one of the sweeps has none"
    if a.rule != b.rule:
        return "the knees cannot be compared: they are not found by the same rule"
    within = fit.ratio(a.fit, b.fit, KNEES) if a.fit and b.fit else None
    if not within:
        return (
            f"the knees cannot be compared: {a.at} and {b.at} are estimates; afpscope sweep "
            f"--repeat {outcome.REPEAT} gives them intervals"
        )
    low, high = within
    ends = " .. ".join("open" if x is None else f"{math.expm1(x):+.1%}" for x in within)
    found = f"{a.at} and {b.at}, the difference is {ends} ({KNEES:.1%} interval)"
    if low is not None and low > math.log1p(margin):
        return f"the knee of B is at more load: {found}"
    if high is not None and high < -math.log1p(margin):
        return f"the knee of B is at less load: {found}"
    return f"no difference of the knees larger than {versus.share(margin)} shown: {found}"


def run(args: argparse.Namespace) -> int:
    """Prints the comparison; 4 if a step is in doubt."""
    a, b = _sweeps(args)
    common = _common(a, b)
    mine, theirs = _steps(a, common), _steps(b, common)
    if not common:
        raise Failure("nothing could be compared: no value was measured in both", NOTHING)
    found = _differences([*mine, *theirs])
    if found and not args.force:
        raise wrong_use(f"these sweeps differ in {'; '.join(found)} (--force compares them anyway)")
    for text in found:
        show.notice(f"compare: forced, although they differ in {text}")
    before, after = ([s.run for s in side if s.run] for side in (mine, theirs))
    versus.distinct([*before, *after])
    doubts = design.doubts(before, after)
    times = _times(mine, a, common) | _times(theirs, b, common)
    margins = Margins(args.least, design.DOUBT if doubts else None)
    rows = versus.time_rows(before, after, times, margins, in_turn=False)
    sides = outcome.of(a, args.slo), outcome.of(b, args.slo or a.slo)
    remarks = [*_notes(rows, doubts, args.least), *versus.zeros(before, after, times)]
    untrusted = [f"{r.name}: {text}" for r in (*before, *after) for text in r.doubts]
    knees = _knees(sides, max(args.least, design.DOUBT if doubts else 0.0))
    _print(args, rows, sides, [*remarks, *untrusted], knees)
    for text in (*remarks, *untrusted):
        show.notice(f"compare: {text}")
    return UNTRUSTED if untrusted else OK


def _print(
    args: argparse.Namespace,
    rows: list[versus.TimeRow],
    sides: tuple[Outcome, Outcome],
    remarks: list[str],
    knees: list[str],
) -> None:
    lines = _lines(rows, args.least)
    if args.json:
        document = {
            "alpha": stats.ALPHA,
            "least": args.least,
            "rows": [asdict(r) for r in rows],
            "a": outcome.as_json(sides[0]),
            "b": outcome.as_json(sides[1]),
            "knees": knees[-1],
            "remarks": remarks,
        }
        print(json.dumps(document))
        return
    if args.format in ("markdown", "github"):
        esc = markdown.escape
        text = "\n".join(
            ["### afpscope compare", "", *(f"- {esc(t)}" for t in (*knees, *remarks)), "",
             markdown.table(_HEAD, lines, 2)]
        )  # fmt: skip
        if args.format == "markdown":
            print(text)
            return
        markdown.add_to_summary(text)
    print(show.table(_HEAD, lines, 2))
    print()
    for text in knees:
        print(show.plain(text))


_HEAD = ["value", "what", *versus.CELLS]


def _lines(rows: list[versus.TimeRow], least: float) -> list[list[str]]:
    return [[r.test, r.label, *versus.cells(r, least)] for r in rows]
