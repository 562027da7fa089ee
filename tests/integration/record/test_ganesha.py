# SPDX-License-Identifier: GPL-2.0-or-later
"""record --kind nfs: a real nfs-ganesha, and what went over the wire.

The judges are tshark, for requests, bytes and results by procedure, and strace for the calls of
each. Tests user/kinds/nfs.c, user/kinds/kind.c, bpf/decode/nfs.h, bpf/decode/sunrpc.h, bpf/park.h
and bpf/programs.h.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import parked
import pytest
from ganesha import SUITES, Ganesha
from nfsclient import GETATTR, NFS, Nfs, mounted, named, work3, work4
from nfswire import NAMES, on_the_wire
from recording import stopped
from scope import NOT_TOLD, Run, Scope, wait_until
from wire import captured, wait_captured

SIZE = 5000
FILES = 12
CLIENTS, CALLS, IN_FLIGHT = 6, 300, 8
OF_EACH = parked.suites("bookworm", "sid")


@pytest.fixture(scope="module", params=OF_EACH)
def ganesha(request: pytest.FixtureRequest) -> Iterator[Ganesha]:
    with Ganesha(request.param) as server:
        assert server.version.startswith(SUITES[request.param])
        yield server


def counted(run: Run) -> dict[str, Counter[str]]:
    """The same, as the clients' connections show it."""
    found: dict[str, Counter[str]] = {
        k: Counter() for k in ("requests", "bytes_in", "bytes_out", "errors")
    }
    for account in run.phases[0].accounts().values():
        for what, counter in found.items():
            counter[account["name"]] += account[what]
    return found


def connections(server: Ganesha) -> int:
    """Of clients, that the server still has."""
    ends = {f":{port:04X}" for port in (server.port, server.mount_port)}
    rows = [line.split() for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]]
    return sum(row[1][-5:] in ends and row[3] not in ("0A", "06") for row in rows)


def recorded(scope: Scope, server: Ganesha, act: Callable[[], object]) -> tuple[Run, str]:
    """A recording of what clients do, and the screen."""
    done = parked.recorded(scope, "nfs", server.port, act, lambda: not connections(server))
    assert done.run
    return done.run, done.out


def use_tools(server: Ganesha) -> None:
    """libnfs's own programs, by both versions."""
    # By version 4 nfs-cp 4.0.0 writes small files only.
    for version, size in ((3, SIZE), (4, 100)):
        (server.root / "tmp/block").write_bytes(b"x" * size)
        server.tool("nfs-cp", "/tmp/block", server.url(f"/copy{version}", version))
        assert server.tool("nfs-cat", server.url(f"/copy{version}", version)) == "x" * size
        assert f"copy{version}" in server.tool("nfs-ls", server.url("", version))


def test_requests_bytes_and_results_are_those_on_the_wire(scope: Scope, ganesha: Ganesha) -> None:
    def act() -> None:
        use_tools(ganesha)
        folder = mounted(ganesha.mount_port, ganesha.path1)
        with Nfs(ganesha.port) as nfs:
            nfs.call(NFS, 3, 0)
            work3(nfs, folder, FILES, SIZE)
            work4(nfs, ["share1"], FILES)

    ports = ganesha.port, ganesha.mount_port
    with captured(*ports) as capture:
        run, out = recorded(scope, ganesha, act)
        wait_captured(ganesha.port, capture)
        told = on_the_wire(capture, ports)
    found = counted(run)
    print(ganesha.version, dict(found["requests"]))
    for what, counter in told.items():
        assert +found[what] == +counter, what
    assert told["requests"]["READ"] >= FILES and told["errors"]["v4 LOOKUP"] >= FILES
    parked.assert_times_add_up(run)
    assert "cross-checks agree" in out and "LOOKUP" in out
    assert run.saved["server"]["machine"].startswith(f"nfs-ganesha {ganesha.version}")


@pytest.mark.parametrize("ganesha", ["bookworm"], indirect=True)
def test_a_server_that_is_named_is_watched_as_what_it_is(scope: Scope, ganesha: Ganesha) -> None:
    for which in (f"--pid={ganesha.pid}", f"--port={ganesha.port}"):
        running = scope.record(None, which)
        running.wait_recording()
        mounted(ganesha.mount_port, ganesha.path1)
        run = stopped(running)
        assert run.saved["kind"] == "nfs" and counted(run)["requests"]["MOUNT MNT"] == 1
        done = scope.execute([str(scope.binary), "doctor", which, "-d", "1"])
        assert "nfs-ganesha" in done.expect(NOT_TOLD).out  # too few requests


# Place: a trace of nfs-ganesha | a record of each request, and of each of its thread's calls for it
def test_a_trace_has_each_request_with_its_calls(
    scope: Scope, ganesha: Ganesha, tmp_path: Path
) -> None:
    where = ("--trace", "-o", str(tmp_path / "run"))
    running = scope.record(None, "--kind", "nfs", "--port", str(ganesha.port), *where)
    running.wait_recording()
    folder = mounted(ganesha.mount_port, ganesha.path1)
    with Nfs(ganesha.port, 0x1FFF0) as nfs:
        work3(nfs, folder, FILES, SIZE)
        work4(nfs, ["share1"], FILES)
    wait_until(lambda: not connections(ganesha), 10, "the connections to end")
    trace = tmp_path / "run" / "trace"
    parked.assert_trace(stopped(running), trace, "ganesha", "READ", "MOUNT MNT", "v4 LOOKUP")


# Place: a record of SunRPC in many fragments | one request, with the bytes of all
def test_a_record_of_many_fragments_is_one_request(scope: Scope, ganesha: Ganesha) -> None:
    sent: Counter[int] = Counter()

    def act() -> None:
        folder = mounted(ganesha.mount_port, ganesha.path1)
        with Nfs(ganesha.port) as nfs:
            work3(nfs, folder, FILES, SIZE, fragment=1000)
            sent.update(nfs.sent)

    run, _ = recorded(scope, ganesha, act)
    found = counted(run)
    assert found["requests"]["WRITE"] == FILES
    for procedure, size in sent.items():
        assert found["bytes_in"][NAMES["100003", "3", procedure]] == size
    parked.assert_times_add_up(run)


# Place: requests of many clients in flight at once, answered in any order by many threads | counted
#   exactly; what a thread left to another one is a column of its own
def test_many_clients_at_once_are_counted_exactly(scope: Scope, ganesha: Ganesha) -> None:
    folder = mounted(ganesha.mount_port, ganesha.path1)
    failed: list[BaseException] = []

    def client(number: int) -> None:
        try:
            with Nfs(ganesha.port, number << 16) as nfs:
                file = nfs.handle(8, named(folder, f"at{number}") + bytes(28))
                waiting: set[int] = set()
                for i in range(CALLS):
                    if i % 3:
                        waiting.add(nfs.send(NFS, 3, GETATTR, file))
                    else:
                        body = i * 4096, 4096, 0, 4096
                        data = b"".join(n.to_bytes(4, "big") for n in (0, *body)) + bytes(4096)
                        waiting.add(nfs.send(NFS, 3, 7, file + data))
                    while len(waiting) >= IN_FLIGHT or (waiting and i == CALLS - 1):
                        waiting.remove(nfs.receive()[0])
        except BaseException as e:
            failed.append(e)

    def act() -> None:
        threads = [threading.Thread(target=client, args=(n,)) for n in range(1, CLIENTS + 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    run, _ = recorded(scope, ganesha, act)
    assert not failed
    found = counted(run)
    print(ganesha.version, {n: a.get("parked") for n, a in run.phases[0].accounts().items()})
    assert found["requests"]["GETATTR"] == CLIENTS * CALLS * 2 // 3
    assert found["requests"]["WRITE"] == CLIENTS * CALLS // 3
    assert not +found["errors"]
    parked.assert_times_add_up(run)


# Place: a server that is killed while it is watched | what it had answered is counted
@pytest.mark.parametrize("suite", ["bookworm"])
def test_of_a_killed_server_what_it_answered_is_counted(scope: Scope, suite: str) -> None:
    with Ganesha(suite) as server:
        folder = mounted(server.mount_port, server.path1)
        running = scope.record(None, "--kind", "nfs", "--port", str(server.port))
        running.wait_recording()
        with Nfs(server.port) as nfs:
            work3(nfs, folder, FILES, SIZE)
            os.kill(server.pid, signal.SIGKILL)
            with pytest.raises((ConnectionError, TimeoutError)):
                nfs.call(NFS, 3, GETATTR, folder)
        running.signal(signal.SIGINT)
        done = running.finish()
        assert done.run, done.out + done.err
        assert counted(done.run)["requests"]["WRITE"] == FILES
        assert not done.run.losses()


def calls_by_strace(file: Path, port: int) -> tuple[Counter[str], Counter[str]]:
    """Of a thread: the calls from a request's read to the write of its reply, by procedure.

    And of how many requests another thread wrote the reply: one that still was in the write of the
    reply before. Then until the thread is idle, or reads another one.
    """
    calls: Counter[str] = Counter()
    left: Counter[str] = Counter()
    now, xid = "", b""
    for call, line, data in parked.calls_in(file, port):
        reads = data is not None and call.startswith("recv")
        idle = call == "epoll_wait" or ("FUTEX_WAIT_BITSET" in line and "tv_sec" in line)
        if now and (reads or idle):
            left[now] += 1
            now = ""
        if reads and data and len(data) > 24:
            now, xid = NAMES["100003", "3", int.from_bytes(data[20:24], "big")], data[:4]
        if now:
            calls[now] += 1
        if data and call.startswith("send") and xid in data:
            now = ""
    return calls, left


def test_calls_of_each_request_are_those_that_strace_sees(
    scope: Scope, ganesha: Ganesha, tmp_path: Path
) -> None:
    """Of one client that asks for one thing after the other."""
    folder = mounted(ganesha.mount_port, ganesha.path1)

    def act() -> None:
        with Nfs(ganesha.port, 0x7E570000) as nfs:
            work3(nfs, folder, FILES, 1000)

    with parked.straced(ganesha.pid, tmp_path / "calls"):
        run, _ = recorded(scope, ganesha, act)
    told: Counter[str] = Counter()
    left: Counter[str] = Counter()
    for file in tmp_path.glob("calls.*"):
        for total, more in zip((told, left), calls_by_strace(file, ganesha.port), strict=True):
            total += more
    ours: Counter[str] = Counter()
    waited: Counter[str] = Counter()
    for account in run.phases[0].accounts().values():
        waited[account["name"]] += account.get("parked", 0)
        ours[account["name"]] += sum(part["calls"] for part in account["parts"])
    print(ganesha.version, {name: f"{n / FILES:.1f}" for name, n in told.items()}, dict(left))
    assert ours == told and +waited == left
