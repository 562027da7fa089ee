# SPDX-License-Identifier: GPL-2.0-or-later
"""The tarball of `make dist` has what the tree has, builds without git, and names one version.

That it passes `make check-quick` is shown by `make check-dist`, Debian's packages by
`make check-packages`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
FILLED = {"debian/changelog", "packaging/afpscope.spec", "packaging/APKBUILD"}
# Those with which the tree asks.
PATTERNS = [[], ["*.c", "*.h"], ["*.sh", ".ci/run", "debian/tests/lantest"],
            ["Makefile", "user", "mpi"], ["README.md", "docs/*.md", "analysis/*.py"]]  # fmt: skip


def run(folder: Path, *line: str | Path, **env: str) -> str:
    done = subprocess.run(
        line, cwd=folder, env=os.environ | env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def no_git(folder: Path) -> str:
    """A PATH on which git is a program that fails."""
    (folder / "git").write_text("#!/bin/sh\nexit 127\n")
    (folder / "git").chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpacked, in a folder of its own."""
    folder = tmp_path_factory.mktemp("dist")
    run(ROOT, ROOT / "packaging/dist.sh", "1.2.3", folder / "out")
    run(folder, "tar", "-xf", folder / "out/afpscope-1.2.3.tar.gz")
    return folder / "afpscope-1.2.3"


def test_it_has_the_files_of_the_tree_and_those_of_packages(tree: Path) -> None:
    listed = set(run(ROOT, ROOT / "tests/files.sh", "--tracked").split())
    there = {str(p.relative_to(tree)) for p in tree.rglob("*") if not p.is_dir()}
    assert there == listed | FILLED
    for name in FILLED:
        text = (tree / name).read_text()
        assert "1.2.3" in text and not re.search("@[A-Z]+@", text)


def test_two_make_the_same_bytes(tmp_path: Path) -> None:
    sums = set()
    for name in "ab":
        run(ROOT, ROOT / "packaging/dist.sh", "1.2.3", tmp_path / name, TZ=f"X{len(name)}")
        data = (tmp_path / name / "afpscope-1.2.3.tar.gz").read_bytes()
        sums.add(hashlib.sha256(data).hexdigest())
    assert len(sums) == 1


@pytest.mark.parametrize("patterns", PATTERNS, ids=" ".join)
def test_files_are_found_without_git_as_with_it(
    tree: Path, tmp_path: Path, patterns: list[str]
) -> None:
    for garbage in ("build/obj/x.c", "tests/__pycache__/y.c"):
        (tree / garbage).parent.mkdir(parents=True, exist_ok=True)
        (tree / garbage).touch()
    with_git = run(ROOT, ROOT / "tests/files.sh", "--tracked", *patterns).split()
    without = run(tree, "tests/files.sh", *patterns, PATH=no_git(tmp_path)).split()
    assert set(without) - FILLED == set(with_git) and with_git


def test_a_repository_around_the_tree_changes_nothing(tree: Path, tmp_path: Path) -> None:
    path = no_git(tmp_path)
    alone = run(tree, "tests/files.sh", PATH=path)
    run(tree.parent, "git", "init", "-q")
    assert run(tree, "tests/files.sh") == alone


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_repository_that_git_refuses_gives_no_tarball(tmp_path: Path) -> None:
    """As root in another user's clone: what nobody has committed would be in it, too."""
    tree = tmp_path / "clone"
    shutil.copytree(ROOT / "packaging", tree / "packaging")
    shutil.copytree(ROOT / "tests", tree / "tests", ignore=lambda *_: {"python", "golden"})
    run(tree, "git", "init", "-q")
    for path in (tree, tree / ".git"):
        os.chown(path, 1234, 1234)
    env = {key: value for key, value in os.environ.items() if not key.startswith("SUDO_")}
    done = subprocess.run(
        ["packaging/dist.sh", "1.2.3", tmp_path / "out"], cwd=tree, capture_output=True,
        env=env | {"GIT_CONFIG_GLOBAL": "/dev/null"}, text=True, check=False,
    )  # fmt: skip
    assert done.returncode and "safe.directory" in done.stderr, done.stderr
    assert not list((tmp_path / "out").glob("*.gz"))


def test_what_lints_the_tree_needs_no_git(tree: Path, tmp_path: Path) -> None:
    path = no_git(tmp_path)
    for program in ("arrows", "words"):
        run(tree, "python3", "-B", f"tests/{program}.py", PATH=path)
    assert "afpscope.c" not in run(tree, "make", "-n", "uninstall", PATH=path)


def test_packages_need_what_the_build_needs() -> None:
    """Debian's say so; what every build of a package has is not named."""
    need = (ROOT / "tests/need.sh").read_text()
    listed = re.search(r"^    build\)\n\s+list\+=\(([^)]*)\)", need, re.M)
    assert listed
    wanted = [name.strip("'").split("|") for name in listed[1].split()]
    control = (ROOT / "debian/control").read_text()
    field = re.search(r"^Build-Depends:\n((?: .*\n)*)", control, re.M)
    assert field
    given = set(re.findall(r"^ ([a-z0-9.+-]+)", field[1], re.M))
    missing = [names for names in wanted if not given & set(names)]
    assert missing == [["gcc"], ["libc6-dev"], ["make"]]
