# SPDX-License-Identifier: GPL-2.0-or-later
"""A command of the program that it prints can be typed as it stands there, wherever the program is
and whoever ran it.

Tests user/base/typed.c, user/app/cmd.c.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from offline import command
from scope import OK, REPO, Scope

HELP = re.compile(r"command 'nosuch': (.*) --help lists them")


@pytest.fixture
def elsewhere(scope: Scope, tmp_path: Path) -> Path:
    """A copy of the program in a folder that is on no PATH, and has a blank in its name."""
    folder = tmp_path / "a b"
    folder.mkdir()
    shutil.copy(scope.binary, folder / "afpscope")
    return folder / "afpscope"


def said(line: list[str], folder: Path, **more: str) -> str:
    """How it calls itself in a message, which is tried."""
    env = {k: v for k, v in os.environ.items() if k != "SUDO_UID"} | more
    done = subprocess.run([*line, "nosuch"], cwd=folder, env=env, capture_output=True, text=True,
                          check=False)  # fmt: skip
    found = HELP.search(done.stderr)
    assert found, done
    word = found[1].removeprefix("sudo ")
    again = subprocess.run(f"{word} --version", shell=True, cwd=folder, env=env,
                           capture_output=True, text=True, check=False)  # fmt: skip
    assert again.returncode == OK and again.stdout.startswith("afpscope "), again
    return found[1]


def test_a_command_that_is_printed_can_be_typed(elsewhere: Path, tmp_path: Path) -> None:
    beside = elsewhere.parent
    assert said([str(elsewhere)], tmp_path) == "'a b/afpscope'"
    assert said([str(elsewhere)], beside) == "./afpscope"
    assert said([str(elsewhere)], Path("/")) == f"'{elsewhere}'"
    path = f"/nonexistent:{beside}:{os.environ['PATH']}"
    assert said(["afpscope"], Path("/"), PATH=path) == "afpscope"
    assert said([str(elsewhere)], Path("/"), PATH=path) == "afpscope"


def test_another_program_of_that_name_on_the_path_is_not_meant(
    elsewhere: Path, tmp_path: Path
) -> None:
    other = tmp_path / "bin"
    other.mkdir()
    (other / "afpscope").write_text("#!/bin/sh\nexit 9\n")
    (other / "afpscope").chmod(0o755)
    path = f"{other}:{elsewhere.parent}:{os.environ['PATH']}"
    assert said([str(elsewhere)], elsewhere.parent, PATH=path) == "./afpscope"


def test_what_sudo_ran_is_to_be_run_by_sudo_again(elsewhere: Path) -> None:
    assert said([str(elsewhere)], elsewhere.parent, SUDO_UID="1000") == "sudo ./afpscope"


def test_the_commands_in_python_say_the_same(scope: Scope, tmp_path: Path) -> None:
    python = command()[2]  # after env and its setting
    install = [REPO / "packaging/install.sh", "launchers", tmp_path, python, REPO / "analysis"]
    subprocess.run(install, env=os.environ | {"ANALYSIS": "report"}, check=True)
    shutil.copy(scope.binary, tmp_path / "afpscope")
    env = {k: v for k, v in os.environ.items() if k not in ("SUDO_UID", "AFPSCOPE")}
    for line in ([tmp_path / "afpscope", "report"], [tmp_path / "afpscope-report"]):
        done = subprocess.run([*line, "--nosuch"], cwd=tmp_path, env=env, capture_output=True,
                              text=True, check=False)  # fmt: skip
        assert "(see ./afpscope report --help)" in done.stderr, done
