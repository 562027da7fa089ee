# SPDX-License-Identifier: GPL-2.0-or-later
"""A server of `afpscope rx --serve` for a step of a sweep; whether a server over Rx is there."""

from __future__ import annotations

import re
import socket
import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..errors import FAILED, Failure
from ..saved.files import added
from .children import last_line

_START_S, _STOP_S = 10.0, 20.0
_PORT = re.compile(r"on UDP port (\d+)")
LOOPBACK = "127.0.0.1"


@contextmanager
def served(program: str, words: Sequence[str], log: Path, saved: Path) -> Iterator[str]:
    """Its address and port. What it says goes to `log`, what it did to `saved`.

    Failure if it does not begin.
    """
    line = [program, "rx", "--serve", "-p", "0", "--address", LOOPBACK, *words]
    with added(log) as out:
        server = subprocess.Popen(
            [*line, "--json", str(saved)],
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # it lives until the clients have ended, also after a ^C
        )
    try:
        yield f"{_address(words)}:{_port(server, log)}"
    finally:
        server.terminate()
        try:
            server.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _address(words: Sequence[str]) -> str:
    for i, word in enumerate(words):
        if word.startswith("--address="):
            return word.removeprefix("--address=")
        if word == "--address" and i + 1 < len(words):
            return words[i + 1]
    return LOOPBACK


def _port(server: subprocess.Popen[bytes], log: Path) -> int:
    end = time.monotonic() + _START_S
    while time.monotonic() < end:
        if found := _PORT.search(log.read_text(encoding="utf-8", errors="replace")):
            return int(found[1])
        if server.poll() is not None:
            raise Failure(f"rx --serve: {last_line(log)}", FAILED)
        time.sleep(0.01)
    raise Failure(f"rx --serve does not begin within {_START_S:g} s: {last_line(log)}", FAILED)


def answers(host: str, port: int, wait_s: float = 1.0) -> bool:
    """Whether a server over Rx tells its version, as each does outside of calls."""
    version, from_client, last = 13, 1, 4
    question = struct.pack(
        ">IIIIIBBBBHH", 0, 0, 1, 0, 1, version, from_client | last, 0, 0, 0, 0
    ) + bytes(65)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(wait_s)
        try:
            s.connect((host, port))
            s.send(question)
            return len(s.recv(2048)) >= 28
        except OSError:
            return False
