# SPDX-License-Identifier: GPL-2.0-or-later
"""What the pages of the report have in common: their pictures, and how a template becomes HTML."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from .. import show
from ..saved.files import Folder
from ..saved.run import AFP_WORDS
from ..words import Words
from . import colours

if TYPE_CHECKING:
    from .loadfigures import Drawn

FORMATS = ("svg", "png", "pdf")
ROWS = 120  # of the table below a figure; the CSV has all


@dataclass(frozen=True)
class Numbers:
    """The first rows of a figure's table, as text; `more` have no room on the page, as the word
    `where` says. `texts`: so many columns, from the left, are no numbers."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: int
    where: str = "numbers_more"
    texts: int = 1


def _cell(key: str, value: Any) -> str:
    """A value of the column that is called `key` in the CSV."""
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return "n/a"
    if key == "ns" or key.endswith("_ns"):
        return show.time(value)
    if key.startswith("share"):
        return f"{100 * value:.3g}%"
    return f"{value:,}" if isinstance(value, int) else show.number(value)


def _numbers(head: Sequence[str], rows: Sequence[Sequence[Any]], w: Words) -> Numbers:
    shown = [tuple(map(_cell, head, row)) for row in rows[:ROWS]]
    return Numbers(tuple(map(w.column, head)), tuple(shown), len(rows) - len(shown))


@dataclass(frozen=True)
class Picture:
    """A figure for the page; its caption is read out to readers who cannot see it. `numbers`: what
    is drawn, as a table; None: the page has it elsewhere."""

    name: str
    caption: str
    svg: str
    numbers: Numbers | None = None


class Painter:
    """Makes pictures, and keeps the figures if they are wanted as files."""

    def __init__(
        self,
        folder: Path | None,
        language: str,
        names: Mapping[str, str] = AFP_WORDS,
        rtts: Sequence[float] = (),
    ) -> None:
        """`language`: of the page; that of figures is English if no font here has its
        characters. `rtts`: round-trip times in ms in place of those of a run's tables."""
        self.rtts = rtts
        self.folder = Folder(folder) if folder else None
        self.w, self.fonts = Words(language, names), True
        self.plain = False  # a figure has English labels, in a page of another language

    @cached_property
    def labels(self) -> Words:
        """The words in figures."""
        from . import figures

        if self.w.language != "ja" or figures.japanese():
            return self.w
        self.plain = True
        return Words("en", self.w.names)

    def drawn(self, name: str, caption: str, of: Drawn | None) -> Picture | None:
        """The same, and its numbers are kept as CSV beside the figure."""
        if of is None:
            return None
        self.table(name, of.head, of.rows)
        found = self.picture(name, caption, of.figure)
        return replace(found, numbers=_numbers(of.head, of.rows, self.w)) if found else None

    def table(self, name: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Keeps a table as NAME.csv, if figures are kept."""
        if self.folder is None:
            return
        text = io.StringIO()
        out = csv.writer(text, lineterminator="\n")
        out.writerow(head)
        out.writerows([show.plain(c) if isinstance(c, str) else c for c in row] for row in rows)
        with self.folder.written(f"{name}.csv") as file:
            file.write(text.getvalue().encode())

    def picture(self, name: str, caption: str, made: Any) -> Picture | None:
        from . import figures  # and matplotlib, which a page without curves does not need

        if made is None:
            return None
        self.keep(name, made)
        return Picture(name, caption, figures.svg(made, name))

    def keep(self, name: str, made: Any) -> None:
        """Writes a figure in each form, if figures are kept."""
        from . import figures

        if made is None or self.folder is None:
            return
        for form in FORMATS:
            with self.folder.written(f"{name}.{form}") as file:
                whole = figures.save(made, file, form, name)
            self.fonts = self.fonts and whole


def _shown(value: Any) -> Any:
    """The values for the template; figures are markup already, made by us."""
    return show.page(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


@cache
def _environment() -> jinja2.Environment:
    """Kept: it has the templates compiled."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("afpscope", "page"),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "measured": show.measured,
        "time": show.time,
        "second": show.second,
        "count": show.count,
        "number": show.number,
        "told": show.told,
        "size": show.size,
    }
    parts = colours.PART_COLOURS
    environment.globals |= {
        "colours": parts,
        "inks": {key: colours.ink(colour) for key, colour in parts.items()},
    }
    return environment


def render(template: str, **values: Any) -> str:
    """A page as HTML. Everything that comes from a run is escaped."""
    return _environment().get_template(template).render(**values)
