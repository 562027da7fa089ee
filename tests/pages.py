# SPDX-License-Identifier: GPL-2.0-or-later
"""Prose of *.md, here and in docs/, is at most 100 columns wide; each begins with what it is for.

pages.py [FILE...]      print each breach as FILE:LINE: TEXT, and exit with 1 if there is one
pages.py --words HTML   print the words of a report's first part, of docs/pictures/report.png

Below its title a page has a paragraph: for whom it is, and what they find. Rows of tables, code
(between fences, or four blanks from the margin) and a word that is longer by itself stay as they
are.
"""

from __future__ import annotations

import html
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


def words(page: str) -> str:
    """From the title to the list of parts, a line for each element with text; a run's id is ID."""
    first = "<h2".join(page.split("<h2")[:2]).partition("<nav")[0]
    first = re.sub(r".*(?=<h1)", "", first, flags=re.DOTALL)
    lines = re.sub(r"</(?:p|h[1-4]|li|div)>", "\n", " ".join(first.split()))
    text = html.unescape(re.sub(r"<[^>]*(>|$)", "", lines))
    text = re.sub(r"\b[0-9a-f]{16}\b", "ID", text)
    return "".join(f"{' '.join(line.split())}\n" for line in text.split("\n") if line.strip())


def main(files: list[str]) -> int:
    if files[:1] == ["--words"]:
        print(words(Path(files[1]).read_text("utf-8")), end="")
        return 0
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
