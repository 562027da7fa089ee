# SPDX-License-Identifier: GPL-2.0-or-later
"""A bundle: what is in it, what is not, and what happens to one that is damaged.

Tests bundle.py, saved/sealed.py, hide/hide.py, tokens.py, sentences.py.
"""

from __future__ import annotations

import copy
import gzip
import json
import os
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from afpscope import Failure, Run
from afpscope.hide import fields
from afpscope.hide.fields import How
from afpscope.hide.hide import _Hide, _program, _spec, hidden
from afpscope.hide.tokens import Tokens, key_of
from afpscope.saved.run import AFP_WORDS
from conftest import DATA, Done, Shelf
from jsonwalk import texts

Execute = Callable[..., Done]
Json = dict[str, Any]
SOURCES = sorted(p.name[:-8] for p in DATA.glob("*.json.gz") if "tables" not in p.name)
KEY = b"k" * 32
SECRET = "Zzq secretname Zzq"


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def saved(source: str) -> tuple[Json, Json | None]:
    tables = DATA / f"{source}.tables.json.gz"
    of = [
        json.loads(gzip.decompress(path.read_bytes())) if path.exists() else None
        for path in (DATA / f"{source}.json.gz", tables)
    ]
    return of[0], of[1]


@pytest.mark.parametrize("source", SOURCES)
def test_figures_and_ledgers_are_those_of_the_run(
    execute: Execute, shelf: Shelf, tmp_path: Path, source: str
) -> None:
    folder, file = shelf.put("run", source), tmp_path / "bundle.json"
    assert execute("bundle", folder, "-o", file).code == 0
    run, made = Run.open(folder), Run.open(file)
    for a, b in zip(run.phases, made.phases, strict=True):
        assert (a.metrics, a.commands, a.rows) == (b.metrics, b.commands, b.rows)
        assert (a.requests, a.outside, a.storage) == (b.requests, b.outside, b.storage)
    assert (
        [n for _, n in run.losses] == [n for _, n in made.losses]
        and run.kind == made.kind
        and run.version == made.version
    )
    assert made.id != run.id and len(made.sessions) == len(run.sessions)
    assert [s.requests for s in run.sessions] == [s.requests for s in made.sessions]


def test_info_and_the_page_are_made_of_it(execute: Execute, shelf: Shelf, tmp_path: Path) -> None:
    folder, file, page = shelf.put("run", "record"), tmp_path / "b.json", tmp_path / "page.html"
    assert execute("bundle", folder, "-o", file).code == 0
    assert execute("info", file).code == execute("info", folder).code
    own = execute("report", folder, "-o", tmp_path / "own.html")
    assert execute("report", file, "-o", page).code == own.code
    assert "bench1" not in page.read_text() and "user-" in page.read_text()
    assert "Outside requests" in page.read_text()  # of its tables


def renamed(value: Any, names: dict[str, str]) -> Any:
    """With other names wherever they stand."""
    text = json.dumps(value)
    for name, other in names.items():
        text = text.replace(json.dumps(name)[1:-1], json.dumps(other)[1:-1])
    return json.loads(text)


@pytest.mark.parametrize("source", SOURCES)
def test_another_name_changes_tokens_and_nothing_else(source: str) -> None:
    """So there is nothing in a bundle by which one name can be told from the other."""
    run, tables = saved(source)
    names = {"bench1": "o'Neil <b>", "vol1": "Größe 2", "127.0.0.1": "10.20.30.40"}

    def made(run: Json, tables: Json | None) -> str:
        of = hidden(run, tables, KEY)
        return re.sub(r"\b[a-z]+-[0-9a-f]{8}(:[0-9a-f]{4})?", "TOKEN",
                      json.dumps([of.run, of.tables]))  # fmt: skip

    assert made(run, tables) == made(*renamed([run, tables], names))


@pytest.mark.parametrize("source", SOURCES)
def test_a_field_that_is_not_listed_is_left_out(source: str) -> None:
    run, tables = saved(source)

    def add(value: Any) -> None:
        if isinstance(value, dict):
            for one in value.values():
                add(one)
            value |= {"new": SECRET, "new_list": [SECRET], "new_object": {"name": SECRET}}
            value[SECRET] = 1
        elif isinstance(value, list):
            for one in value:
                add(one)

    add(run)
    if tables:
        add(tables)
        for section in tables["sections"]:
            section["columns"].append({"name": "new", "head": "new", "unit": None})
            for row in section["rows"]:
                row.setdefault("cells", []).append({"text": SECRET, "value": SECRET})
    # Maps of figures: their keys are formed like ours, and a text is no figure.
    made = hidden(run, tables, KEY)
    assert "Zzq" not in json.dumps([made.run, made.tables])


KEPT = {How.WORD, How.CONSTANT, How.SOURCE, How.TITLE}


@pytest.mark.parametrize("source", ["record", "speedtest", "load"])
@pytest.mark.parametrize(
    "secret", [SECRET, "Zzq", "Zzq, 5 s", "Zzq (12 %)", 'Zzq "\n<b>é', "Zzq: Zzq"]
)
def test_a_name_in_any_text_is_hidden(source: str, secret: str) -> None:
    """Whatever text it stands in, alone or in a sentence: but for those of constants."""
    run, tables = saved(source)

    def put(value: Any, spec: Any) -> Any:
        if isinstance(spec, How):
            if spec in KEPT or not isinstance(value, str):
                return value
            return secret if len(value) % 2 else value + " " + secret
        if isinstance(value, list) and isinstance(spec, list):
            return [put(one, spec[0]) for one in value]
        if isinstance(value, dict) and isinstance(spec, dict | fields.Any):
            return {k: put(v, _spec(spec, k)) for k, v in value.items()}
        return value

    run = {k: put(v, fields.RUN[k]) for k, v in run.items() if k != "id"} | {"id": run["id"]}
    for section in tables["sections"] if tables else ():
        section |= {"title": secret, "about": f"{section['about']} {secret}"}
        section["notes"] += [{"label": secret, "text": secret, "below": True}]
        section["rows"] += [{"text": f"while it waited, {secret}: 5 s"}]
    made = hidden(run, tables, KEY)
    assert "Zzq" not in json.dumps([made.run, made.tables])


def test_advice_with_a_number_of_a_process_is_left_out() -> None:
    """{pid} and {port} stand in advice as figures do, and are none."""
    run, _ = saved("record")
    advice = "if the main process is paused (state T), kill -CONT 5229; else restart the server"
    found = {"key": "stopped", "text": "paused server", "todo": advice, "disproof": "",
             "next": "top -o %CPU", "weight": 0.5, "sure": True}  # fmt: skip
    run |= {"figures": {"mean": {"value": 1.0, "unit": "ns", "who": "5229"}}}
    run |= {"diagnosis": {"verdict": "findings", "text": None, "findings": [found]}}
    made = hidden(run, None, KEY).run
    assert made["diagnosis"]["findings"][0]["todo"] == ""
    assert made["diagnosis"]["findings"][0]["text"] == "paused server"
    assert "5229" not in json.dumps([made["diagnosis"], made["figures"]])


def test_a_process_in_a_table_is_counted() -> None:
    """As the table "Sampled" has it (record --sample)."""
    run, tables = saved("record")
    assert tables
    names = ("afpd 47110", "afpd 47110 (ended)", "afpd 47111", "cnid_dbd", "8 47110", "Zzq 47110")
    tables["sections"] = [
        {
            "key": "series", "title": "Sampled", "about": "", "notes": [],
            "columns": [{"name": "process", "head": "process", "unit": None}],
            "rows": [{"cells": [{"text": name, "value": name}]} for name in names],
        }
    ]  # fmt: skip
    made = hidden(run, tables, KEY)
    assert made.tables
    texts_of = [row["cells"][0]["text"] for row in made.tables["sections"][0]["rows"]]
    assert texts_of[0] + " (ended)" == texts_of[1] != texts_of[2] + " (ended)", texts_of
    assert texts_of[3] == "cnid_dbd"
    assert "4711" not in json.dumps(made.tables) and "Zzq" not in json.dumps(made.tables)


SENTENCES = (
    "{} port 40123 (pid 771)",
    "nobody from {} (pid 771)",
    "{} from 10.11.12.13:40123",
    "requests were refused: {}, 12 %",
    "in that wait cnid_dbd was {} for 12%",
    "{} (4 processes): 27%",
    "pid 771 ({}), user id 7711, effective 7711",
    "{}",
)
UNSEEN = ("10.11.12.13", "192.168.7.7", "zqx", "zqx 12 %", "7711", "fe80::7711", "2026.11", "7.7.1")


def with_few_sentences() -> Json:
    """A run without its own: each is looked for among all that the program can say."""
    run, _ = saved("record")
    return {key: run[key] for key in ("schema", "id", "sessions")}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_name_that_is_in_no_field_is_hidden_in_sentences(sentence: str) -> None:
    run = with_few_sentences()
    for name in UNSEEN:
        text = sentence.format(name)
        run |= {"figures": {"mean": {"value": 1.0, "unit": "ns", "who": text}}}
        run |= {"warnings": [{"key": "server", "text": text}], "absent": {"*": text}}
        made = hidden(run, None, KEY).run
        shown = json.dumps([made["figures"], made["warnings"], made["absent"]])
        for secret in (name, "zqx", "771", "10.11", "40123"):
            assert secret not in re.sub(r"[a-z]+-[0-9a-f]{8}(:[0-9a-f]{4})?", "", shown), shown


@pytest.mark.parametrize(
    "text",
    [
        "last afpd (pid 5): for 600ms at 3.4s of the watch",
        "last afpd (pid 5), in 2 processes: for 600ms at 3.4s of the watch, for 2.5s at 9.1s",
        "last afpd (pid 5), in 3 or more processes: the last ones for 600ms at 3.4s of the watch",
        "the last 4 pauses all of afpd (pid 5): the last ones for 600ms at 3.4s of the watch, "
        "for 2.5s at 9.1s",
        "what cannot be read: encrypted frames, frames of SMB1",
    ],
)
def test_a_sentence_of_the_program_is_kept(text: str) -> None:
    run = with_few_sentences() | {"words": AFP_WORDS}
    run["sessions"][0]["pid"] = 5
    run["figures"] = {"stops": {"value": 4, "unit": "1", "who": text}}
    (made,) = hidden(run, None, KEY).run["figures"].values()
    assert re.sub(r"pid \d+", "pid 5", made["who"]) == text


@pytest.mark.parametrize("disk", ["", *(f" on {name}" for name in (
    "sda", "sdab12", "vda1", "nvme0n1", "nvme12n1p3", "mmcblk0p1", "dm-3", "md127", "dm-0 sda sdb",
))])  # fmt: skip
@pytest.mark.parametrize("files", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "nfs4"])
def test_a_file_system_and_its_disks_are_kept(files: str, disk: str) -> None:
    run = with_few_sentences() | {"server": {"file system": files + disk}}
    assert hidden(run, None, KEY).run["server"]["file system"] == files + disk


@pytest.mark.parametrize("text", ["zqx", "ext4 on zqx", "ext4 on sda zqx", "zqx on sda"])
def test_what_is_no_file_system_or_disk_of_the_kernel_is_hidden(text: str) -> None:
    run = with_few_sentences() | {"server": {"file system": text}}
    assert re.fullmatch(r"text-[0-9a-f]{8}", hidden(run, None, KEY).run["server"]["file system"])


@pytest.mark.parametrize(
    "name", ["disk  12 %", "x\n12 %", "u\x1b; 12 %", "12 %, " * 20, "12 %; 9 ms"]
)
def test_a_name_that_is_written_otherwise_in_sentences_is_hidden(name: str) -> None:
    """With blanks for what a line cannot have, with ? for what a terminal obeys, or cut."""
    run = with_few_sentences()
    run["sessions"][0]["user"] = name
    for written in (name, re.sub(r"\s+", " ", name), re.sub(r"[\x00-\x1f]", "?", name), name[:70]):
        for text in (f"{written} (pid 5)", f"Spent {written}, 5 s", written):
            run |= {"warnings": [{"key": "server", "text": text}]}
            run |= {"figures": {"mean": {"value": 1.0, "unit": "ns", "who": text}}}
            made = hidden(run, None, KEY).run
            assert "12 %" not in json.dumps([made["warnings"], made["figures"]])


# What a name may have that sentences have as well: amounts, phrases, and what parts them. Behind it
# how it is written in a sentence, if that is otherwise.
IN_FIELDS = (
    ("5s", "12h", "1.5", "(disk", "own code"),
    ("Zo\u00eb; own code, 12 %", "Zoe\u0308; own code, 12 %"),
    ("A\u030a. 12.5ms (on a CPU)", "\u00c5. 12.5ms (on a CPU)"),
    ("Zz\ufffd: run queue", "Zz?: run queue"),
    ("fe80::1%own, 99 %",),
    ("a b\twaiting for files, 5 s", "a b waiting for files, 5 s"),
)
PIECES = (
    "5s", "12h", "1.5", "disk", "own code", "12 %", "run queue", "12.5ms", "on a CPU", "99 %",
    "waiting for files", "5 s", "own",
)  # fmt: skip


def filled(sentence: str, name: str) -> Iterator[str]:
    """With the name at each place of it that parts from the text around it, and figures at all
    others."""
    sentence = re.sub(r"[\[\]]", "", sentence)
    for place in re.finditer(r"(?<![\w}]){(?!n\d)[^{}]*(?<!\.s)}(?![\w{])", sentence):
        before, after = (
            re.sub(r"{[^{}]*}", lambda m: "s" if m[0].endswith(".s}") else "7", text)
            for text in (sentence[: place.start()], sentence[place.end() :])
        )
        yield before + name + after


def test_a_name_of_a_field_is_hidden_in_each_sentence_of_the_program() -> None:
    """Wherever it stands in it, as it is or as a terminal is shown it."""
    run = with_few_sentences()
    named = [{"user": names[0]} for names in IN_FIELDS] + [{"user": n} for n in IN_FIELDS[0]]
    run["sessions"] = [run["sessions"][0] | one for one in named]
    hide, other = _Hide(run, Tokens(KEY)), _Hide(with_few_sentences(), Tokens(KEY))
    sentences = [s.english for s in _program()[0]._sentences]
    assert len(sentences) > 500
    for sentence in sentences:
        for place, plain in enumerate(filled(sentence, "Qqqq")):
            without = other._said(plain)
            for name in (name for names in IN_FIELDS for name in names):
                said = hide._said([*filled(sentence, name)][place])
                told = [p for p in PIECES if p in name and said.count(p) > without.count(p)]
                assert not told, (sentence, said, without)


def test_a_path_of_a_field_that_is_left_out_is_hidden_in_sentences() -> None:
    run = with_few_sentences()
    path = "/srv/zz, own code; 12 %"
    text = f"cannot read {path}: Permission denied"
    run |= {"options": {"directory": path}, "warnings": [{"key": "server", "text": text}]}
    shown = json.dumps(hidden(run, None, KEY).run)
    assert "own code" not in shown and "12 %" not in shown and "zz" not in shown


NAMES = ("afpd", "queue", "5000", "FPRead", "100 %", "12.5ms", "run queue", "disk", "a", "'", "\n")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_like_a_word_of_ours_has_a_token_where_it_is_a_name(name: str) -> None:
    run, tables = saved("record")
    run, tables = renamed([run, tables], {"bench1": "\0user"})
    text = json.dumps([run, tables]).replace("\\u0000user", json.dumps(name)[1:-1])
    run, tables = json.loads(text)
    made = hidden(run, tables, KEY)
    users = {s["user"] for s in made.run["sessions"]}
    assert name not in users and all(re.fullmatch(r"user-[0-9a-f]{8}", u) for u in users if u)
    assert made.tables
    (table,) = (s for s in made.tables["sections"] if s["key"] == "sessions")
    (at,) = (i for i, c in enumerate(table["columns"]) if c["name"] == "user")
    shown = {r["cells"][at]["text"] for r in table["rows"]}
    assert all(re.fullmatch(r"user-[0-9a-f]{8}|n/a", text) for text in shown)


def test_the_same_name_has_the_same_token_in_one_bundle_only(shelf: Shelf) -> None:
    tokens = []
    for name in ("one", "two"):
        run, _ = saved("record")
        run["id"] = Run.open(shelf.put(name, "record")).id
        users = {s["user"] for s in hidden(run, None, key_of(run["id"])).run["sessions"]}
        assert len(users) == len({s["user"] for s in run["sessions"]})
        tokens.append(users)
        assert users == {s["user"] for s in hidden(run, None, key_of(run["id"])).run["sessions"]}
    assert not (tokens[0] & tokens[1]) - {None}


def test_the_key_is_kept_for_its_owner(shelf: Shelf, execute: Execute, tmp_path: Path) -> None:
    folder = shelf.put("run", "record")
    assert execute("bundle", folder, "-o", tmp_path / "b.json").code == 0
    key = tmp_path / "state/afpscope/keys" / Run.open(folder).id
    assert key.stat().st_mode & 0o777 == 0o600 and key.parent.stat().st_mode & 0o777 == 0o700
    before = (tmp_path / "b.json").read_bytes()
    assert execute("bundle", folder, "-o", tmp_path / "b.json").code == 0
    assert (tmp_path / "b.json").read_bytes() == before
    key.write_bytes(b"short")
    assert execute("bundle", folder, "-o", tmp_path / "b.json").code == 1
    with pytest.raises(Failure):
        key_of("../../etc/passwd")


def test_names_are_told_at_home(shelf: Shelf, execute: Execute, tmp_path: Path) -> None:
    folder, file = shelf.put("run", "record"), tmp_path / "b.json"
    assert execute("bundle", folder, "-o", file).code == 0
    user = next(s.user for s in Run.open(file).sessions if s.user)
    name = next(s.user for s in Run.open(folder).sessions if s.user)
    told = execute("bundle", folder, "--names")
    assert told.code == 0 and re.search(rf"^{user} +{name}$", told.out, re.M)
    for args in ((file, "--names"), (file, "-o", tmp_path / "c.json"), (file,),
                 (folder, "--names", "--show")):  # fmt: skip
        assert execute("bundle", *args).code == 2


@pytest.mark.parametrize("source", ["record", "load"])
def test_all_that_is_in_it_is_shown(
    shelf: Shelf, execute: Execute, tmp_path: Path, source: str
) -> None:
    folder, file = shelf.put("run", source), tmp_path / "b.json"
    assert execute("bundle", folder, "-o", file).code == 0
    shown = execute("bundle", folder, "--show")
    assert shown.out == execute("bundle", file, "--show").out and shown.code == 0
    assert not (tmp_path / "bundle.json").exists()
    value = json.loads(file.read_text())
    out = " ".join(shown.out.split())
    lines = {line for text in texts(value) for line in text.split("\n")}
    assert not [line for line in lines if " ".join(line.split()) not in out]
    numbers = {n for n in re.findall(r"\d+", json.dumps(value)) if len(n) > 5}
    assert not numbers - {*re.findall(r"\d+", shown.out)}


def damaged(raw: bytes) -> Iterator[bytes]:
    at = random.Random(5)
    for _ in range(20):
        i, bit = at.randrange(len(raw)), at.randrange(8)
        yield raw[:i] + bytes([raw[i] ^ 1 << bit]) + raw[i + 1 :]
    for n in (0, 1, 12, 100, len(raw) // 2, len(raw) - 30, len(raw) - 1):
        yield raw[:n]
    yield raw[:12] + b"\0" + raw[13:]
    yield raw + b"x"
    for i in range(14):  # also where the checksum itself stands, and the head
        yield raw[: -i - 1] + bytes([raw[-i - 1] ^ 4]) + raw[len(raw) - i :]
        yield raw[:i] + bytes([raw[i] ^ 4]) + raw[i + 1 :]


def test_a_damaged_bundle_is_refused(shelf: Shelf, execute: Execute, tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    assert execute("bundle", shelf.put("run", "lantest-1"), "-o", file).code == 0
    for i, raw in enumerate(damaged(file.read_bytes())):
        bad = tmp_path / "bad.json"
        bad.write_bytes(raw)
        for command, *more in (("info",), ("bundle", "--show")):
            done = execute(command, bad, *more)
            assert (done.code, len(done.err.splitlines())) == (1, 1), (i, done)


def test_what_is_no_bundle_is_refused(shelf: Shelf, execute: Execute, tmp_path: Path) -> None:
    made = shelf.put("run", "lantest-1")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "no.json").write_text('{"a": 1}')
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(2 << 30)
    for name in ("pipe", "no.json", "huge.json"):
        for command in ("bundle", "report", "info"):
            done = execute(command, tmp_path / name)
            assert (done.code, len(done.err.splitlines())) == (1, 1), (command, name, done)
    assert execute("bundle", tmp_path / "missing.json").code == 2
    (made / "tables.json").write_text('{"run": "0"}')
    assert execute("bundle", made, "-o", tmp_path / "b.json").code == 1
    assert not (tmp_path / "b.json").exists()


def test_damaged_tables_give_a_message(shelf: Shelf, execute: Execute, tmp_path: Path) -> None:
    def broken(value: Json) -> None:
        value["sections"][0] = copy.deepcopy(value["sections"][0]) | {"rows": [{"cells": [1]}]}

    folder = shelf.put("run", "record", tables=broken)
    done = execute("bundle", folder, "-o", tmp_path / "b.json")
    assert (done.code, len(done.err.splitlines())) == (1, 1), done
