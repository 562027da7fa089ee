# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that the tests say which sources they test, and that each source has a test.

Prints each breach as FILE: TEXT and exits with 1 if there is one.

- The unit tests of FOLDER/FILE.c are tests/unit/FOLDER/test_FILE[_TOPIC].c. Where another name says
  more, the header names a source of that folder.
- The header (the first comment or docstring) of any test may name more: "Tests user/main/dump.c,
  dump_text.c." A name without a folder is in that of the name before it. The tests of bpf/*.h are
  known in this way only.
- No two tests in Python have the same name.

tested.py [SOURCE...]    with sources: prints their tests
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

TOP = Path(__file__).parents[1]
HEADER = re.compile(r'/\*(.*?)\*/|"""(.*?)"""', re.S)
FOLDERS = ("unit", "bpf", "integration", "python")
TESTS = re.compile(r"\b[Tt]ests\s+((?:[\w/]+(?:\.bpf)?\.[ch]\b,?\s*)+)")


def named(test: Path) -> list[str]:
    """Sources that its header names."""
    header = HEADER.search(test.read_text().split("\n", 1)[1])
    text = re.sub(r"\n \*", "\n", "".join(header.groups("")) if header else "")
    out: list[str] = []
    for name in " ".join(TESTS.findall(text)).replace(",", " ").split():
        out.append(name if "/" in name else str(Path(out[-1]).parent / name))
    return out


def by_name(test: Path, sources: list[str]) -> str | None:
    """The source whose folder and name this test has."""
    name = f"{test.stem.removeprefix('test_')}_"
    same = [
        s for s in sources
        if mirrored(s) == test.parent and name.startswith(f"{Path(s).stem}_")
    ]  # fmt: skip
    return max(same, key=len, default=None)


def mirrored(source: str) -> Path:
    """The folder of its unit tests."""
    return Path("tests/unit", *Path(source).parent.parts[1:])


def look() -> tuple[list[str], dict[str, list[str]]]:
    """Breaches; and the tests of each source."""
    sources = [f for d in ("user", "client", "bpf") for f in (TOP / d).rglob("*.[ch]")]
    files = sorted(str(f.relative_to(TOP)) for f in sources)
    of: dict[str, list[str]] = {f: [] for f in files if f.endswith(".c") or f.startswith("bpf/")}
    # Sources only: pytest may have left what Python made of them.
    tests = [
        t.relative_to(TOP)
        for d in FOLDERS
        for t in sorted((TOP / "tests" / d).rglob("test_*"))
        if t.suffix in (".c", ".py")
    ]
    out = []
    for test in tests:
        names = named(TOP / test)
        out += [f"{test}: there is no {n}" for n in names if n not in files]
        if test.parts[1] == "unit":
            own = by_name(test, list(of)) or by_name(test, files)
            names += [own] if own else []
            if not any(mirrored(n) == test.parent for n in names):
                out.append(f"{test}: says of no source that it is tested here")
        for n in names:
            of.setdefault(n, []).append(str(test))
    out += [f"{s}: no test has its name or names it" for s in of if not of[s]]
    counted = Counter(t.stem for t in tests if t.suffix == ".py")
    out += [f"tests: {n} tests are called {name}" for name, n in counted.items() if n > 1]
    return out, of


if __name__ == "__main__":
    breaches, tests_of = look()
    # Once, though its name says one of the sources and its header another, or the same.
    found = dict.fromkeys(t for s in sys.argv[1:] for t in tests_of.get(s, []))
    lines = list(found) if sys.argv[1:] else breaches
    print("\n".join(lines), end="\n" if lines else "")
    sys.exit(bool(breaches))
