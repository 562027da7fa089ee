# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope exporter: what a client sent is what Prometheus reads, whatever happens meanwhile.

The judges are the client itself, promtool and a real Prometheus. Tests user/exporter/exporter.c,
exporter_watch.c, exporter_serve.c, exporter_http.c.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import stat
import struct
import subprocess
import time
import urllib.error
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from afpclient import AfpClient, Busy
from exporting import (
    MONITORING,
    OPENMETRICS,
    TEXT,
    Exporter,
    Metrics,
    alerts,
    dashboard,
    export,
    fetch,
    prometheus,
    promtool,
    unit_capabilities,
)
from netatalk import Server
from recording import RawClient, gone, orphans
from rights import BPF, SETUID, has, rights
from scope import (
    FAILED,
    NO_SESSION,
    OK,
    USAGE,
    WITHOUT_BPF,
    PinnedServer,
    Scope,
    both_cpus,
    children,
    wait_until,
)

STATS, FILES = 700, 30
NO_OBJECT = "-5018"


@pytest.fixture(scope="module")
def served() -> Iterator[Server]:
    """On a disk: in memory the CNID server may always have answered before afpd waits."""
    with PinnedServer("forky", "dbd", both_cpus()[0], AFPD_MEMORY="") as server:
        yield server


@pytest.fixture
def exporter(scope: Scope, served: Server) -> Iterator[Exporter]:
    running = export(scope, "-p", str(served.port))
    running.wait_up()
    yield running
    running.running.signal(signal.SIGTERM)
    running.running.finish(20).expect(OK)
    gone(served)


def do_known(server: Server) -> None:
    """So many requests of each, in a session of its own."""
    with contextlib.closing(RawClient(server.port)) as client:
        for i in range(FILES):
            client.create(f"secret-name-{i}")
            client.delete(f"secret-name-{i}")
        for _ in range(7):
            with contextlib.suppress(RuntimeError):
                client.open("is-not-there")
        for _ in range(STATS // 100):
            client.send(b"".join(client.stat_frame() for _ in range(100)))
            client.replies(100)


KNOWN = {
    "FPCreateFile": FILES,
    "FPDelete": FILES,
    "FPOpenFork": 7,
    "FPGetFileDirParms": STATS,
    "FPLogin": 1,
    "FPOpenVol": 1,
    "FPLogout": 1,
    "DSIOpenSession": 1,
}


def test_what_the_client_sent_is_what_is_counted(exporter: Exporter, served: Server) -> None:
    do_known(served)
    do_known(served)
    gone(served)
    wait_until(
        lambda: exporter.metrics().by("afpscope_cross_checks_total", "outcome")["agree"] >= 2,
        10,
        "the sessions' cross-checks",
    )
    found = exporter.metrics()
    assert found.requests() == {name: 2 * n for name, n in KNOWN.items()}
    counted = found.by("afpscope_request_duration_seconds_count", "command")
    assert counted == found.requests()
    errors = found.samples["afpscope_request_errors_total"]
    assert errors == {(("command", "FPOpenFork"), ("code", NO_OBJECT)): 14}
    assert found.one("afpscope_logins_total") == 2
    assert found.one("afpscope_sessions") == 0
    assert set(found.by("afpscope_losses_total", "what").values()) == {0}
    assert found.by("afpscope_cross_checks_total", "outcome")["disagree"] == 0
    parts = found.by("afpscope_request_time_seconds_total", "command")
    whole = found.by("afpscope_request_duration_seconds_sum", "command")
    assert parts == pytest.approx(whole, rel=0.01)
    received = found.by("afpscope_request_received_bytes_total", "command")
    # A header of 16 bytes, and what stat_frame has.
    assert received["FPGetFileDirParms"] == 2 * STATS * (16 + struct.calcsize(">BBHIHHBIH"))
    assert found.label("afpscope_info", "rung") == "bpf"
    assert found.label("afpscope_info", "server") == f"Netatalk{served.version}"
    assert found.by("afpscope_watch_cpu_seconds_total", "where")["programs"] > 0
    assert found.by("afpscope_system_calls_total", "role")["cnid_dbd"] > 0


def test_both_formats_say_the_same(exporter: Exporter, served: Server) -> None:
    do_known(served)
    gone(served)
    text, of_text = fetch(exporter.port, TEXT)
    openmetrics, of_openmetrics = fetch(exporter.port, OPENMETRICS)
    assert of_text.startswith("text/plain; version=0.0.4")
    assert of_openmetrics.startswith("application/openmetrics-text; version=1.0.0")
    assert openmetrics.endswith("\n# EOF\n") and "# EOF" not in text
    promtool("check", "metrics", text=text)
    ours, theirs = Metrics(text).samples, Metrics(openmetrics).samples
    same = [
        n for n in ours if n.startswith(("afpscope_request", "afpscope_logins", "afpscope_info"))
    ]
    assert len(same) > 8
    for name in same:
        assert theirs[name] == ours[name], name
    created = {n for n in theirs if n.endswith("_created")}
    assert set(theirs) - set(ours) == created and len(created) > 10
    for name in ("bench1", "vol1", "secret-name"):
        assert name not in openmetrics


def test_prometheus_reads_it_and_each_query_has_data(
    scope: Scope, exporter: Exporter, served: Server, tmp_path: Path
) -> None:
    assert "SUCCESS" in promtool("check", "rules", MONITORING / "afpscope-alerts.yml")
    promtool("test", "rules", Path(__file__).with_name("alerts_test.yml"))
    do_known(served)
    with (
        contextlib.closing(AfpClient(served.port)) as client,
        prometheus(scope, tmp_path, exporter) as server,
    ):
        with Busy(client):
            queries = dashboard() + alerts(server)
            assert len(queries) > 25
            missing: list[str] = []

            def all_there() -> bool:
                missing[:] = [f"{title}: {q}" for title, q in queries if not server.query(q)]
                return not missing

            with contextlib.suppress(AssertionError):
                wait_until(all_there, 15, "data of all queries", 0.5)
            assert not missing
        before = exporter.metrics().requests()

        def seen() -> dict[str, float]:
            rows = server.query("afpscope_requests_total")
            return {row["metric"]["command"]: float(row["value"][1]) for row in rows}

        wait_until(lambda: seen() == before, 10, "Prometheus to have the same counts", 0.2)
        up = server.query('up{job="afpscope"}')
        assert [row["value"][1] for row in up] == ["1"]


def test_slow_and_many_clients_stop_nobody(exporter: Exporter) -> None:
    rest = [socket.create_connection(("127.0.0.1", exporter.port)) for _ in range(150)]
    for i, each in enumerate(rest):
        # Of half of them the request never ends, the others never read.
        with contextlib.suppress(OSError):
            each.sendall(b"GET /metrics HTTP/1.1\r\n" + (b"X: " if i % 2 else b"\r\n"))
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: exporter.metrics().one("afpscope_up"), range(60)))
    assert answers == [1] * 60
    for each in rest:
        each.close()
    with socket.create_connection(("127.0.0.1", exporter.port)) as one:
        one.sendall(b"GET /" + b"x" * 100_000)
        with contextlib.suppress(ConnectionError):
            one.recv(100)
    assert exporter.metrics().one("afpscope_up") == 1
    (serving,) = children(exporter.pid)
    assert len(os.listdir(f"/proc/{serving}/fd")) < 60  # noqa: PTH208


def test_other_pages_and_methods(exporter: Exporter) -> None:
    page, of_type = fetch(exporter.port, path="/")
    assert "/metrics" in page and of_type.startswith("text/html")
    for path, method, code in (("/x", "GET", 404), ("/metrics", "POST", 405), ("/", "PUT", 405)):
        with pytest.raises(urllib.error.HTTPError) as caught:
            fetch(exporter.port, path=path, method=method, data=b"x" if method != "GET" else None)
        assert caught.value.code == code
        assert code == 404 or caught.value.headers["Allow"] == "GET, HEAD"


HOSTILE = b'"} 1\nafpscope_up 7\n\\\x1b[2J\xff'


def test_hostile_names_and_commands_become_no_series(exporter: Exporter, served: Server) -> None:
    with contextlib.closing(RawClient(served.port)) as client:
        for name in (HOSTILE, b"plain-secret"):
            head = struct.pack(">BBHIHH", 26, 0, client._volume, 2, 0, 3)
            path = b"\3" + struct.pack(">IH", 0x08000103, len(name)) + name
            client.send(client.frame(head + path))
            client.replies(1)
        for number in range(200, 256):
            client.send(client.frame(bytes([number, 0, 0, 0])))
            client.replies(1)

    def others() -> float:
        return exporter.metrics().requests().get("other", 0)

    wait_until(lambda: others() >= 56, 10, "the last of the commands")
    text, _ = fetch(exporter.port)
    assert "secret" not in text and "\x1b" not in text
    found = Metrics(text)
    assert found.one("afpscope_up") == 1
    assert found.requests()["other"] == 56
    promtool("check", "metrics", text=text)


def test_rights_are_dropped(exporter: Exporter) -> None:
    (serving,) = children(exporter.pid)
    assert rights(serving) == (65534, 0)
    assert has(exporter.pid, BPF, SETUID) == [BPF]


def test_who_watches_may_hang(exporter: Exporter) -> None:
    def age(form: str) -> float:
        return exporter.metrics(form).one("afpscope_reading_age_seconds") or 0

    os.kill(exporter.pid, signal.SIGSTOP)
    try:
        for form in (TEXT, OPENMETRICS):
            wait_until(lambda f=form: age(f) > 1, 10, "an old reading")
            assert exporter.metrics(form).one("afpscope_up") == 1
    finally:
        os.kill(exporter.pid, signal.SIGCONT)
    wait_until(lambda: age(TEXT) < 1, 10, "a reading")


def unwatched(exporter: Exporter) -> float:
    seconds = exporter.metrics().one("afpscope_unwatched_seconds_total")
    assert seconds is not None
    return seconds


def test_after_a_restart_of_the_server_counters_go_on(scope: Scope, victim: PinnedServer) -> None:
    started = time.monotonic()
    exporter = export(scope, "-p", str(victim.port))
    exporter.wait_up()

    def opened() -> int:
        return len(os.listdir(f"/proc/{exporter.pid}/fd"))  # noqa: PTH208

    do_known(victim)
    gone(victim)
    before = min(opened() for _ in range(20))
    first = unwatched(exporter)
    assert first < time.monotonic() - started and first == unwatched(exporter)
    gap = time.monotonic()
    victim.__exit__(None, None, None)
    down = time.monotonic()
    wait_until(lambda: exporter.metrics().one("afpscope_up") == 0, 10, "the server to be missed")
    between = exporter.metrics()
    assert between.requests()["FPGetFileDirParms"] == STATS
    assert between.one("afpscope_sessions") is None
    time.sleep(2)
    up = time.monotonic()
    victim._wanted = victim.port
    victim.__enter__()
    exporter.wait_up(2)
    assert up - down - 1 < unwatched(exporter) - first < time.monotonic() - gap
    do_known(victim)
    after = exporter.metrics()
    assert after.requests()["FPGetFileDirParms"] == 2 * STATS
    assert after.requests()["FPCreateFile"] == 2 * FILES
    gone(victim)
    wait_until(lambda: opened() <= before, 10, "as many open files as in the first watch")
    (serving,) = children(exporter.pid)
    exporter.running.process.kill()
    exporter.running.process.wait()
    wait_until(lambda: not Path(f"/proc/{serving}").exists(), 10, "the other to end")
    wait_until(lambda: not orphans(), 10, "the programs to go", 0.2)


def test_sessions_that_are_left_are_a_number(scope: Scope, victim: PinnedServer) -> None:
    """Those of a server that was killed: they go on, and are not watched."""
    exporter = export(scope, "-p", str(victim.port))
    exporter.wait_up()
    with contextlib.closing(AfpClient(victim.port)):
        wait_until(lambda: exporter.metrics().one("afpscope_sessions") == 1, 10, "the session")
        os.kill(victim.pid, signal.SIGKILL)
        exporter.running.wait_for("that go on are not counted until it is there again: 1")


def test_the_rights_of_the_unit_suffice(scope: Scope, served: Server, public: Path) -> None:
    """Also where nothing can be written, as with its ProtectSystem=strict."""
    rights = unit_capabilities()
    read_only = 'mount -o remount,bind,ro / && exec "$@"'
    before = ["unshare", "--mount", "bash", "-c", read_only, "-"]
    before += ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"]
    before += [f"--{which}=-all,{rights}" for which in ("inh-caps", "ambient-caps", "bounding-set")]
    exporter = export(scope, "-p", str(served.port), before=before, binary=public)
    exporter.wait_up()
    do_known(served)
    gone(served)
    found = exporter.metrics()
    assert found.requests() == KNOWN
    assert found.label("afpscope_info", "rung") == "bpf"
    # The kernel's statistics of programs need more rights.
    assert set(found.by("afpscope_watch_cpu_seconds_total", "where")) == {"exporter"}


def test_the_unit_is_valid(tmp_path: Path) -> None:
    unit = (MONITORING / "afpscope-exporter.service").read_text()
    (tmp_path / "afpscope-exporter.service").write_text(
        re.sub(r"@PREFIX@/bin/afpscope", "/bin/true", unit)
    )
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / "afpscope-exporter.service")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "afpscope-exporter" not in done.stderr and done.returncode == 0, done.stderr


def test_a_file_for_node_exporter(scope: Scope, served: Server, public: Path) -> None:
    folder = public.parent / "textfile"
    folder.mkdir()
    file = folder / "afp.prom"
    os.chown(folder, 65534, 65534)
    line = [str(scope.binary), "exporter", "--textfile", str(file), "--interval", "1"]
    running = scope.start([*line, "-p", str(served.port)])
    running.wait_for(": watching process ")
    do_known(served)
    wait_until(
        lambda: file.exists() and Metrics(file.read_text()).requests().get("FPLogout") == 1,
        10,
        "the file to have it",
    )
    assert Metrics(file.read_text()).requests() == KNOWN
    assert stat.S_IMODE(file.stat().st_mode) == 0o644 and file.stat().st_uid == 65534
    promtool("check", "metrics", text=file.read_text())
    running.signal(signal.SIGTERM)
    running.finish(20).expect(OK)
    last = Metrics(file.read_text())
    assert last.one("afpscope_up") == 0 and last.requests() == KNOWN
    assert os.listdir(folder) == ["afp.prom"]  # noqa: PTH208


def test_without_bpf_there_is_what_proc_shows(scope: Scope, served: Server) -> None:
    exporter = export(scope, "-p", str(served.port), before=WITHOUT_BPF)
    exporter.wait_up()
    with contextlib.closing(AfpClient(served.port)):
        wait_until(lambda: exporter.metrics().one("afpscope_sessions") == 1, 10, "a session")
        found = exporter.metrics()
    assert found.label("afpscope_info", "rung") == "proc"
    assert found.by("afpscope_io_calls_total", "role")["afpd"] > 0
    for name in ("requests_total", "logins_total", "server_cpu_seconds_total", "losses_total"):
        assert f"afpscope_{name}" not in found.samples


def test_it_waits_for_a_server_and_says_so_once(scope: Scope) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = str(nobody.getsockname()[1])
    exporter = export(scope, "-p", port)
    exporter.running.wait_for("looking again every second")
    assert exporter.metrics().one("afpscope_up") == 0
    assert "afpscope_requests_total" not in exporter.metrics().samples
    wait_until(
        lambda: (
            exporter.running.process.poll() is None
            and exporter.running.err.count("looking again") == 1
        ),
        1,
        "one message",
    )


def test_it_ends_by_itself_where_it_costs_too_much(scope: Scope, served: Server) -> None:
    exporter = export(scope, "-p", str(served.port), "--max-cpu", "0.001%")
    exporter.running.finish(60).expect(
        OK, "of a CPU", "more than --max-cpu=0.001%, so the watch was ended"
    )


def test_once(scope: Scope, served: Server) -> None:
    line = [str(scope.binary), "exporter", "--once", "--interval", "1", "-p", str(served.port)]
    found = Metrics(scope.execute(line).expect(OK).out)
    assert found.one("afpscope_up") == 1


def test_without_the_library_it_names_the_package(scope: Scope) -> None:
    listed = subprocess.run(["ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
    library = re.search(r"libmicrohttpd\.so\.12 .* => (\S+)", listed)
    assert library
    hide = f'mount --bind /dev/null {library[1]} && exec "$@"'
    line = ["unshare", "--mount", "bash", "-c", hide, "-", str(scope.binary), "exporter"]
    done = scope.execute([*line, "--listen", "127.0.0.1:0"])
    done.expect(FAILED, "Debian package libmicrohttpd12", "--textfile does without it")


def test_wrong_options(scope: Scope, tmp_path: Path) -> None:
    """Wrong in themselves: unit/main/test_usage.c has others. main() hands on what is said."""
    for args, status, text in (
        (("--listen", "here"), USAGE, "is not an address and a port such as 127.0.0.1:9548"),
        (("--listen", "192.0.2.1:80"), FAILED, "cannot listen on 192.0.2.1:80"),
        (("--textfile", f"{tmp_path}/no/x.prom"), FAILED, "cannot write"),
        (("--listen", "127.0.0.1:0", "--pid", "4194305"), NO_SESSION, "no process"),
    ):
        scope.execute([str(scope.binary), "exporter", *args]).expect(status, text)
