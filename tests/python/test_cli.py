# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of the Python commands: the same habits in all of them."""

from __future__ import annotations

import argparse
import csv
import importlib
import io
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import tracegen
from afpscope import cli, forms, manual, markdown, show
from afpscope.cli import COMMANDS, Parser
from conftest import Done, Shelf

Execute = Callable[..., Done]
REPO = Path(__file__).parents[2]
# What shells, Markdown, GitHub's workflows, XML, spreadsheets and terminals take for theirs.
HOSTILE = "=cmd|'$(id)`x`' ::error::|..\n../a$b_{c} <b>&\"\x1b[31m \u202e"


def parser_of(command: str) -> Parser:
    parser = Parser(prog=f"afpscope {command}")
    importlib.import_module(f"afpscope.{command}").options(parser)
    return parser


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_help(command: str) -> None:
    for action in parser_of(command)._actions:
        assert action.help, (command, action.option_strings or action.dest)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_example_is_understood(command: str) -> None:
    parser = parser_of(command)
    for example in manual.EXAMPLES[command]:
        program, name, *words = shlex.split(example)
        assert (program, name) == ("afpscope", command)
        cut = words.index("--") if "--" in words else len(words)
        passes_on = getattr(importlib.import_module(f"afpscope.{command}"), "PASSES_ON", False)
        parse = parser.parse_known_args if passes_on else parser.parse_known_intermixed_args
        _, more = parse(words[:cut])
        assert passes_on or not more, example


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_examples_exit_codes_and_the_manual(command: str, execute: Execute) -> None:
    done = execute(command, "--help")
    assert done.code == 0
    assert all(example in done.out for example in manual.EXAMPLES[command])
    assert "exit codes:\n  0    " in done.out and f"man afpscope-{command}" in done.out
    assert (REPO / "docs" / f"afpscope-{command}.1").exists()


def test_options_may_stand_anywhere(shelf: Shelf, execute: Execute) -> None:
    run = shelf.put("one")
    sql = "select count(*) as n from phases"
    first = execute("query", "--csv", run, sql)
    assert first.code == 0 and first.out.startswith("n\n")
    assert execute("query", run, "--csv", sql) == first
    assert execute("query", run, sql, "--format", "csv") == first
    other = shelf.put("two")
    plain = execute("compare", "--all", run, other)
    assert plain.code == 0 and execute("compare", run, "--all", other) == plain
    counts = shelf.base / "counts"
    assert execute("gate", run, "--counts", counts, "--accept", other).code == 0
    assert execute("gate", run, "--counts", counts, other).code == 0


def test_an_operand_too_many_is_refused(shelf: Shelf, execute: Execute) -> None:
    done = execute("info", shelf.put("one"), "--json", "more")
    assert done.code == 2 and "unrecognized arguments: more" in done.err


@pytest.mark.parametrize(
    "line",
    [
        ("report", "a", "b", "-o", "page.html"),
        ("compare", "a", "b"),
        ("gate", "--counts", "counts", "--accept", "a", "b", "--force"),
        ("export", "a", "b", "--into", "lake"),
        ("query", "c", "select count(*) from requests"),
        ("export", "c", "--to", "csv", "-o", "csv"),
        ("export", "c", "--to", "perfetto", "-o", "perfetto"),
    ],
)
def test_what_takes_long_says_how_far_it_is(
    shelf: Shelf, execute: Execute, monkeypatch: pytest.MonkeyPatch, line: tuple[str, ...]
) -> None:
    """Every 2 s; here at once."""
    monkeypatch.setattr(show, "PROGRESS_S", 0.0)
    monkeypatch.chdir(shelf.base)
    for name in "ab":
        shelf.put(name)
    tracegen.main(str(shelf.put("c")), 5_000)
    done = execute(*line)
    assert done.code == 0, done.err
    assert re.search(rf"^afpscope: {line[0]}: [\d,]+ of [\d,]+ \w", done.err, re.M), done.err


def _hostile(run: dict[str, Any]) -> None:
    for phase in run["phases"]:
        phase["title"] = HOSTILE
        phase["commands"] = phase["commands"][:1]
        phase["commands"][0]["name"] = HOSTILE


def _more(run: dict[str, Any]) -> None:
    _hostile(run)
    for phase in run["phases"]:
        phase["ledger"]["requests"][0]["parts"][0]["calls"] += 50_000


def test_names_break_no_form(
    shelf: Shelf, execute: Execute, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    a, b = shelf.put("a", change=_hostile), shelf.put("b", change=_more)
    summary = tmp_path / "summary.md"
    monkeypatch.setenv(markdown.SUMMARY, str(summary))
    counts = shelf.base / "counts"
    assert execute("gate", a, "--counts", counts, "--accept").code == 0
    for line in (["compare", a, b, "--all"], ["gate", b, "--counts", counts], ["info", a]):
        known = parser_of(line[0])._option_string_actions["--format"].choices or ()
        forms_of = [form for form in known if form != forms.JUNIT]
        out = {form: execute(*map(str, line), "--format", form).out for form in forms_of}
        assert json.loads(out[forms.JSON])
        rows = list(csv.reader(io.StringIO(out[forms.CSV])))
        assert len({len(row) for row in rows}) == 1 and len(rows) > 1
        assert not any(cell[:1] in "=@\t\r" for row in rows for cell in row if cell)
        for form, text in out.items():
            assert "\x1b" not in text and "\u202e" not in text, form
        for block in out[forms.MARKDOWN].split("\n\n"):
            table = [x.replace("\\|", "") for x in block.splitlines() if x.startswith("|")]
            assert len({x.count("|") for x in table}) <= 1
        assert "<b>" not in out[forms.MARKDOWN] + summary.read_text()
        commands = [x for x in out.get(forms.GITHUB, "").splitlines() if x.startswith("::")]
        assert all(x.startswith(("::warning title=", "::error title=")) for x in commands)
    tree = ElementTree.fromstring(execute("gate", b, "--counts", counts, "--format", "junit").out)
    assert tree.find("testcase") is not None and tree.get("failures") != "0"


@pytest.mark.parametrize(
    ("value", "shown"),
    [("=1+1", "'=1+1"), ("-x", "'-x"), ("@a", "'@a"), ("-1.5", "-1.5"), ("+3", "+3"), (-2, -2),
     ("a\nb", "a\ufffdb"), (None, None)],
)  # fmt: skip
def test_no_cell_is_a_formula(value: Any, shown: Any) -> None:
    assert forms.cell(value) == shown


def test_no_command_has_a_form_of_its_own() -> None:
    """--format, --json and --csv come from forms.py."""
    for command in COMMANDS:
        actions = {s: a for a in parser_of(command)._actions for s in a.option_strings}
        for short in ("--json", "--csv"):
            if short in actions:
                assert isinstance(actions[short], argparse._StoreConstAction), command
                assert short[2:] in (actions["--format"].choices or ()), command
    assert cli.COMMANDS.keys() == manual.EXAMPLES.keys()
