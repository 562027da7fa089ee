# SPDX-License-Identifier: GPL-2.0-or-later
"""record --kind any: a program that speaks no protocol we know, with known calls.

Tests user/kinds/any.c, kind.c, user/host/cgroup.c, user/run/kind.c, user/attach/threads.c,
user/report/screen/screen_any.c.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from netatalk import BOUND
from scope import NO_SESSION, OK, Run, Scope, wait_until

READS, STATS = 5000, 700
AFP_WORDS = re.compile("afp(?!scope)|cnid|netatalk|dsi(?!on)", re.I)
# Listens; for each connection its two workers make the known calls. A child makes some, too: not
# of os.fork, which reads /proc/self/stat since Python 3.12.
PROGRAM = f"""
import ctypes, os, socket, sys, threading
fork = ctypes.PyDLL(None).fork
fd = os.open(sys.argv[2], os.O_RDONLY)
turn, done = threading.Semaphore(0), threading.Semaphore(0)
def work(name, call, n):
    open(f"/proc/self/task/{{threading.get_native_id()}}/comm", "w").write(name)
    while True:
        turn.acquire() if call is read else other.acquire()
        for _ in range(n):
            call()
        done.release()
def read(): os.pread(fd, 10, 0)
def stat(): os.stat("/")
other = threading.Semaphore(0)
threading.Thread(target=work, args=("reader01", read, {READS}), daemon=True).start()
threading.Thread(target=work, args=("statter02", stat, {STATS}), daemon=True).start()
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    connection, _ = listener.accept()
    turn.release(); other.release()
    done.acquire(); done.acquire()
    child = fork()
    if not child:
        for _ in range(300):
            os.pread(fd, 10, 0)
        os._exit(0)
    os.waitpid(child, 0)
    connection.sendall(b"done")
    connection.close()
"""
ASK = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1]))).recv(9)"


class Program:
    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.name = f"toyserver{self.port}"
        (folder / "data").write_bytes(b"x" * 100)
        (folder / "program.py").write_text(PROGRAM)
        # A name of its own: a link would show the interpreter's.
        (folder / self.name).write_bytes(Path(os.path.realpath(sys.executable)).read_bytes())
        (folder / self.name).chmod(0o755)
        self.process = subprocess.Popen(
            [*BOUND, folder / self.name, folder / "program.py", str(self.port), folder / "data"],
            env={**os.environ, "PYTHONHOME": sys.base_prefix},
        )
        wait_until(self._listens, 10, "the program to listen")

    def _listens(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)) as c:
            return c.recv(9) == b"done"
        return False


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    it = Program(tmp_path_factory.mktemp("any"))
    yield it
    it.process.kill()
    it.process.wait()


def asked(scope: Scope, program: Program, *args: str) -> tuple[Run, str]:
    """A recording in which the program is asked once, and the screen."""
    command = [sys.executable, "-c", ASK, str(program.port)]
    done = scope.record(None, *args, command=command).finish().expect(OK)
    run = done.run
    assert run and not run.open_books() and not run.losses() and run.saved["kind"] == "any"
    return run, done.out


def calls(run: Run, kind: str, obj: str) -> int:
    return run.phases[0].calls("server", kind, obj)


def assert_counted(run: Run) -> None:
    assert calls(run, "read", "data file") == READS + 300
    assert calls(run, "stat", "-") == STATS
    assert run.saved["sessions"] == []
    names = {t["name"]: t for t in run.saved["threads"]}
    assert names["reader*"]["threads"] == 1 and names["reader*"]["cpu_ns"] > 0
    assert names["statter*"]["threads"] == 1


@pytest.mark.parametrize("how", ["--pid", "--port", "--exe"])
def test_every_call_is_counted_however_the_program_is_named(
    scope: Scope, program: Program, how: str
) -> None:
    value = {"--pid": program.process.pid, "--port": program.port, "--exe": program.name}[how]
    run, out = asked(scope, program, "--kind", "any", how, str(value))
    assert_counted(run)
    assert "cross-checks agree" in out and "reader*" in out and "read · data file" in out
    assert len(out.splitlines()) <= 40
    said = out + str({k: v for k, v in run.saved.items() if k != "tool"})
    assert not AFP_WORDS.findall(said)


def test_the_processes_of_a_unit(scope: Scope, program: Program) -> None:
    root = next(
        r for r in map(Path, ("/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup"))
        if (r / "cgroup.procs").exists()
    )  # fmt: skip
    unit = root / f"{program.name}.service"
    unit.mkdir()
    try:
        (unit / "cgroup.procs").write_text(str(program.process.pid))
        for name in (program.name, unit.name, f"{root}/{unit.name}"):
            assert_counted(asked(scope, program, "--unit", name)[0])
    finally:
        (root / "cgroup.procs").write_text(str(program.process.pid))
        unit.rmdir()


def test_its_report_has_no_word_of_another_kind(scope: Scope, program: Program) -> None:
    pid = str(program.process.pid)
    running = scope.record(None, "--kind", "any", "--pid", pid, "-d", "1", "-v")
    done = running.finish().expect(OK)
    assert "server: system calls" in done.out and not AFP_WORDS.findall(done.out)
    assert done.run
    assert [metric["key"] for metric in done.run.saved["metrics"]] == ["elapsed"]


@pytest.mark.parametrize(
    ("args", "status", "text"),
    [
        (["--kind", "any"], NO_SESSION, "--pid, --port, --exe or --unit"),
        (["--exe", "no-such-program"], NO_SESSION, "ps -e"),
        (["--unit", "no-such-unit"], NO_SESSION, "there is no cgroup of that name"),
        (["--kind", "any", "--pid", "999999999"], NO_SESSION, "there is no process"),
    ],
)
def test_what_cannot_be_done_is_said(scope: Scope, args: list[str], status: int, text: str) -> None:
    scope.execute([str(scope.binary), "record", *args]).expect(status, text)
