# SPDX-License-Identifier: GPL-2.0-or-later
"""What pages say of replays: of one, first of all; and the page of a recording and its replays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..judge import replaysaid
from ..saved.run import Run
from ..words import Words
from . import painter
from .painter import Painter

if TYPE_CHECKING:
    from ..judge.replays import Outcome

TEMPLATE = "replay.html"
Table = tuple[Sequence[str], Sequence[Sequence[str]]]  # head and lines


def answer(run: Run, w: Words) -> tuple[list[str], list[str]]:
    """The answer of a replay, and what to know of it; empty: the run is none."""
    r = run.replay
    if r is None:
        return [], []
    first, *others = replaysaid.answered(r, w)
    said = [first, replaysaid.kept_up(run, r, w)]
    return [text for text in said if text], [*others, replaysaid.share(run, r, w)]


def _whose(key: str, run: Run, w: Words) -> str:
    on = ", ".join(filter(None, (run.server_name, run.place or run.local)))
    said = w.say(key, name=run.name)
    return f"{said} ({on})" if on else said


def compared(o: Outcome, doubts: Sequence[str], tables: tuple[Table, Table]) -> str:
    """The page as HTML. `tables`: of the requests, and of the commands inside the server."""
    w = Painter(None, "en", o.recording.words).w
    return painter.render(
        TEMPLATE,
        w=w,
        o=o,
        doubts=doubts,
        whose=[_whose("replay_recording", o.recording, w),
               *(_whose("replay_run", run, w) for run in o.replays)],
        requests=tables[0],
        served=tables[1],
        other={row.command: row.other_calls for row in o.served if row.other_calls},
    )  # fmt: skip
