# SPDX-License-Identifier: GPL-2.0-or-later
"""Which causes each command sees, by docs/doctor.md, and what it says where it does not.

All rules are walked, in what each command saved: one that needs a figure at which a command does
not look makes the table of docs/doctor.md wrong. That no missing figure leads to "nothing is
wrong" is walked in unit/doctor/test_unseen.c.

Tests user/doctor/diagnose_load.c, user/drive/session_look.c.
"""

from __future__ import annotations

import re
import resource
from pathlib import Path
from typing import Any

import pytest
from afpclient import AfpClient, Busy
from faults import MIXES
from netatalk import Server
from scheduling import in_check
from scope import PinnedServer, Scope, both_cpus

TICKS_S = 0.05  # the kernel counts a process by ticks
DOCS = Path(__file__).resolve().parents[3] / "docs" / "doctor.md"
LIST = str(MIXES / "list.ini")
LOADS = {
    "load": ("-n", "2", "-d", "2", "--files=20", "--ramp=0"),
    "smallfile": ("-n", "2", "--files=20"),
    "probe": ("-d", "2"),
    "lantest": ("-n", "1", "-f", ":"),
    "speedtest": ("-f", "Write,Read", "-z", "64K,1M", "-n", "10"),
}


def not_seen_by() -> dict[str, set[str]]:
    """By the table of docs/doctor.md: command, keys of causes that it does not see."""
    text = DOCS.read_text()
    rows = text[text.index("<!-- seen -->") :].split("\n\n")[0].splitlines()[3:]
    out: dict[str, set[str]] = {}
    for row in rows:
        _, commands, causes, *_ = row.split("|")
        for command in re.findall(r"`([^`]+)`", commands):
            out.setdefault(command, set()).update(re.findall(r"`([^`]+)`", causes))
    return out


def keys(said: dict[str, Any]) -> dict[str, set[str]]:
    """Of all causes, by what is said of each."""
    plain = ("ruled_out", "not_seen", "waited_for_but_not_seen")
    return {name: set(said[name]) for name in plain} | {
        name: {one["key"] for one in said[name]} for name in ("findings", "notes")
    }


def while_busy(scope: Scope, server: Server, line: list[str]) -> dict[str, Any]:
    client = AfpClient(server.port)
    try:
        with Busy(client):
            done = scope.execute(line, save=True)
    finally:
        client.close()
    assert done.run, done
    saved: dict[str, Any] = done.run.saved
    assert saved["diagnosis"]["verdict"] != "too_few"
    return saved


@pytest.fixture(scope="module")
def doctors(scope: Scope, _dbd: Server) -> dict[str, set[str]]:
    """What doctor says of each cause here; what it does not see no command sees."""
    line = [str(scope.binary), "doctor", "-p", str(_dbd.port), "-d", "1"]
    return keys(while_busy(scope, _dbd, line)["diagnosis"])


def is_whole(of: dict[str, set[str]], doctors: dict[str, set[str]], command: str) -> None:
    every = set[str]().union(*doctors.values())
    assert set[str]().union(*of.values()) == every
    by_figures = {"slow-login", "huge-folder", "fsync", "failing-requests", "slow-link",
                  "slow-upload", "xattr"}  # fmt: skip
    here = doctors["not_seen"] | doctors["waited_for_but_not_seen"] | by_figures
    missing = (of["not_seen"] | of["waited_for_but_not_seen"]) - here
    assert missing <= not_seen_by().get(command, set()), command


@pytest.mark.parametrize("command", in_check(LOADS, ("load", "speedtest")))
def test_what_a_load_does_not_see_stands_in_the_docs(
    scope: Scope, dbd: PinnedServer, doctors: dict[str, set[str]], command: str
) -> None:
    done = scope.execute(scope.command(dbd, *LOADS[command], tool=command), save=True)
    assert done.run, done
    said, figures = done.run.saved["diagnosis"], done.run.saved["figures"]
    is_whole(keys(said), doctors, command)
    for figure in ("asked", "dircache", "file_systems", "room", "cnid_down", "server_ended"):
        assert figures[figure]["value"] is not None, f"{command}: {figure}"
    assert figures["dircache"]["value"] == 8192
    # It is denied only where each is seen.
    assert (said["verdict"] in ("healthy", "idle")) <= (not said["may_be"])
    if said["verdict"] == "partly":
        assert set(said["may_be"]) - doctors["not_seen"] <= not_seen_by()[command]
        assert said["text"].startswith("Nothing wrong was seen with the server: ")
        assert "Whether something else is wrong cannot be told: " in said["text"]


def test_a_recording_sees_what_doctor_does(
    scope: Scope, dbd: PinnedServer, doctors: dict[str, set[str]]
) -> None:
    saved = while_busy(scope, dbd, [*scope.recorder(dbd), "-d", "1"])
    is_whole(keys(saved["diagnosis"]), doctors, "record")
    assert saved["figures"]["asked"]["value"] is not None


@pytest.mark.parametrize("command", in_check(["load", "lantest"], ["load"]))
def test_a_directory_cache_that_is_too_small_is_named_by_a_load(scope: Scope, command: str) -> None:
    options = {
        "load": ("-n", "2", "-d", "3", "--ramp=0", f"--mix={LIST}", "--directories=30"),
        "lantest": ("-n", "1", "-f", "6"),
    }[command]
    with Server(
        "forky", cnid="dbd", AFPD_GLOBAL="dircache size = 1024", AFPD_MEMORY="128M"
    ) as small:
        done = scope.execute(scope.command(small, *options, tool=command), save=True)
    assert done.run, done
    said, figures = done.run.saved["diagnosis"], done.run.saved["figures"]
    assert figures["dircache"]["value"] == 1024
    assert figures["asked_again"]["value"] is not None
    if command == "load":
        assert "dircache" in {f["key"] for f in said["findings"]}, said
    else:  # it lists one folder, and what it costs is measured
        assert "dircache" not in said["may_be"] and "dircache" not in said["not_seen"], said


def children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.judges
def test_a_load_on_the_cpu_of_its_server_names_itself(scope: Scope, dbd: PinnedServer) -> None:
    """From another CPU the same load does not, whatever else the machine does.

    What it used is judged by the kernel's account of it.
    """
    options = ("-n", "30", "-d", "2", "--ramp=0", "--mix=batch-read", "--no-probe", "--verify")
    line = scope.command(dbd, *options, tool="load")
    assert line[:3] == ["taskset", "-c", str(dbd.cpu)]
    for cpu in dict.fromkeys([dbd.cpu, *both_cpus()]):
        before = children_cpu_s()
        done = scope.execute(["taskset", "-c", str(cpu), *line[3:]], save=True)
        used = children_cpu_s() - before
        assert done.run, done
        said, figures = done.run.saved["diagnosis"], done.run.saved["figures"]
        found = {f["key"]: f for f in said["findings"]}
        value = {key: figures[key]["value"] for key in ("elapsed", "self", "others", "self_wait")}
        own = value["self"] * value["elapsed"] / 1e9
        assert own <= used + TICKS_S, (value, used)
        if cpu != dbd.cpu:
            assert own <= TICKS_S and "load-generator" not in found, said
            continue
        # Where others take most of that CPU they are the cause.
        assert own > TICKS_S, value
        if value["self"] >= 0.3 and value["self_wait"] >= 0.15:
            assert "load-generator" in found, said
        else:
            assert value["others"] > 0.15, said
        if "load-generator" in found:
            assert not found["load-generator"]["sure"]
            assert "on CPUs that the server does not use" in found["load-generator"]["todo"]
