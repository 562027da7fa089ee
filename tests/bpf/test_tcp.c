/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The server's end of the client's connection, as a watch sees it on every rung.
 * Tests user/watch/watch.c.
 */
#include "watched.h"

#include "host/rights.h"
#include "unit/loopback.h"

#define BYTES 4096

/* Another user's: takes one connection, answers BYTES of it, and stays until its end. */
static pid_t serve(const struct loopback *l)
{
	static char buf[BYTES];
	pid_t pid = fork();
	int fd;

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setgid(65534) || setuid(65534))
		_exit(1);
	fd = accept(l->listener, NULL, NULL);
	if (fd < 0 || recv(fd, buf, sizeof(buf), MSG_WAITALL) != BYTES || send(fd, "", 1, 0) != 1)
		_exit(1);
	while (recv(fd, buf, sizeof(buf), 0) > 0)
		;
	_exit(0);
}

static pid_t start(struct loopback *l, enum loopback_kind kind)
{
	static char buf[BYTES];
	pid_t pid;

	if (!loopback_listen(l, kind))
		skip();
	pid = serve(l);
	assert_true(loopback_connect(l, kind, 0));
	assert_int_equal(send(l->client, buf, BYTES, 0), BYTES);
	assert_int_equal(recv(l->client, buf, 1, 0), 1);
	return pid;
}

enum seen { ALL_RIGHT, NO_WATCH, RIGHTS_KEPT, WRONG_RUNG, NO_LOOK, WRONG_BYTES, LOOKS_AT_DEAD };

static enum seen look_at(struct watch *w, const struct watch_opts *o, int client)
{
	static const char *const name[] = {
		[WATCH_BPF] = "bpf", [WATCH_PROC] = "proc", [WATCH_OFF] = NULL
	};
	const char *rung = watch_rung(w), *want = name[o->mode];
	struct run_tcp tcp = {};

	if (want ? !rung || strcmp(rung, want) != 0 : rung != NULL)
		return WRONG_RUNG;
	if (watch_tcp(w, &tcp) != (o->mode != WATCH_OFF))
		return NO_LOOK;
	if (o->mode == WATCH_OFF)
		return ALL_RIGHT;
	if (tcp.value[TCP_BYTES_RECEIVED] != BYTES)
		return WRONG_BYTES;
	shutdown(client, SHUT_RDWR);
	for (int i = 0; i < 400; i++) {
		if (!watch_tcp(w, &tcp))
			return ALL_RIGHT;
		usleep(5000);
	}
	return LOOKS_AT_DEAD;
}

/* In a process of its own, which gives up its rights as the program does. */
static enum seen watch_it(const struct loopback *l, enum watch_mode mode)
{
	const struct watch_opts o = { .mode = mode, .local = l->local, .peer = l->peer };
	struct err e = {};
	enum seen seen;
	struct watch *w;

	if (watch_open(&w, &o, &e)) {
		print_message("%s\n", e.text);
		return NO_WATCH;
	}
	seen = rights_drop(0) ? RIGHTS_KEPT : look_at(w, &o, l->client);
	watch_free(w);
	return seen;
}

static void check(enum loopback_kind kind, enum watch_mode mode)
{
	struct loopback l;
	pid_t server = start(&l, kind), pid;
	int status = -1;

	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit((int)watch_it(&l, mode));
	waitpid(pid, &status, 0);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	loopback_end(&l);
	assert_int_equal(status, ALL_RIGHT);
}

static void the_bpf_rung_sees_the_server_s_end(void **state)
{
	(void)state;
	check(LOOPBACK_V4, WATCH_BPF);
	check(LOOPBACK_MAPPED, WATCH_BPF);
}

static void the_proc_rung_sees_the_server_s_end(void **state)
{
	(void)state;
	check(LOOPBACK_V4, WATCH_PROC);
	check(LOOPBACK_V6, WATCH_PROC);
}

static void an_unwanted_watch_sees_nothing(void **state)
{
	(void)state;
	check(LOOPBACK_V4, WATCH_OFF);
}

/* A server elsewhere, and a watch that knows no client. */
static void without_a_connection_here_nothing_is_seen(void **state)
{
	struct watch_opts o = { .mode = WATCH_AUTO };
	const struct target t = { .server = getpid() };
	struct run_tcp tcp = {};
	struct err e = {};
	struct watch *w;

	(void)state;
	loopback_addr(&o.local, AF_INET, htons(1));
	loopback_addr(&o.peer, AF_INET, htons(1));
	inet_pton(AF_INET, "192.0.2.7", &((struct sockaddr_in *)&o.peer)->sin_addr);
	assert_int_equal(watch_open(&w, &o, &e), 0);
	assert_false(watch_tcp(w, &tcp));
	watch_free(w);
	assert_int_equal(watch_open_target(&w, WATCH_PROC, &t, &e), 0);
	assert_false(watch_tcp(w, &tcp));
	watch_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bpf_rung_sees_the_server_s_end),
		cmocka_unit_test(the_proc_rung_sees_the_server_s_end),
		cmocka_unit_test(an_unwanted_watch_sees_nothing),
		cmocka_unit_test(without_a_connection_here_nothing_is_seen),
	};

	return cmocka_run_group_tests(tests, watched_mount_tracefs, NULL);
}
