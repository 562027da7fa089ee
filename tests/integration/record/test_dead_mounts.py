# SPDX-License-Identifier: GPL-2.0-or-later
"""File systems whose daemon is stopped: no command waits for them, and none leaves processes there.

Tests user/host/filesystem.c, patient.c.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from disturbed import within
from places import LittleServer, little_server
from scope import REPO, Done, Scope, wait_until

QUICK_S = 7  # beside the seconds of the watch: one that waits does not end
AFP_CONF = "[Global]\nlog file = /vol/log\nlog level = default:debug\n[v]\npath = /vol\n"


@pytest.fixture(scope="module")
def slowfs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("slowfs") / "slowfs"
    line = ["gcc", "-O1", "-I/usr/include/fuse3", "-o", program]
    subprocess.run([*line, REPO / "tests/doctor/slowfs.c", "-lfuse3"], check=True)
    return program


@contextlib.contextmanager
def mounted(slowfs: Path, below: Path, at: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Its daemon, which the caller may stop."""
    at.mkdir()
    with subprocess.Popen([slowfs, below, at]) as daemon:
        try:
            wait_until(at.is_mount, 10, "the mount")
            yield daemon
        finally:
            daemon.kill()
            subprocess.run(["umount", "-l", at], check=True)


@pytest.fixture
def dead(slowfs: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[LittleServer]:
    """A server of which the volume, or all files, are on a file system whose daemon is stopped."""
    root, below = tmp_path / "root", tmp_path / "below"
    conf = (root if request.param == "volume" else below) / "etc/netatalk/afp.conf"
    conf.parent.mkdir(parents=True)
    conf.write_text(AFP_CONF)
    if request.param == "volume":
        below.mkdir()
        at = root / "vol"
    else:
        (below / "vol").mkdir()
        at = root
    with (
        mounted(slowfs, below, at) as daemon,
        little_server(1234, 1235, root=root, work="/vol") as server,
        server.client() as client,
    ):
        client.ask()
        os.kill(daemon.pid, signal.SIGSTOP)
        try:
            yield server
        finally:  # the server may read a file of its own when it ends
            os.kill(daemon.pid, signal.SIGCONT)


def left(session: int) -> list[int]:
    """Processes of this session that there are."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and os.getsid(int(folder.name)) == session:
                found.append(int(folder.name))
    return found


# Place: file system whose server or daemon does not answer (a volume, or all of the server's
#   files) | exact; under a second in all for what is asked of it, at most 16 processes that end
#   with the command; what it would have said is "not seen"
@pytest.mark.parametrize(
    ("dead", "name"),
    [
        *(("volume", name) for name in ("check", "doctor")),
        *(("root", name) for name in ("check", "record", "top", "slow", "exporter")),
    ],
    indirect=["dead"],
)
def test_a_dead_mount_delays_no_command(scope: Scope, dead: LittleServer, name: str) -> None:
    args = {
        "check": [],
        "doctor": ["-d", "1", "--no-save"],
        "record": ["-d", "1", "--no-save"],
        "top": ["-n", "2", "-b"],
        "slow": ["-d", "1"],
        "exporter": ["--listen", "127.0.0.1:0"],
    }[name]
    where = f"--port={dead.port}" if name != "check" else f"--pid={dead.pid}"

    def run() -> Done:
        running = scope.start([str(scope.binary), name, where, *args])
        if name == "exporter":
            running.wait_for("http://")
            running.process.terminate()
        done = running.finish()
        wait_until(lambda: not left(running.process.pid), 5, "processes that it left to end")
        return done

    within(2 + QUICK_S, run)
