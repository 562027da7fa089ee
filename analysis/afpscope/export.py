# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope export RUN --to parquet|csv|perfetto -o DIR, export RUN... --into LAKE."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from . import show
from .errors import FAILED, OK, Failure, wrong_use
from .lake import Lake
from .saved import steps
from .saved.files import Folder
from .saved.run import Run, find_all
from .saved.trace import Trace, of_run
from .tables import tables
from .tables.written import CSV, PARQUET, Writer
from .tracks import perfetto


def options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "afpscope export RUN --to FORMAT -o DIR | RUN... --into LAKE"
    parser.add_argument("runs", metavar="RUN", nargs="+",
                        help="a path, `last`, the start of a run's name, or KEY=VALUE: all runs "
                        "with this label")  # fmt: skip
    parser.add_argument("--to", choices=(PARQUET, CSV, "perfetto"),
                        help="what is written of one run")  # fmt: skip
    parser.add_argument("-o", dest="output", metavar="DIR", type=Path,
                        help="with --to: a folder that is new or empty")  # fmt: skip
    parser.add_argument("--into", metavar="LAKE", type=Path,
                        help="adds the runs to a folder of many runs, or replaces them there, for "
                        "query --lake and history")  # fmt: skip


def _tables(run: Run, trace: Trace | None, folder: Folder, form: str) -> list[Path]:
    made: list[str] = []
    with Writer(run, folder, form) as out:
        for name, of in tables.of_run(run).items():
            out.rows(name, of)
            made.append(name)
        for stream in trace.streams.values() if trace else ():
            out.records(stream.name, stream)
            made.append(stream.name)
    return [folder.path / f"{name}.{form}" for name in made]


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
    except BaseException:
        folder.forget()
        raise
    for path in made:
        print(path)
    return show.doubts("export", (*it.doubts, *(trace.notices if trace else ())))


def _into(args: argparse.Namespace) -> int:
    """A run that cannot be read is reported and left out; the others are added."""
    paths = [path for name in args.runs for path in find_all(name)]
    failed = 0
    with closing(Lake(args.into)) as lake:
        for path in show.progress("export", "runs", paths):
            try:
                it, trace = _open(path)
                print(lake.put(it, trace))
            except Failure as e:
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
