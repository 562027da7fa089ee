# SPDX-License-Identifier: GPL-2.0-or-later
"""Work in several processes: in order, ended by an interrupt, and into one folder.

Tests analysis/afpscope/process.py, saved/files.py.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from afpscope import process
from afpscope.saved.files import Folder
from conftest import Done, Shelf

Execute = Callable[..., Done]


def _named(n: int, other: str) -> tuple[int, str, int]:
    return n, other, os.getpid()


def _slow(n: int, folder: Path) -> int:
    time.sleep(0.05)
    (folder / f"{n}").touch()
    return n


@pytest.mark.parametrize("cpus", [1, 2, 3])
def test_all_are_done_in_order_on_as_many_cpus_as_there_are(
    monkeypatch: pytest.MonkeyPatch, cpus: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cpus)))
    done = list(process.each(_named, list(range(30)), "x"))
    assert [(n, other) for n, other, _ in done] == [(n, "x") for n in range(30)]
    pids = {pid for _, _, pid in done}
    assert pids == {os.getpid()} if cpus == 1 else os.getpid() not in pids and len(pids) <= cpus
    few = {pid for _, _, pid in process.each(_named, list(range(30)), "x", most=1)}
    assert few == {os.getpid()}


def test_what_is_not_begun_is_left_undone_after_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    with (
        pytest.raises(KeyboardInterrupt),
        closing(process.each(_slow, list(range(400)), tmp_path)) as each,
    ):
        next(each)
        raise KeyboardInterrupt
    assert 1 <= len(list(tmp_path.iterdir())) < 100


def test_a_folder_that_came_meanwhile_is_replaced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two processes add one run to a lake: one of them comes between the other's renames."""
    rename, late = os.rename, [True]

    def between(a: Any, b: Any, **how: Any) -> None:
        if b == "run" and late:
            late.clear()
            (tmp_path / "run").mkdir()
            (tmp_path / "run" / "theirs").touch()
        rename(a, b, **how)

    monkeypatch.setattr(os, "rename", between)
    with Folder(tmp_path).renamed("run") as aside, aside.written("ours") as file:
        file.write(b"x")
    assert [p.name for p in tmp_path.iterdir()] == ["run"]
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["ours"]


def test_a_lake_has_a_run_once_that_is_given_twice(
    shelf: Shelf, tmp_path: Path, execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    run = shelf.put("a")
    done = execute("export", *[run] * 6, "--into", tmp_path / "lake")
    assert done.code == 0, done.err
    assert "left out" not in done.err
    assert len(list((tmp_path / "lake").iterdir())) == 1
