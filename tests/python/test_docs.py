# SPDX-License-Identifier: GPL-2.0-or-later
"""What the pages say is there is there; docs/troubleshooting.md has each warning and loss."""

from __future__ import annotations

import html
import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Done, Shelf

ROOT = Path(__file__).resolve().parents[2]
PAGE = re.sub(r"\s+", " ", (ROOT / "docs/troubleshooting.md").read_text())
TEXT = r'((?:\s*(?:"(?:[^"\\]|\\.)*"|PRI\w+))+)'
FORMAT = re.compile(r"%%|%[-+]?\.?\*?\d*(?:ll|l|z|h)?[a-zA-Z]|%")


def source() -> str:
    folders = (ROOT / "user", ROOT / "client")
    return "\n".join(p.read_text() for f in folders for p in sorted(f.rglob("*.[ch]")))


def fragments(literals: str) -> list[str]:
    """What stands between the values of a format, without single characters."""
    text = re.sub(r'"\s*PRI\w+\s*"?', "d", literals.strip())
    text = "".join(re.findall(r'(?:^|(?<=\s))"((?:[^"\\]|\\.)*)"', text)) or text.strip('"')
    text = re.sub(r'"\s*"', "", text).replace('\\"', '"')
    return [part.strip() for part in FORMAT.split(text) if len(part.strip(" :(),")) > 2]


def missing(pattern: str) -> list[str]:
    found = re.findall(pattern, source())
    assert len(found) > 5
    return [part for literals in found for part in fragments(literals) if part not in PAGE]


SCREEN = ROOT / "docs/pictures/screen.svg"
STUDY = ROOT / "docs/pictures/study-times.svg"  # of "make study"
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")


def linked(page: str) -> set[str]:
    return {path for path, _ in LINK.findall((ROOT / page).read_text())}


def test_each_page_and_each_manual_page_can_be_found() -> None:
    """From README.md each page, directly or by a page that it names; in commands.md each manual."""
    manuals = {p.name for ext in ("*.1", "*.1.in") for p in (ROOT / "docs").glob(ext)}
    assert manuals - linked("docs/commands.md") == set() and len(manuals) > 20
    first = {Path(path).name for path in linked("README.md") if path.startswith("docs/")}
    found = first.union(*(linked(f"docs/{name}") for name in first if name.endswith(".md")))
    assert {p.name for p in (ROOT / "docs").glob("*.md")} - found == set()


def test_the_readme_is_short() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 120 and max(map(len, lines)) <= 100


def test_each_warning_is_explained() -> None:
    assert missing(r'run_note\(\s*&[\w>.-]*warnings,\s*"[\w.-]+",' + TEXT) == []
    keys = set(re.findall(r'run_note\(\s*&[\w>.-]*warnings,\s*"([\w.-]+)"', source()))
    assert len(keys) > 8 and {key for key in keys if f"| `{key}` |" not in PAGE} == set()


def test_each_loss_is_explained() -> None:
    assert missing(r"run_loss\(\s*[\w>.&-]+," + TEXT) == []
    for macro in ("no room in the ring buffer", "skipped by the kernel"):
        assert macro in source() and macro in PAGE


def test_each_hint_of_check_is_explained() -> None:
    keys = set(re.findall(r'add\(\w+, "([\w-]+)", (?:true|false),', source()))
    keys |= set(re.findall(r'\{ "([\w-]+)", (?:true|false), \w+, "', source()))
    assert len(keys) > 12 and {key for key in keys if f"| `{key}` |" not in PAGE} == set()


def test_programs_and_places_are_what_the_tests_say() -> None:
    done = subprocess.run([sys.executable, "-B", ROOT / "tests/places.py", "--check"], check=False)
    assert done.returncode == 0
    assert (ROOT / "docs/counting.md").read_text().count("| exact") > 30


SCALES = {"share": 0.01, "B/s": 1e6}
UNITS = {"share": "%", "1/s": "/s", "B": " B", "B/s": " MB/s", "1": ""}


def limit(value: float, unit: str) -> str:
    if unit == "ns":
        scale, unit = next((s, u) for s, u in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")) if value >= s)
        return f"{value / scale:g} {unit}"
    if unit == "B" and value >= 1e6:
        return f"{value / 1e6:g} MB"
    return f"{value / SCALES.get(unit, 1):g}{UNITS[unit]}"


def figures() -> dict[str, tuple[str, str]]:
    """Key and unit of each, by its name in the source."""
    headers = ("figures.h", "figures_clients.h", "figures_machine.h", "figures_rx.h",
               "figures_kinds.h")  # fmt: skip
    text = "".join((ROOT / "user/run" / name).read_text() for name in headers)
    rows = re.findall(r'X\((\w+),\s*"(\w+)",\s*"([^"]+)"', text.replace("\\\n", ""))
    return {name: (key, unit) for name, key, unit in rows}


KINDS = {"FAILS": " !", "WORK": "", "WAIT": " *"}
RULE = re.compile(r'\.key = "(.*?)", \.name = "(.*?)", \.kind = DOCTOR_(\w+),(.*?)\n\t\},', re.S)
TEST = re.compile(r"\b(LEAST|MOST|ANY|HARM|OWN_HARM)\((\w+)(?:, ([\w.]+))?\)")


def causes(table: str) -> list[str]:
    """The rows of docs/doctor.md, as a table of user/doctor/rules has them; notes come last."""
    rows, notes, known = [], [], figures()
    headers = ("doctor/rules/rules.h", "doctor/rules/rules_priv.h", "run/figures_machine.h")
    shared = "".join((ROOT / "user" / name).read_text() for name in headers)
    named = dict(re.findall(r"#define (\w+)\s+([\d.e]+)", shared))
    for key, name, kind, rest in RULE.findall((ROOT / "user/doctor/rules" / table).read_text()):
        tests, harm = [], "-"
        for how, figure, value in TEST.findall(rest):
            is_, unit = known[figure]
            sign = "≤" if how == "MOST" else "≥"
            least = float(named.get(value, value) or 1)
            text = f"`{is_}` {sign} {limit(least, unit)}"
            if (
                unit == "1" and least % 1 and (how != "LEAST" or least > 1)
            ):  # between two numbers of things
                most = f"≤ {math.floor(least)}" if least > 1 else "= 0"
                text = f"`{is_}` {most if how == 'MOST' else f'≥ {math.ceil(least)}'}"
            if "HARM" in how:
                harm = text
            else:
                tests.append(text)
        if kind == "NOTE":
            notes.append(f"| {name} | `{key}` | {', '.join(tests)} | note | |")
            continue
        if worth := re.search(r"WORTH_US\((\d+)\)", rest):
            us = int(worth[1])
            harm += f", or {us} µs" if us < 1000 else f", or {us / 1000:g} ms"
        doubt = " ~" if "UNSURE" in rest else ""
        todo = re.findall(r'\.todo = "(.*)",\n', rest)[0]
        todo = re.sub(r"\{(\w+)(\.who|\.text)?\}", r"`\1`", todo).replace("|", "\\|")
        rows.append(
            f"| {name}{KINDS[kind]}{doubt} | `{key}` | {', '.join(tests)} | {harm} | {todo} |"
        )
    return rows + notes


def test_each_cause_is_listed_with_its_limits() -> None:
    page = (ROOT / "docs/doctor.md").read_text().split("<!-- way -->")[1].splitlines()
    listed = [line for line in page if re.match(r"\| [^|]+ \| `[\w-]+` \|", line)]
    tables = ("way", "stops", "server", "machine", "storage", "clients", "rx", "gluster", "smb",
              "nfs")  # fmt: skip
    wanted = [row for t in tables for row in causes(f"rules_{t}.c")]
    assert "\n".join(row for row in wanted if row not in listed) == "", "docs/doctor.md lacks it"
    assert listed == wanted and len(listed) > 60


def anchors(page: Path) -> set[str]:
    """As GitHub and mkdocs name the heads of a page: letters, digits and - of its words."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    kept = (re.sub(r"[^\w\s-]", "", head.replace("`", "")).strip().lower() for head in heads)
    return {re.sub(r"\s", "-", head) for head in kept}


def test_links_between_pages_lead_somewhere() -> None:
    """To a file that is there, and to a head of that page."""
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        for link, anchor in LINK.findall(page.read_text()):
            if not re.match(r"\w+:", link):
                to = page.parent / link if link else page
                assert to.exists(), f"{page.name}: {link}"
                assert not anchor or anchor in anchors(to), f"{page.name}: {link}#{anchor}"


def test_the_architecture_is_that_of_the_tree() -> None:
    """Each path in its text and each name in its drawing, also short ones as in include lines."""
    page = (ROOT / "docs/architecture.md").read_text()
    names = set(re.findall(r"(?<![\w/.-])[a-z][\w-]*(?:/[\w-]+)+(?:\.\w+)?", page))
    drawing = re.split(r"\s{2,}|\n", page[: page.index("\nArrows")])
    names |= {cell.rstrip("/") for cell in drawing if re.fullmatch(r"[a-z]+[a-z/]*", cell)}
    assert {"bpf/decode/dsi.h", "client", "kinds", "follow", "user/report"} <= names
    known = set()
    for folder in ("analysis", "bpf", "client", "docs", "mpi", "tests", "user"):
        for path in ((ROOT / folder), *(ROOT / folder).rglob("*")):
            short = path.relative_to(ROOT)
            for parts in (short.parts, short.with_suffix("").parts):
                known |= {"/".join(parts[i:]) for i in range(len(parts))}
    assert names - known == set()
    for number, line in enumerate(page.splitlines(), 1):
        assert len(line) <= 100, f"architecture.md:{number}: {len(line)} columns"


def test_where_a_function_is_the_architecture_knows() -> None:
    """`NAME()` in `FILE`: it is defined there, and may stand in a table or behind a macro."""
    page = (ROOT / "docs/architecture.md").read_text().split("## Where is it?")[1].split("\n## ")[0]
    text = " ".join(page.split())
    named = re.findall(r"((?:`\w+\(\)`(?:,| and)? )+)in `([\w/.-]+)`", text)
    found = [(name, file) for names, file in named for name in re.findall(r"\w+(?=\(\))", names)]
    assert ("arrivals_come", "client/load/arrivals.c") in found and len(found) > 12
    for name, file in found:
        code = (ROOT / file).read_text()
        assert re.search(rf"^\w[^;\n]*\b{name}\([^;]*?\n{{", code, re.M), f"{file} has no {name}()"


@pytest.mark.slow
def test_who_judges_what_is_listed_as_the_tests_have_it() -> None:
    """And no judge is asked by make check-judges alone."""
    done = subprocess.run(
        ["/usr/bin/python3", "-B", ROOT / "tests/judges.py", "--check"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.painted
def test_the_tutorial_shows_what_the_report_draws(
    shelf: Shelf, tmp_path: Path, execute: Callable[..., Done]
) -> None:
    """But for the fonts, which are those of the machine. `make pictures` makes them again."""
    # The name of the run is in no figure; names of files are the salt of the ids within.
    run = shelf.put("before", "tutorial")
    execute("report", run, "-o", tmp_path / "r.html", "--figures", tmp_path)
    kept = sorted({*(ROOT / "docs/pictures").glob("*.svg")} - {SCREEN, STUDY})
    assert len(kept) == 3
    for picture in kept:
        now = (tmp_path / picture.name).read_text()
        assert plain(now) == plain(picture.read_text()), picture.name
    done = subprocess.run(
        [sys.executable, "-B", ROOT / "tests/pages.py", "--words", tmp_path / "r.html"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == (ROOT / "docs/pictures/report.txt").read_text()
    assert "has no diagnosis" not in done.stdout, "a run of today has one"


def test_the_tutorial_speaks_of_the_figures_in_its_pictures() -> None:
    """Its shares, times and large counts, from the first picture to the table of colours."""
    page = (ROOT / "docs/tutorial.md").read_text()
    prose = page.split("pictures/report.png)")[1].split("| Colour |")[0]
    said = re.findall(r"\d[\d,.]*\d(?: %| [mµ]s)|\d+,\d+", " ".join(prose.split()))
    shown = (ROOT / "docs/pictures/report.txt").read_text()
    shown += (ROOT / "docs/pictures/where.svg").read_text()
    assert len(said) > 4 and [one for one in said if one.replace(" %", "%") not in shown] == []


def test_the_screen_in_the_readme_is_of_today() -> None:
    """Its lines and columns are those of the expected screen in golden, with other numbers."""
    svg = SCREEN.read_text()
    rows = re.findall(r'<text [^>]*y="([\d.]+)"[^>]*clip-path[^>]*>([^<]*)</text>', svg)
    lines: dict[str, str] = {}
    for y, text in rows:
        lines[y] = lines.get(y, "") + html.unescape(text).replace("\xa0", " ")
    shown = "\n".join(lines.values())
    golden = (ROOT / "tests/golden/screen-lantest.txt").read_text()
    assert "lantest  netatalk 4.5" in shown and "cross-checks agree" in shown
    for pattern in (r"^  #   test .*$", r"^ +\d+  [a-z/]+[a-z ]*(?:\d+MiB)?", r"^Server (?=\d)"):
        want, have = (
            [" ".join(one.split()) for one in re.findall(pattern, text, re.M)]
            for text in (golden, shown)
        )
        assert want and want == have, pattern


def plain(svg: str) -> str:
    return re.sub(r"font(-family)?: [^;\"]*|\bp[0-9a-f]{8,}", "", svg)


def test_the_cookbook_has_the_streams_of_today() -> None:
    """How many bytes a record has, as the page of the format says, which a test of the writer
    makes."""
    trace = (ROOT / "docs/trace.md").read_text()
    known = dict(re.findall(r"^### (\w+)\n\nStream \d+, (\d+) bytes a record", trace, re.M))
    cookbook = (ROOT / "docs/cookbook.md").read_text().split("stream      records  B each")[1]
    said = re.findall(r"^(\w+) +[\d,]+ +(\d+) ", cookbook.split("```")[0], re.M)
    assert len(said) > 4 and dict(said).items() <= known.items()
