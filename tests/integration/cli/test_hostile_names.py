# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of files, users and volumes that would harm a terminal, a page or a table reach no output
raw: the reports of record and doctor, run.json, the HTML report, CSV, slow, top and the exporter.

Tests user/main/record.c and doctor.c.
"""

from __future__ import annotations

import contextlib
import csv
import json
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from exporting import export, promtool
from netatalk import Server
from offline import analysis, command
from recording import HOSTILE, RawClient, ask_for, gone
from scope import FINDINGS, NOT_TOLD, OK, PinnedServer, Scope, both_cpus

TAG = b'"><script>alert(1)</script>'
NAMES = (HOSTILE, b"\x1b]0;x\x07" * 36, TAG, b'x"} 1\n# HELP', b"=1+1,\xff")

USER = '=u"><script>\x1b[2J\x07\x9b\u202e'
VOLUME = 'v"} 1<script>\x1b(0\x07\x9b'


def harmless(text: str) -> None:
    """Nothing that a terminal obeys but the end of a line."""
    assert all(c == "\n" or (c >= " " and not "\x7f" <= c < "\xa0") for c in text)


def analysed(folder: Path) -> tuple[str, Path]:
    """The report's page, and the folder of the CSV. Neither has what a terminal obeys."""
    page, tables = folder.parent / "page.html", folder.parent / "csv"
    for args in (("report", folder, "-o", page), ("export", "--to", "csv", "-o", tables, folder)):
        made = analysis(*args)
        assert made.returncode == 0, made.stderr
        harmless(made.stdout + made.stderr)
    harmless(page.read_text())
    for path in tables.glob("*.csv"):
        harmless(path.read_text())
    return page.read_text(), tables


def test_hostile_names_reach_no_output_of_a_run(scope: Scope, guests: Server) -> None:
    folder = Path(tempfile.mkdtemp(dir=scope.folder)) / "run"
    kept = ("-d", "3", "--trace", "--names", "-v", "-o", str(folder))
    running = scope.record(guests, *kept)
    running.wait_recording()
    with contextlib.closing(RawClient(guests.port)) as client:
        for name in NAMES * 5:
            ask_for(client, name)
    done = running.finish().expect(OK)
    harmless(done.out + done.err)
    assert json.loads((folder / "run.json").read_bytes())
    doctor = scope.execute([str(scope.binary), "doctor", "-v", str(folder)])
    harmless(doctor.out + doctor.err)
    page, tables = analysed(folder)
    assert TAG.decode() not in page
    assert any("script" in path.read_text() for path in tables.glob("*.csv"))  # names are there
    for path in tables.glob("*.csv"):
        with path.open(newline="") as file:
            head, *rows = csv.reader(file)
        assert all(len(row) == len(head) for row in rows), path
    shown = scope.execute([*command(), "dump", "--stream", "all", str(folder)]).expect(OK)
    harmless(shown.out + shown.err)
    assert TAG.decode() in shown.out


@pytest.fixture(scope="module")
def _hostile() -> Iterator[Server]:
    lines = f"[evil]\nvolume name = {VOLUME}\npath = /tmp"
    with PinnedServer("forky", "dbd", both_cpus()[0], AFPD_GLOBAL=lines) as server:
        # All servers share their users: this one is added once and stays.
        for name in ("passwd", "shadow"):
            path = server.root / "etc" / name
            (like,) = (x for x in path.read_text().splitlines() if x.startswith("bench1:"))
            line = like.replace("bench1:", f"{USER}:", 1).replace("5001", "5009")
            if line not in path.read_text():
                with path.open("a") as file:
                    file.write(f"{line}\n")
        yield server


@pytest.fixture
def hostile(_hostile: Server) -> Iterator[Server]:
    """A server with a user and a volume of such names."""
    yield _hostile
    gone(_hostile)


def use(server: Server) -> RawClient:
    return RawClient(server.port, user=USER, volume=VOLUME)


def test_hostile_users_and_volumes_in_runs(scope: Scope, hostile: Server) -> None:
    folder = Path(tempfile.mkdtemp(dir=scope.folder)) / "run"
    running = scope.record(hostile, "-d", "3", "-v", "-o", str(folder))
    running.wait_recording()
    with contextlib.closing(use(hostile)) as client:
        for _ in range(20):
            client.stat_root()
    done = running.finish().expect(OK)
    harmless(done.out + done.err)
    (session,) = json.loads((folder / "run.json").read_text())["sessions"]
    assert (session["user"], session["volumes"]) == (USER, [VOLUME])
    page, _ = analysed(folder)
    assert 'u"><script>' not in page and "1<script>" not in page and "&lt;script&gt;" in page
    doctor = scope.execute([str(scope.binary), "doctor", "-v", str(folder)])
    harmless(doctor.out + doctor.err)


LIVE = (
    ("slow", "--over", "1ns", "-v", "-d", "3"),
    ("slow", "--over", "1ns", "--json", "-d", "3"),
    ("top", "-b", "--by", "user", "-n", "3"),
    ("top", "-b", "--by", "session", "-n", "3"),
    ("top", "-b", "--by", "volume", "-n", "3"),
    ("top", "--json", "--by", "session", "-n", "3"),
    ("doctor", "-v", "-d", "3"),
    ("doctor", "--json=-", "-d", "3"),
)


def test_hostile_users_and_volumes_live(scope: Scope, hostile: Server) -> None:
    port = ("-p", str(hostile.port))
    watches = [scope.start([str(scope.binary), *args, *port]) for args in LIVE]
    for running in watches:
        running.wait_for("ing process ")
    with contextlib.closing(use(hostile)) as client:
        while any(running.process.poll() is None for running in watches):
            client.stat_root()
    for running, args in zip(watches, LIVE, strict=True):
        done = running.finish()
        assert done.status in (OK, FINDINGS, NOT_TOLD), str(done)
        harmless(done.out + done.err)
        if args[0] != "doctor":  # it names nobody where nothing is wrong
            assert "<script>" in done.out, args


def test_hostile_users_and_volumes_are_scraped(scope: Scope, hostile: Server) -> None:
    exporter = export(scope, "-p", str(hostile.port))
    exporter.wait_up()
    with contextlib.closing(use(hostile)) as client:
        for _ in range(20):
            client.stat_root()
        text = exporter.metrics().text
    harmless(text)
    promtool("check", "metrics", text=text)
    exporter.running.signal(signal.SIGTERM)
    exporter.running.finish().expect(OK)
