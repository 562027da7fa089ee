# SPDX-License-Identifier: GPL-2.0-or-later
"""What came of a replay in sentences: whether its requests were answered as recorded, and whether
the server kept up."""

from __future__ import annotations

from collections.abc import Sequence

from .. import show
from ..saved.replayed import Replay
from ..saved.run import Run
from ..words import ENGLISH, Words

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


def _pace(run: Run, w: Words) -> str:
    if run.options.get("timed") == "no":
        return w["replay_pace_none"]
    speed = run.options.get("speed", "1")
    return w["replay_pace"] if speed == "1" else w.say("replay_pace_of", speed=speed)


def share(run: Run, r: Replay, w: Words = ENGLISH) -> str:
    """How much of the recording was sent."""
    return w.say(
        "replay_share",
        sent=r.replayed,
        n=r.recorded,
        share=r.replayed / r.recorded if r.recorded else 0.0,
        clients=run.options.get("clients", "?"),
        pace=_pace(run, w),
    )


def several(of: Sequence[tuple[Run, Replay]], w: Words = ENGLISH) -> list[str]:
    """The same of several replays: what is so in each is said once."""
    first = of[0][1]
    alike = all(r.as_recorded == r.planned == first.planned for _, r in of)
    out = [w.say("replay_all_of", n=first.planned, of=len(of))] if alike else []
    if not alike:
        out += [f"{run.name}: {' '.join(answered(r, w))}" for run, r in of]
    judged = [(run, r.kept_up) for run, r in of if r.kept_up]
    if not judged:
        return [*out, *filter(None, [kept_up(*of[0], w)])]
    kept = sum(limit.kept is True for _, limit in judged)
    said = [w.say("replay_kept_of", n=kept, of=len(of))]
    for key, wanted in (("replay_behind_of", False), ("replay_untold_of", None)):
        those = [
            f"{run.name} ({w.told(x.why)})" if x.why else run.name
            for run, x in judged
            if x.kept is wanted
        ]
        if those:
            said.append(w.say(key, n=len(those), which=", ".join(those)))
    return [" ".join([*out[:1], *said]), *out[1:]] if alike else [*out, " ".join(said)]
