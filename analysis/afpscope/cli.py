# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs afpscope-COMMAND, and `python3 -m afpscope COMMAND`.

afpscope COMMAND runs the former, which know their command by the program's name. Results go to
standard output, messages to standard error.
"""

from __future__ import annotations

import argparse
import importlib
import io
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, cast

from . import __version__, manual, process, show
from .errors import FAILED, INTERRUPTED, OK, USAGE, Failure

COMMANDS = {
    "info": "what a run is, and whether it can be trusted",
    "dump": "the records of a run's trace as text",
    "export": "a run as Parquet, CSV or a Perfetto trace",
    "query": "SQL over a run's records",
    "history": "which values changed over many runs, and with which run",
    "compare": "what differs between runs, and whether that is chance",
    "gate": "checks a run against accepted counts",
    "ab": "measures two servers in turn and compares them",
    "versus": "puts the same load on several servers in turn: what an action costs on each",
    "sweep": "measures a server under more and more load, and where it can take no more",
    "report": "a run as one page",
    "bundle": "a run as one file without names, to be sent to others",
}


class Module(Protocol):
    """A command: what its options are, and what it does with them.

    `args.after` is what followed `--`, None without it. A module with PASSES_ON gets what it does
    not know as `args.rest`; its help has no short option.
    """

    def options(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


class Parser(argparse.ArgumentParser):
    """Reports errors in one line, as the C program does."""

    def error(self, message: str) -> None:  # type: ignore[override]
        raise Failure(f"{message} (see {self.prog} --help)", USAGE)


def _add_version(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--version",
        action="version",
        version=f"afpscope {__version__}",
        help="show the program's version and exit",
    )


def _overview() -> str:
    lines = ["Usage: python3 -m afpscope COMMAND ...", "", "Looks at saved runs of afpscope.", ""]
    lines += [f"  {name:10}{text}" for name, text in COMMANDS.items()]
    return "\n".join(lines)


def _command(argv: Sequence[str]) -> tuple[str, list[str]]:
    name = Path(argv[0]).name.removesuffix(".py")
    if name.startswith("afpscope-"):
        return name.removeprefix("afpscope-"), list(argv[1:])
    if len(argv) < 2:
        raise Failure("no command is named (see python3 -m afpscope --help)", USAGE)
    return argv[1], list(argv[2:])


def _execute(argv: Sequence[str]) -> int:
    name, rest = _command(argv)
    if name in ("--help", "-h"):
        print(_overview())
        return 0
    if name == "--version":
        print(f"afpscope {__version__}")
        return 0
    if name not in COMMANDS:
        raise Failure(f"there is no command {name!r} (see python3 -m afpscope --help)", USAGE)
    # Silence matplotlib's message about its font cache.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    module = cast(Module, importlib.import_module(f".{name}", __package__))
    process.raise_on_interrupt()
    passes_on = getattr(module, "PASSES_ON", False)
    parser = Parser(
        prog=f"afpscope {name}",
        description=COMMANDS[name],
        epilog=manual.below(name),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=not passes_on,
    )
    if passes_on:
        parser.add_argument("--help", action="help", help="show this help message and exit")
    module.options(parser)
    _add_version(parser)
    try:
        rest = getattr(module, "expanded", list)(rest)
        cut = rest.index("--") if "--" in rest else len(rest)
        # What is passed on may have arguments, which are no operands of ours.
        parse = parser.parse_known_args if passes_on else parser.parse_known_intermixed_args
        args, more = parse(rest[:cut])
        if more and not passes_on:
            parser.error(f"unrecognized arguments: {' '.join(more)}")
        args.rest = more
        args.after = rest[cut + 1 :] if cut < len(rest) else None
        return module.run(args)
    except Failure as e:
        raise Failure(f"{name}: {e}", e.code) from None


def _run(argv: Sequence[str]) -> int:
    try:
        code = _execute(argv)
        return INTERRUPTED if process.interrupted() else code
    except SystemExit as e:  # argparse has printed its help
        return int(e.code or 0)
    except Failure as e:
        show.notice(str(e))
        return e.code
    except ImportError as e:
        show.notice(
            f"the Python package {e.name} is missing or broken for {sys.executable}: "
            "make install or the package afpscope-analysis brings it "
            "(docs/analysis.md lists other ways)"
        )
    except BrokenPipeError:
        pass  # the reader has ended, as with "| head"
    except OSError as e:
        if e.filename is not None or not process.result_error():
            show.notice(f"{e.filename or 'input or output'}: {e.strerror}")
        else:
            show.notice(f"cannot write the result: {e.strerror}")
    except MemoryError:
        show.notice("out of memory")
    except KeyboardInterrupt:
        return INTERRUPTED
    except RuntimeError:
        if not process.interrupted():  # of which DuckDB makes an error of its own
            raise
        return INTERRUPTED
    return FAILED


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; the exit code (docs/exit-codes.md)."""
    process.hold_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    code = _run(sys.argv if argv is None else argv)
    lost = process.result_error()
    if lost and not isinstance(lost, BrokenPipeError):
        show.notice(f"cannot write the result: {lost.strerror}")
    return FAILED if lost and code == OK else code
