# SPDX-License-Identifier: GPL-2.0-or-later
"""A summary of a run, as the page draws it."""

from __future__ import annotations

from typing import Any

from afpscope.saved.run import Run
from afpscope.tables.digest import digest
from conftest import Shelf


def test_a_wait_for_the_cnid_server_that_goes_on_is_not_seen(shelf: Shelf) -> None:
    asleep_ns = 0

    def go_on(value: dict[str, Any]) -> None:
        nonlocal asleep_ns
        for phase in value["phases"]:
            for account in phase["ledger"]["requests"]:
                if account["name"] != "FPCreateFile":
                    continue
                part = next(
                    p
                    for p in account["parts"]
                    if (p["role"], p["object"]) == ("afpd", "CNID socket")
                )
                part["blocked_ns"] += 10**10
                asleep_ns += sum(
                    p["blocked_ns"]
                    for p in account["parts"]
                    if (p["role"], p["object"]) == ("afpd", "CNID socket")
                )

    before, after = (
        digest(Run.open(f)) for f in (shelf.put("before"), shelf.put("after", change=go_on))
    )
    was, now = (
        next(c.inside for c in d.commands if c.name == "FPCreateFile") for d in (before, after)
    )
    assert now["unknown"] - was["unknown"] >= 10**10 and sum(now.values()) == asleep_ns


def test_what_was_told_to_wait_has_an_answer_in_another_account(shelf: Shelf) -> None:
    """Of SMB: CREATE that waited."""

    def wait(value: dict[str, Any]) -> None:
        for phase in value["phases"]:
            for account in phase["ledger"]["requests"]:
                account["waited"] = 5
                account["begun"] = account["requests"] + 5 + (account["name"] == "FPCreateFile")

    found = digest(Run.open(shelf.put("waited", change=wait))).commands
    assert [c.name for c in found if c.unanswered] == ["FPCreateFile"]
