# SPDX-License-Identifier: GPL-2.0-or-later
"""Watching live: a million logins, and how soon a busy server is watched."""

from __future__ import annotations

import json
import subprocess
import time
from statistics import median

from lab import OUT, REPO, Client, Lab, bench_program
from stats import Result, figure

LOGINS = 1_000_000
ATTACHES = 9


def live_logins(lab: Lab, how: str) -> list[Result]:
    """A day of logins at the watch of top: each is counted, and the memory stays as it is."""
    Client([bench_program("bench_logins"), str(LOGINS)], OUT).finish()
    rows = [json.loads(line) for line in (OUT / "out").read_text().splitlines()]
    last, early = rows[-1], rows[1]
    mib = (last["rss_kib"] - early["rss_kib"]) / 1024
    rate = f"{last['logins'] / last['s']:,.0f} logins a second"
    remark = f"{early['rss_kib'] / 1024:.0f} MiB after {early['logins']:,} logins"
    return [
        figure("logins not counted", last["logins"] - last["counted"], "logins", how, rate, goal=0),
        figure("lost meanwhile", last["lost"], "events", how, goal=0),
        figure("memory grown since", mib, "MiB", how, remark, goal=1),
    ]


def attach(lab: Lab, how: str) -> list[Result]:
    """From the start of the command until the server is watched."""
    times = [_attach(lab) for _ in range(ATTACHES)]
    remark = f"({min(times):.2f}..{max(times):.2f})"
    return [figure("attach to a server", median(times), "s", how, remark, goal=0.5)]


def _attach(lab: Lab) -> float:
    command = [str(REPO / "build/afpscope"), "slow", "-p", str(lab.server.port), "-d", "1"]
    begun = time.monotonic()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        if "watching process" not in (said := process.stderr.readline()):
            raise RuntimeError(f"slow did not begin: {said}")
        took = time.monotonic() - begun
        process.stderr.read()
    return took
