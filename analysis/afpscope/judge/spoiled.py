# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs whose figures are not their server's alone: loads and replays of which the load generator
was the limit, or clients were not served, so that those who were had a faster server; recordings,
which show what users asked for as well.

Such a difference may have another cause, however large it is, and one that is there may be hidden.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ..saved.crowd import SPOILED, TROUBLE, Doubt, Load
from ..saved.model import Phase
from ..saved.run import Run
from . import replaysaid, stats, versus
from .versus import TimeRow

GENERATOR = "the load generator was short of CPU time, or stood still,"
UNSERVED = "clients had no session, lost it or completed nothing"
UNDONE = f"more than {TROUBLE:.0%} of the actions failed or were dropped"
OTHER_WORK = "no two recordings are of the same work"
_FIGURE = re.compile(r"\d[\d.,]*")
OTHERWISE = f"more than {TROUBLE:.0%} of the requests were not answered as recorded"


def _is_short(load: Load) -> bool:
    """Of time for itself."""
    return load.busy or any(x.what in SPOILED for x in load.doubts or ())


def _trouble(load: Load, is_probe: bool) -> bool:
    """What a probe leaves out shows a slow server: a user waits for what he does."""
    undone = sum(a.failed for a in load.actions) if is_probe else load.undone_n
    return undone > max(TROUBLE * max(load.n, load.arrivals or 0), 1 if is_probe else 0)


def _of_phase(p: Phase) -> Iterator[str]:
    loads = [load for load in (p.load, p.probe) if load]
    if any(map(_is_short, loads)):
        yield GENERATOR
    if any(load.missing or load.lost or load.starved for load in loads):
        yield UNSERVED
    if p.replay:
        if p.replay.planned - p.replay.as_recorded > TROUBLE * p.replay.planned:
            yield OTHERWISE
    elif any(_trouble(x, x is p.probe) for x in loads):
        yield UNDONE


def of(run: Run) -> list[str]:
    """Why; empty: its figures are its server's, or it is no load."""
    found = (text for p in run.whole_phases if p.load for text in _of_phase(p))
    return list(dict.fromkeys(found))


def doubts(a: Sequence[Run], b: Sequence[Run]) -> list[str]:
    """The same of two sides, with the number of runs; a single one is enough."""
    n: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for i, side in enumerate((a, b)):
        for text in (text for run in side for text in of(run)):
            n[text][i] += 1
    sides = (("A", a), ("B", b))
    recorded = any(run.is_of_others for run in (*a, *b))
    return [OTHER_WORK] * recorded + [
        f"{text} in "
        + " and ".join(
            f"{k} of {len(side)} runs of {name}"
            for k, (name, side) in zip(each, sides, strict=True)
            if k
        )
        for text, each in n.items()
    ]


def _doubts(p: Phase) -> Iterator[tuple[str, Doubt]]:
    """Whose they are, as words before them, and each."""
    for who, load in (("", p.load), ("the probe: ", p.probe)):
        yield from ((who, doubt) for doubt in (load and load.doubts) or ())


def remarks(a: Sequence[Run], b: Sequence[Run]) -> list[str]:
    """What loads and probes say of themselves: of several runs that say it the first."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, side in (("A", a), ("B", b)):
        for p in (p for run in side for p in run.whole_phases if p.load):
            if not p.replay:
                for who, doubt in _doubts(p):
                    found[name, who + doubt.what].append(who + doubt.text)
            elif p.replay.as_recorded != p.replay.planned:
                found[name, OTHERWISE].append(" ".join(replaysaid.answered(p.replay)))
    return [
        f"{name}: {texts[0]}" + (f" (one of the {len(texts)} that say so)" if texts[1:] else "")
        for (name, _), texts in found.items()
    ]


def withheld(
    rows: Sequence[TimeRow], wanted: Callable[[TimeRow], bool] = lambda _: True
) -> list[TimeRow]:
    """The rows, those that are wanted without a verdict on the servers: what differs has an unclear
    cause, and none is the same."""
    unclear = dict.fromkeys((*stats.GOOD, *stats.BAD), stats.UNCLEAR)
    same = dict.fromkeys((stats.SAME, versus.IN_PART, versus.FEW_RUNS), stats.NONE_SHOWN)
    words = unclear | same
    return [
        replace(row, verdict=words.get(row.verdict, row.verdict)) if wanted(row) else row
        for row in rows
    ]


def warnings(runs: Sequence[Run]) -> list[str]:
    """Those of the runs: of several that differ in their figures only the first."""
    found: dict[str, list[str]] = {}
    for run in runs:
        for text in dict.fromkeys(run.warnings):
            found.setdefault(_FIGURE.sub("0", text), []).append(text)
    n = len(runs)
    return [
        texts[0] + (f" (one run of the {len(texts)} of {n} that say so)" if len(texts) > 1 else "")
        for texts in found.values()
    ]
