# SPDX-License-Identifier: GPL-2.0-or-later
"""This program as a process: its standard streams, and a ^C while it starts."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from pathlib import Path

from .errors import INTERRUPTED

# Names by which the package is run: python3 -m afpscope, or afpscope-COMMAND.
_PROGRAM = ("-m", "afpscope-")

# Set by ^C. The exception alone is not enough: where it is raised in a callback of C++ code, such
# as DuckDB reading a table, that code may drop it or turn it into an error of its own.
_interrupted = threading.Event()


def _leave(_number: int, _frame: object) -> None:
    os._exit(INTERRUPTED)


def _raise(_number: int, _frame: object) -> None:
    _interrupted.set()
    raise KeyboardInterrupt


def leave_on_interrupt() -> None:
    """Lets a ^C end the program while its modules are loaded: there is nothing to clean up."""
    if not Path(sys.argv[0] if sys.argv else "").name.startswith(_PROGRAM):
        return
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def raise_on_interrupt() -> None:
    """From here on ^C is KeyboardInterrupt, and interrupted() is true after it."""
    _interrupted.clear()
    if signal.getsignal(signal.SIGINT) in (_leave, signal.default_int_handler):
        signal.signal(signal.SIGINT, _raise)


def interrupted() -> bool:
    """Whether ^C was pressed since raise_on_interrupt()."""
    return _interrupted.is_set()


def hold_streams() -> None:
    """Opens the standard streams that were closed: the next file would take their number.

    Printing to such an output fails, as intended; messages are lost.
    """
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if fd else os.O_WRONLY)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def result_error() -> OSError | None:
    """Why what was printed could not be written; afterwards nothing more is written."""
    try:
        sys.stdout.flush()
    except OSError as e:
        # The interpreter flushes again at its end, and would repeat the error.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return e
    return None
