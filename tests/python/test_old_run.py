# SPDX-License-Identifier: GPL-2.0-or-later
"""A run with its trace that an older version recorded (commit bb9fe91) opens with this one; of its
trace, which has no .layout.json, is said what reads it.

Of netatalk 4.5.1: a login, 20 FPCreateFile and 20 FPDelete.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Done

TOP = Path(__file__).parents[2]
NAME = "run-2026-11-23"
Execute = Callable[..., Done]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    # tarfile of Debian 12 has no filters.
    subprocess.run(
        ["tar", "-x", "-C", tmp_path, "-f", TOP / f"tests/golden/{NAME}.tar.gz"], check=True
    )
    return tmp_path / NAME


def test_it_can_be_asked(old: Path, execute: Execute) -> None:
    done = execute("info", old)
    assert done.code == 4 and "losses       0 in" in done.out
    assert f"the trace {old}/trace is of an older afpscope" in done.out
    done = execute("query", old, "select count(*) from requests")
    assert (done.code, done.out) == (1, "")
    assert "with the afpscope that wrote it, or with babeltrace2" in done.err


def test_it_is_drawn(old: Path, tmp_path: Path, execute: Execute) -> None:
    done = execute("report", old, "-o", tmp_path / "old.html")
    assert done.code == 4
    text = (tmp_path / "old.html").read_text()
    assert "FPCreateFile" in text and "of an older afpscope" in text


def test_its_trace_is_not_dumped(old: Path, execute: Execute) -> None:
    done = execute("dump", old)
    assert (done.code, done.out) == (1, "") and "or with babeltrace2" in done.err
