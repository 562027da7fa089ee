# SPDX-License-Identifier: GPL-2.0-or-later
"""What rights the kernel says that a process has."""

from __future__ import annotations

import re
from pathlib import Path

from fakes import FakeServer
from scope import INTERRUPTED, Scope, wait_until
from wardens import wardens

SETUID, KILL, NET_ADMIN, SYS_ADMIN, PERFMON, BPF = 7, 5, 12, 21, 38, 39
SYS_NICE = 23
# What SECURITY.md says that is kept for the rest of a run: CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,
# CAP_SYS_PTRACE.
KEPT = {1, 2, 19}
EVERY = 41


def rights(process: int | str) -> tuple[int, int]:
    """Its user, and its capabilities, with those that it could take back or pass on. Of a thread:
    "PID/task/TID"."""
    return rights_in(Path(f"/proc/{process}/status").read_text())


def rights_in(text: str) -> tuple[int, int]:
    """The same, of what is in such a file."""
    user = re.search(r"^Uid:\t\d+\t(\d+)", text, re.M)
    sets = re.findall(r"^Cap(?:Inh|Prm|Eff):\t(\w+)", text, re.M)
    assert user and len(sets) == 3
    held = 0
    for each in sets:
        held |= int(each, 16)
    return int(user[1]), held


def has(process: int | str, *capabilities: int) -> list[int]:
    """Those of the capabilities that it has."""
    held = rights(process)[1]
    return [bit for bit in capabilities if held >> bit & 1]


def assert_kept(process: int, *more: int) -> None:
    """It has given up all rights but these, and no program that it starts gets them back."""
    wait_until(lambda: not has(process, SETUID), 60, "fewer rights")
    held, own = ({*has(one, *range(EVERY))} for one in (process, "self"))
    assert held == (KEPT | {*more}) & own, held
    assert "NoNewPrivs:\t1\n" in Path(f"/proc/{process}/status").read_text()


def threads(pid: int) -> list[str]:
    return [f"{pid}/task/{one.name}" for one in Path(f"/proc/{pid}/task").iterdir()]


def held_by_clean(scope: Scope, form: str) -> list[int]:
    """Rights that it still has when it has reached a server that says nothing; form: its URL, with
    {} for the port."""
    with FakeServer() as server:
        command = [str(scope.binary), "clean", form.format(server.port)]
        running = scope.start(command, env={"AFPSCOPE_PASSWORD": "secret1"})
        wait_until(lambda: server.accepted > 0, 10, "its connection")
        held = has(running.process.pid, SETUID, KILL, NET_ADMIN)
        running.process.kill()
        running.process.wait()
    return held


def held_by_load(scope: Scope, place: str, folder: Path) -> tuple[list[int], list[int]]:
    """Rights that any thread of a load still has when there are files in the folder, which is what
    others see of the place; and the warden beside it."""
    line = [str(scope.binary), "load", place, "-n", "2", "-d", "60", "--ramp", "0"]
    running = scope.start(line, env={"AFPSCOPE_PASSWORD": "secret1"})
    wait_until(lambda: any(folder.glob("LanTest-*/*")), 60, "its files")
    which = (SETUID, KILL, NET_ADMIN, BPF)
    held = {bit for one in threads(running.process.pid) for bit in has(one, *which)}
    of_warden = {bit for one in wardens(running) for bit in has(one, *which)}
    running.signal(2)
    running.finish(60).expect(INTERRUPTED)
    return sorted(held), sorted(of_warden)
