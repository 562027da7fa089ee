# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands of docs/cookbook.md, and what they print.

cookbook.py FOLDER    runs them all in FOLDER, whose runs/ has the runs yesterday, today and
                      session, and puts what they print in the document
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOC = ROOT / "docs" / "cookbook.md"
_BLOCK = re.compile(r"^```\n(\$ .*?)^```$", re.M | re.S)


def commands() -> list[str]:
    """In their order: some need what earlier ones made."""
    text = DOC.read_text(encoding="utf-8")
    lines = [line for block in _BLOCK.findall(text) for line in block.splitlines()]
    return [line[2:] for line in lines if line.startswith("$ ")]


def place(folder: Path) -> dict[str, str]:
    """Makes the folder fit to run the commands in; the environment for them."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    for name, more in (("afpscope", "-m afpscope"), ("python3", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -B {more} "$@"\n')
        program.chmod(0o755)
    if not (folder / "docs").exists():
        (folder / "docs").symlink_to(ROOT / "docs")
    return os.environ | {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "analysis"),
        "AFPSCOPE_RUNS": "runs",
    }


def run(command: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Both outputs in `stdout`."""
    line = ["bash", "-o", "pipefail", "-c", command]
    out = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(line, cwd=folder, env=env, text=True, timeout=300, check=False, **out)


def main(folder: Path) -> None:
    env = place(folder)

    def fill(block: re.Match[str]) -> str:
        lines = [line for line in block[1].splitlines() if line.startswith("$ ")]
        return "```\n" + "".join(f"{s}\n{run(s[2:], folder, env).stdout}" for s in lines) + "```"

    DOC.write_text(_BLOCK.sub(fill, DOC.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
