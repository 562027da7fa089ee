# SPDX-License-Identifier: GPL-2.0-or-later
"""A session of GNOME's desktop, whose file manager uses a volume (gvfs)."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

from netatalk import Server

# gvfs opens volumes at no other port.
ADDRESS, PORT = "127.0.0.77", 548
GVFS = "1.50.3"
SIZE, MANY = 300_000, 60


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
            env={k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"} | home,
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
