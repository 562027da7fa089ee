# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope smallfile on a directory beside a program that makes the same calls and nothing else.

    python3 tests/bench/files.py build/afpscope [FOLDER [FILES [PAIRS]]]

By turns, with 1,024 descriptors at most: small files with data, which smallfile makes and
compares outside of what it measures, and mdtest's operations on empty ones. Medians of operations
a second and of the CPU time of one, and of their ratios in each pair, with the 95 % interval of
that median (of 6 to 18 pairs). The bare program runs twice in each pair: how it differs from
itself is the last column. Before each run all that others have written is on the disk. FOLDER:
/dev/shm.

On a file system of its own (as root):

    truncate -s 4G disk.img && mkfs.ext4 -q disk.img && mount -o loop disk.img /mnt
    python3 tests/bench/files.py build/afpscope /mnt 20000 9
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "known"))
from known import FIRST

# Bytes of a file, and what is done, in this order.
SETS = {
    "small files": (4096, ("create", "stat", "read", "mkdir", "rename", "rmdir", "delete")),
    "as mdtest": (0, ("create", "stat", "mkdir", "rmdir", "rename", "delete")),
}
DESCRIPTORS = 1024

# Of so many values the median is, in 95 of 100 cases, between the n-th smallest and the n-th
# largest: by the binomial distribution. Of fewer nothing is said.
BOUNDS = {6: 1, 7: 1, 8: 1, 9: 2, 10: 2, 11: 2, 12: 3, 13: 3, 14: 3, 15: 4, 16: 4, 17: 5, 18: 5}

Found = dict[str, tuple[float, float]]  # by load: operations a second, CPU time of one in us


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))


def _said(*line: str) -> str:
    command = [*FIRST, *line]
    run = subprocess.run(command, check=True, capture_output=True, text=True, preexec_fn=_limited)
    return run.stdout


def ours(program: str, place: str, files: int, size: int, loads: tuple[str, ...]) -> Found:
    options = [f"--files={files}", f"--file-size={size}", f"--loads={','.join(loads)}"]
    run = json.loads(_said(program, "smallfile", *options, "--no-save", "--json=-", place))
    out = {}
    for p in run["phases"]:
        cpu_ns = p["load"]["cpu_ns"] - p["load"]["aside_ns"]
        out[p["title"]] = files / (p["metrics"]["elapsed"] / 1e9), cpu_ns / 1e3 / files
    return out


def bare(program: str, place: str, files: int, size: int, loads: tuple[str, ...]) -> Found:
    lines = map(str.split, _said(program, place, str(files), str(size), *loads).splitlines())
    return {name: (float(rate), float(cpu)) for name, rate, cpu in lines}


def between(values: Sequence[float]) -> str:
    """A median with its interval."""
    n = BOUNDS.get(len(values))
    said = f"{median(values):5.2f}"
    return f"{said} ({sorted(values)[n - 1]:.2f}..{sorted(values)[-n]:.2f})" if n else said


def main(afpscope: str, folder: str = "/dev/shm", files: str = "20000", pairs: str = "9") -> None:
    source = Path(__file__).with_name("bare_files.c")
    with tempfile.TemporaryDirectory(dir=folder, prefix="afpscope-bench-") as place:
        program = f"{place}/bare_files"
        subprocess.run(["gcc", "-O2", "-o", program, str(source)], check=True)
        for name, (size, loads) in SETS.items():
            sides = {"bare": bare, "ours": ours, "again": bare}
            runs: dict[str, list[Found]] = {name: [] for name in sides}
            for i in range(int(pairs)):
                for side in list(sides)[:: 1 if i % 2 else -1]:
                    os.sync()
                    what = afpscope if side == "ours" else program
                    runs[side].append(sides[side](what, place, int(files), size, loads))
            print(f"{name}, {files} of {size} bytes, in {folder}:")
            for load in loads:
                for i, unit in enumerate(("/s", "us of CPU")):
                    a, b, c = ([run[load][i] for run in runs[side]] for side in sides)
                    both = [(x * z) ** 0.5 for x, z in zip(a, c, strict=True)]
                    ratio = between([y / x for x, y in zip(both, b, strict=True)])
                    same = between([z / x for x, z in zip(a, c, strict=True)])
                    said = f"{median(both):9.3g} bare {median(b):9.3g} {unit:9} {ratio}"
                    print(f"  {load:8} {said}  itself {same}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
