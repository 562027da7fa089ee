# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of docs/analysis.md "how often it is wrong" are those that simulate.py prints."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import simulate

PAGE = Path(__file__).parents[2] / "docs" / "analysis.md"


def rows_below(head: str) -> list[list[str]]:
    """The cells of the table with this head."""
    lines = PAGE.read_text().splitlines()
    at = lines.index(head) + 2
    end = next(i for i in range(at, len(lines)) if not lines[i].startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[at:end]]


@pytest.mark.parametrize("name", simulate.tables())
def test_the_page_has_the_rows_of_the_command(name: str) -> None:
    table = simulate.tables()[name]
    written = [cells[: table.key] for cells in rows_below(simulate.line(table.head))]
    # the command hands its cases to other processes
    sent = [pickle.loads(pickle.dumps((case, 2))) for case in table.cases]
    made = [table.row(work)[: table.key] for work in sent]
    assert written == made


def test_no_false_verdict_above_the_level_is_written() -> None:
    """1 % is what compare states; as many more as chance makes of so few comparisons."""
    for cells in rows_below(simulate.line(simulate.tables()["compare"].head)):
        times = int(cells[-1].replace(",", ""))
        if "all rows" not in cells[0]:
            wrong = float(cells[4].rstrip("%")) / 100
            assert wrong <= 0.01 + 2.6 * (0.01 / times) ** 0.5, cells


def test_no_history_errs_more_often_than_is_written() -> None:
    """False changes 1 %, wrong kinds 5 %, and as much more as chance makes of a thousand."""
    table = simulate.tables()["history"]
    for name, noise, runs, rows, false, _, mistaken, _, within in rows_below(
        simulate.line(table.head)
    ):
        of = (name, noise, runs, rows)
        assert float(false.rstrip("%")) <= 1.0 + 0.8, of
        assert float(mistaken.rstrip("%") or 0) <= 5.0 + 1.8, of
        assert float(within.rstrip("%") or 100) >= 95.0, of


def test_a_gate_of_four_runs_errs_as_seldom_as_is_written() -> None:
    """And a call more in 50 requests fails wherever a count is exact."""
    case = {(name, int(runs)): cells for name, runs, *cells in rows_below(
        simulate.line(simulate.tables()["gate"].head)
    )}  # fmt: skip
    assert {cells[0] for (_, runs), cells in case.items() if runs >= 4} == {"0.0%"}
    exact = [cells for (name, _), cells in case.items() if name.startswith("exact")]
    assert exact and all(cells[1:] == ["100.0%"] * len(cells[1:]) for cells in exact)
