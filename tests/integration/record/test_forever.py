# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that watch for weeks: thousands of sessions come and go, and their memory stays.

make bench does it with more sessions ("forever"). Tests user/host/proc/tasks.c,
user/watch/bpf/slots.c.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from scope import BUILD, REPO

LOGINS = 15_000
FOREVER = "build/tests/bpf/bench_forever"


# Place: sessions that come and go for weeks | exact; `record` lists the 8,192 or more that kept
#   the server busiest, and the others as a sum; its memory and that of the exporter stay as they
#   are
@pytest.mark.parametrize("how", ["bpf", "proc"])
def test_the_exporter_grows_by_no_session(tmp_path: Path, how: str) -> None:
    """Not the sanitized program, which keeps what is freed for a while."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    subprocess.run(["make", "-s", FOREVER], cwd=REPO, check=True, env=env)
    command = [str(BUILD / "afpscope"), "exporter", f"--watch={how}", "--pid", "{pid}"]
    command.append(f"--textfile={tmp_path}/metrics.prom")
    done = subprocess.run(
        [REPO / FOREVER, str(LOGINS), *command], capture_output=True, text=True, timeout=300
    )
    looks = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stdout + done.stderr
    assert looks[-1]["logins"] == LOGINS
    assert f"({how})" in done.stderr
    early, late = (
        {key: max(look[key] for look in part) for key in ("rss_kib", "fds")}
        for part in (looks[:5], looks[5:])
    )
    assert late["rss_kib"] <= 1.05 * early["rss_kib"], looks
    assert late["fds"] <= early["fds"], looks
