/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Right command lines of the commands that watch a server: what they come to. Nothing is opened.
 *
 * Tests user/main/record_opts.c, doctor.c, user/top/top.c, user/slow/slow.c, user/check/check.c,
 * user/exporter/exporter.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "check/check.h"
#include "exporter/exporter.h"
#include "kinds/kind.h"
#include "main/record.h"
#include "slow/slow.h"
#include "top/top.h"
#include "top/top_rows.h"

static char copy[500];
static char *argv[40];
static int argc;
static struct err e;

static void words(const char *line)
{
	argc = 0;
	e = (struct err) { 0 };
	snprintf(copy, sizeof(copy), "%s", line);
	for (char *at = strtok(copy, " "); at; at = strtok(NULL, " "))
		argv[argc++] = at;
	argv[argc] = NULL;
}

static struct record_cfg record_of(const char *line)
{
	struct record_cfg c;

	words(line);
	if (record_parse(&c, argc, argv, &e))
		fail_msg("%s: %s", line, e.text);
	return c;
}

static void record_is_what_its_options_say(void **state)
{
	struct record_cfg c = record_of("record");

	(void)state;
	assert_string_equal(c.name, "record");
	assert_true(!c.seconds && !c.command && !c.kind && !c.trace.what && c.runs.screen);
	c = record_of("record -p 600 -d 5m --max-cpu 2% --watch proc -v -o out -- ls -l");
	assert_true(c.whom.port == 600 && c.seconds == 300 && c.max_cpu == 0.02 && c.watch == 2);
	assert_true(c.verbose == 1 && !c.runs.screen);
	assert_string_equal(c.runs.folder, "out");
	assert_string_equal(c.command[0], "ls");
	assert_string_equal(c.command[1], "-l");
	assert_null(c.command[2]);
	c = record_of("record --exe /bin/x --json -");
	assert_int_equal(c.kind, KIND_ANY);
	assert_string_equal(c.exe, "/bin/x");
	assert_false(c.runs.screen);
}

static void doctor_watches_or_takes_a_run(void **state)
{
	struct record_cfg c;
	const char *run;

	(void)state;
	words("doctor --pid 12 --short");
	assert_int_equal(doctor_parse(&c, &run, argc, argv, &e), 0);
	assert_true(c.judge && c.brief && c.whom.pid == 12 && c.seconds && !run);
	words("doctor -d 2m");
	assert_int_equal(doctor_parse(&c, &run, argc, argv, &e), 0);
	assert_int_equal(c.seconds, 120);
	words("doctor last");
	assert_int_equal(doctor_parse(&c, &run, argc, argv, &e), 0);
	assert_string_equal(run, "last");
}

static void the_others_are_what_their_options_say(void **state)
{
	struct exporter_cfg x;
	struct check_cfg k;
	struct slow_cfg s;
	struct top_cfg t;

	(void)state;
	words("top");
	assert_int_equal(top_parse(&t, argc, argv, &e), 0);
	assert_true(t.delay_s == 1 && !t.steps && !t.batch);
	words("top -d 500ms -n 3 -b --by user --filter me --max-cpu 50");
	assert_int_equal(top_parse(&t, argc, argv, &e), 0);
	assert_true(t.delay_s == 0.5 && t.steps == 3 && t.batch && t.max_cpu == 0.5);
	assert_string_equal(top_views[t.by], "user");
	assert_string_equal(t.filter, "me");
	words("slow");
	assert_int_equal(slow_parse(&s, argc, argv, &e), 0);
	assert_true(s.over_ns == 100000000 && s.rate == 20);
	words("slow --over 20ms -d 1h -n 5 --rate 0 --names --json -p 548");
	assert_int_equal(slow_parse(&s, argc, argv, &e), 0);
	assert_true(s.over_ns == 20000000 && s.seconds == 3600 && s.lines == 5 && !s.rate);
	assert_true(s.names && s.json && s.whom.port == 548);
	words("exporter");
	assert_int_equal(exporter_parse(&x, argc, argv, &e), 0);
	assert_non_null(x.listen);
	words("exporter --textfile f --interval 1m");
	assert_int_equal(exporter_parse(&x, argc, argv, &e), 0);
	assert_null(x.listen);
	assert_true(x.interval_s == 60);
	assert_string_equal(x.textfile, "f");
	words("check -p 548 -v --json -");
	assert_int_equal(check_parse(&k, argc, argv, &e), 0);
	assert_true(k.whom.port == 548 && k.verbose == 1);
	assert_string_equal(k.json, "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(record_is_what_its_options_say),
		cmocka_unit_test(doctor_watches_or_takes_a_run),
		cmocka_unit_test(the_others_are_what_their_options_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
