# SPDX-License-Identifier: GPL-2.0-or-later
"""Real netatalk servers for tests, by way of the shell scripts beside this file.

For example::

    with Server("forky", cnid="sqlite", AFPD_CPU="1") as server:
        server.peer("afp_lantest", "-n", "1", "-f", "8")
        counts = server.judge(server.peer_command("afp_lantest", "-n", "1", "-f", "8"))
        assert counts == SIGNATURES["8"]

Needs root. A server ends with this process, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

HERE = Path(__file__).resolve().parent
# Before a command: it ends with the program that started it, however that ends.
BOUND = ("setpriv", "--pdeathsig", "KILL")

USERS = {"bench1": "secret1", "bench2": "secret1", "longpw": "correct-horse-battery"}

# The suite whose netatalk-tests run against the servers of all suites: only
# there has afp_lantest the twelve tests of SIGNATURES.
PEER_SUITE = "forky"


def _signature(
    parms: int,
    mkdir: int,
    delete: int,
    create: int = 0,
    opened: int = 0,
    forkparms: int = 0,
    others: dict[int, int] | None = None,
) -> dict[int, int]:
    """Commands of a run: of every one FP code -> count, none that is 0."""
    counts = {
        34: parms,  # FPGetFileDirParms
        6: mkdir,  # FPCreateDir
        8: delete,
        7: create,  # FPCreateFile
        26: opened,  # FPOpenFork
        4: opened,  # FPCloseFork
        14: forkparms,  # FPGetForkParms
        18: 1,  # FPLogin
        24: 1,  # FPOpenVol
        20: 1,  # FPLogout
    } | (others or {})
    return {code: count for code, count in sorted(counts.items()) if count}


# What one iteration (-n 1) of afp_lantest 4.5.1 makes the server execute, by
# the letters of its option -f; it adds what a test needs ("3" writes first).
# 27 FPRead, 33 FPWrite, 60 FPReadExt, 61 FPWriteExt, 1 FPByteRangeLock,
# 9 the enumerate of AFP 2, 17 FPGetVolParms.
SIGNATURES: dict[str, dict[int, int]] = {
    "1": _signature(10004, 1, 1001, 1000, 2000, 3000, {27: 1000, 33: 1000, 9: 1, 17: 1}),
    "2": _signature(6, 1, 2, 1, 1, 1, {61: 100}),
    "3": _signature(7, 1, 2, 1, 2, 2, {60: 100, 61: 100}),
    "4": _signature(13, 1, 2, 1, 3, 3, {27: 1, 33: 1, 1: 20000}),
    "5": _signature(2005, 1, 2003, 2000, others={9: 12}),
    "6": _signature(2005, 1, 2003, 2000, others={9: 61}),
    "7": _signature(2004, 1, 2001, 2000),
    "8": _signature(4, 1111, 1111),
    "9": _signature(11004, 11, 111, 100),
    ":": _signature(404, 1, 201, 200, others={9: 20}),
    ";": _signature(3504, 21, 71, 50),
    "<": _signature(30004, 1, 101, 100),
    "123456789:;<": _signature(
        56916,
        1141,
        4593,
        3452,
        2005,
        3005,
        {27: 1001, 33: 1001, 60: 100, 61: 100, 1: 20000, 9: 70, 17: 1},
    ),
}


class Server:
    """A running afpd of a Debian suite, for a with statement.

    Hooks are the environment variables of up.sh (AFPD_GLOBAL, AFPD_VOL_SIZE,
    ...). Inside: port, pid, metad (pid of cnid_metad, None without), root,
    vol1, vol2, ro, log, conf (paths on this machine), version.
    """

    def __init__(self, suite: str, cnid: str = "dbd", port: int = 0, **hooks: str) -> None:
        self.suite = suite
        self.cnid = cnid
        self._wanted = port
        self._hooks = owned() | hooks
        self._env = os.environ | self._hooks

    def restart_command(self) -> str:
        """For a shell: stops the server and starts it anew on its port, with new volumes."""
        hooks = [f"{name}={value}" for name, value in self._hooks.items()]
        up = [str(HERE / "up.sh"), self.suite, str(self.port), self.cnid]
        down = [str(HERE / "down.sh"), str(self.port)]
        return f"{shlex.join(down)} && {shlex.join(['env', *hooks, *up])} > /dev/null"

    def __enter__(self) -> Self:
        up = _run(
            [str(HERE / "up.sh"), self.suite, str(self._wanted), self.cnid],
            env=self._env,
        )
        env = dict(line.split("=", 1) for line in up.stdout.splitlines())
        self.port = int(env["AFPD_PORT"])
        self.pid = int(env["AFPD_PID"])
        self.metad = int(env["METAD_PID"]) if "METAD_PID" in env else None
        self.version = env["AFPD_VERSION"]
        self.root = Path(env["AFPD_ROOT"])
        self.vol1 = Path(env["AFPD_VOL1"])
        self.vol2 = Path(env["AFPD_VOL2"])
        self.ro = Path(env["AFPD_RO"])
        self.log = Path(env["AFPD_LOG"])
        self.conf = Path(env["AFPD_CONF"])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _run([str(HERE / "down.sh"), str(self.port)], env=self._env)

    def peer_command(self, program: str, *args: str, user: str = "bench1") -> list[str]:
        """The command line of a program of netatalk-tests against this server."""
        return [
            *(str(HERE / "peer.sh"), PEER_SUITE, program),
            *("-h", "127.0.0.1", "-p", str(self.port), "-s", "vol1"),
            *("-u", user, "-w", USERS[user], *args),
        ]

    def peer(
        self, program: str, *args: str, user: str = "bench1"
    ) -> subprocess.CompletedProcess[str]:
        """Run it; the status is for the caller to check."""
        return _run(self.peer_command(program, *args, user=user), check=False, env=self._env)

    def judge(
        self,
        command: Sequence[str],
        *,
        wire: bool = False,
        forks: dict[int, int] | None = None,
    ) -> dict[int, int]:
        """Run a command, which must succeed, and count what the server did.

        Returns FP code -> count; with wire, as tshark sees the requests. forks gets how many of
        them had which number of an open file.
        """
        script = "judge-wire.sh" if wire else "judge.sh"
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "counts"
            _run(
                [str(HERE / script), str(self.port), str(out), "--", *command],
                env=self._env,
            )
            if forks is not None:
                forks.update(_counts(Path(f"{out}.forks")))
            return _counts(out)

    def sessions(self) -> list[int]:
        """The live session processes: children of afpd, and no zombies."""
        return sorted(pid for pid, state in children_of(self.pid).items() if state not in "ZX")


def children_of(pid: int) -> dict[int, str]:
    """The processes that it has started and that are still its own, each with its state.

    All of /proc is read: the kernel's list of a process's children, /proc/PID/task/TID/children,
    leaves out some that live while others end (proc(5)).
    """
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
                if int(parent) == pid:
                    found[int(folder.name)] = state
    return found


def owned() -> dict[str, str]:
    """For the scripts that start servers: these end with this process."""
    return {"SERVER_FOR": str(os.getpid())}


def _counts(file: Path) -> dict[int, int]:
    pairs = (line.split() for line in file.read_text().splitlines())
    return {int(code): int(count) for code, count in pairs}


def _run(
    command: Sequence[str], *, check: bool = True, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )
    if check and done.returncode:
        raise RuntimeError(f"{command} failed ({done.returncode}):\n{done.stdout}{done.stderr}")
    return done
