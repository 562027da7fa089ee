# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads whose generator was the limit, or whose clients were not served: compare, gate, versus and
a lake say no more of the server than they know."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from afpscope.judge import sides, spoiled, stats
from afpscope.measure import turns
from afpscope.saved.run import START, Run
from afpscope.tables import lake
from changed import replayed
from conftest import Done, Shelf
from sweeping import Made, document, sweep

Execute = Callable[..., Done]
SHORT = {"what": "saturated", "text": "a thread of the load generator ran 98% of the time"}
PAUSED = {"what": "paused", "text": "the load generator did not run for 0.7 s"}


def in_turn(tmp_path: Path, of: dict[str, Made], n: int = 12) -> tuple[list[Path], list[Path]]:
    """Runs of both sides, made in turn, each of a start of its own."""
    made: dict[str, list[Path]] = {"a": [], "b": []}
    for i, (number, side) in enumerate(turns.order(n)):
        folder = tmp_path / f"{number:02}{side}"
        folder.mkdir()
        value = document(of[side], str(folder))
        value["started"] = f"2026-01-01T01:{i:02}:00Z"
        value["server"][START] = f"start {i}"
        (folder / "run.json").write_text(json.dumps(value))
        made[side].append(folder)
    return made["a"], made["b"]


def compared(execute: Execute, a: list[Path], b: list[Path]) -> tuple[set[str], str, Done]:
    """The verdicts, the outcome in a sentence, and all else."""
    found = json.loads(execute("compare", "--json", *a, "--", *b).out)
    verdicts = {r["verdict"] for r in found["times"] + found["metrics"]}
    done = execute("compare", *a, "--", *b)
    return verdicts, done.out.splitlines()[-1], done


def test_servers_are_not_the_same_where_the_generator_was_the_limit(
    tmp_path: Path, execute: Execute
) -> None:
    fine = Made(50, cpu=0.1, doubts=[])
    verdicts, said, _ = compared(execute, *in_turn(tmp_path, {"a": fine, "b": fine}))
    assert verdicts == {stats.SAME} and "the same within" in said
    for i, short in enumerate((
        Made(50, cpu=0.98, doubts=[SHORT]), Made(50, doubts=[SHORT]), Made(50, doubts=[PAUSED]),
        Made(50, cpu=0.98),
    )):  # fmt: skip
        place = tmp_path / f"{i}"
        place.mkdir()
        a, b = in_turn(place, {"a": short, "b": short})
        verdicts, said, done = compared(execute, a, b)
        assert verdicts == {stats.NONE_SHOWN}, i
        assert (
            "the load generator was short of CPU time, or stood still, in 12 of 12 runs of A and"
            in said
        )
        assert "no difference is attributed to the server" in done.err
        gate = execute("gate", "--time", "5%", *a, "--", *b)
        assert gate.code == 4 and gate.out.startswith("gate: undecided"), gate.out


def test_what_a_probe_leaves_out_shows_a_slow_server() -> None:
    """A user waits for what he does; clients that leave out work have less of it."""
    of: Any = SimpleNamespace(actions=[SimpleNamespace(failed=0)], undone_n=30, n=100, arrivals=130)
    assert spoiled._trouble(of, False) and not spoiled._trouble(of, True)
    of.actions[0].failed = 1  # of few a single one is chance
    assert not spoiled._trouble(of, True)
    of.actions[0].failed = 5
    assert spoiled._trouble(of, True)


@pytest.mark.parametrize(
    ("b", "why"),
    [
        (Made(50, 400, 0.4, 2, missing=30, doubts=[]), "clients had no session, lost it or"),
        (Made(50, 400, 0.4, 2, lost=30, doubts=[]), "clients had no session, lost it or"),
        (Made(50, 400, 0.4, 2, starved=30, doubts=[]), "clients had no session, lost it or"),
        (Made(50, 400, 0.4, 2, failed=6000, doubts=[]), "more than 1% of the actions failed"),
        (Made(50, 1000, 0.4, 2, offered=1200.0, no_room=2000), "more than 1% of the actions"),
    ],
)
def test_a_server_that_served_fewer_is_not_faster(
    tmp_path: Path, execute: Execute, b: Made, why: str
) -> None:
    a = Made(50, doubts=[] if b.doubts is not None else None, offered=b.offered)
    first, then = in_turn(tmp_path, {"a": a, "b": b})
    verdicts, said, _ = compared(execute, first, then)
    assert not verdicts & {*stats.GOOD, *stats.BAD, stats.SAME}, verdicts
    assert stats.UNCLEAR in verdicts and f"{why}" in said and "in 12 of 12 runs of B" in said
    assert execute("gate", "--time", "5%", *first, "--", *then).code == 4


def test_what_loads_say_of_themselves_is_said_once_for_each_side(
    tmp_path: Path, execute: Execute
) -> None:
    few = {"what": "failed", "text": "3 of 10,000 actions failed"}
    a, b = in_turn(tmp_path, {"a": Made(doubts=[]), "b": Made(failed=3, doubts=[few])}, 5)
    done = execute("compare", *a, "--", *b)
    assert done.err.count("actions failed") == 1
    assert "B: 3 of 10,000 actions failed (one of the 5 that say so)" in done.err
    assert "no difference is attributed" not in done.err


def test_what_a_probe_says_of_itself_is_said_as_the_probes(
    tmp_path: Path, execute: Execute
) -> None:
    few = {"what": "failed", "text": "1 of 30 actions failed"}
    made = {"a": Made(doubts=[]), "b": Made(doubts=[few], probe_doubts=[few])}
    a, b = in_turn(tmp_path, made, 5)
    done = execute("compare", *a, "--", *b)
    assert "B: 1 of 30 actions failed (one of the 5 that say so)" in done.err
    assert "B: the probe: 1 of 30 actions failed (one of the 5 that say so)" in done.err


def test_a_replay_that_was_refused_is_not_faster(shelf: Shelf, execute: Execute) -> None:
    def made(side: str, number: int, i: int) -> Path:
        def change(value: dict[str, Any]) -> None:
            replayed(i, otherwise=100 if side == "b" else 0)(value)
            if side == "b":  # they are not waited for
                for a in value["phases"][0]["load"]["actions"]:
                    h = a["begun"]["histogram"]
                    h["buckets"] = [[k - 200, n] for k, n in h["buckets"]]

        return shelf.put(f"{number:02}{side}", "load", change=change)

    of: dict[str, list[Path]] = {"a": [], "b": []}
    for i, (number, side) in enumerate(turns.order(12)):
        of[side].append(made(side, number, i))
    planned = Run.open(of["b"][0]).replay
    assert planned and planned.planned < 100 * 100
    verdicts, said, done = compared(execute, of["a"], of["b"])
    assert stats.UNCLEAR in verdicts and not verdicts & {*stats.GOOD, *stats.BAD, stats.SAME}
    assert (
        "more than 1% of the requests were not answered as recorded in 12 of 12 runs of B" in said
    )
    assert done.err.count("Answered in another way: list 100.") == 1
    assert "B: Answered as recorded: " in done.err and "(one of the 12 that say so)" in done.err


def test_values_of_sweeps_are_withheld_one_by_one(tmp_path: Path, execute: Execute) -> None:
    """At 5 clients the generator was the limit, at 10 B lost sessions."""
    for hour, (side, by) in enumerate((("a", 1.0), ("b", 2.0))):
        points: list[tuple[str, Made | None]] = [
            (f"{v}", Made(v, 1000 / by, by, v * by * (1 + i / 1000), doubts=[],
                          cpu=0.95 if v == 5 else 0.1, lost=2 if v == 10 and by > 1 else 0))
            for i in range(8)
            for v in (1, 5, 10)
        ]  # fmt: skip
        sweep(tmp_path / side, points, slo="p99=7ms", hour=hour)
    done = execute("compare", "--json", tmp_path / "a", tmp_path / "b")
    found = json.loads(done.out)
    by_value = {
        value: {r["verdict"] for r in found["rows"] if r["test"] == f"clients {value}"}
        for value in (1, 5, 10)
    }
    assert {stats.SLOWER, stats.WORSE} <= by_value[1]
    for value in (5, 10):
        assert not by_value[value] & {*stats.GOOD, *stats.BAD, stats.SAME}
        assert f"at clients {value} no difference is attributed to the server" in done.err


def test_knees_of_the_generator_are_not_compared(tmp_path: Path, execute: Execute) -> None:
    for hour, (side, most) in enumerate((("a", 40), ("b", 20))):
        points = [
            (f"{v}", Made(v, 100 * min(v, most) * (1 + i / 1000), cpu=min(0.98, v / most)))
            for i in range(3)
            for v in (5, 10, 20, 40, 80)
        ]
        sweep(tmp_path / side, points, hour=hour)
    found = json.loads(execute("compare", "--json", tmp_path / "a", tmp_path / "b").out)
    assert found["knees"].startswith("the knees cannot be compared: the load generator had no time")
    done = execute("compare", tmp_path / "a", "--", tmp_path / "b")
    assert "the knees cannot be compared: the load generator had no time" in done.out


def test_versus_attributes_no_times_of_a_generator_without_time(tmp_path: Path) -> None:
    both = {"a": Made(50), "b": Made(50, p50_ms=2.0, p99_ms=10.0, cpu=0.98)}
    of = [sides.Side(key, key, f"afp://{key}", server=key) for key in "ab"]
    for side, folders in zip(of, in_turn(tmp_path, both), strict=True):
        for folder in folders:
            side.add(Run.open(folder))
    found = sides.judged(of, 0.02)
    (pair,) = found.pairs
    times = {row.verdict for row in pair.rows if row.command}
    assert times == {stats.UNCLEAR}
    assert f"b: {spoiled.GENERATOR} in 12 of 12 loads" in " ".join(found.remarks)


@pytest.mark.parametrize(("failed", "told"), [(0, True), (6000, False)])
def test_versus_attributes_no_costs_where_actions_failed(
    tmp_path: Path, failed: int, told: bool
) -> None:
    """An action that fails costs less: what the others cost is not what the server costs."""
    both = {"a": Made(50, doubts=[]), "b": Made(50, rate=50, failed=failed, doubts=[])}
    of = [sides.Side(key, key, f"afp://{key}", server=key) for key in "ab"]
    for side, folders in zip(of, in_turn(tmp_path, both), strict=True):
        for folder in folders:
            side.add(Run.open(folder))
    (pair,) = sides.judged(of, 0.02).pairs
    costs = {row.verdict for row in pair.rows if not row.command}
    assert costs and bool(costs & {*stats.GOOD, *stats.BAD, stats.SAME}) is told, costs


def test_a_history_leaves_such_runs_out(tmp_path: Path) -> None:
    for made, trusted in ((Made(doubts=[]), True), (Made(cpu=0.98), False), (Made(lost=1), False)):
        (folder,), _ = in_turn(tmp_path, {"a": made, "b": made}, 1)
        (row,) = lake.of_run(Run.open(folder), None)[lake.RUNS].rows
        assert row["trusted"] is trusted and bool(row["doubts"]) is not trusted
        for place in tmp_path.iterdir():
            (place / "run.json").unlink()
            place.rmdir()


def test_a_single_run_is_enough(tmp_path: Path) -> None:
    a, b = in_turn(tmp_path, {"a": Made(doubts=[]), "b": Made(doubts=[])}, 3)
    runs = [Run.open(x) for x in (*a, *b)]
    assert spoiled.doubts(runs[:3], runs[3:]) == []
    (tmp_path / "x").mkdir()
    (tmp_path / "x/run.json").write_text(json.dumps(document(Made(lost=1), "x")))
    one = Run.open(tmp_path / "x")
    assert spoiled.doubts([*runs[:3], one], runs[3:]) == [f"{spoiled.UNSERVED} in 1 of 4 runs of A"]
