/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_VIEW_H
#define REPORT_VIEW_H

/*
 * A run grouped by test, for every kind of output. A value is known only if it is known in every
 * complete phase of the test.
 */

#include "run/run.h"

struct view_test {
	unsigned int test;
	const char *title;
	size_t n_started, n_complete; /* phases */
	struct ledger ledger;         /* sum of the complete phases */
};

struct view {
	const struct run *run; /* borrowed */
	size_t n;
	struct view_test *test; /* by number */
	struct ledger all;      /* sum of all complete phases */
};

struct value {
	bool known;
	double mean, stddev; /* over phases; stddev 0 with fewer than two */
};

/* 0 or -ENOMEM (then nothing is to be freed). */
int view_init(struct view *out, const struct run *r);
void view_fini(struct view *v);

/* The name of a role's processes: of a database server that serves as CNID server, its program's.
 */
const char *view_role_name(const struct run *r, unsigned int role);

/* A metric, over the phases of a test. */
struct value view_metric(const struct view *v, const struct view_test *t, enum metric m);
/* a / b, phase by phase; not known if b is 0. */
struct value view_ratio(const struct view *v, const struct view_test *t, enum metric a,
			enum metric b);
/* Sum over the phases of a test, as .mean. */
struct value view_sum(const struct view *v, const struct view_test *t, enum metric m);
/* Decimal MB/s: bytes of all phases over their time. */
struct value view_mb_s(const struct view *v, const struct view_test *t);

/* Whether the calls of this role were counted in the complete phases of the test. */
bool view_has_calls(const struct view_test *t, unsigned int role);

#endif
