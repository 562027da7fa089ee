# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a login takes by each method, beside DHX2."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import partial

from lab import OUT, REPO, Client, Lab, favour_server
from methods import PASSWORDS, with_methods
from netatalk import PEER_SUITE, Server
from stats import Result, Side, compare

sys.path.insert(0, str(REPO / "tests" / "integration" / "lib"))
from kerberos import Kdc, serving

SECONDS = 2  # of logins and logouts, one after the other: some tens at least
BESIDE = "dhx2"


def _median_us(lab: Lab, server: Server, method: str, more: Mapping[str, str]) -> float:
    """From the connection up to the last reply of the login. `more`: of its environment."""
    host = "localhost" if more else "127.0.0.1"  # the name that the ticket is for
    options = ["-h", host, "-p", str(server.port), "-s", "vol1", "-u", "bench1"]
    if method != "kerberos":
        options += ["-w", PASSWORDS[method]]
    options += ["--uam", method, "--mix=login-storm", "--clients=1"]
    options += [f"--duration={SECONDS}", "--ramp=0", "--no-probe", "--watch=off", "--no-save"]
    saved = OUT / "logins.json"
    env = ["env", *(f"{key}={value}" for key, value in more.items())]
    command = [*env, str(lab.afpscope), "load", *options, "--json", str(saved)]
    Client(lab.pinned("/", command), OUT).finish()
    (phase,) = json.loads(saved.read_text())["phases"]
    (login,) = (a for a in phase["load"]["actions"] if a["name"] == "login")
    if login["failed"] or not login["n"]:
        raise RuntimeError(f"{method}: {login['failed']} of {login['n']} logins failed")
    return float(login["begun"]["p50_ns"]) / 1e3


def _beside(
    lab: Lab, server: Server, names: list[str], how: str, more: Mapping[str, str]
) -> list[Result]:
    """The median of each run's logins, in rounds by turns: a ratio without a goal."""
    favour_server(server)
    methods = {name: partial(_median_us, lab, server, name, more) for name in names}
    runs = lab.series(methods, lab.pairs)
    beside = Side(BESIDE, runs[BESIDE])
    return [
        compare(f"login by {name}", Side(name, runs[name]), beside, "us", how)
        for name in names
        if name != BESIDE
    ]


def logins(lab: Lab, how: str) -> list[Result]:
    """By Kerberos on a server of its own, with a key of its own: DHX2 is measured there again."""
    hooks = {} if lab.free else {"AFPD_CPU": str(lab.server_cpu)}
    with with_methods(PEER_SUITE, **hooks) as server:
        results = _beside(lab, server, list(PASSWORDS), how, {})
    with Kdc() as kdc:
        kdc.add_all()
        with serving(kdc, PEER_SUITE, **hooks) as server:
            return results + _beside(lab, server, [BESIDE, "kerberos"], how, kdc.env)
