/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What watching costs, from the kernel's statistics of the programs. */
#include "watch/bpf/rung.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* 1000 calls. */
static struct bpf_rung *watching(const struct price *p)
{
	static struct afs_shared shared;
	static struct bpf_rung b;

	b.price = *p;
	b.view.shared = &shared;
	b.view.ended.counts[AFS_ROLE_SERVER].calls = 1000;
	return &b;
}

static void the_price_of_a_call_is_that_of_entry_and_return(void **state)
{
	const struct price p = { .fd = -1, .program = { { 10, 1000 }, { 5, 1000 }, { 2, 100 } } };
	struct run r;

	(void)state;
	assert_int_equal(run_init(&r, "lantest", "lantest-4.5"), 0);
	assert_int_equal(price_note(watching(&p), &r), 0);
	assert_string_equal(run_note_find(&r.rungs, "price_ns"), "300000");
	assert_non_null(
	    strstr(run_note_find(&r.rungs, "price"),
		   "300 ns in the programs for each system call (entry 100, return "
		   "200; the kernel's statistics of 10 entries, of all processes), 50 ns"));
	run_fini(&r);
}

static void without_statistics_there_is_no_price(void **state)
{
	const struct price p = { .fd = -1 };
	struct run r;

	(void)state;
	assert_int_equal(run_init(&r, "lantest", "lantest-4.5"), 0);
	assert_int_equal(price_note(watching(&p), &r), 0);
	assert_null(run_note_find(&r.rungs, "price_ns"));
	assert_non_null(strstr(run_note_find(&r.rungs, "price"), "not known"));
	run_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_price_of_a_call_is_that_of_entry_and_return),
		cmocka_unit_test(without_statistics_there_is_no_price),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
