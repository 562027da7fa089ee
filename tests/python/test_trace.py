# SPDX-License-Identifier: GPL-2.0-or-later
"""The reader of traces: every record of a whole one, and of a damaged one none unannounced."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
import sys
import zlib
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tracegen
from afpscope import Failure, Trace
from afpscope.saved.layout import layouts
from afpscope.saved.trace import PIECE, Stream
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonwalk import places
from tracegen import LAYOUT


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    tracegen.write(folder, 200, size=2048)
    return folder


def copy(whole: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(whole, to)
    return to


@pytest.mark.parametrize("crc", [True, False])
@pytest.mark.parametrize("n", [0, 1, 300])
def test_every_field_of_every_record_comes_back(tmp_path: Path, crc: bool, n: int) -> None:
    made = tracegen.write(tmp_path / "trace", n, crc)
    trace = Trace.open(tmp_path / "trace")
    assert trace.notices == ()
    assert set(trace.streams) == set(made)
    for name, rows in made.items():
        stream = trace.streams[name]
        assert (stream.n, stream.discarded, stream.checked) == (n, 0, crc)
        assert set(stream.columns) == set(rows.dtype.names or ())
        for column in stream.columns:
            assert np.array_equal(stream.column(column), rows[column])


def test_blocks_hold_the_same_records(whole: Path) -> None:
    stream = Trace.open(whole).streams["calls"]
    assert np.array_equal(np.concatenate(list(stream.blocks(7)))["t"], stream.column("t"))


@pytest.mark.skipif(not shutil.which("babeltrace2"), reason="no babeltrace2")
def test_babeltrace2_reads_as_many(whole: Path) -> None:
    """So that what the generator writes is CTF."""
    done = subprocess.run(["babeltrace2", whole], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 200 * len(tracegen.STREAMS)


@pytest.mark.parametrize("cut", [1, 100, 2047])
def test_a_torn_last_packet_is_left_out_and_said(whole: Path, tmp_path: Path, cut: int) -> None:
    folder = copy(whole, tmp_path / "torn")
    file = folder / "calls"
    file.write_bytes(file.read_bytes()[:-cut])
    trace = Trace.open(folder)
    assert [n for n in trace.notices if n.startswith("calls: the last packet is torn")]
    before = Trace.open(whole).streams["calls"]
    assert trace.streams["calls"].n == before.n - int(before.counts[-1])


def test_a_missing_packet_is_said(whole: Path, tmp_path: Path) -> None:
    folder = copy(whole, tmp_path / "gap")
    data = (folder / "calls").read_bytes()
    (folder / "calls").write_bytes(data[:2048] + data[4096:])
    trace = Trace.open(folder)
    assert "calls: 1 packets are missing" in trace.notices
    assert trace.streams["calls"].lost_packets == 1


def test_discarded_records_are_said(whole: Path, tmp_path: Path) -> None:
    folder = copy(whole, tmp_path / "lost")
    rows = tracegen.records("calls", 200)
    (folder / "calls").write_bytes(tracegen.packets("calls", rows, 2048, discarded=12))
    trace = Trace.open(folder)
    assert trace.streams["calls"].discarded == 12
    assert trace.notices == ("calls: 12 records were discarded by the recorder",)


def test_a_packet_that_is_there_twice_is_left_out(whole: Path, tmp_path: Path) -> None:
    folder = copy(whole, tmp_path / "twice")
    data = (folder / "calls").read_bytes()
    (folder / "calls").write_bytes(data[:4096] + data[2048:])
    trace = Trace.open(folder)
    assert trace.streams["calls"].n == Trace.open(whole).streams["calls"].n
    assert trace.notices[0].startswith("calls: packet 2 is left out: it is a duplicate")


def test_exchanged_files_are_left_out(whole: Path, tmp_path: Path) -> None:
    folder = copy(whole, tmp_path / "exchanged")
    (folder / "calls").write_bytes((whole / "requests").read_bytes())
    trace = Trace.open(folder)
    assert "calls" not in trace.streams
    assert "calls: left out: its packets are of requests" in trace.notices[0]


def test_every_byte_of_the_layout_counts(whole: Path, tmp_path: Path) -> None:
    folder = copy(whole, tmp_path / "changed")
    data = bytearray((whole / LAYOUT).read_bytes())
    for at in (*range(0, len(data) - 30, 7), *range(len(data) - 30, len(data))):
        data[at] ^= 1
        (folder / LAYOUT).write_bytes(data)
        data[at] ^= 1
        with pytest.raises(Failure, match="checksum is wrong"):
            Trace.open(folder)
    for end in range(0, len(data), 101):
        (folder / LAYOUT).write_bytes(data[:end])
        with pytest.raises(Failure, match="checksum is wrong"):
            Trace.open(folder)


def test_a_trace_without_its_layout_is_refused_with_what_reads_it(
    whole: Path, tmp_path: Path
) -> None:
    folder = copy(whole, tmp_path / "old")
    (folder / LAYOUT).unlink()
    with pytest.raises(Failure, match=r"of an older afpscope.* babeltrace2"):
        Trace.open(folder)
    (folder / "metadata").unlink()
    with pytest.raises(Failure, match="there is no trace in"):
        Trace.open(folder)


HEADER_FIELDS = {"magic": 0, "uuid": 4, "stream_id": 20, "content_size": 40, "packet_size": 48}


@pytest.mark.parametrize("crc", [True, False])
@pytest.mark.parametrize("field", HEADER_FIELDS)
def test_damage_in_the_first_header_hides_nothing_behind_it(
    tmp_path: Path, field: str, crc: bool
) -> None:
    """Each bit of each field: the packets behind it are read, and what is not is a number."""
    tracegen.write(tmp_path / "trace", 200, crc, size=2048)
    file = tmp_path / "trace" / "calls"
    data, before = file.read_bytes(), Trace.open(tmp_path / "trace").streams["calls"]
    for bit in range(0, 32, 5):
        damaged = bytearray(data)
        damaged[HEADER_FIELDS[field] + bit // 8] ^= 1 << bit % 8
        file.write_bytes(damaged)
        trace = Trace.open(tmp_path / "trace")
        stream = trace.streams["calls"]
        assert stream.n == before.n - int(before.counts[0]), f"bit {bit}"
        said = [text for text in trace.notices if text.startswith("calls: left out as damaged: ")]
        assert said == [
            f"calls: left out as damaged: 1 of {len(before.packets)} packets, 2,048 bytes"
        ]


@pytest.mark.parametrize("what", ["fifo", "endless", "folder"])
@pytest.mark.parametrize("name", ["calls", LAYOUT])
def test_what_is_no_file_is_not_waited_for(
    whole: Path, tmp_path: Path, name: str, what: str
) -> None:
    folder = copy(whole, tmp_path / "odd")
    file = folder / name
    file.unlink()
    if what == "fifo":
        os.mkfifo(file)
    elif what == "endless":
        file.symlink_to("/dev/zero")
    else:
        file.mkdir()
    if name == LAYOUT:
        with pytest.raises(Failure, match="not a regular file"):
            Trace.open(folder)
    else:
        assert Trace.open(folder).notices == ("calls: left out: it is not a regular file",)


SPARSE = 8 << 30
# A process of its own, which a signal may end: prints notices, and what it took of memory.
LOOK = """
import resource, sys
from pathlib import Path
from afpscope import Failure, Trace
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
def said():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = said()
try:
    trace = Trace.open(Path(sys.argv[1]))
    print(*trace.notices, sep="\\n")
    if len(sys.argv) > 2:
        Path(sys.argv[1], "calls").open("r+b").truncate(int(sys.argv[2]))
    print("records", sum(len(b) for s in trace.streams.values() for b in s.blocks()))
except Failure as e:
    print("failure:", e)
print("MB", (said() - before) // 1024)
"""


def look(folder: Path, *args: object) -> tuple[str, int]:
    """What opening a trace and reading all its records prints, and the memory that took."""
    line = [sys.executable, "-c", LOOK, str(folder), *map(str, args)]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(line, capture_output=True, text=True, timeout=100, env=env, check=False)
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr}"
    text, _, megabytes = done.stdout.rpartition("MB ")
    return text, int(megabytes)


# Place: a trace with a sparse stream of 8 GB | its packets are read, the hole is said
@pytest.mark.parametrize("kept", [0, 4096, 1 << 20])
def test_a_sparse_stream_of_8_gb_is_left_out_or_its_packets_are_read(
    tmp_path: Path, kept: int
) -> None:
    """In bounded memory: a hole, one behind a packet, and one behind some."""
    tracegen.write(tmp_path / "trace", 40_000 if kept > 4096 else 200)
    file = tmp_path / "trace" / "calls"
    before = Trace.open(tmp_path / "trace").streams["calls"]
    with file.open("r+b") as out:
        out.truncate(kept)
        out.truncate(SPARSE)
    text, megabytes = look(tmp_path / "trace")
    assert megabytes < 200
    if not kept:
        assert "calls: left out: no packet in it is of a stream of this trace" in text
        return
    good = kept // 4096
    bad = SPARSE // 4096 - good
    assert f"calls: left out as damaged: {bad:,} of {SPARSE // 4096:,} packets" in text
    n = int(text.rpartition("records ")[2])
    rest = sum(s.n for s in Trace.open(tmp_path / "trace").streams.values() if s.name != "calls")
    assert n - rest == int(before.counts[:good].sum())


def test_a_packet_longer_than_what_is_read_at_once(tmp_path: Path) -> None:
    made = tracegen.write(tmp_path / "trace", 60_000, size=(PIECE * 3) // 4096 * 4096 + 4096)
    trace = Trace.open(tmp_path / "trace")
    assert trace.notices == ()
    for name, rows in made.items():
        stream = trace.streams[name]
        assert np.array_equal(stream.column("timestamp"), rows["timestamp"])
        assert np.array_equal(np.concatenate(list(stream.blocks(999))), np.concatenate([rows]))


def test_magic_numbers_across_what_is_read_at_once_are_found(tmp_path: Path) -> None:
    """The first packet is damaged; the second begins where a piece ends, or some bytes later."""
    for size in (PIECE - 2, PIECE - 1, PIECE, PIECE + 1):
        tracegen.write(tmp_path / "trace", 60_000, crc=False, size=size)
        file = tmp_path / "trace" / "calls"
        data = bytearray(file.read_bytes())
        data[0] ^= 1
        file.write_bytes(data)
        trace = Trace.open(tmp_path / "trace")
        assert "calls: packet 0 is left out: it has no magic number: damaged" in trace.notices
        shutil.rmtree(tmp_path / "trace")


# Place: a trace that is shortened while it is read | refused (exit code 1)
@pytest.mark.parametrize("left", [0, 100_000])
def test_a_stream_that_is_shortened_while_it_is_read_is_a_failure(
    tmp_path: Path, left: int
) -> None:
    """Of a mapped file the next read would be SIGBUS."""
    tracegen.write(tmp_path / "trace", 30_000)
    text, _ = look(tmp_path / "trace", left)
    assert f"failure: {tmp_path}/trace/calls became shorter while it was read" in text


def _damage(rng: random.Random, folder: Path) -> str:
    """Damages one file; its name."""
    file = rng.choice([p for p in sorted(folder.iterdir()) if p.name != "metadata"])
    data = bytearray(file.read_bytes())
    kind = rng.randrange(4)
    if kind == 0:
        del data[rng.randrange(len(data)) :]
    elif kind == 1:
        for _ in range(rng.choice((1, 1, 8, 64))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == 2:
        at = rng.randrange(len(data))
        data[at : at + rng.randrange(1, 3000)] = rng.randbytes(rng.randrange(1, 3000))
    else:
        at = rng.randrange(min(120, len(data)))
        data[at : at + 8] = rng.choice((b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 7))
    file.write_bytes(data)
    return file.name


def _records(stream: Stream) -> list[bytes]:
    """The bytes of each."""
    size = stream.layout.dtype.itemsize
    return [r for b in stream.blocks() for r in b.view(f"V{size}").tolist()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "seeds", [range(300), pytest.param(range(300, 1000), marks=pytest.mark.judges)], ids=str
)
def test_a_damaged_trace_is_refused_or_says_so(whole: Path, tmp_path: Path, seeds: range) -> None:
    """Each is refused with a message, or opens; then every record is one that was written,
    or there is a notice."""
    made = Trace.open(whole)
    sound = {name: set(_records(stream)) for name, stream in made.streams.items()}
    opened = 0
    folder, damaged = copy(whole, tmp_path / "damaged"), LAYOUT
    for seed in seeds:
        (folder / damaged).write_bytes((whole / damaged).read_bytes())
        damaged = _damage(random.Random(seed), folder)
        same = (folder / LAYOUT).read_bytes() == (whole / LAYOUT).read_bytes()
        try:
            trace = Trace.open(folder)
        except Failure as e:
            assert str(e)
            continue
        opened += 1
        assert same, f"seed {seed}: the layout was damaged, and nothing says so"
        for name, rows in sound.items():
            found = trace.streams.get(name)
            records = _records(found) if found else []
            assert rows.issuperset(records), f"seed {seed}: a wrong record in {name}"
            if len(records) != len(rows):
                told = [n for n in trace.notices if n.startswith(name)]
                missing = (folder / name).stat().st_size % 2048 == 0 and not told
                assert told or missing, f"seed {seed}: {name} is short and nothing says so"
    assert opened > len(seeds) / 2


ODD = (
    None, True, 0, 1, -1, 7, 80, 4096, 4097, 65536, 65537, 1 << 31, 1 << 63, 1 << 64, 10**5000, 0.5,
    1e999, "", "u8", "u64", "s32", "char", "t", "crc32", "command_t", "a\nb", "\ud800", "\0",
    "x" * 999, [], {}, [[]], {"0": "a"}, {"-1": "a"}, {"99999999": "a"}, {"0": 1}, {"0": "\x1b[2J"},
)  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(st.data())
def test_any_layout_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """With a right checksum: values that are odd, gone, or those of another place."""
    folder, document = tmp_path_factory.mktemp("any"), tracegen.document()
    for _ in range(data.draw(st.integers(1, 3))):
        there = [*places(document)]
        where, key, _ = data.draw(st.sampled_from(there))
        other, from_, _ = data.draw(st.sampled_from(there))
        way = data.draw(st.integers(0, 3))
        if way == 0:
            del where[key]
        elif way == 1:
            where[key] = deepcopy(other[from_])
        else:
            where[key] = deepcopy(data.draw(st.sampled_from(ODD)))
    with contextlib.suppress(ValueError):  # Python writes no integers as long as 10**5000
        (folder / LAYOUT).write_bytes(tracegen.summed(document))
        try:
            found = layouts(folder)
        except Failure as e:
            assert str(e) and "\n" not in str(e) and len(str(e)) < 1000
            return
        for one in found.streams.values():
            assert 0 < one.start <= 1 << 16 and 0 < one.dtype.itemsize <= 1 << 16
            assert {"packet_size", "content_size"} <= set(one.head.names or ())


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=6000), st.booleans())
def test_any_bytes_are_refused_or_read(tmp_path_factory: pytest.TempPathFactory, raw: bytes,
                                       headed: bool) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("raw")
    tracegen.describe(folder, crc=False)
    start = tracegen.packets("calls", tracegen.records("calls", 2), 1024, False)
    (folder / "calls").write_bytes(start[: 100 if headed else 0] + raw)
    try:
        trace = Trace.open(folder)
    except Failure:
        return
    for stream in trace.streams.values():
        assert sum(len(b) for b in stream.blocks()) == stream.n


def edited(**changes: Any) -> dict[str, Any]:
    """The document, with these members of its third stream."""
    document = tracegen.document()
    document["streams"][2] |= changes
    return document


def field(**changes: Any) -> dict[str, Any]:
    return edited(fields=[{"name": "t", "type": "u64", "offset": 0} | changes])


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (edited(bytes=0), "bytes is 0, not one from 1"),
        (edited(bytes=65537), "bytes is 65537"),
        (edited(bytes=16), r"offset is 16, not one from 16 to 12"),
        (edited(bytes=40.5), "is float, not an integer"),
        (edited(bytes=True), "is bool, not an integer"),
        (edited(id=0), "stream 0 occurs twice"),
        (edited(id=1 << 32), "id is 4294967296"),
        (edited(name="../x"), "'../x', not a name"),
        (edited(fields=[]), "has 0 items"),
        (edited(fields=[{}] * 1025), "has 1025 items"),
        (field(offset=-1), "offset is -1"),
        (field(offset=1 << 70), "an integer of 64 bits"),
        (field(type="u7"), "type 'u7': not supported"),
        (field(type="char"), "a character, not a text"),
        (field(type="u8", length=4097), "length is 4097"),
        (field(type="u32"), "t is of another type"),
        (field(name="x", names="nothing"), "'nothing', which has no names"),
        (field(name="x", type="s64", names="role_t"), "no unsigned number"),
        (edited(fields=field()["streams"][2]["fields"] * 2), "offset is 0, not one from 8"),
        (tracegen.document() | {"format": 2}, "format 2, this program reads 1"),
        (tracegen.document() | {"uuid": "x"}, "not a uuid"),
        (tracegen.document() | {"streams": []}, "has 0 items"),
        (tracegen.document() | {"names": {"role_t": {"x": "a"}}}, "'x' is not a number"),
        (tracegen.document() | {"names": {"role_t": {"1": "\x1b[2J"}}}, "control characters"),
    ],
)
def test_a_layout_is_refused_with_the_place(
    tmp_path: Path, document: dict[str, Any], says: str
) -> None:
    (tmp_path / LAYOUT).write_bytes(tracegen.summed(document))
    with pytest.raises(Failure, match=says):
        layouts(tmp_path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"[" * 100_000, "is not JSON"),
        (b'{"format": NaN,', "NaN is not a number"),
        (b'{"format": 1' + b"0" * 5000 + b",", "is not JSON"),
        (b"\xff\xfe{,", "is not JSON"),
        (b"{", "has no format"),
        (b" " * (1 << 22), "longer than 4194304 bytes"),
    ],
)
def test_what_is_no_layout_is_refused(tmp_path: Path, text: bytes, says: str) -> None:
    end = b'"crc32": "%08x"}\n' % zlib.crc32(text)
    (tmp_path / LAYOUT).write_bytes(text + end)
    with pytest.raises(Failure, match=says):
        layouts(tmp_path)


def test_layouts_may_have_gaps(tmp_path: Path) -> None:
    """As C's structs have them."""
    fields = [
        {"name": "t", "type": "u64", "offset": 0},
        {"name": "a", "type": "u8", "offset": 8},
        {"name": "b", "type": "s64", "offset": 16},
        {"name": "c", "type": "u8", "offset": 24},
    ]
    (tmp_path / LAYOUT).write_bytes(tracegen.summed(edited(bytes=32, fields=fields)))
    found = layouts(tmp_path).streams[2]
    assert [(found.dtype.fields or {})[n][1] for n in ("t", "a", "b", "c")] == [0, 8, 16, 24]
    assert found.dtype.itemsize == 32
