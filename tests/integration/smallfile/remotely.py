# SPDX-License-Identifier: GPL-2.0-or-later
"""What is tried alike of directories on SMB shares, on NFS exports and of this machine."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from scope import FAILED, OK, REFUSED, REPO, Scope, seen, wait_until
from test_store_verbs import EXISTS, NONE, READ, SHORT, WRITE, Verbs
from wardens import kill_with_warden

NOT_EMPTY = 8
TEXT = "".join(f"line-{i}." for i in range(30000))  # more than one credit of SMB is worth


def use_names(verbs: Verbs, disk: Path) -> None:
    d, e = verbs.number("mkdir", "d"), verbs.number("mkdir", "資料📚")
    verbs("mkdir", "d", wants=EXISTS)
    verbs("create", "f", dir=d)
    verbs("create", "f", dir=d, wants=EXISTS)
    assert verbs.number("lookup", "d") == d
    verbs("lookup", "nothing", wants=NONE)
    verbs("lookup", "f", dir=d, wants=NONE)
    verbs("stat", "f", dir=d)
    verbs("create", "g", dir=d)
    verbs("rename", "f", dir=d, to_dir=d, to_name="g", wants=EXISTS)
    verbs("rename", "f", dir=d, to_dir=e, to_name="moved")
    assert (disk / "資料📚" / "moved").exists() and not (disk / "d" / "f").exists()
    verbs("rename", "nothing", dir=d, to_dir=e, to_name="x", wants=NONE)
    verbs("rename", "d", to_dir=e, to_name="inner")
    assert verbs.number("lookup", "inner", dir=e) == d
    verbs("stat", "g", dir=d)
    verbs("rename", "inner", dir=e, to_dir=verbs.root, to_name="d")
    for when in (1_000_000_000, 0, 2_000_000_000, 2**32 - 1):
        verbs("settime", "g", dir=d, offset=when)
        assert int((disk / "d" / "g").stat().st_mtime) == when
    verbs("settime", "d", offset=1_000_000_000)
    verbs("settime", "nothing", dir=d, offset=1, wants=NONE)
    verbs("delete", "d", wants=NOT_EMPTY)
    verbs("delete", "g", dir=d)
    verbs("delete", "g", dir=d, wants=NONE)
    verbs("delete", "moved", dir=e)
    for name in ("d", "資料📚"):
        verbs("delete", name)
    verbs("delete", "d", wants=NONE)


def use_data(verbs: Verbs, disk: Path, close_first: bool) -> None:
    """close_first: an open file that was removed cannot be closed."""
    verbs("create", "f")
    f = verbs.number("open", "f", how=READ | WRITE)
    for offset in (len(TEXT), 0):
        assert verbs("write", file=f, offset=offset, data=TEXT)["done"] == str(len(TEXT))
    assert verbs("length", file=f)["done"] == str(2 * len(TEXT))
    answer = verbs("read", file=f, offset=len(TEXT) - 3, len=6)
    assert answer["value"] == TEXT[-3:] + TEXT[:3]
    assert verbs("read", file=f, offset=3, len=200_000)["value"] == TEXT[3:200_003]
    assert verbs("read", file=f, offset=2 * len(TEXT) - 4, len=100, wants=SHORT)["done"] == "4"
    assert verbs("read", file=f, offset=3 * len(TEXT), len=100, wants=SHORT)["done"] == "0"
    assert verbs("read", file=f, len=0)["done"] == "0"
    verbs("setlen", file=f, len=2 * len(TEXT) - 1)
    verbs("flush", file=f)
    assert (disk / "f").read_text() == (TEXT + TEXT)[:-1]
    if close_first:
        verbs("close", file=f)
        verbs("open", "f", how=READ)
        verbs("open", "nothing", how=READ, wants=NONE)
    verbs("delete", "f")  # others may, while it is open
    if not close_first:
        verbs("close", file=f)
    assert int(verbs("room")["done"]) > 1 << 20


def transfer(scope: Scope, place: str, disk: Path) -> None:
    """place: a directory "new" that is not there yet; as one of this machine it is made."""
    line = ["speedtest", place, "-f", "Write,Read,Copy", "-z", "0.004,2.3"]
    done = scope.execute(
        [str(scope.binary), *line, "-n", "2", "-W", "0", "--verify"], save=True
    ).expect(OK)
    assert done.run and done.run.complete and len(done.run.phases) == 6
    assert [p.name for p in disk.iterdir()] == ["new"]
    (disk / "new").rmdir()


def refuse_what_does_not_fit(scope: Scope, place: str, disk: Path, mix: Path) -> None:
    """Before a client's session is opened, or a file is made."""
    few = ["prlimit", "--nofile=100:100", str(scope.binary), "load", place, "-n", "60"]
    done = scope.execute(few)
    done.expect(FAILED, "62 sessions and 2 threads need 134 open files, and a process here may ")
    assert "ulimit -n 134" in done.messages[0] and not [*disk.iterdir()]
    mix.write_text("[mix]\nfile_size = 1K*9,1T*1\n[actions]\nrandom-read = 3\nrandom-write = 1\n")
    line = [str(scope.binary), "load", place, "-n", "5", "-m", str(mix)]
    scope.execute(line).expect(REFUSED, "twice as much must be")
    assert not [*disk.iterdir()]


def refuse_a_small_disk(scope: Scope, place: str, disk: Path) -> None:
    """Of 12 MiB: what does not fit is refused with numbers, or, by force, written until it is full,
    and nothing is left."""
    line = [str(scope.binary), "smallfile", "--file-size", "1M", "--no-save", "-l", "create", place]
    done = scope.execute([*line, "-f", "8"])
    done.expect(REFUSED, "the files of this run take 8.4 MB, and ", " MB free: twice as much must")
    assert not [*disk.iterdir()]
    done = scope.execute([*line, "-f", "20", "--force"]).expect(REFUSED)
    assert "No space left on device" in " ".join(done.out.split()), done
    assert not [*disk.iterdir()]


def refuse_backups(scope: Scope, place: str, disk: Path) -> None:
    """No place but AFP's says whether it is for Time Machine: what it has put there does."""
    bundle = disk / "Mac.sparsebundle"
    bundle.mkdir()
    line = [str(scope.binary), "smallfile", "-f", "2", "--no-save", "-l", "create,delete", place]
    scope.execute(line).expect(OK)
    (bundle / "com.apple.TimeMachine.MachineID.plist").touch()
    scope.execute(line).expect(REFUSED, "is a destination of Time Machine", "--force")
    scope.execute([*line, "--force"]).expect(OK)
    assert [path.name for path in disk.iterdir()] == [bundle.name]
    shutil.rmtree(bundle)


def kill_a_load(scope: Scope, place: str, disk: Path) -> None:
    """Its warden removes what it made."""
    line = ["load", place, "-n", "3", "-d", "600", "--files", "3"]
    running = scope.start([str(scope.binary), *line])
    wait_until(lambda: len(seen(disk, "*/*/*")) >= 9, 60, "the files")
    running.process.kill()
    wait_until(lambda: not [*disk.iterdir()], 30, "the removal of the directory")


def clean_after_a_kill(scope: Scope, place: str, disk: Path, made_in: str = "") -> None:
    """made_in: another name of the same place."""
    line = ["smallfile", "-f", "30", "-l", "create,stat", "-d", "600", made_in or place]
    running = scope.start([str(scope.binary), *line])
    wait_until(lambda: len(seen(disk, "*/*/f.*")) == 30, 60, "the files")
    kill_with_warden(running)
    (left,) = (p.name for p in disk.iterdir())
    clean = [str(scope.binary), "clean", place]
    assert scope.execute(clean).expect(OK).out == f"{left}: removed\nlooked at 1 name\n"
    assert scope.execute(clean).expect(OK).out == "nothing to remove: looked at 0 names\n"


def compare_declarations(
    source: Path,
    library: Path,
    headers: Sequence[str],
    pairs: Mapping[str, tuple[str, Mapping[str, str]]],
    not_made: Sequence[str],
    more: Sequence[str] = (),
) -> None:
    """The library's headers are not needed to build: the compiler compares sizes and offsets of
    ours with them here; of what nobody makes one of, offsets only."""
    lines = [f"#include {header}" for header in headers]
    for ours, (theirs, members) in pairs.items():
        if ours not in not_made:
            lines.append(f'_Static_assert(sizeof(struct {ours}) == sizeof(struct {theirs}), "");')
        lines += [
            f"_Static_assert(offsetof(struct {ours}, {a}) == offsetof(struct {theirs}, {b}), "
            f'"{ours} {a}");'
            for a, b in members.items()
        ]
    source.write_text("\n".join([*lines, *more]) + "\n")
    folders = [f"-I{REPO / name}" for name in ("client", "user", ".")]
    line = ["gcc", "-fsyntax-only", "-Werror", "-std=gnu11", *folders, f"-I{library}/include"]
    done = subprocess.run([*line, source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
