# SPDX-License-Identifier: GPL-2.0-or-later
"""What is wrong with the CNID database and its server."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator

from company import arriving
from diskfaults import slowed
from faults import MIXES, Fault, Part, Site, Tally, repeated, send, stopping

DBD = ("dbd",)
LIST = str(MIXES / "list.ini")
# Loads that need the CNID server.
NAMING = ("metadata", "office", "write", "mixed")


@contextlib.contextmanager
def metad_stopped(site: Site, stopped: float) -> Iterator[None]:
    """cnid_metad is stopped: who has no cnid_dbd yet gets none."""
    metad = [site.metad] if site.metad and stopped else []
    send(metad, signal.SIGSTOP)
    try:
        yield
    finally:
        send(metad, signal.SIGCONT)


@contextlib.contextmanager
def database_stopped(site: Site, stopped: float) -> Iterator[None]:
    """The database server that has the CNIDs is stopped."""
    command = ["pgrep", "-f", f"/inst/{site.port}/mysql.sock"] if stopped else ["true"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    pids = [int(pid) for pid in found.split()]
    send(pids, signal.SIGSTOP)
    try:
        yield
    finally:
        send(pids, signal.SIGCONT)


@contextlib.contextmanager
def metad_killed(site: Site, killed: float) -> Iterator[None]:
    """cnid_metad has ended, and what it started."""
    if site.metad and killed:
        send([*site.dbds, site.metad], signal.SIGKILL)
    yield


@contextlib.contextmanager
def a_few_arrive(site: Site, _: float) -> Iterator[Tally]:
    """Clients come before there is a fault."""
    with arriving(site, 0, 0.7, 6) as tally:
        yield tally


@contextlib.contextmanager
def stopped_for_a_while(site: Site, seconds: float) -> Iterator[Tally]:
    """cnid_metad is stopped; clients come, and hang, before doctor looks, none when it does."""
    with metad_stopped(site, 1), arriving(site, 0, 0.5, 6) as tally:
        time.sleep(seconds)
        yield tally


@contextlib.contextmanager
def folder_locked(site: Site, locked: float) -> Iterator[None]:
    """Nobody can write into the folder of the CNID databases."""
    folder = site.inst / "cnid"
    attribute = "+i" if locked else "-i"
    subprocess.run(["chattr", "-R", attribute, str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["chattr", "-R", "-i", str(folder)], check=True)


def killing(site: Site, per_s: float) -> contextlib.AbstractContextManager[None]:
    """cnid_dbd is killed so often; cnid_metad starts it again."""

    def step(over: threading.Event) -> None:
        over.wait(1 / per_s if per_s else 1)
        if per_s:
            send(site.dbds, signal.SIGKILL)

    return repeated(step)


def locked_database(site: Site, share: float) -> contextlib.AbstractContextManager[None]:
    """Another program has the SQLite database locked for that share of each second."""
    path = site.inst / "cnid" / "vol1" / "vol1.sqlite"
    database = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)

    def step(over: threading.Event) -> None:
        with contextlib.suppress(sqlite3.OperationalError):
            if share > 0.001:
                database.execute("BEGIN EXCLUSIVE")
                time.sleep(share)
                database.execute("ROLLBACK")
        over.wait(max(0.02, 1 - share))

    return repeated(step)


CNID_FAULTS = (
    Fault(
        "stopped CNID server", ("cnid-stopped",), (0, 0.03, 0.6), stopping(lambda s: s.dbds),
        loads=NAMING, cnids=DBD,
    ),
    # It is stopped before there is any session.
    Fault(
        "stopped cnid_metad", ("cnid-stopped",), (None, None, 1), before=metad_stopped,
        loads=("browse", "office", "one"), cnids=DBD, hangs=True, settle_s=2,
    ),
    # Some have a session, those who come get none.
    Fault(
        "cnid_metad that stops", ("cnid-stopped",), (0, None, 1), metad_stopped,
        company=arriving, loads=("browse", "office", "one", "users"), cnids=DBD,
    ),
    Fault(
        "stopped database server", ("cnid-stopped",), (0, None, 1), database_stopped,
        loads=NAMING, cnids=("mysql",),
    ),
    Fault(
        "sessions that hang", ("cnid-stopped",), (None, None, 4),
        stopped_for_a_while, company=a_few_arrive, loads=("browse", "victim"), cnids=DBD,
    ),
    Fault(
        "dead cnid_metad", ("cnid-dead",), (None, None, 1), before=metad_killed,
        loads=("browse", "office", "one"), cnids=DBD, hangs=True, settle_s=2,
    ),
    Fault(
        "cnid_metad that dies", ("cnid-dead",), (0, None, 1), metad_killed, company=arriving,
        loads=("browse", "office", "metadata", "users"), cnids=DBD,
    ),
    Fault(
        "CNID folder", ("cnid-folder",), (None, None, 1), before=folder_locked,
        company=arriving,
        loads=("browse", "office", "one"), cnids=("dbd", "sqlite"), hangs=True, settle_s=2,
    ),
    Fault(
        "CNID server that dies", ("cnid-restarts",), (0, 0.5, 1), killing, loads=NAMING,
        cnids=DBD,
    ),
    Fault(
        "locked database", ("cnid-lock",), (0, 0.05, 0.9), locked_database,
        loads=NAMING, cnids=("sqlite",),
    ),
    Fault(
        "busy CNID server", ("cnid-slow",), (0, 100, 20e3), slowed, cnids=DBD,
        own=(Part("metadata", 8, 0.05, ("--files=10",)),), hooks={
            "AFPD_PRELOAD": "{slowcalls}", "AFPD_PRELOAD_IN": "cnid_metad",
            "AFPD_ENV": "SPIN_RECV_US={0:.0f}",
        },
    ),
    Fault(
        "directory cache", ("dircache",), (None, 24, 60), apart=True,
        own=(Part(LIST, 2, 0.005, ("--directories={0:.0f}",)),), cnids=DBD, suites=("forky",),
        hooks={"AFPD_GLOBAL": "dircache size = 1024"},
    ),
    # There it has at least 8,192 entries, by default so many.
    Fault(
        "directory cache of 4.2", ("dircache",), (None, None, 400), apart=True,
        own=(Part(LIST, 2, 0, ("--directories={0:.0f}",)),), cnids=DBD, suites=("trixie",),
        calm=(Part(LIST, 2, 0, ("--directories=20",)),), seconds=12,
    ),
)  # fmt: skip
