# SPDX-License-Identifier: GPL-2.0-or-later
"""A netatalk with every login method that needs no other server, and its users' passwords."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
from collections.abc import Iterator

from netatalk import USERS, Server

UAMS = ("clrtxt", "dhx2", "guest", "dhx", "randnum", "srp")
SRP_SUITES = ("forky",)  # netatalk 4.5 and later

# Of bench1. Servers keep passwords of their own for the methods that need more than a hash.
PASSWORDS = {
    "srp": "srp-password",
    "dhx2": USERS["bench1"],
    "2-way-randnum": "rand-pw",
    "randnum": "rand-pw",
    "dhcast128": USERS["bench1"],
    "cleartext": USERS["bench1"],
}

# RFC 5054, appendix A, group 1536.
PRIME = int(
    "9DEF3CAFB939277AB1F12A8617A47BBBDBA51DF499AC4C80BEEEA9614B19CC4D"
    "5F4F5F556E27CBDE51C6A94BE4607A291558903BA0D0F84380B655BB9A22E8DC"
    "DF028A7CEC67F0D08134B1C8B97989149B609E0BE3BAB63D47548381DBC5B1FC"
    "764E3F4B53DD9DA1158BFD3E2B9C8CF56EDF019539349627DB2FD53D24B7C486"
    "65772E437D6C7F8CE442734AF7CCB7AE837C264AE3A9BEB87F8A2FE9B8B5292E"
    "5A021FFF5E91479E8CE7A28C2442C6F315180F93499A234DCF76E3FED135F9BB",
    16,
)
KEY = "0123456789ABCDEF"


def _verifier(user: str, password: str) -> str:
    """A line of afppasswd.srp."""
    salt = os.urandom(16)
    inner = hashlib.sha1(f"{user}:{password}".encode()).digest()
    x = int.from_bytes(hashlib.sha1(salt + inner).digest(), "big")
    return f"{user}:{salt.hex().upper()}:{pow(2, x, PRIME):0384X}\n"


def _sealed(user: str, password: str) -> str:
    """A line of afppasswd, whose passwords are encrypted with the key of its other file."""
    line = ["openssl", "enc", "-des-ecb", "-provider", "legacy", "-provider", "default"]
    done = subprocess.run(
        [*line, "-K", KEY, "-nopad"],
        input=password.encode().ljust(8, b"\0"),
        capture_output=True,
        check=True,
    )
    return f"{user}:{done.stdout.hex().upper()}:****************:********\n"


@contextlib.contextmanager
def with_methods(suite: str, cnid: str = "dbd", **hooks: str) -> Iterator[Server]:
    """For a with statement: bench1 may log in by each of PASSWORDS, by SRP where there is SRP."""
    srp = suite in SRP_SUITES
    own = f"afppasswd-{suite}-{os.getpid()}"
    lines = [f"passwd file = /tmp/{own}"] + [f"srp passwd file = /tmp/{own}.srp"] * srp
    # The same list for all: 4.2.3 crashes in uams_randnum where it ends before the srp.
    hooks["AFPD_UAMS"] = " ".join(f"uams_{name}.so" for name in UAMS)
    hooks["AFPD_GLOBAL"] = "\n".join([*lines, hooks.get("AFPD_GLOBAL", "")]).strip()
    with Server(suite, cnid, **hooks) as server:
        files = {
            own: _sealed("bench1", PASSWORDS["randnum"]),
            f"{own}.key": KEY,
            f"{own}.srp": _verifier("bench1", PASSWORDS["srp"]),
        }
        paths = [server.root / "tmp" / name for name in files]
        try:
            for path, text in zip(paths, files.values(), strict=True):
                path.touch(0o600)
                path.write_text(text)
            yield server
        finally:
            for path in paths:
                path.unlink(missing_ok=True)
