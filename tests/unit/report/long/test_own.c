/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report for people of the synthetic run: its first lines and what is weak, calls by command.
 * Also tests user/report/section.c, user/report/long/head.c, user/report/screen/matrix.c,
 * user/report/paint.c, user/report/about.c, user/report/long/tests.c.
 */
#include "unit/report_text.h"
#include "unit/sample_run.h"

#include <stdio.h>

static const struct run_kind plain = {
	.role = { [AFS_ROLE_SERVER] = "plaind", [AFS_ROLE_BACKEND] = "helperd" },
	.has_requests = true,
	.by_session = true,
};

/* Its requests change threads. */
static const struct run_kind other = {
	.role = { [AFS_ROLE_SERVER] = "brick" },
	.has_requests = true,
};

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
	has(r, OWN, "    n/a     n/a   n/a    0 ");
	has_not(r, OWN, "What AFPD_R");
}

static void sampled_totals_are_shown_and_their_parts_are_not(void **state)
{
	struct run *r = *state;

	for (size_t i = 0; i < r->n_phases; i++)
		r->phase[i]->ledger.has_calls = false;
	has(r, OWN, "afpd: calls n/a (not measured)\n");
	has(r, OWN, "What AFPD_R and AFPD_W are");
	has(r, OWN, "What CNID_R and CNID_W are");
	has(r, OWN, "  AFPD_R");
	has_not(r, OWN, "AFPD_R n/a");
	r->kind = &plain;
	has(r, OWN, "What PLAIND_R and PLAIND_W are");
	has(r, OWN, "\n  BACKEND_W ");
	has_not(r, OWN, "AFPD");
	has_not(r, OWN, "CNID_");
	has_not(r, OWN, "CNID_");
	r->kind = NULL;
	r->phase[0]->ledger.has_compat[AFS_ROLE_SERVER] = false;
	for (size_t i = 1; i < r->n_phases; i++)
		r->phase[i]->ledger.has_calls = r->phase[i]->test != 1;
	has(r, OWN, "\n  stat                     n/a   3.00 ");
	has(r, OWN, "\n  AFPD_R                     n/a    101 ");
}

static void of_another_kind_nothing_has_words_of_afp(void **state)
{
	struct run *r = *state;

	has(r, OWN, "\nAFP commands  from request sent");
	has(r, OWN, "cnid: the CNID server's calls per op");
	r->kind = &other;
	has(r, OWN, "\nCalls of the clients  from request sent");
	has(r, OWN, "\nbrick: calls per operation of a client  class");
	has(r, OWN, "brick's system calls and their time (waits apart) per op\n");
	has(r, OWN, "\nRequests");
	has_not(r, OWN, "AFP");
	has_not(r, OWN, "BRICK_R");
	has_not(r, OWN, "the backend's calls");
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
	has(r, OWN, " FPReadExt 100%\n");
	/* The median of that test would be that of its stats, which took 1 % of its time. */
	for (size_t i = 0; i < 200; i++)
		hist_add(&run_command(read, 34, "FPGetFileDirParms")->latency, 50000);
	has(r, OWN, " FPReadExt 99%\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_own_report_says_complete_and_closed),
		TEST(a_cross_check_that_disagrees_is_shown_in_red_with_its_difference),
		TEST(a_thousand_cross_checks_that_agree_are_one_line),
		TEST(losses_and_a_broken_run_are_on_the_first_line),
		TEST(text_from_a_server_cannot_move_the_cursor),
		TEST(a_run_without_a_watch_shows_no_zeros_for_the_server),
		TEST(sampled_totals_are_shown_and_their_parts_are_not),
		TEST(of_another_kind_nothing_has_words_of_afp),
		TEST(waits_stand_last_and_outside_the_sum),
		TEST(the_matrix_gives_calls_per_command_and_what_afpd_r_is),
		TEST(what_no_call_explains_is_a_line_of_its_own),
		TEST(no_line_of_the_own_report_ends_in_a_blank),
		TEST(a_narrow_terminal_gets_narrow_tables),
		TEST(requests_in_flight_together_share_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
