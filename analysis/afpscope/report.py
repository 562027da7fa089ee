# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope report RUN... -o FILE: one page that stands for itself."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from . import figures, show
from .digest import CommandView, Digest, digest
from .errors import Failure, wrong_use
from .files import written
from .run import Run, find
from .trace import Trace, of_run
from .words import LANGUAGES, Words

TEMPLATE = "report.html"
SESSIONS = 20  # shown; run.json has all
DRAWN = 0.005  # of all time: a rare command that takes long would dwarf the others
BOOKS = 16  # more are folded away, as long as all close
FORMATS = ("svg", "png", "pdf")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="+")
    parser.add_argument("-o", dest="output", metavar="FILE", type=Path, default=Path("report.html"))
    parser.add_argument("--figures", metavar="DIR", type=Path,
                        help="also write the figures, as SVG, PNG and PDF")  # fmt: skip
    parser.add_argument("--lang", choices=LANGUAGES, default="en")


@dataclass(frozen=True)
class Picture:
    """A figure for the page: what it shows is also its text for who cannot see it."""

    name: str
    caption: str
    svg: str


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


class Painter:
    """Makes pictures, and keeps the figures where they are wanted as files."""

    def __init__(self, folder: Path | None, language: str) -> None:
        """The figures' own words are English where no font here has the language's."""
        self.folder, self.w, self.fonts = folder, Words(language), True
        plain = language == "ja" and not figures.japanese()
        self.labels = Words("en") if plain else self.w
        if folder:
            folder.mkdir(parents=True, exist_ok=True)

    def picture(self, name: str, caption: str, made: Any) -> Picture | None:
        if made is None:
            return None
        for form in FORMATS if self.folder else ():
            assert self.folder is not None
            whole = figures.save(made, self.folder / f"{name}.{form}", form, name)
            self.fonts = self.fonts and whole
        return Picture(name, caption, figures.svg(made, name))


def _dearest_call(command: CommandView, w: Words) -> list[str]:
    """The server's own dearest call for a command; cnid_dbd's time is afpd's waiting."""
    own = [(key, n, ns) for key, n, ns in command.top_calls(50) if key[0] == "afpd"]
    if not own or not own[0][2]:
        return []
    key, n, ns = own[0]
    name = key[1] if key[2] == "-" else f"{key[1]} · {key[2]}"
    return [w.say("call_why", call=name, n=n, time=show.time(ns))]


def _busiest(d: Digest, w: Words) -> list[str]:
    """Who kept the server busy, where several had logged in."""
    users = [s for s in d.sessions if s.user]
    if len(users) < 2 or not d.busy_ns:
        return []
    s = users[0]
    share = s.busy_ns / d.busy_ns
    return [w.say("busiest", who=s.user, at=s.address or "n/a", n=len(users), share=share)]


def _verdict(d: Digest, damaged: bool, w: Words) -> list[str]:
    """The run in sentences, what matters most first. `damaged`: its trace is."""
    run = d.run
    out = [w.say("doubt", text=text) for text in run.doubts]
    if damaged:
        out.append(w["damaged"])
    if run.local is not None:
        out.append(w["no_server"])
    elif not d.commands:
        out.append(w["unwatched"])
    elif d.served_ns:
        first = d.commands[0]
        share = first.time_ns / d.served_ns
        mean = show.time(first.mean_ns)
        part = first.dearest_part
        why = {"part": w[f"p_{part}"], "part_share": first.share(part)}
        out.append(
            w.say("dearest", name=first.name, share=share, mean=mean, n=first.requests, **why)
        )
        out += _dearest_call(first, w)
        if len(d.commands) > 1:
            second = d.commands[1]
            out.append(w.say("second", name=second.name, share=second.time_ns / d.served_ns))
    out += _busiest(d, w)
    largest = {
        t.work: (title, t) for title, t in sorted(d.transfers, key=lambda x: x[1].size_bytes)
    }
    for title, t in largest.values():
        if t.throughput:
            rate = show.size(t.throughput)
            out.append(w.say("transfer", title=title, rate=rate, text=w.verdict(t)))
    timed = [t for t in d.tests if t.mean_ns is not None]
    if timed and not d.transfers and len(timed) > 1:
        slow = max(timed, key=lambda t: t.mean_ns or 0)
        out.append(w.say("slowest", name=slow.name, time=show.time(slow.mean_ns)))
    if not run.doubts and run.books:
        lost = sum(n for _, n in run.losses)
        key = "trusted_but" if damaged else "trusted"
        out.append(w.say(key, lost=lost, books=len(run.books)))
    return out


def _title(run: Run, w: Words) -> str:
    """Command, what it was run on, and the name."""
    on = run.server.get("machine", run.server.get("program", ""))
    if run.local is not None:
        on = w.say("local", folder=run.local)
    return " · ".join(text for text in (run.command, on, run.name) if text)


def _throughput(d: Digest, w: Words, labels: Words) -> tuple[str, Any]:
    """Caption and figure: by size where any work has several, else by iteration."""
    works = [t.work for _, t in d.transfers]
    if len(set(works)) < len(works):
        return w["sizes_note"], figures.by_size([t for _, t in d.transfers], labels)
    return w["throughput_note"], figures.throughput(d.transfers, labels)


def _page(run: Run, painter: Painter, prefix: str) -> Page:
    w, labels, d = painter.w, painter.labels, digest(run)
    trace: Trace | None = None
    notices: tuple[str, ...] = ()
    try:
        trace = of_run(run)
        notices = trace.notices if trace else ()
    except Failure as e:
        notices = (str(e),)

    def picture(name: str, caption: str, made: Any) -> Picture | None:
        return painter.picture(f"{prefix}{name}", caption, made)

    latency = [
        picture(f"latency-{i}", t.name, figures.latency(t, labels))
        for i, t in enumerate(d.tests, 1)
        if t.client
    ]
    requests = trace.streams.get("requests") if trace else None
    drawn = [c for c in d.commands if c.requests and c.time_ns > DRAWN * d.served_ns]
    return Page(
        digest=d,
        title=_title(run, w),
        verdict=_verdict(d, bool(notices), w),
        notices=tuple(notices),
        trace=trace,
        latency=[p for p in latency if p],
        heat=picture("heat", w["heat_note"], figures.heat(requests, labels)) if requests else None,
        where=picture("where", w.say("where_note", least=DRAWN), figures.where(drawn, labels))
        if drawn
        else None,
        cnid=picture("cnid", w["cnid_note"], figures.inside(drawn, labels)),
        throughput=picture("throughput", *_throughput(d, w, labels)),
    )


def render(pages: list[Page], w: Words) -> str:
    """The page as HTML. Everything that comes from a run is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("afpscope", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"time": show.time, "count": show.count, "size": show.size}
    return environment.get_template(TEMPLATE).render(
        pages=pages, w=w, n_sessions=SESSIONS, n_books=BOOKS
    )


def run(args: argparse.Namespace) -> int:
    """Writes the page and prints its name; 4 where a run is in doubt."""
    if args.output.is_dir():
        raise wrong_use(f"{args.output} is a folder: name a file with -o")
    painter = Painter(args.figures, args.lang)
    runs = [Run.open(find(name)) for name in args.runs]
    pages = [_page(one, painter, f"{i}-" if len(runs) > 1 else "") for i, one in enumerate(runs, 1)]
    page = render(pages, painter.w)
    with written(args.output) as file:
        file.write_text(page, encoding="utf-8")
    print(args.output)
    if painter.labels is not painter.w:
        show.notice("report: no Japanese font here: the figures have English labels")
    if not painter.fonts:
        show.notice("report: no font here has all characters: PNG and PDF lack some (use the SVG)")
    return show.doubts(
        "report", [text for p in pages for text in (*p.digest.run.doubts, *p.notices)]
    )
