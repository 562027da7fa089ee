# SPDX-License-Identifier: GPL-2.0-or-later
"""Private Samba servers for tests, by way of smb-up.sh and smb-down.sh.

For example::

    with Samba("bookworm") as server:
        before = server.profiled()["count"]
        server.client("ls")
        assert (server.profiled()["count"] - before)["TREE_CONNECT"] == 2

Needs root. The server ends with this process, however that ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from netatalk import HERE, _run, children_of, owned

# Debian's suites, and the version of Samba in them.
SUITES = {"bookworm": "4.17", "trixie": "4.22", "sid": "4.25"}

# In /proc/PID/status.
SCHEDULED = re.compile(r"^(?:State|(?:non)?voluntary_ctxt_switches):\s+(\w+)", re.M)
SETTLED_S = 60  # most that Samba may take to come to rest after its clients

# What smbstatus calls the commands of SMB2 -> what MS-SMB2 does.
COMMANDS = {
    "negprot": "NEGOTIATE",
    "sesssetup": "SESSION_SETUP",
    "logoff": "LOGOFF",
    "tcon": "TREE_CONNECT",
    "tdis": "TREE_DISCONNECT",
    "create": "CREATE",
    "close": "CLOSE",
    "flush": "FLUSH",
    "read": "READ",
    "write": "WRITE",
    "lock": "LOCK",
    "ioctl": "IOCTL",
    "cancel": "CANCEL",
    "keepalive": "ECHO",
    "find": "QUERY_DIRECTORY",
    "notify": "CHANGE_NOTIFY",
    "getinfo": "QUERY_INFO",
    "setinfo": "SET_INFO",
    "break": "OPLOCK_BREAK",
}


class Samba:
    """A running smbd of a Debian suite, for a with statement.

    Hooks are the environment variables of smb-up.sh (SMB_GLOBAL, SMB_SHARE). Inside: port, pid (of
    the main process), version, root, share1, share2 (paths on this machine).
    """

    def __init__(self, suite: str, port: int = 0, **hooks: str) -> None:
        self.suite = suite
        self._wanted = port
        self._env = os.environ | owned() | hooks

    def __enter__(self) -> Self:
        up = _run([str(HERE / "smb-up.sh"), self.suite, str(self._wanted)], env=self._env)
        env = dict(line.split("=", 1) for line in up.stdout.splitlines())
        self.port = int(env["SMB_PORT"])
        self.pid = int(env["SMB_PID"])
        self.version = env["SMB_VERSION"]
        self.root = Path(env["SMB_ROOT"])
        self.conf = env["SMB_CONF"]
        self.share1 = Path(env["SMB_SHARE1"])
        self.share2 = Path(env["SMB_SHARE2"])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _run([str(HERE / "smb-down.sh"), str(self.port)], env=self._env)

    def tool(self, *args: str, check: bool = True) -> str:
        """The output of one of Samba's commands, run inside the root tree."""
        return _run(["chroot", str(self.root), *args], check=check, env=self._env).stdout

    @contextlib.contextmanager
    def started_again(self) -> Iterator[int]:
        """The server is ended, and started again by hand: its main process."""
        os.kill(self.pid, signal.SIGTERM)
        end = time.monotonic() + SETTLED_S
        while Path(f"/proc/{self.pid}/exe").exists():
            assert time.monotonic() < end, f"{self.pid} does not end"
            time.sleep(0.05)
        line = ["chroot", str(self.root), "smbd", "-F", "--no-process-group", "-s", self.conf]
        # It ends its process group with itself.
        new = subprocess.Popen(line, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            yield new.pid
        finally:
            new.terminate()
            new.wait(10)

    def client_command(self, commands: str, *args: str, user: str = "bench1") -> list[str]:
        """smbclient with its commands on share1, in the folder /tmp of the root tree."""
        return [
            *("chroot", str(self.root), "smbclient", "-s", self.conf, "-p", str(self.port)),
            *("-U", f"{user}%secret1", *args, "//127.0.0.1/share1", "-c", f"lcd /tmp; {commands}"),
        ]

    def client(self, commands: str, *args: str, user: str = "bench1") -> str:
        """The output of smbclient, which must succeed."""
        return _run(self.client_command(commands, *args, user=user), env=self._env).stdout

    def torture(self, test: str, *args: str) -> str:
        """The output of smbtorture with one test on share1; whether that passes is not asked.

        It has no limit of its own, and waits forever for a notification that does not come.
        """
        line = [
            *("timeout", "60", "chroot", str(self.root), "smbtorture", "//127.0.0.1/share1"),
            *("-s", self.conf, "-p", str(self.port), "-U", "bench1%secret1", *args, test),
        ]
        return _run(line, check=False, env=self._env).stdout

    def children(self) -> set[int]:
        """Its processes but the main one, and no zombies."""
        return {pid for pid, state in children_of(self.pid).items() if state not in "ZX"}

    def _has_run(self) -> dict[int, str]:
        """Of each of its processes the state, and how often it has left a CPU."""
        found = {}
        for pid in (self.pid, *children_of(self.pid)):
            with contextlib.suppress(OSError):
                text = Path(f"/proc/{pid}/status").read_text()
                found[pid] = " ".join(SCHEDULED.findall(text))
        return found

    def smbstatus(self) -> dict[str, Any]:
        """What Samba says itself of all its requests since it began: smbstatus -P.

        Only while no client does anything. Each process adds what it has counted to a record of
        its own, a second later or when it ends; cleanupd then takes that record away and adds it to
        the main process's: one who reads between the two misses all of a session, or has it twice.
        So it is asked until none of the processes has run meanwhile.
        """
        end = time.monotonic() + SETTLED_S
        while time.monotonic() < end:
            before = self._has_run()
            text = self.tool("smbstatus", "-s", self.conf, "-P", "-j")
            if before == self._has_run() and all(at.startswith("S") for at in before.values()):
                found: dict[str, Any] = json.loads(text[text.index("{") :])
                return found
            time.sleep(0.05)
        raise AssertionError(f"Samba has not come to rest for {SETTLED_S} s: {self._has_run()}")

    def system_calls(self) -> Counter[str]:
        """Of its profile: what it did with files, by its own names, such as "asys_pread"."""
        found: Counter[str] = Counter()

        def take(node: Any) -> None:
            for key, value in node.items() if isinstance(node, dict) else ():
                if key.startswith("syscall_") and isinstance(value, dict):
                    found[key.removeprefix("syscall_")] += int(value.get("count", 0))
                else:
                    take(value)

        take(self.smbstatus())
        return found

    def profiled(self) -> dict[str, Counter[str]]:
        """Of its profile: count, inbytes, outbytes -> command -> how many."""
        said = self.smbstatus()
        found: dict[str, Counter[str]] = {k: Counter() for k in ("count", "inbytes", "outbytes")}

        def take(node: Any) -> None:
            for key, value in node.items() if isinstance(node, dict) else ():
                command = COMMANDS.get(key.removeprefix("smb2_"))
                if key.startswith("smb2_") and command and isinstance(value, dict):
                    for what, counter in found.items():
                        counter[command] += int(value.get(what, 0))
                else:
                    take(value)

        take(said)
        return found
