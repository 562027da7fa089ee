# SPDX-License-Identifier: GPL-2.0-or-later
"""What can be compared by rank in a run: times, and metrics that have a direction.

There is one value for each row.

A run is one value, the median of its iterations, as these share the run's conditions.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..saved.hist import Histogram
from ..saved.model import HIGHER, LOWER, Phase
from ..saved.run import Run
from . import counts

ELAPSED, MEAN = "time", "mean"
TAIL = "p99"
# Share of a command's requests, at either end, that are left out of its mean: the time of the few
# slowest is the machine's, not the server's.
TRIM = 0.05
# Requests that must be beyond a quantile.
_BEYOND = 10
QUANTILES = {"p50": 0.5, "p95": 0.95, TAIL: 0.99}
RATE = "rate"
RECORDED = "recorded"  # in place of a test
_LOADED = {"p50": 0.5, TAIL: 0.99}
ACTION, PROBE = "action", "probe"  # in place of a command: all actions of a load, of its probe
DUE = "all, from when due"  # likewise: all requests of a replay


@dataclass(frozen=True, order=True)
class Row:
    """A test as a whole (`command` is empty) or the requests of one AFP command in it.

    `figure` of a test: ELAPSED, or the key of a metric. Runs that disagree on the unit of a metric
    or on which direction is better do not have the same row.
    """

    test: str
    command: str
    figure: str
    unit: str = "ns"
    better: str = LOWER

    @property
    def is_metric(self) -> bool:
        return not self.command and self.figure != ELAPSED

    @property
    def label(self) -> str:
        """The name of the row within its test."""
        if not self.command:
            return self.figure if self.is_metric else "(test)"
        if self.figure != MEAN or self.command in (ACTION, PROBE):
            return f"{self.command} {self.figure}"
        middle = 1 - 2 * TRIM
        return self.command if self.test == RECORDED else f"{self.command} (middle {middle:.0%})"


@dataclass(frozen=True)
class Value:
    """In the row's unit. `blur`: its possible error in logarithms, both directions together.

    `whole`: of a trimmed mean, that of all requests. None: nothing is left out. `times`: of a
    quantile, those of the run's requests; `few`: so few that its value is chance in this run.
    """

    amount: float
    blur: float = 0.0
    whole: float | None = None
    times: Histogram | None = None
    few: bool = False


def middle(of: Sequence[Value]) -> Value:
    """Their median; of a quantile with the requests of all."""
    amount, blur = statistics.median(v.amount for v in of), max(v.blur for v in of)
    times = [v.times for v in of if v.times]
    together = Histogram.merge(times) if times else None
    return Value(amount, blur, None, together, any(v.few for v in of))


def are_enough(n: int, q: float) -> bool:
    """Whether so many requests have such a quantile that is more than chance."""
    return n * (1 - q) >= _BEYOND


def quantiles(
    test: str, command: str, histogram: Histogram, of: Mapping[str, float]
) -> dict[Row, Value]:
    """Those of a histogram that are known, by their names in `of`."""
    found = {Row(test, command, name): _quantile(histogram, q) for name, q in of.items()}
    return {row: value for row, value in found.items() if value}


def _quantile(histogram: Histogram, q: float) -> Value | None:
    ends = histogram.quantile_within(q)
    if not ends or ends[0] < 1:
        return None
    low, high = map(float, ends)
    few = not are_enough(histogram.n, q)
    return Value(math.sqrt(low * high), math.log(high / low), None, histogram, few)


def _client(run: Run) -> dict[Row, Value]:
    """As the client saw it: the whole test; of a command the trimmed mean and p99.

    And the metrics that are judged, but for the test's time, which is the first of these.
    """
    judged = [(m, m.better) for m in run.metrics if m.better and m.key != "elapsed"]
    sets: dict[Row, list[float]] = defaultdict(list)
    merged: dict[Row, list[Histogram]] = defaultdict(list)
    wholes: dict[Row, list[float]] = defaultdict(list)
    for p in run.whole_phases:
        test = counts.test_name(p)
        if p.transfer:
            sets[Row(test, "", ELAPSED)] += [float(s.ns) for s in p.transfer.counting]
        elif p.metrics.get("ops") and p.metrics.get("elapsed"):
            sets[Row(test, "", ELAPSED)].append(float(p.metrics["elapsed"] or 0))
        for metric, better in judged:
            if (value := p.measured(metric)) is not None:
                sets[Row(test, "", metric.key, metric.unit, better)].append(value)
        for c in p.commands:
            if c.histogram.n:
                sets[Row(test, c.name, MEAN)].append(c.histogram.bulk_mean(TRIM, c.sum_ns))
                merged[Row(test, c.name, TAIL)].append(c.histogram)
                wholes[Row(test, c.name, MEAN)].append(c.sum_ns / c.histogram.n)
    out: dict[Row, Value] = {}
    for row, values in sets.items():
        if values:
            whole = statistics.median(wholes[row]) if row in wholes else None
            out[row] = Value(statistics.median(values), whole=whole)
        tail = Row(row.test, row.command, TAIL)
        if tail in merged and (found := _quantile(Histogram.merge(merged[tail]), 0.99)):
            out[tail] = found
    return out


def _recorded(phases: Iterable[Phase]) -> dict[Row, Value]:
    """What each AFP command took inside the server, for all clients."""
    time: dict[str, int] = defaultdict(int)
    number: dict[str, int] = defaultdict(int)
    merged: dict[str, list[Histogram]] = defaultdict(list)
    for p in phases:
        for account in p.requests or ():
            if account.requests and account.time_ns is not None:
                time[account.name] += account.time_ns
                number[account.name] += account.requests
                if account.histogram:
                    merged[account.name].append(account.histogram)
    out: dict[Row, Value] = {}
    for name in time:
        out[Row(RECORDED, name, MEAN)] = Value(time[name] / number[name])
        histogram = Histogram.merge(merged[name])
        out |= quantiles(RECORDED, name, histogram, QUANTILES)
    return out


def of_load(phase: Phase, test: str) -> dict[Row, Value]:
    """Of a load: its rate, and how long actions took, those of the probe too. Of several kinds
    together that is the mean, as a quantile of them tells of none."""
    load = phase.load
    assert load
    out = {Row(test, "", RATE, "per s", HIGHER): Value(load.achieved)} if load.achieved else {}
    of = {a.name: a.planned for a in load.actions} if load.mixed else {}
    for name, one in ((ACTION, load), (PROBE, phase.probe)):
        if one and not one.mixed:
            of[name] = one.latency()
        elif one and (mean := one.mean_ns()):
            out[Row(test, name, MEAN)] = Value(mean)
    for name, histogram in of.items():
        out |= quantiles(test, name, histogram, _LOADED)
    return out


def of_replay(phase: Phase, test: str) -> dict[Row, Value]:
    """Of each kind of request how long clients waited for it, from when it was sent; of all, where
    times are kept, from when it was due. How many there are a second is the recording's."""
    assert phase.load and phase.replay
    of = {a.name: a.begun for a in phase.load.actions}
    if phase.replay.planned_ns:
        of[DUE] = phase.load.latency()
    found = (quantiles(test, name, histogram, _LOADED) for name, histogram in of.items())
    return {row: value for one in found for row, value in one.items()}


def of_run(run: Run) -> dict[Row, Value]:
    """All values of a run, in its order."""
    if run.is_of_others:
        return _recorded(run.whole_phases)
    out: dict[Row, Value] = {}
    for phase in run.whole_phases:
        if phase.replay and phase.load:
            out |= of_replay(phase, counts.test_name(phase))
        elif phase.load:
            out |= of_load(phase, counts.test_name(phase))
    return out or _client(run)
