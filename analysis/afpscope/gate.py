# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope gate RUN... --counts FILE: fails when the server does other work than accepted.

Counts decide; times only with --time, on runs that were made in turn (ab).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from . import compare, counts, show, stats
from .counts import Band, Key, Observed
from .errors import GATED, OK, UNTRUSTED, Failure, wrong_use
from .files import written
from .node import load
from .run import Run, find

FORMAT = "afpscope counts 1"


@dataclass(frozen=True)
class Finding:
    """One thing that is not as accepted."""

    test: str
    command: str
    what: str
    text: str


@dataclass(frozen=True)
class Accepted:
    """A counts file."""

    set: str
    runs: int
    iterations: int
    bands: dict[Key, Band]


def options(parser: argparse.ArgumentParser) -> None:
    parser.usage = (
        "afpscope gate --counts FILE [--accept] RUN...\n"
        "       afpscope gate [--counts FILE] --time PERCENT A... -- B..."
    )
    parser.add_argument("runs", metavar="RUN", nargs="+")
    parser.add_argument("--counts", metavar="FILE", type=Path, help="the accepted counts")
    parser.add_argument("--accept", action="store_true",
                        help="write FILE from these runs; several make the bands")  # fmt: skip
    parser.add_argument("--time", metavar="PERCENT", type=compare.percent,
                        help="fail when B is slower than A by so much or more")  # fmt: skip
    parser.add_argument("--strict", action="store_true",
                        help=f"also fail on a call more in {counts.STRAY_OF} requests")  # fmt: skip
    parser.add_argument("--format", choices=("text", "github", "junit"), default="text")


# The file


def _write(path: Path, runs: Sequence[Run]) -> str:
    observed = counts.observe(runs)
    if not observed:
        raise Failure("these runs hold no counts of requests: run as root where the server is")
    if any(r.command == "record" for r in runs):
        raise wrong_use("no two recordings do the same work: accept runs of lantest or speedtest")
    if len({r.set for r in runs}) > 1:
        raise wrong_use("these runs are of different sets")
    tests: dict[str, dict[str, dict[str, int | list[int]]]] = {}
    known = counts.bands(observed)
    for key, band in known.items():
        row = tests.setdefault(key[0], {}).setdefault(key[1], {})
        row["|".join(key[2:])] = band.low if band.exact else [band.low, band.high]
    iterations = sum(len(r.whole_phases) for r in runs)
    document = {"format": FORMAT, "set": runs[0].set, "runs": len(runs), "phases": iterations}
    text = json.dumps(document | {"tests": tests}, indent=1, ensure_ascii=False) + "\n"
    with written(path) as file:
        file.write_text(text, encoding="utf-8")
    loose = sum(not band.exact for band in known.values())
    return (
        f"{path}: {len(known) - loose:,} counts exact, {loose:,} within a band, of {len(runs)} runs"
    )


def read(path: Path) -> Accepted:
    """The file. Failure where it is none."""
    node = load(path)
    if node.get("format") is None or node.get_text("format") != FORMAT:
        raise Failure(f"{path} is no counts file of this version ({FORMAT}): --accept writes one")
    known: dict[Key, Band] = {}
    for test, commands in node["tests"].members():
        for command, rows in commands.members():
            for what, value in rows.members():
                parts = what.split("|")
                if len(parts) != 3:
                    raise Failure(f"{path}: {value.where} is no ROLE|CLASS|OBJECT")
                key = (test, command, parts[0], parts[1], parts[2])
                if isinstance(value.value, list):
                    ends = [n.count() for n in value.items()]
                    if len(ends) != 2 or ends[0] > ends[1]:
                        raise Failure(f"{path}: {value.where} is no [low, high]")
                    known[key] = Band(ends[0], ends[1], False)
                else:
                    known[key] = Band(value.count(), value.count(), True)
    return Accepted(node["set"].text(), node["runs"].count(), node["phases"].count(), known)


# Judging


def _wanted(band: Band) -> str:
    return f"{band.low:,}" if band.low == band.high else f"{band.low:,} to {band.high:,}"


def judge(
    accepted: Accepted, observed: Observed, strict: bool
) -> tuple[list[Finding], list[Finding], int]:
    """What is not as accepted, the worst of all iterations once; strays; the number of rows."""
    if not observed:
        raise Failure("these runs hold no counts of requests: nothing to hold against the file")
    tests = {key[0] for key in observed}
    known = {key: band for key, band in accepted.bands.items() if key[0] in tests}
    missing = tests - {key[0] for key in known}
    if missing:
        raise wrong_use(f"the file has no {sorted(missing)[0]!r}: accept runs with the same tests")
    out: list[Finding] = []
    strays: list[Finding] = []
    keys = sorted({*known, *observed})
    phases = {key[0]: len(values) for key, values in observed.items()}
    for key in keys:
        requests = counts.requests_of(observed, key)
        band = counts.band_of(known, key, requests)
        values = observed.get(key, [0] * phases[key[0]])
        off = [v for v in values if not band.holds(v)]
        if not off:
            continue
        finding = _finding(key, band, off, len(values), _per(known, observed, key))
        far = max(map(band.beyond, off))
        stray = far <= counts.strays(key, requests) and not strict
        (strays if stray else out).append(finding)
    return out, strays, len(keys)


def not_run(accepted: Accepted, observed: Observed) -> list[str]:
    """Tests of the file that are in none of the runs."""
    return sorted({key[0] for key in accepted.bands} - {key[0] for key in observed})


def _per(known: dict[Key, Band], observed: Observed, key: Key) -> int:
    """The requests that a difference is told by: those of the runs; of none those accepted."""
    of = (key[0], key[1], "requests", "", "")
    seen = max(observed.get(of, [0]))
    return max(1, seen or (known[of].high if of in known else 1))


def _finding(key: Key, band: Band, off: list[int], of: int, requests: int) -> Finding:
    worst = max(off, key=band.beyond)
    by = worst - (band.high if worst > band.high else band.low)
    text = f"{worst:,}, accepted {_wanted(band)}: {by:+,}, {by / requests:+.3f} per request"
    if of > 1:
        text += f", in {len(off)} of {of} iterations"
    return Finding(key[0], key[1], counts.label(key), text)


def judge_times(a: list[Run], b: list[Run], least: float) -> tuple[list[Finding], list[str], int]:
    """Rows slower by `least` or more; those where that cannot be told; the number of rows."""
    if not compare.in_turn(a, b):
        raise wrong_use("times are gated on pairs made in turn only: make them with afpscope ab")
    compare.check(a, b, False)
    findings, open_ = [], []
    rows = compare.time_rows(a, b, 0.0)
    for row in rows:
        t = row.result
        if row.verdict == stats.SLOWER and (t.change or 0) >= least:
            text = f"{t.change or 0:+.1%} [{t.low or 0:+.1%}, {t.high or 0:+.1%}]"
            findings.append(Finding(row.test, row.command, "time", text))
        elif row.verdict == stats.TOO_FEW:
            open_.append(f"{row.test} {row.command}".rstrip() + f": {row.verdict}")
        elif (t.high or 0) > least and (row.verdict == stats.SLOWER or not row.command):
            name = f"{row.test} {row.command}".rstrip()
            open_.append(f"{name}: may be up to {t.high or 0:+.1%} slower")
    return findings, open_, len(rows)


# Output


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _print(findings: Sequence[Finding], unknown: Sequence[str], held: int, form: str) -> None:
    if form == "junit":
        cases = [
            f"  <testcase classname={quoteattr(f.test)} name={quoteattr(f'{f.command} {f.what}')}>"
            f"<failure message={quoteattr(f.text)}/></testcase>"
            for f in findings
        ]
        cases += [
            f'  <testcase classname="afpscope" name="cannot be told">'
            f"<error message={quoteattr(text)}/></testcase>"
            for text in unknown
        ]
        cases.append(f'  <testcase classname="afpscope" name="{held} rows held"/>')
        print('<?xml version="1.0" encoding="UTF-8"?>')
        print(
            f'<testsuite name="afpscope gate" tests="{len(cases)}" failures="{len(findings)}"'
            f' errors="{len(unknown)}">\n' + "\n".join(cases) + "\n</testsuite>"
        )
        return
    for f in findings:
        line = ": ".join(text for text in (f.test, f.command, f.what, f.text) if text)
        print(
            f"::error title=afpscope gate::{_escape(line)}"
            if form == "github"
            else show.plain(line)
        )
    word = "FAIL" if findings else "cannot be told" if unknown else "pass"
    print(f"gate: {word}: {len(findings)} of {held:,} rows are not as accepted")


def _accept(args: argparse.Namespace, runs: list[Run]) -> int:
    if args.counts is None or args.after is not None:
        raise wrong_use("--accept needs --counts FILE, and runs of one side only")
    doubts = [f"{r.name}: {text}" for r in runs for text in r.doubts]
    if doubts:
        raise Failure(f"cannot accept {doubts[0]}", UNTRUSTED)
    print(_write(args.counts, runs))
    return OK


def run(args: argparse.Namespace) -> int:
    """0: as accepted; 3: not; 4: it cannot be told."""
    runs = [Run.open(find(name)) for name in args.runs]
    after = [Run.open(find(name)) for name in args.after or ()]
    compare.distinct([*runs, *after])
    if args.accept:
        return _accept(args, runs)
    judged = after or runs
    findings: list[Finding] = []
    unknown = [f"{r.name}: {text}" for r in (*runs, *after) for text in r.doubts]
    held = 0
    if args.counts:
        accepted = read(args.counts)
        other = next((r for r in judged if r.set != accepted.set), None)
        if other:
            raise wrong_use(f"{other.name} is of set {other.set}, the file of {accepted.set}")
        observed = counts.observe(judged)
        findings, strays, held = judge(accepted, observed, args.strict)
        for test in not_run(accepted, observed):
            show.notice(f"gate: the file has {test!r}, too, which these runs have not: not judged")
        for f in strays:
            show.notice(f"gate: a stray: {f.test}: {f.command}: {f.what}: {f.text}")
    if args.time is not None:
        slow, open_, rows = judge_times(runs, after, args.time)
        findings, unknown, held = findings + slow, unknown + open_, held + rows
    if not args.counts and args.time is None:
        raise wrong_use("nothing to hold the run against: --counts FILE, or --time PERCENT")
    _print(findings, unknown, held, args.format)
    for text in unknown:
        show.notice(f"gate: cannot be told: {text}")
    return GATED if findings else UNTRUSTED if unknown else OK
