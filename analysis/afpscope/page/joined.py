# SPDX-License-Identifier: GPL-2.0-or-later
"""What the clients of a load waited, beside what the server did for each of their connections.

The server's side is a recording of its own, made on its host (`afpscope record`). A connection has
the same address on both sides, unless it is translated on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..saved import crowd
from ..saved.model import Session
from ..saved.run import Run
from .loadpage import CALLS, FILES


@dataclass(frozen=True, slots=True)
class Client:
    """One client of a load. `session` is None where the server's record has no such connection."""

    number: int
    address: str | None
    actions: int
    failed: int
    mean_ns: float | None
    max_ns: int | None
    session: Session | None

    @property
    def busy_each_ns(self) -> float | None:
        """The server's time for one of its requests."""
        s = self.session
        return s.busy_ns / s.requests if s and s.requests else None


@dataclass(frozen=True, slots=True)
class Joined:
    """The clients of a load, those that waited longest first; and where the sessions are from."""

    record: str
    clients: list[Client]

    @property
    def found(self) -> int:
        return sum(c.session is not None for c in self.clients)


def _sessions(runs: Iterable[Run]) -> dict[str, Session]:
    """By address; of a port that was used twice, the session that asked for more."""
    out: dict[str, Session] = {}
    for run in runs:
        for session in run.sessions:
            known = out.get(session.address or "")
            if session.address and (known is None or known.requests < session.requests):
                out[session.address] = session
    return out


def _client(number: int, parts: Sequence[crowd.Client], sessions: dict[str, Session]) -> Client:
    """One client; `parts`: what it did in each load."""
    actions, failed = sum(c.actions for c in parts), sum(c.failed for c in parts)
    sums = [c.sum_ns for c in parts if c.sum_ns is not None]
    address = parts[0].address
    good = actions - failed
    return Client(
        number=number,
        address=address,
        actions=actions,
        failed=failed,
        mean_ns=sum(sums) / good if len(sums) == len(parts) and good > 0 else None,
        max_ns=max((c.max_ns for c in parts if c.max_ns is not None), default=None),
        session=sessions.get(address) if address else None,
    )


def clients(run: Run, sessions: dict[str, Session]) -> list[Client]:
    """Those of all its loads; runs of versions that did not keep addresses have none.

    Small files: each client does one load after the other.
    """
    loads = [phase.load.each_client for phase in run.phases if phase.load]
    if run.command == FILES:
        parts: Iterable[tuple[crowd.Client, ...]] = zip(*loads, strict=False)
    else:
        parts = ((c,) for load in loads for c in load)
    numbers = [i for load in loads for i in range(len(load))]
    out = [_client(i, of, sessions) for i, of in zip(numbers, parts, strict=False)]
    return sorted(out, key=lambda c: -(c.mean_ns or 0))


def join(run: Run, runs: list[Run]) -> Joined | None:
    """A load with the recordings given beside it; without one, with what it watched itself.

    None: it is no load, or there is nothing to join it with. Clients of a mounted file system
    have no connection of their own; those of rx are known to the server by an address that they
    do not know themselves.
    """
    if run.command == CALLS or not any(True for _ in clients(run, {})):
        return None
    recordings = [r for r in runs if r.about == "server" and r.sessions]
    beside = recordings or ([run] if run.sessions else [])
    if not beside or not any(c.address for c in clients(run, {})):
        return None
    return Joined(", ".join(r.name for r in beside), clients(run, _sessions(beside)))
