# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls that /proc/PID/io never shows are counted, as strace sees them.

strace and afpscope watch the same run, so their counts must be equal, also
where the work differs from run to run. strace stops the server at each call:
that it changes nothing in the counts is shown by runs without it (test_books.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from scope import PinnedServer, Scope, both_cpus
from stracing import COMPARED, by_class, in_phase, read_calls, strace

# Data both ways and changes; what is the longer, of make check-judges.
SOME, MANY = (2, 3, 10), (1, 4, 5)
# Of set 4.6: data both ways and changes; and all of its tests, in the parts of a session each.
SOME_46 = "12?"
ALL_46 = ("12", "3456789:;", "<=>", "?@A")
ROLES = ("afpd", "cnid_dbd")

# (test, role) -> what is counted by class: ours, strace's
Counts = dict[tuple[int, str], tuple[Counter[str], Counter[str]]]


def counted(
    scope: Scope, out: Path, letters: str, tests: Sequence[int], *more: str, suite: str = "forky"
) -> Counts:
    with PinnedServer(suite, "dbd", both_cpus()[0]) as server:
        scope.measure(server, "-n", "1", "-f", ";")  # starts cnid_dbd
        with strace(server, out):
            run = scope.measure(server, "-n", "1", "-f", letters, *more, timeout=500)
    run.assert_trustworthy()
    calls = read_calls(out)
    found: Counts = {}
    for test in tests:
        inside = in_phase(calls, run.phase(test), run.pid("afpd"))
        for role in ROLES:
            ours = run.phase(test).by_class(role)
            found[test, role] = ours, by_class(inside, run.pid(role))
    return found


@pytest.fixture(scope="module")
def some(scope: Scope, tmp_path_factory: pytest.TempPathFactory) -> Counts:
    return counted(scope, tmp_path_factory.mktemp("strace") / "calls", "3:", SOME)


@pytest.fixture(scope="module")
def many(scope: Scope, tmp_path_factory: pytest.TempPathFactory) -> Counts:
    return counted(scope, tmp_path_factory.mktemp("strace") / "calls", "145", MANY)


def classes(counts: Counter[str]) -> dict[str, int]:
    return {kind: counts[kind] for kind in COMPARED}


def check_same(found: tuple[Counter[str], Counter[str]]) -> None:
    ours, theirs = found
    assert classes(ours) == classes(theirs)


@pytest.mark.parametrize("test", SOME)
@pytest.mark.parametrize("role", ROLES)
def test_every_class_as_strace_counts(some: Counts, test: int, role: str) -> None:
    check_same(some[test, role])


def test_strace_saw_them(some: Counts) -> None:
    """The comparison above is not one of nothing."""
    assert some[10, "afpd"][1]["xattr"] >= 600
    assert some[10, "cnid_dbd"][1]["recv"] >= 1000
    assert some[10, "cnid_dbd"][1]["sync"] >= 200
    assert some[2, "afpd"][1]["recv"] > 100
    assert some[3, "afpd"][1]["sendfile"] >= 100


def counted_46(scope: Scope, out: Path, letters: str, suite: str) -> Counts:
    tests = [ord(letter) - ord("0") for letter in letters]
    return counted(scope, out, letters, tests, "--set", "4.6", suite=suite)


def check_all_same(found: Counts) -> None:
    for where, (ours, theirs) in found.items():
        assert classes(ours) == classes(theirs), where


@pytest.mark.judges
@pytest.mark.limit(240)
def test_set_46_as_strace_counts(scope: Scope, tmp_path: Path) -> None:
    found = counted_46(scope, tmp_path / "calls", SOME_46, "forky")
    check_all_same(found)
    assert found[1, "afpd"][1]["recv"] >= 200
    assert found[2, "afpd"][1]["sendfile"] >= 100
    assert found[15, "cnid_dbd"][1]["recv"] >= 2000


@pytest.mark.judges
@pytest.mark.limit(600)
@pytest.mark.parametrize("letters", ALL_46)
@pytest.mark.parametrize("suite", ["forky", "trixie"])
def test_all_tests_of_set_46_as_strace_counts(
    scope: Scope, tmp_path: Path, suite: str, letters: str
) -> None:
    """Each of the 17 has equal counts of every class: no call of them depends on the time."""
    found = counted_46(scope, tmp_path / "calls", letters, suite)
    assert len(found) == len(letters) * len(ROLES)
    check_all_same(found)
    for (_, role), (_, theirs) in found.items():
        assert role != "afpd" or theirs["recv"] + theirs["sendfile"] >= 49


@pytest.mark.judges
@pytest.mark.parametrize("test", MANY)
@pytest.mark.parametrize("role", ROLES)
def test_every_class_of_many_requests(many: Counts, test: int, role: str) -> None:
    check_same(many[test, role])


@pytest.mark.judges
def test_strace_saw_many(many: Counts) -> None:
    assert many[4, "afpd"][1]["lock"] == 20000
    assert many[1, "afpd"][1]["xattr"] >= 4000
    assert many[5, "cnid_dbd"][1]["sync"] >= 2000
