# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope ab: two servers measured in turn by the C program, then compared.

The order is ABBA BAAB BAAB ABBA ...: what drifts evenly falls on both alike, and so does
what comes back every two, four or eight runs. (The sequence of Thue and Morse.)
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from pathlib import Path

from . import compare, show
from .errors import Failure, wrong_use
from .run import Run


def options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "afpscope ab --a URL --b URL --pairs N -o DIR [OPTIONS] -- lantest|speedtest ..."
    parser.add_argument("--a", metavar="URL", required=True)
    parser.add_argument("--b", metavar="URL", required=True)
    parser.add_argument("--pairs", metavar="N", type=int, default=12, help="default 12")
    parser.add_argument("-o", dest="output", metavar="DIR", type=Path, required=True)
    parser.add_argument("--program", metavar="FILE", help="default: afpscope on the PATH")
    compare.judging(parser)


def _program(args: argparse.Namespace) -> str:
    name = args.program or os.environ.get("AFPSCOPE") or shutil.which("afpscope")
    if not name or not os.access(name, os.X_OK):
        raise wrong_use("there is no program afpscope: put it on the PATH or name it (--program)")
    return str(name)


def order(pairs: int) -> list[tuple[int, str]]:
    """(pair, side) in the order of the runs: 1a 1b 2b 2a 3b 3a 4a 4b ..."""
    return [
        (pair + 1, side)
        for pair in range(pairs)
        for side in ("ba" if pair.bit_count() % 2 else "ab")
    ]


def _measure(line: list[str], place: Path) -> Run:
    """The run that the command keeps in place; what it prints goes beside it."""
    log = place.with_suffix(".txt")
    with log.open("w", encoding="utf-8") as out:
        done = subprocess.run(line, stdout=out, stderr=out, stdin=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 4):
        last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        raise Failure(f"{' '.join(line[:2])} ended with {done.returncode}: {''.join(last)[:200]}")
    return Run.open(place)


def run(args: argparse.Namespace) -> int:
    command = args.after or []
    if not command or command[0] not in ("lantest", "speedtest"):
        raise wrong_use("what is to be measured stands after --: lantest or speedtest, and options")
    if "-o" in command:
        raise wrong_use("-o stands before --: each run has a folder of its own in it")
    if not 1 <= args.pairs <= 1000:
        raise wrong_use(f"--pairs {args.pairs}: 1 to 1000")
    program, folder = _program(args), args.output
    if folder.exists() and any(folder.iterdir()):
        raise wrong_use(f"{folder} is there and not an empty folder: name a new one with -o")
    folder.mkdir(parents=True, exist_ok=True)
    urls = {"a": args.a, "b": args.b}
    sides: dict[str, list[Run]] = {"a": [], "b": []}
    for i, (pair, side) in enumerate(order(args.pairs), 1):
        show.notice(f"ab: run {i} of {2 * args.pairs}: {side} {urls[side]}")
        place = folder / f"{pair:03}{side}"
        line = [program, *command, "-o", str(place), urls[side]]
        sides[side].append(_measure(line, place))
        if i == 2 and not args.force:
            compare.check(sides["a"], sides["b"], False)
    compare.check(sides["a"], sides["b"], args.force)
    return compare.report(sides["a"], sides["b"], args)
