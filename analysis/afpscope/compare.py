# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope compare A B, compare A... -- B...: counts exactly, times by rank.

Runs made in turn are compared in blocks of four pairs or a few more. Fewer runs in a block would
be nearer to each other, but each block has less to say; four pairs of `ab` are ABBA BAAB.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np

from . import counts, show, stats
from .errors import OK, UNTRUSTED, wrong_use
from .run import Run, find
from .stats import Test

TimeKey = tuple[str, str]
# Two starts of one server differ by less, up to 3 % were seen (tests/bench/bench.py alarms-slow).
LEAST = 0.05
# Share of a command's requests, at either end, that are left out of its mean: in a few requests
# it is the machine that took its time, not the server.
TAIL = 0.05
# Pairs in a block, at least.
BLOCK_PAIRS = 4
# Of a run whose connection was lost it is not known, which is no difference.
_KNOWN_AT_THE_END = ("server.afpd.congestion",)

# Runs may differ in these and still be compared.
_FREE_OPTIONS = {"iterations", "warmup", "timeout_s", "tests", "sample_hz"}
_SERVER = ("afp_version", "uam", "quantum_bytes", "settings", "afpd.congestion")
_ENVIRONMENT = ("kernel", "machine", "cpus", "client.congestion")
_RUNGS = ("calls", "requests", "times", "storage.file", "storage.block", "storage.latency")


@dataclass(frozen=True)
class TimeRow:
    """A test as a whole (`command` is empty) or the requests of one AFP command in it."""

    test: str
    command: str
    result: Test
    verdict: str


@dataclass(frozen=True)
class CountRow:
    """Counts of an iteration: no value of A lies within what B's may be, nor the reverse."""

    test: str
    command: str
    what: str
    a: tuple[int, int]
    b: tuple[int, int]
    requests: int


def options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "afpscope compare [OPTIONS] A B | A... -- B..."
    parser.add_argument("runs", metavar="RUN", nargs="+")
    judging(parser)


def judging(parser: argparse.ArgumentParser) -> None:
    """The options that report() goes by; shared with ab."""
    parser.add_argument("--force", action="store_true", help="compare what is not comparable")
    parser.add_argument("--least", metavar="PERCENT", type=percent, default=LEAST,
                        help=f"less than this is no difference (default {LEAST:.0%}%)")  # fmt: skip
    parser.add_argument("--all", action="store_true", help="show rows without a difference too")
    parser.add_argument("--json", action="store_true")


def percent(text: str) -> float:
    """5% or 5 as 0.05."""
    value = float(text.removesuffix("%")) / 100
    if not 0 <= value <= 10:
        raise ValueError
    return value


def groups(args: argparse.Namespace) -> tuple[list[Run], list[Run]]:
    """The runs before and after `--`; without it, exactly two."""
    a, b = args.runs, args.after
    if b is None:
        if len(a) != 2:
            raise wrong_use("two runs are compared; for more name them A... -- B...")
        a, b = a[:1], a[1:]
    if not b:
        raise wrong_use("no run stands after --")
    sides = [Run.open(find(n)) for n in a], [Run.open(find(n)) for n in b]
    distinct([*sides[0], *sides[1]])
    return sides


def distinct(runs: Sequence[Run]) -> None:
    """Failure where a run is there twice: it would count as two that agree."""
    seen: dict[str, Run] = {}
    for one in runs:
        if one.id in seen:
            first = seen[one.id]
            raise wrong_use(f"{one.path} and {first.path} are the same run: name each run once")
        seen[one.id] = one


def _settings(run: Run) -> dict[str, str]:
    out = {"command": run.command, "set": run.set}
    out |= {f"options.{k}": v for k, v in run.options.items() if k not in _FREE_OPTIONS}
    out |= {f"server.{k}": run.server.get(k, "") for k in _SERVER}
    out |= {f"environment.{k}": run.environment.get(k, "") for k in _ENVIRONMENT}
    out |= {f"rungs.{k}": run.rungs.get(k, "") for k in _RUNGS}
    return out


def differences(runs: Sequence[Run]) -> list[str]:
    """What forbids a comparison: settings that are not the same in all runs."""
    all_of = [_settings(r) for r in runs]
    out = []
    for key in sorted({key for one in all_of for key in one}):
        values = list(dict.fromkeys(one.get(key, "") for one in all_of))
        if key in _KNOWN_AT_THE_END:
            values = [v for v in values if v]
        if len(values) > 1:
            out.append(f"{key}: " + " against ".join(repr(v) for v in values[:3]))
    return out


def _values(run: Run) -> dict[TimeKey, list[float]]:
    """Times by row: of a test the whole, of a command the mean of its requests but the tails."""
    out: dict[TimeKey, list[float]] = defaultdict(list)
    for p in run.whole_phases:
        test = counts.test_name(p)
        if p.transfer:
            out[test, ""] += [float(s.ns) for s in p.transfer.counting]
        elif p.metrics.get("ops") and p.metrics.get("elapsed"):
            out[test, ""].append(float(p.metrics["elapsed"] or 0))
        for c in p.commands:
            if c.histogram.n:
                out[test, c.name].append(c.histogram.bulk_mean(TAIL, c.sum_ns))
    return out


def times(runs: Sequence[Run]) -> dict[TimeKey, list[float]]:
    """One value for each run; of a single run one for each iteration."""
    if len(runs) == 1:
        return _values(runs[0])
    out: dict[TimeKey, list[float]] = defaultdict(list)
    for run in runs:
        for key, values in _values(run).items():
            out[key].append(float(np.median(values)))
    return out


def in_turn(a: Sequence[Run], b: Sequence[Run]) -> bool:
    """Pairs, of a run of each side, one after the other. Runs may begin in the same second."""
    sides = (sorted(run.started for run in side) for side in (a, b))
    pairs = list(zip(*sides, strict=False))
    return len(a) == len(b) and all(max(one) <= min(then) for one, then in pairwise(pairs))


def blocks(a: Sequence[Run], b: Sequence[Run]) -> list[tuple[list[Run], list[Run]]]:
    """The runs that may be held against each other: all, or of those made in turn the near ones."""
    a, b = (sorted(side, key=lambda r: r.started) for side in (a, b))
    number = max(1, len(a) // BLOCK_PAIRS) if in_turn(a, b) else 1
    cuts = [[len(side) * i // number for i in range(number + 1)] for side in (a, b)]
    parts = zip(*(pairwise(ends) for ends in cuts), strict=True)
    return [(a[i:j], b[k:m]) for (i, j), (k, m) in parts]


def time_rows(a: Sequence[Run], b: Sequence[Run], least: float) -> list[TimeRow]:
    """Every test and command that both have, with its verdict."""
    values = [(times(x), times(y)) for x, y in blocks(a, b)]
    keys = [dict.fromkeys(key for block in values for key in block[side]) for side in (0, 1)]
    both = [key for key in keys[0] if key in keys[1]]
    results = [stats.compare([(x.get(key, []), y.get(key, [])) for x, y in values]) for key in both]
    words = stats.verdicts(results, least)
    return [TimeRow(*key, r, w) for key, r, w in zip(both, results, words, strict=True)]


def count_rows(a: Sequence[Run], b: Sequence[Run]) -> tuple[list[CountRow], int, int]:
    """What differs for certain; and how many rows are the same, and vary within a group."""
    before, after = counts.observe(a), counts.observe(b)
    known, new = counts.bands(before), counts.bands(after)
    tests = {key[0] for key in before} & {key[0] for key in after}
    rows, same, vary = [], 0, 0
    for key in sorted({*before, *after}):
        if key[0] not in tests:
            continue
        x, y = before.get(key, [0]), after.get(key, [0])
        of_x = counts.band_of(known, key, counts.requests_of(before, key))
        of_y = counts.band_of(new, key, counts.requests_of(after, key))
        n = max(counts.requests_of(before, key), counts.requests_of(after, key))
        off = min(*map(of_x.beyond, y), *map(of_y.beyond, x))
        if set(x) == set(y) and len(set(x)) == 1:
            same += 1
        elif off > counts.strays(key, n):
            ranges = (min(x), max(x)), (min(y), max(y))
            rows.append(CountRow(key[0], key[1], counts.label(key), *ranges, n))
        else:
            vary += 1
    return rows, same, vary


def apart(a: Sequence[Run], b: Sequence[Run]) -> str:
    """Says which side was measured wholly after the other; empty where they overlap in time."""
    for first, then, names in ((a, b, ("A", "B")), (b, a, ("B", "A"))):
        if max(r.started for r in first) <= min(r.started for r in then):
            return (
                f"{names[1]} was measured after {names[0]}, so that what changed on the machine "
                "meanwhile counts as a difference: only runs in turn (afpscope ab) tell"
            )
    return ""


def drift(a: Sequence[Run], b: Sequence[Run]) -> float | None:
    """How much longer tests took in the later half of all runs than in the earlier one.

    None where it cannot be told: of few runs, or with the sides one after the other.
    """
    ordered = sorted([*a, *b], key=lambda r: r.started)
    if len(ordered) < 8 or apart(a, b):
        return None
    half = len(ordered) // 2
    early, late = times(ordered[:half]), times(ordered[half:])
    changes = [
        np.log(np.median(late[key]) / np.median(early[key]))
        for key in early
        if not key[1] and key in late
    ]
    return float(np.expm1(np.median(changes))) if changes else None


def _range(values: tuple[int, int]) -> str:
    low, high = values
    return f"{low:,}" if low == high else f"{low:,}..{high:,}"


def _signed(value: float | None) -> str:
    return "n/a" if value is None else f"{value * 100:+.1f} %"


def _print_times(rows: list[TimeRow], show_all: bool) -> None:
    shown = [
        r for r in rows if show_all or not r.command or r.verdict in (stats.FASTER, stats.SLOWER)
    ]
    lines = [
        [
            show.short(r.test),
            r.command or "(test)",
            show.time(r.result.median_a),
            show.time(r.result.median_b),
            _signed(r.result.change),
            "n/a"
            if r.result.low is None
            else f"{_signed(r.result.low)} .. {_signed(r.result.high)}",
            f"{r.result.n_a}+{r.result.n_b}",
            r.verdict,
        ]
        for r in shown
    ]
    head = ["times: test", "command", "A", "B", "change", "95 % interval", "n", "verdict"]
    print(show.table(head, lines, 2))
    for word in (stats.NONE_SHOWN, stats.TOO_FEW):
        hidden = sum(r.verdict == word for r in rows) - sum(r.verdict == word for r in shown)
        if hidden:
            print(f"commands that are not shown (--all): {hidden} with “{word}”")


def _print_counts(rows: list[CountRow], same: int, vary: int) -> None:
    if not rows and not same and not vary:
        print("counts: not counted in both groups")
        return
    print(f"counts: {same:,} rows the same, {vary:,} may vary, {len(rows):,} differ")
    if rows:
        lines = [
            [
                show.short(r.test),
                r.command,
                r.what,
                _range(r.a),
                _range(r.b),
                f"{(sum(r.b) - sum(r.a)) / 2 / r.requests:+.3f}",
            ]
            for r in rows
        ]
        head = ["counts: test", "command", "what", "A", "B", "per request"]
        print(show.table(head, lines, 3))


def alone(a: Sequence[Run], b: Sequence[Run]) -> dict[str, list[str]]:
    """The tests that only one side has, by side."""
    has = [dict.fromkeys(counts.test_name(p) for r in x for p in r.whole_phases) for x in (a, b)]
    return {
        side: [test for test in has[i] if test not in has[1 - i]]
        for i, side in enumerate(("A", "B"))
    }


def report(a: list[Run], b: list[Run], args: argparse.Namespace) -> int:
    """Prints the comparison; shared with ab."""
    rows = time_rows(a, b, args.least)
    differ, same, vary = count_rows(a, b)
    if not rows and not differ and not same and not vary:
        raise wrong_use("these runs have nothing in common: no test is in both")
    moved, lonely = drift(a, b), alone(a, b)
    if args.json:
        print(
            json.dumps(
                {
                    "alpha": stats.ALPHA,
                    "level": stats.LEVEL,
                    "drift": moved,
                    "alone": lonely,
                    "times": [asdict(r) for r in rows],
                    "counts": [asdict(r) for r in differ],
                    "counts_same": same,
                    "counts_vary": vary,
                }
            )
        )
    else:
        _print_times(rows, args.all)
        print()
        _print_counts(differ, same, vary)
        print("\n" + show.plain(summary(rows, differ)))
    for side, tests in lonely.items():
        for test in tests:
            show.notice(f"compare: only {side} has whole iterations of {test!r}: not compared")
    if moved is not None and abs(moved) > 0.05:
        show.notice(
            f"compare: the machine drifted: the time of tests changed by {_signed(moved)} from the "
            "earlier half of all runs to the later one; runs in turn (afpscope ab) stand that best"
        )
    if any(r.verdict in (stats.SLOWER, stats.FASTER) for r in rows) and (order := apart(a, b)):
        show.notice(f"compare: {order}")
    doubts = [f"{r.name}: {text}" for r in (*a, *b) for text in r.doubts]
    for text in doubts:
        show.notice(f"compare: {text}")
    return UNTRUSTED if doubts else OK


def _some(names: Iterable[str]) -> str:
    """The first four, each once, and how many more there are."""
    all_of = list(dict.fromkeys(names))
    more = f" and {len(all_of) - 4} more" if len(all_of) > 4 else ""
    return ", ".join(all_of[:4]) + more


def summary(rows: Sequence[TimeRow], differ: Sequence[CountRow]) -> str:
    """The outcome in a sentence."""
    found = {word: [r for r in rows if r.verdict == word] for word in (stats.SLOWER, stats.FASTER)}
    parts = []
    for word, those in found.items():
        if those:
            parts.append(f"{word}: {_some(r.command or r.test for r in those)}")
    if not parts:
        few = rows and all(r.verdict == stats.TOO_FEW for r in rows)
        parts.append(stats.TOO_FEW if few else stats.NONE_SHOWN)
    if differ:
        parts.append(f"other counts: {_some(r.command for r in differ)}")
    return "B against A: " + "; ".join(parts)


def check(a: list[Run], b: list[Run], force: bool) -> None:
    """Failure where the runs are not comparable, unless forced: then a notice."""
    found = differences([*a, *b])
    if not found:
        return
    if not force:
        raise wrong_use(
            f"these runs differ in {'; '.join(found)} (--force compares them all the same)"
        )
    for text in found:
        show.notice(f"compare: forced, though they differ in {text}")


def run(args: argparse.Namespace) -> int:
    a, b = groups(args)
    check(a, b, args.force)
    return report(a, b, args)
