# SPDX-License-Identifier: GPL-2.0-or-later
"""smallfile --gun where no gun comes; what begins together is in test_gfapi_perf.py.

Tests user/drive/gun.c.
"""

from __future__ import annotations

from pathlib import Path

from scope import FAILED, USAGE, Done, Running, Scope, wait_until


def start(scope: Scope, folder: Path, *args: str) -> Running:
    line = [str(scope.binary), "smallfile", "--no-save", "-n", "2", "-f", "10", *args, str(folder)]
    return scope.start(line)


def run(scope: Scope, folder: Path, *args: str) -> Done:
    return start(scope, folder, *args).finish()


def test_without_a_gun_it_ends_after_the_timeout(scope: Scope, tmp_path: Path) -> None:
    """Its ready files are there until then, and nothing else is."""
    (tmp_path / "guns").mkdir()
    (tmp_path / "base").mkdir()
    gun = tmp_path / "guns" / "gun"
    running = start(scope, tmp_path / "base", "--gun", str(gun), "--gun-timeout", "1")
    pid = running.process.pid
    wait_until(lambda: len(list(gun.parent.iterdir())) == 2, 30, "two ready files")
    names = sorted(p.name.split(".", 1)[1] for p in gun.parent.iterdir())
    assert names == [f"{pid}.0.ready", f"{pid}.1.ready"]
    done = running.finish().expect(FAILED, "no starting gun", str(gun), "within 1 s")
    assert f"awaiting starting gun file {gun}\n" in done.err
    assert not list(gun.parent.iterdir()) and not list((tmp_path / "base").iterdir())


def test_a_gun_whose_directory_is_not_there_is_named(scope: Scope, tmp_path: Path) -> None:
    where = tmp_path / "none"
    run(scope, tmp_path, "--gun", f"{where}/gun").expect(USAGE, "starting gun", str(where))
    run(scope, tmp_path, "--gun", f"{tmp_path}/").expect(USAGE, "not the name of a file")
    assert not list(tmp_path.iterdir())
