# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of the commands in C, and those of the names of other tools, are still those that
docs/compatibility.md promises, and a recording of 1.0 is replayed. Of saved runs see
test_every_table.py, of the rest tests/python/test_promised.py.

Tests user/main/main.c.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import promised
import pytest
from replaying import about, sums
from scope import OK, REPO, Scope


def test_no_promised_option_went_or_takes_something_else(scope: Scope) -> None:
    assert (
        promised.broken(promised.promised("options"), promised.program_options(scope.binary)) == []
    )


@pytest.mark.parametrize("name", ["afp_lantest", "afp_speedtest", "gfapi_perf_tool", "gfapi_perf",
                                  "rxperf"])  # fmt: skip
def test_the_program_is_there_under_the_name_of(scope: Scope, name: str) -> None:
    line = [str(scope.binary.with_name(name)), "--help"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert "usage" in (done.stdout + done.stderr).lower() and done.returncode in (OK, 1)


def test_a_recording_of_1_0_is_replayed(scope: Scope, tmp_path: Path) -> None:
    """Each of its requests has the answer that the server gave then."""
    packed = REPO / "tests/golden/1.0/replayable.tar.xz"
    subprocess.run(["tar", "-x", "-C", tmp_path, "-f", packed], check=True)
    (tmp_path / "place").mkdir()
    places = (str(tmp_path / "replayable"), str(tmp_path / "place"))
    done = scope(None, *places, "--no-think", "-o", str(tmp_path / "run"), tool="replay").expect(OK)
    assert "Answered as recorded: all" in done.out
    replay = about(tmp_path / "run")
    assert sums(replay)["as_recorded"] == replay["planned"] > 100
