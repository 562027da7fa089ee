# SPDX-License-Identifier: GPL-2.0-or-later
"""Each command of the package tells the version, which stands in one place."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from afpscope import __version__
from afpscope.cli import COMMANDS, main

REPO = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_version(command: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["afpscope", *([command] if command else []), "--version"]
    assert main(line) == 0
    assert capsys.readouterr().out == f"afpscope {__version__}\n"


def test_the_makefile_takes_it_from_the_package() -> None:
    done = subprocess.run(
        ["make", "-s", "--eval=print: ; @echo $(VERSION)", "print"],
        cwd=REPO, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == f"{__version__}\n"


def test_manual_pages_and_the_package_have_no_version_of_their_own() -> None:
    pages = [*(REPO / "docs").glob("*.1"), *(REPO / "docs").glob("*.1.in")]
    assert len(pages) > 20
    for page in pages:
        assert re.search(r'^\.TH .* "afpscope @VERSION@" ', page.read_text(), re.M), page.name
    assert 'dynamic = ["version"]' in (REPO / "analysis/pyproject.toml").read_text()
