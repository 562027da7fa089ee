# SPDX-License-Identifier: GPL-2.0-or-later
"""The password of a run is nowhere in its memory while the tests go on, or a load.

Tests client/afp/open.c, client/uam/uam.c, user/drive/users.c.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import pytest
from fakes import BreakingProxy, hang_up
from netatalk import USERS, Server
from scope import BUILD, INTERRUPTED, Scope, left_on, wait_until

# Bytes of a client before its FPLogin, or its FPLoginCont, is whole.
GREETED, LOGGING_IN = 22, 150


def memory_holds(pid: int, word: bytes) -> list[str]:
    """Parts of a process's memory that hold a word."""
    found = []
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            where, rights, *_ = line.split()
            begin, end = (int(n, 16) for n in where.split("-"))
            if "rw" not in rights or end - begin > 1 << 30:
                continue
            with contextlib.suppress(OSError):
                if word in os.pread(memory.fileno(), end - begin, begin):
                    found.append(line)
    return found


@pytest.mark.parametrize(
    ("given", "uam"),
    [("option", "dhx2"), ("file", "cleartext"), ("environment", "dhx2"), ("url", "cleartext")],
)
def test_the_password_is_not_kept(
    scope: Scope, dbd: Server, tmp_path: Path, given: str, uam: str
) -> None:
    """In the memory of a run that has logged in, its arguments and environment included."""
    user = "bench1" if uam == "cleartext" else "longpw"
    word = USERS[user]
    (tmp_path / "word").write_text(word + "\n")
    where = ["-h", "127.0.0.1", "-p", str(dbd.port), "-s", "vol1", "-u", user, "--uam", uam]
    options = {
        "option": ["-w", word],
        "file": [f"--password-file={tmp_path / 'word'}"],
        "environment": [],
        "url": [f"afp://{user}:{word}@127.0.0.1:{dbd.port}/vol1"],
    }[given]
    # a sanitizer keeps copies of the environment and of what was freed
    line = [str(BUILD / "afpscope"), "lantest", "-f", "4", "-n", "20", *where, *options]
    env = {"AFPSCOPE_PASSWORD": word} if given == "environment" else None
    running = scope.start(line, env=env)
    wait_until(lambda: bool(left_on(dbd)), 20, "the test directory")
    found = memory_holds(running.process.pid, word.encode())
    running.signal(signal.SIGINT)
    running.finish(20).expect(INTERRUPTED)
    assert not found


@pytest.mark.parametrize(("uam", "after"), [("cleartext", GREETED), ("dhx2", LOGGING_IN)])
def test_nor_is_that_of_a_login_that_was_broken_off(
    scope: Scope, dbd: Server, uam: str, after: int
) -> None:
    """The connection of one client of a load ends while it logs in; the others work."""
    user = "bench1" if uam == "cleartext" else "longpw"
    word = USERS[user]
    with BreakingProxy(dbd.port, after, hang_up, doomed=4) as proxy:
        url = f"afp://{user}:{word}@127.0.0.1:{proxy.port}/vol1"
        line = [str(BUILD / "afpscope"), "load", "-n", "3", "-m", "browse", "-d", "150"]
        running = scope.start([*line, "--watch=off", "--no-probe", "--uam", uam, url])
        wait_until(lambda: bool(left_on(dbd)), 20, "the load's directory")
        wait_until(proxy.broken.is_set, 20, "the end of a login")
        wait_until(lambda: not memory_holds(running.process.pid, word.encode()), 20, "no password")
        running.signal(signal.SIGINT)
        running.finish(20).expect(INTERRUPTED)
