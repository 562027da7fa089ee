# SPDX-License-Identifier: GPL-2.0-or-later
"""Logins by Kerberos: a KDC of Debian, netatalk's uams_gss, and a proxy that sees every byte."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes import Between
from kerberos import PASSWORD, REALM, SERVICE, USERS, Kdc, serving
from netatalk import Server
from scope import NO_SESSION, OK, Done, Scope


@pytest.fixture(scope="module")
def kdc() -> Iterator[Kdc]:
    with Kdc() as one:
        one.add_all()
        yield one


@pytest.fixture(scope="module")
def ticketed(kdc: Kdc) -> Iterator[Server]:
    with serving(kdc) as server:
        yield server


def log_in(
    scope: Scope,
    kdc: Kdc,
    port: int,
    *more: str,
    user: str = "bench1",
    host: str = "localhost",
    **env: str,
) -> Done:
    where = ["-h", host, "-p", str(port), "-s", "vol1", "-u", user, "--uam", "kerberos"]
    return scope.execute([str(scope.binary), "clean", *where, *more], env=kdc.env | env)


@pytest.mark.parametrize("user", USERS)
def test_a_ticket_is_enough_and_no_password_passes(
    scope: Scope, kdc: Kdc, ticketed: Server, user: str
) -> None:
    tickets = kdc.tickets(user, PASSWORD, f"of-{user}")
    with Between(ticketed.port) as proxy:
        log_in(scope, kdc, proxy.port, user=user, KRB5CCNAME=tickets).expect(OK)
        assert b"Client Krb v2" in proxy.seen
        assert user.encode() in proxy.seen
        assert PASSWORD.encode() not in proxy.seen


@pytest.mark.parametrize("suite", ["trixie", "bullseye"])
def test_older_servers_take_it_too(scope: Scope, kdc: Kdc, suite: str) -> None:
    with serving(kdc, suite) as server:
        log_in(scope, kdc, server.port).expect(OK)
        tickets = kdc.tickets("odd", PASSWORD, "of-odd")
        log_in(scope, kdc, server.port, user="odd", KRB5CCNAME=tickets).expect(OK)


def test_clients_of_a_load_and_lantest_log_in_by_it(
    scope: Scope, kdc: Kdc, ticketed: Server
) -> None:
    where = ["-h", "localhost", "-p", str(ticketed.port), "-s", "vol1", "-u", "bench1"]
    line = [str(scope.binary), "load", *where, "--uam", "kerberos", "--watch=off", "--no-probe"]
    done = scope.execute(
        [*line, "-n", "4", "-d", "1", "--think", "0.02"], env=kdc.env, save=True
    ).expect(OK)
    assert done.run.saved["server"]["uam"] == "Client Krb v2"
    line = [str(scope.binary), "lantest", *where, "--uam", "kerberos", "-n", "1", "-f", "2"]
    line += ["--watch=off"]
    scope.execute(line, env=kdc.env).expect(OK)


def test_without_a_valid_ticket_it_says_of_whom(scope: Scope, kdc: Kdc, ticketed: Server) -> None:
    said = "no valid ticket of bench1 (kinit gets one)"
    log_in(scope, kdc, ticketed.port, KRB5CCNAME="FILE:/nonexistent").expect(NO_SESSION, said)
    other = kdc.tickets("odd", PASSWORD, "of-another")
    log_in(scope, kdc, ticketed.port, KRB5CCNAME=other).expect(NO_SESSION, said)
    short = kdc.tickets("bench1", PASSWORD, "short", life="1s")
    kdc.wait_until_expired(short, SERVICE)
    log_in(scope, kdc, ticketed.port, KRB5CCNAME=short).expect(NO_SESSION, "bench1", "expired")


def test_a_host_that_the_kdc_does_not_know_is_named(
    scope: Scope, kdc: Kdc, ticketed: Server
) -> None:
    """The server's own word for its host is not enough: it could be anybody's."""
    log_in(scope, kdc, ticketed.port, host="127.0.0.1").expect(
        NO_SESSION,
        "no ticket of bench1 for the service afpserver@127.0.0.1",
        f"the server calls itself {SERVICE}@{REALM}",
    )


def test_a_server_whose_key_is_not_the_services_refuses(scope: Scope) -> None:
    with Kdc() as own:
        own.add_user("bench1", PASSWORD)
        own.add_service(SERVICE)
        with serving(own) as server:
            own.change_key(SERVICE)
            own.tickets("bench1", PASSWORD)
            log_in(scope, own, server.port).expect(
                NO_SESSION, "login of bench1 by kerberos for afpserver@localhost", "keytab"
            )


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ({"spoil": Between.ANSWER}, "login of bench1 by kerberos for afpserver@localhost"),
        ({"spoil": Between.PROOF}, "server accepts the login, but proves wrongly"),
        ({"cut": Between.PROOF}, "server accepts the login, but does not prove"),
    ],
)
def test_a_byte_changed_on_the_way_ends_the_login(
    scope: Scope, kdc: Kdc, ticketed: Server, harm: dict[str, str], said: str
) -> None:
    with Between(ticketed.port, **harm) as proxy:
        log_in(scope, kdc, proxy.port).expect(NO_SESSION, said)
        assert proxy.spoiled == 1


def test_it_is_never_chosen_by_itself(scope: Scope, kdc: Kdc, ticketed: Server) -> None:
    where = ["-h", "localhost", "-p", str(ticketed.port), "-s", "vol1", "-u", "bench1"]
    line = [str(scope.binary), "lantest", *where, "-w", PASSWORD, "-n", "1", "-f", "2"]
    line += ["--watch=off"]
    done = scope.execute(line, env=kdc.env, save=True).expect(OK)
    assert done.run.saved["server"]["uam"] == "DHX2"


def test_a_missing_library_is_named_with_its_package(
    scope: Scope, kdc: Kdc, ticketed: Server, tmp_path: Path
) -> None:
    (tmp_path / "libgssapi_krb5.so.2").touch()
    log_in(scope, kdc, ticketed.port, LD_LIBRARY_PATH=str(tmp_path)).expect(
        NO_SESSION, "needs the library libgssapi_krb5.so.2 (Debian: libgssapi-krb5-2)"
    )


def test_a_kdc_that_does_not_answer_is_named(scope: Scope) -> None:
    """The service's ticket is not there yet, and nobody gives it."""
    with Kdc() as own:
        own.add_user("bench1", PASSWORD)
        own.add_service(SERVICE)
        own.tickets("bench1", PASSWORD)
        with serving(own) as server:
            own.stop()
            log_in(scope, own, server.port).expect(NO_SESSION, "Cannot contact any KDC")
