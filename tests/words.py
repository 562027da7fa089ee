# SPDX-License-Identifier: GPL-2.0-or-later
"""Refuses words of our own in what people read, where the field has a word.

words.py [FILE...]     of the tree in which it is run: print each use as FILE:LINE: TEXT, and exit
                       with 1 if there is one

What people read: README.md, docs/ without what stands between backticks, and in C and Python
each text with a blank in it; a text without one is a name in a file, which keeps its meaning.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path()

# What is said in place of them.
GONE = {
    "rung": "way of watching",
    "ladder": "the ways of watching",
    "crowd": "clients",
    "filer": "client",
    "opener": "session pool",
    "opinion": "diagnosis",
    "stranger": "other process",
    "newborn": "new process",
    "census": "list, count",
    "tally": "count",
    "tallies": "counts",
    "glance": "look",
    "dear": "costly",
    "cure": "advice",
    "owed": "outstanding",
    "guest rank": "rank on another host",
    "peer": "netatalk's tool, the other end",
    "caller": "client",
}
# What the field means by them, and a name that an option still takes.
MEANT = re.compile(r"null peer|Rx peer|min peer timeout|Peer %x|peer: its old name")
# Names in files and of labels, in texts that have no backticks.
KEPT = {("docs/afpscope-info.1", "rungs"), ("docs/afpscope-exporter.1.in", "rung")}
WORD = re.compile(rf"\b({'|'.join(GONE)})s?\b", re.IGNORECASE)
C_TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"')
C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
MARKED = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def blank(text: str) -> str:
    """The same lines with nothing in them."""
    return "\n" * text.count("\n")


def c_texts(source: str) -> Iterator[tuple[int, str]]:
    # A text first: it may hold what looks like a comment.
    for m in re.finditer(f"{C_TEXT.pattern}|{C_COMMENT.pattern}", source, re.DOTALL):
        if m[0].startswith('"') and " " in m[0]:
            yield source.count("\n", 0, m.start()) + 1, m[0]


def python_texts(source: str) -> Iterator[tuple[int, str]]:
    tree = ast.parse(source)
    comments = {
        id(n.body[0].value)
        for n in ast.walk(tree)
        if isinstance(n, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and n.body
        and isinstance(n.body[0], ast.Expr)
    }
    for n in ast.walk(tree):
        if not isinstance(n, ast.Constant) or not isinstance(n.value, str):
            continue
        if " " in n.value and id(n) not in comments:
            yield n.lineno, n.value


def read_texts(name: str, source: str) -> Iterator[tuple[int, str]]:
    """What people read of a file, with the lines where it begins."""
    if name.endswith((".c", ".h")):
        return c_texts(source)
    if name.endswith(".py"):
        return python_texts(source)
    if name.endswith(".md"):
        source = MARKED.sub(lambda m: blank(m[0]), source)
    return iter(enumerate(source.split("\n"), 1))


def uses(name: str, source: str) -> Iterator[str]:
    for first, text in read_texts(name, source):
        for m in WORD.finditer(MEANT.sub(lambda m: "-" * len(m[0]), text)):
            if (name, m[0]) not in KEPT:
                line = first + text.count("\n", 0, m.start())
                yield f"{name}:{line}: '{m[0]}': say '{GONE[m[1].lower()]}'"


def shown() -> list[str]:
    ask = [str(Path(__file__).with_name("files.sh"))]
    rooms = [
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "docs/*.md",
        "docs/*.1",
        "docs/*.in",
        "analysis/*.py",
        "monitoring",
    ]
    rooms += [f"{room}/*.{end}" for room in ("user", "client", "mpi") for end in "ch"]
    return subprocess.run(
        ask + rooms, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()


def main(names: list[str]) -> int:
    found = [
        use
        for name in names or shown()
        if (ROOT / name).exists()
        for use in uses(name, (ROOT / name).read_text("utf-8"))
    ]
    for use in found:
        print(use)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
