# SPDX-License-Identifier: GPL-2.0-or-later
"""A sweep as a job file: what is kept repeats it, and the command line replaces what it says.

Tests measure/sweepjob.py. With the real program: tests/integration/load/test_sweep.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from afpscope import Failure
from afpscope.measure import sweepjob
from afpscope.measure.swept import parse
from conftest import Done

Execute = Callable[..., Done]

JOB = """; of a sweep
[run]
command = sweep        ; and not of a load
target = afp://me@nas/vol
order = up
refine = 2
own-set = yes
slo = p99<=50ms
clients = 1,2,5
at = "10 echo \\"a ; b\\""
no-probe = yes

[mix]
files = 50
order = x
"""
# A step's job is what the program says of its options.
PROGRAM = """#!/bin/sh
case " $* " in *" --bad "*) echo "afpscope: load: --bad: what is that?" >&2; exit 2 ;; esac
echo '; a job of load'
echo '[run]'
echo 'command = load'
for word; do
    case $word in
    -n*) echo "clients = ${word#-n}" ;;
    --*=*) word=${word#--}; echo "${word%%=*} = ${word#*=}" ;;
    /*) echo "target = $word" ;;
    esac
done
"""


@pytest.fixture
def job(tmp_path: Path) -> sweepjob.Job:
    path = tmp_path / "a.ini"
    path.write_text(JOB)
    read = sweepjob.read(path)
    assert read
    return read


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "afpscope"
    path.write_text(PROGRAM)
    path.chmod(0o755)
    return path


def test_its_options_are_the_sweeps_and_the_rest_is_the_steps(job: sweepjob.Job) -> None:
    own = ["--order=up", "--slo=p99<=50ms", "--refine=2", "--own-set"]
    assert job.words([]) == [*own, "--clients=1,2,5"]
    assert job.target == "afp://me@nas/vol"
    assert job.value("at") == '10 echo "a ; b"'
    lines = job.of_step().splitlines()
    assert len(lines) == len(JOB.splitlines())
    assert lines[2] == "command = load"
    kept = [line for i, line in enumerate(lines) if line and i != 2]
    assert kept == [x for i, x in enumerate(JOB.splitlines()) if x and i not in (2, 4, 5, 6, 7, 8)]


@pytest.mark.parametrize(
    "line,gone",
    [
        (["--order", "abba"], "--order=up"),
        (["--slo=rate>=5"], "--slo=p99<=50ms"),
        (["--clients", "3,4"], "--clients=1,2,5"),
        (["-n3,4"], "--clients=1,2,5"),
    ],
)
def test_the_command_line_replaces_what_the_file_says(
    job: sweepjob.Job, line: list[str], gone: str
) -> None:
    assert [w for w in job.words([]) if w not in job.words(line)] == [gone]


@pytest.mark.parametrize("text", ["[run]\ncommand = load\n", "", "command = sweep\n", "\xff"])
def test_other_files_are_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "b.ini"
    path.write_text(text, encoding="latin-1")
    assert sweepjob.read(path) is None
    assert sweepjob.find(["--mix", str(path), "-n", "1,2"]) is None
    assert sweepjob.find([str(tmp_path / "none.ini")]) is None


@pytest.mark.parametrize(
    "what, why",
    [
        ("pipe", "is not a regular file"),
        ("endless", "is not a regular file"),
        ("folder", "is not a regular file"),
        ("long", "is longer than 1048576 bytes"),
    ],
)
def test_what_is_no_file_or_too_long_is_refused_at_once(
    tmp_path: Path, execute: Execute, what: str, why: str
) -> None:
    path = tmp_path / f"{what}.ini"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "endless":
        path.symlink_to("/dev/zero")
    elif what == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"; x\n" * (1 << 19))
    done = execute("sweep", "-o", str(tmp_path / "o"), path)
    assert (done.code, str(path) in done.err, why in done.err) == (2, True, True), done


def test_mistakes_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "b.ini"
    path.write_text("[run]\ncommand = sweep\norder = up\norder = abba\n")
    with pytest.raises(Failure, match="line 4: order is there twice"):
        sweepjob.read(path)
    path.write_text('[run]\ncommand = sweep\neach = "a\n')
    with pytest.raises(Failure, match='line 3: a value that begins with "'):
        sweepjob.read(path)


@pytest.mark.parametrize(
    "value", ["a", "p99<=50ms", "sh -c 'a; b'", ' a "b" ; c\\n\td', "a\nb", ""]
)
def test_a_value_is_read_as_it_was_written(tmp_path: Path, program: Path, value: str) -> None:
    line = parse("load", ["-n1,2", "--ramp=0", "/x"], None, None)
    text = sweepjob.shown(str(program), "load", line, {"each": value})
    path = tmp_path / "b.ini"
    path.write_text(text)
    read = sweepjob.read(path)
    assert read and read.value("each") == value
    assert (read.value("clients"), read.value("ramp"), read.target) == ("1,2", "0", "/x")


def test_what_the_program_does_not_know_is_wrong_use(program: Path) -> None:
    line = parse("load", ["-n1,2", "--bad", "/x"], None, None)
    with pytest.raises(Failure, match="--bad: what is that") as e:
        sweepjob.shown(str(program), "load", line, {})
    assert e.value.code == 2


def test_show_job_prints_what_repeats_the_sweep(
    tmp_path: Path, program: Path, execute: Execute
) -> None:
    line = ["--program", program, "--show-job"]
    done = execute("sweep", *line, "-n1,2", "--repeat=3", "-o", "/o", "/x")
    assert done.code == 0, done
    said = ["command = sweep", "output = /o", "order = shuffled", "seed = 1", "repeat = 3"]
    assert done.out.splitlines()[2:] == [*said, "refine = 4", "clients = 1,2", "target = /x"]
    (tmp_path / "c.ini").write_text(done.out)
    again = execute("sweep", *line, tmp_path / "c.ini", "--repeat=2")
    assert again.code == 0, again
    assert "repeat = 2" in again.out and "clients = 1,2" in again.out
    assert execute("sweep", "--program", program, "-n1,2", "/x").code == 2  # no -o
