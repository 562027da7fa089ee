# SPDX-License-Identifier: GPL-2.0-or-later
"""The trace of a real server: what babeltrace2, tshark and the ledgers say of it.

Tests user/attach/tracing.c.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
from afpclient import AfpClient, Busy
from netatalk import Server
from offline import command as package
from scope import (
    FAILED,
    OK,
    UNTRUSTED,
    USAGE,
    Done,
    Run,
    Running,
    Scope,
    io_of,
    kill,
    sweep,
    wait_until,
)
from tracecounts import counted_by_babeltrace, counted_by_dump, counted_by_python
from tracefile import ABOUT, PACKET, PARTS, Stream, read

AFPD = 0
CREATE_FILE, CREATE_DIR, DELETE, OPEN_FORK, READ = 7, 6, 8, 26, 27


def babeltrace_text(folder: Path) -> tuple[str, str]:
    """All records, and what it has to say."""
    done = subprocess.run(
        ["babeltrace2", folder], capture_output=True, text=True, timeout=100, check=True
    )
    return done.stdout, done.stderr


def by_stream(out: str, err: str) -> tuple[Counter[str], str]:
    """Records by stream, and what it has to say."""
    return Counter(re.findall(r"^\[.*?\] \(.*?\) \S+ (\w+):", out, re.M)), (
        err + "".join(line for line in out.splitlines() if not line.startswith("["))
    )


def babeltrace(folder: Path) -> tuple[Counter[str], str]:
    return by_stream(*babeltrace_text(folder))


def counted(run: Run) -> list[int]:
    """Requests, calls, waits, the client's requests: what the run says was written."""
    found = re.search(
        r": (\d+) requests, (\d+) calls, (\d+) waits, (\d+) of", run.saved["rungs"]["trace"]
    )
    assert found
    return [int(n) for n in found.groups()]


class Traced(NamedTuple):
    folder: Path
    run: Run
    streams: dict[str, Stream]


def load(run: Path, done: Done) -> Traced:
    """Of a run's folder."""
    assert done.run
    folder = run / "trace"
    names = [path.name for path in folder.iterdir() if path.name not in ABOUT]
    return Traced(folder, done.run, {name: read(folder / name) for name in names})


def traced(scope: Scope, server: Server, folder: Path, tests: str) -> Traced:
    line = ("--tests", tests, "-n", "1", "--trace", "-o", str(folder))
    done = scope(server, *line, save=True).expect(OK)
    assert done.run
    done.run.assert_trustworthy()
    return load(folder, done)


@pytest.fixture(scope="module")
def lantest(scope: Scope, _dbd: Server, tmp_path_factory: pytest.TempPathFactory) -> Traced:
    return traced(scope, _dbd, tmp_path_factory.mktemp("traced"), "1,5")


@pytest.fixture(scope="module")
def short(scope: Scope, _dbd: Server, tmp_path_factory: pytest.TempPathFactory) -> Traced:
    """Of fewer requests, for what reads it again and again."""
    return traced(scope, _dbd, tmp_path_factory.mktemp("short"), "10")


@pytest.fixture(scope="module")
def shown(lantest: Traced) -> tuple[str, str]:
    return babeltrace_text(lantest.folder)


def test_babeltrace2_reads_it_and_counts_the_same(lantest: Traced, shown: tuple[str, str]) -> None:
    events, said = by_stream(*shown)
    assert said == ""
    ours = {name: len(stream.records) for name, stream in lantest.streams.items()}
    assert events == ours
    assert counted(lantest.run) == [ours[n] for n in ("requests", "calls", "waits", "client")]
    assert all(s.lost == 0 and s.torn == 0 for s in lantest.streams.values())


def test_names_are_words(shown: tuple[str, str]) -> None:
    out, _ = shown
    for text in ('"FPCreateFile"', '"afpd"', '"cnid_dbd"', '"xattr"', '"client socket"', '"begin"'):
        assert text in out


@pytest.mark.parametrize("test", [1, 5])
def test_requests_are_those_of_the_ledger(lantest: Traced, test: int) -> None:
    phase = lantest.run.phase(test)
    begin = phase.saved["start_ns"]
    inside = [
        r for r in lantest.streams["requests"].records if begin <= r.t < begin + phase["elapsed"]
    ]
    by_command = Counter(r.command for r in inside)
    assert by_command == phase.requests()
    ids = {r.dsi_id for r in inside}
    assert len(ids) == len(inside)
    calls = Counter(
        (c.command, c.role == AFPD)
        for c in lantest.streams["calls"].records
        if c.command < 256 and c.dsi_id in ids
    )
    for number, account in phase.accounts().items():
        mine = [r for r in inside if r.command == number]
        assert sum(r.time_ns for r in mine) == account["time_ns"]
        assert sum(r.bytes_in for r in mine) == account["bytes_in"]
        assert sum(r.bytes_out for r in mine) == account["bytes_out"]
        parts = [p for p in account["parts"] if p["class"] != "user"]
        for afpd in (True, False):
            wanted = sum(p["calls"] for p in parts if (p["role"] == "afpd") == afpd)
            assert calls[number, afpd] == wanted, (number, afpd)
        assert sum(r.calls for r in mine) == calls[number, True]


def test_the_parts_of_a_request_are_its_time(lantest: Traced) -> None:
    for r in lantest.streams["requests"].records:
        assert sum(getattr(r, f"{part}_ns") for part in PARTS) == r.time_ns


def test_both_sides_of_each_request_join(lantest: Traced) -> None:
    """By port and id; no clock is compared to find them, but then they must agree."""
    served = {(r.port, r.dsi_id): r for r in lantest.streams["requests"].records}
    asked = {(r.port, r.dsi_id): r for r in lantest.streams["client"].records}
    assert len(served) == len(lantest.streams["requests"].records)
    assert served.keys() == asked.keys()
    for key, r in served.items():
        c = asked[key]
        assert (c.command, c.result) == (r.command, r.result)
        assert c.t <= r.t <= c.t + c.last_ns
        assert c.sent_ns <= c.first_ns <= c.last_ns
    assert {s.port for s in lantest.streams["sessions"].records} == {p for p, _ in served}


def test_names_are_hashes(lantest: Traced) -> None:
    """Each request that names something tells it once, and no word of it is in any file."""
    named = lantest.streams["names"].records
    assert all(n.name and n.dir and n.volume for n in named)
    made = [n for n in named if n.command == CREATE_FILE]
    served = [r.dsi_id for r in lantest.streams["requests"].records if r.command == CREATE_FILE]
    assert [n.dsi_id for n in made] == served
    assert len({(n.dir, n.name) for n in made}) == len(made) > 1000
    deleted = {n.name for n in named if n.command == DELETE}
    assert deleted >= {n.name for n in made}
    assert not [n for n in named if n.command == READ]
    assert "texts" not in lantest.streams
    for path in lantest.folder.iterdir():
        assert b"File." not in path.read_bytes() and b"LanTest-" not in path.read_bytes()


def test_names_in_words(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    done = scope(
        dbd,
        *("--tests", "5", "-n", "1", "--trace=requests", "--names", "-o", str(tmp_path / "run")),
        save=True,
    ).expect(OK)
    traced = load(tmp_path / "run", done)
    texts = traced.streams["texts"].records
    words = {t.name: t.text.rstrip(b"\0").decode() for t in texts}
    assert len(words) == len(texts) == len(set(words.values()))
    made = [n for n in traced.streams["names"].records if n.command == CREATE_FILE]
    files = {words[n.name] for n in made}
    assert len(files) == len(made) > 1000
    assert all(re.fullmatch(r"File\.0k\d+", name) for name in files)
    assert all(n.len == len(words[n.name]) for n in traced.streams["names"].records)
    (base,) = {n.name for n in traced.streams["names"].records if n.command == CREATE_DIR}
    assert words[base].startswith("LanTest-")
    events, said = babeltrace(traced.folder)
    assert said == "" and events["texts"] == len(texts)


def test_the_wire_has_as_many(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    """tshark's count of a whole session, from login to logout, which record sees."""
    folder = tmp_path / "run"
    command = scope.recorder(
        dbd,
        *("--trace=requests", "-o", str(folder)),
        command=scope.command(dbd, "-n", "1", "--tests", "1,10"),
    )
    forks: dict[int, int] = {}
    judged = dbd.judge(command, wire=True, forks=forks)
    folder /= "trace"
    requests = read(folder / "requests").records
    assert Counter(r.command for r in requests if r.command < 256) == judged
    opened = {r.fork for r in requests if r.command == OPEN_FORK}
    about = Counter(r.fork for r in requests if r.fork and r.command != OPEN_FORK)
    assert about == forks and len(about) > 1
    assert opened == set(about)
    events = [(s.event, s.port) for s in read(folder / "sessions").records]
    assert sorted(e for e, _ in events) == [1, 1, 2, 2]  # one asked for the status
    assert {path.name for path in folder.iterdir()} == {
        *(*ABOUT, "requests", "sessions", "client", "names"),
    }
    assert babeltrace(folder)[1] == ""


def test_a_killed_recorder_leaves_a_trace(scope: Scope, guests: Server, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with closing(AfpClient(guests.port)) as client, Busy(client, 0.001):
        running = scope.start(scope.recorder(guests, "--trace", "-o", str(folder)))
        running.wait_recording()
        requests = folder / "trace" / "requests"
        wait_until(lambda: requests.stat().st_size >= PACKET, 60, "a packet of requests")
        running.signal(signal.SIGKILL)
        running.process.wait()
    folder /= "trace"
    streams = {path.name: read(path) for path in folder.iterdir() if path.name not in ABOUT}
    assert all(stream.torn == 0 for stream in streams.values())
    assert len(streams["requests"].records) > 100
    events, said = babeltrace(folder)
    assert said == ""
    assert events["calls"] == len(streams["calls"].records)


KILLS = 20
STARTING = 8  # of them so many while they start, and the others when requests have been written
AT_ONCE = 2  # rounds


def killed_at_some_moment(
    scope: Scope, server: Server, top: Path, i: int, ends: tuple[float, float]
) -> None:
    """Traces in `top`/i, of a run that loads the server, and `top`/i+1, of one that records; ends:
    when each is killed, in seconds from its start, or from the recorder's first requests on."""

    def args(n: int) -> tuple[str, ...]:
        return "--trace", "-o", str(top / str(n))

    both = [
        scope.start(scope.command(server, "-n", "1", "--tests", "1", *args(i))),
        scope.start(scope.recorder(server, *args(i + 1))),
    ]
    requests = top / str(i + 1) / "trace" / "requests"
    if i >= STARTING:
        wait_until(lambda: requests.exists() and requests.stat().st_size >= PACKET, 60, "requests")
    begin = time.monotonic()
    for end, running in sorted(zip(ends, both, strict=True), key=lambda pair: pair[0]):
        time.sleep(max(0, begin + end - time.monotonic()))
        running.signal(signal.SIGKILL)
        running.process.wait()


def test_killed_at_any_moment_a_trace_opens_or_is_refused(
    scope: Scope, guests: Server, tmp_path: Path
) -> None:
    """SIGKILL from start-up to steady state; half of the runs record, half load the server."""
    seed = time.time_ns() % 2**32
    dice = random.Random(seed)
    opened: list[tuple[Path, dict[str, int]]] = []
    refused = empty = torn = 0
    with closing(AfpClient(guests.port)) as client, Busy(client, 0.001):
        lasting = guests.sessions()
        ends = [
            (dice.uniform(0, most), dice.uniform(0, most))
            for most in [0.6 if i < STARTING else 1.0 for i in range(0, KILLS, 2)]
        ]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            rounds = zip(range(0, KILLS, 2), ends, strict=True)
            all_ = [
                pool.submit(killed_at_some_moment, scope, guests, tmp_path, *it) for it in rounds
            ]
        for it in all_:
            it.result()
        kill([pid for pid in guests.sessions() if pid not in lasting])
    sweep(guests)
    folders = [tmp_path / str(i) for i in range(KILLS)]
    for folder, (done, counts) in zip(folders, counted_by_dump(folders), strict=True):
        if done.status in (FAILED, USAGE):
            assert done.messages, done
            # Only one that was killed before its first record; metadata is made last.
            streams = {p for p in (folder / "trace").glob("*") if p.name not in ABOUT}
            assert not any(p.stat().st_size for p in streams), done
            refused += 1
            continue
        torn += done.status == UNTRUSTED
        unknown = [m for m in done.messages if "run.json is missing" in m]
        others = set(done.messages) - set(unknown)
        assert len(unknown) == (not (folder / "run.json").exists()), done
        assert bool(others) == (done.status == UNTRUSTED), done
        assert all("torn" in m or "discarded" in m for m in others), done
        opened.append((folder / "trace", counts))
        empty += not any(counts.values())
    for (folder, counts), (found, notices) in zip(
        opened, counted_by_python([f for f, _ in opened]), strict=True
    ):
        assert (found or {}) == counts, (folder, notices)
        if not notices:
            assert counted_by_babeltrace(folder) == sum(counts.values())
    print(f"{KILLS} kills, seed {seed}: {refused} refused, {len(opened)} opened, of them {empty}")
    print(f"without a record, {torn} torn; {sum(sum(c.values()) for _, c in opened)} records")
    assert any(counts.get("requests") for _, counts in opened), seed


def check_truncated(scope: Scope, folder: Path, run: Run) -> None:
    """The trace is short, says so, and what is there can be read."""
    assert run.complete
    assert run.saved["rungs"]["trace.truncated"] == "No space left on device"
    assert "No space left on device): " in run.warning("trace")
    ((done, counts),) = counted_by_dump([folder])
    done.expect(UNTRUSTED, "the trace ends before the run: No space left on device")
    assert [counts[n] for n in ("requests", "calls", "waits", "client")] == counted(run)
    assert counted_by_babeltrace(folder / "trace") == sum(counts.values())
    assert counted_by_python([folder / "trace"]) == [(counts, [])]


def full_in_mid_trace(scope: Scope, server: Server, disk: Path) -> Running:
    """A run in `disk`/run that goes on when the trace has no room any more."""
    running = scope.start(
        scope.command(server, "--tests", "5", "-n", "1", "--trace", "-o", str(disk / "run"))
    )

    def full() -> bool:
        left = os.statvfs(disk)
        return left.f_bavail * left.f_bsize < PACKET

    wait_until(full, 60, "the disk to be full")

    def calls() -> int:
        return sum(io_of(pid)["syscr"] for pid in server.sessions())

    # A packet must have found no room: a record has more than 16 bytes.
    enough = calls() + PACKET // 16
    wait_until(lambda: calls() > enough, 60, "more records than a packet holds")
    assert running.process.poll() is None, running.err
    return running


def test_a_full_disk_ends_the_trace_and_not_the_run(
    scope: Scope, dbd: Server, small_disk: Path
) -> None:
    """run.json has its room from the beginning."""
    folder = small_disk / "run"
    running = full_in_mid_trace(scope, dbd, small_disk)
    with pytest.raises(OSError, match="No space"), (small_disk / "filler").open("wb", 0) as f:
        while True:
            f.write(bytes(4096))
    done = running.finish().expect(OK)
    assert sorted(p.name for p in folder.iterdir()) == [
        "job.ini",
        "run.json",
        "tables.json",
        "trace",
    ]
    check_truncated(scope, folder, Run.load(folder / "run.json"))
    assert "the trace is truncated" in " ".join(done.out.split())


def test_dump_shows_what_the_trace_holds(scope: Scope, short: Traced) -> None:
    folder = short.folder.parent

    def done(*args: str, of: Path = folder, env: dict[str, str] | None = None) -> Done:
        command = [*package(), "dump", *args, str(of)]
        return scope.execute(command, env=env).expect(OK)

    def dump(*args: str) -> list[str]:
        return done(*args).out.splitlines()

    served = short.streams["requests"].records
    assert len(dump()) == len(served) + 1 > 800
    assert len(dump("--command", "FPDelete")) == sum(r.command == 8 for r in served) + 1
    assert len(dump("--session", str(served[0].session))) == len(served) + 1
    nobody = done("--session", "1")
    assert len(nobody.out.splitlines()) == 1 and "no record matches" in nobody.messages[0]
    for name in short.streams:
        assert len(dump("--stream", name)) == len(short.streams[name].records) + 1
    heads = [line.split()[0] for line in dump("--stream", "all")[: len(short.streams)]]
    assert sorted(heads) == sorted(short.streams)
    slow = dump("--slow", "3", "--calls")
    assert [line.split()[0] for line in slow[1:3]] == ["calls", "waits"]
    assert all("begin" in line for line in slow[:3])
    longest = sorted(served, key=lambda r: -r.time_ns)[:3]
    assert [line.split()[2] for line in slow[1:] if not line.startswith(" ")] == [
        str(r.dsi_id) for r in longest
    ]
    mine = [line for line in slow[3:] if line.startswith("    calls") and " afpd " in line]
    assert len(mine) == sum(r.calls for r in longest)
    runs = {"AFPSCOPE_RUNS": str(folder.parent)}
    first = done("--slow", "1", of=Path(folder.name), env=runs).out.splitlines()[1]
    assert first == slow[3]


def test_dump_names_the_file_of_a_request_on_an_open_one(scope: Scope, lantest: Traced) -> None:
    """By the fork that FPOpenFork returned last."""
    served = lantest.streams["requests"].records
    named = {(n.session, n.dsi_id): n for n in lantest.streams["names"].records}
    line = [*package(), "dump", "--command", "FPRead", "--slow", "20"]
    out = scope.execute([*line, str(lantest.folder)]).expect(OK).out
    shown = re.findall(r"volume \d+, directory (\d+): name ([0-9a-f]{16})", out)
    reads = [r for r in served if r.command == READ]
    longest = sorted(reads, key=lambda r: -r.time_ns)[:20]
    want = []
    for read_ in longest:
        *_, last = (
            r
            for r in served
            if r.command == OPEN_FORK and r.fork == read_.fork and r.timestamp <= read_.t
        )
        name = named[last.session, last.dsi_id]
        want.append((str(name.dir), f"{name.name:016x}"))
    assert shown == want and len(set(want)) > 1


def test_dump_misses_what_the_run_has_written(scope: Scope, short: Traced, tmp_path: Path) -> None:
    """A file cut between two packets looks whole."""
    folder = tmp_path / "cut"
    shutil.copytree(short.folder.parent, folder)
    waits = folder / "trace" / "waits"
    os.truncate(waits, waits.stat().st_size - PACKET)
    written = len(short.streams["waits"].records)
    for args in (["--count"], ["--stream", "waits"], ["--stream", "all"]):
        done = scope.execute([*package(), "dump", *args, str(folder)])
        done.expect(UNTRUSTED, "waits: ", f" records are here, {written} were written")
        assert len(done.messages) == 1
    scope.execute([*package(), "dump", str(folder)]).expect(OK)
    os.truncate(folder / "trace/calls", 0)
    line = [*package(), "dump", "--slow", "2", "--calls"]
    done = scope.execute([*line, str(folder)])
    done.expect(UNTRUSTED, "calls: 0 records are here, ", " were written")
    assert len(done.messages) == 2  # that of the waits, too
    done = scope.execute([*line, str(folder / "trace")])
    done.expect(UNTRUSTED, "calls: there is no record of a call although requests were made")


def test_dump_ends_with_its_reader(scope: Scope, lantest: Traced) -> None:
    dump = shlex.join([*package(), "dump", "--stream", "calls", str(lantest.folder)])
    line = f"{dump} | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=20)
    assert (done.stdout.split()[-1], done.stderr) == ("141", "")


def test_a_limit_is_kept_and_told(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    done = scope(
        dbd,
        *("--tests", "5", "-n", "1", "--trace", "-o", str(folder), "--max-size", "1M"),
        save=True,
    ).expect(OK)
    traced = load(folder, done)
    assert "limit of 1048576 bytes" in traced.run.warning("trace")
    assert traced.run.saved["rungs"]["trace.truncated"] == "limit"
    last = [traced.streams[n].records[-1].timestamp for n in ("requests", "calls", "waits")]
    assert max(last) - min(last) < 1e9
    assert sum((traced.folder / name).stat().st_size for name in traced.streams) <= 1 << 20
    line = [*package(), "dump", "--count", str(folder)]
    scope.execute(line).expect(UNTRUSTED, "the trace ends before the run: limit")
    assert babeltrace(traced.folder)[1] == ""


def test_losses_are_in_the_trace_and_in_the_run(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    done = scope(
        dbd,
        *("--tests", "5", "-n", "1", "--trace", "-o", str(folder)),
        *("--trace-buffer", "4096"),
        save=True,
    ).expect(OK)
    traced = load(folder, done)
    told = {
        loss["what"].split()[2].rstrip(":"): loss["n"]
        for loss in traced.run.saved["losses"]
        if loss["what"].startswith("records of ")
    }
    assert told == {name: stream.lost for name, stream in traced.streams.items()}
    assert told["calls"] > 0
    served = traced.streams["requests"]
    assert len(served.records) + served.lost == len(traced.streams["client"].records)


def test_a_trace_is_not_written_over(
    scope: Scope, dbd: Server, lantest: Traced, tmp_path: Path
) -> None:
    where = str(lantest.folder.parent)
    scope(dbd, "--tests", "5", "--trace", "-o", where).expect(
        USAGE, where, "has a run in it already"
    )
    (lantest.folder.parent / "run.json").unlink()
    for more in ((), ("--trace",)):
        scope(dbd, "--tests", "5", *more, "-o", where).expect(
            USAGE, where, "has the trace of a run that was killed"
        )
    assert not (lantest.folder.parent / "run.json").exists()
