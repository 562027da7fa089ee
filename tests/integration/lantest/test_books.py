# SPDX-License-Identifier: GPL-2.0-or-later
"""The counts are exact: they equal /proc's over the run, and repeat in every run (others:
test_session_requests.py, and test_signatures.py of some tests alone).

What repeats, on netatalk 4.5.1: AFPD_R and AFPD_W of every test on dbd but 2
and 3, and on sqlite of every test that does not write to the CNID database.
What does not, because the server's work itself is not the same each time:

  test 2  FPWrite takes from the socket what is there: the data of a request
          is written in as many pieces as it arrived in (mostly two).
  test 3  sendfile stops when the socket is full and is called again: R and W
          both have one count for each of its calls. R - W is exact.
  5, 7, 8, 10 on sqlite
          the database's pages: keys (inode numbers) are others in each run,
          so other pages are split and other numbers of pages checkpointed.
  CNID_R, CNID_W of 5, 7, 8, 10 on dbd
          the same in Berkeley DB, whose pages are written by checkpoints.
  any     a session of afpd that lives for 30 s has a tick of its own (one read
          and one write of its self-pipe): on slow machines in some test.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from scope import BUILD, DBD, SQLITE, SQLITE_WRITES, Both, Run

BULK_BYTES = 100 * 1048540


@pytest.fixture
def both(twelve: Both) -> dict[str, Run]:
    assert twelve.dbd.run and twelve.sqlite.run
    return {"dbd": twelve.dbd.run, "sqlite": twelve.sqlite.run}


@pytest.fixture
def dbd_run(both: dict[str, Run]) -> Run:
    return both["dbd"]


@pytest.fixture
def sqlite_run(both: dict[str, Run]) -> Run:
    return both["sqlite"]


def _check_books(run: Run, roles: list[str]) -> None:
    run.assert_trustworthy()
    assert [book["name"] for book in run.saved["books"]] == [
        *(
            f"{role} {run.pid(role)} {figure}"
            for role in roles
            for figure in ("syscr", "syscw", "rchar", "wchar")
        ),
        "all threads calls",
        "requests answered",
    ]
    assert all(book["ours"] == book["theirs"] for book in run.saved["books"])


def test_books_close_dbd(dbd_run: Run) -> None:
    _check_books(dbd_run, ["afpd", "cnid_dbd"])


def test_books_close_sqlite(sqlite_run: Run) -> None:
    _check_books(sqlite_run, ["afpd"])
    assert all(key.startswith("cnid_") for key in sqlite_run.unknown())
    assert "CNID backend" in sqlite_run.saved["absent"]["cnid_syscr"]


def test_ticks_are_rare(both: dict[str, Run]) -> None:
    """What the columns below leave out is no more than a tick every 30 s."""
    for run in both.values():
        first, last = run.phases[0], run.phases[-1]
        lived = last.saved["start_ns"] + last["elapsed"] - first.saved["start_ns"]
        assert run.ticks() <= lived // (30 * 10**9) + 1


@pytest.mark.parametrize("test", DBD)
def test_same_in_every_run_dbd(dbd_run: Run, test: int) -> None:
    assert dbd_run.phase(test).columns() == DBD[test]


@pytest.mark.parametrize("test", SQLITE)
def test_same_in_every_run_sqlite(sqlite_run: Run, test: int) -> None:
    assert sqlite_run.phase(test).columns() == SQLITE[test]


@pytest.mark.parametrize("test", SQLITE_WRITES)
def test_database_is_in_afpd_on_sqlite(sqlite_run: Run, test: int) -> None:
    """The CNID socket's writes are gone, and the database's come on top."""
    phase = sqlite_run.phase(test)
    database = phase.calls("afpd", "write", "CNID database")
    assert database
    assert phase.calls("afpd", "write", "CNID socket") == 0
    dbd_requests = {5: 2000, 7: 4000, 8: 1110, 10: 600}[test]
    reads = phase.calls("afpd", "read", "CNID database")
    assert phase.columns() == (
        DBD[test][0] + reads,
        DBD[test][1] - dbd_requests + database,
    )


@pytest.mark.parametrize("kind", ["dbd", "sqlite"])
def test_bulk(both: dict[str, Run], kind: str) -> None:
    run = both[kind]
    write, read = run.phase(2), run.phase(3)
    assert write["bytes"] == read["bytes"] == BULK_BYTES
    assert write.columns()[0] == 101
    # 100 replies, a cache hint at the close, and the pieces of the file.
    pieces = write.calls("afpd", "write", "data file")
    assert 100 <= pieces <= 300
    assert write.columns()[1] == 101 + pieces
    sent = read.calls("afpd", "sendfile")
    assert read.columns() == (101 + sent, sent)
    assert read["afpd_rchar"] == read["afpd_wchar"] == BULK_BYTES


@pytest.mark.parametrize("kind", ["dbd", "sqlite"])
def test_ledger_holds_the_columns(both: dict[str, Run], kind: str) -> None:
    """Both accounts are of the same calls: classes of the one add up to the other."""
    run = both[kind]
    for phase in run.phases:
        for role in ("afpd", "cnid_dbd"):
            key = role.removesuffix("_dbd")
            if phase.metrics[f"{key}_syscr"] is None:
                continue
            sendfile = phase.calls(role, "sendfile")
            assert phase[f"{key}_syscr"] == phase.calls(role, "read") + sendfile
            assert phase[f"{key}_syscw"] == phase.calls(role, "write") + sendfile
            assert phase[f"{key}_calls"] == sum(phase.by_class(role).values())


def test_the_hidden_ones(dbd_run: Run) -> None:
    """What the server does in these tests; none of it is in /proc. test_hidden_calls.py has the
    same under strace."""
    files, locks, creates = (dbd_run.phase(test) for test in (1, 4, 5))
    assert locks.calls("afpd", "lock", "data file") == 20000
    # 1000 forks opened and closed: six locks and two unlocks each; ACL and
    # metadata by path and descriptor; and one of each again, at most twice, when a second
    # begins.
    again = 2 * (files["elapsed"] // 10**9 + 1)
    assert 8000 <= files.calls("afpd", "lock") <= 8000 + again
    assert 4000 <= files.calls("afpd", "xattr") <= 4000 + again
    assert creates.calls("afpd", "xattr", "data file") == 6000
    # One for each change of the database, and those of its checkpoints.
    assert 2000 <= creates.calls("cnid_dbd", "sync") <= 2020

    for phase, requests in ((files, 8000), (locks, 20000), (creates, 4000)):
        assert phase.calls("afpd", "recv", "client socket") == requests
    assert creates.calls("afpd", "recv", "CNID socket") >= 2000
    assert creates.calls("cnid_dbd", "recv", "CNID socket") == 4000
    # FPCloseFork and FPCreateFile have empty replies, FPRead sends a header first.
    assert files.calls("afpd", "send", "client socket") == 2000
    assert creates.calls("afpd", "send", "client socket") == 2000


def _peer_columns(text: str) -> dict[str, list[str]]:
    """Title -> what afp_lantest said of each of its runs."""
    found: dict[str, list[str]] = {}
    pattern = r"^Run \d+ => (.*?\]) .*\n.*afpd: (\d+) READs, (\d+) WRITEs"
    for title, reads, writes in re.findall(pattern, text, re.MULTILINE):
        found.setdefault(title, []).append(f"{reads}/{writes}")
    return found


@pytest.mark.limit(300)
def test_side_by_side(dbd_run: Run, peer_text: Callable[[], str]) -> None:
    """For people: build/side-by-side.txt has the peer's columns next to ours."""
    peer = _peer_columns(peer_text())
    lines = [
        "AFPD_R/AFPD_W of the same tests on the same server (netatalk 4.5.1, dbd)",
        f"{'test':66} afp_lantest  |  afpscope",
    ]
    for test in range(1, 13):
        title = dbd_run.phase(test).title
        reads, writes = dbd_run.phase(test).columns()
        theirs = peer.get(title, [])
        lines.append(f"{title:66} {' '.join(theirs)}  |  {reads}/{writes}")
    path = BUILD / "side-by-side.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    assert set(peer) == {dbd_run.phase(test).title for test in range(1, 13)}
