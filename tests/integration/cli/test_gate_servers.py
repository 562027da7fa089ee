# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope gate on real servers: as accepted, and with one system call more per command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from netatalk import Server
from offline import analysis, preload
from scope import OK, PinnedServer, Scope

GATED, REFUSED = 3, 2
TEST = "10 Mixed cache operations (create/stat/enum/delete)"


@pytest.fixture
def more(_dbd: PinnedServer, tmp_path: Path) -> Iterator[Server]:
    """netatalk with one lgetxattr more in each FPCreateFile."""
    hooks = {"AFPD_PRELOAD": preload(tmp_path), "AFPD_ENV": "ONCREATE_LGETXATTR=1"}
    with PinnedServer("forky", "dbd", _dbd.cpu, **hooks) as server:
        yield server


def test_one_more_lgetxattr_per_command_is_found(
    scope: Scope, dbd: Server, more: Server, tmp_path: Path
) -> None:
    counts = tmp_path / "counts.json"

    def kept(server: Server, name: str) -> Path:
        folder = tmp_path / name
        scope(server, "-f", ":", "-n", "2", "-o", str(folder)).expect(OK)
        return folder

    accepted = [kept(dbd, f"accepted{i}") for i in range(4)]
    done = analysis("gate", "--counts", counts, "--accept", *accepted)
    assert done.returncode == OK, done.stderr
    assert " exact, " in done.stdout

    done = analysis("gate", "--counts", counts, kept(dbd, "same"))
    assert done.returncode == OK, done.stdout + done.stderr
    assert done.stdout.startswith("gate: pass: 0 of ")

    run = kept(more, "more")
    done = analysis("gate", "--counts", counts, run)
    assert done.returncode == GATED, done.stdout + done.stderr
    named, last = done.stdout.splitlines()
    what = "FPCreateFile: afpd: xattr"
    text = "200, accepted 0: +200, +1.000 per request, in 2 of 2 iterations"
    assert named == f"{TEST}: {what}: {text}"
    assert last.startswith("gate: FAIL: 1 of ")

    done = analysis("gate", "--counts", counts, "--format", "github", run)
    assert done.returncode == GATED
    assert done.stdout.splitlines()[0] == f"::error title=afpscope gate::{named}"

    done = analysis("gate", "--counts", counts, "--format", "junit", run)
    assert done.returncode == GATED
    suite = ElementTree.fromstring(done.stdout)
    (case,) = suite.findall("testcase[failure]")
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert (case.get("classname"), case.get("name")) == (TEST, what.replace(": ", " ", 1))
    assert case[0].get("message") == text

    assert analysis("gate", run).returncode == REFUSED
    assert analysis("gate", "--counts", tmp_path / "none", run).returncode == 1
    assert analysis("gate", "--time", "5%", run).returncode == REFUSED
