/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Byte cursors: what fits, what does not, and that they stay bad. */
#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void integers_are_read_in_network_order(void **state)
{
	const uint8_t raw[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	struct rbuf b = rbuf_of(raw, sizeof(raw));

	(void)state;
	assert_int_equal(rbuf_u8(&b), 0x01);
	assert_int_equal(rbuf_u16(&b), 0x0203);
	assert_int_equal(rbuf_u32(&b), 0x04050607);
	assert_true(rbuf_u64(&b) == 0x08090a0b0c0d0e0full);
	assert_int_equal(rbuf_left(&b), 0);
	assert_false(b.bad);
}

static void a_short_read_is_sticky(void **state)
{
	const uint8_t raw[] = { 0x12, 0x34, 0x56 };
	struct rbuf b = rbuf_of(raw, sizeof(raw));

	(void)state;
	assert_int_equal(rbuf_u16(&b), 0x1234);
	assert_int_equal(rbuf_u32(&b), 0);
	assert_true(b.bad);
	assert_int_equal(rbuf_u8(&b), 0);
	assert_int_equal(rbuf_left(&b), 0);
	assert_null(rbuf_bytes(&b, 0));
}

static void a_huge_length_does_not_wrap(void **state)
{
	const uint8_t raw[4] = { 0 };
	uint8_t room[4];
	struct rbuf b = rbuf_of(raw, sizeof(raw));
	struct wbuf w = wbuf_of(room, sizeof(room));

	(void)state;
	assert_null(rbuf_bytes(&b, SIZE_MAX));
	assert_true(b.bad);
	assert_null(wbuf_room(&w, SIZE_MAX));
	assert_true(w.bad);
}

static void what_is_written_is_read_back(void **state)
{
	uint8_t raw[32];
	struct wbuf w = wbuf_of(raw, sizeof(raw));
	struct rbuf b;

	(void)state;
	wbuf_u8(&w, 0xfe);
	wbuf_u16(&w, 0xfedc);
	wbuf_u32(&w, 0xfedcba98);
	wbuf_u64(&w, 0xfedcba9876543210ull);
	wbuf_pascal(&w, "name");
	wbuf_zero(&w, 2);
	assert_false(w.bad);
	b = rbuf_of(raw, (size_t)(w.at - raw));
	assert_int_equal(rbuf_left(&b), 22);
	assert_int_equal(rbuf_u8(&b), 0xfe);
	assert_int_equal(rbuf_u16(&b), 0xfedc);
	assert_true(rbuf_u32(&b) == 0xfedcba98);
	assert_true(rbuf_u64(&b) == 0xfedcba9876543210ull);
	assert_int_equal(rbuf_u8(&b), 4);
	assert_memory_equal(rbuf_bytes(&b, 4), "name", 4);
	assert_int_equal(rbuf_u16(&b), 0);
	assert_false(b.bad);
}

static void a_write_that_does_not_fit_is_sticky_and_writes_nothing(void **state)
{
	uint8_t raw[4] = { 9, 9, 9, 9 };
	struct wbuf w = wbuf_of(raw, 3);

	(void)state;
	wbuf_u32(&w, 1);
	assert_true(w.bad);
	wbuf_u8(&w, 1);
	assert_true(w.at == raw);
	assert_int_equal(raw[0], 9);
	assert_int_equal(raw[3], 9);
}

static void a_pascal_string_of_256_bytes_is_refused(void **state)
{
	uint8_t raw[512];
	char text[257];
	struct wbuf w = wbuf_of(raw, sizeof(raw));

	(void)state;
	memset(text, 'x', 256);
	text[256] = 0;
	wbuf_pascal(&w, text + 1);
	assert_false(w.bad);
	assert_int_equal(raw[0], 255);
	wbuf_pascal(&w, text);
	assert_true(w.bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_are_read_in_network_order),
		cmocka_unit_test(a_short_read_is_sticky),
		cmocka_unit_test(a_huge_length_does_not_wrap),
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(a_write_that_does_not_fit_is_sticky_and_writes_nothing),
		cmocka_unit_test(a_pascal_string_of_256_bytes_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
