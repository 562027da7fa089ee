# SPDX-License-Identifier: GPL-2.0-or-later
"""The interval of a knee has the level that it states, and equal servers have equal knees.

Tests analysis/afpscope/limit/fit.py, and what simulate_sweeps.py prints.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import simulate_sweeps
from afpscope.limit import fit, knee
from afpscope.limit.fit import At, Bend, Crossing
from afpscope.sweepcompare import between
from simulate_sweeps import LAWS, Case
from sweeping import Made, sweep

TIMES = 300


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_the_true_knee_is_inside_as_often_as_stated(law: simulate_sweeps.Law) -> None:
    """Within what chance allows; of a curve that is bent between loads more often."""
    is_ = simulate_sweeps.found(Case(law, 0.2 if law.rule == "slo" else 0.05), TIMES)
    assert is_.none < 0.01
    assert 0.915 <= is_.inside <= (1.0 if "queue" in law.name else 0.99), is_
    assert abs(is_.off) < 0.03, is_
    assert is_.different <= 0.02, is_


def test_without_repeats_there_is_an_estimate_and_no_interval() -> None:
    for law in LAWS:
        one = simulate_sweeps.made(Case(law, 0.02, 1), 1)
        assert one.within() is None
        assert one.at is not None and abs(one.at - math.log(law.knee)) < 0.1


def test_a_bend_that_may_be_beyond_all_loads_has_an_open_interval() -> None:
    rng = np.random.default_rng(1)
    grows = [At(math.log(v), tuple(math.log(v) + rng.normal(0, 0.1, 3))) for v in (1, 2, 5, 10, 20)]
    of = Bend(tuple(grows))
    ends = of.within()
    assert of.at is None or (ends and ends[1] is None)
    flat = Bend(tuple(At(math.log(v), tuple(rng.normal(0, 0.1, 3))) for v in (1, 2, 5, 10, 20)))
    ends = flat.within()
    assert flat.at is None or (ends and ends[0] is None)


def test_what_is_not_two_lines_has_a_wider_interval() -> None:
    """Rounded, and measured so well that this shows."""
    rng = np.random.default_rng(1)

    def of(law: simulate_sweeps.Law) -> Bend:
        noise = rng.normal(0, 0.001, (len(simulate_sweeps.VALUES), 3))
        pairs = zip(simulate_sweeps.VALUES, noise, strict=True)
        return Bend(tuple(At(math.log(v), tuple(math.log(law.at(v)) + e)) for v, e in pairs))

    ends = [
        of(simulate_sweeps.Law("", "growth", at, 10)).within()
        for at in (lambda v: min(v, 10.0), lambda v: 10 * (1 - math.exp(-v / 10)))
    ]
    widths = [
        b - a for a, b in (x or (None, None) for x in ends) if a is not None and b is not None
    ]
    assert len(widths) == 2 and widths[1] > 20 * widths[0]


def test_a_fall_by_chance_is_smoothed_away() -> None:
    means = (0.1, 0.5, 0.3, 0.4, 0.9)
    of = Crossing(tuple(At(float(i), (y,)) for i, y in enumerate(means)), 0.65)
    assert of.rising == pytest.approx([0.1, 0.4, 0.4, 0.4, 0.9])
    assert of.at == pytest.approx(3.5)


def _sweep(folder: Path, most: float, seed: int, repeat: int = 3) -> knee.Knee:
    """A closed loop whose rate grows to `most` clients."""
    rng = np.random.default_rng(seed)
    values = [v for v in (1, 2, 5, 10, 20, 50, 100) for _ in range(repeat)]
    points = [
        (f"{v}", Made(v, rate=100 * min(v, most) * math.exp(rng.normal(0, 0.02)))) for v in values
    ]
    return knee.find(sweep(folder, points), None)


def test_a_large_load_is_written_as_options_take_it(tmp_path: Path) -> None:
    """Of an open loop: what was offered is done up to 20,000/s, 90 % of it up to 22,222/s."""
    rng = np.random.default_rng(1)
    points = [
        (f"{v}", Made(rate=min(v, 20000) * math.exp(rng.normal(0, 0.02)), offered=v))
        for v in (5000, 10000, 20000, 40000)
        for _ in range(3)
    ]
    found = knee.find(sweep(tmp_path / "s", points, option="rate"), None)
    assert found.at == "20000" and found.low and found.high
    assert 21000 < int(found.low) < 22223 < int(found.high) < 23500


def test_knees_differ_only_beyond_chance_and_the_margin(tmp_path: Path) -> None:
    a, b = _sweep(tmp_path / "a", 10, 1), _sweep(tmp_path / "b", 10, 2)
    more, rough = _sweep(tmp_path / "m", 20, 3), _sweep(tmp_path / "r", 20, 4, 1)
    assert a.level == fit.LEVEL and a.at == "10" and a.low and a.high
    assert 9 <= float(a.low) < 10.5 and 9.5 < float(a.high) < 11
    assert "no difference of the knees larger than 20 %" in between(a, b, 0.2)
    assert "the knee of B is at more load: 10 and 20, " in between(a, more, 0.2)
    assert "the knee of B is at less load: 20 and 10, " in between(more, a, 0.2)
    assert "no difference" in between(a, more, 1.2)
    assert rough.level is None and "20 are estimates" in between(a, rough, 0.2)
    assert "cannot be compared" in between(a, rough, 0.2)


def test_a_closed_loops_knee_is_not_where_noise_is_highest(tmp_path: Path) -> None:
    """Seven noisy values of a plateau, each measured once: the highest says nothing."""
    at = [_sweep(tmp_path / f"{seed}", 10, seed, 1).at for seed in range(12)]
    assert set(at) <= {"10", "20"} and at.count("10") >= 10, at
