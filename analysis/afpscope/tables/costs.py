# SPDX-License-Identifier: GPL-2.0-or-later
"""What an action of a load took and cost, so that servers of different kinds can stand beside each
other.

A load's costs are those of its mean action: its server's sums over all actions, the ramp's as well.
They are those of one kind of action where the load has no other kind (load --only). What was not
measured is not there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ..saved.crowd import Action, Load, over
from ..saved.model import LOWER, Phase
from ..saved.run import Run
from . import values
from .values import Row, Value

TIMES = {"p50": 0.5, "p95": 0.95}
CPU, CALLS, SYNCS = "server CPU", "system calls", "sync calls"
DISK, CLIENT = "disk writes", "client CPU"
DATA = "data file"  # what a call was made on: what users keep
# What is said of an action and never judged, as it is no chance.
TRIPS, REQUESTS = "round trips", "requests"
COSTS = {CPU: "ns", CALLS: "1", SYNCS: "1", DISK: "B", CLIENT: "ns"}


def load_of(run: Run) -> tuple[Phase, Load] | None:
    """The load of a run of `load`."""
    return next(((p, p.load) for p in run.whole_phases if p.load), None)


def work_of(run: Run) -> str:
    """What its clients did: "office", "office: save"."""
    only = run.options.get("only", "")
    mix = run.options.get("mix", "") or run.command
    return f"{mix}: {only}" if only else mix


def ended(load: Load) -> int:
    """Actions that ended since the clients began, those of the ramp too: what the server's sums are
    of."""
    return sum(s.n for s in load.seconds)


def _calls(phase: Phase) -> float | None:
    """Of all processes of the server that were watched."""
    return None if phase.rows is None else sum(row.calls for row in phase.rows)


def _cpu(phase: Phase) -> float | None:
    if phase.requests is None:
        return None
    accounts = (*phase.requests, *(phase.outside or ()))
    return sum(part.figures.get("cpu_ns") or 0 for a in accounts for part in a.parts)


def syncs(run: Run) -> dict[str, float]:
    """Of an action, by what was synced, users' data first; empty: not counted."""
    found = load_of(run)
    if not found or found[0].rows is None or not ended(found[1]):
        return {}
    out = {DATA: 0.0}
    for row in found[0].rows:
        if row.class_ == "sync":
            out[row.object] = out.get(row.object, 0.0) + row.calls / ended(found[1])
    return out


def shares(runs: Iterable[Run]) -> dict[str, float]:
    """Of each kind of action among those that ended in the measured time of all these runs."""
    n = Counter[str]()
    for run in runs:
        for action in found[1].actions if (found := load_of(run)) else ():
            n[action.name] += action.n
    return {name: count / n.total() for name, count in n.items()}


def under_way(runs: Iterable[Run]) -> float:
    """How many actions at most had begun and did not end, as a share of those that did: one of each
    client in each run."""
    found = [of[1] for run in runs if (of := load_of(run))]
    return sum(load.clients for load in found) / max(1, sum(ended(load) for load in found))


def synced_for(run: Run) -> list[str]:
    """Requests for which the server synced, those with the most sync calls first. Empty: not
    known, or none."""
    found, n = load_of(run), Counter[str]()
    for account in (found[0].requests or ()) if found else ():
        for part in account.parts:
            if part.class_ == "sync" and part.calls:
                n[account.name] += part.calls
    return [name for name, _ in n.most_common()]


# Accounts of requests that cannot be read, and what that says of their connections. Of NFS with
# Kerberos it is not known which of both it is.
_SEALED = {"encrypted frames": "yes", "signed or encrypted": "signed or encrypted"}


def encrypted(run: Run) -> str:
    """Whether any request was, as a word; empty: not known."""
    found = load_of(run)
    if not found or found[0].requests is None:
        return ""
    words = {_SEALED[a.name] for a in found[0].requests
             if a.name in _SEALED and (a.requests or a.untimed)}  # fmt: skip
    return max(words, default="no")


def _written(run: Run, phase: Phase) -> float | None:
    """Bytes that the server's own calls handed to disks."""
    if phase.rows is None or run.rungs.get("storage.block", "off") == "off":
        return None
    return sum(s.figures.get("bio_write_bytes") or 0 for s in phase.storage)


def costs(run: Run) -> dict[str, float]:
    """Of an action, by the names of COSTS."""
    found = load_of(run)
    n = ended(found[1]) if found else 0
    if not found or not n:
        return {}
    phase, _ = found
    sums = {
        CPU: _cpu(phase),
        CALLS: _calls(phase),
        SYNCS: n * sum(syncs(run).values()) if phase.rows is not None else None,
        DISK: _written(run, phase),
        CLIENT: phase.metrics.get("client_cpu"),
    }
    return {name: total / n for name, total in sums.items() if total is not None}


def processes(run: Run) -> list[str]:
    """What the server's costs are of, in the order of the ledger."""
    found = load_of(run)
    rows = found[0].rows if found else None
    return list(dict.fromkeys(row.role for row in rows or ()))


def of_run(run: Run) -> dict[Row, Value]:
    """What can be judged: how long each kind of action took, and what the mean action cost."""
    found, work = load_of(run), work_of(run)
    out: dict[Row, Value] = {}
    for action in found[1].actions if found else ():
        out |= values.quantiles(work, action.name, action.planned, TIMES)
    for name, value in costs(run).items():
        out[Row(work, "", name, COSTS[name], LOWER)] = Value(value)
    return out


@dataclass(frozen=True)
class Way:
    """An action's way over the network; `ns`: what it takes here on average."""

    trips: float
    requests: float
    ns: float
    here_ns: float | None  # the round-trip time
    at_least: bool

    def at(self, rtt_ns: float) -> float | None:
        """What it would take at that round-trip time; None: this one is not known."""
        if self.here_ns is None:
            return None
        return over(self.ns, self.trips, self.here_ns, rtt_ns)


def _way(load: Load, action: Action) -> Way | None:
    done = action.n - action.failed
    # Of an open loop the time has what an action waited for a client, which no network makes.
    if not action.trips or done <= 0 or load.rate_per_s is not None:
        return None
    trips = action.trips
    return Way(trips.each, trips.requests_each, action.sum_ns / done, load.rtt_ns, trips.at_least)


def ways(run: Run) -> dict[str, Way]:
    """By kind of action."""
    found = load_of(run)
    of = {a.name: _way(found[1], a) for a in found[1].actions} if found else {}
    return {name: way for name, way in of.items() if way}
