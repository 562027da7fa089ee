# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of conclusions, which other tests that run beside them may disturb."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable

# What other tests may do to the machine meanwhile.
DISTURBED = {"other-programs", "other-writers", "cpu-short", "kernel-threads"}
LOOKS = 3


class Disturbed(AssertionError):
    """Others had the CPU or the disk: what is said of that may hide all else."""


def undisturbed(test: Callable[..., None]) -> Callable[..., None]:
    """The test, looked at again where others disturbed it."""

    @functools.wraps(test)
    def run(*args: object, **named: object) -> None:
        for _ in range(LOOKS - 1):
            with contextlib.suppress(Disturbed):
                return test(*args, **named)
        return test(*args, **named)

    return run
