# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole servers watched by /proc alone, and the time series of --sample.

Tests user/attach/sampler.c.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from afpclient import AfpClient
from netatalk import Server
from scope import OK, WITHOUT_BPF, Done, Run, Running, Scope, children, wait_until

ALWAYS = ("syscr", "syscw", "rchar", "wchar", "cpu", "runq", "voluntary", "involuntary", "majflt")
DELAYS = ("blkio_delay", "swapin_delay", "freepages_delay")


@pytest.fixture(autouse=True)
def _idle(dbd: Server) -> Iterator[None]:
    """Sessions of earlier tests have gone."""
    wait_until(lambda: not dbd.sessions(), 20, "the sessions to end")
    yield


def record(scope: Scope, server: Server, *args: str, prefix: tuple[str, ...] = ()) -> Running:
    command = [*prefix, str(scope.binary), "record", "-v", "--pid", str(server.pid), *args]
    return scope.start(command, save=True)


def sampled(running: Running, server: Server) -> None:
    """Each session of now has its first reading: it is held open for the next."""
    wanted = {f"/proc/{pid}/io" for pid in server.sessions()}
    fds = Path(f"/proc/{running.process.pid}/fd")

    def held() -> bool:
        found = set()
        for fd in fds.iterdir():
            with contextlib.suppress(OSError):
                found.add(str(fd.readlink()))
        return wanted <= found

    wait_until(held, 30, f"readings of {sorted(wanted)}")


def saved(done: Done) -> Run:
    assert done.run, f"nothing was saved: {done}"
    return done.run


def series(run: Run) -> dict[int, dict[str, Any]]:
    found = {}
    for one in run.saved["series"]:
        one["points"] = {value["key"]: value["points"] for value in one["values"]}
        one["why"] = {value["key"]: value["why"] for value in one["values"]}
        found[one["pid"]] = one
    return found


def check_series(one: dict[str, Any]) -> None:
    """Running totals, from 0, with a reason where there are none."""
    assert one["t_ns"][0] == 0
    assert all(a < b for a, b in itertools.pairwise(one["t_ns"]))
    for key, points in one["points"].items():
        if points is None:
            assert one["why"][key], key
            continue
        assert one["why"][key] is None
        assert len(points) == len(one["t_ns"])
        assert points[0] == 0
        assert all(a <= b for a, b in itertools.pairwise(points)), key
    assert all(one["points"][key] is not None for key in ALWAYS)
    accounted = Path("/proc/sys/kernel/task_delayacct")
    if accounted.exists() and accounted.read_text().strip() == "0":
        for key in DELAYS:
            assert "task_delayacct is 0" in one["why"][key]


def work(client: AfpClient, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        client.stat_root()


def test_record_with_load(scope: Scope, dbd: Server) -> None:
    with contextlib.closing(AfpClient(dbd.port)) as client:
        before = dbd.sessions()
        running = record(scope, dbd, "--sample", "50", "-d", "2")
        running.wait_recording()
        work(client, 1)
        done = running.finish().expect(OK)
    run = saved(done)
    assert run.phases[0]["elapsed"] >= 2e9
    assert run.saved["options"]["sample_hz"] == "50"
    assert "50 times a second" in run.saved["rungs"]["samples"]
    found = series(run)
    assert {dbd.pid, dbd.metad, *before} <= set(found)
    for one in found.values():
        check_series(one)
    busy = found[before[0]]
    assert busy["role"] == "afpd"
    assert not busy["ended"]
    # A busy machine takes readings late or not at all, and the run says how many it missed.
    missed = re.search(r", (\d+) ticks were missed", run.saved["rungs"]["samples"])
    all_ = len(busy["t_ns"]) + (int(missed[1]) if missed else 0)
    assert -2 <= all_ - run.phases[0]["elapsed"] * 50 / 1e9 <= 3
    assert busy["points"]["cpu"][-1] > 0
    assert busy["points"]["voluntary"][-1] + busy["points"]["involuntary"][-1] > 0
    # The kernel's account of the same time; the ledger is exact.
    exact = run.phases[0].saved["ledger"]["compat"]["afpd"]["syscr"]
    assert abs(busy["points"]["syscr"][-1] - exact) <= 20
    assert "Sampled" in done.out
    assert f"afpd {before[0]}" in done.out


def test_sessions_come_and_go(scope: Scope, dbd: Server) -> None:
    """By /proc what all sessions did is what BPF counted, also of those nobody saw."""
    stays = AfpClient(dbd.port)
    stays.stat_root()
    exact = record(scope, dbd, "--watch=bpf", "--sample", "10")
    watching = record(scope, dbd, "--watch=proc")
    exact.wait_recording()
    watching.wait_recording()
    for volume in ("vol1", "vol2", "vol1"):
        with contextlib.closing(AfpClient(dbd.port, volume=volume)) as client:
            work(client, 0.1)
            sampled(watching, dbd)
    # Shorter than the time between two looks, some of them.
    for _ in range(10):
        AfpClient(dbd.port).close()
    stays.stat_root()
    stays.close()
    # Waited for by afpd, which then has them in its account.
    wait_until(lambda: not children(dbd.pid), 20, "the sessions to be gone")
    exact.signal(signal.SIGINT)
    watching.signal(signal.SIGINT)
    run = saved(watching.finish().expect(OK))
    compat = saved(exact.finish().expect(OK)).phases[0].saved["ledger"]["compat"]
    mine = run.phases[0].saved["ledger"]["compat"]["afpd"]
    # The programs a session started are in its account once it has waited for them.
    for key, n in mine.items():
        assert n == compat["afpd"][key] + compat["helper"][key], key
    assert not run.saved["warnings"]
    assert run.saved["server"]["sessions"].startswith("1 at the start, ")
    assert run.saved["absent"]["requests"]
    # Sampled although nobody asked.
    assert run.saved["options"]["sample_hz"] == "10"
    sessions = [one for one in series(run).values() if one["role"] == "afpd"]
    assert len(sessions) >= 5
    assert sum(one["ended"] for one in sessions) >= 4


def test_a_server_that_ends(scope: Scope) -> None:
    with Server("forky", "dbd") as server:
        client = AfpClient(server.port)
        running = record(scope, server, "--watch=proc", "-d", "60")
        running.wait_recording()
        work(client, 0.3)
        server.__exit__(None, None, None)
        run = saved(running.finish(timeout=20).expect(OK))
    assert run.phases[0]["elapsed"] < 30e9
    assert run.phases[0]["afpd_syscr"] > 0


def test_record_without_bpf(scope: Scope, dbd: Server) -> None:
    running = record(scope, dbd, prefix=WITHOUT_BPF)
    running.wait_recording()
    with contextlib.closing(AfpClient(dbd.port)) as client:
        work(client, 0.1)
        sampled(running, dbd)
        (session,) = dbd.sessions()
    # A zombie still has an account: wait until the process is gone.
    wait_until(lambda: not Path(f"/proc/{session}").exists(), 20, "the session to end")
    running.signal(signal.SIGINT)
    done = running.finish().expect(OK)
    run = saved(done)
    assert "refused" in run.saved["rungs"]["not.bpf"]
    assert run.saved["absent"]["requests"] in " ".join(done.out.split())
    assert run.phases[0].saved["ledger"]["requests"] is None
    assert "1 began, 1 ended" in run.saved["server"]["sessions"]
    assert run.saved["options"]["sample_hz"] == "10"
    assert len(series(run)[dbd.pid]["t_ns"]) >= 2
    assert "Sampled" in done.out


@pytest.mark.parametrize("prefix", [(), WITHOUT_BPF], ids=["bpf", "nobpf"])
def test_lantest(scope: Scope, dbd: Server, prefix: list[str]) -> None:
    command = scope.command(dbd, "-v", "--sample", "20", "--tests", "1", "-n", "1")
    done = scope.execute([*prefix, *command], save=True).expect(OK)
    run = saved(done)
    assert run.phases[0]["ops"] == 8000
    roles = {one["role"]: one for one in series(run).values()}
    assert set(roles) == {"afpd", "cnid_dbd"}
    for one in roles.values():
        check_series(one)
    afpd = roles["afpd"]
    # The phase is inside the series.
    start = run.phases[0].saved["start_ns"]
    assert afpd["start_ns"] <= start
    assert start + run.phases[0]["elapsed"] <= afpd["start_ns"] + afpd["t_ns"][-1]
    assert afpd["points"]["syscr"][-1] >= run.phases[0]["afpd_syscr"]
    assert done.out.count("Sampled") == 1


def test_no_series_unless_asked(scope: Scope, dbd: Server) -> None:
    running = record(scope, dbd, "-d", "1")
    done = running.finish().expect(OK)
    assert saved(done).saved["series"] == []
    assert "Sampled" not in done.out
