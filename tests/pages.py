# SPDX-License-Identifier: GPL-2.0-or-later
"""Prose of *.md, here and in docs/, is at most 100 columns wide; each begins with what it is for.

pages.py [FILE...]     print each breach as FILE:LINE: TEXT, and exit with 1 if there is one

Below its title a page has a paragraph: for whom it is, and what they find. Rows of tables, code
(between fences, or four blanks from the margin) and a word that is longer by itself stay as they
are.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 100


def too_wide(text: str) -> Iterator[tuple[int, int]]:
    """Line and width of each line of prose that is too wide."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r" *(```|~~~)", line) is not None
        fenced ^= fence
        kept = fenced or fence or line.startswith("    ") or re.match(r" *\|", line)
        if not kept and len(line) > WIDTH and " " in line.strip():
            yield number, len(line)


def begins(text: str) -> bool:
    """Whether a title is followed by a paragraph."""
    return re.match(r"# .+\n\n\w.*\n.*\w", text) is not None


def main(files: list[str]) -> int:
    pages = [Path(f) for f in files] or sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
    bad = 0
    for page in pages:
        short = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page
        text = page.read_text("utf-8")
        for number, width in too_wide(text):
            print(f"{short}:{number}: {width} columns, {WIDTH} are the budget")
            bad = 1
        if not begins(text):
            print(f"{short}:3: no paragraph that says what the page is for")
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
