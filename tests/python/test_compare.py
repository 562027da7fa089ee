# SPDX-License-Identifier: GPL-2.0-or-later
"""compare and gate: what they find, what they refuse, and that they do not cry wolf."""

from __future__ import annotations

import argparse
import json
import random
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from afpscope import ab, compare, counts, gate, hist, stats
from afpscope.run import Run
from conftest import Change, Done, Shelf, no_more_than

Execute = Callable[..., Done]


def stretch(latency: dict[str, Any], by: float) -> None:
    """Every value `by` times as long."""
    found: Counter[int] = Counter()
    bits = latency["histogram"]["bits"]
    for index, n in latency["histogram"]["buckets"]:
        found[hist.index_of(round(hist.middle(index, bits) * by), bits)] += n
    latency["histogram"]["buckets"] = [list(bucket) for bucket in sorted(found.items())]
    latency["sum_ns"] = int(latency["sum_ns"] * by)


def add(latency: dict[str, Any], value_ns: int, n: int) -> None:
    """`n` requests more that took so long; less where it is negative."""
    found = Counter(dict(latency["histogram"]["buckets"]))
    found[hist.index_of(value_ns, latency["histogram"]["bits"])] += n
    latency["histogram"]["buckets"] = [list(bucket) for bucket in sorted(found.items())]
    latency["sum_ns"] += value_ns * n


def scaled(seed: int, command: str = "", factor: float = 1.0) -> Change:
    """A run as noisy as the sample, in which a command takes `factor` times as long."""
    rng = random.Random(seed)

    def change(value: dict[str, Any]) -> None:
        hour, minute = divmod(seed, 60)
        value["id"], value["started"] = f"{seed:016x}", f"2026-11-21T{hour:02}:{minute:02}:00Z"
        for phase in value["phases"]:
            noise = rng.lognormvariate(0, 0.03)
            for c in phase["commands"]:
                by = noise * rng.lognormvariate(0, 0.01) * (factor if c["name"] == command else 1)
                before = c["latency"]["sum_ns"]
                stretch(c["latency"], by)
                phase["metrics"]["elapsed"] += c["latency"]["sum_ns"] - before

    return change


def interrupted(seed: int, factor: float = 1.0) -> Change:
    """FPCreateFile takes `factor` times as long; and up to 3 % of its requests waited 10 ms."""
    steady, rng = scaled(seed, "FPCreateFile", factor), random.Random(seed + 1000)

    def change(value: dict[str, Any]) -> None:
        steady(value)
        for phase in value["phases"]:
            for c in phase["commands"]:
                if c["name"] != "FPCreateFile":
                    continue
                latency, late = c["latency"], rng.randrange(c["ops"] * 3 // 100)
                form = latency["histogram"]
                fullest, _ = max(form["buckets"], key=lambda bucket: bucket[1])
                add(latency, hist.middle(fullest, form["bits"]), -late)
                add(latency, 10_000_000, late)

    return change


def more_calls(value: dict[str, Any]) -> None:
    """One lgetxattr more for each FPCreateFile."""
    for phase in value["phases"]:
        for account in phase["ledger"]["requests"]:
            if account["name"] == "FPCreateFile":
                part = next(p for p in account["parts"] if p["class"] == "xattr")
                part["calls"] += account["requests"]


def pairs(shelf: Shelf, n: int, factor: float) -> tuple[list[Path], list[Path]]:
    sides: dict[str, list[Path]] = {"a": [], "b": []}
    for i, (pair, side) in enumerate(ab.order(n)):
        change = scaled(i, "FPCreateFile", factor if side == "b" else 1)
        sides[side].append(shelf.put(f"{pair:02}{side}", change=change))
    return sides["a"], sides["b"]


def test_what_comes_back_every_few_runs_falls_on_both_alike() -> None:
    sides = "".join(side for _, side in ab.order(16))
    assert sides.startswith("abbabaabbaababba")
    assert sorted(ab.order(16)) == [(pair, side) for pair in range(1, 17) for side in "ab"]
    for period in (2, 4, 8):
        assert {sides[start::period].count("a") for start in range(period)} == {16 // period}


def test_a_slower_command_is_named(shelf: Shelf, execute: Execute) -> None:
    a, b = pairs(shelf, 12, 1.1)
    done = execute("compare", *a, "--", *b)
    assert done.code == 0
    assert "slower: " in done.out.splitlines()[-1] and "FPCreateFile" in done.out.splitlines()[-1]
    found = json.loads(execute("compare", "--json", *a, "--", *b).out)
    slow = {r["command"] for r in found["times"] if r["verdict"] == stats.SLOWER}
    assert "FPCreateFile" in slow and slow <= {"FPCreateFile", ""}
    assert found["counts"] == []


def test_a_machine_that_does_other_things_hides_nothing(shelf: Shelf, execute: Execute) -> None:
    sides: dict[str, list[Path]] = {"a": [], "b": []}
    for i, (pair, side) in enumerate(ab.order(12)):
        change = interrupted(i, 1.1 if side == "b" else 1.0)
        sides[side].append(shelf.put(f"{pair:02}{side}", change=change))
    found = json.loads(execute("compare", "--json", *sides["a"], "--", *sides["b"]).out)
    rows = [r for r in found["times"] if r["command"] == "FPCreateFile"]
    assert rows and all(r["verdict"] == stats.SLOWER for r in rows)


def test_where_late_requests_lie_in_their_bucket_is_no_difference(
    shelf: Shelf, execute: Execute
) -> None:
    """B's late requests took 0.15 % less than the next bucket begins with, A's 0.15 % more."""
    edge = hist.low(hist.index_of(100_000_000, 6) + 1, 6)

    def late(seed: int, factor: float) -> Change:
        steady = scaled(seed)

        def change(value: dict[str, Any]) -> None:
            steady(value)
            for phase in value["phases"]:
                for c in phase["commands"]:
                    add(c["latency"], int(edge * factor), c["ops"] // 30)

        return change

    sides: dict[str, list[Path]] = {"a": [], "b": []}
    for i, (pair, side) in enumerate(ab.order(12)):
        change = late(i, 0.9985 if side == "b" else 1.0015)
        sides[side].append(shelf.put(f"{pair:02}{side}", change=change))
    done = execute("gate", "--time", "4%", *sides["a"], "--", *sides["b"])
    assert done.code == 0 and "0 of" in done.out


def test_pairs_are_compared_in_blocks_where_they_were_made_in_turn(shelf: Shelf) -> None:
    a, b = ([Run.open(place) for place in side] for side in pairs(shelf, 10, 1.0))
    near = compare.blocks(a[::-1], b)
    assert [[run.name for run in (*x, *y)] for x, y in near] == [
        [f"{pair:02}{side}" for side in "ab" for pair in block]
        for block in (range(1, 6), range(6, 11))
    ]
    assert compare.blocks(a[:7], b[:7]) == [(a[:7], b[:7])]
    assert compare.blocks(a[:8], b[2:]) == [(a[:8], b[2:])]
    assert compare.blocks(a, b[:8]) == [(a, b[:8])]


def drifting(shelf: Shelf, order: str) -> tuple[list[Path], list[Path]]:
    """Runs of both sides in that order, the later half of which takes 20 % longer."""
    sides: dict[str, list[Path]] = {"a": [], "b": []}
    for i, side in enumerate(order):

        def change(value: dict[str, Any], i: int = i) -> None:
            scaled(i)(value)
            for phase in value["phases"]:
                stretched = phase["metrics"]["elapsed"] * (1.2 if i >= len(order) // 2 else 1)
                phase["metrics"]["elapsed"] = int(stretched)

        sides[side].append(shelf.put(f"{i:02}{side}", change=change))
    return sides["a"], sides["b"]


def test_a_drift_is_told_from_what_differs(shelf: Shelf, execute: Execute) -> None:
    """With one side after the other it cannot be, which is said."""
    a, b = drifting(shelf, "abbabaabbaababba")
    done = execute("compare", *a, "--", *b)
    assert "the machine drifted: the time of tests changed by +" in done.err
    assert "measured after" not in done.err
    for path in shelf.base.iterdir():
        shutil.rmtree(path)
    a, b = drifting(shelf, "a" * 10 + "b" * 10)
    for first, then, words in ((a, b, "B was measured after A"), (b, a, "A was measured after B")):
        done = execute("compare", "--json", *first, "--", *then)
        assert "drifted" not in done.err and words in done.err
        assert json.loads(done.out)["drift"] is None


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
    result = stats.Test(8, 8, 1.0, 1.04, 0.04, 0.02, 0.06, 1e-6, 1e-6)
    rows = [
        compare.TimeRow("5 x", "FPCreateFile", result, stats.SLOWER),
        compare.TimeRow("6 x", "FPDelete", replace(result, high=0.045), stats.SLOWER),
    ]
    monkeypatch.setattr(compare, "time_rows", lambda *_: rows)
    assert gate.judge_times(a, b, 0.05) == ([], ["5 x FPCreateFile: may be up to +6.0% slower"], 2)


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


def test_runs_of_one_second_are_in_turn_too(shelf: Shelf) -> None:
    """As short ones are: 1a 1b 2b in a second, 2a in the next."""
    a, b = ([Run.open(place) for place in side] for side in pairs(shelf, 4, 1.0))
    second = [f"2026-11-22T10:00:{i // 3:02}Z" for i in range(8)]
    for when, (pair, side) in zip(second, ab.order(4), strict=True):
        runs = a if side == "a" else b
        runs[pair - 1] = replace(runs[pair - 1], started=when)
    assert compare.in_turn(a, b)


def test_two_runs_are_not_enough(shelf: Shelf, execute: Execute) -> None:
    a, b = shelf.put("a"), shelf.put("b", "lantest-2")
    done = execute("compare", a, b)
    assert done.code == 0
    assert done.out.splitlines()[-1].startswith("B against A: not enough runs")
    assert "with “not enough runs”" in done.out and "no difference shown" not in done.out


def test_a_test_of_one_side_only_is_told(shelf: Shelf, execute: Execute) -> None:
    a = shelf.put("a")
    gone = counts.test_name(Run.open(a).phases[0])

    def drop(value: dict[str, Any]) -> None:
        value["phases"] = [p for p in value["phases"] if p["test"] != value["phases"][0]["test"]]

    b = shelf.put("b", change=drop)
    for first, then, side in ((a, b, "A"), (b, a, "B")):
        done = execute("compare", "--json", first, then)
        assert done.code == 0 and f"only {side} has whole iterations of {gone!r}: not" in done.err
        assert gone in json.loads(done.out)["alone"][side]


def test_the_outcome_says_how_many_it_leaves_out() -> None:
    differ = [compare.CountRow("1 x", f"FP{i}", "afpd: stat", (1, 1), (2, 2), 1) for i in range(6)]
    assert compare.summary([], differ).endswith("other counts: FP0, FP1, FP2, FP3 and 2 more")


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("options", "large_file_bytes"),
        ("server", "quantum_bytes"),
        ("environment", "client.congestion"),
        ("rungs", "calls"),
    ],
)
def test_what_differs_is_refused_and_named(
    shelf: Shelf, execute: Execute, kind: str, key: str
) -> None:
    a, b = shelf.put("a"), shelf.put("b", change=lambda v: v[kind].update({key: "other"}))
    done = execute("compare", a, b)
    assert done.code == 2
    assert f"{kind}.{key}" in done.err and "--force" in done.err
    assert execute("compare", a, b, "--force").code == 0


def test_what_a_lost_connection_left_unknown_is_no_difference(
    shelf: Shelf, execute: Execute
) -> None:
    lost = shelf.put("lost", change=lambda v: v["server"].pop("afpd.congestion", None))
    known = shelf.put("known", change=lambda v: v["server"].update({"afpd.congestion": "bbr"}))
    other = shelf.put("other", change=lambda v: v["server"].update({"afpd.congestion": "reno"}))
    assert execute("compare", lost, known).code == 0
    assert execute("compare", lost, known, "--", other).code == 2


def test_nothing_in_common_is_no_result(shelf: Shelf, execute: Execute) -> None:
    done = execute("compare", "--force", shelf.put("a"), shelf.put("b", "speedtest"))
    assert done.code == 2 and "nothing in common" in done.err


def test_another_set_is_refused(shelf: Shelf, execute: Execute) -> None:
    done = execute("compare", shelf.put("a"), shelf.put("b", "speedtest"))
    assert done.code == 2 and "set: 'lantest-4.5' against 'speedtest'" in done.err


def test_more_calls_are_a_difference(shelf: Shelf, execute: Execute) -> None:
    done = execute("compare", shelf.put("a"), shelf.put("b", change=more_calls))
    assert "FPCreateFile  afpd: xattr" in done.out and "+1.000" in done.out


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
    assert done.err.count("which these runs have not: not judged") == 2
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


FAKE = """#!/bin/sh
while [ "$1" != -o ]; do shift; done
mkdir "$2" && cp "$FAKE_RUN" "$2/run.json"
case $2 in *"$FAKE_OTHER") sed -i 's/"quantum_bytes": "/&77/' "$2/run.json";; esac
"""


def test_ab_runs_in_turn_and_compares(
    shelf: Shelf, execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = shelf.base / "afpscope"
    program.write_text(FAKE)
    program.chmod(0o755)
    monkeypatch.setenv("FAKE_RUN", str(shelf.put("source") / "run.json"))
    monkeypatch.setenv("FAKE_OTHER", "003b")
    line = ("--a", "afp://a/v", "--b", "afp://b/v", "--pairs", "3", "-o", shelf.base / "out")
    done = execute("ab", *line, "--program", program, "--", "lantest", "-n", "2")
    assert done.code == 2 and not done.out
    assert "server.quantum_bytes" in done.err.splitlines()[-1]
    line = (*line[:-1], shelf.base / "again")
    monkeypatch.setenv("FAKE_OTHER", "none")
    done = execute("ab", *line, "--program", program, "--", "lantest", "-n", "2")
    assert done.code == 0
    twice = execute("ab", *line, "--program", program, "--", "lantest", "-o", "else")
    assert twice.code == 2 and "-o stands before --" in twice.err
    assert [text.split(": ")[3][0] for text in done.err.splitlines()] == list("abbaba")
    made = sorted(path.name for path in (shelf.base / "again").iterdir() if path.is_dir())
    assert made == ["001a", "001b", "002a", "002b", "003a", "003b"]
    assert "no difference shown" in done.out or "not enough runs" in done.out


def test_ab_and_compare_go_by_the_same_rules() -> None:
    """Else ab names a difference that compare, of the same runs, calls none."""
    rules = []
    for options in (ab.options, compare.options):
        parser = argparse.ArgumentParser()
        options(parser)
        rules.append([parser.get_default(name) for name in ("least", "force", "all", "json")])
    assert rules[0] == rules[1] == [compare.LEAST, False, False, False]


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
