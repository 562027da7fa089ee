# SPDX-License-Identifier: GPL-2.0-or-later
"""How often a replay says wrongly whether the server kept up, on made-up ones: for simulate.py.

A recording is of users who pause between their requests, or of programs that do not; each request
takes a time of its own in the recorded server. In the replay a server with as many workers takes it
so many times as long: a client sends a request when it is due and the one before was answered, and
requests wait for a free worker in the order in which they came. tests/known/kept.c says what the
program says of that.
"""

from __future__ import annotations

import functools
import heapq
import json
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
REPO = Path(__file__).parents[2]
PROGRAM = "build/tests/known/kept"
KEPT, BROKEN, UNTOLD = "kept", "broken", "cannot tell"
SECONDS = 30.0
COPY = 0.05  # s: a request of what users copy


@dataclass(frozen=True)
class Case:
    """`truth`: what may be said beside that it cannot be told; "": either. `by`: so many times as
    long as recorded. `load`: of the recorded server, busy so much of the time. `stall`: seconds for
    which the server does nothing; `late`: seconds that the load generator does nothing; `copies`:
    seconds for which the users copy something at the end."""

    name: str
    truth: str
    by: float = 1.0
    load: float = 0.3
    clients: int = 8
    workers: int = 2
    pauses: bool = True
    stall: float = 0.0
    late: float = 0.0
    copies: float = 0.0


Client = tuple[list[float], list[float]]  # when each request is due, and how long it takes; s


def _recording(case: Case, rng: np.random.Generator) -> list[Client]:
    out = []
    each = case.clients / (case.load * case.workers)  # a request and its pause, by its time
    for _ in range(case.clients):
        due, took, now = [], [], float(rng.exponential(1.0))
        mean = 0.03 if case.pauses else 0.005
        while now < SECONDS:
            ns = float(rng.lognormal(np.log(mean) - 0.32, 0.8))
            due.append(now)
            took.append(ns)
            now += ns + (float(rng.exponential(max(0.0, each - 1) * mean)) if case.pauses else 1e-4)
        while now < SECONDS + case.copies:
            ns = float(rng.lognormal(np.log(COPY) - 0.32, 0.8))
            due.append(now)
            took.append(ns)
            now += ns + 1e-4
        out.append((due, took))
    return out


def _after(
    case: Case, of: list[Client], rng: np.random.Generator
) -> tuple[list[float], int, float]:
    """How long after they were due requests were answered; how many began late because of the load
    generator, and by how much at most: a delay is in all requests of a client until it has caught
    up."""
    begin = float(rng.uniform(0.2, 0.6)) * SECONDS
    free = [0.0] * case.workers
    ready = [(due[0], i, 0) for i, (due, _) in enumerate(of) if due]
    prompt = [0.0] * len(of)  # when each would have its last answer from a generator without delays
    heapq.heapify(ready)
    out, n_late, late = [], 0, 0.0
    while ready:
        sent, i, k = heapq.heappop(ready)
        if begin <= sent < begin + case.late:
            sent = begin + case.late
        start = max(sent, heapq.heappop(free))
        if begin <= start < begin + case.stall:
            start = begin + case.stall
        end = start + case.by * of[i][1][k]
        heapq.heappush(free, end)
        due = of[i][0][k]
        out.append(end - due)
        delay = sent - max(due, prompt[i])
        prompt[i] = end - delay
        n_late, late = n_late + (delay > 1e-3), max(late, delay)
        if k + 1 < len(of[i][0]):
            heapq.heappush(ready, (max(of[i][0][k + 1], end), i, k + 1))
    return out, n_late, late


@functools.cache
def _program() -> str:
    subprocess.run(["make", "-s", PROGRAM], cwd=REPO, check=True, stdout=subprocess.DEVNULL)
    return str(REPO / PROGRAM)


def _line(case: Case, seed: int) -> str:
    rng = np.random.default_rng(seed)
    of = _recording(case, rng)
    after, late, late_by = _after(case, of, rng)

    def ms(values: list[float]) -> list[float]:
        return [round(1e3 * x, 3) for x in values]

    clients = [{"due": ms(due), "took": ms(took)} for due, took in of]
    return json.dumps({"clients": clients, "after": ms(after), "late": late,
                       "late_by": 1e3 * late_by, "cpu": 0.3})  # fmt: skip


def cases() -> list[Case]:
    return [
        *(
            Case(f"users; {what}", KEPT, by)
            for by, what in (
                (0.5, "half as long"), (1.0, "as long as recorded"), (1.5, "half as long again"),
            )
        ),
        Case("users of a server that was busy; as long as recorded", KEPT, 1.0, 0.7),
        Case("users; the server cannot take so much: five times as long", BROKEN, 5.0),
        Case("users; the server does nothing for 3 s of 30", BROKEN, stall=3.0),
        Case("users; the load generator does nothing for 3 s", KEPT, late=3.0),
        *(
            Case(f"users who then copy for 5 minutes; {what}", truth, by, clients=2, copies=300.0)
            for by, what, truth in (
                (1.0, "as long as recorded", KEPT), (1.02, "a fiftieth longer", ""),
            )
        ),
        *(
            Case(f"programs without pauses; {what}", truth, by, clients=2, pauses=False)
            for by, what, truth in (
                (0.5, "half as long", KEPT), (1.0, "as long as recorded", KEPT),
                (1.2, "a fifth longer", ""), (3.0, "three times as long", ""),
            )
        ),
    ]  # fmt: skip


def row(work: tuple[Case, int]) -> list[str]:
    case, times = work
    lines = "".join(_line(case, seed) + "\n" for seed in range(times))
    done = subprocess.run([_program()], input=lines, capture_output=True, text=True, check=True)
    found = Counter(done.stdout.splitlines())
    wrong = times - found[UNTOLD] - found[case.truth] if case.truth else 0
    shares = (found[KEPT], found[BROKEN], found[UNTOLD])
    cells = [f"{n / times:.1%}" for n in shares]
    return [case.name, *cells, f"{wrong / times:.1%}" if case.truth else ""]


def kept(table: Callable[..., T]) -> T:
    head: tuple[Any, ...] = ("Clients; the requests take", "Kept up", "Did not", "Cannot tell",
                             "False")  # fmt: skip
    return table(head, cases(), row, 50, 1)
