# SPDX-License-Identifier: GPL-2.0-or-later
"""Saved runs that were changed: slower, noisier, with more calls."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import tracegen
from afpscope.measure import turns
from afpscope.saved import hist
from afpscope.saved.run import START
from conftest import Change, Shelf


def stretch(latency: dict[str, Any], by: float) -> None:
    """Every value `by` times as long."""
    found: Counter[int] = Counter()
    bits = latency["histogram"]["bits"]
    for index, n in latency["histogram"]["buckets"]:
        found[hist.index_of(round(hist.middle(index, bits) * by), bits)] += n
    latency["histogram"]["buckets"] = [list(bucket) for bucket in sorted(found.items())]
    latency["sum_ns"] = int(latency["sum_ns"] * by)


def add(latency: dict[str, Any], value_ns: int, n: int) -> None:
    """`n` requests more that took so long; less where it is negative."""
    found = Counter(dict(latency["histogram"]["buckets"]))
    found[hist.index_of(value_ns, latency["histogram"]["bits"])] += n
    latency["histogram"]["buckets"] = [list(bucket) for bucket in sorted(found.items())]
    latency["sum_ns"] += value_ns * n


def scaled(seed: int, command: str = "", factor: float = 1.0) -> Change:
    """A run as noisy as the sample, in which a command takes `factor` times as long."""
    rng = random.Random(seed)

    def change(value: dict[str, Any]) -> None:
        hour, minute = divmod(seed, 60)
        value["id"], value["started"] = f"{seed:016x}", f"2026-11-21T{hour:02}:{minute:02}:00Z"
        value["server"][START] = f"start {seed}"
        for phase in value["phases"]:
            noise = rng.lognormvariate(0, 0.03)
            for c in phase["commands"]:
                by = noise * rng.lognormvariate(0, 0.01) * (factor if c["name"] == command else 1)
                before = c["latency"]["sum_ns"]
                stretch(c["latency"], by)
                phase["metrics"]["elapsed"] += c["latency"]["sum_ns"] - before

    return change


def interrupted(seed: int, factor: float = 1.0) -> Change:
    """FPCreateFile takes `factor` times as long; and up to 3 % of its requests waited 10 ms."""
    steady, rng = scaled(seed, "FPCreateFile", factor), random.Random(seed + 1000)

    def change(value: dict[str, Any]) -> None:
        steady(value)
        for phase in value["phases"]:
            for c in phase["commands"]:
                if c["name"] != "FPCreateFile":
                    continue
                latency, late = c["latency"], rng.randrange(c["ops"] * 3 // 100)
                form = latency["histogram"]
                fullest, _ = max(form["buckets"], key=lambda bucket: bucket[1])
                add(latency, hist.middle(fullest, form["bits"]), -late)
                add(latency, 10_000_000, late)

    return change


def more_calls(value: dict[str, Any]) -> None:
    """One lgetxattr more for each FPCreateFile."""
    for phase in value["phases"]:
        for account in phase["ledger"]["requests"]:
            if account["name"] == "FPCreateFile":
                part = next(p for p in account["parts"] if p["class"] == "xattr")
                part["calls"] += account["requests"]


def pairs(shelf: Shelf, n: int, factor: float) -> tuple[list[Path], list[Path]]:
    sides: dict[str, list[Path]] = {"a": [], "b": []}
    for i, (pair, side) in enumerate(turns.order(n)):
        change = scaled(i, "FPCreateFile", factor if side == "b" else 1)
        sides[side].append(shelf.put(f"{pair:02}{side}", change=change))
    return sides["a"], sides["b"]


def replayed(
    seed: int, factor: float = 1.0, otherwise: int = 0, unsent: int = 0, **more: Any
) -> Change:
    """A run of load as one of a replay of tracegen's recording, whose commands took `factor` times
    as long in the server. `more`: members of `replay`, and options."""
    rng = random.Random(seed)

    def change(value: dict[str, Any]) -> None:
        hour, minute = divmod(seed, 60)
        value["id"], value["started"] = f"{seed:016x}", f"2026-11-21T{hour:02}:{minute:02}:00Z"
        value["command"], value["set"] = "replay", "replay-1"
        value["server"][START] = f"start {seed}"
        value["options"] = {
            "recording": f"/{seed}",
            "recording_uuid": tracegen.UUID.hex,
            "clients": "4",
            "speed": "1",
            "timed": "yes",
        } | {k: more[k] for k in ("speed", "timed", "recording_uuid") if k in more}
        phase = value["phases"][0]
        phase["title"], phase["probe"] = "replay", None
        n = [a["n"] for a in phase["load"]["actions"]]
        asked = dict.fromkeys(
            ("new_error", "no_error", "other_error", "other_size", "unsent", "not_supported"), 0
        )
        phase["replay"] = {
            "recorded": sum(n) + 9,
            "planned": sum(n),
            "planned_ns": 4_000_000_000,
            "kept_up": limit("kept", 12_000_000),
            "requests": [
                {
                    "name": a["name"],
                    "recorded": a["n"],
                    "as_recorded": a["n"],
                    "recorded_p50_ns": 20_000,
                    "recorded_p99_ns": 70_000,
                    "p50_ns": 60_000,
                    "p99_ns": None,
                }
                | asked
                for a in phase["load"]["actions"]
            ],
        }
        first = phase["replay"]["requests"][0]
        first["as_recorded"] -= otherwise + unsent
        first["other_size"], first["unsent"] = otherwise, unsent
        phase["replay"] |= {k: more[k] for k in ("kept_up", "planned_ns") if k in more}
        for account in phase["ledger"]["requests"]:
            account_took(account, factor * rng.lognormvariate(0, 0.01))

    return change


def account_took(account: dict[str, Any], by: float) -> None:
    """Its requests took so many times as long in the server."""
    latency = {"histogram": account["histogram"], "sum_ns": account["time_ns"]}
    stretch(latency, by)
    account["time_ns"] = latency["sum_ns"]


def limit(verdict: str, ns: int, why: str = "") -> dict[str, Any]:
    """What a replay says of p99<=1s."""
    return {
        "text": "p99<=1s",
        "limit_ns": 1_000_000_000,
        "value_ns": ns,
        "kept": {"kept": True, "broken": False}.get(verdict),
        "verdict": verdict,
        "unit": "ns",
        "limit": 1e9,
        "value": float(ns),
        "value_at_least": False,
        "value_of_others": False,
        "why": why,
    }
