# SPDX-License-Identifier: GPL-2.0-or-later
"""How a command that loads a server is stopped, and what it survives while it waits.

Tests user/app/cmd.c, user/main/smallfile.c, user/drive/gun.c.
"""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from scope import INTERRUPTED, OK, PinnedServer, Scope, both_cpus, left_on, wait_until

FILES = ("-n", "2", "-f", "200", "--watch=off")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_within_half_a_second_are_one_stop(
    scope: Scope, tmp_path: Path, number: signal.Signals
) -> None:
    """What was measured is saved, and nothing is left: ^C twice."""
    line = [str(scope.binary), "smallfile", *FILES, "-l", "create,stat", "-d", "600", str(tmp_path)]
    running = scope.start(line, save=True)
    wait_until(lambda: len(list(tmp_path.glob("*/*/f.*"))) == 400, 60, "the files")
    for _ in range(3):
        running.signal(number)
        time.sleep(0.01)
    done = running.finish(60).expect(INTERRUPTED)
    assert "ended at once" not in done.err
    assert done.run
    assert not list(tmp_path.iterdir())


def test_a_timeout_that_signals_child_and_group_is_one_stop(scope: Scope, tmp_path: Path) -> None:
    line = [str(scope.binary), "smallfile", *FILES, "-l", "create,stat", "-d", "600", "--no-save"]
    done = scope.execute(["timeout", "3", *line, str(tmp_path)])
    assert "ended at once" not in done.err
    assert "INCOMPLETE" in done.out
    assert not list(tmp_path.iterdir())


def test_an_interrupt_ends_between_and_the_command(scope: Scope, tmp_path: Path) -> None:
    """As a terminal sends it: to both."""
    mark = tmp_path / "mark"
    line = [str(scope.binary), "smallfile", *FILES, "-l", "create,stat", "--no-save"]
    between = f"touch {mark}; sleep 60; rm {mark}"
    running = scope.start([*line, "--between", between, str(tmp_path / "new")])
    wait_until(mark.exists, 60, "the command between")
    begun = time.monotonic()
    running.signal(signal.SIGINT)
    running.finish(30).expect(INTERRUPTED)
    assert time.monotonic() - begun < 10
    assert mark.exists()
    assert not list((tmp_path / "new").iterdir())


@pytest.mark.limit(90)
def test_the_session_lives_while_the_command_waits(scope: Scope, tmp_path: Path) -> None:
    """For the gun, and for --between: longer than the server waits for a sign of life."""
    impatient = "tickleval = 8\ntimeout = 4"
    gun = tmp_path / "gun"
    ways = (("--gun", str(gun), "--gun-timeout", "100"), ("--between", "sleep 40"))
    with PinnedServer("forky", "dbd", both_cpus()[1], AFPD_GLOBAL=impatient) as server:
        lines = [scope.command(server, *FILES, *way, "-l", "create,stat", tool="smallfile")
                 for way in ways]  # fmt: skip
        waiting, between = (scope.start(line) for line in lines)
        waiting.wait_for("awaiting starting gun")
        time.sleep(40)
        gun.touch()
        for running in (waiting, between):
            done = running.finish(100).expect(OK)
            assert not done.messages, f"{done}"
        assert not left_on(server)
