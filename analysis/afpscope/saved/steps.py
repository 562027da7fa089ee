# SPDX-License-Identifier: GPL-2.0-or-later
"""A sweep on disk: its sweep.json, and the runs of its steps (docs/data-model.md, Sweep)."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from .. import show
from ..errors import INTERRUPTED, Failure, wrong_use
from .crowd import Bound, Load
from .model import Phase
from .node import Node, load
from .run import RUN_FILE, Run

SWEEP_FILE = "sweep.json"
SCHEMA = 1
# Why a step was made.
PLANNED, BISECTED, AGAIN = "planned", "bisected", "again"
# Options of which a larger value is less load.
_LESS_LOAD = ("think",)
# What our server has more of: its options.
_MORE_SERVER = "serve."
_NUMBER = re.compile(r"(\d+(?:\.\d+)?|\.\d+)([KMGT]?)", re.I)


def number(text: str) -> float | None:
    """The value of an option: a number, or a size such as 64K. None: neither."""
    found = _NUMBER.fullmatch(text)
    if not found:
        return None
    return float(found[1]) * float(1024 ** " KMGT".index(found[2].upper() or " "))


@dataclass(frozen=True)
class Step:
    """One run of `load` or `rx`. `exit` None: it has not ended."""

    folder: str
    value: str
    why: str
    started_at: str
    exit: int | None
    error: str
    run: Run | None  # None: it kept none, or one that cannot be read
    quiet: bool | None = None  # this machine, when the step began; None: not looked at

    @property
    def size(self) -> float:
        return number(self.value) or 0.0

    @cached_property
    def phase(self) -> Phase | None:
        """The measured phase. None unless it is complete."""
        phases = self.run.whole_phases if self.run else []
        return next((p for p in phases if p.load), None)

    @property
    def load(self) -> Load | None:
        return self.phase.load if self.phase else None

    def time_text(self, q: float) -> str:
        """A quantile of all actions, or the MEAN."""
        of = self.load.bound(q) if self.load else Bound(None)
        return show.time(of.ns, of.at_least)

    @property
    def trouble(self) -> str:
        """Why its figures are missing or weak; empty: they are neither."""
        if not self.load:
            return self.error or f"ended with {self.exit} and kept no complete run"
        return ""


@dataclass(frozen=True)
class Sweep:
    """`option`: the name of what was swept, without dashes. `command`: what the steps are."""

    folder: Path
    id: str
    version: str
    started: str
    complete: bool
    stopped: str | None
    option: str
    values: tuple[str, ...]
    order: str
    repeat: int
    slo: str | None
    target: str
    arguments: tuple[str, ...]
    own_set: bool
    steps: tuple[Step, ...]
    command: str = "load"
    serve: str | None = None  # options of our server, made for each step
    by_limit: bool = False  # see for_rule()

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def measured(self) -> list[Step]:
        return [s for s in self.steps if s.load]

    @property
    def failed(self) -> list[Step]:
        """The steps without a complete run, the least load first; not those that a signal ended."""
        found = [s for s in self.steps if s.trouble and s.exit not in (None, INTERRUPTED)]
        return sorted(found, key=lambda s: self.rank(s.size))

    @property
    def open_loop(self) -> bool:
        return any(s.load.rate_per_s is not None for s in self.measured if s.load)

    @property
    def mixed(self) -> bool:
        """Its actions are of several kinds, of which together only mean and longest are shown."""
        return any(s.load.mixed for s in self.measured if s.load)

    @property
    def mixed_probe(self) -> bool:
        """Likewise of the probe's."""
        return any(p.mixed for s in self.measured if s.phase and (p := s.phase.probe))

    @property
    def of_calls(self) -> bool:
        """Its steps are of calls over Rx."""
        return any(s.run.about == "calls" for s in self.steps if s.run)

    @property
    def of_server(self) -> bool:
        """What was swept is something that the server has more or less of."""
        return self.option.startswith(_MORE_SERVER)

    def for_rule(self, by_limit: bool) -> Sweep:
        """With ranks for a knee by a limit (SLO), or by growth.

        A server with more of something keeps a limit better, so that less is more load; the rate
        grows with more.
        """
        return replace(self, by_limit=by_limit)

    def rank(self, value: float) -> float:
        """Grows with the load."""
        less = self.option in _LESS_LOAD or (self.of_server and self.by_limit)
        return -value if less else value

    @property
    def levels(self) -> list[Level]:
        """The measured values, the least load first."""
        found: dict[float, list[Step]] = {}
        for step in self.measured:
            found.setdefault(step.size, []).append(step)
        return [Level(found[v][0].value, v, tuple(found[v])) for v in sorted(found, key=self.rank)]


@dataclass(frozen=True)
class Level:
    """All complete steps of one value. A figure of several is their median."""

    text: str
    value: float
    steps: tuple[Step, ...]

    @property
    def loads(self) -> list[Load]:
        return [s.load for s in self.steps if s.load]

    @property
    def phases(self) -> list[Phase]:
        return [s.phase for s in self.steps if s.phase]

    def median(self, figure: Callable[[Load], float | None]) -> float | None:
        return middle(map(figure, self.loads))

    @property
    def achieved(self) -> float:
        return self.median(lambda x: x.achieved) or 0.0

    @property
    def offered(self) -> float | None:
        return middle(map(_offered, self.phases))

    @property
    def saturated(self) -> bool:
        """The generator, in one of the steps at least."""
        return any(x.saturated for x in self.loads)

    @property
    def busy(self) -> bool:
        """The same, whether or not actions began late: clients that begin together do."""
        return any(x.busy for x in self.loads)

    @property
    def middle_step(self) -> Step:
        """The step of the median rate: one that stands for all."""
        by_rate = sorted(self.steps, key=lambda s: s.load.achieved if s.load else 0.0)
        return by_rate[(len(by_rate) - 1) // 2]


def _offered(phase: Phase) -> float | None:
    """What the recording's times ask for, or what the load itself."""
    if phase.replay:
        return phase.replay.per_s
    return phase.load.rate_per_s if phase.load else None


def middle(values: Iterable[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return statistics.median(known) if known else None


def middle_bound(values: Iterable[Bound | None]) -> Bound:
    """Their median: at least that if one up to it is only known to be at least what it is."""
    known = [v for v in values if v is not None and v.ns is not None]
    ns = middle(v.ns for v in known)
    return Bound(ns, any(v.at_least and (v.ns or 0) <= (ns or 0) for v in known))


def is_sweep(path: Path) -> bool:
    return (path / SWEEP_FILE).is_file() or path.name == SWEEP_FILE


def _step(node: Node, folder: Path) -> Step:
    name = node["folder"].text()
    if Path(name).name != name or name in ("", ".."):
        raise Failure(f"{node.where}.folder is {name!r}, not the name of a folder in the sweep's")
    run, error = None, node.get_text("error") or ""
    if (folder / name / RUN_FILE).exists():
        try:
            run = Run.open(folder / name)
        except Failure as e:
            error = str(e)
    value = node["value"].text()
    if number(value) is None:
        raise Failure(f"{node.where}.value is {value!r}, not a number")
    quiet = node.get("quiet")
    return Step(
        name,
        value,
        node["why"].text(),
        node["started_at"].text(),
        node.get_int("exit"),
        error,
        run,
        quiet.flag() if quiet else None,
    )


def open_sweep(path: Path) -> Sweep:
    """The sweep in a folder, or of its sweep.json."""
    folder = path if path.is_dir() else path.parent
    node = load(folder / SWEEP_FILE)
    if node.get_text("tool") != "afpscope" or node["schema"].int_() != SCHEMA:
        raise Failure(f"{folder / SWEEP_FILE} is not of this version of sweep")
    return Sweep(
        folder,
        node["id"].text(),
        node["version"].text(),
        node["started"].text(),
        node["complete"].flag(),
        node.get_text("stopped"),
        node["option"].text(),
        tuple(v.text() for v in node["values"].items()),
        node["order"].text(),
        node["repeat"].count(),
        node.get_text("slo"),
        node["target"].text(),
        tuple(a.text() for a in node["arguments"].items()),
        node["set"].text() == "own",
        tuple(_step(s, folder) for s in node["steps"].items()),
        node.get_text("command") or "load",
        node.get_text("serve"),
    )


def refuse(path: Path, command: str) -> None:
    """Failure if the path is a sweep, which the command cannot take."""
    if is_sweep(path):
        folder = path if path.is_dir() else path.parent
        runs = [s.folder for s in open_sweep(folder).steps if s.run]
        example = f", such as {folder / runs[0]}" if runs else ""
        raise wrong_use(
            f"{path} is a sweep: {command} takes one of its steps{example}; info, report and "
            "compare take all of it"
        )
