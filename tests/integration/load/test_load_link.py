# SPDX-License-Identifier: GPL-2.0-or-later
"""Bytes a second of actions that outlast the measured time, against what the link has carried.

Tests client/load/tally.c, actions.c.
"""

from __future__ import annotations

import json
import subprocess
import time
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from netatalk import Server
from netns import cable, inside, server_in, space
from scheduling import in_check
from scope import OK, Scope

SECONDS = 5
ALL_M = 1100  # MiB that are read: for longer than SECONDS and the warm-up
HEADERS = 66  # of a packet: Ethernet, IPv4, TCP with time stamps


@dataclass
class Link:
    """A server behind a link of 1 Gbit/s, whose end in its namespace has a name."""

    server: Server
    address: str
    space: str
    device: str

    def carried(self) -> tuple[int, int]:
        """When (CLOCK_MONOTONIC), and how many bytes of TCP until then."""
        command = ["ip", "-s", "-j", "link", "show", self.device]
        with inside(self.space):
            found = json.loads(subprocess.check_output(command))
        sent = found[0]["stats64"]["tx"]
        return time.monotonic_ns(), sent["bytes"] - HEADERS * sent["packets"]


@pytest.fixture(scope="module")
def link() -> Iterator[Link]:
    with space("link") as far, cable("", far) as (_, there):
        with inside(far):
            shown = subprocess.check_output(["ip", "-o", "addr", "show", "to", there], text=True)
            device = shown.split()[1]
            limit = ["tbf", "rate", "1gbit", "burst", "256k", "latency", "50ms"]
            shaped = subprocess.run(["tc", "qdisc", "add", "dev", device, "root", *limit])
        if shaped.returncode:
            pytest.skip("this kernel cannot limit the rate of a link")
        with server_in(far, AFPD_GLOBAL=f"afp listen = {there}") as server:
            yield Link(server, there, far, device)


def at(seen: list[tuple[int, int]], ns: int) -> float:
    """How much had been carried by then, between two looks."""
    i = min(max(bisect(seen, (ns, 0)), 1), len(seen) - 1)
    (t0, b0), (t1, b1) = seen[i - 1], seen[i]
    return b0 + (b1 - b0) * (ns - t0) / (t1 - t0)


@pytest.mark.limit(100)
@pytest.mark.parametrize("clients", in_check([30, 60], [60]))
def test_bytes_of_long_actions_are_those_that_the_link_carried(
    scope: Scope, link: Link, clients: int
) -> None:
    load = ["-n", str(clients), "--mix", "batch-read", "--ramp", "2", "-d", str(SECONDS)]
    load += [
        "--file-size",
        f"{ALL_M // clients}M",
        "--no-probe",
        "--watch",
        "off",
        "--uam",
        "guest",
    ]
    url = f"afp://{link.address}:{link.server.port}/vol1"
    running = scope.start([*scope.command(None, *load, tool="load"), url], save=True)
    seen = []
    while running.process.poll() is None:
        seen.append(link.carried())
        time.sleep(0.05)
    done = running.finish(60)
    assert done.status == OK and done.run, done
    p = done.run.saved["phases"][0]["load"]
    moved = sum(c["bytes"] for c in p["each_client"])
    carried = at(seen, p["end_ns"]) - at(seen, p["measure_ns"])
    assert abs(moved - carried) <= 0.02 * carried, (moved, carried)
    # each client's actions take the whole measured time
    assert p["outlasting"] == clients
