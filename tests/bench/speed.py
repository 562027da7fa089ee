# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope speedtest against afp_speedtest: how fast, and what the client costs.

Both print the same CSV, in whole microseconds. A run's time of a size is the
mean of the middle half of its iterations; a side has one value a round.
"""

from __future__ import annotations

import csv
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from lab import OUT, Client, Lab, compiled
from netatalk import Server
from stats import Result, Side, absent, compare

MIB = 1 << 20
WORKS = ("Read", "Write", "Copy")
SIZES = {"4K": 0.004, "64K": 0.0625, "1M": 1, "16M": 16, "256M": 256}  # MiB; 0.004 are 4194 bytes
# Sizes that share a run, and the iterations of each.
GROUPS = ((("4K", "64K"), 300), (("1M",), 100), (("16M",), 10))
BIG = "256M"
BIG_ITERATIONS = {"Read": 5, "Write": 3, "Copy": 3}
PLAIN_PASSES = 4
WINDOWS = (1, 8)
PEER = "peer"
PLAIN = "plain"
SETS = {"speedtest": "", "speedtest-4.5": ", 4.5's requests"}  # of ours, and their names in rows
LEAST = "login"
RECEIVED = ("copy", "drop")  # choices of --receive
DROPPED = "dropped"  # our set, what Read reads dropped by the kernel
RECEIVED_ITERATIONS = 8
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Moved:
    """One run: the whole process's CPU time, and MiB/s of (work, size)."""

    cpu_s: float
    mib_s: Mapping[tuple[str, str], float]


def middle_mean(values: Sequence[float]) -> float:
    """Of the middle half; of three values the middle one."""
    cut = len(values) // 4 or (len(values) > 2)
    return statistics.fmean(sorted(values)[cut : len(values) - cut])


def run(
    lab: Lab,
    who: str,
    works: Sequence[str],
    sizes: Sequence[str],
    iterations: int,
    window: int,
    *options: str,
) -> Moved:
    """who: PEER, or one of SETS. One more iteration comes first and is not measured."""
    command = [*lab.login(), "-c", "-f", ",".join(works), "-r", str(window)]
    command += ["-z", ",".join(str(SIZES[s]) for s in sizes), "-n", str(iterations), *options]
    if who == PEER:
        command = lab.pinned(lab.server.root, ["afp_speedtest", *command])
    else:
        own = ["--watch=off", "--no-null", "--no-save", "--uam=cleartext", f"--set={who}"]
        command = lab.pinned("/", [str(lab.afpscope), "speedtest", *command, *own])
    cpu = Client(command, OUT).finish()
    lab.settle()
    return Moved(cpu, {(w, s): _speed(w, s, iterations) for w in works for s in sizes})


def _speed(work: str, size: str, iterations: int) -> float:
    """From the CSV of the last run: TEST, ITERATION, MB, MICROSECONDS, ..."""
    with (OUT / "out").open(newline="") as file:
        us = [
            float(row[3])
            for row in csv.reader(file)
            if len(row) > 3 and row[0] == work and row[1] and row[2] == f"{SIZES[size]:.3f}"
        ]
    if len(us) != iterations:
        raise RuntimeError(f"{work} {size}: {len(us)} of {iterations} iterations in the CSV")
    return int(SIZES[size] * MIB) / MIB / (middle_mean(us) / 1e6)


def plain_tcp(
    lab: Lab, way: str, file: str, piece_kib: int, passes: int, request_kib: int = 0
) -> Moved:
    """BIG without a protocol: stream.c, and the CPU time of its client's side alone."""
    program = str(compiled(Path(__file__).resolve().parent / "stream.c"))
    numbers = (SIZES[BIG], piece_kib, passes, lab.client_cpu, lab.server_cpu, request_kib)
    cpu = Client([program, way.lower(), file, *map(str, numbers)], OUT).finish()
    us = [float(line) for line in (OUT / "out").read_text().split()]
    return Moved(cpu, {(way, BIG): SIZES[BIG] / (middle_mean(us) / 1e6)})


def _peer_can(work: str, size: str, window: int) -> bool:
    """The peer's Copy fails where a file is fewer than 2R - 2 requests of 1 MiB less 28."""
    requests = -(-int(SIZES[size] * MIB) // (MIB - 28))
    return work != "Copy" or requests >= 2 * window - 2


def _row(
    name: str,
    ours: Sequence[float],
    theirs: Sequence[float],
    how: str,
    aim: float | None = None,
) -> Result:
    mine, peers = Side("afpscope", ours), Side("afp_speedtest", theirs)
    return compare(name, mine, peers, "MiB/s", how, goal=1.0, noise=True, at_least=True, aim=aim)


def _group(lab: Lab, how: str, sizes: Sequence[str], iterations: int, window: int) -> list[Result]:
    works = [w for w in WORKS if _peer_can(w, sizes[0], window)]
    variants = {
        who: partial(run, lab, who, works, sizes, iterations, window, "-a") for who in (*SETS, PEER)
    }
    runs = lab.series(variants, lab.pairs)
    results = []
    for work, size, (who, label) in ((w, s, x) for s in sizes for w in WORKS for x in SETS.items()):
        name = f"{work} {size} -r {window}{label}"
        if work not in works:
            why = f"afp_speedtest's Copy fails for fewer than {2 * window - 2} requests"
            results.append(absent(name, "ratio", why))
            continue
        ours, theirs = ([m.mib_s[work, size] for m in runs[x]] for x in (who, PEER))
        results.append(_row(name, ours, theirs, how, _aim(who, size)))
    return results


def _aim(who: str, size: str) -> float | None:
    return 1.3 if who == "speedtest" and SIZES[size] >= 1 else None


@cache
def _big(lab: Lab, window: int) -> dict[tuple[str, str], list[Moved]]:
    """By (who, work): runs of one work each, and the least that a run can be; made once."""
    variants = {
        f"{who} {work}": partial(run, lab, who, [work], [BIG], BIG_ITERATIONS[work], window, "-a")
        for work in WORKS
        for who in (*SETS, PEER)
    }
    drop = ("-a", "--receive=drop")
    n = BIG_ITERATIONS["Read"]
    variants[f"{DROPPED} Read"] = partial(run, lab, "speedtest", ["Read"], [BIG], n, window, *drop)
    for who in (*SETS, PEER):
        variants[f"{who} {LEAST}"] = partial(run, lab, who, ["Read"], ["4K"], 1, 1, "-a")
    file = lab.server.vol1.parent / "stream"  # beside the volume, on the same file system
    numbers = (1024, PLAIN_PASSES, 1024 if window == 1 else 0)
    for way in ("Read", "Write"):
        variants[f"{PLAIN} {way}"] = partial(plain_tcp, lab, way, str(file), *numbers)
    try:
        runs = lab.series(variants, lab.pairs)
    finally:
        file.unlink(missing_ok=True)
    return {(name.split()[0], name.split()[1]): moved for name, moved in runs.items()}


def speed_peer(lab: Lab, how: str) -> list[Result]:
    """MiB/s against the peer's, for every work, size and window."""
    results = []
    for window in WINDOWS:
        for sizes, iterations in GROUPS:
            results += _group(lab, how, sizes, iterations, window)
        runs = _big(lab, window)
        for work in WORKS:
            for who, label in SETS.items():
                ours, theirs = ([m.mib_s[work, BIG] for m in runs[x, work]] for x in (who, PEER))
                name = f"{work} {BIG} -r {window}{label}"
                results.append(_row(name, ours, theirs, how, _aim(who, BIG)))
    return [*results, _flushed(lab, how)]


def _flushed(lab: Lab, how: str) -> Result:
    """With the flush to disk in it, which is most of it: no goal but to be no slower."""
    whos = ("speedtest", PEER)
    runs = lab.series(
        {who: partial(run, lab, who, ["Write"], ["16M"], 10, 1) for who in whos}, lab.pairs
    )
    ours, theirs = ([m.mib_s["Write", "16M"] for m in runs[who]] for who in whos)
    return _row("Write 16M -r 1, with flush", ours, theirs, how)


def _gigabytes(work: str) -> float:
    """What a run of BIG moves: with the iteration before, and the source's filling."""
    passes = BIG_ITERATIONS[work] + 1
    files = {"Read": passes + 1, "Write": passes, "Copy": 2 * passes + 1}[work]
    return files * SIZES[BIG] * MIB / 1e9


def _plain_cost(runs: Mapping[tuple[str, str], Sequence[Moved]], work: str) -> Side:
    """What the bytes alone take: every one is received, or sent, or for Copy both in turn."""
    ways = {"Copy": ("Read", "Write")}.get(work, (work,))
    gigabytes = len(ways) * (PLAIN_PASSES + 1) * SIZES[BIG] * MIB / 1e9
    rounds = zip(*(runs[PLAIN, way] for way in ways), strict=True)
    return Side("plain TCP", [sum(m.cpu_s for m in moved) / gigabytes for moved in rounds])


def speed_cpu(lab: Lab, how: str) -> list[Result]:
    """CPU seconds of the client per GB moved, less those of a run that moves next to nothing.

    Beside them what the bytes alone take: without a protocol, between a file and one buffer, with
    -r 1 a MiB at a time. Zero copy is no way past that on one host (tried on Linux 6.18):
    TCP_ZEROCOPY_RECEIVE maps nothing of what sendfile sent, MSG_ZEROCOPY copies, and neither
    takes less.
    """
    results = []
    for window in WINDOWS:
        runs = _big(lab, window)

        def cost(who: str, work: str, runs: dict[tuple[str, str], list[Moved]] = runs) -> Side:
            least_of = "speedtest" if who == DROPPED else who
            least = statistics.median(m.cpu_s for m in runs[least_of, LEAST])
            name = "afp_speedtest" if who == PEER else "afpscope"
            return Side(name, [(m.cpu_s - least) / _gigabytes(work) for m in runs[who, work]])

        for work in WORKS:
            dropped = {DROPPED: ", dropped"} if (DROPPED, work) in runs else {}
            for who, label in (SETS | dropped).items():
                goal = 0.6 if who != "speedtest-4.5" else None
                name = f"CPU of {work} {BIG} -r {window}{label}"
                results.append(
                    compare(name, cost(who, work), cost(PEER, work), "s/GB", how, goal=goal)
                )
            name = f"CPU of {work} {BIG}, its bytes alone, over -r {window}"
            results.append(compare(name, _plain_cost(runs, work), cost(PEER, work), "s/GB", how))
    return results


def _ended_cpu_s(server: Server) -> float:
    """CPU time of the sessions that a server's main process has waited for."""
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / TICKS  # cutime, cstime: proc(5)


def speed_receive(lab: Lab, how: str) -> list[Result]:
    """What Read reads, dropped by the client's kernel or copied: at whose cost.

    CPU seconds per GB of whole runs, the source's filling among them.
    """
    n = RECEIVED_ITERATIONS
    gigabytes = (n + 2) * SIZES[BIG] * MIB / 1e9
    results = []

    def one(receive: str, window: int) -> tuple[Moved, float]:
        before_s = _ended_cpu_s(lab.server)
        option = f"--receive={receive}"
        moved = run(lab, "speedtest", ["Read"], [BIG], n, window, "-a", option)
        return moved, _ended_cpu_s(lab.server) - before_s

    for window in WINDOWS:
        runs = lab.series({r: partial(one, r, window) for r in RECEIVED}, lab.pairs)
        name = f"Read {BIG} -r {window}, dropped over copied"
        figures = {
            (name, "MiB/s"): lambda m, _: m.mib_s["Read", BIG],
            (f"{name}: client's CPU", "s/GB"): lambda m, _: m.cpu_s / gigabytes,
            (f"{name}: afpd's CPU", "s/GB"): lambda _, afpd_s: afpd_s / gigabytes,
        }
        for (row, unit), value in figures.items():
            copied, dropped = (Side(r, [value(*sample) for sample in runs[r]]) for r in RECEIVED)
            results.append(compare(row, dropped, copied, unit, how))
    return results
