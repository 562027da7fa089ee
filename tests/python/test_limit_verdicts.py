# SPDX-License-Identifier: GPL-2.0-or-later
"""What load said of its limits is on the page of a load and of a sweep, and in compare."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import Done
from sweeping import Made, document, sweep

Execute = Callable[..., Done]


def said(kept: bool | None, ms: float) -> list[dict[str, Any]]:
    words = {True: "kept", False: "broken", None: "unknown"}
    why = "the load generator had no time left" if kept is None else None
    return [{"text": "p99<=50ms", "kept": kept, "verdict": words[kept], "why": why,
             "value_ns": round(ms * 1e6), "value_at_least": False}]  # fmt: skip


def run(folder: Path, kept: bool | None, ms: float) -> Path:
    folder.mkdir()
    value = document(Made(p99_ms=ms, slo=said(kept, ms)), str(folder))
    (folder / "run.json").write_text(json.dumps(value))
    return folder


def test_the_page_of_a_load_has_each_limit(tmp_path: Path, execute: Execute) -> None:
    for kept, want in (
        (True, "kept; it was 18.0 ms"),
        (False, "broken; it was 18.0 ms"),
        (None, "cannot tell: the load generator had no time left; it was 18.0 ms"),
    ):
        page = tmp_path / f"{kept}.html"
        execute("report", run(tmp_path / f"run-{kept}", kept, 18), "-o", page)
        text = page.read_text()
        assert "p99&lt;=50ms" in text and want in text, kept
        assert (f'alarm">{want}' in text) is (kept is not True)


def test_the_page_of_a_sweep_has_the_limit_of_each_step(tmp_path: Path, execute: Execute) -> None:
    points: list[tuple[str, Made | None]] = [
        ("1", Made(p99_ms=10, slo=said(True, 10))),
        ("2", Made(p99_ms=90, slo=said(False, 90))),
        ("5", Made(p99_ms=90, slo=said(None, 90))),
    ]
    sweep(tmp_path / "s", points, slo="p99<=50ms")
    execute("report", tmp_path / "s", "-o", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    for want in ("kept; it was 10.0 ms", "broken; it was 90.0 ms", "cannot tell: the load"):
        assert f"p99&lt;=50ms: {want}" in text


def test_compare_says_how_many_runs_kept_it(tmp_path: Path, execute: Execute) -> None:
    a = [run(tmp_path / f"a{i}", True, 18) for i in range(2)]
    b = [run(tmp_path / f"b{i}", kept, 18) for i, kept in enumerate((True, False, None))]
    done = execute("compare", *a, "--", *b)
    assert (
        "limit p99<=50ms: A kept in 2 of 2 runs; B kept in 1, broken in 1, cannot tell in 1 of 3 "
        "runs (the load generator had no time left)" in done.err
    )
    assert "A kept; it was 18.0 ms; B broken; it was 18.0 ms" in execute("compare", a[0], b[1]).err
