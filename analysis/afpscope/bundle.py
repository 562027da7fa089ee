# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope bundle RUN -o FILE: one file that may be sent to others, as it has no names."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import __version__, show
from .errors import OK, Failure, wrong_use
from .hide.hide import Hidden, hidden
from .hide.tokens import key_of
from .saved import ranks, sealed
from .saved.node import Node, load
from .saved.run import RUN_FILE, Run, find
from .saved.sections import TABLES_FILE

_SHORT = 88  # what of a list is shown on one line


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a path, `last`, or the start of a run's name")
    parser.add_argument(
        "-o",
        dest="output",
        metavar="FILE",
        type=Path,
        help="the bundle (default bundle.json)",
    )
    parser.add_argument(
        "--show",
        action="store_true",
        help="print all that is in the bundle; without -o none is written",
    )
    parser.add_argument(
        "--names",
        action="store_true",
        help="print what its tokens stand for (do not send that); writes no bundle",
    )


def _lines(value: Any, indent: int = 0) -> Iterator[str]:
    """A JSON value as text, all of it; what is short in one line."""
    blank = "  " * indent
    members = value.items() if isinstance(value, dict) else (("-", one) for one in value)
    mark = ":" if isinstance(value, dict) else ""
    for key, one in members:
        short = _short(one)
        if short is not None:
            yield f"{blank}{key}{mark} {short}"
        else:
            yield f"{blank}{key}{mark}"
            yield from _lines(one, indent + 1)


def _short(value: Any) -> str | None:
    """What is shown in one line; None: it is longer, and not a mere list of numbers."""
    if isinstance(value, dict):
        parts = [(key, _short(one)) for key, one in value.items()]
        if any(isinstance(one, dict | list) for one in value.values()) and value:
            return None
        text = ", ".join(f"{key}: {part}" for key, part in parts) if parts else "none"
        return text if len(text) <= _SHORT else None
    if isinstance(value, list):
        if not any(isinstance(one, dict | str) for one in value):
            return json.dumps(value)
        return json.dumps(value) if len(str(value)) <= _SHORT and _is_plain(value) else None
    is_line = isinstance(value, str) and value.isprintable()
    return str(value) if is_line else json.dumps(value, ensure_ascii=False)


def _is_plain(value: list[Any]) -> bool:
    return not any(isinstance(one, dict | list) for one in value)


def _shown(content: dict[str, Any]) -> None:
    for line in _lines(content):
        print(show.plain(line))


def _hidden(path: Path) -> Hidden:
    """What may be sent of the run at this place."""
    run = Run.open(path)  # which says what is damaged
    if run.bundle:
        raise wrong_use(f"{path} is a bundle already: it has no names")
    node = ranks.joined(run.folder, run.folder / RUN_FILE) if run.folder else load(path)
    tables = run.folder / TABLES_FILE if run.folder else None
    told = load(tables) if tables and tables.exists() else None
    if told and told["run"].text() != run.id:
        raise Failure(f"{tables} is of another run")
    return hidden(node.value, told.value if told else None, key_of(run.id))


def _is_bundle(path: Path) -> Node | None:
    node = load(path) if path.is_file() else None
    return node if node and isinstance(node.value, dict) and node.get(sealed.BUNDLE) else None


def _names(made: Hidden) -> int:
    for token, name in sorted(made.tokens.of.items()):
        print(show.plain(f"{token:24} {name}"))
    return OK


def _say(made: Hidden, path: Path, output: Path) -> None:
    """What is not in it, in a line or two."""
    n = made.tokens.n
    kinds = ", ".join(f"{n[kind]:,} {kind}" for kind in sorted(n))
    show.notice(f"bundle: names replaced: {kinds or 'none'}")
    trace = path.is_dir() and (path / "trace").is_dir()
    out = sum(made.out.values())
    left = [*(["the trace"] if trace else []), *([f"{out:,} fields"] if out else [])]
    if left:
        show.notice(f"bundle: left out: {' and '.join(left)}")
    word = shlex.quote(str(output))
    show.notice(f"bundle: read it before you send it: afpscope bundle {word} --show")


def run(args: argparse.Namespace) -> int:
    """Writes the bundle and prints its name."""
    path = find(args.run)
    if found := _is_bundle(path):
        if args.names or args.output or not args.show:
            raise wrong_use(f"{path} is a bundle already: --show prints what is in it")
        _shown(found.value)
        return OK
    made = _hidden(path)
    if args.names:
        if args.output or args.show:
            raise wrong_use("--names writes no bundle: leave -o and --show out")
        return _names(made)
    about = {
        "schema": sealed.SCHEMA,
        "version": __version__,
        "left_out": dict(sorted(made.out.items())),
        "tables": made.tables,
    }
    raw = sealed.sealed(about, made.run)
    if args.show:
        _shown(json.loads(raw))
    if args.output or not args.show:
        from .saved.files import written

        output = args.output or Path("bundle.json")
        with written(output) as file:
            file.write(raw)
        if not args.show:
            print(output)
        _say(made, path, output)
    return OK
