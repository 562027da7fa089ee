# SPDX-License-Identifier: GPL-2.0-or-later
"""The arguments of a sweep's steps, with a place for the value that is swept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import wrong_use
from ..saved import steps

_ITEM = r"[\d.]+[KMGTkmgt]?"
_LIST = re.compile(rf"{_ITEM}(?:,{_ITEM})+")
_ONE_WORD = re.compile(rf"(--[\w-]+=|-[a-zA-Z])({_LIST.pattern})")
# Lists that are one value: the sizes of one call, users.
_ONE_VALUE = ("-f", "--file", "--file=", "--of-user", "--of-user=")
LOAD, REPLAY, RX = "load", "replay", "rx"
_LETTERS = {
    LOAD: {"-n": "clients", "-d": "duration", "-p": "port"},
    REPLAY: {"-p": "port"},
    RX: {
        "-n": "clients", "-d": "duration", "-p": "port", "-b": "bytes", "-t": "threads",
        "-T": "times", "-u": "udp-size", "-W": "window", "-S": "rpc-send", "-R": "rpc-receive",
        "-m": "packet",
    },
}  # fmt: skip
_SERVER_LETTERS = {"-S": "threads", "-s": "threads-least", "-u": "udp-size", "-W": "window"}
SERVE = "serve."  # what an option of our server is called
EACH = "value"  # what is set by --each
SERVED_BY_US = "localhost"  # stands for a server of ours, where a server must be named


@dataclass(frozen=True)
class Words:
    """`flag`: as given, --clients=, -n, or --clients for two words; None: nothing is swept here."""

    before: tuple[str, ...]
    flag: str | None = None
    after: tuple[str, ...] = ()

    def at(self, value: str) -> list[str]:
        if self.flag is None:
            return self.others
        word = self.flag.endswith("=") or not self.flag.startswith("--")
        return [*self.before, *([self.flag + value] if word else [self.flag, value]), *self.after]

    @property
    def others(self) -> list[str]:
        return [*self.before, *self.after]

    def given(self, *names: str) -> str | None:
        """The value of one of the other options, by its long or short name."""
        words = self.others
        for i, word in enumerate(words):
            for name in names:
                if word == name:
                    return words[i + 1] if i + 1 < len(words) else None
                if name.startswith("--") and word.startswith(f"{name}="):
                    return word.removeprefix(f"{name}=")
                if not name.startswith("--") and word.startswith(name):
                    return word.removeprefix(name)
        return None


@dataclass(frozen=True)
class Line:
    """Arguments of the program that loads, and of our server (None: another one is loaded)."""

    option: str
    values: tuple[str, ...]
    client: Words
    server: Words | None = None


@dataclass(frozen=True)
class _Found:
    begin: int
    end: int
    flag: str
    values: str


def _lists(words: Sequence[str]) -> list[_Found]:
    found: list[_Found] = []
    for i, word in enumerate(words):
        if match := _ONE_WORD.fullmatch(word):
            found.append(_Found(i, i + 1, match[1], match[2]))
        elif word.startswith("-") and i + 1 < len(words) and _LIST.fullmatch(words[i + 1]):
            found.append(_Found(i, i + 2, word, words[i + 1]))
    return [x for x in found if x.flag not in _ONE_VALUE]


def is_list(key: str, value: str) -> bool:
    """Whether a long option, or a letter, with this value is one that is swept."""
    flag = f"--{key}=" if len(key) > 1 else f"-{key}"
    return flag not in _ONE_VALUE and _LIST.fullmatch(value) is not None


def list_names(command: str, words: Sequence[str]) -> list[str]:
    """Which options have a list, by their long names."""
    flags = [x.flag.rstrip("=") for x in _lists(words)]
    return [_LETTERS[command].get(flag, flag.lstrip("-")) for flag in flags]


def _cut(words: Sequence[str], found: _Found | None) -> Words:
    if not found:
        return Words(tuple(words))
    return Words(tuple(words[: found.begin]), found.flag, tuple(words[found.end :]))


def _checked(flag: str, text: str) -> tuple[str, ...]:
    values = tuple(text.split(","))
    sizes = [steps.number(v) for v in values]
    if None in sizes:
        raise wrong_use(f"{flag} {text}: {values[sizes.index(None)]} is no number")
    if len(set(sizes)) != len(sizes):
        raise wrong_use(f"{flag} {text}: a value is there twice; use --repeat")
    return values


def parse(
    command: str, client: Sequence[str], server: Sequence[str] | None, values: str | None
) -> Line:
    """`values`: those of --each. Failure unless exactly one option has a list of numbers."""
    here, there = _lists(client), _lists(server or ())
    names = [x.flag.rstrip("=") for x in (*here, *there)] + ["--values"] * (values is not None)
    if len(names) != 1:
        raise wrong_use(
            f"exactly one option of {command} has a list of numbers, such as --clients 1,2,5 "
            f"({', '.join(names) or 'none has'})"
        )
    words = _cut(client, here[0] if here else None)
    of_server = None if server is None else _cut(server, there[0] if there else None)
    if values is not None:
        return Line(EACH, _checked("--values", values), words, of_server)
    found = (here or there)[0]
    flag = found.flag.rstrip("=")
    letters = _LETTERS[command] if here else _SERVER_LETTERS
    option = letters.get(found.flag, flag.lstrip("-"))
    return Line(option if here else SERVE + option, _checked(flag, found.values), words, of_server)
