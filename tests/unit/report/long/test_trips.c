/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Round trips as a table, on the screen and in JSON. Also tests user/report/trips.c,
 * user/report/screen/screen_trips.c, user/report/json/trips.c.
 */
#include "report/json/parts.h"
#include "unit/report_text.h"
#include "unit/sample_load.h"

#include <math.h>
#include <stdio.h>

#define US 1000ull

/* A load whose 400 lists take 2 round trips and 200.5 ms, its looks one and 985.5 ms. */
static struct run_load *add_load(struct run *r)
{
	struct run_phase *p;
	struct run_load *l;

	assert_int_equal(run_init(r, "load", "load"), 0);
	r->complete = true;
	p = run_phase(r, 1, 1, "browse");
	assert_non_null(p);
	p->complete = true;
	l = p->load = load_of_clients();
	run_phase_from_load(p);
	l->action[0].trips = (struct run_trips) { .n = 400,
						  .requests = 1200,
						  .sum = 800,
						  .most = 2,
						  .n_least = 400,
						  .least = 600,
						  .least_of = 800 };
	run_trips_note(&l->action[0].trips, 34, "FPGetFileDirParms", 400);
	l->action[1].trips = (struct run_trips) {
		.n = 1970, .requests = 1970, .sum = 1970, .most = 1, .bytes = 1970 * 20000
	};
	l->rtt_n = 9;
	l->rtt_sum_ns = 9 * 500 * US;
	return l;
}

static void a_row_has_what_an_action_takes_over_other_ways(void **state)
{
	struct run r;

	(void)state;
	add_load(&r);
	has(&r, OWN, "\nRound trips  of one action");
	has(&r, OWN,
	    "\n  list          3     2    1.5    0 200ms    200ms  210ms   240ms    400ms "
	    "FPGetFileDirParms 1\n");
	/* 20,000 bytes in a round trip; how few would do is not known of all */
	has(&r, OWN,
	    "\n  look          1     1    n/a    0 986ms    985ms ≥990ms  ≥1.00s   ≥1.08s -\n");
	has(&r, OWN, "The round-trip time here is 500µs");
	assert_int_equal(run_note(&r.options, TRIPS_OPTION, "50"), 0);
	has(&r, OWN, "at 50ms");
	has_not(&r, OWN, "at 5ms");
	is_narrow(output(&r, OWN_NARROW));
	run_fini(&r);
}

static void without_a_round_trip_time_nothing_is_predicted(void **state)
{
	struct run r;

	(void)state;
	add_load(&r)->rtt_n = 0;
	has(&r, OWN,
	    "  list          3     2    1.5  n/a 200ms      n/a    n/a     n/a      n/a "
	    "FPGetFileDirParms 1\n");
	has(&r, OWN, "cannot be told how long");
	has_not(&r, OWN, "The round-trip time here is");
	run_fini(&r);
}

static void without_round_trips_there_is_no_table(void **state)
{
	struct run_load *l;
	struct run r;

	(void)state;
	l = add_load(&r);
	l->action[0].trips = l->action[1].trips = (struct run_trips) { 0 };
	has_not(&r, OWN, "ound trips");
	run_fini(&r);
}

static char *screen_of(const struct run *r)
{
	const struct report_opts opts = { .width = 100 };
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(report_screen(r, &opts, f), 0);
	fclose(f);
	return text;
}

static void the_screen_says_when_they_are_most_of_the_time(void **state)
{
	static const struct {
		uint64_t rtt_ns;
		bool likely;
	} ways[] = { { 50 * LOAD_MS, false }, { 900 * LOAD_MS, true } };
	struct run_load *l;
	struct run r;
	char *text;

	(void)state;
	l = add_load(&r);
	for (size_t i = 0; i < 2; i++) {
		l->rtt_sum_ns = l->rtt_n * ways[i].rtt_ns;
		text = screen_of(&r);
		assert_non_null(strstr(text, "Round trips of an action ("));
		assert_non_null(strstr(text, "list 2, look 1; at 20.0ms: list "));
		assert_int_equal(!!strstr(text,
					  "Likely limited by the network's round trips: 92% of "
					  "the time of all actions, 100% of list"),
				 ways[i].likely);
		free(text);
	}
	/* However large their share: within a machine the network is not what limits. */
	l->rtt_sum_ns = l->rtt_n * 100 * US;
	l->action[1].trips.sum *= 100000;
	text = screen_of(&r);
	assert_null(strstr(text, "Likely limited"));
	free(text);
	run_fini(&r);
}

static void json_has_the_counts_and_the_times(void **state)
{
	struct run_rtts at;
	struct json_doc d = { 0 };
	json_t *o, *trips, *ms5;
	struct run r;

	(void)state;
	assert_int_equal(run_rtts_parse(&at, NULL), 0);
	o = json_load(&d, add_load(&r), &at);
	assert_false(d.failed);
	trips = json_object_get(json_array_get(json_object_get(o, "actions"), 0), "round_trips");
	assert_int_equal(json_integer_value(json_object_get(trips, "sum")), 800);
	assert_int_equal(json_integer_value(json_object_get(trips, "needed")), 600);
	ms5 = json_array_get(json_object_get(trips, "at"), 1);
	assert_true(fabs(json_real_value(json_object_get(ms5, "rtt_ns")) - 5e6) < 1);
	assert_true(fabs(json_real_value(json_object_get(ms5, "ns")) - 209.5e6) < 1);
	trips = json_object_get(json_array_get(json_object_get(o, "actions"), 1), "round_trips");
	assert_true(json_is_null(json_object_get(trips, "needed")));
	json_decref(o);
	run_fini(&r);
}

/* Requests, and after how many of them the client rested for 2 s. */
static void add_session(struct run *r, uint64_t requests, uint32_t quick, uint32_t rests)
{
	struct run_session *s = run_session(r);
	size_t two_s = hist_index(2000 * LOAD_MS >> AFS_PAUSE_SHIFT, AFS_PAUSE_BITS);

	assert_non_null(s);
	s->user = strdup("anna");
	s->address = strdup("192.0.2.1:50000");
	s->requests = requests;
	s->habit.pause[0] = quick;
	s->habit.pause[two_s] = rests;
	s->tcp = (struct run_session_tcp) { .known = true, .min_rtt_ns = 500 * US };
}

static void of_other_peoples_sessions_requests_and_bursts_are_told(void **state)
{
	struct run_phase *p;
	struct run r;

	(void)state;
	assert_int_equal(run_init(&r, "record", "record"), 0);
	r.complete = true;
	p = run_phase(&r, 0, 1, "recorded");
	p->complete = true;
	run_set(p, METRIC_ELAPSED, 10000 * LOAD_MS);
	add_session(&r, 1, 0, 0); /* one request: nothing can be told */
	add_session(&r, 100, 57, 2);
	add_session(&r, 200, 99, 0);
	has(&r, OWN, "\nRound trips of the sessions  requests that came");
	/* the busiest first: 100 of 200; then 60 of 100, in three bursts of 20 */
	has(&r, OWN,
	    "    200   100    100      1         100 500µs   20.0ms  500ms   2.00s    10.0s\n"
	    "  anna 192.0.2.1:50000      100    60     40      3          20 500µs   4.00ms  "
	    "100ms   400ms    2.00s\n");
	run_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_has_what_an_action_takes_over_other_ways),
		cmocka_unit_test(without_a_round_trip_time_nothing_is_predicted),
		cmocka_unit_test(without_round_trips_there_is_no_table),
		cmocka_unit_test(the_screen_says_when_they_are_most_of_the_time),
		cmocka_unit_test(json_has_the_counts_and_the_times),
		cmocka_unit_test(of_other_peoples_sessions_requests_and_bursts_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
