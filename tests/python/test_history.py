# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a series changed, and whether at once or little by little."""

from __future__ import annotations

from dataclasses import replace

import pytest
import simulate_history
from afpscope.judge import changes


def test_a_history_errs_as_seldom_as_it_says() -> None:
    """False changes in one of a hundred histories of a hundred runs, and real ones are found; a
    step is hardly ever called a drift, nor a drift a step."""
    for case in simulate_history.QUIET:
        got = simulate_history.rates(replace(case, rows=4), 30)
        assert got.false <= 0.05, case
    for case in simulate_history.CHANGED:
        got = simulate_history.rates(case, 20)
        assert got.mistaken <= 0.25 and got.false <= 0.1, case
        if case.noise == "normal" and case.runs >= 100 and "of 4" in case.name:
            assert got.found >= 0.8, case


@pytest.mark.parametrize("case", simulate_history.CHANGED, ids=lambda c: f"{c.name} {c.noise}")
def test_units_and_direction_make_no_difference(case: simulate_history.Case) -> None:
    """The same in other units, and mirrored; and the last run first is the same at other places."""
    series = case.series(simulate_history.generator(3))[0]
    found = changes.change_points(series)
    kinds = [(c.at, c.low, c.high, c.kind) for c in found]
    for other in (1e6 * series, 1 / series):
        assert [(c.at, c.low, c.high, c.kind) for c in changes.change_points(other)] == kinds
    back = [c.kind for c in changes.change_points(series[::-1])]
    assert back == [c.kind for c in reversed(found)]


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        ([1.0] * 30 + [1.1] * 30, ["step"]),  # no variance at all
        ([1.0] * 20 + [1.1] * 20 + [1.0] * 20, ["step", "step"]),
        ([1.0] * 30 + [9.0] + [1.0] * 30, []),
        ([1 + i / 100 for i in range(60)], ["drift"]),
        ([1.0] * 4 + [2.0] * 4, []),
        ([3.0], []),
    ],
)
def test_series_without_chance(values: list[float], kinds: list[str]) -> None:
    found = changes.change_points(values)
    assert [c.kind for c in found] == kinds
    if kinds == ["drift"]:
        assert found[0].low <= 5 and found[0].high >= 54
        assert found[0].before == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize("together", (1, 5, 50))
def test_the_least_number_of_values(together: int) -> None:
    """Two levels that do not overlap, each with values that fall and rise in turn."""
    least = changes.least_values(together)
    for n in (least - 1, least):
        levels = [1.0 if i < n // 2 else 2.0 for i in range(n)]
        values = [v + (-1) ** i * (0.1 + i / 1e4) for i, v in enumerate(levels)]
        found = changes.change_points(values, together)
        assert [c.at for c in found] == ([n // 2] if n == least else [])


def test_a_series_without_any_noise_has_no_changes() -> None:
    assert changes.change_points([1.0] * 100) == []
    assert changes.change_points([]) == []
