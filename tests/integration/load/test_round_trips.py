# SPDX-License-Identifier: GPL-2.0-or-later
"""Round trips of actions: how many there are is known in advance, and how long they take over a
long way is measured through a relay that holds bytes.

Tests client/load/chain.c, client/store/remote.c, user/run/load.c, user/report/trips.c,
user/report/long/trips.c,
user/report/screen/screen_trips.c, user/report/json/trips.c.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from disturbed import LOOKS
from fakes import Far
from farther import TRIPS, Seen, options, seen
from ganesha import Ganesha
from netatalk import USERS, Server
from samba import Samba
from scope import OK, REPO, USAGE, Scope

FAR_MS = 100.0
NEAR = 0.15  # of what was said: at this distance nearly all is the way


def _load(scope: Scope, server: Server, tmp: Path, rtt_ms: float, seconds: int) -> dict[str, Seen]:
    with Far(server.port, rtt_ms / 1e3) as relay:
        more = ("--rtt", f"5,{FAR_MS:g}")
        command = scope.command(server, *options(tmp, seconds), *more, tool="load")
        command[command.index(str(server.port))] = str(relay.port)
        done = scope.execute(command, save=True, timeout=100)
    assert done.status == OK, done.err
    assert done.run
    if not rtt_ms:
        assert "Round trips of an action" in done.out.replace("\n", " "), done.out
    return seen(done.run.saved)


def _is_near(name: str, far: Seen, here: dict[str, Seen]) -> bool:
    said = here[name].median_over(FAR_MS)
    if name == "login":
        said -= FAR_MS  # the relay takes the connection at once
    return abs(far.median_ms - said) <= NEAR * said


def test_actions_take_as_long_over_a_long_way_as_was_said(
    scope: Scope, dbd: Server, tmp_path: Path
) -> None:
    """Each look measures both: what slows one of them down must not be taken for the way."""
    off = {}
    for _ in range(LOOKS):
        here = _load(scope, dbd, tmp_path, 0, 2)
        for name, (trips, needed) in TRIPS.items():
            assert (here[name].trips, here[name].needed) == (trips, needed), (name, here[name])
        assert here["save"].together == {"FPCreateFile": here["save"].n}
        assert not here["read"].together
        far = _load(scope, dbd, tmp_path, FAR_MS, 8)
        assert len(far) >= 5, far
        assert all(action.trips == here[name].trips for name, action in far.items())
        off = {
            name: (action, here[name])
            for name, action in far.items()
            if not _is_near(name, action, here)
        }
        if not off:
            break
    assert not off, off


# Of SMB a compound is one; of NFSv3 each name of the path from the export is looked up.
TRIPS_OVER = {
    "smb": {"list": 4, "look": 1, "read": 3, "write": 3, "save": 12, "create": 5},
    "nfs": {"list": 3, "look": 4, "read": 5, "write": 6, "save": 35, "create": 19},
}


@contextlib.contextmanager
def _by(over: str, rtt_ms: float) -> Iterator[str]:
    """A place on a Samba or nfs-ganesha, behind a relay that holds all bytes."""
    with contextlib.ExitStack() as stack:
        if over == "smb":
            smb = stack.enter_context(Samba("bookworm"))
            relay = stack.enter_context(Far(smb.port, rtt_ms / 1e3))
            yield f"smb://bench1@127.0.0.1:{relay.port}/share1"
        else:
            nfs = stack.enter_context(Ganesha("bookworm"))
            relay = stack.enter_context(Far(nfs.port, rtt_ms / 1e3))
            yield f"nfs://127.0.0.1:{relay.port}{nfs.path1}?mountport={nfs.mount_port}"


@pytest.fixture(params=["smb", "nfs"])
def over(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name: str = request.param
    line = [REPO / "tests/need.sh", {"smb": "--libsmb2", "nfs": "--libnfs"}[name]]
    library = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    monkeypatch.setenv("LD_LIBRARY_PATH", library)
    monkeypatch.setenv("AFPSCOPE_PASSWORD", USERS["bench1"])
    return name


def _load_over(scope: Scope, tmp: Path, over: str, rtt_ms: float, *more: str) -> dict[str, Any]:
    with _by(over, rtt_ms) as place:
        command = [str(scope.binary), "load", *options(tmp, 12 if rtt_ms else 2, over)]
        command += ["--rtt", f"5,{FAR_MS:g}", *more, place]
        done = scope.execute(command, save=True, timeout=100).expect(OK)
    assert done.run
    found: dict[str, Any] = done.run.saved
    return found


def test_round_trips_over_smb_and_nfs_are_the_requests_that_the_server_got(
    scope: Scope, tmp_path: Path, over: str
) -> None:
    """All of them, but for those of the action that was under way at the end."""
    saved = _load_over(scope, tmp_path, over, 0, "--watch=bpf")
    (phase,) = saved["phases"]
    assert {name: action.trips for name, action in seen(saved).items()} == TRIPS_OVER[over]
    sent = sum(a["round_trips"]["requests"] for a in phase["load"]["actions"])
    got = sum(account["requests"] for account in phase["ledger"]["requests"])
    assert 0 <= got - sent <= max(TRIPS_OVER[over].values())
    assert phase["load"]["rtt_ns"] > 0


@pytest.mark.judges
def test_actions_over_smb_and_nfs_take_as_long_as_was_said(
    scope: Scope, tmp_path: Path, over: str
) -> None:
    here, far = (seen(_load_over(scope, tmp_path, over, ms)) for ms in (0, FAR_MS))
    assert len(far) >= 4, far
    for name, action in far.items():
        assert action.trips == here[name].trips, name
        said = here[name].median_over(FAR_MS)
        assert abs(action.median_ms - said) <= NEAR * said, (name, action, said)


def test_a_lantest_has_a_round_trip_for_each_command(scope: Scope, dbd: Server) -> None:
    done = scope.execute(
        scope.command(dbd, "-f", "6", "-n", "1", "--watch=off", "-v"), save=True, timeout=100
    )
    assert done.status == OK and done.run, done.err
    (phase,) = (p for p in done.run.saved["phases"] if p["test"] == 6)
    assert phase["metrics"]["round_trips"] == phase["metrics"]["ops"] == 49
    assert 0 < phase["metrics"]["round_trip_time"] < phase["metrics"]["elapsed"] / 49


@pytest.mark.parametrize(("window", "trips"), [(1, 16), (4, 4), (8, 2)])
def test_requests_in_flight_together_share_a_round_trip(
    scope: Scope, dbd: Server, window: int, trips: int
) -> None:
    more = (
        "-f",
        "Read",
        "-d",
        "16M",
        "-q",
        "1M",
        "-r",
        str(window),
        "-W",
        "0",
        "-n",
        "1",
        "--watch=off",
    )
    done = scope.execute(scope.command(dbd, *more, tool="speedtest"), save=True, timeout=100)
    assert done.status == OK and done.run, done.err
    (phase,) = done.run.saved["phases"]
    data = phase["metrics"]["round_trips"]
    assert trips <= data <= trips + 4, phase["metrics"]


def test_what_is_no_time_is_refused(scope: Scope) -> None:
    done = scope.execute([str(scope.binary), "load", "--rtt", "5,x", "/tmp"])
    done.expect(USAGE, "--rtt", "5,x", "0.2,5,20,100")


def test_the_table_says_the_same_as_run_json(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    command = scope.command(
        dbd, *options(tmp_path, 1), "--rtt=50", "-o", str(tmp_path / "run"), tool="load"
    )
    done = scope.execute(command, timeout=100)
    assert done.status == OK, done.err
    said = seen(json.loads((tmp_path / "run" / "run.json").read_text()))
    tables = json.loads((tmp_path / "run" / "tables.json").read_text())["sections"]
    (table,) = (s for s in tables if s["key"] == "round-trips")
    names = [c["name"] for c in table["columns"]]
    rows = {r["cells"][0]["text"]: dict(zip(names, r["cells"], strict=True)) for r in table["rows"]}
    assert rows.keys() == said.keys()
    for name, row in rows.items():
        assert row["round_trips"]["value"] == pytest.approx(said[name].trips, abs=0.06)
        assert row["at_50ms"]["value"] / 1e6 == pytest.approx(said[name].said_ms[50], rel=1e-3)
