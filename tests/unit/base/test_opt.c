/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options: what is accepted, what is refused, and in which words.
 * Also tests user/base/err.c.
 */
#include "base/opt.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct config {
	bool csv;
	unsigned int iterations, any, verbose;
	uint64_t size;
	const char *host;
	int mode, version;
	char order[32];
	unsigned int wait_s;
	double rate, pause_s, share;
};

static int note_order(void *cfg, const char *arg, struct err *e)
{
	struct config *c = cfg;

	if (!strcmp(arg, "bad"))
		return err_set(e, -EDOM, "'bad' is no test");
	strcat(c->order, arg);
	return 0;
}

static int note_k(void *cfg, const char *arg, struct err *e)
{
	(void)arg;
	return note_order(cfg, "K", e);
}

/* "<": a list begins. */
static int note_word(void *cfg, const char *word, struct err *e)
{
	return note_order(cfg, word ? word : "<", e);
}

static const char *const modes[] = { "auto", "bpf", "off", NULL };

#define AT(member) .offset = offsetof(struct config, member)

static const struct opt table[] = {
	{ .type = OPT_HEADING, .help = "What to measure:" },
	{ 'n', "iterations", "N", OPT_UINT, AT(iterations), .help = "how often every test is run",
	  .min = 1, .max = 1000 },
	{ 'a', "any", "N", OPT_UINT, AT(any), .help = "a number" },
	{ 's', "size", "SIZE", OPT_SIZE, AT(size), .help = "size of the big file", .min = 1024 },
	{ 'h', "host", "HOST", OPT_STRING, AT(host),
	  .help = "the server, which is a name or an address of either family, and this text is "
		  "long enough to need a second line" },
	{ 0, "watch", "MODE", OPT_CHOICE, AT(mode), .help = "how to observe", .choice = modes },
	{ 0, "keep", "WHAT", OPT_CHOICE, AT(mode), .help = "also without", .value = 2,
	  .choice = modes },
	{ '5', NULL, NULL, OPT_VALUE, AT(version), .help = "AFP 3.2", .value = 32 },
	{ '7', NULL, NULL, OPT_VALUE, AT(version), .help = "AFP 3.4", .value = 34 },
	{ 'v', "verbose", NULL, OPT_COUNT, AT(verbose), .help = "more" },
	{ 'c', "csv", NULL, OPT_FLAG, AT(csv), .help = "as CSV" },
	{ 'K', NULL, NULL, OPT_CALL, .help = "cache tests", .call = note_k },
	{ 'f', "tests", "LIST", OPT_CALL, .help = "tests", .call = note_order },
	{ 'x', "a-very-long-name-for-an-option", "ARGUMENT", OPT_STRING, AT(host), .help = "long" },
	{ 0 },
};

static const struct opt measures[] = {
	{ 'w', "wait", "SECONDS", OPT_SECONDS, AT(wait_s), .help = "wait", .max = 86400 },
	{ 'r', "rate", "R", OPT_NUMBER, AT(rate), .help = "rate" },
	{ 'q', "ratio", "R", OPT_NUMBER, AT(rate), .help = "ratio", .min = 1, .max = 2 },
	{ 'p', "pause", "SECONDS", OPT_TIME, AT(pause_s), .help = "pause", .min = 100000000,
	  .max = 3600000000000 },
	{ 's', "share", "PERCENT", OPT_SHARE, AT(share), .help = "share" },
	{ 'l', "list", "LIST", OPT_LIST, .help = "words", .call = note_word },
	{ 'v', "verbose", NULL, OPT_COUNT, AT(verbose), .help = "more" },
	{ 'c', "csv", NULL, OPT_FLAG, AT(csv), .help = "as CSV" },
	{ '5', NULL, NULL, OPT_VALUE, AT(version), .help = "AFP 3.2", .value = 32 },
	{ 0, "keep", "WHAT", OPT_CHOICE, AT(mode), .help = "also without", .value = 2,
	  .choice = modes },
	{ 0 },
};

static const struct opt stopping[] = {
	{ .type = OPT_STOP },
	{ 'v', "verbose", NULL, OPT_COUNT, AT(verbose), .help = "more" },
	{ 0 },
};

/* Parses a copy of the words in line; returns opt_parse's code. */
static int parse_with(const struct opt *t, struct config *c, const char *line, int *first,
		      struct err *e)
{
	static char copy[512];
	char *argv[32] = { "afpscope" };
	int argc = 1;

	*c = (struct config) { 0 };
	*e = (struct err) { 0 };
	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	return opt_parse(t, c, argc, argv, first, e);
}

static void refused_with(int code, const char *line, const char *text)
{
	struct config c;
	struct err e;
	int first;

	assert_int_equal(parse_with(table, &c, line, &first, &e), code);
	assert_string_equal(e.text, text);
	assert_int_equal(e.code, code);
}

static void refused(const char *line, const char *text)
{
	refused_with(-EINVAL, line, text);
}

static void bad_number(const char *line, const char *text)
{
	refused_with(-ERANGE, line, text);
}

static void accepted(struct config *c, const char *line)
{
	struct err e;

	if (parse_with(table, c, line, NULL, &e))
		fail_msg("'%s': %s", line, e.text);
}

static void every_type_lands_in_its_member(void **state)
{
	struct config c;

	(void)state;
	accepted(&c, "-n 7 --size=3M -hnas --watch off -vv --verbose -c -5");
	assert_int_equal(c.iterations, 7);
	assert_true(c.size == 3 << 20);
	assert_string_equal(c.host, "nas");
	assert_int_equal(c.mode, 2);
	assert_int_equal(c.verbose, 3);
	assert_true(c.csv);
	assert_int_equal(c.version, 32);
}

static void measured(struct config *c, const char *line)
{
	struct err e;

	if (parse_with(measures, c, line, NULL, &e))
		fail_msg("'%s': %s", line, e.text);
}

static void times_and_shares_have_units(void **state)
{
	struct config c;

	(void)state;
	measured(&c, "-w 90 -r 1.5e3 -p .5 -s 2");
	assert_int_equal(c.wait_s, 90);
	assert_true(c.rate == 1500 && c.pause_s == 0.5 && c.share == 0.02);
	measured(&c, "-w 90s -p 100ms -s 2.5%");
	assert_int_equal(c.wait_s, 90);
	assert_true(c.pause_s == 0.1 && c.share == 0.025);
	measured(&c, "-w 5m -p 200000us");
	assert_int_equal(c.wait_s, 300);
	assert_true(c.pause_s == 0.2);
	measured(&c, "-w 2h -p 1h");
	assert_int_equal(c.wait_s, 7200);
	assert_true(c.pause_s == 3600);
	measured(&c, "-w 1d -p 999999999ns");
	assert_int_equal(c.wait_s, 86400);
	assert_true(c.pause_s == 0.999999999);
}

static void what_is_no_time_share_or_number_is_refused(void **state)
{
	static const struct {
		const char *line, *text;
	} bad[] = {
		{ "-w 1.5",
		  "-w: '1.5' is not a time (whole seconds, or a whole number with s, m, h, d)" },
		{ "-w 5ms",
		  "-w: '5ms' is not a time (whole seconds, or a whole number with s, m, h, d)" },
		{ "-w 2d", "-w: '2d' is not in 0..86400" },
		{ "--wait=-1", "--wait: '-1' is not in 0..86400" },
		{ "-w 99999999999999999999d", "-w: '99999999999999999999d' is not in 0..86400" },
		{ "-r x", "-r: 'x' is not a number" },
		{ "-r 1s", "-r: '1s' is not a number" },
		{ "-r 0x10", "-r: '0x10' is not a number" },
		{ "-r nan", "-r: 'nan' is not a number" },
		{ "-r inf", "-r: 'inf' is not a number" },
		{ "-r +1", "-r: '+1' is not a number" },
		{ "-r .", "-r: '.' is not a number" },
		{ "-r 1e999", "-r: '1e999' is not a number of at least 0" },
		{ "-r -1", "-r: '-1' is not a number of at least 0" },
		{ "-q 2.5", "-q: '2.5' is not in 1..2" },
		{ "-q 1e999", "-q: '1e999' is not in 1..2" },
		{ "-p 50ms", "-p: '50ms' is not in 0.1..3600" },
		{ "-p 2h", "-p: '2h' is not in 0.1..3600" },
		{ "-p 1x", "-p: '1x' is not a time (seconds, or with ns, us, ms, s, m, h, d)" },
		{ "-s 0%", "-s: '0%' is not a number above 0" },
		{ "-s 2%%", "-s: '2%%' is not a share such as 2%" },
	};
	struct config c;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse_with(measures, &c, bad[i].line, NULL, &e), -ERANGE);
		assert_string_equal(e.text, bad[i].text);
	}
}

static void a_list_is_handed_over_word_by_word(void **state)
{
	char line[100] = "-l ";
	struct config c;
	struct err e;

	(void)state;
	measured(&c, "-l a,b,,c");
	assert_string_equal(c.order, "<abc");
	assert_int_equal(parse_with(measures, &c, "-l a,bad,c", NULL, &e), -EDOM);
	assert_string_equal(e.text, "-l: 'bad' is no test");
	assert_string_equal(c.order, "<a");
	memset(line + 3, 'x', 64);
	assert_int_equal(parse_with(measures, &c, line, NULL, &e), -EINVAL);
	assert_string_equal(e.text, "-l: a word of 64 bytes: at most 63 are allowed");
}

static int put(struct config *c, const char *key, const char *text, struct err *e)
{
	const struct opt *row = opt_of_key(measures, key);

	assert_non_null(row);
	return opt_put(row, c, text, e);
}

static void the_key_of_a_file_does_what_the_option_does(void **state)
{
	struct config c = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_null(opt_of_key(measures, "w"));
	assert_null(opt_of_key(measures, "--wait"));
	assert_null(opt_of_key(measures, ""));
	assert_int_equal(put(&c, "wait", "5m", &e), 0);
	assert_int_equal(put(&c, "list", "a,b", &e), 0);
	assert_int_equal(put(&c, "verbose", "3", &e), 0);
	assert_int_equal(put(&c, "csv", "no", &e), 0);
	assert_int_equal(put(&c, "5", "yes", &e), 0);
	assert_int_equal(put(&c, "keep", "bpf", &e), 0);
	assert_true(c.wait_s == 300 && c.verbose == 3 && !c.csv && c.version == 32 && c.mode == 1);
	assert_string_equal(c.order, "<ab");
	assert_int_equal(put(&c, "csv", "yes", &e), 0);
	assert_true(c.csv);
	assert_int_equal(put(&c, "csv", "true", &e), -EINVAL);
	assert_string_equal(e.text, "csv: 'true' is neither yes nor no");
	assert_int_equal(put(&c, "wait", "2d", &e), -ERANGE);
	assert_string_equal(e.text, "wait: '2d' is not in 0..86400");
	assert_int_equal(put(&c, "keep", "", &e), -EINVAL);
	assert_string_equal(e.text, "keep: '' is not one of auto, bpf, off");
}

struct heard {
	char text[ERR_TEXT_MAX];
};

static int hear(void *user, const struct opt *row, const char *name, const char *arg, struct err *e)
{
	char key[2];

	(void)e;
	err_append(((struct heard *)user)->text, "%s %s %s;", opt_key(row, key), name,
		   arg ? arg : "-");
	return 0;
}

static void each_option_is_handed_over_in_its_order(void **state)
{
	char *argv[] = { "x", "-v", "place", "--wait=3", "-5", "-vl", "a", NULL };
	struct heard h = { "" };
	struct err e = { 0 };
	int first;

	(void)state;
	assert_int_equal(opt_each(measures, 7, argv, &first, hear, &h, &e), 0);
	assert_string_equal(h.text, "verbose -v -;wait --wait 3;5 -5 -;verbose -v -;list -l a;");
	assert_string_equal(argv[first], "place");
}

static void an_argument_may_be_left_out_where_a_value_stands_for_it(void **state)
{
	struct config c = { 0 };

	(void)state;
	accepted(&c, "--keep --csv");
	assert_int_equal(c.mode, 2);
	assert_true(c.csv);
	accepted(&c, "--keep=bpf");
	assert_int_equal(c.mode, 1);
	refused("--keep=all", "--keep: 'all' is not one of auto, bpf, off");
}

static void the_last_of_two_values_wins(void **state)
{
	struct config c;

	(void)state;
	accepted(&c, "-5 -7 -n 3 -n 9");
	assert_int_equal(c.version, 34);
	assert_int_equal(c.iterations, 9);
}

static void callbacks_see_the_order_of_the_options(void **state)
{
	struct config c;

	(void)state;
	accepted(&c, "-K -f12 --tests=3 -K");
	assert_string_equal(c.order, "K123K");
	accepted(&c, "-f12 -K");
	assert_string_equal(c.order, "12K");
}

static void numbers_outside_their_range_are_named_with_it(void **state)
{
	(void)state;
	bad_number("--iterations=0", "--iterations: '0' is not in 1..1000");
	bad_number("--iterations=-1", "--iterations: '-1' is not in 1..1000");
	bad_number("-n 1001", "-n: '1001' is not in 1..1000");
	bad_number("-n 99999999999999999999999", "-n: '99999999999999999999999' is not in 1..1000");
	bad_number("-a 4294967296", "-a: '4294967296' is not in 0..4294967295");
	bad_number("-s 1023", "-s: '1023' is not in 1024..18446744073709551615");
	bad_number("-s 18014398509481985K",
		   "-s: '18014398509481985K' is not in 1024..18446744073709551615");
}

static void both_ends_of_a_range_belong_to_it(void **state)
{
	struct config c;

	(void)state;
	accepted(&c, "-n 1");
	assert_int_equal(c.iterations, 1);
	accepted(&c, "-n 1000");
	assert_int_equal(c.iterations, 1000);
	accepted(&c, "-a 4294967295 -s 1024");
	assert_true(c.any == UINT_MAX);
}

static void things_that_are_no_numbers_are_refused(void **state)
{
	static const char *const bad[] = { "-x", "+1", "1x", "0x10", "x", "1.5", "1K" };
	char line[64], text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), "-n%s", bad[i]);
		snprintf(text, sizeof(text), "-n: '%s' is not a whole number", bad[i]);
		bad_number(line, text);
	}
	bad_number("--iterations=", "--iterations: '' is not a whole number");
}

static void sizes_take_binary_units_and_no_others(void **state)
{
	struct config c;

	(void)state;
	accepted(&c, "-s 4096");
	assert_true(c.size == 4096);
	accepted(&c, "-s 1k");
	assert_true(c.size == 1024);
	accepted(&c, "-s 2GiB");
	assert_true(c.size == 2ull << 30);
	accepted(&c, "-s 1T");
	assert_true(c.size == 1ull << 40);
	bad_number("-s 1MB", "-s: '1MB' is not a size (a whole number, or one with K, M, G, T)");
	bad_number("-s M", "-s: 'M' is not a size (a whole number, or one with K, M, G, T)");
}

static void unknown_options_are_named(void **state)
{
	(void)state;
	refused("-z", "unknown option '-z'; see --help");
	refused("-cz", "unknown option '-z'; see --help");
	refused("--zebra", "unknown option '--zebra'; see --help");
	refused("--zebra=1", "unknown option '--zebra'; see --help");
	refused("operand --zebra", "unknown option '--zebra'; see --help");
	refused("-\xc3\xa4", "unknown option (byte 0xc3); see --help");
}

static void unfit_arguments_are_named(void **state)
{
	struct config c;

	(void)state;
	refused("-n", "-n: needs an argument (N)");
	refused("--iterations", "--iterations: needs an argument (N)");
	refused("--host --csv", "--host: needs an argument (HOST), and '--csv' is an option");
	refused("-h --size=2K", "-h: needs an argument (HOST), and '--size=2K' is an option");
	refused("-f -v", "-f: needs an argument (LIST), and '-v' is an option");
	accepted(&c, "-h-v");
	assert_string_equal(c.host, "-v");
	accepted(&c, "--host=--csv -f -x-");
	assert_string_equal(c.host, "--csv");
	accepted(&c, "-h -");
	assert_string_equal(c.host, "-");
	refused("--csv=1", "--csv: takes no argument");
	refused("--watch=on", "--watch: 'on' is not one of auto, bpf, off");
}

static void abbreviations_work_while_they_are_unique(void **state)
{
	struct config c;

	(void)state;
	accepted(&c, "--iter=5");
	assert_int_equal(c.iterations, 5);
	refused("--a=5", "ambiguous option '--a'; see --help");
}

static void a_callback_s_error_gets_the_name_of_the_option(void **state)
{
	struct config c;
	struct err e;

	(void)state;
	assert_int_equal(parse_with(table, &c, "--tests=bad", NULL, &e), -EDOM);
	assert_string_equal(e.text, "--tests: 'bad' is no test");
}

static void operands_may_stand_anywhere_unless_the_table_stops(void **state)
{
	struct config c;
	struct err e;
	int first;

	(void)state;
	assert_int_equal(parse_with(table, &c, "one -c two -- -n", &first, &e), 0);
	assert_true(c.csv);
	assert_int_equal(first, 3);
	assert_int_equal(parse_with(stopping, &c, "-v lantest -v -z", &first, &e), 0);
	assert_int_equal(c.verbose, 1);
	assert_int_equal(first, 2);
	assert_int_equal(parse_with(table, &c, "-c", &first, &e), 0);
	assert_int_equal(first, 2);
}

static void operands_are_refused_where_none_are_wanted(void **state)
{
	struct config c;
	struct err e;

	(void)state;
	assert_int_equal(parse_with(table, &c, "-c one", NULL, &e), -EINVAL);
	assert_string_equal(e.text, "unexpected 'one'; see --help");
}

static void parsing_works_again_after_an_error_in_mid_word(void **state)
{
	struct config c;

	(void)state;
	refused("-czv", "unknown option '-z'; see --help");
	accepted(&c, "-c -v");
	assert_true(c.csv);
	assert_int_equal(c.verbose, 1);
}

static char *help_of(const struct opt *t)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	opt_help(f, t);
	fclose(f);
	return text;
}

static void help_fits_80_columns_and_names_ranges_and_choices(void **state)
{
	char *text = help_of(table), *line;

	(void)state;
	assert_non_null(strstr(text, "What to measure:\n"));
	assert_non_null(
	    strstr(text, "  -n, --iterations=N  how often every test is run (1..1000)\n"));
	assert_non_null(strstr(text, "      --watch=MODE    how to observe (auto, bpf, off)\n"));
	assert_non_null(strstr(text, "  -K                  cache tests\n"));
	assert_non_null(strstr(text, "  -x, --a-very-long-name-for-an-option=ARGUMENT\n"
				     "                      long\n"));
	assert_non_null(strstr(text, "\n                      "));
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 80);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_lands_in_its_member),
		cmocka_unit_test(times_and_shares_have_units),
		cmocka_unit_test(what_is_no_time_share_or_number_is_refused),
		cmocka_unit_test(a_list_is_handed_over_word_by_word),
		cmocka_unit_test(the_key_of_a_file_does_what_the_option_does),
		cmocka_unit_test(each_option_is_handed_over_in_its_order),
		cmocka_unit_test(an_argument_may_be_left_out_where_a_value_stands_for_it),
		cmocka_unit_test(the_last_of_two_values_wins),
		cmocka_unit_test(callbacks_see_the_order_of_the_options),
		cmocka_unit_test(numbers_outside_their_range_are_named_with_it),
		cmocka_unit_test(both_ends_of_a_range_belong_to_it),
		cmocka_unit_test(things_that_are_no_numbers_are_refused),
		cmocka_unit_test(sizes_take_binary_units_and_no_others),
		cmocka_unit_test(unknown_options_are_named),
		cmocka_unit_test(unfit_arguments_are_named),
		cmocka_unit_test(abbreviations_work_while_they_are_unique),
		cmocka_unit_test(a_callback_s_error_gets_the_name_of_the_option),
		cmocka_unit_test(operands_may_stand_anywhere_unless_the_table_stops),
		cmocka_unit_test(operands_are_refused_where_none_are_wanted),
		cmocka_unit_test(parsing_works_again_after_an_error_in_mid_word),
		cmocka_unit_test(help_fits_80_columns_and_names_ranges_and_choices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
