# SPDX-License-Identifier: GPL-2.0-or-later
"""A run with its trace that an older version recorded (commit bb9fe91) opens with this one.

Of netatalk 4.5.1: a login, 20 FPCreateFile and 20 FPDelete.
"""

from __future__ import annotations

import json
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Done

TOP = Path(__file__).parents[2]
NAME = "run-2026-11-23"
PROGRAM = TOP / "build/afpscope"
Execute = Callable[..., Done]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    with tarfile.open(TOP / f"tests/golden/{NAME}.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path / NAME


def test_it_can_be_asked(old: Path, execute: Execute) -> None:
    done = execute("info", old)
    assert (done.code, done.err) == (0, "") and "losses       0 in" in done.out
    sql = "select command, count(*) as n from requests group by 1"
    done = execute("query", old, sql, "--json")
    found = {row["command"]: row["n"] for row in map(json.loads, done.out.splitlines())}
    assert (found["FPCreateFile"], found["FPDelete"], found["FPOpenVol"]) == (20, 20, 1)
    names = execute("query", old, "select count(*) as n from named where text like 'old %'")
    assert names.code == 0 and "40" in names.out.replace(",", "")


def test_it_is_drawn(old: Path, tmp_path: Path, execute: Execute) -> None:
    done = execute("report", old, "-o", tmp_path / "old.html")
    assert (done.code, done.err) == (0, "")
    assert "FPCreateFile" in (tmp_path / "old.html").read_text()


@pytest.mark.skipif(not PROGRAM.exists(), reason="nothing is built: run make")
def test_its_trace_is_dumped(old: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "dump", old, "--slow", "50"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert sum(" FPCreateFile " in line for line in lines) == 20
    assert sum(" FPDelete " in line for line in lines) == 20
