# SPDX-License-Identifier: GPL-2.0-or-later
"""The universal scalability law (Gunther) fitted to throughput against clients.

X(N) = speed N / (1 + contention (N - 1) + coherency N (N - 1)). It is only worth showing where it
describes what was measured; `fit` says why not otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from ..words import ENGLISH, Words
from .fit import At, Bend

Array = npt.NDArray[np.float64]
Interval = tuple[float, float]

VALUES = 5  # different numbers of clients, at least
R2 = 0.95  # of the logarithms' variance, explained
WORST = 0.20  # share by which a value may be off the curve
TIMES = 400  # of the bootstrap
LEVEL = 0.95
# Squares that the law may leave at most, by those that are left of an even growth up to a limit.
HARD = 0.8
_FEW = 0.8  # of the bootstrap's fits must succeed


@dataclass(frozen=True)
class Usl:
    """`peak`: the clients of the highest throughput, None unless its interval is among the values
    that were measured. Intervals at LEVEL."""

    speed: float
    contention: float
    coherency: float
    speed_within: Interval
    contention_within: Interval
    coherency_within: Interval
    peak: float | None
    peak_within: Interval | None
    r2: float
    worst: float

    def at(self, clients: Array) -> Array:
        return _model(clients, self.speed, self.contention, self.coherency)


def _model(n: Array, speed: float, contention: float, coherency: float) -> Array:
    return speed * n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def _logarithm(n: Array, log_speed: float, contention: float, coherency: float) -> Array:
    return np.asarray(np.log(_model(n, math.exp(log_speed), contention, coherency)))


def _slopes(n: Array, _: float, contention: float, coherency: float) -> Array:
    """The derivatives of `_logarithm` by its parameters."""
    below = 1 + contention * (n - 1) + coherency * n * (n - 1)
    return np.column_stack([np.ones(len(n)), -(n - 1) / below, -n * (n - 1) / below])


def _solve(n: Array, logs: Array, begin: Sequence[float] | Array) -> Array | None:
    """Of relative errors: a few clients count as much as many."""
    from scipy import optimize  # a quarter of a second, which most commands need not spend

    bounds = ([-np.inf, 0, 0], [np.inf, 1, 1])
    try:
        found, _ = optimize.curve_fit(
            _logarithm, n, logs, begin, bounds=bounds, jac=_slopes, maxfev=2000
        )
    except (RuntimeError, ValueError):
        return None
    return np.asarray(found)


def _peak(contention: float, coherency: float, most: float) -> float | None:
    """None: beyond ten times what was measured, where the fit says nothing."""
    if coherency <= 0 or contention >= 1:
        return None
    at = math.sqrt((1 - contention) / coherency)
    return at if at <= 10 * most else None


def _within(values: Sequence[float]) -> Interval:
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _leverage(n: Array, found: Array) -> Array:
    """How much each value draws the curve towards itself: its residual is smaller by that."""
    q, _ = np.linalg.qr(_slopes(n, *found))
    return np.asarray(np.clip(np.sum(q**2, axis=1), 0, 0.9))


def _bootstrap(n: Array, found: Array, rest: Array, seed: int) -> list[Array]:
    """Fits of the curve plus residuals drawn again, as large as the errors were.

    Their size is itself only known from a few: hence Student's t against the normal distribution.
    """
    rng = np.random.default_rng(seed)
    level = (1 + LEVEL) / 2
    wider = special.stdtrit(len(n) - 3, level) / special.ndtri(level)
    errors = rest / np.sqrt(1 - _leverage(n, found))
    errors = (errors - errors.mean()) * wider
    fitted = _logarithm(n, *found)
    again = (_solve(n, fitted + rng.choice(errors, len(n)), found) for _ in range(TIMES))
    return [x for x in again if x is not None]


def _ends_hard(n: Array, logs: Array, left: float) -> bool:
    """Whether an even growth up to a limit describes it about as well as the law, or better."""
    of = tuple(At(math.log(x), tuple(logs[n == x])) for x in sorted(set(n)))
    within = sum((y - p.mean) ** 2 for p in of for y in p.ys)
    return len(of) > VALUES and left > HARD * (within + Bend(of).left)


def fit(
    clients: Sequence[float], rates: Sequence[float], seed: int = 1, w: Words = ENGLISH
) -> Usl | str:
    """The law fitted to these measurements; else why it is not shown."""
    pairs = [(n, x) for n, x in zip(clients, rates, strict=True) if n > 0 and x > 0]
    if len({n for n, _ in pairs}) < VALUES:
        return w.say("usl_few", n=VALUES)
    n = np.array([p[0] for p in pairs], float)
    logs = np.log([p[1] for p in pairs])
    found = _solve(n, logs, (float(np.max(logs - np.log(n))), 0.05, 0.001))
    if found is None:
        return w["usl_none"]
    rest = logs - _logarithm(n, *found)
    spread = float(np.sum((logs - logs.mean()) ** 2))
    r2 = 1 - float(np.sum(rest**2)) / spread if spread > 0 else 0.0
    worst = float(np.max(np.abs(np.expm1(rest))))
    if r2 < R2:
        return w.say("usl_poor", r2=max(r2, 0.0), least=R2)
    if worst > WORST:
        at = int(np.argmax(np.abs(np.expm1(rest))))
        return w.say("usl_off", n=n[at], off=worst, most=WORST)
    if _ends_hard(n, logs, float(np.sum(rest**2))):
        return w["usl_hard"]
    again = _bootstrap(n, found, rest, seed)
    if len(again) < _FEW * TIMES:
        return w["usl_vague"]
    peaks = [_peak(float(x[1]), float(x[2]), float(n.max())) for x in again]
    known = [p for p in peaks if p is not None]
    peak_within = _within(known) if len(known) >= _FEW * TIMES else None
    seen = peak_within and n.min() <= peak_within[0] and peak_within[1] <= n.max()
    return Usl(
        math.exp(found[0]),
        float(found[1]),
        float(found[2]),
        _within([math.exp(x[0]) for x in again]),
        _within([float(x[1]) for x in again]),
        _within([float(x[2]) for x in again]),
        _peak(float(found[1]), float(found[2]), float(n.max())) if seen else None,
        peak_within if seen else None,
        r2,
        worst,
    )
