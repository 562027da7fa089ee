# SPDX-License-Identifier: GPL-2.0-or-later
"""What the report says and draws of a load of many clients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .. import show
from ..saved.crowd import MAX, MEAN, Load, Mark
from ..saved.hist import QUANTILES, Histogram
from ..saved.model import Phase
from ..saved.run import Run
from ..words import Words
from . import rxpage
from .painter import Painter, Picture

if TYPE_CHECKING:
    from .loadfigures import Drawn

COMMAND = "load"
FILES = "smallfile"  # each phase is one operation with all files
CALLS = "rx"  # each phase is one test
# Commands whose phases are drawn together: keys of the heading and of the figure.
_TOGETHER = {FILES: ("files", "load_tail"), CALLS: ("rx_calls", "rx_tail")}


@dataclass(frozen=True)
class ActionRow:
    """A row of the table of percentiles."""

    name: str
    n: int
    failed: int
    mean_ns: float | None
    quantiles: list[int | None]
    max_ns: int | None


@dataclass(frozen=True)
class LoadView:
    """One phase, or all of small files or of rx; `pictures` by the key of their title."""

    key: str  # of the heading; with "_note": of what is below it
    rows: list[ActionRow]
    marks: tuple[Mark, ...]
    pictures: dict[str, Picture]
    limits: list[tuple[str, str, bool]] = field(default_factory=list)  # as knee.verdicts() has them


def at_most(latency: Histogram, q: float, longest: int | None) -> int | None:
    """A quantile, which is known to a bucket: the longest time is known exactly. None: too few."""
    if latency.n * (1 - q) < 1:
        return None
    ns = latency.quantile(q)
    return ns if ns is None or longest is None else min(ns, longest)


def _row(load: Load, name: str | None, title: str) -> ActionRow:
    those = [a for a in load.actions if name in (None, a.name)]
    n, failed = sum(a.n for a in those), sum(a.failed for a in those)
    latency, longest = load.latency(name), load.max_ns(name)
    quantiles = [at_most(latency, q, longest) for q in QUANTILES.values()]
    if name is None and load.mixed:
        quantiles = [None] * len(quantiles)
    return ActionRow(title, n, failed, load.mean_ns(name), quantiles, longest)


def _rows(p: Phase, w: Words) -> Iterator[ActionRow]:
    assert p.load
    for a in p.load.actions:
        yield _row(p.load, a.name, a.name)
    if len(p.load.actions) > 1:
        yield _row(p.load, None, w["all_actions"])
    for a in p.probe.actions if p.probe else ():
        yield _row(p.probe, a.name, f"probe: {a.name}")  # type: ignore[arg-type]


def _fairness(load: Load, w: Words) -> str:
    ends = [c.last_ns for c in load.each_client if c.last_ns is not None]
    return w.say(
        "fairness_note",
        index=load.fairness,
        worst=1 / max(1, len(load.each_client)),
        first=show.time(min(ends, default=None)),
        last=show.time(max(ends, default=None)),
    )


def _view(p: Phase, made: Painter, prefix: str) -> LoadView:
    from . import loadfigures

    w, labels, load = made.w, made.labels, p.load
    assert load
    drawn: dict[str, tuple[str, Drawn | None]] = {
        "load_time": (w["load_time_note"], loadfigures.latency(load, p.marks, labels)),
        "probe": (
            w["probe_note"],
            loadfigures.probe(p.probe, p.marks, labels) if p.probe else None,
        ),
        "load_parts": (
            w["load_parts_note"],
            loadfigures.parts(load, p.intervals, p.marks, labels),
        ),
        "load_heat": (w["load_heat_note"], loadfigures.heat(load, p.marks, labels)),
        "load_tail": (w["load_tail_note"], loadfigures.distribution(load, labels)),
        "fairness": (_fairness(load, w), loadfigures.fairness(load, labels)),
    }
    pictures: dict[str, Picture] = {}
    for key, (caption, of) in drawn.items():
        if picture := made.drawn(f"{prefix}{key.replace('_', '-')}", caption, of):
            pictures[key] = picture
    rows = list(_rows(p, w))
    _table(rows, made, prefix)
    from ..limit import knee  # and scipy, which pages of other runs do not need

    key = "replay_felt" if p.replay else "load"
    return LoadView(key, rows, p.marks, pictures, knee.verdicts(p.load, made.w))


def _table(rows: list[ActionRow], made: Painter, prefix: str) -> None:
    made.table(
        f"{prefix}load-table",
        ("action", "n", "failed", "mean_ns", *(f"{q.replace('.', '')}_ns" for q in QUANTILES),
         "max_ns"),
        [(r.name, r.n, r.failed, r.mean_ns, *r.quantiles, r.max_ns) for r in rows],
    )  # fmt: skip


def _together(phases: list[Phase], made: Painter, prefix: str, command: str) -> LoadView:
    """A row for each load; those that took longest are drawn together."""
    from . import loadfigures

    key, tail = _TOGETHER[command]
    loads = [p.load for p in phases if p.load]
    rows = [_row(p.load, None, p.title) for p in phases if p.load]
    actions = [replace(a, name=p.title) for p in phases if p.load for a in p.load.actions]
    longest = sorted(actions, key=lambda a: a.sum_ns, reverse=True)
    axis = "axis_call" if command == CALLS else "axis_action"
    of = replace(loads[0], actions=tuple(longest))
    drawn = loadfigures.distribution(of, made.labels, axis)
    picture = made.drawn(f"{prefix}load-tail", made.w[f"{tail}_note"], drawn)
    _table(rows, made, prefix)
    return LoadView(key, rows, (), {tail: picture} if picture else {})


def views(run: Run, made: Painter, prefix: str) -> list[LoadView]:
    """One for each phase with a load; `prefix`: of the names of the figures' files."""
    phases = [p for p in run.phases if p.load]
    if run.command in _TOGETHER and phases:
        return [_together(phases, made, prefix, run.command)]
    return [
        _view(p, made, f"{prefix}{i}-" if len(phases) > 1 else prefix)
        for i, p in enumerate(phases, 1)
    ]


def _sentence(p: Phase, load: Load, w: Words) -> str:
    offered, most = load.rate_per_s, max(load.actions, key=lambda a: a.sum_ns)
    all_ns = sum(a.sum_ns for a in load.actions)
    return w.say(
        "load_short_mix" if load.mixed else "load_short",
        clients=load.clients,
        mix=p.title,
        rate=show.rate(load.achieved),
        offered=w.say("load_offered", rate=show.rate(offered)) if offered is not None else "",
        mean=_bound(load, MEAN),
        max=_bound(load, MAX),
        most=most.name,
        share=most.sum_ns / all_ns if all_ns else 0.0,
        p50=_bound(load, 0.5, most.name),
        p99=_bound(load, 0.99, most.name),
    )


def _bound(load: Load, q: float, name: str | None = None) -> str:
    of = load.bound(q, name if len(load.actions) > 1 else None)
    return show.time(of.ns, of.at_least)


def _silent(load: Load, w: Words) -> list[str]:
    if load.silence is None:
        return []
    n, s, at = load.silence.clients, load.silence.ns // 10**9, load.silence.from_ns // 10**9
    known, ranks = load.silence.ranks, load.silence.of_ranks
    waited = w.say("load_waited", n=n, clients=load.clients) if n else ""
    if known is not None and ranks is not None and known < ranks:
        waited += w.say("load_silence_ranks", n=known, ranks=ranks)
    return [w.say("load_silence", s=s, at=at, waited=waited)]


def _broken(load: Load, w: Words) -> list[str]:
    """What makes the figures of any load weak."""
    out = []
    if load.missing:
        out.append(w.say("load_missing", n=load.missing, clients=load.clients))
    if load.lost:
        out.append(w.say("load_lost", n=load.lost))
    if load.failed:
        out.append(w.say("load_failed", n=load.failed))
    return out + _silent(load, w)


def _files_sentences(run: Run, w: Words) -> list[str]:
    """The loads of small files: the two ends of them, and those that have failures."""
    loads = [(p.title, p.load) for p in run.phases if p.load and p.load.n]
    if not loads:
        return []
    fast = max(loads, key=lambda one: one[1].achieved)
    slow = min(loads, key=lambda one: one[1].achieved)
    out = [
        w.say(
            "files_short",
            clients=fast[1].clients,
            n=len(loads),
            fast=fast[0],
            fast_rate=show.rate(fast[1].achieved),
            slow=slow[0],
            slow_rate=show.rate(slow[1].achieved),
        )
    ]
    return out + [f"{title}: {text}" for title, load in loads for text in _broken(load, w)]


def sentences(run: Run, w: Words) -> list[str]:
    """The load in sentences: what was felt, and what makes these figures weak."""
    if run.command == FILES:
        return _files_sentences(run, w)
    out = []
    for p in run.phases:
        load = p.load
        if not load:
            continue
        calls = run.command == CALLS
        if not p.replay and (load.n > load.failed if calls else load.n):
            out.append(rxpage.sentence(p, w) if calls else _sentence(p, load, w))
        if p.probe and p.probe.n:
            mean = show.time(p.probe.mean_ns())
            out.append(w.say("load_probe", mean=mean, max=show.time(p.probe.max_ns())))
        if calls:
            out += rxpage.weak(p, load, w)
            out += [f"{p.title}: {text}" for text in _silent(load, w)]
            continue
        out += _broken(load, w)
        if load.no_room:
            out.append(w.say("load_no_room", n=load.no_room, arrivals=load.arrivals or 0))
        if load.busy:
            out.append(w.say("load_saturated", cpu=load.cpu_share, runq=load.runq_share))
        if load.behind:
            most = show.time(load.late_max_ns)
            out.append(w.say("load_behind", late=load.late, n=load.n, most=most))
    return out
