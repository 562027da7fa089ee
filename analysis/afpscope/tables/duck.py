# SPDX-License-Identifier: GPL-2.0-or-later
"""DuckDB: tables made of rows, queries that can be interrupted, and answers as files."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import numpy as np

from .. import process, show
from ..errors import Failure

Rows = list[dict[str, Any]]
Columns = list[tuple[str, str]]
TEXT, INT, UINT, REAL, FLAG = "VARCHAR", "BIGINT", "UBIGINT", "DOUBLE", "BOOLEAN"
# Holds INT and UINT; no whole numbers of more bits are in Parquet.
BOTH = "DECIMAL(20, 0)"
# UTC, to the microsecond: Spark reads no finer one, and Python needs no table of time zones.
TIME = "TIMESTAMP"
TEXTS, MAP = "VARCHAR[]", "MAP(VARCHAR, VARCHAR)"
# Of a query that needs more than this many bytes DuckDB puts a part on disk.
MEMORY = 4 << 30
FEW = 10_000  # rows that are written in a moment
INTERRUPT_S = 0.05  # how often a running query is interrupted until it ends


@dataclass(frozen=True)
class Table:
    """Rows, and the types of their columns in order. What a row lacks is null."""

    columns: Columns
    rows: Rows


def name(text: str) -> str:
    """As the name of a table or a column in SQL."""
    return '"' + text.replace('"', '""') + '"'


def quoted(text: str) -> str:
    """As a text of SQL."""
    return "'" + text.replace("'", "''") + "'"


def connect() -> Any:
    """A database in memory, which takes no variable of Python for a table."""
    return duckdb.connect(":memory:", config={"python_enable_replacements": "false"})


@contextmanager
def spilling(memory: int = MEMORY) -> Iterator[Any]:
    """A database in memory. What does not fit in these bytes goes to a folder of temporary files,
    which is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="afpscope-") as aside, connect() as db:
        db.execute(f"set memory_limit = '{memory}B'")
        db.execute(f"set temp_directory = {quoted(aside)}")
        yield db


def create(db: Any, table: str, columns: Columns) -> None:
    """Makes an empty table."""
    said = ", ".join(f"{name(key)} {kind}" for key, kind in columns)
    db.execute(f"create table {name(table)} ({said})")


# Of a value that is not of its column's type.
ERROR = (duckdb.Error, TypeError, ValueError, OverflowError)
_GIVEN = "rows given"  # what rows are called while they are put somewhere
_NUMBERS: dict[str, tuple[Any, set[type]]] = {
    INT: (np.int64, {int}),
    UINT: (np.uint64, {int}),
    REAL: (np.float64, {int, float}),
    FLAG: (np.bool_, {bool}),
}


def _column(values: list[Any], kind: str) -> Any:
    """As DuckDB takes it. TypeError or OverflowError if a value is not of that type."""
    if kind not in _NUMBERS:
        out = np.empty(len(values), object)
        if kind not in (TEXT, TIME):
            values = [v if v is None else json.dumps(v) for v in values]
        out[:] = values
        return out
    to, of = _NUMBERS[kind]
    known = [v for v in values if v is not None] if None in values else values
    if not set(map(type, known)) <= of:
        raise TypeError(f"a value is not of type {kind}")
    if known is values:
        return np.array(values, to)
    missing = np.array([v is None for v in values])
    filled = np.zeros(len(values), to)
    filled[~missing] = np.array(known, to)
    return np.ma.masked_array(filled, missing)


def _cell(key: str, kind: str) -> str:
    """Of what _column() makes."""
    if kind in (TEXTS, MAP):
        form = quoted(json.dumps([TEXT] if kind == TEXTS else kind))
        return f"from_json_strict({name(key)}, {form}) as {name(key)}"
    return f"cast({name(key)} as {kind}) as {name(key)}"


@contextmanager
def _given(db: Any, of: Table) -> Iterator[str]:
    """A select of the rows."""
    made = {key: _column([row.get(key) for row in of.rows], kind) for key, kind in of.columns}
    db.register(_GIVEN, made)
    try:
        yield f"select {', '.join(_cell(*c) for c in of.columns)} from {name(_GIVEN)}"
    finally:
        db.unregister(_GIVEN)


def put(db: Any, table: str, of: Table) -> None:
    """Makes a table of rows. An ERROR if a value is not of its column's type."""
    create(db, table, of.columns)
    if of.rows:
        with _given(db, of) as select:
            db.execute(f"insert into {name(table)} {select}")


def answer(db: Any, sql: str, waiting: str) -> Any:
    """What a statement gives that may take long: DuckDB rarely checks for signals, so this thread
    waits for one.

    DuckDB forgets an interrupt that comes before the query begins, so it is repeated. `waiting`:
    what is said of one that takes long.
    """
    with ThreadPoolExecutor(1) as pool:
        # A thread whose start is interrupted is forgotten, and would go on with what it was given.
        pool.submit(int).result()
        done = pool.submit(db.execute, sql)
        began = said = time.monotonic()
        while not done.done():
            with contextlib.suppress(KeyboardInterrupt):
                wait([done], INTERRUPT_S if process.interrupted() else show.PROGRESS_S)
            if time.monotonic() - said >= show.PROGRESS_S and not done.done():
                said = time.monotonic()
                show.notice(f"{waiting} after {said - began:.0f} s")
            if process.interrupted():
                db.interrupt()
        if process.interrupted():
            raise KeyboardInterrupt
        return done.result()


def _written(db: Any, select: str, file: BinaryIO, how: str, short: bool = False) -> None:
    """To the open file; it is named by its descriptor, as its name may be another file's now.
    `short`: it takes no time in which anybody would interrupt it."""
    place = f"/dev/fd/{file.fileno()}"
    if Path(place).exists():
        _copied(db, select, place, how, short)
        return
    with tempfile.NamedTemporaryFile(prefix="afpscope-") as aside:  # without /proc
        _copied(db, select, aside.name, how, short)
        shutil.copyfileobj(aside, file)


def _copied(db: Any, select: str, place: str, how: str, short: bool) -> None:
    """Into the file of that name. OSError, as the system has it; duckdb.DataError of a value;
    Failure for all else."""
    try:
        sql = f"copy ({select}) to {quoted(place)} ({how})"
        if short:
            db.execute(sql)
        else:
            answer(db, sql, "export: still writing")
    except duckdb.Error as e:
        if isinstance(e, duckdb.DataError):
            raise
        text = str(e).strip()
        if number := re.search(r'"errno":"(\d+)"', text):  # whoever opened the file names it
            raise OSError(int(number[1]), os.strerror(int(number[1]))) from None
        raise Failure(f"the table cannot be written: {text.splitlines()[0]}") from None


def _parquet(notes: Mapping[str, str]) -> str:
    """Compressed, with these notes in the file's metadata."""
    noted = ", ".join(f"{quoted(key)}: {quoted(text)}" for key, text in notes.items())
    return f"format parquet, compression zstd, use_tmp_file false, kv_metadata {{{noted}}}"


def to_parquet(db: Any, table: str, file: BinaryIO, notes: Mapping[str, str]) -> None:
    """With these notes."""
    _written(db, f"from {name(table)}", file, _parquet(notes))


def rows_to_parquet(db: Any, of: Table, file: BinaryIO, notes: Mapping[str, str]) -> None:
    """The same of rows, which become no table before. An ERROR as put."""
    with _given(db, of) as select:
        _written(db, select, file, _parquet(notes), len(of.rows) <= FEW)


def to_csv(db: Any, table: str, columns: Sequence[tuple[str, str]], file: BinaryIO) -> None:
    """Texts without control characters."""
    cells = ", ".join(
        f"regexp_replace({name(key)}, {quoted(show.UNSEEN_RE2)}, '\N{REPLACEMENT CHARACTER}', 'g')"
        f" as {name(key)}" if kind == TEXT else name(key)
        for key, kind in columns
    )  # fmt: skip
    _written(
        db, f"select {cells} from {name(table)}", file, "format csv, header, use_tmp_file false"
    )
