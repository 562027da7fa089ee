/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ATTACH_LOOKS_H
#define ATTACH_LOOKS_H

/*
 * What is looked at beside the programs in the kernel, ten times a second: the server's threads
 * (attach/threads.h) and its sockets of datagrams (attach/udpsockets.h). All 0: nothing.
 */

#include "run/run.h"
#include "watch/watch.h"

struct looks {
	struct threads *threads; /* owned; NULL: not looked at */
	struct udpsockets *udp;  /* likewise */
};

/* 0 or -ENOMEM; to be closed in any case. */
int looks_open(struct looks *l, bool threads, bool datagrams);
void looks_close(struct looks *l);

/* Looks at all. The first time is where counting begins, the last one where it ends. */
void looks_now(struct looks *l, const struct watch *w);
/* The same in between, ten times a second. */
void looks_tick(struct looks *l, const struct watch *w);

/* Fills r->threads and r->socket, once. counted: as of threads_note(). 0 or -ENOMEM. */
int looks_note(struct looks *l, const struct watch *w, const struct ledger *counted, struct run *r);

#endif
