# SPDX-License-Identifier: GPL-2.0-or-later
"""A lake of a thousand runs and of a large trace: time and memory of the commands of analysis/.

The runs are copies of a saved one whose times are changed; the last has a trace.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from lab import REPO, Lab
from stats import Result, figure

# `RECORDS`: system calls of the trace, which has as many requests, waits and client's requests as
# a tenth of it each.
RUNS, RECORDS = 1000, 10**8
GOAL_S, GOAL_BYTES = 120.0, 4 << 30
REPORT_S = 60.0
PYTHON_TESTS = REPO / "tests/python"
COOKBOOK = sorted((REPO / "docs/queries").glob("*.sql"))
QUERIES = {
    "parts": "select name, class, sum(calls) from parts group by all order by 3 desc limit 9",
    "tails": "select title, quantile_cont(value, 0.99) from metrics where metric = 'elapsed'"
    " group by all",
    "calls": "select role, class, object, count(*), sum(time_ns), max(time_ns) from calls"
    " group by all order by 5 desc",
} | {path.stem: path.read_text() for path in COOKBOOK}


def _python() -> str:
    """That of the tests of analysis/, which has what the commands need."""
    done = subprocess.run(
        [REPO / "tests/need.sh", "--python"], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def _cost(python: str, *args: str | Path) -> tuple[float, float, int]:
    """What a command of analysis/ took: s, s of CPU time, and the most bytes of memory."""
    env = os.environ | {"PYTHONPATH": str(REPO / "analysis")}
    line = [python, "-m", "afpscope", *map(str, args)]
    began = time.monotonic()
    with subprocess.Popen(
        line, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as child:
        assert child.stderr
        said = child.stderr.read().decode().strip()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        last = said.splitlines()[-1:] or ["nothing was said"]
        raise RuntimeError(f"afpscope {args[0]} ended with {child.returncode}: {last[0]}")
    return time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def _make(folder: Path, python: str) -> list[Path]:
    """The runs; the last one has a large trace."""
    value = json.loads(gzip.decompress((PYTHON_TESTS / "data/lantest-1.json.gz").read_bytes()))
    for i in range(RUNS):
        value["id"] = f"{i:016x}"
        value["started"] = f"20{20 + i // 336}-{1 + i // 28 % 12:02}-{1 + i % 28:02}T04:00:00Z"
        value["labels"] = {"commit": f"c{i}"}
        for phase in value["phases"]:
            phase["metrics"]["elapsed"] = 10**9 + (i * 7919 + phase["test"] * 104729) % 10**7
        (folder / f"run{i:04}").mkdir()
        (folder / f"run{i:04}/run.json").write_text(json.dumps(value))
    runs = sorted(folder.iterdir())
    line = [python, PYTHON_TESTS / "tracegen.py", runs[-1], str(RECORDS)]
    subprocess.run(line, check=True, env=os.environ | {"PYTHONPATH": str(REPO / "analysis")})
    return runs


def _steps(
    runs: list[Path], lake: Path, page: Path
) -> dict[str, tuple[tuple[str | Path, ...], float]]:
    """Commands by what they do, each with how many seconds it may take."""
    large = f"{RECORDS / 10**6:g}M calls"
    steps: dict[str, tuple[tuple[str | Path, ...], float]] = {
        f"export of {RUNS - 1} runs": (("export", *runs[:-1], "--into", lake), GOAL_S),
        f"export of {large}": (("export", runs[-1], "--into", lake), 2 * GOAL_S),
    }
    for name, sql in QUERIES.items():
        steps[f"query: {name}"] = ("query", "--lake", lake, sql), GOAL_S
    steps["history"] = ("history", lake), GOAL_S
    steps[f"report of {RUNS - 1} runs"] = ("report", *runs[:-1], "-o", page), REPORT_S
    return steps


def lakes(_: Lab, how: str) -> list[Result]:
    python = _python()
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="afpscope-bench-") as place:
        base, lake = Path(place) / "runs", Path(place) / "lake"
        page = Path(place) / "report.html"
        base.mkdir()
        for name, (args, goal_s) in _steps(_make(base, python), lake, page).items():
            took_s, cpu_s, most_bytes = _cost(python, *args)
            gib, goal_gib = most_bytes / 2**30, GOAL_BYTES / 2**30
            results += [
                figure(name, took_s, "s", how, f"{cpu_s:.1f} s of CPU", goal=goal_s),
                figure(f"{name}: memory", gib, "GiB", how, goal=goal_gib),
            ]
        size = sum(f.stat().st_size for f in lake.rglob("*.parquet"))
        results.append(figure("the lake on disk", size / 2**20, "MiB", how))
    return results
