# SPDX-License-Identifier: GPL-2.0-or-later
"""A metric is read as its run says: unit, direction, title. Nothing here knows its key."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from afpscope.measure import turns
from afpscope.saved.run import Run
from changed import scaled
from conftest import Change, Done, Shelf

Execute = Callable[..., Done]
KEY = "zeal"


def with_metric(seed: int, value: float, **says: str | None) -> Change:
    """A run as noisy as the sample, with a metric in each phase."""
    steady, rng = scaled(seed), random.Random(seed)

    def change(run: dict[str, Any]) -> None:
        steady(run)
        run["metrics"].append({"key": KEY, "unit": "1", "meaning": "of a test", **says})
        for phase in run["phases"]:
            phase["metrics"][KEY] = round(value * rng.lognormvariate(0, 0.01))

    return change


def sides(shelf: Shelf, a: float, b: float, **says: str | None) -> list[str | Path]:
    """The arguments of compare, of 12 pairs."""
    runs: dict[str, list[str | Path]] = {"a": [], "b": []}
    for i, (pair, side) in enumerate(turns.order(12)):
        change = with_metric(i, a if side == "a" else b, **says)
        runs[side].append(shelf.put(f"{pair:02}{side}", change=change))
    return [*runs["a"], "--", *runs["b"]]


@pytest.mark.parametrize(
    ("better", "b", "verdict"),
    [
        ("lower", 120_000, "worse"),
        ("lower", 80_000, "better"),
        ("higher", 120_000, "better"),
        ("higher", 80_000, "worse"),
    ],
)
def test_more_of_it_is_judged_in_its_direction(
    shelf: Shelf, execute: Execute, better: str, b: int, verdict: str
) -> None:
    runs = sides(shelf, 100_000, b, better=better, unit="B")
    done = execute("compare", *runs)
    assert done.code == 0 and done.out.startswith("times and metrics: test")
    row = next(line for line in done.out.splitlines() if f" {KEY} " in line)
    assert row.split()[-2:] == ["12+12", verdict] and row.count(" KiB ") == 2
    assert f"B against A: {verdict}: " in done.out.splitlines()[-1] and KEY in done.out
    found = json.loads(execute("compare", "--json", *runs).out)
    assert {(r["figure"], r["unit"], r["verdict"]) for r in found["metrics"]} == {
        (KEY, "B", verdict)
    }
    assert all(abs(r["result"]["median_b"] / b - 1) < 0.05 for r in found["metrics"])
    assert all(r["figure"] != KEY for r in found["times"])
    gated = execute("gate", "--time", "5%", *runs)
    assert gated.code == (3 if verdict == "worse" else 0), gated.err
    assert (f": {KEY}: " in gated.out) == (verdict == "worse")


def test_one_without_a_direction_is_not_judged(shelf: Shelf, execute: Execute) -> None:
    runs = sides(shelf, 100_000, 200_000, better=None)
    done = execute("compare", *runs)
    assert done.code == 0 and KEY not in done.out and done.out.startswith("times: test")
    assert json.loads(execute("compare", "--json", *runs).out)["metrics"] == []


def test_other_units_or_directions_are_told_and_not_judged(shelf: Shelf, execute: Execute) -> None:
    runs = sides(shelf, 100_000, 100_000, better="lower", unit="B")
    for place in runs[runs.index("--") + 1 :]:
        file = Path(place) / "run.json"
        value = json.loads(file.read_text())
        value["metrics"][-1]["better"] = "higher"
        file.write_text(json.dumps(value))
    done = execute("compare", *runs)
    assert f"only A has {KEY} (B, lower is better) of " in done.err
    assert f"only B has {KEY} (B, higher is better) of " in done.err
    assert "times are the same within" not in done.out and KEY not in done.out
    found = json.loads(execute("gate", "--time", "50%", "--json", *runs).out)
    assert {f["text"] for f in found["cannot_be_told"] if f["what"] == KEY} == {
        "only A has it",
        "only B has it",
    }


def test_a_change_from_nothing_is_told_and_not_judged(shelf: Shelf, execute: Execute) -> None:
    runs = sides(shelf, 0, 100, better="lower")
    done = execute("compare", *runs)
    assert done.code == 0 and KEY not in done.out
    assert f"{KEY} of " in done.err and "is 0 in some runs and not in others" in done.err
    gated = execute("gate", "--time", "5%", *runs)
    assert gated.code == 4 and f"undecided: {KEY} of" in gated.err
    shelf.base.joinpath("none").mkdir()
    same = sides(Shelf(shelf.base / "none"), 0, 0, better="lower")
    assert KEY not in execute("compare", *same).err


def test_its_title_heads_a_column(shelf: Shelf, execute: Execute) -> None:
    """On the page, too: test_toys.py."""
    says = {"title": "zeal of it", "unit": "furlongs"}
    run = shelf.put("shown", change=with_metric(1, 1234, **says))
    first = Run.open(run).phases[0].metrics[KEY]
    text = execute("info", run).out
    assert "  zeal of it\n" in text and f"  {first:,} furlongs\n" in text
    rows = execute("query", run, f"select {KEY} from phases limit 1", "--json").out
    assert json.loads(rows) == {KEY: first}
    assert "zeal" not in execute("info", shelf.put("plain")).out


def test_a_direction_must_be_one(shelf: Shelf, execute: Execute) -> None:
    done = execute("info", shelf.put("odd", change=with_metric(1, 1, better="sideways")))
    assert done.code == 1 and ".better is 'sideways', not lower or higher" in done.err
