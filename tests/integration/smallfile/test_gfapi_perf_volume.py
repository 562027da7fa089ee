# SPDX-License-Identifier: GPL-2.0-or-later
"""gfapi_perf_tool without GFAPI_FUSE: its files are in a GlusterFS volume, by libgfapi.

What the original does there: 4 KiB reads end in a crash, each run waits 10 s at its end, and a
brick that dies is not noticed.

Tests user/compat/gfapi_perf.c, user/drive/gun.c.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from gluster import VOLUMES, Gluster
from scope import FAILED, Scope, wait_until
from test_gfapi_perf import KIB, MIB, RATES, Output, Tool, ready_files

pytestmark = [
    pytest.mark.skipif(
        not shutil.which("glusterd"), reason="no GlusterFS: tests/need.sh gluster installs it"
    ),
    pytest.mark.usefixtures("with_libgfapi"),
]
FILES = 20
READS = ("seq-rd", "rnd-rd", "seq-rdwrmix")


@pytest.fixture(scope="module")
def server() -> Iterator[Gluster]:
    with Gluster(GLUSTER_MOUNT="one", GLUSTER_SMALL="16M") as found:
        yield found


class InVolume(Tool):
    """The tool on a volume of a server."""

    server: Gluster

    def env(self, **variables: object) -> dict[str, str]:
        here = {"FUSE": 0, "HOSTNAME": self.server.host, "BASEDIR": "/"}
        return super().env(**{**here, **variables})


@pytest.fixture
def tool(scope: Scope, server: Gluster, tmp_path: Path) -> InVolume:
    link = tmp_path / "gfapi_perf_tool"
    link.symlink_to(scope.binary)
    found = InVolume(scope, link, Path("/"))
    found.server = server
    return found


def on_bricks(server: Gluster, volume: str) -> dict[str, set[int]]:
    """Sizes of the files, on all bricks that have them."""
    found: dict[str, set[int]] = {}
    for number in range(VOLUMES.get(volume, 1)):
        for path in server.brick(volume, number).glob("thrd*/f.*"):
            if path.stat().st_mode & 0o777:  # not a pointer to another brick
                found.setdefault(path.name, set()).add(path.stat().st_size)
    return found


@pytest.mark.parametrize("volume", VOLUMES)
def test_each_load_of_small_files_ends_with_its_result(tool: InVolume, volume: str) -> None:
    sized = {"VOLNAME": volume, "FILES": FILES, "FSZ": "4k", "THREADS_PER_PROC": 2}
    out = tool.good(**sized)
    assert out.all["files written"] == 2 * FILES and "  fuse?No\n" in out.head
    sizes = on_bricks(tool.server, volume)
    assert len(sizes) == FILES and set.union(*sizes.values()) == {4 * KIB}
    for load in READS * (1 if volume == "rep" else 2):  # whose end takes a second
        out = tool.good(**sized, LOAD=load, RDPCT=100)
        assert out.all["files read"] == 2 * FILES
        assert out.all["total bytes"] == 2 * FILES * 4 * KIB
    tool.good(**sized, LOAD="rnd-wr")
    tool.good(**sized, LOAD="seq-rdwrmix", RDPCT=0)
    assert set.union(*on_bricks(tool.server, volume).values()) == {8 * KIB}
    assert tool.good(**sized, LOAD="unlink").all["files deleted"] == 2 * FILES
    assert not on_bricks(tool.server, volume)


@pytest.mark.parametrize("direct", [0, 1])
def test_last_records_are_written(tool: InVolume, direct: int) -> None:
    sized = {"VOLNAME": "one", "FILES": 5, "FSZ": "101k", "DIRECT": direct}
    assert tool.good(**sized).all["I/O (record) transfers"] == 10
    assert set.union(*on_bricks(tool.server, "one").values()) == {101 * KIB}
    assert tool.good(**sized, LOAD="rnd-rd").all["total bytes"] == 5 * 101 * KIB
    tool.good(**sized, LOAD="unlink")


def test_a_full_volume_is_no_speed(tool: InVolume) -> None:
    full = {"VOLNAME": "small", "FILES": 4, "FSZ": "8M"}
    tool(**full).expect(FAILED, "the files of this run take 33.6 MB, and ", "GFAPI_FORCE=1")
    out = tool.failed("No space left", FORCE=1, **full)
    assert out.all["files failed"] >= 2
    assert out.all["files failed"] + out.all["files done"] == 4
    assert out.all["files done"] * 8 * MIB <= 16 * MIB


def test_what_is_not_there_is_named_and_not_made(tool: InVolume) -> None:
    tool(VOLNAME="none").expect(FAILED, "no volume none")
    tool(VOLNAME="one", BASEDIR="/none").expect(FAILED, "/one/none", "No such file")
    assert not (tool.server.brick("one") / "none").exists()


def test_gun_and_ready_files_are_in_the_volume(tool: InVolume, tmp_path: Path) -> None:
    brick, mount = tool.server.brick("one"), tool.server.mnt / "one"
    (mount / "guns").mkdir()
    running = tool.start(
        VOLNAME="one", FILES=FILES, FSZ="4k", THREADS_PER_PROC=2, STARTING_GUN="/guns/gun"
    )
    where = tool.server.url("one", "guns/gun")
    small = tool.scope.start(
        [str(tool.scope.binary), "smallfile", "--no-save", "-f", "5", "--gun", where, str(tmp_path)]
    )
    wait_until(lambda: len(ready_files(brick / "guns")) == 3, 30, "ready files in the volume")
    assert {name.split(".", 1)[1] for name in ready_files(brick / "guns")} == {
        f"{running.process.pid}.0.ready",
        f"{running.process.pid}.1.ready",
        f"{small.process.pid}.0.ready",
    }
    (mount / "guns" / "gun").touch()
    before = (brick / "guns" / "gun").stat().st_ctime
    done = running.finish().expect(0)
    small.finish().expect(0)
    assert "awaiting starting gun file /guns/gun\n" in done.out
    assert Output(done.out).started_at() >= before + 3
    assert not ready_files(brick / "guns")
    tool.good(VOLNAME="one", FILES=FILES, THREADS_PER_PROC=2, LOAD="unlink")


def test_a_brick_that_dies_is_an_error(tool: InVolume) -> None:
    """Of files on the brick; the others are done. Last: the brick stays away."""
    files = 300
    running = tool.start(VOLNAME="dist", FILES=files, FSZ="4k", USEC_DELAY_PER_FILE=5000)
    pid = tool.server.brick_pid("dist", 1)
    wait_until(lambda: len(on_bricks(tool.server, "dist")) > 10, 30, "files")
    os.kill(pid, signal.SIGKILL)
    done = running.finish().expect(FAILED, "files failed, the first: ", "not connected")
    out = Output(done.out)
    assert out.all["files failed"] + out.all["files done"] == files
    assert out.all["files done"] > 10 and out.all["files failed"]
    assert not [rate for rate in RATES if rate in done.out], done
