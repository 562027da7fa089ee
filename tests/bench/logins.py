# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a login takes by each method, beside DHX2."""

from __future__ import annotations

import json
from functools import partial

from lab import OUT, Client, Lab, favour_server
from methods import PASSWORDS, with_methods
from netatalk import PEER_SUITE, Server
from stats import Result, Side, compare

SECONDS = 2  # of logins and logouts, one after the other: some tens at least
BESIDE = "dhx2"


def _median_us(lab: Lab, server: Server, method: str) -> float:
    """From the connection up to the last reply of the login."""
    options = ["-h", "127.0.0.1", "-p", str(server.port), "-s", "vol1", "-u", "bench1"]
    options += ["-w", PASSWORDS[method], "--uam", method, "--mix=login-storm", "--clients=1"]
    options += [f"--duration={SECONDS}", "--ramp=0", "--no-probe", "--watch=off", "--no-save"]
    saved = OUT / "logins.json"
    command = [str(lab.afpscope), "load", *options, "--json", str(saved)]
    Client(lab.pinned("/", command), OUT).finish()
    (phase,) = json.loads(saved.read_text())["phases"]
    (login,) = (a for a in phase["load"]["actions"] if a["name"] == "login")
    if login["failed"] or not login["n"]:
        raise RuntimeError(f"{method}: {login['failed']} of {login['n']} logins failed")
    return float(login["begun"]["p50_ns"]) / 1e3


def logins(lab: Lab, how: str) -> list[Result]:
    """The median of each run's logins, in rounds by turns: a ratio without a goal."""
    hooks = {} if lab.free else {"AFPD_CPU": str(lab.server_cpu)}
    with with_methods(PEER_SUITE, **hooks) as server:
        favour_server(server)
        methods = {name: partial(_median_us, lab, server, name) for name in PASSWORDS}
        runs = lab.series(methods, lab.pairs)
    beside = Side(BESIDE, runs[BESIDE])
    return [
        compare(f"login by {name}", Side(name, runs[name]), beside, "us", how)
        for name in PASSWORDS
        if name != BESIDE
    ]
