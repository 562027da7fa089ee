# SPDX-License-Identifier: GPL-2.0-or-later
"""The process beside a command that cleans up if that is killed, and what it has to achieve."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from afpclient import AfpClient
from netatalk import Server
from scope import Running, children, kill, left_on, wait_until

NAME = "afpscope-warden"
LOGIN_S = 5


def name_of(pid: int) -> str:
    """Its own name; "" if it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def wardens(running: Running) -> list[int]:
    return [pid for pid in children(running.process.pid) if name_of(pid) == NAME]


def kill_with_warden(running: Running) -> None:
    """So that nobody cleans up."""
    kill(wardens(running))
    running.process.kill()
    running.process.wait()


def login_again(server: Server) -> None:
    """A new user gets in."""
    end = time.monotonic() + LOGIN_S
    while True:
        try:
            AfpClient(server.port).close()
            return
        except (OSError, RuntimeError):
            assert time.monotonic() < end, f"no login within {LOGIN_S} s"
            time.sleep(0.05)


def nothing_is_left(server: Server) -> None:
    wait_until(lambda: not left_on(server), 30, "the removal of the directory")
    wait_until(lambda: not server.sessions(), 10, "the end of all sessions")
