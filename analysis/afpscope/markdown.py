# SPDX-License-Identifier: GPL-2.0-or-later
"""Results as Markdown, and for GitHub's workflows. Names are escaped."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from . import show

# Characters special to Markdown; GitHub also notifies @name, and links #1 to an issue.
_ACTIVE = re.compile(r"([\\`*_{}\[\]()#+!|~$-])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}
SUMMARY = "GITHUB_STEP_SUMMARY"


def escape(text: str) -> str:
    """The text escaped, on one line."""
    plain = "".join(_ENTITIES.get(c, c) for c in show.plain(text))
    return re.sub(r"&\\#", "&#", _ACTIVE.sub(r"\\\1", plain))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """As show.table."""
    lines = [f"| {' | '.join(map(escape, line))} |" for line in (head, *rows)]
    rule = ["---" if i < left else "---:" for i in range(len(head))]
    return "\n".join([lines[0], f"| {' | '.join(rule)} |", *lines[1:]])


def annotation(level: str, title: str, text: str) -> str:
    """A line that GitHub shows beside the workflow's run; `level`: error, warning or notice."""
    safe = show.plain(text).replace("%", "%25")
    return f"::{level} title={title}::{safe}"


def add_to_summary(text: str) -> None:
    """Appends to the summary of the workflow's step, if there is one."""
    if place := os.environ.get(SUMMARY):
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(text + "\n")
