# SPDX-License-Identifier: GPL-2.0-or-later
"""Each login method against a netatalk that has them all, through a proxy that sees every byte."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes import Between
from netatalk import Server
from scope import NO_SESSION, OK, Scope

UAMS = "clrtxt dhx2 guest dhx randnum srp"
PEER_LOGIN = 10  # exit code of afp_lantest

# Servers keep passwords of their own for the methods that need more of them than a hash.
PASSWORDS = {
    "srp": "srp-password",
    "dhx2": "secret1",
    "2-way-randnum": "rand-pw",
    "randnum": "rand-pw",
    "dhcast128": "secret1",
    "cleartext": "secret1",
}
PROVING = ("srp", "2-way-randnum")

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


def verifier(user: str, password: str) -> str:
    """A line of afppasswd.srp."""
    salt = os.urandom(16)
    inner = hashlib.sha1(f"{user}:{password}".encode()).digest()
    x = int.from_bytes(hashlib.sha1(salt + inner).digest(), "big")
    return f"{user}:{salt.hex().upper()}:{pow(2, x, PRIME):0384X}\n"


def sealed(user: str, password: str, key: str) -> str:
    """A line of afppasswd, whose passwords are encrypted with the key of its other file."""
    line = ["openssl", "enc", "-des-ecb", "-provider", "legacy", "-provider", "default"]
    done = subprocess.run(
        [*line, "-K", key, "-nopad"],
        input=password.encode().ljust(8, b"\0"),
        capture_output=True,
        check=True,
    )
    return f"{user}:{done.stdout.hex().upper()}:****************:********\n"


@pytest.fixture(scope="module")
def every() -> Iterator[Server]:
    """A netatalk 4.5.1 with all methods that need no other server."""
    own = f"afppasswd-{os.getpid()}"
    hooks = {
        "AFPD_UAMS": " ".join(f"uams_{name}.so" for name in UAMS.split()),
        "AFPD_GLOBAL": f"passwd file = /tmp/{own}\nsrp passwd file = /tmp/{own}.srp",
    }
    with Server("forky", "sqlite", **hooks) as server:
        key = "0123456789ABCDEF"
        files = {
            own: sealed("bench1", PASSWORDS["randnum"], key),
            f"{own}.key": key,
            f"{own}.srp": verifier("bench1", PASSWORDS["srp"]),
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


def log_in(scope: Scope, port: int, method: str, password: str) -> list[str]:
    where = ["-h", "127.0.0.1", "-p", str(port), "-s", "vol1", "-u", "bench1"]
    return [str(scope.binary), "clean", *where, "-w", password, "--uam", method]


@pytest.mark.parametrize("method", PASSWORDS)
def test_right_password_in_and_no_clear_text_on_the_wire(
    scope: Scope, every: Server, method: str
) -> None:
    word = PASSWORDS[method]
    with Between(every.port) as proxy:
        scope.execute(log_in(scope, proxy.port, method, word)).expect(OK)
        assert b"bench1" in proxy.seen
        assert (word.encode() in proxy.seen) == (method == "cleartext")


@pytest.mark.parametrize("method", PASSWORDS)
def test_wrong_password_is_refused_with_its_error(scope: Scope, every: Server, method: str) -> None:
    error = "AFP -6754" if method == "srp" else "AFP -5023"
    line = log_in(scope, every.port, method, "wrong-pw")
    scope.execute(line).expect(NO_SESSION, f"login of bench1 by {method}", error)


@pytest.mark.parametrize("method", PROVING)
def test_a_server_without_the_proof_is_refused(scope: Scope, every: Server, method: str) -> None:
    with Between(every.port, spoil=Between.PROOF) as proxy:
        line = log_in(scope, proxy.port, method, PASSWORDS[method])
        scope.execute(line).expect(NO_SESSION, "server accepts the login, but proves wrongly")
        assert proxy.spoiled == 1


def test_clear_text_is_sent_only_when_asked_for(
    scope: Scope, every: Server, tmp_path: Path
) -> None:
    """A proxy that offers nothing else gets no password; the name of netatalk's tool sends it."""
    names = {"DHX2": "XXXX", "SRP": "XXX", "DHCAST128": "X" * 9, "Randnum exchange": "X" * 16}

    class Shortening(Between):
        def _pass(self, source: socket.socket, target: socket.socket) -> None:
            with contextlib.suppress(OSError):
                while data := source.recv(65536):
                    self.seen += data
                    for name, other in names.items():
                        data = data.replace(name.encode(), other.encode())
                    target.sendall(data)
            with contextlib.suppress(OSError):
                target.shutdown(socket.SHUT_WR)

    with Shortening(every.port) as proxy:
        line = log_in(scope, proxy.port, "cleartext", "secret1")[:-2]
        scope.execute(line).expect(NO_SESSION, "in clear text only", "--uam cleartext")
        assert b"secret1" not in proxy.seen
        tool = tmp_path / "afp_lantest"
        tool.symlink_to(scope.binary)
        where = ["-h", "127.0.0.1", "-p", str(proxy.port), "-s", "vol1", "-u", "bench1"]
        scope.execute([str(tool), *where, "-w", "other-pw"]).expect(PEER_LOGIN, "AFP -5023")
        assert b"other-pw" in proxy.seen
