# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients of a server that go on while something else looks at it."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator

from netatalk import BOUND
from scope import Scope


@contextlib.contextmanager
def loaded(scope: Scope, place: str, *options: str) -> Iterator[None]:
    """A load of `place`, for a minute at most; its clients have begun."""
    flag = scope.folder / "at-work"
    flag.unlink(missing_ok=True)
    command = [*BOUND, str(scope.binary), "load", "--no-save"]
    command += ["--watch=off", "--no-probe", "--duration=60", *options]
    command += ["--at", f"0.3 touch {flag}", place]
    quiet = subprocess.DEVNULL
    running = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
    try:
        while not flag.exists():
            assert running.poll() is None
            time.sleep(0.05)
        yield
    finally:
        running.terminate()
        try:
            running.wait(10)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
