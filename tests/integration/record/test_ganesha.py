# SPDX-License-Identifier: GPL-2.0-or-later
"""record --kind nfs: a real nfs-ganesha, and what went over the wire.

The judges are tshark, for requests, bytes and results by procedure, and strace for the calls of
each. Tests user/kinds/nfs.c, user/kinds/kind.c, bpf/decode/nfs.h, bpf/decode/sunrpc.h, bpf/park.h
and bpf/programs.h.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ganesha import SUITES, Ganesha
from nfsclient import GETATTR, NFS, Nfs, mounted, named, work3, work4
from recording import stopped
from scope import NO_SESSION, OK, USAGE, Run, Scope, wait_until
from stracing import tracer_of
from wire import captured, wait_captured

SIZE = 5000
FILES = 12
CLIENTS, CALLS, IN_FLIGHT = 6, 300, 8
PROCEDURES = [
    *("NULL", "GETATTR", "SETATTR", "LOOKUP", "ACCESS", "READLINK", "READ", "WRITE", "CREATE"),
    *("MKDIR", "SYMLINK", "MKNOD", "REMOVE", "RMDIR", "RENAME", "LINK", "READDIR", "READDIRPLUS"),
    *("FSSTAT", "FSINFO", "PATHCONF", "COMMIT"),
]
OF_MOUNT = ["NULL", "MNT", "DUMP", "UMNT", "UMNTALL", "EXPORT"]
NAMES = {
    **{("100003", "3", number): name for number, name in enumerate(PROCEDURES)},
    ("100003", "4", 0): "NULL",
    **{("100005", "3", number): f"MOUNT {name}" for number, name in enumerate(OF_MOUNT)},
}
# What goes to a file or says which it is, as Wireshark numbers it.
ON_THE_WAY = {9, 10, 15, 16, 22, 23, 24, 31, 32, 53}
OPERATIONS = {
    **dict(enumerate(["ACCESS", "CLOSE", "COMMIT", "CREATE"], 3)),
    **{9: "GETATTR", 10: "GETFH", 15: "LOOKUP", 18: "OPEN", 20: "OPEN_CONFIRM"},
    **dict(enumerate(["READ", "READDIR", "READLINK", "REMOVE", "RENAME", "RENEW"], 25)),
    **{34: "SETATTR", 35: "SETCLIENTID", 36: "SETCLIENTID_CONFIRM", 38: "WRITE"},
}
STATUSES = "nfs.status3", "nfs.nfsstat4", "mount.status"
OF_EACH = ["bookworm", "sid", pytest.param("trixie", marks=pytest.mark.judges)]


@pytest.fixture(scope="module", params=OF_EACH)
def ganesha(request: pytest.FixtureRequest) -> Iterator[Ganesha]:
    with Ganesha(request.param) as server:
        assert server.version.startswith(SUITES[request.param])
        yield server


def compound_name(operations: list[int]) -> str:
    """The first that does more than go to a file; or the one that says most."""
    more = [op for op in operations if op not in ON_THE_WAY]
    weak = [op for op in (15, 9, 10, 53) if op in operations]
    return f"v4 {OPERATIONS[(more or weak)[0]]}"


def records(capture: Path, ports: tuple[int, ...]) -> Iterator[dict[str, list[str]]]:
    """The records of SunRPC, as tshark reads them: fields -> their values."""
    ways = [word for port in ports for word in ("-d", f"tcp.port=={port},rpc")]
    out = subprocess.run(
        ["tshark", "-n", "-r", capture, *ways, "-Y", "rpc", "-T", "pdml"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found: dict[str, list[str]] = {}
    for proto in ElementTree.fromstring(out).iter("proto"):
        if proto.get("name") == "rpc":
            if found:
                yield found
            found = {}
        if proto.get("name") in ("rpc", "nfs", "mount"):
            for field in proto.iter("field"):
                found.setdefault(str(field.get("name")), []).append(str(field.get("show")))
    if found:
        yield found


def on_the_wire(capture: Path, ports: tuple[int, ...]) -> dict[str, Counter[str]]:
    """requests, bytes_in, bytes_out, errors -> account -> how many."""
    found: dict[str, Counter[str]] = {
        k: Counter() for k in ("requests", "bytes_in", "bytes_out", "errors")
    }
    names: dict[str, str] = {}
    for record in records(capture, ports):
        xid, size = record["rpc.xid"][0], sum(int(n) + 4 for n in record["rpc.fraglen"])
        if record["rpc.msgtyp"][0] == "0":
            key = record["rpc.program"][0], record["rpc.programversion"][0]
            procedure = int(record["rpc.procedure"][0])
            operations = [int(n) for n in record.get("nfs.opcode", [])]
            name = NAMES.get((*key, procedure)) or compound_name(operations)
            names[xid] = name
            found["requests"][name] += 1
            found["bytes_in"][name] += size
        else:
            # Of version 4 that of the whole comes first; of MNT it is alone.
            status = [n for key in STATUSES for n in record.get(key, [])] or ["0"]
            found["bytes_out"][names[xid]] += size
            found["errors"][names[xid]] += status[0] != "0"
    return found


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
    running = scope.record(None, "--kind", "nfs", "--port", str(server.port))
    running.wait_recording()
    act()
    wait_until(lambda: not connections(server), 10, "the connections to end")
    running.signal(signal.SIGINT)
    done = running.finish().expect(OK)
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


def assert_exact(run: Run) -> None:
    """Every nanosecond of a request is in a part, or in the time for which it was parked."""
    assert not run.open_books() and not run.losses() and run.saved["kind"] == "nfs"
    for account in run.phases[0].accounts().values():
        assert "handed" not in account and account["times"] is not None
        known = sum(account["times"].values()) + account.get("parked_ns", 0)
        assert known + account["unexplained_ns"] == account["service_ns"]
        assert account.get("parked", 0) <= account["requests"]


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
    assert_exact(run)
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
        done = scope.execute([str(scope.binary), "record", which, "--trace", "-d", "1"])
        done.expect(USAGE, "--trace records requests of --kind afp", "not of nfs")
        done = scope.execute([str(scope.binary), "doctor", which, "-d", "1"])
        done.expect(NO_SESSION, f"{ganesha.pid} is a server of kind nfs", "record --kind nfs")


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
    assert_exact(run)


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
    assert_exact(run)


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


@contextlib.contextmanager
def straced(server: Ganesha, out: Path) -> Iterator[None]:
    """The calls of each thread of the server in a file, with the bytes that they moved."""
    command = ["strace", "-f", "-ff", "-qq", "-yy", "-xx", "-s", "2048", "-e", "signal=none"]
    process = subprocess.Popen([*command, "-o", str(out), "-p", str(server.pid)])
    wait_until(lambda: tracer_of(server.pid) == process.pid, 10, "strace to attach")
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def calls_by_strace(file: Path, port: int) -> tuple[Counter[str], Counter[str]]:
    """Of a thread: the calls from a request's read to the write of its reply, by procedure.

    And of how many requests another thread wrote the reply: one that still was in the write of the
    reply before. Then until the thread is idle, or reads another one.
    """
    calls: Counter[str] = Counter()
    left: Counter[str] = Counter()
    now, xid = "", b""
    for line in file.read_text().splitlines():
        found = re.match(r"(\w+)\(", line)
        if not found:
            continue
        ours = f":{port}->" in line.split(", ")[0]
        data = bytes.fromhex("".join(re.findall(r"\\x([0-9a-f]{2})", line)))
        reads = ours and found[1].startswith("recv")
        idle = found[1] == "epoll_wait" or ("FUTEX_WAIT_BITSET" in line and "tv_sec" in line)
        if now and (reads or idle):
            left[now] += 1
            now = ""
        if reads and len(data) > 24:
            now, xid = NAMES["100003", "3", int.from_bytes(data[20:24], "big")], data[:4]
        if now:
            calls[now] += 1
        if ours and found[1].startswith("send") and xid in data:
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

    with straced(ganesha, tmp_path / "calls"):
        run, _ = recorded(scope, ganesha, act)
    told: Counter[str] = Counter()
    left: Counter[str] = Counter()
    for file in tmp_path.glob("calls.*"):
        for total, more in zip((told, left), calls_by_strace(file, ganesha.port), strict=True):
            total += more
    ours: Counter[str] = Counter()
    parked: Counter[str] = Counter()
    for account in run.phases[0].accounts().values():
        parked[account["name"]] += account.get("parked", 0)
        ours[account["name"]] += sum(part["calls"] for part in account["parts"])
    print(ganesha.version, {name: f"{n / FILES:.1f}" for name, n in told.items()}, dict(left))
    assert ours == told and +parked == left
