/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A reading on its way from one process to another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/exporter.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

struct sender {
	int socket;
	const struct tally_reading *r;
	int result;
};

static void *send_one(void *arg)
{
	struct sender *s = arg;

	s->result = exporter_send(s->socket, s->r);
	return NULL;
}

static void a_reading_arrives_as_it_was_sent(void **state)
{
	struct exporter_inbox in = { 0 };
	struct tally_reading r = { .rung = "bpf", .sessions = 3 }, back;
	struct sender s = { .r = &r };
	pthread_t thread;
	int pair[2], got;

	(void)state;
	r.ledger.n_rows = 1000; /* more than a socket holds */
	r.ledger.row = calloc(r.ledger.n_rows, sizeof(*r.ledger.row));
	assert_non_null(r.ledger.row);
	r.ledger.row[999].cell.calls = 42;
	r.ledger.n_packets = 2;
	r.ledger.packets = calloc(r.ledger.n_packets, sizeof(*r.ledger.packets));
	assert_non_null(r.ledger.packets);
	r.ledger.packets[1].from_server = 1;
	r.known[TALLY_AGREE] = true;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	s.socket = pair[0];
	assert_int_equal(pthread_create(&thread, NULL, send_one, &s), 0);
	while (!(got = exporter_receive(&in, pair[1], &back)))
		usleep(100);
	pthread_join(thread, NULL);
	assert_int_equal(s.result, 0);
	assert_int_equal(got, 1);
	assert_int_equal(back.sessions, 3);
	assert_true(back.known[TALLY_AGREE]);
	assert_int_equal(back.ledger.n_rows, 1000);
	assert_int_equal(back.ledger.row[999].cell.calls, 42);
	assert_int_equal(back.ledger.n_packets, 2);
	assert_true(back.ledger.packets != r.ledger.packets);
	assert_int_equal(back.ledger.packets[1].from_server, 1);
	ledger_fini(&back.ledger);
	ledger_fini(&r.ledger);
	assert_int_equal(exporter_send(pair[0], &r), 0); /* an empty one */
	assert_int_equal(exporter_receive(&in, pair[1], &back), 1);
	assert_int_equal(back.ledger.n_rows, 0);
	ledger_fini(&back.ledger);
	close(pair[0]);
	assert_int_equal(exporter_receive(&in, pair[1], &back), -ENODATA);
	close(pair[1]);
	free(in.data);
}

static void a_length_that_cannot_be_is_refused(void **state)
{
	struct exporter_inbox in = { 0 };
	struct tally_reading r = { .ledger.n_parts = SIZE_MAX / 2 }, back;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(send(pair[0], &r, sizeof(r), 0), sizeof(r));
	assert_int_equal(exporter_receive(&in, pair[1], &back), -EPROTO);
	close(pair[0]);
	close(pair[1]);
	free(in.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reading_arrives_as_it_was_sent),
		cmocka_unit_test(a_length_that_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
