# SPDX-License-Identifier: GPL-2.0-or-later
"""Directories of NFS servers, by libnfs, on a real nfs-ganesha: what is written there is there.

Tests client/store/nfs.c, nfs_ops.c, remote.c, place_url.c, user/drive/connect.c, session_look.c.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lacking
import pytest
from fakes import Far
from ganesha import Ganesha
from nfswire import on_the_wire
from parked import suites
from remotely import (
    clean_after_a_kill,
    compare_declarations,
    kill_a_load,
    refuse_a_small_disk,
    refuse_backups,
    refuse_what_does_not_fit,
    transfer,
    use_data,
    use_names,
)
from scope import NO_SESSION, OK, REFUSED, REPO, Done, Run, Scope
from test_store_verbs import (
    DENIED,
    EXISTS,
    INVALID,
    NONE,
    READ,
    Verbs,
    use_each_verb,
    use_lists,
)
from wire import captured, wait_captured

pytestmark = pytest.mark.usefixtures("with_libnfs")

USAGE = 2


def folder(option: str) -> Path:
    done = subprocess.run(
        [REPO / "tests/need.sh", option], stdout=subprocess.PIPE, text=True, check=False
    )
    return Path(done.stdout.strip())


@pytest.fixture(scope="session")
def libnfs5() -> Path:
    """The folder of a libnfs."""
    return folder("--libnfs")


@pytest.fixture(scope="session")
def libnfs4(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, and no other libnfs that is installed is found in it."""
    found = folder("--libnfs4")
    if not (found / "libnfs.so.13").exists():
        pytest.skip("this release has no libnfs13")
    only = tmp_path_factory.mktemp("libnfs4")
    (only / "libnfs.so.13").symlink_to(found / "libnfs.so.13")
    (only / "libnfs.so.14").write_text("no library")
    return only


@pytest.fixture(scope="module", params=suites("bookworm"))
def server(request: pytest.FixtureRequest) -> Iterator[Ganesha]:
    with Ganesha(request.param) as found:
        yield found


@pytest.fixture(autouse=True)
def _leaves_nothing(server: Ganesha) -> Iterator[None]:
    yield
    left = list(server.share1.iterdir())
    for path in left:  # one failure is not everybody's
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert not left, "the test left something"


@pytest.fixture(autouse=True)
def _environment(libnfs5: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(libnfs5))


def left_on(server: Ganesha) -> list[str]:
    return [p.name for p in server.share1.iterdir()]


def url(server: Ganesha, path: str = "", version: int = 3, more: str = "") -> str:
    """Of a directory in the export."""
    if version == 4:
        return f"nfs://127.0.0.1:{server.port}/share1{path}?version=4{more}"
    where = f"127.0.0.1:{server.port}{server.path1}{path}"
    return f"nfs://{where}?mountport={server.mount_port}{more}"


def opened(server: Ganesha, version: int, path: str = "", more: str = "") -> Verbs:
    found = Verbs(server.share1, 0, "local", url(server, path, version, more))
    found.lists = "nfs_opendir"
    return found


@pytest.fixture(params=["5-3", "5-4", "4-3"])
def verbs(
    request: pytest.FixtureRequest,
    _driver: None,
    server: Ganesha,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Verbs]:
    """By a version of libnfs, with one of NFS."""
    library, version = request.param.split("-")
    if library == "4":
        monkeypatch.setenv("LD_LIBRARY_PATH", str(request.getfixturevalue("libnfs4")))
    with opened(server, int(version)) as found:
        yield found


def run(scope: Scope, *args: str, status: int = OK, **options: Any) -> Done:
    return scope.execute([str(scope.binary), *args], save=True, **options).expect(status)


# ---- verbs ----


def use_modes(server: Ganesha, verbs: Verbs) -> None:
    verbs("create", "g")
    for mode in (0o751, 0o640):
        verbs("chmod", "g", how=mode)
        assert (server.share1 / "g").stat().st_mode & 0o7777 == mode
    verbs("delete", "g")
    verbs("delete", "", wants=DENIED)  # the store's own place


def use_links(server: Ganesha, verbs: Verbs) -> None:
    verbs("create", "f")
    d = verbs.number("mkdir", "d")
    verbs("link", "f", to_dir=d, to_name="other")
    assert (server.share1 / "f").stat().st_nlink == 2
    verbs("link", "f", to_dir=d, to_name="other", wants=EXISTS)
    verbs("symlink", "soft", to_name="d")
    assert (server.share1 / "soft").readlink() == Path("d")
    verbs("symlink", "soft", to_name="x", wants=EXISTS)
    verbs("lookup", "soft", wants=NONE)  # what it leads to is not entered
    verbs("delete", "soft")
    verbs("delete", "other", dir=d)
    for name in ("d", "f"):
        verbs("delete", name)


def test_names_are_those_on_disk(server: Ganesha, verbs: Verbs) -> None:
    use_names(verbs, server.share1)
    use_modes(server, verbs)


def test_links_are_those_on_disk(server: Ganesha, verbs: Verbs) -> None:
    use_links(server, verbs)


def test_data_are_those_on_disk(server: Ganesha, verbs: Verbs) -> None:
    use_data(verbs, server.share1, close_first=True)


def test_an_export_has_each_verb_or_says_why_not(verbs: Verbs) -> None:
    use_each_verb(verbs, lacking.NFS)


def test_lists_have_every_entry_once(verbs: Verbs) -> None:
    use_lists(verbs, 300)


def test_a_time_that_has_no_room_is_refused(_driver: None, server: Ganesha) -> None:
    with opened(server, 3) as verbs:
        verbs("create", "f")
        verbs("settime", "f", offset=2**32, wants=INVALID)
        verbs("delete", "f")


@pytest.mark.parametrize("version", [3, 4])
def test_a_path_and_a_user_may_be_given(_driver: None, server: Ganesha, version: int) -> None:
    disk = server.share1 / f"a b {version}"  # ganesha remembers what it has once seen
    disk.mkdir()
    disk.chmod(0o777)
    with opened(server, version, f"/a%20b%20{version}/", "&uid=5001&gid=5002") as verbs:
        verbs("create", "f")
        st = (disk / "f").stat()
        assert (st.st_uid, st.st_gid) == (5001, 5002)
        verbs("delete", "f")
        (disk / "g").write_text("root's")
        (disk / "g").chmod(0o600)
        verbs("open", "g", how=READ, wants=DENIED)
        verbs("delete", "g")
    disk.rmdir()


# ---- workloads ----


@pytest.mark.parametrize("version", [3, 4])
def test_a_load_has_no_errors_and_leaves_nothing(
    scope: Scope, server: Ganesha, version: int
) -> None:
    place = url(server, version=version)
    line = ("load", place, "--mix", "office", "-n", "20", "-d", "2", "--ramp", "0")
    line += ("--think", "0.1")
    done = run(scope, *line, "--files", "3")
    assert done.run and done.run.complete
    phase = done.run.saved["phases"][0]
    assert phase["metrics"]["errors"] == 0 and not done.run.warning("left")
    assert {c["name"]: c["ops"] for c in phase["commands"]}["nfs_pwrite"] > 0
    assert not left_on(server)


# What is asked for in a phase only, and by no other name than that of what it does.
ONLY_IN_PHASES = {
    3: {"CREATE", "WRITE", "READ", "RENAME", "COMMIT"},
    4: {"v4 ACCESS", "v4 OPEN_CONFIRM", "v4 WRITE", "v4 READ", "v4 RENAME", "v4 CLOSE"},
}


def answered(run: Run) -> Counter[str]:
    """What the server did in the phases, by request."""
    found: Counter[str] = Counter()
    for phase in run.saved["phases"]:
        found.update({a["name"]: a["requests"] for a in phase["ledger"]["requests"]})
    return found


@pytest.mark.parametrize("version", [3, 4])
def test_what_is_counted_is_what_the_server_got(
    scope: Scope, server: Ganesha, version: int
) -> None:
    """By the clients, two of them, and by the server's ledger that stands beside their figures."""
    loads = ["-l", "create,read,rename,delete", "--file-size", "8K", "--record", "4K"]
    with captured(server.port) as capture:
        place = url(server, version=version)
        done = run(scope, "smallfile", "-n", "2", "-f", "15", *loads, place)
        wait_captured(server.port, capture)
        got = on_the_wire(capture, (server.port,))["requests"]
    assert not left_on(server)
    assert done.run and done.run.complete and done.run.saved["kind"] == "nfs"
    assert not done.run.open_books() and not done.run.losses()
    ours: Counter[str] = Counter()
    for phase in done.run.saved["phases"]:
        ours.update({c["name"]: c["ops"] for c in phase["commands"]})
        assert phase["metrics"]["errors"] == 0 == phase["connections"]["others"]
    v = "v4 " if version == 4 else ""
    assert got[f"{v}WRITE"] == ours["nfs_pwrite"] == 60
    assert got[f"{v}READ"] == ours["nfs_pread"]
    assert got[f"{v}RENAME"] == ours["nfs_rename"] == 30
    assert ours["nfs_unlink"] == 30
    if version == 3:
        assert got["CREATE"] == ours["nfs_create"] == 30
        assert got["REMOVE"] == 30 + 3  # of a directory it is found out that it is one
    counted = answered(done.run)
    for name in ONLY_IN_PHASES[version]:
        assert counted[name] == got[name] > 0, name
    assert counted[f"{v}REMOVE"] == 30
    assert all(counted[name] <= got[name] for name in counted)


def test_a_server_behind_a_relay_is_watched(scope: Scope, server: Ganesha) -> None:
    with Far(server.port, 0) as relay:
        place = url(server).replace(f":{server.port}/", f":{relay.port}/")
        done = run(scope, "smallfile", "-f", "3", "-l", "create", place)
    assert done.run and done.run.saved["kind"] == "nfs"
    assert answered(done.run)["CREATE"] == 3


def test_transfers_are_verified(scope: Scope, server: Ganesha) -> None:
    transfer(scope, url(server, "/new"), server.share1)


def test_what_does_not_fit_is_refused(scope: Scope, server: Ganesha, tmp_path: Path) -> None:
    refuse_what_does_not_fit(scope, url(server), server.share1, tmp_path / "a.ini")


def test_a_small_disk_is_the_room_that_there_is(scope: Scope) -> None:
    with Ganesha("bookworm", NFS_DISK="12m") as used:
        place = f"nfs://127.0.0.1:{used.port}{used.path2}?mountport={used.mount_port}"
        refuse_a_small_disk(scope, place, Path(f"/proc/{used.pid}/root{used.path2}"))


def test_a_volume_of_time_machine_is_left_alone(scope: Scope, server: Ganesha) -> None:
    refuse_backups(scope, url(server), server.share1)


def test_a_killed_run_leaves_nothing(scope: Scope, server: Ganesha) -> None:
    kill_a_load(scope, url(server), server.share1)


def test_clean_removes_what_a_killed_run_left(scope: Scope, server: Ganesha) -> None:
    clean_after_a_kill(scope, url(server), server.share1, url(server, version=4))


def test_a_killed_server_is_an_error(scope: Scope) -> None:
    with Ganesha("bookworm") as other:
        line = ("load", url(other), "-n", "2", "-d", "2", "--ramp", "0", "--files", "2")
        line += ("--think", "0.02")
        done = run(scope, *line, "--at", f"0.5 kill -9 {other.pid}", status=6)
        assert "the connection is lost" in done.out + done.err


# ---- what is refused ----


def test_a_place_that_cannot_be_used_is_told_so(scope: Scope, server: Ganesha) -> None:
    none = f"nfs://127.0.0.1:{server.port}/none?version=4"
    run(scope, "load", none, status=NO_SESSION).expect(
        NO_SESSION, f"127.0.0.1:{server.port}/none", "NFS4ERR_NOENT"
    )
    (server.share1 / "f").touch()
    run(scope, "load", url(server, "/f"), status=NO_SESSION).expect(NO_SESSION, "share1/f")
    (server.share1 / "f").unlink()
    run(scope, "load", url(server, "/no/where"), status=NO_SESSION).expect(
        NO_SESSION, "share1/no", "Mount failed"
    )
    closed = f"nfs://127.0.0.1:1{server.path1}"
    clean = [str(scope.binary), "clean"]
    scope.execute([*clean, closed]).expect(REFUSED, "Connection refused", "?mountport=PORT")
    scope.execute([*clean, f"{closed}?version=4"]).expect(REFUSED, "Connection refused")


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("nfs://me@h/export", "it has no users"),
        ("nfs://h:0/export", "the port is not in 1..65535"),
        ("nfs://h/export?version=5", "'version=5' is none of its parameters"),
    ],
)
def test_a_wrong_place_is_refused_with_its_form(scope: Scope, place: str, why: str) -> None:
    done = scope.execute([str(scope.binary), "load", place]).expect(USAGE, why)
    assert "nfs://HOST[:PORT]/EXPORT[/PATH]" in done.err


@pytest.mark.parametrize("library_is", ["absent", "old", "wrong", "newer"])
def test_the_library_that_is_needed_is_named(
    scope: Scope, server: Ganesha, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library_is: str
) -> None:
    """One that is installed is not found in this folder: all that may be asked for is there."""
    source = "void *nfs_init_context(void);\nvoid *nfs_init_context(void) { return 0; }\n"
    for number in (13, 14):
        (tmp_path / f"libnfs.so.{number}").write_text("no library")
    made = tmp_path / f"libnfs.so.{16 if library_is == 'newer' else 14}"
    if library_is in ("old", "newer"):
        made.unlink(missing_ok=True)
        subprocess.run(
            ["gcc", "-shared", "-o", made, "-x", "c", "-"], input=source, text=True, check=True
        )
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    done = run(scope, "load", url(server), status=NO_SESSION)
    said = {"old": "libnfs.so.14 is too old", "newer": "the libnfs here is libnfs.so.16"}
    done.expect(NO_SESSION, "needs libnfs 4 or 5", "package libnfs13", said.get(library_is, ": "))


def test_libnfs_4_is_used_with_nfsv3_only(
    scope: Scope, server: Ganesha, libnfs4: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(libnfs4))
    done = run(scope, "load", url(server, version=4), status=NO_SESSION)
    done.expect(NO_SESSION, "version=4 needs libnfs 5", "package libnfs14")
    line = ("load", url(server), "-n", "3", "-d", "1", "--ramp", "0", "--files", "3")
    done = run(scope, *line)
    assert done.run and done.run.complete
    assert done.run.saved["phases"][0]["metrics"]["errors"] == 0


def test_our_declarations_are_those_of_the_library(libnfs5: Path, tmp_path: Path) -> None:
    if not (libnfs5 / "include").exists():
        pytest.skip("no headers of libnfs")
    pairs = {
        "nfs_stat": ("nfs_stat_64", {"dev": "nfs_dev", "mode": "nfs_mode", "size": "nfs_size"}),
        "nfs_statvfs": (
            "nfs_statvfs_64",
            {"frsize": "f_frsize", "blocks": "f_blocks", "bavail": "f_bavail"},
        ),
        "nfs_dirent": ("nfsdirent", {"name": "name", "type": "type"}),
    }
    # The order of arguments, which libnfs 6 changed, and all other types but pointers.
    calls = ("pread", "pwrite", "create", "open", "mkdir2", "mount", "lutimes", "lstat64")
    more = ["void compare(struct nfs_calls *c);", "void compare(struct nfs_calls *c)", "{"]
    more += [f"\tc->{name}_async = nfs_{name}_async;" for name in calls]
    headers = ['"store/nfs_priv.h"', "<nfsc/libnfs.h>"]
    compare_declarations(
        tmp_path / "compare.c", libnfs5, headers, pairs, ["nfs_dirent"], [*more, "}"]
    )
