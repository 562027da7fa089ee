/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions against the fake server: order, cuts, deadlines, and everything a server can do wrong.
 */
#include "base/clock.h"
#include "dsi/dsi.h"
#include "fake/peer.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h> /* needs the headers above */

#define MIB        (1u << 20)
#define N_REQUESTS 256
#define MS         1000000ull

struct rig {
	struct peer *peer;
	struct dsi *d;
	struct dsi_opts opts;
	struct err e;
	volatile sig_atomic_t stop;
	struct dsi_request req[N_REQUESTS];
	uint8_t *buf[N_REQUESTS]; /* replies, malloc'd */
	uint8_t *data;            /* what PEER_TAKE is given: 4 MiB, seed 1 */
};

static int setup(void **state)
{
	struct rig *g = calloc(1, sizeof(*g));

	g->peer = peer_new();
	g->opts = (struct dsi_opts) { "127.0.0.1", g->peer->port, 200, 10000, &g->stop };
	*state = g;
	return 0;
}

static void disconnect(struct rig *g)
{
	dsi_close(g->d);
	g->d = NULL;
	peer_stop(g->peer);
}

static int teardown(void **state)
{
	struct rig *g = *state;

	disconnect(g);
	assert_string_equal(g->peer->complaint, "");
	peer_free(g->peer);
	for (size_t i = 0; i < N_REQUESTS; i++)
		free(g->buf[i]);
	free(g->data);
	free(g);
	return 0;
}

/* A new server for the next round of a test; knobs are at their defaults again. */
static void renew(struct rig *g)
{
	disconnect(g);
	peer_free(g->peer);
	g->peer = peer_new();
	g->opts.port = g->peer->port;
	g->stop = 0;
	memset(&g->e, 0, sizeof(g->e));
}

static void connect_only(struct rig *g)
{
	peer_start(g->peer);
	assert_int_equal(dsi_connect(&g->d, &g->opts, &g->e), 0);
}

static void open_session(struct rig *g)
{
	connect_only(g);
	assert_int_equal(dsi_open(g->d, &g->e), 0);
	assert_int_equal(dsi_quantum(g->d), g->peer->quantum);
}

static void put_command(struct dsi_request *r, uint8_t code, uint8_t seed, uint32_t n)
{
	struct wbuf b = wbuf_of(r->wire + DSI_HEADER_LEN, DSI_COMMAND_MAX);

	wbuf_u8(&b, code);
	wbuf_u8(&b, seed);
	wbuf_u32(&b, n);
	r->len = PEER_GIVE_LEN;
}

/* Request i asks for n bytes, of which room fit. */
static struct dsi_request *prep_give(struct rig *g, size_t i, uint32_t n, size_t room)
{
	struct dsi_request *r = &g->req[i];

	g->buf[i] = realloc(g->buf[i], room ? room : 1);
	*r = (struct dsi_request) { .command = DSI_COMMAND, .reply = g->buf[i], .reply_cap = room };
	put_command(r, PEER_GIVE, (uint8_t)i, n);
	return r;
}

static struct dsi_request *prep_take(struct rig *g, size_t i, uint32_t n)
{
	struct dsi_request *r = &g->req[i];

	if (!g->data) {
		g->data = malloc(4 * MIB);
		for (size_t k = 0; k < 4 * MIB; k++)
			g->data[k] = peer_byte(1, k);
	}
	g->buf[i] = realloc(g->buf[i], 8);
	*r = (struct dsi_request) { .command = DSI_WRITE,
				    .data = g->data,
				    .data_len = n,
				    .reply = g->buf[i],
				    .reply_cap = 8 };
	put_command(r, PEER_TAKE, 1, n);
	return r;
}

static void submit(struct rig *g, struct dsi_request *r)
{
	assert_int_equal(dsi_submit(g->d, r, &g->e), 0);
}

/* Is it the answer to this very request? */
static void check(struct rig *g, const struct dsi_request *r)
{
	size_t i = (size_t)(r - g->req), wrong = 0;
	struct rbuf asked = rbuf_of(r->wire + DSI_HEADER_LEN, r->len);
	uint8_t code = rbuf_u8(&asked), seed = rbuf_u8(&asked);
	uint32_t n = rbuf_u32(&asked);
	struct rbuf b = rbuf_of(g->buf[i], 8);

	assert_true(i < N_REQUESTS);
	assert_int_equal(r->result, 0);
	if (code == PEER_TAKE) {
		assert_int_equal(r->reply_len, 8);
		assert_int_equal(rbuf_u32(&b), n);
		assert_int_equal(rbuf_u32(&b), 0);
		return;
	}
	assert_int_equal(r->reply_len, n);
	for (size_t k = 0; k < n; k++)
		wrong += g->buf[i][k] != peer_byte(seed, k);
	assert_int_equal(wrong, 0);
}

static struct dsi_request *reap(struct rig *g)
{
	struct dsi_request *r;
	int rc = dsi_reap(g->d, &r, &g->e);

	if (rc)
		print_error("%s\n", g->e.text);
	assert_int_equal(rc, 0);
	check(g, r);
	return r;
}

static void reap_all(struct rig *g)
{
	while (dsi_lent(g->d))
		reap(g);
}

/* Small and bulk replies and writes, in windows of several. */
static void mixed_traffic(struct rig *g, unsigned int rounds, uint32_t bulk)
{
	for (unsigned int k = 0; k < rounds; k++) {
		submit(g, prep_give(g, 0, k % 41, 64));
		submit(g, prep_give(g, 1, bulk, bulk));
		submit(g, prep_take(g, 2, 1 + k));
		submit(g, prep_give(g, 3, 8, 512));
		submit(g, prep_give(g, 4, bulk / 2, bulk));
		reap_all(g);
	}
}

/* ---- frames ---- */

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

/* ---- replies ---- */

static void replies_are_matched_by_id_in_any_order(void **state)
{
	struct rig *g = *state;
	unsigned int late = 0, seen[64] = { 0 };
	uint16_t last = 0;

	g->peer->hold = 64;
	g->peer->shuffle = true;
	open_session(g);
	for (unsigned int i = 0; i < 64; i++)
		submit(g, i % 3 ? prep_give(g, i, i * 5, 512) : prep_give(g, i, 20000 + i, 30000));
	for (unsigned int i = 0; i < 64; i++) {
		const struct dsi_request *r = reap(g);

		seen[r - g->req]++;
		late += i && r->id < last;
		last = r->id;
	}
	for (unsigned int i = 0; i < 64; i++)
		assert_int_equal(seen[i], 1);
	assert_true(late > 0);
	assert_int_equal(dsi_lent(g->d), 0);
}

static void order_does_not_matter_over_many_windows(void **state)
{
	struct rig *g = *state;

	g->peer->hold = 5;
	g->peer->shuffle = true;
	open_session(g);
	mixed_traffic(g, 200, 20000);
}

static void a_reply_cut_at_any_byte_is_whole_again(void **state)
{
	struct rig *g = *state;

	g->peer->split_walk = true;
	g->peer->piece_us = 300;
	open_session(g);
	mixed_traffic(g, 60, 20000);
}

static void replies_may_come_byte_by_byte(void **state)
{
	struct rig *g = *state;

	g->peer->piece = 1;
	open_session(g);
	mixed_traffic(g, 5, 17000);
}

static void replies_may_come_in_pieces_of_any_size(void **state)
{
	struct rig *g = *state;

	for (size_t piece = 2; piece < 40; piece++) {
		renew(g);
		g->peer->piece = piece;
		open_session(g);
		mixed_traffic(g, 1, 16500);
	}
}

static void an_error_may_answer_a_bulk_request(void **state)
{
	struct rig *g = *state;
	struct dsi_request *r;

	g->peer->fault.reply = 3;
	g->peer->fault.kind = PEER_SHORT;
	open_session(g);
	submit(g, prep_give(g, 0, 100, 100000));
	reap(g);
	submit(g, prep_give(g, 1, 90000, 100000));
	submit(g, prep_give(g, 2, 10, 10));
	assert_int_equal(dsi_reap(g->d, &r, &g->e), 0);
	assert_ptr_equal(r, &g->req[1]);
	assert_int_equal(r->result, -5009);
	assert_int_equal(r->reply_len, 45000);
	reap(g);
}

static bool leave_empty(void *user, struct peer *p, const struct peer_request *q,
			struct peer_reply *out)
{
	(void)user;
	(void)p;
	(void)q;
	peer_reply_set(out, -5008, NULL, 0);
	return true;
}

static void a_reply_may_be_a_bare_header(void **state)
{
	struct rig *g = *state;
	struct dsi_request *r;

	g->peer->answer = leave_empty;
	g->peer->unasked = PEER_TICKLE;
	open_session(g);
	for (unsigned int i = 0; i < 8; i++)
		submit(g, i % 2 ? prep_take(g, i, 30000) : prep_give(g, i, 20000, 20000));
	for (unsigned int i = 0; i < 8; i++) {
		assert_int_equal(dsi_reap(g->d, &r, &g->e), 0);
		assert_int_equal(r->result, -5008);
		assert_int_equal(r->reply_len, 0);
	}
}

/* ---- what the server says unasked ---- */

static void tickle_and_attention_are_accepted_at_any_boundary(void **state)
{
	struct rig *g = *state;

	g->peer->unasked = PEER_TICKLE | PEER_ATTENTION;
	g->peer->attention = 0x2001;
	open_session(g);
	mixed_traffic(g, 50, 20000);
	assert_int_equal(dsi_attention(g->d), 0x2001);
}

static void tickle_and_attention_may_come_in_pieces(void **state)
{
	struct rig *g = *state;

	for (size_t piece = 1; piece < 36; piece += 3) {
		renew(g);
		g->peer->unasked = PEER_TICKLE | PEER_ATTENTION;
		g->peer->attention = 0x1000;
		g->peer->piece = piece;
		open_session(g);
		mixed_traffic(g, 1, 16500);
		assert_int_equal(dsi_attention(g->d), 0x1000);
	}
}

static void without_attention_there_is_none(void **state)
{
	struct rig *g = *state;

	g->peer->unasked = PEER_TICKLE;
	open_session(g);
	mixed_traffic(g, 1, 100);
	assert_int_equal(dsi_attention(g->d), 0);
}

static void expect_death(struct rig *g, int code, const char *text)
{
	struct dsi_request *r;
	int rc;

	do {
		rc = dsi_reap(g->d, &r, &g->e);
	} while (!rc);
	assert_int_equal(rc, code);
	assert_int_equal(g->e.code, code);
	if (!strstr(g->e.text, text))
		fail_msg("\"%s\" does not say \"%s\"", g->e.text, text);
	assert_non_null(strstr(g->e.text, "127.0.0.1 port "));
	/* and dead it stays, for the same reason */
	memset(&g->e, 0, sizeof(g->e));
	assert_int_equal(dsi_submit(g->d, prep_give(g, 99, 1, 1), &g->e), code);
	assert_non_null(strstr(g->e.text, text));
}

/* The fault at the third reply: opening is the first. */
static void die_of(struct rig *g, enum peer_fault kind, size_t byte)
{
	g->peer->fault.reply = 3;
	g->peer->fault.kind = kind;
	g->peer->fault.byte = byte;
	g->peer->hold = 3;
	open_session(g);
	submit(g, prep_give(g, 0, 8, 512));
	submit(g, prep_give(g, 1, 20, 512));
	submit(g, prep_give(g, 2, 8, 512));
}

static void a_close_frame_ends_the_session_with_a_text(void **state)
{
	struct rig *g = *state;

	die_of(g, PEER_CLOSE_FRAME, 0);
	expect_death(g, -ECONNRESET, "the server closed the session");
	assert_null(strstr(g->e.text, "shutting down"));
}

static void a_close_after_a_shutdown_notice_says_so(void **state)
{
	struct rig *g = *state;

	g->peer->unasked = PEER_ATTENTION;
	g->peer->attention = 0x8000;
	die_of(g, PEER_CLOSE_FRAME, 0);
	expect_death(g, -ECONNRESET, "shutting down");
}

static void a_close_frame_is_accepted_before_a_bulk_reply(void **state)
{
	struct rig *g = *state;

	g->peer->fault.reply = 2;
	g->peer->fault.kind = PEER_CLOSE_FRAME;
	open_session(g);
	submit(g, prep_give(g, 0, 50000, 50000));
	expect_death(g, -ECONNRESET, "the server closed the session");
}

static void the_reason_of_a_close_is_told_even_when_sending_fails_first(void **state)
{
	const struct timespec pause = { .tv_nsec = 50 * MS };
	struct rig *g = *state;
	int r = 0;

	g->peer->unasked = PEER_ATTENTION;
	g->peer->attention = 0x8000;
	g->peer->fault.reply = 2;
	g->peer->fault.kind = PEER_CLOSE_FRAME;
	open_session(g);
	for (unsigned int i = 0; !r && i < 10; i++) {
		r = dsi_submit(g->d, prep_give(g, i, 8, 512), &g->e);
		nanosleep(&pause, NULL);
	}
	assert_int_equal(r, -ECONNRESET);
	assert_non_null(strstr(g->e.text, "shutting down"));
}

static void the_end_of_the_connection_at_any_byte_is_told(void **state)
{
	struct rig *g = *state;

	for (size_t byte = 0; byte < 36; byte++) {
		renew(g);
		die_of(g, PEER_HANG_UP, byte);
		expect_death(g, -ECONNRESET, "the server ended the connection");
	}
}

static void a_reset_is_told(void **state)
{
	struct rig *g = *state;

	die_of(g, PEER_RESET, 7);
	expect_death(g, -ECONNRESET, "connection");
}

static void a_reply_to_an_unknown_id_is_a_protocol_error(void **state)
{
	struct rig *g = *state;

	die_of(g, PEER_WRONG_ID, 0);
	expect_death(g, -EPROTO, "which was never sent");
}

static void a_reply_with_another_command_is_a_protocol_error(void **state)
{
	struct rig *g = *state;

	die_of(g, PEER_WRONG_COMMAND, 0);
	expect_death(g, -EPROTO, "which was never sent");
}

static void a_second_reply_to_one_request_is_a_protocol_error(void **state)
{
	struct rig *g = *state;

	die_of(g, PEER_TWICE, 0);
	expect_death(g, -EPROTO, "which was never sent");
}

static void bytes_that_are_no_frame_are_a_protocol_error(void **state)
{
	struct rig *g = *state;

	die_of(g, PEER_GARBAGE, 0);
	expect_death(g, -EPROTO, "is this an AFP server?");
}

static void a_huge_length_is_a_protocol_error(void **state)
{
	struct rig *g = *state;

	die_of(g, PEER_HUGE_LEN, 0);
	expect_death(g, -EPROTO, "reply of 4294967295 bytes where at most 512 fit");
}

static void a_reply_one_byte_too_long_is_a_protocol_error(void **state)
{
	struct rig *g = *state;

	for (uint32_t room = 0; room < 3; room++) {
		renew(g);
		open_session(g);
		submit(g, prep_give(g, 0, room, room));
		reap(g);
		submit(g, prep_give(g, 0, room + 1, room));
		expect_death(g, -EPROTO, "bytes where at most");
	}
}

static void a_reply_before_the_request_was_sent_is_a_protocol_error(void **state)
{
	struct rig *g = *state;
	struct dsi_request *r;

	g->peer->early = true;
	g->peer->deaf_ms = 100;
	g->peer->deaf_at = 3;
	g->peer->quantum = 128 * MIB;
	open_session(g);
	r = prep_take(g, 0, 1);
	r->data_len = 64 * MIB;
	r->data = calloc(1, r->data_len);
	submit(g, r);
	expect_death(g, -EPROTO, "before all of it was sent");
	free((void *)(uintptr_t)r->data);
}

/* ---- flow control ---- */

static void large_writes_against_a_server_that_only_sends_do_not_deadlock(void **state)
{
	uint8_t *all = malloc(MIB); /* every reply into one buffer: it is about the flow */
	struct rig *g = *state;
	struct dsi_request *r;

	g->peer->quantum = 2 * MIB;
	g->peer->hold = 100;
	open_session(g);
	for (unsigned int i = 0; i < 100; i++) {
		r = prep_give(g, i, MIB, 0);
		r->reply = all;
		r->reply_cap = MIB;
		submit(g, r);
	}
	for (unsigned int i = 100; i < 200; i++)
		submit(g, prep_take(g, i, MIB));
	for (unsigned int i = 0; i < 200; i++) {
		assert_int_equal(dsi_reap(g->d, &r, &g->e), 0);
		assert_int_equal(r->result, 0);
		if (r >= &g->req[100])
			check(g, r);
		else
			assert_int_equal(r->reply_len, MIB);
	}
	free(all);
}

static void a_server_that_stops_reading_gets_everything_in_the_end(void **state)
{
	struct rig *g = *state;

	g->peer->quantum = 2 * MIB;
	g->peer->deaf_at = 5;
	g->peer->deaf_ms = 300;
	open_session(g);
	for (unsigned int i = 0; i < 40; i++)
		submit(g, prep_take(g, i, MIB));
	reap_all(g);
	assert_int_equal(g->peer->count[PEER_TAKE], 40);
}

static void a_full_window_is_eagain_and_room_comes_with_a_reap(void **state)
{
	struct rig *g = *state;

	for (unsigned int window = 1; window < 6; window++) {
		renew(g);
		g->opts.window = window;
		open_session(g);
		for (unsigned int k = 0; k < 10; k++) {
			for (unsigned int i = 0; i < window; i++)
				submit(g, prep_give(g, i, 4, 4));
			assert_int_equal(dsi_lent(g->d), window);
			assert_int_equal(dsi_submit(g->d, prep_give(g, 100, 4, 4), &g->e), -EAGAIN);
			submit(g, prep_give(g, (size_t)(reap(g) - g->req), 4, 4));
			reap_all(g);
			assert_int_equal(dsi_lent(g->d), 0);
		}
	}
	g->opts.window = 200;
}

static void with_nothing_in_flight_there_is_nothing_to_reap(void **state)
{
	struct rig *g = *state;
	struct dsi_request *r;

	open_session(g);
	assert_int_equal(dsi_reap(g->d, &r, &g->e), -ENOENT);
	submit(g, prep_give(g, 0, 4, 4));
	reap(g);
	assert_int_equal(dsi_reap(g->d, &r, &g->e), -ENOENT);
}

static void ids_may_wrap(void **state)
{
	struct rig *g = *state;
	struct dsi_request *r;
	unsigned int sent = 0, done = 0;
	uint16_t last = 0;
	bool wrapped = false;

	open_session(g);
	for (; sent < 64; sent++)
		submit(g, prep_give(g, sent, sent % 16, 64));
	for (; done < 70000; done++) {
		r = reap(g);
		wrapped |= r->id < last;
		last = r->id;
		if (sent++ < 70000)
			submit(g, prep_give(g, (size_t)(r - g->req), sent % 16, 64));
	}
	assert_true(wrapped);
	assert_int_equal(dsi_lent(g->d), 0);
	assert_int_equal(g->peer->count[PEER_GIVE], 70000);
}

/* ---- time ---- */

static void a_silent_server_meets_the_deadline(void **state)
{
	struct rig *g = *state;
	uint64_t start_ns, took_ns;

	g->opts.timeout_ms = 200;
	die_of(g, PEER_SILENT, 0);
	reap(g);
	start_ns = clock_now_ns();
	expect_death(g, -ETIMEDOUT, "no answer");
	took_ns = clock_now_ns() - start_ns;
	assert_non_null(strstr(g->e.text, "--timeout"));
	assert_in_range(took_ns, 150 * MS, 1500 * MS);
}

static void a_server_that_stops_reading_meets_the_deadline(void **state)
{
	struct rig *g = *state;

	g->opts.timeout_ms = 200;
	g->peer->quantum = 2 * MIB;
	g->peer->deaf_at = 2;
	g->peer->deaf_ms = 700;
	open_session(g);
	for (unsigned int i = 0; i < 40; i++)
		submit(g, prep_take(g, i, MIB));
	expect_death(g, -ETIMEDOUT, "no answer");
}

static void a_slow_server_that_makes_progress_does_not(void **state)
{
	struct rig *g = *state;

	g->opts.timeout_ms = 500;
	g->peer->delay_ms = 110;
	open_session(g);
	for (unsigned int i = 0; i < 6; i++)
		submit(g, prep_give(g, i, 4, 4));
	reap_all(g);
}

static void idle_time_is_not_held_against_the_server(void **state)
{
	const struct timespec pause = { .tv_nsec = 450 * MS };
	struct rig *g = *state;

	g->opts.timeout_ms = 350;
	g->peer->delay_ms = 30;
	open_session(g);
	nanosleep(&pause, NULL);
	submit(g, prep_give(g, 0, 4, 4));
	reap_all(g);
}

static void a_stop_ends_a_wait_and_the_rest_can_be_drained(void **state)
{
	struct rig *g = *state;
	struct dsi_request *r;
	uint64_t start_ns;

	g->peer->delay_ms = 600;
	open_session(g);
	submit(g, prep_give(g, 0, 40000, 40000));
	submit(g, prep_take(g, 1, 100000));
	start_ns = clock_now_ns();
	g->stop = 1;
	assert_int_equal(dsi_reap(g->d, &r, &g->e), -EINTR);
	assert_true(clock_now_ns() - start_ns < 1000 * MS);
	assert_int_equal(dsi_submit(g->d, prep_give(g, 2, 4, 4), &g->e), -EINTR);
	assert_int_equal(dsi_lent(g->d), 2);
	dsi_ignore_stop(g->d);
	reap_all(g);
	g->peer->delay_ms = 0;
	submit(g, prep_give(g, 2, 4, 4));
	reap_all(g);
	disconnect(g);
	assert_int_equal(g->peer->n_closes, 1);
}

static void a_stop_in_the_middle_of_a_write_loses_no_byte(void **state)
{
	struct rig *g = *state;
	struct dsi_request *r;
	int rc;

	g->peer->quantum = 4 * MIB;
	g->peer->deaf_at = 2;
	g->peer->deaf_ms = 500;
	open_session(g);
	for (unsigned int i = 0; i < 20; i++)
		submit(g, prep_take(g, i, 3 * MIB));
	g->stop = 1;
	rc = dsi_reap(g->d, &r, &g->e);
	assert_int_equal(rc, -EINTR);
	dsi_ignore_stop(g->d);
	reap_all(g);
	assert_int_equal(g->peer->count[PEER_TAKE], 20);
}

static void a_stop_does_not_lift_the_deadline(void **state)
{
	struct rig *g = *state;
	struct dsi_request *r;
	int rc;

	g->opts.timeout_ms = 200;
	die_of(g, PEER_SILENT, 0);
	reap(g);
	g->stop = 1;
	do {
		rc = dsi_reap(g->d, &r, &g->e);
	} while (rc == -EINTR);
	assert_int_equal(rc, -ETIMEDOUT);
}

static void stamps_are_in_order(void **state)
{
	struct rig *g = *state;
	struct dsi_request *r;
	const struct dsi_times *t;
	uint64_t before_ns, after_ns;

	g->peer->quantum = 2 * MIB;
	g->peer->hold = 7;
	g->peer->shuffle = true;
	open_session(g);
	for (unsigned int k = 0; k < 10; k++) {
		before_ns = clock_now_ns();
		for (unsigned int i = 0; i < 7; i++)
			submit(g, i % 2 ? prep_take(g, i, MIB) : prep_give(g, i, i * 10000, MIB));
		while (dsi_lent(g->d)) {
			r = reap(g);
			after_ns = clock_now_ns();
			t = &r->t;
			assert_true(before_ns <= t->queued_ns);
			assert_true(t->queued_ns <= t->begun_ns);
			assert_true(t->begun_ns <= t->sent_ns);
			assert_true(t->sent_ns <= t->first_ns);
			assert_true(t->first_ns <= t->last_ns);
			assert_true(t->last_ns <= after_ns);
		}
	}
}

static void the_wait_for_a_reply_is_between_sent_and_first(void **state)
{
	struct rig *g = *state;
	const struct dsi_request *r;

	g->peer->delay_ms = 150;
	g->peer->piece = 20;
	g->peer->piece_us = 60000;
	open_session(g);
	submit(g, prep_give(g, 0, 10, 10));
	r = reap(g);
	assert_true(r->t.sent_ns - r->t.begun_ns < 140 * MS);
	assert_in_range(r->t.first_ns - r->t.sent_ns, 140 * MS, 3000 * MS);
	assert_in_range(r->t.last_ns - r->t.first_ns, 5 * MS, 3000 * MS);
}

/* ---- opening and closing ---- */

static void a_busy_server_is_told_at_open(void **state)
{
	struct rig *g = *state;

	g->peer->busy = true;
	connect_only(g);
	assert_int_equal(dsi_open(g->d, &g->e), -EBUSY);
	assert_non_null(strstr(g->e.text, "busy"));
	assert_non_null(strstr(g->e.text, "-1071"));
}

static void a_busy_server_is_told_at_status(void **state)
{
	struct rig *g = *state;
	uint8_t block[1024];
	size_t len = sizeof(block);

	g->peer->busy = true;
	connect_only(g);
	assert_int_equal(dsi_status(g->d, block, &len, &g->e), -EBUSY);
	assert_non_null(strstr(g->e.text, "busy"));
}

static void status_is_handed_out_as_it_came(void **state)
{
	struct rig *g = *state;
	uint8_t block[64];
	size_t len = sizeof(block);

	g->peer->status = "any bytes";
	g->peer->status_len = 9;
	connect_only(g);
	assert_int_equal(dsi_status(g->d, block, &len, &g->e), 0);
	assert_int_equal(len, 9);
	assert_memory_equal(block, "any bytes", 9);
}

static void a_quantum_of_nothing_is_a_protocol_error(void **state)
{
	struct rig *g = *state;

	g->peer->quantum = 31;
	connect_only(g);
	assert_int_equal(dsi_open(g->d, &g->e), -EPROTO);
	assert_non_null(strstr(g->e.text, "31 bytes"));
}

static void closing_says_goodbye_and_waits_for_the_server(void **state)
{
	struct rig *g = *state;
	uint64_t start_ns;

	open_session(g);
	start_ns = clock_now_ns();
	dsi_close(g->d);
	g->d = NULL;
	assert_true(clock_now_ns() - start_ns < 1000 * MS);
	peer_stop(g->peer);
	assert_int_equal(g->peer->n_closes, 1);
	dsi_close(NULL);
}

static void a_port_without_a_server_is_refused_with_a_hint(void **state)
{
	struct rig *g = *state;

	peer_start(g->peer);
	peer_stop(g->peer);
	assert_int_equal(dsi_connect(&g->d, &g->opts, &g->e), -ECONNREFUSED);
	assert_non_null(strstr(g->e.text, "is the server running"));
	assert_non_null(strstr(g->e.text, g->peer->port));
	g->d = NULL;
}

static void both_ends_of_the_connection_are_known(void **state)
{
	struct rig *g = *state;
	struct sockaddr_storage local, remote;

	open_session(g);
	dsi_ends(g->d, &local, &remote);
	assert_int_equal(local.ss_family, AF_INET);
	assert_int_equal(remote.ss_family, AF_INET);
	assert_memory_not_equal(&local, &remote, sizeof(local));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_header_is_sixteen_bytes_in_network_order),
		cmocka_unit_test(only_flags_0_and_1_and_commands_1_to_8_are_dsi),
		cmocka_unit_test(results_are_negative_in_16_and_in_32_bits),
		TEST(replies_are_matched_by_id_in_any_order),
		TEST(order_does_not_matter_over_many_windows),
		TEST(a_reply_cut_at_any_byte_is_whole_again),
		TEST(replies_may_come_byte_by_byte),
		TEST(replies_may_come_in_pieces_of_any_size),
		TEST(an_error_may_answer_a_bulk_request),
		TEST(a_reply_may_be_a_bare_header),
		TEST(tickle_and_attention_are_accepted_at_any_boundary),
		TEST(tickle_and_attention_may_come_in_pieces),
		TEST(without_attention_there_is_none),
		TEST(a_close_frame_ends_the_session_with_a_text),
		TEST(a_close_after_a_shutdown_notice_says_so),
		TEST(a_close_frame_is_accepted_before_a_bulk_reply),
		TEST(the_reason_of_a_close_is_told_even_when_sending_fails_first),
		TEST(the_end_of_the_connection_at_any_byte_is_told),
		TEST(a_reset_is_told),
		TEST(a_reply_to_an_unknown_id_is_a_protocol_error),
		TEST(a_reply_with_another_command_is_a_protocol_error),
		TEST(a_second_reply_to_one_request_is_a_protocol_error),
		TEST(bytes_that_are_no_frame_are_a_protocol_error),
		TEST(a_huge_length_is_a_protocol_error),
		TEST(a_reply_one_byte_too_long_is_a_protocol_error),
		TEST(a_reply_before_the_request_was_sent_is_a_protocol_error),
		TEST(large_writes_against_a_server_that_only_sends_do_not_deadlock),
		TEST(a_server_that_stops_reading_gets_everything_in_the_end),
		TEST(a_full_window_is_eagain_and_room_comes_with_a_reap),
		TEST(with_nothing_in_flight_there_is_nothing_to_reap),
		TEST(ids_may_wrap),
		TEST(a_silent_server_meets_the_deadline),
		TEST(a_server_that_stops_reading_meets_the_deadline),
		TEST(a_slow_server_that_makes_progress_does_not),
		TEST(idle_time_is_not_held_against_the_server),
		TEST(a_stop_ends_a_wait_and_the_rest_can_be_drained),
		TEST(a_stop_in_the_middle_of_a_write_loses_no_byte),
		TEST(a_stop_does_not_lift_the_deadline),
		TEST(stamps_are_in_order),
		TEST(the_wait_for_a_reply_is_between_sent_and_first),
		TEST(a_busy_server_is_told_at_open),
		TEST(a_busy_server_is_told_at_status),
		TEST(status_is_handed_out_as_it_came),
		TEST(a_quantum_of_nothing_is_a_protocol_error),
		TEST(closing_says_goodbye_and_waits_for_the_server),
		TEST(a_port_without_a_server_is_refused_with_a_hint),
		TEST(both_ends_of_the_connection_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
