# SPDX-License-Identifier: GPL-2.0-or-later
"""How long actions would take over other ways. Tests page/ways.py."""

from __future__ import annotations

import argparse
from dataclasses import replace

import pytest
from afpscope.page import ways
from afpscope.saved.sections import Cell, Column, Row, Section

COLUMNS = tuple(
    Column(name, head, unit)
    for name, head, unit in (
        ("action", "action", None),
        ("round_trips", "round trips", "1"),
        ("rtt", "way here", "ns"),
        ("here", "here", "ns"),
        ("at_5ms", "at 5ms", "ns"),
        ("at_20ms", "at 20ms", "ns"),
        ("together", "together", None),
    )
)


def _row(name: str, trips: float, rtt: float | None, here: float, mark: str = "") -> Row:
    numbers = (Cell("", trips, None), Cell("", rtt, None), Cell("", here, None))
    at = (Cell(f"{mark}x", 1.0, None), Cell(f"{mark}x", 1.0, None))
    return Row(None, (Cell(name, name, None), *numbers, *at, Cell("-", None, None)), "")


TABLE = Section(
    "round-trips",
    "Round trips",
    "",
    COLUMNS,
    (
        _row("look", 1, 50e3, 200e3),
        _row("save", 11, 50e3, 3e6, "≥"),
        _row("old", 2, None, 1e6),
        Row("a line", (), ""),
    ),
    (),
)


def test_times_are_those_of_the_program_for_other_ways() -> None:
    made = ways.over(TABLE, (1, 50))
    names = [c.name for c in made.columns]
    assert names[4:] == ["at_1ms", "at_50ms", "together"]
    look, save, old, line = made.rows
    assert [c.value for c in look.cells[4:6]] == pytest.approx([1.15e6, 50.15e6])
    assert look.cells[4].text == "1.15 ms"
    assert [c.value for c in save.cells[4:6]] == pytest.approx([13.45e6, 552.45e6])
    assert save.cells[5].text == "≥552 ms"
    assert [(c.text, c.value) for c in old.cells[4:6]] == [("n/a", None)] * 2
    assert line == TABLE.rows[3]
    assert all(len(r.cells) == len(made.columns) for r in made.rows if r.text is None)


def test_a_burst_of_others_has_only_the_networks_part() -> None:
    columns = (Column("each", "each", "1"), Column("at_5ms", "at 5ms", "ns"))
    row = Row(None, (Cell("4", 4.0, None), Cell("20ms", 20e6, None)), "")
    table = Section("session-round-trips", "", "", columns, (row,), ())
    (made,) = ways.over(table, (2,)).rows
    assert made.cells[1].value == 8e6


def test_other_tables_and_no_times_change_nothing() -> None:
    assert ways.over(TABLE, ()) is TABLE
    other = replace(TABLE, key="tests")
    assert ways.over(other, (1,)) is other


@pytest.mark.parametrize("text", ["", "x", "1,", "0", "-1", "nan", "60001", "1,2,3,4,5,6,7"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="such as"):
        ways.chosen(text)


def test_times_are_ms() -> None:
    assert ways.chosen("0.2,5,60000") == (0.2, 5.0, 60000.0)
