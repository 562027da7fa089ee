# SPDX-License-Identifier: GPL-2.0-or-later
"""What docs/contributing.md lists "to add a ..." is all it takes: toys in a copy of the tree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (TOP / "build/afpscope").exists(), reason="nothing is built: run make"),
]
KIND = """
#include "kinds/kind.h"

static int find(struct kind_found *out, const struct kind_wish *w, struct err *e)
{
	return kind_any.find(out, w, e);
}

static int describe(const struct kind_found *f, struct run *r)
{
	(void)f;
	return run_note(&r->server, "toy", "found");
}

const struct kind kind_toy = {
	.is = { .name = "toy", .role = { "toyd", "toy_db", "other" } },
	.find = find,
	.describe = describe,
};
"""
COMMAND = """
#include "cmd/cmd.h"

#include <stdio.h>

int cmd_toy(int argc, char **argv)
{
	printf("%s has %d arguments\\n", argv[0], argc - 1);
	return 0;
}
"""


class Scratch:
    """A copy of the tree with what was built, and the names of the files that were touched."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.touched: set[str] = set()
        names = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard", "Makefile", "user", "client", "bpf"],
            cwd=TOP, check=True, capture_output=True, text=True,
        ).stdout.split()  # fmt: skip
        for name in (n for n in names if (TOP / n).exists()):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TOP / name, folder / name)
        for name in ("obj", "gen"):
            shutil.copytree(TOP / "build" / name, folder / "build" / name)

    def write(self, name: str, text: str) -> None:
        self.touched.add(name)
        (self.folder / name).write_text(text)

    def replace(self, name: str, old: str, new: str) -> None:
        text = (self.folder / name).read_text()
        assert text.count(old) == 1, f"{name} has {text.count(old)} x {old!r}"
        self.write(name, text.replace(old, new))

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
        made = subprocess.run(
            ["make", "-s", "build/afpscope"],
            cwd=self.folder, capture_output=True, text=True, env=env, check=False,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr
        return subprocess.run(
            [self.folder / "build/afpscope", *args],
            cwd=self.folder, capture_output=True, text=True, check=False,
        )  # fmt: skip


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may watch")
def test_a_kind_of_server_is_three_files(scratch: Scratch) -> None:
    scratch.write("user/kinds/toy.c", KIND)
    scratch.replace("user/kinds/kind.c", "&kind_any }", "&kind_any, &kind_toy }")
    scratch.replace("user/kinds/kind.c", '"any", NULL', '"any", "toy", NULL')
    scratch.replace("user/kinds/kind.h", "kind_afp, kind_any;", "kind_afp, kind_any, kind_toy;")
    assert len(scratch.touched) == 3
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        words = ("--kind", "toy", "--pid", str(sleeper.pid), "-d", "1", "--no-save")
        done = scratch.run("record", *words, "--json", "-")
    finally:
        sleeper.kill()
        sleeper.wait()
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)
    assert run["kind"] == "toy" and run["server"]["toy"] == "found"
    assert any(book["name"].startswith("toyd ") for book in run["books"])


def test_a_subcommand_is_three_files(scratch: Scratch) -> None:
    scratch.write("user/cmd/toy.c", COMMAND)
    scratch.replace(
        "user/cmd/cmd.h", "int cmd_check(", "int cmd_toy(int argc, char **argv);\nint cmd_check("
    )
    row = '	{ "toy", "a toy", cmd_toy, check_options },\n	{ "clean",'
    scratch.replace("user/cmd/main.c", '	{ "clean",', row)
    assert len(scratch.touched) == 3
    done = scratch.run("toy", "a", "b")
    assert (done.returncode, done.stdout) == (0, "toy has 2 arguments\n")
