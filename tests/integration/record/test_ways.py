# SPDX-License-Identifier: GPL-2.0-or-later
"""A client that reaches its server through something else: that server is watched, or it is said
why not; never what is in between.

Tests user/kinds/way.c, user/doctor/rules/rules_way.c, user/host/net/conntrack.c.
"""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from afpclient import AfpClient, Busy
from checks import check, only
from forwarding import FORWARDERS, carried_by_a_child, forwarded, free_port, listens, started
from known import LOOK, known
from netatalk import Server
from netns import HIDDEN, cable, inside, server_in, space
from scheduling import in_check
from scope import AS_NOBODY, DBD, FAILED, NO_SESSION, OK, Done, Phase, Run, Scope, wait_until
from test_tracing import read

# Of the programs that carry on, in make check; with all, also each way to be found by another
# command: in make check-judges.
CHECKED = ("socat", "docker-proxy", "ssh", "own", "thread-called-afpd")
BY_A_CHILD = in_check(["pipe", "socket", "pipe afpd", "socket afpd"], ["pipe", "socket afpd"])


def client(
    scope: Scope,
    server: Server,
    port: int,
    *args: str,
    tool: str = "lantest",
    host: str = "127.0.0.1",
) -> list[str]:
    """A command to this port, in place of the server's own."""
    line = scope.command(server, *args, tool=tool, host=host)
    line[line.index("-p") + 1] = str(port)
    return line


def counted(phase: Phase) -> dict[str, int]:
    """afpd's calls that succeeded, by class and object, but the few that depend on time."""
    return {
        f"{row['class']} {row['object']}": row["calls"] - row["errors"]
        for row in phase.rows()
        if row["role"] == "afpd" and row["class"] != "wait" and row["calls"] >= 10
    }


@pytest.fixture(scope="module")
def direct(scope: Scope, _dbd: Server) -> dict[str, int]:
    """What the server does where nothing is in between."""
    done = scope(_dbd, "-n", "1", "-v", "-f", ":", save=True).expect(OK)
    assert done.run
    done.run.assert_trustworthy()
    return counted(done.run.phase(10))


def check_watched(done: Done, names: list[str]) -> Run:
    """It is afpd, and all that is in between is named."""
    assert done.run
    run = done.run
    assert run.complete and run.saved["books"], run.saved["absent"]
    assert not run.open_books() and not run.losses()
    assert "(afpd)" in run.saved["server"]["afpd"]
    keys = {warning["key"] for warning in run.saved["warnings"]}
    assert keys - {"early"} == {"way"}  # early: the load was short
    for name in names:  # sshd from OpenSSH 9.8 on: sshd-session
        assert re.search(
            rf"{name}(p|-session)? \(pid \d+\) carries what comes on port", run.warning("way")
        )
    return run


# Place: socat, docker-proxy, HAProxy, nginx, redir, xinetd, systemd-socket-proxyd, a program of
#   one's own | exact, the server behind; warning `way`
# Place: ssh -L and the sshd at its end, both here | exact, the server behind; warning `way`
# Place: such a program whose process, thread, first argument or file is called afpd | exact, the
#   server behind; warning `way`
@pytest.mark.parametrize("how", in_check(FORWARDERS, CHECKED))
def test_behind_a_program(
    scope: Scope, dbd: Server, direct: dict[str, int], how: str, tmp_path: Path
) -> None:
    with forwarded(how, dbd.port, tmp_path) as (port, names):
        line = client(scope, dbd, port, "-n", "1", "-v", "-f", ":")
        run = check_watched(scope.execute(line, save=True).expect(OK), names)
    assert counted(run.phase(10)) == direct
    assert run.phase(10).columns() == DBD[10]
    assert run.phase(10)["cnid_syscw"] >= 600


# Place: one of several clients of such a program in one process of it | exact; where as much
#   went through another one, requests for the volume's free space make ours differ first
@pytest.mark.parametrize("how", in_check(["haproxy", "own", "called-afpd"], ["haproxy"]))
def test_among_other_clients_of_a_program(
    scope: Scope, dbd: Server, how: str, tmp_path: Path
) -> None:
    """Of its connections, all in one process, the one is ours that carried what ours did."""
    with forwarded(how, dbd.port, tmp_path) as (port, names), contextlib.ExitStack() as stack:
        clients = [AfpClient(port) for _ in range(6)]
        for other in clients:
            stack.callback(other.close)
        stack.enter_context(Busy(clients[0]))
        others = set(dbd.sessions())
        line = client(scope, dbd, port, "-n", "1", "-v", "-f", ":")
        run = check_watched(scope.execute(line, save=True).expect(OK), names)
    assert len(others) >= 6 and run.pid("afpd") not in others
    assert run.phase(10).columns() == DBD[10]


# Place: a trace through such a program | exact: both sides of a request join
def test_a_trace_joins_both_sides(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    """By the port that the server knows."""
    folder = tmp_path / "run"
    with forwarded("socat", dbd.port, tmp_path) as (port, _):
        line = client(scope, dbd, port, "-n", "1", "-f", ":", "--trace", "-o", str(folder))
        scope.execute(line).expect(OK)
    sides = [read(folder / "trace" / name).records for name in ("requests", "client")]
    served, asked = [{(r.port, r.dsi_id) for r in records} for records in sides]
    assert served == asked and len(asked) > 800


@pytest.fixture
def by_socket(dbd: Server, tmp_path: Path) -> Iterator[int]:
    """A port from which one socat leads to another by what is no connection of TCP."""
    path, port = tmp_path / "socket", free_port()
    with contextlib.ExitStack() as stack:
        for line in (
            [f"UNIX-LISTEN:{path},fork", f"TCP:127.0.0.1:{dbd.port}"],
            [f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork", f"UNIX-CONNECT:{path}"],
        ):
            stack.enter_context(started(["socat", *line]))
        wait_until(lambda: path.exists() and listens(port), 20, "both to listen")
        yield port


# Place: a program that carries on by other means than TCP | refused, by its name (of known
#   programs)
def test_what_cannot_be_followed_is_refused_by_name(
    scope: Scope, dbd: Server, by_socket: int
) -> None:
    line = client(scope, dbd, by_socket, "-n", "1", "-v", "-f", ":")
    done = scope.execute(line, save=True).expect(OK)
    assert done.run and done.run.phase(10).metrics["afpd_syscr"] is None
    why = done.run.saved["absent"]["*"]
    assert re.search(r"ends in socat \(pid \d+\), which is no AFP server but carries on", why)
    assert "tcp.server" not in done.run.saved["server"]
    scope.execute([*line, "--watch=bpf"]).expect(FAILED, "ends in socat (pid ")


class Child(NamedTuple):
    """The port of such a program, and what is said of its name."""

    port: int
    said: str


@pytest.fixture(params=BY_A_CHILD)
def by_a_child(dbd: Server, request: pytest.FixtureRequest) -> Iterator[Child]:
    how, _, name = request.param.partition(" ")
    with carried_by_a_child(dbd.port, how, name=name) as port:
        said = r"python\S* \(pid \d+\) is no afpd by name or library"
        yield Child(port, r"afpd \(pid \d+\) is known by its name alone" if name else said)


# Place: a program of one's own that carries on by a pipe or a Unix socket, also one that calls
#   itself afpd | counted as if it were the server, and said, by the bytes that went on; with
#   `/proc` alone: that it may be so
def test_a_program_that_may_carry_on_is_no_server_without_a_word(
    scope: Scope, dbd: Server, by_a_child: Child
) -> None:
    for watch, how in (
        ("bpf", "its clients' bytes may go on"),
        ("proc", "what it passes on is not seen"),
    ):
        line = client(scope, dbd, by_a_child.port, "-n", "1", "-f", ":", f"--watch={watch}")
        done = scope.execute(line, save=True).expect(OK)
        assert done.run
        assert re.match(rf"{by_a_child.said}, and {how}", done.run.warning("way"))
        assert re.search(rf"Warning: {by_a_child.said}", " ".join(done.out.split()))
        assert "quiet" not in done.run.warning("watch")  # its threads wait for one another


# Place: a program of one's own that carries on by a pipe or a Unix socket, also one that calls
#   itself afpd
def test_a_diagnosis_of_what_may_carry_on_is_none_of_the_server(
    scope: Scope, by_a_child: Child
) -> None:
    other = AfpClient(by_a_child.port)
    with contextlib.ExitStack() as stack:
        stack.callback(other.close)
        stack.enter_context(Busy(other))
        for tool in ("record", "doctor"):
            line = [str(scope.binary), tool, "-d", "1", "--port", str(by_a_child.port)]
            done = scope.execute(line, save=True)
            assert done.run and re.match(by_a_child.said, done.run.warning("way"))
            said = " ".join(done.out.split())
            relay = "what was watched may be a relay in front of the server: "
            assert re.search(relay + by_a_child.said, said)
            assert "The server is idle" not in said and "Nothing is wrong" not in said


@pytest.mark.parametrize("watch", in_check(["proc", "off", "bpf"], ["proc", "bpf"]))
def test_a_load_rules_a_relay_out_only_where_it_would_be_seen(
    scope: Scope, dbd: Server, by_a_child: Child, watch: str
) -> None:
    options = ["-n", "1", "-d", "1", "--files=5", "--think=0.005", f"--watch={watch}"]
    line = client(scope, dbd, by_a_child.port, *options, tool="load")
    done = scope.execute(line, save=True)
    assert done.run
    said, key = done.run.saved["diagnosis"], "not-the-server"
    assert key not in said["ruled_out"]
    if watch == "bpf":
        assert said["findings"][0]["key"] == key
    else:
        assert key in said["not_seen"]
        assert done.run.saved["figures"]["passed_on"]["value"] is None


# Place: a program of one's own that carries on by a pipe or a Unix socket, also one that calls
#   itself afpd
def test_what_may_carry_on_is_named_before_it_is_shown(
    scope: Scope, by_a_child: Child, tmp_path: Path
) -> None:
    """Their output goes on before it is known what is passed on."""
    for tool in (["slow"], ["top", "-b"], ["exporter", f"--textfile={tmp_path}/metrics.prom"]):
        running = scope.start([str(scope.binary), *tool, "--port", str(by_a_child.port)])
        running.wait_for(by_a_child.said.rpartition(" is ")[2] + ": if it is a relay")
        running.signal(signal.SIGINT)
        running.finish()


# Becomes the program that follows, which has a pipe or a socket to another process then.
INHERIT = """
import os, socket, sys
end = os.pipe() if sys.argv[1] == "pipe" else [s.detach() for s in socket.socketpair()]
if not os.fork():
    os.close(end[1])
    os._exit(len(os.read(end[0], 1)))
os.close(end[0])
os.set_inheritable(end[1], True)
os.execv(sys.argv[2], sys.argv[2:])
"""


# Place: a server of another name with a pipe or a Unix socket to another process, which it does
#   not use | exact
@pytest.mark.parametrize("how", ["pipe", "socket"])
def test_what_a_server_does_not_use_is_no_way_on(scope: Scope, how: str, tmp_path: Path) -> None:
    (tmp_path / "look.ini").write_text(LOOK)
    with known(log=False, before=(sys.executable, "-c", INHERIT, how)) as server:
        line = [str(scope.binary), "load", "--uam", "guest", "-n", "1", "-d", "1", "-m"]
        done = scope.execute(
            [*line, str(tmp_path / "look.ini"), "--think=0.002", server.url], save=True
        ).expect(OK)
    assert done.run and done.run.warning("way") == ""
    assert done.run.phases[0].requests()[34] > 100


# Place: all sessions (`load`, `probe`) through such a program | exact; the client's count is
#   not compared
def test_all_sessions_of_the_server_behind(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    """Which of its connections are ours is not known then."""
    with forwarded("socat", dbd.port, tmp_path) as (port, names), busy(dbd):
        line = client(scope, dbd, port, "-d", "2", tool="probe")
        run = check_watched(scope.execute(line, save=True).expect(OK), names)
    clients = sum(command["ops"] for p in run.phases for command in p.saved["commands"])
    assert sum(sum(p.requests().values()) for p in run.phases) > max(clients, 100)


@contextlib.contextmanager
def busy(server: Server) -> Iterator[None]:
    """Another client, which asks without a pause."""
    with contextlib.ExitStack() as stack:
        other = AfpClient(server.port)
        stack.callback(other.close)
        stack.enter_context(Busy(other))
        yield


# Place: `record`, `top`, ... with `--port` of such a program | exact, the server to which a
#   client of it leads; of several clients in one process all where they lead to one address
@pytest.mark.parametrize(
    "how",
    in_check(["socat", "haproxy", "own", "called-afpd", "copy-afpd"], ["haproxy", "copy-afpd"]),
)
def test_port_of_a_program(scope: Scope, dbd: Server, how: str, tmp_path: Path) -> None:
    """A recording of it is one of the server to which its clients' connections lead."""
    with forwarded(how, dbd.port, tmp_path) as (port, names):
        other = AfpClient(port)
        running = scope.record(None, "--port", str(port), "-d", "1")
        running.wait_recording()
        for _ in range(20):
            other.stat_root()
        run = check_watched(running.finish().expect(OK), names)
        assert run.phases[0].requests()[34] == 20
        found = only(check(scope, "--port", str(port), status=OK))
        assert found["pid"] == dbd.pid
        # No other kind takes what is AFP's, and named by its port.
        for named in (port, dbd.port):
            line = [str(scope.binary), "doctor", "-d", "1", "--port", str(named)]
            assert re.match(rf"doctor +port {dbd.port} ", scope.execute(line).out)
        other.close()


# Place: `--port` of such a program that has no client | refused, by its name (of known
#   programs)
def test_port_of_a_program_without_clients(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    with forwarded("socat", dbd.port, tmp_path) as (port, _):
        said = f"listens on port {port}, and carries on"
        for tool in ("record", "top", "doctor", "slow"):
            done = scope.execute([str(scope.binary), tool, "--port", str(port)])
            done.expect(NO_SESSION, "socat (pid ", said)
        line = ["exporter", "--listen", "127.0.0.1:0", "--port", str(port)]
        scope.start([str(scope.binary), *line]).wait_for(said)


# Place: such a program that is called afpd, whose first client comes while it is watched | counted
#   as if it were the server, and said, by the bytes that went on
@pytest.mark.parametrize("how", in_check(["called-afpd", "copy-afpd"], ["called-afpd"]))
def test_clients_of_a_program_that_is_called_afpd(
    scope: Scope, dbd: Server, how: str, tmp_path: Path
) -> None:
    with forwarded(how, dbd.port, tmp_path) as (port, _):
        hints = check(scope, "--port", str(port), status=OK)["warnings"]
        assert "afpd is known by its name alone" in [hint["what"] for hint in hints]
        running = scope.record(None, "--port", str(port))
        running.wait_recording()
        with contextlib.closing(AfpClient(port)) as other:
            for _ in range(20):
                other.stat_root()
        running.signal(signal.SIGINT)
        done = running.finish()
    assert done.run and done.run.phases[0].requests()[34] == 20
    said = r"afpd \(pid \d+\) is known by its name alone, and its clients' bytes may go on"
    assert re.match(said, done.run.warning("way"))


# Place: such a program that is called afpd beside the server, where no server is named | it is no
#   server
@pytest.mark.parametrize("how", in_check(["called-afpd", "copy-afpd"], ["called-afpd"]))
def test_a_program_that_is_called_afpd_is_no_second_server(
    scope: Scope, dbd: Server, how: str, tmp_path: Path
) -> None:
    with forwarded(how, dbd.port, tmp_path) as (port, _), contextlib.closing(AfpClient(port)):
        found = check(scope, status=OK)["servers"]
        assert dbd.pid in [server["pid"] for server in found]
        assert port not in [each for server in found for each in server["ports"]]


# Addresses that the kernel translates

# What comes to port 10548 goes to {to} (redirect), or to another address as a container's.
REDIRECT = """
table inet t {{
    chain out {{ type nat hook output priority -100; tcp dport 10548 redirect to :{port}; }}
}}
"""
PUBLISH = """
table ip t {{
    chain in {{ type nat hook prerouting priority -100; tcp dport 10548 dnat to {to}:{port}; }}
    chain out {{ type nat hook output priority -100; tcp dport 10548 dnat to {to}:{port}; }}
    chain post {{ type nat hook postrouting priority 100; {post}; }}
}}
"""


def nft(path: str, rules: str) -> None:
    with inside(path):
        subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True, timeout=20)


@pytest.fixture
def host() -> Iterator[str]:
    """A network namespace in which the client is."""
    with space("host") as path:
        yield path


# Place: a port that the kernel redirects (nft, iptables), IPv4 and IPv6 | exact
# Place: a port that the kernel redirects, without the rights of root | refused, with DNAT as
#   what it may be
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_redirect(scope: Scope, host: str, public: Path, address: str) -> None:
    """The server's end has another port than the one that the client connected to."""
    with server_in(host, AFPD_GLOBAL=f"afp listen = {address}") as server:
        nft(host, REDIRECT.format(port=server.port))
        with inside(host):
            line = client(scope, server, 10548, "-n", "1", "-v", "-f", ":", host=address)
            done = scope.execute(line, save=True).expect(OK)
            line[line.index(str(scope.binary))] = str(public)
            blind = scope.execute([*AS_NOBODY, *line]).expect(OK)
    assert "an address that the kernel translates (DNAT;" in " ".join(blind.out.split())
    assert done.run
    done.run.assert_trustworthy()
    assert done.run.phase(10).columns() == DBD[10]
    end = f"[{address}]" if ":" in address else address
    assert done.run.saved["server"]["way"] == (
        f"the kernel translates the address of port 10548 to {end}:{server.port} (DNAT)"
    )


# Place: a container's port, published by DNAT, with or without masquerading | exact
# Place: a container's port, published by DNAT, whose processes are hidden | refused, with DNAT
#   and the address
@pytest.mark.parametrize("post", ["counter", "masquerade"])
def test_published(scope: Scope, host: str, post: str) -> None:
    """A container's port, by its host's address."""
    with (
        space("box") as box,
        cable(host, box) as (here, there),
        server_in(box, AFPD_GLOBAL=f"afp listen = {there}") as server,
    ):
        nft(host, PUBLISH.format(to=there, port=server.port, post=post))
        with inside(host):
            line = client(scope, server, 10548, "-n", "1", "-v", "-f", ":", host=here)
            done = scope.execute(line, save=True).expect(OK)
            hidden = scope.execute([*HIDDEN, *line], save=True).expect(OK)
    assert done.run and hidden.run
    done.run.assert_trustworthy()
    assert done.run.phase(10).columns() == DBD[10]
    dnat = f"the kernel translates the address of port 10548 to {there}:{server.port} (DNAT)"
    assert done.run.saved["server"]["way"] == dnat
    why = hidden.run.saved["absent"]["*"]
    assert why == f"{dnat}; the server ({there}:{server.port}) is not on this host: " + (
        "run afpscope on the server"
    )
