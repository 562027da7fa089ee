# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs afpscope and reads what it saved; and what the tests know about lantest."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netatalk import USERS, Server
from scheduling import number_of_worker

REPO = Path(__file__).resolve().parents[3]
LIB = Path(__file__).resolve().parent
# Before a command line: as on a kernel that refuses bpf(2).
WITHOUT_BPF = (sys.executable, str(LIB / "nobpf.py"))
BUILD = REPO / "build"

# Whatever a test waits for has so long at least: the machine may be busy.
PATIENCE_S = 90.0

# Exit codes: user/app/cmd.h.
OK, FAILED, USAGE, REFUSED, UNTRUSTED, NO_SESSION, LOST, SLOW, UNSURE = range(9)
INTERRUPTED = 130
# Of doctor.
FINDINGS, NOT_TOLD, NO_SERVER = 1, 4, 5

NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")

# The letters of option -f, and the tests' numbers.
LETTERS = "123456789:;<"
LETTER = dict(enumerate(LETTERS, 1))
NUMBER = {letter: number for number, letter in LETTER.items()}

# AFP commands of each test's timed region, one iteration: FP code -> count.
TIMED: dict[int, dict[int, int]] = {
    1: {34: 3000, 26: 1000, 14: 2000, 27: 1000, 4: 1000},
    2: {61: 100, 4: 1},
    3: {60: 100, 4: 1},
    4: {1: 20000},
    5: {7: 2000, 34: 2000},
    6: {9: 49},
    7: {8: 2000},
    8: {6: 1110},
    9: {34: 11000},
    10: {7: 200, 34: 400, 9: 20, 8: 200},
    11: {34: 3500},
    12: {34: 30000},
}

# A sanitizer's report may stand anywhere in stderr.
SANITIZER = re.compile(r"(Address|Leak|UndefinedBehavior)Sanitizer|runtime error:", re.MULTILINE)

# Test -> AFPD_R, AFPD_W of 4.5.1 on dbd.
DBD = {
    1: (9000, 7000),
    4: (20000, 20000),
    5: (4000, 6000),
    6: (49, 49),
    7: (2000, 8000),
    8: (1110, 3330),
    9: (11000, 11000),
    10: (820, 1620),
    11: (3500, 3500),
    12: (30000, 30000),
}
# The same with SQLite, but for the tests in which afpd writes to that.
SQLITE_WRITES = (5, 7, 8, 10)
SQLITE = {test: counts for test, counts in DBD.items() if test not in SQLITE_WRITES}


class Phase:
    """One timed region of a saved run."""

    def __init__(self, saved: dict[str, Any]) -> None:
        self.saved = saved
        self.test: int = saved["test"]
        self.iteration: int = saved["iteration"]
        self.title: str = saved["title"]
        self.complete: bool = saved["complete"]
        self.metrics: dict[str, int | None] = saved["metrics"]

    def __getitem__(self, metric: str) -> int:
        value = self.metrics[metric]
        assert value is not None, f"test {self.test}: {metric} was not measured"
        return value

    def commands(self) -> dict[int, int]:
        """FP code -> how many were answered."""
        return {c["code"]: c["ops"] for c in self.saved["commands"]}

    def rows(self) -> list[dict[str, Any]]:
        """The calls ledger."""
        rows = self.saved["ledger"]["rows"]
        assert rows is not None, f"test {self.test}: calls were not counted"
        return rows

    def calls(self, role: str, kind: str, obj: str | None = None) -> int:
        """Calls of a role and class, on one object or on all."""
        return sum(
            row["calls"]
            for row in self.rows()
            if row["role"] == role and row["class"] == kind and obj in (None, row["object"])
        )

    def ticks(self) -> int:
        """How often afpd's session woke itself: every 30 s of its life a timer's
        handler writes to its self-pipe, and the main loop reads that."""
        return self.calls("afpd", "write", "pipe")

    def ticked(self) -> int:
        """How often afpd's session has read of a tick; the write may be in another phase."""
        return sum(
            row["calls"] - row["errors"]
            for row in self.rows()
            if (row["role"], row["class"], row["object"]) == ("afpd", "read", "pipe")
        )

    def columns(self) -> tuple[int, int]:
        """AFPD_R and AFPD_W of the test's work: without the ticks, which only runs longer
        than 30 s have. A tick's write may be in one phase and its read in the next."""
        return self["afpd_syscr"] - self.ticked(), self["afpd_syscw"] - self.ticks()

    def by_class(self, role: str) -> Counter[str]:
        """Class -> calls of a role."""
        found: Counter[str] = Counter()
        for row in self.rows():
            if row["role"] == role:
                found[row["class"]] += row["calls"]
        return found

    def accounts(self) -> dict[int, dict[str, Any]]:
        """The requests ledger, by number: AFP commands, and 256 + DSI commands."""
        accounts = self.saved["ledger"]["requests"]
        assert accounts is not None, f"test {self.test}: requests were not counted"
        return {account["number"]: account for account in accounts}

    def requests(self) -> dict[int, int]:
        """FP code -> requests the server answered, none that is 0."""
        return {
            number: account["requests"]
            for number, account in self.accounts().items()
            if number < 256 and account["requests"]
        }

    def outside(self) -> dict[str, dict[str, Any]]:
        """What was done in no request, by name."""
        outside = self.saved["ledger"]["outside"]
        assert outside is not None, f"test {self.test}: requests were not counted"
        return {account["name"]: account for account in outside}


class Run:
    """A saved run.json."""

    def __init__(self, saved: dict[str, Any]) -> None:
        self.saved = saved
        self.phases = [Phase(phase) for phase in saved["phases"]]

    @classmethod
    def load(cls, path: Path) -> Run:
        return cls(json.loads(path.read_text()))

    @property
    def complete(self) -> bool:
        return self.saved["complete"]

    def phase(self, test: int, iteration: int = 1) -> Phase:
        found = [p for p in self.phases if (p.test, p.iteration) == (test, iteration)]
        assert len(found) == 1, f"{len(found)} phases of test {test} run {iteration}"
        return found[0]

    def pid(self, role: str) -> int:
        """The watched process, as the report names it."""
        found = re.match(r"pid (\d+)\b", self.saved["server"][role])
        assert found, self.saved["server"][role]
        return int(found[1])

    def losses(self) -> int:
        return sum(loss["n"] for loss in self.saved["losses"])

    def warning(self, key: str) -> str:
        """The texts of all warnings of a key."""
        return "\n".join(w["text"] for w in self.saved["warnings"] if w["key"] == key)

    def open_books(self) -> list[str]:
        return [
            f"{book['name']}: ours {book['ours']}, theirs {book['theirs']}"
            for book in self.saved["books"]
            if not book["closed"]
        ]

    def ticks(self) -> int:
        return sum(phase.ticks() for phase in self.phases)

    def unknown(self) -> set[str]:
        """Metrics that no phase knows, without those of smallfile or of rx alone."""
        return {
            key
            for key in set(self.phases[0].metrics) - {"cache_looked", "cached"}
            if not key.startswith("rx_")
            and all(phase.metrics[key] is None for phase in self.phases)
        }

    def assert_trustworthy(self) -> None:
        assert self.complete
        assert self.saved["books"], "no book was kept"
        assert not self.open_books()
        assert not self.losses(), self.saved["losses"]
        assert not self.saved["warnings"]


@dataclass
class Done:
    """A finished command."""

    command: list[str]
    status: int
    out: str
    err: str
    seconds: float
    run: Run | None = None
    messages: list[str] = field(init=False)

    def __post_init__(self) -> None:
        found = SANITIZER.search(self.err)
        assert not found, f"{self.command}: a sanitizer reports:\n{self.err}"
        # Negative: killed by that signal.
        assert self.status >= 0, f"{self}: crashed"
        self.messages = [line for line in self.err.splitlines() if line.startswith("afpscope: ")]

    def __str__(self) -> str:
        return (
            f"{' '.join(self.command)}: status {self.status} after {self.seconds:.1f} s\n"
            f"--- stdout\n{self.out[-3000:]}\n--- stderr\n{self.err[-3000:]}"
        )

    def expect(self, status: int, *texts: str) -> Done:
        """This status, and one message of one line that holds all the texts."""
        assert self.status == status, f"expected status {status}: {self}"
        if texts:
            assert any(all(t in line for t in texts) for line in self.messages), (
                f"no message with {texts}: {self}"
            )
        return self


@dataclass(frozen=True)
class Both:
    """All twelve tests, by CNID scheme."""

    dbd: Done
    sqlite: Done


@dataclass
class Running:
    """A started command. Its output goes to files, which can be looked at meanwhile."""

    command: list[str]
    process: subprocess.Popen[str]
    folder: Path
    started: float
    json: Path | None

    @property
    def err(self) -> str:
        return (self.folder / "err").read_text()

    def wait_for(self, text: str, times: int = 1, timeout: float = 120) -> None:
        """Until stderr holds text that often."""
        wait_until(
            lambda: self.err.count(text) >= times or self.process.poll() is not None,
            timeout,
            f"{text!r} of {self.command}",
        )
        assert self.err.count(text) >= times, f"ended early:\n{self.err}"

    def wait_recording(self, timeout: float = 60) -> None:
        """Until a recorder counts."""
        self.wait_for(": recording process ", timeout=timeout)

    def wait_until_noticed(self, number: signal.Signals) -> None:
        """Until the command would do more about the signal than end of it."""
        path = Path(f"/proc/{self.process.pid}/status")

        def noticed() -> bool:
            sets = re.findall(r"^Sig(?:Blk|Cgt):\s*(\w+)$", path.read_text(), re.M)
            return any(int(mask, 16) >> (number - 1) & 1 for mask in sets)

        wait_until(noticed, 10, f"{self.command} to notice {number.name}")

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def finish(self, timeout: float = 120) -> Done:
        timeout = max(timeout, PATIENCE_S)
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(
                f"{self.command} hangs: not done {timeout:.0f} s later; stderr:\n{self.err}"
            ) from None
        run = None
        if self.json and self.json.exists() and self.json.stat().st_size:
            run = Run.load(self.json)
        return Done(
            self.command,
            status,
            (self.folder / "out").read_text(),
            self.err,
            time.monotonic() - self.started,
            run,
        )


class PinnedServer(Server):
    """A server whose processes and clients run on one CPU.

    On two CPUs, the wake-up of an idle one is the largest noise of small machines. Its volumes are
    in memory where they can be, unless AFPD_MEMORY is empty: ext4 without a journal searches longer
    for a free inode the more inodes were freed in the last minutes.
    """

    def __init__(self, suite: str, cnid: str, cpu: int, **hooks: str) -> None:
        if "AFPD_VOL_SIZE" not in hooks and kernel() >= (6, 6):
            hooks.setdefault("AFPD_MEMORY", "50%")
        super().__init__(suite, cnid, AFPD_CPU=str(cpu), **hooks)
        self.cpu = cpu

    def restart(self) -> None:
        """Down and up on the same port; volumes and databases stay."""
        self._wanted = self.port
        self._env["AFPD_KEEP"] = "1"
        self.__exit__(None, None, None)
        self.__enter__()
        del self._env["AFPD_KEEP"]

    def __str__(self) -> str:
        return f"netatalk {self.version}, {self.cnid}"


def kernel() -> tuple[int, int]:
    """The version of Linux."""
    version = re.match(r"(\d+)\.(\d+)", os.uname().release)
    assert version
    return int(version[1]), int(version[2])


def both_cpus() -> tuple[int, int]:
    """Two CPUs to use, the first for most; the same twice where there is only one.

    Of the tests that run side by side (pytest-xdist) each has its own for most.
    """
    usable = sorted(os.sched_getaffinity(0), reverse=True)
    worker = number_of_worker()
    return usable[worker % len(usable)], usable[(worker + 1) % len(usable)]


class Scope:
    """The program under test, run on the CPU of its server."""

    def __init__(self, binary: Path, folder: Path) -> None:
        self.binary = binary
        self.folder = folder
        self._started: list[Running] = []

    def login(
        self,
        server: Server,
        *,
        volume: str | None = "vol1",
        user: str | None = "bench1",
        password: str | None = None,
        uam: str | None = "cleartext",
        host: str = "127.0.0.1",
    ) -> list[str]:
        """The options that name a server; None leaves one out."""
        if password is None and user is not None:
            password = USERS.get(user)
        options = {"-s": volume, "-u": user, "-w": password, "--uam": uam}
        return [
            *("-h", host, "-p", str(server.port)),
            *(word for pair in options.items() if pair[1] is not None for word in pair),
        ]

    def command(
        self, server: Server | None, *args: str, tool: str = "lantest", **login: Any
    ) -> list[str]:
        where = self.login(server, **login) if server else []
        pin = pinning(server) if server else []
        return [*pin, str(self.binary), tool, *where, *args]

    def start(
        self,
        command: Sequence[str],
        *,
        save: bool = False,
        env: dict[str, str] | None = None,
    ) -> Running:
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        saved = folder / "run.json" if save else None
        line = [*command, *(["--json", str(saved)] if saved else [])]
        with (folder / "out").open("w") as out, (folder / "err").open("w") as err:
            process = subprocess.Popen(
                line,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                text=True,
                env=os.environ | (env or {}),
                start_new_session=True,  # no terminal to ask a password on
            )
        running = Running(line, process, folder, time.monotonic(), saved)
        self._started.append(running)
        return running

    def end_all(self) -> None:
        """What a failed test left running."""
        for running in self._started:
            if running.process.poll() is None:
                running.process.kill()
                running.process.wait()
        self._started.clear()

    def execute(
        self,
        command: Sequence[str],
        *,
        save: bool = False,
        timeout: float = 120,
        env: dict[str, str] | None = None,
    ) -> Done:
        return self.start(command, save=save, env=env).finish(timeout)

    def page(self, command: str) -> str:
        """The manual page of a command of the program, with its options."""
        template = (REPO / f"docs/afpscope-{command}.1.in").read_text()
        line = [str(self.binary), "--manual"]
        return subprocess.run(
            line, input=template, check=True, capture_output=True, text=True
        ).stdout

    def __call__(
        self,
        server: Server | None,
        *args: str,
        save: bool = False,
        timeout: float = 120,
        env: dict[str, str] | None = None,
        **login: Any,
    ) -> Done:
        """afpscope lantest, to its end."""
        return self.execute(
            self.command(server, *args, **login), save=save, timeout=timeout, env=env
        )

    def recorder(self, server: Server | None, *args: str, command: Sequence[str] = ()) -> list[str]:
        """The command line of a recorder of this server's port, or of what args say."""
        pin = pinning(server) if server else []
        where = ["--port", str(server.port)] if server else []
        then = ["--", *command] if command else []
        return [*pin, str(self.binary), "record", *where, *args, *then]

    def record(
        self,
        server: Server | None,
        *args: str,
        command: Sequence[str] = (),
        before: Sequence[str] = (),
    ) -> Running:
        """A started recorder; what it saves is read at its end."""
        saved = Path(tempfile.mkdtemp(dir=self.folder)) / "run.json"
        line = self.recorder(server, "--json", str(saved), *args, command=command)
        running = self.start([*before, *line])
        running.json = saved
        return running

    def measure(self, server: Server, *args: str, timeout: float = 120) -> Run:
        """A run that must succeed; what it saved."""
        done = self(server, *args, save=True, timeout=timeout).expect(OK)
        assert done.run, f"nothing was saved: {done}"
        return done.run


def pinning(server: Server) -> list[str]:
    """What to put before a command that loads this server."""
    if isinstance(server, PinnedServer):
        return ["taskset", "-c", str(server.cpu)]
    return []


def seen(folder: Path, pattern: str) -> list[Path]:
    """What is there by this pattern; nothing where folders go while they are looked at."""
    with contextlib.suppress(FileNotFoundError):
        return list(folder.glob(pattern))
    return []


def wait_until(
    condition: Callable[[], bool], timeout: float, what: str, step: float = 0.01
) -> None:
    timeout = max(timeout, PATIENCE_S)
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"waited {timeout:.0f} s for {what}"
        time.sleep(step)


def io_of(pid: int) -> dict[str, int]:
    """What the kernel has counted of a process: syscr, wchar and others."""
    pairs = (line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return {key: int(value) for key, value in pairs}


def wait_asleep(pids: Sequence[int]) -> None:
    """Until none of them has anything to do; what followed its last reply is then done, too."""

    def state(pid: int) -> str:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

    wait_until(lambda: all(state(pid) == "S" for pid in pids), 10, f"{pids} to sleep")


def left_on(server: Server) -> list[str]:
    """Test directories on the server's volumes, seen from the disk."""
    return sorted(
        path.name
        for volume in (server.vol1, server.vol2, server.ro)
        for form in ("LanTest-*", "afpscope-replay-*")
        for path in volume.glob(form)
    )


def sweep(server: Server) -> list[str]:
    """Removes them, on the disk, so that one failure is not everybody's."""
    left = left_on(server)
    for name in left:
        for volume in (server.vol1, server.vol2, server.ro):
            shutil.rmtree(volume / name, ignore_errors=True)
    return left


def processes_of(server: Server) -> list[int]:
    """Every process of a server, told by its configuration file."""
    conf = f"/inst/{server.port}/afp.conf".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                if conf in (folder / "cmdline").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return sorted(found)


def children(pid: int) -> list[int]:
    return sorted(
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    )


def kill(pids: Sequence[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def crash(server: PinnedServer, away: float = 1) -> None:
    """All its processes are killed; after a while it is started again, with its volumes."""
    kill(processes_of(server))
    time.sleep(away)
    server.restart()


def pidfd(pid: int) -> int:
    return os.pidfd_open(pid)
