# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trace costs, how large it is, and whether a busy server's is whole."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import partial

from lab import LETTERS, OUT, Lab, Sample, bench_program
from stats import Result, Side, compare, figure

RECORDED = "1579<"  # short requests, many files, bulk data, listings, locks
CALLS = 10_000_000
SIZE = "1G"  # of the volume
KEPT = OUT / "recorded"
STREAMS = ("requests", "calls", "waits", "sessions", "client", "names")


def traced(lab: Lab, what: str, tests: str, iterations: int = 1, *more: str) -> Sample:
    """The trace is written on another CPU where there is one: the server's is its own."""
    shutil.rmtree(KEPT, ignore_errors=True)
    options = [f"--trace={what}", *more, "-o", str(KEPT)]
    if not lab.free:
        options.append(f"--trace-cpu={lab.other_cpu()}")
    return lab.ours("bpf", tests, *options, iterations=iterations)


def _empty(lab: Lab) -> Sample:
    """Nobody watches, but every call and switch runs programs that do nothing.

    They end with their standard input, which the with statement closes.
    """
    with subprocess.Popen(
        [bench_program("bench_calls"), "empty"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as programs:
        assert programs.stdout
        if not programs.stdout.readline():
            raise RuntimeError("the empty programs could not be attached")
        return lab.ours("off", RECORDED)


def record_time(lab: Lab, how: str) -> list[Result]:
    """The time of tests while they are recorded, over that of nobody watching.

    With the client on the server's CPU all that watching takes adds to the time; on another,
    where clients mostly are, or wherever the kernel puts them, what falls into the wait for each
    other does not.
    """
    variants = {
        "off": partial(lab.ours, "off", RECORDED),
        "empty": partial(_empty, lab),
        "watched": partial(lab.ours, "bpf", RECORDED),
        "all": partial(traced, lab, "all", RECORDED),
        "requests": partial(traced, lab, "requests", RECORDED),
    }
    with lab.own_file_system(SIZE):
        runs = lab.series(variants, lab.pairs)
    how += ", volume of its own"
    if not lab.free:
        how += f", trace on CPU {lab.other_cpu()}"

    def over(name: str, what: str, test: int | None) -> Result:
        sides = [
            Side(label, [s.sum_ms() if test is None else s.ms[test] for s in runs[key]])
            for label, key in ((what, what), ("unwatched", "off"))
        ]
        goal = 1.15 if what == "all" else None
        return compare(name, *sides, "ms", how, goal=goal)

    tests = [LETTERS.index(letter) + 1 for letter in RECORDED]
    return [
        *(over(f"recorded, test {n}", "all", n) for n in tests),
        over("recorded, these tests", "all", None),
        over("recorded without calls", "requests", None),
        over("watched only", "watched", None),
        *(over(f"empty programs only, test {n}", "empty", n) for n in tests),
        over("empty programs only", "empty", None),
    ]


def record_replayable(lab: Lab, how: str) -> list[Result]:
    """The time of tests recorded with what each request asks for, over that of records without."""
    variants = {
        "all": partial(traced, lab, "all", RECORDED),
        "all, replayable": partial(traced, lab, "all", RECORDED, 1, "--replayable"),
        "requests": partial(traced, lab, "requests", RECORDED),
        "requests, replayable": partial(traced, lab, "requests", RECORDED, 1, "--replayable"),
    }
    with lab.own_file_system(SIZE):
        runs = lab.series(variants, lab.pairs)

    def over(what: str, test: int | None) -> Result:
        sides = [
            Side(key, [s.sum_ms() if test is None else s.ms[test] for s in runs[key]])
            for key in (f"{what}, replayable", what)
        ]
        name = "these tests" if test is None else f"test {test}"
        return compare(f"replayable, {what}, {name}", *sides, "ms", how, goal=1.05)

    tests = [LETTERS.index(letter) + 1 for letter in RECORDED]
    return [over(what, test) for what in ("all", "requests") for test in (*tests, None)]


def record_long(lab: Lab, how: str) -> list[Result]:
    """Ten million calls of a server kept busy by one client: none lost, and their size."""
    calls = _calls(lab, 1)
    iterations = -(-CALLS // calls)
    calls = _calls(lab, iterations)
    run = json.loads((KEPT / "run.json").read_text())
    lost = sum(x["n"] for x in run["losses"] if x["what"].startswith("records of "))
    size = sum(path.stat().st_size for path in (KEPT / "trace").iterdir())
    shutil.rmtree(KEPT)
    return [
        figure("calls recorded", calls, "calls", how, f"{iterations} times the twelve tests"),
        figure("records lost", lost, "records", how, "default buffer", goal=0),
        figure("trace, bytes a call", size / calls, "B", how, "all streams together"),
    ]


def _calls(lab: Lab, iterations: int) -> int:
    traced(lab, "all", LETTERS, iterations)
    text = json.loads((KEPT / "run.json").read_text())["rungs"]["trace"]
    return int(text.split(" calls,")[0].split()[-1])
