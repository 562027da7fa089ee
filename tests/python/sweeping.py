# SPDX-License-Identifier: GPL-2.0-or-later
"""Made-up runs of load, and sweeps of them, whose answer is known."""

from __future__ import annotations

import copy
import functools
import gzip
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from afpscope.saved import hist
from afpscope.saved.steps import SWEEP_FILE, Sweep, open_sweep
from conftest import DATA

BITS = 6
SECONDS = 10
MS = 1_000_000
NS_PER_S = 1_000_000_000
# The parts of a request that runs are made of, in µs; `outside`: beyond the server.
Parts = dict[str, float]


def histogram(values: Sequence[tuple[float, int]]) -> dict[str, Any]:
    """Latency in ns, and how many."""
    counts: dict[int, int] = {}
    for ns, n in values:
        index = hist.index_of(round(ns), BITS)
        counts[index] = counts.get(index, 0) + n
    return {"bits": BITS, "buckets": [[i, counts[i]] for i in sorted(counts)]}


def latency(p50_ns: float, p99_ns: float, n: int) -> dict[str, Any]:
    """98 of 100 take p50_ns, the others p99_ns."""
    few = max(1, n // 50)
    values = [(p50_ns, n - few), (p99_ns, few)]
    return {
        "n": n,
        "sum_ns": round(sum(ns * k for ns, k in values)),
        "min_ns": round(p50_ns),
        "max_ns": round(p99_ns),
        "p50_ns": round(p50_ns),
        "p95_ns": round(p50_ns),
        "p99_ns": round(p99_ns),
        "p999_ns": round(p99_ns),
        "histogram": histogram(values),
    }


@dataclass(frozen=True)
class Made:
    """What a run of load measured. `rate`: actions a second that were done."""

    clients: int = 10
    rate: float = 1000.0
    p50_ms: float = 1.0
    p99_ms: float = 5.0
    probe_ms: float = 2.0
    offered: float | None = None
    no_room: int = 0
    failed: int = 0
    missing: int = 0
    lost: int = 0
    starved: int = 0
    cpu: float = 0.1
    runq: float = 0.0
    late: int = 0
    parts: Parts = field(default_factory=dict)
    diagnosis: dict[str, Any] | None = None
    options: dict[str, str] = field(default_factory=dict)
    slo: list[dict[str, Any]] | None = None  # what load said of its limits; None: an older run
    doubts: list[dict[str, str]] | None = None
    kinds: int = 1  # of actions, alike
    replay: dict[str, Any] | None = None  # `replay` of its phase
    undone: tuple[tuple[float, int], ...] = ()  # ms that these waited at least, and how many
    outlasting: tuple[float, int] = (0.0, 0)  # ms that the longest took, and how many
    late_ms: float = 0.0  # at most, of `late`
    paused_s: float = 0.0
    longest_s: float = 0.0  # of these pauses; 0: there was one
    probe_doubts: list[dict[str, str]] | None = None


@functools.cache
def _sample() -> str:
    """JSON: quicker to read again than the value is to copy."""
    value: dict[str, Any] = json.loads(gzip.decompress((DATA / "load.json.gz").read_bytes()))
    phase = value["phases"][0]
    phase["ledger"]["rows"], phase["ledger"]["storage"] = [], []
    value["sessions"], phase["intervals"], phase["marks"] = [], [], []
    return json.dumps(value)


def load(it: Made) -> dict[str, Any]:
    """`load` of a phase."""
    n = round(it.rate * SECONDS / it.kinds)
    took = latency(it.p50_ms * MS, it.p99_ms * MS, n)
    end = NS_PER_S * (SECONDS + 1)
    second = {
        "n": n // SECONDS,
        "failed": 0,
        "sum_ns": n,
        "max_ns": round(it.p99_ms * MS),
        "histogram": {"bits": 3, "buckets": [[120, n // SECONDS]]},
    }
    said = {} if it.slo is None else {"slo": it.slo}
    said |= {} if it.doubts is None else {"doubts": it.doubts}
    if it.undone:
        waits = [(ms * MS, k) for ms, k in it.undone]
        sum_ns = round(sum(ns * k for ns, k in waits))
        most = round(max(ns for ns, _ in waits))
        said |= {"undone": {"histogram": histogram(waits), "sum_ns": sum_ns, "max_ns": most}}
    one = {"failed": 0, "bytes": 0, "last_ns": end, "lost": False}
    return {
        "clients": it.clients,
        "threads": 1,
        "opened": it.clients - it.missing,
        "lost": it.lost,
        "starved": it.starved,
        "begin_ns": 0,
        "measure_ns": NS_PER_S,
        "end_ns": end,
        "rate_per_s": it.offered,
        "arrivals": None if it.offered is None else round(it.offered * SECONDS),
        "no_room": None if it.offered is None else it.no_room,
        "late": it.late,
        "late_max_ns": round(it.late_ms * MS),
        "outlasting": it.outlasting[1],
        "outlasting_max_ns": round(it.outlasting[0] * MS),
        "paused_ns": round(it.paused_s * NS_PER_S),
        "paused_measured_ns": round(it.paused_s * NS_PER_S),
        "longest_pause_ns": round((it.longest_s or it.paused_s) * NS_PER_S),
        "cpu_ns": round(it.cpu * end),
        "cpu_max_ns": round(it.cpu * end),
        "runq_max_ns": round(it.runq * end),
        "fairness": 1.0,
        "actions": [
            {"name": name, "n": n + it.failed, "failed": it.failed, "planned": took, "begun": took}
            for name in ("op", "other")[: it.kinds]
        ],
        "seconds": [second] * (SECONDS + 1),
        "each_client": [one | {"actions": n // it.clients} for _ in range(it.clients)],
        **said,
    }


_TIMES = ("user", "calls", "runq", "disk", "cnid", "lock", "log", "net", "other", "stopped")
_INSIDE = ("cpu", "runq", "sync", "lock", "io", "stopped", "idle", "unknown")


def _ledger(phase: dict[str, Any], parts: Parts) -> None:
    """One command; parts named `cnid.cpu` are inside the CNID server, `between`: unread.

    `database.sync`: in such a call of afpd on a CNID database.
    """
    n = 1000
    times = {key: round(parts.get(key, 0.0) * 1000) * n for key in _TIMES}
    inside = {key: round(parts.get(f"cnid.{key}", 0.0) * 1000) * n for key in _INSIDE}
    own = {key[9:]: round(us * 1000) * n for key, us in parts.items() if key[:9] == "database."}
    times["cnid"] += sum(inside.values()) + sum(own.values())
    served = sum(times.values())
    between = dict.fromkeys(_TIMES, 0) | {"runq": round(parts.get("between", 0.0) * 1000) * n}
    account = copy.deepcopy(phase["ledger"]["requests"][0])
    account |= {"requests": n, "time_ns": served, "times": times, "inside": inside}
    account["parts"] = [
        {"role": "afpd", "class": class_, "object": "CNID database", "calls": 1, "blocked_ns": ns}
        for class_, ns in own.items()
    ]
    outside = {
        "number": 900,
        "name": "between requests",
        "times": between,
        "parts": [],
    }
    phase["ledger"]["requests"] = [account]
    phase["ledger"]["outside"] = [outside]
    seen = served + round((parts.get("outside", 0.0) + parts.get("between", 0.0)) * 1000) * n
    command = phase["commands"][0]
    command["ops"] = n
    command["latency"]["sum_ns"] = seen
    phase["commands"] = [command]


def document(it: Made, name: str) -> dict[str, Any]:
    """A run.json of it; `name` makes its id."""
    value: dict[str, Any] = json.loads(_sample())
    value["id"] = hashlib.sha256(name.encode()).hexdigest()[:16]
    value["options"] |= {"clients": str(it.clients)} | it.options
    if it.diagnosis is not None:
        value["diagnosis"] = it.diagnosis
    phase = value["phases"][0]
    phase["load"] = load(it)
    probe = Made(clients=1, rate=3, p50_ms=1, p99_ms=it.probe_ms, doubts=it.probe_doubts)
    phase["probe"] = load(probe)
    if it.replay:
        phase["replay"] = it.replay
    if it.parts:
        _ledger(phase, it.parts)
    else:
        phase["ledger"]["requests"] = phase["ledger"]["outside"] = None
    return value


def sweep(
    folder: Path,
    points: Sequence[tuple[str, Made | None]],
    option: str = "clients",
    slo: str | None = None,
    hour: int = 0,
    **more: Any,
) -> Sweep:
    """A sweep folder with these steps in order; None: the step failed."""
    folder.mkdir(parents=True)
    steps = []
    for at, (value, it) in enumerate(points, 1):
        name = f"{at:03}-{value}"
        if it:
            (folder / name).mkdir()
            run = document(it, f"{folder}/{name}")
            run["started"] = f"2026-01-01T{hour:02}:{at:02}:00Z"
            (folder / name / "run.json").write_text(json.dumps(run))
        steps.append(
            {
                "folder": name,
                "value": value,
                "why": "planned",
                "started_at": f"2026-01-01T00:{at:02}:00Z",
                "exit": 0 if it else 5,
                "error": None if it else "afpscope: load: no session",
            }
        )
    values = list(dict.fromkeys(value for value, _ in points))
    noted = {
        "schema": 1,
        "tool": "afpscope",
        "version": "0.1.0",
        "id": hashlib.sha256(str(folder).encode()).hexdigest()[:16],
        "started": "2026-01-01T00:00:00Z",
        "complete": True,
        "stopped": None,
        "option": option,
        "values": values,
        "order": "up",
        "repeat": 1,
        "slo": slo,
        "target": "afp://user@server/v",
        "arguments": ["afp://user@server/v"],
        "set": "shared",
        "steps": steps,
    }
    (folder / SWEEP_FILE).write_text(json.dumps(noted | more))
    return open_sweep(folder)


def each(values: Sequence[float], made: Callable[[float], Made]) -> list[tuple[str, Made]]:
    return [(f"{v:g}", made(v)) for v in values]


def said(text: str, kept: bool | None, why: str = "") -> dict[str, Any]:
    """What load said of a limit."""
    verdict = {True: "kept", False: "broken", None: "cannot tell"}[kept]
    return {"text": text, "kept": kept, "verdict": verdict, "why": why}
