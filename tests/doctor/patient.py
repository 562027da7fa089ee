# SPDX-License-Identifier: GPL-2.0-or-later
"""A server with one fault (faults.py), clients at work on it, and afpscope doctor.

AFPSCOPE names the binary. Needs root.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faults import Fault, Site, programs
from netatalk import USERS, Server


@contextlib.contextmanager
def loaded(fault: Fault, level: int, address: str, seconds: float, cpu: int) -> Iterator[None]:
    """Clients at work in the block."""
    clients = fault.clients or int(fault.strength[level])
    more = [o.format(fault.strength[level]) for o in fault.load]
    command = [
        *("taskset", "-c", str(cpu), os.environ["AFPSCOPE"], "load", "--no-save"),
        *("--watch=off", "--no-probe", "--uam=cleartext", "-v", "--ramp=1"),
        *(f"--clients={clients}", f"--mix={fault.mix}", f"--think={fault.think_s}"),
        *("--files=20" if fault.mix in ("browse", "office") else "--seed=1",),
        *(f"--duration={seconds}", *more, f"afp://bench1@{address}/vol1"),
    ]
    env = os.environ | {"AFPSCOPE_PASSWORD": USERS["bench1"]}
    with tempfile.TemporaryFile("w+") as err, tempfile.TemporaryDirectory() as folder:
        command[-1:-1] = ["--at", f"1.5 touch {folder}/begun"]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=err, stderr=err, env=env
        )
        try:
            while not Path(folder, "begun").exists():
                if process.poll() is not None:
                    err.seek(0)
                    raise RuntimeError(f"load ended with {process.returncode}: {err.read()}")
                time.sleep(0.05)
            yield
        finally:
            if process.poll() is None:
                process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            if process.poll() is None:
                process.kill()
                process.wait()


def diagnose(port: int, seconds: int, rung: str = "auto") -> dict[str, Any]:
    """run.json, and the screen and the exit status beside it."""
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "run.json"
        command = ["doctor", "-p", str(port), "-d", str(seconds), "--no-save", f"--json={out}"]
        command.append(f"--watch={rung}")
        line = [os.environ["AFPSCOPE"], *command]
        done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if not out.exists():
            raise RuntimeError(f"doctor ended with {done.returncode}: {done.stderr}")
        run: dict[str, Any] = json.loads(out.read_text())
        run |= {"screen": done.stdout, "status": done.returncode, "stderr": done.stderr}
        return run


@dataclass(frozen=True)
class How:
    """cpus: the server's, the clients'; cnid: instead of the fault's; rung: of doctor."""

    seconds: int
    cpus: tuple[int, int]
    suite: str = "forky"
    cnid: str = ""
    rung: str = "auto"


def examine(faults: Sequence[tuple[Fault, int]], how: How) -> dict[str, Any]:
    """The run of a doctor who looks at a server with all these faults, each in its strength."""
    hooks = {"AFPD_CPU": str(how.cpus[0])}
    seconds = max(how.seconds, *(fault.seconds for fault, _ in faults))
    with contextlib.ExitStack() as stack:
        made = programs(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        for fault, level in faults:
            hooks |= fault.started_with(level, made)
        cnid = how.cnid or faults[0][0].cnid
        server = stack.enter_context(Server(how.suite, cnid=cnid, **hooks))
        site = Site(
            server.port, server.pid, server.metad, server.root, server.vol1, *how.cpus, made
        )
        for fault, level in faults:
            if fault.before:
                stack.enter_context(fault.before(site, fault.strength[level]))
        loads = {(f.mix, f.load, f.clients, f.way): (f, level) for f, level in faults}
        for fault, level in loads.values():
            address = f"127.0.0.1:{site.port}"
            if fault.way:
                address = stack.enter_context(fault.way(site, fault.strength[level]))
            stack.enter_context(loaded(fault, level, address, seconds + 40, how.cpus[1]))
        for fault, level in faults:
            stack.enter_context(fault.make(site, fault.strength[level]))
        time.sleep(max(fault.settle_s for fault, _ in faults))
        return diagnose(site.port, seconds, how.rung)
