# SPDX-License-Identifier: GPL-2.0-or-later
"""What is used up is what the diagnosis of the run says; without a cause it cannot be told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from afpscope.limit import limits, outcome
from afpscope.limit.limits import Limit
from afpscope.words import ENGLISH
from sweeping import Made, Parts, sweep

QUIET: Parts = {
    "user": 20, "calls": 30, "runq": 5, "disk": 10, "cnid.cpu": 15, "cnid.runq": 2,
    "cnid.sync": 3, "lock": 1, "outside": 20,
}  # fmt: skip


def judged(tmp_path: Path, below: Made | None, above: Made) -> Limit:
    points: list[tuple[str, Made | None]] = [("1", below), ("2", above)]
    steps = sweep(tmp_path / "s", points).steps
    found = limits.used_up(steps[0], steps[1])
    assert found
    return found


def diagnosis(verdict: str = "slow", *causes: str, unseen: tuple[str, ...] = ()) -> dict[str, Any]:
    """As run.json has it: keys of causes; "?" behind one that is not sure, "@" who it only is."""
    found = [
        {
            "key": c.rstrip("?@"),
            "text": f"it is {c}",
            "sure": c[-1] not in "?@",
            "whom": c[-1] == "@",
        }
        for c in causes
    ]
    return {"verdict": verdict, "findings": found, "waited_for_but_not_seen": list(unseen)}


@pytest.mark.parametrize(
    ("part", "resource", "says"),
    [
        ("runq", "cpu", "afpd waiting for a CPU (5.00 µs a request below, 905 µs above)"),
        ("between", "cpu", "requests unread while afpd waited for a CPU"),
        ("cnid.runq", "cpu", "cnid_dbd waiting for a CPU"),
        ("calls", "cpu", "afpd on a CPU"),
        ("cnid.cpu", "cnid", "cnid_dbd on a CPU"),
        ("cnid.idle", "cnid", "to and from cnid_dbd"),
        ("cnid.sync", "disk", "cnid_dbd waiting for the disk"),
        ("disk", "disk", "waiting for files"),
        ("log", "disk", "waiting for the log"),
        ("lock", "lock", "waiting for a lock"),
        ("cnid.lock", "lock", "cnid_dbd waiting for a lock"),
        ("database.wait", "lock", "waiting for another writer of the CNID database"),
        ("database.sync", "disk", "waiting for the CNID database's disk"),
        ("net", "network", "the client's socket"),
        ("outside", "network", "outside the server"),
        ("other", "other", "waiting otherwise"),
    ],
)
def test_what_grew_most_is_said_and_is_no_cause(
    tmp_path: Path, part: str, resource: str, says: str
) -> None:
    more = QUIET | {part: QUIET.get(part, 0) + 900, "disk": QUIET["disk"] + 100}
    if part == "disk":
        more["disk"] = 910
    found = judged(tmp_path, Made(parts=QUIET), Made(parts=more, diagnosis=diagnosis()))
    assert found.kind == "unknown"
    assert found.text.startswith("cannot be told: the diagnosis shows no cause; ")
    assert f"is {ENGLISH[f'r_{resource}']}, " in found.text and says in found.text
    assert any(says.split(" (")[0] in f.name for f in found.figures)


def test_what_was_large_already_is_not_what_grew(tmp_path: Path) -> None:
    below = QUIET | {"disk": 500}
    found = judged(tmp_path, Made(parts=below), Made(parts=below | {"runq": 300}))
    assert "of what requests take longer is CPU, 100%" in found.text


def test_without_growth_the_largest_part_is_said(tmp_path: Path) -> None:
    it = Made(parts=QUIET | {"disk": 500})
    for found in (judged(tmp_path, it, it), judged(tmp_path / "alone", None, it)):
        assert found.kind == "unknown" and "of a request's time is disk, 8" in found.text
        assert found.text.startswith("cannot be told: the run has no diagnosis; ")


def test_the_diagnosis_of_the_run_above_is_followed(tmp_path: Path) -> None:
    """Whatever grew: also where one part grew by a hair more than the others."""
    grown = QUIET | {"calls": 50, "disk": 28, "lock": 19, "outside": 38}
    above = Made(parts=grown, diagnosis=diagnosis("findings", "cpu-short", "log"))
    below = Made(parts=QUIET, diagnosis=diagnosis("findings", "locks"))
    found = judged(tmp_path, below, above)
    assert (found.kind, found.text) == ("cpu-short", "it is cpu-short")
    likely = Made(parts=grown, diagnosis=diagnosis("findings", "io-limit?"))
    assert judged(tmp_path / "likely", below, likely).text == "it is io-limit? (likely)"
    none = judged(tmp_path / "none", below, Made(parts=grown, diagnosis=diagnosis()))
    assert none.kind == "unknown" and "used up" not in none.text
    assert "what requests take longer has no single part that stands out: CPU " in none.text


def test_of_causes_that_explain_as_much_none_is_chosen(tmp_path: Path) -> None:
    made = diagnosis("findings", "cpu-short", "slow-disk", "log") | {"rivals": 2}
    found = judged(tmp_path, Made(parts=QUIET), Made(parts=QUIET, diagnosis=made))
    said = "cannot be told: these explain about as much: it is cpu-short, it is slow-disk"
    assert (found.kind, found.text) == ("unknown", said)


def test_a_limit_that_nobody_notices_yet_is_likely(tmp_path: Path) -> None:
    """Of notes only those that would be findings; a finding goes first."""
    notes = [{"key": "quota", "text": "no room", "harms": False},
             {"key": "cpu-short", "text": "they wait for CPUs", "harms": True}]  # fmt: skip
    above = Made(parts=QUIET, diagnosis=diagnosis("healthy") | {"notes": notes})
    found = judged(tmp_path, Made(parts=QUIET), above)
    assert (found.kind, found.text) == ("cpu-short", "they wait for CPUs (likely)")
    both = diagnosis("findings", "locks") | {"notes": notes}
    found = judged(tmp_path / "both", Made(parts=QUIET), Made(parts=QUIET, diagnosis=both))
    assert (found.kind, found.text) == ("locks", "it is locks")


def test_who_it_is_is_no_cause(tmp_path: Path) -> None:
    above = Made(parts=QUIET, diagnosis=diagnosis("slow", "one-session@"))
    assert judged(tmp_path, Made(parts=QUIET), above).kind == "unknown"


def test_what_nothing_speaks_for_and_nothing_rules_out_is_said(tmp_path: Path) -> None:
    made = diagnosis("partly") | {"may_be": ["dircache"]}
    found = judged(tmp_path, Made(parts=QUIET), Made(parts=QUIET, diagnosis=made))
    assert found.kind == "unknown"
    assert found.text.startswith("cannot be told: not visible, and so not ruled out: dircache")


def test_what_was_not_visible_is_said(tmp_path: Path) -> None:
    more = QUIET | {"disk": 900}
    made = diagnosis("slow", unseen=("slow-disk", "io-limit"))
    found = judged(tmp_path, Made(parts=QUIET), Made(parts=more, diagnosis=made))
    assert found.kind == "unknown"
    assert "slow-disk, io-limit would explain the wait, and was not visible" in found.text


@pytest.mark.parametrize(
    ("trouble", "says"),
    [
        ({"cpu": 0.95}, "95% of a CPU"),
        ({"cpu": 0.3, "runq": 0.65}, "waited 65%"),
    ],
)
def test_the_generator_goes_first(tmp_path: Path, trouble: dict[str, float], says: str) -> None:
    above = Made(parts=QUIET | {"disk": 900}, **trouble)  # type: ignore[arg-type]
    found = judged(tmp_path, Made(parts=QUIET), above)
    assert found.kind == "generator" and says in found.text


def test_a_generator_that_is_late_is_not_called_used_up(tmp_path: Path) -> None:
    """It had time left: its machine may have stopped it."""
    parts = QUIET | {"disk": 900}
    above = Made(parts=parts, cpu=0.05, late=500, diagnosis=diagnosis("findings", "disk"))
    made = sweep(tmp_path / "s", [("1", Made(parts=QUIET)), ("2", above)])
    found = limits.used_up(*made.steps)
    assert found and found.kind == "unknown"
    assert found.text.startswith("cannot be told: 500 of ")
    assert "actions began more than 1 ms late" in found.text
    said = outcome.sentences(outcome.of(made))
    assert any("began late at 2: their times" in text for text in said)
    assert not any("no time left" in text for text in said)


def test_sessions_that_were_not_made_go_before_what_grew(tmp_path: Path) -> None:
    above = Made(clients=20, missing=5, parts=QUIET | {"disk": 900})
    found = judged(tmp_path, Made(parts=QUIET), above)
    assert found.kind == "sessions" and "5 of 20 clients" in found.text


def test_a_server_that_was_not_watched_is_unknown(tmp_path: Path) -> None:
    found = judged(tmp_path, Made(), Made(p99_ms=1000))
    assert found.kind == "unknown" and "was not watched" in found.text
    found = judged(tmp_path / "proc", Made(), Made(diagnosis=diagnosis("not_counted")))
    assert found.kind == "unknown" and "was not watched" in found.text


def test_nothing_is_used_up_below_the_knee(tmp_path: Path) -> None:
    steps = sweep(tmp_path / "s", [("1", Made()), ("2", None)]).steps
    assert limits.used_up(steps[0], None) is None
    assert limits.used_up(steps[0], steps[1]) is None


def test_parts_add_up_to_what_the_client_saw(tmp_path: Path) -> None:
    step = sweep(tmp_path / "s", [("1", Made(parts=QUIET | {"between": 7}))]).steps[0]
    spent = limits.of_step(step)
    assert spent.client_ns == pytest.approx(sum(QUIET.values()) * 1000 + 7000)
    assert sum(spent.parts.values()) == pytest.approx(spent.client_ns)
    assert sum(spent.by_resource.values()) == pytest.approx(spent.client_ns)
    assert spent.busiest == ("cpu", pytest.approx(64 / 113))
