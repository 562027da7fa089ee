# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope speedtest against what the machine could do: plain TCP (stream.c), and fio."""

from __future__ import annotations

import json
import mmap
import os
import shutil
from functools import partial
from pathlib import Path

from lab import OUT, Client, Lab
from speed import BIG as SIZE
from speed import MIB, Moved, plain_tcp, run
from stats import Result, Side, absent, compare

SIZE_MIB = 256
PASSES = 3
WINDOW = 8
GOAL = 0.95
FOLDER = OUT / "local"
# Hot reads from the page cache are short, and fio counts whole milliseconds.
LOCAL_PASSES = {("Read", True): 3, ("Write", True): 4, ("Read", False): 16, ("Write", False): 4}


def _stream(lab: Lab, way: str, file: str) -> Moved:
    """With the buffer that is the better one in this round: which it is changes."""
    runs = [plain_tcp(lab, way, file, piece_kib, PASSES) for piece_kib in (256, 1024)]
    return max(runs, key=lambda moved: moved.mib_s[way, SIZE])


def _over_tcp(lab: Lab, how: str) -> list[Result]:
    """The file lies beside the volume, on the same file system."""
    file = lab.server.vol1.parent / "stream"
    works = ("Read", "Write")
    variants = {"afpscope": partial(run, lab, "speedtest", works, [SIZE], PASSES, WINDOW, "-a")}
    for way in works:
        variants[f"{way} file"] = partial(_stream, lab, way, str(file))
        variants[f"{way} memory"] = partial(_stream, lab, way, "-")
    try:
        runs = lab.series(variants, lab.pairs)
    finally:
        file.unlink(missing_ok=True)
    results = []
    limits = (("file", GOAL), ("memory", None))
    for way, (kind, goal) in ((w, x) for w in works for x in limits):
        mine = Side("afpscope", [m.mib_s[way, SIZE] for m in runs["afpscope"]])
        limit = Side("plain TCP", [m.mib_s[way, SIZE] for m in runs[f"{way} {kind}"]])
        name = f"{way} {SIZE} -r {WINDOW} over TCP, {kind}"
        results.append(compare(name, mine, limit, "MiB/s", how, goal=goal, at_least=True))
    return results


def _ours_here(lab: Lab, work: str, direct: bool) -> Moved:
    passes = LOCAL_PASSES[work, direct]
    options = ["-c", "--no-null", "-q", "1M", "-n", str(passes), *([] if direct else ["-D"])]
    where = ["-L", "-P", str(FOLDER), "-f", work, "-z", SIZE]
    cpu = Client(lab.pinned("/", [str(lab.afpscope), "speedtest", *where, *options]), OUT).finish()
    rows = [line.split(",") for line in (OUT / "out").read_text().splitlines()]
    us = [float(row[3]) for row in rows if row[0] == work and row[1]]
    return Moved(cpu, {(work, SIZE): SIZE_MIB / (sum(us) / len(us) / 1e6)})


def _fio(lab: Lab, work: str, direct: bool) -> Moved:
    """The same calls: pread or pwrite of 1 MiB, an fsync after each pass that writes.

    Memory by mmap, as ours: with its default, reads of hot pages take twice as long. Ours is in
    large pages for O_DIRECT, fio's is not.
    """
    way, saved = work.lower(), OUT / "fio.json"
    options = {
        "name": way,
        "filename": FOLDER / "fio",
        "rw": way,
        "bs": "1M",
        "size": SIZE,
        "ioengine": "psync",
        "iodepth": 1,
        "direct": int(direct),
        "loops": LOCAL_PASSES[work, direct],
        "end_fsync": int(work == "Write"),
        "invalidate": 0,
        "zero_buffers": 1,
        "mem": "mmap",
        "iomem_align": 4096,
        "output-format": "json",
        "output": saved,
    }
    _write_file(FOLDER / "fio", direct)
    command = ["fio", "--thread", *(f"--{name}={value}" for name, value in options.items())]
    cpu = Client(lab.pinned("/", command), OUT).finish()
    job = json.loads(saved.read_text())["jobs"][0][way]
    return Moved(cpu, {(work, SIZE): job["io_bytes"] / MIB / (job["runtime"] / 1e3)})


def _write_file(path: Path, direct: bool) -> None:
    """Made anew for each run, and the same way as ours is: how fast a file is read depends on
    how it was written, on the disk and in the cache."""
    path.unlink(missing_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_DIRECT if direct else 0))
    try:
        with mmap.mmap(-1, MIB) as block:  # zeros, aligned as O_DIRECT wants it
            for _ in range(SIZE_MIB):
                os.write(file, block)
    finally:
        os.close(file)


def _here(lab: Lab, how: str) -> list[Result]:
    cases = [(work, direct) for direct in (True, False) for work in ("Read", "Write")]
    names = {c: f"local {c[0]} {SIZE}, {'O_DIRECT' if c[1] else 'buffered'}" for c in cases}
    if not shutil.which("fio"):
        return [absent(name, "ratio", "fio is not installed") for name in names.values()]
    FOLDER.mkdir(exist_ok=True)
    results = []
    try:
        for case in cases:
            work = case[0]
            variants = {
                "afpscope": partial(_ours_here, lab, *case),
                "fio": partial(_fio, lab, *case),
            }
            runs = lab.series(variants, lab.pairs)
            ours, limit = (Side(x, [m.mib_s[work, SIZE] for m in runs[x]]) for x in variants)
            results.append(
                compare(names[case], ours, limit, "MiB/s", how, goal=GOAL, at_least=True)
            )
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
    return results


def speed_limit(lab: Lab, how: str) -> list[Result]:
    """Against the same bytes with no protocol, and against the same system calls."""
    return [*_over_tcp(lab, how), *_here(lab, how)]
