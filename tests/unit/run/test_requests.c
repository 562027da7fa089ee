/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What shares of request time are of: all that was in service, with an answer or without. */
#include "run/requests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS    1000000ull

#define HANGS 27 /* an account; the other one is that of requests that end */
#define ENDS  26

static struct ledger_account account[2];
static struct ledger_part part[3];

/*
 * 100 requests of 1 ms that were answered, half of their time on a CPU; and one that has been
 * asleep for 8 s, without an answer yet.
 */
static struct ledger sample(void)
{
	account[0] = (struct ledger_account) {
		.account = ENDS,
		.sum = { .begun = 100, .answered = 100, .ns = 100 * MS, .unexplained_ns = 10 * MS },
	};
	account[1] = (struct ledger_account) { .account = HANGS, .sum = { .begun = 1 } };
	part[0] = (struct ledger_part) { .account = ENDS,
					 .class = AFS_CLASS_USER,
					 .part.cpu_ns = 50 * MS };
	part[1] = (struct ledger_part) { .account = ENDS,
					 .class = AFS_CLASS_STAT,
					 .part.blocked_ns = 40 * MS };
	part[2] = (struct ledger_part) { .account = HANGS,
					 .class = AFS_CLASS_WAIT,
					 .object = AFS_OBJECT_BACKEND,
					 .part.blocked_ns = 8000 * MS };
	return (struct ledger) { .has_calls = true,
				 .has_requests = true,
				 .n_accounts = 2,
				 .account = account,
				 .n_parts = 3,
				 .part = part };
}

static const struct request *of(const struct requests *r, unsigned int number)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->request[i].number == number)
			return &r->request[i];
	fail_msg("no account %u", number);
	return NULL;
}

static void time_in_service_includes_what_has_no_answer_yet(void **state)
{
	const struct ledger l = sample();
	struct requests r;

	(void)state;
	assert_int_equal(requests_init(&r, &l), 0);
	assert_int_equal(of(&r, ENDS)->service_ns, 100 * MS);
	assert_int_equal(of(&r, HANGS)->service_ns, 8000 * MS);
	assert_int_equal(r.all.service_ns, 8100 * MS);
	assert_int_equal(r.request[0].number, HANGS);
	assert_int_equal(of(&r, HANGS)->pending_ns, 8000 * MS);
	assert_int_equal(of(&r, ENDS)->pending_ns, 0);
	assert_int_equal(of(&r, HANGS)->pending, 1);
	assert_int_equal(of(&r, ENDS)->pending, 0);
	assert_int_equal(r.all.pending, 1);
	requests_fini(&r);
}

/* Its parts before the ledger's time are in no part: they were in service before. */
static void of_a_request_that_began_before_only_the_time_since_counts(void **state)
{
	struct ledger l = sample();

	(void)state;
	account[0].sum.ns = 5000 * MS;
	assert_int_equal(requests_service_ns(&l, ENDS), 100 * MS);
}

static void of_requests_that_were_handed_over_their_whole_time_counts(void **state)
{
	struct ledger l = sample();
	struct requests r;

	(void)state;
	account[0].sum.handed = 3;
	assert_int_equal(requests_init(&r, &l), 0);
	assert_int_equal(of(&r, ENDS)->service_ns, 100 * MS);
	assert_int_equal(of(&r, ENDS)->handed_ns, 100 * MS);
	account[0].sum.begun = 102;
	requests_fini(&r);
	assert_int_equal(requests_init(&r, &l), 0);
	assert_int_equal(of(&r, ENDS)->pending_ns, 0);
	requests_fini(&r);
}

/*
 * Of 100 requests, 30 were parked after 10 ms in parts, and took 60 ms together; one more waits in
 * another account.
 */
static void the_time_in_which_requests_were_parked_is_known(void **state)
{
	struct ledger l = sample();
	struct requests r;

	(void)state;
	account[0].sum.parked = 30;
	account[0].sum.parked_ns = 60 * MS;
	account[0].sum.had_ns = 10 * MS;
	account[0].sum.begun = 101;
	account[0].sum.waited = 1;
	assert_int_equal(requests_init(&r, &l), 0);
	assert_int_equal(of(&r, ENDS)->parked_ns, 50 * MS);
	assert_int_equal(of(&r, ENDS)->service_ns, 150 * MS);
	assert_int_equal(of(&r, ENDS)->pending, 0);
	assert_int_equal(of(&r, HANGS)->parked_ns, 0);
	assert_int_equal(r.all.parked_ns, 50 * MS);
	requests_fini(&r);
}

static void requests_that_were_counted_without_parts_have_their_own_time(void **state)
{
	struct ledger l = sample();

	(void)state;
	account[0].sum.unexplained_ns = 0;
	l.part = &part[2];
	l.n_parts = 1;
	assert_int_equal(requests_service_ns(&l, ENDS), 100 * MS);
	assert_int_equal(requests_service_ns(&l, 1), 0);
}

static void results_of_healthy_requests_are_no_errors(void **state)
{
	struct ledger_account of[] = {
		{ .account = 18, .sum = { .answered = 5, .errors = 3 } },
		{ .account = 26, .sum = { .answered = 9, .errors = 2 } },
		{ .account = 68, .sum = { .answered = 9, .errors = 6 } },
		{ .account = AFS_ACCOUNT_BETWEEN, .sum = { .errors = 7 } },
	};
	struct ledger_result result[] = {
		{ 18, -5001, 2 }, { 18, -5023, 1 }, { 26, -5018, 2 },
		{ 68, -5018, 5 }, { 68, -5029, 1 },
	};
	const struct ledger l = { .has_requests = true,
				  .n_accounts = 4,
				  .account = of,
				  .n_results = 5,
				  .result = result };
	static const struct account_names none = { 0 };

	(void)state;
	assert_int_equal(account_normal_result(NULL, 68), -5018);
	assert_int_equal(account_normal_result(NULL, 26), 0);
	assert_int_equal(requests_errors(&l, NULL, 18), 1);
	assert_int_equal(requests_errors(&l, NULL, 26), 2);
	assert_int_equal(requests_errors(&l, NULL, 68), 1);
	assert_int_equal(requests_errors(&l, NULL, LEDGER_ALL), 4);
	assert_int_equal(requests_errors(&l, &none, LEDGER_ALL), 11);
	assert_int_equal(requests_errors(&l, NULL, 1), 0);
}

/* Rounded one by one, three times 33.5 % and so on are more than the whole. */
static void shares_of_one_line_are_never_more_than_the_whole(void **state)
{
	static const uint64_t two[] = { 335, 665 }, three[] = { 636, 358, 6 },
			      half[] = { 100, 50, 50 };
	unsigned int n[3];

	(void)state;
	requests_shares(n, two, 2, 1000, 100);
	assert_true(n[0] == 34 && n[1] == 66);
	requests_shares(n, three, 3, 1000, 100);
	assert_true(n[0] == 63 && n[1] == 36 && n[2] == 1);
	requests_shares(n, half, 3, 400, 100);
	assert_true(n[0] == 25 && n[1] == 13 && n[2] == 12);
	requests_shares(n, half, 3, 400, 1000);
	assert_true(n[0] == 250 && n[1] == 125 && n[2] == 125);
	requests_shares(n, half, 3, 0, 100);
	assert_true(!n[0] && !n[1] && !n[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_in_service_includes_what_has_no_answer_yet),
		cmocka_unit_test(of_a_request_that_began_before_only_the_time_since_counts),
		cmocka_unit_test(of_requests_that_were_handed_over_their_whole_time_counts),
		cmocka_unit_test(the_time_in_which_requests_were_parked_is_known),
		cmocka_unit_test(requests_that_were_counted_without_parts_have_their_own_time),
		cmocka_unit_test(results_of_healthy_requests_are_no_errors),
		cmocka_unit_test(shares_of_one_line_are_never_more_than_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
