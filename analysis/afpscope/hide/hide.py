# SPDX-License-Identifier: GPL-2.0-or-later
"""A run as it may be sent: what hide/fields.py lists of run.json and tables.json, and no more.

It is done in two steps. The first meets all names that stand in fields of their own; the second
makes the new run, in whose sentences these names are known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any as Value

from ..catalogue import translated, translations
from ..errors import Failure
from ..saved.run import AFP_WORDS, NO_WORDS
from ..told import CAUSE, HEAD, PROGRAM, Told
from . import fields
from .fields import Any, How, Rows, Spec
from .sentences import FIGURE, Sentences
from .tokens import PORT, Tokens

Json = dict[str, Value]

PROCESS = "process"
TEXT = "text"
KINDS = {
    How.USER: "user",
    How.HOST: "host",
    How.CLIENT: "host",
    How.VOLUME: "volume",
    How.PLACE: "place",
    How.THREAD: "thread",
    How.COMMAND: "command",
    How.START: "start",
    How.TITLE: "mix",
    How.PROGRAM: "program",
    How.PRODUCT: "product",
}
ADDRESSES = (How.CLIENT, How.HOST)
MIXES = ("browse", "office", "metadata", "timemachine", "idle")  # client/work/mix/mix.c
_TITLE = re.compile(r"[\w .,:/~()+\[\]-]{1,120}")
_WORD = re.compile(r"[A-Za-z0-9µ%+=?<~-][A-Za-z0-9µ_.,:/+%*·()?<>= -]{0,63}")
_KEY = re.compile(r"[A-Za-z0-9_.*-]{1,64}")
_DIGITS = re.compile(r"[-+~]?\d[-+~0-9.,:x/\u2013KMGTi sB%µmn]{0,4096}|unlimited|the file's own")
_LIMIT = re.compile(r"[a-z][a-z0-9.]{0,9} ?(?:<=|>=|<|>|=) ?\d[\d.]*[a-zµ%/]{0,4}")
_FILES = re.compile(
    r"(?:ext[234]|xfs|btrfs|zfs|bcachefs|f2fs|jfs|reiserfs|tmpfs|ramfs|overlay|nfs4?|cifs|smb3|ceph"
    r"|fuse|fuseblk|vfat|exfat|ntfs3?|hfsplus|apfs|iso9660|squashfs|erofs|9p|virtiofs)"
    r"(?: on(?: (?:[shv]d[a-z]{1,3}|xvd[a-z]{1,3}|nvme\d{1,3}(?:c\d{1,3})?n\d{1,3}|mmcblk\d{1,3}"
    r"|(?:dm-|md|loop|ram|zram|nbd|rbd|drbd|bcache|sr|dasd[a-z]{1,3}|pmem)\d{0,4})(?:p?\d{1,3})?)+)?"
)
_CPUS = re.compile(r"allowed [\d,-]+(?:, last on \d+)?")
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)(?:T.*)?", re.S)
_RELEASE = re.compile(r"[-+._~]")
_OF_RELEASE = re.compile(
    r"\d+|(?:el|fc|deb|bpo|rc|ubuntu|alt|mga|lp|pve)\d*|amd64|arm64|x86|64|i686|686|aarch64"
    r"|riscv64|ppc64le|s390x|armv\d\w?|generic|cloud|rt|lts|virt|azure|aws|gcp|kvm|default|server"
    r"|arch\d*|zen\d*|hardened|pae|lowlatency|unsigned|trunk|MANJARO|microsoft|standard|WSL2"
)
_HOOKS = re.compile(
    r"off|tracepoint|ext4 only|Linux has none|Operation not permitted|/proc/PID/[a-z/A-Z]+"
    r"|(?:tp_btf|fentry/fexit|kprobe|tracepoint) [a-z0-9_/]{1,64}(?:, [a-z0-9_/]{1,64})*"
)
_OWN_PROGRAM = re.compile(r"on_[a-z0-9_]{1,32}\b")  # of bpf/
_BOOK = re.compile(r"(\w+) (\d{1,9}|\(\d+ ended\)) (\w+)")
_ONE_PROCESS = re.compile(r"([a-z_]\w{0,31}) (\d{1,9})((?: \(ended\))?)")
_ROLES = frozenset(("helper", "other", "client", "server", "backend"))
_NOTHING = frozenset(("", "-", "n/a", "?", "void", "<.01", "before", "still"))
_CELL = re.compile(rf"(?:{FIGURE.pattern}|<?\.\d+|-?0|[-+~]?\d[\d,.]*[\u2013-]\d[\d,.]*)")
_CLOCK_BEGIN_NS = 10**9  # where moments are counted from


@dataclass
class Hidden:
    """`run`: in place of run.json, `tables` of tables.json (None: there is none). `out`: how often
    a field was left out, by its place."""

    run: Json
    tables: Json | None
    tokens: Tokens
    out: Counter[str] = field(default_factory=Counter)


@cache
def _program() -> tuple[Told, frozenset[str]]:
    """The program's sentences and words, and the names of its causes: those of its catalogue."""
    catalogue = translations("ja")
    sentences, heads, causes = (
        [(english, english) for english, _ in translated(catalogue, context)]
        for context in (PROGRAM, HEAD, CAUSE)
    )
    return Told(sentences, [*heads, *causes]), frozenset(cause for cause, _ in causes)


def _walk(value: Value, spec: Spec) -> Iterator[tuple[How, Value]]:
    """Each value that is listed, with what becomes of it."""
    if value is None or isinstance(spec, Rows):
        return
    if isinstance(spec, How):
        yield spec, value
    elif isinstance(spec, list):
        for one in value if isinstance(value, list) else ():
            yield from _walk(one, spec[0])
    elif isinstance(value, dict):
        for key, one in value.items():
            found = _spec(spec, key)
            if found is not None:
                yield from _walk(one, found)


def _spec(spec: dict[str, Spec] | Any, key: str) -> Spec | None:
    """What becomes of a member; None: it is not listed."""
    if isinstance(spec, dict):
        return spec.get(key)
    if key in spec.known:
        return spec.known[key]
    return spec.value if re.fullmatch(spec.keys, key) and _KEY.fullmatch(key) else None


def _is_number(value: Value) -> bool:
    return value is None or isinstance(value, int | float)


class _Hide:
    def __init__(self, run: Json, tokens: Tokens) -> None:
        self._run, self.tokens = run, tokens
        self.out: Counter[str] = Counter()
        self._names: dict[str, str] = {}
        self._words: set[str] = set()
        self._about: dict[str, str] = {}
        self._start = 0
        self._metrics = self._own_metrics()
        self._meet()
        own = run.get("words") or (AFP_WORDS if run.get("kind", "afp") == "afp" else NO_WORDS)
        if not isinstance(own, dict):
            own = NO_WORDS
        program, causes = _program()
        self._sentences = Sentences(
            program,
            names=self._names,
            words=self._words.union(causes),
            own={k: v for k, v in own.items() if isinstance(v, str) and k in fields.WORDS},
            figures=run["figures"] if isinstance(run.get("figures"), dict) else (),
            hide=lambda text: tokens.token(TEXT, text),
            number=lambda kind, n: tokens.known(PORT if kind == PORT else PROCESS, n),
        )

    def _meet(self) -> None:
        """Meets names, words and numbers in fields of their own."""
        moments = []
        for how, value in _walk(self._run, fields.RUN):
            if how in KINDS and isinstance(value, str) and value:
                kept = self._treat(how, value)
                if kept == value:
                    self._words.add(value)
                else:
                    self._name(how, value, kept)
            elif isinstance(value, str) and (
                how is How.SOURCE or (how is How.WORD and _WORD.fullmatch(value))
            ):
                self._words.add(value)
            elif how is How.LOSS and isinstance(value, str):
                self._words.update(_OWN_PROGRAM.findall(value))
            elif how in (How.PROCESS, How.PORT) and type(value) is int:
                self._treat(how, value)
            elif how is How.OUT and isinstance(value, str) and "/" in value:
                self._name(How.PLACE, value, self.tokens.token(KINDS[How.PLACE], value))
            elif how is How.MOMENT and type(value) is int and value:
                moments.append(value)
        self._start = min(moments, default=0) - _CLOCK_BEGIN_NS

    def _name(self, how: How, name: str, token: str) -> None:
        self._names.setdefault(name, token)
        if how in ADDRESSES and (host := re.fullmatch(r"(.+):\d{1,5}", name, re.S)):
            self._names.setdefault(host[1], self.tokens.token(KINDS[how], host[1]))
            self._names.setdefault(host[1].strip("[]"), self._names[host[1]])

    def _left_out(self, where: str) -> None:
        self.out[where] += 1

    # Single values

    def _treat(self, how: How, value: Value) -> Value:
        """A value that is not null, as it may be sent; None: it is left out."""
        if isinstance(value, bool) or _is_number(value):
            return self._number(how, value)
        if not isinstance(value, str) or not value:
            return value if value == "" else None
        if how in KINDS:
            return self._called(how, value)
        treat = self._texts().get(how)
        return treat(value) if treat else None

    def _number(self, how: How, value: Value) -> Value:
        if how is How.MOMENT and type(value) is int:
            return value - self._start if value else 0
        if how is How.PROCESS and type(value) is int:
            return self.tokens.number(PROCESS, value)
        if how is How.PORT and type(value) is int:
            return self.tokens.number(PORT, value)
        return value if how is How.FIGURE or isinstance(value, bool) else None

    def _is_title(self, name: str) -> bool:
        """A load has the name of its mix, which may be of the user's own file."""
        if self._run.get("command") == "load":
            return name in MIXES
        return _TITLE.fullmatch(name) is not None

    def _called(self, how: How, name: str) -> str:
        """A name as a token, unless it is one of the program's own or of a known product."""
        kind = KINDS[how]
        if how is How.TITLE and self._is_title(name):
            return name
        if how is How.PRODUCT and fields.PRODUCT.fullmatch(name):
            return name
        if how is How.PROGRAM and name.rpartition("/")[2] in fields.SERVERS:
            return name.rpartition("/")[2]
        if how in ADDRESSES:
            return self.tokens.address(kind, name)
        return self.tokens.token(kind, name)

    def _texts(self) -> dict[How, Callable[[str], str | None]]:
        def formed(how: re.Pattern[str]) -> Callable[[str], str | None]:
            return lambda text: text if how.fullmatch(text) else self._hidden(text)

        return {
            How.WORD: formed(_WORD),
            How.CONSTANT: lambda text: text,
            How.SENTENCE: self._said,
            How.ADVICE: lambda text: self._sentences.kept(text, self._about),
            How.LOSS: self._said,
            How.SOURCE: lambda text: text,
            How.RUNG: self._rung,
            How.DIGITS: formed(_DIGITS),
            How.PRINTED: formed(FIGURE),
            How.LIMIT: formed(_LIMIT),
            How.FILES: formed(_FILES),
            How.CPUS: lambda text: "\n".join(
                line if _CPUS.fullmatch(line) else self._hidden(line) for line in text.split("\n")
            ),
            How.KERNEL: self._kernel,
            How.DAY: lambda text: m[1] if (m := _DAY.fullmatch(text)) else None,
            How.ID: self.tokens.id,
            How.BOOK: self._book,
            How.ONE_PROCESS: self._one_process,
        }

    def _hidden(self, text: str) -> str:
        return self.tokens.token(TEXT, text) if text else text

    def _said(self, text: str) -> str:
        return self._sentences.said(text, self._about)

    def _rung(self, text: str) -> str:
        """ "kprobe vfs_read, vfs_write: no such hook; tracepoint: Linux has none": of hooks and of
        sentences."""
        if _HOOKS.fullmatch(text) or text.isdigit():
            return text
        parts = re.split(r"(; |: )", text)
        if len(parts) == 1 or not any(map(_HOOKS.fullmatch, parts[::2])):
            return self._said(text)
        return "".join(
            p if i % 2 or _HOOKS.fullmatch(p) else self._said(p) for i, p in enumerate(parts)
        )

    def _kernel(self, text: str) -> str:
        """ "Linux 6.12.48+deb13-amd64": other words than such are of whoever built it."""
        system, _, release = text.partition(" ")
        if system != "Linux":
            return self._hidden(text)
        parts = re.split(f"({_RELEASE.pattern})", release)
        kept = (
            p if i % 2 or _OF_RELEASE.fullmatch(p) or not p else self._hidden(p)
            for i, p in enumerate(parts)
        )
        return f"{system} {''.join(kept)}"

    def _book(self, text: str) -> str:
        m = _BOOK.fullmatch(text)
        if m is None or m[1] not in self._words | _ROLES:
            return self._said(text)
        which = self.tokens.number(PROCESS, int(m[2])) if m[2].isdigit() else m[2]
        return f"{m[1]} {which} {m[3]}"

    def _one_process(self, text: str) -> str:
        if m := _ONE_PROCESS.fullmatch(text):
            return f"{m[1]} {self.tokens.number(PROCESS, int(m[2]))}{m[3]}"
        is_role = _WORD.fullmatch(text) and not re.search(r"\d", text)
        return text if is_role else self._hidden(text)

    # What holds others

    def made(self, value: Value, spec: Spec, where: str) -> Value:
        """The value as it may be sent; None: it is not, or it is null."""
        if value is None:
            return None
        if isinstance(spec, Rows):
            return self._rows(value, where)
        if isinstance(spec, How):
            made = None if spec is How.OUT else self._treat(spec, value)
            if made is None:
                self._left_out(where)
            return made
        if isinstance(spec, list):
            if not isinstance(value, list):
                self._left_out(where)
                return None
            return [self.made(one, spec[0], where) for one in value]
        return self._object(value, spec, where)

    def _rows(self, value: Value, where: str) -> Value:
        if isinstance(value, list):
            return [self._rows(one, where) for one in value]
        if _is_number(value):
            return value
        self._left_out(where)
        return None

    def _object(self, value: Value, spec: dict[str, Spec] | Any, where: str) -> Json | None:
        if not isinstance(value, dict):
            self._left_out(where)
            return None
        out: Json = {}
        for key, one in value.items():
            found = _spec(spec, key)
            place = f"{where}.{key}" if isinstance(spec, dict) and found is not None else where
            if found is None or found is How.OUT:
                self._left_out(f"{where}.{key}" if found is How.OUT else f"{where}: others")
                continue
            made = self.made(one, found, place)
            # A text that is left out has no place, as null would say that it was not measured.
            if made is not None or one is None:
                out[key] = made
        return out

    def run(self) -> Json:
        """run.json. The diagnosis is told with the names that its figures have in the bundle."""
        figures = self._run.get("figures")
        if isinstance(figures, dict):
            for key, one in figures.items():
                who = one.get("who") if isinstance(one, dict) else None
                if isinstance(who, str):
                    self._about[f"{key}.who"] = self._said(who)
        return self._object(self._run, fields.RUN, "run") or {}

    # Tables

    def _own_metrics(self) -> set[str]:
        """Keys of the metrics that the run defines: columns of that name keep their numbers."""
        rows = self._run.get("metrics")
        found = (
            [one.get("key") for one in rows if isinstance(one, dict)]
            if isinstance(rows, list)
            else []
        )
        return {key for key in found if isinstance(key, str)}

    def tables(self, value: Json) -> Json:
        sections = value.get("sections")
        return {
            "schema": value.get("schema") if type(value.get("schema")) is int else None,
            "tool": "afpscope",
            "version": self._treat(How.WORD, value.get("version")),
            "run": self.tokens.id(str(value.get("run"))),
            "sections": [
                self._section(s) for s in (sections if isinstance(sections, list) else ())
            ],
        }

    def _text(self, value: Value) -> str:
        return self._said(value) if isinstance(value, str) else ""

    def _section(self, s: Json) -> Json:
        key = self._treat(How.WORD, s["key"])
        columns = [
            {
                "name": self._treat(How.WORD, c["name"]) or "",
                "head": self._head(c),
                "unit": c["unit"] and self._treat(How.WORD, c["unit"]),
            }
            for c in s["columns"]
        ]
        return {
            "key": key,
            "title": self._sentences.kept(s["title"]) or str(key),
            "about": self._sentences.kept(s["about"]),
            "columns": columns,
            "rows": [self._row(r, s) for r in s["rows"]],
            "notes": [
                {
                    "label": self._sentences.kept(n["label"]),
                    "text": self._text(n["text"]),
                    "below": n["below"] is True,
                }
                for n in s["notes"]
            ],
        }

    def _head(self, column: Json) -> str:
        head = column["head"]
        return head if _WORD.fullmatch(head) or head in ("", "±", "µs") else self._text(head)

    def _row(self, row: Json, section: Json) -> Json:
        out: Json = {}
        if row.get("ink") in ("bold", "red", "yellow"):
            out["ink"] = row["ink"]
        if isinstance(row.get("text"), str):
            return out | {"text": self._text(row["text"])}
        pairs = zip(row["cells"], section["columns"], strict=True)
        return out | {"cells": [self._cell(cell, c, section["key"]) for cell, c in pairs]}

    def _cell(self, cell: Json, column: Json, section: str) -> Json:
        name, value, text = column["name"], cell["value"], cell["text"]
        unit = cell.get("unit") or column["unit"]
        found = fields.TEXTS.get(name)
        how = found if isinstance(found, How) else None
        out: Json = {}
        if cell.get("unit"):
            out["unit"] = self._treat(How.WORD, cell["unit"])
        if text in _NOTHING and (value is None or value == text):
            return out | {"text": text, "value": value}
        if how is How.PROCESS or (how in KINDS and how is not How.TITLE):
            made = self._treat(how, int(value) if _is_number(value) else text)
            return out | {"text": "" if made is None else str(made), "value": made}
        counts = (
            name in fields.COUNTS or name in self._metrics or re.fullmatch(fields.TEST_COLUMN, name)
        )
        if _is_number(value) and (unit not in (None, "1") or counts or section == fields.METRICS):
            shown = text if _CELL.fullmatch(text) else "" if value is None else f"{value:g}"
            return out | {"text": shown, "value": value}
        if value is None and _CELL.fullmatch(text):
            return out | {"text": text, "value": None}
        if isinstance(value, str) and how is not None:
            made = self._treat(how, value)
            return out | {"text": made, "value": made}
        self._left_out(f"tables: column {name if _KEY.fullmatch(name) else '?'} of {section}")
        return {"text": "", "value": None}


def hidden(run: Json, tables: Json | None, key: bytes) -> Hidden:
    """The run without names. Errors: Failure, which names what is damaged."""
    tokens = Tokens(key)
    try:
        hide = _Hide(run, tokens)
        made = hide.run()
        shown = hide.tables(tables) if tables is not None else None
    except (KeyError, TypeError, ValueError, AttributeError) as e:
        raise Failure(f"the run is damaged: {type(e).__name__} {str(e)[:80]}") from None
    return Hidden(made, shown, tokens, hide.out)
