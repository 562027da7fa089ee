# SPDX-License-Identifier: GPL-2.0-or-later
"""How often it cannot be told whether something is wrong with a server, on made-up figures: for
simulate.py.

A server's figures are made by the rules themselves: at one with which nothing is wrong some
resources are busy, and nobody waits for them; at the others one cause has all that its rule asks
for. What is concluded from all figures is the truth. Then those are taken away that a command does
not see (the table of docs/doctor.md), or some by chance, as where there are no rights; but not how
requests went.
"""

from __future__ import annotations

import functools
import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
Figures = dict[str, float]
REPO = Path(__file__).parents[2]
JUDGE = "build/tests/doctor/judge"
HEALTHY = ("healthy", "idle")
BUSY = 0.3  # of the resources of a server
# How requests went, which is known of all or of none: then there is no verdict.
REQUESTS = {"requests", "busy", "rate", "slow", "p50", "p99", "unread", "oldest", "own"}


@dataclass(frozen=True)
class Case:
    """`keys`: causes that are not seen; `lost`: the share of figures that are missing by chance."""

    name: str
    wrong: bool
    keys: tuple[str, ...] = ()
    lost: float = 0.0


@functools.cache
def _judge() -> str:
    subprocess.run(["make", "-s", JUDGE], cwd=REPO, check=True)
    return str(REPO / JUDGE)


def _said(servers: Sequence[Figures]) -> list[dict[str, Any]]:
    """The rules, and the diagnosis of each server."""
    text = "".join(json.dumps(f) + "\n" for f in servers)
    done = subprocess.run([_judge()], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@functools.cache
def _rules() -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    (said,) = _said([])
    return said["rules"], said["healthy"]


def _put(f: Figures, figure: str, value: float) -> None:
    f[figure] = min(value, 1.0) if _rules()[1][figure]["unit"] == "share" else value


def _resource(f: Figures, rule: dict[str, Any], rng: np.random.Generator, times: float) -> None:
    """All of its conditions hold, by up to so many times their limits."""
    for test in rule["tests"]:
        by = rng.uniform(0.0, 1.0) if test["most"] else rng.uniform(1.0, times)
        _put(f, test["figure"], test["limit"] * by)


def _work(f: Figures, rng: np.random.Generator) -> None:
    """Nobody notices that requests are slow."""
    f["requests"] = 10 ** rng.uniform(2.5, 5.5)
    f["busy"] = 10 ** rng.uniform(-1.0, 0.5)
    f["rate"] = f["busy"] / 10 ** rng.uniform(-4.5, -2.5)
    f["slow"], f["p99"], f["p50"] = rng.uniform(0.0, 0.05), 1e7 * rng.random(), 1e6 * rng.random()


def _right(rng: np.random.Generator) -> Figures:
    rules, healthy = _rules()
    f = {key: of["value"] for key, of in healthy.items()}
    _work(f, rng)
    for rule in rules:
        if rule["whom"] or rng.random() > BUSY or "requests" in str(rule["tests"]):
            continue
        before = dict(f)
        _resource(f, rule, rng, 1.5)
        if rule["harm"]:
            f[rule["harm"]] = rule["least"] * rng.uniform(0.0, 0.9)
        # What fails is wrong by itself, and resources may exclude one another.
        if rule["kind"] == "fails":
            f = before
    return f


def _wrong(rng: np.random.Generator) -> tuple[str, Figures]:
    causes = [r for r in _rules()[0] if r["kind"] != "note" and not r["whom"]]
    rule = causes[rng.integers(len(causes))]
    f = _right(rng)
    f["slow"], f["p99"] = rng.uniform(0.1, 0.9), 10 ** rng.uniform(8.0, 9.0)
    if rule["harm"]:
        _put(f, rule["harm"], rule["least"] * rng.uniform(1.0, 2.0))
    _resource(f, rule, rng, 2.0)
    return rule["key"], f


def _made(case: Case, times: int, rng: np.random.Generator) -> list[tuple[str, Figures]]:
    """Servers, and the cause ("": none), of which with all figures just that is said."""
    out: list[tuple[str, Figures]] = []
    while len(out) < times:
        some = [_wrong(rng) if case.wrong else ("", _right(rng)) for _ in range(2 * times)]
        for (key, f), said in zip(some, _said([f for _, f in some])[1:], strict=True):
            first = said["findings"][0]["key"] if said["findings"] else ""
            if (first == key and key) or (not key and said["verdict"] in HEALTHY):
                out.append((key, f))
    return out[:times]


def _without(f: Figures, case: Case, rng: np.random.Generator) -> Figures:
    rules = _rules()[0]
    needed = {t["figure"] for r in rules if r["key"] not in case.keys for t in r["tests"]}
    needed |= {r["harm"] for r in rules if r["key"] not in case.keys}
    hidden = {t["figure"] for r in rules if r["key"] in case.keys for t in r["tests"]} - needed
    some = {key for key in f if rng.random() < case.lost and key not in REQUESTS}
    return {key: value for key, value in f.items() if key not in hidden | some}


def _is(key: str, said: dict[str, Any]) -> str:
    found = [finding["key"] for finding in said["findings"]]
    if said["verdict"] in HEALTHY:
        return "right"
    if said["verdict"] == "partly" or (said["verdict"] == "slow" and said["may_be"]):
        return "named" if key in said["may_be"] else "open"
    if not found:
        return "none"
    return "found" if found[0] == key else "other"


def _row(of: tuple[Case, int]) -> list[str]:
    case, times = of
    rng = np.random.default_rng(len(repr(case)) + 1000 * case.wrong)
    made = _made(case, times, rng)
    less = [_without(f, case, rng) for _, f in made]
    n = Counter(_is(key, said) for (key, _), said in zip(made, _said(less)[1:], strict=True))
    same = n["found"] if case.wrong else n["right"]
    told = (same, n["named"] + n["open"], n["named"], n["other"], n["none"])
    wrong = n["right"] if case.wrong else 0
    shares = [f"{count / times:.1%}" for count in (*told, wrong)]
    if not case.wrong:
        shares[2] = shares[5] = ""
    return [case.name, "one thing is wrong" if case.wrong else "nothing is wrong", *shares]


def seen() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Commands, and what they do not see, by docs/doctor.md."""
    text = (REPO / "docs/doctor.md").read_text()
    rows = text[text.index("<!-- seen -->") :].split("\n\n")[0].splitlines()[3:]
    found: dict[str, list[str]] = {}
    for row in rows:
        _, commands, causes, *_ = row.split("|")
        for command in re.findall(r"`([^`]+)`", commands):
            found.setdefault(command, []).extend(re.findall(r"`([^`]+)`", causes))
    alike: dict[tuple[str, ...], list[str]] = {}
    for command, keys in found.items():
        alike.setdefault(tuple(keys), []).append(command)
    for keys, commands in alike.items():
        yield ", ".join(commands), keys


def partly(table: Callable[..., T]) -> T:
    by = [("doctor, record", ()), *seen()]
    cases = [Case(name, wrong, keys) for name, keys in by for wrong in (False, True)]
    cases += [
        Case(f"doctor, {lost:.0%} of the figures missing", wrong, lost=lost)
        for lost in (0.02, 0.2)
        for wrong in (False, True)
    ]
    head = ("Command", "Truth", "That is said", "Cannot be told", "with its name",
            "Another cause first", "No cause is shown", "“Nothing is wrong”")  # fmt: skip
    return table(head, cases, _row, 1000, 2)
