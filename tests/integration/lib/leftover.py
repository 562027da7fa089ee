# SPDX-License-Identifier: GPL-2.0-or-later
"""English that a page in Japanese still has."""

from __future__ import annotations

import re
from html.parser import HTMLParser

# What stays as it is, for it is a name or a command that a reader types.
STAYS = (
    r"Operation not permitted|No such file or directory|Permission denied",  # said by the system
    r"probe: (?:stat|read 4 KiB|write 4 KiB)",  # actions, as --json has them
    r"\w+ · [\w? ]+",  # class · object of a call, as run.json and queries have them
    r"(?:tp_btf|fentry/fexit|kprobe|raw_tp|tracepoint) [\w/, ]+",  # hooks of the kernel
    r"(?:/[\w.-]+)+",  # files
    r"(?<!\w)--?[a-z][\w-]*(?:=\S+)?",  # options
    r"afpscope \w+",  # commands of the program, and of others
    r"taskset -apc|sysctl \S+|log level\b[^,;。]*|max connections|disconnect time",
    r"(?:afpd|cnid_dbd|cnid_metad|other) ?\d* sys[cr]\w+",  # counters of the kernel
    r"[A-Z][a-z]+ [\d.x]+\w*",  # programs with a version
    r"\bbricks?\b|\bio-threads?\b",  # words of GlusterFS
)
_ENGLISH = re.compile(r"(?:\b[A-Za-z]?[a-z'-]+\b(?: |, ))+\b[a-z'-]{2,}\b")
_BLOCKS = {"p", "td", "th", "h1", "h2", "h3", "li", "summary", "text", "title", "figcaption", "a",
           "div", "tr", "details", "table", "strong", "span", "metadata", "b"}  # fmt: skip


class _Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._text, self._hidden = "", 0

    def _ends(self, tag: str) -> None:
        if tag in _BLOCKS and self._text.strip():
            self.found.append(" ".join(self._text.split()))
        if tag in _BLOCKS:
            self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("style", "metadata")
        self._ends(tag)
        self.found += [value for key, value in attrs if key in ("title", "aria-label") and value]

    def handle_endtag(self, tag: str) -> None:
        self._ends(tag)
        self._hidden -= tag in ("style", "metadata")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._text += data


def english(page: str, names: list[str]) -> list[str]:
    """Texts with two English words or more in a row that are no name. `names`: those of the run,
    such as titles of tests."""
    texts = _Texts()
    texts.feed(page)
    known = re.compile("|".join([*STAYS, *map(re.escape, sorted(names, key=len, reverse=True))]))
    return [
        text for text in dict.fromkeys(texts.found) if _ENGLISH.search(known.sub("\u00b7", text))
    ]
