# SPDX-License-Identifier: GPL-2.0-or-later
"""The server executes exactly the AFP commands of afp_speedtest 4.5 in the set of
that name, and in our own the same with 64-bit reads and writes.

The judge is the server itself, by its USDT probes, and tshark on the wire. All four tests are
judged in one session for each of the options; each test by itself, and the peer, by make
check-judges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from netatalk import Server
from scope import OK, Run, Scope, kill, pinning
from speeding import (
    ALL,
    CLOSE_VOLUME,
    COPY,
    COPY_FILE,
    DELETE,
    FLUSH,
    FP_READ,
    FP_WRITE,
    FRAME,
    GET_VOLUME,
    ITERATIONS,
    KIB,
    LEGACY,
    MIB,
    OPEN_VOLUME,
    PEER_FAILS,
    READ,
    READ_EXT,
    REQUESTS,
    SERVER_COPY,
    SIGNATURES,
    SIZED,
    WORKS,
    WRITE,
    WRITE_EXT,
    Probes,
    Transfer,
    command,
    only,
    speedtest,
    timed,
    transfers,
)
from wire import requests_of

Key = tuple[str, str]
Counts = dict[int, int]
KINDS = ("dbd", "old")
# On the old server those options that change which requests are sent.
ROWS = {
    "dbd": list(SIGNATURES),
    "old": [row for row in SIGNATURES if row[1] in ("", "-y", "-e", "-r 4")],
}
CASES = [(kind, row) for kind in KINDS for row in ROWS[kind]]
# Our own set, and all four tests in one session.
OWN = [(work, "own set") for work in WORKS]
OWN_WHOLE, WHOLE = (ALL, "own set"), (ALL, "")
TOGETHER = {
    kind: [(ALL, option) for option in dict.fromkeys(o for _, o in rows if o != "-r 3")]
    for kind, rows in ROWS.items()
}


def ids(key: Key | str) -> str:
    return key if isinstance(key, str) else " ".join(key).strip()


@dataclass(frozen=True)
class Judged:
    """One run: what the server did, and what went wrong, if anything."""

    counts: Counts
    failed: str
    saved: Path | None = None

    def run(self) -> Run:
        """What it saved of itself."""
        assert not self.failed, self.failed
        assert self.saved
        return Run.load(self.saved)


def judge(server: Server, commands: dict[Key, list[str]]) -> dict[Key, Judged]:
    """What each of the commands makes the server do."""
    failed: dict[Key, str] = {}
    with Probes(server) as probes:
        for key, line in commands.items():
            done = probes.run(line)
            failed[key] = f"{done}" if done.returncode else ""
    assert len(probes.sessions) == len(commands), "some have no session"
    return {
        key: Judged(counts, failed[key])
        for key, counts in zip(commands, probes.sessions, strict=True)
    }


@pytest.fixture(scope="module")
def servers(_dbd: Server, _old: Server) -> dict[str, Server]:
    return {"dbd": _dbd, "old": _old}


@pytest.fixture(scope="module")
def theirs(servers: dict[str, Server]) -> dict[str, dict[Key, Judged]]:
    """The peer's, on both servers."""

    def of(kind: str) -> dict[Key, Judged]:
        server = servers[kind]
        rows = [row for row in [*ROWS[kind], WHOLE] if row != PEER_FAILS]
        line = ("afp_speedtest", *SIZED)
        return judge(
            server,
            {
                row: [*pinning(server), *server.peer_command(*line, "-f", row[0], *row[1].split())]
                for row in rows
            },
        )

    with ThreadPoolExecutor() as pool:
        return dict(zip(servers, pool.map(of, servers), strict=True))


def ours_of(
    scope: Scope,
    servers: dict[str, Server],
    rows: dict[str, list[Key]],
    factory: pytest.TempPathFactory,
) -> dict[str, dict[Key, Judged]]:
    """Ours, on both servers, and what each run saved of itself."""

    def of(kind: str, folder: Path) -> dict[Key, Judged]:
        server = servers[kind]
        lines, saved = {}, {}
        for row in rows[kind]:
            work, option = row
            saved[row] = folder / f"{len(saved)}.json"
            how = [] if option == "own set" else ["--force", "--set", LEGACY, *option.split()]
            if option:
                how.append("--no-null")  # with one or without, nothing else is sent
            lines[row] = command(scope, server, "-f", work, *SIZED, *how, "--json", str(saved[row]))
        found = judge(server, lines)
        return {row: replace(found[row], saved=saved[row]) for row in lines}

    folders = [factory.mktemp(kind) for kind in servers]
    with ThreadPoolExecutor() as pool:
        return dict(zip(servers, pool.map(of, servers, folders), strict=True))


@pytest.fixture(scope="module")
def together(
    scope: Scope, servers: dict[str, Server], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[Key, Judged]]:
    """All four tests in one session."""
    rows = {kind: [*TOGETHER[kind], OWN_WHOLE] for kind in KINDS}
    return ours_of(scope, servers, rows, tmp_path_factory)


@pytest.fixture(scope="module")
def ours(
    scope: Scope, servers: dict[str, Server], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[Key, Judged]]:
    """Each test by itself."""
    rows = {kind: [*ROWS[kind], *OWN] for kind in KINDS}
    return ours_of(scope, servers, rows, tmp_path_factory)


@pytest.fixture(autouse=True)
def _no_session_left(servers: dict[str, Server]) -> Iterator[None]:
    yield
    for server in servers.values():
        kill(server.sessions())


def in_one_session(option: str) -> Counts:
    """What all four tests execute: each makes its directory, the volumes are opened once."""
    once = Counter(FRAME)
    if "-S" in option:
        once.update({OPEN_VOLUME: 1, CLOSE_VOLUME: 1})
    total = Counter(once)
    for work in WORKS:
        total.update(Counter(SIGNATURES[work, option]) - once)
    return dict(sorted(total.items()))


def check_measured(transfer: Transfer, work: str, option: str) -> None:
    """By the client and by what was watched of the server alike."""
    assert transfer.work == work
    assert transfer.phase.commands() == timed(work, option)
    assert transfer.phase.requests() == timed(work, option)
    assert transfer.phase["ops"] == sum(timed(work, option).values())
    assert transfer.phase["errors"] == 0
    assert transfer.size == 4 * MIB
    assert len(transfer.samples()) == 2
    assert len(transfer.samples(warmup=True)) == 1
    if work != SERVER_COPY:
        assert transfer.chunk == MIB - 28


@pytest.mark.parametrize(
    ("kind", "key"), [(kind, key) for kind in KINDS for key in TOGETHER[kind]], ids=ids
)
def test_four_tests_do_what_the_table_says(
    together: dict[str, dict[Key, Judged]], kind: str, key: Key
) -> None:
    run = together[kind][key].run()
    assert together[kind][key].counts == in_one_session(key[1])
    run.assert_trustworthy()
    assert run.saved["set"] == LEGACY
    assert [work for work, _ in transfers(run)] == list(WORKS)
    for (work, _), transfer in transfers(run).items():
        check_measured(transfer, work, key[1])


@pytest.mark.judges
@pytest.mark.parametrize(("kind", "key"), [c for c in CASES if c[1] != PEER_FAILS], ids=ids)
def test_the_peer_does_what_the_table_says(
    theirs: dict[str, dict[Key, Judged]], kind: str, key: Key
) -> None:
    judged = theirs[kind][key]
    assert not judged.failed, judged.failed
    assert judged.counts == SIGNATURES[key]


@pytest.mark.judges
@pytest.mark.parametrize(("kind", "key"), CASES, ids=ids)
def test_we_do_what_the_table_says(ours: dict[str, dict[Key, Judged]], kind: str, key: Key) -> None:
    run = ours[kind][key].run()
    assert ours[kind][key].counts == SIGNATURES[key]
    run.assert_trustworthy()
    assert run.saved["set"] == LEGACY


@pytest.mark.judges
@pytest.mark.parametrize(("kind", "key"), CASES, ids=ids)
def test_only_measured_regions_are_counted(
    ours: dict[str, dict[Key, Judged]], kind: str, key: Key
) -> None:
    check_measured(only(ours[kind][key].run()), *key)


@pytest.mark.judges
@pytest.mark.parametrize("kind", KINDS)
def test_the_peers_four_tests_in_one_session(
    theirs: dict[str, dict[Key, Judged]], kind: str
) -> None:
    assert not theirs[kind][WHOLE].failed, theirs[kind][WHOLE].failed
    assert theirs[kind][WHOLE].counts == in_one_session("")


def own_signature(work: str, writes: int, reads: int) -> Counts:
    """That of the peer with other commands and chunks for the data, and a look at what is free."""
    counts = dict(SIGNATURES[work, ""]) | {GET_VOLUME: 1}
    if work == SERVER_COPY:
        counts[DELETE] -= 1  # the peer deletes the last copy twice
    copied = max(writes, reads)  # a copy reads what it writes
    fills = 0 if work == WRITE else 1
    moved = {
        READ: {READ_EXT: 3 * reads, WRITE_EXT: writes},
        WRITE: {WRITE_EXT: 3 * writes},
        COPY: {READ_EXT: 3 * copied, WRITE_EXT: 3 * copied + writes},
        SERVER_COPY: {COPY_FILE: 3, WRITE_EXT: writes},
    }[work]
    for code in (FP_READ, FP_WRITE):
        counts.pop(code, None)
    assert counts[FLUSH] == (fills or ITERATIONS)
    return dict(sorted((counts | moved).items()))


# As large as the server takes, which in 4.5 is less than its quantum for writes.
OWN_WRITES, OWN_READS = {"dbd": 5, "old": 4}, 4


def check_own(transfer: Transfer, kind: str) -> None:
    """Chunks are whole pages."""
    assert transfer.phase.requests() == transfer.phase.commands()
    if transfer.work != SERVER_COPY:
        assert transfer.chunk % (4 * KIB) == 0
        short = kind == "dbd" and transfer.work != READ
        assert transfer.chunk == MIB - (4 * KIB if short else 0)


@pytest.mark.parametrize("kind", KINDS)
def test_our_own_set_in_one_session(together: dict[str, dict[Key, Judged]], kind: str) -> None:
    run = together[kind][OWN_WHOLE].run()
    once = Counter(FRAME | {GET_VOLUME: 1})
    total = Counter(once)
    for work in WORKS:
        total.update(Counter(own_signature(work, OWN_WRITES[kind], OWN_READS)) - once)
    assert together[kind][OWN_WHOLE].counts == total
    run.assert_trustworthy()
    assert run.saved["set"] == "speedtest"
    assert [work for work, _ in transfers(run)] == list(WORKS)
    for transfer in transfers(run).values():
        check_own(transfer, kind)


@pytest.mark.judges
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", OWN, ids=ids)
def test_our_own_set(ours: dict[str, dict[Key, Judged]], kind: str, key: Key) -> None:
    run = ours[kind][key].run()
    assert ours[kind][key].counts == own_signature(key[0], OWN_WRITES[kind], OWN_READS)
    run.assert_trustworthy()
    assert run.saved["set"] == "speedtest"
    check_own(only(run), kind)


def test_the_tables_agree() -> None:
    """Requests are as many as chunks of the peer's size, frames are whole."""
    assert -(-4 * MIB // (MIB - 28)) == REQUESTS
    for (work, option), counts in SIGNATURES.items():
        assert all(counts[code] >= n for code, n in FRAME.items())
        inside = timed(work, option)
        for code, n in inside.items():
            assert counts[code] * 2 >= n * ITERATIONS, (work, option, code)


@pytest.mark.parametrize(
    "option", ["", *(pytest.param(o, marks=pytest.mark.judges) for o in ("-y", "-e", "-S vol2"))]
)
def test_the_same_requests_in_the_same_order(scope: Scope, dbd: Server, option: str) -> None:
    """What tshark reads of each: bitmaps, access, flags, offsets and lengths."""
    args = ("-f", ALL, "-d", "1", "-n", "1", "-W", "1", *option.split())
    if "-S" in option:
        # While both of its directories have the same id the peer forgets the second.
        speedtest(scope, dbd, "-f", "Read", "-d", "4K", "--no-null", "--watch=off").expect(OK)
    peers = requests_of(dbd, [*pinning(dbd), *dbd.peer_command("afp_speedtest", *args)])
    assert len(peers) > 60
    mine = requests_of(dbd, command(scope, dbd, *args, "--force", "--set", LEGACY, "--watch=off"))
    assert mine == peers
