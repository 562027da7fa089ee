/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests user/doctor/figures/clients.c: of several clients, the one whose figures make the cause. */
#include "unit/clients_rig.h"

static struct run_session *named(struct run_session *s, const char *user)
{
	free(s->user);
	s->user = strdup(user);
	return s;
}

/* Whatever is measured of anna: berta is the one of whom it is a cause. */
static void is_bertas(const struct run_figures *f, enum run_figure which)
{
	assert_true(f->known[which]);
	assert_string_equal(f->who[which], "berta from 192.0.2.1:50000");
}

/* Anna reads more, on a fast link or with her own pauses; berta is behind a VPN. */
static void a_fast_client_does_not_hide_a_slow_one(void **state)
{
	struct run_session *s;
	struct run_figures f;

	(void)state;
	for (int first = 0; first < 2; first++) {
		struct run *r = made();

		for (int i = 0; i < 2; i++) {
			if (i == first) {
				s = named(drained(r, 1070000000, 115000000, 9900 * MS), "anna");
				s->tcp.min_rtt_ns = 20000;
			} else {
				s = named(drained(r, 8100000, 1000000, 9500 * MS), "berta");
				s->tcp.unsent_mean = 100000;
			}
		}
		f = measured(r);
		is_bertas(&f, RUN_FIGURE_LINK);
		is(&f, RUN_FIGURE_LINK, 0.8);
		is(&f, RUN_FIGURE_LINK_RATE, 1000000);
		is(&f, RUN_FIGURE_LINK_UNSENT, 100000);
	}
}

static void many_short_round_trips_do_not_hide_long_ones(void **state)
{
	struct run *r = made();
	struct run_session *s;
	struct run_figures f;

	(void)state;
	named(client(r, 35000, MS), "anna")->tcp.min_rtt_ns = 200000;
	s = named(client(r, 150, 41 * MS), "berta");
	s->tcp.min_rtt_ns = 40 * MS;
	f = measured(r);
	is_bertas(&f, RUN_FIGURE_TRIPS);
	is(&f, RUN_FIGURE_TRIPS, 0.6);
	is(&f, RUN_FIGURE_TRIP_RTT, 40e6);
}

static void a_lossy_client_that_asks_for_little_does_not_hide_another(void **state)
{
	struct run *r = made();
	struct run_session *s;
	struct run_figures f;

	(void)state;
	s = named(client(r, 5, MS), "anna");
	s->tcp.segments = 100;
	s->tcp.retransmitted = 30;
	s = named(client(r, 995, MS), "berta");
	s->tcp.segments = 10000;
	s->tcp.retransmitted = 500;
	s->tcp.window_ns = 100 * MS;
	f = measured(r);
	is_bertas(&f, RUN_FIGURE_LOST);
	is(&f, RUN_FIGURE_LOST, 0.05);
	is(&f, RUN_FIGURE_LOST_REQUESTS, 0.995);
	/* Nor is what anna loses a reason for carla not to read. */
	r = made();
	s = named(client(r, 5, MS), "anna");
	s->tcp.segments = 100;
	s->tcp.retransmitted = 30;
	s->tcp.window_ns = 6000 * MS;
	named(client(r, 995, MS), "berta")->tcp.window_ns = 5000 * MS;
	f = measured(r);
	is_bertas(&f, RUN_FIGURE_WINDOW);
	is(&f, RUN_FIGURE_WINDOW, 0.5);
	is(&f, RUN_FIGURE_WINDOW_LOST, 0);
	is(&f, RUN_FIGURE_LOST, 0.3);
}

/* Neither keeps the window closed for as long as slow readers do; the longer one loses packets. */
static void a_lossy_window_does_not_hide_one_that_slows_the_server_down(void **state)
{
	struct run *r = made();
	struct run_session *s;
	struct run_figures f;

	(void)state;
	s = named(client(r, 995, MS), "anna");
	s->tcp.segments = 1000;
	s->tcp.retransmitted = 50;
	s->tcp.window_ns = 2500 * MS;
	named(client(r, 995, MS), "berta")->tcp.window_ns = 1500 * MS;
	f = measured(r);
	is_bertas(&f, RUN_FIGURE_WINDOW);
	is(&f, RUN_FIGURE_WINDOW, 0.15);
	is(&f, RUN_FIGURE_WINDOW_LOST, 0);
}

static void a_fast_upload_does_not_hide_a_slow_one(void **state)
{
	struct run *r = made();
	struct run_session *s;
	struct run_figures f;

	(void)state;
	s = named(client(r, 40, MS), "anna");
	s->habit.upload_ns = 9000 * MS;
	s->tcp.received = 1000000000;
	s = named(client(r, 4, MS), "berta");
	s->habit.upload_ns = 6000 * MS;
	s->tcp.received = 4800000;
	f = measured(r);
	is_bertas(&f, RUN_FIGURE_UPLOAD);
	is(&f, RUN_FIGURE_UPLOAD_RATE, 480000);
	/* One of whom it cannot be told: no other rules it out. */
	r = made();
	s = named(client(r, 40, MS), "anna");
	s->habit.upload_ns = 9000 * MS;
	s->tcp.received = 1000000000;
	s = named(client(r, 4, MS), "berta");
	s->habit.upload_ns = 6000 * MS;
	s->tcp.known = false;
	f = measured(r);
	is_bertas(&f, RUN_FIGURE_UPLOAD);
	assert_false(f.known[RUN_FIGURE_UPLOAD_RATE]);
}

static void pauses_and_delayed_acknowledgements_are_of_whom_they_slow_down(void **state)
{
	struct run *r = made();
	struct run_session *s;
	struct run_figures f;

	(void)state;
	/* Anna's are as long, but the server works for her meanwhile. */
	s = named(client(r, 200, 44 * MS), "anna");
	s->tcp.segments = 400;
	s->busy_ns = 8000 * MS;
	s = named(client(r, 150, 44 * MS), "berta");
	s->tcp.segments = 280;
	f = measured(r);
	is_bertas(&f, RUN_FIGURE_ACKS);
	is(&f, RUN_FIGURE_ACKS, 130. / 150);
	r = made();
	named(client(r, 450, 20 * MS), "anna")->busy_ns = 8000 * MS;
	named(client(r, 400, 20 * MS), "berta");
	f = measured(r);
	is_bertas(&f, RUN_FIGURE_PAUSED);
	is(&f, RUN_FIGURE_PAUSE_BUSY, 0);
}

/* Carla is as slow as may be, and her connection is not seen. */
static struct run_session *unseen(struct run *r, uint32_t n, uint64_t pause_ns)
{
	struct run_session *s = named(client(r, n, pause_ns), "carla");

	s->bytes_out = 10000000;
	s->tcp.known = false;
	return s;
}

/* Anna is near, and keeps no reply waiting: that says nothing of carla, whoever comes first. */
static void a_client_that_is_seen_does_not_rule_out_one_that_is_not(void **state)
{
	static const enum run_figure may[] = { RUN_FIGURE_TRIPS, RUN_FIGURE_ACKS, RUN_FIGURE_LOST,
					       RUN_FIGURE_WINDOW, RUN_FIGURE_LINK };
	struct run_figures f;

	(void)state;
	for (int first = 0; first < 2; first++) {
		struct run *r = made();

		for (int i = 0; i < 2; i++) {
			if (i == first)
				named(client(r, 600, MS), "anna");
			else
				unseen(r, 200, 44 * MS);
		}
		f = measured(r);
		for (size_t i = 0; i < sizeof(may) / sizeof(may[0]); i++) {
			assert_false(f.known[may[i]]);
			assert_string_equal(f.who[may[i]],
					    "the connections of 1 of 2 clients are not seen");
		}
		assert_true(f.value[RUN_FIGURE_TCP_UNSEEN] > 0.9);
		assert_string_equal(f.who[RUN_FIGURE_TCP_UNSEEN],
				    "1 of 2 clients (25% of all requests)");
	}
}

/* A laptop that was closed while it read: the others are well. */
static void a_client_that_takes_nothing_may_be_asleep(void **state)
{
	(void)state;
	for (int slow = 0; slow < 2; slow++) {
		struct run *r = made();
		struct run_session *s = named(client(r, 0, MS), "anna");
		struct run_figures f;

		s->tcp.window_ns = 10000 * MS;
		if (slow)
			named(client(r, 600, MS), "berta")->tcp.window_ns = 4000 * MS;
		else
			named(client(r, 600, MS), "berta");
		f = measured(r);
		assert_int_equal(f.known[RUN_FIGURE_WINDOW], slow);
		if (slow)
			is_bertas(&f, RUN_FIGURE_WINDOW);
		else
			assert_non_null(strstr(f.who[RUN_FIGURE_WINDOW], "took nothing for long"));
	}
}

/* It was closed a second after the watch began, in a reply from before; or it takes one by bits. */
static void a_client_that_fell_asleep_takes_nothing_either(void **state)
{
	(void)state;
	for (int slow = 0; slow < 2; slow++) {
		struct run *r = made();
		struct run_session *s = named(client(r, 0, MS), "berta");
		struct run_figures f;

		s->tcp.acked = 65536;
		s->tcp.window_ns = 9000 * MS;
		s->tcp.still_ns = slow ? 2000 * MS : 9000 * MS;
		named(client(r, 600, MS), "anna");
		f = measured(r);
		assert_int_equal(f.known[RUN_FIGURE_WINDOW], slow);
		if (slow)
			is_bertas(&f, RUN_FIGURE_WINDOW);
		else
			assert_non_null(strstr(f.who[RUN_FIGURE_WINDOW], "took nothing for long"));
	}
}

/* More sessions ended than are listed, each after a second; of those that are, none is slow. */
static void sessions_that_are_not_listed_rule_nothing_out(void **state)
{
	static const enum run_figure may[] = { RUN_FIGURE_TRIPS, RUN_FIGURE_ACKS, RUN_FIGURE_LOST,
					       RUN_FIGURE_WINDOW, RUN_FIGURE_LINK };
	struct run_figures f;
	struct run *r = made();

	(void)state;
	named(client(r, 600, MS), "anna")->busy_ns = 5000 * MS;
	r->n_rest = 20000;
	r->rest_ns = 20000 * 1000 * MS;
	r->rest.busy_ns = 20000 * 900 * MS;
	r->rest.requests = 200;
	f = measured(r);
	for (size_t i = 0; i < sizeof(may) / sizeof(may[0]); i++) {
		assert_false(f.known[may[i]]);
		assert_string_equal(f.who[may[i]], "the connections of 20000 of 20001 clients are "
						   "not seen, or no longer listed");
	}
	/* What is theirs is their time, not the whole watch for each. */
	assert_in_range(1000 * f.value[RUN_FIGURE_TCP_UNSEEN], 90, 110);
	/* One that is listed and slow is named. */
	r = made();
	named(client(r, 150, 41 * MS), "berta")->tcp.min_rtt_ns = 40 * MS;
	r->n_rest = 1;
	f = measured(r);
	is_bertas(&f, RUN_FIGURE_TRIPS);
}

/* It is seen: only how fast it takes replies is not. */
static void a_client_without_a_rate_is_no_unseen_connection(void **state)
{
	(void)state;
	for (uint32_t asked = 0; asked < 2; asked++) {
		struct run *r = made();
		struct run_session *s = named(client(r, asked, MS), "carla");
		struct run_figures f;

		s->tcp.rate = 0;
		s->tcp.acked = 1000000;
		s->tcp.busy_ns = 9000 * MS;
		s->bytes_out = 10000000;
		named(client(r, 600, MS), "anna");
		f = measured(r);
		assert_false(f.known[RUN_FIGURE_LINK]);
		assert_true(f.known[RUN_FIGURE_TRIPS] && f.known[RUN_FIGURE_WINDOW]);
		assert_string_equal(f.who[RUN_FIGURE_TCP_UNSEEN],
				    asked ? "1 of 2 clients (0% of all requests)" : "");
		assert_non_null(
		    strstr(f.who[RUN_FIGURE_LINK], "TCP has not yet measured how fast"));
	}
}

/* Carla is in a container, and takes one reply all the time: none of its bytes are counted yet. */
static void a_reply_that_is_not_counted_may_be_on_a_slow_link(void **state)
{
	(void)state;
	for (int served = 0; served < 2; served++) {
		struct run *r = made();
		struct run_session *s = unseen(r, 10, MS);
		struct run_figures f;

		s->bytes_out = 500;
		s->busy_ns = 9900 * MS;
		s->pid = 4711;
		named(client(r, 600, MS), "anna");
		if (served) {
			r->service = calloc(1, sizeof(*r->service));
			assert_non_null(r->service);
			r->n_service = 1;
			r->service[0].pid = 4711;
		}
		f = measured(r);
		assert_int_equal(f.known[RUN_FIGURE_LINK], !served);
	}
}

/* Berta is slow for all to see: that is said, and who is not seen as well. */
static void a_client_that_is_not_seen_does_not_hide_one_that_is(void **state)
{
	struct run_figures f;

	(void)state;
	for (int first = 0; first < 2; first++) {
		struct run *r = made();

		for (int i = 0; i < 2; i++) {
			if (i == first)
				named(client(r, 150, 41 * MS), "berta")->tcp.min_rtt_ns = 40 * MS;
			else
				unseen(r, 200, 44 * MS);
		}
		f = measured(r);
		is_bertas(&f, RUN_FIGURE_TRIPS);
		is(&f, RUN_FIGURE_TRIPS, 0.6);
		is(&f, RUN_FIGURE_TRIP_RTT, 40e6);
		assert_true(f.value[RUN_FIGURE_TCP_UNSEEN] > 0.5);
	}
}

/* Its pauses are too short, or too few, its life too short, its requests too many a second. */
static void what_cannot_be_of_a_client_that_is_not_seen_stays_known(void **state)
{
	struct run *r = made();
	struct run_session *s;
	struct run_figures f;

	(void)state;
	named(client(r, 600, MS), "anna");
	s = unseen(r, 20, 10 * MS);
	s->begun_ns = (AT + 5000) * MS;
	s->ended_ns = (AT + 5090) * MS;
	f = measured(r);
	is(&f, RUN_FIGURE_TRIPS, 0.0012);
	is(&f, RUN_FIGURE_ACKS, 0);
	is(&f, RUN_FIGURE_LOST, 0);
	is(&f, RUN_FIGURE_WINDOW, 0);
	is(&f, RUN_FIGURE_LINK, 0);
	r = made();
	named(client(r, 600, MS), "anna");
	unseen(r, 6000, MS);
	f = measured(r);
	is(&f, RUN_FIGURE_TRIPS, 0.0012);
	is(&f, RUN_FIGURE_ACKS, 0);
	is(&f, RUN_FIGURE_LINK, 0);
	assert_false(f.known[RUN_FIGURE_LOST] || f.known[RUN_FIGURE_WINDOW]);
	/* Also where no other is seen. */
	r = made();
	unseen(r, 6000, MS);
	f = measured(r);
	is(&f, RUN_FIGURE_TRIPS, 0);
	is(&f, RUN_FIGURE_ACKS, 0);
	assert_string_equal(f.who[RUN_FIGURE_TRIPS], "at most");
	assert_false(f.known[RUN_FIGURE_WINDOW] || f.known[RUN_FIGURE_LINK]);
	/* One that asked for nothing waits for nothing. */
	r = made();
	named(client(r, 600, MS), "anna");
	unseen(r, 0, MS);
	f = measured(r);
	is(&f, RUN_FIGURE_TCP_UNSEEN, 0);
	is(&f, RUN_FIGURE_WINDOW, 0);
}

static void a_session_that_waits_for_a_cpu_does_not_hide_one_that_fills_it(void **state)
{
	struct run *r = made();
	struct run_session *s;
	struct run_figures f;

	(void)state;
	for (int i = 0; i < 2; i++) {
		s = named(client(r, 100, MS), i ? "berta" : "anna");
		s->has_cpu = true;
		s->cpu_ns = i ? 8000 * MS : 100 * MS;
		s->runq_ns = i ? 1000 * MS : 9900 * MS;
		s->busy_ns = i ? 9000 * MS : 500 * MS;
		s->pid = 4711 + i;
	}
	f = measured(r);
	assert_string_equal(f.who[RUN_FIGURE_SESSION_RUN], "berta (pid 4712)");
	is(&f, RUN_FIGURE_SESSION_CPU, 0.8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fast_client_does_not_hide_a_slow_one),
		cmocka_unit_test(many_short_round_trips_do_not_hide_long_ones),
		cmocka_unit_test(a_lossy_client_that_asks_for_little_does_not_hide_another),
		cmocka_unit_test(a_lossy_window_does_not_hide_one_that_slows_the_server_down),
		cmocka_unit_test(a_fast_upload_does_not_hide_a_slow_one),
		cmocka_unit_test(pauses_and_delayed_acknowledgements_are_of_whom_they_slow_down),
		cmocka_unit_test(a_client_that_is_seen_does_not_rule_out_one_that_is_not),
		cmocka_unit_test(a_client_that_takes_nothing_may_be_asleep),
		cmocka_unit_test(a_client_that_is_not_seen_does_not_hide_one_that_is),
		cmocka_unit_test(a_client_that_fell_asleep_takes_nothing_either),
		cmocka_unit_test(sessions_that_are_not_listed_rule_nothing_out),
		cmocka_unit_test(a_client_without_a_rate_is_no_unseen_connection),
		cmocka_unit_test(a_reply_that_is_not_counted_may_be_on_a_slow_link),
		cmocka_unit_test(what_cannot_be_of_a_client_that_is_not_seen_stays_known),
		cmocka_unit_test(a_session_that_waits_for_a_cpu_does_not_hide_one_that_fills_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
