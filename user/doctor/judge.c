/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "doctor/judge.h"

#include <errno.h>
#include <stdlib.h>

#define NOTICED_SLOW   0.1   /* share of request time */
#define NOTICED_P99    100e6 /* ns */
#define NOTICED_P50    30e6  /* ns */
#define NOTICED_UNREAD 20e6  /* ns, on average */
#define IDLE_BUSY      0.05  /* requests at a time */
#define IDLE_UNREAD    5e6   /* ns, on average: more is no idle server */
#define SURE           1.5   /* times the limit */
#define SURE_REQUESTS  (4 * DOCTOR_REQUESTS)
#define SLOW_REQUESTS  3 /* so many say as much as DOCTOR_REQUESTS of any length */

static bool at_least(const struct run_figures *f, enum run_figure which, double limit)
{
	return f->known[which] && f->value[which] >= limit;
}

static bool is_noticed(const struct run_figures *f)
{
	return at_least(f, RUN_FIGURE_SLOW, NOTICED_SLOW) ||
	       at_least(f, RUN_FIGURE_P99, NOTICED_P99) ||
	       at_least(f, RUN_FIGURE_P50, NOTICED_P50) ||
	       at_least(f, RUN_FIGURE_UNREAD, NOTICED_UNREAD);
}

/* A figure that must be small, too, is as good as that where it is not known. */
enum run_figure doctor_lacks(const struct run_figures *f, const struct doctor_rule *r)
{
	for (size_t i = 0; i < r->n_tests; i++)
		if (!f->known[r->test[i].figure] && (!i || !r->test[i].most))
			return r->test[i].figure;
	return N_RUN_FIGURES;
}

static bool holds(const struct run_figures *f, const struct doctor_test *t, double times)
{
	if (!f->known[t->figure])
		return t->most;
	return t->most ? f->value[t->figure] * times <= t->limit
		       : f->value[t->figure] >= t->limit * times;
}

static bool all_hold(const struct run_figures *f, const struct doctor_rule *r, double times)
{
	for (size_t i = 0; i < r->n_tests; i++)
		if (!holds(f, &r->test[i], times))
			return false;
	return true;
}

static double weight(const struct run_figures *f, const struct doctor_rule *r)
{
	if (r->weight == N_RUN_FIGURES)
		return 1;
	return f->known[r->weight] ? f->value[r->weight] : 0;
}

/* Causes first; then most weight, then as in the table. */
static int by_weight(const void *a, const void *b)
{
	const struct doctor_finding *x = a, *y = b;

	if (x->rule->whom != y->rule->whom)
		return x->rule->whom ? 1 : -1;
	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->rule > y->rule) - (x->rule < y->rule);
}

/* A verdict on how requests wait needs requests, or some that are slow. */
static bool is_enough(const struct run_figures *f)
{
	return at_least(f, RUN_FIGURE_REQUESTS, DOCTOR_REQUESTS) ||
	       at_least(f, RUN_FIGURE_SLOW_N, SLOW_REQUESTS) ||
	       at_least(f, RUN_FIGURE_PENDING, 1e9);
}

static void look(struct diagnosis *d, const struct run_figures *f, const struct doctor_rule *r,
		 bool noticed)
{
	if (doctor_lacks(f, r) != N_RUN_FIGURES) {
		d->unseen[d->n_unseen++] = r;
	} else if (!all_hold(f, r, 1) || (r->kind == DOCTOR_WAIT && !noticed)) {
		d->out[d->n_out++] = r;
	} else {
		d->found[d->n_found++] = (struct doctor_finding) {
			.rule = r,
			.weight = weight(f, r),
			.sure = all_hold(f, r, SURE) &&
				at_least(f, RUN_FIGURE_REQUESTS, SURE_REQUESTS),
		};
	}
}

/* The first finding says why, if any does. */
static bool says_why(const struct diagnosis *d)
{
	return d->n_found && !d->found[0].rule->whom;
}

static enum doctor_verdict verdict(const struct diagnosis *d, const struct run_figures *f)
{
	if (says_why(d))
		return DOCTOR_FOUND;
	if (!f->known[RUN_FIGURE_REQUESTS])
		return DOCTOR_UNSEEN;
	if (is_enough(f) && is_noticed(f))
		return DOCTOR_SLOW;
	if (d->n_found)
		return DOCTOR_FOUND;
	if (!at_least(f, RUN_FIGURE_REQUESTS, DOCTOR_REQUESTS))
		return DOCTOR_TOO_FEW;
	return at_least(f, RUN_FIGURE_BUSY, IDLE_BUSY) ||
		       at_least(f, RUN_FIGURE_UNREAD, IDLE_UNREAD)
		   ? DOCTOR_HEALTHY
		   : DOCTOR_IDLE;
}

int doctor_judge(struct diagnosis *out, const struct run_figures *f)
{
	const struct doctor_rules *rules = doctor_rules_of(f);

	*out = (struct diagnosis) { .found = calloc(rules->n, sizeof(*out->found)),
				    .out = calloc(rules->n, sizeof(*out->out)),
				    .unseen = calloc(rules->n, sizeof(*out->unseen)) };
	if (!out->found || !out->out || !out->unseen) {
		diagnosis_fini(out);
		return -ENOMEM;
	}
	for (size_t i = 0; i < rules->n; i++)
		if (rules->rule[i].kind == DOCTOR_FACT || is_enough(f))
			look(out, f, &rules->rule[i], is_noticed(f));
	qsort(out->found, out->n_found, sizeof(*out->found), by_weight);
	out->verdict = verdict(out, f);
	return 0;
}

void diagnosis_fini(struct diagnosis *d)
{
	free(d->found);
	free(d->out);
	free(d->unseen);
	*d = (struct diagnosis) { 0 };
}
