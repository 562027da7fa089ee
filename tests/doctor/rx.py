# SPDX-License-Identifier: GPL-2.0-or-later
"""afpscope rx on servers over Rx with one fault each, and on a healthy one: what is named first?

rx.py [-k NAME] [-n RUNS] [--unseen]

Prints a line for each run, and how many named the right cause first. --unseen: the server is not
watched, so that only what the clients see, and what the server says when asked, is known. The
server has CPU 0 and the clients CPU 1. Needs root.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
SERVER_CPU, CLIENT_CPU = "0", "1"
HEALTHY = frozenset({"healthy", "idle"})
# A machine with other work: these are true of it.
NOISE = frozenset({"other-programs", "cpu-short", "listener-waits"})


@dataclass(frozen=True)
class Situation:
    """What the server is like, what its clients do, and which causes are right."""

    name: str
    server: tuple[str, ...]
    clients: tuple[str, ...]
    right: frozenset[str]
    unseen: frozenset[str]  # right causes where the server is not watched


# The smallest faults that CERN's study found, and a healthy server.
SITUATIONS = (
    Situation(
        "socket buffer",
        ("--buffer", "64K", "-s", "246", "-S", "246"),
        ("-c", "send", "-n", "250", "-T", "5", "-b", "64000"),
        frozenset({"socket-buffer"}),
        frozenset({"resends"}),
    ),
    Situation(
        "few threads",
        ("--buffer", "16M", "-s", "4", "-S", "4"),
        ("-c", "recv", "-n", "100", "-T", "6", "-b", "1M", "-u", "4096"),
        frozenset({"threads"}),
        frozenset({"threads"}),
    ),
    Situation(
        "one thread",
        ("--buffer", "16M", "-s", "246", "-S", "246"),
        ("-c", "send", "-n", "250", "-T", "4", "-b", "1M", "-u", "4096"),
        frozenset({"listener", "listener-waits"}),
        frozenset({"slow"}),
    ),
    Situation(
        "clients' buffer",
        ("--buffer", "16M", "-s", "64", "-S", "64"),
        ("-c", "recv", "-n", "4", "-t", "16", "-T", "10", "-b", "1M", "-u", "64"),
        frozenset({"own-buffer"}),
        frozenset({"own-buffer"}),
    ),
    Situation(
        "healthy",
        ("--buffer", "16M", "-s", "64", "-S", "64"),
        ("-c", "rpc", "-n", "30", "-T", "500"),
        HEALTHY,
        HEALTHY,
    ),
)


@contextmanager
def serving(program: Path, options: tuple[str, ...]) -> Iterator[int]:
    """A server of ours on a port of its own."""
    line = [str(program), "rx", "--serve", "-p", "0", "--address", "127.0.0.1", *options]
    server = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "taskset", "-c", SERVER_CPU, *line],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stderr
        said = server.stderr.readline()
        found = re.search(r"UDP port (\d+)", said)
        assert found, said
        yield int(found[1])
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=30)


def diagnosis(program: Path, situation: Situation, *more: str) -> dict[str, Any]:
    """What one run concludes, as run.json has it."""
    with (
        serving(program, situation.server) as port,
        tempfile.NamedTemporaryFile(suffix=".json") as saved,
    ):
        done = subprocess.run(
            [
                *("taskset", "-c", CLIENT_CPU, str(program), "rx", f"127.0.0.1:{port}"),
                *(*situation.clients, "--no-save", "--json", saved.name, *more),
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
        # 6: calls died, as those of CERN did
        assert done.returncode in (0, 6, 11), done.stderr
        found: dict[str, Any] = json.loads(Path(saved.name).read_text())["diagnosis"]
    return found


def first(found: dict[str, Any]) -> str:
    """The key of the first finding, else the verdict."""
    findings = found["findings"]
    return str(findings[0]["key"]) if findings else str(found["verdict"])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("-k", metavar="NAME", default="", help="only situations with this in it")
    parser.add_argument("-n", metavar="RUNS", type=int, default=10, help="of each (default 10)")
    parser.add_argument("--unseen", action="store_true", help="do not watch the server")
    parser.add_argument("--program", type=Path, default=REPO / "build" / "afpscope")
    args = parser.parse_args()
    right = runs = 0
    for situation in SITUATIONS:
        if args.k not in situation.name:
            continue
        expected = situation.unseen if args.unseen else situation.right
        for i in range(args.n):
            found = diagnosis(args.program, situation, *(["--watch=off"] if args.unseen else []))
            key = first(found)
            good = key in expected
            right += good
            runs += 1
            also = ", ".join(f["key"] for f in found["findings"][1:])
            print(
                f"{situation.name:16} {i + 1:3}  {'right' if good else 'WRONG'}  {key}"
                f"{f' ({also})' if also else ''}",
                flush=True,
            )
    print(f"{right} of {runs} right")
    return right != runs


if __name__ == "__main__":
    sys.exit(main())
