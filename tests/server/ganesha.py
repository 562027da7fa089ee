# SPDX-License-Identifier: GPL-2.0-or-later
"""Private nfs-ganesha servers for tests, by way of nfs-up.sh and nfs-down.sh.

For example::

    with Ganesha("bookworm") as server:
        assert "file" in server.tool("nfs-ls", server.url("/share1"))

Needs root. The server ends with this process, however that ends.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from netatalk import HERE, _run, owned

# Debian's suites, and the version of nfs-ganesha in them.
SUITES = {"bookworm": "4.3", "trixie": "6.5", "sid": "15."}


class Ganesha:
    """A running nfs-ganesha of a Debian suite, for a with statement.

    Hooks are the environment variables of nfs-up.sh (NFS_CORE, NFS_EXPORT, ...). Inside: port,
    mount_port, pid, version, root, path1, path2 (the exports, as the server calls them), share1,
    share2 (the same on this machine).
    """

    def __init__(self, suite: str, port: int = 0, **hooks: str) -> None:
        self.suite = suite
        self._wanted = port
        self._env = os.environ | owned() | hooks

    def __enter__(self) -> Self:
        up = _run([str(HERE / "nfs-up.sh"), self.suite, str(self._wanted)], env=self._env)
        env = dict(line.split("=", 1) for line in up.stdout.splitlines())
        self.port = int(env["NFS_PORT"])
        self.mount_port = int(env["NFS_MOUNT_PORT"])
        self.pid = int(env["NFS_PID"])
        self.version = env["NFS_VERSION"]
        self.root = Path(env["NFS_ROOT"])
        self.path1, self.path2 = env["NFS_PATH1"], env["NFS_PATH2"]
        self.share1, self.share2 = Path(env["NFS_SHARE1"]), Path(env["NFS_SHARE2"])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _run([str(HERE / "nfs-down.sh"), str(self.port)], env=self._env)

    def url(self, name: str = "", version: int = 3) -> str:
        """What the tools of libnfs call this in the first export."""
        path = self.path1 if version == 3 else "/share1"
        ports = f"nfsport={self.port}&mountport={self.mount_port}"
        return f"nfs://127.0.0.1{path}{name}?version={version}&{ports}"

    def tool(self, *args: str, check: bool = True) -> str:
        """The output of a tool of libnfs (nfs-ls, nfs-cat, nfs-cp), run inside the root tree."""
        return _run(["chroot", str(self.root), *args], check=check, env=self._env).stdout
