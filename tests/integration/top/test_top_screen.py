# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope top on a terminal (tmux): keys, sizes, and that the terminal is as it was afterwards.

Tests user/top/top_screen.c.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
import subprocess
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from afpclient import AfpClient, Busy
from netatalk import Server
from recording import HOSTILE, RawClient, ask_for
from scope import PinnedServer, Scope, kill, processes_of, wait_until

READY = "ready>"
VIEWS = ("COMMAND", "USER", "CLIENT", "VOLUME", "SESSION", "FILE")


class Terminal:
    """A shell in a tmux of its own."""

    def __init__(self, folder: Path, width: int, height: int, **env: str) -> None:
        self._socket = folder / "tmux"
        self._pids: list[int] = []
        shell = f"env PS1='{READY}' LC_ALL=C.UTF-8 bash --norc --noprofile"
        size = ("-x", str(width), "-y", str(height))
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, shell, env=env)
        self.wait(lambda text: READY in text, "the shell")

    def _tmux(self, *args: str, env: dict[str, str] | None = None) -> str:
        return subprocess.run(
            ["tmux", "-u", "-S", str(self._socket), *args],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | (env or {}),
            timeout=20,
        ).stdout

    def text(self, *args: str) -> str:
        return self._tmux("capture-pane", "-p", *args)

    def wait(self, condition: Callable[[str], bool], what: str, timeout: float = 30) -> str:
        try:
            wait_until(lambda: condition(self.text()), timeout, what, 0.05)
        except AssertionError:
            raise AssertionError(f"waited for {what}:\n{self.text()}") from None
        return self.text()

    def until(self, pattern: str) -> str:
        return self.wait(lambda text: bool(re.search(pattern, text, re.M)), pattern)

    def keys(self, *names: str) -> None:
        self._tmux("send-keys", *names)

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    def run(self, command: str) -> None:
        """On an empty screen, once the command before it has ended."""
        self.type("clear")
        self.keys("Enter")
        self.wait(lambda text: text.strip() == READY, "an empty screen")
        self.type(command)
        self.keys("Enter")

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def modes(self) -> str:
        """On the other screen; the cursor is shown; a mouse or keypad mode."""
        names = ("alternate_on", "cursor_flag", "keypad_flag", "keypad_cursor_flag", "insert_flag")
        return self._tmux("display", "-p", " ".join(f"#{{{name}}}" for name in names)).strip()

    def stty(self) -> str:
        self.run("stty -a")
        text = self.until(rf"^speed [\s\S]*^{READY}")
        settings = re.search(rf"^speed [\s\S]*?(?=^{READY})", text, re.MULTILINE)
        assert settings
        return settings[0]

    def close(self) -> None:
        self._tmux("kill-server")


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    with contextlib.ExitStack() as stack:

        def make(width: int = 80, height: int = 24, **env: str) -> Terminal:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            made = Terminal(folder, width, height, **env)
            stack.callback(made.close)
            return made

        yield make


def command(scope: Scope, server: Server, *args: str) -> str:
    return shlex.join([str(scope.binary), "top", "-p", str(server.port), *args])


def fits(text: str, width: int, height: int) -> None:
    lines = text.rstrip("\n").split("\n")
    assert len(lines) <= height and all(len(line) <= width for line in lines)


def test_keys_at_80_by_24(
    scope: Scope, guests: Server, pair: dict[int, Busy], terminal: Callable[..., Terminal]
) -> None:
    t = terminal()
    before, modes = t.stty(), t.modes()
    t.run(command(scope, guests, "-d", "0.3"))
    t.until(r"^COMMAND .* TIME\*$")
    fits(t.until(r"^FPGetFileDirParms .*[ocqdikgnzs]"), 80, 24)
    assert t.modes() != modes
    for key, name in zip("123456", VIEWS, strict=True):
        t.keys(key)
        fits(t.until(rf"^{name} .* TIME\*"), 80, 24)
    t.until("^By file: each request makes a record")
    t.keys("u")
    t.until("^The watch makes no records any more")
    t.until(r"^bench1 ")
    t.keys("Enter")
    text = t.until(r"^SESSION [\s\S]* of bench1 1/2$")
    assert sorted(int(pid) for pid in re.findall(r"^bench1 \S+ \((\d+)\)", text, re.M)) == sorted(
        pair
    )
    wanted = next(iter(pair))
    t.keys("F4")
    t.type(f"({wanted})")
    t.until(rf"^Filter: \({wanted}\)_ .* 1/1$")
    t.keys("Enter")
    t.until(rf"^bench1 \S+ \({wanted}\) ")
    t.keys("Escape")
    t.until(r" 1/2$")
    t.keys("F6")
    t.until(r"^ busy ")
    t.keys("Down", "Enter")
    t.until(r"^SESSION\* ")
    t.keys("I")
    t.until(r"^SESSION\^ ")
    t.keys("Down")
    t.until(r" 2/2$")
    t.keys("h")
    fits(t.until("^lost    what could not be counted"), 80, 24)
    t.keys("x", "Space")
    t.until(" PAUSED ")
    t.keys("Space")
    t.wait(lambda text: "PAUSED" not in text, "the end of the pause")
    t.keys("q")
    t.until(r"^afpscope: [\d.]+ s watched: [\d,]+ requests, 0 lost$")
    assert t.modes() == modes and t.stty() == before


def is_wide(text: str, width: int) -> bool:
    """The bar has all columns."""
    return len(text.split("\n")[2]) == width


def test_other_sizes(
    scope: Scope, guests: Server, pair: dict[int, Busy], terminal: Callable[..., Terminal]
) -> None:
    t = terminal(200, 50)
    t.run(command(scope, guests, "-d", "0.3", "--by", "session"))
    wide = t.until(r"^SESSION .* MB/s in    out  NOW OLDEST   CPU .* TIME\*")
    fits(wide, 200, 50)
    assert is_wide(wide, 200)
    for width, height in ((80, 24), (40, 12), (20, 5), (9, 4)):
        t.resize(width, height)
        t.wait(lambda text, w=width: is_wide(text, w), f"{width} columns")  # type: ignore[misc]
        fits(t.text(), width, height)
    t.resize(200, 50)
    assert is_wide(t.until(r"^SESSION .* MB/s in    out  NOW OLDEST   CPU .* TIME\*"), 200)
    t.keys("C-c")
    t.until(r"s watched: ")


def pid_of(t: Terminal) -> int:
    shell = int(t._tmux("display", "-p", "#{pane_pid}"))
    return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])


def test_signals_restore_the_terminal(
    scope: Scope, guests: Server, pair: dict[int, Busy], terminal: Callable[..., Terminal]
) -> None:
    """One signal, with the closing lines; and many, which may end it before them."""
    t = terminal()
    before, modes = t.stty(), t.modes()
    for number, once in itertools.product(("TERM", "HUP", "INT"), (True, False)):
        t.run(command(scope, guests, "-d", "0.3"))
        t.until("^COMMAND ")
        send = f"kill -{number} {pid_of(t)}"
        t._tmux("run-shell", send if once else f"while {send} 2>/dev/null; do :; done")
        closing = "^afpscope: .* s watched: " if once else "afpscope top "
        text = t.until(rf"{closing}[\s\S]*^{READY}$")
        assert "COMMAND" not in text
        assert "nothing was saved" not in text
        assert t.modes() == modes
    assert t.stty() == before


def test_a_server_that_dies_restores_the_terminal(
    scope: Scope, victim: PinnedServer, terminal: Callable[..., Terminal]
) -> None:
    t = terminal()
    modes = t.modes()
    client = AfpClient(victim.port)
    t.run(command(scope, victim))
    t.until("^COMMAND ")
    kill(processes_of(victim))
    t.until(r"^afpd, process \d+, port \d+: ended at \d\d:\d\d:\d\d; waiting for it")
    t.keys("F1")
    t.until("^BUSY ")
    t.keys("Escape")
    t.until("waiting for it")
    t.keys("q")
    t.until(f"^afpscope: process {victim.pid} ended while it was watched[\\s\\S]*{READY}")
    assert t.modes() == modes
    client.drop()


def test_colours_only_where_they_are_wanted(
    scope: Scope, guests: Server, pair: dict[int, Busy], terminal: Callable[..., Terminal]
) -> None:
    t = terminal()
    line = command(scope, guests, "-d", "0.3")
    t.run(line)
    t.until("^FPGetFileDirParms ")
    assert re.search(r"\x1b\[[\d;]*4[1-7]m", t.text("-e"))
    t.keys("q")
    t.until(r"s watched: ")
    t.run(f"NO_COLOR=1 {line}")
    t.until("^FPGetFileDirParms ")
    assert not re.search(r"\x1b\[[\d;]*[34][1-7]m", t.text("-e"))
    t.keys("q")
    t.until(r"s watched: ")
    t.run(f"TERM=dumb {line} -n 1")
    text = t.until(r"s watched: ")
    assert "F1Help" not in text and "\nCOMMAND " in text
    fits(text, 80, 24)


def test_hostile_names_reach_no_terminal(
    scope: Scope, guests: Server, terminal: Callable[..., Terminal]
) -> None:
    t = terminal()
    t.run(command(scope, guests, "-d", "2", "--by", "file", "--names"))
    with contextlib.closing(RawClient(guests.port)) as client:
        t.until("^FILE ")
        t.keys("Space")
        t.until(" PAUSED ")
        ask_for(client, HOSTILE)
        ask_for(client, b"\x1b]0;x\x07" * 36)
        ask_for(client, "日本語の名前".encode() * 5)
        t.keys("Space")  # all are in one step
        text = t.until(r"^a\?\[2J\?\?\?")
        assert "\n?]0;x??]0;x?" in text
        assert re.search(r"^日本語の名前.* [\d.]+us ", text, re.M)
        # Each line has its columns where the heading has them; some characters take two.
        place = text.split("\n")[6].index("BUSY") + 3
        rows = [line for line in text.split("\n") if line.startswith(("a?[", "?]0", "日"))]
        assert len(rows) == 3
        for line in rows:
            assert line[place - sum(unicodedata.east_asian_width(c) == "W" for c in line)].isdigit()
        fits(text, 80, 24)
    t.keys("q")
    t.until(r"s watched: ")
