# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients at work on a server, and how long they wait.

AFPSCOPE names the binary.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faults import Part, Tally
from netatalk import BOUND, USERS

FOREVER_S = 300
STUCK = 0.4  # a client without an answer for that share of the time waits for one


@dataclass
class Waits:
    """What clients asked for in some time: how often, how long it took all, how much failed."""

    n: int = 0
    seconds: float = 0
    failed: int = 0
    clients: int = 0
    lost: int = 0  # clients whose session broke off
    may_fail: float = 1  # what share of n is of the kinds of which some failed

    def extra_s(self, calm: Waits) -> float:
        """How many of the seconds would not have been waited without the fault."""
        mean = calm.seconds / calm.n if calm.n else 0
        return max(0, self.seconds - mean * self.n)


def tallied(tallies: list[Tally], begin: float, end: float) -> Waits:
    """What clients waited for in that time, up to its end."""
    out = Waits()
    for tally in tallies:
        with tally.lock:
            all_ = [*tally.ended, *((at, end, False) for at in tally.pending.values())]
        for at, to, failed in all_:
            if at < end and to >= begin:
                out.n += 1
                out.seconds += min(to, end) - at
                out.failed += failed and to < end
    return out


class Working:
    """One part of a load. begun() waits until its clients are at work."""

    def __init__(self, part: Part, url: str, cpu: int) -> None:
        self.part = part
        self._folder = tempfile.TemporaryDirectory()
        at = Path(self._folder.name)
        self._flag, self._json, self._err = at / "begun", at / "run.json", at / "err"
        command = [
            *(*BOUND, "taskset", "-c", str(cpu)),
            *(os.environ["AFPSCOPE"], "load", "--no-save", "--watch=off", "--no-probe"),
            *(["--uam=cleartext"] if url.startswith("afp") else []),
            *("--ramp=0", f"--clients={part.clients}"),
            *(f"--mix={part.mix}", f"--think={part.think_s}", *part.more),
            *("--at", f"0.3 touch {self._flag}", f"--json={self._json}"),
            *(f"--duration={FOREVER_S}", url),
        ]
        env = os.environ | {"AFPSCOPE_PASSWORD": USERS["bench1"]}
        with self._err.open("w") as err:
            quiet = subprocess.DEVNULL
            self._running = subprocess.Popen(command, stdin=quiet, stdout=err, stderr=err, env=env)
        self._saved: dict[str, Any] | None = None
        self._over = False

    def begun(self) -> None:
        while not self._flag.exists():
            if self._running.poll() is not None:
                said = self._err.read_text()
                raise RuntimeError(f"load ended with {self._running.returncode}: {said}")
            time.sleep(0.02)

    def end(self) -> None:
        """Its figures are known then, unless it hung. Once more: nothing."""
        if self._over:
            return
        self._over = True
        if self._running.poll() is None:
            self._running.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._running.wait(8)
        if self._running.poll() is None:
            self._running.kill()
            self._running.wait()
        with contextlib.suppress(OSError, ValueError):
            self._saved = json.loads(self._json.read_text())["phases"][0]["load"]
        self._folder.cleanup()

    def waits(self, begin: float, end: float) -> Waits:
        """From begin to end, by the monotonic clock."""
        clients = self.part.clients
        if not self._saved:
            return Waits(0, clients * (end - begin), 0, clients)
        origin = self._saved["begin_ns"] / 1e9
        out = Waits(clients=clients)
        for one in self._saved["each_client"]:
            out.lost += one["lost"] and begin <= origin + (one["last_ns"] or 0) / 1e9 <= end
        # Seconds of which at least half is in that time.
        first, last = max(0, round(begin - origin)), round(end - origin)
        for second in self._saved["seconds"][first:last]:
            out.n += second["n"]
            out.failed += second["failed"]
            out.seconds += second["sum_ns"] / 1e9
        all_s = clients * max(0, last - first)
        # Pauses are drawn at random: so long they may be, all of them.
        think = (out.n + 3 * math.sqrt(out.n + clients)) * self.part.think_s
        unknown = all_s - out.seconds - think
        if unknown > STUCK * all_s:
            out.seconds += unknown
        return out
