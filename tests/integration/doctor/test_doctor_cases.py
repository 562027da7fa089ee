# SPDX-License-Identifier: GPL-2.0-or-later
"""Cases in which a false cause was named once, or none: what is said now, and what is not.

Each makes its fault on a server of its own, for seconds. All screens are of 80 columns; whatever is
said, no share is above 100 %, and nothing false is sure. Faults by dose: tests/doctor/lab.py.
The limits of each rule are tried in unit/doctor: of a few rules `make check` makes the fault
itself, of the others `make check-judges`.

Tests user/doctor/rules/rules_server.c, rules_storage.c.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from afpclient import AfpClient, Busy
from cnidfaults import database_stopped, folder_locked, killing, metad_killed, metad_stopped
from company import arriving
from diskfaults import BLKIO, cold_reads, filled, io_limit, own_mount, read_only
from disturbed import DISTURBED, Disturbed, undisturbed
from far import TUN
from faults import Part, Site, repeated, send
from healthy import idle_dbd_ends
from load import Working
from netatalk import Server
from scheduling import in_check
from scope import FINDINGS, NO_SESSION, OK, Scope
from serverfaults import CPU, MEMORY, cpu_quota, crashing, master_stopped, memory_limit, traced
from terminal import on_terminal
from userfaults import big_folder, failing, lists_big
from ways import narrow_link

SECONDS = 3
METADATA = Part("metadata", 4, 0.05, ("--files=10",))
BROWSE = Part("browse", 4, 0.05, ("--files=20",))
OFFICE = Part("office", 8, 0.05, ("--file-size=256K",))
PERCENT = re.compile(r"(\d+(?:\.\d+)?)[\s\x1f]?%")


@dataclass
class Said:
    """A screen of 80 columns, and what was saved."""

    screen: str
    status: int
    run: dict[str, Any] = field(default_factory=dict)

    @property
    def findings(self) -> dict[str, dict[str, Any]]:
        """By key, the first one first."""
        return {f["key"]: f for f in self.run["diagnosis"]["findings"]}

    @property
    def words(self) -> str:
        """Without the ends of lines."""
        return " ".join(self.screen.split())

    def value(self, figure: str) -> float:
        value = self.run["figures"][figure]["value"]
        assert value is not None, self.run["figures"][figure]
        return float(value)


def say(scope: Scope, port: int | None, name: str, *options: str) -> Said:
    """What a command says of the server."""
    command = [str(scope.binary), name, *(("-p", str(port)) if port else ()), *options]
    saved = scope.folder / f"{name}-{port}.json"
    saved.unlink(missing_ok=True)
    if name in ("doctor", "record"):
        command += ["--no-save", f"--json={saved}"]
    status, screen = on_terminal(command)
    print(f"$ afpscope {' '.join(command[1:])}\n{screen}[exit status {status}]\n")
    said = Said(screen, status)
    if saved.exists():
        said.run = json.loads(saved.read_text())
    assert all(float(n) <= 100 for n in PERCENT.findall(screen)), screen
    assert all(len(row) <= 80 for row in screen.splitlines()), screen
    for key, figure in said.run.get("figures", {}).items():
        if figure["unit"] == "share" and figure["value"] is not None:
            assert 0 <= figure["value"] <= 1, f"{key} is {figure['value']}\n{screen}"
    return said


def waited_for_cpu(said: Said) -> bool:
    """Requests did, for much of their time, which may hide what else they waited for."""
    return (said.run["figures"]["wait_cpu"]["value"] or 0) > 0.3


def first_is(said: Said, key: str, *also: str, never: tuple[str, ...] = ()) -> dict[str, Any]:
    """It is the first finding; nothing else is sure but what it brings with it (also)."""
    findings = {k: f for k, f in said.findings.items() if k not in DISTURBED - {key}}
    if not findings and (said.findings or waited_for_cpu(said)):
        raise Disturbed(said.screen)
    assert next(iter(findings), None) == key, said.screen
    assert not set(never) & set(findings), said.screen
    sure = {k for k, f in findings.items() if f["sure"]}
    assert sure <= {key, *also}, said.screen
    assert said.status == FINDINGS, said.screen
    return findings[key]


def nothing_is_found(said: Said) -> None:
    assert set(said.findings) <= DISTURBED, said.screen
    assert said.status == (FINDINGS if said.findings else OK), said.screen


@pytest.fixture
def cpu(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> int:
    """This worker's: server and clients share it."""
    monkeypatch.setenv("AFPSCOPE", str(scope.binary))
    return max(os.sched_getaffinity(0))


Made = Callable[..., contextlib.AbstractContextManager[Site]]


@pytest.fixture
def served(cpu: int) -> Made:
    @contextlib.contextmanager
    def make(cnid: str = "dbd", **hooks: str) -> Iterator[Site]:
        with Server("forky", cnid, AFPD_CPU=str(cpu), **hooks) as server:
            again = f"export AFPD_KEEP=1; {server.restart_command()}"
            yield Site(
                server.port, server.pid, server.metad, server.root, server.vol1, cpu, cpu, {}, again
            )

    return make


@contextlib.contextmanager
def working(part: Part, site: Site, address: str = "") -> Iterator[None]:
    """Clients at work in the block."""
    it = Working(part, f"afp://bench1@{address or f'127.0.0.1:{site.port}'}/vol1", site.client_cpu)
    try:
        it.begun()
        yield
    finally:
        it.end()


@contextlib.contextmanager
def opening_volumes(site: Site, n: int) -> Iterator[None]:
    """Clients that log in and open a volume, whatever comes of it."""
    came: list[AfpClient] = []

    def come() -> None:
        with contextlib.suppress(OSError, RuntimeError):
            came.append(AfpClient(site.port))

    threads = [threading.Thread(target=come, daemon=True) for _ in range(n)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        send(site.afpds, signal.SIGKILL)
        for thread in threads:
            thread.join()
        for client in came:
            client.drop()


@contextlib.contextmanager
def later(seconds: float, act: Callable[[], object]) -> Iterator[None]:
    timer = threading.Timer(seconds, act)
    timer.start()
    try:
        yield
    finally:
        timer.join()


# The CNID server


@undisturbed
def test_sessions_that_hung_before_anybody_looked_are_everywhere(
    scope: Scope, served: Made
) -> None:
    asked = {
        "doctor": ("-d", "3"),
        "top": ("-n", "1", "-b"),
        "slow": ("-d", "3"),
        "record": ("-d", "3"),
    }
    with served() as site, metad_stopped(site, 1), opening_volumes(site, 3):
        time.sleep(2)
        with ThreadPoolExecutor() as pool:
            all_ = pool.map(lambda name: say(scope, site.port, name, *asked[name]), asked)
            said = dict(zip(asked, all_, strict=True))
    found = first_is(said["doctor"], "cnid-stopped")
    assert found["sure"] and "cnid_metad" in said["doctor"].screen
    top = said["top"]
    assert re.search(r"3 of 3 sessions active.* 3 in service, (the )?oldest", top.words), top.screen
    assert re.search(r"(?m)^ *\(began earlier\)", top.screen), top.screen
    assert said["slow"].screen.count("(began earlier)") == 3, said["slow"].screen
    record = said["record"].words
    assert "Requests that have had no answer" in record and "CNID server was paused" in record


@pytest.mark.judges
@undisturbed
def test_a_dead_cnid_server_is_named(scope: Scope, served: Made) -> None:
    with served() as site, metad_killed(site, 1), arriving(site, 0):
        said = say(scope, site.port, "doctor", "-d", str(SECONDS))
    found = first_is(said, "cnid-dead", never=("cnid-stopped",))
    assert "nobody listens on port" in found["text"] and said.value("volumes_refused") > 0


@pytest.mark.judges
@undisturbed
def test_a_cnid_folder_that_cannot_be_written_is_named(scope: Scope, served: Made) -> None:
    with served() as site, folder_locked(site, 1), opening_volumes(site, 3):
        time.sleep(1)
        said = say(scope, site.port, "doctor", "-d", str(SECONDS))
    found = first_is(said, "cnid-folder", never=("cnid-stopped", "cnid-dead"))
    assert "immutable" in found["text"]


@pytest.mark.judges
@undisturbed
def test_a_cnid_server_that_is_killed_comes_before_what_harms_less(
    scope: Scope, served: Made
) -> None:
    with served() as site, working(METADATA, site), killing(site, 1):
        said = say(scope, site.port, "doctor", "-d", "4")
    assert "(Killed)" in first_is(said, "cnid-restarts")["text"]


@pytest.mark.judges
def test_a_cnid_server_that_ends_by_design_is_none_that_fails(scope: Scope, served: Made) -> None:
    with served() as site, working(BROWSE, site), idle_dbd_ends(site, 0):
        said = say(scope, site.port, "doctor", "-d", "4")
    nothing_is_found(said)


# Ends of the server and of sessions


@undisturbed
def test_sessions_that_crash_are_no_clients_that_come_and_go(scope: Scope, served: Made) -> None:
    with served() as site, arriving(site, 0), crashing(site, 2):
        said = say(scope, site.port, "doctor", "-d", "4")
    found = first_is(said, "crash", never=("login-loop",))
    assert re.search(r"signal (6|11) \(", found["text"])  # afpd's own handler aborts
    assert re.search(r"its log: INTERNAL ERROR: Signal 11 in pid \d+", found["text"])


@undisturbed
@pytest.mark.parametrize("after", in_check([0.3, 1.5], [1.5]), ids=["as it begins", "meanwhile"])
def test_a_server_that_ended_is_the_first_thing_said(
    scope: Scope, served: Made, after: float
) -> None:
    def end() -> None:
        send([site.pid], signal.SIGKILL)

    with served() as site, working(BROWSE, site), later(after, end):
        said = say(scope, site.port, "doctor", "-d", "10")
    if said.status == NO_SESSION:
        raise Disturbed("it ended before it was found")
    first_is(said, "server-ended", never=("server-restarted",))
    assert "Nothing is wrong" not in said.screen


@pytest.mark.judges
@undisturbed
def test_a_server_that_was_restarted_is_told_from_one_that_ended(
    scope: Scope, served: Made
) -> None:
    def restart() -> None:
        quiet = subprocess.DEVNULL
        subprocess.run(["sh", "-c", site.restart], stdin=quiet, stderr=quiet, check=True)

    with served() as site, working(BROWSE, site), later(1.5, restart):
        said = say(scope, site.port, "doctor", "-d", "10")
    first_is(said, "server-restarted", never=("server-ended",))


# Users and clients


@pytest.mark.judges
@undisturbed
def test_one_wrong_password_is_no_slow_login(scope: Scope, served: Made) -> None:
    def mistype() -> None:
        with contextlib.suppress(OSError, RuntimeError):
            AfpClient(site.port, password="wrong")

    pam = "auth required pam_unix.so"
    with served(AFPD_PAM=pam) as site, working(BROWSE, site), later(1.2, mistype):
        said = say(scope, site.port, "doctor", "-d", "8")
    # The folder of its read-only volume is not in its root: the disk's room is not all known.
    assert set(said.findings) <= DISTURBED, said.screen
    if "logins-refused" not in {n["key"] for n in said.run["diagnosis"]["notes"]}:
        raise Disturbed(said.screen)  # on a busy machine it may come after the watch


@pytest.mark.judges
@undisturbed
def test_a_client_that_fails_again_and_again_lists_nothing(scope: Scope, served: Made) -> None:
    with served() as site, failing(site, 2000):
        said = say(scope, site.port, "doctor", "-d", str(SECONDS))
    first_is(said, "repeated-errors", "chatty-client", never=("huge-folder",))
    assert said.value("repeated") > 0.9


@undisturbed
def test_a_huge_folder_is_named_after_one_list(scope: Scope, served: Made) -> None:
    with served() as site, big_folder(site, 8000), lists_big(site, 0), Busy(AfpClient(site.port)):
        said = say(scope, site.port, "doctor", "-d", "6")
    first_is(said, "huge-folder", "cnid-behind", never=("chatty-client", "client-pauses"))


@contextlib.contextmanager
def listing(served: Made, cnid: str, cache: int, files: int) -> Iterator[Site]:
    """A client that lists one folder over and over, after a first time."""
    with (
        served(cnid, AFPD_GLOBAL=f"dircache size = {cache}") as site,
        big_folder(site, files),
        contextlib.ExitStack() as stack,
    ):
        client = AfpClient(site.port)
        stack.callback(client.drop)
        client.list_folder("big")
        stack.enter_context(repeated(lambda _: client.list_folder("big")))
        yield site


@undisturbed
@pytest.mark.parametrize("files", in_check([1500, 4000], [4000]))
def test_a_small_cache_is_named_before_the_folder_it_cannot_hold(
    scope: Scope, served: Made, files: int
) -> None:
    """Each listing asks the CNID server again for what the cache had to forget."""
    with listing(served, "dbd", 1024, files) as site:
        said = say(scope, site.port, "doctor", "-d", "6")
    first_is(said, "dircache", "cnid-behind", never=("huge-folder",))
    assert said.value("dircache_need") >= files


@undisturbed
@pytest.mark.parametrize(
    ("cache", "files"), in_check([(1024, 1500), (1024, 4000), (65536, 4000)], [(1024, 4000)])
)
def test_of_a_small_cache_it_cannot_be_told_what_sqlite_answers(
    scope: Scope, served: Made, cache: int, files: int
) -> None:
    """It makes lists twice as long, and no time goes to a CNID server."""
    with listing(served, "sqlite", cache, files) as site:
        said = say(scope, site.port, "doctor", "-d", "3")
    assert ("dircache" in said.run["diagnosis"]["may_be"]) == (cache < files)
    assert all(not f["sure"] for f in said.findings.values()) or cache > files


@pytest.mark.judges
def test_a_client_at_its_own_pace_is_nothing_wrong(scope: Scope, served: Made) -> None:
    with served() as site, Busy(AfpClient(site.port), 0.02):
        said = say(scope, site.port, "doctor", "-d", "4")
    nothing_is_found(said)
    assert said.value("requests") > 100


# Limits and resources


@pytest.mark.judges
@pytest.mark.skipif(not Path(BLKIO[0]).exists(), reason="no cgroup of blkio")
@undisturbed
def test_a_limited_disk_is_no_shortage_of_memory(scope: Scope, served: Made) -> None:
    with served() as site, working(OFFICE, site), cold_reads(site, 4e6):
        said = say(scope, site.port, "doctor", "-d", "4")
    first_is(said, "io-limit", never=("rereads", "memory", "memory-limit"))


@pytest.mark.skipif(
    not all(Path(at).exists() for at in (MEMORY, *BLKIO)), reason="no cgroups of these"
)
@undisturbed
def test_a_memory_limit_is_named_with_its_value(scope: Scope, served: Made) -> None:
    """On a disk that is not too fast: what is read again must take time."""
    slow = io_limit("read")
    with served() as site, working(OFFICE, site), memory_limit(site, 16), slow(site, 8e6):
        said = say(scope, site.port, "doctor", "-d", "4")
    found = first_is(said, "memory-limit", "io-limit", never=("rereads", "memory"))
    assert "limit of 16.8MB" in found["text"], found["text"]


@contextlib.contextmanager
def one_long_read(site: Site, address: str) -> Iterator[None]:
    """A client that reads 8 MB with one request, soon."""
    (site.vol1 / "long").write_bytes(bytes(8 << 20))
    (site.vol1 / "long").chmod(0o666)
    host, port = address.split(":")
    client = AfpClient(int(port), host=host)
    fork = client.open_fork("long", 1)[1]

    def read() -> None:
        with contextlib.suppress(OSError):
            client.read(fork, 0, 8 << 20)

    thread = threading.Timer(2.5, read)  # when doctor has begun, also on a busy machine
    thread.start()
    try:
        yield
    finally:
        client.hang_up()
        thread.join()
        client.drop()


NARROW = 4e6  # bits a second
NOT_THE_LINK = ("client-pauses", "network", "client-window")


@pytest.mark.skipif(not TUN.exists(), reason="no TUN devices")
@undisturbed
def test_a_narrow_link_to_a_client_is_not_its_pace(scope: Scope, served: Made) -> None:
    with served() as site, narrow_link(site, NARROW) as address, one_long_read(site, address):
        said = say(scope, site.port, "doctor", "-d", "6")
    first_is(said, "slow-link", never=NOT_THE_LINK)


@pytest.mark.judges
@pytest.mark.skipif(not TUN.exists(), reason="no TUN devices")
@undisturbed
def test_a_narrow_link_from_a_client_is_not_its_pace(scope: Scope, served: Made) -> None:
    part = Part("batch-write", 1, 0, ("--file-size=64K", "--files=20"))
    with served() as site, narrow_link(site, NARROW) as address, working(part, site, address):
        said = say(scope, site.port, "doctor", "-d", "4")
    first_is(said, "slow-upload", "round-trips", never=NOT_THE_LINK)


@pytest.mark.judges
@undisturbed
def test_a_disk_with_hardly_any_room_is_named(scope: Scope, served: Made) -> None:
    part = Part("office", 4, 0.05, ("--file-size=64K", "--files=4"))
    with served(AFPD_VOL_SIZE="256M") as site, working(part, site), filled(site, 2.5e6):
        said = say(scope, site.port, "doctor", "-d", str(SECONDS))
    first_is(said, "disk-room", "disk-full")


@pytest.mark.skipif(not Path(CPU).exists(), reason="no cgroup of CPU time")
@undisturbed
def test_a_cpu_quota_is_named_with_a_share_of_time(scope: Scope, served: Made) -> None:
    part = Part("browse", 12, 0, ("--files=20",))
    with served() as site, working(part, site), cpu_quota(site, 0.01):
        said = say(scope, site.port, "doctor", "-d", "4")
    first_is(said, "cpu-limit", never=("other-programs",))


def test_a_load_beside_another_session_agrees(scope: Scope, served: Made) -> None:
    with served() as site, Busy(AfpClient(site.port), 0.01):
        more = ("--think=0.01", "--uam=cleartext", f"afp://bench1@127.0.0.1:{site.port}/vol1")
        said = say(scope, None, "load", "-n", "3", "-d", "2", "--ramp=0", "--no-save", *more)
    assert said.status == OK and "cross-checks agree" in said.words, said.screen


# What nobody had thought of at first


@pytest.mark.judges
@undisturbed
def test_a_server_whose_main_process_is_stopped_accepts_nobody(scope: Scope, served: Made) -> None:
    with served() as site, working(BROWSE, site), master_stopped(site, 1), arriving(site, 0):
        time.sleep(1)
        said = say(scope, site.port, "doctor", "-d", str(SECONDS))
    found = first_is(said, "not-accepting")
    assert f"the server's main process (pid {site.pid}) is paused" in found["text"]


@undisturbed
def test_a_tracer_is_named_and_not_who_sent_a_signal(scope: Scope, served: Made) -> None:
    """strace stops its victims at each call."""
    with served() as site, working(replace(BROWSE, think_s=0), site):
        time.sleep(1)
        with traced(site.afpds) as tracer:
            said = say(scope, site.port, "doctor", "-d", str(SECONDS))
    found = first_is(said, "server-traced", never=("server-stopped", "session-stopped"))
    assert f"tracing by strace (pid {tracer}) paused afpd" in found["text"]
    assert found["todo"].startswith("end the tracer") and "TracerPid" in found["next"]


@pytest.mark.judges
@undisturbed
def test_a_tracer_that_has_left_is_still_the_cause(scope: Scope, served: Made) -> None:
    with served() as site, working(replace(BROWSE, think_s=0), site):
        time.sleep(1)
        with traced(site.afpds, 4):
            said = say(scope, site.port, "doctor", "-d", "5")
    found = first_is(said, "server-traced", never=("server-stopped", "session-stopped"))
    assert "that has left" in found["text"]
    assert "this tracer has left" in found["todo"] and "TracerPid" not in found["next"]


@pytest.mark.judges
@undisturbed
def test_a_stopped_database_server_is_the_cnid_server(scope: Scope, served: Made) -> None:
    with served(cnid="mysql") as site, working(METADATA, site), database_stopped(site, 1):
        time.sleep(1)
        said = say(scope, site.port, "doctor", "-d", str(SECONDS))
    found = first_is(said, "cnid-stopped", never=("name-service",))
    assert re.search(r"(mariadbd|mysqld) \(pid \d+\) is paused now", found["text"])


@pytest.mark.judges
@undisturbed
def test_a_volume_that_was_made_read_only_is_named(scope: Scope, served: Made) -> None:
    with served() as site, own_mount(site, 0), working(OFFICE, site), read_only(site, 1):
        time.sleep(0.5)
        said = say(scope, site.port, "doctor", "-d", str(SECONDS))
    found = first_is(said, "read-only", "repeated-errors")
    assert "/vol1 is mounted read-only" in found["text"]


@pytest.mark.judges
@undisturbed
def test_idle_sessions_that_were_or_are_stopped_harm_nobody(scope: Scope, served: Made) -> None:
    """A poll that a stop interrupted is another system call when it goes on."""
    with served() as site, contextlib.ExitStack() as stack:
        idle = [AfpClient(site.port) for _ in range(3)]
        for client in idle:
            stack.callback(client.drop)
        sessions = site.afpds
        send(sessions, signal.SIGSTOP)
        time.sleep(0.2)
        send(sessions, signal.SIGCONT)
        stack.enter_context(Busy(AfpClient(site.port), 0.02))
        send(sessions[:1], signal.SIGSTOP)
        stack.callback(send, sessions[:1], signal.SIGCONT)
        time.sleep(2)
        said = say(scope, site.port, "doctor", "-d", "4")
    nothing_is_found(said)
    assert "no answer" not in said.screen, said.screen
