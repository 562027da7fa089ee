# SPDX-License-Identifier: GPL-2.0-or-later
"""What many clients did in a phase of `load`, and its probe (docs/data-model.md, Load)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from . import hist
from .hist import Histogram
from .node import Node

NS_PER_S = 1_000_000_000
# For runs that do not say themselves whether the generator had time left and was on time.
_BUSY, _LATE = 0.9, 0.01
# Doubts about what made it slow: the server, or the load generator.
SPOILED = ("saturated", "paused")
# Of the actions, that may have failed or found no room in a load that is judged by the others.
TROUBLE = 0.01
# In place of a quantile, as in user/run/bound.h.
MEAN, MAX = 0.0, 1.0


@dataclass(frozen=True, slots=True)
class Trips:
    """The round trips of `n` actions of a kind, and the requests that they sent. `at_least`: with a
    longer round-trip time there may be more of them."""

    n: int
    requests: int
    sum: int
    at_least: bool

    @property
    def each(self) -> float:
        return self.sum / self.n

    @property
    def requests_each(self) -> float:
        return self.requests / self.n


def over(took_ns: float, trips: float, here_ns: float, rtt_ns: float) -> float:
    """What an action would take at another round-trip time: run_trips_at() of user/run/load.c."""
    return max(took_ns - trips * here_ns, 0) + trips * rtt_ns


@dataclass(frozen=True, slots=True)
class Action:
    """One kind of action, such as "save". Times are of those that did not fail."""

    name: str
    n: int
    failed: int
    planned: Histogram  # from when it was to begin
    begun: Histogram  # from when it did
    sum_ns: int  # of `planned`
    max_ns: int | None
    trips: Trips | None = None  # not over a network, or an older run: None


@dataclass(frozen=True, slots=True)
class Second:
    """What ended in a second, of a long load in several; the first begins at begin_ns.

    Times from the planned beginning.
    """

    n: int
    failed: int
    sum_ns: int | None  # of those that did not fail; older runs do not say
    max_ns: int | None
    histogram: Histogram
    dropped: int | None  # in it; older runs do not say
    bytes: int | None  # of those that did not fail


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of the measured time in which the rate asked for changes evenly, or the clients.

    Times are since measure_ns; actions count where they were due, of clients where they ended.
    """

    from_s: float
    to_s: float
    from_per_s: float | None  # None: the number of clients changes
    to_per_s: float | None
    from_clients: float | None  # None: the rate changes
    to_clients: float | None
    planned: int | None
    n: int
    failed: int
    latency: Histogram


@dataclass(frozen=True, slots=True)
class Client:
    actions: int
    failed: int
    bytes: int
    last_ns: int | None  # its last action's end, since begin_ns
    lost: bool
    sum_ns: int | None  # of the actions that did not fail, from their planned beginning
    max_ns: int | None
    address: str | None  # of its connection; older runs have none


@dataclass(frozen=True, slots=True)
class Undone:
    """How long what has no latency waited at least: dropped, still waiting, cut off."""

    times: Histogram
    sum_ns: int
    max_ns: int | None


@dataclass(frozen=True, slots=True)
class Bound:
    """A time, None: not known; `at_least`: it would be that or more if what was not done had been
    (user/run/bound.h)."""

    ns: float | None
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Limit:
    """What afpscope load said of a limit. `kept` None: it cannot be told, `why` says why."""

    text: str
    kept: bool | None
    why: str
    judged: bool  # False: by an older version, which looked at the figure alone
    value: Bound | None  # of a time; None: none, or a version that did not say `value_at_least`


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why the figures are not those of the load that was asked for, such as "lost"."""

    what: str
    text: str


@dataclass(frozen=True, slots=True)
class Silence:
    """The longest time in which no action ended, while one was waited for."""

    from_ns: int  # since the load's begin
    ns: int  # at least
    clients: int  # that had an action that took at least so long
    ranks: int | None = None  # of how many of of_ranks this is known; None: of one process
    of_ranks: int | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """The clients of a load, or its probe, which is one more client."""

    clients: int  # asked for
    threads: int  # that drove them
    open: int | None  # sessions that were made; None: the run does not say
    lost: int
    starved: int  # in a closed loop without pauses: that ended no action; older runs: 0
    begin_ns: int
    measure_ns: int
    end_ns: int
    rate_per_s: float | None  # offered; None: closed loop
    arrivals: int | None
    no_room: int | None
    late: int
    late_max_ns: int | None
    cpu_max_ns: int
    runq_max_ns: int  # of the same thread, waiting for a CPU; older runs: 0
    said_busy: bool | None  # a thread of the generator had no time left
    said_behind: bool | None  # actions began late; older runs say neither
    fairness: float
    actions: tuple[Action, ...]
    seconds: tuple[Second, ...]
    each_client: tuple[Client, ...]
    limits: tuple[Limit, ...]
    stages: tuple[Stage, ...]  # of a rate that changes
    doubts: tuple[Doubt, ...] | None  # None: an older run, which does not say
    undone: Undone | None = None  # older runs: None
    seconds_each: int = 1  # of each of `seconds`
    silence: Silence | None = None  # older runs: None
    rtt_ns: float | None = None  # of the clients' connections; None: not measured
    outlasting: int = 0  # closed loop: actions under way at the end, which are in no latency
    outlasting_max_ns: int = 0  # how long the longest of them took; older runs: 0
    # The generator did not run for so long in the measured time, and at once; of older runs all
    # pauses together, the most that either may be.
    paused_measured_ns: int = 0
    longest_pause_ns: int = 0

    @property
    def n(self) -> int:
        return sum(a.n for a in self.actions)

    @property
    def failed(self) -> int:
        return sum(a.failed for a in self.actions)

    @property
    def undone_n(self) -> int:
        """Actions that failed or were dropped."""
        return self.failed + (self.no_room or 0)

    @property
    def mixed(self) -> bool:
        """Whether its actions are of several kinds: a quantile of all tells of none of them."""
        return sum(a.n > 0 for a in self.actions) > 1

    @property
    def missing(self) -> int:
        """Clients that had no session at all."""
        return 0 if self.open is None else self.clients - self.open

    @property
    def measured_s(self) -> float:
        return (self.end_ns - self.measure_ns) / NS_PER_S

    @property
    def achieved(self) -> float:
        """Actions a second that ended well."""
        return (self.n - self.failed) / self.measured_s if self.measured_s > 0 else 0.0

    @property
    def cpu_share(self) -> float:
        """Of a CPU, the busiest thread of the generator."""
        return self._share(self.cpu_max_ns)

    @property
    def runq_share(self) -> float:
        """Of the time, the busiest thread waiting for a CPU."""
        return self._share(self.runq_max_ns)

    def _share(self, ns: int) -> float:
        took = self.end_ns - self.begin_ns
        return ns / took if took > 0 else 0.0

    @property
    def late_share(self) -> float:
        return self.late / self.n if self.n else 0.0

    @property
    def saturated(self) -> bool:
        """Whether the generator itself may be what limits the rate or makes latencies long."""
        return self.busy or self.behind

    @property
    def busy(self) -> bool:
        """Whether a thread of the generator had no time left."""
        if self.said_busy is None:
            return self.cpu_share + self.runq_share >= _BUSY
        return self.said_busy

    @property
    def behind(self) -> bool:
        """Whether it began actions late."""
        return self.late_share > _LATE if self.said_behind is None else self.said_behind

    def latency(self, name: str | None = None) -> Histogram:
        """From the planned beginning; of all kinds, or of one. Failure-free actions only.

        Of all kinds with those that are only known to be at least so long (`at_least`).
        """
        done = Histogram.merge(a.planned for a in self.actions if name in (None, a.name))
        if name is not None or not self.undone or not self.undone.times.n:
            return done
        return Histogram.merge([done, self.undone.times])

    def at_least(self, q: float | None = None) -> bool:
        """Whether what has no end could raise that quantile of all (None: mean and maximum)."""
        if not self.undone or not self.undone.times.n:
            return False
        if q is None:
            return True
        done = Histogram.merge(a.planned for a in self.actions)
        low, n = self.latency().quantile_within(q), done.n + self.undone.times.n
        if low is None or not done.n or math.ceil(q * n) > done.n:
            return True
        high = done.quantile_within(q * n / done.n)
        return high is None or high[0] > low[1] + 1

    def bound(self, q: float, name: str | None = None) -> Bound:
        """A quantile, the MEAN or the MAX; of one kind it is what it is at least, whichever of the
        actions that were not done would have been of it."""
        if name is None or not self.undone or not self.undone.times.n:
            if q in (MEAN, MAX):
                ns = self.mean_ns(name) if q == MEAN else self.max_ns(name)
                return Bound(ns, name is None and self.at_least())
            within, all_of = name is None and self.at_least(q), self.latency(name)
            low = all_of.quantile_within(q) if within else None
            return Bound(low[0], True) if low else Bound(all_of.quantile(q))
        done = self.latency(name)
        if not done.n or q == MAX:
            return Bound(self.max_ns(name), bool(done.n))
        if q == MEAN:
            return Bound(_least_mean(self.mean_ns(name) or 0.0, done.n, self.undone.times), True)
        least, bits = _least(done, self.undone.times, q), done.bits
        rank = math.ceil(q * (done.n + self.undone.times.n))
        most = done.quantile_within(rank / done.n) if rank <= done.n else None
        if most and most[0] <= hist.low(least + 1, bits):
            return Bound(hist.middle(least, bits))
        return Bound(hist.low(least, bits), True)

    def mean_ns(self, name: str | None = None) -> float | None:
        those = [a for a in self.actions if name in (None, a.name)]
        n, ns = sum(a.planned.n for a in those), sum(a.sum_ns for a in those)
        if name is None and self.undone:
            n, ns = n + self.undone.times.n, ns + self.undone.sum_ns
        return ns / n if n else None

    def max_ns(self, name: str | None = None) -> int | None:
        those = [a.max_ns for a in self.actions if name in (None, a.name)]
        if name is None and self.undone:
            those.append(self.undone.max_ns)
        return max((ns for ns in those if ns is not None), default=None)


def _least(done: Histogram, undone: Histogram, q: float) -> int:
    """The bucket of a quantile with those of undone, the shortest first, that make it least."""
    counts, others = dict(done.buckets), dict(undone.buckets)
    d = u = 0
    for index in sorted(counts.keys() | others.keys()):
        d, u = d + counts.get(index, 0), u + others.get(index, 0)
        if d + u >= max(1, math.ceil(q * (done.n + u))):
            return index
    return done.buckets[-1][0]


def _least_mean(mean: float, n: float, undone: Histogram) -> float:
    """Likewise."""
    total = mean * n
    for index, count in undone.buckets:
        ns = hist.low(index, undone.bits)
        if ns * n < total:
            total, n = total + ns * count, n + count
    return total / n


@dataclass(frozen=True, slots=True)
class Interval:
    """What the server did since the interval before, or since begin_ns."""

    end_ns: int  # since begin_ns
    unread_ns: int | None  # the server's processes waited for a CPU before they read a request
    parts: dict[str, int] | None  # ns by column of the time of a request; None: not known
    commands: tuple[tuple[str, int, int], ...]  # name, requests, ns


@dataclass(frozen=True, slots=True)
class Mark:
    """A command that was run in the middle of the load."""

    at_ns: int  # since begin_ns
    text: str


def _trips(node: Node | None) -> Trips | None:
    if node is None or not node["n"].count():
        return None
    n, requests, trips = (node[key].count() for key in ("n", "requests", "sum"))
    return Trips(n, requests, trips, node["at_least"].flag())


def _action(node: Node) -> Action:
    planned = node["planned"]
    return Action(
        node["name"].text(),
        node["n"].count(),
        node["failed"].count(),
        hist.parse(planned["histogram"]),
        hist.parse(node["begun"]["histogram"]),
        planned["sum_ns"].count(),
        planned.get_int("max_ns"),
        _trips(node.get("round_trips")),
    )


def _second(node: Node) -> Second:
    return Second(
        node["n"].count(),
        node["failed"].count(),
        node.get_int("sum_ns"),
        node.get_int("max_ns"),
        hist.parse(node["histogram"]),
        node.get_int("dropped"),
        node.get_int("bytes"),
    )


def _stage(node: Node) -> Stage:
    return Stage(
        node["from_s"].number(),
        node["to_s"].number(),
        node.get_number("from_per_s"),
        node.get_number("to_per_s"),
        node.get_number("from_clients"),
        node.get_number("to_clients"),
        node.get_int("planned"),
        node["n"].count(),
        node["failed"].count(),
        hist.parse(node["latency"]["histogram"]),
    )


def _client(node: Node) -> Client:
    return Client(
        node["actions"].count(),
        node["failed"].count(),
        node["bytes"].count(),
        node.get_int("last_ns"),
        node["lost"].flag(),
        node.get_int("sum_ns"),
        node.get_int("max_ns"),
        node.get_text("address"),
    )


def _undone(node: Node | None) -> Undone | None:
    if node is None:
        return None
    return Undone(hist.parse(node["histogram"]), node["sum_ns"].count(), node.get_int("max_ns"))


def _silence(node: Node | None) -> Silence | None:
    if node is None:
        return None
    return Silence(
        node["from_ns"].count(),
        node["ns"].count(),
        node["clients"].count(),
        node.get_int("ranks"),
        node.get_int("of_ranks"),
    )


def limit(node: Node) -> Limit:
    """One of `slo`."""
    kept, judged = node.get("kept"), node.get_text("verdict") is not None
    bound, ns = node.get("value_at_least"), node.get_int("value_ns")
    return Limit(
        node["text"].text(),
        kept.flag() if kept is not None else None,
        node.get_text("why") or "",
        judged,
        Bound(ns, bound.flag()) if bound is not None and ns is not None else None,
    )


def _doubts(node: Node | None) -> tuple[Doubt, ...] | None:
    if node is None:
        return None
    return tuple(Doubt(x["what"].text(), x["text"].text()) for x in node.items())


def _said(node: Node, key: str) -> bool | None:
    at = node.get(key)
    return at.flag() if at is not None else None


def _paused(node: Node, key: str) -> int:
    ns = node.get_int(key)
    return node.get_int("paused_ns") or 0 if ns is None else ns


def parse(node: Node) -> Load:
    """`load` or `probe` of a phase."""
    limits, stages = node.get("slo"), node.get("stages")
    return Load(
        node["clients"].count(),
        node["threads"].count(),
        node.get_int("opened"),
        node["lost"].count(),
        node.get_int("starved") or 0,
        node["begin_ns"].count(),
        node["measure_ns"].count(),
        node["end_ns"].count(),
        node.get_number("rate_per_s"),
        node.get_int("arrivals"),
        node.get_int("no_room"),
        node["late"].count(),
        node.get_int("late_max_ns"),
        node["cpu_max_ns"].count(),
        node.get_int("runq_max_ns") or 0,
        _said(node, "saturated"),
        _said(node, "behind"),
        node["fairness"].number(),
        tuple(_action(a) for a in node["actions"].items()),
        tuple(_second(s) for s in node["seconds"].items()),
        tuple(_client(c) for c in node["each_client"].items()),
        tuple(limit(x) for x in limits.items()) if limits else (),
        tuple(_stage(s) for s in stages.items()) if stages else (),
        _doubts(node.get("doubts")),
        _undone(node.get("undone")),
        node.get_int("seconds_each") or 1,
        _silence(node.get("silence")),
        node.get_number("rtt_ns"),
        node.get_int("outlasting") or 0,
        node.get_int("outlasting_max_ns") or 0,
        _paused(node, "paused_measured_ns"),
        _paused(node, "longest_pause_ns"),
    )


def _interval(node: Node) -> Interval:
    parts, commands = node.get("parts"), node.get("commands")
    return Interval(
        node["end_ns"].count(),
        node.get_int("unread_ns"),
        {key: ns or 0 for key, ns in parts.counts().items()} if parts else None,
        tuple(
            (c["name"].text(), c["n"].count(), c["ns"].count())
            for c in (commands.items() if commands else ())
        ),
    )


def parse_time(phase: Node) -> tuple[tuple[Interval, ...], tuple[Mark, ...]]:
    """`intervals` and `marks` of a phase; neither is there in every run."""
    intervals, marks = phase.get("intervals"), phase.get("marks")
    return (
        tuple(_interval(i) for i in (intervals.items() if intervals else ())),
        tuple(Mark(m["at_ns"].count(), m["text"].text()) for m in (marks.items() if marks else ())),
    )
