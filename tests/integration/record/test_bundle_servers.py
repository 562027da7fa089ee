# SPDX-License-Identifier: GPL-2.0-or-later
"""Bundles of other servers than netatalk, of replays and of comparisons have no names either: of
users, shares, exports, folders, clients, programs, threads, cgroups, jobs and lines of logs.

Tests analysis/afpscope/bundle.py, hide/hide.py, hide/sentences.py.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bundles import bundled, saved
from faults import CGROUPS, in_group
from ganesha import Ganesha
from netatalk import BOUND, HERE, USERS, Server
from nfsclient import Nfs, mounted, work3
from offline import analysis, command
from recording import RawClient, ask_for
from replayplaces import libraries
from samba import Samba
from scope import FINDINGS, NOT_TOLD, OK, PinnedServer, Running, Scope, both_cpus

pytestmark = [pytest.mark.judges, pytest.mark.limit(180)]

# Found wherever they stand, and no part of them is a word of the program's.
USER, OTHER = "Zöé <b>Zwicky<b>", "zz'quoted; waited for 5 s"
SHARES = ("Größe 日本", "zzz 12.5ms, 99 %", "Z" * 27)
LABEL = ("--label", "who=zz-label")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of bundles are kept here, and the clients of SMB and NFS are found."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LD_LIBRARY_PATH", libraries())
    monkeypatch.setenv("AFPSCOPE_PASSWORD", USERS["bench1"])


def ended(running: Running) -> None:
    running.signal(signal.SIGINT)
    running.finish().expect(OK)


# ---- Samba ----


@pytest.fixture
def users_map() -> Iterator[str]:
    """A file of Samba's root tree that lets clients log in by hostile names."""
    root = Path(
        subprocess.run([HERE / "smb-root.sh", "bookworm"], capture_output=True, text=True,
                       check=True).stdout.strip()
    )  # fmt: skip
    name = f"/tmp/zz-users-{os.getpid()}.map"
    (root / name[1:]).write_text(f'bench1 = "{USER}" "{OTHER}"\n')
    yield name
    (root / name[1:]).unlink()


def test_a_bundle_of_samba(scope: Scope, users_map: str, tmp_path: Path) -> None:
    shares = "".join(f"[{name}]\npath = /tmp\nread only = no\n" for name in SHARES)
    settings = f"username map = {users_map}\nserver string = zz-server\n{shares}"
    run = tmp_path / "run"
    with Samba("bookworm", SMB_GLOBAL=settings) as server:
        watch = ("--kind", "smb", "--port", str(server.port), "--trace", "--names", *LABEL)
        running = scope.start(scope.recorder(None, *watch, "-o", str(run)))
        running.wait_recording()
        for i, share in enumerate(SHARES):
            user = (USER, OTHER)[i % 2]
            line = [
                *("chroot", str(server.root), "smbclient", "-s", server.conf),
                *("-p", str(server.port), "-n", "ZZCLIENT", "-U", f"{user}%secret1"),
                *(f"//127.0.0.1/{share}", "-c", "mkdir zz-folder; ls; rmdir zz-folder"),
            ]
            subprocess.run(line, check=True, capture_output=True)
        server.client("ls", user="bench2")
        ended(running)
        pid, port = server.pid, server.port
    of = saved(run)
    assert {s["user"] for s in of["sessions"]} >= {"bench2"}, of["sessions"]
    seen = " ".join(str(s) for s in of["sessions"])
    assert SHARES[0] in seen, "what is to be hidden"
    told = bundled(scope, run)
    addresses = {s["address"].rpartition(":")[2] for s in of["sessions"]}
    told.assert_has_none(
        {USER, OTHER, *SHARES, "Zwicky", "quoted", "ZZCLIENT", "zz-", "bench", "127.0.0.1",
         "/inst", of["id"], of["started"][10:19], str(run)},
        {*addresses, pid, port, *(s["pid"] for s in of["sessions"])},
    )  # fmt: skip


# ---- nfs-ganesha ----


def test_a_bundle_of_ganesha(scope: Scope, tmp_path: Path) -> None:
    root = Path(
        subprocess.run([HERE / "nfs-root.sh", "bookworm"], capture_output=True, text=True,
                       check=True).stdout.strip()
    )  # fmt: skip
    export = root / f"srv/zz-Größe-{os.getpid()}"
    export.mkdir(parents=True)
    export.chmod(0o777)
    inside = f"/{export.relative_to(root)}"
    more = (f'EXPORT {{ Export_Id = 77; Path = "{inside}"; Pseudo = "/zz-pseudo"; '
            "Access_Type = RW; Squash = No_Root_Squash; Protocols = 3, 4; Transports = TCP; "
            "FSAL { Name = VFS; } }")  # fmt: skip
    run = tmp_path / "run"
    try:
        with Ganesha("bookworm", NFS_MORE=more) as server:
            watch = ("--kind", "nfs", "--port", str(server.port), "--trace", "--names", *LABEL)
            running = scope.start(scope.recorder(None, *watch, "-o", str(run)))
            running.wait_recording()
            folder = mounted(server.mount_port, inside)
            with Nfs(server.port, user=5101, machine="zz-machine") as nfs:
                work3(nfs, folder, 5, 1000)
            url = f"nfs://127.0.0.1:{server.port}{inside}?mountport={server.mount_port}"
            load = ["load", url, "-n", "2", "-d", "2", "--think=0.02", "--ramp=0", "--watch=off"]
            scope.execute([str(scope.binary), *load, "--no-save"]).expect(OK)
            ended(running)
            pid, port, mount = server.pid, server.port, server.mount_port
    finally:
        subprocess.run(["rm", "-rf", export], check=True)
    of = saved(run)
    assert of["sessions"], "what is to be hidden"
    told = bundled(scope, run, doctor=False)  # it does not judge this kind
    ports = {s["address"].rpartition(":")[2] for s in of["sessions"]}
    told.assert_has_none(
        {"zz-", "Größe", "127.0.0.1", "/srv", "/inst", of["id"], of["started"][10:19], str(run)},
        {5101, pid, port, mount, *ports, *(s["pid"] for s in of["sessions"])},
    )


# ---- any program ----

PROGRAM = """
import ctypes, os, threading, time
name = ctypes.CDLL(None).prctl
name(15, "zz Zwicky <b>".encode(), 0, 0, 0)
def work(called):
    name(15, called.encode(), 0, 0, 0)
    while True:
        os.stat("/")
        time.sleep(0.001)
for called in ("zz Thread öä", "run queue", "FPRead"):
    threading.Thread(target=work, args=(called,), daemon=True).start()
print("works", flush=True)
time.sleep(600)
"""


def test_a_bundle_of_any_program(scope: Scope, tmp_path: Path) -> None:
    run = tmp_path / "run"
    program = tmp_path / "zz-program"
    program.write_bytes(Path(os.path.realpath(sys.executable)).read_bytes())
    program.chmod(0o755)
    env = {**os.environ, "PYTHONHOME": sys.base_prefix}
    line = [*BOUND, program, "-c", PROGRAM]
    with subprocess.Popen(line, env=env, stdout=subprocess.PIPE, text=True) as it:
        try:
            assert it.stdout and it.stdout.readline()
            with in_group(CGROUPS / "unified/zz-slice Größe.service", [it.pid]) as unit:
                watch = ("--kind", "any", "--unit", unit.name, "-d", "3", "--sample", "99")
                scope.execute(scope.recorder(None, *watch, *LABEL, "-o", str(run))).expect(OK)
        finally:
            it.kill()
    of = saved(run)
    assert {t["name"] for t in of["threads"]} >= {"zz Thread öä"}, of["threads"]
    told = bundled(scope, run, doctor=False)
    names = {"zz", "Zwicky", "Größe", of["id"], of["started"][10:19], str(run)}
    told.assert_has_none(names, {it.pid})


# ---- netatalk: what is beside it, replays, comparisons ----


@pytest.fixture
def hostile() -> Iterator[Server]:
    hooks = {"AFPD_USERS": f"{USER}:secret1", "AFPD_VOLUMES": SHARES[0]}
    with PinnedServer("forky", "dbd", both_cpus()[0], **hooks) as server:
        yield server


def url_of(server: Server) -> list[str]:
    """By options, as a URL has no such names."""
    return ["-h", "127.0.0.1", "-p", str(server.port), "-u", USER, "-s", SHARES[0],
            "--uam", "cleartext"]  # fmt: skip


def secrets(of: dict[str, object], run: Path) -> set[str]:
    started = str(of["started"])
    return {USER, "Zwicky", "zz-", *SHARES, "127.0.0.1", str(of["id"]), started[10:19], str(run)}


MIX = """
[mix]
name = zz-mix Zwicky
files = 4
file_size = 10000
[actions]
list = 1
save = 1
"""


def test_a_bundle_of_a_load_a_replay_and_a_comparison(
    scope: Scope, hostile: Server, tmp_path: Path
) -> None:
    (tmp_path / "zz-mix.ini").write_text(MIX)
    recording, again = tmp_path / "zz-recording Größe", tmp_path / "again"
    load = ["load", *url_of(hostile), f"--mix={tmp_path}/zz-mix.ini", "-n", "2", "-d", "2",
            "--ramp=0", "--trace=requests", "--replayable", "--names", *LABEL]  # fmt: skip
    scope.execute([str(scope.binary), *load, "-o", str(recording)]).expect(OK)
    replay = ["replay", str(recording), *url_of(hostile), "--no-think", *LABEL]
    scope.execute([str(scope.binary), *replay, "-o", str(again)]).expect(OK)
    numbers = {hostile.pid, hostile.port}
    for run in (recording, again):
        of = saved(run)
        told = bundled(scope, run)
        told.assert_has_none(secrets(of, run) | {str(recording), "zz"}, numbers)


def test_a_bundle_of_a_comparison(scope: Scope, hostile: Server, tmp_path: Path) -> None:
    (hostile.vol1 / "zz-folder").mkdir()
    runs, disk = tmp_path / "zz-versus", tmp_path / "zz-disk"
    disk.mkdir()
    done = analysis(
        *("versus", "--program", scope.binary, "-o", runs, "--pairs", "1"),
        *(f"zz-side=afp://bench1@127.0.0.1:{hostile.port}/vol1", f"zz-other={disk}"),
        *("--", "load", "--mix", "office", "-n", "2", "-d", "1", "--ramp", "0", "--files", "4"),
        *("--no-probe", "--uam", "cleartext"),
    )
    assert done.returncode == OK, done.stderr
    for name in ("001a", "001b"):
        of = saved(runs / name)
        is_watched = of.get("figures") is not None
        told = bundled(scope, runs / name, is_watched, tmp_path)
        found = secrets(of, runs) | {"zz", "bench1", "vol1"}
        told.assert_has_none(found, {hostile.pid, hostile.port})


HOG = """
import ctypes
ctypes.CDLL(None).prctl(15, b"zz Zwicky", 0, 0, 0)
while True:
    pass
"""
LINES = (
    "INTERNAL ERROR: Signal 11 in pid {pid} (4.5.1) of zz-log Zwicky\n"
    "/usr/sbin/afpd(zz_log_function+0x1) [0x1]\n"
)


def test_a_bundle_of_a_diagnosis_names_nothing_beside_the_server(
    scope: Scope, hostile: Server, tmp_path: Path
) -> None:
    """A program that takes its CPU, a cgroup that limits it, a session that has crashed."""
    run = tmp_path / "run"
    hog = [*BOUND, "taskset", "-c", str(both_cpus()[0]), sys.executable, "-c", HOG]
    with contextlib.ExitStack() as stack:
        it = stack.enter_context(subprocess.Popen(hog))
        stack.callback(it.kill)
        pids = [hostile.pid, *hostile.sessions()]
        group = CGROUPS / "cpu/zz-slice Größe"
        stack.enter_context(in_group(group, pids, cpu__cfs_quota_us="20000"))
        line = [str(scope.binary), "doctor", "-p", str(hostile.port), "-d", "8"]
        running = scope.start([*line, *LABEL, "-o", str(run)])
        running.wait_for("ing process ")
        clients = [RawClient(hostile.port, user=USER, volume=SHARES[0]) for _ in range(2)]
        victim = hostile.sessions()[0]
        with hostile.log.open("a") as log:
            log.write(LINES.format(pid=victim))
        end = time.monotonic() + 3
        while time.monotonic() < end:
            for client in clients:
                client.stat_root()
                ask_for(client, b"zz-file")
        os.kill(victim, 11)
        done = running.finish()
        assert done.status in (OK, FINDINGS, NOT_TOLD), str(done)
        for client in clients:
            with contextlib.suppress(ConnectionError):  # the one of the victim
                client.close()
    of = saved(run)
    told = bundled(scope, run)
    found = secrets(of, run) | {"zz", "Größe", "zz_log"}
    told.assert_has_none(found, {hostile.pid, hostile.port, it.pid, victim})
    names = subprocess.run([*command(), "bundle", str(run), "--names"], capture_output=True,
                           text=True, check=True).stdout  # fmt: skip
    assert USER in names
