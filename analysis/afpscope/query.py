# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope query RUN SQL, query --lake LAKE SQL: DuckDB over tables, which it can only read.

The query sees the tables and nothing else: no files, no network, no extensions.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from . import forms, lake, markdown, process, show
from .errors import OK, Failure, wrong_use
from .saved import steps
from .saved.run import Run, find
from .saved.trace import Trace, of_run
from .tables import duck, records, tables

ROWS_MAX = 200
# Both sides of each request, matched by the client's port and the DSI id, which is continued when
# its 16 bits wrap (it falls, or rises, by more than half), so that no common clock is needed.
_UNWRAP = """
select *, dsi_id + 65536 * sum(case when step < -32768 then 1 when step > 32768 then -1 else 0 end)
    over (partition by {conn} order by t, dsi_id rows unbounded preceding) as id
from (select *, cast(dsi_id as int)
    - lag(cast(dsi_id as int)) over (partition by {conn} order by t, dsi_id) as step from {stream})
"""
JOINED = f"""
create view joined as
with server as ({_UNWRAP.format(stream="requests", conn="session, port")}),
own as ({_UNWRAP.format(stream="client", conn="port")})
select coalesce(own.port, server.port) as port, coalesce(own.dsi_id, server.dsi_id) as dsi_id,
    server.session, own.command as client_command, server.command as server_command,
    own.t as client_t, server.t as server_t, own.last_ns as client_ns, server.time_ns as server_ns,
    cast(own.last_ns as bigint) - cast(server.time_ns as bigint) as between_ns
from own full join server on own.port = server.port and own.id = server.id
"""
# A request's name is the last one with its id before it was answered. If its record was lost, that
# would be the name of an older request with the same id: so names are ignored that came before the
# previous request with this id was answered, or before as many requests as a connection can have
# in flight. Then the name is not known.
NAMED = """
create view named as
with bounded as (
    select *, greatest(
        coalesce(lag(timestamp) over (partition by session, dsi_id order by timestamp), 0),
        coalesce(lag(t, {under_way}) over (partition by session order by timestamp), 0)) as since
    from requests),
matched as (
    select r.*, n.timestamp > r.since as own, n.volume as volume, n.dir as dir, n.len as len,
        n.name as name
    from bounded r asof left join names n on r.session = n.session and r.dsi_id = n.dsi_id
        and r.command = n.command and r.timestamp >= n.timestamp),
known as (
    select m.* exclude (since, own, volume, dir, len, name),
        case when own then volume end as volume, case when own then dir end as dir,
        case when own then len end as name_len, case when own then name end as name
    from matched m)
select known.*, {text} as text from known {texts}
"""
UNDER_WAY = 256
NO_TRACE = (
    "single requests and calls are in runs made with --trace (lantest, speedtest, load, probe, "
    "record)"
)
_TEXTS = "left join (select name, any_value(text) as text from texts group by 1) x using (name)"
_SIDES = {
    "requests": {"session", "port", "dsi_id", "t", "command", "time_ns"},
    "client": {"port", "dsi_id", "t", "command", "last_ns"},
}


def options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "afpscope query [OPTIONS] RUN [SQL] | --lake LAKE [SQL]"
    parser.add_argument("run", metavar="RUN", nargs="?",
                        help="a path, `last`, or the start of a run's name")  # fmt: skip
    parser.add_argument("sql", metavar="SQL", nargs="?", help="default: list tables and columns")
    parser.add_argument("--lake", metavar="LAKE", type=Path,
                        help="over all runs that `export --into LAKE` put there")  # fmt: skip
    forms.add(parser, forms.TEXT, forms.JSON, forms.CSV, forms.MARKDOWN, json_lines=True)


def _meant(db: Any, sql: str | None) -> set[str]:
    """Names of the tables in a query; none if it has an error, which running it will report."""
    try:
        return {str(name).lower() for name in db.get_table_names(sql or "")}
    except duckdb.Error:
        return set()


def connect(run: Run, saved: Trace | None, sql: str | None) -> tuple[Any, list[str]]:
    """A connection with the tables that `sql` may use, and the names of all tables."""
    db = duck.connect()
    # DuckDB would write to ./.tmp what does not fit in memory, and let queries read that folder.
    db.execute("set temp_directory = ''")
    made = tables.of_run(run)
    for name, table in made.items():
        tables.put(db, name, table, run.path)
    names = list(made)
    words = _meant(db, sql)
    if "named" in words:
        words.update(("requests", "names", "texts"))
    streams = saved.streams if saved else {}
    join = all(n in streams and need <= set(streams[n].columns) for n, need in _SIDES.items())
    if join and "joined" in words:
        words.update(_SIDES)
    for stream in streams.values():
        name = stream.name if stream.name not in made else f"trace_{stream.name}"
        names.append(name)
        if sql is None:
            duck.create(db, name, records.columns(stream))
        elif name in words:
            blocks = show.progress("query", f"records of {stream.name}", stream.blocks(), stream.n)
            records.put_stream(db, name, stream, blocks)
    if join and (sql is None or "joined" in words):
        db.execute(JOINED)
        names.append("joined")
    if {"requests", "names"} <= set(streams) and (sql is None or "named" in words):
        with_texts = "texts" in streams
        text, more = ("x.text", _TEXTS) if with_texts else ("null::text", "")
        db.execute(NAMED.format(text=text, texts=more, under_way=UNDER_WAY))
        names.append("named")
    for setting in ("enable_external_access = false", "lock_configuration = true"):
        db.execute(f"set {setting}")
    return db, names


def _plain(value: Any) -> Any:
    """As JSON: lists and structs keep their form, NaN and infinity are null, the rest is text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _rows(cursor: Any) -> Iterator[Sequence[Any]]:
    while rows := cursor.fetchmany(4096):
        yield from rows


def _print(cursor: Any, args: argparse.Namespace) -> None:
    names = [column[0] for column in cursor.description or ()]
    if args.format == forms.JSON:
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise wrong_use(f"two columns are called {twice!r}: rename one of them with AS")
        while rows := cursor.fetchmany(4096):
            for row in rows:
                print(json.dumps(dict(zip(names, map(_plain, row), strict=True))))
        return
    if args.format == forms.CSV:
        forms.print_csv(names, _rows(cursor))
        return
    rows = cursor.fetchmany(ROWS_MAX + 1)
    shown = [["n/a" if v is None else _text(v) for v in row] for row in rows[:ROWS_MAX]]
    print((markdown if args.format == forms.MARKDOWN else show).table(names, shown, 0))
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


def _answer(db: Any, names: list[str], args: argparse.Namespace, hint: str) -> None:
    """Prints what the query of args.sql finds, or without one the tables."""
    try:
        if args.sql is None:
            _catalogue(db, names)
            return
        if len(duckdb.extract_statements(args.sql)) > 1:
            raise wrong_use("the SQL has several statements: give one")
        answer = duck.answer(db, args.sql, "query: no answer yet")
        if answer is None:
            raise wrong_use("there is no statement in the SQL (without SQL the tables are listed)")
        _print(answer, args)
    except duckdb.Error as e:
        if process.interrupted():
            raise KeyboardInterrupt from None
        first = str(e).strip().splitlines()[0]
        raise wrong_use(f"{first}; tables here: {', '.join(names)}{hint}") from None
    except UnicodeError as e:
        raise Failure(f"the answer has invalid text: {e}") from None


def _of_lake(args: argparse.Namespace) -> int:
    """Whether its runs can be trusted says their column `trusted`."""
    if args.sql is not None:
        raise wrong_use("with --lake there is no RUN: give only the SQL")
    args.sql = args.run
    with lake.connected(args.lake) as (db, names):
        _answer(db, names, args, "")
    return OK


def run(args: argparse.Namespace) -> int:
    """Prints the answer; 4 if the one run is in doubt."""
    if args.lake:
        return _of_lake(args)
    if args.run is None:
        raise wrong_use("give a RUN, or --lake LAKE")
    path = find(args.run)
    steps.refuse(path, "query")
    it = Run.open(path)
    saved = of_run(it)
    try:
        db, names = connect(it, saved, args.sql)
    except duckdb.Error as e:
        raise Failure(str(e).strip().splitlines()[0]) from None
    _answer(db, names, args, "" if saved else f"; {NO_TRACE}")
    if args.sql is None and not saved:
        show.notice(f"query: this run has no trace; {NO_TRACE}")
    return show.doubts("query", (*it.doubts, *(saved.notices if saved else ())))
