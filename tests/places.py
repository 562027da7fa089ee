# SPDX-License-Identifier: GPL-2.0-or-later
"""The table "Programs and places" of docs/counting.md, made from comments of the tests.

    places.py            writes it
    places.py --check    exits with 1 where the page has another one

A test that shows what is counted somewhere says so in a comment right above it, a line or more:

    # Place: 32-bit server | refused in a sentence, `/proc` is sampled

A second test of the same place repeats what stands before the bar, and nothing else. Tests are
functions test_* of Python, functions of a C file, and rows of tests/vm/matrix.sh.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent
PAGE = TESTS.parent / "docs/counting.md"
BEGIN, END = "<!-- places.py -->\n", "<!-- end -->\n"
# Files whose rows stand first, in this order; the others follow by their names.
FIRST = ("test_ways.py", "test_ipv6.py", "test_degraded.py", "test_places.py", "test_whose.py")
COMMENT = re.compile(r"^(?:# |/\* )Place: (.*(?:\n(?:#   | \*   ).*)*)", re.M)
TEST = re.compile(r"^(?:def (test_\w+)|(?:static void |VARIANT\()(\w+)[(,]|row (\S+))", re.M)


def of_file(path: Path) -> list[tuple[str, str, str]]:
    """Place, verdict ("" where another test gives it) and test of each comment, in their order."""
    text, rows = path.read_text(), []
    for found in COMMENT.finditer(text):
        said = re.sub(r"\n(?:#| \*)   ", " ", found[1]).removesuffix(" */")
        place, _, verdict = said.partition(" | ")
        test = TEST.search(text, found.end())
        if not test:
            raise SystemExit(f"{path}: no test follows the comment on {place!r}")
        rows.append((place, verdict, next(filter(None, test.groups()))))
    return rows


def table() -> str:
    """The table as the page has it; SystemExit where a place has no verdict, or two."""
    files = [*TESTS.rglob("test_*.py"), *TESTS.rglob("test_*.c"), TESTS / "vm/matrix.sh"]
    order = {name: at for at, name in enumerate(FIRST)}
    verdicts: dict[str, str] = {}
    shown: dict[str, dict[str, list[str]]] = {}
    for path in sorted(files, key=lambda it: (order.get(it.name, len(FIRST)), it)):
        for place, verdict, test in of_file(path):
            if verdict and place in verdicts:
                raise SystemExit(f"{path}: {place!r} has a verdict already: {verdicts[place]!r}")
            if verdict:
                verdicts[place] = verdict
            file = f"{path.parent.name}/{path.name}"
            shown.setdefault(place, {}).setdefault(file, []).append(f"`{test}`")
    for place in shown:
        if place not in verdicts:
            raise SystemExit(f"no test says what comes of {place!r}")
    rows = []
    for place, by_file in shown.items():
        tests = "; ".join(f"{file}: {', '.join(names)}" for file, names in by_file.items())
        rows.append(f"| {place} | {verdicts[place]} | {tests} |")
    head = ["| program or place | exact, said or refused | tests |", "| --- | --- | --- |"]
    return "\n".join(head + rows) + "\n"


def main(args: list[str]) -> int:
    before, rest = PAGE.read_text().split(BEGIN)
    old, after = rest.split(END)
    new = table()
    if args == ["--check"]:
        if old != new:
            print(f"{PAGE}: the table of places is not what the tests say; run tests/places.py")
        return old != new
    PAGE.write_text(before + BEGIN + new + END + after)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
