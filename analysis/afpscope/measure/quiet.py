# SPDX-License-Identifier: GPL-2.0-or-later
"""Waiting until this machine is quiet again, so that a step does not pay for the one before it."""

from __future__ import annotations

import ipaddress
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path

# Quiet: this share of the CPUs is busy at most, and no more than this waits for the disk.
BUSY, DIRTY_KIB = 0.10, 32 * 1024
_LOOK_S = 0.5
_DIRTY = re.compile(r"^(?:Dirty|Writeback):\s*(\d+) kB", re.M)


def is_here(host: str) -> bool:
    """Whether a host is this machine: one of its addresses can be bound here."""
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, _, _, address in found:
        if ipaddress.ip_address(str(address[0]).split("%")[0]).is_loopback:
            return True
        try:
            with socket.socket(family, kind) as s:
                s.bind(address)
                return True
        except OSError:
            continue
    return False


def _cpu(proc: Path) -> tuple[int, int]:
    """Ticks of all CPUs: busy, and all. Waiting for the disk is not busy: that is in DIRTY_KIB."""
    values = [int(v) for v in (proc / "stat").read_text().splitlines()[0].split()[1:9]]
    return sum(values) - values[3] - values[4], sum(values)


def _dirty_kib(proc: Path) -> int:
    return sum(map(int, _DIRTY.findall((proc / "meminfo").read_text())))


def wait(most_s: float, stop: Callable[[], bool], proc: Path = Path("/proc")) -> tuple[float, bool]:
    """Waits until it is quiet, at most so long; how long that took, and whether it is quiet now."""
    begun = time.monotonic()
    before = _cpu(proc)
    while True:
        time.sleep(min(_LOOK_S, most_s))
        now = _cpu(proc)
        busy = (now[0] - before[0]) / max(1, now[1] - before[1])
        before = now
        took = time.monotonic() - begun
        if busy <= BUSY and _dirty_kib(proc) <= DIRTY_KIB:
            return took, True
        if took >= most_s or stop():
            return took, False


def pause(seconds: float, stop: Callable[[], bool]) -> float:
    """Waits that long, unless stopped."""
    begun = time.monotonic()
    while not stop() and (left := begun + seconds - time.monotonic()) > 0:
        time.sleep(min(left, 0.1))
    return time.monotonic() - begun
