# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints compile_commands.json, by which clangd and clang-tidy know how a file is compiled.

compile_commands.py COMPILER FLAG... -- FILE... [++ COMPILER FLAG... -- FILE...]...
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path


def main(words: list[str]) -> None:
    here = str(Path.cwd())
    entries = []
    for more, group in itertools.groupby(words, lambda word: word == "++"):
        if more:
            continue
        line = list(group)
        at = line.index("--")
        for file in line[at + 1 :]:
            arguments = [*line[:at], "-c", file]
            entries.append({"directory": here, "file": file, "arguments": arguments})
    json.dump(entries, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(sys.argv[1:])
