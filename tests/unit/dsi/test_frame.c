/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sixteen bytes before everything, and results. */
#include "dsi/frame.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_header_is_sixteen_bytes_in_network_order(void **state)
{
	const struct dsi_frame f = { DSI_REPLY, DSI_WRITE, 0x1234, 0xffffec78, 0x01020304 };
	static const uint8_t want[] = { 0x01, 0x06, 0x12, 0x34, 0xff, 0xff, 0xec, 0x78,
					0x01, 0x02, 0x03, 0x04, 0x00, 0x00, 0x00, 0x00 };
	uint8_t raw[DSI_HEADER_LEN];
	struct dsi_frame back;

	(void)state;
	dsi_frame_put(raw, &f);
	assert_memory_equal(raw, want, sizeof(want));
	assert_int_equal(dsi_frame_parse(&back, raw), 0);
	assert_int_equal(back.flag, f.flag);
	assert_int_equal(back.command, f.command);
	assert_int_equal(back.id, f.id);
	assert_int_equal(back.code, f.code);
	assert_int_equal(back.len, f.len);
}

static void only_flags_0_and_1_and_commands_1_to_8_are_dsi(void **state)
{
	uint8_t raw[DSI_HEADER_LEN] = { 0 };
	struct dsi_frame f;

	(void)state;
	for (unsigned int flag = 0; flag < 256; flag++) {
		for (unsigned int command = 0; command < 256; command++) {
			raw[0] = (uint8_t)flag;
			raw[1] = (uint8_t)command;
			assert_int_equal(dsi_frame_parse(&f, raw),
					 flag < 2 && command > 0 && command < 9 ? 0 : -EPROTO);
		}
	}
}

static void results_are_negative_in_16_and_in_32_bits(void **state)
{
	(void)state;
	assert_int_equal(dsi_result(0), 0);
	assert_int_equal(dsi_result(0x0000fbd1), -1071);
	assert_int_equal(dsi_result(0xffffec78), -5000);
	assert_int_equal(dsi_result(0xfffffbd1), -1071);
	assert_int_equal(dsi_result(1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_header_is_sixteen_bytes_in_network_order),
		cmocka_unit_test(only_flags_0_and_1_and_commands_1_to_8_are_dsi),
		cmocka_unit_test(results_are_negative_in_16_and_in_32_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
