# SPDX-License-Identifier: GPL-2.0-or-later
"""What came of a replay in sentences: whether its requests were answered as recorded, and whether
the server kept up."""

from __future__ import annotations

from collections.abc import Sequence

from . import show
from .saved.replayed import Replay
from .saved.run import Run
from .words import ENGLISH, Words

_NAMED = 6  # kinds of requests in a sentence


def _which(of: Sequence[tuple[str, int]]) -> str:
    """ "read 3, stat 1" """
    those = [f"{name} {n:,}" for name, n in of if n]
    return ", ".join(those[:_NAMED]) + (", ..." if len(those) > _NAMED else "")


def answered(r: Replay, w: Words = ENGLISH) -> list[str]:
    """Whether the requests were answered as recorded, and which were not."""
    if r.as_recorded == r.planned:
        return [w.say("replay_all", n=r.planned)]
    out = [w.say("replay_some", same=r.as_recorded, n=r.planned)]
    for key, of in (
        ("replay_otherwise", [(q.name, q.otherwise) for q in r.requests]),
        ("replay_unsent", [(q.name, q.came["unsent"]) for q in r.requests]),
        ("replay_lacks", [(q.name, q.came["not_supported"]) for q in r.requests]),
    ):
        if which := _which(of):
            out.append(w.say(key, which=which))
    return out


def kept_up(run: Run, r: Replay, w: Words = ENGLISH) -> str:
    """Whether the server did; empty: an older run, which does not say."""
    of = r.kept_up
    if of is None:
        return w["replay_unpaced"] if run.options.get("timed") == "no" else ""
    if of.kept is None:
        return w.say("replay_untold", why=w.told(of.why))
    time = show.time(of.value.ns if of.value else None, bool(of.value and of.value.at_least))
    if of.kept:
        return w.say("replay_kept", time=time)
    if of.why:
        return w.say("replay_behind_why", why=w.told(of.why))
    return w.say("replay_behind", time=time)


def share(run: Run, r: Replay, w: Words = ENGLISH) -> str:
    """How much of the recording was sent."""
    return w.say(
        "replay_share",
        sent=r.replayed,
        n=r.recorded,
        share=r.replayed / r.recorded if r.recorded else 0.0,
        clients=run.options.get("clients", "?"),
        speed=run.options.get("speed", "1"),
    )
