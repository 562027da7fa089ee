# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks what sources use of each other and speak of, and that a struct's name is used once.

Prints each breach as FILE: TEXT and exits with 1 if there is one.

- A file includes only from the folders below its own (docs/architecture.md): TABLE.
- No C sources use each other's functions or tables in a circle, no C files include and no modules
  of the Python package import each other in one.
- Only user/watch/bpf includes libbpf; the programs in bpf/ include its headers for programs.
- user/host and user/watch do not speak of one kind of server: its words belong to user/kinds.

arrows.py [FILE...]    default: all that git knows of
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

WORK = "base run dsi rx afp store load"
TABLE = {
    "mpi": "",
    "bpf": "bpf/decode",
    "bpf/decode": "bpf",
    "user/base": "",
    "user/run": "base bpf",
    "user/ranks": "base run bpf",
    "user/host": "base run bpf",
    "user/kinds": "base run host bpf",
    "user/watch": "base run host kinds watch/bpf watch/proc bpf",
    "user/watch/bpf": "base run host kinds watch bpf",
    "user/watch/proc": "base run host kinds watch bpf",
    "user/trace": "base run bpf",
    "user/report": "base run live bpf",
    "user/doctor": "base run host report bpf",
    "user/live": "base run trace watch bpf",
    "user/report/text": "base run live report doctor bpf",
    "user/report/json": "base run live report doctor bpf",
    "user/report/peer": "base run report bpf",
    "user/report/speed": "base run report bpf",
    "user/cmd": f"{WORK} uam work mpi ranks host kinds watch trace doctor live bpf"
    " report report/json report/peer report/speed report/text",
    "client/dsi": "base run",
    "client/rx": "base",
    "client/uam": "base",
    "client/afp": "base dsi uam",
    "client/store": "base run dsi rx afp",
    "client/load": "base run dsi afp store",
    "client/work": WORK,
}
INCLUDE = re.compile(r'^#include ([<"])([^">]+)[">]', re.M)
STRUCT = re.compile(r"^(?:static |const )*struct (\w+) \{", re.M)
# What other files can use: a function or a table that a line at its begin defines.
DEFINED = re.compile(
    r"^(?!static|typedef|extern|struct \w+ \{|enum \w+ \{)[a-z][\w \*]*?\b(\w+)"
    r"(?:\([^;{]*\)\n\{|(?:\[[^;]*\])+ =)",
    re.M,
)
WORD = re.compile(r"\w+")
# A struct may have the name of a function: naming it is no use of that.
TAG = re.compile(r"\bstruct \w+")
# Of a module's lines: "from . import a, b", "from .a import name".
IMPORT = re.compile(r"^\s*from \.(\w*) import (\([^)]*\)|[^#\n]*)", re.M)
PACKAGE = "analysis/afpscope"
QUIET = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\])*"', re.S)
# Two definitions, one of each processor.
TWICE = {"pt_regs___afs"}
LIBBPF = ("bpf", "user/watch/bpf")
NEUTRAL = ("user/host", "user/watch", "user/watch/bpf", "user/watch/proc")
SERVER = re.compile(
    r"\w*(?i:afp(?!scope)|cnid|netatalk|(?<![a-z])dsi(?![a-z]))\w*|\bFP[A-Z][a-z]\w*"
)


def files(names: list[str]) -> dict[str, str]:
    """Text by path, of all C files in folders of TABLE, and of the Python package."""
    known = names or subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.c", "*.h", f"{PACKAGE}/*.py"],
        check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    folders = {*TABLE, PACKAGE}
    return {
        n: Path(n).read_text() for n in known if str(Path(n).parent) in folders and Path(n).exists()
    }


def folder_of(path: str) -> str:
    """As an include line writes it."""
    return re.sub(r"^(user|client)/", "", str(Path(path).parent))


def arrows(texts: dict[str, str]) -> list[str]:
    out = []
    for name, text in texts.items():
        folder = str(Path(name).parent)
        if folder not in TABLE:
            continue
        allowed = {*TABLE[folder].split(), folder_of(name)}
        for quote, what in INCLUDE.findall(text):
            if quote == '"' and what.endswith(".skel.h"):
                fine = folder == "user/watch/bpf"
            elif quote == '"':
                fine = str(Path(what).parent) in allowed
            else:
                fine = folder in LIBBPF or not what.startswith(("bpf/", "linux/bpf"))
            if not fine:
                out.append(f"{name}: {folder} may not include {what}")
    return out


def includes(texts: dict[str, str]) -> dict[str, set[str]]:
    """Which of these files each includes; without bpf/, where decoders.h has two uses."""
    of = {f"{folder_of(n)}/{Path(n).name}": n for n in texts if n[:4] != "bpf/"}
    return {
        name: {of[what] for quote, what in INCLUDE.findall(text) if quote == '"' and what in of}
        for name, text in texts.items()
    }


def uses(texts: dict[str, str]) -> dict[str, set[str]]:
    """Which C sources' functions and tables each uses."""
    of = {n: QUIET.sub(" ", t) for n, t in texts.items() if n.endswith(".c") and n[:4] != "bpf/"}
    where: dict[str, set[str]] = defaultdict(set)
    for file, text in of.items():
        for name in DEFINED.findall(text):
            where[name].add(file)
    return {
        file: {
            r for word in set(WORD.findall(TAG.sub(" ", text))) if len(where.get(word, ())) == 1
            for r in where[word] - {file}
        }
        for file, text in of.items()
    }  # fmt: skip


def imports(texts: dict[str, str]) -> dict[str, set[str]]:
    """Which modules of the package each imports."""
    of = {Path(n).stem: n for n in texts if n.endswith(".py")}
    return {
        file: {
            of[word] for module, names in IMPORT.findall(texts[file])
            for word in ([module] if module else WORD.findall(names)) if word in of
        }
        for file in of.values()
    }  # fmt: skip


def circles(to: dict[str, set[str]]) -> list[str]:
    """Sources that need each other, directly or through others."""
    out: list[str] = []
    done: set[str] = set()

    def walk(at: str, path: list[str]) -> None:
        if at in path:
            out.append(f"{at}: a circle: {' -> '.join([*path[path.index(at) :], at])}")
        elif at not in done:
            for other in sorted(to[at]):
                walk(other, [*path, at])
            done.add(at)

    for at in sorted(to):
        walk(at, [])
    return out


def words(texts: dict[str, str]) -> list[str]:
    return [
        f"{name}: {word} belongs to user/kinds"
        for name, text in texts.items()
        if str(Path(name).parent) in NEUTRAL
        for word in SERVER.findall(text)
    ]


def structs(texts: dict[str, str]) -> list[str]:
    where: dict[str, list[str]] = defaultdict(list)
    for name, text in texts.items():
        for struct in STRUCT.findall(text):
            where[struct].append(name)
    return [
        f"{names[0]}: struct {struct} is also in {', '.join(names[1:])}"
        for struct, names in sorted(where.items())
        if len(names) > 1 and struct not in TWICE
    ]


def main(names: list[str]) -> int:
    texts = files(names)
    used = uses(texts) | imports(texts)
    breaches = arrows(texts) + circles(used) + circles(includes(texts))
    breaches += words(texts) + structs(texts)
    print("\n".join(breaches), end="\n" if breaches else "")
    return bool(breaches)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
