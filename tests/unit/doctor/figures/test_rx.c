/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests user/doctor/figures/rx.c. */
#include "doctor/figures/measure.h"

#include "base/hist.h"
#include "kinds/kind.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000ull

static void add_ledger(struct run_phase *p)
{
	struct ledger *l = &p->ledger;

	l->has_calls = l->has_requests = l->filled = true;
	l->n_accounts = 1;
	l->account = calloc(1, sizeof(*l->account));
	l->n_packets = 2;
	l->packets = calloc(2, sizeof(*l->packets));
	assert_true(l->account && l->packets);
	l->account[0].sum = (struct afs_account) { .begun = 200, .answered = 200, .ns = 400 * MS };
	l->packets[0].sum = (struct afs_packets) { .datagrams = 990, .bytes = 2000000 };
	l->packets[0].sum.type[AFS_RX_DATA] = 900;
	l->packets[0].sum.again = 9;
	l->packets[1].from_server = 1;
	l->packets[1].sum.type[AFS_RX_DATA] = 100;
	l->packets[1].sum.type[AFS_RX_ACK] = 500;
}

/* 10 s. */
static struct run *made(void)
{
	struct run *r = calloc(1, sizeof(*r));
	struct run_phase *p;

	assert_non_null(r);
	assert_int_equal(run_init(r, "rx", "rxperf-3"), 0);
	r->kind = &kind_rx.is;
	p = run_phase(r, 1, 1, "send");
	assert_non_null(p);
	p->complete = true;
	run_set(p, METRIC_ELAPSED, 10000 * MS);
	return r;
}

static void add_socket(struct run *r, uint64_t drops)
{
	r->socket = calloc(2, sizeof(*r->socket));
	assert_non_null(r->socket);
	r->n_sockets = 2;
	r->socket[0] = (struct run_socket) { .port = 7005, .buffer = 4096 };
	r->socket[1] = (struct run_socket) { .port = 7000,
					     .buffer = 131072,
					     .buffer_max = 212992,
					     .queue_max = 131000,
					     .drops = drops };
}

static void add_threads(struct run *r)
{
	r->threads = calloc(2, sizeof(*r->threads));
	assert_non_null(r->threads);
	r->n_threads = 2;
	r->threads[0] = (struct run_threads) {
		.name = "worker", .n = 4, .cpu_ns = 1000 * MS, .runq_ns = 1000 * MS
	};
	r->threads[1] = (struct run_threads) { .name = "listener",
					       .n = 1,
					       .cpu_ns = 2000 * MS,
					       .runq_ns = 1000 * MS,
					       .busiest_ns = 3000 * MS,
					       .busiest_cpu_ns = 2000 * MS,
					       .looks = 100,
					       .locked = 40 };
}

static struct run_command *add_calls(struct run *r)
{
	struct run_command *c = run_command(r->phase[0], 1, "send");

	assert_non_null(c);
	assert_int_equal(run_note(&r->options, "clients", "30"), 0);
	return c;
}

static struct run_figures measured(struct run *r)
{
	struct run_figures f = { 0 };

	assert_int_equal(doctor_measure(&f, r), 0);
	assert_ptr_equal(f.kind, &kind_rx.is);
	run_fini(r);
	free(r);
	return f;
}

static void is(const struct run_figures *f, enum run_figure which, double value)
{
	assert_true(f->known[which]);
	assert_true(fabs(f->value[which] - value) <= 1e-6 * fabs(value) + 1e-12);
}

static void a_socket_that_drops_is_measured(void **state)
{
	struct run *r = made();
	struct run_figures f;

	(void)state;
	add_ledger(r->phase[0]);
	add_socket(r, 10);
	assert_int_equal(run_note(&r->options, "clients", "250"), 0);
	f = measured(r);
	is(&f, RUN_FIGURE_DROPPED, 0.01);
	assert_string_equal(f.who[RUN_FIGURE_DROPPED], "UDP port 7000");
	is(&f, RUN_FIGURE_DROPPED_N, 10);
	is(&f, RUN_FIGURE_BUFFER, 65536);
	is(&f, RUN_FIGURE_BUFFER_MAX, 212992);
	is(&f, RUN_FIGURE_QUEUE, 131000.0 / 131072);
	/* 250 windows of 32 packets of 2,304 bytes of the kernel's memory, of which half is asked
	 * for */
	is(&f, RUN_FIGURE_BUFFER_NEED, 9216000);
	is(&f, RUN_FIGURE_BUFFER_RAISE, 9216000);
	is(&f, RUN_FIGURE_RESENT, 0.01);
	is(&f, RUN_FIGURE_RESENT_BACK, 0);
	is(&f, RUN_FIGURE_ACKS_MB, 250);
	is(&f, RUN_FIGURE_REQUESTS, 200);
	is(&f, RUN_FIGURE_BUSY, 0.04);
}

/* That advice would lower the limit. */
static void a_limit_that_is_enough_is_not_to_be_raised(void **state)
{
	struct run *r = made();
	struct run_figures f;

	(void)state;
	add_ledger(r->phase[0]);
	add_socket(r, 10);
	r->socket[1].buffer_max = 33554432;
	assert_int_equal(run_note(&r->options, "clients", "250"), 0);
	f = measured(r);
	is(&f, RUN_FIGURE_BUFFER_NEED, 9216000);
	assert_false(f.known[RUN_FIGURE_BUFFER_RAISE]);
}

static void the_thread_that_receives_is_measured(void **state)
{
	struct run *r = made();
	struct run_figures f;

	(void)state;
	add_ledger(r->phase[0]);
	add_threads(r);
	f = measured(r);
	is(&f, RUN_FIGURE_LISTENER, 0.3);
	is(&f, RUN_FIGURE_LISTENER_CPU, 0.2);
	is(&f, RUN_FIGURE_LISTENER_WAIT, 1.0 / 3);
	is(&f, RUN_FIGURE_LISTENER_ASLEEP, 0.4);
	is(&f, RUN_FIGURE_THREADS_WAIT, 0.4);
	is(&f, RUN_FIGURE_PACKET_CPU, 2000.0 * MS / 990);
	assert_false(f.known[RUN_FIGURE_DROPPED]);
	assert_false(f.known[RUN_FIGURE_SHORT]);
	assert_false(f.known[RUN_FIGURE_OWN_DROPPED]);
}

/* 600 calls of 2 s, which wait for a disk: of their time hardly any is a wait for a CPU. */
static void a_wait_of_threads_is_a_share_of_the_calls_time(void **state)
{
	struct run *r = made();
	struct run_command *c;
	struct run_figures f;

	(void)state;
	run_set(r->phase[0], METRIC_ELAPSED, 60000 * MS);
	c = add_calls(r);
	for (int i = 0; i < 600; i++)
		hist_add(&c->latency, 2000 * MS);
	add_threads(r);
	r->threads[0].cpu_ns = 300 * MS;
	r->threads[0].runq_ns = 1300 * MS;
	r->threads[1].cpu_ns = r->threads[1].runq_ns = 100 * MS;
	r->threads[1].busiest_ns = 200 * MS;
	r->threads[1].busiest_cpu_ns = 100 * MS;
	f = measured(r);
	is(&f, RUN_FIGURE_THREADS_WAIT, 1400. / 1800);
	is(&f, RUN_FIGURE_WAIT_CPU, 100. / 60000 + 1300. / (600 * 2000));
	assert_true(f.value[RUN_FIGURE_WAIT_CPU] < 0.01);
	/* All calls wait while the listener does. */
	r = made();
	c = add_calls(r);
	for (int i = 0; i < 100; i++)
		hist_add(&c->latency, 2000 * MS);
	add_threads(r);
	r->threads[1].busiest_ns = 8000 * MS;
	r->threads[1].busiest_cpu_ns = 1000 * MS;
	r->threads[1].cpu_ns = 1000 * MS;
	r->threads[1].runq_ns = 7000 * MS;
	f = measured(r);
	is(&f, RUN_FIGURE_WAIT_CPU, 0.7 + 1000. / (100 * 2000));
}

/* 40 ms of 2 s are spent in the queue where 0.008 of 0.04 calls at a time wait. */
static void calls_that_wait_are_a_share_of_all(void **state)
{
	struct run *r = made();
	struct run_figures f;

	(void)state;
	add_ledger(r->phase[0]);
	r->waiting = (struct run_waiting) { .asked = 1001,
					    .answered = 1000,
					    .n_short = 8,
					    .waiting_sum = 8,
					    .waiting_max = 1,
					    .waited = 3 };
	f = measured(r);
	is(&f, RUN_FIGURE_SHORT, 0.008);
	is(&f, RUN_FIGURE_WAIT_THREAD, 0.2);
	is(&f, RUN_FIGURE_WAITING, 1);
	is(&f, RUN_FIGURE_WAITED, 3);
}

static void times_are_those_of_our_clients(void **state)
{
	struct run *r = made();
	struct run_command *c = add_calls(r);
	struct run_figures f;

	(void)state;
	for (int i = 0; i < 90; i++)
		hist_add(&c->latency, 1 * MS);
	for (int i = 0; i < 10; i++)
		hist_add(&c->latency, 3250 * MS);
	run_set(r->phase[0], METRIC_RX_RECEIVED, 980);
	run_set(r->phase[0], METRIC_RX_DROPS, 20);
	run_set(r->phase[0], METRIC_RX_BUFFER, 65536);
	run_set(r->phase[0], METRIC_RX_RESENT, 10);
	f = measured(r);
	is(&f, RUN_FIGURE_REQUESTS, 100);
	is(&f, RUN_FIGURE_SLOW_N, 10);
	assert_true(f.value[RUN_FIGURE_TIMED_OUT] > 0.95);
	assert_true(f.value[RUN_FIGURE_SLOW] > 0.95);
	is(&f, RUN_FIGURE_OWN_DROPPED, 0.02);
	is(&f, RUN_FIGURE_OWN_BUFFER, 65536);
	/* the server was not seen */
	assert_false(f.known[RUN_FIGURE_LISTENER]);
	assert_false(f.known[RUN_FIGURE_DROPPED]);
}

static void what_is_not_known_has_a_reason(void **state)
{
	struct run *r = made();
	struct run_figures f;

	(void)state;
	add_socket(r, 10);
	r->waiting = (struct run_waiting) { .asked = 100 };
	f = measured(r);
	assert_string_equal(f.who[RUN_FIGURE_DROPPED], "the datagrams were not counted");
	assert_string_equal(f.who[RUN_FIGURE_LISTENER], "no thread was seen to receive");
	assert_string_equal(f.who[RUN_FIGURE_SHORT],
			    "the server does not answer as it does to rxdebug");
	assert_string_equal(f.who[RUN_FIGURE_OWN_DROPPED], "there were no clients of our own");
	r = made();
	assert_int_equal(run_note(&r->absent, "*", "it is on another host"), 0);
	f = measured(r);
	assert_string_equal(f.who[RUN_FIGURE_DROPPED], "it is on another host");
	assert_string_equal(f.who[RUN_FIGURE_THROTTLED], "it is on another host");
	assert_string_equal(f.who[RUN_FIGURE_SHORT],
			    "only doctor and rx ask the server, in their network namespace");
}

/* Whose clients are not ours. */
static void a_buffer_has_room_for_the_calls_seen_at_a_time(void **state)
{
	struct run *r = made();
	struct run_figures f;

	(void)state;
	add_socket(r, 0);
	add_ledger(r->phase[0]);
	f = measured(r);
	is(&f, RUN_FIGURE_BUFFER_CLIENTS, 64);
	r = made();
	add_socket(r, 0);
	add_ledger(r->phase[0]);
	r->waiting = (struct run_waiting) { .asked = 9, .answered = 9, .waiting_max = 120 };
	f = measured(r);
	is(&f, RUN_FIGURE_BUFFER_CLIENTS, 121);
}

/* Of a server that is not seen: several timers one after the other are of any length. */
static struct run_figures of_lengths(unsigned int quick, unsigned int between, unsigned int n_long,
				     uint64_t again)
{
	struct run *r = made();
	struct run_command *c = add_calls(r);

	for (unsigned int i = 0; i < quick; i++)
		hist_add(&c->latency, 1 * MS);
	for (unsigned int i = 0; i < between; i++)
		hist_add(&c->latency, 150 * MS);
	for (unsigned int i = 0; i < n_long; i++)
		hist_add(&c->latency, (700 + i) * MS);
	run_set(r->phase[0], METRIC_RX_DATA_SENT, 1000);
	run_set(r->phase[0], METRIC_RX_RESENT, 0);
	run_set(r->phase[0], METRIC_RX_DATA_RECEIVED, 1000);
	run_set(r->phase[0], METRIC_RX_DUPLICATES, again);
	return measured(r);
}

static void long_calls_beyond_a_gap_have_waited_for_timers(void **state)
{
	struct run_figures f = of_lengths(90, 3, 10, 10);

	(void)state;
	assert_true(f.value[RUN_FIGURE_TIMED_OUT] > 0.9);
	is(&f, RUN_FIGURE_TIMED_GUESS, 0);
	/* One packet makes one call long. */
	f = of_lengths(90, 3, 10, 1);
	assert_true(f.value[RUN_FIGURE_TIMED_OUT] > 0.09 && f.value[RUN_FIGURE_TIMED_OUT] < 0.1);
	f = of_lengths(90, 4, 10, 1);
	is(&f, RUN_FIGURE_TIMED_OUT, 0);
	f = of_lengths(90, 0, 4, 1);
	is(&f, RUN_FIGURE_TIMED_OUT, 0);
	f = of_lengths(1, 0, 10, 1);
	is(&f, RUN_FIGURE_TIMED_OUT, 0);
	/* a slow server, of which no packet came twice */
	f = of_lengths(90, 0, 10, 0);
	is(&f, RUN_FIGURE_TIMED_OUT, 0);
}

static void slow_calls_without_a_packet_sent_again_are_no_timeouts(void **state)
{
	struct run *r = made();
	struct run_command *c = add_calls(r);
	struct run_figures f;

	(void)state;
	add_ledger(r->phase[0]);
	r->phase[0]->ledger.packets[0].sum.again = 0;
	run_set(r->phase[0], METRIC_RX_RESENT, 0);
	hist_add(&c->latency, 3250 * MS);
	f = measured(r);
	is(&f, RUN_FIGURE_TIMED_OUT, 0);
}

/* Calls of which so many are long, the others short; who: what is said of it. */
static void is_not_known(struct run *r, unsigned int n_long, const char *who)
{
	struct run_command *c = add_calls(r);
	struct run_figures f;

	for (int i = 0; i < 100; i++)
		hist_add(&c->latency, 1 * MS);
	for (unsigned int i = 0; i < n_long; i++)
		hist_add(&c->latency, 700 * MS);
	f = measured(r);
	assert_int_equal(f.known[RUN_FIGURE_TIMED_OUT], !who);
	if (who)
		assert_string_equal(f.who[RUN_FIGURE_TIMED_OUT], who);
	else
		is(&f, RUN_FIGURE_TIMED_OUT, 0);
}

/* Nobody saw a packet twice, and nobody could: lost packets are not ruled out. */
static void where_lost_packets_cannot_be_seen_they_are_not_known(void **state)
{
	static const char why[] = "not all packets that were sent again are seen from here";
	struct run *r = made();

	(void)state;
	add_ledger(r->phase[0]);
	r->phase[0]->ledger.packets[0].sum.again = 0;
	is_not_known(r, 50, why);
	for (int n_long = 0; n_long <= 50; n_long += 50) {
		r = made();
		run_set(r->phase[0], METRIC_RX_RESENT, 0);
		run_set(r->phase[0], METRIC_RX_DATA_SENT, 200);
		run_set(r->phase[0], METRIC_RX_DATA_RECEIVED, 9000);
		run_set(r->phase[0], METRIC_RX_DUPLICATES, 0);
		/* No call is long: whatever was lost, nobody waited for it. */
		is_not_known(r, (unsigned int)n_long, n_long ? why : NULL);
	}
}

/* One that is not there sends nothing, one that aborts each call does; a server's own counts do not
 * say what came to its clients. */
static void whether_anything_came_from_the_server_is_known(void **state)
{
	struct run_figures f;
	struct run *r;

	(void)state;
	for (uint64_t received = 0; received < 2; received++) {
		r = made();
		hist_add(&add_calls(r)->latency, 1 * MS);
		run_set(r->phase[0], METRIC_OPS, 1);
		run_set(r->phase[0], METRIC_ERRORS, 1);
		run_set(r->phase[0], METRIC_RX_RECEIVED, received);
		f = measured(r);
		is(&f, RUN_FIGURE_FAILED, 1);
		is(&f, RUN_FIGURE_UNHEARD, !received);
	}
	r = made();
	add_ledger(r->phase[0]);
	f = measured(r);
	assert_true(f.known[RUN_FIGURE_FAILED]);
	assert_false(f.known[RUN_FIGURE_UNHEARD]);
}

/* The server reads it once, when it comes at last. */
static void a_packet_lost_on_its_way_is_not_read_twice(void **state)
{
	struct run *r = made();
	struct run_command *c = add_calls(r);
	struct run_figures f;

	(void)state;
	add_ledger(r->phase[0]);
	r->phase[0]->ledger.packets[0].sum.again = 0;
	for (int i = 0; i < 500; i++)
		hist_add(&c->latency, 3250 * MS);
	run_set(r->phase[0], METRIC_RX_RESENT, 500);
	f = measured(r);
	assert_true(f.value[RUN_FIGURE_TIMED_OUT] > 0.9);
}

static void one_packet_read_twice_does_not_make_all_calls_long(void **state)
{
	struct run *r = made();
	struct run_command *c = add_calls(r);
	struct run_figures f;

	(void)state;
	add_ledger(r->phase[0]);
	r->phase[0]->ledger.packets[0].sum.again = 1;
	run_set(r->phase[0], METRIC_RX_RESENT, 1);
	for (int i = 0; i < 100; i++)
		hist_add(&c->latency, 1 * MS);
	for (int i = 0; i < 600; i++)
		hist_add(&c->latency, 700 * MS);
	f = measured(r);
	assert_true(f.value[RUN_FIGURE_TIMED_OUT] < 0.01);
	is(&f, RUN_FIGURE_TIMED_GUESS, 0);
}

/* What it sent again is not seen from clients: lost packets may be the reason, but not for sure. */
static void what_a_server_that_is_not_seen_lost_is_a_guess(void **state)
{
	struct run *r = made();
	struct run_command *c = add_calls(r);
	struct run_figures f;

	(void)state;
	for (int i = 0; i < 100; i++)
		hist_add(&c->latency, 1 * MS);
	for (int i = 0; i < 50; i++)
		hist_add(&c->latency, 700 * MS);
	run_set(r->phase[0], METRIC_RX_DATA_SENT, 200);
	run_set(r->phase[0], METRIC_RX_DATA_RECEIVED, 9000);
	run_set(r->phase[0], METRIC_RX_DUPLICATES, 1);
	f = measured(r);
	assert_true(f.value[RUN_FIGURE_TIMED_OUT] > 0.9);
	assert_true(f.value[RUN_FIGURE_TIMED_GUESS] > 0.9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whether_anything_came_from_the_server_is_known),
		cmocka_unit_test(where_lost_packets_cannot_be_seen_they_are_not_known),
		cmocka_unit_test(a_socket_that_drops_is_measured),
		cmocka_unit_test(a_limit_that_is_enough_is_not_to_be_raised),
		cmocka_unit_test(the_thread_that_receives_is_measured),
		cmocka_unit_test(a_wait_of_threads_is_a_share_of_the_calls_time),
		cmocka_unit_test(calls_that_wait_are_a_share_of_all),
		cmocka_unit_test(times_are_those_of_our_clients),
		cmocka_unit_test(what_is_not_known_has_a_reason),
		cmocka_unit_test(a_buffer_has_room_for_the_calls_seen_at_a_time),
		cmocka_unit_test(long_calls_beyond_a_gap_have_waited_for_timers),
		cmocka_unit_test(slow_calls_without_a_packet_sent_again_are_no_timeouts),
		cmocka_unit_test(a_packet_lost_on_its_way_is_not_read_twice),
		cmocka_unit_test(one_packet_read_twice_does_not_make_all_calls_long),
		cmocka_unit_test(what_a_server_that_is_not_seen_lost_is_a_guess),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
