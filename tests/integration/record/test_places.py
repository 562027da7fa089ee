# SPDX-License-Identifier: GPL-2.0-or-later
"""Users of containers, name services that hang, namespaces: exact, or said."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from disturbed import within
from netatalk import Server
from places import LITTLE, STAT, LittleServer, little_server
from scope import AS_NOBODY, FAILED, NO_SESSION, OK, REPO, UNTRUSTED, Done, Scope

QUICK_S = 7  # beside the seconds of the watch; a name that is waited for takes 20 minutes
ASKED = 20


@pytest.fixture(scope="module")
def slow_names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """To be put before a command: its name service takes 20 minutes for each name."""
    folder = tmp_path_factory.mktemp("names")
    module = folder / "libnss_afpslow.so.2"
    source = str(LITTLE.with_name("nsslow.c"))
    subprocess.run(["gcc", "-Wall", "-shared", "-fPIC", "-o", module, source], check=True)
    conf = folder / "nsswitch.conf"
    conf.write_text("".join(f"{name}: afpslow files\n" for name in ("passwd", "group", "hosts")))
    script = f'mount --bind {conf} /etc/nsswitch.conf && LD_LIBRARY_PATH={folder} exec "$@"'
    return ["unshare", "--mount", "bash", "-c", script, "-"]


def test_the_name_service_hangs(slow_names: list[str]) -> None:
    """The test's own tool."""
    code = "import pwd, os; pwd.getpwuid(1234)"
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([*slow_names, "python3", "-c", code], timeout=2, check=True)


@pytest.fixture
def strangers() -> Iterator[LittleServer]:
    """A server of this host whose users have no names, one with a session."""
    with little_server(1234, 1235) as server, server.client() as client:
        client.ask()
        yield server


# Place: name service that does not answer (users; names of groups and hosts are never asked
#   for) | exact; users by number after half a second, said
def test_a_name_service_that_hangs_delays_no_record(
    scope: Scope, slow_names: list[str], strangers: LittleServer
) -> None:
    def record() -> Done:
        running = scope.record(None, f"--pid={strangers.pid}", "-d", "1", before=slow_names)
        running.wait_recording()
        with strangers.client() as client:
            client.ask()
        return running.finish()

    done = within(1 + QUICK_S, record)
    assert done.run
    assert {s["user"] for s in done.run.saved["sessions"]} == {"uid 1234", "uid 1235"}
    said = "has not answered yet: the users of 2 sessions are shown by number"
    assert said in done.run.warning("names")


# Place: name service that does not answer (users; names of groups and hosts are never asked
#   for)
@pytest.mark.parametrize("name", ["top", "slow", "exporter"])
def test_a_name_service_that_hangs_delays_no_command(
    scope: Scope, slow_names: list[str], strangers: LittleServer, name: str, tmp_path: Path
) -> None:
    args = {
        "top": ["-n", "1", "-b", "--by=user"],
        "slow": ["-d", "1"],
        "exporter": ["--listen", "127.0.0.1:0"],
    }[name]
    line = [*slow_names, str(scope.binary), name, f"--pid={strangers.pid}", *args]

    def run() -> Done:
        running = scope.start(line)
        if name == "exporter":
            running.wait_for("http://")
            running.process.terminate()
        return running.finish()

    within(1 + QUICK_S, run)


def test_nor_is_ones_own_name_waited_for(scope: Scope, slow_names: list[str]) -> None:
    bare = ["env", "-u", "HOME", "-u", "AFPSCOPE_RUNS", "-u", "XDG_STATE_HOME"]
    within(2, lambda: scope.execute([*slow_names, *bare, str(scope.binary), "runs"]))


def users(scope: Scope, server: LittleServer) -> list[str | None]:
    """Of one session from before a record, and of one that begins in it."""
    with server.client() as first:
        first.ask()
        running = scope.record(None, f"--pid={server.pid}", "-d", "2")
        running.wait_recording()
        first.ask(ASKED)
        with server.client() as second:
            second.ask(ASKED)
        done = running.finish(20).expect(OK)
    assert done.run
    assert done.run.phases[0].requests()[STAT] == 2 * ASKED
    return [session["user"] for session in done.run.saved["sessions"]]


# Place: user namespace: the numbers of users inside are others | exact; one user has one name,
#   that of the number inside
def test_a_user_of_a_user_namespace_has_one_name(scope: Scope) -> None:
    """Before and after the start of the watch: setresuid says 33, /proc/PID/status 100033."""
    with little_server(33, 33, mapped=100000) as server:
        assert users(scope, server) == ["www-data"] * 2


# Place: container with its own `/etc/passwd` | exact; the names of that list, else the number
def test_a_user_of_a_container_has_the_name_that_it_gives(scope: Scope, tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("root:x:0:0::/:\nalice:x:33:33::/:\n")
    with little_server(33, 33, mapped=100000, root=tmp_path) as server:
        assert users(scope, server) == ["alice"] * 2


OFF = ("unshare", "--time", "--monotonic", "100000", "--boottime", "100000")


def record(scope: Scope, server: LittleServer, *before: str, pid: int = 0) -> Done:
    """The requests of a second; pid: what the tool knows the server by, if not by its own."""
    running = scope.record(None, f"--pid={pid or server.pid}", "-d", "1", before=before)
    running.wait_recording()
    with server.client() as client:
        client.ask(ASKED)
    return running.finish(20).expect(OK)


# Place: tool in a time namespace with an offset | refused in a sentence; `/proc` is sampled
def test_a_clock_that_is_not_the_kernels_is_refused(scope: Scope) -> None:
    with little_server(0) as server:
        done = record(scope, server, *OFF)
    assert done.run
    said = "this is a time namespace, whose clock is 100000 s off the kernel's: run afpscope"
    assert said in done.run.saved["rungs"]["not.bpf"]
    assert "Warning: this is a time namespace" in done.out
    assert "/proc" in done.run.saved["rungs"]["calls"]


SPACES = {
    "time": OFF,
    "all": (
        *("unshare", "--pid", "--fork", "--mount-proc", "--net", "--cgroup", "--uts", "--ipc"),
        *OFF[1:],
    ),
    "beside": ("unshare", "--mount", "--net", "--cgroup", "--uts", "--ipc"),
}
UP = ("bash", "-c", 'ip link set lo up && exec "$@"', "-")


# Place: server in PID, network, mount, cgroup, UTS, IPC and time namespaces of its own, tool
#   outside | exact
# Place: server and tool in mount, network, cgroup namespaces beside each other | exact
@pytest.mark.parametrize("space", SPACES)
def test_a_server_in_namespaces_of_its_own_is_counted_exactly(scope: Scope, space: str) -> None:
    """From outside, or from other ones beside it."""
    own = (*SPACES[space], *(UP if "--net" in SPACES[space] else ()))
    with little_server(0, before=own) as server:
        done = record(scope, server, *(own if space == "beside" else ()))
    assert done.run
    assert "tp" in done.run.saved["rungs"]["calls"]
    assert done.run.phases[0].requests()[STAT] == ASKED
    assert not done.run.losses(), [loss for loss in done.run.saved["losses"] if loss["n"]]
    assert not done.run.open_books()


# Place: tool in a PID namespace of its own | `/proc` is sampled, said
def test_in_a_pid_namespace_proc_is_sampled(scope: Scope) -> None:
    """The programs know processes by the host's numbers: server and tool are in one container."""
    with little_server(0, before=("unshare", "--pid", "--fork", "--mount-proc")) as server:
        into = ("nsenter", f"--target={server.pid}", "--pid", "--mount")
        done = record(scope, server, *into, pid=1)
    assert done.run and done.run.saved["rungs"]["calls"].startswith("/proc/PID/io")
    assert "start the container with the host's process numbers" in done.run.warning("watch")
    assert done.run.phases[0].metrics["afpd_syscw"] is not None
    assert done.run.phases[0].saved["ledger"]["requests"] is None


def hiding(options: str) -> list[str]:
    """To be put before a command: what it sees of /proc."""
    script = f'mount -t proc -o {options} proc /proc && exec "$@"'
    return ["unshare", "--mount", "bash", "-c", script, "-"]


# Place: `/proc` with hidepid or subset=pid, as root | exact; what only the whole of `/proc`
#   shows of the machine is n/a
def test_root_sees_what_is_hidden(scope: Scope) -> None:
    with little_server(0) as server:
        done = record(scope, server, *hiding("hidepid=2,subset=pid"))
    assert done.run
    assert done.run.phases[0].requests()[STAT] == ASKED
    assert not done.run.losses() and not done.run.open_books()


# Place: `/proc` with hidepid or subset=pid, as root
def test_a_diagnosis_needs_no_more_than_the_processes(scope: Scope) -> None:
    """What the machine does is not seen, and that is said."""
    with little_server(0) as server:
        line = [*hiding("subset=pid"), str(scope.binary), "doctor", f"--port={server.port}"]
        done = scope.execute([*line, "-d", "1", "--no-save"])
    assert "Not seen: " in done.out and done.status in (OK, UNTRUSTED), done


# What a command that cannot look says of it, and its exit code.
UNMOUNTED = "/proc is not mounted here: mount -t proc proc /proc"
NO_PROC = ["unshare", "--mount", "bash", "-c", 'umount -l /proc && exec "$@"', "-"]
PLAIN = str(REPO / "build/afpscope")  # a sanitizer itself needs /proc


# Place: `/proc` that is not mounted | refused in a sentence that says so, with the mount (exit
#   code 5); loads work, and their server is not watched
@pytest.mark.parametrize(
    "line",
    [
        ["record"],
        ["record", "--port=548"],
        ["record", "--pid=1"],
        ["record", "--kind=any", "--pid=1"],
        ["record", "--kind=any", "--exe=init"],
        ["record", "--kind=any", "--port=548"],
        ["record", "--kind=rx"],
        ["record", "--kind=rx", "--pid=1"],
        ["record", "--kind=rx", "--port=7000"],
        ["record", "--kind=gluster"],
        ["record", "--kind=gluster", "--pid=1"],
        ["doctor"],
        ["doctor", "--kind=rx"],
        ["doctor", "--kind=gluster"],
        ["top", "-b", "-n", "1"],
        ["slow", "-d", "1"],
        ["exporter", "--once"],
        ["check"],
        ["check", "--pid=1"],
        ["check", "--port=548"],
    ],
    ids=" ".join,
)
def test_without_proc_a_command_says_what_is_missing(scope: Scope, line: list[str]) -> None:
    done = scope.execute([*NO_PROC, PLAIN, *line])
    assert done.status == NO_SESSION, done
    assert UNMOUNTED in done.err, done


# Place: `/proc` that is not mounted
def test_without_proc_a_load_says_why_its_server_is_not_watched(scope: Scope, dbd: Server) -> None:
    words = scope.command(dbd, "-n", "1", "-f", "8")
    line = [*NO_PROC, *(PLAIN if word == str(scope.binary) else word for word in words)]
    assert UNMOUNTED in " ".join(scope.execute(line).expect(OK).out.split())
    assert UNMOUNTED in scope.execute([*line, "--watch=bpf"]).expect(FAILED).err


def test_a_check_that_cannot_look_says_so(scope: Scope) -> None:
    done = scope.execute([*NO_PROC, PLAIN, "check", "--json=-"])
    found = json.loads(done.out)
    assert not found["exact"] and found["status"] == NO_SESSION
    assert "/proc" in {w["where"] for w in found["warnings"] if w["key"] == "not-seen"}
    done = scope.execute([*NO_PROC, PLAIN, "check"])
    assert "Nothing on this machine" not in done.out
    assert "whether the machine swaps, were not looked at" in " ".join(done.out.split())


# Place: `/proc` with hidepid or subset=pid, as root
@pytest.mark.parametrize("options", ["hidepid=2", "subset=pid"])
def test_a_check_says_what_it_could_not_look_at(scope: Scope, options: str) -> None:
    """The processes are there in both; of the machine only the first shows all."""
    with little_server(0) as server:
        line = [*hiding(options), str(scope.binary), "check", f"--port={server.port}"]
        found = json.loads(scope.execute([*line, "--json=-"]).expect(OK).out)
        out = " ".join(scope.execute(line).expect(OK).out.split())
    unseen = [w["where"] for w in found["warnings"] if w["key"] == "not-seen"]
    assert found["exact"] and unseen == (["/proc/meminfo"] if options == "subset=pid" else [])
    assert ("whether the machine swaps was not looked at" in out) == bool(unseen)


# Place: `/proc` with hidepid or subset=pid, as an ordinary user | refused in a sentence that
#   names hidepid
def test_an_ordinary_user_is_told_of_hidepid(scope: Scope, public: Path) -> None:
    with little_server(0) as server:
        for words in (
            ["record", f"--port={server.port}"],
            ["record", f"--pid={server.pid}"],
            ["record", "--kind=any", f"--pid={server.pid}"],
            ["record", "--kind=any", "--exe=littleserver"],
            ["check", f"--pid={server.pid}"],
        ):
            done = scope.execute([*hiding("hidepid=2"), *AS_NOBODY, str(public), *words])
            assert done.status and "(hidepid): run as root" in done.err, done


def longest_s(value: object, key: str = "") -> float:
    """Of all in ns below a value."""
    if isinstance(value, dict):
        return max((longest_s(v, k) for k, v in value.items()), default=0)
    if isinstance(value, list):
        return max((longest_s(v, key) for v in value), default=0)
    return abs(value) / 1e9 if isinstance(value, int) and key.endswith("_ns") else 0


# Place: wall clock that is set during a run | exact: all times are of CLOCK_MONOTONIC
def test_a_clock_that_is_set_changes_no_time_of_a_request(scope: Scope, tmp_path: Path) -> None:
    """It goes on by ten years each time that it is read."""
    library = tmp_path / "clockstep.so"
    source = str(LITTLE.with_name("clockstep.c"))
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    now = subprocess.run(
        ["date", "+%s"], env={"LD_PRELOAD": str(library)}, check=True, capture_output=True
    )
    assert int(now.stdout) > time.time() + 300e6
    with little_server(0) as server:
        trace = tmp_path / "trace"
        set_clock = ("env", f"LD_PRELOAD={library}")
        running = scope.record(
            None, f"--pid={server.pid}", "-d", "1", "--trace", "-o", str(trace), before=set_clock
        )
        running.wait_recording()
        with server.client() as client:
            client.ask(ASKED)
        done = running.finish(20).expect(OK)
    assert done.run
    assert 0.9 < done.run.phases[0]["elapsed"] / 1e9 < 60
    assert longest_s(done.run.saved) < time.monotonic() + 60
    assert not done.run.losses() and not done.run.open_books()
