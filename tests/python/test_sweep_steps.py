# SPDX-License-Identifier: GPL-2.0-or-later
"""sweep: which steps it makes, what it passes on, and what a signal or a failure leaves.

The program is a script that keeps a made-up run for the number of clients that it is given.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from afpscope import Failure, sweep
from afpscope.limit import outcome
from afpscope.measure import children, quiet, swept
from afpscope.saved import steps
from conftest import Done, Shelf
from sweeping import Made, document, each
from sweeping import sweep as made_sweep

Execute = Callable[..., Done]
KNEE = 20

FAKE = """#!/bin/sh
here=$(dirname "$0")
case " $* " in *" --show-job "*)
    printf '; a job\\n[run]\\ncommand = load\\n'
    for word; do
        [ "$last" != --clients ] || echo "clients = $word"
        last=$word
    done
    exit 0 ;;
esac
echo "$*" >> "$here/said"
for word; do
    case $word in
    --remove-set) exit ${FAKE_LEFT:-0} ;;
    esac
    case $last in
    --clients) value=$word ;;
    -o) out=$word ;;
    esac
    last=$word
done
[ "$value" != "$FAKE_BAD" ] || { echo "afpscope: load: no such thing" >&2; exit ${FAKE_CODE:-5}; }
mkdir "$out"
if [ "$FAKE_SLOW" ]; then
    end() { cp "$here/$value.json" "$out/run.json"; exit 130; }
    trap end INT TERM HUP
    touch "$out/up"
    while :; do sleep 0.02; done
fi
cp "$here/$value.json" "$out/run.json"
"""


@functools.cache
def measured(n: int) -> str:
    """What the fake keeps of n clients: up to KNEE of them p99 is 10 ms, beyond it 100 ms."""
    made = Made(n, rate=100.0 * min(n, KNEE), p99_ms=10 if n <= KNEE else 100)
    return json.dumps(document(made, f"{n}"))


@pytest.fixture
def program(shelf: Shelf, tmp_path: Path) -> Path:
    """The fake."""
    folder = tmp_path / "fake"
    folder.mkdir()
    for n in range(1, 41):
        (folder / f"{n}.json").write_text(measured(n))
    path = folder / "afpscope"
    path.write_text(FAKE)
    path.chmod(0o755)
    return path


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A directory to load."""
    folder = tmp_path / "there"
    folder.mkdir()
    return folder


def line(program: Path, out: Path, *more: str | Path) -> list[str | Path]:
    return ["--program", program, "-o", out, "--pause", "0", *more]


def noted(out: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((out / "sweep.json").read_text())
    return value


def test_the_knee_is_found_and_measured_again(
    program: Path, there: Path, tmp_path: Path, execute: Execute
) -> None:
    out = tmp_path / "out"
    done = execute("sweep", *line(program, out, "--slo", "p99=50ms", "--refine", "6",
                                  "--clients", "1,5,10,40", "-m", "office", there))  # fmt: skip
    assert done.code == 0, done.err
    assert "p99=50ms is kept up to 20 clients" in done.out
    sweep = steps.open_sweep(out)
    assert [s.value for s in sweep.steps[:4]] != ["1", "5", "10", "40"]
    assert sorted(s.value for s in sweep.steps[:4]) == ["1", "10", "40", "5"]
    assert [s.value for s in sweep.steps[4:]] == ["20", "30", "25", "22", "20", "22"]
    assert [s.why for s in sweep.steps[4:]] == ["bisected"] * 4 + ["again"] * 2
    assert all(s.exit == 0 for s in sweep.steps)
    found = outcome.of(sweep)
    assert (found.knee.at, found.knee.low, found.knee.high) == ("20", "20", "22")
    *lines, last = done.out.splitlines()
    assert len(lines) < 40 and max(map(len, lines)) <= 100 and str(out) in last


def test_every_step_works_on_one_set_that_is_removed(
    program: Path, there: Path, tmp_path: Path, execute: Execute
) -> None:
    execute("sweep", *line(program, tmp_path / "o", "--clients", "1,5", "-w", "word", there))
    said = (program.parent / "said").read_text().splitlines()
    mine = f"--set-of={os.getpid()}"
    assert len(said) == 3
    for words in said[:2]:
        assert (
            words.startswith("load --clients ")
            and f"-w word {there} --seed=1 --directories=5 {mine}" in words
        )
    assert said[2] == f"load -w word {there} --clients=1 {mine} --remove-set --no-save"
    text = (tmp_path / "o" / "sweep.json").read_text()
    assert "word" not in text and noted(tmp_path / "o")["arguments"][:2] == ["-w", "..."]


def test_steps_may_have_files_of_their_own(
    program: Path, there: Path, tmp_path: Path, execute: Execute
) -> None:
    execute("sweep", *line(program, tmp_path / "o", "--own-set", "--clients", "1,5", there))
    said = (program.parent / "said").read_text()
    assert "--set-of" not in said and "--remove-set" not in said
    assert noted(tmp_path / "o")["set"] == "own"
    # Files of another size are another set.
    assert swept.parse("load", ["--file-size=4K,1M"], None, None).option in sweep._CHANGES_SET


def test_files_that_could_not_be_removed_are_an_error(
    program: Path, there: Path, tmp_path: Path, execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_LEFT", "3")
    done = execute("sweep", *line(program, tmp_path / "o", "--clients", "1,5", there))
    assert done.code == 1 and "are left" in done.err and "afpscope clean" in done.err


def test_a_step_that_fails_is_named_and_the_sweep_goes_on(
    program: Path, there: Path, tmp_path: Path, execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_BAD", "5")
    out = tmp_path / "o"
    done = execute("sweep", *line(program, out, "--order", "up", "--clients", "1,5,10", there))
    assert done.code == 1
    assert "Step 002-5 failed: afpscope: load: no such thing" in done.out
    assert [s["exit"] for s in noted(out)["steps"]] == [0, 5, 0]
    assert noted(out)["complete"] is True
    assert "--remove-set" in (program.parent / "said").read_text()
    assert (out / "002-5.txt").read_text().strip().endswith("no such thing")


def test_why_a_step_failed_is_what_the_program_said(tmp_path: Path) -> None:
    """Not the last row of a table below it."""
    log = tmp_path / "log"
    log.write_text(
        "Warning: rpc: 51 of 250 clients got no answer any more\n"
        "Warning: 1 more (-v shows them)\n\nall  699  100%\n"
    )
    assert children.last_line(log) == "Warning: rpc: 51 of 250 clients got no answer any more"
    log.write_text("no\nsuch\n")
    assert children.last_line(log) == "such"


def test_a_wrong_option_ends_the_sweep(
    program: Path, there: Path, tmp_path: Path, execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_BAD", "1")
    monkeypatch.setenv("FAKE_CODE", "2")
    out = tmp_path / "o"
    done = execute("sweep", *line(program, out, "--order", "up", "--clients", "1,5,10", there))
    assert done.code == 2 and done.out == "" and "no such thing" in done.err
    assert len(noted(out)["steps"]) == 1 and noted(out)["complete"] is False


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("afp://u@host/v", ("host", 548)),
        ("afp://[::1]:1548/v", ("::1", 1548)),
        ("afp://[fe80::1%25eth0]/v", ("fe80::1%eth0", 548)),
        ("afp://[fe80::1%eth0]/v", ("fe80::1%eth0", 548)),
        ("gluster://host/v/d", ("host", 24007)),
        ("gluster://host:24008/v", ("host", 24008)),
        ("smb://u@host/share", ("host", 445)),
        ("nfs://host/export", ("host", 2049)),
        ("nfs://host:12049/export?mountport=12050", ("host", 12049)),
    ],
)
def test_the_port_of_a_url_is_that_of_its_kind(url: str, found: tuple[str, int]) -> None:
    assert children.address(url) == found


def test_a_server_that_is_gone_ends_the_sweep(
    program: Path, tmp_path: Path, execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_BAD", "5")
    monkeypatch.setattr(sweep, "_GONE_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"afp://u:secret@127.0.0.1:{closed.getsockname()[1]}/v"
    out = tmp_path / "o"
    done = execute("sweep", *line(program, out, "--order", "up", "--clients", "1,5,10", url))
    assert done.code == 1 and "is gone: the sweep ends after 2 steps" in done.err
    assert [s["value"] for s in noted(out)["steps"]] == ["1", "5"]
    assert "is gone" in noted(out)["stopped"] and noted(out)["complete"] is False
    assert "secret" not in (out / "sweep.json").read_text()
    assert "--remove-set" in (program.parent / "said").read_text()


@pytest.mark.parametrize("how", ["group", "alone"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_step_and_removes_the_set(
    program: Path, there: Path, tmp_path: Path, number: signal.Signals, how: str
) -> None:
    out = tmp_path / "out"
    words = [sys.executable, "-B", "-m", "afpscope", "sweep",
             *map(str, line(program, out, "--order", "up", "--clients", "1,5", there))]  # fmt: skip
    env = os.environ | {"PYTHONPATH": str(Path(sweep.__file__).parents[1]), "FAKE_SLOW": "1"}
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=env, stdout=pipe, stderr=pipe, text=True,
                          start_new_session=True) as child:  # fmt: skip
        while not (out / "001-1" / "up").exists():
            assert child.poll() is None
            time.sleep(0.01)
        if how == "group":
            os.killpg(child.pid, number)
        else:
            os.kill(child.pid, number)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert noted(out)["stopped"] == number.name and noted(out)["complete"] is False
    assert [s["exit"] for s in noted(out)["steps"]] == [130]
    assert not (out / "002-5").exists()
    assert f"stopped by {number.name} in step 1" in err
    said = (program.parent / "said").read_text().splitlines()
    assert len(said) == 2 and f"--set-of={child.pid} --remove-set" in said[1]


@pytest.mark.parametrize(
    ("words", "option", "at_5"),
    [
        (["--clients", "1,5", "x"], "clients", ["--clients", "5", "x"]),
        (["a", "--rate=1.5,5", "x"], "rate", ["a", "--rate=5", "x"]),
        (["-n1,5", "-d", "3"], "clients", ["-n5", "-d", "3"]),
        (["-n", "1,5"], "clients", ["-n5"]),
        (["--file-size=4K,5M"], "file-size", ["--file-size=5"]),
    ],
)
def test_one_option_has_a_list(words: list[str], option: str, at_5: list[str]) -> None:
    found = swept.parse("load", words, None, None)
    assert found.option == option
    got = found.client.at("5")
    assert got == at_5 or got == ["-n", "5"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--clients", "1"], "none has"),
        (["--clients=1,2", "--rate=3,4"], "--clients, --rate"),
        (["--mix", "office,browse"], "none has"),
        (["--clients=1,1"], "twice"),
        (["--clients=1,2..3"], "no number"),
    ],
)
def test_other_lists_are_refused(words: list[str], says: str) -> None:
    with pytest.raises(Failure) as failed:
        swept.parse("load", words, None, None)
    assert failed.value.code == 2 and says in str(failed.value)


@pytest.mark.parametrize(
    "words",
    [
        ["--order", "abba", "--repeat", "3"],
        ["--repeat", "0"],
        ["--refine", "-1"],
        ["--slo", "p99"],
        ["--slo", "p99=1s", "--slo", "p50=1s"],
        ["--no-save"],
        ["--set-of=7"],
        ["--", "more"],
    ],
)
def test_wrong_use(
    program: Path, there: Path, tmp_path: Path, execute: Execute, words: list[str]
) -> None:
    out = tmp_path / "o"
    done = execute("sweep", *line(program, out, "--clients", "1,5", there), *words)
    assert done.code == 2 and not (program.parent / "said").exists()


def test_orders() -> None:
    values = ["1", "2", "5", "10"]
    assert sweep.order(values, "up", 2, 1) == values * 2
    assert sweep.order(values, "abba", 4, 1) == [*values, *values[::-1], *values[::-1], *values]
    seen = Counter()
    for seed in range(200):
        order = sweep.order(values, "shuffled", 2, seed)
        assert sorted(order[:4]) == sorted(order[4:]) == sorted(values)
        assert order == sweep.order(values, "shuffled", 2, seed)
        seen[order[0]] += 1
    assert min(seen.values()) > 25 and len(seen) == 4


def test_quiet_is_little_cpu_and_little_to_write(tmp_path: Path) -> None:
    def proc(busy: int, idle: int, dirty: int) -> None:
        (tmp_path / "stat").write_text(f"cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 0\n")
        (tmp_path / "meminfo").write_text(f"MemTotal: 9 kB\nDirty: {dirty} kB\nWriteback: 7 kB\n")

    calls = []

    def stop() -> bool:
        """The machine becomes quiet after some looks."""
        calls.append(1)
        n = len(calls)
        proc(100 * min(n, 3), 1000 * max(0, n - 2), 100_000 if n < 6 else 10)
        return False

    proc(0, 0, 100_000)
    quiet._LOOK_S, before = 0.01, quiet._LOOK_S
    try:
        took, is_quiet = quiet.wait(10, stop, tmp_path)
        assert is_quiet and len(calls) == 6 and took < 5
        proc(0, 0, 100_000)
        assert quiet.wait(0.05, lambda: False, tmp_path)[1] is False
    finally:
        quiet._LOOK_S = before


def test_work_of_others_is_waited_for_and_told(
    program: Path,
    there: Path,
    tmp_path: Path,
    execute: Execute,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """30 s in which nothing is said look like a program that hangs; and what a busy machine
    measures is not the server's alone."""
    busy = iter([True, True, False, True, True])  # a look of the first, two of the second step, ...

    def wait(most_s: float, _stop: object) -> tuple[float, bool]:
        return most_s, not next(busy)

    monkeypatch.setattr(quiet, "wait", wait)
    words = line(program, tmp_path / "o", "--clients", "1,5,10", "--refine=0", there)
    done = execute("sweep", *[w for w in words if w not in ("--pause", "0")])
    assert [s.quiet for s in steps.open_sweep(tmp_path / "o").steps] == [False, True, False]
    assert done.err.count("waiting until this machine is quiet, for at most 30 s") == 2
    assert done.err.count("still busy after 30.0 s") == 2
    assert "This machine was busy with other work when 2 of 3 steps began" in done.out


def test_addresses_of_this_machine_are_here() -> None:
    assert quiet.is_here("127.0.0.1") and quiet.is_here("localhost") and quiet.is_here("::1")
    assert not quiet.is_here("192.0.2.1") and not quiet.is_here("no.such.host.invalid")


def test_a_screen_of_many_values_is_one_screen(tmp_path: Path) -> None:
    points = each(range(1, 90), lambda v: Made(int(v), p99_ms=10 if v <= 33 else 100, failed=3))
    found = outcome.of(made_sweep(tmp_path / "s", points, slo="p99=50ms"))
    text = outcome.screen(found)
    lines = text.splitlines()
    assert len(lines) <= 38 and max(map(len, lines)) <= 100
    shown = {row.split()[0] for row in lines[1:29]}
    assert {"30", "33", "34", "36"} <= shown and "more values" in text
    assert "3err" in text
