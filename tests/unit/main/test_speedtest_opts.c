/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of speedtest: sizes with units, what a name decides, what does not go together. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "main/speedtest.h"

static struct speedtest_cfg cfg;
static struct job job;
static struct err e;

/* words: the command line, one blank between them; the first is the program's name. */
static int parse(const char *words)
{
	static char copy[1000];
	char *argv[40], *at;
	int argc = 0;

	snprintf(copy, sizeof(copy), "%s", words);
	for (at = strtok(copy, " "); at; at = strtok(NULL, " "))
		argv[argc++] = at;
	argv[argc] = NULL;
	e = (struct err) { 0 };
	job_free(&job);
	job_open(&job, &speedtest_job, argc, argv, &e);
	return speedtest_parse(&cfg, &job, &e);
}

#define SERVER " -s vol -u me -w secret"

static uint64_t size_of(const char *text)
{
	char words[100];

	snprintf(words, sizeof(words), "speedtest -d %s" SERVER, text);
	if (parse(words))
		return 0;
	assert_int_equal(cfg.o.n_sizes, 1);
	return cfg.size[0];
}

static void sizes_have_units(void **state)
{
	(void)state;
	assert_int_equal(size_of("64"), 64u << 20);
	assert_int_equal(size_of("0.004"), 4194);
	assert_int_equal(size_of("4K"), 4096);
	assert_int_equal(size_of("4KiB"), 4096);
	assert_int_equal(size_of("4k"), 4096);
	assert_int_equal(size_of("100B"), 100);
	assert_int_equal(size_of("1.5G"), 3ull << 29);
	assert_int_equal(size_of("2049"), 2049ull << 20);
	assert_int_equal(size_of("4096"), 4ull << 30);
	assert_int_equal(size_of("1T"), 1ull << 40);
}

static void nonsense_is_no_size(void **state)
{
	const char *const bad[] = { "0",    "-1",    "x",     "1X",    "1KB",  "1e",  "nan",
				    "inf",  "K",     "9999P", "0x10Z", "1..5", "4Kx", "0.0000001",
				    "0x10", "0X1p4", "1e3",   "+4",    "1." };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(size_of(bad[i]), 0);
		assert_non_null(strstr(e.text, bad[i]));
	}
}

static void lists_of_sizes(void **state)
{
	(void)state;
	assert_int_equal(parse("speedtest -z 0.004,64K,1,2G" SERVER), 0);
	assert_int_equal(cfg.o.n_sizes, 4);
	assert_int_equal(cfg.size[0], 4194);
	assert_int_equal(cfg.size[3], 2ull << 30);
	assert_true(cfg.sweep && cfg.statistics);
	assert_int_equal(parse("speedtest -z 1" SERVER), 0);
	assert_true(cfg.sweep);
	assert_int_equal(parse("speedtest -z 1,2 -d 1" SERVER), 0);
	assert_false(cfg.sweep);
	assert_int_equal(parse("speedtest -z 1,2,1024K" SERVER), 0);
	assert_int_equal(cfg.o.n_sizes, 2);
	assert_int_equal(parse("speedtest -z 1,,2" SERVER), -EINVAL);
	assert_int_equal(parse("speedtest -z 1," SERVER), -EINVAL);
}

static void no_size_is_the_sweep(void **state)
{
	(void)state;
	assert_int_equal(parse("speedtest" SERVER), 0);
	assert_true(cfg.sweep);
	assert_int_equal(cfg.o.n_sizes, 18);
	assert_int_equal(cfg.size[0], 4096);
	assert_int_equal(cfg.size[17], 512u << 20);
	assert_int_equal(parse("speedtest -d 64" SERVER), 0);
	assert_false(cfg.sweep);
	assert_int_equal(parse("speedtest -F big.bin --set speedtest-4.5" SERVER), 0);
	assert_false(cfg.sweep);
	assert_int_equal(cfg.o.n_sizes, 0);
	assert_int_equal(parse("afp_speedtest -F big.bin" SERVER), 0);
	assert_int_equal(cfg.o.n_sizes, 18);
}

static void the_name_decides_the_manners(void **state)
{
	(void)state;
	assert_int_equal(parse("speedtest" SERVER), 0);
	assert_string_equal(cfg.set, "speedtest");
	assert_false(cfg.o.peer || cfg.live);
	assert_int_equal(cfg.o.n_works, 2);
	assert_int_equal(cfg.o.iterations, 6);
	assert_int_equal(parse("/usr/bin/afp_speedtest" SERVER), 0);
	assert_string_equal(cfg.set, "speedtest-4.5");
	assert_true(cfg.o.peer && cfg.live);
	assert_int_equal(cfg.o.n_works, 1);
	assert_int_equal(cfg.o.work[0], SPEED_WRITE);
	assert_int_equal(cfg.o.iterations, 1);
	assert_int_equal(parse("speedtest --set speedtest-4.5" SERVER), 0);
	assert_true(cfg.o.peer);
	assert_false(cfg.live);
}

static void works_in_the_order_given(void **state)
{
	(void)state;
	assert_int_equal(parse("speedtest -f ServerCopy,read,COPY,Read" SERVER), 0);
	assert_int_equal(cfg.o.n_works, 3);
	assert_int_equal(cfg.o.work[0], SPEED_SERVER_COPY);
	assert_int_equal(cfg.o.work[1], SPEED_READ);
	assert_int_equal(cfg.o.work[2], SPEED_COPY);
	assert_int_equal(parse("speedtest -f Red" SERVER), -ENOENT);
	assert_non_null(strstr(e.text, "'Red'"));
}

static void numbers_have_limits(void **state)
{
	const char *const bad[] = {
		"speedtest -r 0" SERVER,    "speedtest -r 129" SERVER, "speedtest -n 0" SERVER,
		"speedtest -W 1001" SERVER, "speedtest -t -1" SERVER,  "speedtest -t 3601" SERVER,
		"speedtest -q 0" SERVER,    "speedtest -q 2G" SERVER,  "speedtest -t x" SERVER,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(parse(bad[i]) < 0);
	assert_int_equal(parse("speedtest -q 64 -r 128 -t 0.25 -W 0" SERVER), 0);
	assert_int_equal(cfg.o.chunk, 65536);
	assert_int_equal(cfg.o.delay_ns, 250000000);
}

static void what_does_not_go_together_is_refused(void **state)
{
	const char *const bad[] = {
		"speedtest -L",
		"speedtest -P /tmp" SERVER,
		"speedtest -D" SERVER,
		"speedtest -L -P /tmp afp://host/vol",
		"speedtest -L -P /tmp -S vol2",
		"speedtest -L -P /tmp -f ServerCopy",
		"speedtest -L -P /tmp -r 8",
		"speedtest --max-size 2M" SERVER,
		"speedtest --names" SERVER,
		"speedtest --trace-buffer 1M" SERVER,
		"speedtest --trace-cpu 0" SERVER,
		"speedtest --trace=off --max-size 2M" SERVER,
		"speedtest --verify --data random" SERVER,
		"speedtest --verify --data zero" SERVER,
		"speedtest --verify -F x" SERVER,
		"speedtest --set speedtest-4.5 --data random" SERVER,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse(bad[i]), -EINVAL);
	assert_int_equal(parse("afp_speedtest -L -P /tmp -f ServerCopy"), 0);
	assert_int_equal(parse("speedtest --trace --max-size 2M --names --trace-cpu 0" SERVER), 0);
	assert_int_equal(parse("afp_speedtest -L -P /tmp -r 8"), 0);
	assert_int_equal(cfg.o.window, 1);
	assert_int_equal(parse("speedtest -L -P /tmp -r 1"), 0);
	assert_int_equal(parse("speedtest -L -P /tmp"), 0);
	assert_int_equal(parse("speedtest --verify" SERVER), 0);
	assert_int_equal(cfg.o.data, SPEED_PATTERN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_have_units),
		cmocka_unit_test(nonsense_is_no_size),
		cmocka_unit_test(lists_of_sizes),
		cmocka_unit_test(no_size_is_the_sweep),
		cmocka_unit_test(the_name_decides_the_manners),
		cmocka_unit_test(works_in_the_order_given),
		cmocka_unit_test(numbers_have_limits),
		cmocka_unit_test(what_does_not_go_together_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
