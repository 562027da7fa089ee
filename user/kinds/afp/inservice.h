/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_AFP_INSERVICE_H
#define KINDS_AFP_INSERVICE_H

/*
 * Requests in service, by what each session of a server waits for: also one that began before
 * anybody watched. A session that waits for its client's next request has none; so has one whose
 * client has gone. Found in /proc, on every rung.
 */

#include "host/net/sockets.h"
#include "kinds/servers.h"
#include "run/run.h"

struct inservice {
	bool known; /* the server's sessions could be looked at */
	uint64_t looked_ns;
	size_t n;
	struct run_service *request; /* owned */
};

/* Sessions that need not be looked at, as their requests are known; fn NULL: there are none. */
struct inservice_known {
	bool (*fn)(const void *arg, pid_t pid);
	const void *arg;
};

/* What a session waits for that sleeps without a descriptor, between two questions. */
#define INSERVICE_PAUSE "a pause before it asks the CNID server again"

/*
 * Looks at every session that is there now, but those that are known. The age of a request is the
 * time since its client sent anything: at least so old. 0 or -ENOMEM; inservice_fini in both cases.
 */
int inservice_look(struct inservice *out, const struct servers_entry *s,
		   const struct inservice_known *known);
void inservice_fini(struct inservice *l);

/* The connection of a session's client, and its descriptor (-1); NULL: none. */
const struct sockets_entry *inservice_client(int *fd, const struct sockets *all,
					     const struct servers_entry *s, pid_t session);

/* The one of this process; NULL: none. */
const struct run_service *inservice_of(const struct inservice *l, pid_t pid);

#endif
