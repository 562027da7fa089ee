# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages of Protocol Buffers, many of one shape at once.

A message is a list of parts, one behind the other: bytes, which all messages of the list share, or
an array of bytes with a row for each message. All rows of a number are as long as its largest
value needs: the shorter ones get leading zeros, which every reader takes, so that a message has the
same length in each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Part = bytes | Array
_VARINT, _FIXED64, _BYTES = 0, 1, 2


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def _tag(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _varints(values: Array, width: int = 0) -> Array:
    """Each in `width` bytes; 0: as many as the largest needs. Negative ones are of 64 bits."""
    left = values.astype(np.int64).view(np.uint64) if values.dtype.kind == "i" else values
    left = left.astype(np.uint64)
    width = width or max(1, -(-int(left.max(initial=0)).bit_length() // 7))
    out = np.empty((len(left), width), np.uint8)
    for i in range(width):
        out[:, i] = (left & np.uint64(0x7F)) | np.uint64(0x80 if i < width - 1 else 0)
        left >>= np.uint64(7)
    return out


def number(field: int, value: int | Array) -> list[Part]:
    """An integer or an enum."""
    return [_tag(field, _VARINT), _varint(value) if isinstance(value, int) else _varints(value)]


def fixed_or(field: int, values: Array, wanted: Array, other: int, instead: Array) -> list[Part]:
    """A number of 64 fixed bits where it is `wanted`; else, in as many bytes, `instead` in the
    integer `other`, which the message must have with the same value, as the last one counts."""
    tag, rest = _tag(field, _FIXED64), _tag(other, _VARINT)
    width = len(tag) + 8
    out = np.empty((len(values), width), np.uint8)
    out[:, : len(tag)] = np.frombuffer(tag, np.uint8)
    out[:, len(tag) :] = values.astype("<u8").view(np.uint8).reshape(-1, 8)
    unwanted = ~wanted
    out[unwanted, : len(rest)] = np.frombuffer(rest, np.uint8)
    out[unwanted, len(rest) :] = _varints(instead[unwanted], width - len(rest))
    return [out]


def text(field: int, value: str) -> list[Part]:
    return message(field, [value.encode("utf-8", "replace")])


def message(field: int, parts: Sequence[Part]) -> list[Part]:
    """One within another; also bytes, as parts."""
    size = sum(len(p) if isinstance(p, bytes) else p.shape[1] for p in parts)
    return [_tag(field, _BYTES) + _varint(size), *parts]


def joined_rows(parts: Sequence[Part], n: int = 1) -> bytes:
    """The `n` messages, one behind the other."""
    widths = [len(p) if isinstance(p, bytes) else p.shape[1] for p in parts]
    out = np.empty((n, sum(widths)), np.uint8)
    at = 0
    for part, width in zip(parts, widths, strict=True):
        out[:, at : at + width] = np.frombuffer(part, np.uint8) if isinstance(part, bytes) else part
        at += width
    return out.tobytes()
