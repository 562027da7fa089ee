# SPDX-License-Identifier: GPL-2.0-or-later
"""Which worker of pytest-xdist runs which file, in which order, and what make check leaves out.

The first PINNED workers have a CPU each, for servers and clients that share it. Tests that mostly
wait, and judge by counts, need none: further workers run them meanwhile, behind the others.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pytest

PINNED = 2
BEHIND = 7  # so much nicer

# Those that need a CPU for themselves, the longest first, so that the last one does not run alone;
# and then all that are not named here.
LONG = (
    "doctor_cases",
    "signatures_46",
    "session_requests",
    "doctor",
    "tracing",
    "books",
    "output",
    "signatures",
    "hidden_calls",
    "load",
    "speedtest_options",
    "speedtest_signatures",
    "rx_pair",
    "one_conclusion",
    "gate_servers",
    "speedtest_output",
)
# Those that mostly wait, the longest first.
WAITING = (
    "load_mpi",
    "smb",
    "replay_broken",
    "workflow",
    "killed",
    "stopping",
    "replay_killed",
    "versus_servers",
    "errors",
    "speedtest_errors",
    "speedtest_data",
    "smallfile",
    "openafs",
    "gfapi",
    "record_command",
    "rx_serve",
    "exporter",
    "mixes_gvfs",
    "sweep",
    "load_logins",
    "replay_trees",
    "ways",
    "job",
    "gfapi_perf",
    "whose",
    "servers",
    "gluster",
    "samba",
    "nfs",
    "ganesha",
    "foreign",
    "speedtest_local",
    "right_process",
    "rx_client",
    "places",
    "record",
    "replay",
    "cleaning",
    "load_limits",
    "load_content",
    "fidelity",
    "replay_errors",
    "load_sources",
    "operations",
    "sweep_rx",
    "bundle_names",
    "bundle_servers",
    "owned_servers",
    "run_folders",
    "check",
    "files",
    "every_table",
    "strangers",
    "hostile_names",
    "words",
    "degraded",
    "cnid_servers",
    "dead_mounts",
    "smallfile_mpi",
    "store_verbs",
    "gfapi_perf_volume",
    "ipv6",
    "top_screen",
    "rx_judges",
    "rxperf_tool",
    "gun",
    "probe",
    "forever",
    "promised_options",
    "shown_commands",
    "any",
    "password",
    "login",
    "spellings",
    "kerberos",
)
# It compares times with a formula: what runs beside it disturbs it.
LAST = "load_known"
# What one worker runs although it is not one file: else each would make "twelve" and "peer_text".
TOGETHER = {"output": "books"}


def in_check(values: Iterable[Any], checked: Collection[Any]) -> list[Any]:
    """Of a parameter; a tuple is several. Those that are not checked: in make check-judges only."""

    def late(value: Any) -> Any:
        several = value if isinstance(value, tuple) else (value,)
        return pytest.param(*several, marks=pytest.mark.judges)

    return [value if value in checked else late(value) for value in values]


# A watched run exits with 4 unless each cross-check closes. Where check has other runs whose books
# are judged so, the same run is watched in make check-judges.
WATCHES = in_check(["--watch=auto", "--watch=off"], ["--watch=off"])


def place(file: str) -> int:
    """Of a file (without test_) in the order."""
    if file == LAST:
        return len(LONG) + len(WAITING) + 1
    if file in WAITING:
        return len(LONG) + 1 + WAITING.index(file)
    return LONG.index(file) if file in LONG else len(LONG)


def group(file: str) -> str:
    return TOGETHER.get(file, file)


def number_of_worker() -> int:
    """0 also without pytest-xdist."""
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


def next_group(left: Sequence[str], worker: int) -> str | None:
    """For a worker, of the groups that are left in their order; None: no more for this one."""
    waiting = [name for name in left if name in WAITING]
    if worker >= PINNED:
        return next(iter(waiting), None)
    pinned = [name for name in left if name not in (*WAITING, LAST)]
    return next(iter([*pinned, *waiting, *left]), None)


def scheduler(config: object, log: object) -> object:
    """That of --dist loadgroup, with workers that differ."""
    from xdist.scheduler.loadgroup import LoadGroupScheduling

    class Scheduling(LoadGroupScheduling):
        def _assign_work_unit(self, node: Any) -> None:
            name = next_group([*self.workqueue], int(node.gateway.id.removeprefix("gw")))
            if name is None:
                node.shutdown()
                return
            self.workqueue.move_to_end(name, last=False)
            super()._assign_work_unit(node)

    return Scheduling(config, log)
