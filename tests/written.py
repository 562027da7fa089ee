# SPDX-License-Identifier: GPL-2.0-or-later
"""The texts that the program's source in C writes into a run, for tests/translations.py.

A format of printf becomes a sentence of afpscope/told.py: "%u of %s" is "{n1} of {s2}". What a line
is composed of stands in several formats, each of which is a sentence: without the comma or the like
that parts it from the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_LITERAL = r'"(?:[^"\\]|\\.)*"'
_TOKEN = re.compile(rf"/\*.*?\*/|{_LITERAL}|'(?:[^'\\]|\\.)'|\s+|[A-Za-z_]\w*|.", re.S)
_CONVERSION = re.compile(r"%[-+0#]*[\d.*]*[hlzjt]*([diouxXeEfgGsc%])")
_MAY_BE_TEXT = re.compile(r"[a-z]{2,}")
# Calls whose texts come into a run, wherever they are made.
_CALLS = re.compile(
    r"\b(?:run_note\(&[\w.>-]*(?:rungs|warnings|absent|environment|server)|run_note\(out|run_loss\(|run_book(?:_open)?\("
    rf"|run_absent\()((?:[^;\"]|{_LITERAL})*);"
)
# Those of tables.json and of what is looked up.
_NAMES = re.compile(rf"\.(?:name|key)\s*=\s*{_LITERAL}|#include.*|\b\w*note_\w+\([^)]*\)")
_NAME = re.compile(r"(?:tp_btf|tp|fentry/fexit|kprobe) [^:]*$|/\S*$|\S*[._]\S*$")
_PARTED = re.compile(r"^(?:; |: |, )|[:,] ?$")
_LABEL = re.compile(
    r"\bsection_note\([&\w.>-]+, \"([^\"%]*[a-z][^\"%]*)\""
    r"|\bsection_note\(\w+, i \? \"\" : \"([^\"]+)\""
    r"|#define RUN_THREADS_MISSED \"\(([^\"]+)\)\""
    r"|\bsay_\w+\([^;\"]*\"([a-z][^\"%]*[a-z])\"[^;\"]*;"
    r"|\[AFS_ACCOUNT_[A-Z]+\] = \"([^\"]+)\""
    r"|\bX\([A-Z]+, \"[a-z]+\", \"([a-z]+ [^\"]+)\"\)"  # AFS_STORAGE_ITEMS
    r"|\[RUN_WORD_[A-Z]+\] = \"([^\"]+)\""
    r"|\bway_(?:by_name\[\] =|by_name\s+:|judge\([^;]*,)\s+\"((?:no|known) [^\"]+)\""
    r"|\{ (?:-?\d+|(?:\(int32_t\))?0x[0-9a-f]+), \"([^\"]+)\" \}"  # what results of requests mean
    r"|\bX\([A-Z_]+, -\d+, \"([^\"]+)\"\)"  # the same of AFP
)


def literals(source: str) -> Iterator[str]:
    """Each text, with the pieces that the compiler joins."""
    whole: str | None = None
    for token in _TOKEN.findall(source):
        if token[0] == '"':
            whole = (whole or "") + token[1:-1]
        elif whole is not None and token.startswith("PRI"):
            whole += token[3]
        elif token == "GLUE":
            whole = (whole or "") + " "
        elif not token.isspace() and not token.startswith("/*") and token != "\\":
            if whole is not None:
                yield _plain(whole)
            whole = None
    if whole is not None:
        yield _plain(whole)


def _plain(literal: str) -> str:
    """Two blanks or more are left where a heading ends and goes on."""
    return re.sub(r"\\n *", " ", literal.replace('\\"', '"'))


def sentence(form: str) -> str:
    """Of a format; empty if it is no text."""
    n = 0

    def hole(m: re.Match[str]) -> str:
        nonlocal n
        if m[1] == "%":
            return "%"
        n += 1
        if m[1] not in "sc":
            return f"{{n{n}}}"
        before, after = form[: m.start()], form[m.end() :]
        plural = re.search(r"[a-z]$", before) and not re.match(r"[A-Za-z%]", after)
        return f"{{s{n}.s}}" if plural else f"{{s{n}}}"

    text = " ".join(_CONVERSION.sub(hole, form).split()).strip(" ;,:")
    if text.startswith("(") and text.endswith(")") and ")" not in text[:-1]:
        text = text[1:-1]
    if text.startswith(". "):
        text = text[2:]
    plain = re.sub(r"\{[^{}]*\}", "", text)
    known = _MAY_BE_TEXT.search(plain) and not re.search(r"[\[\]\\]|^\w*_\w*$", text)
    return text if known else ""


def _sentences(texts: Iterable[str]) -> Iterator[str]:
    """Of two words or more, or of one that stands between commas or the like."""
    for form in (part for text in texts for part in re.split(r"(?<=\S)  (?=\S)", text)):
        text = sentence(form)
        plain = re.sub(r"\{[^{}]*\}", " ", text)
        words = len(re.findall(r"[A-Za-z'/-]*[a-z]{2}[a-z'/-]*", plain))
        letters = len(re.findall(r"[A-Za-z]", plain))
        told = words > 1 or (words and letters > 3 and _PARTED.search(form))
        if told and not _NAME.match(text):
            yield text


def of_calls(files: Iterable[Path]) -> Iterator[str]:
    for file in files:
        for m in _CALLS.finditer(file.read_text("utf-8")):
            yield from _sentences(literals(m[1]))


def of_labels(files: Iterable[Path]) -> Iterator[str]:
    for file in files:
        yield from (m[m.lastindex or 0] for m in _LABEL.finditer(file.read_text("utf-8")))


def of_sources(files: Iterable[Path]) -> Iterator[str]:
    """Of sources that write little else."""
    for file in files:
        yield from _sentences(literals(_NAMES.sub("", file.read_text("utf-8"))))
