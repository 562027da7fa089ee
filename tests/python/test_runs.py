# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs: how they are found and read; info, export and query of them."""

from __future__ import annotations

import contextlib
import copy
import csv
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
import tracegen
from afpscope import Failure, Run, find
from afpscope.saved import hist, plain
from afpscope.saved import run as saved_run
from afpscope.saved.run import find_all
from afpscope.tables import duck
from conftest import DATA, Done, Shelf, no_more_than
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonwalk import places

Execute = Callable[..., Done]
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def test_names(shelf: Shelf) -> None:
    old = shelf.put("2026-11-20T142205-lantest-83ccb818", "lantest-2")
    new = shelf.put("2026-11-21T142205-lantest-c397df72", "lantest-1")
    named = shelf.put("before", change=lambda v: v.update(id="83cc" + "f" * 12))
    for at, folder in enumerate((named, new, old)):
        os.utime(folder / "run.json", (at, at))
    assert find("last") == old
    (shelf.base / "last").symlink_to(new.name)
    assert find("last") == old
    os.utime(named / "run.json", (5, 5))
    assert find("last") == named
    assert find("2026-11-20") == old
    assert find(Run.open(new).id[:10]) == new
    assert find("83ccf") == named
    assert find(str(old / "run.json")) == old / "run.json"
    for name in ("2026-11-2", "nothing", "./nothing", ""):
        with pytest.raises(Failure) as failed:
            find(name)
        assert failed.value.code == 2


def test_an_id_is_found_without_reading_whole_runs(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the id stands, and whatever else is called so."""

    def last(value: dict[str, Any]) -> None:
        value["server"] = {"id": "0000"} | value["server"]
        value["id"] = value.pop("id")

    folders = [shelf.put(f"run-{n}") for n in range(5)]
    ids = [Run.open(folder).id for folder in folders]
    read: list[Path] = []
    whole = saved_run.load
    monkeypatch.setattr(saved_run, "load", lambda path: (read.append(path), whole(path))[1])
    assert [find(each) for each in ids] == folders and not read
    moved = shelf.put("moved", change=last)
    assert find(json.loads((moved / "run.json").read_text())["id"]) == moved
    assert {path.parent for path in read} == {moved}
    with pytest.raises(Failure):
        find("0000")


def test_labels_name_all_runs_that_have_them(shelf: Shelf, execute: Execute) -> None:
    """Also where some of the user's runs are damaged, or from before there were labels."""

    def labelled(**labels: str) -> Callable[[dict[str, Any]], None]:
        return lambda value: value.update(labels=labels)

    one = shelf.put("1", change=labelled(commit="a=b", disk="ssd"))
    two = shelf.put("2", "lantest-2", labelled(commit="a=b"))
    three = shelf.put("3", change=labelled(commit="c"))
    shelf.put("older", change=lambda value: value.pop("labels", None))
    (shelf.put("damaged") / "run.json").write_text('{"labels": {"commit": 3}}')
    assert find_all("commit=a=b") == [one, two]
    assert find_all("commit=a=b,disk=ssd") == [one]
    assert find_all(str(two)) == [two]
    for name in ("commit=A", "commit", "commit=c,disk=ssd", "=", "a=b"):
        with pytest.raises(Failure) as failed:
            find_all(name)
        assert failed.value.code == 2
    assert "\nlabels       commit: c\n" in execute("info", three).out
    assert json.loads(execute("info", three, "--json").out)["labels"] == {"commit": "c"}
    done = execute("compare", "commit=a=b", "commit=c", "--force")
    assert "  2+1  not enough runs" in done.out


def test_a_folder_of_runs_names_them(shelf: Shelf, execute: Execute) -> None:
    first, second = shelf.put("first"), shelf.put("second", "speedtest")
    done = execute("report", shelf.base)
    assert done.code == 1 and done.out == ""
    assert f"name a run in it: {first}, {second}" in done.err


def test_every_sample_opens(shelf: Shelf, execute: Execute) -> None:
    for name in ("lantest-1", "speedtest", "record"):
        run = Run.open(shelf.put(name, name))
        assert run.phases and not run.doubts
        done = execute("info", run.path)
        assert (done.code, done.err) == (0, "")
        assert run.id in done.out


def test_a_recording_has_requests_and_errors_and_no_tests(shelf: Shelf, execute: Execute) -> None:
    """Its errors are those that the server answered, not those of a test that there is not."""

    def change(value: dict[str, Any]) -> None:
        for n, account in enumerate(value["phases"][0]["ledger"]["requests"]):
            account["requests"], account["errors"] = 1000, 2002 if not n else 0

    run = Run.open(shelf.put("a", "record", change))
    accounts = run.phases[0].requests
    assert accounts
    out = execute("info", run.path).out
    head, row = out.splitlines()[-2:]
    assert re.fullmatch(r" +time +requests +errors +afpd calls +cnid calls", head)
    assert row.split()[0] == "recorded"
    assert row.split()[3:5] == [f"{1000 * len(accounts):,}", "2,002"]


def test_histograms_have_the_quantiles_of_the_run(shelf: Shelf) -> None:
    for phase in Run.open(shelf.put("a")).phases:
        for command in phase.commands:
            p50, got = command.latency["p50_ns"], command.histogram.quantile(0.5)
            assert p50 and got
            assert abs(got - p50) <= p50 / 64
            assert command.histogram.n == command.latency["n"]


def histogram_of(values: list[int]) -> hist.Histogram:
    return hist.Histogram(6, tuple(sorted(Counter(hist.index_of(v, 6) for v in values).items())))


@given(
    st.lists(st.integers(1, 1 << 40), min_size=1, max_size=99),
    st.sampled_from((0, 0.01, 0.05, 0.4)),
)
def test_the_mean_of_the_bulk_is_that_of_the_sorted_values(values: list[int], share: float) -> None:
    """Within what buckets tell apart, however large the tails; of each the last value counts by
    the part that is still missing."""
    values.sort()
    whole, cut = int(share * len(values)), share * len(values)
    inner = values[whole : len(values) - whole]
    want = sum(inner) - (cut - whole) * (inner[0] + inner[-1])
    got = histogram_of(values).bulk_mean(share, sum(values)) * (len(values) - 2 * cut)
    assert got == pytest.approx(want, rel=0.013)
    if not share:
        assert got == pytest.approx(sum(values))


@pytest.mark.parametrize("stall_ms", [0, 10, 40, 2000])
def test_late_requests_do_not_move_the_mean_of_the_others(stall_ms: int) -> None:
    """Wherever in their bucket they lie: 40 in 1000 at either end of it."""
    rng = np.random.default_rng(5)
    steady = np.sort(rng.lognormal(np.log(50e3), 0.1, 960).astype(int))
    edge = hist.low(hist.index_of(stall_ms * 1_000_000, 6) + 1, 6)
    for late in (edge * 0.9985, edge * 1.0015) if stall_ms else (50e3,):
        values = sorted([*map(int, steady), *[int(late)] * 40])
        got = histogram_of(values).bulk_mean(0.05, sum(values))
        assert got == pytest.approx(np.mean(values[50:950]), rel=0.001)


@given(st.integers(0, (1 << 64) - 1), st.integers(0, 8))
def test_a_value_lies_in_its_bucket(value: int, bits: int) -> None:
    index = hist.index_of(value, bits)
    assert hist.low(index, bits) <= value < hist.low(index + 1, bits)


def test_a_doubtful_run_is_said_to_be(shelf: Shelf, execute: Execute) -> None:
    def open_book(value: dict[str, Any]) -> None:
        value["books"][0] |= {"closed": False, "theirs": 1}
        value["losses"][0]["n"] = 3

    folder = shelf.put("a", change=open_book)
    done = execute("info", folder)
    assert done.code == 4
    assert done.out.count("DOUBT") == 2
    done = execute("query", folder, "select count(*) as n from phases", "--csv")
    assert done.code == 4
    assert done.out.startswith("n\n") and done.err.count("afpscope: query: ") == 2
    for form in ("parquet", "csv", "perfetto"):
        done = execute("export", folder, "--to", form, "-o", shelf.base / form)
        assert done.code == 4
        assert f"/{form}/" in done.out and done.err.count("afpscope: export: ") == 2


def test_damage_to_a_trace_is_told_by_what_uses_it(traced: Path, execute: Execute) -> None:
    with (traced / "trace" / "calls").open("r+b") as f:
        f.truncate(f.seek(0, 2) - 1)
    for rest in (
        ("query", traced, "select 1"),
        ("export", traced, "--to", "csv", "-o", traced / "o"),
    ):
        done = execute(*rest)
        assert done.code == 4
        assert f"afpscope: {rest[0]}: calls: the last packet is torn" in done.err


SMALL = json.loads(gzip.decompress((DATA / "speedtest.json.gz").read_bytes()))
SMALL["phases"] = SMALL["phases"][:1]
PLACES = [place.path for place in places(SMALL)]
ODD = st.sampled_from([None, -1, 1 << 70, "x", [], {}, True, 0.5, 1e308])


@settings(max_examples=300, deadline=None)
@given(place=st.sampled_from(PLACES), odd=ODD, drop=st.booleans())
def test_a_wrong_value_anywhere_is_refused_with_its_place(
    tmp_path_factory: pytest.TempPathFactory, place: tuple[Any, ...], odd: Any, drop: bool
) -> None:
    """Or is one that nothing is worked out from."""
    value = copy.deepcopy(SMALL)
    inner = value
    for key in place[:-1]:
        inner = inner[key]
    if drop:
        del inner[place[-1]]
    else:
        inner[place[-1]] = odd
    file = tmp_path_factory.mktemp("odd") / "run.json"
    file.write_text(json.dumps(value))
    try:
        run = Run.open(file)
    except Failure as e:
        assert "run.json" in str(e)
    else:
        from afpscope.tables import tables

        try:
            tables.of_run(run)
        except Failure as e:
            assert "damaged" in str(e)


@pytest.mark.parametrize("text", ["", "{", "[" * 100000, "null", '{"schema": NaN}', "1" * 9999])
def test_what_is_no_run_is_refused(tmp_path: Path, execute: Execute, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    done = execute("info", tmp_path / "x.json")
    assert done.code == 1
    assert done.err.startswith("afpscope: info: ")
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("key", ["x", "x\ud83d"])
def test_half_a_character_is_refused_with_its_place(
    shelf: Shelf, execute: Execute, key: str
) -> None:
    folder = shelf.put("a", change=lambda v: v["server"].update({key: "vm\udc00"}))
    done = execute("info", folder)
    assert done.code == 1 and len(done.err.splitlines()) == 1
    assert "run.json.server" in done.err.replace(": ", ".") and "lone surrogate" in done.err


def test_nothing_of_a_run_commands_the_terminal(shelf: Shelf, execute: Execute) -> None:
    def change(value: dict[str, Any]) -> None:
        value["warnings"] = [{"key": None, "text": "\x1b]0;x\x07"}]
        value["complete"], value["server"]["name"] = False, "\x1b[2J\x9b\u202e"
        for phase in value["phases"]:
            phase["title"] = "Open\x1b[31m\r"
            for c in (*phase["commands"], *phase["ledger"]["requests"]):
                c["name"] += "\x1b[1m"

    a, b, file = shelf.put("a"), shelf.put("b", change=change), shelf.base / "counts"
    c = shelf.put("c", change=lambda v: (change(v), v.update(complete=True)))
    assert execute("gate", c, "--counts", file, "--accept").code == 0
    for line in (("info", b), ("compare", "--all", b, c), ("compare", a, b),
                 ("gate", b, "--counts", file), ("gate", a, "--counts", file)):  # fmt: skip
        done = execute(*line)
        assert not OBEYED.search(done.out + done.err), line
    d = shelf.put("d", change=lambda v: (change(v), change(v), v.update(complete=True)))
    for form in ("github", "junit"):
        done = execute("gate", d, "--counts", file, "--format", form)
        assert done.out and not OBEYED.search(done.out + done.err)
    sql = 'select title || chr(27) || chr(8238) as "a\u202eb" from phases'
    for more in ([], ["--csv"], ["--json"]):
        done = execute("query", b, sql, *more)
        assert done.out and not OBEYED.search(done.out + done.err), more
    page, tables = shelf.base / "page.html", shelf.base / "tables"
    execute("report", b, "-o", page)
    execute("export", b, "--to", "csv", "-o", tables)
    for path in (page, *tables.iterdir()):
        assert not OBEYED.search(path.read_text()), path
    assert "Open\ufffd[31m" in (tables / "phases.csv").read_text() + page.read_text()


def test_output_that_is_not_utf8(shelf: Shelf) -> None:
    analysis = Path(__file__).parents[2] / "analysis"
    folder = shelf.put("a", change=lambda v: v["server"].update(name="ファイル"))
    done = subprocess.run(
        [sys.executable, "-B", "-m", "afpscope", "info", folder],
        env={"PYTHONPATH": str(analysis), "PYTHONIOENCODING": "latin-1"},
        capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"name: ????" in done.stdout


@pytest.fixture
def traced(shelf: Shelf) -> Path:
    folder = shelf.put("traced")
    tracegen.write(folder / "trace")
    return folder


def test_info_lists_the_streams(traced: Path, execute: Execute) -> None:
    done = execute("info", traced, "--json")
    found = json.loads(done.out)["streams"]
    assert {name: s["records"] for name, s in found.items()} == dict.fromkeys(tracegen.STREAMS, 300)
    (traced / "trace" / "calls").write_bytes(b"damaged" * 999)
    done = execute("info", traced)
    assert done.code == 4
    assert "NOTICE" in done.out and "calls" in done.out


@pytest.mark.parametrize("source", ["lantest-1", "speedtest", "record"])
def test_info_as_json_leaves_nothing_out(shelf: Shelf, execute: Execute, source: str) -> None:
    folder = shelf.put("a", source)
    run, found = Run.open(folder), json.loads(execute("info", folder, "--json").out)
    for key in ("environment", "server", "options", "rungs", "absent", "version", "id"):
        assert found[key] == getattr(run, key)
    assert [(loss["what"], loss["n"]) for loss in found["losses"]] == list(run.losses)
    assert [b["name"] for b in found["books"] if b["closed"]] == [b.name for b in run.books]
    assert [p["title"] for p in found["phases"]] == [p.title for p in run.phases]
    assert [p["metrics"] for p in found["phases"]] == [p.metrics for p in run.phases]
    counting = [len(p.transfer.counting) if p.transfer else None for p in run.phases]
    assert [p["transfers"] for p in found["phases"]] == counting


def test_query(traced: Path, execute: Execute) -> None:
    sql = "select command, count(*) as n from calls group by 1 order by 1"
    rows = [json.loads(line) for line in execute("query", traced, sql, "--json").out.splitlines()]
    assert [row["command"] for row in rows] == sorted(tracegen.COMMANDS.values())
    assert sum(row["n"] for row in rows) == 300
    done = execute("query", traced, "select sum(ops) as ops from phases", "--csv")
    assert done.out == "ops\n26220\n"
    assert "time_ns" in execute("query", traced).out
    for nothing in ("", ";", "-- a remark"):
        done = execute("query", traced, nothing)
        assert done.code == 2 and "no statement" in done.err


def test_a_query_of_a_run_without_trace_says_how_to_get_one(shelf: Shelf, execute: Execute) -> None:
    plain = shelf.put("plain")
    assert "--trace" in execute("query", plain).err
    done = execute("query", plain, "select * from waits")
    assert done.code == 2 and "--trace" in done.err


def test_addresses_are_texts() -> None:
    block = np.zeros(3, [("family", "u1"), ("address", "16u1")])
    block["family"] = [2, 10, 1]
    block["address"][0, :4] = [127, 0, 0, 1]
    block["address"][1, 15] = 1
    assert list(plain.addresses(block)) == ["127.0.0.1", "::1", None]


JOIN = (
    "select count(*), count(client_ns), count(server_ns), min(between_ns), max(between_ns), "
    "count(*) filter (client_command <> server_command) from joined"
)


@pytest.mark.parametrize("lost", [0, 0.01])
def test_both_sides_of_every_request_join(shelf: Shelf, execute: Execute, lost: float) -> None:
    """Also where the 16-bit ids come round more than once, and where records were lost."""
    n, folder, rng = 300_000, shelf.put("both"), np.random.default_rng(7)
    tracegen.write(folder / "trace", 1)
    kept = {}
    for name, rows in tracegen.both_sides(n).items():
        kept[name] = rng.random(n) >= lost
        (folder / "trace" / name).write_bytes(tracegen.packets(name, rows[kept[name]], 65536))
    client, server = kept["client"], kept["requests"]
    got = execute("query", folder, JOIN, "--csv").out.splitlines()[1]
    wanted = [(client | server).sum(), client.sum(), server.sum(), 1234, 1234, 0]
    assert got == ",".join(str(int(x)) for x in wanted)


def test_what_the_run_says_of_its_trace_is_checked(shelf: Shelf, execute: Execute) -> None:
    said = "/x/trace: 300 requests, 301 calls, 300 waits, 300 of the client's requests, 9 bytes"
    folder = shelf.put("a", change=lambda v: v["rungs"].update(trace=said))
    tracegen.write(folder / "trace")
    done = execute("info", folder)
    assert done.code == 4
    assert "NOTICE       calls: 300 records are here, 301 were written" in done.out
    assert done.out.count("NOTICE") == 1
    (folder / "trace" / "waits").unlink()
    assert "waits: 0 records are here, 300 were written" in execute("info", folder).out


def test_a_trace_that_ended_early_is_said_to_have(shelf: Shelf, execute: Execute) -> None:
    change = {"trace.truncated": "limit"}
    folder = shelf.put("a", change=lambda v: v["rungs"].update(change))
    tracegen.write(folder / "trace")
    done = execute("info", folder)
    assert done.code == 4 and "the trace ends before the run: limit" in done.out


@pytest.mark.parametrize(
    "sql",
    ["select", "select * from nothing", "select * from '/etc/passwd'", "copy phases to '/tmp/x'",
     "install httpfs", "set enable_external_access = true"],
)  # fmt: skip
def test_a_query_sees_the_tables_only(traced: Path, execute: Execute, sql: str) -> None:
    done = execute("query", traced, sql)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("sql", ["copy phases to '.tmp/x.csv'", "select * from '.tmp/x.csv'"])
def test_a_query_reaches_no_folder_for_what_memory_lacks(
    traced: Path, execute: Execute, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    monkeypatch.chdir(traced)
    (traced / ".tmp").mkdir()
    (traced / ".tmp" / "x.csv").write_text("a\n1\n")
    assert execute("query", traced, sql).code == 2
    assert (traced / ".tmp" / "x.csv").read_text() == "a\n1\n"


LONG_QUERY = (
    "select count(*) from range(100000) a, range(1000000) b where hash(a.range, b.range) = 7"
)


def test_a_query_that_is_interrupted_ends_as_such(traced: Path, execute: Execute) -> None:
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    done = execute("query", traced, LONG_QUERY)
    # On a busy machine the signal may come after what is said after 2 s.
    said = re.sub("afpscope: query: no answer yet after [0-9]+ s\n", "", done.err)
    assert (done.code, done.out, said) == (130, "", "")


def test_an_interrupt_while_tables_are_made_ends_as_such(
    traced: Path, execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB looks for signals by itself there, and makes a RuntimeError of one."""

    def interrupted(*_: Any) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr(duck, "create", interrupted)
    done = execute("query", traced, "select 1")
    assert (done.code, done.out, done.err) == (130, "", "")


@pytest.mark.parametrize("caller", ["register", "execute"])
def test_a_query_that_is_interrupted_while_duckdb_calls_back_ends_as_such(
    traced: Path, execute: Execute, monkeypatch: pytest.MonkeyPatch, caller: str
) -> None:
    """DuckDB has dropped the exception there, or made an error of its own of it."""
    open_database = duckdb.connect

    class Swallowing:
        def __init__(self, db: Any) -> None:
            self.db = db

        def __getattr__(self, name: str) -> Any:
            return self.interrupted if name == caller else getattr(self.db, name)

        def interrupted(self, *args: Any) -> Any:
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            return getattr(self.db, caller)(*args)

    monkeypatch.setattr(duckdb, "connect", lambda *a, **k: Swallowing(open_database(*a, **k)))
    # A table of the trace, as only such a one is registered.
    before = threading.active_count()
    done = execute("query", traced, LONG_QUERY.replace("from ", "from calls, ", 1))
    assert (done.code, done.out, done.err) == (130, "", "")
    assert threading.active_count() <= before, "the query goes on"


def test_an_answer_as_json(traced: Path, execute: Execute) -> None:
    sql = (
        "select 'nan'::double as nan, [1, '-inf'::double] as list, date '2026-11-21' as day, "
        "{'x': 1, 'at': date '2026-11-21'} as struct"
    )
    done = execute("query", traced, sql, "--json")
    assert json.loads(done.out, parse_constant=pytest.fail) == {
        "nan": None, "list": [1.0, None], "struct": {"x": 1, "at": "2026-11-21"},
        "day": "2026-11-21",
    }  # fmt: skip
    done = execute("query", traced, "select 1 as a, 2 as a", "--json")
    assert done.code == 2 and not done.out
    assert "two columns are called 'a'" in done.err and "AS" in done.err


def test_a_query_is_one_statement(traced: Path, execute: Execute) -> None:
    done = execute("query", traced, "select 1 as a; select 2 as b")
    assert done.code == 2 and "several statements" in done.err and not done.out
    assert execute("query", traced, "select 1 as a;").code == 0


@pytest.mark.parametrize("form", ["parquet", "csv", "perfetto"])
def test_an_export_without_room_leaves_nothing(
    traced: Path, tmp_path: Path, execute: Execute, form: str
) -> None:
    folder = tmp_path / form
    with no_more_than(5000):
        done = execute("export", traced, "--to", form, "-o", folder)
    assert done.code == 1 and not done.out
    assert f"cannot write {folder}/" in done.err and "File too large" in done.err
    assert not list(folder.iterdir())


def test_export(traced: Path, tmp_path: Path, execute: Execute) -> None:
    assert execute("export", traced, "--to", "parquet", "-o", tmp_path / "p").code == 0
    assert execute("export", traced, "--to", "csv", "-o", tmp_path / "c").code == 0
    for name in (*tracegen.STREAMS, "phases", "commands", "samples", "accounts", "parts"):
        (n,) = duckdb.execute("select count(*) from read_parquet(?)",
                              [str(tmp_path / "p" / f"{name}.parquet")]).fetchone()  # fmt: skip
        with (tmp_path / "c" / f"{name}.csv").open() as f:
            assert len(list(csv.reader(f))) == n + 1
    done = execute("export", traced, "--to", "csv", "-o", tmp_path / "c")
    assert done.code == 2 and "empty" in done.err


def test_usage(execute: Execute) -> None:
    for line in (("info",), ("info", "a", "b"), ("query",), ("nothing",), ("export", "last")):
        done = execute(*line)
        assert done.code == 2
        assert done.err.startswith("afpscope: ")
        assert len(done.err.splitlines()) == 1


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    """In an interpreter that has none, the commands say which one they lack."""
    code = (
        "import sys; sys.modules['numpy'] = None; from afpscope.cli import main; "
        "sys.exit(main(['afpscope-info', 'last']))"
    )
    analysis = Path(__file__).parents[2] / "analysis"
    line = [sys.executable, "-c", code]
    done = subprocess.run(
        line, env={"PYTHONPATH": str(analysis)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    told = f"numpy is missing or broken for {sys.executable}: make install or the package"
    assert done.stderr.startswith(f"afpscope: the Python package {told}")


def _named(shelf: Shelf, execute: Execute, ids: int, lost: dict[str, int]) -> list[str]:
    """Names of the requests of a session, whose ids come round once; of each stream one is lost."""
    folder, n = shelf.put("r", "record"), 2 * ids
    tracegen.write(folder / "trace", 0)
    streams = {name: tracegen.records(name, n) for name in ("requests", "names")}
    for rows in streams.values():
        rows["session"], rows["command"] = 1, 7
        rows["dsi_id"] = np.arange(n) % ids
    streams["requests"]["timestamp"] += np.uint64(1000)
    streams["names"]["name"] = 1 + np.arange(n)
    for name, rows in streams.items():
        kept = np.delete(rows, lost[name]) if name in lost else rows
        (folder / "trace" / name).write_bytes(tracegen.packets(name, kept))
    done = execute("query", "--csv", folder, "select name from named order by timestamp")
    return [line.strip('"') for line in done.out.splitlines()[1:]]


@pytest.mark.parametrize("ids", [300, 1000])
def test_a_lost_name_is_not_replaced_by_an_older_one(
    shelf: Shelf, execute: Execute, ids: int
) -> None:
    """Also where the request that had the same id before is lost, too."""
    lost = ids + 5  # the sixth had the same id
    wanted = ["" if i == lost else str(i + 1) for i in range(2 * ids)]
    assert _named(shelf, execute, ids, {"names": lost}) == wanted
    shutil.rmtree(shelf.base / "r")
    del wanted[5]
    assert _named(shelf, execute, ids, {"names": lost, "requests": 5}) == wanted
