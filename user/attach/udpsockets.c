/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "attach/udpsockets.h"

#include "base/clock.h"
#include "base/vec.h"
#include "host/net/udp.h"
#include "host/proc/procfs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define SOCKETS_MAX 64
#define SELDOM      10 /* looks: whose sockets there are */

struct udpsocket {
	uint64_t ino;
	uint64_t first, last; /* drops since it was made */
	uint64_t first_seen;  /* drops that the programs had counted */
	bool seen;
	struct run_socket is;
};

struct udpsockets {
	size_t n;
	unsigned int looks;
	bool failed;
	uint64_t begun_ns, now_ns;
	pid_t pid; /* that is looked at */
	const struct watch *watch;
	struct udpsocket one[SOCKETS_MAX];
};

struct udpsockets *udpsockets_new(void)
{
	return calloc(1, sizeof(struct udpsockets));
}

void udpsockets_free(struct udpsockets *u)
{
	for (size_t i = 0; u && i < u->n; i++)
		free(u->one[i].is.point);
	free(u);
}

static struct udpsocket *udpsockets_find(struct udpsockets *u, uint64_t ino)
{
	return VEC_FIND(o, u->one, u->n, o->ino == ino);
}

/* Two points in place of one: of the queue the larger. */
static void thin(struct run_socket *s)
{
	for (size_t i = 0; i < s->n / 2; i++) {
		const struct run_socket_point *a = &s->point[2 * i], *b = a + 1;

		s->point[i] = (struct run_socket_point) {
			.t_ns = b->t_ns,
			.queue = a->queue > b->queue ? a->queue : b->queue,
			.drops = b->drops,
		};
	}
	s->n /= 2;
	s->every *= 2;
}

static void udpsockets_add_point(struct udpsockets *u, struct udpsocket *o, uint64_t queue)
{
	struct run_socket *s = &o->is;
	struct run_socket_point *p;

	if (!s->point)
		s->point = calloc(RUN_SOCKET_POINTS, sizeof(*s->point));
	if (!s->point) {
		u->failed = true;
		return;
	}
	if (s->n == RUN_SOCKET_POINTS && s->looks % s->every == 0)
		thin(s);
	p = &s->point[s->n - (s->looks % s->every != 0)];
	if (s->looks++ % s->every == 0) {
		*p = (struct run_socket_point) { 0 };
		s->n++;
	}
	p->t_ns = u->now_ns - u->begun_ns;
	p->queue = queue > p->queue ? queue : p->queue;
	p->drops = o->last - o->first;
}

static int udpsockets_look_at(void *arg, const struct udp_socket *now)
{
	struct udpsockets *u = arg;
	struct udpsocket *o = udpsockets_find(u, now->ino);
	uint64_t n;

	if (!o)
		return 0;
	if (!o->is.looks) {
		o->first = o->last = now->drops;
		o->is.port = now->port;
		o->seen = watch_drops(u->watch, o->ino, &o->first_seen);
	}
	o->last = now->drops;
	/*
	 * The programs know a socket from the first call on it on. If the server made that after
	 * the first look, they have counted all if they have counted as many.
	 */
	if (!o->seen && watch_drops(u->watch, o->ino, &n))
		o->seen = n == o->last - o->first;
	o->is.queue_max = now->queue > o->is.queue_max ? now->queue : o->is.queue_max;
	udpsockets_add_point(u, o, now->queue);
	return 0;
}

static int add_new(void *arg, const struct udp_socket *now)
{
	struct udpsockets *u = arg;
	struct udpsocket *o = &u->one[u->n];

	if (udpsockets_find(u, now->ino) || u->n == SOCKETS_MAX)
		return 0;
	*o = (struct udpsocket) { .ino = now->ino, .is = { .pid = u->pid, .every = 1 } };
	if (udp_buffer(&o->is.buffer, u->pid, now->fd))
		o->is.buffer = 0;
	u->n++;
	return 0;
}

void udpsockets_look(struct udpsockets *u, const struct watch *w)
{
	uint64_t done[SOCKETS_MAX], space;
	size_t n = 0;

	u->watch = w;
	u->now_ns = clock_now_ns();
	if (!u->looks)
		u->begun_ns = u->now_ns;
	for (size_t at = 0;
	     u->looks % SELDOM == 0 && (u->pid = watch_process(w, AFS_ROLE_SERVER, &at));)
		udp_of(u->pid, add_new, u);
	u->looks++;
	for (size_t at = 0; n < SOCKETS_MAX && (u->pid = watch_process(w, AFS_ROLE_SERVER, &at));) {
		space = procfs_identity(u->pid, "ns/net");
		/* Of several processes in one network namespace all sockets are in the file of
		 * each.
		 */
		if (space && VEC_FIND(one, done, n, *one == space))
			continue;
		done[n++] = space;
		udp_each(u->pid, udpsockets_look_at, u);
	}
}

int udpsockets_note(struct udpsockets *u, const struct watch *w, struct run *r)
{
	struct run_socket *to;
	int e = u->failed ? -ENOMEM : 0;
	uint64_t seen;

	r->socket = calloc(u->n + 1, sizeof(*r->socket));
	if (!r->socket)
		return -ENOMEM;
	for (size_t i = 0; i < u->n && !e; i++) {
		struct udpsocket *o = &u->one[i];

		if (!o->is.looks)
			continue;
		to = &r->socket[r->n_sockets++];
		*to = o->is;
		o->is.point = NULL;
		to->buffer_max = udp_buffer_max();
		to->drops = o->last - o->first;
		to->has_seen = o->seen && watch_drops(w, o->ino, &seen);
		to->seen = to->has_seen ? seen - o->first_seen : 0;
		if (to->drops)
			e = run_note(&r->warnings, "drops",
				     "%" PRIu64 " datagrams found no room in the socket of process "
				     "%d, UDP port %u: their senders wait, and send them again",
				     to->drops, to->pid, to->port);
	}
	return e;
}
