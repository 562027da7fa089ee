/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of afpscope rx as a client. */
#include "drive/rxperf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ARGS_MAX 40

/* A command line with blanks between its words. */
static int take(struct rxperf_cfg *cfg, const char *line, struct err *e)
{
	static char text[512];
	char *argv[ARGS_MAX] = { "rx" }, *save = NULL;
	int argc = 1, first, r;

	snprintf(text, sizeof(text), "%s", line);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		assert_true(argc < ARGS_MAX - 1);
		argv[argc++] = w;
	}
	*cfg = (struct rxperf_cfg)RXPERF_DEFAULTS;
	r = opt_parse(rxperf_options, cfg, argc, argv, &first, e);
	r = r ? r : rxperf_complete(cfg, argc - first, argv + first, e);
	return r ? r : rxperf_find(cfg, e);
}

static void without_options_it_is_what_rxperf_does(void **state)
{
	struct rxperf_cfg cfg;
	struct rxperf_opts o;
	struct err e;

	(void)state;
	assert_int_equal(take(&cfg, "127.0.0.1", &e), 0);
	assert_int_equal(ntohs(cfg.to.sin_port), 7009);
	assert_string_equal(cfg.place, "rx://127.0.0.1:7009");
	assert_int_equal(cfg.list.n, 3);
	o = rxperf_test(&cfg, 0);
	assert_string_equal(rxperf_name(&o), "recv");
	assert_int_equal(o.call.n, 1 << 20);
	assert_int_equal(o.threads, 1);
	assert_int_equal(o.calls, 100);
	assert_true(o.verify);
	o = rxperf_test(&cfg, 1);
	assert_string_equal(rxperf_name(&o), "send");
	o = rxperf_test(&cfg, 2);
	assert_string_equal(rxperf_name(&o), "rpc");
	assert_int_equal(o.call.n, 3);
	assert_int_equal(o.call.m, 30);
	assert_int_equal(cfg.udp_kib, 64);
	assert_int_equal(cfg.window, 32);
}

static void its_options_are_those_of_rxperf(void **state)
{
	struct rxperf_cfg cfg;
	struct rxperf_opts o;
	struct err e;

	(void)state;
	assert_int_equal(take(&cfg,
			      "-c file,rpc -t 4 -T 7 -b 64000 -S 5 -R 6 -u 16384 -W 64 -j -m 1000 "
			      "-f 1,2,0,300 -r 100 -w 200 rx://127.0.0.1:7010",
			      &e),
			 0);
	assert_int_equal(ntohs(cfg.to.sin_port), 7010);
	o = rxperf_test(&cfg, 0);
	assert_string_equal(rxperf_name(&o), "file");
	assert_int_equal(rx_perf_sent(&o.call), 12);
	assert_int_equal(rx_perf_received(&o.call), 1200);
	assert_int_equal(o.threads, 4);
	assert_int_equal(o.calls, 7);
	o = rxperf_test(&cfg, 1);
	assert_int_equal(o.call.n, 5);
	assert_int_equal(o.call.m, 6);
	assert_int_equal(o.call.read_len, 100);
	assert_int_equal(o.call.write_len, 200);
	assert_int_equal(cfg.udp_kib, 16384);
	assert_int_equal(cfg.window, 64);
	assert_int_equal(cfg.packet_len, 1000);
	assert_true(cfg.no_jumbo);
	assert_int_equal(take(&cfg, "-s 127.0.0.2 -p 7011", &e), 0);
	assert_string_equal(cfg.place, "rx://127.0.0.2:7011");
}

static void a_small_call_knows_its_port(void **state)
{
	struct rxperf_cfg cfg;
	struct rxperf_opts o;
	struct err e;

	(void)state;
	assert_int_equal(take(&cfg, "--op vl_probe 127.0.0.1", &e), 0);
	assert_int_equal(ntohs(cfg.to.sin_port), 7003);
	assert_int_equal(take(&cfg, "--op FetchStatus --volume 536870915 127.0.0.1", &e), 0);
	assert_int_equal(ntohs(cfg.to.sin_port), 7000);
	o = rxperf_test(&cfg, 0);
	assert_string_equal(rxperf_name(&o), "FetchStatus");
	assert_int_equal(o.volume, 536870915);
}

static void what_cannot_be_is_refused(void **state)
{
	static const struct {
		const char *line, *why;
	} wrong[] = {
		{ "", "no server: a HOST or HOST:PORT is needed" },
		{ "127.0.0.1 127.0.0.2", "more than one server" },
		{ "-c get 127.0.0.1", "'get' is none of recv, send, rpc, file" },
		{ "-c file 127.0.0.1", "-c file needs -f" },
		{ "-f 1,0,2,0,3 127.0.0.1", "the direction changes once" },
		{ "-f 1,x 127.0.0.1", "numbers of 4-byte words" },
		{ "-f -1 127.0.0.1", "numbers of 4-byte words" },
		{ "--op GetTime -c recv 127.0.0.1", "give one of them" },
		{ "--op FetchStatus 127.0.0.1", "needs --volume" },
		{ "--op Nothing 127.0.0.1", "there is no call 'Nothing'" },
		{ "-d 3 -t 2 127.0.0.1", "use -n in place of -t" },
		{ "-t 129 127.0.0.1", "129" },
		{ "-W 256 127.0.0.1", "256" },
		{ "-s 127.0.0.1 127.0.0.2", "more than one server" },
		{ "127.0.0.1:0", "must be a port" },
	};
	struct rxperf_cfg cfg;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		e = (struct err) { 0 };
		assert_true(take(&cfg, wrong[i].line, &e) < 0);
		if (!strstr(e.text, wrong[i].why))
			fail_msg("%s: %s", wrong[i].line, e.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_options_it_is_what_rxperf_does),
		cmocka_unit_test(its_options_are_those_of_rxperf),
		cmocka_unit_test(a_small_call_knows_its_port),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
