# SPDX-License-Identifier: GPL-2.0-or-later
"""Quantiles of the requests of all runs together, where no run has enough of them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from afpscope.judge import design, stats, tails, versus
from afpscope.judge.stats import Margins
from afpscope.saved.hist import Histogram, index_of
from afpscope.tables import values
from afpscope.tables.values import Row, Value
from changed import pairs
from conftest import Done, Shelf
from simulate import TailCase, tails_found
from simulate_sides import EMPTY

Execute = Callable[..., Done]


def _times(*groups: tuple[float, int]) -> Histogram:
    counts: dict[int, int] = {}
    for ns, n in groups:
        counts[index_of(round(ns), 6)] = counts.get(index_of(round(ns), 6), 0) + n
    return Histogram(6, tuple(sorted(counts.items())))


def test_the_change_is_that_of_all_requests_together() -> None:
    a = [_times((1e5, 390), (1e6, 10 - i % 3)) for i in range(6)]
    b = [_times((1e5, 390), (3e6, 10 - i % 3)) for i in range(6)]
    found = tails.compare([(a, b)], 0.99)
    assert found.change == pytest.approx(2.0, rel=0.03)
    assert found.median_a == pytest.approx(1e6, rel=0.02)
    assert found.p == pytest.approx(2 / math.comb(12, 6))
    assert found.low is not None and found.low > 0
    swapped = tails.compare([(b, a)], 0.99)
    assert swapped.change == pytest.approx(-2 / 3, rel=0.03) and swapped.p == found.p


def test_p_is_that_of_every_way_to_deal_the_runs() -> None:
    rng = np.random.default_rng(3)
    runs = [_times((1e5, 300), (1e6, int(rng.integers(0, 9)))) for _ in range(10)]
    found = tails.compare([(runs[:5], runs[5:])], 0.99)
    n = [sum(c for i, c in h.buckets if i > index_of(200_000, 6)) - 0.01 * h.n for h in runs]
    seen = sum(n[5:])
    ways = [sum(n[i] for i in those) for those in combinations(range(10), 5)]
    more = sum(x >= seen - 1e-3 for x in ways) / len(ways)
    less = sum(x <= seen + 1e-3 for x in ways) / len(ways)
    assert found.p == pytest.approx(min(1, 2 * min(more, less)), abs=0.05)


def test_two_runs_decide_nothing_and_one_has_no_interval() -> None:
    fast, slow = _times((1e5, 2000)), _times((1e5, 1900), (1e7, 100))
    two = tails.compare([([fast] * 2, [slow] * 2)], 0.99)
    assert two.low is None and two.p is not None and two.p > stats.ALPHA
    one = tails.compare([([fast], [slow])], 0.99)
    assert one.p is None and one.change is not None and one.change > 50


def test_among_too_many_rows_more_runs_are_not_asked_for(
    shelf: Shelf, execute: Execute, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """A row of all runs together, beyond what so many deals can show; then as many as they can."""
    runs = [_times((1e5, 390), (1e6, 10)) for _ in range(24)]
    one = tails.compare([(runs, [_times((2e6, 400))] * 24)], 0.99)
    assert stats.verdicts([one] * tails.MOST_ROWS) == [stats.SLOWER] * tails.MOST_ROWS
    assert set(stats.verdicts([one] * (tails.MOST_ROWS + 1))) == {stats.TOO_FEW}
    assert design.more_pairs(tails.MOST_ROWS + 1, 24) is None
    assert design.more_pairs(tails.MOST_ROWS + 1, 5) == design.pairs_needed(tails.MOST_ROWS + 1)
    request.addfinalizer(tails._deals.cache_clear)
    tails._deals.cache_clear()
    monkeypatch.setattr(tails, "_WAYS", 2000)
    monkeypatch.setattr(tails, "MOST_ROWS", 10)
    monkeypatch.setattr(values, "_BEYOND", 21)  # of 2,000 requests there are fewer
    a, b = pairs(shelf, 12, 1.0)
    done = execute("compare", "--json", *a, "--", *b)
    found = json.loads(done.out)
    few = [r for r in found["times"] if r["verdict"] == stats.TOO_FEW]
    assert few and all(r["together"] for r in few) and found["pairs_needed"] is None
    assert "not enough runs: " not in done.err and "however many runs there are" in done.err
    gate = execute("gate", "--time", "5%", "--format", "junit", *a, "--", *b)
    assert "not enough runs" not in gate.out and "compare fewer tests" in gate.out


def test_a_block_in_which_one_side_has_no_such_requests_is_left_out() -> None:
    """B's runs of the first four pairs made none of them."""
    key = Row("t", "FPRead", "p99")
    a, b = [[replace(EMPTY, id=f"{x}{i}") for i in range(8)] for x in "ab"]
    value = {x: Value(1e6, times=_times((1e6, 400)), few=True) for x in ("a", "b")}
    of = {r.id: {key: value[r.id[0]]} for r in (*a, *b)} | {r.id: {} for r in b[:4]}
    row = versus._time_row(key, [(a[:4], b[:4]), (a[4:], b[4:])], of, Margins())
    assert row and (row.result.n_a, row.result.n_b) == (4, 4)
    assert versus._time_row(key, [(a[:4], b[:4])], of, Margins()) is None


def test_equal_times_are_no_difference() -> None:
    all_of = [_times((1e5, 400))] * 5
    found = tails.compare([(all_of, all_of)], 0.99, Margins(0.02))
    assert found.p == 1


@pytest.mark.parametrize(
    "case",
    [
        TailCase("equal", 5),
        TailCase("equal", 12, in_turn=True),
        TailCase("one outlier run", 8, outlier=True),
        TailCase("heavy tail", 5, heavy=True),
        TailCase("B varies 3 times as much", 12, of_b=5, spread=0.03, wilder=3),
    ],
    ids=lambda c: f"{c.name}-{c.runs}",
)
def test_the_interval_holds_the_truth_as_often_as_it_says(case: TailCase) -> None:
    found = tails_found(case, 60)
    assert found.inside >= 0.85 and found.wrong <= 0.05


@pytest.mark.parametrize("of_b", [5, 12])
def test_a_side_that_varies_more_is_seldom_said_to_differ(of_b: int) -> None:
    """Runs that vary ten times as much: dealing runs anew alone is wrong more often."""
    case = TailCase("", 12, of_b=of_b, spread=0.03, wilder=10)
    assert tails_found(case, 100).wrong <= 0.03


def test_a_few_slow_requests_of_each_run_are_found(shelf: Shelf, execute: Execute) -> None:
    """19 of 400 take 100 times as long: nothing in the middle 90 %, and too few for a run's p99."""

    def made(few: int) -> Any:
        def change(run: dict[str, Any]) -> None:
            for phase in run["phases"]:
                for c in phase["commands"][:1]:
                    buckets = [[index_of(100_000, 6), 400 - few]]
                    buckets += [[index_of(10_000_000, 6), few]] if few else []
                    c["ops"] = 400
                    c["latency"] |= {"n": 400, "sum_ns": 100_000 * (400 - few) + 10_000_000 * few,
                                     "histogram": {"bits": 6, "buckets": buckets}}  # fmt: skip
            run["phases"] = run["phases"][:2]

        return change

    a = [shelf.put(f"a{i}", change=made(0)) for i in range(8)]
    b = [shelf.put(f"b{i}", change=made(19)) for i in range(8)]
    done = execute("compare", "--all", *a, "--", *b)
    rows = [x for x in done.out.splitlines() if "p99 (all runs)" in x and "+9" in x]
    assert rows and all("slower" in x for x in rows), done.out


def test_blocks_are_dealt_by_themselves() -> None:
    """A block of slow minutes hides nothing."""
    runs: list[tuple[list[Histogram], list[Histogram]]] = []
    for i, n in enumerate(design.sizes(12)):
        slow = 4.0**i
        a = [_times((1e5 * slow, 390), (1e6 * slow, 10))] * n
        b = [_times((1e5 * slow, 390), (2e6 * slow, 10))] * n
        runs.append((a, b))
    found = tails.compare(runs, 0.99)
    assert found.p is not None and found.p < 1e-4 and found.change == pytest.approx(1.0, rel=0.05)
