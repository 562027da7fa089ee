/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gfapi_perf_tool prints of a run: its fields and their arithmetic. */
#include "compat/gfapi_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

#define NS_PER_S 1000000000ull

static const struct gfapi_way random_read = { .what = "random read", .rates = true };

/* The example of its README: 5000 files of 1 MiB, records of 64 KiB, 248.10 s. */
static const struct gfapi_result readme = {
	.files_read = 5000,
	.transfers = 80000,
	.bytes = 5242880000,
	.begin_ns = 1000 * NS_PER_S,
	.end_ns = 1000 * NS_PER_S + 248105000000,
};

static char *text_of(const struct gfapi_result *r, const struct gfapi_way *way)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	gfapi_put_result(out, r, way);
	fclose(out);
	return text;
}

static void has(const struct gfapi_result *r, const struct gfapi_way *way, const char *line,
		bool is)
{
	char *text = text_of(r, way);

	if (!strstr(text, line) == is)
		fail_msg("%s'%s' in:\n%s", is ? "no " : "", line, text);
	free(text);
}

static void the_block_is_that_of_the_readme(void **state)
{
	char *text = text_of(&readme, &random_read);

	(void)state;
	assert_string_equal(text, "thread   0:   files read = 5000\n"
				  "  files done = 5000\n"
				  "  I/O (record) transfers = 80000\n"
				  "  total bytes = 5242880000\n"
				  "  elapsed time    = 248.10    sec\n"
				  "  throughput      = 20.15     MB/sec\n"
				  "  file rate       = 20.15     files/sec\n"
				  "  IOPS            = 322.44    (random read)\n");
	free(text);
}

/* From the first begin to the last end, whichever thread they are of. */
static void the_aggregate_is_the_sum_over_the_whole_time(void **state)
{
	struct gfapi_result sum = { .thread = -1 }, two = readme, idle = { .failed = 7 };

	(void)state;
	two.files_written = 3;
	two.files_deleted = 2;
	two.files_missing = 1;
	two.begin_ns = 900 * NS_PER_S;
	two.end_ns = 1100 * NS_PER_S;
	gfapi_result_add(&sum, &readme);
	gfapi_result_add(&sum, &two);
	gfapi_result_add(&sum, &idle);
	assert_int_equal(sum.files_read, 10000);
	assert_int_equal(sum.files_written, 3);
	assert_int_equal(sum.files_deleted, 2);
	assert_int_equal(sum.files_missing, 1);
	assert_int_equal(sum.transfers, 160000);
	assert_int_equal(sum.bytes, 2 * readme.bytes);
	assert_int_equal(sum.failed, 7);
	assert_int_equal(sum.begin_ns, two.begin_ns);
	assert_int_equal(sum.end_ns, readme.end_ns);
	has(&sum, &random_read, "aggregate:   files written = 3\n", true);
	has(&sum, &random_read, "  elapsed time    = 348.11    sec\n", true); /* 348.105 */
}

static void failures_leave_no_rate(void **state)
{
	static const char *const rates[] = { "throughput", "file rate", "IOPS", "/sec" };
	struct gfapi_way way = random_read;
	struct gfapi_result r = readme;

	(void)state;
	way.rates = false;
	r.failed = 1;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		has(&r, &way, rates[i], false);
	has(&r, &way, "  files failed = 1\n", true);
	has(&r, &way, "  total bytes = 5242880000\n", true);
	has(&readme, &random_read, "failed", false);
}

static void fewer_than_ten_files_have_no_file_rate(void **state)
{
	struct gfapi_result r = readme;

	(void)state;
	r.files_read = 9;
	has(&r, &random_read, "file rate", false);
	has(&r, &random_read, "throughput", true);
	r.files_deleted = 1;
	has(&r, &random_read, "file rate", true);
}

static void what_was_deleted_is_counted_and_has_a_rate(void **state)
{
	const struct gfapi_way way = { .what = "delete", .rates = true };
	const struct gfapi_result r = { .files_deleted = 300,
					.files_missing = 5,
					.begin_ns = NS_PER_S,
					.end_ns = 4 * NS_PER_S };

	(void)state;
	has(&r, &way, "  files deleted = 300\n", true);
	has(&r, &way, "  files missing = 5\n", true);
	has(&r, &way, "  files done = 300\n", true);
	has(&r, &way, "  file rate       = 100.00    files/sec\n", true);
	has(&r, &way, "throughput", false);
	has(&r, &way, "IOPS", false);
}

static void a_mix_says_what_part_was_read(void **state)
{
	const struct gfapi_way way = { .what = "mix", .mixed = true, .rates = true };
	struct gfapi_result r = readme;

	(void)state;
	r.files_written = 15000;
	has(&r, &way, "  fraction of reads =  25.00%\n", true);
	r.files_written = r.files_read = 0;
	has(&r, &way, "fraction", false);
}

static void what_did_nothing_has_neither_time_nor_rate(void **state)
{
	const struct gfapi_result none = { 0 };

	(void)state;
	has(&none, &random_read, "  elapsed time    = 0.00      sec\n", true);
	has(&none, &random_read, "/sec", false);
	has(&none, &random_read, "nan", false);
	has(&none, &random_read, "inf", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_block_is_that_of_the_readme),
		cmocka_unit_test(the_aggregate_is_the_sum_over_the_whole_time),
		cmocka_unit_test(failures_leave_no_rate),
		cmocka_unit_test(fewer_than_ten_files_have_no_file_rate),
		cmocka_unit_test(what_was_deleted_is_counted_and_has_a_rate),
		cmocka_unit_test(a_mix_says_what_part_was_read),
		cmocka_unit_test(what_did_nothing_has_neither_time_nor_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
