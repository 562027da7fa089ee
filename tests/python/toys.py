# SPDX-License-Identifier: GPL-2.0-or-later
"""The texts of the toys that test_toys.py adds to a copy of the tree."""

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
# Requests and replies of 8 bytes: what is wanted, a byte 0, an id of 2, the result of 4.
DECODER = """
#ifndef AFS_DECODE_TOY_H
#define AFS_DECODE_TOY_H

#include "bpf/cursor.h"
#include "bpf/request.h"

#define TOY_LEN 8

static __always_inline void toy_frame(struct afs_stripe *stripe, struct afs_thread *t,
		struct afs_stream *s, int way, __u64 begin_ns, __u64 end_ns)
{
	struct afs_flow *f = way == TO_SERVER ? &s->flow[TO_SERVER] : &s->flow[FROM_SERVER];
	__u16 id = f->head[2] << 8 | f->head[3];
	const struct afs_queued q = { .id = id, .account = f->head[0], .bytes = TOY_LEN, .n = 1 };

	if (way == TO_SERVER) {
		request_read(stripe, t, s, &q, begin_ns);
		return;
	}
	f->result = be32(f->head + 4);
	f->bytes = TOY_LEN;
	reply_begin(stripe, t, s, f, id, end_ns);
	if (f->answers)
		reply_end(stripe, t, s, id, end_ns);
}

static __always_inline bool toy_step(struct afs_stripe *stripe, struct afs_thread *t,
		struct afs_stream *s, int way, __u64 begin_ns, __u64 end_ns)
{
	struct afs_flow *f = way == TO_SERVER ? &s->flow[TO_SERVER] : &s->flow[FROM_SERVER];
	__u32 have = f->have & (TOY_LEN - 1), n = TOY_LEN - have;
	struct afs_cursor *c = &f->cursor;

	if (!c->left && !next_piece(c)) {
		lose(f);
		return false;
	}
	n = (n < c->left ? n : c->left) & (2 * TOY_LEN - 1);
	if (bpf_probe_read_user(f->head + have, n, (void *)c->at)) {
		lose(f);
		return false;
	}
	advance(c, n);
	f->have = have + n;
	if (f->have < TOY_LEN)
		return c->total;
	f->have = f->lost = 0;
	f->frames++;
	toy_frame(stripe, t, s, way, begin_ns, end_ns);
	return c->total;
}

#endif
"""
WANTED = {1: 250, 2: 130}  # of each of two clients; the odd ones fail
SERVER = """
import socket

with socket.create_server(("127.0.0.1", 0)) as listening:
    print(listening.getsockname()[1], flush=True)
    while True:
        client, data = listening.accept()[0], b""
        while got := client.recv(100):
            data += got
            replies = b""
            while len(data) >= 8:
                replies += data[:4] + (data[0] % 2).to_bytes(4, "big")
                data = data[8:]
            if replies:
                client.sendall(replies[:3])
                client.sendall(replies[3:])
        client.close()
"""
CLIENT = f"""
import socket, sys, itertools

wanted = [what for what, n in {WANTED}.items() for _ in range(n)]
sent = b"".join(bytes([what, 0, i // 256, i % 256]) + bytes(4) for i, what in enumerate(wanted))
for _ in range(2):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
        at, left = 0, len(sent)
        for n in itertools.cycle((1, 70, 8, 13)):
            server.sendall(sent[at:at + n])
            at += n
            if at >= len(sent):
                break
        while left:
            left -= len(server.recv(left))
"""
COMMAND = """
#include "app/cmd.h"

#include <stdio.h>

int cmd_joy(int argc, char **argv)
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
#include "work/toy/toy.h"

#include "work/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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
	const char *same = getenv("TOY_NAME");
	struct store_op op;
	char name[32];
	int r = load_phase_begin(l, test, 1, title[test - 1], e);

	for (unsigned int i = 0; i < n && !r; i++) {
		snprintf(name, sizeof(name), same ? same : "file %u", i);
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
#include "drive/workload.h"
#include "work/toy/toy.h"

struct toy_cfg {
	struct workload_cfg w;
	unsigned int files;
};

const struct opt toy_options[] = {
	{ .letter = 'n', .name = "files", .arg = "N", .type = OPT_UINT,
		.offset = offsetof(struct toy_cfg, files), .min = 1, .max = 10000,
		.help = "files (default: 100)" },
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

	return toy_run(&w->load, cfg->files, w->s.left->base[0], e);
}

static const struct job_type toy_job = {
	.command = "toy",
	.options = toy_options,
	.target = workload_take_target,
};

static const struct workload_type toy = {
	.name = "toy",
	.set = "toy-1",
	.job = &toy_job,
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

FIGURE = """
static void look_toy(struct measure *m)
{
	const char *toy = getenv("TOY");

	if (toy)
		run_figure_set(m->out, RUN_FIGURE_TOY, strtod(toy, NULL));
}

void measure_answers(struct measure *m)
{
	look_toy(m);
"""
RULE = """	{
		.key = "broken-toy", .name = "broken toys", .kind = DOCTOR_FAILS,
		TESTS(LEAST(TOY, 0.5)), HARM(TOY, 0.5),
		EVIDENCE(F(TOY), F(RATE)),
		.says = "of the toys {toy} are broken",
		.todo = "mend them",
		.disproof = "they work",
		.next = "ls toys",
	},
"""
# A command with a run of its own: what it prints, keeps and shows.
BOX_COMMAND = """
#include "app/cmd.h"
#include "app/output.h"
#include "app/runs.h"
#include "report/report.h"
#include "run/run.h"

#include <errno.h>
#include <stdio.h>

struct box_cfg {
	unsigned int toys, verbose;
	struct runs_cfg runs;
};

#define OFFSET(m) offsetof(struct box_cfg, m)
const struct opt box_options[] = {
	{ .letter = 'n', .name = "toys", .arg = "N", .type = OPT_UINT, .offset = OFFSET(toys),
		.max = 9, .help = "toys in the box" },
	{ .letter = 'v', .name = "verbose", .type = OPT_COUNT, .offset = OFFSET(verbose),
		.help = "all" },
	RUNS_OPTIONS(struct box_cfg, runs),
	{ .type = OPT_END },
};

static enum outcome box_all(const struct box_cfg *cfg, struct run *run)
{
	const struct report_opts opts = output_terminal();
	struct run_phase *p = run_phase(run, 1, 1, "box");
	struct runs_folder folder = { 0 };
	struct err e = { 0 };
	int r = p ? runs_open(&folder, &cfg->runs, false, run, &e) : -ENOMEM;

	if (r)
		return runs_refused(r);
	run->about = RUN_ABOUT_BOX;
	run->n_toys = cfg->toys;
	run->complete = p->complete = true;
	if (!runs_json_only(&cfg->runs))
		r = cfg->verbose ? report_own(run, &opts, stdout) :
			report_screen(run, &opts, stdout);
	r = (int)runs_save(&folder, &cfg->runs, run, stderr, r ? OUTCOME_FAILED : OUTCOME_OK);
	runs_close(&folder);
	return (enum outcome)r;
}

int cmd_box(int argc, char **argv)
{
	struct box_cfg cfg = { 0 };
	struct err e = { 0 };
	struct run run;
	int r = opt_parse(box_options, &cfg, argc, argv, NULL, &e);

	r = r ? r : runs_check(&cfg.runs, &e);
	if (r)
		return cmd_usage_error("box", &e);
	if (run_init(&run, "box", "box-1"))
		return OUTCOME_FAILED;
	r = (int)box_all(&cfg, &run);
	run_fini(&run);
	return r;
}
"""
BOX_REPORT = """
#include "report/about.h"
#include "report/section.h"

static const struct section_column columns[] = { { .head = "toy" }, { .head = "wheels" } };

static const struct section_type box_section = {
	.key = "box",
	.title = "In the box",
	SECTION_OF(columns),
};

static int paint_box(const struct paint *p)
{
	struct section s;

	section_open(&s, p, &box_section);
	for (uint64_t i = 1; i <= p->view.run->n_toys; i++) {
		struct cell *cell = section_row(&s)->cell;

		cell[0] = cell_count(i);
		cell[1] = cell_count(4 * i);
	}
	return section_close(&s);
}

static int screen_box(struct paint *p, size_t lines)
{
	(void)lines;
	return paint_box(p);
}

const struct report_about report_about_box = { .screen = screen_box, .own = paint_box };
"""
BOX_PAGE = r""".TH AFPSCOPE\-BOX 1
.SH NAME
afpscope\-box \- toys
.SH OPTIONS
@OPTIONS box@
"""
