# SPDX-License-Identifier: GPL-2.0-or-later
"""What clients, and the network between, do to a server."""

from __future__ import annotations

import ways
from faults import MIXES, Fault, Part

TUN = ("/sys/class/misc/tun",)
SOCAT = "/usr/bin/socat"
LOOK = (Part(str(MIXES / "look.ini"), 1, 0.005),)
OFFICE = (Part("office", 2, 0.02, ("--files=20", "--file-size=64K")),)
READ = (Part("batch-read", 1, 0, ("--file-size=8M",)),)
WRITE = (Part("batch-write", 1, 0, ("--file-size=256K",)),)
SMALL_READ = (Part("batch-read", 1, 0, ("--file-size=256K",)),)
BROWSE = (Part("browse", 4, 0.05, ("--files=20",)),)


CLIENT_FAULTS = (
    Fault(
        "far client", ("round-trips",), (1e-5, 2.5e-3, 0.02), own=OFFICE, apart=True, needs=TUN,
        way=ways.far_client,
    ),
    Fault(
        "late client", ("client-pauses", "relay"), (0, 3e-4, 0.05), own=OFFICE, apart=True,
        way=ways.late_client,
    ),
    Fault(
        "delayed acks", ("delayed-acks", "relay"), (0, 0.02, 1), own=LOOK, apart=True,
        way=ways.client_in_pieces,
    ),
    Fault(
        "lost packets", ("retransmissions",), (0, 0.005, 0.1), own=READ, apart=True,
        needs=TUN, way=ways.lossy_client,
    ),
    Fault(
        "slow reader", ("client-window", "network", "relay"), (None, 1e9, 1e6), apart=True,
        own=SMALL_READ, way=ways.slow_client,
    ),
    Fault(
        "slow reader of much", ("network", "client-window", "relay"), (None, 1e9, 2e6), own=READ,
        apart=True, way=ways.slow_client,
    ),
    Fault(
        "narrow link, reading", ("slow-link",), (1e10, 1e8, 4e6), own=SMALL_READ, apart=True,
        needs=TUN, way=ways.narrow_link,
    ),
    Fault(
        "narrow link, writing", ("slow-upload", "slow-link"), (1e10, 1e8, 4e6), own=WRITE,
        apart=True, needs=TUN, way=ways.narrow_link,
    ),
    Fault(
        "relay", ("relay", "delayed-acks"), (None, None, 1), own=BROWSE, apart=True, needs=(SOCAT,),
        way=ways.relayed_by("socat"),
    ),
)  # fmt: skip
