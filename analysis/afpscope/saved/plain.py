# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of a trace's records as plain values: what enums and addresses say, no padding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from .trace import Stream


def fields(stream: Stream) -> list[str]:
    """The fields, without padding."""
    return [name for name in stream.columns if not re.fullmatch(r"pad\d*", name)]


def is_address(stream: Stream, field: str) -> bool:
    """Whether it is an address of the family that another field has."""
    return field == "address" and "family" in stream.columns


def addresses(block: Any) -> Iterator[str | None]:
    """As text; address families of Linux (bpf/records.h). None: a Unix socket's."""
    for family, value in zip(block["family"].tolist(), block["address"], strict=True):
        raw = value.tobytes()
        if family == 2:
            yield str(IPv4Address(raw[:4]))
        else:
            yield str(IPv6Address(raw[:16])) if family == 10 else None


def _values(stream: Stream, field: str, block: Any) -> Any:
    values = block[field]
    if labels := stream.labels(field):
        return [labels.get(v, f"?{v}") for v in values.tolist()]
    if values.dtype.kind == "S":
        return [v.decode("utf-8", "replace") for v in values.tolist()]
    if is_address(stream, field):
        return addresses(block)
    return [v.tobytes().hex() for v in values] if values.ndim > 1 else values.tolist()


def rows(stream: Stream, block: Any) -> Iterator[dict[str, Any]]:
    """Each record of the block; `?VALUE` for an enum's value without a text."""
    names = fields(stream)
    for row in zip(*(_values(stream, name, block) for name in names), strict=True):
        yield dict(zip(names, row, strict=True))
