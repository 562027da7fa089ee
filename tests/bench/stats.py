# SPDX-License-Identifier: GPL-2.0-or-later
"""What a benchmark says: results, and how two sides of measurements compare."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Result:
    """One entry of results.json.

    value is None where it could not be measured; then how says why.
    """

    name: str
    value: float | None
    unit: str
    goal: float | None
    met: bool | None
    how: str

    def saved(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class Side:
    """One side of a comparison: what was measured, a value each round."""

    name: str
    values: Sequence[float]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def text(self, unit: str) -> str:
        low, high = min(self.values), max(self.values)
        return f"{self.name} {_short(self.median)} {unit} ({_short(low)}..{_short(high)})"


def compare(
    name: str,
    ours: Side,
    theirs: Side,
    unit: str,
    how: str,
    *,
    goal: float | None = None,
    noise: bool = False,
    at_least: bool = False,
    aim: float | None = None,
) -> Result:
    """The ratio of the medians, printed with both sides and their spread.

    The goal is an upper limit, a lower one with at_least. With noise it is also
    met where the rounds do not show the contrary. An aim is what we would like beyond the goal.
    """
    value = ours.median / theirs.median if theirs.median else math.nan
    met, remark = None, ""
    if goal is not None:
        met = value >= goal if at_least else value <= goal
        remark = "met" if met else "MISSED"
        if noise and not met and not _shown_beyond(goal, ours, theirs, at_least):
            met, remark = True, "met within noise"
        remark = f"goal {'>= ' if at_least else ''}{goal:.2f}  {remark}"
    if aim is not None:
        remark += f", aim {aim:.2f} {'reached' if value >= aim else 'missed'}"
    print(
        f"{name:<34} {value:6.3f}  {remark:<27}"
        f" {ours.text(unit)}, {theirs.text(unit)}, {len(ours.values)} rounds",
        flush=True,
    )
    return Result(name, round(value, 4), "ratio", goal, met, how)


def absent(name: str, unit: str, why: str) -> Result:
    print(f"{name:<34}    n/a  {why}", flush=True)
    return Result(name, None, unit, None, None, why)


def figure(
    name: str, value: float, unit: str, how: str, remark: str = "", *, goal: float | None = None
) -> Result:
    """A number that is no comparison; a goal is its upper limit."""
    met = None if goal is None else value <= goal
    verdict = "" if goal is None else f"goal {goal:g}  {'met' if met else 'MISSED'}"
    print(f"{name:<34} {value:6.2f}  {unit:<11} {verdict:<16} {remark}", flush=True)
    return Result(name, round(value, 4), unit, goal, met, how)


def _shown_beyond(goal: float, ours: Side, theirs: Side, at_least: bool) -> bool:
    """Whether a one-sided sign test over the rounds finds the ratio on the wrong side of goal.

    With fewer than five rounds it never could: then the median decides.
    """
    n = len(ours.values)
    if n < 5:
        return True
    pairs = zip(ours.values, theirs.values, strict=True)
    beyond = sum(a < goal * b if at_least else a > goal * b for a, b in pairs)
    return sum(math.comb(n, k) for k in range(beyond, n + 1)) / 2**n < 0.05


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
