# SPDX-License-Identifier: GPL-2.0-or-later
"""How often a history errs, on made-up series whose changes are known.

simulate_history.py [TIMES]    the table of docs/analysis.md, each line from TIMES histories (1000)
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parents[2] / "analysis"))
from afpscope.judge import changes

Array = npt.NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], Array]


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def normal(rng: np.random.Generator, n: int) -> Array:
    return rng.normal(0, 1, n)


def heavy(rng: np.random.Generator, n: int) -> Array:
    """One run in ten is disturbed, by several times the noise."""
    return rng.normal(0, 1, n) + (rng.random(n) < 0.1) * rng.exponential(5, n)


def rounded(rng: np.random.Generator, n: int) -> Array:
    """Few different values."""
    return np.round(rng.normal(0, 1, n))


def neighbours(share: float) -> Noise:
    """Each value has a share of the one before."""

    def make(rng: np.random.Generator, n: int) -> Array:
        own = rng.normal(0, 1, n)
        out = own.copy()
        for i in range(1, n):
            out[i] = share * out[i - 1] + np.sqrt(1 - share**2) * own[i]
        return out

    return make


def spells(rng: np.random.Generator, n: int) -> Array:
    """Now and then some runs in a row are slow: the machine had other work."""
    out = rng.normal(0, 1, n)
    at = int(rng.exponential(30))
    while at < n:
        out[at : at + int(rng.integers(1, 5))] += rng.exponential(4)
        at += 5 + int(rng.exponential(30))
    return out


def drift(rng: np.random.Generator, n: int) -> Array:
    """By two deviations, from the first run to the last, as a machine that ages."""
    return rng.normal(0, 1, n) + np.linspace(0, 2, n)


NOISES: dict[str, Noise] = {
    "normal": normal,
    "a tenth of the runs disturbed": heavy,
    "few different values": rounded,
    "neighbours correlate by 0.3": neighbours(0.3),
    "neighbours correlate by 0.6": neighbours(0.6),
    "spells of up to four slow runs": spells,
}
DRIFT = "a drift of two deviations"  # is no step, and is shown as one


@dataclass(frozen=True)
class Case:
    """A history of `rows` series of `runs` runs. From run `at` on the first is `shift` deviations
    of its noise larger; 0: nothing changes. A run has noise of 3 % of its value."""

    noise: str
    runs: int
    rows: int = 1
    shift: float = 0.0
    at: int = 0

    @property
    def make(self) -> Noise:
        return drift if self.noise == DRIFT else NOISES[self.noise]

    def series(self, rng: np.random.Generator) -> list[Array]:
        rows = [self.make(rng, self.runs) for _ in range(self.rows)]
        rows[0][self.at :] += self.shift
        return [np.exp(0.03 * row) for row in rows]


QUIET = [Case(noise, 100, rows) for noise in (*NOISES, DRIFT) for rows in (1, 20)]
CHANGED = [
    Case("normal", 100, 20, 2, 50), Case("normal", 100, 20, 3, 90), Case("normal", 100, 20, 1, 50),
    Case("a tenth of the runs disturbed", 100, 20, 3, 50), Case("normal", 30, 20, 3, 15),
    Case("neighbours correlate by 0.3", 100, 20, 3, 50), Case("normal", 12, 1, 3, 6),
]  # fmt: skip


@dataclass(frozen=True)
class Rates:
    """Shares of the histories: with a change that is none, with the change found, and of these
    those in which it was within `low` to `high`."""

    false: float
    found: float
    within: float


def rates(case: Case, times: int, seed: int = 1) -> Rates:
    rng = generator(seed)
    false = found = within = 0
    for _ in range(times):
        wrong = False
        for row, values in enumerate(case.series(rng)):
            got = changes.change_points(values, case.rows)
            right = [c for c in got if case.shift and not row and abs(c.at - case.at) <= 5]
            wrong = wrong or len(got) > len(right[:1])
            if right:
                found += 1
                within += right[0].low <= case.at <= right[0].high
        false += wrong
    return Rates(false / times, found / times, within / max(1, found))


def main(args: list[str]) -> int:
    times = int(args[0]) if args else 1000
    print("| Noise | Runs | Rows | Change | At | False | Found | Its place within what is said |")
    print("|---|---|---|---|---|---|---|---|")
    for case in (*QUIET, *CHANGED):
        got = rates(case, times)
        more = [f"{got.found:.1%}", f"{got.within:.1%}"] if case.shift else ["", ""]
        change = [f"{case.shift:g} deviations", str(case.at)] if case.shift else ["none", ""]
        cells = [case.noise, str(case.runs), str(case.rows), *change, f"{got.false:.1%}", *more]
        print("| " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
