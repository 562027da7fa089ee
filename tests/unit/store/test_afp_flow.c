/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File operations over AFP, many at once: windows, order, drains, and sessions that die. */
#include "unit/store_rig.h"

#include "dsi/conn.h" /* for the socket */

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static void fill(struct store_op *op, unsigned int n, struct store_file f, uint8_t *data)
{
	for (unsigned int i = 0; i < n; i++)
		op[i] = (struct store_op) { .verb = STORE_WRITE,
					    .file = f,
					    .offset = i * 100,
					    .len = i + 1,
					    .data = data };
}

static void a_full_window_asks_for_a_reap(void **state)
{
	struct rig *g = *state;
	struct store_op op[WINDOW + 1], *back;
	uint8_t data[16] = { 0 };
	struct store_file f;

	open_it(g);
	g->how.window = 3;
	open_again(g);
	f = open_file(g, "f");
	fill(op, 4, f, data);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(store_submit(g->s, &op[i], &g->e), 0);
	assert_int_equal(store_submit(g->s, &op[3], &g->e), -EAGAIN);
	assert_int_equal(g->s->in_flight, 3);
	assert_int_equal(store_reap(g->s, &back, &g->e), 0);
	assert_int_equal(store_submit(g->s, &op[3], &g->e), 0);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(store_reap(g->s, &back, &g->e), 0);
	assert_int_equal(store_reap(g->s, &back, &g->e), -ENOENT);
}

static void answers_find_their_operation_in_any_order(void **state)
{
	struct rig *g = *state;
	struct store_op op[WINDOW], *back;
	uint8_t data[16] = { 0 };
	bool in_order = true;
	struct store_file f;

	g->peer->hold = WINDOW;
	g->peer->shuffle = true;
	open_it(g);
	f = open_file(g, "f");
	for (unsigned int round = 0; round < 10; round++) {
		fill(op, WINDOW, f, data);
		for (unsigned int i = 0; i < WINDOW; i++)
			assert_int_equal(store_submit(g->s, &op[i], &g->e), 0);
		for (unsigned int i = 0; i < WINDOW; i++) {
			assert_int_equal(store_reap(g->s, &back, &g->e), 0);
			assert_int_equal(back->result, STORE_OK);
			assert_int_equal(back->done, back - op + 1);
			in_order = in_order && back == &op[i];
			back->result = STORE_FAILED; /* each once */
		}
	}
	assert_false(in_order);
}

static void data_is_not_copied_on_its_way(void **state)
{
	struct rig *g = *state;
	uint8_t *data = calloc(1, 1 << 20);
	struct store_op op = { .verb = STORE_WRITE, .data = data, .len = 1000000 }, *back;

	open_it(g);
	op.file = open_file(g, "f");
	assert_int_equal(store_submit(g->s, &op, &g->e), 0);
	assert_int_equal(store_reap(g->s, &back, &g->e), 0);
	assert_int_equal(g->data_len, 1000000);
	memset(data, 1, 1 << 20);
	op.verb = STORE_READ;
	op.buf = data;
	call(g, &op);
	assert_int_equal(data[0], 0); /* the fake's files are zeros */
	assert_int_equal(data[999999], 0);
	assert_int_equal(data[1000000], 1);
	free(data);
}

/* ---- the end ---- */

static void a_drain_takes_back_what_is_on_its_way(void **state)
{
	struct rig *g = *state;
	struct store_op op[WINDOW];
	uint8_t data[16] = { 0 };

	open_it(g);
	fill(op, WINDOW, open_file(g, "f"), data);
	for (unsigned int i = 0; i < WINDOW; i++)
		assert_int_equal(store_submit(g->s, &op[i], &g->e), 0);
	store_drain(g->s);
	assert_int_equal(g->s->in_flight, 0);
	for (unsigned int i = 0; i < WINDOW; i++)
		assert_int_equal(op[i].result, STORE_OK);
	call(g, &(struct store_op) { .verb = STORE_FLUSH, .file = op[0].file });
}

/* Also when the caller has pressed ^C. */
static void a_stop_does_not_leave_operations_behind(void **state)
{
	struct rig *g = *state;
	struct store_op op[WINDOW], *back;
	uint8_t data[16] = { 0 };

	g->peer->delay_ms = 20;
	open_it(g);
	fill(op, WINDOW, open_file(g, "f"), data);
	for (unsigned int i = 0; i < WINDOW; i++)
		assert_int_equal(store_submit(g->s, &op[i], &g->e), 0);
	assert_int_equal(store_reap(g->s, &back, &g->e), 0);
	g->stop = 1;
	assert_int_equal(store_submit(g->s, &(struct store_op) { .verb = STORE_FLUSH }, &g->e),
			 -EINTR);
	store_drain(g->s);
	assert_int_equal(store_reap(g->s, &back, &g->e), -ENOENT);
	for (unsigned int i = 0; i < WINDOW; i++)
		assert_int_equal(op[i].result, STORE_OK);
}

static void a_session_that_dies_leaves_nothing_lent(void **state)
{
	static const enum peer_fault faults[] = { PEER_HANG_UP, PEER_RESET, PEER_GARBAGE,
						  PEER_CLOSE_FRAME, PEER_WRONG_ID };
	struct rig *g = *state;

	for (size_t i = 0; i < 2 * sizeof(faults) / sizeof(faults[0]); i++) {
		struct store_op *op = calloc(WINDOW, sizeof(*op)), *back;
		uint8_t data[16] = { 0 };
		unsigned int n = 0, answered = 0;
		int r = 0;

		peer_free(g->peer);
		new_peer(g);
		g->peer->hold = i % 2 ? WINDOW : 0;
		/* status, session, login, two volumes, create, open; then two of the writes */
		g->peer->fault.reply = 7 + 3;
		g->peer->fault.kind = faults[i / 2];
		g->peer->fault.byte = 5;
		open_it(g);
		fill(op, WINDOW, open_file(g, "f"), data);
		while (n < WINDOW && !r)
			r = store_submit(g->s, &op[n++], &g->e);
		while (!r)
			r = store_reap(g->s, &back, &g->e);
		assert_true(r < 0 && r != -ENOENT && r != -EAGAIN);
		store_drain(g->s);
		assert_int_equal(g->s->in_flight, 0);
		for (unsigned int k = 0; k < WINDOW; k++)
			answered += op[k].result == STORE_OK && op[k].what;
		assert_true(answered < WINDOW);
		memset(&g->e, 0, sizeof(g->e));
		assert_int_equal(store_submit(g->s, &op[0], &g->e), r);
		assert_non_null(strstr(g->e.text, "127.0.0.1 port")); /* and why */
		free(op); /* and nobody touches them any more */
		store_close(g->s);
		g->s = NULL;
		afp_close(&g->a);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_full_window_asks_for_a_reap),
		TEST(answers_find_their_operation_in_any_order),
		TEST(data_is_not_copied_on_its_way),
		TEST(a_drain_takes_back_what_is_on_its_way),
		TEST(a_stop_does_not_leave_operations_behind),
		TEST(a_session_that_dies_leaves_nothing_lent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
