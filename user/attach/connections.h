/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ATTACH_CONNECTIONS_H
#define ATTACH_CONNECTIONS_H

/* The server's ends of its clients' TCP connections during a watch. */

#include "host/net/sockets.h"
#include "kinds/servers.h"
#include "run/run.h"

#define CONNECTIONS_MAX 4096 /* those that ended first are forgotten beyond that */

struct connection {
	struct sockets_addr client;
	size_t look;                /* the last one that found it */
	struct run_tcp first, last; /* first is all 0 of a connection that began meanwhile */
	uint64_t still, still_max;  /* TCP_RWND_LIMITED: grown since it last acknowledged bytes */
	/* Of all looks, in bytes. */
	uint64_t n_looks, queue_sum, queue_max, unsent_sum, unsent_max, unread_max;
};

struct connections {
	size_t n_ports, n, n_looks, at;
	uint16_t port[SERVERS_PORTS];
	struct connection *connection; /* owned */
	bool failed;                   /* the kernel did not answer: nothing is known */
	/* That no process had accepted at the last look, and since which look there are such. */
	uint64_t unaccepted, unaccepted_ns;
};

/* Takes a first look. Nothing is known of a server in another network namespace. */
void connections_begin(struct connections *out, const struct servers_entry *server);
/* To be called about once a second. */
void connections_look(struct connections *c);
/* Fills tcp of the run's sessions, and its unaccepted, as far as they are known. */
void connections_note(struct connections *c, struct run *r);
void connections_fini(struct connections *c);

#endif
