# SPDX-License-Identifier: GPL-2.0-or-later
"""Private GlusterFS servers for tests, by way of gluster-up.sh and gluster-down.sh.

For example::

    with Gluster(GLUSTER_MOUNT="one") as server:
        (server.mnt / "one" / "file").write_text("text")
        assert (server.brick("one") / "file").read_text() == "text"

Needs root and the packages of "need.sh gluster". The server ends with this process, however that
ends.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from netatalk import HERE, _run, owned

# Bricks of each volume.
VOLUMES = {"one": 1, "rep": 3, "dist": 3}


class Gluster:
    """A running glusterd with its volumes, for a with statement.

    Hooks are the environment variables of gluster-up.sh (GLUSTER_MOUNT, GLUSTER_SMALL, ...).
    Inside: host, pid (of glusterd), bricks, mnt, log (paths on this machine).
    """

    def __init__(self, **hooks: str) -> None:
        self._env = os.environ | owned() | hooks

    def __enter__(self) -> Self:
        up = _run([str(HERE / "gluster-up.sh")], env=self._env)
        env = dict(line.split("=", 1) for line in up.stdout.splitlines())
        self.host = env["GLUSTER_HOST"]
        self.pid = int(env["GLUSTER_PID"])
        self.bricks = Path(env["GLUSTER_BRICKS"])
        self.mnt = Path(env["GLUSTER_MNT"])
        self.log = Path(env["GLUSTER_LOG"])
        self._cli = env["GLUSTER_CLI"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _run([str(HERE / "gluster-down.sh"), self.host], env=self._env)

    def url(self, volume: str, path: str = "") -> str:
        """gluster://HOST/VOLUME/PATH"""
        return f"gluster://{self.host}/{volume}" + (f"/{path}" if path else "")

    def brick(self, volume: str, number: int = 0) -> Path:
        """The folder in which a brick has its files."""
        return self.bricks / f"{volume}{number}" / "brick"

    def brick_pid(self, volume: str, number: int = 0) -> int:
        """The glusterfsd of a brick."""
        wanted = f"--brick-name\0{self.brick(volume, number)}\0".encode()
        for line in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if wanted in line.read_bytes():
                    return int(line.parent.name)
            except (FileNotFoundError, ProcessLookupError):
                continue
        raise LookupError(f"no brick {number} of volume {volume} runs")

    def cli(self, *args: str) -> str:
        """The output of the command gluster, which must succeed."""
        return _run([self._cli, *args], env=self._env).stdout
