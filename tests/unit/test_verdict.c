/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict on a transfer, from figures made for each. */
#include "report/verdict.h"
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
	const struct shares s = { .client = 40, .calls = 85 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "Write", &s);
	p->transfer->null_ns = 8 * MS;
	is(&r, p, VERDICT_CLIENT, "a peer that keeps nothing takes 80 %");
	p->transfer->null_ns = 7900000;
	is(&r, p, VERDICT_SERVER_CPU, "afpd's CPU 85 %");
	run_fini(&r);
}

static void a_server_that_sleeps_on_files_waits_for_the_disk(void **state)
{
	const struct shares s = { .client = 30, .calls = 20, .disk = 50 };
	struct run r;

	(void)state;
	is(&r, made(&r, "Write", &s), VERDICT_DISK, "afpd waiting for disk 50 %");
	run_fini(&r);
}

static void waiting_for_a_cpu_is_lack_of_cpu(void **state)
{
	const struct shares s = { .client = 30, .user = 10, .calls = 40, .runq = 30 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "ServerCopy", &s);
	is(&r, p, VERDICT_SERVER_CPU, "afpd's CPU 50 %");
	assert_true(fabs(figure(&r, p, FIGURE_SERVER_RUN) - 0.8) < 1e-9);
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

static void a_path_that_is_busy_between_two_busy_ends_is_not_the_limit(void **state)
{
	const struct shares s = { .client = 45, .calls = 50 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "Read", &s);
	p->transfer->window = 4;
	p->transfer->tcp[3].value[TCP_BUSY] = 100000;
	is(&r, p, VERDICT_MIXED, "client's CPU 45 %, afpd's CPU 50 %");
	assert_true(fabs(figure(&r, p, FIGURE_PATH_BUSY) - 1) < 1e-9);
	run_fini(&r);
}

static void a_sender_that_never_runs_dry_fills_the_network(void **state)
{
	const struct shares s = { .client = 20, .calls = 40 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "Read", &s);
	/* the server sends what is read, the client what is written */
	p->transfer->tcp[2].value[TCP_BUSY] = 100000;
	is(&r, p, VERDICT_MIXED, "");
	p->transfer->tcp[3].value[TCP_BUSY] = 90000;
	is(&r, p, VERDICT_NETWORK, "path busy 90 %");
	p->transfer->tcp[3].value[TCP_RWND_LIMITED] = 20000;
	is(&r, p, VERDICT_MIXED, "");
	assert_true(fabs(figure(&r, p, FIGURE_RWND_LIMITED) - 0.2) < 1e-9);
	p->transfer->work = "Write";
	is(&r, p, VERDICT_NETWORK, "path busy 100 %");
	run_fini(&r);
}

static void nobody_working_and_no_round_trips_is_the_network(void **state)
{
	const struct shares s = { .client = 10, .calls = 20, .net = 60 };
	struct run_phase *p;
	struct run r;

	(void)state;
	p = made(&r, "Read", &s);
	is(&r, p, VERDICT_NETWORK, "neither end working 70 %");
	for (size_t i = 0; i < p->transfer->n_tcp; i++)
		p->transfer->tcp[i].known[TCP_MIN_RTT] = false;
	is(&r, p, VERDICT_NOT_TOLD, "not measured: the round-trip time");
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
	p = made(&r, "Read", &s);
	ledger_fini(&p->ledger);
	p->ledger = (struct ledger) { 0 };
	is(&r, p, VERDICT_NOT_TOLD,
	   "not measured: the server's CPU time, what the server waited for; client's CPU 45 %");
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
	assert_non_null(strstr(v.text, "disk-bound 25 % of the time (2 transfers)"));
	run_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_without_cpu_left_is_the_limit),
		cmocka_unit_test(
		    a_peer_that_keeps_nothing_and_is_no_faster_makes_the_client_the_limit),
		cmocka_unit_test(a_server_that_sleeps_on_files_waits_for_the_disk),
		cmocka_unit_test(waiting_for_a_cpu_is_lack_of_cpu),
		cmocka_unit_test(round_trips_are_counted_in_turns_of_the_window),
		cmocka_unit_test(a_path_that_is_busy_between_two_busy_ends_is_not_the_limit),
		cmocka_unit_test(a_sender_that_never_runs_dry_fills_the_network),
		cmocka_unit_test(nobody_working_and_no_round_trips_is_the_network),
		cmocka_unit_test(client_and_server_by_turns_want_a_window),
		cmocka_unit_test(without_a_server_s_figures_nothing_is_told_but_the_client),
		cmocka_unit_test(without_a_server_the_rest_is_the_file_system),
		cmocka_unit_test(what_broke_off_or_was_never_measured_has_no_verdict),
		cmocka_unit_test(segments_sent_again_are_told),
		cmocka_unit_test(a_run_is_what_most_of_its_time_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
