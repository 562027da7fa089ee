/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops of the engine: when actions begin, what is counted, and that every arrival is accounted for
 * once, whatever the stores do. The clock goes on when it is read, and when all threads wait
 * (unit/shared_clock.h): what happens does not depend on the machine.
 */
#include "unit/clocked_rig.h"

/* ---- closed loop ---- */

static void a_client_begins_when_its_last_action_has_ended(void **state)
{
	const struct engine_job work = rig_work(1000 * MS);

	(void)state;
	for (unsigned int t = 1; t <= 3; t++) {
		struct rig *g = rig(5, t);

		for (unsigned int i = 0; i < 5; i++) {
			g->play[i].slow.service_ns = (1 + i) * MS;
			g->play[i].n_requests = 2;
			g->play[i].by_turns = true;
		}
		rig_open(g);
		rig_do(g, &work);
		rig_adds_up(g);
		for (unsigned int i = 0; i < 5; i++) {
			const struct run_client *c = &g->load->client[i];

			assert_true(is_about(c->actions, 500 / (1 + i), 2));
			/* what began before the end is waited for, and outlasts the window */
			assert_int_equal(g->play[i].begun, c->actions + 1);
			assert_true(is_about(c->bytes, 20 * c->actions + 10, 10));
			assert_true(c->last_ns >= 989 * MS && c->last_ns < 1000 * MS);
		}
		assert_true(is_about(g->load->action[0].n, g->load->action[1].n, 5));
		assert_true(is_about(g->load->action[0].planned.min, 2 * MS, 10000));
		assert_true(is_about(g->load->action[0].planned.max, 10 * MS, 10000));
		assert_int_equal(g->load->n_arrivals, 0);
		assert_int_equal(g->load->n_cut, 0);
		assert_int_equal(g->load->late_n, 0);
		assert_int_equal(g->load->end_ns, g->load->begin_ns + 1000 * MS);
		assert_int_equal(g->load->n_outlasting, 5);
		assert_true(is_about(g->load->outlasting_max_ns, 10 * MS, 10000));
		assert_int_equal(engine_done(g->engine), rig_actions(g) + 5);
		rig_free(g);
	}
}

/* Actions that end in the measured time, and in all, from its pauses' draws. */
static unsigned int expected(unsigned int client, const struct engine_job *job, unsigned int *all)
{
	uint64_t end_ns = job->ramp_ns + job->settle_ns + job->duration_ns;
	uint64_t at_ns = job->ramp_ns / 5 * client;
	unsigned short random[3];
	unsigned int n = 0;

	pace_seed(random, job->pace.seed, (2ull << 32) + client);
	for (; at_ns < end_ns; (*all)++) {
		n += at_ns + MS >= job->ramp_ns + job->settle_ns && at_ns + MS < end_ns;
		at_ns += MS + job->pause_ns + draw_next(job->think, random);
	}
	return n;
}

static void clients_begin_one_after_the_other_think_and_pause(void **state)
{
	struct engine_job work = rig_work(3000 * MS);

	(void)state;
	work.ramp_ns = 500 * MS;
	work.settle_ns = 100 * MS;
	work.think = &(const struct draw) { .kind = DRAW_EXPONENTIAL, .value = 5 * MS };
	work.pause_ns = MS;
	work.pace.seed = 3;
	for (unsigned int t = 1; t <= 3; t++) {
		struct rig *g = rig(5, t);
		unsigned int n = 0, all = 0;

		for (unsigned int i = 0; i < 5; i++)
			g->play[i].slow.service_ns = MS;
		rig_open(g);
		rig_do(g, &work);
		rig_adds_up(g);
		for (unsigned int i = 0; i < 5; i++) {
			assert_true(is_about(g->play[i].slow.first_ns,
					     g->load->begin_ns + i * 100 * MS, 10000));
			assert_true(
			    is_about(g->load->client[i].first_ns, g->play[i].slow.first_ns, 10000));
			n += expected(i, &work, &all);
		}
		assert_true(n > 2000 && n < 3000); /* 5 * 3 s / 7 ms */
		assert_true(is_about(rig_actions(g), n, 5));
		assert_int_equal(g->load->measure_ns, g->load->begin_ns + 600 * MS);
		/* those of the ramp are in the seconds only */
		assert_true(is_about(rig_seconds(g), all, 5));
		assert_true(is_about(g->load->second[1].n, n / 3, n / 10));
		assert_int_equal(g->load->second[4].n, 0);
		rig_free(g);
	}
}

/* Client k of those that work, in each thread and while their number rises and falls. */
static void as_many_clients_work_as_the_profile_says(void **state)
{
	struct engine_job work = rig_work(6000 * MS);
	struct rate crowd;

	(void)state;
	work.settle_ns = 500 * MS;
	work.crowd = &crowd;
	/* a rise, a step up, a fall, none, a step up */
	assert_int_equal(rate_parse(&crowd, "0:1,2:5,2:8,3:8,4:0,5:0,5:6", NULL), 0);
	for (unsigned int t = 1; t <= 3; t++) {
		/* when client i works: from its turn on the rise to its turn on the fall */
		static const uint64_t on_ms[8] = { 0, 500, 1000, 1500, 2000, 2000, 2000, 2000 };
		struct rig *g = rig(8, t);
		uint64_t part[5], wanted[5] = { 0 };

		for (unsigned int i = 0; i < 8; i++)
			g->play[i].slow.service_ns = MS;
		rig_open(g);
		rig_do(g, &work);
		rig_adds_up(g);
		for (uint64_t i = 0; i < 8; i++) {
			uint64_t off_ms = 3000 + (7 - i) * 125, again_ms = i < 6 ? 1000 : 0;
			/* the first client works before the measured time, too */
			uint64_t ms = off_ms - on_ms[i] + again_ms;

			assert_true(is_about(g->load->client[i].actions, ms, 5));
			wanted[0] += 2000 - on_ms[i];
			wanted[2] += off_ms - 3000;
			wanted[4] += again_ms;
		}
		wanted[1] = 8000;
		wanted[3] = 0;
		assert_true(g->load->stages_of_clients);
		assert_int_equal(g->load->n_stages, 5);
		for (unsigned int k = 0; k < 5; k++) {
			part[k] = g->load->stage[k].done.n;
			assert_true(is_about(part[k], wanted[k], 40));
			assert_int_equal(g->load->stage[k].done.planned.n, part[k]);
		}
		assert_int_equal(part[0] + part[1] + part[2] + part[3] + part[4], rig_actions(g));
		assert_int_equal(g->load->late_n, 0);
		rig_free(g);
	}
}

/* Whatever began when: an action that took the whole measured time is said apart. */
static void what_ends_in_the_measured_time_is_counted(void **state)
{
	struct engine_job work = rig_work(100 * MS);

	(void)state;
	work.settle_ns = 50 * MS;
	for (unsigned int t = 1; t <= 3; t++) {
		struct rig *g = rig(4, t);

		g->play[0].slow.service_ns = 10000;
		g->play[0].slow.stall_at = 1; /* to 500 ms */
		g->play[0].slow.stall_ns = 500 * MS;
		g->play[1].slow.service_ns = 1000 * MS; /* cut off at 80 ms */
		g->play[1].slow.lose_ns = 80 * MS;
		g->play[2].slow.service_ns = 30 * MS; /* from 30 to 60 ms */
		g->play[3].slow.service_ns = 10 * MS; /* to 10 ms */
		g->play[3].n_actions = 1;
		rig_open(g);
		rig_do(g, &work);
		rig_adds_up(g);
		assert_int_equal(g->load->n_outlasting, 2);
		assert_true(is_about(g->load->outlasting_max_ns, 500 * MS, MS));
		assert_true(is_about(g->load->client[0].outlasting_ns, 500 * MS, MS));
		assert_true(g->load->client[2].outlasting_ns < 50 * MS);
		assert_int_equal(g->load->client[0].actions, 0);
		assert_int_equal(g->load->client[1].actions, 0);
		assert_int_equal(g->load->client[2].actions, 3); /* to 60, 90, 120 */
		assert_int_equal(g->load->client[3].actions, 0);
		assert_int_equal(g->load->n_cut, 1);
		assert_true(is_about(g->load->action[0].planned.max, 30 * MS, MS));
		rig_free(g);
	}
}

/*
 * Clients in step, each with one request of 10 bytes every 10 ms, of actions that take from 10 ms
 * to twice the measured time: the server does the same all the time.
 */
static void bytes_are_those_of_the_requests_answered_in_the_measured_time(void **state)
{
	static const unsigned int requests[] = { 1, 5, 16, 24, 28, 34, 57, 100 };
	struct engine_job work = rig_work(500 * MS);

	(void)state;
	work.settle_ns = 30 * MS;
	for (size_t k = 0; k < sizeof(requests) / sizeof(requests[0]); k++) {
		struct rig *g = rig(4, 1 + k % 3);
		uint64_t bytes = 0;

		for (unsigned int i = 0; i < 4; i++) {
			g->play[i].slow.service_ns = 10 * MS;
			g->play[i].n_requests = requests[k];
			if (i == 3) /* who fails moves nothing that counts */
				g->play[i].fail_every = 1;
		}
		rig_open(g);
		rig_do(g, &work);
		rig_adds_up(g);
		for (unsigned int i = 0; i < 3; i++)
			bytes += g->load->client[i].bytes;
		assert_true(is_about(bytes, 3 * 500, 3 * 10));
		/* but for an action that has not failed yet */
		assert_true(g->load->client[3].bytes <= 10 * requests[k]);
		assert_true(is_about(rig_actions(g), 4 * 50 / requests[k], 4));
		assert_int_equal(g->load->n_outlasting, 4);
		rig_free(g);
	}
}

static void fairness_is_that_of_the_clients_actions(void **state)
{
	const struct engine_job work = rig_work(0);
	struct rig *g = rig(4, 2);

	(void)state;
	for (unsigned int i = 0; i < 4; i++)
		g->play[i].n_actions = i ? 1 : 7;
	rig_open(g);
	rig_do(g, &work);
	/* (7+1+1+1)^2 / (4 * (49+1+1+1)) */
	assert_true(run_load_fairness(g->load) > 0.48 && run_load_fairness(g->load) < 0.481);
	rig_free(g);
}

/* Answers that are always there are no reason to forget the other clients of the thread. */
static void a_client_that_never_waits_does_not_starve_the_others(void **state)
{
	const struct engine_job work = rig_work(50 * MS);
	struct rig *g = rig(4, 1);

	(void)state;
	g->play[2].slow.service_ns = g->play[3].slow.service_ns = MS;
	rig_open(g);
	rig_do(g, &work);
	rig_adds_up(g);
	assert_true(g->load->client[0].actions > 10000);
	assert_true(is_about(g->load->client[0].actions, g->load->client[1].actions, 100));
	assert_true(is_about(g->load->client[2].actions, 49, 2));
	assert_true(is_about(g->load->client[3].actions, 49, 2));
	rig_free(g);
}

/* ---- open loop ---- */

static void fixed_arrivals_come_as_planned(void **state)
{
	struct engine_job work = open_loop(PACE_FIXED, 2000, 100 * MS);

	(void)state;
	for (unsigned int t = 1; t <= 3; t++) {
		struct rig *g = rig(6, t);

		work.ramp_ns = t == 2 ? 20 * MS : 0;
		rig_open(g);
		rig_do(g, &work);
		rig_adds_up(g);
		assert_int_equal(g->load->n_arrivals, 200);
		assert_int_equal(rig_actions(g), 200);
		assert_int_equal(rig_seconds(g), t == 2 ? 240 : 200);
		assert_true(g->load->action[0].planned.max < 10000);
		assert_int_equal(g->load->late_n, 0);
		/* dealt out in turn */
		for (unsigned int i = 0; i < 6; i++)
			assert_true(is_about(g->load->client[i].actions, 33, 2));
		rig_free(g);
	}
}

static void poisson_arrivals_are_those_of_the_pace(void **state)
{
	struct engine_job work = open_loop(PACE_POISSON, 3000, 800 * MS);

	(void)state;
	work.settle_ns = 20 * MS;
	for (unsigned int t = 1; t <= 3; t++) {
		struct rig *g = rig(6, t);
		uint64_t n = 0;
		struct pace p;

		for (unsigned int k = 0; k < t; k++) {
			pace_begin(&p, &work.pace, k, t, 0);
			for (; pace_due_ns(&p) < 820 * MS; pace_next(&p))
				n += pace_due_ns(&p) >= 20 * MS;
		}
		rig_open(g);
		rig_do(g, &work);
		rig_adds_up(g);
		assert_int_equal(g->load->n_arrivals, n);
		assert_int_equal(rig_actions(g), n);
		rig_free(g);
	}
}

static void what_finds_no_room_is_dropped_and_counted(void **state)
{
	struct engine_job work = open_loop(PACE_FIXED, 1500, 100 * MS);

	(void)state;
	for (unsigned int t = 1; t <= 3; t++) {
		struct rig *g = rig(3, t);

		for (unsigned int i = 0; i < 3; i++)
			g->play[i].slow.service_ns = 10 * MS;
		rig_open(g);
		work.queue = 4;
		rig_do(g, &work);
		rig_adds_up(g);
		assert_int_equal(g->load->n_arrivals, 150);
		assert_int_equal(rig_actions(g), 30);
		assert_int_equal(g->load->n_waiting, 4);
		assert_int_equal(g->load->n_no_room, 116);
		/* each waits for four others of three clients, and is done */
		assert_true(is_about(g->load->action[0].planned.max, 25 * MS, 6 * MS));
		/* four fifths of all, in the end for as long as since they were due */
		assert_int_equal(g->load->undone.n, 120);
		assert_true(is_about(g->load->undone.max, 95 * MS, 2 * MS));
		assert_true(is_about(g->load->undone.sum, 120 * 48 * MS, 120 * 2 * MS));
		assert_true(is_about(g->load->action[0].begun.max, 10 * MS, 10000));
		work.queue = 0;
		rig_do(g, &work);
		rig_adds_up(g);
		assert_int_equal(g->load->n_waiting, 0);
		assert_int_equal(g->load->undone.n, 0);
		assert_true(g->load->action[0].planned.max < 11 * MS);
		rig_free(g);
	}
}

/*
 * The store stalls for 100 ms: one action takes that long from its real start. But those that were
 * to begin meanwhile waited, too: one in each 2 ms, the first of them for nearly all of the stall.
 */
static void a_stall_is_in_the_latencies_from_the_planned_start(void **state)
{
	const struct engine_job work = open_loop(PACE_FIXED, 500, 1000 * MS);
	struct rig *g = rig(1, 1);
	const struct run_action *a;

	(void)state;
	g->play[0].slow.stall_at = 20;
	g->play[0].slow.stall_ns = 100 * MS;
	g->play[0].slow.service_ns = 10000;
	rig_open(g);
	rig_do(g, &work);
	rig_adds_up(g);
	a = &g->load->action[0];
	assert_int_equal(a->n, 500);
	assert_int_equal(at_least(&a->begun, 10 * MS), 1);
	assert_true(is_about(a->begun.max, 100 * MS, MS));
	assert_true(is_about(a->planned.max, 100 * MS, MS));
	/* one that was planned in each 2 ms of the first 90, 50, 10 of the 100 ms */
	assert_true(is_about(at_least(&a->planned, 10 * MS), 45, 2));
	assert_true(is_about(at_least(&a->planned, 50 * MS), 25, 2));
	assert_true(is_about(at_least(&a->planned, 90 * MS), 5, 2));
	/* 100 + 98 + ... + 2 ms, against 100 ms */
	assert_true(is_about(a->planned.sum, 2550 * MS, 60 * MS));
	assert_true(is_about(a->begun.sum, 100 * MS, 10 * MS));
	/* who waited for a client was not late because of the generator */
	assert_int_equal(g->load->late_n, 0);
	assert_int_equal(g->load->n_outlasting, 0);
	rig_free(g);
}

/* A submit that takes 20 ms keeps the thread from beginning what another, free client is to do. */
static void late_is_what_the_generator_itself_delayed(void **state)
{
	const struct engine_job work = open_loop(PACE_FIXED, 500, 30 * MS);
	struct rig *g = rig(3, 1);

	(void)state;
	g->play[1].slow.block_ns = 20 * MS;
	g->play[1].n_requests = 2;
	rig_open(g);
	rig_do(g, &work);
	rig_adds_up(g);
	/* client 0 at 0, 1 from 2 to 42 ms; 13 arrivals are looked at when all is over */
	assert_int_equal(g->load->late_n, 13);
	assert_true(is_about(g->load->late_max_ns, 38 * MS, MS));
	assert_int_equal(rig_actions(g), 2);
	assert_int_equal(g->load->n_waiting, 13);
	g->play[1].n_requests = 1;
	rig_do(g, &work);
	rig_adds_up(g);
	assert_true(g->load->late_n >= 1);
	assert_true(is_about(g->load->late_max_ns, 18 * MS, MS));
	rig_free(g);
}

/* ---- sessions that are lost ---- */

static void an_action_whose_session_is_lost_is_counted_as_cut_off(void **state)
{
	struct engine_job work = rig_work(100 * MS);

	(void)state;
	for (unsigned int open = 0; open < 2; open++) {
		if (open)
			work = open_loop(PACE_POISSON, 1000, 100 * MS);
		for (unsigned int t = 1; t <= 3; t++) {
			struct rig *g = rig(6, t);

			for (unsigned int i = 0; i < 6; i++)
				g->play[i].slow.service_ns = MS;
			g->play[1].slow.lose_at = 3;
			g->play[1].slow.ending_ns = MS;
			g->play[4].slow.lose_at = 1;
			rig_open(g);
			rig_do(g, &work);
			rig_adds_up(g);
			assert_int_equal(g->load->n_lost, 2);
			assert_int_equal(g->load->n_cut, 2);
			assert_int_equal(g->load->n_open, 6);
			assert_true(g->load->client[1].lost && g->load->client[4].lost);
			assert_int_equal(g->load->client[1].actions, 2);
			assert_int_equal(g->load->client[4].actions, 0);
			assert_true(g->load->client[0].actions > 10);
			assert_string_equal(g->load->why, "the connection was lost");
			assert_int_equal(g->load->end_ns, g->load->measure_ns + 100 * MS);
			rig_free(g);
		}
	}
}

/* Who was free when his session was lost has his turn no more: another one does it. */
static void a_session_lost_at_rest_takes_no_arrival_with_it(void **state)
{
	const struct engine_job work = open_loop(PACE_FIXED, 1000, 100 * MS);

	(void)state;
	for (unsigned int t = 1; t <= 3; t++) {
		struct rig *g = rig(6, t);

		for (unsigned int i = 0; i < 3; i++) {
			g->play[i].slow.lose_ns = 10500000 + 5 * i * MS;
			g->play[i].slow.ending_ns = i * 10 * MS;
		}
		rig_open(g);
		rig_do(g, &work);
		rig_adds_up(g);
		assert_int_equal(g->load->n_arrivals, 100);
		assert_int_equal(g->load->n_lost, 3);
		assert_int_equal(rig_actions(g), 100);
		rig_free(g);
	}
}

/* The rate asked for is that of all threads, also when one of them has no client any more. */
static void arrivals_of_a_thread_without_clients_are_done_by_others(void **state)
{
	struct engine_job work = open_loop(PACE_FIXED, 1000, 100 * MS);
	struct rig *g = rig(4, 2);

	(void)state;
	work.queue = 5;
	g->play[1].slow.lose_ns = g->play[3].slow.lose_ns = 20500000; /* the second thread's */
	rig_open(g);
	rig_do(g, &work);
	rig_adds_up(g);
	assert_int_equal(g->load->n_lost, 2);
	assert_int_equal(g->load->n_arrivals, 100);
	assert_int_equal(rig_actions(g), 100);
	assert_int_equal(g->load->late_n, 0);
	assert_true(g->load->action[0].planned.max < 10000);
	assert_int_equal(g->load->end_ns, g->load->begin_ns + 100 * MS);
	rig_free(g);
}

/* A rate is that of the time in which there was a client. */
static void the_measured_time_ends_with_the_last_session(void **state)
{
	struct engine_job work = rig_work(100000 * MS);

	(void)state;
	for (unsigned int t = 0; t <= 3; t++) {
		struct rig *g = rig(4, t ? t : 1);

		if (!t)
			work = open_loop(PACE_POISSON, 1000, 100000 * MS);
		else
			work = rig_work(100000 * MS);
		for (unsigned int i = 0; i < 4; i++) {
			g->play[i].slow.service_ns = MS;
			g->play[i].slow.lose_ns = (i + 1) * 10 * MS;
		}
		rig_open(g);
		rig_do(g, &work);
		rig_adds_up(g);
		assert_int_equal(g->load->n_lost, 4);
		assert_true(is_about(g->load->end_ns, g->load->begin_ns + 39 * MS, 2 * MS));
		rig_free(g);
	}
}

static void what_a_script_that_has_ended_was_to_do_is_counted(void **state)
{
	const struct engine_job work = open_loop(PACE_FIXED, 1000, 50 * MS);
	struct rig *g = rig(2, 1);

	(void)state;
	g->play[0].n_actions = 3;
	rig_open(g);
	rig_do(g, &work);
	rig_adds_up(g);
	assert_int_equal(g->load->n_arrivals, 50);
	assert_int_equal(g->load->client[0].actions, 3);
	assert_int_equal(g->load->client[1].actions, 46);
	assert_int_equal(g->load->n_no_room, 1);
	rig_free(g);
}

static void a_stop_leaves_what_waited_accounted_for(void **state)
{
	struct engine_job work = open_loop(PACE_FIXED, 3000, 100000 * MS);

	(void)state;
	work.queue = 10;
	for (unsigned int t = 1; t <= 3; t++) {
		struct rig *g = rig(4, t);

		for (unsigned int i = 0; i < 4; i++) {
			g->play[i].slow.service_ns = i % 2 ? 20 * MS : 2 * MS;
			g->play[i].slow.stall_at = 3;
			g->play[i].slow.stall_ns = i == 3 ? 100000 * MS : 0;
		}
		g->play[0].stop_at = 100;
		rig_open(g);
		rig_do(g, &work);
		rig_adds_up(g);
		if (t == 1) /* client 3: it has no answer */
			assert_int_equal(g->load->n_lost, 1);
		assert_int_equal(g->load->n_cut, g->load->n_lost);
		assert_int_equal(g->load->client[0].actions, 100);
		assert_true(g->load->n_waiting > 0);
		rig_free(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_begins_when_its_last_action_has_ended),
		cmocka_unit_test(clients_begin_one_after_the_other_think_and_pause),
		cmocka_unit_test(as_many_clients_work_as_the_profile_says),
		cmocka_unit_test(what_ends_in_the_measured_time_is_counted),
		cmocka_unit_test(bytes_are_those_of_the_requests_answered_in_the_measured_time),
		cmocka_unit_test(fairness_is_that_of_the_clients_actions),
		cmocka_unit_test(a_client_that_never_waits_does_not_starve_the_others),
		cmocka_unit_test(fixed_arrivals_come_as_planned),
		cmocka_unit_test(poisson_arrivals_are_those_of_the_pace),
		cmocka_unit_test(what_finds_no_room_is_dropped_and_counted),
		cmocka_unit_test(a_stall_is_in_the_latencies_from_the_planned_start),
		cmocka_unit_test(late_is_what_the_generator_itself_delayed),
		cmocka_unit_test(an_action_whose_session_is_lost_is_counted_as_cut_off),
		cmocka_unit_test(a_session_lost_at_rest_takes_no_arrival_with_it),
		cmocka_unit_test(arrivals_of_a_thread_without_clients_are_done_by_others),
		cmocka_unit_test(the_measured_time_ends_with_the_last_session),
		cmocka_unit_test(what_a_script_that_has_ended_was_to_do_is_counted),
		cmocka_unit_test(a_stop_leaves_what_waited_accounted_for),
	};

	return cmocka_run_group_tests(tests, shared_clock_begin, NULL);
}
