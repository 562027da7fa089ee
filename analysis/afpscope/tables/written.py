# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's tables as files, Parquet or CSV, of one after the other."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Any, Self

import duckdb

from .. import process, show
from ..errors import Failure
from ..saved.files import Folder
from ..saved.run import Run
from ..saved.trace import Stream
from . import duck, records, tables

PARQUET, CSV = "parquet", "csv"
# Of a trace, beside what a block of it and the file need.
_MEMORY = 1 << 30


def database() -> AbstractContextManager[Any]:
    """For a Writer."""
    return duck.spilling(_MEMORY)


class Writer:
    """Writes tables of a run into a folder, each into TABLE.FORM. Failure if it cannot.

    db: a database() without tables, for runs one after the other; None: one is made.
    """

    def __init__(self, run: Run, folder: Folder, form: str = PARQUET, db: Any = None) -> None:
        self._run, self._folder, self._form, self._db = run, folder, form, db
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if self._db is None:
            self._db = self._stack.enter_context(database())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, at: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def _notes(self) -> dict[str, str]:
        run = self._run
        return {"afpscope.run": run.id, "afpscope.set": run.set, "afpscope.started": run.started}

    def _write(self, table: str, columns: duck.Columns) -> None:
        with self._folder.written(f"{table}.{self._form}") as file:
            if self._form == PARQUET:
                duck.to_parquet(self._db, table, file, self._notes)
            else:
                duck.to_csv(self._db, table, columns, file)
        self._db.execute(f"drop table {duck.name(table)}")

    def rows(self, table: str, of: duck.Table) -> None:
        """A table of rows."""
        path = self._run.path
        if self._form == PARQUET:
            with tables.of_path(table, path), self._folder.written(f"{table}.{PARQUET}") as file:
                duck.rows_to_parquet(self._db, of, file, self._notes)
            return
        tables.put(self._db, table, of, path)
        self._write(table, of.columns)

    def records(self, table: str, stream: Stream, offset_ns: int | None = None) -> None:
        """The records of a stream; `offset_ns`: as of records.put_stream."""
        blocks = show.progress("export", f"records of {stream.name}", stream.blocks(), stream.n)
        try:
            records.put_stream(self._db, table, stream, blocks, offset_ns)
        except duckdb.Error as e:  # no memory, or no room for temporary files
            if process.interrupted():
                raise KeyboardInterrupt from None
            why = str(e).strip().splitlines()[0]
            raise Failure(f"{self._run.path}: table {table}: {why}") from None
        self._write(table, records.columns(stream, offset_ns is not None))
