/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A DSI session against a scripted server: replies, flow control, time, beginning and end.
 * Also tests client/dsi/net.c.
 */
#include "unit/dsi_rig.h"

#define ANSWER_MS 2000

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
	assert_in_range(took_ns, 150 * MS, LATE);
}

/* It lives, and the request will never be answered. */
static void a_hung_request_meets_the_deadline_though_the_server_tickles(void **state)
{
	struct rig *g = *state;
	uint64_t start_ns;

	g->opts.timeout_ms = 300;
	g->peer->tickle_ms = 40;
	die_of(g, PEER_SILENT, 0);
	reap(g);
	start_ns = clock_now_ns();
	expect_death(g, -ETIMEDOUT, "no answer");
	assert_in_range(clock_now_ns() - start_ns, 250 * MS, LATE);
	assert_non_null(strstr(g->e.text, "tickles"));
}

/* Younger ones are answered, one every 40 ms: that is no answer to the oldest. */
static void a_request_that_others_overtake_meets_the_deadline(void **state)
{
	struct rig *g = *state;
	struct dsi_request *r;
	unsigned int n = 0;
	uint64_t start_ns;
	int rc;

	g->opts.timeout_ms = 300;
	g->peer->mute_id = 2;
	g->peer->delay_ms = 40;
	open_session(g);
	start_ns = clock_now_ns();
	for (unsigned int i = 0; i < 3; i++)
		submit(g, prep_give(g, i, 4, 4));
	while (!(rc = dsi_reap(g->d, &r, &g->e)) && ++n < 40)
		rc = dsi_submit(g->d, prep_give(g, (size_t)(r - g->req), 4, 4), &g->e);
	assert_int_equal(rc, -ETIMEDOUT);
	assert_in_range(clock_now_ns() - start_ns, 250 * MS, LATE);
	assert_true(n > 2);
	assert_non_null(strstr(g->e.text, "younger ones"));
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

	g->peer->delay_ms = ANSWER_MS;
	open_session(g);
	submit(g, prep_give(g, 0, 40000, 40000));
	submit(g, prep_take(g, 1, 100000));
	start_ns = clock_now_ns();
	g->stop = 1;
	assert_int_equal(dsi_reap(g->d, &r, &g->e), -EINTR);
	assert_true(clock_now_ns() - start_ns < ANSWER_MS * MS);
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
	assert_in_range(r->t.first_ns - r->t.sent_ns, 140 * MS, LATE);
	assert_in_range(r->t.last_ns - r->t.first_ns, 5 * MS, LATE);
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
	assert_true(clock_now_ns() - start_ns < 2000 * MS); /* else it gives up */
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
	assert_non_null(strstr(g->e.text, g->peer->serve.port));
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
		TEST(replies_are_matched_by_id_in_any_order),
		TEST(order_does_not_matter_over_many_windows),
		TEST(a_reply_cut_at_any_byte_is_whole_again),
		TEST(replies_may_come_byte_by_byte),
		TEST(replies_may_come_in_pieces_of_any_size),
		TEST(an_error_may_answer_a_bulk_request),
		TEST(a_reply_may_be_a_bare_header),
		TEST(large_writes_against_a_server_that_only_sends_do_not_deadlock),
		TEST(a_server_that_stops_reading_gets_everything_in_the_end),
		TEST(a_full_window_is_eagain_and_room_comes_with_a_reap),
		TEST(with_nothing_in_flight_there_is_nothing_to_reap),
		TEST(ids_may_wrap),
		TEST(a_silent_server_meets_the_deadline),
		TEST(a_hung_request_meets_the_deadline_though_the_server_tickles),
		TEST(a_request_that_others_overtake_meets_the_deadline),
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
