# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope versus: the same load on several servers in turn, and what an action costs on each.

What is not equal between them is said before any difference. Each pair of servers is judged as by
ab, all pairs together; with --aa each server also beside itself.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import compare, forms, show
from .errors import INTERRUPTED, NOTHING, OK, UNTRUSTED, Failure, wrong_use
from .judge import overview, versus
from .judge import sides as judging
from .judge.sides import Outcome, Side
from .measure import turns
from .measure.children import Relay, program
from .page import ways
from .saved.files import Folder, written
from .saved.node import load
from .saved.run import AB_FILE, RUN_FILE, Run
from .tables import costs
from .urls import scheme
from .words import ENGLISH

# Round-trip times, in ms, for which the time of an action is said.
RTTS = (0.2, 5.0, 20.0)
MOST, MOST_SIDES = 8, 12  # servers; with --vary
SCREEN = 100  # characters
_OTHER_WORK = ("mix", "only")  # options of load
_NAMED = re.compile(r"([\w.-]+)=(.+)", re.S)
_VARIED = re.compile(r"([a-z][\w-]*)=([^,\s]+(?:,[^,\s]+)+)")
_PLACE = re.compile(r"[0-9]{3,}([a-z])(-|$)")  # a run's folder


def options(parser: argparse.ArgumentParser) -> None:
    parser.usage = (
        "afpscope versus [OPTIONS] -o DIR [NAME=]URL [NAME=]URL... -- load ...\n"
        "       afpscope versus [OPTIONS] --from DIR"
    )
    parser.add_argument("servers", metavar="[NAME=]URL", nargs="*",
                        help="afp://..., smb://..., a directory, or what else load takes, and what "
                        "it is called")  # fmt: skip
    parser.add_argument("--pairs", metavar="N", type=int, default=12,
                        help="runs of each server (default 12)")  # fmt: skip
    parser.add_argument("--alone", metavar="ACTION,...", type=lambda text: text.split(","),
                        default=[], help="also measure each of these actions of the mix in a load "
                        "of its own, which says what it costs the server")  # fmt: skip
    parser.add_argument("--vary", metavar="OPTION=VALUE,...", type=varied,
                        help="measure each server with each value of an option of the load, such "
                        "as files=10,1000,5000")  # fmt: skip
    parser.add_argument("--aa", action="store_true",
                        help="also measure each server twice: is it like itself?")  # fmt: skip
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("-o", dest="output", metavar="DIR", type=Path,
                       help="a new folder for the runs")  # fmt: skip
    where.add_argument("--from", dest="source", metavar="DIR", type=Path,
                       help="measure nothing: judge the runs of such a folder again, also of one "
                       "that was stopped")  # fmt: skip
    parser.add_argument(
        "--program", metavar="FILE", help="default: the one that started this, or on the PATH"
    )
    parser.add_argument("--restart", metavar="COMMAND",
                        help="restarts a server; run by the shell before its loads, with "
                        "AFPSCOPE_SIDE=NAME and AFPSCOPE_URL set")  # fmt: skip
    parser.add_argument("--rtt", metavar="MS,...", type=ways.chosen, default=RTTS,
                        help="round-trip times, in ms, for which the time of an action is said "
                        "(default 0.2,5,20)")  # fmt: skip
    parser.add_argument("--least", metavar="PERCENT", type=compare.percent, default=compare.LEAST,
                        help="only a difference larger than this, either way, counts as one "
                        f"(default {compare.LEAST:.0%}%)")  # fmt: skip
    parser.add_argument("--all", action="store_true",
                        help="show every figure with its interval, and every pair")  # fmt: skip
    parser.add_argument("--figures", metavar="DIR", type=Path,
                        help="also write the figures, as SVG, PNG and PDF, and as CSV")  # fmt: skip
    compare.html_option(parser)
    forms.add(parser, forms.TEXT, forms.JSON, forms.CSV)


def varied(text: str) -> tuple[str, tuple[str, ...]]:
    """ "files=10,1000": an option of the load, and its values."""
    found = _VARIED.fullmatch(text)
    values = tuple(found[2].split(",")) if found else ()
    if not found or len(set(values)) < len(values):
        raise argparse.ArgumentTypeError(
            f"'{text}' is no option of the load with two values or more, such as files=10,1000"
        )
    return found[1], values


def named(words: Sequence[str]) -> list[tuple[str, str]]:
    """Name and URL of each. Without a name it is the scheme, numbered where several have it."""
    found = []
    for word in words:
        match = _NAMED.fullmatch(word)
        if match and not scheme(word):
            found.append((match[1], match[2]))
        else:
            found.append(("", word))
    kinds = [scheme(url) or "directory" for _, url in found]
    out: list[tuple[str, str]] = []
    for i, (name, url) in enumerate(found):
        alike = [k for k, (n, _) in enumerate(found) if not n and kinds[k] == kinds[i]]
        made = f"{kinds[i]}-{alike.index(i) + 1}" if not name and len(alike) > 1 else kinds[i]
        out.append((name or made, url))
    names = [name for name, _ in out]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise wrong_use(f"two servers are called {twice!r}: give them names, as in a=URL b=URL")
    return out


@dataclass
class _Making:
    """The loads of all sides, as far as they are made."""

    args: argparse.Namespace
    program: str
    relay: Relay
    sides: list[Side]
    starts: dict[str, str]

    def note(self) -> None:
        a = self.args
        sides = {
            side.key: {"name": side.name, "url": side.url}
            | ({"load": list(side.load), "server": side.server} if side.load else {})
            | ({"twin": side.twin.key} if side.twin else {})
            for side in self.sides
        }
        document = {"command": ["versus", "--", *a.after], "sides": sides, "restart": a.restart}
        turns.note(a.output, document, self.starts)

    def works(self) -> list[tuple[str, list[str]]]:
        """The end of a run's name, and its options: the whole mix, then actions alone."""
        return [("", []), *((f"-{name}", ["--only", name]) for name in self.args.alone)]

    def all(self) -> bool:
        """False: a signal came before the end."""
        order = turns.order(self.args.pairs, [side.key for side in self.sides])
        of = {side.key: side for side in self.sides}
        for i, (number, key) in enumerate(order, 1):
            side = of[key]
            show.notice(f"versus: {i} of {len(order)}: {side.name} {side.url}")
            if not self._one(i, number, side):
                return False
        return True

    def _one(self, i: int, number: int, side: Side) -> bool:
        a, places = self.args, [f"{number:03}{side.key}{end}" for end, _ in self.works()]
        if a.restart:
            self.starts |= dict.fromkeys(places, f"restart {i}")
            self.note()
            log = a.output / f"{number:03}{side.key}.restart.txt"
            turns.restart(self.relay, a.restart, side.name, side.url, log)
        for name, (_, more) in zip(places, self.works(), strict=True):
            given = [*a.after, *side.load, *more]
            line = [self.program, *given, "-o", str(a.output / name), side.url]
            found = turns.measured(self.relay, line, a.output / name)
            if not isinstance(found, Run):
                return False
            side.add(found)
            turns.restarted(side.runs[costs.work_of(found)], a.restart)
        return True


def _checked(args: argparse.Namespace) -> list[Side]:
    """What is wrong with the command line is a Failure."""
    command = args.after or []
    if not command or command[0] != "load":
        raise wrong_use("give the load after --: load and its options")
    if "-o" in command:
        raise wrong_use("give -o before --: each run gets its own folder in it")
    if "--only" in command:
        raise wrong_use("give the actions before --: --alone save,read")
    if args.vary and args.vary[0] in _OTHER_WORK:
        raise wrong_use(f"--vary {args.vary[0]}: the loads would not be the same work, so that "
                        "nothing could be compared; see --alone")  # fmt: skip
    if not 1 <= args.pairs <= 1000:
        raise wrong_use(f"--pairs {args.pairs}: 1 to 1000")
    if not 2 - (args.aa or bool(args.vary)) <= len(args.servers) <= MOST:
        raise wrong_use(f"give 2 to {MOST} servers (with --aa or --vary one will do)")
    option, values = args.vary or ("", ("",))
    if len(args.servers) * len(values) > MOST_SIDES:
        raise wrong_use(
            f"{len(args.servers)} servers with {len(values)} values: at most {MOST_SIDES} in all"
        )
    sides: list[Side] = []
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    for name, url in named(args.servers):
        for value in values:
            load = (f"--{option}={value}",) if option else ()
            full = f"{name} {option}={value}" if option else name
            one = Side(next(letters), full, url, server=name, load=load)
            sides.append(one)
            if args.aa:
                key = next(letters)
                sides.append(Side(key, f"{full} again", url, one, server=name, load=load))
    return sides


def _unfit(place: Path) -> str:
    """Why a run is not judged: the measurement itself would have ended with it."""
    if not (place / RUN_FILE).exists():
        return "it was killed before it was saved"
    run = Run.open(place)
    found = costs.load_of(run)
    if not run.complete or not found:
        return "it was stopped"
    load = found[1]
    return "actions failed, or sessions were lost" if load.failed or load.lost else ""


def _saved(folder: Path) -> list[Side]:
    """The sides of a folder of versus, with their complete runs."""
    noted = load(folder / AB_FILE).get("sides")
    if not noted:
        raise wrong_use(f"{folder} is no folder of versus: name one that its -o made")
    by: dict[str, Side] = {}
    for key, of in noted.members():
        twin = of.get_text("twin")
        load_of, name = of.get("load"), of["name"].text()
        by[key] = Side(
            key,
            name,
            of["url"].text(),
            by.get(twin) if twin else None,
            server=of.get_text("server") or name,
            load=tuple(option.text() for option in load_of.items()) if load_of else (),
        )
    for place in sorted(folder.iterdir()):
        match = _PLACE.match(place.name)
        if not match or match[1] not in by or not place.is_dir():
            continue
        if why := _unfit(place):
            show.notice(f"versus: {place.name} is left out: {why}")
        else:
            by[match[1]].add(Run.open(place))
    if empty := [side.name for side in by.values() if not side.all]:
        raise Failure(f"{folder} has no complete run of {', '.join(empty)}", NOTHING)
    return list(by.values())


def run(args: argparse.Namespace) -> int:
    if args.source:
        if args.servers or args.after:
            raise wrong_use("--from measures nothing: give no servers and no load with it")
        return _judge(_saved(args.source), args)
    sides = _checked(args)
    by = program(args.program)
    if not Folder(args.output).is_empty():
        raise wrong_use(f"{args.output} exists and is not an empty folder: name a new one with -o")
    making = _Making(args, by, Relay(), sides, {})
    making.note()
    with making.relay.listening():
        whole = making.all()
    if not whole:
        name = signal.Signals(making.relay.caught).name
        made = sum(len(runs) for side in sides for runs in side.runs.values())
        show.notice(
            f"versus: stopped by {name}: {made} runs are complete, and are kept with the one that "
            f"was stopped in {args.output}; nothing was compared (versus --from {args.output} "
            "compares what is there)"
        )
        return INTERRUPTED
    return _judge(sides, args)


def _judge(sides: Sequence[Side], args: argparse.Namespace) -> int:
    outcome = judging.judged(sides, args.least)
    if not any(pair.rows for pair in outcome.pairs):
        raise Failure("nothing could be compared: no action ended on two servers", NOTHING)
    return _report(outcome, args)


# Output


def _csv(o: Outcome) -> None:
    head = ["a", "b", *versus.CSV_HEAD[:4], "value_a", "value_b", *versus.CSV_HEAD[6:]]
    forms.print_csv(
        head,
        ([p.a.name, p.b.name, *versus.csv_row(row)] for p in o.pairs for row in p.rows),
    )


def _say(text: str) -> None:
    print(textwrap.fill(show.plain(text), SCREEN, subsequent_indent="  ", break_on_hyphens=False))


def _print(o: Outcome) -> None:
    """What fits on a screen."""
    counts = [len(side.runs.get(o.works[0], ())) for side in o.sides]
    each = " to ".join(dict.fromkeys(str(n) for n in (min(counts), max(counts))))
    what = "sides (server and option)" if o.sides[0].load else "servers"
    print(f"{o.works[0]}: {each} runs on each of {len(o.sides)} {what}\n")
    for text in o.said:
        _say(text)
    if o.equally_safe:
        _say(ENGLISH["versus_safe"])
    facts = overview.telling(o)
    more = " but places and what only some protocols have (--all)" if o.unequal else ""
    print("What is not equal" if facts else f"Nothing is known to be unequal{more}")
    for fact in facts:
        _say(overview.sentence(o, fact))
    print("\np50 of each action, and what the mean action cost")
    found = overview.rows(o)
    _print_columns(o, [(row.what, [cell.text for cell in row.cells]) for row in found])
    _say(overview.note(o))
    print()
    for pair in o.pairs:
        if pair.same or len(o.sides) == 2:
            _say(pair.said)
    _say("What else differs, p95, actions alone, round trips, intervals, every pair: --all, --html")


def _print_columns(o: Outcome, lines: Sequence[tuple[str, Sequence[str]]]) -> None:
    """A column for each side; as many beside each other as a screen is wide."""
    names = [side.name for side in o.sides]
    cells = [names, *(line for _, line in lines)]
    widths = [max(len(show.plain(line[i])) for line in cells) for i in range(len(names))]
    first = max((len(what) for what, _ in lines), default=0)
    for block in overview.blocks(first, widths, SCREEN):
        head = ["", *(names[i] for i in block)]
        print(show.table(head, [[what, *(line[i] for i in block)] for what, line in lines]))


def _print_all(o: Outcome, rtts: Sequence[float]) -> None:
    names = [side.name for side in o.sides]
    for text in o.said:
        print(show.plain(text))
    print("\nWhat is not equal")
    print(show.table(["", *names], [[f.what, *f.values] for f in o.unequal]))
    for title, figures in (
        ("Time of an action", o.times),
        ("Cost of an action", o.costs),
        ("Round trips of an action", o.trips(rtts)),
    ):
        if figures:
            print(f"\n{title}")
            lines = [[f.work, f.what, *(v.text for v in f.values)] for f in figures]
            print(show.table(["load", "", *names], lines, 2))
    print()
    for pair in o.pairs:
        print(show.plain(pair.said))


def _report(o: Outcome, args: argparse.Namespace) -> int:
    """Prints the outcome; 4 if a run is in doubt."""
    doubts = [f"{r.name}: {text}" for side in o.sides for r in side.all for text in r.doubts]
    if args.html or args.figures:
        from .page import versuspage

        page = versuspage.page(o, args.rtt, doubts, args.figures)
        if args.html:
            with written(args.html) as file:
                file.write(page.encode())
    if args.format == forms.JSON:
        document = o.as_json(args.rtt) | {"overview": overview.as_json(o)}
        print(json.dumps(document, ensure_ascii=False))
    elif args.format == forms.CSV:
        _csv(o)
    elif args.all:
        _print_all(o, args.rtt)
    else:
        _print(o)
    for text in (*o.remarks, *doubts):
        show.notice(f"versus: {text}")
    return UNTRUSTED if doubts else OK
