/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What another process sends for a session whose process has died: nothing that the server could
 * take for something else. Tests client/dsi/mark.c. */
#include "dsi/frame.h"
#include "dsi/mark.h"
#include "unit/loopback.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h> /* needs the headers above */

#define WAIT_NS  2000000000u
#define HEAD     30u
#define SENT_MAX (8u << 20)

struct mark_rig {
	struct loopback l;
	struct dsi_marks *marks;
	struct dsi_mark *mark;
	pthread_t server;
	uint8_t *got; /* what the server read, until the client sent no more */
	size_t n;
};

static void *read_all(void *arg)
{
	struct mark_rig *g = arg;
	ssize_t n;

	while ((n = read(g->l.server, g->got + g->n, SENT_MAX - g->n)) > 0)
		g->n += (size_t)n;
	shutdown(g->l.server, SHUT_WR);
	return NULL;
}

static int mark_setup(void **state)
{
	struct mark_rig *g = calloc(1, sizeof(*g));

	assert_true(loopback_listen(&g->l, LOOPBACK_V4));
	assert_true(loopback_connect(&g->l, LOOPBACK_V4, 0));
	g->l.server = accept(g->l.listener, NULL, NULL);
	fcntl(g->l.client, F_SETFL, O_NONBLOCK);
	g->got = malloc(SENT_MAX);
	g->marks = dsi_marks_new();
	g->mark = dsi_mark_of(g->marks, g->l.client);
	assert_non_null(g->mark);
	dsi_mark_set(g->mark, true);
	*state = g;
	return 0;
}

static int mark_teardown(void **state)
{
	struct mark_rig *g = *state;

	close(g->l.client);
	close(g->l.server);
	close(g->l.listener);
	dsi_marks_free(g->marks);
	free(g->got);
	free(g);
	return 0;
}

static void put(struct mark_rig *g, size_t len)
{
	uint8_t bytes[4096];

	memset(bytes, 7, sizeof(bytes));
	assert_int_equal(send(g->l.client, bytes, len, MSG_NOSIGNAL), len);
}

/* How many were ended; all that was sent is in g->got. */
static unsigned int end_all(struct mark_rig *g)
{
	unsigned int ended;

	pthread_create(&g->server, NULL, read_all, g);
	assert_int_equal(dsi_marks_end(g->marks, WAIT_NS, &ended), 1);
	shutdown(g->l.client, SHUT_WR);
	pthread_join(g->server, NULL);
	return ended;
}

static void assert_ends_with_close(const struct mark_rig *g, size_t at)
{
	struct dsi_frame f;

	assert_int_equal(g->n, at + DSI_HEADER_LEN);
	assert_int_equal(dsi_frame_parse(&f, g->got + at), 0);
	assert_int_equal(f.flag, DSI_REQUEST);
	assert_int_equal(f.command, DSI_CLOSE);
	assert_int_equal(f.len, 0);
}

static void test_between_two_messages_the_session_is_closed(void **state)
{
	struct mark_rig *g = *state;

	for (size_t i = 0; i < 3; i++) {
		dsi_mark_message(g->mark, HEAD, 100);
		put(g, HEAD + 100);
	}
	assert_int_equal(end_all(g), 1);
	assert_ends_with_close(g, 3 * (HEAD + 100));
}

static void test_a_message_that_was_noted_but_not_sent_is_none(void **state)
{
	struct mark_rig *g = *state;

	dsi_mark_message(g->mark, HEAD, 0);
	put(g, HEAD);
	dsi_mark_message(g->mark, HEAD, 5000);
	assert_int_equal(end_all(g), 1);
	assert_ends_with_close(g, HEAD);
}

static void test_a_message_that_the_kernel_did_not_take_is_none(void **state)
{
	struct mark_rig *g = *state;

	dsi_mark_message(g->mark, HEAD, 5000);
	dsi_mark_none(g->mark);
	dsi_mark_message(g->mark, HEAD, 0);
	put(g, HEAD);
	assert_int_equal(end_all(g), 1);
	assert_ends_with_close(g, HEAD);
}

/* More than the socket's buffers hold. */
static void test_data_sent_partly_is_completed_with_zeros(void **state)
{
	struct mark_rig *g = *state;
	const size_t data = 6u << 20;

	dsi_mark_message(g->mark, HEAD, data);
	put(g, HEAD + 1000);
	assert_int_equal(end_all(g), 1);
	assert_ends_with_close(g, HEAD + data);
	for (size_t i = 0; i < HEAD + data; i++)
		assert_int_equal(g->got[i], i < HEAD + 1000 ? 7 : 0);
}

static void test_a_command_sent_partly_is_not_completed(void **state)
{
	struct mark_rig *g = *state;

	dsi_mark_message(g->mark, HEAD, 0);
	put(g, HEAD - 1);
	assert_int_equal(end_all(g), 0);
	assert_int_equal(g->n, HEAD - 1);
}

/* A server that sends more than fits into the buffers goes on once somebody reads. */
static void test_what_the_server_still_sends_is_read(void **state)
{
	struct mark_rig *g = *state;
	uint8_t *much = calloc(1, SENT_MAX);
	size_t n = 0;
	ssize_t got;

	fcntl(g->l.server, F_SETFL, O_NONBLOCK);
	while ((got = write(g->l.server, much, SENT_MAX)) > 0)
		n += (size_t)got;
	assert_true(n > 0);
	fcntl(g->l.server, F_SETFL, 0);
	assert_int_equal(end_all(g), 1);
	assert_ends_with_close(g, 0);
	free(much);
}

static void test_a_server_that_never_closes_holds_nobody(void **state)
{
	struct mark_rig *g = *state;
	unsigned int ended;

	assert_int_equal(dsi_marks_end(g->marks, 200000000u, &ended), 1);
	assert_int_equal(ended, 0);
}

static void test_what_was_closed_is_not_touched(void **state)
{
	struct mark_rig *g = *state;
	unsigned int ended;
	uint8_t byte;

	dsi_mark_set(g->mark, false);
	assert_int_equal(dsi_marks_end(g->marks, WAIT_NS, &ended), 0);
	assert_int_equal(recv(g->l.server, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, mark_setup, mark_teardown)
	const struct CMUnitTest tests[] = {
		T(test_between_two_messages_the_session_is_closed),
		T(test_a_message_that_was_noted_but_not_sent_is_none),
		T(test_a_message_that_the_kernel_did_not_take_is_none),
		T(test_data_sent_partly_is_completed_with_zeros),
		T(test_a_command_sent_partly_is_not_completed),
		T(test_what_the_server_still_sends_is_read),
		T(test_a_server_that_never_closes_holds_nobody),
		T(test_what_was_closed_is_not_touched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
