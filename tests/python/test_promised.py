# SPDX-License-Identifier: GPL-2.0-or-later
"""What docs/compatibility.md promises holds: the lists in tests/golden/1.0, and its runs, which
version 1.0.0 recorded, are read by every command."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import promised
import pytest
from conftest import Done, Shelf

Execute = Callable[..., Done]
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", promised.SOURCES)
def test_nothing_promised_went_or_changed_its_type(name: str) -> None:
    """If something is to be promised besides, make promised writes it into the list."""
    was = promised.promised(name)
    assert promised.broken(was, promised.now(name)) == [] and len(was) > 4


def test_what_goes_or_changes_breaks_a_promise_and_what_is_new_does_not() -> None:
    was = {"load --mix": "argument", "load --force": "no argument"}
    assert promised.broken(was, was | {"load --new": "argument"}) == []
    assert promised.broken(was, {"load --mix": "argument"}) == ["load --force is gone"]
    assert promised.broken(was, was | {"load --force": "argument"}) == [
        "load --force is argument, and was no argument"
    ]


@pytest.fixture
def kept(shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of lantest whose fields are promised, besides those of one of load."""
    (tmp_path / "kept").mkdir()
    monkeypatch.setenv("AFPSCOPE_ACCEPT", str(tmp_path / "kept"))
    monkeypatch.setattr(promised, "LISTS", tmp_path / "lists")
    for name in ("lantest-1", "load"):
        promised.keep_run(shelf.put(f"of-{name}", name))
    assert promised.accept_runs(tmp_path / "kept") != []
    assert promised.accept_runs(tmp_path / "kept") == []
    return shelf.put("kept", "lantest-1")


def change(folder: Path, how: Callable[[dict[str, Any]], object], name: str = "run.json") -> Path:
    value = json.loads((folder / name).read_text())
    how(value)
    (folder / name).write_text(json.dumps(value))
    return folder


def broken(folder: Path) -> list[str]:
    return promised.broken_run(promised.label_of(folder), folder)


def phase(value: dict[str, Any]) -> dict[str, Any]:
    first: dict[str, Any] = value["phases"][0]
    return first


def test_a_run_with_more_fields_keeps_all_promises(kept: Path) -> None:
    change(kept, lambda run: phase(run).update(new={"a": [1, "x"]}))
    change(kept, lambda tables: tables["sections"][0].update(new=1), "tables.json")
    assert broken(kept) == []


def test_what_was_not_measured_or_did_not_occur_breaks_no_promise(kept: Path) -> None:
    change(kept, lambda run: run.update(sessions=[], warnings=[], series=[]))
    change(kept, lambda run: phase(run).update(ledger=None))
    assert broken(kept) == []


def test_a_field_that_went_breaks_a_promise(kept: Path) -> None:
    def drop(run: dict[str, Any]) -> None:
        for one in run["phases"]:
            del one["iteration"]
        del run["tcp_values"]

    found = broken(change(kept, drop))
    label = promised.label_of(kept)
    assert f"run: phases[].iteration is gone ({label})" in found
    assert [text for text in found if "tcp_values" in text]


def test_a_field_of_another_type_breaks_a_promise(kept: Path) -> None:
    change(kept, lambda run: phase(run).update(title=5))
    found = broken(change(kept, lambda run: run.update(complete="yes")))
    assert [text.split(" (")[0] for text in found if "complete is" in text] == [
        "run: complete is string, and was boolean"
    ]
    assert [text for text in found if "phases[].title is integer or string" in text]


def test_a_column_of_another_unit_breaks_a_promise(kept: Path) -> None:
    def change_unit(tables: dict[str, Any]) -> None:
        for section in tables["sections"]:
            for column in section["columns"]:
                column["unit"] = "furlong"

    found = broken(change(kept, change_unit, "tables.json"))
    assert [text for text in found if "is furlong, and was" in text]


def test_no_promised_table_or_column_went() -> None:
    assert promised.tables_gone() == [] and len(promised.promised("tables")) > 100


def test_a_type_that_was_not_known_is_promised_later(kept: Path) -> None:
    """A field that was null in all runs so far; where it could be missing, it still may."""
    label = promised.label_of(kept)
    file = promised.LISTS / "run.txt"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines, f"{label} rare?: null", f"{label} never: null"]) + "\n")
    change(kept, lambda run: run.update(rare=5, never=None))
    promised.keep_run(kept)
    assert promised.accept_runs(kept.parents[1] / "kept") == [f"run: {label} rare?"]
    assert f"{label} rare?: integer" in file.read_text().splitlines()
    assert f"{label} never: null" in file.read_text().splitlines()
    assert any("rare" in text for text in broken(change(kept, lambda run: run.update(rare="x"))))


def test_a_column_that_went_breaks_a_promise(kept: Path) -> None:
    def rename(tables: dict[str, Any]) -> None:
        tables["sections"][0]["columns"][0]["name"] = "of_old"

    change(kept, rename, "tables.json")
    promised.keep_run(kept)
    promised.accept_runs(kept.parents[1] / "kept")
    assert [text for text in promised.tables_gone() if "of_old is gone" in text]


# The runs that 1.0.0 recorded: lantest twice, with traces, and record.


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    # tarfile of Debian 12 has no filters.
    subprocess.run(
        ["tar", "-x", "-C", tmp_path, "-f", ROOT / "tests/golden/1.0/runs.tar.xz"], check=True
    )
    return tmp_path / "runs"


@pytest.mark.parametrize("name", ["lantest-a", "lantest-b", "record"])
def test_a_run_of_1_0_can_be_trusted_and_is_drawn(
    runs: Path, name: str, tmp_path: Path, execute: Execute
) -> None:
    done = execute("info", runs / name)
    assert done.code == 0 and "afpscope 1.0.0 " in done.out, done.out + done.err
    done = execute("report", runs / name, "-o", tmp_path / "page.html")
    assert done.code == 0, done.err
    page = (tmp_path / "page.html").read_text()
    assert "FPWriteExt" in page and "Cross-checks" in page


def test_runs_of_1_0_are_compared_and_gated(runs: Path, tmp_path: Path, execute: Execute) -> None:
    done = execute("compare", runs / "lantest-a", runs / "lantest-b")
    assert done.code == 0 and "rows the same" in done.out, done.out + done.err
    assert "Writing one large file" in done.out and " 0 differ" in done.out
    counts = tmp_path / "counts.json"
    done = execute("gate", "--accept", "--counts", counts, runs / "lantest-a", runs / "lantest-b")
    assert done.code == 0, done.err
    assert execute("gate", runs / "lantest-b", "--counts", counts).code == 0


def test_a_trace_of_1_0_is_asked_and_dumped(runs: Path, execute: Execute) -> None:
    sql = "select command, count(*) n from requests group by 1 order by n desc limit 2"
    done = execute("query", runs / "lantest-a", "--format", "csv", sql)
    assert done.code == 0 and "FPWriteExt" in done.out, done.out + done.err
    done = execute("dump", runs / "lantest-a", "--slow", "3", "--calls")
    assert done.code == 0 and "FP" in done.out, done.out + done.err


def test_a_bundle_of_1_0_is_read(tmp_path: Path, execute: Execute) -> None:
    bundle = ROOT / "tests/golden/1.0/bundle.json"
    done = execute("info", bundle)
    assert done.code == 0 and "afpscope 1.0.0 " in done.out, done.out + done.err
    done = execute("report", bundle, "-o", tmp_path / "page.html")
    assert done.code == 0 and "Cross-checks" in (tmp_path / "page.html").read_text(), done.err
