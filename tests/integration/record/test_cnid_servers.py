# SPDX-License-Identifier: GPL-2.0-or-later
"""CNID servers: each session's work is told from the server at the end of the very connection."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from netatalk import Server
from recording import CREATE_FILE, DELETE, OPEN_VOLUME, RawClient, gone, stopped
from scheduling import in_check
from scope import OK, PinnedServer, Run, Scope, both_cpus, children, wait_until

FILES = 100


@pytest.fixture(scope="module", params=in_check(["mysql", "mysql-tcp"], ["mysql"]))
def mysql(request: pytest.FixtureRequest) -> Iterator[Server]:
    """netatalk 4.5.1 on a disk, CNID in MariaDB, by its socket and by TCP."""
    with PinnedServer("forky", request.param, both_cpus()[1], AFPD_MEMORY="") as server:
        yield server


def create_and_delete(client: RawClient, n: int) -> None:
    for i in range(n):
        client.create(f"cnid {i}")
        client.delete(f"cnid {i}")


def syncs(account: dict[str, Any]) -> int:
    return sum(
        part["calls"]
        for part in account["parts"]
        if part["role"] == "cnid_dbd" and part["class"] == "sync"
    )


def check_waits(account: dict[str, Any]) -> None:
    """The server's work adds up to what afpd waited for it, and nothing else blocked."""
    times, inside = account["times"], account["inside"]
    assert times["cnid"] > 0
    assert times["other"] <= times["cnid"] / 20
    assert abs(sum(inside.values()) - times["cnid"]) <= times["cnid"] / 20
    assert inside["cpu"] > 0
    assert inside["unknown"] <= times["cnid"] / 10


def check(run: Run, program: str) -> None:
    run.assert_trustworthy()
    assert f"({program})" in run.saved["server"][program]
    assert "cnid_dbd" not in run.saved["server"]
    accounts = run.phases[0].accounts()
    for code in (CREATE_FILE, DELETE):
        assert accounts[code]["requests"] == FILES
        check_waits(accounts[code])
        assert syncs(accounts[code]) >= FILES


def test_a_database_server_is_the_cnid_server(scope: Scope, mysql: Server) -> None:
    """A connection from before the watch."""
    client = RawClient(mysql.port)
    create_and_delete(client, 1)
    running = scope.record(mysql)
    running.wait_recording()
    create_and_delete(client, FILES)
    run = stopped(running)
    client.close()
    gone(mysql)
    check(run, "mariadbd")


def test_a_database_server_is_found_once_it_is_asked(scope: Scope, mysql: Server) -> None:
    """Nobody is connected when the watch begins: its first requests are not told, which is said."""
    gone(mysql)
    running = scope.record(mysql)
    running.wait_recording()
    client = RawClient(mysql.port)
    create_and_delete(client, 5 * FILES)
    run = stopped(running)
    client.close()
    gone(mysql)
    assert not run.losses() and not run.open_books()
    assert "was found to be the server's while the watch went on" in run.warning("found")
    assert "mariadbd" in run.saved["server"]
    account = run.phases[0].accounts()[CREATE_FILE]
    assert account["times"]["other"] <= account["times"]["cnid"] / 20
    assert syncs(account) >= FILES


@pytest.mark.parametrize("down", ["meanwhile", "before"])
def test_what_a_new_cnid_server_did_before_it_was_found_is_a_loss(scope: Scope, down: str) -> None:
    """Another cnid_metad takes the place of one that was watched, or of none. Judged by /proc."""
    with Server("forky", AFPD_MEMORY="64M") as server:
        assert server.metad
        if down == "before":
            end_cnid_server(server)
        running = scope.record(server)
        running.wait_recording()
        if down == "meanwhile":
            client = RawClient(server.port)
            create_and_delete(client, FILES)
            client.close()
            end_cnid_server(server)
        conf = f"/inst/{server.port}/afp.conf"
        line = ["chroot", str(server.root), "/usr/sbin/cnid_metad", "-d", "-F", conf]
        with subprocess.Popen(line, stderr=subprocess.DEVNULL, start_new_session=True) as metad:
            wait_until(lambda: listens(server.port + 1), 20, "the new CNID server")
            client = RawClient(server.port)
            create_and_delete(client, 5 * FILES)
            time.sleep(2)  # it is looked for once a second
            create_and_delete(client, FILES)  # what it does since then is counted
            (dbd,) = children(metad.pid)
            run = stopped(running)
            judged = sum(reads_and_writes(pid) for pid in (dbd, metad.pid))
            client.close()
            metad.terminate()
    books = {book["name"]: book["ours"] for book in run.saved["books"]}
    counted = sum(
        books[f"cnid_dbd {pid} {what}"] for pid in (dbd, metad.pid) for what in ("syscr", "syscw")
    )
    assert counted > 0
    assert judged - 4 <= counted + run.losses() <= judged


def end_cnid_server(server: Server) -> None:
    assert server.metad
    for pid in (*children(server.metad), server.metad):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not listens(server.port + 1), 20, "the CNID server's end")


def listens(port: int) -> bool:
    with socket.socket() as s:
        return not s.connect_ex(("127.0.0.1", port))


def reads_and_writes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("sysc"))


LOGINS = 30


@contextlib.contextmanager
def before_all_others(server: Server) -> Iterator[None]:
    """afpd before its CNID server, and both before all else on their CPU.

    Who is woken has the CPU once afpd sleeps: until then it has not read, and later nothing else
    keeps it from reading.
    """
    assert server.metad
    first = (server.pid,), (server.metad, *children(server.metad))
    for priority, pids in zip((2, 1), first, strict=True):
        for pid in pids:
            os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(priority))
    try:
        yield
    finally:
        for pid in (server.pid, server.metad, *children(server.metad)):
            os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))


def test_the_first_wait_on_a_connection_is_known(scope: Scope, guests: Server) -> None:
    """FPOpenVol connects to the CNID server: cnid_metad reads first, then cnid_dbd answers."""
    RawClient(guests.port).close()
    gone(guests)
    with before_all_others(guests):
        running = scope.record(guests)
        running.wait_recording()
        for _ in range(LOGINS):
            RawClient(guests.port).close()
        gone(guests)
        run = stopped(running)
    run.assert_trustworthy()
    account = run.phases[0].accounts()[OPEN_VOLUME]
    assert account["requests"] == LOGINS
    times, inside = account["times"], account["inside"]
    assert sum(inside.values()) == times["cnid"] > 0
    assert inside["cpu"] > 0 and inside["unknown"] <= times["cnid"] * 3 / 4, inside


def test_two_volumes_have_two_cnid_servers(scope: Scope, guests: Server) -> None:
    """One session, both volumes by turns: each server's syncs are those of its volume's command."""
    client = RawClient(guests.port)
    first = client._volume
    name = b"vol2"
    reply = client.ask(bytes([24, 0, 0, 0x21, len(name)]) + name)
    second: int = struct.unpack_from(">H", reply, 4)[0]

    def by_turns(n: int) -> None:
        for i in range(n):
            client._volume = first
            client.create(f"two volumes {i}")
            client._volume = second
            client.create(f"two volumes {i}")
            client.delete(f"two volumes {i}")
        client._volume = first
        for i in range(n):
            client.delete(f"two volumes {i}")

    by_turns(1)
    running = scope.record(guests)
    running.wait_recording()
    by_turns(FILES)
    run = stopped(running)
    client.close()
    gone(guests)
    run.assert_trustworthy()
    accounts = run.phases[0].accounts()
    for code in (CREATE_FILE, DELETE):
        assert accounts[code]["requests"] == 2 * FILES
        check_waits(accounts[code])
        assert syncs(accounts[code]) >= 2 * FILES


def test_a_cnid_process_that_dies_under_a_test_is_followed_by_the_next(scope: Scope) -> None:
    """lantest looks between its tests; what the new one did before is a loss. Judged by /proc."""
    with PinnedServer("forky", "dbd", both_cpus()[1]) as server:
        assert server.metad
        running = scope.start(scope.command(server, "-n", "4", "-f", "58"), save=True)
        wait_until(lambda: busy_child(server.metad) > 0, 30, "a busy cnid_dbd")
        before = busy_child(server.metad)
        os.kill(before, signal.SIGKILL)
        run = running.finish().expect(OK).run
        (dbd,) = children(server.metad)
        judged = reads_and_writes(dbd)
    assert run and dbd != before and not run.open_books()
    books = {book["name"]: book["ours"] for book in run.saved["books"]}
    counted = sum(books[f"cnid_dbd {dbd} {what}"] for what in ("syscr", "syscw"))
    assert counted > 0
    assert judged - 4 <= counted + run.losses() <= judged


def busy_child(pid: int) -> int:
    """One that has done much; 0: none."""
    return next((child for child in children(pid) if reads_and_writes(child) > 1000), 0)
