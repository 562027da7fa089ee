# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls that /proc/PID/io never shows are counted, as strace sees them.

strace and afpscope watch the same run, so their counts must be equal, also
where the work differs from run to run. strace stops the server at each call:
that it changes nothing in the counts is shown by runs without it (test_books.py).
"""

from __future__ import annotations

from collections import Counter

import pytest
from scope import PinnedServer, Scope, both_cpus
from stracing import COMPARED, by_class, in_phase, read_calls, strace

TESTS = (1, 2, 3, 4, 5, 10)

# (test, role) -> what is counted by class: ours, strace's
Counts = dict[tuple[int, str], tuple[Counter[str], Counter[str]]]


@pytest.fixture(scope="module")
def counts(scope: Scope, tmp_path_factory: pytest.TempPathFactory) -> Counts:
    out = tmp_path_factory.mktemp("strace") / "calls"
    with PinnedServer("forky", "dbd", both_cpus()[0]) as server:
        scope.measure(server, "-n", "1", "-f", ";")  # starts cnid_dbd
        with strace(server, out):
            run = scope.measure(server, "-n", "1", "-f", "1345:", timeout=240)
    run.assert_trustworthy()
    calls = read_calls(out)
    found: Counts = {}
    for test in TESTS:
        inside = in_phase(calls, run.phase(test), run.pid("afpd"))
        for role in ("afpd", "cnid_dbd"):
            ours = run.phase(test).by_class(role)
            found[test, role] = ours, by_class(inside, run.pid(role))
    return found


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("role", ["afpd", "cnid_dbd"])
def test_every_class_as_strace_counts(counts: Counts, test: int, role: str) -> None:
    ours, judge = counts[test, role]
    assert {kind: ours[kind] for kind in COMPARED} == {kind: judge[kind] for kind in COMPARED}


def test_strace_saw_them(counts: Counts) -> None:
    """The comparison above is not one of nothing."""
    assert counts[4, "afpd"][1]["lock"] == 20000
    assert counts[1, "afpd"][1]["xattr"] >= 4000
    assert counts[5, "cnid_dbd"][1]["sync"] >= 2000
    assert counts[10, "cnid_dbd"][1]["recv"] >= 1000
    assert counts[2, "afpd"][1]["recv"] > 100
    assert counts[3, "afpd"][1]["sendfile"] >= 100
