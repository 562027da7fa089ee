# SPDX-License-Identifier: GPL-2.0-or-later
"""What a replay did beside what was recorded, as run.json has it (docs/data-model.md, replay)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from . import crowd
from .crowd import Limit
from .node import Node

AS_RECORDED = "as_recorded"
# Answered in another way; and not sent, as what they are about was not there, or by no such place.
OTHERWISE = ("new_error", "no_error", "other_error", "other_size")
UNSENT, LACKS = "unsent", "not_supported"


@dataclass(frozen=True, slots=True)
class Request:
    """One kind of them. Times in ns, None: too few: of the recording in the server, of the replay
    as the client waited, which is not the same."""

    name: str
    recorded: int  # of those that were to be sent
    came: Mapping[str, int]
    recorded_p50_ns: int | None
    recorded_p99_ns: int | None
    p50_ns: int | None
    p99_ns: int | None

    @property
    def otherwise(self) -> int:
        return sum(self.came[key] for key in OTHERWISE)

    @property
    def replayed(self) -> int:
        return self.came[AS_RECORDED] + self.otherwise

    @property
    def left_out(self) -> int:
        return self.came[UNSENT] + self.came[LACKS]


@dataclass(frozen=True, slots=True)
class Replay:
    """`planned`: requests that were to be sent, of `recorded`; `planned_ns`: how long that takes by
    the recording's times, None: they were not kept (--no-think), or an older run. `kept_up` None:
    that was not judged."""

    recorded: int
    planned: int
    planned_ns: int | None
    kept_up: Limit | None
    requests: tuple[Request, ...]

    @property
    def replayed(self) -> int:
        return sum(q.replayed for q in self.requests)

    @property
    def as_recorded(self) -> int:
        return sum(q.came[AS_RECORDED] for q in self.requests)

    @property
    def per_s(self) -> float | None:
        """Requests a second that the recording's times ask for."""
        return self.planned / self.planned_ns * 1e9 if self.planned_ns else None


def _request(node: Node) -> Request:
    return Request(
        node["name"].text(),
        node["recorded"].count(),
        {key: node[key].count() for key in (AS_RECORDED, *OTHERWISE, UNSENT, LACKS)},
        node.get_int("recorded_p50_ns"),
        node.get_int("recorded_p99_ns"),
        node.get_int("p50_ns"),
        node.get_int("p99_ns"),
    )


def parse(node: Node) -> Replay:
    """`replay` of a phase."""
    kept_up = node.get("kept_up")
    return Replay(
        node["recorded"].count(),
        node["planned"].count(),
        node.get_int("planned_ns"),
        crowd.limit(kept_up) if kept_up else None,
        tuple(_request(q) for q in node["requests"].items()),
    )
