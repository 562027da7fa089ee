# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs of smallfile side by side: demo_table.py FOLDER NAME... prints a row for each."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def rate(phase: dict[str, Any]) -> str:
    """Operations a second until the last client was done."""
    done = sum(a["n"] - a["failed"] for a in phase["load"]["actions"])
    return f"{done / phase['metrics']['elapsed'] * 1e9:,.0f}"


def calls(phase: dict[str, Any]) -> str:
    """System calls of the server for one operation; none was watched: empty."""
    rows = phase["ledger"]["rows"]
    n = sum(a["n"] for a in phase["load"]["actions"])
    if rows is None:
        return ""
    return f"{sum(r['calls'] for r in rows if r['role'] != 'glusterfs') / n:.0f}"


def main(folder: Path, *names: str) -> None:
    runs = {name: json.loads((folder / name / "run.json").read_text()) for name in names}
    titles = [p["title"] for p in next(iter(runs.values()))["phases"]]
    wide = [max(9, len(title) + 1) for title in titles]
    heads = zip(titles, wide, strict=True)
    print(f"{'':12}" + "".join(f"{title:>{n}}{'calls':>6}" for title, n in heads))
    for name, run in runs.items():
        failed = sum(a["failed"] for p in run["phases"] for a in p["load"]["actions"])
        phases = zip(run["phases"], wide, strict=True)
        cells = "".join(f"{rate(p):>{n}}{calls(p):>6}" for p, n in phases)
        print(f"{name:12}{cells}".rstrip() + (f"  {failed} FAILED" if failed else ""))


main(Path(sys.argv[1]), *sys.argv[2:])
