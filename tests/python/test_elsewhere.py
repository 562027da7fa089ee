# SPDX-License-Identifier: GPL-2.0-or-later
"""A run opens on a machine that has no server, no BPF, no root and no network: only Python.

That machine is a root of its own: mounts of the interpreter and of the package, read-only, a
run folder that belongs to root, and nothing else of this one. The user there is nobody.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import cookbook
import pytest
import tracegen
from conftest import Shelf

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make the other machine"),
]

# What an interpreter is made of; the rest of the root is empty.
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts")
ROOM = r"""
set -eu
root=$1; shift
mount -t tmpfs -o mode=755 none "$root"
mkdir -m 1777 "$root/tmp" "$root/var" "$root/dev"
mknod -m 666 "$root/dev/null" c 1 3 2>/dev/null || : > "$root/dev/null"
while [ "$1" != -- ]; do
    from=${1%%=*} to=$root${1#*=}
    if [ -d "$from" ]; then mkdir -p "$to"; else mkdir -p "${to%/*}"; : > "$to"; fi
    mount --rbind "$from" "$to"
    mount -o remount,bind,ro "$to"
    [ "$from" != /usr ] || mount -t tmpfs none "$to/local"
    shift
done
shift
exec chroot --userspec=65534:65534 "$root" "$@"
"""
CHECK = """
import os, socket, sys
assert os.getuid() == os.geteuid() == 65534, "root"
for path in ("/sys/kernel/btf", "/proc/self", "/usr/local/bin/afpscope"):
    assert not os.path.exists(path), path
assert not os.access("/run", os.W_OK) and not os.access("/run/run.json", os.W_OK)
assert os.stat("/run/run.json").st_uid == 0, "the run is not root's"
try:
    socket.create_connection(("127.0.0.1", 22), 1)
except OSError as e:
    assert e.errno in (101, 111), e
else:
    raise SystemExit("there is a network")
"""


def elsewhere(tmp: Path, run: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """`python3 ARGS` there; the run is /run, the package /pkg."""
    room = tmp / "room"
    room.mkdir(exist_ok=True)
    python = [] if sys.base_prefix == "/usr" else [sys.base_prefix]
    mounts = [f"{p}={p}" for p in (*SYSTEM, *python) if Path(p).exists()]
    mounts += [f"{cookbook.ROOT / 'analysis'}=/pkg", f"{run}=/run", f"{sys.prefix}=/venv"]
    env = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONPATH": "/pkg",
        "HOME": "/nowhere",
    }
    line = ["unshare", "-mn", "--propagation", "private", "sh", "-c", ROOM, "room", str(room)]
    line += [*mounts, "--", "/venv/bin/python3", "-B", *args]
    return subprocess.run(line, env=env, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def run(shelf: Shelf) -> Path:
    """A run with a trace, copied: no link leads out of it."""
    folder = shelf.put("copied")
    tracegen.write(folder / "trace")
    for name, rows in tracegen.both_sides(3000).items():
        (folder / "trace" / name).write_bytes(tracegen.packets(name, rows))
    return folder


def test_it_is_another_machine(run: Path, tmp_path: Path) -> None:
    done = elsewhere(tmp_path, run, "-c", CHECK)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("info", "/run"), "cross-checks 12 of 12 agree"),
        (("query", "/run", "select count(*) as n from joined", "--csv"), "n\n3000\n"),
        (("report", "/run", "-o", "/tmp/r.html"), "/tmp/r.html"),
        (("export", "/run", "--to", "parquet", "-o", "/tmp/p"), "/tmp/p/requests.parquet"),
        (("export", "/run", "--to", "csv", "-o", "/tmp/c"), "/tmp/c/requests.csv"),
        (("export", "/run", "--to", "perfetto", "-o", "/tmp/f"), "/tmp/f/run.pftrace"),
    ],
)
def test_a_run_opens_there(run: Path, tmp_path: Path, args: tuple[str, ...], says: str) -> None:
    done = elsewhere(tmp_path, run, "-m", "afpscope", *args)
    assert (done.returncode, done.stderr) == (0, "")
    assert says in done.stdout
