# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope smallfile on a directory beside a program that makes the same calls and nothing else.

    python3 tests/bench/files.py build/afpscope [FOLDER [FILES]]

Both in turn, five times; medians of operations a second, and their ratio. FOLDER: /dev/shm.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

LOADS = ("create", "mkdir", "rename", "rmdir", "delete")
TIMES, BYTES = 5, 4096


def ours(program: str, place: str, files: int) -> dict[str, float]:
    options = [f"--files={files}", f"--file-size={BYTES}", f"--loads={','.join(LOADS)}"]
    line = [program, "smallfile", *options, "--no-save", "--json=-", place]
    phases = json.loads(subprocess.run(line, check=True, capture_output=True).stdout)["phases"]
    return {p["title"]: files / (p["metrics"]["elapsed"] / 1e9) for p in phases}


def bare(program: str, place: str, files: int) -> dict[str, float]:
    line = [program, place, str(files), str(BYTES)]
    said = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    return {name: float(rate) for name, rate in map(str.split, said.splitlines())}


def main(afpscope: str, folder: str = "/dev/shm", files: str = "20000") -> None:
    source = Path(__file__).with_name("bare_files.c")
    with tempfile.TemporaryDirectory(dir=folder, prefix="afpscope-bench-") as place:
        program = f"{place}/bare_files"
        subprocess.run(["gcc", "-O2", "-o", program, str(source)], check=True)
        runs = [
            (bare(program, place, int(files)), ours(afpscope, place, int(files)))
            for _ in range(TIMES)
        ]
    for load in LOADS:
        sides = [median(run[side][load] for run in runs) for side in (0, 1)]
        print(f"{load:8} {sides[0]:9.0f}/s bare {sides[1]:9.0f}/s {sides[1] / sides[0]:6.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
