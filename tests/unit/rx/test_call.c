/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of Rx over a wire that loses, repeats and reorders: tests client/rx/call.c, send.c,
 * receive.c, hub.c.
 */
#include "unit/rx_wire.h"

#include <stdio.h>

#define DATA_MAX (4u << 20)

struct patterns {
	uint8_t request[DATA_MAX], reply[DATA_MAX];
};

static int make_patterns(void **state)
{
	struct patterns *p = malloc(sizeof(*p));

	pattern_fill(p->request, DATA_MAX, 0, 1);
	pattern_fill(p->reply, DATA_MAX, 0, 2);
	*state = p;
	return 0;
}

static int free_patterns(void **state)
{
	free(*state);
	return 0;
}

static void check_all_there(const struct wire *w)
{
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rx_call_error(w->end[i].call), 0);
		assert_int_equal(w->end[i].got, w->end[i].expected);
	}
}

static void do_call(const struct patterns *p, const struct wire_opts *o, size_t request,
		    size_t reply)
{
	struct wire *w = wire_new(o);

	wire_begin(w, p->request, request, p->reply, reply);
	wire_run(w, 3600 * WIRE_S);
	check_all_there(w);
	wire_free(w);
}

static const size_t sizes[] = { 1, 20, 1411, 1412, 1413, 2824, 64000, 1 << 20 };

#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* Without a loss: no packet is sent twice, and no time passes but the wire's. */
static void nothing_is_sent_again_on_a_good_wire(void **state)
{
	const struct wire_opts o = { .delay_ns = WIRE_MS };

	for (size_t i = 0; i < N_SIZES; i++) {
		struct patterns *p = *state;
		struct wire *w = wire_new(&o);
		size_t packets = (sizes[i] + RX_DATA_LEN - 1) / RX_DATA_LEN;

		wire_begin(w, p->request, 20, p->reply, sizes[i]);
		wire_run(w, 60 * WIRE_S);
		check_all_there(w);
		assert_int_equal(w->end[1].hub.counts.data_sent, packets);
		assert_int_equal(w->end[1].hub.counts.bytes_sent, sizes[i]);
		assert_int_equal(w->end[0].hub.counts.bytes_received, sizes[i]);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(w->end[k].hub.counts.resent, 0);
			assert_int_equal(w->end[k].hub.counts.duplicates, 0);
			assert_int_equal(w->end[k].hub.counts.strange, 0);
		}
		if (packets > 1)
			assert_in_range(w->end[1].hub.rtt.min_ns, 2 * WIRE_MS, 2 * WIRE_MS);
		wire_free(w);
	}
}

static void every_byte_arrives_over_a_bad_wire(void **state)
{
	static const double losses[] = { 0.01, 0.1, 0.3 };

	for (long seed = 1; seed <= 12; seed++) {
		const struct wire_opts o = { .loss = losses[seed % 3],
					     .repeat = 0.1,
					     .delay_ns = 200 * (seed % 2) * WIRE_MS,
					     .jitter_ns = 20 * WIRE_MS,
					     .seed = seed };

		for (size_t i = 0; i + 1 < N_SIZES; i++) {
			do_call(*state, &o, sizes[i], 4);
			do_call(*state, &o, 4, sizes[i]);
			do_call(*state, &o, sizes[i], sizes[i]);
		}
	}
}

static void long_transfers_recover_from_losses(void **state)
{
	for (int k = 0; k < 2; k++) {
		const struct wire_opts o = { .loss = 0.02, .delay_ns = WIRE_MS, .seed = k };
		struct patterns *p = *state;
		struct wire *w = wire_new(&o);
		struct wire_end *from = &w->end[k];

		wire_begin(w, p->request, k ? 4 : DATA_MAX, p->reply, k ? DATA_MAX : 4);
		wire_run(w, 600 * WIRE_S);
		check_all_there(w);
		assert_true(from->hub.counts.resent > 0);
		assert_true(from->hub.counts.recoveries > 0);
		/* not each loss is waited for */
		assert_true(from->hub.counts.timeouts < from->hub.counts.resent);
		wire_free(w);
	}
}

static void windows_and_jumbograms_of_all_sizes_go(void **state)
{
	static const struct rx_limits some[] = {
		{ RX_DATA_LEN, 1, 1 }, { RX_DATA_LEN, 2, 6 },   { 100, 32, 1 },
		{ RX_DATA_LEN, 7, 3 }, { RX_DATA_LEN, 255, 6 }, { 8000, 32, 4 },
	};

	for (size_t a = 0; a < 6; a++) {
		for (size_t b = 0; b < 6; b++) {
			struct wire_opts o = { .delay_ns = WIRE_MS,
					       .limits = { some[a], some[b] } };

			do_call(*state, &o, 100000, 100000);
			o.loss = 0.05;
			do_call(*state, &o, 100000, 100000);
		}
	}
}

/* The reader of a full window is waited for, and nothing is lost beyond it. */
static void a_slow_reader_stops_the_sender(void **state)
{
	const struct wire_opts o = { .delay_ns = WIRE_MS, .read_ns = 30 * WIRE_MS };
	struct patterns *p = *state;
	struct wire *w = wire_new(&o);

	wire_begin(w, p->request, 200000, p->reply, 200000);
	wire_run(w, 60 * WIRE_S);
	check_all_there(w);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(w->end[i].hub.counts.beyond_window, 0);
		assert_int_equal(w->end[i].hub.counts.resent, 0);
	}
	wire_free(w);
}

static void calls_of_one_channel_follow_each_other(void **state)
{
	const struct wire_opts o = { .delay_ns = WIRE_MS };
	struct patterns *p = *state;
	struct wire *w = wire_new(&o);

	for (uint32_t i = 1; i <= 50; i++) {
		wire_begin(w, p->request, 3, p->reply, 30);
		wire_run(w, 60 * WIRE_S);
		check_all_there(w);
		assert_int_equal(w->end[0].call->number, i);
	}
	/* a request, its reply, and one answer to it */
	assert_int_equal(w->end[0].hub.counts.data_sent, 50);
	assert_int_equal(w->end[1].hub.counts.data_sent, 50);
	assert_int_equal(w->end[0].hub.counts.resent + w->end[1].hub.counts.resent, 0);
	wire_free(w);
}

/* ---- when ---- */

/* The client's only packet is lost: 3 s are assumed for the round trip, 0.2 and 0.4 are added. */
static void the_first_loss_costs_3_6_seconds(void **state)
{
	const struct wire_opts o = { .delay_ns = WIRE_MS };
	struct patterns *p = *state;
	struct wire *w = wire_new(&o);
	uint64_t begun_ns = w->now_ns;

	w->end[1].deaf = true;
	wire_begin(w, p->request, 20, p->reply, 20);
	w->end[1].deaf = false;
	wire_run(w, 60 * WIRE_S);
	check_all_there(w);
	assert_int_equal(w->end[0].hub.counts.resent, 1);
	assert_in_range(w->now_ns - begun_ns, 3600 * WIRE_MS, 3610 * WIRE_MS);
	wire_free(w);
}

/* A lost reply: its server waits 3.2 s, or the 0.2 s after the round trip if it knows that. */
static void a_known_round_trip_makes_losses_cheap(void **state)
{
	const struct wire_opts o = { .delay_ns = WIRE_MS };
	static const uint64_t want_ms[] = { 3200, 220 };
	struct patterns *p = *state;
	struct wire *w = wire_new(&o);

	for (int i = 0; i < 2; i++) {
		uint64_t begun_ns = w->now_ns;

		wire_begin(w, p->request, 20, p->reply, 20);
		w->end[0].deaf = true;
		while (!w->end[1].hub.counts.data_sent || w->end[1].hub.counts.data_sent == 2)
			assert_true(wire_step(w));
		w->end[0].deaf = false;
		wire_run(w, 60 * WIRE_S);
		check_all_there(w);
		assert_in_range(w->now_ns - begun_ns, want_ms[i] * WIRE_MS,
				(want_ms[i] + 10) * WIRE_MS);
	}
	wire_free(w);
}

static void silence_ends_a_call_after_12_seconds(void **state)
{
	const struct wire_opts o = { .delay_ns = WIRE_MS };
	struct patterns *p = *state;

	for (int k = 0; k < 3; k++) {
		struct wire *w = wire_new(&o);
		uint64_t begun_ns = w->now_ns;

		w->end[1].dumb = !k;
		wire_begin(w, p->request, DATA_MAX, p->reply, 20);
		while (k && w->end[k == 1 ? 1 : 0].got < 100000 &&
		       w->end[0].hub.counts.acks_received < 100)
			assert_true(wire_step(w));
		begun_ns = w->now_ns;
		w->end[0].dumb = w->end[1].dumb = true;
		wire_run(w, 60 * WIRE_S);
		assert_int_equal(rx_call_error(w->end[0].call), RX_CALL_DEAD);
		assert_int_equal(rx_call_error(w->end[1].call), RX_CALL_DEAD);
		assert_in_range(w->now_ns - begun_ns, 11900 * WIRE_MS, 12010 * WIRE_MS);
		assert_int_equal(w->end[0].hub.counts.dead, 1);
		wire_free(w);
	}
}

static void a_dead_call_ends_its_peer_too(void **state)
{
	const struct wire_opts o = { .delay_ns = WIRE_MS };
	struct wire *w = wire_new(&o);
	struct patterns *p = *state;

	w->end[0].deaf = true;
	wire_begin(w, p->request, DATA_MAX, p->reply, 20);
	while (rx_call_state(w->end[0].call) == RX_CALL_ACTIVE)
		assert_true(wire_step(w));
	assert_int_equal(rx_call_error(w->end[0].call), RX_CALL_DEAD);
	assert_int_equal(rx_call_state(w->end[1].call), RX_CALL_ACTIVE);
	w->end[0].deaf = false;
	wire_run(w, 15 * WIRE_S);
	assert_int_equal(rx_call_error(w->end[1].call), RX_CALL_DEAD);
	assert_int_equal(w->end[1].hub.counts.dead, 0);
	wire_free(w);
}

/* A server that takes its time is asked now and then whether it is there. */
static void a_call_lives_as_long_as_its_server_answers(void **state)
{
	const struct wire_opts o = { .delay_ns = WIRE_MS };
	struct patterns *p = *state;
	struct wire *w = wire_new(&o);
	uint64_t begun_ns = w->now_ns;

	wire_begin(w, p->request, 20, p->reply, 20);
	w->end[1].read_ns = begun_ns + 100 * WIRE_S;
	wire_run(w, 101 * WIRE_S);
	check_all_there(w);
	assert_in_range(w->now_ns - begun_ns, 100 * WIRE_S, 100 * WIRE_S + 10 * WIRE_MS);
	assert_in_range(w->end[0].hub.counts.pings_sent + w->end[1].hub.counts.pings_sent, 45, 51);
	assert_int_equal(w->end[0].hub.counts.resent, 0);
	wire_free(w);
}

/* ---- packets ---- */

static struct rx_header next_header(struct wire *w, int i, uint8_t *bytes, struct rbuf *data)
{
	struct rx_datagram d;
	struct rx_header h;
	struct rx_parts p;
	size_t len = 0;

	assert_true(rx_call_output(w->end[i].call, &d, w->now_ns));
	for (unsigned int k = 0; k < d.n; k++) {
		memcpy(bytes + len, d.iov[k].iov_base, d.iov[k].iov_len);
		len += d.iov[k].iov_len;
	}
	assert_int_equal(rx_parts_begin(&p, bytes, len), 0);
	assert_true(rx_parts_next(&p, &h, data));
	return h;
}

static void give_data(struct wire *w, uint32_t seq, uint8_t flags, uint32_t serial)
{
	const struct rx_header h = {
		.call = 1, .seq = seq, .serial = serial, .type = RX_DATA, .flags = flags
	};

	rx_call_packet(w->end[1].call, &h, rbuf_of("abcd", 4), w->now_ns);
}

static struct rx_ack next_ack(struct wire *w, uint8_t *bytes)
{
	struct rbuf data;
	struct rx_header h = next_header(w, 1, bytes, &data);
	struct rx_ack a;

	assert_int_equal(h.type, RX_ACK);
	assert_int_equal(h.seq, 0);
	assert_int_equal(rx_ack_parse(&a, data), 0);
	assert_int_equal(a.packet_max, RX_PACKET_LEN);
	assert_int_equal(a.window, RX_WINDOW);
	assert_int_equal(a.datagram_max, RX_JUMBO_USUAL);
	return a;
}

static struct wire *server_only(void)
{
	const struct wire_opts o = { 0 };
	struct wire *w = wire_new(&o);

	rx_call_begin(w->end[1].call, &w->end[1].conn, 0, 1, w->now_ns);
	return w;
}

static bool says_nothing(struct wire *w)
{
	struct rx_datagram d;

	return !rx_call_output(w->end[1].call, &d, w->now_ns);
}

static void answers_come_when_they_are_due(void **state)
{
	struct wire *w = server_only();
	uint8_t bytes[WIRE_DATAGRAM];
	struct rx_ack a;

	(void)state;
	give_data(w, 1, 0, 11); /* one: later */
	assert_true(says_nothing(w));
	give_data(w, 2, 0, 12); /* every second: now */
	a = next_ack(w, bytes);
	assert_int_equal(a.reason, RX_ACK_IDLE);
	assert_int_equal(a.serial, 12);
	assert_int_equal(a.first, 1);
	assert_int_equal(a.n, 2);
	assert_memory_equal(a.have, "\1\1", 2);
	give_data(w, 3, RX_REQUEST_ACK, 13);
	a = next_ack(w, bytes);
	assert_int_equal(a.reason, RX_ACK_REQUESTED);
	assert_int_equal(a.serial, 13);
	give_data(w, 5, 0, 15);
	a = next_ack(w, bytes);
	assert_int_equal(a.reason, RX_ACK_OUT_OF_ORDER);
	assert_int_equal(a.previous, 5);
	assert_memory_equal(a.have, "\1\1\1\0\1", 5);
	give_data(w, 2, 0, 16);
	a = next_ack(w, bytes);
	assert_int_equal(a.reason, RX_ACK_DUPLICATE);
	assert_int_equal(a.serial, 16);
	give_data(w, 33, 0, 17);
	a = next_ack(w, bytes);
	assert_int_equal(a.reason, RX_ACK_EXCEEDS_WINDOW);
	give_data(w, 4, 0, 18);
	assert_true(says_nothing(w));
	assert_true(rx_call_due_ns(w->end[1].call) == w->now_ns + 100 * WIRE_MS);
	w->now_ns += 100 * WIRE_MS;
	rx_call_time(w->end[1].call, w->now_ns);
	a = next_ack(w, bytes);
	assert_int_equal(a.reason, RX_ACK_DELAY);
	assert_int_equal(a.serial, 0);
	assert_true(says_nothing(w));
	wire_free(w);
}

/* What was read is confirmed for good: after three packets at once. */
static void reading_three_packets_is_confirmed(void **state)
{
	struct wire *w = server_only();
	uint8_t bytes[WIRE_DATAGRAM];
	struct rx_ack a;
	size_t len;

	(void)state;
	for (uint32_t i = 1; i <= 4; i++)
		give_data(w, i, 0, i);
	next_ack(w, bytes);
	for (int i = 0; i < 3; i++) {
		assert_true(says_nothing(w));
		assert_memory_equal(rx_call_peek(w->end[1].call, &len), "abcd", 4);
		assert_int_equal(len, 4);
		rx_call_skip(w->end[1].call, 1, w->now_ns);
		assert_memory_equal(rx_call_peek(w->end[1].call, &len), "bcd", 3);
		rx_call_skip(w->end[1].call, 3, w->now_ns);
	}
	a = next_ack(w, bytes);
	assert_int_equal(a.first, 4);
	assert_int_equal(a.n, 1);
	wire_free(w);
}

static void a_ping_is_answered_with_its_serial(void **state)
{
	uint8_t raw[64], bytes[WIRE_DATAGRAM];
	const struct rx_header h = {
		.call = 1, .serial = 77, .type = RX_ACK, .flags = RX_FROM_CLIENT | RX_REQUEST_ACK
	};
	const struct rx_ack ping = { .first = 1, .reason = RX_ACK_PING };
	struct wire *w = server_only();
	struct wbuf b = wbuf_of(raw, sizeof(raw));
	struct rx_ack a;

	(void)state;
	rx_ack_put(&b, &ping);
	rx_call_packet(w->end[1].call, &h, rbuf_of(raw, (size_t)(b.at - raw)), w->now_ns);
	a = next_ack(w, bytes);
	assert_int_equal(a.reason, RX_ACK_PING_RESPONSE);
	assert_int_equal(a.serial, 77);
	wire_free(w);
}

static void give_ack(struct wire *w, const struct rx_ack *a, uint32_t serial)
{
	const struct rx_header h = { .call = 1, .serial = serial, .type = RX_ACK };
	uint8_t raw[RX_ACK_LEN];
	struct wbuf b = wbuf_of(raw, sizeof(raw));

	rx_ack_put(&b, a);
	rx_call_packet(w->end[0].call, &h, rbuf_of(raw, (size_t)(b.at - raw)), w->now_ns);
}

/* The first packet alone and with a request for an answer; then the window opens. */
static void the_window_opens_with_answers(void **state)
{
	const struct wire_opts o = { .limits = { { RX_DATA_LEN, 32, 1 }, { RX_DATA_LEN, 32, 1 } } };
	struct patterns *p = *state;
	struct wire *w = wire_new(&o);
	uint8_t bytes[WIRE_DATAGRAM];
	struct rx_header h;
	struct rbuf data;
	uint32_t seq = 0;

	rx_call_begin(w->end[0].call, &w->end[0].conn, 0, 1, w->now_ns);
	rx_call_write(w->end[0].call, p->request, DATA_MAX);
	for (unsigned int window = 1; window <= 16; window *= 2) {
		for (unsigned int i = 0; i < window; i++) {
			h = next_header(w, 0, bytes, &data);
			assert_int_equal(h.type, RX_DATA);
			assert_int_equal(h.seq, ++seq);
			assert_int_equal(rbuf_left(&data), RX_DATA_LEN);
			assert_int_equal(!!(h.flags & RX_REQUEST_ACK), window <= 2);
			assert_memory_equal(data.at, p->request + (seq - 1) * RX_DATA_LEN,
					    RX_DATA_LEN);
		}
		assert_false(
		    rx_call_output(w->end[0].call, &(struct rx_datagram) { 0 }, w->now_ns));
		give_ack(w, &(struct rx_ack) { .first = seq + 1, .window = 32, .datagram_max = 1 },
			 seq);
		rx_call_write(w->end[0].call, p->request + 32 * RX_DATA_LEN, DATA_MAX / 2);
	}
	wire_free(w);
}

/* Acknowledgements of what was never sent, going back, wild limits, other channels' nonsense. */
static void wild_answers_change_nothing(void **state)
{
	const struct wire_opts o = { 0 };
	const uint8_t have[RX_ACK_MAX] = { [0 ... RX_ACK_MAX - 1] = 1 };
	static const uint32_t wild[] = { 0, 1, 2, 3, 34, 255, 0x7fffffff, 0x80000000, UINT32_MAX };
	struct patterns *p = *state;
	struct wire *w = wire_new(&o);
	unsigned short random[3] = { 5 };

	wire_begin(w, p->request, DATA_MAX, p->reply, 100);
	for (uint32_t i = 0; i < 20000; i++) {
		struct rx_ack a = { .first = wild[nrand48(random) % 9],
				    .reason = (uint8_t)nrand48(random),
				    .n = (uint8_t)nrand48(random),
				    .serial = (uint32_t)nrand48(random) % 50,
				    .have = have,
				    .window = wild[nrand48(random) % 9],
				    .packet_max = wild[nrand48(random) % 9],
				    .datagram_max = wild[nrand48(random) % 9] };

		if (a.first == 2 || a.first == 3) /* these were sent */
			a.first = 0;
		if (a.first == 1)
			a.n = 0;
		give_ack(w, &a, (uint32_t)nrand48(random));
		wire_output(w, 0);
		assert_int_equal(rx_call_state(w->end[0].call), RX_CALL_ACTIVE);
	}
	assert_true(w->end[0].hub.counts.data_sent < 10);
	wire_free(w);
}

static void an_abort_ends_both_sides(void **state)
{
	const struct wire_opts o = { .delay_ns = WIRE_MS };
	struct patterns *p = *state;

	for (int k = 0; k < 2; k++) {
		struct wire *w = wire_new(&o);

		wire_begin(w, p->request, DATA_MAX, p->reply, 20);
		while (w->end[1].got < 50000)
			assert_true(wire_step(w));
		rx_call_abort(w->end[k].call, -4711);
		wire_output(w, k);
		wire_run(w, WIRE_S);
		assert_int_equal(rx_call_error(w->end[0].call), -4711);
		assert_int_equal(rx_call_error(w->end[1].call), -4711);
		wire_free(w);
	}
}

/* An abort that was lost is said again to who goes on. */
static void a_lost_abort_is_repeated(void **state)
{
	const struct wire_opts o = { .delay_ns = WIRE_MS };
	struct patterns *p = *state;
	struct wire *w = wire_new(&o);

	wire_begin(w, p->request, DATA_MAX, p->reply, 20);
	while (w->end[1].got < 50000)
		assert_true(wire_step(w));
	w->end[1].dumb = true;
	rx_call_abort(w->end[1].call, RX_UNMARSHAL);
	wire_output(w, 1);
	w->end[1].dumb = false;
	wire_run(w, 5 * WIRE_S);
	assert_int_equal(rx_call_error(w->end[0].call), RX_UNMARSHAL);
	wire_free(w);
}

static void who_asks_for_a_name_is_refused(void **state)
{
	const struct wire_opts o = { .delay_ns = WIRE_MS };
	const struct rx_header h = { .call = 1, .type = RX_CHALLENGE };
	struct patterns *p = *state;
	struct wire *w = wire_new(&o);

	wire_begin(w, p->request, 20, p->reply, 20);
	rx_call_packet(w->end[0].call, &h, rbuf_of("", 0), w->now_ns);
	assert_int_equal(rx_call_error(w->end[0].call), RX_PROTOCOL_ERROR);
	assert_non_null(strstr(rx_call_why(w->end[0].call), "security"));
	wire_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_sent_again_on_a_good_wire),
		cmocka_unit_test(every_byte_arrives_over_a_bad_wire),
		cmocka_unit_test(long_transfers_recover_from_losses),
		cmocka_unit_test(windows_and_jumbograms_of_all_sizes_go),
		cmocka_unit_test(a_slow_reader_stops_the_sender),
		cmocka_unit_test(calls_of_one_channel_follow_each_other),
		cmocka_unit_test(the_first_loss_costs_3_6_seconds),
		cmocka_unit_test(a_known_round_trip_makes_losses_cheap),
		cmocka_unit_test(silence_ends_a_call_after_12_seconds),
		cmocka_unit_test(a_call_lives_as_long_as_its_server_answers),
		cmocka_unit_test(answers_come_when_they_are_due),
		cmocka_unit_test(reading_three_packets_is_confirmed),
		cmocka_unit_test(a_ping_is_answered_with_its_serial),
		cmocka_unit_test(the_window_opens_with_answers),
		cmocka_unit_test(wild_answers_change_nothing),
		cmocka_unit_test(a_dead_call_ends_its_peer_too),
		cmocka_unit_test(an_abort_ends_both_sides),
		cmocka_unit_test(a_lost_abort_is_repeated),
		cmocka_unit_test(who_asks_for_a_name_is_refused),
	};

	return cmocka_run_group_tests(tests, make_patterns, free_patterns);
}
