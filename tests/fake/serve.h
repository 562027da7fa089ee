/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FAKE_SERVE_H
#define FAKE_SERVE_H

/*
 * A thread that serves one connection after the other on a free port of 127.0.0.1. Aborts the test
 * program on failure.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct serve {
	char port[8];         /* from serve_start() on */
	atomic_bool stopping; /* the connection will be ended by serve_stop() */

	/* Its own */
	void (*one)(void *user, int fd);
	void *user;
	int listener, conn;
	pthread_mutex_t lock;
	pthread_t thread;
	bool running;
};

/* one: serves a connection to its end; it does not close it. All else is 0. */
void serve_start(struct serve *s, void (*one)(void *user, int fd), void *user);

/* Ends the connection, if there is one, and the thread. May be called twice, or before a start. */
void serve_stop(struct serve *s);

#endif
