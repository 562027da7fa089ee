# SPDX-License-Identifier: GPL-2.0-or-later
"""Private OpenAFS cells for tests, by way of afs-up.sh and afs-down.sh.

For example::

    with Cell() as cell:
        assert "Instance dafs" in cell.tool("bos", "status", cell.host, "-noauth")

Needs root and the packages of "need.sh openafs". The cell ends with this process, however that
ends.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import TracebackType
from typing import Self

from netatalk import HERE, _run, owned

# UDP ports.
PORTS = {
    "dafileserver": 7000,
    "ptserver": 7002,
    "vlserver": 7003,
    "davolserver": 7005,
    "bosserver": 7007,
}


class Cell:
    """A running cell, for a with statement.

    Hooks are the environment variables of afs-up.sh (AFS_FILESERVER).
    Inside: host (its address), netns (path of its network namespace), pid (program -> number), log
    (path on this machine).
    """

    def __init__(self, **hooks: str) -> None:
        self._env = os.environ | owned() | hooks

    def __enter__(self) -> Self:
        up = _run([str(HERE / "afs-up.sh")], env=self._env)
        env = dict(line.split("=", 1) for line in up.stdout.splitlines())
        self.number = env["AFS_NUMBER"]
        self.host = env["AFS_HOST"]
        self.netns = f"/run/netns/{env['AFS_NETNS']}"
        self.pid = {name: int(env[f"AFS_{name.upper()}"]) for name in PORTS}
        self.log = Path(env["AFS_LOG"])
        self._inside = env["AFS_RUN"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _run([str(HERE / "afs-down.sh"), self.number], env=self._env)

    def tool(self, *args: str) -> str:
        """The output of one of OpenAFS's commands, run inside; it must succeed."""
        return _run([self._inside, *args], env=self._env).stdout

    def calls(self) -> dict[str, int]:
        """Name of an operation -> how often the file server has had it, as it says itself."""
        text = self.tool("xstat_fs_test", "-fsname", self.host, "-collID", "2", "-onceonly")
        found = {
            name: int(count)
            for name, count in re.findall(r"^ *(\w+):\s+(\d+) ops", text, re.MULTILINE)
        }
        # This one alone is with other figures.
        more = re.search(r"(\d+) fs_GetCapabilities", text)
        assert more, text
        return found | {"GetCapabilities": int(more[1])}
