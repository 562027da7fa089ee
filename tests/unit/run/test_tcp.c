/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a tcp_info says, with kernels that give less or more of it than the header names. */
#include "run/tcp.h"

#include <linux/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct tcp_info full = {
	.tcpi_snd_mss = 1,
	.tcpi_rcv_mss = 2,
	.tcpi_lost = 3,
	.tcpi_retrans = 4,
	.tcpi_rtt = 5,
	.tcpi_rttvar = 6,
	.tcpi_snd_ssthresh = 0x7fffffff,
	.tcpi_snd_cwnd = 8,
	.tcpi_advmss = 9,
	.tcpi_reordering = 10,
	.tcpi_rcv_space = 11,
	.tcpi_total_retrans = 12,
	.tcpi_bytes_acked = 13ull << 32,
	.tcpi_bytes_received = 14ull << 32,
	.tcpi_segs_out = 15,
	.tcpi_segs_in = 16,
	.tcpi_min_rtt = 17,
	.tcpi_delivery_rate = 18ull << 32,
	.tcpi_busy_time = 19,
	.tcpi_rwnd_limited = 20,
	.tcpi_sndbuf_limited = 21,
	.tcpi_notsent_bytes = 22,
};

static const struct {
	enum run_tcp_value which;
	uint64_t value;
} expected[] = {
	{ TCP_SND_MSS, 1 },
	{ TCP_RCV_MSS, 2 },
	{ TCP_LOST, 3 },
	{ TCP_RETRANS, 4 },
	{ TCP_RTT, 5 },
	{ TCP_RTT_VAR, 6 },
	{ TCP_SSTHRESH, 0x7fffffff },
	{ TCP_CWND, 8 },
	{ TCP_ADV_MSS, 9 },
	{ TCP_REORDERING, 10 },
	{ TCP_RCV_SPACE, 11 },
	{ TCP_RETRANS_TOTAL, 12 },
	{ TCP_BYTES_ACKED, 13ull << 32 },
	{ TCP_BYTES_RECEIVED, 14ull << 32 },
	{ TCP_SEGS_OUT, 15 },
	{ TCP_SEGS_IN, 16 },
	{ TCP_MIN_RTT, 17 },
	{ TCP_DELIVERY_RATE, 18ull << 32 },
	{ TCP_BUSY, 19 },
	{ TCP_RWND_LIMITED, 20 },
	{ TCP_SNDBUF_LIMITED, 21 },
	{ TCP_UNSENT, 22 },
};

#define N_EXPECTED (sizeof(expected) / sizeof(expected[0]))

static unsigned int n_known(const struct run_tcp *t)
{
	unsigned int n = 0;

	for (size_t i = 0; i < N_TCP; i++)
		n += t->known[i];
	return n;
}

static void every_figure_comes_from_its_field(void **state)
{
	struct run_tcp t = { .end = TCP_SERVER, .when = TCP_DURING, .t_ns = 7 };

	(void)state;
	tcp_info_take(&t, &full, sizeof(full));
	for (size_t i = 0; i < N_EXPECTED; i++) {
		assert_true(t.known[expected[i].which]);
		assert_true(t.value[expected[i].which] == expected[i].value);
	}
	assert_int_equal(n_known(&t), N_EXPECTED);
	assert_int_equal(t.end, TCP_SERVER);
	assert_int_equal(t.when, TCP_DURING);
	assert_int_equal(t.t_ns, 7);
}

static void what_does_not_come_from_it_is_left_alone(void **state)
{
	struct run_tcp t = { .known[TCP_SNDBUF] = true, .value[TCP_SNDBUF] = 4096 };

	(void)state;
	tcp_info_take(&t, &full, sizeof(full));
	assert_true(t.known[TCP_SNDBUF] && t.value[TCP_SNDBUF] == 4096);
	assert_false(t.known[TCP_RCVBUF] || t.known[TCP_MSS]);
	assert_false(t.known[TCP_QUEUE] || t.known[TCP_UNREAD]);
}

/* Also one cut inside of a field: read at its full length only, the sanitizer watches. */
static void what_an_older_kernel_does_not_give_is_unknown(void **state)
{
	unsigned int before = 0;
	struct run_tcp t;

	(void)state;
	for (size_t len = 0; len <= sizeof(full); len++) {
		void *part = malloc(len ? len : 1);

		memset(&t, 0xff, sizeof(t));
		memset(t.known, 1, sizeof(t.known));
		memcpy(part, &full, len);
		tcp_info_take(&t, part, len);
		free(part);
		assert_true(n_known(&t) >= before);
		before = n_known(&t);
		assert_int_equal(t.known[TCP_RETRANS_TOTAL],
				 len >= offsetof(struct tcp_info, tcpi_total_retrans) + 4);
		assert_int_equal(t.known[TCP_SNDBUF_LIMITED],
				 len >= offsetof(struct tcp_info, tcpi_sndbuf_limited) + 8);
	}
}

static void it_may_be_longer_and_stand_anywhere(void **state)
{
	uint8_t room[1 + sizeof(full) + 64] = { 0 };
	struct run_tcp t = { 0 };

	(void)state;
	memcpy(room + 1, &full, sizeof(full));
	tcp_info_take(&t, (const void *)(room + 1), sizeof(full) + 64);
	assert_int_equal(n_known(&t), N_EXPECTED);
	assert_true(t.value[TCP_BUSY] == 19);
}

static void what_the_kernel_has_not_measured_is_unknown(void **state)
{
	struct tcp_info fresh = full;
	struct run_tcp t = { .known[TCP_MIN_RTT] = true };

	(void)state;
	fresh.tcpi_min_rtt = UINT32_MAX;
	fresh.tcpi_delivery_rate = 0;
	fresh.tcpi_total_retrans = 0;
	tcp_info_take(&t, &fresh, sizeof(fresh));
	assert_false(t.known[TCP_MIN_RTT]);
	assert_false(t.known[TCP_DELIVERY_RATE]);
	assert_true(t.known[TCP_RETRANS_TOTAL]);
	assert_int_equal(t.value[TCP_RETRANS_TOTAL], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_figure_comes_from_its_field),
		cmocka_unit_test(what_does_not_come_from_it_is_left_alone),
		cmocka_unit_test(what_an_older_kernel_does_not_give_is_unknown),
		cmocka_unit_test(it_may_be_longer_and_stand_anywhere),
		cmocka_unit_test(what_the_kernel_has_not_measured_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
