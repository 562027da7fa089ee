# SPDX-License-Identifier: GPL-2.0-or-later
"""Every command of the cookbook runs; its queries of fleets give the same in both engines."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from typing import Any

import cookbook
import pytest
import tracegen
from conftest import Shelf

QUERIES = sorted((cookbook.ROOT / "docs" / "queries").glob("*.sql"))


def no_spark() -> str:
    """Why PySpark cannot be run here; empty where it can."""
    missing = [] if importlib.util.find_spec("pyspark") else ["pyspark"]
    missing += [] if shutil.which("java") else ["Java"]
    need = "AFPSCOPE_SPARK=1 make python installs both, 700 MB"
    return f"no {' and no '.join(missing)} here ({need})" if missing else ""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Beside runs/ with the three that the cookbook has."""
    shelf = Shelf(tmp_path_factory.mktemp("cookbook") / "runs")
    shelf.base.mkdir()
    for name, source in (("yesterday", "lantest-1"), ("today", "lantest-2"), ("session", "record")):
        folder = shelf.put(name, source)
        tracegen.write(folder / "trace")
        for stream, rows in tracegen.both_sides(3000).items():
            (folder / "trace" / stream).write_bytes(tracegen.packets(stream, rows))
    return shelf.base.parent


@pytest.fixture(scope="module")
def done(runs: Path) -> dict[str, subprocess.CompletedProcess[str]]:
    """Every command, run once in the order of the page."""
    env, lines = cookbook.place(runs), cookbook.commands()
    return {line: cookbook.run(line, runs, env) for line in lines if "fleet.py spark" not in line}


@pytest.fixture
def exported(runs: Path, done: object) -> Path:
    return runs / "fleet"


@pytest.mark.slow
def test_every_command_runs(done: dict[str, subprocess.CompletedProcess[str]]) -> None:
    assert len(done) > 14
    for line, ended in done.items():
        assert ended.returncode == 0, (line, ended.stdout)
        assert ended.stdout, line


def fleet() -> Any:
    path = cookbook.ROOT / "docs" / "queries" / "fleet.py"
    spec = importlib.util.spec_from_file_location("fleet", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_queries_answer_of_every_run(exported: Path) -> None:
    assert len(QUERIES) == 3
    for query in QUERIES:
        names, rows = fleet().answer("duckdb", exported, query.read_text())
        assert {row[names.index("run")] for row in rows} == {"today", "yesterday"}


@pytest.mark.slow
@pytest.mark.judges
@pytest.mark.skipif(bool(no_spark()), reason=no_spark())
def test_spark_gives_the_same_answers(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # In so short a run the JVM's optimising compiler takes more CPU time than it saves.
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
    for query in QUERIES:
        ours, theirs = (fleet().answer(e, exported, query.read_text()) for e in ("duckdb", "spark"))
        assert ours[0] == theirs[0] and len(ours[1]) == len(theirs[1])
        for a, b in zip(ours[1], theirs[1], strict=True):
            assert a == pytest.approx(b, abs=0.1)
