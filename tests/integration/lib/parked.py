# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of servers share that answer in any order, in any thread: Samba and nfs-ganesha.

A request of theirs may be parked: a thread leaves it, and another one, or the same one later, does
the rest of it.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from netatalk import BOUND
from samba import SUITES
from scheduling import in_check
from scope import OK, Done, Run, Running, Scope, wait_until
from stracing import tracer_of
from tracefile import read

CALL = re.compile(r"(\w+)\(")


def suites(*checked: str) -> list[Any]:
    """Debian's suites for a fixture or a test; those that are not named as further judges."""
    return in_check(SUITES, checked)


def recorded(
    scope: Scope, kind: str, port: int, act: Callable[[], object], has_ended: Callable[[], bool]
) -> Done:
    """A recording of what clients do, until their connections have ended."""
    running = scope.record(None, "--kind", kind, "--port", str(port))
    running.wait_recording()
    act()
    wait_until(has_ended, 10, "the clients to end")
    return ended(running)


def watch(scope: Scope, what: str, port: int, *args: str) -> Running:
    """top or slow, once it watches."""
    running = scope.start([str(scope.binary), what, "--port", str(port), *args])
    running.wait_for(": watching process ")
    return running


def ended(running: Running) -> Done:
    running.signal(signal.SIGINT)
    return running.finish().expect(OK)


def assert_times_add_up(run: Run) -> None:
    """Every nanosecond of a request is in a part, or in the time for which it was parked."""
    assert not run.open_books() and not run.losses()
    for account in run.phases[0].accounts().values():
        assert "handed" not in account and account["times"] is not None
        known = sum(account["times"].values()) + account.get("parked_ns", 0)
        assert known + account["unexplained_ns"] == account["service_ns"]
        assert account.get("parked", 0) <= account["requests"]


def assert_trace(run: Run, folder: Path, role: str, *commands: str) -> None:
    """A record of each request, these commands among them, and of each of its thread's calls for
    it. Those of a request that was parked are those until then."""
    names = json.loads((folder / ".layout.json").read_text())["names"]["command_t"]
    requests, calls = read(folder / "requests").records, read(folder / "calls").records
    accounts = {a["name"]: a for a in run.phases[0].accounts().values()}
    made = Counter((c.session, c.dsi_id, c.command) for c in calls)
    found = Counter(names[str(r.command)] for r in requests)
    assert found == +Counter({name: a["requests"] for name, a in accounts.items()})
    assert {*commands} <= found.keys()
    for name, account in accounts.items():
        mine = [r for r in requests if names[str(r.command)] == name]
        parked = [r for r in mine if not r.own_ns]
        assert len(parked) == account.get("parked", 0)
        assert sum(r.time_ns for r in mine) == account["service_ns"]
        for r in mine:
            n = made[r.session, r.dsi_id, r.command]
            assert n if r in parked else n == r.calls > 0
        calls_of = sum(p["calls"] for p in account["parts"] if p["role"] == role)
        assert sum(made[r.session, r.dsi_id, r.command] for r in mine) == calls_of
    subprocess.run(["babeltrace2", folder], stdout=subprocess.DEVNULL, check=True, timeout=60)
    assert not run.losses() and not run.open_books()


@contextlib.contextmanager
def straced(pid: int, out: Path) -> Iterator[None]:
    """The calls of each thread, and of the processes that it forks, in a file OUT.NUMBER, with the
    bytes that they moved."""
    command = [*BOUND, "strace", "-f", "-ff", "-qq", "-yy", "-xx", "-s", "4096"]
    command += ["-e", "signal=none"]
    process = subprocess.Popen([*command, "-o", str(out), "-p", str(pid)])
    wait_until(lambda: tracer_of(pid) == process.pid, 10, "strace to attach")
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def calls_in(file: Path, port: int) -> Iterator[tuple[str, str, bytes | None]]:
    """Of a file of straced(): each call, its line, and the bytes that it moved if it is one on a
    connection of this port's; None: it is not."""
    for line in file.read_text().splitlines():
        found = CALL.match(line)
        if not found:
            continue
        ours = f":{port}->" in line.split(", ")[0]
        data = bytes.fromhex("".join(re.findall(r"\\x([0-9a-f]{2})", line))) if ours else None
        yield found[1], line, data
