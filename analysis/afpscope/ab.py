# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope ab: two servers measured in turn by the C program, then compared.

A measurement is a run, or a whole sweep (-- sweep ...).
"""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

from . import compare, show, sweepcompare
from .errors import INTERRUPTED, wrong_use
from .measure import turns
from .measure.children import Relay, program
from .saved.files import Folder
from .saved.run import Run
from .saved.steps import Sweep


def options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "afpscope ab --a URL --b URL --pairs N -o DIR [OPTIONS] -- COMMAND ..."
    parser.add_argument("--a", metavar="URL", required=True, help="the server A")
    parser.add_argument("--b", metavar="URL", required=True, help="the server B")
    parser.add_argument("--pairs", metavar="N", type=int, default=12,
                        help="runs of each server (default 12)")  # fmt: skip
    parser.add_argument("-o", dest="output", metavar="DIR", type=Path, required=True,
                        help="a new folder for the runs")  # fmt: skip
    parser.add_argument(
        "--program", metavar="FILE", help="default: the one that started this, or on the PATH"
    )
    parser.add_argument("--restart", metavar="COMMAND",
                        help="restarts a server; run by the shell before each run, with "
                        "AFPSCOPE_SIDE=a or b and AFPSCOPE_URL set")  # fmt: skip
    parser.add_argument("--slo", metavar="WHAT=TIME",
                        help="of sweeps: their knees by this limit (p99=50ms)")  # fmt: skip
    compare.judging(parser)


def _note(args: argparse.Namespace, starts: dict[str, str]) -> None:
    command = ["ab", "--", *args.after]
    document = {"command": command, "a": args.a, "b": args.b, "restart": args.restart}
    turns.note(args.output, document, starts)


def _as_runs(made: list[Run | Sweep]) -> list[Run]:
    found = [sweepcompare.as_run(x) if isinstance(x, Sweep) else x for x in made]
    return [run for run in found if run]


def _stopped(args: argparse.Namespace, relay: Relay, runs: list[Run | Sweep]) -> int:
    name = signal.Signals(relay.caught).name
    show.notice(
        f"ab: stopped by {name}: {len(runs)} of {2 * args.pairs} runs are complete, and are kept "
        f"with the one that was stopped in {args.output}; nothing was compared"
    )
    return INTERRUPTED


def _check(made: dict[str, list[Run | Sweep]], force: bool) -> None:
    """Failure if they are not comparable."""
    sweeps, runs = _kinds(made)
    if sweeps["a"]:
        sweepcompare.check(sweeps["a"], sweeps["b"], force)
    else:
        compare.check(runs["a"], runs["b"], force)


def _kinds(
    made: dict[str, list[Run | Sweep]],
) -> tuple[dict[str, list[Sweep]], dict[str, list[Run]]]:
    """The sweeps of both sides, and the runs: one command makes only one of these."""
    sweeps = {side: [x for x in of if isinstance(x, Sweep)] for side, of in made.items()}
    return sweeps, {side: [x for x in of if isinstance(x, Run)] for side, of in made.items()}


def _all_runs(
    args: argparse.Namespace, relay: Relay, program: str
) -> dict[str, list[Run | Sweep]] | int:
    """The runs of both sides; the exit code if a signal came before the end."""
    urls = {"a": args.a, "b": args.b}
    sides: dict[str, list[Run | Sweep]] = {"a": [], "b": []}
    made: list[Run | Sweep] = []
    starts: dict[str, str] = {}
    for i, (pair, side) in enumerate(turns.order(args.pairs), 1):
        show.notice(f"ab: run {i} of {2 * args.pairs}: {side} {urls[side]}")
        place = args.output / f"{pair:03}{side}"
        if args.restart:
            starts[place.name] = f"restart {i}"
            _note(args, starts)
            log = place.with_suffix(".restart.txt")
            turns.restart(relay, args.restart, side, urls[side], log)
        line = [program, *args.after, "-o", str(place), urls[side]]
        found = turns.measured(relay, line, place)
        if found is None:
            return _stopped(args, relay, made)
        made.append(found)
        sides[side].append(found)
        turns.restarted(_as_runs(made), args.restart)
        if i == 2 and not args.force:
            _check(sides, False)
    return sides


def run(args: argparse.Namespace) -> int:
    command = args.after or []
    if not command or command[0].startswith("-"):
        raise wrong_use("give what to measure after --: lantest or another workload, and options")
    if "-o" in command:
        raise wrong_use("give -o before --: each run gets its own folder in it")
    if not 1 <= args.pairs <= 1000:
        raise wrong_use(f"--pairs {args.pairs}: 1 to 1000")
    named = program(args.program)
    if not Folder(args.output).is_empty():
        raise wrong_use(f"{args.output} exists and is not an empty folder: name a new one with -o")
    _note(args, {})
    relay = Relay()
    with relay.listening():
        made = _all_runs(args, relay, named)
    if isinstance(made, int):
        return made
    sweeps, runs = _kinds(made)
    if sweeps["a"]:
        return sweepcompare.report(sweeps["a"], sweeps["b"], args)
    _check(made, args.force)
    return compare.report(runs["a"], runs["b"], args, "ab")
