# SPDX-License-Identifier: GPL-2.0-or-later
"""Each command that README.md, docs/ and the manual pages show is there, with the options and words
that they show.

Tests user/main/main.c.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import promised
import pytest
from offline import command
from scope import REPO, Scope

PAGES = [*REPO.glob("*.md"), *sorted((REPO / "docs").glob("*.md")), *(REPO / "docs").glob("*.1*")]
BEGIN = r"(?:sudo |env |[A-Z_]+=\S+ )*"
ASK = f"""
import json, sys
sys.path.insert(0, {str(REPO / "tests/golden")!r})
import promised
print(json.dumps(promised.python_options()))
"""
# A command whose options another one takes as well.
ALSO = {"sweep": ("load", "replay", "rx"), "rx": ("rx-serve",)}


@pytest.fixture(scope="module")
def known(scope: Scope) -> dict[str, str]:
    """Commands, their options, and the words that these take."""
    package = subprocess.run([*command()[:-2], "-c", ASK], check=True, stdout=subprocess.PIPE)
    return promised.program_options(scope.binary) | json.loads(package.stdout)


def shown(known: dict[str, str], page: Path) -> Iterator[list[str]]:
    """The words of each command of afpscope in it: in blocks of code, and between backticks, there
    also without the program's name."""
    text = page.read_text()
    if page.suffix == ".md":
        prose, blocks = text.split("```")[::2], text.split("```")[1::2]
        blocks += re.findall(r"^ {4,}.*(?:\\\n.*)*", "\n".join(prose), re.M)
    else:
        text = (
            re.sub(r"\\f[BIRP]|\\&", "", text)
            .replace("\\-", "-")
            .replace("\\(aq", "'")
            .replace("\\e\n", "\\\n")
        )
        prose, blocks = [], [text]
    code = re.sub(r" \\\n\s*", " ", "\n".join(blocks))
    lines = re.findall(rf"^\s*(?:\$ )?({BEGIN}(?:\S*/)?afpscope .*)$", code, re.M)
    for quoted in re.findall(r"`([^`]*)`", "\n".join(prose)):
        words = " ".join(quoted.split())
        name = re.match(r"([a-z]+) -", words)
        lines.append(f"afpscope {words}" if name and name[1] in known else words)
    for line in lines:
        if found := re.match(rf"{BEGIN}(?:\S*/)?afpscope ([a-z]\S*.*)", line):
            plain = re.split(r"\s#|\s(?:2?>|\||&&|\|\||;|<)", found[1])[0]
            try:
                yield shlex.split(plain)
            except ValueError:  # one quote, as of a sentence
                yield plain.split()


def unknown(known: dict[str, str], name: str, words: list[str]) -> Iterator[str]:
    """What of the words behind this command is none of its options, or no word of one."""
    names = (name, *ALSO.get(name, ()))
    for i, word in enumerate(words):
        if word == "--":
            if name in ("ab", "versus") and known.get(words[i + 1]) == "command":
                yield from unknown(known, words[i + 1], words[i + 2 :])
            return
        option = re.fullmatch(r"(--[a-z][\w-]*(?==|$)|-[a-zA-Z])(=?)(\S*)", word)
        if not option:
            continue
        whose = [one for one in names if f"{one} {option[1]}" in known]
        if not whose and option[1] not in ("--help", "--version"):
            yield f"{name} {option[1]}"
        for one in whose:
            takes = {key.split()[2] for key in known if key.startswith(f"{one} {option[1]} ")}
            more = known[f"{one} {option[1]}"] == "argument"
            value = option[3] if option[2] else words[i + 1] if more and words[i + 1 :] else ""
            if takes and value.islower() and not {*value.split(",")} <= takes:
                yield f"{name} {option[1]} {value}"


def test_each_command_that_the_pages_show_is_there(known: dict[str, str]) -> None:
    wrong, count = [], 0
    for page in PAGES:
        for name, *words in shown(known, page):
            count += 1
            if known.get(name) != "command":
                wrong.append(f"{page.name}: {name}")
            wrong += [f"{page.name}: {text}" for text in unknown(known, name, words)]
    assert not wrong and count > 300, f"{count} commands\n" + "\n".join(wrong)
