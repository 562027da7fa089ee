# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits of a load, and what is shown of it meanwhile: kept only where nothing went wrong, and a
load that cannot keep one any more ends.

Tests user/drive/slo.c, user/main/load_live.c, user/report/ticker.c.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path

import pytest
from netatalk import Server
from scope import OK, REFUSED, SLOW, UNSURE, Scope, left_on
from test_load import load, phase_of

SMALL = ("-d", "1", "--ramp", "0", "--files", "4", "--file-size", "64K")


def test_limits(scope: Scope, tmp_path: Path) -> None:
    # with pauses, so that the load generator is not what is at its limit
    command = [str(scope.binary), "load", str(tmp_path), *SMALL, "--think", "0.05"]
    done = scope.execute([*command, "--slo", "p99=1ns", "--slo", "probe.max=100s"], save=True)
    assert done.status == SLOW, done
    assert "Limit p99=1ns: NOT KEPT" in done.out
    first, second = phase_of(done)["load"]["slo"]
    assert (first["kept"], second["kept"]) == (False, True)
    assert first["value_ns"] > 1
    scope.execute([*command, "--slo", "p99=100s"]).expect(OK)
    done = scope.execute([*command, "--slo", "rate>=1,failed<=0%,dropped<=0,p99<=100s"])
    assert done.expect(OK).out.count(": kept, it was ") == 4
    done = scope.execute([*command, "--slo", "rate>=1000000"])
    assert done.status == SLOW and "Limit rate>=1000000: NOT KEPT, it was " in done.out, done


@pytest.mark.parametrize(
    ("limit", "status", "said"),
    [
        ("p99=50ms", SLOW, "Limit p99=50ms: NOT KEPT, "),
        ("max<=100s", SLOW, "actions were dropped; it was "),
        ("dropped<=0", SLOW, "too many\n"),
        ("rate>=1", UNSURE, "Limit rate>=1: CANNOT TELL, it was "),
        ("failed<=0", UNSURE, "actions were dropped, and no limit of dropped"),
        ("rate>=1900,dropped<=100%", SLOW, "too few\n"),
    ],
)
def test_a_load_with_drops_keeps_no_limit_that_does_not_allow_them(
    scope: Scope, tmp_path: Path, limit: str, status: int, said: str
) -> None:
    """One client reads files of 32 MiB, and 2000 reads a second are asked for: 62 GiB/s."""
    done = scope.execute(
        [str(scope.binary), "load", str(tmp_path), "-n", "1", "--mix", "batch-read", "--ramp", "0",
         "--file-size", "32M", "--rate", "2000", "--queue", "1", "-d", "1", "--no-probe",
         "--slo", limit, "--watch", "off"]
    )  # fmt: skip
    text = done.out.replace("\n  ", " ")
    assert done.status == status and said in text, done
    if limit.startswith(("p99", "max")):  # the table of what the clients did has the same
        row = re.search(r"^ +read .*$", done.out, re.M)
        was = re.search(r"it was (>= [\d.]+m?s)\b", text)
        assert row and was and was[1] in row[0], done


@pytest.mark.parametrize(
    ("limit", "status", "said"),
    [
        ("p99<=100s", REFUSED, "actions failed"),
        ("failed<=100%", OK, ": kept, it was "),
        ("p99<=100s,failed<=100%", OK, ": kept, it was "),
        ("p99<=100s,failed<=0", SLOW, "Limit failed<=0: NOT KEPT, it was "),
    ],
)
def test_actions_that_fail_are_judged_by_a_limit_that_says_how_many_may(
    scope: Scope, tmp_path: Path, limit: str, status: int, said: str
) -> None:
    """The files vanish in the middle of the load."""
    done = scope.execute(
        [str(scope.binary), "load", str(tmp_path), *SMALL, "-d", "2", "--think", "0.05", "-n", "2",
         "--at", f"1 find {tmp_path} -type f -delete", "--no-probe", "--slo", limit]
    )  # fmt: skip
    assert done.status == status and said in done.out.replace("\n  ", " "), done
    assert status == OK or "Limit p99<=100s: kept" not in done.out or "failed" in limit


@pytest.mark.parametrize(
    ("limit", "more"),
    [
        ("max<=1ns", ("--think", "0.05")),
        ("probe.max<=1ns", ("--rate", "10")),
    ],
)
def test_a_limit_that_is_broken_ends_the_load(
    scope: Scope, tmp_path: Path, limit: str, more: tuple[str, ...]
) -> None:
    begun = time.monotonic()
    done = scope.execute(
        [str(scope.binary), "load", str(tmp_path), "-n", "2", "--files", "4", "-d", "60",
         "--slo", f"{limit},failed<=0", "--abort-on-slo", *more], save=True
    )  # fmt: skip
    assert done.status == SLOW and time.monotonic() - begun < 30, done
    assert done.run and "limit " + limit + " was broken" in done.run.warning("ended")
    phase = phase_of(done)
    assert phase["complete"] and phase["load"]["slo"][0]["verdict"] == "broken"
    assert phase["load"]["slo"][1]["verdict"] == "cannot tell"
    assert 0 < phase["load"]["end_ns"] - phase["load"]["measure_ns"] < 30e9
    assert not list(tmp_path.iterdir())


def test_a_server_that_is_too_slow_ends_the_load_that_is_shown_meanwhile(
    scope: Scope, sqlite: Server
) -> None:
    """Real netatalk: a program reads each second, and one limit is soon beyond doubt broken."""
    limits = ("--slo", "max<=1us,failed<=0", "--abort-on-slo", "--live=json")
    begun = time.monotonic()
    done = load(scope, sqlite, "-n", "2", "--files", "4", "--ramp", "0", "-d", "60", *limits)
    assert done.status == SLOW and time.monotonic() - begun < 30, done
    it = phase_of(done)["load"]
    assert [x["verdict"] for x in it["slo"]] == ["broken", "cannot tell"]
    shown = [json.loads(x) for x in done.err.splitlines() if x.startswith("{")]
    assert [s["second"] for s in shown] == list(range(1, len(shown) + 1)) != []
    # each as the run has it
    for at, of in zip(shown, it["seconds"], strict=False):
        assert (at["actions"], at["bytes"], at["max_ns"]) == (of["n"], of["bytes"], of["max_ns"])
    assert not left_on(sqlite)


def test_a_limit_that_the_generator_may_have_broken_does_not_end_the_load(
    scope: Scope, tmp_path: Path
) -> None:
    """It drops nearly all of so many arrivals, and has no time left."""
    done = scope.execute(
        [str(scope.binary), "load", str(tmp_path), "-n", "2", "--files", "4", "-d", "3",
         "--rate", "1000000", "--queue", "1", "--slo", "dropped<=0", "--abort-on-slo"], save=True
    )  # fmt: skip
    it = phase_of(done)["load"]
    assert done.status == UNSURE and it["slo"][0]["verdict"] == "cannot tell", done
    assert it["end_ns"] - it["measure_ns"] == 3_000_000_000


def test_a_limit_that_is_not_broken_does_not_end_the_load(scope: Scope, tmp_path: Path) -> None:
    command = [str(scope.binary), "load", str(tmp_path), *SMALL, "-d", "3", "--think", "0.05"]
    done = scope.execute([*command, "--slo", "max<=100s", "--abort-on-slo"], save=True).expect(OK)
    it = phase_of(done)["load"]
    assert it["end_ns"] - it["measure_ns"] == 3_000_000_000
    assert it["threads"] == it["clients"], "each waits in its own calls, through no other thread"


def test_each_second_of_a_load_can_be_read_by_a_program(scope: Scope, tmp_path: Path) -> None:
    command = [str(scope.binary), "load", str(tmp_path), *SMALL, "-d", "3", "--ramp", "1"]
    command += ["--rate", "50", "--live=json", "--no-save", "--watch", "off"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds = [json.loads(x) for x in done.stderr.splitlines() if x.startswith("{")]
    assert [s["second"] for s in seconds] == [1, 2, 3, 4]
    assert [s["state"] for s in seconds] == ["ramp", *["measuring"] * 3]
    assert all(s["actions"] > 0 and s["p99_ns"] >= s["p50_ns"] > 0 for s in seconds)
    assert all(s["probe_p99_ns"] > 0 and not s["failed"] for s in seconds)
    quiet = subprocess.run([*command, "--live=off"], capture_output=True, text=True, check=True)
    assert "{" not in quiet.stderr
