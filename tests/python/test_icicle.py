# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands, parts of their time and calls: nothing is lost between them, and a difference is where
it was made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
from afpscope.page import icicle
from afpscope.page.answer import Answer, Badge, named
from afpscope.page.icicle import Cell
from afpscope.saved.run import Run
from afpscope.tables.digest import CommandView, digest
from afpscope.words import Words
from conftest import Done, Shelf

Execute = Callable[..., Done]
RUNS = ["lantest-1", "speedtest", "load", "record"]
STAT, WAIT = ("afpd", "stat", "-"), ("afpd", "wait", "CNID socket")


@pytest.mark.parametrize("source", RUNS)
def test_calls_add_up_to_the_parts_of_the_time_of_their_command(shelf: Shelf, source: str) -> None:
    d = digest(Run.open(shelf.put(source)))
    times = icicle.spent(d.commands, "afpd")
    assert times
    for c in d.commands:
        for part, ns in c.times.items():
            found = sum(x for (name, key, _), x in times.items() if (name, key) == (c.name, part))
            assert found == pytest.approx(ns, rel=0.01, abs=10_000), (c.name, part)


def command(name: str, n: int, **ns: float) -> CommandView:
    view = CommandView(name, requests=n)
    view.spent[STAT]["calls"] = int(ns.get("stat", 0))
    view.spent[WAIT]["cnid"] = int(ns.get("wait", 0))
    view.spent["afpd", "user", "-"]["user"] = int(ns.get("own", 0))
    view.spent["cnid_dbd", "sync", "CNID database"]["disk"] = 10**9  # is not on the path
    return view


def leaves(cells: Iterable[Cell]) -> dict[str, Cell]:
    out: dict[str, Cell] = {}
    for c in cells:
        out |= leaves(c.inner) or {c.name: c}
    return out


def test_each_is_as_high_as_its_share() -> None:
    f = icicle.icicle([command("A", 1, stat=60, own=20), command("B", 1, wait=20)], "afpd",
                      Words("en"))  # fmt: skip
    assert f
    assert [(c.name, round(c.high), len(c.inner)) for c in f.cells] == [("A", 80, 2), ("B", 20, 1)]
    assert {k: round(c.high) for k, c in leaves(f.cells).items()} == {
        "stat": 60, "afpd's own code": 20, "wait · CNID socket": 20,
    }  # fmt: skip
    assert [(row[0], row[2], row[-1]) for row in f.numbers.rows] == [
        ("A", "stat", "60.0%"), ("A", "", "20.0%"), ("B", "wait · CNID socket", "20.0%"),
    ]  # fmt: skip
    assert icicle.icicle([], "afpd", Words("en")) is None


def test_small_ones_are_drawn_together_and_not_lost() -> None:
    many = [command(f"C{i}", 1, stat=3) for i in range(100)]
    f = icicle.icicle([command("A", 1, stat=10_000), *many], "afpd", Words("en"))
    assert f and [c.name for c in f.cells] == ["A", ""]
    assert sum(c.high for c in f.cells) == pytest.approx(100)
    assert f.numbers.more == 100


def test_a_difference_is_where_it_was_made() -> None:
    a = [command("A", 10, stat=600, own=200), command("B", 10, wait=200)]
    b = [command("A", 10, stat=600, own=200), command("B", 10, wait=700)]
    f = icicle.difference([(a, "afpd")] * 3, [(b, "afpd")] * 2, Words("en"))
    assert f
    found = leaves(f.cells)
    assert found["stat"].label == "stat" and not found["stat"].title.endswith("%)")
    assert found["wait · CNID socket"].title.endswith("(+50.0%)")
    assert found["stat"].tint == 0 and found["wait · CNID socket"].tint == 100
    assert f.numbers.rows[0][0] == "B" and f.numbers.rows[0][-1] == "+50.0%"
    assert "+50.0%" in f.caption
    swapped = icicle.difference([(b, "afpd")], [(a, "afpd")], Words("en"))
    assert swapped and leaves(swapped.cells)["wait · CNID socket"].tint == -100


def test_twice_the_work_is_no_difference() -> None:
    a = [command("A", 10, stat=600, own=200)]
    b = [command("A", 20, stat=1200, own=400), command("ONLY", 1, wait=10**6)]
    f = icicle.difference([(a, "afpd")], [(b, "afpd")], Words("en"))
    assert f and {c.tint for c in leaves(f.cells).values()} == {0}


def test_a_difference_says_what_only_one_side_has() -> None:
    both = command("A", 10, stat=600)
    a = [both, command("EARLIER", 1, own=300)]
    b = [both, command("LATER", 2, stat=2_000_000), command("NEVER", 0)]
    f = icicle.difference([(a, "afpd")], [(b, "afpd")], Words("en"))
    assert f and [c.name for c in f.cells] == ["A"]
    assert "Only A has requests of EARLIER (300 ns of a run)" in f.caption
    assert "Only B has requests of LATER (2.00 ms of a run)" in f.caption
    assert "NEVER" not in f.caption
    alike = icicle.difference([(a, "afpd")], [(a, "afpd")], Words("en"))
    assert alike and "Only" not in alike.caption


def test_a_label_takes_two_lines_only_where_both_fit() -> None:
    ns = {"FPWrite": 1000.0, "FPRead": 41.0, "FPDelete": 46.0}
    made = {(name, "user", ""): x for name, x in ns.items()}
    cells = {c.name: c for c in icicle._Maker(made, None, Words("en")).cells()}
    assert {name: c.folds for name, c in cells.items()} == {
        "FPWrite": True, "FPRead": False, "FPDelete": True
    }  # fmt: skip
    assert cells["FPRead"].label


def test_each_cell_says_whose_it_is_and_its_number() -> None:
    f = icicle.icicle([command("A", 1, stat=60, own=20)], "afpd", Words("en"))
    assert f
    assert leaves(f.cells)["stat"].title == "A, work in system calls, stat: 60 ns (75.0%)"
    assert f.cells[0].title == "A: 80 ns (100.0%)"


def test_a_command_whose_name_begins_another_is_not_named_by_it(shelf: Shelf) -> None:
    d = digest(Run.open(shelf.put("lantest-1")))
    d = replace(d, commands=[command("FPRead", 1, own=2), command("FPReadExt", 1, own=1)])
    said = Answer(Badge("", "", ()), True, "the longest was FPReadExt", (), ())
    assert named(d, said) == {"FPReadExt"}
    assert named(d, replace(said, cause="nothing")) == {"FPRead"}


@pytest.mark.slow
def test_pages_have_it_as_picture_and_as_numbers(shelf: Shelf, execute: Execute) -> None:
    a, b = shelf.put("one", "lantest-1"), shelf.put("two", "lantest-2")
    execute("report", a, "-o", a / "r.html")
    text = (a / "r.html").read_text()
    assert 'class="icicle' in text and "<td>of all time</td>" not in text
    assert len(text.encode()) <= 300_000
    execute("compare", "--html", a / "c.html", a, b)
    text = (a / "c.html").read_text()
    assert 'class="icicle' in text and "<h2>Where the difference lies</h2>" in text
    assert "Inside the server the requests of a run took" in text
