# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope doctor on servers with one fault each, and on healthy ones: who is named first?

matrix.py [-k NAME] [--levels 012] [--pairs] [--clients] [--healthy N] [-d SECONDS]
          [--suite SUITE] [--cnid SCHEME] [--rung proc] [--noisy]

Prints a line for each run, and how many named the right cause first. A weak fault need not be
named. Needs root.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
from clientfaults import CLIENT_FAULTS
from faults import FAULTS, MIXES, Fault, nothing
from morefaults import CLIENTS, MORE_FAULTS
from patient import How, examine

REPO = Path(__file__).resolve().parents[2]
CPUS = (1, 0)  # of the server, of the clients
NOISE = {"other-programs", "cpu-short"}

HEALTHY = (
    Fault("idle", (), (1, 10, 100), nothing, mix="idle", clients=0),
    Fault("browse", (), (1, 10, 100), nothing, think_s=0.5, clients=0),
    Fault("documents", (), (1, 10, 50), nothing, mix="office", think_s=1, clients=0),
    Fault("copy", (), (1, 2, 4), nothing, mix="batch-write", think_s=0, clients=0),
    Fault("read", (), (1, 2, 4), nothing, mix="batch-read", think_s=0, clients=0),
    Fault("backup", (), (1, 2, 4), nothing, mix="timemachine", think_s=0.05, clients=0),
    Fault("metadata", (), (1, 5, 20), nothing, mix="metadata", think_s=0.2, clients=0),
    # Each session asks what the others asked.
    Fault(
        "same folder", (), (1, 10, 40), nothing, mix=str(MIXES / "list-shared.ini"), think_s=2,
        clients=0, load=("--files=500",),
    ),
    # Files in many folders, as many as the directory cache holds.
    Fault(
        "folders", (), (1, 2, 4), nothing, mix=str(MIXES / "list.ini"), think_s=0.02, clients=0,
        load=("--directories=160",),
    ),
)  # fmt: skip

# Two at once, both strong: both must be among the findings.
PAIRS = (
    ("stopped server", "log level"),
    ("stopped CNID server", "deaf clients"),
    ("CNID server that dies", "files in use"),
    ("full disk", "login loop"),
    ("files in use", "log level"),
    ("deaf clients", "frozen server"),
    ("changed behind", "login loop"),
    ("slow login", "stopped server"),
    ("locked database", "deaf clients"),
    ("slow writes", "files in use"),
    ("AppleDouble", "deaf clients"),
    ("slow attributes", "login loop"),
    ("huge folder", "deaf clients"),
    ("locked file", "stopped server"),
    ("hanging login", "log level"),
    ("frozen server", "slow attributes"),
)


def chosen(o: argparse.Namespace) -> list[list[tuple[Fault, int]]]:
    faults = {f.name: f for f in (*FAULTS, *MORE_FAULTS, *CLIENT_FAULTS)}
    if o.pairs:
        return [[(faults[a], 2), (faults[b], 2)] for a, b in PAIRS if o.k in a or o.k in b]
    levels = [int(level) for level in o.levels]
    of = CLIENTS if o.clients else () if o.healthy else faults.values()
    runs = [[(f, level)] for f in of for level in levels if o.k in f.name]
    more = [[(f, level)] for f in HEALTHY for level in levels if o.k in f.name]
    return runs + more * o.healthy


def why_not(run: Sequence[tuple[Fault, int]], o: argparse.Namespace) -> str:
    """Why it cannot be made; empty: it can."""
    for fault, _ in run:
        if missing := [folder for folder in fault.needs if not Path(folder).exists()]:
            return f"this machine has no {missing[0]}"
        if o.suite not in fault.only:
            return f"netatalk of {o.suite} cannot have it"
        if o.cnid and o.cnid not in fault.cnids:
            return f"not with the CNID scheme {o.cnid}"
    return ""


def judged(run: Sequence[tuple[Fault, int]], is_: dict[str, Any], o: argparse.Namespace) -> str:
    wanted = [fault.found for fault, _ in run if fault.found]
    keys = [f["key"] for f in is_["findings"]]
    if o.noisy and not NOISE & {k for w in wanted for k in w}:
        keys = [k for k in keys if k not in NOISE]
    elif o.noisy:
        wanted = [(*w, *NOISE) for w in wanted]
    if o.rung == "proc":
        return "ok" if all(any(k in w for w in wanted) for k in keys) else "BAD"
    if len(run) == 2:
        return "ok" if all(set(w) & set(keys) for w in wanted) else "BAD"
    (fault, level), found = run[0], wanted[0] if wanted else ()
    if fault.verdict:
        good = is_["verdict"] == fault.verdict and not keys
        return "ok" if good else "weak" if not (level or keys) else "BAD"
    if is_["verdict"] == "slow" and not fault.found and not o.noisy:
        return "BAD"
    if o.clients or not keys:
        good = set(keys) <= set(found) if o.clients else not fault.found
        return "ok" if good else "weak" if not (level or keys) else "BAD"
    return "ok" if keys[0] in found else "BAD"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", default="", help="faults with this in their names")
    parser.add_argument("--levels", default="012", help="0 weak, 1 medium, 2 strong")
    parser.add_argument("--pairs", action="store_true", help="two strong faults at once")
    parser.add_argument("--clients", action="store_true", help="trouble that only clients have")
    parser.add_argument("--healthy", type=int, default=0, help="so many rounds of healthy servers")
    parser.add_argument("-d", type=int, default=5, metavar="SECONDS")
    parser.add_argument("--suite", default="forky", help="of Debian, whose netatalk it is")
    parser.add_argument("--cnid", default="", help="CNID scheme, instead of the fault's own")
    parser.add_argument("--rung", default="auto", help="how doctor watches; proc: nothing wrong")
    parser.add_argument("--noisy", action="store_true", help="the machine has other work: no CPUs")
    parser.add_argument("-v", action="store_true", help="the screens, too")
    o = parser.parse_args()
    os.environ.setdefault("AFPSCOPE", str(REPO / "build" / "afpscope"))
    right = all_ = 0
    for run in chosen(o):
        name = " + ".join(f"{fault.name} {level}" for fault, level in run)
        if why := why_not(run, o):
            print(f"{name}: skipped, {why}", flush=True)
            continue
        all_ += 1
        try:
            result = examine(run, How(o.d, CPUS, o.suite, o.cnid, o.rung))
        except (OSError, RuntimeError) as error:
            print(f"BAD  {name}: could not be made: {error}", flush=True)
            continue
        is_ = result["diagnosis"]
        mark = judged(run, is_, o)
        right += mark != "BAD"
        f = {k: v["value"] for k, v in result["figures"].items()}
        times = f"p99 {(f['p99'] or 0) / 1e6:.1f} ms, {f['slow'] or 0:.0%} in slow ones"
        keys = " ".join(found["key"] for found in is_["findings"])
        said = f"{is_['verdict']} {keys} ({f['requests'] or 0:.0f} requests, {times})"
        print(f"{mark:4} {name}: {said}", flush=True)
        if o.v or mark == "BAD":
            print(result["screen"])
            print("   ", {k: round(v, 3) for k, v in f.items() if v}, flush=True)
    print(f"{right} of {all_}")
    return right != all_


if __name__ == "__main__":
    sys.exit(main())
