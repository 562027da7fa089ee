/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests user/doctor/figures/clients.c, parts.c: the figures of one client. */
#include "unit/clients_rig.h"

static void round_trips_take_their_number_times_their_length(void **state)
{
	struct run *r = made();
	struct run_session *s = client(r, 400, 21 * MS);
	struct run_figures f;

	(void)state;
	s->tcp.min_rtt_ns = 20 * MS;
	s->busy_ns = 500 * MS;
	f = measured(r);
	is(&f, RUN_FIGURE_TRIPS, 0.8);
	is(&f, RUN_FIGURE_TRIP_RTT, 20e6);
	is(&f, RUN_FIGURE_TRIP_RATE, 40);
	is(&f, RUN_FIGURE_TRIP_BUSY, 0.05);
	is(&f, RUN_FIGURE_TRIP_1000, 20e9);
	assert_string_equal(f.who[RUN_FIGURE_TRIPS], "anna from 192.0.2.1:50000");
	/* They are not the client's pauses, too. */
	is(&f, RUN_FIGURE_PAUSED, 0);
}

/* Actions of 100 ms with 3 round trips of 20 ms, and half as many of 10 ms with one of them. */
static void actions_of_a_load_have_their_share_of_round_trips(void **state)
{
	struct run *r = made();
	struct run_load *l = run_load_new(1, 2, 1);
	struct run_figures f;

	(void)state;
	assert_non_null(l);
	client(r, 400, 21 * MS);
	r->phase[0]->load = l;
	for (int i = 0; i < 10; i++)
		hist_add(&l->action[0].begun, 100 * MS);
	l->action[0].name = "read";
	l->action[0].trips = (struct run_trips) { .n = 10, .sum = 30 };
	for (int i = 0; i < 5; i++)
		hist_add(&l->action[1].begun, 10 * MS);
	l->action[1].name = "look";
	l->action[1].trips = (struct run_trips) { .n = 5, .sum = 5 };
	l->rtt_n = 2;
	l->rtt_sum_ns = 40 * MS;
	f = measured(r);
	is(&f, RUN_FIGURE_ACTION_TRIPS, 650. / 1050);
	assert_string_equal(f.who[RUN_FIGURE_ACTION_TRIPS], "look");
}

/* A request that comes sooner was sent before the reply arrived. */
static void a_pause_shorter_than_a_round_trip_is_none(void **state)
{
	struct run *r = made();
	struct run_figures f;

	(void)state;
	client(r, 400, 2 * MS)->tcp.min_rtt_ns = 20 * MS;
	f = measured(r);
	is(&f, RUN_FIGURE_TRIPS, 0);
}

static void a_connection_that_is_not_seen_has_no_figures(void **state)
{
	struct run *r = made();
	struct run_figures f;

	(void)state;
	client(r, 400, 21 * MS)->tcp.known = false;
	f = measured(r);
	assert_false(f.known[RUN_FIGURE_TRIPS]);
	assert_false(f.known[RUN_FIGURE_LOST]);
	assert_false(f.known[RUN_FIGURE_WINDOW]);
	assert_false(f.known[RUN_FIGURE_PAUSE_RTT]);
	assert_true(f.value[RUN_FIGURE_PAUSED] > 0.7);
}

static void pauses_alike_are_those_of_one_length(void **state)
{
	struct run *r = made();
	struct run_session *s = client(r, 300, 20 * MS);
	struct run_figures f;

	(void)state;
	s->habit.pause[0] = 100;
	s->busy_ns = 2000 * MS;
	f = measured(r);
	is(&f, RUN_FIGURE_PAUSE_ALIKE, 0.75);
	is(&f, RUN_FIGURE_PAUSE_RTT, 20e3);
	is(&f, RUN_FIGURE_PAUSE_BUSY, 0.2);
	/* A bucket is at most 1/4 of its value wide. */
	assert_true(fabs(f.value[RUN_FIGURE_PAUSE] - 20e6) < 5e6);
	is(&f, RUN_FIGURE_PAUSED, 300 * f.value[RUN_FIGURE_PAUSE] / 10e9);
	assert_string_equal(f.who[RUN_FIGURE_PAUSED], "anna from 192.0.2.1:50000");
}

static void replies_are_on_their_way_at_the_rate_that_tcp_measured(void **state)
{
	struct run *r = made();
	struct run_session *s = drained(r, 4500000, 500000, 9500 * MS);
	struct run_figures f;

	(void)state;
	s->tcp.queue_mean = 120000;
	s->tcp.unsent_mean = 100000;
	s->tcp.rtt_ns = 46 * MS;
	f = measured(r);
	/* Nine seconds, less 100 round trips of 1 ms. */
	is(&f, RUN_FIGURE_LINK, 0.89);
	is(&f, RUN_FIGURE_LINK_RATE, 500000);
	is(&f, RUN_FIGURE_LINK_REPLY, 89e6);
	is(&f, RUN_FIGURE_LINK_QUEUE, 120000);
	is(&f, RUN_FIGURE_LINK_UNSENT, 100000);
	is(&f, RUN_FIGURE_LINK_RTT, 46e6);
	is(&f, RUN_FIGURE_LINK_RTT_LEAST, 1e6);
	is(&f, RUN_FIGURE_DRAIN, 0.89);
	assert_string_equal(f.who[RUN_FIGURE_LINK], "anna from 192.0.2.1:50000");
}

/* A client that asks every 20 ms acknowledges each reply only then. */
static void a_late_acknowledgement_is_not_the_link(void **state)
{
	struct run *r = made();
	struct run_figures f;

	(void)state;
	drained(r, 2000000, 1000000000, 8000 * MS);
	f = measured(r);
	is(&f, RUN_FIGURE_LINK, 0);
	is(&f, RUN_FIGURE_LINK_RATE, 1e9);
}

static void replies_that_the_client_does_not_take_are_not_on_the_link(void **state)
{
	struct run *r = made();
	struct run_figures f;

	(void)state;
	drained(r, 4500000, 500000, 9500 * MS)->tcp.window_ns = 8500 * MS;
	f = measured(r);
	is(&f, RUN_FIGURE_LINK, 0.09);
}

static void links_of_all_clients_add_up_and_one_is_named(void **state)
{
	struct run *r = made();
	struct run_session *s;
	struct run_figures f;

	(void)state;
	drained(r, 1100000, 1000000, 9500 * MS);
	s = drained(r, 2100000, 1000000, 9500 * MS);
	free(s->user);
	s->user = strdup("berta");
	s->requests = 0;
	drained(r, 0, 0, 0);
	drained(r, 600000, 0, 500 * MS); /* nothing measured, and not much */
	f = measured(r);
	is(&f, RUN_FIGURE_LINK, 0.2);
	is(&f, RUN_FIGURE_DRAIN, 0.3);
	assert_string_equal(f.who[RUN_FIGURE_LINK], "berta from 192.0.2.1:50000");
	/* No request was answered: one reply was on its way all that time. */
	is(&f, RUN_FIGURE_LINK_REPLY, 0.2 * 10e9);
}

static void a_rate_that_was_not_measured_makes_no_link(void **state)
{
	struct run *r = made();
	struct run_figures f;

	(void)state;
	drained(r, 600000, 0, 9500 * MS);
	client(r, 400, 21 * MS)->tcp.known = false;
	f = measured(r);
	assert_false(f.known[RUN_FIGURE_LINK]);
	assert_false(f.known[RUN_FIGURE_DRAIN]);
}

static void pauses_in_which_replies_are_on_their_way_are_not_the_clients(void **state)
{
	struct run_session *s;
	struct run_figures f;
	struct run *r;

	(void)state;
	/* Replies of 100 KB, each of which takes so long. */
	for (uint64_t ms = 2; ms <= 18; ms += 16) {
		r = made();
		s = client(r, 400, 20 * MS);
		s->tcp.acked = 40000000;
		s->tcp.rate = 100000 * 1000 / ms;
		s->tcp.busy_ns = 9000 * MS;
		f = measured(r);
		assert_true((f.value[RUN_FIGURE_LINK] > 0.3) == (ms == 18));
		assert_true((f.value[RUN_FIGURE_PAUSED] > 0) == (ms == 2));
	}
}

static void an_upload_is_time_in_which_a_request_was_not_whole(void **state)
{
	struct run *r = made();
	struct run_session *s = client(r, 4, MS);
	struct run_figures f;

	(void)state;
	s->habit.upload_ns = 9000 * MS;
	s->tcp.received = 4800000;
	client(r, 400, 21 * MS);
	f = measured(r);
	is(&f, RUN_FIGURE_UPLOAD, 0.9);
	is(&f, RUN_FIGURE_UPLOAD_RATE, 480000);
	is(&f, RUN_FIGURE_UPLOAD_RTT, 20e3);
	assert_string_equal(f.who[RUN_FIGURE_UPLOAD], "anna from 192.0.2.1:50000");
	r = made();
	s = client(r, 4, MS);
	s->habit.upload_ns = 9000 * MS;
	s->tcp.known = false;
	f = measured(r);
	is(&f, RUN_FIGURE_UPLOAD, 0.9);
	assert_false(f.known[RUN_FIGURE_UPLOAD_RATE] || f.known[RUN_FIGURE_UPLOAD_RTT]);
}

static void few_pauses_or_short_ones_say_nothing(void **state)
{
	struct run *r = made();
	struct run_figures f;

	(void)state;
	client(r, 29, 100 * MS);
	client(r, 5000, 2 * MS);
	f = measured(r);
	is(&f, RUN_FIGURE_PAUSED, 0);
	assert_string_equal(f.who[RUN_FIGURE_PAUSED], "anna from 192.0.2.1:50000");
}

static void a_delayed_acknowledgement_is_a_segment_more_and_40_ms(void **state)
{
	struct run_session *s;
	struct run_figures f;
	struct run *r;

	(void)state;
	for (uint64_t each = 1; each <= 2; each++) {
		r = made();
		s = client(r, 200, 44 * MS);
		s->tcp.segments = 200 * each;
		f = measured(r);
		is(&f, RUN_FIGURE_ACKS, each == 2);
	}
	is(&f, RUN_FIGURE_ACKS_RTT, 20e3);
	is(&f, RUN_FIGURE_ACKS_RATE, 20);
	/* 200 times some 44 ms: a bucket is at most 1/4 of its value wide. */
	assert_true(fabs(f.value[RUN_FIGURE_ACK_CLIENTS] - 0.88) < 0.1);
	r = made();
	client(r, 200, 60 * MS)->tcp.segments = 400;
	f = measured(r);
	is(&f, RUN_FIGURE_ACKS, 0);
	/* Replies of more than a segment. */
	r = made();
	s = client(r, 200, 44 * MS);
	s->tcp.segments = 400;
	s->bytes_out = 200 * 1500;
	f = measured(r);
	is(&f, RUN_FIGURE_ACKS, 0);
	/* Requests of many segments, which are acknowledged as well. */
	r = made();
	s = client(r, 200, 44 * MS);
	s->tcp.segments = 400;
	s->bytes_in = 200 * 65536;
	f = measured(r);
	is(&f, RUN_FIGURE_ACKS, 0);
}

static void segments_sent_again_count_from_twenty_on(void **state)
{
	struct run_session *s;
	struct run_figures f;
	struct run *r;

	(void)state;
	for (uint64_t n = 19; n <= 20; n++) {
		r = made();
		s = client(r, 100, MS);
		s->tcp.segments = 200;
		s->tcp.retransmitted = n;
		client(r, 300, MS);
		f = measured(r);
		is(&f, RUN_FIGURE_LOST, n < 20 ? 0 : 0.1);
	}
	is(&f, RUN_FIGURE_LOST_N, 20);
	is(&f, RUN_FIGURE_LOST_REQUESTS, 0.25);
}

static void a_closed_window_counts_against_the_watched_time(void **state)
{
	struct run *r = made();
	struct run_figures f;

	(void)state;
	client(r, 100, MS)->tcp.window_ns = 900 * MS;
	f = measured(r);
	is(&f, RUN_FIGURE_WINDOW, 0.09);
	/* So little is nobody's fault. */
	assert_string_equal(f.who[RUN_FIGURE_WINDOW], "");
	r = made();
	client(r, 100, MS)->tcp.window_ns = 4000 * MS;
	f = measured(r);
	is(&f, RUN_FIGURE_WINDOW, 0.4);
	assert_string_equal(f.who[RUN_FIGURE_WINDOW], "anna from 192.0.2.1:50000");
}

static void a_chatty_client_is_measured_against_all_requests(void **state)
{
	struct run *r = made();
	struct run_figures f;

	(void)state;
	client(r, 4500, MS);
	client(r, 400, MS);
	r->n_rest = 1;
	r->rest.requests = 100;
	f = measured(r);
	is(&f, RUN_FIGURE_CHATTY, 0.9);
	is(&f, RUN_FIGURE_CHATTY_RATE, 450);
	is(&f, RUN_FIGURE_CHATTY_BYTES, 100);
	assert_string_equal(f.who[RUN_FIGURE_CHATTY],
			    "anna from 192.0.2.1:50000: FPGetFileDirParms");
}

static void a_session_runs_on_a_cpu_or_waits_for_one(void **state)
{
	struct run_session *s;
	struct run *r = made();
	struct run_figures f;

	(void)state;
	s = client(r, 100, MS);
	s->has_cpu = true;
	s->cpu_ns = 6000 * MS;
	s->runq_ns = 3000 * MS;
	s->pid = 4711;
	s->busy_ns = 3000 * MS;
	client(r, 100, MS)->busy_ns = 1000 * MS;
	f = measured(r);
	is(&f, RUN_FIGURE_SESSION_RUN, 0.9);
	is(&f, RUN_FIGURE_SESSION_WAIT, 0.75);
	is(&f, RUN_FIGURE_SESSION_CPU, 0.6);
	assert_string_equal(f.who[RUN_FIGURE_SESSION_RUN], "anna (pid 4711)");
	r = made();
	client(r, 100, MS);
	f = measured(r);
	assert_false(f.known[RUN_FIGURE_SESSION_RUN]);
}

/* It ran whenever it served, for a third of the watch: the average says less than its client saw.
 */
static void a_session_may_fill_a_cpu_for_a_part_of_the_watch(void **state)
{
	static const struct {
		uint64_t busy_ms, cpu_ms;
		bool known;
	} of[] = { { 3300, 3250, false }, { 3300, 2000, true }, { 900, 890, true } };

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct run *r = made();
		struct run_session *s = client(r, 20, 5 * MS);
		struct run_figures f;

		s->has_cpu = true;
		s->busy_ns = of[i].busy_ms * MS;
		s->cpu_ns = of[i].cpu_ms * MS;
		s = client(r, 20, 5 * MS);
		s->has_cpu = true;
		s->busy_ns = s->cpu_ns = 10 * MS;
		f = measured(r);
		assert_int_equal(f.known[RUN_FIGURE_SESSION_RUN], of[i].known);
	}
}

/* What one that has ended used of a CPU is not known: it may be a cause if it lived long enough. */
static void a_session_that_has_ended_may_have_filled_a_cpu(void **state)
{
	static const struct {
		uint64_t busy_ms, lived_ms, other_ms;
		bool known, listed;
	} of[] = {
		{ 9300, 9700, 50, false, true },   { 9300, 9700, 50, false, false },
		{ 4900, 5000, 50, true, true },    { 4900, 5000, 50, true, false },
		{ 1000, 9700, 2000, true, true },  { 1000, 9700, 2000, true, false },
		{ 3000, 9700, 2000, false, true }, { 3000, 9700, 2000, false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct run_session *s;
		struct run *r = made();
		struct run_figures f;

		s = client(r, 100, MS);
		s->has_cpu = true;
		s->busy_ns = of[i].other_ms * MS;
		s->cpu_ns = s->busy_ns / 2;
		if (of[i].listed) {
			s = client(r, 5000, MS);
			s->busy_ns = of[i].busy_ms * MS;
			s->ended_ns = (AT + of[i].lived_ms) * MS;
		} else {
			r->n_rest = 1;
			r->rest.requests = 5000;
			r->rest.busy_ns = of[i].busy_ms * MS;
			r->rest_ns = of[i].lived_ms * MS;
		}
		f = measured(r);
		if (f.known[RUN_FIGURE_SESSION_RUN] != of[i].known)
			fail_msg("case %zu: %g", i, f.value[RUN_FIGURE_SESSION_RUN]);
		if (of[i].known)
			is(&f, RUN_FIGURE_SESSION_RUN, (double)of[i].other_ms / 2 / WATCHED);
		else
			assert_non_null(strstr(f.who[RUN_FIGURE_SESSION_RUN], "for a time"));
	}
}

/* A session of a part of the watch: shares are of that part. */
static void a_client_that_came_late_is_measured_from_then_on(void **state)
{
	struct run_session *s;
	struct run *r = made();
	struct run_figures f;

	(void)state;
	s = client(r, 100, 21 * MS);
	s->tcp.min_rtt_ns = 20 * MS;
	s->begun_ns = (AT + 2000) * MS;
	s->ended_ns = (AT + 6000) * MS;
	f = measured(r);
	is(&f, RUN_FIGURE_TRIPS, 0.5);
	is(&f, RUN_FIGURE_TRIP_RATE, 25);
}

/* A load of two parts, in which each of two clients sent a request every 10 ms: none waits longer
 * for anything. */
static void of_several_parts_what_clients_cannot_have_waited_for_is_known(void **state)
{
	struct run *r = made();
	struct run_figures f = { 0 };
	struct run_phase *p = run_phase(r, 1, 2, "second");

	(void)state;
	assert_non_null(p);
	p->complete = true;
	p->start_ns = (AT + WATCHED) * MS;
	run_set(p, METRIC_ELAPSED, WATCHED * MS);
	client(r, 2000, MS);
	client(r, 2000, MS);
	run_figure_set(&f, RUN_FIGURE_RATE, 200);
	doctor_clients(&f, r);
	is(&f, RUN_FIGURE_ACKS_RATE, 100);
	assert_true(f.at_least[RUN_FIGURE_ACKS_RATE]);
	assert_false(f.known[RUN_FIGURE_LINK_REPLY] || f.known[RUN_FIGURE_TRIP_RTT]);
	/* Ten times as many. */
	run_figure_set(&f, RUN_FIGURE_RATE, 2000);
	doctor_clients(&f, r);
	is(&f, RUN_FIGURE_LINK_REPLY, 1e6);
	is(&f, RUN_FIGURE_TRIP_RTT, 1e6);
	assert_false(f.known[RUN_FIGURE_TRIPS] || f.known[RUN_FIGURE_TCP_UNSEEN]);
	run_fini(r);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trips_take_their_number_times_their_length),
		cmocka_unit_test(actions_of_a_load_have_their_share_of_round_trips),
		cmocka_unit_test(a_pause_shorter_than_a_round_trip_is_none),
		cmocka_unit_test(a_connection_that_is_not_seen_has_no_figures),
		cmocka_unit_test(pauses_alike_are_those_of_one_length),
		cmocka_unit_test(replies_are_on_their_way_at_the_rate_that_tcp_measured),
		cmocka_unit_test(a_late_acknowledgement_is_not_the_link),
		cmocka_unit_test(replies_that_the_client_does_not_take_are_not_on_the_link),
		cmocka_unit_test(links_of_all_clients_add_up_and_one_is_named),
		cmocka_unit_test(a_rate_that_was_not_measured_makes_no_link),
		cmocka_unit_test(pauses_in_which_replies_are_on_their_way_are_not_the_clients),
		cmocka_unit_test(an_upload_is_time_in_which_a_request_was_not_whole),
		cmocka_unit_test(few_pauses_or_short_ones_say_nothing),
		cmocka_unit_test(a_delayed_acknowledgement_is_a_segment_more_and_40_ms),
		cmocka_unit_test(segments_sent_again_count_from_twenty_on),
		cmocka_unit_test(a_closed_window_counts_against_the_watched_time),
		cmocka_unit_test(a_chatty_client_is_measured_against_all_requests),
		cmocka_unit_test(a_session_runs_on_a_cpu_or_waits_for_one),
		cmocka_unit_test(a_session_may_fill_a_cpu_for_a_part_of_the_watch),
		cmocka_unit_test(a_session_that_has_ended_may_have_filled_a_cpu),
		cmocka_unit_test(a_client_that_came_late_is_measured_from_then_on),
		cmocka_unit_test(of_several_parts_what_clients_cannot_have_waited_for_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
