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

QUICK = ("-n", "1", "-f", "2", "--set", "4.6", "--watch=off")
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


def log_in(scope: Scope, port: int, method: str, password: str, user: str = "bench1") -> list[str]:
    where = ["-h", "127.0.0.1", "-p", str(port), "-s", "vol1", "-u", user]
    return [str(scope.binary), "clean", *where, "-w", password, "--uam", method]


def own_choice(scope: Scope, server: Server, password: str, user: str = "bench1") -> str:
    """The method that a login without --uam uses."""
    done = scope(
        server, *QUICK, save=True, user=user, password=password, uam=None, tool="lantest"
    ).expect(OK)
    assert done.run
    return str(done.run.saved["server"]["uam"])


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


def test_a_user_without_a_verifier_is_logged_in_by_dhx2(scope: Scope, every: Server) -> None:
    """Of SRP's refusal at the first message only, and never where a method is asked for."""
    assert own_choice(scope, every, PASSWORDS["srp"]) == "SRP"
    assert own_choice(scope, every, "secret1", "bench2") == "DHX2"
    with Between(every.port) as proxy:
        asked = log_in(scope, proxy.port, "srp", "secret1", "bench2")
        scope.execute(asked).expect(NO_SESSION, "login of bench2 by srp", "AFP -5023", "--uam dhx2")
        assert b"DHX2" not in after_list(proxy)
    with Between(every.port) as proxy:
        wrong = log_in(scope, proxy.port, "srp", "wrong-pw")[:-2]
        scope.execute(wrong).expect(NO_SESSION, "login of bench1 by srp", "AFP -6754")
        assert b"DHX2" not in after_list(proxy)


def after_list(proxy: Between) -> bytes:
    """What was sent behind the name of the method that was chosen first."""
    return bytes(proxy.seen).rpartition(b"\x03SRP")[2]


OLD = ("2-way-randnum", "randnum", "dhx2", "dhcast128", "cleartext", "guest")


def crashed(server: Server) -> bool:
    """At some starts, all exchanges of uams_randnum end a session of netatalk 3.1.12 by SIGSEGV."""
    return "INTERNAL ERROR: Signal 11" in server.log.read_text(errors="replace")


@pytest.mark.parametrize("suite", ["bullseye", "trixie"])
def test_methods_of_older_servers(scope: Scope, suite: str) -> None:
    """netatalk 3.1.12 and 4.2.3 have no SRP; each other method logs in there, too."""
    own = f"afppasswd-{suite}-{os.getpid()}"
    hooks = {
        "AFPD_UAMS": " ".join(f"uams_{name}.so" for name in UAMS.split()),
        "AFPD_USERS": "müller:pässwort",
        "AFPD_GLOBAL": f"passwd file = /tmp/{own}",
    }
    with Server(suite, **hooks) as server:
        path, key = server.root / "tmp" / own, server.root / "tmp" / f"{own}.key"
        try:
            path.touch(0o600)
            key.touch(0o600)
            key.write_text("0123456789ABCDEF")
            path.write_text(sealed("bench1", PASSWORDS["randnum"], "0123456789ABCDEF"))
            line = log_in(scope, server.port, "srp", "secret1")
            scope.execute(line).expect(NO_SESSION, "server does not offer srp")
            for method in OLD:
                word = PASSWORDS.get(method, "")
                done = scope.execute(log_in(scope, server.port, method, word))
                if suite == "bullseye" and crashed(server):
                    assert "randnum" in method
                    done.expect(NO_SESSION, "the server ended the connection")
                    server.log.write_text("")
                else:
                    done.expect(OK)
            assert own_choice(scope, server, "secret1") == "DHX2"
            for method in ("dhx2", "dhcast128"):
                line = log_in(scope, server.port, method, "pässwort", "müller")
                scope.execute(line).expect(OK)
        finally:
            path.unlink(missing_ok=True)
            key.unlink(missing_ok=True)


def test_a_password_beyond_ascii(scope: Scope) -> None:
    """DHX2 sends it in Mac Roman, others as it is; Japanese is none of Mac Roman."""
    users = "latin:pässwort\nkanji:資料"
    with Server(
        "forky", "sqlite", AFPD_UAMS="uams_dhx2.so uams_dhx.so", AFPD_USERS=users
    ) as server:
        for method in ("dhx2", "dhcast128"):
            scope.execute(log_in(scope, server.port, method, "pässwort", "latin")).expect(OK)
        scope.execute(log_in(scope, server.port, "dhcast128", "資料", "kanji")).expect(OK)
        line = log_in(scope, server.port, "dhx2", "資料", "kanji")
        scope.execute(line).expect(NO_SESSION, "Mac Roman does not have")


# A line of /etc/shadow behind name and password; what the server says to DHX2, and to others.
ACCOUNTS = {
    "expired": ("secret1:19000:0:99999:7::1:", "wrong user or password (AFP -5023); an account"),
    "locked": ("!secret1", "wrong user or password (AFP -5023); an account that is locked or has"),
    "oldpw": ("secret1:1000:0:10:7:::", "password expired (AFP -5042)"),
    "change": ("secret1:0:0:99999:7:::", "password expired (AFP -5042)"),
}


def test_what_is_said_of_locked_and_expired_accounts(scope: Scope) -> None:
    users = "\n".join(f"{name}:{line}" for name, (line, _) in ACCOUNTS.items())
    uams = "uams_clrtxt.so uams_dhx2.so uams_dhx.so"
    with Server("forky", "sqlite", AFPD_UAMS=uams, AFPD_USERS=users) as server:
        for name, (_, said) in ACCOUNTS.items():
            for method in ("dhx2", "dhcast128", "cleartext"):
                line = log_in(scope, server.port, method, "secret1", name)
                scope.execute(line).expect(NO_SESSION, said)
