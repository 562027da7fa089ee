# SPDX-License-Identifier: GPL-2.0-or-later
"""record --kind rx: a real OpenAFS cell, and what its servers say themselves of their calls.

The judges are `xstat_fs_test` (the file server's calls by operation) and `rxdebug` (calls and
packets by type of any server). Tests user/kinds/rx/rx.c, user/host/net/udp.c,
user/attach/udpsockets.c and bpf/decode/rx.h.
"""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from afs import PORTS, Cell
from rxcalls import UNKNOWN, Client
from scope import NO_SESSION, OK, REFUSED, Run, Scope, wait_until

CALLS = 10_000
ERRORS = 4
FILES, VOLUMES = 1, 52  # services
GET_TIME, GET_CAPABILITIES, FETCH_STATUS, PROBE = 153, 65540, 132, 514
LISTED = re.compile(r"(data|ack|busy|abort) (\d+)")


def assert_gone(pids: list[int]) -> None:
    """Zombies are nobody's business but their parent's."""

    def alive() -> bool:
        states = subprocess.run(
            ["ps", "-o", "stat=", "-p", ",".join(map(str, pids))],
            check=False,
            capture_output=True,
            text=True,
        ).stdout.split()
        return any(not state.startswith("Z") for state in states)

    wait_until(lambda: not alive(), 10, "the servers to end")


@pytest.fixture(scope="module")
def cell() -> Iterator[Cell]:
    with Cell() as cell:
        for port in PORTS.values():
            assert "calls waiting for a thread" in cell.tool("rxdebug", cell.host, str(port))
        link, log = Path(f"/sys/class/net/afs{cell.number}-h"), cell.log
        assert link.exists() and Path(cell.netns).exists() and log.exists()
        yield cell
    assert_gone(list(cell.pid.values()))
    assert not link.exists() and not Path(cell.netns).exists() and not log.parent.exists()


def packets(cell: Cell, port: int) -> dict[str, Counter[str]]:
    """Packets by type that a server has read and sent, as it says itself."""
    text = cell.tool("rxdebug", cell.host, str(port), "-rxstats", "-noconns")
    found = {}
    for way, word in (("packets_in", "read"), ("packets_out", "sent")):
        line = re.search(f"packets {word}: (.*)", text)
        assert line, text
        found[way] = Counter({name.upper(): int(n) for name, n in LISTED.findall(line[1])})
    return found


def settled(cell: Cell, port: int) -> dict[str, Counter[str]]:
    """The same once nothing is sent any more: an ACK may come 0.4 s late."""
    last, since = packets(cell, port), time.monotonic()
    while time.monotonic() - since < 0.6:
        time.sleep(0.15)
        now = packets(cell, port)
        if now != last:
            last, since = now, time.monotonic()
    return last


def again(cell: Cell, port: int) -> int:
    found = re.search(r"dup (\d+)", cell.tool("rxdebug", cell.host, str(port), "-rxstats"))
    assert found
    return int(found[1])


def served(cell: Cell, port: int) -> int:
    """Calls that a server has executed, as it says itself."""
    found = re.search(r"calls: (\d+)", cell.tool("rxdebug", cell.host, str(port), "-noconns"))
    assert found
    return int(found[1])


def counted(run: Run) -> Counter[str]:
    """Calls by operation."""
    accounts = run.phases[0].accounts().values()
    return Counter({a["name"]: a["requests"] for a in accounts if a["requests"]})


def assert_packets(
    run: Run, before: dict[str, Counter[str]], after: dict[str, Counter[str]]
) -> None:
    for way in before:
        seen = run.phases[0].saved["ledger"][way]["types"]
        told = after[way] - before[way]
        assert Counter({name: seen.get(name, 0) for name in told}) == told, way


def assert_sound(run: Run, out: str) -> None:
    assert not run.open_books() and not run.losses() and run.saved["kind"] == "rx"
    assert "cross-checks agree" in out
    assert len(out.splitlines()) <= 40 and max(map(len, out.splitlines())) <= 100
    for account in run.phases[0].accounts().values():
        assert account["times"] is None and account["handed"] == account["requests"]
        assert 0 < account["min_ns"] <= account["p50_ns"] <= account["max_ns"]


def test_calls_are_those_of_the_file_servers_own_statistics(scope: Scope, cell: Cell) -> None:
    port = PORTS["dafileserver"]
    volume = re.search(r"(\d+) RW", cell.tool("vos", "examine", "root.afs", "-noauth"))
    assert volume
    with Client(cell.host, port, FILES) as client:
        # The server asks a host that is new to it for its name first.
        assert len(bytes(client.call(GET_TIME))) == 8
        client.finish()
        before, sent_before = cell.calls(), settled(cell, port)
        running = scope.record(None, "--kind", "rx", "--pid", str(cell.pid["dafileserver"]))
        running.wait_recording()
        for _ in range(CALLS):
            assert len(bytes(client.call(GET_TIME))) == 8
            assert len(bytes(client.call(GET_CAPABILITIES))) >= 4
            assert len(bytes(client.call(FETCH_STATUS, int(volume[1]), 1, 1))) == 120
        # Few: the server delays the answers of a client that has made many errors.
        for _ in range(ERRORS):
            assert client.call(FETCH_STATUS, 4711, 1, 1) == 103  # no such volume
            assert client.call(GET_TIME + 1000) == UNKNOWN
        client.finish()
    after, sent = cell.calls(), settled(cell, port)
    running.signal(signal.SIGINT)
    done = running.finish().expect(OK)
    assert done.run
    found = counted(done.run)
    told = Counter(after) - Counter(before)
    assert found.pop("other operations") == ERRORS
    assert found == told and found["GetTime"] == CALLS and found["FetchStatus"] == CALLS + ERRORS
    assert_sound(done.run, done.out)
    assert_packets(done.run, sent_before, sent)
    threads = {thread["name"]: thread["threads"] for thread in done.run.saved["threads"]}
    assert threads["listener"] == 1 and threads["worker"] >= 1
    assert "FSYNC_sync" in threads
    [sock] = done.run.saved["sockets"]
    assert (sock["pid"], sock["port"]) == (cell.pid["dafileserver"], port)
    assert sock["drops"] == sock["drops_seen"] == 0 and sock["points"][-1][2] == 0
    accounts = {a["name"]: a for a in done.run.phases[0].accounts().values()}
    assert accounts["FetchStatus"]["results"] == [{"code": 103, "n": ERRORS}]
    assert accounts["other operations"]["results"] == [{"code": UNKNOWN, "n": ERRORS}]
    assert accounts["GetTime"]["errors"] == 0
    assert accounts["GetTime"]["bytes_in"] == 4 * CALLS
    assert accounts["GetTime"]["bytes_out"] == 8 * CALLS
    assert accounts["FetchStatus"]["bytes_out"] == 120 * CALLS


def test_calls_of_the_volume_location_server_are_all_it_has_served(
    scope: Scope, cell: Cell
) -> None:
    port = PORTS["vlserver"]
    before, executed = settled(cell, port), served(cell, port)
    running = scope.record(None, "--kind", "rx", "--pid", str(cell.pid["vlserver"]))
    running.wait_recording()
    with Client(cell.host, port, VOLUMES) as client:
        for _ in range(CALLS):
            assert client.call(PROBE) == b""
        client.finish()
    for _ in range(20):
        cell.tool("vos", "listvldb", "-noauth")
        cell.tool("udebug", cell.host, str(port))
    after = settled(cell, port)
    running.signal(signal.SIGINT)
    done = running.finish().expect(OK)
    assert done.run
    found = counted(done.run)
    assert found["VL Probe"] == CALLS and found["VOTE XDebug"] == 20, found
    assert found.total() == served(cell, port) - executed
    assert_packets(done.run, before, after)
    assert not done.run.losses() and not done.run.open_books()


def test_requests_that_come_again_are_no_calls(scope: Scope, cell: Cell) -> None:
    port, copies = PORTS["dafileserver"], 3
    before, twice = cell.calls(), again(cell, port)
    sent_before = settled(cell, port)
    running = scope.record(None, "--kind", "rx", "--pid", str(cell.pid["dafileserver"]))
    running.wait_recording()
    with Client(cell.host, port, FILES, copies) as client:
        for _ in range(CALLS // 10):
            assert len(bytes(client.call(GET_TIME))) == 8
        client.finish()
    after = cell.calls()
    sent = settled(cell, port)
    running.signal(signal.SIGINT)
    done = running.finish().expect(OK)
    assert done.run
    assert counted(done.run) == Counter(after) - Counter(before)
    assert counted(done.run)["GetTime"] == CALLS // 10
    seen = done.run.phases[0].saved["ledger"]["packets_in"]
    assert seen["again"] == (copies - 1) * (CALLS // 10) + client.resent
    assert seen["again"] == again(cell, port) - twice
    assert_packets(done.run, sent_before, sent)
    assert not done.run.losses()


def test_each_servers_tools_are_seen(scope: Scope, cell: Cell) -> None:
    """By the program's name: another cell of this host may have one, too."""
    running = scope.record(None, "--kind", "rx", "--exe", "davolserver")
    running.wait_recording()
    for _ in range(10):
        cell.tool("vos", "listvol", cell.host, "a", "-noauth")
    running.signal(signal.SIGINT)
    done = running.finish().expect(OK)
    assert done.run
    found = counted(done.run)
    assert found["VOL XListVolumes"] + found["VOL ListVolumes"] >= 10
    assert f"(process {cell.pid['davolserver']})" in done.run.saved["server"]["port 7005"]


# A call, the server that it is for, options, and what the file server's own statistics call it.
SMALL = [
    ("GetTime", "dafileserver", ("-n", "1", "-T", "3000"), "GetTime"),
    ("GetTime", "dafileserver", ("-n", "50", "-t", "2", "-T", "30"), "GetTime"),
    ("GetCapabilities", "dafileserver", ("-n", "8", "-T", "300"), "GetCapabilities"),
    ("FetchStatus", "dafileserver", ("-n", "8", "-t", "4", "-T", "100"), "FetchStatus"),
    ("VL_Probe", "vlserver", ("-n", "8", "-T", "300"), None),
    ("rxdebug", "dafileserver", ("-n", "8", "-T", "100"), None),
    *(("version", program, ("-n", "8", "-T", "100"), None) for program in PORTS),
]


@pytest.mark.parametrize(("name", "program", "options", "told"), SMALL)
def test_small_calls_of_ours_are_those_that_the_server_has_executed(
    *, scope: Scope, cell: Cell, name: str, program: str, options: tuple[str, ...], told: str | None
) -> None:
    volume = re.search(r"(\d+) RW", cell.tool("vos", "examine", "root.afs", "-noauth"))
    assert volume
    more = ("--volume", volume[1]) if name == "FetchStatus" else ()
    where = ("-s", cell.host, "-p", str(PORTS[program]))
    words = [str(scope.binary), "rx", "--op", name, *more, *where, *options, "--watch=off"]
    before, executed = cell.calls(), served(cell, PORTS[program])
    done = scope.execute(words, save=True).expect(OK)
    assert done.run
    [phase] = done.run.phases
    per = [int(value) for value in options[1::2]]
    calls = per[0] * per[1] * (per[2] if len(per) > 2 else 1)
    assert (phase["ops"], phase["errors"]) == (calls, 0)
    if told:
        assert cell.calls()[told] - before[told] == calls
    elif name == "VL_Probe":
        assert served(cell, PORTS[program]) - executed == calls


# What is asked of a server that does not know it -> what is said.
NO_SERVICE = "the server has no such service (-2)"
REFUSALS = [
    *(("-c recv -b 64000", program, NO_SERVICE) for program in PORTS),
    ("-c send -b 64000", "dafileserver", NO_SERVICE),
    ("-c rpc -n 8 -t 4", "dafileserver", NO_SERVICE),
    ("--op GetTime", "vlserver", NO_SERVICE),
    ("--op VL_Probe", "dafileserver", NO_SERVICE),
    ("--op FetchStatus --volume 4711", "dafileserver", "the server refused the call (103)"),
]


@pytest.mark.parametrize(("options", "program", "why"), REFUSALS)
def test_a_call_that_a_server_refuses_is_told_in_a_sentence(
    scope: Scope, cell: Cell, options: str, program: str, why: str
) -> None:
    where = (*options.split(), "-T", "2", "--watch=off", f"{cell.host}:{PORTS[program]}")
    done = scope.execute([str(scope.binary), "rx", *where], save=True).expect(REFUSED)
    assert done.run and done.seconds < 10
    (phase,) = done.run.phases
    assert phase["ops"] == phase["errors"] > 0
    name = phase.title
    said = f"{name}: {phase['ops']} of {phase['ops']} calls failed, the first: {name}: {why}"
    assert done.run.warning("failed") == said


@pytest.mark.parametrize("command", ["recv", "send", "rpc"])
def test_rxperf_says_why_a_file_server_refuses_it(scope: Scope, cell: Cell, command: str) -> None:
    line = [scope.binary.with_name("rxperf"), "client", "-c", command, "-s", cell.host]
    line += ["-p", str(PORTS["dafileserver"]), "-b", "64000", "-T", "1"]
    done = subprocess.run(line, check=False, capture_output=True, text=True, timeout=60)
    said = f"rxperf: {command}: {NO_SERVICE}\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


# Reads nothing for a time, and then all that has found room.
SLOW_SERVER = """
import select, socket, sys
s = socket.socket(type=socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
select.select([s], [], [])
s.recv(100)
print(0, flush=True)
sys.stdin.readline()
s.settimeout(0.2)
n = 0
try:
    while s.recv(100):
        n += 1
except TimeoutError:
    print(n, flush=True)
sys.stdin.readline()
"""
SENT = 2000


def test_drops_and_queue_are_those_of_the_servers_socket(scope: Scope) -> None:
    words = [sys.executable, "-c", SLOW_SERVER, "-udpsize", "999999"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin and server.stdout
        port = int(server.stdout.readline())
        running = scope.record(None, "--kind", "rx", "--pid", str(server.pid))
        running.wait_recording()
        with socket.socket(type=socket.SOCK_DGRAM) as client:
            client.sendto(b"not Rx", ("127.0.0.1", port))
            server.stdout.readline()
            for _ in range(SENT):
                client.sendto(b"not Rx", ("127.0.0.1", port))
        time.sleep(0.5)  # several looks at what waits
        print(file=server.stdin, flush=True)
        read = int(server.stdout.readline())
        running.signal(signal.SIGINT)
        done = running.finish()
        print(file=server.stdin, flush=True)
    assert done.run
    [sock] = done.run.saved["sockets"]
    assert sock["drops"] == SENT - read > 0
    assert sock["drops_seen"] == sock["drops"] == sock["points"][-1][2]
    assert 0.5 * sock["buffer"] < sock["queue_max"] <= 1.1 * sock["buffer"] == 1.1 * 131072
    assert max(queue for _, queue, _ in sock["points"]) == sock["queue_max"]
    assert f"{SENT - read} datagrams found no room" in done.run.warning("drops")
    assert "asked for a receive buffer of 999999 bytes" in done.run.warning("socket-buffer")


def test_doctor_knows_the_partitions_of_a_file_server(scope: Scope, cell: Cell) -> None:
    saved = scope.folder / "doctor.json"
    line = [str(scope.binary), "doctor", "--kind", "rx", "-d", "1", "--no-save", f"--json={saved}"]
    for name, is_one in (("dafileserver", True), ("ptserver", False)):
        scope.execute([*line, "--pid", str(cell.pid[name])])
        run = json.loads(saved.read_text())
        judged = {*run["diagnosis"]["ruled_out"], *run["diagnosis"]["not_seen"]}
        assert ("io-limit" in judged and "disk-full" in judged) == is_one
        if is_one:
            assert run["figures"]["device_busy"]["who"].endswith("(volume /vicepa)")


@pytest.mark.parametrize(
    ("args", "status", "text"),
    [
        (["--pid", "1"], NO_SESSION, "has no UDP socket"),
        (["--port", "1"], NO_SESSION, "no server over Rx of this host has UDP port 1"),
        (["--exe", "no-such-program"], NO_SESSION, "no such server over Rx"),
        (["--unit", "no-such-unit"], NO_SESSION, "there is no cgroup of that name"),
    ],
)
def test_what_cannot_be_done_is_said(scope: Scope, args: list[str], status: int, text: str) -> None:
    line = [str(scope.binary), "record", "--kind", "rx", *args]
    scope.execute(line).expect(status, text)
