# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogues of po/: what they translate, and that no option or number is lost on the way;
and the fonts of figures.
"""

from __future__ import annotations

import gettext
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import translations
from afpscope import catalogue, errors, words
from afpscope.catalogue import Message
from afpscope.saved.sections import Cell, Column, Row, Section
from afpscope.told import HEAD, PROGRAM, Told
from conftest import Done, Shelf

ROOT = Path(__file__).resolve().parents[2]
REPORT = ROOT / "po/report.ja.po"
MANUAL = ROOT / "po/man.ja.po"
OPTION = re.compile(r"(?<![\w/-])--?[A-Za-z0-9][\w-]*")
NUMBER = re.compile(r"(?<![\w.,])\d[\d,.]*\d|(?<![\w.,])\d")
FIELD = re.compile(r"\{[^{}]*\}")
PLURAL = re.compile(r"\{[^{}]*\.s\}")  # the "s" of one
BOLD = re.compile(r"B<(?:[^<>]|E<[a-z]+>)*>")
FILE = re.compile(r"[\w-]+\.(?:md|json|ini|conf|html|yml|1)\b")


def translated(po: Path) -> list[Message]:
    return [m for m in catalogue.read(po) if m.text and m.translation]


def lost(pattern: re.Pattern[str], m: Message) -> set[str]:
    return set(pattern.findall(m.text)) - set(pattern.findall(m.translation))


def invented(pattern: re.Pattern[str], m: Message) -> set[str]:
    return set(pattern.findall(m.translation)) - set(pattern.findall(m.text))


def test_every_sentence_of_the_report_is_translated() -> None:
    done = {m.key for m in translated(REPORT)}
    wanted = translations.report_sentences()
    assert {m.context for m in wanted} >= {PROGRAM, HEAD, *(m.context for m in words.messages())}
    assert len(wanted) > 600
    assert [m for m in wanted if m.key not in done] == []
    assert done == {m.key for m in wanted}, "sentences that the program no longer has"


def test_a_translation_of_the_report_has_the_figures_of_its_sentence() -> None:
    """The server's names may be others: Japanese says what it is asked for, not what answers."""
    names = {"{server}", "{helper}", "{backend}", "{asked}", "{database}"}
    names |= {m for text in translated(REPORT) for m in PLURAL.findall(text.text)}
    wrong = {
        m.text: (lost(FIELD, m) - names, invented(FIELD, m) - names) for m in translated(REPORT)
    }
    assert {k: v for k, v in wrong.items() if v[0] or v[1]} == {}


@pytest.mark.parametrize("pattern", [OPTION, NUMBER, FILE, BOLD])
def test_a_translation_of_a_page_keeps_options_numbers_and_names(pattern: re.Pattern[str]) -> None:
    pages = translated(MANUAL)
    assert sum(bool(pattern.search(m.text)) for m in pages) > 50
    prose = {"B<at least>", "B<Servers over Rx>"}  # bold for its weight, not as a name
    wrong = [(lost(pattern, m) - prose, m.text) for m in pages if lost(pattern, m) - prose]
    assert wrong == []
    if pattern is not NUMBER and pattern is not BOLD:  # numbers in words become figures
        assert [(invented(pattern, m), m.text) for m in pages if invented(pattern, m)] == []


def test_pages_are_japanese_and_not_copies() -> None:
    """A sentence of several words that stands unchanged is an example, a name, or forgotten."""
    kana = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
    prose = [m for m in translated(MANUAL) if re.search(r"[a-z]{3,} (?:[a-z]{2,} ){3,}", m.text)]
    assert len(prose) > 400
    copied = [m.text for m in prose if not kana.search(m.translation)]
    examples = ("afpscope ", "$ ", "sudo ", "GFAPI_", "afpd, process", "20:15:07", "begin ")
    assert [t for t in copied if not t.startswith(examples)] == []


def filled(text: str, known: bool) -> str:
    """As the program does it: each figure a word of its own, "who" a list; or what is in brackets
    not known."""

    def value(m: re.Match[str]) -> str:
        if m[1].endswith(".s"):
            return ""
        if re.fullmatch(r"n\d+|server|helper", m[1]):
            return m[1] if m[1][0] != "n" else m[1][1:]
        return f"<{m[1]}>" + ", x" * m[1].endswith(".who")

    text = re.sub(r"\[([^\[\]]*)\]", r"\1" if known else "", text)
    return re.sub(r"\{([^{}]*)\}", value, text)


@pytest.mark.parametrize("known", [True, False])
def test_each_sentence_of_the_program_is_told_by_its_own_translation(known: bool) -> None:
    ours = [m for m in translated(REPORT) if m.context == PROGRAM]
    told = Told((m.text, m.translation) for m in ours)
    assert len(ours) > 200
    wrong = {m.text for m in ours if told(filled(m.text, known)) != filled(m.translation, known)}
    assert wrong == set()


def test_a_sentence_that_no_catalogue_has_stays_as_it_is() -> None:
    told = Told([("{a} of {b}[, {c}]", "{b} 中 {a}[ ({c})]")])
    assert told("1 of 2") == "2 中 1"
    assert told("1 of 2, x") == "2 中 1 (x)"
    assert told("1 in 2") == "1 in 2"


def test_a_line_of_several_sentences_is_told_part_by_part() -> None:
    told = Told(
        [
            ("{s1} in {s2} requests", "{s2} 要求に {s1}"),
            ("waiting for a CPU", "CPU 待ち"),
            ("{s1} was {s2} for {n3}%", "{s1} は{s2} {n3}%"),
            ("in fsync", "fsync 中"),
            ("{s1} for {n2}%", "{s1} {n2}%"),
            ("{s1} {s2}{s3.s} of {s4} bytes", "{s4} バイトの {s2} を {s1} 回"),
            ("and 1 that finds the end", "末尾を見つけるもの 1 回"),
            ("only one session was watched", "セッションは 1 つだけ"),
            ("lost: {s1}", "失われた: {s1}"),
        ],
        [("run queue", "CPU 待ち"), ("no such object", "オブジェクトはない")],
    )
    assert told("1.2 s in 40 requests: run queue 30.5 %") == "40 要求に 1.2 s: CPU 待ち 30.5 %"
    waits = "cnid_dbd was waiting for a CPU for 80%, in fsync for 11%"
    assert told(waits) == "cnid_dbd はCPU 待ち 80%, fsync 中 11%"
    assert told("2 reads of 8 bytes and 1 that finds the end") == (
        "8 バイトの read を 2 回 末尾を見つけるもの 1 回"
    )
    assert told("A, B (only one session was watched)") == "A, B (セッションは 1 つだけ)"
    assert (
        told("FPDelete: -5018 no such object × 937") == "FPDelete: -5018 オブジェクトはない × 937"
    )
    assert told("lost: anna, who is in fsync") == "失われた: anna, who is in fsync"
    assert told("run queue\nrun queue 1 s") == "CPU 待ち\nCPU 待ち 1 s"
    assert told("runs of the queue, x") == "runs of the queue, x"


def ways_of_waiting() -> list[str]:
    source = (ROOT / "user/doctor/figures/waits.c").read_text()
    return re.findall(r'\[AFS_INSIDE_[A-Z]+\] = "([^"]+)"', source)


def test_what_the_cnid_server_did_is_told_whole_for_each_two_ways() -> None:
    told = words.Words("ja", {}).told
    ways = ways_of_waiting()
    assert len(ways) > 6
    said = [f"cnid_dbd was {a} for 56%, {b} for 44%" for a in ways for b in ways if a != b]
    left = {text: told(text) for text in said if re.search(" (?:for|was) ", told(text))}
    assert not left


def test_a_row_outside_requests_is_told_and_the_names_of_others_stay() -> None:
    rows = tuple(Row(None, (Cell(x, x, None),), "") for x in ("outside requests", "FPOpenFork"))
    below = Section("below", "", "", (Column("command", "command", None),), rows, ())
    made = words.Words("ja", {}).section(below).rows
    assert [r.cells[0].text for r in made] == ["要求の外", "FPOpenFork"]


@pytest.mark.parametrize(
    "line",
    [
        "Limit rate>=100000: NOT KEPT, it was 6975/s, 93025/s too few",
        "Limit p99<=50ms: CANNOT TELL, it was 8.98ms, but 3 of 7 sessions were lost",
        "Limit p99<=50ms: NOT KEPT, it was >= 80.0ms of the others, at least 30.0ms too long",
        "afpd waited for its CNID server: 46% of all request time (474 ms); in that wait cnid_dbd"
        " was waiting for a CPU for 78%, on a CPU for 22%",
        "Limit probe.max<=1s: CANNOT TELL, it was 234us, but a thread of the load generator ran, or"
        " waited for a CPU, 94% of the time",
        "Below the system calls: n/a (for the same reason)",
        "no right to see which process serves the connection (its user id is 0): run as root, or"
        " with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH",
        "bash (5 processes): 26%",
        "the server's threads wait for a CPU 75% of the time in which they could work, and calls"
        " with them 40% of their time at most; other programs use 69% of the CPUs that the server"
        " may use, most of all bash (5 processes): 42%; likely",
        "requests waited for a CPU 96% of their time while other programs used 95% of the CPUs that"
        " the server may use, most of all bash (pid 7): 62%; sure",
        "requests waited for a CPU 96% of their time while other programs used 95% of the CPUs that"
        " the server may use, most of all bash (pid 7): 62%; the requests lay unread for 16% of"
        " their time; sure",
        "the CNID server was paused by a signal or a debugger while afpd waited for it: 83% of all"
        " request time; paused 4 times, last cnid_dbd (pid 18388): for 600ms at 1.2s of the watch,"
        " for 710ms at 3.0s, for 700ms at 5.2s, for 650ms at 7.7s; sure",
        "requests waited for files and disks for 96% of all request time (fsync alone 76%); loop0"
        " (volume CNID) was busy 94% of the time, an access took 147ms on average; likely",
        "FPRead, AFP error -5000",
        "no CNID process: the volume's CNID backend runs inside afpd",
        "rank 2 (host, process 33) was lost 2.1 s after the start: it died; what its 5 clients did"
        " is not in the figures",
        "only one session was watched",
        "the server's cgroup was not found",
        "Nothing wrong was seen with the server: 40 requests took 358us on average, the longest 4ms"
        " (FPRead), on average 0.5 at a time. Whether something else is wrong cannot be told: limit"
        " of sessions, retransmissions and 2 more could not be seen.",
    ],
)
def test_a_line_of_the_program_keeps_no_english_but_names(line: str) -> None:
    names = (
        r"CAP_\w+|root|ID|pid|n/a|cnid_dbd|afpd|bash|FPRead|AFP|CNID|CPU|host|cgroup|fsync|loop0"
    )
    names += r"|p99|probe.max|rate|[mu]s\b|/s\b"
    left = re.sub(names, "", words.Words("ja").told(line))
    assert not re.search(r"[A-Za-z]{2}", left), left


def test_a_page_says_what_the_program_found_and_heads_of_tables_in_japanese(
    shelf: Shelf, tmp_path: Path, execute: Callable[..., Done]
) -> None:
    done = execute("report", shelf.put("a", "load"), "-o", tmp_path / "r.html", "--lang", "ja")
    text = (tmp_path / "r.html").read_text()
    assert done.code == 0
    assert "afpd は CNID サーバーを待った: 全要求時間の 69% (11.1" in text
    assert "waited for its CNID server" not in text
    heads = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', text)
    assert {"要求", "平均", "最大", "時間%"} <= {*heads}
    assert not {"requests", "mean", "max", "time%", "run queue"} & {*heads}
    assert "Causes that doctor looked for" not in text


def test_a_catalogue_is_compiled_as_gettext_reads_it() -> None:
    found = catalogue.read(REPORT)
    ours = gettext.GNUTranslations(io.BytesIO(catalogue.compiled(found)))
    for m in translated(REPORT):
        assert ours.pgettext(m.context, m.text) == m.translation


def test_a_catalogue_is_compiled_as_msgfmt_does(tmp_path: Path) -> None:
    msgfmt = shutil.which("msgfmt")
    if msgfmt is None:
        pytest.skip("msgfmt is not installed")
    subprocess.run([msgfmt, "-c", "-o", tmp_path / "theirs.mo", REPORT], check=True)
    assert catalogue.main([str(REPORT), str(tmp_path / "ours.mo")]) == 0
    both = []
    for name in ("ours.mo", "theirs.mo"):
        with (tmp_path / name).open("rb") as file:
            both.append(gettext.GNUTranslations(file)._catalog)  # type: ignore[attr-defined]
    assert both[0] == both[1]


def test_fuzzy_and_changed_sentences_are_untranslated(tmp_path: Path) -> None:
    po = tmp_path / "a.po"
    po.write_text(
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
        '#, fuzzy\nmsgid "old"\nmsgstr "x"\n\n'
        'msgctxt "k"\nmsgid ""\n"a "\n"b"\nmsgstr "\\"c\\"\\n"\n'
    )
    assert catalogue.read(po)[1:] == [Message("", "old", ""), Message("k", "a b", '"c"\n')]


def test_a_file_that_is_no_catalogue_is_refused(tmp_path: Path) -> None:
    po = tmp_path / "a.po"
    po.write_text('msgid "a"\nmsgstr oops\n')
    with pytest.raises(errors.Failure, match="no line of a catalogue: msgstr oops"):
        catalogue.read(po)


def tree_with(tmp_path: Path, english: str, changed: str) -> Path:
    """A copy of what the check needs, in which a sentence of a page is another one."""
    for name in ("analysis/afpscope", "bpf", "po", "user"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "tests").mkdir()
    for name in ("translations.py", "written.py"):
        shutil.copy2(ROOT / "tests" / name, tmp_path / "tests")
    (tmp_path / "build/man").mkdir(parents=True)
    page = (ROOT / "docs/afpscope-ab.1").read_text()
    assert page.count(english) == 1
    (tmp_path / "build/man/afpscope-ab.1").write_text(page.replace(english, changed))
    return tmp_path


def check(tree: Path, *options: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k != "BUILD"}
    line = [sys.executable, "-B", str(tree / "tests/translations.py"), *options]
    return subprocess.run(line, capture_output=True, text=True, env=env, check=False, timeout=120)


@pytest.mark.skipif(not shutil.which("po4a-updatepo"), reason="po4a is not installed")
def test_a_changed_english_sentence_is_said_and_fails_the_release_only(tmp_path: Path) -> None:
    same = "a folder that is new or empty."
    tree = tree_with(tmp_path, same, same)
    before = check(tree).stdout  # sentences that were changed since the last release
    page = tree / "build/man/afpscope-ab.1"
    page.write_text(page.read_text().replace(same, "a folder which is new."))
    told = "po/man.ja.po: not translated: a folder which is new.\n"
    done = check(tree)
    assert done.returncode == 0 and told in done.stdout, done.stderr
    assert {*done.stdout.splitlines()} - {*before.splitlines()} == {told.rstrip()}
    assert check(tree, "--strict").returncode == 1
    assert check(tree, "--update").returncode == 0
    (entry,) = [m for m in catalogue.read(tree / "po/man.ja.po") if "folder which" in m.text]
    assert entry.translation == ""
    page.write_text(page.read_text().replace("a folder which is new.", "a folder."))
    assert "po/man.ja.po: not translated: a folder.\n" in check(tree).stdout


def test_without_pages_it_cannot_be_told_what_is_missing(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, "new or empty", "new or empty")
    shutil.rmtree(tree / "build")
    done = check(tree, "--strict")
    assert done.returncode == 1 and "cannot tell what is not translated" in done.stdout


@pytest.fixture(params=[True, False], ids=["font", "no font"])
def font(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether figures can be Japanese."""
    monkeypatch.setattr("afpscope.page.figures.japanese", lambda: request.param)
    return bool(request.param)


@pytest.mark.painted
def test_figures_are_in_japanese_where_there_is_a_font(
    shelf: Shelf, tmp_path: Path, execute: Callable[..., Done], font: bool
) -> None:
    done = execute("report", shelf.put("a", "load"), "-o", tmp_path / "r.html", "--lang", "ja")
    text = (tmp_path / "r.html").read_text()
    assert done.code == 0
    assert ("English labels" in done.err) == (not font)
    drawn = "".join(re.findall(r"<svg.*?</svg>", text, re.S))
    assert ("CNID サーバー待ち" in drawn) == font
    assert ("waiting for the CNID server" in drawn) == (not font)
    assert "要約" in text and "CNID サーバー待ち</li>" in text


def test_a_japanese_font_newer_than_the_list_of_fonts_is_found(tmp_path: Path) -> None:
    """matplotlib keeps its list and does not look again."""
    ask = "from afpscope.page import figures; print(figures.japanese())"
    strip = """
import json, pathlib, sys
import matplotlib.font_manager
(kept,) = pathlib.Path(sys.argv[1]).glob("fontlist-*.json")
value = json.loads(kept.read_text())
value["ttflist"] = [f for f in value["ttflist"] if "DejaVu" in f["name"]]
kept.write_text(json.dumps(value))
"""

    def run(*args: str) -> str:
        env = os.environ | {"MPLCONFIGDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run(
            [sys.executable, "-B", "-c", *args], env=env, check=True, capture_output=True, text=True
        ).stdout.strip()

    if run(ask) != "True":
        pytest.skip("this machine has no Japanese font")
    run(strip, str(tmp_path))
    assert run(ask) == "True"


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_a_page_has_the_words_of_the_kind_of_server(
    shelf: Shelf, tmp_path: Path, execute: Callable[..., Done], lang: str
) -> None:
    """As run.json has them; a run of an older version has AFP's."""

    def change(value: dict[str, Any]) -> None:
        value["words"] = {"server": "served", "helper": "asked", "backend": "register"}

    texts = []
    for run in (shelf.put("old", "lantest-1"), shelf.put("new", "lantest-1", change)):
        execute("report", run, "--lang", lang, "-o", tmp_path / "r.html")
        texts.append((tmp_path / "r.html").read_text())
    for text, server, backend in zip(
        texts, ("afpd", "served"), ("CNID server, cnid_dbd", "register, asked"), strict=True
    ):
        assert f"{server} is the process" in text or f"{server} はクライアントに応答" in text
        assert (f"The {backend}, gives files" in text) == (lang == "en")
        assert not re.search(r"\{(server|helper|backend|database|asked)\}", text)
