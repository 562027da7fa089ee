# SPDX-License-Identifier: GPL-2.0-or-later
"""Which processes are meant: a name that several have is no choice.

Tests user/host/owner.c.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from scope import (
    AS_NOBODY,
    NO_SESSION,
    NOBODY,
    OK,
    Scope,
)

# Takes the name and listens; says its port.
FAKE = """
import os, signal, socket, sys
open("/proc/self/comm", "w").write(sys.argv[1])
kind = socket.SOCK_DGRAM if sys.argv[3] == "udp" else socket.SOCK_STREAM
ear = socket.socket(socket.AF_INET, kind)
ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
ear.bind(("127.0.0.1", int(sys.argv[2])))
if sys.argv[3] == "tcp":
    ear.listen()
print(ear.getsockname()[1], flush=True)
signal.pause()
"""
CGROUPS = [Path("/sys/fs/cgroup") / name for name in ("unified", "systemd", "")]


@contextlib.contextmanager
def started(command: Sequence[str]) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A program that says a number when it is ready; its whole group ends."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True, cwd="/"
    )
    assert process.stdout
    try:
        yield process, int(process.stdout.readline())
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


@contextlib.contextmanager
def called(
    name: str, *args: str, port: int = 0, kind: str = "tcp", before: Sequence[str] = AS_NOBODY
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [*before, sys.executable, "-c", FAKE, name, str(port), kind, *args]
    with started(command) as found:
        yield found


def test_of_two_units_of_one_name_one_must_be_named(scope: Scope) -> None:
    root = next(r for r in CGROUPS if (r / "cgroup.procs").exists())
    tops = [root / f"afpscope-{who}-{os.getpid()}" for who in ("system", "user")]
    unit = f"toy-{os.getpid()}"
    folders = [top / f"{unit}.service" for top in tops]
    line = [str(scope.binary), "record", "--kind", "any", "-d", "1", "--no-save", "--unit"]
    with contextlib.ExitStack() as stack:
        for folder in (*tops, *folders):
            folder.mkdir()
            stack.callback(folder.rmdir)
        mine, _ = stack.enter_context(called("toy", before=()))
        theirs, _ = stack.enter_context(called("toy"))
        for folder, process in zip(folders, (mine, theirs), strict=True):
            (folder / "cgroup.procs").write_text(str(process.pid))
            stack.callback((root / "cgroup.procs").write_text, str(process.pid))
        done = scope.execute([*line, unit])
        done.expect(NO_SESSION, f"2 units are called {unit}", "the path of one")
        assert f"{folders[0]} (process {mine.pid} of user 0)" in done.err
        assert f"{folders[1]} (process {theirs.pid} of user {NOBODY})" in done.err
        scope.execute([*line, str(folders[0])]).expect(OK)


def test_programs_of_one_name_are_listed(scope: Scope) -> None:
    name = f"toy{os.getpid()}"
    with called(name, before=()) as (mine, _), called(name) as (theirs, _):
        line = [str(scope.binary), "record", "--exe", name, "-d", "1", "--no-save"]
        done = scope.execute(line).expect(NO_SESSION, f"2 processes are called {name}")
    assert f"{mine.pid} {name} (user 0" in done.err
    assert f"{theirs.pid} {name} (user {NOBODY}" in done.err
