# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands where their surroundings are broken or hostile: no standard streams, a full disk,
an early ^C, links and pipes of other people in the way."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from afpscope.saved.files import Folder, added, written
from conftest import Done, Shelf

NOBODY = 65534
Execute = Callable[..., Done]
ANALYSIS = Path(__file__).parents[2] / "analysis"


def program(*args: str | Path, closed: Sequence[int] = (), out: str | None = None,
            path: str = "") -> subprocess.CompletedProcess[str]:  # fmt: skip
    """python3 -m afpscope ARGS without some of its descriptors 0 to 2; `out`: its output."""

    def prepare() -> None:
        if out:
            os.dup2(os.open(out, os.O_WRONLY), 1)
        for each in closed:
            os.close(each)

    return subprocess.run(
        [sys.executable, "-B", "-m", "afpscope", *map(str, args)],
        env={"PYTHONPATH": f"{path}:{ANALYSIS}", "PATH": "/usr/bin:/bin", "HOME": "/dev/null"},
        stdin=0, capture_output=True, text=True, timeout=60, preexec_fn=prepare, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("closed", [[1], [0, 1, 2], [2], [0]], ids=str)
def test_closed_streams_are_no_traceback(shelf: Shelf, closed: list[int]) -> None:
    """What could not be printed is in the exit code; what is not the result is not."""
    done = program("info", shelf.put("a"), closed=closed)
    assert done.returncode == (1 if 1 in closed else 0), done.stderr
    assert "Traceback" not in done.stderr
    if closed == [1]:
        assert done.stderr == "afpscope: cannot write the result: Bad file descriptor\n"
    done = program("info", shelf.base / "none", closed=sorted({*closed, 2}))
    assert (done.returncode, done.stdout) == (2, ""), "a message is no result"


@pytest.mark.parametrize("args", [["info", "a"], ["info", "--help"], ["--help"]], ids=str)
def test_an_output_that_takes_nothing_is_said_once(shelf: Shelf, args: list[str]) -> None:
    line = [str(shelf.put("a")) if word == "a" else word for word in args]
    done = program(*line, out="/dev/full")
    assert done.returncode == 1
    assert done.stderr == "afpscope: cannot write the result: No space left on device\n"


def test_a_missing_home_is_not_worth_a_word(shelf: Shelf, tmp_path: Path) -> None:
    """What matplotlib logs then, in a module that is quicker than it."""
    text = "import logging\nlogging.getLogger('matplotlib').warning('mkdir -p failed')\n"
    (tmp_path / "matplotlib.py").write_text(text + "raise ImportError(name='told')\n")
    done = program("report", shelf.put("a", "load"), path=str(tmp_path))
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
    assert "the Python package told is missing" in done.stderr


@pytest.mark.parametrize("module", ["argparse", "jinja2"])
def test_an_early_interrupt_is_no_traceback(shelf: Shelf, tmp_path: Path, module: str) -> None:
    """^C while the modules are loaded: before main is reached, and after."""
    text = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)\n"
    (tmp_path / f"{module}.py").write_text(text)
    done = program("report", shelf.put("a"), "-o", tmp_path / "r.html", path=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


# Links and pipes. What is asserted of the strangers' is that of user/base/file.h, too.

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes links of other users")


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A folder of nobody's with links to places that are to stay as they are."""
    (tmp_path / "system").mkdir()
    (tmp_path / "system/file").write_text("old")
    folder = tmp_path / "theirs"
    folder.mkdir()
    for name, target in {
        "folder": "../system",
        "file": "../system/file",
        "new": "/etc/new",
    }.items():
        (folder / name).symlink_to(target)
        os.chown(folder / name, NOBODY, NOBODY, follow_symlinks=False)
    os.chown(folder, NOBODY, NOBODY)
    return folder


@as_root
@pytest.mark.parametrize(
    ("line", "name"),
    [
        (("gate", "--accept", "--counts"), "file"),
        (("gate", "--accept", "--counts"), "new"),
        (("gate", "--accept", "--counts"), "folder/new"),
    ],
)
def test_a_strangers_link_is_not_written_through(
    shelf: Shelf, execute: Execute, theirs: Path, line: tuple[str, ...], name: str
) -> None:
    done = execute(line[0], shelf.put("a"), *line[1:], theirs / name)
    assert done.code == 2
    assert f"{theirs / name}: {name.split('/')[0]} in it is a symbolic link of" in done.err
    system = theirs.parent / "system"
    assert [p.read_text() for p in system.iterdir()] == ["old"]
    assert not Path("/etc/new").exists()


@as_root
@pytest.mark.parametrize(
    "options", [("export", "--to", "csv", "-o"), ("report", "--figures")], ids=str
)
def test_no_folder_is_made_over_a_strangers_link(
    shelf: Shelf, execute: Execute, theirs: Path, options: tuple[str, ...]
) -> None:
    run = shelf.put("a")
    for name in ("folder", "folder/deep/er"):
        done = execute(options[0], run, *options[1:], theirs / name)
        assert done.code == 2 and "is a symbolic link of another user (user id 65534)" in done.err
    assert [p.name for p in (theirs.parent / "system").iterdir()] == ["file"]


@as_root
def test_nothing_is_measured_over_a_strangers_link(execute: Execute, theirs: Path) -> None:
    url = "afp://127.0.0.1:1/v"
    sides = ("--program", "/bin/true", "--a", url, "--b", url)
    for line in (("ab", *sides), ("sweep", "--program", "/bin/true", "--clients", "1,2", url)):
        for name in ("folder", "folder/deep"):
            more = ("--", "lantest") if line[0] == "ab" else ()
            done = execute(*line, "-o", theirs / name, *more)
            assert done.code == 2 and "is a symbolic link of another user" in done.err
    assert [p.name for p in (theirs.parent / "system").iterdir()] == ["file"]


@as_root
def test_a_log_goes_into_no_link_and_no_pipe(theirs: Path) -> None:
    os.mkfifo(theirs / "pipe")
    for name in ("file", "new", "pipe"):
        with pytest.raises(OSError), added(theirs / name):
            pass
    assert (theirs.parent / "system/file").read_text() == "old"
    for _ in range(2):
        with added(theirs / "log") as out:
            out.write(b"a")
    assert (theirs / "log").read_text() == "aa"


def test_ones_own_links_are_followed(shelf: Shelf, execute: Execute, tmp_path: Path) -> None:
    """The link stays; of what is in a folder that is written to, links are replaced."""
    real, run, tables = tmp_path / "real", shelf.put("a"), tmp_path / "tables"
    for folder in (real, tables):
        folder.mkdir()
    (tmp_path / "link").symlink_to(real)
    (tmp_path / "counts").symlink_to("link/../real/counts.json")
    (tables / "one").symlink_to(real / "not this")
    assert execute("gate", run, "--accept", "--counts", tmp_path / "counts").code == 0
    assert "afpscope counts" in (real / "counts.json").read_text()
    assert (tmp_path / "counts").is_symlink()
    with Folder(tmp_path / "link/../tables").written("one") as file:
        file.write(b"1")
    assert [p.name for p in real.iterdir()] == ["counts.json"]
    assert not (tables / "one").is_symlink() and (tables / "one").read_bytes() == b"1"
    done = execute("gate", run, "--accept", "--counts", "/dev/null")
    assert (done.code, Path("/dev/null").is_char_device()) == (0, True)
    assert "is a folder" in execute("gate", run, "--accept", "--counts", tmp_path).err


def test_an_open_file_that_was_named_is_added_to(tmp_path: Path) -> None:
    """As /dev/stdout is where the shell redirected it: report -o /dev/stdout >FILE."""
    file = tmp_path / "open"
    file.write_text("before\n")
    fd = os.open(file, os.O_RDONLY)
    with written(Path(f"/dev/fd/{fd}")) as out:
        out.write(b"after\n")
    os.close(fd)
    assert file.read_text() == "before\nafter\n"
    assert [p.name for p in tmp_path.iterdir()] == ["open"]


def test_a_name_may_be_as_long_as_a_name_may_be(tmp_path: Path) -> None:
    file = tmp_path / ("n" * 255)
    with written(file) as out:
        out.write(b"all of it")
        assert not file.exists()
    assert file.read_bytes() == b"all of it"
    assert [p.name for p in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize("what", ["fifo", "/dev/zero", "/dev/tty"])
def test_a_run_that_is_no_file_is_not_waited_for(shelf: Shelf, execute: Execute, what: str) -> None:
    file = shelf.put("odd") / "run.json"
    file.unlink()
    if what == "fifo":
        os.mkfifo(file)
    else:
        file.symlink_to(what)
    for name in (file, file.parent):
        done = execute("info", name)
        assert done.code == 1
        assert done.err == f"afpscope: info: {file} is not a regular file\n"
    assert execute("info", "nothing").code == 2, "not even while it is looked for"


@as_root
def test_missing_permission_is_called_so(shelf: Shelf, execute: Execute) -> None:
    """Not: there is no such run."""
    shelf.put("a")
    shelf.base.parent.chmod(0o755)
    shelf.base.chmod(0o700)
    for name in ("last", "a", str(shelf.base / "a")):
        os.seteuid(NOBODY)
        try:
            done = execute("info", name)
        finally:
            os.seteuid(0)
        assert done.code == 1
        assert "Permission denied" in done.err and str(shelf.base) in done.err
        assert "no run" not in done.err and "no last run" not in done.err
