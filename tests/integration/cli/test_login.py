# SPDX-License-Identifier: GPL-2.0-or-later
"""Each login method against a netatalk that has them all, through a proxy that sees every byte."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes import Between
from methods import PASSWORDS, SRP_SUITES, with_methods
from netatalk import Server
from scope import NO_SESSION, OK, Scope

QUICK = ("-n", "1", "-f", "2", "--set", "4.6", "--watch=off")
PEER_LOGIN = 10  # exit code of afp_lantest

PROVING = ("srp", "2-way-randnum")


@pytest.fixture(scope="module")
def every() -> Iterator[Server]:
    """A netatalk 4.5.1 with all methods that need no other server."""
    with with_methods("forky", "sqlite") as server:
        yield server


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
    with with_methods(suite, AFPD_USERS="müller:pässwort") as server:
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


N_LOGINS = 2000  # one of 128 has a zero that netatalk 3.1 leaves out of DHCAST128's numbers
STARTS = 5  # of netatalk 3.1.12, of which some crash in uams_randnum


def many_logins(scope: Scope, server: Server, method: str) -> int | None:
    """How many were made, none of which failed. None: the server itself crashes."""
    logins = 0
    while logins < N_LOGINS:
        storm = ["--mix=login-storm", "-n", "4", "--duration=10", "--ramp=0", "--watch=off"]
        done = scope(server, *storm, save=True, password=PASSWORDS[method], uam=method, tool="load")
        if "randnum" in method and crashed(server):
            return None
        done.expect(OK)
        assert done.run
        (phase,) = done.run.saved["phases"]
        (login,) = (a for a in phase["load"]["actions"] if a["name"] == "login")
        assert login["failed"] == 0
        logins += login["n"]
    return logins


@pytest.mark.judges
@pytest.mark.limit(900)
@pytest.mark.parametrize(
    ("suite", "method"),
    [
        (suite, method)
        for suite in ("forky", "trixie", "bullseye")
        for method in PASSWORDS
        if method != "cleartext" and (method != "srp" or suite in SRP_SUITES)
    ],
)
def test_no_login_of_many_fails(scope: Scope, suite: str, method: str) -> None:
    made = None
    for _ in range(STARTS if suite == "bullseye" else 1):
        with with_methods(suite) as server:
            made = many_logins(scope, server, method)
        if made:
            break
    assert made, "each start of the server crashed"
