# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope dump: records of a trace as text. Chooses them; recordtext.py formats them."""

from __future__ import annotations

import argparse
import heapq
import io
import json
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from . import forms, recordtext, show
from .errors import OK, UNTRUSTED, Failure, wrong_use
from .recordtext import View
from .saved import plain, slowest
from .saved.node import load
from .saved.run import RUN_FILE, find, noted
from .saved.slowest import BLOCK
from .saved.trace import Stream, Trace

STREAMS = (
    "requests",
    "calls",
    "waits",
    "sessions",
    "client",
    "names",
    "texts",
    "operations",
)
ALL = "all"
BELOW = ("calls", "waits")
SLOW_MAX = 1000
SESSION_MAX = (1 << 32) - 2
BELOW_MAX = 100_000  # calls and waits kept of the requests shown with --calls
INDENT = "    "


def _number(most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {most}")
        return int(text)

    return number


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a path, `last`, or the start of a run's name")
    which = parser.add_argument_group("which records")
    which.add_argument("--stream", metavar="NAME", choices=(*STREAMS, ALL), default="requests",
                       help="of this kind (default: requests)")  # fmt: skip
    which.add_argument("--command", metavar="NAME", help="made for this AFP command (FPOpenFork)")
    which.add_argument("--session", metavar="PID", type=_number(SESSION_MAX),
                       help="of this server process")  # fmt: skip
    which.add_argument("--slow", metavar="N", type=_number(SLOW_MAX),
                       help="the N that took longest, the longest first")  # fmt: skip
    shown = parser.add_argument_group("what is shown")
    shown.add_argument(
        "--calls",
        action="store_true",
        help="below each request of --slow the calls and waits made for it",
    )
    shown.add_argument(
        "--count",
        action="store_true",
        help="only how many records there are of each kind, and what is lost or damaged",
    )
    forms.add(shown, forms.TEXT, forms.JSON, forms.CSV, json_lines=True)


@dataclass
class _Kept:
    """A record of --slow; of a request also its name and, with --calls, what was made for it."""

    stream: Stream
    record: Any  # an array of one
    about: Any = None  # the request that named its file: itself, or FPOpenFork
    name: Any = None
    text: bytes = b""
    below: list[tuple[int, Stream, Any]] = field(default_factory=list)


def _counted(s: Stream) -> list[int]:
    missing = max(s.lost_packets - s.damaged, 0)
    return [s.n, len(s.packets), s.damaged, missing, s.torn_bytes, s.discarded]


class _Dump:
    def __init__(self, args: argparse.Namespace, folder: Path, written: dict[str, int]) -> None:
        self.args, self.folder, self.written = args, folder, written
        self.trace = trace = Trace.open(folder)
        self.told: set[str] = set()
        names = STREAMS if args.stream == ALL else (args.stream,)
        self.chosen = [trace.streams[name] for name in names if name in trace.streams]
        self.view = View(args.stream == ALL, trace.offset_ns)

    def say(self, text: str) -> None:
        """Something is wrong with the trace, so that the exit code is UNTRUSTED."""
        if text not in self.told:
            sys.stdout.flush()
            show.notice(text)
        self.told.add(text)

    def tell(self, names: Sequence[str]) -> None:
        """What is damaged or lost of these streams, and whether there are as many records as were
        written: a cut between two packets is not visible."""
        for name in names:
            stream = self.trace.streams.get(name)
            for text in stream.notices if stream else ():
                self.say(text)
            there = stream.n if stream else 0
            if self.written.get(name, there) != there:
                self.say(f"{name}: {there} records are here, {self.written[name]} were written: "
                         "is the copy complete?")  # fmt: skip

    def tell_left_out(self) -> None:
        """Files that cannot be read, and those that are missing: the writer makes all, but calls,
        waits, texts and operations only where they are wanted."""
        streams = self.trace.streams
        told = {text for stream in streams.values() for text in stream.notices}
        for text in self.trace.notices:
            if text not in told:
                self.say(text)
        below = any(name in streams for name in BELOW)
        for name in STREAMS[: STREAMS.index("texts")]:
            if (below or name not in BELOW) and not (self.folder / name).exists():
                self.say(f"{name}: cannot be opened: No such file or directory")

    def count(self) -> None:
        self.tell(STREAMS)
        streams = self.trace.streams
        found = [(name, *(_counted(streams[name]) if name in streams else [None] * 6))
                 for name in STREAMS]  # fmt: skip
        keys = ("stream", "records", "packets", "damaged", "missing", "torn_bytes", "lost")
        if self.args.format == forms.CSV:
            forms.print_csv(keys, found)
            return
        if self.args.format == forms.JSON:
            for row in found:
                print(json.dumps(dict(zip(keys, row, strict=True))))
            return
        print(f"{'stream':9} {'records':>12} {'packets':>9} {'damaged':>9} {'missing':>9} "
              f"{'torn B':>9} {'lost':>12}")  # fmt: skip
        for name, n, *more, lost in found:
            if n is None:
                print(f"{name:9} {'-':>12}")
            else:
                print(f"{name:9} {n:12} {' '.join(f'{x:9}' for x in more)} {lost:12}")

    # Choosing

    def wanted(self, stream: Stream, command: int | None) -> Iterator[Any]:
        """Blocks of the records that were asked for."""
        for block in stream.blocks(BLOCK):
            keep = np.ones(len(block), bool)
            for name, value in (("command", command), ("session", self.args.session)):
                if value is not None:
                    keep &= block[name] == value if name in stream.columns else False
            if keep.any():
                yield block[keep]

    def drawn(self, stream: Stream, block: Any) -> Iterable[Any]:
        """Each record as it is shown: a line, or the cells of one."""
        if self.args.format == forms.TEXT:
            return recordtext.lines(stream, block, self.view)
        found = plain.rows(stream, block)
        if self.args.format == forms.CSV:
            return (row.values() for row in found)
        return (json.dumps({"stream": stream.name} | row) for row in found)

    def in_order(self, command: int | None) -> Iterator[Any]:
        """All records of the chosen streams, by time."""

        def of(stream: Stream) -> Iterator[tuple[int, Any]]:
            for block in self.wanted(stream, command):
                texts = self.drawn(stream, block)
                yield from zip(block["timestamp"].tolist(), texts, strict=True)

        return map(itemgetter(1), heapq.merge(*map(of, self.chosen), key=itemgetter(0)))

    def longest(self, command: int | None) -> list[_Kept]:
        """The longest first; of equal ones the earlier."""
        found = slowest.longest(
            self.chosen, lambda stream: self.wanted(stream, command), self.args.slow
        )
        return [_Kept(stream, record) for stream, record in found]

    # What the longest requests are about

    def find_opens(self, slow: list[_Kept]) -> None:
        """A request on an open file is about the one that had this number last."""
        requests = self.trace.streams["requests"]
        opens = [v for v, text in requests.labels("command").items() if text == "FPOpenFork"]
        for k in slow:
            k.about = k.record[0]
        for block in requests.blocks(BLOCK):
            made = np.isin(block["command"], opens) & (block["fork"] != 0) & (block["result"] == 0)
            for one in block[made].copy():
                for k in slow:
                    r = k.record[0]
                    same = r["fork"] == one["fork"] and r["session"] == one["session"]
                    if same and r["command"] != one["command"] and one["timestamp"] <= r["t"]:
                        k.about = one

    def find_names(self, slow: list[_Kept]) -> None:
        """The name that came last with its id before a request was answered is the request's."""
        streams = self.trace.streams
        ids = [k.about["dsi_id"] for k in slow]
        for block in streams["names"].blocks(BLOCK) if "names" in streams else ():
            for one in block[np.isin(block["dsi_id"], ids)].copy():
                for k in slow:
                    same = all(one[key] == k.about[key] for key in ("session", "dsi_id"))
                    if same and one["timestamp"] <= k.about["timestamp"]:
                        k.name = one
        hashes = [k.name["name"] for k in slow if k.name is not None]
        for block in streams["texts"].blocks(BLOCK) if "texts" in streams else ():
            for one in block[np.isin(block["name"], hashes)]:
                for k in slow:
                    if k.name is not None and k.name["name"] == one["name"]:
                        k.text = bytes(one["text"])

    def find_below(self, slow: list[_Kept]) -> None:
        """The calls and waits made for requests."""
        n = 0
        streams = [self.trace.streams[name] for name in BELOW if name in self.trace.streams]
        for place, stream, record in slowest.below(streams, [k.record[0] for k in slow]):
            if n < BELOW_MAX:
                slow[place].below.append((int(record["t"][0]), stream, record))
            n += 1
        calls, before = self.trace.streams.get("calls"), len(self.told)
        self.tell(BELOW)
        if slow and len(self.told) == before and not (calls and calls.n):
            self.say("calls: there is no record of a call although requests were made: is the copy "
                     "of the trace complete?")  # fmt: skip
        if n > BELOW_MAX:
            show.notice(f"{n - BELOW_MAX} more calls and waits of these requests are not shown: "
                        "--slow with a smaller number")  # fmt: skip

    # Showing

    def check(self) -> None:
        """Whether what is asked for can be had of the streams that are there."""
        name = self.args.stream
        if not self.chosen:
            raise wrong_use(f"there are no records of kind {name} in {self.folder}")
        if self.args.calls and "calls" not in self.trace.streams:
            raise wrong_use(f"--calls: {self.folder} was made without calls (--trace=requests)")
        if name != ALL:
            _fits_stream(self.args, self.chosen[0])

    def heads(self) -> None:
        if self.args.format == forms.CSV:
            forms.print_csv(plain.fields(self.chosen[0]), ())
        if self.args.format != forms.TEXT:
            return
        for stream in self.chosen:
            print(recordtext.head(stream, self.view))
        for name in BELOW if self.args.calls else ():
            if name in self.trace.streams:
                stream = self.trace.streams[name]
                print(INDENT + recordtext.head(stream, View(True, 0)))

    def put_objects(self, slow: list[_Kept]) -> None:
        """As put_slow, an object for each: what the request names, and what was made for it."""
        for k in slow:
            (row,) = plain.rows(k.stream, k.record)
            row = {"stream": k.stream.name} | row
            if k.name is not None and k.name["command"] == k.about["command"]:
                (named,) = plain.rows(self.trace.streams["names"], np.atleast_1d(k.name))
                row["named"] = {key: named[key] for key in ("volume", "dir", "name")}
                row["named"]["text"] = show.asked(k.text) or None
            if self.args.calls:
                row["below"] = [
                    {"stream": stream.name} | one
                    for _, stream, record in sorted(k.below, key=itemgetter(0))
                    for one in plain.rows(stream, record)
                ]
            print(json.dumps(row))

    def put_slow(self, slow: list[_Kept]) -> None:
        if self.args.format == forms.CSV:
            forms.print_rows(row.values() for k in slow for row in plain.rows(k.stream, k.record))
            return
        if self.args.format == forms.JSON:
            self.put_objects(slow)
            return
        for k in slow:
            print(recordtext.lines(k.stream, k.record, self.view)[0])
            if k.name is not None and k.name["command"] == k.about["command"]:
                print(INDENT + recordtext.name(k.name, k.text))
            view = View(True, 0, int(k.record["t"][0])) if k.below else self.view
            for _, stream, record in sorted(k.below, key=itemgetter(0)):
                print(INDENT + recordtext.lines(stream, record, view)[0])

    def show(self) -> None:
        self.check()
        command = _command(self.args, self.chosen)
        self.heads()
        slow: list[_Kept] = []
        found = False
        if self.args.slow:
            slow = self.longest(command)
            found = bool(slow)
        else:
            for line in self.in_order(command):
                if self.args.format == forms.CSV:
                    forms.print_rows((line,))
                else:
                    print(line)
                found = True
        self.tell([s.name for s in self.chosen])
        if not found and (command is not None or self.args.session is not None):
            show.notice("no record matches: without --command and --session all are shown")
        if self.args.slow:
            if self.args.calls:
                self.find_below(slow)
            if self.args.stream == "requests":
                self.find_opens(slow)
                self.find_names(slow)
            self.put_slow(slow)


def _command(args: argparse.Namespace, streams: list[Stream]) -> int | None:
    if args.command is None:
        return None
    for stream in streams:
        for value, text in stream.labels("command").items():
            if text.lower() == args.command.lower():
                return value
    raise wrong_use(
        f"--command: {args.command!r} is not an AFP command; give a name such as FPOpenFork"
    )


def _fit_together(args: argparse.Namespace) -> None:
    if args.calls and (not args.slow or args.stream != "requests"):
        raise wrong_use("--calls needs --slow N, and requests")
    if args.format == forms.CSV and (args.stream == ALL or args.calls) and not args.count:
        raise wrong_use("CSV has records of one kind: name it with --stream, or use --json")
    if args.count and (args.slow or args.command is not None or args.session is not None):
        raise wrong_use("--count counts all records, not chosen ones")


def _fits_stream(args: argparse.Namespace, stream: Stream) -> None:
    if args.command is not None and "command" not in stream.columns:
        raise wrong_use(f"--command: {stream.name} have no AFP command")
    if args.session is not None and "session" not in stream.columns:
        raise wrong_use(f"--session: records of {stream.name} do not contain the session")
    if args.slow and not slowest.length(stream):
        raise wrong_use(f"--slow: {stream.name} have no duration")


def _rungs(run: Path) -> dict[str, str]:
    """What run.json notes of the trace; empty if it cannot be read."""
    try:
        return load(run / RUN_FILE)["rungs"].texts()
    except Failure:
        return {}


def run(args: argparse.Namespace) -> int:
    """Prints the records; 4 if something of what was read is lost, damaged or missing."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # "dump | head" ends with head
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    _fit_together(args)
    path = find(args.run, killed=True)
    rungs, folder = _rungs(path), path
    if (path / "trace").is_dir():
        folder = path / "trace"
        if "trace" not in rungs:
            show.notice(f"{path}/run.json is missing or damaged: whether the trace ends before the "
                        "run is unknown")  # fmt: skip
    dump = _Dump(args, folder, noted(rungs))
    if why := rungs.get("trace.truncated"):
        dump.say(f"the trace ends before the run: {why}")
    dump.tell_left_out()
    if args.count:
        dump.count()
    else:
        dump.show()
    return UNTRUSTED if dump.told else OK
