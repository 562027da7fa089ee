/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_BPF_RUNG_RIG_H
#define TESTS_BPF_RUNG_RIG_H

/* A child process under the BPF rung without a watch around it, to load the programs as wished. */

#include "watched.h"

#include "watch/bpf/load.h"

struct rung_rig {
	struct watched x;
	struct bpf_rung *rung;
	struct ledger before, diff;
};

/* t: what else is watched of it. */
static inline void rig_open(struct rung_rig *g, const struct bpf_load_wish *wish, struct target t,
			    void (*fn)(struct watched_shared *s))
{
	struct err e = {};

	memset(g, 0, sizeof(*g));
	watched_start(&g->x, fn);
	t.server = g->x.pid;
	target_look(&t);
	if (bpf_rung_open(&g->rung, wish, &e) || bpf_rung_look(g->rung, &t, 0, &e))
		fail_msg("%s", e.text);
	assert_true(bpf_rung_settle(g->rung, WATCH_SETTLE_NS));
	assert_int_equal(bpf_rung_read(g->rung, false, &g->before), 0);
}

/* Slots are collected by one tick and free after the next. */
static inline void rig_tick(const struct rung_rig *g)
{
	for (int i = 0; i < 2; i++)
		bpf_rung_tick(g->rung);
}

/* Ends the watch: g->diff, and the run with the books, which must agree. */
static inline void rig_read(struct rung_rig *g, struct run *r)
{
	struct ledger after;

	assert_true(bpf_rung_settle(g->rung, WATCH_SETTLE_NS));
	assert_int_equal(bpf_rung_read(g->rung, false, &after), 0);
	assert_int_equal(ledger_diff(&g->diff, &after, &g->before), 0);
	ledger_fini(&after);
	ledger_fini(&g->before);
	assert_int_equal(run_init(r, "test", "test"), 0);
	bpf_rung_stop(g->rung);
	assert_int_equal(bpf_rung_finish(g->rung, r), 0);
	for (size_t i = 0; i < r->n_books; i++)
		if (!r->book[i].closed)
			fail_msg("%s: %llu, %llu", r->book[i].name,
				 (unsigned long long)r->book[i].ours,
				 (unsigned long long)r->book[i].theirs);
}

static inline void rig_close(struct rung_rig *g, struct run *r)
{
	run_fini(r);
	ledger_fini(&g->diff);
	bpf_rung_free(g->rung);
	kill(g->x.pid, SIGKILL);
	waitpid(g->x.pid, NULL, 0);
	munmap(g->x.shared, sizeof(*g->x.shared));
}

/* Lets the child run its function once. */
static inline void rig_step(const struct rung_rig *g)
{
	watched_go(&g->x);
}

static inline uint64_t loss_of(const struct run *r, const char *what)
{
	for (size_t i = 0; i < r->n_losses; i++)
		if (!strcmp(r->loss[i].what, what))
			return r->loss[i].n;
	fail_msg("no loss \"%s\"", what);
	return 0;
}

#endif
