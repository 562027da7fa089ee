# SPDX-License-Identifier: GPL-2.0-or-later
"""What ails a server is said once: every output of a run has the same conclusion.

Tests user/doctor/notable.c, user/doctor/diagnose.c.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from netatalk import USERS
from offline import analysis, joined
from scope import OK, PinnedServer, Scope, children, left_on, wait_until

ANY = {"schema": 1, "tool": "afpscope", "version": "0.1.0", "id": "0123456789abcdef"}


def plain(text: str) -> str:
    """Without the line breaks of a screen or the marks of a page."""
    return joined(re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text))))


def loaded(scope: Scope, server: PinnedServer, out: Path, stop_s: float) -> str:
    """A load in which the CNID servers are stopped for so long, if at all; its first screen."""
    url = f"afp://bench1@127.0.0.1:{server.port}/vol1"
    env = {"AFPSCOPE_PASSWORD": USERS["bench1"]}
    line = [
        "load",
        "-n",
        "4",
        "-d",
        "5" if stop_s else "2",
        "--ramp=0",
        "--files=5",
        "--no-probe",
        "-m",
        "office",
        "-o",
        str(out),
        url,
    ]
    child = scope.start([str(scope.binary), *line], env=os.environ | env)
    wait_until(lambda: bool(left_on(server)), 60, "files of the load")
    if stop_s:
        time.sleep(2)
        assert server.metad
        stopped = children(server.metad)
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in stopped:
                os.kill(pid, number)
            time.sleep(stop_s if number == signal.SIGSTOP else 0)
    done = child.finish()
    assert done.status == OK, done
    return plain(done.out)


def of_two(folder: Path, steps: list[Path]) -> Path:
    """A sweep folder of runs that were made one by one."""
    for at, step in enumerate(steps, 1):
        shutil.copytree(step, folder / f"{at:03}-{at}")
    made = [
        {"folder": f"{at:03}-{at}", "value": str(at), "why": "planned", "exit": 0, "error": None,
         "started_at": f"2026-01-01T00:{at:02}:00Z"}
        for at in range(1, len(steps) + 1)
    ]  # fmt: skip
    noted: dict[str, Any] = ANY | {
        "started": "2026-01-01T00:00:00Z", "complete": True, "stopped": None,
        "option": "clients", "values": [s["value"] for s in made], "order": "up", "repeat": 1,
        "slo": "max=1s", "target": "afp://user@server/v", "arguments": ["afp://user@server/v"],
        "set": "shared", "steps": made,
    }  # fmt: skip
    (folder / "sweep.json").write_text(json.dumps(noted))
    return folder


@pytest.mark.limit(180)
def test_a_stop_is_the_same_conclusion_everywhere(
    scope: Scope, victim: PinnedServer, tmp_path: Path
) -> None:
    loaded(scope, victim, tmp_path / "well", 0)
    screen = loaded(scope, victim, tmp_path / "ill", 2.5)
    run = json.loads((tmp_path / "ill" / "run.json").read_text())
    first = run["diagnosis"]["findings"][0]
    assert first["key"] == "cnid-stopped", run["diagnosis"]["findings"]
    notable = {f["key"]: f["text"] for f in run["findings"]}
    # When it was paused may be cut off there: such a line takes two at most.
    begin = notable["cnid-stopped"].partition("; paused")[0]
    assert "all request time" in begin and f"Notable: {begin}; paused 1 time, last" in screen
    said = scope.execute([str(scope.binary), "doctor", str(tmp_path / "ill")])
    assert plain(first["text"]) in plain(said.out), said
    page = tmp_path / "page.html"
    assert analysis("report", tmp_path / "ill", "-o", page).returncode == OK
    head = plain(page.read_text())
    assert first["text"] in head and notable["cnid-stopped"] not in head  # the cause says it
    both = of_two(tmp_path / "sweep", [tmp_path / "well", tmp_path / "ill"])
    assert analysis("report", both, "-o", page).returncode == OK
    assert f"Used up: {first['text']}" in plain(page.read_text())
