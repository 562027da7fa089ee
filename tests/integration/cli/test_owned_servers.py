# SPDX-License-Identifier: GPL-2.0-or-later
"""The servers of the tests end with the tests, also when these are killed: none is left running."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from netatalk import HERE
from scope import wait_until

OWNER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from netatalk import Server
from gluster import Gluster
from afs import Cell
with {server} as server:
    print({pids}, flush=True)
    time.sleep(100)
"""


@pytest.mark.parametrize(
    ("server", "pids"),
    [
        ('Server("forky", AFPD_MEMORY="64M")', "server.pid, server.metad"),
        pytest.param("Gluster()", "server.pid", marks=pytest.mark.judges),
        pytest.param("Cell()", "*server.pid.values()", marks=pytest.mark.judges),
    ],
    ids=["netatalk", "gluster", "openafs"],
)
def test_they_end_when_the_tests_are_killed(server: str, pids: str) -> None:
    script = OWNER.format(server=server, pids=pids)
    command = [sys.executable, "-c", script, str(HERE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout
        found = [int(word) for word in owner.stdout.readline().split()]
        assert found
        assert all(alive(pid) for pid in found)
        owner.kill()
    wait_until(lambda: not any(alive(pid) for pid in found), 30, "the servers to end", step=0.2)


def test_one_ends_that_was_just_starting() -> None:
    script = OWNER.format(server='Server("forky", AFPD_MEMORY="64M")', pids="server.pid")
    with subprocess.Popen([sys.executable, "-c", script, str(HERE)], stdout=-1) as owner:
        wait_until(lambda: bool(ports_of(owner.pid)), 30, "its instance", step=0.001)
        (port,) = set(ports_of(owner.pid))
        owner.kill()
    conf = f"/inst/{port}/afp.conf"

    def gone() -> bool:
        lines = command_lines()
        return not ports_of(owner.pid) and not any(conf in line for line in lines)

    wait_until(gone, 60, "it to end", step=0.2)


def ports_of(owner: int) -> list[str]:
    """Of the servers that end with this process."""
    return [
        line[-1]
        for line in command_lines()
        if line[0] == "bash" and line[-2].endswith("/down.sh") and line[-3] == str(owner)
    ]


def command_lines() -> list[list[str]]:
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found.append(file.read_text(errors="replace").split("\0")[:-1])
    return [line for line in found if len(line) > 3]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
