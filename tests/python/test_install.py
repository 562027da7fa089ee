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


def call(*line: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in line],
        cwd=ROOT, env=ENV | env, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def make(target: str, *more: str) -> str:
    """What it says."""
    done = call("make", "-s", target, *more)
    assert done.returncode == 0, done.stderr
    return done.stdout


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


def test_links_between_installed_pages_lead_somewhere(prefix: Path) -> None:
    doc, links = prefix / "share/doc/afpscope", 0
    for page in doc.rglob("*.md"):
        for target in re.findall(r"\]\(([^)#:\s]+)[^):]*\)", page.read_text(encoding="utf-8")):
            links += 1
            assert (page.parent / target).exists(), f"{page.name}: {target}"
    assert links > 50


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
    folders = {str(p.relative_to(there)) for p in there.rglob("*") if p.is_dir()}
    assert folders == {"bin"}


def test_blanks_in_paths_are_no_ends_of_them(shelf: Shelf, tmp_path: Path) -> None:
    """Of DESTDIR and PREFIX: everything is below them, works there, and goes again."""
    dest, prefix = tmp_path / "my root", "/opt/my own&programs"
    place = (f"DESTDIR={dest}", f"PREFIX={prefix}")
    victim = tmp_path / "my"
    victim.mkdir()
    (victim / "precious").touch()
    python = tmp_path / "other place" / "python3"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    said = make("install", *place, f"PYTHON={python}")
    there = dest / prefix[1:]
    assert {p.name for p in tmp_path.iterdir()} >= {"my", "my root"}
    assert {p.name for p in dest.rglob("*") if p.parent == dest} == {"opt"}
    assert f"no virtual environment is made: {python} must have numpy scipy" in said
    assert not list(there.rglob("pyvenv.cfg"))
    done = call(there / "bin" / "afpscope", "info", shelf.put("a"))
    # The library is where PREFIX says, which is not here.
    assert "No module named 'afpscope'" in done.stderr
    unit = (there / "lib/systemd/system/afpscope-exporter.service").read_text()
    assert f'ExecStart="{prefix}/bin/afpscope" exporter\n' in unit
    page = (there / "share/man/man1/afpscope.1").read_text()
    assert r"/opt/my\ own&programs/share/doc/afpscope/tutorial.md" in page
    make("uninstall", *place)
    assert list(dest.iterdir()) == [] and (victim / "precious").exists()


def test_a_launcher_with_blanks_runs(shelf: Shelf, tmp_path: Path) -> None:
    prefix = tmp_path / "a b"
    python = prefix / "python3"
    prefix.mkdir()
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    make("install-analysis", f"PREFIX={prefix}", "VENV=", f"PYTHON={python}")
    done = call(prefix / "bin" / "afpscope-info", shelf.put("a"))
    assert (done.returncode, done.stderr) == (0, "")


def test_uninstall_leaves_what_is_not_its_own(tmp_path: Path) -> None:
    """Files in folders of its own, folders that were there before, and what others link to."""
    prefix = tmp_path / "usr"
    (prefix / "share" / "fish").mkdir(parents=True)
    place = (f"PREFIX={prefix}", "VENV=")
    make("install-program", *place)
    mine = [prefix / "share/afpscope/mine", prefix / "share/doc/afpscope/notes/mine"]
    for path in mine:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    make("uninstall", *place)
    assert [prefix / name for name in sorted(files(prefix))] == sorted(mine)
    assert (prefix / "share/fish").is_dir() and not (prefix / "bin").exists()
    assert "nothing to take away" in make("uninstall", *place)


def test_installing_again_takes_away_what_is_no_longer_part(tmp_path: Path) -> None:
    """And only that; a link of an older version in the place of a program is not followed."""
    prefix = tmp_path / "usr"
    place = (f"PREFIX={prefix}", "VENV=")
    make("install-program", *place)
    before = files(prefix)
    listed = prefix / "share/afpscope/installed-program"
    (prefix / "bin/old").touch()
    (prefix / "bin/other").touch()
    listed.write_text(listed.read_text() + "bin/old\n")
    (prefix / "bin/rxperf").unlink()
    (prefix / "bin/rxperf").symlink_to("other")
    make("install-program", *place)
    assert files(prefix) == before | {"bin/other"}
    assert (prefix / "bin/other").stat().st_size == 0 < (prefix / "bin/rxperf").stat().st_size
    make("uninstall", *place)
    assert files(prefix) == {"bin/other"}


def test_the_program_is_installed_without_network(tmp_path: Path) -> None:
    """The commands in Python are not: make says so, and everything goes again."""
    prefix = tmp_path / "usr"
    place = f"PREFIX={prefix}"
    nothing = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": "/dev/null"}
    done = call("make", "-s", "install", place, f"PYTHON={sys.executable}", **nothing)
    assert done.returncode and "pip could not install these packages" in done.stderr
    assert call(prefix / "bin/afpscope", "--version").returncode == 0
    assert (prefix / "share/man/man1/afpscope-load.1").exists()
    make("uninstall", place)
    assert not prefix.exists()


def test_no_environment_takes_the_place_of_other_files(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    done = call("analysis/venv.sh", tmp_path, PYTHON=sys.executable)
    assert done.returncode and "has files and is no virtual environment" in done.stderr
    assert (tmp_path / "mine").exists()


def test_what_links_with_the_client_finds_it_installed(tmp_path: Path) -> None:
    make("install-client", f"PREFIX={tmp_path}")
    program = tmp_path / "mine.c"
    program.write_text('#include "store/store.h"\nint main(void) { return 0; }\n')
    flags = ("-std=gnu11", "-I", tmp_path / "include/afpscope", "-L", tmp_path / "lib")
    libraries = ("-lafpclient", "-lgcrypt", "-lm")
    done = call("gcc", *flags, "-o", tmp_path / "mine", program, *libraries)
    assert done.returncode == 0, done.stderr


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
