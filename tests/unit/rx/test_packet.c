/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets of Rx against bytes written down by hand. */
#include "rx/packet.h"
#include "unit/hex_bytes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct rx_header some = {
	.epoch = 0x81234567,
	.cid = 0x00ab0002,
	.call = 3,
	.seq = 4,
	.serial = 5,
	.type = RX_DATA,
	.flags = RX_FROM_CLIENT | RX_LAST,
	.status = 6,
	.security = 7,
	.checksum = 0x0809,
	.service = 147,
};
static const char some_hex[] = "81234567 00ab0002 00000003 00000004 00000005 01 05 06 07 0809 0093";

static void a_header_is_28_bytes_in_network_order(void **state)
{
	uint8_t want[64], got[RX_HEADER_LEN];
	struct wbuf w = wbuf_of(got, sizeof(got));
	struct rbuf b = rbuf_of(got, sizeof(got));
	struct rx_header back;

	(void)state;
	assert_int_equal(hex_bytes(want, some_hex), RX_HEADER_LEN);
	rx_header_put(&w, &some);
	assert_false(w.bad);
	assert_memory_equal(got, want, RX_HEADER_LEN);
	rx_header_take(&b, &back);
	assert_false(b.bad);
	assert_memory_equal(&back, &some, sizeof(some));
}

static void what_is_shorter_than_a_header_is_no_packet(void **state)
{
	uint8_t raw[64];
	struct rx_parts p;

	(void)state;
	hex_bytes(raw, some_hex);
	for (size_t len = 0; len < RX_HEADER_LEN; len++)
		assert_int_equal(rx_parts_begin(&p, raw, len), -EPROTO);
	assert_int_equal(rx_parts_begin(&p, raw, RX_HEADER_LEN), 0);
}

/* Three packets: 1412 bytes, 1412 bytes, 3 bytes and the last of the call. */
static size_t jumbogram(uint8_t *raw)
{
	size_t n = hex_bytes(raw,
			     "81234567 00ab0000 00000001 00000009 00000064 01 20 00 00 0000 0093");

	memset(raw + n, 'a', RX_DATA_LEN);
	n += RX_DATA_LEN;
	n += hex_bytes(raw + n, "22 00 1234");
	memset(raw + n, 'b', RX_DATA_LEN);
	n += RX_DATA_LEN;
	n += hex_bytes(raw + n, "04 00 0000 'end'");
	return n;
}

static void a_jumbogram_is_several_packets(void **state)
{
	uint8_t raw[4096];
	size_t len = jumbogram(raw);
	struct rx_header h;
	struct rx_parts p;
	struct rbuf data;

	(void)state;
	assert_int_equal(rx_parts_begin(&p, raw, len), 0);
	assert_true(rx_parts_next(&p, &h, &data));
	assert_int_equal(h.seq, 9);
	assert_int_equal(h.serial, 100);
	assert_int_equal(h.flags, 0);
	assert_int_equal(rbuf_left(&data), RX_DATA_LEN);
	assert_int_equal(*data.at, 'a');
	assert_true(rx_parts_next(&p, &h, &data));
	assert_int_equal(h.seq, 10);
	assert_int_equal(h.serial, 101);
	assert_int_equal(h.flags, RX_REQUEST_ACK);
	assert_int_equal(h.checksum, 0x1234);
	assert_int_equal(rbuf_left(&data), RX_DATA_LEN);
	assert_int_equal(*data.at, 'b');
	assert_true(rx_parts_next(&p, &h, &data));
	assert_int_equal(h.seq, 11);
	assert_int_equal(h.serial, 102);
	assert_int_equal(h.flags, RX_LAST);
	assert_int_equal(h.service, 147);
	assert_int_equal(rbuf_left(&data), 3);
	assert_memory_equal(data.at, "end", 3);
	assert_false(rx_parts_next(&p, &h, &data));
}

/* Cut anywhere: whole packets only, and nothing beyond the end is read (under ASan). */
static void a_jumbogram_cut_off_has_the_packets_before(void **state)
{
	const size_t second = RX_HEADER_LEN + RX_DATA_LEN + RX_JUMBO_LEN;
	uint8_t raw[4096];
	size_t len = jumbogram(raw);
	struct rx_header h;
	struct rx_parts p;
	struct rbuf data;

	(void)state;
	for (size_t cut = RX_HEADER_LEN; cut < len; cut++) {
		size_t n = 0, want = cut >= RX_HEADER_LEN + RX_DATA_LEN;

		want += cut >= second + RX_DATA_LEN;
		want += cut >= second + RX_DATA_LEN + RX_JUMBO_LEN;
		assert_int_equal(rx_parts_begin(&p, raw, cut), 0);
		while (rx_parts_next(&p, &h, &data))
			n++;
		assert_int_equal(n, want);
	}
}

/* The same flag has another meaning in an ACK. */
static void only_data_can_be_a_jumbogram(void **state)
{
	uint8_t raw[4096];
	size_t len = jumbogram(raw);
	struct rx_header h;
	struct rx_parts p;
	struct rbuf data;

	(void)state;
	raw[20] = RX_ACK;
	assert_int_equal(rx_parts_begin(&p, raw, len), 0);
	assert_true(rx_parts_next(&p, &h, &data));
	assert_int_equal(rbuf_left(&data), len - RX_HEADER_LEN);
	assert_int_equal(h.flags, RX_SLOW_START);
	assert_false(rx_parts_next(&p, &h, &data));
}

static void an_ack_lists_packets_and_ends_with_limits(void **state)
{
	static const uint8_t have[] = { 1, 0, 1 };
	const struct rx_ack a = { .first = 7,
				  .previous = 9,
				  .serial = 0x55,
				  .reason = RX_ACK_OUT_OF_ORDER,
				  .n = 3,
				  .have = have,
				  .packet_max = 1444,
				  .mtu = 1500,
				  .window = 32,
				  .datagram_max = 4 };
	uint8_t want[128], got[128];
	size_t len = hex_bytes(want, "0000 0000 00000007 00000009 00000055 03 03 010001 000000 "
				     "000005a4 000005dc 00000020 00000004");
	struct wbuf w = wbuf_of(got, sizeof(got));
	struct rx_ack back;

	(void)state;
	rx_ack_put(&w, &a);
	assert_int_equal(w.at - got, len);
	assert_memory_equal(got, want, len);
	assert_int_equal(rx_ack_parse(&back, rbuf_of(got, len)), 0);
	assert_int_equal(back.first, a.first);
	assert_int_equal(back.previous, a.previous);
	assert_int_equal(back.serial, a.serial);
	assert_int_equal(back.reason, a.reason);
	assert_int_equal(back.n, a.n);
	assert_memory_equal(back.have, have, 3);
	assert_int_equal(back.packet_max, a.packet_max);
	assert_int_equal(back.mtu, a.mtu);
	assert_int_equal(back.window, a.window);
	assert_int_equal(back.datagram_max, a.datagram_max);
}

/* Some peers end after the list, or say less. */
static void what_an_ack_does_not_say_is_0(void **state)
{
	uint8_t raw[128];
	size_t len = hex_bytes(raw, "0000 0000 00000007 00000009 00000055 03 03 010001 000000 "
				    "000005a4 000005dc 00000020 00000004");
	struct rx_ack a;

	(void)state;
	for (size_t cut = 0; cut < 21; cut++)
		assert_int_equal(rx_ack_parse(&a, rbuf_of(raw, cut)), -EPROTO);
	for (size_t cut = 21; cut <= len; cut++) {
		assert_int_equal(rx_ack_parse(&a, rbuf_of(raw, cut)), 0);
		assert_int_equal(a.first, 7);
		assert_int_equal(a.packet_max, cut >= 28 ? 1444 : 0);
		assert_int_equal(a.window, cut >= 36 ? 32 : 0);
		assert_int_equal(a.datagram_max, cut >= 40 ? 4 : 0);
	}
}

static void an_abort_is_a_signed_number(void **state)
{
	uint8_t raw[4];
	struct wbuf w = wbuf_of(raw, sizeof(raw));
	int32_t code;

	(void)state;
	rx_abort_put(&w, RX_UNKNOWN_OPCODE);
	assert_memory_equal(raw, "\xff\xff\xfe\x39", 4);
	assert_int_equal(rx_abort_parse(&code, rbuf_of(raw, 4)), 0);
	assert_int_equal(code, -455);
	assert_int_equal(rx_abort_parse(&code, rbuf_of(raw, 3)), -EPROTO);
	assert_string_equal(rx_error_text(-455), "the server does not know this operation");
	assert_null(rx_error_text(-7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_header_is_28_bytes_in_network_order),
		cmocka_unit_test(what_is_shorter_than_a_header_is_no_packet),
		cmocka_unit_test(a_jumbogram_is_several_packets),
		cmocka_unit_test(a_jumbogram_cut_off_has_the_packets_before),
		cmocka_unit_test(only_data_can_be_a_jumbogram),
		cmocka_unit_test(an_ack_lists_packets_and_ends_with_limits),
		cmocka_unit_test(what_an_ack_does_not_say_is_0),
		cmocka_unit_test(an_abort_is_a_signed_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
