/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each kind of limit against each kind of trouble: kept only where nothing went wrong. Tests
 * user/drive/slo.c, user/run/doubts.c.
 */
#include "drive/slo.h"
#include "run/bound.h"
#include "run/doubts.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

#define MS 1000000ull
#define S  1000000000ull

/* What is wrong with a load. */
enum trouble {
	NOTHING,
	FEW_DROPPED,
	MANY_DROPPED,
	FEW_FAILED,
	MANY_FAILED,
	MISSING,
	LOST,
	STARVED,
	SATURATED,
	PAUSED,
	N_TROUBLES
};

/* 10 clients, 10 s, 1,000 actions that took 1 to 20 ms, evenly; open: 2,000 a second offered. */
static struct run_load *made(enum trouble what, bool open)
{
	struct run_load *l = run_load_new(10, 2, 0);
	struct run_action *a = l->action;

	l->begin_ns = 5 * S;
	l->measure_ns = 6 * S;
	l->end_ns = l->done_ns = 16 * S;
	a[0].name = "look";
	a[1].name = "save";
	for (unsigned int i = 0; i < 1000; i++)
		hist_add(&a[0].planned, MS + i * 19 * MS / 999);
	a[0].n = 1000;
	for (unsigned int i = 0; i < 10; i++)
		l->client[i].opened = what != MISSING || i;
	l->n_no_room = what == FEW_DROPPED ? 2 : what == MANY_DROPPED ? 4000 : 0;
	l->n_arrivals = 1000 + l->n_no_room;
	l->rate_per_s = open ? (double)l->n_arrivals / 10 : 0;
	if (!open)
		l->n_no_room = l->n_arrivals = 0;
	a[0].failed = what == FEW_FAILED ? 2 : what == MANY_FAILED ? 500 : 0;
	a[0].n += a[0].failed;
	l->n_lost = what == LOST;
	l->starved = what == STARVED;
	l->cpu_max_ns = what == SATURATED ? 10 * S : S;
	l->n_pauses = what == PAUSED;
	l->paused_ns = l->paused_measured_ns = l->longest_pause_ns = what == PAUSED ? S : 0;
	return l;
}

static enum run_slo_verdict verdict_of(struct run_load *l, const struct run_load *probe,
				       const char *limits, char why[256])
{
	struct slos s = { 0 };
	struct err e = { 0 };
	enum run_slo_verdict worst;

	if (slo_take(&s, limits, &e))
		fail_msg("%s", e.text);
	worst = slo_judge(&s, l, probe, false);
	if (why)
		memcpy(why, l->slo[0].why, 256);
	return worst;
}

static enum run_slo_verdict of(enum trouble what, bool open, const char *limits)
{
	struct run_load *l = made(what, open);
	enum run_slo_verdict v = verdict_of(l, NULL, limits, NULL);

	run_load_free(l);
	return v;
}

/* The first of the limits, and the worst of them all. */
static void judges(enum trouble what, const char *limits, enum run_slo_verdict wanted,
		   const char *why)
{
	struct run_load *l = made(what, true);
	char text[256];
	enum run_slo_verdict v = verdict_of(l, NULL, limits, text);

	if (v != wanted || (why && !strstr(text, why)))
		fail_msg("trouble %d, %s: %d, \"%s\"", what, limits, v, text);
	run_load_free(l);
}

static void where_nothing_is_wrong_a_limit_is_kept_or_broken(void **state)
{
	(void)state;
	for (int open = 0; open < 2; open++) {
		assert_int_equal(of(NOTHING, open, "p99<=21ms"), RUN_SLO_KEPT);
		assert_int_equal(of(NOTHING, open, "p99<=19ms"), RUN_SLO_BROKEN);
		assert_int_equal(of(NOTHING, open, "mean<=11ms"), RUN_SLO_KEPT);
		assert_int_equal(of(NOTHING, open, "mean<=10ms"), RUN_SLO_BROKEN);
		assert_int_equal(of(NOTHING, open, "max<=20ms"), RUN_SLO_KEPT);
		assert_int_equal(of(NOTHING, open, "max<=19.9ms"), RUN_SLO_BROKEN);
		assert_int_equal(of(NOTHING, open, "rate>=100"), RUN_SLO_KEPT);
		assert_int_equal(of(NOTHING, open, "look.rate>=99.5"), RUN_SLO_KEPT);
		assert_int_equal(of(NOTHING, open, "failed<=0,dropped<=0"), RUN_SLO_KEPT);
		assert_int_equal(of(NOTHING, open, "save.p99<=1s"), RUN_SLO_UNSURE);
		assert_int_equal(of(NOTHING, open, "save.failed<=0"), RUN_SLO_UNSURE);
		assert_int_equal(of(NOTHING, open, "save.rate>=1"), RUN_SLO_BROKEN);
		assert_int_equal(of(NOTHING, open, "probe.max<=1s"), RUN_SLO_UNSURE);
	}
	assert_int_equal(of(NOTHING, false, "rate>=101"), RUN_SLO_BROKEN);
	/* no more was offered: the server may be able to */
	judges(NOTHING, "rate>=101", RUN_SLO_UNSURE, "the load offered only 100 actions/s");
}

static void with_any_trouble_no_limit_is_simply_kept(void **state)
{
	static const char *const limits[] = { "p99<=100s",      "mean<=100s",     "max<=100s",
					      "look.p99<=9s",   "rate>=1",        "look.rate>=1",
					      "failed<=99%",    "failed<=100000", "dropped<=99.9%",
					      "dropped<=100000" };

	(void)state;
	for (int what = NOTHING + 1; what < N_TROUBLES; what++) {
		for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
			bool of_failed = strstr(limits[i], "failed<=");
			bool of_dropped = strstr(limits[i], "dropped<=");

			/* it says itself how many may */
			if (of_failed && (what == FEW_FAILED || what == MANY_FAILED))
				continue;
			if (of_dropped && (what == FEW_DROPPED || what == MANY_DROPPED))
				continue;
			if (of((enum trouble)what, true, limits[i]) == RUN_SLO_KEPT)
				fail_msg("trouble %d: %s is kept", what, limits[i]);
			if (what > MANY_DROPPED &&
			    of((enum trouble)what, false, limits[i]) == RUN_SLO_KEPT)
				fail_msg("closed loop, trouble %d: %s is kept", what, limits[i]);
		}
	}
}

static void what_was_dropped_or_failed_is_longer_than_any_limit(void **state)
{
	(void)state;
	judges(MANY_DROPPED, "p99<=100s", RUN_SLO_BROKEN, "4000 of 5000 actions were dropped");
	judges(MANY_FAILED, "p99<=100s", RUN_SLO_BROKEN, "500 of 1500 actions failed");
	judges(MANY_FAILED, "p50<=100s", RUN_SLO_UNSURE, "500 of 1500 actions failed");
	judges(FEW_DROPPED, "p99<=100s", RUN_SLO_UNSURE,
	       "2 of 1002 actions were dropped, and no limit of dropped");
	judges(FEW_DROPPED, "max<=100s", RUN_SLO_BROKEN, "2 of 1002 actions were dropped");
	judges(FEW_FAILED, "p99<=100s", RUN_SLO_UNSURE,
	       "2 of 1002 actions failed, and no limit of failed");
	/* which kind they would have been is not known */
	judges(FEW_DROPPED, "look.max<=100s", RUN_SLO_UNSURE, NULL);
}

static void a_limit_of_failures_allows_them_in_the_others(void **state)
{
	(void)state;
	judges(FEW_FAILED, "p99<=100s,failed<=1%", RUN_SLO_KEPT, "");
	judges(FEW_FAILED, "max<=100s,failed<=2", RUN_SLO_KEPT, "");
	judges(FEW_FAILED, "rate>=99,failed<=2", RUN_SLO_KEPT, "");
	judges(FEW_FAILED, "failed<=1", RUN_SLO_BROKEN, NULL);
	judges(FEW_FAILED, "failed<=0.1%", RUN_SLO_BROKEN, NULL);
	judges(FEW_FAILED, "failed<=0.2%", RUN_SLO_KEPT, NULL);
	judges(FEW_FAILED, "p99<=100s,dropped<=0", RUN_SLO_UNSURE, "failed");
	judges(FEW_DROPPED, "max<=100s,dropped<=2", RUN_SLO_KEPT, "");
	judges(MANY_DROPPED, "p99<=100s,dropped<=80%", RUN_SLO_KEPT, "");
	judges(MANY_DROPPED, "p99<=100s,dropped<=79%", RUN_SLO_BROKEN, "");
	judges(MANY_DROPPED, "p99<=10ms,dropped<=80%", RUN_SLO_BROKEN, "");
}

static void clients_that_were_not_served_break_a_limit_of_time(void **state)
{
	(void)state;
	judges(MISSING, "p99<=100s", RUN_SLO_BROKEN, "1 of 10 clients had no session");
	judges(LOST, "mean<=100s", RUN_SLO_BROKEN, "1 of 10 sessions were lost");
	judges(STARVED, "p50<=9s", RUN_SLO_BROKEN, "1 of 10 clients completed no action");
	/* the measured time was no longer than that */
	judges(STARVED, "p50<=10s", RUN_SLO_UNSURE, "1 of 10 clients completed no action");
	judges(LOST, "rate>=1", RUN_SLO_UNSURE, "sessions were lost");
	judges(LOST, "failed<=0", RUN_SLO_UNSURE, "sessions were lost");
	/* that one limit is broken, another cannot hide */
	judges(LOST, "rate>=1,p99<=100s", RUN_SLO_BROKEN, NULL);
	judges(LOST, "p99<=100s,rate>=1", RUN_SLO_BROKEN, NULL);
}

static void a_generator_that_did_not_run_may_have_cost_sessions(void **state)
{
	struct run_load *l;

	(void)state;
	/* in minutes in which it did not run a server ends the sessions, and what they asked for */
	l = made(LOST, false);
	l->n_lost = 3;
	l->n_pauses = 1;
	l->end_ns += 180 * S;
	for (int i = 0; i < 2; i++) {
		l->paused_ns = l->paused_measured_ns = l->longest_pause_ns = i ? 180 * S : 2 * S;
		l->action[0].failed = 3;
		assert_int_equal(verdict_of(l, NULL, "p99<=1s", NULL),
				 i ? RUN_SLO_UNSURE : RUN_SLO_BROKEN);
		assert_non_null(strstr(l->slo[0].why, i ? "did not run for 180.0 s" : "3 of 10"));
		assert_int_equal(verdict_of(l, NULL, "failed<=0", NULL),
				 i ? RUN_SLO_UNSURE : RUN_SLO_BROKEN);
	}
	/* many short ones: the server heard of the sessions in between */
	l->longest_pause_ns = 2 * S;
	assert_int_equal(verdict_of(l, NULL, "p99<=1s", NULL), RUN_SLO_BROKEN);
	l->longest_pause_ns = 180 * S;
	l->client[0].opened = false;
	assert_int_equal(verdict_of(l, NULL, "p99<=1s", NULL), RUN_SLO_BROKEN);
	run_load_free(l);
	/* no session was lost: what failed was refused */
	l = made(PAUSED, false);
	l->paused_ns = l->paused_measured_ns = l->longest_pause_ns = 180 * S;
	l->end_ns += 180 * S;
	l->action[0].failed = 3;
	assert_int_equal(verdict_of(l, NULL, "failed<=0", NULL), RUN_SLO_BROKEN);
	run_load_free(l);
	/* what is left of the measured time was no longer than the limit */
	l = made(STARVED, false);
	l->n_pauses = 1;
	l->paused_ns = l->paused_measured_ns = 9500 * MS;
	assert_int_equal(verdict_of(l, NULL, "p99<=1s", NULL), RUN_SLO_UNSURE);
	/* most of it before the measured time, which was long enough */
	l->paused_measured_ns = S;
	assert_int_equal(verdict_of(l, NULL, "p99<=1s", NULL), RUN_SLO_BROKEN);
	run_load_free(l);
}

static void what_the_generator_may_have_done_is_not_the_servers(void **state)
{
	struct run_load *l;

	(void)state;
	judges(SATURATED, "p99<=1ms", RUN_SLO_UNSURE, "ran, or waited for a CPU, 91% of the time");
	judges(SATURATED, "p99<=1s", RUN_SLO_UNSURE, "ran, or waited for a CPU, 91%");
	judges(PAUSED, "mean<=1ms", RUN_SLO_UNSURE, "did not run for 1.0 s");
	assert_int_equal(of(SATURATED, false, "rate>=101"), RUN_SLO_UNSURE);
	assert_int_equal(of(SATURATED, false, "failed<=0"), RUN_SLO_UNSURE);
	/* each answer may have waited for a thread that never rests; not for one that rested once
	 */
	judges(SATURATED, "p99<=999us", RUN_SLO_UNSURE, "ran, or waited for a CPU, 91%");
	judges(SATURATED, "mean<=999us", RUN_SLO_UNSURE, "ran, or waited for a CPU, 91%");
	judges(PAUSED, "mean<=999us", RUN_SLO_BROKEN, "");
	/* in a spike only */
	l = made(NOTHING, false);
	l->busy_second_ns = S * 97 / 100;
	assert_int_equal(verdict_of(l, NULL, "p99<=1ms", NULL), RUN_SLO_UNSURE);
	assert_string_equal(
	    l->slo[0].why,
	    "a thread of the load generator ran, or waited for a CPU, 97% of a second");
	assert_int_equal(verdict_of(l, NULL, "p99<=1s", NULL), RUN_SLO_UNSURE);
	/* all others were as long */
	assert_int_equal(verdict_of(l, NULL, "p99<=999us", NULL), RUN_SLO_BROKEN);
	l->busy_second_ns = S * 89 / 100;
	assert_int_equal(verdict_of(l, NULL, "p99<=1ms", NULL), RUN_SLO_BROKEN);
	run_load_free(l);
	/* what failed did so at the server */
	l = made(SATURATED, true);
	l->action[0].failed = 1;
	assert_int_equal(verdict_of(l, NULL, "failed<=0", NULL), RUN_SLO_BROKEN);
	l->n_no_room = 1;
	assert_int_equal(verdict_of(l, NULL, "dropped<=0", NULL), RUN_SLO_UNSURE);
	run_load_free(l);
	/* the longest began late */
	l = made(NOTHING, true);
	hist_add(&l->action[0].planned, 40 * MS);
	l->action[0].n++;
	l->late_n = 1;
	l->late_max_ns = 25 * MS;
	assert_int_equal(verdict_of(l, NULL, "max<=30ms", NULL), RUN_SLO_UNSURE);
	assert_string_equal(l->slo[0].why,
			    "the load generator began 1 action late, by up to 25 ms");
	assert_int_equal(verdict_of(l, NULL, "max<=14ms", NULL), RUN_SLO_BROKEN);
	assert_int_equal(verdict_of(l, NULL, "max<=19ms", NULL), RUN_SLO_BROKEN);
	assert_int_equal(verdict_of(l, NULL, "p99<=19ms", NULL), RUN_SLO_BROKEN);
	assert_int_equal(verdict_of(l, NULL, "max<=40ms", NULL), RUN_SLO_KEPT);
	run_load_free(l);
}

/* 1,000 were due in 10 s and done, many of them later: that is not what the server can do. */
static void a_rate_is_not_kept_by_what_is_done_later(void **state)
{
	struct run_load *l = made(NOTHING, true);

	(void)state;
	l->n_ended_after = 500;
	l->n_due_before = 50;
	assert_int_equal(verdict_of(l, NULL, "rate>=99", NULL), RUN_SLO_UNSURE);
	assert_string_equal(l->slo[0].why, "450 of these actions ended after the measured "
					   "time, and only 55/s within it");
	assert_true(l->slo[0].value == 100);
	assert_int_equal(verdict_of(l, NULL, "rate>=55", NULL), RUN_SLO_KEPT);
	assert_int_equal(verdict_of(l, NULL, "look.rate>=56", NULL), RUN_SLO_UNSURE);
	assert_int_equal(verdict_of(l, NULL, "rate>=101", NULL), RUN_SLO_UNSURE); /* not offered */
	assert_int_equal(verdict_of(l, NULL, "p99<=1s,failed<=0", NULL), RUN_SLO_KEPT);
	/* as many were under way when it began */
	l->n_due_before = 480;
	assert_int_equal(verdict_of(l, NULL, "rate>=100", NULL), RUN_SLO_KEPT);
	l->n_ended_after = 1;
	l->n_due_before = 0;
	assert_int_equal(verdict_of(l, NULL, "rate>=100", NULL), RUN_SLO_KEPT);
	run_load_free(l);
}

/* Of the load it is known how many were done later, and not of which kind they were. */
static void a_rate_of_one_kind_is_at_least_without_all_that_was_done_later(void **state)
{
	struct run_load *l = made(NOTHING, true);

	(void)state;
	l->action[1].n = 200;
	for (unsigned int i = 0; i < 200; i++)
		hist_add(&l->action[1].planned, MS);
	l->n_arrivals = 1200;
	l->rate_per_s = 120;
	l->n_ended_after = 500;
	l->n_due_before = 50;
	assert_int_equal(verdict_of(l, NULL, "look.rate>=99", NULL), RUN_SLO_UNSURE);
	assert_string_equal(l->slo[0].why, "up to 500 of these actions ended after the measured "
					   "time, and at least 50/s within it");
	assert_int_equal(verdict_of(l, NULL, "look.rate>=50", NULL), RUN_SLO_KEPT);
	/* the 50 that were due before may all have been saves */
	assert_int_equal(verdict_of(l, NULL, "look.rate>=52", NULL), RUN_SLO_UNSURE);
	assert_int_equal(verdict_of(l, NULL, "save.rate>=1", NULL), RUN_SLO_UNSURE);
	assert_string_equal(l->slo[0].why, "up to 200 of these actions ended after the measured "
					   "time, and at least 0/s within it");
	assert_int_equal(verdict_of(l, NULL, "rate>=119", NULL), RUN_SLO_UNSURE);
	assert_string_equal(l->slo[0].why, "450 of these actions ended after the measured "
					   "time, and only 75/s within it");
	l->n_due_before = 480;
	assert_int_equal(verdict_of(l, NULL, "look.rate>=100", NULL), RUN_SLO_KEPT);
	run_load_free(l);
}

static void what_has_no_latency_may_have_any(void **state)
{
	struct run_load *l = made(NOTHING, true);

	(void)state;
	l->n_waiting = 5;
	assert_int_equal(verdict_of(l, NULL, "p50<=20ms", NULL), RUN_SLO_KEPT);
	assert_int_equal(verdict_of(l, NULL, "max<=20ms", NULL), RUN_SLO_UNSURE);
	assert_string_equal(l->slo[0].why, "it is not known how long 5 actions took");
	assert_int_equal(verdict_of(l, NULL, "max<=19ms", NULL), RUN_SLO_BROKEN);
	assert_int_equal(verdict_of(l, NULL, "mean<=15ms", NULL), RUN_SLO_UNSURE);
	/* they were not begun */
	assert_int_equal(verdict_of(l, NULL, "failed<=0", NULL), RUN_SLO_KEPT);
	l->n_cut = 5;
	assert_int_equal(verdict_of(l, NULL, "failed<=4", NULL), RUN_SLO_UNSURE);
	assert_string_equal(l->slo[0].why, "it is not known whether 5 actions failed");
	assert_int_equal(verdict_of(l, NULL, "failed<=5", NULL), RUN_SLO_KEPT);
	run_load_free(l);
	l = made(NOTHING, false);
	l->n_outlasting = 1;
	l->outlasting_max_ns = 30 * MS;
	assert_int_equal(verdict_of(l, NULL, "max<=20ms", NULL), RUN_SLO_UNSURE);
	assert_int_equal(verdict_of(l, NULL, "max<=30ms", NULL), RUN_SLO_KEPT);
	assert_int_equal(verdict_of(l, NULL, "rate>=100.1", NULL), RUN_SLO_BROKEN);
	run_load_free(l);
}

/* A percentile is known to within its bucket; the mean, the shortest and the longest exactly. */
static void a_limit_within_what_is_known_of_a_figure_cannot_be_told(void **state)
{
	struct run_load *l = made(NOTHING, true);

	(void)state;
	hist_merge(&l->action[0].planned, &l->action[0].planned);
	for (unsigned int i = 0; i < 2000; i++)
		hist_add(&l->action[0].planned, 10000001);
	l->action[0].n = 4000;
	/* of the bucket from 9,961,472 to 10,092,544 */
	assert_int_equal(verdict_of(l, NULL, "p50<=10093us", NULL), RUN_SLO_KEPT);
	assert_int_equal(verdict_of(l, NULL, "p50<=10050us", NULL), RUN_SLO_UNSURE);
	assert_string_equal(l->slo[0].why, "the figure is only known to within 1.6 %");
	assert_int_equal(verdict_of(l, NULL, "p50<=9970us", NULL), RUN_SLO_UNSURE);
	assert_int_equal(verdict_of(l, NULL, "p50<=9961us", NULL), RUN_SLO_BROKEN);
	assert_int_equal(verdict_of(l, NULL, "max<=20ms", NULL), RUN_SLO_KEPT);
	run_load_free(l);
}

/* What still waited at the end had waited for some time by then. */
static void a_wait_without_an_end_may_break_a_limit(void **state)
{
	struct run_load *l = made(NOTHING, true);

	(void)state;
	l->n_waiting = 40;
	for (int i = 0; i < 40; i++)
		hist_add(&l->undone, (uint64_t)(i + 1) * 10 * MS);
	assert_int_equal(verdict_of(l, NULL, "max<=300ms", NULL), RUN_SLO_BROKEN);
	assert_int_equal(verdict_of(l, NULL, "max<=500ms", NULL), RUN_SLO_UNSURE);
	assert_int_equal(verdict_of(l, NULL, "p99<=100ms", NULL), RUN_SLO_BROKEN);
	assert_int_equal(verdict_of(l, NULL, "p99<=395ms", NULL), RUN_SLO_UNSURE);
	assert_int_equal(verdict_of(l, NULL, "p50<=20ms", NULL), RUN_SLO_KEPT);
	run_load_free(l);
}

/* The value of a limit, as it is printed. */
static void has_value(struct run_load *l, const char *limit, struct run_bound wanted, bool others)
{
	const struct run_slo *s = l->slo;

	verdict_of(l, NULL, limit, NULL);
	if (s->known != wanted.known || s->value != (double)(uint64_t)(wanted.ns + 0.5) ||
	    s->value_at_least != wanted.at_least || s->value_of_others != others)
		fail_msg("%s: %d %.0f %d %d, not %d %.0f %d %d", limit, s->known, s->value,
			 s->value_at_least, s->value_of_others, wanted.known, wanted.ns,
			 wanted.at_least, others);
	/* what is within a limit for certain is not shown to be beyond it */
	if (s->verdict == RUN_SLO_KEPT && s->value > s->limit)
		fail_msg("%s is kept, and is shown as %.0f", limit, s->value);
}

static void a_limit_has_the_value_that_the_table_has(void **state)
{
	static const struct {
		const char *name;
		double q;
	} of[] = { { "mean", RUN_BOUND_MEAN },
		   { "p50", 0.5 },
		   { "p90", 0.9 },
		   { "p95", 0.95 },
		   { "p99", 0.99 },
		   { "p99.9", 0.999 },
		   { "max", RUN_BOUND_MAX } };
	static const uint64_t ms[] = { 1, 15, 50, 30000 };
	char limit[40];

	(void)state;
	for (unsigned int undone = 0; undone < 8000; undone = undone * 5 + 1) {
		for (size_t i = 0; i < sizeof(of) / sizeof(of[0]) * 8; i++) {
			const size_t k = i / 8;
			struct run_load *l = made(NOTHING, true);
			const struct run_action *look = i & 4 ? &l->action[0] : NULL;

			l->n_arrivals += undone;
			*(i & 1 ? &l->n_no_room : &l->n_waiting) = undone;
			for (unsigned int n = 0; n < undone; n++)
				hist_add(&l->undone, 5 * MS + n * MS);
			snprintf(limit, sizeof(limit), "%s%s<=%llums", look ? "look." : "",
				 of[k].name, (unsigned long long)ms[i & 2 ? 3 : k % 3]);
			has_value(l, limit, run_bound(l, look, of[k].q), false);
			run_load_free(l);
		}
	}
}

static void a_value_says_of_whom_it_is(void **state)
{
	struct run_load *l = made(FEW_FAILED, true);
	struct run_bound longest = { 20 * MS, true, false };

	(void)state;
	has_value(l, "max<=1s", longest, true); /* of those that did not fail */
	has_value(l, "max<=1s,failed<=2", longest, false);
	run_load_free(l);
	l = made(LOST, true);
	has_value(l, "max<=1s", longest, true); /* of the other clients */
	run_load_free(l);
	l = made(FEW_DROPPED, true);
	hist_add(&l->undone, 100 * MS);
	hist_add(&l->undone, 3000 * MS);
	has_value(l, "max<=1s,dropped<=2", longest, true);
	longest = (struct run_bound) { 3000 * MS, true, true };
	has_value(l, "max<=1s", longest, false);
	run_load_free(l);
}

static void a_probe_is_judged_by_itself_and_doubted_with_its_load(void **state)
{
	struct run_load *probe = made(NOTHING, true), *l;

	(void)state;
	for (int what = 0; what < N_TROUBLES; what++) {
		l = made((enum trouble)what, true);
		assert_int_equal(verdict_of(l, probe, "probe.max<=1s", NULL),
				 what ? RUN_SLO_UNSURE : RUN_SLO_KEPT);
		assert_int_equal(verdict_of(l, probe, "probe.max<=1ms", NULL), RUN_SLO_BROKEN);
		assert_int_equal(verdict_of(l, probe, "probe.rate>=1", NULL),
				 what ? RUN_SLO_UNSURE : RUN_SLO_KEPT);
		run_load_free(l);
	}
	l = made(FEW_FAILED, true);
	assert_int_equal(verdict_of(l, probe, "probe.max<=1s,failed<=1%", NULL), RUN_SLO_KEPT);
	assert_int_equal(verdict_of(l, probe, "probe.max<=1s,probe.failed<=1%", NULL),
			 RUN_SLO_UNSURE);
	run_load_free(l);
	/* a user does not begin what he has no time for: that is no wait */
	l = made(NOTHING, true);
	probe->n_no_room = 20;
	assert_int_equal(verdict_of(l, probe, "probe.max<=1s", NULL), RUN_SLO_KEPT);
	assert_int_equal(verdict_of(l, probe, "probe.p99<=1s", NULL), RUN_SLO_UNSURE);
	assert_int_equal(verdict_of(probe, probe, "max<=1s", NULL), RUN_SLO_KEPT);
	assert_int_equal(verdict_of(probe, probe, "p50<=1ms", NULL), RUN_SLO_BROKEN);
	probe->n_lost = 1;
	assert_int_equal(verdict_of(l, probe, "probe.max<=1s", NULL), RUN_SLO_BROKEN);
	assert_int_equal(verdict_of(l, probe, "max<=1s", NULL), RUN_SLO_KEPT);
	run_load_free(l);
	run_load_free(probe);
}

static void a_load_that_was_ended_early_keeps_nothing(void **state)
{
	struct run_load *l = made(NOTHING, true);
	struct slos s = { 0 };

	(void)state;
	assert_int_equal(slo_take(&s, "p99<=1s", NULL), 0);
	assert_int_equal(slo_judge(&s, l, NULL, true), RUN_SLO_UNSURE);
	assert_string_equal(l->slo[0].why, "the load was ended early");
	run_load_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_nothing_is_wrong_a_limit_is_kept_or_broken),
		cmocka_unit_test(with_any_trouble_no_limit_is_simply_kept),
		cmocka_unit_test(what_was_dropped_or_failed_is_longer_than_any_limit),
		cmocka_unit_test(a_limit_of_failures_allows_them_in_the_others),
		cmocka_unit_test(clients_that_were_not_served_break_a_limit_of_time),
		cmocka_unit_test(what_the_generator_may_have_done_is_not_the_servers),
		cmocka_unit_test(a_generator_that_did_not_run_may_have_cost_sessions),
		cmocka_unit_test(a_rate_is_not_kept_by_what_is_done_later),
		cmocka_unit_test(a_rate_of_one_kind_is_at_least_without_all_that_was_done_later),
		cmocka_unit_test(what_has_no_latency_may_have_any),
		cmocka_unit_test(a_limit_has_the_value_that_the_table_has),
		cmocka_unit_test(a_value_says_of_whom_it_is),
		cmocka_unit_test(a_probe_is_judged_by_itself_and_doubted_with_its_load),
		cmocka_unit_test(a_limit_within_what_is_known_of_a_figure_cannot_be_told),
		cmocka_unit_test(a_wait_without_an_end_may_break_a_limit),
		cmocka_unit_test(a_load_that_was_ended_early_keeps_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
