# SPDX-License-Identifier: GPL-2.0-or-later
"""What the report says and draws of calls over Rx: packets by test, and the server's sockets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .. import show
from ..saved.crowd import Load
from ..saved.model import Phase
from ..saved.run import Run, Socket
from ..words import Words
from .painter import Painter, Picture

# Metrics of the clients' packets; their names are in rxwords.py.
_CLIENT = (
    "rx_data_sent",
    "rx_resent",
    "rx_acks_sent",
    "rx_data_received",
    "rx_duplicates",
    "rx_acks_received",
    "rx_timeouts",
    "rx_busy",
    "rx_rtt",
    "rx_buffer",
    "rx_drops",
)


@dataclass(frozen=True)
class Row:
    name: str
    cells: list[str]


@dataclass(frozen=True)
class SocketView:
    socket: Socket
    differs: bool  # the kernel's two counts of drops
    picture: Picture | None


@dataclass(frozen=True)
class RxView:
    """`packets`: of the clients, with a column for each test; `served`: those that the server's
    threads read and sent."""

    tests: list[str]
    packets: list[Row]
    served: list[Row]
    sockets: list[SocketView]


def _packets(phases: list[Phase], run: Run, w: Words) -> Iterator[Row]:
    units = {m.key: m.unit for m in run.metrics}
    for key in _CLIENT:
        values = [show.measured(p.metrics.get(key), units.get(key, "1")) for p in phases]
        yield Row(w[key], values)


def _served(phases: list[Phase], w: Words) -> Iterator[Row]:
    for p in phases:
        for way, of in (("rx_in", p.packets_in), ("rx_out", p.packets_out)):
            if of:
                counted = (show.count(of.datagrams), show.size(of.bytes), show.count(of.again))
                yield Row(f"{p.title}, {w[way]}", [*counted, of.text])


def _sockets(run: Run, made: Painter, prefix: str) -> Iterator[SocketView]:
    for s in run.sockets:
        from . import rxfigures

        drawn = rxfigures.socket(s, run, made.labels)
        name = f"{prefix}rx-socket-{s.port}"
        caption = made.w.say("rx_socket_note", port=s.port)
        differs = s.seen is not None and s.seen != s.drops
        yield SocketView(s, differs, made.drawn(name, caption, drawn))


def view(run: Run, made: Painter, prefix: str) -> RxView | None:
    """None: there is nothing of the kind in the run."""
    phases = [p for p in run.phases if any(p.metrics.get(key) is not None for key in _CLIENT)]
    packets = list(_packets(phases, run, made.w)) if phases else []
    served = list(_served(list(run.phases), made.w))
    sockets = list(_sockets(run, made, prefix))
    if not packets and not served and not sockets:
        return None
    made.table(
        f"{prefix}rx-packets",
        ("test", *_CLIENT),
        [(p.title, *(p.metrics.get(key) for key in _CLIENT)) for p in phases],
    )
    return RxView([p.title for p in phases], packets, served, sockets)


def sentence(p: Phase, w: Words) -> str:
    """A test of `rx`."""
    load = p.load
    assert load
    moved, ns = p.metrics.get("bytes"), p.metrics.get("elapsed")
    latency, longest = load.latency(), load.max_ns()
    p99 = latency.quantile(0.99) if latency.n >= 100 else None
    return w.say(
        "rx_short_few" if p99 is None else "rx_short",
        test=p.title,
        clients=load.clients,
        n=load.n,
        rate=show.number(load.achieved),
        mb_s=f"{moved / ns * 1e3:.3g}" if moved is not None and ns else "n/a",
        mean=show.time(load.mean_ns()),
        p50=show.time(latency.quantile(0.5)),
        p99=show.time(p99 if p99 is None or longest is None else min(p99, longest)),
        max=show.time(longest),
    )


def weak(p: Phase, load: Load, w: Words) -> list[str]:
    """What makes the figures of a test weak. Its clients begin together: late beginnings are part
    of it."""
    out = []
    if load.lost:
        out.append(w.say("rx_lost", test=p.title, n=load.lost, clients=load.clients))
    if load.failed:
        out.append(w.say("rx_failed", test=p.title, failed=load.failed, n=load.n))
    if load.busy:
        shares = {"cpu": load.cpu_share, "runq": load.runq_share}
        out.append(w.say("rx_no_time", test=p.title, **shares))
    return out
