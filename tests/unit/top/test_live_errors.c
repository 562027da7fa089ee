/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors step by step, from readings in which answers and results are of different moments. */
#include "top/live_errors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ENUMERATE 9
#define NO_OBJECT (-5018) /* the end of a list */

/* So many answers other than 0, and so many results that say only that a list has ended. */
static uint64_t since(struct live_errors *e, uint64_t errors, uint64_t ends)
{
	struct ledger_account a = { .account = ENUMERATE, .sum = { .errors = errors } };
	struct ledger_result r = { .account = ENUMERATE, .code = NO_OBJECT, .n = ends };
	const struct ledger l = { .n_accounts = 1, .account = &a, .n_results = 1, .result = &r };

	return live_errors_since(e, &l, ENUMERATE);
}

static void a_result_that_is_read_before_its_answer_is_no_error(void **state)
{
	struct live_errors e = { 0 };

	(void)state;
	assert_int_equal(since(&e, 5, 5), 0);
	assert_int_equal(since(&e, 6, 8), 0);
	assert_int_equal(since(&e, 9, 9), 0);
	/* Nor is it one that hides an error: that is told later, and once. */
	assert_int_equal(since(&e, 11, 11), 0);
	assert_int_equal(since(&e, 13, 12), 1);
	assert_int_equal(since(&e, 14, 14), 0);
	assert_int_equal(since(&e, 16, 14), 1);
}

static void what_there_was_at_the_begin_is_not_told(void **state)
{
	struct ledger_account a = { .account = ENUMERATE, .sum = { .errors = 7 } };
	const struct ledger l = { .n_accounts = 1, .account = &a };
	struct live_errors e;

	(void)state;
	live_errors_begin(&e, NULL, &l);
	assert_int_equal(since(&e, 7, 0), 0);
	assert_int_equal(since(&e, 9, 0), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_result_that_is_read_before_its_answer_is_no_error),
		cmocka_unit_test(what_there_was_at_the_begin_is_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
