# SPDX-License-Identifier: GPL-2.0-or-later
"""Prose of README.md, CONTRIBUTING.md, SECURITY.md and docs/*.md is at most 100 columns wide.

pages.py [FILE...]     print each longer line as FILE:LINE: TEXT, and exit with 1 if there is one

Rows of tables, code (between fences, or four blanks from the margin) and a word that is longer by
itself stay as they are.
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


def main(files: list[str]) -> int:
    top = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")]
    pages = [Path(f) for f in files] or [*top, *sorted((ROOT / "docs").glob("*.md"))]
    found = [(page, *one) for page in pages for one in too_wide(page.read_text("utf-8"))]
    for page, number, width in found:
        short = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page
        print(f"{short}:{number}: {width} columns, {WIDTH} are the budget")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
