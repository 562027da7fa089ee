# SPDX-License-Identifier: GPL-2.0-or-later
"""versus: loads on several servers in turn; what is not equal, what an action costs, and who says
that there is a difference. Tests analysis/afpscope/urls.py."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sys
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from afpscope.judge import overview, sides, stats, versus
from afpscope.measure import turns
from afpscope.saved import crowd
from afpscope.saved.run import AB_FILE, Run
from afpscope.tables import costs
from afpscope.versus import named
from conftest import DATA, Done, Shelf
from test_forest import Closed

Execute = Callable[..., Done]
# A load whose times, calls and syncs are those of a real one, as its server is given in FAKE_OF:
# the URL -> twice: so many times twice as long; calls: times as many; syncs: likewise; watched.
FAKE = """#!{python} -IS
import gzip, hashlib, json, os, sys
args = sys.argv[1:]
place, url = args[args.index("-o") + 1], args[-1]
only = args[args.index("--only") + 1] if "--only" in args else ""
of = json.loads(os.environ["FAKE_OF"])
of = of.get(os.path.basename(place)[3:4] + url, of.get(url, {{}}))
value = json.loads(gzip.decompress(open({data!r}, "rb").read()))
number = len(os.listdir(os.path.dirname(place)))
value["id"] = hashlib.sha256(place.encode()).hexdigest()[:16]
value["started"] = "2026-01-01T00:%02d:%02dZ" % divmod(number, 60)
value["options"].update(watch="auto", **({{"only": only}} if only else {{}}))
value["options"].update(a[2:].split("=") for a in args if a.startswith("--files="))
value["server"]["afp_version"] = of.get("version", "AFP3.4")
(phase,) = value["phases"]
load = phase["load"]
# Of each command's times nothing is asked here: one bucket is read sooner.
for c in phase["commands"]:
    times = c["latency"]["histogram"]
    times["buckets"] = [[times["buckets"][0][0], sum(n for _, n in times["buckets"])]]
by = int(64 * of.get("twice", 0)) + number * 7 % 3 - 1
for a in load["actions"]:
    for key in ("planned", "begun"):
        a[key]["histogram"]["buckets"] = [[i + by, n] for i, n in a[key]["histogram"]["buckets"]]
    a["round_trips"] = {{"n": a["n"], "requests": 3 * a["n"], "sum": 2 * a["n"], "most": 2,
                        "bytes": 0, "needed": None, "together": [], "at_least": False, "at": []}}
load["actions"] = [a for a in load["actions"] if only in ("", a["name"])]
load["rtt_ns"] = 1e5
for row in phase["ledger"]["rows"]:
    row["calls"] = int(row["calls"] * of.get("calls", 1)) + number % 3
for row in phase["ledger"]["rows"]:
    if row["class"] == "sync":
        row["calls"] = int(row["calls"] * of.get("syncs", 1))
if not of.get("watched", True):
    phase["ledger"] = {{k: None for k in phase["ledger"]}}
    value["absent"] = {{"*": "nobody watched it"}}
os.mkdir(place)
json.dump(value, open(place + "/run.json", "w"))
"""


@pytest.fixture
def program(shelf: Shelf) -> Path:
    path = shelf.base / "afpscope"
    path.write_text(FAKE.format(python=sys.executable, data=str(DATA / "load.json.gz")))
    path.chmod(0o755)
    return path


A, B, C = "afp://u@127.0.0.1/v", "smb://u@127.0.0.1/s", "/srv/x"


class Made:
    def __init__(self, execute: Execute, folder: Path, *args: Any) -> None:
        self.done = execute("versus", "-o", folder, *args)
        self.folder = folder

    @property
    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.done.out)
        return value


def test_any_two_of_several_are_in_the_order_of_two() -> None:
    sides = "abcd"
    made = turns.order(16, sides)
    assert sorted(made) == [(n, side) for n in range(1, 17) for side in sides]
    assert made[:8] == [*((1, s) for s in "abcd"), *((2, s) for s in "dcba")]
    for x, y in combinations(sides, 2):
        firsts = [next(s for m, s in made if m == n and s in (x, y)) for n in range(1, 17)]
        for at in range(0, 16, 4):
            assert sorted(firsts[at : at + 4]) == sorted([x, x, y, y]), (x, y)
            assert firsts[at] == firsts[at + 3] != firsts[at + 1] == firsts[at + 2]
    assert {next(s for m, s in made if m == n) for n in range(1, 17)} == set(sides)
    for period in (2, 4, 8):
        order = [side for _, side in turns.order(16)]
        assert {order[start::period].count("a") for start in range(period)} == {16 // period}


def test_one_server_is_not_compared_with_itself_in_what_is_safe() -> None:
    for n, safe in ((1, False), (2, True)):
        of = SimpleNamespace(sides=[None] * n, _syncs=[], _dry=[])
        assert sides.Outcome.equally_safe.fget(of) == safe  # type: ignore[attr-defined]


def test_servers_have_names() -> None:
    assert named([A, B, C]) == [("afp", A), ("smb", B), ("directory", C)]
    assert named([A, A, f"new={A}"]) == [("afp-1", A), ("afp-2", A), ("new", A)]
    assert named([f"../{A}", "a/b://c", "x=rx+1.0://h"]) == [
        ("directory-1", f"../{A}"),
        ("directory-2", "a/b://c"),
        ("x", "rx+1.0://h"),
    ]
    assert named(["AFP://h/v"]) == [("afp", "AFP://h/v")]
    assert named(["afp://u@h/a=b", "x=/a=b"]) == [("afp", "afp://u@h/a=b"), ("x", "/a=b")]


def test_an_interval_of_the_median_has_it_as_often_as_it_says() -> None:
    assert stats.median_within([1, 2, 3, 4, 5]) is None
    assert stats.median_within([6, 1, 2, 3, 4, 5]) == (1, 6)
    assert stats.median_within(list(range(20))) == (5, 14)  # of 2^20 orders, 95.86 %


def test_a_longer_way_takes_its_round_trips_and_nothing_else() -> None:
    assert crowd.over(5.0, 2, 1.0, 10.0) == 23.0
    assert crowd.over(1.0, 2, 1.0, 10.0) == 20.0  # not less than nothing
    way = costs.Way(2, 3, 5.0, None, False)
    assert way.at(10.0) is None


def test_wrong_use(execute: Execute, tmp_path: Path, program: Path) -> None:
    def said(*args: Any) -> str:
        done = execute("versus", "--program", program, *args)
        assert done.code == 2, done
        return done.err

    out = ("-o", tmp_path / "new")
    assert "give the load after --" in said(*out, A, B)
    assert "give the load after --" in said(*out, A, B, "--", "lantest")
    assert "--alone" in said(*out, A, B, "--", "load", "--only", "save")
    assert "2 to 8 servers" in said(*out, A, "--", "load")
    assert "--vary only" in said(*out, "--vary", "only=save,read", A, B, "--", "load")
    assert "--vary mix" in said(*out, "--vary", "mix=office,batch", A, B, "--", "load")
    assert "two servers are called 'x'" in said(*out, f"x={A}", f"x={B}", "--", "load")
    assert "--pairs 0" in said(*out, "--pairs", "0", A, B, "--", "load")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    assert "not an empty folder" in said("-o", tmp_path / "full", A, B, "--", "load")


@pytest.mark.painted
def test_what_differs_is_said_and_what_is_not_equal_before_it(
    execute: Execute, tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = {B: {"twice": 1, "syncs": 0, "version": "SMB"}, C: {"watched": False, "twice": -1}}
    monkeypatch.setenv("FAKE_OF", json.dumps(of))
    page, figures = tmp_path / "v.html", tmp_path / "figures"
    made = Made(execute, tmp_path / "out", "--program", program, "--json", "--html", page,
                "--figures", figures, "--pairs", 12, "--alone", "save", A, B, C,
                "--", "load", "--mix", "office")  # fmt: skip
    assert made.done.code == 0, made.done.err
    names = sorted(p.name for p in made.folder.iterdir() if p.is_dir())
    assert names[:6] == ["001a", "001a-save", "001b", "001b-save", "001c", "001c-save"]
    assert len(names) == 12 * 3 * 2
    noted = json.loads((made.folder / AB_FILE).read_text())
    assert noted["sides"]["b"] == {"name": "smb", "url": B}
    value = made.json
    # What is not equal.
    facts = {fact["what"]: fact["values"] for fact in value["unequal"]}
    assert next(iter(facts)) == "sync calls of an action of the mix"
    syncs = facts["sync calls of an action of the mix"]
    assert float(syncs[0].split(", ")[0].removeprefix("data file ")) > 0.04
    assert syncs[1:] == ["data file 0.00", "n/a"]
    assert facts["afp_version"] == ["AFP3.4", "SMB", "AFP3.4"]
    assert facts["processes counted"] == ["afpd, cnid_dbd", "afpd, cnid_dbd", "n/a"]
    assert "Whether durability is equal is not known" in value["said"][0]
    assert value["equal"]["mix"] == "office"
    # What was not measured is not 0.
    cost = {(f["load"], f["what"]): f["sides"] for f in value["costs"]}
    calls = cost["office", costs.CALLS]
    assert calls["directory"]["value"] is None and calls["afp"]["value"] > 10
    assert "directory: not measured: server CPU" in made.done.err
    assert "nobody watched it" in made.done.err
    # Verdicts.
    pairs = {(p["a"], p["b"]): p for p in value["pairs"]}
    assert list(pairs) == [("afp", "smb"), ("afp", "directory"), ("smb", "directory")]
    rows = {(r["test"], r["command"], r["figure"]): r for r in pairs["afp", "smb"]["rows"]}
    assert rows["office", "save", "p50"]["verdict"] == stats.SLOWER
    assert rows["office", "save", "p50"]["result"]["change"] == pytest.approx(1, abs=0.05)
    assert rows["office: save", "save", "p95"]["verdict"] == stats.SLOWER
    assert rows["office", "", costs.CALLS]["verdict"] in (stats.SAME, stats.NONE_SHOWN)
    assert not any(r["figure"] == costs.CALLS for r in pairs["afp", "directory"]["rows"])
    # In few rows, each server beside the first.
    short = {row["what"]: row["sides"] for row in value["overview"]["rows"]}
    assert short["save p50"]["smb"].endswith("(2.0×)") and "(" not in short["save p50"]["afp"]
    assert short["save p50"]["directory"].endswith("(0.50×)")
    assert short[costs.CALLS]["directory"] == "n/a"
    assert short[costs.CALLS]["smb"].split("(")[1] in ("same)", "?)")
    assert not any(what.endswith("p95") for what in short)
    # Judged again it is the same.
    again = execute("versus", "--from", made.folder, "--json")
    assert json.loads(again.out) == value
    # The screen.
    screen = execute("versus", "--from", made.folder).out.splitlines()
    assert screen[0] == "office: 12 runs on each of 3 servers"
    assert len(screen) <= 40 and max(map(len, screen)) <= 100
    assert screen.index("What is not equal") < next(
        i for i, line in enumerate(screen) if line.startswith("save p50")
    )
    everything = execute("versus", "--from", made.folder, "--all").out
    assert "smb against afp: slower: " in everything and "Round trips" in everything
    # The page says the same, and names each place as it was given.
    text = page.read_text()
    assert all(re.search(rf"\d runs on [^<]+, {re.escape(url)}<", text) for url in (A, B))
    Closed().feed(text)
    assert text.index("What is not equal") < text.index("How long an action took")
    assert text.count('<table class="forest">') == 3
    assert {p.suffix for p in figures.iterdir()} == {".svg", ".png", ".pdf", ".csv"}


def test_what_is_there_of_a_stopped_measurement_is_judged(
    execute: Execute, tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_OF", json.dumps({B: {"twice": 1}}))
    made = Made(execute, tmp_path / "out", "--program", program, "--aa", "--pairs", 3, A, B,
                "--", "load", "--mix", "office")  # fmt: skip
    assert made.done.code == 0, made.done.err
    last = json.loads((made.folder / "003d/run.json").read_text())
    (made.folder / "003d/run.json").write_text(json.dumps(last | {"complete": False}))
    value = json.loads(execute("versus", "--from", made.folder, "--json").out)
    assert [(p["a"], p["b"]) for p in value["pairs"]] == [
        ("afp", "smb"), ("afp", "afp again"), ("smb", "smb again")
    ]  # fmt: skip
    assert value["pairs"][2]["rows"][0]["result"]["n_b"] == 2
    # Nor is one judged that was killed, or with which the measurement itself would have ended.
    (made.folder / "003c/run.json").unlink()
    bad = json.loads((made.folder / "002c/run.json").read_text())
    bad["phases"][0]["load"]["lost"] = 1
    (made.folder / "002c/run.json").write_text(json.dumps(bad))
    left = execute("versus", "--from", made.folder, "--json")
    for name, why in {"002c": "lost", "003c": "killed", "003d": "stopped"}.items():
        assert any(f"{name} is left out: " in s and why in s for s in left.err.splitlines())
    assert json.loads(left.out)["pairs"][2]["rows"][0]["result"]["n_a"] == 1
    for place in made.folder.glob("*a"):
        shutil.rmtree(place)
    none = execute("versus", "--from", made.folder)
    assert none.code == 5 and "no complete run of afp" in none.err
    other = tmp_path / "other"
    other.mkdir()
    (other / AB_FILE).write_text("{}")
    wrong = execute("versus", "--from", other)
    assert wrong.code == 2 and "no folder of versus" in wrong.err
    assert execute("versus", "--from", tmp_path / "none").code == 1
    assert "give no servers" in execute("versus", "--from", made.folder, A).err


@pytest.mark.parametrize(
    "widths, found",
    [
        ([10, 10], [[0, 1]]),
        ([30, 30, 30, 30], [[0, 1], [0, 2], [0, 3]]),
        ([10] * 9, [[0, 1, 2, 3, 4, 5, 6], [0, 7, 8]]),
        ([200, 10, 10], [[0, 1], [0, 2]]),
    ],
)
def test_a_table_is_as_wide_as_a_screen(widths: list[int], found: list[list[int]]) -> None:
    assert overview.blocks(10, widths, 100) == found


def test_rows_in_which_a_server_differs_from_itself_are_no_rows_without_a_difference() -> None:
    rows = [
        versus.TimeRow("w", f"a{i}", "p50", stats.compare([([1.0] * 3, [1.0] * 3)]), verdict)
        for i, verdict in enumerate((sides._FROM_ITSELF, sides._FROM_ITSELF, stats.NONE_SHOWN))
    ]
    a, b = (sides.Side(k, k, f"afp://{k}") for k in "ab")
    assert sides.Pair(a, b, False, rows[:2], (), (), 0.02).said == (
        "b against a: cannot be told in 2 rows, in which a server differs from itself"
    )
    said = sides.Pair(a, b, False, rows, (), (), 0.02).said
    assert said.startswith("b against a: no difference shown in 1 row; cannot be told in 2 rows")


def test_what_only_one_protocol_has_is_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """But what one server of a protocol has and the other has not is one."""
    made = [sides.Side(k, k, url, runs={"w": []}) for k, url in zip("abc", (A, A, B), strict=True)]
    facts = {"uam": ("DHX2", "DHX2", "n/a"), "modules": ("n/a", "fruit", "n/a"),
             "server": ("4.5", "4.5", "4.17"), "settings": ("x", "y", "z")}  # fmt: skip

    outcome = sides.Outcome(made, [], 0.02)
    monkeypatch.setitem(
        vars(outcome), "unequal", [sides.Fact(what, of) for what, of in facts.items()]
    )
    told = overview.telling(outcome)
    assert [fact.what for fact in told] == ["modules", "server"]
    assert overview.sentence(outcome, told[0]) == "modules: fruit (b); n/a (a, c)"


def test_a_row_in_which_a_server_differs_from_itself_tells_nothing(
    execute: Execute, tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sides a and b are one server; b has other times."""
    of = {f"b{A}": {"twice": 0.8}, B: {"twice": 2, "calls": 2}}
    monkeypatch.setenv("FAKE_OF", json.dumps(of))
    made = Made(execute, tmp_path / "out", "--program", program, "--json", "--aa", "--pairs", 12,
                A, B, "--", "load", "--mix", "office")  # fmt: skip
    assert made.done.code == 0, made.done.err
    value = made.json
    assert [(p["a"], p["b"], p["same"]) for p in value["pairs"]] == [
        ("afp", "smb", False), ("afp", "afp again", True), ("smb", "smb again", True)
    ]  # fmt: skip
    pair, itself, other = ({(r["command"], r["figure"]): r["verdict"] for r in p["rows"]}
                           for p in value["pairs"])  # fmt: skip
    assert itself["save", "p50"] == stats.SLOWER
    assert pair["save", "p50"].startswith("cannot tell")
    # Each side is one start: a difference below 20 % would have no verdict.
    assert pair["", costs.CALLS] == stats.WORSE
    assert not {stats.SLOWER, stats.FASTER, stats.WORSE, stats.BETTER} & set(other.values())
    said = value["pairs"][0]["said"]
    assert "cannot be told in" in said and "in which a server differs from itself" in said
    assert {("", costs.CPU), ("", costs.CALLS), ("", costs.SYNCS)} <= itself.keys() & other.keys()


def test_an_option_of_the_load_is_varied(
    execute: Execute, tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sides that differ in the server and in the option as well are not compared."""
    monkeypatch.setenv("FAKE_OF", json.dumps({B: {"twice": 1}}))
    made = Made(execute, tmp_path / "out", "--program", program, "--json", "--pairs", 12,
                "--vary", "files=10,1000", A, B, "--", "load", "--mix", "office")  # fmt: skip
    assert made.done.code == 0, made.done.err
    names = ["afp files=10", "afp files=1000", "smb files=10", "smb files=1000"]
    assert [side["name"] for side in made.json["sides"]] == names
    assert [(p["a"], p["b"]) for p in made.json["pairs"]] == [
        (names[0], names[1]), (names[0], names[2]), (names[1], names[3]), (names[2], names[3])
    ]  # fmt: skip
    facts = {fact["what"]: fact["values"] for fact in made.json["unequal"]}
    assert facts["files"] == ["10", "1000", "10", "1000"]
    noted = json.loads((made.folder / AB_FILE).read_text())["sides"]
    assert noted["d"] == {
        "name": names[3], "url": B, "load": ["--files=1000"], "server": "smb"
    }  # fmt: skip
    for wrong in ("files=10", "files", "files=1,1", "=1,2"):
        done = execute("versus", "-o", tmp_path / "new", "--vary", wrong, A, "--", "load")
        assert done.code == 2 and "no option of the load" in done.err
    done = execute("versus", "-o", tmp_path / "new", "--program", program, "--vary",
                   "files=1,2,3,4,5,6,7", A, B, "--", "load")  # fmt: skip
    assert done.code == 2 and "at most 12 in all" in done.err


def test_one_server_beside_itself_shows_no_difference(
    execute: Execute, tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_OF", "{}")
    made = Made(execute, tmp_path / "out", "--program", program, "--pairs", 12, A, A,
                "--", "load", "--mix", "office")  # fmt: skip
    assert made.done.code == 0, made.done.err
    assert "afp-2 against afp-1, the same place: no difference shown in" in made.done.out
    assert made.done.out.splitlines()[2].startswith("afp-1, afp-2 are one place under 2 names: ")


def test_few_runs_tell_nothing(
    execute: Execute, tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_OF", json.dumps({B: {"twice": 3}}))
    made = Made(execute, tmp_path / "out", "--program", program, "--pairs", 2, "--csv", A, B,
                "--", "load", "--mix", "office")  # fmt: skip
    assert made.done.code == 0, made.done.err
    head, *rows = (line.split(",") for line in made.done.out.splitlines())
    assert head[:5] == ["a", "b", "test", "command", "figure"]
    assert {row[-1] for row in rows} == {stats.TOO_FEW}


def saved(shelf: Shelf, name: str, change: Callable[[dict[str, Any]], None] | None = None) -> Run:
    return Run.open(shelf.put(name, "load", change))


def test_costs_are_those_of_an_action_with_the_ramp(shelf: Shelf) -> None:
    value = json.loads(gzip.decompress((DATA / "load.json.gz").read_bytes()))
    phase = value["phases"][0]
    n = sum(second["n"] for second in phase["load"]["seconds"])
    assert n > sum(a["n"] for a in phase["load"]["actions"])
    found = costs.costs(saved(shelf, "a"))
    m = phase["metrics"]
    assert found[costs.CALLS] == pytest.approx((m["afpd_calls"] + m["cnid_calls"]) / n)
    assert found[costs.CPU] == pytest.approx((m["afpd_cpu"] + m["cnid_cpu"]) / n)
    syncs = sum(r["calls"] for r in phase["ledger"]["rows"] if r["class"] == "sync")
    assert found[costs.SYNCS] == pytest.approx(syncs / n) and syncs

    def unwatched(value: dict[str, Any]) -> None:
        value["phases"][0]["ledger"]["requests"] = None
        value["rungs"]["storage.block"] = "off"

    found = costs.costs(saved(shelf, "b", unwatched))
    assert costs.CPU not in found and costs.DISK not in found and costs.CALLS in found


def test_what_makes_servers_unequal_is_taken_from_what_was_counted(shelf: Shelf) -> None:
    """What was synced for, whether it was encrypted, and whether names are found in any case."""

    def smb(value: dict[str, Any]) -> None:
        value["kind"] = "smb"
        value["figures"] = {"case_folded": {"value": 2, "unit": "1"}}
        account = value["phases"][0]["ledger"]["requests"][0]
        account.update(name="encrypted frames", requests=0, untimed=3)

    def nfs(value: dict[str, Any]) -> None:
        value["kind"] = "nfs"
        for account in value["phases"][0]["ledger"]["requests"]:
            account["parts"] = [p for p in account["parts"] if p["class"] != "sync"]
        account = value["phases"][0]["ledger"]["requests"][0]
        account["name"] = "COMMIT"
        account["parts"].append({"role": "ganesha", "class": "sync", "object": "data file",
                                 "calls": 9})  # fmt: skip

    def unseen(value: dict[str, Any]) -> None:
        value.update(kind="smb", figures={"case_folded": {"value": None, "unit": "1"}})
        value["phases"][0]["ledger"] = dict.fromkeys(value["phases"][0]["ledger"])

    made = []
    for name, change in (("afp", None), ("smb", smb), ("nfs", nfs), ("far", unseen)):
        made.append(sides.Side(name, name, A))
        made[-1].add(saved(shelf, name, change))
    found = sides.judged(made, 0.02)
    facts = {fact.what: fact.values for fact in found.unequal}
    assert facts["synced for"][2:] == ("COMMIT", "n/a") and "FPFlushFork" in facts["synced for"][0]
    assert facts["encrypted"] == ("no", "yes", "no", "n/a")
    assert "encrypted" in {fact.what for fact in overview.telling(found)}
    own = "as the file system does"
    assert facts["names are looked up"] == (own, "in any case", own, "n/a")
    order = [fact.what for fact in found.unequal]
    assert order.index("encrypted") < order.index("processes counted")


@pytest.mark.parametrize(
    ("written", "dry"), [((9, 9), ""), ((9, 0), "b"), ((0, 0), ""), ((0, 9), "a")]
)
def test_sync_calls_that_write_to_no_disk_are_no_equal_durability(
    shelf: Shelf, written: tuple[int, int], dry: str
) -> None:
    """A volume in memory syncs as often as one on a disk. Where none writes, nothing is said."""
    made = []
    for name, size in zip("ab", written, strict=True):

        def change(value: dict[str, Any], size: int = size) -> None:
            for of in value["phases"][0]["ledger"]["storage"]:
                of["bio_write_bytes"] = size

        made.append(sides.Side(name, name, A + name))
        made[-1].add(saved(shelf, name, change))
    found = sides.judged(made, 0.02)
    assert found.equally_safe == (not dry)
    if dry:
        (said,) = found.said
        assert said.startswith(f"Whether durability is equal is not known: {dry} made sync calls")
    else:
        assert not found.said


@pytest.mark.parametrize(
    ("data", "saves", "slack", "near", "unequal"),
    [
        ((1.0, 1.02), (1, 1), 0, True, False),
        ((1.0, 2.0), (1, 1), 0, False, True),
        ((0.2, 0.1), (0.2, 0.2), 0, False, True),
        ((0.2, 0.0), (0.2, 0.01), 0, False, True),
        # As many for each save, of which one server did more.
        ((0.16, 0.06), (0.16, 0.06), 0, False, False),
        ((0.16, 0.12), (0.137, 0.05), 0, False, False),
        # Twice as many for each.
        ((0.32, 0.06), (0.16, 0.06), 0, False, True),
        # One did not save at all: what it would have done is not known.
        ((0.2, 0.0), (0.2, 0), 0, False, False),
        # One never syncs, the other for one action in 61.
        ((0.016, 0.0), (1 / 61, 1 / 61), 0, False, False),
        ((0.0, 0.0), (1 / 61, 1 / 61), 0, True, False),
        # One of ten actions that began is not among those that ended.
        ((1.0, 1.12), (1, 1), 0.1, False, False),
        ((None, 1.0), (1, 1), 0, True, False),
    ],
)
def test_a_mix_of_other_shares_is_no_difference_in_durability(
    data: tuple[float | None, ...], saves: tuple[float, ...], slack: float, near: bool,
    unequal: bool
) -> None:  # fmt: skip
    shares = tuple({"save": share, "read": 1 - share} for share in saves)
    for order in (1, -1):
        made = sides.Syncs("x", data[::order], ("", ""), shares[::order], (slack, slack))
        assert (made.near, made.unequal) == (near, unequal)


@pytest.mark.parametrize(("rare", "unequal"), [(0.001, True), (0.1, False)])
def test_a_rare_action_of_one_server_explains_few_sync_calls(rare: float, unequal: bool) -> None:
    mine = {"save": 0.95, "read": 0.05}
    its = {"save": 0.95 - rare, "read": 0.05, "rare": rare}
    assert sides.Syncs("x", (0.0, 0.95), ("", ""), (mine, its), (0, 0)).unequal == unequal


def test_settings_that_are_not_the_same_are_unequal(shelf: Shelf) -> None:
    """Among the servers that have them; what is not known of one is not told."""
    conf = {
        "a": ("afp.conf", "cnid scheme = dbd; ea = not set; log level = default:note"),
        "b": ("afp.conf", "cnid scheme = sqlite; ea = not set; log level = default:note"),
        "c": ("smb.conf", "case sensitive = Auto; strict sync = Yes; vfs objects = none"),
        "d": ("smb.conf", "case sensitive = Auto (1 of 2 shares), Yes (1 of 2 shares); "
                          "strict sync = No; log level = 1"),
        "e": ("smb.conf", "not visible: the main process has ended; strict sync = x"),
    }  # fmt: skip

    def noted(name: str) -> Callable[[dict[str, Any]], None]:
        def change(value: dict[str, Any]) -> None:
            value["server"].update([conf[name]])
            if conf[name][0] == "smb.conf":
                value["figures"] = {"case_folded": {"value": 1, "unit": "1"}}

        return change

    made = []
    for name, (file, _) in conf.items():
        made.append(sides.Side(name, name, A if file == "afp.conf" else B))
        made[-1].add(saved(shelf, name, noted(name)))
    found = sides.judged(made, 0.02)
    facts = {f.what: f.values for f in found.unequal}
    none = "n/a"
    assert facts["afp.conf: cnid scheme"] == ("dbd", "sqlite", none, none, none)
    assert facts["smb.conf: strict sync"] == (none, none, "Yes", "No", none)
    of_two = "Auto (1 of 2 shares), Yes (1 of 2 shares)"
    assert facts["smb.conf: case sensitive"][2:] == ("Auto", of_two, none)
    assert {what for what in facts if ".conf" in what} == {
        "afp.conf: cnid scheme", "smb.conf: strict sync", "smb.conf: case sensitive",
    }  # fmt: skip
    # Which of its shares the load used is not known.
    looked_up = facts["names are looked up"]
    assert looked_up[2:4] == ("in any case", f"not known: case sensitive = {of_two}")
    assert {"afp.conf: cnid scheme", "smb.conf: strict sync"} <= {
        fact.what for fact in overview.telling(found)
    }


@pytest.mark.parametrize(("known", "what"), [(True, "smb.conf: vfs objects"), (False, "modules")])
def test_what_is_known_of_a_server_is_said_once(shelf: Shelf, known: bool, what: str) -> None:
    """Its modules are a setting, where that is known; its processes have their names."""
    hidden, none = "not visible: no testparm", "no CNID process: the backend runs inside afpd"
    servers = {
        "a": {"smb.conf": "vfs objects = none" if known else hidden, "CNID server": none},
        "b": {"smb.conf": "vfs objects = fruit" if known else hidden, "modules": "fruit"},
    }
    made = []
    for name, server in servers.items():
        made.append(sides.Side(name, name, B))
        made[-1].add(saved(shelf, name, partial(note, server)))
    facts = {f.what for f in sides.judged(made, 0.02).unequal}
    assert facts & {"smb.conf: vfs objects", "modules", "CNID server"} == {what}


def note(server: dict[str, str], value: dict[str, Any]) -> None:
    value["server"].update(server)


def test_a_start_is_that_of_the_process_that_answers(shelf: Shelf) -> None:
    def other(value: dict[str, Any]) -> None:
        value["words"] = {"server": "smbd"}
        value["server"] = {"smbd.start": "pid 7, 8 ticks after boot"}

    assert saved(shelf, "a", other).start == "pid 7, 8 ticks after boot"
    assert "afpd" not in (saved(shelf, "b").start or "") and saved(shelf, "c").start


def test_runs_of_a_side_have_the_same_settings(shelf: Shelf) -> None:
    side = sides.Side("a", "afp", A)
    side.add(saved(shelf, "a"))

    def other(value: dict[str, Any]) -> None:
        value["options"]["clients"] = "7"

    with pytest.raises(Exception, match=r"options\.clients"):
        side.add(saved(shelf, "b", other))
