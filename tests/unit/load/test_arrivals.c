/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Open loops of the engine: one queue for the clients of all threads, stalls, rates that cannot be
 * offered. Tests client/load/arrivals.c, arrive.c, pace.c,
 * tally.c.
 */
#include "unit/clocked_rig.h"

/* Arrivals are dealt out among the threads; who has no free client lets another one do it. */
static void a_free_client_of_any_thread_does_what_is_due(void **state)
{
	const struct engine_job work = open_loop(PACE_FIXED, 400, 1000 * MS);

	(void)state;
	for (unsigned int t = 2; t <= 4; t++) {
		struct rig *g = rig(4, t);

		g->play[0].slow.service_ns = 100 * MS;
		for (unsigned int i = 1; i < 4; i++)
			g->play[i].slow.service_ns = MS;
		rig_open(g);
		rig_do(g, &work);
		rig_adds_up(g);
		assert_int_equal(rig_actions(g), 400);
		assert_int_equal(at_least(&g->load->action[0].planned, 2 * MS),
				 g->load->client[0].actions);
		assert_int_equal(g->load->late_n, 0);
		rig_free(g);
	}
}

/* Eight servers with one queue: as long as one is free nobody waits, whoever drives it. */
static void threads_make_no_difference_to_who_waits(void **state)
{
	struct engine_job work = open_loop(PACE_POISSON, 480, 20000 * MS);
	double mean[9], p99[9];

	(void)state;
	work.queue = ENGINE_QUEUE_ALL;
	for (unsigned int t = 1; t <= 8; t = t == 1 ? 2 : t * 4) {
		struct rig *g = rig(8, t);

		for (unsigned int i = 0; i < 8; i++)
			g->play[i].slow.service_ns = 10 * MS;
		rig_open(g);
		rig_do(g, &work);
		rig_adds_up(g);
		assert_int_equal(g->load->n_no_room, 0);
		mean[t] = hist_mean(&g->load->action[0].planned);
		p99[t] = (double)hist_quantile(&g->load->action[0].planned, 0.99);
		/* M/D/8 at 60 %: of the mean of 10 ms, 0.1 ms is waiting */
		assert_true(mean[t] > 10.0e6 && mean[t] < 10.4e6);
		assert_true(p99[t] < 1.05 * p99[1] && p99[t] > 0.95 * p99[1]);
		rig_free(g);
	}
}

/* Of 1,000 arrivals, 200 come in the stall of a second: more than the hundredth that is longest. */
static void a_stall_is_in_the_latencies_of_a_load_with_few_clients(void **state)
{
	struct engine_job work = open_loop(PACE_FIXED, 200, 5000 * MS);

	(void)state;
	work.queue = ENGINE_QUEUE_ALL;
	for (unsigned int t = 1; t <= 2; t++) {
		struct rig *g = rig(2, t);

		for (unsigned int i = 0; i < 2; i++) {
			g->play[i].slow.service_ns = 10000;
			g->play[i].slow.stall_at = 100;
			g->play[i].slow.stall_ns = 1000 * MS;
		}
		rig_open(g);
		rig_do(g, &work);
		rig_adds_up(g);
		assert_int_equal(rig_actions(g), 1000);
		assert_int_equal(g->load->undone.n, 0);
		assert_true(
		    is_about(hist_quantile(&g->load->action[0].planned, 0.99), 955 * MS, 15 * MS));
		assert_true(
		    is_about(hist_quantile(&g->load->action[0].planned, 0.9), 500 * MS, 15 * MS));
		rig_free(g);
	}
}

/* Each takes 1.9 s: of those due in the last 1.9 s. As many come over from before the begin. */
static void what_ends_after_the_measured_time_is_counted(void **state)
{
	struct engine_job work = open_loop(PACE_FIXED, 4, 3000 * MS);

	(void)state;
	work.ramp_ns = 2000 * MS;
	for (unsigned int t = 1; t <= 2; t++) {
		struct rig *g = rig(12, t);

		for (unsigned int i = 0; i < 12; i++)
			g->play[i].slow.service_ns = 1900 * MS;
		rig_open(g);
		rig_do(g, &work);
		rig_adds_up(g);
		assert_int_equal(rig_actions(g), 12);
		assert_int_equal(g->load->n_ended_after, 7);
		assert_int_equal(g->load->n_due_before, 7);
		assert_int_equal(run_load_backlog(g->load), 0);
		rig_free(g);
	}
}

/* The store is not slow then, but this program. */
static void what_a_thread_of_the_store_begins_late_is_late(void **state)
{
	const struct engine_job work = open_loop(PACE_FIXED, 100, 1000 * MS);

	(void)state;
	for (unsigned int ms = 0; ms <= 4; ms += 2) {
		struct rig *g = rig(2, 1);

		for (unsigned int i = 0; i < 2; i++) {
			g->play[i].n_requests = 2;
			g->play[i].slow.service_ns = 3 * MS;
			g->play[i].slow.hand_ns = ms * MS;
		}
		rig_open(g);
		rig_do(g, &work);
		rig_adds_up(g);
		assert_int_equal(g->load->late_n, ms ? 100 : 0);
		assert_true(is_about(g->load->late_max_ns, ms * MS, 10000));
		assert_true(is_about(hist_quantile(&g->load->action[0].planned, 0.5),
				     2 * (3 + ms) * MS, MS / 5));
		assert_true(is_about(hist_quantile(&g->load->action[0].begun, 0.5),
				     (2 * (3 + ms) - ms) * MS, MS / 5));
		rig_free(g);
	}
}

static void what_waits_in_a_stall_at_the_end_waited_at_least_so_long(void **state)
{
	struct engine_job work = open_loop(PACE_FIXED, 200, 1000 * MS);

	(void)state;
	work.queue = ENGINE_QUEUE_ALL;
	for (unsigned int t = 1; t <= 2; t++) {
		struct rig *g = rig(2, t);

		for (unsigned int i = 0; i < 2; i++) {
			g->play[i].slow.service_ns = 10000;
			g->play[i].slow.stall_at = 60; /* at 600 ms */
			g->play[i].slow.stall_ns = 1000 * MS;
		}
		rig_open(g);
		rig_do(g, &work);
		rig_adds_up(g);
		assert_true(is_about(g->load->n_waiting, 80, 1));
		assert_int_equal(g->load->undone.n, g->load->n_waiting);
		assert_true(is_about(g->load->undone.max, 400 * MS, 10 * MS));
		assert_true(is_about(g->load->undone.min, 5 * MS, MS));
		assert_int_equal(g->load->n_held, 0);
		rig_free(g);
	}
}

/* The end was to be at 100 s, and what was dropped would have waited until then. */
static void what_was_dropped_before_a_stop_waited_until_then(void **state)
{
	struct engine_job work = open_loop(PACE_FIXED, 1000, 100000 * MS);
	struct rig *g = rig(1, 1);

	(void)state;
	work.queue = 1;
	g->play[0].slow.service_ns = 10 * MS;
	g->play[0].stop_at = 10; /* at 90 ms */
	rig_open(g);
	rig_do(g, &work);
	rig_adds_up(g);
	assert_true(g->load->n_no_room > 70);
	assert_int_equal(g->load->undone.n, g->load->n_no_room + g->load->n_waiting);
	assert_true(g->load->undone.max <= g->load->end_ns - g->load->begin_ns);
	rig_free(g);
}

static void a_rate_that_cannot_be_offered_ends_and_is_told(void **state)
{
	(void)state;
	for (unsigned int k = 0; k < 4; k++) {
		struct engine_job work = open_loop(k % 2 ? PACE_FIXED : PACE_POISSON, 1e11,
						   20 * MS);
		struct rig *g = rig(2, 1 + k % 2);

		work.queue = k < 2 ? ENGINE_QUEUE_ALL : 5;
		g->play[0].slow.service_ns = g->play[1].slow.service_ns = MS;
		rig_open(g);
		rig_do(g, &work);
		rig_adds_up(g);
		assert_true(is_about(rig_actions(g), 40, 2));
		assert_true(g->load->unoffered_ns > 0);
		rig_free(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_free_client_of_any_thread_does_what_is_due),
		cmocka_unit_test(threads_make_no_difference_to_who_waits),
		cmocka_unit_test(a_stall_is_in_the_latencies_of_a_load_with_few_clients),
		cmocka_unit_test(what_ends_after_the_measured_time_is_counted),
		cmocka_unit_test(what_a_thread_of_the_store_begins_late_is_late),
		cmocka_unit_test(what_waits_in_a_stall_at_the_end_waited_at_least_so_long),
		cmocka_unit_test(what_was_dropped_before_a_stop_waited_until_then),
		cmocka_unit_test(a_rate_that_cannot_be_offered_ends_and_is_told),
	};

	return cmocka_run_group_tests(tests, shared_clock_begin, NULL);
}
