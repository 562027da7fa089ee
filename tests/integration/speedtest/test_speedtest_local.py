# SPDX-License-Identifier: GPL-2.0-or-later
"""speedtest without a server: the same transfers in a directory of this machine."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from netatalk import PEER_SUITE, Server
from peertext import check_csv, check_figures, csv_skeleton, skeleton, tables
from scope import (
    AS_NOBODY,
    BUILD,
    FAILED,
    INTERRUPTED,
    NO_SESSION,
    OK,
    REFUSED,
    REPO,
    Done,
    Run,
    Scope,
    io_of,
    wait_until,
)
from speeding import COPY, KIB, MIB, READ, WRITE, named, only, transfers

THREE = "Read,Write,Copy"
ONCE = ("-n", "1", "-W", "0")


@pytest.fixture(scope="module")
def disk() -> Iterator[Path]:
    """A directory on a file system that can do O_DIRECT."""
    path = BUILD / "tests" / "local"
    path.mkdir(parents=True, exist_ok=True)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def folder(disk: Path) -> Iterator[Path]:
    yield disk
    left = list(disk.iterdir())
    for path in left:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert not left, "the test left something"


def local(scope: Scope, folder: Path, *args: str, **options: Any) -> Done:
    line = [str(scope.binary), "speedtest", "-L", "-P", str(folder), *args]
    return scope.execute(line, **options)


def measured(scope: Scope, folder: Path, *args: str) -> Run:
    done = local(scope, folder, *args, save=True).expect(OK)
    assert done.run, f"nothing was saved: {done}"
    assert done.run.complete
    return done.run


@pytest.mark.parametrize("options", [(), ("-D",)], ids=["direct", "buffered"])
def test_sizes(scope: Scope, folder: Path, options: tuple[str, ...]) -> None:
    """Also those that are no multiple of a block."""
    args = ("-f", THREE, "-z", "0.004,4K,1,2.3", "-n", "3", *options)
    run = measured(scope, folder, *args)
    sizes = [4194, 4096, MIB, int(2.3 * MIB)]
    assert list(transfers(run)) == [(work, s) for s in sizes for work in (READ, WRITE, COPY)]
    for transfer in transfers(run).values():
        assert transfer.phase["bytes"] == 3 * transfer.carried
        assert transfer.chunk == min(MIB, transfer.chunk)
        assert len(transfer.samples()) == 3


def test_direct_goes_past_the_cache(scope: Scope, folder: Path) -> None:
    """What is read comes from the disk; with -D it does not."""
    read = {}
    for options in ((), ("-D",)):
        before = disk_reads()
        measured(scope, folder, "-f", "Read", "-d", "32", *ONCE, *options)
        read[options] = disk_reads() - before
    assert read[()] >= 32 * MIB
    assert read["-D",] < 32 * MIB


def disk_reads() -> int:
    """Bytes, of this process and of its children that have ended."""
    text = Path("/proc/self/io").read_text()
    return int(dict(line.split(": ") for line in text.splitlines())["read_bytes"])


def test_odd_size_is_on_the_disk(scope: Scope, folder: Path) -> None:
    """As long as asked for, and not as the next block."""
    line = [str(scope.binary), "speedtest", "-L", "-P", str(folder), "-f", "Write"]
    running = scope.start([*line, "-z", "0.004", "-n", "2", "-W", "0", "-t", "1"])
    wait_until(lambda: any(f.stat().st_size == 4194 for f in inside(folder)), 10, "the file")
    running.finish().expect(OK)


def inside(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_options(scope: Scope, folder: Path) -> None:
    """As with a server."""
    args = ("-f", THREE, "-d", "1", "-n", "2", "-W", "3")
    for options in (("-e",), ("-y",), ("-a",), ("-q", "64"), ("--data=random",)):
        for transfer in transfers(measured(scope, folder, *args, *options)).values():
            assert [len(transfer.samples(warmup=w)) for w in (True, False)] == [3, 2]
            assert transfer.phase["bytes"] == 2 * transfer.carried
            if options[0] == "-q":
                assert transfer.chunk == 64 * KIB
    for buffered in ((), ("-D",)):
        measured(scope, folder, *args, "--verify", "--data=pattern", *buffered)


def test_nothing_is_said_to_be_dropped(scope: Scope, folder: Path) -> None:
    """A pread copies, whatever becomes of the data."""
    done = local(scope, folder, "-f", "Read", "-d", "4", "-n", "2", save=True).expect(OK)
    assert done.run
    assert only(done.run).saved["dropped"] is False
    assert "unread" not in done.out


def test_a_path_in_place_of_the_server_is_that_directory(scope: Scope, folder: Path) -> None:
    line = [str(scope.binary), "speedtest", str(folder), "-f", "Write", "-d", "1", *ONCE]
    done = scope.execute(line, save=True).expect(OK)
    assert done.run and done.run.complete
    options = done.run.saved["options"]
    assert (options["mode"], options["directory"]) == ("local", str(folder))


def test_flushes_and_requests(scope: Scope, folder: Path) -> None:
    """Commands are those of the file system, counted in the measured regions."""
    run = measured(scope, folder, "-f", THREE, "-d", "1", "-q", "256", "-n", "2")
    names = {
        t.work: {c["name"]: c["ops"] for c in t.phase.saved["commands"]}
        for t in transfers(run).values()
    }
    assert sorted(names[READ].values()) == [8]
    assert sorted(names[WRITE].values()) == [2, 8]
    assert sorted(names[COPY].values()) == [8, 8]
    run = measured(scope, folder, "-f", "Write", "-d", "1", "-q", "256", "-n", "2", "-a")
    assert [c["ops"] for c in only(run).phase.saved["commands"]] == [8]


def test_large_file(scope: Scope, folder: Path) -> None:
    """Beyond 2 GiB, where afp_speedtest's offsets end. (Holes are quick to read.)"""
    run = measured(scope, folder, "-f", "Read", "-e", "-d", "2.5G", *ONCE)
    assert only(run).phase["bytes"] == 5 * (1 << 29)


def test_own_file(scope: Scope, disk: Path) -> None:
    """-F, which afp_speedtest cannot do here; only read, and left as it was."""
    own = disk / "own.bin"
    data = bytes(i % 251 for i in range(MIB + 77))
    own.write_bytes(data)
    own.chmod(0o400)
    try:
        run = measured(scope, disk, "-f", "Read,Copy", "-F", "own.bin", "-n", "2")
        assert list(transfers(run)) == [(READ, len(data)), (COPY, len(data))]
        assert own.read_bytes() == data
        done = local(scope, disk, "-f", "Read", "-F", "own.bin", "-d", "2")
        done.expect(REFUSED, "own.bin", str(len(data)), str(2 * MIB))
        assert [path.name for path in disk.iterdir()] == ["own.bin"]
    finally:
        own.unlink()


# What goes wrong


@pytest.mark.parametrize(
    ("args", "status", "texts"),
    [
        (["-P", "/dev/null"], NO_SESSION, ["/dev/null"]),
        (["-P", "/nonexistent/folder"], NO_SESSION, ["/nonexistent/folder"]),
        (["-P", "/proc/self"], REFUSED, ["Write", "mkdirat"]),
        (["-P", "FOLDER", "-F", "nosuch", "-f", "Read"], REFUSED, ["nosuch"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and value[0] == "-P" else "",
)
def test_refused(
    scope: Scope, folder: Path, args: list[str], status: int, texts: list[str]
) -> None:
    line = [str(folder) if arg == "FOLDER" else arg for arg in args]
    done = scope.execute([str(scope.binary), "speedtest", "-L", "-d", "4K", *line])
    done.expect(status, *texts)
    assert len(done.messages) == 1, f"{done}"


def test_json_into_a_pipe_of_an_ordinary_user(scope: Scope, public: Path) -> None:
    """Nobody may write into the folder of pipes, but into a pipe."""
    line = [str(public), "speedtest", "-L", "-D", "-P", str(public.parent / "disk")]
    shell = '"$@" --no-save --json >(cat) > /dev/null && wait $!'
    line = ["bash", "-c", shell, "bash", *line, *ONCE, "-f", "Write", "-d", "4K"]
    done = scope.execute([*AS_NOBODY, *line]).expect(OK)
    assert json.loads(done.out)["complete"]


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8M", "tiny", tmp_path], check=True)
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.parametrize("work", [READ, WRITE, COPY])
def test_full(scope: Scope, tiny: Path, work: str) -> None:
    line = ("--force", "--set", "speedtest-4.5", "-f", work, "-z", "1,64", "-D", "-n", "2")
    done = local(scope, tiny, *line, save=True)
    done.expect(REFUSED, work, "space")
    assert len(done.messages) == 1, f"{done}"
    assert done.run
    assert [phase.complete for phase in done.run.phases] == [True, False]
    assert not list(tiny.iterdir())


def test_nobody_presses_the_key(scope: Scope, folder: Path) -> None:
    done = local(scope, folder, "-i", "-f", "Write", "-z", "4K", *ONCE)
    done.expect(FAILED, "-i waits for <ENTER>", "standard input has ended")


@pytest.mark.parametrize("work", [READ, WRITE, COPY])
def test_no_room(scope: Scope, tiny: Path, work: str) -> None:
    done = local(scope, tiny, "-f", work, "-z", "1,64", "-D", "-n", "2", save=True)
    done.expect(REFUSED, "the files of this run take", "the volume has 8.", "--force")
    assert len(done.messages) == 1, f"{done}"
    assert not list(tiny.iterdir())


def test_interrupted(scope: Scope, folder: Path) -> None:
    line = [str(scope.binary), "speedtest", "-L", "-P", str(folder), "-f", "Write", "-d", "1"]
    running = scope.start([*line, "-n", "100000", "-W", "0"], save=True)
    wait_until(lambda: bool(inside(folder)), 10, "the file")
    written = io_of(running.process.pid)["wchar"] + (8 << 20)
    wait_until(lambda: io_of(running.process.pid)["wchar"] > written, 10, "iterations of 1 MiB")
    running.signal(signal.SIGINT)
    done = running.finish(10).expect(INTERRUPTED, "interrupted")
    assert done.run
    assert not done.run.complete
    assert len(only(done.run).samples()) > 3
    assert not inside(folder)


def test_name_is_no_shell_text(scope: Scope, disk: Path) -> None:
    """afp_speedtest removes its directory through a shell."""
    victim = disk / "victim"
    odd = disk / "a b;touch victim;$(touch victim)'"
    odd.mkdir()
    try:
        measured(scope, odd, "-f", THREE, "-d", "4K", *ONCE)
        assert not victim.exists()
        assert not list(odd.iterdir())
    finally:
        odd.rmdir()


# The peer


@pytest.fixture
def shared(_dbd: Server) -> Iterator[tuple[Path, str]]:
    """A directory on a disk, and its name for the peer, which sees the server's root."""
    path = Path(tempfile.mkdtemp(dir=_dbd.root / "inst"))
    yield path, f"/inst/{path.name}"
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path)


@pytest.mark.parametrize(
    "line",
    [
        "-f Read,Write,Copy,ServerCopy -d 1 -n 3",
        "-f ServerCopy,Copy,Read -z 1,2 -n 2 -D",
        "-f ServerCopy -d 1",
        "-f Write -d 2 -a",
    ],
)
@pytest.mark.parametrize("form", [(), ("-c",)], ids=["text", "csv"])
def test_output_is_the_peers(
    scope: Scope, shared: tuple[Path, str], tmp_path: Path, line: str, form: tuple[str, ...]
) -> None:
    path, inner = shared
    args = [*line.split(), *form]
    script = REPO / "tests" / "server" / "peer.sh"
    theirs = subprocess.run(
        [script, PEER_SUITE, "afp_speedtest", "-L", "-P", inner, *args],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    program = named(scope, tmp_path)
    ours = scope.execute([str(program), "-L", "-P", str(path), *args]).expect(OK).out
    sizes = {"1 MB": MIB, "2 MB": 2 * MIB, "1.000": MIB, "2.000": 2 * MIB}
    if form:
        assert csv_skeleton(ours) == csv_skeleton(theirs)
    else:
        assert skeleton(ours, str(path), inner) == skeleton(theirs, inner)
    for text in (theirs, ours):
        if form and text:  # of ServerCopy alone there is none
            check_csv(text, sizes)
        for table in tables(text):
            check_figures(table, sizes[table.size])
