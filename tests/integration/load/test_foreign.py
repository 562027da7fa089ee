# SPDX-License-Identifier: GPL-2.0-or-later
"""A load beside clients of others: their requests are told, and are no disagreement; what the
generator does itself is not the server's; and what a healthy server answers is no error."""

from __future__ import annotations

import contextlib
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from afpclient import AfpClient, Busy
from netatalk import Server
from scheduling import in_check
from scope import OK, Done, Running, Scope
from stopped import says_it_was_stopped

NO_OBJECT = -5018
VIEWS = ("command", "session", "file")

COMMANDS = {
    "load": ("-n", "3", "-d", "2", "--ramp=0", "--files=4", "--file-size=64K", "--think=0.01"),
    "smallfile": ("--threads", "2", "--files", "60", "--file-size", "4"),
}


def stop(running: Running) -> Done:
    running.signal(signal.SIGINT)
    return running.finish().expect(OK)


def connections(phases: list[dict[str, Any]], key: str) -> int:
    return sum(phase["connections"][key] for phase in phases)


@pytest.mark.parametrize("tool", COMMANDS)
def test_requests_of_others_are_no_disagreement(scope: Scope, guests: Server, tool: str) -> None:
    with contextlib.ExitStack() as stack:
        idle = stack.enter_context(contextlib.closing(AfpClient(guests.port)))
        busy = [stack.enter_context(Busy(AfpClient(guests.port), 0.002)) for _ in range(2)]
        line = scope.command(guests, *COMMANDS[tool], tool=tool)
        done = scope.execute(line, save=True, timeout=100).expect(OK)
        idle.stat_root()
    assert done.run and not done.run.open_books()
    (book,) = [b for b in done.run.saved["books"] if b["name"].startswith("requests")]
    assert book["name"] == "requests answered on our connections"
    phases = done.run.saved["phases"]
    assert max(phase["connections"]["others"] for phase in phases) == 2
    assert 0 < connections(phases, "other_requests") <= sum(b.requests for b in busy) + 2
    sent = sum(c["ops"] for phase in phases for c in phase["commands"])
    assert connections(phases, "our_requests") == sent == book["ours"]
    assert "Others: 2 connections of other clients made " in done.out
    for each in busy:
        each.client.close()


@pytest.mark.parametrize("tool", COMMANDS)
def test_alone_each_command_is_compared(scope: Scope, guests: Server, tool: str) -> None:
    line = scope.command(guests, *COMMANDS[tool], tool=tool)
    done = scope.execute(line, save=True, timeout=100).expect(OK)
    assert done.run
    names = [b["name"] for b in done.run.saved["books"]]
    assert "requests answered" in names
    assert connections(done.run.saved["phases"], "other_requests") == 0
    assert "Others: " not in done.out


@pytest.mark.parametrize("tool", in_check(["load", "smallfile"], ["load"]))
def test_a_generator_that_was_stopped_says_so(scope: Scope, guests: Server, tool: str) -> None:
    """And books that time to nobody."""
    longer = {"load": ("-d", "6"), "smallfile": ("--files", "4000")}
    line = scope.command(guests, *COMMANDS[tool], *longer[tool], tool=tool)
    with contextlib.closing(AfpClient(guests.port)):
        says_it_was_stopped(scope, line)


@pytest.mark.parametrize("clients", in_check([1, 2, 40], [40]))
def test_a_generator_that_was_stopped_in_a_call_says_so(
    scope: Scope, tmp_path: Path, clients: int
) -> None:
    """A thread that waits in the calls of a directory itself is nearly always in one."""
    line = [str(scope.binary), "load", "-n", str(clients), "-m", "metadata", "-d", "6"]
    line += ["--ramp", "0", "--no-probe", "--watch=off", str(tmp_path)]
    says_it_was_stopped(scope, line)


def test_what_a_healthy_server_answers_is_no_error(scope: Scope, guests: Server) -> None:
    """Each list ends with "no such object", each login by DHX2 goes on twice: exact by code."""
    commands = {by: ("top", "-p", str(guests.port), "--json", f"--by={by}") for by in VIEWS}
    tops = {by: scope.start([str(scope.binary), *line]) for by, line in commands.items()}
    recorder = scope.record(guests)
    recorder.wait_recording()
    for running in tops.values():
        running.wait_for(": watching process ")
    scope.execute(scope.command(guests, *COMMANDS["load"], "--mix=browse", tool="load")).expect(OK)
    with contextlib.closing(AfpClient(guests.port)) as client:
        assert client.open_fork("missing", 1)[0] == NO_OBJECT
    done = stop(recorder)
    assert done.run
    accounts = {a["name"]: a for a in done.run.phases[0].accounts().values()}
    lists = accounts["FPEnumerateExt2"]
    assert lists["errors"] > 5 and lists["failed"] == 0
    assert {"code": NO_OBJECT, "n": lists["errors"]} in lists["results"]
    assert accounts["FPOpenFork"]["failed"] == 1
    assert sum(a["failed"] for a in accounts.values()) == 1
    for by, running in tops.items():
        events = [json.loads(line) for line in stop(running).out.splitlines()]
        steps = [e for e in events if e["event"] == "step"]
        wrong = [row for step in steps for row in step["rows"] if row["errors"]]
        assert sum(row["errors"] for row in wrong) == 1, (by, wrong)
        assert sum(step["errors"] for step in steps) == 1, by
