# SPDX-License-Identifier: GPL-2.0-or-later
"""A replay to a server that has no room, does not let it in, or goes away: the same sentences and
exit codes as of other loads.

Tests user/replay/replay.c, replay_clients.c. Some 10 s.
"""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest
from netatalk import USERS, Server
from replaying import about, longer, office, recorded, rewrite, sums
from scope import (
    LOST,
    NO_SESSION,
    OK,
    REFUSED,
    PinnedServer,
    Running,
    Scope,
    both_cpus,
    kill,
    left_on,
    wait_until,
)

LONGER = 4 << 20


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory, scope: Scope, _dbd: Server) -> Path:
    """Of four sessions; each of its files is some MB long."""
    folder = recorded(scope, _dbd, tmp_path_factory.mktemp("errors") / "recording", office(4, 3))
    rewrite(folder, longer(LONGER))
    return folder


def slow(scope: Scope, server: Server, recording: Path, folder: Path) -> Running:
    """A replay that is under way for long."""
    args = (str(recording), "--speed", "0.05", "--watch", "off", "-o", str(folder))
    running = scope.start(scope.command(server, *args, tool="replay"))
    running.wait_for("The image is made")
    return running


def test_a_volume_without_room_is_refused_before(scope: Scope, recording: Path) -> None:
    with PinnedServer("forky", "dbd", both_cpus()[1], AFPD_VOL_SIZE="24M") as server:
        done = scope(server, str(recording), "--watch", "off", tool="replay")
        done.expect(REFUSED, "the files of this run take", "vol1 has ", "--force")
        assert not left_on(server)
        done = scope(server, str(recording), "--watch", "off", "--force", tool="replay")
        done.expect(REFUSED, "image: write: ", "is the volume full?")
        assert "connection was lost" not in done.err and not left_on(server)
        prepare = (str(recording), "--prepare", "--watch", "off", "--force")
        done = scope(server, *prepare, tool="replay").expect(REFUSED, "is the volume full?")
        assert "afpscope clean --all removes it" in done.err and len(left_on(server)) == 1
        scope(server, "--all", tool="clean").expect(OK)
        assert not left_on(server)


def test_a_volume_that_is_read_only_is_refused(scope: Scope, dbd: Server, recording: Path) -> None:
    line = scope.command(dbd, str(recording), "--watch", "off", tool="replay", volume="ro")
    done = scope.execute(line)
    assert done.status == REFUSED and "read-only" in done.err, done


def test_who_is_not_let_in_has_no_session(scope: Scope, dbd: Server, recording: Path) -> None:
    line = scope.command(dbd, str(recording), tool="replay", password="wrong")
    scope.execute(line).expect(NO_SESSION, "wrong user or password")
    line = scope.command(dbd, str(recording), tool="replay", volume="nowhere")
    scope.execute(line).expect(NO_SESSION, "nowhere")


def test_a_server_with_too_few_places_is_refused(scope: Scope, recording: Path) -> None:
    with PinnedServer("forky", "dbd", both_cpus()[1], AFPD_GLOBAL="max connections = 3") as small:
        done = scope(small, str(recording), "--watch", "off", tool="replay")
        assert done.status == NO_SESSION, done
        assert not left_on(small)
        wait_until(lambda: not small.sessions(), 20, "the end of all sessions")


def test_a_lost_session_is_said_and_the_others_go_on(
    scope: Scope, dbd: Server, recording: Path, tmp_path: Path
) -> None:
    args = (str(recording), "--speed", "0.3", "--watch", "off", "-o", str(tmp_path / "run"))
    running = scope.start(scope.command(dbd, *args, tool="replay"))
    running.wait_for("The image is made")
    os.kill(dbd.sessions()[-1], signal.SIGKILL)
    running.finish().expect(LOST)
    warnings = json.loads((tmp_path / "run" / "run.json").read_text())["warnings"]
    (told,) = (w["text"] for w in warnings if w["key"] == "lost")
    assert re.match(r"1 of \d sessions were lost: ", told)
    value = about(tmp_path / "run")
    assert 0 < sum(sums(value).values()) < value["planned"]


def test_a_server_that_goes_away_ends_it(
    scope: Scope, victim: PinnedServer, recording: Path, tmp_path: Path
) -> None:
    running = slow(scope, victim, recording, tmp_path / "run")
    kill([victim.pid, *victim.sessions()])
    done = running.finish().expect(LOST)
    assert USERS["bench1"] not in done.err
    assert "is still on volume vol1" in done.err and "afpscope clean -h" in done.err
    victim.restart()
    scope(victim, "--all", tool="clean").expect(OK)
    assert not left_on(victim)
