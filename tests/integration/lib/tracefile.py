# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the files of a trace by the layout that docs/trace.md has, and nothing of ours."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any, NamedTuple

PACKET = 65536
HEAD = struct.Struct("<I16sI6QII")
PARTS = ("own", "calls", "runq", "disk", "cnid", "lock", "log", "net", "other", "stopped")
FIELDS = {
    "requests": (
        "<QQIHHiIQQQ10QHHI",
        "timestamp t session dsi_id command result calls bytes_in bytes_out time_ns "
        + " ".join(f"{part}_ns" for part in PARTS)
        + " port fork pad",
    ),
    "calls": (
        "<QQIIHHBBBBHHiqQ",
        "timestamp t session tid dsi_id command role kind obj pad nr pad2 fd ret time_ns",
    ),
    "waits": ("<QQIIHHBBBBQ", "timestamp t session tid dsi_id command role kind obj why ns"),
    "sessions": ("<QQIBBH16sII", "timestamp t session event family port address uid pad"),
    "client": (
        "<QQHHHHiIQQQQ",
        "timestamp t port dsi_id command pad result pad2 sent_ns first_ns last_ns len",
    ),
    "names": ("<QIHHIHHQ", "timestamp session dsi_id command dir volume len name"),
    "texts": ("<QQ256s", "timestamp name text"),
    "operations": (
        "<QQQIHHHHiIHHQQQQQQQQQQQHHHHHHBBBBBBBBI",
        "timestamp t time_ns session port dsi_id command marks result user volume volume2"
        " dir name parent dir2 name2 parent2 offset length actual size id"
        " fork bitmap bitmap2 flags name_len name2_len"
        " which depth depth2 name_kind name2_kind ext_len ext2_len pad room",
    ),
}
ABOUT = ("metadata", ".layout.json")


class Stream(NamedTuple):
    records: list[Any]
    lost: int
    torn: int


def read(path: Path) -> Stream:
    """One stream; every packet must be whole and right but for a torn one at the end."""
    layout, names = FIELDS[path.name]
    form, kind = struct.Struct(layout), NamedTuple("Record", [(n, Any) for n in names.split()])
    data, found, lost, last = path.read_bytes(), [], 0, 0
    for i in range(len(data) // PACKET):
        packet = bytearray(data[i * PACKET : (i + 1) * PACKET])
        magic, _, _, begin, end, content, size, lost, seq, crc, _ = HEAD.unpack_from(packet)
        packet[72:76] = bytes(4)
        assert (magic, size, seq, crc) == (0xC1FC1FC1, PACKET * 8, i, zlib.crc32(packet))
        assert last <= begin <= end
        last = end
        found += map(kind._make, form.iter_unpack(packet[HEAD.size : content // 8]))
    return Stream(found, lost, len(data) % PACKET)
