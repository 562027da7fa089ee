# SPDX-License-Identifier: GPL-2.0-or-later
"""What docs/compatibility.md promises, as lists in tests/golden/1.0, and what is there now.

promised.py            says what is there and not yet promised; exit code 1 if a promise is broken
promised.py --accept   promises what is new as well (make promised)

A list has lines "THING: TYPE". A promise is broken where the thing went, or its type is another
one; what is new breaks none. Of runs (lists run and tables) a line begins with the commands whose
runs have it, * for all, and a thing with "?" behind it may be missing. They are compared with runs
of real servers, which tests/integration/cli/test_every_table.py makes. With AFPSCOPE_ACCEPT=FOLDER
these are written there, and --accept FOLDER takes them.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
LISTS = Path(__file__).parent / "1.0"
Things = dict[str, str]


def promised(name: str) -> Things:
    file = LISTS / f"{name}.txt"
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return dict(line.rsplit(": ", 1) for line in lines if not line.startswith("#"))


def accept(name: str, things: Things) -> list[str]:
    """Writes the list with what is new, and returns that; what was promised stays as it was."""
    old = promised(name)
    _write(name, things | old)
    return sorted(f"{name}: {thing}" for thing in things.keys() - old.keys())


def _write(name: str, things: Things) -> None:
    head = f"# {name}: promised by docs/compatibility.md; written by make promised\n"
    text = "".join(f"{thing}: {kind}\n" for thing, kind in sorted(things.items()))
    LISTS.mkdir(exist_ok=True)
    (LISTS / f"{name}.txt").write_text(head + text, "utf-8")


def broken(was: Things, now: Things) -> list[str]:
    gone = [f"{thing} is gone" for thing in was if thing not in now]
    return gone + [
        f"{thing} is {now[thing]}, and was {kind}"
        for thing, kind in was.items()
        if now.get(thing, kind) != kind
    ]


# What is in the sources.


def metrics() -> Things:
    """Those of the exporter: their types, and their labels as docs/exporter.md has them."""
    source = (TOP / "user/exporter/openmetrics.c").read_text()
    rows = re.findall(r'\{ "(afpscope\w*)", [^{}]*?", (COUNTER|GAUGE|HISTOGRAM|INFO), ', source)
    suffix = {"COUNTER": "_total", "INFO": "_info"}
    found = {name + suffix.get(kind, ""): kind.lower() for name, kind in rows}
    for line in (TOP / "docs/exporter.md").read_text().splitlines():
        if not line.startswith("| `afpscope_"):
            continue
        names, labels = line.split("|")[1:3]
        for name in re.findall(r"`(\w+)`", names):
            found |= {f"{name}{{{label}}}": "label" for label in re.findall(r"`(\w+)`", labels)}
    return found


def trace() -> Things:
    """Head, streams and fields, from docs/trace.md, which a test of the writer compares with it."""
    page = (TOP / "docs/trace.md").read_text()
    out = {}
    for part in re.split(r"^### |^## ", page, flags=re.M):
        stream = re.match(r"(\w+)\n\nStream (\d+), ", part)
        name = stream[1] if stream else "head"
        if stream:
            out[stream[1]] = f"stream {stream[2]}"
        for names, kind in re.findall(r"^\| \d+ \| (`.*?`) \| ([^|]*) \|", part, re.M):
            for field in re.findall(r"`(\w+)`", names):
                if not field.startswith("pad"):
                    out[f"{name} {field}"] = kind
    return out


def exit_codes() -> Things:
    """Each code of each table of docs/exit-codes.md, and the names that the sources give them."""
    out = {}
    program = "afpscope"
    for line in (TOP / "docs/exit-codes.md").read_text().splitlines():
        if called := re.search(r"called `(\w+)` it keeps", line):
            program = called[1]
        elif "commands that look at saved runs" in line:
            program = "of saved runs"
        elif row := re.match(r"\| (\d+) \| ", line):
            out[f"{program} {row[1]}"] = "exit code"
    header = (TOP / "user/app/cmd.h").read_text()
    for name, code in re.findall(r"\b(OUTCOME_\w+) = (\d+)", header):
        out[name] = code
    errors = importlib.import_module("afpscope.errors")
    for name, code in vars(errors).items():
        if name.isupper() and isinstance(code, int):
            out[f"afpscope.errors.{name}"] = str(code)
    return out


def schemas() -> Things:
    """The number of each file's form: it grows where a reader of before would misread it."""
    out = {}
    for file, where, name in (
        ("run.json", "user/run/run.h", "RUN_SCHEMA"),
        ("tables.json", "user/report/json/tables.c", "TABLES_SCHEMA"),
        ("check --json", "user/check/check_json.c", "CHECK_SCHEMA"),
        ("rx --serve --json", "user/drive/rx_serve.c", "SERVE_SCHEMA"),
        ("sweep.json", "analysis/afpscope/saved/steps.py", "SCHEMA"),
        ("bundle.json", "analysis/afpscope/saved/sealed.py", "SCHEMA"),
        (".layout.json", "analysis/afpscope/saved/layout.py", "FORMAT"),
        ("counts of gate", "analysis/afpscope/gate.py", "FORMAT"),
    ):
        form = rf'^(?:#define )?{name} +(?:= )?(?:"[a-z ]+)?(\d+)"?$'
        found = re.search(form, (TOP / where).read_text(), re.M)
        if found:
            out[file] = found[1]
    return out


LIVE = {"top": "top/top_json.c", "slow": "slow/slow_json.c", "check": "check/check_json.c",
        "rx-serve": "drive/rx_serve.c"}  # fmt: skip
MADE_BY = {
    "number": "json_number json_integer json_real pid_or_null",
    "string": "json_string json_text json_wall text text_or_null top_json_wall",
    "boolean": "json_boolean",
}


def json_keys() -> Things:
    """What --json prints besides runs: the types of each key, wherever it stands."""
    made = {name: kind for kind, names in MADE_BY.items() for name in names.split()}
    found: dict[str, set[str]] = {}
    for command, source in LIVE.items():
        text = (TOP / "user" / source).read_text()
        for key, value in re.findall(r'json_put\(\s*&?d, o, "(\w+)",(.*?);\n', text, re.S):
            calls = re.findall(r"\b(\w+)\(", value)
            found.setdefault(f"{command} {key}", set()).update(made[c] for c in calls if c in made)
    return {key: " or ".join(sorted(kinds)) or "value" for key, kinds in found.items()}


def variables() -> Things:
    """Of the environment: those that a manual page names and a source reads or sets."""
    pages = "".join(p.read_text() for p in (TOP / "docs").glob("*.1*"))
    files = [*(TOP / "user").rglob("*.c"), *(TOP / "analysis/afpscope").rglob("*.py")]
    used = "".join(p.read_text() for p in files)
    names = re.findall(r"\b(?:AFPSCOPE_[A-Z]+|XDG_STATE_HOME|NO_COLOR)\b", pages)
    return {name: "variable" for name in names if f'"{name}"' in used}


def python_options() -> Things:
    """Options of the commands of the Python package."""
    cli = importlib.import_module("afpscope.cli")
    out = {}
    for command in cli.COMMANDS:
        parser = argparse.ArgumentParser(add_help=False)
        importlib.import_module(f"afpscope.{command}").options(parser)
        out[command] = "command"
        for action in parser._actions:
            kind = "no argument" if action.nargs == 0 else "argument"
            out |= {f"{command} {name}": kind for name in action.option_strings}
            name = (*action.option_strings, action.dest)[0]
            out |= {f"{command} {name} {word}": "word" for word in action.choices or ()}
    return out


def places() -> list[str]:
    """How an operand that is no directory begins: "smb://"."""
    stores = "".join(p.read_text() for p in sorted((TOP / "client/store").glob("*_priv.h")))
    afp = (TOP / "user/drive/connect.c").read_text()
    return re.findall(r'_PREFIX +"(\w+://)"', stores) + re.findall(r'\(url, "(afp://)"', afp)


def program_options(binary: Path) -> Things:
    """Options of the commands in C, as the completion for fish has them; names of other tools."""
    line = [str(binary), "completion", "fish"]
    text = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    out = dict.fromkeys(re.findall(r"__afpscope_begins -a ([\w-]+) ", text), "command")
    for command, rest in re.findall(r"__afpscope_is (\w+)' (.*?)(?: -d |$)", text, re.M):
        kind = "argument" if re.search(r" -x| -rF", rest) else "no argument"
        words = re.search(r" -a '?([^']*)", rest)
        if words and kind == "no argument":
            kind = "optional argument"
        names = [f"--{name}" for name in re.findall(r"-l ([\w-]+)", rest)]
        names += [f"-{letter}" for letter in re.findall(r"-s (\w)", rest)]
        for name in names:
            out[f"{command} {name}"] = kind
        for word in words[1].split() if words and names else ():
            if not word.startswith("("):  # what completes names of files
                out[f"{command} {names[0]} {word}"] = "word"
    # Another table of options, which no shell completes.
    serve = subprocess.run([str(binary), "rx", "--serve", "--help"], capture_output=True, text=True)
    for letter, name, takes in re.findall(r"^ {2,6}(-\w)?,? *(--[\w-]+)(=?)", serve.stdout, re.M):
        kind = "argument" if takes else "no argument"
        out |= {f"rx-serve {one}": kind for one in (letter, name) if one}
    out |= {f"place {form}": "word" for form in places()}
    usage = [str(binary.with_name("gfapi_perf_tool")), "--help"]
    done = subprocess.run(usage, capture_output=True, text=True, check=False)
    for name in re.findall(r"^([A-Z_]+) \(", done.stdout + done.stderr, re.M):
        out[f"gfapi_perf_tool {name}"] = "variable"
    getopt = re.findall(r'getopt\(argc, argv, "([\w:]+)"\)',
                        (TOP / "user/compat/rxperf_tool.c").read_text())  # fmt: skip
    for side, letters in zip(("client", "server"), getopt, strict=True):
        for letter, takes in re.findall(r"(\w)(:?)", letters):
            out[f"rxperf {side} -{letter}"] = "argument" if takes else "no argument"
    return out


# What a run has.

_NAMES = (
    "environment server options labels rungs absent figures names words compat ended called types"
)
MAPS = set(_NAMES.split())  # their keys are names, not fields
JSON = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer",
        float: "number"}  # fmt: skip


class Fields:
    """Paths of a run's JSON, each with its types, and how often it is in what it belongs to."""

    def __init__(self) -> None:
        self.types: dict[str, set[str]] = {}
        self.seen: dict[str, int] = {}
        self.objects: dict[str, int] = {}

    def add(self, value: Any, path: str = "", key: str = "") -> None:
        self.seen[path] = self.seen.get(path, 0) + 1
        types = self.types.setdefault(path, set())
        if value is not None:
            types.add(JSON[type(value)])
        if isinstance(value, dict):
            self.objects[path] = self.objects.get(path, 0) + 1
            for name, one in value.items():
                self.add(one, f"{path}{{}}" if key in MAPS else f"{path}.{name}".strip("."), name)
        elif isinstance(value, list):
            for one in value:
                self.add(one, f"{path}[]")

    def things(self) -> Things:
        out = {}
        for path, types in self.types.items():
            above, dot, _ = path.rpartition(".")
            within = self.objects.get(above if dot else "", 0)
            sure = path.endswith(("[]", "{}")) or self.seen[path] >= within
            out[f"{path}{'' if sure else '?'}"] = " or ".join(sorted(types)) or "null"
        return {path: kind for path, kind in out.items() if path.strip("?")}


def fields_of(folder: Path) -> dict[str, Things]:
    """By the list that has them: those of run.json and tables.json."""
    run, tables = Fields(), Fields()
    run.add(json.loads((folder / "run.json").read_bytes()))
    saved = json.loads((folder / "tables.json").read_bytes())
    tables.add(saved)
    units: dict[str, set[str]] = {}
    for section in saved["sections"]:
        units[f"section {section['key']}?"] = {"table"}
        for column in section["columns"]:
            if re.match(r"at_\d", column["name"]):  # as --rtt names them
                continue
            path = f"section {section['key']} {column['name']}?"
            units.setdefault(path, set()).update([column["unit"]] if column["unit"] else [])
    columns = {path: " or ".join(sorted(of)) or "null" for path, of in units.items()}
    return {"run": run.things(), "tables": tables.things() | columns}


def label_of(folder: Path) -> str:
    run = json.loads((folder / "run.json").read_bytes())
    return f"{run['command']}-{run.get('kind', 'afp')}"


def _may_follow(was: str, now: str) -> bool:
    """null is "not measured", and says nothing of a type or unit; an integer is a number."""
    allowed = set(was.split(" or "))
    allowed |= {"integer"} if "number" in allowed else set()
    return was == "null" or now == "null" or set(now.split(" or ")) <= allowed


def _missing(path: str, now: Things) -> bool:
    """It belongs to what is there, and is not."""
    if path in now or f"{path}?" in now or path.endswith(("[]", "{}")):
        return False
    above, dot, _ = path.rpartition(".")
    return not dot or any(name.startswith(f"{above}.") for name in now)


def broken_run(label: str, folder: Path) -> list[str]:
    """Promises about runs of this command and kind of server that this run does not keep."""
    out = []
    for name, now in fields_of(folder).items():
        plain = {path.rstrip("?"): kind for path, kind in now.items()}
        for thing, kind in promised(name).items():
            labels, _, path = thing.partition(" ")
            if labels != "*" and label not in labels.split(","):
                continue
            if not path.endswith("?") and _missing(path, now):
                out.append(f"{name}: {path} is gone ({label})")
            found = plain.get(path.rstrip("?"))
            if found and not _may_follow(kind, found):
                out.append(f"{name}: {path} is {found}, and was {kind} ({label})")
    return out


def keep_run(folder: Path) -> None:
    """For accept_runs(), if AFPSCOPE_ACCEPT names a folder for it."""
    if where := os.environ.get("AFPSCOPE_ACCEPT"):
        label = label_of(folder)
        n = sum(1 for _ in Path(where).glob(f"{label}.*.json"))
        text = json.dumps(fields_of(folder))
        (Path(where) / f"{label}.{n}.json").write_text(text, "utf-8")


def _merged(runs: list[Things]) -> Things:
    """A thing that one of them lacks may be missing, and its type is what all had."""
    out: Things = {}
    for path in dict.fromkeys(p.rstrip("?") for run in runs for p in run):
        kinds = [k for run in runs for k in (run.get(path), run.get(f"{path}?")) if k]
        types = {t for kind in kinds for t in kind.split(" or ")} - {"null"}
        sure = all(path in run or not _missing(path, run) for run in runs)
        sure &= not any(f"{path}?" in run for run in runs)
        out[f"{path}{'' if sure else '?'}"] = " or ".join(sorted(types)) or "null"
    return out


def _word(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def tables_gone() -> list[str]:
    """Promised tables and columns that no source names. A run may lack one that has no figures."""
    source = "".join(p.read_text() for p in sorted((TOP / "user").rglob("*.[ch]")))
    source = source.replace('" GLUE "', " ")
    named = re.findall(r'"((?:[^"\\\n]|\\.)*)"', source) + re.findall(r"X\((\w+),", source)
    words = {_word(text) for text in named}
    out = []
    for thing in promised("tables"):
        section, _, column = thing.partition(" section ")[2].rstrip("?").partition(" ")
        word = _word(column or section)
        if word and not word.isdigit() and word not in words:
            out.append(f"tables: {section} {column} is gone")
    return out


Labelled = dict[tuple[str, str], str]  # by command and kind of server, and thing


def _labelled(things: Things) -> Labelled:
    """The lines of a list, each for one command."""
    known = {one for thing in things for one in thing.partition(" ")[0].split(",")} - {"*"}
    out = {}
    for thing, kind in things.items():
        labels, _, path = thing.partition(" ")
        for label in known if labels == "*" else labels.split(","):
            out[label, path] = kind
    return out


def _lines(labelled: Labelled) -> Things:
    have: dict[tuple[str, str], list[str]] = {}
    for (label, path), kind in sorted(labelled.items()):
        have.setdefault((path, kind), []).append(label)
    every = len({label for label, _ in labelled})
    return {
        f"{'*' if len(labels) == every else ','.join(labels)} {path}": kind
        for (path, kind), labels in have.items()
    }


def accept_runs(where: Path) -> list[str]:
    """Promises what the runs have that were kept there, and returns what is new of it."""
    by_label: dict[str, list[dict[str, Things]]] = {}
    for file in sorted(where.glob("*.json")):
        by_label.setdefault(file.name.split(".")[0], []).append(json.loads(file.read_text("utf-8")))
    out = []
    for name in ("run", "tables"):
        old = _labelled(promised(name))
        known = {(label, path.rstrip("?")): path for label, path in old}
        new: Labelled = {}
        for label, runs in by_label.items():
            for path, kind in _merged([run[name] for run in runs]).items():
                was = known.get((label, path.rstrip("?")), path)
                # null promises no type: one that is known now takes its place.
                if kind != old.get((label, was)) and old.get((label, was), "null") == "null":
                    new[label, was] = kind
        _write(name, _lines(old | new))
        out += sorted(f"{name}: {label} {path}" for label, path in new)
    return out


SOURCES = {"metrics": metrics, "trace": trace, "exit-codes": exit_codes, "schemas": schemas,
           "json": json_keys, "variables": variables, "python-options": python_options}  # fmt: skip


def now(name: str) -> Things:
    if name == "options":
        return program_options(Path(os.environ.get("AFPSCOPE", TOP / "build/afpscope")))
    return SOURCES[name]()


def main(options: list[str]) -> int:
    sys.path.insert(0, str(TOP / "analysis"))
    sys.dont_write_bytecode = True
    bad = 0
    for name in (*SOURCES, "options"):
        things = now(name)
        was = promised(name)
        for text in broken(was, things):
            print(f"{name}: {text}")
            bad = 1
        if "--accept" not in options:
            new = sorted(things.keys() - was.keys())
            print("".join(f"{name}: {thing} is not promised yet\n" for thing in new), end="")
        elif not bad:
            print("".join(f"{thing}\n" for thing in accept(name, things)), end="")
    for folder in (Path(option) for option in options if not option.startswith("-")):
        if not bad:
            print("".join(f"{thing}\n" for thing in accept_runs(folder)), end="")
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
