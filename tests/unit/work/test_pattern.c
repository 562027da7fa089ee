/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Data that tells where it belongs: any split of a file gives the same bytes, any wrong byte is
 * found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "work/pattern.h"

#define LEN 4097

static void any_split_gives_the_same_bytes(void **state)
{
	uint8_t whole[LEN], parts[LEN];

	(void)state;
	pattern_fill(whole, LEN, 12345, 7);
	for (size_t i = 0; i < LEN; i++)
		assert_int_equal(whole[i], pattern_byte(12345 + i, 7));
	for (size_t step = 1; step < 40; step++) {
		for (size_t at = 0; at < LEN; at += step)
			pattern_fill(parts + at, step < LEN - at ? step : LEN - at, 12345 + at, 7);
		assert_memory_equal(whole, parts, LEN);
	}
}

static void each_wrong_byte_is_found_where_it_is(void **state)
{
	uint8_t at[LEN];

	(void)state;
	for (uint64_t offset = 0; offset < 9; offset++) {
		pattern_fill(at, LEN, offset, 3);
		assert_int_equal(pattern_check(at, LEN, offset, 3), LEN);
		for (size_t i = 0; i < LEN; i += i < 32 || i > LEN - 32 ? 1 : 501) {
			at[i] ^= 0x10;
			assert_int_equal(pattern_check(at, LEN, offset, 3), i);
			at[i] ^= 0x10;
		}
	}
}

static void data_of_another_place_or_time_is_wrong(void **state)
{
	uint8_t at[LEN];

	(void)state;
	pattern_fill(at, LEN, 4096, 3);
	assert_true(pattern_check(at, LEN, 8192, 3) < 8);
	assert_true(pattern_check(at, LEN, 4096, 4) < 8);
	memset(at, 0, LEN);
	assert_true(pattern_check(at, LEN, 4096, 4) < 8);
}

static void zeros_are_zeros(void **state)
{
	uint8_t at[LEN] = { 0 };

	(void)state;
	assert_int_equal(pattern_check_zero(at, 0), 0);
	for (size_t i = 0; i < LEN; i += 64) {
		assert_int_equal(pattern_check_zero(at, LEN), LEN);
		at[i] = 1;
		assert_int_equal(pattern_check_zero(at, LEN), i);
		at[i] = 0;
	}
}

static void stamped_blocks_differ(void **state)
{
	uint8_t *at = calloc(64, 4096);

	(void)state;
	assert_non_null(at);
	pattern_stamp(at, 64 * 4096, 1 << 20, 1);
	for (int i = 0; i < 64; i++)
		for (int k = 0; k < i; k++)
			assert_memory_not_equal(at + i * 4096, at + k * 4096, 4096);
	free(at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_split_gives_the_same_bytes),
		cmocka_unit_test(each_wrong_byte_is_found_where_it_is),
		cmocka_unit_test(data_of_another_place_or_time_is_wrong),
		cmocka_unit_test(zeros_are_zeros),
		cmocka_unit_test(stamped_blocks_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
