# SPDX-License-Identifier: GPL-2.0-or-later
"""A load by several processes whose job was killed: what each has saved is put together.

Tests user/run/load.c: its table says what becomes of the figures of several.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from afpscope import Failure, Run, find
from afpscope.saved import ranks
from conftest import DATA, Done

Execute = Callable[..., Done]
TOP = Path(__file__).parents[2]
FILES = ("run", "rank-1", "rank-2", "rank-3")
KINDS = ("planned", "begun")


def saved(name: str) -> dict[str, Any]:
    value = json.loads(gzip.decompress((DATA / "ranks" / f"{name}.json.gz").read_bytes()))
    assert isinstance(value, dict)
    return value


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    where = tmp_path / "run"
    where.mkdir()
    for name in FILES:
        (where / f"{name}.json").write_text(json.dumps(saved(name)))
    return where


def joined(folder: Path) -> dict[str, Any]:
    value: dict[str, Any] = ranks.joined(folder, folder / "run.json").value
    return value


def buckets(phase: dict[str, Any], kind: str) -> Counter[tuple[str, int]]:
    return Counter(
        {
            (a["name"], i): n
            for a in phase["load"]["actions"]
            for i, n in a[kind]["histogram"]["buckets"]
        }
    )


def test_all_that_the_ranks_saved_is_added(folder: Path) -> None:
    files = [saved(name)["phases"][0] for name in FILES]
    run = joined(folder)
    (phase,) = run["phases"]
    load = phase["load"]
    assert not run["complete"]
    assert "rank" not in {w["key"] for w in run["warnings"]}
    assert [r["end"] for r in phase["ranks"]] == ["stopped"] * 4
    assert [r["clients"] for r in phase["ranks"]] == [2] * 4
    assert load["lost"] == 0
    for kind in KINDS:
        assert buckets(phase, kind) == sum((buckets(f, kind) for f in files), Counter())
        assert sum(a[kind]["sum_ns"] for a in load["actions"]) == sum(
            a[kind]["sum_ns"] for f in files for a in f["load"]["actions"]
        )
    done = [[c["actions"] for c in f["load"]["each_client"]] for f in files]
    assert [c["actions"] for c in load["each_client"]] == [done[i % 4][i] for i in range(8)]
    assert all(c["actions"] for c in load["each_client"])
    assert sum(s["n"] for s in load["seconds"]) == sum(
        s["n"] for f in files for s in f["load"]["seconds"]
    )
    assert load["cpu_ns"] == sum(f["load"]["cpu_ns"] for f in files)
    times = [tuple(f["load"][key] for key in ranks.BUSIEST) for f in files]
    assert tuple(load[key] for key in ranks.BUSIEST) == max(times, key=sum)
    assert phase["metrics"]["ops"] == sum(f["metrics"]["ops"] for f in files)
    assert phase["metrics"]["elapsed"] == max(f["metrics"]["elapsed"] for f in files)
    ops = Counter({c["code"]: c["ops"] for c in phase["commands"]})
    assert ops == sum((Counter({c["code"]: c["ops"] for c in f["commands"]}) for f in files),
                      Counter())  # fmt: skip
    # What rank 0 knows of their clocks stays.
    assert [r["skew_ns"] for r in phase["ranks"]] == [r["skew_ns"] for r in files[0]["ranks"]]


def test_the_busiest_thread_is_one_and_not_two(folder: Path) -> None:
    """A thread that ran half of the time, and another that waited for a CPU the other half."""
    for name, times in zip(FILES, ((500, 10), (90, 480), (400, 200), (3, 3)), strict=True):
        value = saved(name)
        value["phases"][0]["load"] |= dict(zip(ranks.BUSIEST, times, strict=True))
        (folder / f"{name}.json").write_text(json.dumps(value))
    load = joined(folder)["phases"][0]["load"]
    assert tuple(load[key] for key in ranks.BUSIEST) == (400, 200)


def test_info_and_report_say_that_it_is_not_complete(folder: Path, execute: Execute) -> None:
    done = execute("info", folder)
    assert done.code == 4
    assert "NOT COMPLETE" in done.out
    assert "LOST" not in done.out
    assert re.search(r"^metadata +\(broke off\) +8 ", done.out, re.M)
    assert execute("report", folder, "-o", folder / "x.html").code == 4


def test_a_rank_is_counted_once(folder: Path) -> None:
    once = joined(folder)
    (folder / "run.json").write_text(json.dumps(once))
    assert joined(folder) == once


def test_a_rank_that_is_missing_is_named(folder: Path) -> None:
    (folder / "rank-2.json").unlink()
    run = joined(folder)
    (text,) = (w["text"] for w in run["warnings"] if w["key"] == "rank")
    assert text.startswith("rank 2 ")
    (phase,) = run["phases"]
    assert [r["end"] for r in phase["ranks"]] == ["stopped", "stopped", "lost", "stopped"]
    assert phase["load"]["lost"] == 2
    assert [c["lost"] for c in phase["load"]["each_client"]] == [i % 4 == 2 for i in range(8)]


def test_rank_0_may_be_missing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "run.json").unlink()
    run = joined(folder)
    assert [r["end"] for r in run["phases"][0]["ranks"]] == ["lost"] + ["stopped"] * 3
    assert [w["text"] for w in run["warnings"] if w["key"] == "rank"] == [
        "rank 0 is missing: what its clients did is not known"
    ]
    assert not Run.open(folder).complete
    monkeypatch.setenv("AFPSCOPE_RUNS", str(folder.parent))
    assert find("last") == folder


def test_a_part_of_another_run_is_none(folder: Path) -> None:
    alone = saved("run")["phases"]
    for name in FILES[1:]:
        (folder / f"{name}.json").write_text(json.dumps(saved(name) | {"id": "f" * 16}))
    assert joined(folder)["phases"] == alone


@pytest.mark.parametrize("text", ['{"id": ', "[]", '{"id": "%s", "phases": [{"ranks": 1}]}'])
def test_a_damaged_part_is_named(folder: Path, text: str) -> None:
    (folder / "rank-2.json").write_text(text.replace("%s", saved("run")["id"]))
    with pytest.raises(Failure, match=r"rank-2\.json"):
        joined(folder)


QUIET = (2, 3, 4)  # seconds of which the parts below have no action


def silent(value: dict[str, Any], took_ns: int) -> None:
    """The part of a rank that did nothing in these seconds, and then what had taken so long."""
    load = value["phases"][0]["load"]
    second = load["seconds"][0] | {"n": 50, "failed": 0, "max_ns": 10**6}
    load["seconds"] = [dict(second) for _ in range(8)]
    for i in QUIET:
        load["seconds"][i] |= {"n": 0, "max_ns": None}
    load["seconds"][5]["max_ns"] = took_ns
    load |= {"measure_ns": load["begin_ns"], "end_ns": load["begin_ns"] + 8 * 10**9}
    load |= {"seconds_each": 1, "outlasting_max_ns": 0, "silence": None}
    for client in load["each_client"]:
        client["max_ns"] = took_ns if client["actions"] else None


def put_silent(folder: Path, *names: str, took_ns: int = 4 * 10**9) -> None:
    for name in names:
        value = saved(name)
        silent(value, took_ns)
        (folder / f"{name}.json").write_text(json.dumps(value))


def test_a_silence_is_that_of_all_ranks_that_are_there(folder: Path) -> None:
    put_silent(folder, *FILES)
    (folder / "rank-2.json").unlink()
    (phase,) = joined(folder)["phases"]
    silence = phase["load"]["silence"]
    assert silence == {
        "from_ns": 2 * 10**9,
        "ns": 3 * 10**9,
        "clients": 6,
        "ranks": 3,
        "of_ranks": 4,
    }
    put_silent(folder, *FILES)
    (phase,) = joined(folder)["phases"]
    assert (phase["load"]["silence"]["ranks"], phase["load"]["silence"]["clients"]) == (4, 8)


def test_no_silence_where_one_rank_went_on_or_nobody_waited(folder: Path) -> None:
    put_silent(folder, *FILES)
    value = json.loads((folder / "rank-3.json").read_text())
    value["phases"][0]["load"]["seconds"][3] |= {"n": 1, "max_ns": 10**6}
    (folder / "rank-3.json").write_text(json.dumps(value))
    assert joined(folder)["phases"][0]["load"]["silence"] is None
    put_silent(folder, *FILES, took_ns=10**9)
    assert joined(folder)["phases"][0]["load"]["silence"] is None


def test_figures_are_added_by_the_rules_of_the_program() -> None:
    table = (TOP / "user/run/load.h").read_text()
    keys = {key: rule for rule, key in re.findall(r'X\(\w+, (\w+), "(\w+)", \w+\)', table)}
    opened = {"opened": "SUM", "starved": "SUM"}  # counts of clients
    known = keys | opened
    assert all(known[key] == "OWN" for key in ranks.BUSIEST)
    assert {key for key, rule in known.items() if rule == "SUM"} - set(ranks.UNKNOWN) - {
        "lost"  # with the clients of ranks that are lost
    } == set(ranks.SUM)
    assert {key for key, rule in known.items() if rule == "MOST"} == set(ranks.MOST)
