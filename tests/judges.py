# SPDX-License-Identifier: GPL-2.0-or-later
"""Which judges the cases of tests/integration ask, in make check and in make check-judges.

    judges.py           the table of tests/README.md, and how many cases there are
    judges.py FILE      its cases, a line each, with their judges; FILE: such as test_hidden_calls
    judges.py --check   exits with 1 where the README has another table

A case asks a judge if its function, a fixture of it, or what these call names what asks the judge
(ASKS). Nothing is run: the cases are those that pytest collects.
"""

from __future__ import annotations

import contextlib
import functools
import io
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parent
README = TESTS / "README.md"
BEGIN, END = "<!-- judges.py -->\n", "<!-- end -->\n"
# Names, keywords and whole strings in the code of a test.
ASKS = {
    "judge": "USDT probes",  # Server.judge
    "Probes": "USDT probes",
    "wire": "tshark",  # Server.judge(wire=True)
    "captured": "tshark",
    "requests_of": "tshark",
    "tshark": "tshark",
    "strace": "strace",
    "straced": "strace",  # of a module
    "counted_by_babeltrace": "babeltrace2",
    "peer_command": "netatalk's own tools",
    "assert_trustworthy": "/proc",
    "profile": "GlusterFS's profile",
    "profiled": "Samba's profile",
    "xstats": "OpenAFS's own counts",
    "-rxstats": "OpenAFS's own counts",
    "rxdebug": "OpenAFS's own counts",
}


@functools.cache
def words(code: CodeType) -> tuple[set[str], set[str]]:
    """Names that the code uses; keywords and strings."""
    used, said = set(code.co_names), set[str]()
    for const in code.co_consts:
        if isinstance(const, CodeType):
            more = words(const)
            used |= more[0]
            said |= more[1]
        else:
            said |= {it for it in (const if isinstance(const, tuple) else (const,)) if it in ASKS}
    return used, said


@functools.cache
def reached(start: frozenset[Callable[..., Any]]) -> set[str]:
    """Those of these functions, and of what they call in tests/."""
    seen: set[int] = set()
    found: set[str] = set()
    left: list[Any] = list(start)
    while left:
        it = getattr(left[-1], "__wrapped__", left[-1])
        left.pop()
        if id(it) in seen:
            continue
        seen.add(id(it))
        if isinstance(it, FunctionType) and TESTS in Path(it.__code__.co_filename).parents:
            used, said = words(it.__code__)
            found |= used | said
            left += [it.__globals__[n] for n in used if n in it.__globals__ and n not in ASKS]
    return found


class Collected:
    """A plugin of pytest."""

    def __init__(self) -> None:
        self.cases: list[tuple[str, str, bool, frozenset[str]]] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            assert isinstance(item, pytest.Function)
            defs = item._fixtureinfo.name2fixturedefs.values()  # pytest has no other way
            used = reached(frozenset([item.function, *(d[-1].func for d in defs)]))
            judges = frozenset(ASKS[name] for name in used & ASKS.keys())
            late = item.get_closest_marker("judges") is not None
            self.cases.append((item.path.stem, item.name, late, judges))


def collect() -> list[tuple[str, str, bool, frozenset[str]]]:
    found = Collected()
    words = ["--collect-only", "-qq", "-p", "no:cacheprovider", str(TESTS / "integration")]
    with contextlib.redirect_stdout(io.StringIO()):
        status = pytest.main(words, plugins=[found])
    assert status == 0, f"pytest cannot collect the cases: {status}"
    return found.cases


def table(cases: list[tuple[str, str, bool, frozenset[str]]]) -> str:
    """Files rather than cases, which each change of a test would change."""
    files: dict[str, tuple[set[str], set[str]]] = {}
    for file, _, is_late, judges in cases:
        for judge in judges:
            files.setdefault(judge, (set(), set()))[is_late].add(file.removeprefix("test_"))
    rows = ["| Judge | Files (test_NAME.py) in `check` | in `check-judges` |", "|---|---|---|"]
    rows += [
        f"| {judge} | {', '.join(sorted(now))} | {', '.join(sorted(late)) or '-'} |"
        for judge, (now, late) in sorted(files.items())
    ]
    lost = [judge for judge, (now, _) in files.items() if not now]
    assert not lost, f"only check-judges asks {lost}: mark one of its cases less"
    return "\n".join(rows) + "\n"


def main(argv: list[str]) -> int:
    cases = collect()
    if argv and argv[0] != "--check":
        for file, name, late, judges in cases:
            if file == Path(argv[0]).stem:
                print("check-judges" if late else "check       ", name, *sorted(judges), sep="  ")
        return 0
    now = table(cases)
    if not argv:
        late = sum(is_late for _, _, is_late, _ in cases)
        print(f"{now}{len(cases) - late} cases in check, {late} in check-judges")
        return 0
    kept = README.read_text().split(BEGIN)[1].split(END)[0]
    if kept != now:
        print("tests/README.md: its table of judges is an older one: tests/judges.py prints it")
    return int(kept != now)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
