# SPDX-License-Identifier: GPL-2.0-or-later
"""The list of what goes into a bundle has every field that the program writes: a new one fails here
until somebody has said what becomes of it. Tests hide/fields.py."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from afpscope.hide import fields
from afpscope.hide.fields import Any, How, Spec
from afpscope.hide.hide import MIXES, hidden
from conftest import DATA

TOP = Path(__file__).parents[2]
JSON = TOP / "user/report/json"
KEY = re.compile(r'json_put\(d, \w+,\s*(?:[^"();]* \? )?"(\w+)"(?: : "(\w+)")?')
# Where run.json has notes by key, and what the program calls them.
NOTE = re.compile(
    r'run_note\(\s*(o|sv|to|notes|&\w+->(?:run\.)?(?:options|server|environment)), "([^"]+)"'
)
COLUMN = re.compile(r'\{\s*\.head = ((?:"[^"]*"|GLUE|\s)+)([^{}]*)\}')


def keys(spec: Spec) -> Iterator[str]:
    if isinstance(spec, Any):
        yield from keys(spec.value)
        yield from (key for key, one in spec.known.items() for key in (key, *keys(one)))
    elif isinstance(spec, list):
        yield from keys(spec[0])
    elif isinstance(spec, dict):
        for key, one in spec.items():
            yield key
            yield from keys(one)


def sources(*folders: str) -> Iterator[str]:
    for folder in folders:
        for path in sorted((TOP / folder).rglob("*.c")):
            yield path.read_text()


def test_every_member_of_a_run_has_a_treatment() -> None:
    texts = [path.read_text() for path in JSON.glob("*.c") if path.name != "tables.c"]
    written = {key for text in texts for pair in KEY.findall(text) for key in pair if key}
    figures = re.findall(r'X\(\w+, \w+, "(\w+)"', (TOP / "user/run/load.h").read_text())
    below = re.findall(r"X\(([a-z_]+), [A-Z]+, [A-Z]+,", (TOP / "bpf/storage.h").read_text())
    words = re.findall(r'X\([A-Z]+, "(\w+)", ', (TOP / "user/run/kind.h").read_text())
    assert len(written) > 200 and figures and below and len(words) > 5
    assert not {*written, *figures, *below, *words} - set(keys(fields.RUN))


def test_every_note_has_a_treatment() -> None:
    notes = {key for text in sources("user") for _, key in NOTE.findall(text)}
    known = {*fields.OPTIONS, *fields.SERVER, *fields.RUN["environment"]}
    assert len(notes) > 60
    assert not notes - known


def test_every_column_has_a_treatment() -> None:
    rows = (TOP / "user/run/run.h").read_text().split("#define RUN_METRICS(X)")[1]
    metrics = re.findall(r'X\([A-Z_0-9]+,\s+"(\w+)",', rows.split("\nenum ")[0])
    assert len(metrics) > 20
    known = {*fields.COUNTS, *fields.TEXTS, *fields.AMOUNTS, *metrics}
    found = set()
    for text in sources("user/report"):
        for head, more in COLUMN.findall(text):
            plain = "".join(a or " " for a in re.findall(r'"([^"]*)"|GLUE', head))
            name = re.search(r'\.name = "([^"]*)"', more)
            found.add(name[1] if name else re.sub(r"[^a-z0-9]", "_", plain.lower()))
    assert len(found) > 60
    assert not found - known


@pytest.mark.parametrize("source", sorted(p.name[:-8] for p in DATA.glob("*.json.gz")
                                          if "tables" not in p.name))  # fmt: skip
def test_of_a_real_run_only_what_is_said_is_left_out(source: str) -> None:
    run = json.loads(gzip.decompress((DATA / f"{source}.json.gz").read_bytes()))
    saved = DATA / f"{source}.tables.json.gz"
    tables = json.loads(gzip.decompress(saved.read_bytes())) if saved.exists() else None
    made = hidden(run, tables, b"k" * 32)
    listed = {
        f"run.{name}.{key}"
        for name, spec in fields.RUN.items()
        for key, how in (spec.items() if isinstance(spec, dict) else ())
        if how is How.OUT
    }
    assert set(made.out) <= {*listed, "run.labels", "run.rungs"}


def test_the_mixes_that_may_be_named_are_those_of_the_program() -> None:
    text = (TOP / "client/work/mix/mix.c").read_text()
    assert set(MIXES) == set(re.findall(r'\{ "(\w+)", "\[mix\]', text))
