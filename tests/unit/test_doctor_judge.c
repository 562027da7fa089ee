/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests user/doctor/judge.c, rules.c, rules_rx.c: that each rule can be found. */
#include "doctor/judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A server at work with which nothing is wrong: every figure is known. */
static struct run_figures healthy(void)
{
	struct run_figures f = { 0 };

	for (size_t i = 0; i < N_RUN_FIGURES; i++)
		run_figure_set(&f, (enum run_figure)i, 0);
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 10000);
	run_figure_set(&f, RUN_FIGURE_BUSY, 0.5);
	run_figure_set(&f, RUN_FIGURE_P99, 2e6);
	run_figure_set(&f, RUN_FIGURE_ROOM, 0.5);
	return f;
}

static struct diagnosis judged(const struct run_figures *f)
{
	struct diagnosis d;

	assert_int_equal(doctor_judge(&d, f), 0);
	return d;
}

static void a_healthy_server_has_no_finding(void **state)
{
	struct run_figures f = healthy();
	struct diagnosis d = judged(&f);

	(void)state;
	assert_int_equal(d.verdict, DOCTOR_HEALTHY);
	assert_int_equal(d.n_out, doctor_rules_afp.n);
	diagnosis_fini(&d);
}

/* Of all kinds of servers. */
static size_t n_rules(void)
{
	return doctor_rules_afp.n + doctor_rules_rx.n;
}

static const struct doctor_rule *rule_at(size_t i)
{
	return i < doctor_rules_afp.n ? &doctor_rules_afp.rule[i]
				      : &doctor_rules_rx.rule[i - doctor_rules_afp.n];
}

static bool is_of_rx(const struct doctor_rule *r)
{
	for (size_t i = 0; i < doctor_rules_rx.n; i++)
		if (r == &doctor_rules_rx.rule[i])
			return true;
	return false;
}

/* Its conditions just hold. */
static struct run_figures with(const struct doctor_rule *r)
{
	struct run_figures f = healthy();

	strcpy(f.kind, is_of_rx(r) ? "rx" : "afp");
	run_figure_set(&f, RUN_FIGURE_SLOW, 0.5);
	run_figure_set(&f, RUN_FIGURE_P99, 300e6);
	for (size_t i = 0; i < r->n_tests; i++)
		if (!i || !r->test[i].most)
			run_figure_set(&f, r->test[i].figure, r->test[i].limit);
	return f;
}

static const struct doctor_finding *found(const struct diagnosis *d, const struct doctor_rule *r)
{
	for (size_t i = 0; i < d->n_found; i++)
		if (d->found[i].rule == r)
			return &d->found[i];
	return NULL;
}

static void each_rule_is_found_at_its_limits(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_rules(); i++) {
		struct run_figures f = with(rule_at(i));
		struct diagnosis d = judged(&f);

		assert_int_equal(d.verdict, rule_at(i)->whom ? DOCTOR_SLOW : DOCTOR_FOUND);
		assert_non_null(found(&d, rule_at(i)));
		diagnosis_fini(&d);
	}
}

static void no_rule_is_found_below_any_of_its_limits(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_rules(); i++)
		for (size_t k = 0; k < rule_at(i)->n_tests; k++) {
			const struct doctor_test *t = &rule_at(i)->test[k];
			struct run_figures f = with(rule_at(i));
			struct diagnosis d;

			run_figure_set(&f, t->figure, t->most ? t->limit * 1.01 : t->limit * 0.99);
			d = judged(&f);
			assert_null(found(&d, rule_at(i)));
			diagnosis_fini(&d);
		}
}

static void waits_that_nobody_notices_are_no_finding(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_rules(); i++) {
		struct run_figures f = with(rule_at(i));
		struct diagnosis d;

		run_figure_set(&f, RUN_FIGURE_SLOW, 0.01);
		run_figure_set(&f, RUN_FIGURE_P99, 20e6);
		d = judged(&f);
		assert_int_equal(!found(&d, rule_at(i)), rule_at(i)->kind == DOCTOR_WAIT);
		diagnosis_fini(&d);
	}
}

static void a_figure_that_is_missing_is_said(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_rules(); i++) {
		struct run_figures f = with(rule_at(i));
		struct diagnosis d;

		f.known[rule_at(i)->test[0].figure] = false;
		d = judged(&f);
		assert_null(found(&d, rule_at(i)));
		assert_true(d.n_unseen > 0);
		diagnosis_fini(&d);
	}
}

static void the_largest_share_comes_first(void **state)
{
	struct run_figures f = healthy();
	struct diagnosis d;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_LOG, 0.3);
	run_figure_set(&f, RUN_FIGURE_LOG_CALLS, 5);
	run_figure_set(&f, RUN_FIGURE_META, 0.4);
	run_figure_set(&f, RUN_FIGURE_META_CALLS, 5);
	d = judged(&f);
	assert_int_equal(d.n_found, 2);
	assert_string_equal(d.found[0].rule->key, "appledouble");
	assert_true(d.found[0].sure);
	assert_string_equal(d.found[1].rule->key, "log");
	diagnosis_fini(&d);
}

static void too_little_is_no_verdict(void **state)
{
	struct run_figures f = healthy();
	struct diagnosis d;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_REQUESTS, DOCTOR_REQUESTS - 1);
	run_figure_set(&f, RUN_FIGURE_P99, 300e6);
	run_figure_set(&f, RUN_FIGURE_WAIT_DISK, 0.9);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_TOO_FEW);
	diagnosis_fini(&d);
	/* A hang has few requests. */
	run_figure_set(&f, RUN_FIGURE_PENDING, 5e9);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_FOUND);
	assert_false(d.found[0].sure);
	diagnosis_fini(&d);
	run_figure_set(&f, RUN_FIGURE_WAIT_DISK, 0);
	f.known[RUN_FIGURE_REQUESTS] = false;
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_UNSEEN);
	diagnosis_fini(&d);
}

static void slow_for_no_known_cause_is_a_verdict(void **state)
{
	struct run_figures f = healthy();
	struct diagnosis d;

	(void)state;
	/* Few requests that take 3 s each. */
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 5);
	run_figure_set(&f, RUN_FIGURE_SLOW_N, 5);
	run_figure_set(&f, RUN_FIGURE_SLOW, 1);
	run_figure_set(&f, RUN_FIGURE_P99, 3e9);
	run_figure_set(&f, RUN_FIGURE_OTHER, 0.99);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_SLOW);
	assert_int_equal(d.n_found, 0);
	diagnosis_fini(&d);
	/* None of 100 ms, but half of many that a person waits for. */
	f = healthy();
	run_figure_set(&f, RUN_FIGURE_P50, 60e6);
	run_figure_set(&f, RUN_FIGURE_P99, 61e6);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_SLOW);
	diagnosis_fini(&d);
	/* One slow request is not enough for it. */
	f = healthy();
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 5);
	run_figure_set(&f, RUN_FIGURE_SLOW, 1);
	run_figure_set(&f, RUN_FIGURE_P99, 3e9);
	run_figure_set(&f, RUN_FIGURE_SLOW_N, 1);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_TOO_FEW);
	diagnosis_fini(&d);
}

static void who_comes_after_why(void **state)
{
	struct run_figures f = healthy();
	struct diagnosis d;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_P99, 300e6);
	run_figure_set(&f, RUN_FIGURE_TOP_SESSION, 1);
	run_figure_set(&f, RUN_FIGURE_TOP_BUSY, 1);
	run_figure_set(&f, RUN_FIGURE_SESSIONS, 3);
	run_figure_set(&f, RUN_FIGURE_LOCK, 0.2);
	d = judged(&f);
	assert_int_equal(d.n_found, 2);
	assert_string_equal(d.found[0].rule->key, "locks");
	assert_string_equal(d.found[1].rule->key, "one-session");
	diagnosis_fini(&d);
}

static void a_finding_needs_no_count_of_requests(void **state)
{
	struct run_figures f = { 0 };
	struct diagnosis d;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_ROOM, 0.001);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_FOUND);
	assert_string_equal(d.found[0].rule->key, "disk-room");
	diagnosis_fini(&d);
}

static void an_idle_server_is_idle(void **state)
{
	struct run_figures f = healthy();
	struct diagnosis d;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_BUSY, 0.001);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_IDLE);
	diagnosis_fini(&d);
	/* Requests that the server does not come to read do not make it idle. */
	run_figure_set(&f, RUN_FIGURE_UNREAD, 6e6);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_HEALTHY);
	diagnosis_fini(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_healthy_server_has_no_finding),
		cmocka_unit_test(each_rule_is_found_at_its_limits),
		cmocka_unit_test(no_rule_is_found_below_any_of_its_limits),
		cmocka_unit_test(waits_that_nobody_notices_are_no_finding),
		cmocka_unit_test(a_figure_that_is_missing_is_said),
		cmocka_unit_test(the_largest_share_comes_first),
		cmocka_unit_test(too_little_is_no_verdict),
		cmocka_unit_test(slow_for_no_known_cause_is_a_verdict),
		cmocka_unit_test(who_comes_after_why),
		cmocka_unit_test(a_finding_needs_no_count_of_requests),
		cmocka_unit_test(an_idle_server_is_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
