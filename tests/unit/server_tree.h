/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_SERVER_TREE_H
#define TESTS_UNIT_SERVER_TREE_H

/*
 * A process that listens, and a child of it for each connection that it accepts, as afpd has them.
 * What a session does is a function of the test; its client is the test.
 */

#include "kinds/servers.h"
#include "unit/loopback.h"
#include "unit/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define TREE_MAX 16

/* What a session has besides its client. */
struct tree_ends {
	int cnid;  /* connected to the CNID server, which says nothing */
	int other; /* connected to another server, which says nothing */
	int fifo;  /* from which nothing comes */
	int file;  /* that the test has locked */
	int pair;  /* connected to another process of this host, which says nothing */
};

typedef void tree_session_fn(int client, const struct tree_ends *ends);

struct tree {
	struct loopback server, cnid, other;
	char folder[64];
	int locked, far_end; /* the test's own */
	struct tree_ends ends;
	pid_t master;
	pid_t *session; /* shared; 0: not yet */
	int client[TREE_MAX];
	size_t n;
	struct servers_entry entry;
};

static inline uint16_t tree_port(const struct loopback *l)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);

	assert_int_equal(getsockname(l->listener, (void *)&at, &len), 0);
	return ntohs(((const struct sockaddr_in *)&at)->sin_port);
}

static inline void tree_files(struct tree *t)
{
	struct flock all = { .l_type = F_WRLCK };
	char path[96];
	int pair[2];

	strcpy(t->folder, "/tmp/afpscope-sessions-XXXXXX");
	assert_non_null(mkdtemp(t->folder));
	snprintf(path, sizeof(path), "%s/fifo", t->folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	t->ends.fifo = open(path, O_RDWR | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/file", t->folder);
	t->locked = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	t->ends.file = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(fcntl(t->locked, F_OFD_SETLK, &all), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	t->ends.pair = pair[0];
	t->far_end = pair[1];
}

static inline void tree_accept(struct tree *t, tree_session_fn *const *fn)
{
	pid_t pid;
	int client;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN); /* waits for them */
	for (size_t i = 0; i < t->n; i++) {
		client = accept4(t->server.listener, NULL, NULL, SOCK_CLOEXEC);
		pid = fork();
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(t->server.listener);
			for (;;)
				fn[i](client, &t->ends);
		}
		close(client);
		__atomic_store_n(&t->session[i], pid, __ATOMIC_RELEASE);
	}
	for (;;)
		pause();
}

/* Sessions in the order of their clients, each of which has sent a byte. */
static inline void tree_start(struct tree *t, size_t n, tree_session_fn *const *fn)
{
	memset(t, 0, sizeof(*t));
	t->n = n;
	t->session = mmap(NULL, TREE_MAX * sizeof(pid_t), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(loopback_listen(&t->server, LOOPBACK_V4));
	assert_true(loopback_listen(&t->cnid, LOOPBACK_V4) &&
		    loopback_connect(&t->cnid, LOOPBACK_V4, 0));
	assert_true(loopback_listen(&t->other, LOOPBACK_V4) &&
		    loopback_connect(&t->other, LOOPBACK_V4, 0));
	tree_files(t);
	t->ends.cnid = t->cnid.client;
	t->ends.other = t->other.client;
	t->master = fork();
	assert_true(t->master >= 0);
	if (!t->master)
		tree_accept(t, fn);
	for (size_t i = 0; i < n; i++) {
		assert_true(loopback_connect(&t->server, LOOPBACK_V4, 0));
		t->client[i] = t->server.client;
		wait_until(__atomic_load_n(&t->session[i], __ATOMIC_ACQUIRE));
		assert_int_equal(send(t->client[i], "", 1, 0), 1);
	}
	t->server.client = -1;
	t->entry = (struct servers_entry) { .master = t->master,
					    .n_ports = 1,
					    .port = { tree_port(&t->server) },
					    .n_cnid_ports = 1,
					    .cnid_port = { tree_port(&t->cnid) } };
}

static inline void tree_end(struct tree *t)
{
	char command[96];

	for (size_t i = 0; i < t->n; i++) {
		loopback_reset(&t->client[i]);
		wait_until(kill(t->session[i], SIGKILL));
	}
	kill(t->master, SIGKILL);
	waitpid(t->master, NULL, 0);
	loopback_end(&t->server);
	loopback_end(&t->cnid);
	loopback_end(&t->other);
	close(t->ends.fifo);
	close(t->ends.file);
	close(t->locked);
	close(t->ends.pair);
	close(t->far_end);
	munmap(t->session, TREE_MAX * sizeof(pid_t));
	snprintf(command, sizeof(command), "rm -rf %s", t->folder);
	assert_int_equal(system(command), 0);
}

/* Reads what its client sent. */
static inline void session_takes(int client)
{
	char c;

	if (recv(client, &c, 1, MSG_DONTWAIT) < 0 && errno != EAGAIN)
		_exit(1);
}

/* A session that pauses within a request. */
static inline void session_naps(int client, const struct tree_ends *ends)
{
	const struct timespec minute = { .tv_sec = 60 };

	(void)ends;
	session_takes(client);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &minute, NULL);
}

#endif
