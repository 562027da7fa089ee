# SPDX-License-Identifier: GPL-2.0-or-later
"""The causes of many counts that differ: calls whose numbers changed together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# Changes per request that differ by less than this are the same.
_NEAR = 0.05


@dataclass(frozen=True)
class Change:
    """One count of an AFP command in a test, and by how much per request it changed."""

    test: str
    command: str
    what: str
    requests: int
    by: float


@dataclass(frozen=True)
class Cause:
    """Counts (`whats`) that changed by the same amount in the same commands."""

    whats: tuple[str, ...]
    low: float
    high: float
    commands: tuple[str, ...]
    tests: tuple[str, ...]
    calls: float

    @property
    def text(self) -> str:
        """As text: `write · log: +21.0 to +50.0 per request in 3 commands: ...`."""
        size = f"{self.low:+.2f}"
        if self.high - self.low > _NEAR:
            size += f" to {self.high:+.2f}"
        where = f"{len(self.commands)} command{'s' * (len(self.commands) > 1)}"
        more = f" and {len(self.commands) - 3} more" if len(self.commands) > 3 else ""
        each = " each" if len(self.whats) > 1 else ""
        names = ", ".join(self.commands[:3]) + more
        return f"{', '.join(self.whats)}: {size} per request{each} in {where}: {names}"


def _same(one: dict[tuple[str, str], float], other: dict[tuple[str, str], float]) -> bool:
    return one.keys() == other.keys() and all(
        abs(by - other[key]) <= max(_NEAR, _NEAR * abs(by)) for key, by in one.items()
    )


def _cause(whats: Sequence[str], changes: Sequence[Change]) -> Cause:
    first = [c for c in changes if c.what == whats[0]]
    return Cause(
        # A count with an object is more informative than one without.
        tuple(sorted(whats, key=lambda what: "·" not in what)),
        min(c.by for c in first),
        max(c.by for c in first),
        tuple(dict.fromkeys(c.command for c in first)),
        tuple(dict.fromkeys(c.test for c in first)),
        sum(abs(c.by) * c.requests for c in changes),
    )


def of(changes: Iterable[Change]) -> list[Cause]:
    """The causes, the one of most calls first."""
    by_what: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        by_what[change.what].append(change)
    groups: list[list[str]] = []
    known: list[dict[tuple[str, str], float]] = []
    for what, those in by_what.items():
        shape = {(c.test, c.command): c.by for c in those}
        for i, other in enumerate(known):
            # afpd's calls and cnid_dbd's never have the same cause: their code differs.
            if _same(shape, other) and groups[i][0].split(":")[0] == what.split(":")[0]:
                groups[i].append(what)
                break
        else:
            groups.append([what])
            known.append(shape)
    found = [_cause(g, [c for what in g for c in by_what[what]]) for g in groups]
    return sorted(found, key=lambda cause: -cause.calls)
