# SPDX-License-Identifier: GPL-2.0-or-later
"""A Samba whose main process ends while clients are at work: what was answered is counted.

The judge is tshark, for the replies that went over the wire. Tests user/main/record.c,
user/watch/bpf/slots.c.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from samba import COMMANDS, SUITES, Samba
from scope import OK, Scope, wait_until
from test_samba import OF_EACH, SIZE, counted
from wire import captured, wait_captured

FILES = 2000  # more than it has time for
CLIENTS = 3


@pytest.fixture
def samba(request: pytest.FixtureRequest) -> Iterator[Samba]:
    with Samba(request.param) as server:
        assert server.version.startswith(SUITES[request.param])
        (server.root / "tmp/block").write_bytes(b"x" * SIZE)
        yield server


def replies(capture: Path, port: int) -> Counter[str]:
    """Command -> how many replies, not counting interim ones."""
    final = "smb2.flags.response == 1 && smb2.nt_status != 0x103"
    out = subprocess.run(
        [
            *("tshark", "-n", "-r", capture, "-d", f"tcp.port=={port},nbss", "-Y", final),
            *("-T", "fields", "-e", "smb2.cmd"),
        ],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    return Counter(list(COMMANDS.values())[int(n)] for n in out.replace(",", " ").split())


# Place: a Samba whose main process is killed while clients are at work | what it had answered is
#   counted; that it ended is said
@pytest.mark.parametrize("samba", OF_EACH, indirect=True)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_what_was_answered_until_its_end_is_counted(
    scope: Scope, samba: Samba, number: signal.Signals
) -> None:
    with captured(samba.port) as capture:
        running = scope.record(None, "--kind", "smb", "--port", str(samba.port))
        running.wait_recording()
        clients = []
        for i in range(CLIENTS):
            work = "; ".join(f"put block f{i}-{k}" for k in range(FILES))
            line = samba.client_command(work)
            clients.append(
                subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
        wait_until(lambda: len(list(samba.share1.iterdir())) > 30 * CLIENTS, 60, "some files")
        os.kill(samba.pid, number)
        for client in clients:
            client.wait(60)
        wait_captured(samba.port, capture)
        found = replies(capture, samba.port)
    done = running.finish(60).expect(OK)
    assert f"the server's main process {samba.pid} ended after" in done.err + done.out
    assert done.run and counted(done.run)["count"] == found and found["CREATE"] > 30 * CLIENTS
    assert not done.run.losses() and not done.run.open_books()
    assert len([s for s in done.run.saved["sessions"] if s["requests"]]) == CLIENTS


# Place: a Samba that is started again while it is watched | said, with its new process
@pytest.mark.parametrize("samba", OF_EACH, indirect=True)
def test_a_server_that_is_restarted_is_named(scope: Scope, samba: Samba) -> None:
    running = scope.record(None, "--kind", "smb", "--port", str(samba.port))
    running.wait_recording()
    samba.client("ls")
    with samba.started_again() as pid:
        done = running.finish(60).expect(OK)
    assert f"was restarted as process {pid}" in " ".join((done.err + done.out).split())
    assert done.run and counted(done.run)["count"]["QUERY_DIRECTORY"]
