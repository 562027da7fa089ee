# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts the server of server.c and loads it with afpscope load."""

from __future__ import annotations

import array
import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
PROGRAM = REPO / "build" / "tests" / "known" / "server"

# Only the look of a file, which is what the server delays.
LOOK = "[mix]\nname = look\nfiles = 1\nfile_size = 0\n[actions]\nlook = 1\n"

# Before all other programs of the machine, so that these do not make the answers late.
FIRST = ("chrt", "-f", "10")


MPI = ("OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")


def shapes(clients: int) -> dict[str, tuple[Sequence[str], Sequence[str]]]:
    """The same clients in threads and in processes: what stands before the program, its options."""
    found: dict[str, tuple[Sequence[str], Sequence[str]]] = {
        f"{t} threads": (FIRST, [f"--threads={t}"]) for t in (1, 2, clients)
    }
    if shutil.which("mpirun.openmpi"):
        start = (*FIRST, "env", *MPI, "mpirun.openmpi", "--oversubscribe", "-n", str(clients))
        found[f"{clients} ranks"] = (start, ["--mpi"])
    return found


# Above those: how long a CPU ran nothing of ours at all, in seconds beyond a millisecond each time.
METRONOME = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
lost, worst = 0.0, 0.0
try:
    while True:
        begin = time.monotonic()
        time.sleep(0.002)
        late = time.monotonic() - begin - 0.002
        if late > 0.001:
            lost += late
            worst = max(worst, late)
finally:
    print(lost, worst)
"""


@dataclass
class Quiet:
    """What the machine took from the programs that run before all others."""

    lost_s: float = 0  # of all CPUs
    worst_s: float = 0


@contextlib.contextmanager
def watched() -> Iterator[Quiet]:
    """Known after the block: nobody's error, but the machine's."""
    found = Quiet()
    running = []
    for cpu in os.sched_getaffinity(0):
        command = ["taskset", "-c", str(cpu), "chrt", "-f", "11", sys.executable, "-c", METRONOME]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    try:
        yield found
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            out, _ = process.communicate(timeout=30)
            lost, worst = map(float, out.split() or (0, 0))  # ended before it looked at all
            found.lost_s += lost
            found.worst_s = max(found.worst_s, worst)


@contextlib.contextmanager
def own_network() -> Iterator[None]:
    """What is started in the block has a loopback of its own, without pacing.

    BBR paces by what it measured before, which adds a time of its own to each answer.
    """
    setns = ctypes.CDLL(None, use_errno=True).setns
    name = f"afpscope-known-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        with (
            Path("/proc/self/ns/net").open() as before,
            Path(f"/run/netns/{name}").open() as space,
        ):
            if setns(space.fileno(), 0):
                raise OSError(ctypes.get_errno(), "setns")
            try:
                Path("/proc/sys/net/ipv4/tcp_congestion_control").write_text("reno")
                yield
            finally:
                setns(before.fileno(), 0)
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


@cache
def program() -> str:
    """The server, built."""
    target = PROGRAM.relative_to(REPO)
    subprocess.run(["make", "-s", "-C", str(REPO), str(target)], check=True, stdout=sys.stderr)
    return str(PROGRAM)


@dataclass(frozen=True)
class Answer:
    """One request that the server delayed. Seconds of CLOCK_MONOTONIC."""

    arrived: float
    service: float
    due: float
    sent: float


@dataclass
class Known:
    """A running server; what it did is known once it has ended."""

    port: int
    folder: Path
    process: subprocess.Popen[str]
    counts: dict[str, int] = field(default_factory=dict)
    _log: list[Answer] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"afp://127.0.0.1:{self.port}/vol1"

    def end(self) -> None:
        if self.process.returncode is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=30)
        self.counts = json.loads(out)
        if (log := self.folder / "log").exists():
            raw = array.array("Q")
            raw.frombytes(log.read_bytes())
            s = [v / 1e9 for v in raw]
            self._log = [Answer(*s[i : i + 4]) for i in range(0, len(s), 4)]

    def answers(self, begin: float = 0, end: float = float("inf")) -> list[Answer]:
        """Of requests that arrived from begin to end, in the order of their answers."""
        return [a for a in self._log if a.due and begin <= a.arrived < end]

    def tickles(self) -> list[float]:
        """When each arrived."""
        return [a.arrived for a in self._log if not a.due]


@contextlib.contextmanager
def known(
    *options: str, log: bool = True, before: Sequence[str] = FIRST, port: int = 0
) -> Iterator[Known]:
    """Options are those of server.c."""
    folder = Path(tempfile.mkdtemp(prefix="known-"))
    command = [*before, program(), "--port", str(port), *options]
    command += ["--log", str(folder / "log")] if log else []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        word, number = process.stdout.readline().split()
        assert word == "port"
        server = Known(int(number), folder, process)
        yield server
        server.end()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        shutil.rmtree(folder)


@dataclass
class Load:
    """A run of afpscope load that has been started."""

    process: subprocess.Popen[bytes]
    folder: Path

    def end(self) -> dict[str, Any]:
        """Waits for it: what it saved."""
        status = self.process.wait(timeout=1200)
        err = (self.folder / "err").read_text()
        assert status == 0, f"afpscope load ended with {status}: {err}"
        assert "Sanitizer" not in err and "runtime error" not in err, err
        return json.loads((self.folder / "run.json").read_text())


@contextlib.contextmanager
def load(
    binary: Path | str, url: str, *options: str, mix: str = LOOK, before: Sequence[str] = FIRST
) -> Iterator[Load]:
    """mix: the text of an INI file, or the name of one that is built in."""
    with tempfile.TemporaryDirectory(prefix="load-") as name:
        folder = Path(name)
        if "\n" in mix:
            (folder / "mix.ini").write_text(mix)
            mix = str(folder / "mix.ini")
        command = [*before, str(binary), "load", "--uam=guest", "--watch=off", "--no-probe"]
        command += ["--no-save", f"--json={folder / 'run.json'}", f"--mix={mix}", *options, url]
        with (folder / "err").open("wb") as err:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err
            )
        try:
            yield Load(process, folder)
        finally:
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()


def phase(run: dict[str, Any]) -> dict[str, Any]:
    """The load's account of a saved run."""
    found = run["phases"][0]["load"]
    assert isinstance(found, dict)
    return found


def latency(run: dict[str, Any], since: str) -> dict[str, int]:
    """Of its one action, ns; since: "planned", "begun"."""
    (action,) = phase(run)["actions"]
    assert not action["failed"], action
    found = action[since]
    assert isinstance(found, dict)
    return found
