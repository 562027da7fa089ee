# SPDX-License-Identifier: GPL-2.0-or-later
"""Each command of the package tells the version, which is that of the C program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from afpscope.cli import COMMANDS, main

REPO = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_version(command: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    number = re.search(r"^VERSION\s*= (.*)$", (REPO / "Makefile").read_text(), re.M)
    assert number
    line = ["afpscope", *([command] if command else []), "--version"]
    assert main(line) == 0
    assert capsys.readouterr().out == f"afpscope {number[1]}\n"
