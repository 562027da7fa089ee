# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of every length, deep folders, two volumes, sessions that come and go: no load has them.

Tests client/work/replay/replay_names.c, replay_tree.c, replay_close.c, replay_share.c. Some 15 s.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import replayplaces
from macclient import NO_OBJECT, Mac
from netatalk import Server
from recording import gone
from replaying import TRACE, about, sums
from replayplaces import Place
from scope import FAILED, NO_SESSION, OK, USAGE, PinnedServer, Scope, both_cpus

KINDS = {
    "ascii": "x",
    "composed": "\u00e9",
    "decomposed": "e\u0301",
    "wide": "\u65e5",
    "emoji": "\U0001f600",
}
MOST, SHORT = 255, 250
DEEP, LONG = 250, 20  # folders below each other; and bytes of each name where these are fewer
ID = struct.pack(">HH", 0x0100, 0x0100)

Work = Callable[[Server], None]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in replayplaces.environment().items():
        monkeypatch.setenv(name, value)


@contextlib.contextmanager
def mac(server: Server, user: str = "bench1") -> Iterator[Mac]:
    with contextlib.closing(Mac(server.port, user=user)) as client:
        yield client


def recorded(scope: Scope, server: Server, folder: Path, work: Work) -> Path:
    running = scope.start(scope.recorder(server, *TRACE, "-o", str(folder)))
    running.wait_recording()
    work(server)
    running.signal(2)
    running.finish().expect(OK)
    return folder


def replayed(scope: Scope, place: Place, recording: Path, to: Path, *args: str) -> dict[str, int]:
    """What came of its requests."""
    line = place.line(scope, str(recording), "--no-think", *args, "-o", str(to))
    scope.execute(line, timeout=300)
    value = about(to)
    assert value, scope.execute(line)
    counts = sums(value)
    assert sum(counts.values()) == value["planned"]
    return {what: n for what, n in counts.items() if n}


def names(kind: str) -> list[str]:
    """One of each length that such a name can have."""
    letter = KINDS[kind]
    return [letter * n for n in range(1, MOST // len(letter.encode()) + 1)]


def look_at(client: Mac, folder: int, all_: list[str]) -> None:
    """Each is found, gets another name of this length, is read, and every second is removed; the
    longest, to which netatalk renames nothing, are only found."""
    for name in all_:
        client.about(34, folder, ID, name)
        if len(name.encode()) > SHORT:
            continue
        new = "y" * len(name.encode())
        head = struct.pack(">BBHI", 28, 0, client._volume, folder)
        client.do(head + client.path(name) + client.path(new))
        fork = client.open_file(folder, new, 0x100)
        client.do(struct.pack(">BBHqq", 60, 0, fork, 0, 10), -5009)
        client.do(struct.pack(">BBH", 4, 0, fork))
        if len(name) % 2:
            client.about(8, folder, b"", new)


def places(which: str, folder: Path) -> contextlib.AbstractContextManager[Place]:
    if which == "directory":
        return replayplaces.directory(folder)
    return replayplaces.smb() if which == "smb" else replayplaces.nfs()


@pytest.fixture(
    params=[
        "afp",
        "directory",
        *(pytest.param(n, marks=pytest.mark.judges) for n in ("smb", "nfs")),
    ]
)
def place(request: pytest.FixtureRequest, guests: Server, tmp_path: Path) -> Iterator[Place]:
    if request.param == "afp":
        yield replayplaces.of_server(guests)
    else:
        with places(request.param, tmp_path / "place") as found:
            found.disk.chmod(0o777)
            yield found


@pytest.fixture(scope="module")
def of_names(tmp_path_factory: pytest.TempPathFactory, scope: Scope, _guests: Server) -> Path:
    """A folder of each kind of names."""
    with mac(_guests) as client:
        top = client.make(2, "every")
        folders = {kind: client.make(top, kind) for kind in KINDS}
        for kind, folder in folders.items():
            for name in names(kind):
                client.about(7, folder, b"", name)

    def work(server: Server) -> None:
        with mac(server) as client:
            for kind, folder in folders.items():
                client.about(34, top, ID, kind)
                look_at(client, folder, names(kind))

    folder = recorded(scope, _guests, tmp_path_factory.mktemp("names") / "recording", work)
    shutil.rmtree(_guests.vol1 / "every")
    return folder


def lengths(disk: Path) -> Counter[int]:
    """Of the names as a client sent them: netatalk composes a first letter with a mark."""

    def length(name: str) -> int:
        apart = unicodedata.normalize("NFD", name)
        marked = apart[0] in "csznrlgk" and apart[1:2] == "\u0301"
        return len((apart if marked else name).encode())

    return Counter(length(name) for _, _, files in os.walk(disk) for name in files)


def test_names_have_every_length(
    scope: Scope, of_names: Path, place: Place, tmp_path: Path
) -> None:
    scope.execute(place.line(scope, str(of_names), "--prepare")).expect(OK)
    (base,) = place.disk.glob("afpscope-replay-*")
    wanted = Counter(len(name.encode()) for kind in KINDS for name in names(kind))
    assert lengths(base) == wanted
    kept = replayed(scope, place, of_names, tmp_path / "run", "--keep")
    assert set(kept) == {"as_recorded"}
    assert lengths(base) == Counter(
        len(name.encode())
        for kind in KINDS
        for name in names(kind)
        if len(name) % 2 == 0 or len(name.encode()) > SHORT
    )
    shutil.rmtree(base)


@pytest.fixture(scope="module", params=[(DEEP, 1), (100, LONG)])
def of_depth(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    scope: Scope,
    _guests: Server,
) -> Path:
    """Folders below each other, and what is done in the last of them."""
    depth, letters = request.param
    with mac(_guests) as client:
        folder = 2
        for _ in range(depth):
            folder = client.make(folder, "d" * letters)
        client.about(7, folder, b"", "old")

    def work(server: Server) -> None:
        with mac(server) as client:
            at = 2
            for _ in range(depth):
                (at,) = struct.unpack_from(">I", client.about(34, at, ID, "d" * letters), 6)
            look_at(client, at, ["old"])
            client.about(7, at, b"", "new")
            look_at(client, at, ["new"])
            client.about(8, at, b"", "y" * 3, b"", NO_OBJECT)
            client.make(at, "below")
            client.entries(at, 10)
            client.about(8, at, b"", "below")

    folder_of = tmp_path_factory.mktemp("depth") / "recording"
    recorded(scope, _guests, folder_of, work)
    shutil.rmtree(_guests.vol1 / ("d" * letters))
    return folder_of


def test_folders_may_be_deep(scope: Scope, of_depth: Path, place: Place, tmp_path: Path) -> None:
    found = replayed(scope, place, of_depth, tmp_path / "run")
    assert set(found) == {"as_recorded"}
    assert not [*place.disk.glob("*eplay*"), *place.disk.glob("LanTest-*")]


def test_two_volumes_are_two_folders(scope: Scope, guests: Server, tmp_path: Path) -> None:
    """The same names in both, and a file is copied from one to the other, which a directory has
    not."""

    def work(server: Server) -> None:
        with mac(server) as client:
            volumes = [client._volume, client.open_volume("vol2")]
            for volume in volumes:
                client._volume = volume
                client.about(7, 2, b"", "same")
                fork = client.open_file(2, "same", 0x100)
                client.write(fork, 0, b"x" * (100 * volume))
                client.do(struct.pack(">BBH", 4, 0, fork))
            head = struct.pack(">BBHIHI", 5, 0, volumes[0], 2, volumes[1], 2)
            client.do(head + client.path("same") + client.path() + client.path("copy"))
            client.about(34, 2, ID, "copy")
            for name in ("copy", "same"):
                client.about(8, 2, b"", name)
            client._volume = volumes[0]
            client.about(8, 2, b"", "same")

    recording = recorded(scope, guests, tmp_path / "recording", work)
    with replayplaces.directory(tmp_path / "place") as there:
        found = replayed(scope, replayplaces.of_server(guests), recording, tmp_path / "afp")
        assert set(found) == {"as_recorded"}
        n = found["as_recorded"]
        found = replayed(scope, there, recording, tmp_path / "run")
        assert found == {"as_recorded": n - 3, "not_supported": 1, "new_error": 2}


def test_sessions_that_come_and_go_share_places(scope: Scope, tmp_path: Path) -> None:
    """Eight, two at a time at most; the server takes four, one of which is the replay's own."""

    def work(server: Server) -> None:
        for _ in range(4):
            with mac(server) as one, mac(server) as two:
                for client in (one, two, one):
                    client.about(34, 2, ID, "")
            gone(server)

    hooks = {"AFPD_GLOBAL": "max connections = 4"}
    with PinnedServer("forky", "dbd", both_cpus()[1], **hooks) as server:
        recording = recorded(scope, server, tmp_path / "recording", work)
        said = scope(None, "--dry-run", str(recording), tool="replay").expect(OK).out
        assert "of 8 clients (at most 2 at the same time: see --sessions)" in said
        place = replayplaces.of_server(server)
        line = place.line(scope, str(recording), "--watch", "off")
        scope.execute(line).expect(NO_SESSION, "no more sessions: with --sessions 2, sess")
        gone(server)
        found = replayed(scope, place, recording, tmp_path / "run", "--sessions", "2")
        assert found == {"as_recorded": 12}
        gone(server)
        found = replayed(scope, place, recording, tmp_path / "both", "--sessions=3", "--clients=x1")
        assert found == {"as_recorded": 12}
        scope.execute([*line, "--sessions", "1"]).expect(FAILED, "2 sessions are open at the same")
        scope.execute([*line, "--sessions", "2", "--clients", "x3"]).expect(USAGE, "fewer than")
