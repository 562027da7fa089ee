# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs of lantest as the history of netatalk's dashboard: report RUN... --history FILE --pr N,...

A YAML file as netatalk's perf_history.pl writes it: a list of pr, ts and value for each key. The
keys are those of `lantest --format netatalk-metrics`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import fmean

from . import show
from .errors import Failure, wrong_use
from .saved.run import Run

NEWEST = 100  # values of a key that are kept


def key_of(title: str) -> str:
    """Of a test's title, without its number of operations."""
    words = re.sub(r"[^a-z0-9]+", "_", title.split(" [")[0].lower()).strip("_")
    return f"lantest.{words}.mean_ms"


def numbers(text: str, runs: int) -> list[int]:
    """The pull request of each run, from "3301,3302"."""
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise wrong_use(f"--pr: '{text}' is not a list of numbers, as in 3301,3302")
    if len(parts) != runs:
        raise wrong_use(f"--pr: {len(parts)} numbers for {runs} runs: one for each run is needed")
    return [int(part) for part in parts]


def _values(run: Run) -> dict[str, float]:
    """Mean times of a run's tests, in ms."""
    if not run.set.startswith("lantest-"):
        raise wrong_use(f"--history: {run.name} is a run of {run.command}, not of lantest")
    if not run.complete:
        raise Failure(f"--history: {run.name} broke off: its means would not compare")
    times: dict[str, list[float]] = {}
    for phase in run.whole_phases:
        if (ns := phase.metrics.get("elapsed")) is not None:
            times.setdefault(key_of(phase.title), []).append(ns / 1e6)
    return {key: fmean(values) for key, values in times.items()}


def dashboard(runs: Sequence[Run], prs: Sequence[int]) -> str:
    """The file. Of several runs of one pull request the newest counts."""
    if len(sets := {run.set for run in runs}) > 1:
        raise wrong_use(
            f"--history: runs of different sets do not compare: {', '.join(sorted(sets))}"
        )
    entries: dict[str, dict[int, tuple[str, float]]] = {}
    for run, pr in sorted(zip(runs, prs, strict=True), key=lambda pair: pair[0].started):
        for key, value in _values(run).items():
            of_key = entries.setdefault(key, {})
            of_key.pop(pr, None)
            of_key[pr] = (show.second(run.started), value)
    lines = []
    for key, of_key in sorted(entries.items()):
        lines.append(f"{key}:")
        for pr, (started, value) in list(of_key.items())[-NEWEST:]:
            lines += [f"- pr: {pr}", f"  ts: '{started}'", f"  value: {value:.3f}"]
    return "\n".join(lines) + "\n"
