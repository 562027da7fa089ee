# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/doctor/lab.py: which rows there are, what one is worth, and the table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.extend(
    str(Path(__file__).resolve().parents[1] / folder)
    for folder in ("doctor", "server", "integration/lib")
)
from faults import MOST, NONE, SCHEMES, THIRD
from load import Waits
from outcome import AMONG, FAILED, FALSE, FIRST, SAID_SLOW, SILENT, SURE, outcome, reached, table
from patient import Row, Seen
from rows import FAULTS, PAIRS, at_once, planned, row_name, sampled


def test_each_fault_is_made_in_each_dose_and_place_that_it_can_have() -> None:
    one, two, none = planned(1)
    names = [row_name(row) for row in one + two + none]
    assert len(names) == len(set(names))
    for fault in FAULTS.values():
        mine = [row for row in one if row.faults[0][0] is fault]
        wanted = {dose for dose, strength in enumerate(fault.doses) if strength is not None}
        assert {row.faults[0][1] for row in mine} == wanted, fault.name
        for row in mine:
            assert row.cnid in fault.cnids and row.cnid in SCHEMES[row.suite], fault.name
            assert row.suite in fault.suites
    assert {row.suite for row in one} == set(SCHEMES)
    assert len(two) == len(PAIRS) >= 20 and len(none) >= 200


def test_a_sample_has_each_fault_once_before_one_twice() -> None:
    one, two, none = planned(1)
    all_ = one + two + none
    kinds = {(row.faults[0][0].name, len(row.faults)) for row in all_}
    chosen = sampled(all_, len(kinds), 7)
    assert {(row.faults[0][0].name, len(row.faults)) for row in chosen} == kinds
    assert [row_name(row) for row in sampled(all_, 9, 7)] == [
        row_name(row) for row in sampled(all_, 9, 7)
    ]


def said(*keys: str, verdict: str = "findings", others: float = 0, **more: Any) -> dict[str, Any]:
    """A result; ! behind a key: sure."""
    findings = [{"key": key.rstrip("!"), "sure": key.endswith("!")} for key in keys]
    diagnosis = {"verdict": verdict, "findings": findings} | more
    return {"diagnosis": diagnosis, "cpu_others": others}


@pytest.mark.parametrize(
    ("wanted", "result"),
    [
        (FIRST, said("cnid-stopped!", "xattr")),
        (AMONG, said("xattr", "log", "cnid-stopped")),
        (FALSE, said("xattr", "log", "fsync", "cnid-stopped")),
        (SURE, said("cnid-stopped", "xattr!")),
        (SILENT, said(verdict="healthy")),
        (SAID_SLOW, said(verdict="slow")),
        (FALSE, said("other-programs", "cnid-stopped", others=0.1, verdict="findings")),
        (FIRST, said("other-programs!", "cnid-stopped", others=0.9)),
        (FAILED, {"error": "no server"}),
    ],
)
def test_an_outcome_is_that_of_the_first_finding(wanted: str, result: dict[str, Any]) -> None:
    is_ = outcome(at_once("stopped CNID server"), result)
    # What is right, but not first, is among three.
    assert is_ == (AMONG if wanted == FALSE and "other-programs" in str(result) else wanted)


def test_of_two_faults_both_are_wanted() -> None:
    row = at_once("stopped server", "deaf clients")
    assert outcome(row, said("no-login", "server-stopped!")) == FIRST
    assert outcome(row, said("server-stopped!", notes=[{"key": "no-login"}])) == FIRST
    assert outcome(row, said("server-stopped!")) == AMONG
    assert outcome(row, said("log")) == FALSE


def test_a_note_is_right_beside_what_its_fault_brings_with_it() -> None:
    row = at_once("smbd: quota")
    noted = [{"key": "quota"}]
    assert outcome(row, said("remote-fs", notes=noted)) == FIRST
    assert outcome(row, said("log", notes=noted)) == FALSE
    assert outcome(row, said("remote-fs", notes=[])) == FALSE


def test_nothing_is_right_on_a_healthy_server() -> None:
    row = next(row for row in planned(1)[2] if row.faults[0][0].name == "browse")
    assert outcome(row, said(verdict="idle")) == FIRST
    assert outcome(row, said("log")) == FALSE


def test_harm_is_what_clients_would_not_have_waited() -> None:
    seen = Seen()
    seen.add(Waits(n=100, seconds=0.2), Waits(n=50, seconds=0.4))
    assert seen.harm()["share_of_waiting"] == pytest.approx(0.75)
    assert seen.harm()["extra_ms"] == pytest.approx(6)
    assert reached(seen.harm()) == MOST
    seen = Seen()
    seen.add(Waits(n=100, seconds=0.02), Waits(n=100, seconds=0.04))
    assert reached(seen.harm()) == NONE  # half of it, and nobody notices
    seen = Seen()
    seen.add(Waits(n=10, clients=5), Waits(n=10, clients=5, lost=1))
    assert reached(seen.harm()) == THIRD


def test_the_table_counts_rows_by_the_dose_that_they_reached() -> None:
    def result(outcome: str, kind: str = "one", at: int = MOST) -> dict[str, Any]:
        return {
            "fault": "slow disk", "keys": ["slow-disk"], "kind": kind, "dose": MOST, "reached": at,
            "outcome": outcome, "before": [], "seconds": 60,
        }  # fmt: skip

    one = [result(FIRST), result(FALSE), result(AMONG, at=THIRD), result(SURE, at=NONE)]
    text = table([*one, result(FIRST, "none"), result(FALSE, "none"), result(FAILED)])
    assert "| slow disk | `slow-disk` | 1/2 | 1 | 0 | 1 | 0/1 | 1 | 0 | 0 | 1 | 1 | 1 |" in text
    assert "right first 1 of 2 (50.0%)" in text and "right among three 1 of 1 (100.0%)" in text
    assert "Healthy: false 1 of 2 (50.0%)" in text and "sure: 1 of 6" in text
    assert "could not be made: 1" in text and "7 min of 7 rows" in text


def test_a_row_that_is_two_faults_has_the_load_of_both() -> None:
    row = at_once("narrow link, reading", "deaf clients")
    assert isinstance(row, Row)
    assert [part.mix for _, _, part in row.parts()] == ["batch-read", "browse"]
