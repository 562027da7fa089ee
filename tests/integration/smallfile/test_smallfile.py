# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads of small files in a directory and on netatalk: strace and the disk are the judges of what
was done; what fails is counted and said; nothing is left but where it was asked for.

Tests user/main/smallfile.c, smallfile_opts.c, user/drive/smallfile_clients.c,
user/report/screen/screen_files.c, each.c.
"""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from netatalk import Server
from remotely import refuse_backups
from scope import (
    INTERRUPTED,
    LOST,
    OK,
    REFUSED,
    USAGE,
    Done,
    PinnedServer,
    Scope,
    crash,
    left_on,
    wait_until,
)
from wardens import kill_with_warden

# Everything that can be done with a file of a directory, and the file is as before.
ALL = "create,stat,read,readdir,ls-l,append,read,overwrite,rnd-wr,rnd-rd,seq-rdwrmix,read"
ALL += ",rename,stat,rename,chmod,setxattr,getxattr,mkdir,rmdir,delete"


def smallfile(scope: Scope, place: Server | Path, *args: str, **options: Any) -> Done:
    if isinstance(place, Path):
        line = [str(scope.binary), "smallfile", *args, str(place)]
    else:
        line = scope.command(place, *args, tool="smallfile")
    return scope.execute(line, save=True, **options)


def phases(done: Done) -> list[dict[str, Any]]:
    assert done.run, f"nothing was saved: {done}"
    return done.run.saved["phases"]


def done_of(phase: dict[str, Any]) -> tuple[int, int]:
    """Operations, and those of them that failed."""
    actions = phase["load"]["actions"]
    return sum(a["n"] for a in actions), sum(a["failed"] for a in actions)


def test_each_second_of_a_load_can_be_read_by_a_program(scope: Scope, tmp_path: Path) -> None:
    """Of loads that end by time, and of one that ends when all is done."""
    loads = ("-l", "create,stat,delete", "-f", "40", "--delay", "30000", "--watch", "off")
    done = smallfile(scope, tmp_path, *loads, "-d", "1", "--live=json").expect(OK)
    shown = [json.loads(x) for x in done.err.splitlines() if x.startswith("{")]
    assert [(s["phase"], s["second"]) for s in shown] == [("create", 1), ("stat", 1), ("delete", 1)]
    for s in shown:
        assert s["actions"] > 1 and 0 < s["p50_ns"] <= s["p99_ns"] and not s["failed"]
    assert shown[0]["actions"] < 40 and shown[0]["bytes"] == shown[0]["actions"] * 4096
    assert shown[1]["actions"] == done_of(phases(done)[1])[0]


def test_strace_counts_the_same_calls(scope: Scope, tmp_path: Path) -> None:
    place, log = tmp_path / "place", tmp_path / "strace"
    place.mkdir()
    calls = "pread64,pwrite64,renameat2,fsync"
    args = ("-n", "3", "-f", "50", "--file-size", "10000", "--record", "4096", "--fsync")
    loads = "create,read,rename,overwrite,rnd-rd,delete"
    strace = ["strace", "-f", "-qq", "-y", "-e", f"trace={calls}", "-o", str(log)]
    line = [*strace, str(scope.binary), "smallfile", *args, "-l", loads, str(place)]
    no_leaks = {"ASAN_OPTIONS": "detect_leaks=0"}  # not under strace
    done = scope.execute(line, save=True, env=no_leaks).expect(OK)
    named = rf"^\d+ +({calls.replace(',', '|')})\(\d+<{place}/"
    made = Counter(re.findall(named, log.read_text(), re.M))
    files, records = 3 * 50, 3
    assert made["renameat2"] == files
    assert made["fsync"] == 2 * files
    assert made["pwrite64"] == 2 * files * records
    assert made["pread64"] == 2 * files * records
    for phase in phases(done):
        assert done_of(phase) == (files, 0), phase["title"]
        (action,) = phase["load"]["actions"]
        assert action["name"] == phase["title"]
    assert not list(place.iterdir())


def test_directories_take_no_descriptors_and_one_call_each(scope: Scope, tmp_path: Path) -> None:
    """More of them than there may be open files, made and removed by one call each."""
    place, log = tmp_path / "place", tmp_path / "strace"
    limits = ["prlimit", "--nofile=200:200"]
    line = [str(scope.binary), "smallfile", "-f", "3000", "-s", "0", "--no-save"]
    done = scope.execute([*limits, *line, "-l", "create,mkdir,rmdir,delete", str(place)]).expect(OK)
    assert "failed" not in done.out
    strace = ["strace", "-f", "-qq", "-e", "trace=mkdirat,unlinkat,openat", "-o", str(log)]
    line = [*strace, *line, "-l", "create,mkdir,rmdir,delete", str(place)]
    scope.execute(line, env={"ASAN_OPTIONS": "detect_leaks=0"}).expect(OK)
    calls = Counter(re.findall(r'(\w+)\(\d+, "f\.\d{7}(\.d)?"', log.read_text()))
    assert calls == {
        ("openat", ""): 3000,
        ("mkdirat", ".d"): 3000,
        ("unlinkat", ".d"): 3000,
        ("unlinkat", ""): 3000,
    }


def test_the_files_are_there_and_a_wrong_byte_is_found(scope: Scope, tmp_path: Path) -> None:
    args = ("-n", "2", "-f", "30", "--files-per-dir", "10", "--tree", "kept", "--exponential")
    smallfile(scope, tmp_path, *args, "-l", "create").expect(OK)
    files = sorted((tmp_path / "kept").glob("thrd*-d*/f.*"))
    assert len(files) == 60
    assert files[0].name == "f.0000000"
    assert files[0].parent.name == "thrd000-d0000"
    assert len({f.parent for f in files}) == 6
    assert len({f.read_bytes()[:64] for f in files if f.stat().st_size >= 64}) > 50
    smallfile(scope, tmp_path, *args, "-l", "stat,read").expect(OK)
    wrong = max(files, key=lambda f: f.stat().st_size)
    data = bytearray(wrong.read_bytes())
    data[len(data) // 2] ^= 4
    wrong.write_bytes(data)
    name = f"{wrong.parent.name}/{wrong.name}"
    done = smallfile(scope, tmp_path, *args, "-l", "read")
    done.expect(REFUSED)
    assert f"{name}: byte {len(data) // 2} is not what was written" in " ".join(done.out.split())
    assert [done_of(p) for p in phases(done)] == [(60, 1)]
    assert re.search(r"^ +read +59 +1 ", done.out, re.M), done.out
    other = smallfile(scope, tmp_path, *args, "-l", "read", "--seed", "2")
    assert done_of(phases(other.expect(REFUSED))[0]) == (60, 60)


def test_a_full_disk_is_no_speed(scope: Scope, small_disk: Path) -> None:
    args = ("-f", "8", "--file-size", "1M", "-l", "create,read,delete")
    done = smallfile(scope, small_disk, *args).expect(REFUSED)
    done.expect(REFUSED, f"the files of this run take 8.4 MB, and {small_disk} has ", "--force")
    assert not list(small_disk.iterdir())
    done = smallfile(scope, small_disk, *args, "--force").expect(REFUSED)
    assert "No space left on device" in " ".join(done.out.split())
    n, failed = done_of(phases(done)[0])
    assert n == 8
    assert failed >= 6
    assert re.search(rf"^ +create +{8 - failed} +{failed} ", done.out, re.M), done.out
    assert not list(small_disk.iterdir())


# Of a quota of 16 MiB, 10 MiB are used: struct if_dqblk.
QUOTA = struct.pack("<8QI4x", 16 << 10, 0, 10 << 20, 0, 0, 0, 0, 0, 3)


def test_a_quota_is_the_room_that_there_is(scope: Scope, tmp_path: Path) -> None:
    """By strace, which answers for the kernel: file systems with quotas are not everywhere."""
    told = f"inject=quotactl_fd:retval=0:poke_exit=@arg4={QUOTA.hex()}"
    strace = ["strace", "-f", "-qq", "-o", str(tmp_path / "log"), "-e", told]
    line = [str(scope.binary), "smallfile", "-f", "8", "--file-size", "1M", "--no-save"]
    place = tmp_path / "place"
    place.mkdir()
    done = scope.execute([*strace, *line, str(place)], env={"ASAN_OPTIONS": "detect_leaks=0"})
    done.expect(REFUSED, f"the files of this run take 8.4 MB, and {place} has 6.3 MB free")
    assert not list(place.iterdir())


def test_backups_of_time_machine_are_left_alone(scope: Scope, tmp_path: Path) -> None:
    refuse_backups(scope, str(tmp_path), tmp_path)


def test_an_interrupt_leaves_nothing_and_keeps_what_was_measured(
    scope: Scope, tmp_path: Path
) -> None:
    args = ("-n", "2", "-f", "1000", "-l", "create,read", "-d", "600")
    line = [str(scope.binary), "smallfile", *args, str(tmp_path)]
    running = scope.start(line, save=True)
    wait_until(lambda: len(list(tmp_path.glob("*/*/f.*"))) == 2000, 60, "the files")
    running.signal(signal.SIGINT)
    done = running.finish(60).expect(INTERRUPTED)
    assert "INCOMPLETE" in done.out
    create, *read = phases(done)
    # The last files may still have been written.
    n, failed = done_of(create)
    assert n >= 1998
    assert not failed
    assert not any(p["complete"] for p in read)
    assert not list(tmp_path.iterdir())


def test_clean_removes_what_a_killed_run_left(scope: Scope, tmp_path: Path) -> None:
    (tmp_path / "LanTest-mine").mkdir()
    line = [str(scope.binary), "smallfile", "-l", "create,stat", "-d", "600", str(tmp_path)]
    running = scope.start(line)
    wait_until(lambda: len(list(tmp_path.glob("*/*/f.*"))) == 1000, 60, "the files")
    clean = [str(scope.binary), "clean", str(tmp_path)]
    assert "its run is still alive" in scope.execute(clean).expect(OK).out
    kill_with_warden(running)
    (left,) = {p.name for p in tmp_path.iterdir()} - {"LanTest-mine"}
    assert scope.execute(clean).expect(OK).out == f"{left}: removed\nlooked at 2 names\n"
    assert scope.execute(clean).expect(OK).out == "nothing to remove: looked at 1 name\n"
    assert [p.name for p in tmp_path.iterdir()] == ["LanTest-mine"]
    (tmp_path / left).touch()  # somebody's file of that name
    assert scope.execute(clean).expect(OK).out == "nothing to remove: looked at 2 names\n"
    assert (tmp_path / left).exists()
    scope.execute([*clean[:2], str(tmp_path / "no")]).expect(REFUSED, "cannot open directory")


def test_memory_does_not_grow_with_the_files(scope: Scope) -> None:
    # A sanitizer keeps what was freed.
    freed = {"ASAN_OPTIONS": "quarantine_size_mb=0:thread_local_quarantine_size_kb=0"}

    def most_kib(files: int) -> int:
        line = [str(scope.binary), "smallfile", "-f", str(files), "--file-size", "16", "/dev/shm"]
        with subprocess.Popen(line, stdout=subprocess.PIPE, env=os.environ | freed) as process:
            assert process.stdout
            process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == OK
        return usage.ru_maxrss

    # 99 directories more: a descriptor and a name each.
    assert most_kib(100_000) - most_kib(1000) < 3072


def test_loads_are_done_again_for_a_duration(scope: Scope, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    args = ("-f", "20", "-l", "create,stat,delete", "-d", "1", "--between", f"echo x >> {mark}")
    done = smallfile(scope, tmp_path / "new", *args)
    done.expect(OK)
    create, stat, delete = phases(done)
    assert done_of(create) == done_of(delete) == (20, 0)
    assert done_of(stat)[0] > 100
    assert stat["load"]["common_ns"] is None
    assert create["load"]["common_actions"] == 20
    assert mark.read_text() == "x\nx\n"


def test_reads_from_the_page_cache_are_said(scope: Scope, tmp_path: Path) -> None:
    args = ("-f", "20", "--file-size", "10000", "--tree", "kept")
    create, read = phases(smallfile(scope, tmp_path, *args, "-l", "create,read").expect(OK))
    assert create["metrics"]["cached"] is None
    assert read["metrics"]["cached"] == read["metrics"]["cache_looked"] == 20 * 10000
    for file in tmp_path.glob("kept/*/f.*"):
        file.write_bytes(b"")
        os.truncate(file, 10000)  # a hole, of which nothing is in memory
    done = smallfile(scope, tmp_path, *args, "-l", "read").expect(REFUSED)
    (read,) = phases(done)
    assert read["metrics"]["cache_looked"] == 20 * 10000
    assert read["metrics"]["cached"] == 0
    assert re.search(r"^ +load .* cached$", done.out, re.M)
    assert re.search(r"^ +read .* 0%$", done.out, re.M), done.out


def test_what_makes_no_sense_is_refused(scope: Scope) -> None:
    """The message and the exit code of main(); all others: unit/main/test_usage.c."""
    done = smallfile(scope, Path("/var/tmp"), "-l", "create,reed")
    done.expect(USAGE, "there is no load 'reed'; there are: create, append")


def test_both_sides_count_the_same(scope: Scope, dbd: Server) -> None:
    args = ("-n", "3", "-f", "40", "--files-per-dir", "15", "--file-size", "100K", "-l", ALL)
    done = smallfile(scope, dbd, *args).expect(OK)
    assert done.run
    done.run.assert_trustworthy()
    files = 3 * 40
    for phase in phases(done):
        dirs = phase["title"] in ("readdir", "ls-l")
        assert done_of(phase) == (9 if dirs else files, 0), phase["title"]
    create, stat = (done.run.phase(i) for i in (1, 2))
    assert create.requests()[7] == files  # FPCreateFile
    assert create.requests()[26] == create.requests()[4] == files  # FPOpenFork, FPCloseFork
    assert create["bytes"] == files * 100 * 1024
    assert stat.requests()[34] == files  # FPGetFileDirParms
    assert "server calls" in done.out
    assert left_on(dbd) == []


def test_directories_below_one_another(scope: Scope, tmp_path: Path, dbd: Server) -> None:
    args = ("-n", "2", "-f", "50", "--files-per-dir", "10", "--depth", "3")
    done = smallfile(scope, tmp_path, *args, "--tree", "kept", "-l", ALL.removesuffix(",delete"))
    assert not any(done_of(p)[1] for p in phases(done.expect(OK)))
    places = Counter(str(f.parent.relative_to(tmp_path / "kept")) for f in tmp_path.rglob("f.*"))
    names = [f"thrd001-d{i:04}" for i in range(5)]
    mine = {p: n for p, n in places.items() if p.startswith("thrd001")}
    assert mine == {
        "/".join(part): 10 for part in (names[:1], names[:2], names[:3], names[3:4], names[3:])
    }
    # What is looked at before a read is found.
    done = smallfile(scope, tmp_path, *args, "--tree", "kept", "-l", "rnd-wr,rename")
    done = smallfile(scope, dbd, *args, "-l", "create,readdir,read,delete").expect(OK)
    assert [done_of(p) for p in phases(done)] == [(100, 0), (10, 0), (100, 0), (100, 0)]
    assert left_on(dbd) == []


def test_each_thread_has_a_line(scope: Scope, tmp_path: Path) -> None:
    done = smallfile(scope, tmp_path, "-n", "3", "-f", "20", "-v", "-l", "create,stat,delete")
    (create, *_) = phases(done.expect(OK))
    for client in create["load"]["each_client"]:
        p50, p99, most = (client[f"begun_{key}_ns"] for key in ("p50", "p99", "max"))
        assert 0 < p50 <= p99 <= most <= client["max_ns"]
    lines = re.findall(r"^ +(create|stat|delete) +(\d) +20 +\d", done.out, re.M)
    assert lines == [(load, str(i)) for load in ("create", "stat", "delete") for i in range(3)]
    done = smallfile(scope, tmp_path, "-n", "40", "-f", "2", "-v", "-l", "create,delete")
    lines = re.findall(r"^ +(create|delete) +\d+ +2 +\d", done.expect(OK).out, re.M)
    assert Counter(lines) == {"create": 15, "delete": 15}
    assert "the slowest 15 of 40 threads" in done.out


def test_links_of_all_kinds(scope: Scope, tmp_path: Path) -> None:
    args = ("-f", "30", "--tree", "kept")
    smallfile(scope, tmp_path, *args, "-l", "create,link,symlink").expect(OK)
    links = sorted((tmp_path / "kept").glob("*/*.s"))
    assert [p.readlink().name for p in links] == [f"f.{i:07}" for i in range(30)]
    assert all(p.stat().st_nlink == 2 for p in links)
    done = smallfile(scope, tmp_path, *args, "-l", "unlink-symlink,unlink-link,read,delete")
    assert [done_of(p) for p in phases(done.expect(OK))] == [(30, 0)] * 4
    assert not list((tmp_path / "kept").glob("*/*"))


def test_links_are_refused_where_there_are_none(scope: Scope, dbd: Server) -> None:
    done = smallfile(scope, dbd, "-l", "create,symlink")
    assert done.status == USAGE, done
    assert "load symlink: AFP has no links" in done.err
    assert left_on(dbd) == []


def test_a_server_that_is_restarted_ends_the_run(scope: Scope, victim: PinnedServer) -> None:
    args = ("-n", "3", "-f", "100", "-l", "create,read", "-d", "60")
    running = scope.start(scope.command(victim, *args, tool="smallfile"), save=True)
    wait_until(lambda: len(list(victim.vol1.glob("*/*/f.*"))) == 300, 30, "the files")
    crash(victim)
    done = running.finish(60).expect(LOST, "a new session has removed")
    create, *read = phases(done)
    assert done_of(create)[0] >= 297
    assert [p["load"]["lost"] for p in read] in ([], [3])
    assert left_on(victim) == []
