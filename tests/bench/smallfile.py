# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope smallfile against fio's engines of the same operations: rate, and CPU time of one."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import OUT, Client, Lab
from stats import Result, Side, absent, compare

THREADS, FILES = (
    2,
    1000,
)  # of each thread, without data, as fio's; fio takes longer to choose one of more
OPERATIONS = {"create": "filecreate", "stat": "filestat", "delete": "filedelete"}


@contextmanager
def _place() -> Iterator[Path]:
    """In memory: no disk makes noise."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="afpscope-bench-") as name:
        yield Path(name)


def _ours(lab: Lab) -> dict[str, tuple[float, float]]:
    """Operations a second and microseconds of CPU for one, by operation."""
    saved = OUT / "smallfile.json"
    words = [f"--threads={THREADS}", f"--files={FILES}", f"--files-per-dir={FILES}"]
    words += ["--file-size=0", f"--loads={','.join(OPERATIONS)}", "--no-save"]
    with _place() as place:
        command = [str(lab.afpscope), "smallfile", *words, f"--json={saved}", str(place)]
        Client(lab.pinned("/", command), OUT).finish()
    out = {}
    for phase in json.loads(saved.read_text())["phases"]:
        n = THREADS * FILES
        s = phase["metrics"]["elapsed"] / 1e9
        out[phase["title"]] = n / s, phase["load"]["cpu_ns"] / 1e3 / n
    return out


def _fio(lab: Lab, engine: str) -> tuple[float, float]:
    with _place() as place:
        words = [f"--name={engine}", f"--ioengine={engine}", f"--directory={place}", "--thread"]
        words += [f"--numjobs={THREADS}", f"--nrfiles={FILES}", "--filesize=4k", "--openfiles=1"]
        words += ["--fallocate=none", "--group_reporting", "--output-format=json"]
        if engine == "filecreate":
            words.append("--create_on_open=1")
        command = lab.pinned("/", ["fio", *words])
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (job,) = json.loads(text[text.index("{") :])["jobs"]
    n = job["read"]["total_ios"] + job["write"]["total_ios"]
    assert n == THREADS * FILES, f"{engine}: {n} operations"
    cpu_us = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] * 1e3
    return n / (job["read"]["runtime"] / 1e3), cpu_us / n


def smallfile(lab: Lab, how: str) -> list[Result]:
    if not shutil.which("fio"):
        return [absent("smallfile", "ratio", "fio is not installed")]
    sides = {engine: (lambda e=engine: _fio(lab, e)) for engine in OPERATIONS.values()}
    runs = lab.series({"ours": lambda: _ours(lab), **sides}, lab.pairs)
    results = []
    for name, engine in OPERATIONS.items():
        rates = Side("afpscope", [r[name][0] for r in runs["ours"]])
        theirs = Side(f"fio {engine}", [r[0] for r in runs[engine]])
        text = f"{name} rate, {THREADS} threads"
        results.append(compare(text, rates, theirs, "/s", how, goal=1.0, at_least=True))
        cpu = Side("afpscope", [r[name][1] for r in runs["ours"]])
        theirs = Side(f"fio {engine}", [r[1] for r in runs[engine]])
        results.append(compare(f"CPU of one {name}", cpu, theirs, "us", how, goal=1.0))
    return results
