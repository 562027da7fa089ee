# SPDX-License-Identifier: GPL-2.0-or-later
"""doctor --kind gluster: bricks that work, and bricks with faults.

Tests user/doctor/figures/gluster.c, user/doctor/rules/rules_gluster.c and
user/kinds/gluster/gluster.c.
"""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from atwork import loaded
from disturbed import DISTURBED, Disturbed, undisturbed
from faults import device_of, grouped, send, shares
from gluster import Gluster
from scope import OK, Scope
from serverfaults import traced
from test_doctor_cases import SECONDS, first_is, say

pytestmark = pytest.mark.usefixtures("with_libgfapi")
OFFICE = ("--clients=4", "--mix=office", "--think=0.02", "--file-size=64K")


@pytest.fixture(scope="module")
def gluster() -> Iterator[Gluster]:
    with Gluster(GLUSTER_MOUNT="one rep") as server:
        yield server


@contextlib.contextmanager
def at_work(scope: Scope, server: Gluster, *options: str) -> Iterator[None]:
    """Clients of volume "one"; they have begun."""
    with loaded(scope, server.url("one"), *options):
        yield


def doctor(scope: Scope, pid: int, seconds: int = SECONDS) -> Any:
    options = ("--kind", "gluster", "--pid", str(pid), "-d", str(seconds))
    said = say(scope, None, "doctor", *options)
    assert said.run["kind"] == "gluster"
    assert not re.search(r"\bAFP\b|CNID|netatalk", said.screen), said.screen
    return said


def place(server: Gluster) -> Any:
    """What grouped() and shares() ask a server under test for."""
    return SimpleNamespace(port=f"gluster-{server.pid}")


@undisturbed
def test_bricks_at_work_have_no_finding(scope: Scope, gluster: Gluster) -> None:
    with at_work(scope, gluster, *OFFICE):
        said = doctor(scope, gluster.brick_pid("one"))
    # Beside other programs the doctor has lost a request of a brick, and said so; why is not known.
    if set(said.findings) & DISTURBED or "LOST: " in said.screen:
        raise Disturbed(said.screen)
    assert not said.findings and said.status == OK, said.screen
    assert said.value("requests") > 100 and said.value("heal_entries") == 0
    assert "paused brick" in said.words


@undisturbed
def test_a_stopped_brick_is_named(scope: Scope, gluster: Gluster) -> None:
    pid = gluster.brick_pid("one")
    stopped = shares(lambda _: send([pid], signal.SIGSTOP), lambda _: send([pid], signal.SIGCONT))
    with at_work(scope, gluster, *OFFICE), stopped(place(gluster), 0.7):
        said = doctor(scope, pid)
    assert first_is(said, "server-stopped")["sure"]
    assert said.value("stopped") > 0.5


@pytest.mark.judges
@undisturbed
def test_a_traced_brick_is_named(scope: Scope, gluster: Gluster) -> None:
    pid = gluster.brick_pid("one")
    with at_work(scope, gluster, *OFFICE), traced([pid]) as tracer:
        said = doctor(scope, pid)
    found = first_is(said, "server-traced", never=("server-stopped",))
    assert f"tracing by strace (pid {tracer}) paused threads of brick" in found["text"]


@pytest.mark.judges
@undisturbed
def test_a_tracer_that_has_left_a_brick_is_named(scope: Scope, gluster: Gluster) -> None:
    pid = gluster.brick_pid("one")
    with at_work(scope, gluster, *OFFICE), traced([pid], 4):
        said = doctor(scope, pid, 5)
    found = first_is(said, "server-traced", never=("server-stopped",))
    assert "that has left" in found["text"]


@pytest.mark.judges
@undisturbed
def test_a_frozen_brick_is_named(scope: Scope, gluster: Gluster) -> None:
    pid = gluster.brick_pid("one")
    with (
        at_work(scope, gluster, *OFFICE),
        grouped(place(gluster), "freezer", [pid]) as group,
        shares(
            lambda _: (group / "freezer.state").write_text("FROZEN"),
            lambda _: (group / "freezer.state").write_text("THAWED"),
        )(place(gluster), 0.7),
    ):
        said = doctor(scope, pid)
    if "LOST: " in said.screen:  # not sure of anything
        raise Disturbed(said.screen)
    first_is(said, "server-stopped")  # of a freezer of version 1 the kernel tells little


@pytest.mark.judges
@undisturbed
def test_a_brick_that_stood_still_before_is_named(scope: Scope, gluster: Gluster) -> None:
    pid = gluster.brick_pid("one")
    with at_work(scope, gluster, *OFFICE):
        send([pid], signal.SIGSTOP)
        try:
            time.sleep(0.5)
            said = doctor(scope, pid)
        finally:
            send([pid], signal.SIGCONT)
    assert first_is(said, "server-stopped")["sure"]


@pytest.mark.judges
@undisturbed
def test_an_io_limit_of_a_brick_is_named(scope: Scope, gluster: Gluster) -> None:
    pid = gluster.brick_pid("one")
    limit = f"{device_of(gluster.brick('one'))} 1000000"
    write = ("--clients=4", "--mix=timemachine", "--think=0.02", "--file-size=1M")
    limited = grouped(place(gluster), "blkio", [pid], blkio__throttle__write_bps_device=limit)
    with at_work(scope, gluster, *write), limited:
        time.sleep(1)
        said = doctor(scope, pid)
    first_is(said, "io-limit", never=("slow-disk",))
    assert "1 allowed by" in said.words, said.screen


@pytest.mark.judges
@undisturbed
def test_a_cpu_quota_of_a_brick_is_named(scope: Scope, gluster: Gluster) -> None:
    pid = gluster.brick_pid("one")
    limited = grouped(
        place(gluster), "cpu", [pid], cpu__cfs_period_us="100000", cpu__cfs_quota_us="5000"
    )
    with at_work(scope, gluster, "--clients=4", "--mix=browse", "--think=0"), limited:
        time.sleep(0.3)
        said = doctor(scope, pid)
    first_is(said, "cpu-limit", never=("other-programs", "cpu-short"))


def test_files_to_be_healed_are_a_note(scope: Scope, gluster: Gluster) -> None:
    gluster.cli("volume", "heal", "rep", "disable")
    down = gluster.brick_pid("rep", 2)
    send([down], signal.SIGKILL)
    for i in range(20):
        (gluster.mnt / "rep" / f"file{i}").write_text("text")
    said = doctor(scope, gluster.brick_pid("rep"))
    notes = {note["key"]: note["text"] for note in said.run["diagnosis"]["notes"]}
    assert "self-heal" in notes and said.value("heal_entries") >= 20, said.screen
    assert "/rep0/brick" in notes["self-heal"]


@pytest.mark.judges
@undisturbed
def test_one_stopped_brick_of_many_is_named(scope: Scope, gluster: Gluster) -> None:
    """All bricks of a glusterd, without being told that they are such."""
    pid = gluster.brick_pid("dist", 1)
    send([pid], signal.SIGSTOP)
    try:
        said = say(scope, None, "doctor", "--pid", str(gluster.pid), "-d", str(SECONDS))
    finally:
        send([pid], signal.SIGCONT)
    assert said.run["kind"] == "gluster"
    found = first_is(said, "server-stopped")
    assert f"/dist1/brick (pid {pid})" in found["text"], said.screen


@undisturbed
def test_one_brick_of_many_that_ends_is_named(scope: Scope, gluster: Gluster) -> None:
    pid = gluster.brick_pid("dist", 2)
    kill = subprocess.Popen(["sh", "-c", f"sleep 1.5; kill -9 {pid}"])
    said = doctor(scope, gluster.pid)
    kill.wait()
    assert f"/dist2/brick (pid {pid})" in first_is(said, "server-ended")["text"]


@pytest.mark.judges
@undisturbed
def test_a_brick_that_ends_is_named(scope: Scope, gluster: Gluster) -> None:
    pid = gluster.brick_pid("dist")
    kill = subprocess.Popen(["sh", "-c", f"sleep 1.5; kill -9 {pid}"])
    said = doctor(scope, pid)
    kill.wait()
    assert "the process of a brick ended" in first_is(said, "server-ended")["text"]
