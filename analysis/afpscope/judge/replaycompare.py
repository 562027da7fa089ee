# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope compare RECORDING REPLAY, and RECORDING -- REPLAY...: what was recorded, and what came
of it on another server, at another speed or in another year."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .. import forms, markdown, show
from ..errors import OK, UNTRUSTED, wrong_use
from ..saved import layout
from ..saved.files import written
from ..saved.replayed import Request
from ..saved.run import Run
from ..tables import counts
from ..words import ENGLISH, Words
from . import replays, replaysaid, stats, versus
from .replays import Outcome, Served

_OPERATIONS = "operations"  # the stream of a recording that can be replayed


def is_wanted(a: Sequence[Run], b: Sequence[Run]) -> bool:
    """Whether these are a recording and its replays: one of the runs is a replay, and not all."""
    of = [run.is_replay for run in (*a, *b)]
    return any(of) and not all(of)


def _uuid(run: Run) -> str | None:
    """Of the recording that the run keeps; None: it keeps none that can be replayed."""
    if not run.trace or not (run.trace / _OPERATIONS).exists():
        return None
    return layout.layouts(run.trace).uuid.hex()


def _plain(uuid: str) -> str:
    return uuid.replace("-", "").lower()


def _checked(a: Sequence[Run], b: Sequence[Run], force: bool) -> tuple[Run, list[Run]]:
    """The recording and its replays. Failure if they are something else."""
    if len(a) != 1 or any(run.replay is None for run in b):
        incomplete = next((r for r in b if r.is_replay and r.replay is None), None)
        if incomplete:
            raise wrong_use(f"{incomplete.name}: the replay is not complete")
        raise wrong_use(
            "give a recording and then its replays: RECORDING REPLAY, or RECORDING -- REPLAY..."
        )
    mine = _uuid(a[0])
    found = versus.differences(b)
    for run in b:
        theirs = run.options.get("recording_uuid", "")
        if mine is None:
            found.append(f"{a[0].name} is no recording that can be replayed")
            break
        if _plain(theirs) != mine:
            found.append(f"{run.name} is a replay of another recording than {a[0].name}")
    if found and not force:
        raise wrong_use(f"not alike: {'; '.join(found)} (--force compares them anyway)")
    for text in found:
        show.notice(f"compare: forced, although not alike: {text}")
    return a[0], list(b)


# What is said


def _unsaid(recording: Run, runs: Sequence[Run], rows: Sequence[Served]) -> list[str]:
    if rows:
        return []
    if not replays.accounts(recording):
        return [ENGLISH["replay_unheard"]]
    watched = all(replays.accounts(run) for run in runs)
    return [ENGLISH["replay_unlike" if watched else "replay_unwatched"]]


def _of_server(rows: Sequence[Served], n: int, commands: int) -> list[str]:
    """What the times inside the server say, and its calls; `commands`: that were recorded."""
    w, out = ENGLISH, []
    judged = [row for row in rows if row.test]
    apart = ", ".join(
        f"{row.command} ({versus.signed(row.test.change)})"
        for row in judged
        if row.test and row.verdict == stats.UNCLEAR
    )
    if judged and n < stats.LEAST_OTHERS:
        out.append(w.say("replay_few", n=n, least=stats.LEAST_OTHERS))
    elif apart:
        out += [w.say("replay_apart", n=n, which=apart), w["replay_cause"]]
    elif judged:
        out.append(w.say("replay_alike", n=n, judged=len(judged), all=commands))
    alike = [row for row in rows if row.alike]
    other = [(row.command, len(row.other_calls)) for row in alike if row.other_calls]
    if other:
        names = ", ".join(
            f"{row.command} ({', '.join(row.other_calls[:2])})" for row in alike if row.other_calls
        )
        out.append(w.say("replay_calls_other", which=names))
    elif alike:
        out.append(w.say("replay_calls_same", of=counts.REPLAY_STRAY_OF))
    return out


def of(recording: Run, runs: Sequence[Run], least: float = replays.LEAST) -> Outcome:
    found = [r for run in runs if (r := run.replay)]
    rows = replays.served(recording, runs, least)
    both = list(zip(runs, found, strict=True))
    if len(both) > 1:
        said = replaysaid.several(both)
    else:
        sentences = [*replaysaid.answered(found[0]), replaysaid.kept_up(*both[0])]
        said = [" ".join(filter(None, sentences))]
    said += _of_server(rows, len(runs), len(replays.accounts(recording)))
    remarks = [replaysaid.share(run, r) for run, r in both]
    remarks += [
        f"the servers of the replays, or how they were watched, differ in {text}"
        for text in versus.elsewhere(runs)
    ]
    remarks = list(dict.fromkeys(remarks))
    return Outcome(recording, list(runs), replays.requests(found), rows, said,
                   _unsaid(recording, runs, rows), remarks)  # fmt: skip


# Output


def heads(w: Words = ENGLISH) -> list[str]:
    keys = ("request", "recorded", "replayed", "otherwise", "not_sent", "server_p50", "client_p50",
            "server_p99", "client_p99")  # fmt: skip
    return [w[f"h_{key}"] for key in keys]


def _count(n: int) -> str:
    return f"{n:,}" if n else ""


def lines(of_: Sequence[Request]) -> list[list[str]]:
    """The requests: of the recording in the server, of the replay at the client."""
    return [
        [
            q.name,
            f"{q.recorded:,}",
            f"{q.replayed:,}",
            _count(q.otherwise),
            _count(q.left_out),
            *(show.time(ns) if ns else "" for ns in (q.recorded_p50_ns, q.p50_ns,
                                                     q.recorded_p99_ns, q.p99_ns)),
        ]
        for q in of_
    ]  # fmt: skip


def served_heads(w: Words = ENGLISH) -> list[str]:
    keys = ("command", "recorded", "replayed", "p50_a", "p50_b", "change", "p99_a", "p99_b",
            "verdict", "calls_a", "calls_b")  # fmt: skip
    return [w[f"h_{key}"] for key in keys]


def _time(ns: float | None) -> str:
    return show.time(ns) if ns else ""


def served_lines(rows: Sequence[Served], w: Words = ENGLISH) -> list[list[str]]:
    return [
        [
            row.command,
            *(f"{n:,}" for n in row.n),
            *map(_time, row.p50),
            versus.signed(row.test.change) if row.test else "",
            *map(_time, row.p99),
            row.verdict or ("" if row.alike else w["h_unlike"]),
            *(f"{n:.2f}" for n in row.calls),
        ]
        for row in rows
    ]


def _print(o: Outcome) -> None:
    for text in (*o.said, *o.unsaid):
        print(show.plain(text))
    print(f"\n{ENGLISH['replay_requests']}")
    print(show.table(heads(), lines(o.requests)))
    if o.served:
        print(f"\n{ENGLISH['replay_inside']}")
        print(show.table(served_heads(), served_lines(o.served)))


def _as_json(o: Outcome) -> dict[str, Any]:
    return {
        "recording": o.recording.name,
        "replays": [run.name for run in o.replays],
        "text": o.said,
        "not_compared": o.unsaid,
        "requests": [asdict(q) for q in o.requests],
        "served": [asdict(row) for row in o.served],
    }


def _as_markdown(o: Outcome, doubts: Sequence[str]) -> str:
    esc = markdown.escape
    out = ["### afpscope compare", "", f"**{esc(o.said[0])}**", ""]
    out += [f"- {esc(text)}" for text in (*o.said[1:], *o.unsaid, *o.remarks, *doubts)]
    out += ["", markdown.table(heads(), lines(o.requests))]
    out += ["", markdown.table(served_heads(), served_lines(o.served))] if o.served else []
    return "\n".join(out)


def _write_page(o: Outcome, doubts: Sequence[str], to: Path) -> None:
    from ..page import replaypage  # and its templates, which only this needs

    with written(to) as file:
        tables = ((heads(), lines(o.requests)), (served_heads(), served_lines(o.served)))
        file.write(replaypage.compared(o, doubts, tables).encode())


def run(a: Sequence[Run], b: Sequence[Run], args: argparse.Namespace) -> int:
    recording, runs = _checked(a, b, args.force)
    o = of(recording, runs, args.least)
    doubts = [f"{r.name}: {text}" for r in (recording, *runs) for text in r.doubts]
    if args.html:
        _write_page(o, doubts, args.html)
    if args.format == forms.JSON:
        print(json.dumps(_as_json(o)))
    elif args.format == forms.CSV:
        forms.print_csv(heads(), lines(o.requests))
    elif args.format == forms.MARKDOWN:
        print(_as_markdown(o, doubts))
    else:
        _print(o)
    if args.format == forms.GITHUB:
        markdown.add_to_summary(_as_markdown(o, doubts))
    for text in (*o.remarks, *doubts):
        show.notice(f"compare: {text}")
    return UNTRUSTED if doubts else OK
