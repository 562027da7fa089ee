# SPDX-License-Identifier: GPL-2.0-or-later
"""Small files by several processes that mpirun starts: each load begins in all of them together,
they work in one tree, and one that dies is named while the rest is kept.

Tests user/main/rank_clients.c, user/ranks/ranks.c, ranks_other.c, user/run/rank.c, progress.c.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from mpirun import (
    ENVIRONMENT,
    FLAVOURS,
    RANKS,
    assert_began_together,
    assert_is_sum_of_ranks,
    children,
    mpirun,
    over_hosts,
    plugin,
    processes,
    two_hosts,
    unlike,
)
from netatalk import Server
from scope import LOST, OK, USAGE, Running, Scope, kill, left_on, wait_until

CLIENTS, FILES = 6, 50
SET = ("-n", str(CLIENTS), "-f", str(FILES), "--files-per-dir", "20")


@pytest.fixture
def flavour(scope: Scope) -> str:
    """One is enough: what differs between them is tested by test_load_mpi.py."""
    missing = [plugin(scope, name) for name in FLAVOURS]
    if "" not in missing:
        pytest.skip(missing[0])
    return FLAVOURS[missing.index("")]


def start(scope: Scope, flavour: str, where: Path, *args: str) -> Running:
    command = [str(scope.binary), "smallfile", *SET, *args, str(where)]
    return scope.start(mpirun(flavour, command), save=True, env=ENVIRONMENT)


def wait_for_end(running: Running, where: Path) -> None:
    """The launcher may be gone before the processes that save and clean up."""
    wait_until(lambda: not processes(running, "smallfile"), 60, "the ranks' end")
    assert not list(where.iterdir()), "something is left"


def test_ranks_work_in_one_tree(scope: Scope, tmp_path: Path, flavour: str) -> None:
    args = ("--tree", "kept", "--exponential")
    running = start(scope, flavour, tmp_path, *args, "-l", "create,append,stat")
    done = running.finish().expect(OK)
    assert done.run
    assert f"{RANKS} ranks on 1 host began within " in done.out
    for phase in done.run.saved["phases"]:
        load, ranks = phase["load"], phase["ranks"]
        assert phase["complete"]
        assert_is_sum_of_ranks(phase)
        assert [r["clients"] for r in ranks] == [2, 2, 1, 1]
        assert {r["end"] for r in ranks} == {"done"}
        assert [c["actions"] for c in load["each_client"]] == [FILES] * CLIENTS
        assert_began_together(phase)
        # The first that was done has done all of its own by then.
        assert FILES <= load["common_actions"] <= FILES * CLIENTS
        assert load["begin_ns"] < load["common_ns"] <= load["end_ns"]
    names = {d.name for d in (tmp_path / "kept").iterdir()}
    assert names == {f"thrd{c:03}-d{d:04}" for c in range(CLIENTS) for d in range(3)}
    # One process finds what the ranks have made, byte by byte.
    alone = [str(scope.binary), "smallfile", *SET, *args, "-l", "overwrite,read,delete"]
    alone += [str(tmp_path)]
    done = scope.execute(alone, save=True).expect(OK)
    assert not list((tmp_path / "kept").glob("*/*"))


def test_ranks_on_two_hosts_begin_together(scope: Scope, tmp_path: Path, flavour: str) -> None:
    """Network namespaces, with clocks that differ by a day; both see the directory."""
    work = tmp_path / "work"
    work.mkdir()
    command = [str(scope.binary), "smallfile", "--mpi", *SET, "-l", "create,read,delete", str(work)]
    with two_hosts() as names:
        line = [*over_hosts(flavour, tmp_path, names, RANKS), *command]
        running = scope.start(line, save=True, env=ENVIRONMENT)
        done = running.finish().expect(OK)
        wait_for_end(running, work)
    assert done.run
    assert f"{RANKS} ranks on 2 hosts began within " in done.out
    assert "to be read by rank 0's clients" in " ".join(done.out.split())
    for phase in done.run.saved["phases"]:
        load, ranks = phase["load"], phase["ranks"]
        assert_is_sum_of_ranks(phase)
        assert sorted(r["host"] for r in ranks) == sorted(2 * names)
        assert_began_together(phase)
        assert [c["actions"] for c in load["each_client"]] == [FILES] * CLIENTS
        assert not any(a["failed"] for a in load["actions"])


def test_the_server_counts_the_files_of_all_ranks(scope: Scope, dbd: Server, flavour: str) -> None:
    command = scope.command(dbd, *SET, "-l", "create,delete", tool="smallfile")
    done = scope.execute(mpirun(flavour, command), save=True, env=ENVIRONMENT).expect(OK)
    assert done.run
    done.run.assert_trustworthy()
    assert done.run.phase(1).requests()[7] == FILES * CLIENTS  # FPCreateFile
    assert done.run.phase(2).requests()[8] == FILES * CLIENTS  # FPDelete
    assert not left_on(dbd)


def test_a_rank_that_dies_is_named_and_the_rest_kept(
    scope: Scope, tmp_path: Path, flavour: str
) -> None:
    mark = tmp_path.with_name(f"{tmp_path.name}.mark")
    between = (
        f"echo x >> {mark}; while test $(wc -l < {mark}) = 2 -a ! -e {mark}.go; do sleep 0.05; done"
    )
    running = start(scope, flavour, tmp_path, "-l", "create,stat,delete", "--between", between)
    wait_until(lambda: mark.exists() and mark.read_text() == "x\nx\n", 60, "the second load")
    kill([children(running, "smallfile")[2][1]])
    mark.with_name(f"{mark.name}.go").touch()
    done = running.finish()
    assert done.status == LOST, done
    wait_for_end(running, tmp_path)
    assert done.run
    create, stat, delete = done.run.saved["phases"]
    assert {r["end"] for p in (create, stat) for r in p["ranks"]} == {"done"}
    assert [r["end"] for r in delete["ranks"]] == ["done", "done", "lost", "done"]
    assert_is_sum_of_ranks(delete)
    assert delete["complete"]
    assert delete["load"]["lost"] == 1
    assert [c["lost"] for c in delete["load"]["each_client"]] == [i == 2 for i in range(CLIENTS)]
    assert sum(a["n"] for a in delete["load"]["actions"]) == FILES * (CLIENTS - 1)
    assert done.run.warning("rank").count("rank 2 (") == 1
    assert "rank 2" in done.out
    assert "LOST" in done.out


def test_an_interrupt_ends_all_ranks(scope: Scope, tmp_path: Path, flavour: str) -> None:
    running = start(scope, flavour, tmp_path, "-l", "create,stat", "-d", "600")
    wait_until(lambda: len(list(tmp_path.glob("*/*/f.*"))) == FILES * CLIENTS, 60, "the files")
    running.signal(signal.SIGINT)
    running.finish()
    wait_for_end(running, tmp_path)
    assert running.json
    assert '"complete": false' in running.json.read_text()


def test_what_cannot_be(scope: Scope, tmp_path: Path, flavour: str) -> None:
    here = [str(scope.binary), "smallfile", "-n", "2", str(tmp_path)]
    done = scope.execute(mpirun(flavour, here, 3), env=ENVIRONMENT)
    assert done.status == USAGE, done
    assert "2 clients cannot be shared by 3 processes" in done.err
    done = scope.execute(mpirun(flavour, unlike(here, "--file-size", "8K"), 2), env=ENVIRONMENT)
    assert "was started with other options" in done.err
    assert done.status == USAGE, done
    assert not list(tmp_path.iterdir())
