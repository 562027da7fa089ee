# SPDX-License-Identifier: GPL-2.0-or-later
"""The requests of a mix's action beside those of GNOME's file manager for the same deed.

The table of docs/load.md is what this prints:
    AFPSCOPE_GVFS=1 /usr/bin/python3 -B -m pytest -s tests/integration/load/test_mixes_gvfs.py
Tests client/work/mix/mix_steps.c, docs/load.md.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from desktop import MANY, SIZE, Desktop, at_port_548, missing
from netatalk import USERS, Server
from scope import OK, REPO, Scope
from wire import Answer, answers_of, captured

QUIET_S = 1.0

# What a user does; what gio is told ({} is the volume, SOURCE a file of this machine); our action.
DEEDS = (
    ("lists a folder of 60 files", "list {}/many", "list"),
    ("asks what a file looks like", "info {}/many/f7", "look"),
    ("reads a file of 300 kB", "cat {}/old > /dev/null", "read"),
    ("saves over a file of 300 kB", "save {}/old < SOURCE", "save"),
    ("the same", "save {}/old < SOURCE", "mac-save"),
    ("saves a new file of 300 kB", "save {}/new < SOURCE", None),
    ("copies a file of 300 kB into the volume", "copy SOURCE {}/copied", None),
    ("renames a file", "rename {}/new other", None),
    ("deletes a file", "remove {}/other", None),
)
MIX = """[mix]
files = {files}
file_size = {size}
[actions]
{action} = 1
"""


def names() -> dict[int, str]:
    text = (REPO / "user/run/account.c").read_text()
    return {int(n): name for n, name in re.findall(r'\[(\d+)\] = "(FP\w+)"', text)}


def said(counts: Counter[str] | dict[str, int]) -> str:
    """ "FPOpenFork, some FPReadExt", in the order of their first. How many reads of 64 kB or less
    gvfs sends ahead of who reads depends on who is quicker."""
    numbers = {name: "some" if "Read" in name and n > 1 else n for name, n in counts.items()}
    return ", ".join(name if n == 1 else f"{n} {name}" for name, n in numbers.items())


def sent(server: Server, desktop: Desktop, told: str) -> str:
    """Until nothing more comes: gvfs asks some things later."""
    known = names()
    with captured(server.port) as capture:
        desktop.do(told)
        time.sleep(QUIET_S)
        answers: list[Answer] = answers_of(server, capture)
    return said(Counter(known.get(a.command, f"FP {a.command}") for a in answers))


def ours(scope: Scope, server: Server, folder: Path, action: str) -> str:
    mix = folder / f"{action}.ini"
    mix.write_text(MIX.format(files=MANY if action == "list" else 2, size=SIZE, action=action))
    args = ["-n", "1", "-d", "2", "--ramp=0", "--no-probe", "--watch=off", f"--mix={mix}"]
    args += ["--think", "0.02"]
    done = scope.execute(scope.command(server, *args, tool="load"), save=True).expect(OK)
    assert done.run
    (phase,) = done.run.saved["phases"]
    (kind,) = [a for a in phase["load"]["actions"] if a["n"]]
    assert kind["n"] >= 10
    each = {c["name"]: c["ops"] / kind["n"] for c in phase["commands"]}
    return said({name: max(1, round(n)) for name, n in each.items()})


def table(scope: Scope, server: Server, folder: Path) -> list[str]:
    rows, last = [], ""
    desktop = Desktop(folder)
    (server.vol1 / "many").mkdir()
    for i in range(MANY):
        (server.vol1 / "many" / f"f{i}").write_bytes(bytes(100))
    (server.vol1 / "old").write_bytes(desktop.source.read_bytes())
    subprocess.run(["chmod", "-R", "a+rwX", server.vol1], check=True)
    with at_port_548(server):
        try:
            desktop.do(f"mount {{}} <<< {USERS['bench1']}")
            desktop.do("list {}")
            for deed, told, action in DEEDS:
                theirs = last if deed == "the same" else sent(server, desktop, told)
                last = theirs
                here = ours(scope, server, folder, action) if action else ""
                rows.append((deed, theirs, f"`{action}`: {here}" if action else "no action"))
        finally:
            desktop.close()
    return [f"| {deed} | {theirs} | {here} |" for deed, theirs, here in rows]


def test_the_documented_requests_of_gvfs_are_those_on_the_wire(
    scope: Scope, dbd: Server, tmp_path: Path
) -> None:
    why = missing()
    if why:
        pytest.skip(f"no capture of gvfs: {why}")
    rows = table(scope, dbd, tmp_path)
    if os.environ.get("AFPSCOPE_GVFS"):
        print("\n" + "\n".join(rows))
    documented = (REPO / "docs/load.md").read_text()
    for row in rows:
        assert row in documented
