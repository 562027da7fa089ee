# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls that /proc/PID/io never shows are counted, as strace sees them.

strace and afpscope watch the same run, so their counts must be equal, also
where the work differs from run to run. strace stops the server at each call:
that it changes nothing in the counts is shown by runs without it.
"""

from __future__ import annotations

from collections import Counter

import pytest
from netatalk import Server
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


def test_the_hidden_ones(scope: Scope, dbd: Server) -> None:
    """What the server does in these tests, without strace; none of it is in /proc."""
    run = scope.measure(dbd, "-n", "1", "-f", "145")
    run.assert_trustworthy()
    files, locks, creates = (run.phase(test) for test in (1, 4, 5))

    assert locks.calls("afpd", "lock", "data file") == 20000
    # 1000 forks opened and closed: six locks and two unlocks each; ACL and
    # metadata by path and descriptor; and one of each again, at most twice, when a second begins.
    again = 2 * (files["elapsed"] // 10**9 + 1)
    assert 8000 <= files.calls("afpd", "lock") <= 8000 + again
    assert 4000 <= files.calls("afpd", "xattr") <= 4000 + again
    assert creates.calls("afpd", "xattr", "data file") == 6000
    # One for each change of the database, and those of its checkpoints.
    assert 2000 <= creates.calls("cnid_dbd", "sync") <= 2020

    for phase, requests in ((files, 8000), (locks, 20000), (creates, 4000)):
        assert phase.calls("afpd", "recv", "client socket") == requests
    assert creates.calls("afpd", "recv", "CNID socket") >= 2000
    assert creates.calls("cnid_dbd", "recv", "CNID socket") == 4000
    # FPCloseFork and FPCreateFile have empty replies, FPRead sends a header first.
    assert files.calls("afpd", "send", "client socket") == 2000
    assert creates.calls("afpd", "send", "client socket") == 2000
