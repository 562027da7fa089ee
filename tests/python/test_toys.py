# SPDX-License-Identifier: GPL-2.0-or-later
"""What docs/contributing.md lists "to add a ..." is all it takes: toys in a copy of the tree.

Tests user/cmd/workload.c, user/report/text/metrics.c.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from afpscope.ab import order

TOP = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (TOP / "build/afpscope").exists(), reason="nothing is built: run make"),
]
KIND = """
#include "kinds/kind.h"

static int find(struct kind_found *out, const struct kind_wish *w, struct err *e)
{
	return kind_any.find(out, w, e);
}

static int describe(const struct kind_found *f, struct run *r)
{
	(void)f;
	return run_note(&r->server, "toy", "found");
}

const struct kind kind_toy = {
	.is = { .name = "toy", .role = { "toyd", "toy_db" } },
	.find = find,
	.describe = describe,
};
"""
COMMAND = """
#include "cmd/cmd.h"

#include <stdio.h>

int cmd_toy(int argc, char **argv)
{
	printf("%s has %d arguments\\n", argv[0], argc - 1);
	return 0;
}
"""
TOY_H = """
#ifndef WORK_TOY_H
#define WORK_TOY_H

#include "load/load.h"

/* Makes and deletes n files in a directory of its own, which is named in base while it exists. */
int toy_run(struct load *l, unsigned int n, char base[static 32], struct err *e);

#endif
"""
TOY_C = """
#include "work/toy.h"

#include "work/tree.h"

#include <errno.h>
#include <stdio.h>

static int ask(struct load *l, enum store_verb verb, struct store_dir dir, const char *name,
		struct store_op *op, struct err *e)
{
	int r;

	*op = (struct store_op) { .verb = verb, .dir = dir, .name = name };
	if (load_stopped(l))
		return err_set(e, -EINTR, "interrupted");
	r = load_store_call(l, op, e);
	return r || op->result == STORE_OK ? r : load_refuse(l, op, name, e);
}

static int phase(struct load *l, unsigned int test, unsigned int n, struct store_dir dir,
		struct err *e)
{
	static const char *const title[] = { "Create files", "Delete files" };
	struct store_op op;
	char name[32];
	int r = load_phase_begin(l, test, 1, title[test - 1], e);

	for (unsigned int i = 0; i < n && !r; i++) {
		snprintf(name, sizeof(name), "file %u", i);
		r = ask(l, test == 1 ? STORE_CREATE : STORE_DELETE, dir, name, &op, e);
	}
	load_phase_end(l, !r);
	return r;
}

int toy_run(struct load *l, unsigned int n, char base[static 32], struct err *e)
{
	char name[TREE_NAME_MAX + 1];
	struct store_dir dir;
	struct store_op op;
	int r;

	tree_name(name);
	r = ask(l, STORE_MKDIR, l->store->root[0], name, &op, e);
	if (r)
		return r;
	snprintf(base, 32, "%s", name);
	dir = op.made;
	load_ready(l);
	for (unsigned int test = 1; test <= 2 && !r; test++)
		r = phase(l, test, n, dir, e);
	r = r ? r : ask(l, STORE_DELETE, dir, "", &op, e);
	if (!r)
		base[0] = 0;
	return r;
}
"""
TOY_COMMAND = """
#include "cmd/workload.h"
#include "work/toy.h"

struct toy_cfg {
	struct workload_cfg w;
	unsigned int files;
};

const struct opt toy_options[] = {
	{ 'n', "files", "N", OPT_UINT, offsetof(struct toy_cfg, files), "files (default: 100)", 1,
		10000, 0, NULL, NULL },
	WORKLOAD_OPTIONS(struct toy_cfg, w),
	{ .type = OPT_END },
};

static int describe(struct workload *w)
{
	const struct toy_cfg *cfg = (const struct toy_cfg *)w->cfg;

	return run_note(&w->s.run.options, "files", "%u", cfg->files);
}

static int work(struct workload *w, struct err *e)
{
	const struct toy_cfg *cfg = (const struct toy_cfg *)w->cfg;

	return toy_run(&w->load, cfg->files, w->s.base[0], e);
}

static const struct workload_type toy = {
	.name = "toy",
	.set = "toy-1",
	.options = toy_options,
	.help = "Makes and deletes files.",
	.window = 1,
	.has_store = true,
	.describe = describe,
	.work = work,
};

int cmd_toy(int argc, char **argv)
{
	struct toy_cfg cfg = { .w = WORKLOAD_DEFAULTS, .files = 100 };

	return workload_main(&toy, &cfg.w, argc, argv);
}
"""
STORE = """
#include "base/clock.h"
#include "store/blocking.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 4096

struct node {
	bool used, is_dir;
	uint64_t parent, len;
	char name[64];
	uint8_t *data;
};

/* One tree for all stores of the program. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct node node[NODES] = { { .used = true, .is_dir = true, .name = "/" } };

static const char *const what[N_STORE_VERBS] = {
#define X(name, word) [STORE_##name] = "toy_" word,
	STORE_VERBS(X)
#undef X
};

static uint64_t find(uint64_t dir, const char *name)
{
	for (uint64_t i = 1; i < NODES; i++)
		if (node[i].used && node[i].parent == dir && !strcmp(node[i].name, name))
			return i;
	return 0;
}

static enum store_result make(struct store_op *op, bool is_dir)
{
	uint64_t i = 1;

	if (find(op->dir.id, op->name))
		return STORE_EXISTS;
	while (i < NODES && node[i].used)
		i++;
	if (i == NODES)
		return STORE_FULL;
	node[i] = (struct node) { .used = true, .is_dir = is_dir, .parent = op->dir.id };
	snprintf(node[i].name, sizeof(node[i].name), "%s", op->name);
	op->made.id = i;
	return STORE_OK;
}

static enum store_result delete(uint64_t i)
{
	for (uint64_t k = 1; k < NODES; k++)
		if (node[k].used && node[k].parent == i)
			return STORE_FAILED;
	free(node[i].data);
	node[i] = (struct node) { 0 };
	return STORE_OK;
}

static void grow(struct node *n, uint64_t len)
{
	if (len <= n->len)
		return;
	n->data = realloc(n->data, len);
	if (!n->data)
		abort();
	memset(n->data + n->len, 0, len - n->len);
	n->len = len;
}

static enum store_result move(struct store_op *op)
{
	struct node *n = &node[op->file.id];
	uint64_t left = op->offset < n->len ? n->len - op->offset : 0;

	if (op->verb == STORE_WRITE) {
		grow(n, op->offset + op->len);
		memcpy(n->data + op->offset, op->data, op->len);
		op->done = op->len;
		return STORE_OK;
	}
	op->done = left < op->len ? left : op->len;
	memcpy(op->buf, n->data + op->offset, op->done);
	return op->done < op->len ? STORE_SHORT : STORE_OK;
}

static enum store_result list(struct store_op *op)
{
	uint64_t n = 0;

	for (uint64_t i = 1; i < NODES; i++)
		n += node[i].used && node[i].parent == op->dir.id;
	op->done = op->offset < n ? n - op->offset : 0;
	return op->done ? STORE_OK : STORE_NONE;
}

static enum store_result act_on(struct store_op *op, uint64_t i)
{
	if (!i)
		return STORE_NONE;
	if (op->verb == STORE_DELETE)
		return delete(i);
	if (op->verb == STORE_LOOKUP)
		op->made.id = i;
	if (op->verb == STORE_OPEN)
		op->opened.id = i;
	if (op->verb == STORE_RENAME && find(op->to_dir.id, op->to_name))
		return STORE_EXISTS;
	if (op->verb == STORE_RENAME) {
		node[i].parent = op->to_dir.id;
		snprintf(node[i].name, sizeof(node[i].name), "%s", op->to_name);
	}
	return STORE_OK;
}

static enum store_result act(struct store_op *op)
{
	switch (op->verb) {
	case STORE_MKDIR:
	case STORE_CREATE:
		return make(op, op->verb == STORE_MKDIR);
	case STORE_READ:
	case STORE_WRITE:
		return move(op);
	case STORE_LIST:
		return list(op);
	case STORE_PROBE:
	case STORE_LOOKUP:
	case STORE_OPEN:
	case STORE_DELETE:
	case STORE_RENAME:
		return act_on(op, *op->name ? find(op->dir.id, op->name) : op->dir.id);
	case STORE_SET_LEN:
		grow(&node[op->file.id], op->len);
		node[op->file.id].len = op->len;
		return STORE_OK;
	case STORE_LENGTH:
		op->done = node[op->file.id].len;
		return STORE_OK;
	case STORE_CLOSE:
	case STORE_FLUSH:
		return STORE_OK;
	default:
		return STORE_UNKNOWN;
	}
}

static void carry_out(struct blocking *b, struct store_op *op)
{
	enum store_result r;

	(void)b;
	op->t.begun_ns = clock_now_ns();
	pthread_mutex_lock(&lock);
	r = act(op);
	pthread_mutex_unlock(&lock);
	store_answer(op, r, (int)r, "the toy says no");
	op->t.last_ns = clock_now_ns();
}

static void close_toy(struct store *s)
{
	blocking_fini((struct blocking *)s);
	free(s);
}

static const struct store_type type = BLOCKING_TYPE("toy", close_toy);

static int open_toy(struct store **out, const char *where, bool direct, struct err *e)
{
	struct blocking *b = calloc(1, sizeof(*b));

	(void)direct;
	if (!b)
		return err_set(e, -12, "out of memory for %s", where);
	blocking_init(b, &type, what, carry_out);
	*out = &b->s;
	return 0;
}

const struct store_kind store_toy_kind = { .prefix = "toy:", .open = open_toy };
"""
METRICS = {"toy": "lower", "joy": "higher"}


class Scratch:
    """A copy of the tree with what was built, and the names of the files that were touched."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.touched: set[str] = set()
        names = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard", "Makefile", "user", "client", "bpf",
             "mpi", "analysis"],
            cwd=TOP, check=True, capture_output=True, text=True,
        ).stdout.split()  # fmt: skip
        for name in (n for n in names if (TOP / n).exists()):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TOP / name, folder / name)
        for name in ("obj", "gen"):
            shutil.copytree(TOP / "build" / name, folder / "build" / name)

    def write(self, name: str, text: str) -> None:
        self.touched.add(name)
        (self.folder / name).write_text(text)

    def replace(self, name: str, old: str, new: str) -> None:
        text = (self.folder / name).read_text()
        assert text.count(old) == 1, f"{name} has {text.count(old)} x {old!r}"
        self.write(name, text.replace(old, new))

    def build(self) -> None:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
        made = subprocess.run(
            ["make", "-s", "-j2", "CFLAGS=-O0", "build/afpscope"],
            cwd=self.folder, capture_output=True, text=True, env=env, check=False,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        """The program, built anew."""
        self.build()
        return self.call(self.folder / "build/afpscope", *args)

    def call(self, *line: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            line, cwd=self.folder, capture_output=True, text=True, check=False,
            env=os.environ | {"PYTHONPATH": str(self.folder / "analysis")},
        )  # fmt: skip

    def analysis(self, *args: str | Path) -> subprocess.CompletedProcess[str]:
        """The Python package of the copy."""
        return self.call(sys.executable, "-B", "-m", "afpscope", *args)


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may watch")
def test_a_kind_of_server_is_three_files(scratch: Scratch) -> None:
    scratch.write("user/kinds/toy.c", KIND)
    scratch.replace("user/kinds/kind.c", "&kind_any }", "&kind_any, &kind_toy }")
    scratch.replace("user/kinds/kind.c", '"any", NULL', '"any", "toy", NULL')
    scratch.replace("user/kinds/kind.h", "kind_afp, kind_any;", "kind_afp, kind_any, kind_toy;")
    assert len(scratch.touched) == 3
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


def test_a_subcommand_is_three_files(scratch: Scratch) -> None:
    scratch.write("user/cmd/toy.c", COMMAND)
    scratch.replace(
        "user/cmd/cmd.h", "int cmd_check(", "int cmd_toy(int argc, char **argv);\nint cmd_check("
    )
    row = '	{ "toy", "a toy", cmd_toy, check_options },\n	{ "clean",'
    scratch.replace("user/cmd/main.c", '	{ "clean",', row)
    assert len(scratch.touched) == 3
    done = scratch.run("toy", "a", "b")
    assert (done.returncode, done.stdout) == (0, "toy has 2 arguments\n")


def add_workload(scratch: Scratch) -> None:
    scratch.write("client/work/toy.h", TOY_H)
    scratch.write("client/work/toy.c", TOY_C)
    scratch.write("user/cmd/toy.c", TOY_COMMAND)
    declared = "extern const struct opt toy_options[];\nint cmd_toy(int argc, char **argv);\n"
    scratch.replace("user/cmd/cmd.h", "int cmd_check(", declared + "int cmd_check(")
    row = '	{ "toy", "a toy", cmd_toy, toy_options },\n	{ "clean",'
    scratch.replace("user/cmd/main.c", '	{ "clean",', row)


def test_a_workload_is_five_files(scratch: Scratch, tmp_path: Path) -> None:
    add_workload(scratch)
    assert len(scratch.touched) == 5
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
    assert "*:toy" in scratch.run("--completion", "bash").stdout


def test_a_workload_may_break_off(scratch: Scratch, tmp_path: Path) -> None:
    """The second file has the name of the first: what was done is kept, and what is left told."""
    add_workload(scratch)
    scratch.replace("client/work/toy.c", '"file %u", i', '"file"')
    ground = tmp_path / "ground"
    ground.mkdir()
    done = scratch.run("toy", "-L", "-D", "-P", str(ground), "-o", str(tmp_path / "saved"))
    assert done.returncode == 3, done.stderr
    run = json.loads((tmp_path / "saved/run.json").read_text())
    assert run["complete"] is False and [p["complete"] for p in run["phases"]] == [False]
    assert [c["ops"] for c in run["phases"][0]["commands"]] == [2]
    assert "broke off" in done.stdout and "remove it by hand" in done.stderr
    assert len(list(ground.iterdir())) == 1


def test_a_kind_of_store_is_three_files(scratch: Scratch, tmp_path: Path) -> None:
    """In memory, chosen by a prefix: for many clients that never wait, and verified for one."""
    scratch.write("client/store/toy.c", STORE)
    scratch.replace("client/store/local.c", "{ &store_posix", "{ &store_toy_kind, &store_posix")
    scratch.replace(
        "client/store/store_priv.h",
        "kind store_posix_kind;",
        "kind store_posix_kind, store_toy_kind;",
    )
    assert len(scratch.touched) == 3
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


def test_a_metric_is_two_files_and_its_docs(scratch: Scratch, tmp_path: Path) -> None:
    """Two of them, of either direction: in every output, and judged, with nothing else touched."""
    rows = [f'X({key.upper()}, "{key}", "ms", "{better}", "{key} time", "of a {key}") \\\n\t'
            for key, better in METRICS.items()]  # fmt: skip
    scratch.replace("user/run/run.h", "X(OPS, ", "".join(rows) + "X(OPS, ")
    last = "	run_add(p, METRIC_OPS, l->ops);\n"
    adds = [f'	run_add(p, METRIC_{key.upper()}, strtoull(getenv("TOY"), NULL, 10));\n'
            for key in METRICS]  # fmt: skip
    scratch.replace("client/load/load.c", last, last + "".join(adds))
    scratch.replace("client/load/load.c", "<errno.h>\n", "<errno.h>\n#include <stdlib.h>\n")
    assert scratch.touched == {"user/run/run.h", "client/load/load.c"}  # and docs/data-model.md
    scratch.build()
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
    assert "<th>toy time</th><th>joy time</th>" in page and f"<td>{value} ms</td>" in page
    sides = [*runs["a"], "--", *runs["b"]]
    found = json.loads(scratch.analysis("compare", "--json", *sides).stdout)
    assert {(r["figure"], r["unit"], r["verdict"]) for r in found["metrics"]} == {
        ("toy", "ms", "worse"), ("joy", "ms", "better"),
    }  # fmt: skip
    gated = scratch.analysis("gate", "--time", "5%", *sides)
    assert gated.returncode == 3, gated.stderr
    assert ": toy: " in gated.stdout and "joy" not in gated.stdout
