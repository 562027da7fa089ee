/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_BPF_PIECES_H
#define TESTS_BPF_PIECES_H

/*
 * Requests and replies of a server that answers in any order, as bytes that are moved in pieces
 * between both ends of a connection, and what was counted.
 */

#include "clients.h"
#include "counted.h"

struct bytes {
	size_t n;
	uint8_t at[4096];
};

/* Moves the bytes from one end to the other, received in pieces of at most "piece". */
static inline void move(int from, int to, const struct bytes *b, size_t piece)
{
	uint8_t at[sizeof(b->at)];
	size_t n;

	if (send(from, b->at, b->n, 0) != (ssize_t)b->n)
		_exit(1);
	for (size_t done = 0; done < b->n; done += n) {
		n = b->n - done < piece ? b->n - done : piece;
		if (recv(to, at, n, MSG_WAITALL) != (ssize_t)n)
			_exit(1);
	}
}

/* The server writes in pieces; the client takes them. */
static inline void tell(int i, const struct bytes *b, size_t piece)
{
	uint8_t at[sizeof(b->at)];
	size_t n;

	for (size_t done = 0; done < b->n; done += n) {
		n = b->n - done < piece ? b->n - done : piece;
		if (send(server[i], b->at + done, n, 0) != (ssize_t)n)
			_exit(1);
	}
	if (recv(client[i], at, b->n, MSG_WAITALL) != (ssize_t)b->n)
		_exit(1);
}

/* Both for connection 0. */
static inline void come(const struct bytes *b, size_t piece)
{
	move(client[0], server[0], b, piece);
}

static inline void go(const struct bytes *b, size_t piece)
{
	tell(0, b, piece);
}

/* The 4 bytes of a frame's mark and the rest are read separately. */
static inline void come_after_its_mark(const struct bytes *b)
{
	uint8_t at[sizeof(b->at)];

	if (send(client[0], b->at, b->n, 0) != (ssize_t)b->n ||
	    recv(server[0], at, 4, MSG_WAITALL) != 4 ||
	    recv(server[0], at, b->n - 4, MSG_WAITALL) != (ssize_t)b->n - 4)
		_exit(1);
}

/* What a thread does for a request. */
static inline void work(int calls)
{
	for (int i = 0; i < calls; i++)
		syscall(SYS_getppid);
}

/* A server whose threads park requests runs fn once. */
static inline void watch_parking(struct rung_rig *g, enum afs_decoder decoder,
				 void (*fn)(struct watched_shared *s), struct run *r)
{
	struct bpf_load_wish wish = {};

	wish.any_order = wish.parks = true;
	wish.decoder = decoder;
	listen_here();
	rig_open(g, &wish, whole_server(), fn);
	rig_step(g);
	rig_read(g, r);
}

static inline void done(struct rung_rig *g, struct run *r)
{
	rig_close(g, r);
	close(listener);
}

#endif
