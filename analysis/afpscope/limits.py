# SPDX-License-Identifier: GPL-2.0-or-later
"""Which resource is used up at the knee: from two runs of `load`, below it and at or above it.

The time of a request as the clients saw it is divided among resources. Growth tells: the resource
for which requests wait much longer above than below is the one that has no more to give. What is
known more directly goes first: a generator without time, and sessions that were not made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from . import show
from .crowd import BUSY, LATE, Load
from .model import Account, Phase
from .run import Run
from .steps import Step

# A part of a request's time: the resource that it is spent on, and its name in a sentence.
PARTS = {
    "own": ("cpu", "afpd on a CPU"),
    "runq": ("cpu", "afpd waiting for a CPU"),
    "unread": ("cpu", "requests unread while afpd waited for a CPU"),
    "cnid_runq": ("cpu", "cnid_dbd waiting for a CPU"),
    "cnid_cpu": ("cnid", "cnid_dbd on a CPU"),
    "database_lock": ("lock", "waiting for another writer of the CNID database"),
    "database_disk": ("disk", "waiting for the CNID database's disk"),
    "cnid_rest": ("cnid", "requests and answers on their way to and from cnid_dbd"),
    "disk": ("disk", "waiting for the disk"),
    "log": ("disk", "writing the log"),
    "cnid_disk": ("disk", "cnid_dbd waiting for the disk"),
    "lock": ("lock", "waiting for a lock"),
    "cnid_lock": ("lock", "cnid_dbd waiting for a lock"),
    "net": ("network", "waiting for the client's socket"),
    "outside": ("network", "outside the server: network, client, and waiting to be read"),
    "other": ("other", "waiting otherwise"),
}
# Resources: for a column, and for a sentence.
RESOURCES = {
    "generator": ("client", "the load generator itself"),
    "sessions": ("sessions", "sessions: the server makes no more"),
    "cpu": ("CPU", "the server's CPUs"),
    "cnid": ("CNID", "the CNID server, which serves all sessions of a volume in one process"),
    "disk": ("disk", "the disk"),
    "lock": ("lock", "a lock"),
    "network": ("network", "the network, or what else is outside the server"),
    "other": ("other", "something in the server that is no CPU, disk, CNID server or lock"),
    "unknown": ("n/a", "unknown"),
}
# Of the time that afpd waits for its CNID server, or for a CNID database that it has open itself.
_CNID = ("cnid_cpu", "cnid_runq", "cnid_disk", "cnid_lock", "database_lock", "database_disk")
_DATABASE_LOCKS = ("wait", "lock")  # SQLite sleeps, and tries again
# Of the growth, or without growth of the time: less is no answer.
_LEAST = 0.25
# From this share on the CPUs of a machine that server and generator share are used up.
_ALL_CPUS = 0.85
# Requests take longer only if they take so much longer.
_GROWN = 1.1


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
    def used(self) -> float | None:
        """The share of this machine's CPUs that server and generator used together."""
        if self.cpus is None or not self.cpus_here:
            return None
        return (self.cpus + (self.generator_cpus or 0.0)) / self.cpus_here

    @property
    def by_resource(self) -> dict[str, float]:
        out: dict[str, float] = defaultdict(float)
        for key, ns in self.parts.items():
            out[PARTS[key][0]] += ns
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
    """What is used up: a key of RESOURCES, a sentence about it, and what it is concluded from."""

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
    for part in (part for a in accounts for part in a.parts if part.object == "CNID database"):
        if part.role == "afpd":
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


def _generator(two: _Two) -> str | None:
    load = two.above
    if load.cpu_share >= BUSY:
        return (
            f"its busiest thread used {load.cpu_share:.0%} of a CPU (try --threads, or more hosts)"
        )
    if load.cpu_share + load.runq_share >= BUSY:
        return (
            f"its threads used {load.cpu_share:.0%} of a CPU and waited {load.runq_share:.0%} of "
            "the time for one (give it CPUs of its own, or another host)"
        )
    if load.late_share > LATE:
        return f"it began {load.late:,} of {load.n:,} actions more than 1 ms late"
    return None


def _sessions(two: _Two) -> str | None:
    load = two.above
    if not load.missing:
        return None
    return f"{load.missing:,} of {load.clients:,} clients got none (afp.conf: max connections)"


_FIRST: dict[str, Callable[[_Two], str | None]] = {
    "generator": _generator,
    "sessions": _sessions,
}


def _growth(below: Spent, above: Spent) -> dict[str, float]:
    """How much longer a request took above, by part; without growth how long it took."""
    total = sum(below.parts.values()), sum(above.parts.values())
    if not below.parts or total[1] < _GROWN * total[0]:
        return above.parts
    grown = {key: ns - below.parts.get(key, 0.0) for key, ns in above.parts.items()}
    return {key: max(0.0, ns) for key, ns in grown.items()}


def _largest(two: _Two) -> tuple[str, str]:
    below, above = two.spent
    if not above.parts:
        return "unknown", "the server was not watched, so that it cannot be told"
    growth = _growth(below, above)
    by_resource = Spent(growth).by_resource
    total = sum(by_resource.values())
    if total <= 0:
        return "unknown", "no part of a request's time stands out"
    first = max(by_resource, key=lambda key: by_resource[key])
    share = by_resource[first] / total
    if share < _LEAST:
        return "unknown", "no part of a request's time stands out"
    if first == "network" and (above.used or 0.0) >= _ALL_CPUS:
        return "cpu", (
            f"server and load generator, on one machine, used {above.used:.0%} of its CPUs; what "
            f"is outside the server waits for these, too (try another host for the generator)"
        )
    part = max((k for k in growth if PARTS[k][0] == first), key=lambda key: growth[key])
    ns = above.parts[part]
    if growth is above.parts:
        return first, f"{share:.0%} of a request's time, most of it {PARTS[part][1]} ({_t(ns)})"
    before = below.parts.get(part, 0.0)
    return first, (
        f"{share:.0%} of what requests take longer, most of it {PARTS[part][1]} "
        f"({_t(before)} a request below, {_t(ns)} above)"
    )


def _t(ns: float | None) -> str:
    return show.time(ns)


def _figures(two: _Two) -> list[Figure]:
    below, above = two.spent
    loads = two.below, two.above
    out = [
        Figure("generator, busiest thread", *(f"{x.cpu_share:.0%} of a CPU" for x in loads)),
        Figure("generator, waiting for a CPU", *(f"{x.runq_share:.0%}" for x in loads)),
        Figure("generator, late by 1 ms", *(f"{x.late_share:.1%} of actions" for x in loads)),
        Figure("clients without a session", *(f"{x.missing:,}" for x in loads)),
        Figure("time of a request", _t(below.client_ns), _t(above.client_ns)),
    ]
    for key, (_, name) in PARTS.items():
        values = [side.parts.get(key) for side in two.spent]
        if any(values):
            out.append(Figure(f"  {name}", *map(_t, values)))
    of = f" of {above.cpus_here}" if above.cpus_here else ""
    for name, key in (("server", "cpus"), ("generator", "generator_cpus")):
        used = [getattr(x, key) for x in two.spent]
        if used[1] is not None:
            shown = ("n/a" if n is None else f"{n:.2f}{of}" for n in used)
            out.append(Figure(f"CPUs used by the {name}", *shown))
    return out


def used_up(below: Step | None, above: Step | None) -> Limit | None:
    """None where there is no run above: nothing is used up as far as is known.

    Without a run below, what has most of the time is named.
    """
    if not above or not above.load:
        return None
    other = below if below and below.load else above
    assert other.load
    pair = (Spent() if other is above else of_step(other), of_step(above))
    two = _Two(other.load, above.load, pair)
    for kind, rule in _FIRST.items():
        if said := rule(two):
            return Limit(kind, f"{RESOURCES[kind][1]}: {said}", tuple(_figures(two)))
    kind, said = _largest(two)
    text = said if kind == "unknown" else f"{RESOURCES[kind][1]}: {said}"
    return Limit(kind, text, tuple(_figures(two)))
