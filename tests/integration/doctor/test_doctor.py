# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope doctor: a fault is named first, and nothing is named where there is none.

Tests user/main/doctor.c, user/doctor/diagnose.c, user/report/screen/doctor.c,
user/report/json/doctor.c, user/kinds/afp/strangers.c. All faults in three doses, and more healthy
servers: tests/doctor/lab.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from disturbed import DISTURBED, LOOKS
from faults import CGROUPS, MOST, Part, programs
from load import Working
from netatalk import Server
from patient import How, examine
from rows import FAULTS, at_once, why_not
from scheduling import in_check
from scope import (
    FINDINGS,
    NO_SERVER,
    NOT_TOLD,
    OK,
    USAGE,
    Done,
    PinnedServer,
    Scope,
    io_of,
    wait_until,
)

SECONDS = 3
HERE = (
    "stopped CNID server", "full disk", "locked database", "login loop", "log level",
    "far client", "directory cache",
)  # fmt: skip
# In `make check`; a directory cache that is too small is named there by a load (test_seen_by.py).
CHECKED = ("stopped CNID server", "login loop")
BROWSE = Part("browse", 4, 0.02, ("--files=20",))


@contextlib.contextmanager
def working(part: Part, server: PinnedServer) -> Iterator[None]:
    """Clients at work in the block."""
    it = Working(part, f"afp://bench1@127.0.0.1:{server.port}/vol1", server.cpu)
    try:
        it.begun()
        yield
    finally:
        it.end()


@pytest.fixture
def cpu(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> int:
    """This worker's: server and clients share it."""
    monkeypatch.setenv("AFPSCOPE", str(scope.binary))
    return max(os.sched_getaffinity(0))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return programs(tmp_path_factory.mktemp("programs"))


@pytest.fixture
def how(cpu: int, made: dict[str, Path]) -> How:
    return How(SECONDS, (cpu, cpu), made, calm_s=0)


@pytest.mark.parametrize("name", in_check(HERE, CHECKED))
def test_a_fault_is_named_first(name: str, how: How) -> None:
    row = at_once(name)
    if why := why_not(row):
        pytest.skip(why)
    # If what other tests do hides it, it is looked at again.
    for _ in range(LOOKS):
        run = examine(row, how)
        found = run["diagnosis"]["findings"]
        keys = [f["key"] for f in found if f["key"] not in DISTURBED]
        if keys:
            break
    assert run["diagnosis"]["verdict"] == "findings", run["screen"]
    assert keys and keys[0] in FAULTS[name].found, run["screen"]
    assert run["status"] == FINDINGS, run["stderr"]
    assert run["screen"].count("\n") <= 40 and f"1. {found[0]['text'][:40]}" in run["screen"]


def test_faults_at_once_are_all_found(how: How) -> None:
    row = at_once("files in use", "hanging login", "deaf clients")
    run = examine(row, how)
    keys = {f["key"] for f in run["diagnosis"]["findings"]}
    assert keys - DISTURBED == {"lock-conflicts", "slow-login"}, run["screen"]
    # They hold places of which there are enough.
    assert "no-login" in {note["key"] for note in run["diagnosis"]["notes"]}, run["screen"]
    assert "bench2 from 127.0.0.1" in run["figures"]["denied_share"]["who"]
    # Those who wait for their login are not taken for connections without one.
    assert run["figures"]["no_login"]["value"] == FAULTS["deaf clients"].doses[MOST]
    assert run["figures"]["login_pending"]["value"] >= 1


def test_slow_for_no_known_cause_is_not_healthy(how: How) -> None:
    run = examine(at_once("slow getcwd"), how)
    keys = {f["key"] for f in run["diagnosis"]["findings"]}
    assert keys <= DISTURBED, run["screen"]
    assert keys or run["diagnosis"]["verdict"] == "slow", run["screen"]
    assert run["status"] == FINDINGS
    assert keys or "asleep, or waiting for other processes" in run["screen"]
    assert run["figures"]["other"]["value"] > 0.5


def doctor(scope: Scope, *args: str) -> Done:
    return scope.execute([str(scope.binary), "doctor", *args])


def watched(scope: Scope, server: Server, *options: str) -> tuple[int, str]:
    done = doctor(scope, "-p", str(server.port), "-d", "2", *options)
    return done.status, done.out


def test_a_healthy_server_has_no_finding(
    scope: Scope, dbd: PinnedServer, tmp_path: Path, cpu: int
) -> None:
    out = tmp_path / "run"
    with working(BROWSE, dbd):
        status, screen = watched(scope, dbd, "-o", str(out))
    run: dict[str, Any] = json.loads((out / "run.json").read_text())
    found = {f["key"] for f in run["diagnosis"]["findings"]}
    assert found <= DISTURBED, screen
    assert status == (FINDINGS if found else OK), screen
    assert found or run["diagnosis"]["verdict"] in ("healthy", "idle"), screen
    assert "Ruled out: " in screen and "disk-full" in run["diagnosis"]["ruled_out"]
    # The figures are the ledger's.
    served = sum(a["requests"] for a in run["phases"][0]["ledger"]["requests"])
    assert run["figures"]["requests"]["value"] == served > 50
    assert run["figures"]["dircache"]["value"] == 8192  # the default of netatalk 4.5.1
    # A saved run is judged alike.
    again = doctor(scope, str(out))
    assert again.status == status and again.out.strip() in screen
    assert not doctor(scope, "--short", str(out)).out.count("Ruled out")


def worked(before: dict[int, int]) -> int:
    """How many of these sessions have read something since then."""
    return sum(io_of(pid)["syscr"] > n for pid, n in before.items())


def test_one_of_many_sessions_that_is_stopped_is_found(
    scope: Scope, dbd: PinnedServer, cpu: int
) -> None:
    """Its share of all sessions' time is too small to be noticed; its user waits all the same."""
    with working(Part("browse", 30, 0.5, ("--files=20",)), dbd):
        line = [str(scope.binary), "doctor", "-p", str(dbd.port), "-d", "60", "--no-save"]
        running = scope.start(line)
        running.wait_recording()
        before = {pid: io_of(pid)["syscr"] for pid in dbd.sessions()}
        wait_until(lambda: worked(before) > 20, 30, "most to work")
        frozen = max(dbd.sessions())
        os.kill(frozen, signal.SIGSTOP)
        try:
            time.sleep(1.2)
        finally:
            os.kill(frozen, signal.SIGCONT)
        time.sleep(1.5)
        running.signal(signal.SIGINT)
        done = running.finish()
    assert done.status == FINDINGS, done.out
    assert "a few of many sessions were paused" in done.out, done.out
    words = " ".join(done.out.split())
    assert "wrong if nobody paused an afpd or attached a debugger to it in that time" in words
    assert "in state T" not in words and "kill -CONT" not in words


def test_too_little_is_not_told(scope: Scope, dbd: PinnedServer) -> None:
    status, screen = watched(scope, dbd, "--no-save")
    assert status == NOT_TOLD and "No verdict: too few requests were seen (0)" in screen


def test_a_run_without_figures_is_refused(scope: Scope, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"schema": 2, "id": "1"}')
    done = doctor(scope, str(tmp_path))
    assert done.status == USAGE and "no figures for a diagnosis" in done.err


def test_without_requests_nothing_is_concluded_from_them(
    scope: Scope, dbd: PinnedServer, tmp_path: Path, cpu: int
) -> None:
    with working(BROWSE, dbd):
        status, screen = watched(scope, dbd, "--watch=proc", "-o", str(tmp_path / "run"))
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert status == NOT_TOLD and run["diagnosis"]["verdict"] == "not_counted", screen
    assert not run["diagnosis"]["findings"] and run["figures"]["requests"]["value"] is None


def test_a_server_is_named_by_its_cgroup(scope: Scope, dbd: PinnedServer) -> None:
    top = CGROUPS / "cpu"
    if not (top / "cgroup.procs").exists():
        pytest.skip("no cgroups of version 1")
    group = top / f"afpscope-unit-{dbd.port}"
    group.mkdir()
    try:
        done = doctor(scope, "--unit", str(group), "-d", "1", "--no-save")
        assert done.status == NO_SERVER and "has no process" in done.err
        (group / "cgroup.procs").write_text(str(dbd.pid))
        done = doctor(scope, "--unit", str(group), "-d", "1", "--no-save")
        assert f"port {dbd.port}" in done.out
    finally:
        (top / "cgroup.procs").write_text(str(dbd.pid))
        group.rmdir()
    done = doctor(scope, "--unit", "no-such-unit", "-d", "1", "--no-save")
    assert done.status == NO_SERVER and "no cgroup of that name" in done.err


def test_wrong_options_are_refused(scope: Scope) -> None:
    """The message and the exit code of main(); all others: unit/main/test_usage.c."""
    done = doctor(scope, "--unit", "a", "-p", "548").expect(USAGE, "doctor: ")
    assert not done.out
