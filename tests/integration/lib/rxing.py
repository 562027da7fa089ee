# SPDX-License-Identifier: GPL-2.0-or-later
"""A server of ours, a bad network for Rx (rx_relay.c), and what tshark sees of it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rxpeer import FROM_CLIENT, LAST, Packet, packets
from scope import OK, REPO, Running, Scope

RELAY = "build/tests/integration/lib/rx_relay"


@dataclass(frozen=True)
class Way:
    """What became of the datagrams of one direction."""

    received: int
    lost: int
    doubled: int
    late: int
    sent: int
    overtaken: int  # sent after a later one
    refused: int  # by the kernel: nobody has the port


def relay_program() -> Path:
    """Built where it is not there."""
    if not (REPO / RELAY).exists():
        env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
        subprocess.run(["make", "-s", RELAY], cwd=REPO, check=True, env=env)
    return REPO / RELAY


class Relay:
    """Datagrams to its port reach the server's. Once over: what it did."""

    to_server: Way
    to_client: Way
    own_drops: int

    def __init__(self, port: int, *options: str, program: Path | None = None) -> None:
        self._command = [str(program or relay_program()), *options, str(port)]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout
        self.port = int(self._process.stdout.readline().removeprefix("port "))
        self._open = self._files()
        return self

    def _files(self) -> int:
        return len(list(Path(f"/proc/{self._process.pid}/fd").iterdir()))

    def clients(self) -> int:
        """So many have sent something."""
        return self._files() - self._open

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        out, _ = self._process.communicate(timeout=90)
        did = json.loads(out)
        self.to_server, self.to_client = Way(**did["to_server"]), Way(**did["to_client"])
        self.own_drops = did["own_drops"]


class Serving:
    """afpscope rx --serve. Once over: what it did, as it says."""

    did: dict[str, Any]

    def __init__(self, scope: Scope, *options: str, status: int = OK) -> None:
        self._scope, self._options, self._status = scope, options, status

    def __enter__(self) -> Self:
        command = ["rx", "--serve", "-p", "0", "--address", "127.0.0.1", *self._options]
        self.running: Running = self._scope.start([str(self._scope.binary), *command], save=True)
        self.running.wait_for(" on UDP port ")
        found = re.search(r"UDP port (\d+), receive buffer (\d+) bytes", self.running.err)
        assert found, self.running.err
        self.port, self.buffer = int(found[1]), int(found[2])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.running.signal(signal.SIGTERM)
        saved, self.running.json = self.running.json, None
        done = self.running.finish(20)
        if not error:
            done.expect(self._status)
            assert saved
            self.did = json.loads(saved.read_text())

    def __getitem__(self, name: str) -> int:
        """A count."""
        value = (self.did["calls"] | self.did["packets"])[name]
        assert isinstance(value, int)
        return value

    def answered(self) -> int:
        return sum(self[name] for name in ("sends", "recvs", "rpcs", "files"))


def drops_of(port: int) -> int:
    """What the kernel dropped because the buffer of a UDP socket was full."""
    lines = Path("/proc/net/udp").read_text().splitlines()[1:]
    found = [line.split() for line in lines if int(line.split()[1].split(":")[1], 16) == port]
    assert len(found) == 1, found
    return int(found[0][12])


@dataclass(frozen=True)
class Seen:
    """What tshark sees of a capture."""

    types: dict[str, Counter[int]]  # by the port that sent: packets by type
    malformed: int


def seen_by_tshark(capture: Path, port: int) -> Seen:
    fields = ["udp.srcport", "rx.type", "_ws.malformed"]
    lines = subprocess.run(
        [
            *("tshark", "-n", "-r", str(capture), "-d", f"udp.port=={port},rx"),
            *("-Y", "rx", "-T", "fields", *(w for name in fields for w in ("-e", name))),
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    types: dict[str, Counter[int]] = {}
    malformed = 0
    for line in lines:
        source, kinds, bad = line.split("\t")
        malformed += bool(bad)
        for kind in kinds.split(","):
            types.setdefault(source, Counter())[int(kind)] += 1
    return Seen(types, malformed)


def total(counters: Sequence[Counter[int]]) -> Counter[int]:
    return sum(counters, Counter())


def ask(port: int, kind: int, data: bytes, seconds: float = 5) -> bytes:
    """What any server of Rx answers outside of calls: VERSION, DEBUG.

    A server whose buffer is full does not see the question: it is asked again.
    """
    question = Packet(0, 0, 77, 0, 1, kind, FROM_CLIENT | LAST, service=0, data=data).bytes()
    end = time.monotonic() + seconds
    with socket.socket(type=socket.SOCK_DGRAM) as s:
        s.settimeout(0.2)
        while True:
            s.sendto(question, ("127.0.0.1", port))
            try:
                answer = next(packets(s.recv(65536)))
                break
            except TimeoutError:
                if time.monotonic() > end:
                    raise
    assert (answer.type, answer.call, answer.flags & FROM_CLIENT) == (kind, 77, 0)
    return answer.data
