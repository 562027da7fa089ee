# SPDX-License-Identifier: GPL-2.0-or-later
"""One recording of one client, judged by strace: the proof of the counts that make check-quick has.

test_hidden_calls.py has more of them, of lantest's tests.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from netatalk import Server
from recording import RawClient, stopped
from scope import Scope, wait_asleep
from stracing import COMPARED, by_class, read_calls, strace

STATS, SIZE = 100, 300_000


def test_a_recording_has_every_call_that_strace_sees(
    scope: Scope, guests: Server, tmp_path: Path
) -> None:
    with strace(guests, tmp_path / "calls"):
        client = RawClient(guests.port)
        (pid,) = guests.sessions()
        running = scope.record(guests)
        running.wait_recording()
        client.create("judged")
        fork = client.open("judged")
        client.send(client.write_frame(fork, os.urandom(SIZE)) + client.read_frame(fork, SIZE))
        client.send(b"".join(client.stat_frame() for _ in range(STATS)))
        assert client.replies(2 + STATS) == [0] * (2 + STATS)
        client.close_fork(fork)
        client.delete("judged")
        afpd = (pid, guests.pid)  # whom a session tells of each change: asleep after it
        wait_asleep(afpd)
        run = stopped(running)
        client.close()
    assert run.complete and run.saved["books"] and not run.open_books() and not run.losses()
    assert {w["key"] for w in run.saved["warnings"]} == {"traced"}
    (phase,) = run.phases
    begin = phase.saved["start_ns"]
    inside = [
        call
        for call in read_calls(tmp_path / "calls")
        if begin <= call.at_ns < begin + phase["elapsed"]
    ]
    judge = sum((by_class(inside, each) for each in afpd), Counter())
    ours = phase.by_class("afpd")
    assert judge["stat"] > STATS and judge["write"] and judge["unlink"]
    assert {kind: ours[kind] for kind in COMPARED} == {kind: judge[kind] for kind in COMPARED}
