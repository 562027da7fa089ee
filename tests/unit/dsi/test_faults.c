/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A DSI session and a server that says what nobody asked for, or something wrong.
 * Tests client/dsi/dsi.c, receive.c.
 */
#include "unit/dsi_rig.h"

#include "dsi/conn.h" /* for what was received unasked */

/* ---- what the server says unasked ---- */

static void tickle_and_attention_are_accepted_at_any_boundary(void **state)
{
	struct rig *g = *state;

	g->peer->unasked = PEER_TICKLE | PEER_ATTENTION;
	g->peer->attention = 0x2001;
	open_session(g);
	mixed_traffic(g, 50, 20000);
	assert_int_equal(g->d->attention, 0x2001);
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
		assert_int_equal(g->d->attention, 0x1000);
	}
}

static void without_attention_there_is_none(void **state)
{
	struct rig *g = *state;

	g->peer->unasked = PEER_TICKLE;
	open_session(g);
	mixed_traffic(g, 1, 100);
	assert_int_equal(g->d->attention, 0);
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

static void a_session_given_up_is_closed_all_the_same(void **state)
{
	struct rig *g = *state;

	die_of(g, PEER_WRONG_COMMAND, 0);
	expect_death(g, -EPROTO, "which was never sent");
	dsi_close(g->d);
	g->d = NULL;
	peer_stop(g->peer);
	assert_int_equal(g->peer->n_closes, 1);
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

/* More are answered meanwhile than there are places for requests. */
static void a_slow_request_holds_no_younger_ones(void **state)
{
	struct rig *g = *state;
	struct dsi_request *back;

	g->opts.window = 4;
	g->peer->mute_id = 1;
	open_session(g);
	submit(g, prep_give(g, 0, 100, 100));
	for (size_t i = 1; i < 60; i++) {
		submit(g, prep_give(g, i, 100, 100));
		assert_int_equal(dsi_reap(g->d, &back, &g->e), 0);
		assert_ptr_equal(back, &g->req[i]);
		check(g, back);
	}
	assert_int_equal(dsi_lent(g->d), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
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
		TEST(a_session_given_up_is_closed_all_the_same),
		TEST(a_second_reply_to_one_request_is_a_protocol_error),
		TEST(bytes_that_are_no_frame_are_a_protocol_error),
		TEST(a_huge_length_is_a_protocol_error),
		TEST(a_reply_one_byte_too_long_is_a_protocol_error),
		TEST(a_reply_before_the_request_was_sent_is_a_protocol_error),
		TEST(a_slow_request_holds_no_younger_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
