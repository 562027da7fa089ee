/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DSI_NET_H
#define DSI_NET_H

#include "base/io_wait.h"
#include "dsi/dsi.h"

/* From a host and a port to a connected TCP socket: each address is tried in turn. */
struct net_dial {
	const struct addrinfo *at; /* being tried; NULL: none left */
	struct addrinfo *own;      /* the list, if it is to be freed */
	int fd;                    /* of the address being tried; -1: none */
	int failure;               /* negative errno of the last one */
	uint64_t timeout_ns, due_ns;
};

/*
 * Looks up opts->host and opts->port (unless opts->address has the result) and begins. 0, or a
 * negative errno with a text. The look-up may wait for a name server.
 */
int net_dial(struct net_dial *n, const struct dsi_opts *opts, struct err *e);

/*
 * Goes on after a wait for n->fd to be writable, or n->due_ns. A connected descriptor (blocking, no
 * delay), which is the caller's; -EINPROGRESS: wait again; another negative errno: no address
 * answers, with a text that says what to do.
 */
int net_dial_advance(struct net_dial *n, const struct dsi_opts *opts, struct err *e);

/* Gives up what net_dial began; nothing to do twice. */
void net_dial_end(struct net_dial *n);

#endif
