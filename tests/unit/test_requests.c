/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the report says of requests inside the server, of sessions, of runs that only watched. */
#include "afp/proto.h"
#include "report/result.h"
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
	account_of(*state, 0, 26)->sum.unexplained_ns = 86100000;
	account_of(*state, 0, 26)->sum.unexplained = 3;
	has(*state, OWN, "unexplained 1 % (in 3 requests more than 1 %)\n");
	has(*state, OWN, " unex- ");
}

static void requests_are_ordered_by_their_time_and_add_up_to_all(void **state)
{
	has(*state, OWN,
	    "  FPOpenFork          53,796  24  100µs  115µs  62.5  9.0  18.0   1.0 12.0 60.0    -   "
	    "-       -     -  6.00  2.00\n"
	    "  FPGetFileDirParms   53,790   - 40.0µs 41.0µs  25.0  5.0  35.0     -    -    -    -   "
	    "-       -     -  4.00     -\n"
	    "  FPCloseFork         53,776   - 20.0µs 20.5µs  12.5  2.0   8.0     -  5.0    -  3.0 "
	    "1.0     0.5   0.5  5.00     -\n"
	    "  all                161,362  24 53.3µs  115µs 100.0  5.3  20.3   0.3  5.7 20.0  1.0 "
	    "0.3     0.2   0.2  5.00  0.67\n"
	    "  Results   FPOpenFork: -5018 no such object × 24\n");
}

static void heads_stand_over_the_ends_of_their_columns(void **state)
{
	has(*state, OWN,
	    "                                                      own    in   run               "
	    "                    afpd  cnid\n"
	    "  command           requests err   mean    p99 time% code calls queue disk CNID lock "
	    "log network other calls calls\n"
	    "  FPOpenFork          53,796  24 ");
}

static void a_narrow_terminal_folds_the_least_times_into_other(void **state)
{
	/* 0.5 network, 1.0 log and 0.5 other of FPCloseFork */
	has(*state, OWN_NARROW, "\n  FPCloseFork         53,776 20.0µs  12.5  2.0   8.0  5.0 ");
	has(*state, OWN_NARROW, " 3.0   2.0  5.00\n");
	has(*state, OWN_NARROW, "\n  other: with run queue, log, network\n");
	has_not(*state, OWN, "other: with");
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
	has(r, OWN,
	    "  command           requests   mean    p50    p99 time% code calls queue disk CNID log "
	    "network other calls calls\n");
	has_not(r, OWN, "Results");
}

static void the_dearest_commands_are_shown_state_by_state(void **state)
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
	    "    own code               10.0   10.0      -     9.0        -        1.0\n"
	    "    2 others                0.5    0.5   4.00     0.5        -          -\n");
}

static void time_outside_requests_is_told_by_account(void **state)
{
	has(*state, OWN,
	    "  account           process    calls    code   calls  run queue\n"
	    "  between requests  afpd      53,790  37.7ms  16.1ms     5.38ms\n"
	    "  other threads     afpd     107,580     0ns  10.8ms        0ns\n");
}

static void requests_without_a_reply_are_told_and_cost_nothing(void **state)
{
	struct run *r = *state;

	account_of(r, 3, 34)->sum.begun += 2;
	has(r, OWN, "\n  No reply  FPGetFileDirParms × 2\n");
	for (size_t i = 0; i < r->n_phases; i++)
		memset(&account_of(r, i, 4)->sum, 0, sizeof(struct afs_account));
	account_of(r, 3, 4)->sum.begun = 1;
	has(r, OWN, "\n  No reply  FPGetFileDirParms × 2, FPCloseFork × 1\n");
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
	has_not(r, OWN, "The dearest");
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
	has(&r, OWN, "afpscope 0.1.0 record  run ");
	has(&r, OWN, "\nPrice of watching: 0.9 % of one CPU, 310 ns a call\n");
	has_not(&r, OWN, "Observed by");
	has_not(&r, OWN, "\nTests ");
	has_not(&r, OWN, "What AFPD_R");
	has_not(&r, OWN, "n/a because");
	has(&r, OWN, "  Spent     213ms in 4,000 requests: ");
	has(&r, OWN,
	    "  user    client           folder                 pid    from     to  requests    busy  "
	    "all%   calls  MB in  MB out\n"
	    "  bench1  192.0.2.9:50123  a volume with a lon…  4702   +2.5s  still     2,500   125ms  "
	    "62.5  22,500   0.15    0.25\n"
	    "  mori    192.0.2.9:50123  Projects              4701  before  still     1,000  50.0ms  "
	    "25.0   9,000   0.06    0.10\n"
	    "  n/a     192.0.2.9:50123  n/a                   4703   +2.5s  +3.0s       500  25.0ms  "
	    "12.5   4,500   0.03    0.05\n"
	    "  user: owner of its process\n"
	    "  folder: its working directory\n");
	has(&r, OWN,
	    "  stat                   12,000       -      3.00      2.16   20.5   720ns   -\n");
	has(&r, OWN,
	    "  sum                    26,000       -      6.50     10.52  100.0  1.62µs   -\n");
	has_not(&r, OWN, "  requests: ");
	r.session[0].requests += 64;
	has(&r, OWN, "  requests: 64 of them before the tables above begin\n  user: owner of");
	run_fini(&r);
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

static void result_codes_have_the_clients_names(void **state)
{
	(void)state;
#define X(name, number, text)                                                                      \
	if (number)                                                                                \
		assert_string_equal(result_text(number), afp_result_text(number));
	AFP_RESULTS(X)
#undef X
	assert_null(result_text(0));
	assert_null(result_text(-1));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_line_of_requests_says_where_their_time_went),
		TEST(requests_are_ordered_by_their_time_and_add_up_to_all),
		TEST(heads_stand_over_the_ends_of_their_columns),
		TEST(a_narrow_terminal_folds_the_least_times_into_other),
		TEST(times_that_are_zero_everywhere_have_no_column),
		TEST(the_dearest_commands_are_shown_state_by_state),
		TEST(little_states_become_one_line),
		TEST(time_outside_requests_is_told_by_account),
		TEST(requests_without_a_reply_are_told_and_cost_nothing),
		TEST(requests_not_measured_are_told_with_the_reason),
		TEST(requests_of_a_run_that_broke_off_at_once_have_a_reason),
		TEST(a_run_that_only_watched_has_requests_sessions_and_calls),
		TEST(sessions_are_told_when_there_is_more_than_one),
		TEST(result_codes_have_the_clients_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
