# SPDX-License-Identifier: GPL-2.0-or-later
"""What watching costs Samba: CPU time of smbd for a request, watched and not, in turn.

The client is `afpscope smallfile` on a share, which watches smbd by itself or not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from lab import OUT, REPO, Client, Lab
from netatalk import children_of
from samba import Samba
from stats import Result, Side, compare

sys.path.insert(0, str(REPO / "tests" / "integration" / "lib"))
from scope import wait_until

FILES = 400
LOADS = "create,append,stat,read,rename,delete"
GOAL = 1.15


def _used(server: Samba, others: int) -> float:
    """CPU seconds of its sessions, all of which have ended, and of itself."""
    wait_until(lambda: len(children_of(server.pid)) <= others, 20, "the session to end")
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _library() -> str:
    line = [str(REPO / "tests/need.sh"), "--libsmb2"]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()


def smb_cost(lab: Lab, how: str) -> list[Result]:
    """The time of the programs counts as smbd's, whose calls they are in."""
    os.environ |= {"LD_LIBRARY_PATH": _library(), "AFPSCOPE_PASSWORD": "secret1"}
    saved = OUT / "smb.json"

    def run(watch: str) -> float:
        place = f"smb://bench1@127.0.0.1:{server.port}/share1"
        line = [str(lab.afpscope), "smallfile", "-f", str(FILES), "-l", LOADS, "--no-save"]
        before = _used(server, others)
        Client(lab.pinned("/", [*line, f"--watch={watch}", f"--json={saved}", place]), OUT).finish()
        phases = json.loads(saved.read_text())["phases"]
        requests = sum(c["ops"] for phase in phases for c in phase["commands"])
        return 1e6 * (_used(server, others) - before) / requests

    with Samba("bookworm", SMB_GLOBAL="smbd profiling level = off") as server:
        others = len(children_of(server.pid))
        runs = lab.series({w: lambda w=w: run(w) for w in ("off", "bpf")}, lab.pairs)
    return [
        compare(
            "smbd watched, CPU of a request",
            Side("watched", runs["bpf"]),
            Side("not", runs["off"]),
            "us",
            how,
            goal=GOAL,
        )
    ]
