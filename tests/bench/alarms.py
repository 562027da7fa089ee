# SPDX-License-Identifier: GPL-2.0-or-later
"""compare, ab and gate on real servers: what they find, and that they do not cry wolf."""

from __future__ import annotations

import json
import os
import shutil
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab import OUT, Client, Lab, favour_server
from netatalk import PEER_SUITE, USERS, Server
from offline import analysis, command, preload
from stats import Result, figure

FOLDER = OUT / "alarms"
CNID = ("dbd", "sqlite")
SAME_PAIRS = 20
ACCEPTED, FRESH = 4, 20
SLOW_PAIRS, SLOW_TRIES = 12, 3
SLOW_BY = 0.1
SLOW_TESTS = "5:"  # tests 5 and 10 create files
DEAR = "FPCreateFile"
# Rows that hold that command's time; the second is what a test takes as a whole.
MAY_BE_SLOWER = {("5", DEAR), ("5", ""), ("10", DEAR), ("10", "")}


def _begin() -> None:
    os.environ["AFPSCOPE_PASSWORD"] = USERS["bench1"]
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)


def _url(server: Server) -> str:
    return f"afp://bench1@127.0.0.1:{server.port}/vol1"


@contextmanager
def _server(
    lab: Lab, cnid: str, hooks: Mapping[str, str] | None = None, **does: int
) -> Iterator[Server]:
    """A new one; `does`: what onopen.c is told."""
    words = " ".join(f"ONCREATE_{name}={value}" for name, value in does.items())
    hooks = dict(hooks or {}, AFPD_CPU=str(lab.server_cpu))
    if does:
        hooks |= {"AFPD_PRELOAD": preload(FOLDER), "AFPD_ENV": words}
    with Server(PEER_SUITE, cnid, **hooks) as server:
        favour_server(server)
        yield server


def _runs(lab: Lab, server: Server, name: str, number: int, *what: str) -> list[Path]:
    """Kept runs, of all twelve tests unless said otherwise."""
    places = [FOLDER / f"{name}{i}" for i in range(number)]
    for place in places:
        line = [str(lab.afpscope), "lantest", *(what or ("-n", "1")), "-o", str(place)]
        line.append(_url(server))
        Client(lab.pinned("/", line), OUT).finish()
    return places


def _ab(lab: Lab, name: str, a: Server, b: Server, pairs: int, *what: str) -> list[dict[str, Any]]:
    """The rows of times."""
    line = [*command(), "ab", "--json", "--program", str(lab.afpscope), "-o", str(FOLDER / name)]
    line += ["--a", _url(a), "--b", _url(b), "--pairs", str(pairs)]
    if a is not b:  # a start of each server has an effect of its own
        sides = f"a) {a.restart_command()} ;; b) {b.restart_command()} ;;"
        line += ["--restart", f"case $AFPSCOPE_SIDE in {sides} esac"]
    line += ["--", "lantest", *what]
    Client(lab.pinned("/", line), OUT).finish()
    rows: list[dict[str, Any]] = json.loads((OUT / "out").read_text())["times"]
    return rows


def _text(row: dict[str, Any]) -> str:
    t = row["result"]
    values = " ".join(
        "n/a" if v is None else f"{v:+.1%}" for v in (t["change"], t["low"], t["high"])
    )
    return f"{row['test'].split()[0]} {row['command'] or '(test)'} {row['verdict']} {values}"


def _key(row: dict[str, Any]) -> tuple[str, str]:
    """The test's number, and the command."""
    return row["test"].split()[0], row["command"]


def _found(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["verdict"] in ("slower", "faster")]


def alarms_same(lab: Lab, how: str) -> list[Result]:
    """A server against itself: no verdict, and no count that differs."""
    _begin()
    rows = _ab(lab, "same", lab.server, lab.server, SAME_PAIRS, "-n", "1")
    wrong = _found(rows)
    remark = f"of {len(rows)} rows: " + ("; ".join(map(_text, wrong)) or "none")
    name = f"false verdicts, {SAME_PAIRS} A/A pairs"
    return [figure(name, len(wrong), "rows", how, remark, goal=0)]


def _mean_ns(run: Path) -> float:
    """What the dear command took in test 5."""
    phases = json.loads((run / "run.json").read_text())["phases"]
    rows = (c for p in phases if p["test"] == 5 for c in p["commands"] if c["name"] == DEAR)
    return statistics.median(c["latency"]["sum_ns"] / c["ops"] for c in rows)


def alarms_slow(lab: Lab, how: str) -> list[Result]:
    """A server slower in one command only.

    Its volume is in memory: where the disk's ext4 has no journal, making a file takes the longer
    the more were deleted before (see Lab.own_file_system).
    """
    _begin()
    own = {"AFPD_MEMORY": "128M"}
    with _server(lab, "dbd", own) as server:
        (known,) = _runs(lab, server, "known", 1, "-f", SLOW_TESTS, "-n", "3")
    spin = round(SLOW_BY * _mean_ns(known))
    results = []
    for n in range(1, SLOW_TRIES + 1):
        with _server(lab, "dbd", own) as a, _server(lab, "dbd", own, SPIN_NS=spin) as b:
            rows = _ab(lab, f"slow{n}", a, b, SLOW_PAIRS, "-f", SLOW_TESTS, "-n", "3")
        found = _found(rows)
        slow = {_key(row) for row in found if row["verdict"] == "slower"}
        wrong = [
            row for row in found if row["verdict"] != "slower" or _key(row) not in MAY_BE_SLOWER
        ]
        hit = ("5", DEAR) in slow
        shown = found if hit else [row for row in rows if row["command"] == DEAR]
        remark = f"by {spin / 1000:.0f} us: " + "; ".join(map(_text, shown))
        name = f"{SLOW_BY:.0%} slower {DEAR}, try {n}"
        results += [
            figure(f"{name}: missed", float(not hit), "rows", how, remark, goal=0),
            figure(
                f"{name}: others", len(wrong), "rows", how, "; ".join(map(_text, wrong)), goal=0
            ),
        ]
    return results


def _gated(counts: Path, runs: Sequence[Path]) -> tuple[int, list[str]]:
    """How many runs do not pass, and what the gate says of them, strays too."""
    alarms, said = 0, []
    for run in runs:
        done = analysis("gate", "--counts", counts, run)
        alarms += done.returncode != 0
        said += [line for line in (done.stdout + done.stderr).splitlines() if "pass:" not in line]
    return alarms, said


def _counts(lab: Lab, how: str, cnid: str) -> list[Result]:
    """Counts of one start of a server hold for another; and one call more is found."""
    counts = FOLDER / f"{cnid}.json"
    with _server(lab, cnid) as server:
        accepted = _runs(lab, server, f"{cnid}-accepted", ACCEPTED)
    done = analysis("gate", "--accept", "--counts", counts, *accepted)
    print(done.stdout.strip() + done.stderr)
    with _server(lab, cnid) as server:
        alarms, said = _gated(counts, _runs(lab, server, f"{cnid}-fresh", FRESH))
    print(*(f"{n} x {line}" for line, n in Counter(said).items()), sep="\n")
    with _server(lab, cnid, LGETXATTR=1) as server:
        _, named = _gated(counts, _runs(lab, server, f"{cnid}-more", 1))
    print(*named, sep="\n")
    missed = [
        test
        for test, _ in MAY_BE_SLOWER
        if not any(x.startswith(f"{test} ") and f": {DEAR}: afpd: xattr: " in x for x in named)
    ]
    remark = f"{len(said)} lines said"
    return [
        figure(f"alarms, {FRESH} runs on {cnid}", alarms, "runs", how, remark, goal=0),
        figure(f"lgetxattr more, missed, {cnid}", len(set(missed)), "tests", how, goal=0),
    ]


def alarms_counts(lab: Lab, how: str) -> list[Result]:
    """The gate: none on the same work, one where a command makes one call more."""
    _begin()
    return [result for cnid in CNID for result in _counts(lab, how, cnid)]
