# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the server cannot be watched, or not exactly: the same layout, unknown
cells n/a (never 0) with one line that says why, and exit code 0."""

from __future__ import annotations

import csv
from pathlib import Path

from netatalk import Server
from netns import HIDDEN
from scope import AS_NOBODY, DBD, FAILED, OK, WITHOUT_BPF, Run, Scope

LETTERS = "49"
TITLE = "Locking/Unlocking 10000 times each [20,000 AFP ops]"
PROC_KNOWS = {
    f"{role}_{figure}"
    for role in ("afpd", "cnid")
    for figure in ("syscr", "syscw", "rchar", "wchar", "cpu", "runq")
}


def server_metrics(run: Run) -> set[str]:
    return {key for key in run.phases[0].metrics if key.startswith(("afpd_", "cnid_"))}


def peer_rows(text: str) -> dict[str, list[str]]:
    """The rows of the peer's table: title -> cells."""
    return {
        line[:66].rstrip(): line[66:].split()
        for line in text.splitlines()
        if line[:66].rstrip().endswith("AFP ops]")
    }


def squeezed(text: str) -> str:
    """The report wraps lines."""
    return " ".join(text.split())


def check_client_columns(run: Run) -> None:
    assert run.complete
    assert [phase.test for phase in run.phases] == [4, 9]
    for phase in run.phases:
        assert phase["elapsed"] > 0
        assert phase["ops"] == DBD[phase.test][1]
        assert phase["client_cpu"] > 0


def check_nothing_of_the_server(text: str, run: Run, reason: str) -> None:
    """Client columns only, and why."""
    check_client_columns(run)
    assert server_metrics(run) <= run.unknown()
    assert reason in run.saved["absent"]["*"]
    assert all(phase.saved["ledger"]["rows"] is None for phase in run.phases)
    assert squeezed(text).count(run.saved["absent"]["*"]) >= 1
    verdict = run.saved["diagnosis"]["text"]
    assert verdict.startswith("No verdict: the server was not watched: "), verdict
    assert reason in verdict, verdict
    cells = peer_rows(text)[TITLE]
    assert cells[2:10] == ["n/a"] * 8, cells


def check_proc(text: str, run: Run) -> None:
    """What /proc shows, and n/a for the rest."""
    check_client_columns(run)
    assert server_metrics(run) & run.unknown() == server_metrics(run) - PROC_KNOWS
    assert set(run.saved["absent"]) == server_metrics(run) - PROC_KNOWS | {"requests"}
    assert "/proc" in run.saved["rungs"]["calls"]
    for key, reason in run.saved["absent"].items():
        assert key in squeezed(text)
        assert reason in squeezed(text)
    for phase in run.phases:
        assert (phase["afpd_syscr"], phase["afpd_syscw"]) == DBD[phase.test]
    assert peer_rows(text)[TITLE][2] == "20000"


def test_proc(scope: Scope, dbd: Server) -> None:
    done = scope(dbd, "-n", "1", "-v", "-f", LETTERS, "--watch=proc", save=True).expect(OK)
    assert done.run
    check_proc(done.out, done.run)


def test_bpf_forbidden(scope: Scope, dbd: Server) -> None:
    """The next lower rung is taken, and the reason told."""
    command = scope.command(dbd, "-n", "1", "-v", "-f", LETTERS)
    done = scope.execute([*WITHOUT_BPF, *command], save=True).expect(OK)
    assert done.run
    check_proc(done.out, done.run)
    reason = done.run.saved["rungs"]["not.bpf"]
    assert "BPF" in reason and "refused" in reason, reason
    assert reason in squeezed(done.out)

    scope.execute([*WITHOUT_BPF, *command, "--watch=bpf"]).expect(FAILED, "cannot watch", "bpf")


def test_off(scope: Scope, dbd: Server) -> None:
    done = scope(dbd, "-n", "1", "-v", "-f", LETTERS, "--watch=off", save=True).expect(OK)
    assert done.run
    check_client_columns(done.run)
    assert server_metrics(done.run) <= done.run.unknown()
    # The peer's layout without IO columns.
    assert len(peer_rows(done.out)[TITLE]) == 3
    assert "IO Operations" not in done.err


def as_nobody(scope: Scope, server: Server, program: Path, *args: str) -> list[str]:
    command = scope.command(server, "-n", "1", "-v", "-f", LETTERS, *args)
    at = command.index(str(scope.binary))
    command[at] = str(program)
    return [*AS_NOBODY, *command]


def test_ordinary_user(scope: Scope, dbd: Server, public: Path) -> None:
    saved = public.parent / "run.json"
    done = scope.execute(as_nobody(scope, dbd, public, "--json", str(saved))).expect(OK)
    check_nothing_of_the_server(done.out, Run.load(saved), "no right to see")


def test_ordinary_user_csv(scope: Scope, dbd: Server, public: Path) -> None:
    """In CSV an unknown cell is empty."""
    done = scope.execute(as_nobody(scope, dbd, public, "-c")).expect(OK)
    rows = {row["Test"]: row for row in csv.DictReader(done.out.splitlines())}
    for column in ("AFPD_R", "AFPD_W", "CNID_R", "CNID_W"):
        assert rows[TITLE][column] == ""
    assert int(rows[TITLE]["Time_ms"]) > 0


def test_server_on_another_host(scope: Scope, elsewhere: tuple[Server, str]) -> None:
    server, address = elsewhere
    line = [*HIDDEN, *scope.command(server, "-n", "1", "-v", "-f", LETTERS, host=address)]
    done = scope.execute(line, save=True).expect(OK)
    assert done.run
    check_nothing_of_the_server(done.out, done.run, "not on this host")
    assert address in done.run.saved["absent"]["*"]

    scope.execute([*line, "--watch=bpf"]).expect(FAILED, "not on this host")


# Place: a server in another network namespace, by its own address | exact
def test_server_in_another_network_namespace(scope: Scope, elsewhere: tuple[Server, str]) -> None:
    """It is on this host, and counted as any other."""
    server, address = elsewhere
    done = scope(server, "-n", "1", "-v", "-f", ":", save=True, host=address).expect(OK)
    assert done.run
    done.run.assert_trustworthy()
    assert done.run.phase(10).columns() == DBD[10]
