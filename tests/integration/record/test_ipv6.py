# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers and clients with addresses of IPv6: of the loopback, of a link, and of IPv4 on a socket
of IPv6. All are in network namespaces of the tests.

Tests user/attach/others.c, user/watch/bpf/sessions.c, user/kinds/way.c.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from afpclient import AfpClient, Busy
from checks import check, only
from forwarding import docker_proxy_line, free_port, listens, socat_line, started
from netatalk import Server
from netns import cable, inside, ip, server_in, space
from scheduling import in_check
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


# Place: `afp://u@[::1]:548/v`; a server that listens on `::` alone, by `--port` | exact
def test_by_its_address(scope: Scope, host: str, six: Server) -> None:
    with inside(host):
        run = lantest(scope, url(six, "[::1]"))
        assert run.saved["server"]["host"] == "::1"
        probe(scope, six, url(six, "[::1]"), "127.0.0.1")
        text = scope.execute([str(scope.binary), "lantest", "-n", "1", "-f", ":", "--uam=cleartext",
                              "-c", url(six, "[::1]")]).expect(OK)  # fmt: skip
        assert f"Connecting to host [::1]:{six.port}" in text.err


# Place: an address of a link, `[fe80::1%eth0]` or `[fe80::1%25eth0]` | exact
def test_address_of_a_link(scope: Scope, host: str, link: tuple[Server, str]) -> None:
    """With the name of the interface, as it is and as a URL must have it."""
    server, address = link
    with inside(host):
        lantest(scope, url(server, f"[{address}]"))
        lantest(scope, url(server, f"[{address.replace('%', '%25')}]"))
        probe(scope, server, url(server, f"[{address}]"), address)


Alike = tuple[Server, str, list[int], list[AfpClient]]
NEAR_PORT = 5600
COMMANDS = (3, 40)  # of the two clients in a test, so that they can be told apart


def link_up(path: str, name: str, address: str) -> int:
    """The number of the interface."""
    with inside(path):
        ip("link", "set", name, "up")
        ip("addr", "add", f"{address}/64", "dev", name, "nodad")
        return socket.if_nametoindex(name)


@pytest.fixture(scope="module")
def alike() -> Iterator[Alike]:
    """Two clients, each in a network namespace of its own, behind links of the server's that have
    the same addresses: their connections differ in the server's interface only."""
    with contextlib.ExitStack() as stack:
        here = stack.enter_context(space("alike"))
        server = stack.enter_context(server_in(here, AFPD_GLOBAL="afp listen = ::"))
        numbers, clients = [], []
        for name in ("left", "right"):
            there = stack.enter_context(space(name))
            with inside(here):
                end = ("netns", Path(there).name)
                ip("link", "add", name, "type", "veth", "peer", "name", f"{name}x", *end)
            numbers.append(link_up(here, name, "fe80::1"))
            near = ("fe80::2", NEAR_PORT, 0, link_up(there, f"{name}x", "fe80::2"))
            with inside(there):
                clients.append(AfpClient(server.port, host=f"fe80::1%{name}x", near=near))
            stack.callback(clients[-1].close)
        yield server, here, numbers, clients


def ask(alike: Alike) -> None:
    for client, n in zip(alike[3], COMMANDS, strict=True):
        for _ in range(n):
            client.stat_root()


def addresses_of(alike: Alike) -> list[str]:
    return [f"[fe80::2%{number}]:{NEAR_PORT}" for number in alike[2]]


def test_clients_alike_but_for_the_link_are_found(scope: Scope, alike: Alike) -> None:
    server, here, numbers, _ = alike
    with inside(here):
        found = only(check(scope, "--port", str(server.port), status=OK))
    assert {s["client"] for s in found["sessions"]} == {f"fe80::2%{n}" for n in numbers}


# Place: clients whose addresses and ports are alike but for the link (`fe80::2` on two
#   interfaces) | exact; shown with the number of the interface, `[fe80::2%3]:5600`
@pytest.mark.parametrize("command", ["record", "doctor"])
def test_clients_alike_but_for_the_link_are_watched(
    scope: Scope, alike: Alike, command: str
) -> None:
    """Each has its own requests."""
    server, here, _, _ = alike
    with inside(here):
        line = [str(scope.binary), command, "--port", str(server.port), "-d", "2"]
        running = scope.start(line, save=True)
        running.wait_recording()
        ask(alike)
        run = running.finish().run
    assert run and run.saved["books"] and not run.open_books() and not run.losses()
    seen = {session["address"]: session for session in run.saved["sessions"]}
    assert sorted(seen) == sorted(addresses_of(alike))
    for address, n in zip(addresses_of(alike), COMMANDS, strict=True):
        assert seen[address]["requests"] == n


@pytest.mark.parametrize("by", ["session", "client"])
def test_clients_alike_but_for_the_link_are_shown_live(scope: Scope, alike: Alike, by: str) -> None:
    server, here, numbers, _ = alike
    with inside(here):
        line = [str(scope.binary), "top", "--port", str(server.port), "--json", "--by", by]
        running = scope.start([*line, "-d", "2", "-n", "1"])
        running.wait_for(": watching process ")
        ask(alike)
        done = running.finish().expect(OK)
    rows = [row for line in done.out.splitlines() for row in json.loads(line).get("rows", [])]
    for number, n in zip(numbers, COMMANDS, strict=True):
        (row,) = [row for row in rows if f"[fe80::2%{number}]" in row["name"]]
        assert row["requests"] == n, rows


def test_a_request_that_waits_behind_a_link_is_seen(scope: Scope, alike: Alike) -> None:
    """It began before the watch: what its connection says of it is asked by its address."""
    server, here, _, clients = alike
    pids = {s["address"]: s["pid"] for s in sessions_of(scope, alike)}
    stopped = addresses_of(alike)[1]
    os.kill(pids[stopped], signal.SIGSTOP)
    try:
        asks = threading.Thread(target=clients[1].stat_root)
        asks.start()
        with inside(here):
            line = [str(scope.binary), "slow", "--port", str(server.port), "--json", "-d", "1"]
            done = scope.execute(line).expect(OK)
    finally:
        os.kill(pids[stopped], signal.SIGCONT)
        asks.join()
    waits = [json.loads(each) for each in done.out.splitlines()]
    assert [e["address"] for e in waits if "address" in e] == [stopped], done.out


def sessions_of(scope: Scope, alike: Alike) -> list[dict[str, Any]]:
    server, here, _, _ = alike
    with inside(here):
        running = scope.record(None, "--port", str(server.port), "-d", "1")
        running.wait_recording()
        ask(alike)
        run = running.finish().expect(OK).run
    assert run
    found: list[dict[str, Any]] = run.saved["sessions"]
    return found


def test_of_connections_alike_from_two_places_none_is_taken(scope: Scope, alike: Alike) -> None:
    """In the server's network namespace they differ in the interface only, which has another number
    than in the client's."""
    server, here, _, _ = alike
    left, right = (here.replace("-alike-", f"-{name}-") for name in ("left", "right"))
    ports = range(5700, 5704)
    with contextlib.ExitStack() as stack:
        with inside(right):
            number = socket.if_nametoindex("rightx")
            for port in ports:
                near = ("fe80::2", port, 0, number)
                client = AfpClient(server.port, host="fe80::1%rightx", near=near)
                stack.callback(client.close)
        with inside(left):
            text = f"{ports[0]} {ports[-1]}"
            Path("/proc/sys/net/ipv4/ip_local_port_range").write_text(text)
            line = [str(scope.binary), "lantest", "--uam=cleartext", "-n", "1", "-f", ":"]
            done = scope.execute([*line, url(server, "[fe80::1%leftx]")], save=True)
    assert "2 connections with these addresses end at [fe80::1]" in " ".join(done.out.split())
    assert done.run and not done.run.saved["books"]
    assert "(nsenter -n)" in str(done.run.saved["absent"])


@pytest.mark.parametrize("link", in_check(["left", "right"], ["right"]))
def test_a_load_by_either_link_finds_its_session(scope: Scope, alike: Alike, link: str) -> None:
    """Also where the server's host itself is the client."""
    server, here, _, _ = alike
    with inside(here):
        lantest(scope, url(server, f"[fe80::1%{link}]"))
        where = url(server, f"[fe80::1%25{link}]")
        options = ("--uam=cleartext", "-n", "2", "-d", "1", "--think=0.02")
        line = [str(scope.binary), "load", *options, where]
        done = scope.execute(line, save=True).expect(OK)
    assert done.run and not done.run.open_books()


# Place: a client of IPv4 on a socket of IPv6 | exact; shown as IPv4
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


# Programs that carry on what they read

Line = Callable[[str, int, str, int], list[str]]
CARRY: dict[str, Line] = {"socat": socat_line, "docker-proxy": docker_proxy_line}
CARRIED = in_check(CARRY, ["docker-proxy"])


@contextlib.contextmanager
def carried(how: str, path: str, host: str, to: str, server: Server) -> Iterator[int]:
    """The port of a program in a network namespace."""
    with inside(path), contextlib.ExitStack() as stack:
        port = free_port()
        stack.enter_context(started(CARRY[how](host, port, to, server.port)))
        wait_until(lambda: listens(port), 20, f"{how} to listen")
        yield port


def check_behind(run: Run, how: str) -> None:
    assert "(afpd)" in run.saved["server"]["afpd"]
    assert re.search(rf"{how} \(pid \d+\) carries what comes on port", run.warning("way"))


def through(scope: Scope, where: str, host: str, port: int, how: str) -> None:
    """A load from a network namespace, through the program, is one of the server's."""
    with inside(where):
        check_behind(lantest(scope, f"afp://bench1:secret1@[{host}]:{port}/vol1"), how)


# Place: such a program between addresses of IPv6: of the loopback, of a link, in another
#   network namespace | exact, the server behind; warning `way`
@pytest.mark.parametrize("to", in_check(["::1", "127.0.0.1"], ["127.0.0.1"]))
@pytest.mark.parametrize("how", CARRIED)
def test_behind_a_program(scope: Scope, host: str, six: Server, how: str, to: str) -> None:
    with carried(how, host, "::1", to, six) as port:
        through(scope, host, "::1", port, how)


# Place: such a program between addresses of IPv6: of the loopback, of a link, in another
#   network namespace
@pytest.mark.parametrize("how", CARRIED)
def test_client_of_a_link_behind_a_program(scope: Scope, alike: Alike, how: str) -> None:
    """Its client is in another network namespace, and has an address of a link."""
    _, here, _, _ = alike
    left = here.replace("-alike-", "-left-")
    with carried(how, here, "::", "::1", alike[0]) as port:
        through(scope, left, "fe80::1%leftx", port, how)


# Place: such a program between addresses of IPv6: of the loopback, of a link, in another
#   network namespace
def test_program_that_carries_on_by_a_link(
    scope: Scope, host: str, link: tuple[Server, str]
) -> None:
    """The server, in another network namespace, is what has an address of a link; docker-proxy
    takes none."""
    server, address = link
    with carried("socat", host, "::1", address, server) as port:
        through(scope, host, "::1", port, "socat")


# Place: `record`, `top`, ... with `--port` of such a program
@pytest.mark.parametrize("how", CARRIED)
def test_port_of_a_program(scope: Scope, alike: Alike, how: str) -> None:
    """Two clients of it have the same address and port, on different interfaces."""
    server, here, _, _ = alike
    ports = {each: NEAR_PORT + 1 + at for at, each in enumerate(CARRY)}
    with carried(how, here, "::", "::1", server) as port, contextlib.ExitStack() as stack:
        for name in ("left", "right"):
            there = here.replace("-alike-", f"-{name}-")
            with inside(there):
                near = ("fe80::2", ports[how], 0, socket.if_nametoindex(f"{name}x"))
                client = AfpClient(port, host=f"fe80::1%{name}x", near=near)
            stack.callback(client.close)
        with inside(here):
            running = scope.record(None, "--port", str(port), "-d", "1")
            running.wait_recording()
            for _ in range(20):
                client.stat_root()
            run = running.finish().expect(OK).run
    assert run and not run.open_books() and not run.losses()
    check_behind(run, how)
    assert run.phases[0].requests()[34] == 20


def exporter_listens(scope: Scope, server: Server, path: str, listen: str, shown: str) -> None:
    """Its page can be read at the address that it shows."""
    with inside(path):
        line = [str(scope.binary), "exporter", "--port", str(server.port), "--listen", listen]
        running = scope.start(line)
        running.wait_for(f"listening: http://{shown}:")
        where = re.search(r"listening: (http://\S+)", running.err)
        assert where
        get = ["curl", "-gsS", "--max-time", "10", where[1]]
        page = subprocess.run(get, check=True, capture_output=True, text=True).stdout
        assert "afpscope_up 1" in page
        running.process.terminate()
        running.process.wait()


def test_exporter_listens(scope: Scope, six: Server, host: str) -> None:
    exporter_listens(scope, six, host, "[::1]:0", "[::1]")


def test_exporter_listens_at_an_address_of_a_link(scope: Scope, alike: Alike) -> None:
    server, here, numbers, _ = alike
    exporter_listens(scope, server, here, "[fe80::1%right]:0", f"[fe80::1%{numbers[1]}]")
