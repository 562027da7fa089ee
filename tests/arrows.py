# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks what sources use of each other and speak of, and that names of functions and structs are
used once.

Prints each breach as FILE: TEXT and exits with 1 if there is one.

- A file includes only from the folders below its own (docs/architecture.md): TABLE.
- No C sources use each other's functions or tables in a circle, no C files include and no modules
  of the Python package import each other in one.
- Only user/watch/bpf includes libbpf; the programs in bpf/ include its headers for programs.
- user/host and user/watch do not speak of one kind of server: its words belong to user/kinds.
- Nor do texts of other folders that are for several kinds, other than KNOWING; and nobody asks a
  kind or a command for its name: what makes a difference is a property of the kind, or of the run.
- A folder has at most 35 files.
- A function's name, also a static one's, stands in one file.

arrows.py [FILE...]    default: all of the tree
arrows.py --draw       prints the folders: files, lines, and what each includes from
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

HOST = "host host/net host/proc"
KINDS = "kinds kinds/afp kinds/gluster"
# What a command that measures needs of what is below it.
MEASURED = f"base run {HOST} {KINDS} watch report bpf"
# By folder: what it may include, from the lowest to the highest.
TABLE = {
    "mpi": "",
    "bpf": "bpf/decode",
    "bpf/decode": "bpf",
    "user/base": "",
    "user/run": "base bpf",
    "client/dsi": "base run",
    "client/rx": "base",
    "client/uam": "base",
    "client/afp": "base run dsi uam",
    "client/store": "base run dsi rx afp",
    "client/load": "base run dsi afp store",
    "client/work": "base afp store",
    "client/work/lantest": "base run afp load work",
    "client/work/speedtest": "base run afp load work",
    "client/work/smallfile": "base run store load work",
    "client/work/mix": "base run afp store load work",
    "client/work/rxperf": "base run rx store load work",
    "client/work/replay": "base afp store load work bpf",
    "user/host/proc": "base bpf",
    "user/host/net": "base run host/proc",
    "user/host": "base run host/proc host/net bpf",
    "user/kinds": f"base run {HOST} bpf",
    "user/kinds/afp": f"base run {HOST} kinds bpf",
    "user/kinds/gluster": f"base run {HOST} kinds bpf",
    "user/kinds/rx": f"base run {HOST} kinds bpf",
    "user/watch": f"base run {HOST} kinds watch/bpf watch/proc bpf",
    "user/watch/bpf": f"base run {HOST} kinds watch bpf",
    "user/watch/proc": f"base run {HOST} kinds watch bpf",
    "user/trace": "base run bpf",
    "user/report": "base run bpf",
    "user/app": f"base run {HOST} report dsi",
    "user/attach": f"{MEASURED} trace app afp",
    "user/doctor/machine": f"base run {HOST}",
    "user/doctor/rules": "base run",
    "user/doctor/figures": f"{MEASURED} doctor/machine doctor/rules",
    "user/doctor": f"{MEASURED} doctor/figures doctor/machine doctor/rules app attach",
    "user/report/json": "base run report doctor bpf",
    "user/report/screen": "base run report doctor bpf",
    "user/report/long": "base run report report/screen doctor bpf",
    "user/drive": f"{MEASURED} report/json report/screen app attach doctor dsi rx uam afp store"
    " load work work/mix work/rxperf work/smallfile",
    "user/ranks": "base run report app attach drive dsi afp store load work mpi",
    "user/replay": f"base run {HOST} report trace app drive afp store load work work/replay bpf",
    "user/top": f"{MEASURED} report/json report/screen trace app attach doctor",
    "user/slow": f"{MEASURED} report/json report/screen trace app attach drive",
    "user/exporter": f"{MEASURED} app attach afp",
    "user/check": f"{MEASURED} report/json app attach",
    "user/compat": "base run host report app drive afp rx store load work/smallfile work/rxperf",
    "user/main": f"{MEASURED} report/json trace app attach doctor drive ranks compat work"
    " work/lantest work/speedtest work/smallfile work/mix",
}
INCLUDE = re.compile(r'^#include ([<"])([^">]+)[">]', re.M)
STRUCT = re.compile(r"^(?:static |const )*struct (\w+) \{", re.M)
# What other files can use: a function or a table that a line at its begin defines.
DEFINED = re.compile(
    r"^(?!static|typedef|extern|struct \w+ \{|enum \w+ \{)[a-z][\w \*]*?\b(\w+)"
    r"(?:\([^;{]*\)\n\{|(?:\[[^;]*\])+ =)",
    re.M,
)
# Any function, after its type.
FUNCTION = re.compile(r"^(?!#|else\b)(?:[a-z_]\w*[\s*]+)+(\w+)\((?:[^;{}]|\n)*?\)\n\{", re.M)
WORD = re.compile(r"\w+")
# A struct or enum may have the name of a function: naming it is no use of that.
TAG = re.compile(r"\b(?:struct|enum) \w+")
# Of a module's lines: "from . import a, b", "from ..a.b import name".
IMPORT = re.compile(r"^\s*from (\.+)([\w.]*) import (\([^)]*\)|[^#\n]*)", re.M)
PACKAGE = "analysis/afpscope"
QUIET = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\])*"', re.S)
# Two definitions, one of each processor.
TWICE = {"pt_regs___afs"}
FILES_MOST = 35
LIBBPF = ("bpf", "user/watch/bpf")
NEUTRAL = (
    "user/host",
    "user/host/net",
    "user/host/proc",
    "user/watch",
    "user/watch/bpf",
    "user/watch/proc",
)
SERVER = re.compile(
    r"\w*(?i:afp(?!scope)|cnid|netatalk|(?<![a-z])dsi(?![a-z]))\w*|\bFP[A-Z][a-z]\w*"
)
# What may speak of netatalk: its kind, its tools under their names, the commands of its protocol
# that have tables of those tools, the rules for its servers and what the page knows by their keys,
# the words for runs that have none, the list of what goes into a bundle.
KNOWING = re.compile(
    r"user/(kinds|compat)/|user/app/output\.|user/main/(lantest|speedtest|clean)|user/run/kind\.h"
    r"|user/doctor/rules/rules_(server|clients|time)\.c|analysis/afpscope/saved/run\.py"
    r"|analysis/afpscope/(hide/fields|page/answer)\.py"
)
# A text in a source. "netatalk 4.5.1" stands there as a server calls itself.
TEXT = re.compile(r'"((?:\\.|[^"\\\n])*)"')
COMMENT = re.compile(r"/\*.*?\*/|^ *#.*?$|\"{3}.*?\"{3}", re.S | re.M)
SAID = re.compile(r"\b(?:afpd|[Nn]etatalk|cnid|cnid_dbd|cnid_metad)\b|CNID")
AS_IT_SAYS = {("user/report/screen/screen.c", text) for text in ("Netatalk", "netatalk")}
# Keys of the data model are no words; what a process is called is one.
KEY = re.compile(r"(?!(afpd|netatalk)$)[a-z0-9_.]+$")
ASKS_NAME = re.compile(
    r"\bstrn?cmp\([^;]*(?:\bkind->name|run_kind_name\(|kind, \"|command, \")[^;]*"
    r"|\b(?:run|r|sweep)\.(?:kind|command) (?:==|!=|in|not in) [\"(\[]"
)


def files(names: list[str]) -> dict[str, str]:
    """Text by path, of all C files in folders of TABLE, and of the Python package."""
    known = names or subprocess.run(
        ["tests/files.sh", "*.c", "*.h", f"{PACKAGE}/*.py"],
        check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    return {
        n: Path(n).read_text() for n in known
        if (str(Path(n).parent) in TABLE or n.startswith(f"{PACKAGE}/")) and Path(n).exists()
    }  # fmt: skip


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
    out: dict[str, set[str]] = {}
    for file in (n for n in texts if n.endswith(".py")):
        out[file] = set()
        for dots, module, names in IMPORT.findall(texts[file]):
            at = Path(file).parents[len(dots) - 1].joinpath(*module.split("."))
            paths = {f"{at}.py", *(f"{at / name}.py" for name in WORD.findall(names))}
            out[file] |= paths & set(texts)
    return out


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


def said(texts: dict[str, str]) -> list[str]:
    """Words of one kind in texts that are for all, and questions for a kind's name."""
    out = []
    for name, text in texts.items():
        if KNOWING.match(name) or not name.startswith(("user/", PACKAGE)):
            continue
        plain = COMMENT.sub("", text)
        for at in TEXT.findall(plain):
            words = SAID.findall(re.sub(r"\{\w+(\.\w+)?\}", "", at))
            if not KEY.match(at) and (name, at) not in AS_IT_SAYS:
                out += [f"{name}: {word} is a word of user/kinds: {at}" for word in words]
        out += [f"{name}: asks for a name: {hit.group()}" for hit in ASKS_NAME.finditer(plain)]
    return out


def functions(texts: dict[str, str]) -> list[str]:
    where: dict[str, list[str]] = defaultdict(list)
    for name, text in texts.items():
        for function in set(FUNCTION.findall(text)) if name.endswith((".c", ".h")) else ():
            where[function].append(name)
    return [
        f"{names[0]}: the function {function} is also in {', '.join(names[1:])}"
        for function, names in sorted(where.items())
        if len(names) > 1 and function not in ("__attribute__", "main")  # each program has a main
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


def crowded(texts: dict[str, str]) -> list[str]:
    return [
        f"{folder}: {n} files, {FILES_MOST} are the budget"
        for folder, n in sorted(Counter(str(Path(n).parent) for n in texts).items())
        if n > FILES_MOST
    ]


def draw(texts: dict[str, str]) -> list[str]:
    """A line for each folder of TABLE, from the highest to the lowest."""
    lines = [f"{'':26}files  lines  includes from"]
    for folder in reversed(TABLE):
        own = [text for name, text in texts.items() if str(Path(name).parent) == folder]
        used = {
            str(Path(w).parent)
            for text in own
            for quote, w in INCLUDE.findall(text)
            if quote == '"'
        }
        used &= {folder_of(f"{f}/x") for f in TABLE}
        n = sum(text.count("\n") for text in own)
        there = " ".join(sorted(used - {folder_of(f"{folder}/x")}))
        lines.append(f"{folder:26}{len(own):5}{n:7}  {there}".rstrip())
    return lines


def main(names: list[str]) -> int:
    if names == ["--draw"]:
        print("\n".join(draw(files([]))))
        return 0
    texts = files(names)
    used = uses(texts) | imports(texts)
    breaches = arrows(texts) + circles(used) + circles(includes(texts))
    breaches += words(texts) + said(texts) + functions(texts) + structs(texts) + crowded(texts)
    print("\n".join(breaches), end="\n" if breaches else "")
    return bool(breaches)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
