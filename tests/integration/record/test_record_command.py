# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope record, the command: which server, for how long, with which rights;
and whatever ends first.

Tests user/main/record.c, record_opts.c, user/app/child.c, runs.c, external.c,
user/attach/whom.c, guard.c.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from afpclient import AfpClient, Busy
from disturbed import LOOKS
from netatalk import HERE, Server
from recording import LOGOUT, STAT, by_port, orphans, saved, stats, stopped
from rights import SYS_NICE, assert_kept
from scope import (
    AS_NOBODY,
    NO_SESSION,
    OK,
    UNTRUSTED,
    USAGE,
    WITHOUT_BPF,
    Run,
    Scope,
    kernel,
    kill,
    wait_asleep,
    wait_until,
)

# Which server


def test_master(scope: Scope, guests: Server, pair: dict[int, Busy]) -> None:
    run = saved(scope.record(None, "--pid", str(guests.pid), "-d", "1"))
    run.assert_trustworthy()
    assert run.saved["server"]["port"] == str(guests.port)
    assert {s["pid"] for s in run.saved["sessions"]} == set(pair)
    assert all(s["requests"] > 10 for s in run.saved["sessions"])


def test_one_session(scope: Scope, guests: Server, pair: dict[int, Busy]) -> None:
    pid, other = pair
    before, own = pair[other].requests, pair[pid].requests
    run = saved(scope.record(None, "--pid", str(pid), "-d", "1"))
    assert pair[other].requests > before + 10
    run.assert_trustworthy()
    assert [s["pid"] for s in run.saved["sessions"]] == [pid]
    # A session is counted from the moment it is attached, before the window.
    asked = pair[pid].requests - own + 1
    assert 10 < stats(run) <= run.saved["sessions"][0]["requests"] <= asked
    assert run.saved["options"]["session"] == str(pid)
    assert not any(str(other) in book["name"] for book in run.saved["books"])
    assert "outside sessions" not in run.phases[0].outside()


def test_a_watch_that_costs_too_much_ends(
    scope: Scope, guests: Server, pair: dict[int, Busy]
) -> None:
    """What it has seen until then is kept."""
    begun = time.monotonic()
    run = saved(scope.record(None, "--pid", str(guests.pid), "-d", "100", "--max-cpu=0.0001%"))
    assert time.monotonic() - begun < 60
    assert run.complete and not run.open_books() and not run.losses()
    assert {s["pid"] for s in run.saved["sessions"]} == set(pair)
    assert run.phases[0]["elapsed"] >= 5e9
    assert "more than --max-cpu=0.0001%" in run.warning("max-cpu")


def test_server_of_a_session(scope: Scope, guests: Server, pair: dict[int, Busy]) -> None:
    run = saved(scope.record(None, "--server", "--pid", str(next(iter(pair))), "-d", "1"))
    run.assert_trustworthy()
    assert {s["pid"] for s in run.saved["sessions"]} == set(pair)
    assert "session" not in run.saved["options"]


def test_port(scope: Scope, dbd: Server, guests: Server, pair: dict[int, Busy]) -> None:
    """Of several servers this one."""
    run = saved(scope.record(dbd, "-d", "1"))
    run.assert_trustworthy()
    assert run.saved["sessions"] == []
    assert run.phases[0].accounts() == {}
    assert not any(str(guests.pid) in book["name"] for book in run.saved["books"])


def test_two_servers(scope: Scope, dbd: Server, guests: Server) -> None:
    done = scope.execute(scope.recorder(None, "-d", "1"))
    done.expect(NO_SESSION, f"pid {dbd.pid} (port {dbd.port})", "choose one with --port PORT")


def test_the_only_server(scope: Scope, tmp_path: Path) -> None:
    """No option is needed where there is one; so in a process namespace."""
    out = tmp_path / "run.json"
    script = f"""
        env=$({HERE}/up.sh forky 0 sqlite) || exit 99
        eval "$env"
        trap '{HERE}/down.sh $AFPD_PORT' EXIT
        echo port $AFPD_PORT
        {scope.binary} record -d 1 --json {out}
    """
    alone = ["unshare", "--pid", "--fork", "--mount-proc", "bash", "-c", script]
    done = scope.execute(alone).expect(OK)
    port = re.search(r"^port (\d+)$", done.out, re.MULTILINE)
    assert port
    assert Run.load(out).saved["server"]["port"] == port[1]


@pytest.mark.parametrize(
    ("args", "status", "text"),
    [
        (("--pid", "{none}"), NO_SESSION, "no process {none}"),
        (("--pid", "{self}"), NO_SESSION, "neither listens"),
        (("-p", "1"), NO_SESSION, "for the process with this number: --pid 1"),
        (("-p", "4711000"), USAGE, "-p is the port, use --pid to name a process"),
        (("--port", "{free}"), NO_SESSION, "nothing listens on port {free}"),
    ],
)
def test_wrong_server(
    scope: Scope, guests: Server, args: tuple[str, ...], status: int, text: str
) -> None:
    """What is wrong without a look at the machine: unit/main/test_usage.c."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    with socket.socket() as s, subprocess.Popen(["sleep", "60"]) as process:
        s.bind(("127.0.0.1", 0))
        names = {"none": ended.pid, "self": process.pid, "free": s.getsockname()[1]}
        done = scope.execute([str(scope.binary), "record", *(arg.format(**names) for arg in args)])
        process.kill()
    done.expect(status, text.format(**names))
    assert not done.out


# How long


def test_duration(scope: Scope, guests: Server) -> None:
    for _ in range(LOOKS):
        running = scope.record(guests, "-d", "2")
        running.wait_recording()
        run = saved(running)
        if run.phases[0]["elapsed"] < 3e9:
            break
    assert 2.0e9 <= run.phases[0]["elapsed"] < 3e9
    assert run.saved["options"]["duration_s"] == "2"
    run.assert_trustworthy()


# Place: `record -- COMMAND` whose COMMAND fails or is killed | exact; said, and its exit code
#   is passed on
@pytest.mark.parametrize(
    ("script", "status", "text"),
    [
        ("sleep 0.2; exit 0", OK, ""),
        ("exit 3", 3, "ended with status 3"),
        ("exit 255", 255, "ended with status 255"),
        ("kill -9 $$", 128 + 9, "killed by signal 9"),
        ("kill -15 $$", 128 + 15, "killed by signal 15"),
    ],
)
def test_command(scope: Scope, guests: Server, script: str, status: int, text: str) -> None:
    """It ends with the command, whose failure is a warning, and whose exit code it passes on."""
    run = saved(scope.record(guests, command=["sh", "-c", script]), status)
    assert text in run.warning("command")
    assert bool(text) == bool(run.saved["warnings"])
    assert not run.open_books() and not run.losses() and run.complete
    assert run.phases[0]["elapsed"] < 5e9


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("/no/such/program", "No such file or directory"),
        ("no-such-program", "No such file or directory"),
        ("/etc/passwd", "Permission denied"),
    ],
)
def test_command_that_cannot_run(scope: Scope, guests: Server, program: str, why: str) -> None:
    """A wrong operand: nothing is recorded, and no run kept."""
    done = scope.record(guests, command=[program]).finish()
    done.expect(USAGE, f"cannot run {program}: {why}")
    assert not done.out and not done.run


def test_command_that_turns_out_not_to_run(scope: Scope, guests: Server, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    done = scope.record(guests, command=[str(program)]).finish()
    done.expect(USAGE, why := f"cannot run {program}: No such file or directory")
    assert not done.out
    assert done.run and not done.run.phases and not done.run.complete
    assert done.run.warning("command") == why


def test_command_that_lasts(scope: Scope, guests: Server) -> None:
    nap = str(100_000 + os.getpid())
    running = scope.record(guests, "-d", "1", command=["sleep", nap])
    run = saved(running)
    assert "the time was over" in run.warning("command")
    listed = subprocess.run(["pgrep", "-f", f"^sleep {nap}"], capture_output=True)
    assert not listed.stdout, "the command still runs"


def test_command_of_an_interrupted_record(scope: Scope, guests: Server, tmp_path: Path) -> None:
    """What was not the command's own end is not its exit code: also if the signal reached both."""
    script = f"touch {tmp_path}/began; exec sleep 1000"
    running = scope.record(guests, command=["sh", "-c", script])
    wait_until((tmp_path / "began").exists, 20, "the command to begin")
    os.killpg(running.process.pid, signal.SIGINT)
    running.finish().expect(OK)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted(
    scope: Scope, guests: Server, pair: dict[int, Busy], number: signal.Signals
) -> None:
    """Without -d the normal end: report and JSON are complete."""
    running = scope.record(guests, "-v")
    running.wait_recording()
    before = {pid: busy.requests for pid, busy in pair.items()}
    wait_until(lambda: all(pair[p].requests > n + 5 for p, n in before.items()), 10, "requests")
    running.signal(number)
    done = running.finish().expect(OK)
    assert done.run
    done.run.assert_trustworthy()
    assert "FPGetFileDirParms" in done.out
    assert "Cross-checks agree" in done.out.replace("  ", " ")
    assert done.run.saved["id"] in done.out
    assert stats(done.run) > 5


def test_json_to_stdout(scope: Scope, guests: Server, pair: dict[int, Busy]) -> None:
    done = scope.execute(scope.recorder(guests, "-d", "1", "--json", "-")).expect(OK)
    run = Run(json.loads(done.out))
    run.assert_trustworthy()
    assert stats(run) > 10


# The server ends


@pytest.mark.parametrize(
    ("number", "whom"),
    [
        (signal.SIGTERM, "master"),
        (signal.SIGKILL, "master"),
        (signal.SIGKILL, "all"),
    ],
    ids=["stopped", "killed", "all killed"],
)
def test_server_ends(scope: Scope, victim: Server, number: signal.Signals, whom: str) -> None:
    """What was recorded until then is saved, and the end is told."""
    clients = [AfpClient(victim.port) for _ in range(2)]
    running = scope.record(victim)
    running.wait_recording()
    for client in clients:
        for _ in range(10):
            client.stat_root()
    wait_asleep(victim.sessions())
    pids = victim.sessions() if whom == "all" else []
    for pid in (*pids, victim.pid):
        os.kill(pid, number)
    done = running.finish(20)
    assert done.run, f"nothing was saved: {done}"
    assert stats(done.run) == 20
    assert not done.run.open_books()
    assert not done.run.losses()
    assert done.status == OK
    assert "ended" in done.run.warning("server"), done.run.saved["warnings"]
    assert done.run.warning("server") in " ".join(done.out.split())


def test_the_only_session_ends(scope: Scope, guests: Server) -> None:
    """So does the record of it."""
    client = AfpClient(guests.port)
    (pid,) = guests.sessions()
    running = scope.record(None, "--pid", str(pid))
    running.wait_recording()
    for _ in range(3):
        client.stat_root()
    client.close()
    run = saved(running)
    assert run.complete
    assert not run.open_books() and not run.losses()
    assert run.phases[0].requests() == {STAT: 3, LOGOUT: 1}
    assert run.saved["sessions"][0]["ended_ns"] is not None
    assert f"process {pid} ended" in run.warning("server")


def test_session_killed(scope: Scope, victim: Server) -> None:
    """The others are recorded on."""
    dies, lives = AfpClient(victim.port), None
    (pid,) = victim.sessions()
    lives = AfpClient(victim.port)
    running = scope.record(victim)
    running.wait_recording()
    for client in (dies, lives):
        client.stat_root()
    wait_asleep([pid])
    kill([pid])
    wait_until(lambda: len(victim.sessions()) == 1, 10, "the session to die")
    for _ in range(5):
        lives.stat_root()
    run = stopped(running)
    run.assert_trustworthy()
    sessions = {s["pid"]: s for s in run.saved["sessions"]}
    assert sessions[pid]["ended_ns"] is not None
    assert sessions[pid]["requests"] == 1
    assert by_port(run)[lives.local_port()]["requests"] == 6
    assert by_port(run)[lives.local_port()]["ended_ns"] is None
    assert stats(run) == 7


# The recorder ends


def test_recorder_killed(scope: Scope, guests: Server, pair: dict[int, Busy]) -> None:
    """At any moment: the server goes on, and nothing stays in the kernel."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    for delay in [chance.uniform(0, 0.5) for _ in range(4)] + [chance.uniform(0.5, 1)]:
        before = {pid: busy.requests for pid, busy in pair.items()}
        running = scope.record(guests)
        time.sleep(delay)
        running.process.kill()
        running.process.wait()
        assert running.json and not running.json.exists(), "half a run"
        wait_until(
            lambda b=before: all(pair[pid].requests > n + 5 for pid, n in b.items()),
            10,
            f"the sessions to go on after {delay:.2f} s",
        )
    wait_until(lambda: not orphans(), 10, "the programs to go", 0.2)
    run = saved(scope.record(guests, "-d", "1"))
    run.assert_trustworthy()
    assert stats(run) > 10


# Rights


@pytest.mark.parametrize("option", ["--pid", "-p"])
def test_nobody(scope: Scope, guests: Server, public: Path, option: str) -> None:
    """Who may see nothing gets no report of nothing."""
    value = {"--pid": guests.pid, "-p": guests.port}[option]
    done = scope.execute([*AS_NOBODY, str(public), "record", "-d", "1", option, str(value)])
    done.expect(UNTRUSTED, "run as root")
    assert not done.out


def test_bpf_forbidden(scope: Scope, guests: Server, pair: dict[int, Busy]) -> None:
    """The next lower rung, with the reason; what it cannot know is null."""
    run = saved(scope.record(guests, "-d", "1", before=WITHOUT_BPF))
    assert run.complete
    assert "/proc" in run.saved["rungs"]["calls"]
    assert "refused" in run.saved["rungs"]["not.bpf"]
    phase = run.phases[0]
    # Of the sessions, or nothing: not of their parent alone.
    assert phase.metrics["afpd_syscw"] is None or phase["afpd_syscw"] > 10
    assert phase.saved["ledger"]["rows"] is None
    assert phase.saved["ledger"]["requests"] is None
    assert run.saved["absent"]["requests"]
    unknown = run.unknown() & {m for m in phase.metrics if m.startswith(("afpd_", "cnid_"))}
    assert unknown <= set(run.saved["absent"]), "unknown without a reason"


OWN = {
    "record": [SYS_NICE],
    "doctor": [SYS_NICE],
    "slow": [SYS_NICE],
    "top": [],
    "load": [SYS_NICE],
}


@pytest.mark.parametrize("tool", OWN)
def test_what_is_kept_is_what_security_md_says(scope: Scope, guests: Server, tool: str) -> None:
    """And a program that it starts does not get more."""
    if kernel() < (6, 1):
        pytest.skip("before Linux 6.1 reading the counts of programs needs rights")
    args = {
        "record": ["--no-save"],
        "doctor": ["--no-save"],
        "top": ["-b", "--pid", str(guests.pid)],
    }
    if tool == "load":
        line = scope.command(guests, "-n", "1", "--ramp=0", "--no-save", "-d", "20", tool=tool)
    else:
        where = [] if tool == "top" else ["-p", str(guests.port)]
        line = [str(scope.binary), tool, *where, *args.get(tool, []), "-d", "20"]
    running = scope.start(line)
    assert_kept(running.process.pid, *OWN[tool])
    running.signal(signal.SIGINT)
    running.finish()


def test_what_is_left_at_the_end_goes_before_other_work(
    scope: Scope, guests: Server, tmp_path: Path
) -> None:
    """500 busy sessions on two CPUs would make the end of a recording wait for seconds."""
    calls = tmp_path / "calls"
    plain = ("env", "ASAN_OPTIONS=detect_leaks=0")  # which does not work under strace
    running = scope.record(guests, before=plain)
    running.wait_recording()
    pid = str(running.process.pid)
    with subprocess.Popen(
        [
            "strace",
            "-qq",
            "-e",
            "trace=sched_setscheduler",
            "-e",
            "signal=none",
            "-o",
            calls,
            "-p",
            pid,
        ]
    ) as strace:
        wait_until(
            lambda: f"TracerPid:\t{strace.pid}\n" in Path(f"/proc/{pid}/status").read_text(),
            10,
            "strace to attach",
        )
        assert os.sched_getscheduler(int(pid)) == os.SCHED_OTHER
        stopped(running).assert_trustworthy()
    assert calls.read_text().split() == ["sched_setscheduler(0,", "SCHED_RR,", "[1])", "=", "0"]


def test_the_command_keeps_its_rights(scope: Scope, guests: Server) -> None:
    done = scope.execute(
        scope.recorder(guests, "--json", "-", command=["grep", "CapEff", "/proc/self/status"])
    ).expect(OK)
    own = re.search(r"CapEff:\t(\w+)", Path("/proc/self/status").read_text())
    assert own and own[1] in done.out


# Where the run goes


@pytest.mark.parametrize("fails", [False, True])
def test_a_run_goes_into_a_lake_at_its_end(scope: Scope, tmp_path: Path, fails: bool) -> None:
    """By afpscope-export, which is told of the folder and of the lake, and may fail."""
    tools, told = tmp_path / "tools", tmp_path / "told"
    tools.mkdir()
    (tools / "afpscope-export").write_text(
        f'#!/bin/sh\necho result\nls "$2" > {told}\necho "$@" >> {told}\nexit {int(fails)}\n'
    )
    (tools / "afpscope-export").chmod(0o755)
    shutil.copy(scope.binary, tools / "afpscope")  # it looks beside itself first
    folder, lake = tmp_path / "run", tmp_path / "a lake"
    with subprocess.Popen(["sleep", "60"]) as watched:
        line = [tools / "afpscope", "record", "--kind", "any", "--pid", str(watched.pid),
                "-d", "1", "--json", "-", "-o", folder, "--into", lake]  # fmt: skip
        env = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}
        done = subprocess.run(line, capture_output=True, text=True, env=env, check=False)
        watched.kill()
    assert done.returncode == (1 if fails else OK), done.stderr
    assert json.loads(done.stdout)["command"] == "record"
    files, told_args = told.read_text().rsplit("\n", 2)[:2]
    assert "run.json" in files.split()
    assert told_args == f"--into={lake} {folder}"
    said = "tries again" if fails else f"The run is in the lake {lake}, too"
    assert said in done.stderr and (folder / "run.json").exists()


def test_a_lake_needs_a_run_and_the_program(scope: Scope, tmp_path: Path) -> None:
    args = ("--pid", "1", "-d", "1", "--into", str(tmp_path / "lake"))
    done = scope.execute([str(scope.binary), "record", "--no-save", *args])
    done.expect(USAGE, "leave --no-save out")
