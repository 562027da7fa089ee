# SPDX-License-Identifier: GPL-2.0-or-later
"""The requests of a mix's action beside those of GNOME's file manager for the same deed.

The table of docs/load.md is what this prints:
    AFPSCOPE_GVFS=1 /usr/bin/python3 -B -m pytest -s tests/integration/load/test_mixes_gvfs.py
Tests client/work/mix/mix_steps.c, docs/load.md.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from netatalk import USERS, Server
from scope import OK, REPO, Scope
from wire import Answer, answers_of, captured

# gvfs opens volumes at no other port.
ADDRESS, PORT = "127.0.0.77", 548
GVFS = "1.50.3"
SIZE, MANY = 300_000, 60
QUIET_S = 1.0

# What a user does; what gio is told ({} is the volume, SOURCE a file of this machine); our action.
DEEDS = (
    ("lists a folder of 60 files", "list {}/many", "list"),
    ("asks what a file looks like", "info {}/many/f7", "look"),
    ("reads a file of 300 kB", "cat {}/old > /dev/null", "read"),
    ("saves over a file of 300 kB", "save {}/old < SOURCE", "save"),
    ("the same", "save {}/old < SOURCE", "mac-save"),
    ("saves a new file of 300 kB", "save {}/new < SOURCE", None),
    ("copies a file of 300 kB into the volume", "copy SOURCE {}/copied", None),
    ("renames a file", "rename {}/new other", None),
    ("deletes a file", "remove {}/other", None),
)
MIX = """[mix]
files = {files}
file_size = {size}
[actions]
{action} = 1
"""


def missing() -> str:
    """Why no capture can be made here; empty: it can."""
    for program in ("gio", "dbus-run-session", "tshark", "dumpcap"):
        if not shutil.which(program):
            return f"{program} is not installed"
    if not Path("/usr/libexec/gvfsd-afp").exists():
        return "gvfs-backends is not installed"
    query = ["dpkg-query", "-W", "-f", "${Version}", "gvfs-backends"]
    here = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    return "" if here.startswith(GVFS) else f"gvfs is {here}, and docs/load.md is of {GVFS}"


def carry(a: socket.socket, b: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := a.recv(65536):
            b.sendall(data)
        b.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def at_port_548(server: Server) -> Iterator[None]:
    ear = socket.create_server((ADDRESS, PORT))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                a = ear.accept()[0]
                b = socket.create_connection(("127.0.0.1", server.port))
                for end in (a, b):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for ends in ((a, b), (b, a)):
                    threading.Thread(target=carry, args=ends, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield
    finally:
        ear.shutdown(socket.SHUT_RDWR)
        ear.close()


class Desktop:
    """A session of D-Bus with a shell, which is told what a user does."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "source"
        self.source.write_bytes(os.urandom(SIZE))
        self.url = f"afp://bench1@{ADDRESS}/vol1"
        home = {"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}
        self.shell = subprocess.Popen(
            ["timeout", "-k", "5", "300", "dbus-run-session", "--", "bash"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | home,
        )

    def do(self, command: str) -> str:
        assert self.shell.stdin and self.shell.stdout
        told = command.replace("SOURCE", str(self.source)).format(self.url)
        self.shell.stdin.write(f"timeout 60 gio {told} 2>&1; echo END $?\n")
        self.shell.stdin.flush()
        said = ""
        for line in self.shell.stdout:
            if line.startswith("END "):
                assert line == "END 0\n", f"gio {told}: {said}"
                return said
            said += line
        raise AssertionError(f"the session ended: gio {told}: {said}")

    def close(self) -> None:
        with contextlib.suppress(AssertionError):
            self.do("mount -u {}")
        if self.shell.stdin:
            self.shell.stdin.close()
        self.shell.wait(20)


def names() -> dict[int, str]:
    text = (REPO / "user/run/account.c").read_text()
    return {int(n): name for n, name in re.findall(r'\[(\d+)\] = "(FP\w+)"', text)}


def said(counts: Counter[str] | dict[str, int]) -> str:
    """ "FPOpenFork, some FPReadExt", in the order of their first. How many reads of 64 kB or less
    gvfs sends ahead of who reads depends on who is quicker."""
    numbers = {name: "some" if "Read" in name and n > 1 else n for name, n in counts.items()}
    return ", ".join(name if n == 1 else f"{n} {name}" for name, n in numbers.items())


def sent(server: Server, desktop: Desktop, told: str) -> str:
    """Until nothing more comes: gvfs asks some things later."""
    known = names()
    with captured(server.port) as capture:
        desktop.do(told)
        time.sleep(QUIET_S)
        answers: list[Answer] = answers_of(server, capture)
    return said(Counter(known.get(a.command, f"FP {a.command}") for a in answers))


def ours(scope: Scope, server: Server, folder: Path, action: str) -> str:
    mix = folder / f"{action}.ini"
    mix.write_text(MIX.format(files=MANY if action == "list" else 2, size=SIZE, action=action))
    args = ["-n", "1", "-d", "2", "--ramp=0", "--no-probe", f"--mix={mix}"]
    done = scope.execute(scope.command(server, *args, tool="load"), save=True).expect(OK)
    assert done.run
    (phase,) = done.run.saved["phases"]
    (kind,) = [a for a in phase["load"]["actions"] if a["n"]]
    assert kind["n"] >= 10
    each = {c["name"]: c["ops"] / kind["n"] for c in phase["commands"]}
    return said({name: max(1, round(n)) for name, n in each.items()})


def table(scope: Scope, server: Server, folder: Path) -> list[str]:
    rows, last = [], ""
    desktop = Desktop(folder)
    (server.vol1 / "many").mkdir()
    for i in range(MANY):
        (server.vol1 / "many" / f"f{i}").write_bytes(bytes(100))
    (server.vol1 / "old").write_bytes(desktop.source.read_bytes())
    subprocess.run(["chmod", "-R", "a+rwX", server.vol1], check=True)
    with at_port_548(server):
        try:
            desktop.do(f"mount {{}} <<< {USERS['bench1']}")
            desktop.do("list {}")
            for deed, told, action in DEEDS:
                theirs = last if deed == "the same" else sent(server, desktop, told)
                last = theirs
                here = ours(scope, server, folder, action) if action else ""
                rows.append((deed, theirs, f"`{action}`: {here}" if action else "no action"))
        finally:
            desktop.close()
    return [f"| {deed} | {theirs} | {here} |" for deed, theirs, here in rows]


def test_the_documented_requests_of_gvfs_are_those_on_the_wire(
    scope: Scope, dbd: Server, tmp_path: Path
) -> None:
    why = missing()
    if why:
        pytest.skip(f"no capture of gvfs: {why}")
    rows = table(scope, dbd, tmp_path)
    if os.environ.get("AFPSCOPE_GVFS"):
        print("\n" + "\n".join(rows))
    documented = (REPO / "docs/load.md").read_text()
    for row in rows:
        assert row in documented
