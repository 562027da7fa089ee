# SPDX-License-Identifier: GPL-2.0-or-later
"""top, slow and exporter on a real Samba: what a client sent is what they show.

The judge is `smbstatus -P`, Samba's own profile. Tests user/watch/bpf/pending.c, user/kinds/kind.c.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from exporting import Exporter, Metrics, export, promtool
from parked import ended, suites, watch
from samba import COMMANDS, Samba
from scope import OK, USAGE, Done, Scope, wait_until
from test_top import steps

WAITED = " that waited"
FILES = 15
HELD_S = 2.5  # two looks at what runs are in it


@pytest.fixture(scope="module", params=suites("bookworm"))
def samba(request: pytest.FixtureRequest) -> Iterator[Samba]:
    with Samba(request.param) as server:
        (server.root / "tmp/block").write_bytes(b"x" * 5000)
        yield server


def work() -> str:
    commands = ["mkdir d", "cd d"]
    for i in range(FILES):
        commands += [f"put block f{i}", f"get f{i} got", f"allinfo f{i}", f"rename f{i} g{i}"]
    return "; ".join([*commands, "ls", *(f"del g{i}" for i in range(FILES)), "cd ..", "rmdir d"])


def told(samba: Samba, before: dict[str, Counter[str]], what: str = "count") -> Counter[str]:
    return +(samba.profiled()[what] - before[what])


@contextlib.contextmanager
def logins_are_held(samba: Samba) -> Iterator[None]:
    """A login reads the list of users, which somebody else has locked meanwhile."""
    with (
        (samba.root / samba.conf.lstrip("/"))
        .with_name("private")
        .joinpath("passdb.tdb")
        .open("r+") as file
    ):
        fcntl.lockf(file, fcntl.LOCK_EX)
        yield


def is_waiting(samba: Samba) -> bool:
    """A session of it waits for a lock."""
    children = {str(pid) for pid in samba.children()}
    waiting = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return any(words[1] == "->" and words[5] in children for words in waiting)


def hold_a_login(samba: Samba) -> None:
    with logins_are_held(samba):
        client = subprocess.Popen(samba.client_command("ls"), stdout=subprocess.DEVNULL)
        wait_until(lambda: is_waiting(samba), 60, "the login to wait")
        time.sleep(HELD_S)
    assert client.wait(60) == 0


def by_command(done: Done) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for step in steps(done):
        for row in step["rows"]:
            counted = {k: row[k] for k in ("requests", "bytes_in", "bytes_out", "errors")}
            found.setdefault(row["name"], Counter()).update(counted)
    return found


# Place: top on Samba | each request in one step, as Samba's own profile has it
def test_top_shows_each_request_once(scope: Scope, samba: Samba) -> None:
    before = samba.profiled()
    running = watch(scope, "top", samba.port, "-b", "--json", "-d", "0.2")
    samba.client(work())
    samba.client("ls", user="bench2")
    done = ended(running)
    rows = by_command(done)
    assert Counter({name: row["requests"] for name, row in rows.items()}) == told(samba, before)
    for what, key in (("inbytes", "bytes_in"), ("outbytes", "bytes_out")):
        assert Counter({name: row[key] for name, row in rows.items()}) == told(samba, before, what)
    found = steps(done)
    assert sum(step["logins"] for step in found) == 2
    assert rows["QUERY_DIRECTORY"]["errors"] == 0
    assert {row["handed_over"] for step in found for row in step["rows"]} == {0}


def test_top_says_who_it_was_and_what_it_was_for(scope: Scope, samba: Samba) -> None:
    running = watch(scope, "top", samba.port, "-b", "-d", "0.5", "--by", "user")
    samba.client(work(), user="bench2")
    done = ended(running)
    assert "bench2" in done.out and f"smbd, process {samba.pid}, port {samba.port}" in done.out
    assert "Doctor: " in done.out
    line = [str(scope.binary), "top", "--port", str(samba.port), "-b", "--by", "file", "-n", "1"]
    scope.execute(line).expect(USAGE, "--by file", "not known of this kind of server")


def test_top_shows_what_has_no_answer(scope: Scope, samba: Samba) -> None:
    running = watch(scope, "top", samba.port, "-b", "--json", "-d", "0.3", "--by", "client")
    hold_a_login(samba)
    found = steps(ended(running))
    held = [s for s in found if s["in_service"]]
    assert held and max(s["oldest_ns"] for s in held) > 0.5e9
    assert {s["in_service"] for s in held} == {1}
    # It was in the server all the time, in some step each.
    assert sum(r["service_ns"] for s in found for r in s["rows"]) > HELD_S * 1e9


def events(done: Done) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.out.splitlines()]


# Place: slow on Samba | the request that was held, what it waited for, and no other
def test_slow_has_the_request_that_was_held(scope: Scope, samba: Samba) -> None:
    running = watch(scope, "slow", samba.port, "--json", "--over", "600ms", "-v")
    samba.client(work())
    hold_a_login(samba)
    found = events(ended(running))
    *shown, end = found
    assert {e["command"] for e in shown} == {"SESSION_SETUP"}
    assert [e["event"] for e in shown].count("slow") == 1 == end["slow"]
    assert shown[0]["event"] == "running"
    for event in shown:
        assert max(event["parts_ns"], key=event["parts_ns"].__getitem__) == "lock"
    (slow,) = (e for e in shown if e["event"] == "slow")
    assert slow["time_ns"] > HELD_S * 1e9 and slow["address"].startswith("127.0.0.1:")
    longest = max(slow["longest"], key=lambda c: c["time_ns"] if c["kind"] == "call" else 0)
    assert longest["class"] == "lock" and longest["call"] == "fcntl"
    assert (
        slow["calls"] == len([c for c in slow["longest"] if c["kind"] == "call"])
        or slow["calls"] > 16
    )


def test_slow_says_it_in_sambas_words(scope: Scope, samba: Samba) -> None:
    """A name that is not there is an error with its status; a parked request says so."""
    running = watch(scope, "slow", samba.port, "--over", "1ns", "--rate", "0")
    samba.client("put block f; get f got; " * 10 + "del f; allinfo none; ls")
    done = ended(running)
    assert "  parked " in done.out and "error 0xc0000034" in done.out
    commands = {line.split()[2] for line in done.out.splitlines()}
    assert (
        {"NEGOTIATE", "SESSION_SETUP", "CREATE", "READ", "WRITE"}
        <= commands
        <= {*COMMANDS.values()}
    )


@pytest.fixture
def exporter(scope: Scope, samba: Samba) -> Iterator[Exporter]:
    running = export(scope, "-p", str(samba.port))
    running.wait_up()
    yield running
    running.running.signal(signal.SIGTERM)
    running.running.finish(20).expect(OK)


def messages(found: Metrics) -> Counter[str]:
    """As smbstatus has them: also those of compounds, and those that waited."""
    out: Counter[str] = Counter()
    for metric in ("afpscope_requests_total", "afpscope_untimed_requests_total"):
        for name, n in found.by(metric, "command").items():
            if name.removesuffix(WAITED) in COMMANDS.values():
                out[name.removesuffix(WAITED)] += int(n)
    return out


# Place: exporter on Samba | counters by command that are those of Samba's own profile
def test_counters_are_those_of_sambas_own_profile(exporter: Exporter, samba: Samba) -> None:
    before = samba.profiled()
    samba.client(work())
    samba.torture("smb2.compound.related1")
    wait_until(
        lambda: not (told(samba, before) - messages(exporter.metrics())), 10, "the last request"
    )
    found = exporter.metrics()
    assert messages(found) == told(samba, before)
    for what, metric in (("inbytes", "received"), ("outbytes", "sent")):
        by = found.by(f"afpscope_request_{metric}_bytes_total", "command")
        counted = {name: int(n) for name, n in by.items() if name in COMMANDS.values()}
        assert counted == told(samba, before, what)
    assert found.one("afpscope_logins_total") >= 2
    assert set(found.by("afpscope_losses_total", "what").values()) == {0}
    parts = found.by("afpscope_request_time_seconds_total", "command")
    spent = found.by("afpscope_request_duration_seconds_sum", "command")
    for name in ("CREATE", "READ", "WRITE"):
        assert parts[name] == pytest.approx(spent[name], rel=0.01)
    assert found.by("afpscope_request_time_seconds_total", "part")["parked"] > 0
    promtool("check", "metrics", text=found.text)


def test_encrypted_frames_are_counted(exporter: Exporter, samba: Samba) -> None:
    samba.client("ls", "--client-protection=encrypt")
    found = exporter.metrics().by("afpscope_untimed_requests_total", "command")
    assert found["encrypted frames"] >= 3
