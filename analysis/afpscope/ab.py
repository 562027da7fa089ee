# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope ab: two servers measured in turn by the C program, then compared.

A measurement is a run, or a whole sweep (-- sweep ...).

The order is ABBA BAAB BAAB ABBA ...: an even drift affects both sides alike, and so does
anything that recurs every two, four or eight runs. (The sequence of Thue and Morse.)
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import time
from pathlib import Path

from . import compare, show, sweepcompare
from .errors import INTERRUPTED, Failure, wrong_use
from .measure.children import Relay, address, last_line, program
from .saved.files import Folder, written
from .saved.run import AB_FILE, Run
from .saved.steps import Sweep, is_sweep, open_sweep

# How long a server may take after its restart until it listens.
_UP_S = 60


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


def order(pairs: int) -> list[tuple[int, str]]:
    """(pair, side) in the order of the runs: 1a 1b 2b 2a 3b 3a 4a 4b ..."""
    return [
        (pair + 1, side)
        for pair in range(pairs)
        for side in ("ba" if pair.bit_count() % 2 else "ab")
    ]


def _measure(relay: Relay, line: list[str], place: Path) -> Run | Sweep | None:
    """The run, or the sweep, that the command keeps in place; its output goes beside it. None:
    stopped."""
    log = place.with_suffix(".txt")
    code = relay.call(line, log)
    if relay.caught:
        return None
    if code not in (0, 4):
        raise Failure(f"{' '.join(line[:2])} ended with {code}: {last_line(log)}")
    return open_sweep(place) if is_sweep(place) else Run.open(place)


def _wait_for(relay: Relay, url: str) -> None:
    """Waits until the server accepts connections. Failure if it does not."""
    end = time.monotonic() + _UP_S
    while not relay.caught:
        try:
            socket.create_connection(address(url), 5).close()
            return
        except OSError as e:
            if time.monotonic() > end:
                raise Failure(f"{url} does not listen {_UP_S} s after its restart: {e}") from None
        time.sleep(0.1)


def _restart(relay: Relay, command: str, side: str, url: str, log: Path) -> None:
    env = os.environ | {"AFPSCOPE_SIDE": side, "AFPSCOPE_URL": url}
    code = relay.call(["/bin/sh", "-c", command], log, env)
    if code and not relay.caught:
        raise Failure(f"--restart: {command!r} ended with {code}: {last_line(log)}")
    _wait_for(relay, url)


def _note(args: argparse.Namespace, starts: dict[str, str]) -> None:
    """Writes how the runs were made beside them; `starts`: the start of the server by folder."""
    command = ["ab", "--", *args.after]
    document = {"command": command, "a": args.a, "b": args.b, "restart": args.restart}
    with written(args.output / AB_FILE) as file:
        text = json.dumps(document | {"starts": starts}, indent=1, ensure_ascii=False)
        file.write((text + "\n").encode())


def _checked(made: list[Run | Sweep], command: str | None) -> None:
    """Failure if --restart did not restart the server, as far as the runs show it."""
    found = [sweepcompare.as_run(x) if isinstance(x, Sweep) else x for x in made]
    runs = [run for run in found if run]
    if command and len(runs) > 1 and runs[-1].start in {r.start for r in runs[:-1]}:
        raise Failure(
            f"--restart: the server of {runs[-1].name} was not restarted by {command!r}: "
            f"{runs[-1].start}"
        )


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
    for i, (pair, side) in enumerate(order(args.pairs), 1):
        show.notice(f"ab: run {i} of {2 * args.pairs}: {side} {urls[side]}")
        place = args.output / f"{pair:03}{side}"
        if args.restart:
            starts[place.name] = f"restart {i}"
            _note(args, starts)
            _restart(relay, args.restart, side, urls[side], place.with_suffix(".restart.txt"))
        line = [program, *args.after, "-o", str(place), urls[side]]
        found = _measure(relay, line, place)
        if found is None:
            return _stopped(args, relay, made)
        made.append(found)
        sides[side].append(found)
        _checked(made, args.restart)
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
