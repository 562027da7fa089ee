# SPDX-License-Identifier: GPL-2.0-or-later
"""Every request of a session is in the ledger, and its time is told apart.

The judges of the numbers are the server's own USDT probes, tshark, and the
client; those of the times are the ledger's own sums: each request's begin and
end are taken apart from its parts.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from afpclient import AfpClient
from netatalk import SIGNATURES, Server
from scheduling import in_check
from scope import (
    DBD,
    LETTERS,
    NUMBER,
    OK,
    SQLITE,
    TIMED,
    Phase,
    PinnedServer,
    Run,
    Scope,
    both_cpus,
)
from test_signatures import IMPLIED, check_own_counts, signature

KINDS = ("dbd", "sqlite", "old")
# By kind: the tests that are named, as of option -f. On one server all twelve, on the others those
# that change the most; all twelve there, too: make check-judges.
SOME = {"dbd": LETTERS, "sqlite": "78:", "old": "78:"}
ALL_KINDS = ("sqlite all", "old all")
JUDGES = [pytest.param(kind, marks=pytest.mark.judges) for kind in ALL_KINDS]
DSI_GET_STATUS, DSI_OPEN_SESSION = 256 + 3, 256 + 4
CREATE_DIR, CREATE_FILE, DELETE, STAT = 6, 7, 8, 34
NO_OBJECT = -5018
CNID_OBJECTS = ("CNID socket", "CNID database")
ROLES = ("afpd", "cnid_dbd", "helper", "other")
OUTSIDE = {"between requests", "other threads", "outside sessions", "unassigned"}


@dataclass(frozen=True)
class Session:
    """A run of tests, watched twice: by lantest, and whole by record."""

    letters: str
    judged: dict[int, int]
    whole: Run
    lantest: Run

    @property
    def ran(self) -> list[str]:
        """With the tests that others bring with them."""
        return sorted({ran for letter in self.letters for ran in IMPLIED.get(letter, letter)})


def recorded(
    scope: Scope, server: Server, folder: Path, letters: str, *, wire: bool = False
) -> Session:
    """lantest inside record inside a judge. Forced, it sends what the original does."""
    inner, outer = folder / "lantest.json", folder / "record.json"
    lantest = scope.command(server, "--force", "-n", "1", "--json", str(inner), "-f", letters)
    command = scope.recorder(server, "--json", str(outer), command=lantest)
    judged = server.judge(["timeout", "-k", "5", "600", *command], wire=wire)
    return Session(letters, judged, Run.load(outer), Run.load(inner))


@pytest.fixture(scope="module")
def sessions(scope: Scope, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Session]:
    """Of servers on a disk, for which some of their calls wait."""
    first, second = both_cpus()
    with (
        PinnedServer("forky", "dbd", first, AFPD_MEMORY="") as dbd,
        PinnedServer("forky", "sqlite", second, AFPD_MEMORY="") as sqlite,
        PinnedServer("trixie", "dbd", second, AFPD_MEMORY="") as old,
        ThreadPoolExecutor() as pool,
    ):
        found = pool.map(
            lambda server, kind: recorded(scope, server, tmp_path_factory.mktemp(kind), SOME[kind]),
            [dbd, sqlite, old],
            KINDS,
        )
        return dict(zip(KINDS, found, strict=True))


@pytest.fixture(scope="module")
def whole_sessions(scope: Scope, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Session]:
    """All twelve tests on the servers that have a few of them in "sessions"."""
    first, second = both_cpus()
    with (
        PinnedServer("forky", "sqlite", first, AFPD_MEMORY="") as sqlite,
        PinnedServer("trixie", "dbd", second, AFPD_MEMORY="") as old,
        ThreadPoolExecutor() as pool,
    ):
        found = pool.map(
            lambda server: recorded(scope, server, tmp_path_factory.mktemp("whole"), LETTERS),
            [sqlite, old],
        )
        return dict(zip(ALL_KINDS, found, strict=True))


def session_of(request: pytest.FixtureRequest) -> Session:
    name = "whole_sessions" if request.param in ALL_KINDS else "sessions"
    found: dict[str, Session] = request.getfixturevalue(name)
    return found[request.param]


@pytest.fixture(params=(*KINDS, *JUDGES))
def session(request: pytest.FixtureRequest) -> Session:
    return session_of(request)


@pytest.fixture(params=("dbd", "old", JUDGES[1]))
def with_cnid_dbd(request: pytest.FixtureRequest) -> Session:
    return session_of(request)


def phases(session: Session) -> Iterator[Phase]:
    yield session.whole.phases[0]
    yield from session.lantest.phases


def calls(accounts: list[dict[str, Any]]) -> Counter[str]:
    """Role -> calls in the parts of these accounts."""
    found: Counter[str] = Counter()
    for account in accounts:
        for part in account["parts"]:
            found[part["role"]] += part["calls"]
    return found


def parts(account: dict[str, Any], role: str, **wanted: str) -> list[dict[str, Any]]:
    return [
        part
        for part in account["parts"]
        if part["role"] == role and all(part[key] == value for key, value in wanted.items())
    ]


def total(found: list[dict[str, Any]], key: str) -> int:
    return sum(part[key] for part in found)


def test_judge(session: Session) -> None:
    """From login to logout, what the server's own probes say."""
    assert session.judged == signature(session.letters)
    assert session.whole.phases[0].requests() == session.judged
    accounts = session.whole.phases[0].accounts()
    for account in accounts.values():
        assert account["begun"] == account["requests"], account["name"]
    # The session, and the one that asked for the server's status.
    assert accounts[DSI_OPEN_SESSION]["requests"] == 1
    assert accounts[DSI_GET_STATUS]["requests"] == 1
    assert {a for a in accounts if a > 255} == {DSI_OPEN_SESSION, DSI_GET_STATUS}


@pytest.mark.parametrize("letters", in_check("2:", ":"))
def test_wire(scope: Scope, dbd: Server, tmp_path: Path, letters: str) -> None:
    """What tshark reads from the network."""
    found = recorded(scope, dbd, tmp_path, letters, wire=True)
    assert found.judged == SIGNATURES[letters]
    assert found.whole.phases[0].requests() == found.judged


def test_each_test(session: Session) -> None:
    """In the timed region of each test, exactly its commands, by the client's count as well."""
    timed = {NUMBER[letter]: TIMED[NUMBER[letter]] for letter in session.ran}
    assert {p.test: p.requests() for p in session.lantest.phases} == timed
    check_own_counts(session.lantest, session.ran)


def check_columns(run: Run, known: dict[int, tuple[int, int]]) -> None:
    """As in every other run (test_books.py). Judges slow the server down: after the tick of a
    session that lives for 30 s it looks once more than usual whether there is another one."""
    quiet = [p for p in run.phases if p.test in known and not p.ticks() and not p.ticked()]
    assert {p.test: p.columns() for p in quiet} == {p.test: known[p.test] for p in quiet}
    assert len(quiet) >= len(known) - 2 * run.ticks()


def test_columns_are_those_of_other_runs(sessions: dict[str, Session]) -> None:
    check_columns(sessions["dbd"].lantest, DBD)


@pytest.mark.judges
def test_columns_with_sqlite_are_those_of_other_runs(whole_sessions: dict[str, Session]) -> None:
    check_columns(whole_sessions["sqlite all"].lantest, SQLITE)


def test_books(session: Session) -> None:
    session.whole.assert_trustworthy()
    session.lantest.assert_trustworthy()
    books = {book["name"]: book for book in session.lantest.saved["books"]}
    wanted = sum(sum(TIMED[NUMBER[letter]].values()) for letter in session.ran)
    assert books["requests answered"]["ours"] == wanted
    assert books["requests answered"]["with"] == "the client's count"
    for run in (session.whole, session.lantest):
        assert "all threads calls" in {book["name"] for book in run.saved["books"]}


def test_every_call_has_an_account(session: Session) -> None:
    """The same calls in both ledgers; the last resort is not needed."""
    for phase in phases(session):
        outside = phase.outside()
        assert set(outside) <= OUTSIDE
        assert calls([outside[n] for n in outside if n == "unassigned"]).total() == 0
        mine = calls([*phase.accounts().values(), *outside.values()])
        rows = Counter({r: sum(phase.by_class(r).values()) for r in ROLES})
        assert +mine == +rows, f"test {phase.test}"


def test_bytes(session: Session) -> None:
    """Requests and replies with their headers are the connection's traffic."""
    saved = session.whole.saved["sessions"]
    accounts = session.whole.phases[0].accounts().values()
    for key in ("bytes_in", "bytes_out", "requests"):
        assert sum(a[key] for a in accounts) == sum(s[key] for s in saved)


def test_times_add_up(session: Session) -> None:
    for phase in phases(session):
        for account in phase.accounts().values():
            what = f"test {phase.test}, {account['name']}"
            explained = sum(account["times"].values())
            assert abs(explained - account["time_ns"]) <= account["time_ns"] / 1000, what
            assert account["unexplained"] <= account["requests"] / 100, what
            counted = sum(n for _, n in account["histogram"]["buckets"])
            assert counted == account["requests"], what


def test_columns_are_sums_of_parts(session: Session) -> None:
    for phase in phases(session):
        for account in [*phase.accounts().values(), *phase.outside().values()]:
            times, mine = account["times"], parts(account, "afpd")
            own = parts(account, "afpd", **{"class": "user"})
            assert times["user"] == total(own, "cpu_ns")
            assert times["user"] + times["calls"] == total(mine, "cpu_ns")
            assert times["runq"] == total(mine, "runq_ns")
            blocked = sum(times.values()) - times["user"] - times["calls"] - times["runq"]
            assert blocked == total(mine, "blocked_ns")
            cnid = [part for part in mine if part["object"] in CNID_OBJECTS]
            assert times["cnid"] == total(cnid, "blocked_ns")


def test_create_asks_cnid_dbd(with_cnid_dbd: Session) -> None:
    """The wait for the CNID server is told, and what that did meanwhile."""
    account = with_cnid_dbd.lantest.phase(5).accounts()[CREATE_FILE]
    n = account["requests"]
    assert n == 2000
    waited = account["times"]["cnid"]
    assert waited > 0
    assert abs(sum(account["inside"].values()) - waited) <= waited / 1000
    assert account["inside"]["unknown"] <= waited / 100
    assert not parts(account, "afpd", object="CNID database")
    assert total(parts(account, "afpd", object="CNID socket"), "calls") > n
    # Its log is forced to the disk for each new entry, mostly after the answer.
    syncs = parts(account, "cnid_dbd", **{"class": "sync", "object": "CNID database"})
    assert 0.98 * n <= total(syncs, "calls") <= 1.05 * n
    assert total(syncs, "blocked_ns") > 0


def test_create_with_sqlite(sessions: dict[str, Session]) -> None:
    """No CNID server: the database's file and its locks are afpd's own."""
    phase = sessions["sqlite"].lantest.phase(5)
    account = phase.accounts()[CREATE_FILE]
    assert account["requests"] == 2000
    assert not parts(account, "cnid_dbd")
    assert not parts(account, "afpd", object="CNID socket")
    assert sum(account["inside"].values()) == 0
    database = parts(account, "afpd", object="CNID database")
    assert {"write", "sync"} & {part["class"] for part in database}
    assert total(database, "calls") >= 2000
    assert account["times"]["cnid"] == total(database, "blocked_ns")


@pytest.mark.parametrize("code", [CREATE_DIR, CREATE_FILE, DELETE])
def test_changes_cost_the_cnid_server(with_cnid_dbd: Session, code: int) -> None:
    account = with_cnid_dbd.whole.phases[0].accounts()[code]
    assert total(parts(account, "cnid_dbd"), "calls") > account["requests"]
    assert account["times"]["cnid"] > 0


def test_reading_does_not_ask_the_cnid_server(sessions: dict[str, Session]) -> None:
    """In netatalk 4.5 (4.2 does ask)."""
    for test in (9, 11, 12):
        account = sessions["dbd"].lantest.phase(test).accounts()[STAT]
        assert account["times"]["cnid"] == 0
        assert not parts(account, "cnid_dbd")


@pytest.mark.parametrize("kind", in_check(KINDS, KINDS[:1]))
def test_errors_by_code(scope: Scope, kind: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(kind)
    client = AfpClient(server.port)
    running = scope.record(server)
    running.wait_recording()
    for _ in range(7):
        client.stat_root()
    for _ in range(5):
        with pytest.raises(RuntimeError, match=str(NO_OBJECT)):
            client._expect_ok("stat", stat_of(client, "no such file"))
    client.close()
    running.signal(signal.SIGINT)
    run = running.finish().expect(OK).run
    assert run
    run.assert_trustworthy()
    account = run.phases[0].accounts()[STAT]
    assert account["requests"] == 12
    assert account["errors"] == 5
    assert account["results"] == [{"code": NO_OBJECT, "n": 5}]


def stat_of(client: AfpClient, name: str) -> bytes:
    """FPGetFileDirParms of a file in the volume's root, for its attributes."""
    head = bytes([34, 0]) + client._volume.to_bytes(2, "big") + (2).to_bytes(4, "big")
    path = b"\3" + (0x08000103).to_bytes(4, "big") + len(name).to_bytes(2, "big") + name.encode()
    return head + (1).to_bytes(2, "big") * 2 + path
