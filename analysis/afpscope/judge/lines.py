# SPDX-License-Identifier: GPL-2.0-or-later
"""What a history is made of: runs in order of time, and the values that are followed over them."""

from __future__ import annotations

from dataclasses import dataclass

from .. import show
from ..saved.model import LOWER
from ..words import Words
from . import changes, shapes
from .changes import Change

Key = tuple[str, str, str, str]
_NAMED = 4  # of the rows that are 0 in some runs


@dataclass(frozen=True)
class Point:
    """A run, as a history names it. `started`: UTC, to the second."""

    id: str
    started: str
    labels: dict[str, str]

    def name(self, label: str | None) -> str:
        """The value of the label by which the user orders the runs, else what there is."""
        shown = {label: self.labels.get(label, "-")} if label else self.labels
        texts = [f"{key}={value}" for key, value in shown.items()]
        return " ".join([self.started[:16].replace("T", " "), *texts, f"run {self.id[:8]}"])


@dataclass(frozen=True)
class Line:
    """One row of a history: the runs that have a value, in order of time, and the changes.

    `key`: test, label, unit, and which direction is better. `zeros`: the runs in which it is 0;
    they are not among the points, as changes are ratios and from 0 there is none.
    """

    key: Key
    points: list[Point]
    values: list[float]
    changes: list[Change]
    zeros: tuple[Point, ...] = ()

    @property
    def name(self) -> str:
        return f"{show.short(self.key[0])}  {self.key[1]}"

    def shown(self, value: float) -> str:
        return show.measured(value, self.key[2])

    def of_zeros(self, w: Words) -> str:
        """In how many runs it is 0; empty: in none."""
        n = len(self.zeros)
        return w.say("history_zero_runs", n=n, of=n + len(self.points)) if n else ""

    def verdict(self, change: Change) -> str:
        return "worse" if (change.by > 0) == (self.key[3] == LOWER) else "better"

    def how(self, change: Change, w: Words) -> str:
        """What the change was: from where to where, and whether for the worse."""
        return w.say(
            "history_drifted" if change.kind == shapes.DRIFT else "history_changed",
            before=self.shown(change.before),
            after=self.shown(change.after),
            by=f"{100 * change.by:+.1f} %",
            verdict=w[f"history_{self.verdict(change)}"],
        )

    def when(self, change: Change, label: str | None, w: Words) -> str:
        """Since which run, or between which."""
        first, last = self.points[change.low], self.points[change.high]
        if change.kind == shapes.STEP:
            run = self.points[change.at].name(label)
            if change.low == change.high:
                return w.say("history_since", run=run)
            return w.say("history_or", run=run, first=first.started[:10], last=last.started[:10])
        key = "history_slowly" if change.kind == shapes.DRIFT else "history_between"
        return w.say(key, first=first.name(label), last=last.name(label))

    @property
    def levels(self) -> list[tuple[float, float, float, float]]:
        """Lines along the values: from and to which place, and the value at either."""
        out: list[tuple[float, float, float, float]] = []
        at, value = 0.0, self.changes[0].before if self.changes else 0.0
        for c in self.changes:
            drifts = c.kind == shapes.DRIFT
            first, last = (c.low, c.high) if drifts else (c.at - 1, c.at)
            out.append((at, max(at, first), value, c.before if drifts else value))
            if drifts:
                out.append((first, last, c.before, c.after))
            at, value = last, c.after
        return [*out, (at, len(self.values) - 1, value, value)] if self.changes else []


@dataclass(frozen=True)
class History:
    """The rows of runs that are alike; `what`: what they are runs of."""

    what: str
    points: list[Point]
    lines: list[Line]

    @property
    def changed(self) -> list[Line]:
        """The rows with a change, the largest first."""
        found = [line for line in self.lines if line.changes]
        return sorted(found, key=lambda line: -max(abs(c.by) for c in line.changes))

    @property
    def quiet(self) -> int:
        """Rows without a change that could be shown, though they have runs enough. What is 0 in
        some runs may have changed to it."""
        return sum(
            not line.changes and not line.zeros and len(line.values) >= self.needed
            for line in self.lines
        )

    def of_zeros(self, w: Words, every: bool) -> str:
        """Which rows are 0 in some runs, or the first of these, and in how many; empty: none."""
        found = [line for line in self.lines if line.zeros]
        names = [f"{line.name} ({line.of_zeros(w)})" for line in found[: None if every else _NAMED]]
        more = len(found) - len(names)
        which = w["comma"].join([*names, *([f"+{more}"] if more else [])])
        return w.say("history_zeros", which=which) if found else ""

    @property
    def needed(self) -> int:
        """Runs that show a change, at least."""
        return changes.least_values(len(self.lines))

    @property
    def too_few(self) -> int:
        """Rows with so few values that no change can be seen."""
        return sum(len(line.values) < self.needed for line in self.lines)
