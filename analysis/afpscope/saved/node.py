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

from ..errors import Failure
from . import sealed
from .files import opened

FILE_MAX = 1 << 30
INT_MIN, INT_MAX = -(1 << 63), (1 << 64) - 1


class Node:
    """One JSON value. `where` is its place: `run.json: phases[3].test`."""

    __slots__ = ("_key", "_parent", "value")

    def __init__(self, value: Any, key: str | int, parent: Node | None = None) -> None:
        """`key`: where it is in `parent`; without one, the name of the file."""
        self.value = value
        self._key = key
        self._parent = parent

    @property
    def where(self) -> str:
        # Built only for a message: a run has a hundred thousand values, nearly all of them right.
        parts: list[str] = []
        node: Node | None = self
        while node is not None:
            parts.append(node._step())
            node = node._parent
        return "".join(reversed(parts))

    def _step(self) -> str:
        if self._parent is None:
            return str(self._key)
        return f"[{self._key}]" if isinstance(self._key, int) else f".{self._key}"

    def _wrong(self, wanted: str) -> Failure:
        kind = "null" if self.value is None else type(self.value).__name__
        return Failure(f"{self.where} is {kind}, not {wanted}: the file is damaged")

    def int_(self) -> int:
        value = self.value
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong("an integer")
        if not INT_MIN <= value <= INT_MAX:
            raise self._wrong("an integer of 64 bits")
        return value

    def count(self) -> int:
        """An integer that is not negative."""
        value = self.int_()
        if value < 0:
            raise self._wrong("0 or more")
        return value

    def number(self) -> float:
        value = self.value
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self._wrong("a number")
        try:
            return float(value)
        except OverflowError:
            raise Failure(f"{self.where} is too large a number: the file is damaged") from None

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self._wrong("a text")
        return self._unicode(self.value)

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            raise self._wrong("true or false")
        return self.value

    def array(self) -> list[Any]:
        """The plain values of an array."""
        if not isinstance(self.value, list):
            raise self._wrong("an array")
        return self.value

    def items(self) -> Iterator[Node]:
        return (Node(value, i, self) for i, value in enumerate(self.array()))

    def _object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self._wrong("an object")
        return self.value

    def members(self) -> Iterator[tuple[str, Node]]:
        return (
            (self._unicode(key), Node(value, key, self)) for key, value in self._object().items()
        )

    def __getitem__(self, key: str) -> Node:
        value = self._object()
        if key not in value:
            raise Failure(
                f"{self.where} has no {key}: the file is damaged, or not a run of afpscope"
            )
        return Node(value[key], key, self)

    def get(self, key: str) -> Node | None:
        """The member, or None if it is null or missing."""
        value = self._object().get(key)
        return None if value is None else Node(value, key, self)

    def texts(self) -> dict[str, str]:
        """An object of texts."""
        return {key: node.text() for key, node in self.members()}

    def counts(self) -> dict[str, int | None]:
        """An object of integers, or null."""
        return {k: None if n.value is None else n.int_() for k, n in self.members()}

    def get_int(self, key: str) -> int | None:
        value = self._object().get(key)
        if type(value) is int and INT_MIN <= value <= INT_MAX:
            return value
        return None if value is None else Node(value, key, self).int_()

    def get_number(self, key: str) -> float | None:
        node = self.get(key)
        return None if node is None else node.number()

    def get_text(self, key: str) -> str | None:
        node = self.get(key)
        return None if node is None else node.text()

    def _unicode(self, text: str) -> str:
        """The text. Failure if it has a lone surrogate, which cannot be written."""
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Failure(f"{self.where} holds a lone surrogate: the file is damaged") from None
        return text


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def parsed(raw: bytes, path: Path) -> Node:
    """The JSON in `raw`, the bytes of the file at `path`."""
    try:
        value = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError) as e:
        raise Failure(f"{path} is not JSON: {str(e)[:200]}; it may be cut off or damaged") from None
    return Node(value, path.name)


def load(path: Path) -> Node:
    """The JSON file at `path`, at most FILE_MAX long; of a bundle also its checksum."""
    try:
        with opened(path) as file:
            if os.fstat(file.fileno()).st_size > FILE_MAX:
                raise Failure(f"{path}: larger than {FILE_MAX} bytes, the most for a run")
            raw = file.read()
    except OSError as e:
        raise Failure(f"cannot read {path}: {e.strerror}") from None
    sealed.check(raw, path)
    return parsed(raw, path)
