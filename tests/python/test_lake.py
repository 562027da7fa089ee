# SPDX-License-Identifier: GPL-2.0-or-later
"""Lakes: runs put there and read over all, and what their history says."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
import simulate_history
import tracegen
from afpscope import Run, historywords
from afpscope.errors import Failure
from afpscope.lake import Lake
from afpscope.tables import duck
from afpscope.tables import lake as tables_of
from conftest import Change, Done, Shelf

Execute = Callable[..., Done]


def scaled(factor: float, day: int, **labels: str) -> Change:
    """Times of everything the client measured, when, and the labels."""

    def change(value: dict[str, Any]) -> None:
        value["started"] = f"2026-{1 + day // 28:02}-{1 + day % 28:02}T04:00:00Z"
        value["labels"] = labels
        for phase in value["phases"]:
            if phase["metrics"].get("elapsed"):
                phase["metrics"]["elapsed"] = int(phase["metrics"]["elapsed"] * factor)

    return change


def entries(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def rows(execute: Execute, lake: Path, sql: str) -> list[dict[str, Any]]:
    done = execute("query", "--lake", lake, sql, "--json")
    assert (done.code, done.err) == (0, "")
    return [json.loads(line) for line in done.out.splitlines()]


def test_runs_of_all_kinds_are_read_over_all(
    shelf: Shelf, execute: Execute, tmp_path: Path
) -> None:
    """Their sums are those of the runs themselves; a run again replaces its partition."""
    lake = tmp_path / "lake"
    paths = [shelf.put(name, name) for name in ("lantest-1", "lantest-2", "speedtest", "record")]
    runs = [Run.open(path) for path in paths]
    done = execute("export", *paths, "--into", lake)
    said = [line for line in done.err.splitlines() if not line.endswith(" of 4 runs")]
    assert done.code == 0 and not said
    assert done.out.splitlines() == [str(lake / f"run={run.id}") for run in runs]
    for _ in range(2):
        got = rows(execute, lake, "select run, name, command, trusted from runs order by name")
        assert got == [
            {"run": r.id, "name": r.name, "command": r.command, "trusted": not r.doubts}
            for r in sorted(runs, key=lambda run: run.name)
        ]
        for sql, want in (
            ("select sum(ops) from commands",
             sum(c.ops for r in runs for p in r.phases for c in p.commands)),
            ("select count(*) from phases", sum(len(r.phases) for r in runs)),
            ("select count(*) from books", sum(len(r.books) for r in runs)),
            ("select sum(n) from losses", sum(n for r in runs for _, n in r.losses)),
            ("select count(*) from sessions", sum(len(r.sessions) for r in runs)),
            ("select sum(n) from histograms where of = 'client'",
             sum(c.histogram.n for r in runs for p in r.phases for c in p.commands)),
            ("select sum(calls) from parts",
             sum(x.calls for r in runs for p in r.phases
                 for a in (*(p.requests or ()), *(p.outside or ())) for x in a.parts)),
        ):  # fmt: skip
            assert rows(execute, lake, sql)[0].popitem()[1] == want, sql
        assert execute("export", *paths[1:], "--into", lake).code == 0
    assert sorted(entries(lake)) == sorted(f"run={run.id}" for run in runs)


def open_files() -> int:
    return len(entries(Path("/proc/self/fd")))


def plain(value: Any) -> Any:
    """As a row of tables.of_run has it."""
    return str(value) if isinstance(value, datetime) else value


@pytest.mark.parametrize("name", ["lantest-1", "speedtest", "load", "record"])
def test_a_lake_has_the_rows_of_the_tables(
    shelf: Shelf, execute: Execute, tmp_path: Path, name: str
) -> None:
    run = Run.open(shelf.put(name, name))
    done = execute("export", run.folder, "--into", tmp_path / "lake")
    made = tables_of.of_run(run, None)
    files = {path.stem: path for path in Path(done.out.strip()).iterdir()}
    assert files.keys() == made.keys()
    for table, of in made.items():
        got = duckdb.execute("from read_parquet(?, hive_partitioning = false)", [str(files[table])])
        assert [(d[0], str(d[1])) for d in got.description] == of.columns, table
        want = [[row.get(key) for key, _ in of.columns] for row in of.rows]
        assert [[plain(cell) for cell in row] for row in got.fetchall()] == want, table
        notes = duckdb.execute(
            "select decode(key), decode(value) from parquet_kv_metadata(?)", [str(files[table])]
        )
        assert dict(notes.fetchall())["afpscope.run"] == run.id


def test_runs_of_a_lake_share_a_database_and_leave_nothing_open(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A statement for each table: of 999 runs four times as many took twice as long."""
    runs = [Run.open(shelf.put(f"r{i}")) for i in range(3)]
    made, said = [], list[str]()
    connect = duck.connect

    class Counted:
        def __init__(self) -> None:
            self.db = connect()
            made.append(self)

        def __enter__(self) -> Counted:
            return self

        def __exit__(self, *_: object) -> None:
            self.db.close()

        def execute(self, sql: str) -> Any:
            said.append(sql)
            return self.db.execute(sql)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.db, name)

    monkeypatch.setattr(duck, "connect", Counted)
    with closing(Lake(tmp_path / "lake")) as into:
        into.put(runs[0], None)
        before, opened = len(said), open_files()
        for run in runs[1:]:
            into.put(run, None)
        assert open_files() == opened
    assert len(made) == 1
    assert len(said) - before == sum(len(tables_of.of_run(run, None)) for run in runs[1:])


def test_after_a_run_that_cannot_be_written_others_are(shelf: Shelf, tmp_path: Path) -> None:
    good = Run.open(shelf.put("good"))
    bad = replace(good, id="bad", books=(replace(good.books[0], ours=1 << 80),))
    with closing(Lake(tmp_path / "lake")) as into:
        with pytest.raises(Failure, match=r"table books: .*: the file is damaged"):
            into.put(bad, None)
        into.put(good, None)
    assert entries(tmp_path / "lake") == [f"run={good.id}"]


def test_a_column_that_a_kind_does_not_have_is_absent(
    shelf: Shelf, execute: Execute, tmp_path: Path
) -> None:
    path = shelf.put("loaded", "load")
    done = execute("export", path, "--into", tmp_path / "lake")
    assert done.code == 0
    for file in Path(done.out.strip()).glob("*.parquet"):
        counts = duckdb.execute("select count(columns(*)) from read_parquet(?)", [str(file)])
        assert all(counts.fetchone()), file


def test_records_have_the_wall_clock(shelf: Shelf, execute: Execute, tmp_path: Path) -> None:
    traced = shelf.put("traced")
    tracegen.write(traced / "trace")
    execute("export", traced, "--into", tmp_path / "lake")
    for row in rows(
        execute,
        tmp_path / "lake",
        "select epoch_us(wall) - (timestamp::hugeint + offset_ns) // 1000 as by, count(*) as n"
        " from requests join runs using (run) group by 1",
    ):
        assert row["by"] == 0 and row["n"]


def test_a_query_shows_when_a_run_began(shelf: Shelf, execute: Execute, tmp_path: Path) -> None:
    """In UTC, whatever zone the run says its time in; Python needs no table of time zones."""

    def change(value: dict[str, Any]) -> None:
        value["started"] = "2026-03-01T04:05:06.250+02:00"

    execute("export", shelf.put("a", change=change), "--into", tmp_path / "lake")
    (row,) = rows(execute, tmp_path / "lake", "select started from runs")
    assert row["started"] == "2026-03-01 02:05:06.250000"


def test_a_lake_has_no_type_that_spark_refuses(
    shelf: Shelf, execute: Execute, tmp_path: Path
) -> None:
    """Spark reads no times in nanoseconds; of test_cookbook it judges the rest."""
    traced = shelf.put("traced")
    tracegen.write(traced / "trace")
    done = execute("export", traced, "--into", tmp_path / "lake")
    assert done.code == 0
    found = duckdb.execute(
        "select distinct logical_type from parquet_schema(?)",
        [str(tmp_path / "lake/*/*.parquet")],
    )
    kinds = {str(kind) for (kind,) in found.fetchall()}
    assert any("MicroSeconds" in kind for kind in kinds)
    assert not any("NanoSeconds" in kind for kind in kinds), kinds


def test_a_query_reads_nothing_but_the_lake(shelf: Shelf, execute: Execute, tmp_path: Path) -> None:
    execute("export", shelf.put("a"), "--into", tmp_path / "it's a lake")
    for sql in (
        "select * from read_text('/etc/passwd')",
        "copy runs to '/tmp/out.csv'",
        "copy runs to 'out.csv'",
        "set memory_limit = '100GB'",
        "install httpfs",
        "select 1; select 2",
    ):
        done = execute("query", "--lake", tmp_path / "it's a lake", sql)
        assert done.code == 2 and done.out == "" and done.err.startswith("afpscope: query: "), sql
    assert not Path("out.csv").exists()


@pytest.mark.parametrize(
    "args, said",
    [
        (("export", "A", "--into", "FULL"), "is not empty and has no runs"),
        (("export", "A", "--into", "A/run.json"), "folder"),
        (("export", "A", "B", "--to", "csv", "-o", "x"), "2 runs cannot go to one folder"),
        (("export", "A", "--into", "x", "--to", "csv"), "leave --to and -o away"),
        (("export", "A"), "give --to FORMAT and -o DIR, or --into LAKE"),
        (("query",), "give a RUN, or --lake LAKE"),
        (("query", "--lake", "NONE"), "there is no folder"),
        (("query", "--lake", "FULL"), "has no runs"),
        (("query", "--lake", "A", "x", "select 1"), "there is no RUN"),
        (("history", "FULL"), "has no runs"),
    ],
    ids=str,
)
def test_wrong_use(
    shelf: Shelf, execute: Execute, tmp_path: Path, args: tuple[str, ...], said: str
) -> None:
    shelf.put("A"), shelf.put("B")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")
    names = {"A": shelf.base / "A", "B": shelf.base / "B", "FULL": tmp_path / "full",
             "A/run.json": shelf.base / "A/run.json", "NONE": tmp_path / "none"}  # fmt: skip
    done = execute(*(names.get(arg, arg) for arg in args))
    assert done.code in (1, 2) and done.out == "" and said in done.err, done.err
    assert (tmp_path / "full" / "letter.txt").read_text() == "dear"


def test_a_run_that_cannot_be_read_stops_no_other(
    shelf: Shelf, execute: Execute, tmp_path: Path
) -> None:
    whole, damaged = shelf.put("whole"), shelf.put("damaged")
    (damaged / "run.json").write_text("{")
    done = execute("export", damaged, whole, "--into", tmp_path / "lake")
    assert done.code == 1 and f"{damaged}: left out" in done.err
    assert entries(tmp_path / "lake") == [f"run={Run.open(whole).id}"]


def _largest(row: dict[str, Any]) -> float:
    return -max((abs(c["after"] / c["before"] - 1) for c in row["changes"]), default=0.0)


def test_a_history_names_the_run_with_which_a_value_changed(
    shelf: Shelf, execute: Execute, tmp_path: Path
) -> None:
    """And none where there is only noise, nor between runs that are not alike."""
    lake, noise = tmp_path / "lake", simulate_history.normal(simulate_history.generator(1), 60)
    for day in range(60):
        factor = (1.2 if day >= 37 else 1) * (1 + 0.02 * float(noise[day]))
        shelf.put(f"run{day:02}", change=scaled(factor, day, commit=f"c{day}"))

    def other(value: dict[str, Any]) -> None:
        scaled(9, 30)(value)
        value["options"]["iterations"] = "77"

    shelf.put("unlike", change=other)
    assert execute("export", *shelf.base.iterdir(), "--into", lake).code == 0
    done = execute("history", lake, "--label", "commit")
    assert (done.code, done.err) == (0, "")
    told = done.out.splitlines()
    assert told[0].startswith("60 runs of lantest (lantest-4.5, afp), 2026-01-01 to 2026-03-04")
    changed = [line for line in told if "commit=" in line]
    heads = [line for line in told if line.endswith(", worse)")]
    assert changed and len(heads) == len(changed) and all(" (+" in line for line in heads)
    assert "A change may be the machine's" in done.out
    assert len(told) <= 40 and max(map(len, told)) <= 100
    found = json.loads(execute("history", lake, "--json").out)
    assert [len(h["runs"]) for h in found] == [60, 1]
    for row in found[0]["rows"]:
        if row["label"] == "(test)":
            (one,) = row["changes"]
            at = row["runs"].index(one["run"])
            assert row["runs"].index(one["from"]) <= 37 <= row["runs"].index(one["to"])
            assert abs(at - 37) <= 2 and one["is"] == "worse"
            assert one["after"] / one["before"] == pytest.approx(1.2, rel=0.03)
        else:
            assert row["changes"] == []
    made = list(csv.DictReader(io.StringIO(execute("history", lake, "--csv").out)))
    assert [row["run"] for row in made] == [
        one["run"] for row in sorted(found[0]["rows"], key=_largest) for one in row["changes"]
    ]
    table = execute("history", lake, "--format", "markdown", "--label", "commit").out
    assert table.count("\n| ") == len(changed) + 2 and "commit=c" in table
    page = tmp_path / "page.html"
    assert execute("history", lake, "-o", page, "--label", "commit").code == 0
    text = page.read_text()
    assert len(text.encode()) <= 300_000
    assert text.count("<circle ") == sum(len(r["values"]) for h in found for r in h["rows"])
    assert text.count("worse) since") == len(changed) and "commit=c" in text
    few = execute("history", lake, "--where", "labels['commit'] in ('c1', 'c2')").out
    assert few.startswith("2 runs of lantest") and "too few runs" in few
    wrong = execute("history", lake, "--where", "nothing = 1")
    assert wrong.code == 2 and "--where: " in wrong.err


def of_metrics(day: int, **values: int) -> Change:
    """A run of that day, whose tests have these metrics."""

    def change(value: dict[str, Any]) -> None:
        scaled(1.0, day)(value)
        for key in values:
            says = {"key": key, "unit": "1", "meaning": "of a test", "better": "lower"}
            value["metrics"].append(says)
        for phase in value["phases"]:
            phase["metrics"] |= values

    return change


def test_a_value_that_becomes_0_is_not_a_value_without_a_change(
    shelf: Shelf, execute: Execute, tmp_path: Path
) -> None:
    """There is no ratio to 0; what is 0 in all runs did not change."""
    for day in range(30):
        there = day < 15
        change = of_metrics(day, zeal=500 * there, zest=9 * there, none=0)
        shelf.put(f"run{day:02}", change=change)
    lake, page = tmp_path / "lake", tmp_path / "page.html"
    assert execute("export", *shelf.base.iterdir(), "--into", lake).code == 0
    done = execute("history", lake, "--row", "ze", "--row", "none")
    (found,) = json.loads(execute("history", lake, "--json").out)
    of = [row for row in found["rows"] if row["label"] in ("zeal", "zest")]
    assert f"\n0 of {len(of)} rows without a change" in done.out
    assert "none" not in done.out and "none" not in {row["label"] for row in found["rows"]}
    assert all(row["changes"] == [] and len(row["zero_runs"]) == 15 for row in of)
    # every one of them where they are asked for, or the first
    says, each = "Of rows that are 0 in some runs only the other runs", "(0 in 15 of 30 runs)"
    for how in ((), ("--format", "markdown")):
        few = " ".join(execute("history", lake, *how).out.replace("\\", "").split())
        assert says in few and few.count(each) == 4 and f"+{len(of) - 4}." in few
        for more in (("--all",), ("--row", "ze")):
            every = execute("history", lake, *how, *more).out.replace("\\", "")
            assert " ".join(every.split()).count(each) == len(of)
    assert execute("history", lake, "-o", page).code == 0
    text = page.read_text()
    assert says in text and text.count("0 in 15 of 30 runs") == 4 + len(of)


@pytest.mark.parametrize("zeros", [0, 1])
def test_a_0_hides_no_change(shelf: Shelf, execute: Execute, tmp_path: Path, zeros: int) -> None:
    for day in range(40):
        shelf.put(f"run{day:02}", change=of_metrics(day, zeal=100 if day < 20 else 150))
    for day in range(40, 40 + zeros):
        shelf.put(f"run{day:02}", change=of_metrics(day, zeal=0))
    lake = tmp_path / "lake"
    assert execute("export", *shelf.base.iterdir(), "--into", lake).code == 0
    done = execute("history", lake, "--row", "zeal")
    assert "changed from 100 to 150 (+50.0 %, worse)" in done.out
    assert (f"(0 in {zeros} of {40 + zeros} runs)" in done.out) == bool(zeros)


def test_a_history_tells_a_drift_from_a_step(
    shelf: Shelf, execute: Execute, tmp_path: Path
) -> None:
    """A machine that becomes slower day by day is no commit's fault."""
    lake, noise = tmp_path / "lake", simulate_history.normal(simulate_history.generator(2), 50)
    for day in range(50):
        factor = (1 + 0.4 * day / 49) * (1 + 0.02 * float(noise[day]))
        shelf.put(f"run{day:02}", change=scaled(factor, day, commit=f"c{day}"))
    assert execute("export", *shelf.base.iterdir(), "--into", lake).code == 0
    out = execute("history", lake, "--label", "commit").out
    assert "(test) drifted from " in out and "since" not in out and " little by little, " in out
    (found,) = json.loads(execute("history", lake, "--json").out)
    for row in found["rows"]:
        if row["label"] == "(test)":
            (one,) = row["changes"]
            assert one["shape"] == "drift" and one["is"] == "worse"
            assert row["runs"].index(one["from"]) <= 10 and row["runs"].index(one["to"]) >= 39
            assert one["after"] / one["before"] == pytest.approx(1.4, rel=0.1)
    page = tmp_path / "page.html"
    assert execute("history", lake, "-o", page).code == 0
    assert "drifted from" in page.read_text()
    assert execute("history", lake, "-o", page, "--lang", "ja").code == 0
    text = page.read_text()
    assert '<html lang="ja">' in text and "徐々に移った" in text and "悪化" in text
    starts = [s.split("{")[0] for s in historywords.WORDS.values()]
    body = text[text.index("<h1>") :]
    assert [s for s in starts if len(s) > 8 and s in body] == []


@pytest.mark.parametrize("count", [(1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_counts_are_whole_up_to_the_largest(
    shelf: Shelf, execute: Execute, tmp_path: Path, count: int
) -> None:
    """In every table that has one: of run.json, as files, and in a lake beside smaller ones."""

    def change(value: dict[str, Any]) -> None:
        phase = value["phases"][0]
        phase["metrics"]["elapsed"] = count
        phase["commands"][0]["ops"] = count
        phase["ledger"]["requests"][0]["bytes_in"] = count
        phase["ledger"]["requests"][0]["parts"][0]["calls"] = count
        value["books"][0]["ours"] = count

    run, other = shelf.put("a", change=change), shelf.put("b")
    for sql in (
        "select elapsed from phases where test = 1 and iteration = 1",
        "select max(ops) from commands",
        "select max(bytes_in) from accounts",
        "select max(calls) from parts",
    ):
        done = execute("query", run, sql, "--json")
        assert (done.code, done.err) == (0, "")
        assert list(json.loads(done.out).values()) == [count]
    assert execute("export", run, other, "--into", tmp_path / "lake").code == 0
    for sql in (
        "select max(value) from metrics where metric = 'elapsed'",
        "select max(ops) from commands",
        "select max(ours) from books",
        "select max(calls) from parts",
    ):
        assert list(rows(execute, tmp_path / "lake", sql)[0].values()) == [count]
    assert execute("info", run).code == 0
    assert execute("report", run, "-o", tmp_path / "page.html").code == 0
    assert execute("export", run, "--to", "perfetto", "-o", tmp_path / "p").code == 0
