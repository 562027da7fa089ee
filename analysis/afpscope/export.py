# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope export RUN --to parquet|csv|perfetto -o DIR, export RUN... --into LAKE."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from . import perfetto, show
from .errors import FAILED, OK, Failure, wrong_use
from .lake import Lake
from .saved import steps
from .saved.files import Folder
from .saved.run import Run, find_all
from .saved.trace import Trace, of_run
from .tables import parquet, tables


def options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "afpscope export RUN --to FORMAT -o DIR | RUN... --into LAKE"
    parser.add_argument("runs", metavar="RUN", nargs="+",
                        help="a path, `last`, the start of a run's name, or KEY=VALUE: all runs "
                        "with this label")  # fmt: skip
    parser.add_argument("--to", choices=("parquet", "csv", "perfetto"),
                        help="what is written of one run")  # fmt: skip
    parser.add_argument("-o", dest="output", metavar="DIR", type=Path,
                        help="with --to: a folder that is new or empty")  # fmt: skip
    parser.add_argument("--into", metavar="LAKE", type=Path,
                        help="adds the runs to a folder of many runs, or replaces them there, for "
                        "query --lake and history")  # fmt: skip


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


def _csv(file: BinaryIO, schema: Any, batches: Iterable[Any]) -> None:
    empty = _plain(pa.RecordBatch.from_pylist([], schema))
    with pyarrow.csv.CSVWriter(file, empty.schema) as out:
        for batch in batches:
            out.write_batch(_plain(batch))


def _tables(run: Run, trace: Trace | None, folder: Folder, form: str) -> list[Path]:
    made: list[Path] = []
    sources = [(name, t.schema, t.to_batches()) for name, t in tables.of_run(run).items()]
    for s in trace.streams.values() if trace else ():
        batches = show.progress("export", f"records of {s.name}", tables.batches(s), s.n)
        sources.append((s.name, tables.schema(s), batches))
    for name, schema, batches in sources:
        with folder.written(f"{name}.{form}") as file:
            if form == "parquet":
                parquet.write(file, schema, batches, run)
            else:
                _csv(file, schema, batches)
        made.append(folder.path / f"{name}.{form}")
    return made


def _open(path: Path) -> tuple[Run, Trace | None]:
    steps.refuse(path, "export")
    run = Run.open(path)
    return run, of_run(run)


def _one(args: argparse.Namespace) -> int:
    paths = [path for name in args.runs for path in find_all(name)]
    if len(paths) != 1:
        raise wrong_use(f"{len(paths)} runs cannot go to one folder: give one, or --into LAKE")
    it, trace = _open(paths[0])
    folder = Folder(args.output)
    if not folder.is_empty():
        raise wrong_use(f"{folder.path} is not an empty folder: name a new one with -o")
    try:
        if args.to == "perfetto":
            with folder.written(perfetto.FILE) as file:
                perfetto.write(it, trace, file)
            made = [folder.path / perfetto.FILE]
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


def _into(args: argparse.Namespace) -> int:
    """A run that cannot be read is reported and left out; the others are added."""
    paths = [path for name in args.runs for path in find_all(name)]
    lake, failed = Lake(args.into), 0
    for path in show.progress("export", "runs", paths):
        try:
            it, trace = _open(path)
            print(lake.put(it, trace))
        except (Failure, pa.ArrowException) as e:
            show.notice(f"export: {path}: left out: {e}")
            failed += 1
            continue
        show.doubts("export", (f"{it.name}: {doubt}" for doubt in it.doubts))
    return FAILED if failed else OK


def run(args: argparse.Namespace) -> int:
    """Prints the files, or the runs' folders. 4 if the one run is in doubt; in a lake, a run's
    row in `runs` says whether it is."""
    if args.into:
        if args.to or args.output:
            raise wrong_use("--into makes Parquet files in a lake: leave --to and -o away")
        return _into(args)
    if not args.to or not args.output:
        raise wrong_use("give --to FORMAT and -o DIR, or --into LAKE")
    return _one(args)
