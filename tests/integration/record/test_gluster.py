# SPDX-License-Identifier: GPL-2.0-or-later
"""record --kind gluster: a real GlusterFS server, and what it says itself of its requests.

The judges are `gluster volume profile`, which counts each brick's file operations, and tshark.
Tests user/kinds/gluster/gluster.c, user/kinds/kind.c, user/report/screen/procedures.c, and
bpf/decode/sunrpc.h.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import struct
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest
from forwarding import carried_by_a_child
from gluster import Gluster
from scheduling import in_check
from scope import NO_SESSION, OK, Run, Scope, wait_until
from wire import captured, wait_captured

FILES = 40
SIZE = 5000
AFP_WORDS = re.compile(r"\bafp\b|cnid|netatalk|\bdsi|\bfp[A-Z]", re.I)
# What a brick counts without a request: it forgets files and directories by itself.
OWN = {"FORGET", "RELEASE", "RELEASEDIR"}
FOP = range(64)
FOP_PROGRAM = 1298437


@pytest.fixture(scope="module")
def gluster() -> Iterator[Gluster]:
    with Gluster(GLUSTER_MOUNT="one rep", GLUSTER_MEMORY="64M") as server:
        for volume in ("one", "rep"):
            server.cli("volume", "profile", volume, "start")
            list((server.mnt / volume).iterdir())
        yield server


def profile(server: Gluster, volume: str) -> Counter[str]:
    """File operation -> how often the volume's bricks have had it."""
    text = server.cli("volume", "profile", volume, "info", "cumulative", "--xml")
    found: Counter[str] = Counter()
    for fop in ElementTree.fromstring(text).iter("fop"):
        name, hits = fop.findtext("name"), fop.findtext("hits")
        if name and hits and name not in OWN:
            found[name] += int(hits)
    return found


def settled(server: Gluster, volume: str) -> Counter[str]:
    """The same once it stays as it is: a replica ends its transactions within a second."""
    quiet = 0.2 if volume == "one" else 1.2
    last, since = profile(server, volume), time.monotonic()
    while time.monotonic() - since < quiet:
        time.sleep(quiet / 4)
        now = profile(server, volume)
        if now != last:
            last, since = now, time.monotonic()
    return last


def counted(run: Run) -> Counter[str]:
    """The same, as the bricks' connections show it."""
    return Counter(
        {
            account["name"]: account["requests"]
            for number, account in run.phases[0].accounts().items()
            if number in FOP and account["requests"] and account["name"] not in OWN
        }
    )


def create(folder: Path) -> None:
    for i in range(FILES):
        (folder / f"file{i}").write_bytes(b"x" * SIZE)


def read(folder: Path) -> None:
    for i in range(FILES):
        assert (folder / f"file{i}").read_bytes() == b"x" * SIZE


def unlink(folder: Path) -> None:
    for i in range(FILES):
        (folder / f"file{i}").unlink()


@dataclass
class Load:
    name: str
    work: Callable[[Path], None]
    certain: set[str]  # each file needs one of these


LOADS = [
    Load("create", create, {"CREATE"}),
    Load("read", read, {"READ", "LOOKUP"}),  # the answer to LOOKUP may have a small file
    Load("unlink", unlink, {"UNLINK"}),
]


def recorded(
    scope: Scope, server: Gluster, volume: str, load: Load
) -> tuple[Run, Counter[str], str]:
    """A recording of the load on a mounted volume, what the bricks say after it, and the screen."""
    pid = server.brick_pid(volume) if volume == "one" else server.pid
    which = (
        ["--pid", str(pid)] if load.name == "create" else ["--pid", str(pid), "--volume", volume]
    )
    running = scope.record(None, "--kind", "gluster", *which)
    running.wait_recording()
    load.work(server.mnt / volume)
    after = settled(server, volume)
    running.signal(signal.SIGINT)
    done = running.finish().expect(OK)
    assert done.run
    return done.run, after, done.out


def assert_found_all(run: Run) -> None:
    """The processes of a whole server."""
    server = run.saved["server"]
    # In the order of their process numbers, which begin again at some time.
    assert server["name"].startswith("7 bricks of ")
    assert sorted(server["name"][12:].split(", ")) == ["dist", "one", "rep"]
    for n, brick in enumerate(["one0", "rep0", "rep1", "rep2", "dist0", "dist1", "dist2"], 1):
        assert f"/{brick}/brick (process" in server[f"brick {n}"]
    roles = {book["name"].split()[0] for book in run.saved["books"]}
    assert {"brick", "glusterd", "glustershd", "glusterfs"} <= roles


def per_file(run: Run) -> str:
    rows = [r for r in run.phases[0].rows() if r["role"] == "brick" and r["class"] != "wait"]
    rows.sort(key=lambda row: -row["calls"])
    parts = [f"{r['class']} {r['object']} {r['calls'] / FILES:.2f}" for r in rows[:6]]
    return f"{sum(r['calls'] for r in rows) / FILES:.1f}: " + ", ".join(parts)


@pytest.mark.parametrize("volume", ["one", "rep"])
def test_requests_are_those_of_the_bricks_own_profile(
    scope: Scope, gluster: Gluster, volume: str
) -> None:
    bricks = 1 if volume == "one" else 3
    before = settled(gluster, volume)
    for load in LOADS:
        run, after, out = recorded(scope, gluster, volume, load)
        found, told, before = counted(run), after - before, after
        print(f"{volume} {load.name}: brick calls per file {per_file(run)}; {dict(told)}")
        assert found == told, f"{volume} {load.name}: {found - told} more, {told - found} less"
        needed = sum(found[name] for name in load.certain)
        assert needed >= FILES if load.name == "read" else needed == FILES * bricks
        assert not run.open_books() and not run.losses() and run.saved["kind"] == "gluster"
        assert "cross-checks agree" in out and any(name in out for name in load.certain)
        assert len(out.splitlines()) <= 40 and max(map(len, out.splitlines())) <= 100
        for account in run.phases[0].accounts().values():
            assert 0 < account["min_ns"] <= account["p50_ns"] <= account["max_ns"]
            assert account["times"] is None and account["handed"] == account["requests"]
        assert run.phases[0].calls("brick", "write", "client socket") > 0
        names = {thread["name"] for thread in run.saved["threads"]}
        assert {"glfs_epoll*", "glfs_iotwr*"} <= names
        if volume == "rep" and load.name == "create":
            assert_found_all(run)
        else:
            assert run.saved["server"]["name"].endswith(f" of {volume}")


def calls_on_the_wire(capture: Path) -> Counter[int]:
    """Procedure of the file operations' program -> calls, as tshark reads them."""
    fields = ["-e", "rpc.msgtyp", "-e", "rpc.program", "-e", "rpc.procedure"]
    lines = subprocess.run(
        ["tshark", "-n", "-r", capture, "-Y", "rpc", "-T", "fields", *fields],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    found: Counter[int] = Counter()
    for line in lines:
        types, programs, procedures = line.split("\t")
        # Of calls only there are programs; each is printed once more for the reply.
        pairs = zip(programs.split(","), procedures.split(","), strict=True)
        if "0" in types.split(","):
            found.update(int(number) for program, number in pairs if program == str(FOP_PROGRAM))
    return found


def ask(host: str, port: int, times: int) -> None:
    """A brick which programs it has: GLUSTER_DUMP, program 123451501."""
    with (
        socket.create_connection((host, port), timeout=10) as brick,
        brick.makefile("rb") as answers,
    ):
        for xid in range(1, times + 1):
            call = struct.pack(">10I", xid, 0, 2, 123451501, 1, 1, 0, 0, 0, 0)
            brick.sendall(struct.pack(">I", 0x80000000 | len(call)) + call)
            (mark,) = struct.unpack(">I", answers.read(4))
            answers.read(mark & 0x7FFFFFFF)


# Place: a program that carries on what comes for a brick by a pipe or a Unix socket, also one that
#   calls itself glusterfsd | counted as if it were the brick, and said, by the bytes that went on
@pytest.mark.parametrize("name", in_check(["", "glusterfsd"], ["glusterfsd"]))
@pytest.mark.parametrize("how", in_check(["pipe", "socket"], ["pipe"]))
def test_a_relay_is_no_brick_without_a_word(
    scope: Scope, gluster: Gluster, how: str, name: str
) -> None:
    pid = gluster.brick_pid("one")
    command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    brick = int(command[command.index(b"--brick-port") + 1])
    known = "known by its name alone" if name else "no program of GlusterFS by name or library"
    with carried_by_a_child(brick, how, gluster.host, name) as relay:
        for host, port in (("127.0.0.1", relay), (gluster.host, brick)):
            running = scope.record(None, "--kind", "gluster", "--port", str(port))
            running.wait_recording()
            ask(host, port, 50)
            running.signal(signal.SIGINT)
            done = running.finish().expect(OK)
            assert done.run
            assert sum(done.run.phases[0].requests().values()) >= 50
            if port == relay:
                assert f"is {known}, and its clients' bytes" in done.run.warning("way")
            else:
                assert done.run.warning("way") == ""


def test_requests_and_objects_are_what_the_wire_and_the_program_did(
    scope: Scope, gluster: Gluster
) -> None:
    pid = gluster.brick_pid("one")
    command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    port = int(command[command.index(b"--brick-port") + 1])
    folder = gluster.mnt / "one" / "folder"
    with captured(port) as capture:
        running = scope.record(None, "--kind", "gluster", "-v", "--pid", str(pid))
        running.wait_recording()
        folder.mkdir()
        with (folder / "file").open("wb", buffering=0) as file:
            for _ in range(30):
                file.write(b"y" * SIZE)
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            (folder / "missing").stat()
        settled(gluster, "one")
        running.signal(signal.SIGINT)
        done = running.finish().expect(OK)
        wait_captured(port, capture, gluster.host)
        sent = calls_on_the_wire(capture)
    assert done.run
    accounts = done.run.phases[0].accounts()
    found = Counter({n: a["requests"] for n, a in accounts.items() if n in FOP})
    assert found == sent
    lookup = next(a for a in accounts.values() if a["name"] == "LOOKUP")
    assert {"code": 2, "n": lookup["errors"]}.items() <= lookup["results"][0].items()
    write = next(a for a in accounts.values() if a["name"] == "WRITE")
    assert write["bytes_in"] > 30 * SIZE
    # Each write reaches the file once, and nothing else is written to a data file.
    assert done.run.phases[0].calls("brick", "write", "data file") == write["requests"]
    assert done.run.phases[0].calls("brick", "sync", "data file") == 1
    said = done.out + str({k: v for k, v in done.run.saved.items() if k != "tool"})
    assert not AFP_WORDS.findall(said.replace("afpscope", ""))


@pytest.mark.usefixtures("with_libgfapi")
@pytest.mark.parametrize("way", ["gfapi", "mount"])
def test_small_files_and_the_bricks_below_them(scope: Scope, gluster: Gluster, way: str) -> None:
    """The bricks of the volume are found from the place, and watched load by load."""
    place = f"gluster://{gluster.host}/rep" if way == "gfapi" else str(gluster.mnt / "rep")
    args = ["smallfile", "-n", "2", "-f", "20", "-l", "create,read,rename,delete"]
    done = scope.execute([str(scope.binary), *args, place], save=True).expect(OK)
    assert done.run
    run, bricks = done.run, 3
    assert run.saved["kind"] == "gluster" and run.saved["server"]["name"] == "3 bricks of rep"
    assert not run.open_books() and not run.losses()
    books = {book["name"].split()[0] for book in run.saved["books"]}
    assert {"brick", "glusterfs"} <= books  # the volume is mounted
    for test, procedure in ((1, "CREATE"), (3, "RENAME"), (4, "UNLINK")):
        phase = run.phase(test)
        found = {a["name"]: a["requests"] for a in phase.accounts().values()}
        assert found[procedure] == 40 * bricks, phase.saved["title"]
        assert sum(a["failed"] for a in phase.saved["load"]["actions"]) == 0
    assert "server calls" in done.out and not AFP_WORDS.findall(done.out.replace("afpscope", ""))
    assert len(done.out.splitlines()) <= 40


@pytest.mark.usefixtures("with_libgfapi")
def test_bricks_are_those_to_which_the_client_is_connected(scope: Scope, gluster: Gluster) -> None:
    """A name that no brick has; and another server of this host has a volume of that name."""
    other_name = gluster.host.replace("127.0.0.", "127.")
    with Gluster() as other:
        line = [str(scope.binary), "smallfile", "-f", "20", "-l", "create,delete"]
        done = scope.execute([*line, f"gluster://{other_name}/one"], save=True).expect(OK)
        assert other.brick("one").exists()
    assert done.run
    assert done.run.saved["server"]["name"] == "1 brick of one"
    assert f"process {gluster.brick_pid('one')}," in done.run.saved["server"]["brick 1"]
    found = {a["name"]: a["requests"] for a in done.run.phase(1).accounts().values()}
    # a file is open when it is made: no other request opens it, and it is closed once
    assert (found["CREATE"], found.get("OPEN", 0), found.get("FLUSH", 0)) == (20, 0, 20)


@pytest.mark.parametrize(
    ("args", "status", "text"),
    [
        (["--pid", "1"], NO_SESSION, "is not of GlusterFS"),
        (["--port", "1"], NO_SESSION, "no brick and no glusterd"),
        (["--exe", "no-such-program"], NO_SESSION, "no such brick (glusterfsd)"),
        (["--volume", "no-such-volume"], NO_SESSION, "no such brick (glusterfsd)"),
        (["--unit", "no-such-unit"], NO_SESSION, "there is no cgroup of that name"),
    ],
)
def test_what_cannot_be_done_is_said(scope: Scope, args: list[str], status: int, text: str) -> None:
    line = [str(scope.binary), "record", "--kind", "gluster", *args]
    scope.execute(line).expect(status, text)


def signed_in(server: Gluster, volume: str) -> int:
    """The process of a volume's only brick, as glusterd knows it; 0: it has none."""
    status = ElementTree.fromstring(server.cli("volume", "status", volume, "--xml"))
    nodes = [n for n in status.iter("node") if (n.findtext("path") or "").startswith("/")]
    pids = [int(n.findtext("pid") or 0) for n in nodes if n.findtext("status") == "1"]
    return pids[0] if pids else 0


def started(server: Gluster, volume: str) -> int:
    """The same, which is started if it is not there; not before glusterd knows that."""
    server.cli("volume", "start", volume, "force")
    return signed_in(server, volume)


def test_a_brick_that_is_started_anew_is_said(scope: Scope) -> None:
    """Nobody watches it: glusterd has started it meanwhile. With a server of its own, unmounted."""
    with Gluster() as server:
        before = signed_in(server, "one")
        assert before
        running = scope.record(None, "--kind", "gluster", "--pid", str(server.pid))
        running.wait_recording()
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: started(server, "one") not in (0, before), 20, "the new brick", 0.5)
        now = signed_in(server, "one")
        running.signal(signal.SIGINT)
        done = running.finish().expect(OK)
    assert done.run and not done.run.open_books() and now != before
    assert f"process {now} (glusterfsd)" in done.run.warning("found")
    assert "what it did is not in the figures of the brick" in done.run.warning("found")
