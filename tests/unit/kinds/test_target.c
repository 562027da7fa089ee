/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The places of a target's processes. Tests user/kinds/target.c. */
#include "kinds/target.h"

#include "unit/loopback.h"
#include "unit/working_child.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY (2 * TARGET_BACKENDS_MAX)

static void backends_that_come_and_go_take_each_others_places(void **state)
{
	static struct target t;
	struct child c = child_start();
	const pid_t own = getpid();

	(void)state;
	target_processes(&t, &own, 1);
	target_add(&t, own, AFS_ROLE_BACKEND);
	for (int i = 0; i < MANY; i++) {
		target_add(&t, c.pid, AFS_ROLE_BACKEND);
		assert_int_equal(target_count(&t, AFS_ROLE_BACKEND), 2);
		assert_int_equal(t.process[2].pid, c.pid);
		assert_false(t.process[2].ended);
		t.process[2].ended = true;
	}
	assert_int_equal(t.process[1].pid, own);
	assert_false(t.crowded);
	child_end(&c);
}

/* A process that is called so has the accepted end, and nothing else of it. */
static pid_t backend_called(const char *name, struct loopback *l)
{
	char ready;
	int pipes[2];
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		close(l->client);
		if (write(pipes[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(pipes[0], &ready, 1), 1);
	close(pipes[0]);
	close(pipes[1]);
	close(l->server);
	l->server = -1;
	return pid;
}

/* Whether connections to it are known, also those that are opened later. */
static bool knows_port(const struct target *t, const struct loopback *l)
{
	uint16_t port = ntohs(((const struct sockaddr_in *)&l->peer)->sin_port);
	bool found = false;

	for (uint32_t i = 0; i < t->known.n_ports; i++)
		found |= t->known.port[i].port == port &&
			 t->known.port[i].object == AFS_OBJECT_BACKEND;
	return found;
}

static void the_port_of_a_backend_is_known_when_its_connection_has_gone(void **state)
{
	static const char *const names[] = { "cnid_dbd", "another" };
	static struct target t;
	struct loopback l;
	pid_t pid;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_true(loopback_listen(&l, LOOPBACK_V4));
		assert_true(loopback_connect(&l, LOOPBACK_V4, 0));
		l.server = accept(l.listener, NULL, NULL);
		pid = backend_called(names[i], &l);
		memset(&t, 0, sizeof(t));
		t.server = getpid();
		target_look(&t);
		assert_int_equal(knows_port(&t, &l), !i);
		loopback_end(&l);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		target_look(&t);
		assert_int_equal(knows_port(&t, &l), !i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(backends_that_come_and_go_take_each_others_places),
		cmocka_unit_test(the_port_of_a_backend_is_known_when_its_connection_has_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
