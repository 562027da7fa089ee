# SPDX-License-Identifier: GPL-2.0-or-later
"""record --kind smb: rare requests, and many at once, of a real Samba of each suite.

The judge is `smbstatus -P`, Samba's own profile, of what smbtorture and smbprotocol do. Tests
bpf/decode/smb2.h, bpf/park.h, bpf/stream.h, user/watch/bpf/slots.c.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from samba import SUITES, Samba
from scope import REPO, Scope
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
        *("smb2.oplock", "smb2.credits.*", "smb2.lock", "smb2.compound_async"),
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


@pytest.fixture(scope="session")
def libsmb2() -> dict[str, str]:
    """The environment of a client that uses it."""
    done = subprocess.run(
        [REPO / "tests/need.sh", "--libsmb2"], stdout=subprocess.PIPE, text=True, check=True
    )
    own = {"LD_LIBRARY_PATH": done.stdout.strip(), "AFPSCOPE_PASSWORD": "secret1"}
    return {**os.environ, **own}


def use_libsmb2(scope: Scope, server: Samba, env: dict[str, str], *load: str) -> None:
    place = f"smb://bench1@127.0.0.1:{server.port}/share1"
    line = [str(scope.binary), *load, "--watch=off", "--no-save", place]
    done = subprocess.run(line, env=env, capture_output=True, text=True, timeout=200, check=False)
    print(done.stdout, done.stderr)
    assert not done.returncode and "could not" not in done.stderr


SMALLFILE = ("smallfile", "-n", "4", "-f", "25", "--file-size", "9")
OFFICE = ("load", "--mix", "office", "--files", "4", "--no-probe")


@pytest.mark.parametrize("settings", [SYNCHRONOUS, ""], ids=["one thread", "pool"])
@pytest.mark.parametrize("suite", SUITES)
def test_requests_of_libsmb2_are_those_of_the_profile(
    scope: Scope, libsmb2: dict[str, str], suite: str, settings: str
) -> None:
    def act() -> None:
        use_libsmb2(scope, server, libsmb2, *SMALLFILE)
        use_libsmb2(scope, server, libsmb2, *OFFICE, "-n", "5", "-d", "3", "--ramp", "0")

    with Samba(suite, SMB_GLOBAL=settings) as server:
        run, told, _ = recorded(scope, server, act)
    assert not assert_profile(run, told)
    assert told["count"]["WRITE"] > 100 and told["count"]["FLUSH"]


# What Samba's pool of threads does for its clients -> the class of those calls.
POOL = "all threads but the first"
ASYNC = {"asys_pread": "read", "asys_pwrite": "write", "asys_fsync": "sync"}


@pytest.mark.parametrize("suite", SUITES)
def test_calls_of_the_pool_are_those_of_the_profile(
    scope: Scope, libsmb2: dict[str, str], suite: str
) -> None:
    """Its threads do nothing else with files of users."""
    with Samba(suite) as server:
        before = server.system_calls()
        run, _, _ = recorded(
            scope, server, lambda: use_libsmb2(scope, server, libsmb2, *SMALLFILE, "--fsync")
        )
        after = server.system_calls()
    told = {what: after[what] - before[what] for what in ASYNC}
    found: Counter[str] = Counter()
    for account in run.phases[0].saved["ledger"]["outside"]:
        for part in account["parts"] if account["name"] == POOL else ():
            if part["object"] == "data file":
                found[part["class"]] += part["calls"]
    print(server.version, told, dict(found))
    assert {what: found[kind] for what, kind in ASYNC.items()} == told
    assert min(told.values()) >= 100


@pytest.mark.limit(240)
@pytest.mark.parametrize("suite", SUITES)
def test_requests_of_200_clients_are_those_of_the_profile(
    scope: Scope, libsmb2: dict[str, str], suite: str
) -> None:
    load = (*OFFICE, "-n", "200", "-d", "30", "--ramp", "10")
    with Samba(suite) as server:
        run, told, _ = recorded(scope, server, lambda: use_libsmb2(scope, server, libsmb2, *load))
    assert not assert_profile(run, told)
    assert len([s for s in run.saved["sessions"] if s["requests"]]) >= 200
