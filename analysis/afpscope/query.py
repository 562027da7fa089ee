# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope query RUN SQL: DuckDB over a run's tables, which it can only read.

The query sees the tables and nothing else: no files, no network, no extensions.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from typing import Any

import duckdb

from . import show, tables
from .errors import OK, Failure, wrong_use
from .run import Run, find

ROWS_MAX = 200
# Both sides of each request: the n-th of a client's port and DSI id is the n-th of the
# session with that port, so that no clock need be shared.
JOINED = """
create view joined as
with ports as (select distinct session, port from sessions),
server as (
    select r.*, p.port, row_number() over (partition by p.port, r.dsi_id order by r.t) as turn
    from requests r join ports p using (session)),
own as (
    select *, row_number() over (partition by port, dsi_id order by sent_ns) as turn from client)
select coalesce(own.port, server.port) as port, coalesce(own.dsi_id, server.dsi_id) as dsi_id,
    own.command as client_command, server.command as server_command, own.sent_ns,
    own.last_ns - own.sent_ns as client_ns, server.time_ns as server_ns,
    cast(own.last_ns - own.sent_ns as bigint) - cast(server.time_ns as bigint) as between_ns
from own full join server
    on own.port = server.port and own.dsi_id = server.dsi_id and own.turn = server.turn
"""
_SIDES = ("requests", "client", "sessions")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a path, `last`, or the start of a run's name")
    parser.add_argument("sql", metavar="SQL", nargs="?", help="default: list tables and columns")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="all rows as CSV")
    form.add_argument("--json", action="store_true", help="all rows as JSON, one object a line")


def connect(run: Run, sql: str | None) -> tuple[Any, list[str]]:
    """A connection with the tables that `sql` may mean, and the names of all there are."""
    db = duckdb.connect(":memory:", config={"python_enable_replacements": "false"})
    made = tables.of_run(run)
    for name, table in made.items():
        db.register(name, table)
    names = list(made)
    trace = tables.open_trace(run)
    words = {w.lower() for w in re.findall(r"\w+", sql or "")}
    join = trace is not None and set(_SIDES) <= set(trace.streams)
    if join and "joined" in words:
        words.update(_SIDES)
    for stream in trace.streams.values() if trace else ():
        name = stream.name if stream.name not in made else f"trace_{stream.name}"
        names.append(name)
        if sql is None:
            db.register(name, tables.schema(stream).empty_table())
        elif name in words:
            db.register(name, tables.of_stream(stream))
    for text in trace.notices if trace else ():
        show.notice(text)
    if join and (sql is None or "joined" in words):
        db.execute(JOINED)
        names.append("joined")
    for setting in ("enable_external_access = false", "lock_configuration = true"):
        db.execute(f"set {setting}")
    return db, names


def _plain(value: Any) -> Any:
    """What JSON has no form for becomes a text."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _print(cursor: Any, args: argparse.Namespace) -> None:
    names = [column[0] for column in cursor.description or ()]
    if args.json:
        while rows := cursor.fetchmany(4096):
            for row in rows:
                print(json.dumps(dict(zip(names, map(_plain, row), strict=True))))
        return
    if args.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        while rows := cursor.fetchmany(4096):
            writer.writerows(rows)
        return
    rows = cursor.fetchmany(ROWS_MAX + 1)
    shown = [["n/a" if v is None else _text(v) for v in row] for row in rows[:ROWS_MAX]]
    print(show.table(names, shown, 0))
    if len(rows) > ROWS_MAX:
        show.notice(f"query: only the first {ROWS_MAX} rows are shown; --csv prints all")


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}"
    return str(value)


def _catalogue(db: Any, names: list[str]) -> None:
    rows = []
    for name in names:
        columns = db.execute(f'describe "{name}"').fetchall()
        rows += [[name, column[0], column[1]] for column in columns]
    print(show.table(["table", "column", "type"], rows, 3))


def run(args: argparse.Namespace) -> int:
    it = Run.open(find(args.run))
    for text in it.doubts:
        show.notice(f"query: {text}")
    db, names = connect(it, args.sql)
    try:
        if args.sql is None:
            _catalogue(db, names)
        else:
            _print(db.execute(args.sql), args)
    except duckdb.Error as e:
        first = str(e).strip().splitlines()[0]
        raise wrong_use(f"{first}; tables here: {', '.join(names)}") from None
    except UnicodeError as e:
        raise Failure(f"the answer holds no text: {e}") from None
    return OK
