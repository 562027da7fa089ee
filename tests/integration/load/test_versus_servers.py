# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope versus on netatalk, Samba, nfs-ganesha and a directory: the same work, what it cost, and
what is left.

Tests user/main/load_opts.c, client/work/mix/mix.c (--only).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ganesha import Ganesha
from netatalk import USERS, Server
from offline import analysis, command
from replayplaces import libraries
from samba import Samba
from scope import OK, Scope, left_on, wait_until

INTERRUPTED = 130
LOAD = (
    "load",
    "--mix",
    "office",
    "-n",
    "2",
    "-d",
    "1",
    "--ramp",
    "0",
    "--files",
    "4",
    "--no-probe",
    "--think",
    "0.02",
)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", libraries())
    monkeypatch.setenv("AFPSCOPE_PASSWORD", USERS["bench1"])


@pytest.fixture(scope="module")
def samba() -> Iterator[Samba]:
    with Samba("bookworm") as found:
        yield found


@pytest.fixture(scope="module")
def ganesha() -> Iterator[Ganesha]:
    with Ganesha("bookworm") as found:
        yield found


def nfs_url(server: Ganesha) -> str:
    return f"nfs://127.0.0.1:{server.port}{server.path1}?mountport={server.mount_port}"


def mounted_as(folder: Path) -> str:
    """The type of its file system: of several mounts at one place the last one."""
    line = ["findmnt", "-n", "-o", "FSTYPE", "-T", str(folder)]
    return subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-1]


def of(made: list[dict[str, Any]], load: str, what: str) -> dict[str, float | None]:
    (row,) = (f for f in made if (f["load"], f["what"]) == (load, what))
    return {name: side["value"] for name, side in row["sides"].items()}


def test_the_same_work_by_afp_smb_nfs_and_on_a_directory(
    scope: Scope, dbd: Server, samba: Samba, ganesha: Ganesha, tmp_path: Path
) -> None:
    page, disk = tmp_path / "versus.html", tmp_path / "disk"
    done = analysis(
        *("versus", "--program", scope.binary, "-o", tmp_path / "runs", "--json", "--html", page),
        *("--pairs", "2", "--alone", "save", f"afp://bench1@127.0.0.1:{dbd.port}/vol1"),
        *(f"smb://bench1@127.0.0.1:{samba.port}/share1", disk, nfs_url(ganesha), "--", *LOAD),
    )
    assert done.returncode == OK, done.stderr
    value = json.loads(done.stdout)
    assert [side["name"] for side in value["sides"]] == ["afp", "smb", "directory", "nfs"]
    assert [len(side["runs"]) for side in value["sides"]] == [4, 4, 4, 4]
    # One client saves as often as its load says, and the server counts as much for each.
    runs = tmp_path / "runs"
    alone = json.loads((runs / "001a-save" / "run.json").read_text())
    assert [a["name"] for a in alone["phases"][0]["load"]["actions"]] == ["save"]
    assert alone["options"]["only"] == "save" and alone["options"]["mix"] == "office"
    (safe,) = (f for f in value["unequal"] if f["what"] == "sync calls of a save")
    assert safe["values"][0].startswith("data file 1.0")  # the flush of the new file
    assert "CNID database" in safe["values"][0] and safe["values"][2] == "n/a"
    assert safe["values"][1].startswith("data file 1.0")
    assert safe["values"][3].startswith("data file 2.0")  # of its COMMIT, and again at the close
    places = {"001a": dbd.vol1, "001b": samba.share1, "001c": disk}
    for run, folder in places.items():
        found = json.loads((runs / run / "run.json").read_text())["server"]["file system"]
        assert found.split(" on ")[0] == mounted_as(folder)
    facts = {f["what"]: f["values"] for f in value["unequal"]}
    assert facts["synced for"][3] == "COMMIT" and "FPFlushFork" in facts["synced for"][0]
    assert facts["encrypted"] == ["no", "no", "n/a", "no"]
    own = "as the file system does"
    assert facts["names are looked up"] == [own, "in any case", "n/a", own]
    assert facts["server"][3].startswith("nfs-ganesha 4.3")
    assert of(value["costs"], "office: save", "sync calls")["directory"] is None
    calls = of(value["costs"], "office: save", "system calls")
    assert calls["afp"] and calls["smb"] and calls["nfs"]
    assert min(calls["afp"], calls["smb"], calls["nfs"]) > 100
    assert calls["directory"] is None
    assert of(value["times"], "office", "save p50").keys() == {"afp", "smb", "directory", "nfs"}
    trips = of(value["round_trips"], "office", "save: round trips")
    assert trips == {"afp": 11, "smb": 12, "directory": None, "nfs": 35}
    assert "directory: not measured: server CPU" in done.stderr
    assert {row["verdict"] for pair in value["pairs"] for row in pair["rows"]} == {
        "not enough runs"
    }
    assert "What is not equal" in page.read_text()
    assert not left_on(dbd)
    assert not [*samba.share1.iterdir(), *disk.iterdir(), *ganesha.share1.iterdir()]


UNEQUAL_SMB = {
    "smb": {},
    "no-sync": {"SMB_SHARE": "strict sync = no"},
    "all-sync": {"SMB_SHARE": "sync always = yes"},
    "sealed": {"SMB_GLOBAL": "server smb encrypt = required"},
    "case": {"SMB_SHARE": "case sensitive = yes\nstrict sync = no"},
}
UNEQUAL_AFP = {"afp": {}, "ad": {"cnid": "sqlite", "AFPD_VOLUME": "ea = ad"}}
UNEQUAL_NFS = {"nfs": {}, "commit": {"NFS_EXPORT": "NFS_Commit = true;"}}
PAIRS = {"smb": UNEQUAL_SMB, "afp": UNEQUAL_AFP, "nfs": UNEQUAL_NFS}


@contextlib.contextmanager
def unequal(protocol: str) -> Iterator[list[str]]:
    """Servers that differ in one setting or two: NAME=URL of each."""
    with contextlib.ExitStack() as stack:
        urls = []
        for name, hooks in PAIRS[protocol].items():
            if protocol == "smb":
                smb = stack.enter_context(Samba("sid", **hooks))
                urls.append(f"{name}=smb://bench1@127.0.0.1:{smb.port}/share1")
            elif protocol == "afp":
                afp = stack.enter_context(Server("forky", **hooks))
                urls.append(f"{name}=afp://bench1@127.0.0.1:{afp.port}/vol1")
            else:
                nfs = stack.enter_context(Ganesha("sid", **hooks))
                urls.append(f"{name}={nfs_url(nfs)}")
        yield urls


def saves(made: dict[str, Any]) -> dict[str, float]:
    """Sync calls on data files for each save."""
    (fact,) = (f for f in made["unequal"] if f["what"] == "sync calls of a save")
    names = [side["name"] for side in made["sides"]]
    found = (text.split(",")[0].removeprefix("data file ") for text in fact["values"])
    return dict(zip(names, map(float, found), strict=True))


@pytest.mark.judges
@pytest.mark.parametrize("protocol", PAIRS)
def test_what_is_not_equal_of_servers_of_one_protocol_is_said_first(
    scope: Scope, tmp_path: Path, protocol: str
) -> None:
    with unequal(protocol) as urls:
        done = analysis(
            *("versus", "--program", scope.binary, "-o", tmp_path / "runs", "--json"),
            *("--pairs", "2", "--alone", "save", *urls, "--", *LOAD),
        )
        assert done.returncode == OK, done.stderr
    made = json.loads(done.stdout)
    facts = {f["what"]: f["values"] for f in made["unequal"]}
    print(json.dumps([made["said"], facts], indent=1))
    told = set(made["overview"]["unequal"])
    if protocol == "smb":
        synced = saves(made)
        assert synced["no-sync"] == synced["case"] == 0 < 0.9 < synced["smb"] < synced["all-sync"]
        assert 0.9 * synced["smb"] < synced["sealed"] < 1.1 * synced["smb"]
        assert made["said"][0].startswith("Durability is not equal: sync calls of ")
        assert facts["encrypted"] == ["no", "no", "no", "yes", "no"]
        assert facts["names are looked up"] == [*["in any case"] * 4, "as the file system does"]
        assert facts["smb.conf: strict sync"] == ["Yes", "No", "Yes", "Yes", "No"]
        assert facts["smb.conf: sync always"] == ["No", "No", "Yes", "No", "No"]
        assert facts["smb.conf: case sensitive"] == ["Auto", "Auto", "Auto", "Auto", "Yes"]
        assert told >= {"encrypted", "names are looked up", "smb.conf: strict sync"}
    elif protocol == "afp":
        assert facts["afp.conf: cnid scheme"] == ["dbd", "sqlite"]
        assert facts["afp.conf: ea"] == ["not set", "ad"]
        assert facts["processes counted"] == ["afpd, cnid_dbd", "afpd"]
        assert told >= {"afp.conf: cnid scheme", "afp.conf: ea"}
    else:
        synced = saves(made)
        assert synced["commit"] > synced["nfs"] > 0.9
        assert made["said"][0].startswith("Durability is not equal: sync calls of ")


def test_versus_that_is_stopped_leaves_nothing(
    scope: Scope, dbd: Server, samba: Samba, tmp_path: Path
) -> None:
    line = [*command(), "versus", "--program", str(scope.binary), "-o", str(tmp_path / "runs")]
    line += [f"afp://bench1@127.0.0.1:{dbd.port}/vol1"]
    line += [f"smb://bench1@127.0.0.1:{samba.port}/share1", "--", *LOAD, "-d", "60"]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as child:
        wait_until(lambda: bool(left_on(dbd)), 60, "its directory")
        os.kill(child.pid, signal.SIGTERM)
        _, err = child.communicate(timeout=60)
    assert child.returncode == INTERRUPTED, err
    assert "stopped by SIGTERM: 0 runs are complete" in err
    assert not left_on(dbd) and not [*samba.share1.iterdir()]
