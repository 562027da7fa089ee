/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ATTACH_OTHERS_H
#define ATTACH_OTHERS_H

/*
 * Of a watched server that has other clients than ours: which connections are ours, and how many
 * requests were answered on them and on the others in a region. Ours are the sockets that this
 * process has at the region's begin or end, those of the clients that a load names, which may be in
 * other processes, and those of sessions that clients began while they worked.
 */

#include "run/run.h"
#include "watch/watch.h"

#include <pthread.h>

struct others_client {
	char address[RUN_ADDRESS_LEN]; /* without the scope */
	unsigned long scope;           /* of the server's end; 0: none */
	uint64_t requests;
	bool ours;
};

struct others_list {
	size_t n;
	struct others_client *client; /* owned; by address, each once */
	/* No memory, or clients whose addresses differ in the interface only: ours may be in
	 * another network namespace, where interfaces have other numbers. */
	bool failed;
	bool partial; /* of connections that have ended not all are in it */
};

/* Connections of ours that may have ended before the region does; from any thread. */
struct others_visits {
	pthread_mutex_t lock;
	struct others_list list;
	size_t join_at;   /* so many, and those with one address become one */
	uint64_t greeted; /* sessions since the region's begin, by an answer to DSIOpenSession */
};
void others_visit(struct others_visits *v, const char *address, bool greeted);
/* Those of clients in another process: their addresses, and how many sessions. */
void others_visits_add(struct others_visits *v, const struct others_list *more, uint64_t greeted);

/* A region's begin. out is all 0 or of the region before. */
void others_begin(struct others_list *out, struct others_visits *visits, struct watch *w);
/* Its end: adds to what the phase knows of its clients. */
void others_end(const struct others_list *before, struct others_visits *visits, struct watch *w,
		struct run_phase *p);
void others_fini(struct others_list *l); /* all 0 then */

/* The same from lists as the server and our sockets have them. */
void others_add(struct others_list *l, const char *address, uint64_t requests, bool ours);
void others_count(const struct others_list *before, struct others_list *after, struct run_phase *p);

#endif
