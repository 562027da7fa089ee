# SPDX-License-Identifier: GPL-2.0-or-later
"""What speedtest prints and saves, next to what afp_speedtest prints; and the
statistics, worked out again."""

from __future__ import annotations

import math
import signal
import statistics
from pathlib import Path
from typing import Any

import pytest
from netatalk import Server
from peertext import check_csv, check_figures, csv_skeleton, skeleton, tables
from scope import BUILD, OK, Done, Run, Scope, pinning
from speeding import (
    ALL,
    COPY,
    KIB,
    LEGACY,
    MIB,
    READ,
    SERVER_COPY,
    WORKS,
    WRITE,
    Transfer,
    arguments,
    file_of,
    measure,
    named,
    only,
    peer,
    speedtest,
    transfers,
)

# Options -> the size of each file, as the text and as the CSV name it.
LINES: dict[str, dict[str, int]] = {
    "-d 2 -n 2 -W 2": {"2 MB": 2 * MIB, "2.000": 2 * MIB},
    "-d 1": {"1 MB": MIB, "1.000": MIB},
    "-z 1 -n 2": {"1 MB": MIB, "1.000": MIB},
    "-d 1 -T -W 0 -y": {"1 MB": MIB, "1.000": MIB},
    "-d 1 -n 22 -q 100 -r 2": {"1 MB": MIB, "1.000": MIB},
    "-z 0.004,1 -n 5 -e": {"4 KB": 4194, "0.004": 4194, "1 MB": MIB, "1.000": MIB},
    "-z 0.5,3 -n 3 -a -S vol2 -4": {
        **{"512 KB": MIB // 2, "0.500": MIB // 2},
        **{"3 MB": 3 * MIB, "3.000": 3 * MIB},
    },
}


@pytest.fixture(scope="module")
def program(scope: Scope, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return named(scope, tmp_path_factory.mktemp("peer"))


def both(scope: Scope, server: Server, program: Path, *args: str) -> tuple[str, str]:
    """What the peer prints, and what we do under its name."""
    line = arguments(server, *args)
    theirs = peer(server, line)
    assert theirs.returncode == 0, f"{theirs}"
    ours = scope.execute([*pinning(server), str(program), *line]).expect(OK)
    assert not ours.messages
    return theirs.stdout, ours.out


# The peer's text


@pytest.mark.parametrize("line", LINES)
def test_text_is_the_peers(scope: Scope, dbd: Server, program: Path, line: str) -> None:
    """To the character, but for what was measured; and that adds up."""
    theirs, ours = both(scope, dbd, program, "-f", ALL, *line.split())
    assert skeleton(ours) == skeleton(theirs)
    for text in (theirs, ours):
        found = tables(text)
        assert [t.work for t in found] == [w for _ in range(len(LINES[line]) // 2) for w in WORKS]
        for table in found:
            check_figures(table, LINES[line][table.size])


def test_text_of_an_old_server(scope: Scope, old: Server, program: Path) -> None:
    theirs, ours = both(scope, old, program, "-f", ALL, "-z", "0.004,1", "-n", "2")
    assert skeleton(ours) == skeleton(theirs)


def test_default_is_a_write(scope: Scope, dbd: Server, program: Path) -> None:
    theirs, ours = both(scope, dbd, program, "-d", "1")
    assert skeleton(ours) == skeleton(theirs)
    assert [(t.work, len(t.samples)) for t in tables(ours)] == [(WRITE, 1)]


@pytest.mark.parametrize("line", [line for line in LINES if "-n" in line])
def test_csv_is_the_peers(scope: Scope, dbd: Server, program: Path, line: str) -> None:
    theirs, ours = both(scope, dbd, program, "-f", ALL, "-c", *line.split())
    assert csv_skeleton(ours) == csv_skeleton(theirs)
    for text in (theirs, ours):
        check_csv(text, LINES[line])


def test_csv_of_our_own(scope: Scope, dbd: Server) -> None:
    """The peer's, and nothing else on stdout; its figures are those saved."""
    args = ("-f", "Write,Read", "-z", "0.004,1", "-n", "4", "-c", "--no-null")
    done = speedtest(scope, dbd, *args, save=True).expect(OK)
    check_csv(done.out, LINES["-z 0.004,1 -n 5 -e"])
    assert done.run
    done.run.assert_trustworthy()
    saved = [
        [t.work, str(n), f"{t.size / MIB:.3f}", str(ns // 1000)]
        for t in transfers(done.run).values()
        for n, ns in enumerate(t.times(), 1)
    ]
    rows = [line.split(",")[:4] for line in done.out.splitlines()]
    assert [row for row in rows if row[0] in WORKS and row[1]] == saved


# Statistics


@pytest.fixture(scope="module")
def full(scope: Scope, _dbd: Server) -> Done:
    args = ("-f", ALL, "-z", "64K,4", "-n", "25", "-W", "2", "-r", "2", "-v", "--sample=50")
    return speedtest(scope, _dbd, *args, save=True, timeout=120).expect(OK)


def saved(done: Done) -> Run:
    assert done.run, f"nothing was saved: {done}"
    return done.run


def quantile(values: list[int], q: float) -> float:
    """By linear interpolation between order statistics, at (n - 1) q."""
    at = (len(values) - 1) * q
    low = math.floor(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def check_statistics(transfer: Transfer) -> None:
    times, stats = sorted(transfer.times()), transfer.stats
    wanted = {
        "n": len(times),
        "mean_ns": statistics.mean(times),
        "median_ns": statistics.median(times),
        "min_ns": times[0],
        "max_ns": times[-1],
        "stddev_ns": statistics.stdev(times),
        "stddev_population_ns": statistics.pstdev(times),
        "cv": statistics.stdev(times) / statistics.mean(times),
        "p95_ns": quantile(times, 0.95),
        "p99_ns": quantile(times, 0.99),
    }
    for key, value in wanted.items():
        assert math.isclose(stats[key], value, rel_tol=1e-9), (transfer.work, key)
    check_interval(stats, times)


def check_interval(stats: dict[str, Any], times: list[int]) -> None:
    """Of the median: the nearest two order statistics, as far from both ends,
    between which it is with 95 % or more (binomial distribution)."""
    n = len(times)
    levels = [sum(math.comb(n, k) for k in range(i + 1, n - i)) / 2**n for i in range(n // 2)]
    i = max(i for i, level in enumerate(levels) if level >= 0.95)
    assert (stats["ci_low_ns"], stats["ci_high_ns"]) == (times[i], times[n - 1 - i])
    assert math.isclose(stats["ci_level"], levels[i], abs_tol=1e-9)


def test_statistics_are_of_the_samples(full: Done) -> None:
    for transfer in transfers(saved(full)).values():
        assert len(transfer.times()) == 25
        check_statistics(transfer)


def test_few_iterations_have_no_interval(scope: Scope, dbd: Server) -> None:
    transfer = only(measure(scope, dbd, "-f", "Read", "-d", "4K", "-n", "5", "--no-null"))
    assert transfer.stats["ci_low_ns"] is None
    assert transfer.stats["ci_high_ns"] is None
    assert transfer.stats["n"] == 5


def test_iterations_are_in_the_phase(full: Done) -> None:
    """Times, bytes and commands are sums over the measured iterations."""
    run = saved(full)
    assert run.saved["schema"] >= 1
    assert run.saved["command"] == "speedtest"
    assert run.saved["set"] == "speedtest"
    run.assert_trustworthy()
    for transfer in transfers(run).values():
        phase, samples = transfer.phase, transfer.samples()
        unit = "MiB" if transfer.size >= MIB else "KiB"
        assert phase.title.startswith(f"{transfer.work} ")
        assert phase.title.endswith(f" {unit}")
        assert phase.iteration == 1
        assert phase["elapsed"] == sum(sample["ns"] for sample in samples)
        assert phase["bytes"] == sum(sample["bytes"] for sample in samples)
        assert phase["bytes"] == 25 * transfer.carried
        assert transfer.moved == transfer.size
        assert phase["ops"] == sum(phase.commands().values())
        assert phase.requests() == phase.commands()
        assert phase["client_cpu"] == sum(sample["client_cpu_ns"] for sample in samples)
        # One thread.
        assert 0 < phase["client_cpu"] <= 1.05 * phase["elapsed"] + 10**8
        for saved_command in phase.saved["commands"]:
            assert saved_command["latency"]["n"] == saved_command["ops"]


def test_server_counts_the_same_bytes(full: Done) -> None:
    """What afpd wrote and read holds the files' data; not that of the fills and
    the warm-ups."""
    for transfer in transfers(saved(full)).values():
        data = 25 * transfer.size
        wide = data * 1.02 + MIB
        received = sum(
            row["bytes"]
            for row in transfer.phase.rows()
            if (row["role"], row["class"], row["object"]) == ("afpd", "recv", "client socket")
        )
        if transfer.work == READ:
            assert data <= transfer.phase["afpd_wchar"] <= wide
        if transfer.work == WRITE:
            assert data <= transfer.phase["afpd_wchar"] <= wide
            assert data <= received <= wide
        if transfer.work == COPY:
            assert 2 * data <= transfer.phase["afpd_wchar"] <= 2 * wide
            assert data <= received <= wide


def test_both_ends_of_tcp(full: Done) -> None:
    """Before and behind each transfer; the server's end from the kernel."""
    for transfer in transfers(saved(full)).values():
        for end in ("client", "server"):
            (before,), (after,) = (transfer.tcp(end, when) for when in ("before", "after"))
            assert set(before) == set(after)
            assert all(after[key] >= before[key] for key in ("bytes_acked", "segs_out"))
            assert after["snd_mss"] > 0
            if transfer.requests > 1:  # in the middle of a warm-up
                assert transfer.tcp(end, "during")
        (client,) = transfer.tcp("client", "after")
        (server,) = transfer.tcp("server", "after")
        (first,) = transfer.tcp("client", "before")
        moved = client["bytes_acked"] - first["bytes_acked"]
        if transfer.work in (WRITE, COPY):
            assert moved >= 25 * transfer.size
        if transfer.work != SERVER_COPY:
            # One's sent is the other's received, but for what is on its way.
            assert abs(client["bytes_acked"] - server["bytes_received"]) < 64 * KIB
            assert abs(server["bytes_acked"] - client["bytes_received"]) < 64 * KIB


def test_verdict_is_one_of_a_few(full: Done) -> None:
    for transfer in transfers(saved(full)).values():
        verdict = transfer.saved["verdict"]
        assert verdict["kind"]
        assert verdict["text"]


def test_report_names_each_transfer(full: Done) -> None:
    """Grouped by test, a line for each size."""
    lines = full.out.partition("\nTransfers ")[2].partition("\nWhat a transfer costs ")[0]
    for work in WORKS:
        ours = lines.partition(f"\n  {work}")[2]
        assert [size for size in ("64 KiB", "4 MiB") if f"\n    {size:>5}" in ours], (work, lines)


def test_series_covers_the_run(full: Done) -> None:
    assert any(series["role"] == "afpd" for series in saved(full).saved["series"])


# Under the peer's name


def test_make_builds_the_link() -> None:
    assert (BUILD / "afp_speedtest").resolve() == (BUILD / "afpscope").resolve()


def test_set_of_the_peers_name(scope: Scope, dbd: Server, program: Path) -> None:
    line = [*pinning(dbd), str(program), *arguments(dbd, "-d", "1")]
    done = scope.execute(line, save=True).expect(OK)
    assert saved(done).saved["set"] == LEGACY
    assert only(saved(done)).work == WRITE
    assert len(only(saved(done)).samples()) == 1


SESSION = ["-h", "SERVER", "-p", "PORT", "-u", "bench1"]
LOGGED_IN = [*SESSION, "-w", "secret1", "-d", "1"]

# What went wrong -> arguments, the peer's code, ours.
MISTAKES: dict[str, tuple[list[str], int, int]] = {
    "nothing": ([], 1, 1),
    "unknown option": ([*LOGGED_IN, "-s", "vol1", "-Z"], 1, 1),
    "no volume": (LOGGED_IN, 2, 1),
    "no such volume": ([*LOGGED_IN, "-s", "nosuch"], 2, 2),
    "no such second volume": ([*LOGGED_IN, "-s", "vol1", "-S", "nosuch", "-f", "Copy"], 2, 2),
    "no such test": ([*LOGGED_IN, "-s", "vol1", "-f", "Bogus"], 2, 2),
    "a test in lower case": ([*LOGGED_IN, "-s", "vol1", "-f", "read"], 2, 2),
    "--help": (["--help"], 1, 1),
    "no such file": ([*LOGGED_IN, "-s", "vol1", "-f", "Read", "-F", "nosuch"], 2, 1),
    "read-only volume": ([*LOGGED_IN, "-s", "ro"], 2, 1),
    "-p 0": ([*LOGGED_IN, "-s", "vol1", "-p", "0"], 1, 1),
    "-t -1": ([*LOGGED_IN, "-s", "vol1", "-t", "-1"], 1, 1),
    "-W 1001": ([*LOGGED_IN, "-s", "vol1", "-W", "1001"], 1, 1),
    "-z 0.001": ([*LOGGED_IN, "-s", "vol1", "-z", "0.001"], 1, 0),
    "nobody listens": ([*LOGGED_IN, "-s", "vol1", "-p", "1"], 2, 2),
    "no such host": ([*LOGGED_IN, "-s", "vol1", "-h", "nosuch.invalid"], 2, 2),
    # Mended: it is content with these, or dies.
    "-d 4096": ([*LOGGED_IN, "-s", "vol1", "-d", "4096"], 0, 1),
    "-n 0": ([*LOGGED_IN, "-s", "vol1", "-n", "0"], 0, 1),
    "-q 2000": ([*LOGGED_IN, "-s", "vol1", "-q", "2000"], 0, 1),
    "wrong password": ([*SESSION, "-w", "wrong", "-s", "vol1"], -signal.SIGPIPE, 2),
}


# Found before a connection is made: unit/main/test_usage.c has them without the peer.
WITHOUT_SERVER = (
    *("unknown option", "no volume", "no such test", "-p 0", "-t -1", "-W 1001", "-n 0"),
)


def arguments_of(mistake: str, server: Server) -> list[str]:
    words = {"SERVER": "127.0.0.1", "PORT": str(server.port)}
    return [words.get(arg, arg) for arg in MISTAKES[mistake][0]]


@pytest.mark.parametrize("mistake", [m for m in MISTAKES if m not in WITHOUT_SERVER])
def test_exit_codes(scope: Scope, dbd: Server, program: Path, mistake: str) -> None:
    mine = scope.execute([str(program), *arguments_of(mistake, dbd)], timeout=20)
    assert mine.status == MISTAKES[mistake][2], f"{mine}"
    assert mine.err or mine.out, "nothing is said"


@pytest.mark.judges
@pytest.mark.parametrize("mistake", MISTAKES)
def test_exit_codes_beside_the_peers(
    scope: Scope, dbd: Server, program: Path, mistake: str
) -> None:
    args, (_, theirs, ours) = arguments_of(mistake, dbd), MISTAKES[mistake]
    done = peer(dbd, args)
    assert done.returncode in (theirs, 128 - theirs), f"{done}"
    mine = scope.execute([str(program), *args], timeout=20)
    assert mine.status == ours, f"{mine}"
    assert mine.err or mine.out, "nothing is said"


def test_transfers_that_the_peer_cannot_do(scope: Scope, dbd: Server, program: Path) -> None:
    """A copy of few requests with many in flight; a file that may only be read."""
    for args in (("-f", "Copy", "-d", "1", "-r", "8"), ("-f", "Copy", "-z", "0.004", "-r", "3")):
        scope.execute([*pinning(dbd), str(program), *arguments(dbd, *args)]).expect(OK)
    with file_of(dbd, "own.bin", MIB):
        args = ("-f", "Read", "-F", "own.bin", "-d", "1", "--set", "speedtest")
        scope.execute([*pinning(dbd), str(program), *arguments(dbd, *args)]).expect(OK)


def test_every_key_is_there(full: Done) -> None:
    for phase in saved(full).phases:
        assert set(phase.saved["transfer"]) >= {
            *("work", "size_bytes", "moved_bytes", "requests", "chunk_bytes", "window"),
            "dropped",
            *("sparse", "own_file", "samples", "stats", "tcp", "null", "verdict"),
        }
