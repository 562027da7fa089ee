# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that log in and out while they work, and a server that has no place for them.

Tests client/store/login.c, client/work/mix/mix_client.c, user/drive/places.c, user/attach/others.c.
"""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from afpclient import AfpClient
from netatalk import Server
from scheduling import in_check
from scope import (
    INTERRUPTED,
    OK,
    REFUSED,
    USAGE,
    Done,
    PinnedServer,
    Scope,
    both_cpus,
    left_on,
    wait_until,
)
from wardens import login_again, nothing_is_left

MOST = 20  # "max connections"


@pytest.fixture
def small() -> Iterator[Server]:
    """A server with few places."""
    limit = f"max connections = {MOST}"
    with PinnedServer("forky", "dbd", both_cpus()[1], AFPD_GLOBAL=limit) as server:
        yield server


def phase_of(done: Done) -> dict[str, Any]:
    assert done.run, f"nothing was saved: {done}"
    (phase,) = done.run.saved["phases"]
    return phase


def actions_of(done: Done) -> dict[str, dict[str, Any]]:
    return {a["name"]: a for a in phase_of(done)["load"]["actions"]}


def storm(scope: Scope, server: Server, *args: str, **how: Any) -> Done:
    command = scope.command(server, "--ramp=0", *args, tool="load", **how)
    return scope.execute(command, save=True)


MIXED = """[mix]
files = 3
file_size = 20K
[actions]
login = 2
read = 1
save = 1
"""


# Each way with one of the two methods; with the other one, too: make check-judges.
HOW = {
    "closed": "dhx2",
    "open": "cleartext",
    "mixed": "cleartext",
    "users": "dhx2",
    "threads": "cleartext",
}


@pytest.mark.parametrize(
    ("how", "uam"), in_check(itertools.product(HOW, ["dhx2", "cleartext"]), HOW.items())
)
def test_both_sides_count_logins(
    scope: Scope, sqlite: Server, tmp_path: Path, how: str, uam: str
) -> None:
    mix, users = tmp_path / "mix.ini", tmp_path / "users"
    mix.write_text(MIXED)
    users.write_text("bench1,secret1\nbench2,secret1\n")
    more = {
        "open": ["--rate", "20"],
        "mixed": [f"--mix={mix}"],
        "users": ["--users", str(users)],
        "threads": ["--threads", "3"],
    }
    args = ["-d", "2", "-n", "4", "--mix=login-storm", *more.get(how, [])]
    done = storm(scope, sqlite, *args, uam=uam).expect(OK)
    assert done.run
    assert not done.run.open_books()
    assert not done.run.losses()
    kinds = actions_of(done)
    assert kinds["login"]["n"] > 3 and not kinds["login"]["failed"]
    assert kinds["logout"]["n"] >= kinds["login"]["n"] - 4 and not kinds["logout"]["failed"]
    phase = phase_of(done)
    ours = {c["name"]: c["ops"] for c in phase["commands"]}
    logins, logouts = ours["FPLogin"], ours["FPLogout"]
    # in a closed loop those that began in the measured time and ended later do not count
    assert kinds["login"]["n"] <= logins <= kinds["login"]["n"] + 4
    assert kinds["logout"]["n"] <= logouts <= kinds["logout"]["n"] + 4
    assert logins == ours["FPOpenVol"] == ours["FPGetSessionToken"]
    assert logouts <= logins <= logouts + 4
    served = {a["name"]: a["requests"] for a in phase["ledger"]["requests"]}
    for name, count in ours.items():
        assert served[name] == count, name
    nothing_is_left(sqlite)


@pytest.mark.parametrize("clients", [4, 12])
def test_logins_beside_a_user_are_ours(scope: Scope, small: Server, clients: int) -> None:
    """Connections that have ended, or were refused, are told from those of others."""
    user = AfpClient(small.port)
    try:
        running = scope.start(
            scope.command(small, "-d", "3", f"-n{clients}", "--mix=login-storm", tool="load"),
            save=True,
        )
        wait_until(lambda: bool(left_on(small)), 60, "the load")
        end = time.monotonic() + 4
        while time.monotonic() < end:
            user.stat_root()
            time.sleep(0.1)
        done = running.finish(60).expect(OK if clients == 4 else REFUSED)
    finally:
        user.close()
    assert done.run and not done.run.open_books()
    assert "Others: 1 connections of other clients made " in done.out
    seen = phase_of(done).get("connections")
    if clients == 12:
        assert seen is None, "connections that ended in a flood of refused ones are not all known"
        return
    assert seen["others"] == 1 and seen["other_requests"] > 0
    sent = {c["name"]: c["ops"] for c in phase_of(done)["commands"]}
    # and DSIOpenSession, which is no command
    assert seen["our_requests"] == sum(sent.values()) + sent["FPLogin"]


def test_a_full_server_refuses_logins_and_locks_nobody_out(scope: Scope, small: Server) -> None:
    """12 clients of 14 sessions: of 12 more the server has place for six."""
    done = storm(scope, small, "-d", "2", "-n", "12", "--mix=login-storm").expect(REFUSED)
    login = actions_of(done)["login"]
    assert login["failed"] > 0 and login["n"] > login["failed"]
    assert "the server refuses the session" in done.out and "max connections" in done.out
    assert done.run and not done.run.open_books()
    assert phase_of(done)["load"]["lost"] == 0
    login_again(small)
    nothing_is_left(small)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_login_storm_that_ends_early_locks_nobody_out(
    scope: Scope, small: Server, number: int
) -> None:
    command = scope.command(
        small, "-n", "8", "-d", "600", "--watch=off", "--mix=login-storm", tool="load"
    )
    running = scope.start(command)
    wait_until(lambda: len(small.sessions()) > 12, 60, "logins")
    running.signal(number)
    if number == signal.SIGINT:
        running.finish(60).expect(INTERRUPTED)
    login_again(small)
    nothing_is_left(small)


def test_where_nobody_can_log_in(scope: Scope, tmp_path: Path) -> None:
    command = [str(scope.binary), "load", str(tmp_path), "--mix=login-storm"]
    scope.execute(command).expect(USAGE, "needs an AFP server")
