/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rx/stats.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ANSWER_LEN (RX_HEADER_LEN + 56)

/* As servers answer: 7 calls served, 95 wait, 2 threads idle, 296 ever waited. */
static void answer(uint8_t out[static ANSWER_LEN], uint8_t type, uint8_t flags)
{
	const struct rx_header h = { .call = 42, .type = type, .flags = flags };
	struct wbuf w = wbuf_of(out, ANSWER_LEN);

	rx_header_put(&w, &h);
	wbuf_u32(&w, 400);
	wbuf_u32(&w, 1);
	wbuf_u32(&w, 7);
	wbuf_u32(&w, 0x01025300);
	wbuf_u32(&w, 95);
	wbuf_u32(&w, 2);
	wbuf_u32(&w, 296);
	wbuf_zero(&w, (size_t)(w.end - w.at));
}

static void a_question_has_its_number_and_asks_for_statistics(void **state)
{
	uint8_t data[RX_STATS_LEN];
	struct wbuf w = wbuf_of(data, sizeof(data));
	struct rbuf b = rbuf_of(data, sizeof(data));
	struct rx_header h;

	(void)state;
	rx_stats_ask(&w, 42);
	rx_header_take(&b, &h);
	assert_int_equal(h.type, RX_DEBUG);
	assert_int_equal(h.call, 42);
	assert_true(h.flags & RX_FROM_CLIENT);
	assert_int_equal(rbuf_u32(&b), 1);
	assert_int_equal(rbuf_u32(&b), 0);
	assert_false(b.bad);
	assert_int_equal(rbuf_left(&b), 0);
}

static void an_answer_says_what_waits(void **state)
{
	uint8_t data[ANSWER_LEN];
	struct rx_stats s;
	uint32_t number;

	(void)state;
	answer(data, RX_DEBUG, 0);
	assert_int_equal(rx_stats_parse(&s, &number, data, sizeof(data)), 0);
	assert_int_equal(number, 42);
	assert_int_equal(s.calls, 7);
	assert_int_equal(s.waiting, 95);
	assert_int_equal(s.idle, 2);
	assert_int_equal(s.waited, 296);
}

static void what_is_no_answer_is_refused(void **state)
{
	uint8_t data[ANSWER_LEN];
	struct rx_stats s;
	uint32_t number;

	(void)state;
	answer(data, RX_DATA, 0);
	assert_int_equal(rx_stats_parse(&s, &number, data, sizeof(data)), -EPROTO);
	answer(data, RX_DEBUG, RX_FROM_CLIENT);
	assert_int_equal(rx_stats_parse(&s, &number, data, sizeof(data)), -EPROTO);
	answer(data, RX_DEBUG, 0);
	for (size_t len = 0; len < RX_HEADER_LEN + 28; len++)
		assert_int_equal(rx_stats_parse(&s, &number, data, len), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question_has_its_number_and_asks_for_statistics),
		cmocka_unit_test(an_answer_says_what_waits),
		cmocka_unit_test(what_is_no_answer_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
