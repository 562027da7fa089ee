# SPDX-License-Identifier: GPL-2.0-or-later
"""Under the name of OpenAFS's rxperf: its command line, its lines, its exit codes.

Tests user/compat/rxperf_tool.c, rxperf_client.c, user/main/rxperf.c. What a mistake says:
unit/main/test_usage.c.
"""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from rights import rights, threads
from rxing import Serving
from rxopenafs import Memory, every_order
from rxpeer import PerfServer, Ways
from scope import OK, REPO, Scope, wait_until

# As the original prints them: tabs, the time in 8 columns, four digits of the rate.
TIME = r":\t {5,7}\d+ msec\t\[[\d.e+]+ [kMG]bit/s\]\n"
AT_ONCE = 40


def rxperf(scope: Scope, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [scope.binary.with_name("rxperf"), *words], capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    ("command", "options", "line", "n"),
    [
        ("send", "-t 2 -T 3 -b 20000", "SEND: threads\t2, times\t3, bytes\t20000", 6),
        ("RECV", "-t 2 -T 0x3 -b 0x4e20", "RECV: threads\t2, times\t3, bytes\t20000", 6),
        ("recv", "-T 010 -b 1", "RECV: threads\t1, times\t8, bytes\t1", 8),
        ("Rpc", "-t 5 -T 1 -S 300 -R 5000",
         "RPC: threads\t5, times\t1, write bytes\t300, read bytes\t5000", 5),
        ("rpc", "-T 2", "RPC: threads\t1, times\t2, write bytes\t3, read bytes\t30", 2),
        ("file", "-T 3", "FILE FOLDER/words: threads\t1, times\t3, bytes\t1048576", 3),
        ("send", "-c push -c recv -T 0", None, 0),
        ("send", "-c rpc -c recv -T 1 -b 3000", "RECV: threads\t1, times\t1, bytes\t3000", 1),
        ("recv", "-T 1 -b 3000 -P 100 -m 1200 -W 8 -j -u 256 -4 6 -H -N -V -r 1000 -w 1000",
         "RECV: threads\t1, times\t1, bytes\t3000", 1),
    ],
)  # fmt: skip
def test_a_test_is_one_line(
    scope: Scope, tmp_path: Path, command: str, options: str, line: str | None, n: int
) -> None:
    (tmp_path / "words").write_text("100\n20\n\n0x12c\n")
    where = ("-s", "127.0.0.1", "-f", str(tmp_path / "words"))
    with PerfServer(Ways()) as server:
        done = rxperf(
            scope, "client", "-c", command, *where, "-p", hex(server.port), *options.split()
        )
    if line is None:
        assert (done.returncode, done.stdout) == (1, "")
        return
    assert (done.returncode, done.stderr) == (0, "")
    line = line.replace("FOLDER", str(tmp_path))
    assert re.fullmatch(re.escape(line) + TIME, done.stdout), done.stdout
    assert not server.ledger.faults
    assert len(server.served) == n
    assert not any(any(call.data) for call in server.served), "the original sends zeros"


def test_time_and_rate_are_of_the_same_bytes(scope: Scope) -> None:
    with Serving(scope, "--buffer", "4M") as server:
        for words, each in (("recv -b 64000", 64000), ("rpc -S 3000 -R 5000", 8000)):
            begun = time.monotonic()
            done = rxperf(
                scope, "client", "-p", str(server.port), "-T", "200", "-c", *words.split()
            )
            wall_ms = (time.monotonic() - begun) * 1000
            said = re.search(r"(\d+) msec\t\[([\d.e+]+) ([kMG])bit/s\]", done.stdout)
            assert said, done
            rate = float(said[2]) * {"k": 1e3, "M": 1e6, "G": 1e9}[said[3]]
            ms = 200 * each * 8 / rate * 1000
            assert ms - 1.1 <= int(said[1]) + ms * 0.001 <= wall_ms + 1
            assert abs(ms - int(said[1])) <= 1.1 + ms * 0.001


@pytest.mark.parametrize(
    "size",
    [0, 1, 777, 64_000, 1_000_000, pytest.param(20_000_000, marks=pytest.mark.judges)],
)
def test_a_server_that_answers_with_what_it_has_read_is_no_error(
    scope: Scope, tmp_path: Path, size: int
) -> None:
    (tmp_path / "words").write_text(f"{size // 4 + 1}\n\n{size // 4 + 1}\n")
    order = every_order(("recv", "send", "rpc", "file"), 2)
    sizes = ("-b", size, "-S", size, "-R", size, "-f", tmp_path / "words")
    with PerfServer(Ways(), Memory()) as server:
        for command in order:
            words = ("-p", server.port, "-T", 2 if size < 100_000 else 1, *sizes)
            done = rxperf(scope, "client", "-c", command, *map(str, words))
            assert (done.returncode, done.stderr) == (0, ""), (command, size)
    assert len(server.served) == len(order) * (2 if size < 100_000 else 1)
    assert not server.ledger.faults


def test_the_line_goes_to_the_file_of_o(scope: Scope, tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    with PerfServer(Ways()) as server:
        words = ("client", "-c", "rpc", "-p", str(server.port), "-T", "2", "-o", str(out))
        done = rxperf(scope, *words, "-o", str(other), "-D", "-d", str(tmp_path / "log"))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"rxperf: -o option given more than once, ignoring -o {other}\n"
    assert not other.exists() and (tmp_path / "log").exists()
    first, *more = out.read_text().splitlines()
    assert first.startswith("RPC: threads\t1, times\t2, ")
    assert "   other send counters: ack 2, data 2 (not resends), resends 0" in more
    assert more[-1] == f"Peer 7f000001.{server.port}."


def test_the_server_takes_the_options_of_the_original(scope: Scope) -> None:
    words = ("-p", "0", "-s", "0x1", "-S", "3", "-u", "256", "-W", "16", "-j", "-H", "-P", "50")
    server = scope.start([str(scope.binary.with_name("rxperf")), "server", *words])
    server.wait_for(" on UDP port ")
    said = re.search(
        r"UDP port (\d+), receive buffer 262144 bytes, 1 to 3 threads, window 16 packets",
        server.err,
    )
    assert said, server.err
    done = rxperf(scope, "client", "-c", "rpc", "-p", said[1], "-T", "5")
    assert (done.returncode, done.stderr) == (0, "")
    server.signal(signal.SIGTERM)
    assert "5 RPC" in server.finish(20).expect(OK).out


def test_the_client_has_no_rights_when_it_sends(scope: Scope) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        words = ("client", "-c", "recv", "-p", str(silent.getsockname()[1]), "-T", "1")
        client = scope.start([str(scope.binary.with_name("rxperf")), *words])
        silent.settimeout(30)
        silent.recv(4096)
        held = [rights(one) for one in threads(client.process.pid)]
        client.process.kill()
        client.process.wait()
    assert set(held) == {(0, 0)}


def test_a_failed_call_is_an_error_and_has_no_line(scope: Scope) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
    done = rxperf(scope, "client", "-c", "recv", "-p", str(port), "-T", "1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "rxperf: recv: nobody listens on this port (-1)\n"


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGUSR1])
def test_an_interrupt_ends_it_and_tells_the_server(scope: Scope, sent: signal.Signals) -> None:
    with PerfServer(Ways()) as server:
        words = ("client", "-c", "recv", "-b", "4000000000", "-p", str(server.port), "-T", "9")
        words = ("client", "-c", "rpc", "-p", str(server.port), "-T", "1000000")
        running = subprocess.Popen([scope.binary.with_name("rxperf"), *words])
        wait_until(lambda: bool(server.served), 20, "a call")
        running.send_signal(sent)
        assert running.wait(20) == 2


@pytest.mark.parametrize("command", ["recv", "send"])
def test_many_at_once_all_come_through(scope: Scope, command: str) -> None:
    """CERN's test is 250 of them. None looks at the server, though root could."""
    with Serving(scope, "--buffer", "16M", "-s", "64", "-S", "64") as server:
        words = ("client", "-c", command, "-b", "64000", "-T", "1", "-p", str(server.port))
        with ThreadPoolExecutor(AT_ONCE) as pool:
            done = [*pool.map(lambda _: rxperf(scope, *words), range(AT_ONCE))]
    assert [d.returncode for d in done] == [0] * AT_ONCE, done
    assert server.answered() == AT_ONCE


def test_a_start_loads_and_allocates_little(scope: Scope) -> None:
    """Neither files but the C library, nor threads, nor programs in the kernel."""
    with Serving(scope, "--buffer", "4M") as server:
        words = ("client", "-c", "recv", "-b", "64000", "-T", "1", "-p", str(server.port))
        traced = subprocess.run(
            ["strace", "-f", "-qq", "-e", "trace=bpf,perf_event_open,openat,clone,clone3,execve",
             REPO / "build/rxperf", *words],  # a sanitizer reads more
            capture_output=True, text=True, timeout=60, check=True,
        ).stderr  # fmt: skip
        opened = re.findall(r'openat\(.*?"(.*?)"', traced)
        assert {Path(path).name for path in opened} <= {"ld.so.cache", "libc.so.6"}, opened
        assert not re.search(r"\b(bpf|clone3?)\(", traced), traced
