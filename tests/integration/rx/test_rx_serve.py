# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope rx --serve, judged by an Rx that is not ours, by tshark, rxdebug and the kernel.

Tests user/main/rx.c, user/drive/rx_serve.c, client/work/rxperf/rx_server.c, rx_server_call.c.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import socket
import struct
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from rights import KILL, NET_ADMIN, SETUID, rights, threads
from rxing import Relay, Serving, ask, drops_of, seen_by_tshark
from rxpeer import (
    ACK,
    COOKIE,
    DATA,
    DEBUG,
    FROM_CLIENT,
    OF_SERVER,
    RECV,
    VERSION,
    Client,
    Packet,
    Request,
    Ways,
    file,
    head,
    is_pattern,
    pattern,
    recv,
    rpc,
    send,
    udp_socket,
)
from scope import OK, UNTRUSTED, USAGE, Scope, wait_until
from wire import captured, wait_captured

BAD = ("--loss=50", "--doubled=30", "--late=50")
SIZES = (0, 1, 8, 20, 1412, 1413, 64000)


def some(sizes: Sequence[int] = SIZES) -> list[Request]:
    out = []
    for i, size in enumerate(sizes):
        data = pattern(8 * i if size >= 8 else 0, size)
        words = data[: size // 4 * 4]
        out += [send(data), recv(size), rpc(data, size // 2)]
        out.append(file([len(words) // 4], [size // 2 + 1], words) if words else file([], [5], b""))
    return out


def must_be_right(requests: Sequence[Request]) -> None:
    wrong = [r for r in requests if not r.is_right or not is_pattern(r.answer, OF_SERVER)]
    assert not wrong, f"{len(wrong)}: {wrong[0]!r:.300}"


def must_be_served(server: Serving, requests: Sequence[Request]) -> None:
    assert server.answered() == len(requests)
    assert server["bytes_read"] == server["bytes_checked"] == sum(len(r.data) for r in requests)
    assert server["bytes_written"] == sum(len(r.answer) for r in requests)
    assert server["wrong"] == server["refused"] == server["failed"] == 0


def test_each_command_has_the_answer_of_the_protocol(scope: Scope) -> None:
    calls = some()
    with Serving(scope, "--buffer=4M") as server, Client(server.port) as client:
        client.run(*calls)
    must_be_right(calls)
    must_be_served(server, calls)
    assert not client.ledger.faults
    assert client.ledger.types[DATA] == server["data_sent"]
    assert client.ledger.types[ACK] == server["acks_sent"]
    assert server["resent"] == server["duplicates"] == server["strange"] == 0


def test_tshark_sees_the_packets_that_were_counted(scope: Scope) -> None:
    calls = some()
    with Serving(scope, "--no-jumbo", "--buffer", "4M") as server, captured(server.port) as capture:
        with Client(server.port) as client:
            client.run(*calls)
        wait_captured(server.port, capture)
        seen = seen_by_tshark(capture, server.port)
    must_be_right(calls)
    assert seen.malformed == 0
    own = seen.types.pop(str(server.port))
    assert own == {DATA: server["data_sent"], ACK: server["acks_sent"]} == client.ledger.types
    (theirs,) = seen.types.values()
    assert theirs[DATA] == server["data_received"]
    assert theirs[ACK] == server["acks_received"]


@pytest.mark.parametrize(
    "ways",
    [Ways(), Ways(ack_every=2, window=8, datagram=4), Ways(window=2, limits=False)],
    ids=["usual", "jumbo", "old"],
)
def test_every_byte_survives_loss_and_disorder(scope: Scope, ways: Ways) -> None:
    calls = some([20, 1412, 64000, 300000])
    with (
        Serving(scope) as server,
        Relay(server.port, *BAD, "--seed=5") as relay,
        Client(relay.port, ways) as client,
    ):
        client.run(*calls, seconds=60)
    must_be_right(calls)
    must_be_served(server, calls)
    assert not client.ledger.faults
    assert relay.to_client.lost and relay.to_server.overtaken
    assert server["resent"] and server["duplicates"] and server["out_of_order"]


def test_a_long_way_changes_nothing_but_the_time(scope: Scope) -> None:
    calls = [*some([20]), recv(300000), send(pattern(80, 100000))]
    with (
        Serving(scope) as server,
        Relay(server.port, "--delay-us=100000") as relay,
        Client(relay.port, Ways(datagram=4, window=32)) as client,
    ):
        client.run(*calls, seconds=60)
    must_be_right(calls)
    must_be_served(server, calls)
    assert not client.ledger.faults
    assert server.did["rtt"]["min_ns"] >= 200e6


def waiting_idle(port: int) -> tuple[int, int]:
    """Calls that wait, and threads that do nothing."""
    stats = ask(port, DEBUG, struct.pack(">II", 1, 0))
    waiting, idle = struct.unpack_from(">II", stats, 16)
    return waiting, idle


def test_many_clients_wait_for_few_threads(scope: Scope) -> None:
    """rxdebug sees them wait."""
    calls = [[rpc(pattern(0, 3000), 3000) for _ in range(8)] for _ in range(10)]

    def run(port: int, own: list[Request]) -> None:
        with Client(port) as client:
            client.run(*own, seconds=90)
        assert not client.ledger.faults

    with Serving(scope, "-s", "2", "-S", "2", "--buffer=4M") as server:
        # A call that is not complete keeps its thread.
        with udp_socket() as s:
            for channel in range(2):
                start = Packet(0x80000007, channel, 1, 1, 1, DATA, FROM_CLIENT, data=head(0, 9))
                s.sendto(start.bytes(), ("127.0.0.1", server.port))
            with Client(server.port) as client, ThreadPoolExecutor() as pool:
                late = pool.submit(client.run, *calls[0], seconds=60)

                wait_until(lambda: waiting_idle(server.port) == (4, 0), 10, "four calls to wait")
                if shutil.which("rxdebug"):
                    told = subprocess.run(
                        ["rxdebug", "127.0.0.1", str(server.port)],
                        capture_output=True,
                        text=True,
                        timeout=20,
                    ).stdout
                    assert "4 calls waiting for a thread\n0 threads are idle" in told
                for channel in range(2):
                    rest = Packet(
                        *(0x80000007, channel, 1, 2, 9, DATA, FROM_CLIENT | 4),
                        data=pattern(0, 9),
                    )
                    s.sendto(rest.bytes(), ("127.0.0.1", server.port))
                late.result(60)
        with ThreadPoolExecutor(9) as pool:
            list(pool.map(lambda own: run(server.port, own), calls[1:]))
    must_be_right([call for own in calls for call in own])
    assert server.answered() == 82
    assert server["waited"] >= 4 and server["most_busy"] == 2


@pytest.mark.parametrize("quota", [30, 15])
def test_a_quota_says_how_many_clients_fill_the_server(scope: Scope, quota: int) -> None:
    """246 threads: the ninth client of 30 each, or the seventeenth of 15, takes the last ones."""
    threads, each = 246, 40
    full = threads // quota + 1
    with (
        Serving(
            scope, *("-s", str(threads), "-S", str(threads)), f"--quota={quota}", "--buffer=8M"
        ) as server,
        contextlib.ExitStack() as stack,
    ):
        for n in range(1, full + 1):
            s = stack.enter_context(udp_socket())
            for cid in range(each):
                # A call that is not complete keeps its thread.
                start = Packet(0x80000000 + n, cid, 1, 1, 1, DATA, FROM_CLIENT, data=head(0, 9))
                s.sendto(start.bytes(), ("127.0.0.1", server.port))
            busy = min(threads, n * quota)
            wait_until(
                lambda busy=busy, n=n: (
                    waiting_idle(server.port)  # type: ignore[misc]
                    == (n * each - busy, threads - busy)
                ),
                *(20, f"{busy} threads to be busy"),
            )
    assert server["most_busy"] == threads


def test_wrong_bytes_are_reported(scope: Scope) -> None:
    data = bytearray(pattern(16, 5000))
    data[4999] ^= 1
    with Serving(scope, status=UNTRUSTED) as server, Client(server.port) as client:
        client.run(send(bytes(data)), send(b"bytes of another program" * 9))
    assert server["wrong"] == 1 and server.answered() == 2
    assert server["bytes_checked"] == 5000 and server["bytes_read"] == 5000 + 24 * 9


def test_what_is_no_call_is_refused(scope: Scope) -> None:
    bad = [
        Request(RECV, (5,), raw=struct.pack(">5I", 2, 1, 4096, 4096, 5)),
        Request(RECV, (5,), raw=struct.pack(">5I", 3, 9, 4096, 4096, 5)),
        Request(RECV, (5,), raw=b"short", data=bytes(400)),
    ]
    with Serving(scope) as server, Client(server.port) as client:
        client.run(*bad)
        client.run(good := recv(5))
    assert [request.error for request in bad] == [-5, -5, -5]
    assert good.cookie == COOKIE and server["refused"] == 3


def test_garbage_does_not_end_the_server(scope: Scope) -> None:
    """Random bytes, damaged packets, ACKs of what was never sent; then it still answers."""
    chance = random.Random(4)
    with Serving(scope, "--buffer=4M") as server, udp_socket() as s:
        for n in range(4000):
            kind = chance.choice([DATA, ACK, ACK, 3, 4, 5, 6, 7, 8, 9, 13, 77])
            body = chance.randbytes(chance.choice([0, 3, 8, 18, 40, 300, 1412, 4000]))
            packet = Packet(
                *(0x80000001, chance.choice([4, 5, 6, 8]), chance.randrange(4)),
                *(chance.choice([0, 1, 2, 33, 2**32 - 1]), n, kind, chance.randrange(256)),
                data=head(1, 100000) if kind == DATA and n % 7 == 0 else body,
            )
            raw = packet.bytes()
            s.sendto(raw[: chance.choice([len(raw), len(raw), 5])], ("127.0.0.1", server.port))
        with Client(server.port) as client:
            calls = some([20, 64000])
            client.run(*calls)
        answer = ask(server.port, VERSION, b"")
    must_be_right(calls)
    assert not client.ledger.faults
    assert len(answer) == 65 and answer.startswith(b"afpscope")
    assert server["strange"] > 500


def states_of(pid: int) -> set[str]:
    """Of its threads."""
    stats = Path(f"/proc/{pid}/task").glob("*/stat")
    return {stat.read_text().rpartition(")")[2].split()[0] for stat in stats}


def test_drops_are_those_of_the_kernel(scope: Scope) -> None:
    with Serving(scope, "-u", "16") as server, udp_socket() as s:
        assert server.buffer == 16384
        server.running.signal(signal.SIGSTOP)
        wait_until(lambda: states_of(server.running.process.pid) == {"T"}, 10, "it to stop")
        for _ in range(100):
            s.sendto(bytes(1000), ("127.0.0.1", server.port))
        server.running.signal(signal.SIGCONT)
        with Client(server.port) as client:
            client.run(call := recv(20))
        dropped = drops_of(server.port)
    assert call.is_right
    assert server.did["drops"] == dropped > 50
    assert server["datagrams_received"] == 100 - dropped + client.sent


def test_the_port_is_taken(scope: Scope) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
        command = ["rx", "--serve", "-p", str(port), "--address", "127.0.0.1"]
        done = scope.execute([str(scope.binary), *command])
    done.expect(1, f"UDP port {port}", "another server")


def test_wrong_options_of_the_server_are_refused(scope: Scope) -> None:
    """The message and the exit code of main(); all others: unit/main/test_usage.c."""
    done = scope.execute([str(scope.binary), "rx", "--serve", "--threads=0"])
    done.expect(USAGE, "--threads", "rx --serve --help)")


def test_its_end_is_a_page_of_what_it_did(scope: Scope) -> None:
    running = scope.start([str(scope.binary), "rx", "--serve", "-p", "0", "--address", "127.0.0.1"])
    running.wait_for("serving")
    running.signal(signal.SIGINT)
    done = running.finish(20).expect(OK)
    lines = done.out.splitlines()
    assert len(lines) < 20 and all(len(line) <= 100 for line in lines)
    assert "n/a" in next(line for line in lines if line.startswith("round trip"))


def test_a_server_that_begins_while_servers_are_recorded_is_said(scope: Scope) -> None:
    """Each is a process of its own: nobody watches the later one."""
    with Serving(scope) as first:
        pid = str(first.running.process.pid)
        for which, others in ((), True), (("--pid", pid), False):
            running = scope.record(None, "--kind", "rx", *which)
            running.wait_recording()
            with Serving(scope):
                running.signal(signal.SIGINT)
                done = running.finish().expect(OK)
            assert done.run
            said = done.run.warning("found")
            assert ("began while the watch went on: what it did" in said) == others


@pytest.mark.parametrize("saves", [False, True])
def test_who_sends_to_it_meets_no_rights(scope: Scope, tmp_path: Path, saves: bool) -> None:
    """In no thread. It is still root's: record looks for servers of root."""
    more = ["--json", str(tmp_path / "saved")] if saves else []
    server = scope.start([str(scope.binary), "rx", "--serve", "-p", "0", "-u", "2048", *more])
    server.wait_for(" on UDP port ")
    assert "receive buffer 2097152 bytes" in server.err, "which only root is granted"
    held = [rights(one) for one in threads(server.process.pid)]
    server.signal(signal.SIGTERM)
    server.finish(20).expect(OK)
    assert len(held) >= 3
    for user, capabilities in held:
        assert user == 0
        if saves:  # where root may write
            assert not capabilities & (1 << SETUID | 1 << KILL | 1 << NET_ADMIN)
        else:
            assert not capabilities
