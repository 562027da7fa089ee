# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts together what the processes of a load (--mpi) have saved: run.json and each rank-N.json.

Each is a whole run, in which the ranks that it does not know are lost. One that is known in several
is counted once.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import Failure
from . import hist
from .node import Node, load

Json = dict[str, Any]

_PART = re.compile(r"rank-(\d{1,9})\.json")
# What becomes of the figures of several ranks, as in user/run/load.h.
SUM = {
    "threads", "opened", "arrivals", "no_room", "found_none", "waiting", "cut_off",
    "outlasting", "late", "paused_actions", "held", "contended", "cpu_ns", "runq_ns", "aside_ns",
    "starved", "ended_after", "due_before",
}  # fmt: skip
MOST = {
    "outlasting_max_ns", "unoffered_ns", "late_max_ns", "pauses", "paused_ns",
    "paused_measured_ns", "longest_pause_ns", "paused_max_ns", "busy_second_ns",
}  # fmt: skip
BUSIEST = ("cpu_max_ns", "runq_max_ns")  # of one thread: that in which both together are most
# Not known of all together.
UNKNOWN = ("common_ns", "common_actions", "common_bytes")
SECOND_NS = 10**9
SILENCE_LEAST_NS = 2 * SECOND_NS  # RUN_SILENCE_LEAST_NS
_QUANTILES = {"p50_ns": 0.5, "p95_ns": 0.95, "p99_ns": 0.99, "p999_ns": 0.999}


def parts(folder: Path) -> dict[int, Path]:
    """Rank -> its file."""
    found = ((_PART.fullmatch(p.name), p) for p in folder.glob("rank-*.json"))
    return dict(sorted((int(m[1]), p) for m, p in found if m))


def joined(folder: Path, file: Path) -> Node:
    """The run in `file`, or that of the first rank if it is not there, with what the ranks have
    saved beside it."""
    found = parts(folder)
    if not file.exists() and found:
        file = next(iter(found.values()))
    run = load(file)
    for rank, path in found.items():
        part = run if path == file else load(path)
        try:
            _join(run.value, part.value, rank)
        except (KeyError, TypeError, IndexError, AttributeError, ValueError):
            raise Failure(f"{path}: the file is damaged, or {file} is") from None
    if found:
        _name_missing(run.value)
    return run


def _join(run: Json, part: Json, rank: int) -> None:
    """Adds what `rank` did. A part of another run, left in the folder, is none."""
    if part["id"] != run["id"]:
        return
    at, added = {(p["test"], p["iteration"]): p for p in run["phases"]}, False
    for phase in (p for p in part["phases"] if "ranks" in p):  # else the load did not begin
        mine = at.get((phase["test"], phase["iteration"]))
        if mine is None:
            run["phases"].append(phase)
            added = True
        elif mine["ranks"][rank]["end"] == "lost" and phase["ranks"][rank]["end"] != "lost":
            _join_phase(mine, phase, rank)
            added = True
    run["complete"] = run["complete"] and not added
    over = (f"rank {rank} of ", *([f"rank {rank} ("] if added else []))
    run["warnings"] = [
        w for w in run["warnings"] if w["key"] != "rank" or not w["text"].startswith(over)
    ]


def _name_missing(run: Json) -> None:
    """A warning for each rank of which nothing was saved."""
    ranks = run["phases"][-1]["ranks"] if run["phases"] else []
    named = [w["text"] for w in run["warnings"] if w["key"] == "rank"]
    lost = [r for r in ranks if r["end"] == "lost"]
    run["warnings"] += [
        {"key": "rank", "text": f"rank {r['rank']} is missing: what its clients did is not known"}
        for r in lost
        if not any(text.startswith(f"rank {r['rank']} ") for text in named)
    ]
    if not lost:
        run["warnings"] = [w for w in run["warnings"] if w["key"] != "lost"]


def _join_phase(to: Json, other: Json, rank: int) -> None:
    lost, known = to["ranks"][rank], other["ranks"][rank]
    skew = {key: lost[key] for key in ("skew_ns", "unsure_ns") if known[key] is None}
    to["ranks"][rank] = known | skew
    mine, its = to["load"], other["load"]
    for key in SUM & mine.keys() & its.keys():  # older runs have not all of them
        mine[key] = _both(mine[key], its[key], lambda a, b: a + b)
    for key in MOST & mine.keys() & its.keys():
        mine[key] = _both(mine[key], its[key], max)
    if _busiest(its) > _busiest(mine):
        mine |= {key: its[key] for key in BUSIEST if key in its}
    for key in UNKNOWN:
        mine[key] = None
    took = its["end_ns"] - its["begin_ns"]  # its clock may be another one
    mine["end_ns"] = max(mine["end_ns"], mine["begin_ns"] + took)
    if "undone" in mine and "undone" in its:
        mine["undone"] = _latency(mine["undone"], its["undone"])
    mine["lost"] = max(0, mine["lost"] - known["clients"]) + known["lost"]
    mine["realtime"] = mine["realtime"] and its["realtime"]
    mine["each_client"][rank :: len(to["ranks"])] = its["each_client"][rank :: len(to["ranks"])]
    mine["fairness"] = _fairness(mine["each_client"])
    unknown = {"value_ns": None, "kept": None, "value": None, "verdict": "cannot tell"}
    unknown["why"] = "judged before a rank that was lost came back"
    mine["slo"] = [limit | unknown for limit in mine["slo"]]
    mine["stages"] = [
        _stage(a, b)
        for a, b in zip(mine.get("stages") or [], its.get("stages") or [], strict=False)
    ]
    each = max(x.get("seconds_each", 1) for x in (mine, its))
    mine["seconds"] = _seconds(*(_widened(x, each) for x in (mine, its)))
    mine["seconds_each"] = each
    mine["actions"] = _by("name", mine["actions"], its["actions"], _action)
    if "silence" in mine and "silence" in its:
        mine["silence"] = _silence(mine, to["ranks"])
    to["commands"] = _by("code", to["commands"], other["commands"], _command)
    for key, value in other["metrics"].items():
        how = max if key == "elapsed" else lambda a, b: a + b
        to["metrics"][key] = _both(to["metrics"].get(key), value, how)


def _busiest(load: Json) -> int:
    return sum(load.get(key, 0) for key in BUSIEST)


def _longest(load: Json) -> tuple[int, int]:
    """Since the begin, and how long: the longest time of whole seconds in which no action ended,
    while one was waited for."""
    each, rows = load.get("seconds_each", 1) * SECOND_NS, load["seconds"]
    since = -(-(load["measure_ns"] - load["begin_ns"]) // each)
    end, longest = (load["end_ns"] - load["begin_ns"]) // each, (0, 0)
    for i in range(since, end + 1):
        row = rows[i] if i < min(end, len(rows)) else {"n": 0, "max_ns": 0}
        if i < end and not row["n"]:
            continue
        ns, waited = (i - since) * each, row["max_ns"] if i < end else load["outlasting_max_ns"]
        if longest[1] < ns <= (waited or 0):
            longest = (since * each, ns)
        since = i + 1
    return longest


def _silence(load: Json, ranks: list[Json]) -> Json | None:
    """As run_load_silence() of user/run/load.c says, of the ranks that are not lost."""
    from_ns, ns = _longest(load)
    taken = hist.Histogram.merge(
        hist.parse(Node(a["planned"]["histogram"], "histogram")) for a in load["actions"]
    )
    if ns < SILENCE_LEAST_NS or (taken.quantile(0.99) or 0) >= ns:
        return None
    waited = [max(c["max_ns"] or 0, c.get("outlasting_ns") or 0) for c in load["each_client"]]
    clients = sum(w >= ns for w in waited)
    known = sum(r["end"] != "lost" for r in ranks)
    of = {"ranks": known, "of_ranks": len(ranks)}
    return {"from_ns": from_ns, "ns": ns, "clients": clients} | of


def _both(a: Any, b: Any, how: Callable[[Any, Any], Any]) -> Any:
    """None is what was not measured."""
    return b if a is None else a if b is None else how(a, b)


def _by(key: str, a: list[Json], b: list[Json], add: Callable[[Json, Json], Json]) -> list[Json]:
    """Two lists of objects: those of the same key are added."""
    out = {o[key]: o for o in a}
    for o in b:
        out[o[key]] = add(out[o[key]], o) if o[key] in out else o
    return list(out.values())


def _histogram(a: Json, b: Json) -> Json:
    both = hist.Histogram.merge(hist.parse(Node(o, "histogram")) for o in (a, b))
    return {"bits": both.bits, "buckets": [list(pair) for pair in both.buckets]}


def _latency(a: Json, b: Json) -> Json:
    histogram = _histogram(a["histogram"], b["histogram"])
    out = {
        "n": a["n"] + b["n"],
        "sum_ns": a["sum_ns"] + b["sum_ns"],
        "min_ns": _both(a["min_ns"], b["min_ns"], min),
        "max_ns": _both(a["max_ns"], b["max_ns"], max),
    }
    for key, q in _QUANTILES.items():
        value = hist.parse(Node(histogram, "histogram")).quantile(q)
        out[key] = None if value is None else min(max(value, out["min_ns"]), out["max_ns"])
    return out | {"histogram": histogram}


def _action(a: Json, b: Json) -> Json:
    counts = {key: a[key] + b[key] for key in ("n", "failed")}
    return a | counts | {key: _latency(a[key], b[key]) for key in ("planned", "begun")}


def _stage(a: Json, b: Json) -> Json:
    counts = {key: a[key] + b[key] for key in ("n", "failed")}
    counts["planned"] = _both(a["planned"], b["planned"], lambda x, y: x + y)
    return a | counts | {"latency": _latency(a["latency"], b["latency"])}


def _command(a: Json, b: Json) -> Json:
    counts = {key: a[key] + b[key] for key in ("ops", "errors")}
    return a | counts | {"latency": _latency(a["latency"], b["latency"])}


def _widened(load: Json, each: int) -> list[Json]:
    """Its seconds in rows of so many; each is a multiple of what they are now."""
    rows, n = load["seconds"], each // load.get("seconds_each", 1)
    parts = [rows[i : i + n] for i in range(0, len(rows), n)]
    return [functools.reduce(lambda a, b: _seconds([a], [b])[0], part) for part in parts]


def _seconds(a: list[Json], b: list[Json]) -> list[Json]:
    """Each from its own rank's start."""
    both = [
        {key: x[key] + y[key] for key in ("n", "failed", "sum_ns")}
        | {
            "max_ns": _both(x["max_ns"], y["max_ns"], max),
            **{key: _both(x.get(key), y.get(key), int.__add__) for key in ("dropped", "bytes")},
            "histogram": _histogram(x["histogram"], y["histogram"]),
        }
        for x, y in zip(a, b, strict=False)
    ]
    return [*both, *a[len(both) :], *b[len(both) :]]


def _fairness(clients: list[Json]) -> float:
    """Jain's index, of clients that had a session as far as is known."""
    counts = [c["actions"] for c in clients if c["actions"] or not c["lost"]]
    squares = sum(n * n for n in counts)
    return sum(counts) ** 2 / (len(counts) * squares) if squares else 1.0
