/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The default that an option's text names is the one that the command has; --help and the manual
 * print the same text. Tests user/main/load_opts.c, smallfile_opts.c, user/drive/rxperf_opts.c,
 * user/replay/replay_opts.c.
 */
#include "drive/rxperf.h"
#include "main/load.h"
#include "main/smallfile.h"
#include "replay/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* How many of the table's numbers have a default in their text; each is that of cfg. */
static unsigned int check_defaults(const struct opt *table, const void *cfg)
{
	const struct opt any = { .type = OPT_SIZE };
	unsigned int n = 0;

	for (const struct opt *o = table; o->type != OPT_END; o++) {
		const char *to = (const char *)cfg + o->offset, *said;
		char word[32];
		uint64_t number, has;
		struct err e;

		said = o->help ? strstr(o->help, "(default: ") : NULL;
		if (!said || (o->type != OPT_UINT && o->type != OPT_SECONDS && o->type != OPT_SIZE))
			continue;
		said += strlen("(default: ");
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(said, ",;)"), said);
		if (opt_number(&any, o->name, word, &number, &e))
			continue; /* in words: "the mix's" */
		has = o->type == OPT_SIZE ? *(const uint64_t *)to : *(const unsigned int *)to;
		if (!has && number)
			continue; /* not given: it is chosen where it is used */
		if (number != has)
			fail_msg("--%s: %s", o->name, o->help);
		n++;
	}
	return n;
}

static void defaults_of_load_are_those_that_it_names(void **state)
{
	const struct load_cfg cfg = LOAD_DEFAULTS;

	(void)state;
	assert_int_equal(check_defaults(load_options, &cfg), 4);
}

/* The fifth: the duration, unless the rate says how long. */
static void parse_load(struct load_cfg *cfg, char *first, char *second)
{
	char *argv[] = { "load", "/dir", first, second, NULL };
	struct err e = { 0 };
	struct job job;

	*cfg = (struct load_cfg)LOAD_DEFAULTS;
	assert_int_equal(
	    job_open(&job, &load_job, 2 + (first != NULL) + (second != NULL), argv, &e), 0);
	if (load_parse(&cfg->w, &job, &e))
		fail_msg("%s", e.text);
	job_free(&job);
}

static void a_load_lasts_as_long_as_its_manual_says(void **state)
{
	static char profile[] = "--rate=0:100,60:500,119.5:500", minute[] = "--duration=60";
	struct load_cfg cfg;

	(void)state;
	for (const struct opt *o = load_options; o->type != OPT_END; o++)
		if (o->name && !strcmp(o->name, "duration"))
			assert_non_null(strstr(o->help, "(default: 30, or to the last point"));
	parse_load(&cfg, NULL, NULL);
	assert_int_equal(cfg.duration_s, 30);
	parse_load(&cfg, profile, NULL);
	assert_int_equal(cfg.duration_s, 120);
	assert_float_equal(cfg.rate.per_s, (60 * 300 + 60 * 500) / 120.0, 1e-9);
	parse_load(&cfg, profile, minute);
	assert_int_equal(cfg.duration_s, 60);
	assert_float_equal(cfg.rate.per_s, 300, 1e-9);
}

static void defaults_of_smallfile_are_those_that_it_names(void **state)
{
	const struct smallfile_cfg cfg = SMALLFILE_DEFAULTS;

	(void)state;
	assert_int_equal(check_defaults(smallfile_options, &cfg), 12);
}

static void defaults_of_rx_are_those_that_it_names(void **state)
{
	const struct rxperf_cfg cfg = RXPERF_DEFAULTS;

	(void)state;
	assert_int_equal(check_defaults(rxperf_options, &cfg), 13);
}

/* Its numbers of the connection; and the speed, which is none of those that are looked at above. */
static void defaults_of_replay_are_those_that_it_names(void **state)
{
	const struct replay_cfg cfg = REPLAY_DEFAULTS;
	const struct opt *o = replay_job.options;

	(void)state;
	assert_int_equal(check_defaults(o, &cfg), 2);
	while (strcmp(o->name ? o->name : "", "speed"))
		o++;
	assert_non_null(strstr(o->help, "(default: 1)"));
	assert_float_equal(cfg.speed, 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_of_load_are_those_that_it_names),
		cmocka_unit_test(a_load_lasts_as_long_as_its_manual_says),
		cmocka_unit_test(defaults_of_smallfile_are_those_that_it_names),
		cmocka_unit_test(defaults_of_rx_are_those_that_it_names),
		cmocka_unit_test(defaults_of_replay_are_those_that_it_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
