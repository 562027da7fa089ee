# SPDX-License-Identifier: GPL-2.0-or-later
"""What the clients write: found again, or not where somebody has changed it; locks and Mac saves.

Tests client/work/mix/mix_files.c, user/drive/load_clients.c, client/store/afp_ops.c.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from mpirun import ENVIRONMENT, FLAVOURS, mpirun, plugin
from netatalk import Server
from scheduling import in_check
from scope import OK, REFUSED, Done, Scope

LOOSE = """[mix]
files = 12
file_size = lognormal:16K,1
popularity = zipf:1
think = {think}
compressible = 30%
dedup = 20%
verify = {verify}
[actions]
read = 2
write = 1
random-read = 1
"""


def phase_of(done: Done) -> dict[str, Any]:
    assert done.run, f"nothing was saved: {done}"
    (phase,) = done.run.saved["phases"]
    return phase


CHANGED = (
    "sleep 0.5; printf XY | dd of=$(echo {}/LanTest-*/d00001/f00002) bs=1 seek=5000"
    " conv=notrunc status=none"
)


@pytest.mark.parametrize(("where", "changed"), [("directory", False), ("server", True)])
def test_bytes_that_changed_are_found(
    scope: Scope, sqlite: Server, tmp_path: Path, where: str, changed: bool
) -> None:
    """Behind the clients' back, in the file system."""
    at = (sqlite.vol1 if where == "server" else tmp_path, sqlite if where == "server" else None)
    args = ["--mix=timemachine", "--file-size=64K", "-d", "2", "--ramp=0", "-n", "2", "--verify"]
    args += ["--think", "0.02"]
    mix = tmp_path / "look.ini"
    mix.write_text("[mix]\nfiles = 3\nfile_size = 64K\n[actions]\nlook = 1\n")
    if changed:
        args[:2] = [f"--mix={mix}"]
        args += ["--at", f"0 {CHANGED.format(at[0])}"]
    command = scope.command(at[1], *args, tool="load")
    if where == "directory":
        command = [str(scope.binary), "load", str(tmp_path), *args]
    done = scope.execute(command, save=True).expect(REFUSED if changed else OK)
    it = phase_of(done)["load"]
    files = 6 if changed else 8
    assert (it["verified_files"], it["verified_wrong"]) == (files, int(changed))
    assert it["verified_bytes"] == files * 65536
    if changed:
        assert "1 of 6 files could not be read again as they were written" in done.out
        assert "d00001/f00002: byte 5000 is not what was written" in re.sub(r"\s+", " ", done.out)
    else:
        assert "Verified after the load: 8 files, 0.52 MB, all as they were written" in done.out


ACTIONS = """[mix]
files = 3
file_size = 48K
request = 16K
shared = {}
[actions]
{} = 1
"""


WAYS = {
    "closed": ["--verify"],
    "open": ["--verify", "--rate=30"],
    "threads": ["--verify", "--threads=3"],
    "open, threads": ["--verify", "--threads=3", "--rate=30"],
    "ranks": [],
    "open, ranks": ["--rate=30"],
}


def line(scope: Scope, server: Server, how: str, args: list[str]) -> list[str]:
    command = scope.command(server, *args, tool="load")
    if not how.endswith("ranks"):
        return command
    missing = plugin(scope, FLAVOURS[0])
    if missing:
        pytest.skip(missing)
    return mpirun(FLAVOURS[0], command)


@pytest.mark.parametrize(
    "how",
    in_check(
        ["closed", "open, threads", "ranks", "open", "threads", "open, ranks"],
        ["closed", "open, threads", "ranks"],
    ),
)
@pytest.mark.parametrize(("action", "shared"), [("mac-save", "no"), ("lock", "yes")])
def test_both_sides_count_macs_saves_and_locks(
    *, scope: Scope, sqlite: Server, tmp_path: Path, action: str, shared: str, how: str
) -> None:
    mix = tmp_path / "mix.ini"
    mix.write_text(ACTIONS.format(shared, action))
    args = ["-d", "1", "--ramp=0", "-n", "4", f"--mix={mix}", *WAYS[how]]
    if action != "lock" and "open" not in how:  # locks are to meet each other
        args += ["--think", "0.02"]
    done = scope.execute(line(scope, sqlite, how, args), save=True, env=ENVIRONMENT).expect(OK)
    assert done.run
    assert not done.run.open_books()
    assert not done.run.losses()
    phase = phase_of(done)
    (kind,) = (
        phase["load"]["actions"]
        if len(phase["load"]["actions"]) == 1
        else [a for a in phase["load"]["actions"] if a["n"]]
    )
    assert kind["name"] == action and kind["n"] > 5 and not kind["failed"]
    assert phase["load"].get("verified_wrong", 0) == 0
    if "open" in how:
        assert kind["n"] == phase["load"]["arrivals"] and not phase["load"]["no_room"]
    assert phase["load"]["contended"] == 0 or action == "lock"
    assert phase["load"]["contended"] > 0 or action != "lock" or "open" in how
    counts = {c["name"]: c["ops"] for c in phase["commands"]}
    if action == "lock":
        # of those that met a lock of another there is neither a read nor an unlock
        assert counts["FPByteRangeLockExt"] > 2 * counts["FPReadExt"] - kind["n"]
    else:
        assert counts["FPExchangeFiles"] == counts["FPSetExtAttr"] >= kind["n"]


# Of 40 files that have the name netatalk returns some 18 at a time.
def test_a_search_finds_the_file_in_all_directories(
    scope: Scope, sqlite: Server, tmp_path: Path
) -> None:
    mix = tmp_path / "mix.ini"
    mix.write_text(ACTIONS.format("no", "search"))
    args = ["-d", "1", "--ramp=0", "-n", "2", "--directories=40", f"--mix={mix}"]
    args += ["--think", "0.02"]
    done = scope.execute(scope.command(sqlite, *args, tool="load"), save=True).expect(OK)
    assert done.run and not done.run.open_books() and not done.run.losses()
    phase = phase_of(done)
    (kind,) = [a for a in phase["load"]["actions"] if a["n"]]
    assert kind["name"] == "search" and kind["n"] > 5 and not kind["failed"]
    counts = {c["name"]: c for c in phase["commands"]}
    searches = counts["FPCatSearchExt"]
    # each search ends with a reply that says so: the last ones may end beside the window
    ends = searches["errors"]
    assert kind["n"] <= ends <= kind["n"] + 2
    assert searches["ops"] == 3 * ends


# Pauses of 10 ms on average, each way to load in another form.
PAUSES = {
    "closed": "fixed:10ms",
    "threads": "uniform:0-20ms",
    "open": "0",
    "ranks": "exponential:10ms",
}


@pytest.mark.parametrize("how", PAUSES)
def test_sizes_places_and_pauses_are_drawn_in_each_way_to_load(
    scope: Scope, sqlite: Server, tmp_path: Path, how: str
) -> None:
    mix = tmp_path / "mix.ini"
    ranks = how == "ranks"
    mix.write_text(LOOSE.format(think=PAUSES[how], verify="no" if ranks else "yes"))
    args = ["-d", "1", "--ramp=0", "-n", "4", f"--mix={mix}", *WAYS[how]]
    done = scope.execute(line(scope, sqlite, how, args), save=True, env=ENVIRONMENT).expect(OK)
    assert done.run and not done.run.open_books() and not done.run.losses()
    it = phase_of(done)["load"]
    kinds = {a["name"]: a for a in it["actions"] if a["n"]}
    assert set(kinds) == {"read", "write", "random-read"}
    assert not any(a["failed"] for a in kinds.values())
    n = sum(a["n"] for a in kinds.values())
    if how == "open":
        assert n == it["arrivals"] and not it["no_room"]
    else:
        # four clients, 100 pauses in a second each, and five standard deviations
        assert 40 < n <= 4 * 100 * 1.25
    if not ranks:
        assert it["verified_files"] and not it["verified_wrong"]
