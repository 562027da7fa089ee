# SPDX-License-Identifier: GPL-2.0-or-later
"""One SQL query over the Parquet files of many runs, in DuckDB or in Apache Spark.

fleet.py duckdb|spark FOLDER FILE.sql

FOLDER/run=NAME/ is what `afpscope export RUN --to parquet -o FOLDER/run=NAME` wrote. Each table is
a view with its name, over all runs, with the column `run`. Prints CSV.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

Answer = tuple[list[str], list[tuple[Any, ...]]]


def tables(folder: Path, sql: str) -> dict[str, list[str]]:
    """Files of each table whose name occurs in the query, of all runs."""
    words = set(re.findall(r"\w+", sql))
    files: dict[str, list[str]] = {}
    for path in sorted(folder.glob("run=*/*.parquet")):
        if path.stem in words:
            files.setdefault(path.stem, []).append(str(path))
    return files


def duckdb(folder: Path, sql: str) -> Answer:
    import duckdb as engine

    with engine.connect() as db:
        for name, files in tables(folder, sql).items():
            names = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
            db.execute(
                f"create view {name} as from read_parquet([{names}], hive_partitioning = true,"
                " hive_types_autocast = false, union_by_name = true)"
            )
        found = db.execute(sql)
        return [column[0] for column in found.description], found.fetchall()


def spark(folder: Path, sql: str) -> Answer:
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        .getOrCreate()
    )
    try:
        options = {"basePath": str(folder), "mergeSchema": "true"}
        for name, files in tables(folder, sql).items():
            session.read.options(**options).parquet(*files).createOrReplaceTempView(name)
        found = session.sql(sql)
        return found.columns, [tuple(row) for row in found.collect()]
    finally:
        session.stop()


def _number(value: Any) -> Any:
    """Both engines' numbers, which are of different types, in one form."""
    return float(value) if isinstance(value, Decimal) else value


def answer(engine: str, folder: Path, sql: str) -> Answer:
    names, rows = {"duckdb": duckdb, "spark": spark}[engine](folder, sql)
    return names, [tuple(map(_number, row)) for row in rows]


def main(args: list[str]) -> int:
    if len(args) != 3 or args[0] not in ("duckdb", "spark"):
        print(__doc__, file=sys.stderr)
        return 2
    names, rows = answer(args[0], Path(args[1]), Path(args[2]).read_text(encoding="utf-8"))
    lines: Iterable[Iterable[Any]] = [names, *rows]
    csv.writer(sys.stdout, lineterminator="\n").writerows(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
