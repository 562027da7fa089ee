# SPDX-License-Identifier: GPL-2.0-or-later
"""The forms of a command's output: --format, the same for all of them, and CSV."""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from . import show

TEXT, JSON, CSV, MARKDOWN = "text", "json", "csv", "markdown"
GITHUB, JUNIT = "github", "junit"
_WHAT = {
    TEXT: "for people",
    JSON: "all figures",
    CSV: "a row in each line",
    MARKDOWN: "for a page or a comment",
    GITHUB: "text, with annotations and the summary of a GitHub workflow",
    JUNIT: "XML for a CI system",
}
# A spreadsheet runs what begins like this; numbers begin like this as well.
_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?[\d.,]+(e[+-]?\d+)?", re.I)


def add(parser: argparse._ActionsContainer, *forms: str, json_lines: bool = False) -> None:
    """--format of these, and --json and --csv as its short forms where they are among them."""
    said = "; ".join(f"{form}: {_WHAT[form]}" for form in forms)
    if json_lines:
        said = said.replace(f"{JSON}: {_WHAT[JSON]}", f"{JSON}: an object in each line")
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--format", choices=forms, default=TEXT, help=f"{said} (default {TEXT})")
    for form in (JSON, CSV):
        if form in forms:
            one.add_argument(f"--{form}", dest="format", action="store_const", const=form,
                             help=f"the same as --format {form}")  # fmt: skip


def cell(value: Any) -> Any:
    """Of CSV: numbers as they are. A text that a spreadsheet would take for a formula gets a '."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = show.plain(str(value))
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def print_rows(rows: Iterable[Iterable[Any]]) -> None:
    """As lines of CSV."""
    csv.writer(sys.stdout, lineterminator="\n").writerows(map(cell, row) for row in rows)


def print_csv(head: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    print_rows([head])
    print_rows(rows)
