# SPDX-License-Identifier: GPL-2.0-or-later
"""A server with faults (faults.py), clients at work on it, and afpscope doctor.

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faults import NONE, Fault, Part, Site, Tally
from load import Waits, Working, tallied
from netatalk import BOUND, Server
from samba import Samba

TICKS = os.sysconf("SC_CLK_TCK")
OWNER = "lab"  # the file in an instance's folder that has the pid of its owner


@dataclass(frozen=True)
class How:
    """cpus: the server's, the clients'; calm_s: how long doctor looks before there is a fault."""

    seconds: int
    cpus: tuple[int, int]
    programs: dict[str, Path]
    calm_s: int = 3


@dataclass
class Row:
    """Faults, each in a dose, on a server of this suite with this CNID scheme, under a load."""

    faults: list[tuple[Fault, int]]
    load: str
    cnid: str
    suite: str

    @property
    def is_smb(self) -> bool:
        """It is Samba."""
        return self.cnid == "smb"

    def url(self, address: str) -> str:
        """What a load is told of a server that is reached there."""
        return f"smb://bench1@{address}/share1" if self.is_smb else f"afp://bench1@{address}/vol1"

    def parts(self) -> list[tuple[Fault, int, Part]]:
        """Each with the fault that says by which way its clients come."""
        seen: dict[Part, tuple[Fault, int, Part]] = {}
        for fault, dose in self.faults:
            for part in fault.load(self.load, dose):
                if part not in seen or fault.way:
                    seen[part] = (fault, dose, part)
        return list(seen.values())


@dataclass
class Seen:
    """What clients waited without the faults and with them, and what doctor said."""

    calm: Waits = field(default_factory=Waits)
    with_: Waits = field(default_factory=Waits)
    extra_s: float = 0
    share_failed: float = 0
    run: dict[str, Any] = field(default_factory=dict)
    before: dict[str, Any] = field(default_factory=dict)  # what doctor said without the faults

    def add(self, calm: Waits, with_: Waits) -> None:
        self.extra_s += with_.extra_s(calm)
        failed = with_.failed / max(1, with_.n * with_.may_fail) - calm.failed / max(1, calm.n)
        lost = with_.lost / max(1, with_.clients)
        self.share_failed = max(self.share_failed, min(1, failed), lost)
        for all_, more in ((self.calm, calm), (self.with_, with_)):
            all_.n += more.n
            all_.seconds += more.seconds
            all_.failed += more.failed
            all_.clients += more.clients
            all_.lost += more.lost

    def harm(self) -> dict[str, Any]:
        """
        share_of_waiting is of clients' waiting. share_failed is of what they asked, of the kinds of
        which some failed, or of the clients, if more of them lost their sessions. extra_ms is what
        the faults add to what a client asks for, on the average.
        """
        with_, calm = self.with_, self.calm
        return {
            "share_of_waiting": self.extra_s / with_.seconds if with_.seconds else 0,
            "share_failed": self.share_failed,
            "extra_ms": self.extra_s / max(1, with_.n) * 1e3,
            "calm": {"n": calm.n, "seconds": calm.seconds, "failed": calm.failed},
            "with": {
                "n": with_.n,
                "seconds": with_.seconds,
                "failed": with_.failed,
                "lost": with_.lost,
            },
        }


def diagnose(port: int, seconds: int) -> dict[str, Any]:
    """run.json, and the screen and the exit status beside it."""
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "run.json"
        command = ["doctor", "-p", str(port), "-d", str(seconds), "--no-save", f"--json={out}"]
        line = [*BOUND, os.environ["AFPSCOPE"], *command]
        done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        run: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {}
        return run | {"screen": done.stdout, "status": done.returncode, "stderr": done.stderr}


Span = tuple[float, float]


def watched(run: dict[str, Any], began: float) -> Span:
    """When doctor watched, by the monotonic clock: what it does before and after is work, too."""
    phases = run.get("phases") or [{}]
    begin = phases[0].get("start_ns", 0) / 1e9 or began
    elapsed = run.get("figures", {}).get("elapsed", {}).get("value")
    return begin, begin + elapsed / 1e9 if elapsed else time.monotonic()


def _cpu_s(pids: Sequence[int]) -> float:
    """CPU time of live processes."""
    total = 0.0
    for pid in pids:
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += (int(words[11]) + int(words[12])) / TICKS
    return total


def _busy_s(cpu: int) -> float:
    """How long a CPU was not idle."""
    for line in Path("/proc/stat").read_text().splitlines():
        if line.startswith(f"cpu{cpu} "):
            words = [int(word) for word in line.split()[1:9]]
            return (sum(words) - words[3] - words[4]) / TICKS
    return 0


def _owned(folder: Path) -> None:
    (folder / OWNER).write_text(str(os.getpid()))


@contextlib.contextmanager
def _samba(row: Row, how: How, hooks: dict[str, str]) -> Iterator[Site]:
    more = {"SMB_CPU": str(how.cpus[0])} | hooks
    more["SMB_SHARE"] = (
        f"guest ok = yes\nforce create mode = 0666\n{hooks.get('SMB_SHARE', '')}".strip()
    )
    with Samba(row.suite, **more) as server:
        _owned(server.root.parent / f"smb-inst-{server.port}")
        yield Site(
            server.port, server.pid, None, server.root, server.share1, *how.cpus, how.programs, ""
        )


@contextlib.contextmanager
def up(row: Row, how: How, faulty: bool) -> Iterator[Site]:
    """A server, with the hooks of its faults or without."""
    hooks: dict[str, str] = {}
    for fault, dose in row.faults:
        if faulty or not fault.apart:
            hooks |= fault.started_with(dose, how.programs)
    if row.is_smb:
        with _samba(row, how, hooks) as site:
            yield site
        return
    hooks = {"AFPD_CPU": str(how.cpus[0])} | hooks
    with Server(row.suite, cnid=row.cnid, **hooks) as server:
        _owned(server.root.parent / f"inst-{server.port}")
        again = f"export AFPD_KEEP=1; {server.restart_command()}"
        yield Site(
            server.port, server.pid, server.metad, server.root, server.vol1, *how.cpus,
            how.programs, again,
        )  # fmt: skip


class Exam:
    """One row: the loads, then the faults, then doctor; how long clients waited when."""

    def __init__(self, row: Row, how: How) -> None:
        self.row, self.how = row, how
        self.faults = row.faults
        self.hangs = any(fault.hangs for fault, _ in row.faults)
        self.loads: list[Working] = []
        self.tallies: list[Tally] = []
        self.calm: Span = (0, 0)
        self.with_: Span = (0, 0)
        self.cpu_others: float | None = None

    def _enter(self, stack: contextlib.ExitStack, which: str, site: Site) -> list[Tally]:
        """Makers of all faults; the tallies of their clients."""
        tallies = []
        for fault, dose in self.faults:
            strength = fault.doses[dose]
            number = float(strength) if isinstance(strength, float | int) else 0.0
            if make := getattr(fault, which):
                tallies.append(stack.enter_context(make(site, number)))
        return [tally for tally in tallies if tally]

    def _address(self, stack: contextlib.ExitStack, site: Site, fault: Fault, dose: int) -> str:
        """By which clients come. In no dose it is a way as well, where there is such a dose."""
        strength = fault.doses[dose]
        if fault.way and strength is not None:
            return stack.enter_context(fault.way(site, float(strength)))
        return f"127.0.0.1:{site.port}"

    def _calm(self, site: Site) -> tuple[dict[str, Any], Span]:
        """What doctor says when there is no fault, and when that was."""
        began = time.monotonic()
        run = diagnose(site.port, self.how.calm_s)
        return run, watched(run, began)

    def _apart(self, seen: Seen) -> tuple[list[Waits], Waits]:
        """What clients wait for on a server without the faults that are apart: loads, others."""
        loads = []
        with contextlib.ExitStack() as stack:
            site = stack.enter_context(up(self.row, self.how, False))
            for i, (fault, _, part) in enumerate(self.row.parts()):
                calm = fault.calm[i] if fault.calm else part
                address = self._address(stack, site, fault, NONE)
                loads.append(Working(calm, self.row.url(address), self.how.cpus[1]))
                stack.callback(loads[-1].end)
            for it in loads:
                it.begun()
            tallies = self._enter(stack, "company", site)
            seen.before, calm = self._calm(site)
        return [it.waits(*calm) for it in loads], tallied(tallies, *calm)

    def _load(self, stack: contextlib.ExitStack, site: Site) -> None:
        parts = self.row.parts()
        for fault, dose, part in parts:
            address = self._address(stack, site, fault, dose)
            before = site.children(site.pid)
            self.loads.append(Working(part, self.row.url(address), self.how.cpus[1]))
            stack.callback(self.loads[-1].end)
            if self.row.load == "victim" and not fault.own:
                self.loads[-1].begun()
                new = set(site.children(site.pid)) - set(before)
                site.only = tuple(new) if part is parts[-1][2] else ()
        for it in self.loads if not self.hangs else ():
            it.begun()

    def look(self, site: Site, seconds: int) -> dict[str, Any]:
        """What doctor says, and how much of the server's CPU others took meanwhile."""
        was = _busy_s(site.cpu), _cpu_s(site.all), time.monotonic()
        run = diagnose(site.port, seconds)
        busy, own = _busy_s(site.cpu) - was[0], _cpu_s(site.all) - was[1]
        self.cpu_others = max(0, busy - own) / (time.monotonic() - was[2])
        return run

    def run(self) -> Seen:
        row, how = self.row, self.how
        apart = how.calm_s > 0 and any(f.apart for f, _ in self.faults)
        seen = Seen()
        calm = self._apart(seen) if apart else None
        seconds = max(how.seconds, *(fault.seconds for fault, _ in self.faults))
        with contextlib.ExitStack() as stack:
            site = stack.enter_context(up(row, how, True))
            self._enter(stack, "before", site)
            self._load(stack, site)
            self.tallies = self._enter(stack, "company", site)
            if how.calm_s and not apart and not self.hangs:
                seen.before, self.calm = self._calm(site)
            with contextlib.ExitStack() as faults:
                self.tallies += self._enter(faults, "make", site)
                time.sleep(max(fault.settle_s for fault, _ in self.faults))
                began = time.monotonic()
                seen.run = self.look(site, seconds)
                self.with_ = watched(seen.run, began)
            time.sleep(0.2)
            for it in self.loads:
                it.end()
        self._weigh(seen, calm)
        return seen

    def _weigh(self, seen: Seen, apart: tuple[list[Waits], Waits] | None) -> None:
        """Adds up what clients waited, of the loads and others."""
        loads, others = apart or (
            [it.waits(*self.calm) for it in self.loads],
            tallied(self.tallies, *self.calm),
        )
        for it, without in zip(self.loads, loads, strict=True):
            if it.part.mix != "idle":
                seen.add(without, it.waits(*self.with_))
        seen.add(others, tallied(self.tallies, *self.with_))


def examine(row: Row, how: How) -> dict[str, Any]:
    """What doctor says of a server with all these faults, and how much harm they do."""
    exam = Exam(row, how)
    seen = exam.run()
    before = {key: seen.before.get(key) for key in ("diagnosis", "figures", "screen")}
    return seen.run | {"harm": seen.harm(), "cpu_others": exam.cpu_others, "before": before}
