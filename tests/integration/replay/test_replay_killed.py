# SPDX-License-Identifier: GPL-2.0-or-later
"""A replay that is ended in any phase, on any kind of place, leaves nothing but what --prepare
made, and that is of use.

Tests user/replay/replay.c, replay_clients.c, client/work/replay/replay_make.c, user/app/warden.c,
user/main/clean.c. Some 30 s.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from netatalk import Server
from replaying import (
    about,
    copied,
    longer,
    of,
    office,
    packets,
    put_others,
    recorded,
    rewrite,
    seen,
    summed,
    sums,
    take_others,
)
from replayplaces import Place, directory, environment, nfs, of_server, smb
from scope import INTERRUPTED, OK, Running, Scope, wait_until
from tracefile import PACKET

SENT = re.compile(r'"actions":[1-9]')  # of --live=json
LARGE = 64 << 20
LISTED = 500  # entries that the recording is made to have in each folder that was listed
LONGER = 8 << 20  # bytes that each file is made to be longer by

INT, KILL = signal.SIGINT, signal.SIGKILL
INT_TOO, TERM_TOO, KILL_TOO = (
    pytest.param(number, marks=pytest.mark.judges) for number in (INT, signal.SIGTERM, KILL)
)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory, scope: Scope, _dbd: Server) -> Path:
    """Its image takes a while: it has many files, and long ones."""
    folder = recorded(scope, _dbd, tmp_path_factory.mktemp("killed") / "recording", office(2, 9))
    rewrite(folder, longer(LONGER, LISTED))
    return folder


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, recording: Path) -> Path:
    """It takes a while to plan."""
    folder = copied(recording, tmp_path_factory.mktemp("large") / "recording")
    parts, out = [*packets(of(folder).read_bytes())], []
    for i in range(LARGE // PACKET):
        packet = parts[i % len(parts)]
        packet[64:72] = i.to_bytes(8, "little")
        out.append(summed(packet))
    of(folder).write_bytes(b"".join(out))
    return folder


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)


OTHERS = [pytest.param(name, marks=pytest.mark.judges) for name in ("smb", "nfs", "directory")]


@pytest.fixture(scope="module", params=["afp", *OTHERS])
def place(
    request: pytest.FixtureRequest, _guests: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    with contextlib.ExitStack() as stack:
        if request.param == "afp":
            yield of_server(_guests)
        elif request.param == "smb":
            yield stack.enter_context(smb())
        elif request.param == "nfs":
            yield stack.enter_context(nfs())
        else:
            yield stack.enter_context(directory(tmp_path_factory.mktemp("place") / "dir"))


@pytest.fixture
def others(place: Place) -> Iterator[Callable[[], None]]:
    """Whether all is as it was, and no session is left."""
    before = put_others(place.disk)
    place.disk.chmod(0o777)

    def as_it_was() -> None:
        wait_until(lambda: seen(place.disk) == before, 60, f"{place.name} to be as before")
        wait_until(lambda: not place.sessions(), 20, "the end of all sessions")

    yield as_it_was
    as_it_was()
    take_others(place.disk)


def base(place: Place) -> Path | None:
    found = [*place.disk.glob("LanTest-*"), *place.disk.glob("afpscope-replay-????????")]
    return found[0] if found else None


def entries(place: Place) -> int:
    folder = base(place)
    return sum(len(files) for _, _, files in os.walk(folder)) if folder else 0


def ended(running: Running, number: signal.Signals) -> None:
    running.signal(number)
    if number == KILL:
        running.process.wait(60)
    else:
        running.finish(60).expect(INTERRUPTED)


@pytest.mark.parametrize("number", [INT, KILL_TOO])
def test_while_it_plans(
    scope: Scope, place: Place, large: Path, others: Callable[[], None], number: signal.Signals
) -> None:
    running = scope.start(place.line(scope, str(large)))
    files = Path(f"/proc/{running.process.pid}/fd")

    def reads() -> bool:
        with contextlib.suppress(OSError):
            return any(str(of(large)) == str(path.readlink()) for path in files.iterdir())
        return False

    wait_until(lambda: reads() or running.process.poll() is not None, 30, "it to read")
    ended(running, number)
    assert "The image is made" not in running.err
    others()


@pytest.mark.parametrize("number", [INT_TOO, TERM_TOO, KILL])
def test_while_it_makes_the_files_of_a_replay(
    scope: Scope, place: Place, recording: Path, others: Callable[[], None], number: signal.Signals
) -> None:
    running = scope.start(place.line(scope, str(recording)))
    wait_until(lambda: entries(place) > 100 or running.process.poll() is not None, 60, "files")
    ended(running, number)
    assert "The image is made" not in running.err
    others()


@pytest.mark.parametrize("number", [INT, KILL_TOO])
def test_what_prepare_made_is_used_by_the_next_one(
    scope: Scope,
    place: Place,
    recording: Path,
    others: Callable[[], None],
    tmp_path: Path,
    number: signal.Signals,
) -> None:
    """It is interrupted twice; the replay then is answered as one whose files were made at once."""
    line = place.line(scope, str(recording), "--prepare")
    n = 0
    for _ in range(2):
        running = scope.start(line)
        wait_until(lambda n=n: entries(place) > n + 50, 60, "more files")
        ended(running, number)
        if number != KILL:
            assert "the same command makes the rest" in running.err
        wait_until(lambda: not place.sessions(), 20, "the end of all sessions")
        assert entries(place) > n
        n = entries(place)
    clean = place.line(scope, tool="clean")
    if place.name == "a directory":
        clean = [word for word in clean if word not in ("--watch", "off")]
    kept = scope.execute(clean).expect(OK).out
    assert "afpscope-replay-" in kept and "--all removes it" in kept and entries(place) == n
    results = []
    for more in (("--no-think",), ("--no-think",)):
        args = (*more, "-o", str(tmp_path / f"run-{len(results)}"))
        scope.execute(place.line(scope, str(recording), *args), timeout=120)
        results.append(sums(about(tmp_path / f"run-{len(results)}")))
        others()
    assert results[0] == results[1]


@pytest.mark.parametrize("number", [INT_TOO, TERM_TOO, KILL])
def test_while_it_sends_requests(
    scope: Scope,
    place: Place,
    recording: Path,
    others: Callable[[], None],
    tmp_path: Path,
    number: signal.Signals,
) -> None:
    """What was measured is kept, and said to be no whole run."""
    args = ("--speed", "0.05", "-o", str(tmp_path / "run"), "--json", str(tmp_path / "json"))
    running = scope.start(place.line(scope, str(recording), *args, "--live=json"))
    running.json = tmp_path / "json"
    wait_until(lambda: bool(SENT.search(running.err)), 60, "it to send requests", 0.1)
    if number == KILL:
        ended(running, number)
    else:
        running.signal(number)
        done = running.finish(60).expect(INTERRUPTED)
        assert done.run and not done.run.complete
        said = [w["text"] for w in done.run.saved["warnings"] if w["key"] is None]
        assert "broke off: interrupted" in said
        value = done.run.saved["phases"][0]["replay"]
        assert sum(sums(value).values()) < value["planned"]
    others()


@pytest.mark.parametrize("number", [INT_TOO, TERM_TOO, KILL])
def test_while_it_removes_the_files(
    scope: Scope, place: Place, recording: Path, others: Callable[[], None], number: signal.Signals
) -> None:
    running = scope.start(place.line(scope, str(recording), "--no-think"))
    running.wait_for("The image is made")
    most = 0

    def removes() -> bool:
        nonlocal most
        n = entries(place)
        most = max(most, n)
        return n < most - 100 or running.process.poll() is not None

    wait_until(removes, 60, "it to remove files", 0.001)
    running.signal(number)
    running.process.wait(60)
    others()


def test_clean_removes_what_prepare_made_if_told_so(
    scope: Scope, tmp_path: Path, recording: Path
) -> None:
    with directory(tmp_path / "place") as place:
        before = put_others(place.disk)
        scope.execute(place.line(scope, str(recording), "--prepare")).expect(OK)
        name = f"afpscope-replay-{uuid_of(recording)[:8]}"
        assert (place.disk / name).is_dir()
        clean = [str(scope.binary), "clean", str(place.disk)]
        assert f"{name}: kept, " in scope.execute(clean).expect(OK).out
        said = scope.execute([*clean, "--all", "--dry-run"]).expect(OK).out
        assert f"{name}: would be removed" in said
        assert f"{name}: removed" in scope.execute([*clean, "--all"]).expect(OK).out
        assert seen(place.disk) == before


def uuid_of(recording: Path) -> str:
    layout = json.loads((recording / "trace" / ".layout.json").read_text())
    return str(layout["uuid"])
