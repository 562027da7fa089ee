# SPDX-License-Identifier: GPL-2.0-or-later
"""Which processes are servers: not those to which an ordinary user gives a server's name, unless
they are named, and those that accept connections, however they came by their socket.

Tests user/host/owner.c, user/attach/attach.c.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from afpclient import AfpClient
from checks import check, only, port_option
from disturbed import within
from exporting import export
from netatalk import Server
from recording import STAT
from scope import (
    AS_NOBODY,
    NO_SESSION,
    NOBODY,
    OK,
    PinnedServer,
    Scope,
    children,
    kill,
    wait_until,
)

# Takes the name and listens; says its port.
FAKE = """
import os, signal, socket, sys
open("/proc/self/comm", "w").write(sys.argv[1])
kind = socket.SOCK_DGRAM if sys.argv[3] == "udp" else socket.SOCK_STREAM
ear = socket.socket(socket.AF_INET, kind)
ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
ear.bind(("127.0.0.1", int(sys.argv[2])))
if sys.argv[3] == "tcp":
    ear.listen()
print(ear.getsockname()[1], flush=True)
signal.pause()
"""
CGROUPS = [Path("/sys/fs/cgroup") / name for name in ("unified", "systemd", "")]


@contextlib.contextmanager
def started(command: Sequence[str]) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A program that says a number when it is ready; its whole group ends."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True, cwd="/"
    )
    assert process.stdout
    try:
        yield process, int(process.stdout.readline())
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


@contextlib.contextmanager
def called(
    name: str, *args: str, port: int = 0, kind: str = "tcp", before: Sequence[str] = AS_NOBODY
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [*before, sys.executable, "-c", FAKE, name, str(port), kind, *args]
    with started(command) as found:
        yield found


# Place: what an ordinary user calls afpd, cnid_metad, glusterfsd, fileserver or rxperf, in any
#   namespace | refused, unless named by `--pid` or `--port`: then exact, and said whose it is;
#   its settings are never read
def test_what_a_user_calls_afpd_is_no_server(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    secret = tmp_path / "of-root.conf"
    secret.write_text("[Global]\nlog level = default:maxdebug\n")
    seen = tmp_path / "opened"
    with called("afpd", "-F", str(secret)) as (process, port):
        plain = ("env", "ASAN_OPTIONS=detect_leaks=0")  # which does not work under strace
        trace = (*plain, "strace", "-f", "-e", "trace=open,openat,openat2,stat", "-o", str(seen))
        found = check(scope, status=OK, before=trace)
        pids = [server["pid"] for server in found["servers"]]
        assert dbd.pid in pids and process.pid not in pids
        for option in (("--pid", str(process.pid)), ("--port", str(port))):
            found = check(scope, *option, status=OK, before=(*trace[:-1], f"{seen}.named"))
            assert only(found)["pid"] == process.pid and only(found)["configuration"] is None
            (hint,) = (w for w in found["warnings"] if w["key"] == "owner")
            assert f"is of user {NOBODY}, not of root: its settings are not read" in hint["what"]
            assert secret.name not in Path(f"{seen}.named").read_text()
        assert secret.name not in seen.read_text()
        line = [str(scope.binary), "record", "--pid", str(process.pid), "-d", "1", "--no-save"]
        done = scope.execute(line).expect(OK)
        assert f"process {process.pid} is of user {NOBODY}, not of root" in done.out


# Alone in its process namespace: two called afpd, and the line that is given.
TWO = """
import os, subprocess, sys
fake, program = sys.argv[1], sys.argv[2:]
nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
each = [subprocess.Popen(["sleep", "60"])]  # as number 2, which is the kernel's elsewhere
for before in (nobody,) if program[0] == "alone" else (nobody, ()):
    line = [*before, sys.executable, "-c", fake, "afpd", "0", "tcp"]
    each.append(subprocess.Popen(line, stdout=subprocess.PIPE))
    each[-1].stdout.readline()
print("root's:", each[-1].pid, flush=True)
sys.exit(subprocess.run(program[program[0] == "alone":]).returncode)
"""
ALONE = ("unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", TWO, FAKE)


def test_the_exporter_does_not_wait_for_a_choice(scope: Scope) -> None:
    """Between the server and what a user calls so."""
    line = [*ALONE, str(scope.binary), "exporter", "--once", "--interval", "1"]
    line.append("--watch=proc")
    done = scope.execute(line, timeout=30)
    pid = done.out.split("root's:")[1].split()[0]
    assert f"watching process {pid} (" in done.err and "choose one" not in done.err, done


def test_only_strangers_are_named_in_the_message(scope: Scope) -> None:
    for command in ("record", "check"):
        done = scope.execute([*ALONE, "alone", str(scope.binary), command], timeout=30)
        done.expect(NO_SESSION, "no afpd of root runs here", f"(user {NOBODY})", "--pid PID")


def fan(folder: Path) -> Path:
    for i in range(8):
        text = f"include = {folder}/fan{i + 1}\n" * 60 if i < 7 else "[v]\npath = /srv\n"
        (folder / f"fan{i}").write_text(text)
    return folder / "fan0"


def sparse(folder: Path) -> Path:
    with (folder / "sparse").open("w") as file:
        file.truncate(1 << 42)
    return folder / "sparse"


def fifo(folder: Path) -> Path:
    os.mkfifo(folder / "fifo")
    return folder / "fifo"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (fan, "more than 64 files"),
        (sparse, "longer than 1 MiB"),
        (fifo, "not a regular file"),
        (lambda _: Path("/dev/zero"), "not a regular file"),
        (lambda _: Path("/proc/kallsyms"), "not a file of a file system that stores files"),
        (lambda _: Path("/proc/kmsg"), "Operation not permitted"),
    ],
    ids=["fan-out", "sparse", "fifo", "device", "procfs", "kmsg"],
)
def test_no_file_of_settings_holds_it_up(
    scope: Scope, tmp_path: Path, make: Callable[[Path], Path], text: str
) -> None:
    with called("afpd", "-F", str(make(tmp_path)), before=()) as (process, _):
        found = check(scope, "--pid", str(process.pid), status=OK)
        within(5, lambda: scope.execute([str(scope.binary), "check", "--pid", str(process.pid)]))
    assert any(text in hint["what"] for hint in found["warnings"]), found["warnings"]


# Place: what an ordinary user calls afpd, cnid_metad, glusterfsd, fileserver or rxperf, in any
#   namespace
@pytest.mark.parametrize(
    ("kind", "name", "args", "socket_kind"),
    [
        ("rx", "rxperf", (), "udp"),
        ("gluster", "glusterfsd", ("--brick-name", "/b", "--brick-port", "1"), "tcp"),
    ],
)
def test_other_kinds_are_root_s_too(
    scope: Scope, kind: str, name: str, args: tuple[str, ...], socket_kind: str
) -> None:
    line = [str(scope.binary), "record", "--kind", kind, "-d", "1", "--no-save"]
    with called(name, *args, kind=socket_kind) as (process, port):
        done = scope.execute(line)
        assert str(process.pid) not in done.out + done.err
        for option in (("--pid", str(process.pid)), ("--port", str(port))):
            done = scope.execute([*line, *option]).expect(OK)
            assert f"process {process.pid} is of user {NOBODY}, not of root" in done.out


# Place: a server over Rx or a brick under another name | exact, named by `--port` or `--pid`
@pytest.mark.parametrize(("kind", "socket_kind"), [("rx", "udp"), ("gluster", "tcp")])
def test_a_server_of_another_name_has_its_port(scope: Scope, kind: str, socket_kind: str) -> None:
    line = [str(scope.binary), "record", "--kind", kind, "-d", "1", "--no-save", "--port"]
    with called("filed", kind=socket_kind, before=()) as (process, port):
        done = scope.execute([*line, str(port)]).expect(OK)
        assert "system calls counted" in done.out and "not of root" not in done.out
        done = scope.record(None, "--kind", kind, "--port", str(port), "-d", "1").finish()
        assert done.run and f"(process {process.pid}" in str(done.run.saved["server"])


# Place: a unit's name that the system and a user have; a program's name of several processes;
#   Rx servers or bricks of several users or units
def test_of_two_servers_over_rx_one_must_be_named(scope: Scope) -> None:
    """Those of two units are not counted as one."""
    root = next(r for r in CGROUPS if (r / "cgroup.procs").exists())
    unit = root / f"afpscope-rx-{os.getpid()}.service"
    line = [str(scope.binary), "record", "--kind", "rx", "-d", "1", "--no-save"]
    with (
        called("rxperf", kind="udp", before=()) as (one, _),
        called("vlserver", kind="udp", before=()) as (two, _),
    ):
        unit.mkdir()
        try:
            (unit / "cgroup.procs").write_text(str(two.pid))
            done = scope.execute(line)
            done.expect(NO_SESSION, "--pid, --port or --unit")
            # With servers of other tests not all may be in the list.
            if not re.search(r", and \d+ more\)", done.err):
                assert f"{one.pid} rxperf (user 0)" in done.err
                assert f"{two.pid} vlserver (user 0, {unit.name})" in done.err
            scope.execute([*line, "--unit", unit.name]).expect(OK)
        finally:
            (root / "cgroup.procs").write_text(str(two.pid))
            unit.rmdir()


# Place: a unit's name that the system and a user have; a program's name of several processes;
#   Rx servers or bricks of several users or units | refused with the list (exit code 5)
def test_of_two_units_of_one_name_one_must_be_named(scope: Scope) -> None:
    root = next(r for r in CGROUPS if (r / "cgroup.procs").exists())
    tops = [root / f"afpscope-{who}-{os.getpid()}" for who in ("system", "user")]
    unit = f"toy-{os.getpid()}"
    folders = [top / f"{unit}.service" for top in tops]
    line = [str(scope.binary), "record", "--kind", "any", "-d", "1", "--no-save", "--unit"]
    with contextlib.ExitStack() as stack:
        for folder in (*tops, *folders):
            folder.mkdir()
            stack.callback(folder.rmdir)
        mine, _ = stack.enter_context(called("toy", before=()))
        theirs, _ = stack.enter_context(called("toy"))
        for folder, process in zip(folders, (mine, theirs), strict=True):
            (folder / "cgroup.procs").write_text(str(process.pid))
            stack.callback((root / "cgroup.procs").write_text, str(process.pid))
        done = scope.execute([*line, unit])
        done.expect(NO_SESSION, f"2 units are called {unit}", "the path of one")
        assert f"{folders[0]} (process {mine.pid} of user 0)" in done.err
        assert f"{folders[1]} (process {theirs.pid} of user {NOBODY})" in done.err
        scope.execute([*line, str(folders[0])]).expect(OK)
        done = scope.execute([*line, str(folders[1])]).expect(OK)
        assert f"process {theirs.pid} is of user {NOBODY}, not of root" in done.out


# Place: a unit's name that the system and a user have; a program's name of several processes;
#   Rx servers or bricks of several users or units
def test_programs_of_one_name_are_listed(scope: Scope) -> None:
    name = f"toy{os.getpid()}"
    with called(name, before=()) as (mine, _), called(name) as (theirs, _):
        line = [str(scope.binary), "record", "--exe", name, "-d", "1", "--no-save"]
        done = scope.execute(line).expect(NO_SESSION, f"2 processes are called {name}")
    assert f"{mine.pid} {name} (user 0" in done.err
    assert f"{theirs.pid} {name} (user {NOBODY}" in done.err


CLIENT = """
import signal, socket, sys
open("/proc/self/comm", "w").write("cnid_dbd")
mouth = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
print(mouth.getsockname()[1], flush=True)
signal.pause()
"""


# Place: a client of this host called cnid_dbd | no backend: exact
def test_a_client_is_no_cnid_server_whatever_its_name(scope: Scope, guests: Server) -> None:
    with (
        contextlib.closing(AfpClient(guests.port)),
        started([*AS_NOBODY, sys.executable, "-c", CLIENT, str(guests.port)]) as (process, _),
    ):
        wait_until(lambda: len(guests.sessions()) == 2, 5, "its session")
        done = scope.record(guests, "-d", "1").finish().expect(OK)
    assert done.run
    books = [book["name"] for book in done.run.saved["books"]]
    assert any(name.startswith("cnid_dbd") for name in books), books
    assert not any(str(process.pid) in name for name in books), books


# One socket each for two workers, and a parent that has none.
WORKERS = """
import os, signal, socket, sys
ears = []
for i in range(2):
    ear = socket.socket()
    ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    ear.bind(("127.0.0.1", ears[0].getsockname()[1] if ears else 0))
    ear.listen()
    ears.append(ear)
for ear in ears:
    if not os.fork():
        [other.close() for other in ears if other is not ear]
        signal.pause()
port = ears[0].getsockname()[1]
[ear.close() for ear in ears]
print(port, flush=True)
signal.pause()
"""


# Place: several processes that listen on one port (SO_REUSEPORT) | `--kind any`: exact, all of
#   them and their parent; AFP: refused with the list
def test_several_workers_on_one_port(scope: Scope) -> None:
    with started([sys.executable, "-c", WORKERS]) as (parent, port):
        workers = children(parent.pid)
        record = ("--kind", "any", "--port", str(port), "-d", "1")
        done = scope.record(None, *record).finish().expect(OK)
        assert done.run
        names = " ".join(book["name"] for book in done.run.saved["books"])
        assert all(str(pid) in names for pid in (parent.pid, *workers)), names
        done = scope.execute([str(scope.binary), "record", "-p", str(port)])
        done.expect(NO_SESSION, "2 AFP servers run here", f"pid {workers[0]} (port {port})")


# Holds a port as systemd does, and with an argument has the server that it starts for it.
ACTIVATES = """
import os, signal, socket, sys
ear = socket.create_server(("127.0.0.1", 0))
ear.set_inheritable(True)
open("/proc/self/comm", "w").write("systemd")
if len(sys.argv) > 1 and not os.fork():
    os.execvp("sleep", ["sleep", "60"])
print(ear.getsockname()[1], flush=True)
signal.pause()
"""


# Place: a socket that systemd holds and passes on | exact; before the server is started:
#   refused
def test_a_socket_that_systemd_holds(scope: Scope) -> None:
    with started([sys.executable, "-c", ACTIVATES, "server"]) as (holder, port):
        wait_until(lambda: bool(children(holder.pid)), 5, "the server")
        (server,) = children(holder.pid)
        comm = Path(f"/proc/{server}/comm")
        wait_until(lambda: comm.read_text() == "sleep\n", 5, "its name")
        assert only(check(scope, "--port", str(port), status=OK))["pid"] == server
    with started([sys.executable, "-c", ACTIVATES]) as (_, port):
        found = check(scope, "--port", str(port), status=NO_SESSION)
        assert f"systemd holds port {port} until a client comes" in found["message"]


@contextlib.contextmanager
def restarted(
    victim: PinnedServer, program: str = "/usr/sbin/afpd"
) -> Iterator[tuple[int, list[int]]]:
    """Killed and started again, while its sessions live on: the new one, and these."""
    left = victim.sessions()
    os.kill(victim.pid, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{victim.pid}").exists(), 10, "its end")
    conf = f"/inst/{victim.port}/afp.conf"
    line = ["chroot", str(victim.root), program, "-d", "-F", conf]
    new = subprocess.Popen(line, env={"PATH": "/usr/sbin:/usr/bin"}, stdin=subprocess.DEVNULL)

    def listens() -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", victim.port)):
            return True
        return False

    try:
        wait_until(listens, 10, "the new server", 0.2)
        wait_until(lambda: not children(new.pid), 10, "our question to end")
        yield new.pid, left
    finally:
        kill([*left, new.pid])
        new.wait()


# Place: sessions of a server that was killed and started again | exact, and said
def test_sessions_of_an_earlier_server_are_counted(scope: Scope, victim: PinnedServer) -> None:
    client = AfpClient(victim.port)
    with restarted(victim) as (pid, (left,)):
        entry = only(check(scope, *port_option(victim), status=OK))
        assert entry["pid"] == pid
        assert [session["pid"] for session in entry["sessions"]] == [left]
        running = scope.record(victim)
        running.wait_recording()
        for _ in range(50):
            client.stat_root()
        running.signal(signal.SIGINT)
        done = running.finish().expect(OK)
        assert "1 of the sessions are of an earlier server that has ended" in done.out
        assert done.run and done.run.phases[0].requests()[STAT] == 50
        top = [str(scope.binary), "top", "-p", str(victim.port), "-b", "-d", "0.5", "-n", "1"]
        assert "1 of the sessions are of an earlier" in scope.execute(top).expect(OK).err
    client.drop()


# Place: a server whose program has another name, and whose file is gone, as after an upgrade |
#   exact
def test_a_server_of_another_name_is_known(scope: Scope, victim: PinnedServer) -> None:
    file = victim.root / "usr/sbin/lt-afpd"
    shutil.copy(file.with_name("afpd"), file)
    try:
        with restarted(victim, "/usr/sbin/lt-afpd") as (pid, _):
            file.unlink()
            running = scope.record(None, "--port", str(victim.port))
            running.wait_recording()
            with contextlib.closing(AfpClient(victim.port)) as client:
                for _ in range(50):
                    client.stat_root()
            running.signal(signal.SIGINT)
            watched = running.finish().expect(OK).run
            mine = scope(victim, "-n", "1", "-f", ":", save=True).expect(OK).run
            assert watched and mine and watched.phases[0].requests()[STAT] == 50
            assert watched.pid("afpd") == pid and "(lt-afpd)" in mine.saved["server"]["afpd"]
            assert watched.warning("way") == mine.warning("way") == ""
    finally:
        file.unlink(missing_ok=True)


# Place: another user's program on the port of a server that has ended | refused: it is not
#   followed
def test_a_stranger_on_the_port_is_no_comeback(scope: Scope, victim: PinnedServer) -> None:
    """Of a server that has ended."""
    exporter = export(scope, "-p", str(victim.port))
    exporter.wait_up()
    running = scope.record(victim)
    running.wait_recording()
    port = victim.port
    os.kill(victim.pid, signal.SIGKILL)
    with called("afpd", port=port) as (process, _):
        done = running.finish()
        assert "none was seen on its port since" in " ".join(done.out.split())
        exporter.running.wait_for(f"(process {process.pid}) is of user {NOBODY}, not of user 0")
        with socket.create_connection(("127.0.0.1", port)):
            assert exporter.metrics().one("afpscope_up") == 0
