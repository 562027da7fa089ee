# SPDX-License-Identifier: GPL-2.0-or-later
"""The Python package of analysis/, run as a user does, with the pinned packages."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]


@cache
def command() -> list[str]:
    """What stands before a command of the package."""
    need = [str(REPO / "tests" / "need.sh"), "--python"]
    python = subprocess.run(need, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return ["env", f"PYTHONPATH={REPO / 'analysis'}", python, "-B", "-m", "afpscope"]


def analysis(*args: str | Path) -> subprocess.CompletedProcess[str]:
    """afpscope ARGS; the status is for the caller to check."""
    line = [*command(), *map(str, args)]
    return subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True)


IN_TURN = """
import json, sys
from afpscope.cli import main
for line in json.loads(sys.argv[1]):
    if code := main(["afpscope", *line]):
        sys.exit(code)
"""


def in_turn(*lines: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """The same for several ARGS in one process, until one fails: it loads what they need once."""
    text = json.dumps([[str(word) for word in line] for line in lines])
    line = [*command()[:-2], "-c", IN_TURN, text]
    return subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def joined(text: str) -> str:
    """As a screen writes units: 1.20ms and 46%, where pages have 1.20 ms."""
    return re.sub(r"(?<=\d)\s(?=(?:ns|µs|us|ms|s|%)(?!\w))", "", text)


def preload(folder: Path) -> str:
    """The library of onopen.c, for AFPD_PRELOAD."""
    target = folder / "onopen.so"
    source = Path(__file__).with_name("onopen.c")
    flags = ["-shared", "-fPIC", "-nostdlib", "-O2", "-Wall", "-Wextra", "-Werror"]
    cc = os.environ.get("CC", "cc")
    subprocess.run([cc, *flags, "-o", str(target), str(source)], check=True)
    return str(target)
