# SPDX-License-Identifier: GPL-2.0-or-later
"""How many records traces have: what afpscope dump, the Python package and babeltrace2 say."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from offline import command as package
from scope import Done

READER = """
import json, sys
from pathlib import Path
from afpscope import Failure, Trace
out = []
for folder in sys.argv[1:]:
    try:
        trace = Trace.open(Path(folder))
        out.append([{s.name: s.n for s in trace.streams.values()}, list(trace.notices)])
    except Failure as e:
        out.append([None, [str(e)]])
print(json.dumps(out))
"""
# In one process: to begin takes it longer than to read a short trace.
DUMPER = """
import contextlib, io, json, sys
from afpscope.cli import main
out = []
for folder in sys.argv[1:]:
    said, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(err):
        status = main(["afpscope", "dump", "--count", folder])
    out.append([status, said.getvalue(), err.getvalue()])
print(json.dumps(out))
"""


def by_package(program: str, folders: list[Path]) -> Any:
    """What a program in Python that uses the package says of these folders."""
    env, path, python, *_ = package()
    line = [env, path, python, "-B", "-c", program, *map(str, folders)]
    return json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout)


def counted_by_dump(folders: list[Path]) -> list[tuple[Done, dict[str, int]]]:
    """afpscope dump --count: how it ended, records by stream."""
    counted = []
    for folder, (status, out, err) in zip(folders, by_package(DUMPER, folders), strict=True):
        done = Done(["dump", "--count", str(folder)], status, out, err, 0)
        found = re.findall(r"^(\w+) +(\d+) ", out, re.M)
        counted.append((done, {name: int(n) for name, n in found}))
    return counted


def counted_by_python(folders: list[Path]) -> list[tuple[dict[str, int] | None, list[str]]]:
    """The same by the package in analysis/, and its notices; None: refused."""
    return [(counts, notices) for counts, notices in by_package(READER, folders)]


def counted_by_babeltrace(folder: Path) -> int:
    """Records of all streams; it must have no complaint."""
    done = subprocess.run(
        ["babeltrace2", folder, "-c", "sink.utils.counter", "-p", "step=+0"],
        capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    found = re.search(r"(\d+) Event messages", done.stdout)
    assert found
    return int(found[1])
