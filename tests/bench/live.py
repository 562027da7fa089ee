# SPDX-License-Identifier: GPL-2.0-or-later
"""Watching live: a million logins, how soon a busy server is watched, and what top costs."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

from lab import OUT, Client, Lab, bench_program
from netatalk import USERS
from stats import Result, figure

LOGINS = 1_000_000
ENDLESS = 100_000
CROWD = 50_000
KEPT_FREE = 2_000  # numbers of processes, for all others
AMONG = 10_000  # logins
ATTACHES = 9
RATE, CLIENTS, STEPS = 10_000, 20, 20


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


def forever(lab: Lab, how: str) -> list[Result]:
    """Memory of record and of the exporter, while sessions come and go, in both ways to watch."""
    results = []
    for way in ("bpf", "proc"):
        with tempfile.TemporaryDirectory() as name:
            for command in (
                ["record", "-o", f"{name}/run"],
                ["exporter", f"--textfile={name}/f.prom"],
            ):
                results += _grown(lab, [*command, f"--watch={way}"], way, how)
    return results


def _grown(lab: Lab, command: list[str], way: str, how: str) -> list[Result]:
    watched = [str(lab.afpscope), *command, "--pid", "{pid}"]
    Client([bench_program("bench_forever"), str(ENDLESS), *watched], OUT).finish()
    rows = [json.loads(line) for line in (OUT / "out").read_text().splitlines()]
    early = max(row["rss_kib"] for row in rows[:5])
    late = max(row["rss_kib"] for row in rows[5:])
    name = f"memory of {command[0]} ({way}), after {ENDLESS // 2:,} sessions and more"
    return [
        figure(name, 100 * (late / early - 1), "% more", how, f"{early / 1024:.0f} MiB", goal=5)
    ]


def crowd(lab: Lab, how: str) -> list[Result]:
    """What a login costs who watches, where many other processes are, and where none are."""
    results = []
    processes = _crowd_that_fits()
    for way in ("bpf", "proc"):
        few, many = (_cpu_of_a_login_us(lab, way, n) for n in (0, processes))
        name = f"CPU time of record ({way}) for a login beside {processes:,} processes"
        remark = f"{many:.0f} us; beside none {few:.0f} us"
        results.append(figure(name, many / few, "times", how, remark, goal=1.5))
    return results


def _crowd_that_fits() -> int:
    """As many as the host has numbers for: kernel.pid_max is 32,768 on small hosts."""
    numbers = int(Path("/proc/sys/kernel/pid_max").read_text())
    taken = int(Path("/proc/loadavg").read_text().split()[3].split("/")[1])
    return max(0, min(CROWD, numbers - taken - KEPT_FREE))


def _cpu_of_a_login_us(lab: Lab, way: str, processes: int) -> float:
    with tempfile.TemporaryDirectory() as name:
        watched = [str(lab.afpscope), "record", "-o", f"{name}/run", f"--watch={way}"]
        line = [bench_program("bench_crowd"), str(processes), bench_program("bench_forever")]
        Client([*line, str(AMONG), *watched, "--pid", "{pid}"], OUT).finish()
    rows = [json.loads(line) for line in (OUT / "out").read_text().splitlines()]
    first, last = rows[0], rows[9]
    return 1e6 * float(last["cpu_s"] - first["cpu_s"]) / (last["logins"] - first["logins"])


def attach(lab: Lab, how: str) -> list[Result]:
    """From the start of the command until the server is watched."""
    times = [_attach(lab) for _ in range(ATTACHES)]
    remark = f"({min(times):.2f}..{max(times):.2f})"
    return [figure("attach to a server", median(times), "s", how, remark, goal=0.5)]


def _attach(lab: Lab) -> float:
    command = [str(lab.afpscope), "slow", "-p", str(lab.server.port), "-d", "1"]
    begun = time.monotonic()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        if "watching process" not in (said := process.stderr.readline()):
            raise RuntimeError(f"slow did not begin: {said}")
        took = time.monotonic() - begun
        process.stderr.read()
    return took


def top_cost(lab: Lab, how: str) -> list[Result]:
    """CPU time of top itself, step by step, at about 10,000 requests a second."""
    user = "bench1"
    load = [str(lab.afpscope), "load", "-h", "127.0.0.1", "-p", str(lab.server.port), "-s", "vol1"]
    load += ["-u", user, "-w", USERS[user], "--uam", "cleartext", "--watch=off", "--no-probe"]
    load += [f"--clients={CLIENTS}", "--mix=browse", f"--rate={RATE}", f"--duration={STEPS + 30}"]
    top = [str(lab.afpscope), "top", "-p", str(lab.server.port), "--json", "-n", str(STEPS)]
    results = []
    with tempfile.TemporaryDirectory() as name:
        client = Client(load, Path(name))
        try:
            for view in ("command", "session", "file"):
                results += _cost([*top, f"--by={view}"], view, how)
        finally:
            client.process.terminate()
            client.process.wait()
    return results


def _cost(command: list[str], view: str, how: str) -> list[Result]:
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    *steps, end = (json.loads(line) for line in out.splitlines())
    steps = [s for s in steps if s["requests"]]
    rate = median(s["requests"] / s["step_ns"] * 1e9 for s in steps)
    remark = f"{rate:,.0f} requests/s"
    goal = None if view == "file" else 2
    own = median(100 * s["own_cpu_ns"] / s["step_ns"] for s in steps)
    programs = median(100 * s["programs_ns"] / s["step_ns"] for s in steps)
    return [
        figure(f"CPU of top by {view}", own, "% of a CPU", how, remark, goal=goal),
        figure(f"its programs, by {view}", programs, "% of a CPU", how, remark),
        figure(f"lost by {view}", end["lost"], "events", how, goal=0),
    ]
