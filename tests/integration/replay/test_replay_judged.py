# SPDX-License-Identifier: GPL-2.0-or-later
"""What is concluded from replays of real servers: that the same server answers the same, whether it
keeps up, where the knee is, what is wrong with it; and their job files.

Tests user/replay/replay_judge.c, replay_opts.c. Some 20 s.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jobs import repeated
from netatalk import USERS, Server
from offline import analysis
from replaying import office, recorded
from scope import OK, SLOW, Scope


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory, scope: Scope, _dbd: Server) -> Path:
    load = office(2, 7, 1, "--think", "0.05")
    return recorded(scope, _dbd, tmp_path_factory.mktemp("judged") / "recording", load)


@pytest.fixture(scope="module")
def replays(recording: Path, scope: Scope, _dbd: Server) -> list[Path]:
    """Two of them on the same server."""
    found = [recording.parent / name for name in ("one", "two")]
    for folder in found:
        scope(_dbd, str(recording), "-o", str(folder), tool="replay").expect(OK)
    return found


def replay(folder: Path) -> Any:
    return json.loads((folder / "run.json").read_text())["phases"][0]["replay"]


def test_a_server_keeps_up_with_its_own_users(replays: list[Path]) -> None:
    """A busy machine may make it late: then that is not told, or it is a server that is late."""
    for folder in replays:
        kept_up = replay(folder)["kept_up"]
        assert kept_up["text"].startswith("p99<=")
        within = kept_up["value_ns"] <= kept_up["limit_ns"]
        assert (kept_up["verdict"] == "kept") <= within
        assert (kept_up["verdict"] == "broken") <= (not within)


def test_the_same_server_answers_and_calls_as_recorded(
    recording: Path, replays: list[Path]
) -> None:
    done = analysis("compare", "--json", recording, "--", *replays)
    assert done.returncode == OK, done.stderr
    found = json.loads(done.stdout)
    assert found["text"][0].startswith("Answered as recorded: all "), found["text"]
    assert "in each of 2 replays" in found["text"][0]
    assert any("made as many system calls" in text for text in found["text"]), found
    assert sum(row["alike"] for row in found["served"]) > 2
    assert all(row["verdict"] in ("", "not enough runs") for row in found["served"])


def test_two_replays_on_one_server_do_not_differ(replays: list[Path]) -> None:
    done = analysis("compare", *replays)
    assert done.returncode == OK, done.stderr
    assert re.search(r"counts: \d+ rows the same, \d+ may vary, 0 differ", done.stdout), done.stdout
    assert "not enough runs" in done.stdout and "slower" not in done.stdout


def test_a_limit_decides_the_exit_code(
    scope: Scope, dbd: Server, recording: Path, tmp_path: Path
) -> None:
    args = (str(recording), "--slo", "rate>=1000000", "-o", str(tmp_path / "run"))
    done = scope(dbd, *args, tool="replay").expect(SLOW)
    assert "Limit rate>=1000000: NOT KEPT" in done.out
    assert replay(tmp_path / "run")["kept_up"]["text"].startswith("p99<=")


def test_doctor_judges_a_replay_as_any_load(replays: list[Path]) -> None:
    """At its end, by as many figures as of the recorded load."""
    saved = json.loads((replays[0] / "run.json").read_text())
    assert saved["diagnosis"]["verdict"] != "not_counted"
    load = json.loads((replays[0].parent / "recording" / "run.json").read_text())
    known = [
        {key for key, figure in run["figures"].items() if figure["value"] is not None}
        for run in (saved, load)
    ]
    assert known[1] - known[0] == set()


def test_a_replay_is_repeated_by_its_own_file(
    scope: Scope, recording: Path, tmp_path: Path
) -> None:
    (tmp_path / "place").mkdir()
    line = ["replay", str(recording), "--speed", "4", "--slo", "p99<=9s", str(tmp_path / "place")]
    first, _ = repeated(scope, tmp_path, [*line, "--watch", "off"])
    assert first.saved["options"]["speed"] == "4"


def test_a_sweep_replays_at_each_speed(
    scope: Scope, dbd: Server, recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFPSCOPE_PASSWORD", USERS["bench1"])
    url, out = f"afp://bench1@127.0.0.1:{dbd.port}/vol1", tmp_path / "out"
    done = analysis("sweep", "--program", scope.binary, "--replay", recording, "--speed", "1,2",
                    "--pause", "0", "--refine", "0", "-o", out, url)  # fmt: skip
    assert done.returncode == OK, done.stderr
    made = json.loads((out / "sweep.json").read_text())
    assert made["command"] == "replay" and made["option"] == "speed"
    speeds = {s["value"]: replay(out / s["folder"])["planned_ns"] for s in made["steps"]}
    assert speeds["1"] == pytest.approx(2 * speeds["2"], rel=0.01)
    assert "Knee" in done.stdout or "knee" in done.stdout
    assert "recording = " in (out / "job.ini").read_text()
    again = analysis("sweep", "--program", scope.binary, "--show-job", out / "job.ini")
    assert "speed = 1,2" in again.stdout, again.stderr
