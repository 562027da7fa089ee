/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers in front of rxperf's calls, against bytes written down by hand. */
#include "rx/perf.h"
#include "unit/hex_bytes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct known {
	struct rx_perf p;
	const char *hex;
	uint64_t sent, received;
};

static const struct known calls[] = {
	{ { 3, RX_PERF_SEND, 0x1000, 0x2000, 64000, 0, 0, { 0 } },
	  "00000003 00000000 00001000 00002000 0000fa00",
	  64000,
	  0 },
	{ { 3, RX_PERF_RECV, 0x1000, 0x2000, 20, 0, 0, { 0 } },
	  "00000003 00000001 00001000 00002000 00000014",
	  0,
	  20 },
	{ { 3, RX_PERF_RPC, 1, 2, 3, 30, 0, { 0 } },
	  "00000003 00000003 00000001 00000002 00000003 0000001e",
	  3,
	  30 },
	{ { 3, RX_PERF_FILE, 1, 2, 0, 0, 4, { 5, 6, 0, 7 } },
	  "00000003 00000004 00000001 00000002 00000004 00000005 00000006 00000000 00000007",
	  44,
	  28 },
};

#define N_CALLS (sizeof(calls) / sizeof(calls[0]))

static void each_call_begins_with_its_numbers(void **state)
{
	uint8_t want[RX_PERF_LEN], got[RX_PERF_LEN];
	struct rx_perf back;
	size_t len, used;

	(void)state;
	for (size_t i = 0; i < N_CALLS; i++) {
		struct wbuf w = wbuf_of(got, sizeof(got));

		len = hex_bytes(want, calls[i].hex);
		rx_perf_put(&w, &calls[i].p);
		assert_int_equal(w.at - got, len);
		assert_memory_equal(got, want, len);
		for (size_t cut = 0; cut < len; cut++)
			assert_int_equal(rx_perf_parse(&back, got, cut, &used), -EAGAIN);
		assert_int_equal(rx_perf_parse(&back, got, len, &used), 0);
		assert_int_equal(used, len);
		assert_memory_equal(&back, &calls[i].p, sizeof(back));
		assert_int_equal(rx_perf_sent(&back), calls[i].sent);
		assert_int_equal(rx_perf_received(&back), calls[i].received);
	}
}

/* Of other versions, commands and sizes nothing is known. */
static void what_is_not_rxperf_is_refused(void **state)
{
	static const char *const wrong[] = {
		"00000002 00000000 00001000 00002000 0000fa00",
		"00000003 00000002 00001000 00002000 0000fa00",
		"00000003 00000005 00001000 00002000 0000fa00",
		"00000003 00000000 00080001 00002000 0000fa00",
		"00000003 00000000 00001000 00080001 0000fa00",
		"00000003 00000004 00001000 00002000 00000041",
	};
	uint8_t raw[RX_PERF_LEN];
	struct rx_perf p;
	size_t used;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(rx_perf_parse(&p, raw, hex_bytes(raw, wrong[i]), &used), -EPROTO);
	assert_null(rx_perf_name(2));
	assert_null(rx_perf_name(5));
	assert_string_equal(rx_perf_name(RX_PERF_FILE), "file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_begins_with_its_numbers),
		cmocka_unit_test(what_is_not_rxperf_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
