# SPDX-License-Identifier: GPL-2.0-or-later
"""What the page of a run says first: whether it can be trusted, and what is wrong.

The diagnosis in run.json is the only judge. What it could not tell, and why, is an answer too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .. import show
from ..saved.run import Cause, Run
from ..tables.digest import CommandView, Digest
from ..words import Words
from . import loadpage

_WIDE = re.compile("[\u3040-\u9fff]")  # letters of Japanese
_SAID = 5  # causes that may be: so many are in the diagnosis's own sentence, all of them
_NAMED = 3  # unsteady tests; more are named by their numbers
_WORTH_NAMING = 0.05  # of all time: what the second command takes at least
TRUSTED, DOUBTED, UNCHECKED = "trusted", "doubted", "unchecked"


@dataclass(frozen=True)
class Badge:
    """`state`: one of the three above; `text`: its word; `why`: what it rests on."""

    state: str
    text: str
    why: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """`cause`: one sentence, with its number; `told`: the diagnosis names a cause, or that there
    is none; else `cause` says what is not known. `evidence`: what shows it, and what to try;
    `rest`: what else stands out."""

    badge: Badge
    told: bool
    cause: str
    evidence: tuple[str, ...]
    rest: tuple[str, ...]


def _longest_call(command: CommandView, w: Words) -> list[str]:
    """The call of afpd that took longest for a command; cnid_dbd's time is afpd's waiting."""
    own = command.top_calls(1, w.names["server"], True)
    if not own or not own[0][2]:
        return []
    key, n, ns = own[0]
    name = key[1] if key[2] == "-" else f"{key[1]} · {key[2]}"
    return [w.say("call_why", call=name, n=n, time=show.time(ns))]


def hung(d: Digest) -> bool:
    """Whether requests without an answer took more time than all that have one: what those cost,
    and whose they were, does not say what the server's time went into."""
    return d.run.pending_ns > d.served_ns


def _busiest(d: Digest, w: Words) -> list[str]:
    """Who kept the server busy, if several users had logged in."""
    users = [s for s in d.sessions if s.user]
    if len(users) < 2 or not d.busy_ns or hung(d):
        return []
    s = users[0]
    share = s.busy_ns / d.busy_ns
    return [w.say("busiest", who=s.user, at=s.address or "n/a", n=len(users), share=share)]


def _served(d: Digest, w: Words) -> list[str]:
    """Which commands the server's time went into, and why."""
    first = d.commands[0]
    part = first.main_part
    out = [
        w.say(
            "costs_most" if any(first.times.values()) else "costs_most_whole",
            name=first.name,
            share=first.service_ns / d.served_ns,
            mean=show.time(first.service_ns / first.served),
            n=first.served,
            part=w[f"p_{part}"],
            part_share=first.share(part),
        )
    ]
    out += _longest_call(first, w)
    second = d.commands[1] if len(d.commands) > 1 else None
    if second and second.service_ns >= _WORTH_NAMING * d.served_ns:
        out.append(w.say("second", name=second.name, share=second.service_ns / d.served_ns))
    return out


def _any(d: Digest, w: Words) -> list[str]:
    """What a program whose requests are not known did."""
    if not d.calls:
        return [w["calls_unknown"]]
    first = d.calls[0]
    return [
        w.say("any_cpu", cpu=show.time(d.cpu_ns), n=sum(c.calls for c in d.calls)),
        w.say("any_call", name=first.name, n=first.calls, time=show.time(first.ns)),
    ]


def _transfers(d: Digest, w: Words) -> list[str]:
    """How fast the largest file of each kind of transfer moved."""
    by_size = sorted(d.transfers, key=lambda x: x[1].size_bytes)
    largest = {t.work: (title, t) for title, t in by_size}
    return [
        w.say(
            "transfer",
            title=title,
            rate=show.throughput(t.throughput, d.run.options.get("units", "")),
            text=_stopped(w.verdict(t)),
        )
        for title, t in largest.values()
        if t.throughput
    ]


def _badge(run: Run, damaged: bool, w: Words) -> Badge:
    """`damaged`: its trace is damaged, which casts no doubt on what was not taken from it."""
    doubts = [w.say("doubt", text=w.told(text)) for text in run.doubts]
    lost = sum(n for _, n in run.losses)
    if damaged:
        doubts.append(w["damaged"])
        if not run.doubts and run.books:
            doubts.append(w.say("trusted_but", lost=lost, books=len(run.books)))
    if doubts:
        return Badge(DOUBTED, w["badge_doubted"], tuple(doubts))
    if run.books:
        why = w.say("trusted", lost=lost, books=len(run.books))
        return Badge(TRUSTED, w["badge_trusted"], (why,))
    return Badge(UNCHECKED, w["badge_unchecked"], (w["unchecked"],))


def _stopped(text: str) -> str:
    """With a full stop, that of its language."""
    if text.endswith((".", "。")):
        return text
    return f"{text}{'。' if _WIDE.search(text) else '.'}"


def _sentence(text: str, w: Words) -> str:
    """As run.json has it, with a full stop; and a capital letter, but for names of programs."""
    first = text.split(maxsplit=1)[0] if text else ""
    kept = first.rstrip(":,") in w.names.values() or _WIDE.search(text)
    begin = text[:1] if kept else text[:1].upper()
    return _stopped(f"{begin}{text[1:]}")


def _spent(d: Digest, w: Words) -> list[str]:
    """What the server's time went into, which is no judgement."""
    run = d.run
    if run.local is not None:
        return [w["no_server"]]
    if not run.has_requests:
        return _any(d, w)
    if not d.commands and not run.rungs and not run.absent:
        return [w["alone"]]
    if not d.commands and run.verdict in (None, "not_counted"):
        return [w["unwatched"]]
    return _served(d, w) if d.served_ns and not hung(d) else []


def _shown(cause: Cause, w: Words) -> list[str]:
    """How sure a finding is, what to do, and what would show that it is mistaken. Both may begin
    with a command, which has no capital letter."""
    out = [w["cause_sure" if cause.sure else "cause_likely"]]
    if cause.todo:
        out.append(w.say("cause_try", text=_stopped(cause.todo)))
    if cause.disproof:
        out.append(w.say("cause_wrong", text=_stopped(cause.disproof)))
    return out


def _unseen(run: Run, w: Words) -> list[str]:
    """Causes that could not be seen: each that the waits speak for, and without a finding also
    those for which nothing speaks but that nothing rules out."""
    rest = () if run.causes else tuple(key for key in run.may_be if key not in run.unseen)
    if run.verdict == "partly" and len(run.may_be) <= _SAID:
        rest = ()
    return [
        w.say(which, names=w["comma"].join(map(w.cause, keys)))
        for which, keys in (("unseen", run.unseen), ("may_be", rest))
        if keys
    ]


def _felt(d: Digest, w: Words) -> list[str]:
    """What the clients had of it."""
    return loadpage.sentences(d.run, w) + _transfers(d, w)


def _short(names: list[str]) -> list[str]:
    """Names of tests; of many that begin with their numbers only these."""
    numbers = [name.split(maxsplit=1)[0] for name in names]
    return numbers if len(names) > _NAMED and all(x.isdigit() for x in numbers) else names


def _remarks(d: Digest, w: Words) -> list[str]:
    """What a reader must know before using these figures for something else."""
    out = _busiest(d, w)
    timed = [t for t in d.tests if t.mean_ns is not None]
    if names := _short([t.name for t in timed if t.is_unsteady]):
        out.append(w.say("unsteady", names=", ".join(names)))
    if (cpu := d.run.shared_cpu) is not None:
        out.append(w.say("shared_cpu", cpu=cpu))
    return out


def named(d: Digest, said: Answer) -> frozenset[str]:
    """The commands that the answer names; if none, the one that costs most."""
    text = " ".join((said.cause, *said.evidence))
    words = set(re.findall(r"[A-Za-z0-9_]+", text))  # FPReadExt does not name FPRead
    found = frozenset(c.name for c in d.commands if c.name in words)
    return found or frozenset(c.name for c in d.commands[:1])


def answer(d: Digest, damaged: bool, w: Words) -> Answer:
    """What the page of a run begins with. `damaged`: its trace is damaged."""
    run, badge = d.run, _badge(d.run, damaged, w)
    noticed = [_sentence(text, w) for text in run.findings]
    felt, spent = _felt(d, w), _spent(d, w)
    rest = _remarks(d, w)
    if run.causes:
        first = run.causes[0]
        more = [w.say("cause_too", text=_sentence(c.text, w)) for c in run.causes[1:]]
        rivals = [w.say("cause_rivals", n=run.rivals)] if run.rivals > 1 else []
        n = max(0, run.rivals - 1)
        evidence = rivals + more[:n] + _shown(first, w) + _unseen(run, w) + more[n:]
        return Answer(badge, True, _sentence(first.text, w), (*evidence, *felt),
                      (*noticed, *spent, *rest))  # fmt: skip
    if run.opinion and not d.transfers:  # each of them has a verdict of its own
        told = run.verdict == "healthy"
        near = [_sentence(note.text, w) for note in run.limits]
        return Answer(badge, told, run.opinion, (*near, *_unseen(run, w), *felt, *noticed),
                      (*spent, *rest))  # fmt: skip
    lead, *others = [*felt, *noticed, *spent] or [w["unwatched"]]
    told = any(t.verdict_kind not in ("", "not_told") for _, t in d.transfers)
    why = [] if told else [w["unjudged"]] if run.opinion is None else [run.opinion]
    return Answer(badge, told, lead, (*why, *others), tuple(rest))
