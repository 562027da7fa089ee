# SPDX-License-Identifier: GPL-2.0-or-later
"""What a sweep says: the knee, the resource that is used up there, and the scalability law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from . import knee, limits, show, usl
from .crowd import Load
from .knee import Knee, Slo
from .limits import Limit
from .steps import Level, Step, Sweep
from .usl import Usl
from .words import ENGLISH, Words

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
LINES = 28  # of the table on stdout


@dataclass(frozen=True)
class Row:
    """One value: medians of its steps. Times in ns."""

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


@dataclass(frozen=True)
class Outcome:
    """`usl`: the law, why it is not shown, or None where it does not apply."""

    sweep: Sweep
    slo: Slo | None
    knee: Knee
    limit: Limit | None
    usl: Usl | str | None
    rows: tuple[Row, ...]

    @property
    def failed(self) -> list[Step]:
        return [s for s in self.sweep.steps if s.trouble]


def _quantile(q: float) -> Any:
    return lambda load: load.latency().quantile(q)


def _row(level: Level) -> Row:
    most = limits.of_step(level.middle_step).busiest
    loads = level.loads
    return Row(
        level.text,
        len(loads),
        level.offered,
        level.achieved,
        {name: level.median(_quantile(q)) for name, q in QUANTILES.items()},
        level.of_probe(_quantile(0.99)),
        sum(x.failed for x in loads),
        sum(x.no_room or 0 for x in loads),
        sum(x.missing for x in loads),
        sum(x.lost for x in loads),
        sum(x.starved for x in loads),
        most[0] if most else None,
        most[1] if most else None,
        max(x.cpu_share for x in loads),
        level.saturated,
    )


def _law(sweep: Sweep, w: Words) -> Usl | str | None:
    if sweep.option != "clients" or sweep.open_loop:
        return None
    loads: list[tuple[float, Load]] = [(x.value, load) for x in sweep.levels for load in x.loads]
    return usl.fit([n for n, _ in loads], [load.achieved for _, load in loads], w=w)


def of(sweep: Sweep, slo: str | None = None, w: Words = ENGLISH) -> Outcome:
    """By the sweep's own SLO, or by another; its sentences in the language of w."""
    text = slo or sweep.slo
    limit = knee.slo(text) if text else None
    found = knee.find(sweep, limit, w)
    return Outcome(
        sweep,
        limit,
        found,
        limits.used_up(found.below, found.above, w),
        _law(sweep, w),
        tuple(_row(level) for level in sweep.levels),
    )


# As text


def interval(found: Knee, w: Words = ENGLISH) -> str:
    """The interval of the knee in words; empty where there is none."""
    if found.low and found.high:
        return w.say("knee_within", low=found.low, high=found.high)
    if found.low and found.at:
        return w.say("knee_from", low=found.low)
    return w.say("knee_to", high=found.high) if found.high else ""


def law_text(law: Usl, w: Words = ENGLISH) -> str:
    """The universal scalability law in a sentence."""

    def share(value: float, within: tuple[float, float]) -> str:
        low, high = (f"{x:.2g}" for x in within)
        return w.say("usl_within", value=f"{value:.2g}", low=low, high=high)

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
    if any(row.saturated for row in o.rows):
        those = ", ".join(row.value for row in o.rows if row.saturated)
        out.append(w.say("no_time_left", values=those))
    out += [w.say("step_failed", folder=s.folder, why=s.trouble) for s in o.failed[:5]]
    if len(o.failed) > 5:
        out.append(w.say("steps_failed", n=len(o.failed) - 5))
    return out


def _short(ns: float | None) -> str:
    return show.time(ns).replace(" ", "")


def _rate(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


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


HEAD = ("n", "offered/s", "done/s", "p50", "p99", "p99.9", "probe p99", "bad", "busiest", "client")


def cells(row: Row) -> list[str]:
    return [
        row.value,
        f"{row.n}",
        _rate(row.offered),
        _rate(row.achieved),
        *(_short(row.latency[q]) for q in ("p50", "p99", "p99.9")),
        _short(row.probe_p99),
        bad(row),
        busiest(row),
        f"{row.generator:.0%}{'!' if row.saturated else ''}",
    ]


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
    lines = [] if not rows else [show.table([o.sweep.option, *HEAD], map(cells, rows), 0)]
    if len(rows) < len(o.rows):
        lines.append(f"({len(o.rows) - len(rows)} more values: --json, or afpscope report)")
    lines.append("")
    for text in sentences(o):
        lines += _fold(show.plain(text))
    return "\n".join(lines)


def as_json(o: Outcome) -> dict[str, Any]:
    """The outcome as plain values, for --json."""
    return {
        "knee": {
            "rule": o.knee.rule,
            "slo": o.slo.text if o.slo else None,
            "at": o.knee.at,
            "low": o.knee.low,
            "high": o.knee.high,
            "text": o.knee.text,
        },
        "limit": asdict(o.limit) if o.limit else None,
        "usl": asdict(o.usl) if isinstance(o.usl, Usl) else None,
        "usl_absent": o.usl if isinstance(o.usl, str) else None,
        "rows": [asdict(row) for row in o.rows],
        "failed": [{"folder": s.folder, "why": s.trouble} for s in o.failed],
    }
