# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope doctor on servers with one fault each, and on healthy ones: who is named first?

matrix.py [-k NAME] [--levels 012] [--healthy N] [-d SECONDS]

Prints a line for each run, and how many named the right cause first. Needs root.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))
from faults import FAULTS, Fault, nothing
from patient import examine

REPO = Path(__file__).resolve().parents[2]
CPUS = (1, 0)  # of the server, of the clients

HEALTHY = (
    Fault("idle", (), (1, 10, 100), nothing, mix="idle", clients=0),
    Fault("browse", (), (1, 10, 100), nothing, think_s=0.5, clients=0),
    Fault("documents", (), (1, 10, 50), nothing, mix="office", think_s=1, clients=0),
    Fault("copy", (), (1, 2, 4), nothing, mix="batch-write", think_s=0, clients=0),
    Fault("read", (), (1, 2, 4), nothing, mix="batch-read", think_s=0, clients=0),
    Fault("backup", (), (1, 2, 4), nothing, mix="timemachine", think_s=0.05, clients=0),
    Fault("metadata", (), (1, 5, 20), nothing, mix="metadata", think_s=0.2, clients=0),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", default="", help="faults with this in their names")
    parser.add_argument("--levels", default="012", help="0 weak, 1 medium, 2 strong")
    parser.add_argument("--healthy", type=int, default=0, help="rounds of healthy runs")
    parser.add_argument("-d", type=int, default=5, metavar="SECONDS")
    parser.add_argument("-v", action="store_true", help="the screens, too")
    o = parser.parse_args()
    os.environ.setdefault("AFPSCOPE", str(REPO / "build" / "afpscope"))
    right = all_ = 0
    runs = [(f, level) for f in FAULTS for level in map(int, o.levels) if o.k in f.name]
    runs += [(f, level) for f in HEALTHY for level in range(3)] * o.healthy
    for fault, level in runs:
        if missing := [folder for folder in fault.needs if not Path(folder).exists()]:
            print(f"{fault.name}: skipped, this machine has no {missing[0]}")
            continue
        run = examine(fault, level, o.d, CPUS)
        is_ = run["diagnosis"]
        keys = [f["key"] for f in is_["findings"]]
        good = keys[0] in fault.found if keys else not fault.found
        weak = level == 0 and not keys
        all_ += 1
        right += good or weak
        mark = "ok  " if good else "weak" if weak else "BAD "
        f = {k: v["value"] for k, v in run["figures"].items()}
        times = f"p99 {(f['p99'] or 0) / 1e6:.1f} ms, {f['slow'] or 0:.0%} in slow ones"
        told = f"{is_['verdict']} {' '.join(keys)} ({f['requests']:.0f} requests, {times})"
        print(f"{mark} {fault.name} {level}: {told}", flush=True)
        if o.v or not (good or weak):
            print(run["screen"])
            shares = {k: round(v, 3) for k, v in f.items() if v}
            print("   ", shares, flush=True)
    print(f"{right} of {all_}")
    return right != all_


if __name__ == "__main__":
    sys.exit(main())
