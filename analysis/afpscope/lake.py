# SPDX-License-Identifier: GPL-2.0-or-later
"""A lake: a folder of Parquet files of many runs, `run=ID/TABLE.parquet`, and queries over all.

Each run is a partition, in the way of Hive: DuckDB and Spark take `run` as a column. A run's folder
is complete or not there: it is made aside, under a name that is no run's, and renamed.
"""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from .errors import wrong_use
from .saved.files import Folder
from .saved.run import Run
from .saved.trace import Trace

_PARTITION = re.compile(r"run=[0-9A-Za-z]{1,64}")


def _partitions(lake: Path) -> list[Path]:
    try:
        return sorted(p for p in lake.iterdir() if _PARTITION.fullmatch(p.name))
    except NotADirectoryError:
        raise wrong_use(f"{lake} is not a folder") from None
    except FileNotFoundError:
        raise wrong_use(f"there is no folder {lake}") from None


class Lake:
    """A lake to which runs are added. It is made if it is missing. To be closed: making a database
    takes as long as writing a run, so that all runs are written by one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stack, self._db = ExitStack(), None
        self._folder = Folder(path)
        if not self._folder.is_empty() and not _partitions(path):
            raise wrong_use(
                f"{path} is not empty and has no runs of a lake: name a new folder with --into"
            )

    def put(self, run: Run, trace: Trace | None) -> Path:
        """Adds a run, or replaces what is there of it. The folder of its files."""
        from .tables import lake, written  # they need DuckDB

        made = lake.of_run(run, trace)
        name = f"run={run.id}"
        db = self._db or self._stack.enter_context(written.database())
        self._db = None  # after an error it may have tables
        with self._folder.renamed(name) as aside, written.Writer(run, aside, db=db) as out:
            for table, of in made.items():
                out.rows(table, of)
            for stream in trace.streams.values() if trace else ():
                assert trace
                named = stream.name if stream.name not in made else f"trace_{stream.name}"
                out.records(named, stream, trace.offset_ns)
        self._db = db
        return self.path / name

    def close(self) -> None:
        """Its database."""
        self._stack.close()


def _files(lake: Path) -> dict[str, list[str]]:
    """The files of each table, of all runs."""
    out: dict[str, list[str]] = defaultdict(list)
    for partition in _partitions(lake):
        for file in sorted(partition.glob("*.parquet")):
            if re.fullmatch(r"\w+", file.stem):
                out[file.stem].append(str(file))
    if "runs" not in out:
        word = shlex.quote(str(lake))
        raise wrong_use(f"{lake} has no runs: afpscope export RUN... --into {word} puts them there")
    return out


@contextmanager
def connected(lake: Path) -> Iterator[tuple[Any, list[str]]]:
    """A connection of DuckDB with a view for each table over all runs, and the names of these.

    A query can read the lake's folder and nothing else.
    """
    from .tables import duck

    files = _files(lake)
    with duck.spilling() as db:
        for name, of in files.items():
            db.execute(
                f'create view "{name}" as from read_parquet([{", ".join(map(duck.quoted, of))}],'
                " hive_partitioning = true, hive_types_autocast = false, union_by_name = true)"
            )
        for setting in (
            f"allowed_directories = [{duck.quoted(str(lake))}, {duck.quoted(str(lake.resolve()))}]",
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            db.execute(f"set {setting}")
        yield db, sorted(files)
