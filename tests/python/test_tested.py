# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/tested.py, which make lint runs, finds a source without a test and a test of no source."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTED = Path(__file__).parents[1] / "tested.py"
HEAD = "/* SPDX-License-" + "Identifier: GPL-2.0-or-later */\n"
SOUND = {
    "client/dsi/dsi.c": "",
    "client/dsi/net.c": "",
    "user/main/dump.c": "",
    "user/main/dump_text.c": "",
    "user/attach/whom.c": "",
    "tests/unit/dsi/test_dsi.c": "/*\n * A session. Also tests\n * client/dsi/net.c.\n */\n",
    "tests/unit/attach/test_whom_faults.c": "/* Whom. */\n",
    "tests/integration/test_dumping.py": '"""Dumps.\n\nTests user/main/dump.c, dump_text.c."""\n',
}
BREACHES = {
    "user/run/new.c: no test": ("user/run/new.c", ""),
    "there is no client/dsi/nut.c": ("tests/bpf/test_nut.c", "/* Tests client/dsi/nut.c. */\n"),
    "says of no source": ("tests/unit/attach/test_other.c", "/* Tests client/dsi/dsi.c. */\n"),
    "2 tests are called test_dumping": ("tests/python/test_dumping.py", '"""Another."""\n'),
}


def checked(top: Path, texts: dict[str, str], *args: str) -> tuple[int, list[str]]:
    for name, text in texts.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text((HEAD if name.endswith(".c") else "# SPDX\n") + text)
    shutil.copy(TESTED, top / "tests")
    line = [sys.executable, "-B", top / "tests/tested.py", *args]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_a_sound_tree_has_no_breach(tmp_path: Path) -> None:
    assert checked(tmp_path, SOUND) == (0, [])


@pytest.mark.parametrize("expected", BREACHES)
def test_a_breach_is_found(tmp_path: Path, expected: str) -> None:
    name, text = BREACHES[expected]
    code, out = checked(tmp_path, SOUND | {name: text})
    assert (code, len(out)) == (1, 1)
    assert expected in out[0]


def test_the_tests_of_a_source_are_listed(tmp_path: Path) -> None:
    sources = "user/main/dump_text.c", "user/attach/whom.c"
    found = ["tests/integration/test_dumping.py", "tests/unit/attach/test_whom_faults.c"]
    assert checked(tmp_path, SOUND, *sources) == (0, found)


def test_a_test_of_several_names_is_listed_once(tmp_path: Path) -> None:
    header = "/* Tests user/attach/whom.c, other.c. */\n"
    texts = SOUND | {
        "user/attach/other.c": "",
        "tests/unit/attach/test_whom_faults.c": header,
    }
    sources = "user/attach/whom.c", "user/attach/other.c"
    assert checked(tmp_path, texts, *sources) == (0, ["tests/unit/attach/test_whom_faults.c"])


@pytest.mark.parametrize("source, status", [("user/main/both.c", 0), ("user/main/whole.c", 1)])
def test_words_that_choose_no_test_in_python_are_said(
    tmp_path: Path, source: str, status: int
) -> None:
    """They fail only where nothing else was tested."""
    tests = {
        "user/main/both.c": "",
        "user/main/whole.c": "",
        "tests/unit/main/test_both.c": "",
        "tests/python/test_all.py": '"""Tests user/main/both.c, whole.c."""\n'
        "def test_it() -> None:\n    pass\n",
    }
    checked(tmp_path, tests)
    need = f'#!/bin/sh\necho "{sys.executable}"\n'
    for name, text in ("need.sh", need), ("run.sh", "#!/bin/sh\necho programs: $2\n"):
        (tmp_path / "tests" / name).write_text(text)
        (tmp_path / "tests" / name).chmod(0o755)
    shutil.copy(TESTED.with_name("test.sh"), tmp_path / "tests")
    for word, code in ("no_such", status), ("it", 0):
        done = subprocess.run(
            [tmp_path / "tests/test.sh", source],
            env=os.environ | {"MAKE": "true", "BUILD": "build", "K": word},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert ("chooses none" in done.stderr) == (word == "no_such")
        assert ("programs: build/tests/unit/main/test_both" in done.stdout) == ("both" in source)
