# SPDX-License-Identifier: GPL-2.0-or-later
"""Round trips of actions: how many there are is known in advance, and how long they take over a
long way is measured through a relay that holds bytes.

Tests client/load/chain.c, user/run/load.c, user/report/trips.c, user/report/long/trips.c,
user/report/screen/screen_trips.c, user/report/json/trips.c.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes import Far
from farther import TRIPS, Seen, options, seen
from netatalk import Server
from scope import OK, USAGE, Scope

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


def test_actions_take_as_long_over_a_long_way_as_was_said(
    scope: Scope, dbd: Server, tmp_path: Path
) -> None:
    here = _load(scope, dbd, tmp_path, 0, 2)
    for name, (trips, needed) in TRIPS.items():
        assert (here[name].trips, here[name].needed) == (trips, needed), (name, here[name])
    assert here["save"].together == {"FPCreateFile": here["save"].n}
    assert not here["read"].together
    far = _load(scope, dbd, tmp_path, FAR_MS, 8)
    assert len(far) >= 5, far
    for name, action in far.items():
        assert action.trips == here[name].trips, name
        said = here[name].median_over(FAR_MS)
        if name == "login":
            said -= FAR_MS  # the relay takes the connection at once
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
