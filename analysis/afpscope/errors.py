# SPDX-License-Identifier: GPL-2.0-or-later
"""How a command ends when it cannot do what was asked: one line and an exit code."""

from __future__ import annotations

OK, FAILED, USAGE, GATED, UNTRUSTED = 0, 1, 2, 3, 4
NOTHING = 5
BROKEN, UNSURE = 7, 8  # of load: a limit is broken; it cannot be told whether one is
INTERRUPTED = 130


class Failure(Exception):
    """What failed, on which thing, and what to do; `code` as in docs/exit-codes.md."""

    def __init__(self, text: str, code: int = FAILED) -> None:
        super().__init__(text)
        self.code = code


def wrong_use(text: str) -> Failure:
    """A wrong option or operand."""
    return Failure(text, USAGE)
