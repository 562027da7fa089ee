# SPDX-License-Identifier: GPL-2.0-or-later
"""Which English sentences the catalogues of po/ do not translate.

translations.py            list them (make lint)
translations.py --strict   exit code 1 if there is one, or if that cannot be told (make translated)
translations.py --update   put them into the catalogues, without a translation, and drop what is
                           no sentence of the program any more

The sentences of the manual pages are taken by po4a from BUILD/man, those of the report from
analysis/afpscope/words.py, and what a run has from the program's source: the sentences of doctor's
rules and verdicts, and the titles and heads of tables.
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

import written  # noqa: E402
from afpscope import catalogue, told, words  # noqa: E402
from afpscope.catalogue import Message  # noqa: E402

LANGUAGE = "ja"
_USER = ROOT / "user"
_LONG = [*sorted((_USER / "report/long").glob("*.c"))]
_SCREENS = (
    "procedures",
    "screen_load",
    "screen_replay",
    "screen_trips",
    "sessions",
    "matrix",
    "screen_files",
    "screen_any",
    "screen_calls",
    "each",
    "doctor",
)  # of user/report/screen, whose tables are in tables.json, too
_SAYS = (
    "doctor/figures/answers",
    "doctor/figures/asked",
    "doctor/figures/clients",
    "doctor/figures/commands",
    "doctor/diagnose",
    "doctor/diagnose_load",
    "doctor/figures/ends",
    "doctor/pauses",
    "doctor/figures/gluster",
    "doctor/figures/logins",
    "doctor/figures/rx",
    "doctor/figures/times",
    "doctor/figures/sessions",
    "doctor/figures/smb",
    "doctor/figures/nfs",
    "doctor/verdict",
    "doctor/volumes",
    "doctor/figures/waits",
    "kinds/afp/cnidstate",
    "kinds/afp/hints",
    "kinds/smb_settings",
    "kinds/conf",
    "kinds/nfs_settings",
    "watch/bpf/books",
    "watch/bpf/price",
    "watch/bpf/rung",
    "watch/bpf/storage_load",
    "watch/bpf/losses",
    "watch/bpf/sessions",
    "run/requests_book",
    "doctor/say",
    "attach/attach",
    "attach/guard",
    "doctor/machine/machine",
    "doctor/machine/machine_disks",
    "doctor/machine/machine_groups",
    "drive/slo",
    "kinds/target",
    "kinds/way",
    "ranks/courier",
    "ranks/ranks",
    "ranks/ranks_sum",
    "replay/replay_judge",
    "run/doubts",
    "run/phase",
    "watch/bpf/load",
    "watch/watch",
    "kinds/servers",
)  # whose words stand beside figures
_TEXT = r'((?:"(?:[^"\\]|\\.)*"|\s|GLUE)+)'
_SENTENCE = re.compile(rf"(?:\.(?:name|says|todo|disproof|fact)|\[DOCTOR_[A-Z_]+\])\s*=\s*{_TEXT}")
_VERSION = re.compile(r"afpscope (@VERSION@|\d+(\.\d+)*)")  # the same in every language
_CAUSE = re.compile(r'\.key = "([a-z0-9-]+)", \.name = "([^"]+)"')
_HEAD = re.compile(
    rf"\.(?:head|title)\s*=\s*{_TEXT}"
    rf"|{{ {_TEXT}, (?:NULL|\"\w+\"), SHOW_"  # rows of user/report/long/below.c
    rf"|X\([A-Z]+, \"[a-z]+\", {_TEXT}\)"  # of ACCOUNT_COLUMNS
)


# Lines whose pieces have no comma or the like between them, or that have one word beside figures.
_COMPOSED = (
    "{s1} calls",
    "{s1} for {n2}%",
    "{n1} others",
    "{s1} for {n2}%",
    "paused for {n1}%",
    "{protocol} commands",
    "Possible",
    "{server} waits",
    "the receive buffer of {s1} (process {n2}, UDP port {n3}) is {n4} bytes, room for some {n5}"
    " packets: it overflows when several clients write at once; raise it with {s6};"
    " net.core.rmem_max, the most that it gets, is {n7}",
    "Files: {s1} director{s2.s} of {s3} file{s4.s} of {s5}",
    "Files: {s1} director{s2.s} of {s3} empty file{s4.s}",
    "{n1} of {n2} actions were dropped",
    "{n1} of {n2} actions failed",
    "{n1} of {n2} clients had no session",
    "{n1} of {n2} sessions were lost",
    "{n1} of {n2} clients completed no action",
    "the connection ends in {s1} (pid {n2}), which is no AFP server {s3}: give the server's own"
    " address and port",
    "Below the system calls: n/a (for the same reason)",
    "no right to see which process serves the connection (its user id is {n1}): run as root, or"
    " with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH",
    "run as root, or with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH",
    "only watching by BPF shows this",
    "no iteration was completed",
    "Limit {s1}",
    "Limit {s1}: NOT KEPT",
    "Limit {s1}: CANNOT TELL",
    "but {s1.text}",
    "{s1}, which {s2}",
    "{s1} too few",
    "{s1} too long",
    "{s1} too many",
    "at least {s1} too few",
    "at least {s1} too long",
    "at least {s1} too many",
    "it was {s1} of the others",
    "it was {s1} of those that were not dropped",
    "After {s1}",
    "{s1} of a CPU",
    "{s1}'s CPU time",
    "{n1} lost",
    "another server's {s1}",
    "{s1} ({n2} processes): {n3}%",
    "{s1} (volume {s2})",
    "UDP port {n1}",
    "AFP error {n1}",
    "rank {n1} ({s2})",
    "sure",
    "likely",
)
_TABLES = (
    "bpf/storage.h",
    "user/run/account.c",
    "user/run/kind.h",
    "user/run/result.h",
    "user/run/run.h",
    "user/doctor/rules/rules_transfer.h",
    "user/kinds/gluster/gluster.c",
    "user/kinds/nfs.c",
    "user/kinds/rx/rx.c",
    "user/kinds/smb.c",
    "user/kinds/way.c",
)  # of words


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
        return [m for m in catalogue.read(pot) if m.text and not _VERSION.fullmatch(m.text)]


def _found(pattern: re.Pattern[str], files: list[Path], context: str) -> list[Message]:
    """The texts in C, each once; a blank that does not break (GLUE) is one on a page."""
    texts: dict[str, None] = {}
    for file in files:
        for m in pattern.finditer(file.read_text("utf-8")):
            found = m[m.lastindex or 0]
            parts = re.findall(r'"((?:[^"\\]|\\.)*)"|GLUE', found)
            glued = " ".join if "GLUE" in found else "".join
            texts[glued(p for p in parts if p).replace('\\"', '"').strip()] = None
    return [Message(context, text) for text in texts if text]


def _parts() -> dict[str, None]:
    """Parts of the lines that it composes, each once, and lines with figures of printf."""
    screens = [_USER / f"report/screen/{name}.c" for name in _SCREENS]
    return dict.fromkeys(
        [
            *written.of_labels([*_LONG, *screens, *(ROOT / name for name in _TABLES)]),
            *written.of_sources(_LONG + screens),
            *written.of_sources(_USER / f"{name}.c" for name in _SAYS),
            *written.of_sources([_USER / "kinds/conf.h"]),
            *_COMPOSED,
            *written.of_calls(sorted(_USER.rglob("*.c"))),
        ]
    )


def program_sentences() -> list[Message]:
    """What the program writes into a run and the page shows. Names of quantities stay: "p99"."""
    doctor = ROOT / "user/doctor"
    rules = [*sorted((doctor / "rules").glob("rules_*.c")), doctor / "say.c"]
    tables = [ROOT / "user/run/account.h", *sorted((ROOT / "user/report").rglob("*.c"))]
    heads = [m for m in _found(_HEAD, tables, told.HEAD) if re.search("[a-z]{2}", m.text)]
    heads = [m for m in heads if "{" not in m.text]
    whole = _found(_SENTENCE, rules, told.PROGRAM)
    known = {m.text for m in heads + whole}
    keys = (m[1] for file in rules for m in _CAUSE.finditer(file.read_text("utf-8")))
    whole += [Message(told.CAUSE, key.replace("-", " ")) for key in dict.fromkeys(keys)]
    return whole + [Message(told.PROGRAM, t) for t in _parts() if t not in known] + heads


def report_sentences() -> list[Message]:
    return words.messages() + program_sentences()


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
    subjects = {"report": report_sentences(), "man": manual_sentences(build)}
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
