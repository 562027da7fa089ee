# SPDX-License-Identifier: GPL-2.0-or-later
"""Several sweeps on each side, made in turn: each is one value, and so is its knee."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from afpscope.limit import knee
from afpscope.measure import turns
from afpscope.saved.run import AB_FILE
from afpscope.saved.steps import open_sweep
from conftest import Done
from sweeping import Made, each, said, sweep

Execute = Callable[..., Done]
VALUES = (2, 5, 10, 20, 50)
SWEEP = """#!/bin/sh
while [ "$1" != -o ]; do shift; done
cp -r "$FAKE/$(basename "$2")" "$2"
"""


def pairs(base: Path, n: int, knees: dict[str, float], noise: float, whole: float = 0.0) -> None:
    """Sweeps as ab makes them; `whole`: what all steps of one have alike."""
    for i, (pair, side) in enumerate(turns.order(n)):
        rng = random.Random(i)
        of_all = rng.gauss(0, whole)

        def made(v: float, side: str = side, rng: Any = rng, of_all: float = of_all) -> Made:
            rate = 100 * min(v, knees[side] * 2.718 ** (of_all + rng.gauss(0, noise / 3)))
            return Made(clients=int(v), rate=rate * 2.718 ** rng.gauss(0, noise))

        place = base / f"{pair:03}{side}"
        sweep(place, each(VALUES, made), started=f"2026-01-01T{i:02}:00:00Z")


def sides(base: Path) -> list[Path | str]:
    return [*sorted(base.glob("*a")), "--", *sorted(base.glob("*b"))]


def knee_of(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = next(r for r in json.loads(done.out)["rows"] if r["test"] == "knee")
    return found


def test_a_server_that_takes_more_has_its_knee_at_more(tmp_path: Path, execute: Execute) -> None:
    pairs(tmp_path, 5, {"a": 10, "b": 25}, 0.02)
    row = knee_of(execute("compare", "--json", *sides(tmp_path)))
    assert row["verdict"] == "better" and row["result"]["change"] == pytest.approx(1.5, abs=0.1)
    assert row["result"]["n_a"] == 5 and row["result"]["low"] < 1.5 < row["result"]["high"] + 0.05
    done = execute("compare", *sides(tmp_path))
    assert "knees of 5 and 5 sweeps, in the middle 10" in done.out and "better" in done.out


def test_equal_servers_have_no_other_knee(tmp_path: Path, execute: Execute) -> None:
    """Also where all steps of a sweep are slow together, which repeats in one sweep cannot show."""
    wrong = 0
    for seed in range(3):
        base = tmp_path / f"{seed}"
        pairs(base, 5, {"a": 10 + seed, "b": 10 + seed}, 0.03, whole=0.2)
        row = knee_of(execute("compare", "--json", *sides(base)))
        wrong += row["verdict"] in ("better", "worse")
    assert not wrong


def test_a_knee_between_two_steps_is_no_better_known(tmp_path: Path, execute: Execute) -> None:
    """By a limit of failures there is no curve: each sweep says only which steps kept it."""

    def made(base: Path, last: dict[str, int]) -> dict[str, Any]:
        for i, (pair, side) in enumerate(turns.order(5)):
            points = [
                (f"{v}", Made(v, slo=[said("failed<=0.1%", v <= last[side])]))
                for v in (8, 16, 32, 64)
            ]
            sweep(base / f"{pair:03}{side}", points, started=f"2026-01-01T{i:02}:00:00Z")
        return knee_of(execute("compare", "--json", "--slo", "failed<=0.1%", *sides(base)))

    row = made(tmp_path / "alike", {"a": 16, "b": 16})
    assert row["verdict"] not in ("same", "better", "worse")
    assert row["result"]["low"] <= -0.5 and row["result"]["high"] >= 1
    row = made(tmp_path / "next", {"a": 8, "b": 16})
    assert row["verdict"] not in ("same", "better", "worse")
    row = made(tmp_path / "apart", {"a": 8, "b": 32})
    assert row["verdict"] == "better" and row["result"]["low"] == pytest.approx(1)


@pytest.mark.parametrize("n", [5, 1])
def test_a_server_that_turns_clients_away_has_no_better_knee(
    tmp_path: Path, execute: Execute, n: int
) -> None:
    """Those that it serves have it for themselves."""
    for i, (pair, side) in enumerate(turns.order(n)):
        points = each(
            VALUES,
            lambda v, side=side: Made(  # type: ignore[misc]
                clients=int(v),
                rate=100 * min(v, {"a": 10, "b": 25}[side]),
                missing=int(v) // 2 if side == "b" else 0,
            ),
        )
        sweep(tmp_path / f"{pair:03}{side}", points, started=f"2026-01-01T{i:02}:00:00Z")
    done = execute("compare", *sides(tmp_path))
    assert "the knees cannot be compared: " in done.out, done.out
    assert n == 1 or re.search("cannot be compared: .*no session", done.out), done.out


@pytest.mark.parametrize("limit", ["failed<=0.1%", None])
def test_a_knee_at_nothing_is_none(tmp_path: Path, limit: str | None) -> None:
    """Clients that think for no time are the most load, and no multiple of it."""
    points = [
        (f"{v}", Made(8, rate=1000 / (v + 1), slo=[said("failed<=0.1%", v != 0)]))
        for v in (20, 10, 5, 0)
    ]
    made = sweep(tmp_path / "think", points, option="think")
    assert knee.estimate(made, knee.slo(limit) if limit else None).at is None


def test_few_sweeps_and_sweeps_without_a_knee_are_said(tmp_path: Path, execute: Execute) -> None:
    pairs(tmp_path / "few", 2, {"a": 10, "b": 25}, 0.02)
    done = execute("compare", *sides(tmp_path / "few"))
    assert "not enough sweeps" in done.err and "not enough runs" in done.out
    pairs(tmp_path / "none", 5, {"a": 10, "b": 500}, 0.01)
    done = execute("compare", *sides(tmp_path / "none"))
    assert "the knees cannot be compared: 001b, " in done.out


def test_sweeps_that_were_not_made_in_turn_are_doubted(tmp_path: Path, execute: Execute) -> None:
    for side, hour in (("a", 0), ("b", 10)):
        for i in range(5):
            points = each(VALUES, lambda v, i=i: Made(rate=100 * min(v, 10 + i / 10)))  # type: ignore[misc]
            sweep(tmp_path / f"{i}{side}", points, started=f"2026-01-01T{hour + i:02}:00:00Z")
    done = execute("compare", *sides(tmp_path))
    assert "B was measured after A" in done.err


def test_one_sweep_is_given_once(tmp_path: Path, execute: Execute) -> None:
    pairs(tmp_path, 1, {"a": 10, "b": 10}, 0.01)
    a, b = tmp_path / "001a", tmp_path / "001b"
    done = execute("compare", a, a, "--", b)
    assert done.code == 2 and "are the same sweep" in done.err


def test_ab_makes_sweeps_in_turn(
    tmp_path: Path, execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs(tmp_path / "made", 5, {"a": 10, "b": 25}, 0.02)
    program = tmp_path / "afpscope"
    program.write_text(SWEEP)
    program.chmod(0o755)
    monkeypatch.setenv("FAKE", str(tmp_path / "made"))
    line = ("--a", "afp://a/v", "--b", "afp://b/v", "--pairs", "5", "-o", tmp_path / "out")
    done = execute("ab", *line, "--program", program, "--json", "--", "sweep", "--clients", "1,2")
    assert done.code == 0, done.err
    assert [x.split(": ")[2][0] for x in done.err.splitlines() if "ab: run " in x][:4]
    assert knee_of(done)["result"]["n_a"] == 5
    assert (tmp_path / "out" / AB_FILE).exists()
    assert len(open_sweep(tmp_path / "out" / "005b").measured) == len(VALUES)
