# SPDX-License-Identifier: GPL-2.0-or-later
"""ab: the order of its runs, restarts, and what a signal leaves."""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from afpscope import ab, compare
from afpscope.measure import turns
from afpscope.saved.run import AB_FILE, START, Run
from conftest import Done, Shelf

Execute = Callable[..., Done]


def test_what_comes_back_every_few_runs_falls_on_both_alike() -> None:
    sides = "".join(side for _, side in turns.order(16))
    assert sides.startswith("abbabaabbaababba")
    assert sorted(turns.order(16)) == [(pair, side) for pair in range(1, 17) for side in "ab"]
    for period in (2, 4, 8):
        assert {sides[start::period].count("a") for start in range(period)} == {16 // period}


FAKE = """#!/bin/sh
while [ "$1" != -o ]; do shift; done
mkdir "$2" && cp "$FAKE_RUN" "$2/run.json"
case $2 in *"$FAKE_OTHER") sed -i 's/"quantum_bytes": "/&77/' "$2/run.json";; esac
"""


def test_ab_runs_in_turn_and_compares(
    shelf: Shelf, execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = shelf.base / "afpscope"
    program.write_text(FAKE)
    program.chmod(0o755)
    monkeypatch.setenv("FAKE_RUN", str(shelf.put("source") / "run.json"))
    monkeypatch.setenv("FAKE_OTHER", "003b")
    line = ("--a", "afp://a/v", "--b", "afp://b/v", "--pairs", "3", "-o", shelf.base / "out")
    done = execute("ab", *line, "--program", program, "--", "lantest", "-n", "2")
    assert done.code == 2 and not done.out
    assert "server.quantum_bytes" in done.err.splitlines()[-1]
    line = (*line[:-1], shelf.base / "again")
    monkeypatch.setenv("FAKE_OTHER", "none")
    done = execute("ab", *line, "--program", program, "--", "lantest", "-n", "2")
    assert done.code == 0
    twice = execute("ab", *line, "--program", program, "--", "lantest", "-o", "else")
    assert twice.code == 2 and "give -o before --" in twice.err
    runs = [text for text in done.err.splitlines() if "ab: run " in text]
    assert [text.split(": ")[3][0] for text in runs] == list("abbaba")
    made = sorted(path.name for path in (shelf.base / "again").iterdir() if path.is_dir())
    assert made == ["001a", "001b", "002a", "002b", "003a", "003b"]
    assert "not enough runs" in done.out


def test_ab_and_compare_go_by_the_same_rules() -> None:
    """Else ab names a difference that compare, of the same runs, calls none."""
    rules = []
    for options in (ab.options, compare.options):
        parser = argparse.ArgumentParser()
        options(parser)
        rules.append([parser.get_default(name) for name in ("least", "force", "all", "format")])
    assert rules[0] == rules[1] == [compare.LEAST, False, False, "text"]


def program(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = shelf.base / "afpscope"
    path.write_text(FAKE)
    path.chmod(0o755)
    monkeypatch.setenv("FAKE_RUN", str(shelf.put("source") / "run.json"))
    monkeypatch.setenv("FAKE_OTHER", "none")
    return path


class Listener:
    """Takes connections on a free port, as a server that is up."""

    def __enter__(self) -> str:
        self.socket = socket.create_server(("127.0.0.1", 0))
        return f"afp://u@127.0.0.1:{self.socket.getsockname()[1]}/v"

    def __exit__(self, *_: object) -> None:
        self.socket.close()


def test_a_server_is_started_anew_before_each_run(
    shelf: Shelf, execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, said = program(shelf, monkeypatch), shelf.base / "said"
    out = shelf.base / "out"
    with Listener() as url:
        command = f'echo "$AFPSCOPE_SIDE $AFPSCOPE_URL" >> {said}'
        line = ("--a", url, "--b", url, "--pairs", "2", "-o", out, "--restart", command)
        done = execute("ab", *line, "--program", path, "--", "lantest")
    assert done.code == 0, done.err
    assert said.read_text().split() == [w for side in "abba" for w in (side, url)]
    starts = [Run.open(out / name).start for name in ("001a", "001b", "002a", "002b")]
    assert len(set(starts)) == 4 and None not in starts
    noted = json.loads((out / AB_FILE).read_text())
    assert noted["restart"] == command and noted["command"] == ["ab", "--", "lantest"]


def test_a_restart_that_fails_or_restarts_nothing_is_an_error(
    shelf: Shelf, execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = program(shelf, monkeypatch)
    source = shelf.base / "source" / "run.json"
    with Listener() as url:
        line = ("--a", url, "--b", url, "--pairs", "2", "--program", path)
        done = execute("ab", *line, "-o", shelf.base / "1", "--restart", "echo no; exit 3",
                       "--", "lantest")  # fmt: skip
        assert done.code == 1 and "ended with 3: no" in done.err
        value = json.loads(source.read_text())
        value["server"][START] = "pid 7"
        source.write_text(json.dumps(value))
        done = execute("ab", *line, "-o", shelf.base / "2", "--restart", "true", "--", "lantest")
    assert done.code == 1 and "001b was not restarted" in done.err and "pid 7" in done.err


# Ends a second after the first signal with a run, as the C program does; at once by a second one.
SLOW = """#!/bin/sh
while [ "$1" != -o ]; do shift; done
mkdir "$2"
end() {
    [ -z "$late" ] || { echo twice > "$2/twice"; exit 130; }
    late=1
    sleep 0.3
    sed 's/"complete": true/"complete": false/' "$FAKE_RUN" > "$2/run.json"
    exit 130
}
trap 'end "$@"' INT TERM HUP
touch "$2/up"
while :; do sleep 0.02; done
"""


@pytest.mark.parametrize("how", ["group", "alone"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_that_is_under_way_first(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, how: str
) -> None:
    path, out = program(shelf, monkeypatch), shelf.base / "out"
    path.write_text(SLOW)
    line = [sys.executable, "-B", "-m", "afpscope", "ab", "--a", "afp://a/v", "--b", "afp://b/v",
            "-o", out, "--program", path, "--", "lantest"]  # fmt: skip
    env = os.environ | {"PYTHONPATH": str(Path(ab.__file__).parents[1])}
    pipe = subprocess.PIPE
    with subprocess.Popen(line, env=env, stderr=pipe, text=True, start_new_session=True) as child:
        while not (out / "001a" / "up").exists():
            assert child.poll() is None
            time.sleep(0.01)
        if how == "group":
            os.killpg(child.pid, number)
        else:
            os.kill(child.pid, number)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert json.loads((out / "001a" / "run.json").read_text())["complete"] is False
    assert not (out / "001a" / "twice").exists() and not (out / "001b").exists()
    assert f"stopped by {number.name}: 0 of 24 runs are complete" in err and str(out) in err
