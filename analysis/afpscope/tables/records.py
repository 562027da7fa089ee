# SPDX-License-Identifier: GPL-2.0-or-later
"""The streams of a trace as tables: one for each, with the stream's fields but padding.

Fields that are enums become texts, and addresses, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..saved.plain import addresses, fields, is_address
from ..saved.trace import Stream
from .duck import TEXT, TIME, Columns, Table, create, name, put

_BLOCK = "block of records"  # the name of what is put into a table at once
_SIGNED = {1: "TINYINT", 2: "SMALLINT", 4: "INTEGER", 8: "BIGINT"}
_FLOATS = {4: "FLOAT", 8: "DOUBLE"}


def _number(dtype: Any) -> str:
    size = dtype.itemsize
    if dtype.kind == "f":
        return _FLOATS[size]
    return _SIGNED[size] if dtype.kind == "i" else f"U{_SIGNED[size]}"


def columns(stream: Stream, wall: bool = False) -> Columns:
    """The columns of a stream's table; `wall`: also the wall clock."""
    out: Columns = []
    for field in fields(stream):
        dtype = stream.layout.dtype[field]
        if stream.labels(field) or dtype.kind == "S" or is_address(stream, field):
            out.append((field, TEXT))
        else:
            out.append((field, "BLOB" if dtype.shape else _number(dtype)))
    return [*out, ("wall", TIME)] if wall and "timestamp" in stream.columns else out


def _objects(values: Iterable[Any], n: int) -> Any:
    out = np.empty(n, object)
    out[:] = list(values)
    return out


def _column(stream: Stream, field: str, block: Any) -> Any:
    values = block[field]
    if values.dtype.kind == "S":
        return _objects((v.decode("utf-8", "replace") for v in values), len(values))
    if is_address(stream, field):
        return _objects(addresses(block), len(values))
    if values.ndim > 1:
        return _objects((v.tobytes() for v in values), len(values))
    return np.ascontiguousarray(values).astype(values.dtype.newbyteorder("="), copy=False)


def _put_labels(db: Any, table: str, stream: Stream, field: str) -> None:
    dtype = stream.layout.dtype[field]
    of = np.iinfo(dtype)
    rows = [
        {"code": code, "text": text}
        for code, text in stream.labels(field).items()
        if of.min <= code <= of.max
    ]
    put(db, table, Table([("code", _number(dtype)), ("text", TEXT)], rows))


def put_stream(
    db: Any, table: str, stream: Stream, blocks: Iterable[Any], offset_ns: int | None = None
) -> None:
    """Makes a table of the records in `blocks`; `?VALUE` for an enum's value without a text.

    `offset_ns`: to the wall clock, which becomes a column.
    """
    create(db, table, columns(stream, offset_ns is not None))
    cells, joins, labels = [], [], []
    for field in fields(stream):
        value = f"r.{name(field)}"
        if stream.labels(field):
            labels.append(f"labels of {table}.{field}")
            _put_labels(db, labels[-1], stream, field)
            is_called = name(labels[-1])
            joins.append(f"left join {is_called} on {is_called}.code = {value}")
            value = f"coalesce({is_called}.text, '?' || {value})"
        cells.append(value)
    if offset_ns is not None and "timestamp" in stream.columns:
        at_us = f"try_cast((r.timestamp::hugeint + {offset_ns}) // 1000 as bigint)"
        cells.append(f"try(make_timestamp({at_us}))")
    sql = f"insert into {name(table)} select {', '.join(cells)} from {name(_BLOCK)} r "
    for block in blocks:
        db.register(_BLOCK, {field: _column(stream, field, block) for field in fields(stream)})
        db.execute(sql + " ".join(joins))
        db.unregister(_BLOCK)
    for label in labels:
        db.execute(f"drop table {name(label)}")
