/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Real connections, some of them carried on by a child of the test. */
#include "kinds/afp/looks.h"

#include "unit/loopback.h"

#include <grp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

#define ASKED    300 /* bytes */
#define ANSWERED 5000

static uint16_t port_of(const struct sockaddr_storage *addr)
{
	return ntohs(((const struct sockaddr_in *)addr)->sin_port);
}

static struct loopback listening(void)
{
	struct loopback l;

	assert_true(loopback_listen(&l, LOOPBACK_V4));
	return l;
}

static void connected(struct loopback *l)
{
	assert_true(loopback_connect(l, LOOPBACK_V4, 0));
}

static void carry_on(int from, int to)
{
	char buf[1024];
	ssize_t n = recv(from, buf, sizeof(buf), 0);

	if (n <= 0 || send(to, buf, (size_t)n, 0) != n)
		_exit(0);
}

/* As a relay, whose connection to the server exists: takes one client, and carries its bytes. */
static void relay(const struct loopback *in, const struct loopback *out)
{
	int client = accept4(in->listener, NULL, NULL, SOCK_CLOEXEC);
	struct pollfd p[2] = { { .fd = client, .events = POLLIN },
			       { .fd = out->client, .events = POLLIN } };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "carrier");
	while (poll(p, 2, -1) > 0)
		for (int i = 0; i < 2; i++)
			if (p[i].revents)
				carry_on(p[i].fd, p[!i].fd);
}

static void send_all(int fd, size_t n)
{
	static char buf[ANSWERED];

	assert_int_equal(send(fd, buf, n, 0), n);
}

static void receive_all(int fd, size_t n)
{
	static char buf[ANSWERED];

	assert_int_equal(recv(fd, buf, n, MSG_WAITALL), n);
}

struct scene {
	struct loopback server, in; /* in: where the relay's clients come */
	pid_t relay;
	struct run r;
	struct run_figures f;
	struct servers_entry entry;
};

static void begin(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	s->server = listening();
	connected(&s->server);
	s->server.server = accept4(s->server.listener, NULL, NULL, SOCK_CLOEXEC);
	s->in = listening();
	connected(&s->in);
	s->entry.n_ports = 1;
	s->entry.port[0] = port_of(&s->server.peer);
	assert_int_equal(run_init(&s->r, "doctor", "doctor"), 0);
}

/* What a client asks, and the answer, by the relay's connection or by none. */
static void exchange(struct scene *s, int asks)
{
	send_all(asks, ASKED);
	receive_all(s->server.server, ASKED);
	send_all(s->server.server, ANSWERED);
	receive_all(asks, ANSWERED);
}

static void begin_relayed(struct scene *s)
{
	begin(s);
	s->relay = fork();
	assert_true(s->relay >= 0);
	if (!s->relay) {
		close(s->in.client);
		close(s->server.server);
		relay(&s->in, &s->server);
		_exit(0);
	}
	/* The child's alone, as it is the relay's. */
	loopback_reset(&s->server.client);
	exchange(s, s->in.client);
}

static void session(struct scene *s, uint16_t port, uint64_t requests)
{
	struct run_session *x = run_session(&s->r);

	assert_non_null(x);
	assert_true(asprintf(&x->address, "127.0.0.1:%u", port) > 0);
	x->requests = requests;
}

static void end(struct scene *s)
{
	if (s->relay) {
		kill(s->relay, SIGKILL);
		waitpid(s->relay, NULL, 0);
	}
	run_fini(&s->r);
	loopback_end(&s->server);
	loopback_end(&s->in);
}

static void is(const struct run_figures *f, enum run_figure which, double value)
{
	assert_true(f->known[which]);
	assert_float_equal(f->value[which], value, 1e-9);
}

static void who_carries_a_connection_on_is_named(void **state)
{
	char want[64];
	struct scene s;

	(void)state;
	begin_relayed(&s);
	session(&s, port_of(&s.server.local), 30);
	session(&s, 1, 70); /* of another machine */
	relays_look(&s.f, &s.r, &s.entry, NULL, 0);
	is(&s.f, RUN_FIGURE_RELAY, 1);
	is(&s.f, RUN_FIGURE_RELAY_REQUESTS, 0.3);
	snprintf(want, sizeof(want), "carrier (pid %d) from 127.0.0.1", s.relay);
	assert_string_equal(s.f.who[RUN_FIGURE_RELAY], want);
	end(&s);
}

/* The test holds both ends of another connection, through which other bytes went. */
static void a_client_with_other_connections_is_no_relay(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	s.in.server = accept4(s.in.listener, NULL, NULL, SOCK_CLOEXEC);
	exchange(&s, s.server.client);
	send_all(s.in.client, ASKED);
	receive_all(s.in.server, ASKED);
	session(&s, port_of(&s.server.local), 30);
	relays_look(&s.f, &s.r, &s.entry, NULL, 0);
	is(&s.f, RUN_FIGURE_RELAY, 0);
	is(&s.f, RUN_FIGURE_RELAY_REQUESTS, 0);
	end(&s);
}

static void clients_of_other_machines_only_have_no_relay_here(void **state)
{
	struct scene s;

	(void)state;
	begin_relayed(&s);
	session(&s, 1, 70);
	session(&s, port_of(&s.server.local), 30);
	s.r.session[1].ended_ns = 1;
	relays_look(&s.f, &s.r, &s.entry, NULL, 0);
	is(&s.f, RUN_FIGURE_RELAY, 0);
	end(&s);
}

/* 127.0.0.1 there is not 127.0.0.1 here. */
static void a_loopback_client_of_a_server_elsewhere_is_not_here(void **state)
{
	struct scene s;

	(void)state;
	begin_relayed(&s);
	session(&s, port_of(&s.server.local), 30);
	s.entry.elsewhere = true;
	relays_look(&s.f, &s.r, &s.entry, NULL, 0);
	is(&s.f, RUN_FIGURE_RELAY, 0);
	end(&s);
}

static void what_another_users_process_holds_is_not_known(void **state)
{
	struct scene s;
	int status = -1;
	pid_t pid;

	(void)state;
	if (getuid())
		skip();
	begin_relayed(&s);
	session(&s, port_of(&s.server.local), 30);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (setgroups(0, NULL) || setresgid(65534, 65534, 65534) ||
		    setresuid(65534, 65534, 65534))
			_exit(2);
		relays_look(&s.f, &s.r, &s.entry, NULL, 0);
		_exit(s.f.known[RUN_FIGURE_RELAY] ? 3 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_carries_a_connection_on_is_named),
		cmocka_unit_test(a_client_with_other_connections_is_no_relay),
		cmocka_unit_test(clients_of_other_machines_only_have_no_relay_here),
		cmocka_unit_test(a_loopback_client_of_a_server_elsewhere_is_not_here),
		cmocka_unit_test(what_another_users_process_holds_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
