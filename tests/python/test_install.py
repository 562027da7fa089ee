# SPDX-License-Identifier: GPL-2.0-or-later
"""What `make install` brings works, `make uninstall` takes all of it away, pip leaves no litter.

That the packages themselves arrive is shown by tests/bare.sh, in a fresh Debian.
"""

from __future__ import annotations

import gettext
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Shelf

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "PYTHONPATH"))}


def call(*line: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in line],
        cwd=ROOT, env=ENV, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def make(target: str, *more: str) -> None:
    done = call("make", "-s", target, *more)
    assert done.returncode == 0, done.stderr


def files(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir()}


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Installed there once, with the interpreter of the tests in place of one made for it."""
    to = tmp_path_factory.mktemp("prefix") / "usr"
    make("install", f"PREFIX={to}", "VENV=", f"PYTHON={sys.executable}")
    return to


def test_the_commands_of_the_analysis_are_found_beside_the_program(
    prefix: Path, shelf: Shelf, tmp_path: Path
) -> None:
    """Without the folder of either on the PATH."""
    run = shelf.put("a")
    program = prefix / "bin" / "afpscope"
    for args in (("info", run), ("query", run, "select 1"), ("report", run, "-o", tmp_path / "r")):
        done = call(program, *args)
        assert (done.returncode, done.stderr) == (0, ""), args
    load = ("--clients", "1,2", "-d", "1", "--ramp=0", "--files=2", "--pause", "0")
    done = call(program, "sweep", *load, "-o", tmp_path / "s", tmp_path / "loaded")
    assert done.returncode == 0, "sweep runs the program that it belongs to: " + done.stderr
    outside = call(program, "no-such-command")
    assert outside.returncode == 2 and "no command 'no-such-command'" in outside.stderr


def test_every_page_that_a_manual_page_names_is_installed(prefix: Path) -> None:
    named = set()
    for page in (prefix / "share/man/man1").glob("afpscope*.1"):
        text = page.read_text()
        assert not re.search(r"(?<!/)docs/", text), page
        named |= set(re.findall(r"/\S+/doc/afpscope/[\w/.-]+[\w]", text))
    assert named and all(Path(path).exists() for path in named)


def test_every_command_has_a_manual_page(prefix: Path) -> None:
    program = prefix / "bin" / "afpscope"
    overview = (prefix / "share/man/man1/afpscope.1").read_text()
    own = re.findall(r"^  ([a-z]+) ", call(program, "--help").stdout, re.M)
    analysis = [p.name.removeprefix("afpscope-") for p in program.parent.glob("afpscope-*")]
    for command in {*own, *analysis} - {"analysis"}:
        assert (prefix / f"share/man/man1/afpscope-{command}.1").exists()
        assert re.search(rf"^\.BR? afpscope\\-{command} \(1\)", overview, re.M), command


def test_japanese_is_found_where_man_and_gettext_look(prefix: Path) -> None:
    """Each page, by man itself, and the report's words, by the library that reads catalogues."""
    english = sorted((prefix / "share/man/man1").glob("*.1"))
    assert len(english) > 20
    found = ("env", f"MANPATH={prefix}/share/man", "man", "-L", "ja_JP.UTF-8", "-w")
    for page in english:
        done = call(*found, page.stem)
        assert done.stdout.strip() == str(prefix / "share/man/ja/man1" / page.name), done.stderr
        shown = call("timeout", "20", *found[:-1], "-P", "cat", page.stem)
        assert shown.returncode == 0 and "名前" in shown.stdout, f"{page.stem}: {shown.stderr}"
    words = gettext.translation("afpscope", prefix / "share/locale", ["ja"])
    source = (ROOT / "po/report.ja.po").read_text(encoding="utf-8")
    entry = r'^msgctxt "(.+)"\nmsgid "(.+)"\nmsgstr "(.+)"$'
    entries = re.findall(entry, source, re.M)
    assert len(entries) > 20
    for context, english_words, japanese in entries:
        if "\\" not in context + english_words + japanese:
            assert words.pgettext(context, english_words) == japanese


def test_pages_in_japanese_end_at_any_width(prefix: Path) -> None:
    """All in one run of troff, as man asks for them: with the rules of Japanese lines."""
    pages = sorted((prefix / "share/man/ja/man1").glob("*.1"))
    text = ".mso ja.tmac\n.hla ja\n" + "".join(page.read_text("utf-8") for page in pages)
    groff = ["groff", "-k", "-t", "-mandoc", "-Z", "-Tutf8"]
    endless = {}
    for width in range(16, 41, 3):
        done = subprocess.run(
            ["prlimit", "--cpu=4", *groff, f"-rLL={width}n", f"-rLT={width}n"],
            input=text, encoding="utf-8", env=ENV | {"LC_ALL": "C.UTF-8"}, capture_output=True,
            timeout=300, check=False,
        )  # fmt: skip
        if done.returncode or done.stdout.count("x stop") != 1:
            endless[width] = done.stderr[-200:]
    assert len(pages) > 20 and endless == {}


def test_uninstall_leaves_nothing(prefix: Path, tmp_path: Path) -> None:
    """Of what is there, in another place, after its use."""
    there = shutil.copytree(prefix, tmp_path / "usr", symlinks=True)
    call(there / "bin" / "afpscope", "info", "nothing")
    other = there / "bin" / "another-program"
    other.write_text("of somebody else")
    assert len(files(there)) > 30
    make("uninstall", f"PREFIX={there}")
    assert files(there) == {"bin/another-program"}


def test_pip_leaves_nothing_in_the_tree(tmp_path: Path) -> None:
    source = tmp_path / "analysis"
    shutil.copytree(ROOT / "analysis", source, ignore=shutil.ignore_patterns("__pycache__"))
    before = files(source)
    # The tests' own environment has no pip (venv.sh).
    call(sys.executable, "-m", "venv", tmp_path / "venv")
    pip = (tmp_path / "venv" / "bin" / "pip", "--python", sys.executable)
    build = ("wheel", "-q", "--no-build-isolation", "--no-deps", "--no-index")
    done = call(*pip, *build, "-w", tmp_path / "wheel", source)
    assert done.returncode == 0, done.stderr
    assert files(source) == before
    listed = call(sys.executable, "-m", "zipfile", "-l", next((tmp_path / "wheel").glob("*.whl")))
    for name in ("report.html", "py.typed", "cli.py", "entry_points.txt"):
        assert name in listed.stdout
