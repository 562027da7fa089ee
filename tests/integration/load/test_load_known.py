# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope load against a server whose answers are known in advance (tests/known).

Tests client/load/pace.c, actions.c, worker.c as they meet a server. tests/bench/bench.py load-known
is the longer and closer version. `make check` has Poisson arrivals; stalls, threads and ranks, and
sessions that idle are for `make check-judges`.
"""

from __future__ import annotations

import heapq
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from known import (
    FIRST,
    REPO,
    Known,
    Load,
    known,
    latency,
    load,
    own_network,
    phase,
    shapes,
    watched,
)
from planned import owed
from queueing import (
    Stalls,
    Station,
    dispersion,
    dispersion_spread,
    exponential,
    gaps,
    kolmogorov,
    kolmogorov_limit,
    quantile,
)
from scheduling import in_check
from scope import PATIENCE_S, Scope, wait_until

# The way to the server and back is in what a load finds, and in no formula: some 0.5 ms where the
# machine has more to do, which is to be little of an answer.
WORKERS, SERVICE_S = 16, 0.040
LOADS = (0.3, 0.6, 0.8, 0.9)
STALLS = Stalls(rate=1000, stall_s=0.1, every_s=2)
SECONDS = 8  # whole periods of the stalls
MANY = 300  # clients: more than arrive in a stall
FEW = 10
SHAPE_CLIENTS, SHAPE_LOAD = 8, 0.6
IDLE_SECONDS = 12
QUANTILES = {0.5: "p50_ns", 0.99: "p99_ns"}
SIMULATED = 40  # runs from which the spread is computed
SIGMAS = 4
ATTEMPTS = 5
STANDSTILL_S = 0.020  # half a service
LOOK_S = 2
STANDSTILL_OF_STALLS_S = 0.005
APART_S = 100e-6  # two that are to begin at once arrive that far apart: it takes calls to send them

# A value is known to within its bucket, and taken from its middle.
BITS = re.search(r"#define HIST_BITS\s+(\d+)", (REPO / "user/base/hist.h").read_text())
assert BITS
HALF_BUCKET = 0.5 / 2 ** int(BITS[1])


@dataclass
class Case:
    """A server, and what a load of it saved."""

    server: Known
    run: dict[str, Any]
    lost_s: float = 0  # that the machine stood still, in short times

    def window(self) -> tuple[float, float]:
        """The measured time, in seconds of the clock that both sides read."""
        p = phase(self.run)
        return p["measure_ns"] / 1e9, p["end_ns"] / 1e9

    def arrivals(self) -> list[float]:
        return sorted(a.arrived for a in self.server.answers(*self.window()))


Wanted = Mapping[Any, Sequence[Sequence[str]]]


def once(binary: Path, wanted: Wanted) -> dict[Any, Case]:
    """Name -> case, side by side. wanted: options of the server and of the load, and what
    stands before the program."""
    started = {}
    with ExitStack() as stack:
        for name, (ours, theirs, *start) in wanted.items():
            server = stack.enter_context(known(*ours))
            options = [f"--duration={SECONDS}", *theirs]
            before = start[0] if start else FIRST
            run = stack.enter_context(load(binary, server.url, *options, before=before))
            started[name] = (server, run)
        return {name: Case(server, run.end()) for name, (server, run) in started.items()}


def wait_for_machine(standstill_s: float) -> None:
    """Until it has stood still no longer than that for a while; gives up some time."""
    end, machine = time.monotonic() + PATIENCE_S, None
    while time.monotonic() < end and (machine is None or machine.worst_s >= standstill_s):
        with watched() as machine:
            time.sleep(LOOK_S)


def cases(binary: Path, wanted: Wanted, standstill_s: float = STANDSTILL_S) -> dict[Any, Case]:
    """Again where the machine itself stood still meanwhile: that is neither side's error. Then it
    waits for the machine first."""
    for attempt in range(ATTEMPTS):
        if attempt:
            wait_for_machine(standstill_s)
        with own_network(), watched() as machine:
            found = once(binary, wanted)
        if machine.worst_s < standstill_s:
            for case in found.values():
                case.lost_s = machine.lost_s
            return found
    pytest.skip(f"the machine stands still, {1000 * machine.worst_s:.0f} ms at a time")


@dataclass
class Idle:
    """Sessions that ask for nothing, each with a tickle of its own time."""

    server: Known
    run: Load


@pytest.fixture(scope="module")
def idle(scope: Scope) -> Iterator[Idle]:
    options = [f"--clients={MANY}", f"--duration={IDLE_SECONDS}", "--ramp=0"]
    with (
        known() as server,
        load(scope.binary, server.url, *options, mix="idle") as run,
    ):
        sessions = f":{server.port:04X} 0100007F:"
        table = Path("/proc/net/tcp")
        wait_until(lambda: table.read_text().count(sessions) > MANY, 60, "the sessions")
        yield Idle(server, run)


@pytest.fixture(scope="module")
def stations(scope: Scope) -> dict[float, Case]:
    """By the share of the workers' time that is used."""
    wanted = {
        share: (
            [f"--workers={WORKERS}", f"--service={1000 * SERVICE_S}", f"--seed={seed}"],
            [f"--rate={station(share).rate}", f"--clients={MANY}", f"--seed={seed}"],
        )
        for seed, share in enumerate(LOADS, 1)
    }
    return cases(scope.binary, wanted)


@pytest.fixture(scope="module")
def crews(scope: Scope) -> dict[str, Case]:
    """The same clients in threads and in ranks. The server has a worker for each: who finds none
    free waits for a client."""
    ours = [f"--service={1000 * SERVICE_S}"]
    common = [f"--rate={crew_rate()}", f"--clients={SHAPE_CLIENTS}", "--seed=1"]
    return cases(
        scope.binary,
        {
            name: (ours, [*common, *more], before)
            for name, (before, more) in shapes(SHAPE_CLIENTS).items()
        },
    )


@pytest.fixture(scope="module")
def stalls(scope: Scope) -> dict[str, Case]:
    """many: clients for all that arrive in a stall; few: the rest waits; full: not all can."""
    ours = [f"--stall={1000 * STALLS.stall_s}", f"--every={1000 * STALLS.every_s}"]
    rate = [f"--rate={STALLS.rate}", "--arrivals=fixed"]
    found = cases(
        scope.binary,
        {
            "many": (ours, [*rate, f"--clients={MANY}"]),
            "few": (ours, [*rate, f"--clients={FEW}"]),
            "full": (ours, [*rate, f"--clients={FEW}", f"--queue={FEW}"]),
        },
        STANDSTILL_OF_STALLS_S,
    )
    for case in found.values():
        begun = case.server.counts["begin_ns"] / 1e9
        ends = [(t - begun) % STALLS.every_s for t in case.window()]
        assert max(ends) < STALLS.every_s - STALLS.stall_s, "the measured time ends in a stall"
    return found


def crew_rate() -> float:
    return SHAPE_LOAD * SHAPE_CLIENTS / SERVICE_S


def station(share: float) -> Station:
    return Station(share * WORKERS / SERVICE_S, WORKERS, SERVICE_S)


def near(value: float, expected: float, share: float) -> bool:
    return abs(value - expected) <= share * expected


def unquiet(case: Case) -> float:
    """As a share of the 99th percentile of the stalls: the lost time made as many more wait."""
    return case.lost_s / SECONDS * STALLS.every_s / STALLS.quantile(0.99)


@pytest.mark.limit(60)
def test_the_server_itself_answers_as_its_log_says(stations: dict[float, Case]) -> None:
    for share, case in stations.items():
        answers = sorted(case.server.answers(), key=lambda a: a.arrived)
        free = [0.0] * WORKERS
        for a in answers:
            due = max(a.arrived, free[0]) + a.service
            heapq.heapreplace(free, due)
            assert abs(due - a.due) < 1e-6
            assert a.sent >= a.due
        mean = sum(a.service for a in answers) / len(answers)
        assert near(mean, SERVICE_S, SIGMAS / len(answers) ** 0.5), share


@pytest.mark.limit(60)
def test_latencies_follow_the_formula(stations: dict[float, Case]) -> None:
    """As closely as the number of arrivals allows: by simulation of many such runs."""
    for share, case in stations.items():
        spread = station(share).spread(list(QUANTILES), SECONDS, SIMULATED)
        for q, key in QUANTILES.items():
            found = latency(case.run, "planned")[key] / 1e9
            expected = station(share).quantile(q)
            assert near(found, expected, SIGMAS * spread[q] + HALF_BUCKET), (
                f"{key} at {share:.0%}: {found:.4f} s, {expected:.4f} by the formula,"
                f" standard deviation {spread[q]:.1%}"
            )


def assert_as_owed(case: Case, owed_s: Sequence[float], name: object) -> None:
    """Within 5 %, and never below."""
    for q, key in QUANTILES.items():
        found, expected = latency(case.run, "planned")[key] / 1e9, quantile(owed_s, q)
        assert near(found, expected, 0.05), (name, key, found, expected)
        assert found > expected * (1 - 2 * HALF_BUCKET), (name, key, found, expected)


@pytest.mark.limit(60)
def test_latencies_are_those_of_the_plan_and_the_services_given(
    stations: dict[float, Case],
) -> None:
    """No chance is in this: the plan follows from the seed, the services are the server's."""
    for seed, (share, case) in enumerate(stations.items(), 1):
        assert_as_owed(case, owed(case.server, case.run, station(share).rate, seed, WORKERS), share)


@pytest.mark.judges
@pytest.mark.limit(60)
def test_clients_are_one_station_in_any_threads_and_ranks(crews: dict[str, Case]) -> None:
    for name, case in crews.items():
        threads = phase(case.run)["threads"]
        expected = owed(case.server, case.run, crew_rate(), 1, SHAPE_CLIENTS, threads)
        assert_as_owed(case, expected, name)


@pytest.mark.limit(60)
def test_latencies_are_those_of_the_answers_that_were_given(stations: dict[float, Case]) -> None:
    """Of the very same arrivals: how many they were does not matter here."""
    for share, case in stations.items():
        given = [a.sent - a.arrived for a in case.server.answers(*case.window())]
        for q, key in QUANTILES.items():
            for since in ("planned", "begun"):
                found, expected = latency(case.run, since)[key] / 1e9, quantile(given, q)
                assert near(found, expected, 0.05), (share, key, since, found, expected)


@pytest.mark.limit(60)
@pytest.mark.parametrize("made", in_check(["stations", "stalls"], ["stations"]))
def test_all_that_was_to_begin_has_reached_the_server(
    request: pytest.FixtureRequest, made: str
) -> None:
    for name, case in request.getfixturevalue(made).items():
        p = phase(case.run)
        (action,) = p["actions"]
        # some still wait at the end of the window, and what begins before it may arrive after it
        waits = p["arrivals"] - action["n"] - p["no_room"]
        assert 0 <= waits <= 0.005 * p["arrivals"], name
        assert near(len(case.arrivals()), action["n"], 0.005), name
        if name != "full":
            assert not p["no_room"], name


@pytest.mark.limit(60)
def test_poisson_arrivals_reach_the_server_as_a_poisson_process(
    stations: dict[float, Case],
) -> None:
    for share, case in stations.items():
        times, rate = case.arrivals(), station(share).rate
        begin, end = case.window()
        assert near(len(times), rate * SECONDS, SIGMAS / (rate * SECONDS) ** 0.5)
        limit = kolmogorov_limit(len(times))
        assert kolmogorov(gaps(times), exponential(rate)) < limit + rate * APART_S, share
        spots = [(t - begin) / (end - begin) for t in times]
        assert kolmogorov(spots, lambda x: x) < limit, share
        spread = dispersion_spread(times, 0.010)
        assert abs(dispersion(times, 0.010) - 1) < SIGMAS * spread, share


@pytest.mark.judges
@pytest.mark.limit(60)
def test_fixed_arrivals_reach_the_server_at_equal_distances(stalls: dict[str, Case]) -> None:
    times = stalls["many"].arrivals()
    assert near(len(times), STALLS.rate * SECONDS, 0.005)
    late = [t * STALLS.rate - i for i, t in enumerate(times)]  # in distances, and a constant
    usual = quantile(late, 0.5)
    assert quantile([abs(v - usual) for v in late], 0.9) < 0.5
    assert dispersion(times, 0.010) < 0.1


@pytest.mark.judges
@pytest.mark.limit(60)
def test_a_stall_shows_in_the_latency_from_the_planned_start(stalls: dict[str, Case]) -> None:
    expected = STALLS.quantile(0.99)
    for name in ("many", "few"):
        found = latency(stalls[name].run, "planned")["p99_ns"] / 1e9
        assert near(found, expected, 0.02 + unquiet(stalls[name])), (name, found, expected)


@pytest.mark.judges
@pytest.mark.limit(60)
def test_the_latency_from_the_real_start_hides_a_stall_that_blocks_the_clients(
    stalls: dict[str, Case],
) -> None:
    few, many = (latency(stalls[name].run, "begun") for name in ("few", "many"))
    share = 0.02 + unquiet(stalls["many"])
    assert near(many["p99_ns"] / 1e9, STALLS.quantile(0.99), share)
    assert STALLS.blocked_quantile(0.99, FEW) == 0
    assert few["p99_ns"] / 1e9 < 0.1 * STALLS.quantile(0.99)
    # with the first arrivals of a stall it shows, but in none of the usual percentiles
    expected = STALLS.blocked_quantile(0.999, FEW)
    assert near(few["p999_ns"] / 1e9, expected, 0.02), expected


@pytest.mark.judges
@pytest.mark.limit(60)
def test_arrivals_without_room_are_counted(stalls: dict[str, Case]) -> None:
    expected = STALLS.no_room(FEW, FEW) * SECONDS / STALLS.every_s
    assert near(phase(stalls["full"].run)["no_room"], expected, 0.05)


@pytest.mark.judges
@pytest.mark.limit(60)
def test_idle_clients_stay_and_send_their_tickles_one_after_the_other(idle: Idle) -> None:
    """A session's first tickle comes after 10 to 20 s of silence, so that they come evenly."""
    p = phase(idle.run.end())
    idle.server.end()
    assert p["end_ns"] - p["begin_ns"] == IDLE_SECONDS * 10**9
    assert idle.server.counts["most"] >= MANY
    late = [t for t in idle.server.tickles() if t < p["end_ns"] / 1e9]
    due = MANY * (IDLE_SECONDS - 10) / 10
    assert 0.8 * due < len(late) < 1.5 * due, "a fifth of the sessions, and some of a moment before"
    first, last = min(late), max(late)
    assert last - first > 1.5
    assert kolmogorov([(t - first) / (last - first) for t in late], lambda x: x) < 0.3
