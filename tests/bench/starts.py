# SPDX-License-Identifier: GPL-2.0-or-later
"""The environment of the Python package, as `make install` makes it: how large it is, and how long
commands take in it."""

from __future__ import annotations

import gzip
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from lab import REPO, Lab
from stats import Result, figure

ANALYSIS = REPO / "analysis"
DATA = REPO / "tests/python/data"
SAMPLE = "lantest-1"
GOAL_MB, GOAL_CPU_S = 350.0, 1.0


def _size_mb(folder: Path) -> float:
    """On the disk, as du counts it: a file of several names once."""
    found = {(s.st_dev, s.st_ino): s.st_blocks * 512
             for path in (folder, *folder.rglob("*")) for s in (path.lstat(),)}  # fmt: skip
    return sum(found.values()) / 1e6


def _program(place: Path, command: str) -> Path:
    """The launcher that `make install` makes."""
    text = (ANALYSIS / "launcher.in").read_text()
    program = place / f"afpscope-{command}"
    text = text.replace("@PYTHON@", str(place / "venv/bin/python3"))
    program.write_text(text.replace("@LIB@", str(ANALYSIS)))
    program.chmod(0o755)
    return program


def _cost(line: list[str | Path]) -> tuple[float, float, int]:
    """s, s of CPU time and bytes of memory."""
    began = time.monotonic()
    with subprocess.Popen(line, stdout=subprocess.DEVNULL) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{line[0]} ended with {child.returncode}")
    return time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def _copy_of_sample(folder: Path) -> None:
    folder.mkdir()
    run, tables = (
        json.loads(gzip.decompress((DATA / f"{SAMPLE}{kind}.json.gz").read_bytes()))
        for kind in ("", ".tables")
    )
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "tables.json").write_text(json.dumps(tables | {"run": run["id"]}))


def environment(lab: Lab, how: str) -> list[Result]:
    with tempfile.TemporaryDirectory(prefix="afpscope-bench-") as folder:
        place, run = Path(folder), Path(folder) / "run"
        _copy_of_sample(run)
        env = os.environ | {"PYTHON": "/usr/bin/python3"}
        subprocess.run([ANALYSIS / "venv.sh", place / "venv"], check=True, env=env)
        lines = sum(len(p.read_text().splitlines()) for p in (ANALYSIS / "afpscope").rglob("*.py"))
        results = [
            figure("environment of the package", _size_mb(place / "venv"), "MB", how, goal=GOAL_MB),
            figure("lines of Python in analysis/", lines, "lines", how),
        ]
        page = ("-o", str(place / "report.html"))
        for command, more, goal in (("info", (), None), ("report", page, GOAL_CPU_S)):
            line = [_program(place, command), run, *more]
            each = [_cost(line) for _ in range(lab.pairs + 1)][1:]  # the first reads the disk
            took_s, cpu_s = (statistics.median(one[i] for one in each) for i in range(2))
            most = max(one[2] for one in each) / 2**20
            said = f"{took_s:.2f} s in all, {most:.0f} MiB of memory, {len(each)} rounds"
            name = f"{command} of a lantest run"
            results.append(figure(name, cpu_s, "s of CPU", how, said, goal=goal))
        return results
