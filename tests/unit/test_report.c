/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of the synthetic run: against golden files, or read back. */
#include "report/cell.h"
#include "report/peer/progress.h"
#include "report/report.h"
#include "unit/report_text.h"
#include "unit/sample_run.h"

#include <errno.h>
#include <stdio.h>

#ifndef GOLDEN
#define GOLDEN "tests/golden/"
#endif

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

static void peer_csv_is_the_golden_one(void **state)
{
	equals_golden(*state, PEER_CSV, "lantest-4.5.csv");
	equals_golden(*state, PEER_CSV_PLAIN, "lantest-4.5-no-io.csv");
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

static void the_own_report_says_complete_and_closed(void **state)
{
	has(*state, OWN, "run 00112233445566ff  2025-03-01T12:00:00Z  complete, 0 lost\n");
	has(*state, OWN, "Cross-checks agree 2 of 2 comparisons, with /proc/PID/io\n");
	has(*state, OWN, "Server      name: nas, netatalk 4.5.1; address: 192.0.2.7:548\n");
	has_not(*state, OWN, "\033");
	has_not(*state, OWN, "n/a");
	has_not(*state, OWN, "DISAGREES");
}

static void a_cross_check_that_disagrees_is_shown_in_red_with_its_difference(void **state)
{
	run_book(*state, "cnid_dbd 4712 syscw", "/proc/PID/io", 1000, 1002);
	has(*state, OWN,
	    "CROSS-CHECK DISAGREES cnid_dbd 4712: syscw 1,000 ≠ 1,002 (-2) (/proc/PID/io)\n");
	has(*state, OWN_COLOR, "\033[1;31mCROSS-CHECK DISAGREES cnid_dbd 4712: ");
	has(*state, OWN, "Cross-checks agree 2 of 3 comparisons, with /proc/PID/io\n");
}

static void a_thousand_cross_checks_that_agree_are_one_line(void **state)
{
	char name[64], *text;
	size_t n = 0;

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "afpd %d syscr", 5000 + i);
		assert_int_equal(run_book(*state, name, "/proc/PID/io", 7, 7), 0);
	}
	text = output(*state, OWN);
	for (const char *at = text; (at = strstr(at, "Cross-check")); at++)
		n++;
	assert_int_equal(n, 1);
	assert_non_null(strstr(text, "1,002 of 1,002 comparisons"));
	free(text);
}

static void losses_and_a_broken_run_are_on_the_first_line(void **state)
{
	struct run *r = *state;

	run_loss(r, "map full", 1234);
	r->complete = false;
	r->phase[r->n_phases - 1]->complete = false;
	has(r, OWN, "INCOMPLETE, 1,234 lost\n");
	has(r, OWN, "LOST        1,234 map full\n");
	has(r, OWN, " 1/2 ");
}

static void text_from_a_server_cannot_move_the_cursor(void **state)
{
	struct run *r = *state;

	run_note(&r->server, "evil", "a\033[2Jb\rc");
	has(r, OWN, "evil: a?[2Jb?c\n");
}

static void a_run_without_a_watch_shows_no_zeros_for_the_server(void **state)
{
	struct run *r = *state;

	for (size_t i = 0; i < r->n_phases; i++) {
		struct run_phase *p = r->phase[i];

		ledger_fini(&p->ledger);
		for (enum metric m = METRIC_AFPD_SYSCR; m < N_METRICS; m++)
			p->known[m] = false;
	}
	run_note(&r->absent, "*", "the watch was off");
	has(r, OWN, "n/a because the watch was off (all of the server)\n");
	has(r, OWN, "afpd: calls n/a (not measured)\n");
	has(r, OWN, "cnid_dbd: calls n/a (not measured)\n");
	has(r, OWN, "    n/a     n/a   n/a    0\n");
	has_not(r, OWN, "What AFPD_R");
}

static void sampled_totals_are_shown_and_their_parts_are_not(void **state)
{
	struct run *r = *state;

	for (size_t i = 0; i < r->n_phases; i++)
		r->phase[i]->ledger.has_calls = false;
	has(r, OWN, "afpd: calls n/a (not measured)\n");
	has(r, OWN, "  AFPD_R");
	has_not(r, OWN, "AFPD_R n/a");
	r->phase[0]->ledger.has_compat[AFS_ROLE_SERVER] = false;
	for (size_t i = 1; i < r->n_phases; i++)
		r->phase[i]->ledger.has_calls = r->phase[i]->test != 1;
	has(r, OWN, "\n  stat                     n/a   3.00 ");
	has(r, OWN, "\n  AFPD_R                     n/a    101 ");
}

static void waits_stand_last_and_outside_the_sum(void **state)
{
	has(*state, OWN, "\n  write · client socket   3.08  12.22          4.10 ");
	has(*state, OWN,
	    "  sum                     8.10  16.59  11.32   8.47  10.52   8.47  20.77  "
	    "16.67   8.47  12.47   8.47   8.47\n  wait · client socket   21.00 ");
}

static void the_matrix_gives_calls_per_command_and_what_afpd_r_is(void **state)
{
	has(*state, OWN, "afpd: calls per AFP command");
	/* tests 1, 2, 3: 8000 + 1000 sendfiles, none, 134 and 136 for 101 commands */
	has(*state, OWN, "\n  sendfile · data file    0.12          1.34\n");
	has(*state, OWN, "\n  stat                    3.00   3.00   3.00   3.00 ");
	has(*state, OWN, "\n  sum                     5.88   7.98   6.34 ");
	has(*state, OWN, "\n  wait · client socket    1.00 ");
	has(*state, OWN, "\n  AFPD_R                    9000    101    236  20000 ");
	has(*state, OWN, "\n  = read · pipe             8000    101    101  20000 ");
	has(*state, OWN, "\n  + sendfile · data file    1000           135\n");
	has_not(*state, OWN, "no such call");
}

static void what_no_call_explains_is_a_line_of_its_own(void **state)
{
	((struct run *)*state)->phase[0]->ledger.compat[AFS_ROLE_SERVER].syscr += 3;
	has(*state, OWN, "\n  ? no such call             1.5\n");
}

static void no_line_of_the_own_report_ends_in_a_blank(void **state)
{
	has_not(*state, OWN, " \n");
	has_not(*state, OWN_NARROW, " \n");
}

static void a_narrow_terminal_gets_narrow_tables(void **state)
{
	char *text = output(*state, OWN_NARROW);
	struct run r;

	assert_non_null(strstr(text, "max"));
	assert_null(strstr(text, "ops/s"));
	assert_null(strstr(text, " p99.9 "));
	is_narrow(text);
	make_record(&r);
	is_narrow(output(&r, OWN_NARROW));
	has_not(&r, OWN_NARROW, " \n");
	run_fini(&r);
}

static void text_from_elsewhere_is_cut_between_characters(void **state)
{
	char longest[200] = "";

	(void)state;
	assert_string_equal(cell_text("", 5).text, "");
	assert_string_equal(cell_text("abcde", 5).text, "abcde");
	assert_string_equal(cell_text("abcdef", 5).text, "abcd…");
	assert_string_equal(cell_text("共有フォルダ", 6).text, "共有フォルダ");
	assert_string_equal(cell_text("共有フォルダ", 5).text, "共有フォ…");
	assert_string_equal(cell_text("a\tb\x7f", 5).text, "a?b?");
	for (size_t i = 0; i < 20; i++)
		strcat(longest, "語");
	assert_int_equal(text_columns(cell_text(longest, 16).text), 13);
	/* No character begins anywhere. */
	memset(longest, 0xa4, sizeof(longest) - 1);
	assert_int_equal(strspn(cell_text(longest, 39).text, "\xa4"), 0);
	memset(longest, 'x', sizeof(longest) - 1);
	assert_int_equal(text_columns(cell_text(longest, 39).text), 37);
}

static void cells_keep_their_digits_at_every_size(void **state)
{
	static const struct {
		double ns;
		const char *text;
	} times[] = { { 0, "0ns" },         { 999.4, "999ns" },    { 999.6, "1.00µs" },
		      { 8304, "8.30µs" },   { 9996, "10.0µs" },    { 99960, "100µs" },
		      { 999600, "1.00ms" }, { 1234567, "1.23ms" }, { 2.5e9, "2.50s" },
		      { 3.6e12, "3600s" } };

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		assert_string_equal(cell_time(times[i].ns).text, times[i].text);
	assert_string_equal(cell_count(0).text, "0");
	assert_string_equal(cell_count(999).text, "999");
	assert_string_equal(cell_count(1000).text, "1,000");
	assert_string_equal(cell_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
	assert_string_equal(cell_short(9.5).text, "9.50");
	assert_string_equal(cell_short(99.997).text, "100.0");
	assert_string_equal(cell_short(1234.5).text, "1234");
	assert_string_equal(cell_short(1234567).text, "1.23M");
	assert_string_equal(cell_short(2e9).text, "2.00G");
}

/* A hundred reads of 10 ms each that end within 20 ms, and 80 ms of one stat after the other. */
static void requests_in_flight_together_share_the_time(void **state)
{
	struct run *r = *state;
	struct run_phase *read, *stat;

	run_fini(r);
	*r = (struct run) { 0 };
	assert_int_equal(run_init(r, "lantest", "lantest-4.5"), 0);
	read = run_phase(r, 1, 1, "reads");
	stat = run_phase(r, 2, 1, "stats");
	run_set(read, METRIC_ELAPSED, 20000000);
	run_set(stat, METRIC_ELAPSED, 80000000);
	for (size_t i = 0; i < 100; i++)
		hist_add(&run_command(read, 60, "FPReadExt")->latency, 10000000);
	for (size_t i = 0; i < 800; i++)
		hist_add(&run_command(stat, 34, "FPGetFileDirParms")->latency, 100000);
	read->complete = stat->complete = r->complete = true;
	has(r, OWN, "\n 34 FPGetFileDirParms        800      0  80.0 ");
	has(r, OWN, "\n 60 FPReadExt                100      0  20.0 ");
}

static void progress_has(const struct run_phase *p, enum progress_size size, const char *part)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	report_progress(p, size, false, f);
	fclose(f);
	if (!strstr(text, part))
		fail_msg("no \"%s\" in: %s", part, text);
	free(text);
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
		TEST(peer_csv_is_the_golden_one),
		TEST(csv_reads_back_as_12_fields_a_line_with_whole_titles),
		TEST(quotes_in_a_title_are_doubled_in_csv),
		TEST(one_unknown_phase_makes_the_mean_unknown),
		TEST(only_tests_that_ran_have_a_row_and_a_share_in_the_sums),
		TEST(the_banner_tells_the_number_of_iterations),
		TEST(every_line_of_the_peer_text_is_as_wide_as_its_rule),
		TEST(the_own_report_says_complete_and_closed),
		TEST(a_cross_check_that_disagrees_is_shown_in_red_with_its_difference),
		TEST(a_thousand_cross_checks_that_agree_are_one_line),
		TEST(losses_and_a_broken_run_are_on_the_first_line),
		TEST(text_from_a_server_cannot_move_the_cursor),
		TEST(a_run_without_a_watch_shows_no_zeros_for_the_server),
		TEST(sampled_totals_are_shown_and_their_parts_are_not),
		TEST(waits_stand_last_and_outside_the_sum),
		TEST(the_matrix_gives_calls_per_command_and_what_afpd_r_is),
		TEST(what_no_call_explains_is_a_line_of_its_own),
		TEST(no_line_of_the_own_report_ends_in_a_blank),
		TEST(a_narrow_terminal_gets_narrow_tables),
		TEST(text_from_elsewhere_is_cut_between_characters),
		TEST(cells_keep_their_digits_at_every_size),
		TEST(requests_in_flight_together_share_the_time),
		TEST(a_size_and_its_rate_have_one_unit),
		TEST(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
