# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope sweep of a directory and of netatalk: steps, one set of files, and nothing left."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from netatalk import USERS, Server
from offline import analysis, command
from scope import FAILED, LOST, OK, PinnedServer, Scope, crash, left_on, wait_until

INTERRUPTED = 130
PAUSES = ("--think", "0.02")
SHORT = ("-d", "1", "--ramp=0", "--files=5", "--pause", "0")


@pytest.fixture
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFPSCOPE_PASSWORD", USERS["bench1"])


def url(server: Server) -> str:
    return f"afp://bench1@127.0.0.1:{server.port}/vol1"


def sweep(scope: Scope, out: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return analysis("sweep", "--program", scope.binary, "-o", out, *SHORT, *words)


def noted(out: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((out / "sweep.json").read_text())
    return value


def options_of(step: Path) -> dict[str, str]:
    value: dict[str, str] = json.loads((step / "run.json").read_text())["options"]
    return value


def test_a_directory_is_swept_on_one_set(scope: Scope, tmp_path: Path) -> None:
    there, out = tmp_path / "there", tmp_path / "out"
    there.mkdir()
    done = sweep(scope, out, "--clients", "1,3", "--slo", "p99=100s", "--refine", "1",
                 "--think", "0.05", there)  # fmt: skip
    assert done.returncode == OK, done.stderr
    assert "p99=100s is kept at every value, up to 3 clients" in done.stdout
    made = noted(out)
    assert made["complete"] and [s["exit"] for s in made["steps"]] == [OK] * 3
    assert made["steps"][2]["value"] == "3" and made["steps"][2]["why"] == "again"
    found = [options_of(out / s["folder"]) for s in made["steps"]]
    assert {o["clients"] for o in found} == {"1", "3"}
    assert len({o["set_bytes"] for o in found}) == 1
    assert list(there.iterdir()) == []


def test_the_job_of_a_sweep_repeats_it(scope: Scope, tmp_path: Path) -> None:
    there, first, again = tmp_path / "there", tmp_path / "first", tmp_path / "again"
    there.mkdir()
    line = ["-n", "1,3", "--order=up", "--refine=0", "--slo=p99=100s", "-m", "office"]
    line += ["--at", '0.2 true "a ; b"', "--no-probe", *PAUSES, str(there)]
    done = sweep(scope, first, *line)
    assert done.returncode == OK, done.stderr
    program = ("sweep", "--program", scope.binary)
    done = analysis(*program, "--show-job", *SHORT, *line)
    assert done.returncode == OK, done.stderr
    job = tmp_path / "shown.ini"
    job.write_text(done.stdout)
    assert sorted((first / "job.ini").read_text().splitlines()) == sorted(done.stdout.splitlines())
    done = analysis(*program, "-o", again, job)
    assert done.returncode == OK, done.stderr
    kept = [sorted((out / "job.ini").read_text().splitlines()) for out in (first, again)]
    assert kept[0] == kept[1]
    steps = [s["folder"] for s in noted(first)["steps"]]
    assert [s["folder"] for s in noted(again)["steps"]] == steps == ["001-1", "002-3"]
    for step in steps:
        assert options_of(again / step) == options_of(first / step)
    assert list(there.iterdir()) == []
    other = analysis(*program, "--show-job", job, "--clients", "2,4", "--repeat=3")
    assert other.returncode == OK, other.stderr
    assert {"clients = 2,4", "repeat = 3", "mix = office"} < set(other.stdout.splitlines())
    (tmp_path / "wrong.ini").write_text("[run]\ncommand = sweep\nclients = 1,2\nmicks = x\n")
    wrong = analysis(*program, "-o", tmp_path / "o", tmp_path / "wrong.ini", there)
    assert wrong.returncode == 2 and "line 4: there is no key 'micks'" in wrong.stderr


def test_netatalk_is_swept_and_the_sweep_reported(
    scope: Scope, dbd: Server, tmp_path: Path, password: None
) -> None:
    out = tmp_path / "out"
    done = sweep(scope, out, "--clients", "1,2,4", "-m", "office", *PAUSES, url(dbd))
    assert done.returncode == OK, done.stdout + done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[1:4]] == ["1", "2", "4"]
    assert left_on(dbd) == []
    figures, page = tmp_path / "figures", tmp_path / "r.html"
    told = analysis("report", out, "-o", page, "--figures", figures)
    assert told.returncode == OK, told.stderr
    assert page.read_text().count("<figure>") == 4
    with (figures / "sweep-parts.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    # The parts of a request are from the server's own account: afpd did work on it.
    assert [r["clients"] for r in rows] == ["1", "2", "4"]
    assert all(float(r["own_ns"]) > 0 and float(r["outside_ns"]) >= 0 for r in rows)


def test_a_signal_leaves_no_files_on_the_server(
    scope: Scope, dbd: Server, tmp_path: Path, password: None
) -> None:
    out = tmp_path / "out"
    line = [*command(), "sweep", "--program", str(scope.binary), "-o", str(out), "--clients", "1,2",
                         "-d", "60", "--files=5", *PAUSES, url(dbd)]  # fmt: skip
    child = scope.start(line)
    log = out / "001-1.txt"
    wait_until(lambda: bool(left_on(dbd)) or log.with_name("002-2.txt").exists(), 60, "a set")
    os.kill(child.process.pid, signal.SIGTERM)
    done = child.finish()
    assert done.status == INTERRUPTED, done
    assert noted(out)["stopped"] == "SIGTERM" and len(noted(out)["steps"]) == 1
    assert left_on(dbd) == []


def test_a_step_whose_server_is_restarted_is_marked_and_the_next_runs(
    scope: Scope, victim: PinnedServer, tmp_path: Path, password: None
) -> None:
    out, begun = tmp_path / "out", tmp_path / "begun"
    begun.touch()
    line = [*command(), "sweep", "--program", str(scope.binary), "-o", str(out), "--order", "up",
            "--clients", "1,2,3", *SHORT[2:], "-d", "4", "--watch=off", *PAUSES,
            "--at", f"0 echo >> {begun}", url(victim)]  # fmt: skip
    child = scope.start(line)
    wait_until(lambda: len(begun.read_text()) == 2, 60, "the work of the second step")
    crash(victim)
    done = child.finish()
    assert done.status == FAILED, done
    assert "Step 002-2 failed: " in done.out
    made = noted(out)
    assert made["complete"] and [s["exit"] for s in made["steps"]] == [OK, LOST, OK]
    broken = json.loads((out / "002-2" / "run.json").read_text())
    assert not broken["complete"] and broken["phases"][0]["load"]["lost"] == 2
    assert left_on(victim) == []
