# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope rx as a client: against a peer that shares no code with it, and against our server.

Tests user/attach/looks.c, user/drive/rxperf.c, rx_clients.c, user/main/rx.c.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import struct
import time
from pathlib import Path

import pytest
from disturbed import within
from rxing import Relay, Serving, ask, drops_of, seen_by_tshark
from rxopenafs import Memory, every_order
from rxpeer import ACK, DATA, DEBUG, PerfServer, Ways
from scope import INTERRUPTED, NO_SESSION, OK, REFUSED, USAGE, Done, Phase, Scope, wait_until
from wire import captured, wait_captured

SIZES = ("-b", "20K", "-S", "3000", "-R", "5000", "-f", "500,20,0,3000")
ALL = ("-c", "recv,send,rpc,file")


def line(scope: Scope, port: int, *options: str) -> list[str]:
    return [str(scope.binary), "rx", *options, f"127.0.0.1:{port}"]


def call(scope: Scope, port: int, *options: str) -> Done:
    return scope.execute(line(scope, port, *options), save=True)


def phases(done: Done) -> dict[str, Phase]:
    assert done.run, f"nothing was saved: {done}"
    return {p.title: p for p in done.run.phases}


def test_a_peer_in_python_finds_no_fault(scope: Scope) -> None:
    """Each byte sent is the one received, and no packet breaks a rule."""
    with PerfServer(Ways()) as server:
        done = call(scope, server.port, *ALL, *SIZES, "-n", "3", "-T", "4").expect(OK)
    got = phases(done)
    assert {t: (p["ops"], p["errors"]) for t, p in got.items()} == dict.fromkeys(
        ("recv", "send", "rpc", "file"), (12, 0)
    )
    assert {t: p["bytes"] for t, p in got.items()} == {
        "recv": 12 * 20480,
        "send": 12 * 20480,
        "rpc": 12 * 8000,
        "file": 12 * 4 * 3520,
    }
    assert not server.ledger.faults
    assert len(server.served) == 48
    # its bytes are not those of our server, and that is said
    assert got["recv"]["rx_not_compared"] == 12
    assert done.run and "not those of afpscope rx --serve" in done.run.warning("compared")
    assert got["send"]["rx_not_compared"] == 0


# Bytes, how many tests in a row come in every order, and the clients.
MEGABYTES, TESTS_MAX = 20_000_000, 16
ORDERS = [
    (0, 2, 2),
    (777, 2, 2),
    (20_480, 2, 2),
    (64_000, 2, 2),
    *(pytest.param(size, 3, 2, marks=pytest.mark.judges) for size in (0, 1, 7, 777)),
    *(pytest.param(size, 2, 1, marks=pytest.mark.judges) for size in (1_000_000, MEGABYTES)),
]


@pytest.mark.parametrize(("size", "row", "clients"), ORDERS)
def test_a_server_that_answers_with_what_it_has_read_fails_no_call(
    scope: Scope, size: int, row: int, clients: int
) -> None:
    """As OpenAFS's does: its memory holds bytes of ours, of several calls and of any place.

    With odd sizes of its reads and writes, too, so that what it holds begins anywhere."""
    order = every_order(("recv", "send", "rpc", "file"), row)
    sizes = ("-b", size, "-S", size, "-R", size, "-f", f"{size // 4 + 1},0,{size // 4 + 1}")
    pieces = ("-r", 1000, "-w", 999) if size == 20_480 else ()
    more = [*map(str, (*sizes, *pieces)), "-n", str(clients), "-T", "1", "--watch=off"]
    calls = 0
    with PerfServer(Ways(), Memory()) as server:
        for at in range(0, len(order) - row + 1, TESTS_MAX - row + 1):
            tests = order[at : at + TESTS_MAX]
            done = call(scope, server.port, "-c", ",".join(tests), *more).expect(OK)
            assert done.run
            got = [(p.title, p["ops"], p["errors"]) for p in done.run.phases]
            assert got == [(test, clients, 0) for test in tests]
            sent = [p["rx_not_compared"] for p in done.run.phases if p.title == "send"]
            assert not any(sent)
            calls += len(tests) * clients
    assert not server.ledger.faults
    assert len(server.served) == calls


def test_clients_call_again_after_a_silence(scope: Scope) -> None:
    """With -d the load after an outage of the server is that before it."""
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(PerfServer(Ways())) for _ in range(2)]
        # Some ms away: a peer in Python at full speed takes a CPU.
        relays = [stack.enter_context(Relay(s.port, "--delay-us", "3000")) for s in servers]
        running = [
            scope.start(line(scope, relay.port, "-c", c, "-b", "300", "-n", "3", "-d", "25"))
            for relay, c in zip(relays, ("recv", "rpc"), strict=True)
        ]
        for server in servers:
            wait_until(lambda s=server: len(s.served) > 30, 10, "calls")
            server.deaf.set()
        time.sleep(13)
        for server in servers:
            before = len(server.served)
            server.deaf.clear()
            wait_until(
                lambda s=server, n=before: len(s.served) > n + 30, 10, "calls of all clients again"
            )
        ended = [it.finish(40).expect(REFUSED) for it in running]
    for done in ended:
        assert "3 of 3 clients got no answer for 12 s, and called again" in done.out + done.err
        assert "stopped calling" not in done.out + done.err


def test_tshark_counts_the_same_packets(scope: Scope) -> None:
    with Serving(scope, "--buffer", "4M") as server, captured(server.port) as capture:
        done = call(scope, server.port, *ALL, *SIZES, "-T", "10", "-j", "-u", "4096").expect(OK)
        wait_captured(server.port, capture)
        seen = seen_by_tshark(capture, server.port)
    got = phases(done).values()
    assert seen.malformed == 0
    own = seen.types.pop(str(server.port))
    # a test has a port of its own, and the capture's end another
    ours = [types for types in seen.types.values() if DATA in types]
    assert len(ours) == 4
    sent, acks = (sum(types[kind] for types in ours) for kind in (DATA, ACK))
    assert sent == sum(p["rx_data_sent"] for p in got)
    assert own[DATA] == sum(p["rx_data_received"] for p in got)
    # the answer to a test's last packet is sent after its figures were taken
    assert 0 <= acks - sum(p["rx_acks_sent"] for p in got) <= 4
    assert set().union(*ours) == {DATA, ACK}


@pytest.mark.parametrize("clients", [1, 100])
def test_our_server_and_our_client_agree(scope: Scope, clients: int) -> None:
    with Serving(scope, "--buffer", "4M", "-S", "64") as server:
        done = call(
            scope, server.port, *ALL, *SIZES, "-n", str(clients), "-T", "5", "-u", "1024"
        ).expect(OK)
    got = phases(done)
    n = 5 * clients
    assert all(p["ops"] == n and not p["errors"] for p in got.values())
    assert all(p["rx_not_compared"] == 0 for p in got.values())
    assert (server["sends"], server["recvs"], server["rpcs"], server["files"]) == (n,) * 4
    assert server["bytes_read"] == server["bytes_checked"] == n * (20480 + 3000 + 2080)
    assert server["bytes_written"] == n * (20480 + 5000 + 12000)
    assert not server["wrong"]
    assert server["data_received"] == sum(p["rx_data_sent"] for p in got.values())
    assert server["data_sent"] == sum(p["rx_data_received"] for p in got.values())


def test_a_bad_network_costs_time_and_no_byte(scope: Scope) -> None:
    bad = ("--loss=30", "--doubled=30", "--late=50", "--seed=5")
    with Serving(scope, "--buffer", "4M") as server, Relay(server.port, *bad) as relay:
        done = call(scope, relay.port, *ALL, *SIZES, "-n", "5", "-T", "3").expect(OK)
    got = phases(done)
    assert all(p["ops"] == 15 and not p["errors"] for p in got.values())
    assert sum(p["rx_resent"] for p in got.values())
    assert server["bytes_read"] == server["bytes_checked"] == 15 * (20480 + 3000 + 2080)
    assert not server["wrong"]


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
        assert isinstance(port, int)
        return port


def test_no_server_is_noticed_at_once(scope: Scope) -> None:
    done = call(scope, free_port()).expect(NO_SESSION)
    assert "does not answer: recv: nobody listens on this port" in done.err
    assert len(done.messages) == len(phases(done)) == 1


def test_a_server_that_says_nothing_is_given_up(scope: Scope) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        port = deaf.getsockname()[1]
        done = call(scope, port, "-n", "2", "-T", "1", "--timeout", "1").expect(REFUSED)
    assert done.run and "the call took too long (-3)" in done.run.warning("failed")
    assert {(p["ops"], p["errors"]) for p in phases(done).values()} == {(2, 2)}


def executed(server: Serving) -> int:
    """Calls, as the server says meanwhile."""
    stats = ask(server.port, DEBUG, struct.pack(">II", 1, 0))
    return int(struct.unpack_from(">I", stats, 8)[0])


def test_an_interrupt_keeps_what_was_measured(scope: Scope) -> None:
    with Serving(scope) as server:
        running = scope.start(line(scope, server.port, "-d", "600"), save=True)
        wait_until(lambda: executed(server) > 10, 20, "calls to be executed")
        running.signal(signal.SIGINT)
        done = running.finish(20).expect(INTERRUPTED)
    assert phases(done)["recv"]["ops"] > 10
    assert not phases(done)["recv"]["errors"]


def test_granted_buffers_are_read_back(scope: Scope) -> None:
    """Less than was asked for is said."""
    most = int(Path("/proc/sys/net/core/rmem_max").read_text())
    asked = most // 1024 * 4
    plain = ("setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin")
    with Serving(scope) as server:
        command = [*plain, *line(scope, server.port, "-T", "1", "-u", str(asked))]
        done = scope.execute(command, save=True).expect(OK)
    assert phases(done)["recv"]["rx_buffer"] == most
    assert done.run
    assert f"buffers of {most // 1024} KiB, not the {asked}" in done.run.warning("buffer")


def test_the_server_beside_it_is_watched(scope: Scope) -> None:
    """Its requests, and what found no room in its socket: by /proc, by a tracepoint, by itself."""
    options = ("-c", "rpc", "-n", "50", "-d", "3")
    with Serving(scope, "--buffer", "16K", "-S", "64") as server:
        running = scope.start(line(scope, server.port, *options), save=True)
        wait_until(lambda: executed(server) > 100, 20, "calls to be executed")
        server.running.signal(signal.SIGSTOP)
        wait_until(lambda: drops_of(server.port) > 0, 20, "the first drops")
        server.running.signal(signal.SIGCONT)
        done = running.finish(60).expect(OK)
    assert done.run
    assert done.run.saved["kind"] == "rx"
    rpc = phases(done)["rpc"]
    (requests,) = rpc.saved["ledger"]["requests"]
    assert (requests["name"], requests["requests"]) == ("RPC", rpc["ops"])
    (own,) = [s for s in done.run.saved["sockets"] if s["port"] == server.port]
    assert own["drops"] == own["drops_seen"] == server.did["drops"] > 0
    assert f"{own['drops']} datagrams found no room" in done.run.warning("drops")
    assert {"worker", "listener"} <= {t["name"] for t in done.run.saved["threads"]}
    assert not done.run.open_books() and not done.run.losses()


def test_wrong_options_are_refused(scope: Scope) -> None:
    """The message and the exit code of main(); all others: unit/main/test_usage.c."""
    done = scope.execute([str(scope.binary), "rx", "-c", "file", "127.0.0.1"]).expect(USAGE)
    assert "-c file needs -f" in done.err


def test_a_question_outside_of_calls_is_asked_again(scope: Scope) -> None:
    """rxdebug's; of 500 the first is lost on its way, and costs a second."""
    with Serving(scope, "-S", "8") as server, Relay(server.port, "--lose-first", "1") as relay:
        done = call(scope, relay.port, "--op", "rxdebug", "-T", "500").expect(OK)
    got = phases(done)["rxdebug"]
    assert (got["ops"], got["errors"]) == (500, 0)
    assert server.answered() == 0


def test_a_question_that_nobody_hears_ends_at_once(scope: Scope) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
    done = within(10, lambda: call(scope, port, "--op", "rxdebug"))
    done.expect(NO_SESSION, "does not answer", "nobody listens on this port")


def test_a_probe_calls_once_a_second_beside_the_clients(scope: Scope) -> None:
    with Serving(scope, "--buffer", "4M", "-S", "8") as server:
        done = call(scope, server.port, "-c", "recv", "-b", "20K", "-n", "4", "-d", "3", "--probe")
    got = phases(done.expect(OK))["recv"]
    probe = got.saved["probe"]["actions"][0]
    assert probe["failed"] == 0 and 2 <= probe["n"] <= 4
    assert "Probe beside recv, one rpc a second: " in done.out
    # what it did is in none of the clients' figures
    assert server["rpcs"] == probe["n"] and server["recvs"] == got["ops"]
    assert got["bytes"] == got["ops"] * 20480
