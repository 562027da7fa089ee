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
    "Loads": "lantest speedtest load mpi rx logins",
    "Saved runs": "analysis cookbook data-model trace exit-codes",
}
REST, MANUALS = "The project", "Manual pages"
CSS = """\
.md-typeset h1, .md-typeset h2 { font-weight: 600; color: inherit }
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
    """Its links as those of a page in the site's top folder; `at_top`: it lies above docs/."""

    def lead(m: re.Match[str]) -> str:
        path, anchor = m[1], m[2] or ""
        if re.match(r"\w+:", path) or not path:
            return m[0]
        path = path.removeprefix("docs/") if at_top else path.removeprefix("../")
        path = "index.md" if path == "README.md" else path
        path = re.sub(r"^([\w-]+\.1)(\.in)?$", r"man/\1.md", path)
        return f"]({path}{anchor})"

    return re.sub(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", lead, text)


def put(page: Path, text: str) -> None:
    page.write_text(mdformat.text(text, extensions={"mkdocs", "tables"}), "utf-8")


def manual(page: Path, names: set[str]) -> str:
    """A manual page as HTML, with links to those that are here."""
    html = subprocess.run(
        ["mandoc", "-T", "html", "-O", "fragment", page], capture_output=True, text=True, check=True
    ).stdout
    html = re.sub(
        r"<b>([\w-]+)</b>\(1\)",
        lambda m: f'<a href="{m[1]}.1.html">{m[1]}(1)</a>' if m[1] in names else m[0],
        html,
    )
    html = re.sub(r"\bdocs/([\w-]+)\.md", r'<a href="../\1.html">\1</a>', html)
    title = page.stem.replace("afpscope-", "afpscope ")
    return f'# {title}\n\n<div class="manual">\n{html}</div>\n'


def main(build: Path) -> int:
    pages = build / "site-pages/docs"
    shutil.rmtree(pages.parent, ignore_errors=True)
    (pages / "man").mkdir(parents=True)
    (pages / "site.css").write_text(CSS)
    for folder in ("pictures", "queries"):
        shutil.copytree(ROOT / "docs" / folder, pages / folder)
    for other in ("docs/workflow.yml", "docs/iframe-worker.js", "LICENSE"):
        shutil.copy(ROOT / other, pages)
    for page in (ROOT / "docs").glob("*.md"):
        put(pages / page.name, led(page.read_text("utf-8"), at_top=False))
    for page in ROOT.glob("*.md"):
        name = "index.md" if page.name == "README.md" else page.name
        put(pages / name, led(page.read_text("utf-8"), at_top=True))
    manuals = sorted((build / "man").glob("*.1"), key=lambda page: page.stem)
    for page in manuals:
        text = manual(page, {one.stem for one in manuals})
        (pages / "man" / f"{page.name}.md").write_text(text, "utf-8")

    nav: dict[str, list[object]] = {}
    for title, names in SECTIONS.items():
        nav[title] = [
            {TITLES[name]: f"{name}.md"} if name in TITLES else f"{name}.md"
            for name in names.split()
        ]
    known = {f"{name}.md" for names in SECTIONS.values() for name in names.split()}
    nav[REST] = sorted(page.name for page in pages.glob("*.md") if page.name not in known)
    nav[MANUALS] = [f"man/{page.name}.md" for page in manuals]
    config = (ROOT / "docs/mkdocs.yml").read_text("utf-8") + "".join(
        f"{key}: {json.dumps(value)}\n"
        for key, value in {
            "docs_dir": str(pages),
            "site_dir": str((build / "site").resolve()),
            "nav": [{title: names} for title, names in nav.items()],
        }.items()
    )
    (pages.parent / "mkdocs.yml").write_text(config, "utf-8")
    made = [sys.executable, "-m", "mkdocs", "-q", "build", "--clean", "--strict"]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # its authors' advertisement
    return subprocess.run(
        [*made, "-f", pages.parent / "mkdocs.yml"], check=False, env=quiet
    ).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
