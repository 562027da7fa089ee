# SPDX-License-Identifier: GPL-2.0-or-later
"""What a diagnosis calls the server's own things; and which kinds it offers to judge.

Tests user/kinds/kind.c.
"""

from __future__ import annotations

import json
from pathlib import Path

from netatalk import Server
from scope import USAGE, Scope


def test_names_are_those_of_this_server(scope: Scope, guests: Server, tmp_path: Path) -> None:
    saved = tmp_path / "run.json"
    command = [str(scope.binary), "doctor", "-p", str(guests.port), "-d", "1", "--no-save"]
    scope.execute([*command, "--json", str(saved)])
    names = json.loads(saved.read_text())["names"]
    assert names["pid"] == str(guests.pid)
    assert names["cnid_metad"] == str(guests.metad)
    assert Path(names["conf"]).samefile(guests.conf)


def test_only_kinds_that_can_be_judged_are_offered(scope: Scope) -> None:
    doctor = [str(scope.binary), "doctor"]
    told = scope.execute([*doctor, "--help"]).out
    assert "(afp, gluster, rx, smb, nfs)" in " ".join(told.split())
    done = scope.execute([*doctor, "--kind", "any"]).expect(USAGE)
    assert "'any' is not one of afp, gluster, rx, smb, nfs" in done.err
    completion = scope.execute([str(scope.binary), "completion", "bash"]).out
    assert "doctor:--kind) echo 'afp gluster rx smb nfs '" in completion
