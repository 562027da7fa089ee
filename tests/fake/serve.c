/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listening, accepting, and an end that comes from outside. */
#include "fake/serve.h"

#include "unit/loopback.h"

#include <stdio.h>
#include <stdlib.h>

static void require(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	abort();
}

static void *run(void *arg)
{
	struct serve *s = arg;
	int fd;

	while ((fd = accept(s->listener, NULL, NULL)) >= 0) {
		pthread_mutex_lock(&s->lock);
		s->conn = fd;
		pthread_mutex_unlock(&s->lock);
		if (!atomic_load(&s->stopping))
			s->one(s->user, fd);
		pthread_mutex_lock(&s->lock);
		close(fd);
		s->conn = -1;
		pthread_mutex_unlock(&s->lock);
	}
	return NULL;
}

void serve_start(struct serve *s, void (*one)(void *user, int fd), void *user)
{
	struct sockaddr_in at;
	socklen_t len = sizeof(at);
	struct loopback l;

	s->one = one;
	s->user = user;
	s->conn = -1;
	pthread_mutex_init(&s->lock, NULL);
	require(loopback_listen(&l, LOOPBACK_V4), "listen");
	s->listener = l.listener;
	require(!getsockname(s->listener, (struct sockaddr *)&at, &len), "getsockname");
	snprintf(s->port, sizeof(s->port), "%u", ntohs(at.sin_port));
	require(!pthread_create(&s->thread, NULL, run, s), "pthread_create");
	s->running = true;
}

void serve_stop(struct serve *s)
{
	if (!s->running)
		return;
	s->running = false;
	atomic_store(&s->stopping, true);
	shutdown(s->listener, SHUT_RDWR);
	pthread_mutex_lock(&s->lock);
	if (s->conn >= 0)
		shutdown(s->conn, SHUT_RDWR);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_mutex_destroy(&s->lock);
	close(s->listener);
}
