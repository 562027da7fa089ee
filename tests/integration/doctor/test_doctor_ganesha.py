# SPDX-License-Identifier: GPL-2.0-or-later
"""doctor of nfs-ganesha: a server that works, and servers with faults.

Tests user/doctor/figures/nfs.c, handed.c, user/doctor/rules/rules_nfs.c, user/main/doctor.c (of a
saved run).
"""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from atwork import loaded
from disturbed import undisturbed
from faults import device_of, grouped, send, shares
from ganesha import Ganesha
from netatalk import BOUND, children_of
from scope import REPO, Scope
from serverfaults import traced
from test_doctor_cases import FINDINGS, first_is, say
from test_doctor_samba import nothing

pytestmark = pytest.mark.usefixtures("with_libnfs")
SECONDS = 4
SUITE = "bookworm"
OFFICE = ("--clients=4", "--mix=office", "--think=0.02", "--file-size=64K")


@pytest.fixture(scope="module")
def ganesha() -> Iterator[Ganesha]:
    with Ganesha(SUITE) as server:
        yield server


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    line = [REPO / "tests/need.sh", "--libnfs"]
    library = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    monkeypatch.setenv("LD_LIBRARY_PATH", library)


@contextlib.contextmanager
def at_work(scope: Scope, server: Ganesha, *options: str) -> Iterator[None]:
    """Clients of the first export; they have begun."""
    place = f"nfs://127.0.0.1:{server.port}{server.path1}?mountport={server.mount_port}"
    with loaded(scope, place, "--ramp=0", *(options or OFFICE)):
        yield


def doctor(scope: Scope, server: Ganesha) -> Any:
    said = say(scope, None, "doctor", "--pid", str(server.pid), "-d", str(SECONDS))
    assert said.run["kind"] == "nfs"
    # Servers of other tests may be named as what has the CPUs.
    own = re.sub(
        r"most of all \S+|\S+ \((?:\d+ processes|pid \d+)\)", "", " ".join(said.screen.split())
    )
    assert not re.search(r"\bAFP\b|CNID|netatalk|afpd|smbd", own), said.screen
    return said


def notes(said: Any) -> set[str]:
    return {note["key"] for note in said.run["diagnosis"]["notes"]}


def place(server: Ganesha) -> Any:
    """What grouped() and shares() ask a server under test for."""
    return SimpleNamespace(port=f"nfs-{server.pid}")


@undisturbed
def test_a_server_at_work_has_no_finding(scope: Scope, ganesha: Ganesha) -> None:
    with at_work(scope, ganesha):
        said = doctor(scope, ganesha)
    nothing(said)
    assert not notes(said) & {"workers", "folder-lists"}, said.screen
    assert said.value("log_calls") < 0.5
    assert said.value("workers") == 200 and said.value("room_bytes") > 0
    assert not said.run["warnings"], said.run["warnings"]
    settings = said.run["server"]["ganesha.conf"]
    assert "Protocols = 3, 4; RPC_Ioq_ThrdMax = 200; log level = EVENT; " in settings
    assert settings.endswith("SecType = sys; FSAL = VFS")


@undisturbed
def test_a_verbose_log_is_named(scope: Scope) -> None:
    with Ganesha(SUITE, NFS_LOG="COMPONENTS { ALL = FULL_DEBUG; }") as server:
        with at_work(scope, server):
            said = doctor(scope, server)
        first_is(said, "log")
        warned = {w["key"]: w["text"] for w in said.run["warnings"]}
        assert warned["log-level"].startswith("log level = FULL_DEBUG: lines are written")


@contextlib.contextmanager
def slow_disk(scope: Scope, server: Ganesha) -> Iterator[None]:
    """Its writes have a limit, by which any disk is slow; its clients write."""
    limit = f"{device_of(server.share1)} 3000000"
    write = ("--clients=12", "--mix=timemachine", "--think=0.02", "--file-size=1M")
    group = grouped(place(server), "blkio", [server.pid], blkio__throttle__write_bps_device=limit)
    with at_work(scope, server, *write), group:
        time.sleep(1)
        yield


@pytest.mark.judges
@undisturbed
def test_few_worker_threads_are_noted(scope: Scope) -> None:
    for n, is_noted in ((3, True), (100, False)):
        few = Ganesha(SUITE, NFS_CORE=f"RPC_Ioq_ThrdMax = {n};")
        with few as server, slow_disk(scope, server):
            said = doctor(scope, server)
        print({k: said.value(k) for k in ("workers", "workers_busy", "busy")})
        assert ("workers" in notes(said)) is is_noted and said.value("workers") == n, said.screen
        assert ("workers" in {w["key"] for w in said.run["warnings"]}) is is_noted


@pytest.mark.judges
@undisturbed
def test_lists_of_a_huge_folder_are_noted(scope: Scope, ganesha: Ganesha) -> None:
    folder = ganesha.share1 / "many"
    folder.mkdir()
    for i in range(20000):
        (folder / f"other{i}").touch()
    lists = f"while :; do chroot {ganesha.root} nfs-ls '{ganesha.url('/many')}'; done"
    client = subprocess.Popen([*BOUND, "sh", "-c", lists], stdout=subprocess.DEVNULL)
    try:
        said = doctor(scope, ganesha)
    finally:
        client.terminate()
        client.wait(10)
    assert "folder-lists" in notes(said), said.screen
    assert said.value("list_requests") > 20


@pytest.mark.judges
@undisturbed
def test_of_settings_that_were_changed_since_nothing_is_said(scope: Scope) -> None:
    with Ganesha(SUITE) as server:
        time.sleep(3)  # a change at the begin cannot be told from one before it
        conf = server.root / f"inst/{server.port}/ganesha.conf"
        conf.write_text(conf.read_text() + "LOG { COMPONENTS { ALL = FULL_DEBUG; } }\n")
        with at_work(scope, server):
            said = doctor(scope, server)
    assert said.run["server"]["ganesha.conf"].endswith(
        "may have been changed after the server began"
    )
    assert said.run["figures"]["workers"]["value"] is None and not said.run["warnings"]


@pytest.mark.judges
@undisturbed
def test_a_stopped_server_is_named(scope: Scope, ganesha: Ganesha) -> None:
    pid = ganesha.pid
    stopped = shares(lambda _: send([pid], signal.SIGSTOP), lambda _: send([pid], signal.SIGCONT))
    with at_work(scope, ganesha), stopped(place(ganesha), 0.7):
        said = doctor(scope, ganesha)
    first_is(said, "server-stopped")
    assert said.value("stopped") > 0.5


@pytest.mark.judges
@undisturbed
def test_a_traced_server_is_named(scope: Scope, ganesha: Ganesha) -> None:
    with at_work(scope, ganesha), traced([ganesha.pid]) as tracer:
        said = doctor(scope, ganesha)
    found = first_is(said, "server-traced", never=("server-stopped",))
    assert f"tracing by strace (pid {tracer}) paused ganesha" in found["text"]


@pytest.mark.judges
@undisturbed
def test_a_slow_disk_of_an_export_is_named(scope: Scope, ganesha: Ganesha) -> None:
    with slow_disk(scope, ganesha):
        said = doctor(scope, ganesha)
    first_is(said, "io-limit", never=("slow-disk",))


@pytest.mark.judges
@undisturbed
def test_a_server_that_ends_is_named(scope: Scope, tmp_path: Path) -> None:
    """Also by doctor of the saved run, which knows from it what kind of server it was."""
    with Ganesha(SUITE) as server:
        line = [str(scope.binary), "doctor", "--pid", str(server.pid), "-d", "30"]
        with at_work(scope, server):
            running = scope.start([*line, "-o", str(tmp_path / "run")])
            running.wait_recording()
            time.sleep(1)
            # The portmapper of nfs-up.sh is its child, and would be watched on.
            send([*children_of(server.pid), server.pid], signal.SIGKILL)
            done = running.finish(60)
    again = scope.execute([str(scope.binary), "doctor", str(tmp_path / "run")])
    for each in (done, again):
        assert "nfs-ganesha ended while it was watched" in each.expect(FINDINGS).out
    assert not re.search(r"\bAFP\b|afpd|CNID", again.out), again.out
