# SPDX-License-Identifier: GPL-2.0-or-later
"""How often the bands of a gate are wrong, on made-up counts: for simulate.py.

Each request makes calls of one kind of docs/analysis.md's table, as the last column there says they
come: in pieces, as the scheduler has it, when a database turns its logs. How often they come is
chance of the request, and of the run as well.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "analysis"))
from afpscope.gate import Accepted, judge
from afpscope.saved.run import AFP_WORDS, BACKEND_SOCKET, DATABASE_FILE
from afpscope.tables import counts
from afpscope.tables.counts import Key, Observed

T = TypeVar("T")
Chance = Callable[[np.random.Generator, int], Callable[[], int]]  # of a run, then of an iteration
TEST = "1 made up"
REQUESTS, ITERATIONS = 1000, 2
SERVER, HELPER = AFP_WORDS["server"], AFP_WORDS["helper"]
MORE = (0.0, 0.02, 0.5, 1.0, 2.0, 10.0)  # calls of a request that the judged run makes besides


def _exact(_: np.random.Generator, n: int) -> Callable[[], int]:
    return lambda: 2 * n


def _second(rng: np.random.Generator, n: int) -> Callable[[], int]:
    """The same, but for times that fall into one second, once in five iterations."""
    return lambda: 2 * n + int(rng.random() < 0.2)


def _share(rng: np.random.Generator, n: int) -> Callable[[], int]:
    """One for each request that had to wait: a share that is another in each run."""
    share = rng.uniform(0.2, 0.9)
    return lambda: int(rng.binomial(n, share))


def _pieces(rng: np.random.Generator, n: int) -> Callable[[], int]:
    """One, and as many more as the socket had no room for."""
    mean = 4 * np.exp(rng.normal(0, 0.3))
    return lambda: n + int(rng.poisson(mean * n))


def _pages(rng: np.random.Generator, n: int) -> Callable[[], int]:
    """A few at a time."""
    return lambda: 4 * int(rng.poisson(0.02 * n / 4))


def _seldom(rng: np.random.Generator, n: int) -> Callable[[], int]:
    return lambda: int(rng.poisson(0.005 * n))


@dataclass(frozen=True)
class Kind:
    name: str
    command: str
    call: tuple[str, str, str]  # role, class, object
    chance: Chance

    @property
    def key(self) -> Key:
        return (TEST, self.command, *self.call)


KINDS = (
    Kind("exact: always the same", "FPGetFileDirParms", (SERVER, "stat", "-"), _exact),
    Kind("exact, but for a stray", "FPOpenFork", (SERVER, "stat", "-"), _second),
    Kind("varies, no row of its own", "FPEnumerateExt2", (SERVER, "read", "pipe"), _share),
    Kind("waits of a fork's commands", "FPReadExt", (SERVER, "wait", "client socket"), _pieces),
    Kind("there: pieces", "FPWriteExt", (SERVER, "recv", "client socket"), _pieces),
    Kind("other waits", "FPGetFileDirParms", (SERVER, "wait", BACKEND_SOCKET), _share),
    Kind("of a fork: fewer than requests", "FPReadExt", (SERVER, "read", "pipe"), _share),
    Kind("the CNID database", "FPCreateFile", (HELPER, "write", DATABASE_FILE), _pages),
    Kind("memory and signal", "FPOpenDir", (SERVER, "memory", "-"), _seldom),
)


@dataclass(frozen=True)
class Case:
    """`kinds`: rows of the test; `runs`: that are accepted."""

    name: str
    kinds: tuple[Kind, ...]
    runs: int


def _observed(case: Case, runs: int, rng: np.random.Generator, more: float = 0.0) -> Observed:
    out: Observed = {}
    for kind in case.kinds:
        out[TEST, kind.command, "requests", "", ""] = [REQUESTS] * ITERATIONS * runs
        of_runs = [kind.chance(rng, REQUESTS) for _ in range(runs)]
        each = [iteration() for iteration in of_runs for _ in range(ITERATIONS)]
        out[kind.key] = [n + round(more * REQUESTS) for n in each]
    return out


def failing(case: Case, times: int) -> list[float]:
    """The shares of gates that fail, for each of MORE."""
    failed = [0] * len(MORE)
    for seed in range(times):
        rng = np.random.default_rng(seed)
        bands = counts.bands(_observed(case, case.runs, rng))
        accepted = Accepted({}, case.runs, case.runs * ITERATIONS, bands)
        for i, more in enumerate(MORE):
            observed = _observed(case, 1, np.random.default_rng((seed, 1)), more)
            findings, _, _ = judge(accepted, observed, strict=False)
            failed[i] += bool(findings)
    return [n / times for n in failed]


def cases() -> list[Case]:
    one = [Case(kind.name, (kind,), runs) for kind in KINDS for runs in (1, 4, 10)]
    return [*one, *(Case("all of these rows", KINDS, runs) for runs in (1, 4, 10))]


def _row(work: tuple[Case, int]) -> list[str]:
    case, times = work
    return [case.name, f"{case.runs}", *(f"{share:.1%}" for share in failing(case, times))]


def gates(table: Callable[..., T]) -> T:
    """As a Table of simulate.py."""
    head = ("Calls", "Runs accepted", "None more", *(f"{more:g} more" for more in MORE[1:]))
    return table(head, cases(), _row, 1000, 2)
