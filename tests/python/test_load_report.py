# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads and sweeps after they were made: report, info, query, export, compare."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from afpscope import Run
from afpscope.judge import stats
from afpscope.limit import limits, outcome
from afpscope.page import sweepfigures
from afpscope.page.painter import ROWS
from afpscope.saved import steps
from afpscope.tables import values
from afpscope.words import ENGLISH, Words
from conftest import Done, Shelf
from sweeping import MS, Made, each, sweep
from test_report import made, section

Execute = Callable[..., Done]
pytestmark = pytest.mark.slow
# Figures are drawn in the first language; test_japanese.py draws in the other.
LANGUAGES = pytest.mark.parametrize("lang", [pytest.param("en", marks=pytest.mark.painted), "ja"])


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@LANGUAGES
def test_a_load_is_told_and_drawn(
    shelf: Shelf, tmp_path: Path, execute: Execute, lang: str
) -> None:
    folder = tmp_path / "figures"
    run = shelf.put("a", "load")
    text, done = made(execute, tmp_path, run, "--lang", lang, "--figures", folder)
    assert done.code == 0
    first = text[text.index('class="verdict') :]
    assert ("4 clients of “office”" in first[:2000]) == (lang == "en")
    part = section(text, "load")
    assert part.count("<figure>") == 6
    assert '<td class="long">true</td>' in part  # the mark
    assert 'id="r1-tests"' not in text
    names = {"load-time", "probe", "load-parts", "load-heat", "load-tail", "fairness"}
    assert names <= {p.stem for p in folder.glob("*.csv")} & {p.stem for p in folder.glob("*.svg")}
    load = Run.open(run).phases[0].load
    assert load
    rows = table(folder / "load-time.csv")
    assert [int(r["n"]) for r in rows] == [s.n for s in load.seconds]
    assert sum(int(r["n"]) for r in table(folder / "load-heat.csv")) == sum(
        s.histogram.n for s in load.seconds
    )
    # below each figure the same numbers for readers who cannot see it
    figures = re.findall(r"<figure>(.*?)</figure>", text, re.S)
    drawn = [f for f in figures if 'role="img"' in f]
    assert drawn and all('<th scope="col">' in f for f in drawn)
    longest = f'<th scope="col">{Words(lang).head("max")}</th>'
    shown = next(f for f in drawn if longest in f and "p50" in f)
    rows_of = re.findall("<tr>(.*?)</tr>", shown, re.S)
    cells = [re.findall('<(?:td|th scope="row")>(.*?)</', r) for r in rows_of]
    assert [int(c[1].replace(",", "")) for c in cells[1:]] == [s.n for s in load.seconds][:ROWS]
    done_by = sorted(c.actions for c in load.each_client)
    fair = table(folder / "fairness.csv")
    assert [int(r["actions"]) for r in fair] == done_by
    # by the numbers that the table of clients has
    assert [load.each_client[int(r["client"])].actions for r in fair] == done_by
    by_name = {r["action"]: r for r in table(folder / "load-table.csv")}
    assert int(by_name["save"]["n"]) == next(a.n for a in load.actions if a.name == "save")


def weak(value: dict[str, Any]) -> None:
    load = value["phases"][0]["load"]
    load |= {"opened": 3, "lost": 1, "rate_per_s": 5000.0, "arrivals": 20000, "no_room": 77}
    load["cpu_max_ns"] = load["end_ns"] - load["begin_ns"]
    load["actions"][0]["failed"] = 5


@pytest.mark.parametrize(("said", "late"), [(True, False), (False, True), (False, False)])
def test_the_run_says_whether_its_generator_had_time_left(
    shelf: Shelf, tmp_path: Path, execute: Execute, said: bool, late: bool
) -> None:
    """Whatever its figures are: who measured has judged them."""

    def judged(value: dict[str, Any]) -> None:
        load = value["phases"][0]["load"]
        load |= {"saturated": said, "behind": late, "late": 0 if late else 10000}
        load["cpu_max_ns"] = 0 if said else load["end_ns"] - load["begin_ns"]

    text, _ = made(execute, tmp_path, shelf.put("a", "load", judged))
    assert ("load generator itself had no time left" in text) == said
    assert ("so much of their times is the load generator" in text) == late


def test_what_makes_a_load_weak_is_told(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    text, _ = made(execute, tmp_path, shelf.put("a", "load", weak))
    for says in (
        "1 of 4 clients had no session",
        "1 sessions were lost",
        "5 actions failed",
        "of 5,000 offered",
        "77 of 20,000 arrivals were dropped",
        "load generator itself had no time left (100% of a CPU",
    ):
        assert says in text


def test_a_silence_says_of_how_many_ranks_it_is_known(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    for ranks in (7, 8):

        def silent(value: dict[str, Any], ranks: int = ranks) -> None:
            silence = {"from_ns": 2 * 10**9, "ns": 5 * 10**9, "clients": 3}
            silence |= {"ranks": ranks, "of_ranks": 8}
            value["phases"][0]["load"]["silence"] = silence

        text, _ = made(execute, tmp_path, shelf.put(f"r{ranks}", "load", silent))
        assert "No action ended for at least 5 s" in text
        assert ("this is known of 7 of 8 ranks" in text) == (ranks == 7)


@pytest.mark.parametrize("clients", [0, 3])
def test_a_time_without_an_answer_is_told(
    shelf: Shelf, tmp_path: Path, execute: Execute, clients: int
) -> None:
    def silent(value: dict[str, Any]) -> None:
        silence = {"from_ns": 2 * 10**9, "ns": 5 * 10**9, "clients": clients}
        value["phases"][0]["load"]["silence"] = silence

    text, _ = made(execute, tmp_path, shelf.put("a", "load", silent))
    assert "No action ended for at least 5 s, from second 2 on" in text
    assert ("3 of 4 clients had one that took so long" in text) == (clients == 3)
    assert "0 of 4 clients" not in text
    text, _ = made(execute, tmp_path, shelf.put("b", "load"))
    assert "No action ended" not in text


def bare(value: dict[str, Any]) -> None:
    """As of a directory: no server, no probe, nothing in time."""
    phase = value["phases"][0]
    phase["probe"] = phase["intervals"] = phase["marks"] = None
    for key in ("requests", "outside", "rows", "storage"):
        phase["ledger"][key] = None
    phase["load"]["actions"], phase["load"]["seconds"] = [], []
    phase["load"]["each_client"] = phase["load"]["each_client"][:1]


def test_a_load_in_which_nothing_was_done(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    text, _ = made(execute, tmp_path, shelf.put("a", "load", bare))
    assert "<figure>" not in section(text, "load")
    assert execute("info", shelf.base / "a").code in (0, 4)


def test_intervals_that_are_not_known_are_left_out(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    def change(value: dict[str, Any]) -> None:
        interval = value["phases"][0]["intervals"][1]
        interval |= {"answered": None, "parts": None, "commands": None}

    made(execute, tmp_path, shelf.put("a", "load", change), "--figures", tmp_path / "f")
    whole = Run.open(shelf.put("b", "load")).phases[0].intervals
    rows = table(tmp_path / "f" / "load-parts.csv")
    assert len(rows) == len(whole) - 1
    assert float(rows[1]["from_s"]) == pytest.approx(whole[1].end_ns / 1e9)


def test_info_and_tables_of_a_load(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    run = shelf.put("a", "load")
    load = Run.open(run).phases[0].load
    assert load
    out = execute("info", run).out.splitlines()
    assert out[-3].split() == ["clients", "per", "s", "failed", "mean", "max"]
    assert out[-2].split()[:2] == ["office", "4"] and out[-1].split()[:2] == ["probe", "1"]
    sql = "select who, sum(n) as n from {} group by 1 order by 1"
    for name in ("actions", "seconds"):
        got = list(
            csv.DictReader(io.StringIO(execute("query", run, sql.format(name), "--csv").out))
        )
        n = load.n if name == "actions" else sum(s.n for s in load.seconds)
        assert (got[0]["who"], int(got[0]["n"])) == ("clients", n)
    sql = "select count(*) as n, max(actions) as most from clients where who = 'clients'"
    got = list(csv.DictReader(io.StringIO(execute("query", run, sql, "--csv").out)))
    assert got == [{"n": "4", "most": str(max(c.actions for c in load.each_client))}]
    assert execute("query", run, "select sum(user_ns) from intervals").code == 0
    assert execute("export", run, "--to", "csv", "-o", tmp_path / "x").code == 0
    assert len(table(tmp_path / "x" / "clients.csv")) == 5  # and the probe
    other = execute("query", shelf.put("b"), "select * from actions")
    assert other.code == 2 and "actions" in other.err  # not of runs without a load


def test_a_load_is_judged_by_rate_and_latency_not_by_its_length(shelf: Shelf) -> None:
    rows = values.of_run(Run.open(shelf.put("a", "load")))
    names = {row.label for row in rows}
    assert {"rate", "action mean", "save p50", "probe mean"} <= names
    assert not names & {f"{of} {q}" for of in ("action", "probe") for q in ("p50", "p99")}
    assert "(test)" not in names and not any("FP" in name for name in names)


# Sweeps


@pytest.mark.parametrize("kinds", [1, 2])
@pytest.mark.parametrize("slo", [None, "p99=15ms", "other.mean=1s"])
def test_actions_of_several_kinds_have_no_quantiles_together(
    tmp_path: Path, execute: Execute, kinds: int, slo: str | None
) -> None:
    """But where the limit is of one."""
    sweep(tmp_path / "s", each((1, 2, 5), lambda v: Made(int(v), kinds=kinds)), slo=slo)
    text, _ = made(execute, tmp_path, tmp_path / "s", "--figures", tmp_path / "f")
    o = outcome.of(steps.open_sweep(tmp_path / "s"))
    heads = outcome.head(o)
    want = ["mean", "max"] if kinds > 1 else ["p50", "p99", "p99.9"]
    limited = slo.split("=")[0] if slo else ""
    want += [limited] if limited and limited not in want else []
    assert heads[3:-3][: len(want)] == want, heads
    assert all(len(outcome.cells(o, row)) == len(heads) + 1 for row in o.rows)
    table = text[text.index('id="table"') : text.index('id="steps"')]
    shown = set(re.findall(r"<th[^>]*>(p\d+(?:\.\d)?)</th>", table))
    assert shown == (({"p99"} & {limited}) if kinds > 1 else {"p50", "p90", "p99", "p99.9"})
    drawn = (tmp_path / "f/sweep-latency.csv").read_text().splitlines()[0]
    assert ("p50_ns" in drawn) == (kinds == 1) and ("mean_ns" in drawn) == (kinds > 1)


def queue(clients: float) -> Made:
    parts = {"user": 20.0, "runq": 10.0 * clients, "outside": 20.0}
    rate = 100 * clients / (1 + 0.05 * (clients - 1) + 0.001 * clients * (clients - 1))
    return Made(int(clients), rate, p50_ms=1, p99_ms=clients, parts=parts)


SAID = {
    "en": (
        '<p class="cause">Knee: p99=15ms is kept up to 10 clients (',
        ", kept in 1 of 1), no longer at 20 clients (",
        "; an estimate, 10 to 20 (measured 3 times, each value gives an interval: --repeat 3).</p>",
        "<p>Used up: cannot be told: the run has no diagnosis; the largest part of what requests "
        "take longer is CPU",
        "afpd waiting for a CPU",
        "<p>Universal scalability law: contention 0.05",
        "Step 008-100 failed: ",
    ),
    "ja": (
        '<p class="cause">限界点: p99=15ms を守れるのは 10 クライアントまで (',
        "、1 回中 1 回達成)、20 クライアントでは不可 (",
        "; 推定 10 〜 20 (各値を 3 回測れば区間が得られる: --repeat 3)。</p>",
        "<p>尽きる資源: 不明: この測定に診断はない",
        "afpd の CPU 待ち",
        "<p>普遍的スケーラビリティ則: 競合 0.05",
        "段階 008-100 は失敗: ",
    ),
}


@LANGUAGES
def test_a_sweep_is_one_page(tmp_path: Path, execute: Execute, lang: str) -> None:
    points = [*each((1, 2, 5, 10, 20, 50), queue), ("20", queue(20)), ("100", None)]
    sweep(tmp_path / "s", points, slo="p99=15ms")
    text, done = made(
        execute, tmp_path, tmp_path / "s", "--lang", lang, "--figures", tmp_path / "f"
    )
    assert done.code == 0, done.err
    for said in SAID[lang]:
        assert said in text
    assert "afpscope: load: no session" in text
    assert text.count("<figure>") == 4 and len(text.encode()) <= 300_000
    assert ("What is used up at the knee" in text) == (lang == "en")
    rows = table(tmp_path / "f" / "sweep-table.csv")
    assert [r["clients"] for r in rows] == ["1", "2", "5", "10", "20", "50"]
    assert [r["steps"] for r in rows] == ["1", "1", "1", "1", "2", "1"]
    assert float(rows[3]["p99_ns"]) == pytest.approx(10 * MS, rel=0.02)
    assert float(rows[3]["achieved_per_s"]) == pytest.approx(queue(10).rate, rel=0.01)
    assert rows[5]["busiest"] == "cpu"
    for name in ("sweep-latency", "sweep-rate", "sweep-probe", "sweep-parts"):
        assert (tmp_path / "f" / f"{name}.svg").exists() and table(tmp_path / "f" / f"{name}.csv")


def test_each_part_of_a_request_has_names_and_a_colour() -> None:
    for part, resource in limits.PARTS.items():
        assert part in sweepfigures.PART_COLOUR
        assert all(ENGLISH[key] for key in (f"s_{part}", f"spent_{part}", f"r_{resource}"))


def test_a_sweep_can_be_judged_by_another_slo(tmp_path: Path, execute: Execute) -> None:
    sweep(tmp_path / "s", each((1, 2, 5), queue), slo="p99=3ms")
    text, _ = made(execute, tmp_path, tmp_path / "s", "--slo", "p99=1500us")
    assert "p99=1500us is kept up to 1 client (1.00 ms, kept in 1 of 1)" in text


def test_sweeps_without_a_knee_without_steps_and_in_open_loop(
    tmp_path: Path, execute: Execute
) -> None:
    sweep(tmp_path / "none", [("1", None)], slo="p99=3ms")
    text, done = made(execute, tmp_path, tmp_path / "none")
    assert done.code == 0 and "no step was measured" in text and "<figure>" not in text
    sweep(
        tmp_path / "open",
        each((100, 200, 400), lambda v: Made(rate=min(v, 250.0), offered=v, no_room=int(v > 250))),
        option="rate",
    )
    text, _ = made(execute, tmp_path, tmp_path / "open")
    assert len(text.encode()) <= 300_000
    assert "90% of the offered rate is reached up to rate 200" in text and "offered/s" in text
    assert "scalability law" not in text and "1drop" in text
    sweep(tmp_path / "cut", each((1, 2), queue), complete=False, stopped="SIGINT")
    text, done = made(execute, tmp_path, tmp_path / "cut")
    assert done.code == 4 and "not complete: SIGINT" in text


def test_a_sweep_has_a_page_of_its_own(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    sweep(tmp_path / "s", each((1, 2), queue))
    run = shelf.put("a")
    assert execute("report", run, tmp_path / "s").code == 2
    assert execute("report", run, "--slo", "p99=1s").code == 2
    for command in (("query",), ("export", "--to", "csv", "-o", tmp_path / "x")):
        done = execute(command[0], tmp_path / "s", *command[1:])
        assert done.code == 2 and f"such as {tmp_path / 's' / '001-1'}" in done.err
    done = execute("info", tmp_path / "s")
    assert done.code == 0 and "steps        2, of them complete 2" in done.out
    found = json.loads(execute("info", tmp_path / "s", "--json").out)
    assert [row["value"] for row in found["rows"]] == ["1", "2"]


def test_names_in_a_sweep_stay_text(tmp_path: Path, execute: Execute) -> None:
    evil = "<script>alert(1)</script>"
    sweep(tmp_path / "s", [*each((1, 2), queue), ("5", None)], target=evil)
    text, _ = made(execute, tmp_path, tmp_path / "s")
    assert evil not in text and "&lt;script&gt;" in text


@pytest.mark.parametrize(
    "change",
    [{"steps": [{"folder": "../x"}]}, {"option": 5}, {"schema": 2}, {"steps": None}, {"values": 1}],
)
def test_a_damaged_sweep_is_refused(
    tmp_path: Path, execute: Execute, change: dict[str, Any]
) -> None:
    folder = tmp_path / "s"
    sweep(folder, each((1, 2), queue))
    value = json.loads((folder / "sweep.json").read_text())
    (folder / "sweep.json").write_text(json.dumps(value | change))
    done = execute("info", folder)
    assert done.code == 1 and "sweep.json" in done.err


@pytest.mark.parametrize("name", ["..", ".", "", "../s", "/", "a/b"])
def test_a_step_is_in_the_folder_of_its_sweep(tmp_path: Path, execute: Execute, name: str) -> None:
    folder = tmp_path / "s"
    sweep(folder, each((1, 2), queue))
    value = json.loads((folder / "sweep.json").read_text())
    value["steps"][0]["folder"] = name
    (folder / "sweep.json").write_text(json.dumps(value))
    done = execute("info", folder)
    assert done.code == 1
    assert f"folder is {name!r}, not the name of a folder in the sweep's" in done.err


# Two sweeps


def pair(tmp_path: Path, n: int, change: float) -> tuple[Path, Path]:
    """Sweeps of n steps a value; all of B takes `change` times as long."""
    for hour, (side, by) in enumerate((("a", 1.0), ("b", change))):
        points = [
            (f"{v}", Made(v, 1000 / by, p50_ms=1 * by, p99_ms=v * by * (1 + i / 1000)))
            for i in range(n)
            for v in (1, 5, 10)
        ]
        sweep(tmp_path / side, points, slo="p99=7ms", hour=hour)
    return tmp_path / "a", tmp_path / "b"


def test_one_step_a_side_is_never_judged(tmp_path: Path, execute: Execute) -> None:
    done = execute("compare", *pair(tmp_path, 1, 3.0))
    assert done.code == 0, done.err
    lines = [line for line in done.out.splitlines() if line.startswith("clients")]
    assert len(lines) == 12 and all(line.endswith("not enough runs") for line in lines)
    assert "--repeat 7" in done.err


def test_values_are_judged_and_knees_compared(tmp_path: Path, execute: Execute) -> None:
    a, b = pair(tmp_path, 8, 2.0)
    found = json.loads(execute("compare", a, b, "--json").out)
    assert {row["verdict"] for row in found["rows"] if row["figure"] == "p99"} == {stats.SLOWER}
    assert {row["verdict"] for row in found["rows"] if row["figure"] == "rate"} == {stats.WORSE}
    assert (found["a"]["knee"]["at"], found["b"]["knee"]["at"]) == ("5", "1")
    out = execute("compare", a, b).out
    assert "the knee of B is at less load: 5 and 1, the difference is " in out
    # A change that an unknown cause may explain is not the server's.
    a, b = pair(tmp_path / "less", 8, 1.1)
    found = json.loads(execute("compare", a, b, "--json").out)
    assert {row["verdict"] for row in found["rows"] if row["figure"] == "p99"} == {stats.UNCLEAR}
    assert (
        "no difference of the knees larger than 20 % shown: 5 and 5, "
        in execute("compare", a, b).out
    )


def test_sweeps_that_are_not_comparable_are_refused(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    a, b = pair(tmp_path, 1, 1.0)
    assert execute("compare", a, a).code == 2
    assert execute("compare", a, shelf.put("run")).code == 2
    rate = tmp_path / "rate"
    sweep(rate, [("1", Made()), ("5", Made())], option="rate")
    assert "is a sweep over" in execute("compare", a, rate).err
    far = tmp_path / "far"
    sweep(far, [("2", Made(2)), ("6", Made(6))])
    assert execute("compare", a, far).code == 5
    other = tmp_path / "other"
    sweep(other, [(v, Made(int(v), options={"mix": "else"})) for v in ("1", "5")])
    done = execute("compare", a, other)
    assert done.code == 2 and "options.mix" in done.err
    assert execute("compare", a, other, "--force").code == 0
    assert execute("compare", a, b, "--format", "markdown").out.startswith("### afpscope compare")


def files(value: dict[str, Any]) -> None:
    """Three loads of small files, of which the second is twice as fast and has a failure."""
    (one,) = value["phases"]
    value["command"] = "smallfile"
    value["phases"] = [json.loads(json.dumps(one)) for _ in range(3)]
    for test, title in enumerate(("create", "stat", "delete"), 1):
        phase = value["phases"][test - 1]
        phase |= {"test": test, "title": title, "probe": None, "intervals": [], "marks": []}
        phase["load"]["actions"] = phase["load"]["actions"][:1]
    stat = value["phases"][1]["load"]
    stat["end_ns"] = stat["measure_ns"] + (stat["end_ns"] - stat["measure_ns"]) // 2
    stat["actions"][0]["failed"] = 1


def test_small_files_are_one_table(shelf: Shelf, tmp_path: Path, execute: Execute) -> None:
    folder = tmp_path / "figures"
    run = shelf.put("a", "load", files)
    text, done = made(execute, tmp_path, run, "--figures", folder)
    assert done.code == 0
    first = text[text.index('class="verdict') :][:2000]
    assert "3 loads of small files: stat was the fastest" in first
    assert "stat: 1 actions failed" in first
    assert text.count('<a href="#r1-files">Operations on small files</a>') == 1
    assert text.count('id="r1-files"') == 1
    assert "What the clients felt" not in text
    assert section(text, "files").count("<figure>") == 1
    assert [r["action"] for r in table(folder / "load-table.csv")] == ["create", "stat", "delete"]
    drawn = {r["action"] for r in table(folder / "load-tail.csv")}
    assert drawn == {"create", "stat", "delete"}
