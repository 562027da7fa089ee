# SPDX-License-Identifier: GPL-2.0-or-later
"""The process beside a command that cleans up if that is killed."""

from __future__ import annotations

import contextlib
from pathlib import Path

from scope import Running, children, kill

NAME = "afpscope-warden"


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
