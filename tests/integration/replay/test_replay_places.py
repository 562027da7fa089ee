# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of several programs, replayed on every kind of server.

All on all places, as a table (an hour; what is not installed is left out and named):
    /usr/bin/python3 -B -m pytest -s -m judges tests/integration/replay -k all_places
Tests client/work/replay/replay_client.c, replay_commands.c, user/replay/replay.c. Some 20 s.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import replayplaces
from desktop import MANY, Desktop, at_port_548, missing
from netatalk import USERS, Server
from replaying import TRACE, about, sums
from replayplaces import Place
from scope import OK, REFUSED, Scope
from tracefile import read

SESSION = {2, 15, 16, 18, 19, 20, 24, 37, 38, 63, 64}  # logins, volumes, messages


# ---- what is recorded ----


def lantest(scope: Scope, server: Server, folder: Path) -> None:
    args = ("--tests", "1,5,8", "-n", "1")
    scope(server, *args, *TRACE, "-o", str(folder), timeout=300).expect(OK)


def office(scope: Scope, server: Server, folder: Path) -> None:
    args = ("--mix", "office", "-n", "50", "-d", "1", "--seed", "1", "--ramp", "0", "--no-probe")
    scope(server, *args, *TRACE, "-o", str(folder), tool="load").expect(OK)


def peer(scope: Scope, server: Server, folder: Path) -> None:
    """netatalk's own afp_lantest."""
    command = server.peer_command("afp_lantest", "-n", "1", "-f", "158")
    args = (*TRACE, "-o", str(folder))
    scope.execute(scope.recorder(server, *args, command=command), timeout=300).expect(OK)


def files_for(server: Server) -> None:
    (server.vol1 / "many").mkdir(exist_ok=True)
    for i in range(MANY):
        (server.vol1 / "many" / f"f{i}").write_bytes(bytes(100))
    subprocess.run(["chmod", "-R", "a+rwX", server.vol1], check=True)


def deeds(server: Server, folder: Path) -> None:
    """What GNOME's file manager sends for some deeds of a user."""
    folder.mkdir(parents=True)
    files_for(server)
    desktop = Desktop(folder)
    with at_port_548(server):
        try:
            desktop.do(f"mount {{}} <<< {USERS['bench1']}")
            for told in (
                "list {}/many",
                "info {}/many/f7",
                "copy SOURCE {}/old",
                "cat {}/old > /dev/null",
                "save {}/old < SOURCE",
                "rename {}/old other",
                "mkdir {}/new",
                "move {0}/other {0}/new/moved",
                "remove {}/new/moved",
                "remove {}/new",
            ):
                desktop.do(told)
        finally:
            desktop.close()
    shutil.rmtree(server.vol1 / "many")


def recorded(scope: Scope, server: Server, folder: Path, work: Callable[[], None]) -> None:
    running = scope.start(scope.recorder(server, *TRACE, "-o", str(folder)))
    running.wait_recording()
    work()
    running.signal(2)
    running.finish().expect(OK)


def gvfs(scope: Scope, server: Server, folder: Path) -> None:
    recorded(scope, server, folder, lambda: deeds(server, folder.with_name("gvfs-home")))


def mixed(scope: Scope, server: Server, folder: Path) -> None:
    """All at once."""

    def work() -> None:
        args = ("--mix", "office", "-n", "10", "-d", "3", "--seed", "2", "--no-probe")
        running = [
            scope.start(scope.command(server, *args, "--watch", "off", tool="load")),
            scope.start(server.peer_command("afp_lantest", "-n", "1", "-f", "58")),
            scope.start(scope.command(server, "--tests", "10", "--watch", "off")),
        ]
        if not missing():
            deeds(server, folder.with_name("mixed-home"))
        for each in running:
            each.finish(120).expect(OK)

    recorded(scope, server, folder, work)


HOUR_S = 120  # a second stands for half a minute


def hour(scope: Scope, server: Server, folder: Path) -> None:
    """An office's hour: who works all the time, who comes and goes, jobs, a backup, a morning on
    which all log in, and other programs; in turn and at once."""

    def load(mix: str, clients: int, seconds: float, seed: int, *more: str) -> list[str]:
        how = ("-m", mix, "-n", str(clients), "-d", str(seconds), "--seed", str(seed))
        return scope.command(
            server, *how, "--ramp", "0", "--no-probe", "--watch", "off", *more, tool="load"
        )

    visit = [
        (5 + 4 * i, load("browse", 2, 2, 100 + i, "--think", "0.2")) for i in range(HOUR_S // 4 - 3)
    ]
    begun: list[tuple[float, list[str]]] = [
        (0, load("browse", 6, HOUR_S - 5, 1, "--think", "0.5")),
        (2, load("login-storm", 10, 6, 2, "--rate", "20")),
        (8, load("office", 10, HOUR_S - 20, 3, "--think", "0.5")),
        (20, load("batch-read", 2, 15, 4, "--rate", "2")),
        (30, load("metadata", 3, 15, 5, "--think", "0.05")),
        (45, load("timemachine", 2, 25, 6, "--think", "0.1")),
        (55, scope.command(server, "--tests", "1,5", "-n", "1", "--watch", "off")),
        (65, server.peer_command("afp_lantest", "-n", "1", "-f", "58")),
        (90, load("login-storm", 10, 6, 7, "--rate", "20")),
        (95, load("office", 5, 10, 8)),
        *visit,
    ]

    def work() -> None:
        first, running = time.monotonic(), []
        desktop = threading.Timer(75, deeds, (server, folder.with_name("hour-home")))
        if not missing():
            desktop.start()
        for at, line in sorted(begun):
            time.sleep(max(0.0, first + at - time.monotonic()))
            running.append(scope.start(line))
        for each in running:
            each.finish(300).expect(OK)
        if not missing():
            desktop.join()

    recorded(scope, server, folder, work)


SOURCES = {
    "lantest": lantest,
    "afp_lantest": peer,
    "load office, 50 clients": office,
    "gvfs": gvfs,
    "all at once": mixed,
    "an hour": hour,
}
# How each is replayed; the others as fast as they can be.
SPEEDS = {"an hour": (("--speed", "1"), ("--speed", "4"))}

# ---- where it is replayed ----


def netatalk(suite: str, cnid: str) -> contextlib.AbstractContextManager[Place]:
    return replayplaces.afp(suite, cnid, AFPD_GLOBAL="max connections = 300")


PLACES: dict[str, Callable[[Path], contextlib.AbstractContextManager[Place]]] = {
    "4.5 dbd": lambda _: netatalk("forky", "dbd"),
    "4.5 sqlite": lambda _: netatalk("forky", "sqlite"),
    "4.5 mysql": lambda _: netatalk("forky", "mysql"),
    "4.2 dbd": lambda _: netatalk("trixie", "dbd"),
    "Samba 4.17": lambda _: replayplaces.smb("bookworm"),
    "Samba sid": lambda _: replayplaces.smb("sid"),
    "NFS": lambda _: replayplaces.nfs("bookworm"),
    "GlusterFS": lambda _: replayplaces.gluster("one"),
    "directory": replayplaces.directory,
}


class Figures(NamedTuple):
    """Of requests as the server has seen them, without those of sessions."""

    requests: int
    calls: int
    p50_us: float
    p99_us: float

    @classmethod
    def of(cls, folder: Path, which: set[int]) -> Figures:
        found = [r for r in read(folder / "trace" / "requests").records if r.command in which]
        times = sorted(r.time_ns / 1e3 for r in found) or [0.0]
        return cls(
            len(found),
            sum(r.calls for r in found),
            times[len(times) // 2],
            times[len(times) * 99 // 100],
        )

    def __str__(self) -> str:
        each = self.calls / self.requests if self.requests else 0
        return f"{self.requests:,} | {each:.2f} | {self.p50_us:.0f} | {self.p99_us:.0f}"


def commands(folder: Path) -> Counter[int]:
    records = read(folder / "trace" / "operations").records
    return Counter(o.command for o in records if o.command < 256 and o.command not in SESSION)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    for name, value in replayplaces.environment().items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module")
def source() -> Iterator[Server]:
    with netatalk("forky", "dbd") as place:
        assert place.server
        yield place.server


@pytest.fixture(scope="module")
def recordings(
    tmp_path_factory: pytest.TempPathFactory, scope: Scope, source: Server
) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def recording(name: str) -> Path:
        if name not in made:
            made[name] = tmp_path_factory.mktemp("recordings") / "recording"
            SOURCES[name](scope, source, made[name])
        return made[name]

    return recording


HEAD = """\
| Place | how | recorded | planned | server: requests | calls each | p50 us | p99 us \
| replayed: requests | calls each | p50 us | p99 us | bytes read/written | again \
| server's and client's p50, p99 us | otherwise | late p99 us | said |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"""


def waits(value: Any) -> str:
    """Of the three kinds that most requests are of: as the server took, and as clients waited."""

    def us(ns: int | None) -> str:
        return "-" if ns is None else f"{ns / 1e3:.0f}"

    most = sorted(value["requests"], key=lambda q: -int(q["recorded"]))[:3]
    keys = ("recorded_p50_ns", "p50_ns", "recorded_p99_ns", "p99_ns")
    return "; ".join(f"{q['name']} " + " ".join(us(q[key]) for key in keys) for q in most)


def row(scope: Scope, recording: Path, place: Place, folder: Path, how: tuple[str, ...]) -> str:
    more = TRACE if place.server else ()
    args = (str(recording), *more, *how, "-o", str(folder))
    done = scope.execute(place.line(scope, *args), timeout=600)
    assert done.status in (OK, REFUSED), done
    assert not [*place.disk.glob("LanTest-*")]
    value, counts = about(folder), sums(about(folder))
    assert sum(counts.values()) == value["planned"]
    then = Figures.of(recording, {*commands(recording)})
    now = str(Figures.of(folder, {*commands(folder)})) if place.server else " | | | "
    otherwise = ", ".join(f"{k} {n:,}" for k, n in counts.items() if n and k != "as_recorded")
    told = "; ".join(w["text"] for w in done.run.saved["warnings"]) if done.run else ""
    for line in done.out.splitlines():
        if any(s in line for s in ("first that was answered", "requests were", "request was")):
            told += line.strip() + "; "
    late = "-" if value["late_p99_ns"] is None else f"{value['late_p99_ns'] / 1e3:.0f}"
    return (
        f"| {place.name} | {' '.join(how)} | {value['recorded']:,} | {value['planned']:,} "
        f"| {then} | {now} "
        f"| {value['recorded_read_bytes']:,}/{value['recorded_written_bytes']:,} "
        f"| {value['read_bytes']:,}/{value['written_bytes']:,} | {waits(value)} "
        f"| {otherwise or 'none'} | {late} | {told} |"
    )


@pytest.mark.judges
@pytest.mark.limit(3600)
@pytest.mark.parametrize("name", SOURCES)
def test_all_on_all_places(
    scope: Scope, recordings: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    if name == "gvfs" and missing():
        pytest.skip(missing())
    recording = recordings(name)
    said = scope(None, "--dry-run", str(recording), tool="replay").expect(OK).out
    print(f"\n### {name}\n\n{said}\n{HEAD}")
    failed = []
    for number, (what, make) in enumerate(PLACES.items()):
        try:
            with make(tmp_path / f"place-{number}") as place:
                place.disk.chmod(0o777)
                for i, how in enumerate(SPEEDS.get(name, (("--no-think",),))):
                    folder = tmp_path / f"run-{number}-{i}"
                    print(row(scope, recording, place, folder, how), flush=True)
        except (RuntimeError, AssertionError) as why:
            failed.append(f"{what}: {why}")  # the others all the same
    assert not failed, "\n".join(failed)
