# SPDX-License-Identifier: GPL-2.0-or-later
"""Stops a load while it works, for 2 s, and looks at what it says of that time."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable

from scope import Scope, wait_until


def says_it_was_stopped(scope: Scope, line: list[str], begun: Callable[[], bool]) -> None:
    """Of a line that measures for longer than 4 s; begun: it has files, and soon works."""
    running = scope.start([*line, "--json", "/dev/stdout"])
    wait_until(begun, 60, "its files")
    time.sleep(1)
    running.signal(signal.SIGSTOP)
    time.sleep(2)
    running.signal(signal.SIGCONT)
    done = running.finish()
    run = json.loads(done.out[done.out.index("{") :])
    (warning,) = [w["text"] for w in run["warnings"] if w["key"] == "paused"]
    found = re.search(
        r"did not run for ([\d.]+)s .*: (\d+) actions .* the longest ([\d.]+)s", warning
    )
    assert found and 1.5 < float(found[1]) < 3 and int(found[2]) and 1.5 < float(found[3]) < 3
    for phase in run["phases"]:
        for action in phase["load"]["actions"]:
            assert (action["planned"]["max_ns"] or 0) < 1_500_000_000
