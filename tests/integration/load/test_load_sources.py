# SPDX-License-Identifier: GPL-2.0-or-later
"""The addresses that connections begin at, and what a machine has no room for.

Tests user/main/load.c, client/dsi/sources.c, user/app/capacity.c.
"""

from __future__ import annotations

import contextlib
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from netatalk import Server
from netns import cable, inside, ip, server_in, space
from scope import FAILED, NO_SESSION, OK, USAGE, Done, Scope, left_on

SMALL = ("-d", "1", "--ramp", "0", "--files", "4", "--file-size", "64K", "--think", "0.02")


def load(scope: Scope, server: Server | None, *args: str) -> Done:
    return scope.execute(scope.command(server, *args, tool="load"), save=True, timeout=100)


def phase_of(done: Done) -> dict[str, Any]:
    assert done.run, f"nothing was saved: {done}"
    (phase,) = done.run.saved["phases"]
    return phase


def addresses(done: Done) -> list[str]:
    """Where the clients' connections began."""
    each = phase_of(done)["load"]["each_client"]
    return [client["address"].rsplit(":", 1)[0] for client in each]


# Ports of each address of the clients' host.
PORTS = 10
# The veth pair has one address, the others are on the loopback.
SOURCES = [f"198.51.100.{i}" for i in range(1, 6)]


def have_ports(first: int) -> None:
    """This network namespace has PORTS ports from there on."""
    Path("/proc/sys/net/ipv4/ip_local_port_range").write_text(f"{first} {first + PORTS - 1}")


@pytest.fixture(scope="module")
def few_ports() -> Iterator[tuple[str, Server, str]]:
    """A host whose addresses have few ports, a server beyond a cable, and its address."""
    with (
        space("near") as near,
        space("far") as far,
        cable(near, far) as (_, there),
        server_in(far, AFPD_GLOBAL=f"afp listen = {there}\nmax connections = 60") as server,
    ):
        with inside(near):
            have_ports(40000)
            for source in SOURCES:
                ip("addr", "add", f"{source}/32", "dev", "lo")
        yield near, server, there


def test_more_sessions_than_ports_are_refused_before_the_first(
    scope: Scope, few_ports: tuple[str, Server, str]
) -> None:
    near, server, there = few_ports
    with inside(near):
        done = load(scope, server, *SMALL, "-n", "20", "-h", there)
    done.expect(
        FAILED, f"22 sessions need as many ports towards the server, and this host has {PORTS}"
    )
    assert "give 3 addresses (--source)" in done.messages[0]
    assert not left_on(server)


def test_ports_that_others_have_are_not_there(
    scope: Scope, few_ports: tuple[str, Server, str]
) -> None:
    """Of 10 ports others have 8. Where they have all but one there is no session at all: the
    command asks the server what it is by a connection of its own."""
    near, server, there = few_ports
    with inside(near), contextlib.ExitStack() as stack:
        have_ports(41000)  # none of those that have just ended
        stack.callback(have_ports, 40000)
        for _ in range(PORTS - 2):
            stack.enter_context(socket.create_connection((there, server.port)))
        done = load(scope, server, *SMALL, "-n", "2", "-h", there, "--no-probe")
        have_ports(42000)
        for _ in range(PORTS - 1):
            stack.enter_context(socket.create_connection((there, server.port)))
        probe = scope.execute(scope.command(server, "-d", "1", "-h", there, tool="probe"))
    done.expect(
        FAILED,
        f"3 sessions need as many ports towards the server, and this host has {PORTS} for each "
        f"of 1 source address, {PORTS - 2} of them in use: give 2 addresses (--source)",
    )
    probe.expect(NO_SESSION, "more ports by sysctl net.ipv4.ip_local_port_range)")
    assert not left_on(server)


def test_sessions_begin_at_the_addresses_in_turn(
    scope: Scope, few_ports: tuple[str, Server, str]
) -> None:
    near, server, there = few_ports
    with inside(near):
        own = ",".join(SOURCES[:3])
        done = load(scope, server, *SMALL, "-n", "20", "-h", there, "--source", own)
    at = Counter(addresses(done.expect(OK)))
    assert sorted(at.values()) == [6, 7, 7] and set(at) == set(SOURCES[:3])


def test_a_source_without_a_port_gives_way_to_another(
    scope: Scope, few_ports: tuple[str, Server, str]
) -> None:
    near, server, there = few_ports
    full, empty = SOURCES[3:]
    with inside(near), contextlib.ExitStack() as taken:
        for _ in range(PORTS):
            s = taken.enter_context(socket.socket())
            s.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
            s.bind((full, 0))
            s.connect((there, server.port))
        done = load(scope, server, *SMALL, "-n", "4", "-h", there, "--source", f"{full},{empty}")
    assert Counter(addresses(done.expect(OK))) == {empty: 4}


def test_a_source_of_another_host_is_refused(scope: Scope, sqlite: Server) -> None:
    done = load(scope, sqlite, *SMALL, "-n", "1", "--source", "127.0.0.1,192.0.2.7")
    done.expect(USAGE, "--source: 192.0.2.7 is not an address of this host (ip addr)")
