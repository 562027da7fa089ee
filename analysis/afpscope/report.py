# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope report RUN... -o FILE: one HTML page that needs no other file."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import history, show
from .errors import Failure, wrong_use
from .page import figures, joined, loadpage, painter, rxpage, sweeppage
from .page.loadpage import LoadView
from .page.painter import Painter, Picture
from .saved import sections, steps
from .saved.files import written
from .saved.run import Run, find
from .saved.sections import Section
from .saved.trace import Trace, of_run
from .tables.digest import CommandView, Digest, digest
from .words import LANGUAGES, Words

TEMPLATE = "report.html"
CLIENTS = 20  # shown; run.json has all
DRAWN = 0.005  # of all time: commands with less are only in the table
DISTRIBUTIONS = 3  # figures shown; more are collapsed
_JOINED = re.compile(r"^([A-Za-z]+)(\d)")


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
    parser.add_argument("--lang", choices=LANGUAGES, default="en", help="of the page (default en)")


@dataclass(frozen=True)
class Page:
    """What the template draws of one run."""

    digest: Digest
    title: str
    verdict: list[str]
    notices: tuple[str, ...]
    trace: Trace | None
    latency: list[Picture]
    heat: Picture | None
    where: Picture | None
    cnid: Picture | None
    throughput: Picture | None
    loads: list[LoadView]
    joined: joined.Joined | None
    rx: rxpage.RxView | None
    tables: tuple[tuple[str, Section], ...]  # and their ids
    untabled: bool  # the run has no tables

    @property
    def has_calls(self) -> bool:
        """Which system calls a request made."""
        return any(c.served and c.calls for c in self.digest.commands)


def _longest_call(command: CommandView, w: Words) -> list[str]:
    """The call of afpd that took longest for a command; cnid_dbd's time is afpd's waiting."""
    own = [(key, n, ns) for key, n, ns in command.top_calls(50) if key[0] == w.names["server"]]
    if not own or not own[0][2]:
        return []
    key, n, ns = own[0]
    name = key[1] if key[2] == "-" else f"{key[1]} · {key[2]}"
    return [w.say("call_why", call=name, n=n, time=show.time(ns))]


def _busiest(d: Digest, w: Words) -> list[str]:
    """Who kept the server busy, if several users had logged in."""
    users = [s for s in d.sessions if s.user]
    if len(users) < 2 or not d.busy_ns:
        return []
    s = users[0]
    share = s.busy_ns / d.busy_ns
    return [w.say("busiest", who=s.user, at=s.address or "n/a", n=len(users), share=share)]


def _served(d: Digest, w: Words) -> list[str]:
    """Which commands the server's time went into, and why."""
    first = d.commands[0]
    part = first.main_part
    out = [
        w.say(
            "costs_most" if any(first.times.values()) else "costs_most_whole",
            name=first.name,
            share=first.service_ns / d.served_ns,
            mean=show.time(first.service_ns / first.served),
            n=first.served,
            part=w[f"p_{part}"],
            part_share=first.share(part),
        )
    ]
    out += _longest_call(first, w)
    if len(d.commands) > 1:
        second = d.commands[1]
        out.append(w.say("second", name=second.name, share=second.service_ns / d.served_ns))
    return out


def _any(d: Digest, w: Words) -> list[str]:
    """What a program whose requests are not known did."""
    if not d.calls:
        return [w["calls_unknown"]]
    first = d.calls[0]
    return [
        w.say("any_cpu", cpu=show.time(d.cpu_ns), n=sum(c.calls for c in d.calls)),
        w.say("any_call", name=first.name, n=first.calls, time=show.time(first.ns)),
    ]


def _transfers(d: Digest, w: Words) -> list[str]:
    """How fast the largest file of each kind of transfer moved."""
    by_size = sorted(d.transfers, key=lambda x: x[1].size_bytes)
    largest = {t.work: (title, t) for title, t in by_size}
    return [
        w.say("transfer", title=title, rate=show.size(t.throughput), text=w.verdict(t))
        for title, t in largest.values()
        if t.throughput
    ]


def _verdict(d: Digest, damaged: bool, w: Words) -> list[str]:
    """The run in sentences, the most important first. `damaged`: its trace is damaged."""
    run = d.run
    out = [w.say("doubt", text=text) for text in run.doubts]
    if damaged:
        out.append(w["damaged"])
    out += [f"{c.text[:1].upper()}{c.text[1:]}." for c in run.causes[:1]]
    if run.about in ("server", "faults") and run.opinion:
        out.append(run.opinion)
    out += loadpage.sentences(run, w)
    out += _transfers(d, w)
    if run.local is not None:
        out.append(w["no_server"])
    elif not run.has_requests:
        out += _any(d, w)
    elif not d.commands and run.verdict in (None, "not_counted"):
        out.append(w["unwatched"])
    elif d.served_ns:
        out += _served(d, w)
    out += _busiest(d, w)
    timed = [t for t in d.tests if t.mean_ns is not None]
    if timed and not d.transfers and len(timed) > 1 and not any(p.load for p in run.phases):
        slow = max(timed, key=lambda t: t.mean_ns or 0)
        out.append(w.say("slowest", name=slow.name, time=show.time(slow.mean_ns)))
    if names := [t.name for t in timed if t.is_unsteady]:
        out.append(w.say("unsteady", names=", ".join(names)))
    if (cpu := run.shared_cpu) is not None:
        out.append(w.say("shared_cpu", cpu=cpu))
    if not run.doubts and run.books:
        lost = sum(n for _, n in run.losses)
        key = "trusted_but" if damaged else "trusted"
        out.append(w.say(key, lost=lost, books=len(run.books)))
    return out


@dataclass(frozen=True)
class Overview:
    """Several runs side by side: the mean time of each test that more than one has."""

    tests: list[tuple[str, list[float | None]]]


def _overview(pages: list[Page]) -> Overview | None:
    if len(pages) < 2:
        return None
    of = [{t.name: t.mean_ns for t in p.digest.tests} for p in pages]
    names = dict.fromkeys(name for means in of for name in means)
    rows = [(name, [means.get(name) for means in of]) for name in names]
    return Overview([row for row in rows if sum(ns is not None for ns in row[1]) > 1])


def _title(run: Run, w: Words) -> str:
    """Command, what it was run on, and the name."""
    on = run.server.get("machine") or run.server.get("name") or run.server.get("program", "")
    on = _JOINED.sub(r"\1 \2", on, count=1)  # "Netatalk4.5.1", as the server calls itself
    if run.local is not None:
        on = w.say("local", folder=run.local)
    return " · ".join(text for text in (run.command, on, run.name) if text)


def _throughput(d: Digest, w: Words, labels: Words) -> tuple[str, Any]:
    """Caption and figure: by size if a work has several, else by iteration."""
    works = [t.work for _, t in d.transfers]
    if len(set(works)) < len(works):
        return w["sizes_note"], figures.by_size([t for _, t in d.transfers], labels)
    return w["throughput_note"], figures.throughput(d.transfers, labels)


def _tables(run: Run) -> tuple[tuple[str, Section], ...] | None:
    """Those of its folder, each with an id of its own."""
    found = sections.of_run(run)
    if found is None:
        return None
    n: Counter[str] = Counter()
    out = []
    for s in found:
        n[s.key] += 1
        out.append((f"table-{s.key}" + (f"-{n[s.key]}" if n[s.key] > 1 else ""), s))
    return tuple(out)


def _page(run: Run, runs: list[Run], made: Painter, prefix: str) -> Page:
    w, labels, d = made.w, made.labels, digest(run)
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
        tables = _tables(run)
    except Failure as e:
        notices += (str(e),)

    def picture(name: str, caption: str, figure: Any) -> Picture | None:
        return made.picture(f"{prefix}{name}", caption, figure)

    latency = [
        picture(f"latency-{i}", t.name, figures.latency(t, labels))
        for i, t in enumerate(d.tests, 1)
        if t.client
    ]
    requests = trace.streams.get("requests") if trace else None
    drawn = [c for c in d.commands if c.served and c.service_ns > DRAWN * d.served_ns]
    return Page(
        digest=d,
        title=_title(run, w),
        verdict=_verdict(d, damaged, w),
        notices=notices,
        trace=trace,
        latency=[p for p in latency if p],
        heat=picture("heat", w["heat_note"], figures.heat(requests, labels)) if requests else None,
        where=picture(
            "where", w.say("where_note", least=DRAWN), figures.where(drawn, d.served_ns, labels)
        ),
        cnid=picture("cnid", w["cnid_note"], figures.inside(drawn, labels)),
        throughput=picture("throughput", *_throughput(d, w, labels)),
        loads=loadpage.views(run, made, prefix),
        joined=joined.join(run, runs),
        rx=rxpage.view(run, made, prefix),
        tables=tables or (),
        untabled=tables is None,
    )


def render(pages: list[Page], w: Words) -> str:
    """The page as HTML."""
    return painter.render(
        TEMPLATE,
        pages=pages,
        w=w,
        overview=_overview(pages),
        n_clients=CLIENTS,
        n_figures=DISTRIBUTIONS,
    )


def _finish(made: Painter, output: Path, page: str) -> None:
    """Writes the page and prints its name."""
    with written(output) as file:
        file.write(page.encode())
    print(output)
    if made.labels is not made.w:
        show.notice("report: no Japanese font here: the figures have English labels")
    if not made.fonts:
        show.notice("report: no font here has all characters: PNG and PDF lack some (use the SVG)")


def _sweep(path: Path, args: argparse.Namespace) -> int:
    """A sweep's page; 4 if a step is in doubt."""
    made = Painter(args.figures, args.lang)
    page, doubts = sweeppage.page(steps.open_sweep(path), made, args.slo)
    _finish(made, args.output, page)
    return show.doubts("report", doubts)


def _history(runs: list[Run], args: argparse.Namespace) -> int:
    """Writes the file of the dashboard; 4 if a run is in doubt."""
    text = history.history(runs, history.numbers(args.pr, len(runs)))
    with written(args.history) as file:
        file.write(text.encode())
    print(args.history)
    return show.doubts("report", [doubt for one in runs for doubt in one.doubts])


def run(args: argparse.Namespace) -> int:
    """Writes the page and prints its name; 4 if a run is in doubt."""
    paths = [find(name) for name in args.runs]
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
    runs = [Run.open(path) for path in paths]
    made = Painter(args.figures, args.lang, runs[0].words)
    pages = [
        _page(one, runs, made, f"{i}-" if len(runs) > 1 else "") for i, one in enumerate(runs, 1)
    ]
    _finish(made, args.output, render(pages, made.w))
    return show.doubts(
        "report", [text for p in pages for text in (*p.digest.run.doubts, *p.notices)]
    )
