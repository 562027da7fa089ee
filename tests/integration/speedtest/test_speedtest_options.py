# SPDX-License-Identifier: GPL-2.0-or-later
"""Each option does what the manual page says, on netatalk 4.5 and on 4.2.

Tests user/main/speedtest.c.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from disturbed import within
from fakes import Meddler
from netatalk import Server
from scheduling import in_check
from scope import OK, REFUSED, USAGE, PinnedServer, Scope, both_cpus, left_on, pinning
from speeding import (
    ALL,
    COPY,
    FLUSH,
    FP_READ,
    FP_WRITE,
    GIB,
    KIB,
    LEGACY,
    MIB,
    READ,
    READ_EXT,
    SERVER_COPY,
    WRITE,
    WRITE_EXT,
    between,
    command,
    file_of,
    files,
    measure,
    only,
    speedtest,
    transfers,
)

# What a server of 4.2 counts is in check by test_speedtest_signatures.py.
KINDS = in_check(["dbd", "old"], ["dbd"])
ONCE = ("-n", "1", "-W", "0", "--no-null")


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


# Sizes and tests


def test_defaults(scope: Scope, dbd: Server) -> None:
    """Write, then Read; six iterations after one that warms up, one request
    at a time, zeros."""
    run = measure(scope, dbd, "-d", "64K")
    assert [(t.work, t.size) for t in transfers(run).values()] == [(WRITE, 65536), (READ, 65536)]
    for transfer in transfers(run).values():
        assert [len(transfer.samples(warmup=w)) for w in (True, False)] == [1, 6]
        assert transfer.saved["window"] == 1
        assert transfer.saved["sparse"] is False
        assert transfer.saved["null"]["ns"] > 0


@pytest.mark.parametrize(
    ("option", "size"),
    [("64", 64 * MIB), ("64K", 64 * KIB), ("0.5", MIB // 2), ("0.004", 4194), ("4K", 4096)],
)
def test_one_size(scope: Scope, dbd: Server, option: str, size: int) -> None:
    """64 is a size as any other."""
    transfer = only(measure(scope, dbd, "-f", "Write", "-d", option, *ONCE))
    assert transfer.size == transfer.moved == transfer.phase["bytes"] == size


def test_units_of_a_size(scope: Scope, dbd: Server) -> None:
    """Sparse: nothing is written."""
    for option, size in (("0.25G", GIB // 4), ("1.5M", 3 * MIB // 2)):
        assert only(measure(scope, dbd, "-f", "Read", "-e", "-d", option, *ONCE)).size == size


def test_list_of_sizes(scope: Scope, dbd: Server) -> None:
    """Each size with all tests, in the order in which they were named."""
    wanted = [int(each) * KIB for each in range(4, 64)]
    sizes = ",".join(f"{size // KIB}K" for size in wanted)
    run = measure(scope, dbd, "-f", "read,SERVERCOPY", "-z", f"0.004,{sizes},1,2,0.5", *ONCE)
    order = [(t.work, t.size) for t in transfers(run).values()]
    both = (READ, SERVER_COPY)
    assert order == [(w, s) for s in [4194, *wanted, MIB, 2 * MIB, MIB // 2] for w in both]


def test_sweep_without_a_size(scope: Scope, dbd: Server) -> None:
    run = measure(scope, dbd, "-f", "Read", "-e", *ONCE)
    assert [size for _, size in transfers(run)] == [4096 << i for i in range(18)]
    titles = [phase.title for phase in run.phases]
    assert titles[:2] == ["Read 4 KiB", "Read 8 KiB"]
    assert titles[-1] == "Read 512 MiB"


def test_iterations_and_warmups(scope: Scope, server: Server) -> None:
    run = measure(scope, server, "-f", ALL, "-d", "8K", "-n", "7", "-W", "4", "--no-null")
    for transfer in transfers(run).values():
        samples = transfer.saved["samples"]
        assert [(s["warmup"], s["iteration"]) for s in samples] == [
            *((True, n) for n in (1, 2, 3, 4)),
            *((False, n) for n in range(1, 8)),
        ]
        assert transfer.stats["n"] == 7
        assert transfer.phase["elapsed"] == sum(transfer.times())


def test_chunk(scope: Scope, server: Server) -> None:
    """-q: KiB, or with a unit."""
    for option, chunk in (("64", 65536), ("100K", 102400), ("0.5M", MIB // 2)):
        run = measure(scope, server, "-f", "Read,Write,Copy", "-d", "1", "-q", option, *ONCE)
        n = -(-MIB // chunk)
        for transfer in transfers(run).values():
            assert transfer.chunk == chunk
            assert {n} >= set(transfer.phase.commands().values()) - {1}
        counts = transfers(run)[COPY, MIB].phase.requests()
        assert counts == {READ_EXT: n, WRITE_EXT: n}


@pytest.mark.parametrize(
    ("args", "asked", "most"),
    [
        (["-q", "2048"], "2 MiB", "1020 KiB"),
        (["-q", "1024"], "1 MiB", "1020 KiB"),
        (["-q", "1024", "--set", LEGACY], "1 MiB", "1048548 B"),
    ],
    ids=str,
)
def test_chunk_too_large(scope: Scope, dbd: Server, args: list[str], asked: str, most: str) -> None:
    """Nothing runs, not even with another size. Both figures are named."""
    done = speedtest(scope, dbd, "-f", "Write", "-z", "4K,8K", *args, timeout=20)
    done.expect(USAGE, asked, most)
    assert not done.out
    assert len(done.messages) == 1


@pytest.fixture(scope="module")
def narrow() -> Iterator[Server]:
    """A server that takes little at a time."""
    with PinnedServer("forky", "dbd", both_cpus()[0], AFPD_GLOBAL="server quantum = 65536") as s:
        yield s


def test_small_quantum(scope: Scope, narrow: Server) -> None:
    run = measure(scope, narrow, "-f", ALL, "-d", "1", "-r", "4", *ONCE)
    for transfer in transfers(run).values():
        if transfer.work != SERVER_COPY:
            assert transfer.chunk == (65536 if transfer.work == READ else 61440)
    run = measure(scope, narrow, "-f", "Read,Write,Copy", "-d", "1", "--set", LEGACY, *ONCE)
    assert {transfer.chunk for transfer in transfers(run).values()} == {65508}
    done = speedtest(scope, narrow, "-f", "Write", "-d", "4K", "-q", "128")
    done.expect(USAGE, "128 KiB", "60 KiB")
    assert not left_on(narrow)


# Requests in flight


@pytest.mark.parametrize(
    ("work", "chunk_kib", "asked"),
    [
        *((work, 32, n) for work in (READ, WRITE) for n in (1, 8)),
        *((work, 512, 8) for work in (WRITE, COPY)),
    ],
)
def test_outstanding(scope: Scope, dbd: Server, work: str, chunk_kib: int, asked: int) -> None:
    """As many as said, seen from between the two ends."""
    with Meddler(dbd.port, crowd=asked) as between_us:
        args = ("-f", work, "-d", "4", "-q", str(chunk_kib), "-r", str(asked), *ONCE)
        line = command(scope, dbd, *args)
        line[line.index(str(dbd.port))] = str(between_us.port)
        done = scope.execute([*line, "--watch=off"], save=True).expect(OK)
    assert between_us.peak == asked
    assert done.run
    assert only(done.run).saved["window"] == asked


def test_many_outstanding(scope: Scope, server: Server) -> None:
    """More than there are requests as well."""
    run = measure(scope, server, "-f", ALL, "-z", "64,4K", "-r", "128", *ONCE)
    for transfer in transfers(run).values():
        assert transfer.saved["window"] == (1 if transfer.work == SERVER_COPY else 128)
        assert transfer.phase["bytes"] == transfer.carried


@pytest.mark.parametrize("requests", ["speedtest", "speedtest-4.5"])
def test_copy_with_many_outstanding(scope: Scope, server: Server, requests: str) -> None:
    """Where afp_speedtest and afpd wait for each other for ever."""
    args = ("-f", "Copy", "-d", "200", "-r", "64", "--set", requests, *ONCE)
    done = speedtest(scope, server, *args, save=True, timeout=60).expect(OK)
    assert done.run
    done.run.assert_trustworthy()
    assert only(done.run).phase["bytes"] == only(done.run).carried == 400 * MIB


# What is read


def dropped_calls(scope: Scope, server: Server, *args: str, host: str = "127.0.0.1") -> int:
    """By strace: calls of the client that let the kernel drop what came."""
    sized = ("-v", "-f", "Read", "-d", "4", "-n", "1", "-W", "0", "--no-null", "--watch=off")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "strace"
        line = ["strace", "-f", "-o", str(log), "-e", "trace=recvfrom,recvmsg"]
        line += command(scope, server, *sized, *args, host=host)
        # Under strace the sanitizer cannot look for leaks.
        done = scope.execute(line, save=True, env={"ASAN_OPTIONS": "detect_leaks=0"}).expect(OK)
        calls = log.read_text().count("MSG_TRUNC")
    assert done.run
    assert only(done.run).saved["dropped"] == (calls > 0)
    assert only(done.run).phase["bytes"] == 4 * MIB
    assert ("data dropped unread" in done.out) == (calls > 0)
    return calls


def test_receive(scope: Scope, dbd: Server, elsewhere: tuple[Server, str]) -> None:
    """What nobody looks at is dropped, but not of a server on this host."""
    for args, dropped in (
        ((), False),
        (("--receive=copy",), False),
        (("--receive=drop",), True),
        (("--receive=drop", "--set", LEGACY), True),
        (("--verify",), False),
    ):
        assert (dropped_calls(scope, dbd, *args) > 0) == dropped, args
    far, host = elsewhere
    for args, dropped in (
        ((), True),
        (("--receive=copy",), False),
        (("--set", LEGACY), False),
        (("--verify",), False),
    ):
        assert (dropped_calls(scope, far, *args, host=host) > 0) == dropped, args


# Files


def test_no_flush(scope: Scope, server: Server) -> None:
    for options, flushes in ((("-a",), 0), ((), 2)):
        run = measure(scope, server, "-f", "Write", "-d", "4K", "-n", "2", "--no-null", *options)
        assert only(run).phase.commands().get(FLUSH, 0) == flushes


def test_sparse(scope: Scope, dbd: Server) -> None:
    """The source has its length and no data."""
    args = ("-f", "Read", "-d", "8", "-e", "-n", "2", "-W", "0", "-t", "1", "--watch=off")
    line = command(scope, dbd, *args)
    running = scope.start(line, save=True)
    (source,) = between(running, dbd, 8 * MIB)
    assert source.stat().st_blocks <= 8  # one for what afpd keeps about it
    done = running.finish().expect(OK)
    assert done.run
    assert only(done.run).saved["sparse"] is True


@pytest.mark.parametrize("name", ["speedtest", LEGACY])
def test_own_file(scope: Scope, server: Server, name: str) -> None:
    """-F: as long as it is, and it is left as it was. Our own set only reads it."""
    size = 3 * MIB + 123
    mode = 0o444 if name == "speedtest" else 0o666
    with file_of(server, "own.bin", size, mode) as path:
        before = path.read_bytes()
        args = ("-f", "Read,Copy,ServerCopy", "-F", "own.bin", "--set", name, "-n", "2")
        run = measure(scope, server, *args)
        assert list(transfers(run)) == [(work, size) for work in (READ, COPY, SERVER_COPY)]
        for transfer in transfers(run).values():
            assert transfer.saved["own_file"] is False  # not made by the test
            assert transfer.phase["bytes"] == 2 * transfer.carried
        run = measure(scope, server, "-f", "Read,Copy", *args[2:], "-d", "1")
        assert list(transfers(run)) == [(READ, MIB), (COPY, MIB)]
        assert path.read_bytes() == before


def test_own_file_too_short(scope: Scope, server: Server) -> None:
    """Both sizes are named, and nothing is read."""
    with file_of(server, "own.bin", MIB):
        done = speedtest(scope, server, "-f", "Read", "-F", "own.bin", "-z", "1,2", save=True)
        done.expect(REFUSED, "own.bin", str(MIB), str(2 * MIB))
        assert len(done.messages) == 1
        assert done.run
        assert not done.run.complete


def test_second_volume(scope: Scope, server: Server) -> None:
    """Copies are made there."""
    line = command(
        scope,
        server,
        *("-f", "Copy,ServerCopy", "-S", "vol2", "-d", "1", "-n", "2", "-W", "0", "-t", "1"),
    )
    running = scope.start(line, save=True)
    there = {path.parent.parent for path in between(running, server, MIB)}
    assert there == {server.vol1, server.vol2}
    done = running.finish().expect(OK)
    assert done.run
    done.run.assert_trustworthy()
    assert list(transfers(done.run)) == [(COPY, MIB), (SERVER_COPY, MIB)]
    assert not left_on(server)


# Time


def test_delay(scope: Scope, dbd: Server) -> None:
    """Between the iterations of every test, and not behind the last one."""
    args = ("-f", ALL, "-d", "4K", "-n", "2", "-W", "0", "--no-null")
    quick_s = speedtest(scope, dbd, *args).expect(OK).seconds
    line = (*args, "-t", "0.75")
    slow = within(quick_s + 5 * 0.75, lambda: speedtest(scope, dbd, *line, save=True))
    # Four waits. The least needs no other run to compare with: other tests may have slowed that.
    assert slow.expect(OK).seconds >= 4 * 0.75
    assert slow.run
    slow.run.assert_trustworthy()
    # Nobody measures it.
    assert all(phase["elapsed"] < 10**9 for phase in slow.run.phases)


# Sessions


VERSIONS = {
    "-1": "AFPVersion 2.1",
    "-2": "AFP2.2",
    "-3": "AFPX03",
    "-4": "AFP3.1",
    "-5": "AFP3.2",
    "-6": "AFP3.3",
    "-7": "AFP3.4",
}


def test_versions(scope: Scope, server: Server) -> None:
    """All seven; before 3.0 there are only 32 bits."""
    for option, version in VERSIONS.items():
        run = measure(scope, server, "-f", "Write,Read", "-d", "64K", *ONCE, option)
        assert run.saved["server"]["afp_version"] == version
        legacy = option in ("-1", "-2")
        write, read = (t.phase.commands() for t in transfers(run).values())
        assert write == {FP_WRITE if legacy else WRITE_EXT: 1, FLUSH: 1}, version
        assert read == {FP_READ if legacy else READ_EXT: 1}, version


def test_login_options(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    """A URL, a password from a file or the environment, a method."""
    args = ("-f", "Read", "-d", "4K", *ONCE, "--watch=off")
    program = [*pinning(dbd), str(scope.binary), "speedtest", *args]
    url = f"afp://bench1@127.0.0.1:{dbd.port}/vol1"
    path = tmp_path / "password"
    path.write_text("secret1\n")
    for more, env in (
        (["--password-file", str(path), "--uam", "dhx2"], {}),
        ([], {"AFPSCOPE_PASSWORD": "secret1"}),
    ):
        done = scope.execute([*program, *more, url], save=True, env=env).expect(OK)
        assert done.run
        assert done.run.saved["server"]["uam"] == "DHX2"
    done = speedtest(scope, dbd, *args, user=None, uam="guest")
    done.expect(OK)


# Watching


def test_watch(scope: Scope, dbd: Server) -> None:
    args = ("-f", "Write", "-d", "64K", "-n", "2")
    phase = only(measure(scope, dbd, *args, "--watch=bpf")).phase
    assert phase["afpd_calls"] > 0
    assert phase["afpd_wchar"] >= 2 * 64 * KIB
    done = speedtest(scope, dbd, *args, "--watch=proc", save=True).expect(OK)
    assert done.run
    assert done.run.phases[0]["afpd_wchar"] >= 2 * 64 * KIB
    done = speedtest(scope, dbd, *args, "--watch=off", save=True).expect(OK)
    assert done.run
    assert done.run.phases[0].metrics["afpd_calls"] is None
    verdict = done.run.saved["diagnosis"]["text"]
    assert verdict == "No verdict: the server was not watched: --watch=off."


def test_sample(scope: Scope, dbd: Server) -> None:
    run = measure(scope, dbd, "-f", "Write", "-d", "4", "-n", "50", "--no-null", "--sample=200")
    assert {series["role"] for series in run.saved["series"]} >= {"afpd"}


def test_null(scope: Scope, server: Server) -> None:
    """What this client needs when the other side keeps nothing is measured, for each work; the
    bound is wide, as times tell nothing here but nonsense."""
    run = measure(scope, server, "-f", "Read,Write,Copy", "-d", "4", "-n", "5", "-r", "4")
    for transfer in transfers(run).values():
        null = transfer.saved["null"]
        assert null["n"] >= 1
        assert 0 < null["ns"] < 10 * transfer.stats["median_ns"], transfer.work
        assert transfer.saved["verdict"]["text"]
    run = measure(scope, server, "-f", "Read", "-d", "64K", *ONCE)
    assert only(run).saved["null"] == {"ns": None, "n": 0}


# What is printed


def test_help_names_every_option(scope: Scope) -> None:
    page = re.sub(r"\\f[BIR]", "", scope.page("speedtest")).replace("\\-", "-")
    help_text = scope.execute([str(scope.binary), "speedtest", "--help"]).expect(OK).out
    wanted = set(re.findall(r"--[a-z][a-z-]+|(?<![\w-])-[a-zA-Z]\b", page))
    assert wanted
    for option in sorted(wanted):
        assert option in help_text, option


@pytest.mark.parametrize("table", ["peer", "afpscope", "both"])
def test_table(scope: Scope, dbd: Server, table: str) -> None:
    done = speedtest(scope, dbd, "-f", "Write", "-d", "4K", *ONCE, "--table", table).expect(OK)
    assert ("===== Test Passes for Write =====" in done.out) == (table != "afpscope")
    assert (f"{'AFP commands':12}" in done.out) == (table != "peer")


def test_units(scope: Scope, dbd: Server) -> None:
    for units, rate, other in (
        (["--units=binary"], "MiB/s", "MB/s"),
        (["--units=decimal"], "MB/s", "MiB/s"),
        ([], "MB/s", "MiB/s"),
    ):
        args = ("-f", "Write", "-d", "4K", *ONCE, "--table=afpscope", "--watch=off", *units)
        out = speedtest(scope, dbd, *args).expect(OK).out
        assert rate in out
        assert other not in out


def test_each_request(scope: Scope, dbd: Server) -> None:
    """On stderr, with a time; as many as there were, also of warm-ups."""
    args = ("-f", "Read", "-d", "1", "-q", "64", "-n", "1", "-W", "1", "--no-null", "--watch=off")
    done = speedtest(scope, dbd, *args, "-V").expect(OK)
    lines = [line for line in done.err.splitlines() if "FPReadExt" in line]
    assert len(lines) == 32
    assert all(re.search(r" offset \d+ +65536 +\d+\.\d{3} ms$", line) for line in lines)
    assert "FPReadExt" not in speedtest(scope, dbd, *args, "-v").expect(OK).err


def test_interactive(scope: Scope, dbd: Server) -> None:
    """Waits for a key before each test."""
    line = command(scope, dbd, "-f", "Read,Write", "-d", "4K", *ONCE, "--watch=off", "-i")
    with subprocess.Popen(
        line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1.5)
            assert process.poll() is None, "it did not wait"
            assert not files(dbd)
            out, _ = process.communicate("\n" * 2, timeout=30)
        finally:
            process.kill()
    assert process.returncode == OK, out
    assert out.count("Press <ENTER>") == 2


def test_json_to_stdout(scope: Scope, dbd: Server) -> None:
    args = ("-f", "Write", "-d", "4K", *ONCE, "--watch=off", "-c", "--json", "-")
    done = speedtest(scope, dbd, *args).expect(OK)
    assert json.loads(done.out)["phases"][0]["transfer"]["work"] == "Write"
