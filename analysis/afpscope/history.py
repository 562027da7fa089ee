# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope history LAKE: which values changed over the runs of a lake, and with which run.

Only runs whose settings and amounts of work are alike are one history. A value is that of a run, as
`compare` takes it; judge/changes.py finds where a level changed.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from . import compare, forms, lake, markdown, show
from .errors import OK, wrong_use
from .judge import changes
from .judge.lines import History, Key, Line, Point
from .words import ENGLISH, LANGUAGES

_SPARKS = "▁▂▃▄▅▆▇█"
_WIDTH = 60  # of a row's curve, in values
# Changes that are shown without --all.
SHOWN = 15


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("lake", metavar="LAKE", type=Path,
                        help="the folder that `export RUN... --into LAKE` made")  # fmt: skip
    parser.add_argument("--where", metavar="SQL",
                        help="only runs for which this holds, of the columns of the table runs: "
                        "\"labels['disk'] = 'ssd'\"")  # fmt: skip
    parser.add_argument("--row", metavar="TEXT", action="append", default=[],
                        help="only rows whose test or label has this text; again: or "
                        "this one")  # fmt: skip
    parser.add_argument("--label", metavar="KEY", help="name runs by this label (commit)")
    parser.add_argument("--least", metavar="PERCENT", type=compare.percent, default=compare.LEAST,
                        help="only a change larger than this, either way, counts "
                        f"(default {compare.LEAST:.0%}%)")  # fmt: skip
    parser.add_argument("--all", action="store_true", help="show rows without a change, too")
    forms.add(parser, forms.TEXT, forms.JSON, forms.CSV, forms.MARKDOWN)
    parser.add_argument("-o", dest="output", metavar="FILE", type=Path,
                        help="as an HTML page with a curve of each row")  # fmt: skip
    parser.add_argument("--lang", choices=LANGUAGES, default="en", help="of the page (default en)")


_RUNS = """
select id, strftime(started, '%Y-%m-%dT%H:%M:%SZ'), alike, command, set, kind,
       map_keys(labels), map_values(labels)
from runs where trusted and complete and started is not null and ({where}) order by started, id
"""
_VALUES = 'select run, test, label, unit, better, value from "values"'


def _answer(db: Any, sql: str) -> list[Any]:
    try:
        return list(db.execute(sql).fetchall())
    except duckdb.Error as e:
        raise wrong_use(f"--where: {str(e).strip().splitlines()[0]}") from None


def _line(key: Key, points: list[Point], of: dict[str, float], rows: int, least: float) -> Line:
    known = [p for p in points if of.get(p.id, 0) > 0]
    values = [of[p.id] for p in known]
    found = changes.change_points(values, rows)
    zeros = tuple(p for p in points if p.id in of and of[p.id] <= 0)
    return Line(key, known, values, [c for c in found if abs(c.by) > least], zeros)


def read(db: Any, args: argparse.Namespace) -> tuple[list[History], int]:
    """The histories, of most runs first, and how many runs count in none, as they are doubtful."""
    has_labels = "labels" in {c[0] for c in db.execute("describe runs").fetchall()}
    sql = _RUNS if has_labels else _RUNS.replace("labels", "map {}")
    where = args.where or "true"
    runs = _answer(db, sql.format(where=where))
    everything = int(_answer(db, f"select count(*) from runs where {where}")[0][0])
    groups: dict[tuple[str, ...], list[Point]] = defaultdict(list)
    for id_, started, *key, keys, texts in runs:
        labels = dict(zip(keys or (), texts or (), strict=True))
        groups[tuple(key)].append(Point(id_, started, labels))
    of: dict[str, dict[Key, float]] = defaultdict(dict)
    for id_, test, label, unit, better, value in db.execute(_VALUES).fetchall():
        of[id_][test, label, unit, better] = value
    out = []
    for (_, command, set_, kind), points in groups.items():
        table: dict[Key, dict[str, float]] = defaultdict(dict)
        for p in points:
            for row, value in of[p.id].items():
                table[row][p.id] = value
        wanted = {
            row: v for row, v in table.items() if _is_wanted(row, args.row) and max(v.values()) > 0
        }
        lines = [_line(row, points, v, len(wanted), args.least) for row, v in wanted.items()]
        out.append(History(f"{command} ({set_}, {kind})", points, lines))
    return sorted(out, key=lambda h: -len(h.points)), everything - len(runs)


def _is_wanted(row: Key, texts: Sequence[str]) -> bool:
    return not texts or any(text in part for text in texts for part in row[:2])


def spark(values: Sequence[float]) -> str:
    """A curve of one line; of many values the median of neighbours."""
    each = -(-len(values) // _WIDTH)
    means = [sorted(part := values[i : i + each])[len(part) // 2]
             for i in range(0, len(values), each)]  # fmt: skip
    low, high = min(means), max(means)
    top = len(_SPARKS) - 1
    return "".join(
        _SPARKS[round(top * (v - low) / (high - low)) if high > low else 0] for v in means
    )


def _changes(history: History, args: argparse.Namespace) -> list[str]:
    """Two lines for each or more, of at most 100 columns unless labels are long."""
    return [
        f"{line.name} {line.how(c, ENGLISH)}\n{_folded(line.when(c, args.label, ENGLISH))}"
        for line in history.changed
        for c in line.changes
    ]


def _folded(text: str) -> str:
    return textwrap.fill(text, 98, initial_indent="  ", subsequent_indent="  ",
                         break_long_words=False, break_on_hyphens=False)  # fmt: skip


def _print(history: History, args: argparse.Namespace) -> None:
    first, last = history.points[0], history.points[-1]
    n = len(history.points)
    print(f"{n} run{'s' * (n > 1)} of {history.what}, {first.started[:10]} to {last.started[:10]}")
    found = _changes(history, args)
    every = bool(args.all or args.row)
    cut = len(found) if every else SHOWN
    for text in found[:cut]:
        print(show.page(text))
    if len(found) > cut:
        print(f"{len(found) - cut} more changes (--all)")
    for line in history.lines if every else ():
        print(f"{show.plain(line.name)}: {spark(line.values)} {line.shown(line.values[-1])}")
    if found:
        print(ENGLISH["history_whose"])
    parts = [f"{history.quiet} of {len(history.lines)} rows without a change that could be shown"]
    if history.too_few:
        parts.append(
            f"{history.too_few} with too few runs to show one ({history.needed} are needed)"
        )
    print("; ".join(parts))
    if zeros := history.of_zeros(ENGLISH, every):
        print(_folded(show.plain(zeros)).strip())


def _json(histories: list[History]) -> str:
    return json.dumps([
        {"what": h.what, "runs": [{"id": p.id, "started": p.started, "labels": p.labels}
                                  for p in h.points],
         "least_values": h.needed,
         "rows": [dict(zip(("test", "label", "unit", "better"), line.key, strict=True)) | {
                   "runs": [p.id for p in line.points], "values": line.values,
                   "zero_runs": [p.id for p in line.zeros],
                   "changes": [{"run": line.points[c.at].id, "from": line.points[c.low].id,
                                "to": line.points[c.high].id, "before": c.before,
                                "after": c.after, "shape": c.kind, "is": line.verdict(c)}
                               for c in line.changes]}
                  for line in h.lines]}
        for h in histories
    ])  # fmt: skip


_CSV = ("what", "test", "label", "unit", "better", "run", "from", "to", "before", "after", "shape",
        "is")  # fmt: skip


def _csv(histories: list[History]) -> Iterator[tuple[Any, ...]]:
    """A row for each change."""
    for h in histories:
        for line in h.changed:
            for c in line.changes:
                runs = (line.points[at].id for at in (c.at, c.low, c.high))
                yield (h.what, *line.key, *runs, c.before, c.after, c.kind, line.verdict(c))


def _markdown(histories: list[History], label: str | None, every: bool) -> str:
    out = ["### afpscope history"]
    for h in histories:
        first, last = h.points[0], h.points[-1]
        out += ["", markdown.escape(f"{h.what}: {len(h.points)} runs, {first.started[:10]} to "
                                    f"{last.started[:10]}; {len(h.changed)} of {len(h.lines)} rows "
                                    "changed")]  # fmt: skip
        rows = [[line.name, line.how(c, ENGLISH), line.when(c, label, ENGLISH)]
                for line in h.changed for c in line.changes]  # fmt: skip
        if rows:
            out += ["", markdown.table(["row", "change", "when"], rows, 3)]
        if h.too_few:
            out += ["", f"{h.too_few} rows have too few runs to show a change ({h.needed} are "
                        "needed)."]  # fmt: skip
        if zeros := h.of_zeros(ENGLISH, every):
            out += ["", markdown.escape(zeros)]
    if any(h.changed for h in histories):
        out += ["", markdown.escape(ENGLISH["history_whose"])]
    return "\n".join(out)


def run(args: argparse.Namespace) -> int:
    """Prints the changes of each history."""
    with lake.connected(args.lake) as (db, names):
        if "values" not in names:
            raise wrong_use(f"the runs of {args.lake} have no values to follow")
        histories, doubtful = read(db, args)
    if not histories:
        raise wrong_use(f"{args.lake} has no run for this that can be trusted")
    if args.format == forms.JSON:
        print(_json(histories))
        return OK
    if args.format == forms.CSV:
        forms.print_csv(_CSV, _csv(histories))
        return OK
    if args.output:
        from .page import historypage

        historypage.write(args.output, histories, args.label, args.lang)
        print(args.output)
        return OK
    if args.format == forms.MARKDOWN:
        print(_markdown(histories, args.label, bool(args.all or args.row)))
        histories = []
    for i, history in enumerate(histories):
        if i:
            print()
        _print(history, args)
    if doubtful:
        show.notice(f"history: {doubtful} runs are left out: they broke off or are in doubt")
    return OK
