# SPDX-License-Identifier: GPL-2.0-or-later
"""Many clients against real netatalk: every action done, counted by both sides; what goes wrong is
counted and said, and the volume is clean afterwards.

Tests user/main/load.c, load_opts.c, user/drive/load_clients.c, places.c, users.c, timeline.c,
user/main/probe.c, user/run/timeline.c, user/report/json/timeline.c.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from netatalk import Server
from scheduling import WATCHES
from scope import (
    INTERRUPTED,
    LOST,
    NO_SESSION,
    OK,
    REFUSED,
    USAGE,
    Done,
    PinnedServer,
    Scope,
    both_cpus,
    crash,
    kill,
    left_on,
    processes_of,
    sweep,
    wait_until,
)

MIXES = ("browse", "office", "batch-read", "batch-write", "metadata", "timemachine", "idle")
# With pauses: what is counted and said is the same of any number of actions.
PAUSES = ("--think", "0.02")
SMALL = ("-d", "1", "--ramp", "0", "--files", "4", "--file-size", "64K", *PAUSES)


def load(scope: Scope, server: Server | None, *args: str, **options: Any) -> Done:
    tool = options.pop("tool", "load")
    return scope.execute(scope.command(server, *args, tool=tool, **options), save=True, timeout=100)


def phase_of(done: Done) -> dict[str, Any]:
    assert done.run, f"nothing was saved: {done}"
    (phase,) = done.run.saved["phases"]
    return phase


def test_an_interrupt_while_sessions_are_opened_has_a_reason(scope: Scope, sqlite: Server) -> None:
    """At whichever moment it comes, once there is somebody to notice it."""
    for delay_s in (0, 0.02, 0.05, 0.1, 0.2, 0.3):
        running = scope.start(scope.command(sqlite, *SMALL, "-n", "50", tool="load"))
        running.wait_until_noticed(signal.SIGINT)
        time.sleep(delay_s)
        running.signal(signal.SIGINT)
        done = running.finish()
        assert not re.search(r": *$", done.err, re.M), (delay_s, done.err)


@pytest.mark.parametrize("mix", MIXES)
def test_both_sides_count_the_same(scope: Scope, sqlite: Server, mix: str) -> None:
    """The cross-checks hold the client's commands against the server's."""
    files = PAUSES if mix in ("metadata", "idle") else SMALL[4:]
    done = load(scope, sqlite, *SMALL[:4], *files, "-n", "3", "--mix", mix).expect(OK)
    phase = phase_of(done)
    assert done.run
    assert not done.run.open_books()
    assert not done.run.losses()
    assert phase["complete"]
    actions = sum(a["n"] for a in phase["load"]["actions"])
    assert (actions > 0) == (mix != "idle")
    assert actions == sum(c["actions"] for c in phase["load"]["each_client"])
    assert not any(a["failed"] for a in phase["load"]["actions"])
    assert phase["load"]["opened"] == 3
    sessions = {s["pid"] for s in done.run.saved["sessions"]}
    assert len(sessions) == 5, "the command's own, the probe's and three clients'"


RANDOM = """[mix]
files = 5
file_size = lognormal:64K,1
popularity = zipf
request = 4K
requests = 7
window = 3
[actions]
random-read = 2
random-write = 1
"""


def test_both_sides_count_requests_at_random_places(
    scope: Scope, sqlite: Server, tmp_path: Path
) -> None:
    mix = tmp_path / "random.ini"
    mix.write_text(RANDOM)
    done = load(scope, sqlite, *SMALL[:4], "-n", "2", "-m", str(mix), "--no-probe", *PAUSES).expect(
        OK
    )
    phase = phase_of(done)
    assert done.run
    done.run.assert_trustworthy()
    number = {a["name"]: a["requests"] for a in phase["ledger"]["requests"]}
    opened = {a["name"]: a["n"] for a in phase["load"]["actions"]}
    outlasting = phase["load"]["outlasting"]
    for verb in ("read", "write"):
        actions = number[f"FP{verb.capitalize()}Ext"] / 7
        # The files are written before the phase. What outlasts the load is not among its actions.
        assert actions == int(actions) and 0 <= actions - opened[f"random-{verb}"] <= outlasting
    assert "on average" in done.out and done.run.saved["options"]["zipf"] == "1"


def test_the_server_in_time_adds_up_to_the_phase(scope: Scope, dbd: Server) -> None:
    """Intervals are differences of readings: their sums are what was read in all."""
    done = load(scope, dbd, *SMALL, "-d", "3", "--interval", "0.5", "--at", "1", "true")
    phase = phase_of(done.expect(OK))
    intervals, ledger = phase["intervals"], phase["ledger"]
    assert 6 <= len(intervals) <= 9
    ends = [i["end_ns"] for i in intervals]
    assert ends == sorted(ends)
    counted: dict[str, int] = {}
    for interval in intervals:
        for command in interval["commands"]:
            counted[command["name"]] = counted.get(command["name"], 0) + command["n"]
    for account in ledger["requests"]:
        assert counted.get(account["name"], 0) <= account["requests"], account["name"]
    busiest = max(ledger["requests"], key=lambda a: a["requests"])
    # requests that make and remove the files are before and after
    assert counted[busiest["name"]] >= 0.9 * busiest["requests"]
    (mark,) = phase["marks"]
    assert mark["text"] == "true"
    assert 1e9 <= mark["at_ns"] < 2e9


def test_a_change_that_fails_is_said(scope: Scope, tmp_path: Path) -> None:
    said = f"echo seen; touch {tmp_path}/done; exit 3"
    line = ["-d", "2", "--ramp", "0", *PAUSES, "--at", "0.2", said]
    command = [str(scope.binary), "load", str(tmp_path), *line]
    done = scope.execute(command, save=True).expect(OK)
    assert (tmp_path / "done").exists()
    assert done.run
    assert "exit status 3" in done.run.warning("at")
    assert "seen" not in done.out.splitlines(), "standard output is the result"


def test_a_change_that_comes_too_late_is_said(scope: Scope, tmp_path: Path) -> None:
    command = [str(scope.binary), "load", str(tmp_path), *SMALL, "--at", "60 true"]
    done = scope.execute(command, save=True).expect(OK)
    assert done.run
    assert "'true' was not started" in done.run.warning("at")
    assert not phase_of(done)["marks"]


def test_all_is_printed(scope: Scope, tmp_path: Path) -> None:
    """By -v what the first screen has, too."""
    command = [str(scope.binary), "load", str(tmp_path), *SMALL, "-n", "2"]
    for more in ([], ["-v"]):
        out = scope.execute([*command, *more]).expect(OK).out
        assert "2 clients, mix browse, closed loop, 1.00s: " in out
        assert "Files: 2 directories of 4 files of 64 KiB, 0.52 MB in all\n" in out
        assert "\n  probe: write 4 KiB " in out


def test_the_name_of_a_directory_is_enough(
    scope: Scope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    done = scope.execute([str(scope.binary), "load", *SMALL, "folder"]).expect(OK)
    assert "  directory folder  " in done.out
    scope.execute([str(scope.binary), "load", "nothing"]).expect(USAGE, "'nothing' is not a server")


@pytest.mark.parametrize("how", ["fixed", "poisson"])
def test_a_rate_that_changes_is_planned_and_reported_by_its_parts(
    scope: Scope, tmp_path: Path, how: str
) -> None:
    done = scope.execute(
        [str(scope.binary), "load", str(tmp_path), "-n", "20", "--files", "4", "--no-probe",
         "--rate", "0:20,1:200,2:200,2:50", "-d", "4", "--arrivals", how, "--threads", "2"],
        save=True,
    ).expect(OK)  # fmt: skip
    it = phase_of(done)["load"]
    assert it["rate_per_s"] == pytest.approx((110 + 200 + 2 * 50) / 4)
    stages = it["stages"]
    assert [(s["from_s"], s["to_s"]) for s in stages] == [(0, 1), (1, 2), (2, 4)]
    assert [(s["from_per_s"], s["to_per_s"]) for s in stages] == [(20, 200), (200, 200), (50, 50)]
    for wanted, stage in zip((110, 200, 100), stages, strict=True):
        off = 1.01 if how == "fixed" else 5 * wanted**0.5
        assert abs(stage["planned"] - wanted) <= off
        assert stage["n"] + stage["failed"] <= stage["planned"]
    assert sum(s["planned"] for s in stages) == it["arrivals"]
    assert sum(s["n"] for s in stages) == sum(a["n"] for a in it["actions"])
    moved = sum(s["bytes"] for s in it["seconds"])
    assert moved > 0 and moved >= sum(c["bytes"] for c in it["each_client"])
    assert "\n  time   rate per s  planned  done " in done.out


def test_usage(scope: Scope, tmp_path: Path) -> None:
    """The message and the exit code of main(); all others: unit/main/test_usage.c."""
    line = [str(scope.binary), "load", str(tmp_path), "--mix", "nothing"]
    done = scope.execute(line, timeout=10).expect(USAGE, "load: ", "no mix 'nothing'")
    assert len(done.messages) == 1, done
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("watch", WATCHES)
def test_sets_that_outlive_a_run(scope: Scope, sqlite: Server, watch: str) -> None:
    """As a sweep does: several loads with one set of files, removed at the end."""
    mine = ("--set-of", str(os.getpid()), "--directories", "4", watch)
    for clients in ("4", "2"):
        load(scope, sqlite, *SMALL, "-n", clients, *mine, "--mix", "office").expect(OK)
        (left,) = left_on(sqlite)
        made = sqlite.vol1 / left
        names = [p.name for p in sorted(made.iterdir()) if not p.name.startswith(".")]
        assert names == [f"d0000{i}" for i in range(4)]
        for folder in names:
            files = [p for p in (made / folder).iterdir() if not p.name.startswith(".")]
            assert len(files) == 4
            assert all(p.stat().st_size == 65536 for p in files)
    load(scope, sqlite, *SMALL, *mine, "-n", "2", "--remove-set").expect(OK)
    assert not left_on(sqlite)


def test_files_of_a_process_that_is_gone_are_refused(scope: Scope, tmp_path: Path) -> None:
    gone = os.fork()
    if not gone:
        os._exit(0)
    os.waitpid(gone, 0)
    command = [str(scope.binary), "load", str(tmp_path), *SMALL, "--set-of", str(gone)]
    scope.execute(command).expect(REFUSED, f"no process {gone}")


def users_file(folder: Path, *lines: str) -> str:
    path = folder / "users"
    path.write_text("# who\n\n" + "\n".join(lines) + "\n")
    return str(path)


def test_users_and_volumes_are_dealt_out_in_turn(
    scope: Scope, sqlite: Server, tmp_path: Path
) -> None:
    """Each may write into the same directory, and nothing is left of any."""
    users = users_file(
        tmp_path,
        "bench1,secret1",
        "bench2,secret1",
        "bench2,secret1,vol2",
        "longpw,correct-horse-battery",
    )
    done = load(
        scope, sqlite, *SMALL, "-n", "7", "--mix", "office", "--users", users, uam="dhx2"
    ).expect(OK)
    assert done.run
    assert not done.run.open_books()
    who = Counter((s["user"], s["volumes"][0]) for s in done.run.saved["sessions"])
    # the command's own session began before the watch: its volume is a folder; its keeper of vol2
    assert who["bench2", "vol1"] == 2
    assert who["bench2", "vol2"] == 2 + 1
    assert who["longpw", "vol1"] == 1
    assert who["bench1", "vol1"] == 2 + 1, "two clients and the probe"
    assert not left_on(sqlite)


def test_clients_that_share_a_set_are_on_one_volume(
    scope: Scope, sqlite: Server, tmp_path: Path
) -> None:
    users = users_file(tmp_path, "bench1,secret1,vol1", "bench2,secret1,vol2")
    done = load(scope, sqlite, *SMALL, "--mix", "batch-read", "--users", users)
    done.expect(USAGE, "share one directory, on volume vol1: none can be on vol2")


def test_one_users_wrong_password_is_counted(scope: Scope, sqlite: Server, tmp_path: Path) -> None:
    users = users_file(tmp_path, "bench1,secret1", "bench2,wrong")
    done = load(scope, sqlite, *SMALL, "-n", "4", "--users", users, "--watch=off")
    assert done.status == REFUSED, done
    assert done.run
    said = done.run.warning("sessions")
    assert "2 of 4 sessions could not be opened" in said
    assert "login of bench2" in said
    assert phase_of(done)["load"]["opened"] == 2


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ("bench1", ["line 3", "USER,PASSWORD"]),
        (",secret", ["line 3"]),
        ("bench1,secret1,", ["line 3", "volume"]),
        ("", ["names no user"]),
    ],
)
def test_a_bad_file_of_users(
    scope: Scope, dbd: Server, tmp_path: Path, line: str, texts: list[str]
) -> None:
    users = users_file(tmp_path, line)
    load(scope, dbd, *SMALL, "--users", users).expect(USAGE, users, *texts)


def test_the_mix_of_the_manual_page_is_accepted(scope: Scope, tmp_path: Path) -> None:
    """With every key and action there is: without one of them, the program names it."""
    page = scope.page("load").replace("\\-", "-")
    (text,) = re.findall(r"^\.EX\n(; .*?\[mix\].*?)\.EE$", page, re.M | re.S)
    mix, home = tmp_path / "support.ini", tmp_path / "home"
    command = [str(scope.binary), "load", "-m", str(mix), *SMALL[:4], "-n", "2", str(home)]
    mix.write_text(text)
    done = scope.execute([*command, "--json", "-"]).expect(OK)
    options = json.loads(done.out)["options"]
    assert (options["mix"], options["files"], options["file_bytes"]) == ("support", "50", "131072")
    assert (options["window"], options["think_s"], options["shared"]) == ("2", "0.5", "no")
    for section, word in (("mix", "key"), ("actions", "action")):
        mix.write_text(f"[{section}]\nnothing = 1\n")
        known = scope.execute(command).expect(USAGE, f"there is no {word} 'nothing'").err
        for name in re.findall(r"[a-z_-]+", known.split(";")[1].split("(see")[0]):
            if name not in ("its", "keys", "are", "and", "there"):
                assert f"\n{name} = " in text, name


# What goes wrong


def test_sessions_beyond_the_servers_limit_are_counted(scope: Scope) -> None:
    with PinnedServer(
        "forky", "sqlite", both_cpus()[1], AFPD_GLOBAL="max connections = 5"
    ) as server:
        done = load(scope, server, *SMALL, "-n", "8")
        assert done.status == REFUSED, done
        phase = phase_of(done)
        assert phase["load"]["clients"] == 8
        assert phase["load"]["opened"] == 3, "with the command's own and the probe's"
        assert done.run
        assert "5 of 8 sessions could not be opened" in done.run.warning("sessions")
        assert "max connections" in done.run.warning("sessions")
        assert "the server refused 5 sessions" in done.run.warning("refused")
        assert not done.run.losses() and not done.run.open_books()
        assert len(done.run.saved["sessions"]) == 3 + 2, "with the command's own and the probe's"
        assert not left_on(server)


@pytest.mark.parametrize(("tool", "most"), [("load", 2), ("probe", 1)])
def test_where_nobody_gets_in_there_is_no_session(scope: Scope, tool: str, most: int) -> None:
    """The command's own session is the only one, or has only the probe beside it."""
    limit = f"max connections = {most}"
    with PinnedServer("forky", "sqlite", both_cpus()[1], AFPD_GLOBAL=limit) as server:
        done = load(scope, server, "-d", "1", tool=tool)
        # who is refused depends on when afpd forgets the connection that asked for its status
        done.expect(NO_SESSION, "max connections")
        assert not left_on(server)


def test_a_killed_server_ends_the_run_and_what_was_measured_is_kept(
    scope: Scope, victim: Server
) -> None:
    """Nobody is left to remove the files: the message says with what to."""
    command = scope.command(victim, *SMALL, "-d", "20", "-n", "4", tool="load")
    running = scope.start(command, save=True)
    wait_until(lambda: bool(left_on(victim)), 20, "the files")
    wait_until(lambda: (victim.vol1 / left_on(victim)[0] / "probe").exists(), 20, "the load")
    kill(processes_of(victim))
    done = running.finish(60)
    assert done.status == LOST, done
    phase = phase_of(done)
    assert phase["load"]["lost"] == 4
    assert any("afpscope clean" in line for line in done.messages), done
    sweep(victim)


def test_a_time_without_an_answer_is_said(scope: Scope, victim: Server) -> None:
    """With how many waited: on the screen, in the run, and to who reads it meanwhile."""
    mix = ["-n", "3", "-d", "7", "--ramp", "0", "--no-probe", "-m", "metadata", "--live=json"]
    mix += PAUSES
    running = scope.start(scope.command(victim, *mix, tool="load"), save=True)
    running.wait_for('"second":2,')
    served = processes_of(victim)
    try:
        for pid in served:
            os.kill(pid, signal.SIGSTOP)
        running.wait_for('"silent_s":2')
    finally:
        for pid in served:
            os.kill(pid, signal.SIGCONT)
    done = running.finish(60).expect(OK)
    load = phase_of(done)["load"]
    silence, counts = load["silence"], [s["n"] for s in load["seconds"]]
    first, seconds = (silence[key] // 10**9 for key in ("from_ns", "ns"))
    assert seconds >= 2 and not any(counts[first : first + seconds])
    assert silence["clients"] == sum(c["max_ns"] >= silence["ns"] for c in load["each_client"]) == 3
    assert f"No action ended for at least {seconds} s, from second {first} on" in done.out
    assert "3 of 3 clients had one that took so long" in " ".join(done.out.split())


def test_a_server_that_is_restarted_ends_the_load_and_has_nothing_left(
    scope: Scope, victim: PinnedServer, tmp_path: Path
) -> None:
    """Killed, and there again a second later: what was measured before is kept."""
    users = users_file(tmp_path, "bench1,secret1", "bench2,secret1,vol2")
    args = (*SMALL, "-n", "4", "--users", users, "--slo", "p99<=100s", "-d", "60")
    running = scope.start(scope.command(victim, *args, tool="load"), save=True)
    wait_until(lambda: bool(left_on(victim)), 20, "the files")
    wait_until(lambda: (victim.vol1 / left_on(victim)[0] / "probe").exists(), 20, "the load")
    time.sleep(2)
    crash(victim)
    done = running.finish(60)
    done.expect(LOST, "a new session has removed")
    assert done.run
    phase = phase_of(done)
    assert not done.run.complete
    assert not phase["complete"]
    loaded = phase["load"]
    assert loaded["lost"] == loaded["opened"] == 4
    assert sum(a["n"] for a in loaded["actions"]) > 0
    assert (loaded["end_ns"] - loaded["begin_ns"]) / 1e9 < 30, "it ended when the server did"
    (slo,) = loaded["slo"]
    assert slo["verdict"] == "broken" and slo["why"].endswith("sessions were lost")
    assert "sessions were lost; it was " in done.out and " of the others" in done.out
    assert any("lost" in w["text"] for w in done.run.saved["warnings"] if w["key"] is None)
    assert not done.run.warning("left")
    assert left_on(victim) == []


@pytest.fixture(scope="module")
def small() -> Iterator[Server]:
    with PinnedServer("forky", "sqlite", both_cpus()[1], AFPD_VOL_SIZE="24M") as server:
        yield server


def test_a_full_volume_fails_actions_and_not_the_run(scope: Scope) -> None:
    with PinnedServer("forky", "sqlite", both_cpus()[1], AFPD_VOL_SIZE="24M") as server:
        mix = ("--mix", "batch-write", "--file-size", "40M")
        args = ("-d", "1", "--ramp", "0", "-n", "2", *mix, "--force", "--watch=off")
        done = load(scope, server, *args)
        assert done.status == REFUSED, done
        done.expect(REFUSED, "FPWriteExt of d0000", "is the volume full?")
        assert not left_on(server)


@pytest.mark.parametrize(
    ("mix", "need"),
    [
        (("--mix", "batch-write", "--file-size", "7M", "-n", "2"), "14.7 MB"),
        (("--mix", "office", "--files", "10", "--file-size", "1M", "-n", "1"), "11.5 MB"),
        (("--mix", "batch-read", "--file-size", "13M", "-n", "9"), "13.6 MB"),
        (
            ("--mix", "batch-write", "--file-size", "1M", "-n", "1", "--directories", "15"),
            "15.7 MB",
        ),
    ],
)
def test_a_volume_is_not_filled_up(
    scope: Scope, small: Server, mix: tuple[str, ...], need: str
) -> None:
    done = load(scope, small, "-d", "1", "--ramp", "0", "--watch=off", *mix)
    done.expect(REFUSED, f"the files of this run take {need}, and vol1 has ", "--force")
    assert not left_on(small)


@pytest.mark.parametrize("watch", WATCHES)
def test_half_a_volume_may_be_used(scope: Scope, small: Server, watch: str) -> None:
    mix = ("--mix", "batch-write", "--file-size", "2M", "-n", "4")
    load(scope, small, "-d", "1", "--ramp", "0", watch, *mix).expect(OK)


def test_a_wrong_password(scope: Scope, sqlite: Server) -> None:
    done = load(scope, sqlite, *SMALL, password="wrong")
    done.expect(NO_SESSION, "login", "bench1")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_and_cleans(
    scope: Scope, sqlite: Server, number: signal.Signals, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    more = ["-d", "60", "-n", "4", "--at", f"0 touch {begun}"]
    if number != signal.SIGINT:
        more += ["--watch=off"]  # its end is the same
    command = scope.command(sqlite, *SMALL, *more, tool="load")
    running = scope.start(command, save=True)
    wait_until(lambda: bool(left_on(sqlite)), 20, "the files")
    wait_until(begun.exists, 20, "the load")
    running.signal(number)
    done = running.finish(30)
    assert done.status == INTERRUPTED, done
    assert not phase_of(done)["complete"]
    assert not left_on(sqlite)
