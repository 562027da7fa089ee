# SPDX-License-Identifier: GPL-2.0-or-later
"""A lake: a folder of Parquet files of many runs, `run=ID/TABLE.parquet`, and queries over all.

Each run is a partition, in the way of Hive: DuckDB and Spark take `run` as a column. A run's folder
is complete or not there: it is made aside, under a name that is no run's, and renamed.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import wrong_use
from .saved.files import Folder
from .saved.run import Run
from .saved.trace import Trace

_PARTITION = re.compile(r"run=[0-9A-Za-z]{1,64}")
# Of a query that needs more than this many bytes DuckDB puts a part on disk.
MEMORY = 4 << 30


def _partitions(lake: Path) -> list[Path]:
    try:
        return sorted(p for p in lake.iterdir() if _PARTITION.fullmatch(p.name))
    except NotADirectoryError:
        raise wrong_use(f"{lake} is not a folder") from None
    except FileNotFoundError:
        raise wrong_use(f"there is no folder {lake}") from None


class Lake:
    """A lake to which runs are added. It is made if it is missing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder = Folder(path)
        if not self._folder.is_empty() and not _partitions(path):
            raise wrong_use(
                f"{path} is not empty and has no runs of a lake: name a new folder with --into"
            )

    def put(self, run: Run, trace: Trace | None) -> Path:
        """Adds a run, or replaces what is there of it. The folder of its files."""
        from .tables import lake  # they need pyarrow
        from .tables.parquet import write

        made = lake.of_run(run, trace)
        name = f"run={run.id}"
        with self._folder.renamed(name) as aside:
            for table, of in made.items():
                with aside.written(f"{table}.parquet") as file:
                    write(file, of.schema, of.to_batches(), run)
            for stream in trace.streams.values() if trace else ():
                assert trace
                named = stream.name if stream.name not in made else f"trace_{stream.name}"
                with aside.written(f"{named}.parquet") as file:
                    write(file, *lake.records_of(stream, trace.offset_ns), run)
        return self.path / name


def _files(lake: Path) -> dict[str, list[str]]:
    """The files of each table, of all runs."""
    out: dict[str, list[str]] = defaultdict(list)
    for partition in _partitions(lake):
        for file in sorted(partition.glob("*.parquet")):
            if re.fullmatch(r"\w+", file.stem):
                out[file.stem].append(str(file))
    if "runs" not in out:
        raise wrong_use(f"{lake} has no runs: afpscope export RUN... --into {lake} puts them there")
    return out


def _quoted(text: str) -> str:
    """As a text of SQL."""
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def connected(lake: Path, memory: int = MEMORY) -> Iterator[tuple[Any, list[str]]]:
    """A connection of DuckDB with a view for each table over all runs, and the names of these.

    A query can read the lake's folder and nothing else. What does not fit in the memory goes to a
    folder of temporary files, which is removed at the end.
    """
    import duckdb

    files = _files(lake)
    with (
        tempfile.TemporaryDirectory(prefix="afpscope-") as aside,
        duckdb.connect(":memory:", config={"python_enable_replacements": "false"}) as db,
    ):
        for name, of in files.items():
            db.execute(
                f'create view "{name}" as from read_parquet([{", ".join(map(_quoted, of))}],'
                " hive_partitioning = true, hive_types_autocast = false, union_by_name = true)"
            )
        for setting in (
            f"memory_limit = '{memory}B'",
            f"temp_directory = {_quoted(aside)}",
            f"allowed_directories = [{_quoted(str(lake))}, {_quoted(str(lake.resolve()))}]",
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            db.execute(f"set {setting}")
        yield db, sorted(files)
