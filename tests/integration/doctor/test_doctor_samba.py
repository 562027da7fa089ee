# SPDX-License-Identifier: GPL-2.0-or-later
"""doctor of Samba: servers that work, and servers with faults.

Tests user/doctor/figures/smb.c, user/doctor/rules/rules_smb.c, user/kinds/smb_settings.c, and that
doctor takes the kind of a server by itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from disturbed import Disturbed, undisturbed
from faults import repeated, send, shares
from samba import Samba
from scope import FINDINGS, Scope, wait_until
from smbwire import BATCH, SmbWire
from test_doctor_cases import first_is, nothing_is_found, say

SECONDS = 4
ENOUGH = 100  # requests
SUITE = "bookworm"
# Of a client: a file is made, read, renamed and removed.
STEPS = "put block f{0}; get f{0} got; rename f{0} g{0}; del g{0}"


@pytest.fixture
def smbd() -> Iterator[Samba]:
    with Samba(SUITE) as server:
        yield server


@contextlib.contextmanager
def at_work(server: Samba, folder: str = ".", steps: str = STEPS) -> Iterator[None]:
    """A client that goes on until it is ended."""
    (server.root / "tmp/block").write_bytes(b"x" * 5000)
    *command, _, first = server.client_command(f"mkdir {folder}; cd {folder}")
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)

    def write() -> None:
        assert process.stdin
        with contextlib.suppress(OSError, ValueError):
            process.stdin.write((first.replace("; ", "\n") + "\n").encode())
            for i in cycle(range(100)):
                process.stdin.write((steps.format(i).replace("; ", "\n") + "\n").encode())
                process.stdin.flush()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        wait_until(lambda: bool(sessions(server)), 10, "a session")
        yield
    finally:
        process.kill()
        process.wait()
        writer.join()


def sessions(server: Samba) -> list[int]:
    """Processes of the server that have a client's connection."""
    command = ["ss", "-Htnp", "state", "established", f"sport = :{server.port}"]
    said = subprocess.run(command, check=True, capture_output=True, text=True)
    return [pid for pid in server.children() if re.search(rf"pid={pid}\b", said.stdout)]


def doctor(scope: Scope, server: Samba) -> Any:
    said = say(scope, None, "doctor", "--pid", str(server.pid), "-d", str(SECONDS))
    assert said.run["kind"] == "smb"
    # Servers of other tests may be named as what has the CPUs.
    own = re.sub(
        r"most of all \S+|\S+ \((?:\d+ processes|pid \d+)\)", "", " ".join(said.screen.split())
    )
    assert not re.search(r"\bAFP\b|CNID|netatalk|afpd", own), said.screen
    return said


def filled(folder: Path, files: int) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    for i in range(files):
        (folder / f"other{i}").touch()


def nothing(said: Any) -> None:
    """But that others had the CPUs or the disk, if these did."""
    if said.value("requests") <= ENOUGH:
        raise Disturbed(said.screen)  # the client had no CPU
    nothing_is_found(said)


@undisturbed
def test_a_server_at_work_has_no_finding(scope: Scope, smbd: Samba) -> None:
    with at_work(smbd, "d"):
        said = doctor(scope, smbd)
    nothing(said)
    assert said.value("case_folded") == 2
    assert said.value("acl_module") == 0 and said.value("notifyd") < 0.9


@undisturbed
def test_a_huge_folder_is_named(scope: Scope, smbd: Samba) -> None:
    filled(smbd.share1 / "few", 100)
    filled(smbd.share1 / "many", 20000)
    with at_work(smbd, "few"):
        nothing(doctor(scope, smbd))
    with at_work(smbd, "many"):
        first_is(doctor(scope, smbd), "huge-folder")


@pytest.mark.judges
@undisturbed
def test_a_verbose_log_is_named(scope: Scope) -> None:
    with Samba(SUITE, SMB_GLOBAL="log level = 10") as server, at_work(server, "d"):
        first_is(doctor(scope, server), "log")


@pytest.mark.judges
@undisturbed
def test_a_module_that_stores_acls_is_named(scope: Scope) -> None:
    with Samba(SUITE, SMB_SHARE="vfs objects = acl_xattr") as server, at_work(server, "d"):
        finding = first_is(doctor(scope, server), "acl-module")
    assert not finding["sure"]


@undisturbed
def test_a_stopped_session_is_named(scope: Scope, smbd: Samba) -> None:
    with at_work(smbd, "d"):
        pids = sessions(smbd)
        stopped = shares(lambda _: send(pids, signal.SIGSTOP), lambda _: send(pids, signal.SIGCONT))
        with stopped(SimpleNamespace(port=f"smb-{smbd.pid}"), 0.7):
            first_is(doctor(scope, smbd), "server-stopped")


@pytest.mark.judges
@undisturbed
def test_one_stopped_session_of_many_is_named(scope: Scope, smbd: Samba) -> None:
    """11 idle ones and one at work; of the time of all threads the stop is a small part."""
    with contextlib.ExitStack() as clients:
        for i in range(11):
            clients.enter_context(at_work(smbd, f"idle{i}", "!sleep 20"))
        wait_until(lambda: bool(sessions(smbd)), 10, "an idle session")
        idle = sessions(smbd)[0]
        clients.enter_context(at_work(smbd, "d"))
        send([idle], signal.SIGSTOP)
        try:
            said = doctor(scope, smbd)
        finally:
            send([idle], signal.SIGCONT)
    found = first_is(said, "session-stopped", "server-stopped")
    assert found["key"] == "session-stopped" and not found["sure"], said.screen
    assert f"(pid {idle})" in said.words, said.screen


@pytest.mark.judges
@undisturbed
def test_a_locked_database_is_named(scope: Scope, smbd: Samba) -> None:
    passwords = smbd.share1.parent / "private/passdb.tdb"

    def lock(end: threading.Event) -> None:
        with passwords.open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX)
            end.wait(0.3)
        end.wait(0.05)

    def log_in(end: threading.Event) -> None:
        smbd.client("ls")

    with repeated(lock), repeated(log_in):
        finding = first_is(doctor(scope, smbd), "tdb")
    assert not finding["sure"]


@undisturbed
def test_a_client_that_keeps_its_oplock_is_named_while_others_wait(scope: Scope) -> None:
    with Samba(SUITE, SMB_SHARE="guest ok = yes\nforce create mode = 0666") as server:
        asleep = SmbWire(server.port)
        file = asleep.open("shared", BATCH)
        waiting: list[threading.Thread] = []

        def open_it() -> None:
            client = SmbWire(server.port)
            client.open("shared")
            client.drop()

        # What was asked for before the watch began is not known: they come one after the other.
        def come(end: threading.Event) -> None:
            waiting.append(threading.Thread(target=open_it))
            waiting[-1].start()
            end.wait(1)

        with at_work(server, "d"), repeated(come):
            said = doctor(scope, server)
        asleep.close(file)
        for thread in waiting:
            thread.join()
        asleep.drop()
        finding = first_is(said, "oplock-breaks")
        assert not finding["sure"] and said.value("breaks") >= 2
        assert said.run["in_service"][0]["command"] == "CREATE that waited"


@pytest.mark.judges
@undisturbed
def test_without_its_settings_what_depends_on_them_is_not_known(scope: Scope, smbd: Samba) -> None:
    filled(smbd.share1 / "many", 20000)
    with at_work(smbd, "many"):
        (smbd.root / smbd.conf.lstrip("/")).rename(smbd.share2 / "hidden.conf")
        said = doctor(scope, smbd)
    finding = first_is(said, "folder-scans")
    assert not finding["sure"]
    assert said.run["figures"]["case_folded"]["value"] is None
    assert "testparm" in said.run["figures"]["case_folded"]["why"]
    assert said.run["server"]["smb.conf"].startswith("not visible: ")


def watched_until_its_end(scope: Scope, server: Samba, end: Callable[[], object]) -> str:
    """What doctor says, of a server that ends while a client is at work, and of the saved run."""
    folder = scope.folder / f"ended-{server.pid}"
    line = [str(scope.binary), "doctor", "--pid", str(server.pid), "-d", "60", "-o", str(folder)]
    running = scope.start(line)
    running.wait_recording()
    with at_work(server, "d"):
        end()
    done = running.finish(60).expect(FINDINGS)
    again = scope.execute([str(scope.binary), "doctor", str(folder)]).expect(FINDINGS)
    assert not re.search(r"\bAFP\b|afpd|CNID", again.out), again.out
    first = [line for line in done.out.splitlines() if line.startswith("1. ")]
    assert first and first[0] in again.out, (done.out, again.out)
    return " ".join(done.out.split())


@pytest.mark.judges
def test_a_server_whose_main_process_is_killed_is_named(scope: Scope, smbd: Samba) -> None:
    said = watched_until_its_end(scope, smbd, lambda: send([smbd.pid], signal.SIGKILL))
    assert "1. smbd's main process ended while it was watched" in said, said


@pytest.mark.judges
def test_a_server_that_is_started_again_is_named(scope: Scope, smbd: Samba) -> None:
    with contextlib.ExitStack() as stack:
        said = watched_until_its_end(scope, smbd, lambda: stack.enter_context(smbd.started_again()))
    assert "1. smbd was restarted while it was watched" in said, said
