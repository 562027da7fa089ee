# SPDX-License-Identifier: GPL-2.0-or-later
"""What CONTRIBUTING.md lists "to add a ..." is all it takes: toys in a copy of the tree.

All toys are in one copy, which is built once: a build costs more than all that is done with it.

Tests user/drive/workload.c, user/report/about.c, user/report/long/metrics.c.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from afpscope.measure.turns import order
from toys import (
    BOX_COMMAND,
    BOX_PAGE,
    BOX_REPORT,
    CLIENT,
    COMMAND,
    DECODER,
    FIGURE,
    KIND,
    RULE,
    SERVER,
    STORE,
    TOY_C,
    TOY_COMMAND,
    TOY_H,
    WANTED,
)

TOP = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (TOP / "build/afpscope").exists(), reason="nothing is built: run make"),
]
METRICS = {"toy": "lower", "joy": "higher"}


class Scratch:
    """A copy of the tree with what was built, and the files that each toy touched."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.touched: dict[str, set[str]] = {}
        self.toy = ""
        names = subprocess.run(
            ["tests/files.sh", "Makefile", "user", "client", "bpf", "mpi", "analysis"],
            cwd=TOP, check=True, capture_output=True, text=True,
        ).stdout.split()  # fmt: skip
        for name in (n for n in names if (TOP / n).exists()):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TOP / name, folder / name)
        for name in ("obj", "gen"):
            shutil.copytree(TOP / "build" / name, folder / "build" / name)

    def add(self, toy: str) -> None:
        """What is written from now on belongs to this toy."""
        self.toy = toy
        self.touched[toy] = set()

    def write(self, name: str, text: str) -> None:
        self.touched[self.toy].add(name)
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(text)

    def replace(self, name: str, old: str, new: str) -> None:
        text = (self.folder / name).read_text()
        assert text.count(old) == 1, f"{name} has {text.count(old)} x {old!r}"
        self.write(name, text.replace(old, new))

    def build(self) -> None:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
        made = subprocess.run(
            ["make", "-s", "-j2", "CFLAGS=-O0", "build/afpscope", "build/man/afpscope-box.1"],
            cwd=self.folder, capture_output=True, text=True, env=env, check=False,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        return self.call(self.folder / "build/afpscope", *args)

    def watch(self, command: str, *args: str | Path) -> subprocess.CompletedProcess[str]:
        """A server of kind joy, while a client asks it."""
        server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout
            port = server.stdout.readline().strip()
            words = (command, "--kind", "joy", "--port", port, *map(str, args))
            return self.run(*words, "--", sys.executable, "-c", CLIENT, port)
        finally:
            server.kill()
            server.wait()

    def call(self, *line: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            line, cwd=self.folder, capture_output=True, text=True, check=False,
            env=os.environ | {"PYTHONPATH": str(self.folder / "analysis")},
        )  # fmt: skip

    def analysis(self, *args: str | Path) -> subprocess.CompletedProcess[str]:
        """The Python package of the copy."""
        return self.call(sys.executable, "-B", "-m", "afpscope", *args)


def add_kind(scratch: Scratch) -> None:
    scratch.write("user/kinds/toy.c", KIND)
    scratch.replace("user/kinds/list.h", "X(any,", 'X(toy, "toys", "") X(any,')


def add_decoder(scratch: Scratch) -> None:
    """For a kind of server of its own, joy."""
    kind = KIND.replace("toy", "joy").replace(
        "return kind_any.find(out, w, e);",
        """int r = kind_any.find(out, w, e);

	target_add_port(&out->target, (uint16_t)w->port, AFS_OBJECT_CLIENT);
	return r;""",
    )
    kind = kind.replace(".role =", ".has_requests = true, .has_diagnosis = true, .role =")
    kind = kind.replace("	.find =", "	.decoder = AFS_DECODER_TOY,\n	.find =")
    scratch.write("user/kinds/joy.c", kind)
    scratch.replace("user/kinds/list.h", "X(any,", 'X(joy, "joys", "") X(any,')
    judged = 'X(gluster, "bricks'
    scratch.replace("user/kinds/list.h", judged, f'X(joy, "joys") {judged}')
    scratch.write("bpf/decode/toy.h", DECODER)
    scratch.replace("bpf/decoders.h", "X(DSI, dsi)", "X(DSI, dsi) X(TOY, toy)")
    line = '#include "bpf/decode/dsi.h"\n'
    scratch.replace("bpf/decoders.h", line, line + line.replace("dsi", "toy"))


def add_subcommand(scratch: Scratch) -> None:
    scratch.write("user/main/joy.c", COMMAND)
    scratch.replace(
        "user/app/cmd.h", "int cmd_check(", "int cmd_joy(int argc, char **argv);\nint cmd_check("
    )
    row = '	{ "joy", "a joy", cmd_joy, check_options },\n	{ "clean",'
    scratch.replace("user/main/main.c", '	{ "clean",', row)


def add_report(scratch: Scratch) -> None:
    """A subcommand whose run is about something new: screen, JSON, HTML and manual page."""
    scratch.write("user/main/box.c", BOX_COMMAND)
    declared = "extern const struct opt box_options[];\nint cmd_box(int argc, char **argv);\n"
    scratch.replace("user/app/cmd.h", "int cmd_check(", declared + "int cmd_check(")
    row = '	{ "box", "a box", cmd_box, box_options },\n	{ "clean",'
    scratch.replace("user/main/main.c", '	{ "clean",', row)
    scratch.replace("user/run/run.h", "X(SERVER, server)", "X(BOX, box) X(SERVER, server)")
    scratch.replace("user/run/run.h", "	size_t n_sockets;\n", "	size_t n_toys, n_sockets;\n")
    scratch.write("user/report/long/box.c", BOX_REPORT)
    line = "	if (r->n_sockets)\n"
    toys = (
        '	if (r->n_toys)\n		json_put(d, o, "toys", json_integer((json_int_t)r->n_toys));\n'
    )
    scratch.replace("user/report/json/json.c", line, toys + line)
    scratch.write("docs/afpscope-box.1.in", BOX_PAGE)


def add_rule(scratch: Scratch) -> None:
    """A cause that doctor finds by a figure of its own."""
    rows = "#define RUN_FIGURES(X)"
    text = (scratch.folder / "user/run/figures.h").read_text()
    head = next(line for line in text.splitlines() if line.startswith(rows))
    row = head + '\n	X(TOY, "toy", "share", "of the toys: broken ones") \\'
    scratch.replace("user/run/figures.h", head, row)
    begin = "void measure_answers(struct measure *m)\n{\n"
    scratch.replace("user/doctor/figures/answers.c", begin, FIGURE.lstrip())
    scratch.replace(
        "user/doctor/figures/answers.c", "<math.h>\n", "<math.h>\n#include <stdlib.h>\n"
    )
    first = '	{\n		.key = "server-ended", .name = "server that ended"'
    scratch.replace("user/doctor/rules/rules_server.c", first, RULE + first)


def add_workload(scratch: Scratch) -> None:
    scratch.write("client/work/toy/toy.h", TOY_H)
    scratch.write("client/work/toy/toy.c", TOY_C)
    scratch.write("user/main/toy.c", TOY_COMMAND)
    declared = "extern const struct opt toy_options[];\nint cmd_toy(int argc, char **argv);\n"
    scratch.replace("user/app/cmd.h", "int cmd_check(", declared + "int cmd_check(")
    row = '	{ "toy", "a toy", cmd_toy, toy_options },\n	{ "clean",'
    scratch.replace("user/main/main.c", '	{ "clean",', row)


def add_store(scratch: Scratch) -> None:
    scratch.write("client/store/toy.c", STORE)
    scratch.replace("client/store/kinds.h", "X(rx,", 'X(toy, "") X(rx,')


def add_metrics(scratch: Scratch) -> None:
    rows = [f'X({key.upper()}, "{key}", "ms", "{better}", "{key} time", "of a {key}") \\\n\t'
            for key, better in METRICS.items()]  # fmt: skip
    scratch.replace("user/run/run.h", "X(OPS, ", "".join(rows) + "X(OPS, ")
    """Read at the end, and the difference of two readings; one of them on the first screen."""
    value = 'strtoull(getenv("TOY") ?: "0", NULL, 10)'
    last = "	run_add(p, METRIC_OPS, l->ops);\n"
    adds = f"	run_add(p, METRIC_TOY, {value});\n	run_end(p, METRIC_JOY, {value} + 7);\n"
    scratch.replace("client/load/load.c", last, last + adds)
    first = "	l->ops = l->errors = l->bytes = 0;\n"
    scratch.replace("client/load/load.c", first, "	run_begin(p, METRIC_JOY, 7);\n" + first)
    scratch.replace("client/load/load.c", "<errno.h>\n", "<errno.h>\n#include <stdlib.h>\n")
    screen = "user/report/screen/screen_tests.c"
    scratch.replace(screen, "	COL_MB,\n", "	COL_MB,\n	COL_JOY,\n")
    column = "	[COL_ERRORS] = {"
    scratch.replace(screen, column, '	[COL_JOY] = { .head = "joys" },\n' + column)
    cell = "	cell[COL_ERRORS] = cell_value("
    joy = "	cell[COL_JOY] = cell_value(view_metric(v, t, METRIC_JOY), cell_calls);\n"
    scratch.replace(screen, cell, joy + cell)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    made = Scratch(tmp_path_factory.mktemp("toys"))
    for add in (add_kind, add_decoder, add_subcommand, add_report, add_rule, add_workload,
                add_store, add_metrics):  # fmt: skip
        made.add(add.__name__)
        add(made)
    made.build()
    return made


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may watch")
def test_a_kind_of_server_is_two_files(scratch: Scratch) -> None:
    assert len(scratch.touched["add_kind"]) == 2
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        words = ("--kind", "toy", "--pid", str(sleeper.pid), "-d", "1", "--no-save")
        done = scratch.run("record", *words, "--json", "-")
    finally:
        sleeper.kill()
        sleeper.wait()
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)
    assert run["kind"] == "toy" and run["server"]["toy"] == "found"
    assert any(book["name"].startswith("toyd ") for book in run["books"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may watch")
def test_a_decoder_is_two_more_files(scratch: Scratch, tmp_path: Path) -> None:
    """It counts each request of a server of its kind, split and batched as they come."""
    assert len(scratch.touched["add_decoder"]) == 4
    saved = tmp_path / "saved"
    done = scratch.watch("record", "-o", saved)
    assert done.returncode == 0, done.stdout + done.stderr
    run = json.loads((saved / "run.json").read_text())
    assert run["kind"] == "joy" and not any(loss["n"] for loss in run["losses"])
    assert run["books"] and all(book["closed"] for book in run["books"])
    counted = {r["number"]: r for r in run["phases"][0]["ledger"]["requests"]}
    assert {number: r["requests"] for number, r in counted.items()} == {
        number: 2 * n for number, n in WANTED.items()
    }
    assert counted[1]["results"] == [{"code": 1, "n": 2 * WANTED[1]}]
    assert counted[2]["results"] == []
    assert [s["requests"] for s in run["sessions"]] == [sum(WANTED.values())] * 2


def test_a_subcommand_is_three_files(scratch: Scratch) -> None:
    assert len(scratch.touched["add_subcommand"]) == 3
    done = scratch.run("joy", "a", "b")
    assert (done.returncode, done.stdout) == (0, "joy has 2 arguments\n")


def test_a_subcommand_with_reports_is_seven_files_and_its_page(
    scratch: Scratch, tmp_path: Path
) -> None:
    """Screen, -v, JSON, HTML and manual page."""
    assert len(scratch.touched["add_report"]) == 7
    saved = tmp_path / "saved"
    done = scratch.run("box", "-n", "3", "-o", str(saved))
    assert done.returncode == 0, done.stderr
    assert "watched" not in done.stdout  # there is no server
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[rows.index(["In", "the", "box"]) + 1 :] == [
        ["toy", "wheels"], ["1", "4"], ["2", "8"], ["3", "12"],
    ]  # fmt: skip
    long = scratch.run("box", "-n", "3", "-v", "--no-save").stdout
    assert long.endswith(done.stdout[done.stdout.index("In the box") :])
    run = json.loads((saved / "run.json").read_text())
    assert (run["command"], run["about"], run["toys"]) == ("box", "box", 3)
    made = scratch.analysis("report", saved, "-o", tmp_path / "box.html")
    assert made.returncode == 0, made.stderr
    page = (tmp_path / "box.html").read_text()
    assert "In the box" in page and "<td>12</td>" in page and "not watched" not in page
    assert "toys in the box" in (scratch.folder / "build/man/afpscope-box.1").read_text()
    assert "*:box" in scratch.run("completion", "bash").stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may watch")
@pytest.mark.parametrize(("toy", "broken"), [("0.9", True), ("0.4", False)])
def test_a_cause_with_a_figure_is_three_files_and_its_docs(
    scratch: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toy: str, broken: bool
) -> None:
    assert len(scratch.touched["add_rule"]) == 3  # and docs/doctor.md
    monkeypatch.setenv("TOY", toy)
    done = scratch.watch("record", "-o", tmp_path / "saved")
    assert done.returncode == 0, done.stdout + done.stderr
    done = scratch.run("doctor", str(tmp_path / "saved"))
    # Half of the client's requests fail; where it gets no CPU these are too few for a finding.
    assert done.returncode in ({1} if broken else {1, 4}), done.stdout + done.stderr
    assert ("of the toys 90% are broken" in done.stdout) == broken
    run = json.loads((tmp_path / "saved/run.json").read_text())
    assert run["figures"]["toy"]["value"] == float(toy)
    found = [f["key"] for f in run["diagnosis"]["findings"]]
    assert (found[:1] == ["broken-toy"]) == broken
    assert ("broken-toy" in run["diagnosis"]["ruled_out"]) == (not broken)


def test_a_workload_is_five_files(scratch: Scratch, tmp_path: Path) -> None:
    assert len(scratch.touched["add_workload"]) == 5
    (tmp_path / "ground").mkdir()
    folder = tmp_path / "saved"
    where = ("-L", "-D", "-P", str(tmp_path / "ground"))
    done = scratch.run("toy", *where, "-n", "50", "-o", str(folder))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("toy  directory ") and "/ground  run " in done.stdout
    assert [line.split()[:3] for line in done.stdout.splitlines()[-2:]] == [
        ["1", "Create", "files"], ["2", "Delete", "files"],
    ]  # fmt: skip
    assert list((tmp_path / "ground").iterdir()) == []
    run = json.loads((folder / "run.json").read_text())
    assert (run["command"], run["set"], run["complete"]) == ("toy", "toy-1", True)
    assert run["options"]["files"] == "50" and run["options"]["mode"] == "local"
    assert [
        [(c["name"], c["ops"]) for c in phase["commands"]] for phase in run["phases"]
    ] == [[("openat", 50)], [("unlinkat", 50)]]  # fmt: skip
    page = scratch.analysis("report", folder, "-o", tmp_path / "toy.html")
    assert page.returncode == 0, page.stderr
    assert "2 Delete files" in (tmp_path / "toy.html").read_text()
    long = scratch.run("toy", *where, "-v", "--no-save")
    assert long.returncode == 0 and "unlinkat" in long.stdout
    told = scratch.run("toy", "-L")
    assert told.returncode == 2 and "-L needs -P DIRECTORY" in told.stderr
    assert "*:toy" in scratch.run("completion", "bash").stdout


def test_a_workload_may_break_off(scratch: Scratch, tmp_path: Path) -> None:
    """The second file has the name of the first: what was done is kept, and what is left told."""
    ground = tmp_path / "ground"
    ground.mkdir()
    words = ("-L", "-D", "-P", str(ground), "-o", str(tmp_path / "saved"))
    done = scratch.call("env", "TOY_NAME=file", "build/afpscope", "toy", *words)
    assert done.returncode == 3, done.stderr
    run = json.loads((tmp_path / "saved/run.json").read_text())
    assert run["complete"] is False and [p["complete"] for p in run["phases"]] == [False]
    assert [c["ops"] for c in run["phases"][0]["commands"]] == [2]
    assert "broke off" in done.stdout and "remove it by hand" in done.stderr
    assert len(list(ground.iterdir())) == 1


def test_a_kind_of_store_is_two_files(scratch: Scratch, tmp_path: Path) -> None:
    """In memory, chosen by a prefix: for many clients that never wait, and verified for one."""
    assert len(scratch.touched["add_store"]) == 2
    saved = tmp_path / "load"
    done = scratch.run(
        "load", "toy:here", "-n", "3", "-m", "office", "-d", "1", "--ramp", "0", "-o", str(saved)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    run = json.loads((saved / "run.json").read_text())
    assert run["options"]["directory"] == "toy:here" and run["options"]["direct"] == "no"
    assert run["complete"] and run["phases"][0]["metrics"]["errors"] == 0
    counted = {c["name"]: c["ops"] for c in run["phases"][0]["commands"]}
    assert counted["toy_rename"] == 2 * counted["toy_flush"] > 0
    errors = {c["name"] for c in run["phases"][0]["commands"] if c["errors"]}
    assert errors <= {"toy_list"}  # which has an end
    assert not [w for w in run["warnings"] if w["key"] == "left"]

    saved = tmp_path / "speed"
    done = scratch.call(
        "build/afpscope", "speedtest", "-L", "-P", "toy:", "-d", "3M", "-f", "Write,Read,Copy",
        "-n", "2", "--verify", "-o", str(saved),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    run = json.loads((saved / "run.json").read_text())
    assert [p["complete"] for p in run["phases"]] == [True] * 3

    # any other word is what it was
    (tmp_path / "ground").mkdir()
    done = scratch.call(
        "build/afpscope", "load", str(tmp_path / "ground"), "-n", "2", "-d", "1", "--no-save"
    )
    assert done.returncode == 0 and list((tmp_path / "ground").iterdir()) == []
    assert scratch.call("build/afpscope", "load", "joy:here").returncode == 2


def test_a_metric_is_two_files_and_one_for_a_screen(scratch: Scratch, tmp_path: Path) -> None:
    """Two of them, of either direction: in every output, and judged, with nothing else touched."""
    touched = scratch.touched["add_metrics"]
    screen = "user/report/screen/screen_tests.c"
    assert touched == {"user/run/run.h", "client/load/load.c", screen}  # and docs/data-model.md
    (tmp_path / "ground").mkdir()
    first = scratch.call(
        "env", "TOY=321", "build/afpscope", "toy", "-L", "-D", "-P", str(tmp_path / "ground"),
        "-n", "2", "--no-save",
    ).stdout.splitlines()  # fmt: skip
    at = next(i for i, line in enumerate(first) if "joys" in line)
    assert [line.split()[-1] for line in first[at : at + 3]] == ["joys", "321", "321"], first
    runs: dict[str, list[str]] = {"a": [], "b": []}
    for i, (_, side) in enumerate(order(8)):
        value = (400 if side == "a" else 600) + i
        folder = tmp_path / f"{i:02}{side}"
        done = scratch.call(
            "env", f"TOY={value}", "build/afpscope", "speedtest", "-L", "-D", "-P",
            str(tmp_path / "ground"), "-d", "4K", "-f", "Write", "-n", "2", "-v", "-o", str(folder),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        runs[side].append(str(folder))
    lines = done.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("Other metrics"))
    head, row = " ".join(lines[at + 1 : at + 3]).split(), lines[at + 3].split()
    assert {"toy", "joy"} <= set(head) and row[-2:] == [f"{value}.0ms"] * 2
    run = json.loads((folder / "run.json").read_text())
    for key, better in METRICS.items():
        says = {"key": key, "unit": "ms", "better": better, "title": f"{key} time"}
        assert says | {"meaning": f"of a {key}"} in run["metrics"]
        assert run["phases"][0]["metrics"][key] == 2 * value
    text = scratch.analysis("info", folder).stdout
    assert text.split()[-4:] == [f"{2 * value:,}", "ms"] * 2
    told = scratch.analysis("query", folder, "select toy, joy from phases", "--json").stdout
    assert json.loads(told) == {"toy": 2 * value, "joy": 2 * value}
    made = scratch.analysis("report", folder, "-o", tmp_path / "toy.html")
    assert made.returncode == 0, made.stderr
    page = (tmp_path / "toy.html").read_text()
    heads = re.findall(r"<th[^>]*>([^<]*)</th>", page)
    assert heads.index("joy time") == heads.index("toy time") + 1
    assert f"<td>{value}.0 ms</td>" in page
    sides = [*runs["a"], "--", *runs["b"]]
    found = json.loads(scratch.analysis("compare", "--json", *sides).stdout)
    assert {(r["figure"], r["unit"], r["verdict"]) for r in found["metrics"]} == {
        ("toy", "ms", "worse"), ("joy", "ms", "better"),
    }  # fmt: skip
    gated = scratch.analysis("gate", "--time", "5%", *sides)
    assert gated.returncode == 3, gated.stderr
    assert ": toy: " in gated.stdout and "joy" not in gated.stdout
