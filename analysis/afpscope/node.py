# SPDX-License-Identifier: GPL-2.0-or-later
"""A value of a JSON file together with its place in the file.

Every access states the type it expects, so that a damaged file gives one line that
names the place, and never a wrong number or a traceback.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .errors import Failure
from .files import opened

FILE_MAX = 1 << 30
_INT_MIN, _INT_MAX = -(1 << 63), (1 << 64) - 1


class Node:
    """One JSON value. `where` is its place: `run.json: phases[3].test`."""

    __slots__ = ("value", "where")

    def __init__(self, value: Any, where: str) -> None:
        self.value = value
        self.where = where

    def _is(self, right: bool, wanted: str) -> None:
        if not right:
            kind = "null" if self.value is None else type(self.value).__name__
            raise Failure(f"{self.where} is {kind}, not {wanted}: the file is damaged")

    def int_(self) -> int:
        value = self.value
        self._is(isinstance(value, int) and not isinstance(value, bool), "an integer")
        self._is(_INT_MIN <= value <= _INT_MAX, "an integer of 64 bits")
        return int(value)

    def count(self) -> int:
        """An integer that is not negative."""
        value = self.int_()
        self._is(value >= 0, "0 or more")
        return value

    def number(self) -> float:
        value = self.value
        self._is(isinstance(value, int | float) and not isinstance(value, bool), "a number")
        try:
            return float(value)
        except OverflowError:
            raise Failure(f"{self.where} is too large a number: the file is damaged") from None

    def text(self) -> str:
        self._is(isinstance(self.value, str), "a text")
        return _unicode(self.value, self.where)

    def flag(self) -> bool:
        self._is(isinstance(self.value, bool), "true or false")
        return bool(self.value)

    def items(self) -> Iterator[Node]:
        self._is(isinstance(self.value, list), "an array")
        for i, value in enumerate(self.value):
            yield Node(value, f"{self.where}[{i}]")

    def members(self) -> Iterator[tuple[str, Node]]:
        self._is(isinstance(self.value, dict), "an object")
        for key, value in self.value.items():
            yield _unicode(key, self.where), Node(value, f"{self.where}.{key}")

    def __getitem__(self, key: str) -> Node:
        self._is(isinstance(self.value, dict), "an object")
        if key not in self.value:
            raise Failure(f"{self.where} has no {key}: the file is damaged, or no afpscope run")
        return Node(self.value[key], f"{self.where}.{key}")

    def get(self, key: str) -> Node | None:
        """The member, or None if it is null or missing."""
        self._is(isinstance(self.value, dict), "an object")
        value = self.value.get(key)
        return None if value is None else Node(value, f"{self.where}.{key}")

    def texts(self) -> dict[str, str]:
        """An object of texts."""
        return {key: node.text() for key, node in self.members()}

    def counts(self) -> dict[str, int | None]:
        """An object of integers, or null."""
        return {k: None if n.value is None else n.int_() for k, n in self.members()}

    def get_int(self, key: str) -> int | None:
        node = self.get(key)
        return None if node is None else node.int_()

    def get_number(self, key: str) -> float | None:
        node = self.get(key)
        return None if node is None else node.number()

    def get_text(self, key: str) -> str | None:
        node = self.get(key)
        return None if node is None else node.text()


def _unicode(text: str, where: str) -> str:
    """The text. Failure if it has a lone surrogate, which cannot be written."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Failure(f"{where} holds a lone surrogate: the file is damaged") from None
    return text


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def load(path: Path) -> Node:
    """The JSON file at `path`, at most FILE_MAX long."""
    try:
        with opened(path) as file:
            if os.fstat(file.fileno()).st_size > FILE_MAX:
                raise Failure(f"{path}: larger than {FILE_MAX} bytes, the most for a run")
            value = json.loads(file.read(), parse_constant=_no_constant)
    except OSError as e:
        raise Failure(f"cannot read {path}: {e.strerror}") from None
    except (ValueError, RecursionError) as e:
        raise Failure(f"{path} is not JSON: {str(e)[:200]}; it may be cut off or damaged") from None
    return Node(value, path.name)
