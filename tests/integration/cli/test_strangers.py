# SPDX-License-Identifier: GPL-2.0-or-later
"""Root among strangers: what others prepared for a run does no harm, to nobody's files and to no
terminal, and what could not be said is in the exit code."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from netatalk import Server
from rights import BPF, KILL, NET_ADMIN, SETUID, has, held_by_clean
from scope import FAILED, OK, USAGE, Done, Run, Scope, wait_until

NOBODY = 65534


def without(closed: Sequence[int], line: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    """Runs a command that is started without some of its descriptors 0 to 2."""

    def close() -> None:
        for each in closed:
            os.close(each)

    return subprocess.run(
        line, stdin=0, capture_output=True, timeout=60, preexec_fn=close, check=False
    )


@pytest.mark.parametrize("closed", [[2], [1], [0, 1, 2]], ids=str)
def test_no_message_goes_to_the_server(scope: Scope, dbd: Server, closed: list[int]) -> None:
    """Where a standard descriptor was closed, the connection must not take its number."""
    folder = Path(tempfile.mkdtemp(dir=scope.folder)) / "run"
    done = without(closed, scope.command(dbd, "-n", "1", "-f", ";", "-o", str(folder)))
    assert done.returncode == (FAILED if 1 in closed else OK), done.stderr
    assert Run.load(folder / "run.json").complete


def owned(path: Path) -> Path:
    """It is nobody's."""
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    return path


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A folder of nobody, beside one of root that is to stay empty."""
    tmp_path.chmod(0o755)
    (tmp_path / "system").mkdir()
    folder = tmp_path / "theirs"
    folder.mkdir()
    return owned(folder)


def linked(path: Path, target: Path) -> Path:
    path.symlink_to(target)
    return owned(path)


def transfer(scope: Scope, work: Path, *args: str) -> Done:
    """The shortest run that is kept; it needs no server."""
    line = [str(scope.binary), "speedtest", "-L", "-P", str(work), "-D", "-z", "4K", "-W", "0"]
    return scope.execute([*line, "-n", "1", "-f", "Write", *args])


@pytest.mark.parametrize("name", ["trace", "run.json", "trace/requests"])
def test_no_link_in_the_folder_is_followed(
    scope: Scope, guests: Server, theirs: Path, name: str
) -> None:
    """What a run keeps goes into its folder, or nowhere."""
    system = theirs.parent / "system"
    if "/" in name:
        (theirs / "trace").mkdir()
    linked(theirs / name, system / ("" if name == "trace" else "file"))
    line = scope.recorder(guests, "-d", "1", "--trace", "-o", str(theirs))
    done = scope.execute(line)
    assert done.status in (FAILED, USAGE), done
    assert str(theirs) in done.messages[-1]
    assert not list(system.iterdir())


def test_no_path_leads_over_a_strangers_link(scope: Scope, theirs: Path, tmp_path: Path) -> None:
    system, work = tmp_path / "system", tmp_path / "work"
    file = system / "file"
    linked(theirs / "folder", system)
    linked(theirs / "file", file)
    for option, path in (("-o", "folder"), ("-o", "folder/run"), ("--json", "file"),
                         ("--json", "folder/file")):  # fmt: skip
        done = transfer(scope, work, option, str(theirs / path))
        done.expect(USAGE, f"{option}: {theirs / path}: ", "is a symbolic link of another user")
    done = scope.execute([str(scope.binary), "check", "--json", str(theirs / "file")])
    done.expect(USAGE, "is a symbolic link of another user")
    assert not list(system.iterdir())
    transfer(scope, work, "-o", str(theirs / "own"), "--json", str(theirs / "x.json")).expect(OK)
    assert Run.load(theirs / "own/run.json").saved == Run.load(theirs / "x.json").saved


def test_a_load_that_watches_nothing_gives_its_rights_up_too(scope: Scope, guests: Server) -> None:
    running = scope.start(scope.command(guests, "--watch=off", "-d", "3", tool="probe"))
    running.wait_for("actions")
    held = has(running.process.pid, SETUID, BPF)
    running.finish().expect(OK)
    assert not held


def test_clean_gives_its_rights_up_before_a_server_answers(scope: Scope) -> None:
    assert not held_by_clean(scope, "afp://ann@127.0.0.1:{}/vol")


def test_check_gives_its_rights_up(scope: Scope, tmp_path: Path) -> None:
    """Held at its end by a pipe that nobody reads."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    running = scope.start([str(scope.binary), "check", "--json", str(pipe)])
    wait_until(lambda: not has(running.process.pid, SETUID, KILL, NET_ADMIN), 10, "fewer rights")
    saved = json.loads(pipe.read_text())
    assert running.finish().status == saved["status"]


def test_a_trace_is_for_its_user_only(scope: Scope, guests: Server, tmp_path: Path) -> None:
    """It holds the names of users' files, at least as hashes; the rest goes by the umask."""
    old = os.umask(0o022)
    try:
        line = scope.recorder(guests, "-d", "1", "--trace", "--names", "-o", str(tmp_path / "run"))
        scope.execute(line).expect(OK)
        work = tmp_path / "work"
        transfer(scope, work).expect(OK)
    finally:
        os.umask(old)
    modes = {p.name: p.stat().st_mode & 0o777 for p in (tmp_path / "run").rglob("*")}
    assert (modes.pop("run.json"), modes.pop("tables.json")) == (0o644, 0o644)
    assert modes.pop("trace") == 0o700
    assert modes and set(modes.values()) == {0o600}
    kept = Path(os.environ["AFPSCOPE_RUNS"]) / "last"
    assert kept.resolve().stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("line", [["--version"], ["lantest", "--help"]])
def test_what_could_not_be_printed_is_in_the_exit_code(scope: Scope, line: list[str]) -> None:
    done = without([1], [str(scope.binary), *line])
    assert done.returncode == FAILED
    assert b"Bad file descriptor" in done.stderr
    assert without([1, 2], [str(scope.binary), *line]).returncode == FAILED
    assert without([2], [str(scope.binary), "--none"]).returncode == USAGE


def test_no_message_commands_the_terminal(scope: Scope) -> None:
    """What a message names may come from anybody; here it is an operand."""
    done = scope.execute([str(scope.binary), "lantest", "http://\x1b[2J\u202e\x9b/vol"])
    assert done.status == USAGE
    assert "'http://?[2J??/vol' is not a server" in done.err


def test_a_file_that_may_not_grow_is_an_error_not_a_death(scope: Scope, tmp_path: Path) -> None:
    """ulimit -f: the signal that would end the program is of no use to its user."""
    work, kept = tmp_path / "work", tmp_path / "run.json"
    line = [str(scope.binary), "speedtest", "-L", "-P", str(work), "-D", "-z", "1K", "-W", "0"]
    line += ["-n", "1", "-f", "Write", "--no-save", "--json", str(kept)]
    done = scope.execute(["bash", "-c", 'ulimit -f 1; exec "$@"', "bash", *line])
    done.expect(FAILED, f"cannot write {kept}: File too large")
    assert not kept.exists() and not list(tmp_path.glob("run.json*"))
