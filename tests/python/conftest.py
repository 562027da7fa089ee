# SPDX-License-Identifier: GPL-2.0-or-later
"""Saved runs of real servers (data/), as folders and as changed copies."""

from __future__ import annotations

import gzip
import hashlib
import json
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from afpscope.cli import main
from hypothesis import settings

# Found examples are not kept: a test says the same wherever it runs, and however slowly.
settings.register_profile("afpscope", database=None, deadline=None)
settings.load_profile("afpscope")

# Whoever started the tests may ignore ^C, as a shell does for what it starts in the background. The
# programs under test would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


DATA = Path(__file__).parent / "data"
Change = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Shelf:
    """Makes run folders below `base`; each run has an id of its own."""

    base: Path

    def put(
        self,
        name: str,
        source: str = "lantest-1",
        change: Change | None = None,
        tables: Change | None = None,
    ) -> Path:
        """`tables`: changes its tables, which are those of another run of its kind."""
        value = json.loads(gzip.decompress((DATA / f"{source}.json.gz").read_bytes()))
        value["id"] = hashlib.sha256(name.encode()).hexdigest()[:16]
        if change:
            change(value)
        folder = self.base / name
        folder.mkdir()
        (folder / "run.json").write_text(json.dumps(value))
        if (saved := DATA / f"{source}.tables.json.gz").exists():
            found = json.loads(gzip.decompress(saved.read_bytes())) | {"run": value["id"]}
            if tables:
                tables(found)
            (folder / "tables.json").write_text(json.dumps(found))
        return folder


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """An empty place for runs, which is also the user's own."""
    base = tmp_path / "runs"
    base.mkdir()
    monkeypatch.setenv("AFPSCOPE_RUNS", str(base))
    return Shelf(base)


@contextmanager
def no_more_than(size_bytes: int) -> Iterator[None]:
    """Lets no file grow beyond that: as a full disk, but for the reason told.

    For the command alone: what the tests print can be such a file, too.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(autouse=True)
def _interrupt() -> Iterator[None]:
    """^C and a reader that ends do after a test what they did before: PySpark, for one, and dump
    have handlers of their own."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGPIPE)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def _unpainted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most tests read what a page says: its figures are made, and nobody draws them, which takes
    most of the time of a page of loads. A test that looks at them is marked as painted."""
    if request.node.get_closest_marker("painted"):
        return
    from afpscope.page import figures

    monkeypatch.setattr(figures, "svg", lambda _made, _salt: "<svg></svg>")
    monkeypatch.setattr(figures, "save", lambda _made, _to, _form, _salt: True)


@pytest.fixture
def execute(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Runs afpscope-COMMAND."""

    def call(command: str, *args: str | Path) -> Done:
        code = main([f"/usr/bin/afpscope-{command}", *map(str, args)])
        got = capsys.readouterr()
        return Done(code, got.out, got.err)

    return call
