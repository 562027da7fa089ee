# SPDX-License-Identifier: GPL-2.0-or-later
"""A terminal of a given width, in which a command runs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Sequence

from netatalk import BOUND, USERS


def on_terminal(command: Sequence[str], columns: int = 80, timeout: float = 60) -> tuple[int, str]:
    """Exit status, and what it prints there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 50, columns, 0, 0))
    line = [*BOUND, *command]
    quiet = subprocess.DEVNULL
    env = os.environ | {"NO_COLOR": "1", "AFPSCOPE_PASSWORD": USERS["bench1"]}
    running = subprocess.Popen(line, stdin=quiet, stdout=theirs, stderr=quiet, env=env)
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error
        while piece := os.read(ours, 65536):
            said += piece
    os.close(ours)
    return running.wait(timeout), said.decode().replace("\r\n", "\n")
