# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a curve bends or crosses a line, with an interval of a stated level.

Of the logarithms of load and figure, from steps that were repeated: how much they differ at the
same load is the measure of chance. Without repeats there is an estimate, and no interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import special

Array = npt.NDArray[np.float64]
LEVEL = 0.95
# Repeats beyond the first of each load, at least, for an interval; loads on each side of a
# crossing, whose repeats say how much chance there is; loads for two lines.
LEAST_DF, NEAR, LEAST_LOADS = 3, 2, 4
_GRID = 400  # loads that are tried between two that were measured
_NO_LINES = 0.01  # so unlikely a deviation is the curve's own, not chance


@dataclass(frozen=True)
class At:
    """What was measured at a load; both are logarithms."""

    x: float
    ys: tuple[float, ...]

    @property
    def mean(self) -> float:
        return sum(self.ys) / len(self.ys)


Ends = tuple[float | None, float | None]  # None: open


def _spread(of: Sequence[At]) -> tuple[float, int]:
    """The variance at the same load, and its degrees of freedom."""
    df = sum(len(p.ys) - 1 for p in of)
    squares = sum((y - p.mean) ** 2 for p in of for y in p.ys)
    return (squares / df if df else 0.0), df


def _hull(x: Array, off: Array) -> Ends:
    """The ends of what is inside, where `off` is 0 or less; open where that reaches the end of what
    was tried."""
    at = np.flatnonzero(off <= 0)
    if not len(at):
        return None, None

    def end(inside: int, outside: int) -> float | None:
        if not 0 <= outside < len(x):
            return None
        share = off[inside] / (off[inside] - off[outside])
        return float(x[inside] + share * (x[outside] - x[inside]))

    return end(int(at[0]), int(at[0]) - 1), end(int(at[-1]), int(at[-1]) + 1)


@dataclass(frozen=True)
class Crossing:
    """Where a figure that grows with the load reaches a limit; between loads it grows evenly."""

    of: tuple[At, ...]  # the least load first
    limit: float
    blur: float = 0.0  # how far figures are known, from end to end; it is that of all steps

    @cached_property
    def rising(self) -> list[float]:
        """The means, those that fall put together (isotonic regression)."""
        blocks: list[list[float]] = []  # sum, weight, loads
        for p in self.of:
            blocks.append([sum(p.ys), len(p.ys), 1])
            while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
                last = blocks.pop()
                blocks[-1] = [a + b for a, b in zip(blocks[-1], last, strict=True)]
        return [total / n for total, n, loads in blocks for _ in range(int(loads))]

    @cached_property
    def at(self) -> float | None:
        """None: it is below or above at all loads."""
        ys = self.rising
        for i in range(len(ys) - 1):
            if ys[i] <= self.limit < ys[i + 1]:
                share = (self.limit - ys[i]) / (ys[i + 1] - ys[i])
                return self.of[i].x + share * (self.of[i + 1].x - self.of[i].x)
        return None

    @cached_property
    def chance(self) -> tuple[float, int]:
        """The variance near the crossing; of all where there are too few repeats."""
        first = sum(y <= self.limit for y in self.rising)
        near = _spread(self.of[max(0, first - NEAR) : first + NEAR])
        return near if near[1] > LEAST_DF else _spread(self.of)

    def _bows(self, i: int, far: float) -> list[tuple[float, float]]:
        """Lines of the neighbours of the part from load i on, as far as it is bent for certain: a
        mean and the growth from it. The curve lies between its chord and these."""
        out = []
        p = self.of
        for at, line in ((i, (i - 1, i)), (i + 1, (i + 1, i + 2))):
            if at - 1 < 0 or at + 1 >= len(p):
                continue
            x0, x1, x2 = (p[k].x for k in (at - 1, at, at + 1))
            weights = (1 / (x1 - x0), -1 / (x1 - x0) - 1 / (x2 - x1), 1 / (x2 - x1))
            ofs = list(zip(weights, p[at - 1 : at + 2], strict=True))
            bend = sum(w * q.mean for w, q in ofs)
            if abs(bend) > far * math.sqrt(sum(w * w / len(q.ys) for w, q in ofs)):
                a, b = (p[k] for k in line)
                growth = (b.mean - a.mean) / (b.x - a.x)
                out.append((a.mean - growth * a.x, growth))
        return out

    def within(self, level: float = LEVEL) -> Ends | None:
        """None: too few repeats. All places at which the curve may have the limit (Fieller)."""
        variance, df = self.chance
        if df < LEAST_DF:
            return None
        far = float(special.stdtrit(df, (1 + level) / 2)) * math.sqrt(variance)
        share = np.linspace(0, 1, _GRID)
        xs, off = [], []
        for i, (p, q) in enumerate(pairwise(self.of)):
            x = p.x + share * (q.x - p.x)
            chord = p.mean + share * (q.mean - p.mean)
            width = far * np.sqrt((1 - share) ** 2 / len(p.ys) + share**2 / len(q.ys))
            width += self.blur / 2
            lines = [a + growth * x for a, growth in self._bows(i, far)]
            low = np.minimum(chord, np.max(lines, 0)) if lines else chord
            high = np.maximum(chord, np.min(lines, 0)) if lines else chord
            xs.append(x)
            off.append(np.maximum(low - width - self.limit, self.limit - high - width))
            if (p.mean - self.limit) * (q.mean - self.limit) < 0:
                at = int(np.argmin(np.abs(chord - self.limit)))  # between two of the grid
                off[-1][at] = min(0.0, off[-1][at])
        return _hull(np.concatenate(xs), np.concatenate(off)) if xs else (None, None)


@dataclass(frozen=True)
class Bend:
    """Where a figure that grows evenly with the load stops growing, and `beyond` further.

    `slope` None: whatever it is; 1: the figure is the load.
    """

    of: tuple[At, ...]
    slope: float | None = None
    beyond: float = 0.0

    @cached_property
    def _tried(self) -> tuple[Array, Array, Array]:
        """Places of the bend; the squares that are left; the slope before it."""
        x = np.array([p.x for p in self.of])
        y = np.array([p.mean for p in self.of])
        n = np.array([float(len(p.ys)) for p in self.of])
        ks = np.concatenate([np.linspace(a, b, _GRID) for a, b in pairwise(x)])
        before = np.minimum(0.0, x[None, :] - ks[:, None])
        if self.slope is not None:
            # the figure at the bend is the load there
            rest = y[None, :] - (ks[:, None] + self.slope * before)
            return ks, np.sum(n * rest**2, 1), np.full(len(ks), self.slope)
        total = n.sum()
        of_x, of_y = before - (before @ n / total)[:, None], y - (y @ n / total)
        square = np.sum(n * of_x**2, 1)
        slope = np.where(
            square > 0, np.sum(n * of_x * of_y, 1) / np.where(square > 0, square, 1), 0
        )
        slope = np.maximum(slope, 0)
        rest = of_y[None, :] - slope[:, None] * of_x
        return ks, np.sum(n * rest**2, 1), slope

    @property
    def parameters(self) -> int:
        return 1 if self.slope is not None else 3

    @cached_property
    def best(self) -> int:
        return int(np.argmin(self._tried[1]))

    @cached_property
    def at(self) -> float | None:
        """None: it grows to the most load, or there are too few loads."""
        ks, left, _ = self._tried
        if len(self.of) <= self.parameters or left[-1] <= left[self.best] * (1 + 1e-9):
            return None
        return float(ks[self.best]) + self.beyond

    @property
    def left(self) -> float:
        """Squares that two lines leave of the means."""
        return float(self._tried[1][self.best])

    @property
    def steepness(self) -> float:
        return float(self._tried[2][self.best])

    @cached_property
    def chance(self) -> tuple[float, int]:
        """The variance of a step; larger where two lines do not describe the means."""
        variance, df = _spread(self.of)
        others = len(self.of) - self.parameters
        if df < LEAST_DF or others < 1:
            return variance, df
        own = float(self._tried[1][self.best]) / others
        if variance <= 0 or special.fdtrc(others, df, own / variance) < _NO_LINES:
            return own, others
        return variance, df

    def growth(self, level: float = LEVEL) -> tuple[float, float]:
        """How much the figure grows from the least load to the most, by one line: the ends of an
        interval. Of loads that are all the same, anything."""
        x = np.array([p.x for p in self.of for _ in p.ys])
        y = np.array([y for p in self.of for y in p.ys])
        off, df = x - x.mean(), len(x) - 2
        square = float(off @ off)
        if df < 1 or square <= 0:
            return -math.inf, math.inf
        slope = float(off @ y) / square
        rest = y - y.mean() - slope * off
        far = float(special.stdtrit(df, (1 + level) / 2)) * math.sqrt(
            float(rest @ rest) / df / square
        )
        reach = float(x.max() - x.min())
        return (slope - far) * reach, (slope + far) * reach

    def within(self, level: float = LEVEL) -> Ends | None:
        """None: too few repeats. All places with which the steps agree."""
        if len(self.of) <= self.parameters or _spread(self.of)[1] < LEAST_DF:
            return None
        variance, df = self.chance
        ks, left, _ = self._tried
        most = left[self.best] + variance * float(special.fdtri(1, df, level))
        return _hull(ks + self.beyond, left - most)


Fit = Crossing | Bend


def ratio(a: Fit, b: Fit, level: float) -> Ends | None:
    """How much further B is than A, as the interval of a logarithm (MOVER, Zou and Donner).

    None: one of them is not known.
    """
    of_a, of_b = a.within(level), b.within(level)
    if a.at is None or b.at is None or of_a is None or of_b is None:
        return None
    (low_a, high_a), (low_b, high_b) = of_a, of_b
    change, low, high = b.at - a.at, None, None
    if low_b is not None and high_a is not None:
        low = change - math.hypot(b.at - low_b, high_a - a.at)
    if high_b is not None and low_a is not None:
        high = change + math.hypot(high_b - b.at, a.at - low_a)
    return low, high
