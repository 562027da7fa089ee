# SPDX-License-Identifier: GPL-2.0-or-later
"""Sentences that the program wrote into a run, in another language.

Their English stands in the program's source, with figures as "{lock}" and, in square brackets, what
is left out where such a figure is not known. A run has them filled in. A catalogue has them as they
stand in the source, with the context PROGRAM; each becomes a pattern, so that the figures of what a
run says are found, and are put into the translation, which may have them in another order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

PROGRAM = "program"  # contexts of the catalogue
HEAD = "head"  # of a table, or its title
_HOLE = re.compile(r"\{([^{}]*)\}")
_FIGURE, _WHO = "((?:(?!, ).)*?)", "(.*?)"  # a figure is no list; "{lock.who}" may be one
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")


def _hole(part: str) -> str:
    return _WHO if part.endswith((".who}", ".text}")) else _FIGURE


class _Sentence:
    """One of the source, and its translation. `plain`: how many letters are no figures."""

    def __init__(self, english: str, translation: str) -> None:
        self.translation = translation
        self.keys = _HOLE.findall(english)
        self.plain = len(_HOLE.sub("", english))
        parts = re.split(r"(\{[^{}]*\}|[\[\]])", english)
        marks = {"[": "(?:", "]": ")?"}
        self.pattern = re.compile(
            "".join(
                _hole(p) if _HOLE.fullmatch(p) else marks[p] if p in marks else re.escape(p)
                for p in parts
            ),
            re.S,
        )

    def told(self, text: str) -> str | None:
        m = self.pattern.fullmatch(text)
        if m is None:
            return None
        values: dict[str, str] = {}
        for key, value in zip(self.keys, m.groups(), strict=True):
            if value is not None:
                values.setdefault(key, value)

        def kept(part: re.Match[str]) -> str:
            return part[1] if set(_HOLE.findall(part[1])) <= values.keys() else ""

        whole = _OPTIONAL.sub(kept, self.translation)
        return _HOLE.sub(lambda hole: values.get(hole[1], hole[0]), whole)


class Told:
    """`sentences`: English, and its translation."""

    def __init__(self, sentences: Iterable[tuple[str, str]]) -> None:
        found = [_Sentence(english, translation) for english, translation in sentences]
        self._sentences = sorted(found, key=lambda s: -s.plain)

    def __call__(self, text: str) -> str:
        """As it is, if it is none of the sentences: another version of the program wrote it."""
        return next((t for s in self._sentences if (t := s.told(text)) is not None), text)
