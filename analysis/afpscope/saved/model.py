# SPDX-License-Identifier: GPL-2.0-or-later
"""The data of a run (docs/data-model.md) as frozen records. None is "not measured"."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import Failure
from . import crowd, hist, replayed
from .crowd import Interval, Load, Mark
from .hist import Histogram
from .node import Node
from .replayed import Replay

Counts = dict[str, int | None]


@dataclass(frozen=True, slots=True)
class Metric:
    """What a run says of a metric of its phases (user/run/run.h)."""

    key: str
    unit: str
    better: str | None  # LOWER or HIGHER, if it is judged
    title: str | None  # of its column in tables of tests


LOWER, HIGHER = "lower", "higher"


@dataclass(frozen=True, slots=True)
class Command:
    """What the client measured of one AFP command in a phase."""

    code: int
    name: str
    ops: int
    errors: int
    sum_ns: int
    latency: Counts
    histogram: Histogram


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the calls ledger, or a part of an account."""

    role: str
    class_: str
    object: str
    calls: int
    figures: Counts

    @property
    def key(self) -> tuple[str, str, str]:
        return self.role, self.class_, self.object


@dataclass(frozen=True, slots=True)
class Account:
    """What the server did for one command, or outside requests (`requests` is None)."""

    number: int
    name: str
    requests: int | None
    time_ns: int | None
    service_ns: int | None  # in service, with an answer or without: what shares are of
    figures: Counts
    inside: Counts
    times: Counts
    histogram: Histogram | None
    parts: tuple[Row, ...]
    untimed: int = 0  # more of them, of which no time is known, such as encrypted frames
    waited: int = 0  # told to wait, and answered in an account of their own

    @property
    def failed(self) -> int:
        """Answers that are errors; in older runs all with a result other than 0."""
        failed = self.figures.get("failed")
        return (self.figures.get("errors") if failed is None else failed) or 0


@dataclass(frozen=True, slots=True)
class Sample:
    """One iteration of a transfer."""

    iteration: int
    warmup: bool
    complete: bool
    ns: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Transfer:
    work: str
    size_bytes: int
    moved_bytes: int
    window: int
    samples: tuple[Sample, ...]
    throughput: float | None
    ci_ns: tuple[float | None, float | None]
    verdict: str
    verdict_kind: str
    verdict_figures: dict[str, float | None]

    @property
    def counting(self) -> list[Sample]:
        return [s for s in self.samples if s.complete and not s.warmup]


@dataclass(frozen=True, slots=True)
class Packets:
    """Datagrams of one direction, and the packets in them by type."""

    datagrams: int
    bytes: int
    again: int
    types: tuple[tuple[str, int], ...]

    @property
    def text(self) -> str:
        return ", ".join(f"{n:,} {name}" for name, n in self.types)


@dataclass(frozen=True, slots=True)
class Phase:
    """One test of one iteration. rows, requests, outside: None when not counted."""

    test: int
    iteration: int
    title: str
    start_ns: int
    complete: bool
    metrics: Counts
    commands: tuple[Command, ...]
    rows: tuple[Row, ...] | None
    requests: tuple[Account, ...] | None
    outside: tuple[Account, ...] | None
    transfer: Transfer | None
    load: Load | None = None  # of many clients
    probe: Load | None = None
    intervals: tuple[Interval, ...] = ()
    marks: tuple[Mark, ...] = ()
    packets_in: Packets | None = None  # of kinds whose clients send datagrams
    packets_out: Packets | None = None
    storage: tuple[Storage, ...] = ()
    replay: Replay | None = None

    def measured(self, metric: Metric) -> float | None:
        """A metric for one iteration: a transfer has the sum of those that count."""
        value = self.metrics.get(metric.key)
        if value is None or not self.transfer:
            return value
        return value / max(1, len(self.transfer.counting))


@dataclass(frozen=True, slots=True)
class Storage:
    """What reached the disk for an account, by a role."""

    role: str
    name: str
    figures: dict[str, int | None]


@dataclass(frozen=True, slots=True)
class Session:
    """A client's connection that was watched. user is None: no login was seen."""

    user: str | None
    address: str | None
    requests: int
    busy_ns: int


_LATENCY = ("n", "min_ns", "max_ns", "p50_ns", "p95_ns", "p99_ns", "p999_ns")


def _command(node: Node) -> Command:
    latency = node["latency"]
    return Command(
        node["code"].count(),
        node["name"].text(),
        node["ops"].count(),
        node["errors"].count(),
        latency["sum_ns"].count(),
        {key: latency.get_int(key) for key in _LATENCY},
        hist.parse(latency["histogram"]),
    )


_ROW = ("errors", "bytes", "ns", "cpu_ns", "blocked_ns", "runq_ns", "stopped_ns")


def _row(node: Node) -> Row:
    return Row(
        node["role"].text(),
        node["class"].text(),
        node["object"].text(),
        node["calls"].count(),
        {key: node.get_int(key) for key in _ROW},
    )


_ACCOUNT = ("begun", "errors", "failed", "bytes_in", "bytes_out", "unexplained_ns", "unexplained")
_SPREAD = ("min_ns", "max_ns", "p50_ns", "p99_ns", "p999_ns")  # from schema 2 on


def _service_ns(node: Node, times: Counts) -> int | None:
    """Older runs have only what it is the sum of."""
    if node.get("service_ns"):
        return node.get_int("service_ns")
    known = sum(ns or 0 for ns in times.values()) + (node.get_int("unexplained_ns") or 0)
    return known or node.get_int("time_ns")


def _account(node: Node) -> Account:
    inside, times, histogram = node.get("inside"), node.get("times"), node.get("histogram")
    return Account(
        node["number"].count(),
        node["name"].text(),
        node.get_int("requests"),
        node.get_int("time_ns"),
        _service_ns(node, times.counts() if times else {}),
        {key: node.get_int(key) for key in (*_ACCOUNT, *_SPREAD)},
        inside.counts() if inside else {},
        times.counts() if times else {},
        hist.parse(histogram) if histogram else None,
        tuple(_row(part) for part in node["parts"].items()),
        node.get_int("untimed") or 0,
        node.get_int("waited") or 0,
    )


def _transfer(node: Node) -> Transfer:
    stats, verdict = node.get("stats"), node.get("verdict")
    figures = verdict.get("figures") if verdict else None
    return Transfer(
        node["work"].text(),
        node["size_bytes"].count(),
        node["moved_bytes"].count(),
        node["window"].count(),
        tuple(
            Sample(
                s["iteration"].count(),
                s["warmup"].flag(),
                s["complete"].flag(),
                s["ns"].count(),
                s["bytes"].count(),
            )
            for s in node["samples"].items()
        ),
        node.get_number("throughput"),
        (
            stats.get_number("ci_low_ns") if stats else None,
            stats.get_number("ci_high_ns") if stats else None,
        ),
        (verdict.get_text("text") or "") if verdict else "",
        (verdict.get_text("kind") or "") if verdict else "",
        {key: figures.get_number(key) for key, _ in figures.members()} if figures else {},
    )


def session(node: Node) -> Session:
    """One element of `sessions`."""
    return Session(
        node.get_text("user"),
        node.get_text("address"),
        node["requests"].count(),
        node["busy_ns"].count(),
    )


def metric(node: Node) -> Metric:
    """One element of `metrics`; older runs have neither `better` nor `title`."""
    better = node.get_text("better")
    if better not in (None, LOWER, HIGHER):
        raise Failure(f"{node.where}.better is {better!r}, not lower or higher")
    return Metric(node["key"].text(), node["unit"].text(), better, node.get_text("title"))


def _packets(node: Node | None) -> Packets | None:
    if node is None:
        return None
    return Packets(
        node["datagrams"].count(),
        node["bytes"].count(),
        node["again"].count(),
        tuple((name, n.count()) for name, n in node["types"].members()),
    )


def _storage(node: Node | None) -> tuple[Storage, ...]:
    texts = ("role", "name")
    return tuple(
        Storage(
            s["role"].text(),
            s["name"].text(),
            {key: s.get_int(key) for key, _ in s.members() if key not in texts},
        )
        for s in (node.items() if node else ())
    )


def phase(node: Node) -> Phase:
    """One element of `phases`."""
    ledger, transfer = node["ledger"], node.get("transfer")
    rows, requests, outside = (ledger.get(k) for k in ("rows", "requests", "outside"))
    load, probe, replay = (node.get(key) for key in ("load", "probe", "replay"))
    return Phase(
        node["test"].count(),
        node["iteration"].count(),
        node["title"].text(),
        node["start_ns"].count(),
        node["complete"].flag(),
        node["metrics"].counts(),
        tuple(_command(c) for c in node["commands"].items()),
        tuple(_row(r) for r in rows.items()) if rows else None,
        tuple(_account(a) for a in requests.items()) if requests else None,
        tuple(_account(a) for a in outside.items()) if outside else None,
        _transfer(transfer) if transfer else None,
        crowd.parse(load) if load else None,
        crowd.parse(probe) if probe else None,
        *crowd.parse_time(node),
        _packets(ledger.get("packets_in")),
        _packets(ledger.get("packets_out")),
        _storage(ledger.get("storage")),
        replayed.parse(replay) if replay else None,
    )
