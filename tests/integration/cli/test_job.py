# SPDX-License-Identifier: GPL-2.0-or-later
"""Job files: a run is repeated by the file that it keeps of itself; what is no file is no run.

Tests user/app/job.c.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from scope import OK, USAGE, Run, Scope

MIX = "[mix]\nname = mine\nfiles = 3\nfile_size = 4K\n[actions]\nlook = 1\nread = 2\n"
LINES = {
    "load": ["-n", "2", "-d", "1", "--ramp", "0", "--no-probe", "--seed", "7"],
    "smallfile": ["-n", "2", "-f", "5", "-l", "create,stat,delete"],
    "speedtest": ["-D", "-d", "64K", "-n", "2", "-f", "Write"],
    "probe": ["-d", "1"],
}


def options(run: Run) -> dict[str, str]:
    return {k: v for k, v in run.saved["options"].items() if k != "directory"}


@pytest.mark.parametrize("command", LINES)
def test_a_run_is_repeated_by_its_own_file(scope: Scope, tmp_path: Path, command: str) -> None:
    (tmp_path / "mix.ini").write_text(MIX)
    place = tmp_path / "a place"
    place.mkdir()
    line = [*LINES[command], *(["-m", str(tmp_path / "mix.ini")] if command == "load" else [])]
    first, second = tmp_path / "1", tmp_path / "2"
    scope.execute([str(scope.binary), command, *line, "-o", str(first), str(place)]).expect(OK)
    (tmp_path / "mix.ini").unlink()
    job = str(first / "job.ini")
    scope.execute([str(scope.binary), command, job, "-o", str(second)]).expect(OK)
    runs = [Run.load(folder / "run.json") for folder in (first, second)]
    assert options(runs[0]) == options(runs[1])
    assert (second / "job.ini").read_text() == (first / "job.ini").read_text()
    shown = scope.execute([str(scope.binary), command, job, "--show-job"]).expect(OK)
    assert shown.out == (first / "job.ini").read_text()


def test_a_job_file_that_cannot_be_read_is_refused_at_once(scope: Scope, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.ini")
    (tmp_path / "endless.ini").symlink_to("/dev/zero")
    (tmp_path / "folder.ini").mkdir()
    (tmp_path / "large.ini").write_bytes(b"; x\n" * (1 << 19))
    for name, why in (
        ("pipe", "is not a regular file"),
        ("endless", "is not a regular file"),
        ("folder", "is not a regular file"),
        ("large", "is longer than"),
        ("missing", "No such file"),
    ):
        file = tmp_path / f"{name}.ini"
        for command in (*LINES, "lantest", "rx"):
            done = scope.execute([str(scope.binary), command, str(file)], timeout=10)
            done.expect(USAGE, f"{command}: ", str(file), why)


def test_a_mistake_has_file_line_and_exit_code(scope: Scope, tmp_path: Path) -> None:
    job = tmp_path / "x.ini"
    for command in (*LINES, "lantest", "rx"):
        job.write_text(f"[run]\ncommand = {command}\ncolour = red\n")
        done = scope.execute([str(scope.binary), command, str(job)], timeout=10)
        done.expect(USAGE, f"{command}: {job}, line 3: there is no key 'colour'")
