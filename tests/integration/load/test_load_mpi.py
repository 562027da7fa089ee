# SPDX-License-Identifier: GPL-2.0-or-later
"""One load by several processes that mpirun starts: what they did is added exactly, they begin
together, and one that dies is named while the rest is kept.

Tests user/ranks/launch.c, ranks.c, ranks_other.c, ranks_sum.c, user/main/rank_clients.c,
user/report/json/rank.c, user/report/screen/screen_ranks.c.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from fakes import Proxy
from known import LOOK, REPO, known
from mpirun import (
    ENVIRONMENT,
    FLAVOURS,
    RANKS,
    assert_began_together,
    assert_is_sum_of_ranks,
    children,
    mpirun,
    plugin,
    unlike,
)
from mpirun import processes as all_processes
from netatalk import Server
from queueing import Station
from rights import rights
from scheduling import in_check
from scope import LOST, NOBODY, OK, SLOW, USAGE, Done, Running, Scope, kill, left_on, wait_until

found = re.search(r"#define CLIENTS_OPENING_MAX (\d+)", (REPO / "user/drive/clients.h").read_text())
assert found
OPENING_MAX = int(found[1])
MANY_RANKS = OPENING_MAX + 4
# What ranks agree on is the same of clients that pause.
PAUSES = ("--think", "0.02")
SHORT = ("-d", "2", "--ramp", "0", "--files", "4", "--file-size", "16K", *PAUSES)


# With one library in make check, with the other in make check-judges.
@pytest.fixture(params=in_check(FLAVOURS, FLAVOURS[:1]))
def flavour(request: pytest.FixtureRequest, scope: Scope) -> str:
    name: str = request.param
    missing = plugin(scope, name)
    if missing:
        pytest.skip(missing)
    return name


def processes(running: Running) -> dict[int, dict[int, int]]:
    return all_processes(running, "load")


def start(scope: Scope, flavour: str, where: Path, *args: str) -> Running:
    command = [str(scope.binary), "load", str(where), "-m", "metadata", "--ramp", "0", *args]
    if "--rate" not in args:
        command += PAUSES
    return scope.start(mpirun(flavour, command), save=True, env=ENVIRONMENT)


def phase_of(done: Done) -> dict[str, Any]:
    assert done.run, f"nothing was saved: {done}"
    (phase,) = done.run.saved["phases"]
    return phase


def wait_for_work(running: Running, where: Path, clients: int) -> dict[int, tuple[int, int]]:
    """Until all clients work. Rank -> the process of mpirun, its child."""

    def changed() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in where.glob("LanTest-*/d*")}

    wait_until(lambda: len(changed()) >= clients or running.process.poll() is not None, 60, "files")
    assert running.process.poll() is None, running.finish()
    first = changed()
    wait_until(lambda: not first.items() & changed().items(), 60, "each client's work")
    return children(running, "load")


def finish(running: Running, where: Path) -> Done:
    """The launcher may be gone before the processes that save and clean up."""
    done = running.finish()
    wait_until(lambda: not processes(running), 60, "the ranks' end")
    assert not list(where.iterdir()), "something is left"
    return done


def lose_rank(scope: Scope, flavour: str, where: Path, which: int) -> tuple[Running, Done]:
    """Kills rank 2 while all clients work: which 0, the process of mpirun; 1, its child.

    If the machine stands still, the run may have ended before; then a longer one is tried.
    """
    for seconds in ("4", "30"):
        running = start(scope, flavour, where, "-n", "8", "-d", seconds, "--slo", "p99<=100s")
        ranks = wait_for_work(running, where, 8)
        kill([ranks[2][which]])
        done = finish(running, where)
        if done.status != OK:
            break
    return running, done


@pytest.mark.parametrize("flavour", FLAVOURS, indirect=True)
def test_all_together(scope: Scope, sqlite: Server, flavour: str) -> None:
    """The server's own count of commands is that of all ranks' clients."""
    limits = "p99<=100s,max<=1us,failed<=0"
    command = scope.command(sqlite, "-n", "6", *SHORT, "--slo", limits, tool="load")
    done = scope.execute(mpirun(flavour, command), save=True, env=ENVIRONMENT).expect(SLOW)
    phase = phase_of(done)
    assert done.run
    assert not done.run.open_books()
    # judged of the actions of all of them
    assert [x["kept"] for x in phase["load"]["slo"]] == [True, False, True]
    longest = max(a["planned"]["max_ns"] for r in phase["ranks"] for a in r["actions"] if a["n"])
    assert phase["load"]["slo"][1]["value_ns"] == longest
    assert phase["complete"]
    assert_is_sum_of_ranks(phase)
    ranks, load = phase["ranks"], phase["load"]
    assert [r["rank"] for r in ranks] == list(range(RANKS))
    assert [r["clients"] for r in ranks] == [2, 2, 1, 1]
    assert [r["open"] for r in ranks] == [2, 2, 1, 1]
    assert {r["end"] for r in ranks} == {"done"}
    assert len({r["pid"] for r in ranks}) == RANKS
    assert load["clients"] == load["opened"] == 6
    assert all(c["actions"] for c in load["each_client"])
    assert_began_together(phase)
    addresses = {c["address"] for c in load["each_client"]}
    assert len(addresses) == 6
    assert addresses < {s["address"] for s in done.run.saved["sessions"]}
    assert f"{RANKS} ranks on 1 host began within " in done.out
    assert not left_on(sqlite), done


class Doorkeeper(Proxy):
    """Lets each connection wait; counts how many do at a time."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.lock = threading.Lock()
        self.waiting = self.most = 0

    def serve(self, connection: socket.socket) -> None:
        with self.lock:
            self.waiting += 1
            self.most = max(self.most, self.waiting)
        time.sleep(0.2)
        with self.lock:
            self.waiting -= 1
        server = self.server_for(connection)
        threading.Thread(target=self._carry, args=(server, connection), daemon=True).start()
        self._carry(connection, server)

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


def test_not_more_sessions_are_opened_at_a_time_by_many_ranks(
    scope: Scope, sqlite: Server, flavour: str
) -> None:
    """The server's queue of new connections has no more room because the ranks are more."""
    with Doorkeeper(sqlite.port) as door:
        more = f"-p {door.port} -n {MANY_RANKS} -d 1 --ramp 0 --no-probe --files 1".split()
        more += PAUSES
        line = scope.command(sqlite, *more, "--watch=off", tool="load")
        done = scope.execute(mpirun(flavour, line, MANY_RANKS), save=True, env=ENVIRONMENT)
    phase = phase_of(done.expect(OK))
    assert phase["load"]["opened"] == MANY_RANKS
    assert [r["open"] for r in phase["ranks"]] == [1] * MANY_RANKS
    assert door.most == OPENING_MAX
    assert not left_on(sqlite), done


@pytest.mark.parametrize("how", [[*PAUSES], ["--rate", "40"]], ids=["closed", "open"])
def test_logins_of_all_ranks_are_ours(
    scope: Scope, sqlite: Server, flavour: str, how: list[str]
) -> None:
    """The server's own count is of all of them, and none is taken for that of somebody else."""
    command = scope.command(sqlite, "-n", "8", "-d", "2", "--ramp=0", *how, tool="load")
    line = mpirun(flavour, [*command, "--mix=login-storm"])
    done = scope.execute(line, save=True, env=ENVIRONMENT).expect(OK)
    assert done.run
    assert not done.run.open_books() and not done.run.losses()
    phase = phase_of(done)
    kinds = {a["name"]: a for a in phase["load"]["actions"]}
    assert kinds["login"]["n"]
    assert not kinds["login"]["failed"] and not kinds["logout"]["failed"]
    logins = {c["name"]: c["ops"] for c in phase["commands"]}["FPLogin"]
    assert kinds["login"]["n"] <= logins <= kinds["login"]["n"] + 8
    served = {a["name"]: a["requests"] for a in phase["ledger"]["requests"]}
    assert served["FPLogin"] == served["FPGetSessionToken"] == logins
    assert not phase["connections"]["others"] and phase["connections"]["our_requests"] >= logins
    assert not left_on(sqlite), done


@pytest.mark.parametrize("how", ["fixed", "poisson"])
def test_arrivals_are_split(scope: Scope, tmp_path: Path, flavour: str, how: str) -> None:
    args = ("-n", "8", "-d", "1", "--rate", "400", "--arrivals", how, "--no-probe")
    done = start(scope, flavour, tmp_path, *args).finish().expect(OK)
    phase = phase_of(done)
    arrivals = [r["arrivals"] for r in phase["ranks"]]
    assert sum(arrivals) == phase["load"]["arrivals"]
    if how == "fixed":
        assert arrivals == [100] * RANKS
    else:
        assert len(set(arrivals)) > 1
        assert 280 <= sum(arrivals) <= 520  # 6 standard deviations


@pytest.mark.limit(60)
def test_an_arrival_finds_the_free_client_of_any_rank(
    scope: Scope, tmp_path: Path, flavour: str
) -> None:
    """Four clients as the workers of one station: the formula says how many find none free.

    If each rank had a queue of its own, as many as its client is busy would: four times as many.
    """
    station = Station(rate=320, workers=RANKS, service_s=0.005)
    mix = tmp_path / "mix.ini"
    mix.write_text(LOOK)
    with known("--workers=64", f"--service={1000 * station.service_s}") as server:
        command = [str(scope.binary), "load", "--uam=guest", "--watch=off", "--no-probe"]
        command += [f"--mix={mix}", f"--rate={station.rate}", "-d", "2", "-n", str(RANKS)]
        command = mpirun(flavour, [*command, server.url])
        done = scope.execute(command, save=True, env=ENVIRONMENT).expect(OK)
    phase = phase_of(done)
    load = phase["load"]
    assert [r["queue_processes"] for r in phase["ranks"]] == [RANKS] * RANKS
    assert load["found_none"] == sum(r["found_none"] for r in phase["ranks"])
    share = load["found_none"] / load["arrivals"]
    (action,) = load["actions"]
    begun = action["begun"]
    there = Station(station.rate, RANKS, begun["sum_ns"] / begun["n"] / 1e9)  # as it was
    if there.load > 0.8:
        pytest.skip(f"the machine is too busy: clients are, for {there.load:.0%} of the time")
    assert share < (there.waits() + there.load) / 2, (share, there.waits(), there.load)
    assert "found no free client" not in done.out


def test_one_file_set_is_shared_by_all(scope: Scope, tmp_path: Path, flavour: str) -> None:
    command = [str(scope.binary), "load", str(tmp_path), "-m", "batch-read", "-n", "4", *SHORT]
    done = scope.execute(mpirun(flavour, command), save=True, env=ENVIRONMENT).expect(OK)
    phase = phase_of(done)
    assert_is_sum_of_ranks(phase)
    assert not any(a["failed"] for a in phase["load"]["actions"])
    assert not list(tmp_path.iterdir())


def test_a_rank_that_dies_is_named_and_the_rest_kept(
    scope: Scope, tmp_path: Path, flavour: str
) -> None:
    _, done = lose_rank(scope, flavour, tmp_path, 1)
    assert done.status == LOST, done
    phase = phase_of(done)
    assert done.run
    assert phase["complete"]
    assert [r["end"] for r in phase["ranks"]] == ["done", "done", "lost", "done"]
    assert_is_sum_of_ranks(phase)
    assert "rank 2 (" in done.run.warning("rank")
    each = phase["load"]["each_client"]
    assert [c["lost"] for c in each] == [i % RANKS == 2 for i in range(8)]
    assert phase["load"]["lost"] == 2
    (slo,) = phase["load"]["slo"]
    assert (slo["verdict"], slo["why"]) == ("broken", "2 of 8 sessions were lost")
    assert "rank 2" in done.out
    assert "LOST" in done.out


def test_the_launcher_may_end_the_job(scope: Scope, tmp_path: Path, flavour: str) -> None:
    """It does so when a process that it started is killed: at once, or once all else has ended."""
    running, done = lose_rank(scope, flavour, tmp_path, 0)
    assert done.status != OK, done
    assert running.json
    assert running.json.stat().st_size, "nothing was saved"


def read(file: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(file.read_text())
    return value


def actions_of(phase: dict[str, Any]) -> int:
    return sum(a["n"] for a in phase["load"]["actions"])


def killed(scope: Scope, flavour: str, where: Path, which: tuple[int, int]) -> dict[int, Any]:
    """Kills a process (rank; 0: that of mpirun, 1: its child) of a load that works, each rank as
    the owner of the directory. Rank -> the phase that it has saved, where it has."""
    work, folder = where / "work", where / "run"
    work.mkdir()
    os.chown(work, NOBODY, NOBODY)
    args = ("-n", "8", "-d", "60", "--files", "0", "-o", str(folder))
    running = start(scope, flavour, work, *args)
    ranks = wait_for_work(running, work, 8)
    assert {rights(rank[1])[0] for rank in ranks.values()} == {NOBODY}
    kill([ranks[which[0]][which[1]]])
    assert finish(running, work).status != OK
    files = {0: folder / "run.json", **{i: folder / f"rank-{i}.json" for i in range(1, RANKS)}}
    found = {rank: read(file) for rank, file in files.items() if file.exists()}
    assert len({run["id"] for run in found.values()}) == 1
    assert not any(run["complete"] for run in found.values())
    return {rank: run["phases"][0] for rank, run in found.items()}


def test_what_the_ranks_of_a_killed_job_did_is_saved(
    scope: Scope, tmp_path: Path, flavour: str
) -> None:
    saved = killed(scope, flavour, tmp_path, (2, 0))
    for rank in range(RANKS):
        phase = saved.get(rank, saved[0])  # or rank 0 has heard of it, before the end
        assert phase["ranks"][rank]["end"] == "stopped", (rank, phase["ranks"])
        assert_is_sum_of_ranks(phase)
        assert all(c["actions"] for c in phase["load"]["each_client"][rank::RANKS])


def test_if_rank_0_is_killed_the_others_save_and_clean_up(
    scope: Scope, tmp_path: Path, flavour: str
) -> None:
    saved = killed(scope, flavour, tmp_path, (0, 1))
    assert sorted(saved) == list(range(1, RANKS))
    for rank, phase in saved.items():
        ends = ["lost"] * RANKS
        ends[rank] = "stopped"
        assert [r["end"] for r in phase["ranks"]] == ends
        assert actions_of(phase) == sum(a["n"] for a in phase["ranks"][rank]["actions"]) > 0


def test_if_rank_0_is_killed_a_server_s_volume_is_cleaned(
    scope: Scope, sqlite: Server, tmp_path: Path, flavour: str
) -> None:
    """In a load that leaves no file open: a server keeps those of a client that is killed."""
    args = ("-m", "metadata", "-n", "4", "-d", "60", "--ramp", "0", "--files", "0", *PAUSES)
    command = scope.command(sqlite, *args, "-o", str(tmp_path / "run"), tool="load")
    running = scope.start(mpirun(flavour, command), save=True, env=ENVIRONMENT)
    ranks = wait_for_work(running, sqlite.vol1, 4)
    kill([ranks[0][1]])
    done = running.finish()
    wait_until(lambda: not processes(running), 60, "the ranks' end")
    assert "rank-1.json" in done.err, done
    assert not left_on(sqlite), done


def test_if_rank_0_is_killed_while_files_are_made_none_is_left(
    scope: Scope, tmp_path: Path, flavour: str
) -> None:
    running = start(scope, flavour, tmp_path, "-n", "4", "-d", "60", "--files", "90000")
    ranks = wait_for_work(running, tmp_path, 4)
    kill([ranks[0][1]])
    assert "before anything was measured" in finish(running, tmp_path).err


def test_an_interrupt_ends_all_ranks(scope: Scope, tmp_path: Path, flavour: str) -> None:
    running = start(scope, flavour, tmp_path, "-n", "8", "-d", "60")
    wait_for_work(running, tmp_path, 8)
    running.signal(signal.SIGINT)
    running.finish()
    wait_until(lambda: not processes(running), 60, "the ranks' end")
    assert not list(tmp_path.iterdir()), "something is left"
    assert running.json
    assert '"complete": false' in running.json.read_text()


def test_what_cannot_be(scope: Scope, tmp_path: Path, flavour: str) -> None:
    here = [str(scope.binary), "load", str(tmp_path), "-n", "2", "-d", "1"]
    done = scope.execute([*here, "--mpi"])
    done.expect(USAGE, "was not started by mpirun")
    done = scope.execute(mpirun(flavour, here, 3), env=ENVIRONMENT)
    assert done.status == USAGE, done
    assert "2 clients cannot be shared by 3 processes" in done.err
    alone = tmp_path / "bin"
    alone.mkdir()
    shutil.copy(scope.binary, alone)
    done = scope.execute(mpirun(flavour, [str(alone / "afpscope"), *here[1:]], 2), env=ENVIRONMENT)
    assert done.status == USAGE, done
    assert done.err.count(f"afpscope-mpi-{flavour}.so is not installed") == 1
    done = scope.execute(mpirun(flavour, unlike(here, "--seed", "2"), 2), env=ENVIRONMENT)
    assert "rank 1" in done.err
    assert "was started with other options" in done.err
    assert done.status == USAGE, done
    assert [p.name for p in tmp_path.iterdir()] == ["bin"]


# What srun --mpi=pmix sets for a program of Open MPI, and none of mpirun's own names.
AS_PMIX = ("env", "-u", "OMPI_COMM_WORLD_SIZE", "-u", "OMPI_COMM_WORLD_RANK")


def test_ranks_that_slurm_started_by_pmix_are_one_load(scope: Scope, tmp_path: Path) -> None:
    missing = plugin(scope, "openmpi")
    if missing:
        pytest.skip(missing)
    command = [*AS_PMIX, str(scope.binary), "load", str(tmp_path), "-n", "4", *SHORT, "--no-probe"]
    slurm = {"SLURM_PROCID": "0", "SLURM_NTASKS": "2"}
    done = scope.execute(mpirun("openmpi", command, 2), save=True, env=ENVIRONMENT | slurm)
    done.expect(OK)
    phase = phase_of(done)
    assert [r["clients"] for r in phase["ranks"]] == [2, 2]
    assert_is_sum_of_ranks(phase)


def test_tasks_of_slurm_without_mpi_are_told_how(scope: Scope, tmp_path: Path) -> None:
    here = [str(scope.binary), "load", str(tmp_path), "-n", "2", "-d", "1", "--mpi"]
    done = scope.execute(here, env={"SLURM_PROCID": "0", "SLURM_NTASKS": "2"})
    done.expect(USAGE, "srun with --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH)")
