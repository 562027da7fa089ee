# SPDX-License-Identifier: GPL-2.0-or-later
"""gfapi_perf_tool by its own name and environment: the same files and output, without the defects.

Tests user/compat/gfapi_perf.c, user/drive/gun.c. Each test of the second part is a defect of the
original that needs no GlusterFS to show.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from scope import BUILD, FAILED, OK, Done, Running, Scope, wait_until

KIB, MIB = 1 << 10, 1 << 20
RECORD = 64 * KIB

# How the companion script of the original takes the figures of a process from its output.
COMPANION = (
    "/elapsed time/{t=$4}/throughput/{mbs=$3}/file rate/{fps=$4}/IOPS/{iops=$3}"
    "END{print t, mbs,fps,iops}"
)
RATES = ("throughput", "file rate", "IOPS", "MB/sec", "files/sec")


@dataclass
class Block:
    """What is printed of a thread, or of all."""

    text: str

    def __getitem__(self, field: str) -> float:
        found = re.search(rf"(?:^|  ){re.escape(field)} += +([\d.]+)", self.text, re.M)
        assert found, f"no {field!r} in:\n{self.text}"
        return float(found[1])


class Output:
    """Its head, a block for each thread, and what stands below."""

    def __init__(self, text: str) -> None:
        parts = re.split(r"^(?=thread +\d+: |aggregate: |latencies:)", text, flags=re.M)
        self.head, self.below = parts[0], parts[-1]
        self.threads = [Block(p) for p in parts if p.startswith("thread")]
        self.all = Block(next(p for p in parts if p.startswith("aggregate")))

    def started_at(self) -> float:
        found = re.search(r"^started at (\d+\.\d{6}) ", self.below, re.M)
        assert found, self.below
        return float(found[1])


@dataclass
class Tool:
    scope: Scope
    program: Path
    base: Path

    def env(self, **variables: object) -> dict[str, str]:
        """By the names without GFAPI_."""
        least = {"VOLNAME": "vol", "HOSTNAME": "host", "FUSE": 1, "BASEDIR": self.base}
        return {f"GFAPI_{name}": str(value) for name, value in {**least, **variables}.items()}

    def start(self, *args: str, **variables: object) -> Running:
        return self.scope.start([str(self.program), *args], env=self.env(**variables))

    def __call__(self, **variables: object) -> Done:
        return self.start(**variables).finish()

    def good(self, **variables: object) -> Output:
        return Output(self(**variables).expect(OK).out)

    def failed(self, *texts: str, **variables: object) -> Output:
        """A message has the texts, and no figure looks as if nothing had happened."""
        done = self(**variables).expect(FAILED, *texts)
        assert not [rate for rate in RATES if rate in done.out], done
        return Output(done.out)

    def file(self, number: int, thread: int = 0, directory: int = 0, prefix: str = "f") -> Path:
        return self.base / f"thrd{thread:03}-d{directory:04}" / f"{prefix}.{number:07}"

    def files(self) -> list[str]:
        found = (p for p in self.base.rglob("*") if p.is_file())
        return sorted(str(p.relative_to(self.base)) for p in found)


@pytest.fixture
def tool(scope: Scope, tmp_path: Path) -> Tool:
    link, base = tmp_path / "gfapi_perf_tool", tmp_path / "base"
    link.symlink_to(scope.binary)
    base.mkdir()
    return Tool(scope, link, base)


@pytest.fixture
def disk() -> Iterator[Path]:
    """A directory on a file system that can do O_DIRECT."""
    path = BUILD / "tests" / "gfapi"
    path.mkdir(parents=True, exist_ok=True)
    yield path
    shutil.rmtree(path)


# ---- what it has in common with the original ----


def test_it_is_built_under_both_names() -> None:
    for name in ("gfapi_perf_tool", "gfapi_perf"):
        assert (BUILD / name).resolve() == (BUILD / "afpscope").resolve()


@pytest.mark.parametrize("threads", [1, 3])
def test_the_readme_example_adds_up(tool: Tool, threads: int) -> None:
    """Each 1 MiB is 16 records of 64 KiB; a rate is its count by the time that is printed."""
    files = 40
    tool.good(FILES=files, THREADS_PER_PROC=threads)
    asked = {"FILES": files, "THREADS_PER_PROC": threads, "LOAD": "rnd-rd"}
    done = tool(**asked, USEC_DELAY_PER_FILE=20000).expect(OK)
    out = Output(done.out)
    assert out.head.startswith(
        "GLUSTER: \n  volume=vol\n  transport=tcp\n  host=host\n  port=24007\n  fuse?Yes\n"
        "  trace level=0\n  start timeout=60\nWORKLOAD:\n  type = rnd-rd \n"
        f"  threads/proc = {threads}\n  base directory = {tool.base}\n  prefix=f\n"
        f"  file size = 1024 KB\n  file count = {files}\n  record size = 64 KB\n  files/dir=1000\n"
        "  fsync-at-close? No \n"
    )
    assert out.head.endswith("  random read/write requests = 16\n")
    assert len(out.threads) == threads
    for block, n in [*((b, 1) for b in out.threads), (out.all, threads)]:
        assert block["files read"] == block["files done"] == n * files
        assert block["I/O (record) transfers"] == n * files * 16
        assert block["total bytes"] == n * files * MIB
        seconds = block["elapsed time"]
        assert seconds >= (files - 1) * 0.02  # the pause after each file is in it
        for rate, count in (("throughput", 1), ("file rate", 1), ("IOPS", 16)):
            assert block[rate] == pytest.approx(n * files * count / seconds, rel=0.006 / seconds)
        assert "(random read)" in block.text
    told = subprocess.run(
        ["awk", COMPANION], input=done.out, capture_output=True, text=True, check=True
    ).stdout
    assert [float(word) for word in told.split()] == [
        out.all[field] for field in ("elapsed time", "throughput", "file rate", "IOPS")
    ]


def test_files_are_where_the_original_has_them_and_stay(tool: Tool) -> None:
    tool.good(FILES=5, FILES_PER_DIR=2, THREADS_PER_PROC=2, FSZ="4k", PREFIX="pre-of-16-chars.")
    assert tool.files() == [
        f"thrd{thread:03}-d{n // 2:04}/pre-of-16-chars..{n:07}"
        for thread in (0, 1)
        for n in range(5)
    ]
    tool.failed("10 of 10 files failed", "File exists", FILES=5, FILES_PER_DIR=2,
                THREADS_PER_PROC=2, FSZ="4k", PREFIX="pre-of-16-chars.")  # fmt: skip


def test_what_is_appended_begins_at_the_end_that_is_found(tool: Tool) -> None:
    tool.good(FILES=3, FSZ="4k")
    with tool.file(1).open("ab") as f:
        f.write(b"x" * 100)
    tool.good(FILES=3, FSZ="4k", APPEND=1)
    assert [tool.file(n).stat().st_size for n in range(3)] == [8192, 8292, 8192]
    assert tool.file(1).read_bytes()[4096:4196] == b"x" * 100
    tool.good(FILES=3, FSZ="4k", OVERWRITE=1)
    assert [tool.file(n).stat().st_size for n in range(3)] == [8192, 8292, 8192]


def test_what_was_done_by_all_together_is_no_more_than_all(tool: Tool) -> None:
    """Until the first thread was done; nothing of one thread alone."""
    said = r"^until the first thread was done: (\d+) files, (\d+) bytes in ([\d.]+) sec "
    out = tool.good(FILES=50, THREADS_PER_PROC=2, FSZ="4k")
    found = re.search(said, out.below, re.M)
    assert found
    files, size, seconds = int(found[1]), int(found[2]), float(found[3])
    assert 50 <= files <= 100 and size == files * 4 * KIB
    assert seconds <= out.all["elapsed time"] + 0.01
    alone = tool.good(FILES=50, FSZ="4k", LOAD="seq-rd").below
    assert "until the first" not in alone and ", the threads within" not in alone


def test_any_argument_prints_the_variables(tool: Tool) -> None:
    done = tool.start("-h").finish()
    assert done.status == FAILED
    assert done.out.startswith(f"usage: {tool.program}\n")
    assert "GFAPI_THREADS_PER_PROC (1) - " in done.out and "GFAPI_RDPCT (0) - " in done.out


def test_a_directory_that_is_not_there_is_named_and_nothing_is_made(tool: Tool) -> None:
    tool(BASEDIR=tool.base / "none").expect(FAILED, "GFAPI_BASEDIR=", "No such file")
    tool(LOAD="seq-rd").expect(FAILED, "thrd000-d0000", "No such file")
    assert not list(tool.base.iterdir())


def test_what_was_in_the_page_cache_before_it_was_read_is_said(tool: Tool, disk: Path) -> None:
    tool.base = disk
    sized = {"FILES": 5, "FSZ": "8k", "THREADS_PER_PROC": 2}
    tool.good(**sized, FSYNC_AT_CLOSE=1)

    def cached() -> str:
        said = r"^in this machine's page cache before: (\d+)% of (\d+) bytes "
        found = re.search(said, tool.good(**sized, LOAD="rnd-rd").below, re.M)
        assert found and int(found[2]) == 2 * 5 * 8 * KIB
        return found[1]

    assert cached() == "100"
    for path in disk.rglob("f.*"):
        with path.open("rb") as f:
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    assert cached() == "0"
    assert "page cache" not in tool.good(**sized, LOAD="seq-rd", DIRECT=1).below


# ---- its defects ----


def test_a_full_disk_is_no_speed(tool: Tool, small_disk: Path) -> None:
    tool.base = small_disk
    out = tool.failed("of 3 files failed", "No space left", FILES=3, FSZ="4M", FORCE=1)
    assert out.all["files failed"] == 3
    assert out.all["total bytes"] == sum(p.stat().st_size for p in small_disk.rglob("f.*"))
    assert 0 < out.all["total bytes"] <= 2 * MIB


@pytest.mark.parametrize("call", ["pwrite64", "fsync", "close", "pread64", "unlinkat"])
def test_the_result_of_each_call_is_seen(tool: Tool, call: str) -> None:
    """The call on one file of five fails; the other files are done."""
    load = {"pread64": "seq-rd", "unlinkat": "unlink"}.get(call, "seq-wr")
    if load != "seq-wr":
        tool.good(FILES=5, FSZ="8k")
    which = ":when=3" if call == "unlinkat" else ""
    path = [] if which else ["-P", str(tool.file(2))]
    strace = ["strace", "-f", "-qq", "-o", "/dev/null", *path]
    env = tool.env(FILES=5, FSZ="8k", RECSZ=4, LOAD=load, FSYNC_AT_CLOSE=1)
    done = tool.scope.execute(
        [*strace, "-e", f"inject={call}:error=EIO{which}", str(tool.program)],
        env=env | {"ASAN_OPTIONS": "detect_leaks=0"},  # not under strace
    ).expect(FAILED, "1 of 5 files failed", "f.0000002", "Input/output error")
    out = Output(done.out)
    assert out.all["files failed"] == 1
    assert out.all["files done"] == 4
    assert not [rate for rate in RATES if rate in done.out], done


@pytest.mark.parametrize("load", ["seq", "rnd"])
def test_direct_io_is_aligned(tool: Tool, disk: Path, load: str) -> None:
    """Also that of a last record that is no multiple of a block."""
    tool.base = disk
    sized = {"FILES": 4, "FSZ": "101k", "DIRECT": 1}
    tool.good(**sized)
    assert {tool.file(n).stat().st_size for n in range(4)} == {101 * KIB}
    for kind in ("rd", "wr"):
        out = tool.good(**sized, LOAD=f"{load}-{kind}", OVERWRITE=int(kind == "wr"))
        assert out.all["total bytes"] == 4 * 101 * KIB
        assert "O_DIRECT" in out.head


def test_direct_io_that_is_not_possible_is_refused(tool: Tool, small_disk: Path) -> None:
    tool(BASEDIR=small_disk, DIRECT=1).expect(FAILED, "GFAPI_DIRECT", str(small_disk))
    assert not list(small_disk.iterdir())


def test_the_last_record_is_written_and_read(tool: Tool) -> None:
    sized = {"FILES": 12, "FSZ": "100k"}
    for load in ("seq-wr", "seq-rd", "rnd-wr", "rnd-rd"):
        out = tool.good(**sized, LOAD=load)
        assert out.all["I/O (record) transfers"] == 24
        assert out.all["total bytes"] == 12 * 100 * KIB
        assert {tool.file(n).stat().st_size for n in range(12)} == {100 * KIB}


@pytest.mark.parametrize("percent", ["0", "100", "50"])
def test_so_many_files_are_read_as_was_asked_for(tool: Tool, percent: str) -> None:
    files = 400
    tool.good(FILES=files, FSZ="4k")
    out = tool.good(FILES=files, FSZ="4k", LOAD="seq-rdwrmix", RDPCT=percent)
    grown = sum(tool.file(n).stat().st_size == 8192 for n in range(files))
    assert out.all["fraction of reads"] == pytest.approx(100 * (files - grown) / files)
    assert out.all["files done"] == files
    assert grown == {"0": files, "100": 0}.get(percent, grown)
    assert percent != "50" or files / 4 < grown < files * 3 / 4  # ten deviations


def test_the_same_seed_gives_the_same_files(tool: Tool) -> None:
    def appended(seed: int) -> list[int]:
        tool.good(FILES=100, FSZ="4k", LOAD="unlink")
        tool.good(FILES=100, FSZ="4k")
        tool.good(FILES=100, FSZ="4k", LOAD="seq-rdwrmix", RDPCT=50, SEED=seed)
        return [tool.file(n).stat().st_size for n in range(100)]

    assert appended(1) == appended(1) != appended(2)


@pytest.mark.parametrize("size", ["0", "4x", "-4"])
def test_a_record_of_no_size_is_refused(tool: Tool, size: str) -> None:
    done = tool(RECSZ=size).expect(FAILED, f"GFAPI_RECSZ={size}")
    assert not done.out and not list(tool.base.iterdir())


def test_what_was_unlinked_is_counted_and_has_a_rate(tool: Tool) -> None:
    tool.good(FILES=30, FSZ="4k")
    tool.file(7).unlink()
    out = tool.good(FILES=31, LOAD="unlink")
    assert out.all["files deleted"] == out.all["files done"] == 29
    assert out.all["files missing"] == 2
    assert out.all["file rate"] > 0
    assert not tool.files()
    tool.good(LOAD="unlink", BASEDIR=tool.base / "none")  # as scripts do before they make it


def test_bytes_are_those_that_were_read(tool: Tool) -> None:
    tool.good(FILES=12, FSZ="100k")
    with tool.file(3).open("r+b") as f:
        f.truncate(RECORD + 100)
    out = tool.failed("1 of 12 files failed", "f.0000003 ends at byte 65636", FILES=12, FSZ="100k",
                      LOAD="seq-rd")  # fmt: skip
    assert out.all["files read"] == 11
    assert out.all["total bytes"] == 11 * 100 * KIB + RECORD + 100


def test_each_operation_has_its_latencies(tool: Tool) -> None:
    """By name, with how many there were; none is longer than its maximum."""
    unit = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
    out = tool.good(FILES=20, FSZ="128k", THREADS_PER_PROC=2, FSYNC_AT_CLOSE=1)
    rows = re.findall(r"^  (\w+) +([\d,]+)" + r" +([\d.]+)([mµn]?s)" * 3, out.below, re.M)
    assert {name: int(n.replace(",", "")) for name, n, *_ in rows} == {
        "openat": 40, "pwrite": 80, "fsync": 40, "close": 40, "file": 40,
    }  # fmt: skip
    for _, _, *values in rows:
        p50, p99, most = (
            float(v) * unit[u] for v, u in zip(values[::2], values[1::2], strict=True)
        )
        assert 0 < p50 <= p99 <= most * 1.01


# ---- the starting gun ----

# The protocol as the original follows it, which is its documentation.
PEER = """
import os, socket, sys, time
gun = sys.argv[1]
host = socket.gethostname().split(".")[0]
ready = os.path.join(os.path.dirname(gun), f"{host}.{os.getpid()}.0.ready")
os.close(os.open(ready, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
while not os.path.exists(gun):
    time.sleep(1)
time.sleep(3)
print(time.time(), flush=True)
"""


def ready_files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.glob("*.ready"))


def test_processes_begin_together_also_with_others(
    tool: Tool, tmp_path: Path, peer: Callable[[Path], subprocess.Popen[str]]
) -> None:
    """Two of ours, one that only follows the protocol, and afpscope smallfile."""
    folder = tmp_path / "guns"
    gun = folder / "gun"
    folder.mkdir()
    (tmp_path / "other").mkdir()
    of = {"THREADS_PER_PROC": 2, "FILES": 10, "FSZ": "4k", "STARTING_GUN": gun}
    ours = [tool.start(**of, BASEDIR=base) for base in (tool.base, tmp_path / "other")]
    small = tool.scope.start(
        [str(tool.scope.binary), "smallfile", "--no-save", "-n", "2", "-f", "10", "--gun",
         str(gun), str(tmp_path)]
    )  # fmt: skip
    other = peer(gun)
    wait_until(lambda: len(ready_files(folder)) == 7, 30, "all ready files")
    pids = [r.process.pid for r in (*ours, small)]
    names = {name.split(".", 1)[1] for name in ready_files(folder)}
    assert names == {f"{p}.{t}.ready" for p in pids for t in (0, 1)} | {f"{other.pid}.0.ready"}
    assert not tool.files(), "began before the gun"
    before = time.time()
    gun.touch()
    starts = [Output(r.finish().expect(OK).out).started_at() for r in ours]
    assert "2 clients began within " in small.finish().expect(OK).err
    starts.append(float(other.communicate(timeout=60)[0]))
    assert min(starts) >= before + 3
    assert max(starts) - min(starts) < 1 + 4, "a look a second apart, and what a busy machine adds"
    assert ready_files(folder) == [f for f in ready_files(folder) if f".{other.pid}." in f]


@pytest.fixture
def peer() -> Iterator[Callable[[Path], subprocess.Popen[str]]]:
    running: list[subprocess.Popen[str]] = []

    def start(gun: Path) -> subprocess.Popen[str]:
        line = [sys.executable, "-c", PEER, str(gun)]
        running.append(subprocess.Popen(line, stdout=subprocess.PIPE, text=True))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()


def test_without_a_gun_it_ends_after_the_timeout(tool: Tool, tmp_path: Path) -> None:
    folder = tmp_path / "guns"
    folder.mkdir()
    gun = folder / "gun"
    done = tool(STARTING_GUN=gun, STARTING_GUN_TIMEOUT=1)
    done.expect(FAILED, "no starting gun", str(gun))
    assert f"awaiting starting gun file {gun}\n" in done.out and "aggregate" not in done.out
    assert not ready_files(folder) and not tool.files()


def test_a_gun_whose_directory_is_not_there_is_named(tool: Tool, tmp_path: Path) -> None:
    tool(STARTING_GUN=tmp_path / "none" / "gun").expect(FAILED, str(tmp_path / "none"))
    tool(STARTING_GUN=f"{tmp_path}/").expect(FAILED, "starting gun", "not the name of a file")
