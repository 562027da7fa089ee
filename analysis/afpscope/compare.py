# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope compare A B, compare A... -- B...: counts exactly, times by rank."""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from . import forms, markdown, show, sweepcompare
from .errors import NOTHING, OK, UNTRUSTED, Failure, wrong_use
from .judge import causes, design, replaycompare, spoiled, stats, tails, versus
from .judge.causes import Cause, Change
from .judge.stats import Margins
from .limit import knee
from .saved import steps
from .saved.crowd import Limit
from .saved.files import written
from .saved.run import Run, find_all
from .tables import counts, values

# A difference counts only if it is larger than this.
LEAST = 0.02
# Rows of counts that are shown without --all.
COUNTS_SHOWN = 10
# To be shown, calls per request of recordings must differ by this, in at least so many requests.
_RATE, _RATE_REQUESTS = 0.1, 100
# Of recordings and loads the rows that are shown without --all.
_MAIN = (values.MEAN, values.TAIL)


@dataclass(frozen=True)
class CountRow:
    """Counts of an iteration: no value of A is within the band of B, nor the reverse."""

    test: str
    command: str
    what: str
    a: tuple[int, int]
    b: tuple[int, int]
    requests: int

    @property
    def by(self) -> float:
        """Per request."""
        return (sum(self.b) - sum(self.a)) / 2 / self.requests


@dataclass(frozen=True)
class RateRow:
    """Calls per request of an AFP command in two runs whose work differs (recordings, loads)."""

    command: str
    what: str
    a: float
    b: float
    requests: int


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison.

    `doubts`: other possible causes of differences up to design.DOUBT; `spoiled`: of any;
    `pairs_needed`: if there were not enough runs; `crowded`: rows that no number of runs would let
    judge; `rates`: for recordings and loads; `zeros`: rows that cannot be judged.
    """

    least: float
    rows: list[versus.TimeRow]
    counts: list[CountRow]
    same: int
    vary: int
    rates: list[RateRow]
    doubts: list[str]
    pairs_needed: int | None
    drift: float | None
    alone: dict[str, list[str]]
    zeros: list[str]
    one_sided: dict[str, list[values.Row]]  # of the tests that both have: rows that one has
    spoiled: list[str]
    crowded: bool

    @property
    def causes(self) -> list[Cause]:
        return causes.of(Change(r.test, r.command, r.what, r.requests, r.by) for r in self.counts)

    def found(self, *words: str) -> list[versus.TimeRow]:
        return [r for r in self.rows if r.verdict in words]


def options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "afpscope compare [OPTIONS] A B | A... -- B..."
    parser.add_argument("runs", metavar="RUN", nargs="+",
                        help="path, `last`, or start of a run's name; B's after --")  # fmt: skip
    parser.add_argument("--slo", metavar="WHAT=TIME",
                        help="of two sweeps: their knees by this limit (p99=50ms)")  # fmt: skip
    judging(parser)


def judging(parser: argparse.ArgumentParser) -> None:
    """The options of report(); shared with ab."""
    parser.add_argument("--force", action="store_true", help="compare what is not comparable")
    parser.add_argument("--least", metavar="PERCENT", type=percent, default=LEAST,
                        help="only a difference larger than this, either way, counts as one "
                        f"(default {LEAST:.0%}%)")  # fmt: skip
    parser.add_argument("--all", action="store_true", help="show rows without a difference too")
    html_option(parser)
    forms.add(parser, forms.TEXT, forms.JSON, forms.CSV, forms.MARKDOWN, forms.GITHUB)


def html_option(parser: argparse.ArgumentParser) -> None:
    """Shared by all that compare times."""
    parser.add_argument("--html", metavar="FILE", type=Path,
                        help="also write a page that draws each change with its interval, the "
                        "largest first")  # fmt: skip


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
            raise wrong_use(
                "give two runs to compare; for more name them A... -- B..., or by their labels"
            )
        a, b = a[:1], a[1:]
    if not b:
        raise wrong_use("give at least one run after --")
    sides = opened_runs("compare", a), opened_runs("compare", b)
    versus.distinct([*sides[0], *sides[1]])
    return sides


def opened_runs(command: str, names: Sequence[str]) -> list[Run]:
    """The runs that names and labels mean."""
    paths = [path for name in names for path in find_all(name)]
    return [Run.open(path) for path in show.progress(command, "runs are read", paths)]


def count_rows(a: Sequence[Run], b: Sequence[Run]) -> tuple[list[CountRow], int, int]:
    """Counts that certainly differ; how many rows are the same, and how many vary in a group."""
    before, after = counts.observe(a), counts.observe(b)
    known, new = counts.bands(before), counts.bands(after)
    tests = {key[0] for key in before} & {key[0] for key in after}
    replayed = all(r.replay for r in (*a, *b))
    each = counts.REPLAY_STRAY_OF if replayed else counts.STRAY_OF
    rows, same, vary = [], 0, 0
    for key in sorted({*before, *after}, key=counts.order):
        if key[0] not in tests:
            continue
        x, y = before.get(key, [0]), after.get(key, [0])
        of_x = counts.band_of(known, key, counts.requests_of(before, key))
        of_y = counts.band_of(new, key, counts.requests_of(after, key))
        n = max(counts.requests_of(before, key), counts.requests_of(after, key))
        off = min(*map(of_x.beyond, y), *map(of_y.beyond, x))
        if set(x) == set(y) and len(set(x)) == 1:
            same += 1
        elif off > counts.strays(key, n, each):
            ranges = (min(x), max(x)), (min(y), max(y))
            rows.append(CountRow(key[0], key[1], counts.label(key), *ranges, n))
        else:
            vary += 1
    return rows, same, vary


def _per_request(runs: Sequence[Run]) -> tuple[dict[tuple[str, str], float], dict[str, int]]:
    """Calls per request by command and kind of call; and requests by command."""
    calls: dict[tuple[str, str], int] = defaultdict(int)
    requests: dict[str, int] = defaultdict(int)
    for p in (p for run in runs for p in run.whole_phases):
        for account in p.requests or ():
            requests[account.name] += account.requests or 0
            for part in account.parts:
                if part.class_ != counts.OWN_CODE:
                    key = ("", account.name, *part.key)
                    calls[account.name, counts.label(key)] += part.calls
    return {key: n / max(1, requests[key[0]]) for key, n in calls.items()}, dict(requests)


def rate_rows(a: Sequence[Run], b: Sequence[Run]) -> list[RateRow]:
    """Calls per request in which recordings differ, most calls first."""
    (before, n_a), (after, n_b) = _per_request(a), _per_request(b)
    fewest = {name: min(n, n_b.get(name, 0)) for name, n in n_a.items()}
    rows = [
        RateRow(*key, before.get(key, 0), after.get(key, 0), fewest[key[0]])
        for key in {**before, **after}
        if fewest.get(key[0], 0) >= _RATE_REQUESTS
    ]
    differ = [r for r in rows if abs(r.b - r.a) >= _RATE]
    return sorted(differ, key=lambda r: -abs(r.b - r.a) * r.requests)


def alone(a: Sequence[Run], b: Sequence[Run]) -> dict[str, list[str]]:
    """The tests that only one side has, by side."""
    has = [dict.fromkeys(counts.test_name(p) for r in x for p in r.whole_phases) for x in (a, b)]
    return {
        side: [test for test in has[i] if test not in has[1 - i]]
        for i, side in enumerate(("A", "B"))
    }


def _drift(a: Sequence[Run], b: Sequence[Run], of: versus.Times) -> float | None:
    tests: dict[str, dict[str, float]] = defaultdict(dict)
    for run, rows in of.items():
        for row, value in rows.items():
            if row.figure == values.ELAPSED:
                tests[row.test][run] = value.amount
    return design.drift(a, b, tests)


def judge(a: Sequence[Run], b: Sequence[Run], least: float) -> Comparison:
    """Failure where nothing can be compared."""
    doubts = design.doubts(a, b)
    of = {run.id: values.of_run(run) for run in (*a, *b)}
    rows = versus.time_rows(a, b, of, Margins(least, design.DOUBT if doubts else None))
    wrong = spoiled.doubts(a, b)
    rows = spoiled.withheld(rows) if wrong else rows
    repeats = all(r.repeats_its_work for r in (*a, *b))
    recorded = not repeats or len({r.kind for r in (*a, *b)}) > 1  # replays, by other protocols
    differ, same, vary = ([], 0, 0) if recorded else count_rows(a, b)
    if not rows and not differ and not same and not vary:
        what = "AFP command was answered in both" if recorded else "test is in both"
        raise Failure(f"nothing could be compared: no {what}", NOTHING)
    judged = sum(r.result.change is not None for r in rows)
    few = any(r.verdict == stats.TOO_FEW for r in rows)
    needed = design.more_pairs(judged, min(len(a), len(b))) if few else None
    return Comparison(
        least,
        rows,
        differ,
        same,
        vary,
        rate_rows(a, b) if recorded else [],
        doubts,
        needed,
        _drift(a, b, of),
        alone(a, b),
        versus.zeros(a, b, of),
        {side: [key for key in keys if key.test in {r.test for r in rows}]
         for side, keys in versus.one_sided(a, b, of).items()},
        wrong,
        few and not needed and judged > tails.MOST_ROWS,
    )  # fmt: skip


# Output


def _range(ends: tuple[int, int]) -> str:
    low, high = ends
    return f"{low:,}" if low == high else f"{low:,}..{high:,}"


_COUNTS = ["counts: test", "command", "what", "A", "B", "per request"]
_RATES = ["calls per request: command", "what", "A", "B", "change"]


def times_head(c: Comparison) -> list[str]:
    metrics = any(r.key.is_metric for r in c.rows)
    return ["times and metrics: test" if metrics else "times: test", "command", *versus.CELLS]


def _shown(c: Comparison, show_all: bool) -> tuple[list[versus.TimeRow], str]:
    """The rows, and a text about those left out."""
    differ = c.found(*stats.GOOD, *stats.BAD, stats.UNCLEAR)
    recorded = all(r.figure != values.ELAPSED for r in c.rows)
    shown = [
        r
        for r in c.rows
        if show_all or r in differ or not r.command or (recorded and r.figure in _MAIN)
    ]
    hidden: dict[str, int] = defaultdict(int)
    for r in c.rows:
        if r not in shown:
            hidden[versus.word(r, c.least)] += 1
    left = ", ".join(f"{n} with “{text}”" for text, n in hidden.items())
    return shown, f"rows that are not shown (--all): {left}" if left else ""


def times_table(c: Comparison, show_all: bool) -> tuple[list[list[str]], str]:
    """The lines, and a text about those left out."""
    shown, left = _shown(c, show_all)
    return [[show.short(r.test), r.label, *versus.cells(r, c.least)] for r in shown], left


def _counts_table(c: Comparison, show_all: bool) -> tuple[list[list[str]], str]:
    shown = c.counts if show_all else c.counts[:COUNTS_SHOWN]
    lines = [
        [show.short(r.test), r.command, r.what, _range(r.a), _range(r.b), f"{r.by:+.3f}"]
        for r in shown
    ]
    left = len(c.counts) - len(shown)
    return lines, f"counts that differ and are not shown (--all): {left}" if left else ""


def _rates_table(c: Comparison, show_all: bool) -> list[list[str]]:
    shown = c.rates if show_all else c.rates[:COUNTS_SHOWN]
    return [[r.command, r.what, f"{r.a:.2f}", f"{r.b:.2f}", f"{r.b - r.a:+.2f}"] for r in shown]


def _counted(c: Comparison) -> str:
    if not c.counts and not c.same and not c.vary:
        return "counts: not counted in both groups"
    return f"counts: {c.same:,} rows the same, {c.vary:,} may vary, {len(c.counts):,} differ"


def summary(c: Comparison) -> str:
    """The outcome in a sentence, the largest differences first."""
    parts = []
    for verdict in (stats.SLOWER, stats.WORSE, stats.FASTER, stats.BETTER, stats.UNCLEAR):
        those = sorted(c.found(verdict), key=lambda r: -abs(math.log1p(r.result.change or 0)))
        if those:
            named = (f"{r.name} ({versus.signed(r.result.change or 0)})" for r in those)
            parts.append(f"{verdict}: {_some(named)}")
    if not parts:
        missing = any([*c.alone.values(), *c.one_sided.values()])
        few = c.rows and all(r.verdict == stats.TOO_FEW for r in c.rows)
        same = c.rows and all(r.verdict == stats.SAME for r in c.rows)
        parts.append(
            "times cannot be judged: not enough runs"
            if few
            else f"times of what both have are the same within {versus.share(c.least)}"
            if same and missing
            else f"times are the same within {versus.share(c.least)}"
            if same
            else f"no difference larger than {versus.share(c.least)} shown"
        )
    judged = any(r.verdict != stats.TOO_FEW for r in c.rows)
    parts += c.spoiled if judged else ()
    if found := c.causes:
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        parts.append(f"other counts: {found[0].text}{more}")
    return "B against A: " + "; ".join(parts)


def notes(c: Comparison, n: tuple[int, int]) -> list[str]:
    """Remarks on the tables; `n`: the runs of each side."""
    out = []
    if c.pairs_needed is not None:
        out.append(
            f"not enough runs: {n[0]} of A and {n[1]} of B; to show a difference in one of "
            f"{len(c.rows)} rows, {c.pairs_needed} pairs are needed at least "
            f"(afpscope ab --pairs {c.pairs_needed})"
        )
    out += [tails.CROWDED] if c.crowded else []
    judged = any(r.verdict not in (stats.TOO_FEW,) for r in c.rows)
    for text in c.doubts if judged else ():
        limit = versus.share(max(c.least, design.DOUBT))
        out.append(f"only differences larger than {limit} are attributed to the server: {text}")
    for text in c.spoiled if judged else ():
        better = (
            "lantest and replay send the same work again"
            if text == spoiled.OTHER_WORK
            else "leave such runs out, or make the load one that all clients and the generator can "
            "do"
        )
        out.append(
            f"no difference is attributed to the server, and one may be hidden: {text} ({better})"
        )
    if c.drift is not None and abs(c.drift) > 0.05:
        out.append(
            f"the machine drifted: the time of tests changed by {versus.signed(c.drift)} from the "
            "earlier half of all runs to the later one, whichever side; runs in turn "
            "(afpscope ab) are affected least"
        )
    if those := c.found(versus.IN_PART):
        texts = [
            f"{r.test}: {r.command} ({show.time(r.whole.median_a)} and "
            f"{show.time(r.whole.median_b)} a request)"
            for r in those
            if r.whole
        ]
        out.append(
            f"the middle {1 - 2 * values.TRIM:.0%} of the requests took as long, but the mean of "
            f"all did not, as a few took much longer on one side: {_some(texts)}"
        )
    if those := c.found(versus.FEW_RUNS):
        texts = [f"{r.name} ({versus.signed(r.mean)})" for r in those]
        out.append(
            "most runs took as long, but a few of one side did not, so that their mean, or how "
            f"much they vary, is not the same: {_some(texts)}"
        )
    for side, rows in c.one_sided.items():
        names = [_named(key) for key in rows]
        out += [f"only {side} has {_some(names)}: not compared"] if names else []
    for side, tests in c.alone.items():
        out += [f"only {side} has complete iterations of {test!r}: not compared" for test in tests]
    return out + c.zeros


def _named(key: values.Row) -> str:
    """A row that only one side has."""
    if key.is_metric:
        return f"{key.label} ({key.unit}, {key.better} is better) of {key.test!r}"
    return f"{key.command} of {key.test!r}" if key.command else key.test


def limits_said(a: Sequence[Run], b: Sequence[Run]) -> list[str]:
    """What load said of the limits of both sides' runs, a line for each limit."""
    of: dict[str, dict[str, list[Limit]]] = defaultdict(lambda: {"A": [], "B": []})
    for side, runs in (("A", a), ("B", b)):
        for phase in (p for run in runs for p in run.whole_phases if p.load):
            for limit in phase.load.limits if phase.load else ():
                of[limit.text][side].append(limit)
    return [
        f"limit {text}: "
        + "; ".join(f"{side} {_verdicts(all_of)}" for side, all_of in both.items())
        for text, both in of.items()
    ]


def _verdicts(of: Sequence[Limit]) -> str:
    """kept in 2 of 4 runs, broken in 1, cannot tell in 1 (why)."""
    if not of:
        return "was not given it"
    if len(of) == 1:
        return knee.verdict(of[0])
    words = {True: "kept", False: "broken", None: "cannot tell"}
    n = {word: sum(x.kept is kept for x in of) for kept, word in words.items()}
    parts = [f"{word} in {count}" for word, count in n.items() if count]
    why = next((f" ({x.why})" for x in of if x.kept is None), "")
    return f"{', '.join(parts)} of {len(of)} runs{why}"


def _some(names: Iterable[str]) -> str:
    """The first four, without duplicates, and how many more there are."""
    all_of = list(dict.fromkeys(names))
    more = f" and {len(all_of) - 4} more" if len(all_of) > 4 else ""
    return ", ".join(all_of[:4]) + more


def _print(c: Comparison, show_all: bool) -> None:
    lines, left = times_table(c, show_all)
    print(show.table(times_head(c), lines, 2))
    if left:
        print(left)
    print()
    if c.rates:
        print(show.table(_RATES, _rates_table(c, show_all), 2))
        print("These runs do not contain the same work: calls per request are not judged.")
    else:
        print(_counted(c))
    for cause in c.causes if len(c.counts) > 1 else ():
        print(f"  {show.plain(cause.text)}")
    if c.counts:
        rows, left = _counts_table(c, show_all)
        print(show.table(_COUNTS, rows, 3) + (f"\n{left}" if left else ""))
    print("\n" + show.plain(summary(c)))


def as_markdown(c: Comparison, remarks: Sequence[str], title: str, show_all: bool) -> str:
    """One section: the outcome first."""
    esc = markdown.escape
    lines, left = times_table(c, show_all)
    out = [f"### {esc(title)}", "", f"**{esc(summary(c))}**", ""]
    out += [*(f"- {esc(text)}" for text in remarks), ""] if remarks else []
    out += [*(f"- {esc(cause.text)}" for cause in c.causes), ""] if c.causes else []
    out += [markdown.table(times_head(c), lines, 2), "", *([esc(left), ""] if left else [])]
    if c.rates:
        out += [markdown.table(_RATES, _rates_table(c, show_all), 2), ""]
    elif c.counts:
        rows, left = _counts_table(c, show_all)
        out += [f"{esc(_counted(c))}", "", markdown.table(_COUNTS, rows, 3), "", esc(left)]
    else:
        out.append(esc(_counted(c)))
    return "\n".join(out).rstrip() + "\n"


def _as_html(c: Comparison, sides: tuple[Sequence[Run], Sequence[Run]], remarks: Sequence[str],
             doubts: Sequence[str], title: str, show_all: bool) -> str:  # fmt: skip
    """A page: the outcome first, then each change with its interval, and where it lies."""
    from .page import forest  # and its templates, which only this needs

    shown, left = _shown(c, show_all)
    lines, more = _counts_table(c, show_all)
    table = (_COUNTS, lines) if lines else None
    causes = [cause.text for cause in c.causes]
    said = forest.Told(title, summary(c), (*remarks, *causes), tuple(doubts), table, sides)
    left = " ".join(text for text in (left, more) if text)
    return forest.page(said, shown, left, c.least, difference=True)


def _as_json(c: Comparison) -> str:
    return json.dumps(
        {
            "alpha": stats.ALPHA,
            "level": stats.LEVEL,
            "least": c.least,
            "doubt": design.DOUBT if c.doubts else None,
            "doubts": c.doubts,
            "spoiled": c.spoiled,
            "pairs_needed": c.pairs_needed,
            "drift": c.drift,
            "alone": c.alone,
            "times": [asdict(r) for r in c.rows if not r.key.is_metric],
            "metrics": [asdict(r) for r in c.rows if r.key.is_metric],
            "counts": [asdict(r) for r in c.counts],
            "counts_same": c.same,
            "counts_vary": c.vary,
            "causes": [asdict(cause) | {"text": cause.text} for cause in c.causes],
            "rates": [asdict(r) for r in c.rates],
        }
    )


def report(a: list[Run], b: list[Run], args: argparse.Namespace, title: str = "compare") -> int:
    """Prints the comparison; shared with ab."""
    c = judge(a, b, args.least)
    remarks = [*limits_said(a, b), *notes(c, (len(a), len(b))), *spoiled.remarks(a, b)]
    remarks += [f"the servers, or how they were watched, differ in {text}"
                for text in versus.elsewhere([*a, *b])]  # fmt: skip
    doubts = [f"{r.name}: {text}" for r in (*a, *b) for text in r.doubts]
    title = f"afpscope {title}"
    if args.html:
        with written(args.html) as file:
            file.write(_as_html(c, (a, b), remarks, doubts, title, args.all).encode())
    if args.format == forms.JSON:
        print(_as_json(c))
    elif args.format == forms.CSV:
        forms.print_csv(versus.CSV_HEAD, map(versus.csv_row, c.rows))
    elif args.format == forms.MARKDOWN:
        print(as_markdown(c, [*remarks, *doubts], title, args.all))
    else:
        _print(c, args.all)
    if args.format == forms.GITHUB:
        markdown.add_to_summary(as_markdown(c, [*remarks, *doubts], title, args.all))
        for r in c.found(*stats.BAD):
            text = f"{r.test}: {r.label}: {versus.signed(r.result.change)}, {r.verdict}"
            print(markdown.annotation("warning", title, text))
        for cause in c.causes:
            print(markdown.annotation("warning", title, cause.text))
    for text in (*remarks, *doubts):
        show.notice(f"compare: {text}")
    return UNTRUSTED if doubts else OK


def check(a: list[Run], b: list[Run], force: bool) -> None:
    """Failure if the runs are not comparable; if forced, a notice."""
    found = versus.differences([*a, *b])
    if not found:
        return
    if not force:
        raise wrong_use(f"these runs differ in {'; '.join(found)} (--force compares them anyway)")
    for text in found:
        show.notice(f"compare: forced, although they differ in {text}")


def run(args: argparse.Namespace) -> int:
    if any(steps.is_sweep(p) for n in (*args.runs, *(args.after or ())) for p in find_all(n)):
        return sweepcompare.run(args)
    if args.slo:
        raise wrong_use("--slo is for sweeps")
    a, b = groups(args)
    if replaycompare.is_wanted(a, b):
        return replaycompare.run(a, b, args)
    check(a, b, args.force)
    return report(a, b, args)
