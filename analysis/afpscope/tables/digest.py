# SPDX-License-Identifier: GPL-2.0-or-later
"""A summary of a run: by test and by AFP command, over all complete iterations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from ..saved.hist import Histogram
from ..saved.model import Account, Phase, Row, Session, Transfer
from ..saved.run import AFP_WORDS, BACKEND_SOCKET, DATABASE_FILE, Run
from .counts import OWN_CODE, test_name

# The columns of a request's time, in the order in which they are drawn.
PARTS = ("user", "calls", "runq", "disk", "cnid", "lock", "log", "net", "other", "stopped")
INSIDE = ("cpu", "runq", "sync", "lock", "io", "stopped", "idle", "unknown")
UNSTEADY = 0.1  # of the mean: the standard deviation of an unsteady test
PartKey = tuple[str, str, str]
_BLOCKED_ON = {
    BACKEND_SOCKET: "cnid",
    DATABASE_FILE: "cnid",
    "log": "log",
    "client socket": "net",
    "data file": "disk",
    "metadata file": "disk",
    "directory": "disk",
}
_BLOCKED_IN = {OWN_CODE, "open", "close", "stat", "xattr", "sync", "dir", "unlink", "rename",
               "setattr", "copy"}  # fmt: skip


@dataclass
class CommandView:
    """One AFP command. Sums over all requests; `spent`: `times` of each of what they are of."""

    name: str
    requests: int = 0
    unanswered: int = 0
    service_ns: int = 0  # of all, as long as they were in service
    times: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    inside: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    asleep_ns: int = 0  # until the backend answers, or still
    calls: dict[PartKey, int] = field(default_factory=lambda: defaultdict(int))
    call_ns: dict[PartKey, int] = field(default_factory=lambda: defaultdict(int))
    spent: dict[PartKey, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))

    @property
    def served(self) -> int:
        """Requests that its times are of."""
        return self.requests + self.unanswered

    def share(self, part: str) -> float:
        """Its time in a column."""
        return self.times.get(part, 0) / self.service_ns if self.service_ns else 0.0

    @property
    def main_part(self) -> str:
        return max(PARTS, key=lambda part: self.times.get(part, 0))

    def top_calls(self, n: int, server: str, on_path: bool) -> list[tuple[PartKey, float, float]]:
        """The calls that took longest: key, calls per request, ns per request. `on_path`: those of
        the process that answers, which is called `server`; else those of what it asks, which may
        go on when nobody waits for them. None that is rarer than one in 200 requests and takes
        less than a hundredth of their time."""
        of = max(1, self.served)
        mine = [key for key in self.calls if (key[0] == server) == on_path]
        some = [
            key
            for key in mine
            if self.calls[key] * 200 >= of or self.call_ns[key] * 100 >= self.service_ns
        ]
        keys = sorted(some, key=lambda key: (-self.call_ns[key], -self.calls[key]))[:n]
        return [(key, self.calls[key] / of, self.call_ns[key] / of) for key in keys]


@dataclass
class TestView:
    """One test: a value for each complete iteration; in a transfer for each one that counts."""

    name: str
    elapsed: list[int] = field(default_factory=list)
    client: list[Histogram] = field(default_factory=list)
    by_command: dict[str, list[Histogram]] = field(default_factory=lambda: defaultdict(list))
    command_ns: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # of all requests

    @property
    def mean_ns(self) -> float | None:
        return float(np.mean(self.elapsed)) if self.elapsed else None

    @property
    def deviation_ns(self) -> float | None:
        return float(np.std(self.elapsed, ddof=1)) if len(self.elapsed) > 1 else None

    @property
    def is_unsteady(self) -> bool:
        """As the first screen of afpscope calls it."""
        return bool(self.deviation_ns and self.deviation_ns >= UNSTEADY * (self.mean_ns or 0))


@dataclass
class CallView:
    """The server's own calls of one class on one object."""

    class_: str
    object: str
    calls: int = 0
    ns: int = 0

    @property
    def name(self) -> str:
        return self.class_ if self.object == "-" else f"{self.class_} · {self.object}"


@dataclass(frozen=True)
class Digest:
    run: Run
    tests: list[TestView]
    commands: list[CommandView]
    calls: list[CallView]  # of a server whose requests are not known; waits last
    cpu_ns: int  # likewise
    transfers: list[tuple[str, Transfer]]
    sessions: list[Session]  # the busiest first

    @property
    def busy_ns(self) -> int:
        """All time that sessions had a request in service."""
        return sum(s.busy_ns for s in self.sessions)

    @property
    def served_ns(self) -> int:
        """All time inside the server."""
        return sum(c.service_ns for c in self.commands)


def blocked_column(class_: str, object_: str) -> str:
    """The part of a request's time that sleeping in a call counts as (docs/data-model.md)."""
    if (class_, object_) == ("sendfile", "client socket"):  # for the file's pages
        return "disk"
    column = _BLOCKED_ON.get(object_, "other")
    if column == "other":
        return "disk" if class_ in _BLOCKED_IN else "lock" if class_ == "lock" else "other"
    return "lock" if column == "disk" and class_ == "lock" else column


def _by_column(part: Row) -> Iterator[tuple[str, int]]:
    """Its time, by columns of `times`."""
    of = part.figures
    yield "user" if part.class_ == OWN_CODE else "calls", of.get("cpu_ns") or 0
    yield "runq", of.get("runq_ns") or 0
    yield "stopped", of.get("stopped_ns") or 0
    yield blocked_column(part.class_, part.object), of.get("blocked_ns") or 0


def _add_test(view: TestView, p: Phase) -> None:
    if not p.complete:
        return
    if p.transfer:
        view.elapsed += [sample.ns for sample in p.transfer.counting]
    elif p.metrics.get("elapsed") is not None:
        view.elapsed.append(p.metrics["elapsed"] or 0)
    for c in p.commands:
        view.client.append(c.histogram)
        view.by_command[c.name].append(c.histogram)
        view.command_ns[c.name] += c.sum_ns


def _add_account(view: CommandView, a: Account) -> None:
    view.requests += a.requests or 0
    view.service_ns += a.service_ns or 0
    # Those that were told to wait are answered in an account of their own.
    over = (a.requests or 0) + a.waited
    view.unanswered += max(0, (a.figures.get("begun") or 0) - over)
    for sums, values in ((view.times, a.times), (view.inside, a.inside)):
        for key, ns in values.items():
            sums[key] += ns or 0
    for part in a.parts:
        spent = view.spent[part.key]
        for key, ns in _by_column(part) if any(a.times.values()) else ():
            spent[key] = spent.get(key, 0) + ns
        if part.class_ == OWN_CODE:
            continue
        if part.role == AFP_WORDS["server"] and part.object == BACKEND_SOCKET:
            view.asleep_ns += part.figures.get("blocked_ns") or 0
        view.calls[part.key] += part.calls
        view.call_ns[part.key] += sum(
            part.figures.get(k) or 0 for k in ("cpu_ns", "blocked_ns", "runq_ns", "stopped_ns")
        )


def _views(accounts: Iterable[Account]) -> list[CommandView]:
    views: dict[str, CommandView] = {}
    for account in accounts:
        _add_account(views.setdefault(account.name, CommandView(account.name)), account)
    for view in views.values():
        # What the backend did in a wait is known when that is over: until then it was not seen.
        view.inside["unknown"] += max(0, view.asleep_ns - sum(view.inside.values()))
    return sorted(views.values(), key=lambda v: -v.service_ns)


def _calls(phases: Iterable[Phase]) -> list[CallView]:
    views: dict[tuple[str, str], CallView] = {}
    for row in (r for p in phases for r in p.rows or () if r.role == "server"):
        view = views.setdefault((row.class_, row.object), CallView(row.class_, row.object))
        view.calls += row.calls
        view.ns += row.figures.get("ns") or 0
    return sorted(views.values(), key=lambda v: (v.class_ == "wait", -v.ns))


def _cpu_ns(phases: Iterable[Phase]) -> int:
    accounts = (a for p in phases for a in p.outside or ())
    parts = (part for a in accounts for part in a.parts if part.role == "server")
    return sum(part.figures.get("cpu_ns") or 0 for part in parts)


def digest(run: Run) -> Digest:
    """What a report shows of a run."""
    tests: dict[str, TestView] = {}
    for p in run.phases if run.about != "server" else ():
        name = test_name(p)
        _add_test(tests.setdefault(name, TestView(name)), p)
    return Digest(
        run,
        list(tests.values()),
        _views(a for p in run.whole_phases for a in p.requests or ()),
        _calls(run.whole_phases) if not run.has_requests else [],
        _cpu_ns(run.whole_phases) if not run.has_requests else 0,
        [(p.title, p.transfer) for p in run.phases if p.transfer],
        sorted(run.sessions, key=lambda s: (-s.busy_ns, -s.requests)),
    )
