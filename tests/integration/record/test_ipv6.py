# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers and clients with addresses of IPv6: of the loopback, of a link, and of IPv4 on a socket
of IPv6. All are in network namespaces of the tests.

Tests user/attach/others.c, user/watch/bpf/sessions.c.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
from collections.abc import Iterator

import pytest
from afpclient import AfpClient, Busy
from checks import check, only
from netatalk import Server
from netns import cable, inside, server_in, space
from scope import DBD, OK, Run, Scope, wait_until


@pytest.fixture(scope="module")
def host() -> Iterator[str]:
    with space("six") as path:
        yield path


@pytest.fixture(scope="module")
def six(host: str) -> Iterator[Server]:
    """A server that listens on :: alone, where clients of IPv4 come, too."""
    with server_in(host, AFPD_GLOBAL="afp listen = ::") as server:
        yield server


@pytest.fixture
def link(host: str) -> Iterator[tuple[Server, str]]:
    """A server behind a cable, and its address on that, with the name of the near end."""
    with space("box") as box, cable(host, box), server_in(box, AFPD_GLOBAL="afp listen = ::") as s:

        def addresses(path: str) -> list[tuple[str, str]]:
            with inside(path):
                line = ["ip", "-6", "-j", "addr", "show", "scope", "link", "-tentative"]
                out = subprocess.run(line, check=True, capture_output=True, text=True).stdout
            links = [each for each in json.loads(out) if each.get("addr_info")]
            return [(each["ifname"], each["addr_info"][0]["local"]) for each in links]

        wait_until(lambda: bool(addresses(host) and addresses(box)), 20, "the link to be ready")
        yield s, f"{addresses(box)[0][1]}%{addresses(host)[0][0]}"


def url(server: Server, host: str) -> str:
    return f"afp://bench1:secret1@{host}:{server.port}/vol1"


def lantest(scope: Scope, where: str) -> Run:
    line = [str(scope.binary), "lantest", "--uam=cleartext", "-n", "1", "-v", "-f", ":", where]
    done = scope.execute(line, save=True).expect(OK)
    assert done.run
    run = done.run
    assert run.complete and run.saved["books"] and not run.open_books() and not run.losses()
    assert run.phase(10).columns() == DBD[10]
    return run


def probe(scope: Scope, server: Server, where: str, other: str) -> Run:
    """Beside another client; its requests are those on our connections."""
    with contextlib.ExitStack() as stack:
        client = AfpClient(server.port, host=other)
        stack.callback(client.close)
        stack.enter_context(Busy(client))
        line = [str(scope.binary), "probe", "--uam=cleartext", "-d", "1", where]
        done = scope.execute(line, save=True).expect(OK)
    assert done.run and not done.run.open_books()
    ours = [book for book in done.run.saved["books"] if "our connections" in book["name"]]
    assert ours and ours[0]["ours"] > 0
    return done.run


def test_by_its_address(scope: Scope, host: str, six: Server) -> None:
    with inside(host):
        run = lantest(scope, url(six, "[::1]"))
        assert run.saved["server"]["host"] == "::1"
        probe(scope, six, url(six, "[::1]"), "127.0.0.1")
        text = scope.execute([str(scope.binary), "lantest", "-n", "1", "-f", ":", "--uam=cleartext",
                              "-c", url(six, "[::1]")]).expect(OK)  # fmt: skip
        assert f"Connecting to host [::1]:{six.port}" in text.err


def test_address_of_a_link(scope: Scope, host: str, link: tuple[Server, str]) -> None:
    """With the name of the interface, as it is and as a URL must have it."""
    server, address = link
    with inside(host):
        lantest(scope, url(server, f"[{address}]"))
        lantest(scope, url(server, f"[{address.replace('%', '%25')}]"))
        probe(scope, server, url(server, f"[{address}]"), address)


def test_of_both_kinds(scope: Scope, host: str, six: Server) -> None:
    """IPv4 on a socket of IPv6: its address is shown as that of IPv4, and is a client's of ours."""
    with inside(host):
        lantest(scope, url(six, "127.0.0.1"))
        probe(scope, six, url(six, "127.0.0.1"), "::1")
        clients = [AfpClient(six.port, host=at) for at in ("127.0.0.1", "::1")]
        running = scope.record(None, "--port", str(six.port), "-d", "1")
        running.wait_recording()
        for client in clients:
            client.stat_root()
        run = running.finish().expect(OK).run
        assert run
        seen = {session["address"] for session in run.saved["sessions"]}
        ports = [client.local_port() for client in clients]
        assert seen >= {f"127.0.0.1:{ports[0]}", f"[::1]:{ports[1]}"}
        found = only(check(scope, "--port", str(six.port), status=OK))
        assert {s["client"] for s in found["sessions"]} >= {"127.0.0.1", "::1"}
        for client in clients:
            client.close()


def test_exporter_listens(scope: Scope, six: Server, host: str) -> None:
    with inside(host):
        line = [str(scope.binary), "exporter", "--port", str(six.port), "--listen", "[::1]:0"]
        running = scope.start(line)
        running.wait_for("listening: http://[::1]:")
        where = re.search(r"listening: (http://\S+)", running.err)
        assert where
        get = ["curl", "-gsS", "--max-time", "10", where[1]]
        page = subprocess.run(get, check=True, capture_output=True, text=True).stdout
        assert "afpscope_up 1" in page
        running.process.terminate()
        running.process.wait()
