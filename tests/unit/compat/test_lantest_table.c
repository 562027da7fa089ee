/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What afp_lantest prints: against golden files, or read back.
 * Also tests user/report/progress.c, user/compat/lantest_metrics.c.
 */
#include "report/progress.h"
#include "report/report.h"
#include "unit/report_text.h"
#include "unit/sample_run.h"

#include <errno.h>
#include <stdio.h>

#define GOLDEN "tests/golden/"

static char *read_whole(const char *path)
{
	char *text = NULL;
	size_t len, n;
	FILE *in = fopen(path, "r"), *out = open_memstream(&text, &len);
	char part[4096];

	if (!in)
		fail_msg("cannot open %s (run the tests in the top directory)", path);
	while ((n = fread(part, 1, sizeof(part), in)))
		fwrite(part, 1, n, out);
	fclose(in);
	fclose(out);
	return text;
}

static void equals_golden(const struct run *r, enum output what, const char *name)
{
	char path[128], *want, *got = output(r, what);

	snprintf(path, sizeof(path), GOLDEN "%s", name);
	want = read_whole(path);
	assert_string_equal(got, want);
	free(got);
	free(want);
}

static void peer_text_is_the_golden_one(void **state)
{
	equals_golden(*state, PEER_TEXT, "lantest-4.5.txt");
	equals_golden(*state, PEER_TEXT_PLAIN, "lantest-4.5-no-io.txt");
}

/* As the original: of more than five iterations neither the smallest nor the largest value. */
static void outliers_are_left_out_as_in_the_original(void **state)
{
	static const uint64_t ms[] = { 10, 500, 12, 1, 14, 16 };
	struct run r;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	assert_int_equal(run_init(&r, "lantest", "netatalk-4.5"), 0);
	for (unsigned int i = 0; i < 6; i++) {
		struct run_phase *p = run_phase(&r, 8, i + 1, "dirs, many [1 AFP ops]");

		run_set(p, METRIC_ELAPSED, ms[i] * 1000000);
		run_set(p, METRIC_OPS, 1);
		p->complete = true;
	}
	r.complete = true;
	assert_int_equal(report_peer_csv(&r, REPORT_PEER_ORIGINAL, f), 0);
	assert_int_equal(report_peer_csv(&r, 0, f), 0);
	fclose(f);
	assert_non_null(strstr(text, "\ndirs, many [1 AFP ops],13,2.6,0\n"));
	assert_non_null(strstr(text, "\nSum of all AFP OPs = 1,13,,\n\n"));
	assert_non_null(strstr(text, "\n\"dirs, many [1 AFP ops]\",92,"));
	free(text);
	run_fini(&r);
}

static void peer_csv_is_the_golden_one(void **state)
{
	equals_golden(*state, PEER_CSV, "lantest-4.5.csv");
	equals_golden(*state, PEER_CSV_PLAIN, "lantest-4.5-no-io.csv");
}

/* A reader as netatalk's script for charts is one: six numbers end a row, the second alone with
 * decimals; what is before them is the title. Rows that it takes. */
static unsigned int rows_of_six_numbers(const char *text, char titles[20][256], double last[6])
{
	unsigned int n = 0;
	const char *at = text, *end;

	for (; *at; at = end + 1) {
		char line[256], *cut, *stop;
		double number[6];
		int field = 6;

		end = strchr(at, '\n');
		assert_true(end && (size_t)(end - at) < sizeof(line));
		snprintf(line, sizeof(line), "%.*s", (int)(end - at), at);
		for (; field > 0 && (cut = strrchr(line, ',')); field--) {
			number[field - 1] = strtod(cut + 1, &stop);
			if (stop == cut + 1 || *stop || !strchr(cut, '.') != (field != 2))
				break;
			*cut = 0;
		}
		if (field || !*line)
			continue;
		assert_true(n < 20);
		memcpy(last, number, sizeof(number));
		snprintf(titles[n++], sizeof(titles[0]), "%s", line);
	}
	return n;
}

static void the_csv_of_4_6_is_read_by_rows_that_end_in_six_numbers(void **state)
{
	static const uint64_t ms[] = { 10, 500, 12, 1, 14, 16 };
	char titles[20][256], *text = NULL;
	double last[6];
	struct run r;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	assert_int_equal(run_init(&r, "lantest", "lantest-4.6"), 0);
	for (unsigned int i = 0; i < 12; i++) {
		struct run_phase *p = run_phase(&r, 2 + i / 6, i % 6 + 1,
						i < 6 ? "Writing [1 AFP ops]"
						      : "dirs, many [1 AFP ops]");

		run_set(p, METRIC_ELAPSED, ms[i % 6] * 1000000);
		run_set(p, METRIC_BYTES, 1000000);
		run_set(p, METRIC_OPS, 1);
		for (enum metric m = METRIC_AFPD_SYSCR; m <= METRIC_CNID_SYSCW; m++)
			run_set(p, m, 7);
		p->complete = true;
	}
	run_phase(&r, 4, 1, "broken off [9 AFP ops]");
	assert_int_equal(report_peer_csv(&r, REPORT_PEER_4_6, f), 0);
	fflush(f);
	assert_int_equal(rows_of_six_numbers(text, titles, last), 2);
	assert_string_equal(titles[1], "dirs, many [1 AFP ops]");
	assert_true(last[0] == 92 && last[2] == 1 && last[3] == 500 && last[4] == 13 && !last[5]);
	assert_non_null(strstr(text, "Test,Time_ms,Time±,Min_ms,Max_ms,Median_ms,MB/s\n"
				     "Writing [1 AFP ops],92,199.9,1,500,13,11\n"));
	/* as the original: nothing but the table either; without the outliers where it leaves them
	 * out */
	rewind(f);
	assert_int_equal(report_peer_csv(&r, REPORT_PEER_4_6 | REPORT_PEER_ORIGINAL, f), 0);
	fflush(f);
	assert_true(!strncmp(text, "Test,", 5) &&
		    strstr(text, "dirs, many [1 AFP ops],13,2.6,1,500,13,0\n"));
	/* with the server's counts no row is mistaken for one without */
	rewind(f);
	assert_int_equal(report_peer_csv(&r, REPORT_PEER_4_6 | REPORT_PEER_IO, f), 0);
	fclose(f);
	assert_int_equal(rows_of_six_numbers(text, titles, last), 0);
	assert_non_null(
	    strstr(text, "Test,Time_ms,Time±,Min_ms,Max_ms,Median_ms,AFPD_R,AFPD_R±,AFPD_W,"
			 "AFPD_W±,CNID_R,CNID_R±,CNID_W,CNID_W±,MB/s\n"
			 "Writing [1 AFP ops],92,199.9,1,500,13,7,0.0,7,0.0,7,0.0,7,0.0,11\n"));
	free(text);
	run_fini(&r);
}

/* The titles' operations are the row's, as in the original; what was sent is said below. */
static void the_sum_of_4_6_is_what_its_titles_say(void **state)
{
	static const struct {
		const char *title;
		uint64_t ops;
	} row[] = { { "Writing one large file [103 AFP ops]", 101 },
		    { "Enumerate dir with 2000 files [~51 AFP ops]", 49 },
		    { "Creating 2000 files [4,000 AFP ops]", 4000 } };
	char *text = NULL;
	struct run r;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	assert_int_equal(run_init(&r, "lantest", "lantest-4.6"), 0);
	for (unsigned int i = 0; i < 3; i++) {
		struct run_phase *p = run_phase(&r, i + 1, 1, row[i].title);

		run_set(p, METRIC_ELAPSED, 4154000000);
		run_set(p, METRIC_OPS, row[i].ops);
		p->complete = true;
	}
	assert_int_equal(report_peer_text(&r, REPORT_PEER_4_6, f), 0);
	assert_int_equal(report_peer_csv(&r, REPORT_PEER_4_6, f), 0);
	fclose(f);
	assert_non_null(strstr(text, "\nSum of all AFP OPs = 4154 "));
	assert_non_null(strstr(text, "\nSum of all AFP OPs = 4154,12462,"));
	assert_non_null(strstr(text,
			       "Average Time per AFP OP: 3.000 ms (from per-test medians)\n"
			       "AFP OPs are those of the titles; commands that were sent: 4150\n"));
	free(text);
	run_fini(&r);
}

/* One field of RFC 4180; *at moves behind it, *more tells whether a comma followed. */
static void csv_field(const char **at, char *out, bool *more)
{
	bool quoted = **at == '"';

	*at += quoted;
	while (quoted ? !(**at == '"' && (*at)[1] != '"') : !strchr(",\n", **at)) {
		*at += quoted && **at == '"';
		*out++ = *(*at)++;
	}
	*out = 0;
	*at += quoted;
	*more = **at == ',';
	assert_true(**at == ',' || **at == '\n');
	++*at;
}

static void csv_reads_back_as_12_fields_a_line_with_whole_titles(void **state)
{
	char *text = output(*state, PEER_CSV), field[256];
	const char *at = text;
	unsigned int line = 0;

	for (; *at; line++) {
		unsigned int n = 0;
		bool more = true;

		while (more) {
			csv_field(&at, field, &more);
			n++;
			if (n == 1 && line >= 1 && line <= N_TESTS)
				assert_string_equal(field, samples[line - 1].title);
			if (n == 4 && line >= 1 && line <= N_TESTS)
				assert_int_equal(
				    strtol(field, NULL, 10),
				    (samples[line - 1].afpd_r[0] + samples[line - 1].afpd_r[1]) /
					2);
		}
		assert_int_equal(n, 12);
	}
	assert_int_equal(line, N_TESTS + 2);
	free(text);
}

static void quotes_in_a_title_are_doubled_in_csv(void **state)
{
	struct run *r = *state;

	r->phase[0]->title = "the \"big\" one";
	has(r, PEER_CSV, "\n\"the \"\"big\"\" one\",173,");
}

static void one_unknown_phase_makes_the_mean_unknown(void **state)
{
	struct run *r = *state;

	r->phase[3]->known[METRIC_AFPD_SYSCR] = false;
	has(r, PEER_TEXT,
	    "[20,000 AFP ops]                     362    2.7    n/a     n/a  20000     0.0 ");
	has(r, PEER_TEXT, "Sum of all AFP OPs = 80681 ");
	has(r, PEER_TEXT, "5582           n/a          90935 ");
	has(r, PEER_TEXT, "Average AFPD Reads per AFP OP: n/a\n");
	has(r, PEER_CSV, "[20,000 AFP ops]\",362,2.7,,,20000,0.0,0,0.0,0,0.0,0\n");
	has(r, PEER_CSV, "Sum of all AFP OPs = 80681,5582,,,,90935,,13,,13602,,\n");
}

static void only_tests_that_ran_have_a_row_and_a_share_in_the_sums(void **state)
{
	struct run *r = *state;

	for (size_t i = 0; i < r->n_phases; i++)
		r->phase[i]->test = r->phase[i]->test == 6 ? 6 : 1;
	for (size_t i = 0; i < r->n_phases; i++)
		r->phase[i]->complete = r->phase[i]->test == 6;
	has(r, PEER_TEXT, "Sum of all AFP OPs = n/a ");
	for (size_t i = 0; i < r->n_phases; i++)
		r->phase[i]->test = 6;
	has(r, PEER_TEXT, "Sum of all AFP OPs = 49 ");
	has(r, PEER_TEXT, "Average Time per AFP OP: 0.170 ms\n");
	has(r, PEER_TEXT, "Average AFPD Reads per AFP OP: 1.000\n");
}

static void the_banner_tells_the_number_of_iterations(void **state)
{
	struct run r;

	has(*state, PEER_TEXT, "for all tests, across 2 iterations (default))\n====");
	make_run(&r, 1);
	has(&r, PEER_TEXT,
	    "Netatalk Lantest Results (single iteration)\n"
	    "===========================================\n\n");
	r.complete = false;
	has(&r, PEER_TEXT, "(single iteration) - INCOMPLETE");
	run_fini(&r);
}

static void every_line_of_the_peer_text_is_as_wide_as_its_rule(void **state)
{
	char *text = output(*state, PEER_TEXT), *save = NULL, *line;
	int n = 0;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (strlen(line) < 110)
			continue;
		assert_int_equal(text_columns(line), 149);
		n++;
	}
	assert_int_equal(n, 3 + N_TESTS + 1);
	free(text);
}

static void progress_has(const struct run_phase *p, enum progress_size size, const char *part)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	report_progress(&(struct run) { 0 }, p, size, false, f);
	fclose(f);
	if (!strstr(text, part))
		fail_msg("no \"%s\" in: %s", part, text);
	free(text);
}

/* As netatalk's perf_history.pl reads them: five fields, the last a plain number. */
static void metrics_are_lines_that_netatalk_s_workflow_reads(void **state)
{
	static const char *const title[] = {
		"Open, write 1024 bytes, close 2000 files [6,000 AFP ops]",
		"Byte-range lock/unlock 2000 ranges in one fork [4,000 AFP ops]",
		"Mixed cache operations (create/stat/enum/delete) on 500 files [2,050 AFP ops]",
		"something new",
	};
	char *text = NULL;
	struct run r;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	assert_int_equal(run_init(&r, "lantest", "lantest-4.6"), 0);
	for (unsigned int i = 0; i < 8; i++) {
		struct run_phase *p = run_phase(&r, 1 + i / 2, 1 + i % 2, title[i / 2]);

		run_set(p, METRIC_ELAPSED, (i + 1) * 1500250);
		p->complete = true;
	}
	r.complete = true;
	assert_int_equal(report_peer_metrics(&r, f), 0);
	fflush(f);
	assert_string_equal(
	    text,
	    "table|lantest.open_write_1024_bytes_close_2000_files.mean_ms|Write 2k|ms|2.250\n"
	    "table|lantest.byte_range_lock_unlock_2000_ranges_in_one_fork.mean_ms|Byte lock 2k|ms|5.251\n"
	    "table|lantest.mixed_cache_operations_create_stat_enum_delete_on_500_files.mean_ms|"
	    "Mixed cache|ms|8.251\n"
	    "table|lantest.something_new.mean_ms|something_new|ms|11.252\n"
	    "inline|lantest.all_tests.mean_ms|All tests|ms|27.005\n");
	/* a test that broke off has no value, and then there is no sum */
	for (unsigned int i = 4; i < 8; i++)
		r.phase[i]->complete = false;
	r.complete = false;
	rewind(f);
	assert_int_equal(report_peer_metrics(&r, f), 0);
	fclose(f);
	assert_null(strstr(text, "mixed"));
	assert_null(strstr(text, "inline"));
	assert_non_null(strstr(text, "lantest.byte_range"));
	free(text);
	run_fini(&r);
}

/* 104,857,600 bytes in 198 ms. */
static void a_size_and_its_rate_have_one_unit(void **state)
{
	struct run_phase p = { .test = 2, .iteration = 1, .title = "Writing", .complete = true };

	(void)state;
	run_set(&p, METRIC_ELAPSED, 198000000);
	run_set(&p, METRIC_BYTES, 100u << 20);
	progress_has(&p, PROGRESS_SIZE, " 198 ms for 105 MB (avg. 530 MB/s)\n");
	progress_has(&p, PROGRESS_NETATALK_SIZE, " 198 ms for 100 MB (avg. 530 MB/s)\n");
	progress_has(&p, PROGRESS_NO_SIZE, " 198 ms\n");
}

static void a_full_disk_is_an_error(void **state)
{
	FILE *full = fopen("/dev/full", "w");

	if (!full)
		skip();
	assert_int_equal(report_peer_text(*state, true, full), -ENOSPC);
	fclose(full);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(peer_text_is_the_golden_one),
		TEST(outliers_are_left_out_as_in_the_original),
		TEST(peer_csv_is_the_golden_one),
		cmocka_unit_test(the_csv_of_4_6_is_read_by_rows_that_end_in_six_numbers),
		cmocka_unit_test(the_sum_of_4_6_is_what_its_titles_say),
		TEST(csv_reads_back_as_12_fields_a_line_with_whole_titles),
		TEST(quotes_in_a_title_are_doubled_in_csv),
		TEST(one_unknown_phase_makes_the_mean_unknown),
		TEST(only_tests_that_ran_have_a_row_and_a_share_in_the_sums),
		TEST(the_banner_tells_the_number_of_iterations),
		TEST(every_line_of_the_peer_text_is_as_wide_as_its_rule),
		cmocka_unit_test(metrics_are_lines_that_netatalk_s_workflow_reads),
		TEST(a_size_and_its_rate_have_one_unit),
		TEST(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
