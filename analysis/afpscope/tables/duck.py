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
ROWS_AT_ONCE = 50_000
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


def put(db: Any, table: str, of: Table) -> None:
    """Makes a table of rows. duckdb.Error if a value is not of its column's type."""
    create(db, table, of.columns)
    form = json.dumps([dict(of.columns)])
    sql = f"insert into {name(table)} select unnest(from_json_strict(?, ?), max_depth := 2)"
    for at in range(0, len(of.rows), ROWS_AT_ONCE):
        some = [{key: row.get(key) for key, _ in of.columns} for row in of.rows[at:][:ROWS_AT_ONCE]]
        db.execute(sql, [json.dumps(some), form])


def answer(db: Any, sql: str, waiting: str) -> Any:
    """What a statement gives. DuckDB rarely checks for signals, so this thread waits for one.

    DuckDB forgets an interrupt that comes before the query begins, so it is repeated. `waiting`:
    what is said of one that takes long.
    """
    with ThreadPoolExecutor(1) as pool:
        given = pool.submit(db.execute, sql)
        began = said = time.monotonic()
        while not given.done():
            with contextlib.suppress(KeyboardInterrupt):
                wait([given], INTERRUPT_S if process.interrupted() else show.PROGRESS_S)
            if time.monotonic() - said >= show.PROGRESS_S and not given.done():
                said = time.monotonic()
                show.notice(f"{waiting} after {said - began:.0f} s")
            if process.interrupted():
                db.interrupt()
        if process.interrupted():
            raise KeyboardInterrupt
        return given.result()


def _written(db: Any, select: str, file: BinaryIO, how: str) -> None:
    """To the open file; it is named by its descriptor, as its name may be another file's now."""
    place = f"/dev/fd/{file.fileno()}"
    if Path(place).exists():
        _copied(db, select, place, how)
        return
    with tempfile.NamedTemporaryFile(prefix="afpscope-") as aside:  # without /proc
        _copied(db, select, aside.name, how)
        shutil.copyfileobj(aside, file)


def _copied(db: Any, select: str, place: str, how: str) -> None:
    """Into the file of that name. OSError, as the system has it; Failure for all else."""
    try:
        answer(db, f"copy ({select}) to {quoted(place)} ({how})", "export: still writing")
    except duckdb.Error as e:
        text = str(e).strip()
        if number := re.search(r'"errno":"(\d+)"', text):  # whoever opened the file names it
            raise OSError(int(number[1]), os.strerror(int(number[1]))) from None
        raise Failure(f"the table cannot be written: {text.splitlines()[0]}") from None


def to_parquet(db: Any, table: str, file: BinaryIO, notes: Mapping[str, str]) -> None:
    """Compressed, with these notes in the file's metadata."""
    noted = ", ".join(f"{quoted(key)}: {quoted(text)}" for key, text in notes.items())
    how = f"format parquet, compression zstd, use_tmp_file false, kv_metadata {{{noted}}}"
    _written(db, f"from {name(table)}", file, how)


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
