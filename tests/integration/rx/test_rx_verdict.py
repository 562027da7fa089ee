# SPDX-License-Identifier: GPL-2.0-or-later
"""What is concluded of a server over Rx and of its clients: the right cause, with what shows it.

Tests user/drive/rx_waiting.c, and user/doctor/figures/rx.c on real servers. More runs, and the
listener as the limit, which depends on the CPUs: tests/doctor/rx.py.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from disturbed import DISTURBED, Disturbed, undisturbed
from faults import grouped, send
from rx import HEALTHY, NOISE, SITUATIONS, Situation, diagnosis, first
from rxing import Relay, Serving, relay_program
from scope import AS_NOBODY, FAILED, OK, Scope, wait_until
from serverfaults import traced

BY_NAME = {s.name: s for s in SITUATIONS}
# With fewer clients, of which none waits for 12 s.
BUFFER = replace(
    BY_NAME["socket buffer"], clients=("-c", "send", "-n", "40", "-T", "10", "-b", "64000")
)
SURE = (BUFFER, BY_NAME["few threads"], BY_NAME["clients' buffer"], BY_NAME["healthy"])


@pytest.mark.parametrize("situation", SURE, ids=lambda s: s.name)
@undisturbed
def test_the_cause_is_named_first(scope: Scope, situation: Situation) -> None:
    found = diagnosis(scope.binary, situation)
    key = first(found)
    if key in DISTURBED - situation.right:
        raise Disturbed(key)
    if situation.right == HEALTHY:
        assert key in HEALTHY | NOISE
    else:
        assert key in situation.right
    assert set(found["not_seen"]) <= {"locks"}  # too short for enough looks at the listener


def test_of_a_server_that_is_not_watched_little_is_said(scope: Scope) -> None:
    """It answers how many calls wait; the rest is known from outside."""
    found = diagnosis(scope.binary, BY_NAME["few threads"], "--watch=off")
    assert first(found) == "threads"
    assert {"socket-buffer", "listener", "cpu-limit"} <= set(found["not_seen"])


@undisturbed
def test_doctor_finds_the_server_and_judges_it(scope: Scope, tmp_path: Path) -> None:
    """Without being told that it is one over Rx; and again from what it kept."""
    folder = tmp_path / "run"
    shutil.rmtree(folder, ignore_errors=True)
    with Serving(scope, *BUFFER.server) as server:
        pid = str(server.running.process.pid)
        line = [str(scope.binary), "doctor", "--pid", pid, "-d", "60", "-o", str(folder)]
        doctor = scope.start(line)
        doctor.wait_recording()
        line = [str(scope.binary), "rx", *BUFFER.clients, "--watch=off", "--no-save"]
        scope.execute([*line, f"127.0.0.1:{server.port}"]).expect(OK)
        doctor.signal(signal.SIGINT)
        done = doctor.finish()
    if done.status == OK:  # clients that had no CPU did not fill the buffer
        raise Disturbed(done.out)
    done.expect(FAILED)
    run = json.loads((folder / "run.json").read_text())
    assert run["kind"] == "rx"
    if first(run["diagnosis"]) in DISTURBED:
        raise Disturbed(done.out)
    assert first(run["diagnosis"]) == "socket-buffer"
    assert "the server's socket had no room for" in done.out
    assert "/proc/sys/net/core/rmem_max" in " ".join(done.out.split())
    assert "afpd" not in done.out
    again = scope.execute([str(scope.binary), "doctor", str(folder)]).expect(FAILED)
    assert "the server's socket had no room for" in again.out
    for out in (done.out, again.out):
        assert "(there were no clients of our own)" in " ".join(out.split())


@contextlib.contextmanager
def stopped(pids: Sequence[int]) -> Iterator[None]:
    send(pids, signal.SIGSTOP)
    time.sleep(1.5)
    send(pids, signal.SIGCONT)
    yield


@contextlib.contextmanager
def traced_before(pids: Sequence[int]) -> Iterator[None]:
    """The tracer has left before the end."""
    with traced(pids):
        time.sleep(2.5)
    yield


@contextlib.contextmanager
def frozen(pids: Sequence[int]) -> Iterator[None]:
    """By a cgroup of version 2, as "systemctl freeze" does."""
    cgroups = Path("/sys/fs/cgroup")
    root = next(r for r in (cgroups / "unified", cgroups) if (r / "cgroup.controllers").exists())
    group = root / f"afpscope-frozen-{pids[0]}"
    group.mkdir()
    try:
        for pid in pids:
            (group / "cgroup.procs").write_text(str(pid))
        (group / "cgroup.freeze").write_text("1")
        time.sleep(1.5)
        (group / "cgroup.freeze").write_text("0")
        yield
    finally:
        for pid in pids:
            (root / "cgroup.procs").write_text(str(pid))
        group.rmdir()


@pytest.mark.parametrize(
    "way", [stopped, frozen, traced, traced_before], ids=lambda way: way.__name__
)
def test_stops_are_named_before_what_comes_of_them(
    scope: Scope, way: Callable[[Sequence[int]], contextlib.AbstractContextManager[object]]
) -> None:
    """The socket fills meanwhile, which is no reason for a larger one. The judge is the clock."""
    saved = scope.folder / "doctor.json"
    # Clients that are a millisecond away, and so leave the CPUs to others.
    with Serving(scope) as server, Relay(server.port, "--delay-us", "1000") as far:
        pid = server.running.process.pid
        line = [str(scope.binary), "rx", "-c", "recv", "-n", "2", "-d", "6", "--watch=off"]
        clients = scope.start([*line, "--no-save", f"127.0.0.1:{far.port}"])
        line = [str(scope.binary), "doctor", "--pid", str(pid), "-d", "4", "--no-save"]
        doctor = scope.start([*line, f"--json={saved}"])
        doctor.wait_recording()
        with way([pid]):
            doctor.finish()
        clients.finish()
    run = json.loads(saved.read_text())
    found = run["diagnosis"]["findings"][0]
    assert found["key"] == ("server-stopped" if way in {stopped, frozen} else "server-traced")
    assert way != traced_before or "that has left" in found["text"]
    assert way not in {stopped, frozen} or 0.3 < run["figures"]["stopped"]["value"] < 0.5


def test_stops_by_a_freezer_that_few_threads_show_are_not_ruled_out(scope: Scope) -> None:
    """The kernel leaves threads that sleep for a lock as they are: no event tells of them."""
    saved = scope.folder / "doctor.json"
    with Serving(scope) as server:
        pid = server.running.process.pid
        site = SimpleNamespace(port=f"rx-{pid}")
        line = [str(scope.binary), "doctor", "--pid", str(pid), "-d", "2", "--no-save"]
        with grouped(site, "freezer", [pid]) as group:
            doctor = scope.start([*line, f"--json={saved}"])
            doctor.wait_recording()
            for state in ("FROZEN", "THAWED"):
                (group / "freezer.state").write_text(state)
                time.sleep(0.7)
            doctor.finish()
    run = json.loads(saved.read_text())
    said = run["diagnosis"]
    found = {f["key"] for f in said["findings"]}
    assert "server-stopped" in found | set(said["not_seen"]), said
    assert "server-stopped" not in said["ruled_out"]


def test_the_first_screen_says_what_it_is_and_what_was_not_seen(scope: Scope) -> None:
    """Of lost packets all that is known without a right to see the server."""
    with Serving(scope, *BUFFER.server) as server:
        line = [str(scope.binary), "rx", *BUFFER.clients, "--watch=off", "--no-save"]
        done = scope.execute([*line, f"127.0.0.1:{server.port}"]).expect(OK)
    words = " ".join(done.out.split())
    assert "calls wait until lost packets are sent again" in words
    assert "shown by timed_out" in words
    assert "try look for the loss" in words
    assert re.search(r"Not seen: .*socket buffer.* \(it is not on this host, or not watched", words)
    assert done.out.count("\n") <= 40


def test_without_rights_the_server_is_there_but_not_seen(scope: Scope, public: Path) -> None:
    """The user nobody and a server of root."""
    with Serving(scope, *BUFFER.server) as server:
        line = [*AS_NOBODY, str(public), "rx", *BUFFER.clients, "--no-save"]
        done = scope.execute([*line, f"127.0.0.1:{server.port}"]).expect(OK)
    words = " ".join(done.out.split())
    assert "calls wait until lost packets are sent again" in words
    assert f"(no right to see which process has UDP port {server.port}: run as root" in words


# Place: a program that carries datagrams of Rx on, also one that is called fileserver | counted as
#   if it were the server, and said, by the calls that it makes itself; with `/proc` alone: that it
#   may be so
@pytest.mark.parametrize("name", ["rx_relay", "fileserver"])
@pytest.mark.parametrize("test", ["recv", "send"])
def test_a_relay_is_no_server_without_a_word(
    scope: Scope, test: str, name: str, tmp_path: Path
) -> None:
    program = Path(shutil.copy(relay_program(), tmp_path / name))
    known = "no server of OpenAFS or rxperf by name"
    if name == "fileserver":
        known = "known by its name alone"
    with (
        Serving(scope) as server,
        Relay(server.port, "--delay-us", "1000", program=program) as relay,
    ):
        load = [str(scope.binary), "rx", "-c", test, "-b", "64000", "-d", "9", "--watch=off"]
        clients = scope.start([*load, f"127.0.0.1:{relay.port}"])
        wait_until(lambda: relay.clients() > 0, 20, "the first call")
        for tool, how in (
            (["record"], "its clients' bytes may go on"),
            (["record", "--watch=proc"], "what it passes on is not seen"),
            (["doctor"], "its clients' bytes may go on"),
        ):
            line = [str(scope.binary), *tool, "--kind", "rx", "-d", "1", "--port", str(relay.port)]
            done = scope.execute(line, save=True)
            said = " ".join(done.out.split())
            assert done.run
            assert re.match(
                rf"{name} \(pid \d+\) is {known}, and {how}",
                done.run.warning("way"),
            )
            assert "Nothing is wrong" not in said
        assert f"what was watched may be a relay in front of the server: {name}" in said
        line[line.index(str(relay.port))] = str(server.port)
        direct = scope.execute(line, save=True)
        assert direct.run and direct.run.warning("way") == ""
        assert "may be a relay" not in direct.out
        clients.signal(signal.SIGINT)
        clients.finish()
