# SPDX-License-Identifier: GPL-2.0-or-later
"""Removing directories removes nothing else, whatever is done to them meanwhile, and works with all
names.

Tests user/main/clean.c, client/work/tree.c, client/store/file_store.c, user/host/rights.c.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import threading
from pathlib import Path

import pytest
from netatalk import Server
from rights import held_by_load, rights, rights_in
from scope import NOBODY, OK, REFUSED, Scope, wait_until

OURS = "LanTest-00000000-1-000000"
EXCHANGE = 2
SWAPS = 10_000  # that are done
DIRECTORIES = 100
# No UTF-8, half of it, bytes that terminals take as orders, what Macs write otherwise.
ODD = (
    b"bad\xff\xfename",
    b"\xe3\x81",
    b"\xf0\x9f" * 120,
    b"a\nb\tc\x1b[2J",
    b":slash:",
    b"e\xcc\x81",
    b"LanTest-\xff",
    b"LanTest-00000000-1-00000\xff",
)


@pytest.mark.parametrize("kind", ["dbd", "old"])
def test_any_names_may_be_in_the_root(
    scope: Scope, kind: str, request: pytest.FixtureRequest
) -> None:
    """Whose length AFP's older lists cannot hold, or whose bytes are no text."""
    server: Server = request.getfixturevalue(kind)
    names = ["あ" * 80, "x" * 255, "ü" * 120, "short", *map(os.fsdecode, ODD)]
    made = [server.vol1 / name for name in names]
    for path in (*made, server.vol1 / OURS):
        path.mkdir()
        path.chmod(0o777)
    try:
        done = scope.execute(scope.command(server, "--all", tool="clean")).expect(OK)
        assert f"{OURS}: removed\nlooked at " in done.out
        assert all(path.is_dir() for path in made)
    finally:
        for path in made:
            path.rmdir()


def test_a_root_with_more_entries_than_16_bits_count_is_looked_at_to_its_end(
    scope: Scope, tmp_path: Path
) -> None:
    many = 70_000
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for i in range(many):
            os.mknod(f"{i}", dir_fd=folder)
        (tmp_path / OURS).mkdir()
        done = scope.execute([str(scope.binary), "clean", "--all", str(tmp_path)]).expect(OK)
        assert done.out == f"{OURS}: removed\nlooked at {many + 1} names\n"
    finally:
        for i in range(many):
            os.unlink(f"{i}", dir_fd=folder)
        os.close(folder)


class Swapper(threading.Thread):
    """Exchanges each of some names and a link at once, again and again; counts how often."""

    def __init__(self, folder: Path, names: list[str], other: str, target: Path) -> None:
        super().__init__()
        self.n = 0
        self.ended = threading.Event()
        self._names = [name.encode() for name in names]
        self._other = other.encode()
        self._target = os.fsencode(target)
        self._fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)

    def run(self) -> None:
        exchange = ctypes.CDLL(None, use_errno=True).renameat2
        while not self.ended.is_set():
            for name in self._names:
                done = not exchange(self._fd, name, self._fd, self._other, EXCHANGE)
                self.n += done
                with contextlib.suppress(OSError):
                    if not done:  # the link was removed
                        os.symlink(self._target, self._other, dir_fd=self._fd)
        os.close(self._fd)


def make_tree(base: Path, outside: Path) -> list[str]:
    names = [f"d{i}" for i in range(DIRECTORIES)]
    for name in names:
        (base / name / "deep").mkdir(parents=True)
        (base / name / "deep" / "f").touch()
    (base / "link").symlink_to(outside)
    return names


@pytest.mark.limit(120)
def test_a_link_in_place_of_a_directory_is_not_followed(scope: Scope, tmp_path: Path) -> None:
    """While they are removed a process swaps directories for links, 10,000 times."""
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    for i in range(20):
        (outside / f"f{i}").touch()
        (outside / "deep" / f"f{i}").touch()
    place = tmp_path / "place"
    clean = [str(scope.binary), "clean", "--all", str(place)]
    swaps = 0
    while swaps < SWAPS:
        names = make_tree(place / OURS, outside)
        swapper = Swapper(place / OURS, names, "link", outside)
        swapper.start()
        subprocess.run(clean, capture_output=True, check=False, timeout=30)
        swapper.ended.set()
        swapper.join()
        swaps += swapper.n
        subprocess.run(["rm", "-rf", str(place)], check=True)
        assert len(list(outside.rglob("f*"))) == 40


def test_what_is_mounted_in_it_is_kept(scope: Scope, tmp_path: Path) -> None:
    """Also from the same file system."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "precious").touch()
    mounted = tmp_path / "place" / OURS / "mnt"
    mounted.mkdir(parents=True)
    subprocess.run(["mount", "--bind", str(tmp_path / "other"), str(mounted)], check=True)
    try:
        clean = [str(scope.binary), "clean", "--all", str(tmp_path / "place")]
        scope.execute(clean).expect(REFUSED, OURS, "busy")
        assert (tmp_path / "other" / "precious").exists()
    finally:
        subprocess.run(["umount", str(mounted)], check=True)
    scope.execute(clean).expect(OK)
    assert not list((tmp_path / "place").iterdir())


def test_a_tree_deeper_than_the_usual_open_files_is_removed(scope: Scope, tmp_path: Path) -> None:
    """Each level takes an open file."""
    at = os.open(tmp_path, os.O_PATH)
    for name in [OURS, *["d"] * 1500]:
        os.mkdir(name, dir_fd=at)
        below = os.open(name, os.O_PATH, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    clean = f"ulimit -Sn 1024; exec {scope.binary} clean --all {tmp_path}"
    try:
        scope.execute(["bash", "-c", clean]).expect(OK)
        assert not list(tmp_path.iterdir())
    finally:
        subprocess.run(["rm", "-rf", str(tmp_path / OURS)], check=True)


@pytest.fixture
def theirs(public: Path, tmp_path: Path) -> Path:
    """A directory of another user; the program is run by root."""
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == 0 and parent != Path("/tmp") and str(parent).startswith("/tmp"):
            parent.chmod(0o755)
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    return folder


@pytest.mark.parametrize("tool", ["load", "smallfile", "speedtest"])
def test_root_works_as_the_owner_of_the_directory(
    scope: Scope, theirs: Path, tmp_path: Path, tool: str
) -> None:
    args = {
        "load": ["-n", "2", "-d", "600"],
        "smallfile": ["-n", "2", "-l", "create,stat", "-d", "600"],
        "speedtest": ["-f", "Write", "-n", "100000", "-D"],
    }[tool]
    running = scope.start([str(scope.binary), tool, *args, str(theirs)], save=True)
    wait_until(lambda: bool(list(theirs.glob("LanTest-*/*"))), 60, "its files")
    owners = {p.stat().st_uid for p in theirs.glob("LanTest-*")}
    running.signal(2)
    done = running.finish(60)
    assert owners == {NOBODY}
    assert done.run, "the run is root's, and saved"
    assert not list(theirs.iterdir())


def test_the_owner_of_a_directory_cannot_have_roots_files_removed(
    scope: Scope, theirs: Path
) -> None:
    """By another name for a directory that only root can empty."""
    important = theirs / "important"
    important.mkdir()
    (important / "file").write_text("root's")
    important.rename(theirs / OURS)
    clean = [str(scope.binary), "clean", "--all", str(theirs)]
    scope.execute(clean).expect(REFUSED, OURS, "Permission denied")
    assert (theirs / OURS / "file").read_text() == "root's"


@pytest.mark.parametrize("where", ["of another user", "of root", "on a server"])
def test_between_is_run_with_roots_rights(
    scope: Scope, guests: Server, theirs: Path, tmp_path: Path, where: str
) -> None:
    """It drops caches."""
    (tmp_path / "own").mkdir()
    place = {"of another user": [str(theirs)], "of root": [str(tmp_path / "own")]}.get(where, [])
    mark = tmp_path / "status"
    work = (
        "-n",
        "1",
        "-f",
        "5",
        "-l",
        "create,stat",
        "--between",
        f"cat /proc/self/status > {mark}",
    )
    scope.execute(
        scope.command(None if place else guests, *work, "--no-save", *place, tool="smallfile")
    ).expect(OK)
    assert rights_in(mark.read_text()) == rights("self")


def test_a_load_on_roots_directory_gives_its_rights_up(scope: Scope, tmp_path: Path) -> None:
    """Not its warden: the directory could be another user's by then."""
    (tmp_path / "own").mkdir()
    held, _ = held_by_load(scope, str(tmp_path / "own"), tmp_path / "own")
    assert not held
