# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers, the program under test, and a time limit for every test.

AFPSCOPE names the binary (default: build/afpscope).
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import scheduling
from afpclient import AfpClient, Busy
from netatalk import Server
from netns import elsewhere as server_elsewhere
from recording import gone
from scope import (
    BUILD,
    OK,
    REPO,
    Both,
    Done,
    PinnedServer,
    Scope,
    both_cpus,
    kill,
    pinning,
    sweep,
)

# Whoever started the tests may ignore ^C, as a shell does for what it starts in the background. The
# programs under test would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Nor are the tests about what they have set for their own use of the program.
for _name in ("AFPSCOPE_PASSWORD", "NO_COLOR"):
    os.environ.pop(_name, None)

BUSY = 3  # a busy machine takes so many times as long


def pytest_configure() -> None:
    """SIGTERM, as from timeout(1), ends the tests as ^C does: the servers end with them.

    Workers without a CPU of their own keep it from nobody.
    """
    if scheduling.number_of_worker() >= scheduling.PINNED:
        os.nice(scheduling.BEHIND)

    def interrupt(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, interrupt)


# First, as pytest-xdist notes the groups in this hook, too.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """-m "not slow": a test with a limit of its own is slow. With --dist loadgroup: by file."""

    def file(item: pytest.Item) -> str:
        return item.path.stem.removeprefix("test_")

    items.sort(key=lambda item: scheduling.place(file(item)))
    for item in items:
        item.add_marker(pytest.mark.xdist_group(scheduling.group(file(item))))
        if item.get_closest_marker("limit"):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """None: the one that --dist names."""
    return scheduling.scheduler(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The cases that failed, a line each, for tests/integration.sh."""
    if to := os.environ.get("AFPSCOPE_FAILED"):
        stats = terminalreporter.stats
        failed = {it.nodeid for it in [*stats.get("failed", ()), *stats.get("error", ())]}
        # Behind the last @: the group, from pytest-xdist.
        Path(to).write_text("".join(f"{re.sub('@[^@]*$', '', it)}\n" for it in sorted(failed)))


def pass_over_leaks(monkeypatch: pytest.MonkeyPatch, folder: Path, *libraries: str) -> None:
    """What these libraries leak is no fault of a sanitized program; folder: for the list."""
    known = folder / "known-leaks"
    known.write_text("".join(f"leak:{name}\n" for name in libraries))
    monkeypatch.setenv("LSAN_OPTIONS", f"suppressions={known}:print_suppressions=0")


@pytest.fixture
def with_libgfapi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a sanitized program needs to run with libgfapi.

    It wraps functions of libtirpc, which it must find when it begins; and libglusterfs leaks
    where it finds no volume.
    """
    pass_over_leaks(monkeypatch, tmp_path, "libglusterfs.so", "libgfapi.so")
    monkeypatch.setenv("LD_PRELOAD", "libtirpc.so.3")


@pytest.fixture
def with_libnfs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a sanitized program needs to run with libnfs, which keeps the name of a client of
    NFSv4."""
    pass_over_leaks(monkeypatch, tmp_path, "libnfs.so")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "afpscope", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.fixture(scope="session", autouse=True)
def _ready() -> None:
    assert os.geteuid() == 0, "the tests of the whole program need root"


@contextlib.contextmanager
def no_longer_than(seconds: float) -> Iterator[None]:
    """TimeoutError where the block takes longer; prints who was at work then.

    Now and then, on a busy machine, pytest-xdist runs all tests of a worker in a thread that is not
    the main one, which gets no signals: then the worker ends, and pytest-xdist names the test.
    """
    if threading.current_thread() is not threading.main_thread():
        faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
        return

    def expired(_number: int, _frame: object) -> None:
        columns = "pid,ppid,etimes,stat,wchan:20,args"
        listed = subprocess.run(["ps", "axwwfo", columns], capture_output=True, text=True)
        for line in listed.stdout.splitlines():
            if re.search(r"PPID|afpscope|lantest|afpd|cnid_|bpftrace|dumpcap|strace", line):
                print(line[:200])
        raise TimeoutError(f"not done after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# The limit holds for the test alone: what it shares with others is made before.
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    marker = item.get_closest_marker("limit")
    with no_longer_than(BUSY * (marker.args[0] if marker else 120)):
        yield


@pytest.fixture(scope="session")
def scope(tmp_path_factory: pytest.TempPathFactory) -> Scope:
    binary = Path(os.environ.get("AFPSCOPE") or BUILD / "afpscope").absolute()
    assert binary.is_file(), f"{binary} is not there: run make, or set AFPSCOPE"
    os.environ["AFPSCOPE_RUNS"] = str(tmp_path_factory.mktemp("kept"))  # not among the user's
    return Scope(binary, tmp_path_factory.mktemp("runs"))


@pytest.fixture
def public(scope: Scope) -> Iterator[Path]:
    """The program, in a folder where everybody may run it, and write."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(shutil.copy(scope.binary, name))


@pytest.fixture(scope="session")
def _dbd() -> Iterator[Server]:
    with PinnedServer("forky", "dbd", both_cpus()[0]) as server:
        yield server


@pytest.fixture(scope="session")
def _sqlite() -> Iterator[Server]:
    with PinnedServer("forky", "sqlite", both_cpus()[1]) as server:
        yield server


@pytest.fixture(scope="session")
def _old() -> Iterator[Server]:
    with PinnedServer("trixie", "dbd", both_cpus()[1]) as server:
        yield server


@pytest.fixture(autouse=True)
def _end_all(scope: Scope) -> Iterator[None]:
    yield
    scope.end_all()


def _clean(server: Server) -> Iterator[Server]:
    yield server
    left = sweep(server)
    assert not left, "the test left its directory on the volume"


@pytest.fixture
def dbd(_dbd: Server) -> Iterator[Server]:
    """netatalk 4.5.1 with cnid_dbd."""
    yield from _clean(_dbd)


@pytest.fixture
def sqlite(_sqlite: Server) -> Iterator[Server]:
    """netatalk 4.5.1, CNID in SQLite inside afpd."""
    yield from _clean(_sqlite)


@pytest.fixture
def old(_old: Server) -> Iterator[Server]:
    """netatalk 4.2.3 with cnid_dbd."""
    yield from _clean(_old)


@pytest.fixture(scope="session")
def peer_text(_dbd: Server) -> Callable[[], str]:
    """What afp_lantest prints of all twelve tests, one iteration; run once."""

    @functools.cache
    def text() -> str:
        command = [*pinning(_dbd), *_dbd.peer_command("afp_lantest", "-n", "1")]
        return subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=240
        ).stdout

    return text


@pytest.fixture(scope="session")
def twelve(scope: Scope, _dbd: Server, _sqlite: Server) -> Both:
    """Runs on both servers side by side, on a CPU of its own each."""

    def run(server: Server) -> Done:
        return scope(server, "-n", "1", "-v", save=True, timeout=240).expect(OK)

    with ThreadPoolExecutor() as pool:
        return Both(*pool.map(run, [_dbd, _sqlite]))


@pytest.fixture(scope="session")
def _guests() -> Iterator[Server]:
    with PinnedServer("forky", "dbd", both_cpus()[0]) as server:
        yield server


@pytest.fixture
def guests(_guests: Server) -> Iterator[Server]:
    """A server on which other programs may leave what they like."""
    yield _guests
    try:
        gone(_guests)
    finally:
        kill(_guests.sessions())  # one failure is not everybody's


@pytest.fixture(scope="session")
def _driver() -> None:
    """Builds verbs.c."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    target = "build/tests/integration/lib/verbs"
    subprocess.run(["make", "-s", target], cwd=REPO, check=True, env=env)


@pytest.fixture
def victim() -> Iterator[PinnedServer]:
    """A server to be killed."""
    with PinnedServer("forky", "dbd", both_cpus()[1]) as server:
        yield server


@pytest.fixture
def elsewhere() -> Iterator[tuple[Server, str]]:
    """A server behind a veth pair, and its address: to the client another host."""
    with server_elsewhere() as found:
        yield found


@pytest.fixture
def pair(guests: Server) -> Iterator[dict[int, Busy]]:
    """Two busy sessions: process -> its client."""
    with contextlib.ExitStack() as stack:
        found: dict[int, Busy] = {}
        for _ in range(2):
            client = AfpClient(guests.port)
            stack.callback(client.close)
            pid = next(p for p in guests.sessions() if p not in found)
            found[pid] = stack.enter_context(Busy(client, 0.01))
        yield found
