# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of a run in a lake: those of tables.of_run, and what only many runs together need.

docs/analysis.md lists them. A column that has no value in this run is left out of its table, so
that runs of a kind of server do not have the columns of another: a reader takes the union.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime

from ..judge import spoiled, versus
from ..saved import hist
from ..saved.hist import Histogram
from ..saved.run import Run
from ..saved.trace import Trace
from . import tables, values
from .duck import FLAG, INT, MAP, REAL, TEXT, TEXTS, TIME, UINT, Columns, Rows, Table
from .tables import KEY

RUNS = "runs"  # the table that each run of a lake has


def alike(run: Run) -> str:
    """Runs whose settings and amounts of work are the same have the same text."""
    text = json.dumps(versus.settings(run) | versus.work_amounts(run), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _started(run: Run) -> str | None:
    """In UTC, as DuckDB's TIME takes it."""
    try:
        return str(datetime.fromisoformat(run.started).astimezone(UTC).replace(tzinfo=None))
    except (ValueError, OverflowError):
        return None


def _runs(run: Run, trace: Trace | None) -> tuple[Rows, Columns]:
    doubts = [*run.doubts, *spoiled.of(run)]
    row = {
        "id": run.id, "name": run.name, "command": run.command, "set": run.set, "kind": run.kind,
        "version": run.version, "started": _started(run), "complete": run.complete,
        "trusted": not doubts, "doubts": doubts, "alike": alike(run),
        "offset_ns": trace.offset_ns if trace else None, "verdict": run.verdict,
        "cause": run.diagnosed.key if run.diagnosed else None,
    }  # fmt: skip
    notes = {"labels": run.labels, "server": run.server, "options": run.options,
             "environment": run.environment}  # fmt: skip
    texts = ("id", "name", "command", "set", "kind", "version")
    return [row | {key: dict(of) for key, of in notes.items()}], [
        *((key, TEXT) for key in texts), ("started", TIME), ("complete", FLAG),
        ("trusted", FLAG), ("doubts", TEXTS), ("alike", TEXT), ("offset_ns", INT),
        ("verdict", TEXT), ("cause", TEXT), *((key, MAP) for key in notes),
    ]  # fmt: skip


def _metrics(run: Run, _: Trace | None) -> tuple[Rows, Columns]:
    rows = [
        {"test": p.test, "iteration": p.iteration, "title": p.title, "metric": m.key,
         "unit": m.unit, "better": m.better, "value": p.metrics.get(m.key)}
        for p in run.phases for m in run.metrics if p.metrics.get(m.key) is not None
    ]  # fmt: skip
    texts = [(key, TEXT) for key in ("title", "metric", "unit", "better")]
    return rows, [*KEY, *texts, ("value", INT)]


def _values(run: Run, _: Trace | None) -> tuple[Rows, Columns]:
    rows = [
        {"test": row.test, "command": row.command, "figure": row.figure, "label": row.label,
         "unit": row.unit, "better": row.better, "value": value.amount}
        for row, value in values.of_run(run).items()
    ]  # fmt: skip
    keys = ("test", "command", "figure", "label", "unit", "better")
    return rows, [*((key, TEXT) for key in keys), ("value", REAL)]


def _histograms_of(run: Run) -> Iterator[tuple[int, int, str, str, Histogram]]:
    for p in run.phases:
        for c in p.commands:
            yield p.test, p.iteration, "client", c.name, c.histogram
        for a in p.requests or ():
            if a.histogram:
                yield p.test, p.iteration, "server", a.name, a.histogram
        for who, of in (("action", p.load), ("probe", p.probe)):
            for action in of.actions if of else ():
                yield p.test, p.iteration, who, action.name, action.planned


def _histograms(run: Run, _: Trace | None) -> tuple[Rows, Columns]:
    rows = [
        {"test": test, "iteration": iteration, "of": of, "name": name,
         "from_ns": hist.low(index, h.bits), "below_ns": hist.low(index + 1, h.bits), "n": n}
        for test, iteration, of, name, h in _histograms_of(run) for index, n in h.buckets
    ]  # fmt: skip
    ends = [("from_ns", UINT), ("below_ns", UINT), ("n", UINT)]
    return rows, [*KEY, ("of", TEXT), ("name", TEXT), *ends]


def _sessions(run: Run, _: Trace | None) -> tuple[Rows, Columns]:
    rows = [
        {"user": s.user, "address": s.address, "requests": s.requests, "busy_ns": s.busy_ns}
        for s in run.sessions
    ]
    return rows, [("user", TEXT), ("address", TEXT), ("requests", INT), ("busy_ns", INT)]


def _books(run: Run, _: Trace | None) -> tuple[Rows, Columns]:
    rows = [
        {"name": b.name, "with": b.with_, "ours": b.ours, "theirs": b.theirs, "closed": b.closed}
        for b in run.books
    ]
    numbers = [("ours", INT), ("theirs", INT), ("closed", FLAG)]
    return rows, [("name", TEXT), ("with", TEXT), *numbers]


def _losses(run: Run, _: Trace | None) -> tuple[Rows, Columns]:
    return [{"what": what, "n": n} for what, n in run.losses], [("what", TEXT), ("n", INT)]


def _storage(run: Run, _: Trace | None) -> tuple[Rows, Columns]:
    rows: Rows = []
    keys: dict[str, None] = {}
    for p in run.phases:
        for s in p.storage:
            keys.update(dict.fromkeys(s.figures))
            of = {"test": p.test, "iteration": p.iteration, "role": s.role, "name": s.name}
            rows.append(of | s.figures)
    return rows, [*KEY, ("role", TEXT), ("name", TEXT), *((key, INT) for key in keys)]


_MORE = {
    RUNS: _runs,
    "metrics": _metrics,
    "values": _values,
    "histograms": _histograms,
    "sessions": _sessions,
    "books": _books,
    "losses": _losses,
    "storage": _storage,
}


def _without_empty_columns(of: Table) -> Table:
    has = [c for c in of.columns if any(row.get(c[0]) is not None for row in of.rows)]
    return Table(has, of.rows)


def of_run(run: Run, trace: Trace | None) -> dict[str, Table]:
    """The tables by name; none without rows."""
    made = tables.of_run(run)
    for name, make in _MORE.items():
        made[name] = tables.table_of(*make(run, trace))
    return {name: _without_empty_columns(of) for name, of in made.items() if of.rows}
