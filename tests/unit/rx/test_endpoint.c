/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clients and a server of Rx on real sockets of the loopback, in one thread: tests
 * client/rx/endpoint.c, peers.c, outbox.c.
 */
#include "rx/endpoint.h"

#include "base/clock.h"
#include "unit/hex_bytes.h"
#include "unit/rx_inside.h"
#include "work/pattern.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define SERVICE   147
#define REPLY_LEN 50000
#define PATIENCE  20000000000ull

/* A server that reads everything, checks it, and sends the pattern back. */
struct echo {
	struct rx_endpoint *ep;
	uint64_t now_ns;
	unsigned int arrived, over;
	bool keeps; /* calls without an answer */
	size_t got;
	struct rx_call *kept;
	uint8_t reply[REPLY_LEN];
};

static void changed(void *user, struct rx_call *c)
{
	struct echo *s = user;
	const void *at;
	size_t len, written = (size_t)(uintptr_t)rx_endpoint_user(c);

	while ((at = rx_call_peek(c, &len))) {
		assert_int_equal(pattern_check(at, len, written, 1), len);
		written += len;
		rx_call_skip(c, len, s->now_ns);
		rx_endpoint_set_user(c, (void *)(uintptr_t)written);
	}
	s->over += rx_call_state(c) == RX_CALL_OVER;
	if (s->keeps || !rx_inside_is_read(c))
		return;
	s->got = written;
	/* the whole reply fits into the window */
	assert_int_equal(rx_call_write(c, s->reply, 10 * RX_DATA_LEN), 10 * RX_DATA_LEN);
	rx_call_end(c);
	rx_endpoint_release(s->ep, c);
}

static bool arrived(void *user, struct rx_call *c)
{
	struct echo *s = user;

	s->arrived++;
	s->kept = c;
	changed(user, c);
	return true;
}

static struct echo *new_echo(struct rx_endpoint_opts o)
{
	struct echo *s = calloc(1, sizeof(*s));
	struct err e;

	pattern_fill(s->reply, REPLY_LEN, 0, 2);
	o.address.s_addr = htonl(INADDR_LOOPBACK);
	o.service = SERVICE;
	o.events.user = s;
	o.events.arrived = arrived;
	o.events.changed = changed;
	assert_int_equal(rx_endpoint_open(&s->ep, &o, &e), 0);
	return s;
}

static void free_echo(struct echo *s)
{
	rx_endpoint_close(s->ep);
	free(s);
}

static void advance_echo(struct echo *s)
{
	struct err e;

	s->now_ns = clock_now_ns();
	assert_int_equal(rx_endpoint_advance(s->ep, s->now_ns, &e), 0);
}

static struct sockaddr_in at_port(uint16_t port)
{
	return (struct sockaddr_in) { .sin_family = AF_INET,
				      .sin_port = htons(port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static struct rx_endpoint *new_client(struct rx_endpoint_opts o)
{
	struct rx_endpoint *ep;
	struct err e;

	assert_int_equal(rx_endpoint_open(&ep, &o, &e), 0);
	return ep;
}

/* Waits for either, and goes on with both. */
static void turn(struct rx_endpoint *client, struct echo *s, uint64_t end_ns)
{
	uint64_t now_ns = clock_now_ns(), due_ns;
	struct io_wait w[2];
	struct pollfd p[2];
	struct err e;
	int ms;

	rx_endpoint_wait(client, &w[0]);
	rx_endpoint_wait(s->ep, &w[1]);
	for (int i = 0; i < 2; i++)
		p[i] = (struct pollfd) { .fd = w[i].fd, .events = w[i].events };
	due_ns = w[0].due_ns < w[1].due_ns ? w[0].due_ns : w[1].due_ns;
	due_ns = due_ns < end_ns ? due_ns : end_ns;
	ms = due_ns > now_ns ? (int)((due_ns - now_ns) / 1000000 + 1) : 0;
	assert_true(poll(p, 2, ms) >= 0);
	assert_int_equal(rx_endpoint_advance(client, clock_now_ns(), &e), 0);
	advance_echo(s);
	assert_true(clock_now_ns() < end_ns);
}

/* Reads what there is of the reply. */
static size_t read_some(struct rx_call *c, size_t got)
{
	const void *at;
	size_t len;

	while ((at = rx_call_peek(c, &len))) {
		assert_int_equal(pattern_check(at, len, got, 2), len);
		got += len;
		rx_call_skip(c, len, clock_now_ns());
	}
	return got;
}

static size_t do_call(struct rx_endpoint *ep, struct echo *s, struct rx_conn *conn,
		      const uint8_t *data, size_t len)
{
	uint64_t end_ns = clock_now_ns() + PATIENCE;
	struct rx_call *c = rx_endpoint_begin(ep, conn, clock_now_ns());
	size_t got = 0, written = 0;
	struct err e;

	assert_non_null(c);
	while (rx_call_state(c) == RX_CALL_ACTIVE) {
		written += rx_call_write(c, data + written, len - written);
		if (written == len)
			rx_call_end(c);
		assert_int_equal(rx_endpoint_advance(ep, clock_now_ns(), &e), 0);
		got = read_some(c, got);
		if (rx_call_state(c) == RX_CALL_ACTIVE)
			turn(ep, s, end_ns);
		got = read_some(c, got);
	}
	assert_int_equal(rx_call_error(c), 0);
	rx_endpoint_release(ep, c);
	assert_int_equal(rx_endpoint_advance(ep, clock_now_ns(), &e), 0);
	return got;
}

static void calls_go_over_real_sockets(void **state)
{
	static const size_t sizes[] = { 1, 1412, 3000, 200000 };
	uint8_t *data = malloc(200000);
	struct echo *s = new_echo((struct rx_endpoint_opts) { .n_conns = 4, .n_calls = 16 });
	struct sockaddr_in to = at_port(rx_endpoint_port(s->ep));
	struct rx_endpoint *ep = new_client((struct rx_endpoint_opts) { .n_conns = 1 });
	struct rx_conn *conn = rx_endpoint_connect(ep, &to, SERVICE);

	(void)state;
	pattern_fill(data, 200000, 0, 1);
	for (int i = 0; i < 200; i++) {
		size_t len = sizes[i % 4];

		assert_int_equal(do_call(ep, s, conn, data, len), 10 * RX_DATA_LEN);
		assert_int_equal(s->got, len);
	}
	assert_int_equal(s->arrived, 200);
	advance_echo(s);
	assert_int_equal(rx_inside_active(s->ep), 0);
	assert_int_equal(rx_inside_active(ep), 0);
	/* each side has measured the round trip */
	assert_true(rx_endpoint_hub(ep)->rtt.n > 0 && rx_endpoint_hub(s->ep)->rtt.n > 0);
	assert_int_equal(rx_endpoint_hub(ep)->counts.strange, 0);
	assert_int_equal(rx_endpoint_hub(s->ep)->counts.strange, 0);
	rx_endpoint_close(ep);
	free_echo(s);
	free(data);
}

/* Connections of clients that are gone give their place to new ones. */
static void a_small_server_serves_any_number_of_clients(void **state)
{
	const uint8_t data[] = { 0 };
	struct echo *s = new_echo((struct rx_endpoint_opts) { .n_conns = 3, .n_calls = 2 });
	struct sockaddr_in to = at_port(rx_endpoint_port(s->ep));

	(void)state;
	for (int i = 0; i < 30; i++) {
		struct rx_endpoint *ep = new_client((struct rx_endpoint_opts) { .n_conns = 2 });
		struct rx_conn *a = rx_endpoint_connect(ep, &to, SERVICE);
		struct rx_conn *b = rx_endpoint_connect(ep, &to, SERVICE);

		assert_int_equal(do_call(ep, s, a, data, 0), 10 * RX_DATA_LEN);
		assert_int_equal(do_call(ep, s, b, data, 0), 10 * RX_DATA_LEN);
		assert_null(rx_endpoint_connect(ep, &to, SERVICE));
		advance_echo(s);
		rx_endpoint_close(ep);
	}
	assert_int_equal(s->arrived, 60);
	free_echo(s);
}

static struct rx_call *begin_short(struct rx_endpoint *ep, struct rx_conn *conn)
{
	struct rx_call *c = rx_endpoint_begin(ep, conn, clock_now_ns());
	struct err e;

	assert_non_null(c);
	rx_call_end(c);
	assert_int_equal(rx_endpoint_advance(ep, clock_now_ns(), &e), 0);
	return c;
}

static void a_connection_has_four_channels(void **state)
{
	struct echo *s = new_echo((struct rx_endpoint_opts) { .n_conns = 4, .n_calls = 16 });
	struct sockaddr_in to = at_port(rx_endpoint_port(s->ep));
	struct rx_endpoint *ep = new_client((struct rx_endpoint_opts) { .n_conns = 1 });
	struct rx_conn *conn = rx_endpoint_connect(ep, &to, SERVICE);
	uint64_t end_ns = clock_now_ns() + PATIENCE;

	(void)state;
	s->keeps = true;
	for (int i = 0; i < 4; i++)
		begin_short(ep, conn);
	assert_null(rx_endpoint_begin(ep, conn, clock_now_ns()));
	while (s->arrived < 4)
		turn(ep, s, end_ns);
	assert_int_equal(rx_inside_active(s->ep), 4);
	rx_endpoint_close(ep);
	free_echo(s);
}

static void a_port_without_a_server_is_noticed_at_once(void **state)
{
	struct echo *s = new_echo((struct rx_endpoint_opts) { .n_conns = 1 });
	struct sockaddr_in to = at_port(rx_endpoint_port(s->ep));
	struct rx_endpoint *ep = new_client((struct rx_endpoint_opts) { .n_conns = 1 });
	struct rx_conn *conn = rx_endpoint_connect(ep, &to, SERVICE);
	uint64_t end_ns = clock_now_ns() + 2000000000u;
	struct rx_call *c;
	struct io_wait w;
	struct err e;

	(void)state;
	free_echo(s);
	c = begin_short(ep, conn);
	while (rx_call_state(c) == RX_CALL_ACTIVE && clock_now_ns() < end_ns) {
		rx_endpoint_wait(ep, &w);
		io_wait(&w, 100000000);
		assert_int_equal(rx_endpoint_advance(ep, clock_now_ns(), &e), 0);
	}
	assert_int_equal(rx_call_error(c), RX_CALL_DEAD);
	assert_string_equal(rx_call_why(c), "nobody listens on this port");
	/* and nothing wakes for ever */
	rx_endpoint_wait(ep, &w);
	assert_int_equal(poll(&(struct pollfd) { w.fd, w.events, 0 }, 1, 0), 0);
	rx_endpoint_close(ep);
}

/* What the kernel has to say of the first datagram it says when the second is to be sent. */
static void a_refusal_that_comes_while_sending_wakes_once(void **state)
{
	struct echo *s = new_echo((struct rx_endpoint_opts) { .n_conns = 1 });
	struct sockaddr_in to = at_port(rx_endpoint_port(s->ep));
	struct rx_endpoint *ep = new_client((struct rx_endpoint_opts) { .n_conns = 1 });
	struct rx_conn *conn = rx_endpoint_connect(ep, &to, SERVICE);
	struct rx_call *c[2];
	struct io_wait w;
	struct err e;

	(void)state;
	free_echo(s);
	for (int i = 0; i < 2; i++) {
		c[i] = rx_endpoint_begin(ep, conn, clock_now_ns());
		rx_call_end(c[i]);
		assert_int_equal(rx_endpoint_flush(ep, clock_now_ns()), 0);
	}
	rx_endpoint_wait(ep, &w);
	assert_int_equal(w.due_ns, 0);
	assert_int_equal(rx_endpoint_advance(ep, clock_now_ns(), &e), 0);
	assert_int_equal(rx_call_error(c[0]), RX_CALL_DEAD);
	assert_int_equal(rx_call_error(c[1]), RX_CALL_DEAD);
	/* of the second datagram it may say something, too */
	assert_int_equal(rx_endpoint_advance(ep, clock_now_ns(), &e), 0);
	rx_endpoint_wait(ep, &w);
	assert_int_equal(poll(&(struct pollfd) { w.fd, w.events, 0 }, 1, 0), 0);
	rx_endpoint_close(ep);
}

/* A broadcast address needs a right that the socket has not. */
static void who_cannot_be_reached_is_said_at_once(void **state)
{
	struct rx_endpoint *ep = new_client((struct rx_endpoint_opts) { .n_conns = 1 });
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	struct rx_call *c;
	struct err e;

	(void)state;
	to.sin_addr.s_addr = htonl(INADDR_BROADCAST);
	c = begin_short(ep, rx_endpoint_connect(ep, &to, SERVICE));
	assert_int_equal(rx_endpoint_advance(ep, clock_now_ns(), &e), 0);
	assert_int_equal(rx_call_error(c), RX_CALL_DEAD);
	assert_non_null(rx_call_why(c));
	assert_true(!strcmp(rx_call_why(c), strerrordesc_np(EACCES)) ||
		    !strcmp(rx_call_why(c), strerrordesc_np(ENETUNREACH)));
	rx_endpoint_close(ep);
}

static void an_unknown_service_is_refused(void **state)
{
	struct echo *s = new_echo((struct rx_endpoint_opts) { .n_conns = 1 });
	struct sockaddr_in to = at_port(rx_endpoint_port(s->ep));
	struct rx_endpoint *ep = new_client((struct rx_endpoint_opts) { .n_conns = 1 });
	struct rx_conn *conn = rx_endpoint_connect(ep, &to, SERVICE + 1);
	uint64_t end_ns = clock_now_ns() + PATIENCE;
	struct rx_call *c = begin_short(ep, conn);

	(void)state;
	while (rx_call_state(c) == RX_CALL_ACTIVE)
		turn(ep, s, end_ns);
	assert_int_equal(rx_call_error(c), RX_INVALID_OPERATION);
	assert_int_equal(s->arrived, 0);
	rx_endpoint_close(ep);
	free_echo(s);
}

/* ---- by hand ---- */

static int plain_socket(uint16_t port)
{
	struct sockaddr_in to = at_port(port);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_true(fd >= 0 && !connect(fd, (struct sockaddr *)&to, sizeof(to)));
	return fd;
}

/* What the server answers, its first packet's type; 0: nothing. */
static int exchange(struct echo *s, int fd, const char *hex, uint8_t *reply)
{
	uint8_t raw[256];
	size_t len = hex_bytes(raw, hex);

	assert_int_equal(send(fd, raw, len, 0), len);
	advance_echo(s);
	return recv(fd, reply, RX_PACKET_LEN, MSG_DONTWAIT) >= RX_HEADER_LEN ? reply[20] : 0;
}

/* A channel whose call is still worked on is busy; the call is given up by its client. */
static void a_second_call_on_a_channel_finds_it_busy(void **state)
{
	struct echo *s = new_echo((struct rx_endpoint_opts) { .n_conns = 1 });
	int fd = plain_socket(rx_endpoint_port(s->ep));
	uint8_t reply[RX_PACKET_LEN];

	(void)state;
	s->keeps = true;
	assert_int_equal(
	    exchange(s, fd, "80000001 00000100 00000001 00000001 00000001 01 07 00 00 0000 0093",
		     reply),
	    RX_ACK);
	assert_int_equal(rx_call_state(s->kept), RX_CALL_ACTIVE);
	assert_int_equal(
	    exchange(s, fd, "80000001 00000100 00000002 00000001 00000002 01 07 00 00 0000 0093",
		     reply),
	    RX_BUSY);
	assert_memory_equal(reply, "\x80\0\0\1\0\0\1\0\0\0\0\2\0\0\0\0", 16);
	assert_int_equal(rx_call_state(s->kept), RX_CALL_OVER);
	rx_endpoint_release(s->ep, s->kept);
	assert_int_equal(
	    exchange(s, fd, "80000001 00000100 00000002 00000001 00000003 01 07 00 00 0000 0093",
		     reply),
	    RX_ACK);
	assert_int_equal(s->arrived, 2);
	close(fd);
	free_echo(s);
}

/* Of no call, of an old one, beyond the window, with security, cut off, of an unknown type. */
static void what_belongs_to_no_call_is_dropped(void **state)
{
	static const char *const strange[] = {
		"80000001 00000100 00000001 00000000 00000001 02 01 00 00 0000 0093",
		"80000001 00000100 00000001 00000021 00000001 01 01 00 00 0000 0093",
		"80000001 00000100 00000001 00000000 00000001 01 01 00 00 0000 0093",
		"80000001 00000100 00000001 00000001 00000001 01 01 00 02 0000 0093",
		"80000001 00000100 00000001 00000001 00000001 01 00 00 00 0000 0093",
		"80000001 00000100 00000001 00000001 00000001 0b 01 00 00 0000 0093",
		"80000001 0000",
		"80000001 00000100 00000001 00000001 00000001 0d 00 00 00 0000 0093",
	};
	struct echo *s = new_echo((struct rx_endpoint_opts) { .n_conns = 1 });
	int fd = plain_socket(rx_endpoint_port(s->ep));
	uint8_t reply[RX_PACKET_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++)
		assert_int_equal(exchange(s, fd, strange[i], reply), 0);
	assert_int_equal(s->arrived, 0);
	close(fd);
	free_echo(s);
}

static void a_version_is_65_bytes(void **state)
{
	struct echo *s = new_echo((struct rx_endpoint_opts) { .n_conns = 1 });
	int fd = plain_socket(rx_endpoint_port(s->ep));
	uint8_t raw[64], reply[256];
	size_t len = hex_bytes(
	    raw, "00000001 00000000 00000007 00000000 00000000 0d 01 00 00 0000 0000");

	(void)state;
	assert_int_equal(send(fd, raw, len, 0), len);
	advance_echo(s);
	assert_int_equal(recv(fd, reply, sizeof(reply), MSG_DONTWAIT), RX_HEADER_LEN + 65);
	assert_memory_equal(reply, "\0\0\0\1\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0\0\r\0", 22);
	assert_string_equal((char *)reply + RX_HEADER_LEN, "afpscope");
	close(fd);
	free_echo(s);
}

/* A buffer that is too small loses datagrams, and that is known. */
static void drops_of_the_own_socket_are_counted(void **state)
{
	struct echo *s = new_echo((struct rx_endpoint_opts) { .n_conns = 1, .buffer_len = 8192 });
	const struct rx_buffers b = rx_endpoint_buffers(s->ep);
	int fd = plain_socket(rx_endpoint_port(s->ep));
	uint8_t raw[1000] = { 0 };
	uint64_t drops, received;

	(void)state;
	assert_int_equal(b.asked_len, 8192);
	assert_int_equal(b.received_len, 8192);
	assert_true(rx_endpoint_drops(s->ep, &drops));
	assert_int_equal(drops, 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(send(fd, raw, sizeof(raw), 0), sizeof(raw));
	assert_true(rx_endpoint_drops(s->ep, &drops));
	for (int i = 0; i < 10; i++)
		advance_echo(s);
	received = rx_endpoint_hub(s->ep)->counts.datagrams_received;
	assert_true(drops > 0 && received > 0);
	assert_int_equal(drops + received, 100);
	close(fd);
	free_echo(s);
}

/* What was given up is not sent any more, and its memory may go. */
static void a_released_call_borrows_nothing(void **state)
{
	struct echo *s = new_echo((struct rx_endpoint_opts) { .n_conns = 1 });
	struct sockaddr_in to = at_port(rx_endpoint_port(s->ep));
	struct rx_endpoint *ep = new_client((struct rx_endpoint_opts) { .n_conns = 1 });
	struct rx_conn *conn = rx_endpoint_connect(ep, &to, SERVICE);
	uint64_t end_ns = clock_now_ns() + PATIENCE;
	uint8_t *data = malloc(100000);
	struct rx_call *c = rx_endpoint_begin(ep, conn, clock_now_ns());

	(void)state;
	pattern_fill(data, 100000, 0, 1);
	rx_call_write(c, data, 100000);
	while (!s->arrived)
		turn(ep, s, end_ns);
	rx_endpoint_release(ep, c);
	free(data);
	while (!s->over)
		turn(ep, s, end_ns);
	assert_int_equal(rx_call_error(s->kept), RX_USER_ABORT);
	rx_endpoint_close(ep);
	free_echo(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_go_over_real_sockets),
		cmocka_unit_test(a_small_server_serves_any_number_of_clients),
		cmocka_unit_test(a_connection_has_four_channels),
		cmocka_unit_test(a_port_without_a_server_is_noticed_at_once),
		cmocka_unit_test(a_refusal_that_comes_while_sending_wakes_once),
		cmocka_unit_test(who_cannot_be_reached_is_said_at_once),
		cmocka_unit_test(an_unknown_service_is_refused),
		cmocka_unit_test(a_second_call_on_a_channel_finds_it_busy),
		cmocka_unit_test(what_belongs_to_no_call_is_dropped),
		cmocka_unit_test(a_version_is_65_bytes),
		cmocka_unit_test(drops_of_the_own_socket_are_counted),
		cmocka_unit_test(a_released_call_borrows_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
