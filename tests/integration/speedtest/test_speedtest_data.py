# SPDX-License-Identifier: GPL-2.0-or-later
"""The data of speedtest: what is in the files, whether it comes back, and files
that 32 bits do not reach."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from fakes import Meddler
from netatalk import Server
from scheduling import in_check
from scope import OK, USAGE, Run, Scope, left_on
from speeding import (
    ALL,
    COPY,
    DAMAGED,
    GIB,
    LEGACY,
    MIB,
    READ,
    READ_EXT,
    SERVER_COPY,
    WRITE,
    WRITE_EXT,
    Transfer,
    between,
    command,
    file_of,
    measure,
    only,
    speedtest,
    transfers,
)

ONCE = ("-n", "1", "-W", "0", "--no-null")
PAUSED = ("-n", "2", "-W", "0", "--no-null", "-t", "1")
BIG = 2 * GIB + 1


# What a server of 4.2 counts is in check by test_speedtest_signatures.py.
@pytest.fixture(params=in_check(["dbd", "old"], ["dbd"]))
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


# What is written


@pytest.mark.parametrize("data", ["zero", "random", "pattern"])
def test_data(scope: Scope, dbd: Server, data: str) -> None:
    """In the written file, and in the copy, which is the same."""
    line = command(scope, dbd, "-f", "Copy", "-d", "1", *PAUSED, "--watch=off", "--data", data)
    running = scope.start(line, save=True)
    found = [path.read_bytes() for path in between(running, dbd, MIB)]
    running.finish().expect(OK)
    assert len(found) == 2
    assert found[0] == found[1]
    packed = len(zlib.compress(found[0])) / MIB
    assert (set(found[0]) == {0}) == (data == "zero")
    if data == "random":
        assert packed > 0.99
    if data == "pattern":  # no two pages are alike
        assert len({found[0][at : at + 4096] for at in range(0, MIB, 4096)}) == 256


def test_own_iterations_differ_in_nothing(scope: Scope, server: Server) -> None:
    """Verified data of all tests, of odd sizes, with many requests in flight."""
    args = ("-f", ALL, "-z", "0.004,1,4K", "-r", "16", "-q", "20", "-n", "2")
    run = measure(scope, server, *args, "--verify")
    assert len(transfers(run)) == 12
    for transfer in transfers(run).values():
        reads = transfer.phase.commands().get(READ_EXT, 0)
        # What is read for the comparison is not measured.
        assert (reads > 0) == (transfer.work in (READ, COPY))


# What comes back is something else


def check_damage(run: Run | None, work: str) -> None:
    """Marked, and what was measured before is there."""
    assert run
    assert not run.complete
    assert run.phases[-1].saved["transfer"]["work"] == work
    last = Transfer(run.phases[-1])
    assert last.phase.complete == bool(last.samples())


@pytest.mark.parametrize("work", [READ, COPY])
def test_damage_on_the_disk(scope: Scope, dbd: Server, work: str) -> None:
    """Root changes one byte of the file between two iterations."""
    line = command(scope, dbd, "-f", work, "-d", "2", *PAUSED, "--watch=off", "--verify")
    running = scope.start(line, save=True)
    at = MIB + 54321
    for path in between(running, dbd, 2 * MIB):
        with path.open("r+b") as file:
            file.seek(at)
            byte = file.read(1)
            file.seek(at)
            file.write(bytes([byte[0] ^ 1]))
    done = running.finish()
    done.expect(
        DAMAGED, f"{work} ", ", iteration 2: ", f"byte {at} is 0x", "written", "came back wrong"
    )
    assert len(done.messages) == 1, f"{done}"
    check_damage(done.run, work)
    assert len(only(done.run).samples()) == 1 if done.run else False
    assert not left_on(dbd)


@pytest.mark.parametrize(("work", "spare"), [(WRITE, 0), (COPY, 1), (READ, 0)])
@pytest.mark.parametrize("name", ["speedtest", LEGACY])
def test_damage_on_the_way(scope: Scope, dbd: Server, work: str, spare: int, name: str) -> None:
    """One byte of what is written; of Copy, of the copy and not of its source."""
    at = 3 * MIB + 17
    with Meddler(dbd.port, damage=at, spare=spare) as meddler:
        line = command(scope, dbd, "-f", work, "-d", "4", "--set", name, *ONCE, "--verify")
        line[line.index(str(dbd.port))] = str(meddler.port)
        done = scope.execute([*line, "--watch=off"], save=True)
        assert meddler.damaged == 1
    done.expect(DAMAGED, work, str(at))
    check_damage(done.run, work)


def test_damage_goes_unseen_without_verify(scope: Scope, dbd: Server) -> None:
    """The proxy does damage: the check above is not of its own making."""
    with Meddler(dbd.port, damage=17) as meddler:
        line = command(scope, dbd, "-f", "Read", "-d", "1", *ONCE)
        line[line.index(str(dbd.port))] = str(meddler.port)
        scope.execute([*line, "--watch=off"]).expect(OK)
        assert meddler.damaged == 1


# Large files


def test_read_beyond_two_gib(scope: Scope, server: Server) -> None:
    """Five GiB of nothing, and a file that ends one byte behind 2 GiB."""
    with file_of(server, "big.bin", BIG):
        run = measure(scope, server, "-f", "Read", "-F", "big.bin", "-r", "4", *ONCE)
    assert only(run).phase["bytes"] == only(run).size == BIG
    assert only(run).phase.requests() == {READ_EXT: 2049}


def test_sparse_five_gib(scope: Scope, dbd: Server) -> None:
    run = measure(scope, dbd, "-f", "Read", "-e", "-d", "5G", "-r", "4", *ONCE)
    assert only(run).phase["bytes"] == only(run).size == 5 * GIB


@pytest.mark.judges
@pytest.mark.limit(120)
def test_write_beyond_two_gib(scope: Scope, dbd: Server) -> None:
    run = measure(scope, dbd, "-f", "Write", "-d", "2.001G", "-r", "4", "-a", *ONCE)
    transfer = only(run)
    assert transfer.size == int(2.001 * GIB) > BIG
    assert transfer.phase["bytes"] == transfer.size
    assert transfer.phase["afpd_wchar"] >= transfer.size
    assert transfer.phase.requests() == {WRITE_EXT: transfer.requests}


@pytest.mark.parametrize("size", ["2G", "2048", "3G"])
def test_legacy_set_ends_below_two_gib(scope: Scope, dbd: Server, size: str) -> None:
    """Refused before anything is sent, also behind a size that is possible."""
    done = speedtest(scope, dbd, "--set", LEGACY, "-f", "Read", "-e", "-z", f"4K,{size}")
    done.expect(USAGE, "2 GiB", LEGACY)
    assert not done.out


@pytest.mark.judges
def test_legacy_set_goes_up_to_two_gib(scope: Scope, dbd: Server) -> None:
    args = ("--set", LEGACY, "-f", "Read", "-e", "-d", "2047", "-r", "4", *ONCE)
    assert only(measure(scope, dbd, *args)).phase["bytes"] == 2047 * MIB


def test_small_files(scope: Scope, server: Server) -> None:
    run = measure(scope, server, "-f", ALL, "-d", "4K", "-n", "20", "--no-null")
    for transfer in transfers(run).values():
        assert transfer.size == 4096
        assert transfer.phase["bytes"] == 20 * transfer.carried
        if transfer.work != SERVER_COPY:
            assert transfer.requests == 1


def test_file_on_disk_is_whole(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    """What the server has after a write with many in flight is what was sent."""
    size = 5 * MIB // 2 + 1
    files = []
    for window in ("1", "32"):
        line = command(
            scope,
            dbd,
            *("-f", "Write", "-d", f"{size / MIB:.9f}", "-q", "8", "-r", window),
            *(*PAUSED, "--data", "pattern"),
        )
        running = scope.start(line)
        (path,) = between(running, dbd, size)
        files.append(path.read_bytes())
        running.finish().expect(OK)
    assert files[0] == files[1]
