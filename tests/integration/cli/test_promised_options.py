# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of the commands in C, and those of the names of other tools, are still those that
docs/compatibility.md promises. Of saved runs see test_every_table.py, of the rest
tests/python/test_promised.py.

Tests user/main/main.c.
"""

from __future__ import annotations

import subprocess

import promised
import pytest
from scope import OK, Scope


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
