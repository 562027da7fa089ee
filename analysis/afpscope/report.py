# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope report RUN... -o FILE: one HTML page that needs no other file; of many runs an overview
of pages."""

from __future__ import annotations

import argparse
import os
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from urllib.parse import quote

from . import dashboard, show
from .errors import FAILED, Failure, wrong_use
from .page import bars, heat, icicle, joined, loadpage, painter, rxpage, tails, ways
from .page.answer import Answer, answer, causes, hung, named, terms
from .page.bars import Bars
from .page.heat import Heat
from .page.icicle import Icicle
from .page.loadpage import LoadView
from .page.painter import Painter, Picture
from .page.tails import Tails
from .page.timeline import Timeline, timelines
from .saved import sections, steps
from .saved.files import Folder, written
from .saved.run import Run, find_all
from .saved.sections import Note, Section
from .saved.trace import Stream, Trace, of_run
from .tables.digest import PARTS, CommandView, Digest, TestView, digest
from .words import LANGUAGES, Words

TEMPLATE = "report.html"
CLIENTS = 20  # shown; run.json has all
DRAWN = 0.005  # of all time: commands with less are only in the table
TOGETHER = 12  # runs on one page, at most; of more each has a page of its own
CHUNK = 4  # of them, that a process makes at a time
FIRST = ("replay",)  # keys of tables that answer what was asked
_NUMBER = re.compile(r"\d[\d.,]*\d|\d")
DISTRIBUTIONS = 3  # figures shown; more are collapsed


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="+",
                        help="a path, `last`, or the start of a run's name")  # fmt: skip
    parser.add_argument("-o", dest="output", metavar="FILE", type=Path, default=Path("report.html"),
                        help="the page (default report.html)")  # fmt: skip
    parser.add_argument("--figures", metavar="DIR", type=Path,
                        help="also write the figures, as SVG, PNG and PDF; those of load and "
                        "sweep also as CSV")  # fmt: skip
    parser.add_argument("--slo", metavar="WHAT=TIME",
                        help="of a sweep: judge it by this limit (p99=50ms)")  # fmt: skip
    parser.add_argument("--history", metavar="FILE", type=Path,
                        help="of runs of lantest, in place of the page: a history.yml of their "
                        "times by pull request")  # fmt: skip
    parser.add_argument("--pr", metavar="N,...",
                        help="with --history: the pull request of each run")  # fmt: skip
    parser.add_argument("--rtt", metavar="MS,...", type=ways.chosen, default=(),
                        help="round-trip times, in ms, for which the tables of round trips say "
                        "how long an action would take (default: those of the run)")  # fmt: skip
    parser.add_argument("--lang", choices=LANGUAGES, default="en", help="of the page (default en)")


@dataclass(frozen=True)
class Page:
    """What the template draws of one run."""

    digest: Digest
    title: str
    answer: Answer
    named: frozenset[str]  # commands that the answer names: open by default
    notices: tuple[str, ...]
    warnings: tuple[str, ...]  # these, and the run's own, as sentences
    causes: list[tuple[str, tuple[str, ...]]]  # and what to do; empty: the answer has it all
    trace: Trace | None
    latency: list[Tails]
    slow: list[Timeline]
    heat: Heat | None
    where: Bars | None
    icicle: Icicle | None
    cnid: Bars | None
    throughput: Picture | None
    loads: list[LoadView]
    joined: joined.Joined | None
    rx: rxpage.RxView | None
    first: tuple[tuple[str, Section], ...]  # tables that come first, and their ids
    tables: tuple[tuple[str, Section], ...]  # likewise
    untabled: bool  # the run has no tables
    terms: tuple[str, ...]  # keys of words to explain: of the answer
    terms_where: tuple[str, ...]  # others, of the figure of the commands

    @property
    def server(self) -> str:
        """What calls of the process that answers are recorded as."""
        return self.digest.run.words.get("server", "")

    @property
    def slow_keys(self) -> list[str]:
        """Colours of the slow requests, in the order of the other figures."""
        of = {p.colour for t in self.slow for lane in t.lanes for p in lane.pieces}
        return [key for key in PARTS if key in of]

    @property
    def opened(self) -> frozenset[str]:
        """Keys of the tables that are open: what was done, and what it cost."""
        return frozenset(("tests", "transfers", "requests"))

    @property
    def has_calls(self) -> bool:
        """Which system calls a request made."""
        return any(c.served and c.calls for c in self.digest.commands)


@dataclass(frozen=True)
class Line:
    """A run in the overview. It goes from one process to another, so it has no more than that."""

    name: str
    title: str
    href: str
    doubts: tuple[str, ...]
    inside_ns: float | None
    leads: tuple[str, float, float] | None  # the command that cost most, its time, that of all
    means: dict[str, float | None]  # of each test


@dataclass(frozen=True)
class Spread:
    """The mean times of a test in many runs."""

    runs: int
    least: float
    median: float
    most: float


@dataclass(frozen=True)
class Overview:
    """Several runs: what each was, and the mean time of each test that more than one has; side by
    side if they are few, else how it spreads."""

    lines: list[Line]
    tests: list[tuple[str, list[float | None]]]
    spreads: list[tuple[str, Spread]]


def _line(page: Page, href: str) -> Line:
    d, first = page.digest, next(iter(page.digest.commands), None)
    return Line(
        name=d.run.name,
        title=page.title,
        href=href,
        doubts=(*d.run.doubts, *page.notices),
        inside_ns=d.served_ns if d.commands else None,
        leads=(first.name, first.service_ns, d.served_ns) if first and d.served_ns else None,
        means={t.name: t.mean_ns for t in d.tests},
    )


def _spread(means: list[float | None]) -> Spread:
    known = [ns for ns in means if ns is not None]
    return Spread(len(known), min(known), statistics.median(known), max(known))


def _overview(lines: list[Line]) -> Overview | None:
    if len(lines) < 2:
        return None
    names = dict.fromkeys(name for line in lines for name in line.means)
    rows = [(name, [line.means.get(name) for line in lines]) for name in names]
    rows = [row for row in rows if sum(ns is not None for ns in row[1]) > 1]
    if len(lines) <= TOGETHER:
        return Overview(lines, rows, [])
    return Overview(lines, [], [(name, _spread(means)) for name, means in rows])


def _where_note(d: Digest, w: Words) -> str:
    note = w.say("where_note", least=DRAWN)
    return f"{note} {w['where_hung']}" if hung(d) else note


def _title(run: Run, w: Words) -> str:
    """Command, what it was run on, where that is, and the name."""
    on = (run.server_name, run.place)
    if run.local is not None:
        on = (w.say("local", folder=run.local), "")
    return " · ".join(text for text in (run.command, *on, run.name) if text)


def _throughput(d: Digest, made: Painter, prefix: str) -> Picture | None:
    """By size if a work has several, else by iteration."""
    from .page import figures

    works = [t.work for _, t in d.transfers]
    units = d.run.options.get("units", "")
    if len(set(works)) < len(works):
        caption = made.w["sizes_note"]
        figure = figures.by_size([t for _, t in d.transfers], units, made.labels)
    else:
        caption = made.w["throughput_note"]
        figure = figures.throughput(d.transfers, units, made.labels)
    return made.picture(f"{prefix}throughput", caption, figure)


def _heat(requests: Stream, run: Run, made: Painter, prefix: str) -> Heat | None:
    grid = heat.grid(requests, run.phases)
    if grid and made.folder:
        from .page import figures

        made.keep(f"{prefix}heat", figures.heat(grid, made.labels))
    return heat.heat(grid, made.w["heat_note"]) if grid else None


def _keep(d: Digest, drawn: list[CommandView], made: Painter, prefix: str) -> None:
    """The figures as files of what the page itself has as markup."""
    from .page import figures

    made.keep(f"{prefix}where", figures.where(drawn, d.served_ns, made.labels))
    made.keep(prefix + "cnid", figures.inside(drawn, made.labels))
    for i, test in enumerate(d.tests, 1):
        if test.client:
            made.keep(f"{prefix}latency-{i}", figures.latency(test, made.labels))


def _by_worth(tests: list[TestView]) -> list[TestView]:
    """Unsteady ones first, then those that took longest."""
    return sorted(tests, key=lambda t: (not t.is_unsteady, -(t.mean_ns or 0)))


def _tables(run: Run, w: Words, rtts: Sequence[float]) -> tuple[tuple[str, Section], ...] | None:
    """Those of its folder, each with an id of its own."""
    found = sections.of_run(run)
    if found is None:
        return None
    n: Counter[str] = Counter()
    out = []
    for s in found:
        n[s.key] += 1
        own = f"table-{s.key}" + (f"-{n[s.key]}" if n[s.key] > 1 else "")
        out.append((own, w.section(ways.over(s, rtts))))
    return tuple(out)


def _unsaid(s: Section, said: Answer) -> Section:
    """Without the lines all of whose numbers the answer has."""
    there = set(_NUMBER.findall(show.told(" ".join(said.texts))))

    def told(note: Note) -> bool:
        numbers = set(_NUMBER.findall(show.told(note.text)))
        return bool(numbers) and numbers <= there

    return replace(s, notes=tuple(note for note in s.notes if not told(note)))


def _page(run: Run, runs: list[Run], made: Painter, prefix: str) -> Page:
    w = made.w
    run = w.run(run)
    d = digest(run)
    trace: Trace | None = None
    tables: tuple[tuple[str, Section], ...] | None = ()
    notices: tuple[str, ...] = ()
    try:
        trace = of_run(run)
        notices = trace.notices if trace else ()
    except Failure as e:
        notices = (str(e),)
    damaged = bool(notices)
    try:
        tables = _tables(run, w, made.rtts)
    except Failure as e:
        notices += (str(e),)

    requests = trace.streams.get("requests") if trace else None
    drawn = [c for c in d.commands if c.served and c.service_ns > DRAWN * d.served_ns]
    said = answer(d, damaged, w)
    explained = terms(said.texts, w)
    where = bars.where(drawn, d.served_ns, _where_note(d, w), w)
    shown = [name for _, name in where.legend] if where else []
    if made.folder:
        _keep(d, drawn, made, prefix)
    return Page(
        digest=d,
        title=_title(run, w),
        answer=said,
        named=named(d, said),
        notices=notices,
        warnings=tuple(w.sentence(text) for text in (*notices, *run.warnings)),
        causes=causes(run, w),
        trace=trace,
        latency=[t for t in map(tails.tails, _by_worth(d.tests)) if t],
        slow=timelines(trace, w) if trace else [],
        heat=_heat(requests, run, made, prefix) if requests else None,
        where=where,
        icicle=icicle.icicle(d.commands, run.words.get("server", ""), w),
        cnid=bars.inside(drawn, w["cnid_note"], w),
        throughput=_throughput(d, made, prefix) if d.transfers else None,
        loads=loadpage.views(run, made, prefix),
        joined=joined.join(run, runs),
        rx=rxpage.view(run, made, prefix),
        first=tuple((key, _unsaid(s, said)) for key, s in tables or () if s.key in FIRST),
        tables=tuple(one for one in tables or () if one[1].key not in FIRST),
        untabled=tables is None,
        terms=explained,
        terms_where=tuple(key for key in terms(shown, w) if key not in explained),
    )


def render(pages: list[Page], overview: Overview | None, w: Words) -> str:
    """The page as HTML: of several runs the overview, then each."""
    return painter.render(
        TEMPLATE,
        pages=pages,
        w=w,
        overview=overview,
        n_clients=CLIENTS,
        n_figures=DISTRIBUTIONS,
    )


def _finish(made: Painter, output: Path, page: str) -> None:
    """Writes the page and prints its name."""
    with written(output) as file:
        file.write(page.encode())
    print(output)
    if made.plain:
        show.notice("report: no Japanese font here: the figures have English labels")
    if not made.fonts:
        show.notice("report: no font here has all characters: PNG and PDF lack some (use the SVG)")


def _sweep(path: Path, args: argparse.Namespace) -> int:
    """A sweep's page; 4 if a step is in doubt."""
    from .page import sweeppage

    made = Painter(args.figures, args.lang)
    page, doubts = sweeppage.page(steps.open_sweep(path), made, args.slo)
    _finish(made, args.output, page)
    return show.doubts("report", doubts)


def _history(runs: list[Run], args: argparse.Namespace) -> int:
    """Writes the file of the dashboard; 4 if a run is in doubt."""
    text = dashboard.dashboard(runs, dashboard.numbers(args.pr, len(runs)))
    with written(args.history) as file:
        file.write(text.encode())
    print(args.history)
    return show.doubts("report", [doubt for one in runs for doubt in one.doubts])


def _apart(
    path: Path, folder: Path, name: str, language: str, rtts: Sequence[float]
) -> Line | Failure:
    """Makes the page of one of many runs, a file of its own; in a process of its own."""
    try:
        one = Run.open(path)
        made = Painter(None, language, one.words, rtts)
        page = _page(one, [one], made, "")
        with Folder(folder).written(name) as file:
            file.write(render([page], None, made.w).encode())
    except Failure as e:
        return Failure(f"{path}: left out: {e}")
    return _line(page, f"{quote(folder.name)}/{name}")


def _many(paths: list[Path], args: argparse.Namespace) -> int:
    """A page for each run, in a folder beside the overview. 1 if a run could not be read."""
    from concurrent.futures import ProcessPoolExecutor

    if args.figures:
        raise wrong_use(f"--figures is for {TOGETHER} runs at most: these are {len(paths):,}")
    folder = args.output.with_name(f"{args.output.stem}-runs")
    Folder(folder)  # says in one message why it cannot be made
    names = [f"{i}.html" for i in range(1, len(paths) + 1)]
    found: list[Line | Failure] = []
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        more = (repeat(args.lang), repeat(args.rtt))
        of = pool.map(_apart, paths, repeat(folder), names, *more, chunksize=CHUNK)
        found = [one for _, one in zip(show.progress("report", "runs", paths), of, strict=True)]
    lines = [one for one in found if isinstance(one, Line)]
    failed = [one for one in found if isinstance(one, Failure)]
    for failure in failed:
        show.notice(f"report: {failure}")
    if not lines:
        raise Failure("none of the runs can be read")
    made = Painter(None, args.lang)
    _finish(made, args.output, render([], _overview(lines), made.w))
    code = show.doubts("report", [f"{line.name}: {d}" for line in lines for d in line.doubts])
    return FAILED if failed else code


def run(args: argparse.Namespace) -> int:
    """Writes the page and prints its name; 4 if a run is in doubt."""
    paths = [path for name in args.runs for path in find_all(name)]
    if (args.history is None) != (args.pr is None):
        raise wrong_use("--history and --pr need each other")
    if args.history:
        return _history([Run.open(path) for path in paths], args)
    sweeps = [path for path in paths if steps.is_sweep(path)]
    if sweeps and len(paths) == 1:
        return _sweep(sweeps[0], args)
    if sweeps:
        raise wrong_use(f"{sweeps[0]} is a sweep, which has a page of its own: name it alone")
    if args.slo:
        raise wrong_use("--slo is for a sweep")
    if len(paths) > TOGETHER:
        return _many(paths, args)
    runs = [Run.open(path) for path in show.progress("report", "runs", paths)]
    made = Painter(args.figures, args.lang, runs[0].words, args.rtt)
    pages = [
        _page(one, runs, made, f"{i}-" if len(runs) > 1 else "")
        for i, one in enumerate(show.progress("report", "pages", runs), 1)
    ]
    lines = [_line(page, f"#r{i}") for i, page in enumerate(pages, 1)]
    _finish(made, args.output, render(pages, _overview(lines), made.w))
    return show.doubts("report", [text for line in lines for text in line.doubts])
