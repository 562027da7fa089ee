# SPDX-License-Identifier: GPL-2.0-or-later
"""50 clients of Samba and of nfs-ganesha for a while: nothing fails, and nothing is left.

AFPSCOPE_LONG_S: how many seconds for each load. Tests client/store/smb.c, nfs.c.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from ganesha import Ganesha
from replayplaces import libraries
from samba import Samba
from scope import OK, Scope, seen, wait_until

LONG_S = int(os.environ.get("AFPSCOPE_LONG_S", "10"))
CLIENTS = "50"

pytestmark = [pytest.mark.judges, pytest.mark.limit(120 + 3 * LONG_S),
              pytest.mark.usefixtures("with_libnfs")]  # fmt: skip


@dataclass(frozen=True)
class Place:
    url: str
    folder: Path

    @property
    def left(self) -> list[str]:
        return [path.name for path in self.folder.iterdir()]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", libraries())
    monkeypatch.setenv("AFPSCOPE_PASSWORD", "secret1")


@pytest.fixture(scope="module", params=["smb-bookworm", "smb-trixie", "smb-sid", "nfs-bookworm",
                                        "nfs-sid"])  # fmt: skip
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    kind, suite = request.param.split("-")
    if kind == "smb":
        with Samba(suite) as smb:
            yield Place(f"smb://bench1@127.0.0.1:{smb.port}/share1", smb.share1)
    else:
        with Ganesha(suite) as nfs:
            end = f"{nfs.path1}?mountport={nfs.mount_port}"
            yield Place(f"nfs://127.0.0.1:{nfs.port}{end}", nfs.share1)


def test_an_office_works_without_an_error(scope: Scope, place: Place) -> None:
    line = [str(scope.binary), "load", place.url, "--mix", "office", "-n", CLIENTS, "-d"]
    line += [str(LONG_S), "--files", "4", "--file-size", "64K", "--verify"]
    done = scope.execute(line, save=True, timeout=120 + 3 * LONG_S).expect(OK)
    assert done.run and done.run.complete
    (phase,) = done.run.saved["phases"]
    assert phase["metrics"]["errors"] == 0 and not done.run.warning("left")
    load = phase["load"]
    assert not load["lost"] and len(load["actions"]) >= 4
    assert not any(a["failed"] for a in load["actions"])
    print(place.url, sum(a["n"] for a in load["actions"]), "actions")
    assert not place.left


def test_small_files_come_and_go_without_an_error(scope: Scope, place: Place) -> None:
    """stat and read are repeated for the time that is given."""
    line = [str(scope.binary), "smallfile", place.url, "-n", CLIENTS, "-f", "20", "-d"]
    line += [str(max(1, LONG_S // 2)), "--file-size", "9K", "--fsync"]
    line += ["-l", "create,stat,append,overwrite,read,rename,delete"]
    done = scope.execute(line, save=True, timeout=120 + 3 * LONG_S).expect(OK)
    assert done.run and done.run.complete
    for phase in done.run.saved["phases"]:
        assert phase["metrics"]["errors"] == 0, phase["title"]
    print(place.url, {p["title"]: p["metrics"]["elapsed"] / 1e9 for p in done.run.saved["phases"]})
    assert not place.left


def test_of_50_clients_that_are_killed_nothing_is_left(scope: Scope, place: Place) -> None:
    line = [str(scope.binary), "load", place.url, "-n", CLIENTS, "-d", "600", "--files", "3"]
    running = scope.start([*line, "--ramp", "0"])
    wait_until(lambda: len(seen(place.folder, "*/*/*")) >= 150, 60, "the files")
    running.process.kill()
    wait_until(lambda: not place.left, 60, "the removal of the directory")
