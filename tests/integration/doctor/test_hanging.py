# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests that hang: what has no answer yet counts, and no share is of more than all.

The judge is the clock: cnid_metad is stopped for a known time.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from afpclient import AfpClient
from netatalk import Server
from recording import OPEN_VOLUME
from scope import OK, PinnedServer, Run, Scope, children, kill, processes_of

SECONDS = 4
SHARE = re.compile(r"(\d+(?:\.\d+)?)[\s\x1f]?%")


@contextlib.contextmanager
def hanging(server: Server, n: int) -> Iterator[list[float]]:
    """Sessions that hang in FPOpenVol, and when each was begun."""
    assert server.metad
    begun: list[float] = []

    def work() -> None:
        begun.append(time.monotonic())
        AfpClient(server.port).close()

    threads = [threading.Thread(target=work) for _ in range(n)]
    os.kill(server.metad, signal.SIGSTOP)
    try:
        for thread in threads:
            thread.start()
        yield begun
    finally:
        os.kill(server.metad, signal.SIGCONT)
        for thread in threads:
            thread.join()


def shares(text: str) -> list[list[float]]:
    """Of each sentence and table row."""
    return [[float(x) for x in SHARE.findall(line)] for line in text.splitlines()]


def test_a_request_without_an_answer_is_request_time(scope: Scope, victim: PinnedServer) -> None:
    running = scope.record(victim, "-d", str(SECONDS))
    running.wait_recording()
    with hanging(victim, 2) as begun:
        done = running.finish()
        hung_s = sum(time.monotonic() - at for at in begun)
    run = done.run
    assert run
    account = run.phases[0].accounts()[OPEN_VOLUME]
    assert account["requests"] == 0 and account["begun"] == 2
    assert 2 * SECONDS - 2 < account["service_ns"] / 1e9 <= hung_s
    assert all(share <= 100 for line in shares(done.out) for share in line), done.out
    said = r"2 requests had no answer when the watch ended: (9\d|100)% of all request time"
    assert re.search(said, done.out.replace("\n  ", " ")), done.out
    assert re.search(r"Server \d+\.\d+s of requests in 4\.\d+s: CNID", done.out), done.out
    busy = sum(session["busy_ns"] for session in run.saved["sessions"])
    assert 2 * SECONDS - 2 < busy / 1e9 < 2 * SECONDS + 0.2


@contextlib.contextmanager
def stopped_databases(server: Server) -> Iterator[None]:
    assert server.metad
    pids = children(server.metad)
    assert pids
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def texts_of(run: Run) -> dict[str, str]:
    return {finding["key"]: finding["text"] for finding in run.saved["findings"]}


def test_a_connection_that_was_handed_to_a_stopped_process_waits_for_that_one(
    scope: Scope, victim: PinnedServer
) -> None:
    """cnid_metad, which handed it on, is idle meanwhile, but does not keep it waiting."""
    AfpClient(victim.port).close()  # cnid_dbd is there
    running = scope.record(victim, "-d", "60")
    running.wait_recording()
    with stopped_databases(victim):
        begun = time.monotonic()
        thread = threading.Thread(target=lambda: AfpClient(victim.port).close())
        thread.start()
        time.sleep(2)
        held_ns = (time.monotonic() - begun) * 1e9
    thread.join()
    running.signal(signal.SIGINT)
    run = running.finish().run
    assert run
    inside = run.phases[0].accounts()[OPEN_VOLUME]["inside"]
    assert held_ns / 2 < inside["stopped"] and inside["idle"] < held_ns / 10, inside
    assert texts_of(run)["cnid-stopped"]
    said = r"; in that wait cnid_dbd was paused for (9\d|100)%"
    assert re.search(said, texts_of(run)["cnid"]), run.saved["findings"]


def test_a_wait_that_goes_on_is_in_what_the_cnid_server_did(
    scope: Scope, victim: PinnedServer
) -> None:
    """Of what was answered before the stop, it was on a CPU: that is not what was waited for."""
    with contextlib.closing(AfpClient(victim.port)) as client:
        running = scope.record(victim, "-d", "60", "-v")
        running.wait_recording()
        client.create("before")
        thread = threading.Thread(target=client.create, args=("after",))
        with stopped_databases(victim):
            thread.start()
            time.sleep(2)
            running.signal(signal.SIGINT)
            done = running.finish()
        thread.join()
    assert done.run
    texts = texts_of(done.run)
    of_all = re.search(r"waited for it: (\d+)% of all", texts["cnid-stopped"])
    in_wait = re.search(r"in that wait cnid_dbd was paused for (\d+)%", texts["cnid"])
    assert of_all and in_wait and int(in_wait[1]) >= int(of_all[1]) > 80, texts
    assert re.search(r"while it waited, cnid_dbd: not\s+seen", done.out), done.out


def test_what_comes_for_a_stopped_session_is_said_to_wait_unread(
    scope: Scope, victim: PinnedServer
) -> None:
    with contextlib.closing(AfpClient(victim.port)) as client:
        running = scope.record(victim, "-d", "60")
        running.wait_recording()
        client.stat_root()
        (session,) = children(victim.pid)
        thread = threading.Thread(target=client.stat_root)
        os.kill(session, signal.SIGSTOP)
        try:
            thread.start()
            time.sleep(1.5)
            running.signal(signal.SIGINT)
            done = running.finish()
        finally:
            os.kill(session, signal.SIGCONT)
        thread.join()
    assert done.run
    said = texts_of(done.run)["afpd-stopped"]
    assert "between requests: what came waited unread, in no request's time" in said
    assert said.endswith(f"; pid {session} in state T"), said
    assert said in " ".join(done.out.split()), done.out


def test_a_stop_from_before_the_watch_counts_once(scope: Scope, victim: PinnedServer) -> None:
    with contextlib.closing(AfpClient(victim.port)) as client:
        (session,) = children(victim.pid)
        thread = threading.Thread(target=client.stat_root)
        os.kill(session, signal.SIGSTOP)
        try:
            thread.start()
            time.sleep(1.5)
            run = scope.record(victim, "-d", "2").finish().run
        finally:
            os.kill(session, signal.SIGCONT)
        thread.join()
    assert run
    # It stood all the time, however long that was beside other tests.
    stopped_ns, (phase,) = run.saved["figures"]["stopped_for"]["value"], run.phases
    assert 0.5 < stopped_ns / phase["elapsed"] < 1.25, (stopped_ns, phase["elapsed"])


def test_top_counts_what_has_no_answer_in_the_step_in_which_it_waits(
    scope: Scope, victim: PinnedServer
) -> None:
    running = scope.start(
        [str(scope.binary), "top", "--port", str(victim.port), "--by=user", "-n", "4", "-b"]
    )
    running.wait_for(": watching process ")
    with hanging(victim, 1):
        out = running.finish().out
    assert all(share <= 100 for line in shares(out) for share in line), out
    row = re.findall(r"^bench1 +(\d\.\d\d) .*$", out, re.M)
    assert row and float(row[-1]) > 0.95, out


def test_top_counts_all_sessions_of_the_server(scope: Scope, victim: PinnedServer) -> None:
    """Those from before it began, which do nothing, and those that begin and end meanwhile."""
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(contextlib.closing(AfpClient(victim.port)))
        command = [str(scope.binary), "top", "--port", str(victim.port), "--json"]
        running = scope.start([*command, "-d", "0.5"])
        running.wait_for(": watching process ")
        time.sleep(1)
        busy = stack.enter_context(contextlib.closing(AfpClient(victim.port)))
        for _ in range(10):
            AfpClient(victim.port).close()
        until = time.monotonic() + 1.2
        while time.monotonic() < until:
            busy.stat_root()
        running.signal(signal.SIGINT)
        events = [json.loads(line) for line in running.finish().expect(OK).out.splitlines()]
    steps = [e for e in events if e["event"] == "step"]
    assert (steps[0]["sessions"], steps[0]["active"]) == (3, 0)
    assert steps[-1]["sessions"] == 4
    # The last step may have begun when nobody was busy any more.
    assert (4, 1) in {(e["sessions"], e["active"]) for e in steps}
    assert all(step["active"] <= step["sessions"] for step in steps)
    assert sum(step["active"] for step in steps) >= 11


@pytest.mark.parametrize("name", ["record", "doctor"])
def test_a_server_that_is_restarted_ends_the_watch_and_is_named(
    scope: Scope, victim: PinnedServer, name: str, tmp_path: Path
) -> None:
    """The new one is not watched: the first lines say so."""
    saved, before = tmp_path / "run.json", victim.pid
    command = [str(scope.binary), name, "-p", str(victim.port), "-d", "60", "--no-save"]
    running = scope.start([*command, "--json", str(saved)])
    running.wait_recording()
    at = time.monotonic()
    with contextlib.closing(AfpClient(victim.port)) as client:
        client.stat_root()
    time.sleep(1)
    victim.restart()
    done = running.finish(40)
    first = " ".join(done.out.split("\n\n")[0].split())
    said = rf"^ENDED: the server's main process {before} ended after [\d.]+s, and the watch "
    said += rf"with it; it was restarted as process {victim.pid}\b"
    assert re.search(said, first), done.out
    end = json.loads(saved.read_text())["server_end"]
    assert end["restarted_pid"] == victim.pid
    assert 1e9 < end["after_ns"] < (time.monotonic() - at) * 1e9


def test_a_server_that_ends_for_good_is_not_called_restarted(
    scope: Scope, victim: PinnedServer
) -> None:
    running = scope.record(victim, "-d", "60")
    running.wait_recording()
    kill(processes_of(victim))
    run = running.finish(40).run
    assert run and run.saved["server_end"]["restarted_pid"] is None
    (warning,) = [w["text"] for w in run.saved["warnings"] if w["key"] == "server"]
    assert warning.endswith("and the watch with it; none was seen on its port since")
