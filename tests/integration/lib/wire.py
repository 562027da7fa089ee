# SPDX-License-Identifier: GPL-2.0-or-later
"""What went over the loopback, as tshark reads it: AFP requests, and how long each took."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from netatalk import Server
from scope import wait_until

# Not here: names and ids, which differ from run to run.
FIELDS = [
    f"afp.{name}"
    for name in (
        *("command", "file_bitmap", "dir_bitmap", "vol_bitmap", "path_type", "path_unicode_hint"),
        *("fork_type", "access", "flag", "create_flag", "ofork", "ofork_len"),
        *("offset", "rw_count", "newline_mask", "newline_char", "offset64", "rw_count64"),
    )
]


@contextlib.contextmanager
def captured(*ports: int) -> Iterator[Path]:
    """Captures what is sent from or to these ports; complete once the block is over."""
    with tempfile.TemporaryDirectory() as name:
        capture, log = Path(name) / "cap", Path(name) / "log"
        with log.open("w") as out:
            dumpcap = subprocess.Popen(
                [
                    *("dumpcap", "-i", "lo", "-f", " or ".join(f"port {port}" for port in ports)),
                    *("-B", "64", "-w", capture),
                ],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        wait_until(lambda: "File: " in log.read_text(), 10, "dumpcap to begin")
        try:
            yield capture
        finally:
            dumpcap.terminate()
            dumpcap.wait(10)


def wait_captured(port: int, capture: Path, host: str = "127.0.0.1") -> None:
    """What is captured is written in order, not at once: all is there when this is."""
    marker = f"the end of {capture}".encode()
    with socket.socket(type=socket.SOCK_DGRAM) as s:
        s.sendto(marker, (host, port))
    wait_until(lambda: marker in capture.read_bytes(), 10, "the end of the capture", 0.05)


def requests_of(server: Server, command: Sequence[str]) -> list[tuple[str, ...]]:
    """Runs a command, which must succeed; its requests after the login."""
    with captured(server.port) as capture:
        done = subprocess.run(
            ["timeout", "-k", "5", "600", *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        wait_until(lambda: not server.sessions(), 10, "the session to end")
        wait_captured(server.port, capture)
        assert done.returncode == 0, f"{done}"
        found = _read(server, capture, f"tcp.dstport == {server.port} && afp.command", FIELDS)
    login = next(i for i, each in enumerate(found) if each[0] == "24")
    return found[login:]


def times_of(server: Server, capture: Path) -> list[tuple[int, float]]:
    """AFP command and seconds until its answer, in the order of the answers."""
    wait_captured(server.port, capture)
    found = _read(server, capture, "afp.time", ["afp.command", "afp.time"])
    return [(int(command), float(time)) for command, time in found]


@dataclass(frozen=True)
class Answer:
    """An AFP command that was answered."""

    port: int  # the client's
    command: int
    failed: bool
    seconds: float


def answers_of(server: Server, capture: Path) -> list[Answer]:
    """In the order of the answers."""
    wait_captured(server.port, capture)
    names = ["tcp.dstport", "afp.command", "dsi.error_code", "afp.time"]
    return [
        Answer(int(port), int(command), error != "0", float(time))
        for port, command, error, time in _read(server, capture, "afp.time", names)
    ]


def bytes_of(server: Server, capture: Path) -> dict[int, tuple[int, int]]:
    """Client's port -> bytes from it, bytes to it. Call it once all is captured."""
    out: dict[int, tuple[int, int]] = {}
    names = ["tcp.srcport", "tcp.dstport", "tcp.len"]
    for source, target, size in _read(server, capture, "tcp.len > 0", names):
        here = int(source) == server.port
        sent, received = out.setdefault(int(target if here else source), (0, 0))
        more = (0, int(size)) if here else (int(size), 0)
        out[int(target if here else source)] = sent + more[0], received + more[1]
    return out


def _read(server: Server, capture: Path, which: str, names: Sequence[str]) -> list[tuple[str, ...]]:
    fields = [word for name in names for word in ("-e", name)]
    lines = subprocess.run(
        [
            *("tshark", "-n", "-r", capture, "-d", f"tcp.port=={server.port},dsi"),
            *("-o", "tcp.reassemble_out_of_order:TRUE"),  # two CPUs: as the capture has them
            *("-Y", which, "-T", "fields", *fields),
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    return [tuple(line.split("\t")) for line in lines]
