# SPDX-License-Identifier: GPL-2.0-or-later
"""The judges of Rx among themselves: the peers of rxpeer.py, over the network of rx_relay.c."""

from __future__ import annotations

import random

from rxing import Relay
from rxpeer import Client, PerfServer, Request, Ways, answering, file, recv, rpc, send, udp_socket

DATA = random.Random(1).randbytes(64000)
BAD = ("--loss=50", "--doubled=30", "--late=50", "--seed=3")


def requests() -> list[Request]:
    return [
        *(send(DATA), recv(64000), rpc(DATA[:5000], 30), recv(0), send(b"")),
        file([1, 2, 300], [5, 6000], DATA[:1212]),
    ]


def exchange(*network: str, ways: Ways) -> Relay:
    calls = requests()
    with (
        PerfServer(ways) as server,
        Relay(server.port, *network) as relay,
        Client(relay.port, ways) as client,
    ):
        client.run(*calls)
    assert all(call.is_right for call in calls)
    assert all(call.answer == answering(len(call.answer)) for call in calls)
    assert sorted(len(s.data) for s in server.served) == [0, 0, 0, 1212, 5000, 64000]
    assert all(s.data == DATA[: len(s.data)] for s in server.served)
    assert not client.ledger.faults
    assert not server.ledger.faults
    assert not relay.own_drops
    return relay


def test_the_peers_understand_each_other() -> None:
    relay = exchange(ways=Ways())
    assert relay.to_server.sent == relay.to_server.received > 50


def test_the_peers_survive_loss_and_disorder() -> None:
    relay = exchange(*BAD, ways=Ways(window=8, ack_every=2))
    for way in (relay.to_server, relay.to_client):
        assert way.lost and way.doubled and way.overtaken
        assert way.sent + way.refused <= way.received - way.lost + way.doubled


def test_the_same_seed_has_the_same_fate() -> None:
    """Numbered datagrams: which arrive, and how often?"""

    def arrived() -> list[bytes]:
        found: list[bytes] = []
        with (
            udp_socket() as server,
            Relay(server.getsockname()[1], "--loss=300", "--doubled=300", "--seed=7") as relay,
            udp_socket() as client,
        ):
            server.settimeout(10)
            for n in [*(b"%d" % n for n in range(500)), *[b"end"] * 20]:
                client.sendto(n, ("127.0.0.1", relay.port))
            while found[-1:] != [b"end"]:
                found.append(server.recv(100))
        return found

    one = arrived()
    assert one == arrived()
    assert 300 < len({*one}) < 400 and len(one) > len({*one})
