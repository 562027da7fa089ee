# SPDX-License-Identifier: GPL-2.0-or-later
"""The probe alone: how it ends, and that it goes on over restarts of the server.

Tests user/main/probe.c, user/run/seconds.c.
"""

from __future__ import annotations

import signal
from typing import Any

from netatalk import Server
from scope import LOST, OK, Done, PinnedServer, Scope, crash, left_on


def phase_of(done: Done) -> dict[str, Any]:
    assert done.run, f"nothing was saved: {done}"
    (phase,) = done.run.saved["phases"]
    return phase


def test_a_probe_goes_on_after_the_server_was_restarted(scope: Scope, victim: PinnedServer) -> None:
    """What it found before and after is kept; the time between is said, and is in no latency."""
    running = scope.start(scope.command(victim, "--slo", "max=100s", tool="probe"), save=True)
    running.wait_for("3 actions", times=2)
    crash(victim)
    running.wait_for("a session again, after ")
    running.wait_for("3 actions", times=5)
    running.signal(signal.SIGINT)
    done = running.finish(30)
    assert done.status == LOST, done
    phase = phase_of(done)
    probe = phase["probe"]
    assert phase["complete"]
    (gap,) = probe["each_gap"]
    assert gap["to_ns"] - gap["from_ns"] == probe["gaps_ns"] > 10**9
    assert "ended the connection" in gap["why"], gap
    first, last = (round((gap[k] - probe["begin_ns"]) / 1e9) for k in ("from_ns", "to_ns"))
    counts = [s["n"] for s in probe["seconds"]]
    assert not any(counts[first + 1 : last]), "seconds without a session"
    assert sum(counts[:first]) >= 3
    assert sum(counts[last:]) >= 3
    assert sum(counts) == sum(a["n"] for a in probe["actions"])
    assert not any(a["failed"] for a in probe["actions"])
    assert f"without a session 1 time, for {probe['gaps_ns'] / 1e9:.2f}s" in done.out
    assert probe["slo"][0]["kept"] is not True
    assert not left_on(victim)


def test_a_probe_ends_with_an_interrupt(scope: Scope, sqlite: Server) -> None:
    running = scope.start(scope.command(sqlite, tool="probe"), save=True)
    running.wait_for("3 actions", times=2)
    running.signal(signal.SIGINT)
    done = running.finish(30).expect(OK)
    phase = phase_of(done)
    assert phase["complete"]
    looks = {a["name"]: a["n"] for a in phase["probe"]["actions"]}
    assert set(looks) == {"stat", "read 4 KiB", "write 4 KiB"}
    assert all(n >= 2 for n in looks.values())
    assert not left_on(sqlite)
