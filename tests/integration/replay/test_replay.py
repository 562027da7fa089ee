# SPDX-License-Identifier: GPL-2.0-or-later
"""A load that was recorded, replayed: the same requests come to the server again.

Tests user/replay/replay.c, recording.c, replay_clients.c, replay_opts.c, replay_text.c,
user/replay/replay_users.c, user/report/json/replay.c, user/report/screen/screen_replay.c,
client/work/replay, user/app/job.c.
Some 15 s.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from netatalk import Server
from replaying import TRACE, office, recorded
from scope import FAILED, OK, USAGE, Scope
from tracefile import PACKET, read

CLOSE, FLUSH, READ, WRITE = 4, 11, 60, 61
ON_FILES = (CLOSE, FLUSH, READ, WRITE)
FIXED = (CLOSE, FLUSH)
SESSION = {2, 18, 19, 20, 24, 63, 64}  # logins, volumes


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory, scope: Scope, _dbd: Server) -> Path:
    return recorded(scope, _dbd, tmp_path_factory.mktemp("replay") / "recording", office(3, 7))


def phase(folder: Path) -> Any:
    return json.loads((folder / "run.json").read_text())["phases"][0]


def moved(folder: Path) -> Counter[tuple[int, ...]]:
    """What was done with open files; with how many system calls of the server, where that does
    not depend on how the bytes come through its socket."""
    operations, requests = (
        read(folder / "trace" / name).records for name in ("operations", "requests")
    )
    return Counter(
        (o.command, o.offset, o.length, o.actual, o.result, r.calls * (o.command in FIXED))
        for o, r in zip(operations, requests, strict=True)
        if o.command in ON_FILES
    )


def test_the_same_requests_come_to_the_server(
    scope: Scope, dbd: Server, recording: Path, tmp_path: Path
) -> None:
    """Each request of the load is sent once; those on files have the same lengths, offsets and
    results; closing and flushing take as many system calls."""
    args = (str(recording), *TRACE, "--no-think", "-o", str(tmp_path / "run"))
    done = scope(dbd, *args, tool="replay").expect(OK)
    assert "otherwise" in done.out
    replayed = phase(tmp_path / "run")
    records = read(recording / "trace" / "operations").records
    wanted = Counter(o.command for o in records if o.command < 256 and o.command not in SESSION)
    assert {c["code"]: c["ops"] for c in replayed["commands"]} == wanted
    assert moved(tmp_path / "run") == moved(recording)
    about = replayed["replay"]
    assert about["read_bytes"] == about["recorded_read_bytes"] > 0
    assert about["written_bytes"] == about["recorded_written_bytes"] > 0
    assert sum(q["as_recorded"] for q in about["requests"]) == about["planned"] == wanted.total()
    assert about["unordered"] == 0
    # Of fewer than 100 the 99th of a hundred would be the longest one.
    assert {q["recorded"] >= 100 for q in about["requests"]} == {True, False}
    for q in about["requests"]:
        assert (q["recorded_p99_ns"] is not None) == (q["recorded"] >= 100)


def test_in_a_directory_it_says_the_same(scope: Scope, recording: Path, tmp_path: Path) -> None:
    """By paths; nothing is left."""
    place = tmp_path / "place"
    place.mkdir()
    args = (str(recording), str(place), "--no-think", "--watch", "off")
    scope(None, *args, "-o", str(tmp_path / "run"), tool="replay").expect(OK)
    about = phase(tmp_path / "run")["replay"]
    assert sum(q["as_recorded"] for q in about["requests"]) == about["planned"] > 100
    assert not list(place.iterdir())


def test_of_a_damaged_recording_the_rest_is_replayed(
    scope: Scope, dbd: Server, recording: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(recording, broken)
    stream = broken / "trace" / "operations"
    data = bytearray(stream.read_bytes())
    data[PACKET + 3000] ^= 0x55
    stream.write_bytes(data[: 2 * PACKET + 700])
    said = scope(None, "--dry-run", str(broken), tool="replay").expect(OK).out
    assert "the recording is damaged: 1 of 2 packets, and 700 bytes at its end" in said
    args = (str(broken), "--no-think", "-o", str(tmp_path / "run"))
    done = scope(dbd, *args, tool="replay").expect(OK)
    assert "recording is damaged" in done.out


def test_what_it_needs_is_made_before_and_used(
    scope: Scope, dbd: Server, recording: Path, tmp_path: Path
) -> None:
    """--prepare leaves the files, another one leaves them as they are, the replay removes them."""
    begin = read(recording / "trace" / "operations").records
    middle = str((begin[len(begin) // 2].t - begin[0].t) / 1e9)
    args = (str(recording), "--from", middle, "--watch", "off")
    for _ in range(2):
        done = scope(dbd, *args, "--prepare", tool="replay").expect(OK)
        assert "afpscope-replay-" in done.err
    scope(dbd, *args, "--no-think", tool="replay").expect(OK)
    again = scope(dbd, *args, "--no-think", tool="replay").expect(OK)
    assert "LanTest" not in again.out


def test_what_an_earlier_replay_left_is_used_or_made_anew(
    scope: Scope, dbd: Server, recording: Path
) -> None:
    """Also where the recording makes directories: nothing in these is in the image. The third
    command finds files where the recording has none yet."""
    args = (str(recording), "--no-think", "--watch", "off", "--no-save")
    for how in (("--prepare",), ("--prepare", "--clients", "x2"), ("--keep", "--to", "1"), ()):
        said = scope(dbd, *args, *how, tool="replay").expect(OK).out
        assert "but not in the recording" not in said


def test_what_is_no_recording_is_refused(scope: Scope, tmp_path: Path) -> None:
    said = scope(None, "--dry-run", str(tmp_path), tool="replay").expect(FAILED).err
    assert "is no recording that can be replayed" in said
    scope(None, tool="replay").expect(USAGE)


def test_a_part_in_which_nothing_is_says_how_long_all_is(scope: Scope, recording: Path) -> None:
    late = ("--dry-run", "--from", "1000", str(recording))
    said = scope(None, *late, tool="replay").expect(FAILED).err
    assert "nothing in this part of it can be replayed; all of it is " in said


def test_copies_do_the_same_each_in_files_of_its_own(
    scope: Scope, recording: Path, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    args = (str(recording), str(place), "--no-think", "--watch", "off", "--clients")
    runs = [tmp_path / n for n in ("x1", "x3")]
    done = [scope(None, *args, run.name, "-o", str(run), tool="replay").expect(OK) for run in runs]
    assert "(3 copies of 4)" in done[1].err
    once, thrice = (phase(run)["replay"] for run in runs)
    assert (once["copies"], thrice["copies"]) == (1, 3)
    for key in ("recorded", "planned", "recorded_read_bytes", "read_bytes", "written_bytes"):
        assert thrice[key] == 3 * once[key] > 0
    assert [q["as_recorded"] for q in thrice["requests"]] == [
        3 * q["as_recorded"] for q in once["requests"]
    ]
    assert phase(runs[1])["load"]["opened"] == 3 * phase(runs[0])["load"]["opened"]
    assert not list(place.iterdir())


def test_users_of_the_recording_log_in_as_others(scope: Scope, dbd: Server, tmp_path: Path) -> None:
    """Those of a load by two users; one of them only; and what each made is removed."""
    users = tmp_path / "users"
    users.write_text("bench1,secret1\nbench2,secret1\n")
    load = office(3, 7, 1, "--think", "0.01", "--users", str(users))
    folder = str(recorded(scope, dbd, tmp_path / "recording", load))
    said = scope(None, "--dry-run", "--of-user", "bench2", folder, tool="replay").expect(OK).out
    assert ": 1 session," in said
    assert ", not replayed" in said
    users.write_text("bench1=bench2,secret1\nbench2=bench1,secret1\n")
    args = (folder, "--no-think", "--users", str(users))
    done = scope(dbd, *args, "-o", str(tmp_path / "run"), tool="replay").expect(OK)
    assert "have no line" not in done.out
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    who = Counter(s["user"] for s in run["sessions"])
    # of bench1 were two clients of the load and its own session; that of the replay is, too. All
    # clients of the replay log in twice: to make the files, and to send the requests.
    assert (who["bench2"], who["bench1"]) == (2 * (2 + 1), 2 + 1)
    about = phase(tmp_path / "run")["replay"]
    assert sum(q["as_recorded"] for q in about["requests"]) == about["planned"] > 100
    users.write_text("bench1=bench2,secret1\n")
    done = scope(dbd, *args, "--clients", "x2", tool="replay").expect(OK)
    assert "1 of 2 users of the recording have no line in --users" in done.out
