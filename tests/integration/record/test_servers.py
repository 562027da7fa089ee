# SPDX-License-Identifier: GPL-2.0-or-later
"""The servers of this host, their sessions and CNID processes, found without a
connection; other servers may run beside those of the tests.

Tests user/kinds/afp/afp.c.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from afpclient import AfpClient
from checks import check, one_of, only, port_option
from netatalk import BOUND, Server
from netns import inside, ip
from scope import NO_SESSION, OK, PinnedServer, Scope, both_cpus, children, wait_until

NO_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"}  # which does not work under strace
USER_ID = {"bench1": 5001, "bench2": 5002}


@pytest.fixture
def two(dbd: Server) -> Iterator[tuple[AfpClient, AfpClient]]:
    """Two users, each on a volume of its own."""
    with contextlib.ExitStack() as stack:
        clients = []
        for user, volume in (("bench1", "vol1"), ("bench2", "vol2")):
            clients.append(AfpClient(dbd.port, user=user, volume=volume))
            stack.callback(clients[-1].close)
        yield clients[0], clients[1]
    wait_until(lambda: not dbd.sessions(), 10, "the sessions to end")


def test_sessions_and_their_labels(
    scope: Scope, dbd: Server, two: tuple[AfpClient, AfpClient]
) -> None:
    entry = only(check(scope, *port_option(dbd), status=OK))
    assert entry["pid"] == dbd.pid
    assert entry["name"] == "afpd"
    assert entry["ports"] == [dbd.port]
    assert entry["program"] == "/usr/sbin/afpd"
    assert entry["configuration"] == f"/inst/{dbd.port}/afp.conf"
    assert not entry["other_network_namespace"]
    sessions = {session["client_port"]: session for session in entry["sessions"]}
    assert sorted(s["pid"] for s in entry["sessions"]) == dbd.sessions()
    for client, user, volume in zip(two, USER_ID, ("vol1", "vol2"), strict=True):
        session = sessions[client.local_port()]
        assert session["client"] == "127.0.0.1"
        assert session["uid"] == USER_ID[user]
        assert session["volume"] == f"/inst/{dbd.port}/{volume}"
        assert not session["disconnected"]
        assert 0 <= session["age_s"] < 60
        assert "cwd" in session["volume_from"]
        assert "net/tcp" in session["client_from"]
        assert "Uid" in session["uid_from"] or "user id" in session["uid_from"]


def test_cnid_server_by_connection(
    scope: Scope, dbd: Server, two: tuple[AfpClient, AfpClient]
) -> None:
    entry = only(check(scope, *port_option(dbd), status=OK))
    assert entry["cnid_metad"] == dbd.metad
    assert entry["cnid_ports"] == [dbd.port + 1]
    assert "session is connected" in entry["cnid_from"]
    assert dbd.metad
    assert entry["cnid_dbd"] == children(dbd.metad)


def test_cnid_server_by_configuration(scope: Scope, dbd: Server) -> None:
    """Without a session nothing else tells."""
    entry = only(check(scope, *port_option(dbd), status=OK))
    assert entry["sessions"] == []
    assert entry["cnid_metad"] == dbd.metad
    assert "-F" in entry["cnid_from"]


def test_no_cnid_server(scope: Scope, dbd: Server, sqlite: Server) -> None:
    """Another server's is not taken for one's own."""
    entry = only(check(scope, *port_option(sqlite), status=OK))
    assert entry["cnid_metad"] is None
    assert entry["cnid_dbd"] == []
    assert "inside afpd" in entry["cnid_from"]


def test_pid_of_the_server(scope: Scope, dbd: Server, two: tuple[AfpClient, AfpClient]) -> None:
    found = check(scope, "--pid", str(dbd.pid), status=OK)
    assert found["session"] is None
    assert len(only(found)["sessions"]) == 2


def test_pid_of_a_session(scope: Scope, dbd: Server, two: tuple[AfpClient, AfpClient]) -> None:
    for pid in dbd.sessions():
        found = check(scope, "--pid", str(pid), status=OK)
        assert found["session"] == pid
        assert only(found)["pid"] == dbd.pid
        assert [session["pid"] for session in only(found)["sessions"]] == [pid]


def test_pid_that_serves_nobody(scope: Scope) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        found = check(scope, "--pid", str(process.pid), status=NO_SESSION)
        process.kill()
    assert found["servers"] == []
    assert "neither listens" in found["message"]


def test_pid_that_is_not_there(scope: Scope) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    found = check(scope, "--pid", str(process.pid), status=NO_SESSION)
    assert "no process" in found["message"]


def test_port_that_nobody_has(scope: Scope, dbd: Server) -> None:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
        found = check(scope, "--port", str(port), status=NO_SESSION)
    assert f"nothing listens on port {port}" in found["message"]
    # Of many servers of other tests the last ones are only counted.
    if not re.search(r", and \d+ more$", found["message"]):
        assert f"pid {dbd.pid} (port {dbd.port})" in found["message"]


@pytest.mark.parametrize("command", [["check"], ["record", "-d1"]])
def test_little_is_read_of_processes_that_hold_no_socket(
    scope: Scope, dbd: Server, tmp_path: Path, command: list[str]
) -> None:
    """A large host has many thousands of them: each reading is what a start costs there."""
    trace = tmp_path / "calls"
    watched = [str(scope.binary), *command, *port_option(dbd)]
    with subprocess.Popen(
        ["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout
        pid = parent.stdout.readline().strip()
        line = ["strace", "-f", "-qq", "-e", "trace=file", "-o", str(trace), *watched]
        scope.execute(line, env=NO_LEAKS)
        os.kill(int(pid), signal.SIGKILL)
    paths = re.findall(rf'"/proc/{pid}/([a-z/]+)', trace.read_text())
    # Of fd once to find the server, and once for who listens to what happens in the file system.
    allowed = {"check": {"stat": 1}, "record": {"stat": 3, "io": 2}}[command[0]]
    assert {
        path: n for path, n in collections.Counter(paths).items() if path[:2] != "fd"
    } == allowed


def test_all_sessions_are_marked_in_one_pass(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    """An iterator visits all threads of the host: not once more for each session that it finds,
    nor for each that ends."""
    passes = []
    for sessions in (0, 12):
        trace = tmp_path / f"calls-{sessions}"
        watched = [
            str(scope.binary),
            "record",
            *port_option(dbd),
            "--",
            "sh",
            "-c",
            "read x; exit 0",
        ]
        clients = [AfpClient(dbd.port) for _ in range(sessions)]
        with subprocess.Popen(
            ["strace", "-f", "-qq", "-e", "bpf", "-o", str(trace), *watched],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=os.environ | NO_LEAKS,
        ) as record:
            wait_until(
                lambda t=trace: t.exists() and "BPF_ITER_CREATE" in t.read_text(), 20, "the marking"
            )
            for client in clients:
                client.close()
            wait_until(lambda: not dbd.sessions(), 10, "the sessions to end")
            assert record.stdin
            record.stdin.close()
        assert record.returncode == OK
        passes.append(trace.read_text().count("BPF_ITER_CREATE"))
    # One more for a CNID process of theirs that began meanwhile.
    assert 0 < passes[0] <= passes[1] < passes[0] + 4


def test_the_end_reads_no_descriptors_of_sessions(
    scope: Scope, dbd: Server, two: tuple[AfpClient, AfpClient], tmp_path: Path
) -> None:
    """Who listens to the file system, and who carries connections on, is somebody else: with 500
    sessions, most of the time after the end went there."""
    trace = tmp_path / "calls"
    stop = tmp_path / "stop"
    command = ["record", *port_option(dbd), "--", "stat", str(stop)]
    line = ["strace", "-f", "-qq", "-e", "trace=file", "-o", str(trace), str(scope.binary)]
    scope.execute([*line, *command], env=NO_LEAKS)
    watched, _, after = trace.read_text().partition(f'"{stop}"')
    for pid in dbd.sessions():
        assert f'"/proc/{pid}/fd"' in watched
        assert f'"/proc/{pid}/fd"' not in after


def test_the_start_reads_program_and_settings_once(
    scope: Scope, dbd: Server, tmp_path: Path
) -> None:
    """Not for each session, which the server forked and whose settings are its own: with 500 busy
    sessions that was most of the time until the watch began."""
    settings = []
    with contextlib.ExitStack() as sessions:
        for volumes in (("vol1",), ("vol2", "ro")):
            for volume in volumes:
                sessions.enter_context(
                    contextlib.closing(AfpClient(dbd.port, volume=volume))
                ).stat_root()
            trace = tmp_path / f"calls-{volumes[0]}"
            line = ["strace", "-f", "-qq", "-e", "trace=file", "-o", str(trace), str(scope.binary)]
            scope.execute([*line, "record", *port_option(dbd), "-d", "1"], env=NO_LEAKS)
            calls = trace.read_text()
            assert f'"/proc/{dbd.pid}/maps"' in calls
            assert not [pid for pid in dbd.sessions() if f'"/proc/{pid}/maps"' in calls]
            settings.append(calls.count('/afp.conf"'))
    assert 0 < settings[0] == settings[1]


def test_a_login_reads_nothing_of_other_sessions(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    """With 2,000 sessions, each login would read the descriptors of 2,000 processes."""
    looks = []
    for logins in (0, 5):
        trace = tmp_path / f"calls-{logins}"
        watched = [str(scope.binary), "record", *port_option(dbd), "--", "sh", "-c", "read x"]
        with (
            contextlib.closing(AfpClient(dbd.port)) as first,
            subprocess.Popen(
                ["strace", "-f", "-qq", "-e", "readlink,bpf", "-o", str(trace), *watched],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                env=os.environ | NO_LEAKS,
            ) as record,
        ):
            wait_until(
                lambda t=trace: t.exists() and "BPF_ITER_CREATE" in t.read_text(), 20, "the marking"
            )
            for n in range(logins):
                with contextlib.closing(AfpClient(dbd.port)) as client:
                    client.create(f"login-{n}")
                    client.stat(f"login-{n}")
                first.stat_root()
                time.sleep(0.1)  # until the next tick: those of one tick are looked for together
            assert record.stdin
            record.stdin.close()
        looks.append(trace.read_text().count(f'"/proc/{dbd.pid}/fd/0"'))
    # One more for a CNID process that began meanwhile.
    assert 0 < looks[0] <= looks[1] <= looks[0] + 1


def test_several_servers(scope: Scope, dbd: Server, sqlite: Server) -> None:
    found = check(scope, status=OK)
    assert one_of(found, dbd)["ports"] == [dbd.port]
    assert one_of(found, sqlite)["ports"] == [sqlite.port]
    done = scope.execute([str(scope.binary), "check"]).expect(OK)
    assert "choose one with --port PORT or --pid PID" in done.out


OTHER = """
import os, signal, socket
ear = socket.create_server(("127.0.0.1", 0))
print(ear.getsockname()[1], flush=True)
while True:
    mouth, _ = ear.accept()
    if os.fork():
        mouth.close()
        continue
    ear.close()
    print("serves", flush=True)
    signal.pause()
"""


def test_server_of_another_name(scope: Scope) -> None:
    """Listening and forking is what makes a server."""
    command = [*BOUND, sys.executable, "-c", OTHER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        port = int(server.stdout.readline())
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert server.stdout.readline() == "serves\n"
            entry = only(check(scope, "--port", str(port), status=OK))
            assert entry["pid"] == server.pid
            assert entry["ports"] == [port]
            (session,) = entry["sessions"]
            assert [session["pid"]] == children(server.pid)
            assert session["client_port"] == client.getsockname()[1]
            for pid in [*children(server.pid), server.pid]:
                os.kill(pid, 9)


@pytest.mark.parametrize("command", ["record", "doctor"])
def test_sessions_to_which_the_server_only_sends_are_counted(scope: Scope, command: str) -> None:
    """An idle one gets a tickle now and then: with 300 of them, 65 were missing."""
    settings = "tickleval = 1\ntimeout = 100"
    saved = scope.folder / "idle.json"
    with (
        Server("forky", "sqlite", AFPD_GLOBAL=settings, AFPD_MEMORY="64M") as server,
        contextlib.closing(AfpClient(server.port)),
        contextlib.closing(AfpClient(server.port, user="bench2", volume="vol2")),
    ):
        line = [command, *port_option(server), "-d", "4", "--no-save", f"--json={saved}"]
        done = scope.execute([str(scope.binary), *line])
    sessions = json.loads(saved.read_text())["sessions"]
    assert sorted(s["user"] for s in sessions) == ["bench1", "bench2"]
    assert all(s["calls"] and not s["requests"] for s in sessions)
    assert "2 sessions" in done.out


def test_session_whose_client_has_gone(scope: Scope) -> None:
    """It is no session of anybody, but there, and afpd keeps it for a day."""
    with Server("forky", "dbd") as server:
        client = AfpClient(server.port)
        (pid,) = server.sessions()
        port = client.local_port()
        assert only(check(scope, *port_option(server), status=OK))["sessions"][0][
            "client_port"
        ] == (port)
        client.drop()

        def gone() -> bool:
            (session,) = only(check(scope, *port_option(server), status=OK))["sessions"]
            assert session["pid"] == pid
            return bool(session["disconnected"]) and session["client"] is None

        wait_until(gone, 10, "the connection to end", step=0.2)
        done = scope.execute([str(scope.binary), "check", *port_option(server)]).expect(OK)
        assert "1 session (1 without a client)" in " ".join(done.out.split())


def test_server_in_another_network_namespace(scope: Scope) -> None:
    name = f"afpscope-check-{os.getpid()}"
    with contextlib.ExitStack() as stack:
        ip("netns", "add", name)
        stack.callback(ip, "netns", "del", name)
        ip("-n", name, "link", "set", "lo", "up")
        server = PinnedServer("forky", "dbd", both_cpus()[0])
        with inside(f"/run/netns/{name}"):
            server.__enter__()
        stack.callback(server.__exit__, None, None, None)
        entry = only(check(scope, "--pid", str(server.pid), status=OK))
        assert entry["ports"] == [server.port]
        assert entry["other_network_namespace"]
        assert entry["cnid_metad"] == server.metad
        assert only(check(scope, *port_option(server), status=OK))["pid"] == server.pid
