# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a load kept a limit of a latency that it was not given: as user/drive/slo.c judges those
that it was, where no other limit says how many actions may fail or be dropped."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ..saved import hist
from ..saved.crowd import MEAN, SPOILED, Doubt, Load
from ..saved.hist import Histogram

# Clients that were not served at all.
_LOST = "lost"
_UNSERVED = ("missing", _LOST)
_STARVED, _DROPPED = "starved", "dropped"
# A server ends sessions of which it hears nothing for longer: then it need not be its fault.
SESSION_NS = 30e9


@dataclass(frozen=True)
class Case:
    """A figure of `of`, the clients or their probe, for which a time is the most. `name`: of one
    kind of action; `crowd`: of a probe, the clients beside it."""

    of: Load
    q: float
    name: str | None
    limit_ns: float
    crowd: Load | None = None

    @property
    def is_probe(self) -> bool:
        return self.crowd is not None

    @property
    def _done(self) -> Histogram:
        return Histogram.merge(a.planned for a in self.of.actions if self.name in (None, a.name))

    @property
    def _over(self) -> int:
        """Actions without a latency that count as longer than any limit."""
        failed = sum(a.failed for a in self.of.actions if self.name in (None, a.name))
        if self.name or self.is_probe or not self.of.undone:
            return failed + (0 if self.name or self.is_probe else self.of.no_room or 0)
        times = self.of.undone.times
        beyond = sum(n for i, n in times.buckets if hist.low(i, times.bits) > self.limit_ns)
        return failed + max(beyond, self.of.no_room or 0)

    @property
    def _unknown(self) -> int:
        """Those whose latency may be any."""
        those = [a for a in self.of.actions if self.name in (None, a.name)]
        out = sum(a.n - a.failed - a.planned.n for a in those)
        if self.of.outlasting_max_ns > self.limit_ns:
            out += self.of.outlasting
        undone = self.of.undone.times.n if self.of.undone else self.of.no_room or 0
        if self.is_probe:  # a user waits for what he does before he does more
            return out + undone - (0 if self.q < 1 else self.of.no_room or 0)
        return out + undone - (0 if self.name else self._over_undone)

    @property
    def _over_undone(self) -> int:
        return self._over - sum(a.failed for a in self.of.actions)

    def _shortest(self, done: Histogram) -> float:
        """The figure if what is not known was as short as can be, and what the generator began
        late as much shorter."""
        of, late = self.of, float(self.of.late_max_ns or 0)
        n_late = min(of.late, done.n)
        total = done.n + self._over + self._unknown
        if self.q == MEAN:
            sums = sum(a.sum_ns for a in of.actions if self.name in (None, a.name))
            return (max(sums - n_late * late, 0) + self._over * self.limit_ns) / total
        rank = math.ceil(self.q * total) - self._unknown
        if rank == done.n and not n_late:
            return float(self.of.max_ns(self.name) or 0)
        return max(_at(done, rank)[0] - late, _at(done, rank - n_late)[0])

    def _longest(self, done: Histogram) -> float:
        others = self._over + self._unknown
        if self.q == MEAN:
            return math.inf if others else self.of.mean_ns(self.name) or 0.0
        return _at(done, math.ceil(self.q * (done.n + others)), self.of.max_ns(self.name))[1]

    def _doubts(self) -> Iterator[Doubt]:
        """Of what is judged, then of the clients beside it."""
        own = self.of.doubts or ()
        yield from (x for x in own if not (self.is_probe and x.what == _DROPPED))
        yield from (self.crowd.doubts if self.crowd else None) or ()

    def _unserved(self) -> bool:
        of, whats = self.of, {x.what for x in self.of.doubts or ()}
        if of.missing or of.lost or whats & set(_UNSERVED):
            return True
        is_starved = bool(of.starved) or _STARVED in whats
        return is_starved and of.measured_s * 1e9 - of.paused_measured_ns > self.limit_ns

    def _spoiled(self, done: Histogram) -> Doubt | None:
        """Why it may be the load generator that made it longer. Each action has waited for a thread
        that never rests; of a second without rest, or of a pause, there are actions outside."""
        found = next((x for x in self.of.doubts or () if x.what in SPOILED), None)
        some = not done.n or hist.low(done.buckets[0][0], done.bits) <= self.limit_ns
        return found if some or self.of.busy else None

    def judged(self) -> tuple[bool | None, str]:
        """Whether it was kept; None: that cannot be told, and why."""
        done = self._done
        if self._unserved():
            ours = next((x for x in self.of.doubts or () if x.what in SPOILED), None)
            is_lost = self.of.lost or any(x.what == _LOST for x in self.of.doubts or ())
            ended = is_lost and not self.of.missing and self.of.longest_pause_ns > SESSION_NS
            return (None, ours.text) if ours and ended else (False, "")
        if not done.n and not self._over:
            return None, "no such action was complete"
        if self._shortest(done) > self.limit_ns:
            spoiled = self._spoiled(done)
            return (None, spoiled.text) if spoiled else (False, "")
        if doubt := next(self._doubts(), None):
            return None, doubt.text
        return (True, "") if self._longest(done) <= self.limit_ns else (None, self._why())

    def _why(self) -> str:
        n, late = self._unknown, self.of.late
        if n:
            return f"it is not known how long {n} action{'s' * (n != 1)} took"
        if not late:
            return "the figure is only known to within 1.6 %"
        most = (self.of.late_max_ns or 0) / 1e6
        return (
            f"the load generator began {late} action{'s' * (late != 1)} late, by up to "
            f"{most:.{2 if most < 10 else 0}f} ms"
        )


def _at(of: Histogram, rank: int, most: int | None = None) -> tuple[float, float]:
    """The least and the most that the latency of that rank, from 1 on, may be; beyond all: endless.
    `most`: the longest."""
    if rank < 1:
        return 0.0, 0.0
    if rank > of.n:
        return math.inf, math.inf
    seen = 0
    for index, count in of.buckets:
        seen += count
        if seen >= rank:
            high = hist.low(index + 1, of.bits) - 1
            return hist.low(index, of.bits), high if most is None else min(high, most)
    return math.inf, math.inf
