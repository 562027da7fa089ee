# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the metadata of a CTF 1.8 trace: the part of TSDL that fixed-size records need.

Integers, enums, structs, arrays of fixed length, aliases. What makes a record's size depend
on its content (strings, sequences, variants) is refused. Nothing is evaluated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn

from ..errors import Failure

TEXT_MAX = 1 << 22
DEPTH_MAX = 16
FIELDS_MAX = 1024
WORDS_MAX = 4
LABELS_MAX = 1 << 16

_SPACE = r"(?:\s++|/\*.*?\*/|//[^\n]*+)*+"
_BEGIN = re.compile(_SPACE, re.S)
_TOKEN = re.compile(
    r"""(?: (?P<text>"(?:[^"\\\n]|\\.)*")
          | (?P<number>[+-]?(?:0[xX][0-9a-fA-F]+|\d+))
          | (?P<word>[A-Za-z_]\w*)
          | (?P<mark>:=|\.\.\.|[{}\[\]();:,=.<>]) )"""
    + _SPACE,
    re.X | re.S,
)


@dataclass(frozen=True)
class Integer:
    """Sizes and alignments in bits. `text`: a character; arrays of them are texts."""

    size: int
    align: int
    signed: bool
    little: bool
    labels: dict[int, str] = field(default_factory=dict)
    text: bool = False


@dataclass(frozen=True)
class Array:
    of: Type
    length: int


@dataclass(frozen=True)
class Struct:
    members: tuple[tuple[str, Type], ...]
    align: int = 1


Type = Integer | Array | Struct


@dataclass
class Block:
    """trace, stream, event, clock, env: their assignments, by dotted key."""

    values: dict[str, str | int] = field(default_factory=dict)
    types: dict[str, Type] = field(default_factory=dict)


@dataclass
class Metadata:
    trace: Block = field(default_factory=Block)
    streams: dict[int, Block] = field(default_factory=dict)
    events: list[Block] = field(default_factory=list)
    clocks: list[Block] = field(default_factory=list)
    env: Block = field(default_factory=Block)


def _number(text: str) -> int:
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-")
    if len(digits) > 24:
        raise Failure(f"metadata: the number {digits[:24]}... is too long")
    if digits[:2] in ("0x", "0X"):
        return sign * int(digits, 16)
    octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
    try:
        return sign * int(digits, 8 if octal else 10)
    except ValueError:
        raise Failure(f"metadata: {digits} is not a number") from None


def _tokens(text: str) -> list[tuple[str, str, int]]:
    out: list[tuple[str, str, int]] = []
    begin = _BEGIN.match(text)
    at = begin.end() if begin else 0
    while at < len(text):
        m = _TOKEN.match(text, at)
        if not m:
            line = text.count("\n", 0, at) + 1
            raise Failure(f"metadata line {line}: {text[at : at + 20]!r} is not TSDL")
        kind = m.lastgroup or ""
        out.append((kind, m[kind], at))
        at = m.end()
    out.append(("end", "", len(text)))
    return out


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.at = 0
        self.depth = 0
        self.named: dict[str, Type] = {}
        self.little = True
        self.out = Metadata()

    def fail(self, wanted: str) -> NoReturn:
        _, got, at = self.tokens[self.at]
        line = self.text.count("\n", 0, at) + 1
        raise Failure(f"metadata line {line}: {got[:40]!r} instead of {wanted}")

    def peek(self) -> str:
        return self.tokens[self.at][1]

    def kind(self) -> str:
        return self.tokens[self.at][0]

    def next(self) -> str:
        token = self.tokens[self.at][1]
        if self.kind() != "end":
            self.at += 1
        return token

    def take(self, token: str) -> bool:
        kind, got, _ = self.tokens[self.at]
        if got == token and kind != "text":
            self.at += 1
            return True
        return False

    def need(self, token: str) -> None:
        if not self.take(token):
            self.fail(repr(token))

    def word(self) -> str:
        if self.kind() != "word":
            self.fail("a name")
        return self.next()

    def number(self) -> int:
        if self.kind() != "number":
            self.fail("a number")
        return _number(self.next())

    # Types

    def type_(self) -> Type:
        """A type, by its definition or by its name."""
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise Failure(f"metadata: types are nested more than {DEPTH_MAX} deep")
        made: Type
        if self.take("integer"):
            made = self.integer()
        elif self.take("struct"):
            made = self.struct()
        elif self.take("enum"):
            made = self.enum()
        else:
            made = self.by_name()
        self.depth -= 1
        return made

    def by_name(self) -> Type:
        """The longest sequence of words that names a type: "unsigned long"."""
        start = self.at
        while self.kind() == "word" and self.at - start < WORDS_MAX:
            self.next()
        for end in range(self.at, start, -1):
            name = " ".join(t[1] for t in self.tokens[start:end])
            if name in self.named:
                self.at = end
                return self.named[name]
        self.at = start
        self.fail("a type of fixed size")

    def integer(self) -> Integer:
        got: dict[str, str] = {}
        self.need("{")
        while not self.take("}"):
            key = self.word()
            self.need("=")
            value = self.next()
            while self.take("."):
                value += "." + self.word()
            got[key] = value
            self.need(";")
        size = self.setting(got, "size", 0)
        align = self.setting(got, "align", 8 if size % 8 == 0 else 1)
        if size not in (8, 16, 32, 64) or align not in (1, 2, 4, 8, 16, 32, 64):
            raise Failure(f"metadata: an integer of {size} bits aligned to {align}: not supported")
        order = got.get("byte_order", "native")
        little = self.little if order == "native" else order == "le"
        signed = got.get("signed") in ("1", "true", "TRUE")
        text = size == 8 and got.get("encoding", "none") != "none"
        return Integer(size, max(align, 8), signed, little, text=text)

    @staticmethod
    def setting(got: dict[str, str], key: str, default: int) -> int:
        text = got.get(key)
        if text is None:
            return default
        if not text.isdigit():
            raise Failure(f"metadata: {key} = {text[:40]} is not a number")
        return _number(text)

    def struct(self) -> Struct:
        name = self.word() if self.kind() == "word" and self.peek() != "align" else ""
        if not self.take("{"):
            known = self.named.get(f"struct {name}")
            if not isinstance(known, Struct):
                self.fail(f"the body of struct {name}")
            return known
        members: list[tuple[str, Type]] = []
        while not self.take("}"):
            if self.take("typealias"):
                self.alias()
                continue
            of = self.type_()
            members.append(self.member(of))
            while self.take(","):
                members.append(self.member(of))
            self.need(";")
            if len(members) > FIELDS_MAX:
                raise Failure(f"metadata: a struct of more than {FIELDS_MAX} fields")
        align = 1
        if self.take("align"):
            self.need("(")
            align = self.number()
            self.need(")")
            if align not in (1, 2, 4, 8, 16, 32, 64):
                raise Failure(f"metadata: a struct aligned to {align} bits: not supported")
        made = Struct(tuple(members), align)
        if name:
            self.named[f"struct {name}"] = made
        return made

    def member(self, of: Type) -> tuple[str, Type]:
        name = self.word()
        while self.take("["):
            length = self.number()
            self.need("]")
            if not 0 < length <= 4096:
                raise Failure(f"metadata: {name} has {length} elements: not supported")
            of = Array(of, length)
        return name.removeprefix("_"), of

    def enum(self) -> Integer:
        name = self.word() if self.kind() == "word" else ""
        if not self.take(":") and self.peek() != "{":
            known = self.named.get(f"enum {name}")
            if not isinstance(known, Integer):
                self.fail(f"the body of enum {name}")
            return known
        base = self.named.get("int") if self.peek() == "{" else self.type_()
        if not isinstance(base, Integer):
            self.fail("the integer type of an enum")
        labels = self.labels()
        made = Integer(base.size, base.align, base.signed, base.little, labels)
        if name:
            self.named[f"enum {name}"] = made
        return made

    def labels(self) -> dict[int, str]:
        self.need("{")
        out: dict[int, str] = {}
        value = 0
        while not self.take("}"):
            label = self.string() if self.kind() == "text" else self.word()
            first = last = value
            if self.take("="):
                first = last = self.number()
                if self.take("..."):
                    last = self.number()
            if not 0 <= last - first < LABELS_MAX or len(out) > LABELS_MAX:
                raise Failure(f"metadata: the enum's range of {label!r} is too wide")
            out.update((v, label) for v in range(first, last + 1) if v not in out)
            value = last + 1
            if not self.take(",") and self.peek() != "}":
                self.fail("',' or '}'")
        return out

    def string(self) -> str:
        return re.sub(r"\\(.)", r"\1", self.next()[1:-1])

    def alias(self) -> None:
        of = self.type_()
        self.need(":=")
        words = [self.word()]
        while self.kind() == "word":
            words.append(self.word())
        self.named[" ".join(words)] = of
        self.need(";")

    # Blocks

    def block(self) -> Block:
        out = Block()
        self.need("{")
        while not self.take("}"):
            if self.take("typealias"):
                self.alias()
                continue
            key = self.word()
            while self.take("."):
                key += "." + self.word()
            if self.take(":="):
                out.types[key] = self.type_()
            else:
                self.need("=")
                out.values[key] = self.value()
                if key == "byte_order":
                    self.little = out.values[key] in ("le", "native")
            self.need(";")
        return out

    def value(self) -> str | int:
        if self.kind() == "number":
            return _number(self.next())
        if self.kind() == "text":
            return self.string()
        out = self.word()
        while self.take("."):
            out += "." + self.word()
        return out

    def keep(self, kind: str) -> None:
        block = self.block()
        if kind == "trace":
            self.out.trace = block
        elif kind == "env":
            self.out.env = block
        elif kind == "clock":
            self.out.clocks.append(block)
        elif kind == "event":
            self.out.events.append(block)
        else:
            number = block.values.get("id", 0)
            if not isinstance(number, int) or number in self.out.streams:
                raise Failure(f"metadata: stream id {number!r} is not a number, or a duplicate")
            self.out.streams[number] = block

    def statement(self) -> None:
        if self.take("typealias"):
            self.alias()
        elif self.peek() in ("struct", "enum"):
            self.type_()
            self.need(";")
        elif self.peek() in ("trace", "env", "clock", "event", "stream"):
            self.keep(self.next())
            self.need(";")
        else:
            self.fail("typealias, struct, enum, trace, env, clock, stream or event")


def parse(text: str) -> Metadata:
    """What `text` declares. Failure, with the line, if it is not supported."""
    if len(text) > TEXT_MAX:
        raise Failure(f"metadata: longer than {TEXT_MAX} characters")
    parser = _Parser(text)
    while parser.kind() != "end":
        parser.statement()
    return parser.out
