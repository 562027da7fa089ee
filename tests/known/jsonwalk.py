# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON values, as tests walk through them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple


class Place(NamedTuple):
    """A value in an object or in a list."""

    holder: Any
    key: Any
    path: tuple[Any, ...]  # keys from the whole value to this one

    @property
    def value(self) -> Any:
        return self.holder[self.key]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[Place]:
    """Every place in it, and behind each the places inside."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (place := Place(value, key, (*path, key)))
            yield from places(place.value, place.path)


def texts(value: Any) -> Iterator[str]:
    """Every key of an object and every text."""
    for place in places({"": value}):
        if isinstance(place.holder, dict) and len(place.path) > 1:
            yield place.key
        if isinstance(place.value, str):
            yield place.value
