# SPDX-License-Identifier: GPL-2.0-or-later
"""The history of netatalk's dashboard, read back by the rules of its perf_history.pl."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

from afpscope.dashboard import key_of
from afpscope.saved.run import Run
from conftest import Done, Shelf

Execute = Callable[..., Done]


def read(text: str) -> dict[str, list[dict[str, str]]]:
    """As that script reads it: a line of another shape drops the key."""
    out: dict[str, list[dict[str, str]]] = {}
    key = None
    for line in text.splitlines():
        if found := re.fullmatch(r"(\S.*?):\s*", line):
            key = found[1]
            out[key] = []
        elif key and (found := re.fullmatch(r"- (\w+): (.*)", line)):
            out[key].append({found[1]: found[2].strip("'")})
        elif key and out[key] and (found := re.fullmatch(r"  (\w+): (.*)", line)):
            out[key][-1][found[1]] = found[2].strip("'")
        else:
            raise AssertionError(line)
    return out


def started(when: str) -> Callable[[Any], None]:
    return lambda value: value.update(started=when)


def test_each_run_is_an_entry_of_each_test(execute: Execute, shelf: Shelf, tmp_path: Path) -> None:
    one = shelf.put("one", "lantest-1", started("2026-08-02T00:00:00.123456789Z"))
    two = shelf.put("two", "lantest-2", started("2026-08-01T00:00:00Z"))
    out = tmp_path / "history.yml"
    done = execute("report", one, two, "--history", out, "--pr", "3302,3301")
    assert done.code == 0, done.err
    found = read(out.read_text())
    for folder, pr in ((one, "3302"), (two, "3301")):
        run = Run.open(folder)
        for title in {p.title for p in run.whole_phases}:
            times = [p.metrics["elapsed"] / 1e6 for p in run.whole_phases if p.title == title]
            entry = next(e for e in found[key_of(title)] if e["pr"] == pr)
            assert entry == {"pr": pr, "ts": f"{run.started[:19]}Z", "value": f"{fmean(times):.3f}"}
    assert all([e["pr"] for e in of_key] == ["3301", "3302"] for of_key in found.values())


def test_the_newest_run_of_a_pull_request_counts(
    execute: Execute, shelf: Shelf, tmp_path: Path
) -> None:
    one = shelf.put("one", "lantest-1", started("2026-08-02T00:00:00Z"))
    two = shelf.put("two", "lantest-2", started("2026-08-01T00:00:00Z"))
    out = tmp_path / "history.yml"
    assert execute("report", one, two, "--history", out, "--pr", "7,7").code == 0
    found = read(out.read_text())
    assert all(e["ts"] == "2026-08-02T00:00:00Z" for of_key in found.values() for e in of_key)


def test_what_does_not_compare_is_refused(execute: Execute, shelf: Shelf, tmp_path: Path) -> None:
    out = tmp_path / "history.yml"
    one = shelf.put("one")
    other = shelf.put("other", change=lambda value: value.update(set="lantest-4.6"))
    broken = shelf.put("broken", change=lambda value: value.update(complete=False))
    transfer = shelf.put("transfer", "speedtest")
    for args, message in (
        (
            (one, other, "--pr", "1,2"),
            "runs of different sets do not compare: lantest-4.5, lantest-4.6",
        ),
        ((one, "--pr", "1,2"), "2 numbers for 1 runs"),
        ((one, "--pr", "x"), "'x' is not a list of numbers"),
        ((one,), "--history and --pr need each other"),
        ((broken, "--pr", "1"), "broken broke off"),
        ((transfer, "--pr", "1"), "transfer is a run of speedtest"),
    ):
        done = execute("report", *args, "--history", out)
        assert done.code in (1, 2) and message in done.err, (args, done)
        assert not out.exists()


def test_keys_are_those_of_the_dashboard() -> None:
    for title, key in (
        ("Creating 2000 files [4,000 AFP ops]", "creating_2000_files"),
        ("Create 2000 dirs tree [2,000 AFP ops]", "create_2000_dirs_tree"),
        ("Byte-range lock/unlock 2000 ranges in one fork [4,000 AFP ops]",
         "byte_range_lock_unlock_2000_ranges_in_one_fork"),
    ):  # fmt: skip
        assert key_of(title) == f"lantest.{key}.mean_ms"
