# SPDX-License-Identifier: GPL-2.0-or-later
"""Catalogues of translated sentences: a .po file as text, as gettext's .mo, and in use.

`python3 -m afpscope.catalogue PO MO` writes what gettext reads, so that no other tool is needed.
"""

from __future__ import annotations

import gettext
import io
import re
import struct
import sys
from pathlib import Path
from typing import NamedTuple

from .errors import Failure

DOMAIN = "afpscope"
_CONTEXT = "\x04"  # gettext's: between a message's context and its text
_LINE = re.compile(r'(?:(msgctxt|msgid|msgstr)\s+)?"((?:[^"\\]|\\.)*)"')
_ESCAPES = {"n": "\n", "t": "\t"}


class Message(NamedTuple):
    """A sentence of the program, and that of the translator: empty if there is none."""

    context: str
    text: str
    translation: str = ""

    @property
    def key(self) -> str:
        return f"{self.context}{_CONTEXT}{self.text}" if self.context else self.text


def _plain(quoted: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), quoted)


def _quoted(text: str) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{text}"'


def read(po: Path) -> list[Message]:
    """The messages of a .po file in their order; the header is one of no text.

    One that is marked as fuzzy, or is obsolete (#~), has no translation. Errors: Failure, with the
    line that is none of a .po file.
    """
    found = []
    for entry in re.split(r"\n[ \t]*\n", po.read_text("utf-8")):
        parts = {"msgctxt": "", "msgid": "", "msgstr": ""}
        field, fuzzy = "", False
        for line in entry.splitlines():
            if line.startswith("#") or not line.strip():
                fuzzy |= line.startswith("#,") and "fuzzy" in line
                continue
            m = _LINE.fullmatch(line.strip())
            field = m[1] or field if m else ""
            if m is None or not field:
                raise Failure(f"{po}: no line of a catalogue: {line}")
            parts[field] += _plain(m[2])
        if field:
            translation = "" if fuzzy else parts["msgstr"]
            found.append(Message(parts["msgctxt"], parts["msgid"], translation))
    return found


def write(po: Path, head: str, messages: list[Message]) -> None:
    """`head`: comments and the header's fields, as they stand at the begin of the file."""
    blocks = [head.strip("\n")]
    for m in messages:
        context = f"msgctxt {_quoted(m.context)}\n" if m.context else ""
        blocks.append(f"{context}msgid {_quoted(m.text)}\nmsgstr {_quoted(m.translation)}")
    po.write_text("\n\n".join(blocks) + "\n", "utf-8")


def compiled(messages: list[Message]) -> bytes:
    """A .mo file of those that are translated."""
    rows = sorted((m.key.encode(), m.translation.encode()) for m in messages if m.translation)
    head = 28
    at = head + 16 * len(rows)
    tables: list[bytes] = []
    texts = b""
    for column in (0, 1):
        table = b""
        for row in rows:
            table += struct.pack("<II", len(row[column]), at + len(texts))
            texts += row[column] + b"\0"
        tables.append(table)
    start = struct.pack("<7I", 0x950412DE, 0, len(rows), head, head + 8 * len(rows), 0, 0)
    return start + b"".join(tables) + texts


def translations(language: str) -> gettext.NullTranslations:
    """Those of the report: in the tree those of po/, installed those below share/locale.

    Errors: Failure, which names the places that were looked at.
    """
    if language == "en":
        return gettext.NullTranslations()
    here = Path(__file__).resolve()
    installed = here.parents[3] / "locale" / language / "LC_MESSAGES" / f"{DOMAIN}.mo"
    tree = here.parents[2] / "po" / f"report.{language}.po"
    if tree.is_file():
        return gettext.GNUTranslations(io.BytesIO(compiled(read(tree))))
    if installed.is_file():
        return gettext.GNUTranslations(io.BytesIO(installed.read_bytes()))
    raise Failure(f"no catalogue for language {language}: neither {tree} nor {installed} is there")


def translated(catalogue: gettext.NullTranslations, context: str) -> list[tuple[str, str]]:
    """The texts of that context, each with its translation; gettext itself lists none."""
    found: dict[str, str] = getattr(catalogue, "_catalog", {})
    mark = context + _CONTEXT
    return [(key[len(mark) :], text) for key, text in found.items() if key.startswith(mark)]


def main(args: list[str]) -> int:
    if len(args) != 2:
        print("usage: python3 -m afpscope.catalogue PO MO", file=sys.stderr)
        return 2
    try:
        made = compiled(read(Path(args[0])))
        Path(args[1]).write_bytes(made)
    except (Failure, OSError) as e:
        print(f"catalogue: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
