# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of a sweep: one page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..limit import knee, outcome
from ..limit.outcome import Outcome, Row
from ..saved.crowd import MEAN
from ..saved.hist import QUANTILES
from ..saved.steps import Sweep
from ..show import rate
from ..words import Words
from . import painter, sweepfigures
from .loadfigures import Drawn
from .painter import Painter, Picture

TEMPLATE = "sweep.html"


@dataclass(frozen=True)
class Line:
    """A row of the page's table."""

    value: str
    n: int
    offered: str
    achieved: str
    times: list[str]
    bad: str
    busiest: str
    generator: str
    saturated: bool
    is_knee: bool
    mean: str
    mb_s: str
    drops: str
    buffer: str


@dataclass(frozen=True)
class Call:
    """A row of the table of tests: one at one value."""

    name: str
    value: str
    n: int
    mean: float | None
    p99: float | None
    mb_s: str
    failed: int
    drops: str
    ratio: str  # in the first row of a test


def _line(o: Outcome, row: Row, w: Words) -> Line:
    return Line(
        row.value,
        row.n,
        rate(row.offered) if row.offered is not None else "",
        rate(row.achieved),
        [row.time(q) for q in outcome.times(o, *QUANTILES)],
        outcome.bad(row),
        outcome.busiest(row, w),
        f"{row.generator:.0%}{'!' if row.saturated else ''}",
        row.saturated,
        row.value == o.knee.at,
        row.time("mean"),
        rate(row.mb_s) if row.mb_s is not None else "n/a",
        outcome.counted(row.drops),
        outcome.size(row.buffer),
    )


def _heads(o: Outcome, w: Words) -> list[str]:
    """Of the times of a row."""
    shown = outcome.times(o, *QUANTILES)
    return [w[key] if key.startswith("probe") else w.head(text) for key, text in shown.items()]


def _calls(o: Outcome, w: Words) -> list[Call]:
    return [
        Call(
            test.name, at.value, at.n, at.mean_ns, at.p99_ns,
            rate(at.mb_s) if at.mb_s is not None else "n/a", at.failed,
            outcome.counted(at.drops), outcome.ratio(test, w) if at is test.at[0] else "",
        )
        for test in o.tests
        for at in test.at
    ]  # fmt: skip


def _pictures(o: Outcome, made: Painter) -> dict[str, Picture]:
    w, labels = made.w, made.labels
    drawn: dict[str, Drawn | None] = {
        "sweep_latency": sweepfigures.latency(o, labels),
        "sweep_rate": sweepfigures.rate(o, labels),
    }
    if o.sweep.of_calls:
        drawn["sweep_tests"] = sweepfigures.tests(o, labels)
        drawn["sweep_probe"] = sweepfigures.probe(o, labels)
    else:
        drawn["sweep_probe"] = sweepfigures.probe(o, labels)
        drawn["sweep_parts"] = sweepfigures.parts(o, labels)
    out: dict[str, Picture] = {}
    for key, of in drawn.items():
        caption = w.say(f"{key}_note", option=sweepfigures.name(o.sweep.option, w))
        if picture := made.drawn(key.replace("_", "-"), caption, of):
            out[key] = picture
    return out


def _table(o: Outcome, made: Painter) -> None:
    """The table for papers, as CSV."""
    head = (
        o.sweep.option, "steps", "offered_per_s", "achieved_per_s",
        "mean_ns", *(f"{q.replace('.', '')}_ns" for q in QUANTILES), "max_ns", "probe_mean_ns",
        "probe_p99_ns", "failed", "dropped",
        "without_session", "lost", "busiest", "busiest_share", "generator_cpu",
        "generator_saturated",
    )  # fmt: skip
    made.table(
        "sweep-table",
        head,
        [
            (r.value, r.n, r.offered, r.achieved, r.mean, *r.latency.values(), r.max,
             r.probe_mean, r.probe_p99, r.failed, r.dropped, r.missing, r.lost,
             r.busiest, r.busiest_share, r.generator, int(r.saturated))
            for r in o.rows
        ],
    )  # fmt: skip


def _tests_table(o: Outcome, made: Painter) -> None:
    """Each test at each value, as CSV."""
    head = ("test", o.sweep.option, "steps", "mean_ns", "p99_ns", "mb_s", "failed", "drops",
            "ratio_first_to_last", "ratio_low", "ratio_high")  # fmt: skip
    made.table(
        "sweep-tests-table",
        head,
        [
            (t.name, at.value, at.n, at.mean_ns, at.p99_ns, at.mb_s, at.failed, at.drops,
             t.ratio, *(t.within or (None, None)))
            for t in o.tests
            for at in t.at
        ],
    )  # fmt: skip


def _title(sweep: Sweep, w: Words) -> str:
    values = f"{sweep.values[0]} to {sweep.values[-1]}" if sweep.values else ""
    return " · ".join((w["sweep"], sweep.target, f"{sweep.option} {values}", sweep.name))


def _limit_note(o: Outcome, w: Words) -> str:
    above = o.knee.above.folder if o.knee.above else ""
    if not o.knee.below:
        return w.say("sweep_limit_one", above=above)
    return w.say("sweep_limit_note", below=o.knee.below.folder, above=above)


def page(sweep: Sweep, made: Painter, slo: str | None) -> tuple[str, list[str]]:
    """The page, and why it may not be relied on."""
    o, w = outcome.of(sweep, slo, made.w), made.w
    doubts = [f"{s.folder}: {text}" for s in sweep.steps if s.run for text in s.run.doubts]
    if not sweep.complete:
        doubts.insert(0, f"the sweep is not complete: {sweep.stopped or 'it failed'}")
    _table(o, made)
    if o.tests:
        _tests_table(o, made)
    values: dict[str, Any] = {
        "w": w,
        "sweep": sweep,
        "title": _title(sweep, w),
        "verdict": outcome.sentences(o, w),
        "alarms": doubts[:10],
        "pictures": _pictures(o, made),
        "limit": o.limit,
        "limit_note": _limit_note(o, w),
        "axis": sweepfigures.name(sweep.option, w),
        "rows": [_line(o, row, w) for row in o.rows],
        "times": _heads(o, w),
        "step_time": ("mean", MEAN) if sweep.mixed else ("p99", 0.99),
        "calls": _calls(o, w),
        "limits": lambda load: knee.verdicts(load, w),
        "run": sweep.measured[0].run if sweep.measured else None,
    }
    return painter.render(TEMPLATE, **values), doubts
