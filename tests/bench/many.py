# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope load: whether it measures right, what a request costs, many idle sessions, many watched.

Against the server of tests/known, whose answers are known in advance; the client's cost also
against wrk and a web server with the same calls for each request; what watching costs with
netatalk.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from lab import NICE, OUT, REPO, Client, Lab, compiled, favour_server
from netatalk import PEER_SUITE, Server
from stats import Result, Side, absent, compare, figure

sys.path.insert(0, str(REPO / "tests" / "known"))
from known import FIRST, LOOK, Known, known, latency, load, own_network, phase, shapes, watched
from planned import owed
from queueing import (
    Stalls,
    Station,
    dispersion,
    exponential,
    gaps,
    kolmogorov,
    kolmogorov_limit,
    quantile,
)

# The way to the server and back, some 0.4 ms where the machine has more to do, is to be no 2 % of
# an answer: it is in what the load finds, and in no formula.
WORKERS, SERVICE_S = 16, 0.032
LOADS, SECONDS, SEED = (0.3, 0.6, 0.8, 0.9), 60, 1
CLIENTS = 400
ATTEMPTS = 3  # where the machine itself stands still for longer than
STANDSTILL_S = 0.02
STALLS = Stalls(rate=1000, stall_s=0.1, every_s=2)
STALLS_S = 100  # 100,000 arrivals
FEW = 10
SHAPE_CLIENTS, SHAPE_LOAD, SHAPE_S = 8, 0.6, 60
KNEE = 0.9  # of the capacity: there the p99 of the formula is the sweep's limit
KNEE_STEPS = (0.6, 0.8, 0.87, 0.93, 1.0)
KNEE_S = 20
POISSON_RATE, POISSON_S = 1000, 100
APART_S = 30e-6  # two that are to begin at once arrive that far apart: it takes calls to send them
SESSIONS = (1, 100, 1000, 10_000)
AT_LEAST = 1.0  # of the requests per CPU second that wrk sends, from GOAL_FROM sessions on
GOAL_FROM = 1000
SOURCES = "127.0.0.2,127.0.0.3"
SPARE_FDS = 100  # of a process, beside its connections
COST_S = 3
CONNECTS_S = 500  # sessions for each second: in wrk's CPU time are its connects, in ours none
REPLY = 40  # bytes: an answer to a look, with its header
IDLE, IDLE_S, IDLE_MIB = 10_000, 180, 200
WATCHED, WATCHED_S = 200, 20
SIDES = {"unwatched": "off", "empty programs": "off", "watched": "bpf"}
NICELY = ("nice", "-n", str(NICE))


def _percent(
    name: str, found: float, expected: float, how: str, goal: float | None, more: str = ""
) -> Result:
    """How far off, in percent."""
    remark = f"{1000 * found:.3f} ms, {1000 * expected:.3f} expected{more}"
    off = 100 * abs(found / expected - 1) if expected else float("nan")
    return figure(name, off, "% off", how, remark, goal=goal)


def _formula(lab: Lab, how: str, share: float) -> list[Result]:
    """What the formula says is beside what follows from the plan and the services that were given:
    the one is off by chance as well, the other by the way to the server and back alone."""
    station = Station(share * WORKERS / SERVICE_S, WORKERS, SERVICE_S)
    options = [f"--workers={WORKERS}", f"--service={1000 * SERVICE_S}"]
    how_often = [f"--rate={station.rate}", f"--duration={SECONDS}", f"--clients={CLIENTS}"]
    for _ in range(ATTEMPTS):
        with (
            watched() as machine,
            known(*options) as server,
            load(lab.afpscope, server.url, *how_often, f"--seed={SEED}") as run,
        ):
            saved = run.end()
        if machine.worst_s < STANDSTILL_S:
            break
    still = f"; the machine stood still for up to {1000 * machine.worst_s:.0f} ms"
    exact = owed(server, saved, station.rate, SEED, WORKERS)
    spread = station.spread([0.5, 0.99], SECONDS, 20)
    results = []
    for q, key in ((0.5, "p50"), (0.99, "p99")):
        found = latency(saved, "planned")[f"{key}_ns"] / 1e9
        formula = station.quantile(q)
        more = f"; {1000 * formula:.3f} by the formula, give or take {100 * spread[q]:.1f} %"
        remark = still if machine.worst_s >= STANDSTILL_S else ""
        name = f"{key} at {share:.0%} load"
        results.append(_percent(name, found, quantile(exact, q), how + remark, 5, more))
    return results


def _stalls(lab: Lab, how: str) -> list[Result]:
    options = [f"--stall={1000 * STALLS.stall_s}", f"--every={1000 * STALLS.every_s}"]
    common = [f"--rate={STALLS.rate}", "--arrivals=fixed", f"--duration={STALLS_S}"]
    results = []
    for clients in (CLIENTS, FEW):
        more = f"--clients={clients}"
        with known(*options) as server, load(lab.afpscope, server.url, *common, more) as run:
            saved = run.end()
        for since in ("planned", "begun"):
            found = latency(saved, since)["p99_ns"] / 1e9
            name = f"stalls, {clients} clients: p99, {since}"
            blocked = since == "begun" and clients == FEW
            expected = STALLS.blocked_quantile(0.99, clients) if blocked else STALLS.quantile(0.99)
            if expected:
                results.append(_percent(name, found, expected, how, 2))
            else:
                remark = f"{1000 * STALLS.quantile(0.99):.0f} ms from the planned start"
                results.append(figure(name, 1000 * found, "ms", how, remark))
    return results


def _shapes(lab: Lab, how: str) -> list[Result]:
    """The clients are the workers of one station, whichever threads or processes have them."""
    rate = SHAPE_LOAD * SHAPE_CLIENTS / SERVICE_S
    options = [f"--rate={rate}", f"--clients={SHAPE_CLIENTS}", f"--duration={SHAPE_S}"]
    results = []
    for shape, (before, more) in shapes(SHAPE_CLIENTS).items():
        with (
            known(f"--service={1000 * SERVICE_S}") as server,
            load(lab.afpscope, server.url, *options, *more, f"--seed={SEED}", before=before) as run,
        ):
            saved = run.end()
        threads = phase(saved)["threads"]
        exact = owed(server, saved, rate, SEED, SHAPE_CLIENTS, threads)
        for q, key in ((0.5, "p50"), (0.99, "p99")):
            found = latency(saved, "planned")[f"{key}_ns"] / 1e9
            name = f"{key} at {SHAPE_LOAD:.0%} load, {SHAPE_CLIENTS} clients in {shape}"
            results.append(_percent(name, found, quantile(exact, q), how, 5))
    return results


def _arrivals(lab: Lab, how: str) -> list[Result]:
    results = []
    for arrivals in ("poisson", "fixed"):
        options = [f"--rate={POISSON_RATE}", f"--arrivals={arrivals}", f"--duration={POISSON_S}"]
        with known() as server, load(lab.afpscope, server.url, *options, "--clients=100") as run:
            saved = run.end()
        p = phase(saved)
        begin, end = p["measure_ns"] / 1e9, p["end_ns"] / 1e9
        times = sorted(a.arrived for a in server.answers(begin, end))
        # Poisson arrivals are as many as they are: what was to begin is the measure
        wanted = p["arrivals"] if arrivals == "poisson" else POISSON_RATE * POISSON_S
        off = 100 * abs(len(times) / wanted - 1)
        results.append(figure(f"{arrivals}: rate achieved", off, "% off", how, goal=0.5))
        if arrivals == "poisson":
            limit = kolmogorov_limit(len(times)) + POISSON_RATE * APART_S
            found = kolmogorov(gaps(times), exponential(POISSON_RATE))
            results.append(figure("poisson: Kolmogorov's D", found, "", how, goal=limit))
        found = abs(dispersion(times, 0.01) - (arrivals == "poisson"))
        results.append(figure(f"{arrivals}: variance to mean, off", found, "", how, goal=0.05))
    return results


def load_known(lab: Lab, how: str) -> list[Result]:
    """Percentiles, rates and arrivals against what they must be. Takes 12 minutes."""
    with own_network(), watched() as machine:
        results = [r for share in LOADS for r in _formula(lab, how, share)]
        results += _stalls(lab, how)
        results += _shapes(lab, how)
        results += _arrivals(lab, how)
    remark = f"{1000 * machine.worst_s:.1f} ms at most"
    results.append(figure("the machine stood still", machine.lost_s, "s", how, remark))
    return results


def load_knee(lab: Lab, how: str) -> list[Result]:
    """The rate at which a sweep finds that the limit is no longer kept. Takes 4 minutes."""
    true = Station(KNEE * WORKERS / SERVICE_S, WORKERS, SERVICE_S)
    rates = [share * WORKERS / SERVICE_S for share in KNEE_STEPS]
    options = [f"--rate={','.join(f'{r:g}' for r in rates)}", f"--clients={CLIENTS}"]
    options += [f"--slo=p99={1e6 * true.quantile(0.99):.0f}us", "--repeat=1", "--pause=1", "--json"]
    options += ["--uam=guest", "--watch=off", "--no-probe", f"--duration={KNEE_S}"]
    with tempfile.TemporaryDirectory(prefix="knee-") as name, own_network(), watched() as machine:
        mix = Path(name) / "mix.ini"
        mix.write_text(LOOK)
        command = [*FIRST, str(lab.afpscope), "sweep", *options, f"--mix={mix}"]
        with known(f"--workers={WORKERS}", f"--service={1000 * SERVICE_S}") as server:
            command += [f"--output={name}/sweep", server.url]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout)["knee"]
    off = 100 * abs(float(found["at"]) / true.rate - 1)
    remark = f"kept up to {found['at']}/s, {true.rate:.0f}/s by the formula"
    still = f"; the machine stood still for up to {1000 * machine.worst_s:.0f} ms"
    return [figure("knee of a sweep by rate", off, "% off", how, remark + still, goal=5)]


@contextmanager
def _pinned(lab: Lab, *options: str):
    pin = (*NICELY, "taskset", "-c", str(lab.server_cpu))
    with known(*options, log=False, before=pin) as server:
        yield server


def _cost_s(sessions: int) -> int:
    return max(COST_S, sessions // CONNECTS_S)


def _wrk(lab: Lab, sessions: int) -> float:
    """Requests per CPU second of the client, which is as nice as ours: who has to wait for his CPU
    finds more answers at a time, and needs fewer calls for each."""
    with _pinned(lab, f"--http={REPLY}") as server:
        url = f"http://127.0.0.1:{server.port}/"
        command = ["wrk", "-t1", f"-c{sessions}", f"-d{_cost_s(sessions)}s", url]
        cpu_s = Client([*NICELY, *lab.pinned("/", command)], OUT).finish()
    found = re.search(r"(\d+) requests in", (OUT / "out").read_text())
    assert found
    return int(found[1]) / cpu_s


def _ours(lab: Lab, sessions: int) -> float:
    options = [f"--clients={sessions}", f"--duration={_cost_s(sessions)}"]
    options += ["--ramp=0", "--threads=1"]
    pin = (*NICELY, "taskset", "-c", str(lab.client_cpu))
    with (
        _pinned(lab) as server,
        load(lab.afpscope, server.url, *options, before=pin) as run,
    ):
        saved = run.end()
    # of the load only: logging in and the files are not requests of it
    return saved["phases"][0]["metrics"]["ops"] / (phase(saved)["cpu_ns"] / 1e9)


def load_cost(lab: Lab, how: str) -> list[Result]:
    """Requests per CPU second of one process, against wrk's; and with more sessions."""
    with own_network():
        runs = lab.series(
            {f"{f.__name__} {n}": partial(f, lab, n) for n in SESSIONS for f in (_ours, _wrk)},
            lab.pairs,
        )
    results = []
    for n in SESSIONS:
        ours, theirs = Side("afpscope", runs[f"_ours {n}"]), Side("wrk", runs[f"_wrk {n}"])
        goal = {"goal": AT_LEAST, "at_least": True} if n >= GOAL_FROM else {}
        name = f"requests per CPU second, {n} sessions"
        results.append(compare(name, ours, theirs, "/s", how, **goal))
    one = Side("1", _us(runs["_ours 1"]))
    for n in SESSIONS[1:]:
        name = f"CPU per request, {n} sessions over 1"
        side = Side(str(n), _us(runs[f"_ours {n}"]))
        results.append(compare(name, side, one, "us", how, goal=1.2))
    return results + _crowds(lab, how)


def _crowds(lab: Lab, how: str) -> list[Result]:
    """More sessions than an address has ports; and such as work beside many that only stay."""
    n = min(20_000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_FDS)
    options = ["--ramp=0", "--threads=1", f"--duration={COST_S}"]
    results = []
    with own_network():
        with known(log=False) as server:
            more = [f"--clients={n}", f"--source={SOURCES}", *options]
            with load(lab.afpscope, server.url, *more) as run:
                p = phase(run.end())
        lost = n - p["opened"] + p["lost"]
        results.append(figure(f"{n} sessions of two addresses: lost", lost, "", how, goal=0))
        with (
            known(log=False) as server,
            load(
                lab.afpscope, server.url, f"--clients={IDLE}", "--duration=20", mix="idle"
            ) as idle,
        ):
            time.sleep(5)
            with load(lab.afpscope, server.url, "--clients=1000", *options) as run:
                saved = run.end()
            ps = phase(saved), phase(idle.end())
    lost = sum(p["clients"] - p["opened"] + p["lost"] for p in ps)
    results.append(figure(f"{IDLE} idle and 1000 active sessions: lost", lost, "", how, goal=0))
    rate = saved["phases"][0]["metrics"]["ops"] / (ps[0]["cpu_ns"] / 1e9)
    results.append(figure("requests per CPU second of the active ones", rate, "/s", how))
    return results


def _us(per_s: Sequence[float]) -> list[float]:
    return [1e6 / v for v in per_s]


def _resident_mib(pid: int) -> float:
    """The most it had; 0 once it has ended."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) / 1024 if found else 0


def _tickles_at_once(server: Known, begin: float) -> float:
    """The most tickles in 0.1 s, over their mean from the first to the last."""
    times = server.tickles()
    counts: dict[int, int] = {}
    for t in times:
        counts[int(10 * (t - begin))] = counts.get(int(10 * (t - begin)), 0) + 1
    return max(counts.values()) / (len(times) / (10 * (times[-1] - times[0])))


def load_idle(lab: Lab, how: str) -> list[Result]:
    """Sessions that only stay; the server ends those that it does not hear for 30 s."""
    options = [f"--clients={IDLE}", f"--duration={IDLE_S}"]
    with (
        known("--expect=30", before=NICELY) as server,
        load(lab.afpscope, server.url, *options, mix="idle", before=NICELY) as run,
    ):
        most = 0.0
        while run.process.poll() is None:
            most = max(most, _resident_mib(run.process.pid))
            time.sleep(0.2)
        p = phase(run.end())
        server.end()
    lost = p["lost"] + server.counts["expired"] + server.counts["dropped"]
    if server.counts["most"] < IDLE:
        why = f"only {server.counts['most']} of {IDLE} sessions: ulimit -n is too low?"
        return [absent(f"{IDLE} idle sessions", "lost", why)]
    begin = p["begin_ns"] / 1e9
    return [
        figure(f"{IDLE} idle sessions, {IDLE_S} s: lost", lost, "", how, goal=0),
        figure("their memory", most, "MiB", how, goal=IDLE_MIB),
        figure("their CPU", 100 * p["cpu_ns"] / 1e9 / IDLE_S, "% of one", how),
        figure("their tickles, most at once", _tickles_at_once(server, begin), "of mean", how),
    ]


@dataclass(frozen=True)
class Browsed:
    """One load: actions a second; CPU seconds of afpscope but for its clients, and of BPF."""

    per_s: float
    own_s: float
    bpf_s: float


def _browse(lab: Lab, *options: str) -> float:
    """Its CPU seconds. All runs work on the same files."""
    kept = [f"--set-of={os.getpid()}", f"--directories={WATCHED}", "--mix=browse", "--no-save"]
    command = [str(lab.afpscope), "load", *lab.login(), "--uam=cleartext", *kept, *options]
    return Client(lab.pinned("/", command), OUT).finish()


def _browsed(lab: Lab, watch: str) -> Browsed:
    saved = OUT / "run.json"
    options = [f"--clients={WATCHED}", f"--duration={WATCHED_S}", "--interval=1"]
    used_s = _browse(lab, f"--watch={watch}", *options, "--json", str(saved))
    run = json.loads(saved.read_text())
    of = run["phases"][0]
    loads = (of["load"], of["probe"])
    done = sum(a["n"] - a["failed"] for a in of["load"]["actions"])
    measured_s = (of["load"]["end_ns"] - of["load"]["measure_ns"]) / 1e9
    own_s = used_s - sum(x["cpu_ns"] for x in loads) / 1e9
    return Browsed(done / measured_s, own_s, int(run["rungs"].get("price_ns", 0)) / 1e9)


@contextmanager
def _empty_programs() -> Iterator[None]:
    """Programs that return at once, attached where those of a watch are called most."""
    here = REPO / "tests" / "bench"
    programs = OUT / "empty.o"
    cc = [os.environ.get("CLANG", "clang"), "-O2", "-g", "-target", "bpf", "-c", "-o"]
    machine = f"-I/usr/include/{os.uname().machine}-linux-gnu"
    subprocess.run([*cc, str(programs), machine, str(here / "empty.bpf.c")], check=True)
    command = [str(compiled(here / "empty.c", "-lbpf")), str(programs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as attached:
        assert attached.stdout
        if not attached.stdout.readline():
            sys.exit("programs that do nothing could not be attached: see above")
        try:
            yield
        finally:
            attached.terminate()


def _browsed_below(lab: Lab, side: str) -> Browsed:
    with _empty_programs() if side == "empty programs" else nullcontext():
        return _browsed(lab, SIDES[side])


def load_watch(lab: Lab, how: str) -> list[Result]:
    """What reading the server's counts every second costs, with many sessions.

    Beside it, what calling programs that do nothing costs on this kernel.
    """
    hooks = {"AFPD_GLOBAL": f"max connections = {2 * WATCHED}", "AFPD_CPU": str(lab.server_cpu)}
    before = lab.server
    with Server(PEER_SUITE, **hooks) as lab.server:
        favour_server(lab.server)
        try:
            variants = {side: partial(_browsed_below, lab, side) for side in SIDES}
            runs = lab.series(variants, lab.pairs)
            _browse(lab, "--clients=1", "--remove-set")
        finally:
            lab.server = before
    off, empty, bpf = (Side(side, [x.per_s for x in runs[side]]) for side in SIDES)
    own = {side: median(x.own_s for x in runs[side]) for side in SIDES}
    programs = median(x.bpf_s for x in runs["watched"])
    name = f"rate of {WATCHED} sessions, unwatched over"
    remark = f"{own['unwatched']:.2f} s unwatched, {own['watched']:.2f} s watched"
    own_s = own["watched"] - own["unwatched"]
    return [
        compare(f"{name} watched", off, bpf, "/s", how, goal=1.1, noise=True),
        compare(f"{name} empty programs", off, empty, "/s", how),
        figure("CPU of the watching program", own_s, f"s in {WATCHED_S} s", how, remark),
        figure("CPU of its programs in the kernel", programs, f"s in {WATCHED_S} s", how),
    ]
