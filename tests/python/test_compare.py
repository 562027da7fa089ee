# SPDX-License-Identifier: GPL-2.0-or-later
"""compare: what it finds, what it refuses, and that it does not cry wolf."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import simulate
from afpscope import compare
from afpscope.errors import NOTHING
from afpscope.judge import design, stats, versus
from afpscope.measure import turns
from afpscope.saved import hist
from afpscope.saved.run import START, Run
from afpscope.tables import counts, values
from changed import add, interrupted, more_calls, pairs, scaled
from conftest import Change, Done, Shelf

Execute = Callable[..., Done]


def test_a_slower_command_is_named(shelf: Shelf, execute: Execute) -> None:
    a, b = pairs(shelf, 12, 1.1)
    done = execute("compare", *a, "--", *b)
    assert done.code == 0
    assert "slower: " in done.out.splitlines()[-1] and "FPCreateFile" in done.out.splitlines()[-1]
    found = json.loads(execute("compare", "--json", *a, "--", *b).out)
    slow = {r["command"] for r in found["times"] if r["verdict"] == stats.SLOWER}
    assert "FPCreateFile" in slow and slow <= {"FPCreateFile", ""}
    assert found["counts"] == [] and found["doubts"] == []


def test_a_machine_that_does_other_things_hides_nothing(shelf: Shelf, execute: Execute) -> None:
    sides: dict[str, list[Path]] = {"a": [], "b": []}
    for i, (pair, side) in enumerate(turns.order(12)):
        change = interrupted(i, 1.1 if side == "b" else 1.0)
        sides[side].append(shelf.put(f"{pair:02}{side}", change=change))
    found = json.loads(execute("compare", "--json", *sides["a"], "--", *sides["b"]).out)
    rows = [r for r in found["times"] if r["command"] == "FPCreateFile"]
    means = [r for r in rows if r["figure"] == "mean"]
    assert means and all(r["verdict"] == stats.SLOWER for r in means)


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
    for i, (pair, side) in enumerate(turns.order(12)):
        change = late(i, 0.9985 if side == "b" else 1.0015)
        sides[side].append(shelf.put(f"{pair:02}{side}", change=change))
    done = execute("gate", "--time", "4%", *sides["a"], "--", *sides["b"])
    assert done.code == 0 and "0 of" in done.out


def test_pairs_are_compared_in_blocks_where_they_were_made_in_turn(shelf: Shelf) -> None:
    a, b = ([Run.open(place) for place in side] for side in pairs(shelf, 10, 1.0))
    near = design.blocks(a[::-1], b)
    assert [[run.name for run in (*x, *y)] for x, y in near] == [
        [f"{pair:02}{side}" for side in "ab" for pair in block]
        for block in (range(1, 6), range(6, 11))
    ]
    assert design.blocks(a[:7], b[:7]) == [(a[:7], b[:7])]
    assert design.blocks(a[:8], b[2:]) == [(a[:8], b[2:])]
    assert design.blocks(a, b[:8]) == [(a, b[:8])]


def test_runs_of_one_second_are_in_turn_too(shelf: Shelf) -> None:
    """As short ones are: 1a 1b 2b in a second, 2a in the next."""
    a, b = ([Run.open(place) for place in side] for side in pairs(shelf, 4, 1.0))
    second = [f"2026-11-22T10:00:{i // 3:02}Z" for i in range(8)]
    for when, (pair, side) in zip(second, turns.order(4), strict=True):
        runs = a if side == "a" else b
        runs[pair - 1] = replace(runs[pair - 1], started=when)
    assert design.in_turn(a, b)


def test_runs_that_all_began_in_one_second_have_no_known_order(
    shelf: Shelf, execute: Execute
) -> None:
    """All of A may have been first: then nothing is sure, and no time is gated."""
    a, b = pairs(shelf, 8, 1.12)
    for place in (*a, *b):
        value = json.loads((place / "run.json").read_text())
        value["started"] = f"2026-11-21T10:00:00{'.9' if place in a else ''}Z"  # b: older
        (place / "run.json").write_text(json.dumps(value))
    done = execute("compare", *a, "--", *b)
    assert "all runs began in the same second, so that their order is not known" in done.err
    assert "slower" not in {
        row["verdict"]
        for row in json.loads(execute("compare", "--json", *a, "--", *b).out)["times"]
    }
    done = execute("gate", "--time", "5%", *a, "--", *b)
    assert done.code == 2 and "all runs began in the same second" in done.err


def test_runs_of_one_second_have_an_order_by_its_decimals(shelf: Shelf, execute: Execute) -> None:
    sides = dict(zip("ab", pairs(shelf, 8, 1.12), strict=True))
    for i, (pair, side) in enumerate(turns.order(8)):
        path = sides[side][pair - 1] / "run.json"
        started = {"started": f"2026-11-21T10:00:00.{i:02}3456789Z"}
        path.write_text(json.dumps(json.loads(path.read_text()) | started))
    done = execute("compare", *sides["a"], "--", *sides["b"])
    assert "order is not known" not in done.err and "not made in turn" not in done.err
    assert " 2026-11-21T10:00:00Z " in execute("info", path).out


def test_where_starts_are_not_known_it_says_what_makes_them_known(shelf: Shelf) -> None:
    sides = pairs(shelf, 4, 1.0)
    a, b = ([replace(Run.open(place), server={}) for place in side] for side in sides)
    assert design.doubts(a, b) == [
        "it is not known whether the servers were restarted for each run: afpscope ab --restart"
    ]


def test_two_runs_are_not_enough(shelf: Shelf, execute: Execute) -> None:
    a, b = shelf.put("a"), shelf.put("b", "lantest-2")
    done = execute("compare", a, b)
    assert done.code == 0
    assert done.out.splitlines()[-1].startswith("B against A: times cannot be judged: not enough")
    assert "with “not enough runs”" in done.out and "no difference" not in done.out


def test_a_test_of_one_side_only_is_told(shelf: Shelf, execute: Execute) -> None:
    a = shelf.put("a")
    gone = counts.test_name(Run.open(a).phases[0])

    def drop(value: dict[str, Any]) -> None:
        value["phases"] = [p for p in value["phases"] if p["test"] != value["phases"][0]["test"]]

    b = shelf.put("b", change=drop)
    for first, then, side in ((a, b, "A"), (b, a, "B")):
        done = execute("compare", "--json", first, then)
        assert done.code == 0
        assert f"only {side} has complete iterations of {gone!r}: not" in done.err
        assert gone in json.loads(done.out)["alone"][side]


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("options", "large_file_bytes"),
        ("options", "iterations"),
        ("options", "warmup"),
        ("options", "tests"),
        ("options", "duration_s"),
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
    assert done.code == NOTHING and "nothing could be compared" in done.err


def test_another_set_is_refused(shelf: Shelf, execute: Execute) -> None:
    done = execute("compare", shelf.put("a"), shelf.put("b", "speedtest"))
    assert done.code == 2 and "set: 'lantest-4.5' against 'speedtest'" in done.err


def test_recordings_of_servers_of_other_kinds_are_refused(shelf: Shelf, execute: Execute) -> None:
    """A READ of the one is not a READ of the other."""
    a = shelf.put("a", "record", lambda v: v.update(kind="smb"))
    done = execute("compare", a, shelf.put("b", "record", lambda v: v.update(kind="nfs")))
    assert done.code == 2 and "kind of server: 'smb' against 'nfs'" in done.err


@pytest.mark.parametrize("command", ["load", "smallfile", "lantest"])
def test_what_a_client_did_on_servers_of_other_kinds_is_compared(
    shelf: Shelf, execute: Execute, command: str
) -> None:
    """The rows are its own actions."""
    source = "load" if command == "load" else "tutorial"

    def on(kind: str) -> Change:
        return lambda v: v.update(kind=kind, command=command, about="calls")

    a, b = shelf.put("a", source, on("nfs")), shelf.put("b", source, on("smb"))
    assert execute("compare", a, "--", b).code == 0


def test_more_calls_are_a_difference(shelf: Shelf, execute: Execute) -> None:
    done = execute("compare", shelf.put("a"), shelf.put("b", change=more_calls))
    assert "FPCreateFile  afpd: xattr" in done.out and "+1.000" in done.out


def slowed(seed: int, factor: float, command: str = "") -> Change:
    """All iterations of a run share its luck: they took `factor` times as long."""

    def change(value: dict[str, Any]) -> None:
        scaled(seed)(value)
        for phase in value["phases"]:
            phase["metrics"]["elapsed"] = int(phase["metrics"]["elapsed"] * factor)

    return change


def test_iterations_of_one_run_are_not_judged_as_runs(shelf: Shelf, execute: Execute) -> None:
    """One run of eight iterations a side, B's luck 30 % worse: its change, and no verdict."""

    def repeated(seed: int, factor: float) -> Change:
        def change(value: dict[str, Any]) -> None:
            phases = [p for p in value["phases"] if p["iteration"] == 1]
            value["phases"] = [
                json.loads(json.dumps(p)) | {"iteration": i} for i in range(1, 9) for p in phases
            ]
            slowed(seed, factor)(value)

        return change

    a, b = shelf.put("a", change=repeated(1, 1.0)), shelf.put("b", change=repeated(2, 1.3))
    done = execute("compare", "--json", a, b)
    found = json.loads(done.out)
    assert {r["verdict"] for r in found["times"]} == {stats.TOO_FEW}
    rows = [r["result"] for r in found["times"] if not r["command"]]
    assert all(0.1 < r["change"] < 0.5 and r["low"] is None for r in rows)
    assert all((r["n_a"], r["n_b"]) == (1, 1) for r in rows)
    needed = found["pairs_needed"]
    assert 7 <= needed <= 20
    assert f"{needed} pairs are needed at least (afpscope ab --pairs {needed})" in done.err


def test_one_run_against_several_is_one_value(shelf: Shelf, execute: Execute) -> None:
    a = shelf.put("a", change=slowed(0, 1.0))
    b = [shelf.put(f"b{i}", change=slowed(i, 1.3)) for i in range(1, 4)]
    found = json.loads(execute("compare", "--json", a, "--", *b).out)
    assert {(r["result"]["n_a"], r["result"]["n_b"]) for r in found["times"]} == {(1, 3)}
    assert {r["verdict"] for r in found["times"]} == {stats.TOO_FEW}


def of(case: simulate.Case, seed: int = 1) -> compare.Comparison:
    a, b = simulate.runs(case, simulate.np.random.default_rng(seed))
    return compare.judge(a, b, case.least)


STEADY = simulate.Case("", "ab --restart", 10, spread=0.002)


@pytest.mark.parametrize(
    ("change", "least", "verdict"),
    [
        (0.10, 0.05, stats.SLOWER),
        (-0.10, 0.05, stats.FASTER),
        (0.09, 0.05, stats.SLOWER),
        (0.05, 0.05, stats.NONE_SHOWN),  # larger than 5 % it is not shown to be, nor smaller
        (0.02, 0.05, stats.SAME),
        (0.03, 0.0, stats.SLOWER),
    ],
)
def test_the_least_difference_is_what_is_tested(change: float, least: float, verdict: str) -> None:
    """Not a test of any difference, whose estimate is cut afterwards."""
    c = of(replace(STEADY, change=change, least=least))
    times = [r for r in c.rows if r.figure != values.TAIL]
    assert {r.verdict for r in times} == {verdict}


def test_a_quantile_is_no_better_known_than_its_bucket() -> None:
    """B's p99 lies just beyond the edge of A's bucket: that is no difference of a bucket."""
    for bits, margin in ((6, 0.0), (1, 0.0)):
        edge = hist.low(hist.index_of(300_000, bits) + 1, bits)
        a, b = (hist.Histogram(bits, ((hist.index_of(edge - 1 + i, bits), 2000),)) for i in (0, 1))
        x, y = (values._quantile(h, 0.99) for h in (a, b))
        assert x and y and y.amount > x.amount
        got = stats.compare(
            [([x.amount] * 10, [y.amount] * 10)], stats.Margins(margin), max(x.blur, y.blur)
        )
        assert stats.verdicts([got]) == [stats.NONE_SHOWN]
        assert got.low is not None and got.low <= 0


@pytest.mark.parametrize(
    ("far", "verdict"),
    [
        ((), stats.SAME),
        ((1.02, 0.98), stats.SAME),
        ((1.5, 0.5), versus.FEW_RUNS),
        ((3.0,), versus.FEW_RUNS),
    ],
)
def test_a_few_runs_that_are_far_off_are_not_the_same(far: tuple[float, ...], verdict: str) -> None:
    """Also where their mean is that of the others."""
    key, rng = values.Row("1 x", "", values.ELAPSED), np.random.default_rng(1)
    times = {side: list(1e9 * rng.lognormal(0, 0.005, 24)) for side in "ab"}
    for i, by in enumerate(far):
        times["b"][5 * i] *= by
    sides: dict[str, list[Run]] = {"a": [], "b": []}
    of: versus.Times = {}
    for i, (_, side) in enumerate(turns.order(24)):
        run = replace(simulate._EMPTY, id=f"{i}", started=f"2026-01-01T00:{i:02}:00Z")
        of[run.id] = {key: values.Value(times[side][len(sides[side])])}
        sides[side].append(run)
    (row,) = versus.time_rows(sides["a"], sides["b"], of, stats.Margins(0.03))
    assert row.verdict == verdict, row


def test_tails_are_compared_as_values_of_runs(shelf: Shelf, execute: Execute) -> None:
    """In B a fiftieth of the requests takes three times as long: the mean hardly moves."""

    def late(seed: int, by: float) -> Change:
        def change(value: dict[str, Any]) -> None:
            scaled(seed)(value)
            for phase in value["phases"]:
                for c in phase["commands"]:
                    mean = c["latency"]["sum_ns"] / c["ops"]
                    add(c["latency"], int(6 * mean * by), c["ops"] // 50)

        return change

    sides: dict[str, list[Path]] = {"a": [], "b": []}
    for i, (pair, side) in enumerate(turns.order(8)):
        change = late(i, 3.0 if side == "b" else 1.0)
        sides[side].append(shelf.put(f"{pair:02}{side}", change=change))
    found = json.loads(execute("compare", "--json", *sides["a"], "--", *sides["b"]).out)
    rows = {(r["command"], r["figure"]): r["verdict"] for r in found["times"]}
    assert rows["FPCreateFile", "p99"] == stats.SLOWER
    assert rows["FPCreateFile", "mean"] != stats.SLOWER


def test_a_start_effect_does_not_pass_for_a_change() -> None:
    """Each server ran on from its one start: such differences have no verdict, and why is said."""
    case = replace(STEADY, how="ab", start=0.04)
    c = of(case)
    assert c.found(stats.UNCLEAR) and not c.found(stats.SLOWER, stats.FASTER, stats.SAME)
    (why,) = c.doubts
    assert "1 start of A, 1 of B" in why and "--restart" in why
    assert stats.UNCLEAR in compare.summary(c)
    # What is larger than any start can make it is the server's all the same.
    assert of(replace(case, change=0.5)).found(stats.SLOWER)
    # One server on both sides has one start: nothing is in doubt.
    a, b = simulate.runs(replace(STEADY, how="ab"), simulate.np.random.default_rng(1))
    same = [[replace(r, server={START: "one"}) for r in side] for side in (a, b)]
    assert design.doubts(*same) == []
    unknown = [[replace(r, server={}) for r in side] for side in (a, b)]
    assert "not known whether" in design.doubts(*unknown)[0]


def in_order(shelf_order: str, late: float = 1.0, of_b: float = 1.0) -> compare.Comparison:
    """Runs in that order; the later half took `late` times as long, B's `of_b`."""
    rng = simulate.np.random.default_rng(3)
    sides: dict[str, list[Run]] = {"a": [], "b": []}
    for i, side in enumerate(shelf_order):
        (run,), _ = simulate.runs(replace(STEADY, how="in-order", runs=1), rng)
        by = (late if i >= len(shelf_order) // 2 else 1.0) * (of_b if side == "b" else 1.0)
        phases = tuple(
            replace(p, metrics=p.metrics | {"elapsed": round((p.metrics["elapsed"] or 0) * by)})
            for p in run.phases
        )
        started = f"2026-01-01T{i:02}:00:00Z"
        fixed = [replace(p, metrics=p.metrics | {"elapsed": round(1e9 * by)}) for p in phases]
        made = replace(run, id=str(i), started=started, server={START: str(i)})
        sides[side].append(replace(made, phases=tuple(fixed)))
    return compare.judge(sides["a"], sides["b"], 0.02)


@pytest.mark.parametrize(
    ("order", "late", "of_b", "drift"),
    [
        ("abbabaabbaababba", 1.2, 1.0, 0.2),
        ("abbabaabbaababba", 1.2, 1.3, 0.2),
        ("aaababbb", 1.0, 1.2, None),
        ("aaababbb", 1.2, 1.2, 0.2),
        ("aaaaabbbbb", 1.2, 1.0, None),  # no other thing than a difference there
        ("abba", 1.2, 1.0, None),
    ],
)
def test_a_drift_is_separated_from_what_differs(
    order: str, late: float, of_b: float, drift: float | None
) -> None:
    c = in_order(order, late, of_b)
    assert c.drift == (None if drift is None else pytest.approx(drift, abs=0.01))
    said = [text for text in compare.notes(c, (1, 1)) if "drifted" in text]
    assert bool(said) == bool(drift)


def test_sides_one_after_the_other_are_doubted(shelf: Shelf) -> None:
    c = in_order("a" * 10 + "b" * 10, of_b=1.1)
    assert any("B was measured after A" in text for text in c.doubts)
    assert c.found(stats.UNCLEAR) and not c.found(stats.SLOWER)
    assert any("A was measured after B" in text for text in in_order("b" * 3 + "a" * 3).doubts)
    assert any("not made in turn" in text for text in in_order("aababb").doubts)
    assert in_order("abbabaab").doubts == []


def recording(factor: float, n: int = 1, xattrs: int = 0) -> Change:
    def change(value: dict[str, Any]) -> None:
        for phase in value["phases"]:
            for account in phase["ledger"]["requests"]:
                account["time_ns"] = int(account["time_ns"] * factor)
                account["requests"] *= n
                account["time_ns"] *= n
                for pair in account["histogram"]["buckets"]:
                    pair[1] *= n
                for part in account["parts"]:
                    part["calls"] *= n
                    part["calls"] += xattrs * account["requests"] * (part["class"] == "stat")

        scaled(n)(value)

    return change


def test_recordings_are_compared_by_the_servers_requests(shelf: Shelf, execute: Execute) -> None:
    a = shelf.put("a", "record", recording(1.0))
    b = shelf.put("b", "record", recording(1.5, n=3, xattrs=2))
    done = execute("compare", a, b)
    assert done.code == 0
    line = next(text for text in done.out.splitlines() if "FPCloseFork" in text)
    assert "+50.0 %" in line and stats.TOO_FEW in line
    rates = done.out.partition("calls per request")[2].splitlines()
    assert any("FPCloseFork" in t and "afpd: stat" in t and t.endswith("+2.00") for t in rates)
    found = json.loads(execute("compare", "--json", a, b).out)
    assert found["counts"] == [] and found["rates"]
    figures = {(r["command"], r["figure"]) for r in found["times"]}
    assert {("FPCloseFork", f) for f in ("mean", "p50", "p95", "p99")} <= figures


@pytest.mark.parametrize("command", ["record", "doctor"])
def test_other_work_is_no_other_server(shelf: Shelf, execute: Execute, command: str) -> None:
    """Whoever works with larger files waits longer for each, whatever the server is."""

    def change(factor: float, seed: int) -> Change:
        def of(value: dict[str, Any]) -> None:
            recording(factor * (1 + seed / 10_000))(value)
            scaled(seed)(value)
            value["command"] = command
            value.pop("about", None)

        return of

    sides: dict[str, list[Path]] = {"a": [], "b": []}
    for i, (pair, side) in enumerate(turns.order(12)):
        by = 1.5 if side == "b" else 1.0
        sides[side].append(shelf.put(f"{pair:02}{side}", "record", change(by, i)))
    for a, b in ((sides["a"][::2], sides["a"][1::2]), (sides["a"], sides["b"])):
        found = json.loads(execute("compare", "--json", *a, "--", *b).out)
        verdicts = {row["verdict"] for row in found["times"]}
        allowed = {stats.NONE_SHOWN, stats.TOO_FEW, stats.UNCLEAR}
        assert verdicts <= allowed and found["counts"] == [] and found["metrics"] == [], verdicts
    assert stats.UNCLEAR in verdicts
    done = execute("compare", *a, "--", *b)
    assert "no two recordings are of the same work" in done.out.splitlines()[-1]
    assert "lantest and replay send the same work again" in done.err


def test_recordings_without_requests_end_with_a_code_of_their_own(
    shelf: Shelf, execute: Execute
) -> None:
    def blind(value: dict[str, Any]) -> None:
        for phase in value["phases"]:
            phase["ledger"] |= {"requests": None, "outside": None}

    a, b = shelf.put("a", "record", blind), shelf.put("b", "record", blind)
    done = execute("compare", a, b)
    assert done.code == NOTHING and not done.out
    assert "nothing could be compared: no AFP command was answered in both" in done.err


def test_transfers_of_other_iterations_are_the_same_work(shelf: Shelf, execute: Execute) -> None:
    """The counts of a transfer are sums over its iterations: eight against four."""

    def half(value: dict[str, Any]) -> None:
        value["options"]["iterations"] = "4"
        for phase in value["phases"]:
            counting = [s for s in phase["transfer"]["samples"] if not s["warmup"]]
            phase["transfer"]["samples"] = counting[:4]
            for account in phase["ledger"]["requests"]:
                account["requests"] //= 2
                for part in account["parts"]:
                    part["calls"] = -(-part["calls"] // 2)

    a, b = shelf.put("a", "speedtest"), shelf.put("b", "speedtest", half)
    found = json.loads(execute("compare", "--json", "--force", a, b).out)
    assert found["counts"] == [] and found["counts_same"] > 20
    file = shelf.base / "counts.json"
    assert execute("gate", a, "--counts", file, "--accept").code == 0
    assert execute("gate", b, "--counts", file).out.startswith("gate: pass")


def test_tests_are_in_the_order_of_their_numbers() -> None:
    names = ["1 Open", "10 Mixed", "11 Deep", "12 Cache", "2 Writing", "9 Dirs", "Write 16 MiB"]
    wanted = ["1 Open", "2 Writing", "9 Dirs", "10 Mixed", "11 Deep", "12 Cache", "Write 16 MiB"]
    keys = [(name, "FPx", "afpd", "stat", "-") for name in names]
    assert [
        key[0] for key in sorted(keys, key=lambda k: (k[0][0] > "9", counts.order(k)))
    ] == wanted
    assert [key[0] for key in sorted(keys[:-1], key=counts.order)] == wanted[:-1]


def verbose(value: dict[str, Any]) -> None:
    """Each request writes 30 lines to the log, and opens and closes that for each."""
    for phase in value["phases"]:
        for account in phase["ledger"]["requests"]:
            account["parts"] += [
                {"role": "afpd", "class": class_, "object": object_, "calls": 30 * n, "errors": 0}
                for class_, object_ in (("open", "log"), ("write", "log"), ("ident", "-"))
                if (n := account["requests"])
            ]


def test_many_counts_of_one_cause_are_led_by_it(shelf: Shelf, execute: Execute) -> None:
    done = execute("compare", shelf.put("a"), shelf.put("b", change=verbose))
    found = json.loads(execute("compare", "--json", shelf.base / "a", shelf.base / "b").out)
    (cause,) = found["causes"]
    assert len(found["counts"]) > 15
    assert cause["text"].startswith("afpd: ") and "write · log" in cause["text"]
    assert "+30.00 per request each in 7 commands: " in cause["text"]
    lines = done.out.splitlines()
    assert lines.index(f"  {cause['text']}") < next(
        i for i, text in enumerate(lines) if text.startswith("counts: test")
    )
    assert cause["text"] in lines[-1]
    assert f"are not shown (--all): {len(found['counts']) - compare.COUNTS_SHOWN}" in done.out


HOSTILE = "x | <img src=y> ](z) `a` *b* @who \x1b[31m\n## big ::error::no"


def test_markdown_obeys_nothing_in_a_name(
    shelf: Shelf, execute: Execute, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hostile(value: dict[str, Any]) -> None:
        verbose(value)
        for phase in value["phases"]:
            phase["title"] = HOSTILE + str(phase["test"])

    def titled(value: dict[str, Any]) -> None:
        for phase in value["phases"]:
            phase["title"] = HOSTILE + str(phase["test"])

    a, b = shelf.put("a", change=titled), shelf.put("b", change=hostile)
    done = execute("compare", "--format", "markdown", "--all", a, b)
    assert done.code == 0 and done.out.startswith("### afpscope compare\n\n**B against A: ")
    for raw in ("<img", "](", "`a`", "*b*", "@who", "\x1b", "\n## big", "\n::"):
        assert raw not in done.out
    heads = {line.count(" | ") for line in done.out.splitlines() if line.startswith("| ")}
    assert heads == {7, 5}
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    done = execute("compare", "--format", "github", a, b)
    notes = [line for line in done.out.splitlines() if line.startswith("::")]
    assert notes and all(n.startswith("::warning title=afpscope compare::") for n in notes)
    assert "\x1b" not in done.out and summary.read_text().startswith("### afpscope compare")


def test_nothing_differs_but_chance() -> None:
    """The simulation in small: no verdict, with whatever chance there is."""
    cases = [
        case
        for case in simulate.false_alarms()
        if (case.runs, case.tests) == (10, 3) or (case.runs in (1, 5) and case.spread == 0.03)
    ]
    assert len(cases) > 15
    for case in cases:
        got = simulate.outcome(case, 4)
        assert (got.any_verdict, got.gated) == (0, 0), case


def test_a_change_of_5_percent_is_found_by_10_pairs() -> None:
    got = simulate.outcome(replace(STEADY, spread=0.01, change=0.05, least=0.0), 5)
    assert got.any_verdict == 1 and got.power > 0.5
