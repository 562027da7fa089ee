/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections of link-local addresses that are alike but for the interface, in a network namespace
 * of the test. Tests user/host/net/sockets.c, tcpdiag.c, user/attach/connections.c.
 */
#include "attach/connections.h"
#include "host/net/sockets.h"
#include "host/net/tcpdiag.h"
#include "run/load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PORT   5480
#define CLIENT 5481
#define LINKS  2

/* On each of the interfaces: a connection from and to the same addresses and ports. */
struct scene {
	int listener, client[LINKS], server[LINKS];
	uint32_t link[LINKS];
	struct sockets all;
};

static uint64_t inode(int fd)
{
	struct stat st;

	assert_return_code(fstat(fd, &st), 0);
	return st.st_ino;
}

static struct sockaddr_in6 address(const char *ip, uint16_t port, uint32_t link)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6,
				   .sin6_port = htons(port),
				   .sin6_scope_id = link };

	assert_int_equal(inet_pton(AF_INET6, ip, &at.sin6_addr), 1);
	return at;
}

static void begin(struct scene *s)
{
	struct sockaddr_in6 any = address("::", PORT, 0), from, to;
	int on = 1;

	memset(s, 0, sizeof(*s));
	s->listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_return_code(bind(s->listener, (void *)&any, sizeof(any)), errno);
	assert_return_code(listen(s->listener, LINKS), errno);
	for (int i = 0; i < LINKS; i++) {
		s->link[i] = if_nametoindex(i ? "two" : "one");
		from = address("fe80::2", CLIENT, s->link[i]);
		to = address("fe80::1", PORT, s->link[i]);
		s->client[i] = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
		setsockopt(s->client[i], SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		assert_return_code(bind(s->client[i], (void *)&from, sizeof(from)), errno);
		assert_return_code(connect(s->client[i], (void *)&to, sizeof(to)), errno);
		s->server[i] = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
		assert_return_code(s->server[i], errno);
	}
}

static void end(struct scene *s)
{
	sockets_fini(&s->all);
	for (int i = 0; i < LINKS; i++) {
		close(s->client[i]);
		close(s->server[i]);
	}
	close(s->listener);
}

static void each_end_finds_the_one_on_its_interface(void **state)
{
	const struct sockets_entry *e;
	struct scene s;
	size_t n = 0;

	(void)state;
	begin(&s);
	assert_int_equal(sockets_read(&s.all, NULL), 0);
	for (int i = 0; i < LINKS; i++) {
		e = sockets_of_inode(&s.all, inode(s.server[i]));
		assert_non_null(e);
		assert_int_equal(e->local.scope, s.link[i]);
		assert_int_equal(e->remote.scope, s.link[i]);
		assert_int_equal(sockets_peer(&s.all, inode(s.client[i])), inode(s.server[i]));
		assert_int_equal(sockets_peer(&s.all, inode(s.server[i])), inode(s.client[i]));
		assert_ptr_equal(sockets_find(&s.all, &e->local, &e->remote, &n), e);
		assert_int_equal(n, i + 1);
	}
	end(&s);
}

/* The tables in /proc do not have the interface. */
static void where_the_interface_is_not_known_none_is_found(void **state)
{
	const struct sockets_entry *e;
	struct scene s;
	size_t n = 0;

	(void)state;
	begin(&s);
	assert_int_equal(sockets_read_proc(&s.all, 0), 0);
	e = sockets_of_inode(&s.all, inode(s.server[0]));
	assert_non_null(e);
	assert_int_equal(e->remote.scope, 0);
	assert_int_equal(sockets_peer(&s.all, inode(s.client[0])), 0);
	assert_null(sockets_find(&s.all, &e->local, &e->remote, &n));
	assert_int_equal(n, LINKS);
	end(&s);
}

static void what_a_connection_has_carried_is_its_own(void **state)
{
	struct sockaddr_storage local, peer;
	struct run_tcp tcp = { 0 };
	uint64_t read_b, written_b;
	struct tcpdiag d;
	struct scene s;
	socklen_t len;

	(void)state;
	begin(&s);
	assert_int_equal(send(s.client[1], "seven b", 7, 0), 7);
	assert_int_equal(sockets_read(&s.all, NULL), 0);
	for (int i = 0; i < LINKS; i++) {
		char in[8];

		if (i)
			assert_int_equal(recv(s.server[i], in, sizeof(in), 0), 7);
		assert_true(tcpdiag_carried(sockets_of_inode(&s.all, inode(s.server[i])), &read_b,
					    &written_b));
		assert_int_equal(read_b, i ? 7 : 0);
		len = sizeof(local);
		assert_return_code(getsockname(s.client[i], (void *)&local, &len), errno);
		len = sizeof(peer);
		assert_return_code(getpeername(s.client[i], (void *)&peer, &len), errno);
		assert_int_equal(tcpdiag_open(&d, &local, &peer), 0);
		assert_true(tcpdiag_look(&d, &tcp));
		assert_int_equal(tcp.value[TCP_BYTES_RECEIVED], i ? 7 : 0);
		tcpdiag_close(&d);
	}
	end(&s);
}

static void a_session_has_the_figures_of_its_own_connection(void **state)
{
	const struct servers_entry server = { .n_ports = 1, .port = { PORT } };
	struct run_session *session[LINKS];
	struct connections c;
	struct scene s;
	struct run r;

	(void)state;
	begin(&s);
	assert_int_equal(run_init(&r, "doctor", "doctor"), 0);
	connections_begin(&c, &server);
	assert_int_equal(send(s.client[1], "seven b", 7, 0), 7);
	connections_look(&c);
	for (int i = 0; i < LINKS; i++)
		assert_non_null(run_session(&r));
	for (int i = 0; i < LINKS; i++) {
		session[i] = &r.session[i];
		assert_true(asprintf(&session[i]->address, "[fe80::2%%%u]:%u", s.link[i], CLIENT) >
			    0);
	}
	connections_note(&c, &r);
	for (int i = 0; i < LINKS; i++) {
		assert_true(session[i]->tcp.known);
		assert_int_equal(session[i]->tcp.received, i ? 7 : 0);
	}
	connections_fini(&c);
	run_fini(&r);
	end(&s);
}

static void an_address_of_a_link_is_ours(void **state)
{
	struct sockets_addr at;
	char text[SOCKETS_TEXT_LEN], expected[SOCKETS_TEXT_LEN];

	(void)state;
	snprintf(expected, sizeof(expected), "[fe80::1%%%u]:548", if_nametoindex("two"));
	assert_true(sockets_addr_parse(&at, expected));
	assert_true(sockets_is_ours(&at));
	sockets_text(text, sizeof(text), &at);
	assert_string_equal(text, expected);
	assert_true(sockets_addr_parse(&at, "[fe80::7%1]:548"));
	assert_false(sockets_is_ours(&at));
}

static void only_link_local_addresses_have_a_scope(void **state)
{
	struct sockets_addr at, other;
	char text[SOCKETS_TEXT_LEN];

	(void)state;
	assert_true(sockets_addr_parse(&at, "[2001:db8::1%3]:548"));
	assert_int_equal(at.scope, 0);
	assert_true(sockets_addr_parse(&at, "[febf:1234:1234:1234:1234:1234:1234:1234%4294967295]"
					    ":65535"));
	sockets_text(text, sizeof(text), &at);
	assert_string_equal(text, "[febf:1234:1234:1234:1234:1234:1234:1234%4294967295]:65535");
	assert_true(strlen(text) < RUN_ADDRESS_LEN);
	other = at;
	other.scope = 1;
	assert_false(sockets_same(&at, &other));
	other.scope = 0;
	assert_true(sockets_same(&at, &other));
}

static int links_up(void **state)
{
	(void)state;
	if (unshare(CLONE_NEWNET))
		return 0;
	return system("ip link set lo up && for i in one two; do ip link add $i type veth peer "
		      "far$i && ip link set $i up && ip link set far$i up && "
		      "ip addr add fe80::1/64 dev $i nodad && "
		      "ip addr add fe80::2/64 dev $i nodad || exit 1; done");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_end_finds_the_one_on_its_interface),
		cmocka_unit_test(where_the_interface_is_not_known_none_is_found),
		cmocka_unit_test(what_a_connection_has_carried_is_its_own),
		cmocka_unit_test(a_session_has_the_figures_of_its_own_connection),
		cmocka_unit_test(an_address_of_a_link_is_ours),
		cmocka_unit_test(only_link_local_addresses_have_a_scope),
	};

	return cmocka_run_group_tests(tests, links_up, NULL);
}
