# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws what a program printed on a terminal as SVG: terminal.py TITLE < TEXT > FILE.svg

TEXT may have colours. No font is fetched: the reader's own fixed-width font is used.
"""

from __future__ import annotations

import io
import re
import sys

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

DARK = TerminalTheme(
    (24, 26, 31), (220, 223, 228),
    [(24, 26, 31), (240, 113, 120), (140, 200, 120), (229, 192, 110),
     (97, 175, 239), (198, 120, 221), (86, 182, 194), (220, 223, 228)],
)  # fmt: skip


def main(title: str) -> None:
    text = Text.from_ansi(sys.stdin.read().rstrip("\n"))
    width = max(line.cell_len for line in text.split("\n"))
    console = Console(record=True, width=width + 2, file=io.StringIO(), force_terminal=True)
    console.print(text, soft_wrap=True)
    svg = console.export_svg(title=title, theme=DARK, unique_id="screen")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code", "DejaVu Sans Mono")
    print("\n".join(line.rstrip() for line in svg.splitlines()))


if __name__ == "__main__":
    main(sys.argv[1])
