/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests user/attach/connections.c, and tcpdiag_each of user/host/net/tcpdiag.c, on real
 * connections. */
#include "attach/connections.h"

#include "unit/loopback.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct loopback made(enum loopback_kind kind)
{
	struct loopback l;

	if (!loopback_listen(&l, kind))
		skip();
	assert_true(loopback_connect(&l, kind, 0));
	l.server = accept4(l.listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(l.server >= 0);
	return l;
}

static uint16_t port_of(const struct sockaddr_storage *addr)
{
	return ntohs(((const struct sockaddr_in *)addr)->sin_port);
}

/* The connection's session, as the watch labels it. */
static struct run_session *label(struct run *r, const struct loopback *l, const char *fmt)
{
	struct run_session *s = run_session(r);

	assert_non_null(s);
	assert_true(asprintf(&s->address, fmt, port_of(&l->local)) > 0);
	return s;
}

static void exchange(const struct loopback *l, size_t n)
{
	char c = 'x';

	while (n--) {
		assert_int_equal(send(l->client, &c, 1, 0), 1);
		assert_int_equal(recv(l->server, &c, 1, 0), 1);
		assert_int_equal(send(l->server, &c, 1, 0), 1);
		assert_int_equal(recv(l->client, &c, 1, 0), 1);
	}
}

#define N 100

static void check_kind(enum loopback_kind kind, const char *fmt)
{
	struct loopback l = made(kind);
	const struct servers_entry server = { .n_ports = 1, .port = { port_of(&l.peer) } };
	struct connections c;
	struct run_session *s;
	struct run r;

	assert_int_equal(run_init(&r, "doctor", "doctor"), 0);
	exchange(&l, N);
	connections_begin(&c, &server);
	exchange(&l, N);
	connections_look(&c);
	s = label(&r, &l, fmt);
	connections_note(&c, &r);
	assert_true(s->tcp.known);
	/* Of the second half; each of its answers takes a segment. */
	assert_in_range(s->tcp.segments, N, N + N / 2);
	assert_int_equal(s->tcp.retransmitted, 0);
	assert_in_range(s->tcp.min_rtt_ns, 1, 1000000000);
	assert_in_range(s->tcp.rtt_ns, 1, 1000000000);
	assert_int_equal(s->tcp.received, N);
	/* The last answer of either half may still wait to be acknowledged. */
	assert_in_range(s->tcp.acked, N - 1, N + 1);
	assert_true(s->tcp.rate > 0);
	run_fini(&r);
	connections_fini(&c);
	loopback_end(&l);
}

#define BYTES 100000

/* What the server has written and the client does not read, and the other way round. */
static void queues_are_kept_of_each_look(void **state)
{
	static char buf[BYTES];
	struct loopback l = made(LOOPBACK_V4);
	const struct servers_entry server = { .n_ports = 1, .port = { port_of(&l.peer) } };
	const struct run_session_tcp *tcp;
	const int small = 4096;
	struct connections c;
	struct run r;
	ssize_t n;

	(void)state;
	assert_int_equal(run_init(&r, "doctor", "doctor"), 0);
	assert_int_equal(setsockopt(l.client, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	exchange(&l, N);
	connections_begin(&c, &server);
	n = send(l.server, buf, sizeof(buf), 0);
	assert_int_equal(n, sizeof(buf));
	assert_int_equal(send(l.client, buf, 50, 0), 50);
	for (int i = 0; i < 3; i++)
		connections_look(&c);
	tcp = &label(&r, &l, "127.0.0.1:%u")->tcp;
	connections_note(&c, &r);
	assert_int_equal(tcp->n_looks, 4);
	assert_in_range(tcp->queue_max, sizeof(buf) / 4, sizeof(buf));
	assert_in_range(tcp->queue_mean, tcp->queue_max * 3 / 4 - 1, tcp->queue_max);
	assert_in_range(tcp->unsent_max, 1, tcp->queue_max);
	assert_in_range(tcp->unsent_mean, 1, tcp->queue_mean);
	assert_int_equal(tcp->unread_max, 50);
	assert_int_equal(tcp->received, 50);
	assert_true(tcp->acked < sizeof(buf) && tcp->busy_ns >= tcp->window_ns);
	run_fini(&r);
	connections_fini(&c);
	loopback_end(&l);
}

#define STILL_MS 60

/* It reads nothing for that time, and then all: asleep at first, none the less. */
static void for_how_long_a_client_took_nothing_is_known(void **state)
{
	static char buf[BYTES];
	struct loopback l = made(LOOPBACK_V4);
	const struct servers_entry server = { .n_ports = 1, .port = { port_of(&l.peer) } };
	const struct run_session_tcp *tcp;
	const int small = 4096;
	struct connections c;
	uint64_t still_ns;
	struct run r;

	(void)state;
	assert_int_equal(run_init(&r, "doctor", "doctor"), 0);
	assert_int_equal(setsockopt(l.client, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	connections_begin(&c, &server);
	label(&r, &l, "127.0.0.1:%u");
	tcp = &r.session[0].tcp;
	connections_note(&c, &r);
	assert_int_equal(tcp->still_ns, 0);
	assert_int_equal(send(l.server, buf, sizeof(buf), 0), sizeof(buf));
	for (int i = 0; i < 3; i++) {
		usleep(1000 * STILL_MS);
		connections_look(&c);
	}
	connections_note(&c, &r);
	still_ns = tcp->still_ns;
	assert_in_range(still_ns, STILL_MS * 1000000, tcp->window_ns);
	assert_int_equal(recv(l.client, buf, sizeof(buf), MSG_WAITALL), sizeof(buf));
	connections_look(&c);
	connections_note(&c, &r);
	assert_int_equal(tcp->still_ns, still_ns);
	assert_int_equal(c.connection[0].still, 0);
	run_fini(&r);
	connections_fini(&c);
	loopback_end(&l);
}

static void an_ipv4_client_is_found(void **state)
{
	(void)state;
	check_kind(LOOPBACK_V4, "127.0.0.1:%u");
}

static void an_ipv6_client_is_found(void **state)
{
	(void)state;
	check_kind(LOOPBACK_V6, "[::1]:%u");
}

static void a_mapped_client_is_found_by_either_name(void **state)
{
	(void)state;
	check_kind(LOOPBACK_MAPPED, "127.0.0.1:%u");
	check_kind(LOOPBACK_MAPPED, "[::ffff:127.0.0.1]:%u");
}

/* What goes over the connection now is what the run says of it. */
static void exchanged_is_told(struct connections *c, struct run *r, struct loopback *l)
{
	struct run_session *s;

	exchange(l, N);
	connections_look(c);
	s = label(r, l, "127.0.0.1:%u");
	connections_note(c, r);
	assert_true(s->tcp.known);
	assert_in_range(s->tcp.segments, N, N + N / 2);
}

/* All that it has done counts. */
static void a_connection_that_began_meanwhile_counts_from_its_begin(void **state)
{
	struct loopback l;
	struct servers_entry server = { .n_ports = 1 };
	struct connections c;
	struct run r;

	(void)state;
	assert_int_equal(run_init(&r, "doctor", "doctor"), 0);
	l = made(LOOPBACK_V4);
	server.port[0] = port_of(&l.peer);
	loopback_reset(&l.client);
	loopback_reset(&l.server);
	connections_begin(&c, &server);
	assert_true(loopback_connect(&l, LOOPBACK_V4, 0));
	l.server = accept4(l.listener, NULL, NULL, SOCK_CLOEXEC);
	exchanged_is_told(&c, &r, &l);
	run_fini(&r);
	connections_fini(&c);
	loopback_end(&l);
}

/* Clients that come and go, one after another. */
static void the_table_does_not_grow_without_an_end(void **state)
{
	struct loopback l = made(LOOPBACK_V4);
	const struct servers_entry server = { .n_ports = 1, .port = { port_of(&l.peer) } };
	struct connections c;
	struct run r;

	(void)state;
	assert_int_equal(run_init(&r, "doctor", "doctor"), 0);
	connections_begin(&c, &server);
	for (int more = 0; more < 200; more += c.n == CONNECTIONS_MAX) {
		loopback_reset(&l.client);
		loopback_reset(&l.server);
		assert_true(loopback_connect(&l, LOOPBACK_V4, 0));
		l.server = accept4(l.listener, NULL, NULL, SOCK_CLOEXEC);
		connections_look(&c);
	}
	assert_false(c.failed);
	assert_int_equal(c.n, CONNECTIONS_MAX);
	exchanged_is_told(&c, &r, &l);
	run_fini(&r);
	connections_fini(&c);
	loopback_end(&l);
}

static void a_server_elsewhere_and_names_that_are_none_are_not_known(void **state)
{
	static const char *const names[] = { "", "nobody", ":%u", "[:%u", "127.0.0.1", "[::2]:%u" };
	struct loopback l = made(LOOPBACK_V4);
	struct servers_entry server = { .n_ports = 1, .port = { port_of(&l.peer) } };
	struct connections c;
	struct run r;

	(void)state;
	assert_int_equal(run_init(&r, "doctor", "doctor"), 0);
	connections_begin(&c, &server);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct run_session *s = run_session(&r);

		assert_non_null(s);
		assert_true(asprintf(&s->address, names[i], port_of(&l.local)) >= 0);
	}
	connections_note(&c, &r);
	connections_fini(&c);
	server.elsewhere = true;
	connections_begin(&c, &server);
	label(&r, &l, "127.0.0.1:%u");
	connections_note(&c, &r);
	for (size_t i = 0; i < r.n_sessions; i++)
		assert_false(r.session[i].tcp.known);
	run_fini(&r);
	connections_fini(&c);
	loopback_end(&l);
}

/* Clients that have connected, and that nobody has accepted. */
static void connections_wait_until_they_are_accepted(void **state)
{
	struct loopback l = made(LOOPBACK_V4), next = l;
	const struct servers_entry server = { .n_ports = 1, .port = { port_of(&l.peer) } };
	struct connections c;
	struct run r;
	int fd;

	(void)state;
	assert_int_equal(run_init(&r, "record", "record"), 0);
	connections_begin(&c, &server);
	assert_true(c.unaccepted == 0 && !c.unaccepted_ns);
	assert_true(loopback_connect(&next, LOOPBACK_V4, 0));
	connections_look(&c);
	assert_true(c.unaccepted == 1 && c.unaccepted_ns);
	connections_note(&c, &r);
	assert_true(r.unaccepted.known && r.unaccepted.n == 1 &&
		    r.unaccepted.since_ns == c.unaccepted_ns);
	fd = accept4(l.listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	connections_look(&c);
	assert_true(c.unaccepted == 0 && !c.unaccepted_ns);
	close(fd);
	close(next.client);
	connections_fini(&c);
	run_fini(&r);
	loopback_end(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ipv4_client_is_found),
		cmocka_unit_test(for_how_long_a_client_took_nothing_is_known),
		cmocka_unit_test(queues_are_kept_of_each_look),
		cmocka_unit_test(connections_wait_until_they_are_accepted),
		cmocka_unit_test(an_ipv6_client_is_found),
		cmocka_unit_test(a_mapped_client_is_found_by_either_name),
		cmocka_unit_test(a_connection_that_began_meanwhile_counts_from_its_begin),
		cmocka_unit_test(the_table_does_not_grow_without_an_end),
		cmocka_unit_test(a_server_elsewhere_and_names_that_are_none_are_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
