# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope export RUN --to parquet|csv|perfetto -o DIR."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from . import perfetto, show
from .errors import Failure, wrong_use
from .saved import steps
from .saved.files import Folder
from .saved.run import Run, find
from .saved.trace import Trace, of_run
from .tables import tables


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a path, `last`, or the start of a run's name")
    parser.add_argument("--to", choices=("parquet", "csv", "perfetto"), required=True,
                        help="what is written")  # fmt: skip
    parser.add_argument("-o", dest="output", metavar="DIR", required=True, type=Path,
                        help="a new folder for the files")  # fmt: skip


def _plain(batch: Any) -> Any:
    """Texts instead of dictionaries, which CSV does not have, without control characters."""
    columns = [
        c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in batch.columns
    ]
    columns = [
        pc.replace_substring_regex(c, show.UNSEEN_RE2, "\N{REPLACEMENT CHARACTER}")
        if pa.types.is_string(c.type)
        else c
        for c in columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _parquet(file: BinaryIO, schema: Any, batches: Iterable[Any], run: Run) -> None:
    note = {"afpscope.run": run.id, "afpscope.set": run.set, "afpscope.started": run.started}
    schema = schema.with_metadata(note)
    with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as out:
        for batch in batches:
            out.write_batch(batch.replace_schema_metadata(note))


def _csv(file: BinaryIO, schema: Any, batches: Iterable[Any]) -> None:
    empty = _plain(pa.RecordBatch.from_pylist([], schema))
    with pyarrow.csv.CSVWriter(file, empty.schema) as out:
        for batch in batches:
            out.write_batch(_plain(batch))


def _tables(run: Run, trace: Trace | None, folder: Folder, form: str) -> list[Path]:
    made: list[Path] = []
    sources = [(name, t.schema, t.to_batches()) for name, t in tables.of_run(run).items()]
    for s in trace.streams.values() if trace else ():
        sources.append((s.name, tables.schema(s), tables.batches(s)))
    for name, schema, batches in sources:
        with folder.written(f"{name}.{form}") as file:
            if form == "parquet":
                _parquet(file, schema, batches, run)
            else:
                _csv(file, schema, batches)
        made.append(folder.path / f"{name}.{form}")
    return made


def run(args: argparse.Namespace) -> int:
    """Writes into a folder that is new or empty, and prints the files; 4 if the run is in doubt."""
    path = find(args.run)
    steps.refuse(path, "export")
    it = Run.open(path)
    trace = of_run(it)
    folder = Folder(args.output)
    if not folder.is_empty():
        raise wrong_use(f"{folder.path} is not an empty folder: name a new one with -o")
    try:
        if args.to == "perfetto":
            with folder.written("perfetto.json") as file:
                perfetto.write(it, trace, file)
            made = [folder.path / "perfetto.json"]
        else:
            made = _tables(it, trace, folder, args.to)
    except BaseException as e:
        folder.forget()
        if isinstance(e, pa.ArrowException):
            raise Failure(f"cannot write into {folder.path}: {e}") from None
        raise
    for path in made:
        print(path)
    return show.doubts("export", (*it.doubts, *(trace.notices if trace else ())))
