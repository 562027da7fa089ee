# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording and its replays: what is the same, and what may be compared.

The server's times of the recording are compared with the server's times of the replays only, and
there only of commands that both have as many of; never with how long clients waited.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..saved.hist import Histogram
from ..saved.replayed import Replay, Request
from ..saved.run import Run
from ..tables import counts, values
from . import stats
from .stats import Test

# Numbers of requests that differ by more are not those of the same work.
_ALIKE = 0.01
# Of calls per request where the numbers of requests are not the same.
_RATE = 1 / counts.REPLAY_STRAY_OF
LEAST = 0.02
P50, P99 = 0.5, 0.99


@dataclass
class Account:
    """What one run's server did for a command. `calls` by role, class and object."""

    requests: int = 0
    times: list[Histogram] = field(default_factory=list)
    calls: dict[counts.Key, int] = field(default_factory=lambda: defaultdict(int))

    def quantile(self, q: float) -> values.Value | None:
        found = values.quantiles("", "", Histogram.merge(self.times), {"": q})
        return next(iter(found.values()), None)

    @property
    def each(self) -> float:
        return sum(self.calls.values()) / max(1, self.requests)


def accounts(run: Run) -> dict[str, Account]:
    """By command, of all its phases; empty where the server was not watched."""
    out: dict[str, Account] = {}
    for account in (a for p in run.whole_phases for a in p.requests or () if a.requests):
        found = out.setdefault(account.name, Account())
        found.requests += account.requests or 0
        found.times += [account.histogram] if account.histogram else []
        for part in account.parts:
            if part.class_ != counts.OWN_CODE:
                found.calls["", account.name, *part.key] += part.calls
    return out


@dataclass(frozen=True)
class Served:
    """A command inside the server. Times in ns, medians of the replays; None: too few requests, or
    not known. `alike`: as many requests on both sides; only then there is a `test`."""

    command: str
    n: tuple[int, int]
    p50: tuple[float | None, float | None]
    p99: tuple[float | None, float | None]
    calls: tuple[float, float]
    alike: bool
    other_calls: tuple[str, ...]  # which of them differ
    test: Test | None = None
    verdict: str = ""


def _middle(of: Sequence[float | None]) -> float | None:
    known = [x for x in of if x is not None]
    return statistics.median(known) if known else None


def _amount(account: Account, q: float) -> float | None:
    value = account.quantile(q)
    return value.amount if value and not value.few else None


def _other_calls(a: Account, b: Account) -> tuple[str, ...]:
    """The calls whose numbers cannot be those of the same requests."""
    out = []
    for key in sorted({*a.calls, *b.calls}, key=counts.order):
        x, y = a.calls.get(key, 0), b.calls.get(key, 0)
        if a.requests == b.requests:
            head = {(*key[:2], "requests", "", ""): [a.requests]}
            sides = [counts.bands({**head, key: [n]}) for n in (x, y)]
            bands = [counts.band_of(of, key, a.requests) for of in sides]
            off = min(bands[0].beyond(y), bands[1].beyond(x))
            differs = off > counts.strays(key, a.requests, counts.REPLAY_STRAY_OF)
        else:
            differs = abs(x / max(1, a.requests) - y / max(1, b.requests)) >= _RATE
            differs &= key[3] != "wait"
        out += [counts.label(key)] if differs else []
    return tuple(out)


def _served(command: str, a: Account, of: Sequence[Account], least: float) -> Served:
    middle = sorted(of, key=lambda one: one.requests)[(len(of) - 1) // 2]
    alike = all(abs(one.requests - a.requests) <= _ALIKE * a.requests for one in of)
    found = Served(
        command,
        (a.requests, middle.requests),
        (_amount(a, P50), _middle([_amount(one, P50) for one in of])),
        (_amount(a, P99), _middle([_amount(one, P99) for one in of])),
        (a.each, statistics.median(one.each for one in of)),
        alike,
        tuple(dict.fromkeys(c for one in of for c in _other_calls(a, one))) if alike else (),
    )
    mine, others = a.quantile(P50), [one.quantile(P50) for one in of]
    known = [v for v in others if v and not v.few]
    if not alike or not mine or mine.few or len(known) < len(others):
        return found
    blur = max(mine.blur, *(v.blur for v in known))
    test = stats.apart(mine.amount, [v.amount for v in known], least, blur)
    return replace(found, test=test)


def served(recording: Run, replays: Sequence[Run], least: float = LEAST) -> list[Served]:
    """The commands that the recording and each replay have, the most time first; empty where one of
    them was not watched, or speaks another protocol."""
    mine, theirs = accounts(recording), [accounts(run) for run in replays]
    both = [name for name in mine if all(name in of for of in theirs)]
    rows = [_served(name, mine[name], [of[name] for of in theirs], least) for name in both]
    rows.sort(key=lambda row: -(row.p50[0] or 0.0) * row.n[0])
    judged = [row.test for row in rows if row.test]
    words = iter(stats.verdicts(judged))
    return [replace(row, verdict=next(words)) if row.test else row for row in rows]


def _sum(of: Sequence[Request]) -> Request:
    """Of one kind in several replays: medians."""
    first = of[0]

    def middle(values_: Sequence[int | None]) -> int | None:
        found = _middle(values_)
        return None if found is None else round(found)

    came = {key: round(statistics.median(q.came[key] for q in of)) for key in first.came}
    return replace(
        first,
        came=came,
        p50_ns=middle([q.p50_ns for q in of]),
        p99_ns=middle([q.p99_ns for q in of]),
    )


def requests(replays: Sequence[Replay]) -> list[Request]:
    """Each kind of request, of several replays their medians."""
    found: dict[str, list[Request]] = defaultdict(list)
    for q in (q for one in replays for q in one.requests):
        found[q.name].append(q)
    return [_sum(of) for of in found.values()]


@dataclass(frozen=True)
class Outcome:
    """`said`: the answer; `unsaid`: what cannot be compared, and why."""

    recording: Run
    replays: list[Run]
    requests: list[Request]
    served: list[Served]
    said: list[str]
    unsaid: list[str]
    remarks: list[str]
