/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "work/rxperf/rx_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define LEN (3 * RX_DATA_PERIOD)

static uint8_t pattern[RX_DATA_PERIOD], data[LEN];

static int prepare(void **state)
{
	(void)state;
	rx_data_fill(pattern, RX_DATA_OF_CLIENT);
	return 0;
}

/* The bytes of a call. */
static void make(uint64_t call, size_t len)
{
	size_t at = rx_data_place(call, len);

	for (size_t i = 0; i < len; i++)
		data[i] = pattern[(at + i) % RX_DATA_PERIOD];
}

static struct rx_data_check check_from(enum rx_data_end from, size_t len, size_t each)
{
	struct rx_data_check c;
	size_t n;

	rx_data_check_begin(&c, len, from);
	for (size_t i = 0; i < len; i += n) {
		n = len - i < each ? len - i : each;
		rx_data_check(&c, data + i, n);
	}
	assert_int_equal(c.seen, len);
	return c;
}

static struct rx_data_check check(size_t len, size_t each)
{
	return check_from(RX_DATA_OF_CLIENT, len, each);
}

static void any_length_in_any_pieces_is_right(void **state)
{
	static const size_t len[] = { 1, 3, 7, 8, 9, 30, 1412, 64000, RX_DATA_PERIOD, LEN };
	static const size_t each[] = { 1, 5, 8, 1412, LEN };

	(void)state;
	for (size_t i = 0; i < 10; i++)
		for (size_t k = 0; k < 5; k++) {
			make(i * 77 + k, len[i]);
			assert_int_equal(check(len[i], each[k]).state, RX_DATA_RIGHT);
		}
}

static void the_first_wrong_byte_is_found(void **state)
{
	static const size_t at[] = { 8, 1411, 1412, 63999 };
	struct rx_data_check c;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		make(5, 64000);
		data[at[i]] ^= 1;
		data[63999] ^= 2;
		c = check(64000, 1412);
		assert_int_equal(c.state, RX_DATA_WRONG);
		assert_int_equal(c.wrong, at[i]);
	}
}

static void bytes_of_another_place_are_wrong(void **state)
{
	uint8_t packet[1412];

	(void)state;
	make(5, 64000);
	memcpy(packet, data + 2824, sizeof(packet));
	make(6, 64000);
	memcpy(data + 2824, packet, sizeof(packet));
	assert_int_equal(check(64000, 1412).state, RX_DATA_WRONG);
	make(6, 64000);
	memmove(data + 1412, data + 2824, 1412);
	assert_int_equal(check(64000, 1412).wrong, 1412);
}

static void what_is_not_of_the_pattern_is_not_judged(void **state)
{
	(void)state;
	memset(data, 0, 64000);
	assert_int_equal(check(64000, 1412).state, RX_DATA_UNKNOWN);
	assert_int_equal(check(3, 1).state, RX_DATA_UNKNOWN);
	make(5, 64000);
	data[0] ^= 1;
	assert_int_equal(check(64000, 1412).state, RX_DATA_UNKNOWN);
	assert_int_equal(check(0, 1).state, RX_DATA_BEGINS);
}

/* A server that answers with what it has read is not one of ours, whatever the place. */
static void bytes_of_the_own_end_are_no_answer(void **state)
{
	static const size_t len[] = { 1, 3, 7, 8, 30, 64000 };

	(void)state;
	for (uint64_t call = 0; call < 2000; call++)
		for (size_t i = 0; i < 6; i++) {
			make(call, len[i]);
			assert_int_equal(check_from(RX_DATA_OF_SERVER, len[i], 1412).state,
					 RX_DATA_UNKNOWN);
		}
	rx_data_fill(pattern, RX_DATA_OF_SERVER);
	make(1, 64000);
	assert_int_equal(check_from(RX_DATA_OF_SERVER, 64000, 1412).state, RX_DATA_RIGHT);
	assert_int_equal(check(64000, 1412).state, RX_DATA_UNKNOWN);
	rx_data_fill(pattern, RX_DATA_OF_CLIENT);
}

static void calls_begin_at_different_places(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_not_equal(rx_data_place(i, 8), rx_data_place(i + 1, 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_length_in_any_pieces_is_right),
		cmocka_unit_test(the_first_wrong_byte_is_found),
		cmocka_unit_test(bytes_of_another_place_are_wrong),
		cmocka_unit_test(what_is_not_of_the_pattern_is_not_judged),
		cmocka_unit_test(bytes_of_the_own_end_are_no_answer),
		cmocka_unit_test(calls_begin_at_different_places),
	};

	return cmocka_run_group_tests(tests, prepare, NULL);
}
