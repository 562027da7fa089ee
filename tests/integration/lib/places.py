# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of places share: a small server in namespaces of its own, and its clients."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from afpclient import COMMAND, OPEN_SESSION, AfpClient
from netns import inside

LITTLE = Path(__file__).with_name("littleserver.py")
STAT = 34  # FPGetFileDirParms


class LittleClient(AfpClient):
    """A session with a server that answers everything by 0."""

    def __init__(self, port: int) -> None:
        self._id = 0
        self._lock = threading.Lock()
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=90)
        self._exchange(OPEN_SESSION, b"")
        self._exchange(COMMAND, bytes([18]))

    def ask(self, times: int = 1) -> None:
        for _ in range(times):
            self._exchange(COMMAND, bytes([STAT]))


class LittleServer:
    """tests/integration/lib/littleserver.py; pid and port as seen here."""

    def __init__(self, process: subprocess.Popen[str], own_net: bool) -> None:
        assert process.stdout
        self.port = int(process.stdout.readline())
        self.pid = process.pid
        while children := Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split():
            self.pid = int(children[0])
        self._net = f"/proc/{self.pid}/ns/net" if own_net else "/proc/self/ns/net"

    @contextlib.contextmanager
    def client(self) -> Iterator[LittleClient]:
        with inside(self._net):
            client = LittleClient(self.port)
        with contextlib.closing(client):
            yield client


def _map_users(pid: int, first: int) -> None:
    for name in ("uid_map", "gid_map"):
        Path(f"/proc/{pid}/{name}").write_text(f"0 {first} 65536\n")


@contextlib.contextmanager
def little_server(
    *uids: int,
    before: Sequence[str] = (),
    root: Path | None = None,
    work: str | None = None,
    mapped: int = 0,
) -> Iterator[LittleServer]:
    """work: it is called afpd, and works there. mapped: its user namespace's user 0 is this one."""
    line = [*before, sys.executable, str(LITTLE), *(["--user-namespace"] if mapped else [])]
    line += [*(["--root", str(root)] if root else []), *(["--work", work] if work else [])]
    line += map(str, uids)
    pipe = subprocess.PIPE
    with subprocess.Popen(line, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin and process.stdout
        try:
            if mapped:
                assert process.stdout.readline() == "ready\n"
                _map_users(process.pid, mapped)
                print(file=process.stdin, flush=True)
            yield LittleServer(process, "--net" in before)
        finally:
            process.stdin.close()
