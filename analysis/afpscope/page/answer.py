# SPDX-License-Identifier: GPL-2.0-or-later
"""What the page of a run says first: whether it can be trusted, and what is wrong.

The diagnosis in run.json is the only judge. What it could not tell, and why, is an answer too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .. import show
from ..saved.run import NO_WORDS, Cause, Noticed, Run, Shown
from ..tables.digest import CommandView, Digest
from ..words import Words, stopped
from . import loadpage, replaypage

_SAID = 5  # causes that may be: so many are in the diagnosis's own sentence, all of them
_NAMED = 3  # unsteady tests; more are named by their numbers
_WORTH_NAMING = 0.05  # of all time: what the second command takes at least
_OF_CAUSE = ("shown_by", "to_do", "others")  # parts that are about causes
# What stands out, by its key or the end of it: other figures that say the same where they show a
# cause; its own has the key's name.
_SAME = {
    "disk": ("wait_disk", "sync"), "network": ("net", "net_wait"), "run-queue": ("wait_cpu",),
    "stalls": ("slow_n", "longest"), "stopped": ("stopped", "stopped_for"),
}  # fmt: skip
_SHARE_OF = re.compile("^(request|own) time(?=[:,])")
TRUSTED, DOUBTED, UNCHECKED = "trusted", "doubted", "unchecked"


@dataclass(frozen=True)
class Badge:
    """`state`: one of the three above; `text`: its word; `why`: what it rests on."""

    state: str
    text: str
    why: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """Sentences below a heading (`key` of its words); figures of the diagnosis before them."""

    key: str
    texts: tuple[str, ...]
    figures: tuple[Shown, ...] = ()


@dataclass(frozen=True)
class Answer:
    """`cause`: one sentence, with its number; `told`: the diagnosis names a cause, or that there
    is none; else `cause` says what is not known. `certain`: how sure that is, or why it is not."""

    badge: Badge
    told: bool
    cause: str
    certain: tuple[str, ...]
    parts: tuple[Part, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """All that it says."""
        return (self.cause, *self.certain, *(text for part in self.parts for text in part.texts))


def _longest_call(command: CommandView, w: Words) -> list[str]:
    """The call of afpd that took longest for a command; cnid_dbd's time is afpd's waiting."""
    own = command.top_calls(1, w.names["server"], True)
    if not own or not own[0][2]:
        return []
    key, _, ns = own[0]
    name = key[1] if key[2] == "-" else f"{key[1]} · {key[2]}"
    n, all_ns = command.calls[key], command.call_ns[key]
    return [w.say("call_why", call=name, n=n, all=show.time(all_ns), time=show.time(ns))]


def _evidence(cause: Cause) -> tuple[Shown, ...]:
    """The figures that show it: those of its sentence, too, which are proved here."""
    return tuple(
        replace(f, meaning=_SHARE_OF.sub(r"of all \1 time", f.meaning)) for f in cause.evidence
    )


def _bases(causes: Sequence[Cause], w: Words) -> list[str]:
    """What the shares of causes are shares of."""
    said = " ".join(text for c in causes for text in (c.text, *(f.meaning for f in c.evidence)))
    own, their = "own time" in said, "that before it is read" in said
    return (
        [w["of_request_time"]] * (own or their or "request time" in said)
        + [w["of_own_time"]] * own
        + [w["of_their_time"]] * their
    )


def terms(texts: Sequence[str], w: Words) -> tuple[str, ...]:
    """Keys of the words to explain that these texts have."""
    said, names = " ".join(texts), w.names
    calls = re.escape(w["p_calls"])
    found = {
        "term_server": names["server"] != NO_WORDS["server"]
        and re.search(rf"\b{re.escape(names['server'])}\b", said),
        "term_backend": names["backend"] != NO_WORDS["backend"]
        and any(names[word] in said for word in ("backend", "helper", "asked")),
        "term_calls": re.search(calls, said, re.I),
        "term_quantiles": re.search(r"\bp\d\d", said),
    }
    return tuple(key for key, there in found.items() if there)


def _noticed(run: Run, w: Words) -> list[str]:
    """What stands out, but for what the figures of the first cause say."""
    shown = {f.key for f in run.causes[0].evidence} if run.causes else set()

    def told(found: Noticed) -> bool:
        same = [_SAME.get(key, ()) for key in (found.key, found.key.partition("-")[2])]
        return not shown.isdisjoint((found.key.replace("-", "_"), *same[0], *same[1]))

    return [w.sentence(found.text) for found in run.findings if not told(found)]


def hung(d: Digest) -> bool:
    """Whether requests without an answer took more time than all that have one: what those cost,
    and whose they were, does not say what the server's time went into."""
    return d.run.pending_ns > d.served_ns


def _busiest(d: Digest, w: Words) -> list[str]:
    """Who kept the server busy, if several users had logged in; of no interest beside a cause,
    which may name another session."""
    users = [s for s in d.sessions if s.user]
    explained = any(not cause.whom for cause in d.run.causes)
    if len(users) < 2 or not d.busy_ns or hung(d) or explained:
        return []
    s = users[0]
    share = s.busy_ns / d.busy_ns
    return [w.say("busiest", who=s.user, at=s.address or "n/a", n=len(users), share=share)]


def _requests(command: CommandView, w: Words) -> str:
    """How many its times are of."""
    if not command.unanswered:
        return f"{command.served:,}"
    return w.say("n_open", n=command.served, open=command.unanswered)


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
            n=_requests(first, w),
            part=w[f"p_{part}"],
            part_share=first.share(part),
        )
    ]
    out += _longest_call(first, w)
    second = d.commands[1] if len(d.commands) > 1 else None
    if second and second.service_ns >= _WORTH_NAMING * d.served_ns:
        out.append(w.say("second", name=second.name, share=second.service_ns / d.served_ns))
    return [*out, w["of_request_time"]]


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
            text=stopped(w.verdict(t)),
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


def _spent(d: Digest, w: Words) -> list[str]:
    """What the server's time went into, which is no judgement."""
    run = d.run
    if run.local is not None:
        return [w["no_server"]]
    if not run.has_requests:
        return _any(d, w)
    if not d.commands and not run.rungs and not run.absent and "host" not in run.server:
        return [w["alone"]]
    if not d.commands and run.verdict in (None, "not_counted"):
        return [w["unwatched"]]
    return _served(d, w) if d.served_ns and not hung(d) else []


def _sure(cause: Cause, w: Words) -> str:
    if cause.sure or not cause.doubt:
        return w["cause_sure" if cause.sure else "cause_likely"]
    doubt, meaning = w.told(cause.doubt), w.told(cause.doubtful)
    return w.say(
        "cause_likely_about" if meaning else "cause_likely_for", doubt=doubt, meaning=meaning
    )


def _todo(run: Run, cause: Cause, w: Words) -> tuple[str, ...]:
    """What to do, and what would show that it is mistaken. They may begin with a command, which
    has no capital letter."""
    own = run.server.get("settings", run.conf)  # of a server in a container another path
    where = w.say("conf_is", conf=run.conf, settings=own) if own != run.conf else ""
    said = (
        ("cause_try", stopped(cause.todo) if cause.todo else ""),
        ("cause_wrong", stopped(cause.disproof) if cause.disproof else ""),
        ("cause_next", cause.next),
    )
    out = [w.say(key, text=text) for key, text in said if text]
    return (*out, *([where] if run.conf and any(run.conf in text for text in out) else []))


def _too(causes: Sequence[Cause], w: Words) -> list[str]:
    """Other causes, each with how sure it is."""
    return [
        w.say("cause_too_sure" if c.sure else "cause_too_likely", text=stopped(c.text))
        for c in causes
    ]


def _unseen(run: Run, w: Words) -> list[str]:
    """Causes that could not be seen: each that the waits speak for, and without a finding also
    those for which nothing speaks but that nothing rules out. Where nothing was seen the verdict
    says so."""
    rest = tuple(key for key in run.may_be if key not in run.unseen)
    said = run.verdict == "partly" and len(run.may_be) <= _SAID
    if run.causes or run.verdict == "not_counted" or said:
        rest = ()
    return [
        w.say(which, names=w["comma"].join(w.cause(key, run.called) for key in keys))
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
    out = []
    timed = [t for t in d.tests if t.mean_ns is not None]
    if names := _short([t.name for t in timed if t.is_unsteady]):
        out.append(w.say("unsteady", names=", ".join(names)))
    if (cpu := d.run.shared_cpu) is not None:
        out.append(w.say("shared_cpu", cpu=cpu))
    return out


def causes(run: Run, w: Words) -> list[tuple[str, tuple[str, ...]]]:
    """Of several causes each with what to do; of one alone the answer says it."""
    found = run.causes if len(run.causes) > 1 else ()
    return [(text, _todo(run, c, w)) for text, c in zip(_too(found, w), found, strict=True)]


def named(d: Digest, said: Answer) -> frozenset[str]:
    """The commands that the answer names; if none, the one that costs most."""
    texts = (text for part in said.parts if part.key in _OF_CAUSE for text in part.texts)
    words = set(re.findall(r"[A-Za-z0-9_]+", " ".join((said.cause, *texts))))
    found = frozenset(c.name for c in d.commands if c.name in words)  # FPReadExt is not FPRead
    return found or frozenset(c.name for c in d.commands[:1])


def _parts(*parts: Part) -> tuple[Part, ...]:
    """Those that say something."""
    return tuple(part for part in parts if part.texts or part.figures)


def answer(d: Digest, damaged: bool, w: Words) -> Answer:
    """What the page of a run begins with. `damaged`: its trace is damaged."""
    found = _answer(d, damaged, w)
    said, more = replaypage.answer(d.run, w)
    if not said:
        return found
    judged = d.run.replay.kept_up if d.run.replay else None
    told = judged is not None and judged.kept is not None
    doctor = Part("replay_doctor", (found.cause, *found.certain))
    return replace(found, told=told, cause=" ".join(said), certain=tuple(more),
                   parts=(doctor, *found.parts))  # fmt: skip


def _answer(d: Digest, damaged: bool, w: Words) -> Answer:
    """The same of any run but a replay, whose own figures come first."""
    run, badge = d.run, _badge(d.run, damaged, w)
    noticed = _noticed(run, w)
    felt, spent, unseen = _felt(d, w), _spent(d, w), _unseen(run, w)
    rest = Part("beware", tuple(_remarks(d, w)))
    bases = _bases(run.causes[:1], w)
    more = [text for text in _bases(run.causes[1:], w) if text not in bases]
    if len(run.causes) > 1:
        more.append(w["shares_apart"])
    spent = [text for text in spent if text not in bases]
    went = Part("went_into", tuple(spent + _busiest(d, w)))
    if run.causes:
        first = run.causes[0]
        rivals = [w.say("cause_rivals", n=run.rivals)] if run.rivals > 1 else []
        return Answer(badge, True, w.sentence(first.text), (_sure(first, w), *rivals), _parts(
            Part("shown_by", (*felt, *bases), _evidence(first)),
            Part("to_do", _todo(run, first, w)),
            Part("others", (*_too(run.causes[1:], w), *more, *unseen)),
            Part("stands_out", tuple(noticed)), went, rest))  # fmt: skip
    if run.opinion and not d.transfers:  # each of them has a verdict of its own
        near = [w.sentence(note.text) for note in run.limits]
        return Answer(badge, run.verdict == "healthy", run.opinion, (), _parts(
            Part("shown_by", tuple(felt)), Part("others", (*near, *unseen)),
            Part("stands_out", tuple(noticed)), went, rest))  # fmt: skip
    lead, *others = [*felt, *noticed, *spent] or [w["unwatched"]]
    told = any(t.verdict_kind not in ("", "not_told") for _, t in d.transfers)
    why = () if told else (w["unjudged"] if run.opinion is None else run.opinion,)
    others += _busiest(d, w)
    return Answer(badge, told, lead, why, _parts(Part("went_into", tuple(others)), rest))
