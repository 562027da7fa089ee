/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests user/doctor/judge.c, say.c: whatever figure a command does not see, no verdict says that
 * nothing is wrong where the cause may be just that. It walks all rules, and all figures that each
 * needs: a new rule is in it, and so is a command that looks at less.
 */
#include "doctor/judge.h"
#include "doctor/say.h"
#include "unit/rules_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static bool has_rule(const struct doctor_rule *const *list, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i]->key, key))
			return true;
	return false;
}

static bool key_found(const struct diagnosis *d, const char *key)
{
	for (size_t i = 0; i < d->n_found; i++)
		if (!strcmp(d->found[i].rule->key, key))
			return true;
	return false;
}

/* Nobody notices that requests are slow; what holds them back makes each longer by as much as is a
 * cause. */
static void unnoticed(struct run_figures *f, const struct doctor_rule *r)
{
	double mean_ns = r->worth_ns / fmax(r->least, 1e-3);

	run_figure_set(f, RUN_FIGURE_SLOW, 0.01);
	run_figure_set(f, RUN_FIGURE_P99, 20e6);
	run_figure_set(f, RUN_FIGURE_BUSY, 0.5);
	if (r->worth_ns > 0)
		run_figure_set(f, RUN_FIGURE_RATE, 0.5e9 / (mean_ns * 1.01));
}

/* It is found by these figures, and would be by more of them; it is not known by those of a few. */
static void is_not_denied(const struct run_figures *f, const struct doctor_rule *r)
{
	struct diagnosis d = judged(f);
	char text[1024];

	doctor_verdict(text, sizeof(text), f, &d);
	if (d.verdict == DOCTOR_HEALTHY || d.verdict == DOCTOR_IDLE)
		fail_msg("%s may be, but: %s", r->key, text);
	assert_false(has_rule(d.out, d.n_out, r->key));
	if (!(key_found(&d, r->key) || has_rule(d.open, d.n_open, r->key)))
		fail_msg("%s: verdict %d", r->key, d.verdict);
	/* The verdict has its name, unless it has that of a finding. */
	if (!d.n_found && d.n_open < 5)
		assert_non_null(strstr(text, r->name));
	diagnosis_fini(&d);
}

/* A server over Rx is judged by disks only where it has files (FILE_SYSTEMS). */
static bool is_among(const struct run_figures *f, const struct doctor_rule *r)
{
	const struct doctor_rule *is;

	for (size_t i = 0; (is = doctor_rule_at(f, i)); i++)
		if (is == r)
			return true;
	return false;
}

static void miss_one(const struct run_figures *f, const struct doctor_rule *r, enum run_figure one)
{
	struct run_figures less = *f;

	less.known[one] = false;
	if (is_among(&less, r))
		is_not_denied(&less, r);
}

static void misses(struct run_figures *f, const struct doctor_rule *r)
{
	struct run_figures none;

	if (r->within)
		run_figure_set(f, r->within, 1);
	none = *f;
	for (size_t i = 0; i < r->n_tests; i++) {
		miss_one(f, r, r->test[i].figure);
		none.known[r->test[i].figure] = false;
	}
	if (r->harm < N_RUN_FIGURES) {
		none.known[r->harm] = false;
		/* Such a rule is found by its resource; only what it explains is not known then. */
		if (is_tested(r, r->harm))
			miss_one(f, r, r->harm);
	}
	if (r->within)
		none.known[r->within] = false;
	none.known[RUN_FIGURE_FILE_SYSTEMS] = f->known[RUN_FIGURE_FILE_SYSTEMS] &&
					      run_kind_judged(f->kind) == RUN_JUDGED_CALLS;
	is_not_denied(&none, r);
}

static bool says_a_cause(const struct doctor_rule *r)
{
	return r->kind != DOCTOR_NOTE && !r->whom;
}

static void misses_what_people_notice(struct run_figures *f, const struct doctor_rule *r)
{
	if (says_a_cause(r))
		misses(f, r);
}

static void misses_what_nobody_notices(struct run_figures *f, const struct doctor_rule *r)
{
	if (!says_a_cause(r) || (r->kind == DOCTOR_WAIT && !(r->worth_ns > 0)))
		return;
	unnoticed(f, r);
	misses(f, r);
}

static void no_cause_is_denied_whose_figure_is_missing(void **state)
{
	(void)state;
	each(misses_what_people_notice);
	each(misses_what_nobody_notices);
}

/* Where a figure speaks against it the others need not be known. */
static void is_ruled_out_by_one(struct run_figures *f, const struct doctor_rule *r)
{
	for (size_t k = 0; says_a_cause(r) && k < r->n_tests; k++) {
		const struct doctor_test *t = &r->test[k];
		struct run_figures less = *f;
		struct diagnosis d;

		for (size_t i = 0; i < r->n_tests; i++)
			less.known[r->test[i].figure] = false;
		run_figure_set(&less, t->figure, t->most ? t->limit * 1.01 : t->limit * 0.99);
		d = judged(&less);
		for (size_t i = 0; i < d.n_open; i++)
			assert_ptr_not_equal(d.open[i], r);
		diagnosis_fini(&d);
	}
}

static void one_figure_that_speaks_against_it_rules_a_cause_out(void **state)
{
	(void)state;
	each(is_ruled_out_by_one);
}

/* How long requests waited for a quota is not known, as where its cgroup cannot be read. */
static void a_harm_that_is_not_measured_is_at_most_what_it_is_part_of(void **state)
{
	struct run_figures f = healthy(&kind_afp.is);
	struct diagnosis d;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_THROTTLED, 0.9);
	f.known[RUN_FIGURE_QUOTA_WAIT] = false;
	run_figure_set(&f, RUN_FIGURE_WAIT_CPU, 0.001);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_HEALTHY);
	assert_int_equal(d.n_open, 0);
	diagnosis_fini(&d);
	run_figure_set(&f, RUN_FIGURE_WAIT_CPU, 0.25);
	run_figure_set(&f, RUN_FIGURE_P99, 300e6);
	d = judged(&f);
	assert_true(has_rule(d.open, d.n_open, "cpu-limit"));
	diagnosis_fini(&d);
}

/* What sessions asked before the watch, as of a server at work. */
static void one_cause_that_is_not_seen_is_named(void **state)
{
	struct run_figures f = healthy(&kind_afp.is);
	char text[1024];
	struct diagnosis d;

	(void)state;
	f.known[RUN_FIGURE_ASKED_AGAIN] = f.known[RUN_FIGURE_ASKED_TIME] = false;
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_PARTLY);
	assert_int_equal(d.n_open, 1);
	doctor_verdict(text, sizeof(text), &f, &d);
	assert_ptr_equal(
	    strstr(text, "Nothing wrong was seen with the server: 10,000 requests took "), text);
	assert_non_null(strstr(text, " Whether something else is wrong cannot be told: directory "
				     "cache too small could not be seen."));
	diagnosis_fini(&d);
	/* Nor is it an idle one. */
	run_figure_set(&f, RUN_FIGURE_BUSY, 0.001);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_PARTLY);
	diagnosis_fini(&d);
}

static void of_many_that_may_be_the_first_are_named(void **state)
{
	struct run_figures f = healthy(&kind_afp.is);
	struct diagnosis d;
	char text[1024];

	(void)state;
	f.known[RUN_FIGURE_SERVER_ENDED] = f.known[RUN_FIGURE_SERVER_RESTARTED] = false;
	f.known[RUN_FIGURE_UNACCEPTED] = f.known[RUN_FIGURE_UNACCEPTED_SHARE] = false;
	f.known[RUN_FIGURE_CRASHED] = f.known[RUN_FIGURE_CRASHED_SHARE] = false;
	f.known[RUN_FIGURE_KILLED] = f.known[RUN_FIGURE_KILLED_SHARE] = false;
	f.known[RUN_FIGURE_REFUSED] = f.known[RUN_FIGURE_REFUSED_SHARE] = false;
	d = judged(&f);
	assert_int_equal(d.n_open, 6);
	doctor_verdict(text, sizeof(text), &f, &d);
	assert_non_null(strstr(text,
			       "server that ended, server that restarted, server that accepts "
			       "no connections, sessions that crash and 2 more could not be "
			       "seen."));
	diagnosis_fini(&d);
	/* Where requests are slow the verdict has them, too. */
	run_figure_set(&f, RUN_FIGURE_P99, 300e6);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_SLOW);
	doctor_verdict(text, sizeof(text), &f, &d);
	assert_non_null(strstr(text, "no cause is shown, but server that ended, "));
	diagnosis_fini(&d);
	f = healthy(&kind_afp.is);
	run_figure_set(&f, RUN_FIGURE_P99, 300e6);
	d = judged(&f);
	doctor_verdict(text, sizeof(text), &f, &d);
	assert_non_null(strstr(text, "Requests are slow, and no cause is shown: "));
	diagnosis_fini(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_cause_is_denied_whose_figure_is_missing),
		cmocka_unit_test(one_figure_that_speaks_against_it_rules_a_cause_out),
		cmocka_unit_test(a_harm_that_is_not_measured_is_at_most_what_it_is_part_of),
		cmocka_unit_test(one_cause_that_is_not_seen_is_named),
		cmocka_unit_test(of_many_that_may_be_the_first_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
