# SPDX-License-Identifier: GPL-2.0-or-later
"""Sentences that the program wrote into a run, without the names in them.

Of such a text only that is kept which stands in the program's own catalogue of sentences, and of
what was filled in: amounts, words of the run that are the program's, and tokens of names. All else
becomes a token of its own, also a text that is no sentence of this version.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping

from ..told import Told, _Sentence

_UNIT = r"(?:ns|µs|us|ms|s|min|h|%|B|[KMGT]i?B|[KMGT]i?B/s|Mbit/s|Gbit/s|/s)"
_NUMBER = r"[-+~≥≤<±]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
AMOUNT = re.compile(rf"{_NUMBER} ?{_UNIT}(?:/s)?")
# With a fraction or a mark of thousands: no number of a process, a user or a port has one.
_PRECISE = re.compile(r"[-+~≥≤<±]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+)")
FIGURE = re.compile(rf"{_NUMBER}(?: ?{_UNIT})?(?:/s| a second)?")
# Behind a number that counts things, or before it.
_THINGS = (
    rf"(?:{_UNIT}(?![\w])|(?:of|or more|times?|more|other|under way)\b|(?:AFP |different )?"
    r"(?:requests?|calls?|clients?|actions?|records?|reads?|writes?|entr(?:y|ies)|files?|folders?|sessions?"
    r"|connections?|threads?|datagrams?|packets?|segments?|CPUs?|logins?|losses|iterations?"
    r"|transfers?|seconds?|questions?|looks?|buffers?|bytes|limits?|flushes|discards|directories"
    r"|pauses|processes|operations?|ranks?|hosts?|sizes?|DATA|ACK|received|sent)\b)"
)
_COUNTED = re.compile(rf"\{{n\d+\}} ?(?:{_THINGS}|\{{s\d+(?:\.s)?\}}/s|×)")
_COUNTING = re.compile(r"(?:\b(?:entry|return|up to|each|CPU|test|and|of|for|in all) )$")
_BARE = re.compile(rf"(?P<first>{_NUMBER}(?: ?{_UNIT})? )?(?P<word>[^\W\d][^,;:(]*?)"
                   rf"(?P<last> (?:× )?{_NUMBER}(?: ?{_UNIT})?)?", re.S)  # fmt: skip
_COUNTED_AS_TEXT = re.compile(
    rf"\{{s\d+\}} ?(?:×|director|(?!of|or|more|other|received|sent){_THINGS})"
)
_INTEGER = re.compile(r"\d+")
_COUNTED_WORD = re.compile(_THINGS)
_PART = re.compile(r"(; |: |, |\. |(?: |^)[(]|[)]:? ?|[:.]$)")
_NUMBER_OF = re.compile(r"\b(pid|process|port|id|uid|gid|effective|inode|device) $")
_BLANK = re.compile(r"\s+")
_NO_UTF8 = "\N{REPLACEMENT CHARACTER}"  # in run.json, of each such byte
# A name that no sentence can be taken apart at: it fills a whole place, or none.
_CUT = 12
_PLAIN = re.compile(r"\w[\w.-]*")
# How sentences name somebody, as far as the catalogue has it in none of its own.
_SHAPES = (
    "{s1} from {s2} (pid {n3})",
    "{s1} from {s2}: {s3}",
    "{s1} from {s2}",
    "{s1} (pid {n2}): {s3}",
    "{s1} (pid {n2})",
    "{s1} ({n2} processes): {s3}",
    "{s1} for {s2}",
    "{s1} in {s2}",
    "{s1}: {n2} {s3} × {n4}",
    "UDP port {n1}",
    "CPU {n1}",
)
_SYMBOLS = (
    "MB", "MB/s", "GB", "B", "KiB", "MiB", "GiB", "%", "µs", "ms", "s", "#", "~", "±", "-",
    "client", "server", "all", "folder", "on a CPU", "ext4", "xfs", "btrfs", "zfs", "tmpfs",
    "overlay", "nfs", "nfs4", "fuse", "fuseblk",
)  # fmt: skip


def _is_amount(text: str) -> bool:
    return (AMOUNT.fullmatch(text) or _PRECISE.fullmatch(text)) is not None


def _is_even(name: str) -> bool:
    """Whether every sentence has it as it is."""
    return name.isprintable() and " ".join(name.split()) == name and _NO_UTF8 not in name


def _written(name: str) -> str:
    """A pattern of the name as sentences write it: blanks are one, and what a terminal would obey
    is another character, as a byte that is no UTF-8 is."""
    return "".join(
        r"\s+"
        if blank
        else "".join(re.escape(c) if c.isprintable() and c != _NO_UTF8 else "." for c in part)
        for blank, part in ((p.isspace(), p) for p in re.split(r"(\s+)", name) if p)
    )


def _in_each_form(names: Mapping[str, str]) -> dict[str, str]:
    """With the two forms that Unicode has of a letter with marks: a Mac writes "o" and the dots
    where a Linux user, or a file of settings, has one "ö"."""
    out = dict(names)
    for name, token in names.items():
        for form in ("NFC", "NFD"):
            out.setdefault(unicodedata.normalize(form, name), token)
    return out


class _Unknown(Exception):
    """There is something in a text that has to be hidden."""


class Sentences(Told):
    """`program`: its sentences in English, and words of its tables, each in place of itself.

    `names`: what is a name in this run, with its token; `words`: what is a word of the program;
    `own`: what the kind of server calls its things, by the place in a sentence;
    `figures`: keys of the diagnosis's figures, which are places, too; `hide`: a token of
    a text; `number`: what stands for a number of a "pid", "process" or "port", None: nothing.
    """

    def __init__(
        self,
        program: Told,
        names: Mapping[str, str],
        words: Collection[str],
        own: Mapping[str, str],
        figures: Collection[str],
        hide: Callable[[str], str],
        number: Callable[[str, int], int | None],
    ) -> None:
        self._sentences, self._fixed = program._sentences, program._fixed
        self._long = program._long
        self._shapes = [_Sentence(s, s) for s in _SHAPES]
        names = _in_each_form(names)
        self._names, self._own, self._figures = names, own, frozenset(figures)
        self._own_words = frozenset((*words, *own.values(), *_SYMBOLS))
        self._hide, self._number = hide, number
        self._tokens = frozenset(names.values())
        split = sorted((n for n in names if not _PLAIN.fullmatch(n)), key=len, reverse=True)
        self._split = [(n, None if _is_even(n) else re.compile(_written(n), re.S)) for n in split]
        # A sentence may have a name cut: what has the begin of one is hidden as a whole.
        begins = dict.fromkeys(n[:_CUT] for n in split if len(n) > _CUT)
        self._begins = [(n, None if _is_even(n) else re.compile(_written(n), re.S)) for n in begins]
        self._about: Mapping[str, str] = {}
        self._alone = False

    def __call__(self, text: str) -> str:
        """A part of a text: nothing of it is left as it is."""
        return self._inside(text) or self._hide(text)

    def said(self, text: str, about: Mapping[str, str] | None = None) -> str:
        """The text without names. `about`: what stands at places of the sentence by their key."""
        self._about, self._alone = about or {}, False
        return "\n".join(map(self._said, self._without_names(text).split("\n")))

    def kept(self, text: str, about: Mapping[str, str] | None = None) -> str:
        """A text that has no name in it, if all of it is the program's; else nothing."""
        hide, self._about, self._alone = self._hide, about or {}, True

        def unknown(text: str) -> str:
            raise _Unknown

        try:
            self._hide = unknown
            return self._said(self._without_names(text))
        except _Unknown:
            return ""
        finally:
            self._hide = hide

    def _without_names(self, text: str) -> str:
        """With tokens for names that a sentence could be taken apart at."""
        for name, pattern in self._split:
            if pattern is not None:
                text = pattern.sub(self._names[name], text)
            elif name in text:  # of the addresses of thousands of sessions hardly any
                text = text.replace(name, self._names[name])
        begun = any(p.search(text) if p else n in text for n, p in self._begins)
        return self._hide(text) if begun else text

    def _said(self, line: str) -> str:
        even = _BLANK.sub(" ", line).strip()
        if not even:
            return ""
        return self._inside(even) or self._hide(even)

    def _inside(self, text: str) -> str | None:
        """A text, or what fills a place of one. A single word may be a name that is like one of our
        words."""
        if " " not in text and not self._alone:
            return self._word(text)
        return self._whole(text) or self._filled(self._shapes, text) or self._parted(text)

    def _word(self, text: str) -> str | None:
        if text in self._names:
            return self._names[text]
        if text in self._tokens or text in self._own_words or AMOUNT.fullmatch(text):
            return text
        return None

    def _whole(self, text: str) -> str | None:
        return (
            self._word(text)
            or self._fixed.get(text)
            or self._beside(text)
            or self._sentence(text)
            or self._joined(text)
        )

    def _sentence(self, text: str) -> str | None:
        return self._filled(self._sentences, text)

    def _filled(self, sentences: Iterable[_Sentence], text: str) -> str | None:
        for s in sentences:
            if s.mark in text and (values := s.values(text)) is not None:
                return s.filled({k: self._place(k, v, s) for k, v in values.items()})
        return None

    def _place(self, key: str, value: str, of: _Sentence) -> str:
        """What stands at a place of a sentence."""
        name, _, form = key.partition(".")
        bare = value.strip()
        if key in self._about:
            return self._about[key]
        if form == "s" or not bare:
            return value
        if name in self._own:
            own = self._own[name]
            return value if bare in (own, own.upper()) else self._word(bare) or self._hide(bare)
        if re.fullmatch(r"n\d+", name):
            return self._numbered(name, bare, of)
        at = of.english.index(f"{{{key}}}")
        is_integer = _INTEGER.fullmatch(bare) and bare not in self._names
        if is_integer and _COUNTED_AS_TEXT.match(of.english, at):
            return value
        if name in self._figures and not form.startswith("who") and FIGURE.fullmatch(bare):
            return value
        return value.replace(bare, self._inside(bare) or self._hide(bare))

    def _numbered(self, key: str, value: str, of: _Sentence) -> str:
        at = of.english.index(f"{{{key}}}")
        if kind := _NUMBER_OF.search(of.english[:at]):
            number = self._number(kind[1], int(value)) if value.isdigit() else None
            return self._hide(value) if number is None else str(number)
        counts = _COUNTED.match(of.english, at) or _COUNTING.search(of.english[:at])
        if _PRECISE.fullmatch(value) or counts or value.startswith("-"):  # an error of the protocol
            return value
        return self._hide(value)

    def _beside(self, text: str) -> str | None:
        """A word with an amount before or behind it."""
        m = _BARE.fullmatch(text)
        if m is None or not (m["first"] or m["last"]):
            return None
        first, word, last = (m["first"] or "").strip(), m["word"], (m["last"] or "").strip("× ")
        if first in self._names or last in self._names:
            return None  # a user "5s" and a volume "1.5" are no amounts
        if first and not _is_amount(first) and not _COUNTED_WORD.match(word):
            return None
        if last and not _is_amount(last):
            return None
        known = self._word(word) or self._fixed.get(word)
        return known and f"{m['first'] or ''}{known}{m['last'] or ''}"

    def _parted(self, text: str, whole: bool = False) -> str | None:
        """Parts that are known, and tokens of all others; None: no part is known."""
        parts = _PART.split(text)
        n = len(parts)
        out: list[str] = []
        at = known = 0
        while at < n:
            end, done = self._longest(parts, at, n)
            if done is None or (" " not in done and not self._alone):
                end = at + 1
                done = parts[at] if at % 2 else self._part(parts[at])
            known += done is not None and at % 2 == 0 and bool(parts[at].strip())
            out.append(self._hidden(parts[at]) if done is None else done)
            out += parts[end : end + 1] if end % 2 else []
            at = end + end % 2
        return "".join(out) if known else None

    def _part(self, part: str) -> str | None:
        """A single part, None: it has to be hidden."""
        bare = part.strip()
        done = self._whole(bare) if " " in bare or self._alone else self._word(bare)
        return part if not bare else done and part.replace(bare, done)

    def _hidden(self, part: str) -> str:
        bare = part.strip()
        return part.replace(bare, self._hide(bare))
