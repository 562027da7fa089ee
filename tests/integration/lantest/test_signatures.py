# SPDX-License-Identifier: GPL-2.0-or-later
"""The server executes exactly the AFP commands of afp_lantest 4.5, one iteration each.

The judge is the server itself: its USDT probes. What afpscope says of its own timed
regions must agree with the table, too. All twelve tests together, on three servers, and
tshark as the judge: test_session_requests.py.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from netatalk import SIGNATURES, Server
from scope import DBD, LETTERS, NUMBER, OK, TIMED, Run, Scope
from speeding import Probes

CACHE = "9:;<"
FRAME = Counter({34: 4, 6: 1, 8: 1, 18: 1, 20: 1, 24: 1})

PAIRS = ("23", "57")

# Letters of -f -> letters that run.
IMPLIED = {"3": "23", "6": "56", "7": "57"}
OTHERS = [letter for letter in LETTERS if letter not in IMPLIED]


def signature(letters: str) -> dict[int, int]:
    """What login, test directory and the tests of these letters execute."""
    if letters in SIGNATURES:
        return SIGNATURES[letters]
    total = Counter(FRAME)
    for letter in letters:
        total.update(Counter(SIGNATURES[letter]) - FRAME)
    return dict(sorted(total.items()))


def check_own_counts(run: Run, letters: Sequence[str]) -> None:
    for letter in letters:
        test = NUMBER[letter]
        phase = run.phase(test)
        assert phase.commands() == TIMED[test], f"test {test}, afpscope's own count"
        assert phase["ops"] == sum(TIMED[test].values())
        assert phase["errors"] == 0
    assert len(run.phases) == len(letters)


def test_tables_agree() -> None:
    """The single tests add up to the measured whole."""
    total = Counter(FRAME)
    for letter in LETTERS:
        if letter not in IMPLIED:
            total.update(Counter(SIGNATURES[letter]) - FRAME)
    # 3 brings its 2; 6 and 7 bring their 5, which then has no files left.
    total -= Counter(SIGNATURES["2"]) - FRAME
    total.update(Counter(SIGNATURES["3"]) - FRAME)
    total -= Counter(SIGNATURES["5"]) - FRAME
    total.update(Counter(SIGNATURES["7"]) - FRAME)
    total[9] += 49
    assert dict(total) == SIGNATURES[LETTERS]


@dataclass(frozen=True)
class Judged:
    """One run: what the server did, how it ended, and what it saved of itself."""

    counts: dict[int, int]
    done: subprocess.CompletedProcess[str]
    saved: Path

    def run(self) -> Run:
        assert self.done.returncode == OK, f"{self.done}"
        return Run.load(self.saved)


@pytest.fixture(scope="module")
def alone(
    scope: Scope, _dbd: Server, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Judged]:
    """Tests that bring another one, pairs, -K and another login."""
    lines = {
        letters: scope.command(_dbd, "--force", "-f", letters) for letters in (*IMPLIED, *PAIRS)
    }
    lines["-K"] = scope.command(_dbd, "--force", "-K")
    lines["dhx2"] = scope.command(_dbd, "--force", "-f", ";", uam="dhx2")
    return judged(_dbd, lines, tmp_path_factory.mktemp("alone"))


@pytest.fixture(scope="module")
def others(
    scope: Scope, _dbd: Server, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Judged]:
    """Each other test by itself."""
    lines = {letter: scope.command(_dbd, "--force", "-f", letter) for letter in OTHERS}
    return judged(_dbd, lines, tmp_path_factory.mktemp("others"))


def judged(server: Server, lines: dict[str, list[str]], folder: Path) -> dict[str, Judged]:
    """One after the other under one judge, which takes long to attach. On one server: all twelve
    together show that the others execute the same."""
    done = {}
    with Probes(server) as probes:
        for name, line in lines.items():
            saved = folder / f"{len(done)}.json"
            done[name] = probes.run([*line, "-n", "1", "--json", str(saved)]), saved
    assert len(probes.sessions) == len(done), "some have no session"
    return {
        name: Judged(counts, *done[name])
        for name, counts in zip(done, probes.sessions, strict=True)
    }


def check_one(judged: Judged, letter: str) -> None:
    run = judged.run()
    assert judged.counts == signature(letter)
    check_own_counts(run, IMPLIED.get(letter, letter))
    # The same reads and writes as behind other tests.
    found = {phase.test: phase.columns() for phase in run.phases if phase.test in DBD}
    assert found == {test: DBD[test] for test in found}


@pytest.mark.parametrize("letter", IMPLIED)
def test_one_that_brings_another(alone: dict[str, Judged], dbd: Server, letter: str) -> None:
    check_one(alone[letter], letter)


@pytest.mark.judges
@pytest.mark.parametrize("letter", OTHERS)
def test_one_test(others: dict[str, Judged], dbd: Server, letter: str) -> None:
    """Alone it executes what it does among all twelve (test_session_requests.py)."""
    check_one(others[letter], letter)


@pytest.mark.parametrize("pair", PAIRS)
def test_pair(alone: dict[str, Judged], dbd: Server, pair: str) -> None:
    """A test named together with the one it implies: nothing runs twice."""
    run = alone[pair].run()
    assert alone[pair].counts == SIGNATURES[pair[1]]
    check_own_counts(run, pair)


def test_cache_tests(alone: dict[str, Judged]) -> None:
    run = alone["-K"].run()
    assert alone["-K"].counts == signature(CACHE)
    check_own_counts(run, CACHE)


def test_dhx2(alone: dict[str, Judged]) -> None:
    """The same work; only the login has two more steps."""
    run = alone["dhx2"].run()
    assert run.saved["server"]["uam"] == "DHX2"
    assert alone["dhx2"].counts == signature(";") | {19: 2}


def test_iterations_repeat_the_work(scope: Scope, dbd: Server) -> None:
    """Also of a test whose files stay when it runs alone."""
    done = scope(dbd, "-f", "6:", "-n", "2", save=True).expect(OK)
    assert done.run
    assert [(p.test, p.iteration) for p in done.run.phases] == [
        (test, iteration) for iteration in (1, 2) for test in (5, 6, 10)
    ]
    for phase in done.run.phases:
        assert phase.commands() == TIMED[phase.test]
