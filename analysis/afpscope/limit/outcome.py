# SPDX-License-Identifier: GPL-2.0-or-later
"""What a sweep says: the knee, the resource that is used up there, and the scalability law."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .. import forms, markdown, show
from ..saved.crowd import MAX, MEAN, Bound, Load
from ..saved.hist import QUANTILES
from ..saved.run import Socket
from ..saved.steps import Level, Step, Sweep, middle, middle_bound
from ..words import ENGLISH, Words
from . import calls, knee, limits, usl
from .calls import Test
from .knee import Knee, Slo
from .limits import Limit
from .usl import Usl

LINES = 28  # of the table on stdout
ZERO = 1e-6
REPLAY = "replay"
REPEAT = 3  # steps of each value that give a knee an interval


@dataclass(frozen=True)
class Row:
    """One value: medians of its steps. Times in ns, quantiles of all actions together;
    `at_least`: which of them are at least that."""

    value: str
    n: int
    offered: float | None
    achieved: float
    latency: dict[str, float | None]
    probe_p99: float | None
    failed: int
    dropped: int
    missing: int
    lost: int
    starved: int
    busiest: str | None
    busiest_share: float | None
    generator: float
    saturated: bool
    mean: float | None
    max: float | None
    probe_mean: float | None
    limited: float | None  # what the limit is of, if it is of a time
    mb_s: float | None
    drops: int | None  # of the server's sockets (rx); None: not seen
    buffer: int | None  # of the server's socket (rx), in bytes
    at_least: tuple[str, ...] = ()  # of QUANTILES and the fields that are times
    busy: bool = False  # saturated, as a thread of the generator had no time left

    def time(self, name: str) -> str:
        """One of these."""
        ns = self.latency[name] if name in self.latency else getattr(self, name)
        return show.time(ns, name in self.at_least)


@dataclass(frozen=True)
class Outcome:
    """`usl`: the law, why it is not shown, or None where it does not apply."""

    sweep: Sweep
    slo: Slo | None
    knee: Knee
    limit: Limit | None
    usl: Usl | str | None
    rows: tuple[Row, ...]
    tests: tuple[Test, ...] = ()  # of a sweep of rx

    @property
    def failed(self) -> list[Step]:
        return [s for s in self.sweep.steps if s.trouble]


def _row(level: Level, rx: bool, slo: Slo | None) -> Row:
    most = limits.of_step(level.middle_step).busiest
    loads = level.loads
    probes = [p.probe for p in level.phases if p.probe]
    times = {name: middle_bound(x.bound(q) for x in loads) for name, q in QUANTILES.items()}
    others = {
        "probe_p99": middle_bound(x.bound(0.99) for x in probes),
        "mean": middle_bound(x.bound(MEAN) for x in loads),
        "max": middle_bound(x.bound(MAX) for x in loads),
        "probe_mean": middle_bound(x.bound(MEAN) for x in probes),
        "limited": middle_bound(map(slo.value, level.phases)) if slo else Bound(None),
    }
    return Row(
        level.text,
        len(loads),
        level.offered,
        level.achieved,
        {name: of.ns for name, of in times.items()},
        others["probe_p99"].ns,
        sum(x.failed for x in loads),
        sum(x.no_room or 0 for x in loads),
        sum(x.missing for x in loads),
        sum(x.lost for x in loads),
        sum(x.starved for x in loads),
        most[0] if most else None,
        most[1] if most else None,
        max(x.cpu_share for x in loads),
        level.busy if rx else level.saturated,
        others["mean"].ns,
        others["max"].ns,
        others["probe_mean"].ns,
        others["limited"].ns,
        middle(map(calls.mb_s, level.phases)),
        _sum(calls.drops(s) for s in level.steps),
        min((s.buffer for s in _sockets(level) if s.buffer), default=None),
        tuple(name for name, of in (times | others).items() if of.at_least),
        level.busy,
    )


def _sockets(level: Level) -> list[Socket]:
    return [s for step in level.steps if step.run for s in step.run.sockets]


def _sum(values: Iterable[int | None]) -> int | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None


def _limit(sweep: Sweep, found: Knee, w: Words) -> Limit | None:
    """A server over Rx is judged by the run itself, at the step that is beyond the knee."""
    if not sweep.of_calls:
        return limits.used_up(found.below, found.above, w)
    less = sweep.of_server and found.rule == "growth"
    return limits.diagnosed(found.below if less else found.above)


def _law(sweep: Sweep, w: Words) -> Usl | str | None:
    if sweep.option != "clients" or sweep.open_loop:
        return None
    loads: list[tuple[float, Load]] = [(x.value, load) for x in sweep.levels for load in x.loads]
    return usl.fit([n for n, _ in loads], [load.achieved for _, load in loads], w=w)


def of(sweep: Sweep, slo: str | None = None, w: Words = ENGLISH) -> Outcome:
    """By the sweep's own SLO, or by another; its sentences in the language of w."""
    text = slo or sweep.slo
    own = knee.KEPT_UP_WITH if sweep.command == REPLAY else None
    limit = knee.slo(text) if text else own
    found = knee.find(sweep, limit, w)
    return Outcome(
        sweep,
        limit,
        found,
        _limit(sweep, found, w),
        _law(sweep, w),
        tuple(_row(level, sweep.of_calls, limit) for level in sweep.levels),
        tuple(calls.tests(sweep)),
    )


# As text


def interval(found: Knee, w: Words = ENGLISH) -> str:
    """The interval of the knee in words, or that there is none; empty where there is no knee."""
    if found.low and found.high:
        text = w.say("knee_within", low=found.low, high=found.high)
    elif found.low and found.at:
        text = w.say("knee_from", low=found.low)
    elif found.high:
        text = w.say("knee_to", high=found.high)
    else:
        return ""
    if found.level:
        return w.say("knee_level", level=found.level, text=text)
    return w.say("knee_rough", text=text, n=REPEAT)


def law_text(law: Usl, w: Words = ENGLISH) -> str:
    """The universal scalability law in a sentence."""

    def share(value: float, within: tuple[float, float]) -> str:
        # the bound of the fit is 0: what is nearly there is there
        text, low, high = (f"{x:.2g}" if x >= ZERO else "0" for x in (value, *within))
        return w.say("usl_within", value=text, low=low, high=high)

    text = w.say(
        "usl",
        contention=share(law.contention, law.contention_within),
        coherency=share(law.coherency, law.coherency_within),
        r2=law.r2,
    )
    if law.peak is None:
        return text
    text = w.say("usl_peak", text=text, clients=law.peak)
    if not law.peak_within:
        return text
    low, high = (f"{x:,.0f}" for x in law.peak_within)
    return w.say("usl_within", value=text, low=low, high=high)


def sentences(o: Outcome, w: Words = ENGLISH) -> list[str]:
    """What the sweep says, the most important first. w: as of the outcome itself."""
    of_knee = interval(o.knee, w)
    out = [w.say("is_knee", text=o.knee.text) + (f"; {of_knee}" if of_knee else "")]
    if o.limit:
        out.append(w.say("is_used_up", text=o.limit.text))
    if isinstance(o.usl, Usl):
        out.append(law_text(o.usl, w))
    elif o.usl:
        out.append(w.say("usl_absent", why=o.usl))
    for key, busy in (("no_time_left", True), ("began_late", False)):
        if those := [row.value for row in o.rows if row.saturated and row.busy == busy]:
            out.append(w.say(key, values=", ".join(those)))
    if noisy := [s for s in o.sweep.steps if s.quiet is False]:
        out.append(w.say("not_quiet", n=len(noisy), of=len(o.sweep.steps)))
    out += [w.say("step_failed", folder=s.folder, why=s.trouble) for s in o.failed[:5]]
    if len(o.failed) > 5:
        out.append(w.say("steps_failed", n=len(o.failed) - 5))
    return out


def _short(ns: float | None) -> str:
    return show.time(ns).replace(" ", "")


def _least(row: Row, name: str) -> str:
    return row.time(name).replace(" ", "")


def bad(row: Row) -> str:
    """Failed actions, arrivals dropped, clients without a session, lost, or never served."""
    parts = (
        (row.failed, "err"),
        (row.dropped, "drop"),
        (row.missing, "no"),
        (row.lost, "lost"),
        (row.starved, "stuck"),
    )
    return " ".join(f"{n}{word}" for n, word in parts if n) or "0"


def busiest(row: Row, w: Words = ENGLISH) -> str:
    return f"{w[f'r_{row.busiest}']} {row.busiest_share:.0%}" if row.busiest else "n/a"


def times(o: Outcome, *quantiles: str) -> dict[str, str]:
    """Of a row which times are shown, each with its heading: of actions of several kinds not these
    quantiles of all of them, unless that is what the limit is of."""
    shown = ("mean", "max") if o.sweep.mixed else quantiles
    out = {name: name for name in shown}
    if o.slo and o.slo.limit_ns and o.slo.figure not in out:
        out["limited"] = o.slo.figure
    if o.sweep.command == REPLAY:
        return out
    probe = "probe_mean" if o.sweep.mixed_probe else "probe_p99"
    return out | {probe: probe.replace("_", " ")}


def _times(o: Outcome) -> dict[str, str]:
    if o.sweep.of_calls:
        return {"mean": "mean"} | times(o, "p50", "p99")
    return times(o, "p50", "p99", "p99.9")


def head(o: Outcome) -> list[str]:
    """Of the table on stdout."""
    if o.sweep.of_calls:
        return ["n", "done/s", "MB/s", *_times(o).values(), "bad", "drops", "buffer", "client"]
    return ["n", "offered/s", "done/s", *_times(o).values(), "bad", "busiest", "client"]


def _generator(row: Row) -> str:
    return f"{row.generator:.0%}{'!' if row.saturated else ''}"


def _cells(o: Outcome, row: Row) -> list[str]:
    return [
        f"{row.n}",
        show.rate(row.offered),
        show.rate(row.achieved),
        *(_least(row, q) for q in _times(o)),
        bad(row),
        busiest(row),
        _generator(row),
    ]


def size(value: int | None) -> str:
    """64K, 16M: as options have it."""
    if value is None:
        return "n/a"
    for shift, unit in ((30, "G"), (20, "M"), (10, "K")):
        if value >> shift and not value & ((1 << shift) - 1):
            return f"{value >> shift}{unit}"
    return f"{value}"


def counted(n: int | None) -> str:
    return "n/a" if n is None else f"{n:,}"


def _cells_rx(o: Outcome, row: Row) -> list[str]:
    return [
        f"{row.n}",
        show.rate(row.achieved),
        show.rate(row.mb_s),
        *(_least(row, q) for q in _times(o)),
        bad(row),
        counted(row.drops),
        size(row.buffer),
        _generator(row),
    ]


def cells(o: Outcome, row: Row) -> list[str]:
    """A row of that table."""
    return [row.value, *(_cells_rx if o.sweep.of_calls else _cells)(o, row)]


def ratio(test: Test, w: Words = ENGLISH) -> str:
    """How many times longer a call takes at the first value than at the last."""
    if test.ratio is None:
        return "n/a"
    value = f"{test.ratio:.3g}"
    if not test.within:
        return value
    low, high = (f"{x:.3g}" for x in test.within)
    return w.say("usl_within", value=value, low=low, high=high)


def _tests(o: Outcome) -> list[str]:
    """Each test at the least and the largest value, as the study at CERN had them."""
    if not o.tests or len(o.tests[0].at) < 2:
        return []
    first, last = o.tests[0].at[0].value, o.tests[0].at[-1].value
    names = ["test"]
    names += [f"{what} {value}" for value in (first, last) for what in ("mean", "p99", "failed")]
    rows = []
    for test in o.tests:
        row = [test.name]
        for at in (test.at[0], test.at[-1]):
            row += [_short(at.mean_ns), _short(at.p99_ns), f"{at.failed:,}"]
        rows.append([*row, ratio(test)])
    out = ["", show.table([*names, "ratio of means"], rows, 0)]
    if any(test.ratio and not test.within for test in o.tests):
        n = calls.steps_needed()
        out.append(f"(the ratio's interval needs {n} steps of both values: --repeat {n})")
    return out


def _shown(o: Outcome) -> Sequence[Row]:
    """All rows, or those around the knee and some of the others."""
    if len(o.rows) <= LINES:
        return o.rows
    values = [row.value for row in o.rows]
    at = values.index(o.knee.at) if o.knee.at in values else len(values) - 1
    near = set(range(max(0, at - LINES // 4), min(len(values), at + LINES // 4)))
    rest = [i for i in range(len(values)) if i not in near]
    keep = LINES - len(near)
    near |= {rest[round(i * (len(rest) - 1) / (keep - 1))] for i in range(keep)}
    return [o.rows[i] for i in sorted(near)]


def _fold(text: str, width: int = 100) -> list[str]:
    """Lines of at most that width; those after the first are indented."""
    out, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            out.append(line)
            line = f"  {word}"
        else:
            line = f"{line} {word}" if line else word
    return [*out, line]


def screen(o: Outcome) -> str:
    """One screen: at most 40 lines of 100 columns, unless names are longer."""
    rows = _shown(o)
    of = [cells(o, row) for row in rows]
    lines = [show.table([o.sweep.option, *head(o)], of, 0)] if of else []
    if len(rows) < len(o.rows):
        lines.append(f"({len(o.rows) - len(rows)} more values: --json, or afpscope report)")
    if len(o.tests) > 1:
        lines.append(f"(of {o.tests[0].name}, the first test of each step)")
    lines += [*_tests(o), ""]
    for text in sentences(o):
        lines += _fold(show.plain(text))
    return "\n".join(lines)


def as_json(o: Outcome) -> dict[str, Any]:
    """The outcome as plain values, for --json."""
    return {
        "knee": {
            "rule": o.knee.rule,
            "slo": o.slo.text or None if o.slo else None,
            "at": o.knee.at,
            "low": o.knee.low,
            "high": o.knee.high,
            "level": o.knee.level,
            "text": o.knee.text,
        },
        "limit": asdict(o.limit) if o.limit else None,
        "usl": asdict(o.usl) if isinstance(o.usl, Usl) else None,
        "usl_absent": o.usl if isinstance(o.usl, str) else None,
        "rows": [asdict(row) for row in o.rows],
        "tests": [asdict(test) for test in o.tests],
        "failed": [{"folder": s.folder, "why": s.trouble} for s in o.failed],
    }


def put(o: Outcome, form: str) -> None:
    """Prints the outcome in one of the forms for programs."""
    if form == forms.JSON:
        print(json.dumps(as_json(o)))
        return
    names, rows = [o.sweep.option, *head(o)], [cells(o, row) for row in o.rows]
    if form == forms.CSV:
        forms.print_csv(names, rows)
        return
    lines = [f"- {markdown.escape(text)}" for text in sentences(o)]
    print("\n".join(["### afpscope sweep", "", *lines, "", markdown.table(names, rows)]))
