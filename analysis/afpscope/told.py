# SPDX-License-Identifier: GPL-2.0-or-later
"""Sentences that the program wrote into a run, in another language.

Their English stands in the program's source, with figures as "{lock}" and, in square brackets, what
is left out where such a figure is not known. A run has them filled in. A catalogue has them as they
stand in the source, with the context PROGRAM; each becomes a pattern, so that the figures of what a
run says are found, and are put into the translation, which may have them in another order.

Many a line is composed of several of them: "Spent 1.2 s in 40 requests: disk 70 %, run queue 30 %".
It is taken apart where it has a comma or the like, and the longest parts that are known are
translated. A word beside a figure is translated as the head of a column with that name is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

PROGRAM = "program"  # contexts of the catalogue
HEAD = "head"  # of a table, or its title
CAUSE = "cause"  # key of one, with blanks
_HOLE = re.compile(r"\{([^{}]*)\}")
_FIGURE, _WHO = "((?:(?!, ).)*?)", "(.*?)"  # a figure is no list; "{lock.who}" may be one
# "{n1}", "{s2}" and "{s3.s}", of a printf format; "{server}"
_NUMBER, _TEXT, _PLURAL = (
    r"([-+]?\d[\d.,]*)",
    r"((?:(?!, |; |: )(?:[^()]|\([^()]*\)))*?)",
    "(|s|es|y|ies| was| were)",
)
_PROGRAM = r"([^\W\d][\w.-]*)"
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
_PART = re.compile(r"(; |: |, | (?=and \d+ more)|\. |(?: |^)[(]|[)]:? ?|[:.]$)")
_JOINED = 4  # blanks, at least, of a sentence that may stand beside another one
_BLANK = re.compile(r"\s+")
_WORDS = re.compile(r"[^\W\d_]*[a-z]{2}")
_AMOUNT = r"[-+~≥≤<]?\d(?:[\d.,]*\d)?(?: ?(?:[nmµ]?s|%|[KMGT]i?B|B))?"
_BESIDE = re.compile(
    rf"(?P<first>{_AMOUNT} )?(?P<word>[^\W\d].*?)(?P<last> (?:× )?{_AMOUNT})?", re.S
)


def _hole(name: str, last: bool) -> str:
    """`last`: it ends the sentence: an error's own text, perhaps."""
    if name.endswith((".who", ".text")):
        return _WHO
    if name.endswith(".s"):
        return _PLURAL
    if name in ("server", "helper"):
        return _PROGRAM
    if re.fullmatch(r"n\d+", name):
        return _NUMBER
    return _FIGURE if not re.fullmatch(r"s\d+", name) else _WHO if last else _TEXT


class _Sentence:
    """One of the source, and its translation. `plain`: how many letters are no figures; `mark`: the
    longest piece that a text must have to be this one."""

    def __init__(self, english: str, translation: str) -> None:
        self.english, self.translation = english, translation
        self.keys = _HOLE.findall(english)
        self.plain = len(_HOLE.sub("", english))
        self.mark = max(re.split(r"\{[^{}]*\}", _OPTIONAL.sub("{}", english)), key=len)
        parts = re.split(r"(\{[^{}]*\}|[\[\]])", english)
        marks = {"[": "(?:", "]": ")?"}
        self.pattern = re.compile(
            "".join(
                _hole(p[1:-1], english.endswith(f": {p}"))
                if _HOLE.fullmatch(p)
                else marks.get(p, re.escape(p))
                for p in parts
            ),
            re.S,
        )

    def values(self, text: str) -> dict[str, str] | None:
        m = self.pattern.fullmatch(text)
        if m is None:
            return None
        values: dict[str, str] = {}
        for key, value in zip(self.keys, m.groups(), strict=True):
            if value is not None:
                values.setdefault(key, value)
        return values

    def filled(self, values: Mapping[str, str]) -> str:
        def kept(part: re.Match[str]) -> str:
            return part[1] if set(_HOLE.findall(part[1])) <= values.keys() else ""

        whole = _OPTIONAL.sub(kept, self.translation)
        return _HOLE.sub(lambda hole: values.get(hole[1], hole[0]), whole)


class Told:
    """`sentences`: English, and its translation; `heads`: those of columns."""

    def __init__(
        self, sentences: Iterable[tuple[str, str]], heads: Iterable[tuple[str, str]] = ()
    ) -> None:
        found = [_Sentence(english, translation) for english, translation in sentences]
        self._sentences = sorted((s for s in found if s.keys), key=lambda s: -s.plain)
        self._fixed = dict(heads) | {s.english: s.translation for s in found if not s.keys}
        self._long = [pair for pair in self._fixed.items() if pair[0].count(" ") >= _JOINED]

    def __call__(self, text: str) -> str:
        """What is none of the sentences stays as it is: another version of the program wrote it."""
        if not text or not (self._fixed or self._sentences):
            return text
        return "\n".join(map(self._line, text.split("\n")))

    def _line(self, text: str) -> str:
        even = _BLANK.sub(" ", text)
        blank = text[: len(text) - len(text.lstrip())]
        done = self._rated(even.strip())
        return text if done is None else blank + done

    def _rated(self, text: str) -> str | None:
        """With how sure it is behind it, which is no part of a list at its end."""
        said, mark, last = text.rpartition("; ")
        if last in ("sure", "likely") and (word := self._fixed.get(last)):
            return f"{self._whole(said) or self._parted(said) or said}{mark}{word}"
        return self._whole(text) or self._parted(text)

    def _whole(self, text: str) -> str | None:
        """As one sentence, or as words beside a figure."""
        return (
            self._fixed.get(text)
            or self._sentence(text)
            or self._beside(text)
            or self._joined(text)
        )

    def _sentence(self, text: str) -> str | None:
        for s in self._sentences:
            if s.mark in text and (values := s.values(text)) is not None:
                return s.filled({key: self._value(v, text) for key, v in values.items()})
        return None

    def _joined(self, text: str) -> str | None:
        """Two sentences of which one has no figure, with nothing but a blank between them."""
        for english, translation in self._long:
            rest = text[len(english) + 1 :]
            if text.startswith(english + " ") and rest[0] not in "(":
                return f"{translation} {self(rest)}"
            if text.endswith(" " + english) and text[-len(english) - 2] not in ":;,":
                return f"{self(text[: -len(english) - 1])} {translation}"
        return None

    def _value(self, value: str, of: str) -> str:
        """What stands for a figure may be a list of words with figures, else it is a name."""
        if not _WORDS.search(value) or value == of:
            return value
        before, mark, last = value.rpartition("; ")
        if mark and (word := self._fixed.get(last)):
            return f"{self._value(before, of)}{mark}{word}"
        bare = value.strip()
        done = self._whole(bare) or self._parted(bare, whole=True)
        return value if done is None else value.replace(bare, done)

    def _beside(self, text: str) -> str | None:
        m = _BESIDE.fullmatch(text)
        if m is None or not (m["first"] or m["last"]):
            return None
        word = self._fixed.get(m["word"]) or self._sentence(m["word"])
        return word and f"{m['first'] or ''}{word}{m['last'] or ''}"

    def _parted(self, text: str, whole: bool = False) -> str | None:
        """`whole`: only if all of it is known."""
        parts = _PART.split(text)  # text, what parts it from the next, text, ...
        n = len(parts)
        out: list[str] = []
        at = known = 0
        while at < n:
            end, done = self._longest(parts, at, n)
            if done is not None:
                known += 1
            elif whole and _WORDS.search(parts[at]):
                return None
            out.append("".join(parts[at:end]) if done is None else done)
            out += parts[end : end + 1] if end % 2 else []
            at = end + end % 2
        return "".join(out) if known else None

    def _longest(self, parts: list[str], at: int, n: int) -> tuple[int, str | None]:
        """The end of the longest run of parts from `at` on that is a sentence, and that one in the
        other language. A run may end with what parts it from the next: ")", ".", ":"."""
        for end in range(n, at, -1):
            text = "".join(parts[at:end])
            if (at == 0 and end == n) or text.endswith((", ", "; ", " (")):
                continue  # it was tried as a whole, or is none
            done = self._whole(text.rstrip(" ")) if _WORDS.search(text) else None
            if done is not None:
                return end, done + (" " if text.endswith(" ") else "")
        return at + 1, None
