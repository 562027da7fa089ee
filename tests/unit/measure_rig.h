/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_MEASURE_RIG_H
#define TESTS_UNIT_MEASURE_RIG_H

/* A run with two requests, of which figures are made. */

#include "doctor/figures/measure.h"

#include "base/hist.h"
#include "run/account.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OPEN_FORK       26
#define FLUSH           11
#define ENUMERATE       9
#define LOGIN           18
#define BYTE_RANGE_LOCK 1
#define OPEN_VOLUME     24
#define WRITE           33
#define READ_EXT        60
#define SPOTLIGHT       76
#define MS              1000000u

/* One part of afpd, blocked so long in one call. */
static inline struct ledger_part part(unsigned int account, unsigned int class, unsigned int object,
				      uint64_t blocked_ns)
{
	return (struct ledger_part) { .account = (uint16_t)account,
				      .role = AFS_ROLE_SERVER,
				      .class = (uint8_t) class,
				      .object = (uint8_t)object,
				      .part = { .calls = 1, .blocked_ns = blocked_ns } };
}

/* 10 s: a request that waited 60 ms for fsync and 20 ms for the log, one of 120 ms that is not
 * answered yet. */
static inline struct run *made(void)
{
	struct run *r = calloc(1, sizeof(*r));
	struct run_phase *p;
	struct run_session *s;
	struct ledger *l;

	assert_non_null(r);
	assert_int_equal(run_init(r, "record", "record"), 0);
	p = run_phase(r, 0, 1, "recorded");
	assert_non_null(p);
	p->complete = true;
	run_set(p, METRIC_ELAPSED, 10000u * (uint64_t)MS);
	l = &p->ledger;
	l->has_calls = l->has_requests = l->filled = true;
	l->n_accounts = 2;
	l->account = calloc(2, sizeof(*l->account));
	l->n_parts = 3;
	l->part = calloc(3, sizeof(*l->part));
	l->n_results = 1;
	l->result = calloc(1, sizeof(*l->result));
	assert_true(l->account && l->part && l->result);
	l->account[0].account = FLUSH;
	l->account[0].sum = (struct afs_account) { .begun = 1, .answered = 1, .ns = 80 * MS };
	l->account[0].min_ns = l->account[0].max_ns = 80 * MS;
	l->account[0].hist[hist_index(80 * MS, AFS_REQUEST_BITS)] = 1;
	l->account[1].account = OPEN_FORK;
	l->account[1].sum = (struct afs_account) { .begun = 1 };
	l->part[0] = part(FLUSH, AFS_CLASS_SYNC, AFS_OBJECT_DATA, 60 * MS);
	l->part[1] = part(FLUSH, AFS_CLASS_WRITE, AFS_OBJECT_LOG, 20 * MS);
	l->part[2] = part(OPEN_FORK, AFS_CLASS_OPEN, AFS_OBJECT_NONE, 120 * MS);
	l->result[0] = (struct ledger_result) { .account = FLUSH, .code = -5008, .n = 3 };
	s = run_session(r);
	assert_non_null(s);
	s->requests = 2;
	s->user = strdup("anna");
	s->busy_ns = 200 * MS;
	s->begun_ns = 1;
	s->ended_ns = 5000u * (uint64_t)MS;
	return r;
}

static inline void is(const struct run_figures *f, enum run_figure which, double value)
{
	assert_true(f->known[which]);
	if (fabs(f->value[which] - value) > 1e-6 * fabs(value) + 1e-12)
		fail_msg("%s is %g, not %g", run_figures[which].key, f->value[which], value);
}

/* What the first request is instead. */
static inline struct run *of_command(unsigned int account, uint64_t answered)
{
	struct run *r = made();
	struct ledger *l = &r->phase[0]->ledger;

	l->account[0].account = (uint16_t)account;
	l->account[0].sum = (struct afs_account) { .begun = answered, .answered = answered };
	for (size_t i = 0; i < 2; i++)
		l->part[i].account = (uint16_t)account;
	l->result[0].account = (uint16_t)account;
	return r;
}

static inline void done(struct run *r)
{
	run_fini(r);
	free(r);
}

#endif
