# SPDX-License-Identifier: GPL-2.0-or-later
"""The C program as a child of a command that runs it many times (ab, sweep)."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

from ..errors import INTERRUPTED, wrong_use
from ..saved.files import added

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SAID = re.compile(r"(?:afpscope|Warning): (?!\d+ more )")
# where a URL names none
_PORTS = {"afp": 548, "gluster": 24007, "nfs": 2049, "rx": 7009, "smb": 445}


def program(named: str | None) -> str:
    """The program to run: `named`, else that of AFPSCOPE, else the one on the PATH."""
    name = named or os.environ.get("AFPSCOPE") or shutil.which("afpscope")
    if not name or not os.access(name, os.X_OK):
        raise wrong_use("there is no program afpscope: put it on the PATH or name it (--program)")
    return str(name)


@dataclass
class Relay:
    """Forwards the signals that would end this program to the one that is measuring.

    That one then removes what it made on the volume and writes its run. It runs in a separate
    session, so that it gets a ^C only once: a second signal would end it immediately.
    """

    caught: int = 0
    child: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def _on(self, number: int, frame: FrameType | None) -> None:
        self.caught = self.caught or number
        if self.child and self.child.poll() is None:
            self.child.send_signal(number)

    @contextmanager
    def listening(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._on) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def call(self, line: list[str], log: Path, env: dict[str, str] | None = None) -> int:
        """How the command ended; its output goes to `log`. Not started after a signal."""
        if self.caught:
            return INTERRUPTED
        with added(log) as out:
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
            try:
                self.child = subprocess.Popen(
                    line,
                    stdout=out,
                    stderr=out,
                    stdin=subprocess.DEVNULL,
                    env=env,
                    start_new_session=True,
                    preexec_fn=lambda: _unblock(blocked),
                )
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            return self.child.wait()


def _unblock(mask: set[int]) -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def said(lines: Sequence[str]) -> str:
    """The last message or warning; without one the last line that says more than where to read."""
    messages = [line for line in lines if _SAID.match(line)]
    messages = messages or [x for x in lines if x.strip() and not x.startswith("More: ")]
    return messages[-1][:200] if messages else ""


def last_line(log: Path) -> str:
    return said(log.read_text(encoding="utf-8", errors="replace").splitlines())


def address(url: str) -> tuple[str, int]:
    """Host and port of a server's URL."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "localhost").replace("%25", "%")  # of an address of a link
        return host, parts.port or _PORTS.get(parts.scheme, 548)
    except ValueError as e:
        raise wrong_use(f"{url}: {e}") from None
