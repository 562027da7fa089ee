# SPDX-License-Identifier: GPL-2.0-or-later
"""A session that the new server keeps waiting: others do what they may do only after it.

Tests client/work/replay/replay_order.c, replay_client.c. Some 8 s.
"""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import threading
import time
from pathlib import Path

import pytest
import replayplaces
from macclient import Mac
from netatalk import USERS, Server
from replaying import TRACE, about, sums
from scope import OK, Scope

HELD_S, STOPPED_S = 1.0, 1.5
CLOSE, DELETE, MAKE_FILE, LOCK, READ = 4, 8, 7, 59, 60


def lock(client: Mac, fork: int, unlock: bool = False) -> None:
    client.do(struct.pack(">BBHqq", LOCK, unlock, fork, 0, 10))


def read(client: Mac, fork: int) -> None:
    client.do(struct.pack(">BBHqq", READ, 0, fork, 0, 10))


def close(client: Mac, fork: int) -> None:
    client.do(struct.pack(">BBH", CLOSE, 0, fork))


def work(server: Server) -> None:
    """One has a file open and locked; when it has closed it, another one locks and removes it, and
    the folders in which it is."""
    with contextlib.closing(Mac(server.port)) as one, contextlib.closing(Mac(server.port)) as two:
        top = one.make(2, "top")
        below = one.make(top, "below")
        one.about(MAKE_FILE, below, b"", "file")
        fork = one.open_file(below, "file", 0x100)
        one.write(fork, 0, b"0123456789")
        lock(one, fork)
        time.sleep(HELD_S)
        read(one, fork)
        close(one, fork)
        fork = two.open_file(below, "file", 0x100)
        lock(two, fork)
        read(two, fork)
        lock(two, fork, unlock=True)
        close(two, fork)
        for folder, name in ((below, "file"), (top, "below"), (2, "top")):
            two.about(DELETE, folder, b"", name)


def has_open(pid: int, disk: Path) -> bool:
    with contextlib.suppress(OSError):
        for fd in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                file = Path(fd.readlink())
                if file.is_relative_to(disk) and file.is_file():
                    return True
    return False


def stop_who_has_a_file_open(server: Server, stopped: list[int]) -> None:
    """The first session that has, for a while. The image has no file: it is one of the replay."""
    until = time.monotonic() + 60
    while not stopped and time.monotonic() < until:
        for pid in [pid for pid in server.sessions() if has_open(pid, server.vol1)][:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                time.sleep(STOPPED_S)
                os.kill(pid, signal.SIGCONT)
                stopped.append(pid)
        time.sleep(0.005)


def test_what_was_open_is_closed_first(
    scope: Scope, guests: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFPSCOPE_PASSWORD", USERS["bench1"])
    running = scope.start(scope.recorder(guests, *TRACE, "-o", str(tmp_path / "recording")))
    running.wait_recording()
    work(guests)
    running.signal(signal.SIGINT)
    running.finish().expect(OK)
    stopped: list[int] = []
    stopper = threading.Thread(target=stop_who_has_a_file_open, args=(guests, stopped), daemon=True)
    stopper.start()
    to = tmp_path / "run"
    place = replayplaces.of_server(guests)
    line = place.line(scope, str(tmp_path / "recording"), "--watch", "off", "-o", str(to))
    done = scope.execute(line)
    stopper.join()
    assert stopped, done
    value = about(to)
    assert {what: n for what, n in sums(value).items() if n} == {"as_recorded": value["planned"]}
    assert value["unordered"] == 0 and value["waited"] > 0
    assert value["due_max_ns"] > (STOPPED_S - HELD_S) * 1e9 / 2
