# SPDX-License-Identifier: GPL-2.0-or-later
"""Set 4.6 on netatalk 4.5.1 and 4.2.3: each test sends the commands of its table, all 49,321.

The judge is tshark. It keeps requests by their number, which begins anew after 65,536: all tests
in one session are more, so that there are two sessions.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from netatalk import Server
from scheduling import in_check
from scope import Run, Scope

# FP code -> count, of each test's timed region: docs/lantest.md.
TIMED = {
    1: {61: 100, 4: 1},
    2: {60: 100, 4: 1},
    3: {7: 2000, 34: 2000},
    4: {26: 2000, 33: 2000, 4: 2000},
    5: {26: 2000, 27: 2000, 4: 2000},
    6: {26: 2000, 27: 1000, 4: 2000, 7: 1000, 33: 1000},
    7: {5: 2000},
    8: {34: 4000},
    9: {68: 49},
    10: {1: 4000},
    11: {8: 2000},
    12: {1: 4000},
    13: {6: 2000},
    14: {34: 2020},
    15: {7: 500, 34: 1000, 9: 50, 8: 500},
    16: {34: 2000},
    17: {34: 2000},
}

# Letters of -f -> their tests, and what is sent outside of timed regions.
FRAME = {18: 1, 24: 1, 20: 1, 6: 1, 8: 1}  # login, volume, logout, the test directory
SESSIONS = {
    # test 10 opens 2000 forks; copies of tests 6 and 7 are removed; tshark misses segments of the
    # large file of tests 1 and 2
    "3456789:;": (range(3, 12), {26: 2000, 4: 2000, 8: 3000, 34: 4}),
    # files and directories of tests 12 and 14 to 17 are made, and all are removed
    "<=>?@A": (range(12, 18), {7: 4001, 6: 40, 26: 3, 14: 3, 4: 3, 27: 1, 33: 1, 8: 6041, 34: 13}),
}


def test_the_tables_add_up() -> None:
    assert sum(sum(counts.values()) for counts in TIMED.values()) == 49321


@pytest.mark.limit(900)
@pytest.mark.parametrize("letters", in_check(SESSIONS, ["3456789:;"]))
@pytest.mark.parametrize("suite", in_check(["forky", "trixie"], ["forky"]))
def test_tshark_sees_what_each_test_sends(
    scope: Scope, tmp_path: Path, suite: str, letters: str
) -> None:
    tests, untimed = SESSIONS[letters]
    saved = tmp_path / "run.json"
    line = ["--force", "-n", "1", "--set", "4.6", "-f", letters, "--json", str(saved)]
    with Server(suite, "dbd", AFPD_MEMORY="700M") as server:
        command = ["timeout", "-k", "5", "800", *scope.command(server, *line)]
        judged = server.judge(command, wire=True)
    run = Run.load(saved)
    run.assert_trustworthy()
    assert [phase.test for phase in run.phases] == list(tests)
    for phase in run.phases:
        assert phase.commands() == TIMED[phase.test], f"test {phase.test}"
        assert phase["errors"] == 0
    expected: Counter[int] = Counter(FRAME) + Counter(untimed)
    for test in tests:
        expected.update(TIMED[test])
    assert judged == dict(sorted(expected.items()))
