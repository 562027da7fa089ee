# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope smallfile against fio's engines of the same operations: rate, and CPU time of one.

On a GlusterFS volume fio's gfapi_async only moves data: there the same records of the same files
are written and read, each load by a process of its own whose whole CPU time is compared: libgfapi
copies the data of asynchronous calls in its own threads, that of others in the caller's. mdtest,
which would do the same operations by MPI, is not in Debian.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gluster import Gluster
from lab import OUT, Client, Lab
from stats import Result, Side, absent, compare

THREADS, FILES = (
    2,
    1000,
)  # of each thread, without data, as fio's; fio takes longer to choose one of more
OPERATIONS = {"create": "filecreate", "stat": "filestat", "delete": "filedelete"}

# On a volume: so many files of each thread, in KiB, as records of 4 KiB.
VOLUME, GFAPI_FILES, FILE_KIB, RECORD_KIB = "one", 200, 64, 4
RECORDS = THREADS * GFAPI_FILES * FILE_KIB // RECORD_KIB
MOVES = {"create": "write", "read": "read"}


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


def _figures(text: str, wanted: int) -> tuple[float, float]:
    """Of a fio that did so many operations: a second, and microseconds of its threads for one."""
    (job,) = json.loads(text[text.index("{") :])["jobs"]
    n = job["read"]["total_ios"] + job["write"]["total_ios"]
    assert n == wanted, f"fio did {n} operations"
    s = max(job["read"]["runtime"], job["write"]["runtime"]) / 1e3
    cpu_us = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] * 1e3
    return n / s, cpu_us / n


def _fio(lab: Lab, engine: str) -> tuple[float, float]:
    with _place() as place:
        words = [f"--name={engine}", f"--ioengine={engine}", f"--directory={place}", "--thread"]
        words += [f"--numjobs={THREADS}", f"--nrfiles={FILES}", "--filesize=4k", "--openfiles=1"]
        words += ["--fallocate=none", "--group_reporting", "--output-format=json"]
        if engine == "filecreate":
            words.append("--create_on_open=1")
        command = lab.pinned("/", ["fio", *words])
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return _figures(done.stdout, THREADS * FILES)


def _pair(
    name: str, ours: tuple[list[float], list[float]], theirs: Side, cpu: Side, how: str
) -> list[Result]:
    rates = Side("afpscope", ours[0])
    text = f"{name} rate, {THREADS} threads"
    mine = Side("afpscope", ours[1])
    return [
        compare(text, rates, theirs, "/s", how, goal=1.0, at_least=True),
        compare(f"CPU of one {name}", mine, cpu, "us", how, goal=1.0),
    ]


def smallfile(lab: Lab, how: str) -> list[Result]:
    if not shutil.which("fio"):
        return [absent("smallfile", "ratio", "fio is not installed")]
    sides = {engine: (lambda e=engine: _fio(lab, e)) for engine in OPERATIONS.values()}
    runs = lab.series({"ours": lambda: _ours(lab), **sides}, lab.pairs)
    results = []
    for name, engine in OPERATIONS.items():
        mine = [r[name][0] for r in runs["ours"]], [r[name][1] for r in runs["ours"]]
        theirs = Side(f"fio {engine}", [r[0] for r in runs[engine]])
        cpu = Side(f"fio {engine}", [r[1] for r in runs[engine]])
        results += _pair(name, mine, theirs, cpu, how)
    return results


# ---- on a volume ----


def _ours_gfapi(lab: Lab, server: Gluster) -> dict[str, tuple[float, float]]:
    """Records a second, and microseconds of CPU for one."""
    saved = OUT / "gfapi.json"
    words = [f"--threads={THREADS}", f"--files={GFAPI_FILES}", f"--files-per-dir={GFAPI_FILES}"]
    words += [f"--file-size={FILE_KIB}K", f"--record={RECORD_KIB}K", "--no-verify", "--no-save"]
    words += ["--tree=bench", "--watch=off", f"--json={saved}", server.url(VOLUME)]
    out = {}
    for name in (*MOVES, "delete"):
        command = [str(lab.afpscope), "smallfile", f"--loads={name}", *words]
        cpu_s = Client(lab.pinned("/", command), OUT).finish()
        (phase,) = json.loads(saved.read_text())["phases"]
        out[name] = RECORDS / (phase["metrics"]["elapsed"] / 1e9), 1e6 * cpu_s / RECORDS
    return out


def _fio_gfapi(lab: Lab, server: Gluster) -> dict[str, tuple[float, float]]:
    out = {}
    for name, rw in MOVES.items():
        words = ["--name=bench", "--ioengine=gfapi_async", f"--volume={VOLUME}", "--thread"]
        words += [f"--brick={server.host}", f"--numjobs={THREADS}", f"--nrfiles={GFAPI_FILES}"]
        words += [f"--filesize={FILE_KIB}k", f"--size={GFAPI_FILES * FILE_KIB}k", f"--rw={rw}"]
        words += [f"--bs={RECORD_KIB}k", "--openfiles=1", "--file_service_type=sequential"]
        words += ["--fallocate=none", "--group_reporting", "--output-format=json"]
        if rw == "write":
            words.append("--create_on_open=1")
        cpu_s = Client(lab.pinned("/", ["fio", *words]), OUT).finish()
        rate, _ = _figures((OUT / "out").read_text(), RECORDS)
        out[name] = rate, 1e6 * cpu_s / RECORDS
    for path in (server.mnt / VOLUME).glob("bench.*"):
        path.unlink()
    return out


def smallfile_gfapi(lab: Lab, how: str) -> list[Result]:
    for program in ("fio", "glusterd"):
        if not shutil.which(program):
            return [absent("smallfile on a volume", "ratio", f"{program} is not installed")]
    engines = subprocess.run(["fio", "--enghelp"], capture_output=True, text=True).stdout
    if "gfapi_async" not in engines:
        return [absent("smallfile on a volume", "ratio", "this fio has no engine gfapi_async")]
    with Gluster(GLUSTER_MOUNT=VOLUME) as server:
        sides = {
            "ours": lambda: _ours_gfapi(lab, server),
            "fio": lambda: _fio_gfapi(lab, server),
        }
        runs = lab.series(sides, lab.pairs)
    results = []
    for name, rw in MOVES.items():
        mine = [r[name][0] for r in runs["ours"]], [r[name][1] for r in runs["ours"]]
        theirs = Side("fio gfapi_async", [r[name][0] for r in runs["fio"]])
        cpu = Side("fio gfapi_async", [r[name][1] for r in runs["fio"]])
        results += _pair(f"record to {rw}, gfapi,", mine, theirs, cpu, how)
    return results
