# SPDX-License-Identifier: GPL-2.0-or-later
"""A run as tables: those made from run.json; docs/analysis.md lists tables and columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import process
from ..errors import Failure
from ..saved.crowd import Load
from ..saved.model import Phase
from ..saved.run import Run
from . import duck
from .duck import BOTH, FLAG, INT, REAL, TEXT, UINT, Columns, Rows, Table

_INT_MAX = (1 << 63) - 1


def _of_phase(p: Phase) -> dict[str, Any]:
    return {"test": p.test, "iteration": p.iteration}


KEY = [("test", INT), ("iteration", INT)]


def _phases(run: Run) -> tuple[Rows, Columns]:
    keys: dict[str, None] = {}
    for p in run.phases:
        keys.update(dict.fromkeys(p.metrics))
    rows = [
        _of_phase(p)
        | {"title": p.title, "start_ns": p.start_ns, "complete": p.complete}
        | {key: p.metrics.get(key) for key in keys}
        for p in run.phases
    ]
    schema = [*KEY, ("title", TEXT), ("start_ns", INT), ("complete", FLAG)]
    return rows, [*schema, *((key, INT) for key in keys if key not in ("title", "complete"))]


_LATENCY = ("min_ns", "max_ns", "p50_ns", "p95_ns", "p99_ns", "p999_ns")


def _commands(run: Run) -> tuple[Rows, Columns]:
    rows = [
        _of_phase(p)
        | {"code": c.code, "name": c.name, "ops": c.ops, "errors": c.errors, "sum_ns": c.sum_ns}
        | {key: c.latency.get(key) for key in _LATENCY}
        for p in run.phases
        for c in p.commands
    ]
    schema = [*KEY, ("code", INT), ("name", TEXT), ("ops", INT), ("errors", INT)]
    return rows, [*schema, ("sum_ns", UINT), *((key, INT) for key in _LATENCY)]


def _samples(run: Run) -> tuple[Rows, Columns]:
    rows = [
        {"test": p.test, "work": p.transfer.work, "size_bytes": p.transfer.size_bytes,
         "iteration": s.iteration, "warmup": s.warmup, "complete": s.complete, "ns": s.ns,
         "bytes": s.bytes}
        for p in run.phases if p.transfer for s in p.transfer.samples
    ]  # fmt: skip
    return rows, [
        ("test", INT), ("work", TEXT), ("size_bytes", INT), ("iteration", INT),
        ("warmup", FLAG), ("complete", FLAG), ("ns", INT), ("bytes", INT),
    ]  # fmt: skip


def _accounts(run: Run) -> tuple[Rows, Columns]:
    columns: dict[str, None] = {}
    rows: Rows = []
    for p in run.phases:
        for a in (*(p.requests or ()), *(p.outside or ())):
            row = _of_phase(p) | {"number": a.number, "name": a.name, "requests": a.requests}
            row |= {"time_ns": a.time_ns, "service_ns": a.service_ns} | a.figures
            more = {f"{key}_ns": value for key, value in a.times.items()}
            more |= {f"inside_{key}_ns": value for key, value in a.inside.items()}
            columns.update(dict.fromkeys(more))
            rows.append(row | more)
    keys = [
        "requests",
        "time_ns",
        "service_ns",
        "begun",
        "errors",
        "failed",
        "bytes_in",
        "bytes_out",
    ]
    keys += ["unexplained_ns", "unexplained"]
    keys += ["min_ns", "max_ns", "p50_ns", "p99_ns", "p999_ns", *columns]
    return rows, [*KEY, ("number", INT), ("name", TEXT), *((key, INT) for key in keys)]


_PART = ("calls", "errors", "bytes", "cpu_ns", "blocked_ns", "runq_ns", "stopped_ns")


def _parts(run: Run) -> tuple[Rows, Columns]:
    rows = [
        _of_phase(p)
        | {"number": a.number, "name": a.name, "requests": a.requests}
        | {"role": r.role, "class": r.class_, "object": r.object, "calls": r.calls}
        | {key: r.figures.get(key) for key in _PART[1:]}
        for p in run.phases
        for a in (*(p.requests or ()), *(p.outside or ()))
        for r in a.parts
    ]
    texts = [(key, TEXT) for key in ("role", "class", "object")]
    schema = [*KEY, ("number", INT), ("name", TEXT), ("requests", INT), *texts]
    return rows, [*schema, *((key, INT) for key in _PART)]


_QUANTILES = {"p50_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99, "p999_ns": 0.999}


def _loads(run: Run) -> Iterator[tuple[dict[str, Any], Load]]:
    """Each load and each probe, with the columns that say which."""
    for p in run.phases:
        for who, of in (("clients", p.load), ("probe", p.probe)):
            if of:
                yield _of_phase(p) | {"who": who}, of


_WHO = [*KEY, ("who", TEXT)]


def _actions(run: Run) -> tuple[Rows, Columns]:
    rows = [
        key
        | {"action": a.name, "n": a.n, "failed": a.failed, "sum_ns": a.sum_ns, "max_ns": a.max_ns}
        | {name: a.planned.quantile(q) for name, q in _QUANTILES.items()}
        for key, of in _loads(run)
        for a in of.actions
    ]
    schema = [*_WHO, ("action", TEXT), ("n", INT), ("failed", INT), ("sum_ns", UINT)]
    return rows, [*schema, *((key, INT) for key in ("max_ns", *_QUANTILES))]


def _seconds(run: Run) -> tuple[Rows, Columns]:
    rows = [
        key
        | {"second": at * of.seconds_each, "n": s.n, "failed": s.failed, "max_ns": s.max_ns}
        | {"dropped": s.dropped, "bytes": s.bytes}
        | {name: s.histogram.quantile(q) for name, q in _QUANTILES.items()}
        for key, of in _loads(run)
        for at, s in enumerate(of.seconds)
    ]
    keys = ("second", "n", "failed", "max_ns", *_QUANTILES, "dropped", "bytes")
    return rows, [*_WHO, *((key, INT) for key in keys)]


def _stages(run: Run) -> tuple[Rows, Columns]:
    rows = [
        key
        | {"from_s": s.from_s, "to_s": s.to_s}
        | {"from_per_s": s.from_per_s, "to_per_s": s.to_per_s}
        | {"from_clients": s.from_clients, "to_clients": s.to_clients}
        | {"planned": s.planned, "n": s.n, "failed": s.failed}
        | {name: s.latency.quantile(q) for name, q in _QUANTILES.items()}
        for key, of in _loads(run)
        for s in of.stages
    ]
    keys = ("from_s", "to_s", "from_per_s", "to_per_s", "from_clients", "to_clients")
    rates = [(key, REAL) for key in keys]
    return rows, [*_WHO, *rates, *((k, INT) for k in ("planned", "n", "failed", *_QUANTILES))]


def _clients(run: Run) -> tuple[Rows, Columns]:
    rows = [
        key
        | {"client": at, "actions": c.actions, "failed": c.failed, "bytes": c.bytes}
        | {"last_ns": c.last_ns, "sum_ns": c.sum_ns, "max_ns": c.max_ns}
        | {"lost": c.lost, "address": c.address}
        for key, of in _loads(run)
        for at, c in enumerate(of.each_client)
    ]
    keys = ("client", "actions", "failed", "bytes", "last_ns", "sum_ns", "max_ns")
    schema = [*_WHO, *((key, INT) for key in keys)]
    return rows, [*schema, ("lost", FLAG), ("address", TEXT)]


def _intervals(run: Run) -> tuple[Rows, Columns]:
    columns: dict[str, None] = {}
    rows: Rows = []
    for p in run.phases:
        for i in p.intervals:
            more = {f"{key}_ns": ns for key, ns in (i.parts or {}).items()}
            columns.update(dict.fromkeys(more))
            rows.append(_of_phase(p) | {"end_ns": i.end_ns} | more)
    return rows, [*KEY, ("end_ns", INT), *((key, INT) for key in columns)]


_OF_LOAD = {
    "actions": _actions,
    "seconds": _seconds,
    "stages": _stages,
    "clients": _clients,
    "intervals": _intervals,
}
_OF_RUN = {
    "phases": _phases,
    "commands": _commands,
    "samples": _samples,
    "accounts": _accounts,
    "parts": _parts,
}


def of_run(run: Run) -> dict[str, Table]:
    """The tables of run.json; those of a load only of runs that have one."""
    wanted = _OF_RUN | (_OF_LOAD if any(p.load for p in run.phases) else {})
    return {name: table_of(*make(run)) for name, make in wanted.items()}


def _widened(rows: Rows, key: str, kind: str) -> str:
    """INT, unless a value needs more: a query subtracts signed numbers without surprise."""
    values = [row.get(key) or 0 for row in rows] if kind == INT else ()
    if not values or max(values) <= _INT_MAX:
        return kind
    return UINT if min(values) >= 0 else BOTH


def table_of(rows: Rows, columns: Columns) -> Table:
    """With types that hold all values."""
    return Table([(key, _widened(rows, key, kind)) for key, kind in columns], rows)


@contextmanager
def of_path(name: str, path: Path) -> Iterator[None]:
    """Its rows, of the run `path`, are given to DuckDB; Failure if a value is not of its column's
    type."""
    try:
        yield
    except duck.ERROR as e:
        if process.interrupted():
            raise KeyboardInterrupt from None
        why = str(e).strip().splitlines()[0]
        raise Failure(f"{path}: table {name}: {why}: the file is damaged") from None


def put(db: Any, name: str, table: Table, path: Path) -> None:
    """Makes the table of `path`, a run; Failure if a value is not of its column's type."""
    with of_path(name, path):
        duck.put(db, name, table)
