# SPDX-License-Identifier: GPL-2.0-or-later
"""The scalability law: found where it is, and not shown where it is not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from afpscope.limit import outcome, usl
from afpscope.limit.usl import Usl
from simulate_sweeps import LawCase, law_found

CLIENTS = np.array([1, 2, 5, 10, 20, 50, 100, 200], float)


def rates(contention: float, coherency: float, noise: float = 0.0, seed: int = 1) -> list[float]:
    n = CLIENTS
    x = 100 * n / (1 + contention * (n - 1) + coherency * n * (n - 1))
    return [float(v) for v in x * np.exp(np.random.default_rng(seed).normal(0, noise, len(n)))]


def fitted(found: Usl | str) -> Usl:
    assert isinstance(found, Usl), found
    return found


def test_a_law_without_noise_is_found() -> None:
    found = fitted(usl.fit(CLIENTS, rates(0.05, 0.0002)))
    assert found.speed == pytest.approx(100, rel=1e-3)
    assert found.contention == pytest.approx(0.05, rel=1e-2)
    assert found.coherency == pytest.approx(0.0002, rel=1e-2)
    assert found.peak == pytest.approx(math.sqrt(0.95 / 0.0002), rel=1e-2)
    assert found.r2 > 0.999 and found.worst < 0.01


def test_the_intervals_hold_the_truth_as_often_as_they_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(usl, "TIMES", 100)
    hits = [0, 0]
    shown = 0
    for seed in range(40):
        found = usl.fit(CLIENTS, rates(0.05, 0.0002, 0.04, seed), seed)
        if isinstance(found, str):
            continue
        shown += 1
        for i, (truth, (low, high)) in enumerate(
            ((0.05, found.contention_within), (0.0002, found.coherency_within))
        ):
            hits[i] += low <= truth <= high
    assert shown >= 35
    assert min(hits) >= 0.85 * shown, (hits, shown)


def test_a_hard_limit_is_no_law() -> None:
    """It has no coherency, and no peak: it is flat."""
    clients = [1, 2, 5, 10, 20, 50]
    found = usl.fit(clients, [100.0 * min(n, 10) for n in clients])
    assert isinstance(found, str) and "hard limit" in found
    noise = np.random.default_rng(1)
    many = [n for n in clients for _ in range(3)]
    rate = [100.0 * min(n, 10) * math.exp(noise.normal(0, 0.01)) for n in many]
    assert "hard limit" in str(usl.fit(many, rate))


def test_a_hard_limit_is_no_law_however_noisy_its_steps_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A law that was shown unless two lines were far better had a peak that is not there."""
    monkeypatch.setattr(usl, "TIMES", 20)
    shown, peaks, _ = law_found(LawCase("", 0.1, 37), 40)
    assert shown <= 0.03 and peaks <= 0.03


def test_bounds_that_are_nearly_0_are_0() -> None:
    found = fitted(usl.fit(CLIENTS, rates(0.1, 0.0)))
    text = outcome.law_text(found)
    assert "e-" not in text and "coherency 0 (0 to 0)" in text


def test_without_coherency_there_is_no_peak() -> None:
    found = fitted(usl.fit(CLIENTS, rates(0.1, 0.0)))
    assert found.peak is None and found.peak_within is None
    assert found.contention == pytest.approx(0.1, rel=0.02)


@pytest.mark.parametrize(
    ("clients", "values", "why"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], "5 different numbers"),
        ([1, 2, 3, 4, 4, 5], [0, 2, 3, 4, 4, 0], "5 different numbers"),
        ([1, 2, 5, 10, 20, 50], [100, 900, 90, 800, 100, 700], "of the variance"),
        ([1, 2, 4, 8, 16], [1873, 1458, 1067, 1785, 1810], "it explains 0% of the variance"),
        ([1, 2, 5, 10, 20, 50, 100], [100, 200, 500, 600, 2000, 5000, 10000], "off the curve"),
    ],
)
def test_what_does_not_fit_is_not_shown(
    clients: list[float], values: list[float], why: str
) -> None:
    found = usl.fit(clients, values)
    assert isinstance(found, str) and why in found
