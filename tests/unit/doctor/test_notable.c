/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What stands out in the server's time: each cause is named, with its number, and nothing else.
 * Tests user/doctor/notable.c, user/doctor/rules/rules_time.c, user/report/view.c.
 */
#include "base/hist.h"
#include "doctor/figures/measure.h"
#include "doctor/judge.h"
#include "doctor/notable.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000ull

/* 100 requests of 1 ms each, FPCreateFile, of which a part went one way. */
struct way {
	const char *key;
	uint8_t class, object;
	struct afs_part part;
	unsigned int inside; /* enum afs_inside, for what is asleep on the CNID server */
	const char *says;
};

#define ALL (100 * MS)

static void add_account(struct ledger *l, const struct way *w, uint64_t slowest_ns)
{
	struct ledger_account account = {
		.account = 7,
		.sum = { .begun = 100, .answered = 100, .ns = ALL },
		.min_ns = 1 * MS,
		.max_ns = slowest_ns,
	};
	struct ledger_part part[2] = {
		{ .account = 7, .class = AFS_CLASS_USER, .part.cpu_ns = ALL },
		{ .account = 7, .class = w->class, .object = w->object, .part = w->part },
	};
	struct ledger one = { .has_calls = true,
			      .has_requests = true,
			      .n_accounts = 1,
			      .account = &account,
			      .n_parts = 1,
			      .part = part };
	uint64_t way_ns = w->part.cpu_ns + w->part.blocked_ns + w->part.runq_ns +
			  w->part.stopped_ns;

	part[0].part.cpu_ns -= way_ns;
	account.hist[hist_index(1 * MS, AFS_REQUEST_BITS)] = 99;
	account.hist[hist_index(slowest_ns, AFS_REQUEST_BITS)]++;
	if (w->object == AFS_OBJECT_BACKEND)
		account.sum.inside[w->inside] = w->part.blocked_ns;
	assert_int_equal(ledger_add(l, &one), 0);
	one.n_accounts = 0;
	one.part = &part[1];
	assert_int_equal(ledger_add(l, &one), 0);
}

static void note(struct run_notes *out, struct run *r)
{
	run_set(r->phase[0], METRIC_ELAPSED, 1000 * MS);
	r->figures = calloc(1, sizeof(*r->figures));
	assert_non_null(r->figures);
	assert_int_equal(doctor_measure(r->figures, r), 0);
	*out = (struct run_notes) { 0 };
	assert_int_equal(doctor_notable(out, r), 0);
}

static void find(struct run_notes *out, const struct way *w, uint64_t slowest_ns)
{
	struct run_phase *p;
	struct run r;

	assert_int_equal(run_init(&r, "record", NULL), 0);
	p = run_phase(&r, 0, 1, NULL);
	assert_non_null(p);
	p->complete = true;
	add_account(&p->ledger, w, slowest_ns);
	note(out, &r);
	run_fini(&r);
}

static const struct way ways[] = {
	{ "afpd-stopped",
	  AFS_CLASS_WRITE,
	  AFS_OBJECT_DATA,
	  { .stopped_ns = 30 * MS },
	  0,
	  "afpd was paused for 30.0ms in all" },
	{ "cnid-stopped",
	  AFS_CLASS_WAIT,
	  AFS_OBJECT_BACKEND,
	  { .blocked_ns = 30 * MS },
	  AFS_INSIDE_STOPPED,
	  "30% of all request time (30.0ms)" },
	{ "cnid",
	  AFS_CLASS_WAIT,
	  AFS_OBJECT_BACKEND,
	  { .blocked_ns = 50 * MS },
	  AFS_INSIDE_SYNC,
	  "50% of all request time (50.0ms); in that wait cnid_dbd was in fsync for 100%" },
	{ "cnid",
	  AFS_CLASS_WAIT,
	  AFS_OBJECT_CNIDDB,
	  { .blocked_ns = 45 * MS },
	  0,
	  "afpd waited for its CNID database: 45% of all request time" },
	{ "cnid-run-queue",
	  AFS_CLASS_WAIT,
	  AFS_OBJECT_BACKEND,
	  { .blocked_ns = 30 * MS },
	  AFS_INSIDE_RUNQ,
	  "cnid_dbd waited for a CPU" },
	{ "run-queue",
	  AFS_CLASS_STAT,
	  AFS_OBJECT_NONE,
	  { .runq_ns = 60 * MS },
	  0,
	  "afpd waited for a CPU: 60% of all request time" },
	/* On a CPU, and not blocked: writes to a log mostly are. */
	{ "log",
	  AFS_CLASS_WRITE,
	  AFS_OBJECT_LOG,
	  { .calls = 1200, .cpu_ns = 29 * MS },
	  0,
	  "writing the log took 29% of the requests' own time (29.0ms), 12 calls a request" },
	{ "lock",
	  AFS_CLASS_LOCK,
	  AFS_OBJECT_DATA,
	  { .blocked_ns = 12 * MS },
	  0,
	  "file locks of other processes: 12%" },
	{ "disk",
	  AFS_CLASS_SYNC,
	  AFS_OBJECT_DATA,
	  { .blocked_ns = 40 * MS },
	  0,
	  "files and directories: 40% of all request time (40.0ms), fsync alone 40%" },
	{ "network",
	  AFS_CLASS_WRITE,
	  AFS_OBJECT_CLIENT,
	  { .blocked_ns = 40 * MS },
	  0,
	  "take their replies: 40%" },
};

static void each_cause_is_named_alone_with_its_number(void **state)
{
	struct run_notes found;

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		find(&found, &ways[i], 1 * MS);
		if (found.n != 1 || strcmp(found.note[0].key, ways[i].key) ||
		    !strstr(found.note[0].text, ways[i].says))
			fail_msg("%s: %zu findings, first \"%s\"", ways[i].key, found.n,
				 found.n ? found.note[0].text : "");
		run_notes_fini(&found);
	}
}

static void what_takes_little_is_not_named(void **state)
{
	static const struct way little = {
		NULL, AFS_CLASS_WRITE, AFS_OBJECT_LOG, { .calls = 100, .cpu_ns = 4 * MS }, 0, NULL
	};
	struct run_notes found;

	(void)state;
	find(&found, &little, 99 * MS);
	assert_int_equal(found.n, 0);
	run_notes_fini(&found);
}

static void a_stall_is_counted_and_says_what_such_commands_waited_for(void **state)
{
	static const struct way stopped = { NULL,
					    AFS_CLASS_WAIT,
					    AFS_OBJECT_BACKEND,
					    { .blocked_ns = 60 * MS },
					    AFS_INSIDE_STOPPED,
					    NULL };
	struct run_notes found;

	(void)state;
	find(&found, &stopped, 305 * MS);
	assert_int_equal(found.n, 3);
	assert_string_equal(found.note[0].key, "stalls");
	assert_string_equal(found.note[0].text,
			    "1 of 100 requests took about 100ms or more, the longest 305ms "
			    "(FPCreateFile); these commands waited most for the CNID server");
	assert_string_equal(found.note[1].key, "cnid-stopped");
	run_notes_fini(&found);
}

/* A list of a huge folder: whatever it waited for besides, it computed. */
static void a_stall_on_a_cpu_waited_for_nothing(void **state)
{
	static const struct way computes = {
		NULL, AFS_CLASS_USER, AFS_OBJECT_NONE, { .cpu_ns = 60 * MS, .runq_ns = 20 * MS }, 0,
		NULL
	};
	struct run_notes found;

	(void)state;
	find(&found, &computes, 305 * MS);
	assert_true(found.n >= 1);
	assert_string_equal(found.note[0].key, "stalls");
	assert_string_equal(found.note[0].text,
			    "1 of 100 requests took about 100ms or more, the longest 305ms "
			    "(FPCreateFile); these commands spent most time on a CPU");
	run_notes_fini(&found);
}

/* Its time is in the parts, and in no sum of answered requests. */
static void what_has_no_answer_yet_is_said_first_and_is_of_all_request_time(void **state)
{
	struct ledger_account account = { .account = 24, .sum = { .begun = 2 } };
	struct ledger_part part = { .account = 24,
				    .class = AFS_CLASS_WAIT,
				    .object = AFS_OBJECT_BACKEND,
				    .part.blocked_ns = 900 * MS };
	struct ledger one = { .has_calls = true,
			      .has_requests = true,
			      .n_accounts = 1,
			      .account = &account,
			      .n_parts = 1,
			      .part = &part };
	struct run_notes found = { 0 };
	struct run_phase *p;
	struct run r;

	(void)state;
	assert_int_equal(run_init(&r, "record", NULL), 0);
	p = run_phase(&r, 0, 1, NULL);
	assert_non_null(p);
	p->complete = true;
	add_account(&p->ledger, &ways[0], 1 * MS);
	assert_int_equal(ledger_add(&p->ledger, &one), 0);
	note(&found, &r);
	assert_true(found.n >= 2);
	assert_string_equal(found.note[0].key, "no-answer");
	assert_string_equal(found.note[0].text,
			    "2 requests had no answer when the watch ended: 90% of all "
			    "request time (900ms); most of it FPOpenVol, which waited most for the "
			    "CNID server");
	for (size_t i = 0; i < found.n; i++)
		if (!strcmp(found.note[i].key, "cnid"))
			assert_string_equal(
			    found.note[i].text,
			    "afpd waited for its CNID server: 90% of all request time (900ms); in "
			    "that wait cnid_dbd was not seen for 100%");
	run_notes_fini(&found);
	run_fini(&r);
}

/* What stands out, and the rule that says why, by the figure that both are about. */
struct pair {
	const char *notable, *rule;
	enum run_figure dose;
	double limit;
	enum run_figure also; /* has to be so large, too */
	double as_large;
};

static const struct pair pairs[] = {
	{ "log", "log", RUN_FIGURE_LOG, 0.05, RUN_FIGURE_LOG_CALLS, 3 },
	{ "lock", "locks", RUN_FIGURE_LOCK, 0.1, RUN_FIGURE_OTHER, 0 },
	{ "afpd-stopped", "server-stopped", RUN_FIGURE_STOPPED, 0.02, RUN_FIGURE_STOPPED_WAIT,
	  0.3 },
	{ "afpd-stopped", "server-stopped", RUN_FIGURE_STOPPED_WAIT, 0.1, RUN_FIGURE_STOPPED, 0.1 },
	{ "afpd-stopped", "session-stopped", RUN_FIGURE_STOPPED_FOR, 1e9, RUN_FIGURE_STOPPED_WAIT,
	  0.2 },
	{ "cnid-stopped", "cnid-stopped", RUN_FIGURE_CNID_STOPPED, 0.1, RUN_FIGURE_OTHER, 0 },
	{ "network", "network", RUN_FIGURE_NET, 0.4, RUN_FIGURE_WINDOW, 0.5 },
	{ "disk", "slow-disk", RUN_FIGURE_DISK, 0.3, RUN_FIGURE_DEVICE_BUSY, 0.9 },
};

/* Requests that people notice; the dose of one cause, and nothing of the others. */
static void dosed(struct run_figures *f, const struct pair *p, double dose)
{
	*f = (struct run_figures) { 0 };
	run_figure_set(f, RUN_FIGURE_REQUESTS, 10000);
	run_figure_set(f, RUN_FIGURE_P99, 300e6);
	run_figure_set(f, RUN_FIGURE_OWN, 1);
	run_figure_set(f, RUN_FIGURE_STOPPED, 0);
	run_figure_set(f, RUN_FIGURE_DEVICE_TIME, 20e6);
	run_figure_set(f, p->also, p->as_large);
	run_figure_set(f, p->dose, dose);
	if (p->dose == RUN_FIGURE_DISK)
		run_figure_set(f, RUN_FIGURE_WAIT_DISK, dose);
	if (p->dose == RUN_FIGURE_NET)
		run_figure_set(f, RUN_FIGURE_TAKING, dose);
}

static bool has_found(const struct run_figures *f, const char *key)
{
	struct diagnosis d;
	bool is = false;

	assert_int_equal(doctor_judge(&d, f), 0);
	for (size_t i = 0; i < d.n_found; i++)
		is |= !strcmp(d.found[i].rule->key, key);
	diagnosis_fini(&d);
	return is;
}

static void at_each_limit_what_stands_out_and_the_diagnosis_agree(void **state)
{
	static const double doses[] = { 0.98, 1, 1.02 };
	struct run_figures f;

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		for (size_t k = 0; k < sizeof(doses) / sizeof(doses[0]); k++) {
			struct run r = { .figures = &f };
			struct run_notes out = { 0 };
			bool is;

			dosed(&f, &pairs[i], pairs[i].limit * doses[k]);
			assert_int_equal(doctor_notable(&out, &r), 0);
			is = run_note_find(&out, pairs[i].notable);
			run_notes_fini(&out);
			if (is != (doses[k] >= 1) || is != has_found(&f, pairs[i].rule))
				fail_msg("%s at %g of its limit: stands out %d, found %d",
					 pairs[i].rule, doses[k], is, has_found(&f, pairs[i].rule));
		}
	}
}

/* Nobody notices it: no cause, but time is time. */
static void what_nobody_notices_stands_out_and_is_no_cause(void **state)
{
	struct run_notes out = { 0 };
	struct run_figures f;
	struct run r = { .figures = &f };

	(void)state;
	dosed(&f, &pairs[1], 0.5);
	run_figure_set(&f, RUN_FIGURE_P99, 1e6);
	assert_int_equal(doctor_notable(&out, &r), 0);
	assert_int_equal(out.n, 1);
	assert_string_equal(out.note[0].key, "lock");
	assert_false(has_found(&f, "locks"));
	run_notes_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_cause_is_named_alone_with_its_number),
		cmocka_unit_test(what_takes_little_is_not_named),
		cmocka_unit_test(a_stall_is_counted_and_says_what_such_commands_waited_for),
		cmocka_unit_test(a_stall_on_a_cpu_waited_for_nothing),
		cmocka_unit_test(what_has_no_answer_yet_is_said_first_and_is_of_all_request_time),
		cmocka_unit_test(at_each_limit_what_stands_out_and_the_diagnosis_agree),
		cmocka_unit_test(what_nobody_notices_stands_out_and_is_no_cause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
