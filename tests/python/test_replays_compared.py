# SPDX-License-Identifier: GPL-2.0-or-later
"""Replays: compared with their recording and with each other, swept over speeds, and as a page."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tracegen
from afpscope import sweep
from afpscope.judge import replays as compared
from afpscope.judge import stats
from afpscope.limit import outcome
from afpscope.measure import swept
from afpscope.page import replaywords
from afpscope.saved.run import Run
from afpscope.tables import counts, values
from afpscope.words import Words
from changed import limit, replayed
from conftest import Change, Done, Shelf
from sweeping import Made
from sweeping import sweep as made_sweep

Execute = Callable[..., Done]
SERVER_P50 = replaywords.WORDS["h_server_p50"]


def recording(shelf: Shelf, name: str = "recording", change: Change | None = None) -> Path:
    """A run that keeps a recording."""
    place = shelf.put(name, "load", change)
    (place / "trace").mkdir()
    tracegen.describe(place / "trace")
    (place / "trace" / "operations").touch()
    return place


def replays(shelf: Shelf, n: int, factor: float = 1.0, **more: Any) -> list[Path]:
    return [shelf.put(f"r{i}", "load", replayed(i, factor, **more)) for i in range(n)]


# A recording and its replays


def test_the_answer_comes_first(shelf: Shelf, execute: Execute) -> None:
    done = execute("compare", recording(shelf), *replays(shelf, 1))
    assert done.code == 0, done.err
    first = done.out.splitlines()[0]
    assert first.startswith("Answered as recorded: all ")
    assert "The server kept up: 99 of 100 requests were answered within 12.0 ms" in first
    assert "the server made as many system calls, to one in 20 requests or two in all." in done.out
    assert "database, may differ by more." in done.out
    assert "cannot be told from so few replays (1): 3 at least" in done.out
    assert "at the recorded speed" in done.err


def test_what_was_answered_otherwise_and_what_was_not_sent_are_named(
    shelf: Shelf, execute: Execute
) -> None:
    done = execute("compare", recording(shelf), *replays(shelf, 1, otherwise=3, unsent=2))
    name = Run.open(shelf.base / "r0").phases[0].load.actions[0].name  # type: ignore[union-attr]
    assert f"Answered in another way: {name} 3." in done.out
    assert f"what they are about was not there: {name} 2." in done.out
    assert "all " not in done.out.splitlines()[0].split(".")[0]


@pytest.mark.parametrize(
    ("verdict", "why", "said"),
    [
        ("broken", "", "The server did not keep up: 1 of 100 requests was answered 5.00 s after"),
        ("broken", "2 of 4 sessions were lost", "not keep up: 2 of 4 sessions were lost."),
        ("cannot tell", "the load generator began 9 actions late, by up to 2 ms", "cannot be told"),
    ],
)
def test_whether_the_server_kept_up_is_what_the_program_says(
    shelf: Shelf, execute: Execute, verdict: str, why: str, said: str
) -> None:
    kept_up = limit(verdict, 5_000_000_000, why)
    done = execute("compare", recording(shelf), *replays(shelf, 1, kept_up=kept_up))
    assert said in done.out.splitlines()[0]
    assert ("kept up:" in done.out) == (verdict == "kept")


def test_without_recorded_times_it_is_not_told_whether_the_server_keeps_up(
    shelf: Shelf, execute: Execute
) -> None:
    of = replays(shelf, 1, kept_up=None, planned_ns=None, timed="no")
    done = execute("compare", recording(shelf), *of)
    assert "as fast as their order allows" in done.out.splitlines()[0]


def test_a_replay_of_another_recording_is_refused(shelf: Shelf, execute: Execute) -> None:
    of = replays(shelf, 1, recording_uuid="0" * 32)
    done = execute("compare", recording(shelf), *of)
    assert done.code == 2 and "r0 is a replay of another recording than recording" in done.err
    done = execute("compare", "--force", recording(shelf, "again"), *of)
    assert done.code == 0 and "forced, although not alike" in done.err
    done = execute("compare", *of, recording(shelf, "last"))
    assert done.code == 2 and "give a recording and then its replays" in done.err
    done = execute("compare", shelf.put("load", "load"), *of)
    assert done.code == 2 and "load is no recording that can be replayed" in done.err


def apart(found: Done) -> list[str]:
    rows = json.loads(found.out)["served"]
    assert not any(row["verdict"] in (stats.SLOWER, stats.FASTER) for row in rows)
    return [row["command"] for row in rows if row["verdict"] == stats.UNCLEAR]


def test_a_slower_server_is_named_by_several_replays_and_no_cause(
    shelf: Shelf, execute: Execute
) -> None:
    """What made it slower is not known: the recording is of another time."""
    mine, of = recording(shelf), replays(shelf, 4, 1.6)
    assert apart(execute("compare", "--json", mine, "--", *of[:2])) == []
    assert "FPReadExt" in apart(execute("compare", "--json", mine, "--", *of))
    said = execute("compare", mine, "--", *of).out
    assert "differ from the recording by more than 4 replays vary: " in said
    assert "it cannot be told whether that is the server" in said


def test_replays_on_the_same_server_are_not_said_to_differ(shelf: Shelf, execute: Execute) -> None:
    done = execute("compare", recording(shelf), "--", *replays(shelf, 6))
    assert "No p50 inside the server is shown to differ from the recording" in done.out
    rows = json.loads(execute("compare", "--json", shelf.base / "recording", "--",
                              *(shelf.base / f"r{i}" for i in range(6))).out)["served"]  # fmt: skip
    judged = sum(row["test"] is not None for row in rows)
    assert f"of {judged} of the {len(rows)} recorded commands" in done.out
    assert "The server kept up in 6 of 6 replays." in done.out.splitlines()[0]
    assert "another number" not in done.out


def test_one_more_call_for_each_request_is_named(shelf: Shelf, execute: Execute) -> None:
    def more(value: dict[str, Any]) -> None:
        replayed(1)(value)
        for account in value["phases"][0]["ledger"]["requests"]:
            if account["name"] == "FPCreateFile":
                account["parts"][0]["calls"] += account["requests"]

    done = execute("compare", recording(shelf), shelf.put("more", "load", more))
    assert "another number of system calls for: FPCreateFile (" in done.out


def test_calls_on_the_database_may_not_double(shelf: Shelf) -> None:
    """One for each of 3,000 requests, and two in the replay; a checkpoint writes 256 pages."""
    key = ("", "FPCreateFile", "cnid_dbd", "write", counts.DATABASE_FILE)

    def account(calls: int) -> compared.Account:
        return compared.Account(3000, [], {key: calls})

    assert compared._other_calls(account(3000), account(6000)) == (counts.label(key),)
    assert compared._other_calls(account(3000), account(3256)) == ()


def unwatched(value: dict[str, Any]) -> None:
    replayed(1)(value)
    value["phases"][0]["ledger"]["requests"] = None


def test_the_servers_time_is_never_compared_with_the_clients(
    shelf: Shelf, execute: Execute
) -> None:
    """Where nobody watched the server of the replay, both are shown, and no change."""
    done = execute("compare", recording(shelf), shelf.put("far", "load", unwatched))
    assert "nobody watched it there" in done.out
    assert SERVER_P50 in done.out and "change" not in done.out and "verdict" not in done.out


def test_commands_of_which_there_are_more_are_not_compared(shelf: Shelf, execute: Execute) -> None:
    def part(value: dict[str, Any]) -> None:
        replayed(1, 3.0)(value)
        for account in value["phases"][0]["ledger"]["requests"]:
            account["requests"] //= 2

    parts = [shelf.put(f"p{i}", "load", part) for i in range(1)]
    rows = json.loads(execute("compare", "--json", recording(shelf), *parts).out)["served"]
    assert rows and not any(row["alike"] or row["test"] for row in rows)


@pytest.mark.parametrize("n", [3, 5, 12])
@pytest.mark.parametrize("spread", [0.01, 0.2])
def test_one_value_is_seldom_said_to_be_apart_from_others_like_it(n: int, spread: float) -> None:
    rng, draws = random.Random(n), 3000
    values_of = [[rng.lognormvariate(0, spread) for _ in range(n + 1)] for _ in range(draws)]
    found = [stats.verdicts([stats.apart(one, others)])[0] for one, *others in values_of]
    wrong = sum(verdict == stats.UNCLEAR for verdict in found)
    assert wrong / draws <= stats.ALPHA + 3 * (stats.ALPHA / draws) ** 0.5
    assert {*found} <= {stats.UNCLEAR, stats.NONE_SHOWN}


@pytest.mark.parametrize("n", [3, 5])
@pytest.mark.parametrize("spread", [0.02, 0.05, 0.1])
def test_values_that_share_a_bucket_are_not_taken_for_the_same(n: int, spread: float) -> None:
    """Three medians of one bucket of the server's histogram, 6 % wide, may differ by all of it."""
    rng, draws, rows, bucket = random.Random(n), 500, 6, 0.06

    def seen() -> float:
        return math.exp(bucket * round(rng.gauss(0, spread) / bucket))

    wrong = 0
    for _ in range(draws):
        of = [[seen() for _ in range(n + 1)] for _ in range(rows)]
        tests = [stats.apart(one, others, 0.02, bucket) for one, *others in of]
        wrong += stats.UNCLEAR in stats.verdicts(tests)
    assert wrong / draws <= stats.ALPHA + 3 * (stats.ALPHA / draws) ** 0.5


def test_one_value_that_is_far_from_others_is_said_to_be() -> None:
    others = list(np.exp(np.linspace(-0.02, 0.02, 5)))
    for one, verdict in ((0.5, stats.UNCLEAR), (2.0, stats.UNCLEAR), (1.01, stats.NONE_SHOWN)):
        assert stats.verdicts([stats.apart(one, others, 0.02)]) == [verdict]
    assert stats.verdicts([stats.apart(0.5, others[:2], 0.02)]) == [stats.TOO_FEW]
    found = stats.apart(0.5, others, 0.02)
    assert found.low and found.change and found.high and found.low < 1.0 < found.high


# Replays among themselves


def test_replays_on_two_servers_are_compared_and_the_servers_told(
    shelf: Shelf, execute: Execute
) -> None:
    def other(value: dict[str, Any]) -> None:
        replayed(2)(value)
        value["server"]["settings"] = "other"

    done = execute("compare", *replays(shelf, 1), shelf.put("other", "load", other))
    assert done.code == 0, done.err
    assert "the servers, or how they were watched, differ in server.settings" in done.err
    assert "0 differ" in done.out


@pytest.mark.parametrize("key", ["speed", "recording_uuid"])
def test_replays_of_other_work_are_not_alike(shelf: Shelf, execute: Execute, key: str) -> None:
    other = shelf.put("other", "load", replayed(2, **{key: "2"}))
    done = execute("compare", *replays(shelf, 1), other)
    assert done.code == 2 and f"options.{key}" in done.err


def test_a_replay_has_a_row_for_each_kind_and_none_for_its_rate(shelf: Shelf) -> None:
    rows = values.of_run(Run.open(replays(shelf, 1)[0]))
    assert {row.command for row in rows} == {"list", "look", "read", "save", values.DUE}
    assert {row.figure for row in rows} == {"p50", "p99"}


# The knee of one's own users


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["--recording=r", "--speed", "1,2", "afp://x/v"], swept.REPLAY),
        (["--clients", "1,2", "afp://x/v"], swept.LOAD),
        (["--clients", "1,2", "rx://x"], swept.RX),
    ],
)
def test_a_sweep_is_of_the_command_that_its_options_are_of(words: list[str], command: str) -> None:
    assert sweep.command_of(words, None) == command
    line = swept.parse(command, words, None, None)
    assert sweep.target(line, None, command).command == command


def at(verdict: str, why: str = "") -> Made:
    """A step that says so."""
    ns = 10**6 if verdict == "kept" else 5 * 10**9
    value = {"recorded": 1, "planned": 1, "requests": [], "kept_up": limit(verdict, ns, why)}
    return Made(p99_ms=ns / 1e6, replay=value)


def test_a_speed_at_which_the_generator_was_late_is_on_no_side_of_the_knee(tmp_path: Path) -> None:
    late = "the load generator began 70 actions late, by up to 900 ms"
    points = [
        ("1", at("kept")),
        ("2", at("kept")),
        ("4", at("cannot tell", late)),
        ("8", at("broken")),
    ]
    found = outcome.of(made_sweep(tmp_path / "s", points, "speed", command="replay"))
    assert found.knee.at == "2"
    assert found.knee.above and found.knee.above.value == "8"
    said = " ".join(outcome.sentences(found))
    assert "the server keeps up with its recorded users up to speed 2" in said
    assert f"cannot be told at 4: {late}" in said
    assert "probe" not in outcome.screen(found)


def test_what_a_sweep_decides_itself_is_refused(execute: Execute, tmp_path: Path) -> None:
    line = ("--replay", "r", "--speed", "1,2", "--dry-run", "-o", tmp_path / "o", "afp://x/v")
    done = execute("sweep", *line)
    assert done.code == 2 and "--dry-run cannot be used in a sweep" in done.err


# The page


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_page_of_a_replay_begins_with_its_answer(
    shelf: Shelf, tmp_path: Path, execute: Execute, lang: str
) -> None:
    page = tmp_path / "r.html"
    done = execute("report", *replays(shelf, 1, otherwise=3), "-o", page, "--lang", lang)
    assert done.code == 0, done.err
    w = Words(lang)
    text = page.read_text()
    said = w.say("replay_kept", time="12.0 ms")
    assert text.index(said) < text.index('class="badge') + 2000
    assert w["replay_felt_note"] in text and w["load_note"] not in text


def test_the_page_of_a_recording_and_its_replay_has_both_tables(
    shelf: Shelf, tmp_path: Path, execute: Execute
) -> None:
    page = tmp_path / "c.html"
    execute("compare", recording(shelf), *replays(shelf, 1), "--html", page)
    text = page.read_text()
    order = ["Answered as recorded", "The requests", SERVER_P50, "Inside the server, as recorded"]
    at = [text.index(word) for word in order]
    assert at == sorted(at)


def test_a_recording_that_is_not_complete_is_no_side(shelf: Shelf, execute: Execute) -> None:
    def broken(value: dict[str, Any]) -> None:
        replayed(1)(value)
        value["phases"][0]["complete"] = False

    done = execute("compare", recording(shelf), shelf.put("broken", "load", broken))
    assert done.code == 2 and "broken: the replay is not complete" in done.err
