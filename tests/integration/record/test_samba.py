# SPDX-License-Identifier: GPL-2.0-or-later
"""record --kind smb: a real Samba, and what it says itself of its requests.

The judges are `smbstatus -P`, Samba's own profile (requests and bytes by command), and strace for
the calls of each. Tests user/kinds/smb.c, bpf/decode/smb2.h, bpf/park.h and bpf/commands.h.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import parked
import pytest
from recording import stopped
from samba import COMMANDS, SUITES, Samba
from scope import Run, Scope, wait_until
from smbwire import (
    BATCH,
    CHANGE_NOTIFY,
    CLOSE,
    LOCK,
    OPENED_BEFORE,
    UNLOCK,
    SmbWire,
    close_of,
    lock_of,
    notify_of,
)

SIZE = 5000
FILES = 20
WAITED = " that waited"
ENCRYPTED = "--client-protection=encrypt"
WRAPS = 2**32  # smbstatus prints no larger sums of bytes
OF_EACH = parked.suites("bookworm")
SYNCHRONOUS = "aio read size = 0\naio write size = 0"


@pytest.fixture(scope="module", params=SUITES)
def samba(request: pytest.FixtureRequest) -> Iterator[Samba]:
    with Samba(request.param) as server:
        assert server.version.startswith(SUITES[request.param])
        yield server


def work() -> str:
    """Commands of smbclient: files are made, listed, read, renamed and deleted."""
    steps = ["mkdir d", "cd d"]
    for i in range(FILES):
        steps += [f"put block f{i}", f"get f{i} got", f"allinfo f{i}", f"rename f{i} g{i}"]
    steps += ["ls", *(f"del g{i}" for i in range(FILES)), "cd ..", "rmdir d"]
    return "; ".join(steps)


def counted(run: Run) -> dict[str, Counter[str]]:
    """The profile, as the clients' connections show it."""
    found: dict[str, Counter[str]] = {k: Counter() for k in ("count", "inbytes", "outbytes")}
    for account in run.phases[0].accounts().values():
        name = account["name"].removesuffix(WAITED)
        if name in COMMANDS.values():
            found["count"][name] += account["requests"] + account.get("untimed", 0)
            found["inbytes"][name] += account["bytes_in"]
            found["outbytes"][name] += account["bytes_out"]
    return {what: +counter for what, counter in found.items()}


def recorded(
    scope: Scope, server: Samba, act: Callable[[], object]
) -> tuple[Run, dict[str, Counter[str]], str]:
    """A recording of what a client does, what Samba says of it, and the screen."""
    (server.root / "tmp/block").write_bytes(b"x" * SIZE)
    before, own = server.profiled(), server.children()
    done = parked.recorded(scope, "smb", server.port, act, lambda: server.children() <= own)
    after = server.profiled()
    assert done.run
    told = {
        what: +Counter({name: (n - before[what][name]) % WRAPS for name, n in counter.items()})
        for what, counter in after.items()
    }
    return done.run, told, done.out


def test_requests_and_bytes_are_those_of_sambas_own_profile(scope: Scope, samba: Samba) -> None:
    run, told, out = recorded(scope, samba, lambda: samba.client(work()))
    found = counted(run)
    print(samba.version, dict(found["count"]))
    for what in told:
        assert found[what] == told[what], (
            f"{what}: {found[what] - told[what]} more, {told[what] - found[what]} less"
        )
    assert told["count"]["CREATE"] >= 5 * FILES
    assert run.saved["kind"] == "smb"
    assert "cross-checks agree" in out and "CREATE" in out
    parked.assert_times_add_up(run)
    for account in run.phases[0].accounts().values():
        if account["name"] not in ("READ", "WRITE", "FLUSH"):
            assert account["unexplained_ns"] <= account["time_ns"] / 1000


@pytest.mark.parametrize("samba", OF_EACH, indirect=True)
def test_a_server_that_is_named_is_watched_as_what_it_is(scope: Scope, samba: Samba) -> None:
    """Not as one of AFP, whose requests smbd never has."""
    for which in (f"--pid={samba.pid}", f"--port={samba.port}"):
        running = scope.record(None, which)
        running.wait_recording()
        samba.client("ls")
        run = stopped(running)
        assert run.saved["kind"] == "smb" and counted(run)["count"]["QUERY_DIRECTORY"]


@contextlib.contextmanager
def connected(server: Samba, share: str, commands: str) -> Iterator[None]:
    """A client that has done its commands, and goes on with its connection."""
    *command, _, _ = server.client_command("", "-d0")
    command[-1] = f"//127.0.0.1/{share}"
    done = server.root / "tmp" / f"done-{server.port}"
    done.unlink(missing_ok=True)
    (server.root / "tmp/block").write_bytes(b"x" * SIZE)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stdin
    process.stdin.write(f"lcd /tmp\n{commands}\nget block {done.name}\n".encode())

    def is_done() -> bool:
        # It reads as many lines as there are, does one, and waits for more.
        process.stdin.write(b"\n")
        process.stdin.flush()
        return done.exists()

    wait_until(is_done, 10, "the client's work", 0.1)
    try:
        yield
    finally:
        process.stdin.close()
        process.wait(10)


def status(server: Samba) -> dict[str, Any]:
    """What Samba says of its sessions and shares."""
    text = server.tool("smbstatus", "-s", server.conf, "-j")
    found: dict[str, Any] = json.loads(text[text.index("{") :])
    return found


def pid_of(entry: dict[str, Any]) -> int:
    return int(entry["server_id"]["pid"])


# Place: two users in one connection of SMB, a share named 資料 📚 | users, address, share and
#   dialect are those of smbstatus
@pytest.mark.parametrize("suite", OF_EACH)
def test_users_shares_and_dialects_are_those_of_smbstatus(scope: Scope, suite: str) -> None:
    share = "資料 📚"
    others = f"log level = 1\n[{share}]\npath = /tmp\nread only = no"
    put = "put block block"
    second = f"{put}\nlogon bench2 secret1\ntcon share2\n{put}"
    with Samba(suite, SMB_GLOBAL=others) as server:
        running = scope.record(None, "--kind", "smb", "--port", str(server.port), "-v")
        running.wait_recording()
        with connected(server, share, put), connected(server, "share1", second):
            told = status(server)
        run = stopped(running)
        address = {pid_of(s): s["hostname"].split(":", 1)[1] for s in told["sessions"].values()}
        users: dict[int, set[str]] = {pid: set() for pid in address}
        dialects = {pid_of(s): s["session_dialect"] for s in told["sessions"].values()}
        shares: dict[int, set[str]] = {pid: set() for pid in address}
        for entry in told["sessions"].values():
            users[pid_of(entry)].add(entry["username"])
        for entry in told["tcons"].values():
            shares[pid_of(entry)].add(entry["service"])
    print(server.version, users, shares, dialects, address)
    assert len(address) == 2 and {len(names) for names in users.values()} == {1, 2}
    assert {share} in shares.values() or {share, "IPC$"} in shares.values()
    found = {s["pid"]: s for s in run.saved["sessions"]}
    for pid, client in address.items():
        session = found[pid]
        assert session["address"] == client and not session["volumes_more"]
        assert set(session["user"].split(", ")) == users[pid]
        # Those that it has left are here, too.
        assert shares[pid] <= set(session["volumes"]), session
        assert session["volume_from"] == "TREE_CONNECT"
        assert f"SMB{session['dialect'].replace('.', '_', 1).replace('.', '')}" == dialects[pid]
    assert run.saved["server"]["machine"].startswith(f"Samba {SUITES[suite]}")
    assert "case sensitive = Auto; strict sync = Yes" in run.saved["server"]["smb.conf"]
    assert not run.saved["warnings"] and not run.losses()


@pytest.mark.parametrize("suite", OF_EACH)
def test_settings_that_matter_are_warned_of(scope: Scope, suite: str) -> None:
    hooks = {"SMB_GLOBAL": "log level = 3\n" + SYNCHRONOUS, "SMB_SHARE": "strict sync = no"}
    with Samba(suite, **hooks) as server:
        running = scope.record(None, "--kind", "smb", "--port", str(server.port))
        running.wait_recording()
        warned = {w["key"]: w["text"] for w in stopped(running).saved["warnings"]}
    assert set(warned) == {"log-level", "aio", "strict-sync"}
    assert warned["strict-sync"].startswith("strict sync = No: ")
    assert server.conf in warned["log-level"]


# Place: a client of SMB with 32 channels | they are sessions of one process, and nothing is lost
@pytest.mark.parametrize("suite", OF_EACH)
def test_channels_of_a_client_are_sessions_of_one_process(scope: Scope, suite: str) -> None:
    with Samba(suite, SMB_GLOBAL="server multi channel support = yes") as server:
        run, told, _ = recorded(
            scope, server, lambda: server.torture("smb2.multichannel.generic.num_channels")
        )
    by_process = Counter(s["pid"] for s in run.saved["sessions"] if s["requests"])
    (_, channels), *_ = by_process.most_common(1)
    assert channels >= 32 and not run.open_books() and not run.losses()
    # Of a channel NEGOTIATE is in Samba's count twice: by the process that has read it, and by
    # that to which the connection was handed.
    found = counted(run)["count"]
    assert told["count"].pop("NEGOTIATE") - 32 == found.pop("NEGOTIATE")
    assert found == told["count"] and told["count"]["SESSION_SETUP"] > 32


# Place: a trace of Samba | a record of each request, and of each of its thread's calls for it
@pytest.mark.parametrize("samba", OF_EACH, indirect=True)
def test_a_trace_has_each_request_with_its_calls(
    scope: Scope, samba: Samba, tmp_path: Path
) -> None:
    (samba.root / "tmp/block").write_bytes(b"x" * SIZE)
    where = ("--trace", "-o", str(tmp_path / "run"))
    running = scope.record(None, "--kind", "smb", "--port", str(samba.port), *where)
    running.wait_recording()
    own = samba.children()
    samba.client(work())
    samba.torture("smb2.compound.related1")
    wait_until(lambda: samba.children() <= own, 10, "the session to end")
    folder = tmp_path / "run" / "trace"
    parked.assert_trace(stopped(running), folder, "smbd", "READ", "CREATE", "CREATE+CLOSE")


def handed_over(run: Run) -> int:
    """How many connections a process got from those that had accepted them (multi-channel)."""
    served = [s["pid"] for s in run.saved["sessions"] if s["requests"]]
    return len(served) - len(set(served))


def assert_profile(run: Run, told: dict[str, Counter[str]]) -> Counter[str]:
    """What is recorded is what the profile says; returns what smbd refused before it began it.

    The profile has the NEGOTIATE of a connection that was handed over twice, and what was not
    answered before a connection ended: with its bytes, of which a recording has those of requests
    that were answered. smbtorture is ended after a minute, also while it waits for a reply.
    """
    found, told = counted(run), {what: counter.copy() for what, counter in told.items()}
    told["count"]["NEGOTIATE"] -= handed_over(run)
    errors: Counter[str] = Counter()
    unanswered: Counter[str] = Counter()
    for account in run.phases[0].accounts().values():
        name = account["name"].removesuffix(WAITED)
        errors[name] += account["errors"]
        unanswered[name] += account["begun"] - account.get("waited", 0) - account["requests"]
    told["count"].subtract(unanswered)
    refused = found["count"] - told["count"]
    assert all(n <= errors[name] for name, n in refused.items()), refused
    assert not told["count"] - found["count"], (told["count"], found["count"])
    assert not run.losses() and not run.open_books()
    twice = {"NEGOTIATE"} if handed_over(run) else set()
    for what in ("inbytes", "outbytes"):
        for name in found["count"].keys() - refused.keys() - twice:
            more = (told[what][name] - found[what][name]) % WRAPS  # of requests without data
            assert (0 <= more <= 2000 * unanswered[name]) if unanswered[name] else not more, (
                f"{what} of {name}: {more} more, {unanswered[name]} without an answer"
            )
    return refused


# Place: a compound, a LOCK that another client holds, a CHANGE_NOTIFY, a CANCEL | counted as Samba
#   counts them, in accounts of their own
@pytest.mark.parametrize("test", ["smb2.compound", "smb2.lock.async", "smb2.notify.valid-req"])
@pytest.mark.parametrize("samba", OF_EACH, indirect=True)
def test_rare_requests_are_those_of_sambas_own_profile(
    scope: Scope, samba: Samba, test: str
) -> None:
    run, told, _ = recorded(scope, samba, lambda: samba.torture(test))
    refused = assert_profile(run, told)
    accounts = {a["name"]: a for a in run.phases[0].accounts().values()}
    print(samba.version, test, dict(refused), [n for n in accounts if "+" in n or WAITED in n])
    if test == "smb2.lock.async":
        assert accounts["LOCK"]["waited"] == accounts["LOCK" + WAITED]["requests"] == 1
    elif test == "smb2.notify.valid-req":
        # One or two: smbtorture goes on as long as each of its notifications comes as it expects.
        assert accounts["CHANGE_NOTIFY"]["waited"]
        assert accounts["CHANGE_NOTIFY"]["waited"] == accounts["CHANGE_NOTIFY" + WAITED]["requests"]
    else:
        assert accounts["CANCEL"]["untimed"] and accounts["CANCEL"]["requests"] == 0
        assert accounts["CREATE+CLOSE"]["requests"] and accounts["CREATE"]["untimed"]


GUESTS = {
    "SMB_GLOBAL": "map to guest = bad user",
    "SMB_SHARE": "guest ok = yes\nforce create mode = 0666",
}


# Place: a compound of SMB of which a message waits for other clients | it goes on in an account of
#   its own, so that it is in no other's p99
@pytest.mark.parametrize("suite", OF_EACH)
def test_a_compound_that_waits_has_an_account(scope: Scope, suite: str) -> None:
    """For a change of the folder, for a lock, and until an oplock is given back."""
    with Samba(suite, **GUESTS) as server:

        def act() -> None:
            one, other = SmbWire(server.port), SmbWire(server.port)
            me = one.begin_compound(CHANGE_NOTIFY, notify_of(OPENED_BEFORE))
            one.wait_interim(me)
            file = other.open("new")
            one.end(me)
            other.lock(file)
            me = one.begin_compound(LOCK, lock_of(OPENED_BEFORE), "new")
            one.wait_interim(me)
            other.lock(file, UNLOCK)
            one.end(me)
            file = other.open("held", BATCH)
            me = one.begin_compound(CLOSE, close_of(OPENED_BEFORE), "held")
            assert other.break_comes(10)
            one.wait_interim(me)
            other.close(file)
            one.end(me)
            one.drop()
            other.drop()

        run, told, _ = recorded(scope, server, act)
    assert not assert_profile(run, told)
    accounts = {a["name"]: a for a in run.phases[0].accounts().values()}
    for second, waits in {
        "CHANGE_NOTIFY": "CHANGE_NOTIFY",
        "LOCK": "LOCK",
        "CLOSE": "CREATE",
    }.items():
        chain = accounts[f"CREATE+{second}"]
        assert (chain["begun"], chain["waited"], chain["requests"]) == (1, 1, 0)
        assert accounts[f"compound, {waits} waited"]["requests"] == 1


# Place: an encrypted session of SMB | its frames and bytes are counted, and a warning says how much
#   that was
@pytest.mark.parametrize("samba", OF_EACH, indirect=True)
def test_of_encrypted_sessions_frames_and_bytes_are_counted(scope: Scope, samba: Samba) -> None:
    clear = ("NEGOTIATE", "SESSION_SETUP")
    run, told, out = recorded(scope, samba, lambda: samba.client(work(), ENCRYPTED))
    accounts = {a["name"]: a for a in run.phases[0].accounts().values()}
    assert set(accounts) == {*clear, "encrypted frames"}
    for counter in told.values():
        for name in clear:
            del counter[name]
    frames = accounts["encrypted frames"]
    n = sum(told["count"].values())
    assert frames["untimed"] == n and frames["requests"] == 0
    # MS-SMB2, 2.2.41: a header of 52 bytes before each.
    assert frames["bytes_in"] == sum(told["inbytes"].values()) + 52 * n
    # And each interim reply, of 73 bytes, which a READ or a WRITE gets that takes a while.
    interim = frames["bytes_out"] - sum(told["outbytes"].values()) - 52 * n
    assert interim % (52 + 73) == 0 and interim >= 0
    assert run.warning("encrypted").startswith("99") and "encrypted" in out
    assert not run.losses() and not run.open_books()


# Place: a client of SMB1 | its frames and bytes are counted, and a warning says of what they are
@pytest.mark.parametrize("suite", OF_EACH)
def test_of_smb1_frames_and_bytes_are_counted(scope: Scope, suite: str) -> None:
    old = ("-m", "NT1", "--option=client min protocol=NT1")
    with Samba(suite, SMB_GLOBAL="server min protocol = NT1") as server:
        run, told, _ = recorded(
            scope, server, lambda: server.client("put block b; get b got", *old)
        )
    accounts = {a["name"]: a for a in run.phases[0].accounts().values()}
    assert set(accounts) == {"NEGOTIATE", "SMB1 frames"} and not told["count"]
    frames = accounts["SMB1 frames"]
    # Both ways its data went over the wire once.
    assert frames["untimed"] > 5 and min(frames["bytes_in"], frames["bytes_out"]) > SIZE
    assert {w["key"] for w in run.saved["warnings"]} == {"smb1"}
    assert not run.losses() and not run.open_books()


def named(frame: bytes) -> str:
    """The account of the messages of a frame."""
    numbers, at = [], 0
    while True:
        numbers.append(int.from_bytes(frame[at + 12 : at + 14], "little"))
        further = int.from_bytes(frame[at + 20 : at + 24], "little")
        if not further:
            break
        at += further
    names = [list(COMMANDS.values())[number] for number in numbers]
    return "+".join(names[:2])


def calls_by_strace(file: Path, port: int) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Of a session: requests, and the calls from a request's read to the write of its reply.

    Of one that was parked, those until the session waits for whatever comes next, and those from
    the end of its last wait on; and how many of each were parked. One that a thread of the pool did
    is not, if that thread was ready before the session began to wait: that depends on the machine.
    """
    requests: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    waited: Counter[str] = Counter()
    now, later = None, None
    for call, _, data in parked.calls_in(file, port):
        if data and call in ("read", "recvmsg") and data.startswith(b"\xfeSMB"):
            now = named(data)
            requests[now] += 1
        if now and call == "epoll_wait":
            later = 0
        elif now and later is not None:
            later += 1
        elif now:
            calls[now] += 1
        # Not an interim reply: 4 bytes, and the status at 8.
        if now and data is not None and call == "sendmsg" and data[12:16] != b"\x03\x01\0\0":
            calls[now] += later or 0
            waited[now] += later is not None
            now, later = None, None
    return requests, calls, +waited


@pytest.mark.parametrize("settings", [SYNCHRONOUS, ""], ids=["one thread", "pool"])
@pytest.mark.parametrize("suite", OF_EACH)
def test_calls_of_each_request_are_those_that_strace_sees(
    scope: Scope, tmp_path: Path, suite: str, settings: str
) -> None:
    with (
        Samba(suite, SMB_GLOBAL=settings) as server,
        parked.straced(server.pid, tmp_path / "calls"),
    ):
        run, _, _ = recorded(scope, server, lambda: server.client(work()))
    requests: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    waited: Counter[str] = Counter()
    for file in tmp_path.glob("calls.*"):
        found = calls_by_strace(file, server.port)
        for total, more in zip((requests, calls, waited), found, strict=True):
            total += more
    assert (waited.keys() <= {"READ", "WRITE"}) if settings != SYNCHRONOUS else not waited
    ours: Counter[str] = Counter()
    for account in run.phases[0].accounts().values():
        assert account["requests"] == requests[account["name"]]
        assert account["unexplained_ns"] <= account["time_ns"] / 1000
        assert account.get("parked", 0) == waited[account["name"]]
        ours[account["name"]] += account.get("later_calls", 0)
        for part in account["parts"]:
            if part["role"] == "smbd":
                ours[account["name"]] += part["calls"]
    print(server.version, {name: f"{calls[name] / n:.1f}" for name, n in requests.items()})
    assert requests["CREATE"] > FILES and ours == calls
