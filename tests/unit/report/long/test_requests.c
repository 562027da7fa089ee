/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the report says of requests inside the server, of sessions, of runs that only watched.
 * Also tests user/run/requests.c, user/run/result.c, user/report/long/calls.c,
 * user/report/screen/sessions.c, user/report/long/states.c.
 */
#include "run/requests.h"
#include "unit/report_text.h"
#include "unit/sample_run.h"

/* A request's account in one phase, to be bent. */
static struct ledger_account *account_of(struct run *r, size_t phase, unsigned int number)
{
	struct ledger *l = &r->phase[phase]->ledger;

	for (size_t i = 0; i < l->n_accounts; i++)
		if (l->account[i].account == number)
			return &l->account[i];
	fail_msg("no account %u", number);
	return NULL;
}

static void the_first_line_of_requests_says_where_their_time_went(void **state)
{
	has(*state, OWN,
	    "  Spent     8.61s in 161,362 requests: in calls 38.1 %, CNID 37.5 %, disk 10.6 %, "
	    "own code 10.0 %, lock 1.9 %,\n            run queue 0.6 %, ");
	has(*state, OWN, "unexplained 0 %\n");
	account_of(*state, 0, 26)->sum.unexplained_ns = 87000000;
	account_of(*state, 0, 26)->sum.unexplained = 3;
	has(*state, OWN, "unexplained 1 % (in 3 requests more than 1 %)\n");
	has(*state, OWN, " unex- ");
}

static void requests_are_ordered_by_their_time_and_add_up_to_all(void **state)
{
	has(*state, OWN,
	    "  FPOpenFork          53,796  24  100µs 100µs  100µs  62.5  9.0  18.0   1.0 12.0 60.0    "
	    "-   -     -  6.00  2.00\n"
	    "  FPGetFileDirParms   53,790   - 40.0µs  40µs 40.0µs  25.0  5.0  35.0     -    -    -    "
	    "-   -     -  4.00     -\n"
	    "  FPCloseFork         53,776   - 20.0µs  20µs 20.0µs  12.5  2.0   8.0     -  5.0    -  "
	    "3.0 1.0   1.0  5.00     -\n"
	    "  all                161,362  24 53.3µs        100µs 100.0  5.3  20.3   0.3  5.7 20.0  "
	    "1.0 0.3   0.3  5.00  0.67\n"
	    "  other: with network\n"
	    "  Results   FPOpenFork: -5018 no such object × 24\n");
}

static void of_requests_that_changed_threads_only_the_time_is_shown(void **state)
{
	account_of(*state, 0, 26)->sum.handed = 53000;
	has(*state, OWN,
	    "  FPOpenFork          53,796  24  100µs 100µs 100µs 100µs  100µs  62.5  n/a   n/a ");
	has(*state, OWN, "parts and calls n/a for 62.5 % of");
	has(*state, OWN, "changed threads, or");
	has_not(*state, OWN, "CNID 37.5 %");
	has_not(*state, OWN, "FPOpenFork: 53,796 ×");
	has(*state, OWN, "FPGetFileDirParms: 53,790 ×");
}

/* Times in a ledger's account, as the kernel counts them. */
static void count_time(struct ledger_account *a, uint64_t ns)
{
	a->sum.answered++;
	a->sum.ns += ns;
	a->hist[hist_index(ns, AFS_REQUEST_BITS)]++;
	a->max_ns = ns > a->max_ns ? ns : a->max_ns;
	a->min_ns = a->min_ns && a->min_ns < ns ? a->min_ns : ns;
}

static void one_time_is_every_quantile(void **state)
{
	static const uint64_t times[] = {
		1, 15, 543000, 524288, 557055, 655000, 68 * 1000000000ull
	};
	static const double shares[] = { 0.001, 0.5, 0.99, 0.999, 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		struct ledger_account a = { 0 };

		for (int n = 0; n < 1000; n++)
			count_time(&a, times[i]);
		for (size_t k = 0; k < sizeof(shares) / sizeof(shares[0]); k++)
			assert_true(requests_quantile(&a, shares[k]) == (double)times[i]);
	}
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

#define N_TIMES 5000

static void quantiles_are_six_per_cent_off_at_most(void **state)
{
	static const double shares[] = { 0.001, 0.1, 0.5, 0.9, 0.99, 0.999 };
	uint64_t *exact = calloc(N_TIMES, sizeof(*exact)), v = 12345;

	(void)state;
	assert_non_null(exact);
	/* Of widths from a hundredth of the time to ten thousand times it. */
	for (int shift = 0; shift < 40; shift++) {
		struct ledger_account a = { 0 };

		for (size_t i = 0; i < N_TIMES; i++) {
			v = v * 6364136223846793005ull + 1442695040888963407ull;
			exact[i] = 100000 + (v >> 20) % (1000ull << shift % 20);
			count_time(&a, exact[i]);
		}
		qsort(exact, N_TIMES, sizeof(*exact), by_value);
		for (size_t k = 0; k < sizeof(shares) / sizeof(shares[0]); k++) {
			double got = requests_quantile(&a, shares[k]);
			double want = (double)exact[(size_t)(shares[k] * N_TIMES + 0.999999) - 1];

			assert_true(got >= want * 0.94 && got <= want / 0.94);
			assert_true(got <= (double)a.max_ns && got >= (double)a.min_ns);
		}
	}
	free(exact);
}

static void no_digit_is_shown_that_is_not_known(void **state)
{
	static const struct {
		double ns;
		const char *text;
	} times[] = {
		{ 1, "1ns" },      { 94, "94ns" },      { 655, "660ns" },    { 994, "990ns" },
		{ 996, "1.0µs" },  { 1249, "1.2µs" },   { 9949, "9.9µs" },   { 9960, "10µs" },
		{ 99400, "99µs" }, { 543210, "540µs" }, { 996000, "1.0ms" }, { 305123456, "310ms" },
		{ 1.5e9, "1.5s" }, { 68e9, "68s" },     { 123e9, "120s" },   { 99900, "100µs" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		assert_string_equal(cell_about(times[i].ns, 0).text, times[i].text);
}

/* Rounded to two digits it would be more than the longest, which stands beside it. */
static void no_quantile_is_shown_beyond_the_longest(void **state)
{
	static const struct {
		double ns, max_ns;
		const char *text;
	} times[] = {
		{ 305123456, 306000000, "306ms" }, { 305123456, 305123456, "305ms" },
		{ 305123456, 310000000, "310ms" }, { 7470, 7480, "7.48µs" },
		{ 7470, 7500, "7.5µs" },           { 94, 94, "94ns" },
		{ 996000, 998000, "998µs" },       { 304000000, 306000000, "300ms" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		assert_string_equal(cell_about(times[i].ns, times[i].max_ns).text, times[i].text);
}

static void commands_without_a_name_have_no_quantiles(void **state)
{
	struct ledger_account *a = account_of(*state, 0, 26);

	/* In every phase, so that the sum has none. */
	for (size_t i = 0; i < ((struct run *)*state)->n_phases; i++) {
		a = account_of(*state, i, 26);
		memset(a->hist, 0, sizeof(a->hist));
		a->min_ns = a->max_ns = 0;
	}
	has(*state, OWN, "  FPOpenFork          53,796  24  100µs  n/a    n/a  62.5 ");
}

static void heads_stand_over_the_ends_of_their_columns(void **state)
{
	has(*state, OWN,
	    "                                                            own    in   run            "
	    "               afpd  cnid\n"
	    "  command           requests err   mean   p99    max time% code calls queue disk CNID "
	    "lock log other calls calls\n"
	    "  FPOpenFork          53,796  24 ");
}

static void a_narrow_terminal_folds_the_least_times_into_other(void **state)
{
	/* 0.5 network, 1.0 log and 0.5 other of FPCloseFork */
	has(*state, OWN_NARROW,
	    "\n  FPCloseFork         53,776 20.0µs 20.0µs  12.5  2.0   8.0  5.0 ");
	has(*state, OWN_NARROW, " 3.0   2.0\n");
	has(*state, OWN_NARROW, "\n  other: with run queue, log, network\n");
	has(*state, OWN, "\n  other: with network\n");
}

static void times_that_are_zero_everywhere_have_no_column(void **state)
{
	struct run *r = *state;

	for (size_t i = 0; i < r->n_phases; i++) {
		struct ledger *l = &r->phase[i]->ledger;

		for (size_t k = 0; k < l->n_parts; k++)
			if (l->part[k].class == AFS_CLASS_LOCK)
				l->part[k].part.blocked_ns = 0;
		account_of(r, i, 26)->sum.errors = 0;
		l->n_results = 0;
	}
	has(r, OWN, "  command           requests   mean ");
	has(r, OWN, " code calls queue disk CNID log ");
	has_not(r, OWN, "Results");
}

static void the_costliest_commands_are_shown_state_by_state(void **state)
{
	has(*state, OWN,
	    "                             µs  time%  calls  on CPU  blocked  run queue\n"
	    "  FPOpenFork: 53,796 × 100µs, 62.5 % of all time\n"
	    "    wait · CNID socket     60.0   60.0   1.00       -     60.0          -\n"
	    "      while it waited, cnid_dbd: fsync 30.0, on CPU 20.0, idle 8.0, lock 2.0\n"
	    "    open                   20.0   20.0   1.00     8.0     12.0          -\n"
	    "    own code               10.0   10.0      -     9.0        -        1.0\n");
	has(*state, OWN,
	    "    cnid_dbd for it, also after its answer:\n"
	    "    sync · CNID database   71.0          1.00     1.0     70.0          -\n"
	    "    own code               20.0             -    15.0        -        5.0\n");
}

static void little_states_become_one_line(void **state)
{
	struct run *r = *state;

	for (size_t i = 0; i < r->n_phases; i++) {
		struct ledger *l = &r->phase[i]->ledger;

		for (size_t k = 0; k < l->n_parts; k++)
			if (l->part[k].class == AFS_CLASS_STAT ||
			    l->part[k].class == AFS_CLASS_WRITE)
				l->part[k].part.cpu_ns /= 20;
	}
	has(r, OWN,
	    "    own code               10.0   11.0      -     9.0        -        1.0\n"
	    "    2 others                0.5    0.6   4.00     0.5        -          -\n");
}

static void time_outside_requests_is_told_by_account(void **state)
{
	has(*state, OWN,
	    "  account           process    calls    code   calls  run queue\n"
	    "  between requests  afpd      53,790  37.7ms  16.1ms     5.38ms\n"
	    "  other threads     afpd     107,580     0ns  10.8ms        0ns\n");
}

static void requests_without_a_reply_are_told_with_their_time(void **state)
{
	struct run *r = *state;

	account_of(r, 3, 34)->sum.begun += 2;
	has(r, OWN, "\n  No reply  FPGetFileDirParms × 2\n");
	for (size_t i = 0; i < r->n_phases; i++)
		memset(&account_of(r, i, 4)->sum, 0, sizeof(struct afs_account));
	account_of(r, 3, 4)->sum.begun = 1;
	has(r, OWN, "\n  No reply  FPGetFileDirParms × 2, FPCloseFork × 1 (1.08s in service)\n");
	has_not(r, OWN, "nan");
	has_not(r, OWN, "inf");
}

static void requests_not_measured_are_told_with_the_reason(void **state)
{
	struct run *r = *state;

	r->phase[5]->ledger.has_requests = false;
	has(r, OWN, "AFP commands inside the server: n/a\n  because   not measured\n");
	run_note(&r->absent, "*", "no right to");
	has(r, OWN, "AFP commands inside the server: n/a\n  because   no right to\n");
	run_note(&r->absent, "requests", "Linux 5.11 cannot");
	has(r, OWN, "AFP commands inside the server: n/a\n  because   Linux 5.11 cannot\n");
	has_not(r, OWN, "that cost most");
}

static void requests_of_a_run_that_broke_off_at_once_have_a_reason(void **state)
{
	struct run *r = *state;

	for (size_t i = 0; i < r->n_phases; i++)
		r->phase[i]->complete = false;
	has(r, OWN, "inside the server: n/a\n  because   no iteration was completed\n");
}

static void a_run_that_only_watched_has_requests_sessions_and_calls(void **state)
{
	struct run r;

	(void)state;
	make_record(&r);
	has(&r, OWN, "afpscope " AFPSCOPE_VERSION " record  run ");
	has(&r, OWN, "\nPrice of watching: 0.9 % of one CPU, 310 ns a call\n");
	has_not(&r, OWN, "Observed by");
	has_not(&r, OWN, "\nTests ");
	has_not(&r, OWN, "What AFPD_R");
	has_not(&r, OWN, "n/a because");
	has(&r, OWN, "  Spent     213ms in 4,000 requests: ");
	has(&r, OWN,
	    "  user    client           volume                 pid    from     to  requests    busy  "
	    "all%   calls  MB in  MB out\n"
	    "  bench1  192.0.2.9:50123  a volume with a lon…  4702   +2.5s  still     2,500   125ms  "
	    "62.5  22,500   0.15    0.25\n"
	    "  mori    192.0.2.9:50123  Projects              4701  before  still     1,000  50.0ms  "
	    "25.0   9,000   0.06    0.10\n"
	    "  n/a     192.0.2.9:50123  n/a                   4703   +2.5s  +3.0s       500  25.0ms  "
	    "12.5   4,500   0.03    0.05\n"
	    "  user: owner of its process\n"
	    "  volume: FPOpenVol\n");
	has(&r, OWN,
	    "  stat                   12,000       -      3.00      2.16   20.5   720ns   -\n");
	has(&r, OWN,
	    "  sum                    26,000       -      6.50     10.52  100.0  1.62µs   -\n");
	has_not(&r, OWN, "  requests: ");
	r.session[0].requests += 64;
	has(&r, OWN, "  requests: 64 of them before the tables above begin\n  user: owner of");
	run_fini(&r);
}

static void sessions_name_their_volumes(void **state)
{
	static const struct {
		const char *volume[RUN_VOLUMES];
		uint64_t more;
		const char *text;
	} rows[] = {
		{ { "vol1", "vol2" }, 0, "  vol1, vol2  " },
		{ { "vol1", "vol2" }, 1, "  vol1, vol2 +1  " },
		{ { "a", "b", "c", "d" }, 12, "  a, b, c, d +12  " },
		{ { "twelve bytes", "vol2", "vol3" }, 0, "  twelve bytes +2  " },
		{ { "a volume with a longer name", "vol2" }, 0, "  a volume with a … +1  " },
		{ { "ボリュームの名前がとても長い", "二" }, 0, "  ボリュームの名前がとて… +1  " },
		{ { "/srv/some/where/vol1/src" }, 0, "  …some/where/vol1/src  " },
		{ { "" }, 3, "   +3  " },
	};
	struct run_session *s;
	struct run r;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_record(&r);
		s = &r.session[0];
		free(s->volume[0]);
		s->n_volumes = 0;
		for (size_t k = 0; k < RUN_VOLUMES && rows[i].volume[k]; k++)
			s->volume[s->n_volumes++] = strdup(rows[i].volume[k]);
		s->more_volumes = rows[i].more;
		has(&r, OWN, rows[i].text);
		run_fini(&r);
	}
}

static void sessions_are_told_when_there_is_more_than_one(void **state)
{
	struct run *r = *state;

	add_session(r, "mori", "Projects", 10);
	has_not(r, OWN, "\nSessions");
	for (unsigned int i = 0; i < 30; i++)
		add_session(r, "a\033[2Jb", "vol", 100 - i);
	has(r, OWN, "\nSessions");
	has(r, OWN, "  a?[2Jb  192.0.2.9:50123  vol ");
	has(r, OWN, "\n  11 others: 765 requests, busy 38.2ms\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_line_of_requests_says_where_their_time_went),
		TEST(requests_are_ordered_by_their_time_and_add_up_to_all),
		TEST(of_requests_that_changed_threads_only_the_time_is_shown),
		cmocka_unit_test(one_time_is_every_quantile),
		cmocka_unit_test(quantiles_are_six_per_cent_off_at_most),
		cmocka_unit_test(no_digit_is_shown_that_is_not_known),
		cmocka_unit_test(sessions_name_their_volumes),
		cmocka_unit_test(no_quantile_is_shown_beyond_the_longest),
		TEST(commands_without_a_name_have_no_quantiles),
		TEST(heads_stand_over_the_ends_of_their_columns),
		TEST(a_narrow_terminal_folds_the_least_times_into_other),
		TEST(times_that_are_zero_everywhere_have_no_column),
		TEST(the_costliest_commands_are_shown_state_by_state),
		TEST(little_states_become_one_line),
		TEST(time_outside_requests_is_told_by_account),
		TEST(requests_without_a_reply_are_told_with_their_time),
		TEST(requests_not_measured_are_told_with_the_reason),
		TEST(requests_of_a_run_that_broke_off_at_once_have_a_reason),
		TEST(a_run_that_only_watched_has_requests_sessions_and_calls),
		TEST(sessions_are_told_when_there_is_more_than_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
