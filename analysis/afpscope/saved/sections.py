# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of a run, as afpscope -v prints them: tables.json of its folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import Failure
from .node import Node, load
from .run import Run

TABLES_FILE = "tables.json"
SCHEMAS = (1,)
INKS = ("bold", "red", "yellow")


@dataclass(frozen=True, slots=True)
class Column:
    """`unit`: of its numbers, None if it has none."""

    name: str
    head: str
    unit: str | None


@dataclass(frozen=True, slots=True)
class Cell:
    """`value`: None is one that is not known, or that there is not."""

    text: str
    value: float | str | None
    unit: str | None  # where it differs from the column's


@dataclass(frozen=True, slots=True)
class Row:
    """A line of text, or a cell for each column. `ink`: one of INKS, or empty."""

    text: str | None
    cells: tuple[Cell, ...]
    ink: str


@dataclass(frozen=True, slots=True)
class Note:
    label: str
    text: str
    below: bool


@dataclass(frozen=True, slots=True)
class Section:
    """`about`: what its heading says besides the title."""

    key: str
    title: str
    about: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[Note, ...]


def _cell(node: Node) -> Cell:
    value = node.get("value")
    text = isinstance(value.value, str) if value else False
    return Cell(
        node["text"].text(),
        value if value is None else value.text() if text else value.number(),
        node.get_text("unit"),
    )


def _row(node: Node, columns: int) -> Row:
    ink = node.get_text("ink") or ""
    text = node.get_text("text")
    cells = () if text is not None else tuple(_cell(c) for c in node["cells"].items())
    if (text is None and len(cells) != columns) or ink not in ("", *INKS):
        raise Failure(f"{node.where} is not a row of its table: the file is damaged")
    return Row(text, cells, ink)


def _section(node: Node) -> Section:
    columns = tuple(
        Column(c["name"].text(), c["head"].text(), c.get_text("unit"))
        for c in node["columns"].items()
    )
    return Section(
        node["key"].text(),
        node["title"].text(),
        node["about"].text(),
        columns,
        tuple(_row(r, len(columns)) for r in node["rows"].items()),
        tuple(
            Note(n["label"].text(), n["text"].text(), n["below"].flag())
            for n in node["notes"].items()
        ),
    )


def _parsed(node: Node, run: Run) -> Iterator[Section]:
    if node["schema"].int_() not in SCHEMAS:
        raise Failure(f"{node.where} has a schema that this program does not read")
    if node["run"].text() != run.id:
        raise Failure(f"{node.where} is of another run")
    yield from (_section(s) for s in node["sections"].items())


def of_run(run: Run) -> tuple[Section, ...] | None:
    """None: the run has none, because an older version wrote it or it is a lone file that is no
    bundle."""
    if run.bundle:
        tables = run.bundle.get("tables")
        return tuple(_parsed(tables, run)) if tables else None
    file = run.folder / TABLES_FILE if run.folder else None
    if file is None or not file.exists():
        return None
    try:
        return tuple(_parsed(load(file), run))
    except Failure as e:
        raise Failure(f"{file}: {e}", e.code) from None
