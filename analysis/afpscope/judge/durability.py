# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether several servers made saved data as safe: the sync calls of their actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

# A count of an action is equal if it differs by no more than this share, or by no more than that.
NEAR, LEAST = 0.05, 0.02
_MOST = 20  # sync calls that an action of a kind makes, of which nothing is known


@dataclass(frozen=True)
class Syncs:
    """Calls that make data safe from a power cut, of the mean action of a work. `data`: those on
    users' files, for each side, None: not counted. Others keep a database or a folder."""

    what: str
    data: tuple[float | None, ...]
    texts: tuple[str, ...]
    shares: tuple[Mapping[str, float], ...]  # of each kind of action among the side's
    slack: tuple[float, ...]  # by what share sync calls of actions that did not end may be more

    @property
    def near(self) -> bool:
        known = [n for n in self.data if n is not None]
        if not known or min(known) == 0 < max(known):  # one never syncs what users keep
            return not known
        return max(known) - min(known) <= max(LEAST, NEAR * max(known))

    @property
    def unequal(self) -> bool:
        """Whether any two servers sync otherwise for the same actions, whichever of these do: their
        means differ by more than the shares of any kind of action do."""
        all_of = zip(self.data, self.shares, self.slack, strict=True)
        known = [(n, of, slack) for n, of, slack in all_of if n is not None]
        two = combinations(known, 2)
        return not self.near and any(_apart(a, b) or _apart(b, a) for a, b in two)


_Made = tuple[float, Mapping[str, float], float]  # data, shares, slack


def _apart(a: _Made, b: _Made) -> bool:
    """Whether b has more sync calls than a could have with b's shares of actions."""
    (x, mine, _), (y, its, slack) = a, b
    alone = sum(share for kind, share in its.items() if not mine.get(kind))  # a did none of these
    both = [its[kind] / mine[kind] for kind in its if its[kind] and mine.get(kind)]
    if not both:
        return False
    return y > LEAST + (1 + NEAR + slack) * max(both) * x + _MOST * alone
