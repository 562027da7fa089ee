# SPDX-License-Identifier: GPL-2.0-or-later
"""The Python package of analysis/, run as a user does, with the pinned packages."""

from __future__ import annotations

import os
import re
import subprocess
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


def scripted(script: str, *args: str | Path) -> subprocess.CompletedProcess[str]:
    """A text in Python that uses the package: several commands in one process, say."""
    line = [*command()[:-2], "-c", script, *map(str, args)]
    return subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def joined(text: str) -> str:
    """As a screen without UTF-8 writes units: 1.20ms, 7us and 46%, where pages have 7 µs."""
    return re.sub(r"(?<=\d)\s(?=(?:ns|µs|us|ms|s|%)(?!\w))", "", text).replace("µs", "us")


def preload(folder: Path) -> str:
    """The library of onopen.c, for AFPD_PRELOAD."""
    target = folder / "onopen.so"
    source = Path(__file__).with_name("onopen.c")
    flags = ["-shared", "-fPIC", "-nostdlib", "-O2", "-Wall", "-Wextra", "-Werror"]
    cc = os.environ.get("CC", "cc")
    subprocess.run([cc, *flags, "-o", str(target), str(source)], check=True)
    return str(target)
