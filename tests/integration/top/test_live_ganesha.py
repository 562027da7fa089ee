# SPDX-License-Identifier: GPL-2.0-or-later
"""top, slow and exporter on a real nfs-ganesha: what a client sent is what they show.

The judge is tshark. Tests user/kinds/nfs.c, user/kinds/kind.c, user/watch/bpf/pending.c.
"""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from exporting import export, promtool
from ganesha import Ganesha
from nfsclient import Nfs, mounted, work3, work4
from nfswire import on_the_wire
from parked import ended, suites, watch
from scope import OK, Scope, wait_until
from stracing import tracer_of
from test_top import steps
from wire import captured, wait_captured

FILES, SIZE = 12, 5000
HELD_S = 1.5


@pytest.fixture(scope="module", params=suites("bookworm"))
def ganesha(request: pytest.FixtureRequest) -> Iterator[Ganesha]:
    with Ganesha(request.param) as server:
        yield server


def work(server: Ganesha) -> None:
    folder = mounted(server.mount_port, server.path1)
    with Nfs(server.port) as nfs:
        work3(nfs, folder, FILES, SIZE)
        work4(nfs, ["share1"], FILES)


def on_wire(server: Ganesha, act: Callable[[], object]) -> dict[str, Counter[str]]:
    """What a client does, by request, as it went over the wire."""
    ports = server.port, server.mount_port
    with captured(*ports) as capture:
        act()
        wait_captured(server.port, capture)
        return on_the_wire(capture, ports)


# Place: top on nfs-ganesha | each request in one step, as it went over the wire
def test_top_shows_each_request_once(scope: Scope, ganesha: Ganesha) -> None:
    running = watch(scope, "top", ganesha.port, "-b", "--json", "-d", "0.2")
    told = on_wire(ganesha, lambda: work(ganesha))
    found = steps(ended(running))
    for what in ("requests", "bytes_in", "bytes_out"):
        rows: Counter[str] = Counter()
        for step in found:
            rows.update({row["name"]: row[what] for row in step["rows"]})
        assert +rows == told[what], what
    errors = Counter(
        {row["name"]: row["errors"] for step in found for row in step["rows"] if row["errors"]}
    )
    assert not errors  # a name that is looked up and is not there is none
    assert {row["handed_over"] for step in found for row in step["rows"]} == {0}


# Place: slow on nfs-ganesha | the request that was held, and no other
def test_slow_has_the_request_that_was_held(scope: Scope, ganesha: Ganesha) -> None:
    """strace holds the first sync of each thread: of a COMMIT, or of a WRITE that is stable."""
    hold = f"inject=fsync:delay_enter={HELD_S:g}s:when=1"
    running = watch(scope, "slow", ganesha.port, "--json", "--over", "700ms")
    tracer = scope.start(["strace", "-f", "-qq", "-e", "trace=fsync", "-e", hold,
                          "-p", str(ganesha.pid)])  # fmt: skip
    wait_until(lambda: tracer_of(ganesha.pid) == tracer.process.pid, 10, "strace to attach")
    try:
        work(ganesha)
    finally:
        tracer.signal(signal.SIGINT)
        tracer.process.wait(20)
    *shown, end = [json.loads(line) for line in ended(running).out.splitlines()]
    assert {event["command"] for event in shown} <= {"COMMIT", "WRITE"}
    held = [event for event in shown if event["event"] == "slow"]
    assert held and end["slow"] == len(held)
    assert min(event["time_ns"] for event in held) > 0.9e9 * HELD_S


def test_slow_says_it_in_ganeshas_words(scope: Scope, ganesha: Ganesha) -> None:
    running = watch(scope, "slow", ganesha.port, "--over", "1ns", "--rate", "0")
    told = on_wire(ganesha, lambda: work(ganesha))
    done = ended(running)
    commands = Counter(line.split("  ")[1].strip() for line in done.out.splitlines()
                       if line[:2].isdigit())  # fmt: skip
    assert "error 2" in done.out or "no such name" in done.out, done.out
    assert sum(commands.values()) == sum(told["requests"].values())


# Place: exporter on nfs-ganesha | counters by command that are what went over the wire
def test_counters_are_what_went_over_the_wire(scope: Scope, ganesha: Ganesha) -> None:
    exporter = export(scope, "-p", str(ganesha.port))
    exporter.wait_up()
    told = on_wire(ganesha, lambda: work(ganesha))
    found = exporter.metrics()
    by = {name: int(n) for name, n in found.by("afpscope_requests_total", "command").items() if n}
    assert by == told["requests"]
    for what, metric in (("bytes_in", "received"), ("bytes_out", "sent")):
        moved = found.by(f"afpscope_request_{metric}_bytes_total", "command")
        assert {name: int(n) for name, n in moved.items() if n} == told[what]
    assert set(found.by("afpscope_losses_total", "what").values()) == {0}
    promtool("check", "metrics", text=found.text)
    exporter.running.signal(signal.SIGTERM)
    exporter.running.finish(20).expect(OK)
