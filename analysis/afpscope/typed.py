# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands of the program in what is printed for people ("afpscope report last"), as they have to
be typed here (user/base/typed.h does the same). Pages and files are read elsewhere: they keep the
name."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

_NAME = "afpscope"
# A command follows, and no word of a sentence about the program.
_COMMAND = re.compile(
    r"(?<![^\s(`'\"])(?<!on the server: )afpscope "
    r"(?!(?:and|for|in|inside|is|itself|of|on|outside|put|that|with)\b)([a-z]{2,15}(?![a-z])|--)"
)


def _beside(name: str) -> Path | None:
    """A program that is where this one is."""
    path = Path(sys.argv[0]).absolute().with_name(name)
    return path if path.is_file() else None


def _word(path: Path) -> str:
    """A program's path as a word for a shell that is in this folder."""
    try:
        here = Path.cwd()
    except OSError:  # the folder is gone
        return shlex.quote(str(path))
    below = str(path.relative_to(here)) if here.name and path.is_relative_to(here) else str(path)
    return shlex.quote(below if "/" in below else f"./{below}")


def _called(name: str, path: Path | None) -> str | None:
    """How a shell here calls the program at this path, or the one on the PATH; None: it does
    not."""
    on_path = shutil.which(name)
    if path is None or (on_path and path.samefile(on_path)):
        return name if on_path else None
    return _word(path)


def _command(name: str) -> str:
    """ "afpscope report": as a program of its own where only the commands in Python are."""
    own = os.environ.get("AFPSCOPE")
    whole = Path(own).absolute() if own and Path(own).is_file() else _beside(_NAME)
    sudo = "sudo " if "SUDO_UID" in os.environ and not os.geteuid() else ""
    if called := _called(_NAME, whole):
        return f"{sudo}{called} {name}"
    part = f"{_NAME}-{name}"
    return f"{sudo}{_called(part, _beside(part)) or f'{_NAME} {name}'}"


def typed(text: str) -> str:
    return _COMMAND.sub(lambda found: _command(found[1]), text)
