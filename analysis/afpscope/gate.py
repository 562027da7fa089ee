# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope gate RUN... --counts FILE: fails when the server does other work than accepted.

Counts decide; times only with --time, on runs that were made in turn (ab).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from xml.sax.saxutils import quoteattr

from . import compare, forms, markdown, show
from .errors import GATED, OK, UNTRUSTED, Failure, wrong_use
from .judge import causes, design, spoiled, stats, tails, versus
from .judge.causes import Change
from .judge.stats import Margins
from .saved.files import written
from .saved.node import load
from .saved.run import Run
from .tables import counts, values
from .tables.counts import Band, Key, Observed

FORMAT = "afpscope counts 2"
# Settings in which judged runs may differ from the accepted ones, with a notice: the point is to
# judge a new server, perhaps on a new machine.
_MAY_DIFFER = ("environment.", "server.machine", "server.afpd.congestion", "rungs.storage.")
# Accepted runs whose counts per request differ by this much have not done the same work.
_APART = 1.0
_NO_MEASURE = "no two recordings or loads, and no two runs of so many seconds, do the same work"
# With more findings than this their causes come first.
CAUSES_FROM = 3
# Rows that cannot be told, in text and Markdown.
UNTOLD_SHOWN = 5


@dataclass(frozen=True)
class Finding:
    """One count or time that is not as accepted."""

    test: str
    command: str
    what: str
    text: str
    by: Change | None = None


@dataclass(frozen=True)
class Times:
    """What --time found. `undecided`: why the gate cannot pass; `untold`: rows of commands that may
    be worse by more than the limit, though nothing shows that they are worse at all."""

    findings: list[Finding]
    undecided: list[str]
    untold: list[Finding]
    rows: list[versus.TimeRow]


@dataclass(frozen=True)
class Accepted:
    """A counts file."""

    settings: dict[str, str]
    runs: int
    iterations: int
    bands: dict[Key, Band]


def options(parser: argparse.ArgumentParser) -> None:
    parser.usage = (
        "afpscope gate --counts FILE [--accept] RUN...\n"
        "       afpscope gate [--counts FILE] --time PERCENT A... -- B..."
    )
    parser.add_argument("runs", metavar="RUN", nargs="+",
                        help="path, `last`, or start of a run's name; B's after --")  # fmt: skip
    parser.add_argument("--counts", metavar="FILE", type=Path, help="the accepted counts")
    parser.add_argument("--accept", action="store_true",
                        help="write FILE from these runs; several make the bands")  # fmt: skip
    parser.add_argument("--force", action="store_true",
                        help="accept, or judge, runs with other settings anyway")  # fmt: skip
    parser.add_argument("--time", metavar="PERCENT", type=compare.percent,
                        help="fail when B is slower than A by this much or more")  # fmt: skip
    parser.add_argument("--strict", action="store_true",
                        help=f"also fail on a call more in {counts.STRAY_OF} requests")  # fmt: skip
    parser.add_argument("--explain", metavar="ROW",
                        help="why the rows with this in their name are judged so")  # fmt: skip
    compare.html_option(parser)
    forms.add(parser, forms.TEXT, forms.JSON, forms.CSV, forms.MARKDOWN, forms.GITHUB, forms.JUNIT)


# The file


def _settings(run: Run) -> dict[str, str]:
    return {**versus.settings(run), "server.machine": run.server.get("machine", "")}


def _strangers(runs: Sequence[Run]) -> list[str]:
    """In what the accepted runs differ, though they should have done the same work."""
    found = versus.unlike([_settings(r) for r in runs])
    out = [f"{key}: " + " against ".join(map(repr, of[:3])) for key, of in found.items()]
    first, *others = runs
    for other in others:
        rows, _, _ = compare.count_rows([first], [other])
        far = [r for r in rows if abs(r.by) >= _APART]
        for cause in causes.of(Change(r.test, r.command, r.what, r.requests, r.by) for r in far):
            out.append(f"{other.name} against {first.name}: {cause.text}")
    return out


def _write(path: Path, runs: Sequence[Run], force: bool) -> str:
    observed = counts.observe(runs)
    if not all(r.repeats_its_work for r in runs):
        raise wrong_use(f"{_NO_MEASURE}: accept runs of lantest or speedtest")
    if not observed:
        raise Failure("these runs have no counts of requests: run as root where the server is")
    if strange := _strangers(runs):
        if not force:
            raise wrong_use(
                f"these runs are not alike: {'; '.join(strange[:4])}: accept runs of one state "
                "of the server (--force accepts them anyway)"
            )
        for text in strange:
            show.notice(f"gate: forced, although not alike: {text}")
    tests: dict[str, dict[str, dict[str, int | list[int]]]] = {}
    known = counts.bands(observed)
    for key, band in known.items():
        row = tests.setdefault(key[0], {}).setdefault(key[1], {})
        row["|".join(key[2:])] = band.low if band.exact else [band.low, band.high]
    iterations = sum(len(r.whole_phases) for r in runs)
    document = {
        "format": FORMAT,
        "settings": _settings(runs[0]),
        "runs": len(runs),
        "phases": iterations,
        "tests": tests,
    }
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    with written(path) as file:
        file.write(text.encode())
    loose = sum(not band.exact for band in known.values())
    return (
        f"{path}: {len(known) - loose:,} counts exact, {loose:,} within a band, of {len(runs)} runs"
    )


def read(path: Path) -> Accepted:
    """Reads the file. Failure if it is not a counts file."""
    node = load(path)
    if node.get("format") is None or node.get_text("format") != FORMAT:
        raise Failure(f"{path} is not a counts file ({FORMAT}): --accept writes one")
    known: dict[Key, Band] = {}
    for test, commands in node["tests"].members():
        for command, rows in commands.members():
            for what, value in rows.members():
                parts = what.split("|")
                if len(parts) != 3:
                    raise Failure(f"{path}: {value.where} is not ROLE|CLASS|OBJECT")
                key = (test, command, parts[0], parts[1], parts[2])
                if isinstance(value.value, list):
                    ends = [n.count() for n in value.items()]
                    if len(ends) != 2 or ends[0] > ends[1]:
                        raise Failure(f"{path}: {value.where} is not [low, high]")
                    known[key] = Band(ends[0], ends[1], False)
                else:
                    known[key] = Band(value.count(), value.count(), True)
    return Accepted(node["settings"].texts(), node["runs"].count(), node["phases"].count(), known)


# Judging


def _wanted(band: Band) -> str:
    return f"{band.low:,}" if band.low == band.high else f"{band.low:,} to {band.high:,}"


def check(accepted: Accepted, runs: Sequence[Run], force: bool) -> None:
    """Failure if the runs did other work than the accepted ones; a notice for other differences."""
    if not force and not all(r.repeats_its_work for r in runs):
        raise wrong_use(f"{_NO_MEASURE} (--force judges them anyway)")
    for run in runs:
        found = versus.unlike([accepted.settings, _settings(run)])
        texts = {k: f"{k}: accepted {of[0]!r}, {run.name}: {of[1]!r}" for k, of in found.items()}
        other = [text for key, text in texts.items() if not key.startswith(_MAY_DIFFER)]
        if other and not force:
            raise wrong_use(
                f"these runs are not comparable with the file: {'; '.join(other)} (--force judges "
                "them anyway)"
            )
        for text in texts.values():
            show.notice(f"gate: not as accepted: {text}")


def judge(
    accepted: Accepted, observed: Observed, strict: bool
) -> tuple[list[Finding], list[Finding], int]:
    """Findings, each with its worst iteration; strays; the number of rows."""
    if not observed:
        raise Failure("these runs have no counts of requests: nothing to compare with the file")
    tests = {key[0] for key in observed}
    known = {key: band for key, band in accepted.bands.items() if key[0] in tests}
    missing = tests - {key[0] for key in known}
    if missing:
        raise wrong_use(f"the file has no {sorted(missing)[0]!r}: accept runs with the same tests")
    out: list[Finding] = []
    strays: list[Finding] = []
    keys = sorted({*known, *observed}, key=counts.order)
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
    """Tests of the file that no run has."""
    missing = {key[0] for key in accepted.bands} - {key[0] for key in observed}
    return sorted(missing, key=lambda test: counts.order((test,)))


def _per(known: dict[Key, Band], observed: Observed, key: Key) -> int:
    """The requests for a difference per request: those of the runs; if none, the accepted ones."""
    of = (key[0], key[1], "requests", "", "")
    seen = max(observed.get(of, [0]))
    return max(1, seen or (known[of].high if of in known else 1))


def _finding(key: Key, band: Band, off: list[int], of: int, requests: int) -> Finding:
    worst = max(off, key=band.beyond)
    by = worst - (band.high if worst > band.high else band.low)
    text = f"{worst:,}, accepted {_wanted(band)}: {by:+,}, {by / requests:+.3f} per request"
    if of > 1:
        text += f", in {len(off)} of {of} iterations"
    what = counts.label(key)
    change = Change(key[0], key[1], what, requests, by / requests)
    return Finding(key[0], key[1], what, text, change)


def judge_times(a: list[Run], b: list[Run], limit: float, force: bool = False) -> Times:
    """Rows shown to be worse by more than `limit`, and those of which that cannot be told."""
    if order := design.disorder(a, b):
        raise wrong_use(
            f"times are judged only on pairs made in turn ({order}): make them with "
            "afpscope ab, each run of a second or more"
        )
    compare.check(a, b, force)
    starts, of = design.doubts(a, b), {run.id: values.of_run(run) for run in (*a, *b)}
    doubt = design.DOUBT if starts else None
    rows = versus.time_rows(a, b, of, Margins(limit, doubt))
    wrong = spoiled.doubts(a, b)
    rows, doubts = (spoiled.withheld(rows) if wrong else rows), [*starts, *wrong]
    any_at_all = versus.time_rows(a, b, of, Margins(0.0))
    worse = {r.key for r in any_at_all if r.verdict in stats.BAD}
    few = any(r.verdict == stats.TOO_FEW for r in rows)
    needed = design.more_pairs(len(rows), len(a)) if few else None
    findings: list[Finding] = []
    untold: list[Finding] = []
    open_ = [*versus.zeros(a, b, of), *wrong]
    for side, missing in versus.one_sided(a, b, of).items():
        tests = {key.test for key in missing if key.figure == values.ELAPSED}
        open_ += [f"{test}: only {side} has it complete" for test in sorted(tests)]
        for key in (key for key in missing if key.test not in tests):
            what = key.figure if key.is_metric else "time"
            text = f"only {side} has it" if key.is_metric else f"only {side} has such requests"
            untold.append(Finding(key.test, key.command, what, text))
    if not rows and not open_:
        open_.append("nothing could be compared: no time is in both")
    if needed:
        open_.append(f"{stats.TOO_FEW}: {len(a)} pairs, {needed} are needed for {len(rows)} rows")
    hidden = 0
    for row in sorted(rows, key=lambda r: -(r.harm[0] or 0)):
        t, name = row.result, f"{row.test} {row.label}"
        by, most = (share or 0 for share in row.harm)
        if row.verdict in stats.BAD:
            text = f"{t.change or 0:+.1%} [{t.low or 0:+.1%}, {t.high or 0:+.1%}]"
            findings.append(Finding(row.test, row.command, _time_word(row), text))
        elif row.verdict == stats.UNCLEAR and by > 0:
            open_.append(f"{name}: {t.change or 0:+.1%}, but {'; '.join(doubts)}")
        elif row.verdict == stats.TOO_FEW:
            if needed:
                continue
            if row.command or len(rows) > tails.MOST_ROWS:
                text = tails.CROWDED if len(rows) > tails.MOST_ROWS else tails.SCARCE
                untold.append(Finding(row.test, row.command, _time_word(row), text))
            else:
                open_.append(f"{name}: {tails.SCARCE}")
        elif row.whole and (row.whole.change or 0) > 0:
            text = f"all requests together took {row.whole.change or 0:+.1%}, as a few took longer"
            if (row.whole.p or 0) * len(rows) <= stats.ALPHA:
                open_.append(f"{name}: {text}")
            else:
                untold.append(Finding(row.test, row.command, _time_word(row), text))
        elif row.mean_harm > limit >= most:
            text = f"the mean of all runs is {row.mean_harm:+.1%}, as a few took longer"
            if row.command:
                untold.append(Finding(row.test, row.command, _time_word(row), text))
            else:
                open_.append(f"{name}: {text}")
        elif most > limit or row.harm[1] is None:
            word = stats.WORSE if row.key.is_metric else stats.SLOWER
            text = f"may be up to {most:+.1%} {word}" if row.harm[1] is not None else "may be any"
            if row.key in worse or not row.command:
                open_.append(f"{name}: {text}")
            else:
                untold.append(Finding(row.test, row.command, _time_word(row), text))
        elif doubt is not None and (1 + most) * (1 + doubt) > 1 + limit:
            hidden += 1
    if hidden and doubt is not None:
        open_.append(
            f"in {hidden} of {len(rows)} rows B may be slower by more than {versus.share(limit)}: "
            f"its times may be measured up to {versus.share(doubt)} too low, because "
            f"{'; '.join(starts)}"
        )
    return Times(findings, open_, untold, rows)


# --explain


def _asked(text: str, *parts: str) -> bool:
    """Whether this row is meant."""
    return text.casefold() in " ".join(parts).casefold()


def explained(accepted: Accepted, observed: Observed, text: str) -> list[str]:
    """Why the rows of that name may have the counts that they may have."""
    out = []
    known = accepted.bands
    for key in sorted({*known, *observed}, key=counts.order):
        if not _asked(text, key[0], key[1], counts.label(key)):
            continue
        requests = counts.requests_of(observed, key)
        band = counts.band_of(known, key, requests)
        seen = sorted(set(observed.get(key, [0])))
        these = f"{seen[0]:,}" if len(seen) == 1 else f"{seen[0]:,} to {seen[-1]:,}"
        stray = counts.strays(key, requests)
        more = f"; {stray} more or less are a stray" if stray and band.exact else ""
        out.append(
            f"{key[0]}: {key[1]}: {counts.label(key)}: these runs {these}, accepted "
            f"{_wanted(band)}: {counts.why(known, key, requests)}{more}"
        )
    return out or [f"no row of counts has {text!r} in its name"]


def explained_times(of: Times, limit: float, text: str) -> list[str]:
    """What is known of the rows of that name."""
    out = []
    for row in of.rows:
        if not _asked(text, row.test, row.label):
            continue
        a, b, change, within, n, word = versus.cells(row, limit)
        p = row.result.p
        chance = "n/a" if p is None else f"{p:.2g}"
        out.append(
            f"{row.test}: {row.label}: A {a}, B {b}, {change} ({within}), {n} runs: {word}; by "
            f"chance alone {chance} of such runs differ so by more than {versus.share(limit)}; it "
            f"counts from {stats.ALPHA:g} for all {len(of.rows)} rows together"
        )
    return out or [f"no row of times has {text!r} in its name"]


def _time_word(row: versus.TimeRow) -> str:
    if row.key.is_metric:
        return row.figure
    return "p99" if row.figure == values.TAIL else "time"


# Output


@dataclass(frozen=True)
class Outcome:
    """All that was judged, of `held` rows."""

    findings: list[Finding]
    unknown: list[str]
    untold: list[Finding]
    held: int


def _untold(o: Outcome) -> list[str]:
    """The first of them, and how many more there are."""
    out = [f"cannot be told: {_line(f)}" for f in o.untold[:UNTOLD_SHOWN]]
    if len(o.untold) > UNTOLD_SHOWN:
        out.append(f"cannot be told: {len(o.untold) - UNTOLD_SHOWN} more rows (--format junit)")
    return out


def _line(f: Finding) -> str:
    return ": ".join(text for text in (f.test, f.command, f.what, f.text) if text)


def _causes(findings: Sequence[Finding]) -> list[str]:
    """The causes of the findings, if there are many."""
    found = causes.of(f.by for f in findings if f.by)
    return [cause.text for cause in found] if len(findings) > CAUSES_FROM else []


def _outcome(o: Outcome) -> str:
    text = f"gate: {_word(o)}: {len(o.findings)} of {o.held:,} rows are not as accepted"
    if o.untold:
        text += f"; {len(o.untold)} cannot be told"
    return text


def _junit(o: Outcome) -> str:
    def attribute(text: str) -> str:
        return quoteattr(show.plain(text))

    cases = [
        f"  <testcase classname={attribute(f.test)} name={attribute(f'{f.command} {f.what}')}>"
        f"<failure message={attribute(f.text)}/></testcase>"
        for f in o.findings
    ]
    cases += [
        f"  <testcase classname={attribute(f.test)} name={attribute(f'{f.command} {f.what}')}>"
        f"<skipped message={attribute(f'cannot be told: {f.text}')}/></testcase>"
        for f in o.untold
    ]
    cases += [
        f'  <testcase classname="afpscope" name="undecided">'
        f"<error message={attribute(text)}/></testcase>"
        for text in o.unknown
    ]
    cases.append(f'  <testcase classname="afpscope" name="{o.held} rows held"/>')
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuite name="afpscope gate" tests="{len(cases)}" failures="{len(o.findings)}"'
        f' errors="{len(o.unknown)}" skipped="{len(o.untold)}">\n'
        + "\n".join(cases)
        + "\n</testsuite>"
    )


def _markdown(o: Outcome) -> str:
    esc = markdown.escape
    out = ["### afpscope gate", "", f"**{esc(_outcome(o))}**", ""]
    out += [f"- {esc(text)}" for text in (*_causes(o.findings), *_untold(o))]
    out += [f"- undecided: {esc(text)}" for text in o.unknown]
    if o.findings:
        rows = [(f.test, f.command or "(test)", f.what, f.text) for f in o.findings]
        out += ["", markdown.table(["test", "command", "what", "found"], rows, 4)]
    return "\n".join(out).rstrip() + "\n"


def _word(o: Outcome) -> str:
    return "FAIL" if o.findings else "undecided" if o.unknown else "pass"


def _json(o: Outcome) -> str:
    """As docs/analysis.md has it."""
    return json.dumps({
        "outcome": _word(o).lower(),
        "rows": o.held,
        "findings": [asdict(f) for f in o.findings],
        "undecided": o.unknown,
        "cannot_be_told": [asdict(f) for f in o.untold],
        "causes": _causes(o.findings),
    })  # fmt: skip


_CSV_HEAD = ["outcome", "test", "command", "what", "text"]


def _csv_rows(o: Outcome) -> list[list[str]]:
    rows = [["not as accepted", f.test, f.command, f.what, f.text] for f in o.findings]
    rows += [["cannot be told", f.test, f.command, f.what, f.text] for f in o.untold]
    return rows + [["undecided", "", "", "", text] for text in o.unknown]


def _print(o: Outcome, form: str) -> None:
    whole = {forms.JUNIT: _junit, forms.MARKDOWN: _markdown, forms.JSON: _json}
    if form in whole:
        print(whole[form](o))
        return
    if form == forms.CSV:
        forms.print_csv(_CSV_HEAD, _csv_rows(o))
        return
    title = "afpscope gate"
    found = [*_causes(o.findings), *map(_line, o.findings)]
    if form == forms.GITHUB:
        markdown.add_to_summary(_markdown(o))
        for text in found:
            print(markdown.annotation("error", title, text))
        for text in o.unknown:
            print(markdown.annotation("warning", title, f"undecided: {text}"))
    else:
        for text in (*found, *_untold(o)):
            print(show.plain(text))
    print(_outcome(o))


def _as_html(o: Outcome, of: Times, limit: float, sides: tuple[list[Run], list[Run]]) -> str:
    """A page: the outcome first, what is not as accepted and what cannot be told, then each change
    with its interval; `limit` is the band."""
    from .page import forest  # and its templates, which only this needs

    lines = [(f.test, f.command, f.what, f.text) for f in o.findings if f.by]
    table = (("test", "command", "what", "found"), lines) if lines else None
    found = [_line(f) for f in of.findings[:UNTOLD_SHOWN]]
    if len(of.findings) > UNTOLD_SHOWN:
        found.append(f"{len(of.findings) - UNTOLD_SHOWN} more rows of times, below")
    remarks = (*found, *_causes(o.findings), *_untold(o))
    unknown = tuple(f"undecided: {text}" for text in o.unknown)
    said = forest.Told(
        "afpscope gate", _outcome(o), remarks, unknown, table, sides, bool(o.findings)
    )
    return forest.page(said, of.rows, "", limit)


def _accept(args: argparse.Namespace, runs: list[Run]) -> int:
    if args.counts is None or args.after is not None:
        raise wrong_use("--accept needs --counts FILE, and runs of one side only")
    doubts = [f"{r.name}: {text}" for r in runs for text in r.doubts]
    if doubts:
        raise Failure(f"cannot accept {doubts[0]}", UNTRUSTED)
    print(_write(args.counts, runs, args.force))
    return OK


def run(args: argparse.Namespace) -> int:
    """0: as accepted; 3: not; 4: undecided."""
    runs, after = (compare.opened_runs("gate", names) for names in (args.runs, args.after or ()))
    versus.distinct([*runs, *after])
    if args.accept:
        return _accept(args, runs)
    judged = after or runs
    o = Outcome([], [f"{r.name}: {text}" for r in (*runs, *after) for text in r.doubts], [], 0)
    if args.counts:
        accepted = read(args.counts)
        check(accepted, judged, args.force)
        observed = counts.observe(judged)
        findings, strays, held = judge(accepted, observed, args.strict)
        o = replace(o, findings=findings, held=held)
        begun = {counts.test_name(p) for run in judged for p in run.phases}
        for test in not_run(accepted, observed):
            if test in begun:
                o.unknown.append(f"{test}: no run has it complete")
                continue
            show.notice(f"gate: the file also has {test!r}, which these runs lack: not judged")
        for f in strays:
            show.notice(f"gate: a stray: {f.test}: {f.command}: {f.what}: {f.text}")
        for text in explained(accepted, observed, args.explain) if args.explain else ():
            show.notice(f"gate: {text}")
    if args.time is not None:
        of = judge_times(runs, after, args.time, args.force)
        o = Outcome(
            o.findings + of.findings, o.unknown + of.undecided, of.untold, o.held + len(of.rows)
        )
        for text in explained_times(of, args.time, args.explain) if args.explain else ():
            show.notice(f"gate: {text}")
        if args.html:
            with written(args.html) as file:
                file.write(_as_html(o, of, args.time, (runs, after)).encode())
    elif args.html:
        raise wrong_use("--html draws times: give --time PERCENT")
    if not args.counts and args.time is None:
        raise wrong_use("nothing to check the run against: give --counts FILE, or --time PERCENT")
    _print(o, args.format)
    for text in o.unknown:
        show.notice(f"gate: undecided: {text}")
    return GATED if o.findings else UNTRUSTED if o.unknown else OK
