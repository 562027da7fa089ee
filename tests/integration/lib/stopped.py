# SPDX-License-Identifier: GPL-2.0-or-later
"""Stops a load while it works, for 2 s, and looks at what it says of that time."""

from __future__ import annotations

import json
import re
import signal
import time

from disturbed import Disturbed, undisturbed
from scope import Scope


@undisturbed
def says_it_was_stopped(scope: Scope, line: list[str], phase: str = "") -> None:
    """The line must measure for longer than 5 s; if a phase is given, that one for at least 4 s."""
    running = scope.start([*line, "--json", "/dev/stdout", "--live=json"])
    # The first line is printed after one second, or when the phase ends, if that is earlier. If it
    # has ended, the stop falls between two phases, where nothing is measured.
    running.wait_for(f'"phase":"{phase}"' if phase else '{"')
    running.signal(signal.SIGSTOP)
    time.sleep(2)
    running.signal(signal.SIGCONT)
    done = running.finish()
    run = json.loads(done.out[done.out.index("{") :])
    (warning,) = [w["text"] for w in run["warnings"] if w["key"] == "paused"]
    found = re.search(
        r"did not run for ([\d.]+)s .*: (\d+) actions .* the longest ([\d.]+)s", warning
    )
    assert found and float(found[1]) > 1.5 and int(found[2]) and float(found[3]) > 1.5
    if float(found[1]) >= 3 or float(found[3]) >= 3:  # the machine gave it no CPU, either
        raise Disturbed(warning)
    for phase in run["phases"]:
        for action in phase["load"]["actions"]:
            assert (action["planned"]["max_ns"] or 0) < 1_500_000_000
