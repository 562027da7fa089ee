# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are written or read: regular ones only, whole or not at all, and never waited for.

Tests user/base/file.c, user/exporter/exporter_file.c. The judge of names is strace.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from exporting import Metrics, export
from netatalk import Server
from rights import rights
from scope import FAILED, OK, USAGE, Running, Scope, children, wait_until

SPARSE = 8 << 30
WITHIN_S = 5


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder of root, to which the path has no link and no folder of others."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def device(path: Path) -> None:
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))


def link_to_device(path: Path) -> None:
    path.symlink_to("/dev/null")


def local_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(SPARSE)


def endless(path: Path) -> None:
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))


def textfile(scope: Scope, port: int, file: Path, *more: str) -> list[str]:
    line = [str(scope.binary), "exporter", "-p", str(port), "--textfile", str(file)]
    return [*line, "--interval", "1", *more]


# Place: `exporter --textfile` at a device, a pipe, a socket, `/dev/stdout` | refused (exit code
#   2), and what is there stays
@pytest.mark.parametrize("make", [device, os.mkfifo, link_to_device, local_socket])
def test_metrics_replace_only_a_regular_file(
    scope: Scope, place: Path, make: Callable[[Path], None]
) -> None:
    file = place / "afp.prom"
    make(file)
    before = file.lstat()
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    done = scope.execute(textfile(scope, port, file, "--once"), timeout=20)
    now = file.lstat()
    assert (now.st_ino, now.st_mode) == (before.st_ino, before.st_mode)
    done.expect(USAGE, f"{file} is not a regular file, so it is not replaced")
    assert [f.name for f in place.iterdir()] == ["afp.prom"]


# Place: a pipe, put at the file of `exporter --textfile` while it runs | said once; what is there
#   stays
def test_a_pipe_that_comes_later_is_not_replaced_either(
    scope: Scope, guests: Server, place: Path
) -> None:
    file = place / "afp.prom"
    running = scope.start(textfile(scope, guests.port, file))
    wait_until(file.exists, 20, "the first file")
    os.mkfifo(place / "pipe")
    (place / "pipe").rename(file)
    running.wait_for("is not a regular file, so it is not replaced")
    assert stat.S_ISFIFO(file.lstat().st_mode)
    running.signal(signal.SIGTERM)
    running.finish(20)
    assert stat.S_ISFIFO(file.lstat().st_mode)


def test_ones_own_link_is_kept_and_its_file_replaced(
    scope: Scope, guests: Server, place: Path
) -> None:
    (place / "real").write_text("old")
    (place / "afp.prom").symlink_to("real")
    line = textfile(scope, guests.port, place / "afp.prom", "--once")
    scope.execute(line).expect(OK)
    assert (place / "afp.prom").is_symlink()
    assert Metrics((place / "real").read_text()).one("afpscope_up") == 1


# Place: two servers on a host, two exporters, two files in one folder | exact: each in its own
#   file, with its `port`
def test_two_exporters_in_one_folder_share_no_name(
    scope: Scope, guests: Server, victim: Server, place: Path
) -> None:
    """With one temporary name for both, what one wrote could become the file of the other."""
    running: list[tuple[Running, Path, str]] = []
    for number, server in enumerate((guests, victim)):
        log, name = place / f"log{number}", f"server{number}.prom"
        plain = ("env", "ASAN_OPTIONS=detect_leaks=0")  # which does not work under strace
        trace = "trace=openat,rename,renameat,renameat2"
        strace = [*plain, "strace", "-f", "-o", str(log), "-e", trace]
        line = textfile(scope, server.port, place / name)
        running.append((scope.start([*strace, *line]), log, name))
    try:
        wait_until(
            lambda: all(
                log.exists() and log.read_text().count(f'"{name}")') >= 3
                for _, log, name in running
            ),
            40,
            "some writes of both",
        )
    finally:  # also what strace would leave behind if this test were ended
        for one, _, _ in running:
            for exporter in children(one.process.pid):
                os.kill(exporter, signal.SIGTERM)
    for one, _, _ in running:
        one.finish(30)
    names: set[str] = set()
    for number, (_, log, name) in enumerate(running):
        text = log.read_text()
        made = re.findall(r'openat\(\d+, "([^"]+)", [^)]*O_CREAT', text)
        moved = re.findall(rf'rename\w*\(\d+, "([^"]+)", \d+, "{name}"', text)
        assert made == moved, "each file is written under a name of its own, then renamed"
        assert len(set(made)) == len(made) >= 3
        assert not names & set(made)
        names |= set(made)
        port = (guests, victim)[number].port
        assert Metrics((place / name).read_text()).server == {"port": str(port)}
    assert sorted(f.suffix for f in place.iterdir()) == ["", "", ".prom", ".prom"]


def test_who_answers_is_nobody_also_where_the_file_is_roots(
    scope: Scope, guests: Server, place: Path
) -> None:
    file = place / "afp.prom"
    exporter = export(scope, "-p", str(guests.port), "--textfile", str(file), "--interval", "1")
    exporter.wait_up()
    wait_until(file.exists, 10, "the file")
    (serving, writing) = children(exporter.pid)
    assert rights(serving) == (65534, 0)
    assert rights(writing) == (0, 0)
    sockets = [str(f.readlink()) for f in Path(f"/proc/{writing}/fd").iterdir()]
    assert len([s for s in sockets if s.startswith("socket:")]) == 1, "only that to who watches"
    assert file.stat().st_uid == 0 and stat.S_IMODE(file.stat().st_mode) == 0o644
    os.kill(writing, signal.SIGKILL)
    done = exporter.running.finish(20)
    done.expect(FAILED, "the process that writes the file has ended")


def test_all_end_with_the_first(scope: Scope, guests: Server, place: Path) -> None:
    file = place / "afp.prom"
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        nowhere = nobody.getsockname()[1]
    for port in (guests.port, nowhere):  # watching, and looking for a server
        exporter = export(scope, "-p", str(port), "--textfile", str(file), "--interval", "1")
        wait_until(file.exists, 20, "the file")
        mine = children(exporter.pid)
        assert len(mine) == 2
        exporter.running.process.kill()
        exporter.running.process.wait()
        wait_until(lambda m=mine: not any(Path(f"/proc/{p}").exists() for p in m), 10, "all to end")
        file.unlink()


READERS = {
    "mix": ("load", "-m", "{file}", "-d", "1", "{folder}"),
    "users": ("load", "--users", "{file}", "-d", "1", "afp://localhost/vol1"),
}


# Place: a mix, users or numbers (`-m`, `--users`, `rxperf -f`) from a pipe, a device, a file of
#   8 GB | refused at once (exit code 2; `rxperf`: 1)
@pytest.mark.parametrize("make", [os.mkfifo, endless, sparse, device, os.mkdir])
@pytest.mark.parametrize("what", ["mix", "users"])
def test_what_is_no_file_is_refused_at_once(
    scope: Scope, place: Path, what: str, make: Callable[[Path], None]
) -> None:
    file, folder = place / "input.ini", place / "work"
    make(file)
    folder.mkdir()
    args = [a.format(file=file, folder=folder) for a in READERS[what]]
    env = {"AFPSCOPE_PASSWORD": "x"}
    done = scope.execute([str(scope.binary), *args], timeout=WITHIN_S, env=env)
    done.expect(USAGE, f"{file} is longer than" if make is sparse else f"{file} is not a regular")


# Place: a mix, users or numbers (`-m`, `--users`, `rxperf -f`) from a pipe, a device, a file of
#   8 GB
def test_a_list_of_rxperf_is_a_file(scope: Scope, place: Path) -> None:
    file = place / "list"
    rxperf = place / "rxperf"
    rxperf.symlink_to(scope.binary)
    for make in (os.mkfifo, endless, sparse):
        make(file)
        done = scope.execute(
            [str(rxperf), "client", "-c", "file", "-f", str(file)], timeout=WITHIN_S
        )
        assert f"rxperf: {file} is " in done.expect(FAILED).err
        file.unlink()


# Place: `--json` to a pipe, a device, `/dev/stdout` | written to
def test_pipes_that_were_named_are_written_to(scope: Scope, guests: Server, place: Path) -> None:
    """--json to a pipe, to /dev/stdout and to a device: as it always was."""
    os.mkfifo(place / "pipe")
    record = [str(scope.binary), "record", "-p", str(guests.port), "-d", "1", "--no-save"]
    with subprocess.Popen(["cat", place / "pipe"], stdout=subprocess.PIPE, text=True) as cat:
        scope.execute([*record, "--json", str(place / "pipe")]).expect(OK)
        assert cat.stdout and '"phases"' in cat.stdout.read()
    assert stat.S_ISFIFO((place / "pipe").stat().st_mode)
    for name in ("/dev/stdout", "-"):
        assert '"phases"' in scope.execute([*record, "--json", name]).expect(OK).out
    device(place / "null")
    scope.execute([*record, "--json", str(place / "null")]).expect(OK)
    assert stat.S_ISCHR((place / "null").stat().st_mode)
