# SPDX-License-Identifier: GPL-2.0-or-later
"""record --kind smb: rare requests, and many at once, of a real Samba of each suite.

The judge is `smbstatus -P`, Samba's own profile, of what smbtorture and smbprotocol do. Tests
bpf/decode/smb2.h, bpf/park.h, bpf/stream.h, user/watch/bpf/slots.c.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from samba import SUITES, Samba
from scope import OK, REPO, Scope
from test_samba import SYNCHRONOUS, assert_profile, handed_over, recorded

pytestmark = pytest.mark.judges

BRIEF = "--option=torture:timelimit=3"
PEER = Path(__file__).parent.parent / "lib/smbpeer.py"


@pytest.fixture(scope="module", params=SUITES)
def samba(request: pytest.FixtureRequest) -> Iterator[Samba]:
    multi = "server multi channel support = yes"
    with Samba(request.param, SMB_GLOBAL=multi) as server:
        yield server


@pytest.mark.limit(240)
@pytest.mark.parametrize(
    "test",
    [
        *("smb2.oplock.exclusive*", "smb2.oplock.batch1*", "smb2.credits.*", "smb2.lock"),
        *("smb2.bench.echo", "smb2.bench.oplock1", "smb2.bench.path-contention-shared"),
    ],
)
def test_requests_of_smbtorture_are_those_of_the_profile(
    scope: Scope, samba: Samba, test: str
) -> None:
    run, told, _ = recorded(scope, samba, lambda: samba.torture(test, BRIEF))
    assert_profile(run, told)


@pytest.fixture(scope="session")
def python() -> str:
    done = subprocess.run(
        [REPO / "tests/need.sh", "--smbprotocol"], stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("settings", [SYNCHRONOUS, ""], ids=["one thread", "pool"])
@pytest.mark.parametrize("suite", SUITES)
def test_requests_of_smbprotocol_are_those_of_the_profile(
    scope: Scope, python: str, suite: str, settings: str
) -> None:
    with Samba(suite, SMB_GLOBAL="server multi channel support = yes\n" + settings) as server:
        run, told, _ = recorded(
            scope,
            server,
            lambda: subprocess.run([python, PEER, str(server.port)], check=True, timeout=60),
        )
    assert handed_over(run) == 1
    assert not assert_profile(run, told)


@pytest.mark.limit(240)
def test_requests_of_200_clients_are_those_of_the_profile(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = subprocess.run(
        [REPO / "tests/need.sh", "--libsmb2"], stdout=subprocess.PIPE, text=True, check=True
    )
    monkeypatch.setenv("LD_LIBRARY_PATH", library.stdout.strip())
    monkeypatch.setenv("AFPSCOPE_PASSWORD", "secret1")
    with Samba("sid") as server:
        place = f"smb://bench1@127.0.0.1:{server.port}/share1"
        load = ["load", place, "--mix", "office", "-n", "200", "-d", "30", "--files", "4"]
        line = [str(scope.binary), *load, "--ramp", "10", "--no-probe"]
        run, told, _ = recorded(scope, server, lambda: scope.execute(line, timeout=200).expect(OK))
    assert not assert_profile(run, told)
    assert len([s for s in run.saved["sessions"] if s["requests"]]) >= 200
