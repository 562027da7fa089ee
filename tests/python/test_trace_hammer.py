# SPDX-License-Identifier: GPL-2.0-or-later
"""Random damage to traces, for as long as is asked: the reader refuses, or tells, or is right.

AFPSCOPE_HAMMER=600 $(tests/need.sh --python) -B -m pytest -q -s tests/python/test_trace_hammer.py

takes ten minutes (default: 3 s). The seed is printed; AFPSCOPE_HAMMER_SEED repeats it.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
import tracegen
from afpscope import Failure, Trace

SECONDS = float(os.environ.get("AFPSCOPE_HAMMER", "3"))
KNOWN = (838761883,)  # the only sound header is that of a torn packet
PACKET = 2048
# One damaged trace must not take longer; the largest is some 100 kB.
SLOW = 5.0
EDGES = (0, 1, 7, 80, 2048 * 8, 2048 * 8 + 1, 2**31, 2**32, 2**48, 2**63, 2**64 - 1)
TEXT = (
    '"bytes": 8 "length": 64 "offset": { } u8 u16 u64 s32 char , : [ 0 ] 4096 18446744073709551615'
    ' -1 "calls" "names": "id": 3 "type": packet_size content_size crc32 null true NaN \\ud800'
)
WORDS = TEXT.split()


def resum(data: bytearray, first: int) -> None:
    """Makes the checksum of the packet that begins at `first` right."""
    at = int((tracegen.head_dtype(True).fields or {})["crc32"][1]) + first
    if first + PACKET <= len(data):
        data[at : at + 4] = bytes(4)
        data[at : at + 4] = zlib.crc32(data[first : first + PACKET]).to_bytes(4, "little")


def hurt_head(rng: random.Random, data: bytearray) -> None:
    """A field of a packet's head is another; the checksum is right."""
    fields = tracegen.head_dtype(True).fields or {}
    first = rng.randrange(0, len(data), PACKET)
    dtype, offset = fields[rng.choice(list(fields))][:2]
    value = rng.choice((*EDGES, rng.getrandbits(64), rng.randrange(PACKET * 16)))
    raw = value.to_bytes(8, "little").ljust(dtype.itemsize, b"\xff")[: dtype.itemsize]
    data[first + offset : first + offset + dtype.itemsize] = raw
    resum(data, first)


def hurt_record(rng: random.Random, data: bytearray) -> None:
    first = rng.randrange(0, len(data), PACKET)
    for _ in range(rng.choice((1, 3, 50))):
        data[first + rng.randrange(80, min(PACKET, len(data) - first))] = rng.randrange(256)
    resum(data, first)


def hurt_bytes(rng: random.Random, data: bytearray) -> None:
    at, n = rng.randrange(len(data)), rng.randrange(1, 3000)
    kind = rng.randrange(5)
    if kind == 0:
        del data[at:]
    elif kind == 1:
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 2:
        data[at : at + n] = rng.randbytes(rng.randrange(3000))
    elif kind == 3:
        data[at : at + n] = bytes(len(data[at : at + n]))
    else:
        data[at:at] = data[rng.randrange(len(data)) :][:n]


def hurt_text(rng: random.Random, data: bytearray) -> None:
    """Words of the layout change places or are others; the checksum is right."""
    text = data[: data.rindex(b'"crc32": "')].decode(errors="replace")
    for _ in range(rng.choice((1, 1, 2, 8))):
        found = rng.choice(list(re.finditer(r"\w+|\S|^", text)))
        other = rng.choice((*WORDS, str(rng.choice(EDGES)), found[0] * 2, ""))
        text = text[: found.start()] + other + text[found.end() :]
    raw = text.encode()
    data[:] = raw + b'"crc32": "%08x"}\n' % zlib.crc32(raw)


def files(folder: Path) -> list[Path]:
    """All but the metadata, which the reader does not use. The layout has its place in the order,
    which once was that of names, so that KNOWN mean what they meant."""
    return sorted(
        (path for path in folder.iterdir() if path.name != "metadata"),
        key=lambda path: "metadata" if path.name == tracegen.LAYOUT else path.name,
    )


def hurt(rng: random.Random, folder: Path) -> bool:
    """Damages one or two files. True: where checksums are right no more, and records thus kept."""
    file = rng.choice(files(folder))
    data = bytearray(file.read_bytes())
    honest = True
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        ways = [hurt_bytes]
        if file.name == tracegen.LAYOUT:
            ways, honest = [hurt_text], False
        elif len(data) >= PACKET and len(data) % PACKET == 0:
            ways = [hurt_bytes, hurt_head, hurt_record]
        way = rng.choice(ways)
        if len(data) > 100:
            way(rng, data)
        honest = honest and way is hurt_bytes
    file.write_bytes(data)
    if rng.randrange(8) == 0:
        other = rng.choice(files(folder))
        honest = honest and tracegen.LAYOUT not in (file.name, other.name)
        swap = other.read_bytes()
        other.write_bytes(file.read_bytes())
        file.write_bytes(swap)
    return honest


def look(trace: Trace) -> None:
    """Everything the reader gives out can be had, and is as much as it says."""
    assert len(trace.notices) < 100
    assert all(0 < len(n) < 1000 and "\n" not in n for n in trace.notices), trace.notices
    for stream in trace.streams.values():
        assert sum(len(b) for b in stream.blocks(100)) == stream.n
        for name in stream.columns:
            assert len(stream.column(name)) == stream.n
            assert isinstance(stream.labels(name), dict)
        assert stream.discarded >= 0 and stream.lost_packets >= 0


@pytest.mark.slow
def test_hammer(tmp_path: Path) -> None:
    seed = int(os.environ.get("AFPSCOPE_HAMMER_SEED", time.time_ns() % 2**32))
    whole, folder = tmp_path / "whole", tmp_path / "hurt"
    tracegen.write(whole, 200, size=PACKET)
    sound = {
        name: {row.tobytes() for block in stream.blocks() for row in block}
        for name, stream in Trace.open(whole).streams.items()
    }
    end, n, refused = time.monotonic() + SECONDS, 0, 0
    # Those that once broke it come first.
    while n < len(KNOWN) or time.monotonic() < end:
        one = KNOWN[n] if n < len(KNOWN) else seed + n
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)
        honest, n, begin = hurt(random.Random(one), folder), n + 1, time.monotonic()
        try:
            with np.errstate(all="ignore"):
                trace = Trace.open(folder)
                look(trace)
        except Failure as e:
            refused += 1
            assert str(e)
            continue
        except BaseException as e:
            raise AssertionError(f"AFPSCOPE_HAMMER_SEED={one}: {type(e).__name__}: {e}") from e
        assert time.monotonic() - begin < SLOW, f"AFPSCOPE_HAMMER_SEED={one}: slow"
        for name, stream in trace.streams.items() if honest else ():
            rows = {row.tobytes() for block in stream.blocks() for row in block}
            assert sound[name] >= rows, f"AFPSCOPE_HAMMER_SEED={one}: wrong record in {name}"
            assert len(rows) == stream.n, f"AFPSCOPE_HAMMER_SEED={one}: a record twice in {name}"
    print(f"{n} damaged traces from seed {seed}, {refused} refused")
