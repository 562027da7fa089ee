# SPDX-License-Identifier: GPL-2.0-or-later
"""Directories of GlusterFS volumes, by libgfapi, on a real server: what is written there is there.

Tests client/store/gfapi.c, gfapi_lib.c, file_store.c, blocking.c.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lacking
import pytest
from gluster import VOLUMES, Gluster
from rights import held_by_load
from scheduling import in_check
from scope import NO_SESSION, OK, REFUSED, REPO, Done, Scope, wait_until
from stopped import says_it_was_stopped
from test_store_verbs import (
    EXISTS,
    FULL,
    INVALID,
    LOCKED,
    NONE,
    READ,
    SHORT,
    UNKNOWN,
    WRITE,
    Verbs,
    use_all,
    use_attributes,
    use_each_verb,
    use_lists,
)
from wardens import kill_with_warden

pytestmark = [
    pytest.mark.skipif(
        not shutil.which("glusterd"), reason="no GlusterFS: tests/need.sh gluster installs it"
    ),
    pytest.mark.usefixtures("with_libgfapi"),
]
NO_CACHES = "--attribute-timeout=0 --entry-timeout=0 --xlator-option=*md-cache.md-cache-timeout=0"
MIB = 1 << 20
TEXT = "".join(f"line-{i}." for i in range(300))


@pytest.fixture(scope="module")
def server() -> Iterator[Gluster]:
    """Each volume is mounted, too, so that the tests see what others see."""
    mount = " ".join(VOLUMES)
    with Gluster(
        GLUSTER_MOUNT=mount, GLUSTER_MOUNT_OPTIONS=NO_CACHES, GLUSTER_SMALL="16M"
    ) as found:
        yield found


@pytest.fixture(params=VOLUMES)
def volume(request: pytest.FixtureRequest, server: Gluster) -> Iterator[str]:
    yield request.param
    assert not left_on(server, request.param), "the test left something"


def left_on(server: Gluster, volume: str) -> list[str]:
    """Names in the root of all bricks, and of what others see."""
    bricks = range(VOLUMES.get(volume, 1))
    folders = [*(server.brick(volume, i) for i in bricks), server.mnt / volume]
    return [
        p.name for f in folders if f.exists() for p in f.iterdir() if not p.name.startswith(".")
    ]


def opened(server: Gluster, volume: str, path: str = "") -> Verbs:
    found = Verbs(server.mnt / volume / path, 0, "local", server.url(volume, path))
    found.lists = "glfs_readdir"
    return found


@pytest.fixture
def verbs(_driver: None, server: Gluster, volume: str) -> Iterator[Verbs]:
    with opened(server, volume) as found:
        yield found


def run(scope: Scope, *args: str, status: int = OK, **options: Any) -> Done:
    return scope.execute([str(scope.binary), *args], save=True, **options).expect(status)


# ---- verbs ----


def test_a_volume_has_each_verb_or_says_why_not(verbs: Verbs) -> None:
    use_each_verb(verbs, lacking.GLUSTER)


def test_each_verb_does_on_the_volume_what_it_says(verbs: Verbs) -> None:
    use_all(verbs)
    use_attributes(verbs)


def test_lists_have_the_entries_of_all_bricks_once(_driver: None, server: Gluster) -> None:
    with opened(server, "dist") as verbs:
        use_lists(verbs, 300)  # one list of 8192 bytes has fewer
    assert not left_on(server, "dist")


def test_what_was_written_is_on_the_bricks(server: Gluster, volume: str, verbs: Verbs) -> None:
    d = verbs.number("mkdir", "d")
    verbs("create", "f", dir=d)
    verbs("create", "f", dir=d, wants=EXISTS)
    f = verbs.number("open", "f", dir=d, how=READ | WRITE)
    for offset in (len(TEXT), 0):  # none of them a multiple of a block
        assert verbs("write", file=f, offset=offset, data=TEXT)["done"] == str(len(TEXT))
    assert verbs("length", file=f)["done"] == str(2 * len(TEXT))
    answer = verbs("read", file=f, offset=len(TEXT) - 3, len=6)
    assert answer["value"] == TEXT[-3:] + TEXT[:3]
    answer = verbs("read", file=f, offset=2 * len(TEXT) - 4, len=100, wants=SHORT)
    assert (answer["done"], answer["code"]) == ("4", "0")
    verbs("setlen", file=f, len=2 * len(TEXT) - 1)
    verbs("flush", file=f)
    verbs("close", file=f)
    copies = [p for i in range(VOLUMES[volume]) if (p := server.brick(volume, i) / "d/f").exists()]
    assert len(copies) == (3 if volume == "rep" else 1)
    for copy in copies:
        assert copy.read_text() == (TEXT + TEXT)[:-1]
    verbs("copy", "f", dir=d, to_dir=d, to_name="g", wants=UNKNOWN)
    assert int(verbs("room")["done"]) > MIB
    verbs("delete", "f", dir=d)
    verbs("delete", "d")
    verbs("lookup", "d", wants=NONE)


def test_a_lock_conflicts_in_this_process_and_in_others(server: Gluster, verbs: Verbs) -> None:
    verbs("create", "f")
    f, g = (verbs.number("open", "f", how=READ | WRITE) for _ in range(2))
    verbs("lock", file=f, offset=10, len=10)
    verbs("lock", file=g, offset=19, len=1, wants=LOCKED)
    verbs("lock", file=g, offset=20, len=1)
    verbs("lock", file=f, offset=0, len=0, wants=INVALID)
    with opened(server, verbs.disk.name) as other:
        h = other.number("open", "f", how=READ | WRITE)
        other("lock", file=h, offset=10, len=1, wants=LOCKED)
        verbs("unlock", file=f, offset=10, len=10)
        other("lock", file=h, offset=10, len=1)
        other("close", file=h)
    for file in (f, g):
        verbs("close", file=file)
    verbs("delete", "f")


def test_a_path_is_a_directory_of_the_volume(_driver: None, server: Gluster) -> None:
    """It is made if it is not there, as a directory of this machine is."""
    with opened(server, "one") as root:
        d = root.number("mkdir", "some")
        root("mkdir", "place", dir=d)
        with opened(server, "one", "some/place/") as verbs:
            use_all(verbs)
        root("delete", "place", dir=d)
        root("delete", "some")
    assert not left_on(server, "one")


def test_a_full_brick_is_told_as_full(_driver: None, server: Gluster) -> None:
    """The client's write-behind answers a write early: FLUSH, or CLOSE, then has the error."""
    filler = server.brick("small").parent / "filler"
    with opened(server, "small") as verbs:
        room = int(verbs("room")["done"])
        assert MIB < room <= 16 * MIB
        for last in ("flush", "close"):
            verbs("create", last)
            f = verbs.number("open", last, how=READ | WRITE)
            with contextlib.suppress(OSError), filler.open("wb", 0) as full:
                while full.write(bytes(4096)):
                    pass
            verbs("write", file=f, offset=0, data=TEXT)
            verbs(last, file=f, wants=FULL)
            filler.unlink()
            verbs("delete", last)
    assert not left_on(server, "small")


# ---- workloads ----


def test_every_mix_of_calls_on_every_kind_of_volume(scope: Scope, server: Gluster) -> None:
    """No error, and all files gone afterwards; replicas have nothing left to agree on."""
    dirty = server.brick("rep") / ".glusterfs/indices/dirty"

    def unsettled() -> set[str]:
        return {p.name for p in dirty.iterdir() if not p.name.startswith("dirty-")}

    def load(volume: str) -> Done:
        line = ("load", server.url(volume), "--mix", "office", "--clients", "4")
        return run(scope, *line, "--duration", "1", "--think", "0.02")

    before = unsettled()
    with ThreadPoolExecutor() as pool:
        for volume, done in zip(VOLUMES, pool.map(load, VOLUMES), strict=True):
            assert done.run and done.run.complete
            phase = done.run.saved["phases"][0]
            assert phase["metrics"]["errors"] == 0, volume
            counted = {c["name"]: c["ops"] for c in phase["commands"]}
            assert counted["glfs_rename"] == 2 * counted["glfs_fsync"] > 0
            assert not done.run.warning("left")
            assert not left_on(server, volume)
    if not unsettled() <= before:  # a starved client is closed before its replicas have agreed
        before = unsettled()
        load("rep")
    wait_until(lambda: unsettled() <= before, 10, "replicas that have nothing to agree on")


def test_transfers_are_verified(scope: Scope, server: Gluster, volume: str) -> None:
    """Direct, and by the caches of the client; of no whole number of blocks."""
    for more in ([], ["-D"]):
        line = ["speedtest", server.url(volume), "-f", "Write,Read,Copy", "-z", "0.004,2.3", *more]
        done = run(scope, *line, "-n", "2", "-W", "0", "--verify")
        assert done.run and done.run.complete and len(done.run.phases) == 6
        assert not done.run.warning("left")
        assert done.run.saved["options"]["direct"] == ("no" if more else "yes")


def test_clients_of_a_process_share_its_connections(
    scope: Scope, server: Gluster, tmp_path: Path
) -> None:
    """One to glusterd and one to the brick, however many clients there are."""
    seen = tmp_path / "seen"
    line = ("load", server.url("one"), "-n", "20", "-d", "1", "--ramp", "0", "--files", "2")
    line += ("--think", "0.1")
    run(scope, *line, "--at", "0.5", f"ss -tnpH state established dst {server.host} > {seen}")
    ours = [line for line in seen.read_text().splitlines() if '"afpscope"' in line]
    assert len(ours) == 2, seen.read_text()


@pytest.mark.parametrize("clients", in_check([1, 4], [4]))
def test_a_generator_that_was_stopped_says_so(scope: Scope, server: Gluster, clients: int) -> None:
    """Nearly always in a call, which it cannot tell from a slow one by itself."""
    line = ["smallfile", "-n", str(clients), "-f", "130", "-l", "create,stat", "-d", "4"]
    line += ["--watch=off", server.url("one")]
    says_it_was_stopped(scope, [str(scope.binary), *line], "stat")


def test_clean_removes_what_a_killed_run_left_and_nothing_else(
    scope: Scope, server: Gluster, volume: str
) -> None:
    mount = server.mnt / volume
    kept = mount / "LanTest-mine" / "file"
    kept.parent.mkdir()
    kept.write_text("mine")
    url = server.url(volume, "")
    running = scope.start(
        [str(scope.binary), "smallfile", "-f", "30", "-l", "create,stat", "-d", "600", url]
    )
    wait_until(lambda: len(list(mount.glob("*/*/f.*"))) == 30, 60, "the files")
    clean = [str(scope.binary), "clean", url]
    assert "its run is still alive" in scope.execute(clean).expect(OK).out
    kill_with_warden(running)
    (left,) = {p.name for p in mount.iterdir()} - {"LanTest-mine"}
    (mount / left / "link").symlink_to(kept.parent)
    dry = scope.execute([*clean, "--dry-run"]).expect(OK)
    assert dry.out == f"{left}: would be removed\nlooked at 2 names\n"
    assert scope.execute(clean).expect(OK).out == f"{left}: removed\nlooked at 2 names\n"
    (mount / left).symlink_to(kept.parent)
    assert scope.execute(clean).expect(OK).out == "nothing to remove: looked at 2 names\n"
    (mount / left).unlink()
    assert scope.execute(clean).expect(OK).out == "nothing to remove: looked at 1 name\n"
    assert kept.read_text() == "mine"
    scope.execute([*clean[:2], server.url(volume, "no")]).expect(REFUSED, "cannot open directory")
    shutil.rmtree(kept.parent)


def test_a_killed_brick_is_an_error(scope: Scope, server: Gluster) -> None:
    url = server.url("small")
    kill = f"kill -9 {server.brick_pid('small')}"
    try:
        line = ("load", url, "-m", "office", "-n", "4", "--files", "4", "-d", "1", "--ramp", "0")
        line += ("--think", "0.02")
        done = run(scope, *line, "--at", "0.5", kill, status=REFUSED)
        assert done.run
        assert done.run.saved["phases"][0]["metrics"]["errors"] > 0
        assert "Transport endpoint is" in done.out  # not connected
        assert "could not be removed" in done.err
        done = run(scope, "load", url, status=NO_SESSION)
        done.expect(NO_SESSION, "cannot use volume small", server.host, "is the volume started?")
    finally:
        server.cli("volume", "start", "small", "force")


# ---- what is refused ----


@pytest.mark.parametrize(
    ("where", "texts"),
    [
        ("nothing", ["has no volume nothing", "gluster volume list"]),
        ("one/f", ["cannot open directory", "one/f", "Not a directory"]),
        ("one/no/where", ["cannot make directory", "one/no/where", "No such file"]),
    ],
)
def test_a_place_that_is_none(scope: Scope, server: Gluster, where: str, texts: list[str]) -> None:
    (server.mnt / "one" / "f").touch()
    run(scope, "load", server.url(where), status=NO_SESSION).expect(NO_SESSION, *texts)
    (server.mnt / "one" / "f").unlink()


def test_what_libgfapi_logs_is_kept_where_it_is_wanted(
    scope: Scope, server: Gluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    monkeypatch.setenv("AFPSCOPE_GFAPI_LOG", str(log))
    run(scope, "load", server.url("nothing"), status=NO_SESSION)
    assert "nothing" in log.read_text()


@pytest.mark.skipif(
    not Path("/usr/include/glusterfs/api/glfs.h").exists(), reason="no headers of libgfapi"
)
def test_our_declarations_are_those_of_the_library(tmp_path: Path) -> None:
    """Its headers are not needed to build: the compiler compares them here."""
    source = tmp_path / "compare.c"
    source.write_text(
        '#include "store/gfapi_priv.h"\n#include <glusterfs/api/glfs.h>\n'
        "#define X(name, version, result, args) result(*our_##name) args = glfs_##name;\n"
        "GFAPI_CALLS(X)\n"
    )
    folders = [f"-I{REPO / name}" for name in ("client", "user", ".")]
    line = ["gcc", "-fsyntax-only", "-Wall", "-Werror", "-Wno-deprecated-declarations", *folders]
    done = subprocess.run([*line, source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_load_gives_its_rights_up(scope: Scope, server: Gluster) -> None:
    """Also the threads of libgfapi."""
    assert held_by_load(scope, server.url("one"), server.mnt / "one") == ([], [])
