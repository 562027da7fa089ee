# SPDX-License-Identifier: GPL-2.0-or-later
"""Both ends of Rx are ours, and the network between them is bad; or one end is mad.

Tests client/work/rxperf/rxperf.c, client/store/rx.c, client/rx/call.c.
"""

from __future__ import annotations

import json
import random
import struct
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest
from rxing import Relay, Serving
from rxpeer import (
    ABORT,
    ACK,
    BUSY,
    CHALLENGE,
    COOKIE,
    DATA,
    FROM_CLIENT,
    LAST,
    LIMITS,
    Packet,
    head,
    packets,
    udp_socket,
)
from scope import LOST, OK, REFUSED, Done, Running, Scope

ALL = ("-c", "recv,send,rpc,file")
BAD = ("--loss=50", "--doubled=30", "--late=50")


def start(scope: Scope, port: int, *options: str) -> Running:
    return scope.start([str(scope.binary), "rx", *options, f"127.0.0.1:{port}"], save=True)


@dataclass(frozen=True)
class Net:
    relay: tuple[str, ...]
    options: tuple[str, ...]
    server: tuple[str, ...] = ()


def test_each_second_of_a_test_can_be_read_by_a_program(scope: Scope) -> None:
    """Of one that ends by time, with a probe."""
    with Serving(scope) as server:
        options = ("-c", "recv,rpc", "-d", "1", "--probe", "--live=json", "--watch", "off")
        done = start(scope, server.port, *options).finish().expect(OK)
    shown = [json.loads(x) for x in done.err.splitlines() if x.startswith("{")]
    assert [(s["phase"], s["second"]) for s in shown] == [("recv", 1), ("rpc", 1)]
    assert done.run
    for s, phase in zip(shown, done.run.saved["phases"], strict=True):
        (first, *_) = phase["load"]["seconds"]
        assert (s["actions"], s["bytes"]) == (first["n"], first["bytes"]) and s["actions"] > 0
        assert s["probe_p99_ns"] > 0


NETS = {
    "small": Net(
        ("--loss=20", "--doubled=50", "--late=50", "--seed=1"),
        (*ALL, "-b", "20", "-f", "5,0,5", "-n", "10", "-T", "3"),
    ),
    "big": Net(("--loss=5", "--late=20", "--seed=2"), ("-c", "recv,send", "-b", "20M", "-T", "1")),
    "many": Net(
        ("--loss=20", "--doubled=20", "--late=20", "--seed=3"),
        ("-c", "recv,send", "-b", "64000", "-n", "100", "-T", "1", "-u", "1024"),
        ("-S", "16"),
    ),
    "one thread": Net(
        (*BAD, "--seed=4"), (*ALL, "-b", "9000", "-f", "9,0,9", "-n", "5", "-T", "1"), ("-S", "1")
    ),
    "far": Net(
        ("--delay-us=100000", "--late=50", "--late-us=30000", "--seed=5"),
        (*ALL, "-b", "64000", "-f", "3000,0,3000", "-n", "4", "-T", "1"),
    ),
    "threads": Net((*BAD, "--seed=6"), ("-c", "recv,send", "-b", "30000", "-t", "12", "-T", "2")),
    "no jumbo": Net(
        (*BAD, "--seed=7"), (*ALL, "-b", "100000", "-f", "9,0,9", "-T", "3", "-j", "-W", "4")
    ),
}
Outcome = tuple[Serving, Relay, Done]


@dataclass(frozen=True)
class Dead:
    """What became of a call whose peer fell silent, and of one that its client has left."""

    server: Serving
    done: Done
    seconds: float


def with_dead_peers(scope: Scope) -> Dead:
    with Serving(scope, "-s", "2") as server, udp_socket() as s:
        base = Packet(0x80000007, 0, 1, 1, 1, DATA, FROM_CLIENT, data=head(0, 9))
        s.sendto(base.bytes(), ("127.0.0.1", server.port))
        with Relay(server.port, "--silent-after=600") as relay:
            begun = time.monotonic()
            done = start(scope, relay.port, "-c", "recv", "-b", "20M", "-T", "1").finish()
            return Dead(server, done, time.monotonic() - begun)


@pytest.fixture(scope="module")
def all_done(scope: Scope) -> tuple[dict[str, Outcome], Dead]:
    """Side by side, as most of it is waiting."""

    def run(net: Net) -> Outcome:
        with (
            Serving(scope, "--buffer=8M", *net.server) as server,
            Relay(server.port, *net.relay) as relay,
        ):
            done = start(scope, relay.port, *net.options).finish(100)
        return server, relay, done

    with ThreadPoolExecutor(len(NETS) + 1) as pool:
        dead = pool.submit(with_dead_peers, scope)
        outcomes = dict(zip(NETS, pool.map(run, NETS.values()), strict=True))
        return outcomes, dead.result()


@pytest.mark.parametrize("name", NETS)
def test_no_byte_is_lost_on_a_bad_network(
    all_done: tuple[dict[str, Outcome], Dead], name: str
) -> None:
    server, relay, done = all_done[0][name]
    done.expect(OK)
    assert done.run
    phases = done.run.phases
    assert all(phase["errors"] == phase["rx_not_compared"] == 0 for phase in phases)
    assert server.answered() == sum(phase["ops"] for phase in phases)
    assert server["bytes_read"] == server["bytes_checked"]
    assert server["bytes_read"] + server["bytes_written"] == sum(p["bytes"] for p in phases)
    assert server["wrong"] == server["refused"] == server["failed"] == 0
    assert not relay.own_drops
    assert relay.to_server.late and relay.to_client.late
    if relay.to_server.lost + relay.to_client.lost > 50:
        assert server["resent"] + sum(phase["rx_resent"] for phase in phases) > 0
    if name == "far":
        assert min(phase["rx_rtt"] for phase in phases) > 200e6


def test_a_dead_peer_is_noticed_after_12_seconds(
    all_done: tuple[dict[str, Outcome], Dead],
) -> None:
    """By the client and by the server: with half an answer, and with half a request."""
    server, done = all_done[1].server, all_done[1].done
    done.expect(LOST)
    assert 11.9 < all_done[1].seconds < 30  # a busy machine adds some
    assert done.run and "the call is dead (-1)" in done.run.warning("failed")
    assert server["failed"] == server["dead"] == 2
    assert server.answered() == 0


# ---- servers that are mad ----

Answers = Callable[[Packet, random.Random], list[Packet]]


def reply(p: Packet, kind: int, data: bytes, **more: int) -> Packet:
    fields = {"type": kind, "seq": 0, "flags": 0} | more
    return replace(p, data=data, **fields)  # type: ignore[arg-type]


def ack(p: Packet, first: int, have: bytes, limits: tuple[int, int, int, int]) -> Packet:
    data = struct.pack(">HHIIIBB", 0, 0, first, first, p.serial, 9, len(have)) + have
    return reply(p, ACK, data + bytes(3) + LIMITS.pack(*limits))


def garbage(p: Packet, chance: random.Random) -> list[Packet]:
    return [
        reply(p, chance.randrange(14), chance.randbytes(chance.randrange(1400)), flags=n)
        for n in (0, 2, 4, 0x20)
    ]


def future(p: Packet, _: random.Random) -> list[Packet]:
    return [ack(p, first, b"\1" * 200, (1444, 1444, 32, 1)) for first in (1000, 2**32 - 1, 3)]


def wild(p: Packet, chance: random.Random) -> list[Packet]:
    sizes = [0, 1, 29, 2**16, 2**32 - 1]
    return [
        ack(p, 1, bytes(p.seq), tuple(chance.choice(sizes) for _ in range(4)))  # type: ignore
        for _ in range(4)
    ]


def always(kind: int, data: bytes, **more: int) -> Answers:
    return lambda p, _: [reply(p, kind, data, **more)] if p.type == DATA else []


class Mad:
    """Answers each packet so."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._socket = udp_socket()
        self.port: int = self._socket.getsockname()[1]

    def run(self, over: threading.Event) -> None:
        self._socket.settimeout(0.1)
        chance = random.Random(1)
        serial = 0
        while not over.is_set():
            try:
                datagram, source = self._socket.recvfrom(65536)
            except TimeoutError:
                continue
            for p in packets(datagram):
                for answer in self._answers(p, chance):
                    serial += 1
                    self._socket.sendto(replace(answer, serial=serial).bytes(), source)
        self._socket.close()


MAD: dict[str, tuple[Answers, str, str]] = {
    "garbage": (garbage, "recv", ""),
    "future": (future, "send", "(-3)"),
    "wild": (wild, "send", "(-3)"),
    "busy": (always(BUSY, b""), "recv", "(-3)"),
    "abort": (always(ABORT, struct.pack(">i", -455)), "recv", "(-455)"),
    "challenge": (always(CHALLENGE, bytes(16)), "recv", "without security"),
    "short": (always(DATA, bytes(99), seq=1, flags=LAST), "recv", ""),
    "long": (always(DATA, bytes(1000) + COOKIE, seq=1, flags=LAST), "rpc", ""),
    "no cookie": (always(DATA, bytes(34), seq=1, flags=LAST), "rpc", "ends with 0x0"),
}


def test_a_mad_server_ends_no_client_but_its_call(scope: Scope) -> None:
    """No hang, no crash, no answer that counts as right; one message."""
    over = threading.Event()

    def visit(name: str) -> Done:
        answers, command, _ = MAD[name]
        mad = Mad(answers)
        thread = threading.Thread(target=mad.run, args=(over,), daemon=True)
        thread.start()
        return start(
            *(scope, mad.port, "-c", command, "-b", "100000", "-T", "1", "--timeout", "2")
        ).finish(40)

    with ThreadPoolExecutor(len(MAD)) as pool:
        all_done = dict(zip(MAD, pool.map(visit, MAD), strict=True))
    over.set()
    for name, done in all_done.items():
        done.expect(REFUSED)
        assert done.run and len(done.messages) <= 1, f"{name}: {done}"
        assert done.run.phases[0]["errors"] == done.run.phases[0]["ops"] == 1, name
        assert done.seconds < 20
        assert MAD[name][2] in done.run.warning("failed"), f"{name}: {done}"
