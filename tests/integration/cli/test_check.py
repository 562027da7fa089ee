# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope check: what could be watched here, and what spoils figures. Whom it
finds is in test_servers.py.

Tests user/check/check.c, check_json.c, check_text.c.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from afpclient import AfpClient
from checks import Found, check, one_of, only, port_option, steps, taken
from netatalk import HERE, Server
from scope import AS_NOBODY, NO_SESSION, OK, UNTRUSTED, USAGE, WITHOUT_BPF, Scope, wait_until

# A process namespace of its own: no server is seen, and the kernel's numbers are others.
ALONE = ("unshare", "--pid", "--fork", "--mount-proc")


def test_root(scope: Scope, dbd: Server) -> None:
    found = check(scope, *port_option(dbd), status=OK)
    assert found["exact"]
    assert only(found)["exact"]
    rung = taken(found, "calls")
    assert rung in ("tp_btf", "tp raw_syscalls")
    assert only(found)["watch"].startswith(rung)
    assert steps(found, "calls")["/proc/PID/io"]["ok"]
    assert taken(found, "times") == "tp_btf sched_switch"
    facts = steps(found, "kernel")
    assert {"version", "BTF", "tracefs", "lockdown", "preemption", "rights"} <= set(facts)
    assert not any(step["taken"] for step in facts.values())
    assert all(step["why"] for step in found["ladder"])


def test_text(scope: Scope, dbd: Server) -> None:
    done = scope.execute([str(scope.binary), "check", *port_option(dbd)]).expect(OK)
    assert not done.err
    assert "exact       yes" in done.out
    assert f"pid {dbd.pid}, port {dbd.port}" in done.out
    assert f"cnid_metad pid {dbd.metad}" in done.out
    assert max(len(line) for line in done.out.splitlines()) <= 100
    assert len(done.out.splitlines()) <= 40
    assert "\033" not in done.out


def test_agrees_with_a_run(scope: Scope, dbd: Server) -> None:
    """What check says would be used is what lantest uses."""
    found = check(scope, *port_option(dbd), status=OK)
    used = scope.measure(dbd, "-n", "1", "-f", "8").saved["rungs"]["calls"]
    assert taken(found, "calls") in used


def test_bpf_forbidden(scope: Scope, dbd: Server) -> None:
    found = check(scope, *port_option(dbd), status=UNTRUSTED, before=WITHOUT_BPF)
    assert not found["exact"]
    assert taken(found, "calls") == "/proc/PID/io"
    for rung in ("tp_btf", "tp raw_syscalls"):
        assert "refused" in steps(found, "calls")[rung]["why"]
    assert only(found)["watch"].startswith("/proc/PID/io")
    # Who serves whom needs no BPF.
    assert only(found)["cnid_metad"] == dbd.metad


def test_ordinary_user(scope: Scope, dbd: Server, public: Path) -> None:
    found = check(scope, status=UNTRUSTED, before=AS_NOBODY, binary=str(public))
    entry = one_of(found, dbd)
    assert not found["exact"] and not entry["exact"]
    assert taken(found, "calls") is None
    assert "run as root" in steps(found, "calls")["tp_btf"]["why"]
    assert entry["hidden"]
    assert entry["ports"] == []
    assert entry["program"] is None
    assert entry["watch"].startswith("nothing")
    assert "CAP_BPF" in steps(found, "kernel")["rights"]["why"]


def test_ordinary_user_names_a_port(scope: Scope, dbd: Server, public: Path) -> None:
    found = check(
        scope,
        *port_option(dbd),
        status=UNTRUSTED,
        before=AS_NOBODY,
        binary=str(public),
    )
    assert "no right to see which process listens on it" in found["message"]
    assert found["servers"] == []


def test_no_server(scope: Scope) -> None:
    found = check(scope, status=NO_SESSION, before=ALONE)
    assert found["servers"] == []
    assert "no afpd runs here" in found["message"]
    assert not found["exact"]
    assert "PID namespace" in steps(found, "calls")["tp_btf"]["why"]

    done = scope.execute([*ALONE, str(scope.binary), "check"])
    done.expect(NO_SESSION, "no afpd runs here")
    assert "server      none" in done.out
    assert "What can be watched" not in done.out


def test_usage(scope: Scope) -> None:
    """The message and the exit code of main(); all others: unit/main/test_usage.c."""
    done = scope.execute([str(scope.binary), "check", "--port", "0"]).expect(USAGE, "check: --port")
    assert not done.out


def test_help(scope: Scope) -> None:
    done = scope.execute([str(scope.binary), "check", "--help"]).expect(OK)
    assert "--port" in done.out
    assert "check" in scope.execute([str(scope.binary), "--help"]).expect(OK).out


def test_json_beside_the_text(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    saved = tmp_path / "check.json"
    command = [str(scope.binary), "check", "-v", *port_option(dbd), "--json"]
    done = scope.execute([*command, str(saved)]).expect(OK)
    assert "What can be watched" in done.out
    assert only(json.loads(saved.read_text()))["pid"] == dbd.pid
    assert [path.name for path in tmp_path.iterdir()] == ["check.json"]
    scope.execute([*command, str(tmp_path / "no" / "x.json")]).expect(USAGE, "x.json")


def keys(found: Found) -> dict[str, Found]:
    return {warning["key"]: warning for warning in found["warnings"]}


def test_quiet_server_gives_no_warning(scope: Scope, dbd: Server) -> None:
    """The servers of the tests are set up for measuring, and pinned."""
    found = check(scope, *port_option(dbd), status=OK)
    assert not {key for key in keys(found) if key not in ("governor", "swap")}


def test_settings_that_spoil_figures(scope: Scope) -> None:
    more = "log level = default:info\nuse sendfile = no\ndircache size = 1024\nfce listener = x"
    with Server(
        "forky", "dbd", AFPD_GLOBAL=more, AFPD_VOLUME="convert appledouble = yes"
    ) as server:
        lines = server.conf.read_text().splitlines()
        found = check(scope, *port_option(server), status=OK)
        done = scope.execute([str(scope.binary), "check", "-v", *port_option(server)]).expect(OK)
    told = keys(found)
    for key, line in (
        ("sendfile", "use sendfile = no"),
        ("dircache", "dircache size = 1024"),
        ("fce", "fce listener = x"),
        ("log-level", "log level = default:info"),
    ):
        assert told[key]["where"] == f"/inst/{server.port}/afp.conf:{lines.index(line) + 1}"
        assert told[key]["server"] == server.pid
        assert not told[key]["hint"]
        assert told[key]["todo"]
        assert told[key]["where"] in done.out
    assert "[vol1]" in told["log-file"]["what"]
    assert sum(warning["key"] == "appledouble" for warning in found["warnings"]) == 3
    assert told["placement"]["hint"]


def test_a_hint_for_several_servers_is_said_once(scope: Scope) -> None:
    with Server("forky", "sqlite") as one, Server("forky", "sqlite") as other:
        out = scope.execute([str(scope.binary), "check", "-v"]).out
        found = json.loads(scope.execute([str(scope.binary), "check", "--json", "-"]).out)
    assert one.pid != other.pid
    hints = [w for w in found["warnings"] if w["key"] == "placement"]
    assert {one.pid, other.pid} <= {w["server"] for w in hints}
    flat = " ".join(out.split())
    several = {w["what"] for w in hints}
    assert flat.count("-> for comparisons pin server and client") == len(several)
    assert re.search(rf"hint [^:]*\bpid {one.pid}\b[^:]*: may run", flat)
    assert re.search(rf"hint [^:]*\bpid {other.pid}\b[^:]*: may run", flat)


@pytest.fixture(params=["bullseye", "forky"])
def including(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server whose log level stands in an included file."""
    suite: str = request.param
    root = subprocess.run(
        [str(HERE / "root.sh"), suite], check=True, capture_output=True, text=True
    ).stdout.strip()
    included = Path(root) / "tmp" / f"afpscope-{os.getpid()}.conf"
    included.write_text("log level = default:maxdebug\n")
    try:
        with Server(suite, "dbd", AFPD_GLOBAL=f"include = /tmp/{included.name}") as server:
            yield server
    finally:
        included.unlink()


def test_included_settings(scope: Scope, including: Server) -> None:
    """netatalk 3.1 reads them, 4.5 does not: the server's own log is the judge."""
    AfpClient(including.port).close()
    followed = including.log.stat().st_size > 0
    assert followed == (including.suite == "bullseye")
    told = keys(check(scope, *port_option(including), status=OK))
    assert ("log-level" in told) == followed
    assert ("include" in told) != followed


def test_tracer_is_told(scope: Scope, dbd: Server) -> None:
    with subprocess.Popen(
        ["strace", "-p", str(dbd.pid), "-o", "/dev/null"], stderr=subprocess.DEVNULL
    ) as strace:
        status = Path(f"/proc/{dbd.pid}/status")
        wait_until(lambda: f"TracerPid:\t{strace.pid}" in status.read_text(), 10, "strace")
        found = check(scope, *port_option(dbd), status=OK)
        strace.terminate()
    assert keys(found)["traced"]["where"] == f"pid {dbd.pid}"
    assert f"process {strace.pid} (strace)" in keys(found)["traced"]["what"]
