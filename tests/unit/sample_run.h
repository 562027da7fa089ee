/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_SAMPLE_RUN_H
#define TESTS_UNIT_SAMPLE_RUN_H

/*
 * A synthetic run of lantest for the tests of its outputs: two iterations of twelve tests, every
 * number known. The golden files were worked out from the table below by another program. The
 * requests ledger is invented: every request of a command costs the same.
 */

#include "run/run.h"

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
	{ AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_PIPE, 1, 310 },
	{ AFS_ROLE_SERVER, AFS_CLASS_WRITE, AFS_OBJECT_CLIENT, 0, 4100 },
	{ AFS_ROLE_SERVER, AFS_CLASS_RECV, AFS_OBJECT_CLIENT, 1, 1900 },
	{ AFS_ROLE_SERVER, AFS_CLASS_SENDFILE, AFS_OBJECT_DATA, 0, 5200 },
	{ AFS_ROLE_SERVER, AFS_CLASS_STAT, AFS_OBJECT_NONE, 3, 720 },
	{ AFS_ROLE_SERVER, AFS_CLASS_WAIT, AFS_OBJECT_CLIENT, 1, 21000 },
	{ AFS_ROLE_BACKEND, AFS_CLASS_READ, AFS_OBJECT_CNIDDB, 0, 900 },
	{ AFS_ROLE_BACKEND, AFS_CLASS_WRITE, AFS_OBJECT_SOCKET, 0, 2600 },
	{ AFS_ROLE_BACKEND, AFS_CLASS_LOCK, AFS_OBJECT_CNIDDB, 2, 330 },
};

/* The commands of the synthetic run, by turns. */
static const struct {
	uint8_t code;
	const char *name;
	unsigned int ns; /* in the server, each */
} sample_commands[] = { { 26, "FPOpenFork", 100000 },
			{ 34, "FPGetFileDirParms", 40000 },
			{ 4, "FPCloseFork", 20000 } };
#define N_COMMANDS 3

/* Where the time of a request goes: ns of one. afpd's add up to sample_commands[].ns. */
static const struct {
	uint8_t role;
	uint16_t account;
	uint8_t class, object;
	unsigned int calls, cpu, blocked, runq;
} request_costs[] = {
	{ AFS_ROLE_SERVER, 26, AFS_CLASS_USER, AFS_OBJECT_NONE, 0, 9000, 0, 1000 },
	{ AFS_ROLE_SERVER, 26, AFS_CLASS_OPEN, AFS_OBJECT_NONE, 1, 8000, 12000, 0 },
	{ AFS_ROLE_SERVER, 26, AFS_CLASS_WAIT, AFS_OBJECT_BACKEND, 1, 0, 60000, 0 },
	{ AFS_ROLE_SERVER, 26, AFS_CLASS_STAT, AFS_OBJECT_NONE, 3, 6000, 0, 0 },
	{ AFS_ROLE_SERVER, 26, AFS_CLASS_WRITE, AFS_OBJECT_CLIENT, 1, 4000, 0, 0 },
	{ AFS_ROLE_SERVER, 34, AFS_CLASS_USER, AFS_OBJECT_NONE, 0, 5000, 0, 0 },
	{ AFS_ROLE_SERVER, 34, AFS_CLASS_STAT, AFS_OBJECT_NONE, 3, 25000, 0, 0 },
	{ AFS_ROLE_SERVER, 34, AFS_CLASS_WRITE, AFS_OBJECT_CLIENT, 1, 10000, 0, 0 },
	{ AFS_ROLE_SERVER, 4, AFS_CLASS_USER, AFS_OBJECT_NONE, 0, 2000, 0, 0 },
	{ AFS_ROLE_SERVER, 4, AFS_CLASS_CLOSE, AFS_OBJECT_DATA, 1, 8000, 5000, 0 },
	{ AFS_ROLE_SERVER, 4, AFS_CLASS_LOCK, AFS_OBJECT_DATA, 1, 0, 3000, 0 },
	{ AFS_ROLE_SERVER, 4, AFS_CLASS_WRITE, AFS_OBJECT_LOG, 1, 0, 1000, 0 },
	{ AFS_ROLE_SERVER, 4, AFS_CLASS_WRITE, AFS_OBJECT_CLIENT, 1, 0, 500, 0 },
	{ AFS_ROLE_SERVER, 4, AFS_CLASS_WAIT, AFS_OBJECT_NONE, 1, 0, 500, 0 },
	{ AFS_ROLE_BACKEND, 26, AFS_CLASS_USER, AFS_OBJECT_NONE, 0, 15000, 0, 5000 },
	{ AFS_ROLE_BACKEND, 26, AFS_CLASS_SYNC, AFS_OBJECT_CNIDDB, 1, 1000, 70000, 0 },
	{ AFS_ROLE_BACKEND, 26, AFS_CLASS_WRITE, AFS_OBJECT_SOCKET, 1, 2000, 0, 0 },
	/* Outside requests: of each FPGetFileDirParms, too. */
	{ AFS_ROLE_SERVER, AFS_ACCOUNT_BETWEEN, AFS_CLASS_USER, AFS_OBJECT_NONE, 0, 700, 0, 100 },
	{ AFS_ROLE_SERVER, AFS_ACCOUNT_BETWEEN, AFS_CLASS_WAIT, AFS_OBJECT_CLIENT, 1, 300, 90000,
	  0 },
	{ AFS_ROLE_SERVER, AFS_ACCOUNT_THREADS, AFS_CLASS_MEMORY, AFS_OBJECT_NONE, 2, 200, 0, 0 },
};

static const unsigned int inside_cost[AFS_N_INSIDE] = { [AFS_INSIDE_CPU] = 20000,
							[AFS_INSIDE_SYNC] = 30000,
							[AFS_INSIDE_LOCK] = 2000,
							[AFS_INSIDE_IDLE] = 8000 };

/* Requests of the k-th command among ops. */
static uint64_t requests_of(uint64_t ops, size_t k)
{
	return (ops + N_COMMANDS - 1 - k) / N_COMMANDS;
}

static void add_parts(struct ledger *l, uint64_t ops)
{
	struct ledger_part part;
	struct ledger one = { .has_calls = true,
			      .has_requests = true,
			      .has_storage = true,
			      .has_item = { true, true, true, true, true, true },
			      .has_compat = { true, true, false },
			      .n_parts = 1,
			      .part = &part };

	for (size_t i = 0; i < sizeof(request_costs) / sizeof(request_costs[0]); i++) {
		uint64_t n = requests_of(ops, 1);

		for (size_t k = 0; k < N_COMMANDS; k++)
			if (sample_commands[k].code == request_costs[i].account)
				n = requests_of(ops, k);
		part = (struct ledger_part) {
			.account = request_costs[i].account,
			.role = request_costs[i].role,
			.class = request_costs[i].class,
			.object = request_costs[i].object,
			.part = { .calls = n * request_costs[i].calls,
				  .cpu_ns = n * request_costs[i].cpu,
				  .blocked_ns = n * request_costs[i].blocked,
				  .runq_ns = n * request_costs[i].runq },
		};
		assert_int_equal(ledger_add(l, &one), 0);
	}
}

/* One FPOpenFork of a phase fails. */
static void add_requests(struct ledger *l, uint64_t ops)
{
	struct ledger_account account;
	struct ledger_result result = { 26, -5018, 1 };
	struct ledger one = { .has_calls = true,
			      .has_requests = true,
			      .has_storage = true,
			      .has_item = { true, true, true, true, true, true },
			      .has_compat = { true, true, false },
			      .n_accounts = 1,
			      .account = &account };

	for (size_t k = 0; k < N_COMMANDS; k++) {
		uint64_t n = requests_of(ops, k), ns = sample_commands[k].ns;

		account = (struct ledger_account) {
			.account = sample_commands[k].code,
			.sum = { .begun = n, .answered = n, .ns = n * ns, .errors = !k },
		};
		account.min_ns = account.max_ns = ns;
		account.sum.bytes_in = 60 * n;
		account.sum.bytes_out = 100 * n;
		account.hist[hist_index(ns, AFS_REQUEST_BITS)] = n;
		for (size_t i = 0; i < AFS_N_INSIDE && !k; i++)
			account.sum.inside[i] = n * inside_cost[i];
		one.n_results = !k;
		one.result = &result;
		assert_int_equal(ledger_add(l, &one), 0);
	}
	add_parts(l, ops);
}

static uint64_t calls_of(const struct sample *s, size_t cost, unsigned int i)
{
	if (costs[cost].role == AFS_ROLE_BACKEND && !s->cnid_w[i])
		return 0;
	if (costs[cost].per_op)
		return s->ops * costs[cost].per_op;
	if (costs[cost].class == AFS_CLASS_SENDFILE)
		return s->afpd_r[i] - s->ops;
	if (costs[cost].role == AFS_ROLE_BACKEND)
		return costs[cost].class == AFS_CLASS_READ ? s->cnid_r[i] : s->cnid_w[i];
	return s->afpd_w[i] - (s->afpd_r[i] - s->ops);
}

static void add_ledger(struct run_phase *p, const struct sample *s, unsigned int i)
{
	size_t n = sizeof(costs) / sizeof(costs[0]);
	struct ledger part = { .has_calls = true,
			       .has_requests = true,
			       .has_storage = true,
			       .has_item = { true, true, true, true, true, true },
			       .n_rows = 1 };
	struct ledger *l = &p->ledger;

	part.has_compat[AFS_ROLE_SERVER] = part.has_compat[AFS_ROLE_BACKEND] = true;
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
	l->compat[AFS_ROLE_SERVER] = (struct afs_compat) { s->afpd_r[i], s->afpd_w[i], 0, 0 };
	l->compat[AFS_ROLE_BACKEND] = (struct afs_compat) { s->cnid_r[i], s->cnid_w[i], 0, 0 };
	ledger_fini(&part);
	add_requests(l, s->ops);
	run_phase_from_ledger(p);
}

static void add_phase(struct run *r, unsigned int test, unsigned int i)
{
	const struct sample *s = &samples[test - 1];
	struct run_phase *p = run_phase(r, test, i + 1, s->title);

	p->complete = true;
	p->start_ns = 1000000000ull * test;
	run_set(p, METRIC_ELAPSED, s->us[i] * 1000);
	run_set(p, METRIC_OPS, s->ops);
	run_set(p, METRIC_ERRORS, 0);
	run_set(p, METRIC_BYTES, s->bytes);
	for (uint64_t k = 0; k < s->ops; k++) {
		struct run_command *c = run_command(p, sample_commands[k % 3].code,
						    sample_commands[k % 3].name);

		hist_add(&c->latency, s->us[i] * 1000 / s->ops + k * k % 977 * (k % 3 + 1) * 20);
	}
	add_ledger(p, s, i);
}

static inline void make_run(struct run *r, unsigned int iterations)
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
	run_note(&r->rungs, "requests", "bytes of the client's connection");
	run_loss(r, "call records", 0);
	run_book(r, "afpd 4711 syscr", "/proc/PID/io", 163629, 163629);
	run_book(r, "afpd 4711 syscw", "/proc/PID/io", 181874, 181874);
}

static void add_session(struct run *r, const char *user, const char *volume, uint64_t requests)
{
	struct run_session *s = run_session(r);

	assert_non_null(s);
	s->pid = 4700 + (pid_t)r->n_sessions;
	s->user = user ? strdup(user) : NULL;
	s->user_from = user ? "owner of its process" : NULL;
	s->address = strdup("192.0.2.9:50123");
	if (volume)
		s->volume[s->n_volumes++] = strdup(volume);
	s->volume_from = volume ? "FPOpenVol" : NULL;
	s->begun_ns = r->n_sessions > 1 ? 3500000000 : 0;
	s->ended_ns = r->n_sessions > 2 ? 4000000000 : 0;
	s->requests = requests;
	s->calls = 9 * requests;
	s->busy_ns = 50000 * requests;
	s->bytes_in = 60 * requests;
	s->bytes_out = 100 * requests;
}

/* A run that only watched: one phase that is no test, and no client of ours. */
static inline void make_record(struct run *r)
{
	struct run_phase *p;

	assert_int_equal(run_init(r, "record", NULL), 0);
	r->about = RUN_ABOUT_SERVER;
	r->complete = true;
	p = run_phase(r, 0, 1, NULL);
	assert_non_null(p);
	p->complete = true;
	p->start_ns = 1000000000;
	run_set(p, METRIC_ELAPSED, 60000000000);
	add_ledger(p, &samples[4], 0);
	add_session(r, "mori", "Projects", 1000);
	add_session(r, "bench1", "a volume with a long name", 2500);
	add_session(r, NULL, NULL, 500);
	run_note(&r->rungs, "price", "0.9 %% of one CPU, 310 ns a call");
	run_loss(r, "call records", 0);
}

static inline int setup(void **state)
{
	struct run *r = calloc(1, sizeof(*r));

	make_run(r, 2);
	*state = r;
	return 0;
}

static inline int teardown(void **state)
{
	run_fini(*state);
	free(*state);
	return 0;
}

#endif
