# SPDX-License-Identifier: GPL-2.0-or-later
"""Which worker runs which file of tests/integration: tests/integration/lib/scheduling.py."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

INTEGRATION = Path(__file__).resolve().parents[1] / "integration"
FILES = {path.stem.removeprefix("test_") for path in INTEGRATION.glob("*/test_*.py")}


@pytest.fixture
def scheduling(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(INTEGRATION / "lib"))
    monkeypatch.delitem(sys.modules, "scheduling", raising=False)
    return __import__("scheduling")


def test_each_name_is_that_of_one_file(scheduling: ModuleType) -> None:
    named = [*scheduling.LONG, *scheduling.WAITING, scheduling.LAST]
    assert len(set(named)) == len(named)
    assert set(named) <= FILES
    together = scheduling.TOGETHER
    assert {*together, *together.values()} <= FILES - set(scheduling.WAITING)
    assert len({scheduling.place(name) for name in named}) == len(named)


def ran(scheduling: ModuleType, turns: list[int]) -> list[tuple[int, str]]:
    """Each worker whose turn it is takes one group, until none is left."""
    left = sorted(FILES, key=scheduling.place)
    left = list(dict.fromkeys(scheduling.group(name) for name in left))
    out = []
    while left:
        for worker in turns:
            name = scheduling.next_group(left, worker)
            if name is not None:
                left.remove(name)
                out.append((worker, name))
    return out


@pytest.mark.parametrize(
    "turns", [[0], [0, 1], [0, 1, 2, 3], [3, 2, 1, 0], [0, 1, 2, 2, 2], [1, 0, 0, 0, 0, 2]]
)
def test_all_is_run_once_and_nothing_pinned_by_workers_behind(
    scheduling: ModuleType, turns: list[int]
) -> None:
    done = ran(scheduling, turns)
    names = [name for _, name in done]
    assert sorted(names) == sorted({scheduling.group(name) for name in FILES})
    assert names[-1] == scheduling.LAST
    behind = {name for worker, name in done if worker >= scheduling.PINNED}
    assert behind <= set(scheduling.WAITING)
    assert bool(behind) == (max(turns) >= scheduling.PINNED)
    # The pinned ones take no file from those behind while there are others.
    own = [name in scheduling.WAITING for worker, name in done if worker < scheduling.PINNED]
    assert own[:-1] == sorted(own[:-1])
