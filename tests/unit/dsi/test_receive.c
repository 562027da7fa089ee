/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A DSI session and bulk data: received where they belong, in few calls, and still in time. */
#include "unit/dsi_rig.h"

#include "dsi/conn.h" /* for the socket, which the kernel is asked about */
#include "run/run.h"
#include "unit/wait.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* The last bytes of a reply may come to the buffer all the same. */
#define TAIL 16384

/* ---- into place ---- */

/* Bytes that have come and that nobody has read. */
static int n_waiting(const struct rig *g)
{
	int n = 0;

	assert_int_equal(ioctl(g->d->fd, FIONREAD, &n), 0);
	return n;
}

static void a_bulk_reply_that_is_there_takes_one_call(void **state)
{
	struct rig *g = *state;
	const struct dsi_request *r;

	open_session(g);
	for (unsigned int i = 0; i < 3; i++) {
		submit(g, prep_give(g, i, 60000, 60000));
		wait_until(n_waiting(g) == DSI_HEADER_LEN + 60000);
		r = reap(g);
		assert_true(r->t.first_ns == r->t.last_ns); /* one stamp: one call */
	}
}

static void bulk_replies_in_another_order_come_into_their_own_buffers(void **state)
{
	struct rig *g = *state;

	g->peer->hold = 16;
	g->peer->shuffle = true;
	open_session(g);
	for (unsigned int k = 0; k < 30; k++) {
		for (unsigned int i = 0; i < 16; i++)
			submit(g, prep_give(g, i, 4000 + i * k * 400, 4096 + i * k * 401));
		reap_all(g);
	}
}

static void and_in_pieces(void **state)
{
	struct rig *g = *state;

	for (size_t piece = 1000; piece < 60000; piece = piece * 3 / 2 + 1) {
		renew(g);
		g->peer->hold = 8;
		g->peer->shuffle = true;
		g->peer->unasked = PEER_TICKLE | PEER_ATTENTION;
		g->peer->attention = 0x2002;
		g->peer->piece = piece;
		open_session(g);
		for (unsigned int i = 0; i < 8; i++)
			submit(g, prep_give(g, i, i * 20000, i * 25000));
		reap_all(g);
		assert_int_equal(g->d->attention, 0x2002);
	}
}

static void what_follows_a_short_bulk_reply_is_not_lost(void **state)
{
	struct rig *g = *state;
	struct dsi_request *r;

	g->peer->hold = 6;
	g->peer->fault.reply = 2;
	g->peer->fault.kind = PEER_SHORT;
	open_session(g);
	for (unsigned int i = 0; i < 6; i++)
		submit(g, i == 3 ? prep_take(g, i, 9) : prep_give(g, i, 200000, 200000));
	assert_int_equal(dsi_reap(g->d, &r, &g->e), 0);
	assert_ptr_equal(r, &g->req[0]);
	assert_int_equal(r->reply_len, 100000);
	assert_int_equal(r->result, -5009);
	reap_all(g);
}

static bool leave_empty(void *user, struct peer *p, const struct peer_request *q,
			struct peer_reply *out)
{
	(void)user;
	(void)p;
	if (q->command[1] % 2)
		return false;
	peer_reply_set(out, -5008, NULL, 0);
	return true;
}

static void requests_may_share_the_buffer(void **state)
{
	struct rig *g = *state;
	struct dsi_request *r;

	g->peer->answer = leave_empty;
	g->peer->hold = 10;
	g->peer->shuffle = true;
	open_session(g);
	for (unsigned int k = 0; k < 20; k++) {
		for (unsigned int i = 0; i < 10; i++) {
			r = prep_give(g, i, 50000, 50000);
			r->reply = g->buf[0];
			submit(g, r);
		}
		for (unsigned int i = 0; i < 10; i++) {
			assert_int_equal(dsi_reap(g->d, &r, &g->e), 0);
			assert_int_equal(r->reply_len, (r - g->req) % 2 ? 50000 : 0);
			assert_int_equal(r->result, (r - g->req) % 2 ? 0 : -5008);
		}
	}
}

/* A third of them nobody looks at: the others come whole all the same, whatever the order. */
static void unwanted_replies_are_counted(void **state)
{
	struct rig *g = *state;
	struct dsi_request *r;
	size_t i;

	for (size_t piece = 0; piece < 90000; piece = piece * 2 + 7000) {
		renew(g);
		g->peer->hold = 9;
		g->peer->shuffle = piece % 2;
		g->peer->unasked = PEER_TICKLE | PEER_ATTENTION;
		g->peer->piece = piece;
		open_session(g);
		for (i = 0; i < 9; i++) {
			r = prep_give(g, i, (uint32_t)i * 20000, i * 25000);
			r->discard = i % 3 == 2;
			submit(g, r);
		}
		for (i = 0; i < 9; i++) {
			assert_int_equal(dsi_reap(g->d, &r, &g->e), 0);
			if (!r->discard)
				check(g, r);
			assert_int_equal(r->reply_len, 20000 * (r - g->req));
			assert_true(r->t.first_ns && r->t.first_ns <= r->t.last_ns);
		}
	}
}

static void an_unwanted_reply_leaves_the_buffer_alone(void **state)
{
	struct rig *g = *state;
	struct dsi_request *r;

	open_session(g);
	r = prep_give(g, 0, MIB, MIB);
	r->discard = true;
	memset(g->buf[0], 0x5a, MIB);
	submit(g, r);
	assert_int_equal(dsi_reap(g->d, &r, &g->e), 0);
	assert_int_equal(r->reply_len, MIB);
	for (size_t i = 0; i < MIB - TAIL; i++)
		assert_int_equal(g->buf[0][i], 0x5a);
}

static void an_unwanted_reply_may_be_short(void **state)
{
	struct rig *g = *state;
	struct dsi_request *r;

	g->peer->answer = leave_empty;
	g->peer->hold = 4;
	open_session(g);
	for (unsigned int i = 0; i < 4; i++) {
		r = prep_give(g, i, 90000, 90000);
		r->discard = true;
		submit(g, r);
	}
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(dsi_reap(g->d, &r, &g->e), 0);
		assert_int_equal(r->reply_len, i % 2 ? 90000 : 0);
		assert_int_equal(r->result, i % 2 ? 0 : -5008);
	}
}

static void the_first_byte_of_a_header_is_the_first_of_the_reply(void **state)
{
	struct rig *g = *state;
	const struct dsi_request *r;

	g->peer->piece = 12;
	g->peer->piece_us = 60000;
	open_session(g);
	submit(g, prep_give(g, 0, 8, 8));
	r = reap(g);
	assert_in_range(r->t.last_ns - r->t.first_ns, 50 * MS, LATE);
}

static long wakes(void)
{
	struct rusage used;

	assert_int_equal(getrusage(RUSAGE_THREAD, &used), 0);
	return used.ru_nvcsw;
}

static void many_pieces_take_few_wakes_while_another_reply_is_to_come(void **state)
{
	struct rig *g = *state;
	struct dsi_request *r;
	long before;

	g->peer->piece = 16384;
	g->peer->piece_us = 2000;
	open_session(g);
	g->d->batch = DSI_BATCH_LEN; /* however this kernel sends */
	submit(g, prep_give(g, 0, MIB, MIB));
	submit(g, prep_give(g, 1, 8, 8));
	before = wakes();
	assert_int_equal(dsi_reap(g->d, &r, &g->e), 0);
	assert_in_range(wakes() - before, 1, 16); /* for 64 pieces */
	check(g, r);
	reap_all(g);
}

static void loopback_is_waited_for_in_batches_where_it_is_paced(void **state)
{
	struct rig *g = *state;

	open_session(g);
	assert_int_equal(g->d->batch, dsi_is_paced(g->d) ? DSI_BATCH_LEN : 1);
}

/* ---- in time ---- */

struct stopper {
	struct rig *g;
	unsigned int after_ms;
	uint64_t at_ns;
};

static void *stop_later(void *arg)
{
	struct stopper *s = arg;

	usleep(s->after_ms * 1000);
	s->at_ns = clock_now_ns();
	s->g->stop = 1;
	return NULL;
}

static void a_stop_ends_the_wait_within_a_bulk_reply(void **state)
{
	struct rig *g = *state;
	struct stopper s = { g, 450, 0 };
	struct dsi_request *r;
	pthread_t thread;

	g->peer->piece = 30000;
	g->peer->piece_us = 100000;
	open_session(g);
	submit(g, prep_give(g, 0, MIB, MIB));
	assert_int_equal(pthread_create(&thread, NULL, stop_later, &s), 0);
	assert_int_equal(dsi_reap(g->d, &r, &g->e), -EINTR);
	pthread_join(thread, NULL);
	assert_true(clock_now_ns() - s.at_ns < 2000 * MS); /* the reply takes 3 s more */
	g->peer->piece_us = 0;
	dsi_ignore_stop(g->d);
	reap_all(g);
}

static void a_server_that_stops_within_a_bulk_reply_meets_the_deadline(void **state)
{
	struct rig *g = *state;
	uint64_t start_ns;

	g->opts.timeout_ms = 600;
	g->peer->piece = 30000;
	g->peer->piece_us = 2500000;
	open_session(g);
	start_ns = clock_now_ns();
	submit(g, prep_give(g, 0, 50000, 50000));
	expect_death(g, -ETIMEDOUT, "no answer");
	assert_in_range(clock_now_ns() - start_ns, 550 * MS, 2500 * MS);
}

static void a_slow_bulk_reply_that_makes_progress_does_not(void **state)
{
	struct rig *g = *state;

	g->opts.timeout_ms = 300;
	g->peer->piece = 30000;
	g->peer->piece_us = 120000;
	open_session(g);
	submit(g, prep_give(g, 0, 200000, 200000));
	reap_all(g);
}

/* 30000 bytes in 120 ms: DSI_BATCH_LEN takes longer than the deadline. */
static void nor_does_one_that_is_waited_for_in_batches(void **state)
{
	struct rig *g = *state;

	g->opts.timeout_ms = 700;
	g->peer->piece = 30000;
	g->peer->piece_us = 120000;
	open_session(g);
	g->d->batch = DSI_BATCH_LEN;
	submit(g, prep_give(g, 0, 500000, 500000));
	submit(g, prep_give(g, 1, 8, 8));
	reap_all(g);
}

static void the_end_of_the_connection_within_a_bulk_reply_is_told(void **state)
{
	static const size_t bytes[] = { 15, 16, 17, 20000, 60000, 99999 };
	struct rig *g = *state;
	uint64_t start_ns;

	for (size_t i = 0; i < 12; i++) {
		renew(g);
		g->peer->fault.reply = 2;
		g->peer->fault.kind = i % 2 ? PEER_RESET : PEER_HANG_UP;
		g->peer->fault.byte = bytes[i / 2];
		open_session(g);
		submit(g, prep_give(g, 0, 100000, 100000));
		start_ns = clock_now_ns();
		expect_death(g, -ECONNRESET, "connection");
		assert_true(clock_now_ns() - start_ns < LATE);
	}
}

/* ---- out ---- */

static unsigned int data_segments_out(const struct rig *g)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	assert_int_equal(getsockopt(g->d->fd, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
	return info.tcpi_data_segs_out;
}

/* Sends n bytes, less than fit into a segment here: how many segments were they? */
static unsigned int segments_for(struct rig *g, uint32_t n)
{
	unsigned int before = data_segments_out(g);

	submit(g, prep_take(g, 0, n));
	reap(g);
	return data_segments_out(g) - before;
}

static void the_command_goes_before_much_data_and_with_a_little(void **state)
{
	struct rig *g = *state;

	open_session(g);
	assert_int_equal(segments_for(g, 0), 1);
	assert_int_equal(segments_for(g, DSI_APART_LEN - 1), 1);
	assert_int_equal(segments_for(g, DSI_APART_LEN), 2);
}

static void the_command_goes_with_its_data_to_a_server_that_is_busy(void **state)
{
	struct rig *g = *state;
	unsigned int before;

	open_session(g);
	submit(g, prep_take(g, 0, DSI_APART_LEN)); /* its reply is not looked at yet */
	before = data_segments_out(g);
	submit(g, prep_take(g, 1, DSI_APART_LEN));
	assert_int_equal(data_segments_out(g) - before, 1);
	reap_all(g);
}

/* ---- the connection ---- */

static void the_kernel_tells_about_the_connection(void **state)
{
	struct run_tcp before = { .end = TCP_CLIENT, .when = TCP_AFTER }, after = { 0 };
	struct rig *g = *state;

	open_session(g);
	assert_true(dsi_tcp(g->d, &before));
	assert_int_equal(before.when, TCP_AFTER);
	submit(g, prep_give(g, 0, 100000, 100000));
	submit(g, prep_take(g, 1, 50000));
	reap_all(g);
	assert_true(dsi_tcp(g->d, &after));
	assert_true(before.known[TCP_SNDBUF] && before.value[TCP_SNDBUF] > 0);
	assert_true(before.known[TCP_RCVBUF] && before.value[TCP_RCVBUF] > 0);
	assert_true(before.known[TCP_MSS] && before.value[TCP_MSS] > 0);
	assert_true(before.known[TCP_CWND] && before.value[TCP_CWND] > 0);
	assert_true(after.t_ns > before.t_ns);
	assert_int_equal(after.value[TCP_BYTES_RECEIVED] - before.value[TCP_BYTES_RECEIVED],
			 100000 + 8 + 2 * DSI_HEADER_LEN);
	assert_true(after.value[TCP_BYTES_ACKED] - before.value[TCP_BYTES_ACKED] >= 50000);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_bulk_reply_that_is_there_takes_one_call),
		TEST(bulk_replies_in_another_order_come_into_their_own_buffers),
		TEST(and_in_pieces),
		TEST(what_follows_a_short_bulk_reply_is_not_lost),
		TEST(requests_may_share_the_buffer),
		TEST(unwanted_replies_are_counted),
		TEST(an_unwanted_reply_leaves_the_buffer_alone),
		TEST(an_unwanted_reply_may_be_short),
		TEST(the_first_byte_of_a_header_is_the_first_of_the_reply),
		TEST(many_pieces_take_few_wakes_while_another_reply_is_to_come),
		TEST(loopback_is_waited_for_in_batches_where_it_is_paced),
		TEST(a_stop_ends_the_wait_within_a_bulk_reply),
		TEST(a_server_that_stops_within_a_bulk_reply_meets_the_deadline),
		TEST(a_slow_bulk_reply_that_makes_progress_does_not),
		TEST(nor_does_one_that_is_waited_for_in_batches),
		TEST(the_end_of_the_connection_within_a_bulk_reply_is_told),
		TEST(the_command_goes_before_much_data_and_with_a_little),
		TEST(the_command_goes_with_its_data_to_a_server_that_is_busy),
		TEST(the_kernel_tells_about_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
