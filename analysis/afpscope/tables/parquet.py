# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables as Parquet files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, BinaryIO

import pyarrow.parquet

from ..saved.run import Run


def write(file: BinaryIO, schema: Any, batches: Iterable[Any], run: Run) -> None:
    """Compressed; the run's id, set and start are in the file's metadata."""
    note = {"afpscope.run": run.id, "afpscope.set": run.set, "afpscope.started": run.started}
    schema = schema.with_metadata(note)
    with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as out:
        for batch in batches:
            out.write_batch(batch.replace_schema_metadata(note))
