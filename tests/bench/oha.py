# SPDX-License-Identifier: GPL-2.0-or-later
"""An open loop of afpscope load beside one of oha, which corrects for omission, too.

Against the server of tests/known, as an AFP server and as a web server, that stalls alike: as many
connections, the same rate. What both must find is known as well.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import partial

from known import FIRST, known, latency, load, own_network, watched
from lab import Lab
from many import FEW
from queueing import Stalls
from stats import Result, Side, absent, figure

STALLS = Stalls(rate=1000, stall_s=0.1, every_s=2)
SECONDS = 20  # whole periods of the stalls
REPLY = 40  # bytes, as an answer to a look
QUANTILES = {"p99": 0.99, "p99.9": 0.999}
OPTIONS = (f"--stall={1000 * STALLS.stall_s}", f"--every={1000 * STALLS.every_s}")


def _oha() -> dict[str, float]:
    """Latencies in seconds, from when requests were due."""
    with known(*OPTIONS, f"--http={REPLY}") as server:
        command = [*FIRST, "oha", "--no-tui", "--output-format=json", f"-z{SECONDS}s", f"-c{FEW}"]
        command += [f"-q{STALLS.rate:g}", "--latency-correction"]
        command += [f"http://127.0.0.1:{server.port}/"]
        out = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    return {key: json.loads(out)["latencyPercentiles"][key] for key in QUANTILES}


def _ours(lab: Lab) -> dict[str, float]:
    options = [f"--rate={STALLS.rate}", "--arrivals=fixed", f"--duration={SECONDS}"]
    with (
        known(*OPTIONS) as server,
        load(lab.afpscope, server.url, *options, f"--clients={FEW}") as run,
    ):
        found = latency(run.end(), "planned")
    return {"p99": found["p99_ns"] / 1e9, "p99.9": found["p999_ns"] / 1e9}


def load_oha(lab: Lab, how: str) -> list[Result]:
    """Percentiles from the planned start, in rounds by turns. Takes 4 minutes."""
    if not shutil.which("oha"):
        return [absent("p99 beside oha", "% off", "there is no oha here: cargo install oha")]
    with own_network(), watched() as machine:
        runs = lab.series({"oha": _oha, "ours": partial(_ours, lab)}, lab.pairs)
    still = f"{how}; the machine stood still for up to {1000 * machine.worst_s:.0f} ms"
    results = []
    for key, q in QUANTILES.items():
        theirs, ours = (Side(n, [r[key] for r in runs[n]]).median for n in ("oha", "ours"))
        remark = f"{1000 * ours:.2f} ms, {1000 * theirs:.2f} by oha"
        off = 100 * abs(ours / theirs - 1)
        results.append(figure(f"stalls: {key} beside oha", off, "% off", still, remark, goal=5))
        for name, found in (("afpscope", ours), ("oha", theirs)):
            must = STALLS.quantile(q)
            remark = f"{1000 * must:.2f} ms by the formula"
            results.append(figure(f"stalls: {key} of {name}", 1000 * found, "ms", still, remark))
    return results
