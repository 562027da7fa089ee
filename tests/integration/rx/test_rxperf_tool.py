# SPDX-License-Identifier: GPL-2.0-or-later
"""Under the name of OpenAFS's rxperf: its command line, one line for a test, exit codes 0 and 1.

Tests user/compat/rxperf_tool.c.
"""

from __future__ import annotations

import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from rxpeer import PerfServer, Ways
from scope import INTERRUPTED, OK, Scope, wait_until


def rxperf(scope: Scope, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [scope.binary.with_name("rxperf"), *words], capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("send", "2 threads, 3 calls each, 20000 bytes a call"),
        ("recv", "2 threads, 3 calls each, 20000 bytes a call"),
        ("rpc", "2 threads, 3 calls each, 300 bytes sent and 5000 received a call"),
        ("file", "2 threads, 3 calls each, 4 transfers a call"),
    ],
)
def test_a_test_is_one_line(scope: Scope, tmp_path: Path, command: str, what: str) -> None:
    words = tmp_path / "words"
    words.write_text("100 20\n0 300\n")
    with PerfServer(Ways()) as server:
        done = rxperf(
            scope, "client", "-c", command, "-s", "127.0.0.1", "-p", str(server.port), "-t", "2",
            "-T", "3", "-b", "20000", "-S", "300", "-R", "5000", "-f", str(words), "-m", "1200",
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    line = re.escape(f"{command.upper()}: {what}: ") + r"\d+ ms, \d+\.\d MB/s\n"
    assert re.fullmatch(line, done.stdout), done.stdout
    assert not server.ledger.faults
    assert len(server.served) == 6


def test_the_server_takes_the_options_of_the_original(scope: Scope) -> None:
    words = ("-p", "0", "-s", "1", "-S", "3", "-u", "256", "-W", "16", "-j", "-H")
    server = scope.start([str(scope.binary.with_name("rxperf")), "server", *words])
    server.wait_for(" on UDP port ")
    said = re.search(
        r"UDP port (\d+), receive buffer 262144 bytes, 1 to 3 threads, window 16 packets",
        server.err,
    )
    assert said, server.err
    assert "-H has no effect here" in server.err
    done = rxperf(scope, "client", "-c", "rpc", "-p", said[1], "-T", "5")
    assert (done.returncode, done.stderr) == (0, "")
    server.signal(signal.SIGTERM)
    assert "5 RPC" in server.finish(20).expect(OK).out


def test_wrong_words_are_named(scope: Scope) -> None:
    """The message and the exit code of main(); all others: unit/main/test_usage.c."""
    done = rxperf(scope, "client", "-c", "push")
    assert (done.returncode, done.stdout) == (1, "")
    assert "'push' is none of recv, send, rpc, file" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_failed_call_is_an_error_and_has_no_rate(scope: Scope) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
    done = rxperf(scope, "client", "-c", "recv", "-p", str(port), "-T", "1")
    assert done.returncode == 1
    assert done.stdout == "RECV: 1 thread, 1 call each, 1048576 bytes a call: 1 of 1 calls failed\n"
    assert "nobody listens on this port" in done.stderr


def test_an_interrupt_ends_it(scope: Scope) -> None:
    with PerfServer(Ways()) as server:
        words = ("client", "-c", "rpc", "-p", str(server.port), "-T", "1000000")
        running = scope.start([str(scope.binary.with_name("rxperf")), *words])
        wait_until(lambda: bool(server.served), 20, "a call")
        running.signal(signal.SIGINT)
        running.finish(20).expect(INTERRUPTED)
