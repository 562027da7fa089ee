/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jobs, sessions and stops of the engine, over one to three threads. test_actions.c is about
 * the loops and their accounts. Also tests client/load/worker.c.
 */
#include "unit/engine_rig.h"

static const struct engine_job end_job = { .what = ENGINE_END };

static void jobs_follow_one_another_and_count_all(void **state)
{
	const struct engine_job work = rig_work(0);

	(void)state;
	for (unsigned int t = 1; t <= 3; t++) {
		struct rig *g = rig_of(7, t);

		for (unsigned int i = 0; i < 7; i++) {
			g->play[i].n_actions = 5;
			g->play[i].n_requests = 3;
			g->play[i].window = 1 + i % 3;
			g->play[i].slow.by_fd = i % 2;
			g->play[i].slow.service_ns = i * 50000;
			g->play[i].slow.opening_ns = i % 2 * MS;
			g->play[i].slow.ending_ns = i % 2 * MS;
		}
		rig_open(g);
		assert_int_equal(g->load->n_open, 7);
		assert_int_equal(g->load->n_lost, 0);
		assert_int_equal(g->load->n_threads, t);
		for (unsigned int round = 1; round <= 3; round++) {
			rig_do(g, &work);
			assert_int_equal(rig_actions(g), 35);
			assert_int_equal(g->load->n_open, 7);
			assert_int_equal(g->phase.n_commands, 2);
			assert_int_equal(
			    g->phase.command[0]->latency.n + g->phase.command[1]->latency.n, 105);
			for (unsigned int i = 0; i < 7; i++) {
				assert_int_equal(g->load->client[i].actions, 5);
				assert_int_equal(g->load->client[i].bytes, 150);
				assert_true(g->load->client[i].opened);
				assert_true(g->load->client[i].last_ns <=
					    g->load->done_ns - g->load->begin_ns);
				g->play[i].begun = 0;
			}
			rig_adds_up(g);
		}
		for (unsigned int i = 0; i < 7; i++) {
			assert_int_equal(g->play[i].n_opened, 1);
			assert_int_equal(g->play[i].slow.n_closed, 0);
		}
		rig_do(g, &end_job);
		for (unsigned int i = 0; i < 7; i++) {
			assert_int_equal(g->play[i].slow.n_closed, 1);
		}
		rig_free(g);
	}
}

static void sessions_that_are_refused_are_counted_and_the_others_go_on(void **state)
{
	const struct engine_job work = rig_work(0), open = { .what = ENGINE_OPEN };

	(void)state;
	for (unsigned int t = 1; t <= 3; t++) {
		struct rig *g = rig_of(6, t);

		for (unsigned int i = 0; i < 6; i++)
			g->play[i].n_actions = 2;
		g->play[1].slow.no_begin = true;
		g->play[2].slow.refused = true;
		g->play[2].slow.opening_ns = MS;
		rig_open(g);
		assert_int_equal(g->load->n_open, 4);
		assert_int_equal(g->load->n_lost, 0);
		assert_true(!strcmp(g->load->why, "it cannot begin") ||
			    !strcmp(g->load->why, "the server is full"));
		assert_false(g->load->client[1].opened || g->load->client[2].opened);
		assert_false(g->load->client[1].lost || g->load->client[2].lost);
		rig_do(g, &work);
		assert_int_equal(rig_actions(g), 8);
		assert_int_equal(g->load->n_open, 4);
		assert_false(g->load->client[1].opened);
		/* a second attempt opens those that are not open */
		g->play[2].slow.refused = false;
		rig_do(g, &open);
		assert_int_equal(g->load->n_open, 5);
		assert_int_equal(g->play[0].slow.n_begun, 1);
		assert_int_equal(g->play[1].n_opened, 0);
		rig_free(g);
	}
}

static void failures_are_counted_and_have_no_latency(void **state)
{
	const struct engine_job work = rig_work(0);

	(void)state;
	for (unsigned int t = 1; t <= 3; t++) {
		struct rig *g = rig_of(3, t);

		for (unsigned int i = 0; i < 3; i++) {
			g->play[i].n_actions = 9;
			g->play[i].by_turns = true;
			g->play[i].slow.none_at = 4;
		}
		g->play[2].fail_every = 3;
		rig_open(g);
		rig_do(g, &work);
		rig_adds_up(g);
		assert_int_equal(g->load->client[2].failed, 3);
		assert_int_equal(g->load->action[1].n, 15);
		assert_int_equal(g->load->action[1].failed, 2); /* the third and the ninth */
		assert_int_equal(g->load->action[0].failed, 1);
		assert_string_equal(g->load->first_failure, "action 3 failed");
		/* an answer that is not OK is the command's error, whatever the script says */
		assert_int_equal(g->phase.n_commands, 1);
		assert_int_equal(g->phase.command[0]->latency.n, 27);
		assert_int_equal(g->phase.command[0]->errors, 3);
		rig_free(g);
	}
}

static void as_many_sessions_are_opened_at_a_time_as_allowed(void **state)
{
	atomic_uint now = 0, most = 0;
	struct rig *g = rig_of(8, 1);

	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		g->play[i].slow.opening_ns = 2 * MS;
		g->play[i].slow.n_opening = &now;
		g->play[i].slow.most_opening = &most;
	}
	g->play[3].slow.refused = true;
	rig_open(g);
	assert_int_equal(g->load->n_open, 7);
	assert_int_equal(atomic_load(&most), 2);
	rig_free(g);
}

static void a_job_is_for_the_clients_of_its_range(void **state)
{
	struct engine_job work = rig_work(0), end = end_job;

	(void)state;
	work.from = 2;
	work.to = 5;
	end.from = 6;
	for (unsigned int t = 1; t <= 3; t++) {
		struct rig *g = rig_of(8, t);

		for (unsigned int i = 0; i < 8; i++)
			g->play[i].n_actions = 3;
		rig_open(g);
		rig_do(g, &work);
		for (unsigned int i = 0; i < 8; i++)
			assert_int_equal(g->load->client[i].actions, i >= 2 && i < 5 ? 3 : 0);
		rig_do(g, &end);
		for (unsigned int i = 0; i < 8; i++)
			assert_int_equal(g->play[i].slow.n_closed, i >= 6);
		rig_free(g);
	}
}

static void more_threads_than_clients_do_no_harm(void **state)
{
	const struct engine_job work = rig_work(0);
	struct rig *g = rig_of(1, 3);

	(void)state;
	g->play[0].n_actions = 4;
	rig_open(g);
	rig_do(g, &work);
	assert_int_equal(rig_actions(g), 4);
	rig_free(g);
}

/* Four clients have nothing to do, but their sessions are to live: a mix that only stays. */
static struct rig *rig_idle(unsigned int n_threads)
{
	struct rig *g = rig_of(4, n_threads);

	for (unsigned int i = 0; i < 4; i++) {
		g->play[i].idle = true;
		g->play[i].slow.tickle_ns = 5 * MS;
	}
	return g;
}

static void sessions_without_a_script_are_kept_for_the_job_s_time(void **state)
{
	const struct engine_job work = rig_work(40 * MS);

	(void)state;
	for (unsigned int t = 1; t <= 3; t++) {
		struct rig *g = rig_idle(t);

		rig_open(g);
		rig_do(g, &work);
		assert_int_equal(rig_actions(g), 0);
		assert_true(g->load->cpu_ns < 40 * MS * t);
		assert_int_equal(g->load->n_lost, 0);
		assert_int_equal(g->load->end_ns, g->load->begin_ns + 40 * MS);
		rig_free(g);
	}
}

/* However long the machine takes until each has sent one, and one is lost. */
static void sessions_without_a_script_send_tickles_and_are_seen_to_be_lost(void **state)
{
	const struct engine_job work = rig_work(1000000 * MS);

	(void)state;
	for (unsigned int t = 1; t <= 3; t++) {
		struct rig *g = rig_idle(t);

		rig_open(g);
		rig_start(g, &work);
		for (unsigned int i = 0; i < 4; i++)
			while (!g->play[i].slow.n_tickled)
				usleep(200);
		/* In the job: who is lost before it is no client's loss in it. */
		while (!g->play[3].n_jobs)
			usleep(200);
		g->play[3].slow.lose = true;
		while (!g->play[3].slow.n_closed)
			usleep(200);
		g->stop = 1;
		rig_join(g);
		assert_int_equal(rig_actions(g), 0);
		assert_int_equal(g->load->n_lost, 1);
		assert_true(g->load->client[3].lost);
		rig_free(g);
	}
}

static void a_script_that_neither_asks_nor_ends_is_a_defect_and_no_hang(void **state)
{
	const struct engine_job work = rig_work(0);
	struct rig *g = rig_of(2, 1);

	(void)state;
	g->play[0].mute = true;
	g->play[1].n_actions = 2;
	rig_open(g);
	rig_do(g, &work);
	assert_int_equal(g->load->n_lost, 1);
	assert_non_null(strstr(g->load->why, "neither sends a request nor ends"));
	assert_int_equal(rig_actions(g), 2);
	rig_free(g);
}

static void a_script_that_asks_for_more_than_the_store_takes_is_a_defect_with_a_text(void **state)
{
	const struct engine_job work = rig_work(0);
	struct rig *g = rig_of(1, 1);

	(void)state;
	g->play[0].slow.window = 2;
	g->play[0].slow.service_ns = MS;
	g->play[0].window = g->play[0].n_requests = 3;
	rig_open(g);
	rig_do(g, &work);
	assert_int_equal(g->load->n_lost, 1);
	assert_non_null(strstr(g->load->why, "too much at a time"));
	rig_free(g);
}

static void an_engine_whose_job_was_not_joined_is_freed(void **state)
{
	const struct engine_job work = rig_work(0);
	struct rig *g = rig_of(3, 2);

	(void)state;
	for (unsigned int i = 0; i < 3; i++)
		g->play[i].n_actions = 10;
	rig_open(g);
	rig_start(g, &work);
	g->load = NULL;
	rig_free(g);
}

/* ---- the measured time ---- */

static void asked(struct rig *g, unsigned int n)
{
	for (unsigned int i = 0; i < g->n; i++)
		while (g->play[i].slow.n_submitted < n)
			usleep(200);
}

/* As where a steady rate is waited for. What was done before is not counted. */
static void the_measured_time_is_moved_while_a_job_is_under_way(void **state)
{
	struct engine_job work = rig_work(100 * MS);

	(void)state;
	work.settle_ns = 1000000 * MS;
	for (unsigned int t = 1; t <= 3; t++) {
		struct rig *g = rig_of(4, t);
		uint64_t measure_ns, ended = 0;

		for (unsigned int i = 0; i < 4; i++)
			g->play[i].slow.service_ns = MS;
		rig_open(g);
		rig_start(g, &work);
		asked(g, 3);
		measure_ns = clock_now_ns() + 200 * MS;
		engine_retime(g->engine, measure_ns, measure_ns + 1000 * MS);
		engine_retime(g->engine, 0, measure_ns + 500 * MS); /* only the end */
		assert_true(engine_wait(g->engine, 10000 * MS));
		rig_join(g);
		rig_adds_up(g);
		assert_int_equal(g->load->measure_ns, measure_ns);
		assert_int_equal(g->load->end_ns, measure_ns + 500 * MS);
		for (unsigned int i = 0; i < 4; i++)
			ended += g->play[i].ended;
		/* What was under way while a thread did not run is in no second. */
		assert_true(rig_seconds(g) == ended ||
			    (g->load->n_pauses && rig_seconds(g) < ended));
		assert_in_range(rig_actions(g), 1, 4 * 501);
		assert_true(rig_actions(g) + 4 * 2 <= ended); /* the third was under way */
		rig_free(g);
	}
}

/* ---- stop ---- */

/* The job under way ends; not within 10 s: the test fails. */
static void stops(struct rig *g)
{
	g->stop = 1;
	assert_true(engine_wait(g->engine, 10000 * MS));
	rig_join(g);
	rig_adds_up(g);
	g->stop = 0;
}

static void a_stop_ends_opening(void **state)
{
	const struct engine_job open = { .what = ENGINE_OPEN };
	struct engine_client client[6];
	struct rig *g = rig_of(6, 2);

	(void)state;
	for (unsigned int i = 0; i < 6; i++) {
		g->play[i].slow.never_opens = true;
		client[i] = (struct engine_client) { .begin = slow_begin,
						     .user = &g->play[i].slow };
	}
	assert_int_equal(engine_new(&g->engine, &g->opts, client, 6, &g->e), 0);
	rig_start(g, &open);
	while (!g->play[0].slow.n_begun)
		usleep(200);
	stops(g);
	assert_int_equal(g->load->n_open, 0);
	assert_int_equal(g->load->n_lost, 0);
	assert_non_null(strstr(g->load->why, "interrupted"));
	rig_free(g);
}

static void a_stop_ends_a_ramp_and_a_pause(void **state)
{
	struct engine_job ramp = rig_work(1000000 * MS), think = ramp;
	struct rig *g = rig_of(4, 2);

	(void)state;
	ramp.ramp_ns = 1000000 * MS;
	think.think = &(const struct draw) { .kind = DRAW_EXPONENTIAL, .value = 1000000 * MS };
	rig_open(g);
	rig_start(g, &ramp);
	while (!g->play[0].slow.n_submitted)
		usleep(200);
	stops(g);
	assert_int_equal(rig_actions(g), 0);
	assert_int_equal(g->play[3].begun, 0);
	assert_true(rig_seconds(g) > 0);
	assert_true(g->load->end_ns < g->load->measure_ns);
	rig_start(g, &think);
	asked(g, 1);
	stops(g);
	assert_int_equal(g->load->n_lost, 0);
	assert_true(rig_actions(g) >= 3 && rig_actions(g) <= 4);
	rig_free(g);
}

static void actions_under_way_at_a_stop_are_completed(void **state)
{
	const struct engine_job work = rig_work(1000000 * MS);
	struct rig *g = rig_of(4, 2);
	uint64_t ended = 0;

	(void)state;
	g->opts.patience_ns = 10000 * MS;
	for (unsigned int i = 0; i < 4; i++) {
		g->play[i].slow.service_ns = 20 * MS;
		g->play[i].slow.by_fd = i % 2;
	}
	rig_open(g);
	rig_start(g, &work);
	asked(g, 1);
	stops(g);
	assert_int_equal(g->load->n_lost, 0);
	assert_int_equal(g->load->n_cut, 0);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(g->play[i].begun, g->play[i].ended);
		ended += g->play[i].ended;
	}
	/* all in the figures but those that ended after the stop, one a client */
	assert_int_equal(rig_actions(g) + g->load->n_outlasting, ended);
	assert_true(g->load->n_outlasting <= 4);
	assert_true(g->load->done_ns < g->load->end_ns + 10000 * MS);
	rig_free(g);
}

/* More arrivals than can be looked at leave time to look at the stop. */
static void a_load_that_cannot_be_offered_is_stopped(void **state)
{
	struct engine_job work = rig_work(1000000 * MS);

	(void)state;
	for (unsigned int k = 0; k < 4; k++) {
		struct rig *g = rig_of(4, 1 + k % 2);

		work.pace = (struct pace_opts) { k < 2 ? PACE_POISSON : PACE_FIXED, 1e11, 1 };
		work.queue = k % 2 ? 10 : ENGINE_QUEUE_ALL;
		for (unsigned int i = 0; i < 4; i++)
			g->play[i].slow.service_ns = MS;
		rig_open(g);
		rig_start(g, &work);
		asked(g, 2);
		stops(g);
		assert_true(g->load->unoffered_ns > 0);
		assert_int_equal(g->load->n_lost, 0);
		rig_free(g);
	}
}

static void what_has_no_answer_after_a_stop_is_given_up_and_counted(void **state)
{
	const struct engine_job work = rig_work(1000000 * MS);
	struct rig *g = rig_of(5, 2);

	(void)state;
	for (unsigned int i = 0; i < 5; i++) {
		g->play[i].slow.silent = true;
		g->play[i].slow.never_ends = i == 4;
	}
	rig_open(g);
	rig_start(g, &work);
	asked(g, 1);
	stops(g);
	assert_int_equal(g->load->n_lost, 5);
	assert_int_equal(g->load->n_cut, 5);
	assert_int_equal(rig_actions(g), 0);
	assert_non_null(strstr(g->load->why, "interrupted"));
	rig_free(g);
}

static void a_stop_ends_ending_but_for_who_ignores_it(void **state)
{
	struct engine_job end = end_job, work = rig_work(0);
	struct rig *g = rig_of(4, 2);

	(void)state;
	end.ignores_stop = work.ignores_stop = true;
	for (unsigned int i = 0; i < 4; i++) {
		g->play[i].slow.ending_ns = 20 * MS;
		g->play[i].n_actions = 3;
	}
	g->play[1].slow.never_ends = true;
	rig_open(g);
	g->stop = 1;
	rig_do(g, &work);
	assert_int_equal(rig_actions(g), 12);
	end.from = 2;
	rig_do(g, &end);
	assert_int_equal(g->play[2].slow.n_closed, 1);
	assert_int_equal(g->play[3].slow.n_closed, 1);
	rig_start(g, &end_job);
	stops(g);
	assert_int_equal(g->play[1].slow.n_closed, 0);
	rig_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_follow_one_another_and_count_all),
		cmocka_unit_test(sessions_that_are_refused_are_counted_and_the_others_go_on),
		cmocka_unit_test(failures_are_counted_and_have_no_latency),
		cmocka_unit_test(as_many_sessions_are_opened_at_a_time_as_allowed),
		cmocka_unit_test(a_job_is_for_the_clients_of_its_range),
		cmocka_unit_test(more_threads_than_clients_do_no_harm),
		cmocka_unit_test(sessions_without_a_script_are_kept_for_the_job_s_time),
		cmocka_unit_test(sessions_without_a_script_send_tickles_and_are_seen_to_be_lost),
		cmocka_unit_test(a_script_that_neither_asks_nor_ends_is_a_defect_and_no_hang),
		cmocka_unit_test(
		    a_script_that_asks_for_more_than_the_store_takes_is_a_defect_with_a_text),
		cmocka_unit_test(an_engine_whose_job_was_not_joined_is_freed),
		cmocka_unit_test(the_measured_time_is_moved_while_a_job_is_under_way),
		cmocka_unit_test(a_stop_ends_opening),
		cmocka_unit_test(a_stop_ends_a_ramp_and_a_pause),
		cmocka_unit_test(actions_under_way_at_a_stop_are_completed),
		cmocka_unit_test(a_load_that_cannot_be_offered_is_stopped),
		cmocka_unit_test(what_has_no_answer_after_a_stop_is_given_up_and_counted),
		cmocka_unit_test(a_stop_ends_ending_but_for_who_ignores_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
