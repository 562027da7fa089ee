# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope compare SWEEP_A SWEEP_B: each value that both have, and both knees.

Of several sweeps on each side (A... -- B..., as ab makes them in turn) each sweep is one value in a
row, as a run is elsewhere: its steps share the conditions of the sweep. So is the knee.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from . import forms, markdown, show
from .errors import NOTHING, OK, UNTRUSTED, Failure, wrong_use
from .judge import design, spoiled, stats, versus
from .judge.stats import Margins
from .limit import fit, knee, outcome
from .limit.knee import Knee
from .limit.outcome import Outcome
from .measure import swept
from .saved.model import HIGHER, LOWER
from .saved.run import Run, find
from .saved.steps import Step, Sweep, is_sweep, number, open_sweep
from .tables import values

# What sweeps are compared in: the rate, all actions, and the probe.
_COMPARED = ("", values.ACTION, values.PROBE, values.DUE)
# Of the interval of the difference of two knees: tests/python/simulate.py says how often it errs.
KNEES = 0.995


# A row.
KNEE = "knee"
_GENERATORS = "the load generator had no time left at, or just beyond, the knee of"


def _sweeps(args: argparse.Namespace) -> tuple[list[Sweep], list[Sweep]]:
    names = [*args.runs, *(args.after or ())]
    paths = [find(name) for name in names]
    if not all(is_sweep(path) for path in paths):
        raise wrong_use("a sweep is compared with other sweeps: of these some are runs")
    if args.after is None and len(paths) != 2:
        raise wrong_use("give two sweeps to compare; for more name them A... -- B...")
    of = [open_sweep(path) for path in show.progress("compare", "sweeps are read", paths)]
    cut = 1 if args.after is None else len(args.runs)
    return of[:cut], of[cut:]


def _checked(a: Sequence[Sweep], b: Sequence[Sweep]) -> None:
    """Failure if they are not sweeps of the same thing, each given once."""
    first, *others = (*a, *b)
    seen = {first.id: first}
    for other in others:
        if before := seen.get(other.id):
            raise wrong_use(f"{before.folder} and {other.folder} are the same sweep")
        seen[other.id] = other
        if other.option != first.option:
            raise wrong_use(
                f"{first.name} is a sweep over {first.option}, {other.name} one over {other.option}"
            )


def _common(sweeps: Sequence[Sweep]) -> dict[float, str]:
    """The values that all have."""
    first, *others = sweeps
    theirs = [{level.value for level in other.levels} for other in others]
    return {x.value: x.text for x in first.levels if all(x.value in of for of in theirs)}


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
        if step.phase.replay:
            found = values.of_replay(step.phase, at)
        elif sweep.command != swept.RX or len(phases) < 2:
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


def _notes(rows: list[versus.TimeRow], doubts: list[str], least: float, several: bool) -> list[str]:
    out = []
    judged = sum(r.result.change is not None for r in rows)
    few = any(r.verdict == stats.TOO_FEW for r in rows)
    if few and several:
        needed = design.pairs_needed(judged)
        out.append(
            f"not enough sweeps: to show a difference in one of {judged} rows, {needed} pairs are "
            f"needed (afpscope ab --pairs {needed} ... -- sweep ...)"
        )
    elif few:
        needed = _repeats_needed(judged)
        out.append(
            f"not enough steps of each value: to show a difference in one of {judged} rows, "
            f"{needed} on each side are needed (afpscope sweep --repeat {needed})"
        )
    return out + _doubted(rows, doubts, least)


def _doubted(rows: Sequence[versus.TimeRow], doubts: list[str], least: float) -> list[str]:
    if all(r.verdict == stats.TOO_FEW for r in rows):
        return []
    limit = versus.share(max(least, design.DOUBT))
    return [
        f"only differences larger than {limit} are attributed to the server: {text}"
        for text in doubts
    ]


def _withheld(
    rows: list[versus.TimeRow], a: Sequence[Sweep], b: Sequence[Sweep], common: dict[float, str]
) -> tuple[list[versus.TimeRow], list[str]]:
    """Without verdicts on the servers at values at which the figures are not theirs; and why."""
    why: list[str] = []
    off: set[str] = set()
    for value, text in common.items():
        sides = ([s.run for x in side for s in x.measured if s.run and s.size == value]
                 for side in (a, b))  # fmt: skip
        at = f"{a[0].option} {text}"
        if found := spoiled.doubts(*sides):
            off |= {r.test for r in rows if f", {r.test}".endswith(f", {at}")}
            why += [f"at {at} no difference is attributed to the server: {x}" for x in found]
    return spoiled.withheld(rows, lambda r: r.test in off), why


def _is_generators(sweep: Sweep, rule: str, at: float) -> bool:
    """Whether the rate may have stopped growing there as the load generator had no time left."""
    beyond = [x for x in sweep.levels if sweep.rank(x.value) >= sweep.rank(at)]
    return rule != "slo" and any(x.busy for x in beyond[:2])


def _unserved(sweep: Sweep, rule: str, at: float) -> str:
    """Why the steps around the knee do not show what the server can take; empty: they do.

    Of a limit each step says itself whether it was kept.
    """
    upto = [s for s in sweep.measured if sweep.rank(s.size) <= sweep.rank(at)]
    runs = (s.run for s in upto if s.run and rule != "slo")
    return next((f"up to the knee {why}" for run in runs for why in spoiled.of(run)), "")


def _knees(sides: tuple[Outcome, Outcome], margin: float) -> list[str]:
    out = []
    for side, of in zip("AB", sides, strict=True):
        around = outcome.interval(of.knee)
        out.append(f"{side}: {of.knee.text}" + (f"; {around}" if around else ""))
        if of.limit:
            out.append(f"   used up: {of.limit.text}")
    limited = [
        side
        for side, of in zip("AB", sides, strict=True)
        if of.knee.at and _is_generators(of.sweep, of.knee.rule, number(of.knee.at) or 0.0)
    ]
    if limited:
        return [*out, f"the knees cannot be compared: {_GENERATORS} {' and '.join(limited)}"]
    for side, of in zip("AB", sides, strict=True):
        at = number(of.knee.at) if of.knee.at else None
        if at and (why := _unserved(of.sweep, of.knee.rule, at)):
            return [*out, f"the knees cannot be compared: {side}: {why}"]
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


# Several sweeps on each side


def _one(sweep: Sweep, common: dict[float, str]) -> dict[values.Row, values.Value]:
    """A sweep as one value in each row: the median of its steps."""
    found: dict[values.Row, list[values.Value]] = defaultdict(list)
    for of in _times(_steps(sweep, common), sweep, common).values():
        for row, value in of.items():
            found[row].append(value)
    return {row: values.middle(of) for row, of in found.items()}


def _knee_row(sweep: Sweep) -> values.Row:
    """More load is better; of some options that is less."""
    return values.Row(KNEE, "", KNEE, sweep.option, HIGHER if sweep.rank(1) > 0 else LOWER)


def as_run(sweep: Sweep) -> Run | None:
    """The first run of a sweep, with the sweep's name and time. None: no step was made."""
    first = next((s.run for s in sweep.measured if s.run), None)
    if not first:
        return None
    return replace(first, id=sweep.id, started=sweep.started, folder=sweep.folder)


@dataclass(frozen=True)
class Judged:
    """What is said of two sides of sweeps."""

    rows: list[versus.TimeRow]
    remarks: list[str]
    knees: list[str]
    a: Any  # for JSON: the outcome of one sweep; of several the knee of each by its name
    b: Any


def _several(
    a: Sequence[Sweep], b: Sequence[Sweep], common: dict[float, str], args: argparse.Namespace
) -> Judged:
    times = {sweep.id: _one(sweep, common) for sweep in (*a, *b)}
    slo = args.slo or a[0].slo
    limit = knee.slo(slo) if slo else knee.KEPT_UP_WITH if a[0].command == swept.REPLAY else None
    found = [(sweep, knee.estimate(sweep, limit)) for sweep in (*a, *b)]
    without = [sweep.name for sweep, of in found if of.at is None]
    told = [(sweep, of.rule, of.at) for sweep, of in found if of.at is not None]
    limited = [x.name for x, rule, at in told if _is_generators(x, rule, at)]
    off = next((f"{x.name}: {why}" for x, rule, at in told if (why := _unserved(x, rule, at))), "")
    comparable = not (without or limited or off) and len({of.rule for _, of in found}) == 1
    knees: versus.Times = {
        x.id: {_knee_row(x): values.Value(of.at or 0.0, of.blur)} for x, of in found
    }
    mine, theirs = ([run for x in side if (run := as_run(x))] for side in (a, b))
    doubts = design.doubts(mine, theirs)
    margins = Margins(args.least, design.DOUBT if doubts else None)
    rows = versus.time_rows(mine, theirs, times, margins)
    rows, spoils = _withheld(rows, a, b, common)
    # The knee is what a sweep is made for: it is judged by itself, not as one of so many rows.
    of_knees = versus.time_rows(mine, theirs, knees, margins) if comparable else []
    if not comparable:
        why = f"{', '.join(without[:4])} without one" if without else "found by other rules"
        why = f"{_GENERATORS} {', '.join(limited[:4])}" if limited and not without else why
        why = off if off and not without and not limited else why
        said = [f"the knees cannot be compared: {why}"]
    else:
        said = [_of_knees(of_knees[0], args.least)]
    remarks = _notes(rows, [], args.least, True) + versus.zeros(mine, theirs, times)
    remarks += _doubted([*of_knees, *rows], doubts, args.least) + spoils
    at = {sweep.name: of.at for sweep, of in found}
    each = ({sweep.name: at[sweep.name] for sweep in side} for side in (a, b))
    return Judged([*of_knees, *rows], remarks, said, *each)


def _of_knees(row: versus.TimeRow, least: float) -> str:
    t = row.result
    within = "" if t.low is None else f" ({versus.signed(t.low)} .. {versus.signed(t.high)})"
    return (
        f"knees of {t.n_a} and {t.n_b} sweeps, in the middle {t.median_a:.3g} and "
        f"{t.median_b:.3g}: {versus.signed(t.change)}{within}: {versus.word(row, least)}"
    )


def _alone(a: Sweep, b: Sweep, common: dict[float, str], args: argparse.Namespace) -> Judged:
    """One sweep on each side: its steps are the values."""
    mine, theirs = _steps(a, common), _steps(b, common)
    before, after = ([s.run for s in side if s.run] for side in (mine, theirs))
    versus.distinct([*before, *after])
    doubts = design.doubts(before, after)
    times = _times(mine, a, common) | _times(theirs, b, common)
    margins = Margins(args.least, design.DOUBT if doubts else None)
    rows = versus.time_rows(before, after, times, margins, in_turn=False)
    rows, spoils = _withheld(rows, [a], [b], common)
    remarks = [*_notes(rows, doubts, args.least, False), *versus.zeros(before, after, times)]
    remarks += spoils
    sides = outcome.of(a, args.slo), outcome.of(b, args.slo or a.slo)
    said = _knees(sides, max(args.least, design.DOUBT if doubts else 0.0))
    return Judged(rows, remarks, said, *map(outcome.as_json, sides))


def check(a: Sequence[Sweep], b: Sequence[Sweep], force: bool) -> dict[float, str]:
    """The values that all have. Failure if they are not comparable; if forced, a notice."""
    _checked(a, b)
    common = _common([*a, *b])
    if not common:
        raise Failure("nothing could be compared: no value was measured in all", NOTHING)
    found = _differences([step for x in (*a, *b) for step in _steps(x, common)])
    if found and not force:
        raise wrong_use(f"these sweeps differ in {'; '.join(found)} (--force compares them anyway)")
    for text in found:
        show.notice(f"compare: forced, although they differ in {text}")
    return common


def report(a: Sequence[Sweep], b: Sequence[Sweep], args: argparse.Namespace) -> int:
    """Prints the comparison; 4 if a step is in doubt. Shared with ab."""
    common = check(a, b, args.force)
    one = len(a) == len(b) == 1
    of = _alone(a[0], b[0], common, args) if one else _several(a, b, common, args)
    steps = [step for x in (*a, *b) for step in _steps(x, common)]
    untrusted = [f"{s.run.name}: {text}" for s in steps if s.run for text in s.run.doubts]
    _print(args, of, untrusted)
    for text in (*of.remarks, *untrusted):
        show.notice(f"compare: {text}")
    return UNTRUSTED if untrusted else OK


def run(args: argparse.Namespace) -> int:
    return report(*_sweeps(args), args)


def _print(args: argparse.Namespace, of: Judged, untrusted: list[str]) -> None:
    rows, knees, remarks = of.rows, of.knees, [*of.remarks, *untrusted]
    lines = _lines(rows, args.least)
    if args.format == forms.JSON:
        document = {
            "alpha": stats.ALPHA,
            "least": args.least,
            "rows": [asdict(r) for r in rows],
            "a": of.a,
            "b": of.b,
            "knees": knees[-1],
            "remarks": remarks,
        }
        print(json.dumps(document))
        return
    if args.format == forms.CSV:
        forms.print_csv(versus.CSV_HEAD, map(versus.csv_row, rows))
        return
    if args.format in (forms.MARKDOWN, forms.GITHUB):
        esc = markdown.escape
        text = "\n".join(
            ["### afpscope compare", "", *(f"- {esc(t)}" for t in (*knees, *remarks)), "",
             markdown.table(_HEAD, lines, 2)]
        )  # fmt: skip
        if args.format == forms.MARKDOWN:
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
