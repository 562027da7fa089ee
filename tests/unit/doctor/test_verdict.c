/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verdict on a transfer, from figures made for each.
 * Also tests user/doctor/verdict_figures.c, user/doctor/rules/rules_transfer.c.
 */
#include "doctor/verdict.h"
#include "unit/sample_transfer.h"

#include <math.h>

#define MS 1000000ull

/* One work of 64 MiB, ten iterations of 10 ms, with these shares of the time. */
static struct run_phase *made(struct run *r, const char *work, const struct shares *s)
{
	struct run_phase *p;

	sample_init(r, "10");
	p = sample_bare(r, 1, work, 64 << 20);
	for (unsigned int i = 1; i <= 10; i++)
		sample_add(p, i, false, 10 * MS);
	run_set(p, METRIC_ELAPSED, 100 * MS);
	run_set(p, METRIC_CLIENT_CPU, s->client * MS);
	run_set(p, METRIC_CLIENT_RUNQ, s->client_runq * MS);
	sample_server(p, 100 * MS, 640, 640 << 20, s);
	sample_look(p, TCP_CLIENT, TCP_BEFORE);
	sample_look(p, TCP_SERVER, TCP_BEFORE);
	sample_look(p, TCP_CLIENT, TCP_AFTER);
	sample_look(p, TCP_SERVER, TCP_AFTER);
	/* 64 turns of 1 us: next to nothing */
	for (size_t i = 0; i < p->transfer->n_tcp; i++)
		p->transfer->tcp[i].value[TCP_MIN_RTT] = 1;
	return p;
}

static void is(const struct run *r, const struct run_phase *p, enum verdict_kind kind,
	       const char *part)
{
	struct verdict v;

	assert_int_equal(verdict_of(&v, r, p), 0);
	if (v.kind != kind || !strstr(v.text, part))
		fail_msg("%s: %s", verdict_kinds[v.kind].words, v.text);
}

static double figure(const struct run *r, const struct run_phase *p, enum verdict_figure f)
{
	struct verdict v;

	assert_int_equal(verdict_of(&v, r, p), 0);
	return v.known[f] ? v.figure[f] : -1;
}

/* The same of a server on another machine, of which the client's end of the connection is left. */
static struct run_phase *remote(struct run *r, const char *work, const struct shares *s)
{
	struct run_phase *p = made(r, work, s);
	struct run_transfer *t = p->transfer;
	size_t n = 0;

	ledger_fini(&p->ledger);
	p->ledger = (struct ledger) { 0 };
	for (enum metric m = METRIC_AFPD_SYSCR; m < N_METRICS; m++)
		p->known[m] = false;
	for (size_t i = 0; i < t->n_tcp; i++)
		if (t->tcp[i].end == TCP_CLIENT)
			t->tcp[n++] = t->tcp[i];
	t->n_tcp = n;
	free(r->server.note[0].text);
	r->server.note[0].text = strdup("nas.example");
	/* nothing queues, until a test says so */
	for (size_t i = 0; i < n; i++)
		t->tcp[i].value[TCP_RTT] = t->tcp[i].value[TCP_MIN_RTT];
	return p;
}

static void is_not(const struct run *r, const struct run_phase *p, const char *part)
{
	struct verdict v;

	assert_int_equal(verdict_of(&v, r, p), 0);
	if (strstr(v.text, part))
		fail_msg("%s: %s", verdict_kinds[v.kind].words, v.text);
}

static void a_client_without_cpu_left_is_the_limit(void **state)
{
	const struct shares s = { .client = 91, .calls = 60 };
	struct run r;

	(void)state;
	is(&r, made(&r, "Read", &s), VERDICT_CLIENT, "client's CPU 91 %");
	run_fini(&r);
}

static void a_peer_that_keeps_nothing_and_is_no_faster_makes_the_client_the_limit(void **state)
{
	const struct shares s = { .client = 55, .calls = 85 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "Write", &s);
	p->transfer->null_ns = 8 * MS;
	is(&r, p, VERDICT_CLIENT, "a server that stores nothing takes 80 %");
	p->transfer->null_ns = 7900000;
	is(&r, p, VERDICT_SERVER_CPU, "afpd's CPU 85 %, afpd waiting for a CPU 0 %");
	run_fini(&r);
}

static void a_null_peer_tells_nothing_of_a_client_that_hardly_works(void **state)
{
	const struct shares s = { .client = 40, .calls = 85, .client_runq = 9 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "Write", &s);
	p->transfer->null_ns = 9 * MS;
	is(&r, p, VERDICT_SERVER_CPU, "afpd's CPU 85 %");
	run_set(p, METRIC_CLIENT_RUNQ, 10 * MS);
	is(&r, p, VERDICT_CLIENT, "client waiting for a CPU 10 %");
	run_fini(&r);
}

static void a_null_peer_slower_than_the_server_is_void(void **state)
{
	const struct shares s = { .client = 60, .calls = 85 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "Write", &s);
	p->transfer->null_ns = 11 * MS;
	is(&r, p, VERDICT_CLIENT, "a server that stores nothing takes 110 %");
	p->transfer->null_ns = 11 * MS + 10000;
	is(&r, p, VERDICT_SERVER_CPU,
	   "null peer not usable: it was slower than the server (110 %)");
	run_fini(&r);
}

static void waiting_for_a_cpu_is_the_client_s_time(void **state)
{
	const struct shares s = { .client = 40, .calls = 20, .client_runq = 30 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "Read", &s);
	is(&r, p, VERDICT_TURNS, "client waiting for a CPU 30 %");
	assert_true(fabs(figure(&r, p, FIGURE_WAITING) - 0.1) < 1e-9);
	assert_true(fabs(figure(&r, p, FIGURE_CLIENT_RUN) - 0.7) < 1e-9);
	run_set(p, METRIC_CLIENT_RUNQ, 40 * MS);
	p->transfer->window = 4;
	is(&r, p, VERDICT_MIXED, "");
	run_set(p, METRIC_CLIENT_CPU, 50 * MS);
	is(&r, p, VERDICT_CLIENT, "client's CPU 50 %, client waiting for a CPU 40 %");
	run_fini(&r);
}

static void waiting_longer_than_working_is_short_of_cpu(void **state)
{
	const struct shares client = { .client = 20, .calls = 20, .client_runq = 31 };
	const struct shares server = { .client = 20, .calls = 25, .runq = 26 };
	const struct shares both = { .client = 10, .calls = 15, .runq = 20, .client_runq = 11 };
	struct run r;

	(void)state;
	is(&r, made(&r, "Read", &client), VERDICT_CPU_QUEUE,
	   "; the client waits for a CPU that others use too");
	run_fini(&r);
	is(&r, made(&r, "Read", &server), VERDICT_CPU_QUEUE,
	   "afpd's CPU 25 %, afpd waiting for a CPU 26 %, ");
	run_fini(&r);
	is(&r, made(&r, "Read", &both), VERDICT_CPU_QUEUE,
	   "; client and afpd wait for a CPU that ");
	run_fini(&r);
}

static void a_server_that_sleeps_on_files_waits_for_the_disk(void **state)
{
	const struct shares s = { .client = 30, .calls = 20, .disk = 50 };
	struct run r;

	(void)state;
	is(&r, made(&r, "Write", &s), VERDICT_DISK, "afpd waiting for files 50 %");
	run_fini(&r);
}

static void a_server_bound_by_its_cpu_has_one_most_of_the_time(void **state)
{
	const struct shares s = { .client = 30, .user = 10, .calls = 40, .runq = 30 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "ServerCopy", &s);
	is(&r, p, VERDICT_SERVER_CPU, "afpd's CPU 50 %, afpd waiting for a CPU 30 %");
	assert_true(fabs(figure(&r, p, FIGURE_SERVER_RUN) - 0.8) < 1e-9);
	run_set(p, METRIC_AFPD_CPU, 49 * MS);
	is(&r, p, VERDICT_MIXED, "afpd's CPU 49 %");
	run_fini(&r);
}

static void each_part_of_a_copy_is_read_and_then_written(void **state)
{
	const struct shares s = { .client = 10, .calls = 10 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "Copy", &s);
	/* 128 turns of 50 us */
	p->transfer->tcp[2].value[TCP_MIN_RTT] = 50;
	is(&r, p, VERDICT_LATENCY, "round trips 64 %");
	p->transfer->window = 3;
	assert_true(fabs(figure(&r, p, FIGURE_ROUND_TRIPS) - 0.215) < 1e-9);
	p->transfer->window = 128;
	assert_true(fabs(figure(&r, p, FIGURE_ROUND_TRIPS) - 0.01) < 1e-9);
	run_fini(&r);
}

static void round_trips_are_counted_in_turns_of_the_window(void **state)
{
	const struct shares s = { .client = 10, .calls = 10 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "Read", &s);
	/* 64 requests, 100 us each: 6.4 of 10 ms */
	p->transfer->tcp[2].value[TCP_MIN_RTT] = 100;
	is(&r, p, VERDICT_LATENCY, "round trips 64 %");
	is(&r, p, VERDICT_LATENCY, "one request at a time");
	p->transfer->window = 4;
	assert_true(fabs(figure(&r, p, FIGURE_ROUND_TRIPS) - 0.16) < 1e-9);
	p->transfer->window = 63;
	assert_true(fabs(figure(&r, p, FIGURE_ROUND_TRIPS) - 0.02) < 1e-9);
	run_fini(&r);
}

static void two_ends_on_one_machine_have_no_network(void **state)
{
	const struct shares s = { .client = 10, .calls = 20, .net = 60 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "Read", &s);
	p->transfer->window = 4;
	p->transfer->tcp[3].value[TCP_BUSY] = 100000;
	is(&r, p, VERDICT_MIXED, "neither end working 70 %; client and server share this machine");
	assert_true(fabs(figure(&r, p, FIGURE_PATH_BUSY) - 1) < 1e-9);
	run_fini(&r);
	/* not watched, but under an address that never leaves this machine */
	p = remote(&r, "Write", &s);
	p->transfer->tcp[1].value[TCP_BUSY] = 100000;
	is(&r, p, VERDICT_NETWORK, "");
	free(r.server.note[0].text);
	r.server.note[0].text = strdup("127.0.0.1");
	is(&r, p, VERDICT_NOT_TOLD, "; watch the server to learn more");
	run_fini(&r);
}

static void a_client_that_always_has_data_under_way_fills_the_network(void **state)
{
	const struct shares s = { .client = 20 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = remote(&r, "Write", &s);
	sample_add(p, 1, true, 500 * MS); /* a warm-up is before the first look */
	p->transfer->tcp[1].value[TCP_BUSY] = 90000;
	is(&r, p, VERDICT_NETWORK, "path busy 90 %");
	p->transfer->tcp[1].value[TCP_RWND_LIMITED] = 20000;
	is(&r, p, VERDICT_NOT_TOLD, "");
	assert_true(fabs(figure(&r, p, FIGURE_RWND_LIMITED) - 0.2) < 1e-9);
	p->transfer->tcp[1].value[TCP_RWND_LIMITED] = 0;
	run_set(p, METRIC_CLIENT_CPU, 71 * MS);
	is(&r, p, VERDICT_NOT_TOLD, "");
	run_fini(&r);
}

static void a_queue_on_the_way_back_tells_of_a_full_path(void **state)
{
	const struct shares s = { .client = 20 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = remote(&r, "Read", &s);
	p->transfer->window = 8;
	p->transfer->tcp[1].value[TCP_MIN_RTT] = 10;
	p->transfer->tcp[1].value[TCP_RTT] = 40;
	is(&r, p, VERDICT_NETWORK, "a queue's part of the round-trip time 75 %");
	run_set(p, METRIC_CLIENT_CPU, 31 * MS);
	run_set(p, METRIC_CLIENT_RUNQ, 20 * MS);
	is(&r, p, VERDICT_NOT_TOLD, "; run it on the server to learn more");
	run_set(p, METRIC_CLIENT_RUNQ, 0);
	/* a single request's round trip has the server's work in it */
	p->transfer->window = 1;
	is(&r, p, VERDICT_NOT_TOLD, "");
	p->transfer->work = "Copy";
	is(&r, p, VERDICT_NETWORK, "");
	p->transfer->tcp[1].value[TCP_RTT] = 39;
	is(&r, p, VERDICT_NOT_TOLD, "");
	run_fini(&r);
}

static void a_client_that_wakes_up_often_is_not_what_a_slow_path_waits_for(void **state)
{
	const struct shares s = { .client = 26, .client_runq = 52 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = remote(&r, "Read", &s);
	p->transfer->window = 8;
	is(&r, p, VERDICT_CPU_QUEUE, "; the client waits for a CPU");
	p->transfer->null_ns = MS;
	is(&r, p, VERDICT_NOT_TOLD, "client waiting for a CPU 52 %");
	p->transfer->tcp[1].value[TCP_RTT] = 100;
	is(&r, p, VERDICT_NETWORK, "client waiting for a CPU 52 %");
	p->transfer->null_ns = 6 * MS;
	is(&r, p, VERDICT_CPU_QUEUE, "");
	run_fini(&r);
}

/* A wait that began before a short transfer is counted as a whole. */
static void a_client_waits_no_longer_than_the_transfer_takes(void **state)
{
	const struct shares s = { .client = 40, .client_runq = 685 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "Read", &s);
	assert_float_equal(figure(&r, p, FIGURE_CLIENT_RUNQ), 0.6, 1e-9);
	assert_float_equal(figure(&r, p, FIGURE_CLIENT_RUN), 1, 1e-9);
	is(&r, p, VERDICT_CPU_QUEUE, "client waiting for a CPU 60 %");
	run_fini(&r);
}

static void the_two_directions_of_a_copy_add_up_when_they_take_turns(void **state)
{
	const struct shares s = { .client = 10, .calls = 10 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "Copy", &s);
	p->transfer->tcp[2].value[TCP_BUSY] = 40000;
	p->transfer->tcp[3].value[TCP_BUSY] = 45000;
	assert_true(fabs(figure(&r, p, FIGURE_PATH_BUSY) - 0.85) < 1e-9);
	p->transfer->window = 2;
	assert_true(fabs(figure(&r, p, FIGURE_PATH_BUSY) - 0.45) < 1e-9);
	run_fini(&r);
}

static void client_and_server_by_turns_want_a_window(void **state)
{
	const struct shares s = { .client = 45, .calls = 40 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "Read", &s);
	is(&r, p, VERDICT_TURNS, "; one request at a time: a window would overlap them");
	p->transfer->window = 4;
	is(&r, p, VERDICT_MIXED, "client's CPU 45 %, afpd's CPU 40 %");
	run_fini(&r);
}

static void without_a_server_s_figures_nothing_is_told_but_the_client(void **state)
{
	const struct shares s = { .client = 45, .calls = 40 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = remote(&r, "Read", &s);
	is(&r, p, VERDICT_NOT_TOLD,
	   "not measured: the server's CPU time, what the server waited for, the sender's TCP figures; "
	   "client's CPU 45 %; run it on the server to learn more");
	assert_true(figure(&r, p, FIGURE_SERVER_CPU) < 0);
	p->known[METRIC_CLIENT_CPU] = false;
	p->transfer->n_tcp = 0;
	is(&r, p, VERDICT_NOT_TOLD, "not measured: the client's CPU time, the server's CPU time");
	is(&r, p, VERDICT_NOT_TOLD, ", the round-trip time, the sender's TCP figures");
	run_set(p, METRIC_CLIENT_CPU, 85 * MS);
	is(&r, p, VERDICT_CLIENT, "client's CPU 85 %");
	run_fini(&r);
}

static void without_a_server_the_rest_is_the_file_system(void **state)
{
	const struct shares s = { .client = 45 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "Read", &s);
	ledger_fini(&p->ledger);
	p->ledger = (struct ledger) { 0 };
	free(r.options.note[1].text);
	r.options.note[1].text = strdup("local");
	is(&r, p, VERDICT_DISK, "this program's CPU 45 %, waiting for the file system 55 %");
	run_set(p, METRIC_CLIENT_CPU, 80 * MS);
	is(&r, p, VERDICT_CLIENT, "this program's CPU 80 %");
	run_set(p, METRIC_CLIENT_CPU, 60 * MS);
	is(&r, p, VERDICT_MIXED, "file system 40 %");
	p->known[METRIC_CLIENT_CPU] = false;
	is(&r, p, VERDICT_NOT_TOLD, "not measured: the CPU time of this program");
	run_fini(&r);
}

static void what_broke_off_or_was_never_measured_has_no_verdict(void **state)
{
	const struct shares s = { .client = 95 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "Read", &s);
	p->complete = false;
	is(&r, p, VERDICT_NOT_TOLD, "it broke off");
	p->complete = true;
	for (size_t i = 0; i < p->transfer->n_samples; i++)
		p->transfer->sample[i].warmup = true;
	is(&r, p, VERDICT_NOT_TOLD, "no measured iteration");
	run_fini(&r);
}

static void what_broke_off_later_is_told_of_its_complete_iterations(void **state)
{
	const struct shares s = { .client = 91, .calls = 60 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "Read", &s);
	is_not(&r, p, "iterations");
	free(r.options.note[3].text);
	r.options.note[3].text = strdup("20");
	is(&r, p, VERDICT_CLIENT, "client's CPU 91 %, ");
	is(&r, p, VERDICT_CLIENT, " (10 of 20 iterations)");
	sample_add(p, 11, false, 3 * MS);
	p->transfer->sample[10].complete = false;
	is(&r, p, VERDICT_CLIENT, " (10 of 20 iterations; the 11th broke off)");
	p->transfer->sample[10].iteration = 2;
	is(&r, p, VERDICT_CLIENT, "; the 2nd broke off)");
	run_fini(&r);
}

static void iterations_that_differ_much_are_unsteady(void **state)
{
	const struct shares s = { .client = 91, .calls = 60 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "Read", &s);
	is_not(&r, p, "unsteady");
	p->transfer->sample[4].ns = 40 * MS;
	is(&r, p, VERDICT_CLIENT, "; unsteady: CV 73 %");
	run_fini(&r);
}

static void segments_sent_again_are_told(void **state)
{
	const struct shares s = { .client = 85 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "Write", &s);
	p->transfer->tcp[2].value[TCP_RETRANS_TOTAL] = 40;
	is(&r, p, VERDICT_CLIENT, "1.0 % of segments sent again");
	run_fini(&r);
}

static void a_run_is_what_most_of_its_time_is(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	sample_speed(&r, 2, 6, true);
	assert_int_equal(verdict_of_run(&v, &r), 0);
	assert_int_equal(v.kind, VERDICT_TURNS);
	assert_non_null(strstr(v.text, "by turns 50 % of the time (4 transfers), "));
	assert_non_null(strstr(v.text, "I/O-bound 25 % of the time (2 transfers)"));
	for (size_t i = 0; i < r.n_phases; i++)
		if (strcmp(r.phase[i]->transfer->work, "Read"))
			r.phase[i]->value[METRIC_ELAPSED] = 1;
	assert_int_equal(verdict_of_run(&v, &r), 0);
	assert_null(strstr(v.text, " 0 %"));
	run_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_without_cpu_left_is_the_limit),
		cmocka_unit_test(
		    a_peer_that_keeps_nothing_and_is_no_faster_makes_the_client_the_limit),
		cmocka_unit_test(a_null_peer_tells_nothing_of_a_client_that_hardly_works),
		cmocka_unit_test(a_null_peer_slower_than_the_server_is_void),
		cmocka_unit_test(waiting_for_a_cpu_is_the_client_s_time),
		cmocka_unit_test(waiting_longer_than_working_is_short_of_cpu),
		cmocka_unit_test(a_server_that_sleeps_on_files_waits_for_the_disk),
		cmocka_unit_test(a_server_bound_by_its_cpu_has_one_most_of_the_time),
		cmocka_unit_test(each_part_of_a_copy_is_read_and_then_written),
		cmocka_unit_test(round_trips_are_counted_in_turns_of_the_window),
		cmocka_unit_test(two_ends_on_one_machine_have_no_network),
		cmocka_unit_test(a_client_that_always_has_data_under_way_fills_the_network),
		cmocka_unit_test(a_queue_on_the_way_back_tells_of_a_full_path),
		cmocka_unit_test(a_client_that_wakes_up_often_is_not_what_a_slow_path_waits_for),
		cmocka_unit_test(a_client_waits_no_longer_than_the_transfer_takes),
		cmocka_unit_test(the_two_directions_of_a_copy_add_up_when_they_take_turns),
		cmocka_unit_test(client_and_server_by_turns_want_a_window),
		cmocka_unit_test(without_a_server_s_figures_nothing_is_told_but_the_client),
		cmocka_unit_test(without_a_server_the_rest_is_the_file_system),
		cmocka_unit_test(what_broke_off_or_was_never_measured_has_no_verdict),
		cmocka_unit_test(what_broke_off_later_is_told_of_its_complete_iterations),
		cmocka_unit_test(iterations_that_differ_much_are_unsteady),
		cmocka_unit_test(segments_sent_again_are_told),
		cmocka_unit_test(a_run_is_what_most_of_its_time_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
