# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/words.py, which make lint runs, refuses words of our own in what people read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
SOUND = {
    "docs/a.md": "The key `rungs`, and\n\n    `tally.c`\n\nA guest logs in.\n",
    "docs/afpscope-exporter.1.in": 'then says\n.BR rung="proc" ,\n',
    "user/a.c": '#include "watch/rung.h"\n/* The rung that it took. */\n'
    'static const char *const key = "rung";\nint rung_take(void);\n'
    'int a = say("a strange text", "// no comment");\nint b = say("the null peer");\n',
    "analysis/a.py": '"""The rung of a run."""\n\nkey = "rungs"  # a rung of the ladder\n',
}
USES = {
    "docs/a.md:5: 'crowd': say 'clients'": ("docs/a.md", "A guest", "A crowd"),
    "docs/a.md:1: 'Rungs': say 'way of watching'": ("docs/a.md", "The key", "Rungs by key"),
    "docs/afpscope-exporter.1.in:1: 'ladder'": ("docs/afpscope-exporter.1.in", "then", "a ladder"),
    "user/a.c:5: 'strangers': say 'other process'": ("user/a.c", "a strange", "two strangers'"),
    "user/a.c:5: 'tally'": ("user/a.c", "no comment", "a tally"),
    "user/a.c:6: 'peers'": ("user/a.c", "null peer", "peers"),
    "docs/a.md:5: 'guest rank'": ("docs/a.md", "A guest", "A guest rank"),
    "docs/a.md:5: 'Callers'": ("docs/a.md", "A guest", "Callers"),
    "analysis/a.py:4: 'rung'": ("analysis/a.py", '"rungs"', 'f"""{a}\n the rung {b}"""'),
}


def checked(folder: Path, texts: dict[str, str]) -> subprocess.CompletedProcess[str]:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    line = [sys.executable, "-B", str(TOP / "tests/words.py")]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)


def test_a_name_a_comment_and_a_word_of_the_field_pass(tmp_path: Path) -> None:
    done = checked(tmp_path, SOUND)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("said", USES)
def test_a_word_that_went_is_refused_with_its_place(tmp_path: Path, said: str) -> None:
    name, old, new = USES[said]
    assert old in SOUND[name]
    done = checked(tmp_path, SOUND | {name: SOUND[name].replace(old, new)})
    assert done.returncode == 1 and done.stderr == ""
    assert said in done.stdout and done.stdout.count("\n") == 1
