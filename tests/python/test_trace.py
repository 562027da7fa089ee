# SPDX-License-Identifier: GPL-2.0-or-later
"""The reader of traces: every record of a whole one, and of a damaged one none unannounced."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tracegen
from afpscope import Failure, Trace
from afpscope.saved import tsdl
from afpscope.saved.layout import layout
from afpscope.saved.trace import PIECE, Stream
from hypothesis import given, settings
from hypothesis import strategies as st


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


def test_every_byte_of_the_metadata_counts(whole: Path, tmp_path: Path) -> None:
    folder = copy(whole, tmp_path / "changed")
    data = bytearray((whole / "metadata").read_bytes())
    for at in range(0, len(data) - 21, 7):  # but for the checksum itself
        data[at] ^= 1
        (folder / "metadata").write_bytes(data)
        data[at] ^= 1
        with pytest.raises(Failure, match="checksum is wrong"):
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
@pytest.mark.parametrize("name", ["calls", "metadata"])
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
    if name == "metadata":
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
    file = rng.choice(sorted(folder.iterdir()))
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
def test_a_thousand_damaged_traces(whole: Path, tmp_path: Path) -> None:
    """Each is refused with a message, or opens; then every record is one that was written,
    or there is a notice, or the metadata (which has no checksum) was what was damaged."""
    made = Trace.open(whole)
    sound = {name: set(_records(stream)) for name, stream in made.streams.items()}
    opened = 0
    folder, damaged = copy(whole, tmp_path / "damaged"), "metadata"
    for seed in range(1000):
        (folder / damaged).write_bytes((whole / damaged).read_bytes())
        damaged = _damage(random.Random(seed), folder)
        same = (folder / "metadata").read_bytes() == (whole / "metadata").read_bytes()
        try:
            trace = Trace.open(folder)
        except Failure as e:
            assert str(e)
            continue
        opened += 1
        if not same:
            for stream in trace.streams.values():
                assert sum(len(b) for b in stream.blocks()) == stream.n
            continue
        for name, rows in sound.items():
            found = trace.streams.get(name)
            records = _records(found) if found else []
            assert rows.issuperset(records), f"seed {seed}: a wrong record in {name}"
            if len(records) != len(rows):
                told = [n for n in trace.notices if n.startswith(name)]
                missing = (folder / name).stat().st_size % 2048 == 0 and not told
                assert told or missing, f"seed {seed}: {name} is short and nothing says so"
    assert opened > 500


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_any_metadata_is_read_or_refused(data: st.DataObject) -> None:
    tokens = (
        "struct enum integer trace stream event clock typealias := { } ; = , : [ 16 ] size 8 64 "
        'align u8 id a packet . header fields name "x" 0xffffffffff -1 ... ( ) event.header'
    )
    words = st.sampled_from(tokens.split())
    text = " ".join(data.draw(st.lists(words, max_size=60)))
    base = tracegen.metadata()
    at = data.draw(st.integers(0, len(base)))
    for one in (text, base[:at] + text + base[at:], base[:at]):
        try:
            meta = tsdl.parse(one)
            for number in meta.streams:
                layout(meta, number)
        except Failure as e:
            assert str(e).startswith("metadata")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=6000), st.booleans())
def test_any_bytes_are_refused_or_read(tmp_path_factory: pytest.TempPathFactory, raw: bytes,
                                       headed: bool) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("raw")
    (folder / "metadata").write_text(tracegen.metadata(False))
    start = tracegen.packets("calls", tracegen.records("calls", 2), 1024, False)
    (folder / "calls").write_bytes(start[: 100 if headed else 0] + raw)
    try:
        trace = Trace.open(folder)
    except Failure:
        return
    for stream in trace.streams.values():
        assert sum(len(b) for b in stream.blocks()) == stream.n


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("struct { string s; };", "line 1"),
        ("\n\ntypealias integer { size = 7; } := a;", "7 bits"),
        ("enum e : u8 { A };", "a type of fixed size"),
        ("struct a { " + "struct { " * 40, "deep"),
        ("typealias integer { size = 8; } := b; enum e : b { A = 0 ... 99999999 };", "wide"),
        ("§", "not TSDL"),
    ],
)
def test_metadata_is_refused_with_the_place(text: str, says: str) -> None:
    with pytest.raises(Failure, match=says):
        tsdl.parse(text)


def test_layouts_keep_alignment() -> None:
    """Natural alignment as C has it: the record's stride is a multiple of its widest field."""
    meta = tsdl.parse(
        "typealias integer { size = 64; align = 64; } := u8;"
        "typealias integer { size = 8; align = 8; } := u1;"
        "trace { major = 1; byte_order = be; packet.header := struct { u1 magic; }; };"
        "stream { id = 0; packet.context := struct { u8 packet_size; u8 content_size; };"
        " event.header := struct { u8 t; }; };"
        'event { name = "x"; stream_id = 0; fields := struct { u1 a; u8 b; u1 c; } align(64); };'
    )
    found = layout(meta, 0)
    assert found.start == 24
    assert [(found.dtype.fields or {})[n][1] for n in ("t", "a", "b", "c")] == [0, 8, 16, 24]
    assert (found.dtype.itemsize, found.tail) == (32, 7)
