# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope sweep: `load`, `replay` or `rx` step by step, and where the server can take no more."""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import secrets
import shlex
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from . import __version__, forms, show
from .errors import (
    BROKEN,
    FAILED,
    INTERRUPTED,
    OK,
    UNSURE,
    UNTRUSTED,
    USAGE,
    Failure,
    wrong_use,
)
from .limit import knee, outcome
from .limit.knee import Slo
from .measure import quiet, served, sweepjob, swept
from .measure.children import Relay, address, last_line, program
from .measure.sweepjob import JOB_FILE, RECORDING, Job
from .measure.swept import LOAD, REPLAY, RX, Line
from .saved import steps
from .saved.crowd import MEAN
from .saved.files import Folder, written
from .saved.steps import AGAIN, BISECTED, PLANNED, SCHEMA, SWEEP_FILE, Sweep
from .typed import typed
from .urls import scheme

PASSES_ON = True  # the options of load, of replay, or of rx
SPEED = "speed"  # of a replay
ORDERS = ("shuffled", "up", "abba")
STEPS_MAX = 1000
QUIET_SOON_S, QUIET_MAX_S, FAR_S = 2.0, 30.0, 5.0
_GONE_S = 10.0
_SECRET = re.compile(r"(-w|--password)(=?)(.*)", re.S)
# With these every step needs files of its own, as their number or size differs.
_CHANGES_SET = ("file-size", "files")
_OURS = ("--no-save", "--set-of", "--remove-set", "--directories", "--serve")
_RX_URL = "rx://"
_OURS_OF_REPLAY = ("--no-save", "--dry-run", "--prepare", "--no-think")


def options(parser: argparse.ArgumentParser) -> None:
    parser.usage = (
        "afpscope sweep [OPTIONS] [OPTIONS of load] --clients 1,2,5,... -o DIR "
        "URL|DIRECTORY\n       afpscope sweep [OPTIONS] [OPTIONS of replay] --replay RECORDING "
        "--speed 1,2,4,8 -o DIR URL|DIRECTORY\n       afpscope sweep [OPTIONS] [OPTIONS of rx] "
        "--clients 1,30,250 -o DIR rx://HOST[:PORT]\n       afpscope sweep --serve "
        "'--buffer 64K,1M,16M' [OPTIONS of rx] -o DIR\n       (any one option has a list of "
        "numbers; afpscope load --help and afpscope rx --help list them)"
    )
    parser.add_argument("-o", "--output", metavar="DIR", type=Path,
                        help="a new folder for the steps and sweep.json; needed")  # fmt: skip
    parser.add_argument("--order", choices=ORDERS, default="shuffled",
                        help="of the steps (default shuffled); abba: up, down, ...")  # fmt: skip
    parser.add_argument("--seed", metavar="N", type=int, default=1,
                        help="of the order, and of load's random numbers (default 1)")  # fmt: skip
    parser.add_argument("--repeat", metavar="K", type=int, help="steps of each value (default 1)")
    parser.add_argument("--pause", metavar="S", type=float,
                        help="seconds between steps (default: until this machine is quiet, at "
                        f"most {QUIET_MAX_S:g}; {FAR_S:g} for a server on another)")  # fmt: skip
    parser.add_argument("--slo", metavar="LIMIT", action="append", default=[],
                        help="what the server must keep: p99<=50ms, rate>=500")  # fmt: skip
    parser.add_argument("--refine", metavar="N", type=int, default=4,
                        help="further steps around the knee (default 4)")  # fmt: skip
    parser.add_argument("--replay", metavar="RECORDING", type=Path,
                        help="each step replays this recording: --speed 1,2,4,8")  # fmt: skip
    parser.add_argument("--serve", metavar="OPTIONS",
                        help="rx: each step has a server of our own with these")  # fmt: skip
    parser.add_argument("--each", metavar="COMMAND",
                        help="run before each step, with its value for {}")  # fmt: skip
    parser.add_argument("--values", metavar="LIST", help="for --each: 64K,1M,16M")
    parser.add_argument("--show-job", action="store_true",
                        help="do nothing but print these options as a job file; it is given "
                        "in place of the server, and its name ends with .ini")  # fmt: skip
    parser.add_argument("--own-set", action="store_true",
                        help="each step makes and removes its own files")  # fmt: skip
    parser.add_argument(
        "--program", metavar="FILE", help="default: the one that started this, or on the PATH"
    )
    forms.add(parser, forms.TEXT, forms.JSON, forms.CSV, forms.MARKDOWN)


def expanded(words: Sequence[str]) -> list[str]:
    """The command line with what a job file says beside it."""
    found = sweepjob.find(words)
    return [*found[1].words(words), *words] if found else list(words)


# Exit codes of a step that is as any other: what it found is not its fault.
_DONE = (OK, UNTRUSTED, BROKEN, UNSURE)

# What is swept


def order(values: Sequence[str], how: str, repeat: int, seed: int) -> list[str]:
    """The values in the order of their steps; each occurs `repeat` times, once in each pass."""
    up = sorted(values, key=lambda v: steps.number(v) or 0.0)
    rng = random.Random(seed)
    out: list[str] = []
    for i in range(repeat):
        one = list(up)
        if how == "shuffled":
            rng.shuffle(one)
        elif how == "abba" and i.bit_count() % 2:
            one.reverse()
        out += one
    return out


def masked(words: Sequence[str]) -> list[str]:
    """The arguments without a password."""
    out: list[str] = []
    hide = False
    for word in words:
        found = _SECRET.fullmatch(word)
        if hide:
            out.append("...")
        elif found and (found[2] or (found[1] == "-w" and found[3])):
            out.append(f"{found[1]}{found[2]}...")
        else:
            out.append(re.sub(r"(://[^:/@]*):[^@/]*@", r"\1@", word))
        hide = word in ("-w", "--password")
    return out


@dataclass(frozen=True)
class Target:
    """What is loaded: a directory of this machine, or a server."""

    text: str
    directory: Path | None
    host: str
    port: int
    command: str = LOAD  # which loads it
    ours: bool = False  # it is a server of ours, made for each step

    @property
    def is_here(self) -> bool:
        return self.directory is not None or self.ours or quiet.is_here(self.host)

    def is_gone(self, stop: Callable[[], bool]) -> bool:
        """Whether it is still away after a while."""
        if self.directory is not None:
            return not self.directory.is_dir()
        if self.ours:
            return False
        end = time.monotonic() + _GONE_S
        while not stop():
            if self._answers():
                return False
            if time.monotonic() >= end:
                return True
            time.sleep(0.2)
        return False

    def _answers(self) -> bool:
        if self.command == RX:
            return served.answers(self.host, self.port)
        try:
            socket.create_connection((self.host, self.port), 5).close()
        except OSError:
            return False
        return True


def command_of(rest: Sequence[str], serve: str | None, job: Job | None = None) -> str:
    """Which command the steps are."""
    if job and (job.command == REPLAY or not any(map(scheme, rest))):
        return job.command
    if any(w.split("=")[0] == f"--{RECORDING}" for w in rest):
        return REPLAY
    return RX if serve is not None or any(w.startswith(_RX_URL) for w in rest) else LOAD


def target(line: Line, job: Job | None = None, command: str = LOAD) -> Target:
    """`command`: of the steps, where it is not told by what is loaded."""
    client = line.client
    words = [w for w in client.others if not w.startswith("-")]
    url = next(filter(scheme, words), None)
    if job and job.target and not url:
        url = job.target if scheme(job.target) else None
        if not url and line.server is None:
            return Target(job.target, Path(job.target), "", 0, command)
    if line.server is not None:
        if url:
            raise wrong_use(f"--serve makes a server for each step, and {url} is another one")
        return Target("afpscope rx --serve", None, "", 0, RX, True)
    if url:
        command = RX if url.startswith(_RX_URL) else command
        return Target(masked([url])[0], None, *address(url), command)
    if words and Path(words[-1]).is_dir() and client.others[-1] == words[-1]:
        return Target(words[-1], Path(words[-1]), "", 0, command)
    host = client.given("--host", "-h") or (job and job.value("host")) or "localhost"
    port = client.given("--port", "-p") or (job and job.value("port")) or "548"
    if not port.isdigit():
        raise wrong_use(f"--port {port}: not a number")
    shown = f"[{host}]" if ":" in host else host
    return Target(f"{shown}:{port}", None, host, int(port), command)


# The steps


@dataclass
class Driver:
    """Runs the steps, and notes each in sweep.json as it begins and ends."""

    args: argparse.Namespace
    line: Line
    slo: Slo | None
    program: str
    job: Job | None = None  # that was given
    command: str = LOAD
    relay: Relay = field(default_factory=Relay)
    steps: list[dict[str, Any]] = field(default_factory=list)
    stopped: str | None = None
    complete: bool = False
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    started: str = field(default_factory=lambda: _now())

    def __post_init__(self) -> None:
        self.target = target(self.line, self.job, self.command)
        self.is_here = self.target.is_here
        self.no_set = self.target.command != LOAD
        self.own_set = self.no_set or self.args.own_set or self.line.option in _CHANGES_SET

    @property
    def owner(self) -> str:
        """Whose files they are, for load."""
        return f"--set-of={os.getpid()}"

    @property
    def folder(self) -> Path:
        return Path(self.args.output)

    def note(self) -> None:
        """Writes sweep.json."""
        document = {
            "schema": SCHEMA,
            "tool": "afpscope",
            "version": __version__,
            "id": self.id,
            "started": self.started,
            "complete": self.complete,
            "stopped": self.stopped,
            "option": self.line.option,
            "values": list(self.line.values),
            "order": self.args.order,
            "seed": self.args.seed,
            "repeat": self.args.repeat,
            "refine": self.args.refine,
            "slo": self.args.slo,
            "target": self.target.text,
            "command": self.target.command,
            "arguments": masked(self.line.client.others),
            "serve": self.args.serve,
            "each": self.args.each,
            "set": "none" if self.no_set else "own" if self.own_set else "shared",
            "steps": self.steps,
        }
        with written(self.folder / SWEEP_FILE) as file:
            file.write((json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())

    def _set(self) -> list[str]:
        """So that all steps work on the same files."""
        if self.own_set:
            return []
        out = [self.owner]
        if self.line.option == "clients":
            most = max(int(steps.number(v) or 0) for v in self.line.values)
            out.insert(0, f"--directories={most}")
        return out

    def _pause(self) -> dict[str, Any]:
        """Before each step. There is nothing to wait for before the first but other work here."""
        looks = self.args.pause is None and self.is_here
        if not self.steps and not looks:
            return {"paused_s": 0.0, "quiet": None}

        def caught() -> bool:
            return self.relay.caught != 0

        is_quiet = None
        if looks:
            took, is_quiet = quiet.wait(QUIET_SOON_S, caught)
            if not is_quiet and not caught():
                show.notice(
                    f"sweep: waiting until this machine is quiet, for at most {QUIET_MAX_S:g} s "
                    "(--pause S: wait S seconds whatever it does)"
                )
                more, is_quiet = quiet.wait(QUIET_MAX_S - took, caught)
                took += more
            end = "quiet" if is_quiet else "still busy"
        else:
            took = quiet.pause(FAR_S if self.args.pause is None else self.args.pause, caught)
            end = "paused"
        if took >= 1:
            show.notice(f"sweep: {end} after {took:.1f} s")
        return {"paused_s": round(took, 1), "quiet": is_quiet}

    def step(self, value: str, why: str, of: int) -> None:
        """Runs one; a failure of its own is noted, and is none of the sweep."""
        pause = self._pause()
        if self.relay.caught:
            return
        name = f"{len(self.steps) + 1:03}-{value}"
        show.notice(f"sweep: step {len(self.steps) + 1} of {of}: {self.line.option} {value}")
        noted: dict[str, Any] = {"folder": name, "value": value, "why": why, **pause}
        noted |= {"started_at": _now(), "ended_at": None, "exit": None, "error": None}
        self.steps.append(noted)
        self.note()
        log = (self.folder / name).with_name(f"{name}.txt")
        with self._server(name, value) as where:
            self._each(value, log)
            code = self.relay.call([self.program, *self._words(name, value, where)], log)
        noted |= {"ended_at": _now(), "exit": code}
        if code not in _DONE:
            noted["error"] = last_line(log)
        self.note()
        if code == USAGE:
            raise Failure(f"step {name}: {noted['error']}", USAGE)
        if not self.relay.caught:
            self._judge(name)

    def _words(self, name: str, value: str, where: str | None) -> list[str]:
        words = [self.target.command, *self.line.client.at(value)]
        if self.target.command == LOAD:
            words += [f"--seed={self.args.seed}", *self._set()]
        if self.target.command in (LOAD, REPLAY):
            words += [f"--slo={self.args.slo}"] if self.args.slo else []
        return [*words, "-o", str(self.folder / name), *([where] if where else [])]

    @contextmanager
    def _server(self, name: str, value: str) -> Iterator[str | None]:
        """Address and port of a server of ours, if there is to be one."""
        if self.line.server is None:
            yield None
            return
        log, saved = (self.folder / f"{name}-server.{ending}" for ending in ("txt", "json"))
        with served.served(self.program, self.line.server.at(value), log, saved) as where:
            yield where

    def _each(self, value: str, log: Path) -> None:
        if self.args.each is None:
            return
        shell = ["sh", "-c", self.args.each.replace("{}", shlex.quote(value))]
        code = self.relay.call(shell, log, {**os.environ, "AFPSCOPE_VALUE": value})
        if code and not self.relay.caught:
            raise Failure(f"--each failed with {code} at {value}: {last_line(log)}", FAILED)

    def _judge(self, name: str) -> None:
        """Says how the step went. Failure if the server is gone."""
        done = self.sweep.steps[-1]
        if done.load:
            q = ("mean", MEAN) if done.load.mixed else ("p99", 0.99)
            text = f"{show.rate(done.load.achieved)}/s, {q[0]} {done.time_text(q[1])}"
            if done.exit not in _DONE:
                text += f"; ended with {done.exit}: {done.error}"
            show.notice(f"sweep:   {text}")
            return
        show.notice(f"sweep:   step {name} failed, and is left out: {done.trouble}")
        if self.target.is_gone(lambda: self.relay.caught != 0):
            self.stopped = f"{self.target.text} is gone"
            raise Failure(f"{self.stopped}: the sweep ends after {len(self.steps)} steps")

    @property
    def sweep(self) -> Sweep:
        return steps.open_sweep(self.folder)

    def plan(self) -> None:
        values = order(self.line.values, self.args.order, self.args.repeat, self.args.seed)
        for value in values:
            if not self.relay.caught:
                self.step(value, PLANNED, len(values))

    def refine(self) -> None:
        """Further steps around the knee, unless it is that of a closed loop without SLO."""
        first = len(self.steps)
        whole = all("." not in v for v in self.line.values) and self.line.option != SPEED
        for i in range(self.args.refine):
            if self.relay.caught:
                return
            sweep = self.sweep.for_rule(self.slo is not None)
            rule, judged = knee.judged(sweep, self.slo)
            left = self.args.refine - i
            rank = knee.further(judged, left, whole) if rule != "growth" else None
            if rank is None:
                return
            known = {sweep.rank(level.value): level.text for level in sweep.levels}
            value = known.get(rank) or f"{abs(rank):.10g}"
            self.step(value, AGAIN if rank in known else BISECTED, first + self.args.refine)

    def remove_set(self) -> bool:
        """Removes the files that all steps shared, also after a signal. False if they are left."""
        if self.own_set or not self.steps:
            return True
        log = self.folder / "remove-set.txt"
        words = [
            "load",
            *self.line.client.others,
            "--clients=1",
            self.owner,
            "--remove-set",
            "--no-save",
        ]
        with (relay := Relay()).listening():
            code = relay.call([self.program, *words], log)
        if code:
            show.notice(
                f"sweep: the files of the load are left on {self.target.text}: "
                f"{last_line(log)}; afpscope clean removes them"
            )
        return code == 0


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _check(args: argparse.Namespace) -> None:
    if args.after is not None:
        raise wrong_use("there is nothing to give after --: the options of load are given as such")
    if args.repeat is None:
        args.repeat = 2 if args.order == "abba" else 1
    for name, value, most in (("repeat", args.repeat, 100), ("refine", args.refine, 100)):
        least = 1 if name == "repeat" else 0
        if not least <= value <= most:
            raise wrong_use(f"--{name} {value}: {least} to {most}")
    if args.order == "abba" and args.repeat % 2:
        raise wrong_use(f"--order abba goes up and down: --repeat {args.repeat} must be even")
    if len(args.slo) > 1:
        raise wrong_use("--slo: one limit; report and compare can judge a sweep by others")
    args.slo = args.slo[0] if args.slo else None
    if args.pause is not None and not 0 <= args.pause <= 86400:
        raise wrong_use(f"--pause {args.pause:g}: 0 to 86400")
    if args.output is None and not args.show_job:
        raise wrong_use("-o DIR, a new folder for the steps and sweep.json, is needed")
    if (args.each is None) != (args.values is None):
        raise wrong_use("--each COMMAND and --values LIST belong together")
    ours = _OURS_OF_REPLAY if args.replay else _OURS
    for word in args.rest:
        if word.split("=")[0] in ours:
            by = (
                "cannot be used in a sweep"
                if args.replay
                else "is given to load by the sweep itself"
            )
            raise wrong_use(f"{word.split('=')[0]} {by}")


def _end(driver: Driver, whole: bool) -> int:
    """Prints the outcome; the exit code."""
    sweep = driver.sweep
    found = outcome.of(sweep)
    if driver.args.format != forms.TEXT:
        outcome.put(found, driver.args.format)
    else:
        print(typed(outcome.screen(found)))
        folder = shlex.quote(str(driver.folder))
        print(typed(f"\nMore: afpscope report {folder} -o report.html"))
    if not whole or found.failed:
        return FAILED
    return UNTRUSTED if any(s.exit == UNTRUSTED for s in sweep.steps) else OK


def _own(args: argparse.Namespace) -> dict[str, str]:
    """The options of the sweep itself, as keys of a job file."""
    out = {key: getattr(args, key.replace("-", "_")) for key in sweepjob.OWN}
    out["own-set"] = "yes" if args.own_set else None
    out["output"] = str(Path.cwd() / args.output) if args.output and args.show_job else None
    return {key: str(value) for key, value in out.items() if value is not None}


@contextmanager
def _step_job(args: argparse.Namespace, job: Job | None) -> Iterator[Path | None]:
    """Where the job file of the steps is to be, which the program reads."""
    if job is None:
        yield None
    elif args.show_job:
        with tempfile.TemporaryDirectory(prefix="afpscope-") as folder:
            yield Path(folder) / f"{job.command}.ini"
    else:
        yield Path(args.output).absolute() / f"{job.command}.ini"


def run(args: argparse.Namespace) -> int:
    found = sweepjob.find(args.rest)
    with _step_job(args, found[1] if found else None) as path:
        if found and path:
            args.rest[found[0]] = str(path)
        return _run(args, found[1] if found else None, path)


def _run(args: argparse.Namespace, job: Job | None, path: Path | None) -> int:
    _check(args)
    if args.replay:
        args.rest = [f"--{RECORDING}={args.replay.absolute()}", *args.rest]
    command = command_of(args.rest, args.serve, job)
    server = None if args.serve is None else shlex.split(args.serve)
    line = swept.parse(command, args.rest, server, args.values)
    named = program(args.program)
    if args.show_job:
        if job and path:
            path.write_text(job.of_step())
        print(sweepjob.shown(named, command, line, _own(args)), end="")
        return OK
    if len(line.values) * args.repeat > STEPS_MAX:
        raise wrong_use(f"{len(line.values) * args.repeat} steps: at most {STEPS_MAX}")
    own = knee.KEPT_UP_WITH if command == REPLAY else None
    limit = knee.slo(args.slo) if args.slo else own
    driver = Driver(args, line, limit, named, job, command)
    if not Folder(driver.folder).is_empty():
        raise wrong_use(f"{driver.folder} exists and is not an empty folder: name a new one")
    driver.note()
    if job and path:
        with written(path) as file:
            file.write(job.of_step().encode())
    with written(driver.folder / JOB_FILE) as file:
        file.write(sweepjob.shown(named, command, line, _own(args)).encode())
    failed, removed = None, False
    with driver.relay.listening():
        try:
            driver.plan()
            driver.refine()
        except Failure as e:
            failed = e
        finally:
            removed = driver.remove_set()
    if driver.relay.caught:
        driver.stopped = signal.Signals(driver.relay.caught).name
    driver.complete = not driver.stopped and not failed
    driver.note()
    if failed and failed.code == USAGE:
        raise failed
    if driver.relay.caught:
        show.notice(
            f"sweep: stopped by {driver.stopped} in step {len(driver.steps)}: the steps before it "
            f"are kept in {driver.folder}"
        )
    if failed:
        show.notice(f"sweep: {failed}")
    code = _end(driver, removed and not failed)
    return INTERRUPTED if driver.relay.caught else code
