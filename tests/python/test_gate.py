# SPDX-License-Identifier: GPL-2.0-or-later
"""gate: what it finds, what it refuses to hold against each other, and what it accepts."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from afpscope import compare, gate, markdown
from afpscope.judge import stats, versus
from afpscope.measure import turns
from afpscope.saved.run import START, Run
from afpscope.tables import counts
from changed import add, more_calls, pairs, scaled, stretch
from conftest import Done, Shelf, no_more_than

Execute = Callable[..., Done]


def test_times_gate_on_pairs_only(shelf: Shelf, execute: Execute) -> None:
    a, b = pairs(shelf, 12, 1.2)
    done = execute("gate", "--time", "5%", *a, "--", *b)
    assert done.code == 3
    assert "FPCreateFile: time: +1" in done.out or "FPCreateFile: time: +2" in done.out
    rows = json.loads(execute("compare", "--json", *a, "--", *b).out)["times"]
    assert f" of {len(rows)} rows are not as accepted" in done.out
    done = execute("gate", "--time", "5%", *a[:6], "--", *a[6:])
    assert done.code == 2 and "ab" in done.err
    done = execute("gate", "--time", "5%", a[0], "--", b[0])
    assert done.code == 4 and "not enough runs" in done.err and "pass" not in done.out


def test_a_row_that_may_be_slower_than_the_limit_cannot_be_told(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = ([Run.open(place) for place in side] for side in pairs(shelf, 8, 1.0))
    result = stats.Test(8, 8, 1.0, 1.04, 0.04, 0.02, 0.06, 1e-6, 1e-6, None, 1e-6)
    rows = [
        versus.TimeRow("5 x", "FPCreateFile", "mean", result, stats.SLOWER),
        versus.TimeRow("6 x", "FPDelete", "mean", replace(result, high=0.045), stats.SLOWER),
    ]
    not_more_than_5 = [replace(row, verdict=stats.NONE_SHOWN) for row in rows]
    monkeypatch.setattr(
        versus, "time_rows", lambda *args: not_more_than_5 if args[3].least else rows
    )
    of = gate.judge_times(a, b, 0.05)
    assert (of.findings, of.untold) == ([], [])
    assert of.undecided == ["5 x FPCreateFile (middle 90%): may be up to +6.0% slower"]


def test_rows_that_cannot_be_told_are_counted_and_skipped(shelf: Shelf, execute: Execute) -> None:
    """Noise of a command: it may be slower by more than the limit, and nothing says that it is."""
    rng = random.Random(1)

    def noisy(value: dict[str, Any]) -> None:
        for phase in value["phases"]:
            for c in phase["commands"]:
                if c["name"] == "FPCreateFile":
                    stretch(c["latency"], rng.lognormvariate(0, 0.4))

    a, b = pairs(shelf, 8, 1.0)
    for place in (*a, *b):
        value = json.loads((place / "run.json").read_text())
        noisy(value)
        (place / "run.json").write_text(json.dumps(value))
    done = execute("gate", "--time", "10%", *a, "--", *b)
    found = re.search(
        r"gate: pass: 0 of \d+ rows are not as accepted; (\d+) cannot be told", done.out
    )
    assert done.code == 0 and found and int(found[1]) > 0, done
    assert "cannot be told: " in done.out and "FPCreateFile: time: may be up to +" in done.out
    suite = ElementTree.fromstring(
        execute("gate", "--time", "10%", "--format", "junit", *a, "--", *b).out
    )
    assert suite.get("skipped") == found[1] == str(len(suite.findall(".//skipped")))
    assert (
        f"; {found[1]} cannot be told"
        in execute("gate", "--time", "10%", "--format", "markdown", *a, "--", *b).out
    )
    said = execute("gate", "--time", "10%", "--explain", "fpcreate", *a, "--", *b).err
    assert "FPCreateFile (middle 90%): A " in said and "by chance alone" in said


def test_a_few_slow_requests_are_not_the_same(shelf: Shelf, execute: Execute) -> None:
    """One in 25 takes 100 times as long: the middle of the requests does not know it."""
    a, b = pairs(shelf, 8, 1.0)
    for place in b:
        value = json.loads((place / "run.json").read_text())
        for phase in value["phases"]:
            for c in phase["commands"]:
                if c["name"] == "FPCreateFile":
                    n = sum(k for _, k in c["latency"]["histogram"]["buckets"])
                    mean = c["latency"]["sum_ns"] // n
                    add(c["latency"], 100 * mean, n // 25)
        (place / "run.json").write_text(json.dumps(value))
    done = execute("compare", "--least", "20%", "--all", *a, "--", *b)
    rows = [x for x in done.out.splitlines() if "FPCreateFile (middle 90%)" in x]
    assert rows and all(versus.IN_PART in x for x in rows), done
    assert "but the mean of all did not" in done.err and " a request)" in done.err
    done = execute("gate", "--time", "20%", *a, "--", *b)
    # of so many requests p99 is known as well
    assert done.code == 3 and "FPCreateFile: p99: +" in done.out, done
    assert "all requests together took +" in done.err


def two_tests(shelf: Shelf, n: int, of_b: Callable[[int, dict[str, Any]], None]) -> list[list[str]]:
    """Pairs made in turn, of two short tests."""
    sides: dict[str, list[str]] = {"a": [], "b": []}
    for i, (pair, side) in enumerate(turns.order(n)):

        def change(value: dict[str, Any], i: int = i, side: str = side) -> None:
            value["phases"] = [p for p in value["phases"] if p["test"] in (5, 8)]
            scaled(i)(value)
            if side == "b":
                of_b(len(sides["b"]), value)

        sides[side].append(str(shelf.put(f"{pair:02}{side}", change=change)))
    return [sides["a"], sides["b"]]


def test_a_few_slow_runs_are_not_the_same(shelf: Shelf, execute: Execute) -> None:
    """One run in six takes twice as long: no rank knows it."""

    def slow(n: int, value: dict[str, Any]) -> None:
        for phase in value["phases"] if n % 6 == 1 else ():
            phase["metrics"]["elapsed"] *= 2

    a, b = two_tests(shelf, 24, slow)
    done = execute("compare", "--least", "8%", *a, "--", *b)
    rows = [x for x in done.out.splitlines() if "(test)" in x]
    assert len(rows) == 2 and any(versus.FEW_RUNS in x for x in rows), done
    assert "times are the same" not in done.out and "a few of one side did not" in done.err
    rows = json.loads(execute("compare", "--least", "8%", "--json", *a, "--", *b).out)["times"]
    means = [row["mean"] for row in rows if row["verdict"] == versus.FEW_RUNS]
    assert means and all(0.1 < mean < 0.25 for mean in means), rows  # 4 of 24 took twice as long
    done = execute("gate", "--time", "8%", *a, "--", *b)
    assert done.code == 4 and "the mean of all runs is +1" in done.err, done


def test_what_one_side_lacks_does_not_pass(shelf: Shelf, execute: Execute) -> None:
    """A test that broke off in all runs of B, or a command that has no requests there."""
    gone = ""

    def lack(n: int, value: dict[str, Any]) -> None:
        for phase in value["phases"]:
            if gone == "all" or (gone == "test" and phase["test"] == 5):
                phase["complete"] = False
            for c in phase["commands"] if gone == "command" and phase["test"] == 5 else ():
                c["latency"] |= {"n": 0, "sum_ns": 0}
                c["latency"]["histogram"]["buckets"] = []
                c["ops"] = 0

    for gone, says in (
        ("test", "gate: undecided: 5 Creating"),
        ("command", "time: only A has such requests"),
        ("all", "gate: undecided: 5 Creating"),
    ):
        for place in shelf.base.iterdir():
            shutil.rmtree(place)
        a, b = two_tests(shelf, 8, lack)
        done = execute("gate", "--time", "20%", *a, "--", *b)
        assert done.code == (0 if gone == "command" else 4), done
        assert says in done.out + done.err
        if gone != "all":
            done = execute("compare", "--least", "20%", *a, "--", *b)
            assert "times are the same" not in done.out and "only A has " in done.err


def test_a_test_that_broke_off_does_not_pass(
    shelf: Shelf, execute: Execute, accepted: Path
) -> None:
    def broke(value: dict[str, Any]) -> None:
        for phase in value["phases"]:
            phase["complete"] = phase["test"] != 5

    done = execute("gate", "--counts", accepted, shelf.put("broke", change=broke))
    assert done.code == 4 and "undecided: 5 Creating" in done.err, done


def test_a_row_of_counts_is_explained(shelf: Shelf, execute: Execute, accepted: Path) -> None:
    run = shelf.put("new")
    for row, why in (
        ("FPCreateFile requests", "it was the same in every accepted iteration"),
        ("FPCreateFile afpd: wait", "it does not depend on the request alone"),
        ("nothing", "no row of counts has 'nothing'"),
    ):
        done = execute("gate", run, "--counts", accepted, "--explain", row)
        assert why in done.err and done.code == 0, done


def test_a_gate_of_times_that_is_forced_judges(shelf: Shelf, execute: Execute) -> None:
    a, b = pairs(shelf, 8, 1.0)
    value = json.loads((b[0] / "run.json").read_text())
    value["options"]["iterations"] = "9"
    (b[0] / "run.json").write_text(json.dumps(value))
    done = execute("gate", "--time", "5%", *a, "--", *b)
    assert done.code == 2 and "options.iterations" in done.err and "--force" in done.err
    done = execute("gate", "--time", "5%", "--force", *a, "--", *b)
    assert done.code in (0, 4) and "gate: " in done.out and "forced" in done.err


@pytest.mark.parametrize(
    "rest", [("--time", "5%"), ("--counts", "c"), ("--counts", "c", "--accept")]
)
def test_a_run_does_not_count_twice(shelf: Shelf, execute: Execute, rest: tuple[str, ...]) -> None:
    a = shelf.put("a")
    copy = shelf.put("copy", change=lambda v: v.update(id=Run.open(a).id))
    for twice in (a, a / "run.json", copy):
        for done in (execute("compare", a, "--", twice), execute("gate", *rest, a, twice)):
            assert done.code == 2 and "are the same run" in done.err
            assert str(a) in done.err and len(done.err.splitlines()) == 1


@pytest.fixture
def accepted(shelf: Shelf, execute: Execute) -> Path:
    file = shelf.base / "counts.json"
    runs = [shelf.put(f"accepted{i}", f"lantest-{i}") for i in (1, 2)]
    done = execute("gate", *runs, "--counts", file, "--accept")
    assert done.code == 0 and "exact" in done.out
    return file


def test_the_gate_passes_the_same_work(shelf: Shelf, execute: Execute, accepted: Path) -> None:
    """Where a file was read again in three thousand requests (lantest-3), this is told."""
    for i in (1, 3):
        done = execute("gate", shelf.put(f"new{i}", f"lantest-{i}"), "--counts", accepted)
        assert done.code == 0
        assert done.out.startswith("gate: pass")
    assert "a stray: 1 Open, stat and read" in done.err
    assert execute("gate", shelf.base / "new3", "--counts", accepted, "--strict").code == 3


@pytest.mark.parametrize("form", ["text", "github", "junit"])
def test_the_gate_names_what_is_more(
    shelf: Shelf, execute: Execute, accepted: Path, form: str
) -> None:
    run = shelf.put("new", "lantest-3", more_calls)
    done = execute("gate", run, "--counts", accepted, "--format", form)
    assert done.code == 3
    for word in ("FPCreateFile", "xattr", "+1.000 per request", "5 Creating dir"):
        assert word in done.out
    if form == "junit":
        suite = ElementTree.fromstring(done.out)
        assert suite.get("failures") == str(len(suite.findall("*/failure"))) != "0"
    if form == "github":
        assert done.out.startswith("::error ")


def test_a_command_that_is_gone_fails(shelf: Shelf, execute: Execute, accepted: Path) -> None:
    def drop(value: dict[str, Any]) -> None:
        for phase in value["phases"]:
            ledger = phase["ledger"]
            ledger["requests"] = [a for a in ledger["requests"] if a["name"] != "FPRead"]

    done = execute("gate", shelf.put("new", "lantest-3", drop), "--counts", accepted)
    assert done.code == 3
    assert "FPRead: requests: 0, accepted 1,000: -1,000, -1.000 per request" in done.out


def test_a_doubtful_run_cannot_pass(shelf: Shelf, execute: Execute, accepted: Path) -> None:
    run = shelf.put("new", "lantest-3", lambda v: v.update(complete=False))
    assert execute("gate", run, "--counts", accepted).code == 4
    assert execute("gate", run, "--counts", accepted, "--accept").code == 4


def test_other_tests_are_not_comparable(shelf: Shelf, execute: Execute, accepted: Path) -> None:
    """More tests than accepted cannot be judged; fewer can, and what is left out is told."""
    fewer = shelf.put("fewer", change=lambda v: v.update(phases=v["phases"][:1]))
    done = execute("gate", fewer, "--counts", accepted)
    assert done.code == 0 and done.out.startswith("gate: pass")
    assert done.err.count("which these runs lack: not judged") == 2
    assert execute("gate", fewer, "--counts", accepted, "--accept").code == 0
    done = execute("gate", shelf.put("more"), "--counts", accepted)
    assert done.code == 2 and "accept runs with the same tests" in done.err


def test_a_full_disk_leaves_what_was_accepted(
    shelf: Shelf, execute: Execute, accepted: Path
) -> None:
    before, run = accepted.read_text(), shelf.put("new")
    with no_more_than(1000):
        done = execute("gate", run, "--counts", accepted, "--accept")
    assert done.code == 1 and f"cannot write {accepted}: File too large" in done.err
    assert accepted.read_text() == before


@pytest.mark.parametrize("text", ["{}", '{"format": "afpscope counts 1"}', "[]", "{"])
def test_a_file_that_is_no_counts_file(
    shelf: Shelf, execute: Execute, accepted: Path, text: str
) -> None:
    accepted.write_text(text)
    done = execute("gate", shelf.put("new"), "--counts", accepted)
    assert done.code == 1 and len(done.err.splitlines()) == 1


def test_a_recording_is_no_measure(shelf: Shelf, execute: Execute) -> None:
    done = execute("gate", shelf.put("r", "record"), "--counts", shelf.base / "c", "--accept")
    assert done.code == 2 and "recording" in done.err


def test_bands() -> None:
    """Exact where it never moved; a heap that grows or a log that rolls over is no alarm."""

    def key(class_: str, role: str = "afpd") -> counts.Key:
        return "5 x", "FPCreateFile", role, class_, "-"

    requests = {("5 x", "FPCreateFile", "requests", "", ""): [2000, 2000]}
    known = counts.bands(
        requests
        | {
            key("xattr"): [6000, 6000],
            key("wait"): [1300, 1700],
            key("memory"): [3, 3],
            key("stat", "cnid_dbd"): [1, 1],
            key("write", "cnid_dbd"): [2040, 2050],
        }
    )
    assert known[key("xattr")] == counts.Band(6000, 6000, True)
    assert known[key("wait")].holds(2000)
    assert known[key("memory")].holds(9) and not known[key("memory")].holds(2003)
    assert known[key("stat", "cnid_dbd")].holds(3)
    assert not known[key("write", "cnid_dbd")].holds(4040)
    assert counts.band_of(known, key("open"), 2000).holds(2000) is False
    assert counts.band_of(known, key("unlink", "cnid_dbd"), 2000).holds(2)
    assert counts.band_of(known, key("signal"), 2000).holds(4)


@pytest.mark.parametrize(("more", "rows"), [(0, 0), (1, 1)])
def test_a_stray_is_no_difference(shelf: Shelf, more: int, rows: int) -> None:
    """A call in 100 requests, and more."""

    def change(value: dict[str, Any]) -> None:
        accounts = [a for phase in value["phases"] for a in phase["ledger"]["requests"]]
        creates = [a for a in accounts if a["name"] == "FPCreateFile"]
        most = max(a["requests"] for a in creates)
        for account in creates:
            if account["requests"] == most:
                part = next(p for p in account["parts"] if p["class"] == "xattr")
                part["calls"] += most // 100 + more

    a, b = (Run.open(shelf.put(n, change=c)) for n, c in (("a", lambda _: None), ("b", change)))
    assert len(compare.count_rows([a], [b])[0]) == rows


def test_data_in_more_pieces_are_no_alarm() -> None:
    """Counts of 40 runs of one server: the busier the machine, the more pieces. One of 40 others
    had 311 of the first."""

    def key(command: str, class_: str) -> counts.Key:
        return "2 x", command, "afpd", class_, "client socket"

    sizes = {("2 x", c, "requests", "", ""): [100] for c in ("FPWriteExt", "FPReadExt", "FPDelete")}
    seen = {
        key("FPWriteExt", "recv"): [206, 202, 205, 202],
        ("2 x", "FPWriteExt", "afpd", "write", "data file"): [160] * 4,
        ("2 x", "FPWriteExt", "afpd", "wait", "-"): [13] * 4,
        key("FPReadExt", "recv"): [2] * 4,
        key("FPReadExt", "sendfile"): [150] * 4,
        ("2 x", "FPReadExt", "afpd", "read", "pipe"): [99] * 4,
        key("FPDelete", "recv"): [100] * 4,
    }
    known = counts.bands(sizes | seen)
    assert known[key("FPWriteExt", "recv")].holds(311)
    assert not known[key("FPWriteExt", "recv")].holds(1000)
    assert known["2 x", "FPWriteExt", "afpd", "write", "data file"].holds(200)
    assert known["2 x", "FPWriteExt", "afpd", "wait", "-"].holds(249)
    assert known[key("FPReadExt", "recv")].holds(10)
    assert known[key("FPReadExt", "sendfile")].holds(160)
    assert known["2 x", "FPReadExt", "afpd", "read", "pipe"].holds(95)
    assert known[key("FPDelete", "recv")] == counts.Band(100, 100, True)


def test_accepted_runs_must_be_alike(shelf: Shelf, execute: Execute) -> None:
    """Other settings, another server, another kernel, other work: none makes a band."""
    a, file = shelf.put("a"), shelf.base / "counts.json"

    def chatty(value: dict[str, Any]) -> None:
        for phase in value["phases"]:
            for account in phase["ledger"]["requests"]:
                n = 39 * account["requests"]
                account["parts"].append(
                    {"role": "afpd", "class": "open", "object": "log", "calls": n, "errors": 0}
                )

    changes = {
        "options.large_file_bytes": lambda v: v["options"].update(large_file_bytes="1"),
        "server.machine": lambda v: v["server"].update(machine="Netatalk4.2.3"),
        "environment.kernel": lambda v: v["environment"].update(kernel="Linux 5.10"),
        "rungs.calls": lambda v: v["rungs"].update(calls="off"),
        "afpd: open · log: +39.00 per request": chatty,
    }
    for i, (what, change) in enumerate(changes.items()):
        other = shelf.put(f"other{i}", change=change)
        done = execute("gate", a, other, "--counts", file, "--accept")
        assert done.code == 2 and what in done.err and "not alike" in done.err
        assert not file.exists()
    assert execute("gate", a, other, "--counts", file, "--accept", "--force").code == 0


def test_a_counts_file_knows_its_settings(shelf: Shelf, execute: Execute, accepted: Path) -> None:
    """Other work is refused; another server, which is what is to be judged, is a notice."""
    more = shelf.put("more", change=lambda v: v["options"].update(large_file_bytes="1"))
    done = execute("gate", more, "--counts", accepted)
    assert (
        done.code == 2 and "options.large_file_bytes: accepted '104857600', more: '1'" in done.err
    )
    assert execute("gate", more, "--counts", accepted, "--force").code == 0
    newer = shelf.put("newer", change=lambda v: v["server"].update(machine="Netatalk5"))
    done = execute("gate", newer, "--counts", accepted)
    assert done.code == 0 and "server.machine: accepted 'Netatalk4.5.1', newer: 'Netat" in done.err


def test_times_gate_what_no_start_can_explain(shelf: Shelf, execute: Execute) -> None:
    """Without restarts a start of 3 % must not fail a gate of 5 %; what is open is said."""

    def one_start(value: dict[str, Any]) -> None:
        value["server"][START] = "start of a" if value["id"] in ids else "start of b"

    ids: set[str] = set()
    a, b = pairs(shelf, 8, 1.12)
    ids.update(Run.open(place).id for place in a)
    for place in (*a, *b):
        value = json.loads((place / "run.json").read_text())
        one_start(value)
        (place / "run.json").write_text(json.dumps(value))
    done = execute("gate", "--time", "5%", *a, "--", *b)
    assert done.code == 4 and "undecided" in done.out
    assert "were not restarted for each run" in done.err and "FPCreateFile" in done.err


def test_times_of_one_side_alone_are_refused(shelf: Shelf, execute: Execute) -> None:
    done = execute("gate", "--time", "5%", shelf.put("alone"))
    assert done.code == 2 and "Traceback" not in done.err


@pytest.mark.parametrize(("limit", "passes"), [(5, False), (40, True)])
def test_a_start_may_hide_what_a_gate_looks_for(
    shelf: Shelf, execute: Execute, limit: int, passes: bool
) -> None:
    """B measured as quick as A, but each is one start of its server, which has its own effect."""
    a, b = pairs(shelf, 12, 1.0)
    assert execute("gate", "--time", f"{limit}%", *a, "--", *b).code == 0
    for place in (*a, *b):
        value = json.loads((place / "run.json").read_text())
        value["server"][START] = "start of a" if place in a else "start of b"
        (place / "run.json").write_text(json.dumps(value))
    done = execute("gate", "--time", f"{limit}%", *a, "--", *b)
    assert done.code == (0 if passes else 4), done
    assert ("B may be slower by more than 5 %: its times may be" in done.err) is not passes
    assert ("were not restarted for each run" in done.err) is not passes
    assert ("each start has its own effect: afpscope ab --restart" in done.err) is not passes


def test_runs_of_so_many_seconds_are_no_measure(
    shelf: Shelf, execute: Execute, accepted: Path
) -> None:
    def timed(value: dict[str, Any]) -> None:
        value["options"]["duration_s"] = "30"

    run = shelf.put("timed", change=timed)
    done = execute("gate", run, "--counts", shelf.base / "counts", "--accept")
    assert done.code == 2 and "no two runs of so many seconds, do the same work" in done.err
    done = execute("gate", run, "--counts", accepted)
    assert done.code == 2 and "no two runs of so many seconds, do the same work" in done.err
    assert execute("gate", run, "--counts", accepted, "--force").code == 0
    other = shelf.put("other", change=lambda v: (timed(v), more_calls(v)))
    found = json.loads(execute("compare", "--json", run, other).out)
    assert found["counts"] == [] and found["rates"]


def test_the_gate_leads_with_the_cause_and_obeys_no_name(
    shelf: Shelf, execute: Execute, accepted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def verbose(value: dict[str, Any]) -> None:
        for phase in value["phases"]:
            for account in phase["ledger"]["requests"]:
                n = 30 * account["requests"]
                account["parts"].append(
                    {
                        "role": "afpd",
                        "class": "write",
                        "object": "a\x1b|<b>\n@c",
                        "calls": n,
                        "errors": 0,
                    }
                )

    run = shelf.put("new", change=verbose)
    summary = shelf.base / "summary.md"
    monkeypatch.setenv(markdown.SUMMARY, str(summary))
    for form in ("text", "markdown", "github", "junit"):
        done = execute("gate", run, "--counts", accepted, "--format", form)
        assert done.code == 3 and "\x1b" not in done.out
        if form == "junit":
            ElementTree.fromstring(done.out)
            continue
        assert "+30.00 per request in 7 commands" in done.out.replace("\\", "")
        if form == "text":
            assert "+30.00 per request in 7 commands" in done.out.splitlines()[0]
        if form == "markdown":
            assert "<b>" not in done.out and "@c" not in done.out
        if form == "github":
            assert all(t.startswith(("::error title=afpscope gate::", "gate: FAIL"))
                       for t in done.out.splitlines())  # fmt: skip
    assert summary.read_text().startswith("### afpscope gate\n\n**gate: FAIL")


def test_rows_are_in_the_order_of_the_tests(shelf: Shelf, execute: Execute, accepted: Path) -> None:
    def more(value: dict[str, Any]) -> None:
        for phase in value["phases"]:
            for account in phase["ledger"]["requests"]:
                account["requests"] += 1

    lines = execute("gate", shelf.put("new", change=more), "--counts", accepted).out.splitlines()
    numbers = [int(line.split()[0]) for line in lines if line[0].isdigit()]
    assert numbers == sorted(numbers) and len(set(numbers)) > 2
