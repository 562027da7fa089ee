# SPDX-License-Identifier: GPL-2.0-or-later
"""What pages say of replays: of one, first of all; and the page of a recording and its replays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import replaytext
from ..saved.run import Run
from ..words import Words
from . import painter
from .painter import Painter

if TYPE_CHECKING:
    from ..replaycompare import Outcome

TEMPLATE = "replay.html"


def answer(run: Run, w: Words) -> tuple[list[str], list[str]]:
    """The answer of a replay, and what to know of it; empty: the run is none."""
    r = run.replay
    if r is None:
        return [], []
    first, *others = replaytext.answered(r, w)
    said = [first, replaytext.kept_up(run, r, w)]
    return [text for text in said if text], [*others, replaytext.share(run, r, w)]


def _whose(key: str, run: Run, w: Words) -> str:
    on = ", ".join(filter(None, (run.server_name, run.place or run.local)))
    said = w.say(key, name=run.name)
    return f"{said} ({on})" if on else said


def compared(o: Outcome, doubts: Sequence[str]) -> str:
    """The page as HTML."""
    from .. import replaycompare  # and scipy, which pages of single runs do not need

    made = Painter(None, "en", o.recording.words)
    w = made.w
    return painter.render(
        TEMPLATE,
        w=w,
        o=o,
        doubts=doubts,
        whose=[_whose("replay_recording", o.recording, w),
               *(_whose("replay_run", run, w) for run in o.replays)],
        requests=(replaycompare.heads(w), replaycompare.lines(o.requests)),
        served=(replaycompare.served_heads(w), replaycompare.served_lines(o.served)),
        other={row.command: row.other_calls for row in o.served if row.other_calls},
    )  # fmt: skip
