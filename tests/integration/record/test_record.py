# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope record: whoever the client is, its requests and its session are seen."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from afpclient import HEADER, TICKLE, AfpClient
from netatalk import HERE, SIGNATURES, Server
from recording import (
    CLOSE_FORK,
    CREATE_FILE,
    DELETE,
    LOGIN,
    LOGOUT,
    OPEN_FORK,
    OPEN_VOLUME,
    READ_EXT,
    STAT,
    WRITE_EXT,
    RawClient,
    by_port,
    gone,
    stopped,
)
from scope import OK, Run, Scope, wait_asleep, wait_until

UNKNOWN, UNNAMED = 99, 255  # all that have no name share an account
DSI_GET_STATUS, DSI_OPEN_SESSION = 256 + 3, 256 + 4
NO_SUCH_COMMAND = -5024

# Sections of afp_spectest that are fast and leave no session behind; most of
# its commands are in no other test.
SECTIONS = (
    *("FPAddAPPL", "FPAddIcon", "FPCatSearch", "FPCatSearchExt", "FPCloseDT", "FPCloseVol"),
    *("FPEnumerate", "FPEnumerateExt", "FPEnumerateExt2", "FPExchangeFiles", "FPFlush"),
    *("FPGetACL", "FPGetExtAttr", "FPGetForkParms", "FPGetIconInfo", "FPGetSessionToken"),
    *("FPGetSrvrInfo", "FPGetSrvrMsg", "FPGetUserInfo", "FPMapID", "FPMapName", "FPOpenDT"),
    *("FPReadExt", "FPRename", "FPResolveID", "FPSync", "FPWriteExt", "FPOpenFork", "Utf8"),
)


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
    sessions = run.saved["sessions"]
    assert all(session["begun_ns"] is not None for session in sessions)
    # The last client has ended before the recording; its two sessions may end a moment later.
    assert sum(session["ended_ns"] is None for session in sessions) <= 2


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
        **{LOGIN: 1, OPEN_VOLUME: 1, LOGOUT: 1, STAT: 44, UNNAMED: 3},
        **{CREATE_FILE: 1, OPEN_FORK: 1, CLOSE_FORK: 1, DELETE: 1, READ_EXT: 1, WRITE_EXT: 2},
    }
    accounts = run.phases[0].accounts()
    unknown = accounts[UNNAMED]
    assert unknown["name"] == "other AFP commands"
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
        assert sessions[port]["user"] == f"bench{1 + i % 2}"
        assert sessions[port]["volumes"] == [f"vol{1 + i % 2}"]
        assert sessions[port]["volume_from"] == "FPOpenVol"
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
    wait_until(lambda: len(guests.sessions()) == 2, 10, "a session to end")
    wait_asleep(guests.sessions())
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
    # A watch that began after FPOpenVol sees where the process works.
    assert found["stays"]["volume_from"] == "folder"
    assert [v[-5:] for v in found["stays"]["volumes"]] == ["/vol1"]
    assert (found["begins"]["volume_from"], found["begins"]["volumes"]) == ("FPOpenVol", ["vol1"])
    assert found["ends"]["user"] == "bench2"
    assert run.phases[0].requests() == {STAT: 15, LOGOUT: 1, LOGIN: 1, OPEN_VOLUME: 1}


def test_two_volumes_in_one_session(scope: Scope, guests: Server) -> None:
    running = scope.record(guests)
    running.wait_recording()
    client = AfpClient(guests.port)
    client.open_volume("vol2")
    client.open_volume("vol1")
    with pytest.raises(RuntimeError, match="FPOpenVol"):
        client.open_volume("vol9")
    port = client.local_port()
    client.close()
    gone(guests)
    running.signal(signal.SIGINT)
    done = running.finish().expect(OK)
    assert done.run
    done.run.assert_trustworthy()
    session = by_port(done.run)[port]
    assert (session["volumes"], session["volumes_more"]) == (["vol1", "vol2"], 0)
    assert session["volume_from"] == "FPOpenVol"
    assert "  vol1, vol2  " in done.out


def test_begins_in_the_middle_of_a_request(scope: Scope, guests: Server) -> None:
    """Its rest and its reply belong to no request of the record, and are no loss."""
    client = RawClient(guests.port)
    client.create("half")
    fork = client.open("half")
    write = client.write_frame(fork, b"\xff" * 5000)
    client.send(write[:3000])
    client.wait_read()
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
