# SPDX-License-Identifier: GPL-2.0-or-later
"""A load through a relay that holds bytes, and what was said of its round trips."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

# One client; each action on files of one request, which TCP sends at once.
MIX = """
[mix]
name = far
files = 6
file_size = 10000
[actions]
list = 1
look = 1
read = 1
write = 1
save = 1
create = 1
mac-save = 1
login = 1
logout = 1
"""
# Requests that each wait for the answer to the one before, and how few would do: docs/load.md.
TRIPS = {
    "list": (2, 2),
    "look": (1, 1),
    "read": (3, 3),
    "write": (3, 3),
    "save": (11, 8),
    "create": (4, 4),
    "mac-save": (14, 12),
}


@dataclass(frozen=True)
class Seen:
    """An action of a load; times in ms."""

    n: int
    trips: float
    needed: float | None
    took_ms: float  # the mean
    median_ms: float
    said_ms: dict[float, float]  # by round-trip time: how long it was said to take on average
    together: dict[str, int]

    def median_over(self, rtt_ms: float) -> float:
        """What was said, of the median: a machine that is busy makes a mean of few useless."""
        return self.said_ms[rtt_ms] - self.took_ms + self.median_ms


def options(folder: Path, seconds: int, over: str = "afp") -> list[str]:
    """Of load; over SMB and NFS without the actions that only AFP has."""
    mix = folder / "far.ini"
    only_afp = ("mac-save", "login", "logout")
    mix.write_text("\n".join(line for line in MIX.splitlines()
                             if over == "afp" or not line.startswith(only_afp)))  # fmt: skip
    more = ("--clients=1", "--ramp=0", "--no-probe", "--watch=off")
    return [f"--mix={mix}", f"--duration={seconds}", *more]


def seen(saved: dict[str, Any]) -> dict[str, Seen]:
    """By action, from run.json."""
    (phase,) = saved["phases"]
    found = {}
    for action in phase["load"]["actions"]:
        trips = action["round_trips"]
        assert not action["failed"], phase["load"]
        if trips is None:
            continue
        n = trips["n"]
        found[action["name"]] = Seen(
            n,
            trips["sum"] / n,
            None if trips["needed"] is None else trips["needed"] / n,
            action["begun"]["sum_ns"] / action["begun"]["n"] / 1e6,
            action["begun"]["p50_ns"] / 1e6,
            {at["rtt_ns"] / 1e6: at["ns"] / 1e6 for at in trips["at"]},
            {one["name"]: one["n"] for one in trips["together"]},
        )
    return found
