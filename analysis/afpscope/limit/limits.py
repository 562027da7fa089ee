# SPDX-License-Identifier: GPL-2.0-or-later
"""What is used up at the knee: from two runs of `load`, below it and at or above it.

A generator without time and sessions that were not made go first. What ails the server is said by
the diagnosis that the run above has in its run.json; without a cause it cannot be told, and only
where the time of a request went is said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .. import show
from ..saved.crowd import Load
from ..saved.model import Account, Phase
from ..saved.run import AFP_WORDS, DATABASE_FILE, Run
from ..saved.steps import Step
from ..words import ENGLISH, Words

# The resource that a part of a request's time is spent on. Names are in sweepwords.py: spent_PART,
# r_RESOURCE for a column, limit_RESOURCE for a sentence.
PARTS = {
    "own": "cpu",
    "runq": "cpu",
    "unread": "cpu",
    "cnid_runq": "cpu",
    "cnid_cpu": "cnid",
    "database_lock": "lock",
    "database_disk": "disk",
    "cnid_rest": "cnid",
    "disk": "disk",
    "log": "disk",
    "cnid_disk": "disk",
    "lock": "lock",
    "cnid_lock": "lock",
    "net": "network",
    "outside": "network",
    "other": "other",
}
# Of the time that afpd waits for its CNID server, or for a CNID database that it has open itself.
_CNID = ("cnid_cpu", "cnid_runq", "cnid_disk", "cnid_lock", "database_lock", "database_disk")
_DATABASE_LOCKS = ("wait", "lock")  # SQLite sleeps, and tries again
# Requests take longer only if they take so much longer.
_GROWN = 1.1
# The largest part is named alone only if it is so many times the next.
LEAD = 1.5


@dataclass(frozen=True)
class Spent:
    """A request's mean time by part, in ns; empty where the server was not watched.

    `client_ns`: the time of a request as the clients saw it. `cpus`, `generator_cpus`: how many
    CPUs the server and the load generator used, of `cpus_here`: who is watched is on this machine.
    """

    parts: dict[str, float] = field(default_factory=dict)
    client_ns: float | None = None
    cpus: float | None = None
    generator_cpus: float | None = None
    cpus_here: int | None = None

    @property
    def by_resource(self) -> dict[str, float]:
        out: dict[str, float] = defaultdict(float)
        for key, ns in self.parts.items():
            out[PARTS[key]] += ns
        return dict(out)

    @property
    def busiest(self) -> tuple[str, float] | None:
        """The resource that has most of a request's time, and its share."""
        of = self.by_resource
        total = sum(of.values())
        if total <= 0:
            return None
        first = max(of, key=lambda key: of[key])
        return first, of[first] / total


@dataclass(frozen=True)
class Figure:
    """Evidence: a figure in both runs."""

    name: str
    below: str
    above: str


@dataclass(frozen=True)
class Limit:
    """What is used up: the key of a cause of the diagnosis, or generator, sessions, unknown.

    A sentence about it, and the figures of both runs.
    """

    kind: str
    text: str
    figures: tuple[Figure, ...]


def _total(accounts: Iterable[Account], which: str, key: str) -> int:
    return sum(getattr(a, which).get(key) or 0 for a in accounts)


def _cpus(p: Phase, *keys: str) -> float | None:
    """How many CPUs were used; None where the first metric is not known."""
    used = [p.metrics.get(key) for key in keys]
    elapsed = p.metrics.get("elapsed")
    if used[0] is None or not elapsed:
        return None
    return sum(ns or 0 for ns in used) / elapsed


def _server(accounts: tuple[Account, ...], served: int) -> dict[str, float]:
    """The parts of a request inside the server."""

    def each(which: str, *keys: str) -> float:
        return sum(_total(accounts, which, key) for key in keys) / served

    out = {
        "own": each("times", "user", "calls"),
        "runq": each("times", "runq"),
        "disk": each("times", "disk"),
        "log": each("times", "log"),
        "lock": each("times", "lock"),
        "net": each("times", "net"),
        "other": each("times", "other", "stopped"),
        "cnid_cpu": each("inside", "cpu"),
        "cnid_runq": each("inside", "runq"),
        "cnid_disk": each("inside", "sync", "io"),
        "cnid_lock": each("inside", "lock"),
    }
    for part in (part for a in accounts for part in a.parts if part.object == DATABASE_FILE):
        if part.role == AFP_WORDS["server"]:
            key = "database_lock" if part.class_ in _DATABASE_LOCKS else "database_disk"
            out[key] = out.get(key, 0.0) + (part.figures["blocked_ns"] or 0) / served
    known = sum(out.get(key, 0.0) for key in _CNID)
    out["cnid_rest"] = max(0.0, each("times", "cnid") - known)
    return out


def spent(phase: Phase, environment: dict[str, str]) -> Spent:
    """Of one run's phase."""
    ops = sum(c.ops for c in phase.commands)
    client = sum(c.sum_ns for c in phase.commands) / ops if ops else None
    served = sum(a.requests or 0 for a in phase.requests or ())
    here = environment.get("cpus", "")
    cpus_here = int(here) if here.isascii() and here.isdigit() else None
    cpus = _cpus(phase, "afpd_cpu", "cnid_cpu"), _cpus(phase, "client_cpu"), cpus_here
    if not phase.requests or not served:
        return Spent({}, client, *cpus)
    parts = _server(phase.requests, served)
    if client is not None:
        # A request that nobody has read yet is in no request's account: its afpd has work to do
        # and waits for a CPU between requests.
        inside = sum(a.time_ns or 0 for a in phase.requests) / served
        between = [a for a in phase.outside or () if a.name == "between requests"]
        outside = max(0.0, client - inside)
        parts["unread"] = min(outside, _total(between, "times", "runq") / served)
        parts["outside"] = outside - parts["unread"]
    return Spent(parts, client, *cpus)


def of_step(step: Step | None) -> Spent:
    return of_run(step.run) if step and step.run else Spent()


def of_run(run: Run) -> Spent:
    phase = next((p for p in run.whole_phases if p.load), None)
    return spent(phase, run.environment) if phase else Spent()


# Rules, in order; the first that says something is taken


@dataclass(frozen=True)
class _Two:
    """The runs below and above; the same one twice where there is only one."""

    below: Load
    above: Load
    spent: tuple[Spent, Spent]


def _generator(two: _Two, w: Words) -> str | None:
    load = two.above
    if load.busy and load.cpu_share > 9 * load.runq_share:
        return w.say("l_cpu", cpu=load.cpu_share)
    if load.busy:
        return w.say("l_runq", cpu=load.cpu_share, runq=load.runq_share)
    return None


def _sessions(two: _Two, w: Words) -> str | None:
    load = two.above
    return w.say("l_sessions", n=load.missing, clients=load.clients) if load.missing else None


_FIRST: dict[str, Callable[[_Two, Words], str | None]] = {
    "generator": _generator,
    "sessions": _sessions,
}


def growth_of(below: Spent, above: Spent) -> dict[str, float]:
    """How much longer a request took above, by part; without growth how long it took."""
    total = sum(below.parts.values()), sum(above.parts.values())
    if not below.parts or total[1] < _GROWN * total[0]:
        return above.parts
    grown = {key: ns - below.parts.get(key, 0.0) for key, ns in above.parts.items()}
    return {key: max(0.0, ns) for key, ns in grown.items()}


def leaders(growth: dict[str, float]) -> list[str]:
    """The resource with most of the time, and those that it does not lead by LEAD."""
    ranked = sorted(Spent(growth).by_resource.items(), key=lambda of: -of[1])
    return [key for key, ns in ranked if ns * LEAD > ranked[0][1]]


def _where(two: _Two, w: Words) -> str:
    """Where the time of a request went that it took longer, or all of it; no cause."""
    below, above = two.spent
    growth = growth_of(below, above)
    most = Spent(growth).busiest
    if not most:
        return ""
    near = leaders(growth)
    if len(near) > 1:
        of = Spent(growth).by_resource
        shares = ", ".join(f"{w[f'r_{key}']} {of[key] / sum(growth.values()):.0%}" for key in near)
        return "; " + w.say("l_even_share" if growth is above.parts else "l_even", shares=shares)
    part = max((k for k in growth if PARTS[k] == most[0]), key=lambda key: growth[key])
    said = {"resource": w[f"r_{most[0]}"], "share": most[1], "part": w[f"spent_{part}"]}
    ns = _t(above.parts[part])
    if growth is above.parts:
        return "; " + w.say("l_share", ns=ns, **said)
    return "; " + w.say("l_growth", before=_t(below.parts.get(part, 0.0)), ns=ns, **said)


def _diagnosed(run: Run, where: str, w: Words) -> tuple[str, str]:
    """What the run itself concludes of its server. where: said if that is no cause."""
    run = w.run(run)
    if run.verdict in (None, "not_counted"):
        return "unknown", w["l_undiagnosed"] + where if where else w["l_unwatched"]
    if run.diagnosed and run.rivals > 1:
        near = run.causes[: run.rivals]
        return "unknown", w.say("l_rivals", causes=", ".join(c.text for c in near))
    if cause := run.diagnosed or next(iter(run.limits), None):
        return cause.key, cause.text if cause.sure else w.say("l_likely", text=cause.text)
    if run.unseen:
        return "unknown", w.say("l_unseen", causes=", ".join(run.unseen)) + where
    if run.may_be:
        return "unknown", w.say("l_may_be", causes=", ".join(run.may_be)) + where
    return "unknown", w["l_no_cause"] + where


def _t(ns: float | None) -> str:
    return show.time(ns)


def _figures(two: _Two, w: Words) -> list[Figure]:
    below, above = two.spent
    loads = two.below, two.above
    out = [
        Figure(w["f_cpu"], *(w.say("of_cpu", share=x.cpu_share) for x in loads)),
        Figure(w["f_runq"], *(f"{x.runq_share:.0%}" for x in loads)),
        Figure(w["f_late"], *(w.say("of_actions", share=x.late_share) for x in loads)),
        Figure(w["f_missing"], *(f"{x.missing:,}" for x in loads)),
        Figure(w["f_time"], _t(below.client_ns), _t(above.client_ns)),
    ]
    for key in PARTS:
        values = [side.parts.get(key) for side in two.spent]
        if any(values):
            out.append(Figure(f"  {w[f'spent_{key}']}", *map(_t, values)))
    for key in ("cpus", "generator_cpus"):
        used = [getattr(x, key) for x in two.spent]
        if used[1] is not None:
            out.append(Figure(w[f"f_{key}"], *(_cpus_text(n, above.cpus_here, w) for n in used)))
    return out


def _cpus_text(n: float | None, of: int | None, w: Words) -> str:
    if n is None:
        return "n/a"
    return w.say("of_cpus", n=n, all=of) if of else f"{n:.2f}"


def used_up(below: Step | None, above: Step | None, w: Words = ENGLISH) -> Limit | None:
    """None where there is no run above: nothing is used up as far as is known."""
    if not above or not above.load:
        return None
    other = below if below and below.load else above
    assert other.load
    pair = (Spent() if other is above else of_step(other), of_step(above))
    two = _Two(other.load, above.load, pair)
    figures = tuple(_figures(two, w))
    for kind, rule in _FIRST.items():
        if text := rule(two, w):
            return Limit(kind, f"{w[f'limit_{kind}']}: {text}", figures)
    if above.load.behind:
        late = w.say("l_late", late=above.load.late, n=above.load.n)
        return Limit("unknown", late + _where(two, w), figures)
    assert above.run
    return Limit(*_diagnosed(above.run, _where(two, w), w), figures)


def diagnosed(step: Step | None) -> Limit | None:
    """What the run of a step concludes of a server over Rx. None: nothing is wrong with it."""
    found = step.run.diagnosed if step and step.run else None
    return Limit(found.key, found.text, ()) if found else None
