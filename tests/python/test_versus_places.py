# SPDX-License-Identifier: GPL-2.0-or-later
"""versus: one place under two names, servers that change between loads, disks that differ. Tests
analysis/afpscope/judge/places.py."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from afpscope.errors import Failure
from afpscope.judge import overview, sides
from conftest import Shelf
from test_versus import A, B, Execute, Made, note, program, saved

__all__ = ["program"]

STARTED = "pid 7, 8 ticks after boot"


def of_start(start: str | None, value: dict[str, Any]) -> None:
    value["server"] = {"afpd.start": start} if start else {}


def of_folder(folder: str, value: dict[str, Any]) -> None:
    value["options"] |= {"mode": "local", "directory": folder}


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (("afp://u@127.0.0.1/v", STARTED), ("afp://x@localhost:548/v/", STARTED), True),
        (("afp://u@127.0.0.1/v", STARTED), ("afp://u@127.0.0.1/other", STARTED), False),
        (("afp://u@127.0.0.1/v", STARTED), ("afp://u@127.0.0.1/v", "pid 9, 9 ticks"), False),
        (("afp://h/v", None), ("afp://h/v", None), False),
        (("smb://h/Share%201", STARTED), ("smb://[::1]:445/share 1", STARTED), True),
        (("nfs://h/a?mountport=1", STARTED), ("nfs://h/a?mountport=2", STARTED), True),
        (("nfs://h/a", STARTED), ("nfs://h/A", STARTED), False),
        (("nfs://h/a", STARTED), ("nfs://h/a?version=4", STARTED), False),
        (("nfs://h/a?uid=1&gid=2", STARTED), ("nfs://h/a?gid=2&uid=1", STARTED), True),
        (("nfs://h/a?uid=1", STARTED), ("nfs://h/a?mountport=9&uid=2", STARTED), False),
        (("smb://h/v", STARTED), ("afp://h/v", STARTED), False),
    ],
)
def test_one_place_has_one_name_on_one_process(
    shelf: Shelf, a: tuple[str, str | None], b: tuple[str, str | None], same: bool
) -> None:
    made = []
    for key, (url, start) in zip("ab", (a, b), strict=True):
        made.append(sides.Side(key, key, url))
        made[-1].add(saved(shelf, key, partial(of_start, start)))
    assert sides._is_same(*made) == same
    made[1].load = ("--files=10",)
    assert not sides._is_same(*made)


@pytest.mark.parametrize(("other", "same"), [("/srv/x/", True), ("/srv/y", False)])
def test_one_folder_is_one_place(shelf: Shelf, other: str, same: bool) -> None:
    made = []
    for key, folder in (("a", "/srv/x"), ("b", other)):
        made.append(sides.Side(key, key, folder))
        made[-1].add(saved(shelf, key, partial(of_folder, folder)))
    assert sides._is_same(*made) == same


def two_names(
    execute: Execute, tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> Made:
    """A's place again, by this name, where all takes twice as long; and another server."""
    monkeypatch.setenv("FAKE_OF", json.dumps({other: {"twice": 1}, B: {"twice": 2}}))
    made = Made(execute, tmp_path / "out", "--program", program, "--pairs", 12, "--json",
                A, f"b={other}", B, "--", "load", "--mix", "office")  # fmt: skip
    assert made.done.code == 0, made.done.err
    return made


def test_a_difference_between_two_names_of_one_place_is_none_of_servers(
    execute: Execute, tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is one of the same row to a third server sure."""
    made = two_names(execute, tmp_path, program, monkeypatch, "afp://u@localhost/v")
    assert made.json["said"][0] == (
        "afp, b are one place under 2 names: a difference between them is not a difference between "
        "servers."
    )
    (pair,) = (p for p in made.json["pairs"] if p["same"])
    assert (pair["a"], pair["b"]) == ("afp", "b")
    assert {row["verdict"] for row in pair["rows"] if row["command"]} == {"slower"}
    for pair in (p for p in made.json["pairs"] if not p["same"]):
        verdicts = {row["verdict"] for row in pair["rows"] if row["command"]}
        assert verdicts == {"cannot tell: a server differs from itself"}
    assert not any(
        "×" in row["sides"]["b"] for row in made.json["overview"]["rows"] if "p50" in row["what"]
    )


def test_what_differs_between_users_of_one_place_leaves_other_servers_as_they_are(
    execute: Execute, tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = two_names(execute, tmp_path, program, monkeypatch, "afp://x@localhost/v")
    assert "afp, b are one place under 2 names" in made.json["said"][0]
    for pair in made.json["pairs"]:
        assert pair["same"] == ({pair["a"], pair["b"]} == {"afp", "b"})
        verdicts = {row["verdict"] for row in pair["rows"] if row["command"]}
        assert "cannot tell: a server differs from itself" not in verdicts


@pytest.mark.parametrize(
    ("a", "b", "doubted"),
    [
        (("afp://u@127.0.0.1/v", {}), ("afp://x@localhost:548/v/", {}), True),
        (("afp://h/v", {}), ("afp://H/v", {}), True),
        (("smb://[::1]/v", {}), ("smb://127.0.0.1:445/V", {}), True),
        (("afp://h/v", {}), ("afp://h:549/v", {}), False),
        (("afp://h/v", {}), ("afp://other/v", {}), False),
        (("afp://h/v", {}), ("afp://h/w", {}), False),
        (("nfs://h/v", {}), ("nfs://h/v?version=4", {}), False),
        (("smb://h/v", {"machine": "4.17"}), ("smb://h/v", {"machine": "4.25"}), False),
        (("smb://h/v", {"machine": "4.17"}), ("smb://h/v", {}), True),
        (
            ("smb://h/v", {"smb.conf": "strict sync = No"}),
            ("smb://h/v", {"smb.conf": "strict sync = Yes"}),
            False,
        ),
    ],
)
def test_restarted_servers_of_one_address_may_be_one(
    shelf: Shelf, a: tuple[str, dict[str, str]], b: tuple[str, dict[str, str]], doubted: bool
) -> None:
    """Each load has a start of its own, so that none is of both."""
    made = []
    for key, (url, server) in zip("ab", (a, b), strict=True):
        made.append(sides.Side(key, key, url))
        for i in range(3):
            noted = {"afpd.start": f"pid {key}{i}"} | server
            made[-1].add(saved(shelf, f"{i}{key}", partial(only, noted)))
    (pair,) = sides.judged(made, 0.02).pairs
    assert not pair.same
    assert any("it may be one server" in text for text in pair.doubts) == doubted


def only(server: dict[str, str], value: dict[str, Any]) -> None:
    value["server"] = server


def test_a_server_that_changed_between_its_loads_is_not_judged(shelf: Shelf) -> None:
    """What is not known of one of its runs has not changed."""
    loads = [
        {"smb.conf": "strict sync = Yes; log level = 1"},
        {"smb.conf": "strict sync = Yes", "file system": "ext4 on sda"},
        {"smb.conf": "not visible: no testparm"},
    ]
    side = sides.Side("a", "smb", B)
    for i, server in enumerate(loads):
        side.add(saved(shelf, str(i), partial(note, {"machine": "Samba 4.17"} | server)))
    for i, (wrong, said) in enumerate(
        [
            (
                {"smb.conf": "strict sync = No", "machine": "Samba 4.17"},
                "wrong0 and 1 differ in smb.conf: strict sync: 'Yes' against 'No'",
            ),
            (
                {"smb.conf": "log level = 3", "machine": "Samba 4.25"},
                "wrong1 and 2 differ in machine: 'Samba 4.17' against 'Samba 4.25'; wrong1 and 0 "
                "differ in smb.conf: log level: '1' against '3'",
            ),
        ]
    ):
        with pytest.raises(Failure, match=f"^{re.escape(said)}$"):
            side.add(saved(shelf, f"wrong{i}", partial(note, wrong)))


def test_a_setting_that_the_first_load_did_not_know_is_compared_and_told(shelf: Shelf) -> None:
    made = [sides.Side(key, key, B + key) for key in "ab"]
    for side, sync in zip(made, ("Yes", "No"), strict=True):
        for i, conf in enumerate(("not visible: no testparm", f"strict sync = {sync}")):
            side.add(saved(shelf, f"{side.key}{i}", partial(note, {"smb.conf": conf})))
    with pytest.raises(Failure, match=r"^c and a1 differ in smb\.conf: strict sync: 'Yes' against"):
        made[0].add(saved(shelf, "c", partial(note, {"smb.conf": "strict sync = No"})))
    facts = {fact.what: fact.values for fact in sides.judged(made, 0.02).unequal}
    assert facts["smb.conf: strict sync"] == ("Yes", "No")


def test_disks_that_are_not_the_same_are_said(shelf: Shelf) -> None:
    made = []
    for name, disk in (("a", "ext4 on sda"), ("b", "tmpfs")):
        made.append(sides.Side(name, name, A + name))
        made[-1].add(saved(shelf, name, partial(note, {"file system": disk})))
    (fact,) = overview.telling(sides.judged(made, 0.02))
    assert (fact.what, fact.values) == ("file system", ("ext4 on sda", "tmpfs"))
