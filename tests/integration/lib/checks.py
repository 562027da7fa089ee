# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs afpscope check and reads what it prints as JSON."""

from __future__ import annotations

import json
from typing import Any

from netatalk import Server
from scope import Done, Scope

Found = dict[str, Any]


def check(
    scope: Scope, *args: str, status: int, before: tuple[str, ...] = (), binary: str = ""
) -> Found:
    """The JSON of a check that ends with this status; before: a command in front."""
    done: Done = scope.execute(
        [*before, binary or str(scope.binary), "check", *args, "--json", "-"]
    ).expect(status)
    found: Found = json.loads(done.out)
    assert found["status"] == status
    if found["message"]:
        assert f"afpscope: {found['message']}" in done.messages
    return found


def only(found: Found) -> Found:
    assert len(found["servers"]) == 1, [server["pid"] for server in found["servers"]]
    server: Found = found["servers"][0]
    return server


def one_of(found: Found, server: Server) -> Found:
    """The entry of a server in a list of all on this machine."""
    entries = [entry for entry in found["servers"] if entry["pid"] == server.pid]
    assert len(entries) == 1, [entry["pid"] for entry in found["servers"]]
    entry: Found = entries[0]
    return entry


def steps(found: Found, layer: str) -> dict[str, Found]:
    return {step["rung"]: step for step in found["ladder"] if step["layer"] == layer}


def taken(found: Found, layer: str) -> str | None:
    rungs = [name for name, step in steps(found, layer).items() if step["taken"]]
    assert len(rungs) <= 1
    return rungs[0] if rungs else None


def port_option(server: Server) -> tuple[str, str]:
    return "--port", str(server.port)
