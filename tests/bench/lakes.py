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
from pathlib import Path

from lab import REPO, Lab
from stats import Result, figure

RUNS, RECORDS = 1000, 10_000_000
GOAL_S, GOAL_BYTES = 120.0, 4 << 30
PYTHON_TESTS = REPO / "tests/python"
QUERIES = {
    "parts": "select name, class, sum(calls) from parts group by all order by 3 desc limit 9",
    "tails": "select title, quantile_cont(value, 0.99) from metrics where metric = 'elapsed'"
    " group by all",
    "requests": "select command, count(*), median(time_ns), quantile_cont(time_ns, 0.999)"
    " from requests group by all",
}


def _python() -> str:
    """That of the tests of analysis/, which has what the commands need."""
    done = subprocess.run(
        [REPO / "tests/need.sh", "--python"], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def _cost(python: str, *args: str | Path) -> tuple[float, int]:
    """CPU time in s of a command of analysis/ and the most memory that it had, in bytes."""
    env = os.environ | {"PYTHONPATH": str(REPO / "analysis")}
    line = [python, "-m", "afpscope", *map(str, args)]
    with subprocess.Popen(line, env=env, stdout=subprocess.DEVNULL) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{' '.join(line)} ended with {child.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


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


def lakes(_: Lab, how: str) -> list[Result]:
    python = _python()
    with tempfile.TemporaryDirectory(prefix="afpscope-bench-") as place:
        base, lake = Path(place) / "runs", Path(place) / "lake"
        base.mkdir()
        runs = _make(base, python)
        steps: dict[str, tuple[str | Path, ...]] = {
            f"export of {RUNS} runs, {RECORDS // 10**6}M records": ("export", *runs, "--into", lake)
        }
        steps |= {f"query: {n}": ("query", "--lake", lake, sql) for n, sql in QUERIES.items()}
        steps["history"] = ("history", lake)
        results = []
        for name, args in steps.items():
            cpu_s, most_bytes = _cost(python, *args)
            results += [
                figure(name, cpu_s, "s CPU", how, goal=GOAL_S),
                figure(f"{name}: memory", most_bytes / 2**30, "GiB", how, goal=GOAL_BYTES / 2**30),
            ]
        size = sum(f.stat().st_size for f in lake.rglob("*.parquet"))
        results.append(figure("the lake on disk", size / 2**20, "MiB", how))
    return results
