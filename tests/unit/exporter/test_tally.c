/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Totals over several watches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/tally.h"

#define READ 27

/* n requests, refused sessions and losses. */
static struct tally_reading reading(struct ledger_account *a, uint64_t n)
{
	struct tally_reading r = { .rung = "bpf", .sessions = n };

	*a = (struct ledger_account) { .account = READ, .sum.answered = n };
	a->hist[100] = n;
	r.ledger.account = a;
	r.ledger.n_accounts = 1;
	r.known[TALLY_REFUSED] = true;
	r.n[TALLY_REFUSED] = n;
	tally_lose(&r, "frames", n);
	return r;
}

static void take(struct tally *t, uint64_t n)
{
	struct ledger_account a;
	const struct tally_reading r = reading(&a, n);

	assert_int_equal(tally_take(t, &r), 0);
}

static void expect(const struct tally *t, uint64_t n)
{
	const struct ledger_account *a = ledger_account(&t->shown.ledger, READ);

	assert_non_null(a);
	assert_int_equal(a->sum.answered, n);
	assert_int_equal(a->hist[100], n);
	assert_int_equal(t->shown.n[TALLY_REFUSED], n);
	assert_int_equal(t->shown.n_losses, 1);
	assert_int_equal(t->shown.loss[0].n, n);
}

static void totals_go_on_where_the_last_watch_ended(void **state)
{
	struct tally t = { 0 };

	(void)state;
	take(&t, 5);
	take(&t, 7);
	expect(&t, 7);
	assert_int_equal(tally_end(&t), 0);
	assert_false(t.up);
	expect(&t, 7);
	take(&t, 0);
	expect(&t, 7);
	take(&t, 4);
	expect(&t, 11);
	assert_int_equal(t.shown.sessions, 4);
	assert_int_equal(t.watches, 2);
	tally_fini(&t);
}

static void a_total_never_goes_backwards(void **state)
{
	struct tally t = { 0 };

	(void)state;
	take(&t, 9);
	take(&t, 8);
	expect(&t, 9);
	take(&t, 10);
	expect(&t, 10);
	tally_fini(&t);
}

static void the_programs_time_is_known_only_while_it_is(void **state)
{
	struct tally_reading r = { .rung = "bpf" };
	struct tally t = { 0 };

	(void)state;
	r.known[TALLY_PROGRAMS_NS] = r.known[TALLY_CPU_NS] = true;
	r.n[TALLY_PROGRAMS_NS] = r.n[TALLY_CPU_NS] = 3;
	assert_int_equal(tally_take(&t, &r), 0);
	assert_int_equal(tally_end(&t), 0);
	r.known[TALLY_PROGRAMS_NS] = r.known[TALLY_CPU_NS] = false;
	assert_int_equal(tally_take(&t, &r), 0);
	assert_false(t.shown.known[TALLY_PROGRAMS_NS]);
	assert_true(t.shown.known[TALLY_CPU_NS]);
	assert_int_equal(t.shown.n[TALLY_CPU_NS], 3);
	tally_fini(&t);
}

/* Its errors were read a moment later than its answers. */
static void of_a_login_in_steps_only_the_last_counts(void **state)
{
	struct ledger_account a[] = { { .account = 18, .sum = { .answered = 3, .errors = 2 } },
				      { .account = 19, .sum = { .answered = 4, .errors = 3 } } };
	struct tally_reading r = { .rung = "bpf", .ledger = { .account = a, .n_accounts = 2 } };
	struct tally t = { 0 };

	(void)state;
	assert_int_equal(tally_take(&t, &r), 0);
	assert_true(t.shown.known[TALLY_LOGINS]);
	assert_int_equal(t.shown.n[TALLY_LOGINS], 2);
	a[0].sum.errors = 3;
	assert_int_equal(tally_take(&t, &r), 0);
	assert_int_equal(t.shown.n[TALLY_LOGINS], 2);
	a[0].sum.answered = 5;
	assert_int_equal(tally_take(&t, &r), 0);
	assert_int_equal(t.shown.n[TALLY_LOGINS], 3);
	tally_fini(&t);
}

/* Of a kind that says by which requests clients log in. */
static void logins_of_other_kinds_are_those_of_their_requests(void **state)
{
	static const struct account_names names = { .login = READ };
	struct ledger_account a = { .account = READ, .sum = { .answered = 5, .errors = 3 } };
	struct tally_reading r = { .rung = "bpf", .ledger = { .account = &a, .n_accounts = 1 } };
	struct tally t = { .names = &names };

	(void)state;
	assert_int_equal(tally_take(&t, &r), 0);
	assert_int_equal(t.shown.n[TALLY_LOGINS], 2);
	tally_fini(&t);
}

/* A request that was parked and has no answer yet counts its time before that. */
static void the_time_of_parked_requests_never_goes_backwards(void **state)
{
	struct ledger_account a = { .account = READ, .sum = { .parked_ns = 50, .had_ns = 10 } };
	struct tally_reading r = { .rung = "bpf", .ledger = { .account = &a, .n_accounts = 1 } };
	struct tally t = { 0 };

	(void)state;
	assert_int_equal(tally_take(&t, &r), 0);
	assert_int_equal(t.parked_ns[READ], 40);
	a.sum.had_ns = 25;
	assert_int_equal(tally_take(&t, &r), 0);
	assert_int_equal(t.parked_ns[READ], 40);
	a.sum.parked_ns = 100;
	assert_int_equal(tally_take(&t, &r), 0);
	assert_int_equal(t.parked_ns[READ], 75);
	tally_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_go_on_where_the_last_watch_ended),
		cmocka_unit_test(a_total_never_goes_backwards),
		cmocka_unit_test(of_a_login_in_steps_only_the_last_counts),
		cmocka_unit_test(logins_of_other_kinds_are_those_of_their_requests),
		cmocka_unit_test(the_time_of_parked_requests_never_goes_backwards),
		cmocka_unit_test(the_programs_time_is_known_only_while_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
