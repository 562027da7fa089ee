# SPDX-License-Identifier: GPL-2.0-or-later
"""Job files: a run is repeated by the file that --show-job makes of its command line, which is the
one that it keeps of itself; what is no file is no run.

Tests user/app/job.c. Of replay: replay/test_replay_judged.py, of sweep: load/test_sweep.py.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from jobs import REPEATED, repeated
from offline import analysis
from rxpeer import PerfServer, Ways
from scheduling import in_check
from scope import OK, REPO, USAGE, USERS, Scope, Server

MIX = "[mix]\nname = mine\nfiles = 3\nfile_size = 4K\nthink = 0.02\n[actions]\nlook = 1\nread = 2\n"
PAUSES = ["--think", "0.02"]
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
    "content": ["-n", "2", "-d", "1", "--verify", "--compressible", "30%", *PAUSES, *SHORT],
    "changes": ["-n", "2", "-d", "1", "--at", "0.5 echo 'a; b'", "--threads", "2", *PAUSES, *SHORT],
}  # fmt: skip


def test_each_command_with_job_files_is_repeated_by_one(scope: Scope) -> None:
    """A command that is new to them is missing in REPEATED."""
    listed = scope.execute([str(scope.binary), "--help"]).expect(OK).out
    commands = re.findall(r"^  ([a-z]+)  ", listed, re.M)
    assert {"load", "sweep", "clean"} < set(commands)
    has = set()
    for name in commands:
        python = REPO / "analysis" / "afpscope" / f"{name}.py"
        if python.exists():
            shown = python.read_text()
        else:
            shown = scope.execute([str(scope.binary), name, "--help"]).expect(OK).out
        if "--show-job" in shown:
            has.add(name)
    assert has == set(REPEATED)
    for file, test in REPEATED.values():
        assert f"def {test}(" in (Path(__file__).parents[1] / file).read_text()


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


@pytest.mark.parametrize(
    "command", in_check(["load", "probe", "smallfile", "speedtest", "lantest"], ["load", "lantest"])
)
def test_a_run_at_a_server_is_repeated_by_its_file(
    scope: Scope, sqlite: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("AFPSCOPE_PASSWORD", USERS["bench1"])
    url = f"afp://bench1@127.0.0.1:{sqlite.port}/vol1"
    line = LINES[command] if command != "lantest" else ["-f", "1", "-n", "1"]
    line = [*line, *PAUSES] if command == "load" else line
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


def test_the_load_of_a_job_file_is_put_on_each_server(scope: Scope, tmp_path: Path) -> None:
    """versus has no job files of its own: the load that it makes may come from one."""
    places = {name: tmp_path / name for name in ("one", "two")}
    for place in places.values():
        place.mkdir()
    there = str(tmp_path / "elsewhere")
    line = ["load", *LINES["load"], *PAUSES, "-m", "office", "--files", "3", there]
    shown = scope.execute([str(scope.binary), *line, "--show-job"]).expect(OK).out
    (tmp_path / "x.ini").write_text(shown)
    names = [f"{name}={place}" for name, place in places.items()]
    done = analysis(
        *("versus", "--program", scope.binary, "-o", tmp_path / "runs", "--pairs", "1"),
        *(*names, "--", "load", tmp_path / "x.ini"),
    )
    assert done.returncode == OK, done.stderr
    for run, place in zip(("001a", "001b"), places.values(), strict=True):
        options = json.loads((tmp_path / "runs" / run / "run.json").read_text())["options"]
        assert (options["mix"], options["clients"], options["seed"]) == ("office", "2", "7")
        assert options["directory"] == str(place)


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
        for command in REPEATED.keys() - {"sweep"}:  # python/test_sweep_job.py
            done = scope.execute([str(scope.binary), command, str(file)], timeout=10)
            done.expect(USAGE, f"{command}: ", str(file), why)


def test_a_mistake_has_file_line_and_exit_code(scope: Scope, tmp_path: Path) -> None:
    job = tmp_path / "x.ini"
    for command in REPEATED.keys() - {"sweep"}:
        job.write_text(f"[run]\ncommand = {command}\ncolour = red\n")
        done = scope.execute([str(scope.binary), command, str(job)], timeout=10)
        done.expect(USAGE, f"{command}: {job}, line 3: there is no key 'colour'")
