# SPDX-License-Identifier: GPL-2.0-or-later
"""Directories of SMB shares, by libsmb2, on a real Samba: what is written there is there.

Tests client/store/smb.c, smb_ops.c, remote.c, place_url.c, user/drive/connect.c, session_look.c,
session_left.c.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lacking
import pytest
from faults import beside
from mpirun import ENVIRONMENT, FLAVOURS, mpirun, plugin
from netns import HIDDEN, cable, inside, space
from offline import analysis
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
from rights import held_by_clean, held_by_load
from samba import Samba
from scope import NO_SESSION, OK, REFUSED, REPO, Done, Scope, seen, wait_until
from smbwire import SmbWire
from test_store_verbs import (
    INVALID,
    NONE,
    UNKNOWN,
    Verbs,
    use_each_verb,
    use_lists,
)

USAGE = 2
BOOKS = "資料 📚"


@pytest.fixture(scope="session")
def library() -> Path:
    """The folder of libsmb2."""
    done = subprocess.run(
        [REPO / "tests/need.sh", "--libsmb2"], stdout=subprocess.PIPE, text=True, check=True
    )
    return Path(done.stdout.strip())


@pytest.fixture(scope="module", params=suites("bookworm"))
def server(request: pytest.FixtureRequest) -> Iterator[Samba]:
    more = "".join(f"[{name}]\npath = /tmp\nread only = no\n" for name in ("plain", BOOKS))
    with Samba(request.param, SMB_SHARE="vfs objects = streams_xattr", SMB_GLOBAL=more) as found:
        yield found


@pytest.fixture(autouse=True)
def _leaves_nothing(server: Samba) -> Iterator[None]:
    yield
    left = list(server.share1.iterdir())
    for path in left:  # one failure is not everybody's
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert not left, "the test left something"


@pytest.fixture(autouse=True)
def _environment(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library))
    monkeypatch.setenv("AFPSCOPE_PASSWORD", "secret1")


def left_on(server: Samba) -> list[str]:
    return [p.name for p in server.share1.iterdir()]


def url(server: Samba, path: str = "share1") -> str:
    return f"smb://bench1@127.0.0.1:{server.port}/{path}"


def accounts(phase: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What smbd did in it, by request."""
    return {a["name"]: a for a in phase["ledger"]["requests"]}


def answered(phase: dict[str, Any]) -> Counter[str]:
    return +Counter({name: a["requests"] for name, a in accounts(phase).items()})


# Operations of the store -> the messages that libsmb2 makes of one.
MESSAGES = {
    "smb2_open": "CREATE",
    "smb2_close": "CLOSE",
    "smb2_pread": "READ",
    "smb2_pwrite": "WRITE",
    "smb2_fsync": "FLUSH",
    "smb2_stat": "CREATE+QUERY_INFO",
    "smb2_mkdir": "CREATE+CLOSE",
    "smb2_rename": "CREATE+SET_INFO",
    "smb2_set_info(delete)": "CREATE+SET_INFO",
}


def sent(phase: dict[str, Any]) -> Counter[str]:
    """What the clients say that they have asked for."""
    found: Counter[str] = Counter()
    for command in phase["commands"]:
        found[MESSAGES[command["name"]]] += command["ops"]
    return +found


def opened(server: Samba, path: str = "share1") -> Verbs:
    found = Verbs(server.share1, 0, "local", url(server, path))
    found.lists = "smb2_opendir"
    return found


@pytest.fixture
def verbs(_driver: None, server: Samba) -> Iterator[Verbs]:
    with opened(server) as found:
        yield found


@pytest.fixture
def flavour(scope: Scope) -> str:
    missing = [plugin(scope, name) for name in FLAVOURS]
    if "" not in missing:
        pytest.skip(missing[0])
    return FLAVOURS[missing.index("")]


def run(scope: Scope, *args: str, status: int = OK, **options: Any) -> Done:
    return scope.execute([str(scope.binary), *args], save=True, **options).expect(status)


# ---- verbs ----


def test_names_are_those_on_disk(server: Samba, verbs: Verbs) -> None:
    use_names(verbs, server.share1)
    verbs("create", "g")
    verbs("settime", "g", offset=2**62, wants=INVALID)
    verbs("delete", "g")


def test_data_are_those_on_disk(server: Samba, verbs: Verbs) -> None:
    use_data(verbs, server.share1, close_first=False)


def test_attributes_are_named_streams(server: Samba, verbs: Verbs) -> None:
    verbs("create", "f")
    verbs("getxattr", "f", to_name="a", len=10, wants=NONE)
    verbs("setxattr", "f", to_name="a", data="hello")
    value = os.getxattr(server.share1 / "f", "user.DosStream.a:$DATA")
    assert value.rstrip(b"\0") == b"hello"
    for room in (10, 5):
        answer = verbs("getxattr", "f", to_name="a", len=room)
        assert (answer["done"], answer["value"]) == ("5", "hello")
    verbs("getxattr", "f", to_name="a", len=4, wants=INVALID)
    verbs("setxattr", "f", to_name="a", data="hi")
    assert verbs("getxattr", "f", to_name="a", len=10)["value"] == "hi"
    verbs("delete", "f")


def test_a_share_without_streams_has_no_attributes(_driver: None, server: Samba) -> None:
    with opened(server, "plain") as verbs:
        verbs("create", "f")
        verbs("setxattr", "f", to_name="a", data="hello", wants=UNKNOWN)
        verbs("getxattr", "f", to_name="a", len=9, wants=UNKNOWN)
        verbs("delete", "f")


def test_a_share_has_each_verb_or_says_why_not(verbs: Verbs) -> None:
    use_each_verb(verbs, lacking.SMB)


def test_lists_have_every_entry_once(verbs: Verbs) -> None:
    use_lists(verbs, 300)


def test_a_path_is_a_directory_of_the_share(_driver: None, server: Samba) -> None:
    (server.share1 / "a b").mkdir(mode=0o777)
    (server.share1 / "a b").chmod(0o777)
    with opened(server, "share1/a%20b/") as verbs:
        verbs("create", "f")
        assert (server.share1 / "a b" / "f").exists()
        verbs("delete", "f")
    (server.share1 / "a b").rmdir()


# ---- workloads ----


def test_a_share_may_have_any_name(scope: Scope, server: Samba) -> None:
    made = server.root / f"tmp/afpscope-{server.port}"
    place = url(server, f"{BOOKS.replace(' ', '%20')}/{made.name}")
    done = run(scope, "smallfile", "-f", "3", "-l", "create,delete", place)
    assert done.run and done.run.complete and done.run.saved["kind"] == "smb"
    assert answered(done.run.saved["phases"][0])["CREATE"] >= 3
    made.rmdir()  # nothing is in it


def test_a_load_has_no_errors_and_leaves_nothing(scope: Scope, server: Samba) -> None:
    line = ("load", url(server), "--mix", "office", "-n", "20", "-d", "2", "--ramp", "0")
    line += ("--think", "0.1")
    before = server.profiled()["count"]
    done = run(scope, *line, "--files", "3")
    assert done.run and done.run.complete
    phase = done.run.saved["phases"][0]
    assert phase["metrics"]["errors"] == 0 and not done.run.warning("left")
    assert not left_on(server)
    counted = server.profiled()["count"]
    counted.subtract(before)
    assert counted["TREE_CONNECT"] == 22  # the clients, the probe, the command itself
    assert counted["FLUSH"] >= {c["name"]: c["ops"] for c in phase["commands"]}["smb2_fsync"] > 0


def test_what_the_server_answered_is_what_the_clients_asked_for(
    scope: Scope, server: Samba
) -> None:
    """Its ledger stands beside the figures of the clients, who are a thread's, four of them."""
    line = ("smallfile", url(server), "-n", "4", "-f", "25", "--file-size", "9")
    line += ("-l", "create,append,stat,read,rename,delete")
    before = server.profiled()["count"]
    done = run(scope, *line)
    assert done.run and done.run.saved["kind"] == "smb"
    assert not done.run.open_books() and not done.run.losses()
    for phase in done.run.saved["phases"]:
        assert sent(phase) == answered(phase) != Counter(), phase["title"]
        assert phase["metrics"]["errors"] == 0 == phase["connections"]["others"]
        for account in accounts(phase).values():
            known = sum(account["times"].values()) + account.get("parked_ns", 0)
            assert known + account["unexplained_ns"] == account["service_ns"]
    counted = server.profiled()["count"]
    counted.subtract(before)
    assert counted["WRITE"] == sum(answered(p)["WRITE"] for p in done.run.saved["phases"])
    assert "CREATE+QUERY_INFO" in done.out and not done.run.warning("settle")


def test_a_server_that_is_elsewhere_is_said_to_be(scope: Scope) -> None:
    """As of AFP. One in another network namespace of this host is found, as of AFP."""
    with space("smb") as far, cable("", far) as (_, there), contextlib.ExitStack() as stack:
        with inside(far):
            listen = f"interfaces = {there}\nbind interfaces only = no"
            used = stack.enter_context(Samba("bookworm", SMB_GLOBAL=listen))
        place = url(used).replace("127.0.0.1", there)
        line = [str(scope.binary), "smallfile", "-f", "3", "-l", "create", place]
        done = scope.execute([*HIDDEN, *line], save=True).expect(OK)
        assert done.run and done.run.complete and done.run.saved["kind"] == "smb"
        assert "is not on this host" in done.run.saved["absent"]["*"]
        assert "is not on this host" in done.out
        done = scope.execute(line, save=True).expect(OK)
        assert done.run and sent(done.run.saved["phases"][0]) == answered(
            done.run.saved["phases"][0]
        )


def test_a_load_of_ranks_has_the_servers_ledger(scope: Scope, server: Samba, flavour: str) -> None:
    line = [str(scope.binary), "smallfile", "-n", "4", "-f", "10", "-l", "create,stat"]
    done = scope.start(mpirun(flavour, [*line, url(server)]), save=True, env=ENVIRONMENT).finish()
    done.expect(OK)
    assert done.run
    for phase in done.run.saved["phases"]:
        assert sent(phase) == answered(phase) != Counter(), phase["title"]
    wait_until(lambda: not left_on(server), 20, "the ranks' end")


def test_a_share_is_swept(scope: Scope, server: Samba, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("-d", "1", "--ramp=0", "--files=3", "--pause", "0", "--clients", "1,2", "--think=0.02")
    done = analysis("sweep", "--program", scope.binary, "-o", out, *words, url(server))
    assert done.returncode == OK, done.stderr
    made = json.loads((out / "sweep.json").read_text())
    assert made["complete"] and [s["exit"] for s in made["steps"][:2]] == [OK] * 2
    for step in made["steps"]:
        (phase,) = json.loads((out / step["folder"] / "run.json").read_text())["phases"]
        assert answered(phase)["CREATE"] and phase["metrics"]["errors"] == 0
    assert not left_on(server)


def test_transfers_are_verified(scope: Scope, server: Samba) -> None:
    transfer(scope, url(server, "share1/new"), server.share1)


def test_what_does_not_fit_is_refused(scope: Scope, server: Samba, tmp_path: Path) -> None:
    refuse_what_does_not_fit(scope, url(server), server.share1, tmp_path / "a.ini")


def test_a_small_disk_is_the_room_that_there_is(scope: Scope, server: Samba) -> None:
    small = server.share1 / "small"
    small.mkdir()
    line = ["mount", "-t", "tmpfs", "-o", "size=12m,mode=777", "afpscope", small]
    subprocess.run(line, check=True)
    try:
        refuse_a_small_disk(scope, url(server, "share1/small"), small)
    finally:
        subprocess.run(["umount", small], check=True)
        small.rmdir()


def test_a_volume_of_time_machine_is_left_alone(scope: Scope, server: Samba) -> None:
    refuse_backups(scope, url(server), server.share1)


# Of 16 MiB that the user may use, 10 MiB are used: "get quota command" of smb.conf.
QUOTA = """
#include <stdio.h>
int main(void) { return puts("2 10240 0 16384 0 0 0 1024") < 0; }
"""


def test_a_quota_is_the_room_that_there_is(scope: Scope, tmp_path: Path) -> None:
    """Samba asks a command in place of the kernel, which here knows of no quotas."""
    source, name = tmp_path / "quota.c", f"quota-{os.getpid()}"
    source.write_text(QUOTA)
    with Samba("bookworm", SMB_GLOBAL=f"get quota command = /{name}") as used:
        program = used.root / name
        subprocess.run(["cc", "-O", "-o", program, source], check=True)
        try:
            line = [str(scope.binary), "smallfile", "--file-size", "1M", "--no-save", url(used)]
            done = scope.execute([*line, "-f", "8", "-l", "create"])
        finally:
            program.unlink()
        done.expect(REFUSED, "the files of this run take 8.4 MB, and ", " has 6.3 MB free")
        assert not left_on(used)


def test_a_killed_run_leaves_nothing(scope: Scope, server: Samba) -> None:
    kill_a_load(scope, url(server), server.share1)


def test_clean_removes_what_a_killed_run_left(scope: Scope, server: Samba) -> None:
    clean_after_a_kill(scope, url(server), server.share1)


@contextlib.contextmanager
def kept_a_file(server: Samba, seconds: float) -> Iterator[None]:
    """Somebody else opens one of a load's files, and for so long nobody can delete it."""
    client = SmbWire(server.port)

    def keep(over: threading.Event) -> None:
        wait_until(lambda: bool(seen(server.share1, "*/*/*")), 60, "a file")
        path = next(server.share1.glob("*/*/*"))
        client.keep(str(path.relative_to(server.share1)).replace("/", "\\"))
        over.wait(seconds)
        client.drop()

    with beside(keep):
        yield


# Place: a file of a load that the server lets nobody delete for a while | it is removed later
def test_what_cannot_be_removed_at_once_is_removed_later(scope: Scope) -> None:
    """As of a session that was lost: until the server has ended that, its files are open."""
    with Samba("bookworm", SMB_SHARE="guest ok = yes") as used:
        line = ("load", url(used), "--mix", "browse", "-n", "2", "-d", "1", "--ramp", "0")
        line += ("--files", "3", "--no-probe", "--think", "0.02")
        for seconds in (5, 15, 45):  # a slow machine has not come to the removal before
            with kept_a_file(used, seconds):
                done = run(scope, *line)
            assert not left_on(used)
            if done.err.startswith("afpscope: a new session has removed "):
                break
        else:
            pytest.fail(f"the file was never in the way: {done}")
        assert done.run and not done.run.warning("left")


def test_what_cannot_be_removed_is_said_with_the_reason(scope: Scope) -> None:
    with Samba("bookworm", SMB_SHARE="guest ok = yes") as used:
        line = ("load", url(used), "--mix", "browse", "-n", "2", "-d", "1", "--ramp", "0")
        with kept_a_file(used, 300):
            done = run(scope, *line, "--files", "3", "--no-probe", "--think", "0.02")
        said = " ".join(done.err.split())
        assert "holds only test data (" in said and "afpscope clean" in said
        assert "Text file busy" in said, said
        assert done.run and "Text file busy" in done.run.warning("left")


def test_a_killed_session_is_an_error(scope: Scope, server: Samba) -> None:
    line = ("load", url(server), "-n", "2", "-d", "60", "--ramp", "0", "--files", "2")
    line += ("--think", "0.02")
    end = f'for p in $(pgrep -P {server.pid}); do ss -tnp | grep -q "pid=$p," && kill -9 $p; done'
    done = run(scope, *line, "--at", "0.5", end, status=6)
    assert "the connection is lost" in done.out + done.err
    wait_until(lambda: not left_on(server) or clean(scope, server), 20, "nothing left")


def clean(scope: Scope, server: Samba) -> bool:
    scope.execute([str(scope.binary), "clean", url(server)])
    return not left_on(server)


# ---- what is refused ----


def test_who_cannot_log_in_is_told_so(
    scope: Scope, server: Samba, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = server.port
    none = f"smb://bench1@127.0.0.1:{port}/none"
    run(scope, "load", none, status=NO_SESSION).expect(NO_SESSION, f"127.0.0.1:{port}/none")
    (server.share1 / "f").touch()
    run(scope, "load", url(server, "share1/f"), status=NO_SESSION).expect(
        NO_SESSION, "cannot open directory", "share1/f", "Not a directory"
    )
    (server.share1 / "f").unlink()
    run(scope, "load", url(server, "share1/no/where"), status=NO_SESSION).expect(
        NO_SESSION, "cannot make directory", "share1/no/where", "No such file"
    )
    monkeypatch.setenv("AFPSCOPE_PASSWORD", "wrong")
    run(scope, "load", url(server), status=NO_SESSION).expect(NO_SESSION, "LOGON_FAILURE")
    scope.execute([str(scope.binary), "clean", url(server)]).expect(REFUSED, "LOGON_FAILURE")


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("smb://bench1:pw@h/share", "AFPSCOPE_PASSWORD"),
        ("smb://bench1@h", "there is no share"),
        ("smb://bench1@h:0/share", "the port is not in 1..65535"),
        ("smb://bench1@h/share/%0g", "two hex digits"),
    ],
)
def test_a_wrong_place_is_refused_with_its_form(scope: Scope, place: str, why: str) -> None:
    done = scope.execute([str(scope.binary), "load", place]).expect(USAGE, why)
    assert "smb://USER@HOST[:PORT]/SHARE[/PATH]" in done.err


def test_clean_gives_its_rights_up_before_a_server_answers(scope: Scope) -> None:
    assert not held_by_clean(scope, "smb://ann@127.0.0.1:{}/share")


def test_a_load_gives_its_rights_up(scope: Scope, server: Samba) -> None:
    assert held_by_load(scope, url(server), server.share1) == ([], [])


@pytest.mark.parametrize("library_is", ["absent", "old", "wrong"])
def test_the_library_that_is_needed_is_named(
    scope: Scope, server: Samba, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library_is: str
) -> None:
    made = tmp_path / "libsmb2.so.6"
    if library_is == "old":
        source = "void *smb2_init_context(void);\nvoid *smb2_init_context(void) { return 0; }\n"
        subprocess.run(
            ["gcc", "-shared", "-o", made, "-x", "c", "-"], input=source, text=True, check=True
        )
    elif library_is == "wrong":
        made.write_text("no library")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    done = run(scope, "load", url(server), status=NO_SESSION)
    done.expect(NO_SESSION, "needs libsmb2", "package libsmb2-6", "Debian 13")


def test_our_declarations_are_those_of_the_library(library: Path, tmp_path: Path) -> None:
    if not (library / "include").exists():
        pytest.skip("no headers of libsmb2")
    pairs = {
        "smb_stat": ("smb2_stat_64", {"type": "smb2_type", "size": "smb2_size"}),
        "smb_statvfs": ("smb2_statvfs", {"frsize": "f_frsize", "bavail": "f_bavail"}),
        "smb_dirent": ("smb2dirent", {"name": "name", "st": "st"}),
        "smb_create": (
            "smb2_create_request",
            {
                "impersonation_level": "impersonation_level",
                "desired_access": "desired_access",
                "share_access": "share_access",
                "disposition": "create_disposition",
                "options": "create_options",
                "name": "name",
            },
        ),
        "smb_create_reply": ("smb2_create_reply", {"file_id": "file_id"}),
        "smb_close": ("smb2_close_request", {"file_id": "file_id"}),
        "smb_set_info": (
            "smb2_set_info_request",
            {
                "type": "info_type",
                "class": "file_info_class",
                "file_id": "file_id",
                "data": "input_data",
            },
        ),
        "smb_basic": ("smb2_file_basic_info", {"written": "last_write_time"}),
    }
    headers = ['"store/smb_priv.h"', "<time.h>", "<smb2/smb2.h>", "<smb2/libsmb2.h>"]
    not_made = ["smb_create_reply", "smb_dirent"]
    compare_declarations(tmp_path / "compare.c", library, headers, pairs, not_made)
