# SPDX-License-Identifier: GPL-2.0-or-later
"""Where runs are kept, and how they are called."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from netatalk import USERS, Server
from offline import command
from scope import FAILED, INTERRUPTED, OK, USAGE, Scope, left_on, wait_until

SHORT = ("-n", "1", "-f", ";")
# Where it is kept does not depend on what was watched.
UNWATCHED = (*SHORT, "--watch=off")


def kept(text: str) -> Path:
    """The path that is printed last."""
    last = " ".join(text.split())
    found = re.search(r"(?:run: |is in )(\S+)$|report (\S+) -o report.html$", last)
    assert found, text
    return Path(found[1] or found[2])


def test_a_run_is_kept_among_the_users_by_its_time(
    scope: Scope, dbd: Server, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    env = {"XDG_STATE_HOME": str(home), "AFPSCOPE_RUNS": ""}
    folders = [kept(scope(dbd, *UNWATCHED, env=env).expect(OK).err) for _ in range(2)]
    runs = home / "afpscope" / "runs"
    for folder in folders:
        assert folder.parent == runs
        saved = json.loads((folder / "run.json").read_text())
        assert saved["complete"] is True
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d{6}-lantest-[0-9a-f]{8}", folder.name)
        assert saved["id"].startswith(folder.name[-8:])
    assert {p.name for p in runs.iterdir()} == {*(f.name for f in folders), "last"}
    assert (runs / "last").resolve() == folders[1].resolve()


def test_a_folder_may_be_named_and_is_made(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "run"
    done = scope(dbd, *SHORT, "-o", str(folder)).expect(OK)
    assert kept(done.err) == folder
    assert sorted(p.name for p in folder.iterdir()) == ["job.ini", "run.json", "tables.json"]
    scope(dbd, *SHORT, "-o", str(folder)).expect(USAGE, "has a run in it already")


def test_nothing_is_kept_where_nobody_wants_it(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    env = {"AFPSCOPE_RUNS": str(tmp_path / "runs")}
    done = scope(dbd, *UNWATCHED, "--no-save", env=env).expect(OK)
    assert "(this run was not kept)" in done.err
    peers = scope.binary.with_name("afp_lantest")
    line = [str(peers), *scope.login(dbd), *SHORT]
    done = scope.execute(line, env=env).expect(OK)
    assert "Everything" not in done.out + done.err
    assert not (tmp_path / "runs").exists()


def test_a_folder_that_cannot_be_made(scope: Scope, dbd: Server) -> None:
    """Named: an error before anything is done; not named: the run is worth more."""
    scope(dbd, *SHORT, "-o", "/proc/here").expect(FAILED, "cannot make folder /proc/here")
    env = {"AFPSCOPE_RUNS": "/proc/runs"}
    done = scope(dbd, *UNWATCHED, env=env, save=True).expect(OK)
    assert done.run
    told = "the run is not kept: cannot make folder /proc/runs"
    assert told in done.run.warning("output")
    line = [*scope.command(dbd, *UNWATCHED), "--table", "peer"]
    assert told in scope.execute(line, env=env).expect(OK).err
    scope(dbd, *SHORT, "--trace", env=env).expect(FAILED, "cannot make folder /proc/runs")


def test_a_full_disk_where_the_users_runs_are(
    scope: Scope, dbd: Server, small_disk: Path, tmp_path: Path
) -> None:
    """As a folder that cannot be made: nothing but a warning; where -o asked for it, an error."""
    with contextlib.suppress(OSError), (small_disk / "all of it").open("wb", 0) as filler:
        while filler.write(b"x" * 4096):
            pass
    runs, told = small_disk / "runs", "run.json: No space left on device"
    env = {"AFPSCOPE_RUNS": str(runs)}
    done = scope(dbd, *UNWATCHED, env=env)
    done.expect(OK, f"the run is not kept: cannot write {runs}", told)
    assert "Everything" not in done.err
    assert not list(runs.iterdir()), "also not a link to what is gone"
    kept_else = tmp_path / "else.json"
    done = scope(dbd, *UNWATCHED, "--json", str(kept_else), env=env).expect(OK, "is not kept")
    assert kept(done.err) == kept_else
    done = scope(dbd, *UNWATCHED, "-o", str(small_disk / "wanted")).expect(FAILED, told)
    assert "not kept" not in done.err + done.out


@pytest.mark.parametrize("verbose", [[], ["-v"]])
def test_a_run_without_its_tables_is_kept(scope: Scope, tmp_path: Path, verbose: list[str]) -> None:
    folder = tmp_path / "run"
    (folder / "tables.json" / "in the way").mkdir(parents=True)
    line = [str(scope.binary), "speedtest", "-L", "-D", "-P", str(tmp_path / "data"), "-f", "Write"]
    line += ["-z", "4K", "-n", "1", "-W", "0", "-o", str(folder), *verbose]
    done = scope.execute(line).expect(OK, "tables.json: Is a directory", "the run is kept")
    assert json.loads((folder / "run.json").read_text())["complete"]
    assert str(folder) in done.out + done.err


def test_a_folder_is_one_runs_own(scope: Scope, tmp_path: Path) -> None:
    """Also while its run is being made, and though it has nothing in it yet."""
    folder, local = tmp_path / "run", [str(scope.binary), "speedtest", "-L", "-D", "-f", "Write"]
    line = [*local, "-z", "4K", "-W", "0", "-o", str(folder)]
    first = scope.start([*line, "-P", str(tmp_path / "1"), "-n", "100000"])
    wait_until(lambda: any((tmp_path / "1").glob("*/*")), 20, "its file")
    scope.execute([*line, "-P", str(tmp_path / "2"), "-n", "1"]).expect(
        USAGE, "another run is being kept in", str(folder)
    )
    first.signal(signal.SIGINT)
    first.finish(20).expect(INTERRUPTED)
    assert "speedtest" in (folder / "run.json").read_text()
    scope.execute([*line, "-P", str(tmp_path / "2"), "-n", "1"]).expect(USAGE, "has a run in it")


def test_no_server_no_folder(scope: Scope, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    line = [str(scope.binary), "lantest", "afp://bench1@127.0.0.1:1/vol1", "-o", str(folder)]
    done = scope.execute(line, env={"AFPSCOPE_PASSWORD": "x"})
    assert done.status not in (OK, USAGE)
    assert not folder.exists()


def test_no_folder_is_empty(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    """The server is there, but what was asked for cannot be done."""
    for tool, options in (("lantest", ["-F", "none"]), ("speedtest", ["-f", "read", "-F", "none"])):
        folder = tmp_path / tool
        line = scope.command(dbd, *options, "-o", str(folder), tool=tool)
        done = scope.execute(line)
        assert done.status not in (OK, USAGE)
        assert not folder.exists() or (folder / "run.json").exists()
        assert folder.exists() == (str(folder) in " ".join(done.err.split()))


def test_record_and_local_transfers_keep_theirs(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    recorded, local = tmp_path / "recorded", tmp_path / "local"
    scope.execute(scope.recorder(dbd, "-d", "1", "-o", str(recorded))).expect(OK)
    assert json.loads((recorded / "run.json").read_text())["command"] == "record"
    work = tmp_path / "work"
    line = [str(scope.binary), "speedtest", "-L", "-P", str(work), "-D"]
    line += ["-z", "64K", "-n", "2", "-f", "read"]
    scope.execute([*line, "-o", str(local)]).expect(OK)
    assert json.loads((local / "run.json").read_text())["command"] == "speedtest"


def test_the_traces_cpu_must_be_there(scope: Scope, dbd: Server) -> None:
    for cpu in ("4096", "x", "-1", "1x", ""):
        done = scope(dbd, *SHORT, "--trace", f"--trace-cpu={cpu}")
        done.expect(USAGE, f"--trace-cpu: '{cpu}': this machine has CPUs 0 to")


@pytest.mark.parametrize(("number", "alone"), [(signal.SIGINT, False), (signal.SIGTERM, True)])
def test_ab_that_is_stopped_leaves_nothing_on_the_volume(
    scope: Scope, dbd: Server, tmp_path: Path, number: signal.Signals, alone: bool
) -> None:
    """A ^C, which the whole group gets, and a signal for ab alone."""
    folder, url = tmp_path / "ab", f"afp://bench1@127.0.0.1:{dbd.port}/vol1"
    line = [*command(), "ab", "--a", url, "--b", url, "-o", str(folder)]
    line += ["--program", str(scope.binary), "--", "lantest", "-n", "9"]
    env = os.environ | {"AFPSCOPE_PASSWORD": USERS["bench1"]}
    pipe = subprocess.PIPE
    with subprocess.Popen(line, env=env, stderr=pipe, text=True, start_new_session=True) as child:
        wait_until(lambda: bool(left_on(dbd)), 60, "its directory")
        (os.kill if alone else os.killpg)(child.pid, number)
        _, err = child.communicate(timeout=60)
    assert child.returncode == INTERRUPTED, err
    assert f"stopped by {number.name}: 0 of 24 runs are complete" in err
    assert json.loads((folder / "001a" / "run.json").read_text())["complete"] is False
    assert not left_on(dbd)


def test_each_run_of_ab_has_a_start_of_its_own(
    scope: Scope, victim: Server, tmp_path: Path
) -> None:
    folder, url = tmp_path / "ab", f"afp://bench1@127.0.0.1:{victim.port}/vol1"
    env = {"AFPSCOPE_PASSWORD": USERS["bench1"]}
    line = ["ab", "--a", url, "--b", url, "--pairs", "1", "-o", str(folder), "--all"]
    line += ["--restart", victim.restart_command(), "--program", str(scope.binary)]
    done = scope.execute([*command(), *line, "--", "lantest", *SHORT], env=env).expect(OK)
    assert "times cannot be judged: not enough runs" in done.out
    runs = [json.loads((folder / name / "run.json").read_text()) for name in ("001a", "001b")]
    assert runs[0]["server"]["afpd.start"] != runs[1]["server"]["afpd.start"]
