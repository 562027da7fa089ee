/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hashes of numbers and texts, beside values that others have published. */
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The first two numbers of splitmix64 (Vigna) with the seed 0. */
static void numbers_are_mixed_as_splitmix64_does(void **state)
{
	(void)state;
	assert_true(hash_number(0x9e3779b97f4a7c15u) == 0xe220a8397b1dcdafu);
	assert_true(hash_number(2 * 0x9e3779b97f4a7c15u) == 0x6e789e6aa1b965f4u);
}

/* Of the list of test vectors for FNV (draft-eastlake-fnv). */
static void texts_have_the_hash_of_fnv_1a(void **state)
{
	(void)state;
	assert_true(hash_text(HASH_TEXT, "") == HASH_TEXT);
	assert_true(hash_text(HASH_TEXT, "foobar") == 0x85944171f73967e8u);
	assert_true(hash_text(hash_text(HASH_TEXT, "foo"), "bar") == 0x85944171f73967e8u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_mixed_as_splitmix64_does),
		cmocka_unit_test(texts_have_the_hash_of_fnv_1a),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
