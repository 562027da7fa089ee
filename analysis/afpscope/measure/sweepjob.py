# SPDX-License-Identifier: GPL-2.0-or-later
"""A sweep as a job file (docs/load.md): that of its steps, which the program itself reads and
writes, with the list in place of one value and the options of the sweep beside it.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import Failure, wrong_use
from ..saved.files import opened
from ..urls import scheme
from .children import said
from .swept import LOAD, REPLAY, RX, SERVED_BY_US, Line, is_list, list_names

JOB_FILE = "job.ini"
OWN = (
    "output", "order", "seed", "repeat", "pause", "slo", "refine", "serve", "each", "values",
    "own-set",
)  # fmt: skip
FLAGS = ("own-set",)
RECORDING = "recording"  # option of a step that is a replay
_LONGEST = 1 << 20  # bytes of a job file, as for the program itself
_SECTION = re.compile(r"\s*\[([^]]*)\]")
_KEY = re.compile(r"\s*([^=:;#\s][^=:]*?)\s*[=:]\s*(.*)")
_QUOTED = re.compile(r'"((?:[^"\\]|\\["\\nrt])*)"\s*(?:;.*)?')
_ESCAPED = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}


def _value(text: str) -> str | None:
    """None: it begins with a quote, and is none of the quoted values that there are."""
    if text.startswith('"'):
        found = _QUOTED.fullmatch(text.rstrip())
        return re.sub(r"\\(.)", lambda m: _ESCAPED[m[1]], found[1]) if found else None
    return re.split(r"(?:^|\s);", text, maxsplit=1)[0].strip()


def _quoted(value: str) -> str:
    if value and value == value.strip() and not re.search(r'^[";]|\s;|[\n\r]', value):
        return value
    letters = {means: letter for letter, means in _ESCAPED.items()}
    return '"' + re.sub(r'["\\\n\r\t]', lambda m: "\\" + letters[m[0]], value) + '"'


@dataclass(frozen=True)
class Job:
    """`keys`: of [run], by name, the line and the value. Others are the step's, as they are."""

    path: Path
    lines: tuple[str, ...]
    keys: Mapping[str, tuple[int, str]]

    @property
    def target(self) -> str | None:
        return self.value("target")

    def value(self, key: str) -> str | None:
        return self.keys[key][1] if key in self.keys else None

    @property
    def command(self) -> str:
        """Of its steps."""
        if RECORDING in self.keys:
            return REPLAY
        return RX if "serve" in self.keys or (self.target or "").startswith("rx://") else LOAD

    @property
    def lists(self) -> dict[str, str]:
        """What is swept."""
        return {
            k: v
            for k, (_, v) in self.keys.items()
            if k not in (*OWN, "command", "target") and is_list(k, v)
        }

    def words(self, line: Sequence[str]) -> list[str]:
        """Its own options as words, and what is swept, but for what the command line replaces."""
        given = {w.split("=")[0] for w in line} | {"--output" for w in line if w.startswith("-o")}
        out = []
        for key in OWN:
            value = self.value(key)
            if value is None or f"--{key}" in given:
                continue
            if key not in FLAGS:
                out.append(f"--{key}={value}")
            elif value == "yes":
                out.append(f"--{key}")
        swept = set(list_names(self.command, line))
        for key, value in self.lists.items():
            if key not in swept:
                out.append(f"--{key}={value}" if len(key) > 1 else f"-{key}{value}")
        return out

    def of_step(self) -> str:
        """The job file of its steps, whose lines have the same numbers."""
        lines = list(self.lines)
        for key, (i, _) in self.keys.items():
            if key == "command":
                lines[i] = f"command = {self.command}"
            elif key in OWN or key in self.lists:
                lines[i] = ""
        return "\n".join(lines) + "\n"


def _text(path: Path) -> str:
    """Empty: it cannot be read, or is no text. What is no file, and one that is too long, is wrong
    use: a pipe would be waited for, and a device may have no end."""
    try:
        with opened(path) as file:
            data = file.read(_LONGEST + 1)
        if len(data) > _LONGEST:
            raise wrong_use(f"{path} is longer than {_LONGEST} bytes")
        return data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return ""
    except Failure as e:
        raise wrong_use(str(e)) from None


def read(path: Path) -> Job | None:
    """None: it is no job file of a sweep."""
    lines, section = _text(path).splitlines(), ""
    keys: dict[str, tuple[int, str]] = {}
    for i, line in enumerate(lines):
        if found := _SECTION.match(line):
            section = found[1].strip()
        elif section == "run" and (found := _KEY.match(line)):
            value = _value(found[2])
            if value is None:
                bad = 'a value that begins with " must end with it'
                raise wrong_use(f"{path}, line {i + 1}: {bad}")
            if found[1] in OWN and found[1] in keys:
                raise wrong_use(f"{path}, line {i + 1}: {found[1]} is there twice")
            keys.setdefault(found[1], (i, value))
    job = Job(path, tuple(lines), keys)
    return job if job.value("command") == "sweep" else None


def find(words: Sequence[str]) -> tuple[int, Job] | None:
    """The first of the words that names a sweep's job file, and which it is."""
    for i, word in enumerate(words):
        if word.endswith(".ini") and not word.startswith("-") and not scheme(word):
            job = read(Path(word))
            if job:
                return i, job
    return None


def _shown(program: str, words: Sequence[str]) -> list[str]:
    run = subprocess.run([program, *words, "--show-job"], capture_output=True, text=True)
    if run.returncode:
        raise wrong_use(said(run.stderr.splitlines()))
    return run.stdout.splitlines()


def shown(program: str, command: str, line: Line, own: Mapping[str, str]) -> str:
    """The job file of a sweep: what the program says of two steps, whose difference is swept."""
    ours = line.server is not None
    here = [SERVED_BY_US] if ours else []
    one, other = (_shown(program, [command, *line.client.at(v), *here]) for v in line.values[:2])
    out = ["; afpscope sweep FILE repeats this sweep; the name of FILE ends with .ini"]
    for a, b in zip(one[1:], other[1:], strict=True):
        key = a.partition(" = ")[0]
        if a == f"command = {command}":
            out += ["command = sweep", *(f"{k} = {_quoted(v)}" for k, v in own.items())]
        elif a != b:
            out.append(f"{key} = {','.join(line.values)}")
        elif not (ours and key == "target"):
            out.append(a)
    return "\n".join(out) + "\n"
