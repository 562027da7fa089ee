# SPDX-License-Identifier: GPL-2.0-or-later
"""Job files: a run is repeated by the file that it keeps of itself; what is no file is no run.

Tests user/app/job.c.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rxpeer import PerfServer, Ways
from scope import OK, USAGE, USERS, Run, Scope, Server

MIX = "[mix]\nname = mine\nfiles = 3\nfile_size = 4K\n[actions]\nlook = 1\nread = 2\n"
SHORT = ["--ramp", "0", "--no-probe", "--seed", "7"]
LINES = {
    "load": ["-n", "2", "-d", "1", *SHORT],
    "smallfile": ["-n", "2", "-f", "5", "-l", "create,stat,delete"],
    "speedtest": ["-D", "-d", "64K", "-n", "2", "-f", "Write"],
    "probe": ["-d", "1"],
}
# Others of load: what changes while it works, limits, pauses, several values of one option.
LOADS = {
    "rate": ["-n", "3", "--rate", "0:20,1:60", "-d", "2", "--arrivals", "fixed", *SHORT],
    "clients": ["-n", "0:1,1:3", "-d", "2", "--think", "uniform:0.1-0.2", *SHORT],
    "limits": ["-n", "2", "--rate", "50", "-d", "1", "--queue", "9", "--abort-on-slo",
               "--slo", "rate>=1,failed<=0.1%", "--slo", "p99<=5s", *SHORT],
    "content": ["-n", "2", "-d", "1", "--verify", "--compressible", "30%", *SHORT],
    "changes": ["-n", "2", "-d", "1", "--at", "0.5 echo 'a; b'", "--threads", "2", *SHORT],
}  # fmt: skip


def options(run: Run) -> dict[str, str]:
    return {k: v for k, v in run.saved["options"].items() if k != "directory"}


def repeated(scope: Scope, tmp_path: Path, line: list[str], **forget: Path) -> None:
    """The command line once, and by the file that its run kept, without the files of forget."""
    first, second = tmp_path / "1", tmp_path / "2"
    scope.execute([str(scope.binary), *line, "-o", str(first)]).expect(OK)
    for file in forget.values():
        file.unlink()
    command, job = line[0], str(first / "job.ini")
    scope.execute([str(scope.binary), command, job, "-o", str(second)]).expect(OK)
    runs = [Run.load(folder / "run.json") for folder in (first, second)]
    assert options(runs[0]), "what a run was asked for is in it"
    assert options(runs[0]) == options(runs[1])
    assert (second / "job.ini").read_text() == (first / "job.ini").read_text()
    shown = scope.execute([str(scope.binary), command, job, "--show-job"]).expect(OK)
    assert shown.out == (first / "job.ini").read_text()


@pytest.mark.parametrize("command", LINES)
def test_a_run_is_repeated_by_its_own_file(scope: Scope, tmp_path: Path, command: str) -> None:
    mix = tmp_path / "mix.ini"
    mix.write_text(MIX)
    place = tmp_path / "a place"
    place.mkdir()
    if command == "load":
        repeated(scope, tmp_path, [command, *LINES[command], "-m", str(mix), str(place)], mix=mix)
    else:
        repeated(scope, tmp_path, [command, *LINES[command], str(place)])


@pytest.mark.parametrize("what", LOADS)
def test_each_kind_of_load_is_repeated_by_its_file(scope: Scope, tmp_path: Path, what: str) -> None:
    place = tmp_path / "a place"
    place.mkdir()
    repeated(scope, tmp_path, ["load", *LOADS[what], "--file-size", "4K", str(place)])


@pytest.mark.parametrize("command", ["load", "probe", "smallfile", "speedtest", "lantest"])
def test_a_run_at_a_server_is_repeated_by_its_file(
    scope: Scope, sqlite: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("AFPSCOPE_PASSWORD", USERS["bench1"])
    url = f"afp://bench1@127.0.0.1:{sqlite.port}/vol1"
    line = LINES[command] if command != "lantest" else ["-f", "1", "-n", "1"]
    line = line if command != "speedtest" else line[1:]  # -D is for directories
    repeated(scope, tmp_path, [command, *line, "--watch", "off", url])
    assert USERS["bench1"] not in (tmp_path / "1" / "job.ini").read_text()


def test_calls_of_rx_are_repeated_by_their_file(scope: Scope, tmp_path: Path) -> None:
    with PerfServer(Ways()) as server:
        place = f"127.0.0.1:{server.port}"
        repeated(
            scope, tmp_path, ["rx", "-c", "recv,send", "-b", "20K", "-n", "2", "-T", "1", place]
        )
        calls = len(server.served)
    assert calls == 8, "four calls each time"


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
