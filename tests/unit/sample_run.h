/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_SAMPLE_RUN_H
#define TESTS_UNIT_SAMPLE_RUN_H

/*
 * A synthetic run of lantest for the tests of its outputs: two iterations of twelve tests, every
 * number known. The golden files were worked out from the table below by another program.
 */

#include "base/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_TESTS 12

static const struct sample {
	const char *title;
	uint64_t ops, us[2], bytes, afpd_r[2], afpd_w[2], cnid_r[2], cnid_w[2];
} samples[N_TESTS] = {
	{ "Open, stat and read 512 bytes from 1000 files [8,000 AFP ops]",
	  8000,
	  { 185240, 160130 },
	  512000,
	  { 9000, 9000 },
	  { 7000, 7000 },
	  { 0, 0 },
	  { 0, 0 } },
	{ "Writing one large file [103 AFP ops]",
	  101,
	  { 46020, 68890 },
	  104854000,
	  { 101, 101 },
	  { 301, 301 },
	  { 0, 0 },
	  { 0, 1 } },
	{ "Reading one large file [102 AFP ops]",
	  101,
	  { 53470, 60080 },
	  104854800,
	  { 235, 237 },
	  { 134, 136 },
	  { 0, 0 },
	  { 0, 0 } },
	{ "Locking/Unlocking 10000 times each [20,000 AFP ops]",
	  20000,
	  { 364300, 360500 },
	  0,
	  { 20000, 20000 },
	  { 20000, 20000 },
	  { 0, 0 },
	  { 0, 0 } },
	{ "Creating dir with 2000 files [4,000 AFP ops]",
	  4000,
	  { 2177600, 2377200 },
	  0,
	  { 4000, 4000 },
	  { 6000, 6000 },
	  { 4, 7 },
	  { 4143, 4134 } },
	{ "Enumerate dir with 2000 files [~51 AFP ops]",
	  49,
	  { 8110, 8530 },
	  0,
	  { 49, 49 },
	  { 49, 49 },
	  { 0, 0 },
	  { 0, 0 } },
	{ "Deleting dir with 2000 files [2,000 AFP ops]",
	  2000,
	  { 568400, 517900 },
	  0,
	  { 2000, 2000 },
	  { 8000, 8000 },
	  { 2, 4 },
	  { 6098, 6177 } },
	{ "Create directory tree with 1000 dirs [1,110 AFP ops]",
	  1110,
	  { 811300, 978200 },
	  0,
	  { 1110, 1110 },
	  { 3330, 3330 },
	  { 4, 2 },
	  { 2345, 2264 } },
	{ "Directory cache hits (100 dirs + 1000 files) [11,000 AFP ops]",
	  11000,
	  { 224700, 211100 },
	  0,
	  { 11000, 11000 },
	  { 11000, 11000 },
	  { 0, 0 },
	  { 0, 0 } },
	{ "Mixed cache operations (create/stat/enum/delete) [820 AFP ops]",
	  820,
	  { 318400, 288300 },
	  0,
	  { 820, 820 },
	  { 1620, 1620 },
	  { 0, 2 },
	  { 1000, 1041 } },
	{ "Deep path traversal (nested directory navigation) [3,500 AFP ops]",
	  3500,
	  { 87200, 83300 },
	  0,
	  { 3500, 3500 },
	  { 3500, 3500 },
	  { 0, 0 },
	  { 0, 0 } },
	{ "Cache validation efficiency (metadata changes) [30,000 AFP ops]",
	  30000,
	  { 589900, 615600 },
	  0,
	  { 30000, 30000 },
	  { 30000, 30000 },
	  { 0, 0 },
	  { 0, 0 } },
};

/* What every command, file read and reply costs in the synthetic server. */
static const struct {
	uint8_t role, class, object;
	unsigned int per_op, ns;
} costs[] = {
	{ AFS_ROLE_AFPD, AFS_CLASS_READ, AFS_OBJECT_PIPE, 1, 310 },
	{ AFS_ROLE_AFPD, AFS_CLASS_WRITE, AFS_OBJECT_CLIENT, 0, 4100 },
	{ AFS_ROLE_AFPD, AFS_CLASS_RECV, AFS_OBJECT_CLIENT, 1, 1900 },
	{ AFS_ROLE_AFPD, AFS_CLASS_SENDFILE, AFS_OBJECT_DATA, 0, 5200 },
	{ AFS_ROLE_AFPD, AFS_CLASS_STAT, AFS_OBJECT_NONE, 3, 720 },
	{ AFS_ROLE_AFPD, AFS_CLASS_WAIT, AFS_OBJECT_CLIENT, 1, 21000 },
	{ AFS_ROLE_CNID, AFS_CLASS_READ, AFS_OBJECT_CNIDDB, 0, 900 },
	{ AFS_ROLE_CNID, AFS_CLASS_WRITE, AFS_OBJECT_SOCKET, 0, 2600 },
	{ AFS_ROLE_CNID, AFS_CLASS_LOCK, AFS_OBJECT_CNIDDB, 2, 330 },
};

static uint64_t calls_of(const struct sample *s, size_t cost, unsigned int i)
{
	if (costs[cost].role == AFS_ROLE_CNID && !s->cnid_w[i])
		return 0;
	if (costs[cost].per_op)
		return s->ops * costs[cost].per_op;
	if (costs[cost].class == AFS_CLASS_SENDFILE)
		return s->afpd_r[i] - s->ops;
	if (costs[cost].role == AFS_ROLE_CNID)
		return costs[cost].class == AFS_CLASS_READ ? s->cnid_r[i] : s->cnid_w[i];
	return s->afpd_w[i] - (s->afpd_r[i] - s->ops);
}

static void add_ledger(struct run_phase *p, const struct sample *s, unsigned int i)
{
	size_t n = sizeof(costs) / sizeof(costs[0]);
	struct ledger part = { .has_calls = true, .n_rows = 1 }, *l = &p->ledger;

	part.has_compat[AFS_ROLE_AFPD] = part.has_compat[AFS_ROLE_CNID] = true;
	part.row = calloc(1, sizeof(*part.row));
	for (size_t k = 0; k < n; k++) {
		uint64_t calls = calls_of(s, k, i);

		*part.row = (struct ledger_row) { costs[k].role,
						  costs[k].class,
						  costs[k].object,
						  { .calls = calls, .ns = calls * costs[k].ns } };
		part.row->cell.hist[20] = calls;
		assert_int_equal(ledger_add(l, &part), 0);
	}
	l->compat[AFS_ROLE_AFPD] = (struct afs_compat) { s->afpd_r[i], s->afpd_w[i], 0, 0 };
	l->compat[AFS_ROLE_CNID] = (struct afs_compat) { s->cnid_r[i], s->cnid_w[i], 0, 0 };
	ledger_fini(&part);
	run_phase_from_ledger(p);
}

static void add_phase(struct run *r, unsigned int test, unsigned int i)
{
	static const struct {
		uint8_t code;
		const char *name;
	} names[] = { { 26, "FPOpenFork" }, { 34, "FPGetFileDirParms" }, { 4, "FPCloseFork" } };
	const struct sample *s = &samples[test - 1];
	struct run_phase *p = run_phase(r, test, i + 1, s->title);

	p->complete = true;
	p->start_ns = 1000000000ull * test;
	run_set(p, METRIC_ELAPSED, s->us[i] * 1000);
	run_set(p, METRIC_OPS, s->ops);
	run_set(p, METRIC_ERRORS, 0);
	run_set(p, METRIC_BYTES, s->bytes);
	for (uint64_t k = 0; k < s->ops; k++) {
		struct run_command *c = run_command(p, names[k % 3].code, names[k % 3].name);

		hist_add(&c->latency, s->us[i] * 1000 / s->ops + k * k % 977 * (k % 3 + 1) * 20);
	}
	add_ledger(p, s, i);
}

static void make_run(struct run *r, unsigned int iterations)
{
	assert_int_equal(run_init(r, "lantest", "lantest-4.5"), 0);
	strcpy(r->id, "00112233445566ff");
	strcpy(r->started, "2025-03-01T12:00:00Z");
	r->complete = true;
	for (unsigned int i = 0; i < iterations; i++) {
		for (unsigned int test = 1; test <= N_TESTS; test++)
			add_phase(r, test, i);
	}
	run_note(&r->server, "name", "nas, netatalk 4.5.1");
	run_note(&r->server, "address", "192.0.2.7:548");
	run_note(&r->rungs, "calls", "bpf tp_btf (highest of the ladder)");
	run_loss(r, "call records", 0);
	run_book(r, "afpd 4711 syscr", "/proc/PID/io", 163629, 163629);
	run_book(r, "afpd 4711 syscw", "/proc/PID/io", 181874, 181874);
}

static int setup(void **state)
{
	struct run *r = calloc(1, sizeof(*r));

	make_run(r, 2);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	run_fini(*state);
	free(*state);
	return 0;
}

#endif
