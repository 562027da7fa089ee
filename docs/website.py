# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the website of the pages in docs/ and of the manual pages (`make site`).

website.py BUILD: BUILD/man holds the manual pages; the site is BUILD/site, what it is made from
BUILD/site-pages. Needs mandoc, and the Python packages of tests/need.sh --site.

Links stay as GitHub wants them; here they are led to the pages of the site. A link to a page or
a head that is not there is an error. Python-Markdown, which mkdocs uses, wants lists indented by
four: mdformat indents them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import mdformat

ROOT = Path(__file__).resolve().parents[1]
TITLES = {
    "lantest": "lantest: what the tests send",
    "speedtest": "speedtest: what is sent",
    "rx": "Servers over Rx (AFS)",
    "building": "Building",
}
SECTIONS = {
    "Start": "index tutorial screen commands building troubleshooting glossary",
    "A server that runs": "doctor exporter counting",
    "Loads": "lantest speedtest load replay mpi rx logins study-afp-smb",
    "Saved runs": "analysis cookbook data-model trace bundle exit-codes",
    "The project": "CONTRIBUTING architecture decisions compatibility release SECURITY changes",
}
REST, MANUALS, JAPANESE = "More", "Manual pages", "Manual pages in Japanese"
# Words of the glossary that are explained where they stand, when the pointer is on them.
EXPLAINED = [
    "DSI", "CNID", "quantum", "UAM", "tickle", "BTF", "brick", "ledger", "run queue",
    "unexplained", "mix", "probe", "finding", "closed loop", "open loop", "load generator",
    "ramp", "knee", "Jain's index", "null peer", "verdict", "drift", "lake",
]  # fmt: skip
CSS = """\
.md-typeset thead:not(:has(th:not(:empty))) { display: none }
.md-typeset h1, .md-typeset h2 { font-weight: 600; color: inherit }
.md-typeset p, .md-typeset ul, .md-typeset ol { max-width: 42rem }
.md-typeset p > img { border: 1px solid #8884; border-radius: 4px }
.manual pre { overflow-x: auto }
.manual a { overflow-wrap: anywhere }
.md-grid { max-width: 76rem }
.md-typeset table:not([class]) td, .md-typeset table:not([class]) th { min-width: 5rem }
.md-typeset table:not([class]) td:first-child { overflow-wrap: normal }
.manual h1.Sh { font-size: 1.2em; margin: 1.2em 0 .4em }
.manual table.head, .manual table.foot { width: 100%; color: gray }
.manual .head-vol, .manual .foot-date { text-align: center }
.manual .head-rtitle, .manual .foot-os { text-align: right }
"""


def led(text: str, at_top: bool) -> str:
    """Its links as those of a page in the site's top folder; `at_top`: it lies above docs/.

    One that shows the name of a file shows the title of that page, and a name is made a link.
    """

    def lead(m: re.Match[str]) -> str:
        path, anchor = m[1], m[2] or ""
        if re.match(r"\w+:", path) or not path:
            return m[0]
        path = path.removeprefix("docs/") if at_top else path.removeprefix("../")
        path = "index.md" if path == "README.md" else path
        path = re.sub(r"^([\w-]+\.1)(\.in)?$", r"man/\1.md", path)
        return f"]({path}{anchor})"

    def title(m: re.Match[str]) -> str:
        found = [page for page in (ROOT / "docs" / m[1], ROOT / m[1]) if page.exists()]
        return found[0].read_text("utf-8").split("\n")[0][2:] if found else m[0]

    plain = re.compile(r"(?<![\[`/\w-])(?<!\]\()docs/([\w-]+\.md)\b")
    to = r"[\1](docs/\1)" if at_top else r"[\1](\1)"
    text = "\n".join(
        line if line.startswith("    ") else plain.sub(to, line) for line in text.split("\n")
    )
    text = re.sub(r"(?<=\[)(?:docs/)?([\w-]+\.md)(?=\]\()", title, text)
    return re.sub(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", lead, text)


def put(page: Path, text: str, words: str) -> None:
    text = mdformat.text(text, extensions={"mkdocs", "tables"})
    page.write_text(f"{text}\n{words}", "utf-8")


def explained() -> str:
    """Definitions for Markdown's extension abbr."""
    text = (ROOT / "docs/glossary.md").read_text("utf-8")
    meaning: dict[str, str] = {}
    for words, about in re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE):
        for word in re.sub(r" \(.*?\)|`", "", words).split(", "):
            meaning.setdefault(word, re.sub(r"\[([^]]*)\]\([^)]*\)|`", r"\1", about))
    return "".join(f"*[{word}]: {meaning[word]}\n" for word in EXPLAINED)


def manual(page: Path, names: set[str], up: str) -> str:
    """A manual page as HTML, with links to those that are here; `up` leads to the top folder."""
    made = ["mandoc", "-K", "utf-8", "-T", "html", "-O", "fragment", page]
    html = subprocess.run(made, capture_output=True, encoding="utf-8", check=True).stdout
    html = re.sub(
        r"<b>([\w-]+)</b>\(1\)",
        lambda m: f'<a href="{m[1]}.1.html">{m[1]}(1)</a>' if m[1] in names else m[0],
        html,
    )
    html = re.sub(r"\bdocs/([\w-]+)\.md", rf'<a href="{up}\1.html">\1</a>', html)
    title = page.stem.replace("afpscope-", "afpscope ")
    return f'# {title}\n\n<div class="manual">\n{html}</div>\n'


def put_manuals(folder: Path, pages: Path, up: str) -> list[object]:
    """Those of a folder, into another one of the site; their names there."""
    manuals = sorted(folder.glob("*.1"), key=lambda page: page.stem)
    pages.mkdir(parents=True)
    for page in manuals:
        text = manual(page, {one.stem for one in manuals}, up)
        (pages / f"{page.name}.md").write_text(text, "utf-8")
    return [f"{page.name}.md" for page in manuals]


def main(build: Path) -> int:
    pages = build / "site-pages/docs"
    shutil.rmtree(pages.parent, ignore_errors=True)
    pages.mkdir(parents=True)
    (pages / "site.css").write_text(CSS)
    for folder in ("pictures", "queries"):
        shutil.copytree(ROOT / "docs" / folder, pages / folder)
    for other in ("docs/workflow.yml", "docs/iframe-worker.js", "LICENSE"):
        shutil.copy(ROOT / other, pages)
    words = explained()
    for page in (ROOT / "docs").glob("*.md"):
        here = "" if page.name == "glossary.md" else words
        put(pages / page.name, led(page.read_text("utf-8"), at_top=False), here)
    for page in ROOT.glob("*.md"):
        name = "index.md" if page.name == "README.md" else page.name
        put(pages / name, led(page.read_text("utf-8"), at_top=True), words)
    nav: dict[str, list[object]] = {}
    for title, names in SECTIONS.items():
        nav[title] = [
            {TITLES[name]: f"{name}.md"} if name in TITLES else f"{name}.md"
            for name in names.split()
        ]
    known = {f"{name}.md" for names in SECTIONS.values() for name in names.split()}
    if rest := sorted(page.name for page in pages.glob("*.md") if page.name not in known):
        nav[REST] = list[object](rest)
    english = put_manuals(build / "man", pages / "man", "../")
    nav[MANUALS] = [f"man/{name}" for name in english]
    if japanese := put_manuals(build / "man/ja/man1", pages / "man/ja", "../../"):
        nav[JAPANESE] = [f"man/ja/{name}" for name in japanese]
    config = (ROOT / "docs/mkdocs.yml").read_text("utf-8") + "".join(
        f"{key}: {json.dumps(value)}\n"
        for key, value in {
            "docs_dir": str(pages),
            "site_dir": str((build / "site").resolve()),
            "nav": [{title: names} for title, names in nav.items()],
        }.items()
    )
    (pages.parent / "mkdocs.yml").write_text(config, "utf-8")
    made = [sys.executable, "-m", "mkdocs", "build", "--clean", "--strict"]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # its authors' advertisement
    return subprocess.run(
        [*made, "-f", pages.parent / "mkdocs.yml"], check=False, env=quiet
    ).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
