# SPDX-License-Identifier: GPL-2.0-or-later
"""What went over the loopback, as tshark reads it: one line for each AFP request."""

from __future__ import annotations

import socket
import subprocess
import tempfile
from collections.abc import Sequence
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


def requests_of(server: Server, command: Sequence[str]) -> list[tuple[str, ...]]:
    """Runs a command, which must succeed; its requests after the login."""
    with tempfile.TemporaryDirectory() as name:
        capture, log = Path(name) / "cap", Path(name) / "log"
        with log.open("w") as out:
            dumpcap = subprocess.Popen(
                ["dumpcap", "-i", "lo", "-f", f"port {server.port}", "-B", "64", "-w", capture],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        wait_until(lambda: "File: " in log.read_text(), 10, "dumpcap to begin")
        try:
            done = subprocess.run(
                ["timeout", "-k", "5", "60", *command],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            wait_until(lambda: not server.sessions(), 10, "the session to end")
            # What is captured is written in order, not at once: all is there when this is.
            marker = f"the end of {capture}".encode()
            with socket.socket(type=socket.SOCK_DGRAM) as s:
                s.sendto(marker, ("127.0.0.1", server.port))
            wait_until(lambda: marker in capture.read_bytes(), 10, "the end of the capture", 0.05)
        finally:
            dumpcap.terminate()
            dumpcap.wait(10)
        assert done.returncode == 0, f"{done}"
        return _read(server, capture)


def _read(server: Server, capture: Path) -> list[tuple[str, ...]]:
    fields = [word for field in FIELDS for word in ("-e", field)]
    lines = subprocess.run(
        [
            *("tshark", "-n", "-r", capture, "-d", f"tcp.port=={server.port},dsi"),
            *("-o", "tcp.reassemble_out_of_order:TRUE"),  # two CPUs: as the capture has them
            *("-Y", f"tcp.dstport == {server.port} && afp.command", "-T", "fields", *fields),
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    found = [tuple(line.split("\t")) for line in lines]
    login = next(i for i, each in enumerate(found) if each[0] == "24")
    return found[login:]
