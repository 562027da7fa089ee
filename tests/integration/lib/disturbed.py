# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of conclusions and of durations, which other tests that run beside them may disturb."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable

from scope import Done

# What other tests may do to the machine meanwhile.
DISTURBED = {"other-programs", "other-writers", "cpu-short", "kernel-threads"}
LOOKS = 3


class Disturbed(AssertionError):
    """Others had the CPU or the disk: what is said of that may hide all else."""


def within(seconds: float, run: Callable[[], Done]) -> Done:
    """What a run did in less than these seconds; again where others may have had the CPU.

    One that waits for what it should not wait for takes longer each time.
    """
    for _ in range(LOOKS):
        done = run()
        if done.seconds < seconds:
            return done
    raise AssertionError(f"never within {seconds} s: {done}")


def undisturbed(test: Callable[..., None]) -> Callable[..., None]:
    """The test, looked at again where others disturbed it."""

    @functools.wraps(test)
    def run(*args: object, **named: object) -> None:
        for _ in range(LOOKS - 1):
            with contextlib.suppress(Disturbed):
                return test(*args, **named)
        return test(*args, **named)

    return run
