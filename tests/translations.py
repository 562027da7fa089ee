# SPDX-License-Identifier: GPL-2.0-or-later
"""Which English sentences the catalogues of po/ do not translate.

translations.py            list them (make lint)
translations.py --strict   exit code 1 if there is one, or if that cannot be told (make translated)
translations.py --update   put them into the catalogues, without a translation, and drop what is
                           no sentence of the program any more

The sentences of the manual pages are taken by po4a from BUILD/man, those of the report from
analysis/afpscope/words.py.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "analysis"))

from afpscope import catalogue, words  # noqa: E402
from afpscope.catalogue import Message  # noqa: E402

LANGUAGE = "ja"


def catalogue_of(subject: str) -> Path:
    return ROOT / "po" / f"{subject}.{LANGUAGE}.po"


def manual_sentences(build: Path) -> list[Message] | str:
    """Those of all pages, in their order; a text says why that cannot be told."""
    pages = sorted((build / "man").glob("*.1"))
    if not pages:
        return f"the manual pages are not made in {build}/man: make man"
    if not shutil.which("po4a-updatepo"):
        return "po4a is not installed"
    with tempfile.TemporaryDirectory() as folder:
        pot = Path(folder) / "man.pot"
        masters = [word for page in pages for word in ("-m", str(page))]
        line = ["po4a-updatepo", "-f", "man", "-M", "UTF-8", "-p", str(pot)]
        done = subprocess.run(line + masters, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"po4a cannot read the pages: {done.stderr.strip()}"
        return [m for m in catalogue.read(pot) if m.text]


def missing(subject: str, sentences: list[Message]) -> list[Message]:
    done = {m.key for m in catalogue.read(catalogue_of(subject)) if m.translation}
    return [m for m in sentences if m.key not in done]


def update(subject: str, sentences: list[Message]) -> None:
    po = catalogue_of(subject)
    known = {m.key: m.translation for m in catalogue.read(po)}
    head = re.split(r"\n[ \t]*\n", po.read_text("utf-8"))[0]
    catalogue.write(po, head, [m._replace(translation=known.get(m.key, "")) for m in sentences])


def main(options: list[str]) -> int:
    build = ROOT / os.environ.get("BUILD", "build")
    subjects = {"report": words.messages(), "man": manual_sentences(build)}
    untold = lacking = 0
    for subject, sentences in subjects.items():
        po = catalogue_of(subject).relative_to(ROOT)
        if isinstance(sentences, str):
            print(f"{po}: cannot tell what is not translated: {sentences}")
            untold += 1
            continue
        if "--update" in options:
            update(subject, sentences)
        for m in missing(subject, sentences):
            print(f"{po}: not translated: {' '.join(m.text.split())}")
            lacking += 1
    return 1 if "--strict" in options and lacking + untold else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
