# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope info RUN."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable

from . import forms, markdown, show
from .errors import OK, UNTRUSTED, Failure
from .saved import steps
from .saved.crowd import Load
from .saved.model import Phase
from .saved.run import Run, find
from .saved.trace import Trace, of_run

Drawn = Callable[..., str]  # show.table, or markdown's


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a path, `last`, or the start of a run's name")
    forms.add(parser, forms.TEXT, forms.JSON, forms.CSV, forms.MARKDOWN)


def _trace(run: Run) -> tuple[Trace | None, list[str]]:
    try:
        trace = of_run(run)
    except Failure as e:
        return None, [str(e)]
    return trace, list(trace.notices) if trace else []


def _head(run: Run) -> list[str]:
    state = "complete" if run.complete else "NOT COMPLETE"
    when = show.second(run.started)
    out = [
        f"afpscope {run.version} {run.command} ({run.set})  run {run.id}  {when}  {state}",
        f"file         {run.path}",
    ]
    for name, notes in (
        ("environment", run.environment),
        ("server", run.server),
        ("options", run.options),
        ("labels", run.labels),
        ("rungs", run.rungs),
        ("not measured", run.absent),
    ):
        for i, (key, text) in enumerate(notes.items()):
            out.append(f"{name if i == 0 else '':13}{key}: {text.replace(chr(10), '; ')}")
    return out


def _trust(run: Run) -> list[str]:
    counted, lost = len(run.losses), sum(n for _, n in run.losses)
    closed = sum(b.closed for b in run.books)
    out = [f"losses       {lost:,} in {counted} kinds" if counted else "losses       not counted"]
    out.append(
        f"cross-checks {closed} of {len(run.books)} agree"
        if run.books
        else "cross-checks none made"
    )
    out += [f"warning      {text}" for text in run.warnings]
    out += [f"DOUBT        {text}" for text in run.doubts]
    out += [f"notable      {text}" for text in run.findings]
    return out


def _remark(p: Phase) -> str:
    """Remarks on a row's figures: those of a transfer are sums over the iterations that count."""
    of = [f"sum of {len(p.transfer.counting)} transfers"] if p.transfer else []
    of += [] if p.complete else ["broke off"]
    return f"  ({', '.join(of)})" if of else ""


def _called(run: Run) -> tuple[str, str]:
    """The heads of two columns: calls of the server, and of what it asks."""
    return f"{run.words['server']} calls", f"{run.words.get('asked', 'backend').lower()} calls"


def _recorded(run: Run, p: Phase, table: Drawn) -> str:
    """A recording: what the server answered, and with how many errors."""
    answered = None if p.requests is None else sum(a.requests or 0 for a in p.requests)
    errors = None if p.requests is None else sum(a.failed for a in p.requests)
    m = p.metrics
    head = ["", "time", "requests", "errors", *_called(run)]
    row = [
        "recorded" + _remark(p),
        show.time(m.get("elapsed")),
        show.count(answered),
        show.count(errors),
        show.count(m.get("afpd_calls")),
        show.count(m.get("cnid_calls")),
    ]
    return table(head, [row], 1)


def _loaded(p: Phase, load: Load, table: Drawn) -> str:
    """A load: what its clients did, and how long it took."""
    both = [of for of in (load, p.probe) if of]
    shown = {} if any(of.mixed for of in both) else {"p50": 0.5, "p99": 0.99}
    head = ["", "clients", "per s", "failed", "mean", *shown, "max"]
    rows = [
        [
            name,
            f"{of.clients:,}",
            show.number(of.achieved),
            f"{of.failed:,}",
            show.time(of.mean_ns()),
            *(show.time(of.latency().quantile(q)) for q in shown.values()),
            show.time(of.max_ns()),
        ]
        for name, of in ((show.short(p.title, 48) + _remark(p), load), ("probe", p.probe))
        if of
    ]
    return table(head, rows, 1)


def _phases(run: Run, table: Drawn = show.table) -> list[str]:
    if loads := [_loaded(p, p.load, table) for p in run.phases if p.load]:
        return loads
    if run.about == "server":
        return [_recorded(run, p, table) for p in run.phases] or ["no phases"]
    rows = []
    for p in run.phases:
        m = p.metrics
        rows.append(
            [
                f"{p.test}",
                f"{p.iteration}",
                show.short(p.title, 48) + _remark(p),
                show.time(m.get("elapsed")),
                show.count(m.get("ops")),
                show.count(m.get("errors")),
                show.count(m.get("afpd_calls")),
                show.count(m.get("cnid_calls")),
                *(show.measured(m.get(x.key), x.unit) for x in run.titled),
            ]
        )
    head = ["test", "iter", "title", "time", "AFP", "errors", *_called(run)]
    head += [x.title or x.key for x in run.titled]
    return [table(head, rows, 3)] if rows else ["no phases"]


def _streams(trace: Trace, table: Drawn = show.table) -> str:
    rows = [
        [
            s.name,
            f"{s.n:,}",
            f"{s.layout.dtype.itemsize}",
            show.size(s.size),
            f"{len(s.packets):,}",
            f"{s.discarded:,}",
            "yes" if s.checked else "no",
        ]
        for s in trace.streams.values()
    ]
    return table(["stream", "records", "B each", "size", "packets", "discarded", "checksums"], rows)


def _phase(p: Phase) -> dict[str, object]:
    """A row of the text, with all of the phase's metrics."""
    return {
        "test": p.test,
        "iteration": p.iteration,
        "title": p.title,
        "complete": p.complete,
        "transfers": len(p.transfer.counting) if p.transfer else None,
        "metrics": p.metrics,
    }


def _json(run: Run, trace: Trace | None, notices: list[str]) -> str:
    streams = {
        s.name: {"records": s.n, "bytes": s.size, "packets": len(s.packets),
                 "discarded": s.discarded, "lost_packets": s.lost_packets, "checked": s.checked}
        for s in (trace.streams.values() if trace else ())
    }  # fmt: skip
    return json.dumps(
        {
            "id": run.id,
            "file": str(run.path),
            "version": run.version,
            "command": run.command,
            "set": run.set,
            "started": run.started,
            "complete": run.complete,
            "environment": run.environment,
            "server": run.server,
            "options": run.options,
            "labels": dict(run.labels),
            "rungs": run.rungs,
            "absent": run.absent,
            "losses": [{"what": what, "n": n} for what, n in run.losses],
            "books": [
                {"name": b.name, "with": b.with_, "ours": b.ours, "theirs": b.theirs,
                 "closed": b.closed}
                for b in run.books
            ],
            "doubts": list(run.doubts),
            "warnings": list(run.warnings),
            "findings": list(run.findings),
            "phases": [_phase(p) for p in run.phases],
            "streams": streams,
            "notices": notices,
        }
    )  # fmt: skip


def _print_csv(run: Run) -> None:
    """A row for each phase, with all of the run's metrics."""
    keys = dict.fromkeys(key for p in run.phases for key in p.metrics)
    rows = [_phase(p) for p in run.phases]
    head = [key for key in _phase(run.phases[0]) if key != "metrics"] if rows else ["test"]
    cells = ([*(row[key] for key in head), *(p.metrics.get(key) for key in keys)]
             for row, p in zip(rows, run.phases, strict=True))  # fmt: skip
    forms.print_csv([*head, *keys], cells)


def _markdown(run: Run, trace: Trace | None, notices: list[str]) -> str:
    head, *more = [*_head(run), *_trust(run), *(f"NOTICE       {text}" for text in notices)]
    out = [f"### {markdown.escape(head)}", ""]
    of = ""
    for text in more:
        of = text[:13].strip() or of
        out.append(f"- {of}: {markdown.escape(text[13:])}")
    tables = _phases(run, markdown.table)
    if trace:
        tables.append(_streams(trace, markdown.table))
    for table in tables:
        out += ["", table]
    return "\n".join(out)


def _sweep(sweep: steps.Sweep, form: str) -> int:
    """A sweep: what it found, and whether its steps can be trusted."""
    from .limit import outcome  # needs scipy, which info of a run does not

    found = outcome.of(sweep)
    if form != forms.TEXT:
        outcome.put(found, form)
    else:
        state = "complete" if sweep.complete else f"NOT COMPLETE ({sweep.stopped or 'it failed'})"
        line = f"afpscope {sweep.version} sweep  {sweep.id}  {sweep.started}  {state}"
        print(show.plain(line))
        print(show.plain(f"target       {sweep.target}"))
        print(f"steps        {len(sweep.steps)}, of them complete {len(sweep.measured)}\n")
        print(outcome.screen(found))
    doubts = [f"{s.folder}: {text}" for s in sweep.steps if s.run for text in s.run.doubts]
    return show.doubts("info", doubts if sweep.complete else ["not complete", *doubts])


def run(args: argparse.Namespace) -> int:
    """0: can be trusted; 4: there is a doubt, which is in the text."""
    path = find(args.run)
    if steps.is_sweep(path):
        return _sweep(steps.open_sweep(path), args.format)
    it = Run.open(path)
    trace, notices = _trace(it)
    if args.format == forms.JSON:
        print(_json(it, trace, notices))
    elif args.format == forms.CSV:
        _print_csv(it)
    elif args.format == forms.MARKDOWN:
        print(_markdown(it, trace, notices))
    else:
        print("\n".join([*map(show.plain, [*_head(it), *_trust(it), ""]), *_phases(it)]))
        if trace:
            print("\n" + _streams(trace))
            if not all(s.checked for s in trace.streams.values()):
                print("without checksums damage within a record would not be seen")
        for text in notices:
            print(show.plain(f"NOTICE       {text}"))
    return UNTRUSTED if it.doubts or notices else OK
