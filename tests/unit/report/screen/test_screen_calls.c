/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first screen of calls over Rx. */
#include "run/load.h"
#include "unit/report_text.h"

#include <stdio.h>

#define MS 1000000ull

/* 250 clients, of which each calls twice; a test without a socket has no figures of one. */
static void new_run(struct run *r)
{
	static const struct {
		const char *key, *text;
	} options[] = { { "clients", "250" },
			{ "threads", "1" },
			{ "times", "2" },
			{ "bytes", "64000" },
			{ "rpc_sent_bytes", "3" },
			{ "rpc_received_bytes", "30" },
			{ "udp_buffer_bytes", "16777216" },
			{ "window", "32" },
			{ "datagram_packets", "4" },
			{ "directory", "rx://192.0.2.1:7009" } };

	assert_int_equal(run_init(r, "rx", "rxperf-3"), 0);
	r->about = RUN_ABOUT_CALLS;
	r->complete = true;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		assert_int_equal(run_note(&r->options, options[i].key, "%s", options[i].text), 0);
}

static struct run_phase *add_phase(struct run *r, unsigned int test, const char *name)
{
	struct run_phase *p = run_phase(r, test, 1, name);
	struct run_command *c = run_command(p, 0, name);

	assert_non_null(c);
	p->complete = true;
	p->load = run_load_new(250, 1, 0);
	for (uint64_t i = 1; i <= 500; i++)
		hist_add(&c->latency, i * MS);
	run_set(p, METRIC_ELAPSED, 2000 * MS);
	run_set(p, METRIC_OPS, 500);
	run_set(p, METRIC_ERRORS, 0);
	run_set(p, METRIC_BYTES, 500 * 64000);
	return p;
}

static void add_socket(struct run_phase *p, uint64_t resent)
{
	run_set(p, METRIC_RX_SENT, 1000);
	run_set(p, METRIC_RX_DATA_SENT, 23000);
	run_set(p, METRIC_RX_RESENT, resent);
	run_set(p, METRIC_RX_DATA_RECEIVED, 500);
	run_set(p, METRIC_RX_ACKS_SENT, 501);
	run_set(p, METRIC_RX_ACKS_RECEIVED, 11500);
	run_set(p, METRIC_RX_TIMEOUTS, resent / 10);
	run_set(p, METRIC_RX_DROPS, 7);
	run_set(p, METRIC_RX_BUFFER, 4194304);
	run_set(p, METRIC_RX_RTT, 2 * MS);
}

static char *screen(const struct run *r, unsigned int width)
{
	const struct report_opts opts = { .width = width };
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(report_screen(r, &opts, f), 0);
	fclose(f);
	return text;
}

static void shows(char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static void each_test_is_a_line(void **state)
{
	struct run r;
	struct run_phase *p;
	char *text;

	(void)state;
	new_run(&r);
	add_socket(add_phase(&r, 1, "recv"), 0);
	p = add_phase(&r, 2, "send");
	add_socket(p, 1230);
	run_set(p, METRIC_ERRORS, 3);
	text = screen(&r, 100);
	shows(text, "rx  rx://192.0.2.1:7009  run ");
	shows(text,
	      "250 clients, each 2 calls; recv and send of 64000 B, rpc of 3 B and 30 B\n"
	      "Clients' sockets: buffers of 4 MiB (asked for 16 MiB), windows of 32 packets, up to "
	      "4 packets in a\n  datagram\n");
	shows(
	    text,
	    "  calls  done  failed  per s  MB/s   mean    p50    p99  p99.9    max  resent  dropped  "
	    "round trip\n"
	    "  recv    500            250  16.0  250ms  251ms  497ms         500ms       0        7  "
	    "    2.00ms\n"
	    "  send    497       3    248  16.0  250ms  251ms  497ms         500ms   1,230        7  "
	    "    2.00ms\n");
	shows(text, "recv: 23,000 DATA and 501 ACK sent, 500 and 11,500 received\n");
	shows(text,
	      "send: 23,000 DATA and 501 ACK sent, 500 and 11,500 received; 123 times no answer "
	      "came in time\n");
	shows(text, "full\n  sockets. The times are also those of calls that failed\n");
	free(text);
	run_fini(&r);
}

/* What was not measured is n/a, and never 0. */
static void what_is_not_known_is_not_0(void **state)
{
	struct run r;
	char *text;

	(void)state;
	new_run(&r);
	add_phase(&r, 1, "recv");
	text = screen(&r, 100);
	shows(text, "Clients' sockets: buffers n/a, windows of 32 packets");
	shows(text, " 500ms     n/a      n/a         n/a\n");
	assert_null(strstr(text, "ACK sent"));
	free(text);
	run_fini(&r);
}

static void it_fits_into_40_lines_of_any_width(void **state)
{
	static const unsigned int widths[] = { 100, 80, 60 };
	struct run r;

	(void)state;
	new_run(&r);
	for (unsigned int i = 0; i < 16; i++)
		add_socket(add_phase(&r, i + 1, "recv"), 12345);
	for (size_t i = 0; i < 3; i++) {
		char *text = screen(&r, widths[i]), *save = NULL, *line;
		unsigned int lines = 3;

		for (const char *at = text; *at; at++)
			lines += *at == '\n';
		assert_true(lines <= 40);
		for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
			assert_true(text_columns(line) <= widths[i]);
		free(text);
	}
	run_fini(&r);
}

/* 1 to 500 ms: each octave has the calls between its powers of 2 of a nanosecond. */
static void all_calls_are_in_the_table_of_times(void **state)
{
	const struct report_opts opts = { 0 };
	char *text = NULL, *at;
	uint64_t sum = 0;
	struct run r;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	new_run(&r);
	add_socket(add_phase(&r, 1, "recv"), 0);
	assert_int_equal(report_own(&r, &opts, f), 0);
	fclose(f);
	at = strstr(text, "recv: how many calls took how long\n");
	assert_non_null(at);
	while ((at = strstr(at, " to "))) {
		sum += strtoull(at + 4 + 8, NULL, 10);
		at += 4;
	}
	assert_int_equal(sum, 500);
	shows(text, "     134ms to    268ms         13");
	shows(text, "     268ms to    537ms         23");
	shows(text, "  ##################################################\n");
	assert_null(strstr(text, "afpd"));
	free(text);
	run_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_test_is_a_line),
		cmocka_unit_test(what_is_not_known_is_not_0),
		cmocka_unit_test(all_calls_are_in_the_table_of_times),
		cmocka_unit_test(it_fits_into_40_lines_of_any_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
