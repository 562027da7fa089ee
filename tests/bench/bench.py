# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures afpscope against afp_lantest and other tracers on one real netatalk.

Interleaved runs, medians, spread as (min..max). Writes build/bench/results.json.
A new benchmark is a function that takes the Lab and returns results, and a row
of BENCHES. Needs root.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alarms import alarms_counts, alarms_same, alarms_slow
from exporter import exporter_cost, exporter_logins
from lab import (
    CONGESTION,
    LETTERS,
    OUT,
    REPO,
    Client,
    Lab,
    Sample,
    bench_program,
    compiled,
    own_network,
)
from lakes import lakes
from limit import speed_limit
from live import attach, crowd, forever, live_logins, top_cost
from logins import logins
from many import load_cost, load_idle, load_knee, load_known, load_watch
from oha import load_oha
from record import record_long, record_replayable, record_time
from smallfile import smallfile, smallfile_gfapi
from smb import smb_cost
from speed import speed_cpu, speed_peer, speed_receive
from starts import environment
from stats import Result, Side, absent, compare, figure
from tracers import TESTS, TRACERS, traced

HERE = Path(__file__).resolve().parent
EXCHANGES = 50_000
TRACER_ROUNDS = 3


def client_cpu(lab: Lab, how: str) -> list[Result]:
    """CPU time of the client for all twelve tests, and the least it could be: its goal."""
    runs = lab.all_twelve()
    floor = _floor(lab, how)
    return [
        floor,
        compare(
            "client CPU, twelve tests",
            Side("afpscope", [s.cpu_s for s in runs["off"]]),
            Side("afp_lantest", [s.cpu_s for s in runs["peer"]]),
            "s",
            how,
            goal=floor.value,
            noise=True,
        ),
    ]


def _floor(lab: Lab, how: str) -> Result:
    """No synchronous client does with less than one send and one recv."""
    program = compiled(HERE / "pingpong.c")
    cpus = [str(lab.client_cpu), str(lab.server_cpu)]

    def exchange(pattern: str) -> Sample:
        client = Client([str(program), pattern, str(EXCHANGES), *cpus], OUT)
        client.finish()
        return Sample(float((OUT / "out").read_text()), {})

    runs = lab.series(
        {name: lambda name=name: exchange(name) for name in ("lean", "split")},
        lab.pairs,
    )
    return compare(
        "client CPU, floor",
        Side("send + recv", [s.cpu_s for s in runs["lean"]]),
        Side("writev + 2 read", [s.cpu_s for s in runs["split"]]),
        "us/exchange",
        how,
    )


def test_times(lab: Lab, how: str) -> list[Result]:
    """The time of each test against the peer's, who cuts it to whole milliseconds."""
    runs = lab.all_twelve()

    def versus(name: str, value: Callable[[Sample], float]) -> Result:
        ours = Side("afpscope", [value(s) for s in runs["off"]])
        theirs = Side("afp_lantest", [value(s) for s in runs["peer"]])
        return compare(name, ours, theirs, "ms", how, goal=1.0, noise=True)

    return [
        *(
            versus(f"time of test {n}", lambda s, n=n: math.floor(s.ms[n]))
            for n in range(1, len(LETTERS) + 1)
        ),
        versus("time of all tests", Sample.sum_ms),
    ]


def watch_time(lab: Lab, how: str) -> list[Result]:
    """What watching the server adds to the tests."""
    few = lab.series({w: lambda w=w: lab.ours(w, TESTS) for w in ("off", "bpf")}, lab.pairs)
    return [
        compare(
            name,
            Side("watched", [s.sum_ms() for s in runs["bpf"]]),
            Side("not", [s.sum_ms() for s in runs["off"]]),
            "ms",
            how,
            goal=goal,
        )
        for name, runs, goal in (
            ("watched, twelve tests", lab.all_twelve(), 1.12),
            ("watched, tests 1 + 9 + 12", few, 1.30),
        )
    ]


def other_tracers(lab: Lab, how: str) -> list[Result]:
    """The same tests with other tools, and ours once more in their rounds, for scale."""
    found = [t for t in TRACERS if t.program]
    runs = lab.series(
        {
            "off": lambda: lab.ours("off", TESTS),
            "afpscope": lambda: lab.ours("bpf", TESTS),
            **{t.name: lambda t=t: traced(lab, t) for t in found},
        },
        min(lab.pairs, TRACER_ROUNDS),
    )
    plain = Side("not traced", [s.sum_ms() for s in runs["off"]])
    results = []
    for tracer in ("afpscope", *(t.name for t in TRACERS)):
        name = f"{tracer}, the tracers' rounds"
        if tracer in runs:
            with_it = Side("traced", [s.sum_ms() for s in runs[tracer]])
            results.append(compare(name, with_it, plain, "ms", how))
        else:
            results.append(absent(name, "ratio", "the program is not installed"))
    return results


# The goals of the watch, in ns over empty programs on the same tracepoints.
CALL_GOALS = {"watched": 250, "unwatched": 60}


def call_cost(lab: Lab, how: str) -> list[Result]:
    """What the watch adds to one system call and one switch, from the loops of tests/bpf."""
    Client([bench_program("bench_calls"), str(2 * lab.pairs + 1)], OUT).finish()
    rows = [json.loads(line) for line in (OUT / "out").read_text().splitlines()]
    return [_added(row, how) for row in rows if row["state"] != "none"]


def _added(row: dict[str, Any], how: str) -> Result:
    """One loop in one state: empty programs over none, the watch over empty programs."""
    call, state = row["call"], row["state"]
    over = "none" if state == "empty" else "empty"
    value = f"over_{over}"
    return figure(
        f"{call}, {state} over {over}",
        row[value],
        "ns",
        how,
        f"({row[value + '_low']:.0f}..{row[value + '_high']:.0f}), {row['ns']:.0f} ns in all",
        goal=None if call in ("switch", "request") else CALL_GOALS.get(state),
    )


@dataclass(frozen=True)
class Bench:
    name: str
    run: Callable[[Lab, str], list[Result]]
    twelve: frozenset[str] = frozenset()  # variants of Lab.all_twelve it looks at
    apart: bool = False  # client and server on two CPUs: throughput is about overlap
    free: bool = False  # nobody pinned: as a user finds them


BENCHES = (
    Bench("client-cpu", client_cpu, frozenset({"off", "peer"})),
    Bench("test-times", test_times, frozenset({"off", "peer"})),
    Bench("watch-time", watch_time, frozenset({"off", "bpf"})),
    Bench("tracers", other_tracers),
    Bench("call-cost", call_cost),
    Bench("smb-cost", smb_cost, apart=True),
    Bench("record-time", record_time),
    Bench("record-apart", record_time, apart=True),
    Bench("record-free", record_time, free=True),
    Bench("record-replayable", record_replayable),
    Bench("record-long", record_long),
    Bench("speed-peer", speed_peer, apart=True),
    Bench("speed-cpu", speed_cpu, apart=True),
    Bench("speed-receive", speed_receive, apart=True),
    Bench("speed-limit", speed_limit, apart=True),
    Bench("load-known", load_known, free=True),
    Bench("load-oha", load_oha, free=True),
    Bench("load-knee", load_knee, free=True),
    Bench("load-cost", load_cost, apart=True),
    Bench("load-idle", load_idle, free=True),
    Bench("load-watch", load_watch, apart=True),
    Bench("smallfile", smallfile, free=True),
    Bench("smallfile-gfapi", smallfile_gfapi, free=True),
    Bench("logins", logins),
    Bench("live-logins", live_logins, free=True),
    Bench("forever", forever, free=True),
    Bench("crowd", crowd, free=True),
    Bench("attach", attach, free=True),
    Bench("exporter-cost", exporter_cost, apart=True),
    Bench("exporter-logins", exporter_logins, free=True),
    Bench("top-cost", top_cost, free=True),
    Bench("alarms-same", alarms_same),
    Bench("alarms-slow", alarms_slow),
    Bench("alarms-counts", alarms_counts),
    Bench("environment", environment, free=True),
    Bench("lake", lakes, free=True),
)


def machine(lab: Lab) -> str:
    cpus = os.cpu_count()
    return (
        f"netatalk {lab.server.version} (CNID dbd), {platform.machine()}, {cpus} CPUs,"
        f" Linux {platform.release()}, TCP by {CONGESTION.read_text().strip()}"
    )


def load(when: str) -> Result:
    """The machine's own work disturbs; ours alone makes about 1."""
    return figure(f"load average {when}", os.getloadavg()[0], "of 1 minute", "cat /proc/loadavg")


def options() -> argparse.Namespace:
    last = max(os.sched_getaffinity(0))
    names = [bench.name for bench in BENCHES]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(names)} (default: all)"
    )
    parser.add_argument("--pairs", type=int, default=7, help="rounds (default: 7)")
    parser.add_argument("--quick", action="store_true", help="2 rounds")
    parser.add_argument(
        "--congestion",
        metavar="NAME",
        help="TCP congestion control (reno, cubic), in a network namespace of the bench's own"
        " (default: the machine's)",
    )
    parser.add_argument("--afpscope", type=Path, metavar="PROGRAM", help="default: build/afpscope")
    parser.add_argument("--server-cpu", type=int, default=last, metavar="CPU")
    parser.add_argument(
        "--client-cpu",
        type=int,
        metavar="CPU",
        help="default: the server's, not for speed-* and record-apart",
    )
    o = parser.parse_args()
    unknown = set(o.names) - set(names)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}: {', '.join(names)}")
    if o.pairs < 1:
        parser.error("--pairs: at least 1")
    o.pairs = 2 if o.quick else o.pairs
    return o


def placed(o: argparse.Namespace, bench: Bench) -> int:
    """The client's CPU."""
    if o.client_cpu is not None:
        return int(o.client_cpu)
    others = os.sched_getaffinity(0) - {o.server_cpu}
    return min(others) if bench.apart and others else int(o.server_cpu)


def main() -> int:
    o = options()
    if os.geteuid():
        sys.exit("bench.py: needs root (the server and eBPF): sudo make bench")
    again = f"--pairs {o.pairs} --server-cpu {o.server_cpu}"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the server goes down
    program = (o.afpscope or REPO / "build" / "afpscope").resolve()
    if o.afpscope:
        again += f" --afpscope {program}"
    if o.congestion:
        again += f" --congestion {o.congestion}"
        own_network(o.congestion)
    with Lab(program, o.pairs, o.server_cpu, o.server_cpu) as lab:
        print(machine(lab))
        results = [load("before")]
        chosen = [bench for bench in BENCHES if bench.name in o.names or not o.names]
        lab.twelve = frozenset().union(*(bench.twelve for bench in chosen))
        for bench in chosen:
            lab.client_cpu = placed(o, bench)
            lab.free = bench.free
            how = f"/usr/bin/python3 -B tests/bench/bench.py {bench.name} {again}"
            how += f" --client-cpu {lab.client_cpu}  # {lab.placement()}"
            print(f"{bench.name}: {lab.placement()}")
            results += bench.run(lab, how)
        results.append(load("after"))
    path = OUT / "results.json"
    path.write_text(json.dumps([r.saved() for r in results], indent=1) + "\n")
    print(f"results are in {path.relative_to(REPO)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
