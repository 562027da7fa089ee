/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups the run by test. */
#include "report/view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* The entry of this test, made in its place at the first use. There is room. */
static struct view_test *test_of(struct view *v, const struct run_phase *p)
{
	size_t i = v->n;

	for (size_t k = 0; k < v->n; k++) {
		if (v->test[k].test == p->test)
			return &v->test[k];
	}
	for (; i && v->test[i - 1].test > p->test; i--)
		v->test[i] = v->test[i - 1];
	v->n++;
	v->test[i] = (struct view_test) { .test = p->test, .title = p->title };
	return &v->test[i];
}

int view_init(struct view *out, const struct run *r)
{
	*out = (struct view) { .run = r };
	out->test = calloc(r->n_phases + 1, sizeof(*out->test));
	if (!out->test)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_phases; i++) {
		struct view_test *t = test_of(out, r->phase[i]);

		t->n_started++;
		if (!r->phase[i]->complete)
			continue;
		t->n_complete++;
		if (ledger_add(&t->ledger, &r->phase[i]->ledger) ||
		    ledger_add(&out->all, &r->phase[i]->ledger)) {
			view_fini(out);
			return -ENOMEM;
		}
	}
	return 0;
}

void view_fini(struct view *v)
{
	for (size_t i = 0; i < v->n; i++)
		ledger_fini(&v->test[i].ledger);
	ledger_fini(&v->all);
	free(v->test);
	*v = (struct view) { 0 };
}

struct value view_metric(const struct view *v, const struct view_test *t, enum metric m)
{
	struct run_stat s = run_stat(v->run, t->test, m);

	return (struct value) { s.n && s.n == t->n_complete, s.mean, s.stddev };
}

struct value view_sum(const struct view *v, const struct view_test *t, enum metric m)
{
	struct value x = view_metric(v, t, m);

	return (struct value) { .known = x.known, .mean = x.mean * (double)t->n_complete };
}

/* a / b of the i-th phase when it is a complete one of the test. */
static bool phase_ratio(const struct view *v, const struct view_test *t, size_t i,
			const enum metric ab[2], double *out)
{
	const struct run_phase *p = v->run->phase[i];

	if (!p->complete || p->test != t->test || !p->known[ab[0]] || !p->known[ab[1]] ||
	    !p->value[ab[1]])
		return false;
	*out = (double)p->value[ab[0]] / (double)p->value[ab[1]];
	return true;
}

struct value view_ratio(const struct view *v, const struct view_test *t, enum metric a,
			enum metric b)
{
	const enum metric ab[2] = { a, b };
	struct value x = { 0 };
	double squares = 0, one;
	size_t n = 0;

	for (size_t i = 0; i < v->run->n_phases; i++) {
		if (!phase_ratio(v, t, i, ab, &one))
			continue;
		n++;
		x.mean += one;
	}
	x.known = n && n == t->n_complete;
	if (!x.known)
		return x;
	x.mean /= (double)n;
	for (size_t i = 0; i < v->run->n_phases; i++) {
		if (phase_ratio(v, t, i, ab, &one))
			squares += (one - x.mean) * (one - x.mean);
	}
	if (n > 1)
		x.stddev = sqrt(squares / (double)(n - 1));
	return x;
}

struct value view_mb_s(const struct view *v, const struct view_test *t)
{
	struct value bytes = view_sum(v, t, METRIC_BYTES), ns = view_sum(v, t, METRIC_ELAPSED);

	if (!bytes.known || !ns.known || ns.mean <= 0)
		return (struct value) { 0 };
	return (struct value) { .known = true, .mean = bytes.mean * 1e3 / ns.mean };
}

bool view_has_calls(const struct view_test *t, unsigned int role)
{
	if (!t->n_complete || !t->ledger.has_calls)
		return false;
	return t->ledger.has_compat[role] ||
	       ledger_sum(&t->ledger, role, AFS_N_CLASSES, AFS_N_OBJECTS).calls;
}

const char *view_role_name(const struct run *r, unsigned int role)
{
	const char *program = role == AFS_ROLE_BACKEND
				  ? run_note_find(&r->server, RUN_BACKEND_PROGRAM)
				  : NULL;

	return program ? program : run_role_name(r, role);
}
