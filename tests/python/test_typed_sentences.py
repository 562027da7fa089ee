# SPDX-License-Identifier: GPL-2.0-or-later
"""What the program prints of itself. Tests analysis/afpscope/typed.py."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from afpscope import typed

ROOT = Path(__file__).resolve().parents[2]
LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')
NAMES = re.compile(r'(?:^|\W)\{ ?\{? ?"([a-z]+)", ', re.M)


def test_no_sentence_about_the_program_is_taken_for_a_command() -> None:
    """Of each text in the sources: "or no afpscope run" would become "or no sudo afpscope run"."""
    commands = set(NAMES.findall((ROOT / "user/main/main.c").read_text()))
    made = re.search(r"^ANALYSIS *= (.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert made and {"lantest", "doctor"} <= commands
    commands |= {*made[1].split(), "help"}
    names = subprocess.run(
        [ROOT / "tests/files.sh", "*.c", "*.h", "analysis/afpscope/*.py"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    product = [n for n in names if n.startswith(("user/", "client/", "analysis/"))]
    said = {
        (word, name)
        for name in product
        for text in LITERAL.findall((ROOT / name).read_text())
        for word in typed._COMMAND.findall(text)
    }
    assert len(said) > 20
    # In completions, in a comment, on a page, and as the first line of a file: none is printed.
    elsewhere = {"afp", "completion", "calls", "counted", "counts"}
    assert not {(word, name) for word, name in said if word not in {*commands, *elsewhere, "--"}}


def test_a_command_is_said_in_a_folder_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "afpscope"
    program.write_text("")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.setenv("AFPSCOPE", str(program))
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.chdir(gone)
    gone.rmdir()
    try:
        assert typed.typed("see afpscope report last") == f"see {program} report last"
    finally:
        os.chdir(tmp_path)
