# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope dump: every record as a line, the longest first, and what is lost is said."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tracegen
from conftest import Done

Execute = Callable[..., Done]
N = 300
SHOWN = {
    "requests": (
        "begin                        session dsi_id command                 result    ca"
        "lls   bytes_in  bytes_out     time   port   fork where the time went\n"
        "1970-01-01T00:00:01.000000Z        7      9 FPDelete                 -5018      "
        "  3         52         16    1.00s  50000      0 disk 900ms, unexplained 100ms, "
        "own code 1.50µs (no such object)\n"
    ),
    "sessions": (
        "begin                        session event    port address              uid    scope \n"
        "1970-01-01T00:00:00.000000Z        7 begin   50000 127.0.0.1           1000        0 \n"
    ),
    "texts": (
        "name             text \n"
        "0000000000000abc a??é\n"
    ),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tracegen.write(tmp_path / "trace", N)
    return tmp_path / "trace"


def put(folder: Path, stream: str, /, **fields: list[object]) -> None:
    """A stream with these records; other fields are 0."""
    rows = np.zeros(len(next(iter(fields.values()))), tracegen.record_dtype(stream))
    for field, values in fields.items():
        rows[field] = values
    (folder / stream).write_bytes(tracegen.packets(stream, rows))


@pytest.mark.parametrize("name", tracegen.STREAMS)
def test_every_record_is_a_line(folder: Path, execute: Execute, name: str) -> None:
    done = execute("dump", folder, "--stream", name)
    assert (done.code, done.err) == (0, "")
    assert len(done.out.splitlines()) == N + 1


def test_all_streams_are_merged_by_time(folder: Path, execute: Execute) -> None:
    lines = execute("dump", folder, "--stream", "all").out.splitlines()
    count = len(tracegen.STREAMS)
    assert [line.split()[0] for line in lines[: 2 * count]] == [*tracegen.STREAMS] * 2
    assert len(lines) == count * (N + 1)


def test_the_columns_of_each_kind(folder: Path, execute: Execute) -> None:
    """Widths, units, results and parts of time in words, names that a terminal would obey."""
    put(folder, "requests", timestamp=[2_000_000_123], t=[1_000_000_123], session=[7], dsi_id=[9],
        command=[8], result=[-5018], calls=[3], bytes_in=[52], bytes_out=[16],
        time_ns=[1_000_000_000], own_ns=[1500], disk_ns=[900_000_000], port=[50000])  # fmt: skip
    put(folder, "sessions", timestamp=[5], t=[5], session=[7], event=[1], family=[2], port=[50000],
        address=[[127, 0, 0, 1] + [0] * 12], uid=[1000])  # fmt: skip
    put(folder, "texts", timestamp=[5], name=[0xABC], text=[b"a\xff\x1b\xc3\xa9"])
    put(folder, "operations", timestamp=[5], t=[5], time_ns=[1500], session=[7], port=[50000],
        dsi_id=[9], command=[8], volume=[2], dir=[2], name=[0xABC], size=[0], name_len=[4],
        depth=[1], name_kind=[1])  # fmt: skip
    for name, want in SHOWN.items():
        assert execute("dump", folder, "--stream", name).out == want


def test_the_longest_come_first_with_their_calls(folder: Path, execute: Execute) -> None:
    put(folder, "requests", timestamp=[100, 200, 300], t=[0, 110, 210], session=[7, 7, 7],
        dsi_id=[1, 2, 3], command=[26, 27, 8], time_ns=[100, 90, 90], fork=[4, 4, 0])  # fmt: skip
    put(folder, "calls", timestamp=[150, 160, 170], t=[140, 155, 165], session=[7, 8, 8],
        dsi_id=[2, 2, 2], command=[27, 27, 27], role=[0, 1, 0], time_ns=[10, 5, 5])  # fmt: skip
    put(folder, "waits", timestamp=[145], t=[141], session=[7], dsi_id=[2], command=[27], ns=[4])
    put(folder, "names", timestamp=[1], session=[7], dsi_id=[1], command=[26], dir=[17], volume=[2],
        len=[4], name=[0xABC])  # fmt: skip
    put(folder, "texts", timestamp=[1], name=[0xABC], text=[b"file"])
    done = execute("dump", folder, "--slow", "2", "--calls")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["calls", "waits"]
    shown = [re.sub(" +", " ", line.strip()) for line in lines[3:]]
    assert shown[1] == shown[3] == "volume 2, directory 17: file"
    assert [line.split()[:2] for line in shown[4:]] == [
        ["calls", "+30ns"], ["waits", "+31ns"], ["calls", "+45ns"]
    ]  # fmt: skip


def test_only_those_asked_for(folder: Path, execute: Execute) -> None:
    rows = tracegen.records("requests", N, 0)
    few = execute("dump", folder, "--command", "fpdelete").out.splitlines()
    assert len(few) == int((rows["command"] == 8).sum()) + 1
    mine = execute("dump", folder, "--session", "2").out.splitlines()
    assert len(mine) == int((rows["session"] == 2).sum()) + 1
    nobody = execute("dump", folder, "--session", "99")
    assert nobody.code == 0 and "no record matches" in nobody.err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--calls",), "--calls needs --slow"),
        (("--count", "--slow", "1"), "--count counts all records"),
        (("--stream", "sessions", "--command", "FPRead"), "sessions have no AFP command"),
        (("--stream", "client", "--session", "1"), "do not contain the session"),
        (("--stream", "names", "--slow", "1"), "names have no duration"),
        (("--slow", "1001"), "not a number from 1 to 1000"),
        (("--command", "FPNothing"), "not an AFP command"),
        (("--stream", "nothing"), "invalid choice"),
    ],
)
def test_wrong_use(folder: Path, execute: Execute, args: tuple[str, ...], says: str) -> None:
    done = execute("dump", folder, *args)
    assert (done.code, done.out) == (2, "") and says in done.err


def test_what_is_lost_is_counted_and_said(folder: Path, execute: Execute) -> None:
    data = bytearray((folder / "calls").read_bytes())
    data[4096 + 100] ^= 1
    (folder / "calls").write_bytes(data[:-1])
    (folder / "texts").unlink()
    done = execute("dump", folder, "--count")
    assert done.code == 4 and "packet 1 is left out: its checksum is wrong" in done.err
    rows = {line.split()[0]: line.split()[1:] for line in done.out.splitlines()}
    assert rows["calls"][2:] == ["1", "0", "4095", "0"]
    assert rows["waits"] == [str(N), rows["waits"][1], "0", "0", "0", "0"]
    assert rows["texts"] == ["-"]
    assert execute("dump", folder).code == 0
    assert execute("dump", folder, "--stream", "calls").code == 4
    (folder / "waits").unlink()
    done = execute("dump", folder)
    assert done.code == 4 and "waits: cannot be opened" in done.err


def test_records_as_json_and_csv_are_those_of_the_text(folder: Path, execute: Execute) -> None:
    put(folder, "requests", timestamp=[2_000_000_123], t=[1_000_000_123], session=[7], dsi_id=[9],
        command=[8], result=[-5018], time_ns=[1_000_000_000], port=[50000])  # fmt: skip
    put(folder, "sessions", timestamp=[5], t=[5], session=[7], event=[1], family=[2], port=[50000],
        address=[[127, 0, 0, 1] + [0] * 12], uid=[1000])  # fmt: skip
    text = '=1+1|`x` $y\x1b\n,"é'
    put(folder, "texts", timestamp=[5], name=[0xABC], text=[text.encode()])
    for stream, wanted in (
        ("requests", {"command": "FPDelete", "result": -5018, "time_ns": 1_000_000_000}),
        ("sessions", {"event": "begin", "address": "127.0.0.1", "uid": 1000}),
        ("texts", {"name": 0xABC, "text": text}),
    ):
        (one,) = map(
            json.loads, execute("dump", folder, "--stream", stream, "--json").out.splitlines()
        )
        assert one["stream"] == stream and one.items() >= wanted.items()
        (row,) = csv.DictReader(
            io.StringIO(execute("dump", folder, "--stream", stream, "--csv").out)
        )
        if stream != "texts":
            assert row.items() >= {key: str(value) for key, value in wanted.items()}.items()
    assert row["text"] == "'=1+1|`x` $y\ufffd\ufffd,\"é" and "pad" not in row
    done = execute("dump", folder, "--stream", "all", "--csv")
    assert done.code == 2 and "name it with --stream" in done.err
    counted = execute("dump", folder, "--count", "--json").out.splitlines()
    assert {"stream": "texts", "records": 1}.items() <= json.loads(counted[-2]).items()


def test_the_longest_as_json_have_what_was_made_for_them(folder: Path, execute: Execute) -> None:
    put(folder, "requests", timestamp=[100, 200], t=[0, 110], session=[7, 7], dsi_id=[1, 2],
        command=[26, 27], time_ns=[100, 90])  # fmt: skip
    put(folder, "calls", timestamp=[50, 160], t=[40, 155], session=[7, 7], dsi_id=[1, 2],
        command=[26, 27], time_ns=[10, 5])  # fmt: skip
    put(folder, "names", timestamp=[90], session=[7], dsi_id=[1], command=[26], name=[0xAB])
    put(folder, "texts", timestamp=[5], name=[0xAB], text=[b"a`b"])
    for name in ("waits", "client"):
        put(folder, name, timestamp=[])
    done = execute("dump", folder, "--slow", "1", "--calls", "--json")
    (one,) = map(json.loads, done.out.splitlines())
    assert one["time_ns"] == 100 and one["named"]["text"] == "a`b" and one["named"]["name"] == 0xAB
    assert [(b["stream"], b["time_ns"]) for b in one["below"]] == [("calls", 10)]
    rows = list(csv.DictReader(io.StringIO(execute("dump", folder, "--slow", "2", "--csv").out)))
    assert [row["time_ns"] for row in rows] == ["100", "90"]
