# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope record: any client's sessions are seen, however the recorder or the
server begins and ends."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import platform
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from afpclient import COMMAND, HEADER, TICKLE, AfpClient, Busy
from netatalk import HERE, SIGNATURES, Server
from scope import (
    NO_SESSION,
    OK,
    UNTRUSTED,
    USAGE,
    PinnedServer,
    Run,
    Running,
    Scope,
    both_cpus,
    kill,
    wait_until,
)

STAT, UNKNOWN, READ_EXT, WRITE_EXT = 34, 99, 60, 61
CREATE_FILE, OPEN_FORK, CLOSE_FORK, DELETE = 7, 26, 4, 8
LOGIN, OPEN_VOLUME, LOGOUT = 18, 24, 20
DSI_GET_STATUS, DSI_OPEN_SESSION, DSI_WRITE = 256 + 3, 256 + 4, 6
NO_SUCH_COMMAND = -5024
NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
WITHOUT_BPF = (sys.executable, str(Path(__file__).with_name("nobpf.py")))

# Sections of afp_spectest that are fast and leave no session behind; most of
# its commands are in no other test.
SECTIONS = (
    *("FPAddAPPL", "FPAddIcon", "FPCatSearch", "FPCatSearchExt", "FPCloseDT", "FPCloseVol"),
    *("FPEnumerate", "FPEnumerateExt", "FPEnumerateExt2", "FPExchangeFiles", "FPFlush"),
    *("FPGetACL", "FPGetExtAttr", "FPGetForkParms", "FPGetIconInfo", "FPGetSessionToken"),
    *("FPGetSrvrInfo", "FPGetSrvrMsg", "FPGetUserInfo", "FPMapID", "FPMapName", "FPOpenDT"),
    *("FPReadExt", "FPRename", "FPResolveID", "FPSync", "FPWriteExt", "FPOpenFork", "Utf8"),
)


class RawClient(AfpClient):
    """Frames as one likes, in pieces as one likes."""

    def frame(self, payload: bytes, command: int = COMMAND, offset: int = 0) -> bytes:
        self._id = (self._id + 1) & 0xFFFF
        return HEADER.pack(0, command, self._id, offset, len(payload), 0) + payload

    def send(self, data: bytes, sizes: Sequence[int] = ()) -> None:
        """In pieces of these sizes, again and again; or in one."""
        turns = itertools.cycle(sizes or [len(data)])
        while data:
            size = next(turns)
            self._socket.sendall(data[:size])
            data = data[size:]
            if sizes:
                time.sleep(0.0005)

    def replies(self, n: int) -> list[int]:
        """Result codes of the next n replies."""
        codes = []
        while len(codes) < n:
            flag, _, _, code, size, _ = HEADER.unpack(self._receive(HEADER.size))
            self._receive(size)
            if flag == 1:
                codes.append(code)
        return codes

    def ask(self, payload: bytes) -> bytes:
        return self._expect_ok(f"command {payload[0]}", payload)

    def stat_frame(self) -> bytes:
        return self.frame(
            struct.pack(">BBHIHHBIH", STAT, 0, self._volume, 2, 0, 0x0142, 3, 0x08000103, 0)
        )

    def path(self, name: str) -> bytes:
        return b"\3" + struct.pack(">IH", 0x08000103, len(name)) + name.encode()

    def create(self, name: str) -> None:
        self.ask(struct.pack(">BBHI", CREATE_FILE, 0, self._volume, 2) + self.path(name))

    def delete(self, name: str) -> None:
        self.ask(struct.pack(">BBHI", DELETE, 0, self._volume, 2) + self.path(name))

    def open(self, name: str) -> int:
        head = struct.pack(">BBHIHH", OPEN_FORK, 0, self._volume, 2, 0, 3)
        fork: int = struct.unpack_from(">H", self.ask(head + self.path(name)), 2)[0]
        return fork

    def close_fork(self, fork: int) -> None:
        self.ask(struct.pack(">BBH", CLOSE_FORK, 0, fork))

    def write_frame(self, fork: int, data: bytes) -> bytes:
        head = struct.pack(">BBHQQ", WRITE_EXT, 0, fork, 0, len(data))
        return self.frame(head + data, DSI_WRITE, len(head))

    def read_frame(self, fork: int, size: int) -> bytes:
        return self.frame(struct.pack(">BBHQQ", READ_EXT, 0, fork, 0, size))


def stopped(running: Running, number: signal.Signals = signal.SIGINT) -> Run:
    running.signal(number)
    return saved(running)


def saved(running: Running, status: int = OK) -> Run:
    done = running.finish().expect(status)
    assert done.run, f"nothing was saved: {done}"
    return done.run


def by_port(run: Run) -> dict[int, dict[str, Any]]:
    """The client's port -> session."""
    return {
        int(session["address"].rpartition(":")[2]): session
        for session in run.saved["sessions"]
        if session["address"]
    }


def stats(run: Run) -> int:
    return run.phases[0].requests().get(STAT, 0)


def gone(server: Server) -> None:
    wait_until(lambda: not server.sessions(), 10, "the sessions to end")


@pytest.fixture(scope="module")
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


@pytest.fixture
def victim() -> Iterator[Server]:
    """A server to be killed."""
    with PinnedServer("forky", "dbd", both_cpus()[1]) as server:
        yield server


@pytest.fixture
def public(scope: Scope) -> Iterator[str]:
    """The program, where everybody may run it."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield shutil.copy(scope.binary, name)


# Foreign clients


def spectest(server: Server) -> list[str]:
    """The sections, one after the other; what it thinks of the server does not matter."""
    command = server.peer_command("afp_spectest", "-C", "-S", "vol2", "-d", "bench2", "-f")
    loop = '"$@" $s >&2 || [ $? -lt 4 ] || exit 1'
    return ["sh", "-c", f"for s in {' '.join(SECTIONS)}; do {loop}; done", "sh", *command]


def test_spectest(scope: Scope, guests: Server, tmp_path: Path) -> None:
    """Sixty different commands, by number, as the server and tshark see them."""
    out, wire = tmp_path / "run.json", tmp_path / "wire"
    recorder = scope.recorder(guests, "--json", str(out), command=spectest(guests))
    counts = guests.judge(
        [str(HERE / "judge-wire.sh"), str(guests.port), str(wire), "--", *recorder]
    )
    seen = dict(tuple(map(int, line.split())) for line in wire.read_text().splitlines())
    run = Run.load(out)
    run.assert_trustworthy()
    mine = run.phases[0].requests()
    assert mine == counts
    assert mine == seen
    assert len(mine) >= 45
    for session in run.saved["sessions"]:
        assert session["begun_ns"] is not None and session["ended_ns"] is not None


def test_peers_lantest(scope: Scope, guests: Server, tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    peer = guests.peer_command("afp_lantest", "-n", "1", "-f", ":")
    counts = guests.judge(scope.recorder(guests, "--json", str(out), command=peer))
    run = Run.load(out)
    run.assert_trustworthy()
    assert run.phases[0].requests() == counts == SIGNATURES[":"]


def test_raw_client(scope: Scope, guests: Server) -> None:
    """Pipelines, frames in pieces, bulk data, tickles, a command nobody knows."""
    running = scope.record(guests)
    running.wait_recording()
    client = RawClient(guests.port)
    client.send(b"".join(client.stat_frame() for _ in range(20)))
    assert client.replies(20) == [0] * 20
    for sizes in ((1,), (15, 2), (16, 1), (17,), (3, 50, 7)):
        client.send(b"".join(client.stat_frame() for _ in range(4)), sizes)
        assert client.replies(4) == [0] * 4
    tickle = HEADER.pack(0, TICKLE, 0, 0, 0, 0)
    client.send(tickle + client.stat_frame() + tickle + client.stat_frame() + tickle)
    assert client.replies(2) == [0] * 2
    client.send(b"".join(client.frame(bytes([UNKNOWN, 0])) for _ in range(3)))
    assert client.replies(3) == [NO_SUCH_COMMAND] * 3

    data = os.urandom(300_000)
    client.create("raw client")
    fork = client.open("raw client")
    client.send(client.write_frame(fork, data) + client.stat_frame())
    client.send(client.write_frame(fork, data), (16, 1, 19, 70_001))
    client.send(client.read_frame(fork, len(data)) + client.stat_frame())
    assert client.replies(5) == [0] * 5
    client.close_fork(fork)
    client.delete("raw client")
    port = client.local_port()
    client.close()
    gone(guests)

    run = stopped(running)
    run.assert_trustworthy()
    assert run.phases[0].requests() == {
        **{LOGIN: 1, OPEN_VOLUME: 1, LOGOUT: 1, STAT: 44, UNKNOWN: 3},
        **{CREATE_FILE: 1, OPEN_FORK: 1, CLOSE_FORK: 1, DELETE: 1, READ_EXT: 1, WRITE_EXT: 2},
    }
    accounts = run.phases[0].accounts()
    unknown = accounts[UNKNOWN]
    assert unknown["name"] == f"AFP command {UNKNOWN}"
    assert unknown["results"] == [{"code": NO_SUCH_COMMAND, "n": 3}]
    assert accounts[WRITE_EXT]["bytes_in"] == 2 * (16 + 20 + len(data))
    assert accounts[READ_EXT]["bytes_out"] == 16 + len(data)
    for account in accounts.values():
        explained = sum(account["times"].values())
        assert abs(explained - account["time_ns"]) <= account["time_ns"] / 1000
    session = by_port(run)[port]
    assert session["requests"] == sum(a["requests"] for a in accounts.values())


def test_several_at_once(scope: Scope, guests: Server) -> None:
    """Eight clients, each with requests of its own number."""
    running = scope.record(guests)
    running.wait_recording()

    def one(i: int) -> tuple[int, int]:
        user, volume = (("bench1", "vol1"), ("bench2", "vol2"))[i % 2]
        client = AfpClient(guests.port, user=user, volume=volume)
        for _ in range(50 + i):
            client.stat_root()
        time.sleep(0.3)
        port = client.local_port()
        client.close()
        return i, port

    with ThreadPoolExecutor(8) as pool:
        ports = dict(pool.map(one, range(8)))
    gone(guests)
    run = stopped(running)
    run.assert_trustworthy()
    expected = {STAT: sum(50 + i for i in range(8)), LOGIN: 8, OPEN_VOLUME: 8, LOGOUT: 8}
    assert run.phases[0].requests() == expected
    sessions = by_port(run)
    assert len(run.saved["sessions"]) == 8
    for i, port in ports.items():
        # Login, volume, logout, and the DSI session's begin come on top.
        assert sessions[port]["requests"] == 50 + i + 4
        assert sessions[port]["user"] in (f"uid {5001 + i % 2}", f"bench{1 + i % 2}")
        assert sessions[port]["volume"].endswith(f"/inst/{guests.port}/vol{1 + i % 2}")
        assert sessions[port]["begun_ns"] < sessions[port]["ended_ns"]
        assert sessions[port]["calls"] > 100
        assert sessions[port]["busy_ns"] > 0


def test_sessions_before_during_after(scope: Scope, guests: Server) -> None:
    stays, ends = AfpClient(guests.port), AfpClient(guests.port, user="bench2", volume="vol2")
    for client in (stays, ends):
        for _ in range(5):
            client.stat_root()
    running = scope.record(guests)
    running.wait_recording()
    for _ in range(11):
        stays.stat_root()
    for _ in range(3):
        ends.stat_root()
    ports = {"stays": stays.local_port(), "ends": ends.local_port()}
    ends.close()
    begins = AfpClient(guests.port)
    begins.stat_root()
    ports["begins"] = begins.local_port()
    time.sleep(0.3)
    wait_until(lambda: len(guests.sessions()) == 2, 10, "a session to end")
    run = stopped(running)
    stays.close()
    begins.close()
    run.assert_trustworthy()
    found = {name: by_port(run)[port] for name, port in ports.items()}
    assert len(run.saved["sessions"]) == 3
    times = {name: (s["begun_ns"] is None, s["ended_ns"] is None) for name, s in found.items()}
    assert times == {"stays": (True, True), "ends": (True, False), "begins": (False, True)}
    assert {name: s["requests"] for name, s in found.items()} == {
        "stays": 11,
        "ends": 4,
        "begins": 4,
    }
    assert found["stays"]["volume"].endswith("/vol1")
    assert found["ends"]["user"] in ("uid 5002", "bench2")
    assert run.phases[0].requests() == {STAT: 15, LOGOUT: 1, LOGIN: 1, OPEN_VOLUME: 1}


class SlowClient(AfpClient):
    """Logged in for a while before it opens its volume."""

    def _expect_ok(self, what: str, payload: bytes) -> bytes:
        if what == "FPOpenVol":
            time.sleep(0.5)
        return super()._expect_ok(what, payload)


def test_volume_opened_late(scope: Scope, guests: Server) -> None:
    """Where the process stood before is not the volume; nor are its folders."""
    running = scope.record(guests)
    running.wait_recording()
    client = SlowClient(guests.port, user="bench2", volume="vol2")
    time.sleep(0.3)
    run = stopped(running)
    session = by_port(run)[client.local_port()]
    client.close()
    assert session["volume"].endswith(f"/inst/{guests.port}/vol2")
    assert "cwd" in session["volume_from"]
    assert session["user"] in ("uid 5002", "bench2")


def test_begins_in_the_middle_of_a_request(scope: Scope, guests: Server) -> None:
    """Its rest and its reply belong to no request of the record, and are no loss."""
    client = RawClient(guests.port)
    client.create("half")
    fork = client.open("half")
    write = client.write_frame(fork, b"\xff" * 5000)
    client.send(write[:3000])
    time.sleep(0.2)
    running = scope.record(guests)
    running.wait_recording()
    client.send(write[3000:])
    assert client.replies(1) == [0]
    for _ in range(3):
        client.stat_root()
    client.close_fork(fork)
    client.delete("half")
    run = stopped(running)
    client.close()
    run.assert_trustworthy()
    assert run.phases[0].requests() == {STAT: 3, CLOSE_FORK: 1, DELETE: 1}


# Which server


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


def test_master(scope: Scope, guests: Server, pair: dict[int, Busy]) -> None:
    run = saved(scope.record(None, "-p", str(guests.pid), "-d", "1"))
    run.assert_trustworthy()
    assert run.saved["server"]["port"] == str(guests.port)
    assert {s["pid"] for s in run.saved["sessions"]} == set(pair)
    assert all(s["requests"] > 10 for s in run.saved["sessions"])


def test_one_session(scope: Scope, guests: Server, pair: dict[int, Busy]) -> None:
    pid, other = pair
    before = pair[other].requests
    run = saved(scope.record(None, "-p", str(pid), "-d", "1"))
    assert pair[other].requests > before + 10
    run.assert_trustworthy()
    assert [s["pid"] for s in run.saved["sessions"]] == [pid]
    # A session is counted from the moment it is attached, just before the window.
    assert 10 < stats(run) <= run.saved["sessions"][0]["requests"] <= stats(run) + 10
    assert run.saved["options"]["session"] == str(pid)
    assert not any(str(other) in book["name"] for book in run.saved["books"])
    assert "outside sessions" not in run.phases[0].outside()


def test_server_of_a_session(scope: Scope, guests: Server, pair: dict[int, Busy]) -> None:
    run = saved(scope.record(None, "--server", "-p", str(next(iter(pair))), "-d", "1"))
    run.assert_trustworthy()
    assert {s["pid"] for s in run.saved["sessions"]} == set(pair)
    assert "session" not in run.saved["options"]


def test_port(scope: Scope, dbd: Server, guests: Server, pair: dict[int, Busy]) -> None:
    """Of several servers this one."""
    run = saved(scope.record(dbd, "-d", "1"))
    run.assert_trustworthy()
    assert run.saved["sessions"] == []
    assert run.phases[0].accounts() == {}
    assert not any(str(guests.pid) in book["name"] for book in run.saved["books"])


def test_two_servers(scope: Scope, dbd: Server, guests: Server) -> None:
    done = scope.execute(scope.recorder(None, "-d", "1"))
    done.expect(NO_SESSION, f"pid {dbd.pid} (port {dbd.port})", "choose one with -p PID")


def test_the_only_server(scope: Scope, tmp_path: Path) -> None:
    """No option is needed where there is one; so in a process namespace."""
    out = tmp_path / "run.json"
    script = f"""
        env=$({HERE}/up.sh forky 0 sqlite) || exit 99
        eval "$env"
        trap '{HERE}/down.sh $AFPD_PORT' EXIT
        echo port $AFPD_PORT
        {scope.binary} record -d 1 --json {out}
    """
    alone = ["unshare", "--pid", "--fork", "--mount-proc", "bash", "-c", script]
    done = scope.execute(alone).expect(OK)
    port = re.search(r"^port (\d+)$", done.out, re.MULTILINE)
    assert port
    assert Run.load(out).saved["server"]["port"] == port[1]


@pytest.mark.parametrize(
    ("args", "status", "text"),
    [
        (("-p", "1", "--port", "548"), USAGE, "one of them"),
        (("--port", "0"), USAGE, "port"),
        (("-d", "0"), USAGE, "-d"),
        (("--nonsense",), USAGE, "nonsense"),
        (("-p", "{none}"), NO_SESSION, "no process {none}"),
        (("-p", "{self}"), NO_SESSION, "neither listens"),
        (("--port", "{free}"), NO_SESSION, "nothing listens on port {free}"),
    ],
)
def test_wrong_server(
    scope: Scope, guests: Server, args: tuple[str, ...], status: int, text: str
) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    with socket.socket() as s, subprocess.Popen(["sleep", "60"]) as process:
        s.bind(("127.0.0.1", 0))
        names = {"none": ended.pid, "self": process.pid, "free": s.getsockname()[1]}
        done = scope.execute([str(scope.binary), "record", *(arg.format(**names) for arg in args)])
        process.kill()
    done.expect(status, text.format(**names))
    assert not done.out


# How long


def test_duration(scope: Scope, guests: Server) -> None:
    running = scope.record(guests, "-d", "2")
    running.wait_recording()
    begun = time.monotonic()
    run = saved(running)
    assert time.monotonic() - begun < 5
    assert 2.0e9 <= run.phases[0]["elapsed"] < 3e9
    assert run.saved["options"]["duration_s"] == "2"
    run.assert_trustworthy()


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("sleep 0.2; exit 0", ""),
        ("exit 3", "ended with status 3"),
        ("kill -9 $$", "killed by signal 9"),
    ],
)
def test_command(scope: Scope, guests: Server, script: str, text: str) -> None:
    """It ends with the command, whose failure is a warning."""
    run = saved(scope.record(guests, command=["sh", "-c", script]))
    assert text in run.warning("command")
    assert bool(text) == bool(run.saved["warnings"])
    assert not run.open_books() and not run.losses() and run.complete
    assert run.phases[0]["elapsed"] < 5e9


def test_command_not_found(scope: Scope, guests: Server) -> None:
    done = scope.record(guests, command=["/no/such/program"]).finish()
    assert "cannot run /no/such/program: No such file" in done.err
    assert done.run
    assert "127" in done.run.warning("command")


def test_command_that_lasts(scope: Scope, guests: Server) -> None:
    nap = str(100_000 + os.getpid())
    running = scope.record(guests, "-d", "1", command=["sleep", nap])
    run = saved(running)
    assert "the time was over" in run.warning("command")
    listed = subprocess.run(["pgrep", "-f", f"^sleep {nap}"], capture_output=True)
    assert not listed.stdout, "the command still runs"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted(
    scope: Scope, guests: Server, pair: dict[int, Busy], number: signal.Signals
) -> None:
    """Without -d the normal end: report and JSON are complete."""
    running = scope.record(guests)
    running.wait_recording()
    time.sleep(0.3)
    running.signal(number)
    done = running.finish().expect(OK)
    assert done.run
    done.run.assert_trustworthy()
    assert "FPGetFileDirParms" in done.out
    assert "Books closed" in done.out.replace("  ", " ")
    assert done.run.saved["id"] in done.out
    assert stats(done.run) > 5


def test_json_to_stdout(scope: Scope, guests: Server, pair: dict[int, Busy]) -> None:
    done = scope.execute(scope.recorder(guests, "-d", "1", "--json", "-")).expect(OK)
    run = Run(json.loads(done.out))
    run.assert_trustworthy()
    assert stats(run) > 10


# The server ends


@pytest.mark.parametrize(
    ("number", "whom"),
    [
        (signal.SIGTERM, "master"),
        (signal.SIGKILL, "master"),
        (signal.SIGKILL, "all"),
    ],
    ids=["stopped", "killed", "all killed"],
)
def test_server_ends(scope: Scope, victim: Server, number: signal.Signals, whom: str) -> None:
    """What was recorded until then is saved, and the end is told."""
    clients = [AfpClient(victim.port) for _ in range(2)]
    running = scope.record(victim)
    running.wait_recording()
    for client in clients:
        for _ in range(10):
            client.stat_root()
    time.sleep(0.3)
    pids = victim.sessions() if whom == "all" else []
    for pid in (*pids, victim.pid):
        os.kill(pid, number)
    done = running.finish(20)
    assert done.run, f"nothing was saved: {done}"
    assert stats(done.run) == 20
    assert not done.run.open_books()
    assert not done.run.losses()
    assert done.status == OK
    assert "ended" in done.run.warning("server"), done.run.saved["warnings"]
    assert done.run.warning("server") in " ".join(done.out.split())


def test_the_only_session_ends(scope: Scope, guests: Server) -> None:
    """So does the record of it."""
    client = AfpClient(guests.port)
    (pid,) = guests.sessions()
    running = scope.record(None, "-p", str(pid))
    running.wait_recording()
    for _ in range(3):
        client.stat_root()
    client.close()
    run = saved(running)
    assert run.complete
    assert not run.open_books() and not run.losses()
    assert run.phases[0].requests() == {STAT: 3, LOGOUT: 1}
    assert run.saved["sessions"][0]["ended_ns"] is not None
    assert f"process {pid} ended" in run.warning("server")


def test_session_killed(scope: Scope, victim: Server) -> None:
    """The others are recorded on."""
    dies, lives = AfpClient(victim.port), None
    (pid,) = victim.sessions()
    lives = AfpClient(victim.port)
    running = scope.record(victim)
    running.wait_recording()
    for client in (dies, lives):
        client.stat_root()
    time.sleep(0.2)
    kill([pid])
    wait_until(lambda: len(victim.sessions()) == 1, 10, "the session to die")
    for _ in range(5):
        lives.stat_root()
    run = stopped(running)
    run.assert_trustworthy()
    sessions = {s["pid"]: s for s in run.saved["sessions"]}
    assert sessions[pid]["ended_ns"] is not None
    assert sessions[pid]["requests"] == 1
    assert by_port(run)[lives.local_port()]["requests"] == 6
    assert by_port(run)[lives.local_port()]["ended_ns"] is None
    assert stats(run) == 7


# The recorder ends


def held() -> set[int]:
    """Programs in the kernel that a process holds."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/fdinfo/*"):
        with contextlib.suppress(OSError):
            found |= {int(i) for i in re.findall(r"^prog_id:\s*(\d+)", path.read_text(), re.M)}
    return found


def orphans() -> set[int]:
    """Our programs in the kernel that belong to no living process."""
    listed = subprocess.run(
        ["bpftool", "-j", "prog", "show"], check=True, capture_output=True, text=True
    ).stdout
    names = ("on_sys_enter", "on_sys_exit", "on_switch")
    return {p["id"] for p in json.loads(listed) if p.get("name") in names} - held()


def test_recorder_killed(scope: Scope, guests: Server, pair: dict[int, Busy]) -> None:
    """At any moment: the server goes on, and nothing stays in the kernel."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    for delay in [chance.uniform(0, 0.5) for _ in range(4)] + [chance.uniform(0.5, 1)]:
        before = {pid: busy.requests for pid, busy in pair.items()}
        running = scope.record(guests)
        time.sleep(delay)
        running.process.kill()
        running.process.wait()
        assert running.json and not running.json.exists(), "half a run"
        wait_until(
            lambda b=before: all(pair[pid].requests > n + 5 for pid, n in b.items()),
            10,
            f"the sessions to go on after {delay:.2f} s",
        )
    wait_until(lambda: not orphans(), 10, "the programs to go", 0.2)
    run = saved(scope.record(guests, "-d", "1"))
    run.assert_trustworthy()
    assert stats(run) > 10


# Rights


@pytest.mark.parametrize("option", ["-p", "--port"])
def test_nobody(scope: Scope, guests: Server, public: str, option: str) -> None:
    """Who may see nothing gets no report of nothing."""
    value = {"-p": guests.pid, "--port": guests.port}[option]
    done = scope.execute([*AS_NOBODY, public, "record", "-d", "1", option, str(value)])
    done.expect(UNTRUSTED, "run as root")
    assert not done.out


def test_bpf_forbidden(scope: Scope, guests: Server, pair: dict[int, Busy]) -> None:
    """The next lower rung, with the reason; what it cannot know is null."""
    run = saved(scope.record(guests, "-d", "1", before=WITHOUT_BPF))
    assert run.complete
    assert "/proc" in run.saved["rungs"]["calls"]
    assert "refused" in run.saved["rungs"]["not.bpf"]
    phase = run.phases[0]
    # Of the sessions, or nothing: not of their parent alone.
    assert phase.metrics["afpd_syscw"] is None or phase["afpd_syscw"] > 10
    assert phase.saved["ledger"]["rows"] is None
    assert phase.saved["ledger"]["requests"] is None
    assert run.saved["absent"]["requests"]
    unknown = run.unknown() & {m for m in phase.metrics if m.startswith(("afpd_", "cnid_"))}
    assert unknown <= set(run.saved["absent"]), "unknown without a reason"


def test_rights_are_given_up(scope: Scope, guests: Server) -> None:
    version = re.match(r"(\d+)\.(\d+)", platform.release())
    assert version
    if (int(version[1]), int(version[2])) < (6, 1):
        pytest.skip("before Linux 6.1 reading the counts of programs needs rights")
    running = scope.record(guests)
    running.wait_recording()
    status = Path(f"/proc/{running.process.pid}/status").read_text()
    lost = {"sys_admin": 21, "perfmon": 38, "bpf": 39, "setuid": 7, "net_admin": 12, "kill": 5}
    for which in ("CapPrm", "CapEff", "CapInh"):
        held = int(dict(re.findall(r"(\w+):\t(\w+)", status))[which], 16)
        assert not [name for name, bit in lost.items() if held >> bit & 1], which
    stopped(running).assert_trustworthy()


def test_the_command_keeps_its_rights(scope: Scope, guests: Server) -> None:
    done = scope.execute(
        scope.recorder(guests, "--json", "-", command=["grep", "CapEff", "/proc/self/status"])
    ).expect(OK)
    own = re.search(r"CapEff:\t(\w+)", Path("/proc/self/status").read_text())
    assert own and own[1] in done.out
