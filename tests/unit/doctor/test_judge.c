/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests user/doctor/judge.c, user/doctor/rules/rules.c, rules_server.c, rules_machine.c,
 * rules_storage.c, rules_clients.c, rules_rx.c, rules_gluster.c, rules_stops.c: what holds of every
 * rule.
 */
#include "doctor/judge.h"
#include "unit/rules_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static bool is_in(const struct doctor_rule *const *list, size_t n, const struct doctor_rule *r)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == r)
			return true;
	return false;
}

static bool is_said(const struct doctor_rule *const *list, size_t n, const struct doctor_rule *r)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i]->key, r->key))
			return true;
	return false;
}

/* Each key once, though several rules may have it. */
static void all_are_ruled_out(const struct diagnosis *d, const struct run_figures *f)
{
	for (size_t i = 0; i < doctor_rules_count(f); i++) {
		size_t said = 0;

		for (size_t k = 0; k < d->n_out; k++)
			said += !strcmp(d->out[k]->key, doctor_rule_at(f, i)->key);
		assert_int_equal(said, 1);
	}
}

static void a_healthy_server_has_neither_finding_nor_note(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct run_figures f = healthy(kinds[k]);
		struct diagnosis d = judged(&f);

		assert_int_equal(d.verdict, DOCTOR_HEALTHY);
		all_are_ruled_out(&d, &f);
		assert_int_equal(d.n_notes + d.n_found + d.n_half + d.n_unseen, 0);
		diagnosis_fini(&d);
	}
}

static void what_was_lost_rules_nothing_out_and_nothing_is_sure(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct run_figures f = healthy(kinds[k]);
		struct diagnosis d;

		run_figure_set(&f, RUN_FIGURE_UNCOUNTED, 1);
		d = judged(&f);
		assert_int_equal(d.verdict, DOCTOR_LOST);
		assert_int_equal(d.n_out + d.n_found, 0);
		assert_true(d.n_unseen > 5);
		diagnosis_fini(&d);
		run_figure_set(&f, RUN_FIGURE_BUSY, 0);
		d = judged(&f);
		assert_int_equal(d.verdict, DOCTOR_LOST);
		diagnosis_fini(&d);
	}
}

static void a_cause_is_not_sure_where_something_was_lost(void **state)
{
	struct run_figures f = healthy(&kind_afp.is);
	struct diagnosis d;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_LOG, 0.9);
	run_figure_set(&f, RUN_FIGURE_LOG_CALLS, 10);
	d = judged(&f);
	assert_true(d.n_found == 1 && d.found[0].sure);
	diagnosis_fini(&d);
	run_figure_set(&f, RUN_FIGURE_UNCOUNTED, 1);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_FOUND);
	assert_true(d.n_found == 1 && !d.found[0].sure);
	diagnosis_fini(&d);
}

static void is_named(struct run_figures *f, const struct doctor_rule *r)
{
	struct diagnosis d = judged(f);

	if (r->kind == DOCTOR_NOTE) {
		assert_true(is_in(d.note, d.n_notes, r));
	} else {
		assert_int_equal(d.verdict, r->whom ? DOCTOR_SLOW : DOCTOR_FOUND);
		assert_non_null(found(&d, r));
	}
	diagnosis_fini(&d);
}

static void each_rule_is_named_at_its_limits(void **state)
{
	(void)state;
	each(is_named);
}

static void needs_each_condition(struct run_figures *f, const struct doctor_rule *r)
{
	for (size_t k = 0; k < r->n_tests; k++) {
		const struct doctor_test *t = &r->test[k];
		struct run_figures less = *f;
		struct diagnosis d;

		run_figure_set(&less, t->figure, t->most ? t->limit * 1.01 : t->limit * 0.99);
		d = judged(&less);
		assert_null(found(&d, r));
		assert_false(is_in(d.note, d.n_notes, r));
		diagnosis_fini(&d);
	}
}

static void no_rule_is_named_below_any_of_its_limits(void **state)
{
	(void)state;
	each(needs_each_condition);
}

/* The resource is in that state, and nobody waits for it. */
static void needs_harm(struct run_figures *f, const struct doctor_rule *r)
{
	struct diagnosis d;

	if (r->harm == N_RUN_FIGURES || !(r->least > 0) || is_tested(r, r->harm))
		return;
	run_figure_set(f, r->harm, r->least * 0.99);
	d = judged(f);
	assert_null(found(&d, r));
	assert_int_equal(is_in(d.note, d.n_notes, r), r->fact != NULL);
	diagnosis_fini(&d);
}

static void what_harms_nobody_is_no_finding(void **state)
{
	(void)state;
	each(needs_harm);
}

static void needs_notice(struct run_figures *f, const struct doctor_rule *r)
{
	struct diagnosis d;

	run_figure_set(f, RUN_FIGURE_SLOW, 0.01);
	run_figure_set(f, RUN_FIGURE_P99, 20e6);
	d = judged(f);
	assert_int_equal(!found(&d, r), r->kind == DOCTOR_WAIT || r->kind == DOCTOR_NOTE);
	/* It holds: it is not ruled out. */
	if (r->kind == DOCTOR_WAIT && !r->whom)
		assert_true(is_in(d.note, d.n_notes, r) && doctor_would_harm(f, r));
	diagnosis_fini(&d);
}

static void waits_that_nobody_notices_are_no_finding(void **state)
{
	(void)state;
	each(needs_notice);
}

/* What holds requests back is a cause before people notice, if it adds enough to each; not sure. */
static void adds_enough(struct run_figures *f, const struct doctor_rule *r)
{
	double mean_ns = r->worth_ns / fmax(r->least, 1e-3);
	const struct doctor_finding *is;
	struct diagnosis d;

	if (!(r->worth_ns > 0))
		return;
	run_figure_set(f, RUN_FIGURE_SLOW, 0.01);
	run_figure_set(f, RUN_FIGURE_P99, 20e6);
	run_figure_set(f, RUN_FIGURE_BUSY, 0.5);
	run_figure_set(f, RUN_FIGURE_RATE, 0.5e9 / (mean_ns * 0.99));
	d = judged(f);
	assert_null(found(&d, r));
	diagnosis_fini(&d);
	run_figure_set(f, RUN_FIGURE_RATE, 0.5e9 / (mean_ns * 1.01));
	d = judged(f);
	is = found(&d, r);
	assert_non_null(is);
	assert_true(is->small && !is->sure);
	diagnosis_fini(&d);
}

static void what_adds_enough_to_each_request_is_a_cause(void **state)
{
	(void)state;
	each(adds_enough);
}

/* Whether users wait for it or not, what is not measured is never a cause. */
static void needs_its_resource(struct run_figures *f, const struct doctor_rule *r)
{
	/* A rule with least 0 needs no harm: that requests wait for it is not shown. */
	bool harm = r->harm < N_RUN_FIGURES && r->harm != r->test[0].figure && r->least > 0;
	struct diagnosis d;

	f->known[r->test[0].figure] = false;
	d = judged(f);
	assert_null(found(&d, r));
	assert_false(is_in(d.note, d.n_notes, r));
	assert_false(is_in(d.out, d.n_out, r));
	/* Another rule of its key may stand for it. */
	assert_int_equal(is_said(d.half, d.n_half, r), harm);
	if (r->harm == N_RUN_FIGURES || r->least > 0)
		assert_int_equal(is_said(d.unseen, d.n_unseen, r), !harm);
	diagnosis_fini(&d);
}

static void a_figure_that_is_missing_is_said(void **state)
{
	(void)state;
	each(needs_its_resource);
}

/* 0.55 against log, and how many of them then explain about as much. */
static size_t rivals_with_log(struct run_figures *f, double log)
{
	struct diagnosis d;
	size_t n;

	run_figure_set(f, RUN_FIGURE_LOG, log);
	d = judged(f);
	n = doctor_rivals(&d);
	diagnosis_fini(&d);
	return n;
}

static void causes_that_explain_as_much_are_not_told_apart(void **state)
{
	struct run_figures f = healthy(&kind_afp.is);
	struct diagnosis d = judged(&f);

	(void)state;
	assert_int_equal(doctor_rivals(&d), 0);
	diagnosis_fini(&d);
	run_figure_set(&f, RUN_FIGURE_LOG_CALLS, 5);
	assert_int_equal(rivals_with_log(&f, 0.6), 1);
	run_figure_set(&f, RUN_FIGURE_META, 0.55);
	run_figure_set(&f, RUN_FIGURE_META_CALLS, 5);
	assert_int_equal(rivals_with_log(&f, 0.55), 2);
	/* One of them is sure, the other only likely. */
	assert_int_equal(rivals_with_log(&f, 0.45), 1);
	/* Of half as much own time neither is sure. */
	run_figure_set(&f, RUN_FIGURE_OWN, 0.5);
	assert_int_equal(rivals_with_log(&f, 0.45), 2);
	assert_int_equal(rivals_with_log(&f, 0.36), 1);
	/* What fails is not of the same kind as what makes users wait. */
	run_figure_set(&f, RUN_FIGURE_CRASHED, 2);
	run_figure_set(&f, RUN_FIGURE_CRASHED_SHARE, 0.25);
	assert_int_equal(rivals_with_log(&f, 0.55), 1);
}

static void lists_a_lot(struct run_figures *f, double asked_time)
{
	*f = healthy(&kind_afp.is);
	run_figure_set(f, RUN_FIGURE_P99, 300e6);
	run_figure_set(f, RUN_FIGURE_LIST, 1);
	run_figure_set(f, RUN_FIGURE_LIST_REQUESTS, 20);
	run_figure_set(f, RUN_FIGURE_LIST_TIME, 400e6);
	run_figure_set(f, RUN_FIGURE_ASKED, 50000);
	run_figure_set(f, RUN_FIGURE_ASKED_AGAIN, 0.9);
	run_figure_set(f, RUN_FIGURE_ASKED_TIME, asked_time);
}

/* What takes long in a list may be the questions that a larger cache had saved. */
static void a_cache_that_is_too_small_comes_before_the_folders_that_it_lists(void **state)
{
	struct run_figures f;
	struct diagnosis d;

	(void)state;
	lists_a_lot(&f, 0.57);
	assert_int_equal(doctor_judge(&d, &f), 0);
	assert_string_equal(d.found[0].rule->key, "dircache");
	for (size_t i = 0; i < d.n_found; i++)
		assert_string_not_equal(d.found[i].rule->key, "huge-folder");
	diagnosis_fini(&d);
	lists_a_lot(&f, 0.05);
	assert_int_equal(doctor_judge(&d, &f), 0);
	assert_string_equal(d.found[0].rule->key, "huge-folder");
	assert_true(d.found[0].sure);
	diagnosis_fini(&d);
	/* Not known, as in a load's own verdict: nothing is sure. */
	f.known[RUN_FIGURE_ASKED_TIME] = false;
	assert_int_equal(doctor_judge(&d, &f), 0);
	assert_string_equal(d.found[0].rule->key, "huge-folder");
	assert_false(d.found[0].sure);
	diagnosis_fini(&d);
}

/* Whatever part of the lists are such questions, and however few they are. */
static void slow_lists_have_a_cause_at_every_dose(void **state)
{
	static const double asked[] = { 1, 20, 500, 999, 1000, 1001, 50000 };

	(void)state;
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		for (int percent = 0; percent <= 100; percent++) {
			struct run_figures f;
			struct diagnosis d;
			size_t n = 0;

			lists_a_lot(&f, percent / 100.0);
			run_figure_set(&f, RUN_FIGURE_ASKED, asked[i]);
			d = judged(&f);
			for (size_t k = 0; k < d.n_found; k++) {
				n += !strcmp(d.found[k].rule->key, "huge-folder") ||
				     !strcmp(d.found[k].rule->key, "dircache");
				assert_false(d.found[k].sure && percent > 10 && asked[i] < 1000);
			}
			assert_true(n == 1 || (n == 2 && percent <= 10));
			diagnosis_fini(&d);
		}
}

static void the_largest_share_comes_first(void **state)
{
	struct run_figures f = healthy(&kind_afp.is);
	struct diagnosis d;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_LOG, 0.3);
	run_figure_set(&f, RUN_FIGURE_LOG_CALLS, 5);
	run_figure_set(&f, RUN_FIGURE_META, 0.55);
	run_figure_set(&f, RUN_FIGURE_META_CALLS, 5);
	d = judged(&f);
	assert_int_equal(d.n_found, 2);
	assert_string_equal(d.found[0].rule->key, "appledouble");
	assert_true(d.found[0].sure);
	assert_string_equal(d.found[1].rule->key, "log");
	assert_false(d.found[1].sure);
	diagnosis_fini(&d);
	/* Of half as much own time it explains half as much. */
	run_figure_set(&f, RUN_FIGURE_OWN, 0.5);
	d = judged(&f);
	assert_false(d.found[0].sure);
	assert_true(d.found[0].weight > 0.27 && d.found[0].weight < 0.28);
	/* What fails comes before what makes users wait. */
	run_figure_set(&f, RUN_FIGURE_CRASHED, 2);
	run_figure_set(&f, RUN_FIGURE_CRASHED_SHARE, 0.1);
	diagnosis_fini(&d);
	d = judged(&f);
	assert_string_equal(d.found[0].rule->key, "crash");
	diagnosis_fini(&d);
}

static bool has(const struct doctor_rule *const *rule, size_t n, const char *key)
{
	while (n && strcmp(rule[n - 1]->key, key) != 0)
		n--;
	return n > 0;
}

static void too_little_is_no_verdict(void **state)
{
	struct run_figures f = healthy(&kind_afp.is);
	struct diagnosis d;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_REQUESTS, DOCTOR_REQUESTS - 1);
	run_figure_set(&f, RUN_FIGURE_P99, 300e6);
	run_figure_set(&f, RUN_FIGURE_WAIT_DISK, 0.9);
	run_figure_set(&f, RUN_FIGURE_DEVICE_BUSY, 0.9);
	run_figure_set(&f, RUN_FIGURE_DEVICE_TIME, 50e6);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_TOO_FEW);
	/* What the few of them waited for is not ruled out. */
	assert_true(has(d.unseen, d.n_unseen, "slow-disk") && has(d.open, d.n_open, "slow-disk"));
	assert_false(has(d.out, d.n_out, "slow-disk"));
	assert_true(has(d.out, d.n_out, "fsync"));
	diagnosis_fini(&d);
	/* Where requests were not counted, it does not help to watch for longer. */
	run_figure_set(&f, RUN_FIGURE_UNCOUNTED, 5000);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_LOST);
	diagnosis_fini(&d);
	run_figure_set(&f, RUN_FIGURE_UNCOUNTED, 0);
	/* A hang has few requests. */
	run_figure_set(&f, RUN_FIGURE_OLDEST, 1.2e9);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_FOUND);
	assert_string_equal(d.found[0].rule->key, "slow-disk");
	assert_false(d.found[0].sure);
	diagnosis_fini(&d);
	run_figure_set(&f, RUN_FIGURE_OLDEST, 5e9);
	d = judged(&f);
	assert_true(d.found[0].sure);
	diagnosis_fini(&d);
	run_figure_set(&f, RUN_FIGURE_WAIT_DISK, 0);
	f.known[RUN_FIGURE_REQUESTS] = false;
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_UNSEEN);
	diagnosis_fini(&d);
}

/* Its calls cannot be decoded: whatever the figures say. */
static void of_a_32_bit_server_nothing_is_concluded(void **state)
{
	struct run_figures f = healthy(&kind_afp.is);
	struct diagnosis d;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_P99, 300e6);
	run_figure_set(&f, RUN_FIGURE_LOCK, 0.9);
	run_figure_set(&f, RUN_FIGURE_PROGRAM_32BIT, 1);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_UNSEEN);
	assert_int_equal(d.n_found + d.n_notes, 0);
	diagnosis_fini(&d);
}

static void slow_for_no_known_cause_is_a_verdict(void **state)
{
	struct run_figures f = healthy(&kind_afp.is);
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
	f = healthy(&kind_afp.is);
	run_figure_set(&f, RUN_FIGURE_P50, 60e6);
	run_figure_set(&f, RUN_FIGURE_P99, 61e6);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_SLOW);
	diagnosis_fini(&d);
	/* One slow request is not enough for it. */
	f = healthy(&kind_afp.is);
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 5);
	run_figure_set(&f, RUN_FIGURE_SLOW, 1);
	run_figure_set(&f, RUN_FIGURE_P99, 3e9);
	run_figure_set(&f, RUN_FIGURE_SLOW_N, 1);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_TOO_FEW);
	diagnosis_fini(&d);
}

/* Files on a disk that is not busy: the wait is said, and no disk is blamed for it. */
static void a_wait_without_its_resource_blames_nothing(void **state)
{
	struct run_figures f = healthy(&kind_afp.is);
	struct diagnosis d;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_P99, 300e6);
	run_figure_set(&f, RUN_FIGURE_WAIT_DISK, 0.95);
	run_figure_set(&f, RUN_FIGURE_OPEN, 0.9);
	run_figure_set(&f, RUN_FIGURE_REREAD, 5e6); /* of other programs */
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_SLOW);
	assert_int_equal(d.n_found, 0);
	diagnosis_fini(&d);
}

/* One of them finds it: the other neither rules it out nor has it as a note. */
static void what_one_rule_finds_no_other_of_its_key_says(void **state)
{
	static const double harm[] = { 1, 0.01 };

	(void)state;
	for (size_t i = 0; i < sizeof(harm) / sizeof(harm[0]); i++) {
		struct run_figures f = healthy(&kind_afp.is);
		struct diagnosis d;

		run_figure_set(&f, RUN_FIGURE_CNID_DOWN, harm[i] < 1 ? 2 : 1);
		run_figure_set(&f, RUN_FIGURE_CNID_HARM, harm[i]);
		d = judged(&f);
		assert_int_equal(d.n_found, 1);
		assert_string_equal(d.found[0].rule->key, "cnid-dead");
		assert_int_equal(d.n_notes, 0);
		for (size_t k = 0; k < d.n_out; k++)
			assert_string_not_equal(d.out[k]->key, "cnid-dead");
		diagnosis_fini(&d);
	}
}

/* Requests are few and fast; their replies take long to the client. */
static void a_slow_way_is_noticed_by_its_replies(void **state)
{
	struct run_figures f = healthy(&kind_afp.is);
	struct diagnosis d;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 27);
	run_figure_set(&f, RUN_FIGURE_BUSY, 0.001);
	run_figure_set(&f, RUN_FIGURE_ELAPSED, 5e9);
	run_figure_set(&f, RUN_FIGURE_NET_WAIT, 0.99);
	run_figure_set(&f, RUN_FIGURE_WAIT_CPU, 0.99);
	run_figure_set(&f, RUN_FIGURE_THROTTLED, 1);
	run_figure_set(&f, RUN_FIGURE_LINK, 0.98);
	run_figure_set(&f, RUN_FIGURE_LINK_RATE, 0.48e6);
	run_figure_set(&f, RUN_FIGURE_LINK_UNSENT, 72000);
	run_figure_set(&f, RUN_FIGURE_LINK_REPLY, 182e6);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_FOUND);
	assert_int_equal(d.n_found, 1);
	assert_string_equal(d.found[0].rule->key, "slow-link");
	assert_false(d.found[0].sure);
	diagnosis_fini(&d);
	run_figure_set(&f, RUN_FIGURE_LINK_REPLY, 50e6);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_TOO_FEW);
	diagnosis_fini(&d);
	run_figure_set(&f, RUN_FIGURE_LINK_REPLY, 182e6);
	run_figure_set(&f, RUN_FIGURE_LINK, 0.15);
	d = judged(&f);
	assert_int_equal(d.verdict, DOCTOR_TOO_FEW);
	diagnosis_fini(&d);
}

static void who_comes_after_why(void **state)
{
	struct run_figures f = healthy(&kind_afp.is);
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

/* A line of text for people, in the table or out of it. */
static void has_its_texts(struct run_figures *f, const struct doctor_rule *r)
{
	(void)f;
	assert_true(r->key && r->name && r->n_tests);
	if (r->kind == DOCTOR_NOTE)
		assert_true(r->fact && !r->says && r->harm == N_RUN_FIGURES);
	else
		assert_true(r->says && r->todo && r->disproof && r->next && r->n_evidence);
	assert_true(!r->fact || r->harm < N_RUN_FIGURES || r->kind == DOCTOR_NOTE);
}

static void each_rule_has_its_texts(void **state)
{
	(void)state;
	each(has_its_texts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_lost_rules_nothing_out_and_nothing_is_sure),
		cmocka_unit_test(a_cause_is_not_sure_where_something_was_lost),
		cmocka_unit_test(a_healthy_server_has_neither_finding_nor_note),
		cmocka_unit_test(each_rule_has_its_texts),
		cmocka_unit_test(each_rule_is_named_at_its_limits),
		cmocka_unit_test(no_rule_is_named_below_any_of_its_limits),
		cmocka_unit_test(what_harms_nobody_is_no_finding),
		cmocka_unit_test(waits_that_nobody_notices_are_no_finding),
		cmocka_unit_test(what_adds_enough_to_each_request_is_a_cause),
		cmocka_unit_test(a_figure_that_is_missing_is_said),
		cmocka_unit_test(a_cache_that_is_too_small_comes_before_the_folders_that_it_lists),
		cmocka_unit_test(slow_lists_have_a_cause_at_every_dose),
		cmocka_unit_test(the_largest_share_comes_first),
		cmocka_unit_test(causes_that_explain_as_much_are_not_told_apart),
		cmocka_unit_test(too_little_is_no_verdict),
		cmocka_unit_test(of_a_32_bit_server_nothing_is_concluded),
		cmocka_unit_test(slow_for_no_known_cause_is_a_verdict),
		cmocka_unit_test(a_wait_without_its_resource_blames_nothing),
		cmocka_unit_test(what_one_rule_finds_no_other_of_its_key_says),
		cmocka_unit_test(a_slow_way_is_noticed_by_its_replies),
		cmocka_unit_test(who_comes_after_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
